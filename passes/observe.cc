// SPDX-License-Identifier: Apache-2.0
#include "passes/observe.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>

#include "ir/graph/live.h"
#include "ir/graph/rebuild.h"
#include "passes/decompose.h"

namespace weft {
namespace {

using Layer = std::optional<size_t>;  // by number

bool is_part_of(const std::string& path, const std::string& layer) {
  return path.starts_with(layer) && (path.size() == layer.size() || path[layer.size()] == '.');
}

// The innermost one.
Layer layer_at(const std::string& path, const std::vector<std::string>& layers) {
  Layer found;
  for (size_t i = 0; i < layers.size(); ++i) {
    if (!is_part_of(path, layers[i])) continue;
    if (!found || layers[i].size() > layers[*found].size()) found = i;
  }
  return found;
}

// The layer that all of a node's provenance lies in.
Layer layer_of(const Node& node, const std::vector<std::string>& layers) {
  if (node.origin.empty()) return std::nullopt;
  const Layer found = layer_at(node.origin.front(), layers);
  const bool shared = std::ranges::any_of(
      node.origin, [&](const std::string& path) { return layer_at(path, layers) != found; });
  return shared ? std::nullopt : found;
}

struct Borders {
  std::set<Value> entering;
  std::set<Value> leaving;
};

class Observer {
 public:
  Observer(const Module& module, const Graph& graph, const std::vector<std::string>& layers)
      : module_(module), graph_(graph), names_(layers), live_(live_nodes(graph)) {
    const size_t count = graph.nodes().size();
    layers_.resize(count);
    from_param_.resize(count);
    from_input_.resize(count);
    for (uint32_t i = 0; i < count; ++i) classify(i);
  }

  Observation build() {
    Observation result;
    result.graph = graph_;
    result.graph.set_name(kObserve);
    result.graph.outputs.clear();
    result.graph.updates.clear();
    Emitter b(module_, result.graph);
    b.set_origin({kObserve}, {});
    add_layers(b, result);
    add_attentions(b, result);
    result.graph = rebuild(module_, result.graph);
    return result;
  }

 private:
  void classify(uint32_t i) {
    const Node& node = graph_[i];
    layers_[i] = layer_of(node, names_);
    from_param_[i] = node.op == Op::param;
    from_input_[i] = node.op == Op::input;
    for (Value operand : node.operands) {
      from_param_[i] = from_param_[i] || from_param_[operand.node];
      from_input_[i] = from_input_[i] || from_input_[operand.node];
    }
  }

  bool is_activation(Value value) const {
    return from_param_[value.node] && from_input_[value.node] &&
           is_float(graph_.type(value).dtype) && graph_.node(value).op != Op::param;
  }

  void cross(Value value, Layer to, std::vector<Borders>& borders) const {
    const Layer from = layers_[value.node];
    if (from == to || !is_activation(value)) return;
    if (to) borders[*to].entering.insert(value);
    if (from) borders[*from].leaving.insert(value);
  }

  std::vector<Borders> find_borders() const {
    std::vector<Borders> borders(names_.size());
    for (uint32_t i = 0; i < graph_.nodes().size(); ++i) {
      if (!live_[i]) continue;
      for (Value operand : graph_[i].operands) cross(operand, layers_[i], borders);
    }
    for (const Output& output : graph_.outputs) cross(output.value, std::nullopt, borders);
    return borders;
  }

  // [1]: the largest root mean square; 0 of nothing.
  static Value norm_of(Emitter& b, const std::vector<Value>& values) {
    Value largest = b.scalar(0, DType::f32);
    for (Value value : values) {
      Value wide = b.cast_to(value, DType::f32);
      std::vector<int64_t> axes(b.shape(value).size());
      std::iota(axes.begin(), axes.end(), 0);
      Value squares = b.mul({wide, wide});
      if (!axes.empty()) squares = b.mean({squares}, {{"axes", axes}});
      Value norm = b.sqrt({squares});
      largest = value == values.front() ? norm : b.maximum({largest, norm});
    }
    return b.reshape_to(largest, {1});
  }

  void add_layers(Emitter& b, Observation& result) const {
    std::vector<Value> ins;
    std::vector<Value> outs;
    const std::vector<Borders> borders = find_borders();
    for (size_t i = 0; i < names_.size(); ++i) {
      const Borders& border = borders[i];
      if (border.leaving.empty()) continue;
      std::vector<Value> entering(border.entering.begin(), border.entering.end());
      std::vector<Value> alike;
      for (Value value : entering) {
        const Type& type = graph_.type(value);
        if (type == graph_.type(*border.leaving.begin())) alike.push_back(value);
      }
      result.layers.push_back({names_[i], !entering.empty(), !alike.empty()});
      ins.push_back(norm_of(b, alike.empty() ? entering : alike));
      outs.push_back(norm_of(b, {border.leaving.begin(), border.leaving.end()}));
    }
    if (ins.empty()) return;
    const Attrs first{{"axis", int64_t{0}}};
    result.graph.outputs.push_back({kInputNorms, b.emit(Op::concat, ins, first), {}});
    result.graph.outputs.push_back({kOutputNorms, b.emit(Op::concat, outs, first), {}});
  }

  void add_attentions(Emitter& b, Observation& result) const {
    std::set<std::string> taken;
    for (uint32_t i = 0; i < graph_.nodes().size(); ++i) {
      const Node& node = graph_[i];
      if (!live_[i] || node.op != Op::attention) continue;
      ObservedAttention found;
      found.output = cat("weights.", result.attentions.size());
      found.name = layers_[i] ? names_[*layers_[i]] : "";
      if (found.name.empty() || !taken.insert(found.name).second) {
        found.name = cat("attention.", result.attentions.size());
      }
      Value weights = attention_weights(b, node, node.operands);
      const Shape shape = b.shape(weights);
      found.row_input = input_along(shape[shape.size() - 2]);
      found.column_input = input_along(shape.back());
      result.graph.outputs.push_back({found.output, weights, {}});
      result.attentions.push_back(std::move(found));
    }
  }

  std::string input_along(const Dim& size) const {
    std::string found;
    if (size.is_constant()) return found;
    for (Value input : graph_.inputs()) {
      const Type& type = graph_.type(input);
      if (type.rank() != 2 || !is_integer(type.dtype) || type.shape[1] != size) continue;
      if (!found.empty()) return "";
      found = graph_.input_name(input);
    }
    return found;
  }

  const Module& module_;
  const Graph& graph_;
  const std::vector<std::string>& names_;
  std::vector<bool> live_;
  std::vector<Layer> layers_;  // the rest by node
  std::vector<bool> from_param_;
  std::vector<bool> from_input_;
};

}  // namespace

Observation make_observe(const Module& module, const Graph& graph,
                         const std::vector<std::string>& layers) {
  return Observer(module, graph, layers).build();
}

}  // namespace weft
