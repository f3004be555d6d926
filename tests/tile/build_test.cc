// Programs made by Builder: which values get a line of their own, names, and the text.
// SPDX-License-Identifier: Apache-2.0
#include "ir/tile/build.h"

#include <gtest/gtest.h>

#include "ir/tile/expand.h"
#include "ir/tile/text.h"
#include "tests/tile/kernels.h"
#include "tests/tile/run_program.h"

namespace weft::tile {
namespace {

TEST(TileBuilder, Matmul) {
  Builder b("matmul_relu");
  Dim M = Dim::symbol("M");
  AxisId m = b.axis("m", M, b.knob("BM", 96));
  AxisId n = b.axis("n", 2048, b.knob("BN", 256));
  AxisId k = b.axis("k", 512, b.knob("BK", 512, Knob::free, {128, 256, 512}));
  BufferId x = b.in("x", {DType::f32, {M, 512}});
  BufferId w = b.in("w", {DType::f32, {512, 2048}}, std::vector<Dim>{1, 512});
  BufferId y = b.out("y", {DType::f32, {M, 2048}});
  b.grid(n);
  b.grid(m);
  ValueId zero = b.constant(0, DType::f32);
  ValueId sum = b.loop(k, {{zero, {m, n}}}, [&](std::span<const ValueId> c) {
    ValueId a = b.load(x, {b.at(m), b.at(k)});
    return std::vector{b.dot(k, a, b.load(w, {b.at(k), b.at(n)}), c[0])};
  })[0];
  b.store(y, {b.at(m), b.at(n)}, b.map(Op::maximum, {sum, zero}));
  b.set_origin({"ffn.up"});
  Program program = b.finish();
  EXPECT_EQ(print(program), R"(kernel @matmul_relu {
  in %x: f32[M, 512]
  in %w: f32[512, 2048] strides [1, 512]
  out %y: f32[M, 2048]
  free BM = 96
  free BN = 256
  free BK = 512 in [128, 256, 512]
  axis m: M by BM
  axis n: 2048 by BN
  axis k: 512 by BK
  grid n, m
  loc "ffn.up"
  %loop0 = loop k carry %carried0 = 0.0 : f32[m, n] {
    yield dot[k](load %x[m, k], load %w[k, n], %carried0)
  }
  store %y[m, n], maximum(%loop0, 0.0)
}
)");
  EXPECT_TRUE(verify(program).ok());
}

TEST(TileBuilder, LetsWhatIsUsedTwiceOrInside) {
  Builder b("lets");
  AxisId r = b.axis("r", Dim::symbol("r"), Extent::by(1));  // takes another name than the dim
  AxisId c = b.axis("c", 8);
  AxisId t = b.axis("t", 4, Extent::by(2));
  BufferId x = b.in("x", {DType::f32, {Dim::symbol("r"), 8}});
  BufferId y = b.out("x", {DType::f32, {Dim::symbol("r"), 4, 8}});
  BufferId z = b.inout("z", {DType::f32, {8}});
  b.grid(r);
  ValueId unused = b.load(x, {b.at(r), 0});
  b.map(Op::exp, {unused});
  ValueId row = b.load(x, {b.at(r), b.at(c)});  // used in the loop
  ValueId twice = b.map(Op::exp, {row});        // used twice there
  b.set_name(twice, "e");
  b.loop(t, [&] {
    ValueId once = b.map(Op::neg, {twice});
    ValueId also = b.map(Op::mul, {once, b.map(Op::add, {twice, b.constant(2, DType::f32)})});
    b.store(y, {b.at(r), b.at(t), b.at(c)}, also);
  });
  b.update(z, {b.at(c)}, b.constant(1, DType::f32));
  Program program = b.finish();
  EXPECT_EQ(print(program), R"(kernel @lets {
  in %x: f32[r, 8]
  out %x_1: f32[r, 4, 8]
  inout %z: f32[8]
  axis r_1: r by 1
  axis c: 8 full
  axis t: 4 by 2
  grid r_1
  %e = exp(load %x[r_1, c]) : f32[c]
  loop t {
    store %x_1[r_1, t, c], neg(%e) * (%e + 2.0)
  }
  update %z[c] += 1.0
}
)");
}

// A load of what the program also writes stays where it was made.
TEST(TileBuilder, KeepsTheOrderOfReadsAndWrites) {
  Builder b("swap");
  AxisId i = b.axis("i", 8, Extent::by(4));
  BufferId x = b.inout("x", {DType::f32, {8}});
  BufferId y = b.inout("y", {DType::f32, {8}});
  b.grid(i);
  ValueId a = b.load(x, {b.at(i)});
  ValueId c = b.load(y, {b.at(i)});
  b.store(x, {b.at(i)}, c);
  b.store(y, {b.at(i)}, a);
  Program program = b.finish();
  TensorMap in = {{"x", Tensor::zeros(DType::f32, {8})}, {"y", Tensor::zeros(DType::f32, {8})}};
  in["x"].reals.assign(8, 1);
  in["y"].reals.assign(8, 2);
  Result<TensorMap> out = run_program(program, {}, in);
  ASSERT_TRUE(out.ok()) << render(out.diagnostics());
  EXPECT_EQ(out->at("x").reals, in["y"].reals);
  EXPECT_EQ(out->at("y").reals, in["x"].reals);
}

TEST(TileBuilder, LongExpressionsAreCut) {
  Builder b("long");
  AxisId i = b.axis("i", 4);
  BufferId x = b.in("x", {DType::f64, {4}});
  BufferId y = b.out("y", {DType::f64, {4}});
  ValueId value = b.load(x, {b.at(i)});
  for (int step = 0; step < 20000; ++step) value = b.map(Op::neg, {value});
  b.store(y, {b.at(i)}, value);
  Program program = b.finish();
  TensorMap in = {{"x", Tensor::zeros(DType::f64, {4})}};
  in["x"].reals = {1, 2, 3, 4};
  Result<TensorMap> out = run_program(program, {}, in);
  ASSERT_TRUE(out.ok()) << render(out.diagnostics());
  EXPECT_EQ(out->at("y").reals, in["x"].reals);
}

TEST(TileBuilder, AValueInAnIndexHasALine) {
  Builder b("gather");
  AxisId n = b.axis("n", Dim::symbol("N"), b.knob("BN", 8));
  AxisId d = b.axis("d", 16);
  BufferId ids = b.in("ids", {DType::i64, {Dim::symbol("N")}});
  BufferId w = b.in("w", {DType::f32, {100, 16}});
  BufferId y = b.out("y", {DType::f32, {Dim::symbol("N"), 16}});
  b.grid(n);
  ValueId id = b.load(ids, {b.at(n)});
  b.store(y, {b.at(n), b.at(d)}, b.load(w, {value_index(id), b.at(d)}));
  Program program = b.finish();
  EXPECT_EQ(print(program), R"(kernel @gather {
  in %ids: i64[N]
  in %w: f32[100, 16]
  out %y: f32[N, 16]
  free BN = 8
  axis n: N by BN
  axis d: 16 full
  grid n
  %load0 = load %ids[n] : i64[n]
  store %y[n, d], load %w[%load0, d]
}
)");
}

TEST(TileExpand, PartialsAndOneFinishingProgram) {
  Expanded expanded = expand_accumulate(kernel(kLayerNormBackward));
  ASSERT_EQ(expanded.programs.size(), 2u);
  ASSERT_EQ(expanded.partials.size(), 2u);
  EXPECT_EQ(expanded.partials[0].elements.str(),
            (Dim::floor_div(Dim::symbol("M") + 7, 8) * Dim::symbol("C")).str());
  EXPECT_EQ(expanded.programs[0].buffers[expanded.partials[1].main].name, "db.partial");
  EXPECT_EQ(print(expanded.programs[1]), R"(kernel @layer_norm_bwd_finish {
  in %dg.partial: f32[(M + 7)/8, C]
  out %dg: f32[C]
  in %db.partial: f32[(M + 7)/8, C]
  out %db: f32[C]
  free BE = 64
  axis e: C by BE
  axis p: (M + 7)/8 by 1
  axis p_1: (M + 7)/8 by 1
  grid e
  %loop0 = loop p carry %carried0 = 0.0 : f32[e] {
    yield %carried0 + load %dg.partial[p, e]
  }
  store %dg[e], %loop0
  %loop1 = loop p_1 carry %carried1 = 0.0 : f32[e] {
    yield %carried1 + load %db.partial[p_1, e]
  }
  store %db[e], %loop1
}
)");
}

// Results of other shapes have programs of their own: none compares numbers of elements, for which
// a device might need integers of 64 bits.
TEST(TileExpand, EachShapeIsFinishedByItsOwnProgram) {
  const Program program = kernel(R"(
kernel @sums {
  in %x: f32[M, N, C]
  out %all: f32[]
  out %columns: f32[N, C]
  out %largest: f32[]
  order BP = 4
  axis m: M by BP
  axis n: N full
  axis c: C full
  grid m
  %load0 = load %x[m, n, c] : f32[m, n, c]
  accumulate.add %all[], reduce.add[m, n, c](%load0) over m
  accumulate.add %columns[n, c], reduce.add[m](%load0) over m
  accumulate.max %largest[], reduce.max[m, n, c](%load0) over m
})");
  const Expanded expanded = expand_accumulate(program);
  ASSERT_EQ(expanded.programs.size(), 3u);
  EXPECT_EQ(expanded.programs[1].name, "sums_finish");
  EXPECT_EQ(expanded.programs[2].name, "sums_finish2");
  EXPECT_EQ(expanded.partials[0].program, 1u);
  EXPECT_EQ(expanded.partials[1].program, 2u);
  EXPECT_EQ(expanded.partials[2].program, 1u);
  for (const Program& part : expanded.programs) {
    for (const Value& value : part.values) EXPECT_NE(value.dtype, DType::i64) << print(part);
  }
  std::mt19937_64 random(1);
  const TensorMap inputs{{"x", random_tensor(random, {10, 3, 5}, -1, 1)}};
  ASSERT_TRUE(run_program(program, {{"M", 10}, {"N", 3}, {"C", 5}}, inputs).ok());
}

// Partials of 16-bit floats keep their precision.
TEST(TileExpand, SixteenBitsArePartiallySummedInF32) {
  Program program = kernel(R"(
kernel @sum {
  in %x: f16[M]
  out %y: f16[]
  order BP = 4
  axis m: M by BP
  grid m
  accumulate.add %y[], reduce.add[m](load %x[m]) over m
})");
  Expanded expanded = expand_accumulate(program);
  EXPECT_EQ(expanded.partials[0].dtype, DType::f32);
  Tensor x = Tensor::zeros(DType::f16, {10});
  x.reals.assign(10, 0.5);
  Result<TensorMap> out = run_program(program, {{"M", 10}}, {{"x", x}});
  ASSERT_TRUE(out.ok()) << render(out.diagnostics());
  EXPECT_EQ(out->at("y").reals[0], 5);
}

}  // namespace
}  // namespace weft::tile
