// Indices that are known only at run time are checked, wherever the indexed value comes from.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "ir/text/text.h"
#include "passes/pass.h"
#include "tests/passes/oracle_support.h"
#include "tests/support/run_tiles.h"

namespace weft {
namespace {

// Runs the graph with index `i` on the oracle and as tiles: both agree whether it is an error.
void expect_checked(const std::string& body, int64_t first_bad) {
  const Module before =
      test::must_parse("graph @f(%x: f32[6, 4], %i: i32[]) -> (y) {\n" + body + "\nreturn %y\n}");
  Module after = before;
  auto records = run_pipeline(after, {});
  ASSERT_TRUE(records.ok()) << render(records.diagnostics());
  for (int64_t i = -2; i < first_bad + 2; ++i) {
    SCOPED_TRACE(body + " at " + std::to_string(i));
    TensorMap inputs = {{"x", test::spread_reals({6, 4})}, {"i", test::integers({}, {i})}};
    inputs.at("x").dtype = DType::f32;
    Result<OracleResult> expected = run_oracle(before, before.graphs[0], inputs, {});
    Result<OracleResult> actual = run_tiles(after, after.graphs[0], inputs);
    EXPECT_EQ(expected.ok(), i >= 0 && i < first_bad);
    ASSERT_EQ(actual.ok(), expected.ok()) << print(after);
    if (!actual.ok()) continue;
    test::expect_near(actual->outputs.at("y"), expected->outputs.at("y"), 1e-6, "y");
  }
}

TEST(IndexChecks, OfWhatIsThere) {
  expect_checked("%y = gather %x, %i", 6);
  expect_checked("%y = dynamic_slice %x, %i {axis = 0, size = 2}", 5);
  expect_checked(
      "%c = constant {value = 1.0, dtype = f32, shape = [2, 4]}\n"
      "%y = update_slice %x, %c, %i {axis = 0}",
      5);
}

TEST(IndexChecks, OfWhatIsComputed) {
  expect_checked("%e = exp %x\n%y = gather %e, %i", 6);
  expect_checked("%s = slice %x {starts = [1, 0], limits = [5, 4]}\n%y = gather %s, %i", 4);
  expect_checked("%r = reshape %x {shape = [3, 8]}\n%y = gather %r, %i", 3);
  expect_checked("%p = pad %x {low = [1, 0], high = [1, 0], value = 0.5}\n%y = gather %p, %i", 8);
  expect_checked("%c = concat %x, %x {axis = 0}\n%y = gather %c, %i", 12);
  expect_checked("%n = iota {shape = [5], dtype = f32}\n%g = gather %n, %i\n%y = add %g, %x", 5);
  expect_checked(
      "%s = slice %x {starts = [1, 0], limits = [5, 4]}\n%e = exp %s\n"
      "%y = dynamic_slice %e, %i {axis = 0, size = 3}",
      2);
  // Where the gathered element is not asked for, nothing is checked that would not be otherwise.
  expect_checked(
      "%s = slice %x {starts = [1, 0], limits = [5, 4]}\n%g = gather %s, %i\n"
      "%p = pad %g {low = [1], high = [2]}\n%y = exp %p",
      4);
}

}  // namespace
}  // namespace weft
