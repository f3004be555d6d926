// A rhs that lies along k, turned in registers on its way to panels: each line of memory is read
// once. Taken element by element, columns a power of two apart would drive each other out of the
// first cache before the next k reads the same lines.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "backends/cpu/product.h"

namespace weft::cpu {

namespace {

using Vectors = std::vector<llvm::Value*>;
using IR = llvm::IRBuilderBase;

constexpr int kLaneBits = 128;  // x86 moves elements within so many bits by one cheap instruction

int elements(llvm::Value* vector) {
  return static_cast<int>(llvm::cast<llvm::FixedVectorType>(vector->getType())->getNumElements());
}

// Chunks of `chunk` elements of a and b by turns, from the lower or upper half of each `lane`.
llvm::Value* interleaved(IR& ir, llvm::Value* a, llvm::Value* b, int chunk, int lane, bool upper) {
  std::vector<int> from;
  for (int i = 0; i < elements(a); ++i) {
    const int within = i % lane;
    const int source = i - within + within / (2 * chunk) * chunk + (upper ? lane / 2 : 0);
    from.push_back(source + within % chunk + (within / chunk % 2 == 0 ? 0 : elements(a)));
  }
  return ir.CreateShuffleVector(a, b, from);
}

// Every other lane of a, then of b.
llvm::Value* every_other(IR& ir, llvm::Value* a, llvm::Value* b, int lane, int first) {
  std::vector<int> from;
  for (int i = 0; i < elements(a); ++i) {
    from.push_back((2 * (i / lane) + first) * lane + i % lane);  // b follows a
  }
  return ir.CreateShuffleVector(a, b, from);
}

// Turns the square in each lane of as many rows as a lane has elements.
Vectors turn_in_lanes(IR& ir, const Vectors& rows, int chunk, int lane) {
  if (rows.size() == 1) return rows;
  Vectors low;
  Vectors high;
  for (size_t i = 0; i < rows.size(); i += 2) {
    low.push_back(interleaved(ir, rows[i], rows[i + 1], chunk, lane, false));
    high.push_back(interleaved(ir, rows[i], rows[i + 1], chunk, lane, true));
  }
  Vectors result = turn_in_lanes(ir, low, 2 * chunk, lane);
  for (llvm::Value* row : turn_in_lanes(ir, high, 2 * chunk, lane)) result.push_back(row);
  return result;
}

// Turns the square whose elements are whole lanes.
Vectors turn_lanes(IR& ir, const Vectors& rows, int lane) {
  if (rows.size() == 1) return rows;
  Vectors even;
  Vectors odd;
  for (size_t i = 0; i < rows.size(); i += 2) {
    even.push_back(every_other(ir, rows[i], rows[i + 1], lane, 0));
    odd.push_back(every_other(ir, rows[i], rows[i + 1], lane, 1));
  }
  even = turn_lanes(ir, even, lane);
  odd = turn_lanes(ir, odd, lane);
  Vectors result;
  for (size_t i = 0; i < even.size(); ++i) {
    result.push_back(even[i]);
    result.push_back(odd[i]);
  }
  return result;
}

// Element j of row i becomes element i of row j. As many rows as elements, a power of two.
Vectors turned(IR& ir, const Vectors& rows) {
  const auto size = static_cast<int>(rows.size());
  const int bits = static_cast<int>(rows[0]->getType()->getScalarSizeInBits());
  const int lane = std::min(size, kLaneBits / bits);
  const auto count = static_cast<size_t>(size / lane);
  Vectors result(rows.size());
  std::vector<Vectors> squares;
  for (size_t first = 0; first < rows.size(); first += static_cast<size_t>(lane)) {
    const auto begin = rows.begin() + static_cast<std::ptrdiff_t>(first);
    squares.push_back(turn_in_lanes(ir, Vectors(begin, begin + lane), 1, lane));
  }
  for (size_t j = 0; j < static_cast<size_t>(lane); ++j) {
    Vectors across;
    for (const Vectors& square : squares) across.push_back(square[j]);
    const Vectors done = turn_lanes(ir, across, lane);
    for (size_t i = 0; i < count; ++i) result[i * static_cast<size_t>(lane) + j] = done[i];
  }
  return result;
}

}  // namespace

bool KernelEmitter::turns_rhs(const Product& product) const {
  return product.lanes > 1 && is_plain_load(product.rhs) &&
         program_.values[product.rhs].dtype == product.memory &&
         step_along(product.rhs, product.k).is_constant(1);
}

// Rows [k, k + lanes) of the panel whose first column is `first`.
void KernelEmitter::pack_turned(const Product& product, llvm::Value* first, llvm::Value* k) {
  const llvm::Align align = alignment(product.memory);
  llvm::Type* vector = with_lanes(product.type, product.lanes);
  llvm::Value* local = ir_.CreateSub(first, axes_[product.n].base);
  for (int v = 0; v < product.vectors; ++v) {
    Vectors columns;
    for (int lane = 0; lane < product.lanes; ++lane) {
      llvm::Value* column = ir_.CreateAdd(first, i64(v * product.lanes + lane));
      llvm::Value* from = plain_address(product, product.rhs, product.n, column, k);
      columns.push_back(ir_.CreateAlignedLoad(vector, from, align));
    }
    const Vectors rows = turned(ir_, columns);
    for (int lane = 0; lane < product.lanes; ++lane) {
      llvm::Value* row = ir_.CreateMul(ir_.CreateAdd(k, i64(lane)), i64(product.columns()));
      llvm::Value* at = ir_.CreateAdd(ir_.CreateMul(local, product.depth), row);
      at = ir_.CreateAdd(at, i64(v * product.lanes));
      ir_.CreateAlignedStore(rows[static_cast<size_t>(lane)],
                             element_address(product.panels, at, product.memory), align);
    }
  }
}

}  // namespace weft::cpu
