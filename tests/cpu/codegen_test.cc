// Flat code: what is laid out, what is refused, and how it loads; targets and features.
// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/codegen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/TargetSelect.h>

#include <cmath>
#include <cstring>

#include "backends/cpu/object.h"
#include "runtime/cpu/code.h"
#include "runtime/cpu/features.h"
#include "runtime/cpu/math_table.h"

namespace weft::cpu {
namespace {

using testing::HasSubstr;

CpuTarget native() { return resolve_cpu_target("native", TargetUse::kRun).value(); }

Result<CompiledCode> compile_text(const std::string& text, const CodegenOptions& options = {}) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic problem;
  std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(text, problem, context);
  if (module == nullptr) return error({}, problem.getMessage().str());
  return compile_module(*module, native(), options);
}

// A kernel with this body, and what stands before it.
std::string kernel(const std::string& body, const std::string& before = "") {
  return before + "define void @kernel(ptr %b, ptr %a, i64 %begin, i64 %end, ptr %env) {\n" + body +
         "  ret void\n}\n";
}

void run(const CompiledCode& compiled, void* buffer, int64_t begin = 0) {
  const LoadedCode loaded = LoadedCode::load(compiled.code).value();
  KernelEnv env;
  env.math = &math_table();
  void* buffers[] = {buffer};
  loaded.at(compiled.entries.at("kernel"))(buffers, nullptr, begin, begin + 1, &env);
}

TEST(Codegen, CodeWithConstantsAndOwnFunctionsRunsWhereverItIsLoaded) {
  const CompiledCode compiled =
      compile_text(kernel("  %p = getelementptr i32, ptr @table, i64 %begin\n"
                          "  %v = load i32, ptr %p\n"
                          "  %w = call i32 @twice(i32 %v)\n"
                          "  %out = load ptr, ptr %b\n"
                          "  store i32 %w, ptr %out\n",
                          "@table = private constant [4 x i32] [i32 3, i32 5, i32 7, i32 11]\n"
                          "define internal i32 @twice(i32 %x) noinline {\n"
                          "  %y = add i32 %x, %x\n  ret i32 %y\n}\n"))
          .value();
  EXPECT_EQ(compiled.entries.size(), 1U) << "internal functions are no entries";
  for (int64_t i = 0; i < 4; ++i) {
    int32_t out = 0;
    run(compiled, &out, i);
    EXPECT_EQ(out, (std::vector<int32_t>{6, 10, 14, 22})[static_cast<size_t>(i)]);
  }
}

TEST(Codegen, JumpTablesAreSettled) {
  std::string cases, blocks;
  for (int i = 0; i < 12; ++i) {
    cases += cat("    i64 ", i, ", label %case", i, "\n");
    blocks += cat("case", i, ":\n  store volatile i32 ", i * i + 7 * (i % 3),
                  ", ptr %out\n  br label %done\n");
  }
  const CompiledCode compiled =
      compile_text(kernel("  %out = load ptr, ptr %b\n  switch i64 %begin, label %done [\n" +
                          cases + "  ]\n" + blocks + "done:\n"))
          .value();
  for (int i = 0; i < 12; ++i) {
    int32_t out = -1;
    run(compiled, &out, i);
    EXPECT_EQ(out, i * i + 7 * (i % 3));
  }
}

TEST(Codegen, TheMathTableIsReachedThroughTheEnvironment) {
  const CompiledCode compiled =
      compile_text(kernel(cat("  %m = getelementptr i8, ptr %env, i64 ", offsetof(KernelEnv, math),
                              "\n  %t = load ptr, ptr %m\n  %f = getelementptr i8, ptr %t, i64 ",
                              offsetof(MathTable, erf),
                              "\n  %g = load ptr, ptr %f\n"
                              "  %r = call double %g(double 5.0e-01)\n"
                              "  %out = load ptr, ptr %b\n  store double %r, ptr %out\n")))
          .value();
  double out = 0;
  run(compiled, &out);
  EXPECT_EQ(out, std::erf(0.5));
}

TEST(Codegen, TextsAreThereWhenAskedFor) {
  const std::string text = kernel("");
  const CompiledCode silent = compile_text(text).value();
  EXPECT_EQ(silent.assembly + silent.llvm_ir, "");
  const CompiledCode told = compile_text(text, {.assembly = true, .llvm_ir = true}).value();
  EXPECT_THAT(told.assembly, HasSubstr("kernel:"));
  EXPECT_THAT(told.llvm_ir, HasSubstr("define hidden void @kernel("));
  EXPECT_EQ(told.code, silent.code);
}

TEST(Codegen, SameModuleSameBytes) {
  const std::string text = kernel("  store i64 %begin, ptr %a\n");
  EXPECT_EQ(compile_text(text).value().code, compile_text(text).value().code);
}

void expect_refused(const std::string& text, const std::string& reason) {
  const Result<CompiledCode> compiled = compile_text(text);
  ASSERT_FALSE(compiled.ok()) << text;
  EXPECT_THAT(render(compiled.diagnostics()), HasSubstr(reason));
}

TEST(Codegen, WhatIsOutsideIsRefusedByName) {
  expect_refused(kernel("  call void @elsewhere()\n", "declare void @elsewhere()\n"),
                 "'elsewhere'");
  expect_refused(kernel("  %v = load i32, ptr @far\n  store i32 %v, ptr %a\n",
                        "@far = external hidden global i32\n"),
                 "'far'");
  // An intrinsic that becomes a call.
  expect_refused(kernel("  call void @llvm.memset.p0.i64(ptr %a, i8 0, i64 %end, i1 false)\n",
                        "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)\n"),
                 "'memset'");
}

TEST(Codegen, ALoopIsNotMadeIntoACall) {
  const Result<CompiledCode> compiled =
      compile_text(kernel("  br label %loop\n"
                          "loop:\n"
                          "  %i = phi i64 [ 0, %0 ], [ %n, %loop ]\n"
                          "  %p = getelementptr i8, ptr %a, i64 %i\n"
                          "  store i8 0, ptr %p\n"
                          "  %n = add i64 %i, 1\n"
                          "  %c = icmp slt i64 %n, %end\n"
                          "  br i1 %c, label %loop, label %out\n"
                          "out:\n"));
  EXPECT_TRUE(compiled.ok()) << render(compiled.diagnostics());
}

TEST(Codegen, AddressesAndWritableDataAreRefused) {
  expect_refused(kernel("  %q = getelementptr ptr, ptr @where, i64 %begin\n"
                        "  %p = load ptr, ptr %q\n  store ptr %p, ptr %a\n",
                        "@word = internal constant i32 5\n"
                        "@where = internal constant [2 x ptr] [ptr @word, ptr @where]\n"),
                 "needs a linker");
  expect_refused(kernel("  store i64 %end, ptr @state\n  %v = load volatile i64, ptr @state\n",
                        "@state = internal global i64 5\n"),
                 "can be written");
}

TEST(Codegen, AnInvalidModuleIsAnError) {
  llvm::LLVMContext context;
  llvm::Module module("broken", context);
  auto* function =
      llvm::Function::Create(llvm::FunctionType::get(llvm::Type::getVoidTy(context), {}, false),
                             llvm::GlobalValue::ExternalLinkage, "open", module);
  llvm::BasicBlock::Create(context, "", function);  // no terminator
  const Result<CompiledCode> compiled = compile_module(module, native());
  ASSERT_FALSE(compiled.ok());
  EXPECT_THAT(render(compiled.diagnostics()), HasSubstr("not valid"));
}

TEST(FlattenObject, OtherBytesAreAnError) {
  EXPECT_FALSE(flatten_object("").ok());
  EXPECT_FALSE(flatten_object("not an object").ok());
  EXPECT_FALSE(flatten_object(std::string_view("\x7f"
                                               "ELF\x02\x01\x01\0\0\0\0\0\0\0\0\0",
                                               16))
                   .ok());
}

// The distance that an instruction of aarch64 has in its immediate.
int64_t branch_distance(uint32_t instruction) {
  return static_cast<int64_t>(static_cast<int32_t>(instruction << 6) >> 6) * 4;
}
uint64_t page_distance(uint32_t instruction) {
  return (uint64_t{instruction >> 5 & 0x7ffff} << 2 | (instruction >> 29 & 3)) << 12;
}

TEST(FlattenObject, SettlesTheDistancesOfAarch64) {
  llvm::InitializeAllTargetInfos();
  llvm::InitializeAllTargets();
  llvm::InitializeAllTargetMCs();
  llvm::InitializeAllAsmPrinters();
  CpuTarget target = resolve_cpu_target("generic", TargetUse::kCompile).value();
  target.triple = "aarch64-unknown-linux-gnu";
  std::string problem;
  if (llvm::TargetRegistry::lookupTarget(target.triple, problem) == nullptr) {
    GTEST_SKIP() << "this LLVM has no aarch64";
  }
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  const std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(
      kernel("  %p = getelementptr i32, ptr @table, i64 %begin\n  %v = load i32, ptr %p\n"
             "  call void @next(i32 %v)\n  store i32 %v, ptr %a\n",
             "@table = private constant [4 x i32] [i32 3, i32 5, i32 7, i32 11]\n"
             "define void @next(i32 %x) noinline {\n  call void asm sideeffect \"\", \"\"()\n"
             "  ret void\n}\n"),
      diagnostic, context);
  const CompiledCode compiled = compile_module(*module, target).value();
  std::vector<uint32_t> words(compiled.code.size() / 4);
  std::memcpy(words.data(), compiled.code.data(), words.size() * 4);
  int calls = 0, addresses = 0;
  for (uint64_t i = 0; i + 1 < words.size(); ++i) {
    if ((words[i] & 0xfc000000) == 0x94000000) {  // bl
      ++calls;
      EXPECT_EQ(i * 4 + static_cast<uint64_t>(branch_distance(words[i])),
                compiled.entries.at("next"));
    }
    if ((words[i] & 0x9f000000) == 0x90000000) {  // adrp, then add
      ++addresses;
      ASSERT_EQ(words[i + 1] & 0xffc00000, 0x91000000U);
      const uint64_t at = page_distance(words[i]) + (words[i + 1] >> 10 & 0xfff);
      ASSERT_LE(at / 4 + 4, words.size());
      EXPECT_EQ(words[at / 4], 3U);
      EXPECT_EQ(words[at / 4 + 3], 11U);
    }
  }
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(addresses, 1);
}

TEST(LoadedCode, NothingIsNotCode) { EXPECT_FALSE(LoadedCode::load({}).ok()); }

TEST(LoadedCode, MovesAndFreesItsMemory) {
  const CompiledCode compiled = compile_text(kernel("")).value();
  LoadedCode first = LoadedCode::load(compiled.code).value();
  const KernelFn function = first.at(0);
  LoadedCode second = std::move(first);
  EXPECT_EQ(second.at(0), function);
  EXPECT_EQ(second.size(), compiled.code.size());
  second = LoadedCode::load(compiled.code).value();
  second.at(compiled.entries.at("kernel"))(nullptr, nullptr, 0, 0, nullptr);
}

TEST(LoadedCodeDeathTest, AnEntryOutsideIsAFaultOfOurs) {
  const CompiledCode compiled = compile_text(kernel("")).value();
  const LoadedCode loaded = LoadedCode::load(compiled.code).value();
  EXPECT_EXIT(loaded.at(compiled.code.size()), testing::ExitedWithCode(3), "inside the code");
}

TEST(Features, WhatTheTargetNeedsTheHostHas) {
  EXPECT_TRUE(missing_cpu_features(native().features).empty());
  for (const std::string& feature : native().features) EXPECT_TRUE(host_has_cpu_feature(feature));
}

TEST(Features, UnknownOnesAreMissing) {
  std::vector<std::string> needed = native().features;
  needed.emplace_back("warp-drive");
  EXPECT_THAT(missing_cpu_features(needed), testing::ElementsAre("warp-drive"));
}

TEST(Target, UnknownNamesAreRefusedWithTheKnownOnes) {
  const Result<CpuTarget> target = resolve_cpu_target("pentium", TargetUse::kCompile);
  ASSERT_FALSE(target.ok());
  EXPECT_THAT(render(target.diagnostics()), HasSubstr("unknown target cpu 'pentium'"));
  EXPECT_THAT(render(target.diagnostics()), HasSubstr("native, generic"));
}

TEST(Target, GenericNeedsNothing) {
  const CpuTarget target = resolve_cpu_target("generic", TargetUse::kRun).value();
  EXPECT_TRUE(target.features.empty());
  EXPECT_EQ(target.vector_bits, 128);
}

#if defined(__x86_64__)
TEST(Target, ForcedOnesHaveTheirWidthAndAreRefusedWhereTheyCannotRun) {
  for (const auto& [name, bits] : {std::pair("avx2", 256), std::pair("avx512", 512)}) {
    const CpuTarget target = resolve_cpu_target(name, TargetUse::kCompile).value();
    EXPECT_EQ(target.vector_bits, bits);
    EXPECT_TRUE(target.fma && target.f16c && target.rounds);
    const std::vector<std::string> missing = missing_cpu_features(target.features);
    const Result<CpuTarget> here = resolve_cpu_target(name, TargetUse::kRun);
    EXPECT_EQ(here.ok(), missing.empty());
    if (!here.ok()) {
      EXPECT_THAT(render(here.diagnostics()), HasSubstr(missing[0]));
    }
  }
}

// Compile only: the code of a machine that this one need not be.
TEST(Target, Avx512CodeUsesItsRegisters) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic problem;
  const std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(
      kernel("  %x = load <16 x float>, ptr %a\n  %y = fadd <16 x float> %x, %x\n"
             "  store <16 x float> %y, ptr %a\n"),
      problem, context);
  const CpuTarget target = resolve_cpu_target("avx512", TargetUse::kCompile).value();
  const CompiledCode compiled = compile_module(*module, target, {.assembly = true}).value();
  EXPECT_THAT(compiled.assembly, HasSubstr("%zmm0"));
}
#endif

}  // namespace
}  // namespace weft::cpu
