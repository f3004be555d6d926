// Which costly values are computed once and kept, because several loop nests read them.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "backends/cpu/emitter.h"

namespace weft::cpu {

using tile::Block;
using tile::Stmt;
using tile::Value;

namespace {

bool costs_much(const Value& value) {
  if (value.kind == Value::random) return true;
  return value.kind == Value::map && info(value.op).has(kCostly);
}

bool starts_nest(const Value& value) {
  return value.kind == Value::reduce || value.kind == Value::dot;
}

// Readers of each value: nests, told apart by what they are for. Stores of one block over the same
// axes count as one, since they share a nest.
struct Readers {
  const tile::Program& program;
  std::vector<std::set<size_t>> of;
  std::map<std::pair<const Block*, std::vector<tile::AxisId>>, size_t> stores;
  size_t count = 0;

  void read(tile::ValueId id, size_t reader) {
    if (id == tile::kNone || !of[id].insert(reader).second) return;
    const Value& value = program.values[id];
    if (!starts_nest(value)) read_parts(value, reader);
  }

  void read_parts(const Value& value, size_t reader) {
    for (tile::ValueId operand : value.operands) read(operand, reader);
    read(value.where, reader);
    auto look = [&](const tile::Index& index) {
      tile::for_each_term(index,
                          [&](const tile::Index::Term& term) { read(term.value_id, reader); });
    };
    look(value.index);
    for (const tile::Index& index : value.ref.at) look(index);
  }

  size_t store_reader(const Block* block, tile::ValueId id) {
    return stores.try_emplace({block, program.values[id].axes}, count++).first->second;
  }

  void walk(const Block& block) {
    for (const Stmt& stmt : block) {
      if (stmt.kind == Stmt::loop || stmt.kind == Stmt::when) {
        walk(stmt.body);
        for (tile::ValueId id : stmt.init) read(id, count++);
        for (tile::ValueId id : stmt.yields) read(id, store_reader(&stmt.body, id));
        if (stmt.kind == Stmt::when) read(stmt.value, count++);
      } else if (stmt.kind != Stmt::let) {
        size_t reader = store_reader(&block, stmt.value);
        read(stmt.value, reader);
        read(stmt.where, reader);
      }
    }
  }
};

// Loads of what this program also stores read what was there before. The nests of a program are
// numbered in the order in which they run: a load that is read on both sides of the store has to
// be kept.
class Overwritten {
 public:
  explicit Overwritten(const tile::Program& program)
      : program_(program), loads_(program.values.size()), stored_(program.buffers.size(), kNever) {
    walk(program.body, {});
  }

  bool contains(tile::ValueId id) const {
    const Value& value = program_.values[id];
    if (value.kind != Value::load) return false;
    const size_t store = stored_[value.ref.buffer];
    return loads_[id].first <= store && store < loads_[id].last;
  }

 private:
  static constexpr size_t kNever = SIZE_MAX;
  struct Uses {
    size_t first = kNever;
    size_t last = 0;
  };

  // Statements up to the next loop share nests by their axes, behind those of their reductions.
  struct Run {
    size_t before = 0;
    std::map<std::vector<tile::AxisId>, size_t> nests = {};
  };

  size_t nest(Run& run, const std::vector<tile::AxisId>& axes) {
    auto [entry, fresh] = run.nests.try_emplace(axes, nests_);
    if (fresh) ++nests_;
    return entry->second;
  }

  void read(tile::ValueId id, size_t at, size_t before) {
    if (id == tile::kNone) return;
    const Value& value = program_.values[id];
    if (value.kind == Value::load) {
      loads_[id].first = std::min(loads_[id].first, at);
      loads_[id].last = std::max(loads_[id].last, at);
    }
    if (starts_nest(value)) at = before;
    if (!seen_.insert({id, at}).second) return;
    for (tile::ValueId operand : value.operands) read(operand, at, before);
    read(value.where, at, before);
    read_index(value.index, at, before);
    read_ref(value.ref, at, before);
  }
  void read_index(const tile::Index& index, size_t at, size_t before) {
    tile::for_each_term(index,
                        [&](const tile::Index::Term& term) { read(term.value_id, at, before); });
  }
  void read_ref(const tile::Ref& ref, size_t at, size_t before) {
    for (const tile::Index& index : ref.at) read_index(index, at, before);
  }

  void write(const Stmt& stmt, size_t at, size_t before) {
    read(stmt.value, at, before);
    read(stmt.where, at, before);
    read_ref(stmt.ref, at, before);
    stored_[stmt.ref.buffer] = std::min(stored_[stmt.ref.buffer], at);
  }

  void walk(const Block& block, const std::vector<tile::ValueId>& yields) {
    Run run{.before = nests_++};
    for (const Stmt& stmt : block) {
      if (stmt.kind == Stmt::let) continue;
      if (stmt.kind == Stmt::store || stmt.kind == Stmt::update) {
        write(stmt, nest(run, tile::axes_of(program_, stmt.ref)), run.before);
        continue;
      }
      const size_t at = nests_++;
      if (stmt.kind == Stmt::scatter) {
        write(stmt, at, at);
      } else {
        read(stmt.value, at, at);
        for (tile::ValueId id : stmt.init) read(id, at, at);
        walk(stmt.body, stmt.yields);
      }
      run = {.before = nests_++};
    }
    for (tile::ValueId id : yields) read(id, nest(run, program_.values[id].axes), run.before);
  }

  const tile::Program& program_;
  std::vector<Uses> loads_;     // by value
  std::vector<size_t> stored_;  // by buffer: the first nest that writes it
  std::set<std::pair<tile::ValueId, size_t>> seen_;
  size_t nests_ = 0;
};

}  // namespace

// A load of what this program writes, but not of the very element that the same coordinates store:
// it has to be done before anything is stored.
bool KernelEmitter::is_overwritten(const Value& load) const {
  if (load.kind != Value::load) return false;
  if (program_.buffers[load.ref.buffer].mode == tile::Buffer::in) return false;
  bool own_element = false;
  std::function<void(const Block&)> look = [&](const Block& block) {
    for (const Stmt& stmt : block) {
      own_element |= stmt.kind == Stmt::store && stmt.ref == load.ref;
      look(stmt.body);
    }
  };
  look(program_.body);
  return !own_element;
}

void KernelEmitter::find_kept_values() {
  Readers readers{.program = program_, .of = {}, .stores = {}};
  readers.of.resize(program_.values.size());
  readers.walk(program_.body);
  for (const Value& value : program_.values) {
    if (starts_nest(value)) readers.read_parts(value, readers.count++);
  }
  // Below a kept value nothing has to be kept for the same readers.
  std::vector<bool> costly(program_.values.size(), false);
  std::vector<bool> covered(program_.values.size(), true);
  std::vector<bool> used(program_.values.size(), false);
  for (ValueId id = 0; id < program_.values.size(); ++id) {
    const Value& value = program_.values[id];
    costly[id] = costs_much(value);
    if (starts_nest(value)) continue;
    for (ValueId operand : value.operands) {
      costly[id] = costly[id] || (value.kind == Value::map && costly[operand]);
    }
  }
  for (ValueId id = 0; id < program_.values.size(); ++id) {
    const Value& value = program_.values[id];
    for (ValueId operand : value.operands) {
      bool same = !starts_nest(value) && readers.of[id] == readers.of[operand];
      used[operand] = true;
      covered[operand] = covered[operand] && same;
    }
  }
  const Overwritten overwritten(program_);
  for (ValueId id = 0; id < program_.values.size(); ++id) {
    const Value& value = program_.values[id];
    bool shared = readers.of[id].size() > 1 && costly[id] && !starts_nest(value);
    bool plain = value.kind == Value::map || value.kind == Value::random;
    if (shared && plain && !(used[id] && covered[id])) kept_.insert(id);
    if (is_overwritten(value) || overwritten.contains(id)) kept_.insert(id);
  }
}

}  // namespace weft::cpu
