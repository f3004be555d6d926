// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/graph.h"

#include <algorithm>
#include <limits>

#include "ir/support/check.h"

namespace weft {
namespace {

// A constant holds numbers of its own type: reals rounded to a float type, integers otherwise.
Status settle_constant(Attrs& attrs, const Loc& loc) {
  DType dtype = attrs.dtype("dtype");
  Numbers numbers = attrs.numbers("value");
  if (is_float(dtype)) {
    std::vector<double> reals;
    std::visit([&](const auto& v) { reals.assign(v.begin(), v.end()); }, numbers.values);
    for (double& r : reals) r = round_to(dtype, r);
    attrs.set("value", Numbers{std::move(reals)});
    return ok();
  }
  if (numbers.real() && numbers.size() > 0) {
    return error(loc, "constant: ", format_real(std::get<0>(numbers.values)[0]),
                 " is not a number of type ", name(dtype))
        .hint("write whole numbers without a point, or choose a float type");
  }
  return ok();
}

// In place: most merges add one origin or none.
void unite_into(Provenance& known, const Provenance& more) {
  for (const std::string& place : more) {
    auto at = std::lower_bound(known.begin(), known.end(), place);
    if (at != known.end() && *at == place) continue;
    known.insert(at, place);
    if (known.size() > kMaxOrigins) known.pop_back();
  }
}

}  // namespace

Provenance unite(const Provenance& a, const Provenance& b) {
  Provenance all = a;
  unite_into(all, b);
  return all;
}

Value Graph::add_input(const std::string& name, Type type, Loc where) {
  Node node;
  node.op = Op::input;
  node.attrs = {{"name", name}};
  node.types = {std::move(type)};
  node.names = {name};
  node.loc = std::move(where);
  nodes_.push_back(std::move(node));
  Value value{static_cast<uint32_t>(nodes_.size() - 1), 0};
  inputs_.push_back(value);
  return value;
}

Value Graph::read_param(const std::string& name, const Type& type, Loc where) {
  if (auto found = params_.find(name); found != params_.end()) return found->second;
  Node node;
  node.op = Op::param;
  node.attrs = {{"name", name}};
  node.types = {type};
  node.names = {""};
  node.loc = std::move(where);
  nodes_.push_back(std::move(node));
  Value value{static_cast<uint32_t>(nodes_.size() - 1), 0};
  params_.emplace(name, value);
  return value;
}

Result<Value> Graph::append(Node node, const DimFacts& facts) {
  const OpInfo& op = info(node.op);
  WEFT_CHECK(!op.has(kStructural), "inputs and parameters have functions of their own");
  WEFT_CHECK(op.has(kBody) || node.body == nullptr, std::string(op.name) + " has no body");
  std::vector<Type> operand_types;
  std::vector<Loc> operand_locs;
  for (Value operand : node.operands) {
    WEFT_CHECK(operand.node < nodes_.size() && operand.result < nodes_[operand.node].types.size(),
               "an operand of " + std::string(op.name) + " is not in the graph");
    operand_types.push_back(type(operand));
    operand_locs.push_back(this->node(operand).loc);
  }
  WEFT_TRY(node.attrs, normalise_attrs(node.op, node.attrs, operand_types, node.loc));
  if (node.op == Op::constant) WEFT_TRY_STATUS(settle_constant(node.attrs, node.loc));
  InferArgs args{node.op,  operand_types, node.attrs,     facts,
                 node.loc, operand_locs,  node.body.get()};
  WEFT_TRY(node.types, infer_types(args));
  node.names.resize(node.types.size());
  WEFT_CHECK(nodes_.size() < std::numeric_limits<uint32_t>::max(), "too many nodes");
  nodes_.push_back(std::move(node));
  return Value{static_cast<uint32_t>(nodes_.size() - 1), 0};
}

void Graph::annotate(uint32_t node, const Provenance& origin) {
  unite_into(nodes_[node].origin, origin);
}

void Graph::set_value_name(Value value, std::string name) {
  nodes_[value.node].names[value.result] = std::move(name);
}

std::vector<std::vector<uint32_t>> count_uses(const Graph& graph) {
  std::vector<std::vector<uint32_t>> uses;
  uses.reserve(graph.nodes().size());
  for (const Node& node : graph.nodes()) uses.emplace_back(node.types.size(), 0);
  for (const Node& node : graph.nodes()) {
    for (Value operand : node.operands) ++uses[operand.node][operand.result];
  }
  for (const Output& output : graph.outputs) ++uses[output.value.node][output.value.result];
  for (const Update& update : graph.updates) ++uses[update.value.node][update.value.result];
  return uses;
}

}  // namespace weft
