// SPDX-License-Identifier: Apache-2.0
#include "passes/flatten_optimizer.h"

#include <algorithm>
#include <map>

#include "ir/graph/rebuild.h"
#include "passes/flatten_groups.h"

namespace weft {
namespace {

Value flat(Emitter& b, const std::vector<Value>& values) {
  std::vector<Value> parts;
  for (Value value : values) parts.push_back(b.reshape_to(value, {element_count(b.shape(value))}));
  return b.emit(Op::concat, std::move(parts), {{"axis", int64_t{0}}});
}

class Flattener {
 public:
  Flattener(const Module& module, const Graph& graph, std::vector<StepGroup> groups)
      : module_(module), graph_(graph), groups_(std::move(groups)) {}

  Graph run() {
    Graph result = rebuild(module_, graph_,
                           [&](Emitter& b, const Node& node, const std::vector<Value>& operands) {
                             return replace(b, node, operands);
                           });
    Emitter b(module_, result);
    for (const StepGroup& group : groups_) emit_step(b, group);
    for (Update& update : result.updates) {
      if (auto value = updated_.find(update.target); value != updated_.end()) {
        update.value = value->second;
      }
    }
    return rebuild(module_, result);  // merges the flat gradients of norm and step, drops the rest
  }

 private:
  // A step's new operands are remembered; what it read stands in for its results until the end.
  std::optional<std::vector<Value>> replace(Emitter& b, const Node& node,
                                            const std::vector<Value>& operands) {
    const auto index = static_cast<uint32_t>(&node - graph_.nodes().data());
    for (const StepGroup& group : groups_) {
      if (std::ranges::find(group.steps, index) != group.steps.end()) {
        operands_[index] = operands;
        std::vector<Value> stand_ins;
        for (size_t r = 0; r < node.types.size(); ++r) {
          stand_ins.push_back(operands[stored_operand(r)]);
        }
        return stand_ins;
      }
      if (node.op == Op::select && group.guard == node.operands[0])
        guards_[*group.guard] = operands[0];
      if (node.op == Op::global_norm) {
        if (auto norm = norm_of(b, group, node, operands)) return {{*norm}};
      }
    }
    return std::nullopt;
  }

  // The norm of a group's gradients, in the group's order.
  std::optional<Value> norm_of(Emitter& b, const StepGroup& group, const Node& node,
                               const std::vector<Value>& operands) const {
    std::map<Value, Value> now;
    for (size_t i = 0; i < operands.size(); ++i) now[node.operands[i]] = operands[i];
    if (now.size() != group.gradients.size() || operands.size() != now.size()) return std::nullopt;
    std::vector<Value> ordered;
    for (Value gradient : group.gradients) {
      auto found = now.find(gradient);
      if (found == now.end()) return std::nullopt;
      ordered.push_back(found->second);
    }
    const Value norm = b.global_norm({flat(b, ordered)});
    return b.type(norm) == node.types[0] ? std::optional(norm) : std::nullopt;
  }

  void emit_step(Emitter& b, const StepGroup& group) {
    const Node& first = graph_[group.steps[0]];
    const size_t stored = first.types.size();
    Provenance origin;
    for (uint32_t step : group.steps) origin = unite(origin, graph_[step].origin);
    b.set_origin(origin, first.loc);
    std::vector<Value> operands;
    for (size_t k = 0; k <= stored; ++k) {
      std::vector<Value> parts;
      for (uint32_t step : group.steps) {
        const Value operand = operands_.at(step)[k];
        parts.push_back(k == 1 && group.factor ? unscaled(b.graph(), operand, group, step)
                                               : operand);
      }
      operands.push_back(flat(b, parts));
      if (k == 1 && group.factor) operands[1] = b.mul({operands[1], factor_of(b.graph(), group)});
    }
    const std::vector<Value>& any = operands_.at(group.steps[0]);
    operands.insert(operands.end(), any.begin() + static_cast<std::ptrdiff_t>(stored) + 1,
                    any.end());
    const std::vector<Value> old = operands;
    Attrs attrs = first.attrs;
    const std::optional<Value> decay = decays(b, group);
    if (decay) attrs.set(kDecay, 0.0);
    if (decay && first.op != Op::adamw) {
      operands[1] = b.add({operands[1], b.mul({*decay, operands[0]})});
    }
    const Value flat_step = b.emit(first.op, std::move(operands), attrs);
    std::vector<Value> results;
    for (uint32_t r = 0; r < stored; ++r) results.push_back({flat_step.node, r});
    if (decay && first.op == Op::adamw) {
      const Value lost = b.mul({old[stored + 1], b.mul({*decay, old[0]})});
      results[0] = b.sub({results[0], lost});
    }
    for (uint32_t r = 0; r < stored && group.guard; ++r) {
      results[r] = b.select({guards_.at(*group.guard), results[r], old[stored_operand(r)]});
    }
    emit_updates(b, group, results);
  }

  // The decay of each element, where steps differ in it.
  std::optional<Value> decays(Emitter& b, const StepGroup& group) const {
    auto decay = [&](size_t i) { return graph_[group.steps[i]].attrs.real(kDecay); };
    const DType dtype = graph_[group.steps[0]].types[0].dtype;
    Dim total = 0;
    for (uint32_t step : group.steps) total = total + element_count(graph_[step].types[0].shape);
    std::optional<Value> result;
    Dim start = total;
    for (size_t i = group.steps.size(); i-- > 0;) {
      start = start - element_count(graph_[group.steps[i]].types[0].shape);
      if (i == 0 || decay(i) == decay(i - 1)) continue;
      const Value at = b.iota({}, {{"shape", Shape{total}}});
      const Value later = result ? *result : b.scalar(decay(i), dtype);
      const Value before = b.lt({at, b.scalar(static_cast<double>(start.constant()), DType::i32)});
      result = b.select({before, b.scalar(decay(i - 1), dtype), later});
    }
    return result;
  }

  // Which operand of a step's `mul` is the common factor.
  size_t factor_at(const StepGroup& group, uint32_t step) const {
    return graph_.node(graph_[step].operands[1]).operands[0] == *group.factor ? 0 : 1;
  }
  Value unscaled(const Graph& now, Value gradient, const StepGroup& group, uint32_t step) const {
    return now.node(gradient).operands[1 - factor_at(group, step)];
  }
  Value factor_of(const Graph& now, const StepGroup& group) const {
    const Value gradient = operands_.at(group.steps[0])[1];
    return now.node(gradient).operands[factor_at(group, group.steps[0])];
  }

  void emit_updates(Emitter& b, const StepGroup& group, const std::vector<Value>& results) {
    Dim start = 0;
    for (uint32_t step : group.steps) {
      const Shape shape = graph_[step].types[0].shape;
      const Dim end = start + element_count(shape);
      for (uint32_t r = 0; r < graph_[step].types.size(); ++r) {
        const Value part =
            b.slice({results[r]}, {{"starts", Shape{start}}, {"limits", Shape{end}}});
        const Node& stored = graph_.node(graph_[step].operands[stored_operand(r)]);
        updated_[stored.attrs.text("name")] = b.reshape_to(part, shape);
      }
      start = end;
    }
  }

  const Module& module_;
  const Graph& graph_;
  const std::vector<StepGroup> groups_;
  std::map<uint32_t, std::vector<Value>> operands_;  // of each step, in the new graph
  std::map<Value, Value> guards_;                    // in the new graph, by those of the old one
  std::map<std::string, Value> updated_;
};

}  // namespace

Result<bool> flatten_optimizer(Module& module, const PassOptions&) {
  bool changed = false;
  for (Graph& graph : module.graphs) {
    std::vector<StepGroup> groups = find_step_groups(graph);
    if (groups.empty()) continue;
    graph = Flattener(module, graph, std::move(groups)).run();
    changed = true;
  }
  return changed;
}

}  // namespace weft
