// What cannot be decoded a token at a time is told, with the op that stands against it.
// SPDX-License-Identifier: Apache-2.0
#include "passes/derive_decode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/must_parse.h"

namespace weft {
namespace {

using test::must_parse;
using ::testing::HasSubstr;

// A language model whose @forward does this with %x, f32[B, T, 4], to get %y of the same type.
std::string refusal(const std::string& lines) {
  const Module module = must_parse(R"(
    param @table: f32[10, 4] = normal(1.0)
    graph @forward(%tokens: i32[B, T]) -> (logits) {
      %x = gather @table, %tokens loc "embed"
      )" + lines + R"(
      %w = transpose @table {perm = [1, 0]}
      %logits = matmul %y, %w
      return %logits
    })");
  Result<DecodeGraphs> made = derive_decode(module, {});
  return made.ok() ? "" : render(made.diagnostics());
}

TEST(DeriveDecode, RefusesWhatMixesPositions) {
  EXPECT_EQ(refusal("%y = mul %x, 2.0"), "");
  EXPECT_THAT(refusal("%y, %l = attention %x, %x, %x {} loc \"layer\""),
              HasSubstr("attention of layer lets a position see later ones"));
  EXPECT_THAT(refusal("%m = mean %x {axes = [1], keepdims = true} loc \"pool\"\n %y = add %x, %m"),
              HasSubstr("mean of pool mixes the positions"));
  EXPECT_THAT(refusal("%y = cumsum %x {axis = 1}"), HasSubstr("cumsum mixes the positions"));
  EXPECT_THAT(refusal("%y = softmax %x {axis = 1}"), HasSubstr("softmax mixes the positions"));
  EXPECT_THAT(refusal("%t = transpose %x {perm = [0, 2, 1]}\n %s = matmul %x, %t\n"
                      "%y = matmul %s, %x"),
              HasSubstr("matmul has several axes of positions"));
  EXPECT_THAT(refusal("%r = reshape %x {shape = [B, 4, T]}\n"
                      "%y = transpose %r {perm = [0, 2, 1]}"),
              HasSubstr("reshape moves elements"));
  EXPECT_THAT(refusal("%z = slice %x {starts = [0, T - 1, 0], limits = [B, T, 4]}\n"
                      "%y = add %x, %z"),
              HasSubstr("slice takes some of the positions"));
}

TEST(DeriveDecode, NeedsTokensAndLogits) {
  auto refused = [](const char* text) {
    Result<DecodeGraphs> made = derive_decode(must_parse(text), {});
    return made.ok() ? "" : render(made.diagnostics());
  };
  EXPECT_THAT(refused("graph @forward(%x: f32[B, 4]) -> (y) { %y = exp %x\n return %y }"),
              HasSubstr("reads no tokens"));
  EXPECT_THAT(refused("param @w: f32[10, 4]\ngraph @forward(%t: i32[B, T]) -> (y) {\n"
                      "%x = gather @w, %t\n %y = mean %x {axes = [1]}\n return %y }"),
              HasSubstr("needs logits of each position"));
  EXPECT_THAT(refused("graph @other(%x: f32[B, 4]) -> (y) { %y = exp %x\n return %y }"),
              HasSubstr("no graph @forward"));
}

}  // namespace
}  // namespace weft
