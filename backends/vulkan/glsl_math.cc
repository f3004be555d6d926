// Functions that GLSL has not, or whose precision it leaves open, in GLSL.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "backends/math_coefficients.h"
#include "backends/vulkan/glsl.h"
#include "ir/oracle/philox.h"

namespace weft::vulkan {
namespace {

std::string real(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", value);
  std::string result = text;
  if (result.find_first_of(".e") == std::string::npos) result += ".0";
  return result;
}

// Horner's scheme.
template <size_t N>
std::string poly(const std::string& x, const float (&terms)[N]) {
  std::string text = real(terms[N - 1]);
  for (size_t i = N - 1; i-- > 0;) text = "(" + text + " * " + x + " + " + real(terms[i]) + ")";
  return text;
}

// A function, and how one of four numbers at once follows from it.
struct Function {
  std::string name;
  std::string text;
  int four = 0;  // operands of the form for vec4; 0: there is none
};

std::string exp_text() {
  const double inverse = 1 / (static_cast<double>(kTwoLn2[0]) + static_cast<double>(kTwoLn2[1]));
  return "float weft_exp(float x) {\n"
         "  float y = x < -104.0 ? 0.0 : min(x, 89.0);\n"
         "  float n = roundEven(y * " +
         real(inverse) +
         ");\n"
         "  float r = (y - n * " +
         real(kTwoLn2[0]) + ") - n * " + real(kTwoLn2[1]) +
         ";\n"
         "  float power = uintBitsToFloat(uint(int(n) + 127) << 23);\n"
         "  float result = ((r * r * " +
         poly("r", kExpTail) +
         " + r) * power + power) * power;\n"
         "  return isnan(x) ? x : x < -104.0 ? 0.0 : result;\n"
         "}\n";
}

std::string log_text() {
  return "float weft_log(float x) {\n"
         "  bool small = x < 1.17549435e-38;\n"
         "  uint bits = floatBitsToUint(small ? x * 33554432.0 : x);\n"
         "  int above = int(bits - 0x3f2aaaabu);\n"
         "  float r = uintBitsToFloat(bits - (uint(above) & 0xff800000u)) - 1.0;\n"
         "  float e = float(above >> 23) - (small ? 25.0 : 0.0);\n"
         "  float tail = r * " +
         poly("r", kLog1pTail) +
         " - 0.5;\n"
         "  float low = r * r * tail + e * " +
         real(kLn2[1]) +
         ";\n"
         "  float result = e * " +
         real(kLn2[0]) +
         " + (r + low);\n"
         "  if (isnan(x) || x < 0.0) return uintBitsToFloat(0x7fc00000u);\n"
         "  if (x == 0.0) return uintBitsToFloat(0xff800000u);\n"
         "  return isinf(x) ? x : result;\n"
         "}\n";
}

std::string tanh_text() {
  return "float weft_tanh(float x) {\n"
         "  float size = abs(x);\n"
         "  float square = x * x;\n"
         "  float near = size * square * " +
         poly("square", kTanhSmall) +
         " + size;\n"
         "  float far = 1.0 - 2.0 / (weft_exp(2.0 * min(size, 9.1)) + 1.0);\n"
         "  float result = size < 0.625 ? near : far;\n"
         "  return isnan(x) ? x : x < 0.0 ? -result : result;\n"
         "}\n";
}

std::string erf_text() {
  return "float weft_erf(float x) {\n"
         "  float square = x * x;\n"
         "  float near = x * " +
         poly("square", kErfSmall) +
         " + x;\n"
         "  float size = abs(x);\n"
         "  float at = min(size, 4.0) - 2.5;\n"
         "  float far = 1.0 - " +
         poly("at", kErfcLarge) +
         ";\n"
         "  float result = size < 1.0 ? near : x < 0.0 ? -far : far;\n"
         "  return isnan(x) ? x : result;\n"
         "}\n";
}

// x * 2/pi modulo 4 with integers, after Payne and Hanek: exact for every x.
std::string quarter_text() {
  std::string words;
  char word[16];
  for (uint32_t bits : kTwoOverPi) {
    std::snprintf(word, sizeof word, ", 0x%08xu", bits);
    words += word;
  }
  return "const uint weft_two_over_pi[" + std::to_string(std::size(kTwoOverPi) + 1) +
         "] = uint[](0u" + words +
         ");\n"
         "float weft_quarter(float x, out int n) {\n"  // x >= 0
         "  if (x < 0.7853981) { n = 0; return x; }\n"
         "  uint bits = floatBitsToUint(x);\n"
         "  int skip = int(bits >> 23) - 120;\n"
         "  uint m = (bits & 0x7fffffu) | 0x800000u;\n"
         "  int early = skip < 0 ? -skip : 0;\n"  // small exponents: fewer bits before the point
         "  skip = max(skip, 0);\n"
         "  int at = skip >> 5;\n"
         "  int shift = skip & 31;\n"
         "  uint w[4];\n"
         "  for (int i = 0; i < 4; ++i) w[i] = at + i < " +
         std::to_string(std::size(kTwoOverPi) + 1) +
         " ? weft_two_over_pi[at + i] : 0u;\n"
         "  uint a = shift == 0 ? w[0] : (w[0] << shift) | (w[1] >> (32 - shift));\n"
         "  uint b = shift == 0 ? w[1] : (w[1] << shift) | (w[2] >> (32 - shift));\n"
         "  uint c = shift == 0 ? w[2] : (w[2] << shift) | (w[3] >> (32 - shift));\n"
         // m * (a, b, c), the upper 64 bits of what lies below 4
         "  uint high, low, carry;\n"
         "  umulExtended(m, c, high, low);\n"
         "  uint low_c = high;\n"
         "  umulExtended(m, b, high, low);\n"
         "  low = uaddCarry(low, low_c, carry);\n"
         "  high += carry;\n"
         "  uint top = m * a + high;\n"
         // (top, low): x * 2/pi modulo 4 with 62 bits after the point, moved right by `early`
         "  if (early > 0) { low = (low >> early) | (top << (32 - early)); top >>= early; }\n"
         "  uint rounded = top + 0x20000000u;\n"
         "  n = int(rounded >> 30);\n"
         "  int fraction = int(top - (rounded & 0xc0000000u));\n"
         // with 30 bits after the point, and 32 more in low
         "  if (fraction > -0x100000 && fraction < 0x100000) {\n"
         "    bool negative = fraction < 0;\n"
         "    uint f = uint(fraction);\n"
         "    uint l = low;\n"
         "    if (negative) { f = ~f; l = ~l; }\n"
         "    float small = float(f) * 9.31322575e-10 + float(l) * 2.16840434e-19;\n"
         "    return (negative ? -small : small) * 1.57079637;\n"
         "  }\n"
         "  return float(fraction) * 1.46291808e-09;\n"
         "}\n"
         "float weft_sin_of(float r) { float s = r * r; return r * s * " +
         poly("s", kSinTail) +
         " + r; }\n"
         "float weft_cos_of(float r) { float s = r * r; return s * s * " +
         poly("s", kCosTail) + " - 0.5 * s + 1.0; }\n";
}

std::string sin_text() {
  return "float weft_sin(float x) {\n"
         "  if (isnan(x) || isinf(x)) return uintBitsToFloat(0x7fc00000u);\n"
         "  int n;\n"
         "  float r = weft_quarter(abs(x), n);\n"
         "  float y = (n & 1) == 0 ? weft_sin_of(r) : weft_cos_of(r);\n"
         "  return ((n & 2) != 0) != (x < 0.0) ? -y : y;\n"
         "}\n";
}

std::string cos_text() {
  return "float weft_cos(float x) {\n"
         "  if (isnan(x) || isinf(x)) return uintBitsToFloat(0x7fc00000u);\n"
         "  int n;\n"
         "  float r = weft_quarter(abs(x), n);\n"
         "  float y = (n & 1) == 0 ? weft_cos_of(r) : weft_sin_of(r);\n"
         "  return ((n + 1) & 2) != 0 ? -y : y;\n"
         "}\n";
}

// 2^(y log2 x) with the logarithm in two parts, so that a large y does not magnify its error.
std::string pow_text() {
  return "float weft_pow(float x, float y) {\n"
         "  float size = abs(x);\n"
         "  bool whole = floor(y) == y;\n"
         "  bool odd = whole && abs(y) < 16777216.0 && (int(y) & 1) != 0;\n"
         "  if (x == 1.0 || y == 0.0) return 1.0;\n"
         "  if (isnan(x) || isnan(y)) return uintBitsToFloat(0x7fc00000u);\n"
         "  if (x < 0.0 && !whole && !isinf(x)) return uintBitsToFloat(0x7fc00000u);\n"
         "  if (x == -1.0 && whole) return odd ? -1.0 : 1.0;\n"
         "  float result;\n"
         "  float infinity = uintBitsToFloat(0x7f800000u);\n"
         "  if (size == 0.0 || isinf(size) || isinf(y)) {\n"
         "    bool grows = (size > 1.0) == (y > 0.0);\n"
         "    result = grows ? infinity : 0.0;\n"
         "  } else {\n"
         "    double wide = double(size);\n"
         "    uvec2 bits = unpackDouble2x32(wide);\n"
         "    int e = int((bits.y - 0x3fe6a09eu) & 0xfff00000u) >> 20;\n"
         "    double m = packDouble2x32(uvec2(bits.x, bits.y - (uint(e) << 20)));\n"
         "    double s = (m - 1.0lf) / (m + 1.0lf);\n"
         "    double q = s * s;\n"
         "    double t = double(y) * (s * weft_log2_terms(q) + double(e));\n"
         "    t = clamp(t, -200.0lf, 200.0lf);\n"
         "    double n = roundEven(t);\n"
         "    result = float(weft_exp2_terms(t - n) * packDouble2x32(uvec2(0u, uint(int(n) + 1023) "
         "<< 20)));\n"
         "  }\n"
         "  return odd && x < 0.0 ? -result : result;\n"
         "}\n";
}

template <size_t N>
std::string wide_poly(const std::string& name, const double (&terms)[N]) {
  auto number = [](double value) {
    char text[48];
    std::snprintf(text, sizeof text, "%.17g", value);
    std::string result = text;
    if (result.find_first_of(".e") == std::string::npos) result += ".0";
    return result + "lf";
  };
  std::string text = number(terms[N - 1]);
  for (size_t i = N - 1; i-- > 0;) text = "(" + text + " * x + " + number(terms[i]) + ")";
  return "double " + name + "(double x) { return " + text + "; }\n";
}

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
    "}\n"
    "float weft_round_f16(float x) { return weft_from_f16(weft_to_f16(x)); }\n";

constexpr const char* kBrain =
    "uint weft_to_bf16(float x) {\n"
    "  uint bits = floatBitsToUint(x);\n"
    "  if (isnan(x)) return 0x7fc0u;\n"
    "  return (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;\n"
    "}\n"
    "float weft_from_bf16(uint bits) { return uintBitsToFloat(bits << 16); }\n"
    "float weft_round_bf16(float x) { return weft_from_bf16(weft_to_bf16(x)); }\n";

constexpr const char* kIntegers =
    "int weft_wrap_i8(int x) { return bitfieldExtract(x, 0, 8); }\n"
    "int weft_floordiv(int a, int b) {\n"
    "  if (b == 0) return 0;\n"
    "  if (b == -1) return -a;\n"
    "  int q = a / b;\n"
    "  return a - q * b != 0 && ((a ^ b) < 0) ? q - 1 : q;\n"
    "}\n"
    "int weft_mod(int a, int b) { return b == 0 || b == -1 ? 0 : a - weft_floordiv(a, b) * b; }\n"
    "uint weft_floordiv(uint a, uint b) { return b == 0u ? 0u : a / b; }\n"
    "uint weft_mod(uint a, uint b) { return b == 0u ? 0u : a % b; }\n"
    "float weft_mod(float a, float b) {\n"
    "  float rest = a - b * trunc(a / b);\n"
    "  return rest != 0.0 && ((rest < 0.0) != (b < 0.0)) ? rest + b : rest;\n"
    "}\n"
    "vec4 weft_mod(vec4 a, vec4 b) { return vec4(weft_mod(a.x, b.x), weft_mod(a.y, b.y), "
    "weft_mod(a.z, "
    "b.z), weft_mod(a.w, b.w)); }\n";

constexpr const char* kLongIntegers =
    "int64_t weft_i64(uvec2 x) { return packInt2x32(ivec2(x)); }\n"
    "int64_t weft_floordiv(int64_t a, int64_t b) {\n"
    "  if (b == 0l) return 0l;\n"
    "  if (b == -1l) return -a;\n"
    "  int64_t q = a / b;\n"
    "  return a - q * b != 0l && ((a ^ b) < 0l) ? q - 1l : q;\n"
    "}\n"
    "int64_t weft_mod(int64_t a, int64_t b) { return b == 0l || b == -1l ? 0l : a - "
    "weft_floordiv(a, b) "
    "* b; }\n"
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
    "float weft_max(float a, float b) { return a > b || isnan(a) ? a : b; }\n"
    "float weft_min(float a, float b) { return a < b || isnan(a) ? a : b; }\n"
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

std::vector<Function> all_functions() {
  // One that another needs stands before it.
  return {
      {"weft_max(", kExtremes},
      {"weft_min(", kExtremes},
      {"weft_pow(",
       wide_poly("weft_log2_terms", kLog2) + wide_poly("weft_exp2_terms", kExp2) + pow_text(), 2},
      {"weft_tanh(", tanh_text(), 1},
      {"weft_exp(", exp_text(), 1},
      {"weft_log(", log_text(), 1},
      {"weft_erf(", erf_text(), 1},
      {"weft_sin(", sin_text(), 1},
      {"weft_cos(", cos_text(), 1},
      {"weft_quarter(", quarter_text()},
      {"weft_random(", random_text()},
      {"weft_to_f16(", kHalf},
      {"weft_from_f16(", kHalf},
      {"weft_round_f16(", kHalf},
      {"weft_to_bf16(", kBrain},
      {"weft_from_bf16(", kBrain},
      {"weft_round_bf16(", kBrain},
      {"weft_wrap_i8(", kIntegers},
      {"weft_floordiv(", kIntegers},
      {"weft_mod(", kIntegers},
      {"int64_t", kLongIntegers},
      {"weft_to_i32(", kCasts},
      {"weft_to_u32(", kCasts},
      {"weft_to_i8(", kCasts},
      {"weft_to_u8(", kCasts},
      {"weft_better(", kBetter},
      {"weft_bits(", kBits},
  };
}

}  // namespace

std::string math_functions(const std::string& body) {
  std::string needed = body;
  std::vector<std::string> texts;
  // Later ones are needed by earlier ones, so that the order is turned round in the end.
  for (const Function& function : all_functions()) {
    if (needed.find(function.name) == std::string::npos) continue;
    std::string text = function.text;
    const std::string name = function.name.substr(0, function.name.size() - 1);
    auto call = [&](const char* part) {
      return name + "(x." + part + (function.four == 2 ? ", y." + std::string(part) : "") + ")";
    };
    if (function.four > 0) {
      text += "vec4 " + name + "(vec4 x" + (function.four == 2 ? ", vec4 y" : "") +
              ") {\n  return vec4(" + call("x") + ", " + call("y") + ", " + call("z") + ", " +
              call("w") + ");\n}\n";
    }
    bool known = false;
    for (const std::string& other : texts) known |= other == text;
    if (known) continue;
    needed += text;
    texts.push_back(std::move(text));
  }
  std::string result;
  for (size_t i = texts.size(); i-- > 0;) result += texts[i];
  return result;
}

}  // namespace weft::vulkan
