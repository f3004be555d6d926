// SPDX-License-Identifier: Apache-2.0
#include "passes/raise_emit.h"

#include <algorithm>
#include <cmath>

#include "passes/raise_heads.h"
#include "passes/raise_numbers.h"
#include "passes/sizes.h"

namespace weft {
namespace {

Shape leading(const Shape& shape) { return Shape(shape.begin(), shape.end() - 2); }

// The operands of the op, in the order of the table.
struct Operands {
  Value q, k, v;
  std::optional<Value> bias, mask, lengths, rng;
};

class AttentionEmitter {
 public:
  AttentionEmitter(Emitter& b, const Graph& graph, const AttentionChain& chain,
                   const AttentionForm& form, const NewValue& at)
      : b_(b), graph_(graph), chain_(chain), form_(form), at_(at) {
    const Shape& scores = graph.type(graph[chain.softmax].operands[0]).shape;
    end_ = to_the_end(scores, chain.row, chain.col);
    rank_ = scores.size();
    scale_ = chain.scale;
  }

  Value run() {
    Operands in;
    emit_factors(in);
    in.v = emit_values();
    in.bias = emit_bias();
    in.mask = emit_mask();
    in.lengths = emit_lengths();
    if (chain_.dropout) in.rng = at_(graph_[*chain_.dropout].operands[1]);
    absorb_scale(in.q);
    absorb_scale(in.k);
    widen_all(in);
    std::optional<ViewStep> groups = group_heads(in);
    if (in.bias) in.bias = without_ones(*in.bias);
    if (in.mask) in.mask = without_ones(*in.mask);
    if (in.lengths) in.lengths = without_ones(*in.lengths);
    Value out = b_.emit(Op::attention, listed(in), attrs());
    if (groups) out = carry(b_, out, *inverse(*groups), 0);
    return to_root(out);
  }

 private:
  // From a level of the chain to [.., T, S], with `extra` axes behind.
  Value lift(Value value, size_t level, size_t extra) {
    for (size_t i = level; i < chain_.below.size(); ++i) {
      value = carry(b_, value, chain_.below[i], extra);
    }
    return carry(b_, value, end_, extra);
  }

  // q [.., T, D] and k [.., S, D]: each goes along with the scores, with 1 in place of the other's
  // positions, and D behind.
  void emit_factors(Operands& in) {
    const Node& product = graph_[chain_.product];
    size_t rank = product.types[0].rank();
    Value left = pad_rank(b_, at_(product.operands[0]), rank);
    Value right = pad_rank(b_, swap_last_two(b_, at_(product.operands[1])), rank);
    left = lift(insert_axis(b_, left, rank - 1), 0, 1);
    right = lift(insert_axis(b_, right, rank - 2), 0, 1);
    bool keys_right = chain_.product_col + 1 == rank;
    in.q = drop_axis(b_, pad_rank(b_, keys_right ? left : right, rank_ + 1), rank_ - 1);
    in.k = drop_axis(b_, pad_rank(b_, keys_right ? right : left, rank_ + 1), rank_ - 2);
    for (const ScoreItem& factor : form_.factors) {
      Value value = pad_rank(b_, lift(at_(factor.value), factor.level, 0), rank_);
      Op op = factor.negated ? Op::div : Op::mul;
      if (b_.shape(value).back().is_constant(1)) {
        in.q = b_.emit(op, {in.q, b_.cast_to(value, b_.type(in.q).dtype)});
      } else {
        in.k = b_.emit(op, {in.k, b_.cast_to(swap_last_two(b_, value), b_.type(in.k).dtype)});
      }
    }
    stretch_queries(in);
  }

  // If something else has more leading axes than the product.
  void stretch_queries(Operands& in) {
    Shape full = leading(end_.to);
    Shape q = b_.shape(in.q);
    std::optional<Shape> both =
        broadcast_shapes(leading(q), leading(b_.shape(in.k)), b_.module().dims);
    if (both && same_shape(*both, full, b_.module().dims)) return;
    full.insert(full.end(), q.end() - 2, q.end());
    in.q = b_.broadcast_to(in.q, full);
  }

  Value emit_values() {
    const Node& root = graph_[chain_.root];
    size_t rank = graph_.type(root.operands[chain_.weights_left ? 0 : 1]).rank();
    Value v = at_(root.operands[chain_.weights_left ? 1 : 0]);
    if (!chain_.weights_left) v = swap_last_two(b_, v);
    v = pad_rank(b_, v, rank);
    v = insert_axis(b_, v, chain_.weights_left ? rank - 2 : rank - 1);
    for (size_t i = chain_.above.size(); i-- > 0;) {
      v = carry(b_, v, *inverse(chain_.above[i]), 1);
    }
    return drop_axis(b_, pad_rank(b_, carry(b_, v, end_, 1), rank_ + 1), rank_ - 2);
  }

  Value to_root(Value out) {
    const Node& root = graph_[chain_.root];
    out = carry(b_, insert_axis(b_, out, rank_ - 1), *inverse(end_), 1);
    for (const ViewStep& step : chain_.above) out = carry(b_, out, step, 1);
    size_t rank = b_.shape(out).size() - 1;
    out = drop_axis(b_, out, chain_.weights_left ? rank - 1 : rank - 2);
    if (!chain_.weights_left) out = swap_last_two(b_, out);
    return b_.cast_to(out, root.types[0].dtype);
  }

  std::optional<Value> emit_bias() {
    std::optional<Value> total;
    for (const ScoreItem& bias : form_.biases) {
      Value value = lift(at_(bias.value), bias.level, 0);
      if (bias.number == -1) {
        value = b_.neg({value});
      } else if (bias.number != 1) {
        value = b_.mul({value, b_.like(bias.number, value)});
      }
      if (total && b_.type(*total).dtype != b_.type(value).dtype) {
        DType wide = wider(b_.type(*total).dtype, b_.type(value).dtype);
        total = b_.cast_to(*total, wide);
        value = b_.cast_to(value, wide);
      }
      total = total ? b_.add({*total, value}) : value;
    }
    return total;
  }

  std::optional<Value> emit_mask() {
    std::optional<Value> all;
    for (const FormMask& mask : form_.masks) {
      Value value = lift(at_(mask.atom.value), mask.level, 0);
      if (is_float(b_.type(value).dtype)) value = b_.eq({value, b_.like(0, value)});  // a bias
      if (mask.atom.negated) value = b_.logical_not({value});
      all = all ? b_.logical_and({*all, value}) : value;
    }
    return all;
  }

  std::optional<Value> emit_lengths() {
    std::optional<Value> least;
    for (const FormMask& mask : form_.lengths) {
      Value value = b_.reshape_to(at_(*mask.atom.length), mask.atom.length_shape);
      value = pad_rank(b_, lift(value, mask.level, 0), rank_);
      value = drop_axis(b_, drop_axis(b_, value, rank_ - 1), rank_ - 2);
      if (!least) {
        least = value;
        continue;
      }
      least = b_.minimum({b_.cast_to(*least, DType::i64), b_.cast_to(value, DType::i64)});
    }
    return least;
  }

  static DType wider(DType a, DType b) {
    if (a == b) return a;
    if (a == DType::f64 || b == DType::f64) return DType::f64;
    return DType::f32;  // also of f16 and bf16
  }

  // A number that the queries or keys were multiplied with.
  void absorb_scale(Value& value) {
    const Node node = b_.graph().node(value);
    if (node.op != Op::mul && node.op != Op::div) return;
    std::optional<double> number = one_number(b_.graph(), node.operands[1]);
    if (!number || b_.shape(node.operands[0]) != node.types[0].shape) return;
    double scale = node.op == Op::mul ? scale_ * *number : scale_ / *number;
    if (!std::isfinite(scale)) return;
    scale_ = scale;
    value = node.operands[0];
  }

  // Without the first axes that have size 1.
  Value without_ones(Value value) {
    while (!b_.shape(value).empty() && b_.shape(value)[0].is_constant(1)) {
      value = drop_axis(b_, value, 0);
    }
    return value;
  }

  // All floats in the widest of their types.
  void widen_all(Operands& in) {
    DType wide = b_.type(in.q).dtype;
    for (Value value : {in.k, in.v}) wide = wider(wide, b_.type(value).dtype);
    if (in.bias) wide = wider(wide, b_.type(*in.bias).dtype);
    for (Value* value : {&in.q, &in.k, &in.v}) *value = b_.cast_to(*value, wide);
    if (in.bias) in.bias = b_.cast_to(*in.bias, wide);
  }

  // Keys and values that were repeated for the queries of a group are read once instead.
  std::optional<ViewStep> group_heads(Operands& in) {
    in.k = read_once(b_, in.k, in.q, end_.to);
    in.v = read_once(b_, in.v, in.q, end_.to);
    std::optional<RepeatedHeads> k = repeated_heads(b_, in.k);
    std::optional<RepeatedHeads> v = repeated_heads(b_, in.v);
    if (!k || !v || k->groups != v->groups) return std::nullopt;
    Shape full = leading(end_.to);
    if (!b_.module().dims.equal(element_count(full), element_count(k->groups))) return std::nullopt;
    ViewStep step;
    step.from = end_.to;
    step.to = k->groups;
    step.to.insert(step.to.end(), end_.to.end() - 2, end_.to.end());
    in.k = k->of;
    in.v = v->of;
    in.q = carry(b_, in.q, step, 0);
    if (in.bias) in.bias = carry(b_, *in.bias, step, 0);
    if (in.mask) in.mask = carry(b_, *in.mask, step, 0);
    if (in.lengths) {
      Value ends = add_last_axis(b_, add_last_axis(b_, *in.lengths));
      ends = carry(b_, ends, step, 0);
      in.lengths = b_.reshape_to(ends, leading(b_.shape(ends)));
    }
    return step;
  }

  static std::vector<Value> listed(const Operands& in) {
    std::vector<Value> all = {in.q, in.k, in.v};
    for (const std::optional<Value>& extra : {in.bias, in.mask, in.lengths, in.rng}) {
      if (extra) all.push_back(*extra);
    }
    return all;
  }

  Attrs attrs() const {
    Attrs attrs{{"scale", scale_},
                {"fill", form_.fill},
                {"before", form_.window.before},
                {"after", form_.window.after}};
    if (!chain_.dropout) return attrs;
    const Attrs& drop = graph_[*chain_.dropout].attrs;
    attrs.set("rate", drop.real("rate"));
    attrs.set("stream", drop.integer("stream"));
    return attrs;
  }

  Emitter& b_;
  const Graph& graph_;
  const AttentionChain& chain_;
  const AttentionForm& form_;
  const NewValue& at_;
  ViewStep end_;     // to [.., T, S]
  size_t rank_ = 0;  // of the scores
  double scale_ = 1;
};

}  // namespace

std::optional<std::string> emission_fault(const Graph& graph, const DimFacts& facts,
                                          const AttentionChain& chain) {
  const Node& root = graph[chain.root];
  const Shape& weights = graph.type(root.operands[chain.weights_left ? 0 : 1]).shape;
  const Shape& values = graph.type(root.operands[chain.weights_left ? 1 : 0]).shape;
  std::optional<Shape> both = broadcast_shapes(leading(values), leading(weights), facts);
  if (!both || !same_shape(*both, leading(weights), facts)) {
    return "the values have leading axes that the weights do not have";
  }
  const Shape& scores = graph.type(graph[chain.softmax].operands[0]).shape;
  if (scores.size() > kMaxRank - 1) return "the scores have too many axes";
  if (!std::isfinite(chain.scale)) return "the scale is not finite";
  if (!chain.dropout) return std::nullopt;
  std::vector<ViewStep> steps = {*inverse(to_the_end(scores, chain.row, chain.col))};
  auto until = chain.above.begin() + static_cast<int64_t>(chain.dropout_level);
  steps.insert(steps.end(), chain.above.begin(), until);
  if (keeps_order(steps)) return std::nullopt;
  return "dropout draws its bits for the weights in another order";
}

Value emit_attention(Emitter& b, const Graph& graph, const AttentionChain& chain,
                     const AttentionForm& form, const NewValue& at) {
  return AttentionEmitter(b, graph, chain, form, at).run();
}

}  // namespace weft
