// The attentions of a graph in words: form, tiles, what they save, or what is in the way.
// SPDX-License-Identifier: Apache-2.0
#include "driver/explain.h"
#include "ir/graph/attention.h"
#include "ir/text/text.h"
#include "passes/fuse_attention.h"

namespace weft {
namespace {

std::string window_text(const Attrs& attrs) {
  const std::optional<int64_t> before = window_limit(attrs, "before");
  const std::optional<int64_t> after = window_limit(attrs, "after");
  if (!before && !after) return "";
  if (!before && *after == 0) return ", causal";
  auto side = [](const std::optional<int64_t>& limit) {
    return limit ? std::to_string(*limit) : std::string("all");
  };
  return ", window of " + side(before) + " before and " + side(after) + " after";
}

std::string form_text(const Graph& body, const Node& node) {
  std::string text = node.op == Op::attention ? "forward" : "backward";
  text += window_text(node.attrs);
  const AttentionExtras extras = attention_extras(body, node.op, node.operands);
  if (extras.lengths) text += ", lengths";
  if (extras.mask) text += cat(", mask with fill ", node.attrs.real("fill"));
  if (extras.bias) text += ", bias";
  if (extras.rng) text += cat(", dropout ", node.attrs.real("rate"));
  return text + cat("; q ", body.type(node.operands[0]), ", k ", body.type(node.operands[1]));
}

// The scores, [lead.., queries, keys], in the type of q.
Dim score_bytes(const Graph& body, const Node& node) {
  const Value rows = node.op == Op::attention ? Value{} : node.operands[3];
  const Shape& of_rows = node.op == Op::attention ? node.types[1].shape : body.type(rows).shape;
  const Type& keys = body.type(node.operands[1]);
  return element_count(of_rows) * keys.shape[keys.shape.size() - 2] * Dim(byte_size(keys.dtype));
}

std::string tiles_text(const tile::Program& program) {
  std::string text = program.name;
  const char* between = " ";
  for (const tile::Knob& knob : program.knobs) {
    text += cat(between, knob.name, " ", knob.value);
    between = ", ";
  }
  return text;
}

}  // namespace

AttentionCount count_attention(const AttentionReport& report, const std::string& graph) {
  AttentionCount count;
  for (const AttentionNote& note : report) {
    if (note.graph != graph) continue;
    ++(!note.fused ? count.unfused : note.backward ? count.backward_fused : count.forward_fused);
  }
  return count;
}

Result<std::vector<AttentionLine>> explain_attention(const Explained& what, const GraphPlan& plan,
                                                     const DimBinding& dims) {
  std::vector<AttentionLine> lines;
  for (const AttentionNote& note : what.attention) {
    if (note.graph == plan.graph && !note.fused) lines.push_back({note.value, "", "", note.reason});
  }
  const Graph& graph = *what.fused.find_graph(plan.graph);
  const auto names = value_names(graph);
  for (uint32_t n = 0; n < graph.nodes().size(); ++n) {
    const Node* op = fused_attention(graph[n]);
    if (op == nullptr) continue;
    AttentionLine line{names[n][0], form_text(*graph[n].body, *op)};
    for (const Step& step : plan.steps) {
      if (step.kind != Step::launch || step.region != line.value) continue;
      line.tiles += (line.tiles.empty() ? "" : "; ") + tiles_text(what.programs[step.program]);
    }
    const std::optional<int64_t> bytes = score_bytes(*graph[n].body, *op).evaluate(dims);
    if (!bytes) return error({}, "the size of the scores of ", line.value, " cannot be computed");
    line.saved_bytes = *bytes;
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace weft
