// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/emit.h"

#include <algorithm>

#include "ir/graph/region.h"
#include "ir/support/check.h"

namespace weft {

void Emitter::set_origin(Provenance origin, Loc loc) {
  origin_ = std::move(origin);
  loc_ = std::move(loc);
}

Value Emitter::emit(Op op, std::vector<Value> operands, Attrs attrs, uint32_t result) {
  Node node;
  node.op = op;
  node.operands = std::move(operands);
  node.attrs = std::move(attrs);
  // Scalars written inline have no provenance of their own.
  if (op != Op::constant) node.origin = origin_;
  node.loc = loc_;
  return {emit_node(std::move(node)), result};
}

std::vector<Value> Emitter::emit_body(Op op, std::vector<Value> operands, Attrs attrs,
                                      std::shared_ptr<const Graph> body) {
  Node node;
  node.op = op;
  node.operands = std::move(operands);
  node.attrs = std::move(attrs);
  node.origin = origin_;
  node.loc = loc_;
  node.body = std::move(body);
  uint32_t index = emit_node(std::move(node));
  std::vector<Value> results;
  for (uint32_t r = 0; r < graph_[index].types.size(); ++r) results.push_back({index, r});
  return results;
}

uint32_t Emitter::emit_node(Node node) {
  // Attributes are completed first, so that a default left out equals the same one written out.
  std::vector<Type> operand_types;
  for (Value operand : node.operands) operand_types.push_back(graph_.type(operand));
  Result<Attrs> attrs = normalise_attrs(node.op, node.attrs, operand_types, node.loc);
  if (attrs.ok()) node.attrs = std::move(attrs).value();

  size_t key = hash(node);
  auto [begin, end] = known_.equal_range(key);
  for (auto it = begin; it != end; ++it) {
    if (!same(graph_[it->second], node)) continue;
    graph_.annotate(it->second, node.origin);
    return it->second;
  }
  Op op = node.op;
  Result<Value> value = graph_.append(std::move(node), module_.dims);
  WEFT_CHECK(value.ok(),
             "emitted an ill-typed " + std::string(name(op)) + ": " + render(value.diagnostics()));
  // The key is that of the node as stored: a constant's numbers were rounded to its type.
  known_.emplace(hash(graph_[value->node]), value->node);
  return value->node;
}

size_t Emitter::hash(const Node& node) const {
  size_t hash = static_cast<size_t>(node.op) * 0x9e3779b97f4a7c15 + node.instance;
  for (Value operand : node.operands) hash = hash * 1000003 + operand.node * 8 + operand.result;
  if (node.body != nullptr) hash = hash * 31 + hash_body(*node.body);
  return hash * 31 + node.attrs.hash();
}

bool Emitter::same(const Node& a, const Node& b) const {
  return a.op == b.op && a.instance == b.instance && a.operands == b.operands &&
         a.attrs == b.attrs && (a.body == nullptr || same_body(*a.body, *b.body));
}

Value Emitter::scalar(double value, DType dtype) { return full(value, dtype, {}); }

Value Emitter::full(double value, DType dtype, const Shape& shape) {
  Numbers numbers;
  if (is_float(dtype)) {
    numbers.values = std::vector<double>{round_to(dtype, value)};
  } else {
    numbers.values = std::vector<int64_t>{to_integer(dtype, value)};
  }
  return emit(Op::constant, {}, {{"value", numbers}, {"dtype", dtype}, {"shape", shape}});
}

Value Emitter::like(double value, Value other) { return scalar(value, type(other).dtype); }

Value Emitter::reshape_to(Value value, const Shape& shape) {
  if (this->shape(value) == shape) return value;
  return reshape({value}, {{"shape", shape}});
}

Value Emitter::broadcast_to(Value value, const Shape& shape) {
  if (this->shape(value) == shape) return value;
  return broadcast({value}, {{"shape", shape}});
}

Value Emitter::transpose_last_two(Value value) {
  auto rank = static_cast<int64_t>(shape(value).size());
  std::vector<int64_t> perm(static_cast<size_t>(rank));
  for (int64_t i = 0; i < rank; ++i) perm[static_cast<size_t>(i)] = i;
  std::swap(perm[static_cast<size_t>(rank - 1)], perm[static_cast<size_t>(rank - 2)]);
  return transpose({value}, {{"perm", perm}});
}

Value Emitter::cast_to(Value value, DType dtype) {
  if (type(value).dtype == dtype) return value;
  return cast({value}, {{"dtype", dtype}});
}

Value Emitter::sum_to(Value value, const Shape& target) {
  const Shape from = shape(value);
  size_t extra = from.size() - target.size();
  std::vector<int64_t> axes;
  for (size_t i = 0; i < from.size(); ++i) {
    bool stretched = i >= extra && target[i - extra].is_constant(1) && !from[i].is_constant(1);
    if (i < extra || stretched) axes.push_back(static_cast<int64_t>(i));
  }
  if (axes.empty()) return value;
  return reshape_to(sum({value}, {{"axes", axes}}), target);
}

}  // namespace weft
