// The makers of batches, one for each kind of task.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "driver/data/batch_maker.h"
#include "driver/data/examples.h"
#include "driver/data/task.h"

namespace weft::data {

// The least multiple of options.length_multiple that holds `length`, up to options.max_length.
int64_t padded_length(int64_t length, const TaskOptions& options);

// Pixels as a model sees them: (pixel - mean) * scale.
struct PixelScale {
  double mean = 0;
  double scale = 1;

  bool operator==(const PixelScale&) const = default;
};

// `training`: in random order. Fields of the examples: source and target ids, without begin and
// end.
std::unique_ptr<BatchMaker> translation_batches(Examples examples, const TaskOptions& options,
                                                int64_t vocab, bool training);
// One example, the whole text; it has at least context + 1 tokens.
std::unique_ptr<BatchMaker> language_model_batches(Examples examples, const TaskOptions& options,
                                                   int64_t vocab, bool training);
// Fields: ids of the text, at least one; the label.
std::unique_ptr<BatchMaker> text_batches(Examples examples, const TaskOptions& options,
                                         int64_t vocab, int64_t classes, bool training);
// Fields: pixels; the label as a float.
std::unique_ptr<BatchMaker> image_batches(Examples examples, const TaskOptions& options,
                                          PixelScale scale, int64_t classes, bool training);

}  // namespace weft::data
