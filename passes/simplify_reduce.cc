// Rules of `simplify` for reductions.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "passes/simplify.h"

namespace weft {
namespace {

using namespace pattern;
using Axes = std::vector<int64_t>;

bool holds(const Axes& axes, size_t axis) {
  return std::ranges::find(axes, static_cast<int64_t>(axis)) != axes.end();
}

std::optional<Value> over_no_axes(Match& m) {
  return m.root.attrs.ints("axes").empty() ? std::optional(m[x]) : std::nullopt;
}

// `reduced` has the elements of the root in their order.
std::optional<Value> as_root(Match& m, std::optional<Value> reduced) {
  if (!reduced || m.out.shape(*reduced) == m.shape()) return reduced;
  return m.emit(Op::reshape, {*reduced}, {{"shape", m.shape()}});
}

std::optional<Value> over_axes_of_one(Match& m) {
  const Shape in = m.type(x).shape;
  Axes rest;
  for (int64_t axis : m.root.attrs.ints("axes")) {
    if (!m.facts().equal(in[static_cast<size_t>(axis)], 1)) rest.push_back(axis);
  }
  if (rest.size() == m.root.attrs.ints("axes").size()) return std::nullopt;
  if (rest.empty()) return as_root(m, m[x]);
  Attrs attrs = m.root.attrs;
  attrs.set("axes", rest);
  return as_root(m, m.emit(m.root.op, {m[x]}, attrs));
}

// Two reductions of the same kind in a row are one over the axes of both.
std::optional<Value> over_both(Match& m) {
  const Node inner = m.node(t);
  if (inner.op != m.root.op || !m.used_once(0)) return std::nullopt;
  const Axes& first = inner.attrs.ints("axes");
  bool kept = inner.attrs.boolean("keepdims");
  Axes remaining;  // what the axes of the inner result are in x
  for (size_t i = 0; i < m.type(x).rank(); ++i) {
    if (kept || !holds(first, i)) remaining.push_back(static_cast<int64_t>(i));
  }
  std::set<int64_t> all(first.begin(), first.end());
  for (int64_t axis : m.root.attrs.ints("axes")) all.insert(remaining[static_cast<size_t>(axis)]);
  bool keepdims = kept && m.root.attrs.boolean("keepdims");
  return as_root(m, m.emit(m.root.op, {m[x]},
                           {{"axes", Axes(all.begin(), all.end())}, {"keepdims", keepdims}}));
}

std::optional<Value> drop_kept_axes(Match& m) {
  Node inner = m.node(t);
  if (!inner.attrs.boolean("keepdims") || !m.used_once(0)) return std::nullopt;
  inner.attrs.set("keepdims", false);
  return m.emit_same(inner.op, inner.operands, inner.attrs);
}

// What a reduction of a broadcast really reduces.
struct Stretched {
  Axes real;       // axes of the broadcast's operand
  Dim copies = 1;  // how often each element occurs
  bool any = false;
  bool surely_some = true;  // no stretched axis can be empty
  Shape kept;               // the result before it is stretched over what was not reduced
};

Stretched split_axes(const Match& m) {
  const Shape from = m.type(x).shape;
  const Shape to = m.out.shape(m.root.operands[0]);
  size_t extra = to.size() - from.size();
  Stretched split;
  for (size_t i = 0; i < to.size(); ++i) {
    bool stretched = i < extra || m.facts().equal(from[i - extra], 1);
    Dim size = i < extra ? Dim(1) : from[i - extra];
    if (!holds(m.root.attrs.ints("axes"), i)) {
      split.kept.push_back(size);
      continue;
    }
    if (m.root.attrs.boolean("keepdims")) split.kept.push_back(1);
    if (!stretched) {
      split.real.push_back(static_cast<int64_t>(i - extra));
      continue;
    }
    split.any = true;
    split.copies = split.copies * to[i];
    split.surely_some = split.surely_some && m.facts().bounds_of(to[i]).low >= 1;
  }
  return split;
}

// A sum of copies is a product; the others do not care how many there are, if there are any.
std::optional<Value> reduce_before_broadcast(Match& m) {
  Stretched split = split_axes(m);
  if (!split.any || !split.surely_some) return std::nullopt;
  std::optional<Value> result = m[x];
  if (!split.real.empty()) result = m.emit(m.root.op, {m[x]}, {{"axes", split.real}});
  if (result && m.root.op == Op::sum) {
    if (!split.copies.is_constant()) return std::nullopt;
    int64_t count = split.copies.constant();
    auto factor = static_cast<double>(is_integer(m.dtype()) ? wrap_to(m.dtype(), count) : count);
    if (count > (int64_t{1} << 53) || round_to(m.dtype(), factor) != factor) return std::nullopt;
    result = m.emit(Op::mul, {*result, m.scalar(factor)});
  }
  if (result && m.out.shape(*result) != split.kept) {
    result = m.emit(Op::reshape, {*result}, {{"shape", split.kept}});
  }
  return result ? std::optional(m.out.broadcast_to(*result, m.shape())) : std::nullopt;
}

}  // namespace

std::span<const Rule> reduce_rules() {
  static const std::vector<Op> kReductions = {Op::sum,  Op::mean, Op::max, Op::min,
                                              Op::prod, Op::any,  Op::all};
  static const std::vector<Op> kWithKeepdims = [] {
    std::vector<Op> ops = kReductions;
    ops.insert(ops.end(), {Op::argmax, Op::logsumexp});
    return ops;
  }();
  static const std::vector<Op> kCountless = {Op::sum, Op::mean, Op::max, Op::min, Op::any, Op::all};
  static const std::vector<Rule> kRules = {
      {"reduce-no-axes", any_of(kReductions, {x}), over_no_axes, kSignedZero,
       "a sum of -0 alone is 0, but becomes -0"},
      {"reduce-one", any_of(kReductions, {x}), over_axes_of_one, kSignedZero,
       "a sum of -0 alone is 0, but becomes -0"},
      {"reduce-reduce", any_of(kReductions, {any_of(kReductions, {x}).as(t)}), over_both, kRounding,
       "floats are added in another order"},
      {"reshape-reduce", reshape(any_of(kWithKeepdims).as(t)), drop_kept_axes},
      {"sum-zero", sum(lit(0)), fill(0)},
      {"reduce-broadcast", any_of(kCountless, {broadcast(x)}), reduce_before_broadcast,
       kRounding | kSignedZero,
       "n * x instead of x + .. + x, -0 where that is 0; only where there is something to reduce"},
  };
  return kRules;
}

}  // namespace weft
