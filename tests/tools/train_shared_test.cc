// Recipes on real data, with nothing but defaults. Needs ../shared, and minutes: slow suite.
// SPDX-License-Identifier: Apache-2.0
#include "test_paths.h"
#include "tests/support/suite.h"
#include "tests/tools/train_fixture.h"

namespace weft {
namespace {

const std::string kDigits = WEFT_SOURCE_DIR "/../shared/data/digits/digits8x8.csv.gz";

// The last rows are by other writers than those before. They do not choose anything: what counts is
// the accuracy after the last step.
TEST_F(TrainTest, DigitsOfOtherWriters) {
  if (suite() != "slow") GTEST_SKIP() << "takes minutes";
  if (!std::filesystem::exists(kDigits)) GTEST_SKIP() << "no " << kDigits;
  const std::string split = "cd '" + folder_ + "' && gzip -dc '" + kDigits +
                            "' >all.csv && head -n 1501 all.csv >train.csv &&"
                            " { head -n 1 all.csv; tail -n 297 all.csv; } >test.csv";
  ASSERT_EQ(std::system(split.c_str()), 0);
  for (const std::string seed : {"1", "2"}) {
    Outcome outcome = weft(
        "train --csv train.csv --valid-csv test.csv --label-column label --image 8x8 -q --seed " +
        seed + " --out run" + seed);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_GT(metrics("run" + seed).back()["val_accuracy"].get<double>(), 0.95) << seed;
  }
}

}  // namespace
}  // namespace weft
