// SPDX-License-Identifier: Apache-2.0
#include "tests/support/case_file.h"

#include <limits>
#include <nlohmann/json.hpp>

#include "ir/support/file.h"
#include "test_paths.h"

namespace weft {
namespace {

using Json = nlohmann::json;

constexpr uint64_t kMaxCaseFileBytes = uint64_t{16} << 20;

Result<double> read_real(const Json& json) {
  if (json.is_number()) return json.get<double>();
  if (json == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (json == "inf") return std::numeric_limits<double>::infinity();
  if (json == "-inf") return -std::numeric_limits<double>::infinity();
  return error({}, "expected a number, got ", json.dump());
}

Result<Tensor> read_tensor(const Json& json) {
  std::string dtype_name = json.value("dtype", "");
  std::optional<DType> dtype = parse_dtype(dtype_name);
  if (!dtype) return error({}, "'", dtype_name, "' is not an element type");
  Tensor tensor = Tensor::zeros(*dtype, json.at("shape").get<std::vector<int64_t>>());
  const Json& data = json.at("data");
  if (static_cast<int64_t>(data.size()) != tensor.size()) {
    return error({}, "a tensor of ", tensor.size(), " elements has ", data.size(), " numbers");
  }
  for (size_t i = 0; i < data.size(); ++i) {
    if (tensor.real()) {
      WEFT_TRY(tensor.reals[i], read_real(data[i]));
    } else {
      tensor.integers[i] = data[i].get<int64_t>();
    }
  }
  return tensor;
}

Result<TensorMap> read_tensors(const Json& json, const char* field) {
  TensorMap tensors;
  auto found = json.find(field);
  if (found == json.end()) return tensors;
  for (const auto& [name, value] : found->items()) {
    WEFT_TRY(tensors[name], read_tensor(value));
  }
  return tensors;
}

Result<OpCase> read_case(const Json& json) {
  OpCase c;
  c.name = json.at("name").get<std::string>();
  c.graph = json.at("graph").get<std::string>();
  WEFT_TRY(c.inputs, read_tensors(json, "inputs"));
  WEFT_TRY(c.outputs, read_tensors(json, "outputs"));
  c.error = json.value("error", "");
  if (c.outputs.empty() == c.error.empty()) {
    return error({}, c.name, ": a case has either outputs or an error");
  }
  c.zero_sign = json.value("zero_sign", false);
  c.differentiable = json.value("differentiable", std::vector<std::string>());
  WEFT_TRY(c.weights, read_tensors(json, "weights"));
  WEFT_TRY(c.grads, read_tensors(json, "grads"));
  return c;
}

}  // namespace

Result<std::vector<OpCase>> load_cases(std::string_view op) {
  std::string path = cat(WEFT_SOURCE_DIR, "/tests/ops/cases/", op, ".json");
  WEFT_TRY(std::string text, read_file(path, kMaxCaseFileBytes));
  std::vector<OpCase> cases;
  try {
    Json json = Json::parse(text);
    if (json.at("op") != op) return error({}, path, " is about another op");
    for (const Json& item : json.at("cases")) {
      WEFT_TRY(OpCase c, read_case(item));
      cases.push_back(std::move(c));
    }
  } catch (const Json::exception& e) {
    return error({}, path, ": ", e.what());
  }
  return cases;
}

}  // namespace weft
