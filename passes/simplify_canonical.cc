// Rules of `simplify` that bring constants, broadcasts and casts into one form.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "passes/fold.h"
#include "passes/simplify.h"

namespace weft {
namespace {

using namespace pattern;

std::vector<Op> ops_with(uint32_t traits, size_t min_operands) {
  std::vector<Op> ops;
  for (const OpInfo& op : all_ops()) {
    bool all = (op.traits & traits) == traits;
    if (all && !op.variadic && op.operands.size() >= min_operands) ops.push_back(op.op);
  }
  return ops;
}

// [2, 2, 2] is one 2.
std::optional<Value> fill_constant(Match& m) {
  const Numbers& numbers = m.root.attrs.numbers("value");
  if (numbers.size() < 2) return std::nullopt;
  auto first_if_equal = [](const auto& values) -> std::optional<Numbers> {
    std::vector first{values[0]};
    for (auto v : values) {
      if (!(Numbers{std::vector{v}} == Numbers{first})) return std::nullopt;
    }
    return Numbers{first};
  };
  std::optional<Numbers> one = std::visit(first_if_equal, numbers.values);
  if (!one) return std::nullopt;
  Attrs attrs = m.root.attrs;
  attrs.set("value", *one);
  return m.out.constant({}, attrs);
}

// A view of a filled constant is filled with the same number.
std::optional<Value> reshape_constant(Match& m) {
  Attrs attrs = m.node(c).attrs;
  attrs.set("shape", m.shape());
  return m.out.constant({}, attrs);
}

// An operand of one number need not have a shape.
std::optional<Value> shrink_constant(Match& m) {
  for (size_t i = 0; i < m.root.operands.size(); ++i) {
    const Node constant = m.out.graph().node(m.root.operands[i]);
    if (constant.op != Op::constant || constant.types[0].shape.empty()) continue;
    if (constant.attrs.numbers("value").size() != 1) continue;
    Attrs attrs = constant.attrs;
    attrs.set("shape", Shape{});
    std::vector<Value> operands = m.root.operands;
    operands[i] = m.out.constant({}, attrs);
    if (auto value = m.emit_same(m.root.op, operands, m.root.attrs)) return value;
  }
  return std::nullopt;
}

// The op broadcasts by itself.
std::optional<Value> imply_broadcast(Match& m) {
  for (size_t i = 0; i < m.root.operands.size(); ++i) {
    const Node& broadcast_node = m.out.graph().node(m.root.operands[i]);
    if (broadcast_node.op != Op::broadcast) continue;
    std::vector<Value> operands = m.root.operands;
    operands[i] = broadcast_node.operands[0];
    if (auto value = m.emit_same(m.root.op, operands, m.root.attrs)) return value;
  }
  return std::nullopt;
}

// Computes before it stretches.
std::optional<Value> broadcast_later(Match& m) {
  if (m.root.operands.size() != 1) return std::nullopt;
  std::optional<Value> small = m.emit(m.root.op, {m[x]}, m.root.attrs);
  if (!small) return std::nullopt;
  return m.out.broadcast_to(*small, m.shape());
}

// Whether a float value is known to be a number of its type, although the oracle does not round:
// it was cast, read or written, and since then only rearranged.
bool rounded(const Graph& graph, Value value) {
  while (info(graph.node(value).op).has(kView)) value = graph.node(value).operands[0];
  Op op = graph.node(value).op;
  return op == Op::cast || op == Op::constant || op == Op::input || op == Op::param;
}

// Every value of `from` is a value of `to`.
bool widens(DType from, DType to) {
  if (from == to || from == DType::boolean) return true;
  if (is_float(from)) {
    return to == DType::f64 || (to == DType::f32 && from != DType::f64);
  }
  if (is_integer(to)) {
    return lowest_integer(to) <= lowest_integer(from) &&
           highest_integer(from) <= highest_integer(to);
  }
  // Whole numbers up to 2^53 in f64, 2^24 in f32, 2^11 in f16 and 2^8 in bf16.
  if (to == DType::f64) return byte_size(from) <= 4;
  return (to == DType::f32 || to == DType::f16 || to == DType::bf16) && byte_size(from) == 1;
}

std::optional<Value> drop_cast(Match& m) {
  DType from = m.type(x).dtype;
  if (from != m.dtype()) return std::nullopt;
  bool exact = !is_float(from) || from == DType::f64 || rounded(m.out.graph(), m[x]);
  return exact ? std::optional(m[x]) : std::nullopt;
}

std::optional<Value> join_casts(Match& m) {
  DType from = m.type(x).dtype;
  DType through = m.node(t).types[0].dtype;
  if (!widens(from, through)) return std::nullopt;
  // A float may carry more digits than its type; f64 keeps them all.
  bool kept = !is_float(from) || through == DType::f64 || rounded(m.out.graph(), m[x]);
  // An integer that comes from a float saturates, from an integer it wraps.
  bool same_end =
      !is_integer(from) || is_integer(through) || !is_integer(m.dtype()) || widens(from, m.dtype());
  if (!kept || !same_end) return std::nullopt;
  return m.out.cast({m[x]}, {{"dtype", m.dtype()}});
}

}  // namespace

std::span<const Rule> canonical_rules() {
  static const std::vector<Rule> kRules = [] {
    std::vector<Op> elementwise = ops_with(kElementwise, 1);
    std::vector<Op> several = ops_with(kElementwise, 2);
    std::vector<Op> broadcasting = several;
    broadcasting.push_back(Op::matmul);
    std::vector<Op> views = {Op::broadcast, Op::reshape, Op::transpose, Op::slice};
    return std::vector<Rule>{
        {"fill-constant", constant(), fill_constant},
        {"fold-constant", any_of({}), fold_constants, kExact,
         "only where the result is exactly a number of its type"},
        {"view-constant", any_of(views, {con(c)}), reshape_constant},
        {"scalar-operand", any_of(several), shrink_constant},
        {"implied-broadcast", any_of(broadcasting), imply_broadcast},
        {"broadcast-later", any_of(elementwise, {broadcast(x)}), broadcast_later},
        {"cast-same", cast(x), drop_cast, kExact,
         "a float cast rounds what the oracle left unrounded: kept unless that is known not to be"},
        {"cast-cast", cast(cast(x).as(t)), join_casts, kExact, "as cast-same"},
    };
  }();
  return kRules;
}

}  // namespace weft
