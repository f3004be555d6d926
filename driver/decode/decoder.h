// Decoder: a batch of hypotheses that grows by a token at a time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "driver/decode/model.h"

namespace weft::decode {

using Ids = std::vector<int32_t>;

// The hypothesis in row `from` goes on in row `to` as well.
struct RowCopy {
  int64_t from = 0;
  int64_t to = 0;
};

// Rows are sentences times beams: beam w of sentence b is row b * beams() + w. All rows are at the
// same position.
class Decoder {
 public:
  explicit Decoder(DecodeModel& model) : model_(model) {}

  // Reads the sources, one a sentence, none empty. `capacity`: most tokens that a row will take.
  Status begin(std::span<const Ids> sources, int64_t beams, int64_t capacity);
  // Reads prompts, one a sentence, all of one length, not empty; they count in the capacity.
  Status begin_prompts(std::span<const Ids> prompts, int64_t beams, int64_t capacity);
  // The same prompt for every sentence.
  Status begin_prompt(const Ids& prompt, int64_t sentences, int64_t beams, int64_t capacity);

  // A token for each row.
  Status step(std::span<const int32_t> tokens);

  int64_t sentences() const { return sentences_; }
  int64_t beams() const { return beams_; }
  int64_t rows() const { return sentences_ * beams_; }
  int64_t position() const { return position_; }  // tokens that each row has read
  int64_t vocab() const { return model_.vocab(); }
  bool has_scores() const { return model_.graphs.scores; }
  // Work on rows between two steps: see TrainDevice.
  void parallel(int64_t count, const std::function<void(int64_t, int64_t)>& work) {
    model_.device->parallel(count, work);
  }
  int64_t context() const { return model_.graphs.context; }  // most positions

  // What follows the last token of a row: the log-probability of token v is logits[v] - lse. If
  // the model was opened without scores, lse is 0.
  std::span<const float> logits(int64_t row) const;
  float lse(int64_t row) const;
  // How much the last token attended to each source position; if the model was opened with weights.
  std::span<const float> weights(int64_t row) const;

  // In this order; a row that is written is not read by a later one.
  Status copy_rows(std::span<const RowCopy> copies);
  // Goes on with these sentences only, given in ascending order. Returns which sentence each is
  // now: result[i] is the old number of sentence i.
  Result<std::vector<int64_t>> keep(std::span<const int64_t> sentences);

 private:
  Status check_beams(int64_t beams) const;
  Status resize();
  Status run(const char* graph);
  DimBinding dims() const;
  Status copy_state(const std::vector<RowState>& states, std::span<const RowCopy> copies,
                    bool caches);

  DecodeModel& model_;
  int64_t sentences_ = 0;
  int64_t beams_ = 0;
  int64_t capacity_ = 0;
  int64_t position_ = 0;
  int64_t source_ = 0;  // positions of the longest source
  int64_t prompt_ = 0;
  train::HostTensors inputs_;
  train::HostTensors outputs_;
  std::vector<StorageCopy> pieces_;
};

}  // namespace weft::decode
