// SPDX-License-Identifier: Apache-2.0
#include "tools/train_flags.h"

#include <algorithm>
#include <charconv>

#include "models/zoo.h"

namespace weft::cli {
namespace {

using train::TrainOptions;

void add_data_flags(CLI::App* c, TrainFlags& f) {
  const char* group = "Data";
  c->add_option("--src", f.train.source, "sentences, one a line; may be gzipped")->group(group);
  c->add_option("--tgt", f.train.target, "their translations")->group(group);
  c->add_option("--valid-src", f.valid.source, "to validate with; else the last 10% is held out")
      ->group(group);
  c->add_option("--valid-tgt", f.valid.target, "")->group(group);
  c->add_option("--text", f.train.text, "text for a language model")->group(group);
  c->add_option("--valid-text", f.valid.text, "")->group(group);
  c->add_option("--csv", f.train.table, "a table with a header: CSV or TSV")->group(group);
  c->add_option("--valid-csv", f.valid.table, "")->group(group);
  c->add_option("--label-column", f.label_column, "name of the column to learn")->group(group);
  c->add_option("--text-column", f.text_column, "name of the column to read")->group(group);
  c->add_option("--image", f.image, "the other columns are the pixels of an image")
      ->type_name("HxW")
      ->group(group);
  c->add_option("--tokenizer", f.tokenizer, "char, bpe or unigram")
      ->check(CLI::IsMember({"char", "bpe", "unigram"}))
      ->group(group);
  c->add_option("--vocab-size", f.vocab, "subwords")->group(group);
  c->add_option("--context", f.context, "longest sequence")->group(group);
  c->add_option("--batch", f.batch, "examples in a batch")->group(group);
  c->add_option("--max-tokens", f.max_tokens, "padded tokens in a batch")->group(group);
}

void add_model_flags(CLI::App* c, TrainFlags& f) {
  const char* group = "Model";
  c->add_option("--d-model", f.d_model, "width")->group(group);
  c->add_option("--layers", f.layers, "of each stack")->group(group);
  c->add_option("--heads", f.heads, "of attention")->group(group);
  c->add_option("--d-k", f.d_k, "width of a head")->group(group);
  c->add_option("--d-ff", f.d_ff, "hidden width of feed-forward layers")->group(group);
  c->add_option("--patch", f.patch, "side of a patch of an image")->group(group);
  c->add_option("--dropout", f.dropout, "of what sub-layers add")->group(group);
  c->add_option("--attn-dropout", f.attn_dropout, "of attention weights")->group(group);
  c->add_option("--norm", f.norm, "")->check(CLI::IsMember({"pre", "post", "none"}))->group(group);
  c->add_flag("--no-residual", f.no_residual, "sub-layers stand alone")->group(group);
  c->add_option("--pos", f.positions, "positions")
      ->check(CLI::IsMember({"sinusoidal", "learned", "rope", "none"}))
      ->group(group);
  c->add_flag("--tie-embeddings,!--no-tie-embeddings", f.tied, "one table for tokens and output")
      ->group(group);
  c->add_flag("--bias,!--no-bias", f.bias, "biases in layers")->group(group);
  c->add_option("--loss", f.loss, "")->check(CLI::IsMember({"ce", "mse", "focal"}))->group(group);
  c->add_option("--label-smoothing", f.label_smoothing, "of ce")->group(group);
  c->add_option("--focal-gamma", f.focal_gamma, "of focal")->group(group);
}

void add_step_flags(CLI::App* c, TrainFlags& f) {
  const char* group = "Steps";
  c->add_option("--optimizer", f.optimizer, "")
      ->check(CLI::IsMember({"adam", "adamw", "sgd"}))
      ->group(group);
  c->add_option("--beta1", f.beta1, "of adam and adamw")->group(group);
  c->add_option("--beta2", f.beta2, "of adam and adamw")->group(group);
  c->add_option("--eps", f.eps, "of adam and adamw")->group(group);
  c->add_option("--momentum", f.momentum, "of sgd")->group(group);
  c->add_option("--weight-decay", f.weight_decay, "decoupled with adamw; spares biases and norms")
      ->group(group);
  c->add_option("--clip", f.clip, "largest norm of all gradients; 0: any")->group(group);
  c->add_option("--accumulate", f.accumulate, "batches in a step")->group(group);
  c->add_option("--schedule", f.schedule, "")
      ->check(CLI::IsMember({"noam", "cosine", "linear", "constant"}))
      ->group(group);
  c->add_option("--lr", f.lr, "the peak, reached at the end of the warm-up")->group(group);
  c->add_option("--min-lr", f.min_lr, "where cosine and linear end")->group(group);
  c->add_option("--warmup", f.warmup, "steps")->group(group);
}

void add_run_flags(CLI::App* c, TrainFlags& f) {
  const char* group = "Run";
  c->add_option("--steps", f.steps, "")->group(group);
  c->add_option("--epochs", f.epochs, "in place of steps")->group(group);
  c->add_option("--patience", f.patience, "stops after so many evaluations without a better one")
      ->group(group);
  c->add_option("--average", f.average, "averages the last checkpoints in the end")->group(group);
  c->add_option("--keep-last", f.keep_last, "checkpoints")->group(group);
  c->add_option("--eval-every", f.eval_every, "steps")->group(group);
  c->add_option("--save-every", f.save_every, "steps")->group(group);
  c->add_option("--log-every", f.log_every, "steps")->group(group);
  c->add_flag("--stop-if-not-finite", f.stop_if_not_finite, "else such a step is skipped")
      ->group(group);
}

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

// The largest side that divides the image and leaves at least four patches in a row.
int64_t default_patch(int64_t size) {
  int64_t best = 1;
  for (int64_t side = 1; side * 4 <= size; ++side) {
    if (size % side == 0) best = side;
  }
  return best;
}

Status apply_image(const TrainFlags& f, TrainOptions& o) {
  WEFT_TRY(auto size, parse_image(f.image));
  if (size.first != size.second) {
    return error({}, "--image ", f.image, ": only square images can be trained on yet");
  }
  o.task.image_height = size.first;
  o.task.image_width = size.second;
  o.model.image_size = size.first;
  o.model.image_channels = o.task.image_channels;
  o.model.patch_size = f.patch ? *f.patch : default_patch(size.first);
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
  t.context = t.max_length = o.model.max_length;
  t.ignore_label = o.model.ignore_label;
  t.seed = o.seed;
  return ok();
}

}  // namespace

void add_train_flags(CLI::App* command, TrainFlags& flags) {
  command->add_option("model", flags.model, "a preset; one that fits the data if left out");
  command->add_option("--out", flags.out, "folder of the run");
  command->add_option("--resume", flags.resume, "goes on with the run in this folder");
  command->add_flag("--dry-run", flags.dry_run, "only tells memory and time");
  add_data_flags(command, flags);
  add_model_flags(command, flags);
  add_step_flags(command, flags);
  add_run_flags(command, flags);
}

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
  if (wanted != nullptr) return error({}, "preset ", o.preset, " needs data").hint(wanted);
  if (g.pair + g.text + g.table > 1) {
    return error({}, "more than one kind of data is given").hint("leave all but one out");
  }
  return ok();
}

}  // namespace

Result<TrainOptions> train_options(const TrainFlags& f, const Common& common) {
  WEFT_TRY(std::string preset, default_preset(f));
  constexpr int64_t kSmallImage = 32;
  if (preset == "vit" && !f.image.empty()) {
    WEFT_TRY(auto size, parse_image(f.image));
    if (size.first < kSmallImage) {
      note(common, "images below 32x32: training vit-tiny, 4 layers of width 64, in place of vit");
      preset = "vit-tiny";
    }
  }
  WEFT_TRY(TrainOptions o, train::default_options(preset));
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
