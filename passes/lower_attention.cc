// The forward pass of attention, and the types of its tensors.
// SPDX-License-Identifier: Apache-2.0
#include "passes/lower_attention.h"

#include <limits>

#include "ir/support/check.h"
#include "passes/lower_attention_tiles.h"

namespace weft {

namespace {

using lowering::AttentionTiles;
using tile::Reduce;
using tile::ValueId;
using enum AttentionRole;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Dim parts_of(const Attention& attention, const AttentionKnobs& knobs) {
  return Dim::floor_div(attention.keys + Dim(knobs.split_keys - 1), knobs.split_keys);
}

// What a row has come to: the largest score, the sum of exp(score - largest), and the sum of values
// by these weights.
struct Sums {
  ValueId largest;
  ValueId sum;
  ValueId values;
};

Sums online_softmax(AttentionTiles& t) {
  tile::Builder& b = t.b;
  const ValueId rows = t.scaled(q, t.i);
  const tile::LoopRange range = t.columns_of_rows();
  std::vector<tile::Carry> start = {{t.real(-kInfinity), t.tile({t.i}), "m"},
                                    {t.real(0), t.tile({t.i}), "l"},
                                    {t.real(0), t.tile({t.i, t.e}), "a"}};
  auto body = [&](std::span<const ValueId> carried) -> std::vector<ValueId> {
    const ValueId keys = t.load(k, {b.at(t.j), b.at(t.d)});
    const ValueId scores = t.scores(b.dot(t.d, rows, keys));
    const ValueId largest = b.map(Op::maximum, {carried[0], b.reduce(Reduce::max, scores, {t.j})});
    const ValueId shift = t.finite(largest);
    const ValueId shrink = b.map(Op::exp, {t.sub(carried[0], shift)});
    const ValueId weights = b.map(Op::exp, {t.sub(scores, shift)});
    const ValueId sum = t.add(t.mul(carried[1], shrink), b.reduce(Reduce::add, weights, {t.j}));
    const std::optional<ValueId> keep = t.keep_factor();
    const ValueId kept = keep ? t.mul(weights, *keep) : weights;
    const ValueId values = t.load(v, {b.at(t.j), b.at(t.e)});
    return {largest, sum, b.dot(t.j, kept, values, t.mul(carried[2], shrink))};
  };
  const std::vector<ValueId> results = b.loop(t.j, start, body, range);
  return {results[0], results[1], results[2]};
}

// Stores out and lse of rows that are complete.
void store_rows(AttentionTiles& t, const Sums& sums) {
  tile::Builder& b = t.b;
  const ValueId none = b.map(Op::eq, {sums.sum, t.real(0)});
  const ValueId divisor = b.map(Op::select, {none, t.real(1), sums.sum});
  t.store(out, {b.at(t.i), b.at(t.e)}, b.map(Op::div, {sums.values, divisor}));
  if (!t.a.wants_lse) return;
  const ValueId log = t.add(t.finite(sums.largest), b.map(Op::log, {divisor}));
  t.store(lse, {b.at(t.i)}, b.map(Op::select, {none, t.real(0), log}));
}

AttentionProgram whole(const Attention& attention, const AttentionKnobs& knobs) {
  AttentionTiles t(attention, knobs, "attention");
  t.open(t.row_knob(), t.order_knob("BJ", knobs.block_keys));
  t.grid_lead(lowering::tensor_of(attention, out, knobs));
  t.b.grid(t.i);
  store_rows(t, online_softmax(t));
  return t.finish();
}

AttentionProgram split(const Attention& attention, const AttentionKnobs& knobs) {
  AttentionTiles t(attention, knobs, "attention_split");
  t.open(t.row_knob(), t.order_knob("BS", knobs.split_keys), t.order_knob("BJ", knobs.block_keys));
  t.grid_lead(lowering::tensor_of(attention, out, knobs));
  t.b.grid(t.i);
  t.b.grid(t.j);
  const Sums sums = online_softmax(t);
  const tile::Index part = tile::program_index(t.j);
  t.store(part_max, {t.b.at(t.i), part}, sums.largest);
  t.store(part_sum, {t.b.at(t.i), part}, sums.sum);
  t.store(part_out, {t.b.at(t.i), part, t.b.at(t.e)}, sums.values);
  return t.finish();
}

AttentionProgram combine(const Attention& attention, const AttentionKnobs& knobs) {
  AttentionTiles t(attention, knobs, "attention_combine");
  t.open(tile::Extent::by(1), {});
  const tile::AxisId p = t.b.axis("p", parts_of(attention, knobs));
  t.grid_lead(lowering::tensor_of(attention, out, knobs));
  t.b.grid(t.i);
  const tile::Index row = t.b.at(t.i);
  const ValueId each = t.load(part_max, {row, t.b.at(p)});
  const ValueId largest = t.b.reduce(Reduce::max, each, {p});
  const ValueId weight = t.b.map(Op::exp, {t.sub(each, t.finite(largest))});
  auto total = [&](ValueId part) { return t.b.reduce(Reduce::add, t.mul(part, weight), {p}); };
  const ValueId sum = total(t.load(part_sum, {row, t.b.at(p)}));
  store_rows(t, {largest, sum, total(t.load(part_out, {row, t.b.at(p), t.b.at(t.e)}))});
  return t.finish();
}

constexpr std::string_view kNames[] = {
    "q",     "k",  "v",  "bias", "mask",  "lengths",  "rng",      "out",      "lse",     "d_out",
    "delta", "dq", "dk", "dv",   "dbias", "part_max", "part_sum", "part_out", "largest", "log_sum"};

AttentionTensor with_lead(const Attention& attention, DType dtype, std::vector<Dim> inner) {
  AttentionTensor made{{dtype, attention.lead}, {}};
  made.type.shape.insert(made.type.shape.end(), inner.begin(), inner.end());
  return made;
}

AttentionTensor rows_of(const Attention& a, const AttentionTensor& given) {
  return given.type.shape.empty() ? with_lead(a, DType::f32, {a.queries}) : given;
}

AttentionTensor described(const Attention& a, AttentionRole role, const AttentionKnobs& knobs) {
  switch (role) {
    case q: return a.q;
    case k: return a.k;
    case v: return a.v;
    case bias: return a.bias.value();
    case mask: return a.mask.value();
    case lengths: return a.lengths.value();
    case rng: return {{DType::u32, {2}}, {}};
    case out: return a.out;
    case d_out: return a.d_out;
    case dq: return a.dq;
    case dk: return a.dk;
    case dv: return a.dv;
    case dbias: return a.dbias;
    case lse: return rows_of(a, a.lse);
    case delta: return rows_of(a, a.delta);
    case largest:
    case log_sum: return rows_of(a, {});
    case part_max:
    case part_sum: return with_lead(a, DType::f32, {a.queries, parts_of(a, knobs)});
    case part_out: return with_lead(a, DType::f32, {a.queries, parts_of(a, knobs), a.width});
  }
  WEFT_CHECK(false, "a role of a buffer");
}

}  // namespace

std::string_view name(AttentionRole role) { return kNames[static_cast<size_t>(role)]; }

bool is_workspace(AttentionRole role) { return role >= part_max; }

bool Attention::may_lose_digits() const { return bias || (mask && fill != -kInfinity); }

AttentionTensor lowering::tensor_of(const Attention& attention, AttentionRole role,
                                    const AttentionKnobs& knobs) {
  AttentionTensor tensor = described(attention, role, knobs);
  if (tensor.strides.empty()) tensor.strides = tile::row_major_strides(tensor.type.shape);
  return tensor;
}

Type attention_type(const Attention& attention, AttentionRole role, const AttentionKnobs& knobs) {
  return described(attention, role, knobs).type;
}

std::vector<AttentionProgram> lower_attention(const Attention& attention,
                                              const AttentionKnobs& knobs) {
  if (knobs.split_keys == 0) return {whole(attention, knobs)};
  return {split(attention, knobs), combine(attention, knobs)};
}

}  // namespace weft
