// The order of the compiler's passes on graphs, as one table. Names are part of the command line.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "passes/autodiff.h"
#include "passes/pass.h"
#include "passes/simplify.h"

namespace weft {
namespace {

constexpr Pass kGraphPipeline[] = {
    // Before autodiff: what is folded or merged here is not differentiated.
    {"simplify", simplify, "canonical forms, constant folding, algebra; merges equal, drops dead"},
    {"autodiff", autodiff, "adds the backward pass that was asked for"},
    // After autodiff: its rules are written for any operand, and leave ones, zeros and broadcasts.
    {"simplify", simplify, "the same on what autodiff added"},
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
