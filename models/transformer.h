// The encoder-decoder Transformer of "Attention Is All You Need"
// (https://arxiv.org/abs/1706.03762), and its parts, of which the other models are made.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "frontend/nn.h"
#include "models/config.h"

namespace weft {

// A mask without a value lets every query see every key.
// q [B, H, T, D], k and v [B, H, S, D]; mask broadcasts to bool[B, H, T, S], true where seen.
Var attention(const Var& q, const Var& k, const Var& v, const Var& mask,
              const TransformerConfig& c);
// x [B, T, d_model] asks, memory [B, S, d_model] answers; queries and keys may be turned by their
// positions (nn::rotary).
Var multi_head_attention(const Var& x, const Var& memory, const Var& mask,
                         const TransformerConfig& c, bool turn = false);
Var feed_forward(const Var& x, const TransformerConfig& c);

// Layers NAME.0, NAME.1, ... of self-attention and feed-forward.
Var encoder(Var x, const std::string& name, const Var& mask, const TransformerConfig& c);
// The same with attention over `memory` between the two.
Var decoder(Var x, const std::string& name, const Var& mask, const Var& memory,
            const Var& memory_mask, const TransformerConfig& c);

// Rows of `table` [vocab, d_model] with positions (NAME.positions if learned):
// ids [B, T] -> [B, T, d_model].
Var embed(const Var& ids, const Var& table, const std::string& name, const TransformerConfig& c);
// Each position sees itself and earlier ones, and no padding: bool[B, 1, T, T].
Var causal_and_padding_mask(const Var& ids, const TransformerConfig& c);
// Logits [.., vocab] of x [.., d_model], with `table` transposed if tied.
Var output_projection(const Var& x, const Var& table, const TransformerConfig& c);
// The config's loss, averaged over labels that are not ignored.
Var mean_loss(const Var& logits, const Var& labels, const TransformerConfig& c);

// Logits [B, T, vocab] of a source and the tokens so far.
using LogitsFn = Var (*)(ModelBuilder& m, const Var& source, const Var& tgt,
                         const TransformerConfig& c);
// @forward(NAME, tgt) -> logits; @loss(NAME, tgt, labels[, rng]) -> loss.
void add_decoder_graphs(ModelBuilder& m, const std::string& name, const Type& source,
                        const Type& target, const TransformerConfig& c, LogitsFn logits);

// Translates `src`; see add_decoder_graphs.
Result<Module> transformer(const TransformerConfig& config);

}  // namespace weft
