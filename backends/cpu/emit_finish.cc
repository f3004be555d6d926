// What follows a product, done while its sums are in registers: each micro-tile computes and stores
// its part of the results, so that memory is written while the next ones multiply.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "backends/cpu/product.h"

namespace weft::cpu {

using tile::Block;
using tile::Stmt;
using tile::Value;

namespace {

// Calls fn for the values that computing this one reads.
template <class Fn>
bool all_parts(const Value& value, const Fn& fn) {
  bool all = true;
  tile::for_each_use(value, [&](tile::ValueId id) { all = all && (id == tile::kNone || fn(id)); });
  return all;
}

}  // namespace

// True if one element of it follows from one of the product's sums.
bool KernelEmitter::follows_sum(ValueId id, ValueId sum) const {
  if (id == sum || !depends_on(id, {sum})) return true;
  if (is_reduced(id) || tile_dots_.contains(id)) return false;
  return all_parts(program_.values[id], [&](ValueId part) { return follows_sum(part, sum); });
}

// Finds the sums over rows by which a value depends on the product; false if there is another way.
bool KernelEmitter::find_column_sums(ValueId id, const Product& product,
                                     std::set<ValueId>& sums) const {
  if (!depends_on(id, {product.result})) return true;
  const Value& value = program_.values[id];
  if (id == product.result || value.kind == Value::dot) return false;
  if (value.kind != Value::reduce || !is_reduced(id)) {
    return all_parts(value, [&](ValueId part) { return find_column_sums(part, product, sums); });
  }
  const bool columns = walked(value.axes_reduced) == std::vector<AxisId>{product.m} &&
                       walked(value.axes) == std::vector<AxisId>{product.n};
  if (!columns || value.reduction == tile::Reduce::argmax) return false;
  if (!follows_sum(value.operands[0], product.result)) return false;
  sums.insert(id);
  return true;
}

// Decides whether all that follows a product in its block can be computed from sums in registers:
// element by element, or as sums over rows. What else there is needs only those, and comes after.
bool KernelEmitter::plan_finish(Product& product, std::span<const Stmt> rest) {
  if (product.m == tile::kNone || product.inner || program_.in_grid(product.k)) return false;
  const std::vector<AxisId> axes = walked({product.m, product.n});
  if (axes.size() != 2) return false;
  std::set<ValueId> column_sums;
  std::set<const Stmt*> done;
  std::vector<Sink> sinks;
  for (const Stmt& stmt : rest) {
    if (stmt.kind == Stmt::let) {
      const bool needs_sum = depends_on(stmt.value, {product.result});
      if (needs_sum && follows_sum(stmt.value, product.result)) done.insert(&stmt);
      continue;
    }
    if (stmt.kind != Stmt::store && stmt.kind != Stmt::update) return false;
    std::vector<ValueId> parts;
    tile::for_each_use(stmt, [&](ValueId id) { parts.push_back(id); });
    std::erase(parts, tile::kNone);
    Sink sink = statement_sink(stmt);
    const bool follows =
        std::ranges::all_of(parts, [&](ValueId id) { return follows_sum(id, product.result); });
    if (follows && sink.axes == axes) {
      sinks.push_back(std::move(sink));
      done.insert(&stmt);
      continue;
    }
    for (ValueId id : parts) {
      if (!find_column_sums(id, product, column_sums)) return false;
    }
  }
  if (sinks.empty() && column_sums.empty()) return false;
  product.finish = std::move(sinks);
  product.column_sums.assign(column_sums.begin(), column_sums.end());
  done_.insert(done.begin(), done.end());
  return true;
}

// Computes by nests of their own what the rest of a block needs and the product does not give.
void KernelEmitter::prepare_besides(ValueId id, ValueId sum) {
  if (id == tile::kNone || id == sum) return;
  if (!depends_on(id, {sum})) return prepare(id);
  tile::for_each_use(program_.values[id], [&](ValueId part) { prepare_besides(part, sum); });
}

void KernelEmitter::prepare_finish(Product& product) {
  for (const Sink& sink : product.finish) {
    tile::for_each_use(*sink.stmt, [&](ValueId id) { prepare_besides(id, product.result); });
  }
  for (ValueId id : product.column_sums) prepare_besides(id, product.result);
  flush();
  for (ValueId id : product.column_sums) {
    const Value& value = program_.values[id];
    llvm::Value* start = neutral(value.reduction, value.dtype);
    Slot slot = make_slot(value.dtype, {product.n}, "columns");
    apart([&] {
      const AxisState& n = axes_[product.n];
      auto clear = [&](llvm::Value* at, int lanes) {
        at_level(product.n, at, lanes, [&] { store_slot(slot, value.dtype, splat(start, lanes)); });
      };
      for_each_part(n.base, ir_.CreateAdd(n.base, n.size), product.lanes, clear);
    });
    product.column_slots.push_back(slot);
  }
  find_far_loads(product);
}

// Loads of what is done to the sums that lie as the results do, and whether it takes much code.
void KernelEmitter::find_far_loads(Product& product) {
  std::set<ValueId> seen;
  std::function<void(ValueId)> visit = [&](ValueId id) {
    if (id == tile::kNone || slots_.contains(id) || !seen.insert(id).second) return;
    const Value& value = program_.values[id];
    const bool both = walked(value.axes).size() == 2;
    product.long_finish |= both && value.kind == Value::map && info(value.op).has(kCostly);
    if (both && is_plain_load(id) && step_along(id, product.n).is_constant(1)) {
      product.far_loads.push_back(id);
    }
    tile::for_each_use(value, visit);
  };
  for (const Sink& sink : product.finish) visit(sink.value);
  for (ValueId id : product.column_sums) visit(program_.values[id].operands[0]);
}

// Vectors from `begin` to `end`, then single elements.
void KernelEmitter::for_each_part(llvm::Value* begin, llvm::Value* end, int lanes,
                                  const std::function<void(llvm::Value*, int)>& body) {
  llvm::Value* left = ir_.CreateSub(end, begin);
  llvm::Value* stop = ir_.CreateSub(end, ir_.CreateSRem(left, i64(lanes)));
  if (lanes > 1) {
    loop(begin, stop, i64(lanes), "part",
         [&](llvm::Value* at) { apart([&] { body(at, lanes); }); });
  }
  loop(stop, end, i64(1), "part.rest", [&](llvm::Value* at) { apart([&] { body(at, 1); }); });
}

// Asks for what the micro-tile's results are computed with besides its sums.
void KernelEmitter::prefetch_far(const Product& product, llvm::Value* row, llvm::Value* column) {
  const int64_t line = 64 / byte_size(product.memory);
  llvm::Value* first = clamped(product.n, column);
  for (ValueId id : product.far_loads) {
    const Value& value = program_.values[id];
    for (int i = 0; i < product.rows; ++i) {
      at_level(product.m, clamped(product.m, ir_.CreateAdd(row, i64(i))), 1, [&] {
        at_level(product.n, first, 1, [&] {
          llvm::Value* from = element_address(buffer_addresses_[value.ref.buffer],
                                              offset(value.ref, nullptr).first, value.dtype);
          for (int64_t at = 0; at < product.columns(); at += line) {
            prefetch(ir_.CreateGEP(memory_type(value.dtype), from, i64(at)), /*nearest=*/true);
          }
        });
      });
    }
  }
}

// Rows of results that begin at one column: `sums` has one for each row, or they are in scratch.
void KernelEmitter::finish_columns_at(const Product& product, llvm::Value* row, llvm::Value* column,
                                      int lanes, const std::vector<llvm::Value*>& sums) {
  const Nest nest{.sinks = product.finish, .lanes = lanes};
  at_level(product.n, column, lanes, [&] {
    std::vector<llvm::Value*> totals;
    for (size_t i = 0; i < product.column_sums.size(); ++i) {
      const Value& value = program_.values[product.column_sums[i]];
      totals.push_back(load_slot(product.column_slots[i], value.dtype));
    }
    for (size_t r = 0; r < std::max<size_t>(1, sums.size()); ++r) {
      at_level(product.m, ir_.CreateAdd(row, i64(static_cast<int64_t>(r))), 1, [&] {
        lanes_ = lanes;
        if (!sums.empty()) levels_.back().known[product.result] = sums[r];
        for (size_t i = 0; i < totals.size(); ++i) {
          const Value& value = program_.values[product.column_sums[i]];
          llvm::Value* term = eval_lanes(value.operands[0]);
          totals[i] = combine(value.reduction, totals[i], term, value.dtype);
        }
        emit_body(nest, lanes, 0);
      });
    }
    lanes_ = lanes;
    for (size_t i = 0; i < totals.size(); ++i) {
      const DType dtype = program_.values[product.column_sums[i]].dtype;
      store_slot(product.column_slots[i], dtype, totals[i]);
    }
  });
}

// The micro-tile at (row, column) is complete: `sums` row by row.
void KernelEmitter::finish_micro_tile(const Product& product, llvm::Value* row, llvm::Value* column,
                                      const std::vector<llvm::Value*>& sums) {
  llvm::Value* first_row = ir_.CreateAdd(axes_[product.m].base, row);
  llvm::Value* first_column = ir_.CreateAdd(axes_[product.n].base, column);
  for (int v = 0; v < product.vectors; ++v) {
    std::vector<llvm::Value*> of_column;
    for (int r = 0; r < product.rows; ++r) {
      of_column.push_back(sums[static_cast<size_t>(r * product.vectors + v)]);
    }
    llvm::Value* at = ir_.CreateAdd(first_column, i64(v * product.lanes));
    apart([&] { finish_columns_at(product, first_row, at, product.lanes, of_column); });
  }
}

// The same, in loops, for one at the border or whose results take much code: its sums are in
// scratch, where they just were written.
void KernelEmitter::finish_in_scratch(const Product& product, llvm::Value* row,
                                      llvm::Value* column) {
  auto limit = [&](AxisId axis, llvm::Value* first, int64_t most) {
    llvm::Value* here = ir_.CreateAdd(axes_[axis].base, first);
    llvm::Value* end = ir_.CreateAdd(axes_[axis].base, axes_[axis].size);
    return std::pair(here, min64(end, ir_.CreateAdd(here, i64(most))));
  };
  const auto [first_row, row_end] = limit(product.m, row, product.rows);
  const auto [first_column, column_end] = limit(product.n, column, product.columns());
  slots_[product.result] = product.sums;
  loop(first_row, row_end, i64(1), "row", [&](llvm::Value* m) {
    for_each_part(first_column, column_end, product.lanes,
                  [&](llvm::Value* n, int lanes) { finish_columns_at(product, m, n, lanes, {}); });
  });
  slots_.erase(product.result);
}

}  // namespace weft::cpu
