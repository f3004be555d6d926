// The op matrix: every op of the table, on every case, through everything that derives from its
// row.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "ir/graph/rebuild.h"
#include "ir/serial/serial.h"
#include "ir/text/text.h"
#include "passes/decompose.h"
#include "passes/pass.h"
#include "tests/ops/gradient_check.h"
#include "tests/support/case_file.h"
#include "tests/support/same.h"

namespace weft {

// For GoogleTest: an op is printed by its name.
void PrintTo(Op op, std::ostream* out) { *out << name(op); }

namespace {

constexpr size_t kFewestCases = 3;

std::vector<Op> written_ops() {
  std::vector<Op> ops;
  for (const OpInfo& op : all_ops()) {
    if (!op.has(kStructural)) ops.push_back(op.op);
  }
  return ops;
}

class OpMatrix : public testing::TestWithParam<Op> {
 protected:
  void SetUp() override {
    Result<std::vector<OpCase>> loaded = load_cases(name(GetParam()));
    ASSERT_TRUE(loaded.ok()) << render(loaded.diagnostics());
    cases_ = std::move(loaded).value();
  }

  // Calls `check(case, module)` for each case that parses; one that does not is a failure.
  template <class Check>
  void for_each_case(const Check& check) const {
    for (const OpCase& c : cases_) {
      SCOPED_TRACE(c.name);
      Result<Module> module = parse(c.name, c.graph);
      ASSERT_TRUE(module.ok()) << render(module.diagnostics());
      check(c, *module);
    }
  }

  const OpInfo& op() const { return info(GetParam()); }
  bool has_gradient() const { return op().gradient != "zero" && op().gradient != "none"; }

  std::vector<OpCase> cases_;
};

Result<TensorMap> run(const Module& module, const TensorMap& inputs,
                      std::string_view graph_name = "case") {
  const Graph* graph = module.find_graph(graph_name);
  if (graph == nullptr) return error({}, "there is no graph @", graph_name);
  WEFT_TRY(OracleResult result, run_oracle(module, *graph, inputs, {}));
  return result.outputs;
}

// The nodes of a module that are of one op.
std::vector<const Node*> nodes_of(const Module& module, Op op) {
  std::vector<const Node*> found;
  for (const Graph& graph : module.graphs) {
    for (const Node& node : graph.nodes()) {
      if (node.op == op) found.push_back(&node);
    }
  }
  return found;
}

TEST_P(OpMatrix, IsDocumented) { EXPECT_FALSE(op().meaning.empty()); }

TEST_P(OpMatrix, HasCases) { EXPECT_GE(cases_.size(), kFewestCases); }

TEST_P(OpMatrix, HasCasesForEveryElementType) {
  DTypeSet covered = 0;
  for_each_case([&](const OpCase&, const Module& module) {
    const Graph& graph = module.graphs.front();
    for (const Node* node : nodes_of(module, GetParam())) {
      const Type& type = node->operands.empty() ? node->types[0] : graph.type(node->operands[0]);
      covered |= set_of(type.dtype);
    }
  });
  EXPECT_EQ(op().dtypes & ~covered, 0u) << "no case for " << describe(op().dtypes & ~covered);
}

// An operand that is a float in any case is differentiated in some case.
TEST_P(OpMatrix, HasGradientCasesForEveryOperand) {
  if (!has_gradient()) return;
  std::set<size_t> floats, checked;
  for_each_case([&](const OpCase& c, const Module& module) {
    const Graph& graph = module.graphs.front();
    for (const Node* node : nodes_of(module, GetParam())) {
      for (size_t i = 0; i < node->operands.size(); ++i) {
        const Node& operand = graph.node(node->operands[i]);
        if (operand.op != Op::input || !is_float(operand.types[0].dtype)) continue;
        const std::string& input = operand.attrs.text("name");
        floats.insert(i);
        if (std::count(c.differentiable.begin(), c.differentiable.end(), input) > 0) {
          checked.insert(i);
        }
      }
    }
  });
  EXPECT_FALSE(floats.empty());
  EXPECT_EQ(checked, floats);
}

TEST_P(OpMatrix, OracleAgreesWithNumPy) {
  for_each_case([&](const OpCase& c, const Module& module) {
    Result<TensorMap> outputs = run(module, c.inputs);
    if (!c.error.empty()) {
      ASSERT_FALSE(outputs.ok());
      EXPECT_NE(render(outputs.diagnostics()).find(c.error), std::string::npos)
          << render(outputs.diagnostics());
      return;
    }
    ASSERT_TRUE(outputs.ok()) << render(outputs.diagnostics());
    EXPECT_TRUE(same(compare(c.outputs, *outputs, RunBy::oracle, DType::f64, c.zero_sign)));
  });
}

// `rewritten` is `module` after passes: it must compute the same, or fail where it did.
void expect_same(const Module& module, const Module& rewritten, const TensorMap& inputs,
                 std::string_view graph = "case") {
  Result<TensorMap> before = run(module, inputs, graph);
  Result<TensorMap> after = run(rewritten, inputs, graph);
  ASSERT_EQ(before.ok(), after.ok()) << render(after.diagnostics()) << print(rewritten);
  if (!before.ok()) return;
  DType narrowest = narrowest_float(*module.find_graph(graph));
  EXPECT_TRUE(same(compare(*before, *after, RunBy::rewritten, narrowest))) << print(rewritten);
}

void expect_pipeline_keeps(const Module& module, const TensorMap& inputs,
                           std::string_view graph = "case") {
  Module rewritten = module;
  auto records = run_pipeline(rewritten, {});
  ASSERT_TRUE(records.ok()) << render(records.diagnostics());
  expect_same(module, rewritten, inputs, graph);
}

TEST_P(OpMatrix, DecompositionAgreesWithOracle) {
  if (!op().composite()) return;
  for_each_case([&](const OpCase& c, const Module& module) {
    Module rewritten = module;
    Result<bool> changed = decompose(rewritten, {});
    ASSERT_TRUE(changed.ok()) << render(changed.diagnostics());
    EXPECT_TRUE(*changed);
    EXPECT_TRUE(verify(rewritten).ok());
    for (const Node& node : rewritten.graphs.front().nodes()) {
      EXPECT_FALSE(info(node.op).composite()) << name(node.op);
    }
    expect_same(module, rewritten, c.inputs);
    expect_pipeline_keeps(rewritten, c.inputs);
  });
}

TEST_P(OpMatrix, PipelineKeepsTheNumbers) {
  for_each_case(
      [&](const OpCase& c, const Module& module) { expect_pipeline_keeps(module, c.inputs); });
}

TEST_P(OpMatrix, PipelineKeepsTheGradients) {
  for_each_case([&](const OpCase& c, const Module& module) {
    if (c.differentiable.empty()) return;
    Result<WeightedLoss> loss = weighted_loss(module, c, {});
    ASSERT_TRUE(loss.ok()) << render(loss.diagnostics());
    Result<Module> both = loss->with_backward(c.differentiable);
    ASSERT_TRUE(both.ok()) << render(both.diagnostics());
    expect_pipeline_keeps(*both, loss->inputs, "backward");
  });
}

TEST_P(OpMatrix, TextRoundTrip) {
  for_each_case([&](const OpCase& c, const Module& module) {
    const std::string text = print(module);
    Result<Module> again = parse(c.name, text);
    ASSERT_TRUE(again.ok()) << render(again.diagnostics());
    EXPECT_EQ(print(*again), text);
    EXPECT_TRUE(same_graph(module.graphs.front(), again->graphs.front())) << text;
  });
}

TEST_P(OpMatrix, BinaryRoundTrip) {
  for_each_case([&](const OpCase& c, const Module& module) {
    Result<Module> again = read_binary(c.name, write_binary(module));
    ASSERT_TRUE(again.ok()) << render(again.diagnostics());
    EXPECT_EQ(print(*again), print(module));
  });
}

// Relative to the largest element; the floor is for gradients that are 0 throughout.
std::optional<Difference> compare_slopes(const Tensor& expected, const Tensor& actual,
                                         double relative) {
  constexpr double kFloor = 1e-4;
  return compare(expected, actual,
                 {.absolute = relative * std::max(largest_finite(expected), kFloor)});
}

TEST_P(OpMatrix, GradientAgreesWithDifferences) {
  for_each_case([&](const OpCase& c, const Module& module) {
    if (c.differentiable.empty()) return;
    Result<WeightedLoss> loss = weighted_loss(module, c, {});
    ASSERT_TRUE(loss.ok()) << render(loss.diagnostics());
    Result<TensorMap> gradients = loss->gradients(c.differentiable);
    ASSERT_TRUE(gradients.ok()) << render(gradients.diagnostics());
    for (const std::string& input : c.differentiable) {
      Result<Tensor> slopes = loss->differences(input);
      ASSERT_TRUE(slopes.ok()) << render(slopes.diagnostics());
      EXPECT_TRUE(same(compare_slopes(*slopes, gradients->at(input), kGradientTolerance))) << input;
    }
  });
}

TEST_P(OpMatrix, GradientIsTheExpectedOne) {
  for_each_case([&](const OpCase& c, const Module& module) {
    if (c.grads.empty()) return;
    std::vector<std::string> wrt;
    for (const auto& [input, gradient] : c.grads) wrt.push_back(input);
    Result<WeightedLoss> loss = weighted_loss(module, c, c.weights);
    ASSERT_TRUE(loss.ok()) << render(loss.diagnostics());
    Result<TensorMap> gradients = loss->gradients(wrt);
    ASSERT_TRUE(gradients.ok()) << render(gradients.diagnostics());
    for (const auto& [input, expected] : c.grads) {
      EXPECT_TRUE(same(compare_slopes(expected, gradients->at(input), kSlopeTolerance))) << input;
    }
  });
}

// Through an op with the rule `zero` nothing flows, not even NaN.
TEST_P(OpMatrix, NothingFlowsThroughZero) {
  if (op().gradient != "zero") return;
  for_each_case([&](const OpCase& original, const Module& module) {
    if (original.inputs.empty() || !original.error.empty()) return;
    const FloatCase floats = with_float_inputs(module, original);
    std::vector<std::string> wrt;
    for (const auto& [input, tensor] : floats.c.inputs) wrt.push_back(input);
    Result<WeightedLoss> loss = weighted_loss(floats.module, floats.c, {});
    ASSERT_TRUE(loss.ok()) << render(loss.diagnostics());
    Result<TensorMap> gradients = loss->gradients(wrt);
    ASSERT_TRUE(gradients.ok()) << render(gradients.diagnostics());
    for (const auto& [input, gradient] : *gradients) {
      const Tensor& at = floats.c.inputs.at(input);
      EXPECT_TRUE(same(compare(Tensor::zeros(at.dtype, at.shape), gradient, {}))) << input;
    }
  });
}

// Asking for a gradient through an op with the rule `none` is an error that names the op.
TEST_P(OpMatrix, NoGradientIsAnError) {
  if (op().gradient != "none") return;
  for_each_case([&](const OpCase& c, const Module& module) {
    if (!c.error.empty()) return;
    Result<WeightedLoss> loss = weighted_loss(module, c, {});
    ASSERT_TRUE(loss.ok()) << render(loss.diagnostics());
    const Node* node = nodes_of(module, GetParam()).front();
    const Node& operand = module.graphs.front().node(node->operands[0]);
    if (!is_float(operand.types[0].dtype)) return;  // refused for that reason
    const std::string input = operand.attrs.text("name");
    Result<TensorMap> gradients = loss->gradients({input});
    ASSERT_FALSE(gradients.ok());
    EXPECT_NE(render(gradients.diagnostics()).find(name(GetParam())), std::string::npos)
        << render(gradients.diagnostics());
  });
}

INSTANTIATE_TEST_SUITE_P(AllOps, OpMatrix, testing::ValuesIn(written_ops()),
                         [](const testing::TestParamInfo<Op>& p) {
                           return std::string(name(p.param));
                         });

}  // namespace
}  // namespace weft
