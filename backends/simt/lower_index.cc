// Numbers that a kernel is given, coordinates, indices.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "backends/simt/lowering.h"

namespace weft::simt {
namespace {

std::string sum(const std::string& a, const std::string& b) {
  if (a == "0" || a.empty()) return b;
  if (b == "0" || b.empty()) return a;
  return a + " + " + b;
}

std::string product(const std::string& a, const std::string& b) {
  if (a == "1") return b;
  if (b == "1") return a;
  auto atom = [](const std::string& text) {
    return text.find(' ') == std::string::npos ? text : "(" + text + ")";
  };
  return atom(a) + " * " + atom(b);
}

}  // namespace

// What is no constant is a number of the launch.
std::string Lowering::dim(const Dim& dim) {
  if (dim.is_constant()) {
    const int64_t number = dim.constant();
    if (number < INT32_MIN || number > INT32_MAX)
      fail("is given " + dim.str() + ", which its device cannot hold");
    return std::to_string(number);
  }
  auto found = std::ranges::find(out_.args, dim);
  const auto number = found - out_.args.begin();
  if (found == out_.args.end()) out_.args.push_back(dim);
  return "int(num.a" + std::to_string(number) + ")";
}

std::string Lowering::integer(const std::string& expression, const std::string& hint) {
  return declare("int", hint, "int:" + expression, expression);
}

std::string Lowering::four_of(BufferId buffer, const std::string& address) {
  return integer("(" + address + ") >> 2", "four_" + identifier(p_.buffers[buffer].name));
}

bool Lowering::may_end_within(AxisId axis) const {
  const Dim& size = p_.axes[axis].dim;
  if (p_.is_scalar(axis) || axis == whole_axis_) return false;
  const AxisLayout& layout = layout_.axes[axis];
  const std::optional<int64_t> tile = p_.size_of(p_.tile_extent(axis));
  if (!tile || exact_.contains(axis)) {
    if (size.is_constant()) return size.constant() % layout.span() != 0;
    return !divisible(size, layout.span());
  }
  // Of two levels the outer part may be no multiple of the inner one.
  if (p_.axes[axis].inner && *p_.size_of(p_.axes[axis].extent) % *tile != 0) return true;
  return !divisible(size, *tile);
}

std::string Lowering::coordinate(AxisId axis, const Point& at) {
  const AxisState& state = axes_[axis];
  if (p_.is_scalar(axis)) return state.base;
  const AxisLayout& layout = layout_.axes[axis];
  const int64_t below = layout.pack * layout.lanes * layout.waves;
  const int64_t fixed = at[axis] / layout.pack * below;
  std::string text = sum(state.base, state.own);
  if (layout.stepped && !open_.contains(axis))
    fail("axis " + p_.axes[axis].name + " is not walked");
  if (layout.stepped) text = sum(text, state.step);
  if (fixed != 0 || text.empty() || text == "0") text = sum(text, std::to_string(fixed));
  text = declare("int", "at_" + p_.axes[axis].name, "coordinate:" + text, text);
  const int64_t element = at[axis] % layout.pack;
  return element == 0 ? text : text + " + " + std::to_string(element);
}

std::string Lowering::exists(AxisId axis, const Point& at) {
  if (!may_end_within(axis)) return "";
  std::string limit = dim(p_.axes[axis].dim);
  if (p_.axes[axis].inner) limit = tile_end(axis);
  return coordinate(axis, at) + " < " + limit;
}

std::string Lowering::inside(AxisId axis, const Point& at) {
  if (!may_end_within(axis)) return coordinate(axis, at);
  // A pack is inside as a whole or not at all.
  const int64_t element = at[axis] % layout_.axes[axis].pack;
  Point first = at;
  first[axis] -= element;
  std::string last = dim(p_.axes[axis].dim - Dim(layout_.axes[axis].pack));
  const std::string text = "min(" + coordinate(axis, first) + ", " + last + ")";
  const std::string name =
      declare("int", "at_" + p_.axes[axis].name + "_in", "inside:" + text, text);
  return element == 0 ? name : name + " + " + std::to_string(element);
}

// One more than the last coordinate of the tile that exists.
std::string Lowering::tile_end(AxisId axis) {
  const tile::Axis& declared = p_.axes[axis];
  const std::string size = dim(declared.dim);
  const std::optional<int64_t> tile = p_.size_of(p_.tile_extent(axis));
  if (!tile) return size;
  std::string text = "min(" + axes_[axis].base + " + " + std::to_string(*tile) + ", " + size + ")";
  if (declared.inner) {
    text = "min(" + text + ", " + axes_[axis].part + " + " +
           std::to_string(*p_.size_of(declared.extent)) + ")";
  }
  return integer(text);
}

std::string Lowering::atom(const Index::Term& term, const Point& at, bool clamped) {
  using Term = Index::Term;
  switch (term.kind) {
    case Term::axis: return clamped ? inside(term.axis_id, at) : coordinate(term.axis_id, at);
    case Term::base: return axes_[term.axis_id].base;
    case Term::end: return tile_end(term.axis_id);
    case Term::program: return axes_[term.axis_id].program;
    case Term::value: return index_number(term.value_id, at);
    case Term::floor_div:
    case Term::mod: break;
  }
  const std::string inner = index(term.inner[0], at, clamped);
  const std::string divisor = dim(term.divisor);
  const std::optional<tile::IndexRange> range = tile::range_of(p_, term.inner[0]);
  const bool natural = range && range->low.is_constant() && range->low.constant() >= 0;
  const bool quotient = term.kind == Term::floor_div;
  if (natural) return "(" + inner + ")" + (quotient ? " / " : " % ") + divisor;
  return std::string(quotient ? "weft_floordiv(" : "weft_mod(") + inner + ", " + divisor + ")";
}

std::string Lowering::index(const Index& index, const Point& at, bool clamped) {
  std::string text;
  for (const Index::Term& term : index.terms) {
    text = sum(text, product(atom(term, at, clamped), dim(term.scale)));
  }
  if (!index.offset.is_constant(0) || text.empty()) text = sum(text, dim(index.offset));
  return text;
}

// Fails the launch, and goes on with a number that exists. What is computed for coordinates that do
// not exist may be anything.
std::string Lowering::checked(const std::string& number, const Dim& limit, const std::string& what,
                              const std::vector<AxisId>& axes, const Point& at) {
  auto found = std::ranges::find(out_.checks, what);
  const auto check = found - out_.checks.begin();
  if (found == out_.checks.end()) out_.checks.push_back(what);
  const std::string size = dim(limit);
  std::string here;
  for (AxisId axis : axes) {
    const std::string one = exists(axis, at);
    if (!one.empty()) here += (here.empty() ? "" : " && ") + one;
  }
  const std::string key = "checked:" + number + ":" + size + ":" + here;
  if (const std::string* text = known(key)) return *text;
  const std::string name = fresh("at");
  line("int " + name + " = " + number + ";");
  const std::string tell = "weft_fail(" + std::to_string(check) + "); ";
  line("if (uint(" + name + ") >= uint(" + size + ")) { " +
       (here.empty() ? tell : "if (" + here + ") " + tell) + name + " = 0; }");
  know(key, name);
  return name;
}

// The part that the innermost loop does not change comes first, and is one variable.
std::string Lowering::address(const Ref& ref, const Point& at, bool clamped) {
  const std::string begin = invariant_address(ref, at, clamped);
  std::string text = begin;
  const tile::Buffer& buffer = p_.buffers[ref.buffer];
  for (size_t i = 0; i < ref.at.size(); ++i) {
    if (is_invariant(ref.at[i])) continue;
    std::string place = index(ref.at[i], at, clamped);
    if (comes_from_data(ref.at[i])) {
      place = checked(place, buffer.dims[i],
                      "an index into %" + buffer.name + " is not below " + buffer.dims[i].str(),
                      tile::axes_of(p_, ref), at);
    }
    text = sum(text, product(place, dim(buffer.strides[i])));
  }
  return text;
}

// The same in fours, for a reference that is packed: every part of it is a multiple of four.
std::string Lowering::address_of_four(const Ref& ref, const Point& at, bool clamped) {
  std::string text = four_of(ref.buffer, invariant_address(ref, at, clamped));
  const tile::Buffer& buffer = p_.buffers[ref.buffer];
  for (size_t i = 0; i < ref.at.size(); ++i) {
    if (is_invariant(ref.at[i])) continue;
    if (comes_from_data(ref.at[i])) return "(" + address(ref, at, clamped) + ") >> 2";
    const std::string place = index(ref.at[i], at, clamped);
    const std::optional<Dim> stride = Dim::exact_quotient(buffer.strides[i], Dim(4));
    text = sum(text, stride ? product(place, dim(*stride))
                            : "((" + product(place, dim(buffer.strides[i])) + ") >> 2)");
  }
  return text;
}

std::string Lowering::invariant_address(const Ref& ref, const Point& at, bool clamped) {
  std::string text = "int(num.o" + std::to_string(ref.buffer) + ")";
  const tile::Buffer& buffer = p_.buffers[ref.buffer];
  for (size_t i = 0; i < ref.at.size(); ++i) {
    if (!is_invariant(ref.at[i])) continue;
    const std::string offset = product(index(ref.at[i], at, clamped), dim(buffer.strides[i]));
    if (offset != "0" && !buffer.strides[i].is_constant(0)) text = sum(text, offset);
  }
  return integer(text, "in_" + identifier(buffer.name));
}

bool Lowering::comes_from_data(const Index& index) const {
  bool result = false;
  tile::for_each_term(index,
                      [&](const Index::Term& term) { result |= term.kind == Index::Term::value; });
  return result;
}

bool Lowering::is_invariant(const Index& index) const {
  bool result = !comes_from_data(index);
  tile::for_each_term(index, [&](const Index::Term& term) {
    result &= term.axis_id == kNone || term.axis_id != innermost_;
  });
  return result;
}

// Before a loop along an axis: what of the addresses in it stays the same.
void Lowering::hoist_addresses(const std::vector<ValueId>& roots, AxisId along) {
  const AxisId before = innermost_;
  innermost_ = along;
  std::set<ValueId> seen;
  std::function<void(ValueId)> visit = [&](ValueId id) {
    if (id == kNone || !seen.insert(id).second) return;
    const Value& value = p_.values[id];
    tile::for_each_use(value, visit);
    if (value.kind != Value::load || value.where != kNone) return;
    std::vector<AxisId> axes;
    for (const Index& at : value.ref.at) {
      if (is_invariant(at)) axes = tile::unite(axes, tile::axes_of(p_, at));
    }
    const bool ready = std::ranges::all_of(axes, [&](AxisId axis) {
      const bool walked = p_.in_grid(axis) || p_.axes[axis].extent.kind == tile::Extent::whole;
      return walked && !p_.axes[axis].inner &&
             (!layout_.axes[axis].stepped || open_.contains(axis));
    });
    const AxisId pack = pack_of(id);
    if (!ready || axes.empty()) return;
    for (const Point& at : points(axes, pack)) {
      const std::string begin = invariant_address(value.ref, at, true);
      if (pack != kNone) four_of(value.ref.buffer, begin);
    }
  };
  for (ValueId root : roots) visit(root);
  innermost_ = before;
}

// Places of the invocation, and which of the programs it works on.
void Lowering::open_program() {
  out_.programs = 1;
  for (const tile::GridAxis& axis : p_.grid) {
    if (!axis.serial) out_.programs = out_.programs * p_.programs_along(axis.axis);
  }
  for (AxisId axis = 0; axis < p_.axes.size(); ++axis) {
    const AxisLayout& layout = layout_.axes[axis];
    std::string lane, wave;
    if (layout.lanes > 1) {
      lane = "lane";
      if (layout.lane_stride > 1) lane += " / " + std::to_string(layout.lane_stride);
      lane = "(" + lane + ") % " + std::to_string(layout.lanes);
    }
    if (layout.waves > 1) {
      wave = "wave";
      if (layout.wave_stride > 1) wave += " / " + std::to_string(layout.wave_stride);
      wave = "(" + wave + ") % " + std::to_string(layout.waves);
    }
    if (lane.empty() && wave.empty()) continue;
    std::string own = lane;
    if (!wave.empty()) {
      const std::string scaled = product("(" + wave + ")", std::to_string(layout.lanes));
      own = own.empty() ? scaled : own + " + " + scaled;
    }
    axes_[axis].own = fresh("at_" + p_.axes[axis].name + "_own");
    line("int " + axes_[axis].own + " = " + product(own, std::to_string(layout.pack)) + ";");
  }
  std::string rest = "program";
  for (size_t i = p_.grid.size(); i-- > 0;) {
    if (p_.grid[i].serial) continue;
    const AxisId axis = p_.grid[i].axis;
    AxisState& state = axes_[axis];
    const std::string along = dim(p_.programs_along(axis));
    const bool outermost =
        std::none_of(p_.grid.begin(), p_.grid.begin() + static_cast<ptrdiff_t>(i),
                     [](const tile::GridAxis& g) { return !g.serial; });
    const std::string& name = p_.axes[axis].name;
    state.program = outermost ? rest : integer(rest + " % " + along, "program_" + name);
    if (!outermost) rest = integer(rest + " / " + along, "programs_beside_" + name);
    const std::optional<int64_t> size = p_.size_of(p_.axes[axis].extent);
    if (!size) continue;
    state.base = declare("int", "at_" + name + "_base", "base:" + name,
                         product(state.program, std::to_string(*size)));
    state.part = state.base;
  }
}

}  // namespace weft::simt
