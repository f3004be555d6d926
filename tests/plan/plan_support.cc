// SPDX-License-Identifier: Apache-2.0
#include "tests/plan/plan_support.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ir/text/text.h"
#include "passes/plan.h"
#include "passes/rounding_noise.h"
#include "passes/sample_inputs.h"
#include "tests/support/fused_form.h"
#include "tests/support/run_plan.h"
#include "tests/support/same.h"

namespace weft {

int Planned::count(Step::Kind kind) const {
  return static_cast<int>(std::ranges::count(graph().steps, kind, &Step::kind));
}

int Planned::count(PlanBuffer::Kind kind) const {
  return static_cast<int>(std::ranges::count(graph().buffers, kind, &PlanBuffer::kind));
}

const PlanBuffer& Planned::buffer(const std::string& name) const {
  auto found = std::ranges::find(graph().buffers, name, &PlanBuffer::name);
  WEFT_CHECK(found != graph().buffers.end(), "there is no buffer " + name);
  return *found;
}

uint32_t Planned::step(const std::string& region) const {
  auto found = std::ranges::find(graph().steps, region, &Step::region);
  WEFT_CHECK(found != graph().steps.end(), "there is no step " + region);
  return static_cast<uint32_t>(found - graph().steps.begin());
}

void expect_same(const Module& module, const Plan& plan, const DimBinding& dims, uint64_t seed,
                 const std::string& what) {
  for (const Graph& graph : module.graphs) {
    Result<DimBinding> sizes = sample_dims(module, graph, dims);
    ASSERT_TRUE(sizes.ok()) << what << render(sizes.diagnostics());
    Result<TensorMap> inputs = sample_inputs(module, graph, *sizes, seed);
    ASSERT_TRUE(inputs.ok()) << what << render(inputs.diagnostics());
    Result<TensorMap> storage = initial_values(module, nullptr, seed, *sizes);
    ASSERT_TRUE(storage.ok()) << what << render(storage.diagnostics());
    Result<OracleResult> expected = run_oracle(module, graph, *inputs, *storage, *sizes);
    ASSERT_TRUE(expected.ok()) << what << render(expected.diagnostics());
    Result<OracleResult> got = run_plan(module, plan, graph.name(), *inputs, *storage, *sizes);
    ASSERT_TRUE(got.ok()) << what << render(got.diagnostics());
    const bool rounds = byte_size(narrowest_float(graph)) == 2 || has_fused_attention(graph);
    const RunBy by = rounds ? RunBy::rewritten : RunBy::passes;
    const OracleRun run = {module, graph, *inputs, *storage, *sizes};
    auto difference = compare_but_for_rounding(run, *expected, *got, by);
    ASSERT_TRUE(difference.ok()) << what << render(difference.diagnostics());
    EXPECT_TRUE(same(*difference)) << what << "@" << graph.name();
  }
}

Planned plan_text(std::string text, const DimBinding& dims) {
  Planned planned;
  std::ranges::replace(text, ';', '\n');
  Result<Module> module = parse("plan.weft", std::move(text));
  EXPECT_TRUE(module.ok()) << render(module.diagnostics());
  if (!module.ok()) return planned;
  planned.module = *std::move(module);
  Result<Plan> plan = make_plan(planned.module, {});
  EXPECT_TRUE(plan.ok()) << render(plan.diagnostics());
  if (!plan.ok()) return planned;
  planned.plan = *std::move(plan);
  expect_same(planned.module, planned.plan, dims, 1, "");
  return planned;
}

}  // namespace weft
