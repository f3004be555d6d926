// What a plan does with memory: lifetimes, reuse, packs, updates, outputs.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/plan/plan_support.h"

namespace weft {
namespace {

TEST(Plan, KeepsAValueUntilItsLastReader) {
  Planned p = plan_text(R"(
    graph @g(%x: f32[B, 8]) -> (y, z) {
      %a = region {kind = "map"} (%i = %x) {; %o = exp %i; return %o; }
      %b = region {kind = "map"} (%i = %x) {; %o = tanh %i; return %o; }
      %y = region {kind = "map"} (%i = %b, %j = %a) {; %o = mul %i, %j; return %o; }
      %z = region {kind = "rows"} (%i = %a) {; %o = sum %i {axes = [1]}; return %o; }
      return %y, %z
    })",
                        {{"B", 5}});
  EXPECT_EQ(p.count(Step::copy), 0);
  EXPECT_EQ(p.count(PlanBuffer::arena), 2);
  EXPECT_EQ(p.buffer("%a").first, 0u);
  EXPECT_EQ(p.buffer("%a").last, 3u);
  EXPECT_EQ(p.buffer("%b").first, 1u);
  EXPECT_EQ(p.buffer("%b").last, 2u);
}

TEST(Plan, ResultsTakeTheMemoryOfOperandsThatDie) {
  Planned p = plan_text(R"(
    graph @g(%x: f32[B, 8]) -> (y) {
      %a = region {kind = "map"} (%i = %x) {; %o = exp %i; return %o; }
      %b = region {kind = "map"} (%i = %a) {; %o = tanh %i; return %o; }
      %c = region {kind = "rows"} (%i = %b) {
        %m = max %i {axes = [1], keepdims = true}
        %s = sub %i, %m
        return %s
      }
      %y = region {kind = "map"} (%i = %c, %j = %x) {; %o = mul %i, %j; return %o; }
      return %y
    })",
                        {{"B", 5}});
  EXPECT_EQ(p.count(PlanBuffer::arena), 1);
  EXPECT_EQ(p.count(Step::launch), 4);
}

TEST(Plan, DoesNotOverwriteWhatIsReadElsewhere) {
  Planned p = plan_text(R"(
    graph @g(%x: f32[6, 6]) -> (y, z) {
      %a = region {kind = "map"} (%i = %x) {; %o = exp %i; return %o; }
      %t = transpose %a {perm = [1, 0]}
      %b = region {kind = "map"} (%i = %a, %j = %t) {; %o = sub %i, %j; return %o; }
      %y = region {kind = "map"} (%i = %b) {; %o = tanh %i; return %o; }
      %z = region {kind = "map"} (%i = %b) {; %o = exp %i; return %o; }
      return %y, %z
    })");
  EXPECT_EQ(p.count(PlanBuffer::arena), 2);
}

TEST(Plan, PartsOfAPackAreComputedInTheirPlace) {
  Planned p = plan_text(R"(
    graph @g(%x: f32[B, 4], %w: f32[3, 4]) -> (y, s) {
      %a = region {kind = "map"} (%i = %x) {; %o = exp %i; return %o; }
      %b = region {kind = "map"} (%i = %w) {; %o = tanh %i; return %o; }
      %p = concat %a, %b {axis = 0}
      %y = region {kind = "map"} (%i = %p) {; %o = neg %i; return %o; }
      %s = region {kind = "rows"} (%i = %a) {; %o = sum %i {axes = [0, 1]}; return %o; }
      return %y, %s
    })",
                        {{"B", 5}});
  EXPECT_EQ(p.count(Step::copy), 0);
  EXPECT_EQ(p.buffer("%p").kind, PlanBuffer::arena);
}

TEST(Plan, WhatCannotLieInAPackIsCopied) {
  Planned p = plan_text(R"(
    graph @g(%x: f32[2, 4]) -> (y) {
      %a = region {kind = "map"} (%i = %x) {; %o = exp %i; return %o; }
      %t = transpose %a {perm = [1, 0]}
      %r = slice %t {starts = [1, 0], limits = [3, 2]}
      %q = transpose %x {perm = [1, 0]}
      %y = concat %t, %r, %q {axis = 0}
      return %y
    })");
  EXPECT_EQ(p.count(PlanBuffer::output), 1);
}

constexpr char kFlatSgd[] = R"(
    param @a: f32[2, 3] = normal(1.0)
    param @b: f32[4] = normal(1.0)
    graph @step(%g: f32[10]) -> (n) {
      %fa = reshape @a {shape = [6]}
      %w = concat %fa, @b {axis = 0}
      %n = region {kind = "map"} (%i = %w) {; %o = exp %i; return %o; }
      %v = region {kind = "map"} (%i = %w, %j = %g) {; %o = sub %i, %j; return %o; }
      %va = slice %v {starts = [0], limits = [6]}
      %ra = reshape %va {shape = [2, 3]}
      %vb = slice %v {starts = [6], limits = [10]}
      update @a = %ra
      update @b = %vb
      return %n
    }
    graph @show() -> (b, a) {
      return @b, @a
    })";

TEST(Plan, StorageThatIsPackedLiesInABlockAndIsUpdatedInPlace) {
  Planned p = plan_text(kFlatSgd);
  ASSERT_EQ(p.plan.blocks.size(), 1u);
  EXPECT_EQ(p.plan.blocks[0].members, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(p.count(Step::copy), 0);
  EXPECT_EQ(p.count(PlanBuffer::arena), 0);
}

TEST(Plan, ReadersOfTheOldValueComeFirst) {
  Planned p = plan_text(R"(
    state @w: f32[8] = normal(1.0)
    graph @g(%x: f32[8]) -> (y) {
      %v = region {kind = "map"} (%i = @w, %j = %x) {; %o = add %i, %j; return %o; }
      %y = region {kind = "map"} (%i = @w) {; %o = exp %i; return %o; }
      update @w = %v
      return %y
    })");
  EXPECT_EQ(p.count(Step::copy), 0);
  EXPECT_EQ(p.count(PlanBuffer::arena), 0);
  EXPECT_LT(p.step("%y"), p.step("%v"));
}

TEST(Plan, ANewValueWaitsWhereTheOldOneIsStillNeeded) {
  Planned p = plan_text(R"(
    state @w: f32[8] = normal(1.0)
    graph @g(%x: f32[8]) -> (y) {
      %v = region {kind = "map"} (%i = @w, %j = %x) {; %o = add %i, %j; return %o; }
      %y = region {kind = "map"} (%i = @w, %j = %v) {; %o = mul %i, %j; return %o; }
      update @w = %v
      return %y
    })");
  EXPECT_EQ(p.count(Step::copy), 1);
  EXPECT_EQ(p.graph().steps.back().kind, Step::copy);
}

TEST(Plan, StatesAreSwapped) {
  plan_text(R"(
    state @a: f32[4] = normal(1.0)
    state @b: f32[4] = normal(2.0)
    state @c: f32[2, 2] = normal(3.0)
    graph @g() -> (old) {
      %t = transpose @c {perm = [1, 0]}
      update @a = @b
      update @b = @a
      update @c = %t
      return @a
    })");
}

TEST(Plan, AnUpdateThatReadsElsewhereIsNotInPlace) {
  plan_text(R"(
    state @w: f32[4, 4] = normal(1.0)
    graph @g() -> (y) {
      %t = transpose @w {perm = [1, 0]}
      %v = region {kind = "map"} (%i = %t) {; %o = exp %i; return %o; }
      %y = region {kind = "rows"} (%i = %v) {; %o = sum %i {axes = [1]}; return %o; }
      update @w = %v
      return %y
    })");
}

TEST(Plan, OutputsAreCopiesWhereTheyMustBe) {
  Planned p = plan_text(R"(
    param @w: f32[2, 2] = normal(1.0)
    graph @g(%x: f32[B]) -> (a, b, c, d, e, f) {
      %a = region {kind = "map"} (%i = %x) {; %o = exp %i; return %o; }
      %t = transpose @w {perm = [1, 0]}
      %k = constant {value = [1.0, 2.0], dtype = f32, shape = [2]}
      %z = constant {value = 3.0, dtype = f32, shape = [B, 2]}
      return %a, %a, %x, %t, %k, %z
    })",
                        {{"B", 5}});
  EXPECT_EQ(p.count(PlanBuffer::output), 6);
}

TEST(Plan, ScatterInPlaceCopiesNothing) {
  Planned p = plan_text(R"(
    state @table: f32[6, 4] = normal(1.0)
    graph @g(%ids: i32[B], %x: f32[B, 4]) -> (x) {
      %v = region {kind = "scatter"} (%t = @table, %i = %ids, %u = %x) {
        %o = scatter_add %t, %i, %u {axis = 0}
        return %o
      }
      update @table = %v
      return %x
    })",
                        {{"B", 3}});
  EXPECT_EQ(p.count(PlanBuffer::arena), 0);
  EXPECT_EQ(p.count(Step::launch), 1);
}

TEST(Plan, ChunksAreSlicesAndSums) {
  for (int64_t rows : {1, 3, 4, 7}) {
    Planned p = plan_text(R"(
      graph @g(%x: f32[N, 3], %w: f32[3, 5]) -> (z, loss, dw) {
        %z, %loss, %dw = chunked {symbol = "R", rows = N, chunk = 3, sliced_in = [1, 0], sliced_out = [1, 0, 0]} (%r = %x, %m = %w) {
          %h = region {kind = "matmul"} (%i = %r, %j = %m) {; %o = matmul %i, %j; return %o; }
          %e = region {kind = "map"} (%i = %h) {; %o = tanh %i; return %o; }
          %l = region {kind = "rows"} (%i = %e) {; %o = sum %i {axes = [0, 1]}; return %o; }
          %t = transpose %r {perm = [1, 0]}
          %d = region {kind = "matmul"} (%i = %t, %j = %e) {; %o = matmul %i, %j; return %o; }
          return %e, %l, %d
        }
        return %z, %loss, %dw
      })",
                          {{"N", rows}});
    EXPECT_EQ(p.count(Step::repeat), 1);
  }
}

TEST(Plan, EqualProgramsAreKeptOnce) {
  Planned p = plan_text(R"(
    graph @g(%x: f32[4, 8], %y: f32[4, 8]) -> (a, b) {
      %a = region {kind = "map"} (%i = %x) {; %o = exp %i; return %o; }
      %b = region {kind = "map"} (%i = %y) {; %o = exp %i; return %o; }
      return %a, %b
    })");
  EXPECT_EQ(p.plan.programs.size(), 1u);
}

// Two dropouts are one program with two streams; what differs in a symbol is one with two sizes.
TEST(Plan, ProgramsAreSharedBetweenStreamsAndSymbols) {
  Planned p = plan_text(R"(
    graph @g(%rng: u32[2], %x: f32[S, 3], %y: f32[T, 3]) -> (a, b, c, d) {
      %a = region {kind = "map"} (%r = %rng) {;
        %o = random_bits %r {shape = [S, 3], stream = 7}; return %o; }
      %b = region {kind = "map"} (%r = %rng) {;
        %o = random_bits %r {shape = [T, 3], stream = 9}; return %o; }
      %c = region {kind = "map"} (%i = %x) {; %o = exp %i; return %o; }
      %d = region {kind = "map"} (%i = %y) {; %o = exp %i; return %o; }
      return %a, %b, %c, %d
    })",
                        {{"S", 4}, {"T", 5}});
  EXPECT_EQ(p.plan.programs.size(), 2u);
  size_t meanings = 0;
  for (const Step& step : p.graph().steps) meanings += step.symbols.size();
  EXPECT_EQ(meanings, 4u);  // two streams, and T for S twice
}

}  // namespace
}  // namespace weft
