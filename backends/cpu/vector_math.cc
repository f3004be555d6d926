// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/vector_math.h"

#include <limits>

#include "backends/cpu/vector_builder.h"
#include "backends/math_coefficients.h"

namespace weft::cpu {
namespace {

using Value = llvm::Value*;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// x = n * step + r with |r| <= step / 2, where step = steps[0] + steps[1].
struct Reduced {
  Value rest;   // r
  Value power;  // 2^n
};

// Adding 1.5 * 2^23 rounds to a whole number and leaves it in the low bits. With the 127 on top,
// shifting those into the exponent makes 2^n.
Reduced reduce(VectorBuilder& b, Value x, const float (&steps)[2]) {
  constexpr double kRounder = 0x1.8p23 + 127;
  const double inverse = 1 / (static_cast<double>(steps[0]) + static_cast<double>(steps[1]));
  const Value shifted = b.mad(x, b.real(inverse), b.real(kRounder));
  const Value n = b.sub(shifted, b.real(kRounder));
  const Value rest = b.mad(n, b.real(-steps[1]), b.mad(n, b.real(-steps[0]), x));
  return {rest, b.from_bits(b.ir.CreateShl(b.bits(shifted), b.whole(23)))};
}

}  // namespace

// exp(x) = exp(r) * 2^h * 2^(n - h), h = n / 2: two factors, since 2^n may be too large or too
// small for f32 where the result is not; or by one instruction, to the same bits. One coefficient
// after the other: what a kernel computes of many vectors waits for the multipliers, not for the
// chain, and this takes the fewest of them.
Value emit_exp(llvm::IRBuilderBase& ir, Value x, const CpuTarget& target) {
  VectorBuilder b(ir, x->getType(), target);
  // Beyond these the result is infinite or zero, and n would not fit its bits. Zero is put in at
  // the end: a product that underflows takes many times as long.
  const Value stays = ir.CreateFCmpUGE(x, b.real(-104));
  if (!b.has_scale()) x = ir.CreateSelect(stays, x, b.real(0));
  x = b.at_most(x, b.real(89));
  // As in `reduce`, with 2 * 127 on top: both halves of that number make a power.
  constexpr double kRounder = 0x1.8p23 + 2 * 127;
  const Value shifted = b.mad(x, b.real(1 / (double{kLn2[0]} + double{kLn2[1]})), b.real(kRounder));
  const Value n = b.sub(shifted, b.real(kRounder));
  const Value r = b.mad(n, b.real(-kLn2[1]), b.mad(n, b.real(-kLn2[0]), x));
  const Value tail = b.horner<float>(r, kExpNear);
  const Value one = b.real(1);
  const Value near = b.mad(b.mad(tail, r, one), r, one);
  if (b.has_scale()) return ir.CreateSelect(stays, b.scale(near, n), b.real(0));
  const Value half = ir.CreateLShr(b.bits(shifted), b.whole(1));
  auto power = [&](Value exponent) { return b.from_bits(ir.CreateShl(exponent, b.whole(23))); };
  const Value other = power(ir.CreateSub(b.bits(shifted), half));
  return ir.CreateSelect(stays, b.mul(b.mul(near, power(half)), other), b.real(0));
}

// With x = m * 2^e, m in [2/3, 4/3): log(x) = e * ln 2 + log1p(m - 1).
Value emit_log(llvm::IRBuilderBase& ir, Value x, const CpuTarget& target) {
  VectorBuilder b(ir, x->getType(), target);
  const Value subnormal = ir.CreateFCmpOLT(x, b.real(0x1p-126));
  const Value normal = ir.CreateSelect(subnormal, b.mul(x, b.real(0x1p25)), x);
  const Value above = ir.CreateSub(b.bits(normal), b.whole(0x3f2aaaab));  // the bits of 2/3
  const Value exponent_bits = ir.CreateAnd(above, b.whole(0xff800000));
  const Value m = b.from_bits(ir.CreateSub(b.bits(normal), exponent_bits));
  const Value e = b.sub(ir.CreateSIToFP(ir.CreateAShr(above, b.whole(23)), b.f32),
                        ir.CreateSelect(subnormal, b.real(25), b.real(0)));
  const Value r = b.sub(m, b.real(1));
  const Value tail = b.mad(r, b.poly<float>(r, kLog1pTail), b.real(-0.5));
  const Value low = b.mad(b.mul(r, r), tail, b.mul(e, b.real(kLn2[1])));
  const Value finite = b.mad(e, b.real(kLn2[0]), b.add(r, low));
  const Value positive = ir.CreateSelect(ir.CreateFCmpOLT(x, b.real(kInfinity)), finite, x);
  const Value at_zero = ir.CreateSelect(ir.CreateFCmpOEQ(x, b.real(0)), b.real(-kInfinity),
                                        b.real(std::numeric_limits<float>::quiet_NaN()));
  return ir.CreateSelect(ir.CreateFCmpUGT(x, b.real(0)), positive, at_zero);
}

// An odd polynomial near zero, 1 - 2 / (exp(2x) + 1) beyond 0.625, where that loses nothing.
Value emit_tanh(llvm::IRBuilderBase& ir, Value x, const CpuTarget& target) {
  VectorBuilder b(ir, x->getType(), target);
  const Value size = b.magnitude(x);
  const Value square = b.mul(x, x);
  const Value near = b.mad(b.mul(size, square), b.poly<float>(square, kTanhSmall), size);
  const Reduced at = reduce(b, b.at_most(size, b.real(9.1)), kHalfLn2);  // there the result is 1
  const Value less_one = b.mul(at.rest, b.poly<float>(at.rest, kTanhExp));
  const Value below = b.mad(less_one, at.power, b.add(at.power, b.real(1)));
  const Value far = b.sub(b.real(1), ir.CreateFDiv(b.real(2), below));
  const Value result = ir.CreateSelect(ir.CreateFCmpOLT(size, b.real(0.625)), near, far);
  return b.from_bits(ir.CreateOr(b.bits(result), b.sign_bit(x)));
}

// An odd polynomial near zero, 1 - erfc(x) beyond 1.
Value emit_erf(llvm::IRBuilderBase& ir, Value x, const CpuTarget& target) {
  VectorBuilder b(ir, x->getType(), target);
  const Value near = b.mad(x, b.poly<float>(b.mul(x, x), kErfSmall), x);
  const Value size = b.magnitude(x);
  const Value at = b.sub(b.at_most(size, b.real(4)), b.real(2.5));
  const Value far = b.sub(b.real(1), b.poly<float>(at, kErfcLarge));
  const Value signed_far = b.from_bits(ir.CreateOr(b.bits(far), b.sign_bit(x)));
  return ir.CreateSelect(ir.CreateFCmpOLT(size, b.real(1)), near, signed_far);
}

}  // namespace weft::cpu
