// The inner loops of a product: a micro-tile's sums in registers while k runs.
// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/product.h"

namespace weft::cpu {

using tile::Value;

namespace {

// Of rhs read in place: no prefetcher follows steps of a whole row.
constexpr int64_t kRowsAhead = 32;

}  // namespace

// The address of a plain load's element where the axis has the given coordinate and k is `begin`.
llvm::Value* KernelEmitter::plain_address(const Product& product, ValueId id, AxisId axis,
                                          llvm::Value* coordinate, llvm::Value* begin) {
  const Value& value = program_.values[id];
  llvm::Value* address = nullptr;
  auto at_start = [&] {
    at_level(product.k, ir_.CreateAdd(product.k_base, begin), 1, [&] {
      address = element_address(buffer_addresses_[value.ref.buffer],
                                offset(value.ref, nullptr).first, value.dtype);
    });
  };
  if (axis == tile::kNone) {
    at_start();
  } else {
    at_level(axis, coordinate, 1, at_start);
  }
  return address;
}

// `local` counts from the tile's first coordinate; those beyond the last repeat it.
llvm::Value* KernelEmitter::clamped(AxisId axis, llvm::Value* local) {
  if (axis == tile::kNone) return nullptr;
  llvm::Value* last = ir_.CreateSub(axes_[axis].size, i64(1));
  return ir_.CreateAdd(axes_[axis].base, min64(local, last));
}

// The rows of lhs that a micro-tile reads: addresses of their elements where k is `begin`, and the
// distance to the next k. The sums of rows beyond the last are not used.
KernelEmitter::Streams KernelEmitter::lhs_streams(const Product& product, llvm::Value* first,
                                                  llvm::Value* begin) {
  Streams streams;
  if (product.near_lhs != nullptr) {
    const int64_t across = product.near_along_m ? 1 : product.near_step;
    llvm::Value* line = product.near_along_m ? ir_.CreateSDiv(first, i64(product.rows)) : first;
    llvm::Value* start = ir_.CreateMul(line, i64(product.near_step));
    llvm::Value* near = near_block(product, begin);
    llvm::Value* address = element_address(near, start, product.memory);
    for (int i = 0; i < product.rows; ++i) {
      streams.addresses.push_back(element_address(address, i64(i * across), product.memory));
    }
    streams.step = i64(product.near_along_m ? product.rows : 1);
    return streams;
  }
  if (product.packed_lhs != nullptr) {
    llvm::Value* start =
        ir_.CreateAdd(ir_.CreateMul(first, product.depth), ir_.CreateMul(begin, i64(product.rows)));
    for (int i = 0; i < product.rows; ++i) {
      streams.addresses.push_back(
          element_address(product.packed_lhs, ir_.CreateAdd(start, i64(i)), product.memory));
    }
    streams.step = i64(product.rows);
    return streams;
  }
  streams.step = dim(step_along(product.lhs, product.k));
  for (int i = 0; i < product.rows; ++i) {
    llvm::Value* row = clamped(product.m, ir_.CreateAdd(first, i64(i)));
    streams.addresses.push_back(plain_address(product, product.lhs, product.m, row, begin));
  }
  return streams;
}

// The columns of rhs: where they are when k is `begin`, and the distance to the next k.
KernelEmitter::Streams KernelEmitter::rhs_stream(const Product& product, llvm::Value* first,
                                                 llvm::Value* begin) {
  if (product.laid_out > 0) {
    llvm::Value* buffer = buffer_addresses_[program_.values[product.rhs].ref.buffer];
    Streams streams{{}, i64(product.laid_out)};
    for (int panel = 0; panel < product.side; ++panel) {
      // Beyond the last panel it is read again, for sums that nobody uses.
      llvm::Value* column = ir_.CreateAdd(first, i64(panel * product.laid_out));
      if (panel > 0) {
        column = clamped(product.n, column);
        column = ir_.CreateSub(column, ir_.CreateURem(column, i64(product.laid_out)));
        column = ir_.CreateSub(column, axes_[product.n].base);
      }
      llvm::Value* at = laid_out_at(product, column, begin);
      streams.addresses.push_back(element_address(buffer, at, product.memory));
    }
    return streams;
  }
  llvm::Value* step = i64(product.columns());
  llvm::Value* start =
      ir_.CreateAdd(ir_.CreateMul(first, product.depth), ir_.CreateMul(begin, step));
  llvm::Value* panel = element_address(product.panels, start, product.memory);
  if (product.in_place == nullptr) return {{panel}, step};
  llvm::Value* left = ir_.CreateSub(axes_[product.n].size, first);
  llvm::Value* whole = ir_.CreateICmpSGE(left, i64(product.columns()));
  llvm::Value* here = ir_.CreateAnd(product.in_place, whole);
  llvm::Value* column = ir_.CreateAdd(axes_[product.n].base, first);
  llvm::Value* address = plain_address(product, product.rhs, product.n, column, begin);
  return {{ir_.CreateSelect(here, address, panel)},
          ir_.CreateSelect(here, dim(step_along(product.rhs, product.k)), step)};
}

// Of rhs in panels of its own: the place of column `first` of the tile where k is `begin`.
llvm::Value* KernelEmitter::laid_out_at(const Product& product, llvm::Value* first,
                                        llvm::Value* begin) {
  llvm::Value* columns = i64(product.laid_out);
  llvm::Value* column = ir_.CreateAdd(axes_[product.n].base, first);
  llvm::Value* within = ir_.CreateURem(column, columns);
  llvm::Value* depth = dim(program_.axes[product.k].dim);
  llvm::Value* panel = ir_.CreateMul(ir_.CreateSub(column, within), depth);
  llvm::Value* row = ir_.CreateMul(ir_.CreateAdd(product.k_base, begin), columns);
  return ir_.CreateAdd(ir_.CreateAdd(panel, row), within);
}

// While a panel in memory is multiplied, the one that comes next moves nearer: the micro-kernel
// reads faster than memory gives. Each step of k asks for its share of it, in bytes, but for no
// more than a line: many lines asked for at once would keep the step's own loads waiting.
llvm::Value* KernelEmitter::panel_share(const Product& product) {
  constexpr int64_t kLine = 64;
  if (product.laid_out == 0 || product.m == tile::kNone || product.side > 1) return nullptr;
  llvm::Value* size = ir_.CreateAdd(axes_[product.m].size, i64(product.rows - 1));
  llvm::Value* tiles = ir_.CreateUDiv(size, i64(product.rows));
  tiles = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, tiles, i64(1));
  llvm::Value* all = ir_.CreateAdd(tiles, i64(product.laid_out * byte_size(product.memory) - 1));
  return min64(ir_.CreateUDiv(all, tiles), i64(kLine));
}

// Where the micro-tile's share of the next panel begins: of the panel to the right; after the last
// one of the first, further along k; in the end of that of the next program.
llvm::Value* KernelEmitter::next_panel(const Product& product, llvm::Value* share,
                                       const MicroPlace& at, llvm::Value* begin) {
  if (share == nullptr) return nullptr;
  llvm::Value* right = ir_.CreateAdd(at.column, i64(product.columns()));
  llvm::Value* last = ir_.CreateICmpSGE(right, axes_[product.n].size);
  llvm::Value* done = ir_.CreateAnd(last, ir_.CreateICmpSGE(at.end, product.depth));
  llvm::Value* next = ir_.CreateSelect(ir_.CreateICmpEQ(last, done), right, i64(0));
  llvm::Value* from = ir_.CreateSelect(done, i64(0), ir_.CreateSelect(last, at.end, begin));
  llvm::Value* number = ir_.CreateUDiv(at.row, i64(product.rows));
  llvm::Value* buffer = buffer_addresses_[program_.values[product.rhs].ref.buffer];
  // Not in bounds: at the end nothing follows, which a prefetch does not mind.
  llvm::Value* start =
      ir_.CreateGEP(memory_type(product.memory), buffer, laid_out_at(product, next, from));
  llvm::Value* steps = ir_.CreateMul(number, ir_.CreateSub(at.end, begin));
  llvm::Value* skipped = ir_.CreateMul(steps, share);
  return ir_.CreateGEP(ir_.getInt8Ty(), start, skipped);
}

// Sums of a tile do not stay near the core from one block of k to the next: those of the next
// micro-tile are asked for, unless there is but one block.
void KernelEmitter::prefetch_sums(const Product& product, llvm::Value* row, llvm::Value* column) {
  if (product.m == tile::kNone || product.few) return;
  llvm::Value* below = ir_.CreateAdd(row, i64(product.rows));
  llvm::Value* right = ir_.CreateAdd(column, i64(product.columns()));
  llvm::Value* ends = product.keeps_rows ? ir_.CreateICmpSGE(right, axes_[product.n].size)
                                         : ir_.CreateICmpSGE(below, axes_[product.m].size);
  if (product.keeps_rows) {
    row = ir_.CreateSelect(ends, below, row);
    column = ir_.CreateSelect(ends, i64(0), right);
  } else {
    row = ir_.CreateSelect(ends, i64(0), below);
    column = ir_.CreateSelect(ends, right, column);
  }
  const int64_t line = 64 / byte_size(product.memory);
  if_then(ir_.CreateICmpSGT(product.depth, i64(product.k_block)), [&] {
    for (int i = 0; i < product.rows; ++i) {
      llvm::Value* start = ir_.CreateMul(ir_.CreateAdd(row, i64(i)), dim(product.sums.strides[0]));
      for (int64_t at = 0; at < product.columns(); at += line) {
        // Not in bounds: after the last one nothing follows, which a prefetch does not mind.
        llvm::Value* there = ir_.CreateAdd(start, ir_.CreateAdd(column, i64(at)));
        prefetch(ir_.CreateGEP(memory_type(product.memory), product.sums.address, there),
                 /*nearest=*/true);
      }
    }
  });
}

llvm::Value* KernelEmitter::sum_address(const Product& product, llvm::Value* row,
                                        llvm::Value* column) {
  llvm::Value* at = column;
  if (product.m != tile::kNone) {
    at = ir_.CreateAdd(at, ir_.CreateMul(row, dim(product.sums.strides[0])));
  }
  return element_address(product.sums.address, at, product.memory);
}

llvm::Value* KernelEmitter::add_product(const Product& product, llvm::Value* sum, llvm::Value* a,
                                        llvm::Value* b) {
  llvm::Value* term = emit_map(Op::mul, {a, b}, product.memory, product.memory);
  return emit_map(Op::add, {sum, term}, product.memory, product.memory);
}

// Asks for the cache line at the address: into all caches, or only those further from the core.
void KernelEmitter::prefetch(llvm::Value* address, bool nearest) {
  ir_.CreateIntrinsic(llvm::Intrinsic::prefetch, {address->getType()},
                      {address, ir_.getInt32(0), ir_.getInt32(nearest ? 3 : 2), ir_.getInt32(1)});
}

// One step of k: every row's element times every vector of columns.
void KernelEmitter::multiply_step(const Product& product, const Streams& rows,
                                  const Streams& columns, llvm::Value* k,
                                  const std::vector<llvm::AllocaInst*>& sums) {
  llvm::Type* vector = with_lanes(product.type, product.lanes);
  const llvm::Align align = alignment(product.memory);
  std::vector<llvm::Value*> across;
  for (int v = 0; v < product.vectors; ++v) {
    llvm::Value* at = ir_.CreateAdd(ir_.CreateMul(k, columns.step), i64(product.within_panel(v)));
    llvm::Value* from = columns.addresses[static_cast<size_t>(product.panel_of(v))];
    across.push_back(
        ir_.CreateAlignedLoad(vector, element_address(from, at, product.memory), align));
  }
  if (product.prefetch_rhs) {
    llvm::Value* later = ir_.CreateMul(ir_.CreateAdd(k, i64(kRowsAhead)), columns.step);
    for (int v = 0; v < product.vectors; ++v) {
      llvm::Value* at = ir_.CreateAdd(later, i64(v * product.lanes));
      prefetch(ir_.CreateGEP(memory_type(product.memory), columns.addresses[0], at), true);
    }
  }
  llvm::Value* along = ir_.CreateMul(k, rows.step);
  for (size_t r = 0; r < rows.addresses.size(); ++r) {
    llvm::Value* address = element_address(rows.addresses[r], along, product.memory);
    llvm::Value* element =
        splat(ir_.CreateAlignedLoad(product.type, address, align), product.lanes);
    for (size_t v = 0; v < across.size(); ++v) {
      llvm::AllocaInst* sum = sums[r * across.size() + v];
      llvm::Value* old = ir_.CreateLoad(vector, sum);
      ir_.CreateStore(add_product(product, old, element, across[v]), sum);
    }
  }
}

void KernelEmitter::multiply(const Product& product) {
  llvm::Value* share = panel_share(product);
  for_each_micro_tile(
      product, [&](llvm::Value* row, llvm::Value* column, llvm::Value* begin, llvm::Value* end) {
        const Streams rows = lhs_streams(product, row, begin);
        const Streams columns = rhs_stream(product, column, begin);
        prefetch_near(product, row, column, begin, end);
        llvm::Value* ahead = next_panel(product, share, {row, column, end}, begin);
        prefetch_sums(product, row, column);
        std::vector<llvm::Value*> addresses;
        for (int i = 0; i < product.rows * product.vectors; ++i) {
          llvm::Value* at = ir_.CreateAdd(column, i64(i % product.vectors * product.lanes));
          llvm::Value* down = ir_.CreateAdd(row, i64(i / product.vectors));
          addresses.push_back(sum_address(product, down, at));
        }
        const std::vector<llvm::AllocaInst*> sums = start_sums(product, addresses, begin);
        if (product.finishes) {
          if_then(ir_.CreateICmpSGE(end, product.depth),
                  [&] { apart([&] { prefetch_far(product, row, column); }); });
        }
        loop(i64(0), ir_.CreateSub(end, begin), i64(1), "k", [&](llvm::Value* k) {
          multiply_step(product, rows, columns, k, sums);
          if (ahead == nullptr) return;
          prefetch(ir_.CreateGEP(ir_.getInt8Ty(), ahead, ir_.CreateMul(k, share)), false);
        });
        end_sums(product, {row, column, end}, sums, addresses);
      });
}

// The sums of a micro-tile as they are before a block of k.
std::vector<llvm::AllocaInst*> KernelEmitter::start_sums(const Product& product,
                                                         const std::vector<llvm::Value*>& addresses,
                                                         llvm::Value* begin) {
  llvm::Type* vector = with_lanes(product.type, product.lanes);
  std::vector<llvm::AllocaInst*> sums;
  for (size_t i = 0; i < addresses.size(); ++i) {
    sums.push_back(new_register(vector, "sum"));
    if (product.finishes) ir_.CreateStore(llvm::Constant::getNullValue(vector), sums[i]);
  }
  auto read = [&] {
    for (size_t i = 0; i < sums.size(); ++i) {
      llvm::Value* old = ir_.CreateAlignedLoad(vector, addresses[i], alignment(product.memory));
      ir_.CreateStore(old, sums[i]);
    }
  };
  product.finishes ? if_then(ir_.CreateICmpNE(begin, i64(0)), read) : read();
  return sums;
}

// What becomes of them after it: they go to scratch, or are complete.
void KernelEmitter::end_sums(const Product& product, const MicroPlace& at,
                             const std::vector<llvm::AllocaInst*>& sums,
                             const std::vector<llvm::Value*>& addresses) {
  std::vector<llvm::Value*> values;
  for (llvm::AllocaInst* sum : sums) {
    values.push_back(ir_.CreateLoad(sum->getAllocatedType(), sum));
  }
  auto write = [&] {
    for (size_t i = 0; i < values.size(); ++i) {
      ir_.CreateAlignedStore(values[i], addresses[i], alignment(product.memory));
    }
  };
  if (!product.finishes) return write();
  auto inside = [&](AxisId axis, llvm::Value* first, int64_t count) {
    return ir_.CreateICmpSLE(ir_.CreateAdd(first, i64(count)), axes_[axis].size);
  };
  llvm::Value* last = ir_.CreateICmpSGE(at.end, product.depth);
  llvm::Value* whole = ir_.CreateAnd(inside(product.m, at.row, product.rows),
                                     inside(product.n, at.column, product.columns()));
  if (product.long_finish) whole = ir_.getFalse();
  llvm::Value* now = ir_.CreateAnd(last, whole);
  if_then(now, [&] { finish_micro_tile(product, at.row, at.column, values); });
  if_then(ir_.CreateNot(now), write);
  if_then(ir_.CreateAnd(last, ir_.CreateNot(whole)),
          [&] { finish_in_scratch(product, at.row, at.column); });
}

}  // namespace weft::cpu
