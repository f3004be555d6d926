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

  m.begin_graph("forward");
  Var features = m.input("features", image);
  m.output("logits", logits_of(m, features, m.input("tgt", target), c));

  m.begin_graph("loss");
  features = m.input("features", image);
  Var tgt = m.input("tgt", target);
  Var labels = m.input("labels", target);
  if (c.uses_dropout()) m.enable_dropout();
  m.output("loss", mean_loss(logits_of(m, features, tgt, c), labels, c));
  return m.finish();
}

}  // namespace weft
