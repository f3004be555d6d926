// What the programs of an attention have in common. Private to lower_attention*.cc.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "ir/tile/build.h"
#include "passes/lower_attention.h"

namespace weft::lowering {

using tile::AxisId;
using tile::BufferId;
using tile::Index;
using tile::ValueId;

// Writes one program. Axes i and j run over queries and keys, d and e over the columns of q and v.
class AttentionTiles {
 public:
  AttentionTiles(const Attention& attention, const AttentionKnobs& knobs, std::string name);

  // The axes of a program; those of the lead come first.
  void open(tile::Extent rows, tile::Extent columns, std::optional<tile::Extent> inner = {});
  tile::Extent free_knob(const std::string& name, int64_t value);
  // Of queries where they stay rows: a single one is no axis of any tile.
  tile::Extent row_knob();
  std::vector<AxisId> tile(std::vector<AxisId> axes) const;  // without such a one
  tile::Extent order_knob(const std::string& name, int64_t value);
  // Puts the axes of the lead into the grid, but for those that `tensor` repeats.
  void grid_lead(const AttentionTensor& tensor);
  // Runs the body once for each coordinate of those, with what it carries.
  std::vector<ValueId> for_repeated(
      const AttentionTensor& tensor, std::vector<tile::Carry> carries,
      const std::function<std::vector<ValueId>(std::vector<ValueId>)>& body, size_t axis = 0);

  BufferId buffer(AttentionRole role, tile::Buffer::Mode mode = tile::Buffer::in);
  // The element at these rows and columns; either may be left away.
  std::vector<Index> at(AttentionRole role, std::vector<Index> inner);
  ValueId load(AttentionRole role, std::vector<Index> inner);  // as f32
  void store(AttentionRole role, std::vector<Index> inner, ValueId value);

  ValueId real(double value) { return b.constant(value, DType::f32); }
  ValueId add(ValueId x, ValueId y) { return b.map(Op::add, {x, y}); }
  ValueId sub(ValueId x, ValueId y) { return b.map(Op::sub, {x, y}); }
  ValueId mul(ValueId x, ValueId y) { return b.map(Op::mul, {x, y}); }

  // scale * q, of the rows of i; scale * k, of the rows of j.
  ValueId scaled(AttentionRole role, AxisId rows);
  // The largest score of rows, or 0 for a row of which everything is excluded.
  ValueId finite(ValueId largest);
  // The scores of a tile from the product of q and k: what is excluded is minus infinity.
  ValueId scores(ValueId product);
  // What dropout multiplies the weights by; nothing without it.
  std::optional<ValueId> keep_factor();
  // The gradient of the scores from weights and what they are multiplied with.
  struct Gradients {
    ValueId weights;  // after dropout
    ValueId scores;
  };
  Gradients gradients(ValueId product, ValueId d_weights);
  // The columns that the rows of tile i need, and the rows that need the columns of tile j.
  tile::LoopRange columns_of_rows();
  tile::LoopRange rows_of_columns();

  // Whether the window has a part of the tile (i, j); nothing if there is no window.
  std::optional<ValueId> some_taken();

  AttentionProgram finish();

  const Attention& a;
  const AttentionKnobs& knobs;
  tile::Builder b;
  AxisId i = 0, j = 0, d = 0, e = 0;

 private:
  Index lead_at(const Dim& size, size_t axis) const;
  ValueId length();
  ValueId masked(ValueId value, double fill);
  ValueId excluded(ValueId value);

  std::string name_;
  std::vector<std::optional<AxisId>> lead_;  // nothing where the dim is 1
  std::map<AttentionRole, BufferId> buffers_;
  std::vector<AttentionRole> roles_;
};

// The tensor of a role, with its strides.
AttentionTensor tensor_of(const Attention& attention, AttentionRole role,
                          const AttentionKnobs& knobs);

}  // namespace weft::lowering
