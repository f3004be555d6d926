// The backward pass of attention: weights are computed again from lse.
// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "ir/support/check.h"
#include "passes/lower_attention.h"
#include "passes/lower_attention_tiles.h"

namespace weft {

namespace {

using lowering::AttentionTiles;
using tile::Reduce;
using tile::ValueId;
using enum AttentionRole;

ValueId scaled_back(AttentionTiles& t, ValueId sum) {
  return t.a.scale == 1 ? sum : t.mul(sum, t.real(t.a.scale));
}

// dq = 0, for the serial form to add to.
AttentionProgram clear(const Attention& attention, const AttentionKnobs& knobs) {
  AttentionTiles t(attention, knobs, "attention_clear");
  t.open(t.free_knob("BI", knobs.block_queries), {});
  t.grid_lead(attention.q);
  t.b.grid(t.i);
  t.store(dq, {t.b.at(t.i), t.b.at(t.d)}, t.real(0));
  return t.finish();
}

// lse as a sum of two numbers, so that weights keep their digits: itself and 0 as a rule. Where it
// is large, as in rows that a mask fills with -1e9 throughout, the row is summed up again: then the
// largest score, and the logarithm of the sum of exp(score - largest).
AttentionProgram row_statistics(const Attention& attention, const AttentionKnobs& knobs) {
  constexpr double kFewDigitsLost = 64;
  AttentionTiles t(attention, knobs, "attention_rows");
  tile::Builder& b = t.b;
  t.open(t.row_knob(), t.order_knob("BJ", knobs.block_keys));
  t.grid_lead({{DType::f32, attention.lead}, {}});
  b.grid(t.i);
  const ValueId row = t.load(lse, {b.at(t.i)});
  const ValueId large = b.map(Op::lt, {t.real(kFewDigitsLost), b.map(Op::abs, {row})});
  ValueId some = b.map(Op::select, {large, b.integer(1, DType::i32), b.integer(0, DType::i32)});
  if (!t.tile({t.i}).empty()) some = b.reduce(Reduce::max, some, {t.i});
  tile::LoopRange range = t.columns_of_rows();
  const ValueId end = b.coord(range.to ? *range.to : tile::Index(attention.keys));
  range.to = tile::value_index(b.map(Op::mul, {end, some}));
  const ValueId rows = t.scaled(q, t.i);
  auto body = [&](std::span<const ValueId> carried) -> std::vector<ValueId> {
    const ValueId scores = t.scores(b.dot(t.d, rows, t.load(k, {b.at(t.j), b.at(t.d)})));
    const ValueId most = b.map(Op::maximum, {carried[0], b.reduce(Reduce::max, scores, {t.j})});
    const ValueId shift = t.finite(most);
    const ValueId before = t.mul(carried[1], b.map(Op::exp, {t.sub(carried[0], shift)}));
    const ValueId weights = b.map(Op::exp, {t.sub(scores, shift)});
    return {most, t.add(before, b.reduce(Reduce::add, weights, {t.j}))};
  };
  const std::vector<ValueId> sums =
      b.loop(t.j,
             {{t.real(-std::numeric_limits<double>::infinity()), t.tile({t.i}), "m"},
              {t.real(0), t.tile({t.i}), "l"}},
             body, range);
  t.store(largest, {b.at(t.i)}, b.map(Op::select, {large, t.finite(sums[0]), row}));
  const ValueId log = b.map(Op::log, {b.map(Op::select, {large, sums[1], t.real(1)})});
  t.store(log_sum, {b.at(t.i)}, log);
  return t.finish();
}

// For a tile of rows, over the keys.
AttentionProgram query_gradient(const Attention& attention, const AttentionKnobs& knobs) {
  AttentionTiles t(attention, knobs, "attention_dq");
  tile::Builder& b = t.b;
  t.open(t.row_knob(), t.free_knob("BJ", knobs.block_keys));
  t.grid_lead(attention.q);
  b.grid(t.i);
  const tile::Carry start{t.real(0), t.tile({t.i, t.d}), "sum"};
  auto one_lead = [&](std::vector<ValueId> before) -> std::vector<ValueId> {
    const ValueId rows = t.scaled(q, t.i);
    const ValueId d_rows = t.load(d_out, {b.at(t.i), b.at(t.e)});
    const tile::LoopRange range = t.columns_of_rows();
    auto body = [&](std::span<const ValueId> carried) -> std::vector<ValueId> {
      const ValueId keys = t.load(k, {b.at(t.j), b.at(t.d)});
      const ValueId values = t.load(v, {b.at(t.j), b.at(t.e)});
      const auto gradients = t.gradients(b.dot(t.d, rows, keys), b.dot(t.e, d_rows, values));
      return {b.dot(t.j, gradients.scores, keys, carried[0])};
    };
    return b.loop(t.j, {{before[0], t.tile({t.i, t.d}), "sum"}}, body, range);
  };
  const ValueId sum = t.for_repeated(attention.q, {start}, one_lead)[0];
  t.store(dq, {b.at(t.i), b.at(t.d)}, scaled_back(t, sum));
  return t.finish();
}

// For a tile of keys, over the rows; `serial` walks the tiles in order and adds to dq on the way.
AttentionProgram key_gradients(const Attention& attention, const AttentionKnobs& knobs,
                               bool serial) {
  AttentionTiles t(attention, knobs, serial ? "attention_backward" : "attention_dkv");
  tile::Builder& b = t.b;
  const tile::Extent rows = t.free_knob("BI", knobs.block_queries);
  t.open(rows, serial ? t.order_knob("BJ", knobs.block_keys) : t.free_knob("BJ", knobs.block_keys));
  t.grid_lead(attention.k);
  b.grid(t.j, serial);
  const ValueId keys = t.scaled(k, t.j);
  const ValueId plain_keys = t.load(k, {b.at(t.j), b.at(t.d)});
  const ValueId values = t.load(v, {b.at(t.j), b.at(t.e)});
  const tile::Carry start_k{t.real(0), {t.j, t.d}, "sum_k"};
  const tile::Carry start_v{t.real(0), {t.j, t.e}, "sum_v"};
  auto one_lead = [&](std::vector<ValueId> before) -> std::vector<ValueId> {
    const tile::LoopRange range = t.rows_of_columns();
    auto body = [&](std::span<const ValueId> carried) -> std::vector<ValueId> {
      const ValueId queries = t.load(q, {b.at(t.i), b.at(t.d)});
      const ValueId d_rows = t.load(d_out, {b.at(t.i), b.at(t.e)});
      const auto gradients = t.gradients(b.dot(t.d, queries, keys), b.dot(t.e, d_rows, values));
      if (serial) {
        const tile::BufferId to = t.buffer(dq, tile::Buffer::inout);
        const ValueId sum = scaled_back(t, b.dot(t.j, gradients.scores, plain_keys));
        b.update(to, t.at(dq, {b.at(t.i), b.at(t.d)}), sum);
      }
      return {b.dot(t.i, gradients.scores, queries, carried[0]),
              b.dot(t.i, gradients.weights, d_rows, carried[1])};
    };
    tile::Carry in_k = start_k, in_v = start_v;
    in_k.init = before[0], in_v.init = before[1];
    return b.loop(t.i, {in_k, in_v}, body, range);
  };
  const std::vector<ValueId> sums = t.for_repeated(attention.k, {start_k, start_v}, one_lead);
  t.store(dk, {b.at(t.j), b.at(t.d)}, scaled_back(t, sums[0]));
  t.store(dv, {b.at(t.j), b.at(t.e)}, sums[1]);
  return t.finish();
}

// For a tile of the bias, over all that it is repeated for.
AttentionProgram bias_gradient(const Attention& attention, const AttentionKnobs& knobs) {
  AttentionTiles t(attention, knobs, "attention_dbias");
  tile::Builder& b = t.b;
  t.open(t.free_knob("BI", knobs.block_queries), t.free_knob("BJ", knobs.block_keys));
  const size_t rank = attention.lead.size();
  const bool rows =
      attention.bias->type.shape[rank].is_constant(1) && !attention.queries.is_constant(1);
  const bool columns =
      attention.bias->type.shape[rank + 1].is_constant(1) && !attention.keys.is_constant(1);
  t.grid_lead(*attention.bias);
  tile::Carry start{t.real(0), {}, "sum"};
  std::vector<tile::AxisId> repeated;
  for (const auto& [axis, repeats] : {std::pair(t.i, rows), std::pair(t.j, columns)}) {
    if (!repeats) b.grid(axis);
    (repeats ? repeated : start.axes).push_back(axis);
  }
  auto tile_sum = [&](ValueId before) {
    const ValueId product = b.dot(t.d, t.scaled(q, t.i), t.load(k, {b.at(t.j), b.at(t.d)}));
    const ValueId d_weights =
        b.dot(t.e, t.load(d_out, {b.at(t.i), b.at(t.e)}), t.load(v, {b.at(t.j), b.at(t.e)}));
    const ValueId gradient = t.gradients(product, d_weights).scores;
    return t.add(before, repeated.empty() ? gradient : b.reduce(Reduce::add, gradient, repeated));
  };
  auto looped = [&](bool loops, tile::AxisId axis, ValueId before, const auto& inside,
                    const tile::LoopRange& range) {
    if (!loops) return inside(before);
    tile::Carry carry = start;
    carry.init = before;
    return b.loop(
        axis, {carry},
        [&](std::span<const ValueId> carried) { return std::vector<ValueId>{inside(carried[0])}; },
        range)[0];
  };
  auto one_lead = [&](std::vector<ValueId> before) -> std::vector<ValueId> {
    const tile::LoopRange of_rows = rows && !columns ? t.rows_of_columns() : tile::LoopRange();
    return {looped(
        rows, t.i, before[0],
        [&](ValueId row_start) {
          const tile::LoopRange of_columns = columns ? t.columns_of_rows() : tile::LoopRange();
          return looped(columns, t.j, row_start, tile_sum, of_columns);
        },
        of_rows)};
  };
  auto store_sum = [&] {
    const ValueId sum = t.for_repeated(*attention.bias, {start}, one_lead)[0];
    t.store(dbias, {b.at(t.i), b.at(t.j)}, sum);
  };
  const std::optional<ValueId> some = repeated.empty() ? t.some_taken() : std::nullopt;
  if (!some) {
    store_sum();
  } else {
    b.when(*some, store_sum);
    b.when(b.map(Op::logical_not, {*some}), [&] {
      t.store(dbias, {b.at(t.i), b.at(t.j)}, start.init);
    });
  }
  return t.finish();
}

bool repeats(const Attention& attention, const AttentionTensor& tensor) {
  for (size_t axis = 0; axis < attention.lead.size(); ++axis) {
    if (tensor.type.shape[axis] != attention.lead[axis]) return true;
  }
  return false;
}

}  // namespace

std::vector<AttentionProgram> lower_attention_backward(const Attention& attention,
                                                       const AttentionKnobs& knobs) {
  const Shape& of_k = attention.k.type.shape;
  for (size_t axis = 0; axis < attention.lead.size(); ++axis) {
    WEFT_CHECK(of_k[axis] == attention.v.type.shape[axis], "k and v repeat alike");
  }
  const bool serial =
      knobs.serial && !repeats(attention, attention.q) && attention.dq.type.dtype == DType::f32;
  std::vector<AttentionProgram> programs;
  if (attention.may_lose_digits()) programs.push_back(row_statistics(attention, knobs));
  programs.push_back(serial ? clear(attention, knobs) : query_gradient(attention, knobs));
  programs.push_back(key_gradients(attention, knobs, serial));
  if (attention.bias && attention.wants_dbias) programs.push_back(bias_gradient(attention, knobs));
  return programs;
}

}  // namespace weft
