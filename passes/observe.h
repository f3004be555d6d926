// @observe: a graph that returns what goes on inside another one, for those who watch a model: how
// large the values are that enter and leave each layer, and the weights of each attention.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "ir/graph/module.h"
#include "ir/support/result.h"

namespace weft {

inline constexpr const char* kObserve = "observe";  // names of the graph and of its outputs
inline constexpr const char* kInputNorms = "input_norms";
inline constexpr const char* kOutputNorms = "output_norms";

struct ObservedLayer {
  std::string name;
  bool has_input = false;   // otherwise its input norm is 0, and says nothing
  bool keeps_type = false;  // what enters and what leaves have one type, so the two compare
};

struct ObservedAttention {
  std::string name;    // of its layer, or "attention.N"
  std::string output;  // of the graph: the weights before dropout, [.., T, S]
  // The inputs of the graph, integers [B, T] and [B, S], whose positions rows and columns are;
  // empty if there is none, or more than one.
  std::string row_input;
  std::string column_input;
};

struct Observation {
  Graph graph;
  std::vector<ObservedLayer> layers;
  std::vector<ObservedAttention> attentions;
};

// @observe has the inputs of `graph`. The layers are given by name; a node belongs to the one whose
// name its provenance begins with ("encoder.0.attn" holds "encoder.0.attn.q"); layers without
// nodes are left out. Looked at are activations: floats that depend on a parameter and on an input.
// kInputNorms and kOutputNorms, f32[N], have the root mean square of what enters and what leaves a
// layer. If several values enter, those of the type of what leaves count, or all if none has it;
// and of those the largest. Attention has to be raised (passes/raise.h): what is written out in
// other ops is not seen.
Observation make_observe(const Module& module, const Graph& graph,
                         const std::vector<std::string>& layers);

}  // namespace weft
