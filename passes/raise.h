// Pass `raise`: recovers softmax, and attention, from any way to write them.
// Needs: simplify went before. Leaves: the same numbers, within the types of what was written;
// where a row is masked throughout, zeros, even if what was written had NaN there.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "passes/pass.h"

namespace weft {

// Softmax always; attention if options.fuse_attention.
Result<bool> raise(Module& module, const PassOptions& options);

// The two parts.
Result<bool> raise_softmax(Module& module, const PassOptions& options);
Result<bool> raise_attention(Module& module, const PassOptions& options);

// A product that goes through a softmax into another product, or the gradient of one.
struct AttentionNote {
  std::string graph;
  std::string value;      // the attention, or the softmax that is none
  bool backward = false;  // an `attention_grad`
  bool raised = false;    // it is one op
  bool fused = false;     // and runs on kernels of its own
  std::string reason;     // what is in the way, if it is not fused
};
using AttentionReport = std::vector<AttentionNote>;
// Every attention of a module that `decompose` has not seen yet, and everything that looks like
// one: also exponentials between two products that are divided by their sum, but were not
// recognised as a softmax.
AttentionReport attention_report(const Module& module);

}  // namespace weft
