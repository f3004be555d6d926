// SPDX-License-Identifier: Apache-2.0
#include "passes/chunk_rows.h"

#include <algorithm>

#include "ir/support/diagnostic.h"
#include "passes/regions.h"

namespace weft {
namespace {

std::string named(const Node& node) {
  return node.names[0].empty() ? cat("a ", name(node.op)) : "%" + node.names[0];
}

class Finder {
 public:
  Finder(const Graph& graph, Value product, const DimFacts& facts) : graph_(graph), facts_(facts) {
    part_.product = product;
    part_.rows = graph.type(product).shape;
    columns_ = part_.rows.back();
    part_.rows.pop_back();
    part_.row_count = element_count(part_.rows);
  }

  std::variant<RowPart, std::string> run() {
    take(part_.product.node, RowPlace::leading);
    below_.insert(part_.product.node);
    for (uint32_t i = part_.product.node + 1; i < graph_.nodes().size(); ++i) {
      const bool below = std::ranges::any_of(
          graph_[i].operands, [&](Value operand) { return below_.contains(operand.node); });
      if (below) below_.insert(i);
      if (depends(i)) follow(i);
    }
    // A value as wide as the product that does not depend on it (a one-hot row) is made inside.
    std::vector<uint32_t> open(part_.nodes.begin(), part_.nodes.end());
    while (!open.empty()) {
      const uint32_t at = open.back();
      open.pop_back();
      for (Value operand : graph_[at].operands) pull(operand, open);
    }
    find_inputs();
    find_results();
    if (auto wrong = check()) return *wrong;
    return std::move(part_);
  }

 private:
  bool holds(uint32_t node) const { return part_.nodes.contains(node); }
  void take(uint32_t node, RowPlace place) {
    part_.nodes.insert(node);
    part_.places[node] = place;
  }

  RowPlace place(Value value) const {
    auto found = part_.places.find(value.node);
    return found == part_.places.end() ? RowPlace::none : found->second;
  }

  bool depends(uint32_t index) const {
    return std::ranges::any_of(graph_[index].operands,
                               [&](Value operand) { return holds(operand.node); });
  }

  // The first axes of `shape` are the rows.
  bool has_rows(const Shape& shape) const {
    if (shape.size() < part_.rows.size()) return false;
    for (size_t i = 0; i < part_.rows.size(); ++i) {
      if (!facts_.equal(shape[i], part_.rows[i])) return false;
    }
    return true;
  }
  bool has_merged_rows(const Shape& shape) const {
    return !shape.empty() && facts_.equal(shape[0], part_.row_count);
  }

  // Where an operand from outside has the rows, for a user whose result has `rank` axes with the
  // rows first; nothing if only on some of them.
  std::optional<RowPlace> outside_place(const Shape& shape, size_t rank) const {
    if (shape.size() == rank && has_rows(shape)) return RowPlace::leading;
    const size_t missing = rank - std::min(rank, shape.size());
    for (size_t i = missing; i < std::min(rank, part_.rows.size()); ++i) {
      if (!facts_.equal(shape[i - missing], 1)) return std::nullopt;
    }
    return RowPlace::none;
  }

  bool rows_first(RowPlace of) const { return of == RowPlace::leading || of == RowPlace::merged; }
  size_t row_axes(RowPlace of) const {
    return of == RowPlace::leading ? part_.rows.size() : of == RowPlace::merged ? 1 : 0;
  }

  void follow(uint32_t index) {
    const Node& node = graph_[index];
    RowPlace of = RowPlace::none;
    for (Value operand : node.operands) {
      if (ends_.contains(operand.node)) return;
      if (!holds(operand.node)) continue;
      if (of != RowPlace::none && of != place(operand) && node.op != Op::matmul) return;
      of = place(operand);
    }
    if (of == RowPlace::summed) return;
    if (node.op == Op::matmul) return follow_product(index);
    if (is_reduction(node)) return follow_reduction(index, of);
    if (of == RowPlace::last || node.instance != 0) return;
    if (is_plain(node)) return follow_plain(index, of);
    if (node.op == Op::reshape || node.op == Op::broadcast) return follow_view(index, of);
    if (node.op == Op::transpose) return follow_transpose(index, of);
    if (node.op == Op::take_along_axis) return follow_take(index, of);
  }

  void follow_plain(uint32_t index, RowPlace of) {
    const Shape& shape = graph_[index].types[0].shape;
    if (of == RowPlace::leading ? !has_rows(shape) : !has_merged_rows(shape)) return;
    for (Value operand : graph_[index].operands) {
      const Shape& from = graph_.type(operand).shape;
      // Axes align at the right: an operand with rows has all of the result's axes.
      if (holds(operand.node) && from.size() != shape.size()) return;
      if (!holds(operand.node) && of == RowPlace::leading && !outside_place(from, shape.size()))
        return;
      if (!holds(operand.node) && of == RowPlace::merged && from.size() == shape.size() &&
          !has_merged_rows(from) && !facts_.equal(from[0], 1))
        return;
    }
    take(index, of);
  }

  void follow_reduction(uint32_t index, RowPlace of) {
    const Node& node = graph_[index];
    const std::vector<int64_t> axes = reduced_axes(node);
    const auto rows = static_cast<int64_t>(row_axes(of));
    if (!rows_first(of) || axes.empty()) return;
    if (axes.front() >= rows) return take(index, of);
    const auto within = std::ranges::count_if(axes, [&](int64_t axis) { return axis < rows; });
    if (node.op == Op::sum && within == rows) take(index, RowPlace::summed);
  }

  void follow_view(uint32_t index, RowPlace of) {
    const Node& node = graph_[index];
    const Shape& from = graph_.type(node.operands[0]).shape;
    const Shape& to = node.types[0].shape;
    if (!rows_first(of)) return;
    const Shape rest(from.begin() + static_cast<std::ptrdiff_t>(row_axes(of)), from.end());
    for (RowPlace then : {RowPlace::leading, RowPlace::merged}) {
      if (then == RowPlace::leading ? !has_rows(to) : !has_merged_rows(to)) continue;
      if (node.op == Op::broadcast && (then != of || from.size() != to.size())) continue;
      const Shape kept(to.begin() + static_cast<std::ptrdiff_t>(row_axes(then)), to.end());
      if (node.op == Op::reshape && !facts_.equal(element_count(rest), element_count(kept)))
        continue;
      return take(index, then);
    }
  }

  void follow_transpose(uint32_t index, RowPlace of) {
    const std::vector<int64_t>& perm = graph_[index].attrs.ints("perm");
    const bool one_axis = of == RowPlace::merged || part_.rows.size() == 1;
    if (one_axis && perm == std::vector<int64_t>{1, 0}) take(index, RowPlace::last);
  }

  void follow_take(uint32_t index, RowPlace of) {
    const Node& node = graph_[index];
    if (node.attrs.integer("axis") < static_cast<int64_t>(row_axes(of))) return;
    for (Value operand : node.operands) {
      const Shape& shape = graph_.type(operand).shape;
      if (of == RowPlace::leading ? !has_rows(shape) : !has_merged_rows(shape)) return;
    }
    take(index, of);
  }

  // Rows times a matrix gives rows; rows, transposed, times rows adds the rows up.
  void follow_product(uint32_t index) {
    const Node& node = graph_[index];
    const Value left = node.operands[0];
    const Value right = node.operands[1];
    if (holds(left.node) && !holds(right.node) && rows_first(place(left))) {
      if (graph_.type(right).rank() != 2) return;
      take(index, place(left));
      ends_.insert(index);
      return;
    }
    if (graph_.type(left).rank() != 2 || graph_.type(right).rank() != 2) return;
    const bool left_last = holds(left.node)
                               ? place(left) == RowPlace::last
                               : facts_.equal(graph_.type(left).shape[1], part_.row_count);
    const bool right_first = holds(right.node)
                                 ? place(right) == RowPlace::merged ||
                                       (place(right) == RowPlace::leading && part_.rows.size() == 1)
                                 : has_merged_rows(graph_.type(right).shape);
    if (left_last && right_first) take(index, RowPlace::summed);
  }

  void clone(Value value, RowPlace of, std::vector<uint32_t>& open) {
    take(value.node, of);
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
      if (has_merged_rows(graph_.type(node.operands[0]).shape)) clone(value, RowPlace::last, open);
      return;
    }
    if (has_rows(shape)) return pull_rows(value, open);
    const bool view =
        info(node.op).has(kView) && !mentions_rows(graph_.type(node.operands[0]).shape);
    const bool scalar = is_plain(node) && facts_.equal(element_count(shape), 1);
    if (!mentions_rows(shape) && (view || scalar)) clone(value, RowPlace::none, open);
  }

  void pull_rows(Value value, std::vector<uint32_t>& open) {
    const Node& node = graph_.node(value);
    const Shape& shape = node.types[0].shape;
    const bool narrow = shape.size() == part_.rows.size() || facts_.equal(shape.back(), 1);
    const bool wide = !narrow && facts_.equal(shape.back(), columns_);
    if (node.op == Op::reshape && narrow) {
      const Shape& from = graph_.type(node.operands[0]).shape;
      const bool inside = has_rows(from) && facts_.equal(element_count(from), part_.row_count);
      if (inside) clone(value, RowPlace::leading, open);
      return;
    }
    if (!is_plain(node) || (!narrow && !wide) || (narrow && is_costly(node))) return;
    for (Value operand : node.operands) {
      if (!outside_place(graph_.type(operand).shape, shape.size())) return;
    }
    clone(value, RowPlace::leading, open);
  }

  // Some axis may be rows, alone or merged: not the same for all of them.
  bool mentions_rows(const Shape& shape) const {
    return std::ranges::any_of(shape, [&](const Dim& dim) {
      return facts_.equal(dim, part_.row_count) ||
             std::ranges::any_of(part_.rows,
                                 [&](const Dim& row) { return facts_.equal(dim, row); });
    });
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
      const bool whole = shape.size() == node.types[0].rank() && has_merged_rows(shape);
      return whole ? RowPlace::merged : RowPlace::none;
    }
    if (node.op == Op::reshape) return RowPlace::leading;
    return outside_place(shape, node.types[0].rank()).value_or(RowPlace::none);
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
      if (shape.size() > row_axes(of) && facts_.equal(shape.back(), columns_)) {
        return cat(named(graph_.node(value)), " of shape ", shape, " is needed as a whole");
      }
    }
    if (part_.results.empty()) return "nothing depends on it";
    const bool reduced = std::ranges::any_of(part_.nodes, [&](uint32_t i) {
      return is_reduction(graph_[i]) && part_.places.at(i) != RowPlace::summed;
    });
    if (!reduced) return "nothing is reduced along its rows";
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
  Dim columns_;
  RowPart part_;
  std::set<uint32_t> below_;  // all that depends on the product
  std::set<uint32_t> ends_;   // products of rows: what follows them is another matter
  std::optional<Value> ambiguous_;
};

}  // namespace

std::variant<RowPart, std::string> find_row_part(const Graph& graph, Value product,
                                                 const DimFacts& facts) {
  return Finder(graph, product, facts).run();
}

}  // namespace weft
