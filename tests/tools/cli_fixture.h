// The command line as people type it: runs `weft` in a folder of its own.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace weft {

struct Outcome {
  int code = 0;
  std::string out;
  std::string err;
  long peak_kb = 0;
  double seconds = 0;
};

std::string slurp(const std::string& path);

class CliTest : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  std::string write(const std::string& name, const std::string& bytes) const;
  // Runs `weft ARGUMENTS` in the test's folder, with a file as its standard input.
  Outcome weft(const std::string& arguments, const std::string& input = "/dev/null") const;

  // What the command writes to a terminal, until `awaited` is among it or the seconds are over;
  // then the command is stopped. Nothing where the system has no terminal to give.
  std::optional<std::string> on_terminal(const std::string& arguments, const std::string& awaited,
                                         int seconds) const;

  std::string folder_;
};

// A small model with a loss, and something for `simplify` to do.
inline constexpr char kFfn[] = R"(module "ffn" {
  param @w: f32[4, 8] = xavier_uniform
  param @b: f32[8] = zeros
  graph @forward(%x: f32[B, 4]) -> (y, loss) {
    %h = matmul %x, @w
    %a = add %h, @b
    %z = add %a, 0.0
    %y = gelu %z {approximate = "tanh"}
    %sq = mul %y, %y
    %loss = mean %sq {axes = [0, 1]}
    return %y, %loss
  }
}
)";

}  // namespace weft
