// SPDX-License-Identifier: Apache-2.0
#include "passes/plan.h"

#include "passes/pack_weights.h"
#include "passes/plan_work.h"
#include "passes/size_checks.h"

namespace weft {
namespace {

Result<GraphPlan> plan_graph(const PlanContext& context, const Graph& graph,
                             ProgramTable& programs) {
  GraphWork work;
  TaskMaker maker(context, graph, work, work.tasks);
  WEFT_TRY_STATUS(maker.make_tasks());
  WEFT_TRY_STATUS(store_results(maker));
  order_tasks(work, context.module.dims);
  reuse_operands(work, work.tasks, 0);
  GraphPlan plan = make_steps(work, graph.name(), programs);
  plan.checks = size_checks(graph, context.module.dims);
  return plan;
}

}  // namespace

Result<Plan> make_plan(const Module& module, const DeviceTraits& device) {
  PlanContext context{module, device, {}, {}};
  choose_blocks(context);
  Plan plan;
  ProgramTable programs;
  for (const Graph& graph : module.graphs) {
    WEFT_TRY(GraphPlan graph_plan, plan_graph(context, graph, programs));
    plan.graphs.push_back(std::move(graph_plan));
  }
  plan.programs = programs.take();
  plan.blocks = std::move(context.blocks);
  pack_weights(plan, module, device);
  return plan;
}

}  // namespace weft
