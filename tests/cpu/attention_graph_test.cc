// Attention from a graph to kernels: every spelling, mask, length and head size, against the
// oracle.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "driver/differentiate.h"
#include "driver/execute.h"
#include "driver/verify_device.h"
#include "ir/text/text.h"
#include "passes/sample_inputs.h"
#include "tests/support/must_parse.h"
#include "tests/support/on_cpu.h"
#include "tests/support/random_attention.h"
#include "tests/support/scratch.h"
#include "tests/support/suite.h"

namespace weft {
namespace {

using test::must_parse;

constexpr uint64_t kParts = 4;  // tests, so that they can run side by side

DeviceVerifyOptions fused(const std::string& target = "native") {
  DeviceVerifyOptions options;
  options.request.target_cpu = target;
  options.request.require_fused_attention = true;
  options.threads = 2;
  return options;
}

Module with_backward(Module module) {
  const Graph& graph = module.graphs[0];
  GradRequest request{graph.name(), "loss", {}, ""};
  for (Value input : graph.inputs()) {
    if (is_float(graph.type(input).dtype)) request.wrt.push_back("%" + graph.input_name(input));
  }
  auto passes = differentiate(module, request);
  EXPECT_TRUE(passes.ok()) << render(passes.diagnostics());
  return module;
}

void expect_agrees(const Module& module, const DeviceVerifyOptions& options) {
  Result<DeviceVerifyReport> report = verify_device(module, options);
  ASSERT_TRUE(report.ok()) << render(report.diagnostics()) << print(module);
  EXPECT_EQ(report->difference, "") << print(module);
}

class AttentionGraphs : public testing::TestWithParam<uint64_t> {};

TEST_P(AttentionGraphs, RandomSpellingsAreFusedAndRight) {
  const uint64_t count = suite() == "quick" ? 2 : suite() == "slow" ? 500 : 50;
  for (uint64_t seed = GetParam(); seed < count; seed += kParts) {
    // In f32 a sum with -1e9 has no digit of the score left, in rows that are masked throughout.
    const RandomAttention given = random_attention(seed, -1e4);
    SCOPED_TRACE(cat("seed ", seed, ": ", given.spelling));
    DeviceVerifyOptions options = fused(cpu_targets()[seed % cpu_targets().size()]);
    // The kernels sum in f32: an attention in f64 is recognised, but left to primitives.
    const bool is_double = given.spelling.find(" f64 ") != std::string::npos;
    options.request.require_fused_attention = !is_double;
    expect_agrees(with_backward(given.module), options);
    if (HasFailure()) return;
  }
}

// What the op is given besides q, k and v.
struct Masking {
  const char* name;
  const char* inputs;
  const char* operands;
  const char* attrs;
};
constexpr Masking kMaskings[] = {
    {"none", "", "", ""},
    {"causal", "", "", "after = 0"},
    {"window", "", "", "before = 5, after = 2"},
    {"wide", ", %len: i32[2, 3]", ", %len", "before = 3, after = 2147483647"},
    {"lengths", ", %len: i32[2]", ", %len", ""},
    {"mask", ", %m: bool[T, S]", ", %m", ""},
    {"columns", ", %m: bool[2, 1, 1, S]", ", %m", ""},
    {"fill", ", %m: bool[2, 1, T, S]", ", %m", "fill = -1e9"},
    {"bias", ", %b: f32[3, T, S]", ", %b", ""},
    {"dropout", ", %r: u32[2]", ", %r", "rate = 0.3"},
    {"all", ", %b: f32[T, S], %m: bool[T, 1], %len: i32[2, 3], %r: u32[2]", ", %b, %m, %len, %r",
     "before = 40, after = 0, rate = 0.25"},
};

std::string with_lead(const Masking& masking) {
  // Lengths of i32[2] are those of the batch: one for all of its heads.
  const bool by_batch = std::string_view(masking.name) == "lengths";
  return by_batch ? "  %by = reshape %len {shape = [2, 1]}\n" : "";
}

std::string attention_graph(const Masking& masking, int64_t head) {
  const std::string operands = with_lead(masking).empty() ? masking.operands : std::string(", %by");
  const std::string attrs = masking.attrs;
  return cat("graph @f(%q: f32[2, 3, T, ", head, "], %k: f32[2, 3, S, ", head,
             "], %v: f32[2, 3, S, ", head, "]", masking.inputs, ") -> (loss) {\n",
             with_lead(masking), "  %o, %l = attention %q, %k, %v", operands, " {scale = 0.25",
             attrs.empty() ? "" : ", ", attrs, "}\n  %c = sin %o\n",
             "  %loss = sum %c {axes = [0, 1, 2, 3]}\n  return %loss\n}\n");
}

TEST_P(AttentionGraphs, AllMasksLengthsAndHeads) {
  uint64_t turn = 0;
  uint64_t number = 0;  // of the masking
  for (const Masking& masking : kMaskings) {
    uint64_t diagonal = number++;
    for (int64_t head : {16, 24, 40, 64, 80, 128}) {
      if (++turn % kParts != GetParam()) continue;
      // Every masking and every head, not every pair of them.
      if (suite() != "slow" && (diagonal + turn) % (suite() == "quick" ? 33 : 3) != 0) continue;
      const Module module = with_backward(must_parse(attention_graph(masking, head)));
      DeviceVerifyOptions options = fused();
      options.request.cache_folder = scratch(cat("attention-kernels-", GetParam()));
      for (int64_t length : {1, 2, 31, 64, 65, 257}) {
        if (suite() == "quick" && length > 64) continue;
        const int64_t keys = head == 24 ? length + 3 : length;
        SCOPED_TRACE(cat(masking.name, " head ", head, " T ", length, " S ", keys));
        options.common.dims = {{"T", length}, {"S", keys}};
        expect_agrees(module, options);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Parts, AttentionGraphs, testing::Range<uint64_t>(0, kParts));

// No rows, or no keys: nothing, or zeros.
TEST(AttentionGraph, EmptySizes) {
  const Module module = with_backward(must_parse(attention_graph(kMaskings[1], 16)));
  DeviceVerifyOptions options = fused();
  options.request.cache_folder = scratch("attention-kernels-empty");
  for (const auto& [rows, keys] : {std::pair<int64_t, int64_t>{0, 5}, {5, 0}, {0, 0}}) {
    options.common.dims = {{"T", rows}, {"S", keys}};
    expect_agrees(module, options);
  }
}

// One query against a long cache, whose parts are no multiple of a block of keys.
TEST(AttentionGraph, LongCache) {
  const Module module = must_parse(
      "graph @f(%q: f32[1, 3, 1, 24], %k: f32[1, 3, S, 24], %v: f32[1, 3, S, 24]) -> (o) {\n"
      "  %o, %l = attention %q, %k, %v {scale = 0.2, after = 0}\n  return %o\n}\n");
  DeviceVerifyOptions options = fused();
  for (int64_t keys : {1, 1024, 1025, 2500}) {
    options.common.dims = {{"S", keys}};
    expect_agrees(module, options);
  }
}

// ---- properties, on random numbers

class Runner {
 public:
  explicit Runner(const std::string& text) : module_(must_parse(text)) {
    CompileRequest request;
    request.require_fused_attention = true;
    Result<Compiled> compiled = compile(module_, request);
    EXPECT_TRUE(compiled.ok()) << render(compiled.diagnostics());
    Result<Executor> executor = Executor::create(std::move(compiled->executable), {});
    EXPECT_TRUE(executor.ok()) << render(executor.diagnostics());
    executor_.emplace(std::move(*executor));
  }

  TensorMap sample(const DimBinding& dims, uint64_t seed) const {
    Result<TensorMap> inputs = sample_inputs(module_, module_.graphs[0], dims, seed);
    EXPECT_TRUE(inputs.ok()) << render(inputs.diagnostics());
    return *inputs;
  }

  Tensor run(const TensorMap& inputs, const DimBinding& dims) {
    Result<OracleResult> result = run_once(*executor_, module_.graphs[0], inputs, {}, dims);
    EXPECT_TRUE(result.ok()) << render(result.diagnostics());
    return result->outputs.at("o");
  }

 private:
  Module module_;
  std::optional<Executor> executor_;
};

constexpr int64_t kHead = 24;

std::string plain(const std::string& attrs) {
  return "graph @f(%q: f32[3, T, 24], %k: f32[3, S, 24], %v: f32[3, S, 24]) -> (o) {\n"
         "  %o, %l = attention %q, %k, %v {scale = 0.2" +
         attrs + "}\n  return %o\n}\n";
}

TEST(AttentionProperties, WeightsOfARowSumToOne) {
  for (const char* attrs : {"", ", after = 0", ", before = 7, after = 1"}) {
    Runner runner(plain(attrs));
    for (int64_t length : {1, 33, 130}) {
      const DimBinding dims = {{"T", length}, {"S", length}};
      TensorMap inputs = runner.sample(dims, static_cast<uint64_t>(length));
      for (double& x : inputs["v"].reals) x = 1;
      for (double x : runner.run(inputs, dims).reals) EXPECT_NEAR(x, 1, 2e-6) << attrs;
    }
  }
}

// Keys and values in another order: the same sums, in another order.
TEST(AttentionProperties, TheOrderOfKeysDoesNotMatter) {
  Runner runner(plain(""));
  const DimBinding dims = {{"T", 37}, {"S", 71}};
  TensorMap inputs = runner.sample(dims, 3);
  const Tensor before = runner.run(inputs, dims);
  for (const char* name : {"k", "v"}) {
    Tensor& tensor = inputs[name];
    const Tensor old = tensor;
    for (int64_t lead = 0; lead < 3; ++lead) {
      for (int64_t row = 0; row < 71; ++row) {
        const int64_t from = (lead * 71 + row * 29 % 71) * kHead;
        std::copy_n(old.reals.begin() + from, kHead,
                    tensor.reals.begin() + (lead * 71 + row) * kHead);
      }
    }
  }
  EXPECT_FALSE(compare(before, runner.run(inputs, dims), tolerance(RunBy::device, DType::f32)));
}

TEST(AttentionProperties, CausalRowsDoNotSeeWhatFollows) {
  Runner runner(plain(", after = 0"));
  const int64_t length = 130;
  const DimBinding dims = {{"T", length}, {"S", length}};
  for (int64_t last : {0, 1, 63, 64, 100}) {
    TensorMap inputs = runner.sample(dims, 5);
    const Tensor before = runner.run(inputs, dims);
    for (const char* name : {"k", "v"}) {
      for (int64_t place = 0; place < 3 * length * kHead; ++place) {
        if (place / kHead % length > last) inputs[name].reals[static_cast<size_t>(place)] = 1e3;
      }
    }
    const Tensor after = runner.run(inputs, dims);
    for (int64_t place = 0; place < 3 * length * kHead; ++place) {
      if (place / kHead % length > last) continue;
      const auto at = static_cast<size_t>(place);
      ASSERT_EQ(before.reals[at], after.reals[at]) << "row " << place / kHead % length;
    }
  }
}

}  // namespace
}  // namespace weft
