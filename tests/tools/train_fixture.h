// What the tests of `weft train` share: a text, small models, a cache of their own.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/scratch.h"
#include "tests/tools/cli_fixture.h"

namespace weft {

inline constexpr const char* kSmallModel =
    " --d-model 16 --layers 1 --heads 2 --d-ff 32 --context 16 --batch 4 --dropout 0.1 -q";

class TrainTest : public CliTest {
 protected:
  void SetUp() override {
    CliTest::SetUp();
    ::setenv("WEFT_CACHE_DIR", shared_cache().c_str(), 1);
    std::string text;
    for (int i = 0; i < 400; ++i) text += "the cat sat on mat " + std::to_string(i % 7) + "\n";
    write("text.txt", text);
  }
  void TearDown() override {
    ::setenv("WEFT_CACHE_DIR", "", 1);
    CliTest::TearDown();
  }

  std::string last_checkpoint(const std::string& run) const {
    std::string last;
    for (const auto& entry : std::filesystem::directory_iterator(path(run) + "/checkpoints")) {
      last = std::max(last, entry.path().string());
    }
    return slurp(last);
  }
  std::vector<nlohmann::json> metrics(const std::string& run) const {
    std::vector<nlohmann::json> lines;
    std::istringstream text(slurp(path(run) + "/metrics.jsonl"));
    for (std::string line; std::getline(text, line);) lines.push_back(nlohmann::json::parse(line));
    return lines;
  }
  std::string start(const std::string& run, const std::string& more = "") const {
    return "train gpt-char --text text.txt --out " + run + kSmallModel +
           " --steps 40 --eval-every 20" + " --save-every 4 " + more;
  }
};

}  // namespace weft
