// SPDX-License-Identifier: Apache-2.0
#include "tests/ops/gradient_check.h"

#include <algorithm>
#include <cmath>

#include "ir/graph/emit.h"
#include "passes/autodiff.h"

namespace weft {
namespace {

constexpr char kGraph[] = "case";
constexpr char kLoss[] = "loss";

std::vector<int64_t> every_axis(size_t rank) {
  std::vector<int64_t> axes(rank);
  for (size_t i = 0; i < rank; ++i) axes[i] = static_cast<int64_t>(i);
  return axes;
}

// Between 0.5 and 1.5 in sixteenths, so that no element type rounds them.
Tensor pseudo_random_weights(const std::vector<int64_t>& shape) {
  Tensor weights = Tensor::zeros(DType::f64, shape);
  uint32_t state = 12345;
  for (double& weight : weights.reals) {
    state = state * 1664525u + 1013904223u;
    weight = 0.5 + static_cast<double>(state >> 28) / 16.0;
  }
  return weights;
}

Tensor as_f64(const Tensor& tensor) {
  Tensor out = Tensor::zeros(DType::f64, tensor.shape);
  for (int64_t i = 0; i < tensor.size(); ++i) out.reals[static_cast<size_t>(i)] = tensor.at(i);
  return out;
}

}  // namespace

Result<WeightedLoss> weighted_loss(const Module& module, const OpCase& c,
                                   const TensorMap& weights) {
  WeightedLoss result{module, c.inputs};
  Graph* graph = result.module.find_graph(kGraph);
  if (graph == nullptr) return error({}, c.name, " has no graph @", kGraph);
  Emitter b(result.module, *graph);
  Value loss = b.scalar(0, DType::f64);
  for (const Output& output : graph->outputs) {
    const std::string name = "weight." + output.name;
    auto given = weights.find(output.name);
    result.inputs[name] = given != weights.end()
                              ? as_f64(given->second)
                              : pseudo_random_weights(c.outputs.at(output.name).shape);
    const Shape shape = graph->type(output.value).shape;
    const Value weight = graph->add_input(name, Type{DType::f64, shape});
    const Value product = b.mul({b.cast_to(output.value, DType::f64), weight});
    loss = b.add({loss, b.sum({product}, {{"axes", every_axis(shape.size())}})});
  }
  graph->outputs = {Output{kLoss, loss}};
  return result;
}

Result<double> WeightedLoss::value() const {
  WEFT_TRY(OracleResult result, run_oracle(module, *module.find_graph(kGraph), inputs, {}));
  return result.outputs.at(kLoss).at(0);
}

Result<Module> WeightedLoss::with_backward(const std::vector<std::string>& wrt) const {
  Module both = module;
  GradRequest request;
  request.graph = kGraph;
  request.loss = kLoss;
  request.wrt = wrt;
  WEFT_TRY_STATUS(add_backward(both, request));
  WEFT_TRY_STATUS(verify(both));
  return both;
}

Result<TensorMap> WeightedLoss::gradients(const std::vector<std::string>& wrt) const {
  WEFT_TRY(const Module both, with_backward(wrt));
  WEFT_TRY(OracleResult result, run_oracle(both, *both.find_graph("backward"), inputs, {}));
  TensorMap gradients;
  for (const std::string& name : wrt) gradients[name] = result.outputs.at("grad." + name);
  return gradients;
}

Result<Tensor> WeightedLoss::differences(const std::string& input) const {
  WeightedLoss moved = *this;
  Tensor& tensor = moved.inputs.at(input);
  Tensor slopes = Tensor::zeros(tensor.dtype, tensor.shape);
  for (size_t i = 0; i < tensor.reals.size(); ++i) {
    const double x = tensor.reals[i];
    const double h = 1e-3 * std::max(1.0, std::fabs(x));
    auto at = [&](double steps) {
      tensor.reals[i] = x + steps * h;
      return moved.value();
    };
    WEFT_TRY(const double far_right, at(2));
    WEFT_TRY(const double right, at(1));
    WEFT_TRY(const double left, at(-1));
    WEFT_TRY(const double far_left, at(-2));
    tensor.reals[i] = x;
    slopes.reals[i] = (far_left - 8 * left + 8 * right - far_right) / (12 * h);
  }
  return slopes;
}

FloatCase with_float_inputs(const Module& module, const OpCase& c) {
  FloatCase result{module, c};
  const Graph& old = *module.find_graph(kGraph);
  Graph graph(old.name());
  Emitter b(module, graph);
  std::vector<uint32_t> moved;  // old node -> new node
  for (const Node& node : old.nodes()) {
    if (node.op == Op::input) {
      Type type = node.types[0];
      if (!is_float(type.dtype)) type.dtype = DType::f64;
      const std::string& name = node.attrs.text("name");
      moved.push_back(b.cast_to(graph.add_input(name, type), node.types[0].dtype).node);
      result.c.inputs[name] = type == node.types[0] ? c.inputs.at(name) : as_f64(c.inputs.at(name));
      continue;
    }
    Node copy = node;
    for (Value& operand : copy.operands) operand.node = moved[operand.node];
    moved.push_back(graph.append(std::move(copy), module.dims).value().node);
  }
  for (const Output& output : old.outputs) {
    graph.outputs.push_back({output.name, {moved[output.value.node], output.value.result}, {}});
  }
  *result.module.find_graph(kGraph) = std::move(graph);
  return result;
}

}  // namespace weft
