// The binary form: it holds what the text form holds, and damaged files are refused with a reason.
// SPDX-License-Identifier: Apache-2.0
#include "ir/serial/serial.h"

#include <gtest/gtest.h>

#include "ir/text/text.h"
#include "tests/support/mutate.h"
#include "tests/support/text_case.h"

namespace weft {
namespace {

std::vector<Module> samples() {
  std::vector<Module> modules;
  for (const std::string& text :
       sample_modules(std::string(WEFT_SOURCE_DIR) + "/tests/text/samples")) {
    Result<Module> module = parse("sample.weft", text);
    EXPECT_TRUE(module.ok()) << render(module.diagnostics());
    if (module.ok()) modules.push_back(*module);
  }
  return modules;
}

void survive(const std::string& bytes) {
  Result<Module> module = read_binary("fuzz.weftb", bytes);
  if (!module.ok()) {
    ASSERT_FALSE(module.diagnostics().empty());
    ASSERT_TRUE(render(module.diagnostics()).starts_with("fuzz.weftb"));
    return;
  }
  std::string printed = print(*module);
  Result<Module> again = parse("printed", printed);
  ASSERT_TRUE(again.ok()) << render(again.diagnostics());
  ASSERT_EQ(print(*again), printed);
}

TEST(Serial, RoundTrip) {
  for (const Module& module : samples()) {
    std::string bytes = write_binary(module);
    EXPECT_TRUE(looks_binary(bytes));
    Result<Module> again = read_binary("m.weftb", bytes);
    ASSERT_TRUE(again.ok()) << render(again.diagnostics());
    EXPECT_EQ(print(*again), print(module));
    EXPECT_EQ(write_binary(*again), bytes);
  }
}

TEST(Serial, ReadsFromAnyAddress) {
  std::string bytes = write_binary(samples()[0]);
  for (size_t shift = 1; shift < 8; ++shift) {
    std::string moved = std::string(shift, ' ') + bytes;
    EXPECT_TRUE(read_binary("m.weftb", std::string_view(moved).substr(shift)).ok());
  }
}

TEST(Serial, TextIsNotBinary) {
  for (const Module& module : samples()) EXPECT_FALSE(looks_binary(print(module)));
  EXPECT_FALSE(looks_binary(""));
  Result<Module> empty = read_binary("m.weftb", "");
  ASSERT_FALSE(empty.ok());
  EXPECT_EQ(empty.diagnostics()[0].message, "not a binary module: the identifier is missing");
}

TEST(Serial, EveryPrefix) {
  for (const Module& module : samples()) {
    std::string bytes = write_binary(module);
    for (size_t length = 0; length < bytes.size(); ++length) {
      ASSERT_NO_FATAL_FAILURE(survive(bytes.substr(0, length)));
    }
  }
}

TEST(Serial, EveryByteChanged) {
  for (const Module& module : samples()) {
    std::string bytes = write_binary(module);
    for (size_t i = 0; i < bytes.size(); ++i) {
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(damaged[i] + 1);
      ASSERT_NO_FATAL_FAILURE(survive(damaged));
    }
  }
}

TEST(Serial, DamagedBytes) {
  std::mt19937_64 random(1);
  for (const Module& module : samples()) {
    std::string bytes = write_binary(module);
    for (int i = 0; i < suite_count(2000); ++i) {
      ASSERT_NO_FATAL_FAILURE(survive(mutate_bytes(bytes, random)));
    }
  }
}

}  // namespace
}  // namespace weft
