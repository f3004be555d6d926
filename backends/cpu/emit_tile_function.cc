// The function that multiplies tiles: blocks of sums in registers while k runs.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "backends/cpu/emitter.h"

namespace weft::cpu {

namespace {

constexpr int kMostRows = 12;

bool is_number(llvm::Value* value, uint64_t number) {
  auto* known = llvm::dyn_cast<llvm::ConstantInt>(value);
  return known != nullptr && known->getZExtValue() == number;
}

}  // namespace

// The sums of so many rows and vectors, and what feeds them, fit the registers.
int KernelEmitter::tile_rows(int vectors) const {
  return std::clamp((target_.vector_registers - vectors - 2) / vectors, 1, kMostRows);
}

llvm::Function* KernelEmitter::tile_function(const TileKind& kind) {
  llvm::Function*& made = tile_functions_[kind];
  if (made != nullptr) return made;
  llvm::Type* pointer = ir_.getPtrTy();
  llvm::Type* word = ir_.getInt64Ty();
  auto* type = llvm::FunctionType::get(
      ir_.getVoidTy(), {pointer, pointer, pointer, word, word, word, word, word, word, word},
      false);
  made = llvm::Function::Create(type, llvm::Function::InternalLinkage, "multiply_tiles", module_);
  made->addFnAttr(llvm::Attribute::NoUnwind);
  made->addFnAttr(llvm::Attribute::NoInline);
  set_target_attributes(*made, target_);
  llvm::Function* function = made;
  auto step = [&](const Dim& known, unsigned argument) -> llvm::Value* {
    return known.is_constant() ? i64(known.constant()) : function->getArg(argument);
  };
  const TileFunction parts{.result = function->getArg(0),
                           .vectors = function->getArg(1),
                           .elements = function->getArg(2),
                           .rows = kind.rows ? i64(*kind.rows) : function->getArg(3),
                           .columns = kind.columns ? i64(*kind.columns) : function->getArg(4),
                           .depth = function->getArg(5),
                           .result_step = step(kind.result_step, 6),
                           .vectors_step = step(kind.vectors_step, 7),
                           .elements_row = step(kind.elements_row, 8),
                           .elements_step = step(kind.elements_step, 9),
                           .adds = kind.adds,
                           .masked = kind.masked};
  inside(function, [&] { emit_tile_function(parts); });
  return function;
}

// Emits the body of another function.
void KernelEmitter::inside(llvm::Function* function, const std::function<void()>& body) {
  IR::InsertPointGuard guard(ir_);
  llvm::Function* outer = function_;
  llvm::Instruction* outer_end = entry_end_;
  std::vector<Level> levels = std::move(levels_);
  levels_.clear();
  function_ = function;
  auto* entry = llvm::BasicBlock::Create(context_, "entry", function);
  auto* start = llvm::BasicBlock::Create(context_, "start", function);
  ir_.SetInsertPoint(entry);
  entry_end_ = ir_.CreateBr(start);
  ir_.SetInsertPoint(start);
  body();
  ir_.CreateRetVoid();
  function_ = outer;
  entry_end_ = outer_end;
  levels_ = std::move(levels);
}

// Whole blocks of columns first, then one of fewer vectors.
void KernelEmitter::emit_tile_function(const TileFunction& f) {
  const int lanes = target_.f32_lanes();
  const int most = target_.vector_registers >= 32 ? 4 : 2;
  const int64_t block = int64_t{most} * lanes;
  llvm::Value* rest = ir_.CreateSRem(f.columns, i64(block));
  llvm::Value* whole = ir_.CreateSub(f.columns, rest);
  if (!is_number(whole, 0)) {
    loop(i64(0), whole, i64(block), "columns",
         [&](llvm::Value* column) { emit_tile_columns(f, column, most, nullptr); });
  }
  for (int vectors = 1; vectors <= most; ++vectors) {
    // As a loop of one turn: from `whole` on, if what is left takes so many vectors.
    llvm::Value* fewest = i64(int64_t{vectors - 1} * lanes);
    llvm::Value* largest = i64(int64_t{vectors} * lanes);
    llvm::Value* fits =
        ir_.CreateAnd(ir_.CreateICmpSGT(rest, fewest), ir_.CreateICmpSLE(rest, largest));
    if (is_number(fits, 0)) continue;
    if_then(fits, [&] {
      llvm::Value* mask = nullptr;
      if (f.masked) {
        llvm::Value* left = ir_.CreateSub(rest, fewest);
        mask = first_lanes(left, lanes);
      }
      emit_tile_columns(f, whole, vectors, mask);
    });
  }
}

// A mask with so many lanes set.
llvm::Value* KernelEmitter::first_lanes(llvm::Value* count, int lanes) {
  std::vector<llvm::Constant*> numbers;
  for (int i = 0; i < lanes; ++i) numbers.push_back(ir_.getInt32(static_cast<uint32_t>(i)));
  llvm::Value* least = min64(count, i64(lanes));
  llvm::Value* many =
      ir_.CreateVectorSplat(static_cast<unsigned>(lanes), ir_.CreateTrunc(least, ir_.getInt32Ty()));
  return ir_.CreateICmpULT(llvm::ConstantVector::get(numbers), many);
}

// All rows, as many at a time as there are registers for, then half as many, and so on.
void KernelEmitter::emit_tile_columns(const TileFunction& f, llvm::Value* column, int vectors,
                                      llvm::Value* mask) {
  llvm::Value* row = i64(0);
  for (int rows = tile_rows(vectors); rows >= 1; rows /= 2) {
    llvm::Value* left = ir_.CreateSub(f.rows, row);
    llvm::Value* stop = ir_.CreateAdd(row, ir_.CreateSub(left, ir_.CreateSRem(left, i64(rows))));
    if (stop == row) continue;
    loop(row, stop, i64(rows), "rows", [&](llvm::Value* first) {
      emit_tile_block(f, first, column, {.rows = rows, .vectors = vectors, .mask = mask});
    });
    row = stop;
  }
}

void KernelEmitter::emit_tile_block(const TileFunction& f, llvm::Value* row, llvm::Value* column,
                                    const TileBlock& block) {
  llvm::Type* vector = with_lanes(ir_.getFloatTy(), target_.f32_lanes());
  const llvm::Align align = alignment(DType::f32);
  std::vector<llvm::AllocaInst*> sums;
  std::vector<llvm::Value*> places;
  std::vector<llvm::Value*> starts;  // of rows of `elements`
  for (int r = 0; r < block.rows; ++r) {
    llvm::Value* at = ir_.CreateAdd(row, i64(r));
    starts.push_back(element_address(f.elements, ir_.CreateMul(at, f.elements_row), DType::f32));
    llvm::Value* line = ir_.CreateAdd(ir_.CreateMul(at, f.result_step), column);
    for (int v = 0; v < block.vectors; ++v) {
      llvm::Value* place = ir_.CreateAdd(line, i64(int64_t{v} * target_.f32_lanes()));
      places.push_back(element_address(f.result, place, DType::f32));
      sums.push_back(new_register(vector, "sum"));
      llvm::Value* start = f.adds ? ir_.CreateAlignedLoad(vector, places.back(), align)
                                  : static_cast<llvm::Value*>(llvm::Constant::getNullValue(vector));
      ir_.CreateStore(start, sums.back());
    }
  }
  llvm::Value* first = element_address(f.vectors, column, DType::f32);
  loop(i64(0), f.depth, i64(1), "k",
       [&](llvm::Value* k) { emit_tile_step(f, k, first, starts, sums, block); });
  for (size_t i = 0; i < sums.size(); ++i) {
    ir_.CreateAlignedStore(ir_.CreateLoad(vector, sums[i]), places[i], align);
  }
}

// One k: every row's number times every vector.
void KernelEmitter::emit_tile_step(const TileFunction& f, llvm::Value* k, llvm::Value* first,
                                   const std::vector<llvm::Value*>& starts,
                                   const std::vector<llvm::AllocaInst*>& sums,
                                   const TileBlock& block) {
  const int lanes = target_.f32_lanes();
  llvm::Type* vector = with_lanes(ir_.getFloatTy(), lanes);
  const llvm::Align align = alignment(DType::f32);
  llvm::Value* line = element_address(first, ir_.CreateMul(k, f.vectors_step), DType::f32);
  std::vector<llvm::Value*> across;
  for (int v = 0; v < block.vectors; ++v) {
    llvm::Value* at = element_address(line, i64(int64_t{v} * lanes), DType::f32);
    const bool last = v + 1 == block.vectors;
    across.push_back(last && block.mask != nullptr
                         ? ir_.CreateMaskedLoad(vector, at, align, block.mask,
                                                llvm::Constant::getNullValue(vector))
                         : static_cast<llvm::Value*>(ir_.CreateAlignedLoad(vector, at, align)));
  }
  llvm::Value* along = ir_.CreateMul(k, f.elements_step);
  for (size_t r = 0; r < starts.size(); ++r) {
    llvm::Value* at = element_address(starts[r], along, DType::f32);
    llvm::Value* element = splat(ir_.CreateAlignedLoad(ir_.getFloatTy(), at, align), lanes);
    for (size_t v = 0; v < across.size(); ++v) {
      llvm::AllocaInst* sum = sums[r * across.size() + v];
      llvm::Value* old = ir_.CreateLoad(vector, sum);
      ir_.CreateStore(ir_.CreateFAdd(old, ir_.CreateFMul(element, across[v])), sum);
    }
  }
}

}  // namespace weft::cpu
