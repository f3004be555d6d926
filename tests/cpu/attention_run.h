// Programs of attention as machine code, on tensors in memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/cpu/compile.h"
#include "runtime/cpu/code.h"
#include "tests/support/attention_case.h"

namespace weft {

// Bytes that begin where a line of a cache does, as buffers of the runtime do.
class Lines {
 public:
  Lines() = default;
  explicit Lines(const std::string& bytes);
  char* data() { return lines_.empty() ? nullptr : lines_[0].bytes; }
  std::string_view bytes() const { return {lines_.empty() ? nullptr : lines_[0].bytes, size_}; }

 private:
  struct alignas(kScratchAlignment) Line {
    char bytes[kScratchAlignment] = {};
  };
  std::vector<Line> lines_;
  size_t size_ = 0;
};

// Buffers by role.
using AttentionMemory = std::map<AttentionRole, Lines>;

class AttentionRun {
 public:
  static Result<AttentionRun> compile(const AttentionCase& what, const AttentionKnobs& knobs,
                                      const std::string& target_cpu,
                                      const cpu::CompileOptions& options = {});

  // Another case for the same code: with other sizes for its symbols.
  void set_case(const AttentionCase& what) { what_ = what; }

  AttentionMemory memory(const AttentionTensors& inputs) const;
  Tensor tensor(const AttentionMemory& memory, AttentionRole role) const;
  // Programs of the grid are dealt out as to so many threads, and run here one after the other.
  // False if a check failed.
  bool forward(AttentionMemory& memory, int64_t threads = 1) {
    return run(forward_, memory, threads);
  }
  bool backward(AttentionMemory& memory, int64_t threads = 1) {
    return run(backward_, memory, threads);
  }
  const cpu::CompiledPrograms& compiled() const { return compiled_; }

 private:
  struct Step {
    size_t kernel;
    std::vector<AttentionRole> buffers;
  };
  bool run(const std::vector<Step>& steps, AttentionMemory& memory, int64_t threads);
  bool run_step(const Step& step, AttentionMemory& memory, int64_t threads);

  AttentionCase what_;
  AttentionKnobs knobs_;
  cpu::CompiledPrograms compiled_;
  std::optional<LoadedCode> code_;
  std::vector<Step> forward_, backward_;
  Lines scratch_;
};

}  // namespace weft
