// SPDX-License-Identifier: Apache-2.0
#include "driver/view/diff.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace weft {
namespace {

using Lines = std::vector<std::string_view>;

Lines split_lines(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return lines;
}

struct Edit {
  char kind;  // ' ', '-' or '+'
  std::string_view line;
};

// Myers, "An O(ND) Difference Algorithm and Its Variations" (1986), greedy forward form. Keeps one
// frontier per edit step; beyond `kMaxEdits` the middle is given as removed and added as a whole.
constexpr int kMaxEdits = 4000;

std::vector<Edit> replace_all(const Lines& a, const Lines& b) {
  std::vector<Edit> edits;
  for (std::string_view line : a) edits.push_back({'-', line});
  for (std::string_view line : b) edits.push_back({'+', line});
  return edits;
}

std::vector<Edit> myers(const Lines& a, const Lines& b) {
  int n = static_cast<int>(a.size());
  int m = static_cast<int>(b.size());
  int limit = std::min(n + m, kMaxEdits);
  std::vector<std::vector<int>> frontiers;
  std::vector<int> x_at(2 * static_cast<size_t>(limit) + 3, 0);
  auto at = [&](std::vector<int>& v, int k) -> int& {
    return v[static_cast<size_t>(int64_t{k} + limit + 1)];
  };
  for (int d = 0; d <= limit; ++d) {
    frontiers.push_back(x_at);
    for (int k = -d; k <= d; k += 2) {
      bool down = k == -d || (k != d && at(x_at, k - 1) < at(x_at, k + 1));
      int x = down ? at(x_at, k + 1) : at(x_at, k - 1) + 1;
      int y = x - k;
      while (x < n && y < m && a[static_cast<size_t>(x)] == b[static_cast<size_t>(y)]) ++x, ++y;
      at(x_at, k) = x;
      if (x < n || y < m) continue;
      std::vector<Edit> edits;
      for (int step = d; step >= 0; --step) {
        std::vector<int>& v = frontiers[static_cast<size_t>(step)];
        int diagonal = x - y;
        bool came_down =
            diagonal == -step || (diagonal != step && at(v, diagonal - 1) < at(v, diagonal + 1));
        int from = came_down ? diagonal + 1 : diagonal - 1;
        int from_x = step == 0 ? 0 : at(v, from);
        int from_y = step == 0 ? 0 : from_x - from;
        while (x > from_x && y > from_y) {
          --x, --y;
          edits.push_back({' ', a[static_cast<size_t>(x)]});
        }
        if (step == 0) break;
        if (came_down) {
          edits.push_back({'+', b[static_cast<size_t>(--y)]});
        } else {
          edits.push_back({'-', a[static_cast<size_t>(--x)]});
        }
      }
      std::reverse(edits.begin(), edits.end());
      return edits;
    }
  }
  return replace_all(a, b);
}

}  // namespace

std::string unified_diff(const std::string& before, const std::string& after,
                         const std::string& before_name, const std::string& after_name) {
  if (before == after) return "";
  std::vector<Edit> edits = myers(split_lines(before), split_lines(after));
  constexpr size_t kContext = 3;
  std::vector<bool> shown(edits.size(), false);
  for (size_t i = 0; i < edits.size(); ++i) {
    if (edits[i].kind == ' ') continue;
    size_t end = std::min(edits.size(), i + kContext + 1);
    for (size_t j = i > kContext ? i - kContext : 0; j < end; ++j) shown[j] = true;
  }
  std::string out = "--- " + before_name + "\n+++ " + after_name + "\n";
  size_t old_line = 1;
  size_t new_line = 1;
  for (size_t i = 0; i < edits.size();) {
    if (!shown[i]) {
      ++old_line, ++new_line, ++i;
      continue;
    }
    std::string body;
    size_t old_count = 0;
    size_t new_count = 0;
    for (; i < edits.size() && shown[i]; ++i) {
      body += edits[i].kind + std::string(edits[i].line) + "\n";
      old_count += edits[i].kind != '+' ? 1 : 0;
      new_count += edits[i].kind != '-' ? 1 : 0;
    }
    out += "@@ -" + std::to_string(old_line) + "," + std::to_string(old_count) + " +" +
           std::to_string(new_line) + "," + std::to_string(new_count) + " @@\n" + body;
    old_line += old_count;
    new_line += new_count;
  }
  return out;
}

}  // namespace weft
