// SPDX-License-Identifier: Apache-2.0
#include "passes/raise_chain.h"

#include <algorithm>

#include "ir/graph/live.h"
#include "ir/text/text.h"
#include "passes/raise_numbers.h"

namespace weft {
namespace {

using Reason = std::optional<std::string>;

bool passes_on(const Node& node) {
  return info(node.op).has(kElementwise) || info(node.op).has(kView);
}

// One axis down a view: where it was before the step.
std::optional<size_t> axis_below(const ViewStep& step, size_t axis) {
  if (!step.perm.empty()) return static_cast<size_t>(step.perm[axis]);
  size_t from_end = step.to.size() - axis;
  if (!step.stretches && from_end > 2) return std::nullopt;
  if (from_end > step.from.size()) return std::nullopt;
  size_t below = step.from.size() - from_end;
  bool stretched = step.from[below].is_constant(1) && !step.to[axis].is_constant(1);
  return stretched ? std::nullopt : std::optional(below);
}

}  // namespace

ChainFinder::ChainFinder(const Graph& graph, const DimFacts& facts)
    : graph_(graph),
      facts_(facts),
      users_(graph.nodes().size()),
      from_product_(graph.nodes().size()),
      to_product_(graph.nodes().size()),
      names_(value_names(graph)) {
  for (const Node& node : graph.nodes()) uses_.emplace_back(node.types.size(), 0);
  for (const Output& output : graph.outputs) ++uses_[output.value.node][output.value.result];
  for (const Update& update : graph.updates) ++uses_[update.value.node][update.value.result];
  std::vector<bool> live = live_nodes(graph);
  for (uint32_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = graph[i];
    from_product_[i] = node.op == Op::matmul;
    for (Value operand : node.operands) {
      if (passes_on(node) && from_product_[operand.node]) from_product_[i] = true;
      if (!live[i]) continue;
      ++uses_[operand.node][operand.result];
      users_[operand.node].push_back(i);
    }
  }
  for (size_t i = graph.nodes().size(); i-- > 0;) {
    const Node& node = graph.nodes()[i];
    bool leads =
        node.op == Op::matmul || ((passes_on(node) || node.op == Op::dropout) && to_product_[i]);
    if (!leads || !live[i] || mixes(node)) continue;
    for (Value operand : node.operands) to_product_[operand.node] = true;
  }
}

// Weights that something else is added to or subtracted from are weights no more: that is how the
// gradient of a loss goes into a product, softmax less labels.
bool ChainFinder::mixes(const Node& node) const {
  if (node.op != Op::add && node.op != Op::sub) return false;
  return std::ranges::none_of(node.operands, [&](Value operand) {
    while (info(graph_.node(operand).op).has(kView)) operand = graph_.node(operand).operands[0];
    return graph_.node(operand).op == Op::constant;
  });
}

ChainResult ChainFinder::find(uint32_t softmax) const {
  const Node& node = graph_[softmax];
  ChainResult result;
  result.near = from_product(node.operands[0]) && to_product_[softmax];
  if (!result.near) return result;
  AttentionChain chain;
  chain.softmax = softmax;
  Reason reason = walk_up(chain);
  if (!reason) reason = walk_down(chain, node.operands[0], 1);
  if (!reason) {
    std::ranges::reverse(chain.below);
    for (ScoreItem& item : chain.items) item.level = chain.below.size() - item.level;
    reason = find_axes(chain);
  }
  if (reason) {
    result.reason = *reason;
  } else {
    result.chain = std::move(chain);
  }
  return result;
}

bool ChainFinder::sums_powers(uint32_t exp) const {
  bool summed =
      std::ranges::any_of(users_[exp], [&](uint32_t user) { return graph_[user].op == Op::sum; });
  return graph_[exp].op == Op::exp && summed && from_product_[exp] && to_product_[exp];
}

std::string ChainFinder::in_the_way(uint32_t node) const {
  return names_[node][0] + " (" + std::string(name(graph_[node].op)) + ") is in the way";
}

Reason ChainFinder::walk_up(AttentionChain& chain) const {
  Value at{chain.softmax, 0};
  for (;;) {
    if (!used_once(at)) return "the weights " + names_[at.node][0] + " are used more than once";
    if (users_[at.node].empty()) return "the weights " + names_[at.node][0] + " are an output";
    uint32_t user = users_[at.node][0];
    const Node& node = graph_[user];
    if (node.op == Op::matmul) {
      chain.root = user;
      chain.weights_left = node.operands[0] == at;
      return std::nullopt;
    }
    if (info(node.op).has(kView)) {
      std::optional<ViewStep> step = view_step(graph_, node, facts_);
      if (!step || step->stretches) return in_the_way(user);
      chain.above.push_back(*step);
    } else if (node.op == Op::dropout && node.operands[0] == at && !chain.dropout) {
      if (node.attrs.real("rate") > 0) chain.dropout = user;
      chain.dropout_level = chain.above.size();
    } else if (node.op != Op::cast || !is_float(node.types[0].dtype)) {
      return in_the_way(user);
    }
    at = {user, 0};
  }
}

// `outer` is what the scores at this place are multiplied with later.
Reason ChainFinder::walk_down(AttentionChain& chain, Value at, double outer) const {
  const Node& node = graph_.node(at);
  if (!from_product(at) || !is_float(node.types[0].dtype)) return in_the_way(at.node);
  if (!used_once(at)) return names_[at.node][0] + " is used elsewhere too";
  switch (node.op) {
    case Op::matmul:
      chain.product = at.node;
      chain.scale = outer;
      return std::nullopt;
    case Op::add:
    case Op::sub: return walk_sum(chain, node, outer);
    case Op::mul: return walk_mul(chain, node, outer);
    case Op::div: return walk_div(chain, node, outer);
    case Op::neg: return walk_down(chain, node.operands[0], -outer);
    case Op::select: return walk_select(chain, node, outer);
    case Op::cast:
      if (!is_float(graph_.type(node.operands[0]).dtype)) return in_the_way(at.node);
      return walk_down(chain, node.operands[0], outer);
    default: break;
  }
  if (info(node.op).has(kView)) return walk_view(chain, node, outer);
  return in_the_way(at.node);
}

Reason ChainFinder::walk_view(AttentionChain& chain, const Node& view, double outer) const {
  std::optional<ViewStep> step = view_step(graph_, view, facts_);
  if (!step) return in_the_way(static_cast<uint32_t>(&view - graph_.nodes().data()));
  chain.below.push_back(*step);
  return walk_down(chain, view.operands[0], outer);
}

namespace {

void push(AttentionChain& chain, ScoreItem item) {
  item.level = chain.below.size();  // counted from above until the walk is done
  chain.items.push_back(item);
}

// The scores may have been stretched by what was done to them.
void enter(AttentionChain& chain, const Graph& graph, const Node& node, size_t operand) {
  const Shape& from = graph.type(node.operands[operand]).shape;
  const Shape& to = node.types[0].shape;
  if (from != to) chain.below.push_back({{}, from, to, true});
}

bool holds(const AttentionChain& chain, ScoreItem::Kind kind) {
  return std::ranges::any_of(chain.items,
                             [&](const ScoreItem& outer) { return outer.kind == kind; });
}

}  // namespace

Reason ChainFinder::walk_sum(AttentionChain& chain, const Node& sum, double outer) const {
  auto index = static_cast<uint32_t>(&sum - graph_.nodes().data());
  Reason reason = in_the_way(index);
  if (holds(chain, ScoreItem::kFactor)) return reason;
  for (size_t side : {0, 1}) {
    if (!from_product(sum.operands[side])) continue;
    AttentionChain attempt = chain;
    double right = sum.op == Op::sub ? -outer : outer;
    ScoreItem bias{ScoreItem::kBias, sum.operands[1 - side], side == 0 ? right : outer};
    push(attempt, bias);
    enter(attempt, graph_, sum, side);
    Reason failed = walk_down(attempt, sum.operands[side], side == 0 ? outer : right);
    if (!failed) {
      chain = std::move(attempt);
      return std::nullopt;
    }
    reason = failed;
  }
  return reason;
}

Reason ChainFinder::walk_mul(AttentionChain& chain, const Node& mul, double outer) const {
  Reason reason = in_the_way(static_cast<uint32_t>(&mul - graph_.nodes().data()));
  for (size_t side : {0, 1}) {
    if (!from_product(mul.operands[side])) continue;
    Value other = mul.operands[1 - side];
    if (std::optional<double> number = one_number(graph_, other)) {
      return walk_down(chain, mul.operands[side], outer * *number);
    }
    AttentionChain attempt = chain;
    ScoreItem item{ScoreItem::kFactor, other};
    if (graph_.node(other).op == Op::constant) item.kind = ScoreItem::kGate;
    if (std::optional<Predicate> gate = as_predicate(graph_, other)) {
      item = {ScoreItem::kGate, gate->value, 1, gate->negated};
    }
    push(attempt, item);
    enter(attempt, graph_, mul, side);
    Reason failed = walk_down(attempt, mul.operands[side], outer);
    if (!failed) {
      chain = std::move(attempt);
      return std::nullopt;
    }
    reason = failed;
  }
  return reason;
}

Reason ChainFinder::walk_div(AttentionChain& chain, const Node& div, double outer) const {
  if (!from_product(div.operands[0])) {
    return in_the_way(static_cast<uint32_t>(&div - graph_.nodes().data()));
  }
  if (std::optional<double> number = one_number(graph_, div.operands[1])) {
    return walk_down(chain, div.operands[0], outer / *number);
  }
  push(chain, {ScoreItem::kFactor, div.operands[1], 1, /*negated=*/true});
  enter(chain, graph_, div, 0);
  return walk_down(chain, div.operands[0], outer);
}

Reason ChainFinder::walk_select(AttentionChain& chain, const Node& select, double outer) const {
  size_t side = from_product(select.operands[1]) ? 1 : 2;
  std::optional<double> fill = one_number(graph_, select.operands[3 - side]);
  if (!fill || holds(chain, ScoreItem::kFactor) || holds(chain, ScoreItem::kGate)) {
    return in_the_way(static_cast<uint32_t>(&select - graph_.nodes().data()));
  }
  push(chain, {ScoreItem::kMask, select.operands[0], *fill * outer, side == 2});
  enter(chain, graph_, select, side);
  return walk_down(chain, select.operands[side], outer);
}

// Follows the axis of the keys down to the product, and both axes from there up to the root.
Reason ChainFinder::find_axes(AttentionChain& chain) const {
  const std::string regrouped = "a reshape of the scores takes queries or keys apart";
  const std::string elsewhere = "the softmax is not over the keys that the products have in common";
  std::optional<size_t> col = static_cast<size_t>(graph_[chain.softmax].attrs.integer("axis"));
  chain.col = *col;
  for (size_t i = chain.below.size(); col && i-- > 0;) col = axis_below(chain.below[i], *col);
  size_t rank = graph_[chain.product].types[0].rank();
  if (!col) return regrouped;
  if (*col + 2 < rank) return elsewhere;
  chain.product_col = *col;
  std::optional<size_t> row = 2 * rank - 3 - *col;
  for (const ViewStep& step : chain.below) {
    if (row) row = follow_axis(step, *row);
  }
  if (!row) return regrouped;
  chain.row = *row;
  col = chain.col;
  for (const ViewStep& step : chain.above) {
    if (row) row = follow_axis(step, *row);
    if (col) col = follow_axis(step, *col);
  }
  if (!row || !col) return regrouped;
  size_t last = graph_.type(graph_[chain.root].operands[chain.weights_left ? 0 : 1]).rank() - 1;
  bool fits =
      chain.weights_left ? *col == last && *row == last - 1 : *col == last - 1 && *row == last;
  return fits ? std::nullopt : Reason(elsewhere);
}

}  // namespace weft
