// SPDX-License-Identifier: Apache-2.0
#include "ir/types/dtype.h"

#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace weft {
namespace {

struct Info {
  std::string_view name;
  int bytes;
};

constexpr std::array<Info, kDTypeCount> kInfo = {{{"f64", 8},
                                                  {"f32", 4},
                                                  {"f16", 2},
                                                  {"bf16", 2},
                                                  {"i8", 1},
                                                  {"u8", 1},
                                                  {"i32", 4},
                                                  {"u32", 4},
                                                  {"i64", 8},
                                                  {"bool", 1}}};

const Info& info(DType dtype) { return kInfo[static_cast<size_t>(dtype)]; }

// Rounds to a binary format with `mantissa_bits` stored bits and exponents from `min_exponent`
// (the smallest normal is 2^min_exponent) up to values below `overflow`.
double round_binary(double value, int mantissa_bits, int min_exponent, double largest) {
  if (!std::isfinite(value) || value == 0) return value;
  int exponent = std::max(std::ilogb(value), min_exponent);
  double unit = std::ldexp(1.0, exponent - mantissa_bits);
  double rounded = std::nearbyint(value / unit) * unit;  // exact scaling by a power of two
  if (std::fabs(rounded) > largest)
    return std::copysign(std::numeric_limits<double>::infinity(), value);
  return std::copysign(rounded, value);
}

constexpr double kLargestF16 = 65504.0;
const double kLargestBf16 = std::ldexp(255.0 / 128.0, 127);

}  // namespace

std::string_view name(DType dtype) { return info(dtype).name; }

std::optional<DType> parse_dtype(std::string_view name) {
  for (int i = 0; i < kDTypeCount; ++i) {
    if (kInfo[static_cast<size_t>(i)].name == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

std::vector<std::string> dtype_names() {
  std::vector<std::string> names;
  for (const Info& i : kInfo) names.emplace_back(i.name);
  return names;
}

int byte_size(DType dtype) { return info(dtype).bytes; }

bool is_float(DType dtype) { return contains(kFloat, dtype); }
bool is_integer(DType dtype) { return contains(kInteger, dtype); }
bool is_signed_integer(DType dtype) { return contains(kSignedInteger, dtype); }

double round_to(DType dtype, double value) {
  switch (dtype) {
    case DType::f32: return static_cast<double>(static_cast<float>(value));
    case DType::f16: return round_binary(value, 10, -14, kLargestF16);
    case DType::bf16: return round_binary(value, 7, -126, kLargestBf16);
    default: return value;
  }
}

int64_t wrap_to(DType dtype, int64_t value) {
  switch (dtype) {
    case DType::i8: return static_cast<int8_t>(value);
    case DType::u8: return static_cast<uint8_t>(value);
    case DType::i32: return static_cast<int32_t>(value);
    case DType::u32: return static_cast<uint32_t>(value);
    case DType::boolean: return value != 0 ? 1 : 0;
    default: return value;
  }
}

int64_t lowest_integer(DType dtype) {
  switch (dtype) {
    case DType::i8: return std::numeric_limits<int8_t>::min();
    case DType::i32: return std::numeric_limits<int32_t>::min();
    case DType::i64: return std::numeric_limits<int64_t>::min();
    default: return 0;
  }
}

int64_t highest_integer(DType dtype) {
  switch (dtype) {
    case DType::i8: return std::numeric_limits<int8_t>::max();
    case DType::u8: return std::numeric_limits<uint8_t>::max();
    case DType::i32: return std::numeric_limits<int32_t>::max();
    case DType::u32: return std::numeric_limits<uint32_t>::max();
    case DType::boolean: return 1;
    default: return std::numeric_limits<int64_t>::max();
  }
}

int64_t to_integer(DType dtype, double value) {
  if (dtype == DType::boolean) return value != 0 ? 1 : 0;
  if (std::isnan(value)) return 0;
  double truncated = std::trunc(value);
  // 2^63 is the first double beyond i64; the comparison with highest is exact for the others.
  if (truncated >= static_cast<double>(highest_integer(dtype))) return highest_integer(dtype);
  if (truncated <= static_cast<double>(lowest_integer(dtype))) return lowest_integer(dtype);
  return static_cast<int64_t>(truncated);
}

uint16_t to_f16_bits(double value) {
  uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) return sign | 0x7e00;
  double magnitude = std::fabs(round_to(DType::f16, value));
  if (std::isinf(magnitude)) return sign | 0x7c00;
  if (magnitude < std::ldexp(1.0, -14)) {
    return static_cast<uint16_t>(sign | static_cast<uint16_t>(std::ldexp(magnitude, 24)));
  }
  int exponent = std::ilogb(magnitude);
  auto mantissa = static_cast<uint16_t>(std::ldexp(magnitude, 10 - exponent) - 1024);
  return static_cast<uint16_t>(sign | ((exponent + 15) << 10) | mantissa);
}

double from_f16_bits(uint16_t bits) {
  double sign = (bits & 0x8000) != 0 ? -1 : 1;
  int exponent = (bits >> 10) & 31;
  int mantissa = bits & 1023;
  if (exponent == 31) {
    return mantissa != 0 ? std::numeric_limits<double>::quiet_NaN()
                         : sign * std::numeric_limits<double>::infinity();
  }
  if (exponent == 0) return sign * std::ldexp(mantissa, -24);
  return sign * std::ldexp(1024 + mantissa, exponent - 25);
}

uint16_t to_bf16_bits(double value) {
  if (std::isnan(value)) return std::signbit(value) ? 0xffc0 : 0x7fc0;
  auto rounded = static_cast<float>(round_to(DType::bf16, value));
  return static_cast<uint16_t>(std::bit_cast<uint32_t>(rounded) >> 16);
}

double from_bf16_bits(uint16_t bits) {
  return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits) << 16));
}

std::string describe(DTypeSet set) {
  std::vector<std::string_view> names;
  for (int i = 0; i < kDTypeCount; ++i) {
    if (contains(set, static_cast<DType>(i))) names.push_back(name(static_cast<DType>(i)));
  }
  std::string out;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0) out += i + 1 == names.size() ? " or " : ", ";
    out += names[i];
  }
  return out;
}

}  // namespace weft
