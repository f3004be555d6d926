// Damaged text: every file is read or refused with a reason, and what is read prints and reads
// back.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "ir/text/text.h"
#include "test_paths.h"
#include "tests/support/mutate.h"
#include "tests/support/text_case.h"

namespace weft {
namespace {

void survive(const std::string& text) {
  Result<Module> module = parse("fuzz.weft", text);
  if (!module.ok()) {
    ASSERT_FALSE(module.diagnostics().empty());
    ASSERT_FALSE(render(module.diagnostics()).empty());
    return;
  }
  std::string printed = print(*module);
  Result<Module> again = parse("printed", printed);
  ASSERT_TRUE(again.ok()) << text << "\n" << render(again.diagnostics());
  ASSERT_EQ(print(*again), printed) << text;
}

std::vector<std::string> samples() {
  return sample_modules(std::string(WEFT_SOURCE_DIR) + "/tests/text");
}

TEST(TextFuzz, EveryPrefix) {
  for (const std::string& sample : samples()) {
    for (size_t length = 0; length < sample.size(); ++length) {
      ASSERT_NO_FATAL_FAILURE(survive(sample.substr(0, length)));
    }
  }
}

TEST(TextFuzz, DamagedBytes) {
  std::mt19937_64 random(1);
  for (const std::string& sample : samples()) {
    for (int i = 0; i < suite_count(500); ++i) {
      ASSERT_NO_FATAL_FAILURE(survive(mutate_bytes(sample, random)));
    }
  }
}

TEST(TextFuzz, DamagedWords) {
  std::mt19937_64 random(2);
  for (const std::string& sample : samples()) {
    for (int i = 0; i < suite_count(1000); ++i) {
      ASSERT_NO_FATAL_FAILURE(survive(mutate_words(sample, random)));
    }
  }
}

TEST(TextFuzz, Noise) {
  std::mt19937_64 random(3);
  for (int i = 0; i < suite_count(500); ++i) {
    std::string bytes(random() % 200, '\0');
    for (char& c : bytes) c = static_cast<char>(random() % (i % 2 == 0 ? 256 : 128));
    ASSERT_NO_FATAL_FAILURE(survive(bytes));
  }
}

}  // namespace
}  // namespace weft
