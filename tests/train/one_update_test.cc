// The whole update of a step is one region: one kernel for all parameters and their state.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <set>

#include "passes/pass.h"
#include "tests/train/toy.h"

namespace weft::train {
namespace {

// Behind the views that cut the flat result into parameters.
uint32_t source_of(const Graph& graph, Value value) {
  while (graph.node(value).op == Op::reshape || graph.node(value).op == Op::slice) {
    value = graph.node(value).operands[0];
  }
  return value.node;
}

TEST(OneUpdate, WithDecayClippingAndGuard) {
  for (const char* optimizer : {"adam", "adamw", "sgd"}) {
    for (int64_t accumulate : {1, 2}) {
      TrainOptions options = toy_options();
      options.optimizer = optimizer;
      options.accumulate = accumulate;
      Module module = build_model(options).value();
      PipelineOptions pipeline;
      pipeline.pass.train = TrainRequest{{"loss", "loss", {}, ""}, options.settings(), {}};
      auto passes = run_pipeline(module, pipeline);
      ASSERT_TRUE(passes.ok()) << render(passes.diagnostics());
      const Graph& graph = *module.find_graph("train_step");
      std::set<uint32_t> sources;
      size_t updated = 0;
      for (const Update& update : graph.updates) {
        const Storage* item = module.find_storage(update.target);
        const bool moment =
            update.target.starts_with("optimizer.m.") || update.target.starts_with("optimizer.v");
        if (item->kind != Storage::param && !moment) continue;
        sources.insert(source_of(graph, update.value));
        ++updated;
      }
      EXPECT_GT(updated, 20u);
      EXPECT_EQ(sources.size(), 1u) << optimizer << " " << accumulate;
    }
  }
}

}  // namespace
}  // namespace weft::train
