// Runs bound graphs on the threads of this machine.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/context.h"
#include "runtime/packed.h"

namespace weft {

class CpuContext final : public ContextDevice {
 public:
  static Result<std::unique_ptr<ContextDevice>> create(LoadedPtr loaded,
                                                       const ContextOptions& options);

  BindLimits limits() const override { return {}; }
  Status prepare(const BoundPtr& bound) override;
  Status run(const BoundPtr& bound, std::span<const ConstBytes> inputs,
             std::span<const MutableBytes> outputs, std::span<int64_t> nanoseconds) override;
  Result<std::span<const std::byte>> read_storage(std::string_view name) override;
  int64_t arena_bytes() const override { return arena_.bytes(); }
  int64_t packed_bytes() const override { return packed_.bytes() - storage_.bytes_away(); }

 private:
  static constexpr int64_t kNever = INT64_MAX;
  struct alignas(64) Thread {
    KernelEnv env;
    KernelFailure failed;        // the first of the launch that this thread knows
    int64_t failed_at = kNever;  // the piece of the grid in which it was
  };

  CpuContext(LoadedPtr loaded, StorageValues storage, PackedValues packed,
             const ContextOptions& options);
  Status grow(const BoundGraph& bound);
  Status grow_scratch(int64_t bytes, std::string_view what, std::string_view whose);
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

  PackedValues packed_;
  bool poison_ = false;
  int64_t launches_ = 0;
  Memory arena_;
  Memory scratch_;
  std::vector<Thread> thread_;
  // Kept between runs, so that none allocates.
  std::vector<std::byte*> bases_;  // of the plan's buffers
  std::vector<void*> addresses_;   // of a launch's buffers
};

}  // namespace weft
