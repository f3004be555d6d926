// SPDX-License-Identifier: Apache-2.0
#include "driver/decode/model.h"

#include "driver/decode/derive.h"
#include "driver/train/checkpoint.h"
#include "driver/train/run_folder.h"

namespace weft::decode {
namespace {

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

Result<std::unique_ptr<DecodeModel>> make_model(train::TrainOptions model,
                                                const OpenOptions& options) {
  auto made = std::make_unique<DecodeModel>();
  made->options = std::move(model);
  WEFT_TRY(Module module, train::build_plain(made->options));
  WEFT_TRY(made->graphs,
           decode_graphs(std::move(module), {.graph = "forward", .weights = options.weights}));
  WEFT_TRY(made->device, train::open_device(made->graphs.module, options.device));
  return made;
}

Result<std::unique_ptr<DecodeModel>> open_run(const std::string& folder, data::TaskKind wanted,
                                              const OpenOptions& options) {
  WEFT_TRY(train::RunFolder run, train::RunFolder::open(folder));
  WEFT_TRY(train::TrainOptions trained, run.read_config());
  WEFT_TRY_STATUS(check_kind(folder, trained.task.kind, wanted));
  WEFT_TRY(std::string weights, train::weights_of_run(folder));
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

}  // namespace weft::decode
