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

// Immutable.
class LoadedExecutable {
 public:
  // Fails on an executable for another device, or for a processor that can more than this one.
  static Result<std::shared_ptr<const LoadedExecutable>> load(Executable executable, Loc loc = {});
  // With functions, one per kernel, in the place of code.
  static Result<std::shared_ptr<const LoadedExecutable>> with_functions(
      Executable executable, std::vector<KernelFn> functions);

  const Executable& executable() const { return executable_; }
  KernelFn function(uint32_t kernel) const { return functions_[kernel]; }

  // The number of a graph, by its name with or without the @. Without a name: the only graph.
  Result<uint32_t> find_graph(std::string_view name) const;
  // The symbolic dims that a graph needs sizes for.
  const std::set<std::string>& symbols(uint32_t graph) const { return symbols_[graph]; }
  // The storage whose place a storage buffer has: its own, or that of a block's first member.
  uint32_t storage_of(const std::string& buffer_name) const;
  std::optional<uint32_t> find_storage(std::string_view name) const;  // with or without the @

 private:
  explicit LoadedExecutable(Executable executable);

  Executable executable_;
  std::optional<LoadedCode> code_;
  std::vector<KernelFn> functions_;
  std::vector<std::set<std::string>> symbols_;            // per graph
  std::map<std::string, uint32_t, std::less<>> storage_;  // storage and blocks, by name
};

// Contexts share one. shared_ptr: it lives as long as the last of them.
using LoadedPtr = std::shared_ptr<const LoadedExecutable>;

}  // namespace weft
