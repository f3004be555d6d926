// SPDX-License-Identifier: Apache-2.0
#include "tests/runtime/sample.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

const Dim kB = Dim::symbol("B");
const Dim kChunk = Dim::symbol("R0");

Kernel kernel(const std::string& name, KernelFn function, std::vector<Dim> args, Dim programs,
              uint32_t buffers) {
  Kernel made;
  made.name = name;
  made.entry = sample_entry(function);
  made.args = std::move(args);
  made.programs = std::move(programs);
  made.buffers = buffers;
  return made;
}

Executable without_graphs() {
  Executable e;
  e.target_cpu = "generic";
  add_sample_storage(e, 1000);
  e.code = sample_code();
  e.kernels = {kernel("twice", sample_twice, {3}, kB, 2),
               kernel("add_row", sample_add_row, {3}, kB, 3),
               kernel("accumulate", sample_accumulate, {}, 5, 2),
               kernel("lookup", sample_lookup, {3, 5}, kB, 3),
               kernel("twice_chunk", sample_twice, {3}, kChunk, 2),
               kernel("keep", sample_accumulate, {}, kB * 3, 2)};
  e.kernels[kLookup].checks = {"index of the table"};
  e.kernels[kAccumulate].scratch_bytes = 4;
  e.kernels[kKeep].scratch_bytes = 4;
  return e;
}

}  // namespace

Executable sample_executable() {
  Executable e = without_graphs();
  add_sample_graphs(e);
  return e;
}

Executable small_executable() {
  Executable e = without_graphs();
  add_sample_forward(e);
  return e;
}

LoadedPtr load(Executable executable) {
  Result<LoadedPtr> loaded = LoadedExecutable::load(std::move(executable));
  EXPECT_TRUE(loaded.ok()) << render(loaded.diagnostics());
  return std::move(loaded).value();
}

}  // namespace weft
