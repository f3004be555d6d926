// SPDX-License-Identifier: Apache-2.0
#include "ir/tile/in_place.h"

#include <algorithm>
#include <functional>

namespace weft::tile {
namespace {

// A load or a store at its place in the program.
struct Touch {
  Ref ref;
  uint32_t place = 0;         // number of the statement, in the order of the text
  std::vector<AxisId> loops;  // around it, outermost first
};

// Where a program loads from `in` and `out`, and what it does to `out`.
class Survey {
 public:
  Survey(const Program& program, BufferId in, BufferId out)
      : program_(program), in_(in), out_(out) {
    defined_.resize(program.values.size());
    find_definitions(program.body);
    walk(program.body);
  }

  std::vector<Touch> loads;   // of `in` and of `out`
  std::vector<Touch> stores;  // to `out`
  bool only_stores = true;    // nothing else writes `out`

 private:
  void find_definitions(const Block& block) {
    for (const Stmt& stmt : block) {
      if (stmt.kind == Stmt::let) defined_[stmt.value] = true;
      find_definitions(stmt.body);
    }
  }

  void walk(const Block& block) {
    for (const Stmt& stmt : block) {
      ++place_;
      if (stmt.kind == Stmt::let) {
        visit_parts(stmt.value);
      } else {
        visit(stmt.value);
      }
      visit(stmt.where);
      visit_ref(stmt.ref);
      for (ValueId value : stmt.init) visit(value);
      if (stmt.from) visit_index(*stmt.from);
      if (stmt.to) visit_index(*stmt.to);
      note_effect(stmt);
      if (stmt.kind == Stmt::loop) loops_.push_back(stmt.axis);
      walk(stmt.body);
      ++place_;
      for (ValueId value : stmt.yields) visit(value);
      if (stmt.kind == Stmt::loop) loops_.pop_back();
    }
  }

  void note_effect(const Stmt& stmt) {
    if (stmt.ref.buffer != out_ || stmt.kind == Stmt::let) return;
    if (stmt.kind != Stmt::store) only_stores = false;
    stores.push_back({stmt.ref, place_, loops_});
  }

  // What a statement evaluates: values that have a `let` were evaluated there.
  void visit(ValueId id) {
    if (id != kNone && !defined_[id]) visit_parts(id);
  }
  void visit_parts(ValueId id) {
    const Value& value = program_.values[id];
    if (value.kind == Value::carried || value.kind == Value::result) return;
    for (ValueId operand : value.operands) visit(operand);
    visit(value.where);
    visit_index(value.index);
    visit_ref(value.ref);
    if (value.kind != Value::load) return;
    bool read = value.ref.buffer == in_ || value.ref.buffer == out_;
    if (read) loads.push_back({value.ref, place_, loops_});
  }
  void visit_ref(const Ref& ref) {
    for (const Index& index : ref.at) visit_index(index);
  }
  void visit_index(const Index& index) {
    for_each_term(index, [&](const Index::Term& term) {
      if (term.kind == Index::Term::value) visit(term.value_id);
    });
  }

  const Program& program_;
  BufferId in_;
  BufferId out_;
  uint32_t place_ = 0;
  std::vector<AxisId> loops_;
  std::vector<bool> defined_;  // by value: has a `let`
};

// The element's number, counted from the start of the buffer.
Index address(const Program& program, const Ref& ref) {
  const Buffer& buffer = program.buffers[ref.buffer];
  Index sum;
  for (size_t i = 0; i < ref.at.size(); ++i) sum = sum + ref.at[i] * buffer.strides[i];
  return sum;
}

bool depends_on_data(const Index& index) {
  bool found = false;
  for_each_term(index, [&](const Index::Term& t) { found |= t.kind == Index::Term::value; });
  return found;
}

// A store is injective in the axes of its index, so iterations of a loop whose axis is in it touch
// different elements; any other loop around both would read in one what it wrote in the one before.
bool read_before_written(const Touch& load, const Touch& store, const Index& element) {
  if (load.place > store.place) return false;
  for (size_t i = 0; i < std::min(load.loops.size(), store.loops.size()); ++i) {
    if (load.loops[i] != store.loops[i]) break;
    if (!uses_axis(element, load.loops[i])) return false;
  }
  return true;
}

// Buffer `in` becomes `instead`, and those after it move up.
void replace_buffer(Ref& ref, BufferId in, const Ref& instead) {
  if (ref.buffer == kNone) return;
  if (ref.buffer == in) ref = instead;
  if (ref.buffer > in) --ref.buffer;
}

void for_each_stmt(Block& block, const std::function<void(Stmt&)>& fn) {
  for (Stmt& stmt : block) {
    fn(stmt);
    for_each_stmt(stmt.body, fn);
  }
}

}  // namespace

std::optional<Program> in_place(const Program& program, BufferId in, BufferId out) {
  const Buffer& source = program.buffers[in];
  const Buffer& target = program.buffers[out];
  if (source.mode != Buffer::in || target.mode == Buffer::in) return std::nullopt;
  if (source.dtype != target.dtype) return std::nullopt;
  Survey survey(program, in, out);
  if (!survey.only_stores || survey.stores.empty()) return std::nullopt;
  for (const Touch& store : survey.stores) {
    Index written = address(program, store.ref);
    if (depends_on_data(written)) return std::nullopt;
    for (const Touch& load : survey.loads) {
      if (address(program, load.ref) != written) return std::nullopt;
      if (!read_before_written(load, store, written)) return std::nullopt;
    }
  }
  Program result = program;
  result.buffers[out].mode = Buffer::inout;
  result.buffers.erase(result.buffers.begin() + in);
  const Ref instead = survey.stores[0].ref;
  for (Value& value : result.values) replace_buffer(value.ref, in, instead);
  for_each_stmt(result.body, [&](Stmt& stmt) { replace_buffer(stmt.ref, in, instead); });
  return result;
}

std::optional<Program> adding_to(const Program& program, BufferId out) {
  const Buffer& target = program.buffers[out];
  if (target.mode != Buffer::out || target.dtype == DType::boolean) return std::nullopt;
  Survey survey(program, kNone, out);
  if (!survey.only_stores || survey.stores.empty() || !survey.loads.empty()) return std::nullopt;
  Program result = program;
  result.buffers[out].mode = Buffer::inout;
  for_each_stmt(result.body, [&](Stmt& stmt) {
    if (stmt.kind == Stmt::store && stmt.ref.buffer == out) stmt.kind = Stmt::update;
  });
  return result;
}

bool does_nothing(const Program& program) {
  auto keeps = [&](const Stmt& stmt) {
    if (stmt.kind == Stmt::let || stmt.kind == Stmt::loop || stmt.kind == Stmt::when) return true;
    if (stmt.kind != Stmt::store) return false;
    const Value& value = program.values[stmt.value];
    return value.kind == Value::load && value.where == kNone && value.ref == stmt.ref;
  };
  std::function<bool(const Block&)> all = [&](const Block& block) {
    return std::ranges::all_of(block,
                               [&](const Stmt& stmt) { return keeps(stmt) && all(stmt.body); });
  };
  return all(program.body);
}

}  // namespace weft::tile
