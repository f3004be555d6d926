// SPDX-License-Identifier: Apache-2.0
#include "tests/support/shrink.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "ir/support/check.h"

namespace weft {
namespace {

constexpr int kMaxTries = 4000;

// What stands for the results of one node: a value before it, or new inputs.
struct Cut {
  uint32_t node = 0;
  std::optional<Value> by;
};

// Copies what is alive, without merging anything.
class Copier {
 public:
  Copier(const Module& module, const Graph& graph, std::optional<Cut> cut)
      : module_(module), graph_(graph), cut_(cut), copy_(graph.name()) {}

  Graph run() {
    std::vector<bool> live = find_live();
    mapped_.resize(graph_.nodes().size());
    for (uint32_t i = 0; i < graph_.nodes().size(); ++i) {
      if (live[i]) copy_node(i);
    }
    for (Output output : graph_.outputs) {
      output.value = map(output.value);
      copy_.outputs.push_back(std::move(output));
    }
    for (Update update : graph_.updates) {
      update.value = map(update.value);
      copy_.updates.push_back(std::move(update));
    }
    return std::move(copy_);
  }

 private:
  bool is_cut(uint32_t node) const { return cut_ && cut_->node == node; }
  Value effective(Value value) const { return is_cut(value.node) && cut_->by ? *cut_->by : value; }
  Value map(Value value) const {
    value = effective(value);
    return mapped_[value.node][value.result];
  }

  std::vector<bool> find_live() const {
    std::vector<bool> live(graph_.nodes().size(), false);
    auto mark = [&](Value value) { live[effective(value).node] = true; };
    for (const Output& output : graph_.outputs) mark(output.value);
    for (const Update& update : graph_.updates) mark(update.value);
    for (uint32_t i = static_cast<uint32_t>(live.size()); i-- > 0;) {
      if (!live[i] || is_cut(i)) continue;
      std::ranges::for_each(graph_[i].operands, mark);
    }
    return live;
  }

  void copy_node(uint32_t index) {
    const Node& node = graph_[index];
    std::vector<Value>& results = mapped_[index];
    if (is_cut(index)) {
      for (size_t r = 0; r < node.types.size(); ++r) {
        results.push_back(copy_.add_input(cat("cut", index, "_", r), node.types[r]));
      }
    } else if (node.op == Op::input) {
      results = {copy_.add_input(graph_.input_name({index, 0}), node.types[0])};
    } else if (node.op == Op::param) {
      results = {copy_.read_param(node.attrs.text("name"), node.types[0])};
    } else {
      Node same = node;
      for (Value& operand : same.operands) operand = map(operand);
      Result<Value> value = copy_.append(std::move(same), module_.dims);
      WEFT_CHECK(value.ok(), "a copy is valid: " + render(value.diagnostics()));
      for (uint32_t r = 0; r < node.types.size(); ++r) results.push_back({value->node, r});
    }
  }

  const Module& module_;
  const Graph& graph_;
  std::optional<Cut> cut_;
  Graph copy_;
  std::vector<std::vector<Value>> mapped_;
};

// The same node without name, provenance and number of recomputation.
Graph plain(const Module& module, const Graph& graph) {
  Graph copy(graph.name());
  for (const Node& node : graph.nodes()) {
    Node bare{node.op, node.operands, node.attrs, {}, {}, {}, {}, 0, node.body};
    if (node.op == Op::input) {
      copy.add_input(node.attrs.text("name"), node.types[0]);
    } else if (node.op == Op::param) {
      copy.read_param(node.attrs.text("name"), node.types[0]);
    } else {
      WEFT_CHECK(copy.append(std::move(bare), module.dims).ok(), "a copy is valid");
    }
  }
  copy.outputs = graph.outputs;
  copy.updates = graph.updates;
  return copy;
}

void forget_unused_storage(Module& module) {
  std::set<std::string> used;
  for (const Graph& graph : module.graphs) {
    for (const Node& node : graph.nodes()) {
      if (node.op == Op::param) used.insert(node.attrs.text("name"));
    }
    for (const Update& update : graph.updates) used.insert(update.target);
  }
  std::erase_if(module.storage, [&](const Storage& entry) { return !used.contains(entry.name); });
}

class Shrinker {
 public:
  Shrinker(Module module, const std::function<bool(const Module&)>& fails)
      : best_(std::move(module)), fails_(fails) {}

  Module run() {
    for (bool changed = true; changed && tries_ < kMaxTries;) {
      changed = false;
      for (size_t g = 0; g < best_.graphs.size(); ++g) {
        if (drop_ends(g)) changed = true;
        if (cut_nodes(g)) changed = true;
      }
    }
    for (size_t g = 0; g < best_.graphs.size(); ++g) accept(g, plain(best_, best_.graphs[g]));
    return std::move(best_);
  }

 private:
  bool accept(size_t g, Graph graph) {
    if (++tries_ > kMaxTries) return false;
    Module candidate = best_;
    candidate.graphs[g] = std::move(graph);
    forget_unused_storage(candidate);
    if (!fails_(candidate)) return false;
    best_ = std::move(candidate);
    return true;
  }

  // Outputs and updates, the last first.
  bool drop_ends(size_t g) {
    bool changed = false;
    auto try_without = [&](auto member) {
      for (size_t i = (best_.graphs[g].*member).size(); i-- > 0;) {
        Graph graph = best_.graphs[g];
        if (graph.outputs.size() + graph.updates.size() == 1) return;
        (graph.*member).erase((graph.*member).begin() + static_cast<std::ptrdiff_t>(i));
        if (accept(g, Copier(best_, graph, {}).run())) changed = true;
      }
    };
    try_without(&Graph::outputs);
    try_without(&Graph::updates);
    return changed;
  }

  bool cut_nodes(size_t g) {
    bool changed = false;
    for (size_t i = best_.graphs[g].nodes().size(); i-- > 0;) {
      // A successful cut may have dropped more than one node.
      if (i < best_.graphs[g].nodes().size() && cut_node(g, static_cast<uint32_t>(i))) {
        changed = true;
      }
    }
    return changed;
  }

  bool cut_node(size_t g, uint32_t index) {
    const Graph graph = best_.graphs[g];
    const Node& node = graph[index];
    if (node.op == Op::input || node.op == Op::constant) return false;
    if (node.types.size() == 1) {
      for (Value operand : node.operands) {
        if (!(graph.type(operand) == node.types[0])) continue;
        if (accept(g, Copier(best_, graph, Cut{index, operand}).run())) return true;
      }
    }
    return accept(g, Copier(best_, graph, Cut{index, {}}).run());
  }

  Module best_;
  const std::function<bool(const Module&)>& fails_;
  int tries_ = 0;
};

}  // namespace

Module shrink(Module module, const std::function<bool(const Module&)>& fails) {
  return Shrinker(std::move(module), fails).run();
}

}  // namespace weft
