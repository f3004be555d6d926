// The cases of `weft bench`: the same shapes, element types and recipes as the peers are measured
// with.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ir/graph/module.h"
#include "ir/oracle/oracle.h"

namespace weft {

// A model to measure: one graph.
struct BenchModel {
  Module module;
  DimBinding dims;
  TensorMap fixed;  // inputs that are not random, such as the learning rate
  bool fuse_attention = true;
};

struct BenchCase {
  std::string name;   // "gemm_512x512x512"
  std::string group;  // "gemm"
  double flops = 0;   // of one call; multiplications and additions count each
  double bytes = 0;   // that one call has to move, where that is its limit
  std::function<Result<BenchModel>()> build;
};

// Groups: gemm, attn, attn_long, attn_window, train_tiny, train_base_small, train_gpt, infer_bert,
// layers, rows. `dtype` is that of gemm, attn and rows.
std::vector<BenchCase> bench_cases(DType dtype);
std::vector<std::string> bench_groups();

// The group or case of this name in each of these types; the name of a case may end with its type:
// "gemm_512x512x512_f16". An error where a type has none.
Result<std::vector<BenchCase>> choose_cases(const std::string& wanted, std::vector<DType> dtypes);

std::vector<BenchCase> attention_cases(DType dtype);
std::vector<BenchCase> layer_cases();
std::vector<BenchCase> model_cases();  // train_*, infer_*

}  // namespace weft
