// SPDX-License-Identifier: Apache-2.0
#include "passes/fuse_build.h"

#include <algorithm>
#include <map>
#include <queue>

#include "ir/graph/region.h"
#include "ir/support/check.h"
#include "ir/text/text.h"

namespace weft {
namespace {

// What becomes one node of the new graph: a cluster, or a node outside of regions.
struct Unit {
  std::vector<uint32_t> nodes;  // of a cluster those that are needed, ascending
  std::vector<Value> inputs;    // of a region: values in memory, or views of them
  std::vector<Value> results;
  std::string kind;  // of the region; empty for a node outside
};

// Units are known by their first node.
using Followers = std::map<uint32_t, std::set<uint32_t>>;

std::vector<uint32_t> topological(std::map<uint32_t, size_t> waits, const Followers& followers) {
  std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> ready;
  for (const auto& [unit, count] : waits) {
    if (count == 0) ready.push(unit);
  }
  std::vector<uint32_t> order;
  while (!ready.empty()) {
    order.push_back(ready.top());
    ready.pop();
    auto found = followers.find(order.back());
    if (found == followers.end()) continue;
    for (uint32_t follower : found->second) {
      if (--waits[follower] == 0) ready.push(follower);
    }
  }
  WEFT_CHECK(order.size() == waits.size(), "clusters do not wait for one another in a circle");
  return order;
}

// Decides what each cluster has to return, computes for itself, and reads.
class Planner {
 public:
  Planner(const Clusters& clusters, const std::vector<bool>& recomputed)
      : clusters_(clusters),
        source_(clusters.source()),
        graph_(clusters.graph()),
        recomputed_(recomputed) {}

  // In an order in which they can be computed. Clusters that nobody wants anything of are left out.
  std::vector<Unit> run() {
    for (const Output& output : graph_.outputs) want(output.value);
    for (const Update& update : graph_.updates) want(update.value);
    const std::vector<uint32_t> order = order_units();
    std::vector<Unit> units;
    // Readers first: what they want of a cluster decides what it needs itself.
    for (size_t i = order.size(); i-- > 0;) {
      if (std::optional<Unit> unit = settle(order[i])) units.push_back(std::move(*unit));
    }
    std::ranges::reverse(units);
    return units;
  }

 private:
  Value base_of(Value value) const {
    while (source_.is_light(value.node) && info(graph_.node(value).op).has(kView)) {
      value = graph_.node(value).operands[0];
    }
    return value;
  }

  void want(Value value) { wanted_.insert(base_of(value)); }

  uint32_t unit_of(uint32_t node) const {
    const ClusterId id = clusters_.of(node);
    return id == kNoCluster ? node : clusters_.nodes(id)[0];
  }

  std::vector<uint32_t> order_units() const {
    std::map<uint32_t, size_t> waits;
    Followers followers;
    for (uint32_t i = 0; i < graph_.nodes().size(); ++i) {
      if (!source_.is_live(i) || source_.is_light(i)) continue;
      waits.try_emplace(unit_of(i), 0);
      for (Value read : source_.reads(i)) {
        const uint32_t from = unit_of(read.node);
        if (from != unit_of(i) && followers[from].insert(unit_of(i)).second) ++waits[unit_of(i)];
      }
    }
    return topological(std::move(waits), followers);
  }

  std::optional<Unit> settle(uint32_t first) {
    const ClusterId id = clusters_.of(first);
    Unit unit;
    if (id == kNoCluster) {
      for (Value operand : graph_[first].operands) want(operand);
      unit.nodes = {first};
      return unit;
    }
    for (uint32_t node : clusters_.nodes(id)) {
      const bool both = graph_[node].op == Op::top_k;  // its kernel makes both anyway
      for (uint32_t r = 0; r < graph_[node].types.size(); ++r) {
        if (both || wanted_.contains({node, r})) unit.results.push_back({node, r});
      }
    }
    if (unit.results.empty()) return std::nullopt;  // every reader computes it
    collect(id, unit);
    FormOrRefusal form = clusters_.form_of(unit.nodes, unit.results);
    const RegionForm* settled = std::get_if<RegionForm>(&form);
    unit.kind = settled != nullptr ? settled->kind : clusters_.form(id).kind;
    for (Value input : unit.inputs) want(input);
    return unit;
  }

  // Nodes and inputs that the results of a cluster need.
  void collect(ClusterId id, Unit& unit) const {
    std::set<uint32_t> needed;
    std::set<uint32_t> seen;
    std::set<Value> inputs;
    std::vector<Value> open(unit.results.rbegin(), unit.results.rend());
    while (!open.empty()) {
      const Value value = open.back();
      open.pop_back();
      if (is_input(value, id)) {
        if (inputs.insert(value).second) unit.inputs.push_back(value);
        continue;
      }
      if (!seen.insert(value.node).second) continue;
      needed.insert(value.node);
      const std::vector<Value>& operands = graph_.node(value).operands;
      open.insert(open.end(), operands.rbegin(), operands.rend());
    }
    unit.nodes.assign(needed.begin(), needed.end());
  }

  // Comes from outside the region as it is; the rest is computed in it.
  bool is_input(Value value, ClusterId id) const {
    const Value base = base_of(value);
    if (source_.is_light(base.node)) return false;
    const ClusterId home = clusters_.of(base.node);
    return home == kNoCluster || (home != id && !recomputed_[base.node]);
  }

  const Clusters& clusters_;
  const FuseGraph& source_;
  const Graph& graph_;
  const std::vector<bool>& recomputed_;
  std::set<Value> wanted_;
};

class Builder {
 public:
  Builder(const Module& module, const Clusters& clusters,
          const std::function<Graph(const Graph&)>& fuse_body)
      : module_(module),
        graph_(clusters.graph()),
        fuse_body_(fuse_body),
        names_(value_names(graph_)),
        result_(graph_.name()),
        out_(module, result_) {}

  Graph run(const std::vector<Unit>& units) {
    result_.loc = graph_.loc;
    for (Value input : graph_.inputs()) {
      outer_[input] =
          result_.add_input(graph_.input_name(input), graph_.type(input), graph_.node(input).loc);
    }
    for (const Unit& unit : units) {
      if (unit.kind.empty()) {
        emit_outside(unit.nodes[0]);
      } else {
        emit_region(unit);
      }
    }
    for (const Output& output : graph_.outputs) {
      result_.outputs.push_back({output.name, outer(output.value), output.loc});
    }
    for (const Update& update : graph_.updates) {
      result_.updates.push_back({update.target, outer(update.value), update.loc});
    }
    return std::move(result_);
  }

 private:
  // A value of the new graph: what a unit returned, or a view of it made on demand.
  Value outer(Value value) {
    auto known = outer_.find(value);
    if (known != outer_.end()) return known->second;
    emit_outside(value.node);
    return outer_.at(value);
  }

  void emit_outside(uint32_t index) {
    const Node& node = graph_[index];
    if (node.op == Op::input) return;
    if (node.op == Op::param) {
      outer_[{index, 0}] = result_.read_param(node.attrs.text("name"), node.types[0], node.loc);
      return;
    }
    Node copy = node;
    copy.operands.clear();
    for (Value operand : node.operands) copy.operands.push_back(outer(operand));
    copy.names = names_of(index);
    if (node.op == Op::chunked) copy.body = std::make_shared<Graph>(fuse_body_(*node.body));
    const uint32_t made = out_.emit_node(std::move(copy));
    for (uint32_t r = 0; r < node.types.size(); ++r) outer_[{index, r}] = {made, r};
  }

  // Values keep the names that they had, so that a fused graph reads like the one before.
  std::string name_of(Value value) const { return names_[value.node][value.result].substr(1); }
  std::vector<std::string> names_of(uint32_t index) const {
    std::vector<std::string> names;
    for (uint32_t r = 0; r < graph_[index].types.size(); ++r) names.push_back(name_of({index, r}));
    if (graph_[index].op == Op::constant) names.assign(1, "");
    return names;
  }

  void emit_region(const Unit& unit) {
    auto body = std::make_shared<Graph>();
    std::map<Value, Value> inside;
    Node region;
    region.op = Op::region;
    region.attrs = {{"kind", unit.kind}};
    std::set<std::string> taken;
    for (uint32_t node : unit.nodes) {
      for (const std::string& known : names_of(node)) taken.insert(known);
    }
    for (Value input : unit.inputs) {
      std::string name = name_of(input);
      while (!taken.insert(name).second) name += "_in";
      inside[input] = body->add_input(name, graph_.type(input), graph_.node(input).loc);
      region.operands.push_back(outer(input));
    }
    emit_body(unit, *body, inside, region.origin);
    for (size_t i = 0; i < unit.results.size(); ++i) {
      body->outputs.push_back({body_output_name(i), inside.at(unit.results[i]), {}});
      region.names.push_back(name_of(unit.results[i]));
    }
    region.loc = graph_.node(unit.results[0]).loc;
    region.body = std::move(body);
    const uint32_t made = out_.emit_node(std::move(region));
    for (uint32_t r = 0; r < unit.results.size(); ++r) outer_[unit.results[r]] = {made, r};
  }

  void emit_body(const Unit& unit, Graph& body, std::map<Value, Value>& inside,
                 Provenance& origin) {
    Emitter emitter(module_, body);
    for (uint32_t index : unit.nodes) {
      const Node& node = graph_[index];
      Node copy = node;
      for (Value& operand : copy.operands) operand = inside.at(operand);
      copy.names = names_of(index);
      const uint32_t made = emitter.emit_node(std::move(copy));
      for (uint32_t r = 0; r < node.types.size(); ++r) inside[{index, r}] = {made, r};
      origin = unite(origin, node.origin);
    }
  }

  const Module& module_;
  const Graph& graph_;
  const std::function<Graph(const Graph&)>& fuse_body_;
  const std::vector<std::vector<std::string>> names_;
  Graph result_;
  Emitter out_;
  std::map<Value, Value> outer_;
};

}  // namespace

Graph build_fused(const Module& module, const Clusters& clusters,
                  const std::vector<bool>& recomputed,
                  const std::function<Graph(const Graph&)>& fuse_body) {
  const std::vector<Unit> units = Planner(clusters, recomputed).run();
  return Builder(module, clusters, fuse_body).run(units);
}

}  // namespace weft
