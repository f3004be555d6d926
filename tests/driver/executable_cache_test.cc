// Whole executables from the cache: hits, misses, damage.
// SPDX-License-Identifier: Apache-2.0
#include "driver/executable_cache.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "driver/cache_folder.h"
#include "ir/support/file.h"
#include "runtime/executable_file.h"
#include "tests/support/must_parse.h"
#include "tests/support/scratch.h"

namespace weft {
namespace {

class ExecutableCacheTest : public testing::Test {
 protected:
  ExecutableCacheTest() : folder_(scratch("executable_cache_" + std::to_string(::getpid()))) {
    request_.cache_folder = folder_;
  }
  ~ExecutableCacheTest() override { std::filesystem::remove_all(folder_); }
  void SetUp() override {
    if (!has_code_generator()) GTEST_SKIP() << "built without LLVM";
  }

  CompiledExecutable compiled(const std::string& constant = "2.0") const {
    Module module = test::must_parse("graph @f(%x: f32[B, 8]) -> (y) {\n  %y = mul %x, " +
                                     constant + "\n  return %y\n}");
    return compile_executable(std::move(module), request_).value();
  }
  std::string entry() const {
    return std::filesystem::directory_iterator(executable_folder(folder_))->path().string();
  }

  std::string folder_;
  CompileRequest request_;
};

TEST_F(ExecutableCacheTest, TheSecondTimeItIsThere) {
  CompiledExecutable first = compiled();
  CompiledExecutable second = compiled();
  EXPECT_FALSE(first.from_cache);
  EXPECT_EQ(first.cache_problem, "");
  EXPECT_TRUE(second.from_cache);
  EXPECT_EQ(write_executable(first.executable), write_executable(second.executable));
}

TEST_F(ExecutableCacheTest, AnythingElseIsAnotherEntry) {
  compiled();
  EXPECT_FALSE(compiled("3.0").from_cache);
  request_.bounds_checks = true;
  EXPECT_FALSE(compiled().from_cache);
  request_.bounds_checks = false;
  request_.pipeline.skip = {"simplify"};
  EXPECT_FALSE(compiled().from_cache);
  request_.pipeline.skip.clear();
  request_.target_cpu = "generic";
  EXPECT_FALSE(compiled().from_cache);
  request_.target_cpu = "native";
  EXPECT_TRUE(compiled().from_cache);
}

TEST_F(ExecutableCacheTest, AWatchedPipelineRuns) {
  compiled();
  int passes = 0;
  request_.pipeline.after_pass = [&](const PassRecord&, const Module&) {
    ++passes;
    return ok();
  };
  EXPECT_FALSE(compiled().from_cache);
  EXPECT_GT(passes, 0);
}

TEST_F(ExecutableCacheTest, ADamagedEntryIsMadeAnew) {
  const std::string expected = write_executable(compiled().executable);
  const std::string bytes = read_file(entry(), 1 << 24).value();
  auto damage = [&](const std::string& with) {
    ASSERT_TRUE(write_file(entry(), with).ok());
    CompiledExecutable again = compiled();
    EXPECT_FALSE(again.from_cache);
    EXPECT_EQ(write_executable(again.executable), expected);
    EXPECT_TRUE(compiled().from_cache);
  };
  for (size_t at = 0; at < bytes.size(); at += 1 + bytes.size() / 40) {
    std::string flipped = bytes;
    flipped[at] = static_cast<char>(flipped[at] ^ 0x20);
    damage(flipped);
    damage(bytes.substr(0, at));
  }
}

TEST_F(ExecutableCacheTest, WithoutAFolderItCompiles) {
  request_.cache_folder = "/dev/null/nowhere";
  CompiledExecutable made = compiled();
  EXPECT_FALSE(made.from_cache);
  EXPECT_NE(made.cache_problem, "");
}

}  // namespace
}  // namespace weft
