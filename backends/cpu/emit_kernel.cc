// The frame of a kernel: function, arguments, the walk over the grid, loops and checks.
// SPDX-License-Identifier: Apache-2.0
#include <llvm/IR/MDBuilder.h>

#include <cstddef>

#include "backends/buffer_uses.h"
#include "backends/cpu/emitter.h"
#include "ir/support/check.h"
#include "runtime/cpu/kernel_abi.h"

namespace weft::cpu {

using tile::Extent;

KernelEmitter::KernelEmitter(llvm::Module& module, const tile::Program& program,
                             const CpuTarget& target, const CompileOptions& options)
    : module_(module),
      context_(module.getContext()),
      program_(program),
      target_(target),
      options_(options),
      ir_(module.getContext()),
      axes_(program.axes.size()) {
  // Products may be fused into sums; nothing else about floats is given up.
  llvm::FastMathFlags flags;
  flags.setAllowContract(true);
  ir_.setFastMathFlags(flags);
}

Kernel KernelEmitter::emit(const std::string& symbol) {
  CheckContext doing("kernel " + program_.name);
  kernel_.name = program_.name;
  kernel_.buffers = static_cast<uint32_t>(program_.buffers.size());
  kernel_.uses = buffer_uses(program_);
  llvm::Type* pointer = ir_.getPtrTy();
  auto* type = llvm::FunctionType::get(
      ir_.getVoidTy(), {pointer, pointer, ir_.getInt64Ty(), ir_.getInt64Ty(), pointer}, false);
  function_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, symbol, module_);
  function_->addFnAttr(llvm::Attribute::NoUnwind);
  set_target_attributes(*function_, target_);
  buffers_ = function_->getArg(0);
  args_ = function_->getArg(1);
  env_ = function_->getArg(4);

  auto* entry = llvm::BasicBlock::Create(context_, "entry", function_);
  auto* start = llvm::BasicBlock::Create(context_, "start", function_);
  ir_.SetInsertPoint(entry);
  static_assert(offsetof(KernelEnv, scratch) == 0);
  scratch_ = ir_.CreateLoad(pointer, env_, "scratch");
  for (size_t i = 0; i < program_.buffers.size(); ++i) {
    llvm::Value* at = ir_.CreateConstInBoundsGEP1_64(pointer, buffers_, i);
    buffer_addresses_.push_back(ir_.CreateLoad(pointer, at, program_.buffers[i].name));
  }
  entry_end_ = ir_.CreateBr(start);

  ir_.SetInsertPoint(start);
  find_checked_values();
  find_kept_values();
  find_tile_dots();
  emit_grid();
  finish_streams();
  ir_.CreateRetVoid();
  kernel_.scratch_bytes = scratch_bytes_;
  return kernel_;
}

llvm::Value* KernelEmitter::dim(const Dim& value) {
  if (value.is_constant()) return i64(value.constant());
  auto [entry, fresh] = dims_.try_emplace(value, nullptr);
  if (fresh) {
    IR::InsertPointGuard guard(ir_);
    ir_.SetInsertPoint(entry_end_);
    llvm::Value* at = ir_.CreateConstInBoundsGEP1_64(ir_.getInt64Ty(), args_, kernel_.args.size());
    entry->second = ir_.CreateLoad(ir_.getInt64Ty(), at, "dim");
    kernel_.args.push_back(value);
  }
  return entry->second;
}

llvm::AllocaInst* KernelEmitter::new_register(llvm::Type* type, const std::string& name,
                                              llvm::Value* start) {
  IR::InsertPointGuard guard(ir_);
  ir_.SetInsertPoint(entry_end_);
  llvm::AllocaInst* place = ir_.CreateAlloca(type, nullptr, name);
  if (start != nullptr) ir_.CreateStore(start, place);
  return place;
}

llvm::Value* KernelEmitter::min64(llvm::Value* a, llvm::Value* b) {
  return ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, a, b);
}

// Opens the tile of an axis that begins at `base`.
void KernelEmitter::open_axis(AxisId axis, llvm::Value* base, const Extent& extent) {
  const Dim& size = program_.axes[axis].dim;
  std::optional<int64_t> most = program_.size_of(extent);
  AxisState& state = axes_[axis];
  state.base = base;
  state.extent = most;
  if (!most && size.is_constant()) state.extent = size.constant();
  state.single = state.extent == 1;
  state.nonempty = false;
  state.size = dim(size);
  if (most) state.size = min64(i64(*most), ir_.CreateSub(state.size, base));
}

void KernelEmitter::open_single(AxisId axis, llvm::Value* coordinate) {
  axes_[axis].base = coordinate;
  axes_[axis].size = i64(1);
  axes_[axis].extent = 1;
  axes_[axis].single = true;
  axes_[axis].nonempty = true;
}

void KernelEmitter::emit_grid() {
  // Axes that no grid or loop walks are in the tile as a whole.
  for (AxisId axis = 0; axis < program_.axes.size(); ++axis) {
    open_axis(axis, i64(0), program_.axes[axis].extent);
  }
  struct Walk {
    AxisId axis;
    Dim count;
    int64_t extent;  // 0: whole
  };
  std::vector<Walk> parallel;
  std::vector<Walk> serial;
  Dim programs = 1;
  for (const tile::GridAxis& grid : program_.grid) {
    const tile::Axis& axis = program_.axes[grid.axis];
    std::optional<int64_t> extent = program_.size_of(axis.extent);
    Dim count = extent ? Dim::floor_div(axis.dim + Dim(*extent - 1), *extent) : Dim(1);
    (grid.serial ? serial : parallel).push_back({grid.axis, count, extent.value_or(0)});
    if (!grid.serial) programs = programs * count;
  }
  kernel_.programs = programs;

  auto open = [&](const Walk& walk, llvm::Value* number) {
    open_axis(walk.axis, ir_.CreateMul(number, i64(walk.extent)), program_.axes[walk.axis].extent);
    axes_[walk.axis].program = number;
    axes_[walk.axis].nonempty = walk.extent > 0;
  };
  std::function<void(size_t)> walk_serial = [&](size_t i) {
    if (i == serial.size()) {
      levels_.assign(1, {});
      emit_block(program_.body);
      levels_.clear();
      return;
    }
    loop(i64(0), dim(serial[i].count), i64(1), "serial", [&](llvm::Value* number) {
      open(serial[i], number);
      walk_serial(i + 1);
    });
  };
  loop(function_->getArg(2), function_->getArg(3), i64(1), "program", [&](llvm::Value* number) {
    llvm::Value* rest = number;
    for (size_t i = parallel.size(); i-- > 0;) {
      if (i == 0) {
        open(parallel[i], rest);
        break;
      }
      llvm::Value* count = dim(parallel[i].count);
      open(parallel[i], ir_.CreateURem(rest, count));
      rest = ir_.CreateUDiv(rest, count);
    }
    walk_serial(0);
  });
}

void KernelEmitter::loop(llvm::Value* begin, llvm::Value* end, llvm::Value* step,
                         const std::string& name, const std::function<void(llvm::Value*)>& body) {
  llvm::BasicBlock* before = ir_.GetInsertBlock();
  auto* head = llvm::BasicBlock::Create(context_, name, function_);
  auto* inside = llvm::BasicBlock::Create(context_, name + ".body", function_);
  auto* after = llvm::BasicBlock::Create(context_, name + ".end", function_);
  llvm::Instruction* enter = ir_.CreateBr(head);
  ir_.SetInsertPoint(head);
  llvm::PHINode* counter = ir_.CreatePHI(ir_.getInt64Ty(), 2, name);
  counter->addIncoming(begin, before);
  ir_.CreateCondBr(ir_.CreateICmpSLT(counter, end), inside, after);
  ir_.SetInsertPoint(inside);
  // What is found to be the same in every iteration goes before the loop.
  llvm::Instruction* outer = levels_.empty() ? nullptr : levels_.back().before;
  if (!levels_.empty()) levels_.back().before = enter;
  body(counter);
  if (!levels_.empty()) levels_.back().before = outer;
  counter->addIncoming(ir_.CreateAdd(counter, step, "", false, true), ir_.GetInsertBlock());
  ir_.CreateBr(head);
  ir_.SetInsertPoint(after);
}

void KernelEmitter::if_then(llvm::Value* condition, const std::function<void()>& then) {
  auto* inside = llvm::BasicBlock::Create(context_, "then", function_);
  auto* after = llvm::BasicBlock::Create(context_, "endif", function_);
  ir_.CreateCondBr(condition, inside, after);
  ir_.SetInsertPoint(inside);
  then();
  ir_.CreateBr(after);
  ir_.SetInsertPoint(after);
}

void KernelEmitter::check(llvm::Value* ok, const std::string& message, llvm::Value* value,
                          llvm::Value* limit) {
  kernel_.checks.push_back(message);
  auto* failed = llvm::BasicBlock::Create(context_, "failed", function_);
  {
    IR::InsertPointGuard guard(ir_);
    ir_.SetInsertPoint(failed);
    auto set = [&](size_t offset, llvm::Value* field) {
      const size_t at = offsetof(KernelEnv, failed) + offset;
      ir_.CreateStore(field, ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), env_, at));
    };
    set(offsetof(KernelFailure, value), value);
    set(offsetof(KernelFailure, limit), limit);
    set(offsetof(KernelFailure, check), i64(static_cast<int64_t>(kernel_.checks.size())));
    ir_.CreateRetVoid();
  }
  llvm::BasicBlock* here = ir_.GetInsertBlock();
  bool at_end = ir_.GetInsertPoint() == here->end();
  llvm::BasicBlock* rest = nullptr;
  if (at_end) {
    rest = llvm::BasicBlock::Create(context_, "checked", function_);
  } else {
    llvm::Instruction* next = &*ir_.GetInsertPoint();
    rest = here->splitBasicBlock(next, "checked");
    here->getTerminator()->eraseFromParent();
    ir_.SetInsertPoint(here);
  }
  llvm::MDBuilder weights(context_);
  ir_.CreateCondBr(ok, rest, failed, weights.createBranchWeights(1 << 20, 1));
  if (at_end) {
    ir_.SetInsertPoint(rest);
  } else {
    ir_.SetInsertPoint(&rest->front());
  }
}

}  // namespace weft::cpu
