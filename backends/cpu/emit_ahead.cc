// While a nest computes for long, memory would wait: it asks for what the next program reads, which
// the same thread most likely runs.
// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/emitter.h"

namespace weft::cpu {

using tile::Value;

namespace {

constexpr int64_t kLine = 64;  // bytes

}  // namespace

// Calls fn for each value that the nest computes.
void KernelEmitter::for_each_computed(const std::vector<Sink>& sinks,
                                      const std::function<void(ValueId)>& fn) const {
  std::set<ValueId> seen;
  std::function<void(ValueId)> visit = [&](ValueId id) {
    if (id == tile::kNone || slots_.contains(id) || !seen.insert(id).second) return;
    fn(id);
    tile::for_each_use(program_.values[id], visit);
  };
  for (const Sink& sink : sinks) {
    if (sink.kind != Sink::reduce) {
      visit(sink.value);
      continue;
    }
    for (ValueId operand : program_.values[sink.value].operands) visit(operand);
  }
}

bool KernelEmitter::is_costly(const std::vector<Sink>& sinks) const {
  bool costly = false;
  for_each_computed(sinks, [&](ValueId id) {
    const Value& value = program_.values[id];
    costly |= value.kind == Value::map && info(value.op).has(kCostly);
  });
  return costly;
}

// The loads of a nest that read other memory in the next program.
std::vector<tile::ValueId> KernelEmitter::loads_ahead(const std::vector<Sink>& sinks,
                                                      AxisId lane) const {
  std::vector<ValueId> loads;
  if (program_.grid.empty()) return loads;
  const AxisId next = program_.grid.back().axis;
  if (!program_.size_of(program_.axes[next].extent)) return loads;
  for_each_computed(sinks, [&](ValueId id) {
    const Value& value = program_.values[id];
    const bool reads = value.kind == Value::load && is_plain_load(id) &&
                       program_.buffers[value.ref.buffer].mode == tile::Buffer::in;
    if (reads && step_along(id, lane).is_constant(1) && !step_along(id, next).is_constant(0)) {
      loads.push_back(id);
    }
  });
  return loads;
}

// Asks for the lines that vectors of the nest have in the next program.
void KernelEmitter::ask_ahead(const Nest& nest) {
  if (nest.ahead.empty()) return;
  const AxisId next = program_.grid.back().axis;
  const int64_t extent = program_.size_of(program_.axes[next].extent).value();
  for (ValueId id : nest.ahead) {
    const Value& value = program_.values[id];
    llvm::Value* first =
        ir_.CreateAdd(offset(value.ref, nullptr).first, dim(step_along(id, next) * Dim(extent)));
    for (int64_t lane = 0; lane < nest.lanes; lane += kLine / byte_size(value.dtype)) {
      // Not in bounds: behind the last program nothing follows, which a prefetch does not mind.
      prefetch(ir_.CreateGEP(memory_type(value.dtype), buffer_addresses_[value.ref.buffer],
                             ir_.CreateAdd(first, i64(lane))),
               /*nearest=*/false);
    }
  }
}

}  // namespace weft::cpu
