// Whole numbers at the ends of their types, where kernels compute in 32 bits.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "ir/text/text.h"
#include "tests/support/same.h"
#include "tests/vulkan/run.h"

namespace weft {
namespace {

// A run says what the oracle says, be it numbers or that there are none.
void expect_as_oracle(const std::string& body, const TensorMap& inputs) {
  if (shared_vulkan_device() == nullptr) GTEST_SKIP() << "no Vulkan device";
  const Module module = parse("integers.weft", "graph @g(" + body + "}\n").value();
  if (has_type_refused(module)) GTEST_SKIP() << "the device lacks a type";
  const auto expected = run_oracle(module, *module.find_graph("g"), inputs, {});
  for (simt::Mapping mapping : {simt::Mapping::registers, simt::Mapping::workgroup}) {
    SCOPED_TRACE(simt::str({mapping}));
    const auto actual = run_on_vulkan(module, "g", inputs, mapping);
    EXPECT_EQ(actual.ok(), expected.ok()) << render(actual.diagnostics());
    if (!actual.ok() || !expected.ok()) continue;
    EXPECT_TRUE(same(compare(expected->outputs, actual->outputs, RunBy::device)));
  }
}

// Odd numbers, of which products stay odd.
Tensor counted(DType dtype, std::vector<int64_t> shape) {
  Tensor made = Tensor::zeros(dtype, std::move(shape));
  for (int64_t i = 0; i < made.size(); ++i) made.set(i, static_cast<double>(i % 50 * 2 + 1));
  return made;
}

constexpr int64_t kTwo32 = int64_t{1} << 32;
// One that is there, and ones whose lower 32 bits are, or would be after some more elements.
constexpr int64_t kIndices[] = {2, kTwo32 + 2, 2 - kTwo32, kTwo32 - 1, kTwo32 / 2, INT64_MIN + 2};

TEST(LongIndices, OfGathers) {
  for (int64_t index : kIndices) {
    SCOPED_TRACE(index);
    const Tensor indices{DType::i64, {5}, {}, {1, 9, index, 0, 3}};
    expect_as_oracle(
        "%x: f32[10, 4], %i: i64[5]) -> (y) {\n"
        "  %y = gather %x, %i {axis = 0}\n  return %y\n",
        {{"x", counted(DType::f32, {10, 4})}, {"i", indices}});
  }
}

TEST(LongIndices, OfWhatIsAdded) {
  for (int64_t index : kIndices) {
    SCOPED_TRACE(index);
    const Tensor indices{DType::i64, {3}, {}, {1, index, 0}};
    expect_as_oracle(
        "%x: f32[10, 4], %i: i64[3], %u: f32[3, 4]) -> (y) {\n"
        "  %y = scatter_add %x, %i, %u {axis = 0}\n  return %y\n",
        {{"x", counted(DType::f32, {10, 4})}, {"i", indices}, {"u", counted(DType::f32, {3, 4})}});
  }
}

TEST(LongIndices, WhereSlicesBegin) {
  for (int64_t index : kIndices) {
    SCOPED_TRACE(index);
    const Tensor start{DType::i64, {}, {}, {index}};
    const Tensor x = counted(DType::f32, {10, 4});
    expect_as_oracle(
        "%x: f32[10, 4], %s: i64[]) -> (y) {\n"
        "  %y = dynamic_slice %x, %s {axis = 0, size = 3}\n  return %y\n",
        {{"x", x}, {"s", start}});
    expect_as_oracle(
        "%x: f32[10, 4], %u: f32[3, 4], %s: i64[]) -> (y) {\n"
        "  %y = update_slice %x, %u, %s {axis = 0}\n  return %y\n",
        {{"x", x}, {"u", counted(DType::f32, {3, 4})}, {"s", start}});
  }
}

// The number of an index is computed in the kernel that uses it.
TEST(LongIndices, ThatAKernelComputes) {
  for (int64_t index : {int64_t{1}, kTwo32 / 2 + 1}) {
    SCOPED_TRACE(index);
    const Tensor indices{DType::i64, {2}, {}, {1, index}};
    expect_as_oracle(
        "%x: f32[10, 4], %i: i64[2]) -> (y) {\n"
        "  %j = add %i, %i\n  %y = gather %x, %j {axis = 0}\n  return %y\n",
        {{"x", counted(DType::f32, {10, 4})}, {"i", indices}});
  }
}

std::string typed(DType dtype, const std::string& shape) {
  return std::string(name(dtype)) + shape;
}

// What a sum of small integers is, where the kernel that makes it goes on with it.
void expect_wraps(const std::string& inputs, const std::string& sum, const TensorMap& tensors) {
  SCOPED_TRACE(inputs);
  const std::string begin = inputs + ") -> (";
  const std::string made = "  %s = " + sum + "\n";
  expect_as_oracle(begin + "y) {\n" + made + "  %y = cast %s {dtype = f32}\n  return %y\n",
                   tensors);
  expect_as_oracle(begin + "s, y) {\n" + made + "  %y = cast %s {dtype = i32}\n  return %s, %y\n",
                   tensors);
}

constexpr DType kBytes[] = {DType::i8, DType::u8};

TEST(SumsOfBytes, WrapInReductions) {
  for (DType dtype : kBytes) {
    for (const char* reduction : {"sum", "prod"}) {
      const Tensor x = counted(dtype, {4, 100});
      expect_wraps("%x: " + typed(dtype, "[4, 100]"), std::string(reduction) + " %x {axes = [1]}",
                   {{"x", x}});
    }
  }
}

TEST(SumsOfBytes, WrapInProducts) {
  for (DType dtype : kBytes) {
    expect_wraps("%x: " + typed(dtype, "[8, 64]") + ", %w: " + typed(dtype, "[64, 16]"),
                 "matmul %x, %w",
                 {{"x", counted(dtype, {8, 64})}, {"w", counted(dtype, {64, 16})}});
  }
}

// Sums that loops carry, and rows that are walked in parts.
TEST(SumsOfBytes, WrapAlongLongRows) {
  for (DType dtype : kBytes) {
    expect_wraps("%x: " + typed(dtype, "[3, 5000]"), "sum %x {axes = [1]}",
                 {{"x", counted(dtype, {3, 5000})}});
    expect_wraps("%x: " + typed(dtype, "[3, 70]"), "cumsum %x {axis = 1}",
                 {{"x", counted(dtype, {3, 70})}});
    expect_wraps("%x: " + typed(dtype, "[20, 300]") + ", %w: " + typed(dtype, "[300, 20]"),
                 "matmul %x, %w",
                 {{"x", counted(dtype, {20, 300})}, {"w", counted(dtype, {300, 20})}});
  }
}

// Every pair of numbers around 0 and at the ends of a type.
TEST(Quotients, OfNumbersAtTheEnds) {
  for (DType dtype : {DType::i8, DType::u8, DType::i32, DType::u32, DType::i64}) {
    const int64_t low = lowest_integer(dtype);
    const int64_t high = highest_integer(dtype);
    Tensor a{dtype, {13, 1}, {}, {}};
    for (int64_t x : {low, low + 1, low + 2, high - 2, high - 1, high, int64_t{7}}) {
      a.integers.push_back(x);
    }
    for (int64_t x : {-7, -2, -1, 0, 1, 2}) a.integers.push_back(wrap_to(dtype, x));
    Tensor b = a;
    b.shape = {1, 13};
    expect_as_oracle(
        "%a: " + typed(dtype, "[13, 1]") + ", %b: " + typed(dtype, "[1, 13]") +
            ") -> (q, r) {\n  %q = floordiv %a, %b\n  %r = mod %a, %b\n  return %q, %r\n",
        {{"a", a}, {"b", b}});
  }
}

}  // namespace
}  // namespace weft
