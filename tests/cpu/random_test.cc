// Random graphs as generated code, against the oracle and with one thread against two, with sizes
// of 0 too.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "driver/execute.h"
#include "driver/verify_device.h"
#include "ir/text/text.h"
#include "passes/sample_inputs.h"
#include "tests/support/on_cpu.h"
#include "tests/support/random_graph.h"
#include "tests/support/suite.h"

namespace weft {
namespace {

constexpr uint64_t kChunks = 10;  // tests, so that they can run side by side

uint64_t graph_count() { return suite() == "quick" ? 10 : suite() == "slow" ? 2000 : 200; }

// Every third has gradients, of which there are as many kinds of region again.
Module module_of(uint64_t seed) {
  RandomOptions options;
  options.loss = seed % 3 == 0;
  Module module = random_module(seed, options);
  if (options.loss) {
    Status added = add_backward(module, {"forward", "loss", {}, ""});
    EXPECT_TRUE(added.ok()) << render(added.diagnostics());
  }
  return module;
}

void round_elements(TensorMap& tensors) {
  for (auto& [name, tensor] : tensors) {
    for (double& element : tensor.reals) element = round_to(tensor.dtype, element);
  }
}

// What all graphs of a module are run on, as the device gets it.
struct Sample {
  DimBinding sizes;
  TensorMap inputs;
  TensorMap storage;
};

Result<Sample> sample_for(const Module& module, const DimBinding& sizes, uint64_t seed) {
  Sample sample{sizes, {}, {}};
  const Graph& graph = *module.find_graph("forward");
  WEFT_TRY(sample.inputs, sample_inputs(module, graph, sample.sizes, seed));
  WEFT_TRY(sample.storage, initial_values(module, nullptr, seed, sample.sizes));
  round_elements(sample.inputs);
  round_elements(sample.storage);
  return sample;
}

// Of the symbols that are left in the compiled graph.
DimBinding sizes_of(const LoadedExecutable& loaded, const std::string& graph,
                    const DimBinding& all) {
  DimBinding sizes;
  for (uint32_t i = 0; i < loaded.executable().graphs.size(); ++i) {
    if (loaded.executable().graphs[i].graph != graph) continue;
    for (const std::string& symbol : loaded.facts(i).symbols) sizes.emplace(symbol, all.at(symbol));
  }
  return sizes;
}

// The module on one device: with one thread and with two.
class Device {
 public:
  static Result<Device> create(const Module& module, const CompileRequest& request) {
    WEFT_TRY(Compiled compiled, compile(module, request));
    WEFT_TRY(LoadedPtr loaded, LoadedExecutable::load(std::move(compiled.executable)));
    Device device;
    for (int threads : {1, 2}) {
      ContextOptions options;
      options.threads = threads;
      options.poison = true;
      WEFT_TRY(Executor executor, Executor::create(loaded, options));
      device.executors_.push_back(std::move(executor));
    }
    return device;
  }

  Result<OracleResult> run(const Graph& graph, const Sample& sample) {
    const LoadedExecutable& loaded = executors_[0].context().loaded();
    const DimBinding sizes = sizes_of(loaded, graph.name(), sample.sizes);
    TensorMap inputs;
    for (Value input : graph.inputs()) {
      inputs.insert(*sample.inputs.find(graph.input_name(input)));
    }
    std::vector<OracleResult> results;
    for (Executor& executor : executors_) {
      WEFT_TRY(OracleResult result, run_once(executor, graph, inputs, sample.storage, sizes));
      results.push_back(std::move(result));
    }
    EXPECT_TRUE(same_bits(results[0], results[1])) << "with 1 and 2 threads";
    return std::move(results[0]);
  }

 private:
  std::vector<Executor> executors_;
};

// Names the kernel that is to blame. Empty where the difference is what cancellation leaves.
std::string blame(const Module& module, const DimBinding& sizes, uint64_t seed,
                  const CompileRequest& request) {
  DeviceVerifyOptions options;
  options.common.dims = sizes;
  options.common.seed = seed;
  options.request = request;
  options.threads = 2;
  Result<DeviceVerifyReport> report = verify_device(module, options);
  return report.ok() ? report->difference : render(report.diagnostics());
}

void try_graph(const Module& module, const Graph& graph, Device& device, const Sample& sample,
               uint64_t seed, const CompileRequest& request) {
  Result<OracleResult> expected =
      run_oracle(module, graph, sample.inputs, sample.storage, sample.sizes);
  // A slice or an index beyond the end of nothing is an error.
  if (!expected.ok() && sample.sizes != random_sizes(module, seed)) return;
  ASSERT_TRUE(expected.ok()) << render(expected.diagnostics());
  Result<OracleResult> got = device.run(graph, sample);
  ASSERT_TRUE(got.ok()) << render(got.diagnostics()) << print(module);
  if (!compare(*expected, *got, RunBy::device, narrowest_float(graph))) return;
  ASSERT_EQ(blame(module, sample.sizes, seed, request), "") << print(module);
}

void try_seed(uint64_t seed) {
  const Module module = module_of(seed);
  CompileRequest request;
  request.target_cpu = cpu_targets()[seed % cpu_targets().size()];
  SCOPED_TRACE(cat("seed ", seed, " on ", request.target_cpu));
  Result<Device> device = Device::create(module, request);
  ASSERT_TRUE(device.ok()) << render(device.diagnostics());
  std::vector<DimBinding> all = empty_sizes(module, seed);
  all.push_back(random_sizes(module, seed));
  for (const DimBinding& sizes : all) {
    SCOPED_TRACE(cat("B=", sizes.at("B"), ", T=", sizes.at("T")));
    Result<Sample> sample = sample_for(module, sizes, seed);
    if (!sample.ok() && sizes != all.back()) continue;
    ASSERT_TRUE(sample.ok()) << render(sample.diagnostics());
    for (const Graph& graph : module.graphs) {
      try_graph(module, graph, *device, *sample, seed, request);
    }
  }
}

class RandomGraphsOnCpu : public testing::TestWithParam<uint64_t> {};

TEST_P(RandomGraphsOnCpu, AgreeWithOracle) {
  for (uint64_t seed = GetParam(); seed < graph_count(); seed += kChunks) try_seed(seed);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomGraphsOnCpu, testing::Range<uint64_t>(0, kChunks));

}  // namespace
}  // namespace weft
