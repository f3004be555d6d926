// A plan: what a compiled graph does, as launches of Tile programs on buffers with lifetimes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/graph/module.h"
#include "ir/tile/program.h"

namespace weft {

using PlanBufferId = uint32_t;

struct PlanBuffer {
  enum class Kind : uint8_t {
    input,     // given by the caller, by `name`
    output,    // returned to the caller, by `name`
    storage,   // a parameter or state, by `name`, or several in a block (see StorageBlock)
    packed,    // a copy of storage in another order, by the `name` in Plan::packed
    constant,  // `data`
    arena,     // lives from step `first` to step `last`
  };
  using enum Kind;
  Kind kind = arena;
  std::string name;  // for arena: the value it holds
  DType dtype = DType::f32;
  Dim elements;
  uint32_t first = 0;  // steps of the plan, inclusive; only for arena
  uint32_t last = 0;
  std::vector<std::byte> data;
};

// Where a program's buffer lies: elements from the start of a plan's buffer.
struct Placement {
  PlanBufferId buffer = 0;
  Dim offset;  // in elements
};

struct Step {
  enum class Kind : uint8_t {
    launch,  // `program` on `buffers`
    copy,    // `elements` elements from buffers[0] to buffers[1]; both contiguous
    repeat,  // `body` for each chunk of `total`: in it `symbol` is the chunk's size and
             // `symbol`.base its first row
  };
  using enum Kind;
  Kind kind = launch;
  uint32_t program = 0;
  std::vector<Placement> buffers;  // one per buffer of the program
  // What symbols of the program mean in this launch; the others are the graph's.
  std::vector<std::pair<std::string, Dim>> symbols;
  Dim elements;
  std::string symbol;
  Dim total;
  int64_t chunk = 0;
  std::vector<Step> body;
  std::string region;  // name of the graph value it computes, for reports
};

// The symbol of a repeat's first row. No symbol that a user writes has a point in it.
inline std::string base_symbol(const std::string& symbol) { return symbol + ".base"; }

// What the code relies on and types leave open: `small` must not exceed `large` once sizes are
// bound.
struct SizeCheck {
  Dim small;
  Dim large;
  std::string message;  // what is wrong if it does, with both as expressions
};

// The plan of one graph. Steps of a repeat count as one for lifetimes.
struct GraphPlan {
  std::string graph;
  std::vector<PlanBuffer> buffers;
  std::vector<Step> steps;
  std::vector<SizeCheck> checks = {};
};

// Storage that lies one after the other without gaps, so that one flat kernel serves all.
struct StorageBlock {
  std::string name;                  // "@weft.block.0"
  std::vector<std::string> members;  // storage names, in order; all of one dtype, static shapes
};

// A copy of a storage in the order in which kernels read it. Made whenever the storage has a new
// value, before the next run that reads it; no graph updates the storage.
struct PackedStorage {
  std::string name;     // "weft.packed.0"
  std::string storage;  // what it is a copy of: one that is not in a block, of static shape
  DType dtype = DType::f32;
  int64_t offset = 0;    // of the first element that is read, in elements
  int64_t elements = 0;  // of the copy
  uint32_t program = 0;  // makes it, from buffer 0 to buffer 1
  // Makes the storage of it, from buffer 0 to buffer 1: there if no graph reads the storage itself,
  // so that its memory may be given back.
  std::optional<uint32_t> back = {};
};

struct Plan {
  std::vector<tile::Program> programs;  // equal ones are shared by launches
  std::vector<StorageBlock> blocks;
  std::vector<PackedStorage> packed;
  std::vector<GraphPlan> graphs;
};

}  // namespace weft
