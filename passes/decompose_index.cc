// Decompositions of masks, one-hot rows and patches: comparisons and gathers of counted indices.
// SPDX-License-Identifier: Apache-2.0
#include "passes/decompose_rules.h"
#include "passes/sizes.h"

namespace weft {

using Operands = std::vector<Value>;

Operands decompose_one_hot(Emitter& b, const Node& node, const Operands& operands) {
  Value classes = count_from(b, 0, node.attrs.dim("depth"), b.type(operands[0]).dtype);
  Value hit = b.eq({add_last_axis(b, operands[0]), classes});
  return {b.cast_to(hit, node.attrs.dtype("dtype"))};
}

namespace {

// How far a column lies behind the diagonal that ends in the last column: col + rows on one side,
// row + cols on the other, so that no difference of sizes is needed as a number.
struct Diagonal {
  Value column;  // [cols]
  Value row;     // [rows, 1]
};

Diagonal diagonal(Emitter& b, const Node& node) {
  const Dim& rows = node.attrs.dim("rows");
  const Dim& cols = node.attrs.dim("cols");
  bool square = rows == cols;
  Value column = count_from(b, square ? Dim(0) : rows, cols, DType::i32);
  Value row = count_from(b, square ? Dim(0) : cols, rows, DType::i32);
  return {column, add_last_axis(b, row)};
}

}  // namespace

Operands decompose_causal_mask(Emitter& b, const Node& node, const Operands&) {
  Diagonal at = diagonal(b, node);
  return {b.le({at.column, at.row})};
}

Operands decompose_window_mask(Emitter& b, const Node& node, const Operands&) {
  Diagonal at = diagonal(b, node);
  Value behind = b.sub({at.column, at.row});
  // `scalar` saturates: a window wider than the type is as wide as the type.
  auto before = static_cast<double>(node.attrs.integer("before"));
  auto after = static_cast<double>(node.attrs.integer("after"));
  Value reached = b.le({b.scalar(-before, DType::i32), behind});
  return {b.logical_and({reached, b.le({behind, b.scalar(after, DType::i32)})})};
}

Operands decompose_padding_mask(Emitter& b, const Node& node, const Operands& operands) {
  Value positions = count_from(b, 0, node.attrs.dim("size"), b.type(operands[0]).dtype);
  return {b.lt({positions, add_last_axis(b, operands[0])})};
}

namespace {

// Where the windows of one axis read: [windows, size], window * stride + offset.
Value window_positions(Emitter& b, const Node& node, size_t axis, const Dim& windows) {
  int64_t size = node.attrs.ints("size")[axis];
  auto stride = static_cast<double>(node.attrs.ints("stride")[axis]);
  Value first = b.mul({count_from(b, 0, windows, DType::i32), b.scalar(stride, DType::i32)});
  return b.add({add_last_axis(b, first), count_from(b, 0, size, DType::i32)});
}

// [B, H', S0, W', S1, C] <-> [B, H', W', S0, S1, C].
Value swap_window_axes(Emitter& b, Value windows) {
  return b.transpose({windows}, {{"perm", std::vector<int64_t>{0, 1, 3, 2, 4, 5}}});
}

}  // namespace

Operands decompose_patches(Emitter& b, const Node& node, const Operands& operands) {
  const Shape& out = node.types[0].shape;
  Value rows = window_positions(b, node, 0, out[1]);
  Value columns = window_positions(b, node, 1, out[2]);
  Value banded = b.gather({operands[0], rows}, {{"axis", int64_t{1}}});  // [B, H', S0, W, C]
  Value windows = b.gather({banded, columns}, {{"axis", int64_t{3}}});   // [B, H', S0, W', S1, C]
  return {b.reshape_to(swap_window_axes(b, windows), out)};
}

Operands decompose_fold_patches(Emitter& b, const Node& node, const Operands& operands) {
  const Shape in = b.shape(operands[0]);
  const Type& out = node.types[0];  // [B, H, W, C]
  const std::vector<int64_t>& size = node.attrs.ints("size");
  Value rows = window_positions(b, node, 0, in[1]);
  Value columns = window_positions(b, node, 1, in[2]);
  Value apart = b.reshape_to(operands[0], {in[0], in[1], in[2], size[0], size[1], out.shape[3]});
  Value windows = swap_window_axes(b, apart);
  Value no_bands = b.full(0, out.dtype, {in[0], in[1], size[0], out.shape[2], out.shape[3]});
  Value banded = b.scatter_add({no_bands, columns, windows}, {{"axis", int64_t{3}}});
  return {b.scatter_add({b.zeros(out), rows, banded}, {{"axis", int64_t{1}}})};
}

}  // namespace weft
