// SPDX-License-Identifier: Apache-2.0
#include "passes/flatten_groups.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "ir/graph/rebuild.h"

namespace weft {
namespace {

class Finder {
 public:
  explicit Finder(const Graph& graph) : graph_(graph), uses_(count_uses(graph)) {
    for (const Update& update : graph.updates) targets_[update.value].insert(update.target);
    for (uint32_t i = 0; i < graph.nodes().size(); ++i) {
      if (graph[i].op == Op::select) selects_[graph[i].operands[1]] = i;
    }
  }

  std::vector<StepGroup> run() const {
    std::vector<StepGroup> groups;
    for (uint32_t i = 0; i < graph_.nodes().size(); ++i) {
      if (!info(graph_[i].op).has(kOptimizer) || !can_be_flat(i)) continue;
      auto fits = [&](const StepGroup& group) { return alike(group.steps[0], i); };
      auto found = std::ranges::find_if(groups, fits);
      if (found == groups.end()) found = groups.insert(groups.end(), StepGroup{});
      found->steps.push_back(i);
      found->guard = guard_of(i);
    }
    std::erase_if(groups, [](const StepGroup& group) { return group.steps.size() < 2; });
    for (StepGroup& group : groups) {
      // What decays alike lies together.
      std::ranges::stable_sort(group.steps, std::greater(),
                               [&](uint32_t step) { return graph_[step].attrs.real(kDecay); });
      find_factor(group);
    }
    return groups;
  }

 private:
  bool can_be_flat(uint32_t index) const {
    const Node& step = graph_[index];
    for (const Dim& dim : step.types[0].shape) {
      if (!dim.is_constant()) return false;
    }
    for (uint32_t r = 0; r < step.types.size(); ++r) {
      const Node& stored = graph_.node(step.operands[stored_operand(r)]);
      if (stored.op != Op::param || uses_[index][r] != 1) return false;
      if (guard_of(index, r) != guard_of(index)) return false;
      auto target = targets_.find(kept(index, r));
      if (target == targets_.end()) return false;
      if (!target->second.contains(stored.attrs.text("name"))) return false;
    }
    return true;
  }

  // The select(guard, result, stored) that is a result's only use; null if it is used otherwise.
  const Node* select_of(uint32_t index, uint32_t r) const {
    auto found = selects_.find({index, r});
    if (found == selects_.end() || uses_[found->second][0] != 1) return nullptr;
    const Node& select = graph_[found->second];
    const bool whole = select.operands[2] == graph_[index].operands[stored_operand(r)] &&
                       graph_.type(select.operands[0]).rank() == 0;
    return whole ? &select : nullptr;
  }
  std::optional<Value> guard_of(uint32_t index, uint32_t r = 0) const {
    const Node* select = select_of(index, r);
    return select == nullptr ? std::nullopt : std::optional(select->operands[0]);
  }
  // What the update stores: the result, or what its guard leaves of it.
  Value kept(uint32_t index, uint32_t r) const {
    if (select_of(index, r) == nullptr) return {index, r};
    return {selects_.at({index, r}), 0};
  }

  bool alike(uint32_t a, uint32_t b) const {
    const Node& x = graph_[a];
    const Node& y = graph_[b];
    if (x.op != y.op || guard_of(a) != guard_of(b)) return false;
    Attrs attrs = x.attrs;
    // Decay may differ where it can be applied beside the step without a rounding of its own.
    if (byte_size(x.types[0].dtype) >= 4) attrs.set(kDecay, y.attrs.real(kDecay));
    if (!(attrs == y.attrs)) return false;
    for (size_t i = 0; i < x.operands.size(); ++i) {
      const bool shared = i > x.types.size();  // learning rate, step
      if (shared ? x.operands[i] != y.operands[i]
                 : graph_.type(x.operands[i]).dtype != graph_.type(y.operands[i]).dtype) {
        return false;
      }
    }
    return true;
  }

  // gradient = other * factor; returns other.
  std::optional<Value> without(Value gradient, Value factor) const {
    const Node& node = graph_.node(gradient);
    if (node.op != Op::mul) return std::nullopt;
    for (size_t i = 0; i < 2; ++i) {
      const Value other = node.operands[1 - i];
      if (node.operands[i] == factor && graph_.type(other) == graph_.type(gradient)) return other;
    }
    return std::nullopt;
  }

  void find_factor(StepGroup& group) const {
    for (uint32_t step : group.steps) group.gradients.push_back(graph_[step].operands[1]);
    const Node& first = graph_.node(group.gradients[0]);
    if (first.op != Op::mul) return;
    for (Value factor : first.operands) {
      if (graph_.type(factor).rank() != 0) continue;
      std::vector<Value> plain;
      for (Value gradient : group.gradients) {
        if (auto other = without(gradient, factor)) plain.push_back(*other);
      }
      if (plain.size() != group.gradients.size()) continue;
      group.gradients = std::move(plain);
      group.factor = factor;
      return;
    }
  }

  const Graph& graph_;
  const std::vector<std::vector<uint32_t>> uses_;
  std::map<Value, std::set<std::string>> targets_;
  std::map<Value, uint32_t> selects_;  // by what they take if their condition holds
};

}  // namespace

std::vector<StepGroup> find_step_groups(const Graph& graph) { return Finder(graph).run(); }

}  // namespace weft
