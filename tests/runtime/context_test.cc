// Contexts: binding, running, state, checks, and what they refuse.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/context.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numeric>
#include <thread>

#include "ir/oracle/oracle.h"
#include "runtime/executable_file.h"
#include "runtime/tensors.h"
#include "tests/runtime/sample.h"

namespace weft {
namespace {

Context make(ContextOptions options = {}) {
  options.poison = true;
  return Context::create(load(sample_executable()), std::move(options)).value();
}

std::string errors(const Diagnostics& diagnostics) { return render(diagnostics); }

std::vector<float> ramp(int64_t count) {
  std::vector<float> values(static_cast<size_t>(count));
  std::iota(values.begin(), values.end(), 1.0f);
  return values;
}

std::vector<float> run(Context& context, const std::string& graph, int64_t b) {
  BoundPtr bound = context.bind(graph, {{"B", b}}).value();
  std::vector<float> x = ramp(b * 3);
  std::vector<float> y(x.size());
  Status status = context.run(bound, std::vector{bytes_of(x)}, std::vector{room_in(y)});
  EXPECT_TRUE(status.ok()) << errors(status.diagnostics());
  return y;
}

std::vector<float> storage(Context& context, const std::string& name) {
  auto bytes = context.storage(name).value();
  std::vector<float> values(bytes.size() / sizeof(float));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

TEST(Context, OneExecutableServesAllSizes) {
  for (int threads : {1, 2, 5}) {
    Context context = make({.threads = threads});
    for (int64_t b : {7, 1, 64, 3, 1000, 2, 5, 31, 999, 8}) {
      for (int again = 0; again < 2; ++again) {
        std::vector<float> x = ramp(b * 3);
        std::vector<float> y = run(context, "forward", b);
        for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y[i], 4 * x[i] + 1);
        y = run(context, "chunks", b);
        for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y[i], 4 * x[i]) << b << " " << i;
      }
    }
    ContextReport report = context.report();
    EXPECT_EQ(report.bindings, 20);
    EXPECT_EQ(report.runs, 40);
    EXPECT_EQ(report.recompilations, 0);
    EXPECT_EQ(report.arena_bytes, 2 * aligned(1000 * 3 * 4));
  }
}

TEST(Context, PeakAndLaunches) {
  Context context = make();
  BoundPtr bound = context.bind("@chunks", {{"B", 10}}).value();
  EXPECT_EQ(bound->launches(), 6);  // chunks of 4, 4 and 2 rows, two launches each
  EXPECT_EQ(bound->arena_bytes, aligned(4 * 3 * 4));
  EXPECT_EQ(context.bind("chunks", {{"B", 3}}).value()->arena_bytes, aligned(3 * 3 * 4));
  EXPECT_EQ(context.bind("chunks", {{"B", 10}}).value(), bound);
  EXPECT_EQ(bound->outputs[0].shape, (std::vector<int64_t>{10, 3}));
}

TEST(Context, OldBindingsAreForgottenNotBroken) {
  Context context = make({.threads = 1});
  BoundPtr first = context.bind("forward", {{"B", 1}}).value();
  for (int64_t b = 2; b < 400; ++b) ASSERT_TRUE(context.bind("forward", {{"B", b}}).ok());
  std::vector<float> x = ramp(3);
  std::vector<float> y(3);
  ASSERT_TRUE(context.run(first, std::vector{bytes_of(x)}, std::vector{room_in(y)}).ok());
  EXPECT_EQ(y, (std::vector<float>{5, 9, 13}));
  EXPECT_NE(context.bind("forward", {{"B", 1}}).value(), first);
}

TEST(Context, StateLivesInTheContext) {
  Context context = make();
  BoundPtr bound = context.bind("count", {}).value();
  std::vector<float> m = storage(context, "m");
  std::vector<float> n(2);
  for (float round = 1; round <= 3; ++round) {
    ASSERT_TRUE(context.run(bound, {}, std::vector{room_in(n)}).ok());
    EXPECT_EQ(n, (std::vector<float>{round, 2 * round}));
  }
  std::vector<float> after = storage(context, "@m");
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(after[i], m[i] + 3 * static_cast<float>(i + 3), 1e-5);
  }
  context.reset_storage(1);
  EXPECT_EQ(storage(context, "m"), m);
  EXPECT_EQ(storage(context, "n"), (std::vector<float>{0, 0}));
  ASSERT_TRUE(context.run(bound, {}, std::vector{room_in(n)}).ok());
  EXPECT_EQ(n, (std::vector<float>{1, 2}));
}

TEST(Context, InitialValuesAreTheOracles) {
  Executable executable = sample_executable();
  executable.storage[2].type.shape = {100, 501};  // m, larger than a piece
  executable.graphs.erase(executable.graphs.begin() + 1);
  executable.interfaces.erase(executable.interfaces.begin() + 1);
  for (Init init : {Init{Init::normal, 0.5}, Init{Init::xavier_uniform, 0}, Init{Init::ones, 0}}) {
    executable.storage[2].init = init;
    Context context = Context::create(load(executable), {.threads = 2, .seed = 42}).value();
    Tensor expected = initial_value(executable.storage[2], 42).value();
    Tensor value = storage_tensor(context, "m").value();
    EXPECT_EQ(value.shape, expected.shape);
    EXPECT_EQ(value.reals, expected.reals);
  }
}

TEST(Context, StorageCanBeSet) {
  Context context = make();
  std::vector<float> w = {10, 20, 30};
  ASSERT_TRUE(context.set_storage("w", std::as_bytes(std::span(w))).ok());
  EXPECT_EQ(run(context, "forward", 1), (std::vector<float>{14, 28, 42}));
  EXPECT_EQ(storage(context, "w"), w);
  EXPECT_NE(errors(context.set_storage("w", std::as_bytes(std::span(w).first(2))).diagnostics())
                .find("@w is f32[3] of 12 bytes, got 8"),
            std::string::npos);
  EXPECT_NE(errors(context.set_storage("ww", {}).diagnostics()).find("did you mean 'w'"),
            std::string::npos);
  EXPECT_FALSE(context.set_storage("@weft.block.0", {}).ok());
}

TEST(Context, StateOfSymbolicSizeKeepsIts) {
  Context context = make();
  EXPECT_NE(errors(context.storage("cache").diagnostics()).find("before a graph is bound"),
            std::string::npos);
  std::vector<float> x = ramp(6);
  BoundPtr bound = context.bind("keep", {{"B", 2}}).value();
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(context.run(bound, std::vector{bytes_of(x)}, {}).ok());
  EXPECT_EQ(storage(context, "cache"), (std::vector<float>{2, 4, 6, 8, 10, 12}));
  EXPECT_NE(errors(context.bind("keep", {{"B", 3}}).diagnostics()).find("[2, 3] since it was"),
            std::string::npos);
  // Nor through another context's binding.
  BoundPtr other = make().bind("keep", {{"B", 3}}).value();
  EXPECT_FALSE(context.run(other, std::vector{bytes_of(x)}, {}).ok());
}

TEST(Context, RefusesWrongSizes) {
  Context context = make();
  auto fault = [&](const std::string& graph, const DimBinding& dims) {
    Result<BoundPtr> bound = context.bind(graph, dims);
    EXPECT_FALSE(bound.ok());
    return errors(bound.diagnostics());
  };
  EXPECT_NE(fault("forward", {}).find("the size of B is not known"), std::string::npos);
  EXPECT_NE(fault("forward", {{"B", 0}}).find("bounds are 1 and 1000"), std::string::npos);
  EXPECT_NE(fault("forward", {{"B", 1001}}).find("B is 1001"), std::string::npos);
  EXPECT_NE(fault("forward", {{"B", 1}, {"T", 1}}).find("no dim is called T"), std::string::npos);
  EXPECT_NE(fault("forwards", {{"B", 1}}).find("did you mean 'forward'"), std::string::npos);
  EXPECT_NE(fault("", {{"B", 1}}).find("5 graphs"), std::string::npos);
}

TEST(Context, AssertedEqualitiesHoldAtBind) {
  Executable executable = sample_executable();
  executable.dims.assert_equal(Dim::symbol("B"), Dim(2) * Dim::symbol("H"));
  Context context = Context::create(load(executable), {}).value();
  EXPECT_EQ(context.bind("forward", {{"H", 3}}).value()->inputs[0].shape[0], 6);
  EXPECT_TRUE(context.bind("forward", {{"B", 4}}).ok());
  EXPECT_FALSE(context.bind("forward", {{"B", 5}}).ok());
  EXPECT_FALSE(context.bind("forward", {{"B", 4}, {"H", 3}}).ok());
}

TEST(Context, SizesThatTheCodeReliesOnHoldAtBind) {
  Executable executable = sample_executable();
  executable.graphs[0].checks = {{4, Dim::symbol("B"), "slice: limit 4 exceeds size B of axis 0"}};
  executable = read_executable("x.weftx", write_executable(executable)).value();
  Context context = Context::create(load(executable), {}).value();
  EXPECT_TRUE(context.bind("forward", {{"B", 4}}).ok());
  Result<BoundPtr> refused = context.bind("forward", {{"B", 3}});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(errors(refused.diagnostics()),
            "error: graph @forward: slice: limit 4 exceeds size B of axis 0 (4 > 3)\n");
}

TEST(Context, RefusesWrongTensors) {
  Context context = make();
  BoundPtr bound = context.bind("forward", {{"B", 2}}).value();
  std::vector<float> x(7);
  std::vector<float> y(7);
  auto fault = [&](ConstBytes in, MutableBytes out) {
    Status status = context.run(bound, std::vector{in}, std::vector{out});
    return status.ok() ? "" : errors(status.diagnostics());
  };
  EXPECT_EQ(fault({x.data(), 24}, {y.data(), 24}), "");
  EXPECT_NE(fault({x.data(), 28}, {y.data(), 24}).find("x has 24 bytes, got 28"),
            std::string::npos);
  EXPECT_NE(fault({x.data(), 24}, {y.data(), 20}).find("y has 24 bytes"), std::string::npos);
  EXPECT_NE(fault({nullptr, 24}, {y.data(), 24}).find("null"), std::string::npos);
  char* odd = reinterpret_cast<char*>(x.data()) + 1;
  EXPECT_NE(fault({odd, 24}, {y.data(), 24}).find("not aligned to f32"), std::string::npos);
  EXPECT_NE(fault({x.data(), 24}, {x.data() + 1, 24}).find("shares memory"), std::string::npos);
  EXPECT_FALSE(context.run(bound, {}, {}).ok());
  EXPECT_FALSE(context.run(nullptr, {}, {}).ok());
  Context other = make();
  EXPECT_FALSE(other.run(bound, std::vector{bytes_of(x)}, std::vector{room_in(y)}).ok());
}

TEST(Context, AFailedCheckNamesKernelValueAndLimit) {
  for (int threads : {1, 3}) {
    Context context = make({.threads = threads});
    BoundPtr bound = context.bind("lookup", {{"B", 300}}).value();
    std::vector<int32_t> index(300, 4);
    std::vector<float> table = ramp(15);
    std::vector<float> rows(900);
    auto go = [&] {
      return context.run(bound, std::vector{bytes_of(index), bytes_of(table)},
                         std::vector{room_in(rows)});
    };
    ASSERT_TRUE(go().ok());
    EXPECT_EQ(rows[899], 30);
    index[120] = -3;
    index[130] = 6;
    index[250] = 7;
    // The first in order, whoever ran it.
    EXPECT_EQ(errors(go().diagnostics()),
              "error: kernel lookup (rows): index of the table: -3 is not between 0 and 4\n");
    index.assign(300, 0);
    EXPECT_TRUE(go().ok());
  }
}

TEST(Context, TimesOfSteps) {
  Context context = make();
  BoundPtr bound = context.bind("forward", {{"B", 100}}).value();
  std::vector<float> x = ramp(300);
  std::vector<float> y(300);
  std::vector<int64_t> times(bound->steps.size());
  ASSERT_EQ(times.size(), 3u);
  ASSERT_TRUE(context.run(bound, std::vector{bytes_of(x)}, std::vector{room_in(y)}, times).ok());
  for (int64_t time : times) EXPECT_GT(time, 0);
  times.pop_back();
  EXPECT_FALSE(context.run(bound, std::vector{bytes_of(x)}, std::vector{room_in(y)}, times).ok());
}

TEST(Context, PoisonShowsAWrongLifetime) {
  Executable executable = sample_executable();
  executable.graphs[0].buffers[4].last = 1;  // b, read in step 2
  for (bool poison : {false, true}) {
    Context context = Context::create(load(executable), {.poison = poison}).value();
    EXPECT_EQ(std::isnan(run(context, "forward", 2)[0]), poison);
  }
}

TEST(Context, ManyThreadsOneExecutable) {
  LoadedPtr loaded = load(sample_executable());
  auto pool = std::make_shared<Pool>(2);
  std::vector<std::thread> threads;
  std::vector<int> good(10, 0);
  for (size_t t = 0; t < good.size(); ++t) {
    threads.emplace_back([&, t] {
      ContextOptions options{.threads = 2};
      if (t % 2 == 0) options.pool = pool;
      Context context = Context::create(loaded, std::move(options)).value();
      for (int64_t b = 1; b < 40; ++b) {
        std::vector<float> y = run(context, "forward", b + static_cast<int64_t>(t));
        good[t] += y.back() == 4 * static_cast<float>((b + static_cast<int64_t>(t)) * 3) + 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, std::vector<int>(10, 39));
}

TEST(Context, FunctionsInThePlaceOfCode) {
  Executable executable = small_executable();
  executable.code.clear();
  std::vector<KernelFn> functions = {sample_twice,  sample_add_row, sample_accumulate,
                                     sample_lookup, sample_twice,   sample_accumulate};
  LoadedPtr loaded = LoadedExecutable::with_functions(executable, functions).value();
  Context context = Context::create(loaded).value();
  EXPECT_EQ(run(context, "forward", 1), (std::vector<float>{5, 9, 13}));
}

TEST(Context, RunsOnTensors) {
  Context context = make();
  Tensor x = Tensor::zeros(DType::f32, {2, 3});
  for (int64_t i = 0; i < 6; ++i) x.set(i, static_cast<double>(i));
  TensorMap outputs = run_on_tensors(context, "forward", {{"x", x}}).value();
  EXPECT_EQ(outputs.at("y").reals, (std::vector<double>{1, 5, 9, 13, 17, 21}));
  EXPECT_FALSE(run_on_tensors(context, "forward", {}).ok());
  EXPECT_FALSE(run_on_tensors(context, "forward", {{"x", x}, {"z", x}}).ok());
  EXPECT_FALSE(run_on_tensors(context, "forward", {{"x", x}}, {{"B", 3}}).ok());
  ASSERT_TRUE(set_storage_tensor(context, "w", Tensor::zeros(DType::f32, {3})).ok());
  EXPECT_EQ(run_on_tensors(context, "forward", {{"x", x}})->at("y").reals[5], 20);
  EXPECT_FALSE(set_storage_tensor(context, "w", Tensor::zeros(DType::f32, {3, 1})).ok());
  EXPECT_FALSE(set_storage_tensor(context, "w", Tensor::zeros(DType::f64, {3})).ok());
}

}  // namespace
}  // namespace weft
