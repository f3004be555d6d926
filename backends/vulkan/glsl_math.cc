// Elementary functions in GLSL, which leaves their precision open or has them not.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <iterator>
#include <string>
#include <vector>

#include "backends/math_coefficients.h"
#include "backends/vulkan/glsl_functions.h"

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

}  // namespace

std::vector<Function> elementary_functions() {
  return {
      {"weft_pow(",
       wide_poly("weft_log2_terms", kLog2) + wide_poly("weft_exp2_terms", kExp2) + pow_text(), 2},
      {"weft_tanh(", tanh_text(), 1},
      {"weft_exp(", exp_text(), 1},
      {"weft_log(", log_text(), 1},
      {"weft_erf(", erf_text(), 1},
      {"weft_sin(", sin_text(), 1},
      {"weft_cos(", cos_text(), 1},
      {"weft_quarter(", quarter_text()},
  };
}

}  // namespace weft::vulkan
