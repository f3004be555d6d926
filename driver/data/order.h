// The order of an epoch: which examples make which batch.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace weft::data {

// Lengths of an example as a batch holds them, with begin or end and rounded up.
struct Lengths {
  uint32_t source = 0;
  uint32_t target = 0;
};

struct OrderOptions {
  int64_t batch = 0;       // examples, at most; 0: no limit
  int64_t max_tokens = 0;  // examples times the longest sequence, at most; 0: no limit
  int64_t multiple = 1;    // that lengths were rounded up to
  bool shuffled = true;
  uint64_t seed = 1;
};

struct PlannedBatch {
  uint32_t first = 0;  // of its examples in Order::examples
  uint32_t count = 0;
  Lengths lengths;  // the longest of each side
};

struct Order {
  std::vector<uint32_t> examples;
  std::vector<PlannedBatch> batches;
};

// Examples of similar lengths share a batch: they are sorted by target, then by source, and cut
// into batches, which are then shuffled. Examples of equal lengths are in random order, so that
// epochs differ in more than the order of batches. Unshuffled: batches from short to long, equal
// lengths in the order of the file. Takes time and 8 bytes for each example.
Order order_by_length(int64_t count, const std::function<Lengths(uint32_t)>& lengths_of,
                      const OrderOptions& options, int64_t epoch);

}  // namespace weft::data
