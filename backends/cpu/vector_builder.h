// Short names for building straight vector code. Private to vector_math*.cc.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <span>
#include <vector>

#include "backends/cpu/target.h"

namespace weft::cpu {

// Every value is a scalar or a vector of as many lanes as the one it was made for.
class VectorBuilder {
 public:
  using Value = llvm::Value*;

  VectorBuilder(llvm::IRBuilderBase& builder, llvm::Type* like, const CpuTarget& target)
      : ir(builder),
        f32(type(like, builder.getFloatTy())),
        f64(type(like, builder.getDoubleTy())),
        i32(type(like, builder.getInt32Ty())),
        i64(type(like, builder.getInt64Ty())),
        fma_(target.fma),
        scales_(target.scales),
        guard_(builder) {
    ir.clearFastMathFlags();  // the roundings below are what makes the results right
  }

  // The type with one lane of `scalar` for each lane of `like`.
  static llvm::Type* type(llvm::Type* like, llvm::Type* scalar) {
    auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(like);
    return vector == nullptr ? scalar
                             : llvm::FixedVectorType::get(scalar, vector->getNumElements());
  }

  Value real(double value) { return llvm::ConstantFP::get(f32, value); }
  Value wide(double value) { return llvm::ConstantFP::get(f64, value); }
  Value whole(uint32_t value) { return llvm::ConstantInt::get(i32, value); }
  Value whole64(uint64_t value) { return llvm::ConstantInt::get(i64, value); }

  Value add(Value a, Value b) { return ir.CreateFAdd(a, b); }
  Value sub(Value a, Value b) { return ir.CreateFSub(a, b); }
  Value mul(Value a, Value b) { return ir.CreateFMul(a, b); }
  // a * b + c, rounded once where the target can.
  Value mad(Value a, Value b, Value c) {
    return fma_ ? ir.CreateIntrinsic(llvm::Intrinsic::fma, {a->getType()}, {a, b, c})
                : add(mul(a, b), c);
  }
  // True if there is an instruction for x * 2^n; vectors that are not its size go in parts.
  bool has_scale() const {
    auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(f32);
    return scales_ && vector != nullptr && vector->getNumElements() % 4 == 0;
  }
  // x * 2^n for any whole n, rounded once. Only with has_scale().
  Value scale(Value x, Value n) {
    const unsigned lanes = llvm::cast<llvm::FixedVectorType>(x->getType())->getNumElements();
    if (lanes > 16 || (lanes & (lanes - 1)) != 0) return scale_in_parts(x, n, lanes);
    const llvm::Intrinsic::ID id = lanes == 16  ? llvm::Intrinsic::x86_avx512_mask_scalef_ps_512
                                   : lanes == 8 ? llvm::Intrinsic::x86_avx512_mask_scalef_ps_256
                                                : llvm::Intrinsic::x86_avx512_mask_scalef_ps_128;
    const Value all = llvm::Constant::getAllOnesValue(ir.getIntNTy(lanes == 16 ? 16 : 8));
    std::vector<Value> operands = {x, n, x, all};
    constexpr uint32_t kAsSet = 4;  // the direction of rounding
    if (lanes == 16) operands.push_back(ir.getInt32(kAsSet));
    return ir.CreateIntrinsic(id, {}, operands);
  }
  // The polynomial with these coefficients, lowest first. By pairs, pairs of pairs and so on
  // (Estrin): a processor waits for the longest chain of dependent operations.
  template <class T>
  Value poly(Value x, std::span<const T> coefficients) {
    std::vector<Value> parts;
    for (T value : coefficients) parts.push_back(llvm::ConstantFP::get(x->getType(), value));
    for (Value power = x;; power = mul(power, power)) {
      for (size_t i = 0; 2 * i < parts.size(); ++i) {
        const bool pair = 2 * i + 1 < parts.size();
        parts[i] = pair ? mad(parts[2 * i + 1], power, parts[2 * i]) : parts[2 * i];
      }
      parts.resize((parts.size() + 1) / 2);
      if (parts.size() == 1) return parts[0];
    }
  }
  // The same by one coefficient after the other: the fewest operations, the longest chain.
  template <class T>
  Value horner(Value x, std::span<const T> coefficients) {
    Value sum = llvm::ConstantFP::get(x->getType(), coefficients.back());
    for (size_t i = coefficients.size() - 1; i > 0; --i) {
      sum = mad(sum, x, llvm::ConstantFP::get(x->getType(), coefficients[i - 1]));
    }
    return sum;
  }
  // NaN stays NaN. The order of operands makes each one instruction on x86.
  Value at_most(Value x, Value limit) {
    return ir.CreateSelect(ir.CreateFCmpOGT(x, limit), limit, x);
  }
  Value at_least(Value x, Value limit) {
    return ir.CreateSelect(ir.CreateFCmpOLT(x, limit), limit, x);
  }

  Value bits(Value x) { return ir.CreateBitCast(x, x->getType() == f64 ? i64 : i32); }
  Value from_bits(Value x) { return ir.CreateBitCast(x, x->getType() == i64 ? f64 : f32); }
  Value magnitude(Value x) { return from_bits(ir.CreateAnd(bits(x), whole(0x7fffffff))); }
  Value sign_bit(Value x) { return ir.CreateAnd(bits(x), whole(0x80000000)); }

  llvm::IRBuilderBase& ir;
  llvm::Type* const f32;
  llvm::Type* const f64;
  llvm::Type* const i32;
  llvm::Type* const i64;

 private:
  // One part after the other, as wide as they can be.
  Value scale_in_parts(Value x, Value n, unsigned lanes) {
    Value joined = llvm::PoisonValue::get(x->getType());
    for (unsigned at = 0, width = 16; at < lanes; at += width) {
      while (width > lanes - at) width /= 2;
      auto part = [&](Value whole) {
        return ir.CreateExtractVector(llvm::FixedVectorType::get(ir.getFloatTy(), width), whole,
                                      ir.getInt64(at));
      };
      joined =
          ir.CreateInsertVector(x->getType(), joined, scale(part(x), part(n)), ir.getInt64(at));
    }
    return joined;
  }

  bool fma_;
  bool scales_;
  llvm::IRBuilderBase::FastMathFlagGuard guard_;
};

}  // namespace weft::cpu
