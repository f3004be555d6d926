// Functions in GLSL, by name. Private to glsl_*.cc.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace weft::vulkan {

// A function, and how one of four numbers at once follows from it.
struct Function {
  std::string name;  // with the parenthesis that a call has, or another word that needs it
  std::string text;
  int four = 0;  // operands of the form for vec4; 0: there is none
};

// exp, log, tanh, erf, sin, cos, pow; one that another needs stands after it.
std::vector<Function> elementary_functions();
// Of element types: conversions, whole numbers, comparisons, random bits.
std::vector<Function> number_functions();

// A number of f32, to the last bit.
std::string real(double value);
std::string pow_text();  // in glsl_pow.cc

}  // namespace weft::vulkan
