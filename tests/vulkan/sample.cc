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
const Dim kBase = Dim::symbol(base_symbol("R0"));

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

PlanBuffer buffer(PlanBuffer::Kind kind, const std::string& name, Dim elements, uint32_t first = 0,
                  uint32_t last = 0) {
  PlanBuffer made;
  made.kind = kind;
  made.name = name;
  made.elements = std::move(elements);
  made.first = first;
  made.last = last;
  return made;
}

Step launch(uint32_t program, std::vector<Placement> buffers, const std::string& region) {
  Step made;
  made.program = program;
  made.buffers = std::move(buffers);
  made.region = region;
  return made;
}

Type matrix() { return {DType::f32, {kB, 3}}; }

void add_forward(Executable& e) {
  e.interfaces.push_back({"forward", {{"x", matrix()}}, {{"y", matrix()}}});
  GraphPlan plan{"forward", {}, {}, {}};
  plan.buffers = {buffer(PlanBuffer::input, "x", kB * 3), buffer(PlanBuffer::output, "y", kB * 3),
                  buffer(PlanBuffer::storage, "w", 3), buffer(PlanBuffer::arena, "a", kB * 3, 0, 1),
                  buffer(PlanBuffer::arena, "b", kB * 3, 1, 2)};
  plan.steps = {launch(kTwice, {{0, 0}, {3, 0}}, "a"), launch(kTwice, {{3, 0}, {4, 0}}, "b"),
                launch(kAddRow, {{4, 0}, {2, 0}, {1, 0}}, "y")};
  e.graphs.push_back(std::move(plan));
}

void add_count(Executable& e) {
  e.interfaces.push_back({"count", {}, {{"n", {DType::f32, {2}}}}});
  GraphPlan plan{"count", {}, {}, {}};
  PlanBuffer steps = buffer(PlanBuffer::constant, "increments", 5);
  const std::vector<float> increments = {1, 2, 3, 4, 5};
  steps.data.resize(5 * sizeof(float));
  std::memcpy(steps.data.data(), increments.data(), steps.data.size());
  plan.buffers = {std::move(steps), buffer(PlanBuffer::storage, "@weft.block.0", 5),
                  buffer(PlanBuffer::storage, "n", 2), buffer(PlanBuffer::output, "n", 2)};
  Step copy;
  copy.kind = Step::copy;
  copy.buffers = {{2, 0}, {3, 0}};
  copy.elements = 2;
  plan.steps = {launch(kAccumulate, {{0, 0}, {1, 0}}, "n"), std::move(copy)};
  e.graphs.push_back(std::move(plan));
}

void add_lookup(Executable& e) {
  const Type index{DType::i32, {kB}};
  const Type table{DType::f32, {5, 3}};
  e.interfaces.push_back({"lookup", {{"index", index}, {"table", table}}, {{"rows", matrix()}}});
  GraphPlan plan{"lookup", {}, {}, {}};
  plan.buffers = {buffer(PlanBuffer::input, "index", kB), buffer(PlanBuffer::input, "table", 15),
                  buffer(PlanBuffer::output, "rows", kB * 3)};
  plan.buffers[0].dtype = DType::i32;
  plan.steps = {launch(kLookup, {{0, 0}, {1, 0}, {2, 0}}, "rows")};
  e.graphs.push_back(std::move(plan));
}

void add_chunks(Executable& e) {
  e.interfaces.push_back({"chunks", {{"x", matrix()}}, {{"y", matrix()}}});
  GraphPlan plan{"chunks", {}, {}, {}};
  plan.buffers = {buffer(PlanBuffer::input, "x", kB * 3), buffer(PlanBuffer::output, "y", kB * 3),
                  buffer(PlanBuffer::arena, "part", kChunk * 3)};
  Step repeat;
  repeat.kind = Step::repeat;
  repeat.symbol = "R0";
  repeat.total = kB;
  repeat.chunk = 4;
  repeat.body = {launch(kTwiceChunk, {{0, kBase * 3}, {2, 0}}, "part"),
                 launch(kTwiceChunk, {{2, 0}, {1, kBase * 3}}, "y")};
  plan.steps = {std::move(repeat)};
  e.graphs.push_back(std::move(plan));
}

void add_keep(Executable& e) {
  e.interfaces.push_back({"keep", {{"x", matrix()}}, {}});
  GraphPlan plan{"keep", {}, {}, {}};
  plan.buffers = {buffer(PlanBuffer::input, "x", kB * 3),
                  buffer(PlanBuffer::storage, "cache", kB * 3)};
  plan.steps = {launch(kKeep, {{0, 0}, {1, 0}}, "cache")};
  e.graphs.push_back(std::move(plan));
}

void add_wide(Executable& e) {
  const Type line{DType::f32, {kN}};
  e.interfaces.push_back({"wide", {{"x", line}}, {{"y", line}}});
  GraphPlan plan{"wide", {}, {}, {}};
  plan.buffers = {buffer(PlanBuffer::input, "x", kN), buffer(PlanBuffer::output, "y", kN)};
  plan.steps = {launch(kWide, {{0, 0}, {1, 0}}, "y")};
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
  e.module_name = "sample";
  e.dims.bounds["B"] = {1, 100'000'000};
  e.dims.bounds["N"] = {1, 100'000'000};
  e.storage = {{Storage::param, "w", {DType::f32, {3}}, {Init::ones, 0}},
               {Storage::state, "cache", matrix(), {Init::zeros, 0}},
               {Storage::state, "m", {DType::f32, {3}}, {Init::normal, 0.5}},
               {Storage::state, "n", {DType::f32, {2}}, {Init::zeros, 0}}};
  e.blocks = {{"@weft.block.0", {"n", "m"}}};
  add_kernels(e);
  add_forward(e);
  add_count(e);
  add_lookup(e);
  add_chunks(e);
  add_keep(e);
  add_wide(e);
  return e;
}

LoadedPtr load_sample(Executable executable) {
  return LoadedExecutable::load(std::move(executable)).value();
}

}  // namespace weft
