// One row times panels in memory, where the number of rows is known only when a kernel runs:
// nothing is computed twice, so memory is the limit, and it gives more to several streams than to
// one.
// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/product.h"

namespace weft::cpu {

namespace {

constexpr int64_t kStreams = 4;           // panels read side by side
constexpr int64_t kWholeDepth = 1 << 30;  // k is walked once

}  // namespace

void KernelEmitter::unless_one_row(const Product& product, const Dim& depth,
                                   const std::function<void()>& body) {
  const bool any_rows = product.m != tile::kNone && !program_.axes[product.m].dim.is_constant();
  if (!any_rows || product.laid_out == 0 || !product.finishes || !product.column_sums.empty()) {
    return body();
  }
  Product one = product;
  one.rows = 1;
  one.side = static_cast<int>(kStreams);
  one.vectors = static_cast<int>(kStreams * product.laid_out / product.lanes);
  if (one.vectors + 2 > target_.vector_registers) return body();
  one.k_block = kWholeDepth;
  one.sums.address =
      new_scratch(round_up(most_coordinates(product.n), one.columns()), product.memory, "row");
  llvm::Value* single = ir_.CreateICmpEQ(dim(program_.axes[product.m].dim), i64(1));
  if_then(single, [&] {
    pack_lhs(one, depth);
    multiply(one);
  });
  if_then(ir_.CreateNot(single), body);
}

}  // namespace weft::cpu
