// SPDX-License-Identifier: Apache-2.0
#include "passes/arrange.h"

#include <algorithm>

#include "ir/graph/rebuild.h"
#include "passes/regions.h"
#include "passes/simplify.h"

namespace weft {
namespace {

using namespace pattern;
using Axes = std::vector<int64_t>;

// A product whose rows would become the last axis is the product of the transposes.
std::optional<Value> transpose_factors(Match& m) {
  const Node product = m.node(t);
  Axes perm = m.root.attrs.ints("perm");
  const auto rank = static_cast<int64_t>(perm.size());
  const Shape& left = m.out.shape(product.operands[0]);
  const Shape& right = m.out.shape(product.operands[1]);
  if (perm.back() != rank - 2 || !m.used_once(0) || left.size() < 2 || right.size() < 2) {
    return std::nullopt;
  }
  const Value swapped = m.out.matmul({m.out.transpose_last_two(product.operands[1]),
                                      m.out.transpose_last_two(product.operands[0])});
  for (int64_t& axis : perm) {
    if (axis >= rank - 2) axis = 2 * rank - 3 - axis;
  }
  if (std::ranges::is_sorted(perm)) return swapped;
  return m.emit(Op::transpose, {swapped}, {{"perm", perm}});
}

// x + scatter_add(0, ..) adds into x.
std::optional<Value> scatter_into(Match& m) {
  const Node scattered = m.node(t);
  const size_t operand = m.root.operands[0] == m[t] ? 0 : 1;
  const bool broadcasts = !same_type(m.type(x), m.root.types[0], m.facts());
  if (!m.used_once(operand) || broadcasts) return std::nullopt;
  return m.emit_same(Op::scatter_add, {m[x], scattered.operands[1], scattered.operands[2]},
                     scattered.attrs);
}

// One element per row of an elementwise value is elementwise of one element per row.
std::optional<Value> take_first(Match& m) {
  const Node inner = m.node(x);
  const Value indices = m.root.operands[1];
  const auto axis = static_cast<size_t>(m.root.attrs.integer("axis"));
  const Shape whole = inner.types[0].shape;
  if (!is_plain(inner) || !m.out.shape(indices)[axis].is_constant(1)) return std::nullopt;
  std::vector<Value> operands;
  bool checked = false;  // somewhere the index is still held against the axis
  for (Value operand : inner.operands) {
    const Shape shape = m.out.shape(operand);
    const size_t missing = whole.size() - shape.size();
    if (axis < missing || m.facts().equal(shape[axis - missing], 1)) {
      operands.push_back(operand);
      continue;
    }
    const Op op = m.out.graph().node(operand).op;
    checked = checked || (op != Op::iota && op != Op::constant);
    const Value full = m.out.broadcast_to(operand, whole);
    operands.push_back(m.out.take_along_axis({full, indices}, m.root.attrs));
  }
  if (!checked) return std::nullopt;
  return m.emit_same(inner.op, std::move(operands), inner.attrs);
}

// Kept axes on both sides of the reduced ones: those to reduce go last. A deliberate recomputation
// stays one.
std::optional<Value> reduce_last_axes(Emitter& b, const Node& node, Value in) {
  const Axes axes = reduced_axes(node);
  const auto rank = static_cast<int64_t>(b.shape(in).size());
  const auto count = static_cast<int64_t>(axes.size());
  const bool trailing = axes.empty() || axes.front() == rank - count;
  const bool by_column = !axes.empty() && axes.back() == count - 1 && node.op != Op::argmax;
  if (trailing || by_column) return std::nullopt;
  Axes perm;
  for (int64_t i = 0; i < rank; ++i) {
    if (std::ranges::find(axes, i) == axes.end()) perm.push_back(i);
  }
  Axes last;
  for (int64_t axis : axes) {
    last.push_back(static_cast<int64_t>(perm.size()));
    perm.push_back(axis);
  }
  Node reduced;
  reduced.op = node.op;
  reduced.instance = node.instance;
  reduced.origin = node.origin;
  reduced.loc = node.loc;
  reduced.operands = {b.transpose({in}, {{"perm", perm}})};
  if (node.op == Op::argmax) {
    reduced.attrs.set("axis", last[0]);
  } else {
    reduced.attrs.set("axes", last);
  }
  return b.reshape_to({b.emit_node(std::move(reduced)), 0}, node.types[0].shape);
}

std::optional<Value> reduce_last(Match& m) { return reduce_last_axes(m.out, m.root, m[x]); }

// Rules leave deliberate recomputations alone; these have to be arranged too.
bool arrange_recomputed(Module& module, Graph& graph) {
  auto wrong = [&](const Node& node) { return node.instance != 0 && is_reduction(node); };
  if (std::ranges::none_of(graph.nodes(), wrong)) return false;
  Graph before = std::move(graph);
  graph = rebuild(module, before,
                  [&](Emitter& b, const Node& node,
                      const std::vector<Value>& operands) -> std::optional<std::vector<Value>> {
                    if (!wrong(node)) return std::nullopt;
                    auto reduced = reduce_last_axes(b, node, operands[0]);
                    if (!reduced) return std::nullopt;
                    return {{*reduced}};
                  });
  return !same_graph(before, graph);
}

}  // namespace

std::span<const Rule> arrange_rules() {
  static const std::vector<Op> kReductions = {Op::sum, Op::max, Op::min,   Op::prod,
                                              Op::any, Op::all, Op::argmax};
  static const std::vector<Rule> kRules = {
      {"transpose-matmul", transpose(matmul().as(t)), transpose_factors},
      {"add-scatter", add(x, scatter_add(lit(0), y, z).as(t)), scatter_into, kRounding,
       "x is added first"},
      {"take-first", take_along_axis(x, y), take_first},
      {"reduce-last", any_of(kReductions, {x}), reduce_last, kRounding,
       "elements keep their order along each axis, not across several"},
  };
  return kRules;
}

Result<bool> arrange(Module& module, const PassOptions& options) {
  std::vector<const Rule*> rules;
  for (const Rule& rule : arrange_rules()) rules.push_back(&rule);
  for (const Rule& rule : view_rules()) rules.push_back(&rule);
  bool changed = rewrite(module, rules, options);
  for (Graph& graph : module.graphs) changed = arrange_recomputed(module, graph) || changed;
  return changed;
}

}  // namespace weft
