// A text classifier: encoder, mean over the tokens that are not padding, one hidden layer.
// SPDX-License-Identifier: Apache-2.0
#include "models/families.h"
#include "models/transformer.h"

namespace weft {
namespace {

// Mean over T of x [B, T, d] where keep [B, T] holds; zeros where it never does: [B, d].
Var mean_pool(const Var& x, const Var& keep) {
  Scope scope = x.scope("pool");
  Var weights = cast(reshape(keep, {keep.dim(0), keep.dim(1), 1}), x.dtype());
  return sum(x * weights, {1}) / maximum(sum(weights, {1}), 1);
}

Var logits_of(ModelBuilder& m, const Var& tokens, const TransformerConfig& c) {
  Var table = nn::embedding(m, "embedding", c.vocab, c.d_model, c.dtype);
  Var x = embed(tokens, table, "encoder.embed", c);
  x = encoder(x, "encoder", nn::padding_mask_of(tokens, c.pad), c);
  Var pooled = mean_pool(x, ne(tokens, static_cast<double>(c.pad)));
  Var hidden = nn::dropout(relu(nn::linear(pooled, "hidden", c.head_hidden)), c.dropout);
  return nn::linear(hidden, "head", c.classes);
}

}  // namespace

Result<Module> sentiment(const TransformerConfig& c) {
  WEFT_TRY_STATUS(check(c));
  ModelBuilder m(c.name);
  Dim batch = m.dim("B", 1, kMaxBatch);
  Type ids{DType::i32, {batch, m.dim("T", 1, c.max_length)}};

  m.begin_graph("forward");
  m.output("logits", logits_of(m, m.input("tokens", ids), c));

  m.begin_graph("loss");
  Var tokens = m.input("tokens", ids);
  Var labels = m.input("labels", {DType::i32, {batch}});
  if (c.uses_dropout()) m.enable_dropout();
  m.output("loss", mean_loss(logits_of(m, tokens, c), labels, c));
  return m.finish();
}

}  // namespace weft
