// What a context asks of its device: to keep parameters and state, and to run bound graphs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "runtime/bind.h"
#include "runtime/storage.h"

namespace weft {

// Memory of the caller, aligned to its elements.
struct ConstBytes {
  const void* data = nullptr;
  size_t bytes = 0;
};
struct MutableBytes {
  void* data = nullptr;
  size_t bytes = 0;
};

// shared_ptr: a context keeps the bindings it used last, and forgets old ones that a caller may
// still hold.
using BoundPtr = std::shared_ptr<const BoundGraph>;

// One per context. A device derives from it in a folder of its own.
class ContextDevice {
 public:
  ContextDevice(LoadedPtr loaded, StorageValues storage, std::shared_ptr<Pool> pool)
      : loaded_(std::move(loaded)), storage_(std::move(storage)), pool_(std::move(pool)) {}
  virtual ~ContextDevice() = default;
  ContextDevice(const ContextDevice&) = delete;
  ContextDevice& operator=(const ContextDevice&) = delete;

  const LoadedExecutable& loaded() const { return *loaded_; }
  const LoadedPtr& loaded_ptr() const { return loaded_; }
  StorageValues& storage() { return storage_; }
  Pool& pool() { return *pool_; }

  virtual BindLimits limits() const = 0;
  // Memory for a binding, and values for the storage that it uses. Also called before each run:
  // cheap if nothing has changed.
  virtual Status prepare(const BoundPtr& bound) = 0;
  // `bound` is prepared, the tensors are checked.
  virtual Status run(const BoundPtr& bound, std::span<const ConstBytes> inputs,
                     std::span<const MutableBytes> outputs, std::span<int64_t> nanoseconds) = 0;
  virtual Result<std::span<const std::byte>> read_storage(std::string_view name) {
    return storage_.get(name, *pool_);
  }
  // Whether runs may be given tensors without data: see Context::run.
  virtual bool keeps_tensors() const { return false; }
  virtual int64_t arena_bytes() const = 0;
  virtual int64_t packed_bytes() const { return 0; }  // see ContextReport

 protected:
  // Storage that a graph uses has values.
  Status prepare_storage(const BoundGraph& bound);

  LoadedPtr loaded_;
  StorageValues storage_;
  std::shared_ptr<Pool> pool_;  // shared_ptr: contexts that run by turns share one
};

}  // namespace weft
