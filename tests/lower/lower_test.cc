// Regions of every kind, lowered and interpreted at awkward sizes, and what their programs look
// like.
// SPDX-License-Identifier: Apache-2.0
#include "passes/lower.h"

#include <gtest/gtest.h>

#include "ir/text/text.h"
#include "ir/tile/text.h"
#include "passes/pass.h"
#include "passes/sample_inputs.h"
#include "tests/passes/oracle_support.h"
#include "tests/support/run_tiles.h"

namespace weft {
namespace {

struct Fused {
  Module before;
  Module after;
};

Fused fused(const std::string& text, bool backward = false) {
  Fused result{test::must_parse(text), {}};
  if (backward) {
    Status added = add_backward(result.before, {"", "loss", {}, ""});
    EXPECT_TRUE(added.ok()) << render(added.diagnostics());
  }
  result.after = result.before;
  auto records = run_pipeline(result.after, {});
  EXPECT_TRUE(records.ok()) << render(records.diagnostics());
  return result;
}

void expect_agrees(const Fused& modules, const std::string& graph, const DimBinding& sizes) {
  const Graph& before = *modules.before.find_graph(graph);
  const Graph& after = *modules.after.find_graph(graph);
  Result<TensorMap> inputs = sample_inputs(modules.before, before, sizes, 7);
  ASSERT_TRUE(inputs.ok()) << render(inputs.diagnostics());
  Result<TensorMap> storage = initial_values(modules.before, nullptr, 7, sizes);
  ASSERT_TRUE(storage.ok()) << render(storage.diagnostics());
  Result<OracleResult> expected = run_oracle(modules.before, before, *inputs, *storage, sizes);
  ASSERT_TRUE(expected.ok()) << render(expected.diagnostics());
  Result<OracleResult> actual = run_tiles(modules.after, after, *inputs, *storage, sizes);
  ASSERT_TRUE(actual.ok()) << render(actual.diagnostics()) << print(modules.after);
  for (const auto& [name, tensor] : expected->outputs) {
    test::expect_near(actual->outputs.at(name), tensor, 1e-6, name);
  }
  for (const auto& [name, tensor] : expected->updates) {
    test::expect_near(actual->updates.at(name), tensor, 1e-6, name);
  }
}

// For every pair of sizes: nothing, one, odd, prime, more than a tile.
void expect_agrees_at_awkward_sizes(const std::string& text, bool backward = false,
                                    const std::string& graph = "f") {
  const Fused modules = fused(text, backward);
  for (int64_t b : {0, 1, 3}) {
    for (int64_t t : {0, 1, 2, 7, 101}) {
      SCOPED_TRACE("B = " + std::to_string(b) + ", T = " + std::to_string(t));
      DimBinding sizes;
      for (const std::string& symbol : symbols_of(modules.before)) {
        sizes[symbol] = symbol == "B" ? b : t;
      }
      expect_agrees(modules, graph, sizes);
      if (backward) expect_agrees(modules, "backward", sizes);
      if (testing::Test::HasFailure()) {
        FAIL() << print(modules.after)
               << print_tiles(modules.after, *modules.after.find_graph(graph)).value();
      }
    }
  }
}

std::string graph_text(const std::string& inputs, const std::string& body) {
  return "graph @f(" + inputs + ") -> (y) {\n" + body + "\nreturn %y\n}";
}

// The only program of a graph.
tile::Program only_program(const std::string& text) {
  const Fused modules = fused(text);
  const Graph& graph = modules.after.graphs[0];
  for (uint32_t i = 0; i < graph.nodes().size(); ++i) {
    if (graph[i].op != Op::region) continue;
    Result<LoweredRegion> lowered = lower_region(modules.after, graph, i, {});
    EXPECT_TRUE(lowered.ok());
    EXPECT_EQ(lowered->programs.size(), 1u);
    return lowered->programs[0];
  }
  ADD_FAILURE() << "no region in " << print(modules.after);
  return {};
}

std::string axes_of(const tile::Program& program) {
  std::string text;
  for (const tile::Axis& axis : program.axes) text += axis.name + ": " + axis.dim.str() + "  ";
  return text;
}

TEST(LowerMap, ContiguousOperandsAreOneAxis) {
  EXPECT_EQ(axes_of(only_program(graph_text("%x: f32[B, T, 512], %z: f32[B, T, 512]",
                                            "%a = add %x, %z\n%y = exp %a"))),
            "p: 512*B*T  ");
}

TEST(LowerMap, BiasMakesTwoAxes) {
  EXPECT_EQ(axes_of(only_program(
                graph_text("%x: f32[B, T, 512], %z: f32[512]", "%a = add %x, %z\n%y = exp %a"))),
            "r: B*T  c: 512  ");
}

TEST(LowerMap, ReshapesSplitAxesInsteadOfDividing) {
  const tile::Program program = only_program(
      graph_text("%x: f32[B, 8, T, 64], %z: f32[B, T, 512]",
                 "%a = transpose %x {perm = [0, 2, 1, 3]}\n%b = reshape %a {shape = [B, T, 512]}\n"
                 "%y = add %b, %z"));
  EXPECT_EQ(axes_of(program), "b0: B  b1: T  r: 8  c: 64  ");
}

TEST(LowerRows, RowsOfSeveralAxesAreOne) {
  const tile::Program program =
      only_program(graph_text("%x: f32[B, T, 8, 16]", "%y = sum %x {axes = [2, 3]}"));
  EXPECT_EQ(axes_of(program), "r: B*T  c: 128  ");
}

// Joined batches are still batches: no operand's own axis, with one row or with many.
TEST(LowerMatmul, BatchesOfBothOperandsAreOneAxis) {
  EXPECT_EQ(axes_of(only_program(
                graph_text("%x: f32[B, 8, T, 64], %w: f32[B, 8, 64, T]", "%y = matmul %x, %w"))),
            "b: 8*B  m: T  n: T  k: 64  ");
  const std::string one_row =
      graph_text("%x: f32[B, T, 1, 5], %w: f32[B, T, 5, 7]", "%y = matmul %x, %w");
  EXPECT_EQ(axes_of(only_program(one_row)), "b: B*T  n: 7  k: 5  ");
  expect_agrees_at_awkward_sizes(one_row);
}

TEST(LowerMatmul, BatchesJoinTheRows) {
  const tile::Program program =
      only_program(graph_text("%x: f32[B, T, 32], %w: f32[32, 48]", "%y = matmul %x, %w"));
  EXPECT_EQ(axes_of(program), "m: B*T  n: 48  k: 32  ");
}

TEST(Lower, Softmax) {
  expect_agrees_at_awkward_sizes(graph_text("%x: f32[B, T, 5]", "%y = softmax %x"));
  expect_agrees_at_awkward_sizes(graph_text("%x: f32[B, 5, T]", "%y = softmax %x {axis = 1}"));
  expect_agrees_at_awkward_sizes(graph_text("%x: f32[B, 5, T]", "%y = softmax %x {axis = 0}"));
}

TEST(Lower, NormsWithGradients) {
  expect_agrees_at_awkward_sizes(
      "param @g: f32[7] = normal(1.0)\nparam @b: f32[7] = normal(1.0)\n"
      "graph @f(%x: f32[B, T, 7], %w: f32[B, T, 7]) -> (loss) {\n"
      "%n = layer_norm %x, @g, @b\n%m = mul %n, %w\n%loss = sum %m {axes = [0, 1, 2]}\n"
      "return %loss\n}",
      true);
  expect_agrees_at_awkward_sizes(
      "param @g: f32[7] = normal(1.0)\n"
      "graph @f(%x: f32[B, T, 7], %w: f32[B, T, 7]) -> (loss) {\n"
      "%n = rms_norm %x, @g\n%m = mul %n, %w\n%loss = sum %m {axes = [0, 1, 2]}\n"
      "return %loss\n}",
      true);
}

TEST(Lower, FeedForwardWithGradients) {
  expect_agrees_at_awkward_sizes(
      "param @w: f32[6, 11] = normal(0.3)\nparam @b: f32[11] = normal(1.0)\n"
      "param @v: f32[11, 6] = normal(0.3)\n"
      "graph @f(%x: f32[B, T, 6], %r: f32[B, T, 6]) -> (loss) {\n"
      "%h = matmul %x, @w\n%a = add %h, @b\n%g = gelu %a {approximate = \"tanh\"}\n"
      "%o = matmul %g, @v\n%s = add %o, %r\n%q = mul %s, %s\n"
      "%loss = sum %q {axes = [0, 1, 2]}\nreturn %loss\n}",
      true);
}

TEST(Lower, CrossEntropyWithGradients) {
  expect_agrees_at_awkward_sizes(
      "param @w: f32[6, 9] = normal(0.3)\n"
      "graph @f(%x: f32[B, T, 6], %t: i32[B, T]) -> (loss) {\n"
      "%z = matmul %x, @w\n%c = cross_entropy %z, %t {label_smoothing = 0.1}\n"
      "%loss = sum %c {axes = [0, 1]}\nreturn %loss\n}",
      true);
}

TEST(Lower, AttentionWithGradients) {
  expect_agrees_at_awkward_sizes(
      "param @w: f32[8, 24] = normal(0.3)\nparam @o: f32[8, 8] = normal(0.3)\n"
      "graph @f(%x: f32[B, T, 8]) -> (loss) {\n"
      "%p = matmul %x, @w\n%r = reshape %p {shape = [B, T, 3, 2, 4]}\n"
      "%s = transpose %r {perm = [2, 0, 3, 1, 4]}\n"
      "%q0 = slice %s {starts = [0, 0, 0, 0, 0], limits = [1, B, 2, T, 4]}\n"
      "%k0 = slice %s {starts = [1, 0, 0, 0, 0], limits = [2, B, 2, T, 4]}\n"
      "%v0 = slice %s {starts = [2, 0, 0, 0, 0], limits = [3, B, 2, T, 4]}\n"
      "%q = reshape %q0 {shape = [B, 2, T, 4]}\n%k = reshape %k0 {shape = [B, 2, T, 4]}\n"
      "%v = reshape %v0 {shape = [B, 2, T, 4]}\n%kt = transpose %k {perm = [0, 1, 3, 2]}\n"
      "%d = matmul %q, %kt\n%m = causal_mask {rows = T, cols = T}\n"
      "%i = constant {value = -inf, dtype = f32}\n%e = select %m, %d, %i\n%a = softmax %e\n"
      "%u = matmul %a, %v\n%ut = transpose %u {perm = [0, 2, 1, 3]}\n"
      "%um = reshape %ut {shape = [B, T, 8]}\n%z = matmul %um, @o\n%zz = mul %z, %z\n"
      "%loss = sum %zz {axes = [0, 1, 2]}\nreturn %loss\n}",
      true);
}

TEST(Lower, EmbeddingWithGradients) {
  expect_agrees_at_awkward_sizes(
      "param @w: f32[13, 6] = normal(0.3)\n"
      "graph @f(%i: i32[B, T]) -> (loss) {\n"
      "%e = gather @w, %i\n%s = mul %e, %e\n%loss = sum %s {axes = [0, 1, 2]}\nreturn %loss\n}",
      true);
}

TEST(Lower, MovesOfAllSorts) {
  expect_agrees_at_awkward_sizes(graph_text(
      "%x: f32[B, T, 6], %z: f32[B, 2, 6]",
      "%c = concat %x, %z, %x {axis = 1}\n"
      "%p = pad %c {low = [0, 1, 2], high = [1, 0, 3], interior = [0, 1, 2], value = 0.5}\n"
      "%y = exp %p"));
  expect_agrees_at_awkward_sizes(
      graph_text("%x: f32[B, T, 6]", "%c = cumsum %x {axis = 1, reverse = true}\n%y = exp %c"));
  expect_agrees_at_awkward_sizes(
      graph_text("%x: f32[B, T, 6]", "%v, %i = top_k %x {k = 4}\n%y = add %v, %v"));
  expect_agrees_at_awkward_sizes(
      graph_text("%x: f32[B, T, 6]",
                 "%r = reshape %x {shape = [B, T, 2, 3]}\n%t = transpose %r {perm = [0, 1, 3, 2]}\n"
                 "%f = reshape %t {shape = [B*T*3, 2]}\n%e = exp %f\n"
                 "%y = reshape %e {shape = [B, T, 6]}"));
}

}  // namespace
}  // namespace weft
