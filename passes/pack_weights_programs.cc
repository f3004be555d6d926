// Programs that read panels, and the program that makes them.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/support/check.h"
#include "ir/tile/build.h"
#include "passes/pack_weights.h"

namespace weft {
namespace {

using tile::AxisId;
using tile::Index;
using tile::Value;
using tile::ValueId;

// Fewer rows than this read weights as they lie, several rows of them at a time.
constexpr int64_t kFewestRows = 4;

struct Read {
  ValueId load = tile::kNone;
  AxisId m = tile::kNone;
  AxisId n = tile::kNone;
  AxisId k = tile::kNone;
};

// The only value that reads the buffer.
std::optional<ValueId> only_load(const tile::Program& program, tile::BufferId buffer) {
  std::optional<ValueId> found;
  for (ValueId id = 0; id < program.values.size(); ++id) {
    const Value& value = program.values[id];
    if (value.kind != Value::load || value.ref.buffer != buffer) continue;
    if (found || value.where != tile::kNone) return std::nullopt;
    found = id;
  }
  return found;
}

// Calls fn for every statement, at any depth.
void for_each_stmt(const tile::Block& block, const std::function<void(const tile::Stmt&)>& fn) {
  for (const tile::Stmt& stmt : block) {
    fn(stmt);
    for_each_stmt(stmt.body, fn);
  }
}

// The dot that is the only user of a value, as its right operand.
std::optional<ValueId> only_product(const tile::Program& program, ValueId load) {
  std::optional<ValueId> dot;
  int uses = 0;
  for (ValueId id = 0; id < program.values.size(); ++id) {
    tile::for_each_use(program.values[id], [&](ValueId used) {
      if (used != load) return;
      ++uses;
      dot = id;
    });
  }
  for_each_stmt(program.body, [&](const tile::Stmt& stmt) {
    if (stmt.kind == tile::Stmt::let) return;
    tile::for_each_use(stmt, [&](ValueId used) { uses += used == load ? 1 : 0; });
    uses += static_cast<int>(std::ranges::count(stmt.yields, load));
  });
  if (uses != 1 || !dot || program.values[*dot].kind != Value::dot) return std::nullopt;
  if (program.values[*dot].operands[1] != load) return std::nullopt;
  return dot;
}

// True if a loop over k does nothing but add the dot to what it carries.
bool is_summed(const tile::Program& program, ValueId dot) {
  bool found = false;
  for_each_stmt(program.body, [&](const tile::Stmt& stmt) {
    found = found || (stmt.kind == tile::Stmt::loop && stmt.yields.size() == 1 &&
                      stmt.yields[0] == dot && stmt.axis == program.values[dot].axes_reduced[0]);
  });
  return found;
}

std::vector<AxisId> without(std::vector<AxisId> axes, AxisId axis) {
  std::erase(axes, axis);
  return axes;
}

std::optional<Read> find_read(const tile::Program& program, tile::BufferId buffer) {
  if (program.buffers[buffer].mode != tile::Buffer::in) return std::nullopt;
  const std::optional<ValueId> load = only_load(program, buffer);
  if (!load) return std::nullopt;
  const std::optional<ValueId> dot = only_product(program, *load);
  if (!dot || !is_summed(program, *dot)) return std::nullopt;
  const Value& product = program.values[*dot];
  const AxisId k = product.axes_reduced[0];
  const std::vector<AxisId> m = without(program.values[product.operands[0]].axes, k);
  const std::vector<AxisId> n = without(program.values[*load].axes, k);
  if (m.size() != 1 || n.size() != 1) return std::nullopt;
  const Dim& rows = program.axes[m[0]].dim;
  if (rows.is_constant() && rows.constant() < kFewestRows) return std::nullopt;
  return Read{*load, m[0], n[0], k};
}

}  // namespace

std::optional<PanelSource> panel_source(const tile::Program& program, tile::BufferId buffer) {
  const std::optional<Read> read = find_read(program, buffer);
  if (!read) return std::nullopt;
  const tile::Ref& ref = program.values[read->load].ref;
  const std::vector<Dim>& strides = program.buffers[buffer].strides;
  Dim offset = 0;
  Dim step_k = 0;
  Dim step_n = 0;
  for (size_t d = 0; d < ref.at.size(); ++d) {
    offset = offset + ref.at[d].offset * strides[d];
    for (const Index::Term& term : ref.at[d].terms) {
      if (term.kind != Index::Term::axis) return std::nullopt;
      if (term.axis_id != read->k && term.axis_id != read->n) return std::nullopt;
      Dim& step = term.axis_id == read->k ? step_k : step_n;
      step = step + term.scale * strides[d];
    }
  }
  const Dim& depth = program.axes[read->k].dim;
  const Dim& width = program.axes[read->n].dim;
  for (const Dim& dim : {offset, step_k, step_n, depth, width}) {
    if (!dim.is_constant()) return std::nullopt;
  }
  if (step_k.constant() <= 0 || step_n.constant() <= 0) return std::nullopt;
  return PanelSource{depth.constant(), width.constant(), offset.constant(), step_k.constant(),
                     step_n.constant()};
}

tile::Program with_panels(tile::Program program, tile::BufferId buffer, int64_t columns) {
  const std::optional<Read> read = find_read(program, buffer);
  WEFT_CHECK(read.has_value(), "a product reads the buffer");
  const Dim width = program.axes[read->n].dim;
  tile::Buffer& panels = program.buffers[buffer];
  panels.dims = {Dim::floor_div(width + Dim(columns - 1), columns), program.axes[read->k].dim,
                 Dim(columns)};
  panels.strides = tile::row_major_strides(panels.dims);
  const Index n = tile::axis_index(read->n);
  program.values[read->load].ref.at = {tile::floor_div(program, n, columns),
                                       tile::axis_index(read->k), tile::mod(program, n, columns)};
  return program;
}

tile::Program with_two_blocks(tile::Program program, tile::BufferId buffer, int64_t columns) {
  const std::optional<Read> read = find_read(program, buffer);
  WEFT_CHECK(read.has_value(), "a product reads the buffer");
  const tile::Axis& n = program.axes[read->n];
  const int64_t width = n.dim.constant();
  const bool known_rows = program.axes[read->m].dim.is_constant();
  if (known_rows || n.extent.kind != tile::Extent::knob || !program.in_grid(read->n))
    return program;
  tile::Knob& knob = program.knobs[n.extent.knob_index];
  const int64_t half = (width / 2 + columns - 1) / columns * columns;
  if (knob.kind == tile::Knob::free && knob.value >= width && half < width) knob.value = half;
  return program;
}

tile::Program panel_program(const PanelSource& source, DType dtype, int64_t columns) {
  tile::Builder b("panels");
  const int64_t panels = (source.width + columns - 1) / columns;
  const AxisId p = b.axis("p", Dim(panels), tile::Extent::by(1));
  const AxisId k = b.axis("k", Dim(source.depth));
  const AxisId c = b.axis("c", Dim(columns));
  const tile::BufferId w = b.in("w", {dtype, {Dim(source.depth), Dim(source.width)}},
                                std::vector<Dim>{Dim(source.step_k), Dim(source.step_n)});
  const tile::BufferId out =
      b.out("panels", {dtype, {Dim(panels), Dim(source.depth), Dim(columns)}});
  b.grid(p);
  const Index n = b.at(p) * Dim(columns) + b.at(c);
  ValueId element = tile::kNone;
  if (source.width % columns == 0) {
    element = b.load(w, {b.at(k), n});
  } else {
    element = b.load(w, {b.at(k), n}, b.map(Op::lt, {b.coord(n), b.dim(Dim(source.width))}));
  }
  b.store(out, {b.at(p), b.at(k), b.at(c)}, element);
  return b.finish();
}

tile::Program unpanel_program(const PanelSource& source, DType dtype, int64_t columns) {
  constexpr int64_t kRows = 64;
  tile::Builder b("unpanel");
  const int64_t panels = (source.width + columns - 1) / columns;
  const bool rows_of_k = source.step_k > source.step_n;  // else of n
  const AxisId k =
      b.axis("k", Dim(source.depth), rows_of_k ? tile::Extent::by(kRows) : tile::Extent());
  const AxisId n =
      b.axis("n", Dim(source.width), rows_of_k ? tile::Extent() : tile::Extent::by(kRows));
  const tile::BufferId in = b.in("panels", {dtype, {Dim(panels), Dim(source.depth), Dim(columns)}});
  const tile::BufferId w = b.out("w", {dtype, {Dim(source.depth), Dim(source.width)}},
                                 std::vector<Dim>{Dim(source.step_k), Dim(source.step_n)});
  b.grid(rows_of_k ? k : n);
  const std::vector<Index> from = {b.floor_div(b.at(n), Dim(columns)), b.at(k),
                                   b.mod(b.at(n), Dim(columns))};
  b.store(w, {b.at(k), b.at(n)}, b.load(in, from));
  return b.finish();
}

}  // namespace weft
