// What the verifier refuses: one kernel for each reason.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "ir/tile/build.h"
#include "ir/tile/text.h"
#include "tests/tile/kernels.h"
#include "tests/tile/run_program.h"

namespace weft::tile {
namespace {

// A kernel around statements. Axis k is for loops, c whole, h a scalar, r in two levels if the grid
// has it.
std::string around(const std::string& body, const std::string& grid) {
  const bool two_levels = (", " + grid + ",").find(" r,") != std::string::npos;
  return R"(kernel @k {
  in %x: f32[M, 64]
  in %ids: i32[M]
  out %y: f32[M, 64]
  out %z: f32[M, 64, 8]
  out %s: f32[]
  inout %acc: f32[64]
  free BM = 4
  axis m: M by BM
  axis n: 64 by 16
  axis k: 64 by 8
  axis c: 64 full
  axis h: 8 by 1
)" + std::string(two_levels ? "  axis r: M by 8/2\n" : "") +
         "  grid " + grid + "\n" + body + "\n}\n";
}

struct Refusal {
  std::string body;
  std::string message;
  std::string grid = "h, n, m";
};
void PrintTo(const Refusal& refusal, std::ostream* out) { *out << refusal.body; }

class TileRefusals : public testing::TestWithParam<Refusal> {};

TEST_P(TileRefusals, AreExplained) {
  const Refusal& refusal = GetParam();
  Result<Program> program = parse("test", around(refusal.body, refusal.grid));
  ASSERT_FALSE(program.ok()) << refusal.body;
  EXPECT_NE(render(program.diagnostics()).find(refusal.message), std::string::npos)
      << render(program.diagnostics());
}

const Refusal kRefusals[] = {
    // axes
    {"store %z[m, n, h], load %x[m, k]", "axis k is used where nothing walks it"},
    {"store %z[m, n, h], load %x[r, n]", "axis r is used where nothing walks it", "h, n, m, r"},
    {"loop c {\n}", "which is taken whole"},
    {"loop m {\n}", "of which each program has one tile"},
    {"loop k {\nloop k {\n}\n}", "inside another one along it"},
    {"store %z[m, n, h], load %x[k.program, n]", "axis k is used where nothing walks it"},
    // loops
    {"%a = loop k carry %b = 0.0 : f32[m] {\nyield load %x[m, k]\n}",
     "carries f32[m] and yields f32[m, k]", "m"},
    {"%a = loop k carry %b = load %x[m, n] : f32[m] {\nyield %b\n}",
     "carries f32[m] and begins with f32[m, n]", "n, m"},
    {"%a = loop k carry %b = 0.0 : f32[k] {\nyield %b\n}", "axis k is used where nothing walks it",
     "r"},
    {"%a = loop k carry %b = 0.0 : f32[m] {\n}", "carries 1 values and yields 0", "m"},
    {"loop k to m {\n}", "a bound of the loop along k varies along [m]", "m"},
    {"loop k {\n%v = load %x[0, k]\n}\n%w = exp(%v)", "used outside of the block that defines it",
     "r"},
    // values
    {"%v = load %x[m]", "%x has 2 dims and is used with 1 indices", "m"},
    {"%v = load %x[m, n] {where load %x[m, n], fill 0.0}", "a predicate has type f32, not bool",
     "n, m"},
    {"%v = reduce.add[c](load %x[m, n])", "with the axes [m, n] is reduced along others", "n, m"},
    {"%v = reduce.and[n](load %x[m, n])", "reduce.and of f32", "n, m"},
    {"%v = reduce.argmax[m, n](load %x[m, n])", "argmax runs along one axis", "n, m"},
    {"%v = dot[c](load %x[m, c], load %x[m, c])", "share the axes [m, c], and it contracts [c]",
     "m"},
    {"%v = dot[c](load %x[m, c], load %ids[c])", "dot of f32 and i32", "m"},
    {"%v = dot[c](load %x[m, c], load %x[0, c], load %x[m, n])", "its accumulator is f32[m, n]",
     "n, m"},
    {"%v = load %x[m, n] + load %ids[m]", "add: ", "n, m"},
    {"%v = gelu(load %x[m, n])", "gelu: not an elementwise primitive", "n, m"},
    {"%v = random[1, n](1, load %ids[0])", "seed and step of random are u32[], not i32[]", "n"},
    {"%i = load %x[m, n]\n%v = load %x[%i, n]", "a value of type f32, which is no integer", "n, m"},
    {"%v = load %x[m/0, n]", "an index is divided by 0", "n, m"},
    {"when load %x[0, 0] {\n}", "a branch needs a bool without axes, not f32[]", "r"},
    // writes
    {"store %x[m, n], 0.0", "%x is written, but only an input", "n, m"},
    {"store %y[m, n], load %ids[m]", "%y has element type f32, what is written i32", "n, m"},
    {"store %y[m, 0], load %x[m, n]", "varies along n, but the element does not", "n, m"},
    {"store %y[m, n], 0.0", "every program along h writes the same elements of %y", "h, n, m"},
    {"store %y[m/2, n], 0.0", "several coordinates of m are written to one element of %y", "n, m"},
    {"store %y[mod(m, 7), n], 0.0", "several coordinates of m are written to one element", "n, m"},
    {"store %y[m + n, 0], 0.0", "coordinates of m and n meet in one element of %y", "n, m"},
    {"%i = load %ids[m]\nstore %y[%i, n], 0.0", "the index of a store to %y varies along [m]", "n"},
    {"update %y[m, n] += 1.0", "%y is added to, but is not inout", "n, m"},
    {"update %acc[n] += 1.0", "every program along m writes the same elements of %acc", "n, m"},
    {"accumulate.add %s[], load %x[0, 0] over k", "over an axis that is not in the grid", "r"},
    {"accumulate.add %y[m, n], load %x[m, n] over m", "but its element depends on it", "n, m"},
    {"accumulate.argmax %s[], f32(1.0) over m", "accumulate.argmax of f32", "m"},
    {"accumulate.add %acc[c], load %x[0, c] over m", "%acc is accumulated to, but is not out", "m"},
    {"loop k {\naccumulate.add %s[], 1.0 over m\n}", "accumulate to %s inside a loop", "m"},
    {"accumulate.add %s[], 1.0 over m\naccumulate.add %s[], 1.0 over m",
     "%s is accumulated to, and also written otherwise", "m"},
    {"scatter %acc[c] += 1.0 order c", "the index of a scatter to %acc has no values", "r"},
    {"%i = load %ids[m]\nscatter %acc[%i] += 1.0 order m", "whose programs have no order", "m"},
    {"loop r {\n%i = load %ids[r]\nscatter %acc[%i] += 1.0 order c\n}",
     "says nothing of the order along r", "r"},
    {"%v = load %acc[c]\nstore %acc[n], 1.0", "%acc is loaded and stored at different elements",
     "n"},
    {"loop k {\n%i = load %ids[0]\nscatter %acc[%i] += 1.0 order k\n}\n%v = load %acc[c]",
     "is scattered or accumulated to, and loaded", "serial r"},
};
INSTANTIATE_TEST_SUITE_P(All, TileRefusals, testing::ValuesIn(kRefusals));

TEST(TileVerify, Headers) {
  auto refused = [](const std::string& header, const std::string& message) {
    Result<Program> program = parse("test", "kernel @k {\n" + header + "\n}\n");
    EXPECT_FALSE(program.ok()) << header;
    EXPECT_NE(render(program.diagnostics()).find(message), std::string::npos)
        << render(program.diagnostics());
  };
  refused("out %y: f32[4] strides [0]", "stride 0 puts all elements of dim 0 in one place");
  refused("in %y: f32[4] strides [1, 1]", "%y has 1 dims and 2 strides");
  refused(
      "in %x: i32[]\nout %y: i32[4]\naxis m: 4 full\naxis L: 4 full\n%i = load %x[]\n"
      "store %y[m], coord(%i below L)",
      "has the name of another axis or of a dim");
  refused("axis M: M full", "has the name of another axis or of a dim");
  refused("axis r: 64 by 8/2",
          "axis r has an inner extent, but the grid does not take it in parts");
  refused("axis m: 4 by 0", "an extent cannot be 0");
  refused("free B = 0", "a knob cannot be 0");
  refused("axis m: 4 by BM", "unknown knob BM");
  refused("axis m: 4 full\ngrid m, m", "the grid has axis m twice");
  refused("axis m: 96 by 96\nlayout m = [reg 6, step 15]", "make 90, its tiles have 96");
  refused("axis m: M full\nlayout m = [reg 6]", "has a layout, but no fixed extent");
}

TEST(TileVerify, LayoutsArePrintedAndReadBack) {
  Program program = kernel(R"(kernel @k {
  out %y: f32[96, 64]
  axis m: 96 by 96
  axis n: 64 full
  grid m
  layout m = [reg 6, step 16]
  layout n = [lane 8, reg 2, wave 4]
  store %y[m, n], 0.0
}
)");
  EXPECT_EQ(print(kernel(print(program))), print(program));
  ASSERT_EQ(program.layout.size(), 2u);
  EXPECT_EQ(program.layout[1][0], (Digit{Digit::lane, 8}));
}

// Programs that no text can spell.
TEST(TileVerify, BrokenPrograms) {
  auto refused = [](const Program& program, const std::string& message) {
    Status status = verify(program);
    ASSERT_FALSE(status.ok());
    EXPECT_NE(render(status.diagnostics()).find(message), std::string::npos)
        << render(status.diagnostics());
  };
  const Program good = kernel(kMatmul);
  Program program = good;
  program.name.clear();
  refused(program, "a kernel has no name");
  program = good;
  program.body.back().value = program.body[1].value + 1000;
  refused(program, "an unknown value is used");
  program = good;
  program.body.push_back(program.body.back());
  refused(program, "a value without a name is used twice");
  program = good;
  program.body.back().ref.buffer = 77;
  refused(program, "an unknown buffer is used");
  program = good;
  program.values[program.body[1].value].dtype = DType::f16;
  refused(program, "a value is declared f16[m, n], but is f32[m, n]");
  program = good;
  program.body[0].axis = 9;
  refused(program, "a loop along an unknown axis");
  program = good;
  program.grid.push_back({42, false});
  refused(program, "the grid has an unknown axis");
}

}  // namespace
}  // namespace weft::tile
