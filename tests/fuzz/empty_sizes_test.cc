// Random graphs of which a size is 0: passes keep what they compute, NaN included.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>
#include <string_view>

#include "ir/text/text.h"
#include "passes/autodiff.h"
#include "passes/decompose.h"
#include "passes/pass.h"
#include "passes/sample_inputs.h"
#include "tests/fuzz/widen.h"
#include "tests/support/random_graph.h"
#include "tests/support/same.h"
#include "tests/support/suite.h"

namespace weft {
namespace {

uint64_t graph_count() { return suite() == "slow" ? 2000 : 100; }

// In f64, where no pass rounds a constant.
Module module_of(uint64_t seed) {
  RandomOptions options;
  options.loss = seed % 3 == 0;
  Module module = widen(random_module(seed, options));
  if (options.loss) {
    EXPECT_TRUE(add_backward(module, {"forward", "loss", {}, ""}).ok());
  }
  return module;
}

using Results = std::map<std::string, OracleResult>;

// What all graphs are run on.
struct Sample {
  DimBinding sizes;
  TensorMap inputs;
  TensorMap storage;
};

Result<Sample> sample_for(const Module& module, const DimBinding& sizes, uint64_t seed) {
  Sample sample{sizes, {}, {}};
  WEFT_TRY(sample.inputs, sample_inputs(module, *module.find_graph("forward"), sizes, seed));
  WEFT_TRY(sample.storage, initial_values(module, nullptr, seed, sizes));
  return sample;
}

Result<Results> run_all(const Module& module, const Sample& sample) {
  Results results;
  for (const Graph& graph : module.graphs) {
    WEFT_TRY(results[graph.name()],
             run_oracle(module, graph, sample.inputs, sample.storage, sample.sizes));
  }
  return results;
}

void expect_same(const Results& expected, const Result<Results>& got) {
  ASSERT_TRUE(got.ok()) << render(got.diagnostics());
  for (const auto& [name, result] : expected) {
    EXPECT_TRUE(same(compare(result, got->at(name), RunBy::passes))) << "@" << name;
  }
}

// Tries the passes on each choice of sizes with which the module can be run: a slice or an index
// beyond the end of nothing is an error. Returns how many there were.
int try_sizes(uint64_t seed) {
  int tried = 0;
  const Module module = module_of(seed);
  for (const DimBinding& sizes : empty_sizes(module, seed)) {
    Result<Sample> sample = sample_for(module, sizes, seed);
    if (!sample.ok()) continue;
    Result<Results> expected = run_all(module, *sample);
    if (!expected.ok()) continue;
    ++tried;
    SCOPED_TRACE(
        cat("seed ", seed, ", B=", sizes.at("B"), ", T=", sizes.at("T"), "\n", print(module)));
    Module optimised = module;
    EXPECT_TRUE(run_pipeline(optimised, {}).ok());
    expect_same(*expected, run_all(optimised, *sample));
    Module decomposed = module;
    EXPECT_TRUE(decompose(decomposed, {}).ok());
    expect_same(*expected, run_all(decomposed, *sample));
  }
  return tried;
}

TEST(EmptySizes, ChangeNothing) {
  int tried = 0;
  for (uint64_t seed = 0; seed < graph_count(); ++seed) tried += try_sizes(seed);
  EXPECT_GT(tried, 0) << "no graph can be run with a size of 0";
}

}  // namespace
}  // namespace weft
