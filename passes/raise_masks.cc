// SPDX-License-Identifier: Apache-2.0
#include "passes/raise_masks.h"

#include <algorithm>

#include "passes/raise_affine.h"

namespace weft {
namespace {

using Window = MaskAtom::Window;

bool is_one(const Dim& dim) { return dim.is_constant(1); }

class Taker {
 public:
  Taker(const Graph& graph, const DimFacts& facts, const ScoreAxes& axes)
      : graph_(graph), facts_(facts), axes_(axes) {}

  void take(Value value, bool negated) {
    const Node& node = graph_.node(value);
    if (node.op == Op::logical_not) return take(node.operands[0], !negated);
    if (node.op == (negated ? Op::logical_or : Op::logical_and)) {
      take(node.operands[0], negated);
      return take(node.operands[1], negated);
    }
    MaskAtom atom{value, negated, window(value, negated), {}, {}};
    if (!atom.window) find_length(atom);
    atoms.push_back(atom);
  }

  std::vector<MaskAtom> atoms;

 private:
  std::optional<Window> window(Value value, bool negated) const {
    const Node& node = graph_.node(value);
    switch (node.op) {
      case Op::constant: return constant_window(node, negated);
      case Op::causal_mask:
      case Op::window_mask: return negated ? std::nullopt : mask_window(node);
      case Op::lt:
      case Op::le: break;
      case Op::reshape:
      case Op::broadcast:
        return same_place(node) ? window(node.operands[0], negated) : std::nullopt;
      default: return std::nullopt;
    }
    // a < b, a <= b, or with the sides swapped if it must not hold.
    Value small = node.operands[negated ? 1 : 0];
    Value large = node.operands[negated ? 0 : 1];
    bool strict = (node.op == Op::lt) != negated;
    if (graph_.node(small).op == Op::abs) return band(small, large, strict);
    std::optional<Affine> a = affine(graph_, small);
    std::optional<Affine> b = affine(graph_, large);
    if (!a || !b) return std::nullopt;
    return below_zero(combine(*a, *b, -1), strict);
  }

  // A view that leaves queries and keys on their axes.
  bool same_place(const Node& view) const {
    const Shape& from = graph_.type(view.operands[0]).shape;
    const Shape& to = view.types[0].shape;
    return at_end() && (view.op == Op::broadcast || moves_only_ones(from, to)) &&
           from.size() >= 2 && to.size() >= 2 && from[from.size() - 1] == to[to.size() - 1] &&
           from[from.size() - 2] == to[to.size() - 2];
  }

  bool at_end() const { return axes_.row + 2 == axes_.rank && axes_.col + 1 == axes_.rank; }

  std::optional<Window> mask_window(const Node& node) const {
    bool fits = at_end() && facts_.equal(node.attrs.dim("rows"), axes_.rows) &&
                facts_.equal(node.attrs.dim("cols"), axes_.cols);
    if (!fits) return std::nullopt;
    if (node.op == Op::causal_mask) return Window{-1, 0};
    return Window{node.attrs.integer("before"), node.attrs.integer("after")};
  }

  // |a| < b: both sides at once.
  std::optional<Window> band(Value small, Value large, bool strict) const {
    std::optional<Affine> a = affine(graph_, graph_.node(small).operands[0]);
    std::optional<Affine> b = affine(graph_, large);
    if (!a || !b) return std::nullopt;
    std::optional<Window> one = below_zero(combine(*a, *b, -1), strict);
    std::optional<Window> other = below_zero(combine(combine({}, *a, -1), *b, -1), strict);
    if (!one || !other) return std::nullopt;
    return Window{std::max(one->before, other->before), std::max(one->after, other->after)};
  }

  // The window of positions where the sum is at most 0, or below it.
  std::optional<Window> below_zero(const Affine& sum, bool strict) const {
    int64_t row = 0;
    int64_t col = 0;
    for (size_t i = 0; i < sum.along.size(); ++i) {
      size_t axis = axes_.rank - sum.along.size() + i;
      if (axis == axes_.row) {
        row = sum.along[i];
      } else if (axis == axes_.col) {
        col = sum.along[i];
      } else if (sum.along[i] != 0) {
        return std::nullopt;
      }
    }
    // An axis of one position does not show its factor.
    if (is_one(axes_.rows)) row = -col;
    if (is_one(axes_.cols)) col = -row;
    if (row != -col || (col != 1 && col != -1)) return std::nullopt;
    Dim offset = sum.constant + Dim(strict ? 1 : 0);
    Dim ahead = axes_.cols - axes_.rows;
    // col - row <= -offset, or row - col <= -offset.
    Dim limit = facts_.canonical(col == 1 ? Dim(0) - offset - ahead : ahead - offset);
    if (!limit.is_constant() || limit.constant() < 0) return std::nullopt;
    return col == 1 ? Window{-1, limit.constant()} : Window{limit.constant(), -1};
  }

  std::optional<Window> constant_window(const Node& node, bool negated) const;
  void find_length(MaskAtom& atom) const;

  const Graph& graph_;
  const DimFacts& facts_;
  const ScoreAxes& axes_;
};

// A triangle or band written out.
std::optional<Window> Taker::constant_window(const Node& node, bool negated) const {
  const Numbers& numbers = node.attrs.numbers("value");
  if (numbers.real()) return std::nullopt;
  std::vector<int64_t> seen;
  for (int64_t bit : std::get<std::vector<int64_t>>(numbers.values)) {
    seen.push_back((bit != 0) != negated ? 1 : 0);
  }
  return written_window(facts_, axes_, node.types[0].shape, seen);
}

// padding_mask, or a comparison of the keys' positions with one number each for all of them.
void Taker::find_length(MaskAtom& atom) const {
  if (atom.negated) return;
  const Node& node = graph_.node(atom.value);
  Shape shape = node.types[0].shape;
  size_t missing = axes_.rank - shape.size();
  if (axes_.col < missing) return;
  bool rows_thin = axes_.row < missing || is_one(shape[axes_.row - missing]);
  if (!rows_thin) return;
  shape[axes_.col - missing] = 1;
  const Node& made = node.op == Op::reshape ? graph_.node(node.operands[0]) : node;
  if (made.op == Op::padding_mask && moves_only_ones(made.types[0].shape, node.types[0].shape) &&
      facts_.equal(made.attrs.dim("size"), axes_.cols)) {
    atom.length = made.operands[0];
    atom.length_shape = shape;
    return;
  }
  if (node.op != Op::lt) return;
  const Type& limit = graph_.type(node.operands[1]);
  std::optional<Affine> position = affine(graph_, node.operands[0]);
  if (!position || !contains(kIndex, limit.dtype) || !position->constant.is_constant(0)) return;
  std::vector<int64_t> along(position->along.size(), 0);
  size_t skipped = axes_.rank - along.size();
  if (axes_.col < skipped) return;
  along[axes_.col - skipped] = 1;
  Shape full(shape.size() - std::min(shape.size(), limit.shape.size()), Dim(1));
  full.insert(full.end(), limit.shape.begin(), limit.shape.end());
  if (along != position->along || full != shape) return;
  atom.length = node.operands[1];
  atom.length_shape = shape;
}

}  // namespace

std::optional<Window> written_window(const DimFacts& facts, const ScoreAxes& axes,
                                     const Shape& shape, const std::vector<int64_t>& seen) {
  bool flipped = axes.row > axes.col;
  bool at_end = std::min(axes.row, axes.col) + 2 == axes.rank;
  if (!at_end || shape.size() < 2 || seen.size() < 2) return std::nullopt;
  const Dim& rows = shape[shape.size() - (flipped ? 1 : 2)];
  const Dim& cols = shape[shape.size() - (flipped ? 2 : 1)];
  bool whole = facts.equal(rows, axes.rows) && facts.equal(cols, axes.cols) &&
               element_count(shape) == rows * cols;
  if (!whole || !rows.is_constant() || !cols.is_constant()) return std::nullopt;
  int64_t t = rows.constant();
  int64_t s = cols.constant();
  auto ahead = [&](int64_t i) {
    return flipped ? i / t - (i % t + s - t) : i % s - (i / s + s - t);
  };
  Window window{0, 0};
  for (int64_t i = 0; i < t * s; ++i) {
    if (seen[static_cast<size_t>(i)] == 0) continue;
    window.before = std::max(window.before, -ahead(i));
    window.after = std::max(window.after, ahead(i));
  }
  for (int64_t i = 0; i < t * s; ++i) {
    bool inside = -window.before <= ahead(i) && ahead(i) <= window.after;
    if (inside != (seen[static_cast<size_t>(i)] != 0)) return std::nullopt;
  }
  if (window.before >= s - 1) window.before = -1;
  if (window.after >= t - 1) window.after = -1;
  return window;
}

std::vector<MaskAtom> mask_atoms(const Graph& graph, const DimFacts& facts, const ScoreAxes& axes,
                                 Value predicate, bool negated) {
  Taker taker(graph, facts, axes);
  taker.take(predicate, negated);
  return taker.atoms;
}

}  // namespace weft
