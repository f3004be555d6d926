// Gradients of products, reductions and orderings.
// SPDX-License-Identifier: Apache-2.0
#include "passes/gradient_rules.h"
#include "passes/sizes.h"

namespace weft {
namespace {

// [.., M, N] -> [.. * M, N].
Value flatten_rows(Emitter& b, Value value) {
  Shape shape = b.shape(value);
  Dim columns = shape.back();
  shape.pop_back();
  return b.reshape_to(value, {element_count(shape), columns});
}

}  // namespace

void grad_matmul(GradScope& g) {
  Emitter& b = g.b;
  if (g.wants(0)) g.give(0, b.matmul({g.grad(), b.transpose_last_two(g.operand(1))}));
  if (!g.wants(1)) return;
  // A weight shared by a batch: one product over all rows, instead of one each and their sum.
  bool shared = g.shape(1).size() == 2;
  Value lhs = shared ? flatten_rows(b, g.operand(0)) : g.operand(0);
  Value grad = shared ? flatten_rows(b, g.grad()) : g.grad();
  g.give(1, b.matmul({b.transpose_last_two(lhs), grad}));
}

void grad_sum(GradScope& g) {
  g.give(0, expand_over(g.b, g.grad(), g.shape(0), g.node.attrs.ints("axes")));
}

void grad_mean(GradScope& g) {
  const std::vector<int64_t>& axes = g.node.attrs.ints("axes");
  Value share = divide_by_sizes(g.b, g.grad(), sizes_along(g.shape(0), axes));
  g.give(0, expand_over(g.b, share, g.shape(0), axes));
}

void grad_extremum(GradScope& g) {
  Emitter& b = g.b;
  const std::vector<int64_t>& axes = g.node.attrs.ints("axes");
  const Shape shape = g.shape(0);
  Value in = g.operand();
  Value chosen = b.eq({in, expand_over(b, g.result(), shape, axes)});
  Value count = b.sum({b.cast_to(chosen, b.type(in).dtype)}, {{"axes", axes}, {"keepdims", true}});
  Value share = b.div({expand_over(b, g.grad(), shape, axes), count});
  g.give(0, b.select({chosen, share, b.like(0, in)}));
}

// The derivative by a factor is the product of the others: the product over the factor if nothing
// is zero; at a lone zero the product of the rest; otherwise 0.
void grad_prod(GradScope& g) {
  Emitter& b = g.b;
  const std::vector<int64_t>& axes = g.node.attrs.ints("axes");
  Value in = g.operand();
  Value zero = b.like(0, in);
  Value one = b.like(1, in);
  Attrs keep{{"axes", axes}, {"keepdims", true}};
  Value is_zero = b.eq({in, zero});
  Value zeros = b.sum({b.cast_to(is_zero, b.type(in).dtype)}, keep);
  Value nonzero = b.select({is_zero, one, in});
  Value rest = b.prod({nonzero}, keep);
  Value at_zero = b.select({b.eq({zeros, one}), rest, zero});
  Value elsewhere = b.select({b.eq({zeros, zero}), b.div({rest, nonzero}), zero});
  Value others = b.select({is_zero, at_zero, elsewhere});
  g.give(0, b.mul({expand_over(b, g.grad(), g.shape(0), axes), others}));
}

void grad_cumsum(GradScope& g) {
  Attrs attrs = g.node.attrs;
  attrs.set("reverse", !attrs.boolean("reverse"));
  g.give(0, g.b.cumsum({g.grad()}, attrs));
}

void grad_top_k(GradScope& g) {
  Value zeros = g.b.zeros(g.b.type(g.operand()));
  auto last = static_cast<int64_t>(g.shape(0).size()) - 1;
  g.give(0, g.b.add_along_axis({zeros, g.result(1), g.grad()}, {{"axis", last}}));
}

void grad_global_norm(GradScope& g) {
  Emitter& b = g.b;
  Value norm = g.result();
  // A norm of 0 has only zeros under it: dividing by 1 instead makes their gradient 0.
  Value divisor = b.select({b.eq({norm, b.like(0, norm)}), b.like(1, norm), norm});
  Value scale = b.div({g.grad(), divisor});
  for (size_t i = 0; i < g.node.operands.size(); ++i) {
    DType dtype = b.type(g.operand(i)).dtype;
    if (g.wants(i)) g.give(i, b.mul({g.operand(i), b.cast_to(scale, dtype)}));
  }
}

}  // namespace weft
