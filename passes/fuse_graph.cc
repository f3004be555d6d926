// A graph as fuse sees it: who reads whom, and what may be joined.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "passes/fuse_clusters.h"
#include "passes/views.h"

namespace weft {
namespace {

constexpr size_t kMaxLightWork = 6;      // ops that are rather computed again than stored
constexpr size_t kMaxOperandWork = 2;    // the same on a product's operand
constexpr int64_t kMiddlingSize = 64;    // of a symbol
constexpr int64_t kFewestPacked = 4096;  // elements of a concat that is laid out by the plan

bool is_free_leaf(Op op) { return op == Op::constant || op == Op::iota || op == Op::random_bits; }

// Flat parts one after the other: the plan places them side by side, and nothing is copied.
bool is_pack(const Graph& graph, const Node& node, const DimFacts& facts) {
  if (node.op != Op::concat || node.types[0].rank() != 1) return false;
  const Dim& count = node.types[0].shape[0];
  if (!count.is_constant() || count.constant() < kFewestPacked) return false;
  return std::ranges::all_of(node.operands, [&](Value operand) {
    const View view = view_of(graph, operand, facts);
    const Op op = graph.node(view.base).op;
    return op != Op::constant && op != Op::input &&
           is_contiguous(view, graph.type(operand).shape, facts);
  });
}

bool belongs_in_region(const Graph& graph, uint32_t index, const DimFacts& facts) {
  const Node& node = graph[index];
  if (is_pack(graph, node, facts)) return false;
  if (is_reduction(node)) {
    return std::holds_alternative<RegionForm>(region_form({&graph, {index}, {{index, 0}}}, facts));
  }
  return is_pointwise(node) || is_sink(node) || node.op == Op::matmul;
}

}  // namespace

FuseGraph::FuseGraph(const Module& module, const Graph& graph)
    : graph_(graph), facts_(module.dims) {
  const size_t count = graph.nodes().size();
  live_.assign(count, false);
  light_.assign(count, false);
  outside_.assign(count, false);
  reads_.resize(count);
  for (const Node& node : graph.nodes()) {
    users_.emplace_back(node.types.size());
    leaves_.emplace_back(node.types.size(), false);
    for (const std::string& symbol : symbols_of(node)) {
      DimFacts::Bounds bounds = facts_.bounds_of(Dim::symbol(symbol));
      middling_[symbol] = std::clamp(kMiddlingSize, bounds.low, bounds.high);
    }
  }
  find_live();
  find_outside();
  find_light();
  keep_what_leaves();
  link();
}

void FuseGraph::find_live() {
  for (const Output& output : graph_.outputs) live_[output.value.node] = true;
  for (const Update& update : graph_.updates) live_[update.value.node] = true;
  for (size_t i = live_.size(); i-- > 0;) {
    if (!live_[i]) continue;
    for (Value operand : graph_.nodes()[i].operands) live_[operand.node] = true;
  }
}

void FuseGraph::find_outside() {
  for (uint32_t i = 0; i < live_.size(); ++i) {
    outside_[i] = !belongs_in_region(graph_, i, facts_);
  }
}

// `work` is what computing it takes, its light operands included.
bool FuseGraph::can_be_light(uint32_t index, size_t work) const {
  const Node& node = graph_[index];
  if (!is_plain(node) || is_costly(node) || node.op == Op::mod || node.op == Op::floordiv) {
    return false;
  }
  bool from_outside = false;
  for (Value operand : node.operands) {
    Value base = operand;
    while (light_[base.node] && info(graph_.node(base).op).has(kView)) {
      base = graph_.node(base).operands[0];
    }
    if (!light_[base.node]) {
      const Op op = graph_.node(base).op;
      if (op != Op::input && op != Op::param) return false;
      from_outside = true;
    }
  }
  // A mask takes less time to compute than to load; a number of an input may as well be stored.
  return work <= kMaxLightWork && (!from_outside || node.types[0].dtype == DType::boolean);
}

void FuseGraph::find_light() {
  work_.assign(live_.size(), 0);
  for (uint32_t i = 0; i < live_.size(); ++i) {
    const Node& node = graph_[i];
    if (!live_[i] || outside_[i] || node.instance != 0) continue;
    for (Value operand : node.operands) work_[i] += work_[operand.node];
    if (is_free_leaf(node.op)) {
      light_[i] = true;
    } else if (info(node.op).has(kView)) {
      light_[i] = is_free_view(graph_, {i, 0}, facts_);
    } else {
      light_[i] = can_be_light(i, ++work_[i]);
    }
    if (!light_[i]) work_[i] = 0;
  }
}

// What is returned, stored, or read by a node outside of regions has to be in memory.
void FuseGraph::keep(Value value) {
  while (light_[value.node] && info(graph_.node(value).op).has(kView)) {
    value = graph_.node(value).operands[0];
  }
  light_[value.node] = light_[value.node] && graph_.node(value).op == Op::constant;
}

void FuseGraph::keep_what_leaves() {
  for (const Output& output : graph_.outputs) keep(output.value);
  for (const Update& update : graph_.updates) keep(update.value);
  for (uint32_t i = 0; i < live_.size(); ++i) {
    if (live_[i] && outside_[i]) {
      for (Value operand : graph_[i].operands) keep(operand);
    } else if (live_[i] && is_sink(graph_[i])) {
      keep(graph_[i].operands[0]);  // a scatter's: it writes into it
    } else if (live_[i] && graph_[i].op == Op::matmul) {
      for (Value operand : graph_[i].operands) {
        if (work_[operand.node] > kMaxOperandWork) keep(operand);
      }
    }
  }
}

void FuseGraph::link() {
  // Light nodes pass on what they read.
  for (uint32_t i = 0; i < live_.size(); ++i) {
    if (!live_[i]) continue;
    std::set<Value> reads;
    for (Value operand : graph_[i].operands) {
      if (light_[operand.node]) {
        reads.insert(reads_[operand.node].begin(), reads_[operand.node].end());
      } else {
        reads.insert(operand);
      }
    }
    reads_[i].assign(reads.begin(), reads.end());
    if (light_[i]) continue;
    for (Value read : reads) users_[read.node][read.result].push_back(i);
  }
  auto mark = [&](Value value) {
    leaves_[value.node][value.result] = true;
    if (!light_[value.node]) return;
    for (Value read : reads_[value.node]) leaves_[read.node][read.result] = true;
  };
  for (const Output& output : graph_.outputs) mark(output.value);
  for (const Update& update : graph_.updates) mark(update.value);
}

double FuseGraph::bytes(Value value) const {
  const Type& type = graph_.type(value);
  const std::optional<int64_t> count = element_count(type.shape).evaluate(middling_);
  return static_cast<double>(count.value_or(int64_t{1} << 40)) * byte_size(type.dtype);
}

}  // namespace weft
