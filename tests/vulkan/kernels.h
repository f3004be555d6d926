// Kernels and devices that several tests of Vulkan code look at.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "backends/simt/layout.h"

namespace weft {

// y = x w, with rows of a number known at run time; y = x w + b if `bias`.
inline std::string product_kernel(const std::string& dtype, bool bias) {
  const std::string in_bias = bias ? "  in %b: " + dtype + "[256]\n" : "";
  const std::string add_bias = bias ? " + load %b[n]" : "";
  return "kernel @product {\n  in %x: " + dtype + "[M, 512]\n  in %w: " + dtype + "[512, 256]\n" +
         in_bias + "  out %y: " + dtype + R"([M, 256]
  free BM = 64
  free BN = 64
  free BK = 64
  axis m: M by BM
  axis n: 256 by BN
  axis k: 512 by BK
  grid m, n
  %sum = loop k carry %c = 0.0 : )" +
         dtype + R"([m, n] {
    yield dot[k](load %x[m, k], load %w[k, n], %c)
  }
  store %y[m, n], %sum)" +
         add_bias + "\n}\n";
}

// A GPU with subgroups of 32 that shares tiles in workgroup memory.
inline simt::Profile workgroup_profile() {
  simt::Profile profile;
  profile.subgroup = 32;
  profile.texel_loads = profile.image_updates = false;
  profile.image_stores = 1;
  profile.workgroup = true;
  profile.workgroup_bytes = 32768;
  return profile;
}

}  // namespace weft
