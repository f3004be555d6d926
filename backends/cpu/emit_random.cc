// Philox4x32-10 on vectors: the random bits of ir/oracle/philox.h, one word per lane.
// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/emitter.h"
#include "ir/oracle/philox.h"

namespace weft::cpu {

llvm::Value* KernelEmitter::philox(llvm::Value* element, llvm::Value* seed, llvm::Value* step,
                                   llvm::Value* stream) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(element->getType());
  int lanes = vector == nullptr ? 1 : static_cast<int>(vector->getNumElements());
  llvm::Type* i64 = with_lanes(ir_.getInt64Ty(), lanes);
  llvm::Type* i32 = with_lanes(ir_.getInt32Ty(), lanes);
  auto word = [&](uint64_t value) { return llvm::ConstantInt::get(i32, value); };
  auto wide = [&](llvm::Value* value) { return ir_.CreateZExt(value, i64); };
  auto high = [&](llvm::Value* product) {
    return ir_.CreateTrunc(ir_.CreateLShr(product, llvm::ConstantInt::get(i64, 32)), i32);
  };

  llvm::Value* counter = ir_.CreateLShr(element, llvm::ConstantInt::get(i64, 2));
  llvm::Value* c[4] = {ir_.CreateTrunc(counter, i32), high(counter), splat(step, lanes), word(0)};
  llvm::Value* key[2] = {splat(seed, lanes), splat(stream, lanes)};
  for (int round = 0; round < kPhiloxRounds; ++round) {
    llvm::Value* p0 = ir_.CreateMul(wide(c[0]), llvm::ConstantInt::get(i64, kPhiloxMultipliers[0]));
    llvm::Value* p1 = ir_.CreateMul(wide(c[2]), llvm::ConstantInt::get(i64, kPhiloxMultipliers[1]));
    llvm::Value* c0 = ir_.CreateXor(ir_.CreateXor(high(p1), c[1]), key[0]);
    llvm::Value* c2 = ir_.CreateXor(ir_.CreateXor(high(p0), c[3]), key[1]);
    c[1] = ir_.CreateTrunc(p1, i32);
    c[3] = ir_.CreateTrunc(p0, i32);
    c[0] = c0;
    c[2] = c2;
    key[0] = ir_.CreateAdd(key[0], word(kPhiloxKeySteps[0]));
    key[1] = ir_.CreateAdd(key[1], word(kPhiloxKeySteps[1]));
  }
  llvm::Value* which = ir_.CreateAnd(ir_.CreateTrunc(element, i32), word(3));
  llvm::Value* result = c[3];
  for (uint64_t i = 0; i < 3; ++i) {
    result = ir_.CreateSelect(ir_.CreateICmpEQ(which, word(i)), c[i], result);
  }
  return result;
}

}  // namespace weft::cpu
