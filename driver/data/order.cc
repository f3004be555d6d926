// SPDX-License-Identifier: Apache-2.0
#include "driver/data/order.h"

#include <algorithm>
#include <numeric>

#include "driver/data/random.h"

namespace weft::data {
namespace {

enum Purpose : uint32_t { kExampleOrder = 1, kBatchOrder = 2 };

// Stable, by counting: keys are lengths, so there are few of them.
void sort_by(std::vector<uint32_t>& examples, uint32_t highest,
             const std::function<uint32_t(uint32_t)>& key_of) {
  std::vector<size_t> begin(size_t{highest} + 2);
  for (uint32_t example : examples) ++begin[key_of(example) + 1];
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<uint32_t> sorted(examples.size());
  for (uint32_t example : examples) sorted[begin[key_of(example)]++] = example;
  examples = std::move(sorted);
}

Lengths longest_of(int64_t count, const std::function<Lengths(uint32_t)>& lengths_of) {
  Lengths longest;
  for (uint32_t i = 0; i < count; ++i) {
    Lengths lengths = lengths_of(i);
    longest.source = std::max(longest.source, lengths.source);
    longest.target = std::max(longest.target, lengths.target);
  }
  return longest;
}

std::vector<PlannedBatch> cut(const std::vector<uint32_t>& examples,
                              const std::function<Lengths(uint32_t)>& lengths_of,
                              const OrderOptions& options) {
  std::vector<PlannedBatch> batches;
  PlannedBatch now;
  for (size_t i = 0; i < examples.size(); ++i) {
    Lengths lengths = lengths_of(examples[i]);
    Lengths both{std::max(now.lengths.source, lengths.source),
                 std::max(now.lengths.target, lengths.target)};
    int64_t rows = int64_t{now.count} + 1;
    int64_t tokens = rows * std::max(both.source, both.target);
    bool full = (options.batch > 0 && rows > options.batch) ||
                (options.max_tokens > 0 && tokens > options.max_tokens);
    if (full && now.count > 0) {
      batches.push_back(now);
      now = {.first = static_cast<uint32_t>(i), .count = 0, .lengths = {}};
      both = lengths;
    }
    ++now.count;
    now.lengths = both;
  }
  if (now.count > 0) batches.push_back(now);
  return batches;
}

}  // namespace

Order order_by_length(int64_t count, const std::function<Lengths(uint32_t)>& lengths_of,
                      const OrderOptions& options, int64_t epoch) {
  Order order;
  order.examples.resize(static_cast<size_t>(count));
  std::iota(order.examples.begin(), order.examples.end(), 0);
  if (options.shuffled) shuffle(order.examples, Random(options.seed, epoch, kExampleOrder));
  Lengths longest = longest_of(count, lengths_of);
  // The source goes up and down by turns, so that it does not jump where the target changes.
  sort_by(order.examples, longest.source, [&](uint32_t example) {
    Lengths lengths = lengths_of(example);
    return lengths.target / options.multiple % 2 == 0 ? lengths.source
                                                      : longest.source - lengths.source;
  });
  sort_by(order.examples, longest.target,
          [&](uint32_t example) { return lengths_of(example).target; });
  order.batches = cut(order.examples, lengths_of, options);
  if (options.shuffled) shuffle(order.batches, Random(options.seed, epoch, kBatchOrder));
  return order;
}

}  // namespace weft::data
