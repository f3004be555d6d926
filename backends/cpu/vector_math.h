// Elementary functions of f32, as vector code without calls to a library.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/cpu/target.h"

namespace llvm {
class IRBuilderBase;
class Value;
}  // namespace llvm

namespace weft::cpu {

// `x` is a float or a vector of floats; so is the result. Each function is within 2 ulp of the true
// value over all of f32, subnormal arguments and results included, and exact at 0, at infinities
// and for NaN as C's is; tests/cpu/vector_math_test.cc holds them to it, for every target. They
// need no feature of the target, but are shorter with FMA. The builder's fast-math flags do not
// reach them, and it stays in its block.
llvm::Value* emit_exp(llvm::IRBuilderBase& ir, llvm::Value* x, const CpuTarget& target);
llvm::Value* emit_log(llvm::IRBuilderBase& ir, llvm::Value* x, const CpuTarget& target);
llvm::Value* emit_tanh(llvm::IRBuilderBase& ir, llvm::Value* x, const CpuTarget& target);
llvm::Value* emit_erf(llvm::IRBuilderBase& ir, llvm::Value* x, const CpuTarget& target);

// These are calls of functions inside the module, made at their first use.
llvm::Value* emit_sin(llvm::IRBuilderBase& ir, llvm::Value* x, const CpuTarget& target);
llvm::Value* emit_cos(llvm::IRBuilderBase& ir, llvm::Value* x, const CpuTarget& target);
llvm::Value* emit_pow(llvm::IRBuilderBase& ir, llvm::Value* x, llvm::Value* y,
                      const CpuTarget& target);

}  // namespace weft::cpu
