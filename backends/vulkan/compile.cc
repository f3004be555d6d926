// SPDX-License-Identifier: Apache-2.0
#include "backends/vulkan/compile.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>

#include "backends/buffer_uses.h"
#include "backends/simt/analysis.h"
#include "backends/simt/knobs.h"
#include "backends/simt/lower.h"
#include "backends/vulkan/glsl.h"
#include "backends/vulkan/spirv.h"
#include "ir/tile/text.h"
#include "runtime/vulkan/khr_matrices.h"

namespace weft::vulkan {
namespace {

constexpr int64_t kPack = 4;
// A descriptor begins up to so many bytes before its buffer, and ends up to a texel after it.
constexpr int64_t kMostBefore = 256 + 16;

struct Made {
  Kernel kernel;
  KernelText text;
};

std::vector<std::string> needs_of(const simt::Lowered& lowered, const GlslForm& form) {
  std::vector<std::string> needs;
  if (lowered.uses_shuffle) needs.push_back("subgroup_shuffle");
  if (lowered.layout.fragments) needs.push_back("float16");
  if (lowered.uses_matrices()) {
    const simt::MatrixShape& shape = lowered.layout.fragments.shape;
    needs.push_back("cooperative_matrix");
    needs.push_back(matrix_feature({shape.m, shape.n, shape.k}));
  }
  if (lowered.uses_int64) needs.push_back("int64");
  bool bytes = false;
  bool halves = false;
  for (const Binding& binding : lowered.bindings) {
    if (binding.view != Binding::storage || form.small.in_words(binding)) continue;
    bytes |= byte_size(binding.dtype) == 1;
    halves |= byte_size(binding.dtype) == 2;
  }
  if (bytes) needs.push_back("storage8");
  if (halves) needs.push_back("storage16");
  if (bytes) needs.push_back("int8");
  if (halves) needs.push_back("int16");
  return needs;
}

// What this device does not compute is said before anything is written.
Status check_types(const tile::Program& program, const simt::Profile& profile) {
  for (const tile::Value& value : program.values) {
    const bool lacks = value.dtype == DType::f64 || (value.dtype == DType::i64 && !profile.int64);
    if (!lacks) continue;
    return error({}, "kernel @", program.name, " computes in ", name(value.dtype),
                 ", which this device does not")
        .hint(value.dtype == DType::f64 ? "use f32, or --device cpu" : "use i32, or --device cpu");
  }
  return ok();
}

// Sizes that are known only at run time are checked when they are bound.
Status check_elements(const tile::Program& program) {
  const std::vector<BufferUse> uses = buffer_uses(program);
  for (size_t i = 0; i < uses.size(); ++i) {
    const Dim& elements = uses[i].elements;
    if (!elements.is_constant() || elements.constant() <= kVulkanMostElements) continue;
    return error({}, "kernel @", program.name, ": buffer ", program.buffers[i].name, " has ",
                 elements, " elements, of which its device counts at most ", kVulkanMostElements)
        .hint("use smaller shapes, or --device cpu");
  }
  return ok();
}

// A buffer that is too large for one descriptor is seen in parts of a power of two.
void set_parts(Binding& binding, int64_t bytes, const Target& target) {
  const int64_t texel = byte_size(binding.dtype) * binding.width;
  const bool storage = binding.view == Binding::storage;
  const int64_t most = storage ? target.storage_range / texel : target.texel_elements;
  const int64_t needed = (bytes + kMostBefore + texel - 1) / texel;
  if (needed <= most) return;
  binding.part_bits = static_cast<uint32_t>(std::bit_width(static_cast<uint64_t>(most)) - 1);
  binding.parts = static_cast<uint32_t>(((needed - 1) >> binding.part_bits) + 1);
}

std::vector<bool> aligned_of(const std::vector<BufferFacts>& facts) {
  std::vector<bool> aligned;
  for (const BufferFacts& buffer : facts) aligned.push_back(buffer.aligned);
  return aligned;
}

Result<Made> make(tile::Program& program, const std::vector<BufferFacts>& facts,
                  const Target& target) {
  const simt::Profile profile = simt::with_knobs(program, target.profile);
  const std::vector<bool> aligned = aligned_of(facts);
  WEFT_TRY_STATUS(check_types(program, profile));
  WEFT_TRY_STATUS(check_elements(program));
  WEFT_TRY(simt::Layout layout, simt::choose_layout(program, profile, aligned));
  WEFT_TRY(simt::Lowered lowered, simt::lower(program, layout, profile, aligned));
  for (Binding& binding : lowered.bindings) set_parts(binding, facts[binding.buffer].bytes, target);
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
  if (lowered.relies_on_subgroups()) kernel.subgroup = static_cast<uint32_t>(layout.lanes);
  const size_t numbers = 1 + program.buffers.size() + lowered.args.size();
  GlslForm form;
  form.numbers_in_buffer = static_cast<int64_t>(numbers) > profile.most_numbers;
  form.small.bytes_in_words = !profile.storage8;
  form.small.halves_in_words = !profile.storage16;
  kernel.numbers_in_buffer = form.numbers_in_buffer;
  kernel.bindings = lowered.bindings;
  kernel.needs = needs_of(lowered, form);
  made.text.name = program.name;
  made.text.tile = tile::print(program);
  made.text.glsl = print_glsl(program, lowered, form);
  WEFT_TRY(made.text.spirv, compile_glsl(program.name, made.text.glsl));
  if (lowered.uses_matrices()) made.text.spirv = khr_matrices(made.text.spirv);
  return made;
}

}  // namespace

Target target_of(const VulkanFacts& device, const simt::KernelForm& form) {
  return {profile_of(device, form), device.storage_range, device.texel_elements};
}

Target portable_target() {
  Target target;
  simt::Profile& profile = target.profile;
  profile.shuffles = false;  // so that nothing follows from the size of a subgroup
  profile.texels = profile.texel_loads = profile.image_updates = false;
  profile.image_stores = 1;
  profile.storage8 = false;
  profile.storage16 = false;
  profile.flash_rows = profile.flash_rows_backward = 1;  // drivers may choke on longer code
  return target;
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

class FactFinder {
 public:
  FactFinder(const Plan& plan, const std::vector<Storage>& storage, const DimBinding& sizes)
      : plan_(plan), places_(places_in_blocks(plan, storage)), sizes_(sizes) {
    for (const tile::Program& program : plan.programs) facts_.emplace_back(program.buffers.size());
  }

  ProgramFacts run() {
    for (const GraphPlan& graph : plan_.graphs) visit(graph, graph.steps);
    return std::move(facts_);
  }

 private:
  void visit(const GraphPlan& graph, const std::vector<Step>& steps) {
    for (const Step& step : steps) {
      const DimBinding around = sizes_;
      if (step.kind == Step::repeat) sizes_[step.symbol] = step.chunk;
      visit(graph, step.body);
      sizes_ = around;
      if (step.kind == Step::launch) visit(graph, step);
    }
  }

  void visit(const GraphPlan& graph, const Step& launch) {
    for (size_t i = 0; i < launch.buffers.size(); ++i) {
      BufferFacts& known = facts_[launch.program][i];
      const PlanBuffer& buffer = graph.buffers[launch.buffers[i].buffer];
      const auto place = places_.find(buffer.name);
      Dim offset = launch.buffers[i].offset;
      if (buffer.kind == PlanBuffer::storage && place != places_.end()) {
        offset = offset + place->second;
      }
      known.aligned &= simt::divisible(offset, kPack);
      const std::optional<int64_t> elements = buffer.elements.evaluate(sizes_);
      if (elements) known.bytes = std::max(known.bytes, *elements * byte_size(buffer.dtype));
    }
  }

  const Plan& plan_;
  const std::map<std::string, Dim> places_;
  DimBinding sizes_;
  ProgramFacts facts_;
};

}  // namespace

ProgramFacts program_facts(const Plan& plan, const std::vector<Storage>& storage,
                           const DimBinding& sizes) {
  return FactFinder(plan, storage, sizes).run();
}

Result<CompiledPrograms> compile_programs(std::vector<tile::Program>& programs,
                                          const ProgramFacts& facts, const Target& target,
                                          bool keep_text) {
  CompiledPrograms result;
  for (size_t i = 0; i < programs.size(); ++i) {
    WEFT_TRY(Made made, make(programs[i], facts[i], target));
    made.kernel.entry = result.code.size();
    made.kernel.bytes = made.text.spirv.size() * sizeof(uint32_t);
    result.code.resize(result.code.size() + made.kernel.bytes);
    std::memcpy(result.code.data() + made.kernel.entry, made.text.spirv.data(), made.kernel.bytes);
    result.kernels.push_back(std::move(made.kernel));
    if (keep_text) result.texts.push_back(std::move(made.text));
  }
  return result;
}

Result<std::string> exception_of(tile::Program program, const std::vector<BufferFacts>& facts,
                                 const Target& target) {
  const simt::Profile profile = simt::with_knobs(program, target.profile);
  if (!profile.workgroup) return std::string();
  const simt::Facts known = simt::analyse(program);
  WEFT_TRY(simt::Layout layout, simt::choose_layout(program, profile, aligned_of(facts)));
  if (!layout.in_registers.empty()) return "in the register form: " + layout.in_registers;
  const bool product = !known.dots.empty() && !known.chained;
  if (!product || !layout.stages.empty() || layout.fragments) return std::string();
  return std::string("its product reads no tiles in workgroup memory: ") +
         (simt::can_stage(program) ? "none of a useful size fits"
                                   : "its operands are not plain loads");
}

}  // namespace weft::vulkan
