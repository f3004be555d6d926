// The processor that code is made for: what `--target-cpu` names, and LLVM's machine for it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ir/support/result.h"

namespace llvm {
class Function;
class TargetMachine;
}  // namespace llvm

namespace weft::cpu {

struct CpuTarget {
  std::string name;                   // "generic", "avx2", "avx512", or the host's: "znver3"
  std::string triple;                 // "x86_64-pc-linux-gnu"
  std::string tune;                   // LLVM's name of the processor to schedule for
  std::vector<std::string> features;  // needed beyond the baseline: see runtime/cpu/features.h
  int vector_bits = 128;              // of the widest register
  int vector_registers = 16;
  int64_t l1_bytes = 32 << 10;   // of the cache next to a core
  int64_t l2_bytes = 512 << 10;  // of the one behind it
  bool fma = false;              // fused multiply-add; without it llvm.fma would be a call
  bool rounds = false;           // floor and round to even; without it they would be calls
  bool scales = false;           // multiplies by 2^n, rounding once, whatever n is
  bool f16c = false;             // conversion between f16 and f32; without it fpext would be a call

  int f32_lanes() const { return vector_bits / 32; }
};

enum class TargetUse {
  kRun,      // refuses a target that this machine could not run
  kCompile,  // the code is for another machine
};

// `option` is native, generic, avx2 or avx512.
Result<CpuTarget> resolve_cpu_target(std::string_view option, TargetUse use);

// Position-independent code, small code model, optimized. Multiplications and additions are fused
// only where an instruction carries the `contract` flag.
std::unique_ptr<llvm::TargetMachine> make_target_machine(const CpuTarget& target);

// Makes a function's code use the target's features, schedule and full vector width.
void set_target_attributes(llvm::Function& function, const CpuTarget& target);

}  // namespace weft::cpu
