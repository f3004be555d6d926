// weft train as people type it: runs, stops, wrong data.
// SPDX-License-Identifier: Apache-2.0
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <random>
#include <thread>

#include "test_paths.h"
#include "tests/support/suite.h"
#include "tests/tools/train_fixture.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class TrainCommand : public TrainTest {
 protected:
  // Starts the command, waits for a file if one is named, and sends a signal after so many
  // milliseconds; its exit code, or 128 and the signal that ended it.
  int interrupt(const std::string& arguments, int signal, int milliseconds,
                const std::string& awaited = "") const {
    const pid_t child = ::fork();
    EXPECT_GE(child, 0);
    if (child == 0) {
      const std::string command =
          "cd '" + folder_ + "' && exec '" WEFT_BINARY "' " + arguments + " >.out 2>.err";
      ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
      ::_exit(127);
    }
    constexpr int kMostTries = 6000;
    for (int i = 0; !awaited.empty() && !fs::exists(path(awaited)) && i < kMostTries; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    ::kill(child, signal);
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
};

TEST_F(TrainCommand, TrainsAndSaysWhatCameOfIt) {
  Outcome outcome = weft(start("run"));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("run: finished at step 40, best loss "));
  const std::vector<nlohmann::json> lines = metrics("run");
  EXPECT_EQ(lines.back()["step"], 40);
  EXPECT_LT(lines.back()["val_loss"].get<double>(), 3.5);
  EXPECT_TRUE(fs::exists(path("run/config.json")));
  Outcome again = weft("train --resume run");
  EXPECT_EQ(again.code, 0);
  EXPECT_THAT(again.out, HasSubstr("finished at step 40"));
  Outcome other = weft(start("run"));
  EXPECT_EQ(other.code, 1);
  EXPECT_THAT(other.err, HasSubstr("there is a run in this folder already"));
  Outcome changed = weft("train --resume run --lr 1");
  EXPECT_EQ(changed.code, 1);
  EXPECT_THAT(changed.err, HasSubstr("--lr cannot be given with --resume"));
}

TEST_F(TrainCommand, ARunMayGoOnForLonger) {
  ASSERT_EQ(weft(start("run")).code, 0);
  Outcome fewer = weft("train --resume run --steps 39");
  EXPECT_EQ(fewer.code, 1);
  EXPECT_THAT(fewer.err, HasSubstr("the run has 40 steps already"));
  Outcome longer = weft("train --resume run --steps 45");
  ASSERT_EQ(longer.code, 0) << longer.err;
  EXPECT_THAT(longer.out, HasSubstr("finished at step 45"));
  EXPECT_EQ(metrics("run").back()["step"], 45);
}

TEST_F(TrainCommand, WithJsonEveryLineIsOne) {
  Outcome outcome = weft(start("run", "--json --log-every 10"));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  std::istringstream text(outcome.out);
  size_t lines = 0;
  for (std::string line; std::getline(text, line); ++lines) {
    EXPECT_TRUE(nlohmann::json::accept(line)) << line;
  }
  EXPECT_EQ(lines, metrics("run").size() + 1);
}

TEST_F(TrainCommand, KilledAtAnyMomentItEndsWithTheSameBits) {
  Outcome whole = weft(start("whole"));
  ASSERT_EQ(whole.code, 0) << whole.err;
  Outcome warm = weft(start("warm"));  // with kernels from the cache
  const std::string expected = last_checkpoint("whole");
  const int kills = suite() == "slow" ? 20 : suite() == "quick" ? 1 : 5;
  std::mt19937 random(std::random_device{}());
  int killed = 0;
  for (int tries = 0; killed < kills && tries < 50 * kills; ++tries) {
    if (fs::exists(path("run/result.json"))) fs::remove_all(path("run"));
    const bool begun = fs::exists(path("run/config.json"));
    const int after =
        std::uniform_int_distribution<int>(1, static_cast<int>(1000 * warm.seconds))(random);
    const int code = interrupt(begun ? "train --resume run -q" : start("run"), SIGKILL, after);
    if (code == 128 + SIGKILL) {
      ++killed;
    } else {
      ASSERT_EQ(code, 0) << slurp(path(".err"));
    }
  }
  EXPECT_EQ(killed, kills);
  const bool begun = fs::exists(path("run/config.json"));
  Outcome rest = weft(begun ? "train --resume run --threads 1" : start("run"));
  ASSERT_EQ(rest.code, 0) << rest.err;
  EXPECT_TRUE(last_checkpoint("run") == expected);
  const std::vector<nlohmann::json> a = metrics("whole");
  const std::vector<nlohmann::json> b = metrics("run");
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_EQ(a[i]["loss"], b[i]["loss"]);
}

TEST_F(TrainCommand, CtrlCSavesAndLeavesWith130) {
  for (int signal : {SIGINT, SIGTERM}) {
    const std::string run = "run" + std::to_string(signal);
    const std::string command = std::string("train gpt-char --text text.txt --steps 100000000") +
                                kSmallModel + " --eval-every 100000000 --out " + run;
    EXPECT_EQ(interrupt(command, signal, 50, run + "/metrics.jsonl"), 130) << slurp(path(".err"));
    EXPECT_FALSE(last_checkpoint(run).empty());
    EXPECT_FALSE(fs::exists(path(run + "/result.json")));
  }
}

TEST_F(TrainCommand, DryRunTellsMemoryAndTimeAndLeavesNothing) {
  Outcome outcome = weft(std::string("train gpt-char --text text.txt --dry-run") + kSmallModel);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("memory: "));
  EXPECT_THAT(outcome.out, HasSubstr("time: about "));
  Outcome json = weft(std::string("train gpt-char --text text.txt --dry-run --json") + kSmallModel);
  auto parsed = nlohmann::json::parse(json.out);
  EXPECT_GT(parsed["memory_bytes"].get<int64_t>(), 10000);
  EXPECT_GT(parsed["seconds"].get<double>(), 0);
}

}  // namespace
}  // namespace weft
