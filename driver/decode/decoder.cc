// SPDX-License-Identifier: Apache-2.0
#include "driver/decode/decoder.h"

#include <algorithm>
#include <cstring>
#include <optional>

namespace weft::decode {
namespace {

std::span<int32_t> ids_input(train::HostTensors& inputs, const std::string& name,
                             std::vector<int64_t> shape) {
  train::HostTensor& tensor = inputs[name];
  int64_t count = 1;
  for (int64_t size : shape) count *= size;
  tensor.dtype = DType::i32;
  if (tensor.shape != shape) tensor.shape = std::move(shape);
  tensor.bytes.resize(static_cast<size_t>(count) * sizeof(int32_t));
  return {reinterpret_cast<int32_t*>(tensor.bytes.data()), static_cast<size_t>(count)};
}

std::span<const float> row_of(const train::HostTensors& outputs, const char* name, int64_t row,
                              int64_t rows) {
  auto found = outputs.find(name);
  if (found == outputs.end() || rows == 0) return {};
  const size_t width = found->second.bytes.size() / sizeof(float) / static_cast<size_t>(rows);
  const auto* data = reinterpret_cast<const float*>(found->second.bytes.data());
  return {data + static_cast<size_t>(row) * width, width};
}

}  // namespace

DimBinding Decoder::dims() const {
  const DecodeGraphs& g = model_.graphs;
  DimBinding dims = {{g.sentences, sentences_}, {g.capacity, capacity_}};
  if (!g.beams.empty()) dims[g.beams] = beams_;
  if (!g.has_source) {
    if (prompt_ > 0) dims[g.length] = prompt_;
    return dims;
  }
  const Graph& prefill = *g.module.find_graph(kPrefill);
  for (const Dim& dim : prefill.type(prefill.inputs()[0]).shape) {
    if (auto symbol = dim.as_symbol(); symbol && *symbol != g.sentences) dims[*symbol] = source_;
  }
  return dims;
}

// State is as large as the rows there are.
Status Decoder::resize() {
  const DecodeGraphs& g = model_.graphs;
  const DimBinding sizes = dims();
  for (const auto* states : {&g.memory, &g.caches}) {
    for (const RowState& state : *states) {
      std::vector<int64_t> shape;
      for (const Dim& dim : g.module.find_storage(state.name)->type.shape) {
        shape.push_back(dim.evaluate(sizes).value_or(0));
      }
      WEFT_TRY_STATUS(model_.device->resize_storage(state.name, shape));
    }
  }
  return ok();
}

Status Decoder::check_beams(int64_t beams) const {
  if (model_.beams == 0 || model_.beams == beams) return ok();
  return error({}, "the model was opened for ", model_.beams, " hypotheses of a sentence, not for ",
               beams);
}

Status Decoder::run(const char* graph) {
  static const train::HostTensors kNothing;
  return model_.device->run(graph, inputs_, kNothing, dims(), outputs_);
}

Status Decoder::begin(std::span<const Ids> sources, int64_t beams, int64_t capacity) {
  WEFT_TRY_STATUS(check_beams(beams));
  sentences_ = static_cast<int64_t>(sources.size());
  beams_ = beams;
  capacity_ = capacity;
  position_ = 0;
  source_ = 0;
  for (const Ids& source : sources)
    source_ = std::max(source_, static_cast<int64_t>(source.size()));
  const Graph& prefill = *model_.graphs.module.find_graph(kPrefill);
  std::span<int32_t> ids =
      ids_input(inputs_, prefill.input_name(prefill.inputs()[0]), {sentences_, source_});
  std::ranges::fill(ids, static_cast<int32_t>(model_.options.model.pad));
  for (size_t i = 0; i < sources.size(); ++i) {
    std::ranges::copy(sources[i], ids.begin() + static_cast<std::ptrdiff_t>(i) * source_);
  }
  WEFT_TRY_STATUS(resize());
  return run(kPrefill);
}

Status Decoder::begin_prompt(const Ids& prompt, int64_t sentences, int64_t beams,
                             int64_t capacity) {
  return begin_prompts(std::vector<Ids>(static_cast<size_t>(sentences), prompt), beams, capacity);
}

Status Decoder::begin_prompts(std::span<const Ids> prompts, int64_t beams, int64_t capacity) {
  WEFT_TRY_STATUS(check_beams(beams));
  sentences_ = static_cast<int64_t>(prompts.size());
  beams_ = beams;
  capacity_ = capacity;
  prompt_ = static_cast<int64_t>(prompts[0].size());
  std::span<int32_t> ids = ids_input(inputs_, model_.graphs.tokens, {rows(), prompt_});
  for (int64_t row = 0; row < rows(); ++row) {
    const Ids& prompt = prompts[static_cast<size_t>(row / beams_)];
    WEFT_CHECK(static_cast<int64_t>(prompt.size()) == prompt_, "prompts begin together");
    std::ranges::copy(prompt, ids.begin() + row * prompt_);
  }
  WEFT_TRY_STATUS(resize());
  WEFT_TRY_STATUS(run(kPrefill));
  position_ = std::exchange(prompt_, 0);
  return ok();
}

Status Decoder::step(std::span<const int32_t> tokens) {
  if (position_ >= capacity_) {
    return error({}, "a row has ", capacity_, " tokens, and there is room for no more");
  }
  std::ranges::copy(tokens, ids_input(inputs_, model_.graphs.tokens, {rows(), 1}).begin());
  ids_input(inputs_, "position", {})[0] = static_cast<int32_t>(position_);
  WEFT_TRY_STATUS(run(kDecode));
  ++position_;
  return ok();
}

std::span<const float> Decoder::logits(int64_t row) const {
  return row_of(outputs_, "logits", row, rows());
}

float Decoder::lse(int64_t row) const {
  const std::span<const float> found = row_of(outputs_, "lse", row, rows());
  return found.empty() ? 0 : found[0];
}

std::span<const float> Decoder::weights(int64_t row) const {
  return row_of(outputs_, "weights", row, rows());
}

// Of a cache, only the positions that were written.
Status Decoder::copy_state(const std::vector<RowState>& states, std::span<const RowCopy> copies,
                           bool caches) {
  const DimBinding sizes = dims();
  for (const RowState& state : states) {
    const Type& type = model_.graphs.module.find_storage(state.name)->type;
    int64_t outer = 1;  // pieces of a row
    int64_t inner = byte_size(type.dtype);
    for (size_t axis = 1; axis < type.rank(); ++axis) {
      const bool before = caches && axis < state.positions;
      (before ? outer : inner) *= type.shape[axis].evaluate(sizes).value_or(0);
    }
    const int64_t used = caches ? inner / capacity_ * position_ : inner;
    pieces_.clear();
    for (const RowCopy& copy : copies) {
      for (int64_t i = 0; i < outer; ++i) {
        pieces_.push_back({(copy.from * outer + i) * inner, (copy.to * outer + i) * inner, used});
      }
    }
    WEFT_TRY_STATUS(model_.device->copy_within_storage(state.name, pieces_));
  }
  return ok();
}

Status Decoder::copy_rows(std::span<const RowCopy> copies) {
  return copies.empty() ? ok() : copy_state(model_.graphs.caches, copies, true);
}

// The last sentences go to the places of those that leave.
Result<std::vector<int64_t>> Decoder::keep(std::span<const int64_t> sentences) {
  const auto count = static_cast<int64_t>(sentences.size());
  std::vector<int64_t> order(static_cast<size_t>(count), -1);
  std::vector<int64_t> late;
  for (int64_t old : sentences) {
    if (old < count) {
      order[static_cast<size_t>(old)] = old;
    } else {
      late.push_back(old);
    }
  }
  std::vector<RowCopy> by_sentence;
  std::vector<RowCopy> by_row;
  for (int64_t place = 0; place < count; ++place) {
    int64_t& old = order[static_cast<size_t>(place)];
    if (old >= 0) continue;
    old = late.back();
    late.pop_back();
    by_sentence.push_back({old, place});
    for (int64_t w = 0; w < beams_; ++w) by_row.push_back({old * beams_ + w, place * beams_ + w});
  }
  WEFT_TRY_STATUS(copy_state(model_.graphs.memory, by_sentence, false));
  WEFT_TRY_STATUS(copy_state(model_.graphs.caches, by_row, true));
  sentences_ = count;
  if (count > 0) WEFT_TRY_STATUS(resize());
  return order;
}

}  // namespace weft::decode
