// SPDX-License-Identifier: Apache-2.0
#include "tests/support/random_graph.h"

#include <algorithm>
#include <iterator>

#include "ir/support/check.h"
#include "tests/support/graph_maker.h"

namespace weft {
namespace {

using MakeFn = void (*)(GraphMaker& m);

constexpr MakeFn kMakers[] = {
#define OP(name, ...) make_##name,
#include "ir/graph/ops.def"
#undef OP
};
static_assert(std::size(kMakers) == kOpCount);

// More than any row and the end of a graph append.
constexpr int kReserve = 20;

std::vector<int64_t> every_axis(const Shape& shape) {
  std::vector<int64_t> axes(shape.size());
  for (size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<int64_t>(i);
  return axes;
}

// Mostly in turn, so that a run of seeds uses all ops about equally often.
int64_t in_turn(uint64_t seed, uint64_t i) {
  constexpr uint64_t kStep = 37;   // neighbours in the table do not follow each other
  constexpr uint64_t kStart = 13;  // about as many as a graph takes
  return static_cast<int64_t>((seed * kStart + i) * kStep % kOpCount);
}

bool shares(const Graph& graph) {
  std::vector<std::vector<uint32_t>> uses = count_uses(graph);
  return std::ranges::any_of(uses, [](const std::vector<uint32_t>& results) {
    return std::ranges::any_of(results, [](uint32_t count) { return count > 1; });
  });
}

}  // namespace

// State that the graph does not compute with otherwise: a copy kept for the next call.
void GraphMaker::add_states() {
  for (int64_t i = below(3); i > 0; --i) {
    Value value = any(kAny);
    const Type kept = type(value);
    if (!element_count(kept.shape).is_constant()) continue;
    std::string name = cat("kept", i);
    module_.storage.push_back({Storage::state, name, kept, {Init::zeros, 0}});
    add_update(name, value);
  }
  // A parameter that was read may change too.
  for (const Storage& entry : module_.storage) {
    auto same_target = [&](const Update& update) { return update.target == entry.name; };
    if (std::ranges::any_of(graph_.updates, same_target) || !chance(0.1)) continue;
    std::vector<Value> choices;
    for (Value value : pool_) {
      if (type(value) == entry.type) choices.push_back(value);
    }
    if (std::optional<Value> value = find(choices)) add_update(entry.name, *value);
  }
}

void GraphMaker::add_loss() {
  const DType total = either(0.5, DType::f32, DType::f64);
  std::optional<Value> sum;
  for (int64_t i = between(1, 2); i > 0; --i) {
    Value value = any(kFloat);
    Value mean = emit(Op::mean, {value}, {{"axes", every_axis(shape(value))}});
    if (dtype(mean) != total) mean = emit(Op::cast, {mean}, {{"dtype", total}}, bound(mean));
    sum = sum ? emit(Op::add, {*sum, mean}, {}, bound(*sum) + bound(mean)) : mean;
  }
  graph_.outputs.push_back({"loss", *sum});
}

// What nobody uses is returned; now and then something stays dead.
void GraphMaker::add_outputs() {
  std::vector<std::vector<uint32_t>> uses = count_uses(graph_);
  int count = 0;
  for (uint32_t node = 0; node < graph_.nodes().size(); ++node) {
    if (info(graph_[node].op).has(kStructural) || graph_[node].op == Op::constant) continue;
    for (uint32_t result = 0; result < uses[node].size(); ++result) {
      if (uses[node][result] > 0 || chance(0.03)) continue;
      graph_.outputs.push_back({cat("y", count++), {node, result}});
    }
  }
  if (graph_.outputs.empty()) {
    graph_.outputs.push_back({"y", {static_cast<uint32_t>(graph_.nodes().size() - 1), 0}});
  }
}

void GraphMaker::finish() {
  add_states();
  if (loss_) add_loss();
  add_outputs();
}

Module random_module(uint64_t seed, const RandomOptions& options) {
  Module module;
  module.name = cat("random.", seed);
  Graph graph("forward");
  GraphMaker m(module, graph, seed, options);
  auto size = [&] { return m.between(options.min_ops, options.max_ops - kReserve); };
  const int64_t target = std::max(size(), size());
  // What every graph has.
  make_matmul(m);
  make_transpose(m);
  make_sum(m);
  for (uint64_t i = 0; m.op_count() < target || !shares(graph); ++i) {
    MakeFn make = kMakers[m.chance(0.3) ? m.below(kOpCount) : in_turn(seed, i)];
    make(m);
    if (m.op_count() >= target || !m.chance(0.15)) continue;
    m.follow();
    make(m);
  }
  m.finish();
  module.graphs.push_back(std::move(graph));
  return module;
}

}  // namespace weft
