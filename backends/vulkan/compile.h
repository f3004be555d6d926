// The Vulkan backend: Tile programs to SPIR-V.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "backends/simt/layout.h"
#include "ir/plan/plan.h"
#include "ir/support/result.h"
#include "ir/tile/program.h"
#include "runtime/executable.h"
#include "runtime/vulkan/device_facts.h"

namespace weft::vulkan {

// What the compiler saw and made of one program, for dumps.
struct KernelText {
  std::string name;
  std::string tile;
  std::string glsl;
  std::vector<uint32_t> spirv;
};

struct CompiledPrograms {
  std::vector<std::byte> code;
  std::vector<Kernel> kernels;  // one per program, in order
  std::vector<KernelText> texts;
};

// Which form kernels take: drivers that run on a CPU want registers, GPUs workgroup memory.
enum class Mapping : uint8_t { by_device, registers, workgroup };

// Knobs by vendor and driver.
simt::Profile profile_of(const VulkanFacts& device, Mapping mapping);

// Which buffers of each program begin at a multiple of four elements, whatever launches it.
// `storage` has the sizes of what lies in blocks.
std::vector<std::vector<bool>> aligned_buffers(const Plan& plan,
                                               const std::vector<Storage>& storage);

// Programs without `accumulate`. Sets their free knobs.
Result<CompiledPrograms> compile_programs(std::vector<tile::Program>& programs,
                                          const std::vector<std::vector<bool>>& aligned,
                                          const simt::Profile& profile, bool keep_text);

}  // namespace weft::vulkan
