// What a Vulkan device is and can, in plain numbers: for compilers, which include nothing else
// here.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

// Of a buffer of a kernel. Kernels count elements in 31 bits, from a little before the first one to
// the end of a tile that the last one is in.
inline constexpr int64_t kVulkanMostElements = INT32_MAX - 65535;

struct VulkanHeap {
  int64_t bytes = 0;
  bool device_local = false;
  bool host_visible = false;  // a memory type of it can be mapped
};

// A feature that code may ask for in Kernel::needs, and whether it may.
struct VulkanFeature {
  std::string name;
  bool present = false;
  std::string refused = {};  // why not, where the driver reports it and it is not used
};

// What the device's matrix units take at once: m x k elements of f16 times k x n, added to m x n of
// f32, by a subgroup.
struct VulkanMatrix {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
};

// "cooperative_matrix_16x16x16": that it has this one.
inline std::string matrix_feature(const VulkanMatrix& matrix) {
  return "cooperative_matrix_" + std::to_string(matrix.m) + "x" + std::to_string(matrix.n) + "x" +
         std::to_string(matrix.k);
}

struct VulkanFacts {
  uint32_t index = 0;       // in the loader's order: device "vulkan:INDEX"
  std::string name;         // "llvmpipe (LLVM 15.0.6, 256 bits)"
  std::string kind;         // "discrete", "integrated", "virtual", "cpu", "other"
  uint32_t vendor = 0;      // PCI number; beyond 0x10000 a Khronos one
  uint32_t device = 0;      // PCI number
  std::string driver;       // "llvmpipe"
  std::string driver_info;  // "Mesa 22.3.6 (LLVM 15.0.6)"
  uint32_t driver_version = 0;
  std::string api_version;    // "1.3.230"
  std::string unusable = {};  // why Weft cannot run on it; empty: it can

  uint32_t subgroup = 1;      // invocations, as kernels run unless they ask for another number
  uint32_t min_subgroup = 1;  // where the device lets kernels choose
  uint32_t max_subgroup = 1;
  uint32_t max_workgroup = 128;  // invocations
  uint32_t max_workgroup_size[3] = {128, 128, 64};
  uint32_t max_groups[3] = {65535, 65535, 65535};
  int64_t shared_bytes = 16384;
  int64_t push_constant_bytes = 128;
  int64_t storage_range = int64_t{1} << 27;  // bytes of one storage buffer binding
  int64_t uniform_range = 16384;
  int64_t texel_elements = 65536;  // of one texel buffer or image buffer
  int64_t storage_alignment = 256;
  int64_t texel_alignment = 256;
  int64_t uniform_alignment = 256;
  uint32_t storage_bindings = 4;  // of one kernel
  uint32_t texel_bindings = 16;   // read-only texel buffers
  uint32_t image_bindings = 4;    // storage texel buffers
  uint32_t bindings = 4;          // of all kinds together
  // Iterations of all loops of an invocation after which the driver leaves them; 0: it does not.
  int64_t loop_limit = 0;
  int64_t max_allocation = int64_t{1} << 30;
  double timestamp_period = 0;  // nanoseconds a tick; 0: no timestamps
  std::vector<VulkanHeap> heaps;
  std::vector<VulkanMatrix> matrices;

  // Tensors are rarely larger: kernels may read and write them through texels.
  bool has_many_texels() const { return texel_elements >= 1 << 24; }

  // "float16": arithmetic; "int8", "int16", "int64", "float64": arithmetic; "storage16",
  // "storage8": 16-bit and 8-bit elements in storage buffers; "subgroup_arithmetic",
  // "subgroup_shuffle", "subgroup_ballot", "subgroup_clustered", "subgroup_size_control";
  // "texel_buffer", "image_buffer": texels of one or four f32, read and for images written;
  // "cooperative_matrix", and one more for each of `matrices`.
  std::vector<VulkanFeature> features;

  bool has(std::string_view feature) const {
    for (const VulkanFeature& item : features) {
      if (item.name == feature) return item.present && item.refused.empty();
    }
    return false;
  }
};

}  // namespace weft
