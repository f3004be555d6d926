// Damaged and hostile files on the command line.
// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <map>
#include <random>

#include "tests/tools/cli_fixture.h"

namespace weft {
namespace {

using ::testing::HasSubstr;

// One clear error, exit code 1, within a second and within 100 MB more than the file.
TEST_F(CliTest, BadFilesAreRefused) {
  std::mt19937 random(11);
  std::string noise(200000, '\0');
  for (char& c : noise) c = static_cast<char>(random());
  std::string deep = "graph @g(%x: f32[" + std::string(100000, '(') + "B";
  std::string nested = "graph @g() -> (y) {\n  %y = constant {value = " + std::string(50000, '[');
  std::string many = "graph @g(%x: f32[2]) -> (y) {\n";
  for (int i = 0; i < 100000; ++i) many += "  %a" + std::to_string(i) + " = exp %b\n";
  std::map<std::string, std::string> files = {
      {"empty", ""},
      {"noise", noise},
      {"deep", deep},
      {"nested", nested},
      {"many errors", many},
      {"truncated", std::string(kFfn).substr(0, 150)},
      {"cyclic", "graph @g(%x: f32[2]) -> (y) {\n  %a = exp %b\n  %b = exp %a\n  return %b\n}\n"},
      {"duplicate",
       "graph @g(%x: f32[2]) -> (y) {\n  %a = exp %x\n  %a = log %x\n  return %a\n}\n"},
      {"ill-typed", "graph @g(%x: f32[2]) -> (y) {\n  %a = logical_not %x\n  return %a\n}\n"},
      {"unknown op", "graph @g(%x: f32[2]) -> (y) {\n  %a = matmull %x, %x\n  return %a\n}\n"},
      {"not utf-8", "graph @g(%x: f32[2]) -> (\xff\xfe) {\n}\n"},
      {"huge number", "graph @g(%x: f32[99999999999999999999]) -> (y) {\n  return %x\n}\n"},
      {"huge shape",
       "graph @g(%x: f32[9223372036854775807, 9223372036854775807]) -> (y) {\n  return %x\n}\n"},
      {"binary head", std::string("\x10\0\0\0WFTB", 8) + noise.substr(0, 1000)},
  };
  for (const auto& [name, bytes] : files) {
    for (const char* ending : {".weft", ".weftb"}) {
      std::string file = write("bad" + std::string(ending), bytes);
      Outcome outcome = weft("dump " + file);
      EXPECT_EQ(outcome.code, 1) << name << outcome.err.substr(0, 500);
      EXPECT_THAT(outcome.err, HasSubstr("error:")) << name;
      EXPECT_LT(outcome.peak_kb, 100 * 1024 + static_cast<long>(bytes.size() / 1024)) << name;
      EXPECT_LT(outcome.err.size(), 20000U) << name;
    }
  }
}

TEST_F(CliTest, AnOversizedFileIsRefusedUnread) {
  std::string file = write("large.weft", "");
  std::filesystem::resize_file(file, uint64_t{1} << 40);  // sparse
  Outcome outcome = weft("dump " + file);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("larger than the limit"));
}

TEST_F(CliTest, ABadTensorFileIsRefused) {
  write("ffn.weft", kFfn);
  write("x.npy", "\x93NUMPY\x01");
  Outcome outcome = weft("run ffn.weft --input x=x.npy");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("x.npy"));
  write("w.safetensors", std::string(8, '\xff'));
  outcome = weft("run ffn.weft --random-inputs --weights w.safetensors");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("w.safetensors"));
}

}  // namespace
}  // namespace weft
