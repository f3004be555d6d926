// The text form: what is printed reads back, errors name a place, damaged text is survived.
// SPDX-License-Identifier: Apache-2.0
#include "ir/tile/text.h"

#include <gtest/gtest.h>

#include "tests/support/mutate.h"
#include "tests/tile/kernels.h"
#include "tests/tile/run_program.h"

namespace weft::tile {
namespace {

const char* const kSamples[] = {kMatmul, kLayerNormBackward, kAttention, kEmbeddingGradient,
                                kSerialUpdate};

TEST(TileText, ReadsBack) {
  for (const char* sample : kSamples) {
    std::string printed = print(kernel(sample));
    EXPECT_EQ(print(kernel(printed)), printed);
  }
}

TEST(TileText, Spelling) {
  const std::string text = R"(kernel @"a b" {
  in %x: f16[T, 64] strides [128, 1]
  in %flag: bool[]
  in %rng: u32[2]
  in %ids: i64[]
  inout %y: f32[T, 64]
  out %last: i32[(T + 7)/8]
  out %part: f32[(T + 7)/8]
  free BT = 8 in [4, 8]
  order BC = 16 strict 32
  axis t: T by BT
  axis c: 64 by BC
  axis d: 64 full
  grid t
  loc "layer.0", "layer.1"
  %at = load %ids[] : i64[]
  loop c from 2*t.base - 1 to %at + T {
    %a = cast.f32(load %x[-t + T - 1, mod(c + 1, 64)]) : f32[t, c]
    %b = load %x[t, c] {where lt(coord(t + c), coord(T)), fill -inf} : f16[t, c]
    %c = %a - (%a - cast.f32(%b)) - 2.0 * (1.0 - %a) / %a : f32[t, c]
    %d = load %y[t, c] : f32[t, c]
    store %y[t, c] {where logical_not(load %flag[])}, select(true, %c, -1e-05) + %d
  }
  %near = coord.i64(%at below T) : i64[]
  when load %flag[] {
    store %last[t.program], coord(t.end)
  }
  when lt(coord.i64(t.program), %near) {
    %e = random[3, 64*t + d](1, load %rng[1]) : u32[t, d]
    store %part[t.program], cast.f32(reduce.max[t, d](%e))
  }
}
)";
  EXPECT_EQ(print(kernel(text)), text);
}

TEST(TileText, ErrorsNameThePlace) {
  auto expect = [](const std::string& line, const std::string& message) {
    Result<Program> program = parse("k.tile", R"(kernel @k {
  in %x: f32[M, 64]
  out %y: f32[M, 64]
  axis m: M by 4
  axis c: 64 full
  grid m
  )" + line + "\n}\n");
    ASSERT_FALSE(program.ok()) << line;
    EXPECT_NE(render(program.diagnostics()).find("k.tile:7:" + message), std::string::npos)
        << render(program.diagnostics());
  };
  expect("store %y[m, c], load %z[m, c]", "24: error: unknown buffer %z");
  expect("store %y[m, c], exq(load %x[m, c])", "19: error: unknown function exq");
  expect("store %y[m, c], %v", "19: error: unknown value %v");
  expect("store %y[m, c], %x", "19: error: a buffer is used as a value: %x");
  expect("%v = load %x[m, c] : f32[c]", "3: error: this value is f32[m, c], not of the type");
  expect("%v = 1.0", "8: error: the element type of this number does not follow");
  expect("%v = load %x[m * c, 0]", "18: error: an index multiplies two coordinates");
  expect("%v = load %x[m, 64 / c]", "22: error: an index is divided by a coordinate");
  expect("%v = load %x[m.last, 0]", "16: error: an axis has no 'last'");
  expect("%v = i8(300)", "11: error: this number is no i8");
  expect("%v = reduce.sum[c](load %x[m, c])", "8: error: unknown reduction 'sum'");
  expect("store %y[m, c], 0.0 over m", "23: error: expected a statement, found 'over'");
  expect("store %y[0, c], load %x[m, c]", "3: error: kernel @k: what is written to %y varies");
}

TEST(TileText, KeysDoNotDependOnNames) {
  Program a = kernel(kMatmul);
  Program b = a;
  b.name = "other";
  b.origin = {"layer.7"};
  b.buffers[0].name = "activations";
  b.axes[0].name = "rows";
  b.knobs[1].name = "WIDTH";
  for (Value& value : b.values) value.name.clear();
  EXPECT_EQ(key(a), key(b));
  b.knobs[1].value = 77;
  EXPECT_NE(key(a), key(b));
}

TEST(TileText, HostileNestingIsRefused) {
  const std::string head = "kernel @k {\n  in %x: f32[4]\n  axis i: 4 full\n  ";
  auto refused = [&](const std::string& body) {
    Result<Program> program = parse("k", head + body + "\n}\n");
    ASSERT_FALSE(program.ok());
    ASSERT_FALSE(render(program.diagnostics()).empty());
  };
  auto repeat = [](const std::string& text, int count) {
    std::string out;
    for (int i = 0; i < count; ++i) out += text;
    return out;
  };
  refused("%v = " + repeat("neg(", 100000));
  refused("%v = load %x[i]" + repeat(" + load %x[i]", 100000));
  refused("%v = load %x[" + repeat("(", 100000));
  refused("%v = load %x[i" + repeat("/2", 100000) + "] : i32[i]");
  refused(repeat("when true {\n", 100000));
  refused(repeat("loop i {\n", 1000));
}

void survive(const std::string& text) {
  Result<Program> program = parse("fuzz", text);
  if (!program.ok()) {
    ASSERT_FALSE(program.diagnostics().empty());
    ASSERT_FALSE(render(program.diagnostics()).empty());
    return;
  }
  std::string printed = print(*program);
  Result<Program> again = parse("printed", printed);
  ASSERT_TRUE(again.ok()) << text << "\n" << printed << render(again.diagnostics());
  ASSERT_EQ(print(*again), printed) << text;
}

TEST(TileFuzz, EveryPrefix) {
  for (const std::string sample : kSamples) {
    for (size_t length = 0; length < sample.size(); ++length) {
      ASSERT_NO_FATAL_FAILURE(survive(sample.substr(0, length)));
    }
  }
}

TEST(TileFuzz, DamagedBytes) {
  std::mt19937_64 random(1);
  for (const std::string sample : kSamples) {
    for (int i = 0; i < suite_count(500); ++i) {
      ASSERT_NO_FATAL_FAILURE(survive(mutate_bytes(sample, random)));
    }
  }
}

TEST(TileFuzz, DamagedWords) {
  std::mt19937_64 random(2);
  for (const std::string sample : kSamples) {
    for (int i = 0; i < suite_count(1500); ++i) {
      ASSERT_NO_FATAL_FAILURE(survive(mutate_words(sample, random)));
    }
  }
}

}  // namespace
}  // namespace weft::tile
