// Decompositions of attention and its gradient: products, masks and softmax.
// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "ir/graph/attention.h"
#include "passes/decompose_rules.h"
#include "passes/formulas.h"
#include "passes/sizes.h"

namespace weft {

using Operands = std::vector<Value>;

namespace {

constexpr double kExcluded = -std::numeric_limits<double>::infinity();
constexpr int64_t kNoLimit = std::numeric_limits<int32_t>::max();

// One attention, with its factors widened.
struct Parts {
  Parts(Emitter& emitter, const Node& of, const Operands& operands)
      : b(emitter),
        attrs(of.attrs),
        extras(attention_extras(emitter.graph(), of.op, operands)),
        all(operands),
        q(widen(b, operands[0])),
        k(widen(b, operands[1])),
        v(widen(b, operands[2])) {}

  Emitter& b;
  const Attrs& attrs;
  AttentionExtras extras;
  const Operands& all;
  Value q, k, v;
};

// [T, S]: the positions in the window.
Value window(const Parts& p) {
  const Shape q = p.b.shape(p.q);
  const Shape k = p.b.shape(p.k);
  Attrs attrs{{"rows", q[q.size() - 2]}, {"cols", k[k.size() - 2]}};
  std::optional<int64_t> before = window_limit(p.attrs, "before");
  std::optional<int64_t> after = window_limit(p.attrs, "after");
  if (!before && after == 0) return p.b.causal_mask({}, attrs);
  attrs.set("before", before.value_or(kNoLimit));
  attrs.set("after", after.value_or(kNoLimit));
  return p.b.window_mask({}, attrs);
}

// [.., 1, S]: the keys within the lengths.
Value within_lengths(const Parts& p) {
  const Shape k = p.b.shape(p.k);
  Value lengths = add_last_axis(p.b, p.all[*p.extras.lengths]);
  return p.b.padding_mask({lengths}, {{"size", k[k.size() - 2]}});
}

// The window and the lengths together, if there are any.
std::optional<Value> visible(const Parts& p) {
  std::optional<Value> seen;
  if (window_limit(p.attrs, "before") || window_limit(p.attrs, "after")) seen = window(p);
  if (!p.extras.lengths) return seen;
  Value within = within_lengths(p);
  return seen ? p.b.logical_and({*seen, within}) : within;
}

// [.., T, S]: scores; -inf what is left out.
Value scores(const Parts& p) {
  Emitter& b = p.b;
  Value scores = b.matmul({p.q, b.transpose_last_two(p.k)});
  double scale = p.attrs.real("scale");
  double fill = p.attrs.real("fill");
  if (scale != 1) scores = b.mul({scores, b.like(scale, scores)});
  if (p.extras.bias) scores = b.add({scores, widen(b, p.all[*p.extras.bias])});
  std::optional<Value> seen = visible(p);
  if (p.extras.mask) {
    Value mask = p.all[*p.extras.mask];
    if (fill == kExcluded) {
      seen = seen ? b.logical_and({*seen, mask}) : mask;
    } else {
      scores = b.select({mask, scores, b.like(fill, scores)});
    }
  }
  return seen ? b.select({*seen, scores, b.like(kExcluded, scores)}) : scores;
}

Value drop(const Parts& p, Value weights) {
  if (!p.extras.rng) return weights;
  Attrs attrs{{"rate", p.attrs.real("rate")}, {"stream", p.attrs.integer("stream")}};
  return p.b.dropout({weights, p.all[*p.extras.rng]}, attrs);
}

}  // namespace

Value attention_weights(Emitter& b, const Node& node, const Operands& operands) {
  return b.softmax({scores(Parts(b, node, operands))});
}

Operands decompose_attention(Emitter& b, const Node& node, const Operands& operands) {
  Parts p(b, node, operands);
  Value s = scores(p);
  Value out = b.matmul({drop(p, b.softmax({s})), p.v});
  Value sum = b.logsumexp({s});
  Value lse = b.select({b.eq({sum, b.like(kExcluded, sum)}), b.like(0, sum), sum});
  return {b.cast_to(out, node.types[0].dtype), lse};
}

Operands decompose_attention_grad(Emitter& b, const Node& node, const Operands& operands) {
  Parts p(b, node, operands);
  Value delta = add_last_axis(b, operands[4]);
  Value d_out = widen(b, operands[5]);
  // Not from lse, which would be no cheaper here.
  Value weights = b.softmax({scores(p)});
  Value d_weights = drop(p, b.matmul({d_out, b.transpose_last_two(p.v)}));
  Value d_scores = b.mul({weights, b.sub({d_weights, delta})});
  if (p.extras.mask && p.attrs.real("fill") != kExcluded) {
    d_scores = b.select({operands[*p.extras.mask], d_scores, b.like(0, d_scores)});
  }
  Value scale = b.like(p.attrs.real("scale"), d_scores);
  Value dq = b.mul({b.matmul({d_scores, p.k}), scale});
  Value dk = b.mul({b.matmul({b.transpose_last_two(d_scores), p.q}), scale});
  Value dv = b.matmul({b.transpose_last_two(drop(p, weights)), d_out});
  Value dbias = p.extras.bias ? d_scores : b.zeros(node.types[3]);
  Operands grads;
  for (Value grad : {dq, dk, dv, dbias}) {
    const Type& type = node.types[grads.size()];
    grads.push_back(b.cast_to(b.sum_to(grad, type.shape), type.dtype));
  }
  return grads;
}

}  // namespace weft
