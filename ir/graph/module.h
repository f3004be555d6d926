// A module: parameters and state, what is known of symbolic dims, and the graphs that share them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ir/graph/graph.h"

namespace weft {

// How a parameter or state begins. fan_in is the product of all axes but the last, fan_out the
// last.
struct Init {
  enum class Kind : uint8_t {
    zeros,
    ones,
    constant,        // constant(value)
    uniform,         // uniform(value): in [-value, value)
    normal,          // normal(value): mean 0, standard deviation `value`
    xavier_uniform,  // uniform(sqrt(6 / (fan_in + fan_out)))
  };
  using enum Kind;
  Kind kind = zeros;
  double value = 0;

  std::string str() const;  // "normal(0.02)"
  friend bool operator==(const Init&, const Init&) = default;
};

struct Storage {
  enum class Kind : uint8_t {
    param,  // trained: `weft grad` differentiates with respect to it
    state,  // kept between calls, not trained: optimizer moments, caches, step counters
  };
  using enum Kind;
  Kind kind = param;
  std::string name;  // "encoder.0.attn.wq", without the @
  Type type;
  Init init;
  Loc loc = {};
};

struct Module {
  std::string name;     // empty: written without a module line
  std::string weights;  // safetensors file beside the module that holds the values; may be empty
  DimFacts dims;
  std::vector<Storage> storage;
  std::vector<Graph> graphs;

  const Storage* find_storage(std::string_view storage_name) const;
  const Graph* find_graph(std::string_view graph_name) const;  // with or without the @
  Graph* find_graph(std::string_view graph_name);
  std::vector<std::string> storage_names() const;
  std::vector<std::string> graph_names() const;
};

// Every symbolic dim that a node's types, attributes or body, or anything in the module, mention.
// The one that a `chunked` gives its body is not among them.
std::set<std::string> symbols_of(const Node& node);
std::set<std::string> symbols_of(const Module& module);

// Storage by name for those who look up many; Module::find_storage looks at one after the other.
// Holds until the module's storage changes.
class StorageLookup {
 public:
  explicit StorageLookup(const Module& module);
  const Storage* find(std::string_view name) const;  // without the @; null if there is none

 private:
  std::unordered_map<std::string_view, const Storage*> by_name_;
};

// Checks every invariant of a module: names unique, operands defined before use, types as the op
// table infers them, outputs and updates well-formed. Returns all independent errors.
Status verify(const Module& module);

}  // namespace weft
