// Plans of small graphs, and the proof that they compute what the oracle does.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "ir/plan/plan.h"

namespace weft {

struct Planned {
  Module module;
  Plan plan;

  const GraphPlan& graph(size_t i = 0) const { return plan.graphs[i]; }
  int count(Step::Kind kind) const;        // steps of the first graph
  int count(PlanBuffer::Kind kind) const;  // its buffers
  const PlanBuffer& buffer(const std::string& name) const;
  // The number of the step that writes the region of this name.
  uint32_t step(const std::string& region) const;
};

// Plans a module whose regions are written in the text (a ';' ends a line), and runs every graph of
// the plan against the oracle; a difference fails the test.
Planned plan_text(std::string text, const DimBinding& dims = {});

// Compares the plan of every graph with the oracle's run of it.
void expect_same(const Module& module, const Plan& plan, const DimBinding& dims, uint64_t seed,
                 const std::string& what);

}  // namespace weft
