// SPDX-License-Identifier: Apache-2.0
#include "driver/train/attention_statistics.h"

#include <cmath>

namespace weft::train {
namespace {

struct Sizes {
  size_t batch = 1, heads = 1, rows = 1, columns = 1;
};

Sizes sizes_of(const HostTensor& weights) {
  Sizes sizes;
  const std::vector<int64_t>& shape = weights.shape;
  if (shape.size() < 2) return sizes;
  sizes.columns = static_cast<size_t>(shape[shape.size() - 1]);
  sizes.rows = static_cast<size_t>(shape[shape.size() - 2]);
  if (shape.size() > 2) sizes.batch = static_cast<size_t>(shape[0]);
  for (size_t i = 1; i + 2 < shape.size(); ++i) sizes.heads *= static_cast<size_t>(shape[i]);
  return sizes;
}

class Sums {
 public:
  Sums(const HostTensor& weights, Sizes sizes)
      : weights_(weights), sizes_(sizes), sums_(sizes.heads, HeadStatistics{0, 0, 0}) {}

  void add_row(size_t example, size_t row) {
    read(example, row);
    if (total(0) == 0) return;  // the mask is the same for all heads
    ++rows_;
    for (size_t head = 0; head < sizes_.heads; ++head) {
      for (size_t column = 0; column < sizes_.columns; ++column) {
        const double p = at(head, column);
        const double steps = std::fabs(static_cast<double>(column) - static_cast<double>(row));
        if (p > 0) sums_[head].entropy -= p * std::log(p);
        sums_[head].distance += p * steps;
      }
      for (size_t other = 0; other < head; ++other) add_pair(head, other);
    }
  }

  std::vector<HeadStatistics> means() const {
    if (rows_ == 0) return {};
    std::vector<HeadStatistics> result = sums_;
    const auto rows = static_cast<double>(rows_);
    for (HeadStatistics& head : result) {
      head.entropy /= rows;
      head.distance /= rows;
      head.diversity =
          sizes_.heads > 1 ? head.diversity / rows / static_cast<double>(sizes_.heads - 1) : -1;
      if (!std::isfinite(head.entropy + head.distance + head.diversity)) return {};
    }
    return result;
  }

 private:
  double at(size_t head, size_t column) const { return row_[head * sizes_.columns + column]; }

  // The weights of all heads.
  void read(size_t example, size_t row) {
    row_.resize(sizes_.heads * sizes_.columns);
    for (size_t head = 0; head < sizes_.heads; ++head) {
      const size_t begin = ((example * sizes_.heads + head) * sizes_.rows + row) * sizes_.columns;
      for (size_t column = 0; column < sizes_.columns; ++column) {
        row_[head * sizes_.columns + column] = real_at(weights_, begin + column);
      }
    }
  }

  double total(size_t head) const {
    double sum = 0;
    for (size_t column = 0; column < sizes_.columns; ++column) sum += at(head, column);
    return sum;
  }

  void add_pair(size_t head, size_t other) {
    double apart = 0;
    for (size_t column = 0; column < sizes_.columns; ++column) {
      apart += std::fabs(at(head, column) - at(other, column)) / 2;
    }
    sums_[head].diversity += apart;
    sums_[other].diversity += apart;
  }

  const HostTensor& weights_;
  Sizes sizes_;
  std::vector<HeadStatistics> sums_;
  std::vector<double> row_;
  size_t rows_ = 0;
};

}  // namespace

std::vector<HeadStatistics> attention_statistics(const HostTensor& weights,
                                                 const std::vector<bool>& counts) {
  const Sizes sizes = sizes_of(weights);
  Sums sums(weights, sizes);
  for (size_t example = 0; example < sizes.batch; ++example) {
    for (size_t row = 0; row < sizes.rows; ++row) {
      const size_t at = example * sizes.rows + row;
      if (at < counts.size() && counts[at]) sums.add_row(example, row);
    }
  }
  return sums.means();
}

}  // namespace weft::train
