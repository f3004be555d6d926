// What a context does with parameters and state: values before a run, copies of them, access.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/context.h"

namespace weft {

Status Context::prepare(const BoundGraph& bound) {
  for (uint32_t index : loaded_->facts(bound.graph).fixed_storage) {
    if (!storage_.filled(index)) storage_.fill(index, *pool_);
  }
  for (const BoundStorage& used : bound.storage) {
    if (storage_.ready(used.index, used.shape)) continue;
    WEFT_TRY_STATUS(storage_.prepare(used.index, used.shape, *pool_));
  }
  WEFT_TRY_STATUS(grow(bound));
  for (uint32_t copy : bound.packed) {
    if (packed_.ready(copy, storage_)) continue;
    WEFT_TRY_STATUS(packed_.prepare(copy, storage_,
                                    [&](const auto&... parts) { return launch_copy(parts...); }));
  }
  return ok();
}

Status Context::launch_copy(const CopyLaunch& copy, const std::byte* from, std::byte* to) {
  const Kernel& kernel = loaded_->executable().kernels[copy.kernel];
  WEFT_TRY_STATUS(grow_scratch(copy.scratch_bytes, "kernel ", kernel.name));
  void* buffers[] = {const_cast<std::byte*>(from), to};  // it only reads the first
  run_kernel(loaded_->function(copy.kernel), buffers, copy.args.data(), copy.programs);
  for (const Thread& thread : thread_) {
    if (thread.failed.check != 0) return failure(kernel, "a copy of parameters");
  }
  return ok();
}

Status Context::set_storage(std::string_view name, std::span<const std::byte> bytes) {
  return storage_.set(name, bytes);
}

Result<std::span<const std::byte>> Context::storage(std::string_view name) {
  if (Result<uint32_t> index = storage_.find(name); index.ok()) {
    WEFT_TRY_STATUS(packed_.restore(*index, storage_,
                                    [&](const auto&... parts) { return launch_copy(parts...); }));
  }
  return storage_.get(name, *pool_);
}

Result<std::vector<int64_t>> Context::storage_shape(std::string_view name) const {
  return storage_.shape(name);
}

}  // namespace weft
