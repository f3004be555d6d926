// Running executables on tensors with numbers in them, as the oracle has them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ir/oracle/oracle.h"
#include "runtime/context.h"

namespace weft {

// The interfaces of an executable as a module: graphs with nothing but inputs, the symbols and the
// storage, so that whatever binds sizes or samples inputs of a module serves executables too.
Module interface_module(const Executable& executable);

// A run made ready: sizes bound, inputs and outputs in memory of their element types.
struct PreparedRun {
  BoundPtr bound;
  std::vector<Memory> inputs;
  std::vector<Memory> outputs;
  bool kept = false;  // inputs stay as they were in the last run, outputs are not fetched
};

class Executor {
 public:
  static Result<Executor> create(Executable executable, const ContextOptions& options);
  static Result<Executor> create(LoadedPtr loaded, const ContextOptions& options);

  Context& context() { return context_; }
  const Executable& executable() const { return context_.loaded().executable(); }

  Status set_storage(const TensorMap& values);
  Result<Tensor> storage(const std::string& name);

  // Floats are rounded to their types.
  Result<PreparedRun> prepare(const std::string& graph, const TensorMap& inputs,
                              const DimBinding& dims);
  // `nanoseconds` as in Context::run.
  Status run(PreparedRun& prepared, std::span<int64_t> nanoseconds = {});
  TensorMap outputs(const PreparedRun& prepared) const;

 private:
  explicit Executor(Context context) : context_(std::move(context)) {}

  Context context_;
};

// One run from the storage given: what run_oracle gives for the same graph and numbers.
Result<OracleResult> run_once(Executor& executor, const Graph& graph, const TensorMap& inputs,
                              const TensorMap& storage, const DimBinding& dims);

}  // namespace weft
