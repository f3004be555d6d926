// Knobs of kernels for Vulkan: whatever a tuner chooses, the numbers are the same.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "driver/execute.h"
#include "driver/tune.h"
#include "ir/oracle/compare.h"
#include "ir/text/text.h"
#include "passes/sample_inputs.h"
#include "tests/support/on_cpu.h"
#include "tests/vulkan/open.h"
#include "tests/vulkan/shared_device.h"

namespace weft {
namespace {

using testing::IsSupersetOf;

// A program of each form.
const char* const kRows = "graph @g(%x: f32[B, 300]) -> (y) {\n  %y = softmax %x\n  return %y\n}\n";
const char* const kMap = "graph @g(%x: f32[B, 300]) -> (y) {\n  %y = tanh %x\n  return %y\n}\n";
const char* const kUpdate =
    "param @w: f32[100, 64] = normal(1)\n"
    "graph @g(%x: f32[100, 64], %b: f32[B, 1, 1]) -> (y) {\n"
    "  %y = mul %b, @w\n  %n = sub @w, %x\n  update @w = %n\n  return %y\n}\n";
const char* const kProduct =
    "param @w: f32[84, 100] = normal(1)\n"
    "graph @g(%x: f32[B, 84]) -> (y) {\n  %p = matmul %x, @w\n  %y = tanh %p\n  return %y\n}\n";
const char* const kAttention =
    "graph @g(%q: f32[2, 3, B, 8], %k: f32[2, 3, 21, 8], %v: f32[2, 3, 21, 8]) -> (y) {\n"
    "  %y, %l = attention %q, %k, %v\n  return %y\n}\n";

struct Ran {
  OracleResult result;
  std::set<std::string> knobs;
  size_t changed = 0;
  bool reordered = false;
};

// With the knob of this name, where a program has it, at one of its choices.
Ran run(const Module& module, simt::Mapping mapping, const std::string& knob = "",
        int64_t value = 0) {
  Ran ran;
  CompileRequest request;
  request.device = "vulkan";
  request.form.mapping = mapping;
  request.choose_knobs = [&](const tile::Program& program) -> std::optional<KnobValues> {
    KnobValues values = knob_values(program);
    const std::vector<size_t> knobs = choosable_knobs(program);
    for (size_t i = 0; i < knobs.size(); ++i) {
      ran.knobs.insert(program.knobs[knobs[i]].name);
      if (program.knobs[knobs[i]].name != knob) continue;
      values[i] = value;
    }
    ran.reordered |= changes_order(program, values);
    return values;
  };
  const Graph& graph = module.graphs[0];
  const DimBinding dims = {{"B", 37}};
  Compiled compiled = compile(module, request).value();
  ran.changed = compiled.tuned_kernels;
  ContextOptions context;
  context.device = "vulkan";
  context.poison = true;
  Executor executor = Executor::create(std::move(compiled.executable), context).value();
  ran.result = run_once(executor, graph, sample_inputs(module, graph, dims, 1).value(),
                        initial_values(module, &graph, 1).value(), dims)
                   .value();
  return ran;
}

// All values that a tuner may give a knob, of the only program or of all.
std::map<std::string, std::vector<int64_t>> choices_of(const Module& module,
                                                       simt::Mapping mapping) {
  std::map<std::string, std::vector<int64_t>> choices;
  CompileRequest request;
  request.device = "vulkan";
  request.form.mapping = mapping;
  request.choose_knobs = [&](const tile::Program& program) -> std::optional<KnobValues> {
    for (size_t knob : choosable_knobs(program)) {
      for (int64_t value : knob_choices(program, knob)) {
        if (value != program.knobs[knob].value) choices[program.knobs[knob].name].push_back(value);
      }
    }
    return std::nullopt;
  };
  EXPECT_TRUE(plan_module(module, request).ok());
  return choices;
}

void expect_same_numbers(const char* text, simt::Mapping mapping,
                         const std::vector<std::string>& names) {
  ask_for_validation();
  if (shared_vulkan_device() == nullptr) GTEST_SKIP() << "no Vulkan device";
  const Module module = parse("knobs.weft", text).value();
  const Ran usual = run(module, mapping);
  EXPECT_THAT(usual.knobs, IsSupersetOf(names));
  for (const auto& [knob, values] : choices_of(module, mapping)) {
    for (int64_t value : values) {
      SCOPED_TRACE(cat(simt::str({mapping}), ", ", knob, " = ", value));
      const Ran other = run(module, mapping, knob, value);
      EXPECT_GT(other.changed, 0U);
      EXPECT_EQ(other.reordered, !knob.starts_with("simt_"));
      const auto difference = compare(usual.result, other.result, RunBy::device);
      EXPECT_FALSE(difference) << difference->str();
      EXPECT_TRUE(other.reordered || same_bits(usual.result, other.result));
    }
  }
}

constexpr simt::Mapping kRegisters = simt::Mapping::registers;
constexpr simt::Mapping kWorkgroup = simt::Mapping::workgroup;

TEST(VulkanKnobs, OfRows) {
  expect_same_numbers(kRows, kRegisters,
                      {"simt_row_packs", "simt_waves", "simt_image_stores", "simt_load_0"});
}
TEST(VulkanKnobs, OfMaps) {
  expect_same_numbers(kMap, kRegisters, {"simt_map_packs", "simt_map_steps", "simt_load_0"});
}
TEST(VulkanKnobs, OfUpdates) { expect_same_numbers(kUpdate, kRegisters, {"simt_load_1"}); }
TEST(VulkanKnobs, OfProducts) {
  expect_same_numbers(
      kProduct, kRegisters,
      {"simt_rows", "simt_packs", "simt_waves", "simt_unroll", "simt_load_0", "simt_load_1"});
}
TEST(VulkanKnobs, OfProductsFromTiles) {
  expect_same_numbers(kProduct, kWorkgroup,
                      {"simt_invocations", "simt_lanes", "simt_depth", "simt_unroll"});
}
TEST(VulkanKnobs, OfAttention) {
  expect_same_numbers(kAttention, kRegisters, {"BJ", "simt_queries", "simt_load_0"});
}
TEST(VulkanKnobs, OfAttentionInWorkgroups) {
  expect_same_numbers(kAttention, kWorkgroup, {"BJ", "simt_shared"});
}

TuneOptions options_for(simt::Mapping mapping) {
  TuneOptions options;
  options.request.device = "vulkan";
  options.request.form.mapping = mapping;
  options.repeat = 1;
  options.smallest_share = 0;
  return options;
}

// What a device refuses is bad, and no end of the search.
TEST(VulkanTune, GoesOnAfterAChoiceThatIsRefused) {
  ask_for_validation();
  if (shared_vulkan_device() == nullptr) GTEST_SKIP() << "no Vulkan device";
  const Module module = parse("knobs.weft", kProduct).value();
  TuneOptions options = options_for(kRegisters);
  int refused = 0;
  options.admit = [&](const std::vector<tile::Program>& programs) -> Status {
    for (const tile::Program& program : programs) {
      for (const tile::Knob& knob : program.knobs) {
        if (knob.name != "simt_packs" || knob.value == 4) continue;
        ++refused;
        return error({}, "out of registers");
      }
    }
    return ok();
  };
  const Result<TuneReport> report = tune(module, {{"B", 64}}, options);
  ASSERT_TRUE(report.ok()) << render(report.diagnostics());
  EXPECT_GT(refused, 0);
  EXPECT_GT(report->refused, 0);
  EXPECT_GT(report->rounds, report->refused) << "the other knobs were tried";
}

TEST(VulkanTune, ConfirmsWithinTheLimit) {
  ask_for_validation();
  if (shared_vulkan_device() == nullptr) GTEST_SKIP() << "no Vulkan device";
  const Module module = parse("knobs.weft", kProduct).value();
  TuneOptions options = options_for(kRegisters);
  const double alone = tune(module, {{"B", 64}}, options).value().compile_seconds;
  options.compile_seconds = alone / 2;
  const TuneReport report = tune(module, {{"B", 64}}, options).value();
  // A compilation may take longer than any before it, on a machine with other work.
  EXPECT_LT(report.compile_seconds, 1.5 * options.compile_seconds);
}

}  // namespace
}  // namespace weft
