// What the flags of `weft train` make of a preset's recipe.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <filesystem>

#include "driver/train/module_model.h"
#include "models/zoo.h"
#include "tools/train_flags.h"

namespace weft::cli {
namespace {

using train::TrainOptions;

template <class T>
void set(const std::optional<T>& flag, T& value) {
  if (flag) value = *flag;
}

// The value of an enum by the place of its name.
template <class T>
void set_choice(const std::optional<std::string>& flag, std::initializer_list<const char*> names,
                T& value) {
  if (!flag) return;
  value = static_cast<T>(std::ranges::find(names, *flag) - names.begin());
}

void apply_model(const TrainFlags& f, TransformerConfig& m) {
  set(f.d_model, m.d_model);
  set(f.layers, m.encoder_layers);
  set(f.layers, m.decoder_layers);
  set(f.heads, m.heads);
  set(f.d_k, m.d_k);
  set(f.d_ff, m.d_ff);
  set(f.dropout, m.dropout);
  set(f.attn_dropout, m.attn_dropout);
  if (f.tied != 0) m.tied = f.tied > 0;
  if (f.bias != 0) m.bias = f.bias > 0;
  if (f.no_residual) m.residual = false;
  set_choice(f.norm, {"post", "pre", "none"}, m.norm);
  set_choice(f.positions, {"sinusoidal", "learned", "rope", "none"}, m.positions);
  set_choice(f.loss, {"ce", "focal", "mse"}, m.loss);
  set(f.label_smoothing, m.label_smoothing);
  set(f.focal_gamma, m.focal_gamma);
  set(f.patch_overlap, m.patch_overlap);
  set(f.stem_layers, m.stem_layers);
  set(f.stem_width, m.stem_width);
  set_choice(f.pool, {"token", "mean"}, m.pool);
  set(f.context, m.max_length);
}

// What another optimizer or schedule makes of the recipe's numbers, unless they are given too.
void apply_steps(const TrainFlags& f, TrainOptions& o) {
  if (f.optimizer && *f.optimizer != o.optimizer) {
    o.optimizer = *f.optimizer;
    o.weight_decay = 0;
  }
  if (f.schedule) {
    o.schedule = *train::parse_schedule(*f.schedule);
    if (o.schedule == train::ScheduleKind::noam) o.lr = 0;
  }
  if (f.lr && o.lr > 0) o.min_lr *= *f.lr / o.lr;
  set(f.lr, o.lr);
  set(f.min_lr, o.min_lr);
  set(f.beta1, o.beta1);
  set(f.beta2, o.beta2);
  set(f.eps, o.eps);
  set(f.momentum, o.momentum);
  set(f.weight_decay, o.weight_decay);
  set(f.clip, o.clip);
  set(f.accumulate, o.accumulate);
  set(f.warmup, o.warmup);
}

void apply_run(const TrainFlags& f, TrainOptions& o) {
  if (f.steps) o.epochs = 0;
  set(f.steps, o.steps);
  set(f.epochs, o.epochs);
  set(f.patience, o.patience);
  set(f.average, o.average);
  o.keep_last = std::max(o.keep_last, o.average);
  set(f.keep_last, o.keep_last);
  set(f.eval_every, o.eval_every);
  if (f.eval_every && !f.save_every) o.save_every = o.eval_every;
  set(f.save_every, o.save_every);
  set(f.log_every, o.log_every);
  if (f.stop_if_not_finite) o.stop_if_not_finite = true;
}

Result<std::pair<int64_t, int64_t>> parse_image(const std::string& text) {
  int64_t height = 0;
  int64_t width = 0;
  const char* end = text.data() + text.size();
  auto first = std::from_chars(text.data(), end, height);
  if (first.ec == std::errc() && first.ptr != end && *first.ptr == 'x') {
    auto second = std::from_chars(first.ptr + 1, end, width);
    if (second.ec == std::errc() && second.ptr == end && height > 0 && width > 0) {
      return std::pair(height, width);
    }
  }
  return error({}, "--image ", text, " is not a height and a width").hint("--image 8x8");
}

// The largest side that divides the image and leaves at least four patches in a row and a column.
int64_t default_patch(int64_t height, int64_t width) {
  int64_t best = 1;
  for (int64_t side = 1; side * 4 <= std::min(height, width); ++side) {
    if (height % side == 0 && width % side == 0) best = side;
  }
  return best;
}

Status apply_image(const TrainFlags& f, TrainOptions& o) {
  WEFT_TRY(auto size, parse_image(f.image));
  o.task.image_height = size.first;
  o.task.image_width = size.second;
  if (!o.module.empty()) {
    o.task.image_channels = o.model.image_channels;
    if (o.model.image_height == size.first && o.model.image_width == size.second) return ok();
    return error({}, "--image ", f.image, ": the module takes images of ", o.model.image_height,
                 "x", o.model.image_width);
  }
  o.model.image_height = size.first;
  o.model.image_width = size.second;
  o.model.image_channels = o.task.image_channels;
  o.model.patch_size = f.patch ? *f.patch : default_patch(size.first, size.second);
  return ok();
}

Status apply_data(const TrainFlags& f, TrainOptions& o) {
  data::TaskOptions& t = o.task;
  t.train = f.train;
  t.valid = f.valid;
  t.label_column = f.label_column;
  t.text_column = f.text_column;
  if (f.tokenizer) t.tokenizer = *data::parse_tokenizer_kind(*f.tokenizer);
  set(f.vocab, t.vocab);
  t.exact_vocab = f.vocab.has_value();
  if (f.batch || f.max_tokens) {
    t.batch = f.batch.value_or(0);
    t.max_tokens = f.max_tokens.value_or(0);
  }
  set(f.word_dropout, t.word_dropout);
  if (f.augment) {
    WEFT_TRY(t.augment, data::parse_augment(*f.augment));
  }
  t.context = t.max_length = o.model.max_length;
  t.ignore_label = o.model.ignore_label;
  t.seed = o.seed;
  return ok();
}

}  // namespace

namespace {

struct Given {
  bool pair, text, table;
};

Given given(const TrainFlags& f) {
  return {!f.train.source.empty() || !f.train.target.empty(), !f.train.text.empty(),
          !f.train.table.empty()};
}

}  // namespace

Result<std::string> default_preset(const TrainFlags& f) {
  if (!f.model.empty()) return f.model;
  const Given g = given(f);
  if (g.pair) return std::string("transformer-tiny");
  if (g.text) return std::string("gpt-char");
  if (g.table) return std::string(f.image.empty() ? "sentiment" : "vit-tiny");
  return error({}, "there is nothing to train on")
      .hint("--src F --tgt F, --text F, or --csv F with --label-column C");
}

namespace {

// The files are those that the model reads.
Status check_files(const TrainFlags& f, const TrainOptions& o) {
  const Given g = given(f);
  const char* wanted = nullptr;
  switch (o.task.kind) {
    case data::TaskKind::translation:
      if (f.train.source.empty() || f.train.target.empty()) wanted = "--src F --tgt F";
      break;
    case data::TaskKind::language_model:
      if (!g.text) wanted = "--text F";
      break;
    case data::TaskKind::text_classification:
      if (!g.table || f.label_column.empty() || f.text_column.empty()) {
        wanted = "--csv F --label-column C --text-column C";
      }
      break;
    case data::TaskKind::image_classification:
      if (!g.table || f.label_column.empty() || f.image.empty()) {
        wanted = "--csv F --label-column C --image HxW";
      }
      break;
  }
  if (wanted != nullptr) {
    return error({}, o.module.empty() ? "preset " + o.preset : o.module, " needs data")
        .hint(wanted);
  }
  if (g.pair + g.text + g.table > 1) {
    return error({}, "more than one kind of data is given").hint("leave all but one out");
  }
  return ok();
}

}  // namespace

namespace {

data::TaskKind kind_of(const TrainFlags& f) {
  const Given g = given(f);
  if (g.pair) return data::TaskKind::translation;
  if (g.text) return data::TaskKind::language_model;
  return f.image.empty() ? data::TaskKind::text_classification
                         : data::TaskKind::image_classification;
}

// The recipe of what is to be trained: a module's file or a preset.
Result<TrainOptions> recipe(const TrainFlags& f, const Common& common) {
  WEFT_TRY(std::string preset, default_preset(f));
  if (is_module(f)) return train::module_options(f.model, kind_of(f));
  constexpr int64_t kSmallImage = 32;
  if (preset == "vit" && !f.image.empty()) {
    WEFT_TRY(auto size, parse_image(f.image));
    if (std::min(size.first, size.second) < kSmallImage) {
      note(common, "images below 32x32: training vit-tiny, 2 layers of width 64, in place of vit");
      preset = "vit-tiny";
    }
  }
  return train::default_options(preset);
}

}  // namespace

bool is_module(const TrainFlags& f) {
  std::error_code failure;
  const bool named = f.model.ends_with(".weft") || f.model.ends_with(".weftb");
  return named || std::filesystem::is_regular_file(f.model, failure);
}

Result<TrainOptions> train_options(const TrainFlags& f, const Common& common) {
  WEFT_TRY(TrainOptions o, recipe(f, common));
  o.seed = common.seed;
  apply_model(f, o.model);
  apply_steps(f, o);
  apply_run(f, o);
  WEFT_TRY_STATUS(check_files(f, o));
  WEFT_TRY_STATUS(apply_data(f, o));
  if (o.task.kind == data::TaskKind::image_classification) WEFT_TRY_STATUS(apply_image(f, o));
  WEFT_TRY_STATUS(train::check(o));
  return o;
}

}  // namespace weft::cli
