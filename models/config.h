// TransformerConfig: everything that may be chosen about a model of the zoo.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "frontend/nn.h"

namespace weft {

enum class Norm : uint8_t {
  post,  // normalise after the residual sum, as the paper does
  pre,   // normalise what a sub-layer reads; one more norm at the end of each stack
  none,
};

enum class Positions : uint8_t {
  sinusoidal,
  learned,
  rotary,  // turns queries and keys of self-attention
  none,
};

enum class Loss : uint8_t {
  cross_entropy,
  focal,
  mse,  // of the logits to 1 for the label and 0 for the others, averaged over classes
};

enum class Pooling : uint8_t {
  token,  // a class token that attends to the patches, as the paper has it
  mean,   // of the patches
};

inline constexpr int64_t kMaxBatch = 65536;  // upper bound of the symbol B

// Each family reads what concerns it. The defaults are those of transformer-base.
struct TransformerConfig {
  std::string name = "transformer";  // of the module

  int64_t d_model = 512;       // width of the residual stream
  int64_t encoder_layers = 6;  // the only stack of gpt, bert, vit and sentiment
  int64_t decoder_layers = 6;
  int64_t heads = 8;
  int64_t d_k = 0;      // width of a head; 0 = d_model / heads
  int64_t d_ff = 2048;  // hidden width of the feed-forward layers
  nn::Activation activation = nn::Activation::relu;

  int64_t vocab = 37000;        // shared by source and target
  bool tied = true;             // one table for source, target and output
  bool scale_embedding = true;  // by sqrt(d_model)
  Positions positions = Positions::sinusoidal;
  int64_t max_length = 1024;  // of a sequence; the number of learned positions

  Norm norm = Norm::post;
  double norm_eps = 1e-5;
  bool bias = true;  // of projections and norms in layers
  bool residual = true;

  double dropout = 0.1;       // on embeddings and on what each sub-layer adds
  double attn_dropout = 0.1;  // on attention weights

  Loss loss = Loss::cross_entropy;
  double label_smoothing = 0.1;  // of cross_entropy
  double focal_gamma = 2;
  int64_t pad = 0;           // token that nobody attends to
  int64_t ignore_label = 0;  // label that does not count in the loss

  int64_t token_types = 2;        // bert: kinds of segments
  int64_t classes = 2;            // vit, sentiment
  int64_t head_hidden = 128;      // sentiment: hidden width of the classifier
  int64_t image_height = 224;     // vit
  int64_t image_width = 224;      // vit
  int64_t image_channels = 3;     // vit
  int64_t patch_size = 16;        // vit: side of a patch; divides height and width
  int64_t patch_overlap = 0;      // vit: what a patch takes of its neighbours, on each side
  int64_t stem_layers = 0;        // vit: 3x3 convolutions that read the image before the patches do
  int64_t stem_width = 32;        // vit: their channels
  Pooling pool = Pooling::token;  // vit: what the head reads
  int64_t features = 36;          // captioning: vectors per image
  int64_t feature_width = 2048;   // captioning

  DType dtype = DType::f32;  // of parameters and activations; f64 for exact comparisons

  int64_t head_width() const { return d_k != 0 || heads == 0 ? d_k : d_model / heads; }
  bool uses_dropout() const { return dropout > 0 || attn_dropout > 0; }
};

// Whether the sizes and rates make a model; says which one does not.
Status check(const TransformerConfig& config);

}  // namespace weft
