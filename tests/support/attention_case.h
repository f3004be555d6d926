// Attention of every kind, with inputs and what has to come out, computed the plain way in doubles.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "ir/oracle/tensor.h"
#include "passes/lower_attention.h"

namespace weft {

struct AttentionCase {
  int64_t batch = 1;
  int64_t heads = 2;  // of k and v
  int64_t group = 1;  // heads of q for each
  int64_t queries = 8, keys = 8, depth = 16, width = 16;
  std::optional<int64_t> before = {}, after = {};
  bool lengths = false;
  bool mask = false;
  double fill = 0;  // where the mask is false; 0 stands for minus infinity
  enum class Bias : uint8_t { none, full, by_head, by_key };
  Bias bias = Bias::none;
  double dropout = 0;
  DType dtype = DType::f32;
  bool rows_apart = true;  // [batch, rows, heads, columns] in memory; else heads before rows
  bool symbolic = false;   // queries and keys are the symbols T and S

  std::string str() const;
  Attention attention() const;
  DimBinding sizes() const;
};

using AttentionTensors = std::map<AttentionRole, Tensor>;

// Everything that programs read, in the layout of `attention()`; what is stored in the case's
// element type is rounded to it.
AttentionTensors attention_inputs(const AttentionCase& what, uint64_t seed);
// out, lse, delta, dq, dk, dv and, with a bias, dbias.
AttentionTensors expected_attention(const AttentionCase& what, const AttentionTensors& inputs);

// A tensor for a role: what nobody writes stays NaN.
Tensor unwritten(const AttentionCase& what, AttentionRole role, const AttentionKnobs& knobs);
// The largest difference of results, relative to the largest number; infinite if one is NaN.
double largest_difference(const Tensor& actual, const Tensor& expected);

}  // namespace weft
