// Products of few rows whose operands both lie along k: lanes go along k, and sums are folded at
// the end.
// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/product.h"

namespace weft::cpu {

// Sums over k of products of `streams`, each of the first `rows` with each of the others.
std::vector<llvm::Value*> KernelEmitter::inner_products(const Product& product,
                                                        const std::vector<llvm::Value*>& streams,
                                                        llvm::Value* from, llvm::Value* to,
                                                        int lanes) {
  llvm::Type* type = with_lanes(product.type, lanes);
  const auto rows = static_cast<size_t>(product.rows);
  const size_t across = streams.size() - rows;
  std::vector<llvm::AllocaInst*> sums;
  for (size_t i = 0; i < rows * across; ++i) {
    sums.push_back(new_register(type, "sum"));
    ir_.CreateStore(llvm::Constant::getNullValue(type), sums.back());
  }
  loop(from, to, i64(lanes), "k", [&](llvm::Value* k) {
    std::vector<llvm::Value*> elements;
    for (llvm::Value* stream : streams) {
      elements.push_back(ir_.CreateAlignedLoad(type, element_address(stream, k, product.memory),
                                               alignment(product.memory)));
    }
    for (size_t i = 0; i < sums.size(); ++i) {
      llvm::Value* old = ir_.CreateLoad(type, sums[i]);
      llvm::Value* sum =
          add_product(product, old, elements[i / across], elements[rows + i % across]);
      ir_.CreateStore(sum, sums[i]);
    }
  });
  std::vector<llvm::Value*> results;
  for (llvm::AllocaInst* sum : sums) results.push_back(ir_.CreateLoad(type, sum));
  return results;
}

// Rows of lhs times rows of what rhs is the transpose of: both are read in vectors along k.
void KernelEmitter::multiply_inner(const Product& product) {
  const llvm::Align align = alignment(product.memory);
  auto plus = [&](llvm::Value* a, llvm::Value* b) {
    return emit_map(Op::add, {a, b}, product.memory, product.memory);
  };
  for_each_micro_tile(product, [&](llvm::Value* row, llvm::Value* column, llvm::Value* begin,
                                   llvm::Value* end) {
    std::vector<llvm::Value*> streams = lhs_streams(product, row, begin).addresses;
    for (int i = 0; i < product.vectors; ++i) {
      llvm::Value* at = clamped(product.n, ir_.CreateAdd(column, i64(i)));
      streams.push_back(plain_address(product, product.rhs, product.n, at, begin));
    }
    llvm::Value* count = ir_.CreateSub(end, begin);
    llvm::Value* stop = ir_.CreateSub(count, ir_.CreateSRem(count, i64(product.lanes)));
    std::vector<llvm::Value*> wide = inner_products(product, streams, i64(0), stop, product.lanes);
    std::vector<llvm::Value*> single = inner_products(product, streams, stop, count, 1);
    for (size_t i = 0; i < wide.size(); ++i) {
      llvm::Value* sum = wide[i];
      if (product.lanes > 1) sum = across_lanes(tile::Reduce::add, sum, product.memory);
      const auto at = static_cast<int64_t>(i);
      llvm::Value* address = sum_address(product, ir_.CreateAdd(row, i64(at / product.vectors)),
                                         ir_.CreateAdd(column, i64(at % product.vectors)));
      llvm::Value* old = ir_.CreateAlignedLoad(product.type, address, align);
      ir_.CreateAlignedStore(plus(old, plus(sum, single[i])), address, align);
    }
  });
}

}  // namespace weft::cpu
