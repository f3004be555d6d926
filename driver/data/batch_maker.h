// Makes any batch of an epoch; a stream asks for them in order, ahead of their use.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string>

#include "driver/data/batches.h"

namespace weft::data {

// Used by one thread at a time, not always the same.
class BatchMaker {
 public:
  virtual ~BatchMaker() = default;
  // Puts an epoch in order, and says how many batches it has: at least one.
  virtual Result<int64_t> begin_epoch(int64_t epoch) = 0;
  // A batch of the epoch begun last, by number. What `batch` held is replaced, and its memory kept.
  virtual Status make(int64_t index, Batch& batch) = 0;
};

// The input of a batch, with room for the shape's elements, whose values are left to the caller.
std::span<int32_t> ids_of(Batch& batch, const std::string& name, std::vector<int64_t> shape);
std::span<float> floats_of(Batch& batch, const std::string& name, std::vector<int64_t> shape);

// Batches from a thread of its own, which works this many ahead.
inline constexpr int kBatchesAhead = 4;
std::unique_ptr<BatchStream> make_stream(std::unique_ptr<BatchMaker> maker);

}  // namespace weft::data
