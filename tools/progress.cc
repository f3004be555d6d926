// SPDX-License-Identifier: Apache-2.0
#include "tools/progress.h"

#include <unistd.h>

#include <cstdio>

namespace weft::cli {
namespace {

using std::chrono_literals::operator""s;
using std::chrono_literals::operator""ms;
constexpr auto kPatience = 2s;
constexpr auto kInterval = 50ms;  // a terminal is slower than most nodes

constexpr char kClearLine[] = "\r\x1b[K";
constexpr size_t kMaxWidth = 78;

}  // namespace

Progress::Progress(const Common& common)
    : wanted_(!common.quiet && ::isatty(STDERR_FILENO) == 1),
      next_(std::chrono::steady_clock::now() + kPatience) {}

OracleProgress Progress::callback() {
  if (!wanted_) return {};
  return [this](const Node& node, size_t done, size_t total) {
    if (!due()) return;
    show(cat("node ", done + 1, " of ", total, ": ", name(node.op), " ", node.types[0]));
  };
}

bool Progress::due() const { return wanted_ && std::chrono::steady_clock::now() >= next_; }

void Progress::show(const std::string& line) {
  if (!due()) return;
  next_ = std::chrono::steady_clock::now() + kInterval;
  shown_ = true;
  std::fprintf(stderr, "%s%s", kClearLine, line.substr(0, kMaxWidth).c_str());
  std::fflush(stderr);
}

void Progress::clear() {
  if (shown_) std::fputs(kClearLine, stderr);
  shown_ = false;
}

}  // namespace weft::cli
