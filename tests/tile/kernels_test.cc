// Kernels written in the text form against the graph oracle, at awkward sizes and several tile
// sizes.
// SPDX-License-Identifier: Apache-2.0
#include "tests/tile/kernels.h"

#include <gtest/gtest.h>

#include "tests/tile/run_program.h"

namespace weft::tile {
namespace {

// The same kernel with another value of a knob.
Program with_knob(Program program, const std::string& name, int64_t value) {
  for (Knob& knob : program.knobs) {
    if (knob.name == name) knob.value = value;
  }
  return program;
}

TensorMap run(const Program& program, const DimBinding& dims, const TensorMap& inputs) {
  Result<TensorMap> result = run_program(program, dims, inputs);
  EXPECT_TRUE(result.ok()) << render(result.diagnostics());
  return result.ok() ? *result : TensorMap{};
}

TEST(TileKernels, MatmulWithEpilogue) {
  std::mt19937_64 random(1);
  Program program = kernel(kMatmul);
  const std::string graph = R"(
graph @g(%x: f32[M, K], %w: f32[K, N], %b: f32[N], %r: f32[M, N]) -> (y: f32[M, N]) {
  %h = matmul %x, %w
  %z = add %h, %b
  %g = gelu %z {approximate = "none"}
  %y = add %g, %r
  return %y
})";
  for (auto [m, n, k] : {std::array<int64_t, 3>{5, 7, 3},
                         {1, 1, 1},
                         {9, 17, 33},
                         {4, 8, 16},
                         {0, 3, 2},
                         {3, 2, 0}}) {
    TensorMap inputs = {{"x", random_tensor(random, {m, k})},
                        {"w", random_tensor(random, {k, n})},
                        {"b", random_tensor(random, {n})},
                        {"r", random_tensor(random, {m, n})}};
    TensorMap expected = oracle(graph, inputs);
    for (int64_t bm : {1, 3, 64}) {
      for (int64_t bk : {1, 5, 64}) {
        Program chosen = with_knob(with_knob(program, "BM", bm), "BK", bk);
        expect_close(run(chosen, {{"M", m}, {"N", n}, {"K", k}}, inputs), expected, 1e-7);
      }
    }
  }
}

TEST(TileKernels, Softmax) {
  std::mt19937_64 random(2);
  Program program = kernel(R"(
kernel @softmax {
  in %x: f32[M, C]
  out %y: f32[M, C]
  free BR = 4
  axis r: M by BR
  axis c: C full
  grid r
  %v = load %x[r, c]
  %e = exp(%v - reduce.max[c](%v))
  store %y[r, c], %e / reduce.add[c](%e)
})");
  for (auto [m, c] : {std::array<int64_t, 2>{5, 7}, {1, 1}, {8, 3}, {0, 4}}) {
    TensorMap inputs = {{"x", random_tensor(random, {m, c})}};
    TensorMap expected = oracle(
        "graph @g(%x: f32[M, C]) -> (y: f32[M, C]) {\n  %y = softmax %x\n  return %y\n}", inputs);
    for (int64_t br : {1, 3, 8}) {
      expect_close(run(with_knob(program, "BR", br), {{"M", m}, {"C", c}}, inputs), expected);
    }
  }
}

TEST(TileKernels, LayerNorm) {
  std::mt19937_64 random(3);
  Program program = kernel(R"(
kernel @layer_norm {
  in %x: f32[M, C]
  in %g: f32[C]
  in %b: f32[C]
  out %y: f32[M, C]
  out %mu: f32[M]
  free BR = 4
  axis r: M by BR
  axis c: C full
  grid r
  %v = load %x[r, c]
  %n = cast.f32(coord(C))
  %u = reduce.add[c](%v) / %n
  %d = %v - %u
  %s = rsqrt(reduce.add[c](%d * %d) / %n + 1e-05)
  store %y[r, c], %d * %s * load %g[c] + load %b[c]
  store %mu[r], %u
})");
  for (auto [m, c] : {std::array<int64_t, 2>{5, 7}, {1, 1}, {9, 16}}) {
    TensorMap inputs = {{"x", random_tensor(random, {m, c})},
                        {"g", random_tensor(random, {c})},
                        {"b", random_tensor(random, {c})}};
    TensorMap expected = oracle(R"(
graph @g(%x: f32[M, C], %g: f32[C], %b: f32[C]) -> (y: f32[M, C], mu: f32[M]) {
  %y = layer_norm %x, %g, %b {eps = 1e-05}
  %mu = mean %x {axes = [1]}
  return %y, %mu
})",
                                inputs);
    expect_close(run(program, {{"M", m}, {"C", c}}, inputs), expected);
  }
}

TEST(TileKernels, LayerNormBackward) {
  std::mt19937_64 random(4);
  Program program = kernel(kLayerNormBackward);
  const std::string graph = R"(
graph @g(%x: f32[M, C], %dy: f32[M, C], %g: f32[C], %mu: f32[M], %rs: f32[M])
    -> (dx: f32[M, C], dg: f32[C], db: f32[C]) {
  %m1 = reshape %mu {shape = [M, 1]}
  %r1 = reshape %rs {shape = [M, 1]}
  %c = sub %x, %m1
  %h = mul %c, %r1
  %u = mul %dy, %g
  %a = mean %u {axes = [1], keepdims = true}
  %uh = mul %u, %h
  %b = mean %uh {axes = [1], keepdims = true}
  %hb = mul %h, %b
  %d0 = sub %u, %a
  %d1 = sub %d0, %hb
  %dx = mul %d1, %r1
  %th = mul %dy, %h
  %dg = sum %th {axes = [0]}
  %db = sum %dy {axes = [0]}
  return %dx, %dg, %db
})";
  for (auto [m, c] : {std::array<int64_t, 2>{5, 7}, {1, 1}, {33, 4}, {8, 2}}) {
    TensorMap inputs = {{"x", random_tensor(random, {m, c})},
                        {"dy", random_tensor(random, {m, c})},
                        {"g", random_tensor(random, {c})},
                        {"mu", random_tensor(random, {m})},
                        {"rs", random_tensor(random, {m})}};
    TensorMap expected = oracle(graph, inputs);
    for (int64_t bp : {1, 8, 64}) {
      expect_close(run(with_knob(program, "BP", bp), {{"M", m}, {"C", c}}, inputs), expected);
    }
  }
}

TEST(TileKernels, EmbeddingGradientAddsInOrder) {
  std::mt19937_64 random(5);
  Program program = kernel(kEmbeddingGradient);
  TensorMap inputs = {{"ids", integers(DType::i32, {7}, {0, 2, 2, -1, 4, 0, 2})},
                      {"dy", random_tensor(random, {7, 5})},
                      {"dw", random_tensor(random, {5, 5})}};
  Tensor expected = inputs.at("dw");
  for (int64_t n = 0; n < 7; ++n) {
    int64_t id = inputs.at("ids").integers[static_cast<size_t>(n)];
    for (int64_t d = 0; id >= 0 && d < 5; ++d) {
      expected.reals[static_cast<size_t>(id * 5 + d)] +=
          inputs.at("dy").reals[static_cast<size_t>(n * 5 + d)];
    }
  }
  const DimBinding dims = {{"N", 7}, {"D", 5}, {"V", 5}};
  for (int64_t bn : {1, 4, 100}) {
    TensorMap outputs = run(with_knob(program, "BN", bn), dims, inputs);
    expect_close(outputs.at("dw"), expected, 0);
  }
  inputs.at("ids").integers[1] = 5;
  Result<TensorMap> refused = run_program(program, dims, inputs);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(render(refused.diagnostics()).find("index 5 is out of range of axis 0 of %dw"),
            std::string::npos);
}

TEST(TileKernels, AdamInPlace) {
  std::mt19937_64 random(6);
  Program program = kernel(R"(
kernel @adam {
  inout %p: f32[N]
  inout %m: f32[N]
  inout %v: f32[N]
  in %g: f32[N]
  in %lr: f32[]
  in %step: i32[]
  free BN = 16
  axis i: N by BN
  grid i
  %gt = load %g[i]
  %t = cast.f32(load %step[])
  %m0 = load %m[i]
  %v0 = load %v[i]
  %p0 = load %p[i]
  %m1 = 0.9 * %m0 + 0.1 * %gt
  %v1 = 0.98 * %v0 + 0.02 * %gt * %gt
  store %m[i], %m1
  store %v[i], %v1
  %mh = %m1 / (1.0 - pow(f32(0.9), %t))
  %vh = %v1 / (1.0 - pow(f32(0.98), %t))
  store %p[i], %p0 - load %lr[] * %mh / (sqrt(%vh) + 1e-09)
})");
  for (int64_t n : {1, 16, 37}) {
    TensorMap inputs = {
        {"p", random_tensor(random, {n})},         {"g", random_tensor(random, {n})},
        {"m", random_tensor(random, {n})},         {"v", random_tensor(random, {n}, 0, 1)},
        {"lr", Tensor::scalar(DType::f32, 0.125)}, {"step", Tensor::scalar(DType::i32, 3)}};
    TensorMap expected = oracle(R"(
graph @g(%p: f32[N], %g: f32[N], %m: f32[N], %v: f32[N], %lr: f32[], %step: i32[])
    -> (p: f32[N], m: f32[N], v: f32[N]) {
  %a, %b, %c = adam %p, %g, %m, %v, %lr, %step
  return %a, %b, %c
})",
                                inputs);
    expect_close(run(program, {{"N", n}}, inputs), expected, 1e-5);
  }
}

TEST(TileKernels, RunningSumByOne) {
  std::mt19937_64 random(7);
  Program program = kernel(R"(
kernel @cumsum {
  in %x: f32[R, T]
  out %y: f32[R, T]
  free BR = 4
  axis r: R by BR
  axis t: T by 1
  grid r
  %last = loop t carry %s = 0.0 : f32[r] {
    %n = %s + load %x[r, t]
    store %y[r, t], %n
    yield %n
  }
})");
  TensorMap inputs = {{"x", random_tensor(random, {5, 9})}};
  TensorMap expected = oracle(
      "graph @g(%x: f32[R, T]) -> (y: f32[R, T]) {\n  %y = cumsum %x {axis = 1}\n  return %y\n}",
      inputs);
  expect_close(run(program, {{"R", 5}, {"T", 9}}, inputs), expected);
}

TEST(TileKernels, FlashAttention) {
  std::mt19937_64 random(8);
  Program program = kernel(kAttention);
  const std::string graph = R"(
graph @g(%q: f32[B, T, H, D], %k: f32[B, S, H, D], %v: f32[B, S, H, E]) -> (o: f32[B, T, H, E]) {
  %qt = transpose %q {perm = [0, 2, 1, 3]}
  %kt = transpose %k {perm = [0, 2, 3, 1]}
  %vt = transpose %v {perm = [0, 2, 1, 3]}
  %s = matmul %qt, %kt
  %sc = mul %s, 0.5
  %mask = causal_mask {rows = T, cols = S}
  %ms = select %mask, %sc, -inf
  %p = softmax %ms
  %o = matmul %p, %vt
  %ot = transpose %o {perm = [0, 2, 1, 3]}
  return %ot
})";
  for (auto [t, s] : {std::array<int64_t, 2>{5, 5}, {1, 7}, {9, 12}, {4, 4}}) {
    TensorMap inputs = {{"q", random_tensor(random, {2, t, 3, 4})},
                        {"k", random_tensor(random, {2, s, 3, 4})},
                        {"v", random_tensor(random, {2, s, 3, 2})}};
    TensorMap expected = oracle(graph, inputs);
    const DimBinding dims = {{"B", 2}, {"T", t}, {"S", s}, {"H", 3}, {"D", 4}, {"E", 2}};
    for (int64_t bi : {1, 4, 16}) {
      for (int64_t bj : {1, 3, 16}) {
        expect_close(run(with_knob(with_knob(program, "BI", bi), "BJ", bj), dims, inputs),
                     expected);
      }
    }
  }
}

TEST(TileKernels, SerialAxisWithUpdate) {
  std::mt19937_64 random(9);
  Program program = kernel(kSerialUpdate);
  TensorMap inputs = {{"a", random_tensor(random, {8, 3})},
                      {"p", random_tensor(random, {8, 8})},
                      {"dq", Tensor::zeros(DType::f32, {8, 3})}};
  TensorMap expected = oracle(R"(
graph @g(%a: f32[S, D], %p: f32[S, S]) -> (dq: f32[S, D]) {
  %m = causal_mask {rows = S, cols = S}
  %w = select %m, %p, 0.0
  %dq = matmul %w, %a
  return %dq
})",
                              {{"a", inputs.at("a")}, {"p", inputs.at("p")}});
  for (int64_t bj : {1, 3, 8}) {
    TensorMap outputs = run(with_knob(program, "BJ", bj), {{"S", 8}, {"T", 8}, {"D", 3}}, inputs);
    expect_close(outputs.at("dq"), expected.at("dq"));
    EXPECT_EQ(outputs.at("first").integers, (std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7}));
  }
}

TEST(TileKernels, RandomBitsDoNotDependOnTiles) {
  Program program = kernel(R"(
kernel @bits {
  in %rng: u32[2]
  out %y: u32[M, N]
  free BM = 2
  axis m: M by BM
  axis n: N full
  grid m
  store %y[m, n], random[7, N*m + n](load %rng[0], load %rng[1])
})");
  TensorMap inputs = {{"rng", integers(DType::u32, {2}, {11, 3})}};
  TensorMap expected = oracle(R"(
graph @g(%rng: u32[2]) -> (y: u32[5, 7]) {
  %y = random_bits %rng {shape = [5, 7], stream = 7}
  return %y
})",
                              inputs);
  for (int64_t bm : {1, 2, 5}) {
    expect_close(run(with_knob(program, "BM", bm), {{"M", 5}, {"N", 7}}, inputs), expected, 0);
  }
}

// Reductions of every kind, along one axis and two, with nothing to reduce, NaN and ties.
TEST(TileKernels, Reductions) {
  Program program = kernel(R"(
kernel @reductions {
  in %x: f32[M, N]
  in %i: i8[M, N]
  out %add: f32[]
  out %mul: i8[M]
  out %max: f32[M]
  out %min: f32[M]
  out %all: bool[M]
  out %any: bool[M]
  out %arg: i32[M]
  axis m: M full
  axis n: N full
  %v = load %x[m, n]
  %k = load %i[m, n]
  %p = lt(0.0, %v)
  store %add[], reduce.add[m, n](%v)
  store %mul[m], reduce.mul[n](%k)
  store %max[m], reduce.max[n](%v)
  store %min[m], reduce.min[n](%v)
  store %all[m], reduce.and[n](%p)
  store %any[m], reduce.or[n](%p)
  store %arg[m], reduce.argmax[n](%v)
})");
  const std::string graph = R"(
graph @g(%x: f32[M, N], %i: i8[M, N])
    -> (add: f32[], mul: i8[M], max: f32[M], min: f32[M], all: bool[M], any: bool[M], arg: i32[M]) {
  %p = gt %x, 0.0
  %add = sum %x {axes = [0, 1]}
  %mul = prod %i {axes = [1]}
  %max = max %x {axes = [1]}
  %min = min %x {axes = [1]}
  %all = all %p {axes = [1]}
  %any = any %p {axes = [1]}
  %arg = argmax %x {axis = 1}
  return %add, %mul, %max, %min, %all, %any, %arg
})";
  Tensor x = Tensor::zeros(DType::f32, {3, 3});
  x.reals = {1, 2, 2, std::nan(""), 1, 5, -1, -2, 0};
  TensorMap inputs = {{"x", x}, {"i", integers(DType::i8, {3, 3}, {100, 3, 2, 1, -1, 7, 0, 5, 5})}};
  expect_close(run(program, {{"M", 3}, {"N", 3}}, inputs), oracle(graph, inputs), 0);
}

// Partials of different shapes, one of them a scalar, are finished by one program.
TEST(TileKernels, AccumulatesDifferentShapes) {
  std::mt19937_64 random(10);
  Program program = kernel(R"(
kernel @sums {
  in %x: f32[M, C, D]
  out %cols: f32[C, D]
  out %rows: f32[C]
  out %total: f32[]
  out %most: f32[D]
  order BP = 4
  axis m: M by BP
  axis c: C full
  axis d: D full
  grid m
  %v = load %x[m, c, d]
  accumulate.add %cols[c, d], reduce.add[m](%v) over m
  accumulate.add %rows[c], reduce.add[m, d](%v) over m
  accumulate.add %total[], reduce.add[m, c, d](%v) over m
  accumulate.max %most[d], reduce.max[m, c](%v) over m
})");
  for (int64_t m : {0, 1, 4, 11}) {
    TensorMap inputs = {{"x", random_tensor(random, {m, 3, 5})}};
    TensorMap expected = oracle(R"(
graph @g(%x: f32[M, 3, 5]) -> (cols: f32[3, 5], rows: f32[3], total: f32[], most: f32[5]) {
  %a = sum %x {axes = [0]}
  %b = sum %x {axes = [0, 2]}
  %c = sum %x {axes = [0, 1, 2]}
  %d = max %x {axes = [0, 1]}
  return %a, %b, %c, %d
})",
                                inputs);
    expect_close(run(program, {{"M", m}, {"C", 3}, {"D", 5}}, inputs), expected);
  }
}

TEST(TileKernels, CheckedNumbers) {
  Program program = kernel(R"(
kernel @checked {
  in %i: i32[N]
  out %y: i32[N]
  axis n: N full
  %v = load %i[n]
  store %y[n], coord(%v below V)
})");
  const DimBinding dims = {{"N", 3}, {"V", 5}};
  TensorMap inputs = {{"i", integers(DType::i32, {3}, {4, 0, 2})}};
  EXPECT_EQ(run(program, dims, inputs).at("y").integers, inputs.at("i").integers);
  for (int64_t wrong : {-1, 5}) {
    inputs.at("i").integers[1] = wrong;
    Result<TensorMap> refused = run_program(program, dims, inputs);
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(render(refused.diagnostics()).find("is out of range [0, 5)"), std::string::npos);
  }
}

TEST(TileKernels, TwoProgramsMayNotTouchAnElementThatOneWrites) {
  std::mt19937_64 random(11);
  Program program = kernel(R"(
kernel @shift {
  in %x: f32[N]
  out %y: f32[N]
  free BN = 2
  axis i: N by BN
  grid i
  store %y[i], load %x[i]
})");
  Tensor memory = random_tensor(random, {9});
  std::vector<BoundBuffer> apart = {{&memory, 0}, {&memory, 5}};
  EXPECT_TRUE(interpret(program, {{"N", 4}}, apart).ok());
  std::vector<BoundBuffer> shifted = {{&memory, 0}, {&memory, 1}};
  EXPECT_FALSE(interpret(program, {{"N", 4}}, shifted).ok());
  std::vector<BoundBuffer> outside = {{&memory, 0}, {&memory, 8}};
  EXPECT_FALSE(interpret(program, {{"N", 4}}, outside).ok());
  EXPECT_FALSE(interpret(program, {}, apart).ok());  // N has no size
}

}  // namespace
}  // namespace weft::tile
