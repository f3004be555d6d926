// Knobs that a tuner may choose: they change no bit, and what is found is used.
// SPDX-License-Identifier: Apache-2.0
#include "driver/tune.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "driver/execute.h"
#include "ir/tile/text.h"
#include "models/zoo.h"
#include "passes/autodiff.h"
#include "passes/sample_inputs.h"
#include "tests/support/must_parse.h"
#include "tests/support/on_cpu.h"
#include "tests/support/scratch.h"
#include "tests/support/suite.h"

namespace weft {
namespace {

// Products (one of a transpose, one with sums of its columns), rows, a map, a gather.
constexpr char kText[] = R"(
graph @forward(%x: f32[B, 70], %w: f32[70, 200], %b: f32[200], %v: f32[130, 200], %i: i32[B]) -> (y, z, s, g, t) {
  %h = matmul %x, %w
  %a = add %h, %b
  %y = gelu %a {approximate = "none"}
  %s = sum %y {axes = [0]}
  %vt = transpose %v {perm = [1, 0]}
  %m = matmul %y, %vt
  %z = softmax %m
  %g = gather %z, %i
  %e = exp %z
  %f = mul %e, %m
  %t = tanh %f
  return %y, %z, %s, %g, %t
}
)";

// Each choosable knob of each program at its choice number `at`, or its last before that.
KnobChooser choice_of_all(size_t at, size_t& varied) {
  return [at, &varied](const tile::Program& program) {
    KnobValues values;
    for (size_t knob : choosable_knobs(program)) {
      const std::vector<int64_t> choices = knob_choices(program, knob);
      values.push_back(choices[std::min(at, choices.size() - 1)]);
    }
    if (values != knob_values(program)) ++varied;
    return std::optional(values);
  };
}

std::vector<OracleResult> run(const Module& module, const std::vector<DimBinding>& sizes,
                              const CompileRequest& request) {
  const Graph& graph = module.graphs[0];
  Compiled compiled = compile(module, request).value();
  ContextOptions context;
  context.threads = 2;
  context.poison = true;
  Executor executor = Executor::create(std::move(compiled.executable), context).value();
  const TensorMap storage = initial_values(module, &graph, 1).value();
  std::vector<OracleResult> results;
  for (const DimBinding& dims : sizes) {
    const TensorMap inputs = sample_inputs(module, graph, dims, 1).value();
    results.push_back(run_once(executor, graph, inputs, storage, dims).value());
  }
  return results;
}

void expect_same_bits(const Module& module, const std::vector<DimBinding>& sizes) {
  const std::vector<OracleResult> expected = run(module, sizes, {});
  for (size_t at = 0; at < 5; ++at) {
    size_t varied = 0;
    CompileRequest request;
    request.choose_knobs = choice_of_all(at, varied);
    const std::vector<OracleResult> got = run(module, sizes, request);
    for (size_t i = 0; i < sizes.size(); ++i) {
      EXPECT_TRUE(same_bits(got[i], expected[i])) << "choice " << at << ", sizes " << i;
    }
    EXPECT_GT(varied, 0U);
  }
}

TEST(Tune, NoChoiceChangesABit) {
  expect_same_bits(test::must_parse(kText), {{{"B", 1}}, {{"B", 7}}, {{"B", 100}}});
}

TEST(Tune, NoChoiceChangesABitOfATrainingStep) {
  if (suite() == "quick") GTEST_SKIP() << "not in the quick suite";
  const Preset& preset = *find_preset("transformer-tiny");
  TransformerConfig config = preset.config;
  config.vocab = 211;
  config.encoder_layers = config.decoder_layers = 1;
  Module module = preset.build_with(config).value();
  ASSERT_TRUE(add_backward(module, {"loss", "loss", {}, "adam"}).ok());
  const Graph step = *module.find_graph("train_step");
  module.graphs = {step};
  expect_same_bits(module, {{{"B", 5}, {"S", 19}, {"T", 23}}});
}

TEST(Tune, OtherKnobsAreOtherEntriesOfTheCacheOfKernels) {
  const std::string folder = scratch("tune_cache_" + std::to_string(::getpid()));
  const Module module = test::must_parse(kText);
  CompileRequest request;
  request.cache_folder = folder;
  const Compiled before = compile(module, request).value();
  size_t varied = 0;
  request.choose_knobs = choice_of_all(0, varied);
  const Compiled after = compile(module, request).value();
  EXPECT_EQ(after.tuned_kernels, varied);
  EXPECT_EQ(after.cached_kernels, after.programs.size() - varied);
  EXPECT_EQ(compile(module, request).value().cached_kernels, after.programs.size());
  std::filesystem::remove_all(folder);
}

TEST(Tune, MeasuresEveryKernelThatHasAChoice) {
  const Module module = test::must_parse(kText);
  TuneOptions options;
  options.threads = 2;
  options.repeat = 1;
  options.smallest_share = 0;  // which kernels are short would be up to the machine's other work
  const TuneReport report = tune(module, {{"B", 64}}, options).value();
  EXPECT_EQ(report.threads, 2);
  EXPECT_GT(report.rounds, 2);
  EXPECT_GE(report.rows.size(), 3U);
  EXPECT_GE(report.kernels, report.rows.size());
  EXPECT_GT(report.default_ms, 0);
  for (const TuneRow& row : report.rows) {
    EXPECT_FALSE(row.changes_bits) << tile::print(row.program);
    EXPECT_GT(row.found.default_us, 0);
    tile::Program program = row.program;
    EXPECT_TRUE(row.found.values.empty() || set_knobs(program, row.found.values));
    options.known.insert(tuning_key(row.program));
  }
  EXPECT_TRUE(tune(module, {{"B", 64}}, options).value().rows.empty()) << "all are known";
}

}  // namespace
}  // namespace weft
