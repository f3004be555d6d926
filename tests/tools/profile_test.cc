// weft profile: models and the cases of weft bench.
// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "tests/tools/cli_fixture.h"

namespace weft {
namespace {

using ::testing::HasSubstr;

#ifdef WEFT_HAS_LLVM
TEST_F(CliTest, ProfilesAModelAndABenchCase) {
  write("ffn.weft", kFfn);
  Outcome outcome = weft("profile ffn.weft --dim B=5 --repeat 1");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("@forward B=5: "));

  outcome = weft("profile gemm_512x512x512 --repeat 1 --threads 1 --json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const nlohmann::json profile = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(profile["threads"], 1);
  ASSERT_EQ(profile["kernels"].size(), 1);
  EXPECT_EQ(profile["kernels"][0]["flops"], 2L * 512 * 512 * 512);

  outcome = weft("profile gemm_1x2x3");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("gemm_1x2x3"));
}
#endif

TEST_F(CliTest, ProfilesOnlyWhatHasKernels) {
  write("ffn.weft", kFfn);
  const Outcome outcome = weft("profile ffn.weft --device oracle");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("device 'oracle' has no kernels to time"));
}

}  // namespace
}  // namespace weft
