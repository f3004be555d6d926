// Rules of `simplify` for powers, roots, exponentials and dropout.
// SPDX-License-Identifier: Apache-2.0
#include "passes/simplify.h"

namespace weft {
namespace {

using namespace pattern;

std::optional<Value> keep_all(Match& m) {
  return m.root.attrs.real("rate") == 0 ? std::optional(m[x]) : std::nullopt;
}

}  // namespace

std::span<const Rule> power_rules() {
  static const std::vector<Rule> kRules = {
      {"pow-zero", pow(x, lit(0)), fill(1), kExact, "pow(NaN, 0) is 1 too"},
      {"pow-one", pow(x, lit(1)), take(x)},
      {"pow-two", pow(x, lit(2)), build(mul(x, x)), kRounding,
       "pow and the product may round apart"},
      {"pow-three", pow(x, lit(3)), build(mul(mul(x, x), x)), kRounding,
       "two roundings instead of one"},
      {"pow-minus-one", pow(x, lit(-1)), build(div(lit(1), x)), kRounding,
       "pow and the quotient may round apart"},
      {"pow-half", pow(x, lit(0.5)), build(sqrt(x)), kFastMath,
       "pow(-inf, 0.5) is inf and pow(-0, 0.5) is 0, where sqrt has NaN and -0"},
      {"one-div-sqrt", div(lit(1), sqrt(x)), build(rsqrt(x))},
      {"exp-log", exp(log(x)), take(x), kFastMath, "log of a negative number is NaN"},
      {"log-exp", log(exp(x)), take(x), kFastMath, "exp overflows and vanishes"},
      {"dropout-zero", dropout(x, y), keep_all},
  };
  return kRules;
}

}  // namespace weft
