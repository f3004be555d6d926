// Emitter: how passes append nodes. Merges equal nodes, so no pass carries its own CSE.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/graph/module.h"

namespace weft {

// Appends to a graph on behalf of a pass. A node that does not type-check is a fault of the pass
// and fails a check; user-facing builders use Graph::append and report the error instead.
class Emitter {
 public:
  Emitter(const Module& module, Graph& graph) : module_(module), graph_(graph) {}

  // Provenance and place given to nodes from here on (a node that a rule replaces, for instance).
  void set_origin(Provenance origin, Loc loc);
  const Provenance& origin() const { return origin_; }

  // An equal node already emitted is returned instead (its provenance united); names are kept from
  // the first.
  Value emit(Op op, std::vector<Value> operands, Attrs attrs = {}, uint32_t result = 0);
  // All results of a node with a body (region.h).
  std::vector<Value> emit_body(Op op, std::vector<Value> operands, Attrs attrs,
                               std::shared_ptr<const Graph> body);
  // The same for a whole node, for copying: keeps its names, origin, loc and instance.
  // Returns the index of the node.
  uint32_t emit_node(Node node);

#define OP(name, ...)                                                      \
  Value name(std::initializer_list<Value> operands, Attrs attrs = {}) {    \
    return emit(Op::name, std::vector<Value>(operands), std::move(attrs)); \
  }
#include "ir/graph/ops.def"
#undef OP

  // Conveniences.
  Value scalar(double value, DType dtype);                    // a constant of shape []
  Value full(double value, DType dtype, const Shape& shape);  // a constant filled with one number
  Value like(double value, Value other);                      // scalar of other's element type
  Value zeros(const Type& type) { return full(0, type.dtype, type.shape); }
  Value reshape_to(Value value, const Shape& shape);    // nothing if it has that shape
  Value broadcast_to(Value value, const Shape& shape);  // nothing if it has that shape
  Value transpose_last_two(Value value);
  Value cast_to(Value value, DType dtype);  // nothing if it has that dtype
  // Sums `value` over the axes that broadcasting had stretched, back to `shape`.
  Value sum_to(Value value, const Shape& shape);

  const Type& type(Value value) const { return graph_.type(value); }
  const Shape& shape(Value value) const { return graph_.type(value).shape; }
  const Graph& graph() const { return graph_; }
  Graph& graph() { return graph_; }
  const Module& module() const { return module_; }

 private:
  size_t hash(const Node& node) const;
  bool same(const Node& a, const Node& b) const;

  const Module& module_;
  Graph& graph_;
  Provenance origin_;
  Loc loc_;
  std::unordered_multimap<size_t, uint32_t> known_;
};

}  // namespace weft
