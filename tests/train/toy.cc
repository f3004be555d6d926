// SPDX-License-Identifier: Apache-2.0
#include "tests/train/toy.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

namespace weft::train {
namespace {

data::BatchInput ids(int64_t rows, int64_t length) {
  return {
      DType::i32, {rows, length}, std::vector<std::byte>(static_cast<size_t>(rows * length) * 4)};
}

void put(data::BatchInput& input, int64_t at, int64_t value) {
  const auto id = static_cast<int32_t>(value);
  std::memcpy(input.bytes.data() + at * 4, &id, sizeof(id));
}

RunFolder open_folder(const std::string& path, bool fresh) {
  if (!fresh) std::ofstream(path + "/config.json") << "{}";
  Result<RunFolder> folder = fresh ? RunFolder::create(path) : RunFolder::open(path);
  EXPECT_TRUE(folder.ok()) << render(folder.diagnostics());
  return std::move(folder).value();
}

}  // namespace

Result<const data::Batch*> ToyStream::next() {
  if (at_.batch == batches_) {
    at_ = {at_.epoch + 1, 0};
    return nullptr;
  }
  data::BatchInput tokens = ids(rows_, kLength);
  data::BatchInput labels = ids(rows_, kLength);
  const int64_t epoch = shuffled_ ? at_.epoch : 0;
  uint64_t state = seed_ * 1000003 + static_cast<uint64_t>(epoch * 101 + at_.batch);
  for (int64_t row = 0; row < rows_; ++row) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    const auto start = static_cast<int64_t>((state >> 33) % static_cast<uint64_t>(vocab_));
    for (int64_t i = 0; i < kLength; ++i) {
      put(tokens, row * kLength + i, (start + i) % vocab_);
      put(labels, row * kLength + i, (start + i + 1) % vocab_);
    }
  }
  batch_.inputs = {{"tokens", std::move(tokens)}, {"labels", std::move(labels)}};
  batch_.dims = {{"B", rows_}, {"T", kLength}};
  batch_.source_tokens = batch_.target_tokens = rows_ * kLength;
  batch_.examples = rows_;
  ++at_.batch;
  return &batch_;
}

Status ToyStream::seek(data::Position position) {
  if (position.batch > batches_) return error({}, "there is no batch ", position.batch);
  at_ = position;
  return ok();
}

TrainOptions toy_options() {
  TrainOptions o = default_options("gpt-char").value();
  o.model.d_model = 16;
  o.model.encoder_layers = 1;
  o.model.heads = 2;
  o.model.d_ff = 32;
  o.model.vocab = 11;
  o.model.max_length = 8;
  o.model.dropout = 0.1;
  o.model.attn_dropout = 0.1;
  o.steps = 20;
  o.warmup = 4;
  o.lr = 1e-2;
  o.eval_every = 10;
  o.save_every = 5;
  o.log_every = 2;
  o.task.batch = 4;
  return o;
}

ToyRun::ToyRun(const TrainOptions& given, const std::string& path, bool fresh,
               const std::string& device_name, int threads)
    : options(given),
      folder(open_folder(path, fresh)),
      train(options.model.vocab, 4, 7, options.seed, true),
      valid(options.model.vocab, 4, 2, 99, false) {
  Result<Module> model = build_model(options);
  EXPECT_TRUE(model.ok()) << render(model.diagnostics());
  TrainRequest request;
  request.loss = {"loss", "loss", {}, ""};
  request.settings = options.settings();
  for (const Layer& layer : layers_of(model->storage)) request.watched.push_back(layer.parameters);
  Result<Module> differentiated = differentiate_for(*model, request);
  EXPECT_TRUE(differentiated.ok()) << render(differentiated.diagnostics());
  module = std::move(differentiated).value();
  Result<Observer> observed = add_observe(module, options);
  EXPECT_TRUE(observed.ok()) << render(observed.diagnostics());
  observer = std::move(observed).value();
  observer.batch = cut(*valid.next().value(), kObservedRows, kObservedLength);
  EXPECT_TRUE(valid.seek({0, 0}).ok());
  auto opened = open_device(module, {device_name, "native", threads, options.seed});
  EXPECT_TRUE(opened.ok()) << render(opened.diagnostics());
  device = std::move(opened).value();
}

Trainer ToyRun::trainer() {
  TrainHooks hooks;
  hooks.on_step = on_step;
  hooks.on_line = [this](const nlohmann::ordered_json& line) { lines.push_back(line.dump()); };
  hooks.on_warning = [this](const std::string& text) { warnings.push_back(text); };
  hooks.stop = &stop;
  Trainer made(options, module, *device, train, valid, folder, std::move(hooks));
  made.set_observer(observer);
  return made;
}

std::string storage_bytes(const Module& module, TrainDevice& device) {
  std::string all;
  for (const Storage& item : module.storage) {
    auto bytes = device.storage(item.name);
    EXPECT_TRUE(bytes.ok());
    all.append(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  }
  return all;
}

}  // namespace weft::train
