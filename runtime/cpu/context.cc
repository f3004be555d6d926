// SPDX-License-Identifier: Apache-2.0
#include "runtime/cpu/context.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <utility>

#include "runtime/cpu/math_table.h"
#include "runtime/side_by_side.h"

namespace weft {
namespace {

constexpr int64_t kMaxScratchBytes = int64_t{1} << 40;
constexpr int64_t kCopyPiece = 1 << 18;  // bytes
static_assert(kMostSideBySide <= Pool::kMostJobs);
constexpr int kPoison = 0xff;  // in every float type a NaN

int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// A new piece, once the old one is given back: both at once may be too much.
Status replace(Memory& memory, int64_t bytes, const char* what) {
  memory = Memory();
  WEFT_TRY(memory, Memory::allocate(bytes, what));
  return ok();
}

}  // namespace

Result<std::unique_ptr<ContextDevice>> CpuContext::create(LoadedPtr loaded,
                                                          const ContextOptions& options) {
  WEFT_TRY(StorageValues storage,
           StorageValues::create(loaded, options.seed, std::make_unique<HostStorage>()));
  WEFT_TRY(PackedValues packed, PackedValues::create(loaded));
  return std::unique_ptr<ContextDevice>(
      new CpuContext(std::move(loaded), std::move(storage), std::move(packed), options));
}

CpuContext::CpuContext(LoadedPtr loaded, StorageValues storage, PackedValues packed,
                       const ContextOptions& options)
    : ContextDevice(std::move(loaded), std::move(storage), options.pool),
      packed_(std::move(packed)),
      poison_(options.poison),
      thread_(static_cast<size_t>(pool_->threads())) {
  for (Thread& thread : thread_) thread.env.math = &math_table();
}

Status CpuContext::prepare(const BoundPtr& bound) {
  WEFT_TRY_STATUS(prepare_storage(*bound));
  WEFT_TRY_STATUS(grow(*bound));
  for (uint32_t copy : bound->packed) {
    if (packed_.ready(copy, storage_)) continue;
    WEFT_TRY_STATUS(packed_.prepare(copy, storage_,
                                    [&](const auto&... parts) { return launch_copy(parts...); }));
  }
  return ok();
}

Status CpuContext::launch_copy(const CopyLaunch& copy, const std::byte* from, std::byte* to) {
  const Kernel& kernel = loaded_->executable().kernels[copy.kernel];
  WEFT_TRY_STATUS(grow_scratch(copy.scratch_bytes, "kernel ", kernel.name));
  void* buffers[] = {const_cast<std::byte*>(from), to};  // it only reads the first
  const Job job = {nullptr, loaded_->function(copy.kernel), buffers, copy.args.data()};
  run_jobs({&job, 1}, {&copy.programs, 1});
  if (first_failure()) return failure(kernel, "a copy of parameters");
  return ok();
}

Result<std::span<const std::byte>> CpuContext::read_storage(std::string_view name) {
  if (Result<uint32_t> index = storage_.find(name); index.ok()) {
    WEFT_TRY_STATUS(packed_.restore(*index, storage_,
                                    [&](const auto&... parts) { return launch_copy(parts...); }));
  }
  return storage_.get(name, *pool_);
}

// Memory for the largest binding serves all others.
Status CpuContext::grow(const BoundGraph& bound) {
  if (bound.arena_bytes > arena_.bytes()) {
    WEFT_TRY_STATUS(replace(arena_, bound.arena_bytes, "arena"));
  }
  WEFT_TRY_STATUS(grow_scratch(bound.scratch_bytes, "graph @", bound.name()));
  bases_.resize(std::max(bases_.size(), bound.buffers.size()));
  addresses_.resize(std::max<size_t>(addresses_.size(), bound.most_buffers));
  return ok();
}

Status CpuContext::grow_scratch(int64_t bytes, std::string_view what, std::string_view whose) {
  if (bytes > kMaxScratchBytes) {
    return error({}, what, whose, " asks for ", bytes,
                 " bytes of scratch memory for a thread; the limit is ", kMaxScratchBytes);
  }
  auto threads = static_cast<int64_t>(thread_.size());
  int64_t each = aligned(bytes);
  // Panels of a product are walked in a thousand places at once: worth a huge page.
  if (each >= kHugePage / 8) each = (each + kHugePage - 1) / kHugePage * kHugePage;
  if (each * threads > scratch_.bytes()) {
    WEFT_TRY_STATUS(replace(scratch_, each * threads, "scratch memory of the threads"));
  }
  each = scratch_.bytes() / threads / kBufferAlignment * kBufferAlignment;
  for (int64_t i = 0; i < threads; ++i) {
    thread_[static_cast<size_t>(i)].env.scratch = scratch_.data() + i * each;
  }
  return ok();
}

Status CpuContext::run(const BoundPtr& bound, std::span<const ConstBytes> inputs,
                       std::span<const MutableBytes> outputs, std::span<int64_t> nanoseconds) {
  resolve(*bound, inputs, outputs);
  if (poison_) poison_before(*bound);
  return run_steps(*bound, nanoseconds);
}

void CpuContext::resolve(const BoundGraph& bound, std::span<const ConstBytes> inputs,
                         std::span<const MutableBytes> outputs) {
  const GraphPlan& plan = loaded_->executable().graphs[bound.graph];
  // Kernels only read inputs and constants.
  auto address = [&](const BoundBuffer& buffer) -> void* {
    switch (buffer.kind) {
      case PlanBuffer::input: return const_cast<void*>(inputs[buffer.index].data);
      case PlanBuffer::output: return outputs[buffer.index].data;
      case PlanBuffer::storage: return storage_.data(buffer.index);
      case PlanBuffer::packed: return packed_.data(buffer.index);
      case PlanBuffer::constant:
        return const_cast<std::byte*>(plan.buffers[buffer.index].data.data());
      case PlanBuffer::arena: return arena_.data() + buffer.offset;
    }
    return nullptr;
  };
  for (size_t i = 0; i < bound.buffers.size(); ++i) {
    bases_[i] = static_cast<std::byte*>(address(bound.buffers[i]));
  }
}

// One by one where somebody looks at each step.
Status CpuContext::run_steps(const BoundGraph& bound, std::span<int64_t> nanoseconds) {
  const std::span<const BoundStep> steps = bound.steps;
  if (nanoseconds.empty() && !poison_) {
    for (size_t i = 0; i < bound.groups.size(); ++i) {
      const size_t end = i + 1 < bound.groups.size() ? bound.groups[i + 1] : steps.size();
      WEFT_TRY_STATUS(run_group(bound, steps.subspan(bound.groups[i], end - bound.groups[i])));
    }
    return ok();
  }
  for (size_t i = 0; i < steps.size(); ++i) {
    int64_t start = nanoseconds.empty() ? 0 : now();
    WEFT_TRY_STATUS(run_group(bound, steps.subspan(i, 1)));
    if (!nanoseconds.empty()) nanoseconds[i] += now() - start;
    bool last = i + 1 == steps.size() || steps[i + 1].number != steps[i].number;
    if (poison_ && last) poison_after(bound, steps[i].number);
  }
  return ok();
}

Status CpuContext::run_group(const BoundGraph& bound, std::span<const BoundStep> steps) {
  std::array<Job, kMostSideBySide> jobs;
  std::array<int64_t, kMostSideBySide> counts = {};
  void** next = addresses_.data();
  for (size_t i = 0; i < steps.size(); ++i) {
    const BoundStep& step = steps[i];
    jobs[i] = {&step, step.function, next, bound.args.data() + step.first_arg};
    counts[i] = step.is_copy() ? (step.count + kCopyPiece - 1) / kCopyPiece : step.count;
    const uint32_t buffers = step.is_copy() ? 2 : bound.kernel(step).buffers;
    for (uint32_t j = 0; j < buffers; ++j) {
      const BoundStep::Buffer& place = bound.step_buffers[step.first_buffer + j];
      *next++ = bases_[place.buffer] + place.offset;
    }
  }
  run_jobs({jobs.data(), steps.size()}, {counts.data(), steps.size()});
  if (auto failed = first_failure()) {
    const BoundStep& step = steps[failed->first];
    return failure(bound.kernel(step), step.step->region);
  }
  return ok();
}

void CpuContext::run_jobs(std::span<const Job> jobs, std::span<const int64_t> counts) {
  pool_->parallel(counts, [&](size_t job, int64_t begin, int64_t end, int number) {
    Thread& thread = thread_[static_cast<size_t>(number)];
    run_piece(jobs[job], job, begin, end, thread);
  });
  jobs_ += static_cast<int64_t>(jobs.size());
}

void CpuContext::run_piece(const Job& job, size_t number, int64_t begin, int64_t end,
                           Thread& thread) {
  if (job.function == nullptr) {
    const int64_t first = begin * kCopyPiece;
    const int64_t bytes = std::min(end * kCopyPiece, job.step->count) - first;
    auto* from = static_cast<const std::byte*>(job.buffers[0]);
    auto* to = static_cast<std::byte*>(job.buffers[1]);
    if (from != to) std::memcpy(to + first, from + first, static_cast<size_t>(bytes));
    return;
  }
  const Piece piece(number, begin);
  if (piece > thread.failed_at) return;
  // Another kernel may have used the thread's scratch since this one's last piece: to the code it
  // is a new launch.
  if (const int64_t at = jobs_ + static_cast<int64_t>(number) + 1; thread.job != at) {
    thread.job = at;
    ++thread.env.launch;
  }
  job.function(job.buffers, job.args, begin, end, &thread.env);
  if (thread.env.failed.check == 0) return;
  thread.failed = std::exchange(thread.env.failed, {});
  thread.failed_at = piece;
}

std::optional<CpuContext::Piece> CpuContext::first_failure() const {
  const Piece first = std::ranges::min_element(thread_, {}, &Thread::failed_at)->failed_at;
  return first == kNever ? std::nullopt : std::optional(first);
}

// The code stops at the first failure of the programs that it is called for, and no thread leaves
// out what lies before the first one it knows: the lowest of these is the first failure of all,
// however many threads there are.
Error CpuContext::failure(const Kernel& kernel, const std::string& computes) {
  const KernelFailure first = std::ranges::min_element(thread_, {}, &Thread::failed_at)->failed;
  for (Thread& thread : thread_) {
    thread.failed_at = kNever;
    thread.failed = {};
  }
  auto check = static_cast<size_t>(first.check - 1);
  WEFT_CHECK(check < kernel.checks.size(), "kernel " + kernel.name + " knows its checks");
  std::string region = computes.empty() ? "" : " (" + computes + ")";
  return error({}, "kernel ", kernel.name, region, ": ", kernel.checks[check], ": ", first.value,
               " is not between 0 and ", first.limit - 1);
}

void CpuContext::poison_before(const BoundGraph& bound) {
  if (arena_.bytes() > 0) std::memset(arena_.data(), kPoison, static_cast<size_t>(arena_.bytes()));
  for (size_t i = 0; i < bound.buffers.size(); ++i) {
    const BoundBuffer& buffer = bound.buffers[i];
    if (buffer.kind != PlanBuffer::output || buffer.bytes == 0) continue;
    std::memset(bases_[i], kPoison, static_cast<size_t>(buffer.bytes));
  }
}

// What ends its life with this step is not to be read again.
void CpuContext::poison_after(const BoundGraph& bound, uint32_t step) {
  const GraphPlan& plan = loaded_->executable().graphs[bound.graph];
  for (size_t i = 0; i < bound.buffers.size(); ++i) {
    const BoundBuffer& buffer = bound.buffers[i];
    if (buffer.kind != PlanBuffer::arena || plan.buffers[i].last != step || buffer.bytes == 0)
      continue;
    std::memset(bases_[i], kPoison, static_cast<size_t>(buffer.bytes));
  }
}

}  // namespace weft
