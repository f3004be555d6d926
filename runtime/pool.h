// Threads that share the programs of a launch.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "ir/support/result.h"

namespace weft {

inline constexpr int kMaxThreads = 1024;

// A number of threads as a user gives it: 0 means all cores. Fails on numbers below 0 and above
// kMaxThreads.
Result<int> thread_count(int asked);

// Workers wait for work spinning for a short while, then asleep: one launch after the other costs
// about a microsecond, an idle pool costs nothing. Several threads may use a pool; they take turns.
class Pool {
 public:
  // The thread that calls `parallel` counts as one. If the system gives fewer, the pool has fewer.
  explicit Pool(int threads);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  // Calls fn(begin, end, thread) for pieces that make up 0 .. count-1, each once; returns when all
  // are done. `thread` is below threads() and belongs to one call at a time. Each thread has a part
  // of the whole, which it walks in ascending order; one that is done early takes pieces of the
  // others'. Not to be called from within fn.
  template <class Fn>
  void parallel(int64_t count, Fn&& fn) {
    run(
        {&count, 1},
        [](void* context, size_t, int64_t begin, int64_t end, int thread) {
          (*static_cast<std::remove_reference_t<Fn>*>(context))(begin, end, thread);
        },
        &fn);
  }

  // The same for several jobs that do not need one another: fn(job, begin, end, thread). A thread
  // walks its parts of all jobs, in their order, before it helps others.
  template <class Fn>
  void parallel(std::span<const int64_t> counts, Fn&& fn) {
    run(
        counts,
        [](void* context, size_t job, int64_t begin, int64_t end, int thread) {
          (*static_cast<std::remove_reference_t<Fn>*>(context))(job, begin, end, thread);
        },
        &fn);
  }
  static constexpr size_t kMostJobs = 8;  // at a time

 private:
  // What a thread begins with, of a job.
  struct alignas(64) Part {
    std::atomic<int64_t> next = 0;  // the first that nobody has taken
    int64_t end = 0;
  };
  using Call = void (*)(void* context, size_t job, int64_t begin, int64_t end, int thread);

  void run(std::span<const int64_t> counts, Call call, void* context);
  void walk(Part& part, size_t job, int thread);
  Part& part(int owner, size_t job) { return parts_[static_cast<size_t>(owner) * kMostJobs + job]; }
  int64_t share(int64_t count, int64_t thread) const;
  void work(int thread);
  void serve(int thread);
  uint32_t wait_for_job(uint32_t seen);
  void close_job();

  // What is open is described by these; written while nothing is.
  Call call_ = nullptr;
  void* context_ = nullptr;
  size_t jobs_ = 0;
  std::vector<Part> parts_;                     // kMostJobs per thread
  alignas(64) std::atomic<uint32_t> state_{0};  // see pool.cc
  std::atomic<bool> stop_{false};
  int64_t spin_nanoseconds_ = 0;
  std::mutex turn_;
  std::vector<std::thread> workers_;
};

}  // namespace weft
