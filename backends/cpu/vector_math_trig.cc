// sin and cos of f32. Arguments are reduced in f64 up to 2^20, beyond that with integers.
// SPDX-License-Identifier: Apache-2.0
#include <llvm/IR/Module.h>

#include <array>
#include <limits>
#include <numbers>
#include <string>

#include "backends/cpu/vector_builder.h"
#include "backends/cpu/vector_math.h"
#include "backends/math_coefficients.h"

namespace weft::cpu {
namespace {

using Value = llvm::Value*;

constexpr double kLimit = 0x1p20;  // from here on n * kHalfPi[0] is not exact
constexpr const char* kReduceHuge = "weft.reduce_huge";

// x = n * pi/2 + r, |r| <= pi/4, for x >= 0.
struct Quarter {
  Value n;     // i32, right modulo 4
  Value rest;  // r, a float
};

Value two_over_pi_table(llvm::Module& module) {
  constexpr const char* kName = "weft.two_over_pi";
  if (llvm::GlobalVariable* known = module.getNamedGlobal(kName)) return known;
  // A word of zeros before the point, so that no argument in question needs bits before the table.
  std::array<uint32_t, std::size(kTwoOverPi) + 1> words = {};
  std::copy(std::begin(kTwoOverPi), std::end(kTwoOverPi), words.begin() + 1);
  llvm::Constant* data = llvm::ConstantDataArray::get(module.getContext(), words);
  return new llvm::GlobalVariable(module, data->getType(), true, llvm::GlobalValue::PrivateLinkage,
                                  data, kName);
}

// {r, n} of one x in [2^20, inf). With x = m * 2^e, m whole, the bits of 2/pi down to 2^(2 - e)
// give multiples of 4 in x * 2/pi, and are left out; of the next 96 the product with m is exact.
// After M. Payne and R. Hanek, Radian reduction for trigonometric functions, 1983.
llvm::Function* reduce_huge(llvm::Module& module) {
  if (llvm::Function* known = module.getFunction(kReduceHuge)) return known;
  llvm::LLVMContext& context = module.getContext();
  llvm::IRBuilder<> ir(context);
  llvm::Type* wide = ir.getInt128Ty();
  auto* result_type = llvm::StructType::get(ir.getFloatTy(), ir.getInt32Ty());
  auto* function =
      llvm::Function::Create(llvm::FunctionType::get(result_type, {ir.getFloatTy()}, false),
                             llvm::GlobalValue::InternalLinkage, kReduceHuge, module);
  function->addFnAttr(llvm::Attribute::NoInline);
  ir.SetInsertPoint(llvm::BasicBlock::Create(context, "", function));
  const Value bits = ir.CreateBitCast(function->getArg(0), ir.getInt32Ty());
  const Value m = ir.CreateOr(ir.CreateAnd(bits, 0x7fffff), 0x800000);
  // The first 32 bits of the table are the zeros: skip = 32 + e - 2, e = exponent - 127 - 23.
  const Value skip = ir.CreateSub(ir.CreateLShr(bits, 23), ir.getInt32(150 + 2 - 32));
  const Value table = two_over_pi_table(module);
  Value window = llvm::ConstantInt::get(wide, 0);
  for (uint64_t i = 0; i < 4; ++i) {
    const Value index =
        ir.CreateAdd(ir.CreateZExt(ir.CreateLShr(skip, 5), ir.getInt64Ty()), ir.getInt64(i));
    const Value word =
        ir.CreateLoad(ir.getInt32Ty(), ir.CreateInBoundsGEP(ir.getInt32Ty(), table, {index}));
    window = ir.CreateOr(ir.CreateShl(window, 32), ir.CreateZExt(word, wide));
  }
  const Value shift = ir.CreateZExt(ir.CreateAnd(skip, 31), wide);
  window = ir.CreateLShr(ir.CreateShl(window, shift), 32);
  // x * 2/pi modulo 4, with 94 bits after the point.
  const Value product = ir.CreateMul(window, ir.CreateZExt(m, wide));
  const Value half = ir.CreateShl(llvm::ConstantInt::get(wide, 1), 93);
  const Value n = ir.CreateTrunc(ir.CreateLShr(ir.CreateAdd(product, half), 94), ir.getInt32Ty());
  const Value fraction =
      ir.CreateTrunc(ir.CreateLShr(ir.CreateShl(product, 128 - 94), 64), ir.getInt64Ty());
  const Value rest =
      ir.CreateFMul(ir.CreateSIToFP(fraction, ir.getDoubleTy()),
                    llvm::ConstantFP::get(ir.getDoubleTy(), std::numbers::pi / 2 * 0x1p-64));
  Value result = llvm::PoisonValue::get(result_type);
  result = ir.CreateInsertValue(result, ir.CreateFPTrunc(rest, ir.getFloatTy()), {0});
  result = ir.CreateInsertValue(result, n, {1});
  ir.CreateRet(result);
  return function;
}

Quarter reduce(VectorBuilder& b, Value x) {
  constexpr double kRounder = 0x1.8p52;
  const Value wide = b.ir.CreateFPExt(x, b.f64);
  const Value shifted = b.add(b.mul(wide, b.wide(2 / std::numbers::pi)), b.wide(kRounder));
  const Value n = b.sub(shifted, b.wide(kRounder));
  Value rest = wide;
  for (double part : kHalfPi) rest = b.sub(rest, b.mul(n, b.wide(part)));
  return {b.ir.CreateTrunc(b.bits(shifted), b.i32), b.ir.CreateFPTrunc(rest, b.f32)};
}

// One lane after the other: such arguments hardly occur. Ends in a new block.
Quarter reduce_lanes(VectorBuilder& b, Value x, llvm::Function* function) {
  llvm::IRBuilderBase& ir = b.ir;
  llvm::Function* huge = reduce_huge(*function->getParent());
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(x->getType());
  if (vector == nullptr) {
    const Value pair = ir.CreateCall(huge, {x});
    return {ir.CreateExtractValue(pair, {1}), ir.CreateExtractValue(pair, {0})};
  }
  llvm::BasicBlock* before = ir.GetInsertBlock();
  auto* loop = llvm::BasicBlock::Create(ir.getContext(), "lanes", function);
  auto* after = llvm::BasicBlock::Create(ir.getContext(), "lanes.end", function);
  ir.CreateBr(loop);
  ir.SetInsertPoint(loop);
  llvm::PHINode* lane = ir.CreatePHI(ir.getInt64Ty(), 2);
  llvm::PHINode* n = ir.CreatePHI(b.i32, 2);
  llvm::PHINode* rest = ir.CreatePHI(b.f32, 2);
  const Value pair = ir.CreateCall(huge, {ir.CreateExtractElement(x, lane)});
  const Value next_n = ir.CreateInsertElement(n, ir.CreateExtractValue(pair, {1}), lane);
  const Value next_rest = ir.CreateInsertElement(rest, ir.CreateExtractValue(pair, {0}), lane);
  const Value next = ir.CreateAdd(lane, ir.getInt64(1));
  const Value more = ir.CreateICmpULT(next, ir.getInt64(vector->getNumElements()));
  ir.CreateCondBr(more, loop, after);
  lane->addIncoming(ir.getInt64(0), before);
  n->addIncoming(llvm::PoisonValue::get(b.i32), before);
  rest->addIncoming(llvm::PoisonValue::get(b.f32), before);
  lane->addIncoming(next, loop);
  n->addIncoming(next_n, loop);
  rest->addIncoming(next_rest, loop);
  ir.SetInsertPoint(after);
  return {next_n, next_rest};
}

// As `reduce`, for lanes of any size. Ends in a new block.
Quarter reduce_any(VectorBuilder& b, Value x, llvm::Function* function) {
  llvm::IRBuilderBase& ir = b.ir;
  const Quarter common = reduce(b, x);
  const Value huge =
      ir.CreateAnd(ir.CreateFCmpOGE(x, b.real(kLimit)),
                   ir.CreateFCmpOLT(x, b.real(std::numeric_limits<float>::infinity())));
  const Value any = huge->getType()->isVectorTy() ? ir.CreateOrReduce(huge) : huge;
  llvm::BasicBlock* before = ir.GetInsertBlock();
  auto* slow = llvm::BasicBlock::Create(ir.getContext(), "huge", function);
  auto* after = llvm::BasicBlock::Create(ir.getContext(), "reduced", function);
  ir.CreateCondBr(any, slow, after);
  ir.SetInsertPoint(slow);
  const Quarter exact = reduce_lanes(b, ir.CreateSelect(huge, x, b.real(kLimit)), function);
  const Value slow_n = ir.CreateSelect(huge, exact.n, common.n);
  const Value slow_rest = ir.CreateSelect(huge, exact.rest, common.rest);
  llvm::BasicBlock* slow_end = ir.GetInsertBlock();
  ir.CreateBr(after);
  ir.SetInsertPoint(after);
  llvm::PHINode* n = ir.CreatePHI(b.i32, 2);
  llvm::PHINode* rest = ir.CreatePHI(b.f32, 2);
  n->addIncoming(common.n, before);
  n->addIncoming(slow_n, slow_end);
  rest->addIncoming(common.rest, before);
  rest->addIncoming(slow_rest, slow_end);
  return {n, rest};
}

enum class Wave { kSin, kCos };

void emit_body(llvm::IRBuilder<>& ir, llvm::Function* function, Wave wave,
               const CpuTarget& target) {
  const Value x = function->getArg(0);
  VectorBuilder b(ir, x->getType(), target);
  const Quarter at = reduce_any(b, b.magnitude(x), function);
  const Value square = b.mul(at.rest, at.rest);
  const Value sine = b.mad(b.mul(at.rest, square), b.poly<float>(square, kSinTail), at.rest);
  const Value cosine = b.mad(b.mul(square, square), b.poly<float>(square, kCosTail),
                             b.mad(square, b.real(-0.5), b.real(1)));
  const Value odd = ir.CreateICmpNE(ir.CreateAnd(at.n, b.whole(1)), b.whole(0));
  // Quarter by quarter: sin, cos, -sin, -cos; for cos one further.
  const Value turn = wave == Wave::kSin ? at.n : ir.CreateAdd(at.n, b.whole(1));
  Value flip = ir.CreateShl(ir.CreateAnd(turn, b.whole(2)), b.whole(30));
  if (wave == Wave::kSin) flip = ir.CreateXor(flip, b.sign_bit(x));
  const Value result =
      wave == Wave::kSin ? ir.CreateSelect(odd, cosine, sine) : ir.CreateSelect(odd, sine, cosine);
  ir.CreateRet(b.from_bits(ir.CreateXor(b.bits(result), flip)));
}

Value call_wave(llvm::IRBuilderBase& ir, Value x, const CpuTarget& target, Wave wave) {
  llvm::Module& module = *ir.GetInsertBlock()->getModule();
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(x->getType());
  const std::string name = cat(wave == Wave::kSin ? "weft.sin.x" : "weft.cos.x",
                               vector == nullptr ? 1 : vector->getNumElements());
  llvm::Function* function = module.getFunction(name);
  if (function == nullptr) {
    function = llvm::Function::Create(llvm::FunctionType::get(x->getType(), {x->getType()}, false),
                                      llvm::GlobalValue::InternalLinkage, name, module);
    function->addFnAttr(llvm::Attribute::NoInline);
    llvm::IRBuilder<> body(llvm::BasicBlock::Create(module.getContext(), "", function));
    emit_body(body, function, wave, target);
  }
  return ir.CreateCall(function, {x});
}

}  // namespace

Value emit_sin(llvm::IRBuilderBase& ir, Value x, const CpuTarget& target) {
  return call_wave(ir, x, target, Wave::kSin);
}

Value emit_cos(llvm::IRBuilderBase& ir, Value x, const CpuTarget& target) {
  return call_wave(ir, x, target, Wave::kCos);
}

}  // namespace weft::cpu
