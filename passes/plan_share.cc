// Launches that differ only in what is known when sizes are bound share a program.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/tile/text.h"
#include "passes/plan_work.h"

namespace weft {
namespace {

using Symbols = std::vector<std::pair<std::string, Dim>>;  // of a program, and what they mean

// Streams of random numbers become symbols: else each dropout would be a program of its own.
Symbols lift_streams(tile::Program& program) {
  std::set<std::string> taken = tile::symbols_of(program);
  for (const tile::Axis& axis : program.axes) taken.insert(axis.name);
  Symbols lifted;
  for (tile::Value& value : program.values) {
    if (value.kind != tile::Value::random || !value.stream.is_constant()) continue;
    auto known = std::ranges::find(lifted, value.stream, [](const auto& s) { return s.second; });
    if (known == lifted.end()) {
      std::string name = cat("stream", lifted.size());
      while (!taken.insert(name).second) name += "_";
      lifted.emplace_back(std::move(name), value.stream);
      known = lifted.end() - 1;
    }
    value.stream = Dim::symbol(known->first);
  }
  return lifted;
}

}  // namespace

void ProgramTable::add(tile::Program program, Step& launch) {
  Symbols lifted = lift_streams(program);
  std::vector<std::string> symbols = tile::ordered_symbols(program);
  auto [found, fresh] = by_key_.emplace(tile::key(program, symbols), entries_.size());
  launch.program = found->second;
  if (fresh) {
    uint32_t times = names_[program.name]++;
    if (times > 0) program.name += cat("_", times);
    entries_.push_back({std::move(program), symbols});
  }
  const Entry& entry = entries_[launch.program];
  for (size_t i = 0; i < symbols.size(); ++i) {
    auto stream = std::ranges::find(lifted, symbols[i], &Symbols::value_type::first);
    Dim here = stream == lifted.end() ? Dim::symbol(symbols[i]) : stream->second;
    if (here != Dim::symbol(entry.symbols[i])) launch.symbols.emplace_back(entry.symbols[i], here);
  }
}

std::vector<tile::Program> ProgramTable::take() {
  std::vector<tile::Program> programs;
  for (Entry& entry : entries_) programs.push_back(std::move(entry.program));
  return programs;
}

}  // namespace weft
