// Which programs may write where they read.
// SPDX-License-Identifier: Apache-2.0
#include "ir/tile/in_place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/tile/text.h"

namespace weft::tile {
namespace {

using ::testing::HasSubstr;

// A kernel with f32[R, 8] buffers %x and %z (in) and %y (out), rows r and columns c.
Program kernel(const std::string& body) {
  Result<Program> program = parse("kernel.tile", R"(kernel @k {
  in %x: f32[R, 8]
  in %z: f32[R, 8]
  out %y: f32[R, 8]
  free BR = 4
  axis r: R by BR
  axis c: 8 full
  grid r
)" + body + "\n}\n");
  EXPECT_TRUE(program.ok()) << render(program.diagnostics());
  return program.ok() ? *program : Program();
}

std::optional<Program> x_becomes_y(const std::string& body) { return in_place(kernel(body), 0, 2); }

TEST(InPlace, ElementsAreReadWhereTheyAreWritten) {
  auto merged = x_becomes_y("  store %y[r, c], load %x[r, c] + load %z[r, c]");
  ASSERT_TRUE(merged);
  std::string text = print(*merged);
  EXPECT_THAT(text, HasSubstr("inout %y"));
  EXPECT_THAT(text, HasSubstr("load %y[r, c] + load %z[r, c]"));
  EXPECT_EQ(text.find("%x"), std::string::npos);
  EXPECT_TRUE(parse("merged.tile", text).ok());
}

TEST(InPlace, ARowIsReducedBeforeItIsWritten) {
  EXPECT_TRUE(x_becomes_y(R"(  %v = load %x[r, c] : f32[r, c]
  %m = reduce.max[c](%v) : f32[r]
  store %y[r, c], %v - %m)"));
}

TEST(InPlace, OtherElementsAreNotRead) {
  EXPECT_FALSE(x_becomes_y("  store %y[r, c], load %x[r, 0]"));
  EXPECT_FALSE(x_becomes_y("  store %y[r, c], load %x[r, c] - load %x[r, 7 - c]"));
}

TEST(InPlace, NothingIsReadAfterItWasWritten) {
  Result<Program> program = parse("kernel.tile", R"(kernel @k {
  in %x: f32[R, 8]
  out %y: f32[R, 8]
  out %w: f32[R, 8]
  free BR = 4
  axis r: R by BR
  axis c: 8 full
  grid r
  store %y[r, c], exp(load %x[r, c])
  store %w[r, c], load %x[r, c]
}
)");
  ASSERT_TRUE(program.ok()) << render(program.diagnostics());
  EXPECT_FALSE(in_place(*program, 0, 1));
  EXPECT_TRUE(in_place(*program, 0, 2));
}

TEST(InPlace, StoresBecomeAdditions) {
  auto adding = adding_to(kernel("  store %y[r, c], load %x[r, c] * load %z[r, c]"), 2);
  ASSERT_TRUE(adding);
  EXPECT_THAT(print(*adding), HasSubstr("update %y[r, c] += load %x[r, c] * load %z[r, c]"));
  EXPECT_FALSE(adding_to(*adding, 2));
}

TEST(InPlace, ACopyOntoItselfDoesNothing) {
  Program copy = kernel("  store %y[r, c], load %x[r, c]");
  EXPECT_FALSE(does_nothing(copy));
  EXPECT_TRUE(does_nothing(*in_place(copy, 0, 2)));
  EXPECT_FALSE(does_nothing(*x_becomes_y("  store %y[r, c], exp(load %x[r, c])")));
}

}  // namespace
}  // namespace weft::tile
