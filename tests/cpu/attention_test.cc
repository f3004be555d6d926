// Attention as machine code, against the plain computation.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/cpu/attention_run.h"
#include "tests/support/on_cpu.h"
#include "tests/support/suite.h"

namespace weft {
namespace {

using Bias = AttentionCase::Bias;

void expect_right(const AttentionCase& what, AttentionRun& run) {
  SCOPED_TRACE(what.str());
  AttentionTensors inputs = attention_inputs(what, 1);
  const AttentionTensors expected = expected_attention(what, inputs);
  inputs[AttentionRole::delta] = expected.at(AttentionRole::delta);
  AttentionMemory memory = run.memory(inputs);
  AttentionMemory dealt = memory;
  ASSERT_TRUE(run.forward(memory) && run.backward(memory));
  ASSERT_TRUE(run.forward(dealt, 3) && run.backward(dealt, 2));
  const double tolerance = what.dtype == DType::f32 ? 3e-6 : 3e-3;
  for (const auto& [role, tensor] : expected) {
    EXPECT_LT(largest_difference(run.tensor(memory, role), tensor), tolerance) << name(role);
    EXPECT_EQ(memory.at(role).bytes(), dealt.at(role).bytes())
        << name(role) << " with more threads";
  }
}

void expect_right(const AttentionCase& what, const AttentionKnobs& knobs, const std::string& target,
                  bool checked = false) {
  SCOPED_TRACE(cat(knobs.serial ? "serial" : "", " split ", knobs.split_keys, " on ", target,
                   checked ? " checked" : ""));
  cpu::CompileOptions options;
  options.bounds_checks = checked;
  Result<AttentionRun> run = AttentionRun::compile(what, knobs, target, options);
  ASSERT_TRUE(run.ok()) << render(run.diagnostics());
  expect_right(what, *run);
}

// Each case on one kind of machine and in one form, in turn.
void expect_right(const AttentionCase& what) {
  static size_t turn = 0;
  constexpr size_t kQuick = 7;  // no multiple of the number of forms or machines
  const AttentionKnobs forms[] = {
      {}, {.serial = false}, {.block_queries = 32, .block_keys = 16, .split_keys = 48}};
  const std::string& target = cpu_targets()[turn % cpu_targets().size()];
  if (!left_out(turn, kQuick)) expect_right(what, forms[turn % 3], target, turn % 7 == 3);
  ++turn;
  if (turn % cpu_targets().size() == 0) ++turn;
}

// Those on which a test runs in all its forms: the best one, in the quick suite.
std::vector<std::string> machines() {
  return suite() == "quick" ? std::vector{cpu_targets().back()} : cpu_targets();
}

// The same code for all of them.
void expect_right_at_all_lengths(AttentionCase what, const AttentionKnobs& knobs,
                                 const std::string& target) {
  what.symbolic = true;
  Result<AttentionRun> run = AttentionRun::compile(what, knobs, target);
  ASSERT_TRUE(run.ok()) << render(run.diagnostics());
  for (int64_t queries : {1, 2, 31, 64, 65, 257}) {
    for (int64_t keys : {1, 2, 31, 64, 65, 257}) {
      what.queries = queries, what.keys = keys;
      run->set_case(what);
      expect_right(what, *run);
    }
  }
}

TEST(CpuAttention, Lengths) {
  for (const std::string& target : machines()) {
    expect_right_at_all_lengths({.heads = 1}, {}, target);
    expect_right_at_all_lengths({.heads = 1, .after = 0}, {.serial = false}, target);
  }
}

// One query against a long cache.
TEST(CpuAttention, Decoding) {
  for (const std::string& target : machines()) {
    expect_right({.heads = 2, .group = 2, .queries = 1, .keys = 300, .depth = 40, .width = 24},
                 {.split_keys = 128, .serial = false}, target);
  }
  expect_right({.queries = 1, .keys = 300, .lengths = true, .dropout = 0.2});
  expect_right({.queries = 1, .keys = 300, .before = 100, .after = 0, .mask = true});
}

TEST(CpuAttention, KnownLengths) {
  for (int64_t length : {1, 31, 65}) {
    expect_right({.heads = 1, .queries = length, .keys = length, .after = 0});
    expect_right({.heads = 1, .queries = length, .keys = 2 * length});
  }
}

TEST(CpuAttention, HeadSizes) {
  for (int64_t depth : {16, 24, 40, 64, 80, 128}) {
    if (suite() == "quick" && depth != 24 && depth != 40 && depth != 128) continue;
    const int64_t width = depth == 40 ? 24 : depth;
    for (const std::string& target : machines()) {
      expect_right({.heads = 1,
                    .queries = 65,
                    .keys = 65,
                    .depth = depth,
                    .width = width,
                    .after = 0,
                    .rows_apart = depth != 64},
                   {}, target);
    }
  }
  expect_right({.queries = 9, .keys = 7, .depth = 5, .width = 3});
  expect_right({.queries = 9, .keys = 7, .depth = 1, .width = 1});
}

TEST(CpuAttention, EveryFormOnEveryMachine) {
  const AttentionCase what{.batch = 2,
                           .heads = 2,
                           .group = 2,
                           .queries = 67,
                           .keys = 70,
                           .depth = 24,
                           .width = 40,
                           .after = 0,
                           .lengths = true};
  for (const std::string& target : machines()) {
    expect_right(what, {}, target);
    expect_right(what, {.serial = false}, target);
    expect_right(what, {.block_queries = 16, .split_keys = 64}, target);
  }
  if (suite() == "quick") return;
  expect_right(what, {}, "native", true);
  expect_right(what, {.split_keys = 64, .serial = false}, "native", true);
}

TEST(CpuAttention, Windows) {
  for (int64_t before : {0, 100}) {
    for (int64_t after : {-2, 70}) {
      expect_right({.heads = 1, .queries = 150, .keys = 161, .before = before, .after = after});
      expect_right({.heads = 1, .queries = 161, .keys = 130, .before = before, .after = after});
    }
  }
}

TEST(CpuAttention, LengthsOfKeys) {
  expect_right({.batch = 4, .queries = 11, .keys = 130, .lengths = true});
  expect_right({.batch = 4, .queries = 100, .keys = 130, .after = 0, .lengths = true});
  expect_right({.batch = 4, .queries = 100, .keys = 130, .before = 3, .lengths = true});
}

TEST(CpuAttention, MasksAndBiases) {
  expect_right({.batch = 2, .queries = 70, .keys = 3, .mask = true});
  expect_right({.batch = 2, .queries = 70, .keys = 75, .after = 0, .mask = true, .fill = -2});
  expect_right({.batch = 2, .queries = 70, .keys = 3, .mask = true, .fill = -1e9});
  expect_right({.batch = 2, .queries = 70, .keys = 75, .after = 0, .mask = true, .fill = -1e9});
  for (Bias bias : {Bias::full, Bias::by_head, Bias::by_key}) {
    expect_right({.batch = 2, .group = 2, .queries = 70, .keys = 75, .after = 0, .bias = bias});
    expect_right({.batch = 2, .queries = 7, .keys = 75, .mask = true, .fill = -1, .bias = bias});
    expect_right({.queries = 130, .keys = 140, .before = 10, .after = 0, .bias = bias});
  }
}

TEST(CpuAttention, Dropout) {
  for (int64_t keys : {64, 75}) {
    expect_right({.queries = 70, .keys = keys, .dropout = 0.3});
    expect_right({.batch = 2, .group = 2, .queries = 70, .keys = keys, .after = 0, .dropout = 0.5});
  }
}

TEST(CpuAttention, SymbolicSizes) {
  expect_right({.batch = 2, .queries = 100, .keys = 130, .after = 0, .symbolic = true});
  expect_right(
      {.batch = 2, .queries = 100, .keys = 130, .lengths = true, .dropout = 0.1, .symbolic = true});
}

TEST(CpuAttention, Halves) {
  expect_right({.queries = 70, .keys = 65, .after = 0, .dtype = DType::f16});
  expect_right({.queries = 70, .keys = 65, .dtype = DType::bf16});
}

}  // namespace
}  // namespace weft
