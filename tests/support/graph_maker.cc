// SPDX-License-Identifier: Apache-2.0
#include "tests/support/graph_maker.h"

#include <algorithm>
#include <utility>

#include "ir/support/check.h"

namespace weft {
namespace {

constexpr int64_t kMaxCount = 400;  // elements of what may be used again
constexpr size_t kMaxPoolRank = 5;

bool copies_elements(Op op) {
  switch (op) {
    case Op::minimum:
    case Op::maximum:
    case Op::neg:
    case Op::abs:
    case Op::relu:
    case Op::select:
    case Op::max:
    case Op::min:
    case Op::top_k:
    case Op::gather:
    case Op::scatter:
    case Op::take_along_axis:
    case Op::dynamic_slice:
    case Op::update_slice:
    case Op::concat: return true;
    default: return info(op).has(kView);
  }
}

// Ops of floats that no rewriting computes in another way.
bool keeps_exact(Op op) {
  return copies_elements(op) || op == Op::constant || op == Op::cast || op == Op::sign ||
         op == Op::clamp || op == Op::pad || op == Op::iota || op == Op::one_hot ||
         op == Op::patches;
}

}  // namespace

Fact GraphMaker::fact_of(const Node& node, std::optional<double> bound) const {
  Fact fact;
  bool real = is_float(node.types[0].dtype);
  fact.bound = 0;
  for (Value operand : node.operands) {
    if (type(operand).dtype == DType::boolean) continue;  // masks do not add to numbers
    fact.bound = std::max(fact.bound, this->bound(operand));
    if (is_float(type(operand).dtype)) fact.exact = fact.exact && facts_.at(operand).exact;
  }
  if (bound) {
    fact.bound = *bound;
  } else if (!real && !copies_elements(node.op)) {
    fact.bound = static_cast<double>(highest_integer(node.types[0].dtype));
  }
  fact.exact = !real || (fact.exact && keeps_exact(node.op));
  if (info(node.op).has(kView)) fact.below = facts_.at(node.operands[0]).below;
  return fact;
}

void GraphMaker::decorate(Node& node) {
  if (node.op == Op::constant) return;
  if (chance(0.15)) node.names = {cat("v", graph_.nodes().size())};
  if (chance(0.2)) node.origin = {cat("layer.", below(3), ".", name(node.op))};
  if (chance(0.02)) node.instance = static_cast<uint32_t>(between(1, 2));
}

Value GraphMaker::append(Op op, std::vector<Value> operands, Attrs attrs,
                         std::optional<double> bound, std::shared_ptr<const Graph> body) {
  Node node;
  node.op = op;
  node.operands = std::move(operands);
  node.attrs = std::move(attrs);
  node.body = std::move(body);
  decorate(node);
  // Names for all results or for none, so that both kinds occur with several results.
  const size_t results = node.body ? node.body->outputs.size() : info(op).results.size();
  for (size_t i = 1; !node.names.empty() && i < results; ++i) {
    node.names.push_back(cat(node.names[0], "_", i));
  }
  Result<Value> value = graph_.append(std::move(node), module_.dims);
  WEFT_CHECK(value.ok(), "a random graph is valid: " + render(value.diagnostics()));
  if (op != Op::constant) ++op_count_;
  const Node& stored = graph_.node(*value);
  for (uint32_t i = 0; i < stored.types.size(); ++i) {
    facts_[{value->node, i}] = fact_of(stored, bound);
  }
  return *value;
}

Value GraphMaker::emit(Op op, std::vector<Value> operands, Attrs attrs,
                       std::optional<double> bound) {
  Value value = append(op, std::move(operands), std::move(attrs), bound);
  for (uint32_t i = 0; i < graph_.node(value).types.size(); ++i) keep({value.node, i});
  return value;
}

Value GraphMaker::emit_final(Op op, std::vector<Value> operands, Attrs attrs) {
  constexpr double kLarge = 1e6;
  return loss_ ? append(op, std::move(operands), std::move(attrs), kLarge)
               : emit(op, std::move(operands), std::move(attrs), kLarge);
}

Value GraphMaker::emit_body(Op op, std::vector<Value> operands, Attrs attrs, Graph body,
                            double bound) {
  Value value = append(op, std::move(operands), std::move(attrs), bound,
                       std::make_shared<const Graph>(std::move(body)));
  for (uint32_t i = 0; !loss_ && i < graph_.node(value).types.size(); ++i) keep({value.node, i});
  return value;
}

Value GraphMaker::emit_private(Op op, std::vector<Value> operands, Attrs attrs) {
  return append(op, std::move(operands), std::move(attrs), {});
}

void GraphMaker::keep(Value value) {
  bool usable = shape(value).size() <= kMaxPoolRank && high_count(shape(value)) <= kMaxCount;
  if (usable) pool_.push_back(value);
}

std::optional<Value> GraphMaker::find(const std::vector<Value>& choices) {
  if (choices.empty()) return std::nullopt;
  // Half of the time a recent one, so that graphs become deep as well as wide.
  constexpr int64_t kRecent = 5;
  auto count = static_cast<int64_t>(choices.size());
  int64_t recent = chance(0.5) ? std::min(count, kRecent) : count;
  return choices[static_cast<size_t>(count - 1 - below(recent))];
}

Value GraphMaker::any(DTypeSet set, size_t min_rank, double max_bound) {
  std::vector<Value> choices;
  for (Value value : pool_) {
    bool fits = contains(set, dtype(value)) && shape(value).size() >= min_rank;
    if (fits) choices.push_back(value);
  }
  std::optional<Value> found = find(choices);
  if (std::exchange(follow_, false) && !choices.empty() && choices.back() == pool_.back()) {
    return tame(pool_.back(), max_bound);
  }
  if (!found || chance(0.08)) {
    found = leaf({random_dtype(set), random_shape(min_rank, std::max<size_t>(min_rank, 3))});
  }
  return tame(*found, max_bound);
}

std::optional<Value> GraphMaker::adapt(Type wanted) {
  std::vector<Value> reshaped;
  std::vector<Value> cast;
  std::vector<Value> stretched;
  for (Value value : pool_) {
    const Type& have = type(value);
    bool same_kind = is_float(have.dtype) == is_float(wanted.dtype) &&
                     is_integer(have.dtype) == is_integer(wanted.dtype);
    if (same_kind && have.dtype != wanted.dtype && same_shape(have.shape, wanted.shape, dims())) {
      cast.push_back(value);
    }
    if (have.dtype != wanted.dtype) continue;
    if (dims().equal(element_count(have.shape), element_count(wanted.shape))) {
      reshaped.push_back(value);
    }
    auto both = broadcast_shapes(have.shape, wanted.shape, dims());
    if (both && same_shape(*both, wanted.shape, dims())) stretched.push_back(value);
  }
  if (std::optional<Value> value = find(reshaped); value && chance(0.6)) {
    return emit(Op::reshape, {*value}, {{"shape", wanted.shape}});
  }
  if (std::optional<Value> value = find(cast); value && chance(0.6)) {
    value = tame(*value, kAnyBound);
    return emit(Op::cast, {*value}, {{"dtype", wanted.dtype}}, bound(*value));
  }
  if (std::optional<Value> value = find(stretched); value && chance(0.6)) {
    return emit(Op::broadcast, {*value}, {{"shape", wanted.shape}});
  }
  return std::nullopt;
}

Value GraphMaker::of_type(Type wanted) {
  std::vector<Value> choices;
  for (Value value : pool_) {
    if (same_type(type(value), wanted, dims())) choices.push_back(value);
  }
  std::optional<Value> found = chance(0.85) ? find(choices) : std::nullopt;
  if (!found) found = adapt(wanted);
  return tame(found ? *found : leaf(wanted), kAnyBound);
}

Value GraphMaker::fitting(Shape wanted, DType dtype) {
  std::vector<Value> choices;
  for (Value value : pool_) {
    if (type(value).dtype != dtype) continue;
    auto both = broadcast_shapes(shape(value), wanted, dims());
    if (both && high_count(*both) <= kMaxCount) choices.push_back(value);
  }
  std::optional<Value> found = chance(0.65) ? find(choices) : std::nullopt;
  if (found) return tame(*found, kAnyBound);
  return chance(0.4) ? constant_of({dtype, {}}) : of_type({dtype, wanted});
}

Value GraphMaker::partner(Value value) {
  const Type wanted = type(value);
  if (chance(0.04)) return value;
  return fitting(wanted.shape, wanted.dtype);
}

std::pair<Value, Value> GraphMaker::pair(DTypeSet set) {
  Value first = any(set);
  Value second = partner(first);
  return chance(0.5) ? std::pair(first, second) : std::pair(second, first);
}

void GraphMaker::add_update(const std::string& target, Value value) {
  graph_.updates.push_back({target, value});
}

}  // namespace weft
