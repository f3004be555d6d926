// @prefill and @decode: the same model for one token at a time, with what earlier tokens left kept
// as state. Derived from the graph that computes all positions at once.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "ir/graph/module.h"
#include "ir/support/result.h"

namespace weft {

inline constexpr const char* kPrefill = "prefill";  // names of graphs
inline constexpr const char* kDecode = "decode";

struct DecodeRequest {
  std::string graph = "forward";
  bool weights = false;  // @decode also returns how much each source position is attended to
  bool scores = true;    // without: no `lse`, and no work for it
  int64_t beams = 0;     // hypotheses of a sentence; 0: any number, known at run time
};

// State that belongs to a row (or a sentence) by its first axis.
struct RowState {
  std::string name;
  size_t positions = 0;  // the axis along which positions follow each other
};

// Rows are sentences times beams: beam w of sentence b is row b * beams + w.
struct DecodeGraphs {
  Module module;  // parameters, the state below, @prefill and @decode
  std::string tokens;
  std::string sentences;         // symbols of sizes
  std::string beams;             // hypotheses of a sentence; empty if the request has the number
  std::string capacity;          // positions that the caches hold
  std::string length;            // tokens of a prompt
  int64_t context = 0;           // most positions that the model has
  bool has_source = false;       // @prefill reads a source; otherwise it reads a prompt
  bool scores = true;            // there is `lse`
  std::vector<RowState> memory;  // one row a sentence, written by @prefill
  std::vector<RowState> caches;  // one row a hypothesis, written at `position`
};

// The graph reads tokens so far, i32[B, T], as its last input of that kind, and gives logits
// [B, T, vocabulary] as its only output. Attention has to be an op: run `simplify` and `raise`
// before.
//   @decode(TOKENS [B * beams, 1], position) -> logits [B * beams, 1, vocabulary], lse [B * beams,
//     1] (logarithm of the sum of exp), if scores are wanted: one token for each row, all at the
//     same position
//   @prefill(what else the graph reads): whatever depends on no token, once for each sentence
//   @prefill(TOKENS [B * beams, T]) -> logits, lse of the last position, if there is nothing else
// Fails on an op that mixes positions otherwise than by causal attention, and names it.
Result<DecodeGraphs> derive_decode(const Module& module, const DecodeRequest& request);

}  // namespace weft
