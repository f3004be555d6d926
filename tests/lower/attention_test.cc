// The programs of attention, interpreted, against the plain computation.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "ir/support/diagnostic.h"
#include "ir/tile/interpret.h"
#include "ir/tile/text.h"
#include "passes/lower_attention.h"
#include "tests/support/attention_case.h"

namespace weft {
namespace {

// Runs programs one after the other; tensors are made when a program asks for them.
void run(const AttentionCase& what, const std::vector<AttentionProgram>& programs,
         const AttentionKnobs& knobs, AttentionTensors& tensors) {
  for (const AttentionProgram& part : programs) {
    const Status verified = tile::verify(part.program);
    ASSERT_TRUE(verified.ok()) << render(verified.diagnostics()) << tile::print(part.program);
    const std::string text = tile::print(part.program);
    const Result<tile::Program> again = tile::parse("printed", text);
    ASSERT_TRUE(again.ok()) << text << render(again.diagnostics());
    EXPECT_EQ(tile::print(*again), text);
    std::vector<tile::BoundBuffer> buffers;
    for (AttentionRole role : part.buffers) {
      auto found = tensors.find(role);
      if (found == tensors.end()) {
        found = tensors.emplace(role, unwritten(what, role, knobs)).first;
      }
      buffers.push_back({&found->second, 0});
    }
    const Status ran = tile::interpret(part.program, what.sizes(), buffers);
    ASSERT_TRUE(ran.ok()) << render(ran.diagnostics()) << text;
  }
}

void expect_right(const AttentionCase& what, const AttentionKnobs& knobs) {
  SCOPED_TRACE(cat(what.str(), knobs.serial ? " serial" : "", " split ", knobs.split_keys));
  AttentionTensors tensors = attention_inputs(what, 1);
  const AttentionTensors expected = expected_attention(what, tensors);
  tensors[AttentionRole::delta] = expected.at(AttentionRole::delta);
  const Attention attention = what.attention();
  run(what, lower_attention(attention, knobs), knobs, tensors);
  run(what, lower_attention_backward(attention, knobs), knobs, tensors);
  // Numbers in programs are rounded to f32, and results to their type.
  const double tolerance = what.dtype == DType::f32 ? 2e-7 : 1e-3;
  for (const auto& [role, tensor] : expected) {
    ASSERT_TRUE(tensors.contains(role)) << name(role);
    EXPECT_LT(largest_difference(tensors.at(role), tensor), tolerance) << name(role);
  }
}

// Small tiles, so that small sizes have several of them.
void expect_right(const AttentionCase& what) {
  expect_right(what, {.block_queries = 8, .block_keys = 4, .split_keys = 0, .serial = true});
  expect_right(what, {.block_queries = 3, .block_keys = 5, .split_keys = 10, .serial = false});
}

TEST(LowerAttention, Lengths) {
  for (int64_t queries : {1, 2, 31}) {
    for (int64_t keys : {1, 2, 31}) {
      expect_right({.queries = queries, .keys = keys});
      expect_right({.queries = queries, .keys = keys, .after = 0});
    }
  }
}

TEST(LowerAttention, LongerThanATile) {
  expect_right({.heads = 1, .queries = 65, .keys = 65, .after = 0},
               {.block_queries = 64, .block_keys = 64});
  expect_right({.heads = 1, .queries = 65, .keys = 65, .after = 0, .symbolic = true},
               {.block_queries = 16, .block_keys = 32, .serial = false});
}

TEST(LowerAttention, HeadSizes) {
  expect_right({.queries = 9, .keys = 7, .depth = 24, .width = 40});
  expect_right({.queries = 9, .keys = 7, .depth = 5, .width = 1, .symbolic = true});
}

TEST(LowerAttention, Windows) {
  for (int64_t before : {0, 1, 5}) {
    for (int64_t after : {-2, 0, 3}) {
      expect_right({.queries = 17, .keys = 21, .before = before, .after = after});
      expect_right({.queries = 21, .keys = 17, .before = before, .after = after});
    }
  }
  expect_right({.queries = 17, .keys = 21, .before = 2});
}

TEST(LowerAttention, LengthsOfKeys) {
  expect_right({.batch = 4, .queries = 11, .keys = 13, .lengths = true});
  expect_right({.batch = 4, .queries = 11, .keys = 13, .after = 0, .lengths = true});
  expect_right({.batch = 4, .queries = 11, .keys = 13, .before = 3, .lengths = true});
}

TEST(LowerAttention, Masks) {
  expect_right({.batch = 2, .queries = 11, .keys = 3, .mask = true});
  expect_right({.batch = 2, .queries = 11, .keys = 13, .after = 0, .mask = true, .fill = -2});
}

// Rows that are masked throughout have equal weights, though lse cannot tell how many.
TEST(LowerAttention, LargeFills) {
  expect_right({.batch = 2, .queries = 11, .keys = 3, .mask = true, .fill = -1e9});
  expect_right({.batch = 2, .queries = 11, .keys = 13, .after = 0, .mask = true, .fill = -1e9});
  expect_right({.batch = 1, .queries = 1, .keys = 2, .mask = true, .fill = -3e4});
}

TEST(LowerAttention, Biases) {
  using Bias = AttentionCase::Bias;
  for (Bias bias : {Bias::full, Bias::by_head, Bias::by_key}) {
    expect_right({.batch = 2, .group = 2, .queries = 11, .keys = 13, .after = 0, .bias = bias});
    expect_right({.batch = 2, .queries = 7, .keys = 5, .mask = true, .fill = -1, .bias = bias});
    expect_right({.queries = 17, .keys = 20, .before = 3, .after = 0, .bias = bias});
  }
}

TEST(LowerAttention, Dropout) {
  expect_right({.queries = 11, .keys = 13, .dropout = 0.3});
  expect_right({.batch = 2, .group = 2, .queries = 9, .keys = 6, .after = 0, .dropout = 0.5});
}

TEST(LowerAttention, GroupedHeads) {
  expect_right({.batch = 2, .heads = 3, .group = 2, .queries = 9, .keys = 10});
  expect_right({.batch = 1, .heads = 1, .group = 4, .queries = 9, .keys = 10, .after = 0});
}

TEST(LowerAttention, Halves) {
  expect_right({.queries = 9, .keys = 10, .after = 0, .dtype = DType::f16});
}

}  // namespace
}  // namespace weft
