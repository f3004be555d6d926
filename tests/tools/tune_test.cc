// weft tune, and who uses what it finds.
// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "driver/compile.h"
#include "driver/model_file.h"
#include "driver/tuning.h"
#include "tests/tools/cli_fixture.h"

namespace weft {
namespace {

using ::testing::HasSubstr;

TEST_F(CliTest, TuneNeedsAFolderAndADevice) {
  write("ffn.weft", kFfn);
  Outcome outcome = weft("tune ffn.weft --device oracle");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("device 'oracle' has no knobs to tune"));
#ifdef WEFT_HAS_LLVM
  outcome = weft("tune ffn.weft");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("no cache folder"));
  EXPECT_THAT(outcome.err, HasSubstr("hint: set WEFT_CACHE_DIR"));
#endif
}

#ifdef WEFT_HAS_LLVM
TEST_F(CliTest, TunesATinyGraph) {
  write("ffn.weft", kFfn);
  ::setenv("WEFT_CACHE_DIR", path("cache").c_str(), 1);
  Outcome outcome = weft("tune ffn.weft --device cpu --dim B=64 --threads 1 --repeat 1");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("@forward B=64: "));
  EXPECT_THAT(outcome.out, HasSubstr("BM "));
  outcome = weft("tune ffn.weft --dim B=64 --threads 1 --repeat 1 --json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  nlohmann::json line = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(line["graph"], "forward");
  EXPECT_EQ(line["dims"]["B"], 64);
  EXPECT_GT(line["default_ms"], 0);
  ASSERT_FALSE(line["rows"].empty());
  EXPECT_GT(line["rows"][0]["default_us"], 0);
  EXPECT_TRUE(line["rows"][0]["knobs"].is_object());
  EXPECT_EQ(line["rows"][0]["changes_bits"], false);
}

// As if tuning had found the first choice of every knob to be the best.
TEST_F(CliTest, OthersUseWhatTuningFound) {
  const std::string model = write("ffn.weft", kFfn);
  ASSERT_EQ(weft("run ffn.weft --random-inputs --dim B=64 --output-dir before").code, 0);
  ::setenv("WEFT_CACHE_DIR", path("cache").c_str(), 1);
  const Tuning tuning = Tuning::open(path("cache"), tuning_machine("native", 0).value()).value();
  const PlannedModule planned = plan_module(load_model(model).value(), {}).value();
  size_t tuned = 0;
  std::string shown;  // one of the knobs in a dump
  for (const tile::Program& program : planned.plan.programs) {
    TunedKernel found{program.name, {}, 2, 1, {{"B", 64}}};
    for (size_t knob : choosable_knobs(program)) {
      found.values.push_back(knob_choices(program, knob)[0]);
      shown = cat("free ", program.knobs[knob].name, " = ", found.values.back());
    }
    if (found.values != knob_values(program)) ++tuned;
    ASSERT_TRUE(tuning.keep(program, found).ok());
  }
  ASSERT_GT(tuned, 0U);
  nlohmann::json compiled = nlohmann::json::parse(weft("compile ffn.weft --json").out);
  EXPECT_EQ(compiled["tuned_kernels"], tuned);
  EXPECT_THAT(weft("compile ffn.weft").out, HasSubstr(cat(" ", tuned, " tuned)")));
  EXPECT_THAT(weft("dump ffn.weft --kernels").out, HasSubstr(shown));
  compiled = nlohmann::json::parse(weft("compile ffn.weft --threads 1000 --json").out);
  EXPECT_EQ(compiled["tuned_kernels"], 0) << "that was not measured";
  ASSERT_EQ(weft("run ffn.weft --random-inputs --dim B=64 --output-dir after").code, 0);
  EXPECT_EQ(slurp(path("after/y.npy")), slurp(path("before/y.npy")));
  for (const auto& item : std::filesystem::directory_iterator(path("cache/tuning"))) {
    std::ofstream(item.path()) << "damaged";
  }
  compiled = nlohmann::json::parse(weft("compile ffn.weft --json").out);
  EXPECT_EQ(compiled["tuned_kernels"], 0);
}
#endif

}  // namespace
}  // namespace weft
