// weft train on a Vulkan device beside the CPU: the same losses, and runs that change devices.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <filesystem>
#include <map>

#include "test_paths.h"
#include "tests/support/suite.h"
#include "tests/tools/train_fixture.h"

namespace weft {
namespace {

class VulkanTrainTest : public TrainTest {
 protected:
  void SetUp() override {
    TrainTest::SetUp();
    if (suite() == "quick") GTEST_SKIP() << "not in the quick suite";
    if (weft("devices").out.find("vulkan:0") == std::string::npos) GTEST_SKIP() << "no Vulkan";
    ::setenv("WEFT_VULKAN_VALIDATION", "1", 1);
  }
  void TearDown() override {
    ::unsetenv("WEFT_VULKAN_VALIDATION");
    TrainTest::TearDown();
  }

  // What validation layers say as a device is closed does not change the exit code.
  Outcome weft(const std::string& arguments, const std::string& input = "/dev/null") const {
    Outcome outcome = TrainTest::weft(arguments, input);
    EXPECT_EQ(outcome.err.find("vulkan validation"), std::string::npos) << outcome.err;
    return outcome;
  }

  void run(const std::string& command) const {
    const Outcome outcome = weft(command);
    ASSERT_EQ(outcome.code, 0) << command << "\n" << outcome.err;
  }

  // By step, in training and at evaluations.
  using Losses = std::map<std::pair<int64_t, std::string>, double>;
  Losses losses(const std::string& run) const {
    Losses found;
    for (const nlohmann::json& line : metrics(run)) {
      for (const char* name : {"loss", "val_loss"}) {
        if (line.contains(name)) found[{line["step"], name}] = line[name];
      }
    }
    return found;
  }

  // Adam divides small gradients by their own size, so that a difference in rounding grows with
  // every step: in few steps a loss may be off by 1e-5 of itself for each of them.
  void expect_same_losses(const std::string& one, const std::string& other, size_t count) const {
    const Losses a = losses(one);
    const Losses b = losses(other);
    EXPECT_GE(a.size(), count);
    ASSERT_EQ(a.size(), b.size());
    for (const auto& [place, loss] : a) {
      ASSERT_TRUE(b.contains(place)) << place.second << " of step " << place.first;
      EXPECT_NEAR(b.at(place), loss, 1e-5 * static_cast<double>(place.first) * loss)
          << place.second << " of step " << place.first;
    }
  }

  // The root of the mean square of how far losses are apart, in parts of themselves.
  double distance(const std::string& one, const std::string& other) const {
    const Losses a = losses(one);
    const Losses b = losses(other);
    EXPECT_EQ(a.size(), b.size());
    double sum = 0;
    for (const auto& [place, loss] : a) sum += std::pow(b.at(place) / loss - 1, 2);
    return std::sqrt(sum / static_cast<double>(a.size()));
  }
};

TEST_F(VulkanTrainTest, ARunChangesDevicesAndComesBack) {
  const int part = suite() == "slow" ? 40 : 6;  // steps on a device
  const std::string model =
      "train gpt-char --text text.txt --schedule constant --log-every 1 --eval-every " +
      std::to_string(part) + kSmallModel;
  auto until = [&](int parts) { return " --steps " + std::to_string(parts * part); };
  run(model + until(1) + " --out run");
  run("train --resume run -q --device vulkan" + until(2));
  run(model + until(2) + " --out whole");
  // It was not the CPU again.
  EXPECT_TRUE(last_checkpoint("run") != last_checkpoint("whole"));
  run("train --resume run -q" + until(3));
  run("train --resume whole -q" + until(3));
  expect_same_losses("whole", "run", static_cast<size_t>(3 * part + 3));
  const std::string text = "generate run --prompt 'the cat' --temperature 0 --max-tokens 12";
  const Outcome there = weft(text + " --device vulkan");
  ASSERT_EQ(there.code, 0) << there.err;
  EXPECT_EQ(there.out, weft(text).out);
}

TEST_F(VulkanTrainTest, ALostDeviceSaysHowToGoOn) {
  const std::string model =
      std::string("train gpt-char --text text.txt --device vulkan --steps 8 ") +
      "--save-every 2 --eval-every 100 --out run" + kSmallModel;
  ::setenv("WEFT_VULKAN_LOSE", "7", 1);
  const Outcome lost = weft(model);
  ::unsetenv("WEFT_VULKAN_LOSE");
  EXPECT_EQ(lost.code, 1);
  EXPECT_THAT(lost.err, ::testing::HasSubstr("the device was lost\n"));
  EXPECT_THAT(lost.err,
              ::testing::ContainsRegex("hint: weft train --resume .*run goes on after step [1-9]"));
  run("train --resume run -q --device vulkan");
}

// Activations of 128 KiB on a device that shows 64 at once.
TEST_F(VulkanTrainTest, TensorsBeyondWhatADeviceShowsGoInParts) {
  const std::string model =
      "train gpt-char --text text.txt --steps 2 --eval-every 2 --log-every 1 --layers 1 --heads 2 "
      "--d-model 64 --d-ff 256 --context 32 --batch 16 -q --out ";
  run(model + "cpu");
  ::setenv("WEFT_VULKAN_LIMITS", "storage_range=65536", 1);
  const Outcome parts = weft(model + "gpu --device vulkan");
  ::unsetenv("WEFT_VULKAN_LIMITS");
  ASSERT_EQ(parts.code, 0) << parts.err;
  EXPECT_TRUE(last_checkpoint("cpu") != last_checkpoint("gpu"));  // it was not the CPU again
  expect_same_losses("cpu", "gpu", 3);
}

// What `./dev quickstart` trains.
class QuickstartOnVulkan : public VulkanTrainTest {
 protected:
  void SetUp() override {
    VulkanTrainTest::SetUp();
    if (IsSkipped()) return;
    const std::string script = "python3 " WEFT_SOURCE_DIR "/examples/make_phrases.py '";
    ASSERT_EQ(std::system((script + folder_ + "' > /dev/null").c_str()), 0);
  }
  static std::string command(const std::string& more) {
    return "train transformer-tiny --src train.en --tgt train.ko --valid-src valid.en --valid-tgt "
           "valid.ko --d-model 128 --layers 2 --heads 4 --d-ff 256 --vocab-size 400 --schedule "
           "cosine --lr 2e-3 --warmup 100 --max-tokens 2048 -q " +
           more;
  }
};

TEST_F(QuickstartOnVulkan, FirstStepsHaveTheLossesOfTheCpu) {
  if (suite() != "slow") GTEST_SKIP() << "drivers on a CPU compile its kernels for minutes";
  const std::string steps = "--steps 5 --eval-every 5 --log-every 1 ";
  run(command(steps + "--out cpu"));
  run(command(steps + "--out gpu --device vulkan"));
  EXPECT_TRUE(last_checkpoint("cpu") != last_checkpoint("gpu"));  // it was not the CPU again
  expect_same_losses("cpu", "gpu", 6);
}

// Over many steps rounding moves single losses of two CPUs by 1%: a Vulkan device is to be no
// further from the CPU than twice what the CPU's own code is with vectors of another width.
TEST_F(QuickstartOnVulkan, TrainsAsOnTheCpuAndTranslates) {
  if (suite() != "slow") GTEST_SKIP() << "in the slow suite";
  const std::string steps = "--steps 400 --eval-every 100 --log-every 10 ";
  run(command(steps + "--out cpu"));
  run(command(steps + "--out narrow --target-cpu generic"));
  run(command(steps + "--out gpu --device vulkan"));
  EXPECT_LE(distance("cpu", "gpu"), 2 * distance("cpu", "narrow"));
  write("some.txt", "I love you\nthe teacher reads a book\n");
  const Outcome there = weft("translate gpu --device vulkan", path("some.txt"));
  ASSERT_EQ(there.code, 0) << there.err;
  EXPECT_EQ(there.out, weft("translate gpu", path("some.txt")).out);
}

// Real sentences, with the preset's dropout.
TEST_F(VulkanTrainTest, Multi30kHasTheLossesOfTheCpu) {
  if (suite() != "slow") GTEST_SKIP() << "in the slow suite";
  const std::string data = WEFT_SOURCE_DIR "/../shared/data/multi30k/tok/";
  if (!std::filesystem::exists(data)) GTEST_SKIP() << "no ../shared/data/multi30k";
  auto files = [&](const std::string& option, const std::string& name) {
    return " --" + option + "src " + data + name + ".lc.norm.tok.en.gz --" + option + "tgt " +
           data + name + ".lc.norm.tok.de.gz";
  };
  const std::string model = "train transformer-tiny" + files("", "train") + files("valid-", "val") +
                            " --max-tokens 512 --steps 300 --eval-every 100 --log-every 10 -q";
  run(model + " --out cpu");
  run(model + " --out gpu --device vulkan");
  EXPECT_TRUE(last_checkpoint("cpu") != last_checkpoint("gpu"));  // it was not the CPU again
  expect_same_losses("cpu", "gpu", 34);
}

}  // namespace
}  // namespace weft
