// Part of `raise`: the node that takes the place of an attention's chain.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>

#include "passes/raise_form.h"

namespace weft {

// The value of the new graph that stands for one of the old graph.
using NewValue = std::function<Value(Value old)>;

// Why the op cannot be put there although the chain has its form; nothing if it can.
std::optional<std::string> emission_fault(const Graph& graph, const DimFacts& facts,
                                          const AttentionChain& chain);
// What takes the root's place. Needs: no emission_fault.
Value emit_attention(Emitter& b, const Graph& graph, const AttentionChain& chain,
                     const AttentionForm& form, const NewValue& at);

}  // namespace weft
