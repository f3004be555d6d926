// SPDX-License-Identifier: Apache-2.0
#include "tests/vulkan/sample.h"

#include <cstring>
#include <span>

#include "spv/accumulate.h"
#include "spv/add_row.h"
#include "spv/lookup.h"
#include "spv/twice.h"
#include "spv/wide.h"

namespace weft {
namespace {

const Dim kB = Dim::symbol("B");
const Dim kN = Dim::symbol("N");
const Dim kChunk = Dim::symbol("R0");

Binding bind(Binding::View view, uint32_t buffer, bool reads, bool writes, DType dtype = DType::f32,
             uint8_t width = 1) {
  return {view, buffer, dtype, width, reads, writes};
}

void add_kernel(Executable& e, const std::string& name, std::span<const uint32_t> words,
                std::vector<Dim> args, Dim programs, std::vector<Binding> bindings) {
  Kernel made;
  made.name = name;
  made.entry = e.code.size();
  made.bytes = words.size_bytes();
  e.code.resize(e.code.size() + words.size_bytes());
  std::memcpy(e.code.data() + made.entry, words.data(), words.size_bytes());
  made.args = std::move(args);
  made.programs = std::move(programs);
  made.buffers = static_cast<uint32_t>(bindings.size());
  made.bindings = std::move(bindings);
  made.workgroup = 8;
  e.kernels.push_back(std::move(made));
}

void add_wide(Executable& e) {
  const Type line{DType::f32, {kN}};
  e.interfaces.push_back({"wide", {{"x", line}}, {{"y", line}}});
  GraphPlan plan{"wide", {}, {}, {}};
  plan.buffers = {plan_buffer(PlanBuffer::input, "x", kN),
                  plan_buffer(PlanBuffer::output, "y", kN)};
  plan.steps = {plan_launch(kWide, {{0, 0}, {1, 0}}, "y")};
  e.graphs.push_back(std::move(plan));
}

void add_kernels(Executable& e) {
  const std::vector<Binding> two = {bind(Binding::storage, 0, true, false),
                                    bind(Binding::storage, 1, false, true)};
  const std::vector<Binding> in_out = {bind(Binding::storage, 0, true, false),
                                       bind(Binding::storage, 1, true, true)};
  const Dim texels = Dim::floor_div(kN + 3, 4);
  add_kernel(e, "twice", twice_spv, {3}, kB, two);
  add_kernel(e, "add_row", add_row_spv, {3}, kB,
             {bind(Binding::texel, 0, true, false), bind(Binding::texel, 1, true, false),
              bind(Binding::image, 2, false, true)});
  add_kernel(e, "accumulate", accumulate_spv, {}, 5, in_out);
  add_kernel(e, "lookup", lookup_spv, {3, 5}, kB,
             {bind(Binding::texel, 0, true, false, DType::i32),
              bind(Binding::storage, 1, true, false), bind(Binding::storage, 2, false, true)});
  add_kernel(e, "twice_chunk", twice_spv, {3}, kChunk, two);
  add_kernel(e, "keep", accumulate_spv, {}, kB * 3, in_out);
  add_kernel(e, "wide", wide_spv, {texels}, Dim::floor_div(texels + 3, 4),
             {bind(Binding::texel, 0, true, false, DType::f32, 4),
              bind(Binding::image, 1, false, true, DType::f32, 4)});
  e.kernels[kAccumulate].numbers_in_buffer = true;
  e.kernels[kKeep].numbers_in_buffer = true;
  e.kernels[kLookup].checks = {"index of the table"};
}

}  // namespace

Executable vulkan_sample() {
  Executable e;
  e.device = "vulkan";
  add_sample_storage(e, 100'000'000);
  e.dims.bounds["N"] = {1, 100'000'000};
  add_kernels(e);
  add_sample_graphs(e);
  add_wide(e);
  return e;
}

LoadedPtr load_sample(Executable executable) {
  return LoadedExecutable::load(std::move(executable)).value();
}

}  // namespace weft
