// Random graphs: optimised and decomposed, they compute what they computed before.
// SPDX-License-Identifier: Apache-2.0
#include "tests/support/random_graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iostream>
#include <string_view>

#include "ir/support/file.h"
#include "ir/text/text.h"
#include "passes/rewrite.h"
#include "tests/fuzz/random_trial.h"
#include "tests/support/suite.h"

namespace weft {
namespace {

constexpr uint64_t kChunks = 10;  // tests, so that they can run side by side

uint64_t graph_count() { return suite() == "quick" ? 40 : suite() == "slow" ? 2000 : 200; }

bool has_backward(uint64_t seed) { return seed % 3 == 0; }

Module module_of(uint64_t seed) {
  RandomOptions options;
  options.loss = has_backward(seed);
  return random_module(seed, options);
}

Trial trial_of(uint64_t seed, const Module& module) {
  Trial trial;
  trial.seed = seed;
  trial.sizes = random_sizes(module, seed);
  trial.backward = has_backward(seed);
  return trial;
}

bool counts_as_op(const Node& node) {
  return !info(node.op).has(kStructural) && node.op != Op::constant;
}

bool is_symbolic(const Node& node) {
  return std::ranges::any_of(node.types, [](const Type& type) {
    return std::ranges::any_of(type.shape, [](const Dim& dim) { return !dim.is_constant(); });
  });
}

bool has_shared_value(const Graph& graph) {
  for (const std::vector<uint32_t>& results : count_uses(graph)) {
    if (std::ranges::any_of(results, [](uint32_t uses) { return uses > 1; })) return true;
  }
  return false;
}

class RandomGraphs : public testing::TestWithParam<uint64_t> {};

TEST_P(RandomGraphs, ComputeTheSameAfterPasses) {
  for (uint64_t seed = GetParam(); seed < graph_count(); seed += kChunks) {
    Module module = module_of(seed);
    Trial trial = trial_of(seed, module);
    std::optional<TrialFailure> failure = try_module(module, trial);
    EXPECT_FALSE(failure) << report_failure(module, trial, *failure).text;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomGraphs, testing::Range<uint64_t>(0, kChunks));

TEST(RandomModule, HasWhatItPromises) {
  for (uint64_t seed = 0; seed < graph_count(); ++seed) {
    SCOPED_TRACE(seed);
    const Module module = module_of(seed);
    const Graph& graph = *module.find_graph("forward");
    auto count = std::ranges::count_if(graph.nodes(), counts_as_op);
    EXPECT_GE(count, RandomOptions().min_ops);
    EXPECT_LE(count, RandomOptions().max_ops);
    auto contains_op = [&](OpTrait trait) {
      return std::ranges::any_of(graph.nodes(),
                                 [&](const Node& n) { return info(n.op).has(trait); });
    };
    EXPECT_TRUE(contains_op(kView));
    EXPECT_TRUE(contains_op(kReduction));
    EXPECT_TRUE(
        std::ranges::any_of(graph.nodes(), [](const Node& n) { return n.op == Op::matmul; }));
    EXPECT_TRUE(std::ranges::any_of(graph.nodes(), is_symbolic));
    EXPECT_TRUE(has_shared_value(graph));
    EXPECT_EQ(print(module), print(module_of(seed)));
  }
}

TEST(RandomModule, UsesEveryOp) {
  constexpr uint64_t kSeeds = 200;
  constexpr int kEnough = 20;
  std::array<int, kOpCount> counts{};
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Module module = module_of(seed);
    for (const Node& node : module.graphs[0].nodes()) ++counts[static_cast<size_t>(node.op)];
  }
  for (const OpInfo& op : all_ops()) {
    const int count = counts[static_cast<size_t>(op.op)];
    std::cout << op.name << " " << count << "  ";
    EXPECT_GE(count, kEnough) << op.name;
  }
  std::cout << "\n";
}

// The net has no holes: a wrong rule is caught, shrunk to the node it spoils, and named.
TEST(RandomGraphFailure, IsShrunkAndNamed) {
  using pattern::tanh, pattern::x, pattern::take;
  const Rule wrong[] = {{"wrong-tanh", tanh(x), take(x)}};
  for (uint64_t seed = 0; seed < 40; ++seed) {
    Module module = module_of(seed);
    Trial trial = trial_of(seed, module);
    trial.pass.extra_rules = wrong;
    std::optional<TrialFailure> failure = try_module(module, trial);
    if (!failure) continue;
    EXPECT_EQ(failure->stage, "pipeline");
    FailureReport report = report_failure(module, trial, *failure);
    EXPECT_NE(report.text.find("rule wrong-tanh"), std::string::npos) << report.text;
    const std::vector<Node>& nodes = report.smallest.graphs[0].nodes();
    EXPECT_TRUE(std::ranges::any_of(nodes, [](const Node& n) { return n.op == Op::tanh; }));
    // The loss, which a backward pass needs, may add some.
    EXPECT_LE(std::ranges::count_if(nodes, counts_as_op), 4) << report.text;
    Result<std::string> written = read_file(report.path, kMaxModuleBytes);
    ASSERT_TRUE(written.ok()) << render(written.diagnostics());
    EXPECT_TRUE(parse(report.path, *written).ok()) << *written;
    return;
  }
  FAIL() << "40 random graphs do not show that tanh(x) is not x";
}

}  // namespace
}  // namespace weft
