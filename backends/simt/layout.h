// Which invocation of a workgroup holds which element of a tile.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ir/support/result.h"
#include "ir/tile/program.h"

namespace weft::simt {

// What a matrix unit takes at once: m x k elements of f16 times k x n, added to m x n of f32, held
// by a subgroup together. Nobody knows who holds what. 0: there is none.
struct MatrixShape {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
};

// What kernels for a device may rely on, and how large its tiles are by default.
struct Profile {
  int64_t subgroup = 8;       // invocations that run in step
  int64_t waves = 4;          // subgroups of a workgroup
  int64_t most_waves = 16;    // where a tile's size is given
  bool shuffles = true;       // else invocations exchange numbers through workgroup memory
  bool texels = true;         // has texel buffers and image buffers for tensors of any size
  bool texel_loads = true;    // through texel buffers; else through storage buffers
  bool image_updates = true;  // likewise, of buffers that are read and written
  int64_t image_stores = 2;   // 2: likewise, of those that are written only; 1: not
  std::map<tile::BufferId, bool> views = {};  // of single buffers that are read: texels or not
  bool int64 = true;                          // has 64-bit integers
  bool storage8 = true;                       // can store single bytes
  bool storage16 = true;                      // and pairs of them
  int64_t product_rows = 8;                   // of a product, in the registers of an invocation
  int64_t product_packs = 2;                  // columns likewise, in fours
  int64_t product_lanes = 8;  // next to each other along columns, of tiles in workgroup memory
  int64_t unrolled = 4;       // coordinates of a sum at a time, where they are not in packs
  int64_t flash_rows = 4;     // queries of attention, per invocation
  int64_t flash_rows_backward = 2;
  int64_t row_packs = 16;     // of a row, in the registers of an invocation, in fours
  int64_t map_packs = 4;      // elements of elementwise work, in fours
  int64_t map_waves = 4;      // subgroups of a workgroup there
  int64_t map_steps = 1;      // and what they walk one after the other
  int64_t most_numbers = 32;  // push constants, in words
  // Products from tiles in workgroup memory, rows by whole workgroups; else everything stays in
  // registers, and a row belongs to one subgroup.
  bool workgroup = false;
  int64_t workgroup_invocations = 128;  // wanted there
  int64_t most_invocations = 256;       // that a tuner may want
  int64_t workgroup_bytes = 16384;      // of its memory that there are
  int64_t stage_depth = 16;             // coordinates of a sum that a tile there holds
  int64_t shared_loops = 2;             // attention's keys and values there too; 1: not
  MatrixShape matrix = {};
  int64_t matrices = 2;            // 1: they are not used
  bool matrices_as_loops = false;  // see Matrices::as_loops
};

// The digits of a coordinate within its tile, lowest first: element of a pack, lane, wave,
// register, step. A tile that has more coordinates than `span` is walked in steps.
struct AxisLayout {
  int64_t pack = 1;  // 1 or 4
  int64_t lanes = 1;
  int64_t waves = 1;
  int64_t registers = 1;
  int64_t lane_stride = 1;  // of its digit in the number of a lane, likewise below
  int64_t wave_stride = 1;
  int64_t steps = 1;  // of a tile whose size is chosen here
  bool stepped = false;
  // Everything is done for one step after the other, and what is summed over all steps is summed up
  // again in each: what a loop carries has no room in registers otherwise.
  bool walked_again = false;
  int64_t span() const { return pack * lanes * waves * registers; }
};

// A tile of one side of a product in workgroup memory. It is filled in a layout of its own, so that
// neighbours fetch what lies side by side, and read in the product's.
struct Stage {
  tile::ValueId operand = tile::kNone;
  tile::AxisId along = tile::kNone;  // the axis of the sum
  std::vector<tile::AxisId> rows;    // its other axes; neighbours in the tile lie along the first
  std::vector<AxisLayout> filling;   // one per axis of the program; a lane is an invocation
  int64_t fillers = 1;               // invocations that fill it
  int64_t stride = 1;                // from one coordinate of `along` to the next, in elements
  int64_t elements = 1;
  bool fours = false;                                              // is read in fours
  bool half = false;                                               // of f16, for matrix units
  int64_t bytes() const { return elements * (half ? 2 : 4) * 2; }  // this step's and the next one's
};

// A product whose results are fragments: of the tile of its results, shape.m rows by shape.n
// columns each. A subgroup has those that lie where its own elements do: its lanes are shape.m rows
// by pack * lanes columns.
struct Fragments {
  MatrixShape shape = {};
  tile::AxisId rows = tile::kNone;
  tile::AxisId columns = tile::kNone;
  bool as_loops = false;
  explicit operator bool() const { return rows != tile::kNone; }
};

struct Layout {
  std::vector<AxisLayout> axes;  // one per axis of the program
  std::vector<Stage> stages;     // two for each product that reads workgroup memory
  std::vector<Stage> shared;     // read by all invocations in a loop along Stage::along
  int64_t stage_depth = 1;       // coordinates of a sum in `stages`
  Fragments fragments = {};      // of the results of all products, where there are matrix units
  int64_t lanes = 1;             // of a workgroup's waves
  int64_t waves = 1;
  std::string in_registers = {};  // why it is not in the workgroup form, where that was wanted
  int64_t invocations() const { return lanes * waves; }
};

// The axis along which four neighbours of a reference lie one after the other and begin at a
// multiple of four elements; kNone if there is none. `aligned`: the buffer begins at such a one.
tile::AxisId packed_axis(const tile::Program& program, const tile::Ref& ref, bool aligned);

// Lays out the sides of all products in workgroup memory, `depth` coordinates of their sums at a
// time, with what `layout` has for the axes of their results.
std::vector<Stage> lay_out_stages(const tile::Program& program, const Layout& layout,
                                  const std::vector<bool>& aligned, int64_t depth);
// The array that a product's tile lies in, `side` being 0 or 1. Products of a kernel follow one
// another, and each is done with its tiles before the next one's are filled: all share the arrays.
std::string tile_array(const Stage& stage, size_t side);
// What these arrays take of workgroup memory: each is as long as the longest tile in it.
int64_t bytes_of_tiles(const tile::Program& program, const std::vector<Stage>& stages);
// Lays out those sides of products that all invocations of a workgroup read and that a loop walks,
// as attention's keys and values: a tile of the loop at a time.
std::vector<Stage> lay_out_loop_stages(const tile::Program& program, const Layout& layout,
                                       const std::vector<bool>& aligned);
// Whether the sides of all products can be computed by invocations that do not hold them.
bool can_stage(const tile::Program& program);
// Whether they are, besides, numbers of f16 with an axis of the results each.
bool can_use_matrices(const tile::Program& program);

// Chooses the layout, and with it the free knobs of the program. `aligned`: one per buffer. Fails
// on a program whose tiles do not fit in registers, saying which.
Result<Layout> choose_layout(tile::Program& program, const Profile& profile,
                             const std::vector<bool>& aligned);

// "m = [wave 4, reg 8]", one line per axis, for a kernel's text.
std::vector<std::string> describe(const tile::Program& program, const Layout& layout);

}  // namespace weft::simt
