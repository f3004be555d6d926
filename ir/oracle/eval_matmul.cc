// The oracle's matrix product.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/oracle/elements.h"

namespace weft {
namespace {

struct Extent {
  int64_t m, k, n;
};

// Adds the product of two matrices to `out`. Columns go in blocks, so that a block of `rhs` stays
// near while all rows pass over it; each sum still runs over k in ascending order.
template <class T, class Sum>
void add_product(const Extent& extent, const T* lhs, const T* rhs, Sum* out) {
  constexpr int64_t kColumns = 512;
  for (int64_t from = 0; from < extent.n; from += kColumns) {
    int64_t to = std::min(from + kColumns, extent.n);
    for (int64_t i = 0; i < extent.m; ++i) {
      Sum* row = out + i * extent.n;
      for (int64_t k = 0; k < extent.k; ++k) {
        auto factor = static_cast<Sum>(lhs[i * extent.k + k]);
        const T* other = rhs + k * extent.n;
        for (int64_t j = from; j < to; ++j) row[j] += factor * static_cast<Sum>(other[j]);
      }
    }
  }
}

// The shape without its last two axes, and the strides of its matrices in a result's batch.
Sizes batch_of(const Sizes& shape) { return Sizes(shape.begin(), shape.end() - 2); }

Sizes batch_strides(const Sizes& shape, const Sizes& batch) {
  Sizes strides = broadcast_strides(batch_of(shape), batch);
  for (int64_t& stride : strides) stride *= shape[shape.size() - 2] * shape[shape.size() - 1];
  return strides;
}

}  // namespace

EvalResult eval_matmul(const EvalArgs& args) {
  const Tensor& lhs = args.operand(0);
  const Tensor& rhs = args.operand(1);
  Tensor result = args.make_result();
  Extent extent{*(lhs.shape.end() - 2), lhs.shape.back(), rhs.shape.back()};
  WEFT_CHECK(*(rhs.shape.end() - 2) == extent.k, "matmul: the inner sizes are equal");
  // An empty batch may have matrices of any size, and empty matrices a batch of any.
  if (result.size() == 0) return single(std::move(result));
  Sizes batch = batch_of(result.shape);
  std::array<Sizes, 2> strides = {batch_strides(lhs.shape, batch), batch_strides(rhs.shape, batch)};
  by_storage(result, [&](auto zero) {
    using T = decltype(zero);
    auto& out = elements<T>(result);
    std::vector<Arithmetic<T>> sums(static_cast<size_t>(extent.m * extent.n));
    walk(batch, strides, [&](size_t i, const auto& at) {
      std::fill(sums.begin(), sums.end(), Arithmetic<T>{0});
      add_product(extent, elements<T>(lhs).data() + at[0], elements<T>(rhs).data() + at[1],
                  sums.data());
      std::transform(sums.begin(), sums.end(), out.begin() + static_cast<int64_t>(i * sums.size()),
                     [&](auto sum) { return settle(result.dtype, sum); });
    });
  });
  return single(std::move(result));
}

}  // namespace weft
