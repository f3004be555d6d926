// SPDX-License-Identifier: Apache-2.0
#include "driver/train/session.h"

#include <algorithm>

namespace weft::train {
namespace {

// What the data decides about the model.
Status fit_model(TrainOptions& options, const data::TaskFacts& facts) {
  const auto classes = static_cast<int64_t>(facts.classes.size());
  if (options.module.empty()) {
    if (facts.vocab > 0) options.model.vocab = facts.vocab;
    if (classes > 0) options.model.classes = classes;
  } else if (facts.vocab > options.model.vocab) {
    return error({}, "the data has ", facts.vocab, " tokens, the module ", options.model.vocab)
        .hint("give the module more, or the data fewer");
  } else if (classes > options.model.classes) {
    return error({}, "the data has ", classes, " classes, the module ", options.model.classes);
  }
  if (facts.longest > options.model.max_length) {
    return error({}, "the data has sequences of ", facts.longest, " tokens, the model takes ",
                 options.model.max_length)
        .hint(cat("--context ", facts.longest));
  }
  return ok();
}

void fit_steps(TrainOptions& options, const data::TaskFacts& facts) {
  if (options.epochs == 0) return;
  options.steps = std::max<int64_t>(
      1, options.epochs * facts.train.batches / std::max<int64_t>(options.accumulate, 1));
}

}  // namespace

Result<std::unique_ptr<Session>> open_session(TrainOptions options, const std::string& folder,
                                              const DeviceOptions& device) {
  auto session = std::make_unique<Session>();
  WEFT_TRY(session->task, data::prepare_task(options.task, folder));
  WEFT_TRY_STATUS(fit_model(options, session->task->facts()));
  WEFT_TRY(session->train, session->task->train_stream());
  WEFT_TRY(session->valid, session->task->valid_stream());
  fit_steps(options, session->task->facts());
  WEFT_TRY_STATUS(check(options));
  WEFT_TRY(Module model, build_model(options));
  TrainRequest request;
  request.loss = {"loss", "loss", {}, ""};
  request.settings = options.settings();
  for (const Layer& layer : layers_of(model.storage)) request.watched.push_back(layer.parameters);
  WEFT_TRY(session->module, differentiate_for(std::move(model), request));
  WEFT_TRY(session->observer, add_observe(session->module, options));
  WEFT_TRY(session->observer.batch, batch_to_observe(*session->task));
  DeviceOptions with_sizes = device;
  with_sizes.sizes = data::largest_sizes(*session->task);
  WEFT_TRY(session->device, open_device(session->module, with_sizes));
  session->options = std::move(options);
  return session;
}

}  // namespace weft::train
