// Line diffs.
// SPDX-License-Identifier: Apache-2.0
#include "driver/view/diff.h"

#include <gtest/gtest.h>

#include <random>
#include <sstream>

namespace weft {
namespace {

TEST(Diff, ShowsChangesWithContext) {
  EXPECT_EQ(unified_diff("a\nb\nc\nd\ne\n", "a\nb\nX\nd\ne\n", "old", "new"),
            "--- old\n+++ new\n@@ -1,5 +1,5 @@\n a\n b\n-c\n+X\n d\n e\n");
  EXPECT_EQ(unified_diff("a\n", "a\n", "old", "new"), "");
  EXPECT_EQ(unified_diff("", "a\n", "old", "new"), "--- old\n+++ new\n@@ -1,0 +1,1 @@\n+a\n");
}

// Applying a diff with all lines in context must give both texts back.
TEST(Diff, RandomTextsAreRecovered) {
  std::mt19937 random(3);
  for (int round = 0; round < 500; ++round) {
    auto text = [&] {
      std::string out;
      for (size_t n = random() % 5; n > 0; --n)
        out += static_cast<char>('a' + random() % 3), out += '\n';
      return out;
    };
    std::string before = text();
    std::string after = text();
    std::string old_side;
    std::string new_side;
    std::istringstream diff(unified_diff(before, after, "o", "n"));
    for (std::string line; std::getline(diff, line);) {
      if (line.starts_with("---") || line.starts_with("+++") || line.starts_with("@@")) continue;
      if (line[0] != '+') old_side += line.substr(1) + "\n";
      if (line[0] != '-') new_side += line.substr(1) + "\n";
    }
    if (before == after) continue;
    EXPECT_EQ(old_side, before);
    EXPECT_EQ(new_side, after);
  }
}

}  // namespace
}  // namespace weft
