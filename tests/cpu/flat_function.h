// A small function made with LLVM, compiled to flat code, loaded and called.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backends/cpu/codegen.h"
#include "runtime/cpu/code.h"

namespace weft::cpu {

// Elementwise: out[i] = body(in0[i], ...), in whole vectors of `lanes`.
using ElementBody =
    std::function<llvm::Value*(llvm::IRBuilderBase&, const std::vector<llvm::Value*>&)>;

class FlatFunction {
 public:
  FlatFunction(const CpuTarget& target, unsigned lanes, size_t operands, const ElementBody& body);

  // The count is rounded up to whole vectors inside: spans need no padding.
  std::vector<float> operator()(const std::vector<std::vector<float>>& inputs) const;
  const std::string& assembly() const { return compiled_.assembly; }

 private:
  size_t lanes_;
  CompiledCode compiled_;
  std::unique_ptr<LoadedCode> loaded_;
};

// generic, and the targets that this machine can run of the others.
std::vector<CpuTarget> runnable_targets();

}  // namespace weft::cpu
