// Recipes on real data, with nothing but defaults. Needs ../shared, and minutes: slow suite.
// SPDX-License-Identifier: Apache-2.0
#include "test_paths.h"
#include "tests/support/suite.h"
#include "tests/tools/train_fixture.h"

namespace weft {
namespace {

const std::string kData = WEFT_SOURCE_DIR "/../shared/data/";
const std::string kDigits = kData + "digits/digits8x8.csv.gz";
const std::string kShakespeare = kData + "tinyshakespeare/input.txt";

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

// nanoGPT's run for a CPU, with the preset's defaults; PyTorch ends at 1.8952 with one seed.
TEST_F(TrainTest, ShakespeareByCharacters) {
  if (suite() != "slow") GTEST_SKIP() << "takes minutes";
  if (!std::filesystem::exists(kShakespeare)) GTEST_SKIP() << "no " << kShakespeare;
  Outcome outcome =
      weft("train gpt-char --text '" + kShakespeare + "' --batch 12 --steps 2000 -q --out run");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const nlohmann::json last = metrics("run").back();
  EXPECT_EQ(last["step"], 2000);
  EXPECT_LE(last["val_loss"].get<double>(), 1.91);
}

}  // namespace
}  // namespace weft
