// SPDX-License-Identifier: Apache-2.0
#include "tests/cpu/attention_run.h"

#include <cstring>

#include "runtime/cpu/math_table.h"
#include "runtime/files/element_bytes.h"

namespace weft {

Lines::Lines(const std::string& bytes)
    : lines_((bytes.size() + kScratchAlignment - 1) / kScratchAlignment), size_(bytes.size()) {
  if (!bytes.empty()) std::memcpy(data(), bytes.data(), bytes.size());
}

namespace {

Lines lines_of(const Tensor& tensor) {
  std::string bytes;
  append_bytes(tensor, tensor.dtype, bytes);
  return Lines(bytes);
}

}  // namespace

Result<AttentionRun> AttentionRun::compile(const AttentionCase& what, const AttentionKnobs& knobs,
                                           const std::string& target_cpu,
                                           const cpu::CompileOptions& options) {
  AttentionRun made;
  made.what_ = what;
  made.knobs_ = knobs;
  std::vector<tile::Program> programs;
  auto take = [&](std::vector<AttentionProgram> parts, std::vector<Step>& steps) {
    for (AttentionProgram& part : parts) {
      steps.push_back({programs.size(), std::move(part.buffers)});
      programs.push_back(std::move(part.program));
    }
  };
  take(lower_attention(what.attention(), knobs), made.forward_);
  take(lower_attention_backward(what.attention(), knobs), made.backward_);
  WEFT_TRY(cpu::CpuTarget target, cpu::resolve_cpu_target(target_cpu, cpu::TargetUse::kRun));
  WEFT_TRY(made.compiled_, cpu::compile_programs(programs, target, options));
  WEFT_TRY(LoadedCode code, LoadedCode::load(made.compiled_.code));
  made.code_.emplace(std::move(code));
  return made;
}

AttentionMemory AttentionRun::memory(const AttentionTensors& inputs) const {
  AttentionMemory memory;
  for (const auto& [role, tensor] : inputs) memory[role] = lines_of(tensor);
  for (const auto* steps : {&forward_, &backward_}) {
    for (const Step& step : *steps) {
      for (AttentionRole role : step.buffers) {
        if (memory.contains(role)) continue;
        memory[role] = lines_of(unwritten(what_, role, knobs_));
      }
    }
  }
  return memory;
}

Tensor AttentionRun::tensor(const AttentionMemory& memory, AttentionRole role) const {
  const Tensor like = unwritten(what_, role, knobs_);
  return tensor_from_bytes(like.dtype, like.shape, memory.at(role).bytes());
}

bool AttentionRun::run(const std::vector<Step>& steps, AttentionMemory& memory, int64_t threads) {
  for (const Step& step : steps) {
    if (!run_step(step, memory, threads)) return false;
  }
  return true;
}

bool AttentionRun::run_step(const Step& step, AttentionMemory& memory, int64_t threads) {
  const Kernel& kernel = compiled_.kernels[step.kernel];
  const DimBinding sizes = what_.sizes();
  std::vector<int64_t> args;
  for (const Dim& arg : kernel.args) args.push_back(arg.evaluate(sizes).value());
  std::vector<void*> buffers;
  for (AttentionRole role : step.buffers) buffers.push_back(memory.at(role).data());
  const auto needed = static_cast<size_t>(kernel.scratch_bytes.evaluate(sizes).value());
  if (scratch_.bytes().size() < needed) scratch_ = Lines(std::string(needed, '\0'));
  KernelEnv env;
  env.scratch = scratch_.data();
  env.math = &math_table();
  const int64_t programs = kernel.programs.evaluate(sizes).value();
  const int64_t share = (programs + threads - 1) / threads;
  for (int64_t first = 0; first < programs; first += share) {
    code_->at(kernel.entry)(buffers.data(), args.data(), first, std::min(programs, first + share),
                            &env);
  }
  return env.failed.check == 0;
}

}  // namespace weft
