// SPDX-License-Identifier: Apache-2.0
#include "ir/oracle/oracle.h"

#include <algorithm>

#include "ir/oracle/elements.h"
#include "ir/oracle/sizes.h"
#include "ir/text/text.h"

namespace weft {
namespace {

// Nodes that outputs and updates need.
std::vector<bool> needed_nodes(const Graph& graph) {
  std::vector<bool> needed(graph.nodes().size(), false);
  for (const Output& output : graph.outputs) needed[output.value.node] = true;
  for (const Update& update : graph.updates) needed[update.value.node] = true;
  for (size_t i = needed.size(); i-- > 0;) {
    if (!needed[i]) continue;
    for (Value operand : graph.nodes()[i].operands) needed[operand.node] = true;
  }
  return needed;
}

Status check_given(const Graph& graph, const std::vector<bool>& needed, const TensorMap& inputs,
                   const TensorMap& storage) {
  std::vector<std::string> names;
  for (Value input : graph.inputs()) {
    names.push_back(graph.input_name(input));
    if (!inputs.contains(names.back())) {
      return error(graph.node(input).loc, "input ", names.back(), " of graph @", graph.name(),
                   " is missing: expected ", graph.type(input))
          .hint(cat("--input ", names.back(), "=", names.back(), ".npy"));
    }
  }
  for (const auto& [name, tensor] : inputs) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    return error(graph.loc, "graph @", graph.name(), " has no input ", name)
        .hint(did_you_mean(name, names));
  }
  for (size_t i = 0; i < needed.size(); ++i) {
    const Node& node = graph.nodes()[i];
    if (!needed[i] || node.op != Op::param || storage.contains(node.attrs.text("name"))) continue;
    return error(node.loc, "@", node.attrs.text("name"), " has no value: expected ", node.types[0])
        .hint("name a file that holds it: --weights model.safetensors");
  }
  return ok();
}

// One run of a graph: what has been computed and is still wanted.
class Run {
 public:
  Run(const Graph& graph, const TensorMap& inputs, const TensorMap& storage, DimBinding dims)
      : graph_(graph), inputs_(inputs), storage_(storage), dims_(std::move(dims)) {
    for (const Node& node : graph.nodes()) {
      computed_.emplace_back(node.types.size());
      uses_.emplace_back(node.types.size(), 0);
    }
    for (const TensorMap* given : {&inputs, &storage}) {
      for (const auto& [name, tensor] : *given) live_bytes_ += tensor.size() * kElementBytes;
    }
  }

  Result<OracleResult> execute(const std::vector<bool>& needed) {
    count_uses_of(needed);
    for (uint32_t i = 0; i < needed.size(); ++i) {
      const Node& node = graph_[i];
      if (!needed[i] || node.op == Op::input || node.op == Op::param) continue;
      CheckContext context(cat("op ", name(node.op)));
      Status status = evaluate(i);
      if (!status.ok()) return explain(std::move(status).take_error(), i);
      for (Value operand : node.operands) release(operand);
      for (uint32_t result = 0; result < node.types.size(); ++result) {
        if (uses_[i][result] == 0) discard({i, result});
      }
    }
    OracleResult result;
    for (const Output& output : graph_.outputs) result.outputs[output.name] = take(output.value);
    for (const Update& update : graph_.updates) result.updates[update.target] = take(update.value);
    return result;
  }

 private:
  void count_uses_of(const std::vector<bool>& needed) {
    auto use = [&](Value value) { ++uses_[value.node][value.result]; };
    for (size_t i = 0; i < needed.size(); ++i) {
      if (!needed[i]) continue;
      for (Value operand : graph_.nodes()[i].operands) use(operand);
    }
    for (const Output& output : graph_.outputs) use(output.value);
    for (const Update& update : graph_.updates) use(update.value);
  }

  const Tensor& tensor(Value value) const {
    const Node& node = graph_.node(value);
    if (node.op == Op::input) return inputs_.at(node.attrs.text("name"));
    if (node.op == Op::param) return storage_.at(node.attrs.text("name"));
    return computed_[value.node][value.result];
  }

  Status evaluate(uint32_t index) {
    const Node& node = graph_[index];
    std::string what(name(node.op));
    WEFT_TRY_STATUS(check_attributes(node));
    std::vector<Sizes> shapes;
    for (const Type& type : node.types) {
      WEFT_TRY(Sizes shape, concrete_shape(type, dims_, node.loc, what));
      WEFT_TRY(int64_t bytes, check_room(shape, live_bytes_, node.loc, what));
      live_bytes_ += bytes;
      shapes.push_back(std::move(shape));
    }
    std::vector<const Tensor*> operands;
    for (Value operand : node.operands) {
      operands.push_back(&tensor(operand));
      WEFT_TRY(Sizes shape, concrete_shape(graph_.type(operand), dims_, node.loc, what));
      WEFT_CHECK(operands.back()->shape == shape, "an operand has the shape of its type");
    }
    WEFT_TRY(std::vector<Tensor> results, eval(EvalArgs{node, operands, shapes, dims_}));
    WEFT_CHECK(results.size() == shapes.size(), "an op gives all of its results");
    for (size_t i = 0; i < results.size(); ++i) {
      WEFT_CHECK(results[i].shape == shapes[i] && results[i].dtype == node.types[i].dtype,
                 "a result has its type");
    }
    computed_[index] = std::move(results);
    return ok();
  }

  // Dims among the attributes have sizes, even where these do not show in the type.
  Status check_attributes(const Node& node) const {
    for (const Attr& attr : node.attrs) {
      const auto* list = std::get_if<std::vector<Dim>>(&attr.value);
      const auto* one = std::get_if<Dim>(&attr.value);
      for (const Dim& dim : list ? *list : one ? std::vector<Dim>{*one} : std::vector<Dim>{}) {
        if (dim.evaluate(dims_)) continue;
        return error(node.loc, name(node.op), ": ", attr.name, ": ", dim, " cannot be computed");
      }
    }
    return ok();
  }

  Error explain(Error error, uint32_t index) const {
    auto names = value_names(graph_);
    const Node& node = graph_[index];
    std::string message = cat("while computing ", names[index][0], " : ", node.types[0]);
    for (size_t i = 0; i < node.operands.size(); ++i) {
      Value operand = node.operands[i];
      message += cat(i == 0 ? " from " : ", ", names[operand.node][operand.result]);
    }
    return std::move(error).note(node.loc, std::move(message));
  }

  void release(Value value) {
    if (--uses_[value.node][value.result] == 0) discard(value);
  }

  void discard(Value value) {
    Tensor& computed = computed_[value.node][value.result];
    live_bytes_ -= computed.size() * kElementBytes;
    computed = Tensor();
  }

  // The tensor of an output: moved out if nothing else wants it.
  Tensor take(Value value) {
    Op op = graph_.node(value).op;
    bool last = --uses_[value.node][value.result] == 0;
    if (op == Op::input || op == Op::param || !last) return tensor(value);
    return std::move(computed_[value.node][value.result]);
  }

  const Graph& graph_;
  const TensorMap& inputs_;
  const TensorMap& storage_;
  DimBinding dims_;
  std::vector<std::vector<Tensor>> computed_;  // [node][result]; inputs and storage stay outside
  std::vector<std::vector<uint32_t>> uses_;    // still to come
  int64_t live_bytes_ = 0;                     // of computed tensors and those from outside
};

}  // namespace

Result<OracleResult> run_oracle(const Module& module, const Graph& graph, const TensorMap& inputs,
                                const TensorMap& storage, const DimBinding& given) {
  std::vector<bool> needed = needed_nodes(graph);
  WEFT_TRY_STATUS(check_given(graph, needed, inputs, storage));
  WEFT_TRY(DimBinding dims, bind_dims(module, graph, inputs, storage, given));
  return Run(graph, inputs, storage, std::move(dims)).execute(needed);
}

}  // namespace weft
