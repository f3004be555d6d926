// SPDX-License-Identifier: Apache-2.0
#include "ir/tile/print_names.h"

#include "ir/text/names.h"
#include "ir/tile/build.h"
#include "ir/tile/text.h"

namespace weft::tile {
namespace {

class Namer {
 public:
  explicit Namer(const Program& program) : program_(program) {}

  Names run() {
    for (const Buffer& buffer : program_.buffers) {
      taken_.insert(buffer.name);
      names_.buffers.push_back(spell('%', buffer.name));
    }
    names_.values.resize(program_.values.size());
    collect(program_.body);
    for (ValueId id : defined_) {  // given names first, so that a number never takes one of them
      const std::string& given = program_.values[id].name;
      if (!given.empty() && taken_.insert(given).second) names_.values[id] = spell('%', given);
    }
    for (ValueId id : defined_) {
      if (names_.values[id].empty()) names_.values[id] = spell('%', fresh(program_.values[id]));
    }
    return std::move(names_);
  }

 private:
  void collect(const Block& block) {
    for (const Stmt& stmt : block) {
      if (stmt.kind == Stmt::let) defined_.push_back(stmt.value);
      defined_.insert(defined_.end(), stmt.results.begin(), stmt.results.end());
      defined_.insert(defined_.end(), stmt.carried.begin(), stmt.carried.end());
      collect(stmt.body);
    }
  }

  std::string fresh(const Value& value) {
    std::string stem = mnemonic(value);
    uint32_t& next = next_[stem];
    std::string candidate;
    do {
      candidate = stem + std::to_string(next++);
    } while (!taken_.insert(candidate).second);
    return candidate;
  }

  const Program& program_;
  Names names_;
  std::vector<ValueId> defined_;  // in the order of the text
  std::set<std::string> taken_;
  std::map<std::string, uint32_t> next_;
};

}  // namespace

std::string mnemonic(const Value& value) {
  switch (value.kind) {
    case Value::constant: return "constant";
    case Value::coord: return "coord";
    case Value::load: return "load";
    case Value::map: return std::string(name(value.op));
    case Value::reduce: return "reduce";
    case Value::dot: return "dot";
    case Value::random: return "random";
    case Value::carried: return "carried";
    case Value::result: return "loop";
  }
  return "value";
}

Names names_of(const Program& program) { return Namer(program).run(); }

std::string key(const Program& program) {
  Program bare = program;
  bare.name = "_";
  bare.origin.clear();
  for (Knob& knob : bare.knobs) knob.name = "K";
  for (Axis& axis : bare.axes) axis.name = "a";
  for (Buffer& buffer : bare.buffers) buffer.name = "b";
  for (Value& value : bare.values) value.name.clear();
  make_names_unique(bare);
  return print(bare);
}

}  // namespace weft::tile
