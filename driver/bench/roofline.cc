// SPDX-License-Identifier: Apache-2.0
#include "driver/bench/roofline.h"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <thread>

#include "ir/support/check.h"

namespace weft {
namespace {

struct Kernels {
  float (*fma_chains)(int64_t steps);
  float (*read_streams)(const float* data, size_t count);
  void (*triad)(float* out, const float* x, const float* y, size_t count);
  int floats_per_step;  // multiplied and added by one step of fma_chains
};

namespace baseline {
typedef float Vec __attribute__((vector_size(16)));
#include "driver/bench/roofline_kernels.inc"
}  // namespace baseline

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define WEFT_WIDE_KERNELS
#pragma GCC push_options
#pragma GCC target("avx2,fma")
namespace avx2 {
typedef float Vec __attribute__((vector_size(32)));
#include "driver/bench/roofline_kernels.inc"
}  // namespace avx2
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx512f,fma")
namespace avx512 {
typedef float Vec __attribute__((vector_size(64)));
#include "driver/bench/roofline_kernels.inc"
}  // namespace avx512
#pragma GCC pop_options
#endif

const Kernels& host_kernels() {
#if defined(WEFT_WIDE_KERNELS)
  if (__builtin_cpu_supports("avx512f")) return avx512::kKernels;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return avx2::kKernels;
#endif
  return baseline::kKernels;
}

constexpr int64_t kSteps = 20'000'000;
constexpr size_t kFloats = size_t{64} << 20;  // 256 MiB an array
constexpr size_t kGrain = 64;                 // four streams of the widest vector

// Keeps the optimiser from dropping a result that nobody reads.
void keep(float value) { asm volatile("" : : "r"(value) : "memory"); }

// Milliseconds from the common start of all threads until the last has finished.
double time_parallel(int threads, const std::function<void(int)>& work) {
  std::atomic<int> ready{0};
  std::atomic<bool> go{false};
  std::vector<std::thread> pool;
  for (int t = 0; t < threads; ++t) {
    pool.emplace_back([&, t] {
      ++ready;
      while (!go) std::this_thread::yield();
      work(t);
    });
  }
  while (ready < threads) std::this_thread::yield();
  auto start = std::chrono::steady_clock::now();
  go = true;
  for (std::thread& thread : pool) thread.join();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

struct Free {
  void operator()(float* p) const { std::free(p); }
};
using Array = std::unique_ptr<float, Free>;

Array make_array() {
  Array array(static_cast<float*>(std::aligned_alloc(size_t{2} << 20, kFloats * sizeof(float))));
  WEFT_CHECK(array != nullptr, "out of memory for the roofline's arrays");
  return array;
}

}  // namespace

std::vector<RooflineResult> measure_roofline(int threads, int repeat) {
  const Kernels& kernels = host_kernels();
  RooflineResult fma{"roofline_fma", threads, {}, 0, 0, 0};
  fma.gflop = 2.0 * kernels.floats_per_step * static_cast<double>(kSteps) * threads / 1e9;
  for (int r = 0; r < repeat; ++r) {
    fma.milliseconds.push_back(
        time_parallel(threads, [&](int) { keep(kernels.fma_chains(kSteps)); }));
  }

  Array a = make_array();
  Array b = make_array();
  Array c = make_array();
  size_t share = kFloats / static_cast<size_t>(threads) / kGrain * kGrain;
  auto part = [&](const Array& array, int t) {
    return array.get() + share * static_cast<size_t>(t);
  };
  time_parallel(threads, [&](int t) {  // first touch by the thread that will read it
    for (size_t i = 0; i < share; ++i) part(a, t)[i] = 0, part(b, t)[i] = 1, part(c, t)[i] = 2;
  });
  double bytes = static_cast<double>(share) * threads * sizeof(float);
  constexpr double kArraysMb = 3.0 * kFloats * sizeof(float) / 1e6;
  RooflineResult read{"roofline_read", threads, {}, 0, bytes / 1e9, kArraysMb};
  RooflineResult add{"roofline_triad", threads, {}, 0, 3 * bytes / 1e9, kArraysMb};
  for (int r = 0; r < repeat; ++r) {
    read.milliseconds.push_back(
        time_parallel(threads, [&](int t) { keep(kernels.read_streams(part(b, t), share)); }));
    add.milliseconds.push_back(time_parallel(
        threads, [&](int t) { kernels.triad(part(a, t), part(b, t), part(c, t), share); }));
  }
  return {fma, read, add};
}

}  // namespace weft
