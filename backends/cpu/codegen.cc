// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/codegen.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/Utils/Cloning.h>
#if LLVM_VERSION_MAJOR < 17
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#endif

#include "backends/cpu/object.h"

namespace weft::cpu {
namespace {

// From LLVM 18 on the pass goes over the code once, and named in a text it ends the program where a
// second round would find more, unless told not to look.
#if LLVM_VERSION_MAJOR >= 18
constexpr const char* kCombine = "instcombine<no-verify-fixpoint>";
#else
constexpr const char* kCombine = "instcombine";
#endif

// What -O2 does for straight vector code, without what would turn loops into memcpy or vectorise
// them a second time.
std::string pipeline() {
  return cat("always-inline,function(sroa,early-cse<memssa>,simplifycfg,", kCombine,
             ",loop-mssa(loop-rotate,licm),gvn,", kCombine, ",dse,adce,simplifycfg),globaldce");
}

// No function is known to be a library function.
llvm::TargetLibraryInfoImpl no_library(const llvm::Module& module) {
  llvm::TargetLibraryInfoImpl info{llvm::Triple(module.getTargetTriple())};
  info.disableAllFunctions();
  return info;
}

// Inside one blob every address is a fixed distance away: hidden symbols need no table of offsets.
void prepare(llvm::Module& module, const CpuTarget& target, const llvm::TargetMachine& machine) {
  module.setDataLayout(machine.createDataLayout());
#if LLVM_VERSION_MAJOR >= 21
  module.setTargetTriple(llvm::Triple(target.triple));
#else
  module.setTargetTriple(target.triple);
#endif
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    set_target_attributes(function, target);
    function.addFnAttr("no-builtins");
    function.addFnAttr(llvm::Attribute::NoUnwind);
    if (!function.hasLocalLinkage()) {
      function.setVisibility(llvm::GlobalValue::HiddenVisibility);
      function.setDSOLocal(true);
    }
  }
  for (llvm::GlobalVariable& global : module.globals()) {
    if (!global.isDeclaration()) global.setDSOLocal(true);
  }
}

void optimize(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  functions.registerPass([&module] { return llvm::TargetLibraryAnalysis(no_library(module)); });
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  llvm::ModulePassManager passes;
  llvm::Error problem = builder.parsePassPipeline(passes, pipeline());
  WEFT_CHECK(!problem, "LLVM knows our pipeline: " + llvm::toString(std::move(problem)));
  passes.run(module, modules);
}

#if LLVM_VERSION_MAJOR < 17
// Before LLVM 17 the backend for x86 cannot select these. Comes after the optimisations, so that
// they see what they see in other versions. If `b` is NaN, the comparison is false and chooses it.
void lower_extrema(llvm::Function& function) {
  for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
    auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
    if (call == nullptr) continue;
    const bool largest = call->getIntrinsicID() == llvm::Intrinsic::maximum;
    if (!largest && call->getIntrinsicID() != llvm::Intrinsic::minimum) continue;
    llvm::IRBuilder<> ir(call);
    llvm::Value* a = call->getArgOperand(0);
    llvm::Value* b = call->getArgOperand(1);
    llvm::Value* first = largest ? ir.CreateFCmpOGT(a, b) : ir.CreateFCmpOLT(a, b);
    llvm::Value* number = ir.CreateSelect(first, a, b);
    call->replaceAllUsesWith(ir.CreateSelect(ir.CreateFCmpUNO(a, a), a, number));
    call->eraseFromParent();
  }
}
#endif

enum class Output { kObject, kAssembly };

// Consumes the module: code generation rewrites it.
llvm::SmallVector<char, 0> generate(llvm::Module& module, llvm::TargetMachine& machine,
                                    Output output) {
#if LLVM_VERSION_MAJOR >= 18
  const auto kind = output == Output::kObject ? llvm::CodeGenFileType::ObjectFile
                                              : llvm::CodeGenFileType::AssemblyFile;
#else
  const auto kind = output == Output::kObject ? llvm::CGFT_ObjectFile : llvm::CGFT_AssemblyFile;
#endif
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  passes.add(new llvm::TargetLibraryInfoWrapperPass(no_library(module)));
  const bool refused = machine.addPassesToEmitFile(passes, stream, nullptr, kind);
  WEFT_CHECK(!refused, "LLVM's backend emits files");
  passes.run(module);
  return bytes;
}

}  // namespace

Result<CompiledCode> compile_module(llvm::Module& module, const CpuTarget& target,
                                    const CodegenOptions& options) {
  const std::unique_ptr<llvm::TargetMachine> machine = make_target_machine(target);
  prepare(module, target, *machine);
  std::string problem;
  llvm::raw_string_ostream problem_stream(problem);
  if (llvm::verifyModule(module, &problem_stream)) {
    return error({}, "generated LLVM IR is not valid: ", problem_stream.str());
  }
  optimize(module, *machine);
#if LLVM_VERSION_MAJOR < 17
  for (llvm::Function& function : module) lower_extrema(function);
#endif
  CompiledCode compiled;
  if (options.llvm_ir) {
    llvm::raw_string_ostream stream(compiled.llvm_ir);
    module.print(stream, nullptr);
  }
  if (options.assembly) {
    const std::unique_ptr<llvm::Module> copy = llvm::CloneModule(module);
    const llvm::SmallVector<char, 0> text = generate(*copy, *machine, Output::kAssembly);
    compiled.assembly.assign(text.begin(), text.end());
  }
  const llvm::SmallVector<char, 0> object = generate(module, *machine, Output::kObject);
  WEFT_TRY(FlatCode flat, flatten_object({object.data(), object.size()}));
  compiled.code = std::move(flat.code);
  compiled.entries = std::move(flat.entries);
  return compiled;
}

}  // namespace weft::cpu
