// SPDX-License-Identifier: Apache-2.0
#include "models/transformer.h"

#include <cmath>
#include <functional>
#include <limits>

namespace weft {

// softmax(Q K^T / sqrt(d_k)) V
Var attention(const Var& q, const Var& k, const Var& v, const Var& mask,
              const TransformerConfig& c) {
  double scale = 1 / std::sqrt(static_cast<double>(c.head_width()));
  Var scores = matmul(q, transpose(k)) * scale;  // [B, H, T, S]
  if (mask.valid()) scores = select(mask, scores, -std::numeric_limits<double>::infinity());
  return matmul(nn::dropout(softmax(scores), c.attn_dropout), v);
}

// Concat(head_1, ..., head_h) W^O with head_i = Attention(Q W_i^Q, K W_i^K, V W_i^V)
Var multi_head_attention(const Var& x, const Var& memory, const Var& mask,
                         const TransformerConfig& c, bool turn) {
  Dim width = c.heads * c.head_width();
  Var q = nn::split_heads(nn::linear(x, "q", width, c.bias), c.heads);
  Var k = nn::split_heads(nn::linear(memory, "k", width, c.bias), c.heads);
  Var v = nn::split_heads(nn::linear(memory, "v", width, c.bias), c.heads);
  if (turn) {
    q = nn::rotary(q);
    k = nn::rotary(k);
  }
  return nn::linear(nn::merge_heads(attention(q, k, v, mask, c)), "o", c.d_model, c.bias);
}

// max(0, x W_1 + b_1) W_2 + b_2
Var feed_forward(const Var& x, const TransformerConfig& c) {
  Var hidden = nn::activate(nn::linear(x, "up", c.d_ff, c.bias), c.activation);
  return nn::linear(hidden, "down", c.d_model, c.bias);
}

namespace {

// LayerNorm(x + Dropout(Sublayer(x))), or x + Dropout(Sublayer(LayerNorm(x))).
Var sublayer(const Var& x, const std::string& name, const TransformerConfig& c,
             const std::function<Var(const Var&)>& body) {
  Scope scope = x.scope(name);
  Var y = body(c.norm == Norm::pre ? nn::layer_norm(x, "norm", c.norm_eps, c.bias) : x);
  y = nn::dropout(y, c.dropout);
  if (c.residual) y = x + y;
  return c.norm == Norm::post ? nn::layer_norm(y, "norm", c.norm_eps, c.bias) : y;
}

Var self_attention(const Var& x, const Var& mask, const TransformerConfig& c) {
  const bool turn = c.positions == Positions::rotary;
  return sublayer(x, "attn", c,
                  [&](const Var& in) { return multi_head_attention(in, in, mask, c, turn); });
}

Var feed_forward_sublayer(const Var& x, const TransformerConfig& c) {
  return sublayer(x, "ffn", c, [&](const Var& in) { return feed_forward(in, c); });
}

Var final_norm(const Var& x, const std::string& name, const TransformerConfig& c) {
  return c.norm == Norm::pre ? nn::layer_norm(x, name + ".norm", c.norm_eps, c.bias) : x;
}

Var logits_of(ModelBuilder& m, const Var& src, const Var& tgt, const TransformerConfig& c) {
  Var source_table = nn::embedding(m, c.tied ? "embedding" : "source", c.vocab, c.d_model, c.dtype);
  Var target_table = nn::embedding(m, c.tied ? "embedding" : "target", c.vocab, c.d_model, c.dtype);
  Var source_mask = nn::padding_mask_of(src, c.pad);
  Var memory = encoder(embed(src, source_table, "encoder.embed", c), "encoder", source_mask, c);
  Var y = decoder(embed(tgt, target_table, "decoder.embed", c), "decoder",
                  causal_and_padding_mask(tgt, c), memory, source_mask, c);
  return output_projection(y, target_table, c);
}

}  // namespace

Var encoder(Var x, const std::string& name, const Var& mask, const TransformerConfig& c) {
  for (int64_t i = 0; i < c.encoder_layers; ++i) {
    Scope scope = x.scope(cat(name, ".", i));
    x = self_attention(x, mask, c);
    x = feed_forward_sublayer(x, c);
  }
  return final_norm(x, name, c);
}

Var decoder(Var x, const std::string& name, const Var& mask, const Var& memory,
            const Var& memory_mask, const TransformerConfig& c) {
  for (int64_t i = 0; i < c.decoder_layers; ++i) {
    Scope scope = x.scope(cat(name, ".", i));
    x = self_attention(x, mask, c);
    x = sublayer(x, "cross", c,
                 [&](const Var& in) { return multi_head_attention(in, memory, memory_mask, c); });
    x = feed_forward_sublayer(x, c);
  }
  return final_norm(x, name, c);
}

Var embed(const Var& ids, const Var& table, const std::string& name, const TransformerConfig& c) {
  if (!ids.valid()) return ids;
  ModelBuilder& m = *ids.builder();
  Scope scope = m.scope(name);
  Dim length = ids.dim(-1);
  Var x = gather(table, ids);
  if (c.scale_embedding) x = x * std::sqrt(static_cast<double>(c.d_model));
  if (c.positions == Positions::sinusoidal) {
    x = x + nn::sinusoidal_positions(m, length, c.d_model, c.dtype);
  } else if (c.positions == Positions::learned) {
    x = x + nn::learned_positions(m, "positions", length, c.max_length, c.d_model, c.dtype);
  }
  return nn::dropout(x, c.dropout);
}

Var causal_and_padding_mask(const Var& ids, const TransformerConfig& c) {
  if (!ids.valid()) return ids;
  Dim length = ids.dim(-1);
  return causal_mask(*ids.builder(), length, length) && nn::padding_mask_of(ids, c.pad);
}

Var output_projection(const Var& x, const Var& table, const TransformerConfig& c) {
  Scope scope = x.scope("output");
  return c.tied ? matmul(x, transpose(table)) : nn::linear(x, "projection", c.vocab, false);
}

namespace {

// For each label; what stands where a label does not count does not matter.
Var losses_of(const Var& logits, const Var& labels, const TransformerConfig& c) {
  switch (c.loss) {
    case Loss::cross_entropy:
      return cross_entropy(logits, labels, c.label_smoothing, c.ignore_label);
    case Loss::focal: return focal(logits, labels, c.focal_gamma, c.ignore_label);
    case Loss::mse: {
      Var difference = logits - one_hot(labels, logits.dim(-1), logits.dtype());
      return mean(difference * difference, {-1});
    }
  }
  return {};
}

}  // namespace

Var mean_loss(const Var& logits, const Var& labels, const TransformerConfig& c) {
  Scope scope = logits.scope("loss");
  Var losses = losses_of(logits, labels, c);
  return nn::mean_where(ne(labels, static_cast<double>(c.ignore_label)), losses);
}

void add_decoder_graphs(ModelBuilder& m, const std::string& name, const Type& source,
                        const Type& target, const TransformerConfig& c, LogitsFn logits) {
  m.begin_graph("forward");
  Var in = m.input(name, source);
  m.output("logits", logits(m, in, m.input("tgt", target), c));

  m.begin_graph("loss");
  in = m.input(name, source);
  Var tgt = m.input("tgt", target);
  Var labels = m.input("labels", target);
  if (c.uses_dropout()) m.enable_dropout();
  m.output("loss", mean_loss(logits(m, in, tgt, c), labels, c));
}

Result<Module> transformer(const TransformerConfig& c) {
  WEFT_TRY_STATUS(check(c));
  ModelBuilder m(c.name);
  Dim batch = m.dim("B", 1, kMaxBatch);
  Type source{DType::i32, {batch, m.dim("S", 1, c.max_length)}};
  Type target{DType::i32, {batch, m.dim("T", 1, c.max_length)}};
  add_decoder_graphs(m, "src", source, target, c, logits_of);
  return m.finish();
}

}  // namespace weft
