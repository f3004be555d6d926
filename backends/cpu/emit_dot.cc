// Matrix products: a loop over k that adds dots becomes panels and a register-blocked kernel.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "backends/cpu/product.h"
#include "ir/support/check.h"

namespace weft::cpu {

using tile::Stmt;
using tile::Value;

bool KernelEmitter::is_product_loop(const Stmt& stmt) const {
  if (stmt.carried.size() != 1 || stmt.from || stmt.to) return false;
  const tile::Axis& axis = program_.axes[stmt.axis];
  if (axis.inner && program_.size_of(*axis.inner) != program_.size_of(axis.extent)) return false;
  for (const Stmt& inside : stmt.body) {
    if (inside.kind != Stmt::let) return false;
  }
  const Value& dot = program_.values[stmt.yields[0]];
  if (dot.kind != Value::dot || dot.operands.size() != 3) return false;
  if (dot.operands[2] != stmt.carried[0] || dot.axes_reduced[0] != stmt.axis) return false;
  auto free_axes = [&](ValueId id) {
    std::vector<AxisId> axes = walked(program_.values[id].axes);
    std::erase(axes, stmt.axis);
    return axes;
  };
  std::vector<AxisId> m = free_axes(dot.operands[0]);
  std::vector<AxisId> n = free_axes(dot.operands[1]);
  bool is_matrix = m.size() <= 1 && n.size() == 1 && m != n;
  return is_matrix && walked(program_.values[stmt.carried[0]].axes).size() == m.size() + n.size() &&
         !depends_on(dot.operands[0], {stmt.carried[0]}) &&
         !depends_on(dot.operands[1], {stmt.carried[0]});
}

// True if its elements can be read from their buffer while multiplying.
bool KernelEmitter::is_plain_load(ValueId id) const {
  const Value& value = program_.values[id];
  if (value.kind != Value::load || value.where != tile::kNone || slots_.contains(id)) return false;
  if (is_float(value.dtype) && byte_size(value.dtype) == 2) return false;
  for (const tile::Index& at : value.ref.at) {
    bool affine = true;
    tile::for_each_term(
        at, [&](const tile::Index::Term& term) { affine &= term.kind == tile::Index::Term::axis; });
    if (!affine) return false;
  }
  return !options_.bounds_checks;
}

// Of a plain load: elements from one coordinate of the axis to the next.
Dim KernelEmitter::step_along(ValueId id, AxisId axis) const {
  const tile::Ref& ref = program_.values[id].ref;
  Dim step = 0;
  for (size_t d = 0; d < ref.at.size(); ++d) {
    step = step +
           tile::coefficient(ref.at[d], axis).value_or(0) * program_.buffers[ref.buffer].strides[d];
  }
  return step;
}

void KernelEmitter::emit_product_loop(const Stmt& stmt, std::span<const Stmt> rest) {
  const Value& dot = program_.values[stmt.yields[0]];
  Product product{.lhs = dot.operands[0], .rhs = dot.operands[1], .k = stmt.axis};
  for (AxisId axis : walked(program_.values[product.lhs].axes)) {
    if (axis != product.k) product.m = axis;
  }
  for (AxisId axis : walked(program_.values[product.rhs].axes)) {
    if (axis != product.k) product.n = axis;
  }
  product.type = register_type(dot.dtype);
  product.memory = is_float(dot.dtype) && byte_size(dot.dtype) == 2 ? DType::f32 : dot.dtype;
  product.lanes = std::max(1, target_.vector_bits / (8 * byte_size(product.memory)));
  // Operands are evaluated for every k at once: what they need is computed before.
  AxisState saved = axes_[product.k];
  const bool part = program_.axes[product.k].inner.has_value();
  const Dim depth = part ? most_coordinates(product.k) : program_.axes[product.k].dim;
  product.depth = part ? saved.size : dim(depth);
  product.k_base = part ? saved.base : i64(0);
  axes_[product.k] = {.base = product.k_base, .size = product.depth, .single = false};
  if (part) axes_[product.k].extent = saved.extent;
  prepare(product.lhs);
  late_randoms_ = &product.rhs_randoms;
  prepare(product.rhs);
  late_randoms_ = nullptr;
  prepare(stmt.init[0]);
  flush();

  shape_product(product);
  product.result = stmt.results[0];
  const Value& start = program_.values[stmt.init[0]];
  const bool from_zero = start.kind == Value::constant && start.number == 0 && start.integer == 0;
  product.finishes = from_zero && plan_finish(product, rest);
  if (product.finishes) prepare_finish(product);
  make_sums(product, stmt);
  if (product.inner) {
    multiply_inner(product);
  } else {
    unless_one_row(product, depth, [&] {
      if (product.laid_out == 0) pack_rhs(product, depth);
      pack_lhs(product, depth);
      multiply(product);
    });
  }
  axes_[product.k] = saved;
  if (!product.finishes) slots_[stmt.results[0]] = product.sums;
  for (size_t i = 0; i < product.column_sums.size(); ++i) {
    slots_[product.column_sums[i]] = product.column_slots[i];
  }
}

Dim KernelEmitter::round_up(const Dim& value, int64_t to) {
  return Dim::floor_div(value + Dim(to - 1), to) * Dim(to);
}

Dim KernelEmitter::most_coordinates(AxisId axis) const {
  if (axis == tile::kNone) return 1;
  return axes_[axis].extent ? Dim(*axes_[axis].extent) : program_.axes[axis].dim;
}

// The tile of sums, with room for whole micro-tiles, holding what they start from.
void KernelEmitter::make_sums(Product& product, const Stmt& stmt) {
  Slot& sums = product.sums;
  Dim width = round_up(most_coordinates(product.n), product.columns());
  Dim height = round_up(most_coordinates(product.m), product.rows);
  if (product.m != tile::kNone) {
    sums.axes.push_back(product.m);
    sums.strides.push_back(width);
  }
  sums.axes.push_back(product.n);
  sums.strides.push_back(1);
  for (AxisId axis : sums.axes) sums.bases.push_back(axes_[axis].base);
  sums.address = new_scratch(height * width, product.memory, "sums");
  if (product.finishes) return;  // they start in registers
  Sink start = keep_sink(stmt.init[0], sums);
  std::ranges::sort(start.axes);
  push(std::move(start));
  flush();
}

llvm::Value* KernelEmitter::new_scratch(const Dim& elements, DType dtype, const std::string& name) {
  Dim bytes = elements * Dim(byte_size(dtype)) + Dim(target_.vector_bits / 8);
  llvm::Value* address =
      ir_.CreateInBoundsGEP(ir_.getInt8Ty(), scratch_, dim(scratch_bytes_), name);
  scratch_bytes_ = scratch_bytes_ + round_up(bytes, 64);
  return address;
}

// Emits `body` as code of its own: nothing known before is used or kept.
void KernelEmitter::apart(const std::function<void()>& body) {
  std::vector<Level> levels = std::move(levels_);
  levels_.assign(1, {});
  body();
  levels_ = std::move(levels);
}

// Walks the micro-tiles, for one block of k after the other.
void KernelEmitter::for_each_micro_tile(const Product& product, const MicroTile& body) {
  llvm::Value* height = product.m == tile::kNone ? i64(1) : axes_[product.m].size;
  llvm::Value* width = axes_[product.n].size;
  llvm::Value* block = i64(product.k_block);
  llvm::Value* deep = product.depth;
  // What follows a sum of no products is done too.
  if (product.finishes) {
    deep = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, product.depth, i64(1));
  }
  apart([&] {
    loop(i64(0), deep, block, "block", [&](llvm::Value* begin) {
      llvm::Value* end = min64(product.depth, ir_.CreateAdd(begin, block));
      if (product.near_lhs != nullptr) apart([&] { make_near(product, begin, end); });
      auto rows = [&](const std::function<void(llvm::Value*)>& inside) {
        loop(i64(0), height, i64(product.rows), "rows", inside);
      };
      auto columns = [&](const std::function<void(llvm::Value*)>& inside) {
        loop(i64(0), width, i64(product.columns()), "columns", inside);
      };
      auto tile = [&](llvm::Value* row, llvm::Value* column) {
        apart([&] { body(row, column, begin, end); });
      };
      if (product.keeps_rows) {
        rows([&](llvm::Value* row) { columns([&](llvm::Value* column) { tile(row, column); }); });
      } else {
        columns([&](llvm::Value* column) { rows([&](llvm::Value* row) { tile(row, column); }); });
      }
    });
  });
}

}  // namespace weft::cpu
