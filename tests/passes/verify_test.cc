// `verify_passes` names the pass and the rule that change a result.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>

#include "passes/rewrite.h"
#include "passes/verify_passes.h"
#include "tests/support/must_parse.h"

namespace weft {
namespace {

using test::must_parse;

constexpr char kModel[] = R"(module "model" {
  dim T in 1..16
  param @embed: f32[11, 4] = normal(0.5)
  param @w: f32[4, 11] = xavier_uniform
  state @steps: i32[] = zeros
  graph @forward(%tokens: i32[B, T], %targets: i32[B, T], %x: f32[B, T, 4]) -> (loss) {
    %e = gather @embed, %tokens
    %c = sub %e, %x
    %h = mul %c, 1.0
    %z = add %h, 0.0
    %logits = matmul %z, @w
    %l = cross_entropy %logits, %targets
    %loss = mean %l {axes = [0, 1]}
    %n = add @steps, 1
    update @steps = %n
    return %loss
  }
  graph @other(%x: f32[B]) -> (y) {
    %y = exp %x
    return %y
  }
})";

std::vector<Rule> broken_rules() {
  using namespace pattern;
  return {{"broken-sub", sub(x, y), build(add(x, y))}};
}

TEST(VerifyPasses, FindsNothingWrongWithTheRealRules) {
  Result<VerifyReport> report = verify_passes(must_parse(kModel), {});
  ASSERT_TRUE(report.ok()) << render(report.diagnostics());
  EXPECT_TRUE(report->ok()) << report->difference->str();
  ASSERT_EQ(report->graphs.size(), 2u);
  EXPECT_EQ(report->graphs[0].name, "forward");
  EXPECT_GT(report->graphs[0].dims.at("B"), 1);
  EXPECT_EQ(report->passes.size(), graph_pipeline().size());
}

TEST(VerifyPasses, NamesTheBrokenRule) {
  std::vector<Rule> broken = broken_rules();
  VerifyOptions options;
  options.pass.extra_rules = broken;
  Result<VerifyReport> report = verify_passes(must_parse(kModel), options);
  ASSERT_TRUE(report.ok()) << render(report.diagnostics());
  ASSERT_FALSE(report->ok());
  EXPECT_EQ(report->difference->pass, "simplify");
  EXPECT_EQ(report->difference->rule, "broken-sub");
  EXPECT_EQ(report->difference->graph, "forward");
  EXPECT_EQ(report->difference->value, "%c");
  EXPECT_EQ(report->difference->found.output, "loss");
  EXPECT_NE(report->difference->found.expected, report->difference->found.actual);
  EXPECT_NE(report->difference->str().find("rule broken-sub at %c"), std::string::npos);
}

TEST(VerifyPasses, SeesWrongUpdates) {
  using namespace pattern;
  const std::vector<Rule> broken = {{"broken-count", add(x, lit(1)), build(mul(x, lit(3)))}};
  VerifyOptions options;
  options.pass.extra_rules = broken;
  Result<VerifyReport> report = verify_passes(must_parse(kModel), options);
  ASSERT_TRUE(report.ok()) << render(report.diagnostics());
  ASSERT_FALSE(report->ok());
  EXPECT_EQ(report->difference->rule, "broken-count");
  EXPECT_EQ(report->difference->found.output, "@steps");
}

TEST(VerifyPasses, TriesOneGraphWithTheSizesGiven) {
  std::vector<Rule> broken = broken_rules();
  VerifyOptions options;
  options.pass.extra_rules = broken;
  options.graph = "@other";
  options.dims = {{"B", 9}};
  Result<VerifyReport> report = verify_passes(must_parse(kModel), options);
  ASSERT_TRUE(report.ok()) << render(report.diagnostics());
  EXPECT_TRUE(report->ok());
  ASSERT_EQ(report->graphs.size(), 1u);
  EXPECT_EQ(report->graphs[0].dims.at("B"), 9);

  options.graph = "othr";
  Result<VerifyReport> unknown = verify_passes(must_parse(kModel), options);
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.diagnostics()[0].message, "there is no graph 'othr'");
  EXPECT_NE(unknown.diagnostics()[0].hint.find("other"), std::string::npos);
}

TEST(VerifyPasses, TriesWhatAutodiffAdds) {
  VerifyOptions options;
  options.pass.grad = GradRequest{"forward", "loss", {}, "adam"};
  Result<VerifyReport> report = verify_passes(must_parse(kModel), options);
  ASSERT_TRUE(report.ok()) << render(report.diagnostics());
  EXPECT_TRUE(report->ok()) << report->difference->str();
  EXPECT_EQ(report->graphs.size(), 4u);
}

TEST(Compare, KnowsNaNAndInfinity) {
  auto same = [](double expected, double actual) {
    return !compare(Tensor::scalar(DType::f32, expected), Tensor::scalar(DType::f32, actual),
                    tolerance(RunBy::passes, DType::f32));
  };
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(same(nan, nan));
  EXPECT_TRUE(same(inf, inf));
  EXPECT_TRUE(same(1, 1 + 1e-10));
  EXPECT_FALSE(same(1, 1 + 1e-8));
  EXPECT_FALSE(same(nan, 0));
  EXPECT_FALSE(same(0, nan));
  EXPECT_FALSE(same(inf, -inf));
  EXPECT_FALSE(same(1, inf));
}

}  // namespace
}  // namespace weft
