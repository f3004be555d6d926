// The cache of kernels: hits, misses, damage, several processes, folders that cannot be used.
// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/code_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "backends/cpu/compile.h"
#include "driver/cache_folder.h"
#include "driver/compile.h"
#include "ir/support/file.h"
#include "runtime/executable_file.h"
#include "tests/support/must_parse.h"
#include "tests/support/scratch.h"

namespace weft::cpu {
namespace {

using testing::HasSubstr;

// A product, a row-wise kernel that has a check, and a symbolic dim.
constexpr char kText[] = R"(
graph @forward(%x: f32[B, 24], %w: f32[24, 40], %i: i32[B]) -> (y, z) {
  %h = matmul %x, %w
  %y = softmax %h
  %g = gather %y, %i
  %z = sum %g {axes = [1]}
  return %y, %z
}
)";

class CodeCacheTest : public testing::Test {
 protected:
  CodeCacheTest()
      : folder_(scratch("code_cache_" + std::to_string(::getpid()))),
        module_(test::must_parse(kText)) {
    request_.cache_folder = folder_;
  }
  ~CodeCacheTest() override { std::filesystem::remove_all(folder_); }

  Compiled compiled() const { return compile(module_, request_).value(); }
  std::string without_cache() const {
    CompileRequest request = request_;
    request.cache_folder.clear();
    return write_executable(compile(module_, request).value().executable);
  }
  std::vector<std::string> files() const {
    std::vector<std::string> found;
    for (const auto& item : std::filesystem::directory_iterator(kernel_folder(folder_))) {
      found.push_back(item.path().string());
    }
    std::sort(found.begin(), found.end());
    return found;
  }
  static void overwrite(const std::string& path, const std::string& bytes) {
    std::filesystem::remove(path);  // some file systems sync a file that is overwritten
    std::ofstream(path, std::ios::binary) << bytes;
  }

  std::string folder_;
  Module module_;
  CompileRequest request_;
};

TEST_F(CodeCacheTest, AHitGivesTheSameBytes) {
  const Compiled cold = compiled();
  const Compiled warm = compiled();
  ASSERT_GE(cold.programs.size(), 3U);
  EXPECT_EQ(cold.cached_kernels, 0U);
  EXPECT_EQ(warm.cached_kernels, warm.programs.size());
  EXPECT_EQ(cold.cache_problem + warm.cache_problem, "");
  EXPECT_EQ(files().size(), cold.programs.size());
  EXPECT_EQ(write_executable(warm.executable), without_cache());
  EXPECT_EQ(write_executable(cold.executable), without_cache());
}

TEST_F(CodeCacheTest, TextsComeFromTheCompiler) {
  const size_t kernels = compiled().programs.size();
  request_.keep_text = true;
  const Compiled texts = compiled();
  EXPECT_EQ(texts.cached_kernels, 0U);
  ASSERT_EQ(texts.texts.size(), kernels);
  for (const KernelDump& text : texts.texts) {
    EXPECT_EQ(text.files[1].first, "ll");
    EXPECT_THAT(text.files[1].second, HasSubstr("define"));
  }
}

TEST_F(CodeCacheTest, WhatTheCodeDependsOnIsInTheKey) {
  const std::string folder = kernel_folder(folder_);
  const tile::Program program = compiled().programs[0];
  const CpuTarget target = resolve_cpu_target("generic", TargetUse::kRun).value();
  std::set<std::string> keys;
  auto add_key = [&](const CpuTarget& used, bool bounds_checks, const tile::Program& compiled) {
    keys.insert(CodeCache::open(folder, used, bounds_checks).value().key_of(compiled));
  };
  add_key(target, false, program);
  add_key(target, false, program);
  EXPECT_EQ(keys.size(), 1U);
  add_key(target, true, program);
  auto changed = [&](auto change) {
    CpuTarget other = target;
    change(other);
    add_key(other, false, program);
  };
  changed([](CpuTarget& t) { t.name += "x"; });
  changed([](CpuTarget& t) { t.triple += "x"; });
  changed([](CpuTarget& t) { t.tune += "x"; });
  changed([](CpuTarget& t) { t.features.push_back("x"); });
  changed([](CpuTarget& t) { t.vector_bits *= 2; });
  changed([](CpuTarget& t) { t.vector_registers *= 2; });
  changed([](CpuTarget& t) { t.l1_bytes *= 2; });
  changed([](CpuTarget& t) { t.l2_bytes *= 2; });
  changed([](CpuTarget& t) { t.fma = !t.fma; });
  changed([](CpuTarget& t) { t.rounds = !t.rounds; });
  changed([](CpuTarget& t) { t.f16c = !t.f16c; });
  tile::Program renamed = program;
  renamed.name += "x";
  add_key(target, false, renamed);
  EXPECT_EQ(keys.size(), 14U);
}

TEST_F(CodeCacheTest, OtherOptionsAreMisses) {
  ASSERT_EQ(compiled().cached_kernels, 0U);
  request_.bounds_checks = true;
  EXPECT_EQ(compiled().cached_kernels, 0U);
  request_.target_cpu = "generic";
  EXPECT_EQ(compiled().cached_kernels, 0U);
  request_.bounds_checks = false;
  EXPECT_EQ(compiled().cached_kernels, 0U);
  request_.target_cpu = "native";
  EXPECT_EQ(compiled().cached_kernels, compiled().programs.size());
}

TEST_F(CodeCacheTest, ADamagedEntryIsNotThere) {
  const std::vector<tile::Program> programs = compiled().programs;
  const CpuTarget target = resolve_cpu_target("native", TargetUse::kRun).value();
  const CodeCache cache = CodeCache::open(kernel_folder(folder_), target, false).value();
  const std::string key = cache.key_of(programs[0]);
  const ProgramCode whole = cache.find(key).value();
  for (const std::string& file : files()) std::filesystem::remove(file);
  EXPECT_FALSE(cache.find(key));
  ASSERT_TRUE(cache.keep(key, whole).ok());
  ASSERT_TRUE(cache.find(key));
  const std::string path = files().at(0);
  const std::string bytes = read_file(path, 1 << 20).value();
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << at % 8));
    overwrite(path, damaged);
    ASSERT_FALSE(cache.find(key)) << "byte " << at;
  }
  for (size_t size = 0; size < bytes.size(); size += 7) {
    overwrite(path, bytes.substr(0, size));
    ASSERT_FALSE(cache.find(key)) << size << " bytes";
  }
  overwrite(path, bytes + "x");
  EXPECT_FALSE(cache.find(key));
  overwrite(path, bytes);
  EXPECT_EQ(cache.find(key)->code, whole.code);
}

TEST_F(CodeCacheTest, AnEntryOfAnotherProgramIsNotTaken) {
  const std::string right = write_executable(compiled().executable);
  const std::vector<std::string> paths = files();
  std::filesystem::copy_file(paths[0], paths[1], std::filesystem::copy_options::overwrite_existing);
  overwrite(paths[2], "not an entry");
  const Compiled again = compiled();
  EXPECT_EQ(again.cached_kernels, again.programs.size() - 2);
  EXPECT_EQ(write_executable(again.executable), right);
  EXPECT_EQ(compiled().cached_kernels, again.programs.size()) << "the entries were not replaced";
}

TEST_F(CodeCacheTest, ProcessesFillOneFolder) {
  constexpr int kProcesses = 4;
  const std::string right = without_cache();
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) ::_exit(write_executable(compiled().executable) == right ? 0 : 1);
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  const Compiled warm = compiled();
  EXPECT_EQ(warm.cached_kernels, warm.programs.size());
  EXPECT_EQ(write_executable(warm.executable), right);
  EXPECT_EQ(files().size(), warm.programs.size()) << "something was left aside";
}

TEST_F(CodeCacheTest, AFolderThatCannotBeUsedIsNoFault) {
  const std::string right = without_cache();
  request_.cache_folder = write_scratch("code_cache_file", "");
  const Compiled on_file = compiled();
  EXPECT_THAT(on_file.cache_problem, HasSubstr("code_cache_file/kernels"));
  EXPECT_EQ(write_executable(on_file.executable), right);

  request_.cache_folder = folder_;
  ASSERT_EQ(compiled().cache_problem, "");
  ASSERT_EQ(::chmod(kernel_folder(folder_).c_str(), 0777), 0);
  const Compiled open_to_all = compiled();
  EXPECT_EQ(open_to_all.cached_kernels, 0U);
  EXPECT_THAT(open_to_all.cache_problem, HasSubstr("other users may write"));
  EXPECT_EQ(write_executable(open_to_all.executable), right);
}

}  // namespace
}  // namespace weft::cpu
