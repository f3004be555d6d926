// SPDX-License-Identifier: Apache-2.0
#include "driver/bench/cases.h"

#include <algorithm>

#include "ir/text/text.h"

namespace weft {
namespace {

struct Gemm {
  int64_t m, n, k;
};
constexpr Gemm kGemms[] = {{512, 512, 512},    {2048, 512, 512}, {2048, 2048, 512},
                           {4096, 10000, 128}, {1, 512, 2048},   {16, 768, 3072}};

Result<BenchModel> from_text(const std::string& text) {
  BenchModel model;
  WEFT_TRY(model.module, parse("bench.weft", text));
  return model;
}

// "f32[2, 3]"
std::string type(DType dtype, const Shape& shape) { return Type{dtype, shape}.str(); }

std::string suffix(DType dtype) {
  return dtype == DType::f32 ? "" : "_" + std::string(name(dtype));
}

BenchCase gemm_case(const Gemm& g, const std::string& form, DType dtype) {
  std::string sizes = cat(g.m, "x", g.n, "x", g.k);
  BenchCase result;
  result.group = "gemm";
  result.flops = 2.0 * static_cast<double>(g.m * g.n * g.k);
  std::string x = type(dtype, {g.m, g.k});
  std::string w = type(dtype, {g.k, g.n});
  std::string text;
  if (form == "constB") {
    result.name = cat("gemm_", sizes, "_constB");
    text = cat("param @w: ", w, " = normal(1.0)\ngraph @g(%x: ", x,
               ") -> (y) {\n  %y = matmul %x, @w\n  return %y\n}\n");
  } else {
    result.name = form.empty() ? "gemm_" + sizes : cat("gemm_", form, "_", sizes);
    std::string turned;
    std::string left = "%x";
    std::string right = "%w";
    if (form == "nt") {
      w = type(dtype, {g.n, g.k});
      right = "%t";
      turned = "  %t = transpose %w {perm = [1, 0]}\n";
    } else if (form == "tn") {
      x = type(dtype, {g.k, g.m});
      left = "%t";
      turned = "  %t = transpose %x {perm = [1, 0]}\n";
    }
    text = cat("graph @g(%x: ", x, ", %w: ", w, ") -> (y) {\n", turned, "  %y = matmul ", left,
               ", ", right, "\n  return %y\n}\n");
  }
  result.name += suffix(dtype);
  result.build = [text] { return from_text(text); };
  return result;
}

BenchCase rows_case(const std::string& name, const std::string& text, double elements,
                    double tensors, DType dtype) {
  BenchCase result;
  result.name = name + suffix(dtype);
  result.group = "rows";
  result.bytes = elements * tensors * byte_size(dtype);
  result.build = [text] { return from_text(text); };
  return result;
}

void add_rows(std::vector<BenchCase>& cases, DType dtype) {
  constexpr double kRows = 8192.0 * 512;
  std::string rows = type(dtype, {8192, 512});
  std::string d(name(dtype));
  cases.push_back(
      rows_case("rows_softmax_8192x512",
                cat("graph @g(%x: ", rows, ") -> (y) {\n  %y = softmax %x\n", "  return %y\n}\n"),
                kRows, 2, dtype));
  cases.push_back(rows_case("rows_layer_norm_8192x512",
                            cat("param @gain: ", d, "[512] = ones\nparam @bias: ", d,
                                "[512] = zeros\n", "graph @g(%x: ", rows,
                                ") -> (y) {\n  %y = layer_norm %x, @gain, @bias\n  return %y\n}\n"),
                            kRows, 2, dtype));
  constexpr double kElements = 16777216;
  std::string flat = d + "[16777216]";
  cases.push_back(
      rows_case("elementwise_add_gelu_64mb",
                cat("graph @g(%x: ", flat, ", %y: ", flat, ") -> (z) {\n  %s = add %x, %y\n",
                    "  %z = gelu %s {approximate = \"tanh\"}\n  return %z\n}\n"),
                kElements, 3, dtype));
}

}  // namespace

std::vector<BenchCase> bench_cases(DType dtype) {
  std::vector<BenchCase> cases;
  for (const char* form : {"", "constB", "nt", "tn"}) {
    for (const Gemm& g : kGemms) cases.push_back(gemm_case(g, form, dtype));
  }
  for (BenchCase& entry : attention_cases(dtype)) cases.push_back(std::move(entry));
  add_rows(cases, dtype);
  if (dtype != DType::f32) return cases;
  for (BenchCase& layer : layer_cases()) cases.push_back(std::move(layer));
  for (BenchCase& model : model_cases()) cases.push_back(std::move(model));
  return cases;
}

std::vector<std::string> bench_groups() {
  std::vector<std::string> groups;
  for (const BenchCase& entry : bench_cases(DType::f32)) {
    if (std::ranges::find(groups, entry.group) == groups.end()) groups.push_back(entry.group);
  }
  return groups;
}

Result<std::vector<BenchCase>> choose_cases(const std::string& wanted, std::vector<DType> dtypes) {
  for (DType dtype : {DType::f16, DType::bf16}) {
    if (wanted.ends_with(suffix(dtype))) dtypes = {dtype};
  }
  std::vector<BenchCase> chosen;
  std::vector<std::string> names = bench_groups();
  for (DType dtype : dtypes) {
    const size_t before = chosen.size();
    for (BenchCase& entry : bench_cases(dtype)) {
      names.push_back(entry.name);
      if (entry.group == wanted || entry.name == wanted || entry.name == wanted + suffix(dtype)) {
        chosen.push_back(std::move(entry));
      }
    }
    if (chosen.size() > before) continue;
    return error({}, "there is no group or case '", wanted, "' of element type ", name(dtype))
        .hint(did_you_mean(wanted, names));
  }
  return chosen;
}

}  // namespace weft
