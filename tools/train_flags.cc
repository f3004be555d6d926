// SPDX-License-Identifier: Apache-2.0
#include "tools/train_flags.h"

namespace weft::cli {
namespace {

void add_data_flags(CLI::App* c, TrainFlags& f) {
  const char* group = "Data";
  c->add_option("--src", f.train.source, "sentences, one a line; may be gzipped")->group(group);
  c->add_option("--tgt", f.train.target, "their translations")->group(group);
  c->add_option("--valid-src", f.valid.source, "to validate with; else the last 10% is held out")
      ->group(group);
  c->add_option("--valid-tgt", f.valid.target, "their translations")->group(group);
  c->add_option("--text", f.train.text, "text for a language model")->group(group);
  c->add_option("--valid-text", f.valid.text, "to validate with")->group(group);
  c->add_option("--csv", f.train.table, "a table with a header: CSV or TSV")->group(group);
  c->add_option("--valid-csv", f.valid.table, "to validate with")->group(group);
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
  c->add_option("--word-dropout", f.word_dropout,
                "share of the tokens read that become unknown, in training")
      ->group(group);
  c->add_option("--augment", f.augment,
                "changes images in training, up to: "
                "shift=1,rotate=10,scale=0.1,shear=0.1,elastic=0.1; none")
      ->group(group);
  c->add_option("--batch", f.batch, "examples in a batch")->group(group);
  c->add_option("--max-tokens", f.max_tokens, "padded tokens in a batch")->group(group);
}

void add_model_flags(CLI::App* c, TrainFlags& f) {
  const char* group = kModelGroup;
  c->add_option("--d-model", f.d_model, "width")->group(group);
  c->add_option("--layers", f.layers, "of each stack")->group(group);
  c->add_option("--heads", f.heads, "of attention")->group(group);
  c->add_option("--d-k", f.d_k, "width of a head")->group(group);
  c->add_option("--d-ff", f.d_ff, "hidden width of feed-forward layers")->group(group);
  c->add_option("--patch", f.patch, "side of a patch of an image")->group(group);
  c->add_option("--patch-overlap", f.patch_overlap, "pixels it takes of its neighbours, each side")
      ->group(group);
  c->add_option("--stem-layers", f.stem_layers, "3x3 convolutions before the patches")
      ->group(group);
  c->add_option("--stem-width", f.stem_width, "their channels")->group(group);
  c->add_option("--pool", f.pool, "what classifies an image: a class token or the mean of patches")
      ->check(CLI::IsMember({"token", "mean"}))
      ->group(group);
  c->add_option("--dropout", f.dropout, "of what sub-layers add")->group(group);
  c->add_option("--attn-dropout", f.attn_dropout, "of attention weights")->group(group);
  c->add_option("--norm", f.norm, "where layers are normalised")
      ->check(CLI::IsMember({"pre", "post", "none"}))
      ->group(group);
  c->add_flag("--no-residual", f.no_residual, "sub-layers stand alone")->group(group);
  c->add_option("--pos", f.positions, "positions")
      ->check(CLI::IsMember({"sinusoidal", "learned", "rope", "none"}))
      ->group(group);
  c->add_flag("--tie-embeddings,!--no-tie-embeddings", f.tied, "one table for tokens and output")
      ->group(group);
  c->add_flag("--bias,!--no-bias", f.bias, "biases in layers")->group(group);
  c->add_option("--loss", f.loss, "cross-entropy, squared error or focal")
      ->check(CLI::IsMember({"ce", "mse", "focal"}))
      ->group(group);
  c->add_option("--label-smoothing", f.label_smoothing, "of ce")->group(group);
  c->add_option("--focal-gamma", f.focal_gamma, "of focal")->group(group);
}

void add_step_flags(CLI::App* c, TrainFlags& f) {
  const char* group = "Steps";
  c->add_option("--optimizer", f.optimizer, "what a step does with gradients")
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
  c->add_option("--schedule", f.schedule, "of the learning rate")
      ->check(CLI::IsMember({"noam", "cosine", "linear", "constant"}))
      ->group(group);
  c->add_option("--lr", f.lr, "the peak, reached at the end of the warm-up")->group(group);
  c->add_option("--min-lr", f.min_lr, "where cosine and linear end")->group(group);
  c->add_option("--warmup", f.warmup, "steps")->group(group);
}

void add_run_flags(CLI::App* c, TrainFlags& f) {
  const char* group = "Run";
  c->add_option("--steps", f.steps, "how long")->group(group);
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

}  // namespace

void add_train_flags(CLI::App* command, TrainFlags& flags) {
  command->add_option(
      "model", flags.model,
      "a preset, or a .weft or .weftb file; a preset that fits the data if left out");
  command->add_option("--out", flags.out, "folder of the run");
  command->add_option("--resume", flags.resume, "goes on with the run in this folder");
  command->add_flag("--dry-run", flags.dry_run, "only tells memory and time");
  add_data_flags(command, flags);
  add_model_flags(command, flags);
  add_step_flags(command, flags);
  add_run_flags(command, flags);
}

}  // namespace weft::cli
