// SPDX-License-Identifier: Apache-2.0
#include "passes/raise_heads.h"

#include <algorithm>

#include "passes/raise_levels.h"

namespace weft {
namespace {

Shape leading(const Shape& shape) { return Shape(shape.begin(), shape.end() - 2); }

// A transpose of nothing but the last two axes.
bool swaps_last_two(const Node& node) {
  if (node.op != Op::transpose) return false;
  const std::vector<int64_t>& perm = node.attrs.ints("perm");
  return std::is_sorted(perm.begin(), perm.end() - 2) && perm.back() < perm[perm.size() - 2] &&
         perm.back() + 2 == static_cast<int64_t>(perm.size());
}

}  // namespace

std::optional<RepeatedHeads> repeated_heads(Emitter& b, Value value) {
  const Node top = b.graph().node(value);
  bool swapped = swaps_last_two(top);
  const Node node = swapped ? b.graph().node(top.operands[0]) : top;
  if (node.op != Op::reshape) return std::nullopt;
  const Node stretched = b.graph().node(node.operands[0]);
  if (stretched.op != Op::broadcast) return std::nullopt;
  std::optional<ViewStep> step = view_step(b.graph(), node, b.module().dims);
  if (!step || !step->perm.empty()) return std::nullopt;
  Value of = pad_rank(b, stretched.operands[0], stretched.types[0].rank());
  return RepeatedHeads{swapped ? swap_last_two(b, of) : of, leading(stretched.types[0].shape)};
}

Value read_once(Emitter& b, Value value, Value other, const Shape& scores) {
  const Node node = b.graph().node(value);
  if (node.op != Op::broadcast) return value;
  const Shape from = b.shape(node.operands[0]);
  const Shape& to = node.types[0].shape;
  if (from.size() < 2 || !std::equal(from.end() - 2, from.end(), to.end() - 2)) return value;
  std::optional<Shape> both =
      broadcast_shapes(leading(b.shape(other)), leading(from), b.module().dims);
  return both && *both == leading(scores) ? node.operands[0] : value;
}

}  // namespace weft
