// Regions that the plan makes up where fusion left something to do: copies, fills, additions.
// SPDX-License-Identifier: Apache-2.0
#include <functional>

#include "ir/graph/region.h"
#include "passes/plan_work.h"
#include "passes/views.h"

namespace weft {
namespace {

using MakeBody = std::function<Value(Emitter& b, const std::vector<Value>& inputs)>;

Result<LoweredRegion> lower_body(const PlanContext& context, const std::vector<Type>& operands,
                                 const std::string& name, const MakeBody& make) {
  Graph body;
  std::vector<Value> inputs;
  for (const Type& type : operands) {
    inputs.push_back(body.add_input(std::to_string(inputs.size()), type));
  }
  Emitter b(context.module, body);
  Value result = make(b, inputs);
  body.outputs = {{body_output_name(0), result}};

  Graph graph("plan");
  Node region;
  region.op = Op::region;
  for (const Type& type : operands) {
    region.operands.push_back(graph.add_input(std::to_string(region.operands.size()), type));
  }
  region.attrs = {{"kind", std::string("map")}};
  region.names = {name};
  region.body = std::make_shared<const Graph>(std::move(body));  // shared as every node's is
  Result<Value> value = graph.append(std::move(region), context.module.dims);
  WEFT_CHECK(value.ok(), "a region of the plan is valid: " + render(value.diagnostics()));
  return lower_region(context.module, graph, value->node, context.device);
}

Value emit_copy(Emitter& b, const Node& node, std::vector<Value> operands) {
  return b.emit(node.op, std::move(operands), node.attrs);
}

}  // namespace

Result<LoweredRegion> lower_alone(const PlanContext& context, const Graph& graph, uint32_t node) {
  std::vector<Type> types;
  for (Value operand : graph[node].operands) types.push_back(graph.type(operand));
  return lower_body(context, types, std::string(name(graph[node].op)),
                    [&](Emitter& b, const std::vector<Value>& inputs) {
                      return emit_copy(b, graph[node], inputs);
                    });
}

Result<LoweredRegion> lower_copy(const PlanContext& context, const Graph& graph, Value value,
                                 Value base) {
  std::vector<uint32_t> chain;  // of views, the last one first
  for (Value at = value; at != base; at = graph.node(at).operands[0]) chain.push_back(at.node);
  return lower_body(context, {graph.type(base)}, "copy",
                    [&](Emitter& b, const std::vector<Value>& inputs) {
                      Value copy = inputs[0];
                      for (size_t i = chain.size(); i-- > 0;) {
                        copy = emit_copy(b, graph[chain[i]], {copy});
                      }
                      return copy;
                    });
}

Result<LoweredRegion> lower_fill(const PlanContext& context, const Type& type) {
  return lower_body(context, {}, "zeros",
                    [&](Emitter& b, const std::vector<Value>&) { return b.zeros(type); });
}

Result<LoweredRegion> lower_add(const PlanContext& context, const Type& type) {
  WEFT_TRY(LoweredRegion lowered,
           lower_body(context, {type, type}, "add", [](Emitter& b, const std::vector<Value>& in) {
             return b.add({in[0], in[1]});
           }));
  bool merged = run_in_place(lowered, {1}, 0);
  WEFT_CHECK(merged, "an addition runs in place");
  return lowered;
}

}  // namespace weft
