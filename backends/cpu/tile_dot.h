// Products of tiles that stay close to the core. Private to backends/cpu.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/IR/Value.h>

#include <optional>
#include <tuple>

#include "ir/tile/program.h"

namespace weft::cpu {

// A dot as it is emitted: result[m, n] += elements[m, k] * vectors[k, n], lanes along n.
struct TileDot {
  tile::ValueId vectors = tile::kNone;   // the operand with n, read in vectors
  tile::ValueId elements = tile::kNone;  // the other: each number is spread over a vector
  tile::AxisId m = tile::kNone;          // kNone: one row
  tile::AxisId n = tile::kNone;
  tile::AxisId k = tile::kNone;
  bool copies = false;  // `vectors` has to be copied to rows that lie side by side
  // What it adds to is a carried value that nobody else reads: the sums stay in its place.
  tile::ValueId carried = tile::kNone;
};

// Where the numbers of an operand lie. Steps count elements.
struct TileOperand {
  llvm::Value* address = nullptr;
  Dim along = 0;        // from one m or n to the next
  Dim deep = 0;         // from one k to the next
  bool padded = false;  // there is room for whole vectors
};

// A function for products of one kind. Steps that are numbers are part of its code.
struct TileKind {
  bool adds = false;    // to what is there
  bool masked = false;  // the last vector of a row of `vectors` may reach beyond what can be read
  std::optional<int64_t> rows = {}, columns = {};  // where every tile has the same
  Dim result_step = 0;
  Dim vectors_step = 0;
  Dim elements_row = 0;
  Dim elements_step = 0;

  auto parts() const {
    return std::tie(adds, masked, rows, columns, result_step, vectors_step, elements_row,
                    elements_step);
  }
  friend bool operator<(const TileKind& a, const TileKind& b) { return a.parts() < b.parts(); }
};

// What the code of one such function uses.
struct TileFunction {
  llvm::Value* result = nullptr;
  llvm::Value* vectors = nullptr;
  llvm::Value* elements = nullptr;
  llvm::Value* rows = nullptr;
  llvm::Value* columns = nullptr;
  llvm::Value* depth = nullptr;
  llvm::Value* result_step = nullptr;    // from row to row
  llvm::Value* vectors_step = nullptr;   // from k to k
  llvm::Value* elements_row = nullptr;   // from row to row
  llvm::Value* elements_step = nullptr;  // from k to k
  bool adds = false;
  bool masked = false;
};

// A block of its sums, which stay in registers.
struct TileBlock {
  int rows = 1;
  int vectors = 1;
  llvm::Value* mask = nullptr;  // of the last vector; null: all lanes
};

}  // namespace weft::cpu
