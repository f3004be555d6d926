// Numbers of every type that go through workgroup memory from one lane to another.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/vulkan/open.h"
#include "tests/vulkan/shared_device.h"
#include "tests/vulkan/verify.h"

namespace weft {
namespace {

// Rows longer than a subgroup, on a device whose subgroups exchange numbers and on one where they
// do not.
TEST(Exchange, ReductionsOfEveryType) {
  ask_for_validation();
  if (shared_vulkan_device() == nullptr) GTEST_SKIP() << "no Vulkan device";
  const bool longs = facts_of(*shared_vulkan_device()).has("int64");
  for (const std::string type : {"i64", "i32", "u32", "f32", "bool"}) {
    if (type == "i64" && !longs) continue;
    SCOPED_TRACE(type);
    const bool is_bool = type == "bool";
    const std::string text =
        "graph @g(%x: " + type + "[3, 300]) -> (a, b) {\n  %a = " + (is_bool ? "any" : "max") +
        " %x {axes = [1]}\n  %b = " + (is_bool ? "all %x {axes = [1]}" : "argmax %x {axis = 1}") +
        "\n  return %a, %b\n}\n";
    const Module module = parse("rows.weft", text).value();
    for (const char* lacking : {"", "subgroup_shuffle"}) {
      SCOPED_TRACE(lacking);
      ::setenv("WEFT_VULKAN_LIE", lacking, 1);
      expect_agrees(module, {}, 1, simt::Mapping::registers);
      expect_agrees(module, {}, 1, simt::Mapping::workgroup);
      ::unsetenv("WEFT_VULKAN_LIE");
    }
  }
}

}  // namespace
}  // namespace weft
