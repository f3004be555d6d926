// The Vulkan backend: Tile programs to SPIR-V.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "backends/simt/form.h"
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

// What kernels are made for.
struct Target {
  simt::Profile profile;
  // What one descriptor shows; what Vulkan promises unless a device says more.
  int64_t storage_range = int64_t{1} << 27;
  int64_t texel_elements = 65536;
};
// The row of a table that the device's vendor, driver or kind has (backends/vulkan/device_rows.h),
// cut to the device's limits. Rows of GPUs were never measured. In profile.cc.
simt::Profile profile_of(const VulkanFacts& device, const simt::KernelForm& form);
Target target_of(const VulkanFacts& device, const simt::KernelForm& form);
// Every device, as far as the programs let it: those that compute in i64 need a device that does.
Target portable_target();

// Of each buffer of each program, over all of its launches.
struct BufferFacts {
  bool aligned = true;  // begins at a multiple of four elements
  int64_t bytes = 0;    // of the largest plan buffer whose size is known
};
using ProgramFacts = std::vector<std::vector<BufferFacts>>;
// `storage` has the sizes of what lies in blocks. `sizes` are those that will be bound, as far as
// they are known: kernels see buffers beyond a device's range in parts.
ProgramFacts program_facts(const Plan& plan, const std::vector<Storage>& storage,
                           const DimBinding& sizes);

// Programs without `accumulate`. Sets their free knobs.
Result<CompiledPrograms> compile_programs(std::vector<tile::Program>& programs,
                                          const ProgramFacts& facts, const Target& target,
                                          bool keep_text);

// How a program differs from what its device's profile says of all of them, as a sentence; empty
// for most. Makes no code.
Result<std::string> exception_of(tile::Program program, const std::vector<BufferFacts>& facts,
                                 const Target& target);

}  // namespace weft::vulkan
