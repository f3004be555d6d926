// SPDX-License-Identifier: Apache-2.0
#include "tests/cpu/flat_function.h"

#include <llvm/IR/Module.h>

#include <algorithm>

namespace weft::cpu {
namespace {

// void kernel(buffers, args, begin, end, env): begin and end count vectors.
void build(llvm::Module& module, unsigned lanes, size_t operands, const ElementBody& body) {
  llvm::LLVMContext& context = module.getContext();
  llvm::IRBuilder<> ir(context);
  llvm::Type* pointer = ir.getPtrTy();
  llvm::Type* type = ir.getFloatTy();
  if (lanes > 1) type = llvm::FixedVectorType::get(type, lanes);
  auto* signature = llvm::FunctionType::get(
      ir.getVoidTy(), {pointer, pointer, ir.getInt64Ty(), ir.getInt64Ty(), pointer}, false);
  auto* function =
      llvm::Function::Create(signature, llvm::GlobalValue::ExternalLinkage, "kernel", module);
  auto* entry = llvm::BasicBlock::Create(context, "entry", function);
  auto* loop = llvm::BasicBlock::Create(context, "loop", function);
  auto* done = llvm::BasicBlock::Create(context, "done", function);
  ir.SetInsertPoint(entry);
  std::vector<llvm::Value*> buffers;
  for (unsigned i = 0; i <= operands; ++i) {
    buffers.push_back(
        ir.CreateLoad(pointer, ir.CreateConstInBoundsGEP1_64(pointer, function->getArg(0), i)));
  }
  ir.CreateBr(loop);
  ir.SetInsertPoint(loop);
  llvm::PHINode* i = ir.CreatePHI(ir.getInt64Ty(), 2);
  // By elements: LLVM puts vectors whose lanes are no power of two further apart.
  llvm::Value* first = ir.CreateMul(i, ir.getInt64(lanes));
  auto place = [&](llvm::Value* buffer) {
    return ir.CreateInBoundsGEP(ir.getFloatTy(), buffer, {first});
  };
  std::vector<llvm::Value*> values;
  for (size_t k = 0; k < operands; ++k) {
    values.push_back(ir.CreateAlignedLoad(type, place(buffers[k]), llvm::Align(4)));
  }
  llvm::Value* result = body(ir, values);
  ir.CreateAlignedStore(result, place(buffers[operands]), llvm::Align(4));
  llvm::Value* next = ir.CreateAdd(i, ir.getInt64(1));
  i->addIncoming(function->getArg(2), entry);
  i->addIncoming(next, loop);
  ir.CreateCondBr(ir.CreateICmpSLT(next, function->getArg(3)), loop, done);
  ir.SetInsertPoint(done);
  ir.CreateRetVoid();
}

}  // namespace

FlatFunction::FlatFunction(const CpuTarget& target, unsigned lanes, size_t operands,
                           const ElementBody& body)
    : lanes_(lanes) {
  llvm::LLVMContext context;
  llvm::Module module("test", context);
  build(module, lanes, operands, body);
  compiled_ = compile_module(module, target, {.assembly = true}).value();
  loaded_ = std::make_unique<LoadedCode>(LoadedCode::load(compiled_.code).value());
}

std::vector<float> FlatFunction::operator()(const std::vector<std::vector<float>>& inputs) const {
  const size_t count = inputs[0].size();
  const size_t vectors = (count + lanes_ - 1) / lanes_;
  std::vector<std::vector<float>> padded = inputs;
  std::vector<float> out(vectors * lanes_);
  std::vector<void*> buffers;
  for (std::vector<float>& input : padded) {
    input.resize(out.size());
    buffers.push_back(input.data());
  }
  buffers.push_back(out.data());
  KernelEnv env;
  loaded_->at(compiled_.entries.at("kernel"))(buffers.data(), nullptr, 0,
                                              static_cast<int64_t>(vectors), &env);
  out.resize(count);
  return out;
}

std::vector<CpuTarget> runnable_targets() {
  std::vector<CpuTarget> targets;
  for (const char* name : {"generic", "avx2", "avx512"}) {
    Result<CpuTarget> target = resolve_cpu_target(name, TargetUse::kRun);
    if (target.ok()) targets.push_back(*target);
  }
  return targets;
}

}  // namespace weft::cpu
