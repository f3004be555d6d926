// GPT: a stack of causal self-attention that predicts the next token.
// SPDX-License-Identifier: Apache-2.0
#include "models/families.h"
#include "models/transformer.h"

namespace weft {
namespace {

Var logits_of(ModelBuilder& m, const Var& tokens, const TransformerConfig& c) {
  Var table = nn::embedding(m, "embedding", c.vocab, c.d_model, c.dtype);
  Dim length = tokens.dim(-1);
  Var x = encoder(embed(tokens, table, "embed", c), "layers", causal_mask(m, length, length), c);
  return output_projection(x, table, c);
}

}  // namespace

Result<Module> gpt(const TransformerConfig& c) {
  WEFT_TRY_STATUS(check(c));
  ModelBuilder m(c.name);
  Type ids{DType::i32, {m.dim("B", 1, kMaxBatch), m.dim("T", 1, c.max_length)}};

  m.begin_graph("forward");
  m.output("logits", logits_of(m, m.input("tokens", ids), c));

  m.begin_graph("loss");
  Var tokens = m.input("tokens", ids);
  Var labels = m.input("labels", ids);
  if (c.uses_dropout()) m.enable_dropout();
  m.output("loss", mean_loss(logits_of(m, tokens, c), labels, c));
  return m.finish();
}

}  // namespace weft
