// What tuning keeps: which knobs may be chosen, the search, and the files.
// SPDX-License-Identifier: Apache-2.0
#include "driver/tuning.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "driver/cache_folder.h"
#include "driver/knob_search.h"
#include "ir/support/file.h"
#include "ir/tile/text.h"
#include "tests/support/scratch.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A product with its sums down the columns counted by the plan (p), and one without.
std::string product(const std::string& symbol, const std::string& block, bool partials) {
  return "kernel @product {\n  in %x: f32[" + symbol +
         ", 40]\n  in %w: f32[40, 300]\n  out %y: f32[" + symbol + ", 300]\n" +
         (partials ? "  out %p: f32[(" + symbol + "+47)/48, 300]\n" : "") +
         "  free BM = 48\n  free BN = " + block + "\n  free BK = 16\n  axis m: " + symbol +
         " by BM\n  axis n: 300 by BN\n  axis k: 40 by BK\n  grid n, m\n"
         "  %acc = loop k carry %c = 0.0 : f32[m, n] {\n"
         "    yield dot[k](load %x[m, k], load %w[k, n], %c)\n  }\n  store %y[m, n], %acc\n" +
         (partials ? "  store %p[m.program, n], reduce.add[m](%acc)\n" : "") + "}\n";
}

tile::Program parsed(const std::string& text) {
  Result<tile::Program> program = tile::parse("test", text);
  EXPECT_TRUE(program.ok()) << (program.ok() ? "" : render(program.diagnostics()));
  return program.ok() ? *program : tile::Program();
}

tile::Program plain() { return parsed(product("M", "256", false)); }

TEST(Knobs, ThoseThatSizePartsOfSumsStay) {
  EXPECT_THAT(choosable_knobs(plain()), ElementsAre(0, 1));
  EXPECT_THAT(choosable_knobs(parsed(product("M", "256", true))), ElementsAre(1));
}

TEST(Knobs, ChoicesStayWithinTheirDim) {
  EXPECT_THAT(knob_choices(plain(), 0), ElementsAre(12, 24, 48, 96, 192));
  EXPECT_THAT(knob_choices(plain(), 1), ElementsAre(64, 128, 256, 300));
  tile::Program program = plain();
  program.knobs[0].value = 1;
  EXPECT_THAT(knob_choices(program, 0), ElementsAre(1, 2, 4, 8));
  program.knobs[0].value = 3;
  EXPECT_THAT(knob_choices(program, 0), ElementsAre(3, 6, 12));
  program.knobs[0].choices = {1, 3, 5};
  EXPECT_THAT(knob_choices(program, 0), ElementsAre(3, 5));
}

TEST(Knobs, OnlyChoicesAreTaken) {
  tile::Program program = plain();
  for (const KnobValues& wrong : {KnobValues{24}, {24, 128, 16}, {25, 128}, {24, 1}, {-24, 128}}) {
    EXPECT_FALSE(set_knobs(program, wrong));
    EXPECT_EQ(knob_values(program), (KnobValues{48, 256}));
  }
  EXPECT_TRUE(set_knobs(program, {24, 300}));
  EXPECT_EQ(knob_values(program), (KnobValues{24, 300}));
  EXPECT_EQ(program.knobs[2].value, 16);
}

TEST(KnobSearch, WalksToTheBestAndStops) {
  KnobSearch search(plain());
  int measured = 0;
  while (std::optional<KnobValues> values = search.next()) {
    ++measured;
    const double rows = std::abs(static_cast<double>((*values)[0]) - 12) / 36;
    const double columns = std::abs(static_cast<double>((*values)[1]) - 128) / 128;
    search.record(*values, (1 + rows + columns) / 3);
  }
  EXPECT_TRUE(search.improved());
  EXPECT_EQ(search.best(), (KnobValues{12, 128}));
  EXPECT_LT(measured, 12);
}

TEST(KnobSearch, NoiseIsNoReasonToMove) {
  KnobSearch search(plain());
  while (std::optional<KnobValues> values = search.next()) search.record(*values, 0.99);
  EXPECT_FALSE(search.improved());
}

class TuningTest : public testing::Test {
 protected:
  TuningTest() : folder_(scratch("tuning_" + std::to_string(::getpid()))) {}
  ~TuningTest() override { std::filesystem::remove_all(folder_); }

  Tuning open(TuningMachine machine = {"a cpu", "native", 2}) const {
    return Tuning::open(folder_, std::move(machine)).value();
  }
  std::vector<std::string> files() const {
    std::vector<std::string> found;
    for (const auto& item : std::filesystem::directory_iterator(tuning_folder(folder_))) {
      found.push_back(item.path().string());
    }
    return found;
  }
  static void overwrite(const std::string& path, const std::string& bytes) {
    std::filesystem::remove(path);  // some file systems sync a file that is overwritten
    std::ofstream(path, std::ios::binary) << bytes;
  }

  std::string folder_;
  const TunedKernel found_{"product", {24, 128}, 10.5, 8.25, {{"M", 640}}};
};

TEST_F(TuningTest, ReadsWhatItWrote) {
  EXPECT_FALSE(open().find(plain()));
  ASSERT_TRUE(open().keep(plain(), found_).ok());
  const std::optional<TunedKernel> found = open().find(plain());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->values, found_.values);
  EXPECT_EQ(found->default_us, 10.5);
  EXPECT_EQ(found->best_us, 8.25);
  EXPECT_EQ(found->dims, found_.dims);
  const std::string text = read_file(files().at(0), 1 << 16).value();
  EXPECT_THAT(text, HasSubstr("\"BM\": 24,\n    \"BN\": 128\n"));
  EXPECT_THAT(text, HasSubstr("\"cpu\": \"a cpu\""));
}

TEST_F(TuningTest, NamesAndGivenValuesDoNotCount) {
  ASSERT_TRUE(open().keep(plain(), found_).ok());
  EXPECT_TRUE(open().find(parsed(product("Batch", "128", false))));
  EXPECT_FALSE(open().find(parsed(product("M", "256", true))));
  tile::Program other = plain();
  other.knobs[2].value = 8;  // of the sum's parts
  EXPECT_FALSE(open().find(other));
}

TEST_F(TuningTest, AnotherMachineHasItsOwn) {
  ASSERT_TRUE(open().keep(plain(), found_).ok());
  EXPECT_FALSE(open({"another cpu", "native", 2}).find(plain()));
  EXPECT_FALSE(open({"a cpu", "avx2", 2}).find(plain()));
  EXPECT_FALSE(open({"a cpu", "native", 4}).find(plain()));
  ASSERT_TRUE(open({"a cpu", "native", 4}).keep(plain(), {"product", {96, 256}, 4, 3, {}}).ok());
  EXPECT_EQ(open().find(plain())->values, found_.values);
  // Nor does it help to call a file as another is called.
  const std::vector<std::string> both = files();
  ASSERT_EQ(both.size(), 2U);
  const std::string bytes = read_file(both[0], 1 << 16).value();
  overwrite(both[1], bytes);
  const bool first = open().find(plain()).has_value();
  EXPECT_NE(first, open({"a cpu", "native", 4}).find(plain()).has_value());
}

TEST_F(TuningTest, ADamagedEntryIsNotThereAndIsWrittenAnew) {
  ASSERT_TRUE(open().keep(plain(), found_).ok());
  const std::string path = files().at(0);
  const std::string bytes = read_file(path, 1 << 16).value();
  for (size_t size = 0; size + 2 < bytes.size(); size += 5) {
    overwrite(path, bytes.substr(0, size));
    ASSERT_FALSE(open().find(plain())) << size << " bytes";
  }
  for (const char* text : {"null", "[]", "{\"knobs\": {\"BM\": 24}}", "\xff\xfe"}) {
    overwrite(path, text);
    EXPECT_FALSE(open().find(plain())) << text;
  }
  std::string wild = bytes;
  wild.replace(wild.find("128"), 3, "999999999999999");
  overwrite(path, wild);
  tile::Program program = plain();
  EXPECT_FALSE(set_knobs(program, open().find(program)->values));
  wild.replace(wild.find("999999999999999"), 15, "\"128\"");
  overwrite(path, wild);
  EXPECT_FALSE(open().find(plain()));
  ASSERT_TRUE(open().keep(plain(), found_).ok());
  EXPECT_EQ(open().find(plain())->values, found_.values);
}

TEST_F(TuningTest, ProcessesFillOneFolder) {
  constexpr int kProcesses = 4;
  auto machine = [](int i) { return TuningMachine{"a cpu", "native", i + 1}; };
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      bool good = true;
      for (int n = 0; n < 20; ++n) {
        good = good && open(machine(i)).keep(plain(), found_).ok();
        good = good && open(machine(0)).keep(plain(), found_).ok();
        good = good && open(machine(0)).find(plain()).has_value();
      }
      ::_exit(good ? 0 : 1);
    }
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  for (int i = 0; i < kProcesses; ++i) EXPECT_TRUE(open(machine(i)).find(plain()));
  EXPECT_EQ(files().size(), size_t{kProcesses}) << "something was left aside";
}

TEST_F(TuningTest, IsUsedWhereItHolds) {
  EXPECT_FALSE(tuned_knobs("", "native", 2));
  EXPECT_FALSE(tuned_knobs(folder_, "native", 2)) << "nothing was tuned";
  EXPECT_FALSE(std::filesystem::exists(folder_)) << "looking makes no folder";
  const Tuning tuning = open(tuning_machine("native", 2).value());
  ASSERT_TRUE(tuning.keep(plain(), found_).ok());
  std::vector<tile::Program> programs = {plain(), parsed(product("M", "256", true))};
  EXPECT_EQ(choose_knobs(programs, tuned_knobs(folder_, "native", 1)), 0U);
  EXPECT_EQ(choose_knobs(programs, tuned_knobs(folder_, "native", 2)), 1U);
  EXPECT_EQ(knob_values(programs[0]), found_.values);
  EXPECT_EQ(knob_values(programs[1]), (KnobValues{256}));
  // An entry without values says that the defaults are best.
  ASSERT_TRUE(tuning.keep(plain(), {"product", {}, 10, 10, {}}).ok());
  programs = {plain()};
  EXPECT_EQ(choose_knobs(programs, tuned_knobs(folder_, "native", 2)), 0U);
}

}  // namespace
}  // namespace weft
