// Which values of a program get a `let`, and the order of values: what Builder leaves to the end.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "ir/support/check.h"
#include "ir/tile/build.h"

namespace weft::tile {
namespace {

// Larger expressions are cut by a `let`, for the reader and for the parser's limit of nesting.
constexpr size_t kMaxNested = 24;

bool is_cheap(const Value& value) {
  if (value.kind == Value::constant) return true;
  return value.kind == Value::coord &&
         std::ranges::all_of(value.index.terms, [](const Index::Term& t) {
           return t.kind != Index::Term::value && t.inner.empty();
         });
}

class Tidy {
 public:
  explicit Tidy(Program& program) : program_(program), facts_(program.values.size()) {
    for (const Buffer& buffer : program.buffers) written_.push_back(buffer.mode != Buffer::in);
  }

  void run() {
    visit(program_.body, 0);
    for (ValueId value = count(); value-- > 0;) decide(value);
    for (ValueId value = 0; value < count(); ++value) bound_size(value);
    program_.body = rewrite(program_.body);
    program_.values = std::move(values_);
  }

 private:
  // A value has a larger number than what it is made of.
  ValueId count() const { return static_cast<ValueId>(program_.values.size()); }

  static constexpr uint32_t kNowhere = UINT32_MAX;

  struct Facts {
    bool let = false;          // keeps it
    bool indexed = false;      // some index uses it
    uint32_t made = kNowhere;  // block of its let
    uint32_t used = kNowhere;  // block where its only use is evaluated
    size_t uses = 0;
    size_t size = 1;       // values that stand nested in it
    ValueId user = kNone;  // the last one found
    ValueId renamed = kNone;
  };

  void visit(const Block& block, uint32_t number) {
    for (const Stmt& stmt : block) {
      if (stmt.kind == Stmt::let) facts_[stmt.value].made = number;
    }
    for (const Stmt& stmt : block) {
      for_each_use(stmt, [&](ValueId value) { use(value, number, kNone); });
      for_each_index(stmt, [&](const Index& index) { mark_indexed(index); });
      if (stmt.body.empty() && stmt.yields.empty()) continue;
      uint32_t inner = ++blocks_;
      visit(stmt.body, inner);
      for (ValueId value : stmt.yields) use(value, inner, kNone);
    }
  }

  void use(ValueId value, uint32_t block, ValueId user) {
    Facts& facts = facts_[value];
    ++facts.uses;
    facts.used = block;
    facts.user = user;
  }

  void mark_indexed(const Index& index) {
    for_each_term(index, [&](const Index::Term& term) {
      if (term.kind == Index::Term::value) facts_[term.value_id].indexed = true;
    });
  }

  // Users come first, so that it is known where they are evaluated.
  void decide(ValueId id) {
    Facts& facts = facts_[id];
    const Value& value = program_.values[id];
    if (facts.uses == 0) return;
    if (facts.user != kNone) {
      const Facts& user = facts_[facts.user];
      facts.used = user.let ? user.made : user.used;
    }
    for_each_use(value, [&](ValueId operand) { use(operand, kNowhere, id); });
    for_each_index(value, [&](const Index& index) { mark_indexed(index); });
    if (facts.made == kNowhere) return;
    facts.let = facts.indexed;
    if (facts.let || is_cheap(value)) return;
    bool reads_written = value.kind == Value::load && written_[value.ref.buffer];
    facts.let = facts.uses > 1 || facts.used != facts.made || reads_written;
  }

  void bound_size(ValueId id) {
    Facts& facts = facts_[id];
    if (facts.uses == 0) return;
    for_each_use(program_.values[id], [&](ValueId operand) {
      if (!facts_[operand].let) facts.size += facts_[operand].size;
    });
    if (facts.size > kMaxNested && facts.made != kNowhere) facts.let = true;
  }

  Block rewrite(const Block& block) {
    Block result;
    for (const Stmt& stmt : block) {
      if (stmt.kind == Stmt::let && !facts_[stmt.value].let) continue;
      result.push_back(rewrite(stmt));
    }
    return result;
  }

  Stmt rewrite(Stmt stmt) {
    if (stmt.kind == Stmt::let) {
      facts_[stmt.value].renamed = copy(stmt.value);
      stmt.value = facts_[stmt.value].renamed;
      return stmt;
    }
    rewrite(stmt.ref);
    if (stmt.from) rewrite(*stmt.from);
    if (stmt.to) rewrite(*stmt.to);
    for (ValueId& init : stmt.init) init = nested(init);
    if (stmt.where != kNone) stmt.where = nested(stmt.where);
    if (stmt.value != kNone) stmt.value = nested(stmt.value);
    for (ValueId& carried : stmt.carried) carried = define(carried);
    stmt.body = rewrite(stmt.body);
    for (ValueId& yield : stmt.yields) yield = nested(yield);
    for (ValueId& result : stmt.results) result = define(result);
    return stmt;
  }

  void rewrite(Ref& ref) {
    for (Index& index : ref.at) rewrite(index);
  }

  void rewrite(Index& index) {
    for (Index::Term& term : index.terms) {
      if (term.kind == Index::Term::value) term.value_id = nested(term.value_id);
      for (Index& inner : term.inner) rewrite(inner);
    }
    std::ranges::sort(index.terms);  // new numbers of values, new order
  }

  // The new number of a value where it is used: one that has no let is copied to this place.
  ValueId nested(ValueId id) {
    if (facts_[id].renamed != kNone) return facts_[id].renamed;
    const Value& value = program_.values[id];
    WEFT_CHECK(!facts_[id].let && value.kind != Value::carried && value.kind != Value::result,
               "a value is used where it is known");
    WEFT_CHECK(facts_[id].uses == 1 || is_cheap(value), "a value of several uses has a let");
    return copy(id);
  }

  ValueId define(ValueId id) {
    values_.push_back(program_.values[id]);
    return facts_[id].renamed = static_cast<ValueId>(values_.size() - 1);
  }

  ValueId copy(ValueId id) {
    Value value = program_.values[id];
    rewrite(value.ref);
    rewrite(value.index);
    if (value.where != kNone) value.where = nested(value.where);
    for (ValueId& operand : value.operands) operand = nested(operand);
    if (!facts_[id].let) value.name.clear();
    values_.push_back(std::move(value));
    return static_cast<ValueId>(values_.size() - 1);
  }

  Program& program_;
  std::vector<Facts> facts_;
  std::vector<bool> written_;  // per buffer
  std::vector<Value> values_;  // of the new program
  uint32_t blocks_ = 0;
};

// A name that is not taken yet: the wanted one, or the same with a number.
std::string fresh(const std::string& wanted, std::set<std::string>& taken) {
  std::string name = wanted;
  for (int i = 1; !taken.insert(name).second; ++i) name = wanted + "_" + std::to_string(i);
  return name;
}

}  // namespace

void make_names_unique(Program& program) {
  std::set<std::string> words = symbols_of(program);  // they stand where axes stand
  for (Axis& axis : program.axes) axis.name = fresh(axis.name, words);
  std::set<std::string> knobs;
  for (Knob& knob : program.knobs) knob.name = fresh(knob.name, knobs);
  std::set<std::string> values;  // buffers and values both have a %
  for (Buffer& buffer : program.buffers) buffer.name = fresh(buffer.name, values);
  for (Value& value : program.values) {
    if (!value.name.empty()) value.name = fresh(value.name, values);
  }
}

void tidy(Program& program) {
  Tidy(program).run();
  make_names_unique(program);
}

}  // namespace weft::tile
