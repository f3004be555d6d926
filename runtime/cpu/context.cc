// SPDX-License-Identifier: Apache-2.0
#include "runtime/cpu/context.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "runtime/cpu/math_table.h"

namespace weft {
namespace {

constexpr int64_t kMaxScratchBytes = int64_t{1} << 40;
constexpr int64_t kCopyPiece = 1 << 18;  // bytes
constexpr int kPoison = 0xff;            // in every float type a NaN

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
  run_kernel(loaded_->function(copy.kernel), buffers, copy.args.data(), copy.programs);
  for (const Thread& thread : thread_) {
    if (thread.failed.check != 0) return failure(kernel, "a copy of parameters");
  }
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

Status CpuContext::run_steps(const BoundGraph& bound, std::span<int64_t> nanoseconds) {
  for (size_t i = 0; i < bound.steps.size(); ++i) {
    const BoundStep& step = bound.steps[i];
    int64_t start = nanoseconds.empty() ? 0 : now();
    WEFT_TRY_STATUS(run_step(bound, step));
    if (!nanoseconds.empty()) nanoseconds[i] += now() - start;
    bool last = i + 1 == bound.steps.size() || bound.steps[i + 1].number != step.number;
    if (poison_ && last) poison_after(bound, step.number);
  }
  return ok();
}

Status CpuContext::run_step(const BoundGraph& bound, const BoundStep& step) {
  if (step.is_copy()) {
    copy(bound, step);
    return ok();
  }
  launch(bound, step);
  for (const Thread& thread : thread_) {
    if (thread.failed.check != 0) return failure(bound.kernel(step), step.step->region);
  }
  return ok();
}

void CpuContext::launch(const BoundGraph& bound, const BoundStep& step) {
  uint32_t count = bound.kernel(step).buffers;
  for (uint32_t i = 0; i < count; ++i) {
    const BoundStep::Buffer& place = bound.step_buffers[step.first_buffer + i];
    addresses_[i] = bases_[place.buffer] + place.offset;
  }
  run_kernel(step.function, addresses_.data(), bound.args.data() + step.first_arg, step.count);
}

void CpuContext::run_kernel(KernelFn function, void* const* buffers, const int64_t* args,
                            int64_t programs) {
  ++launches_;
  pool_->parallel(programs, [&](int64_t begin, int64_t end, int number) {
    Thread& thread = thread_[static_cast<size_t>(number)];
    if (begin > thread.failed_at) return;
    thread.env.launch = launches_;
    function(buffers, args, begin, end, &thread.env);
    if (thread.env.failed.check == 0) return;
    thread.failed = std::exchange(thread.env.failed, {});
    thread.failed_at = begin;
  });
}

// The code stops at the first failure of the programs that it is called for, and no thread leaves
// out what lies before the first one it knows: the lowest of these is the first failure of all,
// however many threads there are.
Status CpuContext::failure(const Kernel& kernel, const std::string& computes) {
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

void CpuContext::copy(const BoundGraph& bound, const BoundStep& step) {
  auto address = [&](uint32_t i) {
    const BoundStep::Buffer& place = bound.step_buffers[step.first_buffer + i];
    return bases_[place.buffer] + place.offset;
  };
  const std::byte* from = address(0);
  std::byte* to = address(1);
  if (from == to) return;
  pool_->parallel((step.count + kCopyPiece - 1) / kCopyPiece, [&](int64_t begin, int64_t end, int) {
    int64_t first = begin * kCopyPiece;
    std::memcpy(to + first, from + first,
                static_cast<size_t>(std::min(end * kCopyPiece, step.count) - first));
  });
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
