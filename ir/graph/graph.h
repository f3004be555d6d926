// A graph: nodes in order of definition, inputs, named outputs and state updates.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ir/graph/infer.h"
#include "ir/graph/op.h"

namespace weft {

// One result of one node.
struct Value {
  uint32_t node = 0;
  uint32_t result = 0;
  friend auto operator<=>(const Value&, const Value&) = default;
};

// Where a node came from in the user's model ("encoder.0.attn.q"); a merge unites. Sorted, unique,
// and at most kMaxOrigins, the first in order: a node that thousands merge into stays cheap.
using Provenance = std::vector<std::string>;
inline constexpr size_t kMaxOrigins = 256;
Provenance unite(const Provenance& a, const Provenance& b);

class Graph;

struct Node {
  Op op = Op::constant;
  std::vector<Value> operands;
  Attrs attrs;
  std::vector<Type> types;         // one per result
  std::vector<std::string> names;  // one per result; empty = numbered when printed
  Provenance origin;
  Loc loc;
  uint32_t instance = 0;  // a deliberate recomputation has its own number and is never merged
  // Of ops with the trait kBody (region.h), null for the others. Shared because it never changes:
  // copying a node is cheap.
  std::shared_ptr<const Graph> body = nullptr;
};

struct Output {
  std::string name;
  Value value;
  Loc loc = {};
};

// The new value of a parameter or state, stored after everything was read.
struct Update {
  std::string target;
  Value value;
  Loc loc = {};
};

class Graph {
 public:
  explicit Graph(std::string name = "") : name_(std::move(name)) {}

  const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }

  const std::vector<Node>& nodes() const { return nodes_; }
  const Node& node(Value value) const { return nodes_[value.node]; }
  const Node& operator[](uint32_t node) const { return nodes_[node]; }
  const Type& type(Value value) const { return nodes_[value.node].types[value.result]; }

  const std::vector<Value>& inputs() const { return inputs_; }
  const std::string& input_name(Value input) const { return node(input).attrs.text("name"); }

  // Appends an input. Its name must be new; its type has no unknown parts.
  Value add_input(const std::string& name, Type type, Loc where = {});
  // Reads a parameter or state; the same node each time it is asked for.
  Value read_param(const std::string& name, const Type& type, Loc where = {});
  // Appends a node whose op, operands, attrs, names, origin, loc, instance and body are set:
  // completes its attributes, infers its types. `facts` are the module's.
  Result<Value> append(Node node, const DimFacts& facts);

  // What may still be said of a node once it is there: where it came from, and its name.
  void annotate(uint32_t node, const Provenance& origin);  // unites
  void set_value_name(Value value, std::string name);

  std::vector<Output> outputs;
  std::vector<Update> updates;
  Loc loc = {};

 private:
  std::string name_;
  std::vector<Node> nodes_;
  std::vector<Value> inputs_;
  std::map<std::string, Value> params_;  // reads of storage, one node each
};

// How often each value is used by nodes, outputs and updates: indexed [node][result].
std::vector<std::vector<uint32_t>> count_uses(const Graph& graph);

}  // namespace weft
