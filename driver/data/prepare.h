// The steps from files to a task's tokenizer and examples.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "driver/data/examples.h"
#include "driver/data/make_tokenizer.h"
#include "driver/data/rows.h"

namespace weft::data {

// Options with defaults filled in; fails on what is missing or does not go together.
Result<TaskOptions> checked(TaskOptions options);

// The labels in the order of their numbers: by value if all are numbers, else by bytes.
std::vector<std::string> class_names(const std::set<std::string>& labels);

// Learned on a part of the files; null for images.
Result<TokenizerPtr> learn_tokenizer(const TaskOptions& options, const TaskFiles& files, Part part,
                                     int64_t text_bytes);

struct EncodeOptions {
  const TaskOptions& options;
  const Tokenizer* tokenizer = nullptr;     // null for images
  const std::vector<std::string>& classes;  // of classification
  bool training = false;                    // pairs that do not fit are left out, not cut
};

// Sums of the pixels met, for their mean and spread.
struct PixelSums {
  double count = 0;
  double sum = 0;
  double squares = 0;
};

struct Encoded {
  Examples examples;
  SplitFacts facts;
  PixelSums pixels;
};

// Tokenises a part of the files into a file of examples; `path` is as for ExampleWriter.
Result<Encoded> encode(const EncodeOptions& how, const TaskFiles& files, Part part,
                       const std::string& path);

}  // namespace weft::data
