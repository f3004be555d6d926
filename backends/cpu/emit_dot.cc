// Matrix products: a loop over k that adds dots becomes packed panels and a register-blocked
// kernel.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "backends/cpu/emitter.h"
#include "ir/support/check.h"

namespace weft::cpu {

using tile::Stmt;
using tile::Value;

namespace {

constexpr int kVectorsAcross = 2;  // of a micro-tile; its rows take the registers that are left
constexpr int kMostRows = 12;

Dim round_up(const Dim& value, int64_t to) {
  return Dim::floor_div(value + Dim(to - 1), to) * Dim(to);
}

}  // namespace

// What a product needs to know of itself while it is emitted.
struct KernelEmitter::Product {
  const Value* dot = nullptr;
  ValueId lhs = tile::kNone;
  ValueId rhs = tile::kNone;
  AxisId m = tile::kNone;  // kNone: one row
  AxisId n = tile::kNone;
  AxisId k = tile::kNone;
  int lanes = 1;
  int rows = 1;
  int columns = 1;  // lanes * kVectorsAcross
  llvm::Type* type = nullptr;
  DType memory = DType::f32;  // of panels and sums
  llvm::Value* depth = nullptr;
  llvm::Value* panels = nullptr;      // rhs as [n / columns][k][columns]
  llvm::Value* packed_lhs = nullptr;  // lhs as [m / rows][k][rows]; null: read in place
  Slot sums = {};
};

bool KernelEmitter::is_product_loop(const Stmt& stmt) const {
  if (stmt.carried.size() != 1 || stmt.from || stmt.to) return false;
  if (program_.axes[stmt.axis].inner.has_value()) return false;
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

// True if the element of lhs can be read from its buffer while multiplying.
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

void KernelEmitter::emit_product_loop(const Stmt& stmt) {
  const Value& dot = program_.values[stmt.yields[0]];
  Product product{.dot = &dot, .lhs = dot.operands[0], .rhs = dot.operands[1], .k = stmt.axis};
  for (AxisId axis : walked(program_.values[product.lhs].axes)) {
    if (axis != product.k) product.m = axis;
  }
  for (AxisId axis : walked(program_.values[product.rhs].axes)) {
    if (axis != product.k) product.n = axis;
  }
  product.type = register_type(dot.dtype);
  product.memory = is_float(dot.dtype) && byte_size(dot.dtype) == 2 ? DType::f32 : dot.dtype;
  product.lanes = std::max(1, target_.vector_bits / (8 * byte_size(product.memory)));
  product.columns = product.lanes * kVectorsAcross;
  int fits = (target_.vector_registers - kVectorsAcross - 1) / kVectorsAcross;
  product.rows = std::min(fits, kMostRows);
  if (product.m == tile::kNone) product.rows = 1;
  if (product.m != tile::kNone && axes_[product.m].extent) {
    product.rows = static_cast<int>(std::min<int64_t>(product.rows, *axes_[product.m].extent));
  }
  // Operands are evaluated for every k at once: what they need is computed before.
  AxisState saved = axes_[product.k];
  const Dim& depth = program_.axes[product.k].dim;
  product.depth = dim(depth);
  axes_[product.k] = {.base = i64(0), .size = product.depth, .single = false};
  prepare(product.lhs);
  prepare(product.rhs);
  prepare(stmt.init[0]);
  flush();

  make_sums(product, stmt);
  pack_rhs(product, depth);
  if (!is_plain_load(product.lhs)) pack_lhs(product, depth);
  multiply(product);
  axes_[product.k] = saved;
  slots_[stmt.results[0]] = product.sums;
}

// The tile of sums, with room for whole micro-tiles, holding what they start from.
void KernelEmitter::make_sums(Product& product, const Stmt& stmt) {
  auto extent = [&](AxisId axis) {
    return axes_[axis].extent ? Dim(*axes_[axis].extent) : program_.axes[axis].dim;
  };
  Slot& sums = product.sums;
  Dim width = round_up(extent(product.n), product.columns);
  Dim height = product.m == tile::kNone ? Dim(1) : round_up(extent(product.m), product.rows);
  if (product.m != tile::kNone) {
    sums.axes.push_back(product.m);
    sums.strides.push_back(width);
  }
  sums.axes.push_back(product.n);
  sums.strides.push_back(1);
  for (AxisId axis : sums.axes) sums.bases.push_back(axes_[axis].base);
  sums.address = new_scratch(height * width, product.memory, "sums");
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

// All axes whose coordinates a value depends on, those of one coordinate a tile included.
std::set<tile::AxisId> KernelEmitter::coordinates_of(ValueId id) const {
  std::set<AxisId> axes;
  std::set<ValueId> seen;
  std::function<void(ValueId)> visit = [&](ValueId at) {
    if (at == tile::kNone || !seen.insert(at).second) return;
    const Value& value = program_.values[at];
    axes.insert(value.axes.begin(), value.axes.end());
    for (ValueId operand : value.operands) visit(operand);
    visit(value.where);
    auto look = [&](const tile::Index& index) {
      tile::for_each_term(index, [&](const tile::Index::Term& term) {
        if (term.axis_id != tile::kNone) axes.insert(term.axis_id);
        visit(term.value_id);
      });
    };
    look(value.index);
    for (const tile::Index& index : value.ref.at) look(index);
  };
  visit(id);
  return axes;
}

// Runs `body` unless the tile that was packed last is the one wanted: programs that differ only in
// m share a packed rhs.
void KernelEmitter::unless_packed(ValueId id, AxisId k, const std::function<void()>& body) {
  std::vector<std::pair<llvm::AllocaInst*, llvm::Value*>> keys;  // register, what it has to hold
  keys.emplace_back(new_register(ir_.getInt64Ty(), "packed", i64(-1)), i64(0));
  for (AxisId axis : coordinates_of(id)) {
    if (axis == k) continue;
    keys.emplace_back(new_register(ir_.getInt64Ty(), "packed", i64(-1)), axes_[axis].base);
  }
  llvm::Value* stale = ir_.getFalse();
  for (const auto& [last, wanted] : keys) {
    llvm::Value* known = ir_.CreateLoad(ir_.getInt64Ty(), last);
    stale = ir_.CreateOr(stale, ir_.CreateICmpNE(known, wanted));
  }
  if_then(stale, [&] {
    for (const auto& [last, wanted] : keys) ir_.CreateStore(wanted, last);
    apart(body);
  });
}

void KernelEmitter::pack_rhs(Product& product, const Dim& depth) {
  AxisId n = product.n;
  Dim width = axes_[n].extent ? Dim(*axes_[n].extent) : program_.axes[n].dim;
  product.panels = new_scratch(round_up(width, product.columns) * depth, product.memory, "panels");
  unless_packed(product.rhs, product.k, [&] {
    llvm::Value* end = ir_.CreateAdd(axes_[n].base, axes_[n].size);
    // Element (k, column) of the panel that begins at `first` is the one at `place`.
    auto place = [&](llvm::Value* first, llvm::Value* k, llvm::Value* column) {
      llvm::Value* panel = ir_.CreateMul(ir_.CreateSub(first, axes_[n].base), product.depth);
      llvm::Value* row = ir_.CreateMul(k, i64(product.columns));
      return ir_.CreateAdd(ir_.CreateAdd(panel, row), column);
    };
    auto put = [&](llvm::Value* value, llvm::Value* at) {
      ir_.CreateAlignedStore(narrow(value, product.memory),
                             element_address(product.panels, at, product.memory),
                             alignment(product.memory));
    };
    loop(axes_[n].base, end, i64(product.columns), "panel", [&](llvm::Value* first) {
      llvm::Value* have = min64(i64(product.columns), ir_.CreateSub(end, first));
      llvm::Value* whole = ir_.CreateICmpEQ(have, i64(product.columns));
      if_then(whole, [&] {
        apart([&] {
          loop(i64(0), product.depth, i64(1), "pack", [&](llvm::Value* k) {
            at_level(product.k, k, 1, [&] {
              for (int v = 0; v < kVectorsAcross; ++v) {
                llvm::Value* column = i64(v * product.lanes);
                at_level(n, ir_.CreateAdd(first, column), product.lanes,
                         [&] { put(eval_lanes(product.rhs), place(first, k, column)); });
              }
            });
          });
        });
      });
      if_then(ir_.CreateNot(whole), [&] {
        apart([&] {
          loop(i64(0), product.depth, i64(1), "pack", [&](llvm::Value* k) {
            at_level(product.k, k, 1, [&] {
              loop(i64(0), have, i64(1), "column", [&](llvm::Value* column) {
                at_level(n, ir_.CreateAdd(first, column), 1,
                         [&] { put(eval(product.rhs), place(first, k, column)); });
              });
              loop(have, i64(product.columns), i64(1), "zero", [&](llvm::Value* column) {
                put(llvm::Constant::getNullValue(product.type), place(first, k, column));
              });
            });
          });
        });
      });
    });
  });
}

// Rows of lhs computed once, element (row, k) at [row / rows][k][row % rows].
void KernelEmitter::pack_lhs(Product& product, const Dim& depth) {
  AxisId m = product.m;
  Dim height = 1;
  if (m != tile::kNone) height = axes_[m].extent ? Dim(*axes_[m].extent) : program_.axes[m].dim;
  product.packed_lhs = new_scratch(round_up(height, product.rows) * depth, product.memory, "rows");
  auto pack_row = [&](llvm::Value* local) {
    llvm::Value* block = ir_.CreateSDiv(local, i64(product.rows));
    llvm::Value* row = ir_.CreateSRem(local, i64(product.rows));
    llvm::Value* start = ir_.CreateMul(ir_.CreateMul(block, product.depth), i64(product.rows));
    start = ir_.CreateAdd(start, row);
    auto put = [&](llvm::Value* value, llvm::Value* k) {
      llvm::Value* at = ir_.CreateAdd(start, ir_.CreateMul(k, i64(product.rows)));
      ir_.CreateAlignedStore(narrow(value, product.memory),
                             element_address(product.packed_lhs, at, product.memory),
                             alignment(product.memory));
    };
    int lanes = product.lanes;
    llvm::Value* rest = ir_.CreateSRem(product.depth, i64(lanes));
    llvm::Value* stop = ir_.CreateSub(product.depth, rest);
    loop(i64(0), stop, i64(lanes), "pack", [&](llvm::Value* k) {
      at_level(product.k, k, lanes, [&] {
        llvm::Value* all = eval_lanes(product.lhs);
        for (int i = 0; i < lanes; ++i) {
          llvm::Value* one =
              lanes == 1 ? all : ir_.CreateExtractElement(all, static_cast<uint64_t>(i));
          put(one, ir_.CreateAdd(k, i64(i)));
        }
      });
    });
    loop(stop, product.depth, i64(1), "pack.rest",
         [&](llvm::Value* k) { at_level(product.k, k, 1, [&] { put(eval(product.lhs), k); }); });
  };
  apart([&] {
    if (m == tile::kNone) {
      pack_row(i64(0));
      return;
    }
    loop(i64(0), axes_[m].size, i64(1), "row", [&](llvm::Value* local) {
      at_level(m, ir_.CreateAdd(axes_[m].base, local), 1, [&] { pack_row(local); });
    });
  });
}

// The rows of lhs that a micro-tile reads: addresses of their elements at k = 0, and the distance
// to the next k. Rows beyond the last repeat it; their sums are not used.
KernelEmitter::Rows KernelEmitter::lhs_rows(const Product& product, llvm::Value* first) {
  Rows rows;
  if (product.packed_lhs != nullptr) {
    llvm::Value* start = ir_.CreateMul(first, product.depth);
    for (int i = 0; i < product.rows; ++i) {
      rows.addresses.push_back(
          element_address(product.packed_lhs, ir_.CreateAdd(start, i64(i)), product.memory));
    }
    rows.step = i64(product.rows);
    return rows;
  }
  const Value& value = program_.values[product.lhs];
  llvm::Value* buffer = buffer_addresses_[value.ref.buffer];
  Dim step = 0;
  for (size_t d = 0; d < value.ref.at.size(); ++d) {
    step = step + tile::coefficient(value.ref.at[d], product.k).value_or(0) *
                      program_.buffers[value.ref.buffer].strides[d];
  }
  rows.step = dim(step);
  for (int i = 0; i < product.rows; ++i) {
    auto address = [&] {
      at_level(product.k, i64(0), 1, [&] {
        rows.addresses.push_back(
            element_address(buffer, offset(value.ref, nullptr).first, value.dtype));
      });
    };
    if (product.m == tile::kNone) {
      address();
      continue;
    }
    llvm::Value* last = ir_.CreateSub(axes_[product.m].size, i64(1));
    llvm::Value* row = min64(ir_.CreateAdd(first, i64(i)), last);
    at_level(product.m, ir_.CreateAdd(axes_[product.m].base, row), 1, address);
  }
  return rows;
}

// All sums of a micro-tile stay in registers while k runs.
void KernelEmitter::multiply_tile(const Product& product, llvm::Value* first_row,
                                  llvm::Value* first_column) {
  llvm::Type* vector = with_lanes(product.type, product.lanes);
  Rows rows = lhs_rows(product, first_row);
  llvm::Value* panel =
      element_address(product.panels, ir_.CreateMul(first_column, product.depth), product.memory);
  llvm::Value* corner = first_column;
  llvm::Value* width = dim(product.sums.strides[0]);
  if (product.m != tile::kNone) {
    corner = ir_.CreateAdd(corner, ir_.CreateMul(first_row, width));
  }
  auto sum_address = [&](int row, int v) {
    llvm::Value* at = ir_.CreateAdd(corner, i64(v * product.lanes));
    if (row > 0) at = ir_.CreateAdd(at, ir_.CreateMul(width, i64(row)));
    return element_address(product.sums.address, at, product.memory);
  };
  std::vector<llvm::AllocaInst*> sums;
  for (int row = 0; row < product.rows; ++row) {
    for (int v = 0; v < kVectorsAcross; ++v) {
      sums.push_back(new_register(vector, "sum"));
      ir_.CreateStore(ir_.CreateAlignedLoad(vector, sum_address(row, v), alignment(product.memory)),
                      sums.back());
    }
  }
  loop(i64(0), product.depth, i64(1), "k", [&](llvm::Value* k) {
    llvm::Value* columns[kVectorsAcross];
    for (int v = 0; v < kVectorsAcross; ++v) {
      llvm::Value* at =
          ir_.CreateAdd(ir_.CreateMul(k, i64(product.columns)), i64(v * product.lanes));
      columns[v] = ir_.CreateAlignedLoad(vector, element_address(panel, at, product.memory),
                                         alignment(product.memory));
    }
    llvm::Value* along = ir_.CreateMul(k, rows.step);
    for (int row = 0; row < product.rows; ++row) {
      llvm::Value* address =
          element_address(rows.addresses[static_cast<size_t>(row)], along, product.memory);
      llvm::Value* element = splat(
          ir_.CreateAlignedLoad(product.type, address, alignment(product.memory)), product.lanes);
      for (int v = 0; v < kVectorsAcross; ++v) {
        llvm::AllocaInst* sum = sums[static_cast<size_t>(row * kVectorsAcross + v)];
        llvm::Value* term =
            emit_map(Op::mul, {element, columns[v]}, product.memory, product.memory);
        llvm::Value* old = ir_.CreateLoad(vector, sum);
        ir_.CreateStore(emit_map(Op::add, {old, term}, product.memory, product.memory), sum);
      }
    }
  });
  for (int row = 0; row < product.rows; ++row) {
    for (int v = 0; v < kVectorsAcross; ++v) {
      llvm::Value* sum =
          ir_.CreateLoad(vector, sums[static_cast<size_t>(row * kVectorsAcross + v)]);
      ir_.CreateAlignedStore(sum, sum_address(row, v), alignment(product.memory));
    }
  }
}

void KernelEmitter::multiply(const Product& product) {
  llvm::Value* height = product.m == tile::kNone ? i64(1) : axes_[product.m].size;
  apart([&] {
    loop(i64(0), axes_[product.n].size, i64(product.columns), "columns", [&](llvm::Value* column) {
      loop(i64(0), height, i64(product.rows), "rows",
           [&](llvm::Value* row) { apart([&] { multiply_tile(product, row, column); }); });
    });
  });
}

}  // namespace weft::cpu
