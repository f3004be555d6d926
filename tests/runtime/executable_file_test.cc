// Files of executables: they hold everything, and refuse other versions, other machines and damage.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/executable_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <functional>

#include "ir/serial/serial.h"
#include "ir/support/hash.h"
#include "tests/runtime/sample.h"
#include "tests/support/mutate.h"

namespace weft {
namespace {

std::string good() { return write_executable(sample_executable()); }

std::string refusal(const std::string& bytes) {
  Result<Executable> read = read_executable("x.weftx", bytes);
  return read.ok() ? "" : render(read.diagnostics());
}

// The bytes with the checksum that belongs to them: damage that a checksum does not show.
std::string sealed(std::string bytes) {
  uint64_t sum = checksum(std::string_view(bytes).substr(kExecutableHeadBytes),
                          checksum(std::string_view(bytes).substr(0, 56)));
  std::memcpy(bytes.data() + 56, &sum, sizeof sum);
  return bytes;
}

std::string with_payload_size(std::string bytes) {
  uint64_t size = bytes.size() - kExecutableHeadBytes;
  std::memcpy(bytes.data() + 48, &size, sizeof size);
  return sealed(std::move(bytes));
}

TEST(ExecutableFile, HoldsEverything) {
  std::string bytes = good();
  EXPECT_TRUE(looks_executable(bytes));
  Executable again = read_executable("x.weftx", bytes).value();
  Executable first = sample_executable();
  EXPECT_EQ(write_executable(again), bytes);
  EXPECT_EQ(again.code, first.code);
  EXPECT_EQ(again.module_name, "sample");
  EXPECT_EQ(again.dims.bounds, first.dims.bounds);
  ASSERT_EQ(again.storage.size(), 4u);
  EXPECT_EQ(again.storage[2].init, first.storage[2].init);
  ASSERT_EQ(again.graphs.size(), 5u);
  ASSERT_EQ(again.graphs[3].steps.size(), 1u);
  const Step& repeat = again.graphs[3].steps[0];
  EXPECT_EQ(repeat.symbol, "R0");
  ASSERT_EQ(repeat.body.size(), 2u);
  EXPECT_EQ(repeat.body[0].buffers[0].offset, Dim(3) * Dim::symbol(base_symbol("R0")));
  EXPECT_EQ(again.graphs[1].buffers[0].data, first.graphs[1].buffers[0].data);
  EXPECT_EQ(again.kernels[3].checks, first.kernels[3].checks);
  EXPECT_EQ(again.kernels[5].programs, first.kernels[5].programs);
  EXPECT_EQ(again.interfaces[2].inputs[1].type, first.interfaces[2].inputs[1].type);
}

TEST(ExecutableFile, RunsFromDisk) {
  std::string path = testing::TempDir() + "runs.weftx";
  ASSERT_TRUE(save_executable(path, small_executable()).ok());
  LoadedPtr loaded = load_executable(path).value();
  Context context = Context::create(loaded).value();
  BoundPtr bound = context.bind("", {{"B", 1}}).value();
  std::vector<float> x = {1, 2, 3};
  std::vector<float> y(3);
  ASSERT_TRUE(context.run(bound, std::vector{bytes_of(x)}, std::vector{room_in(y)}).ok());
  EXPECT_EQ(y, (std::vector<float>{5, 9, 13}));
}

TEST(ExecutableFile, AnyChangedByteIsRefused) {
  std::string bytes = good();
  bool all = suite_count(1) > 1;  // the slow suite
  for (size_t i = 0; i < bytes.size(); i += all || i < 128 ? 1 : 13) {
    for (int mask : {0x01, 0x80, 0xff}) {
      std::string changed = bytes;
      changed[i] = static_cast<char>(changed[i] ^ mask);
      ASSERT_NE(refusal(changed), "") << "byte " << i << " ^ " << mask;
    }
  }
}

TEST(ExecutableFile, AnyCutIsRefused) {
  std::string bytes = good();
  for (size_t size = 0; size < bytes.size(); size += size < 128 ? 1 : 97) {
    ASSERT_NE(refusal(bytes.substr(0, size)), "") << size;
  }
  ASSERT_NE(refusal(bytes + "x"), "");
}

TEST(ExecutableFile, OtherVersionsAreRefusedByName) {
  std::string format = good();
  format[8] = 99;
  EXPECT_NE(refusal(sealed(format))
                .find(cat("format version 99; this build reads version ", kExecutableFormat)),
            std::string::npos);
  std::string version = good();
  std::memcpy(version.data() + 12, "0.0.7-old\0\0", 11);
  EXPECT_NE(refusal(sealed(version)).find("executable of weft '0.0.7-old'"), std::string::npos);
  EXPECT_NE(refusal("#!/bin/sh").find("not an executable"), std::string::npos);
}

TEST(ExecutableFile, OtherMachinesAreRefusedByWhatIsMissing) {
  Executable executable = small_executable();
  executable.target_cpu = "future";
  executable.target_features = {"avx9000", "teleport"};
  Result<LoadedPtr> loaded = LoadedExecutable::load(executable);
  ASSERT_FALSE(loaded.ok());
  EXPECT_NE(render(loaded.diagnostics()).find("this processor lacks avx9000, teleport"),
            std::string::npos);
  executable = small_executable();
  executable.device = "cuda";
  EXPECT_FALSE(LoadedExecutable::load(executable).ok());
  std::string bytes = good();
  size_t at =
      bytes.find("x86_64") != std::string::npos ? bytes.find("x86_64") : bytes.find("aarch64");
  ASSERT_NE(at, std::string::npos);
  bytes[at] = 'y';
  EXPECT_NE(refusal(sealed(bytes)).find("the executable is for y"), std::string::npos);
}

// Whoever knows the checksum can still not make the reader or the checks crash.
TEST(ExecutableFile, SurvivesDamageBehindTheChecksum) {
  std::string bytes = good();
  int loaded = 0;
  for (int seed = 0; seed < suite_count(3000); ++seed) {
    std::mt19937_64 random(static_cast<uint64_t>(seed));
    std::string payload = mutate_bytes(bytes.substr(kExecutableHeadBytes), random);
    std::string damaged = with_payload_size(bytes.substr(0, kExecutableHeadBytes) + payload);
    Result<Executable> read = read_executable("x.weftx", damaged);
    if (!read.ok()) {
      ASSERT_TRUE(render(read.diagnostics()).starts_with("x.weftx"));
      continue;
    }
    // The code may be damaged: not to be run, but to be bound.
    std::vector<KernelFn> functions(read->kernels.size(), nullptr);
    Result<LoadedPtr> made = LoadedExecutable::with_functions(std::move(read).value(), functions);
    if (!made.ok()) continue;
    ++loaded;
    for (uint32_t graph = 0; graph < (*made)->executable().graphs.size(); ++graph) {
      static_cast<void>(bind_graph(*made, graph, {{"B", 5}}));
    }
  }
  EXPECT_GT(loaded, 0);
}

// A copy of @w that the graphs do not read.
PackedStorage& add_copy(Executable& e) {
  e.packed.push_back({"c", "w", DType::f32, 0, 3, kAccumulate, {}});
  return e.packed.back();
}

TEST(ExecutableFile, WhatDoesNotFitTogetherIsRefused) {
  using Change = std::function<void(Executable&)>;
  std::vector<std::pair<std::string, Change>> changes = {
      {"interfaces for", [](Executable& e) { e.interfaces.pop_back(); }},
      {"stands with the plan", [](Executable& e) { e.graphs[0].graph = "other"; }},
      {"begins at byte", [](Executable& e) { e.kernels[0].entry = e.code.size(); }},
      {"launches kernel", [](Executable& e) { e.graphs[0].steps[0].program = 77; }},
      {"is given 1", [](Executable& e) { e.graphs[0].steps[0].buffers.pop_back(); }},
      {"uses buffer 99", [](Executable& e) { e.graphs[0].steps[0].buffers[0].buffer = 99; }},
      {"lives from step", [](Executable& e) { e.graphs[0].buffers[3].last = 3; }},
      {"lives from step", [](Executable& e) { e.graphs[0].buffers[3].first = 2; }},
      {"nothing is behind", [](Executable& e) { e.graphs[0].buffers[0].name = "z"; }},
      {"nothing is behind", [](Executable& e) { e.graphs[0].buffers[2].name = "z"; }},
      {"outputs, and buffers",
       [](Executable& e) { e.graphs[0].buffers[1].kind = PlanBuffer::arena; }},
      {"is i32", [](Executable& e) { e.graphs[0].buffers[2].dtype = DType::i32; }},
      {"constant increments", [](Executable& e) { e.graphs[1].buffers[0].data.pop_back(); }},
      {"a copy from",
       [](Executable& e) {
         e.graphs[1].steps[1].buffers[1] = {0, 0};
       }},
      {"in chunks of 0", [](Executable& e) { e.graphs[3].steps[0].chunk = 0; }},
      {"is empty", [](Executable& e) { e.blocks[0].members.clear(); }},
      {"has no @z", [](Executable& e) { e.blocks[0].members[0] = "z"; }},
      {"two blocks",
       [](Executable& e) {
         e.blocks.push_back({"other", {"n"}});
       }},
      {"@cache is", [](Executable& e) { e.blocks[0].members.push_back("cache"); }},
      {"two @w", [](Executable& e) { e.storage.push_back(e.storage[0]); }},
      {"which cannot be copied", [](Executable& e) { add_copy(e).storage = "z"; }},
      {"which cannot be copied", [](Executable& e) { add_copy(e).storage = "m"; }},
      {"which is f32[B, 3]", [](Executable& e) { add_copy(e).storage = "cache"; }},
      {"which is f32[3]", [](Executable& e) { add_copy(e).dtype = DType::i32; }},
      {"which is f32[3]", [](Executable& e) { add_copy(e).offset = 4; }},
      {"which is f32[3]", [](Executable& e) { add_copy(e).elements = -1; }},
      {"which is f32[3]", [](Executable& e) { add_copy(e).elements = INT64_MAX / 2; }},
      {"is made by kernel 77", [](Executable& e) { add_copy(e).program = 77; }},
      {"is made by kernel 77", [](Executable& e) { add_copy(e).back = 77; }},
      {"makes no copies", [](Executable& e) { add_copy(e).program = kLookup; }},
      {"two c",
       [](Executable& e) {
         add_copy(e);
         add_copy(e);
       }},
      {"nothing is behind buffer w", [](Executable& e) { add_copy(e).back = kAccumulate; }},
      {"nothing is behind buffer w",
       [](Executable& e) { e.graphs[0].buffers[2].kind = PlanBuffer::packed; }},
      {"a copy from",
       [](Executable& e) {
         add_copy(e);
         e.graphs[1].buffers[2].kind = PlanBuffer::packed;
         e.graphs[1].buffers[2].name = "c";
         std::swap(e.graphs[1].steps[1].buffers[0], e.graphs[1].steps[1].buffers[1]);
       }},
  };
  for (const auto& [reason, change] : changes) {
    Executable executable = sample_executable();
    change(executable);
    Result<LoadedPtr> loaded = LoadedExecutable::load(std::move(executable));
    ASSERT_FALSE(loaded.ok()) << reason;
    EXPECT_NE(render(loaded.diagnostics()).find(reason), std::string::npos)
        << render(loaded.diagnostics());
  }
}

TEST(ExecutableFile, WhatDoesNotFitTheSizesIsRefusedAtBind) {
  using Change = std::function<void(Executable&)>;
  Dim b = Dim::symbol("B");
  std::vector<std::pair<uint32_t, Change>> changes = {
      {0, [](Executable& e) { e.graphs[0].buffers[0].elements = 5; }},
      {0, [](Executable& e) { e.graphs[0].buffers[2].elements = 4; }},
      {0, [&](Executable& e) { e.graphs[0].buffers[3].elements = Dim(0) - b; }},
      {0, [&](Executable& e) { e.graphs[0].buffers[3].elements = b * Dim(INT64_MAX / 10); }},
      {0, [](Executable& e) { e.graphs[0].steps[0].buffers[0].offset = 13; }},
      {0, [](Executable& e) { e.graphs[0].steps[0].buffers[0].offset = -1; }},
      {0, [](Executable& e) { e.kernels[0].programs = -1; }},
      {0, [&](Executable& e) { e.kernels[0].args = {Dim::floor_div(4, b - 4)}; }},
      {1, [](Executable& e) { e.graphs[1].steps[1].elements = 3; }},
      {1, [](Executable& e) { e.graphs[1].steps[1].buffers[0].offset = 1; }},
      {3, [&](Executable& e) { e.graphs[3].steps[0].total = b * Dim(10'000'000); }},
      {0,
       [](Executable& e) {
         add_copy(e).elements = 4;
         e.graphs[0].buffers[2].kind = PlanBuffer::packed;
         e.graphs[0].buffers[2].name = "c";
       }},
  };
  for (const auto& [graph, change] : changes) {
    Executable executable = sample_executable();
    change(executable);
    EXPECT_FALSE(bind_graph(load(std::move(executable)), graph, {{"B", 4}}).ok())
        << &change - &changes[0].second;
  }
}

TEST(ExecutableFile, WrittenWholeOrNotAtAll) {
  std::string folder = testing::TempDir() + "not_there";
  EXPECT_FALSE(save_executable(folder + "/x.weftx", small_executable()).ok());
  EXPECT_FALSE(load_executable(folder).ok());
  struct stat status = {};
  EXPECT_NE(::stat(folder.c_str(), &status), 0);
}

}  // namespace
}  // namespace weft
