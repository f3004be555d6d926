// SPDX-License-Identifier: Apache-2.0
#include "passes/derive_decode.h"

#include <algorithm>

#include "ir/graph/rebuild.h"
#include "passes/decode_build.h"
#include "passes/decode_positions.h"

namespace weft {
namespace {

using decoding::Names;

// A symbol that the module does not have yet.
std::string fresh_symbol(const Module& module, std::string name) {
  const std::set<std::string> taken = symbols_of(module);
  while (taken.contains(name)) name += "_";
  return name;
}

bool is_tokens(const Type& type) {
  return is_integer(type.dtype) && type.rank() == 2 && type.shape[0].as_symbol() &&
         type.shape[1].as_symbol() && type.shape[0] != type.shape[1];
}

Result<Names> find_names(const Module& module, const Graph& graph, int64_t beams) {
  Names names;
  for (Value input : graph.inputs()) {
    const Type& type = graph.type(input);
    if (!is_tokens(type)) continue;
    names.tokens = input;
    names.sentences = *type.shape[0].as_symbol();
    names.length = *type.shape[1].as_symbol();
  }
  if (names.length.empty()) {
    return error(graph.loc, "@", graph.name(), " reads no tokens: an input such as i32[B, T]")
        .hint("decoding needs a model that continues a text");
  }
  if (graph.outputs.size() != 1) {
    return error(graph.loc, "@", graph.name(), " has ", graph.outputs.size(),
                 " outputs, and decoding needs one: the logits");
  }
  const Type& logits = graph.type(graph.outputs[0].value);
  const bool fits = is_float(logits.dtype) && logits.rank() == 3 &&
                    logits.shape[0] == Dim::symbol(names.sentences) &&
                    logits.shape[1] == Dim::symbol(names.length) && logits.shape[2].is_constant();
  if (!fits) {
    return error(graph.loc, "output '", graph.outputs[0].name, "' of @", graph.name(), " is ",
                 logits, ", and decoding needs logits of each position, f32[", names.sentences,
                 ", ", names.length, ", vocabulary]");
  }
  names.beams = beams > 0 ? Dim(beams) : Dim::symbol(fresh_symbol(module, "W"));
  names.capacity = fresh_symbol(module, "C");
  return names;
}

constexpr int64_t kMostBeams = 4096;

}  // namespace

namespace decoding {

Depends find_dependences(const Graph& graph, Value tokens) {
  const size_t count = graph.nodes().size();
  Depends depends{std::vector<bool>(count), std::vector<bool>(count)};
  for (uint32_t i = 0; i < count; ++i) {
    const Node& node = graph[i];
    if (node.op == Op::input) {
      depends.on_tokens[i] = i == tokens.node;
      depends.on_source[i] = i != tokens.node;
    }
    for (Value operand : node.operands) {
      if (depends.on_tokens[operand.node]) depends.on_tokens[i] = true;
      if (depends.on_source[operand.node]) depends.on_source[i] = true;
    }
  }
  return depends;
}

std::string call(const Node& node) {
  std::string text(name(node.op));
  return node.origin.empty() ? text : text + " of " + node.origin[0];
}

}  // namespace decoding

Result<DecodeGraphs> derive_decode(const Module& module, const DecodeRequest& request) {
  const Graph* graph = module.find_graph(request.graph);
  if (graph == nullptr) return error({}, "the module has no graph @", request.graph);
  WEFT_TRY(Names names, find_names(module, *graph, request.beams));
  DecodeGraphs made;
  made.module.name = module.name;
  made.module.weights = module.weights;
  made.module.dims = module.dims;
  made.module.storage = module.storage;
  made.context = module.dims.bounds_of(Dim::symbol(names.length)).high;
  made.module.dims.bounds[names.capacity] = {1, made.context};
  made.beams = names.beams.as_symbol().value_or("");
  if (!made.beams.empty()) made.module.dims.bounds[made.beams] = {1, kMostBeams};
  made.tokens = graph->input_name(names.tokens);
  made.sentences = names.sentences;
  made.capacity = names.capacity;
  made.length = names.length;
  made.scores = request.scores;
  const decoding::Depends depends = decoding::find_dependences(*graph, names.tokens);
  made.has_source = std::ranges::count(depends.on_source, true) > 0;
  decoding::Derivation derivation{*graph, std::move(names), depends, made};
  WEFT_TRY_STATUS(decoding::build_decode(derivation, request));
  WEFT_TRY_STATUS(decoding::build_prefill(derivation, request));
  return made;
}

}  // namespace weft
