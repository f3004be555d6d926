// SPDX-License-Identifier: Apache-2.0
#include "models/config.h"

namespace weft {
namespace {

// Far beyond every model that fits a machine, and small enough for exact arithmetic on sizes.
constexpr int64_t kMaxSize = int64_t{1} << 24;
constexpr int64_t kMaxLayers = 1024;

struct Range {
  const char* name;
  int64_t value;
  int64_t low;
  int64_t high;
};

Status check_sizes(const TransformerConfig& c) {
  const Range ranges[] = {
      {"d_model", c.d_model, 1, kMaxSize},
      {"encoder_layers", c.encoder_layers, 0, kMaxLayers},
      {"decoder_layers", c.decoder_layers, 0, kMaxLayers},
      {"heads", c.heads, 1, kMaxSize},
      {"d_k", c.d_k, 0, kMaxSize},
      {"d_ff", c.d_ff, 1, kMaxSize},
      {"vocab", c.vocab, 1, kMaxSize},
      {"max_length", c.max_length, 1, kMaxSize},
      {"token_types", c.token_types, 1, kMaxSize},
      {"classes", c.classes, 1, kMaxSize},
      {"head_hidden", c.head_hidden, 1, kMaxSize},
      {"image_height", c.image_height, 1, kMaxSize},
      {"image_width", c.image_width, 1, kMaxSize},
      {"image_channels", c.image_channels, 1, kMaxSize},
      {"patch_size", c.patch_size, 1, kMaxSize},
      {"patch_overlap", c.patch_overlap, 0, c.patch_size},
      {"stem_layers", c.stem_layers, 0, kMaxLayers},
      {"stem_width", c.stem_width, 1, kMaxSize},
      {"features", c.features, 1, kMaxSize},
      {"feature_width", c.feature_width, 1, kMaxSize},
  };
  for (const Range& range : ranges) {
    if (range.value >= range.low && range.value <= range.high) continue;
    return error({}, range.name, " is ", range.value, ", expected ", range.low, " to ", range.high);
  }
  return ok();
}

}  // namespace

Status check(const TransformerConfig& c) {
  WEFT_TRY_STATUS(check_sizes(c));
  if (c.d_k == 0 && c.d_model % c.heads != 0) {
    return error({}, "d_model ", c.d_model, " is not a multiple of ", c.heads, " heads")
        .hint(cat("set d_k, or d_model to ", (c.d_model / c.heads + 1) * c.heads));
  }
  if (c.image_height % c.patch_size != 0 || c.image_width % c.patch_size != 0) {
    return error({}, "an image of ", c.image_height, "x", c.image_width,
                 " cannot be cut into patches of ", c.patch_size, "x", c.patch_size)
        .hint("give a side that divides both: --patch 2");
  }
  if (!is_float(c.dtype)) return error({}, "dtype ", name(c.dtype), " is not a float type");
  if (c.positions == Positions::rotary && c.head_width() % 2 != 0) {
    return error({}, "rotary positions need heads of even width, not ", c.head_width());
  }
  if (!(c.focal_gamma >= 0)) return error({}, "focal_gamma ", c.focal_gamma, " is negative");
  for (double rate : {c.dropout, c.attn_dropout, c.label_smoothing}) {
    if (!(rate >= 0 && rate < 1)) {
      return error({}, "rate ", rate, " is not in [0, 1)").hint("use a value such as 0.1");
    }
  }
  return ok();
}

}  // namespace weft
