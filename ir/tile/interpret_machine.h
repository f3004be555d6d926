// The state of the interpreter: coordinates, tiles and memory of the program that runs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "ir/tile/interpret.h"

namespace weft::tile {

// An element of any type.
struct Number {
  double real = 0;      // of a float type
  int64_t integer = 0;  // of the others
};
Number number_at(const Tensor& tensor, size_t i);
void set_number(Tensor& tensor, size_t i, const Number& number);
// One step of a reduction; integers wrap to the dtype.
Number combine(Reduce reduction, DType dtype, const Number& a, const Number& b);
Number identity_of(Reduce reduction, DType dtype);

// Coordinates that exist: of a tile, or of a program.
struct Range {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t size() const { return end > begin ? end - begin : 0; }
};

class Machine {
 public:
  // `program` has numbers for dims.
  Machine(const Program& program, std::span<const BoundBuffer> buffers);

  Status run();

 private:
  // Who touched an element; programs that differ only on serial axes are one.
  static constexpr int64_t kNobody = -1;
  static constexpr int64_t kSeveral = -2;
  struct Traces {
    std::vector<int64_t> writer;
    std::vector<int64_t> reader;
  };

  int64_t size(const Dim& dim) const { return dim.constant(); }
  void set_range(AxisId axis, Range range);
  Status run_grid(size_t depth, int64_t owner);
  void clear_accumulated(const Block& block);
  Status run_block(const Block& block);
  Status run_statement(const Stmt& stmt);
  Status run_loop(const Stmt& loop);
  Result<std::optional<Range>> loop_range(const Stmt& loop);
  void carry(ValueId from, ValueId to);
  Status write(const Stmt& stmt);
  Status write_element(const Stmt& stmt);

  // The tile of a value, computed now unless a statement has defined it.
  Result<const Tensor*> tile(ValueId id);
  Result<Tensor> compute(const Value& value);
  Result<Tensor> compute_coord(const Value& value);
  Result<Tensor> compute_load(const Value& value);
  Result<Tensor> compute_map(const Value& value);
  Result<Tensor> compute_reduce(const Value& value);
  Result<Tensor> compute_argmax(const Value& value);
  Result<Tensor> compute_dot(const Value& value);
  Result<Tensor> compute_random(const Value& value);
  // Evaluates what stands in indices, predicates and operands, so that `element` finds it.
  Status prepare(const Ref& ref, ValueId where);

  Tensor empty_tile(const Value& value) const;
  // Calls fn(element number) with the coordinates on `axes` set; stops at an error.
  template <class Fn>
  Status for_each(const std::vector<AxisId>& axes, Fn fn);
  template <class Fn>
  Status for_each_from(const std::vector<AxisId>& axes, size_t depth, size_t& element, Fn& fn);
  // Of a tile that was prepared, at the current coordinates.
  Number element(ValueId id) const;
  std::optional<int64_t> index(const Index& index) const;
  Result<size_t> address(const Ref& ref);
  Status note_read(const Tensor* tensor, size_t at, const Ref& ref);
  Status note_write(const Tensor* tensor, size_t at, const Ref& ref);
  template <class... Parts>
  Error fail(const Parts&... parts) const {
    return error(Loc{}, "kernel @", program_.name, ": ", parts...);
  }

  const Program& program_;
  std::span<const BoundBuffer> buffers_;
  std::vector<Range> ranges_;         // per axis: of the tile
  std::vector<Range> program_range_;  // per axis: of the program; all of the dim outside the grid
  std::vector<int64_t> program_number_;
  std::vector<int64_t> coords_;  // per axis
  std::vector<std::optional<Tensor>> tiles_;
  std::vector<bool> defined_;               // by a statement; others are computed where used
  std::map<const Tensor*, Traces> traces_;  // of what the program writes
  int64_t owner_ = 0;
};

template <class Fn>
Status Machine::for_each_from(const std::vector<AxisId>& axes, size_t depth, size_t& element,
                              Fn& fn) {
  if (depth == axes.size()) return fn(element++);
  const Range range = ranges_[axes[depth]];
  for (int64_t at = range.begin; at < range.end; ++at) {
    coords_[axes[depth]] = at;
    WEFT_TRY_STATUS(for_each_from(axes, depth + 1, element, fn));
  }
  return ok();
}

template <class Fn>
Status Machine::for_each(const std::vector<AxisId>& axes, Fn fn) {
  size_t element = 0;
  return for_each_from(axes, 0, element, fn);
}

}  // namespace weft::tile
