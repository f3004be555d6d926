// What a report reads, and that no text of a run becomes a part of the page.
// SPDX-License-Identifier: Apache-2.0
#include "driver/report/report.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "driver/report/metrics.h"
#include "tests/support/scratch.h"

namespace weft::report {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string run_with(const std::string& metrics) {
  const std::string run = scratch("report_run");
  std::filesystem::create_directories(run);
  std::ofstream(run + "/metrics.jsonl", std::ios::binary) << metrics;
  return run;
}

TEST(Report, ReadsWhatATrainerWritesAndNothingElse) {
  const Metrics read = read_metrics(
      run_with(R"({"step":1,"loss":2.123456789,"lr":"much","other":3,"grad_norms":{"a":1,"b":"x"}})"
               "\n"
               R"({"step":2,"attention":{"a":{"entropy":[1,2,[3,[4]]]}}})"
               "\n"
               R"({"step":2,"warning":"hot"})"
               "\n"));
  ASSERT_EQ(read.lines.size(), 2u);
  EXPECT_EQ(read.lines[0].dump(), R"({"step":1,"loss":2.12346,"grad_norms":{"a":1.0,"b":null}})");
  EXPECT_EQ(read.lines[1].dump(), R"({"step":2,"attention":{"a":{"entropy":[1.0,2.0,null]}}})");
  ASSERT_EQ(read.warnings.size(), 1u);
  EXPECT_EQ(read.warnings[0]["text"], "hot");
  EXPECT_THAT(read.notes, IsEmpty());
}

TEST(Report, SaysWhichLinesAreDamaged) {
  const Metrics read =
      read_metrics(run_with("{\"step\":1}\nnonsense\n{\"step\":\"x\"}\n[]\n\n{\"st"));
  EXPECT_EQ(read.lines.size(), 1u);
  EXPECT_THAT(read.notes,
              ElementsAre(HasSubstr("line 2 is cut short"), HasSubstr("line 3 is cut short"),
                          HasSubstr("line 4 is cut short"), HasSubstr("2 more lines")));
  EXPECT_THAT(read_metrics(scratch("report_nowhere")).notes,
              ElementsAre(HasSubstr("there is no metrics.jsonl")));
}

TEST(Report, ManyLinesAreThinnedOutButEvaluationsStay) {
  std::string text;
  for (int i = 1; i <= 50000; ++i) {
    text += cat("{\"step\":", i, i % 1000 == 1 ? ",\"val_loss\":1" : "", "}\n");
  }
  const Metrics read = read_metrics(run_with(text));
  EXPECT_LE(read.lines.size(), kMostLines);
  size_t evaluated = 0;
  for (const auto& line : read.lines) evaluated += line.contains("val_loss") ? 1 : 0;
  EXPECT_EQ(evaluated, 50u);
  EXPECT_THAT(read.notes, ElementsAre(HasSubstr("50000 lines")));
}

TEST(Report, TextCannotEndTheScriptThatHoldsIt) {
  const nlohmann::ordered_json data = {{"run", "</script><script>alert(1)<!--\xff"}};
  const std::string html = page(data);
  EXPECT_THAT(html, Not(HasSubstr("alert(1)<")));
  EXPECT_THAT(html, HasSubstr("\\u003c/script>\\u003cscript>alert(1)\\u003c!--"));
}

}  // namespace
}  // namespace weft::report
