// What runs graphs: run, verify, bench, devices.
// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/suite.h"
#include "tests/tools/cli_fixture.h"

namespace weft {
namespace {

using ::testing::HasSubstr;

TEST_F(CliTest, RunsATrainingStepOnTheOracle) {
  write("ffn.weft", kFfn);
  ASSERT_EQ(weft("grad ffn.weft --loss loss --optimizer sgd -o train.weft").code, 0);
  Outcome outcome = weft(
      "run train.weft --graph @backward --device oracle --random-inputs --dim B=3 --output-dir out "
      "--json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  nlohmann::json result = nlohmann::json::parse(outcome.out);
  EXPECT_GT(result["outputs"]["loss"]["value"], 0.0);
  EXPECT_EQ(result["outputs"]["grad.w"]["shape"], (std::vector<int64_t>{4, 8}));
  EXPECT_TRUE(std::filesystem::exists(path("out/grad.w.npy")));
  Outcome twice =
      weft("run train.weft --graph @backward --device oracle --random-inputs --dim B=3 --json");
  EXPECT_EQ(nlohmann::json::parse(twice.out)["outputs"], result["outputs"]);
}

TEST_F(CliTest, StateIsCarriedAndSaved) {
  write("count.weft",
        "state @n: i32[] = zeros\ngraph @step() -> (n) {\n  %m = add @n, 1\n  update @n = %m\n  "
        "return %m\n}\n");
  Outcome outcome = weft("run count.weft --repeat 3 --json --save-weights w.safetensors");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(nlohmann::json::parse(outcome.out)["outputs"]["n"]["value"], 3);
  outcome = weft("run count.weft --weights w.safetensors --json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(nlohmann::json::parse(outcome.out)["outputs"]["n"]["value"], 4);
}

TEST_F(CliTest, SavesTheWholeModelWhicheverGraphRan) {
  write("two.weft",
        "param @a: f32[2] = normal(1.0)\nparam @b: f32[2] = normal(1.0)\n"
        "graph @f() -> (y) {\n  %y = exp @a\n  return %y\n}\n"
        "graph @g() -> (y) {\n  %y = exp @b\n  return %y\n}\n");
  ASSERT_EQ(weft("run two.weft --graph @f --save-weights w.safetensors").code, 0);
  Outcome outcome = weft("run two.weft --graph @g --weights w.safetensors");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
}

TEST_F(CliTest, OutOfMemorySaysHowMuch) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "its shadow alone is more than the limit";
#endif
  write("ffn.weft", kFfn);
  const std::string command = "run ffn.weft --device oracle --random-inputs --dim B=";
  rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_AS, &before), 0);
  const rlimit low = {rlim_t{1} << 30, before.rlim_max};  // commands inherit it
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &low), 0);
  const Outcome small = weft(command + "3");
  const Outcome large = weft(command + "50000000");
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &before), 0);
  ASSERT_EQ(small.code, 0) << small.err;  // it is the size that does not fit
  EXPECT_EQ(large.code, 1);
  EXPECT_THAT(large.err, ::testing::ContainsRegex("error: the host is out of memory: [0-9]+ bytes "
                                                  "were asked for in one piece\nhint: "));
}

TEST_F(CliTest, IntegersAndNansAreShownAsTheyAre) {
  write("i.weft",
        "graph @g() -> (n, bad) {\n  %n = constant {value = 1234567890123456789, dtype = i64}\n"
        "  %bad = constant {value = [1.0, nan], dtype = f32, shape = [2]}\n  return %n, %bad\n}\n");
  Outcome outcome = weft("run i.weft");
  EXPECT_THAT(outcome.out, HasSubstr("n: i64[] 1234567890123456789"));
  EXPECT_THAT(outcome.out, HasSubstr("1 of 2 elements are NaN"));
}

TEST_F(CliTest, OutputNamesStayInTheirFolder) {
  write("up.weft", "graph @g(%x: f32[2]) -> (\"../escaped\") {\n  %y = exp %x\n  return %y\n}\n");
  Outcome outcome = weft("run up.weft --random-inputs --output-dir out");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("is a path"));
  EXPECT_FALSE(std::filesystem::exists(path("escaped.npy")));
}

TEST_F(CliTest, VerifyPrintsTheSizesItUsed) {
  write("ffn.weft", kFfn);
  Outcome outcome = weft("verify ffn.weft");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("@forward at B="));
  EXPECT_THAT(outcome.out, HasSubstr("ok:"));
}

TEST_F(CliTest, ComparesShapesBeforeItReads) {
  write("ffn.weft", kFfn);
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (3000000000, 5), }\n";
  std::string file = write("x.npy", std::string("\x93NUMPY\x01\0", 8) +
                                        static_cast<char>(header.size()) + '\0' + header);
  std::filesystem::resize_file(file, 10 + header.size() + 60000000000);  // sparse
  Outcome outcome = weft("run ffn.weft --input x=x.npy");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("input x: expected f32[B, 4], got f32[3000000000, 5]"));
  EXPECT_LT(outcome.peak_kb, 100 * 1024);
}

// On a terminal, after two seconds, so that nobody thinks it hangs.
TEST_F(CliTest, LongRunsShowProgressOnATerminal) {
  if (suite() == "quick") GTEST_SKIP() << "takes seconds";
  write("ffn.weft", kFfn);
  std::optional<std::string> told =
      on_terminal("run ffn.weft --device oracle --random-inputs --repeat 1000000", "node ", 20);
  if (!told) GTEST_SKIP() << "no pseudo-terminal here: /dev/pts is not mounted";
  EXPECT_THAT(*told, HasSubstr("node "));
  EXPECT_THAT(*told, HasSubstr(" of 7: "));
}

TEST_F(CliTest, TheRooflineHasTheFieldsOfABenchmark) {
  if (suite() == "quick") GTEST_SKIP() << "takes seconds";
  Outcome outcome = weft("bench roofline --threads 1 --repeat 1 --json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  std::istringstream lines(outcome.out);
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    nlohmann::json result = nlohmann::json::parse(line);
    for (const char* field :
         {"case", "device", "threads", "median_ms", "min_ms", "gflops", "extra_mb", "compile_ms"}) {
      EXPECT_TRUE(result.contains(field)) << field;
    }
  }
  EXPECT_EQ(count, 3);
}

TEST_F(CliTest, StartUpIsMeasuredWithItsParts) {
  if (suite() != "slow") GTEST_SKIP() << "takes half a minute: slow suite only";
  Outcome outcome = weft("bench startup --repeat 1 --json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  std::istringstream lines(outcome.out);
  nlohmann::json last;
  for (std::string line; std::getline(lines, line);) last = nlohmann::json::parse(line);
  EXPECT_EQ(last["case"], "startup_train_tiny");
  for (const char* field : {"cold_compile_ms", "warm_start_ms", "bind_known_us", "bind_new_us"}) {
    ASSERT_TRUE(last.contains(field)) << field;
    EXPECT_GT(last[field], 0) << field;
  }
}

TEST_F(CliTest, DevicesSayWhatTheyAre) {
  Outcome outcome = weft("devices --json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  std::istringstream lines(outcome.out);
  for (const char* name : {"cpu", "oracle"}) {
    std::string line;
    ASSERT_TRUE(std::getline(lines, line));
    nlohmann::json device = nlohmann::json::parse(line);
    EXPECT_EQ(device["name"], name);
#ifdef WEFT_HAS_LLVM
    EXPECT_EQ(device["usable"], true) << line;
#endif
  }
}

}  // namespace
}  // namespace weft
