// SPDX-License-Identifier: Apache-2.0
#include "driver/tune_candidate.h"

#include <algorithm>
#include <cstring>

#include "ir/oracle/compare.h"

namespace weft {

Status Candidate::run(Samples& samples) {
  std::ranges::fill(nanoseconds_, 0);
  WEFT_TRY_STATUS(executor_.run(prepared_, nanoseconds_));
  samples.resize(programs_.size());
  for (std::vector<double>& of_program : samples) of_program.push_back(0);
  for (size_t i = 0; i < nanoseconds_.size(); ++i) {
    const BoundStep& step = prepared_.bound->steps[i];
    if (step.is_copy()) continue;
    samples[step.step->program].back() += static_cast<double>(nanoseconds_[i]) * 1e-3;
  }
  return ok();
}

Result<bool> Candidate::is_close(Candidate& other) {
  const TensorMap outputs = executor_.outputs(prepared_);
  if (compare(outputs, other.executor_.outputs(other.prepared_), RunBy::device)) return false;
  for (const BoundStorage& used : prepared_.bound->storage) {
    const std::string& name = executor_.executable().storage[used.index].name;
    WEFT_TRY(const Tensor a, executor_.storage(name));
    WEFT_TRY(const Tensor b, other.executor_.storage(name));
    if (compare(a, b, tolerance(RunBy::device, a.dtype))) return false;
  }
  return true;
}

Result<bool> Candidate::same_bits(Candidate& other) {
  for (size_t i = 0; i < prepared_.outputs.size(); ++i) {
    const Memory& a = prepared_.outputs[i];
    const Memory& b = other.prepared_.outputs[i];
    const auto bytes = static_cast<size_t>(a.bytes());
    if (bytes > 0 && std::memcmp(a.data(), b.data(), bytes) != 0) return false;
  }
  for (const BoundStorage& used : prepared_.bound->storage) {
    const std::string& name = executor_.executable().storage[used.index].name;
    WEFT_TRY(std::span<const std::byte> a, executor_.context().storage(name));
    WEFT_TRY(std::span<const std::byte> b, other.executor_.context().storage(name));
    if (!std::ranges::equal(a, b)) return false;
  }
  return true;
}

}  // namespace weft
