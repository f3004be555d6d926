// Random graphs through the whole pipeline, lowered and interpreted, against the oracle.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "ir/text/text.h"
#include "passes/pass.h"
#include "passes/sample_inputs.h"
#include "tests/passes/oracle_support.h"
#include "tests/support/fused_form.h"
#include "tests/support/random_graph.h"
#include "tests/support/run_tiles.h"
#include "tests/support/suite.h"

namespace weft {
namespace {

constexpr uint64_t kChunks = 10;  // tests, so that they can run side by side

uint64_t graph_count() { return suite() == "quick" ? 20 : suite() == "slow" ? 1000 : 100; }

bool has_short_floats(const Graph& graph) {
  return std::ranges::any_of(graph.nodes(), [](const Node& node) {
    auto is_short = [](const Type& type) {
      return type.dtype == DType::f16 || type.dtype == DType::bf16;
    };
    return std::ranges::any_of(node.types, is_short) ||
           (node.body != nullptr && has_short_floats(*node.body));
  });
}

// Against the fused graph nothing differs but the order of sums. Partial sums are kept in f32, from
// which 16-bit results are rounded; the oracle does not round them.
double tolerance_of(const Graph& graph) {
  return has_short_floats(graph) ? 3e-2 : has_fused_attention(graph) ? 1e-6 : 1e-9;
}

void expect_tiles_agree(uint64_t seed) {
  RandomOptions options;
  options.loss = seed % 3 == 0;
  Module module = random_module(seed, options);
  if (options.loss) {
    ASSERT_TRUE(add_backward(module, {"forward", "loss", {}, ""}).ok());
  }
  const DimBinding sizes = random_sizes(module, seed);
  auto records = run_pipeline(module, {});
  ASSERT_TRUE(records.ok()) << render(records.diagnostics());
  for (const Graph& graph : module.graphs) {
    Result<TensorMap> inputs = sample_inputs(module, graph, sizes, seed);
    Result<TensorMap> storage = initial_values(module, nullptr, seed, sizes);
    ASSERT_TRUE(inputs.ok() && storage.ok());
    Result<OracleResult> expected = run_oracle(module, graph, *inputs, *storage, sizes);
    ASSERT_TRUE(expected.ok()) << render(expected.diagnostics());
    Result<OracleResult> actual = run_tiles(module, graph, *inputs, *storage, sizes);
    ASSERT_TRUE(actual.ok()) << render(actual.diagnostics()) << print(module);
    for (const auto& [name, tensor] : expected->outputs) {
      test::expect_near(actual->outputs.at(name), tensor, tolerance_of(graph), name);
    }
    if (testing::Test::HasFailure()) FAIL() << print(module);
  }
}

class RandomTiles : public testing::TestWithParam<uint64_t> {};

TEST_P(RandomTiles, AgreeWithOracle) {
  for (uint64_t seed = GetParam(); seed < graph_count(); seed += kChunks) {
    SCOPED_TRACE(seed);
    expect_tiles_agree(seed);
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomTiles, testing::Range<uint64_t>(0, kChunks));

}  // namespace
}  // namespace weft
