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

std::vector<std::string> ordered_symbols(const Program& program) {
  std::vector<std::string> ordered;
  std::set<std::string> seen;
  for_each_dim(program, [&](const Dim& dim) {
    if (dim.is_constant()) return;
    std::set<std::string> symbols;
    dim.collect_symbols(symbols);
    for (const std::string& symbol : symbols) {
      if (seen.insert(symbol).second) ordered.push_back(symbol);
    }
  });
  return ordered;
}

std::string key(Program program, const std::vector<std::string>& symbols) {
  std::map<std::string, Dim> canonical;
  for (const std::string& symbol : symbols) {
    canonical.emplace(symbol, Dim::symbol(cat("s", canonical.size())));
  }
  for_each_dim(program, [&](Dim& dim) { dim = dim.substitute(canonical); });
  program.name = "_";
  program.origin.clear();
  for (Knob& knob : program.knobs) knob.name = "K";
  for (Axis& axis : program.axes) axis.name = "a";
  for (Buffer& buffer : program.buffers) buffer.name = "b";
  for (Value& value : program.values) value.name.clear();
  make_names_unique(program);
  return print(program);
}

}  // namespace weft::tile
