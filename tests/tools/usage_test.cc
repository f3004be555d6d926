// Help, wrong usage, suggestions, and the form of what comes out.
// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/tools/cli_fixture.h"

namespace weft {
namespace {

using ::testing::HasSubstr;

TEST_F(CliTest, EveryCommandHasHelpWithAnExample) {
  Outcome top = weft("--help");
  EXPECT_EQ(top.code, 0);
  for (const char* command : {"models", "compile", "run", "grad", "dump", "explain", "profile",
                              "tune", "verify", "devices", "bench", "docs", "completion"}) {
    EXPECT_THAT(top.out, HasSubstr(command));
    Outcome help = weft(std::string(command) + " --help");
    EXPECT_EQ(help.code, 0);
    EXPECT_THAT(help.out, HasSubstr("Example:\n  ")) << command;
  }
}

TEST_F(CliTest, WrongUsageIsCodeTwo) {
  for (const char* arguments :
       {"", "nothing", "dump", "dump a b", "dump x --format gif", "models --nonsense",
        "run x --dim B=-1", "run x --dim B", "run x --input x", "grad x", "run x --device gpu",
        "run x --threads -1", "run x --seed -1", "run x --seed 1.5"}) {
    Outcome outcome = weft(arguments);
    EXPECT_EQ(outcome.code, 2) << arguments;
    EXPECT_THAT(outcome.err, HasSubstr("error:")) << arguments;
  }
}

TEST_F(CliTest, SuggestsNearNames) {
  EXPECT_THAT(weft("frobnicate").err, HasSubstr("there is no command 'frobnicate'\nhint: run"));
  EXPECT_THAT(weft("verfiy x").err, HasSubstr("did you mean 'verify'?"));
  EXPECT_THAT(weft("dump transformer-tyni").err, HasSubstr("did you mean 'transformer-tiny'?"));
  write("ffn.weft", kFfn);
  EXPECT_THAT(weft("grad ffn.weft --loss los").err, HasSubstr("did you mean 'loss'?"));
  EXPECT_THAT(weft("run ffn.weft --graph @foward --random-inputs").err,
              HasSubstr("did you mean 'forward'?"));
}

TEST_F(CliTest, UnknownDimsAndDevicesAreRefusedEverywhere) {
  write("ffn.weft", kFfn);
  EXPECT_THAT(weft("run ffn.weft --random-inputs --dim b=3").err, HasSubstr("did you mean 'B'?"));
  EXPECT_THAT(weft("verify ffn.weft --dim B=3 --dim B=4").err, HasSubstr("given as 3 and as 4"));
  for (const char* command :
       {"verify ffn.weft", "compile ffn.weft", "dump ffn.weft", "run ffn.weft --random-inputs"}) {
    Outcome outcome = weft(std::string(command) + " --device cuda");
    EXPECT_EQ(outcome.code, 1) << command;
    EXPECT_THAT(outcome.err, HasSubstr("no device 'cuda'")) << command;
  }
}

TEST_F(CliTest, JsonIsOneObjectALineAndNothingElse) {
  write("ffn.weft", kFfn);
  for (const char* command :
       {"models", "models gpt-char", "models gpt-char -o m.weft", "grad ffn.weft --loss loss",
        "dump ffn.weft", "dump ffn.weft --diff simplify", "dump ffn.weft --all", "compile ffn.weft",
        "dump ffn.weft --kernels", "explain ffn.weft", "verify ffn.weft",
        "run ffn.weft --random-inputs", "devices", "docs ops", "completion bash"}) {
    Outcome outcome = weft(std::string(command) + " --json");
    ASSERT_EQ(outcome.code, 0) << command << outcome.err;
    EXPECT_FALSE(outcome.out.empty()) << command;
    std::istringstream lines(outcome.out);
    for (std::string line; std::getline(lines, line);) {
      EXPECT_TRUE(nlohmann::json::parse(line, nullptr, false).is_object())
          << command << ": " << line.substr(0, 80);
    }
  }
}

TEST_F(CliTest, CompletionScriptsNameTheCommands) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    Outcome outcome = weft(std::string("completion ") + shell);
    EXPECT_EQ(outcome.code, 0);
    EXPECT_THAT(outcome.out, HasSubstr("verify"));
  }
  EXPECT_EQ(weft("completion bash > c.sh && bash -n c.sh").code, 0);
}

}  // namespace
}  // namespace weft
