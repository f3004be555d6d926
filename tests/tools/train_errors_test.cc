// weft train on wrong data, full disks and too little memory: one error, and no run is damaged.
// SPDX-License-Identifier: Apache-2.0
#include <sys/mount.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>

#include "tests/support/suite.h"
#include "tests/tools/train_fixture.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class TrainErrors : public TrainTest {
 protected:
  // Every file of a run by its name.
  std::map<std::string, std::string> files_of(const std::string& run) const {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(path(run))) {
      if (entry.is_regular_file()) files[entry.path().string()] = slurp(entry.path().string());
    }
    return files;
  }
};

TEST_F(TrainErrors, WrongDataIsOneErrorAndNoFolder) {
  write("empty.txt", "");
  write("binary.txt", std::string("\x7f"
                                  "ELF\0\1\2\3\xff\xfe",
                                  10));
  write("latin.txt", "caf\xe9 cr\xe8me\n");
  write("two.txt", "one\ntwo\n");
  write("three.txt", "one\ntwo\nthree\n");
  const std::pair<const char*, const char*> wrong[] = {
      {"train gpt-char --text none.txt", "none.txt"},
      {"train gpt-char --text empty.txt", "empty.txt"},
      {"train gpt-char --text binary.txt", "binary.txt"},
      {"train gpt-char --text latin.txt", "latin.txt"},
      {"train transformer-tiny --src two.txt --tgt three.txt", "three.txt"},
      {"train transformer-tiny --src text.txt --tgt text.txt --vocab-size 90000", "90000"},
      {"train transformer-tiny --src text.txt --tgt text.txt --vocab-size 6", "--vocab-size"},
      {"train transformer-tiny --src text.txt --tgt latin.txt", "latin.txt:1"},
      {"train transformer-tiny --src binary.txt --tgt text.txt", "binary.txt"},
      {"train sentiment --csv empty.txt --label-column a --text-column b", "empty.txt"},
      {"train sentiment --csv latin.txt --label-column a --text-column b", "latin.txt"},
      {"train gpt-char", "--text"},
      {"train transformer-tiny --text text.txt", "--src"},
      {"train bert-base --text text.txt", "bert-base"},
      {"train gpt-chat --text text.txt", "gpt-char"},
      {"train gpt-char --text text.txt --heads 3", "heads"},
      {"train gpt-char --text text.txt --lr=-1", "--lr"},
      {"train gpt-char --text text.txt --schedule linear --lr 0", "linear"},
      {"train gpt-char --text text.txt --average 5 --keep-last 2", "--keep-last"},
      {"train vit --csv text.txt --label-column a --image 8x9 --patch 2", "8x9"},
      {"train vit --csv text.txt --label-column a --image big", "--image"},
      {"train vit --csv text.txt --label-column a --image 8x8 --augment turn=1", "'turn'"},
      {"train gpt-char --text text.txt --augment shift=1", "--augment is for images"},
      {"train gpt-char --text text.txt --word-dropout 0.1", "--word-dropout"},
      {"train gpt-char --text text.txt --batch 65536 --context 512", "--batch"},
  };
  size_t turn = 0;
  for (auto [arguments, expected] : wrong) {
    if (left_out(turn++, 4)) continue;
    Outcome outcome = weft(std::string(arguments) + " --out run");
    EXPECT_EQ(outcome.code, 1) << arguments << "\n" << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("error:")) << arguments;
    EXPECT_THAT(outcome.err, HasSubstr(expected)) << arguments;
    EXPECT_FALSE(fs::exists(path("run"))) << arguments;
  }
  EXPECT_EQ(weft("train gpt-char --text text.txt").code, 1);
  EXPECT_EQ(weft("train --resume none").code, 1);
  EXPECT_EQ(weft("train gpt-char --text text.txt --out run --loss l3").code, 2);
}

TEST_F(TrainErrors, AnUnreadableCheckpointIsNamedAndNothingIsChanged) {
  ASSERT_EQ(weft(start("run", "--keep-last 1")).code, 0);
  fs::remove(path("run/result.json"));
  const std::string last = path("run/checkpoints/step-00000040.safetensors");
  const std::string good = slurp(last);
  const std::string wrong[] = {"", "a letter", good.substr(0, good.size() / 2)};
  for (const std::string& bytes : wrong) {
    std::ofstream(last, std::ios::binary) << bytes;
    const auto before = files_of("run");
    Outcome outcome = weft("train --resume run");
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(outcome.err, HasSubstr("step-00000040.safetensors: error:"));
    EXPECT_TRUE(files_of("run") == before);
  }
  std::ofstream(last, std::ios::binary) << good;
  EXPECT_EQ(weft("train --resume run").code, 0);
}

TEST_F(TrainErrors, AFullDiskKeepsTheLastGoodCheckpoint) {
  fs::create_directory(path("disk"));
  if (::mount("tmpfs", path("disk").c_str(), "tmpfs", 0, "size=256k") != 0) {
    GTEST_SKIP() << "a small disk cannot be mounted here: " << std::strerror(errno);
  }
  struct Unmount {
    std::string where;
    ~Unmount() { ::umount2(where.c_str(), MNT_DETACH); }
  } unmount{path("disk")};
  // It has room for some of ten checkpoints.
  Outcome outcome = weft(start("disk/run", "--keep-last 100"));
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("No space left on device"));
  EXPECT_THAT(outcome.err, HasSubstr("disk/run/"));
  std::vector<std::string> left;
  for (const auto& entry : fs::directory_iterator(path("disk/run/checkpoints"))) {
    left.push_back(entry.path().string());
  }
  ASSERT_GE(left.size(), 1u);
  std::ranges::sort(left);
  for (const std::string& name : left) EXPECT_TRUE(name.ends_with(".safetensors")) << name;
  Outcome again = weft("train --resume disk/run -q");
  EXPECT_EQ(again.code, 1);
  EXPECT_THAT(again.err, HasSubstr("No space left on device"));
  // With room, it goes on from there.
  for (size_t i = 0; i + 1 < left.size(); ++i) fs::remove(left[i]);
  ASSERT_EQ(::mount("tmpfs", path("disk").c_str(), "tmpfs", MS_REMOUNT, "size=64m"), 0);
  Outcome rest = weft("train --resume disk/run");
  EXPECT_EQ(rest.code, 0) << rest.err;
  EXPECT_THAT(rest.err, HasSubstr("going on after step"));
  EXPECT_EQ(metrics("disk/run").back()["step"], 40);
}

}  // namespace
}  // namespace weft
