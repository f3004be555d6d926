// What a caller hands to a context is checked before anything runs: sizes, alignment, overlap.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "runtime/context.h"

namespace weft {

Status Context::check_tensors(const BoundGraph& bound, std::span<const ConstBytes> inputs,
                              std::span<const MutableBytes> outputs) {
  if (inputs.size() != bound.inputs.size() || outputs.size() != bound.outputs.size()) {
    return error({}, "graph @", bound.name(), " has ", bound.inputs.size(), " inputs and ",
                 bound.outputs.size(), " outputs, got ", inputs.size(), " and ", outputs.size());
  }
  ranges_.clear();
  auto check = [&](const BoundTensor& tensor, const void* data, size_t bytes,
                   bool output) -> Status {
    const char* what = output ? "output " : "input ";
    if (bytes != static_cast<size_t>(tensor.bytes)) {
      return error({}, what, tensor.name, " has ", tensor.bytes, " bytes, got ", bytes);
    }
    if (data == nullptr && device_->keeps_tensors()) return ok();
    auto begin = reinterpret_cast<uintptr_t>(data);
    if (bytes > 0 &&
        (data == nullptr || begin % static_cast<uintptr_t>(byte_size(tensor.dtype)) != 0)) {
      return error({}, what, tensor.name, " is at address ", data,
                   ", which is null or not aligned to ", name(tensor.dtype));
    }
    if (bytes > 0) ranges_.push_back({begin, begin + bytes, output});
    return ok();
  };
  for (size_t i = 0; i < inputs.size(); ++i) {
    WEFT_TRY_STATUS(check(bound.inputs[i], inputs[i].data, inputs[i].bytes, false));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    WEFT_TRY_STATUS(check(bound.outputs[i], outputs[i].data, outputs[i].bytes, true));
  }
  return check_overlap(bound);
}

// Inputs may share memory; an output shares it with nothing.
Status Context::check_overlap(const BoundGraph& bound) {
  std::ranges::sort(ranges_, {}, &Range::begin);
  uintptr_t end = 0;          // of what was seen so far
  uintptr_t written_end = 0;  // of the outputs among it
  for (const Range& range : ranges_) {
    if (range.begin < (range.written ? end : written_end)) {
      return error({}, "graph @", bound.name(),
                   ": an output shares memory with an input or another output")
          .hint("give each output memory of its own");
    }
    end = std::max(end, range.end);
    if (range.written) written_end = std::max(written_end, range.end);
  }
  return ok();
}

}  // namespace weft
