// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/compile.h"

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <thread>

#include "backends/cpu/codegen.h"
#include "backends/cpu/emitter.h"
#include "ir/tile/text.h"

namespace weft::cpu {
namespace {

// Functions of one LLVM module start where the code of another one may end.
constexpr size_t kCodeAlignment = 64;

std::string symbol_of(size_t program) { return "kernel_" + std::to_string(program); }

// Programs that are compiled together, on one thread.
struct Shard {
  std::vector<size_t> programs;
  std::vector<Kernel> kernels;  // of `programs`; entries count from the start of the shard's code
  std::vector<KernelText> texts;
  std::vector<std::byte> code;
  Status status = ok();
};

void compile_shard(const std::vector<tile::Program>& programs, const CpuTarget& target,
                   const CompileOptions& options, Shard& shard) {
  llvm::LLVMContext context;
  llvm::Module module("weft", context);
  for (size_t number : shard.programs) {
    KernelEmitter emitter(module, programs[number], target, options);
    shard.kernels.push_back(emitter.emit(symbol_of(number)));
  }
  CodegenOptions codegen{.assembly = options.keep_text, .llvm_ir = options.keep_text};
  Result<CompiledCode> compiled = compile_module(module, target, codegen);
  if (!compiled) {
    shard.status = std::move(compiled).take_error();
    return;
  }
  for (size_t i = 0; i < shard.programs.size(); ++i) {
    shard.kernels[i].entry = compiled->entries.at(symbol_of(shard.programs[i]));
    if (!options.keep_text) continue;
    const tile::Program& program = programs[shard.programs[i]];
    shard.texts.push_back(
        {program.name, tile::print(program), compiled->llvm_ir, compiled->assembly});
  }
  shard.code = std::move(compiled->code);
}

// One shard per thread; with texts, one per program, so that a text shows one kernel.
std::vector<Shard> make_shards(size_t programs, size_t threads, bool keep_text) {
  std::vector<Shard> shards(keep_text ? programs : std::min(programs, threads));
  for (size_t i = 0; i < programs; ++i) shards[i % shards.size()].programs.push_back(i);
  return shards;
}

}  // namespace

Result<CompiledPrograms> compile_programs(const std::vector<tile::Program>& programs,
                                          const CpuTarget& target, const CompileOptions& options) {
  size_t threads = std::max(1U, std::thread::hardware_concurrency());
  std::vector<Shard> shards = make_shards(programs.size(), threads, options.keep_text);
  std::vector<std::thread> workers;
  for (size_t worker = 0; worker < threads; ++worker) {
    workers.emplace_back([&, worker] {
      for (size_t i = worker; i < shards.size(); i += threads) {
        compile_shard(programs, target, options, shards[i]);
      }
    });
  }
  for (std::thread& worker : workers) worker.join();

  CompiledPrograms result;
  result.kernels.resize(programs.size());
  result.texts.resize(options.keep_text ? programs.size() : 0);
  for (Shard& shard : shards) {
    WEFT_TRY_STATUS(std::move(shard.status));
    size_t start = (result.code.size() + kCodeAlignment - 1) / kCodeAlignment * kCodeAlignment;
    result.code.resize(start);
    result.code.insert(result.code.end(), shard.code.begin(), shard.code.end());
    for (size_t i = 0; i < shard.programs.size(); ++i) {
      shard.kernels[i].entry += start;
      result.kernels[shard.programs[i]] = std::move(shard.kernels[i]);
      if (options.keep_text) result.texts[shard.programs[i]] = std::move(shard.texts[i]);
    }
  }
  return result;
}

}  // namespace weft::cpu
