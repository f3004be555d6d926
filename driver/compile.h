// From a module to an executable: the graph passes, the plan, the code.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/cpu/compile.h"
#include "backends/simt/form.h"
#include "driver/knobs.h"
#include "ir/plan/plan.h"
#include "passes/lower.h"
#include "passes/pass.h"
#include "passes/raise.h"
#include "runtime/executable.h"

namespace weft {

struct CompileRequest {
  std::string device = "cpu";
  std::string target_cpu = "native";
  simt::KernelForm form = {};     // of kernels for Vulkan
  bool other_machine = false;     // the code may be for a processor that this machine does not have
  bool bounds_checks = false;     // in generated code
  bool keep_text = false;         // of kernels, for dumps
  std::string cache_folder = {};  // driver/cache_folder.h; empty: nothing is kept
  // That will be bound, as far as they are known: code for Vulkan sees larger tensors than one
  // descriptor shows in parts, if it knows of them.
  DimBinding sizes = {};
  KnobChooser choose_knobs = {};         // driver/tuning.h; empty: programs stay as lowered
  bool require_fused_attention = false;  // an error if one is left to products of scores in memory
  PipelineOptions pipeline = {};
};

// What is known before any code is made.
struct PlannedModule {
  Module module;  // after the last pass: regions
  Plan plan;
  AttentionReport attention;
  std::vector<PassRecord> passes;
  double passes_ms = 0;
  double plan_ms = 0;        // lowering included
  size_t tuned_kernels = 0;  // so many have other knobs than they were lowered with
};

// What the compiler saw and made of one program, for dumps: texts by the endings of their files.
struct KernelDump {
  std::string name;
  std::vector<std::pair<std::string, std::string>> files;  // {"tile", ".."}, {"ll", ".."}
};

struct Compiled {
  Module module;
  std::vector<tile::Program> programs;
  Executable executable;
  std::vector<KernelDump> texts;  // with keep_text
  AttentionReport attention;
  std::vector<PassRecord> passes;
  double passes_ms = 0;
  double plan_ms = 0;
  double code_ms = 0;
  size_t cached_kernels = 0;  // so many came from the cache
  size_t tuned_kernels = 0;   // so many have other knobs than they were lowered with
  std::string cache_problem;  // why the cache was not used, or not filled

  double total_ms() const { return passes_ms + plan_ms + code_ms; }
};

// False if Weft was built without LLVM: then `compile` fails, and the oracle runs modules.
bool has_code_generator();

// What lowering knows of the machine; `target` is null without a code generator.
DeviceTraits device_traits(const cpu::CpuTarget* target);
bool is_vulkan(std::string_view device);  // "vulkan" or "vulkan:N"
// Everything that code for the request's device follows from, beside the CPU. Fails if there is no
// such device.
Result<std::string> device_key(const CompileRequest& request);

// Without a code generator too. `module` has only the graphs that are wanted.
Result<PlannedModule> plan_module(Module module, const CompileRequest& request);
Result<Compiled> compile(Module module, const CompileRequest& request);

}  // namespace weft
