// SPDX-License-Identifier: Apache-2.0
#include "tests/support/sample_plan.h"

#include <cstring>

namespace weft {
namespace {

const Dim kB = Dim::symbol("B");
const Dim kChunk = Dim::symbol("R0");
const Dim kBase = Dim::symbol(base_symbol("R0"));

Type matrix() { return {DType::f32, {kB, 3}}; }

}  // namespace

void add_sample_forward(Executable& e) {
  e.interfaces.push_back({"forward", {{"x", matrix()}}, {{"y", matrix()}}});
  GraphPlan plan{"forward", {}, {}, {}};
  plan.buffers = {
      plan_buffer(PlanBuffer::input, "x", kB * 3), plan_buffer(PlanBuffer::output, "y", kB * 3),
      plan_buffer(PlanBuffer::storage, "w", 3), plan_buffer(PlanBuffer::arena, "a", kB * 3, 0, 1),
      plan_buffer(PlanBuffer::arena, "b", kB * 3, 1, 2)};
  plan.steps = {plan_launch(kTwice, {{0, 0}, {3, 0}}, "a"),
                plan_launch(kTwice, {{3, 0}, {4, 0}}, "b"),
                plan_launch(kAddRow, {{4, 0}, {2, 0}, {1, 0}}, "y")};
  e.graphs.push_back(std::move(plan));
}

namespace {

void add_count(Executable& e) {
  e.interfaces.push_back({"count", {}, {{"n", {DType::f32, {2}}}}});
  GraphPlan plan{"count", {}, {}, {}};
  PlanBuffer steps = plan_buffer(PlanBuffer::constant, "increments", 5);
  std::vector<float> increments = {1, 2, 3, 4, 5};
  steps.data.resize(5 * sizeof(float));
  std::memcpy(steps.data.data(), increments.data(), steps.data.size());
  plan.buffers = {std::move(steps), plan_buffer(PlanBuffer::storage, "@weft.block.0", 5),
                  plan_buffer(PlanBuffer::storage, "n", 2),
                  plan_buffer(PlanBuffer::output, "n", 2)};
  Step copy;
  copy.kind = Step::copy;
  copy.buffers = {{2, 0}, {3, 0}};
  copy.elements = 2;
  plan.steps = {plan_launch(kAccumulate, {{0, 0}, {1, 0}}, "n"), std::move(copy)};
  e.graphs.push_back(std::move(plan));
}

void add_lookup(Executable& e) {
  Type index{DType::i32, {kB}};
  Type table{DType::f32, {5, 3}};
  e.interfaces.push_back({"lookup", {{"index", index}, {"table", table}}, {{"rows", matrix()}}});
  GraphPlan plan{"lookup", {}, {}, {}};
  plan.buffers = {plan_buffer(PlanBuffer::input, "index", kB),
                  plan_buffer(PlanBuffer::input, "table", 15),
                  plan_buffer(PlanBuffer::output, "rows", kB * 3)};
  plan.buffers[0].dtype = DType::i32;
  plan.steps = {plan_launch(kLookup, {{0, 0}, {1, 0}, {2, 0}}, "rows")};
  e.graphs.push_back(std::move(plan));
}

void add_chunks(Executable& e) {
  e.interfaces.push_back({"chunks", {{"x", matrix()}}, {{"y", matrix()}}});
  GraphPlan plan{"chunks", {}, {}, {}};
  plan.buffers = {plan_buffer(PlanBuffer::input, "x", kB * 3),
                  plan_buffer(PlanBuffer::output, "y", kB * 3),
                  plan_buffer(PlanBuffer::arena, "part", kChunk * 3)};
  Step repeat;
  repeat.kind = Step::repeat;
  repeat.symbol = "R0";
  repeat.total = kB;
  repeat.chunk = 4;
  repeat.body = {plan_launch(kTwiceChunk, {{0, kBase * 3}, {2, 0}}, "part"),
                 plan_launch(kTwiceChunk, {{2, 0}, {1, kBase * 3}}, "y")};
  plan.steps = {std::move(repeat)};
  e.graphs.push_back(std::move(plan));
}

void add_keep(Executable& e) {
  e.interfaces.push_back({"keep", {{"x", matrix()}}, {}});
  GraphPlan plan{"keep", {}, {}, {}};
  plan.buffers = {plan_buffer(PlanBuffer::input, "x", kB * 3),
                  plan_buffer(PlanBuffer::storage, "cache", kB * 3)};
  plan.steps = {plan_launch(kKeep, {{0, 0}, {1, 0}}, "cache")};
  e.graphs.push_back(std::move(plan));
}

}  // namespace

PlanBuffer plan_buffer(PlanBuffer::Kind kind, const std::string& name, Dim elements, uint32_t first,
                       uint32_t last) {
  PlanBuffer made;
  made.kind = kind;
  made.name = name;
  made.elements = std::move(elements);
  made.first = first;
  made.last = last;
  return made;
}

Step plan_launch(uint32_t program, std::vector<Placement> buffers, const std::string& region) {
  Step made;
  made.program = program;
  made.buffers = std::move(buffers);
  made.region = region;
  return made;
}

void add_sample_storage(Executable& e, int64_t most) {
  e.module_name = "sample";
  e.dims.bounds["B"] = {1, most};
  e.storage = {{Storage::param, "w", {DType::f32, {3}}, {Init::ones, 0}},
               {Storage::state, "cache", matrix(), {Init::zeros, 0}},
               {Storage::state, "m", {DType::f32, {3}}, {Init::normal, 0.5}},
               {Storage::state, "n", {DType::f32, {2}}, {Init::zeros, 0}}};
  e.blocks = {{"@weft.block.0", {"n", "m"}}};
}

void add_sample_graphs(Executable& e) {
  add_sample_forward(e);
  add_count(e);
  add_lookup(e);
  add_chunks(e);
  add_keep(e);
}

}  // namespace weft
