// What makes and shows code: compile, dump --kernels, explain; and what runs it.
// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <future>
#include <nlohmann/json.hpp>

#include "tests/support/suite.h"
#include "tests/tools/cli_fixture.h"

namespace weft {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST_F(CliTest, ExplainsWhichKernelRunsEachOp) {
  write("ffn.weft", kFfn);
  Outcome outcome = weft("explain ffn.weft --dim B=16");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("@forward B=16"));
  EXPECT_THAT(outcome.out, HasSubstr("matmul"));
  EXPECT_THAT(outcome.out, HasSubstr("kernel "));
  EXPECT_THAT(outcome.out, HasSubstr("at the peak"));
  nlohmann::json line = nlohmann::json::parse(weft("explain ffn.weft --json").out);
  EXPECT_GT(line["kernels"], 0);
  EXPECT_GT(line["regions"][0]["bytes_read"], 0);
  EXPECT_TRUE(line.contains("not_joined"));
  EXPECT_TRUE(line["peak"].contains("live"));
}

TEST_F(CliTest, ShowsTheTileProgramsOfThePlan) {
  write("ffn.weft", kFfn);
  Outcome outcome = weft("dump ffn.weft --kernels");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("kernel @"));
  EXPECT_THAT(outcome.out, HasSubstr("dot["));
  EXPECT_EQ(weft("dump ffn.weft --after lower").out, outcome.out);
}

TEST_F(CliTest, ShowsThePlan) {
  write("ffn.weft", kFfn);
  Outcome outcome = weft("dump ffn.weft --after plan --graph @forward");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, StartsWith("plan @forward {\n  input %x: f32["));
  EXPECT_THAT(outcome.out, HasSubstr("  output %"));
  EXPECT_THAT(outcome.out, ContainsRegex("  0: @[a-z_0-9]+\\(%x, "));
  Outcome focused = weft("dump ffn.weft --after plan --focus @w");
  EXPECT_EQ(focused.code, 1);
  EXPECT_THAT(focused.err, HasSubstr("hint: --focus and --format are for modules"));
}

TEST_F(CliTest, CompileCountsAttention) {
  ASSERT_EQ(weft("grad gpt-char --loss loss -o train.weft").code, 0);
  auto counts = [&](const std::string& arguments) {
    Outcome outcome = weft("compile " + arguments + " --json");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    nlohmann::json count = nlohmann::json::parse(outcome.out)["attention"];
    return std::vector<int>{count["forward_fused"], count["backward_fused"], count["unfused"]};
  };
  EXPECT_EQ(counts("gpt-char --graph @forward"), (std::vector<int>{4, 0, 0}));
  if (suite() == "quick") return;
  EXPECT_EQ(counts("train.weft --graph @backward"), (std::vector<int>{4, 4, 0}));
  EXPECT_EQ(counts("gpt-char --graph @forward --no-fuse-attention"), (std::vector<int>{0, 0, 4}));
  EXPECT_EQ(counts("gpt-char --graph @forward --skip raise"), (std::vector<int>{0, 0, 4}));
  EXPECT_EQ(counts("gpt-char --graph @forward --skip fuse-attention"), (std::vector<int>{0, 0, 4}));
}

// Both weights and result are wanted: the weights have to be in memory.
constexpr const char* kWeightsWanted =
    "graph @f(%q: f32[T, 8], %k: f32[T, 8], %v: f32[T, 8]) -> (o, p) {\n"
    "  %kt = transpose %k {perm = [1, 0]}\n  %s = matmul %q, %kt\n  %p = softmax %s\n"
    "  %o = matmul %p, %v\n  return %o, %p\n}\n";

TEST_F(CliTest, RequiringFusedAttentionNamesWhatIsInTheWay) {
  write("weights.weft", kWeightsWanted);
  EXPECT_EQ(weft("compile gpt-char --graph @forward --require-fused-attention").code, 0);
  Outcome outcome = weft("compile weights.weft --require-fused-attention -o weights.weftx");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("error: the attention at %p of @f is not fused: "
                                     "the weights %p are used more than once"));
  EXPECT_FALSE(std::filesystem::exists(path("weights.weftx")));
  EXPECT_EQ(weft("compile gpt-char --require-fused-attention --no-fuse-attention").code, 2);
}

TEST_F(CliTest, ExplainListsEveryAttention) {
  write("weights.weft", kWeightsWanted);
  Outcome outcome = weft("explain weights.weft");
  EXPECT_THAT(outcome.out, HasSubstr("attention: 0 forward and 0 backward fused, 1 not\n"
                                     "  %p not fused: the weights %p are used more than once"));
  outcome = weft("explain gpt-char --graph @forward");
  EXPECT_THAT(outcome.out, HasSubstr("attention: 4 forward and 0 backward fused, 0 not\n"));
  EXPECT_THAT(outcome.out, HasSubstr("forward, causal; q f32["));
  EXPECT_THAT(outcome.out, HasSubstr("of scores never stored"));
  nlohmann::json line = nlohmann::json::parse(weft("explain weights.weft --json").out);
  EXPECT_EQ(line["attention"]["list"][0]["fused"], false);
}

TEST_F(CliTest, CompileReportsItsFigures) {
  Outcome outcome = weft("compile gpt-char --graph @forward --json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  nlohmann::json line = nlohmann::json::parse(outcome.out);
  for (const char* field : {"kernels", "bytes", "flops", "compile_ms", "peak_bytes"}) {
    EXPECT_GT(line[field], 0) << field;
  }
}

// docs/performance.md sets these beside other compilers' counts.
TEST_F(CliTest, KernelsOfTransformerTiny) {
  if (suite() == "quick") GTEST_SKIP() << "takes seconds";
  auto launches = [&](const std::string& arguments) -> int {
    Outcome outcome = weft("compile " + arguments + " --json");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return nlohmann::json::parse(outcome.out)["graphs"][0]["kernels"];
  };
  EXPECT_EQ(launches("transformer-tiny --graph @forward"), 80);
  ASSERT_EQ(weft("grad transformer-tiny --loss loss --optimizer adam -o train.weft").code, 0);
  EXPECT_EQ(launches("train.weft --graph @train_step"), 354);
}

#ifdef WEFT_HAS_LLVM
TEST_F(CliTest, TwoProcessesCompileTheSameModel) {
  write("ffn.weft", kFfn);
  auto compile = [&](const std::string& out) { return weft("compile ffn.weft -o " + out).code; };
  std::future<int> other = std::async(std::launch::async, compile, "same.weftx");
  EXPECT_EQ(compile("same.weftx"), 0);
  EXPECT_EQ(other.get(), 0);
  EXPECT_EQ(weft("run same.weftx --random-inputs --dim B=2").code, 0);
}

TEST_F(CliTest, SizesThatASliceCannotHaveAreRefused) {
  write("head.weft",
        "graph @f(%x: f32[T, 8]) -> (y: f32[4, 8]) {\n"
        "  %s = slice %x {starts = [0, 0], limits = [4, 8]}\n  %y = exp %s\n  return %y\n}\n");
  EXPECT_EQ(weft("run head.weft --random-inputs --dim T=4").code, 0);
  Outcome outcome = weft("run head.weft --random-inputs --dim T=3");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("slice: limit 4 exceeds size T of axis 0 (4 > 3)"));
}

TEST_F(CliTest, ACompiledFileRuns) {
  write("ffn.weft", kFfn);
  Outcome compiled = weft("compile ffn.weft -o ffn.weftx --dump-ir ir");
  ASSERT_EQ(compiled.code, 0) << compiled.err;
  int kernels = 0;
  for (const auto& file : std::filesystem::directory_iterator(path("ir/kernels"))) {
    kernels += file.path().extension() == ".s" ? 1 : 0;
  }
  EXPECT_GT(kernels, 0);
  for (int batch : {1, 3, 17}) {
    std::string rest = " --random-inputs --json --dim B=" + std::to_string(batch);
    Outcome oracle = weft("run ffn.weft --device oracle" + rest);
    ASSERT_EQ(oracle.code, 0) << oracle.err;
    double expected = nlohmann::json::parse(oracle.out)["outputs"]["loss"]["value"];
    for (const char* model : {"ffn.weft", "ffn.weftx"}) {
      Outcome outcome = weft(std::string("run ") + model + rest);
      ASSERT_EQ(outcome.code, 0) << outcome.err;
      nlohmann::json line = nlohmann::json::parse(outcome.out);
      EXPECT_EQ(line["device"], "cpu");
      EXPECT_NEAR(line["outputs"]["loss"]["value"], expected, 1e-5 * expected) << model;
    }
  }
}

TEST_F(CliTest, KernelsComeFromTheCache) {
  write("ffn.weft", kFfn);
  auto compiled = [&] { return nlohmann::json::parse(weft("compile ffn.weft --json").out); };
  EXPECT_EQ(compiled()["cached_kernels"], 0);
  EXPECT_EQ(compiled()["cached_kernels"], 0) << "an empty variable: no cache";
  ::setenv("WEFT_CACHE_DIR", path("cache").c_str(), 1);
  EXPECT_EQ(compiled()["cached_kernels"], 0);
  EXPECT_EQ(compiled()["cached_kernels"], compiled()["kernels"]);
  EXPECT_EQ(weft("run ffn.weft --random-inputs --dim B=3 --output-dir first").code, 0);
  EXPECT_EQ(weft("run ffn.weft --random-inputs --dim B=3 --output-dir cached").code, 0);
  EXPECT_EQ(slurp(path("first/y.npy")), slurp(path("cached/y.npy")));
  // A folder that cannot be: silent, but for -v.
  ::setenv("WEFT_CACHE_DIR", path("ffn.weft").c_str(), 1);
  EXPECT_EQ(weft("run ffn.weft --random-inputs --dim B=3 --output-dir compiled").err, "");
  EXPECT_NE(slurp(path("cached/y.npy")), "");
  EXPECT_EQ(slurp(path("cached/y.npy")), slurp(path("compiled/y.npy")));
  EXPECT_THAT(weft("compile ffn.weft -v").err, HasSubstr("note: kernels are not kept: "));
}

TEST_F(CliTest, VerifyTriesEveryKernel) {
  write("ffn.weft", kFfn);
  ASSERT_EQ(weft("grad ffn.weft --loss loss --optimizer adam -o train.weft").code, 0);
  Outcome outcome = weft("verify train.weft --json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  nlohmann::json line = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(line["device"]["graphs"], 3);
  EXPECT_GT(line["device"]["regions"], 3);
}

TEST_F(CliTest, AnotherDeviceThanTheFileIsForIsRefused) {
  write("ffn.weft", kFfn);
  ASSERT_EQ(weft("compile ffn.weft -o ffn.weftx").code, 0);
  Outcome outcome = weft("run ffn.weftx --random-inputs --device oracle");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("is compiled for device cpu"));
}

TEST_F(CliTest, AMatmulIsMeasured) {
  Outcome outcome = weft("bench gemm_1x512x2048 --repeat 1 --threads 1 --json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  nlohmann::json line = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(line["case"], "gemm_1x512x2048");
  EXPECT_GT(line["gflops"], 0);
  EXPECT_GT(line["compile_ms"], 0);
}
#endif

TEST_F(CliTest, ACaseThatDoesNotExistIsNamed) {
  Outcome outcome = weft("bench gem");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("did you mean 'gemm'?"));
}

}  // namespace
}  // namespace weft
