// How far numbers may be apart: the one table, by who computed them and by element type.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ir/types/dtype.h"

namespace weft {

// What computed the numbers that are held against the expected ones.
enum class RunBy : uint8_t {
  oracle,     // one op on the oracle, against NumPy
  passes,     // a graph on the oracle after passes, against the same before them
  rewritten,  // the same where a pass made constants, which are rounded to their type
  device,     // generated code, against the oracle
};

struct Tolerance {
  double relative = 0;  // to the element
  double largest = 0;   // to the largest finite element of the tensor, or to 1 if that is less
  double absolute = 0;  // what is left where numbers of about 1 cancel, as in gelu far below 0
};

// Integers and booleans are exact everywhere. The oracle does not round, so its error is that of
// doubles for every float type. Passes write constants, which are rounded to the element type, and
// decompositions of 16-bit ops compute in f32 and round their results once: by 2^-11 of the element
// in f16, by 2^-8 in bf16. Both terms together allow twice what the worst case of one op needs.
//
// Graphs get no more than ops do. What a graph multiplies an error by is measured where a result is
// further off than this: see passes/rounding_noise.h.
inline Tolerance tolerance(RunBy by, DType dtype) {
  if (!is_float(dtype)) return {};
  if (by == RunBy::oracle) return {.relative = 1e-12, .largest = 1e-13};
  if (by == RunBy::passes) return {.relative = 1e-10, .largest = 1e-10, .absolute = 1e-13};
  if (by == RunBy::device && dtype == DType::f32) {
    return {.relative = 2e-6, .largest = 4e-6, .absolute = 1.2e-7};
  }
  switch (dtype) {
    case DType::f64: return {.relative = 1e-12, .largest = 1e-12};
    case DType::f32: return {.relative = 1e-6, .largest = 1e-6};
    case DType::f16: return {.relative = 6e-4, .largest = 6e-4};
    default: return {.relative = 5e-3, .largest = 5e-3};
  }
}

// A graph's results may move by this many times what one rounding of each of its numbers moves them
// by: long sums round at each step, and a few tries miss the worst case.
inline constexpr double kNoiseMargin = 32;

// Gradients against central differences in double, relative to the largest element.
inline constexpr double kGradientTolerance = 1e-6;
// Gradients against their expected value, relative to the largest element.
inline constexpr double kSlopeTolerance = 1e-12;

}  // namespace weft
