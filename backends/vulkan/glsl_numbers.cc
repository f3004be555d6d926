// Conversions, whole numbers, comparisons and random bits in GLSL.
// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include "backends/vulkan/glsl_functions.h"
#include "ir/oracle/philox.h"

namespace weft::vulkan {
namespace {

std::string random_text() {
  std::string text =
      "uint weft_random(uint seed, uint step, uint stream, uint element) {\n"
      "  uvec4 c = uvec4(element >> 2, 0u, step, 0u);\n"
      "  uvec2 key = uvec2(seed, stream);\n"
      "  for (int i = 0; i < " +
      std::to_string(kPhiloxRounds) +
      "; ++i) {\n"
      "    uint high0, low0, high1, low1;\n"
      "    umulExtended(c.x, " +
      std::to_string(kPhiloxMultipliers[0]) +
      "u, high0, low0);\n"
      "    umulExtended(c.z, " +
      std::to_string(kPhiloxMultipliers[1]) +
      "u, high1, low1);\n"
      "    c = uvec4(high1 ^ c.y ^ key.x, low1, high0 ^ c.w ^ key.y, low0);\n"
      "    key += uvec2(" +
      std::to_string(kPhiloxKeySteps[0]) + "u, " + std::to_string(kPhiloxKeySteps[1]) +
      "u);\n"
      "  }\n"
      "  uint word = element & 3u;\n"
      "  return word == 0u ? c.x : word == 1u ? c.y : word == 2u ? c.z : c.w;\n"
      "}\n";
  return text;
}

constexpr const char* kHalf =
    "uint weft_to_f16(float x) {\n"
    "  uint all = floatBitsToUint(x);\n"
    "  uint sign = (all & 0x80000000u) >> 16;\n"
    "  uint size = all & 0x7fffffffu;\n"
    "  if (size > 0x7f800000u) return sign | 0x7e00u;\n"
    "  if (size >= 0x477ff000u) return sign | 0x7c00u;\n"
    "  if (size < 0x38800000u) {\n"
    "    return sign | (floatBitsToUint(uintBitsToFloat(size) + 0.5) - 0x3f000000u);\n"
    "  }\n"
    "  return sign | (((size + 0xfffu + ((size >> 13) & 1u)) >> 13) - (112u << 10));\n"
    "}\n"
    "float weft_from_f16(uint half_bits) {\n"
    "  uint rest = (half_bits & 0x7fffu) << 13;\n"
    "  uint sign = (half_bits & 0x8000u) << 16;\n"
    "  if (rest >= 0x0f800000u) return uintBitsToFloat(sign | rest | 0x7f800000u);\n"
    "  if (rest < 0x00800000u) {\n"
    "    float small = float(half_bits & 0x7fffu) * 5.96046448e-08;\n"
    "    return sign != 0u ? -small : small;\n"
    "  }\n"
    "  return uintBitsToFloat(sign | (rest + (112u << 23)));\n"
    "}\n";

constexpr const char* kBrain =
    "uint weft_to_bf16(float x) {\n"
    "  uint bits = floatBitsToUint(x);\n"
    "  if (isnan(x)) return 0x7fc0u;\n"
    "  return (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;\n"
    "}\n"
    "float weft_from_bf16(uint bits) { return uintBitsToFloat(bits << 16); }\n";

// A divisor of 0 gives 0, and one of -1 may leave the range of a quotient. Both are chosen, since
// drivers take long to compile branches.
constexpr const char* kIntegers =
    "int weft_wrap_i8(int x) { return bitfieldExtract(x, 0, 8); }\n"
    "int weft_floordiv(int a, int b) {\n"
    "  int by = mix(b, 1, b == 0 || b == -1);\n"
    "  int q = a / by;\n"
    "  bool below = (a ^ by) < 0;\n"
    "  q -= int(a - q * by != 0 && below);\n"
    "  return mix(mix(q, -a, b == -1), 0, b == 0);\n"
    "}\n"
    "int weft_mod(int a, int b) { return mix(a - weft_floordiv(a, b) * b, 0, b == 0); }\n"
    "uint weft_floordiv(uint a, uint b) { return mix(a / max(b, 1u), 0u, b == 0u); }\n"
    "uint weft_mod(uint a, uint b) { return mix(a % max(b, 1u), 0u, b == 0u); }\n";

constexpr const char* kRests =
    // a less as many b as there are, exactly: m 2^e, divided as on paper, eight bits at a time. No
    // more turns than that: drivers on a CPU leave the loops of an invocation after 65,535.
    "float weft_rest(float a, float b) {\n"
    "  uint x = floatBitsToUint(a) & 0x7fffffffu;\n"
    "  uint y = floatBitsToUint(b) & 0x7fffffffu;\n"
    "  if (x >= 0x7f800000u || y > 0x7f800000u || y == 0u) return uintBitsToFloat(0x7fc00000u);\n"
    "  if (x < y) return a;\n"
    "  uint e = max(y >> 23, 1u);\n"
    "  uint m = y < 0x800000u ? y : (y & 0x7fffffu) | 0x800000u;\n"
    "  uint rest = (x < 0x800000u ? x : (x & 0x7fffffu) | 0x800000u) % m;\n"
    "  for (uint left = max(x >> 23, 1u) - e; left > 0u;) {\n"
    "    uint bits = min(left, 8u);\n"
    "    rest = (rest << bits) % m;\n"
    "    left -= bits;\n"
    "  }\n"
    "  uint up = rest == 0u ? 0u : min(uint(23 - findMSB(rest)), e - 1u);\n"
    "  rest <<= up;\n"
    "  if (rest >= 0x800000u) rest += (e - up - 1u) << 23;\n"
    "  return uintBitsToFloat(rest | (floatBitsToUint(a) & 0x80000000u));\n"
    "}\n"
    "float weft_mod_float(float a, float b) {\n"
    "  float rest = weft_rest(a, b);\n"
    "  return rest != 0.0 && ((rest < 0.0) != (b < 0.0)) ? rest + b : rest;\n"
    "}\n"
    "vec4 weft_mod_float(vec4 a, vec4 b) {\n"
    "  return vec4(weft_mod_float(a.x, b.x), weft_mod_float(a.y, b.y),\n"
    "              weft_mod_float(a.z, b.z), weft_mod_float(a.w, b.w));\n"
    "}\n";

constexpr const char* kLongIntegers =
    "int64_t weft_i64(uvec2 x) { return packInt2x32(ivec2(x)); }\n"
    "int weft_index(int64_t x) {\n"
    "  ivec2 words = unpackInt2x32(x);\n"
    "  return mix(int(0x80000000u), words.x, (words.y | (words.x >> 31)) == 0);\n"
    "}\n"
    "int64_t weft_floordiv(int64_t a, int64_t b) {\n"
    "  int64_t by = mix(b, 1l, b == 0l || b == -1l);\n"
    "  int64_t q = a / by;\n"
    "  bool below = (a ^ by) < 0l;\n"
    "  q -= int64_t(a - q * by != 0l && below);\n"
    "  return mix(mix(q, -a, b == -1l), 0l, b == 0l);\n"
    "}\n"
    "int64_t weft_mod(int64_t a, int64_t b) {\n"
    "  return mix(a - weft_floordiv(a, b) * b, 0l, b == 0l);\n"
    "}\n"
    "bool weft_better(int64_t a, int at_a, int64_t b, int at_b) {\n"
    "  if (at_a < 0 || at_b < 0) return at_a >= 0;\n"
    "  return a == b ? at_a < at_b : a > b;\n"
    "}\n"
    "int64_t weft_to_i64(float x) {\n"
    "  if (isnan(x)) return 0l;\n"
    "  if (x >= 9223372036854775808.0) return 9223372036854775807l;\n"
    "  if (x <= -9223372036854775808.0) return -9223372036854775807l - 1l;\n"
    "  return int64_t(x);\n"
    "}\n";

constexpr const char* kCasts =
    "int weft_to_i32(float x) {\n"
    "  if (isnan(x)) return 0;\n"
    "  return x >= 2147483648.0 ? 2147483647 : x <= -2147483648.0 ? int(0x80000000u) : int(x);\n"
    "}\n"
    "uint weft_to_u32(float x) {\n"
    "  if (isnan(x)) return 0u;\n"
    "  return x >= 4294967296.0 ? 0xffffffffu : x <= 0.0 ? 0u : uint(x);\n"
    "}\n"
    "int weft_to_i8(float x) { return clamp(weft_to_i32(x), -128, 127); }\n"
    "uint weft_to_u8(float x) { return min(weft_to_u32(x), 255u); }\n";

constexpr const char* kExtremes =
    "float weft_max(float a, float b) { return mix(b, a, isnan(a) || a > b); }\n"
    "float weft_min(float a, float b) { return mix(b, a, isnan(a) || a < b); }\n"
    "vec4 weft_max(vec4 a, vec4 b) {\n"
    "  return vec4(weft_max(a.x, b.x), weft_max(a.y, b.y), weft_max(a.z, b.z), weft_max(a.w, "
    "b.w));\n"
    "}\n"
    "vec4 weft_min(vec4 a, vec4 b) {\n"
    "  return vec4(weft_min(a.x, b.x), weft_min(a.y, b.y), weft_min(a.z, b.z), weft_min(a.w, "
    "b.w));\n"
    "}\n";

constexpr const char* kBetter =
    "bool weft_better(float a, int at_a, float b, int at_b) {\n"
    "  if (at_a < 0 || at_b < 0) return at_a >= 0;\n"
    "  bool nan_a = isnan(a), nan_b = isnan(b);\n"
    "  bool same = nan_a && nan_b || a == b;\n"
    "  return same ? at_a < at_b : nan_a || (!nan_b && a > b);\n"
    "}\n"
    "bool weft_better(int a, int at_a, int b, int at_b) {\n"
    "  if (at_a < 0 || at_b < 0) return at_a >= 0;\n"
    "  return a == b ? at_a < at_b : a > b;\n"
    "}\n"
    "bool weft_better(uint a, int at_a, uint b, int at_b) {\n"
    "  if (at_a < 0 || at_b < 0) return at_a >= 0;\n"
    "  return a == b ? at_a < at_b : a > b;\n"
    "}\n";

// Numbers as words of workgroup memory.
constexpr const char* kBits =
    "uint weft_bits(float x) { return floatBitsToUint(x); }\n"
    "uint weft_bits(int x) { return uint(x); }\n"
    "uint weft_bits(uint x) { return x; }\n"
    "uint weft_bits(bool x) { return uint(x); }\n"
    "float weft_float(uint x) { return uintBitsToFloat(x); }\n"
    "int weft_int(uint x) { return int(x); }\n"
    "uint weft_uint(uint x) { return x; }\n"
    "bool weft_bool(uint x) { return x != 0u; }\n";

}  // namespace

std::vector<Function> number_functions() {
  return {
      {"weft_round_f16(",
       "float weft_round_f16(float x) { return weft_from_f16(weft_to_f16(x)); }\n", 1},
      {"weft_round_bf16(",
       "float weft_round_bf16(float x) { return weft_from_bf16(weft_to_bf16(x)); }\n", 1},
      {"weft_max(", kExtremes},
      {"weft_min(", kExtremes},
      {"weft_random(", random_text()},
      {"weft_to_f16(", kHalf},
      {"weft_from_f16(", kHalf},
      {"weft_to_bf16(", kBrain},
      {"weft_from_bf16(", kBrain},
      {"weft_wrap_i8(", kIntegers},
      {"weft_floordiv(", kIntegers},
      {"weft_mod(", kIntegers},
      {"weft_mod_float(", kRests},
      {"int64_t", kLongIntegers},
      {"weft_index(", kLongIntegers},
      {"weft_to_i32(", kCasts},
      {"weft_to_u32(", kCasts},
      {"weft_to_i8(", kCasts},
      {"weft_to_u8(", kCasts},
      {"weft_better(", kBetter},
      {"weft_bits(", kBits},
  };
}

}  // namespace weft::vulkan
