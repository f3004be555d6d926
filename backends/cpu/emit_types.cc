// Element types: how a number lies in memory, how it is computed with, and `cast` between them.
// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/emitter.h"
#include "ir/support/check.h"

namespace weft::cpu {

llvm::Type* KernelEmitter::register_type(DType dtype) {
  switch (dtype) {
    case DType::f64: return ir_.getDoubleTy();
    case DType::f32:
    case DType::f16:
    case DType::bf16: return ir_.getFloatTy();
    case DType::i8:
    case DType::u8: return ir_.getInt8Ty();
    case DType::i32:
    case DType::u32: return ir_.getInt32Ty();
    case DType::i64: return ir_.getInt64Ty();
    case DType::boolean: return ir_.getInt1Ty();
  }
  WEFT_CHECK(false, "an element type has a register type");
}

llvm::Type* KernelEmitter::memory_type(DType dtype) {
  switch (dtype) {
    case DType::f16:
    case DType::bf16: return ir_.getInt16Ty();
    case DType::boolean: return ir_.getInt8Ty();
    default: return register_type(dtype);
  }
}

llvm::Type* KernelEmitter::with_lanes(llvm::Type* type, int lanes) {
  return lanes == 1 ? type : llvm::FixedVectorType::get(type, static_cast<unsigned>(lanes));
}

llvm::Value* KernelEmitter::splat(llvm::Value* value, int lanes) {
  if (lanes == 1 || value->getType()->isVectorTy()) return value;
  return ir_.CreateVectorSplat(static_cast<unsigned>(lanes), value);
}

namespace {

int lanes_of(llvm::Value* value) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
  return vector == nullptr ? 1 : static_cast<int>(vector->getNumElements());
}

// The bits of f16 as f32 and back with integers alone, for machines without the instruction.
struct HalfBits {
  llvm::IRBuilder<>& ir;
  llvm::Type* i32;
  llvm::Type* f32;

  llvm::Constant* bits(uint32_t value) const { return llvm::ConstantInt::get(i32, value); }
  llvm::Value* as_float(llvm::Value* value) const { return ir.CreateBitCast(value, f32); }
  llvm::Value* as_bits(llvm::Value* value) const { return ir.CreateBitCast(value, i32); }

  llvm::Value* widen(llvm::Value* half) const {
    llvm::Value* wide = ir.CreateZExt(half, i32);
    llvm::Value* sign = ir.CreateShl(ir.CreateAnd(wide, bits(0x8000)), bits(16));
    llvm::Value* rest = ir.CreateShl(ir.CreateAnd(wide, bits(0x7fff)), bits(13));
    // 2^112 moves the exponent to where f32 has it, and makes subnormal halves normal.
    llvm::Value* scaled = as_bits(ir.CreateFMul(as_float(rest), as_float(bits(0x77800000))));
    llvm::Value* special = ir.CreateICmpUGE(rest, bits(0x0f800000));
    llvm::Value* magnitude = ir.CreateSelect(special, ir.CreateOr(rest, bits(0x7f800000)), scaled);
    return as_float(ir.CreateOr(magnitude, sign));
  }

  llvm::Value* narrow(llvm::Value* value) const {
    llvm::Value* all = as_bits(value);
    llvm::Value* sign = ir.CreateLShr(ir.CreateAnd(all, bits(0x80000000)), bits(16));
    llvm::Value* magnitude = ir.CreateAnd(all, bits(0x7fffffff));
    // Normal halves: round to nearest even on the 13 bits that go.
    llvm::Value* odd = ir.CreateAnd(ir.CreateLShr(magnitude, bits(13)), bits(1));
    llvm::Value* rounded = ir.CreateAdd(ir.CreateAdd(magnitude, bits(0xfff)), odd);
    llvm::Value* normal = ir.CreateSub(ir.CreateLShr(rounded, bits(13)), bits(112 << 10));
    // Subnormal halves: adding 0.5 leaves the last bits where a half has them, rounded.
    llvm::Value* shifted = ir.CreateFAdd(as_float(magnitude), as_float(bits(0x3f000000)));
    llvm::Value* small = ir.CreateSub(as_bits(shifted), bits(0x3f000000));
    llvm::Value* is_small = ir.CreateICmpULT(magnitude, bits(0x38800000));
    llvm::Value* half = ir.CreateSelect(is_small, small, normal);
    half = ir.CreateSelect(ir.CreateICmpUGE(magnitude, bits(0x477ff000)), bits(0x7c00), half);
    llvm::Value* is_nan = ir.CreateICmpUGT(magnitude, bits(0x7f800000));
    half = ir.CreateSelect(is_nan, bits(0x7e00), half);
    return ir.CreateOr(half, sign);
  }
};

}  // namespace

llvm::Value* KernelEmitter::widen(llvm::Value* stored, DType dtype) {
  int lanes = lanes_of(stored);
  llvm::Type* i32 = with_lanes(ir_.getInt32Ty(), lanes);
  llvm::Type* f32 = with_lanes(ir_.getFloatTy(), lanes);
  switch (dtype) {
    case DType::boolean:
      return ir_.CreateICmpNE(stored, llvm::Constant::getNullValue(stored->getType()));
    case DType::bf16: return ir_.CreateBitCast(ir_.CreateShl(ir_.CreateZExt(stored, i32), 16), f32);
    case DType::f16:
      if (target_.f16c) {
        llvm::Type* half = with_lanes(ir_.getHalfTy(), lanes);
        return ir_.CreateFPExt(ir_.CreateBitCast(stored, half), f32);
      }
      return HalfBits{ir_, i32, f32}.widen(stored);
    default: return stored;
  }
}

llvm::Value* KernelEmitter::narrow(llvm::Value* value, DType dtype) {
  int lanes = lanes_of(value);
  llvm::Type* i16 = with_lanes(ir_.getInt16Ty(), lanes);
  llvm::Type* i32 = with_lanes(ir_.getInt32Ty(), lanes);
  llvm::Type* f32 = with_lanes(ir_.getFloatTy(), lanes);
  switch (dtype) {
    case DType::boolean: return ir_.CreateZExt(value, with_lanes(ir_.getInt8Ty(), lanes));
    case DType::bf16: {
      llvm::Value* bits = ir_.CreateBitCast(value, i32);
      llvm::Value* odd = ir_.CreateAnd(ir_.CreateLShr(bits, 16), 1);
      llvm::Value* rounded =
          ir_.CreateAdd(ir_.CreateAdd(bits, llvm::ConstantInt::get(i32, 0x7fff)), odd);
      llvm::Value* nan = ir_.CreateFCmpUNO(value, value);
      rounded = ir_.CreateSelect(nan, llvm::ConstantInt::get(i32, 0x7fc00000), rounded);
      return ir_.CreateTrunc(ir_.CreateLShr(rounded, 16), i16);
    }
    case DType::f16:
      if (target_.f16c) {
        return ir_.CreateBitCast(ir_.CreateFPTrunc(value, with_lanes(ir_.getHalfTy(), lanes)), i16);
      }
      return ir_.CreateTrunc(HalfBits{ir_, i32, f32}.narrow(value), i16);
    default: return value;
  }
}

llvm::Value* KernelEmitter::number(DType dtype, double real, int64_t integer) {
  llvm::Type* type = register_type(dtype);
  if (is_float(dtype)) return llvm::ConstantFP::get(type, real);
  return llvm::ConstantInt::get(type, static_cast<uint64_t>(integer), is_signed_integer(dtype));
}

// f64 to f32 towards zero, the last bit set if something was lost: a second rounding to fewer bits
// then gives what one rounding would have given.
llvm::Value* KernelEmitter::round_to_odd(llvm::Value* value) {
  int lanes = lanes_of(value);
  llvm::Type* f32 = with_lanes(ir_.getFloatTy(), lanes);
  llvm::Type* i32 = with_lanes(ir_.getInt32Ty(), lanes);
  llvm::Value* nearest = ir_.CreateFPTrunc(value, f32);
  llvm::Value* back = ir_.CreateFPExt(nearest, value->getType());
  auto size = [&](llvm::Value* x) { return ir_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x); };
  llvm::Value* grew = ir_.CreateFCmpOGT(size(back), size(value));
  llvm::Value* lost = ir_.CreateFCmpONE(back, value);  // not for NaN
  llvm::Value* bits = ir_.CreateBitCast(nearest, i32);
  bits = ir_.CreateSub(bits, ir_.CreateZExt(grew, i32));
  bits = ir_.CreateOr(bits, ir_.CreateZExt(lost, i32));
  return ir_.CreateBitCast(bits, f32);
}

// An i64 whose last bits, where f64 has no room for them, became one bit that tells of them.
llvm::Value* KernelEmitter::fit_f64(llvm::Value* value) {
  auto bits = [&](int64_t number) {
    return llvm::ConstantInt::get(value->getType(), static_cast<uint64_t>(number), true);
  };
  constexpr int64_t kExact = int64_t{1} << 53;
  llvm::Value* above = ir_.CreateICmpSGT(value, bits(kExact));
  llvm::Value* below = ir_.CreateICmpSLT(value, bits(-kExact));
  llvm::Value* rest = ir_.CreateAnd(value, bits(2047));
  llvm::Value* some = ir_.CreateICmpNE(rest, bits(0));
  llvm::Value* sticky = ir_.CreateSelect(some, bits(1024), bits(0));
  llvm::Value* fitted = ir_.CreateOr(ir_.CreateAnd(value, bits(~int64_t{2047})), sticky);
  return ir_.CreateSelect(ir_.CreateOr(above, below), fitted, value);
}

llvm::Value* KernelEmitter::convert(llvm::Value* value, DType from, DType to) {
  int lanes = lanes_of(value);
  llvm::Type* type = with_lanes(register_type(to), lanes);
  bool is_unsigned = !is_signed_integer(from);
  if (to == DType::boolean) {
    if (from == DType::boolean) return value;
    llvm::Value* zero = llvm::Constant::getNullValue(value->getType());
    return is_float(from) ? ir_.CreateFCmpUNE(value, zero) : ir_.CreateICmpNE(value, zero);
  }
  bool is_half = is_float(to) && byte_size(to) == 2;
  if (is_half && (from == DType::f64 || from == DType::i64 || byte_size(from) == 4) &&
      from != DType::f32) {
    llvm::Type* f64 = with_lanes(ir_.getDoubleTy(), lanes);
    llvm::Value* exact = from == DType::i64 ? fit_f64(value) : value;
    if (!is_float(from)) {
      exact = is_unsigned ? ir_.CreateUIToFP(exact, f64) : ir_.CreateSIToFP(exact, f64);
    }
    return widen(narrow(round_to_odd(exact), to), to);
  }
  if (is_float(to)) {
    llvm::Value* result = value;
    if (!is_float(from)) {
      result = is_unsigned ? ir_.CreateUIToFP(value, type) : ir_.CreateSIToFP(value, type);
    } else if (value->getType() != type) {
      result = to == DType::f64 ? ir_.CreateFPExt(value, type) : ir_.CreateFPTrunc(value, type);
    }
    bool rounds = to == DType::f16 || to == DType::bf16;
    return rounds && from != to ? widen(narrow(result, to), to) : result;
  }
  if (is_float(from)) {
    auto intrinsic =
        is_signed_integer(to) ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
    return ir_.CreateIntrinsic(intrinsic, {type, value->getType()}, {value});
  }
  return ir_.CreateIntCast(value, type, !is_unsigned);
}

}  // namespace weft::cpu
