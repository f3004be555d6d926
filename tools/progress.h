// A line on the terminal while something takes its time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "ir/oracle/oracle.h"
#include "tools/cli.h"

namespace weft::cli {

// Says, from two seconds after its making on, what is being done. Only where stderr is a
// terminal, and not with -q; clears the line at the end.
class Progress {
 public:
  explicit Progress(const Common& common);
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  OracleProgress callback();  // shows which node is being computed
  void show(const std::string& line);
  void clear();
  bool due() const;  // whether show would show something

 private:
  bool wanted_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point next_;  // not before
};

}  // namespace weft::cli
