// Constants of elementary functions: printed by tools/math/minimax.py, not to be edited.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace weft {

// (exp(r) - 1 - r) / r^2 for |r| <= ln 2, against exp(r); relative error 1.2e-9.
inline constexpr float kExpTail[] = {
    0x1.0000000000000p-1F,  0x1.5555660000000p-3F,  0x1.5555840000000p-5F,  0x1.1107860000000p-7F,
    0x1.6bf0080000000p-10F, 0x1.a6badc0000000p-13F, 0x1.b057560000000p-16F,
};
// (exp(r) - 1 - r) / r^2 for |r| <= ln 2 / 2, against exp(r); relative error 3.2e-9.
inline constexpr float kExpNear[] = {
    0x1.fffffc0000000p-2F, 0x1.55548c0000000p-3F,  0x1.55585a0000000p-5F,
    0x1.123d5c0000000p-7F, 0x1.6ab6c20000000p-10F,
};
// 2 ln 2 = sum, exact in products with |n| <= 2^8.
inline constexpr float kTwoLn2[] = {
    0x1.62e4000000000p+0F,
    0x1.7f7d1cf79abcap-19F,
};
// (exp(2r) - 1) / r for |r| <= ln 2 / 4, against exp(2r); relative error 1.3e-8.
inline constexpr float kTanhExp[] = {
    0x1.0000000000000p+1F, 0x1.ffffac0000000p+0F, 0x1.5554ae0000000p+0F,
    0x1.559b2e0000000p-1F, 0x1.1229480000000p-2F, 0x1.3930c20000000p-4F,
};
// ln 2 / 2 = sum, exact in products with |n| <= 2^8.
inline constexpr float kHalfLn2[] = {
    0x1.62e4000000000p-2F,
    0x1.7f7d1cf79abcap-21F,
};
// (tanh(x) / x - 1) / x^2 in x^2 for |x| <= 0.625, against tanh(x) / x; relative error 4.5e-9.
inline constexpr float kTanhSmall[] = {
    -0x1.5555320000000p-2F, 0x1.1106f60000000p-3F,  -0x1.b835a40000000p-5F,
    0x1.51f8cc0000000p-6F,  -0x1.750cca0000000p-8F,
};
// ln 2 = sum, exact in products with |n| <= 2^8.
inline constexpr float kLn2[] = {
    0x1.62e4000000000p-1F,
    0x1.7f7d1cf79abcap-20F,
};
// (log1p(r) - r + r^2 / 2) / r^3 for |r| <= 1/3, against log1p(r); relative error 9.2e-10.
inline constexpr float kLog1pTail[] = {
    0x1.5555560000000p-2F,  -0x1.ffff020000000p-3F, 0x1.99985e0000000p-3F,
    -0x1.559bae0000000p-3F, 0x1.24d7b80000000p-3F,  -0x1.f337680000000p-4F,
    0x1.bb43aa0000000p-4F,  -0x1.07d42c0000000p-3F, 0x1.e073100000000p-4F,
};
// erf(x) / x - 1 in x^2 for |x| <= 1, against erf(x) / x; relative error 1.7e-9.
inline constexpr float kErfSmall[] = {
    0x1.06eba80000000p-3F, -0x1.81273e0000000p-2F,  0x1.ce2ce60000000p-4F,  -0x1.b7f71a0000000p-6F,
    0x1.53f22e0000000p-8F, -0x1.a351d20000000p-11F, 0x1.4773a40000000p-14F,
};
// erfc(x) in x - 2.5 for 1 <= x <= 4, against 1; relative error 1.2e-8.
inline constexpr float kErfcLarge[] = {
    0x1.aab8860000000p-12F, -0x1.1d7fe40000000p-9F,  0x1.64e34c0000000p-8F,
    -0x1.11ab460000000p-7F, 0x1.1a8c4a0000000p-7F,   -0x1.9061100000000p-8F,
    0x1.6ea7ee0000000p-9F,  -0x1.25a3020000000p-11F, -0x1.0f0eb00000000p-12F,
    0x1.1b892e0000000p-12F, -0x1.54c1860000000p-14F, -0x1.28ab060000000p-16F,
    0x1.0875ce0000000p-16F, -0x1.115c8a0000000p-21F, -0x1.e0beba0000000p-21F,
};
// (sin(r) - r) / r^3 in r^2 for |r| <= pi/4, against sin(r); relative error 1.6e-10.
inline constexpr float kSinTail[] = {
    -0x1.5555560000000p-3F,
    0x1.1111740000000p-7F,
    -0x1.a059540000000p-13F,
    0x1.7c2c4c0000000p-19F,
};
// (cos(r) - 1 + r^2 / 2) / r^4 in r^2 for |r| <= pi/4, against cos(r); relative error 1.2e-10.
inline constexpr float kCosTail[] = {
    0x1.55554a0000000p-5F,
    -0x1.6c0c280000000p-10F,
    0x1.99e80c0000000p-16F,
};
// pi/2 = sum, exact in products with |n| <= 2^20.
inline constexpr double kHalfPi[] = {
    0x1.921fb54400000p+0,
    0x1.0b4611a600000p-34,
    0x1.3198a2e037073p-69,
};
// log2(m) / s in s^2, s = (m - 1) / (m + 1), m in [sqrt(1/2), sqrt(2)]; relative error 4.2e-12.
inline constexpr double kLog2[] = {
    0x1.71547652bee6ep+1, 0x1.ec709d1229e9fp-1, 0x1.2777806c87a24p-1,
    0x1.a58d475fc3577p-2, 0x1.5ced4a070fee8p-2,
};
// 2^f for |f| <= 1/2; relative error 4.1e-11.
inline constexpr double kExp2[] = {
    0x1.ffffffffab164p-1, 0x1.62e42ff119445p-1,  0x1.ebfbe0a5c1d32p-3,  0x1.c6b08aaaa1708p-5,
    0x1.3b29db63d5cb6p-7, 0x1.5d8a7353caa0dp-10, 0x1.446ad2f5f2833p-13, 0x1.fe16589b3820cp-17,
};
// The first bits of 2/pi after the point, 32 to a word.
inline constexpr uint32_t kTwoOverPi[] = {
    0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab, 0xdebbc561,
};

}  // namespace weft
