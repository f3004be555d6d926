// SPDX-License-Identifier: Apache-2.0
#include "driver/train/observe.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "driver/train/attention_statistics.h"
#include "driver/train/dry_run.h"
#include "driver/train/watch.h"

namespace weft::train {
namespace {

using Json = nlohmann::ordered_json;
using Warn = std::function<Status(const std::string&)>;

constexpr double kMostGrowth = 10;  // of a norm, in one layer

// The first `rows` of axis 0 and, of ids [B, T], the first `length` of axis 1.
data::BatchInput cut_input(const data::BatchInput& input, int64_t rows, int64_t length) {
  data::BatchInput out{input.dtype, input.shape, {}};
  const bool ids = input.shape.size() == 2 && input.dtype == DType::i32;
  out.shape[0] = std::min(out.shape[0], rows);
  if (ids) out.shape[1] = std::min(out.shape[1], length);
  const size_t stride =
      input.bytes.size() / static_cast<size_t>(std::max<int64_t>(input.shape[0], 1));
  const size_t kept = ids ? static_cast<size_t>(out.shape[1]) * sizeof(int32_t) : stride;
  for (size_t row = 0; row < static_cast<size_t>(out.shape[0]); ++row) {
    auto begin = input.bytes.begin() + static_cast<std::ptrdiff_t>(row * stride);
    out.bytes.insert(out.bytes.end(), begin, begin + static_cast<std::ptrdiff_t>(kept));
  }
  return out;
}

// The rows of an attention that are no padding, as [B * T].
std::vector<bool> rows_that_count(const Observer& observer, const ObservedAttention& attention,
                                  const HostTensor& weights) {
  const size_t rank = weights.shape.size();
  const int64_t batch = rank > 2 ? weights.shape[0] : 1;
  std::vector<bool> counts(static_cast<size_t>(batch * weights.shape[rank - 2]), true);
  auto found = observer.batch.inputs.find(attention.row_input);
  if (!observer.pads || found == observer.batch.inputs.end()) return counts;
  const std::vector<std::byte>& bytes = found->second.bytes;
  for (size_t i = 0; i < counts.size() && (i + 1) * sizeof(int32_t) <= bytes.size(); ++i) {
    int32_t id = 0;
    std::memcpy(&id, bytes.data() + i * sizeof(id), sizeof(id));
    counts[i] = id != data::kPad;
  }
  return counts;
}

Status put_norms(const Observer& observer, const HostTensors& outputs, Json& line,
                 const Warn& warn) {
  if (observer.layers.empty()) return ok();
  Json ins = Json::object();
  Json outs = Json::object();
  for (size_t i = 0; i < observer.layers.size(); ++i) {
    const ObservedLayer& layer = observer.layers[i];
    const double in = real_at(outputs.at(kInputNorms), i);
    const double out = real_at(outputs.at(kOutputNorms), i);
    if (layer.has_input && std::isfinite(in)) ins[layer.name] = in;
    if (std::isfinite(out)) outs[layer.name] = out;
    if (layer.keeps_type && out > kMostGrowth * in) {
      WEFT_TRY_STATUS(warn(cat("the output of ", layer.name, " has norm ", short_number(out),
                               ", over ten times its input's ", short_number(in))));
    }
    if (out == 0) WEFT_TRY_STATUS(warn(layer.name + " is dead: its output is zero"));
  }
  line[kInputNorms] = std::move(ins);
  line[kOutputNorms] = std::move(outs);
  return ok();
}

Json statistics_json(const std::vector<HeadStatistics>& heads) {
  Json entropy = Json::array();
  Json distance = Json::array();
  Json diversity = Json::array();
  for (const HeadStatistics& head : heads) {
    entropy.push_back(head.entropy);
    distance.push_back(head.distance);
    if (head.diversity >= 0) diversity.push_back(head.diversity);
  }
  Json result = {{"entropy", std::move(entropy)}, {"distance", std::move(distance)}};
  if (!diversity.empty()) result["diversity"] = std::move(diversity);
  return result;
}

}  // namespace

Result<Observer> add_observe(Module& module, const TrainOptions& options) {
  WEFT_TRY(Module plain, build_plain(options));
  std::erase_if(plain.graphs, [](const Graph& g) { return g.name() != "forward"; });
  PipelineOptions pipeline;
  pipeline.stop_after = "raise";
  WEFT_TRY(std::vector<PassRecord> passes, run_pipeline(plain, pipeline));
  const Graph* forward = plain.find_graph("forward");
  if (forward == nullptr) return error({}, "preset '", options.preset, "' has no @forward");
  std::vector<std::string> names;
  for (const Layer& layer : layers_of(plain.storage)) names.push_back(layer.name);
  Observation seen = make_observe(plain, *forward, names);
  module.graphs.push_back(std::move(seen.graph));
  const bool pads = options.task.kind == data::TaskKind::translation ||
                    options.task.kind == data::TaskKind::text_classification;
  return Observer{std::move(seen.layers), std::move(seen.attentions), {}, pads};
}

data::Batch cut(const data::Batch& batch, int64_t rows, int64_t length) {
  data::Batch out;
  for (const auto& [name, input] : batch.inputs) {
    out.inputs.emplace(name, cut_input(input, rows, length));
  }
  for (const auto& [symbol, size] : batch.dims) {
    out.dims[symbol] = std::min(size, symbol == "B" ? rows : length);
  }
  out.examples = std::min(batch.examples, rows);
  return out;
}

Result<data::Batch> batch_to_observe(data::Task& task) {
  WEFT_TRY(std::unique_ptr<data::BatchStream> stream, task.valid_stream());
  WEFT_TRY_STATUS(stream->seek({0, task.facts().valid.batches / 2}));
  WEFT_TRY(const data::Batch* batch, stream->next());
  if (batch == nullptr) return error({}, "the validation data has no batch");
  return cut(*batch, kObservedRows, kObservedLength);
}

Status observe_into(const Observer& observer, TrainDevice& device, Json& line, const Warn& warn) {
  HostTensors outputs;
  WEFT_TRY_STATUS(device.run(kObserve, observer.batch.inputs, {}, observer.batch.dims, outputs));
  WEFT_TRY_STATUS(put_norms(observer, outputs, line, warn));
  Json attention = Json::object();
  for (const ObservedAttention& item : observer.attentions) {
    const HostTensor& weights = outputs.at(item.output);
    const std::vector<HeadStatistics> heads =
        attention_statistics(weights, rows_that_count(observer, item, weights));
    if (!heads.empty()) attention[item.name] = statistics_json(heads);
  }
  if (!attention.empty()) line["attention"] = std::move(attention);
  return ok();
}

}  // namespace weft::train
