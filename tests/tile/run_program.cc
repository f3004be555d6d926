// SPDX-License-Identifier: Apache-2.0
#include "tests/tile/run_program.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ir/text/text.h"
#include "ir/tile/expand.h"
#include "ir/tile/text.h"

namespace weft::tile {
namespace {

Result<Tensor> unwritten(const Buffer& buffer, const DimBinding& dims) {
  std::vector<int64_t> shape;
  for (const Dim& dim : buffer.dims) {
    std::optional<int64_t> size = dim.evaluate(dims);
    if (!size) return error(Loc{}, "no size for ", dim);
    shape.push_back(*size);
  }
  Tensor made = Tensor::zeros(buffer.dtype, shape);
  for (double& x : made.reals) x = std::nan("");
  for (int64_t& x : made.integers) x = buffer.dtype == DType::boolean ? 1 : 77;
  return made;
}

// On tensors by name; those that are not there yet are made.
Status run_on(const Program& program, const DimBinding& dims, TensorMap& tensors) {
  std::vector<BoundBuffer> bound;
  for (const Buffer& buffer : program.buffers) {
    auto found = tensors.find(buffer.name);
    if (found == tensors.end()) {
      WEFT_TRY(Tensor made, unwritten(buffer, dims));
      found = tensors.emplace(buffer.name, std::move(made)).first;
    }
    bound.push_back({&found->second, 0});
  }
  return interpret(program, dims, bound);
}

void keep_outputs(const Program& program, TensorMap& tensors) {
  for (const Buffer& buffer : program.buffers) {
    if (buffer.mode == Buffer::in) tensors.erase(buffer.name);
  }
}

Program read_back(const Program& program) {
  std::string text = print(program);
  Result<Program> again = parse("printed", text);
  EXPECT_TRUE(again.ok()) << text << render(again.diagnostics());
  if (!again.ok()) return program;
  EXPECT_EQ(print(*again), text);
  EXPECT_EQ(key(*again), key(program));
  return *std::move(again);
}

}  // namespace

Result<TensorMap> run_program(const Program& program, const DimBinding& dims,
                              const TensorMap& inputs) {
  Status sound = verify(program);
  EXPECT_TRUE(sound.ok()) << print(program) << render(sound.diagnostics());
  if (!sound.ok()) return std::move(sound).take_error();
  TensorMap tensors = inputs;
  WEFT_TRY_STATUS(run_on(read_back(program), dims, tensors));
  keep_outputs(program, tensors);
  Expanded expanded = expand_accumulate(program);
  if (expanded.programs.size() == 1) return tensors;

  TensorMap in_parts = inputs;
  for (const Program& part : expanded.programs) {
    Status part_sound = verify(part);
    EXPECT_TRUE(part_sound.ok()) << print(part) << render(part_sound.diagnostics());
    WEFT_TRY_STATUS(run_on(read_back(part), dims, in_parts));
  }
  for (const auto& [name, tensor] : tensors) {
    SCOPED_TRACE("expanded " + name);
    expect_close(in_parts.at(name), tensor);
  }
  return tensors;
}

Program kernel(const std::string& text) {
  Result<Program> program = parse("test", text);
  EXPECT_TRUE(program.ok()) << text << render(program.diagnostics());
  return program.ok() ? *std::move(program) : Program{};
}

Tensor random_tensor(std::mt19937_64& random, std::vector<int64_t> shape, double low, double high) {
  Tensor made = Tensor::zeros(DType::f32, std::move(shape));
  std::uniform_real_distribution<double> number(low, high);
  for (double& x : made.reals) x = number(random);
  return made;
}

Tensor integers(DType dtype, std::vector<int64_t> shape, std::vector<int64_t> values) {
  Tensor made = Tensor::zeros(dtype, std::move(shape));
  made.integers = std::move(values);
  return made;
}

TensorMap oracle(const std::string& module, const TensorMap& inputs) {
  Result<Module> parsed = weft::parse("oracle", module);
  EXPECT_TRUE(parsed.ok()) << render(parsed.diagnostics());
  if (!parsed.ok()) return {};
  Result<OracleResult> result = run_oracle(*parsed, parsed->graphs[0], inputs, {});
  EXPECT_TRUE(result.ok()) << render(result.diagnostics());
  return result.ok() ? result->outputs : TensorMap{};
}

void expect_close(const Tensor& actual, const Tensor& expected, double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (int64_t i = 0; i < expected.size(); ++i) {
    double a = actual.at(i);
    double e = expected.at(i);
    bool same = (std::isnan(a) && std::isnan(e)) || a == e ||
                std::fabs(a - e) <= tolerance * (1 + std::fabs(e));
    ASSERT_TRUE(same) << "element " << i << ": " << a << " instead of " << e;
  }
}

void expect_close(const TensorMap& actual, const TensorMap& expected, double tolerance) {
  for (const auto& [name, tensor] : expected) {
    SCOPED_TRACE(name);
    ASSERT_TRUE(actual.contains(name));
    expect_close(actual.at(name), tensor, tolerance);
  }
}

}  // namespace weft::tile
