// What goes into a chunked part and comes out of it.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/support/diagnostic.h"
#include "passes/chunk_rows.h"
#include "passes/regions.h"

namespace weft {
namespace {

std::string named(const Node& node) {
  return node.names[0].empty() ? cat("a ", name(node.op)) : "%" + node.names[0];
}

class Border {
 public:
  Border(const Graph& graph, const DimFacts& facts, RowPart& part)
      : graph_(graph),
        facts_(facts),
        shapes_(part.rows, facts),
        part_(part),
        columns_(graph.type(part.product).shape.back()) {}

  std::optional<std::string> run() {
    find_below();
    std::vector<uint32_t> open(part_.nodes.begin(), part_.nodes.end());
    while (!open.empty()) {
      const uint32_t at = open.back();
      open.pop_back();
      for (Value operand : graph_[at].operands) pull(operand, open);
    }
    find_inputs();
    find_results();
    return check();
  }

 private:
  bool holds(uint32_t node) const { return part_.nodes.contains(node); }
  RowPlace place(Value value) const {
    auto found = part_.places.find(value.node);
    return found == part_.places.end() ? RowPlace::none : found->second;
  }

  void find_below() {
    below_.insert(part_.product.node);
    for (uint32_t i = part_.product.node + 1; i < graph_.nodes().size(); ++i) {
      for (Value operand : graph_[i].operands) {
        if (below_.contains(operand.node)) below_.insert(i);
      }
    }
  }

  void clone(Value value, RowPlace of, std::vector<uint32_t>& open) {
    part_.nodes.insert(value.node);
    part_.places[value.node] = of;
    part_.clones.insert(value.node);
    open.push_back(value.node);
  }

  // What does not depend on the product but is cheap to make again inside: rows of masks and
  // one-hot rows, views, scalars.
  void pull(Value value, std::vector<uint32_t>& open) {
    const Node& node = graph_.node(value);
    if (below_.contains(value.node) || holds(value.node)) return;
    if (node.types.size() != 1 || node.instance != 0) return;
    const Shape& shape = node.types[0].shape;
    if (node.op == Op::transpose && node.types[0].rank() == 2 &&
        facts_.equal(shape[1], part_.row_count) && read_only_by_products(value)) {
      // A transpose of rows: what it transposes comes in by rows.
      if (shapes_.has_merged_rows(graph_.type(node.operands[0]).shape))
        clone(value, RowPlace::last, open);
      return;
    }
    if (shapes_.has_rows(shape)) return pull_rows(value, open);
    const bool view =
        info(node.op).has(kView) && !shapes_.mentions_rows(graph_.type(node.operands[0]).shape);
    const bool scalar = is_plain(node) && facts_.equal(element_count(shape), 1);
    if (!shapes_.mentions_rows(shape) && (view || scalar)) clone(value, RowPlace::none, open);
  }

  void pull_rows(Value value, std::vector<uint32_t>& open) {
    const Node& node = graph_.node(value);
    const Shape& shape = node.types[0].shape;
    const bool narrow = shape.size() == part_.rows.size() || facts_.equal(shape.back(), 1);
    const bool wide = !narrow && facts_.equal(shape.back(), columns_);
    if (node.op == Op::reshape && narrow) {
      const Shape& from = graph_.type(node.operands[0]).shape;
      const bool inside =
          shapes_.has_rows(from) && facts_.equal(element_count(from), part_.row_count);
      if (inside) clone(value, RowPlace::leading, open);
      return;
    }
    if (!is_plain(node) || (!narrow && !wide) || (narrow && is_costly(node))) return;
    for (Value operand : node.operands) {
      if (!shapes_.outside_place(graph_.type(operand).shape, shape.size())) return;
    }
    clone(value, RowPlace::leading, open);
  }

  bool read_only_by_products(Value value) const {
    return std::ranges::all_of(part_.nodes, [&](uint32_t i) {
      const std::vector<Value>& operands = graph_[i].operands;
      return std::ranges::find(operands, value) == operands.end() || graph_[i].op == Op::matmul;
    });
  }

  void find_inputs() {
    for (uint32_t i : part_.nodes) {
      for (size_t k = 0; k < graph_[i].operands.size(); ++k) {
        const Value operand = graph_[i].operands[k];
        if (holds(operand.node)) continue;
        auto [known, fresh] = part_.inputs.emplace(operand, input_place(i, k));
        if (!fresh && known->second != input_place(i, k)) ambiguous_ = operand;
      }
    }
  }

  RowPlace input_place(uint32_t user, size_t k) const {
    const Node& node = graph_[user];
    const Shape& shape = graph_.type(node.operands[k]).shape;
    const RowPlace of = part_.places.at(user);
    if (node.op == Op::matmul) {
      if (of == RowPlace::summed) return RowPlace::merged;
      return k == 1 ? RowPlace::none : of;
    }
    if (of == RowPlace::none) return RowPlace::none;
    if (node.op == Op::transpose) return RowPlace::merged;
    if (of == RowPlace::merged) {
      const bool whole = shape.size() == node.types[0].rank() && shapes_.has_merged_rows(shape);
      return whole ? RowPlace::merged : RowPlace::none;
    }
    if (node.op == Op::reshape) return RowPlace::leading;
    return shapes_.outside_place(shape, node.types[0].rank()).value_or(RowPlace::none);
  }

  void find_results() {
    auto leave = [&](Value value) {
      const bool inside = holds(value.node) && !part_.clones.contains(value.node);
      if (inside) part_.results[value] = place(value);
    };
    for (uint32_t i = 0; i < graph_.nodes().size(); ++i) {
      if (holds(i) && !part_.clones.contains(i)) continue;
      for (Value operand : graph_[i].operands) leave(operand);
    }
    for (const Output& output : graph_.outputs) leave(output.value);
    for (const Update& update : graph_.updates) leave(update.value);
  }

  std::optional<std::string> check() const {
    for (const auto& [value, of] : part_.results) {
      if (of == RowPlace::last) return cat(named(graph_.node(value)), " is used elsewhere");
      if (of == RowPlace::summed) continue;
      const Shape& shape = graph_.type(value).shape;
      if (shape.size() > shapes_.row_axes(of) && facts_.equal(shape.back(), columns_)) {
        return cat(named(graph_.node(value)), " of shape ", shape, " is needed as a whole");
      }
    }
    if (part_.results.empty()) return "nothing depends on it";
    const bool reduced = std::ranges::any_of(part_.nodes, [&](uint32_t i) {
      return is_reduction(graph_[i]) && part_.places.at(i) != RowPlace::summed;
    });
    if (!reduced) return "nothing is reduced along its rows";
    for (uint32_t i : part_.nodes) {
      if (graph_[i].op == Op::matmul && place({i, 0}) == RowPlace::summed &&
          place(graph_[i].operands[0]) != RowPlace::last) {
        return cat(named(graph_.node(graph_[i].operands[0])), " does not come by rows");
      }
    }
    if (ambiguous_) return cat(named(graph_.node(*ambiguous_)), " is used by rows and as a whole");
    return find_cycle();
  }

  // What comes in must not wait for what goes out.
  std::optional<std::string> find_cycle() const {
    std::set<uint32_t> after;
    for (uint32_t i = 0; i < graph_.nodes().size(); ++i) {
      if (part_.clones.contains(i)) continue;
      for (Value operand : graph_[i].operands) {
        const bool waits = holds(operand.node) || after.contains(operand.node);
        if (waits && !holds(i)) after.insert(i);
        if (after.contains(operand.node) && holds(i)) {
          return cat(named(graph_.node(operand)), " depends on its rows and is used with them");
        }
      }
    }
    return std::nullopt;
  }

  const Graph& graph_;
  const DimFacts& facts_;
  const RowShapes shapes_;
  RowPart& part_;
  const Dim columns_;
  std::set<uint32_t> below_;  // all that depends on the product
  std::optional<Value> ambiguous_;
};

}  // namespace

std::optional<std::string> close_part(const Graph& graph, const DimFacts& facts, RowPart& part) {
  return Border(graph, facts, part).run();
}

}  // namespace weft
