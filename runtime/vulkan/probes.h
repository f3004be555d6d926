// The probes of the self-test: probes/NAME.comp for the feature NAME.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "runtime/executable.h"

namespace weft {

inline constexpr int kProbeElements = 64;

struct Probe {
  std::string_view feature;
  std::span<const uint32_t> words;
  // How x, which holds the numbers 1, 2, .., is seen.
  Binding::View view = Binding::storage;
  DType dtype = DType::f32;
  uint8_t width = 1;
  // What y[i] has to be. who[j] is 1000 times the subgroup of invocation j, plus its place in it.
  float (*expected)(int i, std::span<const float> who) = nullptr;
};

std::span<const Probe> vulkan_probes();

}  // namespace weft
