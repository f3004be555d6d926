// The command line as people type it: results, exit codes, bad input.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

namespace weft {
namespace {

using ::testing::HasSubstr;

struct Outcome {
  int code = 0;
  std::string out;
  std::string err;
  long peak_kb = 0;
  double seconds = 0;
};

std::string slurp(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

class CliTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "weft_cli_" + std::to_string(::getpid());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }

  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }

  // Runs `weft ARGUMENTS` in the test's folder.
  Outcome weft(const std::string& arguments) const {
    std::string command = "cd '" + folder_ + "' && exec '" WEFT_BINARY "' " + arguments + " >'" +
                          path(".out") + "' 2>'" + path(".err") + "' </dev/null";
    auto start = std::chrono::steady_clock::now();
    pid_t child = ::fork();
    if (child == 0) {
      ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
      ::_exit(127);
    }
    int status = 0;
    rusage usage = {};
    ::wait4(child, &status, 0, &usage);
    Outcome outcome;
    outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    outcome.out = slurp(path(".out"));
    outcome.err = slurp(path(".err"));
    outcome.peak_kb = usage.ru_maxrss;
    outcome.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return outcome;
  }

  std::string folder_;
};

const char* const kFfn = R"(module "ffn" {
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

TEST_F(CliTest, RunsATrainingStepOnTheOracle) {
  write("ffn.weft", kFfn);
  ASSERT_EQ(weft("grad ffn.weft --loss loss --optimizer sgd -o train.weft").code, 0);
  Outcome outcome = weft(
      "run train.weft --graph @backward --device oracle --random-inputs --dim B=3 --output-dir out "
      "--json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  nlohmann::json result = nlohmann::json::parse(outcome.out);
  EXPECT_GT(result["outputs"]["loss"]["value"], 0.0);
  EXPECT_EQ(result["outputs"]["grad.w"]["shape"], (std::vector<int64_t>{4, 8}));
  EXPECT_TRUE(std::filesystem::exists(path("out/grad.w.npy")));
  Outcome twice = weft("run train.weft --graph @backward --random-inputs --dim B=3 --json");
  EXPECT_EQ(nlohmann::json::parse(twice.out)["outputs"], result["outputs"]);
  EXPECT_THAT(twice.err, HasSubstr("running on the oracle"));
}

TEST_F(CliTest, StateIsCarriedAndSaved) {
  write("count.weft",
        "state @n: i32[] = zeros\ngraph @step() -> (n) {\n  %m = add @n, 1\n  update @n = %m\n  "
        "return %m\n}\n");
  Outcome outcome = weft("run count.weft --repeat 3 --json --save-weights w.safetensors");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(nlohmann::json::parse(outcome.out)["outputs"]["n"]["value"], 3);
  outcome = weft("run count.weft --weights w.safetensors --json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(nlohmann::json::parse(outcome.out)["outputs"]["n"]["value"], 4);
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

TEST_F(CliTest, VerifyPrintsTheSizesItUsed) {
  write("ffn.weft", kFfn);
  Outcome outcome = weft("verify ffn.weft");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("@forward at B="));
  EXPECT_THAT(outcome.out, HasSubstr("ok:"));
}

TEST_F(CliTest, EveryCommandHasHelpWithAnExample) {
  Outcome top = weft("--help");
  EXPECT_EQ(top.code, 0);
  for (const char* command : {"models", "compile", "run", "grad", "dump", "verify", "devices",
                              "bench", "docs", "completion"}) {
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
        "run x --threads -1"}) {
    Outcome outcome = weft(arguments);
    EXPECT_EQ(outcome.code, 2) << arguments;
    EXPECT_THAT(outcome.err, HasSubstr("error:")) << arguments;
  }
}

TEST_F(CliTest, AFailedWriteLeavesNoFile) {
  EXPECT_EQ(weft("models gpt-char -o none/m.weft").code, 1);
  EXPECT_EQ(weft("models gpt-char -o /dev/full").code, 1);
  EXPECT_EQ(weft("models nothing-of-the-kind -o m.weft").code, 1);
  EXPECT_FALSE(std::filesystem::exists(path("m.weft")));
  Outcome outcome = weft("compile gpt-char -o m.weftx");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("no code generator"));
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

TEST_F(CliTest, NamesInQuotesAreFoundAndDrawn) {
  write("quoted.weft",
        "graph @f(%\"a b\": f32[2]) -> (y) {\n  %\"c d\" = exp %\"a b\"\n  return %\"c d\"\n}\n");
  EXPECT_THAT(weft("dump quoted.weft --focus 'c d'").out, HasSubstr("> %\"c d\" = exp %\"a b\""));
  EXPECT_THAT(weft("dump quoted.weft --format dot").out, HasSubstr("[label=\"%\\\"a b\\\"\\nf32"));
}

TEST_F(CliTest, SuggestsNearNames) {
  EXPECT_THAT(weft("dump transformer-tyni").err, HasSubstr("did you mean 'transformer-tiny'?"));
  write("ffn.weft", kFfn);
  EXPECT_THAT(weft("grad ffn.weft --loss los").err, HasSubstr("did you mean 'loss'?"));
  EXPECT_THAT(weft("run ffn.weft --graph @foward --random-inputs").err,
              HasSubstr("did you mean 'forward'?"));
}

// One clear error, exit code 1, within a second and within 100 MB more than the file.
TEST_F(CliTest, BadFilesAreRefused) {
  std::mt19937 random(11);
  std::string noise(200000, '\0');
  for (char& c : noise) c = static_cast<char>(random());
  std::string deep = "graph @g(%x: f32[" + std::string(100000, '(') + "B";
  std::string nested = "graph @g() -> (y) {\n  %y = constant {value = " + std::string(50000, '[');
  std::string many = "graph @g(%x: f32[2]) -> (y) {\n";
  for (int i = 0; i < 100000; ++i) many += "  %a" + std::to_string(i) + " = exp %b\n";
  std::map<std::string, std::string> files = {
      {"empty", ""},
      {"noise", noise},
      {"deep", deep},
      {"nested", nested},
      {"many errors", many},
      {"truncated", std::string(kFfn).substr(0, 150)},
      {"cyclic", "graph @g(%x: f32[2]) -> (y) {\n  %a = exp %b\n  %b = exp %a\n  return %b\n}\n"},
      {"duplicate",
       "graph @g(%x: f32[2]) -> (y) {\n  %a = exp %x\n  %a = log %x\n  return %a\n}\n"},
      {"ill-typed", "graph @g(%x: f32[2]) -> (y) {\n  %a = logical_not %x\n  return %a\n}\n"},
      {"unknown op", "graph @g(%x: f32[2]) -> (y) {\n  %a = matmull %x, %x\n  return %a\n}\n"},
      {"not utf-8", "graph @g(%x: f32[2]) -> (\xff\xfe) {\n}\n"},
      {"huge number", "graph @g(%x: f32[99999999999999999999]) -> (y) {\n  return %x\n}\n"},
      {"huge shape",
       "graph @g(%x: f32[9223372036854775807, 9223372036854775807]) -> (y) {\n  return %x\n}\n"},
      {"binary head", std::string("\x10\0\0\0WFTB", 8) + noise.substr(0, 1000)},
  };
  for (const auto& [name, bytes] : files) {
    for (const char* ending : {".weft", ".weftb"}) {
      std::string file = write("bad" + std::string(ending), bytes);
      Outcome outcome = weft("dump " + file);
      EXPECT_EQ(outcome.code, 1) << name << outcome.err.substr(0, 500);
      EXPECT_THAT(outcome.err, HasSubstr("error:")) << name;
      EXPECT_LT(outcome.peak_kb, 100 * 1024 + static_cast<long>(bytes.size() / 1024)) << name;
      EXPECT_LT(outcome.err.size(), 20000U) << name;
    }
  }
}

TEST_F(CliTest, AnOversizedFileIsRefusedUnread) {
  std::string file = write("large.weft", "");
  std::filesystem::resize_file(file, uint64_t{1} << 40);  // sparse
  Outcome outcome = weft("dump " + file);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("larger than the limit"));
}

TEST_F(CliTest, ABadTensorFileIsRefused) {
  write("ffn.weft", kFfn);
  write("x.npy", "\x93NUMPY\x01");
  Outcome outcome = weft("run ffn.weft --input x=x.npy");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("x.npy"));
  write("w.safetensors", std::string(8, '\xff'));
  outcome = weft("run ffn.weft --random-inputs --weights w.safetensors");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("w.safetensors"));
}

TEST_F(CliTest, OutputNamesStayInTheirFolder) {
  write("up.weft", "graph @g(%x: f32[2]) -> (\"../escaped\") {\n  %y = exp %x\n  return %y\n}\n");
  Outcome outcome = weft("run up.weft --random-inputs --output-dir out");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("is a path"));
  EXPECT_FALSE(std::filesystem::exists(path("escaped.npy")));
}

TEST_F(CliTest, UnknownDimsAndDevicesAreRefusedEverywhere) {
  write("ffn.weft", kFfn);
  EXPECT_THAT(weft("run ffn.weft --random-inputs --dim b=3").err, HasSubstr("did you mean 'B'?"));
  EXPECT_THAT(weft("verify ffn.weft --dim B=3 --dim B=4").err, HasSubstr("given as 3 and as 4"));
  for (const char* command :
       {"verify ffn.weft", "compile ffn.weft", "dump ffn.weft", "run ffn.weft --random-inputs"}) {
    Outcome outcome = weft(std::string(command) + " --device vulkan");
    EXPECT_EQ(outcome.code, 1) << command;
    EXPECT_THAT(outcome.err, HasSubstr("no device 'vulkan'")) << command;
  }
}

TEST_F(CliTest, JsonIsOneObjectALineAndNothingElse) {
  write("ffn.weft", kFfn);
  for (const char* command :
       {"models", "models gpt-char", "models gpt-char -o m.weft", "grad ffn.weft --loss loss",
        "dump ffn.weft", "dump ffn.weft --diff simplify", "dump ffn.weft --all", "compile ffn.weft",
        "verify ffn.weft", "run ffn.weft --random-inputs", "devices", "docs ops",
        "completion bash"}) {
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

TEST_F(CliTest, SavesTheWholeModelWhicheverGraphRan) {
  write("two.weft",
        "param @a: f32[2] = normal(1.0)\nparam @b: f32[2] = normal(1.0)\n"
        "graph @f() -> (y) {\n  %y = exp @a\n  return %y\n}\n"
        "graph @g() -> (y) {\n  %y = exp @b\n  return %y\n}\n");
  ASSERT_EQ(weft("run two.weft --graph @f --save-weights w.safetensors").code, 0);
  Outcome outcome = weft("run two.weft --graph @g --weights w.safetensors");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
}

TEST_F(CliTest, IntegersAndNansAreShownAsTheyAre) {
  write("i.weft",
        "graph @g() -> (n, bad) {\n  %n = constant {value = 1234567890123456789, dtype = i64}\n"
        "  %bad = constant {value = [1.0, nan], dtype = f32, shape = [2]}\n  return %n, %bad\n}\n");
  Outcome outcome = weft("run i.weft");
  EXPECT_THAT(outcome.out, HasSubstr("n: i64[] 1234567890123456789"));
  EXPECT_THAT(outcome.out, HasSubstr("1 of 2 elements are NaN"));
}

TEST_F(CliTest, TheRooflineHasTheFieldsOfABenchmark) {
  Outcome outcome = weft("bench roofline --threads 1 --repeat 1 --json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  std::istringstream lines(outcome.out);
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    nlohmann::json result = nlohmann::json::parse(line);
    for (const char* field :
         {"case", "device", "threads", "median_ms", "min_ms", "gflops", "extra_mb", "compile_ms"}) {
      EXPECT_TRUE(result.contains(field)) << field;
    }
  }
  EXPECT_EQ(count, 3);
}

TEST_F(CliTest, CompletionScriptsNameTheCommands) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    Outcome outcome = weft(std::string("completion ") + shell);
    EXPECT_EQ(outcome.code, 0);
    EXPECT_THAT(outcome.out, HasSubstr("verify"));
  }
  EXPECT_EQ(weft("completion bash > c.sh && bash -n c.sh").code, 0);
}

TEST_F(CliTest, DevicesSayWhatTheyAre) {
  Outcome outcome = weft("devices --json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("\"name\":\"oracle\""));
}

}  // namespace
}  // namespace weft
