// The order of the compiler's passes on graphs, as one table. Names are part of the command line.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "passes/arrange.h"
#include "passes/autodiff.h"
#include "passes/chunk_loss.h"
#include "passes/decompose.h"
#include "passes/flatten_optimizer.h"
#include "passes/fuse.h"
#include "passes/fuse_attention.h"
#include "passes/pass.h"
#include "passes/raise.h"
#include "passes/simplify.h"

namespace weft {
namespace {

constexpr Pass kGraphPipeline[] = {
    // Before autodiff: what is folded or merged here is not differentiated.
    {"simplify", simplify, "canonical forms, constant folding, algebra; merges equal, drops dead"},
    // Before autodiff: what is recovered has a gradient of its own.
    {"raise", raise, "softmax and attention, from any way to write them"},
    {"autodiff", autodiff, "adds the backward pass that was asked for"},
    // After autodiff: its rules are written for any operand, and leave ones, zeros and broadcasts.
    {"simplify", simplify, "the same on what autodiff added"},
    // From here on for a device. Before decompose: what it does not commit becomes primitives
    // there.
    {"fuse-attention", fuse_attention, "attention on kernels that never store the scores"},
    // While optimizer steps are whole: they become one.
    {"flatten-optimizer", flatten_optimizer, "one optimizer step on all parameters end to end"},
    {"decompose", decompose, "every composite op as primitives", /*rounds=*/true},
    {"simplify-primitives", simplify, "simplify on what the decompositions left"},
    {"arrange", arrange, "brings primitives into forms that regions can hold"},
    // Before fuse: what is chunked is fused inside.
    {"chunk", chunk_loss, "wide output projections with their loss, for some rows at a time"},
    {"fuse", fuse, "gathers nodes in regions, one kernel or a short sequence of kernels each"},
};

}  // namespace

std::span<const Pass> graph_pipeline() { return kGraphPipeline; }

std::vector<std::string> pass_names() {
  std::vector<std::string> names;
  for (const Pass& pass : kGraphPipeline) {
    if (std::find(names.begin(), names.end(), pass.name) == names.end()) {
      names.emplace_back(pass.name);
    }
  }
  return names;
}

}  // namespace weft
