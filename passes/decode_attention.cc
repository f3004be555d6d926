// Attention of one position: to earlier ones by caches, to a source by what @prefill left.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "passes/decode_positions.h"
#include "passes/decode_step.h"

namespace weft::decoding {

Result<Values> StepBuilder::attend(const Node& node) {
  const Shape& keys = from_.type(node.operands[1]).shape;
  if (node.attrs.real("rate") > 0) return refuse(node, "drops weights at random");
  const size_t axis = keys.size() - 2;
  if (mentions(keys[axis], d_.names.length)) return attend_to_earlier(node);
  const bool source =
      d_.depends.source_only(node.operands[1]) && d_.depends.source_only(node.operands[2]);
  if (source) return attend_to_source(node);
  return refuse(node, cat("has keys ", keys, ", which are neither earlier positions nor a source"));
}

// Keys and values of all positions up to this one are in the caches.
Result<Values> StepBuilder::attend_to_earlier(const Node& node) {
  const AttentionExtras extras = attention_extras(from_, node.op, node.operands);
  for (size_t i = 0; i < 3; ++i) {
    const Shape& shape = from_.type(node.operands[i]).shape;
    if (axis_of(shape, d_.names.length) != shape.size() - 2) {
      return refuse(node, cat("has an operand ", shape, " with positions elsewhere"));
    }
  }
  if (window_limit(node.attrs, "after") != 0) {
    return refuse(node, "lets a position see later ones");
  }
  const size_t axis = from_.type(node.operands[1]).shape.size() - 2;
  WEFT_TRY(Value q, operand(node.operands[0], node));
  Values operands = {
      q, cached(node.operands[1], axis, node, "k"),
      cached(node.operands[2], from_.type(node.operands[2]).shape.size() - 2, node, "v")};
  if (extras.bias) {
    WEFT_TRY(Value mapped, of_pairs(node.operands[*extras.bias], node));
    operands.push_back(mapped);
  }
  WEFT_TRY(std::optional<Value> mask, mask_of_earlier(node, extras));
  if (mask) operands.push_back(*mask);
  WEFT_TRY(Value length, length_of_earlier(node, extras));
  operands.push_back(length);
  return attention_without_window(node, std::move(operands));
}

Values StepBuilder::attention_without_window(const Node& node, Values operands) {
  Attrs attrs = node.attrs;
  attrs.set("before", int64_t{-1});
  attrs.set("after", int64_t{-1});
  const Value out = b_.emit(Op::attention, std::move(operands), std::move(attrs));
  return {out, {out.node, 1}};
}

Result<std::optional<Value>> StepBuilder::mask_of_earlier(const Node& node,
                                                          const AttentionExtras& extras) {
  std::optional<Value> mask;
  if (extras.mask) {
    const Value given = node.operands[*extras.mask];
    const Shape& shape = from_.type(given).shape;
    const size_t last = shape.empty() ? 0 : shape.size() - 1;
    if (!shape.empty() && mentions(shape[last], d_.names.length)) {
      if (d_.depends.on_tokens[given.node]) {
        mask = cached(given, last, node, "mask");
      } else {
        WEFT_TRY(mask, of_pairs(given, node));
      }
    } else {
      WEFT_TRY(mask, operand(given, node));
    }
  }
  if (auto before = window_limit(node.attrs, "before")) {
    const Value all = b_.iota({}, {{"shape", Shape{Dim::symbol(d_.names.capacity)}}});
    const Value first = b_.sub({position_, b_.like(static_cast<double>(*before), position_)});
    const Value near = b_.le({first, all});
    mask = mask ? b_.logical_and({*mask, near}) : near;
  }
  return mask;
}

Result<Value> StepBuilder::length_of_earlier(const Node& node, const AttentionExtras& extras) {
  const Value so_far = b_.add({position_, b_.like(1, position_)});
  if (!extras.lengths) return so_far;
  WEFT_TRY(Value given, operand(node.operands[*extras.lengths], node));
  return b_.minimum({given, b_.cast_to(so_far, b_.type(given).dtype)});
}

// All hypotheses of a sentence ask the same memory: they are its queries. q is [B * W, .., 1, D].
Result<Values> StepBuilder::attend_to_source(const Node& node) {
  const AttentionExtras extras = attention_extras(from_, node.op, node.operands);
  const Shape& queries = from_.type(node.operands[0]).shape;
  if (window_limit(node.attrs, "after") || window_limit(node.attrs, "before")) {
    return refuse(node, "has a window on a source");
  }
  const bool by_row = queries.size() >= 3 && queries[0] == Dim::symbol(d_.names.sentences) &&
                      axis_of(queries, d_.names.length) == queries.size() - 2;
  if (!by_row) return refuse(node, cat("has queries ", queries));
  WEFT_TRY(Value q, operand(node.operands[0], node));
  Values operands = {beams_as_queries(q)};
  static const char* const kParts[] = {"q", "k", "v"};
  for (size_t i = 1; i < node.operands.size(); ++i) {
    const Value given = node.operands[i];
    const Shape& shape = from_.type(given).shape;
    const bool rows = i >= 3 && extras.lengths != i && shape.size() >= 2 &&
                      !shape[shape.size() - 2].is_constant(1);
    if (d_.depends.on_tokens[given.node] || rows) {
      return refuse(node, cat("masks a source by target position, ", shape));
    }
    if (!d_.depends.source_only(given)) {
      operands.push_back(mapped_[given.node][given.result]);
      continue;
    }
    WEFT_TRY(Value kept, remembered(given, node, i < 3 ? kParts[i] : "mask"));
    operands.push_back(kept);
  }
  if (request_.weights) attended_.push_back(source_weights(node, operands));
  const Value out = b_.emit(Op::attention, operands, node.attrs);
  return Values{queries_as_beams(out), b_.reshape_to(lse_as_beams({out.node, 1}), row_shape(q, 1))};
}

// The shape of q without its last `drop` axes.
Shape StepBuilder::row_shape(Value q, size_t drop) const {
  Shape shape = b_.shape(q);
  shape.resize(shape.size() - drop);
  return shape;
}

// [B * W, X.., 1, D] to [B, X.., W, D]
Value StepBuilder::beams_as_queries(Value q) {
  Shape shape = b_.shape(q);
  const Dim depth = shape.back();
  shape.resize(shape.size() - 2);
  shape[0] = Dim::symbol(d_.names.sentences);
  shape.insert(shape.begin() + 1, d_.names.beams);
  shape.push_back(depth);  // [B, W, X.., D]
  const Value apart = b_.reshape_to(q, shape);
  const auto rank = static_cast<int64_t>(shape.size());
  if (rank == 3) return apart;
  std::vector<int64_t> perm = {0};
  for (int64_t i = 2; i + 1 < rank; ++i) perm.push_back(i);
  perm.push_back(1);
  perm.push_back(rank - 1);
  return b_.transpose({apart}, {{"perm", perm}});
}

// [B, X.., W, E] to [B * W, X.., 1, E]
Value StepBuilder::queries_as_beams(Value out) {
  const Value front = beams_to_front(out, b_.shape(out).size() - 2);
  const Shape& all = b_.shape(front);  // [B, W, X.., E]
  Shape shape = {d_.names.rows()};
  shape.insert(shape.end(), all.begin() + 2, all.end() - 1);
  shape.emplace_back(1);
  shape.push_back(all.back());
  return b_.reshape_to(front, shape);
}

Value StepBuilder::lse_as_beams(Value lse) { return beams_to_front(lse, b_.shape(lse).size() - 1); }

Value StepBuilder::beams_to_front(Value value, size_t axis) {
  const auto rank = static_cast<int64_t>(b_.shape(value).size());
  std::vector<int64_t> perm = {0, static_cast<int64_t>(axis)};
  for (int64_t i = 1; i < rank; ++i) {
    if (i != static_cast<int64_t>(axis)) perm.push_back(i);
  }
  if (std::ranges::is_sorted(perm)) return value;
  return b_.transpose({value}, {{"perm", perm}});
}

// How much of each source position an attention takes, averaged over heads: [B, W, S].
Value StepBuilder::source_weights(const Node& node, const Values& operands) {
  std::vector<DType> dtypes;
  for (Value value : operands) dtypes.push_back(b_.type(value).dtype);
  const AttentionExtras extras = attention_extras(Op::attention, dtypes).value();
  Value scores = b_.matmul({operands[0], b_.transpose_last_two(operands[1])});
  scores = b_.mul({scores, b_.like(node.attrs.real("scale"), scores)});
  if (extras.bias) scores = b_.add({scores, operands[*extras.bias]});
  if (extras.mask) {
    scores = b_.select({operands[*extras.mask], scores, b_.like(node.attrs.real("fill"), scores)});
  }
  if (extras.lengths) {
    const Value lengths = operands[*extras.lengths];
    Shape shape = b_.shape(lengths);
    shape.insert(shape.end(), 2, 1);
    const Value at =
        b_.iota({}, {{"shape", Shape{b_.shape(scores).back()}}, {"dtype", b_.type(lengths).dtype}});
    const Value inside = b_.lt({at, b_.reshape_to(lengths, shape)});
    scores = b_.select({inside, scores, b_.like(-INFINITY, scores)});
  }
  const Value weights = b_.softmax({scores});
  std::vector<int64_t> heads;
  for (int64_t i = 1; i + 2 < static_cast<int64_t>(b_.shape(weights).size()); ++i)
    heads.push_back(i);
  return heads.empty() ? weights : b_.mean({weights}, {{"axes", heads}});
}

}  // namespace weft::decoding
