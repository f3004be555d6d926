// Loops inside loops: what one of them may compute before it begins.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/vulkan/open.h"
#include "tests/vulkan/shared_device.h"
#include "tests/vulkan/verify.h"

namespace weft {
namespace {

// The gradient of a bias that all heads share: the loop over heads is inside that over the batch,
// of which the mask does not depend.
TEST(Loops, AMaskOfEachHeadAndABiasOfAll) {
  ask_for_validation();
  if (shared_vulkan_device() == nullptr) GTEST_SKIP() << "no Vulkan device";
  const std::string text =
      "graph @g(%q: f32[B, T, T, 4], %k: f32[B, T, 5, 4], %v: f32[B, T, 5, 4], %b: f32[1, 1, T, 5],"
      " %m: bool[1, T, T, 5], %d: f32[B, T, T, 4], %e: f32[B, T, T]) -> (s, t, u, w) {\n"
      "  %o, %l = attention %q, %k, %v, %b, %m\n"
      "  %s, %t, %u, %w = attention_grad %q, %k, %v, %l, %e, %d, %b, %m\n"
      "  return %s, %t, %u, %w\n}\n";
  const Module module = parse("bias.weft", text).value();
  for (simt::Mapping mapping : {simt::Mapping::registers, simt::Mapping::workgroup}) {
    expect_agrees(module, {{"B", 3}, {"T", 4}}, 1, mapping);
  }
}

}  // namespace
}  // namespace weft
