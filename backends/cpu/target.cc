// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/target.h"

#include <llvm/Config/llvm-config.h>
#include <llvm/IR/Function.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#if LLVM_VERSION_MAJOR >= 17
#include <llvm/TargetParser/Host.h>
#else
#include <llvm/Support/Host.h>
#endif

#include <algorithm>

#include "runtime/cpu/facts.h"
#include "runtime/cpu/features.h"

namespace weft::cpu {
namespace {

#if defined(__x86_64__)
constexpr bool kX86 = true;
#else
constexpr bool kX86 = false;
#endif

bool is_avx512(std::string_view feature) { return feature.starts_with("avx512"); }

// All features we know, up to a level.
std::vector<std::string> known_features(bool avx512) {
  std::vector<std::string> features;
  for (std::string_view feature : known_cpu_features()) {
    if (avx512 || !is_avx512(feature)) features.emplace_back(feature);
  }
  return features;
}

std::vector<std::string> host_features() {
  std::vector<std::string> features = known_features(true);
  const bool whole = missing_cpu_features(features).empty();
  std::erase_if(features, [&](const std::string& feature) {
    // A part of AVX-512 is of no use: our 512-bit code takes all of it for granted.
    return !host_has_cpu_feature(feature) || (!whole && is_avx512(feature));
  });
  return features;
}

void set_facts(CpuTarget& target) {
  auto has = [&](std::string_view feature) {
    return std::find(target.features.begin(), target.features.end(), feature) !=
           target.features.end();
  };
  if (!kX86) {  // aarch64: NEON has 32 registers, and all of these
    target.vector_registers = 32;
    target.fma = target.f16c = target.rounds = true;
    return;
  }
  target.vector_bits = has("avx512f") ? 512 : has("avx2") ? 256 : 128;
  target.vector_registers = has("avx512f") ? 32 : 16;
  target.fma = has("fma");
  target.f16c = has("f16c");
  target.scales = has("avx512f") && has("avx512vl");
  target.rounds = has("sse4.1");
}

std::string join(const std::vector<std::string>& words, std::string_view before,
                 std::string_view between) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += between;
    text += before;
    text += word;
  }
  return text;
}

// The processor named in the object: the baseline, which features are added to.
const char* baseline(const CpuTarget& target) {
  return target.triple.starts_with("x86_64") ? "x86-64" : "generic";
}

Status fill_forced(CpuTarget& target, TargetUse use) {
  const bool avx512 = target.name == "avx512";
  target.features = known_features(avx512);
  target.tune = avx512 ? "x86-64-v4" : "x86-64-v3";
  const std::vector<std::string> missing = missing_cpu_features(target.features);
  if (use == TargetUse::kRun && !missing.empty()) {
    return error({}, "target cpu ", target.name, " needs ", join(missing, "", ", "),
                 ", which this machine (", llvm::sys::getHostCPUName().str(), ") does not have")
        .hint("use --target-cpu native");
  }
  return ok();
}

}  // namespace

Result<CpuTarget> resolve_cpu_target(std::string_view option, TargetUse use) {
  CpuTarget target;
  target.name = option;
  target.tune = "generic";
  target.triple = llvm::sys::getProcessTriple();
  if (option == "native") {
    target.name = llvm::sys::getHostCPUName().str();
    target.tune = target.name;
    target.features = host_features();
    if (const int64_t l1 = cpu_facts().l1_bytes; l1 > 0) target.l1_bytes = l1;
    if (const int64_t l2 = cpu_facts().l2_bytes; l2 > 0) target.l2_bytes = l2;
  } else if (kX86 && (option == "avx2" || option == "avx512")) {
    WEFT_TRY_STATUS(fill_forced(target, use));
  } else if (option != "generic") {
    const std::vector<std::string> names =
        kX86 ? std::vector<std::string>{"native", "generic", "avx2", "avx512"}
             : std::vector<std::string>{"native", "generic"};
    return error({}, "unknown target cpu '", option, "' for ", target.triple)
        .hint(cat("--target-cpu takes ", join(names, "", ", ")));
  }
  set_facts(target);
  return target;
}

std::unique_ptr<llvm::TargetMachine> make_target_machine(const CpuTarget& target) {
  [[maybe_unused]] static const bool kInitialized = [] {
    return !llvm::InitializeNativeTarget() && !llvm::InitializeNativeTargetAsmPrinter();
  }();
  WEFT_CHECK(kInitialized, "LLVM was built with a backend for the machine it runs on");
  std::string problem;
  const llvm::Target* found = llvm::TargetRegistry::lookupTarget(target.triple, problem);
  WEFT_CHECK(found != nullptr, "LLVM has the target: " + problem);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
#if LLVM_VERSION_MAJOR >= 18
  constexpr auto kLevel = llvm::CodeGenOptLevel::Aggressive;
#else
  constexpr auto kLevel = llvm::CodeGenOpt::Aggressive;
#endif
#if LLVM_VERSION_MAJOR >= 21
  const llvm::Triple triple(target.triple);
#else
  const std::string& triple = target.triple;
#endif
  std::unique_ptr<llvm::TargetMachine> machine(
      found->createTargetMachine(triple, baseline(target), join(target.features, "+", ","), options,
                                 llvm::Reloc::PIC_, llvm::CodeModel::Small, kLevel));
  WEFT_CHECK(machine != nullptr, "LLVM makes a machine for " + target.name);
  return machine;
}

void set_target_attributes(llvm::Function& function, const CpuTarget& target) {
  function.addFnAttr("target-cpu", baseline(target));
  function.addFnAttr("tune-cpu", target.tune);
  if (!target.features.empty()) {
    function.addFnAttr("target-features", join(target.features, "+", ","));
  }
  function.addFnAttr("prefer-vector-width", std::to_string(target.vector_bits));
}

}  // namespace weft::cpu
