// SPDX-License-Identifier: Apache-2.0
#include "backends/simt/analysis.h"

#include "backends/simt/layout.h"

namespace weft::simt {

using tile::AxisId;
using tile::Index;
using tile::kNone;
using tile::Program;
using tile::Ref;
using tile::Stmt;
using tile::Value;
using tile::ValueId;

void for_each_statement(const tile::Block& block, const std::function<void(const Stmt&)>& fn) {
  for (const Stmt& stmt : block) {
    fn(stmt);
    for_each_statement(stmt.body, fn);
  }
}

bool divisible(const Dim& dim, int64_t by) {
  if (dim.is_constant()) return dim.constant() % by == 0;
  return Dim::exact_quotient(dim, Dim(by)).has_value();
}

AxisId unit_axis(const Program& program, const Ref& ref) {
  const tile::Buffer& buffer = program.buffers[ref.buffer];
  for (size_t i = 0; i < ref.at.size(); ++i) {
    if (!buffer.strides[i].is_constant(1)) continue;
    for (const Index::Term& term : ref.at[i].terms) {
      if (term.kind == Index::Term::axis && term.scale.is_constant(1)) return term.axis_id;
    }
  }
  return kNone;
}

AxisId packed_axis(const Program& program, const Ref& ref, bool aligned) {
  constexpr int64_t kPack = 4;
  const AxisId unit = unit_axis(program, ref);
  if (!aligned || unit == kNone || !divisible(program.axes[unit].dim, kPack)) return kNone;
  if (tile::gathers_along(program, ref, unit)) return kNone;
  const tile::Buffer& buffer = program.buffers[ref.buffer];
  for (size_t i = 0; i < ref.at.size(); ++i) {
    const Index& at = ref.at[i];
    bool has_unit = false;
    bool whole = divisible(at.offset, kPack);
    for (const Index::Term& term : at.terms) {
      const bool is_unit = term.kind == Index::Term::axis && term.axis_id == unit;
      has_unit |= is_unit || tile::uses_axis(Index() + at, unit);
      if (!is_unit) whole &= divisible(term.scale, kPack);
    }
    if (has_unit && (!buffer.strides[i].is_constant(1) || !whole)) return kNone;
    if (!has_unit && !whole && !divisible(buffer.strides[i], kPack)) return kNone;
  }
  return unit;
}

bool Facts::held(AxisId axis) const {
  const bool summed = reduced.contains(axis) || contracted.contains(axis);
  return summed && (carried.contains(axis) || produced.contains(axis));
}

namespace {

class Analysis {
 public:
  explicit Analysis(const Program& program) : p_(program), seen_(program.values.size(), false) {}

  Facts run() {
    for_each_statement(p_.body, [this](const Stmt& stmt) { visit(stmt); });
    for (ValueId dot : facts_.dots) {
      for (AxisId axis : p_.values[dot].axes) facts_.produced.insert(axis);
    }
    for (AxisId axis : facts_.contracted) facts_.chained |= facts_.produced.contains(axis);
    return std::move(facts_);
  }

 private:
  void visit(const Stmt& stmt) {
    tile::for_each_use(stmt, [this](ValueId id) { visit(id); });
    for (ValueId id : stmt.yields) visit(id);
    tile::for_each_index(stmt, [this](const Index& index) { visit(index); });
    for (ValueId id : stmt.carried) {
      for (AxisId axis : p_.values[id].axes) facts_.carried.insert(axis);
    }
    if (stmt.ref.buffer != kNone) {
      facts_.accesses.push_back({&stmt.ref, true});
      facts_.written.insert(stmt.ref.buffer);
    }
    if (stmt.kind == Stmt::scatter) facts_.ordered.insert(stmt.axis);
  }

  void visit(ValueId id) {
    if (id == kNone || seen_[id]) return;
    seen_[id] = true;
    const Value& value = p_.values[id];
    tile::for_each_use(value, [this](ValueId use) { visit(use); });
    tile::for_each_index(value, [this](const Index& index) { visit(index); });
    if (value.kind == Value::load) facts_.accesses.push_back({&value.ref, false});
    if (value.kind == Value::reduce) {
      facts_.reduced.insert(value.axes_reduced.begin(), value.axes_reduced.end());
    }
    if (value.kind != Value::dot) return;
    facts_.dots.push_back(id);
    facts_.contracted.insert(value.axes_reduced.begin(), value.axes_reduced.end());
  }

  void visit(const Index& index) {
    tile::for_each_term(index, [this](const Index::Term& term) {
      if (term.kind == Index::Term::program) facts_.counted.insert(term.axis_id);
      if (term.kind == Index::Term::value) visit(term.value_id);
    });
  }

  const Program& p_;
  Facts facts_;
  std::vector<bool> seen_;
};

}  // namespace

Facts analyse(const Program& program) { return Analysis(program).run(); }

}  // namespace weft::simt
