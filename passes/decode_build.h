// The steps of derive_decode, and what they hand to each other.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "ir/graph/emit.h"
#include "passes/derive_decode.h"

namespace weft::decoding {

struct Names {
  Value tokens;           // of the graph for all positions
  std::string sentences;  // symbols
  std::string length;
  Dim beams;  // a symbol, or the number that was asked for
  std::string capacity;

  Dim rows() const { return Dim::symbol(sentences) * beams; }
};

// By node of the graph for all positions.
struct Depends {
  std::vector<bool> on_tokens;
  std::vector<bool> on_source;  // on another input

  bool source_only(Value value) const { return on_source[value.node] && !on_tokens[value.node]; }
};
Depends find_dependences(const Graph& graph, Value tokens);

// "attention of decoder.0.attn": how errors call a node.
std::string call(const Node& node);

// A value of the graph for all positions, and the state that it is kept in.
struct Kept {
  std::string name;
  Value value;
  size_t axis = 0;  // of positions
};

struct Derivation {
  const Graph& graph;  // for all positions
  Names names;
  Depends depends;
  DecodeGraphs& made;
  std::vector<Kept> memory = {};  // in the order of made.memory and made.caches
  std::vector<Kept> caches = {};
};

// decode_step.cc: @decode and its state.
Status build_decode(Derivation& d, const DecodeRequest& request);
// decode_prefill.cc: @prefill, which fills that state.
Status build_prefill(Derivation& d, const DecodeRequest& request);

}  // namespace weft::decoding
