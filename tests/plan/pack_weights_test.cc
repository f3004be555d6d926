// Weights that no graph changes, laid out as products read them.
// SPDX-License-Identifier: Apache-2.0
#include "passes/pack_weights.h"

#include <gtest/gtest.h>

#include "ir/tile/text.h"
#include "passes/plan.h"
#include "tests/plan/plan_support.h"

namespace weft {
namespace {

// A product of x and `weights`, in a module with @w and perhaps another graph.
std::string module_text(const std::string& type, const std::string& rhs,
                        const std::string& more = "", const std::string& x = "f32[B, 96]") {
  return "module \"m\" {; param @w: " + type + " = normal(1.0); graph @g(%x: " + x +
         ") -> (y) {; %t = " + rhs +
         "; %y = region {kind = \"matmul\"} (%i = %x, %j = %t) {; %o = matmul %i, %j; return %o; }"
         "; return %y; };" +
         more + " }";
}

const std::string kWhole = "slice @w {starts = [0, 0], limits = [96, 80]}";

std::string reads(const Planned& p) {
  for (const tile::Program& program : p.plan.programs) {
    const std::string text = tile::print(program);
    const size_t at = text.find("dot[k]");
    if (at != std::string::npos) return text.substr(at, text.find('\n', at) - at);
  }
  return "";
}

TEST(PackWeights, AProductReadsPanels) {
  Planned p = plan_text(module_text("f32[96, 80]", kWhole), {{"B", 7}});
  ASSERT_EQ(p.plan.packed.size(), 1u);
  const PackedStorage& copy = p.plan.packed[0];
  EXPECT_EQ(copy.storage, "w");
  EXPECT_EQ(copy.elements, 96 * 80);
  EXPECT_TRUE(copy.back.has_value());
  EXPECT_EQ(p.count(PlanBuffer::packed), 1);
  EXPECT_EQ(p.count(PlanBuffer::storage), 0);
  EXPECT_EQ(reads(p), "dot[k](load %i[m, k], load %j[n/16, k, mod(n, 16)], %carried0)");
}

std::string block_of_columns(const Planned& p) {
  for (const tile::Program& program : p.plan.programs) {
    for (const tile::Knob& knob : program.knobs) {
      if (knob.name == "BN") return std::to_string(knob.value);
    }
  }
  return "";
}

TEST(PackWeights, OneBlockOfColumnsBecomesTwoWhereRowsMayBeFew) {
  EXPECT_EQ(block_of_columns(plan_text(module_text("f32[96, 80]", kWhole), {{"B", 7}})), "48");
  const std::string wide = "slice @w {starts = [0, 0], limits = [96, 800]}";
  const std::string before =
      block_of_columns(plan_text(module_text("f32[96, 800]", wide, "", "f32[640, 96]"), {}));
  EXPECT_EQ(block_of_columns(plan_text(module_text("f32[96, 800]", wide), {{"B", 7}})), before);
}

TEST(PackWeights, TheLastPanelIsFilledUp) {
  Planned p = plan_text(module_text("f32[96, 70]", "slice @w {starts = [0, 0], limits = [96, 70]}"),
                        {{"B", 7}});
  ASSERT_EQ(p.plan.packed.size(), 1u);
  EXPECT_EQ(p.plan.packed[0].elements, 96 * 80);
  EXPECT_TRUE(p.plan.packed[0].back.has_value());
}

TEST(PackWeights, TransposedWeights) {
  Planned p = plan_text(module_text("f32[80, 96]", "transpose @w {perm = [1, 0]}"), {{"B", 7}});
  ASSERT_EQ(p.plan.packed.size(), 1u);
  EXPECT_TRUE(p.plan.packed[0].back.has_value());
}

TEST(PackWeights, APartOfAParameterIsNoReplacementForIt) {
  Planned p = plan_text(
      module_text("f32[100, 80]", "slice @w {starts = [4, 0], limits = [100, 80]}"), {{"B", 7}});
  ASSERT_EQ(p.plan.packed.size(), 1u);
  EXPECT_EQ(p.plan.packed[0].offset, 4 * 80);
  EXPECT_FALSE(p.plan.packed[0].back.has_value());
}

TEST(PackWeights, AnEmbeddingStaysBesideItsPanels) {
  Planned p = plan_text(R"(module "m" {
      param @w: f32[80, 96] = normal(1.0)
      graph @g(%x: f32[B, 96], %i: i32[B]) -> (y, e) {
        %t = transpose @w {perm = [1, 0]}
        %y = region {kind = "matmul"} (%a = %x, %b = %t) {; %o = matmul %a, %b; return %o; }
        %e = region {kind = "map"} (%a = @w, %b = %i) {; %o = gather %a, %b; return %o; }
        return %y, %e
      }
    })",
                        {{"B", 7}});
  ASSERT_EQ(p.plan.packed.size(), 1u);
  EXPECT_FALSE(p.plan.packed[0].back.has_value());
  EXPECT_EQ(p.count(PlanBuffer::storage), 1);
}

TEST(PackWeights, GraphsShareACopy) {
  const std::string again =
      "graph @h(%x: f32[B, 96]) -> (y) {; %t = " + kWhole +
      "; %y = region {kind = \"matmul\"} (%i = %x, %j = %t) {; %o = matmul %i, %j; %p = exp %o"
      "; return %p; }; return %y; }";
  Planned p = plan_text(module_text("f32[96, 80]", kWhole, again), {{"B", 7}});
  EXPECT_EQ(p.plan.packed.size(), 1u);
}

TEST(PackWeights, WhatSomeGraphUpdatesStays) {
  const std::string step =
      "graph @h(%x: f32[96, 80]) -> () {; %n = region {kind = \"map\"} (%i = %x) {; %o = exp %i"
      "; return %o; }; update @w = %n; return; }";
  Planned p = plan_text(module_text("f32[96, 80]", kWhole, step), {{"B", 7}});
  EXPECT_EQ(p.plan.packed.size(), 0u);
  EXPECT_EQ(p.count(PlanBuffer::storage), 1);
}

TEST(PackWeights, WhatIsSmallOrReadByFewRowsStays) {
  EXPECT_EQ(plan_text(module_text("f32[96, 16]", "slice @w {starts = [0, 0], limits = [96, 16]}"),
                      {{"B", 7}})
                .plan.packed.size(),
            0u);
  EXPECT_EQ(plan_text(module_text("f32[96, 80]", kWhole, "", "f32[3, 96]")).plan.packed.size(), 0u);
  EXPECT_EQ(plan_text(module_text("f32[96, 80]", kWhole, "", "f32[4, 96]")).plan.packed.size(), 1u);
}

TEST(PackWeights, ADeviceMayNotWantIt) {
  Planned p = plan_text(module_text("f32[96, 80]", kWhole), {{"B", 7}});
  Result<Plan> plan = make_plan(p.module, {.panel_bytes = 0});
  ASSERT_TRUE(plan.ok());
  EXPECT_TRUE(plan->packed.empty());
}

}  // namespace
}  // namespace weft
