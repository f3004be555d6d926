// SPDX-License-Identifier: Apache-2.0
#include "driver/bench/roofline.h"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <thread>

#include "ir/support/check.h"

#if defined(__x86_64__)
#define WEFT_HOST_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define WEFT_HOST_CLONES
#endif

namespace weft {
namespace {

// Sixteen lanes: one AVX-512 register or two of AVX2; the compiler splits it for the host.
typedef float Vec __attribute__((vector_size(64)));
constexpr int kLanes = 16;
constexpr int kChains = 6;  // 12 registers of AVX2: enough to hide the latency of an FMA
constexpr int64_t kSteps = 20'000'000;
constexpr size_t kFloats = size_t{64} << 20;  // 256 MiB an array

// Keeps the optimiser from dropping a result that nobody reads.
void keep(float value) { asm volatile("" : : "r"(value) : "memory"); }

WEFT_HOST_CLONES void fma_chain(float* out) {
  Vec acc[kChains];
  Vec factor;
  Vec addend;
  for (int lane = 0; lane < kLanes; ++lane) factor[lane] = 1.0000001F, addend[lane] = 1e-9F;
  for (int c = 0; c < kChains; ++c) acc[c] = addend;
  for (int64_t i = 0; i < kSteps; ++i) {
    for (int c = 0; c < kChains; ++c) acc[c] = acc[c] * factor + addend;
  }
  Vec sum = acc[0];
  for (int c = 1; c < kChains; ++c) sum += acc[c];
  for (int lane = 0; lane < kLanes; ++lane) out[lane] = sum[lane];
}

// Four streams: one alone does not keep enough misses in flight.
WEFT_HOST_CLONES float read_streams(const float* data, size_t count) {
  size_t quarter = count / 4 / kLanes;
  const Vec* a = reinterpret_cast<const Vec*>(data);
  const Vec* b = a + quarter;
  const Vec* c = b + quarter;
  const Vec* d = c + quarter;
  Vec s0 = {};
  Vec s1 = {};
  Vec s2 = {};
  Vec s3 = {};
  for (size_t i = 0; i < quarter; ++i) s0 += a[i], s1 += b[i], s2 += c[i], s3 += d[i];
  Vec sum = (s0 + s1) + (s2 + s3);
  float total = 0;
  for (int lane = 0; lane < kLanes; ++lane) total += sum[lane];
  return total;
}

WEFT_HOST_CLONES void triad(float* out, const float* x, const float* y, size_t count) {
  for (size_t i = 0; i < count; ++i) out[i] = x[i] + 3.0F * y[i];
}

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
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
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
  RooflineResult fma{"roofline_fma", threads, {}, 0, 0};
  fma.gflop = 2.0 * kChains * kLanes * static_cast<double>(kSteps) * threads / 1e9;
  for (int r = 0; r < repeat; ++r) {
    fma.milliseconds.push_back(time_parallel(threads, [](int) {
      float out[kLanes];
      fma_chain(out);
      keep(out[0]);
    }));
  }

  Array a = make_array();
  Array b = make_array();
  Array c = make_array();
  size_t share = kFloats / static_cast<size_t>(threads) / (4 * kLanes) * (4 * kLanes);
  auto part = [&](const Array& array, int t) { return array.get() + share * static_cast<size_t>(t); };
  time_parallel(threads, [&](int t) {  // first touch by the thread that will read it
    for (size_t i = 0; i < share; ++i) part(a, t)[i] = 0, part(b, t)[i] = 1, part(c, t)[i] = 2;
  });
  double bytes = static_cast<double>(share) * threads * sizeof(float);
  RooflineResult read{"roofline_read", threads, {}, 0, bytes / 1e9};
  RooflineResult add{"roofline_triad", threads, {}, 0, 3 * bytes / 1e9};
  for (int r = 0; r < repeat; ++r) {
    read.milliseconds.push_back(
        time_parallel(threads, [&](int t) { keep(read_streams(part(b, t), share)); }));
    add.milliseconds.push_back(
        time_parallel(threads, [&](int t) { triad(part(a, t), part(b, t), part(c, t), share); }));
  }
  return {fma, read, add};
}

}  // namespace weft
