// BERT: a bidirectional encoder over tokens, segments and learned positions.
// SPDX-License-Identifier: Apache-2.0
#include "models/families.h"
#include "models/transformer.h"

namespace weft {
namespace {

struct Inputs {
  Var tokens;       // [B, T]
  Var token_types;  // [B, T]
  Var lengths;      // [B]
};

Inputs declare_inputs(ModelBuilder& m, const Type& ids) {
  return {.tokens = m.input("tokens", ids),
          .token_types = m.input("token_types", ids),
          .lengths = m.input("lengths", {DType::i32, {ids.shape[0]}})};
}

Var token_table(ModelBuilder& m, const TransformerConfig& c) {
  return nn::embedding(m, "embedding", c.vocab, c.d_model, c.dtype);
}

Var hidden_of(ModelBuilder& m, const Inputs& in, const TransformerConfig& c) {
  Dim batch = in.tokens.dim(0);
  Dim length = in.tokens.dim(1);
  Var x;
  {
    Scope scope = m.scope("embed");
    Var types = nn::embedding(m, "types", c.token_types, c.d_model, c.dtype);
    x = gather(types, in.token_types) +
        nn::learned_positions(m, "positions", length, c.max_length, c.d_model, c.dtype);
  }
  x = gather(token_table(m, c), in.tokens) + x;
  x = nn::dropout(nn::layer_norm(x, "embed.norm", c.norm_eps), c.dropout);
  Var mask = reshape(padding_mask(in.lengths, length), {batch, 1, 1, length});
  return encoder(x, "encoder", mask, c);
}

}  // namespace

Result<Module> bert(const TransformerConfig& c) {
  WEFT_TRY_STATUS(check(c));
  ModelBuilder m(c.name);
  Type ids{DType::i32, {m.dim("B", 1, kMaxBatch), m.dim("T", 1, c.max_length)}};

  m.begin_graph("forward");
  Var hidden = hidden_of(m, declare_inputs(m, ids), c);
  m.output("hidden", hidden);
  Var first = reshape(slice_axis(hidden, 1, 0, 1), {hidden.dim(0), c.d_model});
  m.output("pooled", tanh(nn::linear(first, "pooler", c.d_model)));

  m.begin_graph("loss");
  Inputs in = declare_inputs(m, ids);
  Var labels = m.input("labels", ids);
  if (c.uses_dropout()) m.enable_dropout();
  hidden = hidden_of(m, in, c);
  m.output("loss", mean_loss(output_projection(hidden, token_table(m, c), c), labels, c));
  return m.finish();
}

}  // namespace weft
