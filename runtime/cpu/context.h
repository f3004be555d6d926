// Runs bound graphs on the threads of this machine.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
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
  // A piece of the grid of one of the launches that run side by side.
  using Piece = std::pair<size_t, int64_t>;
  static constexpr Piece kNever = {SIZE_MAX, INT64_MAX};
  struct alignas(64) Thread {
    KernelEnv env;
    int64_t job = 0;           // the launch that `env` is at
    KernelFailure failed;      // the first of the launches that this thread knows
    Piece failed_at = kNever;  // where it was
  };
  // A launch, with its buffers, or a copy.
  struct Job {
    const BoundStep* step = nullptr;
    KernelFn function = nullptr;  // none: a copy
    void* const* buffers = nullptr;
    const int64_t* args = nullptr;
  };

  CpuContext(LoadedPtr loaded, StorageValues storage, PackedValues packed,
             const ContextOptions& options);
  Status grow(const BoundGraph& bound);
  Status grow_scratch(int64_t bytes, std::string_view what, std::string_view whose);
  void resolve(const BoundGraph& bound, std::span<const ConstBytes> inputs,
               std::span<const MutableBytes> outputs);
  Status run_steps(const BoundGraph& bound, std::span<int64_t> nanoseconds);
  Status run_group(const BoundGraph& bound, std::span<const BoundStep> steps);
  void run_jobs(std::span<const Job> jobs, std::span<const int64_t> counts);
  void run_piece(const Job& job, size_t number, int64_t begin, int64_t end, Thread& thread);
  Status launch_copy(const CopyLaunch& copy, const std::byte* from, std::byte* to);
  std::optional<Piece> first_failure() const;
  Error failure(const Kernel& kernel, const std::string& computes);
  void poison_before(const BoundGraph& bound);
  void poison_after(const BoundGraph& bound, uint32_t step);

  PackedValues packed_;
  bool poison_ = false;
  int64_t jobs_ = 0;  // so far
  Memory arena_;
  Memory scratch_;
  std::vector<Thread> thread_;
  // Kept between runs, so that none allocates.
  std::vector<std::byte*> bases_;  // of the plan's buffers
  std::vector<void*> addresses_;   // of the buffers of launches that run side by side
};

}  // namespace weft
