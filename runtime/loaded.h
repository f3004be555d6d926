// An executable made ready to run: checked, and its code in memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ir/support/result.h"
#include "runtime/cpu/code.h"
#include "runtime/cpu/kernel_abi.h"
#include "runtime/executable.h"

namespace weft {

// Everything that numbers and names of an executable refer to is there and fits: kernels, buffers,
// storage, lifetimes. What its code does is not known. `loc` is the file, if it came from one.
Status check_executable(const Executable& executable, const Loc& loc);
// Also, for a device that runs SPIR-V: each kernel's words and bindings are there and fit.
Status check_simt_kernels(const Executable& executable, const Loc& loc);

// What sizes do not change about a graph.
// Where a storage lies: members of a block share memory.
struct SharedPlace {
  uint32_t first = 0;  // the storage that begins the memory, into Executable::storage
  int64_t offset = 0;  // in bytes
};

struct GraphFacts {
  std::set<std::string> symbols;        // the symbolic dims that it needs sizes for
  std::vector<uint32_t> fixed_storage;  // that it uses, of static shape: into Executable::storage
  std::vector<int64_t> storage_bytes;   // per buffer: of the static storage behind it; else -1
  std::vector<SharedPlace> storage_places;  // per buffer, of those that are storage
  size_t steps = 0;                         // of the plan, with those in repeats
  size_t places = 0;                        // of their buffers
};

// Immutable.
class LoadedExecutable {
 public:
  // Fails on an executable for an unknown device, or for a processor that can more than this one.
  // What another device lacks shows when a context is created on it.
  static Result<std::shared_ptr<const LoadedExecutable>> load(Executable executable, Loc loc = {});
  // With functions, one per kernel, in the place of code.
  static Result<std::shared_ptr<const LoadedExecutable>> with_functions(
      Executable executable, std::vector<KernelFn> functions);

  const Executable& executable() const { return executable_; }
  // Null on devices whose code the host does not call.
  KernelFn function(uint32_t kernel) const {
    return functions_.empty() ? nullptr : functions_[kernel];
  }

  // The number of a graph, by its name with or without the @. Without a name: the only graph.
  Result<uint32_t> find_graph(std::string_view name) const;
  const GraphFacts& facts(uint32_t graph) const { return facts_[graph]; }
  // Everything that may be given a size: what graphs need, and what is known or asserted.
  const std::set<std::string>& symbols() const { return symbols_; }
  // The storage whose place a storage buffer has: its own, or that of a block's first member.
  uint32_t storage_of(const std::string& buffer_name) const;
  // The number of a copy, by its name in Executable::packed.
  uint32_t packed_of(const std::string& name) const;
  std::optional<uint32_t> find_storage(std::string_view name) const;  // with or without the @

 private:
  explicit LoadedExecutable(Executable executable);
  Status load_code();
  // Fills in what a graph uses of storage.
  void find_storage(GraphFacts& facts, const GraphPlan& plan) const;

  Executable executable_;
  std::optional<LoadedCode> code_;
  std::vector<KernelFn> functions_;
  std::vector<GraphFacts> facts_;  // per graph
  std::set<std::string> symbols_;
  std::map<std::string, uint32_t, std::less<>> storage_;  // storage and blocks, by name
  std::map<std::string, uint32_t> packed_;
};

// Contexts share one. shared_ptr: it lives as long as the last of them.
using LoadedPtr = std::shared_ptr<const LoadedExecutable>;

}  // namespace weft
