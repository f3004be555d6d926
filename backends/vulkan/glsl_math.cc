// Elementary functions in GLSL, which leaves their precision open or has them not.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <iterator>
#include <string>
#include <vector>

#include "backends/math_coefficients.h"
#include "backends/vulkan/glsl_functions.h"

namespace weft::vulkan {

std::string real(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", value);
  std::string result = text;
  if (result.find_first_of(".e") == std::string::npos) result += ".0";
  return result;
}

namespace {

// Horner's scheme.
template <size_t N>
std::string poly(const std::string& x, const float (&terms)[N]) {
  std::string text = real(terms[N - 1]);
  for (size_t i = N - 1; i-- > 0;) text = "(" + text + " * " + x + " + " + real(terms[i]) + ")";
  return text;
}

// Choices are mix(): a branch for each cuts a kernel into hundreds of blocks, on which drivers
// choke.
std::string exp_text() {
  const double inverse = 1 / (static_cast<double>(kTwoLn2[0]) + static_cast<double>(kTwoLn2[1]));
  return "float weft_exp(float x) {\n"
         "  float y = mix(min(x, 89.0), 0.0, x < -104.0);\n"
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
         "  return mix(mix(result, 0.0, x < -104.0), x, isnan(x));\n"
         "}\n";
}

std::string log_text() {
  return "float weft_log(float x) {\n"
         "  bool small = x < 1.17549435e-38;\n"
         "  uint bits = floatBitsToUint(mix(x, x * 33554432.0, small));\n"
         "  int above = int(bits - 0x3f2aaaabu);\n"
         "  float r = uintBitsToFloat(bits - (uint(above) & 0xff800000u)) - 1.0;\n"
         "  float e = float(above >> 23) - mix(0.0, 25.0, small);\n"
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
         "  return mix(result, x, isinf(x));\n"
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
         "  float result = mix(far, near, size < 0.625);\n"
         "  return mix(mix(result, -result, x < 0.0), x, isnan(x));\n"
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
         "  float far = size < 4.0 ? 1.0 - " +
         poly("at", kErfcLarge) +
         " : 1.0;\n"
         "  float result = mix(mix(far, -far, x < 0.0), near, size < 1.0);\n"
         "  return mix(result, x, isnan(x));\n"
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

}  // namespace

std::vector<Function> elementary_functions() {
  return {
      {"weft_pow(", pow_text(), 2}, {"weft_tanh(", tanh_text(), 1},    {"weft_exp(", exp_text(), 1},
      {"weft_log(", log_text(), 1}, {"weft_erf(", erf_text(), 1},      {"weft_sin(", sin_text(), 1},
      {"weft_cos(", cos_text(), 1}, {"weft_quarter(", quarter_text()},
  };
}

}  // namespace weft::vulkan
