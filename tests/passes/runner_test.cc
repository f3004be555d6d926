// The pass runner: order, skipping, stopping, and errors in pass names.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "ir/text/text.h"
#include "passes/pass.h"

namespace weft {
namespace {

Module example() {
  Result<Module> module = parse("test.weft", R"(graph @g(%x: f32[B]) -> (y) {
  %a = add %x, 0.0
  %y = exp %a
  return %y
})");
  EXPECT_TRUE(module.ok()) << render(module.diagnostics());
  return std::move(module).value();
}

std::vector<std::string> names_seen(const PipelineOptions& given) {
  std::vector<std::string> seen;
  PipelineOptions options = given;
  options.after_pass = [&](const PassRecord& record, const Module& module) {
    EXPECT_TRUE(verify(module).ok());
    EXPECT_EQ(record.index, static_cast<int>(seen.size()) - 1);
    seen.push_back(std::string(record.name) + (record.skipped ? " skipped" : "") +
                   (record.changed ? " changed" : ""));
    return ok();
  };
  Module module = example();
  Result<std::vector<PassRecord>> records = run_pipeline(module, options);
  EXPECT_TRUE(records.ok()) << render(records.diagnostics());
  EXPECT_EQ(records->size() + 1, seen.size());
  return seen;
}

TEST(Runner, RunsThePipelineInOrder) {
  std::vector<std::string> expected = {"input",
                                       "simplify changed",
                                       "raise",
                                       "autodiff",
                                       "simplify",
                                       "fuse-attention",
                                       "flatten-optimizer",
                                       "decompose",
                                       "simplify-primitives",
                                       "arrange",
                                       "chunk",
                                       "fuse changed"};
  EXPECT_EQ(names_seen({}), expected);
}

TEST(Runner, SkipsEveryRowOfAName) {
  PipelineOptions options;
  options.skip = {"simplify"};
  std::vector<std::string> expected = {"input",
                                       "simplify skipped",
                                       "raise",
                                       "autodiff",
                                       "simplify skipped",
                                       "fuse-attention",
                                       "flatten-optimizer",
                                       "decompose",
                                       "simplify-primitives changed",
                                       "arrange",
                                       "chunk",
                                       "fuse changed"};
  EXPECT_EQ(names_seen(options), expected);
}

TEST(Runner, StopsAfterTheLastRowOfAName) {
  PipelineOptions options;
  options.stop_after = "autodiff";
  std::vector<std::string> expected = {"input", "simplify changed", "raise", "autodiff"};
  EXPECT_EQ(names_seen(options), expected);
}

TEST(Runner, SuggestsThePassThatWasMeant) {
  PipelineOptions options;
  options.skip = {"simplfy"};
  Module module = example();
  Result<std::vector<PassRecord>> records = run_pipeline(module, options);
  ASSERT_FALSE(records.ok());
  EXPECT_EQ(records.diagnostics()[0].message, "there is no pass 'simplfy'");
  EXPECT_NE(records.diagnostics()[0].hint.find("simplify"), std::string::npos);

  options.skip.clear();
  options.stop_after = "nothing at all";
  records = run_pipeline(module, options);
  ASSERT_FALSE(records.ok());
  EXPECT_EQ(records.diagnostics()[0].hint,
            "passes: simplify raise autodiff fuse-attention flatten-optimizer decompose "
            "simplify-primitives arrange chunk fuse");
}

TEST(Runner, StopsWhenTheCallerSaysSo) {
  PipelineOptions options;
  options.after_pass = [](const PassRecord& record, const Module&) -> Status {
    if (record.index == 0) return error({}, "enough");
    return ok();
  };
  Module module = example();
  Result<std::vector<PassRecord>> records = run_pipeline(module, options);
  ASSERT_FALSE(records.ok());
  EXPECT_EQ(records.diagnostics()[0].message, "enough");
}

TEST(Runner, GivesABrokenModuleBackAsAnError) {
  Module module = example();
  module.graphs.push_back(module.graphs[0]);  // two graphs of one name
  Result<std::vector<PassRecord>> records = run_pipeline(module, {});
  EXPECT_FALSE(records.ok());
}

}  // namespace
}  // namespace weft
