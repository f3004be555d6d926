// Views of modules whose nodes have bodies.
// SPDX-License-Identifier: Apache-2.0
#include "driver/view/view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/text/text.h"

namespace weft {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Module sample() {
  Result<Module> module = parse("test.weft", R"(
param @w: f32[4]
graph @f(%h: f32[N, 4]) -> (y) {
  %e = exp %h
  %y, %s = region {kind = "rows"} (%x = %e, %g = @w) {
    %m = mul %x, %g loc "block.scale"
    %s = sum %m {axes = [1]}
    return %m, %s
  } loc "block"
  %z = tanh %y
  return %z
})");
  EXPECT_TRUE(module.ok()) << render(module.diagnostics());
  return module.ok() ? *module : Module();
}

TEST(Focus, ShowsTheWholeBody) {
  const std::string region =
      "> %y, %s = region {kind = \"rows\"} (%x = %e : f32[N, 4], %g = @w : f32[4]) {\n"
      ">   %m = mul %x, %g : f32[N, 4] loc \"block.scale\"\n"
      ">   %s = sum %m {axes = [1]} : f32[N]\n"
      ">   return %m, %s\n"
      "> } : f32[N, 4], f32[N] loc \"block\"\n";
  for (const char* focus : {"%y", "region", "block", "block.scale", "%m", "mul"}) {
    SCOPED_TRACE(focus);
    Result<std::string> text = focus_text(sample(), focus);
    ASSERT_TRUE(text.ok()) << render(text.diagnostics());
    EXPECT_THAT(*text, HasSubstr(region));
    EXPECT_THAT(*text, HasSubstr("\n  %e = exp %h"));
    EXPECT_THAT(*text, HasSubstr("\n  %z = tanh %y"));
  }
  Result<std::string> around = focus_text(sample(), "%z");
  ASSERT_TRUE(around.ok());
  EXPECT_THAT(*around, HasSubstr("\n    %m = mul %x, %g"));
  EXPECT_THAT(*around, Not(HasSubstr("%e = exp")));
}

TEST(Dot, DrawsABodyAsACluster) {
  std::string text = to_dot(sample());
  // Nodes of the graph: 0 %h, 1 %e, 2 @w, 3 the region; of the body: 0 %x, 1 %g, 2 %m, 3 %s.
  EXPECT_THAT(text, HasSubstr("    subgraph \"cluster_g0n3\" {\n      label=\"region %y\";\n"));
  EXPECT_THAT(text, HasSubstr("      g0n3n2 [label=\"mul\\n%m\\nf32[N, 4]\"];\n"));
  EXPECT_THAT(text, HasSubstr("    g0n1 -> g0n3n0;\n"));
  EXPECT_THAT(text, HasSubstr("    g0n2 -> g0n3n1;\n"));
  EXPECT_THAT(text, HasSubstr("    g0n3n2 -> g0n4;\n"));
}

TEST(Html, LinksWithinABody) {
  std::string text = to_html(sample());
  // %x is the body's own, what it stands for is the graph's.
  EXPECT_THAT(text, HasSubstr("(<a id=\"f%y%x\">%x</a> = <a href=\"#f%e\">%e</a>"));
  EXPECT_THAT(text, HasSubstr("<a id=\"f%y%m\">%m</a> = <span class=op>mul</span> "
                              "<a href=\"#f%y%x\">%x</a>, <a href=\"#f%y%g\">%g</a>"));
  EXPECT_THAT(text, HasSubstr("<span class=op>tanh</span> <a href=\"#f%y\">%y</a>"));
}

}  // namespace
}  // namespace weft
