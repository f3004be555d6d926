// ViT: an image as a sequence of patches behind a class token. Small images may do without the
// token and have convolutions before the patches, as in https://arxiv.org/abs/2106.14881.
// SPDX-License-Identifier: Apache-2.0
#include "models/families.h"
#include "models/transformer.h"

namespace weft {
namespace {

// 3x3 convolutions that keep the size, each normalised over its channels:
// [B, height, width, stem_width].
Var stem(Var x, const TransformerConfig& c) {
  for (int64_t i = 0; i < c.stem_layers; ++i) {
    Scope scope = x.scope(cat("stem.", i));
    x = patches(pad(x, {0, 1, 1, 0}, {0, 1, 1, 0}), {3, 3}, {1, 1});
    x = nn::layer_norm(nn::linear(x, "conv", c.stem_width), "norm", c.norm_eps, c.bias);
    x = nn::activate(x, c.activation);
  }
  return x;
}

// The image in patches that reach into their neighbours, as pixels of 0 do at the border:
// [B, height / patch_size, width / patch_size, pixels of a patch].
Var overlapping_patches(const Var& image, const TransformerConfig& c) {
  const int64_t more = c.patch_overlap;
  const int64_t side = c.patch_size + 2 * more;
  Var in = more == 0 ? image : pad(image, {0, more, more, 0}, {0, more, more, 0});
  return patches(in, {side, side}, {c.patch_size, c.patch_size});
}

Var logits_of(ModelBuilder& m, const Var& image, const TransformerConfig& c) {
  Dim batch = image.dim(0);
  int64_t count = (c.image_height / c.patch_size) * (c.image_width / c.patch_size);
  Var x = overlapping_patches(stem(image, c), c);
  x = nn::linear(reshape(x, {batch, count, x.dim(-1)}), "patches", c.d_model);
  if (c.pool == Pooling::token) {
    Var token = nn::embedding(m, "class_token", 1, c.d_model, c.dtype);
    x = concat({broadcast(token, {batch, 1, c.d_model}), x}, 1);
  }
  x = x + nn::embedding(m, "positions", x.dim(1), c.d_model, c.dtype);
  x = encoder(nn::dropout(x, c.dropout), "layers", Var(), c);
  x = c.pool == Pooling::mean ? mean(x, {1}) : reshape(slice_axis(x, 1, 0, 1), {batch, c.d_model});
  return nn::linear(x, "head", c.classes);
}

}  // namespace

Result<Module> vit(const TransformerConfig& c) {
  WEFT_TRY_STATUS(check(c));
  ModelBuilder m(c.name);
  Dim batch = m.dim("B", 1, kMaxBatch);
  Type pixels{c.dtype, {batch, c.image_height, c.image_width, c.image_channels}};

  m.begin_graph("forward");
  m.output("logits", logits_of(m, m.input("image", pixels), c));

  m.begin_graph("loss");
  Var image = m.input("image", pixels);
  Var labels = m.input("labels", {DType::i32, {batch}});
  if (c.uses_dropout()) m.enable_dropout();
  m.output("loss", mean_loss(logits_of(m, image, c), labels, c));
  return m.finish();
}

}  // namespace weft
