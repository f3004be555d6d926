// Names that `weft bench` answers to: scripts and peers rely on them.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "driver/bench/cases.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSubsetOf;

std::vector<std::string> names(const std::string& wanted, const std::vector<DType>& dtypes) {
  const Result<std::vector<BenchCase>> chosen = choose_cases(wanted, dtypes);
  std::vector<std::string> result;
  if (!chosen.ok()) return {render(chosen.diagnostics())};
  for (const BenchCase& entry : *chosen) result.push_back(entry.name);
  return result;
}

TEST(BenchCases, HaveTheNamesOfThePeers) {
  std::vector<std::string> all;
  for (const BenchCase& entry : bench_cases(DType::f32)) all.push_back(entry.name);
  std::vector<std::string> wanted = {"train_tiny",
                                     "train_tiny_drop0.3",
                                     "train_base_small",
                                     "train_base_small_drop0.3",
                                     "train_gpt",
                                     "infer_bert_b1",
                                     "infer_bert_b8",
                                     "rows_softmax_8192x512",
                                     "rows_layer_norm_8192x512",
                                     "elementwise_add_gelu_64mb"};
  for (const char* sizes : {"512x512x512", "2048x512x512", "2048x2048x512", "4096x10000x128",
                            "1x512x2048", "16x768x3072"}) {
    wanted.push_back(cat("gemm_", sizes));
    wanted.push_back(cat("gemm_", sizes, "_constB"));
    wanted.push_back(cat("gemm_nt_", sizes));
    wanted.push_back(cat("gemm_tn_", sizes));
  }
  for (const char* kind : {"sdpa_fwd", "sdpa_fwdbwd", "naive_fwd", "naive_fwdbwd"}) {
    for (int length : {128, 256, 512, 1024, 2048}) {
      wanted.push_back(cat("attn_", kind, "_s", length));
    }
  }
  EXPECT_THAT(wanted, IsSubsetOf(all));
  EXPECT_THAT((std::vector<std::string>{"gemm", "attn", "train_tiny", "train_base_small",
                                        "train_gpt", "infer_bert", "rows"}),
              IsSubsetOf(bench_groups()));
}

TEST(BenchCases, ACaseIsFoundInEachType) {
  EXPECT_THAT(names("gemm_1x512x2048", {DType::f32, DType::bf16}),
              ElementsAre("gemm_1x512x2048", "gemm_1x512x2048_bf16"));
  EXPECT_THAT(names("gemm_1x512x2048_f16", {DType::f32}), ElementsAre("gemm_1x512x2048_f16"));
  EXPECT_EQ(names("rows", {DType::f32, DType::f16}).size(), 6u);
}

TEST(BenchCases, ATypeWithoutTheCaseIsNamed) {
  EXPECT_THAT(names("train_tiny", {DType::f32, DType::f16}),
              ElementsAre(HasSubstr("no group or case 'train_tiny' of element type f16")));
  EXPECT_THAT(names("gem", {DType::f32}), ElementsAre(HasSubstr("did you mean 'gemm'?")));
}

}  // namespace
}  // namespace weft
