// SPDX-License-Identifier: Apache-2.0
#include "runtime/side_by_side.h"

#include <algorithm>

#include "runtime/hazards.h"

namespace weft {
namespace {

class Grouper {
 public:
  explicit Grouper(BoundGraph& bound) : bound_(bound) {}

  void run() {
    uint32_t buffers = 0;
    for (uint32_t i = 0; i < bound_.steps.size(); ++i) {
      const uint32_t own = buffer_count(bound_.steps[i]);
      if (begins_group(i)) {
        bound_.groups.push_back(i);
        buffers = 0;
      }
      buffers += own;
      bound_.most_buffers = std::max(bound_.most_buffers, buffers);
    }
  }

 private:
  uint32_t buffer_count(const BoundStep& step) const {
    return step.is_copy() ? 2 : bound_.kernel(step).buffers;
  }

  bool begins_group(uint32_t number) {
    const BoundStep& step = bound_.steps[number];
    const bool known = step.is_copy() || !bound_.kernel(step).uses.empty();
    const bool full = !bound_.groups.empty() && number - bound_.groups.back() >= kMostSideBySide;
    const bool first = number == 0 || full || !known || alone_;
    alone_ = !known;
    if (first) hazards_.barrier();
    note_accesses(step);
    const bool waits = hazards_.next(accesses_);
    return first || waits;
  }

  void note_accesses(const BoundStep& step) {
    accesses_.clear();
    if (step.is_copy()) {
      note(step, 0, step.count, false);
      note(step, 1, step.count, true);
      return;
    }
    const std::vector<BufferUse>& uses = bound_.kernel(step).uses;
    for (uint32_t i = 0; i < uses.size(); ++i) {
      note(step, i, bound_.spans[step.first_span + i], uses[i].writes);
    }
  }

  // No kernel leaves its buffers.
  void note(const BoundStep& step, uint32_t index, int64_t bytes, bool writes) {
    const BoundStep::Buffer& place = bound_.step_buffers[step.first_buffer + index];
    const BoundBuffer& buffer = bound_.buffers[place.buffer];
    // Of the arena, of storage or of a buffer of the caller's, which share no memory.
    uint64_t memory = uint64_t{place.buffer} + 1;
    int64_t begin = place.offset;
    if (buffer.kind == PlanBuffer::arena) {
      memory = 0;
      begin += buffer.offset;
    } else if (buffer.kind == PlanBuffer::storage) {
      const SharedPlace& home = bound_.loaded->facts(bound_.graph).storage_places[place.buffer];
      memory = bound_.buffers.size() + 1 + home.first;
      begin += home.offset;
    }
    const int64_t end = begin + std::min(bytes, buffer.bytes - place.offset);
    accesses_.push_back({memory, begin, end, writes});
  }

  BoundGraph& bound_;
  Hazards hazards_;
  bool alone_ = false;  // nobody knows what the step before touches
  std::vector<MemoryAccess> accesses_;
};

}  // namespace

void group_steps(BoundGraph& bound) { Grouper(bound).run(); }

}  // namespace weft
