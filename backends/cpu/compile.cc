// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/compile.h"

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <thread>

#include "backends/cpu/code_cache.h"
#include "backends/cpu/codegen.h"
#include "backends/cpu/emitter.h"
#include "ir/tile/text.h"

namespace weft::cpu {
namespace {

// Functions of one program start where the code of another one may end.
constexpr size_t kCodeAlignment = 64;

constexpr const char* kSymbol = "kernel";

// What came of one program.
struct Outcome {
  ProgramCode compiled;
  KernelText text;
  bool cached = false;
  Status status = ok();
  Status kept = ok();
};

Status compile_program(const tile::Program& program, const CpuTarget& target,
                       const CompileOptions& options, Outcome& outcome) {
  llvm::LLVMContext context;
  llvm::Module module("weft", context);
  outcome.compiled.kernel = KernelEmitter(module, program, target, options).emit(kSymbol);
  CodegenOptions codegen{.assembly = options.keep_text, .llvm_ir = options.keep_text};
  WEFT_TRY(CompiledCode code, compile_module(module, target, codegen));
  outcome.compiled.kernel.entry = code.entries.at(kSymbol);
  outcome.compiled.code = std::move(code.code);
  if (options.keep_text) {
    outcome.text = {program.name, tile::print(program), std::move(code.llvm_ir),
                    std::move(code.assembly)};
  }
  return ok();
}

void find_or_compile(const tile::Program& program, const CpuTarget& target,
                     const CompileOptions& options, const CodeCache* cache, Outcome& outcome) {
  const std::string key = cache != nullptr ? cache->key_of(program) : "";
  if (cache != nullptr) {
    if (std::optional<ProgramCode> found = cache->find(key)) {
      outcome.compiled = std::move(*found);
      outcome.cached = true;
      return;
    }
  }
  outcome.status = compile_program(program, target, options, outcome);
  if (cache != nullptr && outcome.status.ok()) outcome.kept = cache->keep(key, outcome.compiled);
}

// The largest programs first, so that no thread is left with one when the others are done.
std::vector<size_t> order_of(const std::vector<tile::Program>& programs) {
  std::vector<size_t> order(programs.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return programs[a].values.size() > programs[b].values.size();
  });
  return order;
}

std::vector<Outcome> compile_all(const std::vector<tile::Program>& programs,
                                 const CpuTarget& target, const CompileOptions& options,
                                 const CodeCache* cache) {
  std::vector<Outcome> outcomes(programs.size());
  const std::vector<size_t> order = order_of(programs);
  std::atomic<size_t> next = 0;
  auto work = [&] {
    for (size_t i = next++; i < order.size(); i = next++) {
      find_or_compile(programs[order[i]], target, options, cache, outcomes[order[i]]);
    }
  };
  size_t threads = std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::thread> workers;
  for (size_t i = 1; i < std::min(threads, programs.size()); ++i) workers.emplace_back(work);
  work();
  for (std::thread& worker : workers) worker.join();
  return outcomes;
}

Result<CompiledPrograms> join(std::vector<Outcome> outcomes, bool keep_text) {
  CompiledPrograms result;
  for (Outcome& outcome : outcomes) {
    WEFT_TRY_STATUS(std::move(outcome.status));
    std::vector<std::byte>& code = outcome.compiled.code;
    size_t start = (result.code.size() + kCodeAlignment - 1) / kCodeAlignment * kCodeAlignment;
    result.code.resize(start);
    result.code.insert(result.code.end(), code.begin(), code.end());
    result.kernels.push_back(std::move(outcome.compiled.kernel));
    result.kernels.back().entry += start;
    if (keep_text) result.texts.push_back(std::move(outcome.text));
    result.cached += outcome.cached ? 1 : 0;
    if (!outcome.kept.ok()) result.cache_problem = outcome.kept.diagnostics()[0].message;
  }
  return result;
}

}  // namespace

Result<CompiledPrograms> compile_programs(const std::vector<tile::Program>& programs,
                                          const CpuTarget& target, const CompileOptions& options) {
  if (options.cache_folder.empty() || options.keep_text) {
    return join(compile_all(programs, target, options, nullptr), options.keep_text);
  }
  Result<CodeCache> cache = CodeCache::open(options.cache_folder, target, options.bounds_checks);
  const CodeCache* open = cache.ok() ? &*cache : nullptr;
  WEFT_TRY(CompiledPrograms result, join(compile_all(programs, target, options, open), false));
  if (!cache.ok()) result.cache_problem = cache.diagnostics()[0].message;
  if (cache.ok() && result.cached < programs.size()) cache->trim();
  return result;
}

}  // namespace weft::cpu
