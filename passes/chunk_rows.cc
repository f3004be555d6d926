// SPDX-License-Identifier: Apache-2.0
#include "passes/chunk_rows.h"

#include <algorithm>

#include "passes/regions.h"

namespace weft {
namespace {

class Follower {
 public:
  Follower(const Graph& graph, Value product, const DimFacts& facts, const Shape& rows)
      : graph_(graph), facts_(facts), shapes_(rows, facts) {
    part_.product = product;
    part_.rows = rows;
    part_.row_count = element_count(rows);
  }

  RowPart run() {
    take(part_.product.node, RowPlace::leading);
    for (uint32_t i = part_.product.node + 1; i < graph_.nodes().size(); ++i) {
      const bool depends = std::ranges::any_of(graph_[i].operands,
                                               [&](Value operand) { return holds(operand.node); });
      if (depends) follow(i);
    }
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
    if (!shapes_.has_rows(shape, of)) return;
    for (Value operand : graph_[index].operands) {
      const Shape& from = graph_.type(operand).shape;
      // Axes align at the right: an operand with rows has all of the result's axes.
      if (holds(operand.node) && from.size() != shape.size()) return;
      if (!holds(operand.node) && of == RowPlace::leading &&
          !shapes_.outside_place(from, shape.size()))
        return;
      if (!holds(operand.node) && of == RowPlace::merged && from.size() == shape.size() &&
          !shapes_.has_merged_rows(from) && !facts_.equal(from[0], 1))
        return;
    }
    take(index, of);
  }

  void follow_reduction(uint32_t index, RowPlace of) {
    const Node& node = graph_[index];
    const std::vector<int64_t> axes = reduced_axes(node);
    const auto rows = static_cast<int64_t>(shapes_.row_axes(of));
    if (shapes_.row_axes(of) == 0 || axes.empty()) return;
    if (axes.front() >= rows) return take(index, of);
    const auto within = std::ranges::count_if(axes, [&](int64_t axis) { return axis < rows; });
    if (node.op == Op::sum && within == rows) take(index, RowPlace::summed);
  }

  void follow_view(uint32_t index, RowPlace of) {
    const Node& node = graph_[index];
    const Shape& from = graph_.type(node.operands[0]).shape;
    const Shape& to = node.types[0].shape;
    if (shapes_.row_axes(of) == 0) return;
    const Shape rest(from.begin() + static_cast<std::ptrdiff_t>(shapes_.row_axes(of)), from.end());
    for (RowPlace then : {RowPlace::leading, RowPlace::merged}) {
      if (!shapes_.has_rows(to, then)) continue;
      if (node.op == Op::broadcast && (then != of || from.size() != to.size())) continue;
      const Shape kept(to.begin() + static_cast<std::ptrdiff_t>(shapes_.row_axes(then)), to.end());
      if (node.op == Op::reshape && !facts_.equal(element_count(rest), element_count(kept)))
        continue;
      return take(index, then);
    }
  }

  void follow_transpose(uint32_t index, RowPlace of) {
    const std::vector<int64_t>& perm = graph_[index].attrs.ints("perm");
    if (shapes_.one_axis(of) && perm == std::vector<int64_t>{1, 0}) take(index, RowPlace::last);
  }

  void follow_take(uint32_t index, RowPlace of) {
    const Node& node = graph_[index];
    if (node.attrs.integer("axis") < static_cast<int64_t>(shapes_.row_axes(of))) return;
    for (Value operand : node.operands) {
      const Shape& shape = graph_.type(operand).shape;
      if (!shapes_.has_rows(shape, of)) return;
    }
    take(index, of);
  }

  // Rows times a matrix gives rows; rows, transposed, times rows adds the rows up.
  void follow_product(uint32_t index) {
    const Node& node = graph_[index];
    const Value left = node.operands[0];
    const Value right = node.operands[1];
    if (holds(left.node) && !holds(right.node) && shapes_.row_axes(place(left)) > 0) {
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
                                 : shapes_.has_merged_rows(graph_.type(right).shape);
    if (left_last && right_first) take(index, RowPlace::summed);
  }

  const Graph& graph_;
  const DimFacts& facts_;
  const RowShapes shapes_;
  RowPart part_;
  std::set<uint32_t> ends_;  // products of rows: what follows them is another matter
};

}  // namespace

bool RowShapes::has_rows(const Shape& shape) const {
  if (shape.size() < rows_.size()) return false;
  for (size_t i = 0; i < rows_.size(); ++i) {
    if (!facts_.equal(shape[i], rows_[i])) return false;
  }
  return true;
}

bool RowShapes::has_merged_rows(const Shape& shape) const {
  return !shape.empty() && facts_.equal(shape[0], row_count_);
}

bool RowShapes::mentions_rows(const Shape& shape) const {
  return std::ranges::any_of(shape, [&](const Dim& dim) {
    auto same = [&](const Dim& row) { return facts_.equal(dim, row); };
    return same(row_count_) || std::ranges::any_of(rows_, same);
  });
}

std::optional<RowPlace> RowShapes::outside_place(const Shape& shape, size_t rank) const {
  if (shape.size() == rank && has_rows(shape)) return RowPlace::leading;
  const size_t missing = rank - std::min(rank, shape.size());
  for (size_t i = missing; i < std::min(rank, rows_.size()); ++i) {
    if (!facts_.equal(shape[i - missing], 1)) return std::nullopt;
  }
  return RowPlace::none;
}

RowPart follow_rows(const Graph& graph, Value product, const DimFacts& facts) {
  Shape rows = graph.type(product).shape;
  rows.pop_back();
  return Follower(graph, product, facts, rows).run();
}

std::variant<RowPart, std::string> find_row_part(const Graph& graph, Value product,
                                                 const DimFacts& facts) {
  RowPart part = follow_rows(graph, product, facts);
  if (auto wrong = close_part(graph, facts, part)) return *wrong;
  return part;
}

}  // namespace weft
