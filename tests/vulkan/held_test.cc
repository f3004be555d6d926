// Rows that a loop carries and that are summed too: all of one is in registers at once, or it is
// walked once for each of its parts.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "ir/text/text.h"
#include "passes/autodiff.h"
#include "tests/vulkan/open.h"
#include "tests/vulkan/shared_device.h"
#include "tests/vulkan/verify.h"

namespace weft {
namespace {

// `layout`: what the head of a kernel's text has to say in the register form.
void expect_right(Module module, const DimBinding& dims, const std::string& layout,
                  bool long_kernels = false) {
  ask_for_validation(long_kernels);
  if (shared_vulkan_device() == nullptr) GTEST_SKIP() << "no Vulkan device";
  for (simt::Mapping mapping : {simt::Mapping::registers, simt::Mapping::workgroup}) {
    CompileRequest request;
    request.device = "vulkan";
    request.form.mapping = mapping;
    request.keep_text = true;
    const Result<Compiled> made = compile(module, request);
    ASSERT_TRUE(made.ok()) << render(made.diagnostics());
    std::string texts;
    for (const KernelDump& kernel : made->texts) {
      for (const auto& [ending, text] : kernel.files) texts += ending == "comp" ? text : "";
    }
    if (mapping == simt::Mapping::registers) {
      EXPECT_NE(texts.find(layout), std::string::npos) << texts;
    }
    expect_agrees(module, dims, 0, mapping);
  }
}

Module sums_of_softmax(const std::string& width) {
  const std::string text = "graph @g(%x: f32[R, " + width + "], %d: f32[R, " + width +
                           "]) -> (s, y) {\n"
                           "  %p = softmax %x {axis = 1}\n"
                           "  %q = mul %p, %d\n"
                           "  %s = sum %q {axes = [0]}\n"
                           "  %y = sum %q {axes = [1]}\n"
                           "  return %s, %y\n}\n";
  return parse("sums.weft", text).value();
}

TEST(HeldRows, OfALengthThatIsKnownWhenItRuns) {
  expect_right(sums_of_softmax("C"), {{"R", 50}, {"C", 700}}, ", again, steps]");
}

TEST(HeldRows, LongOnesHaveMoreWaves) {
  if (shared_vulkan_device() == nullptr) GTEST_SKIP() << "no Vulkan device";
  if (facts_of(*shared_vulkan_device()).subgroup != 8) GTEST_SKIP() << "for subgroups of eight";
  expect_right(sums_of_softmax("2100"), {{"R", 20}}, "[pack 4, lane 8, wave 2,");
}

// Sizes that are no multiple of four have no packs, and as many registers.
TEST(HeldRows, HeadsOfAnySize) {
  if (suite() == "quick") GTEST_SKIP() << "not in the quick suite";
  const std::string text =
      "graph @forward(%q: f32[2, 9, 70], %k: f32[2, 11, 70], %v: f32[2, 11, 70]) -> (loss) {\n"
      "  %a, %lse = attention %q, %k, %v {scale = 0.125}\n"
      "  %w = mul %a, %a\n"
      "  %loss = sum %w {axes = [0, 1, 2]}\n"
      "  return %loss\n}\n";
  Module module = parse("heads.weft", text).value();
  const bool backward = suite() == "slow";  // a driver takes long for it
  if (backward) {
    const Status added = add_backward(module, {"forward", "loss", {"q", "k", "v"}, ""});
    ASSERT_TRUE(added.ok()) << render(added.diagnostics());
  }
  expect_right(std::move(module), {}, "d = [reg 70]", /*long_kernels=*/backward);
}

}  // namespace
}  // namespace weft
