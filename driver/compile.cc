// SPDX-License-Identifier: Apache-2.0
#include "driver/compile.h"

#include <chrono>
#include <cstdlib>
#include <map>
#include <mutex>
#include <optional>

#include "driver/cache_folder.h"
#include "passes/pack_weights.h"
#include "passes/plan.h"
#include "runtime/cpu/facts.h"
#include "runtime/vulkan/device_facts.h"
#ifdef WEFT_HAS_VULKAN
#include "backends/simt/knobs.h"
#include "backends/vulkan/compile.h"
#include "runtime/vulkan/open.h"
#endif

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

// What code is made for.
struct Target {
  std::optional<cpu::CpuTarget> cpu = {};
  std::optional<VulkanFacts> vulkan = {};
  DeviceTraits traits = {};
};

// Programs for a device that is not the CPU get the knobs of their mapping to it.
void add_device_knobs([[maybe_unused]] std::vector<tile::Program>& programs,
                      [[maybe_unused]] const Target& target,
                      [[maybe_unused]] const simt::KernelForm& form) {
#ifdef WEFT_HAS_VULKAN
  if (!target.vulkan) return;
  const simt::Profile profile = vulkan::profile_of(*target.vulkan, form);
  for (tile::Program& program : programs) simt::add_knobs(program, profile);
#endif
}

Result<PlannedModule> plan_for(Module module, const CompileRequest& request, const Target& target) {
  DeviceTraits traits = target.traits;
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
  add_device_knobs(planned.plan.programs, target, request.form);
  planned.tuned_kernels = choose_knobs(planned.plan.programs, request.choose_knobs);
  planned.plan_ms = planning.milliseconds();
  planned.module = std::move(module);
  return planned;
}

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

// Everything but code.
void describe(const Module& module, Plan& plan, Executable& executable) {
  executable.module_name = module.name;
  executable.dims = module.dims;
  executable.storage = module.storage;
  for (const Graph& graph : module.graphs) executable.interfaces.push_back(interface_of(graph));
  executable.blocks = std::move(plan.blocks);
  executable.packed = std::move(plan.packed);
  executable.graphs = std::move(plan.graphs);
}

DeviceTraits simt_traits() {
  DeviceTraits traits;
  // Sums of values are made smaller once for all keys of a tile: 1.3 times the speed of 2 keys on
  // Mesa's CPU driver.
  traits.attention_keys = 8;
  traits.simt = true;
  traits.panel_bytes = 0;  // products read weights as they lie
  return traits;
}

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

bool is_vulkan(std::string_view device) {
  return device == "vulkan" || device.starts_with("vulkan:");
}

namespace {

#ifdef WEFT_HAS_VULKAN
std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// What a device can, without what failed its self-test. Asked once in a process for each way a
// driver may lie and for what it is said to have: it opens the device.
Result<VulkanFacts> tested_device(const CompileRequest& request) {
  static std::mutex mutex;
  static std::map<std::vector<std::string>, VulkanFacts> known;
  const std::vector<std::string> key = {request.device, environment("WEFT_VULKAN_LIE"),
                                        environment(kVulkanLimits), environment(kVulkanFail)};
  const std::lock_guard<std::mutex> guard(mutex);
  auto found = known.find(key);
  if (found != known.end()) return found->second;
  VulkanOptions options;
  options.device = request.device;
  options.cache_folder = vulkan_folder(request.cache_folder);
  options.self_test = true;
  WEFT_TRY(std::shared_ptr<VulkanDevice> device, open_vulkan(options));
  return known[key] = facts_of(*device);
}
#endif

Result<Target> resolve_target(const CompileRequest& request) {
  Target target;
  if (is_vulkan(request.device)) {
#ifdef WEFT_HAS_VULKAN
    WEFT_TRY(target.vulkan, tested_device(request));
    target.traits = simt_traits();
    return target;
#else
    return error({}, "this build makes no code for Vulkan: it was made without its libraries")
        .hint("--device cpu");
#endif
  }
#ifdef WEFT_HAS_LLVM
  cpu::TargetUse use = request.other_machine ? cpu::TargetUse::kCompile : cpu::TargetUse::kRun;
  WEFT_TRY(target.cpu, cpu::resolve_cpu_target(request.target_cpu, use));
  target.traits = device_traits(&*target.cpu);
#else
  target.traits = device_traits(nullptr);
#endif
  return target;
}

#ifdef WEFT_HAS_VULKAN
std::string key_of(const VulkanFacts& facts) {
  std::string key =
      cat("vulkan ", facts.vendor, " ", facts.device, " ", facts.name, " ", facts.kind, " ",
          facts.driver, " ", facts.driver_version, " ", facts.driver_info, " ", facts.subgroup, " ",
          facts.max_workgroup, " ", facts.shared_bytes, " ", facts.push_constant_bytes, " ",
          facts.texel_elements, " ", facts.storage_range);
  for (const VulkanFeature& feature : facts.features) {
    if (facts.has(feature.name)) key += " " + feature.name;
  }
  return key;
}
#endif

#ifdef WEFT_HAS_VULKAN
// The same programs for whatever device the executable may meet.
Status add_portable(std::vector<tile::Program>& programs, const vulkan::ProgramFacts& facts,
                    Executable& executable) {
  WEFT_TRY(vulkan::CompiledPrograms made,
           vulkan::compile_programs(programs, facts, vulkan::portable_target(), false));
  const uint64_t before = executable.code.size();
  executable.code.insert(executable.code.end(), made.code.begin(), made.code.end());
  for (Kernel& kernel : made.kernels) kernel.entry += before;
  executable.portable = std::move(made.kernels);
  return ok();
}
#endif

// Fills in the executable's code, and what it says about its device.
Status make_code(PlannedModule& planned, [[maybe_unused]] const Target& target,
                 [[maybe_unused]] const CompileRequest& request,
                 [[maybe_unused]] Compiled& compiled) {
#ifdef WEFT_HAS_VULKAN
  if (target.vulkan) {
    const vulkan::ProgramFacts facts =
        vulkan::program_facts(planned.plan, planned.module.storage, request.sizes);
    std::vector<tile::Program> programs = planned.plan.programs;
    WEFT_TRY(vulkan::CompiledPrograms made,
             vulkan::compile_programs(planned.plan.programs, facts,
                                      vulkan::target_of(*target.vulkan, request.form),
                                      request.keep_text));
    for (const Kernel& kernel : made.kernels) {
      WEFT_TRY_STATUS(check_bindings(kernel, *target.vulkan));
    }
    compiled.executable.device = "vulkan";
    compiled.executable.code = std::move(made.code);
    compiled.executable.kernels = std::move(made.kernels);
    if (request.other_machine) WEFT_TRY_STATUS(add_portable(programs, facts, compiled.executable));
    for (vulkan::KernelText& text : made.texts) {
      const auto* words = reinterpret_cast<const char*>(text.spirv.data());
      compiled.texts.push_back({text.name,
                                {{"tile", text.tile},
                                 {"comp", text.glsl},
                                 {"spv", {words, text.spirv.size() * sizeof(uint32_t)}}}});
    }
    return ok();
  }
#endif
#ifdef WEFT_HAS_LLVM
  WEFT_TRY(cpu::CompiledPrograms made,
           cpu::compile_programs(
               planned.plan.programs, *target.cpu,
               {request.bounds_checks, request.keep_text, kernel_folder(request.cache_folder)}));
  for (cpu::KernelText& text : made.texts) {
    compiled.texts.push_back(
        {text.name, {{"tile", text.tile}, {"ll", text.llvm}, {"s", text.assembly}}});
  }
  compiled.cached_kernels = made.cached;
  compiled.cache_problem = std::move(made.cache_problem);
  compiled.executable.target_cpu = target.cpu->name;
  compiled.executable.target_features = target.cpu->features;
  compiled.executable.code = std::move(made.code);
  compiled.executable.kernels = std::move(made.kernels);
  return ok();
#else
  return error({}, "this build has no code generator: it was made without LLVM")
      .hint("build with -DWEFT_LLVM=ON, or use --device oracle");
#endif
}

}  // namespace

Result<std::string> device_key([[maybe_unused]] const CompileRequest& request) {
#ifdef WEFT_HAS_VULKAN
  if (is_vulkan(request.device)) {
    WEFT_TRY(Target target, resolve_target(request));
    return key_of(*target.vulkan) + " " + simt::str(request.form);
  }
#endif
  return request.device;
}

Result<PlannedModule> plan_module(Module module, const CompileRequest& request) {
  WEFT_TRY(Target target, resolve_target(request));
  return plan_for(std::move(module), request, target);
}

Result<Compiled> compile(Module module, const CompileRequest& request) {
  if (request.device != "cpu" && !is_vulkan(request.device)) {
    return error({}, "this build makes no code for device '", request.device, "'")
        .hint("--device cpu");
  }
  WEFT_TRY(Target target, resolve_target(request));
  WEFT_TRY(PlannedModule planned, plan_for(std::move(module), request, target));
  Stopwatch code;
  Compiled compiled;
  WEFT_TRY_STATUS(make_code(planned, target, request, compiled));
  describe(planned.module, planned.plan, compiled.executable);
  compiled.code_ms = code.milliseconds();
  compiled.programs = std::move(planned.plan.programs);
  compiled.module = std::move(planned.module);
  compiled.attention = std::move(planned.attention);
  compiled.passes = std::move(planned.passes);
  compiled.passes_ms = planned.passes_ms;
  compiled.plan_ms = planned.plan_ms;
  compiled.tuned_kernels = planned.tuned_kernels;
  return compiled;
}

}  // namespace weft
