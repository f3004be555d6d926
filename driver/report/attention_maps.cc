// SPDX-License-Identifier: Apache-2.0
#include "driver/report/attention_maps.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "driver/data/utf8.h"
#include "driver/decode/search.h"

namespace weft::report {
namespace {

using Json = nlohmann::ordered_json;
using Ids = std::vector<int32_t>;
using data::TaskKind;

constexpr size_t kMostWeights = 2'000'000;  // on a page, of all heads

data::BatchInput tensor_of(const Ids& ids) {
  data::BatchInput input{DType::i32, {1, static_cast<int64_t>(ids.size())}, {}};
  input.bytes.resize(ids.size() * sizeof(int32_t));
  std::memcpy(input.bytes.data(), ids.data(), input.bytes.size());
  return input;
}

Ids ids_of(const data::BatchInput& input) {
  Ids ids(input.bytes.size() / sizeof(int32_t));
  std::memcpy(ids.data(), input.bytes.data(), ids.size() * sizeof(int32_t));
  return ids;
}

size_t largest(const train::HostTensor& logits, size_t begin, size_t count) {
  size_t best = 0;
  for (size_t i = 1; i < count; ++i) {
    if (train::real_at(logits, begin + i) > train::real_at(logits, begin + best)) best = i;
  }
  return best;
}

class Example {
 public:
  Example(RunModel& model, std::vector<std::string>& notes)
      : model_(model), tokenizer_(model.task->tokenizer()), notes_(notes) {}

  Status from_text(const std::string& sentence, const std::optional<std::string>& target) {
    const TaskKind kind = model_.options.task.kind;
    if (tokenizer_ == nullptr) {
      return error({}, "the run is about images: there is no sentence to show")
          .hint("leave out --sentence: an image of the validation data is shown");
    }
    if (target && kind != TaskKind::translation) {
      return error({}, "--target is for translations, and the run has none");
    }
    WEFT_TRY(Ids ids, encode(sentence, "the sentence"));
    if (kind == TaskKind::translation) {
      ids.push_back(data::kEnd);
      set("src", "S", std::move(ids));
      return set_target(target);
    }
    if (ids.empty()) return error({}, "the sentence has no token").hint("--sentence TEXT");
    set("tokens", "T", std::move(ids));
    return ok();
  }

  // The first example of the batch that is watched, without padding.
  void from_validation() {
    data::Batch first = train::cut(model_.observer.batch, 1, kMostTokens);
    const Json symbols = {{"src", "S"}, {"tgt", "T"}, {"tokens", "T"}};
    batch_ = {};
    batch_.dims = first.dims;
    for (auto& [name, input] : first.inputs) {
      if (!symbols.contains(name)) {
        batch_.inputs.emplace(name, std::move(input));
        continue;
      }
      Ids ids = ids_of(input);
      while (model_.observer.pads && ids.size() > 1 && ids.back() == data::kPad) ids.pop_back();
      set(name, symbols[name].get<std::string>(), std::move(ids));
    }
  }

  Result<Json> look() {
    train::HostTensors outputs;
    WEFT_TRY_STATUS(model_.device->run(kObserve, batch_.inputs, {}, batch_.dims, outputs));
    Json maps = Json::array();
    size_t bytes = 0;
    for (const ObservedAttention& item : model_.observer.attentions) {
      bytes += outputs.at(item.output).bytes.size();
      if (bytes > kMostWeights * sizeof(float)) {
        notes_.push_back(cat("only the first ", maps.size(), " of ",
                             model_.observer.attentions.size(),
                             " attentions are shown: all would be too much for a page"));
        break;
      }
      WEFT_TRY(Json map, map_of(item, outputs.at(item.output)));
      maps.push_back(std::move(map));
    }
    Json texts = Json::array();
    for (const char* name : {"src", "tgt", "tokens"}) {
      if (!tokens_.contains(name)) continue;
      WEFT_TRY(std::string text, tokenizer_->decode(tokens_.at(name)));
      texts.push_back({{"name", name}, {"text", text}, {"tokens", labels_of(name, 0)}});
    }
    Json result = {{"texts", std::move(texts)}, {"maps", std::move(maps)}, {"decoded", decoded_}};
    if (!model_.task->facts().classes.empty()) WEFT_TRY_STATUS(put_class(result));
    return result;
  }

 private:
  Result<Ids> encode(const std::string& text, const char* what) {
    if (data::valid_utf8_prefix(text) != text.size()) {
      return error({}, what, " is not UTF-8, from byte ", data::valid_utf8_prefix(text), " on");
    }
    Ids ids;
    WEFT_TRY_STATUS(tokenizer_->encode(text, ids));
    const bool marked = model_.options.task.kind == TaskKind::translation;  // begin or end
    const int64_t most = std::min(kMostTokens, model_.options.model.max_length) - (marked ? 1 : 0);
    if (static_cast<int64_t>(ids.size()) > most) {
      notes_.push_back(
          cat(what, " has ", ids.size(), " tokens: only the first ", most, " are shown"));
      ids.resize(static_cast<size_t>(std::max<int64_t>(most, 0)));
    }
    return ids;
  }

  void set(const std::string& name, const std::string& symbol, Ids ids) {
    batch_.dims["B"] = 1;
    batch_.dims[symbol] = static_cast<int64_t>(ids.size());
    batch_.inputs[name] = tensor_of(ids);
    tokens_[name] = std::move(ids);
  }

  Status set_target(const std::optional<std::string>& target) {
    Ids ids = {data::kBegin};
    if (target) {
      WEFT_TRY(Ids given, encode(*target, "the target"));
      ids.insert(ids.end(), given.begin(), given.end());
      set("tgt", "T", std::move(ids));
      return ok();
    }
    decoded_ = true;
    WEFT_TRY(Ids found, decode_greedily());
    ids.insert(ids.end(), found.begin(), found.end());
    set("tgt", "T", std::move(ids));
    return ok();
  }

  Result<Ids> decode_greedily() {
    WEFT_TRY(
        std::unique_ptr<decode::DecodeModel> model,
        decode::open_run(model_.folder, TaskKind::translation, {.device = model_.device_options}));
    decode::Decoder decoder(*model);
    decode::SearchOptions options;
    options.beam = 1;
    options.max_length = std::min(kMostTokens, model_.options.model.max_length) - 1;
    WEFT_TRY(std::vector<std::vector<decode::Hypothesis>> found,
             decode::search(decoder, std::span<const Ids>(&tokens_.at("src"), 1), options));
    if (found[0].empty()) return error({}, "the model gives no finite probabilities");
    return std::move(found[0][0].tokens);
  }

  // Of an input, or numbers where there is none.
  std::vector<std::string> labels_of(const std::string& input, int64_t count) const {
    std::vector<std::string> labels;
    if (auto found = tokens_.find(input); found != tokens_.end()) {
      for (int32_t id : found->second) labels.push_back(tokenizer_->piece(id));
      return labels;
    }
    for (int64_t i = 0; i < count; ++i) labels.push_back(cat(i));
    return labels;
  }

  Result<Json> map_of(const ObservedAttention& item, const train::HostTensor& weights) const {
    const std::vector<int64_t>& shape = weights.shape;  // [1, .., T, S]
    const int64_t rows = shape[shape.size() - 2];
    const int64_t columns = shape.back();
    const auto size = static_cast<size_t>(rows * columns);
    const size_t elements = weights.bytes.size() / static_cast<size_t>(byte_size(weights.dtype));
    Json heads = Json::array();
    for (size_t begin = 0; begin + size <= elements; begin += size) {
      Json head = Json::array();
      for (size_t i = 0; i < size; ++i) {
        const double value = train::real_at(weights, begin + i);
        if (!std::isfinite(value)) return error({}, item.name, ": a weight is not finite");
        head.push_back(std::round(value * 1e5) / 1e5);
      }
      heads.push_back(std::move(head));
    }
    return Json{{"name", item.name},
                {"rows", labels_of(item.row_input, rows)},
                {"columns", labels_of(item.column_input, columns)},
                {"heads", std::move(heads)}};
  }

  Status put_class(Json& result) {
    train::HostTensors outputs;
    WEFT_TRY_STATUS(model_.device->run("forward", batch_.inputs, {}, batch_.dims, outputs));
    const train::HostTensor& logits = outputs.at("logits");  // [1, classes]
    const std::vector<std::string>& classes = model_.task->facts().classes;
    result["class"] = classes.at(largest(logits, 0, classes.size()));
    return ok();
  }

  RunModel& model_;
  const data::Tokenizer* tokenizer_;
  std::vector<std::string>& notes_;
  data::Batch batch_;
  std::map<std::string, Ids> tokens_;  // by input
  bool decoded_ = false;
};

}  // namespace

Result<Json> attention_maps(RunModel& model, const std::optional<std::string>& sentence,
                            const std::optional<std::string>& target,
                            std::vector<std::string>& notes) {
  Example example(model, notes);
  if (sentence) {
    WEFT_TRY_STATUS(example.from_text(*sentence, target));
  } else {
    example.from_validation();
  }
  Result<Json> seen = example.look();
  if (!seen.ok()) {
    notes.push_back("no attention maps are shown: " + seen.diagnostics().front().message);
    return Json();
  }
  (*seen)["given"] = sentence.has_value();
  return seen;
}

}  // namespace weft::report
