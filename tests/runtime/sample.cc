// SPDX-License-Identifier: Apache-2.0
#include "tests/runtime/sample.h"

#include <gtest/gtest.h>

#include <cstring>

namespace weft {
namespace {

const Dim kB = Dim::symbol("B");
const Dim kChunk = Dim::symbol("R0");
const Dim kBase = Dim::symbol(base_symbol("R0"));

Kernel kernel(const std::string& name, KernelFn function, std::vector<Dim> args, Dim programs,
              uint32_t buffers) {
  Kernel made;
  made.name = name;
  made.entry = sample_entry(function);
  made.args = std::move(args);
  made.programs = std::move(programs);
  made.buffers = buffers;
  return made;
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
  std::vector<float> increments = {1, 2, 3, 4, 5};
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
  Type index{DType::i32, {kB}};
  Type table{DType::f32, {5, 3}};
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

Executable without_graphs() {
  Executable e;
  e.target_cpu = "generic";
  e.module_name = "sample";
  e.dims.bounds["B"] = {1, 1000};
  e.storage = {{Storage::param, "w", {DType::f32, {3}}, {Init::ones, 0}},
               {Storage::state, "cache", matrix(), {Init::zeros, 0}},
               {Storage::state, "m", {DType::f32, {3}}, {Init::normal, 0.5}},
               {Storage::state, "n", {DType::f32, {2}}, {Init::zeros, 0}}};
  e.blocks = {{"@weft.block.0", {"n", "m"}}};
  e.code = sample_code();
  e.kernels = {kernel("twice", sample_twice, {3}, kB, 2),
               kernel("add_row", sample_add_row, {3}, kB, 3),
               kernel("accumulate", sample_accumulate, {}, 5, 2),
               kernel("lookup", sample_lookup, {3, 5}, kB, 3),
               kernel("twice_chunk", sample_twice, {3}, kChunk, 2),
               kernel("keep", sample_accumulate, {}, kB * 3, 2)};
  e.kernels[kLookup].checks = {"index of the table"};
  e.kernels[kAccumulate].scratch_bytes = 4;
  e.kernels[kKeep].scratch_bytes = 4;
  return e;
}

}  // namespace

Executable sample_executable() {
  Executable e = without_graphs();
  add_forward(e);
  add_count(e);
  add_lookup(e);
  add_chunks(e);
  add_keep(e);
  return e;
}

Executable small_executable() {
  Executable e = without_graphs();
  add_forward(e);
  return e;
}

LoadedPtr load(Executable executable) {
  Result<LoadedPtr> loaded = LoadedExecutable::load(std::move(executable));
  EXPECT_TRUE(loaded.ok()) << render(loaded.diagnostics());
  return std::move(loaded).value();
}

}  // namespace weft
