// From presets to files: models, grad, dump, compile.
// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/tools/cli_fixture.h"

namespace weft {
namespace {

using ::testing::HasSubstr;

TEST_F(CliTest, ModelsListsPresetsWithTheirParameters) {
  Outcome outcome = weft("models --json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  std::map<std::string, int64_t> parameters;
  std::istringstream lines(outcome.out);
  for (std::string line; std::getline(lines, line);) {
    nlohmann::json object = nlohmann::json::parse(line);
    parameters[object["name"]] = object["parameters"];
    EXPECT_GT(object["flops"], 0);
  }
  EXPECT_EQ(parameters["transformer-tiny"], 2605056);
  EXPECT_EQ(parameters["transformer-base"], 63082496);
  EXPECT_EQ(parameters["transformer-big"], 214245376);
}

TEST_F(CliTest, PresetToGradientsAndBackAsTheSameBytes) {
  ASSERT_EQ(weft("models transformer-base -o base.weft").code, 0);
  ASSERT_EQ(weft("grad base.weft --loss loss -o train.weft").code, 0);
  Outcome text = weft("dump train.weft");
  ASSERT_EQ(text.code, 0) << text.err;
  EXPECT_EQ(text.out, slurp(path("train.weft")));
  ASSERT_EQ(weft("grad base.weft --loss loss -o train.weftb").code, 0);
  EXPECT_EQ(weft("dump train.weftb").out, text.out);
  EXPECT_THAT(text.out, HasSubstr("grad.encoder.0"));
}

TEST_F(CliTest, DumpShowsAnyPointOfThePipeline) {
  write("ffn.weft", kFfn);
  EXPECT_THAT(weft("dump ffn.weft").out, HasSubstr("%z = add %a, 0.0"));
  Outcome after = weft("dump ffn.weft --after simplify");
  ASSERT_EQ(after.code, 0) << after.err;
  Outcome skipped = weft("dump ffn.weft --after simplify --skip simplify");
  EXPECT_EQ(skipped.out, weft("dump ffn.weft").out);
  EXPECT_THAT(weft("dump ffn.weft --focus @w").out, HasSubstr("> @w: f32[4, 8]"));
  EXPECT_THAT(weft("dump ffn.weft --format dot").out, HasSubstr("digraph"));
  EXPECT_THAT(weft("dump ffn.weft --format html").out, HasSubstr("<!doctype html>"));
  EXPECT_EQ(weft("dump ffn.weft --after nopass").code, 1);
  EXPECT_EQ(weft("compile ffn.weft --dump-ir ir -o opt.weft").code, 0);
  EXPECT_TRUE(std::filesystem::exists(path("ir/00-input.weft")));
  EXPECT_TRUE(std::filesystem::exists(path("opt.weft")));
}

TEST_F(CliTest, NamesInQuotesAreFoundAndDrawn) {
  write("quoted.weft",
        "graph @f(%\"a b\": f32[2]) -> (y) {\n  %\"c d\" = exp %\"a b\"\n  return %\"c d\"\n}\n");
  EXPECT_THAT(weft("dump quoted.weft --focus 'c d'").out, HasSubstr("> %\"c d\" = exp %\"a b\""));
  EXPECT_THAT(weft("dump quoted.weft --format dot").out, HasSubstr("[label=\"%\\\"a b\\\"\\nf32"));
}

TEST_F(CliTest, EndingsAreTakenAtTheirWord) {
  std::string file = write("text.weftb", kFfn);
  Outcome outcome = weft("dump " + file);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("not a binary module: the identifier is missing"));
  write("ffn.weft", kFfn);
  for (const char* ending : {".weftx", ".onnx"}) {
    outcome = weft(std::string("grad ffn.weft --loss loss -o out") + ending);
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(outcome.err, HasSubstr(std::string("this build cannot write ") + ending));
    EXPECT_FALSE(std::filesystem::exists(path(std::string("out") + ending)));
  }
}

TEST_F(CliTest, AFolderDoesNotHideAPreset) {
  std::filesystem::create_directory(path("gpt-char"));
  EXPECT_EQ(weft("models gpt-char -o m.weft").code, 0);
  std::filesystem::create_directory(path("folder"));
  EXPECT_THAT(weft("dump folder").err, HasSubstr("is a folder"));
  std::filesystem::create_symlink("loop.weft", path("loop.weft"));
  Outcome outcome = weft("dump loop.weft");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("loop.weft: error: cannot be examined: "));
}

TEST_F(CliTest, AFailedWriteLeavesNoFile) {
  EXPECT_EQ(weft("models gpt-char -o none/m.weft").code, 1);
  EXPECT_EQ(weft("models gpt-char -o /dev/full").code, 1);
  EXPECT_EQ(weft("models nothing-of-the-kind -o m.weft").code, 1);
  EXPECT_FALSE(std::filesystem::exists(path("m.weft")));
  EXPECT_EQ(weft("compile gpt-char -o none/m.weftx").code, 1);
}

}  // namespace
}  // namespace weft
