// The interpreter's statements: grid, loops and what is written to memory.
// SPDX-License-Identifier: Apache-2.0
#include "ir/tile/interpret.h"

#include <algorithm>

#include "ir/oracle/elements.h"
#include "ir/tile/interpret_machine.h"

namespace weft::tile {

Number number_at(const Tensor& tensor, size_t i) {
  if (tensor.real()) return {tensor.reals[i], 0};
  return {0, tensor.integers[i]};
}

void set_number(Tensor& tensor, size_t i, const Number& number) {
  if (tensor.real()) {
    tensor.reals[i] = number.real;
  } else {
    tensor.integers[i] = number.integer;
  }
}

Machine::Machine(const Program& program, std::span<const BoundBuffer> buffers)
    : program_(program), buffers_(buffers) {
  for (const Axis& axis : program.axes) {
    program_range_.push_back({0, size(axis.dim)});
    coords_.push_back(0);
    program_number_.push_back(0);
  }
  ranges_ = program_range_;
  tiles_.resize(program.values.size());
  defined_.resize(program.values.size());
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (program.buffers[i].mode == Buffer::in) continue;
    const size_t elements = static_cast<size_t>(buffers[i].tensor->size());
    traces_[buffers[i].tensor] = {std::vector<int64_t>(elements, kNobody),
                                  std::vector<int64_t>(elements, kNobody)};
  }
}

void Machine::set_range(AxisId axis, Range range) {
  ranges_[axis] = range;
  coords_[axis] = range.begin;
}

Status Machine::run() {
  clear_accumulated(program_.body);
  return run_grid(0, 0);
}

// Every element of a buffer that is accumulated begins as the sum of nothing.
void Machine::clear_accumulated(const Block& block) {
  for (const Stmt& stmt : block) {
    if (stmt.kind != Stmt::accumulate) continue;
    const Buffer& buffer = program_.buffers[stmt.ref.buffer];
    const BoundBuffer& bound = buffers_[stmt.ref.buffer];
    Sizes shape, strides;
    for (const Dim& dim : buffer.dims) shape.push_back(size(dim));
    for (const Dim& stride : buffer.strides) strides.push_back(size(stride));
    walk(shape, std::array<Sizes, 1>{strides}, [&](size_t, const auto& at) {
      set_number(*bound.tensor, static_cast<size_t>(bound.offset + at[0]),
                 identity_of(stmt.reduction, buffer.dtype));
    });
  }
}

Status Machine::run_grid(size_t depth, int64_t owner) {
  if (depth == program_.grid.size()) {
    owner_ = owner;
    return run_block(program_.body);
  }
  const GridAxis& grid = program_.grid[depth];
  const Axis& axis = program_.axes[grid.axis];
  const int64_t dim = size(axis.dim);
  const int64_t count = size(program_.programs_along(grid.axis));
  const int64_t extent = program_.size_of(axis.extent).value_or(dim);
  for (int64_t i = 0; i < count; ++i) {
    program_number_[grid.axis] = i;
    program_range_[grid.axis] = {i * extent, std::min(dim, (i + 1) * extent)};
    set_range(grid.axis, program_range_[grid.axis]);
    WEFT_TRY_STATUS(run_grid(depth + 1, grid.serial ? owner : owner * count + i));
  }
  return ok();
}

Status Machine::run_block(const Block& block) {
  for (const Stmt& stmt : block) WEFT_TRY_STATUS(run_statement(stmt));
  return ok();
}

Status Machine::run_statement(const Stmt& stmt) {
  switch (stmt.kind) {
    case Stmt::let: {
      WEFT_TRY(Tensor value, compute(program_.values[stmt.value]));
      tiles_[stmt.value] = std::move(value);
      defined_[stmt.value] = true;
      return ok();
    }
    case Stmt::loop: return run_loop(stmt);
    case Stmt::when: {
      WEFT_TRY(const Tensor* condition, tile(stmt.value));
      return condition->integers[0] != 0 ? run_block(stmt.body) : ok();
    }
    default: return write(stmt);
  }
}

// What `to` takes of a carried or resulting value: an element for each of its own coordinates.
void Machine::carry(ValueId from, ValueId to) {
  Tensor carried = empty_tile(program_.values[to]);
  Status done = for_each(program_.values[to].axes, [&](size_t i) -> Status {
    set_number(carried, i, element(from));
    return ok();
  });
  WEFT_CHECK(done.ok(), "copying a tile cannot fail");
  tiles_[to] = std::move(carried);
  defined_[to] = true;
}

Result<std::optional<Range>> Machine::loop_range(const Stmt& loop) {
  Range range = program_range_[loop.axis];
  const int64_t step = program_.size_of(program_.tile_extent(loop.axis)).value_or(range.size());
  int64_t begin = range.begin;
  for (const auto& [bound, place] :
       {std::pair(&loop.from, &begin), std::pair(&loop.to, &range.end)}) {
    if (!*bound) continue;
    WEFT_TRY_STATUS(prepare({kNone, {**bound}}, kNone));
    std::optional<int64_t> at = index(**bound);
    if (!at) return fail("a bound of the loop along ", program_.axes[loop.axis].name, " overflows");
    *place = std::clamp(*at, range.begin, program_range_[loop.axis].end);
  }
  if (range.size() == 0 || step == 0) return std::optional<Range>();
  begin = range.begin + (begin - range.begin) / step * step;
  return std::optional(Range{begin, range.end});
}

Status Machine::run_loop(const Stmt& loop) {
  for (size_t i = 0; i < loop.init.size(); ++i) {
    WEFT_TRY_STATUS(tile(loop.init[i]));
    carry(loop.init[i], loop.carried[i]);
  }
  WEFT_TRY(std::optional<Range> range, loop_range(loop));
  const Range outside = ranges_[loop.axis];
  const Range whole = program_range_[loop.axis];
  const int64_t step = program_.size_of(program_.tile_extent(loop.axis)).value_or(whole.size());
  for (int64_t at = range ? range->begin : 0; range && at < range->end; at += step) {
    set_range(loop.axis, {at, std::min(at + step, whole.end)});
    WEFT_TRY_STATUS(run_block(loop.body));
    std::vector<std::optional<Tensor>> next;
    for (size_t i = 0; i < loop.yields.size(); ++i) {
      WEFT_TRY(const Tensor* yielded, tile(loop.yields[i]));
      next.push_back(*yielded);
    }
    for (size_t i = 0; i < next.size(); ++i) tiles_[loop.carried[i]] = std::move(next[i]);
  }
  set_range(loop.axis, outside);
  for (size_t i = 0; i < loop.results.size(); ++i) carry(loop.carried[i], loop.results[i]);
  return ok();
}

Status Machine::write(const Stmt& stmt) {
  WEFT_TRY_STATUS(prepare(stmt.ref, stmt.where));
  WEFT_TRY_STATUS(tile(stmt.value));
  std::vector<AxisId> axes = unite(axes_of(program_, stmt.ref), program_.values[stmt.value].axes);
  if (stmt.where != kNone) axes = unite(axes, program_.values[stmt.where].axes);
  // The axis of a scatter is the slowest: all of one coordinate comes before the next.
  auto order = std::ranges::find(axes, stmt.axis);
  if (stmt.kind == Stmt::scatter && order != axes.end())
    std::rotate(axes.begin(), order, order + 1);
  return for_each(axes, [&](size_t) { return write_element(stmt); });
}

Status Machine::write_element(const Stmt& stmt) {
  if (stmt.where != kNone && element(stmt.where).integer == 0) return ok();
  WEFT_TRY(size_t at, address(stmt.ref));
  Tensor& tensor = *buffers_[stmt.ref.buffer].tensor;
  const DType dtype = program_.buffers[stmt.ref.buffer].dtype;
  Number value = element(stmt.value);
  if (stmt.kind != Stmt::accumulate) WEFT_TRY_STATUS(note_write(&tensor, at, stmt.ref));
  bool adds = stmt.kind == Stmt::update || (stmt.kind == Stmt::scatter && stmt.adds);
  if (adds) value = combine(Reduce::add, dtype, number_at(tensor, at), value);
  if (stmt.kind == Stmt::accumulate) {
    value = combine(stmt.reduction, dtype, number_at(tensor, at), value);
  }
  set_number(tensor, at, value);
  return ok();
}

Result<size_t> Machine::address(const Ref& ref) {
  const Buffer& buffer = program_.buffers[ref.buffer];
  int64_t at = buffers_[ref.buffer].offset;
  for (size_t i = 0; i < ref.at.size(); ++i) {
    std::optional<int64_t> place = index(ref.at[i]);
    if (!place || *place < 0 || *place >= size(buffer.dims[i])) {
      return fail("index ", place ? cat(*place) : "that overflows", " is out of range of axis ", i,
                  " of %", buffer.name, ", which has ", buffer.dims[i]);
    }
    at += *place * size(buffer.strides[i]);
  }
  const int64_t elements = buffers_[ref.buffer].tensor->size();
  if (at < 0 || at >= elements) {
    return fail("element ", at, " of %", buffer.name, " lies outside of its memory, which has ",
                elements);
  }
  return static_cast<size_t>(at);
}

Status Machine::note_write(const Tensor* tensor, size_t at, const Ref& ref) {
  Traces& traces = traces_.at(tensor);
  auto other = [&](int64_t who) { return who != kNobody && who != owner_; };
  if (other(traces.writer[at]) || other(traces.reader[at])) {
    return fail("two programs touch element ", at, " of %", program_.buffers[ref.buffer].name,
                ", and one writes it");
  }
  traces.writer[at] = owner_;
  return ok();
}

Status Machine::note_read(const Tensor* tensor, size_t at, const Ref& ref) {
  auto found = traces_.find(tensor);
  if (found == traces_.end()) return ok();
  int64_t& reader = found->second.reader[at];
  int64_t writer = found->second.writer[at];
  if (writer != kNobody && writer != owner_) {
    return fail("a program reads element ", at, " of %", program_.buffers[ref.buffer].name,
                ", which another one writes");
  }
  reader = reader == kNobody || reader == owner_ ? owner_ : kSeveral;
  return ok();
}

Status interpret(const Program& program, const DimBinding& dims,
                 std::span<const BoundBuffer> buffers) {
  WEFT_CHECK(buffers.size() == program.buffers.size(), "one bound buffer per buffer");
  WEFT_TRY(Program sized, with_sizes(program, dims));
  for (size_t i = 0; i < buffers.size(); ++i) {
    const Buffer& buffer = program.buffers[i];
    if (buffers[i].tensor->dtype != buffer.dtype) {
      return error(Loc{}, "kernel @", program.name, ": %", buffer.name, " has element type ",
                   name(buffer.dtype), ", the tensor bound to it ", name(buffers[i].tensor->dtype));
    }
  }
  return Machine(sized, buffers).run();
}

}  // namespace weft::tile
