// Regions of kind rows: reductions along rows and columns of one space, and what lies between.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <optional>

#include "passes/regions.h"

namespace weft {
namespace {

// How a value relates to the region's reductions.
enum class Level : uint8_t {
  free,    // depends on none: may be used at any coordinate
  full,    // an element per element of the space
  row,     // one per row
  column,  // one per column, or one at all
};

bool is_leading(const std::vector<int64_t>& axes) {
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] != static_cast<int64_t>(i)) return false;
  }
  return true;
}

bool is_trailing(const std::vector<int64_t>& axes, size_t rank) {
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] != static_cast<int64_t>(rank - axes.size() + i)) return false;
  }
  return true;
}

// Tries one space: the first axes count rows, the last `row_axes` lie along a row.
class Rows {
 public:
  Rows(const Part& part, const DimFacts& facts, Shape space, size_t row_axes)
      : part_(part),
        graph_(*part.graph),
        facts_(facts),
        space_(std::move(space)),
        row_axes_(row_axes) {}

  std::optional<Refusal> run() {
    for (uint32_t i : part_.nodes) {
      if (auto refusal = visit(i)) return refusal;
    }
    for (Value result : part_.results) {
      const Shape& shape = graph_.type(result).shape;
      if (level(result) == Level::free && !is_full(shape) && !is_row(shape)) {
        return cat("a result of shape ", shape, " beside rows of ", space_);
      }
    }
    return std::nullopt;
  }

 private:
  size_t row_count_axes() const { return space_.size() - row_axes_; }
  bool is_full(const Shape& shape) const { return same_shape(shape, space_, facts_); }

  bool is_row(const Shape& shape, bool kept) const {
    const size_t rows = row_count_axes();
    if (shape.size() != (kept ? space_.size() : rows)) return false;
    for (size_t i = 0; i < shape.size(); ++i) {
      if (!facts_.equal(shape[i], i < rows ? space_[i] : Dim(1))) return false;
    }
    return true;
  }
  bool is_row(const Shape& shape) const { return is_row(shape, true) || is_row(shape, false); }

  Level level(Value value) const {
    auto found = levels_.find(value.node);
    return found == levels_.end() ? Level::free : found->second;
  }

  std::optional<Refusal> visit(uint32_t index) {
    const Node& node = graph_[index];
    if (is_reduction(node)) return visit_reduction(index);
    bool depends = false;
    for (Value operand : node.operands) {
      if (level(operand) == Level::column) return Refusal("a column's sum is used in its region");
      depends = depends || level(operand) != Level::free;
    }
    if (!depends) return std::nullopt;
    if (node.op == Op::reshape || node.op == Op::broadcast || is_plain(node)) {
      return visit_dependent(index);
    }
    return cat(name(node.op), " moves a value that depends on a reduction");
  }

  std::optional<Refusal> visit_dependent(uint32_t index) {
    const Node& node = graph_[index];
    const Shape& shape = node.types[0].shape;
    const bool full = is_full(shape);
    if (!full && !is_row(shape)) {
      return cat(name(node.op), " takes a reduced value to another shape, ", shape);
    }
    for (Value operand : node.operands) {
      const Shape& from = graph_.type(operand).shape;
      const bool reshape = node.op == Op::reshape;
      const Level of = level(operand);
      if (of == Level::free) continue;
      // Axes align at the right: only a row that kept its axes meets the right elements.
      const bool aligned = reshape || from.size() == shape.size();
      if (of == Level::full ? !full : !aligned || (reshape && full && row_axes_ > 0)) {
        return cat(name(node.op), " takes a reduced value to other coordinates");
      }
    }
    levels_[index] = full ? Level::full : Level::row;
    return std::nullopt;
  }

  std::optional<Refusal> visit_reduction(uint32_t index) {
    const Node& node = graph_[index];
    const Value in = node.operands[0];
    const Shape& shape = graph_.type(in).shape;
    const std::vector<int64_t> axes = reduced_axes(node);
    if (level(in) == Level::column) return Refusal("a column's sum is used in its region");
    const bool along_row = axes.size() == row_axes_ && is_trailing(axes, shape.size());
    const bool along_columns = axes.size() == row_count_axes() && is_leading(axes);
    const bool row = is_row(shape) && level(in) != Level::full && !is_full(shape);
    if (!is_full(shape) && !row) return cat("reduces ", shape, " beside rows of ", space_);
    if (!row && along_row) {
      levels_[index] = Level::row;
      return std::nullopt;
    }
    const bool all = axes.size() == shape.size();
    if (node.op != Op::argmax && (all || along_columns)) {
      levels_[index] = Level::column;
      return std::nullopt;
    }
    return Refusal("reduces over other axes");
  }

  const Part& part_;
  const Graph& graph_;
  const DimFacts& facts_;
  const Shape space_;
  const size_t row_axes_;
  std::map<uint32_t, Level> levels_;
};

// A row that nobody else works on beside it should not be long.
constexpr int64_t kLongestSingleRow = 1 << 16;

bool used_inside(const Part& part, uint32_t producer) {
  return std::ranges::any_of(part.nodes, [&](uint32_t i) {
    return std::ranges::any_of((*part.graph)[i].operands,
                               [&](Value operand) { return operand.node == producer; });
  });
}

// How many last axes make a row, by one reduction of the space.
size_t row_axes_by(const Part& part, uint32_t index, const DimFacts& facts) {
  const Node& node = (*part.graph)[index];
  const Shape& shape = part.graph->type(node.operands[0]).shape;
  const std::vector<int64_t> axes = reduced_axes(node);
  if (axes.size() < shape.size()) {
    return is_trailing(axes, shape.size()) ? axes.size() : shape.size() - axes.size();
  }
  const int64_t most = facts.bounds_of(element_count(shape)).high;
  const bool one_row =
      node.op == Op::argmax || (used_inside(part, index) && most <= kLongestSingleRow);
  return one_row ? shape.size() : 0;
}

}  // namespace

FormOrRefusal rows_form(const Part& part, const DimFacts& facts) {
  const Graph& graph = *part.graph;
  // The space is what some reduction reduces; a loss may also sum over what is left of the rows.
  std::vector<RegionForm> candidates;
  for (uint32_t i : part.nodes) {
    if (!is_reduction(graph[i])) continue;
    RegionForm form{"rows", graph.type(graph[i].operands[0]).shape, row_axes_by(part, i, facts)};
    candidates.push_back(std::move(form));
  }
  // Reductions over everything say least about rows.
  std::ranges::stable_sort(candidates, [](const RegionForm& a, const RegionForm& b) {
    if (a.space.size() != b.space.size()) return a.space.size() > b.space.size();
    const bool a_tells = a.row_axes > 0 && a.row_axes < a.space.size();
    const bool b_tells = b.row_axes > 0 && b.row_axes < b.space.size();
    return a_tells && !b_tells;
  });
  std::optional<Refusal> first;
  for (const RegionForm& form : candidates) {
    std::optional<Refusal> refusal = Rows(part, facts, form.space, form.row_axes).run();
    if (!refusal) return form;
    if (!first) first = refusal;
    if (form.space.size() < candidates[0].space.size()) break;
  }
  return *first;
}

}  // namespace weft
