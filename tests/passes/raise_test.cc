// Attention in random spellings: recognised, and the same numbers before and after, backward too.
// SPDX-License-Identifier: Apache-2.0
#include "passes/raise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "ir/text/text.h"
#include "models/zoo.h"
#include "passes/sample_inputs.h"
#include "passes/simplify.h"
#include "test_paths.h"
#include "tests/support/must_parse.h"
#include "tests/support/random_attention.h"
#include "tests/support/same.h"
#include "tests/support/suite.h"
#include "tests/support/text_case.h"

namespace weft {
namespace {

using test::must_parse;

constexpr uint64_t kChunks = 5;  // tests, so that they can run side by side

uint64_t spelling_count() { return suite() == "quick" ? 20 : suite() == "slow" ? 500 : 50; }

Module raised(Module module) {
  PassOptions options;
  options.fuse_attention = true;
  for (PassFn pass : {simplify, raise}) {
    Result<bool> changed = pass(module, options);
    EXPECT_TRUE(changed.ok()) << render(changed.diagnostics());
  }
  Status valid = verify(module);
  EXPECT_TRUE(valid.ok()) << render(valid.diagnostics());
  return module;
}

Module with_backward(Module module, const std::string& name = "forward") {
  const Graph& graph = *module.find_graph(name);
  GradRequest request{name, "loss", {}, ""};
  for (Value input : graph.inputs()) {
    if (is_float(graph.type(input).dtype)) request.wrt.push_back("%" + graph.input_name(input));
  }
  Status added = add_backward(module, request);
  EXPECT_TRUE(added.ok()) << render(added.diagnostics());
  return module;
}

size_t count(const Module& module, Op op) {
  size_t found = 0;
  for (const Graph& graph : module.graphs) {
    found += static_cast<size_t>(
        std::ranges::count_if(graph.nodes(), [&](const Node& node) { return node.op == op; }));
  }
  return found;
}

TensorMap run(const Module& module, const std::string& graph, const TensorMap& inputs,
              const DimBinding& dims) {
  Result<OracleResult> result = run_oracle(module, *module.find_graph(graph), inputs, {}, dims);
  EXPECT_TRUE(result.ok()) << render(result.diagnostics());
  return result.ok() ? result->outputs : TensorMap{};
}

// What rounding leaves of a cancellation stands for 0.
TensorMap without_noise(TensorMap outputs) {
  for (auto& [name, tensor] : outputs) {
    for (double& number : tensor.reals) number = std::abs(number) < 1e-12 ? 0 : number;
  }
  return outputs;
}

// In f16 what was written rounds weights and their gradients, and an attention does not. A bias of
// -1e9 leaves the digits of f32 to what it is added to, in whatever order.
void expect_same(const TensorMap& expected, const TensorMap& actual, DType narrowest) {
  if (narrowest != DType::f16) {
    EXPECT_TRUE(same(compare(expected, actual, RunBy::rewritten, DType::f32)));
    return;
  }
  for (const auto& [name, tensor] : expected) {
    Tolerance rounded = {.relative = 1e-2, .largest = 1e-2, .absolute = 2e-3};
    EXPECT_TRUE(same(compare(tensor, actual.at(name), rounded))) << name;
  }
}

class RandomSpellings : public testing::TestWithParam<uint64_t> {};

TEST_P(RandomSpellings, AreRecognisedAndRight) {
  for (uint64_t seed = GetParam(); seed < spelling_count(); seed += kChunks) {
    RandomAttention given = random_attention(seed);
    SCOPED_TRACE(cat("seed ", seed, ": ", given.spelling));
    Module after = raised(given.module);
    EXPECT_EQ(count(after, Op::attention), 1u) << print(after);
    EXPECT_EQ(count(after, Op::softmax), 0u) << print(after);
    for (const AttentionNote& note : attention_report(after)) {
      EXPECT_TRUE(note.raised) << note.value << ": " << note.reason;
    }
    const Graph& graph = *given.module.find_graph("forward");
    Result<DimBinding> dims = sample_dims(given.module, graph);
    ASSERT_TRUE(dims.ok()) << render(dims.diagnostics());
    Result<TensorMap> inputs = sample_inputs(given.module, graph, *dims, seed);
    ASSERT_TRUE(inputs.ok()) << render(inputs.diagnostics());
    Module before = with_backward(given.module);
    after = with_backward(after);
    EXPECT_EQ(count(after, Op::attention_grad), 1u);
    expect_same(without_noise(run(before, "backward", *inputs, *dims)),
                without_noise(run(after, "backward", *inputs, *dims)), narrowest_float(graph));
    if (HasFailure()) FAIL() << print(given.module) << print(after);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomSpellings, testing::Range<uint64_t>(0, kChunks));

// The spellings in the text tests compute the same before and after, all outputs and gradients.
TEST(WrittenSpellings, AreRight) {
  for (const auto& path : weft_files(WEFT_SOURCE_DIR "/tests/passes/raise")) {
    SCOPED_TRACE(path.filename().string());
    Module before = must_parse(parse_case(read_test_file(path)).input);
    ASSERT_FALSE(before.graphs.empty());
    const std::string name = before.graphs[0].name();
    Module after = raised(before);
    bool differentiates = before.graphs[0].outputs[0].name == "loss";
    if (differentiates) {
      before = with_backward(before, name);
      after = with_backward(after, name);
    }
    const Graph& graph = *before.find_graph(differentiates ? "backward" : name);
    Result<DimBinding> dims = sample_dims(before, graph);
    ASSERT_TRUE(dims.ok()) << render(dims.diagnostics());
    Result<TensorMap> inputs = sample_inputs(before, graph, *dims, 1);
    ASSERT_TRUE(inputs.ok()) << render(inputs.diagnostics());
    expect_same(without_noise(run(before, graph.name(), *inputs, *dims)),
                without_noise(run(after, graph.name(), *inputs, *dims)), narrowest_float(graph));
  }
}

// Attention as the model zoo writes it.
TEST(ZooModels, HaveNoOtherAttention) {
  for (const Preset& preset : presets()) {
    SCOPED_TRACE(preset.name);
    Result<Module> module = preset.build();
    ASSERT_TRUE(module.ok()) << render(module.diagnostics());
    AttentionReport notes = attention_report(raised(*module));
    EXPECT_FALSE(notes.empty());
    for (const AttentionNote& note : notes) {
      EXPECT_TRUE(note.raised) << note.graph << " " << note.value << ": " << note.reason;
    }
  }
}

// What the report says of a graph in the text form.
std::string reason(const std::string& lines, const std::string& returned = "%o") {
  Module module = must_parse(
      "graph @f(%q: f32[B, T, 8], %k: f32[B, T, 8], %v: f32[B, T, 8], %mask: bool[T, T]) -> (o" +
      std::string(returned == "%o" ? "" : ", p") +
      ") {\n%kt = transpose %k {perm = [0, 2, 1]}\n%s = matmul %q, %kt\n" + lines + "return " +
      returned + "\n}\n");
  AttentionReport notes = attention_report(raised(module));
  if (notes.empty()) return "not like attention";
  return notes[0].raised ? "raised" : notes[0].reason;
}

TEST(AttentionReport, NamesWhatIsInTheWay) {
  EXPECT_EQ(reason("%p = softmax %s\n%o = matmul %p, %v\n"), "raised");
  EXPECT_EQ(reason("%p = softmax %s\n%o = matmul %p, %v\n", "%o, %p"),
            "the weights %p are used more than once");
  EXPECT_EQ(reason("%p = softmax %s\n%w = select %mask, %p, 0.0\n%o = matmul %w, %v\n"),
            "%w (select) is in the way");
  EXPECT_EQ(reason("%t = tanh %s\n%p = softmax %t\n%o = matmul %p, %v\n"),
            "%t (tanh) is in the way");
  EXPECT_EQ(reason("%p = softmax %s {axis = 1}\n%o = matmul %p, %v\n"),
            "the softmax is not over the keys that the products have in common");
  EXPECT_EQ(reason("%a = add %s, %s\n%p = softmax %a\n%o = matmul %p, %v\n"),
            "%s is used elsewhere too");
  EXPECT_EQ(reason("%e = exp %s\n%t = sum %e {axes = [2], keepdims = true}\n%w = div %e, %t\n"
                   "%o = matmul %w, %v\n%p = log %t\n",
                   "%o, %p"),
            "its sum is used elsewhere too");
  EXPECT_EQ(reason("%o = softmax %s\n"), "not like attention");
  // The gradient of a loss: softmax less what was expected.
  EXPECT_EQ(reason("%p = softmax %s\n%l = cast %mask {dtype = f32}\n%d = sub %p, %l\n"
                   "%o = matmul %d, %v\n"),
            "not like attention");
  EXPECT_EQ(reason("%p = softmax %s\n%d = add %p, 1e-6\n%o = matmul %d, %v\n"),
            "%d (add) is in the way");
}

}  // namespace
}  // namespace weft
