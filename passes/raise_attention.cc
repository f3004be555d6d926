// Part of `raise`: finds attentions, puts the op in their place, and says what is in the way.
// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "ir/graph/attention.h"
#include "ir/graph/live.h"
#include "ir/graph/rebuild.h"
#include "ir/text/text.h"
#include "passes/fuse_attention.h"
#include "passes/raise.h"
#include "passes/raise_emit.h"
#include "passes/simplify.h"

namespace weft {
namespace {

struct Found {
  AttentionChain chain;
  AttentionForm form;
};

// What is found at a softmax: an attention, a reason why it is none, or nothing of interest.
struct Finding {
  std::optional<Found> found;
  std::string reason;
};

Finding look(const ChainFinder& finder, const Graph& graph, const DimFacts& facts, uint32_t node) {
  ChainResult result = finder.find(node);
  if (!result.chain) return {{}, result.near ? result.reason : ""};
  FormResult form = attention_form(graph, facts, *result.chain);
  if (!form.reason.empty()) return {{}, form.reason};
  if (auto fault = emission_fault(graph, facts, *result.chain)) return {{}, *fault};
  return {Found{std::move(*result.chain), std::move(form.form)}, ""};
}

// Calls fn(node, finding) for each softmax that somebody needs.
template <class Fn>
void for_each_softmax(const Graph& graph, const DimFacts& facts, Fn fn) {
  ChainFinder finder(graph, facts);
  std::vector<bool> live = live_nodes(graph);
  for (uint32_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = graph[i];
    bool counts = live[i] && node.op == Op::softmax && node.instance == 0;
    if (counts) fn(i, look(finder, graph, facts, i));
  }
}

bool raise_in(const Module& module, Graph& graph) {
  std::map<uint32_t, Found> by_root;
  for_each_softmax(graph, module.dims, [&](uint32_t, const Finding& finding) {
    if (finding.found) by_root.emplace(finding.found->chain.root, *finding.found);
  });
  if (by_root.empty()) return false;
  std::map<Value, Value> moved;  // operands of what was rebuilt so far, old to new
  graph =
      rebuild(module, graph, [&](Emitter& b, const Node& node, const std::vector<Value>& operands) {
        for (size_t i = 0; i < operands.size(); ++i) {
          moved[node.operands[i]] = operands[i];
        }
        std::optional<std::vector<Value>> result;
        auto index = static_cast<uint32_t>(&node - graph.nodes().data());
        auto found = by_root.find(index);
        if (found == by_root.end()) return result;
        const auto& [chain, form] = found->second;
        Provenance origin = unite(graph[chain.product].origin, graph[chain.softmax].origin);
        b.set_origin(unite(origin, node.origin), node.loc);
        result = {emit_attention(b, graph, chain, form, [&](Value old) { return moved.at(old); })};
        return result;
      });
  graph = rebuild(module, graph);  // without the weights
  return true;
}

AttentionNote unrecognised(const std::string& value, std::string reason) {
  AttentionNote note;
  note.value = value;
  note.reason = std::move(reason);
  return note;
}

// Of a node that is an attention; nothing for any other.
std::optional<AttentionNote> note_of(const Graph& graph, const Node& node) {
  const Node* fused = fused_attention(node);
  const Op op = fused != nullptr ? fused->op : node.op;
  if (!is_attention(op)) return std::nullopt;
  AttentionNote note;
  note.backward = op == Op::attention_grad;
  note.raised = true;
  note.fused = fused != nullptr;
  if (!note.fused) {
    note.reason = attention_refusal(graph, node).value_or("fuse-attention did not run");
  }
  return note;
}

// Of one graph, or of a body: nothing in a body is raised or fused.
AttentionReport report_graph(const Graph& graph, const DimFacts& facts) {
  AttentionReport notes;
  auto names = value_names(graph);
  ChainFinder finder(graph, facts);
  for (uint32_t i = 0; i < graph.nodes().size(); ++i) {
    if (auto note = note_of(graph, graph[i])) {
      note->value = names[i][0];
      notes.push_back(std::move(*note));
    } else if (graph[i].body != nullptr) {
      for (AttentionNote& inner : report_graph(*graph[i].body, facts)) {
        inner.fused = false;
        inner.reason = cat("it is inside the ", name(graph[i].op), " ", names[i][0]);
        notes.push_back(std::move(inner));
      }
    }
    if (!finder.sums_powers(i)) continue;
    notes.push_back(unrecognised(names[i][0], "its sum is used elsewhere too"));
  }
  for_each_softmax(graph, facts, [&](uint32_t node, const Finding& finding) {
    if (!finding.found && finding.reason.empty()) return;
    const std::string reason = finding.found ? "raise did not look for it" : finding.reason;
    notes.push_back(unrecognised(names[node][0], reason));
  });
  return notes;
}

}  // namespace

Result<bool> raise_attention(Module& module, const PassOptions& options) {
  bool changed = false;
  for (Graph& graph : module.graphs) changed |= raise_in(module, graph);
  // Operands follow the scores through views that undo each other.
  if (changed) WEFT_TRY_STATUS(simplify(module, options));
  return changed;
}

AttentionReport attention_report(const Module& module) {
  AttentionReport notes;
  for (const Graph& graph : module.graphs) {
    AttentionReport found = report_graph(graph, module.dims);
    for (AttentionNote& note : found) {
      note.graph = graph.name();
      notes.push_back(std::move(note));
    }
  }
  return notes;
}

}  // namespace weft
