// Element types and how a number is stored in them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

enum class DType : uint8_t { f64, f32, f16, bf16, i8, u8, i32, u32, i64, boolean };
inline constexpr int kDTypeCount = 10;

std::string_view name(DType dtype);  // "f32", ..., "bool"
std::optional<DType> parse_dtype(std::string_view name);
std::vector<std::string> dtype_names();
int byte_size(DType dtype);

bool is_float(DType dtype);
bool is_integer(DType dtype);  // bool is not an integer
bool is_signed_integer(DType dtype);

// The nearest value of a float type (ties to even, overflow to infinity), as a double.
double round_to(DType dtype, double value);
// The value modulo 2^bits, in the type's range; bool gives value != 0.
int64_t wrap_to(DType dtype, int64_t value);
// Smallest and largest value of an integer type or bool.
int64_t lowest_integer(DType dtype);
int64_t highest_integer(DType dtype);
// float to integer: towards zero, saturating, NaN gives 0; to bool: value != 0 (NaN is true).
int64_t to_integer(DType dtype, double value);

// 16-bit storage.
uint16_t to_f16_bits(double value);
double from_f16_bits(uint16_t bits);
uint16_t to_bf16_bits(double value);
double from_bf16_bits(uint16_t bits);

// A set of element types, as the op table states them.
using DTypeSet = uint32_t;
constexpr DTypeSet set_of(DType dtype) { return 1u << static_cast<uint32_t>(dtype); }
inline constexpr DTypeSet kFloat =
    set_of(DType::f64) | set_of(DType::f32) | set_of(DType::f16) | set_of(DType::bf16);
inline constexpr DTypeSet kSignedInteger =
    set_of(DType::i8) | set_of(DType::i32) | set_of(DType::i64);
inline constexpr DTypeSet kInteger = kSignedInteger | set_of(DType::u8) | set_of(DType::u32);
inline constexpr DTypeSet kIndex = set_of(DType::i32) | set_of(DType::i64);
inline constexpr DTypeSet kBool = set_of(DType::boolean);
inline constexpr DTypeSet kSigned = kFloat | kSignedInteger;
inline constexpr DTypeSet kNumeric = kFloat | kInteger;
inline constexpr DTypeSet kAny = kNumeric | kBool;
constexpr bool contains(DTypeSet set, DType dtype) { return (set & set_of(dtype)) != 0; }
std::string describe(DTypeSet set);  // "f64, f32, f16 or bf16"

}  // namespace weft
