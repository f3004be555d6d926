// Image captioning: a decoder that attends to feature vectors of an image.
// SPDX-License-Identifier: Apache-2.0
#include "models/families.h"
#include "models/transformer.h"

namespace weft {
namespace {

Var logits_of(ModelBuilder& m, const Var& features, const Var& tgt, const TransformerConfig& c) {
  Var table = nn::embedding(m, "embedding", c.vocab, c.d_model, c.dtype);
  Var memory = nn::dropout(nn::linear(features, "features", c.d_model), c.dropout);
  Var y = decoder(embed(tgt, table, "decoder.embed", c), "decoder", causal_and_padding_mask(tgt, c),
                  memory, Var(), c);
  return output_projection(y, table, c);
}

}  // namespace

Result<Module> captioning(const TransformerConfig& c) {
  WEFT_TRY_STATUS(check(c));
  ModelBuilder m(c.name);
  Dim batch = m.dim("B", 1, kMaxBatch);
  Type image{c.dtype, {batch, c.features, c.feature_width}};
  Type target{DType::i32, {batch, m.dim("T", 1, c.max_length)}};
  add_decoder_graphs(m, "features", image, target, c, logits_of);
  return m.finish();
}

}  // namespace weft
