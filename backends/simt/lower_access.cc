// Loads and stores: through which view of a buffer, and in which width.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "backends/simt/lowering.h"

namespace weft::simt {

// A buffer that is written and read is seen through one view, so that its accesses stay in order:
// in fours only if all of them are.
bool Lowering::packs_whole(BufferId buffer) {
  auto found = whole_.find(buffer);
  if (found != whole_.end()) return found->second;
  bool whole = byte_size(p_.buffers[buffer].dtype) == 4;
  for (const Access& access : facts_.accesses) {
    if (access.ref->buffer != buffer) continue;
    const AxisId axis = packed_axis(p_, *access.ref, aligned_[buffer]);
    whole &= axis != kNone && layout_.axes[axis].pack == 4;
  }
  // Stores that leave out elements, and loads that do, are single.
  for (const Value& value : p_.values) {
    whole &= value.kind != Value::load || value.ref.buffer != buffer || value.where == kNone;
  }
  for_each_statement(p_.body, [&](const Stmt& stmt) {
    const bool touches = stmt.ref.buffer == buffer;
    whole &= !touches || (stmt.kind == Stmt::store && stmt.where == kNone);
  });
  whole_[buffer] = whole;
  return whole;
}

bool Lowering::reads(BufferId buffer) const {
  return std::ranges::any_of(facts_.accesses, [&](const Access& access) {
    return access.ref->buffer == buffer && !access.writes;
  });
}

// The load path of a buffer, where there is a choice.
bool Lowering::has_view(BufferId buffer, bool usual) const {
  const auto chosen = profile_.views.find(buffer);
  return chosen == profile_.views.end() ? usual : chosen->second;
}

const Binding& Lowering::binding(BufferId buffer, bool four, bool writes) {
  const DType dtype = p_.buffers[buffer].dtype;
  const bool words = byte_size(dtype) == 4;
  Binding wanted;
  wanted.buffer = buffer;
  wanted.dtype = dtype;
  wanted.width = four ? 4 : 1;
  if (written(buffer)) {
    const bool image =
        reads(buffer) ? has_view(buffer, profile_.image_updates) : profile_.image_stores > 1;
    wanted.view = image && words ? Binding::image : Binding::storage;
  } else {
    const bool has_texels = dtype != DType::i64;
    const bool texel = has_texels && has_view(buffer, profile_.texel_loads);
    wanted.view = texel ? Binding::texel : Binding::storage;
  }
  for (Binding& known : out_.bindings) {
    if (known.buffer != buffer || known.width != wanted.width || known.view != wanted.view)
      continue;
    known.reads |= !writes;
    known.writes |= writes;
    return known;
  }
  wanted.reads = !writes;
  wanted.writes = writes;
  out_.bindings.push_back(wanted);
  return out_.bindings.back();
}

std::string Lowering::fetch(BufferId buffer, const std::string& place, bool four) {
  const Binding& from = binding(buffer, four, false);
  return "load_" + binding_name(p_, from) + "(" + place + ")";
}

void Lowering::put(BufferId buffer, const std::string& place, const std::string& value, bool four) {
  const Binding& to = binding(buffer, four, true);
  line("store_" + binding_name(p_, to) + "(" + place + ", " + value + ");");
}

std::string Lowering::load(const Value& value, const Point& at, AxisId axis) {
  if (value.where == kNone) {
    const bool four = axis != kNone;
    return fetch(value.ref.buffer,
                 four ? address_of_four(value.ref, at, true) : address(value.ref, at, true), four);
  }
  const std::string name = fresh("v_load");
  Value fill = value;
  line(type_name(value.dtype, false) + " " + name + " = " + constant(fill, kNone) + ";");
  open("if (" + scalar(value.where, at) + ")");
  line(name + " = " + fetch(value.ref.buffer, address(value.ref, at, true), false) + ";");
  close();
  return name;
}

}  // namespace weft::simt
