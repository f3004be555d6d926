// Steps run side by side where none needs what another does, and wait where one does.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/side_by_side.h"

#include <gtest/gtest.h>

#include "tests/runtime/sample.h"

namespace weft {
namespace {

const Dim kB = Dim::symbol("B");

BufferUse reads(Dim elements) { return {false, std::move(elements)}; }
BufferUse writes(Dim elements) { return {true, std::move(elements)}; }

Step launch(uint32_t program, std::vector<Placement> buffers) {
  Step made;
  made.program = program;
  made.buffers = std::move(buffers);
  return made;
}

Step copy_of(Placement from, Placement to, Dim elements) {
  Step made;
  made.kind = Step::copy;
  made.buffers = {std::move(from), std::move(to)};
  made.elements = std::move(elements);
  return made;
}

// @forward(x: f32[B, 3]) -> (y: f32[B, 3]) with steps of the caller's, over x, y, the block of n
// and m, m itself, and two buffers in the arena of 6 B elements.
Executable with_steps(std::vector<Step> steps) {
  Executable e = small_executable();
  e.kernels[kTwice].uses = {reads(kB * 3), writes(kB * 3)};
  e.kernels[kAccumulate].uses = {reads(5), writes(5)};
  GraphPlan& plan = e.graphs[0];
  auto buffer = [](PlanBuffer::Kind kind, const std::string& name, Dim elements, uint32_t last) {
    PlanBuffer made;
    made.kind = kind;
    made.name = name;
    made.elements = std::move(elements);
    made.last = last;
    return made;
  };
  const auto last = static_cast<uint32_t>(steps.size() - 1);
  plan.buffers = {buffer(PlanBuffer::input, "x", kB * 3, 0),
                  buffer(PlanBuffer::output, "y", kB * 3, 0),
                  buffer(PlanBuffer::storage, "@weft.block.0", 5, 0),
                  buffer(PlanBuffer::storage, "m", 3, 0),
                  buffer(PlanBuffer::arena, "a", kB * 6, last),
                  buffer(PlanBuffer::arena, "b", kB * 6, last)};
  plan.steps = std::move(steps);
  return e;
}
enum : PlanBufferId { kX, kY, kBlock, kM, kA, kBuffer };

std::vector<uint32_t> groups(std::vector<Step> steps) {
  LoadedPtr loaded = load(with_steps(std::move(steps)));
  Result<BoundGraph> bound = bind_graph(loaded, 0, {{"B", 4}});
  EXPECT_TRUE(bound.ok()) << render(bound.diagnostics());
  return bound.ok() ? bound->groups : std::vector<uint32_t>();
}

using Groups = std::vector<uint32_t>;

TEST(SideBySide, WhatIsIndependentIsOneGroup) {
  EXPECT_EQ(groups({launch(kTwice, {{kX, 0}, {kA, 0}}), launch(kTwice, {{kX, 0}, {kBuffer, 0}})}),
            (Groups{0}));
  // Two halves of one buffer.
  EXPECT_EQ(groups({launch(kTwice, {{kX, 0}, {kA, 0}}), launch(kTwice, {{kX, 0}, {kA, kB * 3}})}),
            (Groups{0}));
}

TEST(SideBySide, WaitsForWhatItNeeds) {
  const Step first = launch(kTwice, {{kX, 0}, {kA, 0}});
  EXPECT_EQ(groups({first, launch(kTwice, {{kA, 0}, {kY, 0}})}), (Groups{0, 1}));
  EXPECT_EQ(groups({first, launch(kTwice, {{kX, 0}, {kA, kB * 3 - 1}})}), (Groups{0, 1}));
  EXPECT_EQ(groups({first, copy_of({kA, 0}, {kY, 0}, kB * 3)}), (Groups{0, 1}));
  EXPECT_EQ(groups({first, copy_of({kA, kB * 3}, {kY, 0}, kB * 3)}), (Groups{0}));
}

TEST(SideBySide, MembersOfABlockShareItsMemory) {
  // m is elements 2 to 4 of the block.
  EXPECT_EQ(groups({launch(kAccumulate, {{kX, 0}, {kBlock, 0}}), copy_of({kM, 0}, {kY, 0}, 3)}),
            (Groups{0, 1}));
  EXPECT_EQ(groups({copy_of({kX, 0}, {kBlock, 0}, 2), copy_of({kM, 0}, {kY, 0}, 3)}), (Groups{0}));
  EXPECT_EQ(groups({copy_of({kX, 0}, {kBlock, 0}, 3), copy_of({kM, 0}, {kY, 0}, 3)}),
            (Groups{0, 1}));
}

TEST(SideBySide, WhatIsNotKnownRunsAlone) {
  // add_row does not say what it touches.
  EXPECT_EQ(
      groups({launch(kTwice, {{kX, 0}, {kA, 0}}), launch(kAddRow, {{kX, 0}, {kM, 0}, {kY, 0}}),
              launch(kTwice, {{kX, 0}, {kBuffer, 0}})}),
      (Groups{0, 1, 2}));
}

TEST(SideBySide, AGroupHasAnEnd) {
  std::vector<Step> steps;
  for (size_t i = 0; i < 2 * kMostSideBySide + 1; ++i) {
    steps.push_back(copy_of({kX, 0}, {kA, static_cast<int64_t>(i)}, 1));
  }
  EXPECT_EQ(groups(std::move(steps)), (Groups{0, kMostSideBySide, 2 * kMostSideBySide}));
}

TEST(SideBySide, RunsAllStepsOfAGroup) {
  LoadedPtr loaded = load(with_steps(
      {launch(kTwice, {{kX, 0}, {kA, 0}}), launch(kTwice, {{kX, 0}, {kBuffer, 0}}),
       copy_of({kX, 0}, {kA, kB * 3}, kB * 3), launch(kTwice, {{kBuffer, 0}, {kY, 0}})}));
  for (int threads : {1, 2, 3}) {
    ContextOptions options;
    options.threads = threads;
    Result<Context> context = Context::create(loaded, options);
    ASSERT_TRUE(context.ok());
    Result<BoundPtr> bound = context->bind("forward", {{"B", 100}});
    ASSERT_TRUE(bound.ok());
    EXPECT_EQ((*bound)->groups, (Groups{0, 3}));
    std::vector<float> x(300);
    std::vector<float> y(300);
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
    const ConstBytes in[] = {bytes_of(x)};
    const MutableBytes out[] = {room_in(y)};
    ASSERT_TRUE(context->run(*bound, in, out).ok());
    for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y[i], 4 * x[i]);
  }
}

}  // namespace
}  // namespace weft
