// Batches: what a data set gives to the inputs of a graph, one step after the other.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ir/support/result.h"
#include "ir/types/dim.h"
#include "ir/types/dtype.h"

namespace weft::data {

// One input of a graph: elements one after the other, row-major.
struct BatchInput {
  DType dtype = DType::i32;
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes;
};

struct Batch {
  std::map<std::string, BatchInput> inputs;  // by name of the graph's input
  DimBinding dims;                           // sizes of the symbols (B, S, T)
  int64_t source_tokens = 0;                 // that are no padding
  int64_t target_tokens = 0;                 // labels that count in the loss
  int64_t examples = 0;                      // rows: sentences, windows, images
};

// Where a stream stands: enough to go on with the same batches.
struct Position {
  int64_t epoch = 0;
  int64_t batch = 0;  // of the epoch; as many as the epoch has: at its end

  bool operator==(const Position&) const = default;
};

// Batches in an order that is a function of the seed and the epoch only. Belongs to one thread.
class BatchStream {
 public:
  virtual ~BatchStream() = default;

  // The next batch, valid until the next call or seek. Null once after the last batch of an epoch;
  // the call after that gives the first batch of the next epoch. So a stream never ends, and a
  // validation pass is: next() until null. What failed while preparing a batch fails here, and
  // again at each further call until a seek.
  virtual Result<const Batch*> next() = 0;
  // Of what the next call gives: {0, 0} at first, {e + 1, 0} after the null of epoch e.
  virtual Position position() const = 0;
  // Goes to a place that position() gave, of this or of another stream on the same data. Costs at
  // most the ordering of one epoch. Fails on a place that the data does not have.
  virtual Status seek(Position position) = 0;
};

}  // namespace weft::data
