// Each composite's decomposition equals the oracle's direct evaluation, in f64.
// SPDX-License-Identifier: Apache-2.0
#include "passes/decompose.h"

#include <limits>
#include <set>

#include "passes/pass.h"
#include "tests/passes/oracle_support.h"

namespace weft::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Case {
  std::string arguments;
  std::string results;
  std::string line;  // the composite
  TensorMap inputs;
};

Tensor odd_numbers() { return reals({9}, {-kInf, -800, -2.5, -0.0, 0, 0.7, 3, 900, kNan}); }

Tensor rows() {
  Tensor x = spread_reals({5, 4});
  for (size_t i = 0; i < 4; ++i) x.reals[i] = -kInf;
  x.reals[6] = -kInf;
  x.reals[9] = kNan;
  x.reals[13] = kInf;
  return x;
}

std::vector<Case> elementwise_cases() {
  std::vector<Case> cases;
  for (const char* line : {"clamp %x {min = -1.0, max = 2.0}", "sign %x", "ceil %x", "sigmoid %x",
                           "softplus %x", "relu %x", "gelu %x {approximate = \"none\"}",
                           "gelu %x {approximate = \"tanh\"}", "silu %x", "is_finite %x"}) {
    cases.push_back({"%x: f64[N]", "out", line, {{"x", odd_numbers()}}});
  }
  Tensor shifted = odd_numbers();
  std::rotate(shifted.reals.begin(), shifted.reals.begin() + 2, shifted.reals.end());
  TensorMap pair = {{"x", odd_numbers()}, {"y", shifted}};
  cases.push_back({"%x: f64[9], %y: f64[9]", "out", "gt %x, %y", pair});
  cases.push_back({"%x: f64[9], %y: f64[9]", "out", "ge %x, %y", pair});
  Tensor signs = integers({5}, {-128, -1, 0, 1, 127}, DType::i8);
  cases.push_back({"%x: i8[5]", "out", "sign %x", {{"x", signs}}});
  cases.push_back({"%x: i8[5]", "out", "relu %x", {{"x", signs}}});
  cases.push_back({"%x: bool[4], %y: bool[4]",
                   "out",
                   "logical_xor %x, %y",
                   {{"x", integers({4}, {0, 0, 1, 1}, DType::boolean)},
                    {"y", integers({4}, {0, 1, 0, 1}, DType::boolean)}}});
  Tensor rng = integers({2}, {5, 9}, DType::u32);
  for (const char* rate : {"0.0", "0.3", "0.9999999999"}) {
    cases.push_back({"%x: f64[B, 8], %rng: u32[2]",
                     "out",
                     "dropout %x, %rng {rate = " + std::string(rate) + ", stream = 2}",
                     {{"x", spread_reals({5, 8})}, {"rng", rng}}});
  }
  return cases;
}

std::vector<Case> row_cases() {
  std::vector<Case> cases;
  for (const char* line :
       {"softmax %x", "softmax %x {axis = 0}", "log_softmax %x", "log_softmax %x {axis = 0}",
        "logsumexp %x", "logsumexp %x {axis = 0, keepdims = true}", "mean %x {axes = [1]}",
        "mean %x {axes = [0, 1], keepdims = true}"}) {
    cases.push_back({"%x: f64[B, T]", "out", line, {{"x", rows()}}});
    cases.push_back({"%x: f64[5, 4]", "out", line, {{"x", rows()}}});
    cases.push_back({"%x: f64[B, T]", "out", line, {{"x", spread_reals({3, 0})}}});
  }
  cases.push_back({"%x: f64[2], %y: f64[]",
                   "out",
                   "global_norm %x, %y",
                   {{"x", spread_reals({2})}, {"y", reals({}, {-3})}}});
  TensorMap norm = {
      {"x", spread_reals({2, 3, 5})}, {"g", spread_reals({5}, 2)}, {"b", spread_reals({5}, 3)}};
  cases.push_back(
      {"%x: f64[B, 3, D], %g: f64[D], %b: f64[D]", "out", "layer_norm %x, %g, %b", norm});
  norm.erase("b");
  cases.push_back({"%x: f64[B, 3, D], %g: f64[D]", "out", "rms_norm %x, %g {eps = 0.1}", norm});
  TensorMap loss = {{"x", spread_reals({4, 3})}, {"t", integers({4}, {2, -1, 0, 1})}};
  for (const char* line :
       {"cross_entropy %x, %t {ignore_index = -1}",
        "cross_entropy %x, %t {label_smoothing = 0.2, ignore_index = -1}",
        "focal %x, %t {ignore_index = -1}", "focal %x, %t {gamma = 0.5, ignore_index = -1}"}) {
    cases.push_back({"%x: f64[B, V], %t: i32[B]", "out", line, loss});
  }
  cases.push_back({"%x: f64[B, 3], %y: f64[B, 3]",
                   "out",
                   "mse %x, %y",
                   {{"x", spread_reals({4, 3})}, {"y", spread_reals({4, 3}, 2)}}});
  cases.push_back({"%x: f64[], %y: f64[]",
                   "out",
                   "mse %x, %y",
                   {{"x", reals({}, {1})}, {"y", reals({}, {3})}}});
  return cases;
}

std::vector<Case> index_cases() {
  std::vector<Case> cases;
  Tensor indices = integers({2, 2}, {0, 3, -1, 4}, DType::i64);
  for (const char* dtype : {"f32", "i32", "bool"}) {
    cases.push_back({"%i: i64[2, 2]",
                     "out",
                     "one_hot %i {depth = 4, dtype = " + std::string(dtype) + "}",
                     {{"i", indices}}});
  }
  TensorMap sizes = {{"r", spread_reals({3})}, {"c", spread_reals({5})}};
  std::string symbolic = "%r: f64[R], %c: f64[C]";
  for (const char* dims : {"rows = R, cols = C", "rows = C, cols = R", "rows = R, cols = R"}) {
    std::string text(dims);
    cases.push_back({symbolic, "out", "causal_mask {" + text + "}", sizes});
    cases.push_back({symbolic, "out", "window_mask {" + text + ", before = 1, after = 0}", sizes});
  }
  cases.push_back(
      {symbolic, "out", "window_mask {rows = 3, cols = 4, before = 9000000000, after = 1}", sizes});
  cases.push_back(
      {"%n: i32[3]", "out", "padding_mask %n {size = 4}", {{"n", integers({3}, {0, 2, 9})}}});
  cases.push_back({"%x: f64[B, H, 6, 2]",
                   "out",
                   "patches %x {size = [2, 3], stride = [1, 2]}",
                   {{"x", spread_reals({2, 5, 6, 2})}}});
  cases.push_back({"%x: i8[1, 4, 4, 1]",
                   "out",
                   "patches %x {size = [2, 2], stride = [2, 2]}",
                   {{"x", integers({1, 4, 4, 1}, std::vector<int64_t>(16, 7), DType::i8)}}});
  cases.push_back({"%x: f64[B, 4, 2, 12]",
                   "out",
                   "fold_patches %x {size = [2, 3], stride = [1, 2], height = 5, width = 6}",
                   {{"x", spread_reals({2, 4, 2, 12})}}});
  return cases;
}

std::vector<Case> optimizer_cases() {
  TensorMap inputs = {{"p", spread_reals({3})},    {"g", spread_reals({3}, 2)},
                      {"m", spread_reals({3}, 3)}, {"v", reals({3}, {0.1, 0, 2})},
                      {"lr", reals({}, {0.01})},   {"step", integers({}, {3})}};
  std::string moments = "%p: f64[3], %g: f64[3], %m: f64[3], %v: f64[3], %lr: f64[], %step: i32[]";
  TensorMap momentum = inputs;
  momentum.erase("v");
  momentum.erase("step");
  return {{"%p: f64[3], %g: f64[3], %m: f64[3], %lr: f64[]", "a, b",
           "sgd %p, %g, %m, %lr {momentum = 0.9, weight_decay = 0.1}", momentum},
          {moments, "a, b, c", "adam %p, %g, %m, %v, %lr, %step {weight_decay = 0.1}", inputs},
          {moments, "a, b, c", "adamw %p, %g, %m, %v, %lr, %step", inputs}};
}

// Rows without keys, with all that may be left out and without.
std::vector<Case> attention_cases() {
  std::string factors = "%q: f64[B, 3, 4], %k: f64[B, 5, 4], %v: f64[B, 5, 2]";
  std::string extras = ", %bias: f64[3, 1], %mask: bool[5], %n: i32[B], %rng: u32[2]";
  std::string rows = ", %sums: f64[B, 3], %delta: f64[B, 3], %d: f64[B, 3, 2]";
  TensorMap inputs = {{"q", spread_reals({2, 3, 4}, 1)},
                      {"k", spread_reals({2, 5, 4}, 2)},
                      {"v", spread_reals({2, 5, 2}, 3)},
                      {"bias", spread_reals({3, 1}, 4)},
                      {"mask", integers({5}, {1, 0, 1, 1, 0}, DType::boolean)},
                      {"n", integers({2}, {0, 4})},
                      {"rng", integers({2}, {5, 9}, DType::u32)},
                      {"sums", spread_reals({2, 3}, 5)},
                      {"delta", spread_reals({2, 3}, 6)},
                      {"d", spread_reals({2, 3, 2}, 7)}};
  std::string given = factors + extras + rows;
  std::string all =
      "%bias, %mask, %n, %rng {scale = 0.5, fill = -2.0, before = 3, after = 0, "
      "rate = 0.25, stream = 2}";
  std::string grads = "attention_grad %q, %k, %v, %sums, %delta, %d";
  return {{given, "out, lse", "attention %q, %k, %v", inputs},
          {given, "out, lse", "attention %q, %k, %v, " + all, inputs},
          {given, "dq, dk, dv, dbias", grads, inputs},
          {given, "dq, dk, dv, dbias", grads + ", " + all, inputs}};
}

std::vector<Case> region_cases() {
  std::string body = "(%a = %x, %b = %x) {\n %s = softmax %a\n %t = mul %s, %b\n return %s, %t\n }";
  return {{"%x: f64[5, 4]", "a, b", "region {kind = \"rows\"} " + body, {{"x", rows()}}}};
}

std::vector<Case> all_cases() {
  std::vector<Case> all;
  for (auto* family : {elementwise_cases, row_cases, attention_cases, index_cases, optimizer_cases,
                       region_cases}) {
    for (Case& one : family()) all.push_back(std::move(one));
  }
  return all;
}

// "a, b" -> "%a, %b".
std::string as_values(std::string results) {
  for (size_t at = 0; at != std::string::npos; at = results.find(' ', at + 1)) {
    results.insert(at == 0 ? 0 : at + 1, "%");
  }
  return results;
}

TEST(Decompose, GivesTheSameNumbers) {
  for (const Case& c : all_cases()) {
    std::string text = "graph @f(" + c.arguments + ") -> (" + c.results + ") {\n  " +
                       as_values(c.results) + " = " + c.line + "\n  return " +
                       as_values(c.results) + "\n}";
    SCOPED_TRACE(text);
    Module module = must_parse(text);
    ASSERT_FALSE(module.graphs.empty());
    TensorMap expected = must_run(module, "f", c.inputs).outputs;
    Result<bool> changed = decompose(module, {});
    ASSERT_TRUE(changed.ok());
    EXPECT_TRUE(*changed);
    Status verified = verify(module);
    ASSERT_TRUE(verified.ok()) << render(verified.diagnostics());
    for (const Node& node : module.graphs[0].nodes()) {
      EXPECT_FALSE(info(node.op).composite()) << name(node.op) << " is left";
    }
    TensorMap actual = must_run(module, "f", c.inputs).outputs;
    for (const auto& [name, tensor] : expected) expect_near(actual[name], tensor, 1e-12, name);
  }
}

TEST(Decompose, EveryCompositeHasACase) {
  std::set<std::string> covered;
  for (const Case& c : all_cases()) covered.insert(c.line.substr(0, c.line.find(' ')));
  for (const OpInfo& op : all_ops()) {
    EXPECT_EQ(op.composite(), decomposition(op.op) != nullptr) << op.name;
    bool has_case = covered.count(std::string(op.name)) > 0;
    EXPECT_TRUE(has_case || !op.composite()) << op.name << " has no case";
  }
}

// What stays, because it has no decomposition, still has a body without composites.
TEST(Decompose, LooksIntoBodies) {
  Module module = must_parse(R"(graph @f(%x: f64[N, 4]) -> (y) {
  %y = chunked {symbol = "R", rows = N, chunk = 2, sliced_in = [1], sliced_out = [1]} (%x = %x) {
    %y = region {kind = "rows"} (%x = %x) {
      %y = softmax %x
      return %y
    }
    return %y
  }
  return %y
})");
  TensorMap inputs = {{"x", rows()}};
  TensorMap expected = must_run(module, "f", inputs).outputs;
  ASSERT_TRUE(decompose(module, {}).value());
  const Graph& graph = module.graphs[0];
  ASSERT_EQ(graph.nodes().size(), 2u) << print(module);
  for (const Node& node : graph[1].body->nodes()) {
    EXPECT_FALSE(info(node.op).composite()) << name(node.op) << " is left";
  }
  EXPECT_TRUE(verify(module).ok());
  expect_near(must_run(module, "f", inputs).outputs["y"], expected["y"], 1e-12, "y");
}

TEST(Decompose, OutOfRangeTargetsStayErrors) {
  Module module = must_parse(R"(graph @f(%x: f64[1, 3], %t: i32[1]) -> (out) {
  %out = cross_entropy %x, %t
  return %out
})");
  TensorMap inputs = {{"x", spread_reals({1, 3})}, {"t", integers({1}, {3})}};
  EXPECT_FALSE(run_oracle(module, module.graphs[0], inputs, {}).ok());
  ASSERT_TRUE(decompose(module, {}).ok());
  EXPECT_FALSE(run_oracle(module, module.graphs[0], inputs, {}).ok());
}

TEST(Decompose, LeavesPrimitivesAlone) {
  Module module = must_parse(R"(graph @f(%x: f32[3]) -> (y) {
  %y = exp %x loc "up"
  return %y
})");
  std::string before = print(module);
  EXPECT_FALSE(decompose(module, {}).value());
  EXPECT_EQ(print(module), before);
}

TEST(Decompose, KeepsNamesAndProvenance) {
  Module module = must_parse(R"(graph @f(%x: f32[3]) -> (y) {
  %h = silu %x loc "block.0.act"
  %y = neg %h
  return %y
})");
  ASSERT_TRUE(decompose(module, {}).value());
  bool found = false;
  for (const Node& node : module.graphs[0].nodes()) {
    if (node.names[0] != "h") continue;
    found = true;
    EXPECT_EQ(node.op, Op::div);
    EXPECT_EQ(node.origin, Provenance{"block.0.act"});
  }
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace weft::test
