// pow of f32 in GLSL: 2^(y log2 x), the logarithm in two floats, since many devices have no f64.
// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "backends/math_coefficients.h"
#include "backends/vulkan/glsl_functions.h"

namespace weft::vulkan {
namespace {

// A number as the sum of two floats: "vec2(high, low)".
std::string two(double value) {
  const auto high = static_cast<float>(value);
  return "vec2(" + real(static_cast<double>(high)) + ", " +
         real(static_cast<double>(static_cast<float>(value - static_cast<double>(high)))) + ")";
}

// The terms from `first` on, by Horner's scheme in f32.
template <size_t N>
std::string tail(const std::string& x, const double (&terms)[N], size_t first) {
  std::string text = real(static_cast<double>(static_cast<float>(terms[N - 1])));
  for (size_t i = N - 1; i-- > first;) {
    text = "(" + text + " * " + x + " + " +
           real(static_cast<double>(static_cast<float>(terms[i]))) + ")";
  }
  return text;
}

// Sums and products of numbers in two floats, after Dekker and Knuth. `precise`: a product and a
// sum may not become one operation, nor change places.
constexpr const char* kTwoFloats = R"(vec2 weft_two_product(float a, float b) {
  precise float p = a * b;
  precise float a_wide = 4097.0 * a;
  precise float a_high = a_wide - (a_wide - a);
  precise float a_low = a - a_high;
  precise float b_wide = 4097.0 * b;
  precise float b_high = b_wide - (b_wide - b);
  precise float b_low = b - b_high;
  precise float rest = ((a_high * b_high - p) + a_high * b_low + a_low * b_high) + a_low * b_low;
  return vec2(p, rest);
}
vec2 weft_two_product(vec2 a, vec2 b) {
  vec2 p = weft_two_product(a.x, b.x);
  precise float low = p.y + (a.x * b.y + a.y * b.x);
  return vec2(p.x, low);
}
vec2 weft_two_sum(vec2 a, vec2 b) {
  precise float high = a.x + b.x;
  precise float other = high - a.x;
  precise float low = (a.x - (high - other)) + (b.x - other);
  precise float all = low + (a.y + b.y);
  return vec2(high, all);
}
)";

// (m - 1) / (m + 1) and its logarithm's series: what is left after two terms is small enough for
// one float.
std::string log2_text() {
  return std::string(kTwoFloats) +
         "vec2 weft_log2_in_two(float size) {\n"
         "  bool small = size < 1.17549435e-38;\n"
         "  uint bits = floatBitsToUint(mix(size, size * 16777216.0, small));\n"
         "  int e = int(bits - 0x3f3504f3u) >> 23;\n"
         "  float m = uintBitsToFloat(bits - (uint(e) << 23));\n"
         "  precise float above = m - 1.0;\n"
         "  vec2 below = weft_two_sum(vec2(m, 0.0), vec2(1.0, 0.0));\n"
         "  precise float quotient = above / below.x;\n"
         "  vec2 product = weft_two_product(quotient, below.x);\n"
         "  precise float rest = ((above - product.x) - product.y) - quotient * below.y;\n"
         "  vec2 s = vec2(quotient, rest / below.x);\n"
         "  vec2 q = weft_two_product(s, s);\n"
         "  float last = q.x * " +
         tail("q.x", kLog2, 2) +
         ";\n"
         "  vec2 sum = weft_two_sum(" +
         two(kLog2[1]) +
         ", vec2(last, 0.0));\n"
         "  sum = weft_two_sum(" +
         two(kLog2[0]) +
         ", weft_two_product(q, sum));\n"
         "  float whole = float(e) - mix(0.0, 24.0, small);\n"
         "  return weft_two_sum(vec2(whole, 0.0), weft_two_product(s, sum));\n"
         "}\n";
}

}  // namespace

std::string pow_text() {
  return log2_text() +
         "float weft_pow(float x, float y) {\n"
         "  float size = abs(x);\n"
         "  bool whole = floor(y) == y;\n"
         "  bool odd = whole && abs(y) < 16777216.0 && (int(y) & 1) != 0;\n"
         "  if (x == 1.0 || y == 0.0) return 1.0;\n"
         "  if (isnan(x) || isnan(y)) return uintBitsToFloat(0x7fc00000u);\n"
         "  if (x < 0.0 && !whole && !isinf(x)) return uintBitsToFloat(0x7fc00000u);\n"
         "  if (x == -1.0 && whole) return mix(1.0, -1.0, odd);\n"
         "  float result;\n"
         "  float infinity = uintBitsToFloat(0x7f800000u);\n"
         "  if (size == 0.0 || isinf(size) || isinf(y)) {\n"
         "    bool grows = (size > 1.0) == (y > 0.0);\n"
         "    result = mix(0.0, infinity, grows);\n"
         "  } else {\n"
         // Beyond that every power but those of 1 is 0 or infinite.
         "    float to = clamp(y, -1e18, 1e18);\n"
         "    vec2 t = weft_two_product(vec2(to, 0.0), weft_log2_in_two(size));\n"
         "    bool far = abs(t.x) > 200.0;\n"
         "    float high = clamp(t.x, -200.0, 200.0);\n"
         "    float n = roundEven(high);\n"
         "    float f = (high - n) + mix(t.y, 0.0, far);\n"
         "    int half_n = int(n) >> 1;\n"
         "    float one = uintBitsToFloat(uint(half_n + 127) << 23);\n"
         "    float other = uintBitsToFloat(uint(int(n) - half_n + 127) << 23);\n"
         "    result = (" +
         tail("f", kExp2, 0) +
         " * one) * other;\n"
         "  }\n"
         "  return mix(result, -result, odd && x < 0.0);\n"
         "}\n";
}

}  // namespace weft::vulkan
