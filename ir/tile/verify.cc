// The verifier: the header of a program.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/text/names.h"
#include "ir/tile/verify_state.h"

namespace weft::tile {

Verifier::Verifier(const Program& program, std::span<const Loc> lines)
    : program_(program), lines_(lines) {
  if (!lines.empty()) line_ = lines[0];
  seen_.resize(program.values.size(), Seen::no);
  loads_.resize(program.buffers.size());
  stores_.resize(program.buffers.size());
  scattered_.resize(program.buffers.size());
}

Status Verifier::run() {
  if (program_.name.empty()) fail("name it", "a kernel has no name");
  check_knobs();
  check_axes();
  check_buffers();
  check_grid();
  if (errors_.empty()) {  // statements are read by the header
    check_layout();
    check_block(program_.body, true);
    if (!lines_.empty()) line_ = lines_[0];
    check_shared_buffers();
  }
  if (errors_.empty()) return ok();
  return Error(std::move(errors_));
}

std::string Verifier::names(const std::vector<AxisId>& axes) const {
  std::string out;
  for (AxisId axis : axes) out += (out.empty() ? "" : ", ") + axis_name(axis);
  return "[" + out + "]";
}

void Verifier::check_knobs() {
  std::set<std::string> taken;
  for (const Knob& knob : program_.knobs) {
    if (!is_symbol(knob.name)) fail("", "'", knob.name, "' is no name for a knob");
    if (!taken.insert(knob.name).second) fail("", "two knobs are called ", knob.name);
    std::vector<int64_t> numbers = knob.choices;
    numbers.push_back(knob.value);
    numbers.push_back(knob.strict.value_or(1));
    for (int64_t number : numbers) {
      if (number < 1 || number > DimFacts::kDefaultHigh) {
        fail("choose 1 or more", "knob ", knob.name, " cannot be ", number);
      }
    }
  }
}

void Verifier::check_axes() {
  std::set<std::string> words = symbols_of(program_);  // they stand in indices beside axes
  for (AxisId id = 0; id < program_.axes.size(); ++id) {
    const Axis& axis = program_.axes[id];
    if (!is_symbol(axis.name)) fail("", "'", axis.name, "' is no name for an axis");
    if (!words.insert(axis.name).second) {
      fail("give the axis another name", "axis ", axis.name,
           " has the name of another axis or of a dim");
    }
    check_axis(axis, program_.in_grid(id));
  }
}

void Verifier::check_axis(const Axis& axis, bool in_grid) {
  if (axis.dim.overflowed()) fail("", "the size of axis ", axis.name, " is too large");
  if (axis.dim.is_constant() && axis.dim.constant() < 0) {
    fail("", "axis ", axis.name, " has the negative size ", axis.dim);
  }
  check_extent(axis, axis.extent);
  if (!axis.inner) return;
  check_extent(axis, *axis.inner);
  if (axis.extent.kind == Extent::whole || axis.inner->kind == Extent::whole || !in_grid) {
    fail(cat("write 'grid ", axis.name, "'"), "axis ", axis.name,
         " has an inner extent, but the grid does not take it in parts");
  }
}

void Verifier::check_extent(const Axis& axis, const Extent& extent) {
  if (extent.kind == Extent::knob && extent.knob_index >= program_.knobs.size()) {
    return fail("", "the extent of axis ", axis.name, " is an unknown knob");
  }
  std::optional<int64_t> size = program_.size_of(extent);
  if (size && (*size < 1 || *size > DimFacts::kDefaultHigh)) {
    fail("choose 1 or more", "axis ", axis.name, " cannot have tiles of ", *size);
  }
}

void Verifier::check_buffers() {
  std::set<std::string> taken;
  for (const Buffer& buffer : program_.buffers) {
    if (buffer.name.empty()) fail("", "a buffer has no name");
    if (!taken.insert(buffer.name).second) fail("", "two buffers are called %", buffer.name);
    if (buffer.strides.size() != buffer.dims.size()) {
      fail("give one stride per dim", "%", buffer.name, " has ", buffer.dims.size(), " dims and ",
           buffer.strides.size(), " strides");
      continue;
    }
    if (auto fault = type_fault({buffer.dtype, buffer.dims}))
      fail("", "%", buffer.name, ": ", *fault);
    for (size_t i = 0; i < buffer.strides.size(); ++i) {
      if (buffer.strides[i].overflowed()) fail("", "a stride of %", buffer.name, " is too large");
      bool repeats = buffer.strides[i].is_constant(0) && !buffer.dims[i].is_constant(1);
      if (repeats && buffer.mode != Buffer::in) {
        fail("give it a stride of its own", "%", buffer.name,
             " is written, and stride 0 puts all elements of dim ", i, " in one place");
      }
    }
  }
}

void Verifier::check_grid() {
  std::set<AxisId> taken;
  for (const GridAxis& grid : program_.grid) {
    if (grid.axis >= program_.axes.size()) {
      fail("", "the grid has an unknown axis");
    } else if (!taken.insert(grid.axis).second) {
      fail("", "the grid has axis ", axis_name(grid.axis), " twice");
    }
  }
}

void Verifier::check_layout() {
  if (program_.layout.empty()) return;
  if (program_.layout.size() != program_.axes.size()) {
    return fail("", "the layout is for ", program_.layout.size(), " axes, and there are ",
                program_.axes.size());
  }
  for (AxisId axis = 0; axis < program_.axes.size(); ++axis) check_digits(axis);
}

void Verifier::check_digits(AxisId axis) {
  if (program_.layout[axis].empty()) return;
  int64_t product = 1;
  for (const Digit& digit : program_.layout[axis]) {
    if (digit.size < 1 || __builtin_mul_overflow(product, digit.size, &product)) {
      return fail("", "axis ", axis_name(axis), " cannot have a digit of ", digit.size);
    }
  }
  std::optional<int64_t> extent = program_.size_of(program_.tile_extent(axis));
  const Dim& dim = program_.axes[axis].dim;
  if (!extent && dim.is_constant()) extent = dim.constant();
  if (!extent) return fail("", "axis ", axis_name(axis), " has a layout, but no fixed extent");
  if (*extent != product) {
    fail("let the digits multiply to the extent", "the digits of axis ", axis_name(axis), " make ",
         product, ", its tiles have ", *extent);
  }
}

// What a program writes, nobody else may read: so it reads at most its own elements.
void Verifier::check_shared_buffers() {
  for (BufferId id = 0; id < program_.buffers.size(); ++id) {
    const std::string& buffer = program_.buffers[id].name;
    if (loads_[id].empty() || stores_[id].empty()) continue;
    if (scattered_[id]) {
      fail("", "%", buffer, " is scattered or accumulated to, and loaded in the same program");
      continue;
    }
    const Ref& own = stores_[id][0];
    auto same = [&](const Ref& ref) { return ref == own; };
    if (!std::ranges::all_of(loads_[id], same) || !std::ranges::all_of(stores_[id], same)) {
      fail("load the element that is stored, by the same index", "%", buffer,
           " is loaded and stored at different elements");
    }
  }
}

Status verify(const Program& program, std::span<const Loc> lines) {
  return Verifier(program, lines).run();
}

}  // namespace weft::tile
