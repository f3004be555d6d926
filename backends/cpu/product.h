// A matrix product as it is emitted. Private to shape_product.cc, emit_dot.cc and the files that
// spell its parts: emit_pack.cc, emit_turn.cc, emit_near.cc, emit_micro.cc, emit_inner.cc,
// emit_finish.cc and emit_one_row.cc.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/cpu/emitter.h"

namespace weft::cpu {

// With so few rows rhs is read once and from far away, several of its rows side by side.
constexpr int kStreamedRows = 3;

struct KernelEmitter::Product {
  // Between copied rows, so that their elements of one k do not compete for a place in the cache.
  static constexpr int64_t kNearGap = 16;

  ValueId lhs = tile::kNone;
  ValueId rhs = tile::kNone;
  AxisId m = tile::kNone;  // kNone: one row
  AxisId n = tile::kNone;
  AxisId k = tile::kNone;
  llvm::Type* type = nullptr;
  DType memory = DType::f32;  // of panels and sums
  int lanes = 1;
  Slot sums = {};
  llvm::Value* k_base = nullptr;  // first coordinate of k: a program may add up a part of it
  llvm::Value* depth = nullptr;   // coordinates of k

  // A micro-tile: its sums stay in registers while k runs. Lanes go along n, or along k if `inner`:
  // then each sum is a vector that is folded at the end.
  int rows = 1;
  int vectors = 1;  // across; sums of a row if `inner`
  bool inner = false;
  bool few = false;     // not many more rows than a micro-tile has
  int64_t k_block = 1;  // of k at a time: what it reads again stays in the cache near the core
  // What stays there: a panel's block, which all rows read in turn; or, of a micro-tile that is
  // much wider than high, its rows of lhs, past which the panels come from the second cache.
  bool keeps_rows = false;

  // rhs is copied to panels, [n / columns()][k][columns()], unless it can be read in place and
  // there are too few rows to pay for the copy; what is left at the end is always copied. If it
  // lies in panels of `laid_out` columns already, none of this: 0 means that it does not.
  int64_t laid_out = 0;
  int side = 1;  // panels in memory that a micro-tile reads side by side
  llvm::Value* panels = nullptr;
  std::vector<ValueId> rhs_randoms = {};  // to be made before the copy
  llvm::Value* in_place = nullptr;        // a bool; null: never
  bool prefetch_rhs = false;
  // lhs is read in place, or copied a block of k at a time: to lines [m][k], or [m / rows][k][rows]
  // if its neighbours lie along m. If there are few rows all of it is copied, in that order.
  llvm::Value* packed_lhs = nullptr;
  llvm::Value* near_lhs = nullptr;
  bool near_along_m = false;
  int64_t near_step = 0;  // from line to line
  // The copies of this many tiles and blocks stay for the tiles of n that follow, each with a note
  // of which one it is. Null: there is one, made again for each.
  llvm::Value* near_count = nullptr;
  llvm::Value* near_notes = nullptr;
  Dim near_size = 0;  // elements of one

  // What follows the product, if it is done to sums in registers (emit_finish.cc): stores, and sums
  // over rows with the scratch that holds them.
  ValueId result = tile::kNone;
  bool finishes = false;
  bool long_finish = false;  // too much code to repeat for each register
  std::vector<Sink> finish = {};
  std::vector<ValueId> column_sums = {};
  std::vector<Slot> column_slots = {};
  std::vector<ValueId> far_loads = {};  // read by it, element by element

  // Of the vector's column in the micro-tile: its panel, and where it is in it.
  int panel_of(int vector) const { return vector * side / vectors; }
  int within_panel(int vector) const { return vector % (vectors / side) * lanes; }

  int columns() const { return inner ? vectors : vectors * lanes; }
};

}  // namespace weft::cpu
