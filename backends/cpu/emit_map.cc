// Elementwise primitives as LLVM instructions on scalars and vectors alike.
// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/emitter.h"
#include "backends/cpu/vector_math.h"
#include "ir/support/check.h"
#include "runtime/cpu/kernel_abi.h"

namespace weft::cpu {
namespace {

llvm::Constant* real(llvm::Value* like, double value) {
  return llvm::ConstantFP::get(like->getType(), value);
}

llvm::Constant* zero_like(llvm::Value* like) {
  return llvm::Constant::getNullValue(like->getType());
}

}  // namespace

// A function of the math table, lane by lane: for f64, and for what has no vector form.
llvm::Value* KernelEmitter::call_math(size_t offset, const std::vector<llvm::Value*>& operands) {
  llvm::Type* f64 = ir_.getDoubleTy();
  std::vector<llvm::Type*> types(operands.size(), f64);
  auto* type = llvm::FunctionType::get(f64, types, false);
  llvm::Type* pointer = ir_.getPtrTy();
  llvm::Value* table = ir_.CreateLoad(
      pointer, ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), env_, offsetof(KernelEnv, math)));
  llvm::Value* function =
      ir_.CreateLoad(pointer, ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), table, offset));
  auto call = [&](const std::vector<llvm::Value*>& scalars) {
    std::vector<llvm::Value*> wide;
    for (llvm::Value* scalar : scalars) {
      wide.push_back(scalar->getType() == f64 ? scalar : ir_.CreateFPExt(scalar, f64));
    }
    llvm::Value* result = ir_.CreateCall(type, function, wide);
    llvm::Type* wanted = scalars[0]->getType();
    return wanted == f64 ? result : ir_.CreateFPTrunc(result, wanted);
  };
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(operands[0]->getType());
  if (vector == nullptr) return call(operands);
  llvm::Value* result = llvm::PoisonValue::get(vector);
  for (unsigned lane = 0; lane < vector->getNumElements(); ++lane) {
    std::vector<llvm::Value*> scalars;
    for (llvm::Value* operand : operands) {
      scalars.push_back(ir_.CreateExtractElement(operand, lane));
    }
    result = ir_.CreateInsertElement(result, call(scalars), lane);
  }
  return result;
}

llvm::Value* KernelEmitter::emit_function(Op op, const std::vector<llvm::Value*>& operands,
                                          DType dtype) {
  llvm::Value* x = operands[0];
  bool wide = dtype == DType::f64;
  switch (op) {
    case Op::exp:
      return wide ? call_math(offsetof(MathTable, exp), operands) : emit_exp(ir_, x, target_);
    case Op::log:
      return wide ? call_math(offsetof(MathTable, log), operands) : emit_log(ir_, x, target_);
    case Op::tanh:
      return wide ? call_math(offsetof(MathTable, tanh), operands) : emit_tanh(ir_, x, target_);
    case Op::erf:
      return wide ? call_math(offsetof(MathTable, erf), operands) : emit_erf(ir_, x, target_);
    case Op::sin:
      return wide ? call_math(offsetof(MathTable, sin), operands) : emit_sin(ir_, x, target_);
    case Op::cos:
      return wide ? call_math(offsetof(MathTable, cos), operands) : emit_cos(ir_, x, target_);
    case Op::pow:
      return wide ? call_math(offsetof(MathTable, pow), operands)
                  : emit_pow(ir_, x, operands[1], target_);
    default: WEFT_CHECK(false, "an elementary function");
  }
}

// Quotient towards minus infinity and remainder with the sign of the divisor; 0 where it is 0.
llvm::Value* KernelEmitter::emit_integer_division(Op op, llvm::Value* a, llvm::Value* b,
                                                  DType dtype) {
  llvm::Value* zero = zero_like(b);
  llvm::Value* by_zero = ir_.CreateICmpEQ(b, zero);
  llvm::Value* one = llvm::ConstantInt::get(b->getType(), 1);
  if (!is_signed_integer(dtype)) {
    llvm::Value* divisor = ir_.CreateSelect(by_zero, one, b);
    llvm::Value* result =
        op == Op::floordiv ? ir_.CreateUDiv(a, divisor) : ir_.CreateURem(a, divisor);
    return ir_.CreateSelect(by_zero, zero, result);
  }
  // The lowest number divided by -1 does not fit: -a wraps, as it should, and leaves nothing.
  llvm::Value* minus_one = llvm::ConstantInt::getAllOnesValue(b->getType());
  llvm::Value* negates = ir_.CreateICmpEQ(b, minus_one);
  llvm::Value* divisor = ir_.CreateSelect(ir_.CreateOr(by_zero, negates), one, b);
  llvm::Value* quotient = ir_.CreateSDiv(a, divisor);
  llvm::Value* remainder = ir_.CreateSub(a, ir_.CreateMul(quotient, divisor));
  llvm::Value* uneven = ir_.CreateICmpNE(remainder, zero);
  llvm::Value* opposite = ir_.CreateICmpSLT(ir_.CreateXor(remainder, divisor), zero);
  llvm::Value* down = ir_.CreateAnd(uneven, opposite);
  if (op == Op::floordiv) {
    llvm::Value* result = ir_.CreateSelect(down, ir_.CreateSub(quotient, one), quotient);
    result = ir_.CreateSelect(negates, ir_.CreateNeg(a), result);
    return ir_.CreateSelect(by_zero, zero, result);
  }
  llvm::Value* result = ir_.CreateSelect(down, ir_.CreateAdd(remainder, divisor), remainder);
  return ir_.CreateSelect(ir_.CreateOr(by_zero, negates), zero, result);
}

// lhs - floor(lhs / rhs) * rhs as if the quotient were exact, from C's fmod, which is.
llvm::Value* KernelEmitter::emit_float_mod(llvm::Value* a, llvm::Value* b) {
  llvm::Value* zero = zero_like(a);
  llvm::Value* rest = call_math(offsetof(MathTable, fmod), {a, b});
  llvm::Value* uneven = ir_.CreateFCmpONE(rest, zero);
  llvm::Value* opposite = ir_.CreateXor(ir_.CreateFCmpOLT(rest, zero), ir_.CreateFCmpOLT(b, zero));
  return ir_.CreateSelect(ir_.CreateAnd(uneven, opposite), ir_.CreateFAdd(rest, b), rest);
}

// floor and round to even; by adding and taking away 2^52 or 2^23 where there is no instruction.
llvm::Value* KernelEmitter::emit_rounding(Op op, llvm::Value* x, DType dtype) {
  if (target_.rounds) {
    return ir_.CreateUnaryIntrinsic(
        op == Op::floor ? llvm::Intrinsic::floor : llvm::Intrinsic::roundeven, x);
  }
  llvm::Value* limit = real(x, dtype == DType::f64 ? 0x1p52 : 0x1p23);
  llvm::Value* size = ir_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
  llvm::Value* nearest = ir_.CreateFSub(ir_.CreateFAdd(size, limit), limit);
  nearest = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, nearest, x);
  llvm::Value* small = ir_.CreateFCmpOLT(size, limit);  // false for NaN: it stays
  if (op == Op::floor) {
    llvm::Value* above = ir_.CreateFCmpOGT(nearest, x);
    llvm::Value* lower = ir_.CreateFSub(nearest, real(x, 1));
    nearest = ir_.CreateSelect(above, lower, nearest);
  }
  return ir_.CreateSelect(small, nearest, x);
}

llvm::Value* KernelEmitter::emit_compare(Op op, llvm::Value* a, llvm::Value* b, DType dtype) {
  if (is_float(dtype)) {
    switch (op) {
      case Op::eq: return ir_.CreateFCmpOEQ(a, b);
      case Op::ne: return ir_.CreateFCmpUNE(a, b);
      case Op::lt: return ir_.CreateFCmpOLT(a, b);
      default: return ir_.CreateFCmpOLE(a, b);
    }
  }
  bool is_signed = is_signed_integer(dtype);
  switch (op) {
    case Op::eq: return ir_.CreateICmpEQ(a, b);
    case Op::ne: return ir_.CreateICmpNE(a, b);
    case Op::lt: return is_signed ? ir_.CreateICmpSLT(a, b) : ir_.CreateICmpULT(a, b);
    default: return is_signed ? ir_.CreateICmpSLE(a, b) : ir_.CreateICmpULE(a, b);
  }
}

// NaN if either is NaN.
llvm::Value* KernelEmitter::emit_extremum(bool largest, llvm::Value* a, llvm::Value* b,
                                          DType dtype) {
  if (!is_float(dtype)) {
    bool is_signed = is_signed_integer(dtype);
    auto intrinsic = largest ? (is_signed ? llvm::Intrinsic::smax : llvm::Intrinsic::umax)
                             : (is_signed ? llvm::Intrinsic::smin : llvm::Intrinsic::umin);
    return ir_.CreateBinaryIntrinsic(intrinsic, a, b);
  }
  // Comparisons and selects would do, but LLVM 19 makes those of maximum(abs(x), 0) into x > 0.
  IR::FastMathFlagGuard guard(ir_);
  llvm::FastMathFlags flags = ir_.getFastMathFlags();
  flags.setNoSignedZeros();  // which of two zeros it is nobody promises
  ir_.setFastMathFlags(flags);
  return ir_.CreateBinaryIntrinsic(largest ? llvm::Intrinsic::maximum : llvm::Intrinsic::minimum, a,
                                   b);
}

llvm::Value* KernelEmitter::emit_map(Op op, const std::vector<llvm::Value*>& operands, DType from,
                                     DType to) {
  llvm::Value* a = operands[0];
  llvm::Value* b = operands.size() > 1 ? operands[1] : nullptr;
  bool real_numbers = is_float(from);
  switch (op) {
    case Op::add: return real_numbers ? ir_.CreateFAdd(a, b) : ir_.CreateAdd(a, b);
    case Op::sub: return real_numbers ? ir_.CreateFSub(a, b) : ir_.CreateSub(a, b);
    case Op::mul: return real_numbers ? ir_.CreateFMul(a, b) : ir_.CreateMul(a, b);
    case Op::div: return ir_.CreateFDiv(a, b);
    case Op::floordiv: return emit_integer_division(op, a, b, from);
    case Op::mod:
      return real_numbers ? emit_float_mod(a, b) : emit_integer_division(op, a, b, from);
    case Op::minimum: return emit_extremum(false, a, b, from);
    case Op::maximum: return emit_extremum(true, a, b, from);
    case Op::neg: return real_numbers ? ir_.CreateFNeg(a) : ir_.CreateNeg(a);
    case Op::abs:
      return real_numbers ? ir_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, a)
                          : ir_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, a, ir_.getFalse());
    case Op::floor:
    case Op::round: return emit_rounding(op, a, from);
    case Op::sqrt: return ir_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, a);
    case Op::rsqrt:
      return ir_.CreateFDiv(real(a, 1), ir_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, a));
    case Op::cast: return convert(a, from, to);
    case Op::eq:
    case Op::ne:
    case Op::lt:
    case Op::le: return emit_compare(op, a, b, from);
    case Op::logical_and: return ir_.CreateAnd(a, b);
    case Op::logical_or: return ir_.CreateOr(a, b);
    case Op::logical_not: return ir_.CreateNot(a);
    case Op::select: return ir_.CreateSelect(a, b, operands[2]);
    default: return emit_function(op, operands, from);
  }
}

}  // namespace weft::cpu
