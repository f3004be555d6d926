// Attention as Tile programs: an online softmax forward, recomputation backward.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "ir/tile/program.h"

namespace weft {

// A tensor as it lies in memory: [lead.., rows, columns], element strides one per dim. A dim of 1
// where the scores have more repeats.
struct AttentionTensor {
  Type type = {};
  std::vector<Dim> strides = {};  // empty: row-major without gaps
};

// weights = softmax(scale * q k^T + bias) over keys, out = weights v. Column j of row i is taken if
// -before <= j - (i + keys - queries) <= after, if j is below the length, and if the mask does not
// exclude it; a row without columns gives zeros.
struct Attention {
  Shape lead = {};  // of the scores, which are [lead.., queries, keys]
  Dim queries = 1, keys = 1;
  Dim depth = 1;  // of q and k
  Dim width = 1;  // of v
  double scale = 1;
  AttentionTensor q = {}, k = {}, v = {};
  std::optional<AttentionTensor> bias = {};     // added to the scores
  std::optional<AttentionTensor> mask = {};     // bool; where false, the score is `fill`
  double fill = 0;                              // minus infinity excludes
  std::optional<AttentionTensor> lengths = {};  // i32[lead..]: keys that exist
  std::optional<Dim> before = {}, after = {};   // the window; causal is after = 0
  double dropout = 0;                           // rate, of the weights
  Dim stream = 0;                               // of its random numbers; rng is u32[2]: seed, step
  AttentionTensor out = {};                     // and d_out where that is read
  AttentionTensor d_out = {};
  // Statistics of rows, f32[lead.., queries]: without a shape here row-major. delta is the sum of
  // out * d_out along a row, less the gradient of lse.
  AttentionTensor lse = {}, delta = {};
  AttentionTensor dq = {}, dk = {}, dv = {}, dbias = {};  // as q, k, v, bias
  bool wants_lse = true;                                  // of the forward pass
  bool wants_dbias = true;  // of the backward pass, if there is a bias

  // Scores may be large numbers, as a mask that adds -1e9 makes them: then lse has lost digits.
  bool may_lose_digits() const;
};

struct AttentionKnobs {
  int64_t block_queries = 64;  // BI
  int64_t block_keys = 64;     // BJ
  int64_t split_keys = 0;      // so many keys a program, and a second program that combines; 0: all
  bool serial = true;          // backward with five products instead of seven; see below
};

// What a buffer of a program stands for.
enum class AttentionRole : uint8_t {
  q,
  k,
  v,
  bias,
  mask,
  lengths,
  rng,  // operands
  out,
  lse,  // results of the forward pass; lse is f32[lead.., queries]
  d_out,
  delta,  // operands of the backward pass, with lse
  dq,
  dk,
  dv,
  dbias,  // results of the backward pass
  part_max,
  part_sum,
  part_out,  // workspaces of a split: f32[lead.., queries, parts(, width)]
  largest,
  log_sum,  // workspaces of the backward pass: lse in two parts, f32[lead.., queries]
};
std::string_view name(AttentionRole role);
bool is_workspace(AttentionRole role);

struct AttentionProgram {
  tile::Program program;
  std::vector<AttentionRole> buffers;  // one per buffer of the program
};

// The type of a role's tensor. Those without strides of their own are row-major.
Type attention_type(const Attention& attention, AttentionRole role, const AttentionKnobs& knobs);

// out and, where wanted, lse: one program, or two where the keys are split.
std::vector<AttentionProgram> lower_attention(const Attention& attention,
                                              const AttentionKnobs& knobs = {});

// dq, dk, dv from q, k, v, lse, delta and d_out, and where wanted dbias: programs to be run one
// after the other. The serial form makes dq, dk and dv in one walk over the keys by one owner per
// lead; it wants at least as many leads as threads, and a q that repeats nowhere. k and v repeat
// alike.
std::vector<AttentionProgram> lower_attention_backward(const Attention& attention,
                                                       const AttentionKnobs& knobs = {});

}  // namespace weft
