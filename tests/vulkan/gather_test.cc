// Where elements come from: each of a pack from a place of its own; coordinates that may be long.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/vulkan/open.h"
#include "tests/vulkan/shared_device.h"
#include "tests/vulkan/verify.h"

namespace weft {
namespace {

void expect_right(const std::string& text) {
  ask_for_validation();
  if (shared_vulkan_device() == nullptr) GTEST_SKIP() << "no Vulkan device";
  const Module module = parse("gather.weft", text).value();
  for (simt::Mapping mapping : {simt::Mapping::registers, simt::Mapping::workgroup}) {
    expect_agrees(module, {{"B", 3}}, 1, mapping);
  }
}

// Each element has a row of its own, and the rows lie so that they are read in fours elsewhere.
TEST(Gather, AnotherRowForEachElementOfAPack) {
  expect_right(
      "graph @g(%x: f32[B, 5, 8], %i: i32[B, 7, 8]) -> (y) {\n"
      "  %y = take_along_axis %x, %i {axis = 1}\n"
      "  return %y\n}\n");
}

TEST(Gather, ARowForEachPack) {
  expect_right(
      "graph @g(%x: f32[5, 8], %i: i32[B]) -> (y) {\n"
      "  %y = gather %x, %i {axis = 0}\n"
      "  return %y\n}\n");
}

// B + 3 is not known to fit 31 bits; a device without longer integers has to do all the same.
TEST(Pad, NeedsNoLongIntegers) {
  ::setenv("WEFT_VULKAN_LIE", "int64", 1);
  expect_right(
      "graph @g(%x: f32[B, T, T]) -> (y) {\n"
      "  %p = pad %x {low = [1, 0, 0], high = [2, 0, 1]}\n"
      "  %y = exp %p\n"
      "  return %y\n}\n");
  ::unsetenv("WEFT_VULKAN_LIE");
}

}  // namespace
}  // namespace weft
