// The architectures of the zoo besides the encoder-decoder. Each makes a module with @forward
// (inference) and @loss (training; with the input `rng` if the config has dropout).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/config.h"

namespace weft {

// Decoder-only language model. @forward(tokens) -> logits; @loss(tokens, labels) -> loss, where
// labels are the tokens one position further.
Result<Module> gpt(const TransformerConfig& config);

// Encoder with a pooler. @forward(tokens, token_types, lengths) -> (hidden, pooled);
// @loss(.., labels) is that of masked tokens, with the token table itself as output projection, so
// that it needs no parameter beyond those of the encoder.
Result<Module> bert(const TransformerConfig& config);

// Image classifier. @forward(image) -> logits with image [B, height, width, channels];
// @loss(image, labels) -> loss.
Result<Module> vit(const TransformerConfig& config);

// Text classifier: encoder, mean over tokens, one hidden layer.
// @forward(tokens) -> logits; @loss(tokens, labels) -> loss.
Result<Module> sentiment(const TransformerConfig& config);

// Describes images given as feature vectors. @forward(features, tgt) -> logits;
// @loss(features, tgt, labels) -> loss.
Result<Module> captioning(const TransformerConfig& config);

}  // namespace weft
