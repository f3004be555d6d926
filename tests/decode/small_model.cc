// SPDX-License-Identifier: Apache-2.0
#include "tests/decode/small_model.h"

#include <gtest/gtest.h>

#include "driver/data/random.h"
#include "driver/decode/derive.h"
#include "ir/oracle/oracle.h"
#include "models/zoo.h"

namespace weft::decode {
namespace {

train::TrainOptions small(const std::string& preset, int64_t vocab) {
  train::TrainOptions options = train::default_options(preset).value();
  options.model.vocab = vocab;
  options.model.d_model = 16;
  options.model.heads = 2;
  options.model.d_ff = 24;
  options.model.encoder_layers = 2;
  options.model.decoder_layers = 2;
  options.model.max_length = 12;
  return options;
}

}  // namespace

train::TrainOptions small_translator() { return small("transformer-tiny", 24); }
train::TrainOptions small_language_model() { return small("gpt-char", 17); }

std::unique_ptr<DecodeModel> must_make(const train::TrainOptions& options,
                                       const std::string& device, bool weights) {
  OpenOptions open;
  open.device.device = device;
  open.device.threads = 2;
  open.device.seed = 7;
  open.weights = weights;
  Result<std::unique_ptr<DecodeModel>> made = make_model(options, open);
  EXPECT_TRUE(made.ok()) << render(made.diagnostics());
  return made.ok() ? std::move(made).value() : nullptr;
}

std::unique_ptr<DecodeModel> must_make_of(const Module& module, int64_t vocab,
                                          const std::string& device) {
  auto made = std::make_unique<DecodeModel>();
  made->options.model.vocab = vocab;
  Result<DecodeGraphs> graphs = decode_graphs(module, {});
  EXPECT_TRUE(graphs.ok()) << render(graphs.diagnostics());
  if (!graphs.ok()) return nullptr;
  made->graphs = std::move(graphs).value();
  auto opened = train::open_device(made->graphs.module, {device, "native", 2, 7});
  EXPECT_TRUE(opened.ok()) << render(opened.diagnostics());
  if (!opened.ok()) return nullptr;
  made->device = std::move(opened).value();
  return made;
}

Ids random_ids(int64_t length, int64_t vocab, uint64_t seed) {
  data::Random random(seed, 0, 1);
  Ids ids;
  for (int64_t i = 0; i < length; ++i) {
    ids.push_back(static_cast<int32_t>(4 + random.below(static_cast<uint64_t>(vocab - 4))));
  }
  return ids;
}

std::vector<double> whole_forward(const train::TrainOptions& options, const Ids* source,
                                  const Ids& target) {
  const Module module = find_preset(options.preset)->build_with(options.model).value();
  return whole_forward(module, options.model.vocab, source, target);
}

std::vector<double> whole_forward(const Module& module, int64_t vocab, const Ids* source,
                                  const Ids& target) {
  const Graph& graph = *module.find_graph("forward");
  auto tensor = [](const Ids& ids) {
    Tensor made = Tensor::zeros(DType::i32, {1, static_cast<int64_t>(ids.size())});
    for (size_t i = 0; i < ids.size(); ++i) made.integers[i] = ids[i];
    return made;
  };
  TensorMap inputs = {{source == nullptr ? "tokens" : "tgt", tensor(target)}};
  if (source != nullptr) inputs["src"] = tensor(*source);
  const TensorMap storage = initial_values(module, &graph, 7).value();
  Result<OracleResult> run = run_oracle(module, graph, inputs, storage);
  EXPECT_TRUE(run.ok()) << render(run.diagnostics());
  const Tensor& logits = run->outputs.at("logits");
  return {logits.reals.end() - static_cast<std::ptrdiff_t>(vocab), logits.reals.end()};
}

}  // namespace weft::decode
