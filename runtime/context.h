// A context runs the graphs of an executable: it owns their state and their memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/bind.h"
#include "runtime/packed.h"
#include "runtime/storage.h"

namespace weft {

struct ContextOptions {
  int threads = 0;      // 0 = all cores; results do not depend on it
  uint64_t seed = 1;    // of initial values
  bool poison = false;  // NaN in memory that holds nothing: finds reads of what was not written.
                        // Also set by WEFT_POISON=1 in the environment.
  // Contexts that run by turns may share one (then `threads` is not looked at).
  std::shared_ptr<Pool> pool = nullptr;
};

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
  static Result<Context> create(LoadedPtr loaded, ContextOptions options = {});

  const LoadedExecutable& loaded() const { return *loaded_; }
  int threads() const { return pool_->threads(); }
  // Work of the host on the threads that run kernels: work(begin, end) for pieces of 0 to `count`.
  template <class Work>
  void parallel(int64_t count, const Work& work) {
    pool_->parallel(count, [&](int64_t begin, int64_t end, int) { work(begin, end); });
  }
  ContextReport report() const;

  // Sizes for a graph, and memory for them. A binding that is known costs microseconds. Fails on
  // sizes that are missing, out of bounds or against an assertion, and if memory is short.
  Result<BoundPtr> bind(std::string_view graph, const DimBinding& dims);

  // Runs a graph on the caller's tensors, given in the order of `bound.inputs` and `bound.outputs`
  // and checked for size, alignment and overlap; outputs are written in place. Allocates nothing.
  // Fails if an index in the data is out of range: then outputs and updated state are unspecified.
  // `nanoseconds`, if not empty, has one number per step of `bound`, to which its time is added.
  Status run(const BoundPtr& bound, std::span<const ConstBytes> inputs,
             std::span<const MutableBytes> outputs, std::span<int64_t> nanoseconds = {});

  // Parameters and state, by name with or without the @, as elements one after the other.
  Status set_storage(std::string_view name, std::span<const std::byte> bytes);
  Result<std::span<const std::byte>> storage(std::string_view name);
  Result<std::vector<int64_t>> storage_shape(std::string_view name) const;
  // For storage of symbolic shape: see StorageValues.
  Status resize_storage(std::string_view name, const std::vector<int64_t>& shape) {
    return storage_.resize(name, shape);
  }
  Status copy_within_storage(std::string_view name, std::span<const StorageCopy> copies) {
    return storage_.copy_within(name, copies, *pool_);
  }
  // All storage begins anew.
  void reset_storage(uint64_t seed) { storage_.reset(seed); }

 private:
  static constexpr int64_t kNever = INT64_MAX;
  struct alignas(64) Thread {
    KernelEnv env;
    KernelFailure failed;        // the first of the launch that this thread knows
    int64_t failed_at = kNever;  // the piece of the grid in which it was
  };
  struct Range {
    uintptr_t begin = 0;
    uintptr_t end = 0;
    bool written = false;
  };
  struct Known {
    BoundPtr bound;
    uint64_t used = 0;
  };

  Context(LoadedPtr loaded, StorageValues storage, PackedValues packed, std::shared_ptr<Pool> pool,
          bool poison);
  void remember(std::pair<uint32_t, DimBinding> key, BoundPtr bound);
  Status prepare(const BoundGraph& bound);
  Status grow(const BoundGraph& bound);
  Status grow_scratch(int64_t bytes, std::string_view what, std::string_view whose);
  Status check_tensors(const BoundGraph& bound, std::span<const ConstBytes> inputs,
                       std::span<const MutableBytes> outputs);
  Status check_overlap(const BoundGraph& bound);
  void resolve(const BoundGraph& bound, std::span<const ConstBytes> inputs,
               std::span<const MutableBytes> outputs);
  Status run_steps(const BoundGraph& bound, std::span<int64_t> nanoseconds);
  Status run_step(const BoundGraph& bound, const BoundStep& step);
  void launch(const BoundGraph& bound, const BoundStep& step);
  void run_kernel(KernelFn function, void* const* buffers, const int64_t* args, int64_t programs);
  Status launch_copy(const CopyLaunch& copy, const std::byte* from, std::byte* to);
  void copy(const BoundGraph& bound, const BoundStep& step);
  Status failure(const Kernel& kernel, const std::string& computes);
  void poison_before(const BoundGraph& bound);
  void poison_after(const BoundGraph& bound, uint32_t step);

  LoadedPtr loaded_;
  StorageValues storage_;
  PackedValues packed_;
  std::shared_ptr<Pool> pool_;
  bool poison_ = false;
  std::map<std::pair<uint32_t, DimBinding>, Known> known_;
  uint64_t clock_ = 0;  // counts uses of bindings
  int64_t bindings_ = 0;
  int64_t runs_ = 0;
  int64_t launches_ = 0;
  Memory arena_;
  Memory scratch_;
  std::vector<Thread> thread_;
  // Kept between runs, so that none allocates.
  std::vector<std::byte*> bases_;  // of the plan's buffers
  std::vector<void*> addresses_;   // of a launch's buffers
  std::vector<Range> ranges_;      // of the caller's tensors
};

}  // namespace weft
