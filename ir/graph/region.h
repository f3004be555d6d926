// Nodes with a body: a graph inside a graph, as fusion makes them.
//
// A body's inputs stand for the node's operands in order, its outputs for the results; the names of
// the outputs and of the graph itself mean nothing. It sees the symbols of the module and nothing
// else from outside: no parameters, no updates, no values of the graph around it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "ir/graph/emit.h"

namespace weft {

// How many bodies may lie inside one another: a region within two `chunked`.
inline constexpr size_t kMaxBodyDepth = 3;

// The type that the body's input has for an operand of type `operand`: the same, but for a sliced
// operand of `chunked`, whose first axis is the chunk's. `attrs` may still lack some.
Type body_input_type(Op op, const Attrs& attrs, size_t index, const Type& operand);

// What a body's output is called; nobody reads it.
inline std::string body_output_name(size_t index) { return std::to_string(index); }

// The same computation: names, places and provenance may differ.
bool same_body(const Graph& a, const Graph& b);
size_t hash_body(const Graph& body);

// Emits the nodes of a region's body on `operands`; returns the values of its results.
std::vector<Value> inline_region(Emitter& b, const Node& node, const std::vector<Value>& operands);

}  // namespace weft
