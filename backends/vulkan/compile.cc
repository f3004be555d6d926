// SPDX-License-Identifier: Apache-2.0
#include "backends/vulkan/compile.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>

#include "backends/simt/analysis.h"
#include "backends/simt/lower.h"
#include "backends/vulkan/glsl.h"
#include "backends/vulkan/spirv.h"
#include "ir/tile/text.h"

namespace weft::vulkan {
namespace {

constexpr int64_t kPack = 4;

struct Made {
  Kernel kernel;
  KernelText text;
};

std::vector<std::string> needs_of(const simt::Lowered& lowered) {
  std::vector<std::string> needs;
  if (lowered.uses_shuffle) needs.push_back("subgroup_shuffle");
  if (lowered.uses_int64) needs.push_back("int64");
  bool bytes = false;
  bool halves = false;
  for (const Binding& binding : lowered.bindings) {
    if (binding.view != Binding::storage) continue;
    bytes |= byte_size(binding.dtype) == 1;
    halves |= byte_size(binding.dtype) == 2;
  }
  if (bytes) needs.push_back("storage8");
  if (halves) needs.push_back("storage16");
  if (bytes) needs.push_back("int8");
  if (halves) needs.push_back("int16");
  return needs;
}

Result<Made> make(tile::Program& program, const std::vector<bool>& aligned,
                  const simt::Profile& profile) {
  WEFT_TRY(simt::Layout layout, simt::choose_layout(program, profile, aligned));
  WEFT_TRY(simt::Lowered lowered, simt::lower(program, layout, profile, aligned));
  Made made;
  Kernel& kernel = made.kernel;
  kernel.name = program.name;
  kernel.args = lowered.args;
  kernel.programs = lowered.programs;
  kernel.iterations = lowered.iterations;
  kernel.scratch_bytes = 0;
  kernel.buffers = static_cast<uint32_t>(program.buffers.size());
  kernel.checks = lowered.checks;
  kernel.workgroup = static_cast<uint32_t>(layout.invocations());
  if (lowered.uses_shuffle) kernel.subgroup = static_cast<uint32_t>(layout.lanes);
  const size_t numbers = 1 + program.buffers.size() + lowered.args.size();
  kernel.numbers_in_buffer = static_cast<int64_t>(numbers) > profile.most_numbers;
  kernel.bindings = lowered.bindings;
  kernel.needs = needs_of(lowered);
  made.text.name = program.name;
  made.text.tile = tile::print(program);
  made.text.glsl = print_glsl(program, lowered, kernel.numbers_in_buffer);
  if (made.text.glsl.find("double ") != std::string::npos) kernel.needs.push_back("float64");
  WEFT_TRY(made.text.spirv, compile_glsl(program.name, made.text.glsl));
  return made;
}

}  // namespace

simt::Profile profile_of(const VulkanFacts& device, Mapping mapping) {
  simt::Profile profile;
  profile.subgroup = device.subgroup;
  profile.shuffles = device.has("subgroup_shuffle");
  profile.int64 = device.has("int64");
  profile.storage8 = device.has("storage8");
  profile.storage16 = device.has("storage16");
  profile.most_numbers = device.push_constant_bytes / 4;
  // Drivers that run on the CPU: storage buffers cost ten times a texel there.
  const bool texels = device.kind == "cpu" && device.texel_elements >= (1 << 24) &&
                      device.has("texel_buffer") && device.has("image_buffer");
  profile.texel_loads = texels;
  profile.image_stores = texels;
  profile.workgroup =
      mapping == Mapping::workgroup || (mapping == Mapping::by_device && device.kind != "cpu");
  if (!profile.workgroup) return profile;
  profile.workgroup_bytes = device.shared_bytes;
  profile.workgroup_invocations =
      std::max<int64_t>(device.subgroup, std::min<int64_t>(128, device.max_workgroup));
  profile.most_waves = std::max<int64_t>(1, profile.workgroup_invocations / device.subgroup);
  profile.waves = profile.most_waves;
  profile.flash_rows = 1;  // its queries and sums are many registers
  profile.flash_rows_backward = 1;
  return profile;
}

namespace {

// Where the members of blocks begin in them, in elements.
std::map<std::string, Dim> places_in_blocks(const Plan& plan, const std::vector<Storage>& storage) {
  std::map<std::string, Dim> places;
  for (const StorageBlock& block : plan.blocks) {
    Dim next = 0;
    for (const std::string& member : block.members) {
      places[member] = next;
      auto found = std::ranges::find(storage, member, &Storage::name);
      if (found != storage.end()) next = next + element_count(found->type.shape);
    }
  }
  return places;
}

}  // namespace

std::vector<std::vector<bool>> aligned_buffers(const Plan& plan,
                                               const std::vector<Storage>& storage) {
  const std::map<std::string, Dim> places = places_in_blocks(plan, storage);
  std::vector<std::vector<bool>> result;
  for (const tile::Program& program : plan.programs) {
    result.emplace_back(program.buffers.size(), true);
  }
  const GraphPlan* graph = nullptr;
  std::function<void(const std::vector<Step>&)> visit = [&](const std::vector<Step>& steps) {
    for (const Step& step : steps) {
      visit(step.body);
      if (step.kind != Step::launch) continue;
      for (size_t i = 0; i < step.buffers.size(); ++i) {
        const PlanBuffer& buffer = graph->buffers[step.buffers[i].buffer];
        auto place = places.find(buffer.name);
        Dim offset = step.buffers[i].offset;
        if (buffer.kind == PlanBuffer::storage && place != places.end()) {
          offset = offset + place->second;
        }
        if (!simt::divisible(offset, kPack)) result[step.program][i] = false;
      }
    }
  };
  for (const GraphPlan& each : plan.graphs) {
    graph = &each;
    visit(each.steps);
  }
  return result;
}

Result<CompiledPrograms> compile_programs(std::vector<tile::Program>& programs,
                                          const std::vector<std::vector<bool>>& aligned,
                                          const simt::Profile& profile, bool keep_text) {
  CompiledPrograms result;
  for (size_t i = 0; i < programs.size(); ++i) {
    WEFT_TRY(Made made, make(programs[i], aligned[i], profile));
    made.kernel.entry = result.code.size();
    made.kernel.bytes = made.text.spirv.size() * sizeof(uint32_t);
    result.code.resize(result.code.size() + made.kernel.bytes);
    std::memcpy(result.code.data() + made.kernel.entry, made.text.spirv.data(), made.kernel.bytes);
    result.kernels.push_back(std::move(made.kernel));
    if (keep_text) result.texts.push_back(std::move(made.text));
  }
  return result;
}

}  // namespace weft::vulkan
