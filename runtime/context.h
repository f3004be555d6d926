// A context runs the graphs of an executable: it owns their state and their memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/context_device.h"

namespace weft {

class VulkanDevice;

struct ContextOptions {
  int threads = 0;      // 0 = all cores; results do not depend on it
  uint64_t seed = 1;    // of initial values
  bool poison = false;  // NaN in memory that holds nothing: finds reads of what was not written.
                        // Also set by WEFT_POISON=1 in the environment.
  // Contexts that run by turns may share one (then `threads` is not looked at).
  std::shared_ptr<Pool> pool = nullptr;

  // "vulkan:1": which of several devices; without it, as the executable says.
  std::string device = {};
  // Where a driver's compiled kernels are kept between runs; nowhere without it.
  std::string cache_folder = {};
  // Contexts may share one that is open (then `device` is not looked at).
  std::shared_ptr<VulkanDevice> vulkan = nullptr;
};

struct ContextReport {
  int64_t storage_bytes = 0;
  int64_t packed_bytes = 0;  // of copies in another order, less the storage that they replace
  int64_t arena_bytes = 0;   // for the largest binding so far
  int64_t bindings = 0;      // different ones, so far
  int64_t runs = 0;
  int64_t recompilations = 0;  // stays 0: there is no compiler here
};

// Belongs to one thread at a time. Several contexts may share an executable.
class Context {
 public:
  // On the executable's device. Fails if it is not there, or lacks what the code needs.
  static Result<Context> create(LoadedPtr loaded, ContextOptions options = {});

  const LoadedExecutable& loaded() const { return device_->loaded(); }
  int threads() const { return device_->pool().threads(); }
  // Work of the host on the threads that run kernels: work(begin, end) for pieces of 0 to `count`.
  template <class Work>
  void parallel(int64_t count, const Work& work) {
    device_->pool().parallel(count, [&](int64_t begin, int64_t end, int) { work(begin, end); });
  }
  ContextReport report() const;

  // Sizes for a graph, and memory for them. A binding that is known costs microseconds. Fails on
  // sizes that are missing, out of bounds or against an assertion, and if memory is short.
  Result<BoundPtr> bind(std::string_view graph, const DimBinding& dims);

  // Runs a graph on the caller's tensors, given in the order of `bound.inputs` and `bound.outputs`
  // and checked for size, alignment and overlap; outputs are written in place. Allocates nothing.
  // On devices with memory of their own tensors may stay there: an input without data is what the
  // last run was given, if that was one of this binding, and an output without data is not fetched.
  // Fails if an index in the data is out of range: then outputs and updated state are unspecified.
  // `nanoseconds`, if not empty, has one number per step of `bound`, to which its time is added.
  Status run(const BoundPtr& bound, std::span<const ConstBytes> inputs,
             std::span<const MutableBytes> outputs, std::span<int64_t> nanoseconds = {});

  // Parameters and state, by name with or without the @, as elements one after the other.
  Status set_storage(std::string_view name, std::span<const std::byte> bytes) {
    return device_->storage().set(name, bytes);
  }
  // Good until something runs or is set.
  Result<std::span<const std::byte>> storage(std::string_view name) {
    return device_->read_storage(name);
  }
  Result<std::vector<int64_t>> storage_shape(std::string_view name) const {
    return device_->storage().shape(name);
  }
  // For storage of symbolic shape: see StorageValues.
  Status resize_storage(std::string_view name, const std::vector<int64_t>& shape) {
    return device_->storage().resize(name, shape);
  }
  Status copy_within_storage(std::string_view name, std::span<const StorageCopy> copies) {
    return device_->storage().copy_within(name, copies, device_->pool());
  }
  // All storage begins anew.
  void reset_storage(uint64_t seed) { device_->storage().reset(seed); }

 private:
  struct Range {
    uintptr_t begin = 0;
    uintptr_t end = 0;
    bool written = false;
  };
  struct Known {
    BoundPtr bound;
    uint64_t used = 0;
  };

  explicit Context(std::unique_ptr<ContextDevice> device) : device_(std::move(device)) {}
  void remember(std::pair<uint32_t, DimBinding> key, BoundPtr bound);
  Status check_tensors(const BoundGraph& bound, std::span<const ConstBytes> inputs,
                       std::span<const MutableBytes> outputs);
  Status check_overlap(const BoundGraph& bound);

  std::unique_ptr<ContextDevice> device_;
  std::map<std::pair<uint32_t, DimBinding>, Known> known_;
  uint64_t clock_ = 0;  // counts uses of bindings
  int64_t bindings_ = 0;
  int64_t runs_ = 0;
  std::vector<Range> ranges_;  // of the caller's tensors; kept, so that no run allocates
};

}  // namespace weft
