// pow of f32: 2^(y * log2(x)) in f64, rounded once.
// SPDX-License-Identifier: Apache-2.0
#include <llvm/IR/Module.h>

#include <limits>
#include <string>

#include "backends/cpu/vector_builder.h"
#include "backends/cpu/vector_math.h"
#include "backends/math_coefficients.h"

namespace weft::cpu {
namespace {

using Value = llvm::Value*;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr uint64_t kMantissaBits = 52;

// log2 of a float's magnitude, as f64; infinities at 0 and infinity.
Value log2_of(VectorBuilder& b, Value size) {
  llvm::IRBuilderBase& ir = b.ir;
  // Every float is a normal double: x = m * 2^e with m in [sqrt(1/2), sqrt(2)).
  const Value bits = b.bits(ir.CreateFPExt(size, b.f64));
  const Value above = ir.CreateSub(bits, b.whole64(0x3fe6a09e667f3bcd));  // the bits of sqrt(1/2)
  const Value exponent_bits = ir.CreateAnd(above, b.whole64(uint64_t{0xfff} << kMantissaBits));
  const Value m = b.from_bits(ir.CreateSub(bits, exponent_bits));
  // The exponent is small: its upper half as an i32 spares a 64-bit conversion.
  const Value high = ir.CreateTrunc(ir.CreateLShr(above, b.whole64(32)), b.i32);
  const Value e = ir.CreateSIToFP(ir.CreateAShr(high, b.whole(kMantissaBits - 32)), b.f64);
  const Value s = ir.CreateFDiv(b.sub(m, b.wide(1)), b.add(m, b.wide(1)));
  const Value finite = b.mad(s, b.poly<double>(b.mul(s, s), kLog2), e);
  const Value below =
      ir.CreateSelect(ir.CreateFCmpOGT(size, b.real(0)), finite, b.wide(-double{kInfinity}));
  return ir.CreateSelect(ir.CreateFCmpOLT(size, b.real(kInfinity)), below,
                         ir.CreateFPExt(size, b.f64));
}

// 2^t as a float.
Value exp2_of(VectorBuilder& b, Value t) {
  constexpr double kRounder = 0x1.8p52 + 1023;
  t = b.at_most(b.at_least(t, b.wide(-200)), b.wide(200));  // zero or infinity beyond
  const Value shifted = b.add(t, b.wide(kRounder));
  const Value fraction = b.sub(t, b.sub(shifted, b.wide(kRounder)));
  const Value power = b.from_bits(b.ir.CreateShl(b.bits(shifted), b.whole64(kMantissaBits)));
  return b.ir.CreateFPTrunc(b.mul(b.poly<double>(fraction, kExp2), power), b.f32);
}

struct Parity {
  Value whole;  // y is a whole number; infinities are
  Value odd;    // and an odd one
};

Parity parity_of(VectorBuilder& b, Value y) {
  llvm::IRBuilderBase& ir = b.ir;
  const Value limit = b.real(0x1p24);  // from here on floats are even
  const Value size = b.magnitude(y);
  const Value bounded = ir.CreateSelect(ir.CreateFCmpOLT(size, limit), size, limit);  // NaN: limit
  const Value integer = ir.CreateFPToSI(bounded, b.i32);
  const Value exact = ir.CreateFCmpOEQ(ir.CreateSIToFP(integer, b.f32), bounded);
  const Value whole = ir.CreateAnd(exact, ir.CreateFCmpORD(y, y));
  const Value low = ir.CreateICmpNE(ir.CreateAnd(integer, b.whole(1)), b.whole(0));
  return {whole, ir.CreateAnd(whole, low)};
}

void emit_body(llvm::IRBuilder<>& ir, llvm::Function* function, const CpuTarget& target) {
  const Value x = function->getArg(0);
  const Value y = function->getArg(1);
  VectorBuilder b(ir, x->getType(), target);
  const Value size = b.magnitude(x);
  const Parity parity = parity_of(b, y);
  // 1^y and x^0 are 1, whatever the other is: infinity and NaN too.
  const Value one = ir.CreateOr(ir.CreateFCmpOEQ(x, b.real(1)), ir.CreateFCmpOEQ(y, b.real(0)));
  const Value minus_one = ir.CreateAnd(ir.CreateFCmpOEQ(x, b.real(-1)), parity.whole);
  const Value product = b.mul(ir.CreateFPExt(y, b.f64), log2_of(b, size));
  const Value power = exp2_of(b, ir.CreateSelect(ir.CreateOr(one, minus_one), b.wide(0), product));
  const Value sign = ir.CreateSelect(parity.odd, b.sign_bit(x), b.whole(0));
  const Value with_sign = b.from_bits(ir.CreateOr(b.bits(power), sign));
  const Value negative =
      ir.CreateAnd(ir.CreateFCmpOLT(x, b.real(0)), ir.CreateFCmpOGT(x, b.real(-kInfinity)));
  // Not where x^0 is 1: zero is whole.
  const Value undefined = ir.CreateAnd(negative, ir.CreateNot(parity.whole));
  ir.CreateRet(
      ir.CreateSelect(undefined, b.real(std::numeric_limits<float>::quiet_NaN()), with_sign));
}

}  // namespace

Value emit_pow(llvm::IRBuilderBase& ir, Value x, Value y, const CpuTarget& target) {
  llvm::Module& module = *ir.GetInsertBlock()->getModule();
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(x->getType());
  const std::string name = cat("weft.pow.x", vector == nullptr ? 1 : vector->getNumElements());
  llvm::Function* function = module.getFunction(name);
  if (function == nullptr) {
    auto* type = llvm::FunctionType::get(x->getType(), {x->getType(), x->getType()}, false);
    function = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, name, module);
    function->addFnAttr(llvm::Attribute::NoInline);
    llvm::IRBuilder<> body(llvm::BasicBlock::Create(module.getContext(), "", function));
    emit_body(body, function, target);
  }
  return ir.CreateCall(function, {x, y});
}

}  // namespace weft::cpu
