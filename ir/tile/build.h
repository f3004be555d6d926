// Builder: how lowering writes Tile programs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "ir/tile/program.h"

namespace weft::tile {

// A value that a loop carries. Its element type is that of `init`, whose axes are among `axes`.
struct Carry {
  ValueId init = kNone;
  std::vector<AxisId> axes;
  std::string name = {};
};

struct LoopRange {
  std::optional<Index> from = {}, to = {};
};

// Appends to a program. What does not fit (element types, axes) is a fault of the caller and fails
// a check. A value belongs to the block in which it was made: make what a loop does not change
// before the loop. `finish` decides which values get a `let`, so callers never think of it.
//
//   Builder b("bias_gelu");
//   AxisId m = b.axis("m", rows, b.knob("BM", 4));
//   AxisId c = b.axis("c", 512);
//   BufferId x = b.in("x", {DType::f32, {rows, 512}}), y = b.out("y", {DType::f32, {rows, 512}});
//   b.grid(m);
//   b.store(y, {b.at(m), b.at(c)}, b.map(Op::exp, {b.load(x, {b.at(m), b.at(c)})}));
//   Program program = b.finish();
class Builder {
 public:
  explicit Builder(std::string name) { blocks_.emplace_back(), program_.name = std::move(name); }

  Extent knob(std::string name, int64_t value, Knob::Kind kind = Knob::free,
              std::vector<int64_t> choices = {});
  AxisId axis(std::string name, Dim dim, Extent extent = {}, std::optional<Extent> inner = {});
  // Without strides: row-major without gaps.
  BufferId in(std::string name, const Type& type, std::optional<std::vector<Dim>> strides = {});
  BufferId out(std::string name, const Type& type, std::optional<std::vector<Dim>> strides = {});
  BufferId inout(std::string name, const Type& type, std::optional<std::vector<Dim>> strides = {});
  void grid(AxisId axis, bool serial = false) { program_.grid.push_back({axis, serial}); }
  void set_origin(Provenance origin) { program_.origin = std::move(origin); }

  static Index at(AxisId axis) { return axis_index(axis); }
  Index floor_div(const Index& a, const Dim& divisor) const;
  Index mod(const Index& a, const Dim& divisor) const;

  ValueId constant(double value, DType dtype);           // of any type; rounded to it
  ValueId integer(int64_t value, DType dtype);           // exact; an integer type or bool
  ValueId coord(Index index, DType dtype = DType::i32);  // the index as a number, wrapped to dtype
  // The number itself; one outside [0, limit) is an error, as for an index of a load.
  ValueId checked(ValueId number, Dim limit);
  ValueId dim(Dim dim, DType dtype = DType::i32) { return coord(std::move(dim), dtype); }
  ValueId load(BufferId buffer, std::vector<Index> at);
  // Nothing is read where `where` is false; the value there is `fill`.
  ValueId load(BufferId buffer, std::vector<Index> at, ValueId where, double fill = 0);
  ValueId map(Op op, std::vector<ValueId> operands);  // any elementwise primitive but cast
  ValueId cast(ValueId value, DType dtype);           // the value itself if it has that type
  ValueId rounded(ValueId value);                     // to its own type, by a cast
  ValueId reduce(Reduce reduction, ValueId value, std::vector<AxisId> axes);
  ValueId dot(AxisId k, ValueId a, ValueId b, ValueId acc = kNone);
  ValueId random(ValueId seed, ValueId step, Dim stream, Index element);

  void store(BufferId buffer, std::vector<Index> at, ValueId value, ValueId where = kNone);
  void update(BufferId buffer, std::vector<Index> at, ValueId value, ValueId where = kNone);
  void accumulate(BufferId buffer, std::vector<Index> at, ValueId value, AxisId over,
                  Reduce reduction = Reduce::add);
  void scatter(BufferId buffer, std::vector<Index> at, ValueId value, AxisId order, bool adds,
               ValueId where = kNone);

  // Loop with a body that takes the carried values and returns what to carry on; gives the results.
  std::vector<ValueId> loop(
      AxisId axis, std::vector<Carry> carries,
      const std::function<std::vector<ValueId>(std::span<const ValueId>)>& body,
      LoopRange range = {});
  void loop(AxisId axis, const std::function<void()>& body, LoopRange range = {});
  // The same in two calls: begin returns the carried values, end the results.
  std::vector<ValueId> begin_loop(AxisId axis, std::vector<Carry> carries = {},
                                  LoopRange range = {});
  std::vector<ValueId> end_loop(std::vector<ValueId> yields = {});
  void when(ValueId predicate, const std::function<void()>& body);

  void set_name(ValueId value, std::string name) { program_.values[value].name = std::move(name); }
  const Value& value(ValueId id) const { return program_.values[id]; }
  DType dtype(ValueId id) const { return program_.values[id].dtype; }
  const std::vector<AxisId>& axes(ValueId id) const { return program_.values[id].axes; }
  const Buffer& buffer(BufferId id) const { return program_.buffers[id]; }
  // So far; values have not been tidied, but axes, buffers and types are as they will be.
  const Program& program() const { return program_; }

  // The whole program. The builder is empty afterwards.
  Program finish();

 private:
  BufferId add_buffer(Buffer::Mode mode, std::string name, const Type& type,
                      std::optional<std::vector<Dim>> strides);
  ValueId add(Value value);  // with a let in the current block
  ValueId add_cast(ValueId value, DType dtype);
  ValueId add_bare(Value value);  // without
  void check_ref(const Ref& ref) const;
  Stmt effect(Stmt::Kind kind, BufferId buffer, std::vector<Index> at, ValueId value,
              ValueId where) const;

  Program program_;
  std::vector<Block> blocks_;     // those being written, outermost first
  std::vector<Stmt> open_loops_;  // without their bodies
};

// The type that an elementwise primitive gives to operands of these types, or why it does not.
Result<DType> map_dtype(Op op, std::span<const DType> operands, const Loc& loc = {});

// Drops values without use and each `let` of a value that can stand nested in its only use, numbers
// values in the order of the text, and makes names unique. A value has a larger number than what it
// is made of.
void tidy(Program& program);
// Adds numbers to names of axes, knobs, buffers and values that would otherwise be ambiguous.
void make_names_unique(Program& program);

}  // namespace weft::tile
