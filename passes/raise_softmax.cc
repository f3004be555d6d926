// Part of `raise`: softmax and log_softmax from exponentials and their sums.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "passes/raise.h"
#include "passes/rewrite.h"
#include "passes/sizes.h"

namespace weft {
namespace {

using namespace pattern;

// The axis if `value`, through views, is `op` of `of` along one axis and meets it there: x / sum(x)
// with the axis kept, or put back in.
std::optional<int64_t> reduced_along(Match& m, Value value, Op op, Value of) {
  const Graph& graph = m.out.graph();
  while (graph.node(value).op == Op::broadcast) value = graph.node(value).operands[0];
  Shape met = graph.type(value).shape;
  if (graph.node(value).op == Op::reshape) value = graph.node(value).operands[0];
  const Node& node = graph.node(value);
  if (node.op != op || node.operands[0] != of) return std::nullopt;
  int64_t axis = 0;
  if (op == Op::logsumexp) {
    axis = node.attrs.integer("axis");
  } else if (node.attrs.ints("axes").size() == 1) {
    axis = node.attrs.ints("axes")[0];
  } else {
    return std::nullopt;
  }
  const Shape& whole = graph.type(of).shape;
  if (met.size() > whole.size()) return std::nullopt;
  met.insert(met.begin(), whole.size() - met.size(), Dim(1));
  bool fits = same_shape(met, with_ones(whole, {axis}), m.facts());
  return fits ? std::optional(axis) : std::nullopt;
}

// x for x - max(x), which has the same softmax; the value itself otherwise.
Value without_max(Match& m, Value value, int64_t axis) {
  const Graph& graph = m.out.graph();
  const Node& node = graph.node(value);
  if (node.op != Op::sub) return value;
  Value largest = node.operands[1];
  // As a softmax that is wary of rows without a largest element has it.
  if (graph.node(largest).op == Op::select) {
    const Node& choice = graph.node(largest);
    bool second = graph.node(choice.operands[1]).op == Op::constant;
    largest = choice.operands[second ? 2 : 1];
  }
  return reduced_along(m, largest, Op::max, node.operands[0]) == axis ? node.operands[0] : value;
}

// Whether nobody else uses an operand of the root: a sum that is needed anyway is not computed
// again inside a softmax.
bool only_here(const Match& m, Value operand) {
  size_t place = m.root.operands[0] == operand ? 0 : 1;
  return m.used_once(place);
}

// What divides: `total` of y / total, or y * (1 / total).
std::optional<Value> divisor(Match& m, Value factor) {
  if (!only_here(m, factor)) return std::nullopt;
  const Node& node = m.out.graph().node(factor);
  if (m.root.op == Op::div) return factor;
  const Graph& graph = m.out.graph();
  if (node.op != Op::div || graph.node(node.operands[0]).op != Op::constant) return std::nullopt;
  const Numbers& one = graph.node(node.operands[0]).attrs.numbers("value");
  if (!(one == Numbers{std::vector<double>{1}})) return std::nullopt;
  return node.operands[1];
}

std::optional<Value> softmax_of(Match& m, Value powers, Value total) {
  if (m.out.graph().node(powers).op != Op::exp) return std::nullopt;
  std::optional<int64_t> axis = reduced_along(m, total, Op::sum, powers);
  if (!axis) return std::nullopt;
  Value in = without_max(m, m.out.graph().node(powers).operands[0], *axis);
  return m.out.softmax({in}, {{"axis", *axis}});
}

// exp(x) / sum(exp(x)).
std::optional<Value> divided(Match& m) {
  std::optional<Value> total = divisor(m, m[y]);
  return total ? softmax_of(m, m[x], *total) : std::nullopt;
}

// (exp(x) v) / sum(exp(x)) = softmax(x) v, with dropout of the powers or without.
std::optional<Value> divided_late(Match& m) {
  std::optional<Value> total = divisor(m, m[y]);
  if (!total) return std::nullopt;
  const Node product = m.node(t);
  Value powers = product.operands[0];
  const Node drop = m.out.graph().node(powers);
  if (drop.op == Op::dropout) powers = drop.operands[0];
  std::optional<Value> weights = softmax_of(m, powers, *total);
  if (!weights) return std::nullopt;
  auto last = static_cast<int64_t>(m.out.shape(*weights).size()) - 1;
  if (m.out.graph().node(*weights).attrs.integer("axis") != last) return std::nullopt;
  if (drop.op == Op::dropout) weights = m.out.dropout({*weights, drop.operands[1]}, drop.attrs);
  return m.emit(Op::matmul, {*weights, product.operands[1]});
}

// The axis if `total`, through views, is the sum of exp(`of`).
std::optional<int64_t> sum_of_powers(Match& m, Value total, Value of) {
  const Graph& graph = m.out.graph();
  Value sum_at = total;
  while (graph.node(sum_at).op == Op::broadcast || graph.node(sum_at).op == Op::reshape) {
    sum_at = graph.node(sum_at).operands[0];
  }
  if (graph.node(sum_at).op != Op::sum) return std::nullopt;
  Value powers = graph.node(sum_at).operands[0];
  if (graph.node(powers).op != Op::exp || graph.node(powers).operands[0] != of) return std::nullopt;
  return reduced_along(m, total, Op::sum, powers);
}

// x - log(sum(exp(x))), however that is computed.
std::optional<Value> minus_log_sum(Match& m) {
  const Graph& graph = m.out.graph();
  if (!only_here(m, m[y])) return std::nullopt;
  if (auto axis = reduced_along(m, m[y], Op::logsumexp, m[x])) {
    return m.out.log_softmax({m[x]}, {{"axis", *axis}});
  }
  if (graph.node(m[y]).op != Op::log) return std::nullopt;
  std::optional<int64_t> axis = sum_of_powers(m, graph.node(m[y]).operands[0], m[x]);
  if (!axis) return std::nullopt;
  return m.out.log_softmax({without_max(m, m[x], *axis)}, {{"axis", *axis}});
}

// x - (log(sum(exp(x - z))) + z) with z = max(x).
std::optional<Value> minus_log_sum_and_max(Match& m) {
  if (!m.used_once(1)) return std::nullopt;
  std::optional<Value> shifted = m.emit(Op::sub, {m[x], m[z]});
  std::optional<int64_t> axis = shifted ? sum_of_powers(m, m[y], *shifted) : std::nullopt;
  if (!axis || without_max(m, *shifted, *axis) != m[x]) return std::nullopt;
  return m.out.log_softmax({m[x]}, {{"axis", *axis}});
}

std::optional<Value> exp_log_softmax(Match& m) {
  return m.out.softmax({m[x]}, {{"axis", m.node(t).attrs.integer("axis")}});
}

constexpr std::string_view kNote =
    "a row of nothing but -inf has zeros instead of NaN, and nothing overflows";

std::span<const Rule> softmax_rules() {
  static const std::vector<Rule> kRules = {
      {"log-softmax", sub(x, y), minus_log_sum, kRounding, kNote},
      {"log-softmax-max", sub(x, add(log(y), z)), minus_log_sum_and_max, kRounding, kNote},
      {"exp-log-softmax", exp(log_softmax(x).as(t)), exp_log_softmax, kRounding, kNote},
      {"softmax", div(exp(z).as(x), y), divided, kRounding, kNote},
      {"softmax-inverse", mul(exp(z).as(x), y), divided, kRounding, kNote},
      {"late-softmax", div(matmul().as(t), y), divided_late, kRounding, kNote},
      {"late-softmax-inverse", mul(matmul().as(t), y), divided_late, kRounding, kNote},
  };
  return kRules;
}

}  // namespace

Result<bool> raise_softmax(Module& module, const PassOptions& options) {
  std::vector<const Rule*> rules;
  for (const Rule& rule : softmax_rules()) rules.push_back(&rule);
  return rewrite(module, rules, options);
}

}  // namespace weft
