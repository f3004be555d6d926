// SPDX-License-Identifier: Apache-2.0
#include "runtime/pool.h"

#include <algorithm>
#include <chrono>
#include <system_error>

namespace weft {
namespace {

// The state of the job: how many workers are at it (low bits), whether one may still join, and its
// number, which a worker compares with the last it saw. A number that comes round again does no
// harm: a worker joins by exchanging the very state it read, and reads the job after that.
constexpr uint32_t kOpen = 1u << 15;
constexpr uint32_t kActiveMask = kOpen - 1;
constexpr uint32_t kNumberStep = 1u << 16;
static_assert(kMaxThreads < static_cast<int>(kOpen));

constexpr int64_t kSpinNanoseconds = 50'000;
// A thread takes this part of what is left, so that pieces become small towards the end and no
// thread waits long for another's last one.
constexpr int64_t kLeftPerPiece = 8;

thread_local bool inside_parallel = false;

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

int cores() { return std::max(1, static_cast<int>(std::thread::hardware_concurrency())); }

// Calls `done` until it is true or the time is over; returns what it said last.
template <class Done>
bool spin_until(int64_t nanoseconds, Done done) {
  if (done()) return true;
  if (nanoseconds == 0) return false;
  auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(nanoseconds);
  do {
    for (int i = 0; i < 32; ++i) {
      relax();
      if (done()) return true;
    }
  } while (std::chrono::steady_clock::now() < end);
  return done();
}

}  // namespace

Result<int> thread_count(int asked) {
  if (asked < 0 || asked > kMaxThreads) {
    return error({}, asked, " threads; the number lies between 1 and ", kMaxThreads,
                 ", or is 0 for all cores")
        .hint("give --threads 0");
  }
  return asked == 0 ? std::min(cores(), kMaxThreads) : asked;
}

Pool::Pool(int threads) : parts_(static_cast<size_t>(threads) * kMostJobs) {
  // More threads than cores must not spin: the one that is waited for may need the core.
  spin_nanoseconds_ = threads <= cores() ? kSpinNanoseconds : 0;
  workers_.reserve(static_cast<size_t>(threads));
  for (int i = 1; i < threads; ++i) {
    try {
      workers_.emplace_back([this, i] { serve(i); });
    } catch (const std::system_error&) {
      break;  // results do not depend on the number of threads
    }
  }
}

Pool::~Pool() {
  stop_ = true;
  state_.fetch_add(kNumberStep);
  state_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void Pool::run(std::span<const int64_t> counts, Call call, void* context) {
  WEFT_CHECK(!inside_parallel, "a launch does not launch");
  WEFT_CHECK(counts.size() <= kMostJobs, "not more jobs than there is room for");
  int64_t total = 0;
  for (int64_t count : counts) total += std::max<int64_t>(count, 0);
  if (total == 0) return;
  inside_parallel = true;
  if (total == 1 || workers_.empty()) {
    for (size_t job = 0; job < counts.size(); ++job) {
      if (counts[job] > 0) call(context, job, 0, counts[job], 0);
    }
    inside_parallel = false;
    return;
  }
  {
    std::lock_guard lock(turn_);
    call_ = call;
    context_ = context;
    jobs_ = counts.size();
    for (size_t job = 0; job < jobs_; ++job) {
      const int64_t count = std::max<int64_t>(counts[job], 0);
      for (int i = 0; i < threads(); ++i) {
        part(i, job).next.store(share(count, i), std::memory_order_relaxed);
        part(i, job).end = share(count, i + 1);
      }
    }
    // No worker is active and none can join: the low half is free to be overwritten.
    uint32_t number = state_.load(std::memory_order_relaxed) & ~(kNumberStep - 1);
    state_.store((number + kNumberStep) | kOpen, std::memory_order_release);
    state_.notify_all();
    work(0);
    close_job();
  }
  inside_parallel = false;
}

// Where the part of a thread begins.
int64_t Pool::share(int64_t count, int64_t thread) const {
  const int64_t each = count / threads();
  return each * thread + std::min(thread, count % threads());
}

void Pool::work(int thread) {
  for (int i = 0; i < threads(); ++i) {
    const int owner = (thread + i) % threads();
    for (size_t job = 0; job < jobs_; ++job) walk(part(owner, job), job, thread);
  }
}

void Pool::walk(Part& part, size_t job, int thread) {
  int64_t begin = part.next.load(std::memory_order_relaxed);
  while (begin < part.end) {
    const int64_t end = begin + std::max<int64_t>(1, (part.end - begin) / kLeftPerPiece);
    // On failure `begin` is what another thread left.
    if (!part.next.compare_exchange_weak(begin, end, std::memory_order_relaxed)) continue;
    call_(context_, job, begin, end, thread);
    begin = part.next.load(std::memory_order_relaxed);
  }
}

// Nobody joins from here on: a worker that is still waking up is not waited for.
void Pool::close_job() {
  uint32_t state = state_.fetch_and(~kOpen, std::memory_order_acq_rel) & ~kOpen;
  auto done = [&] {
    state = state_.load(std::memory_order_acquire);
    return (state & kActiveMask) == 0;
  };
  while (!spin_until(spin_nanoseconds_, done)) state_.wait(state, std::memory_order_acquire);
}

uint32_t Pool::wait_for_job(uint32_t seen) {
  uint32_t state = 0;
  auto another = [&] {
    state = state_.load(std::memory_order_acquire);
    return state / kNumberStep != seen / kNumberStep;
  };
  while (!spin_until(spin_nanoseconds_, another)) state_.wait(state, std::memory_order_acquire);
  return state;
}

void Pool::serve(int thread) {
  inside_parallel = true;  // whatever this thread ever runs is part of a launch
  uint32_t seen = 0;
  for (;;) {
    uint32_t state = wait_for_job(seen);
    if (stop_) return;
    seen = state;
    while ((state & kOpen) != 0 &&
           !state_.compare_exchange_weak(state, state + 1, std::memory_order_acq_rel)) {
    }
    if ((state & kOpen) == 0) continue;
    seen = state;
    work(thread);
    uint32_t left = state_.fetch_sub(1, std::memory_order_acq_rel) - 1;
    if ((left & (kOpen | kActiveMask)) == 0) state_.notify_all();
  }
}

}  // namespace weft
