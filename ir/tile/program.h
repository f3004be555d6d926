// Tile IR: one kernel as a grid of programs over tiles with named axes. docs/tile-ir.md explains
// it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/support/result.h"
#include "ir/tile/index.h"

namespace weft::tile {

// A number that may be chosen without changing what is computed (`free`), or that fixes the order
// of additions (`order`).
struct Knob {
  enum class Kind : uint8_t { free, order };
  using enum Kind;
  Kind kind = free;
  std::string name = {};               // "BM"
  int64_t value = 1;                   // as chosen
  std::optional<int64_t> strict = {};  // what strict mode wants, if another
  std::vector<int64_t> choices = {};   // what a tuner may try; may be empty
};

// How much of an axis one tile covers.
struct Extent {
  enum class Kind : uint8_t { whole, number, knob };
  using enum Kind;
  Kind kind = whole;
  int64_t number_value = 0;
  uint32_t knob_index = 0;  // into Program::knobs
  static Extent by(int64_t size) { return {number, size, 0}; }
  friend bool operator==(const Extent&, const Extent&) = default;
};

// A named direction of iteration over a dim. Two axes may run over one dim. Coordinates are
// 0 .. dim-1; those at or beyond the dim do not exist: nothing is read or written there, and
// reductions skip them.
// Where an axis may be used: everywhere, if the grid walks it or if it is taken whole; otherwise,
// and if it has an inner extent, inside a loop along it. An axis whose tiles have the number 1 as
// extent is a scalar coordinate: it may stand in indices, but no tile has it among its axes.
struct Axis {
  std::string name = {};
  Dim dim = {};
  Extent extent = {};  // of a tile; if the grid walks the axis, of a program
  std::optional<Extent> inner =
      {};  // `by outer/inner`: the grid takes `extent`, a loop walks `inner`
};

struct Buffer {
  enum class Mode : uint8_t { in, out, inout };
  using enum Mode;
  std::string name = {};
  Mode mode = in;
  DType dtype = DType::f32;
  Shape dims = {};
  // In elements, one per dim; 0 repeats. The launch gives the offset.
  std::vector<Dim> strides = {};
};

struct Ref {
  BufferId buffer = kNone;
  std::vector<Index> at = {};  // one per dim of the buffer
  friend bool operator==(const Ref&, const Ref&) = default;
};

// As the graph's ops sum, prod, max, min, all, any and argmax have it, with nothing and with NaN.
enum class Reduce : uint8_t { add, mul, max, min, logical_and, logical_or, argmax };
inline constexpr int kReduceCount = 7;

// A tile: an element for every existing coordinate of a set of axes. f16 and bf16 are computed in
// f32 and not rounded, but by `cast` and by a store. A value is defined by a `let` statement of a
// block around its uses; one that is used once, and not in an index, may do without and stands
// nested in its use.
struct Value {
  enum class Kind : uint8_t {
    constant,  // number
    coord,     // the index as a number
    load,      // ref; where `where` is false (if there is one) nothing is read and `number` taken
    map,       // an elementwise primitive op of the graph's table, operands broadcast by axis name
    reduce,    // of operands[0] along `axes_reduced`; argmax gives the i32 coordinate
    dot,       // operands[2] (or 0) + sum over `axes_reduced` (one) of operands[0] * operands[1]
    random,    // u32 Philox bits: operands seed, step (u32); `stream`; `index` = element number
    carried,   // the loop's carried value at the start of an iteration
    result,    // of a loop: the carried value after the last iteration
  };
  using enum Kind;
  Kind kind = constant;
  DType dtype = DType::f32;
  std::vector<AxisId> axes = {};  // sorted; none is a scalar coordinate
  std::vector<ValueId> operands = {};
  Op op = Op::add;                        // map
  double number = 0;                      // constant, fill of a load
  int64_t integer = 0;                    // the same for integer dtypes and bool
  Ref ref = {};                           // load
  ValueId where = kNone;                  // load
  Index index = {};                       // coord, random
  std::optional<Dim> limit = {};          // coord: an index outside [0, limit) is an error
  Reduce reduction = Reduce::add;         // reduce
  std::vector<AxisId> axes_reduced = {};  // reduce, dot
  Dim stream = 0;                         // random: its low 32 bits
  std::string name = {};                  // for printing; empty = numbered
};

struct Stmt;
using Block = std::vector<Stmt>;

struct Stmt {
  enum class Kind : uint8_t {
    let,         // defines `value` here
    store,       // ref = value (where `where`, if there is one)
    update,      // ref += value; one owner visits the element in a defined order
    accumulate,  // ref = `reduction` of value over the programs of grid axis `axis`, ascending
    scatter,     // ref += or = value for coordinates of `axis` in ascending order
    loop,        // ascending tiles of `axis`
    when,        // a branch on a `value` without axes; effects only
  };
  using enum Kind;
  Kind kind = let;
  ValueId value = kNone;
  ValueId where = kNone;
  Ref ref = {};
  AxisId axis = kNone;
  bool adds = true;                // scatter: += or =
  bool stream = false;             // store: nothing reads it again soon, so caches need not keep it
  Reduce reduction = Reduce::add;  // accumulate; not argmax
  // Of a loop: the range of coordinates, clamped to the dim, `from` down to a tile; and one each
  // per carried value.
  std::optional<Index> from = {}, to = {};
  std::vector<ValueId> init = {}, carried = {}, yields = {}, results = {};
  Block body = {};  // of a loop or when
};

struct GridAxis {
  AxisId axis = kNone;
  bool serial = false;  // programs that differ only here run in ascending order, by one owner
};

// Where the digits of an axis live, lowest first; the product of their sizes is the axis's extent.
struct Digit {
  enum class Place : uint8_t { reg, lane, wave, step };
  using enum Place;
  Place place = step;
  int64_t size = 1;
  friend bool operator==(const Digit&, const Digit&) = default;
};
using Layout = std::vector<std::vector<Digit>>;  // per axis; empty list = whole axis in steps

struct Program {
  std::string name = {};  // "matmul_gelu_3", without the @
  std::vector<Knob> knobs = {};
  std::vector<Axis> axes = {};
  std::vector<Buffer> buffers = {};
  std::vector<Value> values = {};
  std::vector<GridAxis> grid = {};  // the first is outermost
  Block body = {};
  Layout layout = {};  // chosen by a backend; empty until then
  Provenance origin = {};

  // The number or the knob's value; nothing for `whole`.
  std::optional<int64_t> size_of(const Extent& extent) const;
  bool in_grid(AxisId axis) const;
  // What a tile covers of an axis: the inner extent if there is one.
  const Extent& tile_extent(AxisId axis) const;
  bool is_scalar(AxisId axis) const;  // a scalar coordinate: by the number 1
  // How many programs the grid has along an axis.
  Dim programs_along(AxisId axis) const;
};

// Calls fn for each dim of a program: of its buffers first, then of axes, values and statements.
void for_each_dim(Program& program, const std::function<void(Dim&)>& fn);
void for_each_dim(const Program& program, const std::function<void(const Dim&)>& fn);
// Every symbolic dim that the program mentions.
std::set<std::string> symbols_of(const Program& program);
std::vector<Dim> row_major_strides(const Shape& shape);
std::string_view name(Reduce reduction);  // "add", .., "and", "or", "argmax"
std::optional<Reduce> parse_reduce(std::string_view name);

// The tile axes that an index or a reference brings along; sorted.
std::vector<AxisId> axes_of(const Program& program, const Index& index);
std::vector<AxisId> axes_of(const Program& program, const Ref& ref);
// True if a coordinate is read from memory, and may be another for each coordinate of the axis.
bool gathers_along(const Program& program, const Ref& ref, AxisId axis);
std::vector<AxisId> unite(const std::vector<AxisId>& a, const std::vector<AxisId>& b);

// Calls fn for each use of a value by a value or a statement, in the order of the text. Of a loop:
// its bounds and initial values; what its body yields is used in the body.
void for_each_use(const Value& value, const std::function<void(ValueId)>& fn);
void for_each_use(const Stmt& stmt, const std::function<void(ValueId)>& fn);
// The same for the indices that stand in a value or a statement.
void for_each_index(const Value& value, const std::function<void(const Index&)>& fn);
void for_each_index(const Stmt& stmt, const std::function<void(const Index&)>& fn);

// Checks every invariant of a program; docs/tile-ir.md lists them. Returns all errors. `lines` are
// the places of the kernel and of each of its statements in a text, if there is one.
Status verify(const Program& program, std::span<const Loc> lines = {});

}  // namespace weft::tile
