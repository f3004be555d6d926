// SPDX-License-Identifier: Apache-2.0
#include "passes/simplify.h"

namespace weft {

std::vector<const Rule*> simplify_rules() {
  std::vector<const Rule*> rules;
  auto append = [&](std::span<const Rule> family) {
    for (const Rule& rule : family) rules.push_back(&rule);
  };
  append(canonical_rules());
  append(arithmetic_rules());
  append(power_rules());
  append(logic_rules());
  append(view_rules());
  append(reduce_rules());
  append(order_rules());  // last: the others find their operands in any order
  return rules;
}

Result<bool> simplify(Module& module, const PassOptions& options) {
  std::vector<const Rule*> rules = simplify_rules();
  for (const Rule& rule : options.extra_rules) rules.push_back(&rule);
  return rewrite(module, rules, options);
}

}  // namespace weft
