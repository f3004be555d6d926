// SPDX-License-Identifier: Apache-2.0
#include "runtime/vulkan/probes.h"

#include "spv/cooperative_matrix.h"
#include "spv/float16.h"
#include "spv/float64.h"
#include "spv/image_buffer.h"
#include "spv/int16.h"
#include "spv/int64.h"
#include "spv/int8.h"
#include "spv/storage16.h"
#include "spv/storage8.h"
#include "spv/subgroup_arithmetic.h"
#include "spv/subgroup_ballot.h"
#include "spv/subgroup_clustered.h"
#include "spv/subgroup_shuffle.h"
#include "spv/texel_buffer.h"

namespace weft {
namespace {

using Who = std::span<const float>;

struct Lane {
  int subgroup;
  int place;
};
Lane lane(Who who, int i) {
  const int number = static_cast<int>(who[static_cast<size_t>(i)]);
  return {number / 1000, number % 1000};
}

float x(int i) { return static_cast<float>(i + 1); }

// The sum of f(j) over the invocations of i's subgroup whose place is in the same group of `width`.
template <class F>
float sum_around(int i, Who who, int width, F f) {
  float sum = 0;
  const Lane mine = lane(who, i);
  for (int j = 0; j < kProbeElements; ++j) {
    const Lane other = lane(who, j);
    if (other.subgroup == mine.subgroup && other.place / width == mine.place / width) sum += f(j);
  }
  return sum;
}

float sum_of_all(int i, Who who) { return sum_around(i, who, 1000, x); }
float sum_of_four(int i, Who who) { return sum_around(i, who, 4, x); }
float count_even(int i, Who who) {
  return sum_around(i, who, 1000, [](int j) { return j % 2 == 1 ? 1.0f : 0.0f; });
}
float neighbour(int i, Who who) { return sum_around(i, who, 2, x) - x(i); }
float itself(int i, Who) { return x(i); }

// `who` tells the sizes: rows, columns, and how long the sums are.
float sum_of_products(int i, Who who) {
  const auto m = static_cast<int>(who[0]);
  const auto n = static_cast<int>(who[1]);
  const auto k = static_cast<int>(who[2]);
  float sum = x(i);
  for (int at = i; at < m * n; at += kProbeElements) {
    for (int t = 0; t < k; ++t) {
      sum += static_cast<float>((t * m + at / n) % 7 * ((t * n + at % n) % 5));
    }
  }
  return sum;
}

const Probe kProbes[] = {
    {"float16", float16_spv, Binding::storage, DType::f32, 1,
     [](int i, Who) { return 3 * x(i) + 0.5f; }},
    {"float64", float64_spv, Binding::storage, DType::f32, 1, itself},
    {"int8", int8_spv, Binding::storage, DType::f32, 1,
     [](int i, Who) { return static_cast<float>((i + 1) * 5 % 256); }},
    {"int16", int16_spv, Binding::storage, DType::f32, 1,
     [](int i, Who) { return static_cast<float>((i + 1) * 2000 % 65536); }},
    {"int64", int64_spv, Binding::storage, DType::f32, 1, [](int i, Who) { return 2 * x(i); }},
    {"storage16", storage16_spv, Binding::storage, DType::f16, 1, itself},
    {"storage8", storage8_spv, Binding::storage, DType::u8, 1, itself},
    {"subgroup_arithmetic", subgroup_arithmetic_spv, Binding::storage, DType::f32, 1, sum_of_all},
    {"subgroup_shuffle", subgroup_shuffle_spv, Binding::storage, DType::f32, 1, neighbour},
    {"subgroup_ballot", subgroup_ballot_spv, Binding::storage, DType::f32, 1, count_even},
    {"subgroup_clustered", subgroup_clustered_spv, Binding::storage, DType::f32, 1, sum_of_four},
    {"texel_buffer", texel_buffer_spv, Binding::texel, DType::f32, 4, itself},
    {"image_buffer", image_buffer_spv, Binding::image, DType::f32, 4, itself},
    {"cooperative_matrix", cooperative_matrix_spv, Binding::storage, DType::f32, 1,
     sum_of_products},
};

}  // namespace

std::span<const Probe> vulkan_probes() { return kProbes; }

}  // namespace weft
