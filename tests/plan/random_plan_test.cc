// Random graphs: lowered and planned, fused graphs compute what they do on the oracle.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "ir/text/text.h"
#include "passes/autodiff.h"
#include "passes/pass.h"
#include "passes/plan.h"
#include "tests/plan/plan_support.h"
#include "tests/support/random_graph.h"
#include "tests/support/suite.h"

namespace weft {
namespace {

uint64_t trials() { return suite() == "quick" ? 20 : suite() == "slow" ? 1000 : 100; }

TEST(RandomPlan, AgreesWithTheOracle) {
  for (uint64_t seed = 0; seed < trials(); ++seed) {
    RandomOptions options;
    options.loss = seed % 2 == 0;
    Module module = random_module(seed, options);
    if (options.loss) {
      Status added = add_backward(module, {"forward", "loss", {}, seed % 4 == 0 ? "adam" : ""});
      if (!added.ok()) continue;  // no parameter and no float input to differentiate by
    }
    DimBinding sizes = random_sizes(module, seed);
    auto passes = run_pipeline(module, {});
    ASSERT_TRUE(passes.ok()) << "seed " << seed << ": " << render(passes.diagnostics());
    DeviceTraits narrow;  // so that small weights are packed too
    narrow.panel_bytes = 16;
    narrow.least_packed_bytes = 0;
    Result<Plan> plan = make_plan(module, narrow);
    ASSERT_TRUE(plan.ok()) << "seed " << seed << ": " << render(plan.diagnostics());
    expect_same(module, *plan, sizes, seed, cat("seed ", seed, ": "));
    if (HasFailure()) {
      ADD_FAILURE() << print(module);
      return;
    }
  }
}

}  // namespace
}  // namespace weft
