// Folders for one owner: what they refuse, read, write and drop.
// SPDX-License-Identifier: Apache-2.0
#include "ir/support/private_folder.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <set>

#include "ir/support/build_id.h"
#include "tests/support/scratch.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class PrivateFolderTest : public testing::Test {
 protected:
  PrivateFolderTest() : path_(scratch("private_folder_" + std::to_string(::getpid()))) {}
  ~PrivateFolderTest() override { std::filesystem::remove_all(path_); }

  std::string file(const std::string& name) const { return path_ + "/" + name; }
  mode_t mode_of(const std::string& path) const {
    struct stat status = {};
    ::stat(path.c_str(), &status);
    return status.st_mode & 0777;
  }
  std::set<std::string> names() const {
    std::set<std::string> found;
    for (const auto& item : std::filesystem::directory_iterator(path_)) {
      found.insert(item.path().filename().string());
    }
    return found;
  }
  // As if last used so many seconds after 1970.
  void set_age(const std::string& name, time_t seconds) const {
    const timespec times[2] = {{seconds, 0}, {seconds, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, file(name).c_str(), times, 0), 0);
  }

  std::string path_;
};

TEST_F(PrivateFolderTest, IsMadeForItsOwnerAlone) {
  const mode_t before = ::umask(0);
  PrivateFolder folder = PrivateFolder::open(path_ + "/a/b").value();
  ASSERT_TRUE(folder.write("x", "text").ok());
  ::umask(before);
  EXPECT_EQ(mode_of(path_), 0700U);
  EXPECT_EQ(mode_of(path_ + "/a/b"), 0700U);
  EXPECT_EQ(mode_of(path_ + "/a/b/x"), 0600U);
}

TEST_F(PrivateFolderTest, RefusesOneThatOthersMayWriteTo) {
  for (mode_t mode : {0777, 0770, 0702}) {
    std::filesystem::create_directories(path_);
    ASSERT_EQ(::chmod(path_.c_str(), mode), 0);
    Result<PrivateFolder> folder = PrivateFolder::open(path_);
    ASSERT_FALSE(folder.ok());
    EXPECT_THAT(render(folder.diagnostics()), HasSubstr("other users may write"));
  }
}

TEST_F(PrivateFolderTest, RefusesOneOfAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give folders away";
  std::filesystem::create_directories(path_);
  ASSERT_EQ(::chown(path_.c_str(), 12345, 12345), 0);
  Result<PrivateFolder> folder = PrivateFolder::open(path_);
  ASSERT_FALSE(folder.ok());
  EXPECT_THAT(render(folder.diagnostics()), HasSubstr("another user"));
}

TEST_F(PrivateFolderTest, RefusesWhatIsNoFolder) {
  write_scratch("private_file", "");
  EXPECT_FALSE(PrivateFolder::open(scratch("private_file")).ok());
  EXPECT_FALSE(PrivateFolder::open(scratch("private_file/x")).ok());
  EXPECT_FALSE(PrivateFolder::open("").ok());
}

TEST_F(PrivateFolderTest, ReadsWhatWasWrittenLast) {
  PrivateFolder folder = PrivateFolder::open(path_).value();
  EXPECT_EQ(folder.read("x", 100), std::nullopt);
  ASSERT_TRUE(folder.write("x", "first").ok());
  ASSERT_TRUE(folder.write("x", std::string("a\0b", 3)).ok());
  EXPECT_EQ(folder.read("x", 3), std::string("a\0b", 3));
  EXPECT_EQ(folder.read("x", 2), std::nullopt);
  EXPECT_THAT(names(), ElementsAre("x"));
}

TEST_F(PrivateFolderTest, ReadsRegularFilesOnly) {
  PrivateFolder folder = PrivateFolder::open(path_).value();
  ASSERT_EQ(::mkfifo(file("pipe").c_str(), 0600), 0);
  ASSERT_EQ(::symlink("/etc/passwd", file("link").c_str()), 0);
  std::filesystem::create_directories(file("folder"));
  for (const char* name : {"pipe", "link", "folder"})
    EXPECT_EQ(folder.read(name, 1 << 20), std::nullopt);
}

TEST_F(PrivateFolderTest, AFailedWriteLeavesNothing) {
  PrivateFolder folder = PrivateFolder::open(path_).value();
  ASSERT_TRUE(folder.write("x", "old").ok());
  rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small = {10, before.rlim_max};  // what a full disk does
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const Status status = folder.write("x", std::string(100, 'n'));
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(names(), ElementsAre("x"));
  EXPECT_EQ(folder.read("x", 100), "old");
}

TEST_F(PrivateFolderTest, TheOldestGoFirst) {
  PrivateFolder folder = PrivateFolder::open(path_).value();
  for (const char* name : {"a.k", "b.k", "c.k", "d.k", "a.k.aside", "other"}) {
    ASSERT_TRUE(folder.write(name, std::string(100, 'x')).ok());
  }
  set_age("other", 1);
  set_age("a.k.aside", 2);
  set_age("a.k", 3);
  set_age("b.k", 4);
  set_age("c.k", 5);
  set_age("d.k", 6);
  folder.trim(".k", 500);
  EXPECT_EQ(names().size(), 6U) << "five files of 100 bytes are not more than 500";
  EXPECT_TRUE(folder.read("b.k", 100));  // and is the newest now
  folder.trim(".k", 400);
  EXPECT_THAT(names(), ElementsAre("b.k", "c.k", "d.k", "other"));
  folder.trim(".k", 200);
  EXPECT_THAT(names(), ElementsAre("b.k", "other"));
}

TEST(BuildId, IsThatOfTheObjectAround) {
  const std::string ours = build_id_of(reinterpret_cast<const void*>(&build_id_of));
  EXPECT_EQ(ours.size(), 40U) << "SHA-1, as CMakeLists.txt asks for";
  EXPECT_EQ(ours.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_NE(build_id_of(static_cast<const void*>(stderr)), ours);  // the C library's
  EXPECT_EQ(build_id_of(nullptr), "");
}

}  // namespace
}  // namespace weft
