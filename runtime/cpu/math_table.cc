// SPDX-License-Identifier: Apache-2.0
#include "runtime/cpu/math_table.h"

#include <cmath>

namespace weft {

const MathTable& math_table() {
  static constexpr MathTable kTable = {
      .exp = [](double x) { return std::exp(x); },
      .log = [](double x) { return std::log(x); },
      .tanh = [](double x) { return std::tanh(x); },
      .erf = [](double x) { return std::erf(x); },
      .sin = [](double x) { return std::sin(x); },
      .cos = [](double x) { return std::cos(x); },
      .pow = [](double x, double y) { return std::pow(x, y); },
      .fmod = [](double x, double y) { return std::fmod(x, y); },
  };
  return kTable;
}

}  // namespace weft
