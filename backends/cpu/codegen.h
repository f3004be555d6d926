// From an LLVM module to flat machine code.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "backends/cpu/target.h"
#include "ir/support/result.h"

namespace llvm {
class Module;
}  // namespace llvm

namespace weft::cpu {

struct CodegenOptions {
  bool assembly = false;  // fill in CompiledCode::assembly
  bool llvm_ir = false;   // fill in CompiledCode::llvm_ir
};

struct CompiledCode {
  std::vector<std::byte> code;              // position-independent, no outside references
  std::map<std::string, uint64_t> entries;  // functions with external linkage: offset into `code`
  std::string assembly;                     // text, if asked for
  std::string llvm_ir;                      // after optimization, if asked for
};

// Optimizes the module in place and turns it into code. No pass here makes loops into calls of
// library functions, and no function of the module is taken for one. Fails when the module is not
// valid or its code would need anything from outside; both are faults of whoever made the module.
Result<CompiledCode> compile_module(llvm::Module& module, const CpuTarget& target,
                                    const CodegenOptions& options = {});

}  // namespace weft::cpu
