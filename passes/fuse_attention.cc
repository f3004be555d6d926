// SPDX-License-Identifier: Apache-2.0
#include "passes/fuse_attention.h"

#include <algorithm>
#include <map>
#include <set>

#include "ir/graph/attention.h"
#include "ir/graph/live.h"
#include "ir/graph/rebuild.h"
#include "ir/graph/region.h"
#include "passes/permutation.h"

namespace weft {
namespace {

constexpr int64_t kMaxHeadSize = 1024;  // a tile of rows stays in a near cache

// What somebody needs of the attentions of a graph, and in which order of axes.
struct Wanted {
  std::map<Value, Permutation> layouts;  // how it is read; the last axis stays the last
  std::set<Value> reads;
};

Wanted find_wanted(const Graph& graph) {
  Wanted wanted;
  const std::vector<bool> live = live_nodes(graph);
  for (uint32_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = graph[i];
    if (!live[i]) continue;
    for (Value operand : node.operands) wanted.reads.insert(operand);
    if (node.op != Op::transpose || !is_attention(graph.node(node.operands[0]).op)) continue;
    const Permutation& perm = node.attrs.ints("perm");
    if (perm.empty() || perm.back() + 1 != static_cast<int64_t>(perm.size())) continue;
    wanted.layouts.emplace(node.operands[0], perm);  // the first one decides
  }
  for (const Output& output : graph.outputs) wanted.reads.insert(output.value);
  for (const Update& update : graph.updates) wanted.reads.insert(update.value);
  return wanted;
}

bool has_bias(const Graph& graph, const Node& node) {
  return attention_extras(graph, node.op, node.operands).bias.has_value();
}

// Results of the op that kernels store whatever is wanted.
uint32_t stored_results(Op op) { return op == Op::attention ? 1 : 3; }

// What the region returns: always `out`, and the gradients of q, k and v, which come out of one
// walk.
bool is_result(const Graph& graph, const Wanted& wanted, Value value) {
  const Node& node = graph.node(value);
  if (value.result < stored_results(node.op)) return true;
  return wanted.reads.contains(value) && (node.op == Op::attention || has_bias(graph, node));
}

// A region that holds one op, and the transposes in which its results are stored.
class Committer {
 public:
  Committer(const Graph& graph, const Wanted& wanted) : graph_(graph), wanted_(wanted) {}

  std::optional<std::vector<Value>> operator()(Emitter& b, const Node& node,
                                               const std::vector<Value>& operands) {
    if (!is_attention(node.op) || attention_refusal(graph_, node)) return std::nullopt;
    const auto index = static_cast<uint32_t>(&node - graph_.nodes().data());
    Node region;
    region.op = Op::region;
    region.operands = operands;
    region.attrs = {{"kind", std::string("attention")}};
    region.origin = node.origin;
    region.loc = node.loc;
    region.instance = node.instance;
    const std::vector<std::optional<Permutation>> stored = fill(b.module(), index, region);
    const uint32_t made = b.emit_node(std::move(region));
    std::vector<Value> results;
    uint32_t next = 0;
    for (uint32_t r = 0; r < node.types.size(); ++r) {
      if (!is_result(graph_, wanted_, {index, r})) {
        // Nobody reads it, or it is the gradient of a bias that there is not.
        results.push_back(b.scalar(0, node.types[r].dtype));
        continue;
      }
      const Value value{made, next++};
      const std::optional<Permutation>& perm = stored[r];
      results.push_back(perm ? b.transpose({value}, {{"perm", inverse(*perm)}}) : value);
    }
    return results;
  }

 private:
  // As the op table calls them.
  std::vector<std::string> operand_names(const Node& node) const {
    const OpInfo& op = info(node.op);
    const AttentionExtras extras = attention_extras(graph_, node.op, node.operands);
    std::vector<std::string> names(op.operands.begin(),
                                   op.operands.begin() + static_cast<std::ptrdiff_t>(op.required));
    names.resize(node.operands.size());
    if (extras.bias) names[*extras.bias] = "bias";
    if (extras.mask) names[*extras.mask] = "mask";
    if (extras.lengths) names[*extras.lengths] = "lengths";
    if (extras.rng) names[*extras.rng] = "rng";
    return names;
  }

  // Makes the body; returns how each result is stored.
  std::vector<std::optional<Permutation>> fill(const Module& module, uint32_t index, Node& region) {
    const Node& node = graph_[index];
    auto body = std::make_shared<Graph>();
    Node inner = node;
    inner.operands.clear();
    inner.instance = 0;
    const std::vector<std::string> names = operand_names(node);
    for (size_t i = 0; i < node.operands.size(); ++i) {
      inner.operands.push_back(body->add_input(names[i], graph_.type(node.operands[i]), node.loc));
    }
    Emitter b(module, *body);
    const uint32_t made = b.emit_node(std::move(inner));
    std::vector<std::optional<Permutation>> stored(node.types.size());
    for (uint32_t r = 0; r < node.types.size(); ++r) {
      if (!is_result(graph_, wanted_, {index, r})) continue;
      Value value{made, r};
      auto layout = wanted_.layouts.find({index, r});
      if (layout != wanted_.layouts.end()) {
        stored[r] = layout->second;
        value = b.transpose({value}, {{"perm", layout->second}});
      }
      body->outputs.push_back({body_output_name(body->outputs.size()), value, {}});
    }
    region.body = std::move(body);
    return stored;
  }

  const Graph& graph_;
  const Wanted& wanted_;
};

// The leading axes of both, where one of them repeats and the other does not as the other has them.
Shape joint_lead(const Shape& a, const Shape& b) {
  const Shape& longer = a.size() < b.size() ? b : a;
  const Shape& shorter = a.size() < b.size() ? a : b;
  Shape lead(longer.begin(), longer.end() - 2);
  for (size_t from_end = 3; from_end <= shorter.size(); ++from_end) {
    Dim& dim = lead[lead.size() + 2 - from_end];
    if (dim.is_constant(1)) dim = shorter[shorter.size() - from_end];
  }
  return lead;
}

Value with_lead(Emitter& b, Value value, Shape lead) {
  const Shape& shape = b.shape(value);
  lead.insert(lead.end(), shape.end() - 2, shape.end());
  return b.broadcast_to(value, lead);
}

// One walk over the keys makes dk and dv: keys and values have to be repeated for the same heads.
// Where they are not, views repeat them, and what came of the repeats is added up.
std::optional<std::vector<Value>> repeat_alike(Emitter& b, const Node& node,
                                               const std::vector<Value>& operands) {
  if (node.op != Op::attention_grad) return std::nullopt;
  const Shape k = b.shape(operands[1]);
  const Shape v = b.shape(operands[2]);
  const Shape lead = joint_lead(k, v);
  std::vector<Value> repeated = operands;
  repeated[1] = with_lead(b, operands[1], lead);
  repeated[2] = with_lead(b, operands[2], lead);
  if (repeated == operands) return std::nullopt;
  Node copy = node;
  copy.operands = repeated;
  copy.names.clear();
  const uint32_t made = b.emit_node(std::move(copy));
  return {{{made, 0}, b.sum_to({made, 1}, k), b.sum_to({made, 2}, v), {made, 3}}};
}

bool repeat_for_same_heads(const Shape& a, const Shape& b) {
  auto repeats = [](const Shape& shape, size_t from_end) {
    return from_end > shape.size() || shape[shape.size() - from_end].is_constant(1);
  };
  for (size_t at = 3; at <= std::max(a.size(), b.size()); ++at) {
    if (repeats(a, at) != repeats(b, at)) return false;
  }
  return true;
}

bool reads_inputs(const Graph& body, const Node& node) {
  return std::ranges::all_of(node.operands,
                             [&](Value operand) { return body.node(operand).op == Op::input; });
}

// A body as Committer makes it. A region that was written by hand may have another.
bool fits_kernels(const Graph& body, const Node& node) {
  if (attention_refusal(body, node) || !reads_inputs(body, node)) return false;
  const bool alike =
      repeat_for_same_heads(body.type(node.operands[1]).shape, body.type(node.operands[2]).shape);
  if (node.op == Op::attention_grad && !alike) return false;
  const auto index = static_cast<uint32_t>(&node - body.nodes().data());
  std::set<Value> returned;
  for (const Output& output : body.outputs) {
    Value value = output.value;
    if (body.node(value).op == Op::transpose) value = body.node(value).operands[0];
    if (value.node != index || !returned.insert(value).second) return false;
  }
  for (uint32_t r = 0; r < stored_results(node.op); ++r) {
    if (!returned.contains({index, r})) return false;
  }
  const bool has_dbias = node.op == Op::attention_grad && returned.contains({index, 3});
  return !has_dbias || has_bias(body, node);
}

}  // namespace

std::optional<std::string> attention_refusal(const Graph& graph, const Node& node) {
  const Type& q = graph.type(node.operands[0]);
  const Type& k = graph.type(node.operands[1]);
  const Type& v = graph.type(node.operands[2]);
  if (q.dtype == DType::f64) return "it is f64, and the kernels sum in f32";
  for (const Dim& size : {q.shape.back(), v.shape.back()}) {
    if (!size.is_constant()) return cat("the head size ", size, " is not a number");
    if (size.constant() >= 1 && size.constant() <= kMaxHeadSize) continue;
    return cat("the head size ", size, " is not from 1 to ", kMaxHeadSize);
  }
  for (const Type& type : {q, k}) {
    const bool empty =
        std::ranges::any_of(type.shape, [](const Dim& d) { return d.is_constant(0); });
    if (empty) return "it is empty";
  }
  return std::nullopt;
}

const Node* fused_attention(const Node& node) {
  if (node.op != Op::region || node.attrs.text("kind") != "attention") return nullptr;
  const Graph& body = *node.body;
  const Node* found = nullptr;
  for (const Node& inner : body.nodes()) {
    if (inner.op == Op::input || inner.op == Op::transpose) continue;
    if (!is_attention(inner.op) || found != nullptr) return nullptr;
    found = &inner;
  }
  return found != nullptr && fits_kernels(body, *found) ? found : nullptr;
}

Result<bool> fuse_attention(Module& module, const PassOptions& options) {
  if (!options.fuse_attention) return false;
  bool changed = false;
  for (Graph& graph : module.graphs) {
    const bool some = std::ranges::any_of(graph.nodes(), [&](const Node& node) {
      return is_attention(node.op) && !attention_refusal(graph, node);
    });
    if (!some) continue;
    graph = rebuild(module, graph, repeat_alike);
    const Wanted wanted = find_wanted(graph);
    graph = rebuild(module, graph, Committer(graph, wanted));
    changed = true;
  }
  return changed;
}

}  // namespace weft
