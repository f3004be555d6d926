// SPDX-License-Identifier: Apache-2.0
#include "driver/decode/model.h"

#include <filesystem>

#include "driver/decode/derive.h"
#include "driver/model_file.h"
#include "driver/train/checkpoint.h"
#include "driver/train/run_folder.h"

namespace weft::decode {
namespace {

namespace fs = std::filesystem;

struct KindWords {
  const char* trained_on;
  const char* command;
};

KindWords words(data::TaskKind kind) {
  switch (kind) {
    case data::TaskKind::translation: return {"pairs of sentences", "weft translate"};
    case data::TaskKind::language_model: return {"text to continue", "weft generate"};
    case data::TaskKind::text_classification: return {"texts with labels", "weft eval"};
    case data::TaskKind::image_classification: break;
  }
  return {"images with labels", "weft eval"};
}

}  // namespace

Status check_kind(const std::string& folder, data::TaskKind found, data::TaskKind wanted) {
  if (found == wanted) return ok();
  return error({}, folder, " was trained on ", words(found).trained_on, ", and ",
               words(wanted).command, " takes a run that was trained on ", words(wanted).trained_on)
      .hint(cat(words(found).command, " ", folder));
}

namespace {

Result<std::unique_ptr<DecodeModel>> make_from(Module module, train::TrainOptions model,
                                               const OpenOptions& options) {
  auto made = std::make_unique<DecodeModel>();
  made->options = std::move(model);
  WEFT_TRY(made->graphs, decode_graphs(std::move(module), {.graph = "forward",
                                                           .weights = options.weights,
                                                           .scores = options.scores,
                                                           .beams = options.beams}));
  made->beams = options.beams;
  WEFT_TRY(made->device, train::open_device(made->graphs.module, options.device));
  return made;
}

Result<std::unique_ptr<DecodeModel>> open_folder(const std::string& folder,
                                                 const std::string& given_weights,
                                                 data::TaskKind wanted,
                                                 const OpenOptions& options) {
  WEFT_TRY(train::RunFolder run, train::RunFolder::open(folder));
  WEFT_TRY(train::TrainOptions trained, run.read_config());
  WEFT_TRY_STATUS(check_kind(folder, trained.task.kind, wanted));
  std::string weights = given_weights;
  if (weights.empty()) {
    WEFT_TRY(weights, train::weights_of_run(folder));
  }
  WEFT_TRY(std::unique_ptr<data::Task> task, data::open_task(folder));
  if (trained.model.vocab != task->tokenizer()->vocab()) {
    return error({}, folder, ": the model has ", trained.model.vocab, " tokens, the tokenizer ",
                 task->tokenizer()->vocab());
  }
  WEFT_TRY(std::unique_ptr<DecodeModel> model, make_model(std::move(trained), options));
  model->task = std::move(task);
  WEFT_TRY_STATUS(train::load_parameters(weights, model->graphs.module.storage, *model->device));
  return model;
}

// The tokenizer that was given, or the one beside the model.
Result<data::TokenizerPtr> find_tokenizer(const ModelFiles& files) {
  if (!files.tokenizer.empty()) return data::open_tokenizer_file(files.tokenizer);
  if (fs::is_regular_file(files.model)) {
    for (const char* name : {data::kSubwordsFile, data::kCharactersFile}) {
      const fs::path beside = fs::path(files.model).parent_path() / name;
      if (fs::is_regular_file(beside)) return data::open_tokenizer_file(beside.string());
    }
  }
  return error({}, files.model, " has no tokenizer, so there is no text")
      .hint(cat("--tokenizer FILE: ", data::kSubwordsFile, " or ", data::kCharactersFile,
                " of a run, or any sentencepiece model"));
}

Status check_reads(const std::string& model, const DecodeGraphs& graphs, data::TaskKind wanted) {
  const bool translates = wanted == data::TaskKind::translation;
  if (translates == graphs.has_source) return ok();
  return error({}, model, graphs.has_source ? " reads a source" : " reads no source", ", and ",
               words(wanted).command, " takes a model that ",
               translates ? "translates one" : "continues a text");
}

// The vocabulary is the last axis of the logits.
int64_t vocab_of(const DecodeGraphs& graphs) {
  const Graph& decode = *graphs.module.find_graph(kDecode);
  return decode.type(decode.outputs[0].value).shape.back().constant();
}

}  // namespace

Result<std::unique_ptr<DecodeModel>> make_model(train::TrainOptions model,
                                                const OpenOptions& options) {
  WEFT_TRY(Module module, train::build_plain(model));
  return make_from(std::move(module), std::move(model), options);
}

Result<std::unique_ptr<DecodeModel>> open_run(const std::string& folder, data::TaskKind wanted,
                                              const OpenOptions& options) {
  return open_folder(folder, "", wanted, options);
}

Result<std::unique_ptr<DecodeModel>> open_model(const ModelFiles& files, data::TaskKind wanted,
                                                const OpenOptions& options) {
  if (fs::is_directory(files.model)) {
    if (files.tokenizer.empty()) return open_folder(files.model, files.weights, wanted, options);
    return error({}, files.model, " has its own tokenizer").hint("leave out --tokenizer");
  }
  WEFT_TRY(Module module, load_model(files.model));
  const std::string weights = weights_file(module, files.model, files.weights);
  WEFT_TRY(std::unique_ptr<DecodeModel> model, make_from(std::move(module), {}, options));
  WEFT_TRY_STATUS(check_reads(files.model, model->graphs, wanted));
  model->options.model.vocab = vocab_of(model->graphs);
  WEFT_TRY(model->tokenizer_of_file, find_tokenizer(files));
  if (model->tokenizer().vocab() != model->vocab()) {
    return error({}, files.model, ": the model has ", model->vocab(), " tokens, the tokenizer ",
                 model->tokenizer().vocab());
  }
  if (weights.empty()) {
    model->notes.push_back(files.model + " has initial values: give --weights FILE for others");
    return model;
  }
  WEFT_TRY_STATUS(train::load_parameters(weights, model->graphs.module.storage, *model->device));
  return model;
}

}  // namespace weft::decode
