// SPDX-License-Identifier: Apache-2.0
#include "driver/compile.h"

#include <chrono>

#include "driver/cache_folder.h"
#include "passes/pack_weights.h"
#include "passes/plan.h"
#include "runtime/cpu/facts.h"

namespace weft {
namespace {

class Stopwatch {
 public:
  double milliseconds() const {
    auto passed = std::chrono::steady_clock::now() - start_;
    return std::chrono::duration<double, std::milli>(passed).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

Status check_all_fused(const AttentionReport& attention) {
  for (const AttentionNote& note : attention) {
    if (note.fused) continue;
    return error({}, "the attention at ", note.value, " of @", note.graph,
                 " is not fused: ", note.reason)
        .hint(
            "weft explain lists every attention; without --require-fused-attention this compiles");
  }
  return ok();
}

Result<PlannedModule> plan_for(Module module, const CompileRequest& request, DeviceTraits traits) {
  PlannedModule planned;
  Stopwatch passes;
  PipelineOptions pipeline = request.pipeline;
  if (std::erase(pipeline.skip, kPackWeights) > 0) traits.panel_bytes = 0;  // a step of the plan
  pipeline.after_pass = [&](const PassRecord& pass, const Module& now) -> Status {
    if (pass.name == "fuse-attention") {
      planned.attention = attention_report(now);
      if (request.require_fused_attention) WEFT_TRY_STATUS(check_all_fused(planned.attention));
    }
    return request.pipeline.after_pass ? request.pipeline.after_pass(pass, now) : ok();
  };
  WEFT_TRY(planned.passes, run_pipeline(module, pipeline));
  planned.passes_ms = passes.milliseconds();
  Stopwatch planning;
  WEFT_TRY(planned.plan, make_plan(module, traits));
  planned.tuned_kernels = choose_knobs(planned.plan.programs, request.choose_knobs);
  planned.plan_ms = planning.milliseconds();
  planned.module = std::move(module);
  return planned;
}

#ifdef WEFT_HAS_LLVM
GraphInterface interface_of(const Graph& graph) {
  GraphInterface interface;
  interface.name = graph.name();
  for (Value input : graph.inputs()) {
    interface.inputs.push_back({graph.input_name(input), graph.type(input)});
  }
  for (const Output& output : graph.outputs) {
    interface.outputs.push_back({output.name, graph.type(output.value)});
  }
  return interface;
}

Executable make_executable(const Module& module, Plan& plan, const cpu::CpuTarget& target,
                           cpu::CompiledPrograms&& code) {
  Executable executable;
  executable.target_cpu = target.name;
  executable.target_features = target.features;
  executable.module_name = module.name;
  executable.dims = module.dims;
  executable.storage = module.storage;
  for (const Graph& graph : module.graphs) executable.interfaces.push_back(interface_of(graph));
  executable.code = std::move(code.code);
  executable.kernels = std::move(code.kernels);
  executable.blocks = std::move(plan.blocks);
  executable.packed = std::move(plan.packed);
  executable.graphs = std::move(plan.graphs);
  return executable;
}
#endif

}  // namespace

DeviceTraits device_traits(const cpu::CpuTarget* target) {
  DeviceTraits traits;
  CpuFacts facts = cpu_facts();
  if (facts.l1_bytes > 0) traits.l1_bytes = facts.l1_bytes;
  if (facts.l2_bytes > 0) traits.l2_bytes = facts.l2_bytes;
  // As wide as the widest micro-tile of the emitter; narrower ones read a part of a panel.
  const int registers = target != nullptr ? target->vector_registers : 16;
  traits.vector_bytes = (target != nullptr ? target->vector_bits : facts.vector_bits) / 8;
  traits.panel_bytes = traits.vector_bytes * (registers >= 32 ? 4 : 2);
  return traits;
}

bool has_code_generator() {
#ifdef WEFT_HAS_LLVM
  return true;
#else
  return false;
#endif
}

Result<PlannedModule> plan_module(Module module, const CompileRequest& request) {
#ifdef WEFT_HAS_LLVM
  cpu::TargetUse use = request.other_machine ? cpu::TargetUse::kCompile : cpu::TargetUse::kRun;
  WEFT_TRY(cpu::CpuTarget target, cpu::resolve_cpu_target(request.target_cpu, use));
  return plan_for(std::move(module), request, device_traits(&target));
#else
  return plan_for(std::move(module), request, device_traits(nullptr));
#endif
}

Result<Compiled> compile([[maybe_unused]] Module module, const CompileRequest& request) {
  if (request.device != "cpu") {
    return error({}, "this build makes no code for device '", request.device, "'")
        .hint("--device cpu");
  }
#ifdef WEFT_HAS_LLVM
  cpu::TargetUse use = request.other_machine ? cpu::TargetUse::kCompile : cpu::TargetUse::kRun;
  WEFT_TRY(cpu::CpuTarget target, cpu::resolve_cpu_target(request.target_cpu, use));
  WEFT_TRY(PlannedModule planned, plan_for(std::move(module), request, device_traits(&target)));
  Stopwatch code;
  Compiled compiled;
  WEFT_TRY(cpu::CompiledPrograms programs,
           cpu::compile_programs(
               planned.plan.programs, target,
               {request.bounds_checks, request.keep_text, kernel_folder(request.cache_folder)}));
  compiled.texts = std::move(programs.texts);
  compiled.cached_kernels = programs.cached;
  compiled.cache_problem = std::move(programs.cache_problem);
  compiled.executable = make_executable(planned.module, planned.plan, target, std::move(programs));
  compiled.code_ms = code.milliseconds();
  compiled.programs = std::move(planned.plan.programs);
  compiled.module = std::move(planned.module);
  compiled.attention = std::move(planned.attention);
  compiled.passes = std::move(planned.passes);
  compiled.passes_ms = planned.passes_ms;
  compiled.plan_ms = planned.plan_ms;
  compiled.tuned_kernels = planned.tuned_kernels;
  return compiled;
#else
  return error({}, "this build has no code generator: it was made without LLVM")
      .hint("build with -DWEFT_LLVM=ON, or use --device oracle");
#endif
}

}  // namespace weft
