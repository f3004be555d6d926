// Diagnostics and files.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "ir/support/file.h"
#include "ir/support/result.h"

namespace weft {
namespace {

using ::testing::HasSubstr;

TEST(Diagnostic, ShowsPlaceLineAndHint) {
  auto source =
      std::make_shared<const SourceText>(SourceText{"head.weft", "graph\n  %mm = matmul %x, %w\n"});
  Error e = error(Loc{source, 2, 9, 6}, "matmul: inner dimensions differ (", 64, " and ", 512, ")")
                .hint("transpose the right operand");
  EXPECT_EQ(render(e.diagnostics()),
            "head.weft:2:9: error: matmul: inner dimensions differ (64 and 512)\n"
            "  %mm = matmul %x, %w\n"
            "        ^~~~~~\n"
            "hint: transpose the right operand\n");
}

TEST(Diagnostic, CutsLongLinesAndControlBytes) {
  std::string line(100000, 'x');
  line[50000] = '\x1b';
  auto source = std::make_shared<const SourceText>(SourceText{"f", line});
  std::string text = render(error(Loc{source, 1, 50001, 1}, "bad").diagnostics());
  EXPECT_LT(text.size(), 600U);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

TEST(Diagnostic, DrivesNoTerminal) {
  // An escape, a bell, DEL, and CSI as U+009B; an accented letter shares its first byte.
  std::string hostile =
      "a\x1b[2J\a\x7f\r\n\xc2\x9b"
      "b\xc2\xb5";
  auto source = std::make_shared<const SourceText>(SourceText{hostile, hostile});
  std::string text = render(error(Loc{source, 1, 1, 1}, hostile)
                                .note(Loc{source, 0, 0, 0}, hostile)
                                .hint(hostile)
                                .diagnostics());
  for (const char* control : {"\x1b", "\a", "\x7f", "\r", "\xc2\x9b"}) {
    EXPECT_EQ(text.find(control), std::string::npos);
  }
  EXPECT_THAT(text, HasSubstr("hint: a [2J      b\xc2\xb5\n"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 5);
}

TEST(Diagnostic, SuggestsOnlyNearNames) {
  std::vector<std::string> names = {"matmul", "softmax", "layer_norm"};
  EXPECT_EQ(nearest_name("matmull", names), "matmul");
  EXPECT_EQ(nearest_name("sofmax", names), "softmax");
  EXPECT_EQ(nearest_name("q", names), "");
  EXPECT_EQ(did_you_mean("layernorm", names), "did you mean 'layer_norm'?");
}

class FileTest : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string folder_ = ::testing::TempDir() + "weft_file_test";
};

TEST_F(FileTest, WritesWholeFilesAndLeavesNothingAside) {
  std::string path = folder_ + "/a.txt";
  ASSERT_TRUE(write_file(path, "one").ok());
  ASSERT_TRUE(write_file(path, "two").ok());
  EXPECT_EQ(read_file(path, 100).value(), "two");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_F(FileTest, KeepsPermissionsAndLinks) {
  std::string path = folder_ + "/a.txt";
  ASSERT_TRUE(write_file(path, "one").ok());
  ASSERT_EQ(::chmod(path.c_str(), 0640), 0);
  std::filesystem::create_symlink("a.txt", folder_ + "/link");
  std::filesystem::create_symlink(folder_ + "/link", folder_ + "/link to link");
  ASSERT_TRUE(write_file(folder_ + "/link to link", "two").ok());
  EXPECT_EQ(read_file(path, 100).value(), "two");
  EXPECT_TRUE(std::filesystem::is_symlink(folder_ + "/link"));
  struct stat status = {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640U);

  std::filesystem::create_symlink("new.txt", folder_ + "/to nothing");
  ASSERT_TRUE(write_file(folder_ + "/to nothing", "three").ok());
  EXPECT_EQ(read_file(folder_ + "/new.txt", 100).value(), "three");
  std::filesystem::create_symlink("loop", folder_ + "/loop");
  EXPECT_FALSE(write_file(folder_ + "/loop", "x").ok());
}

TEST_F(FileTest, AFailedWriteLeavesNoFile) {
  EXPECT_FALSE(write_file(folder_ + "/none/a.txt", "x").ok());
  EXPECT_FALSE(write_file(folder_, "x").ok());
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
  EXPECT_FALSE(write_file("/dev/full", "x").ok());
}

TEST_F(FileTest, RefusesFoldersPipesAndLargeFiles) {
  ASSERT_TRUE(write_file(folder_ + "/a", "12345").ok());
  Result<std::string> large = read_file(folder_ + "/a", 4);
  ASSERT_FALSE(large.ok());
  EXPECT_THAT(large.diagnostics()[0].message, HasSubstr("larger than the limit of 4"));
  EXPECT_FALSE(read_file(folder_, 100).ok());
  EXPECT_FALSE(read_file(folder_ + "/none", 100).ok());
  ASSERT_EQ(::mkfifo((folder_ + "/pipe").c_str(), 0600), 0);
  EXPECT_FALSE(read_file(folder_ + "/pipe", 100).ok());
}

}  // namespace
}  // namespace weft
