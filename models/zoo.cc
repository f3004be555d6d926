// SPDX-License-Identifier: Apache-2.0
#include "models/zoo.h"

#include "models/families.h"
#include "models/transformer.h"

namespace weft {
namespace {

TransformerConfig encoder_decoder(int64_t layers, int64_t d_model, int64_t d_ff, int64_t heads) {
  return {.d_model = d_model,
          .encoder_layers = layers,
          .decoder_layers = layers,
          .heads = heads,
          .d_ff = d_ff};
}

TransformerConfig tiny() {
  TransformerConfig c = encoder_decoder(4, 128, 256, 4);
  c.vocab = 10000;
  return c;
}

TransformerConfig big() {
  TransformerConfig c = encoder_decoder(6, 1024, 4096, 16);
  c.dropout = 0.3;
  return c;
}

TransformerConfig gpt_config(int64_t layers, int64_t d_model, int64_t heads, int64_t vocab,
                             int64_t context) {
  TransformerConfig c = encoder_decoder(layers, d_model, 4 * d_model, heads);
  c.activation = nn::Activation::gelu_tanh;
  c.vocab = vocab;
  c.scale_embedding = false;
  c.positions = Positions::learned;
  c.max_length = context;
  c.norm = Norm::pre;
  c.label_smoothing = 0;
  c.ignore_label = -100;
  return c;
}

// As nanoGPT's run on a CPU.
TransformerConfig gpt_char() {
  TransformerConfig c = gpt_config(4, 128, 4, 65, 64);
  c.bias = false;
  c.dropout = 0;
  c.attn_dropout = 0;
  return c;
}

TransformerConfig bert_base() {
  TransformerConfig c = encoder_decoder(12, 768, 3072, 12);
  c.activation = nn::Activation::gelu;
  c.vocab = 30522;
  c.positions = Positions::learned;
  c.max_length = 512;
  c.norm_eps = 1e-12;
  c.label_smoothing = 0;
  c.ignore_label = -100;
  return c;
}

TransformerConfig vit_base() {
  TransformerConfig c = encoder_decoder(12, 768, 3072, 12);
  c.activation = nn::Activation::gelu;
  c.norm = Norm::pre;
  c.norm_eps = 1e-6;
  c.dropout = 0;
  c.attn_dropout = 0;
  c.label_smoothing = 0;
  c.ignore_label = -100;
  c.classes = 1000;
  return c;
}

TransformerConfig vit_tiny() {
  TransformerConfig c = vit_base();
  c.d_model = 64;
  c.encoder_layers = 2;
  c.heads = 4;
  c.d_ff = 128;
  c.image_height = c.image_width = 8;
  c.image_channels = 1;
  c.patch_size = 2;
  c.patch_overlap = 1;
  c.stem_layers = 2;
  c.pool = Pooling::mean;
  c.classes = 10;
  c.norm = Norm::post;
  c.dropout = 0.1;
  c.label_smoothing = 0.1;
  return c;
}

TransformerConfig sentiment_config() {
  TransformerConfig c = encoder_decoder(4, 256, 1024, 8);
  c.vocab = 10000;
  c.max_length = 512;
  c.label_smoothing = 0;
  c.ignore_label = -100;
  c.classes = 3;
  return c;
}

TransformerConfig captioning_config() {
  TransformerConfig c = encoder_decoder(6, 512, 2048, 8);
  c.vocab = 10000;
  c.max_length = 128;
  return c;
}

std::vector<Preset> make_presets() {
  const DimBinding translation{{"B", 32}, {"S", 64}, {"T", 64}};
  std::vector<Preset> all = {
      {"transformer-tiny",
       "encoder-decoder, 4+4 layers of width 128, 10,000 shared tokens",
       transformer,
       tiny(),
       {{"B", 128}, {"S", 32}, {"T", 32}}},
      {"transformer-small", "encoder-decoder, 6+6 layers of width 256, 37,000 shared tokens",
       transformer, encoder_decoder(6, 256, 1024, 4), translation},
      {"transformer-base", "the paper's base model: 6+6 layers of width 512, 37,000 shared tokens",
       transformer, encoder_decoder(6, 512, 2048, 8), translation},
      {"transformer-big", "the paper's big model: 6+6 layers of width 1024, dropout 0.3",
       transformer, big(), translation},
      {"gpt-char",
       "causal language model over 65 characters, 4 layers of width 128 without biases, context 64",
       gpt,
       gpt_char(),
       {{"B", 32}, {"T", 64}}},
      {"gpt2",
       "GPT-2 small (124M), 12 layers of width 768, as Hugging Face's gpt2",
       gpt,
       gpt_config(12, 768, 12, 50257, 1024),
       {{"B", 1}, {"T", 1024}}},
      {"bert-base",
       "BERT-base uncased (109M); @forward as Hugging Face's with pooler, @loss by the tied "
       "embedding",
       bert,
       bert_base(),
       {{"B", 8}, {"T", 128}}},
      {"vit",
       "ViT-B/16 for 224x224 images and 1000 classes, as timm's vit_base_patch16_224",
       vit,
       vit_base(),
       {{"B", 8}}},
      {"vit-tiny",
       "ViT for 8x8 grey images and 10 classes, 2 convolutions, 2 layers of width 64",
       vit,
       vit_tiny(),
       {{"B", 64}}},
      {"sentiment",
       "text classifier, encoder of 4 layers of width 256, mean pooling, 3 classes",
       sentiment,
       sentiment_config(),
       {{"B", 32}, {"T", 64}}},
      {"captioning",
       "decoder of 6 layers of width 512 over 36 image features of width 2048",
       captioning,
       captioning_config(),
       {{"B", 32}, {"T", 20}}},
  };
  for (Preset& preset : all) preset.config.name = preset.name;
  return all;
}

}  // namespace

std::span<const Preset> presets() {
  static const std::vector<Preset> kPresets = make_presets();
  return kPresets;
}

const Preset* find_preset(std::string_view name) {
  for (const Preset& preset : presets()) {
    if (preset.name == name) return &preset;
  }
  return nullptr;
}

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const Preset& preset : presets()) names.emplace_back(preset.name);
  return names;
}

int64_t parameter_count(const Module& module) {
  int64_t count = 0;
  for (const Storage& item : module.storage) {
    if (item.kind == Storage::param) count += element_count(item.type.shape).constant();
  }
  return count;
}

}  // namespace weft
