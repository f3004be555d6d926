// SPDX-License-Identifier: Apache-2.0
#include "passes/fold.h"

#include <algorithm>

#include "ir/oracle/eval.h"

namespace weft {
namespace {

constexpr int64_t kMaxResult = 64;     // what a constant may hold
constexpr int64_t kMaxOperand = 4096;  // a filled constant may stand for far more

using Sizes = std::vector<int64_t>;

// Nothing if a dim is symbolic or there are more than `limit` elements.
std::optional<Sizes> static_sizes(const Shape& shape, int64_t limit) {
  Sizes sizes;
  int64_t count = 1;
  for (const Dim& dim : shape) {
    if (!dim.is_constant() || dim.constant() > limit) return std::nullopt;
    sizes.push_back(dim.constant());
    count *= dim.constant();
    if (count > limit) return std::nullopt;
  }
  return sizes;
}

Tensor make_tensor(const Node& constant, Sizes sizes) {
  Tensor tensor = Tensor::zeros(constant.types[0].dtype, std::move(sizes));
  auto copy = [](const auto& numbers, auto& elements) {
    for (size_t i = 0; i < elements.size(); ++i) {
      elements[i] = numbers.size() == 1 ? numbers[0] : numbers[i];
    }
  };
  const Numbers& numbers = constant.attrs.numbers("value");
  if (numbers.real()) {
    copy(std::get<0>(numbers.values), tensor.reals);
  } else {
    copy(std::get<1>(numbers.values), tensor.integers);
  }
  return tensor;
}

// The results of the root on its constant operands, each of the given sizes.
std::optional<Tensor> evaluate(const Match& m, const std::vector<Sizes>& sizes,
                               const Sizes& result_sizes) {
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < sizes.size(); ++i) {
    tensors.push_back(make_tensor(m.out.graph().node(m.root.operands[i]), sizes[i]));
  }
  std::vector<const Tensor*> operands;
  for (const Tensor& tensor : tensors) operands.push_back(&tensor);
  std::vector<Sizes> result_shapes = {result_sizes};
  EvalResult result = eval({m.root, operands, result_shapes, {}});
  if (!result.ok()) return std::nullopt;
  return std::move((*result)[0]);
}

// Equal numbers are written once. Nothing if one would be rounded.
std::optional<Value> emit_constant(Match& m, const Tensor& tensor) {
  DType dtype = m.dtype();
  auto exact = [dtype](double value) { return round_to(dtype, value) == value; };
  if (tensor.size() == 0 || !std::ranges::all_of(tensor.reals, exact)) return std::nullopt;
  auto numbers = [](auto values) {
    auto differs = [&](auto v) {
      return !(Numbers{std::vector{v}} == Numbers{std::vector{values[0]}});
    };
    if (std::ranges::none_of(values, differs)) values.resize(1);
    return Numbers{std::move(values)};
  };
  Numbers value = tensor.real() ? numbers(tensor.reals) : numbers(tensor.integers);
  return m.out.constant({}, {{"value", value}, {"dtype", dtype}, {"shape", m.shape()}});
}

}  // namespace

std::optional<Value> fold_constants(Match& m) {
  if (m.root.operands.empty() || m.root.body != nullptr) return std::nullopt;
  bool filled = true;  // every operand is one number
  for (Value operand : m.root.operands) {
    const Node& node = m.out.graph().node(operand);
    if (node.op != Op::constant) return std::nullopt;
    filled = filled && node.attrs.numbers("value").size() == 1;
  }
  if (filled && info(m.root.op).has(kElementwise)) {
    // One element stands for all, whatever the shape.
    std::optional<Tensor> result = evaluate(m, std::vector<Sizes>(m.root.operands.size()), {});
    return result ? emit_constant(m, *result) : std::nullopt;
  }
  std::vector<Sizes> sizes;
  for (Value operand : m.root.operands) {
    std::optional<Sizes> known = static_sizes(m.out.shape(operand), kMaxOperand);
    if (!known) return std::nullopt;
    sizes.push_back(std::move(*known));
  }
  std::optional<Sizes> result_sizes = static_sizes(m.shape(), kMaxResult);
  if (!result_sizes) return std::nullopt;
  std::optional<Tensor> result = evaluate(m, sizes, *result_sizes);
  return result ? emit_constant(m, *result) : std::nullopt;
}

}  // namespace weft
