// The reverse sweep, @backward and @train_step.
// SPDX-License-Identifier: Apache-2.0
#include "passes/autodiff.h"

#include <gmock/gmock.h>

#include "passes/pass.h"
#include "tests/passes/oracle_support.h"

namespace weft::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kTied = R"(module "tied" {
  param @w: f64[3, 2] = ones
  param @b: f64[2] = zeros
  graph @forward(%i: i32[4], %x: f64[4, 3]) -> (y, loss) {
    %e = gather @w, %i loc "embed"
    %h = matmul %x, @w loc "head.proj"
    %a = add %h, @b loc "head.proj"
    %y = mul %a, %e loc "head.gate"
    %loss = mean %y {axes = [0, 1]}
    return %y, %loss
  }
})";

std::vector<std::string> outputs_of(const Graph& graph) {
  std::vector<std::string> names;
  for (const Output& output : graph.outputs) names.push_back(output.name);
  return names;
}

std::string failure(const std::string& text, const GradRequest& request) {
  Module module = must_parse(text);
  size_t graphs = module.graphs.size();
  Status status = add_backward(module, request);
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(module.graphs.size(), graphs);
  return render(status.diagnostics());
}

TEST(Autodiff, BackwardReturnsTheLossThenTheGradients) {
  Module module = must_parse(kTied);
  ASSERT_TRUE(add_backward(module, {"", "loss", {}, ""}).ok());
  const Graph& backward = *module.find_graph("backward");
  EXPECT_THAT(outputs_of(backward), ElementsAre("loss", "grad.w", "grad.b"));
  ASSERT_EQ(backward.inputs().size(), 2u);
  EXPECT_EQ(backward.input_name(backward.inputs()[0]), "i");
  EXPECT_EQ(backward.input_name(backward.inputs()[1]), "x");
  EXPECT_TRUE(backward.updates.empty());
  EXPECT_TRUE(verify(module).ok());
}

TEST(Autodiff, TheResultPrintsAndParsesBack) {
  Module module = must_parse(kTied);
  ASSERT_TRUE(add_backward(module, {"", "loss", {}, "adamw"}).ok());
  std::string text = print(module);
  EXPECT_EQ(print(must_parse(text)), text);
  EXPECT_THAT(text, HasSubstr("%grad.w = add "));
  EXPECT_THAT(text, HasSubstr("state @optimizer.m.w: f64[3, 2] = zeros"));
}

TEST(Autodiff, TiedWeightsAccumulate) {
  check_gradients(kTied, {{"i", integers({4}, {2, 0, 2, 1})}, {"x", spread_reals({4, 3})}},
                  {{"w", spread_reals({3, 2}, 2)}, {"b", spread_reals({2}, 3)}});
}

TEST(Autodiff, RequestedNamesKeepTheirOrder) {
  Module module = must_parse(kTied);
  ASSERT_TRUE(add_backward(module, {"@forward", "loss", {"%x", "@w"}, ""}).ok());
  EXPECT_THAT(outputs_of(*module.find_graph("backward")), ElementsAre("loss", "grad.x", "grad.w"));
}

TEST(Autodiff, ProvenanceSurvives) {
  Module module = must_parse(kTied);
  ASSERT_TRUE(add_backward(module, {"", "loss", {}, ""}).ok());
  const Graph& backward = *module.find_graph("backward");
  int products = 0;
  for (const Node& node : backward.nodes()) {
    if (node.op != Op::matmul) continue;
    ++products;
    EXPECT_THAT(node.origin, ElementsAre("head.proj"));
  }
  EXPECT_EQ(products, 2);
}

TEST(Autodiff, PathsEndAtIntegersAndSteps) {
  std::string text = R"(graph @f(%x: f64[3], %y: f64[3]) -> (loss) {
  %i = cast %x {dtype = i32}
  %j = cast %i {dtype = f64}
  %k = floor %x
  %s = add %j, %k
  %p = mul %s, %y
  %loss = sum %p {axes = [0]}
  return %loss
})";
  Tensor x = reals({3}, {1.5, 2.5, -3.5});
  TensorMap outputs = check_gradients(text, {{"x", x}, {"y", reals({3}, {1, 2, 3})}});
  expect_near(outputs["grad.x"], reals({3}, {0, 0, 0}), 0, "x");
  expect_near(outputs["grad.y"], reals({3}, {2, 4, -7}), 0, "y");
}

TEST(Autodiff, TheLossItselfHasTheGradientOne) {
  std::string text = "graph @f(%loss: f32[], %x: f32[2]) -> (loss) {\n  return %loss\n}";
  Module module = must_parse(text);
  ASSERT_TRUE(add_backward(module, {"", "loss", {}, ""}).ok());
  TensorMap inputs = {{"loss", Tensor::scalar(DType::f32, 5)},
                      {"x", Tensor::zeros(DType::f32, {2})}};
  TensorMap outputs = must_run(module, "backward", inputs).outputs;
  EXPECT_EQ(outputs["grad.loss"].at(0), 1);
  EXPECT_EQ(outputs["grad.x"].at(1), 0);
}

TEST(Autodiff, GradientsOfGradients) {
  Module module = must_parse(R"(graph @f(%x: f64[3]) -> (loss) {
  %t = tanh %x
  %q = mul %t, %x
  %p = softmax %q
  %s = mul %p, %t
  %loss = sum %s {axes = [0]}
  return %loss
})");
  Graph& graph = module.graphs[0];
  Value x = graph.inputs()[0];
  Emitter b(module, graph);
  Result<std::vector<Value>> first = differentiate(b, graph.outputs[0].value, {x});
  ASSERT_TRUE(first.ok());
  Value inner = (*first)[0];
  Value squares = b.sum({b.mul({inner, inner})}, {{"axes", std::vector<int64_t>{0}}});
  graph.outputs = {{"loss", squares}};
  check_gradients(print(module), {{"x", reals({3}, {0.3, -0.7, 1.1})}});
}

TEST(Autodiff, AnOpWithoutGradientIsNamedWithItsPath) {
  std::string message = failure(R"(graph @f(%w: f32[2], %g: f32[2], %v: f32[2]) -> (loss) {
  %new, %velocity = sgd %w, %g, %v, 0.1
  %scaled = mul %new, 2.0
  %loss = sum %scaled {axes = [0]}
  return %loss
})",
                                {"", "loss", {"w"}, ""});
  EXPECT_THAT(message, HasSubstr("sgd has no gradient, but %w reaches the loss through it: "
                                 "%loss <- %scaled <- %new"));
  EXPECT_THAT(message, HasSubstr("hint: leave %w out of --wrt"));
  EXPECT_THAT(message, HasSubstr("test.weft:2:"));
}

TEST(Autodiff, WrongRequestsSaySo) {
  EXPECT_THAT(failure(kTied, {"", "los", {}, ""}), HasSubstr("did you mean 'loss'"));
  EXPECT_THAT(failure(kTied, {"forwrd", "loss", {}, ""}), HasSubstr("did you mean 'forward'"));
  EXPECT_THAT(failure(kTied, {"", "y", {}, ""}),
              HasSubstr("f64[4, 2]; a gradient needs a float scalar"));
  EXPECT_THAT(failure(kTied, {"", "loss", {"@x"}, ""}), HasSubstr("no parameter or input '@x'"));
  EXPECT_THAT(failure(kTied, {"", "loss", {"i"}, ""}),
              HasSubstr("'i' has type i32[4]; only floats"));
  EXPECT_THAT(failure(kTied, {"", "loss", {"w", "@w"}, ""}), HasSubstr("'grad.w' twice"));
  EXPECT_THAT(failure(kTied, {"", "loss", {}, "adamm"}), HasSubstr("no optimizer 'adamm'"));
  EXPECT_THAT(failure(kTied, {"", "loss", {"%x"}, "sgd"}), HasSubstr("no parameter for sgd"));
}

TEST(Autodiff, AModuleIsDifferentiatedOnce) {
  Module module = must_parse(kTied);
  ASSERT_TRUE(add_backward(module, {"", "loss", {}, ""}).ok());
  Status again = add_backward(module, {"forward", "loss", {}, ""});
  ASSERT_FALSE(again.ok());
  EXPECT_THAT(render(again.diagnostics()), HasSubstr("already has a graph @backward"));
}

TEST(Autodiff, ThePassDoesWhatTheOptionsAsk) {
  Module module = must_parse(kTied);
  PassOptions options;
  EXPECT_FALSE(autodiff(module, options).value());
  options.grad = GradRequest{"", "loss", {}, ""};
  EXPECT_TRUE(autodiff(module, options).value());
  EXPECT_NE(module.find_graph("backward"), nullptr);
}

constexpr const char* kLine = R"(module "line" {
  param @a: f64[] = ones
  state @calls: i32[] = zeros
  graph @forward(%x: f64[]) -> (loss) {
    %loss = mul @a, %x
    %n = add @calls, 1
    update @calls = %n
    return %loss
  }
})";

TensorMap line_storage() {
  TensorMap storage;
  for (const char* name : {"a", "optimizer.m.a", "optimizer.v.a", "optimizer.velocity.a"}) {
    storage[name] = Tensor::scalar(DType::f64, std::string(name) == "a" ? 2 : 0);
  }
  for (const char* name : {"calls", "optimizer.step"}) storage[name] = integers({}, {0});
  return storage;
}

TensorMap train_line(const std::string& optimizer) {
  Module module = must_parse(kLine);
  Status added = add_backward(module, {"", "loss", {}, optimizer});
  EXPECT_TRUE(added.ok()) << render(added.diagnostics());
  EXPECT_TRUE(verify(module).ok()) << render(verify(module).diagnostics());
  EXPECT_TRUE(module.find_graph("backward")->updates.empty());
  TensorMap storage = line_storage();
  for (auto it = storage.begin(); it != storage.end();) {
    it = module.find_storage(it->first) == nullptr ? storage.erase(it) : std::next(it);
  }
  TensorMap inputs = {{"x", Tensor::scalar(DType::f64, 3)},
                      {"lr", Tensor::scalar(DType::f32, 0.25)}};
  OracleResult result = must_run(module, "train_step", inputs, storage);
  EXPECT_EQ(result.outputs.size(), 1u);
  EXPECT_EQ(result.outputs["loss"].at(0), 6);
  return result.updates;
}

TEST(TrainStep, SgdStepsAgainstTheGradient) {
  TensorMap updates = train_line("sgd");
  EXPECT_EQ(updates.size(), 4u);
  EXPECT_EQ(updates["a"].at(0), 2 - 0.25 * 3);
  EXPECT_EQ(updates["optimizer.velocity.a"].at(0), 3);
  EXPECT_EQ(updates["optimizer.step"].at(0), 1);
  EXPECT_EQ(updates["calls"].at(0), 1);
}

TEST(TrainStep, AdamsFirstStepHasTheSizeOfTheLearningRate) {
  TensorMap updates = train_line("adam");
  EXPECT_NEAR(updates["a"].at(0), 2 - 0.25, 1e-8);
  EXPECT_NEAR(updates["optimizer.m.a"].at(0), 0.1 * 3, 1e-12);
  EXPECT_NEAR(updates["optimizer.v.a"].at(0), 0.02 * 9, 1e-12);
  EXPECT_NEAR(train_line("adamw")["a"].at(0), 2 - 0.25 - 0.25 * 0.01 * 2, 1e-8);
}

TEST(TrainStep, TakenNamesAreErrors) {
  std::string step = kLine;
  step.insert(step.find("  state"), "  state @optimizer.step: i32[] = zeros\n");
  EXPECT_THAT(failure(step, {"", "loss", {}, "sgd"}), HasSubstr("@optimizer.step already exists"));
  std::string twice = kLine;
  twice.replace(twice.find("update @calls = %n"), 18, "update @a = %loss");
  EXPECT_THAT(failure(twice, {"", "loss", {}, "sgd"}), HasSubstr("@a is updated by"));
  std::string rate = kLine;
  rate.replace(rate.find("%x: f64[]"), 9, "%x: f64[], %lr: f64[]");
  EXPECT_THAT(failure(rate, {"", "loss", {}, "sgd"}), HasSubstr("takes an input 'lr'"));
}

}  // namespace
}  // namespace weft::test
