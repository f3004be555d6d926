// What `fuse` did, told after the fact with the predicates that decided it.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>

#include "ir/graph/flops.h"
#include "ir/graph/region.h"
#include "passes/fuse.h"
#include "passes/regions.h"

namespace weft {
namespace {

bool is_view(const Node& node) { return info(node.op).has(kView); }

// Two regions of a graph, and whether they could be one.
class Pair {
 public:
  Pair(const Module& module, const Graph& graph, uint32_t producer, uint32_t consumer)
      : module_(module),
        graph_(graph),
        producer_(producer),
        consumer_(consumer),
        out_(module, joined_) {}

  std::string reason() {
    const Part part = join();
    FormOrRefusal form = region_form(part, module_.dims);
    if (auto* refusal = std::get_if<Refusal>(&form)) return *refusal;
    auto repeated = repeated_work(part, std::get<RegionForm>(form), module_.dims);
    if (repeated) return *repeated;
    if (std::optional<uint32_t> via = way_around()) {
      return cat("cycle through %", graph_[*via].names[0]);
    }
    const size_t readers = others();
    if (readers > 0) return cat("result has ", readers, " other reader", readers == 1 ? "" : "s");
    return "would store no tensor less";
  }

 private:
  // Both bodies in one graph.
  Part join() {
    const Node& producer = graph_[producer_];
    std::vector<Value> operands;
    for (Value operand : producer.operands) operands.push_back(inside(operand));
    const std::vector<Value> made = inline_region(out_, producer, operands);
    for (uint32_t r = 0; r < made.size(); ++r) known_[{producer_, r}] = made[r];
    operands.clear();
    for (Value operand : graph_[consumer_].operands) operands.push_back(inside(operand));
    const std::vector<Value> results = inline_region(out_, graph_[consumer_], operands);

    Part part{&joined_, {}, {results.begin(), results.end()}};
    for (uint32_t i = 0; i < joined_.nodes().size(); ++i) {
      if (joined_[i].op != Op::input) part.nodes.push_back(i);
    }
    for (uint32_t r = 0; r < made.size(); ++r) {
      if (is_read_elsewhere({producer_, r})) part.results.insert(made[r]);
    }
    return part;
  }

  // A value of the graph: the producer's, seen through views, or an input.
  Value inside(Value value) {
    auto known = known_.find(value);
    if (known != known_.end()) return known->second;
    Value base = value;
    while (is_view(graph_.node(base))) base = graph_.node(base).operands[0];
    Value made;
    if (base.node == producer_ && is_view(graph_.node(value))) {
      const Node& node = graph_.node(value);
      made = out_.emit(node.op, {inside(node.operands[0])}, node.attrs);
    } else {
      made = joined_.add_input(cat("input", known_.size()), graph_.type(value));
    }
    known_[value] = made;
    return made;
  }

  bool is_read_elsewhere(Value value) const {
    auto leaves = [&](const auto& item) { return item.value == value; };
    if (std::ranges::any_of(graph_.outputs, leaves)) return true;
    if (std::ranges::any_of(graph_.updates, leaves)) return true;
    for (uint32_t i = 0; i < graph_.nodes().size(); ++i) {
      const std::vector<Value>& operands = graph_[i].operands;
      if (std::ranges::find(operands, value) == operands.end() || i == consumer_) continue;
      if (!is_view(graph_[i]) || is_read_elsewhere({i, 0})) return true;
    }
    return false;
  }

  size_t others() const {
    std::set<uint32_t> readers;
    std::vector<uint32_t> open = {producer_};
    while (!open.empty()) {
      const uint32_t at = open.back();
      open.pop_back();
      for (uint32_t i = at + 1; i < graph_.nodes().size(); ++i) {
        const bool reads = std::ranges::any_of(graph_[i].operands,
                                               [&](Value operand) { return operand.node == at; });
        if (!reads || i == consumer_) continue;
        if (is_view(graph_[i])) {
          open.push_back(i);
        } else {
          readers.insert(i);
        }
      }
    }
    return readers.size();
  }

  // A region that waits for the producer and that the consumer waits for.
  std::optional<uint32_t> way_around() const {
    std::set<uint32_t> views = {producer_};  // the producer, and what is only a view of it
    std::set<uint32_t> after;
    for (uint32_t i = producer_ + 1; i < consumer_; ++i) {
      for (Value operand : graph_[i].operands) {
        if (after.contains(operand.node)) after.insert(i);
        if (views.contains(operand.node)) (is_view(graph_[i]) ? views : after).insert(i);
      }
    }
    for (Value operand : graph_[consumer_].operands) {
      while (is_view(graph_.node(operand))) operand = graph_.node(operand).operands[0];
      if (after.contains(operand.node)) return operand.node;
    }
    return std::nullopt;
  }

  const Module& module_;
  const Graph& graph_;
  const uint32_t producer_;
  const uint32_t consumer_;
  Graph joined_;
  Emitter out_;
  std::map<Value, Value> known_;
};

Dim bytes_of(const Type& type) { return element_count(type.shape) * byte_size(type.dtype); }

}  // namespace

std::vector<NotJoined> explain_fusion(const Module& module, const Graph& graph) {
  std::vector<NotJoined> all;
  for (uint32_t consumer = 0; consumer < graph.nodes().size(); ++consumer) {
    if (graph[consumer].op != Op::region) continue;
    std::set<uint32_t> producers;
    for (Value operand : graph[consumer].operands) {
      while (is_view(graph.node(operand))) operand = graph.node(operand).operands[0];
      if (graph.node(operand).op == Op::region) producers.insert(operand.node);
    }
    for (uint32_t producer : producers) {
      all.push_back({producer, consumer, Pair(module, graph, producer, consumer).reason()});
    }
  }
  return all;
}

RegionCost region_cost(const Graph& graph, uint32_t node, const DimFacts& facts) {
  RegionCost cost;
  const Graph& body = *graph[node].body;
  for (const Node& inner : body.nodes()) {
    cost.flops = cost.flops + flops_of(body, inner);
    if (inner.op != Op::input && inner.op != Op::constant && !is_view(inner)) ++cost.ops;
  }
  for (Value operand : graph[node].operands) {
    cost.bytes_read = cost.bytes_read + bytes_of(graph.type(operand));
  }
  for (const Type& type : graph[node].types)
    cost.bytes_written = cost.bytes_written + bytes_of(type);
  cost.bytes_read = facts.canonical(cost.bytes_read);
  cost.bytes_written = facts.canonical(cost.bytes_written);
  cost.flops = facts.canonical(cost.flops);
  return cost;
}

}  // namespace weft
