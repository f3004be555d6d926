// Whole models through `fuse`: what becomes of them, how many regions, and that they compute the
// same.
// SPDX-License-Identifier: Apache-2.0
#include "passes/fuse.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "driver/differentiate.h"
#include "ir/text/text.h"
#include "models/zoo.h"
#include "passes/chunk_loss.h"
#include "passes/verify_passes.h"
#include "tests/support/fused_form.h"
#include "tests/support/must_parse.h"
#include "tests/support/suite.h"

namespace weft {
namespace {

using test::must_parse;

Module must_fuse(Module module) {
  auto records = run_pipeline(module, {});
  EXPECT_TRUE(records.ok()) << render(records.diagnostics());
  for (const Graph& graph : module.graphs) {
    EXPECT_EQ(fused_fault(module, graph).value_or(""), "") << graph.name();
  }
  return module;
}

Module with_training(Module module) {
  GradRequest request;
  request.graph = "loss";
  request.loss = "loss";
  request.optimizer = "adam";
  auto passes = differentiate(module, request);
  EXPECT_TRUE(passes.ok()) << render(passes.diagnostics());
  return module;
}

Module build(const Preset& preset) {
  Result<Module> module = preset.build();
  EXPECT_TRUE(module.ok()) << render(module.diagnostics());
  return std::move(module).value();
}

// Small enough for the oracle, with everything else as it is.
Module build_small(Preset preset) {
  TransformerConfig& c = preset.config;
  c.d_model = 8;
  c.heads = 2;
  c.d_ff = 12;
  c.encoder_layers = 1;
  c.decoder_layers = 1;
  c.vocab = 20;
  c.head_hidden = 8;
  c.image_height = c.image_width = 12;
  c.patch_size = 4;
  c.features = 5;
  c.feature_width = 12;
  return build(preset);
}

int64_t regions_of(const Module& module, std::string_view graph) {
  return region_count(*module.find_graph(graph));
}

TEST(Fuse, EveryPresetFuses) {
  for (const Preset& preset : presets()) {
    if (suite() == "quick" && preset.config.encoder_layers > 4) continue;
    SCOPED_TRACE(preset.name);
    must_fuse(with_training(build(preset)));
  }
}

TEST(Fuse, EveryPresetComputesTheSame) {
  size_t turn = 0;
  for (const Preset& preset : presets()) {
    if (left_out(turn++, 4)) continue;
    SCOPED_TRACE(preset.name);
    VerifyOptions options;
    options.seed = 1;
    Result<VerifyReport> report = verify_passes(with_training(build_small(preset)), options);
    ASSERT_TRUE(report.ok()) << render(report.diagnostics());
    EXPECT_TRUE(report->ok()) << report->difference->str();
  }
}

// Fewer is the aim. A layer of the encoder takes 7: q, k and v; attention; output with residual;
// norm; up; down with residual; norm.
TEST(Fuse, RegionsOfTransformerTiny) {
  if (suite() == "quick") GTEST_SKIP() << "takes seconds";
  const Module module = must_fuse(with_training(build(*find_preset("transformer-tiny"))));
  EXPECT_EQ(regions_of(module, "forward"), 80);
  EXPECT_EQ(regions_of(module, "loss"), 83);
  EXPECT_EQ(regions_of(module, "train_step"), 234);
}

TEST(Fuse, RegionsOfGptChar) {
  const Module module = must_fuse(with_training(build(*find_preset("gpt-char"))));
  EXPECT_EQ(regions_of(module, "forward"), 30);
  EXPECT_EQ(regions_of(module, "train_step"), 89);
}

// A step updates all parameters in one region, and no value as wide as the logits is stored.
TEST(Fuse, TrainingStoresNoLogits) {
  const Module module = must_fuse(with_training(build(*find_preset("transformer-tiny"))));
  const Graph& step = *module.find_graph("train_step");
  int64_t chunked = 0;
  for (const Node& node : step.nodes()) {
    chunked += node.op == Op::chunked ? 1 : 0;
    if (info(node.op).has(kView)) continue;
    for (const Type& type : node.types) {
      const bool wide = type.rank() > 1 && type.shape.back() == Dim(10000);
      EXPECT_FALSE(wide) << name(node.op) << " " << type;
    }
  }
  EXPECT_EQ(chunked, 1);
}

// More rows than a chunk has, and a last chunk that is not full.
TEST(Chunk, SeveralChunksGiveTheSame) {
  Module module = must_parse(R"(module "m" {
    dim B in 1..1024
    param @w: f64[3, 2048] = normal(1.0)
    graph @loss(%h: f64[B, 5, 3], %labels: i32[B, 5]) -> (loss: f64[]) {
      %z = matmul %h, @w : f64[B, 5, 2048]
      %l = cross_entropy %z, %labels {label_smoothing = 0.1, ignore_index = 1} : f64[B, 5]
      %loss = sum %l {axes = [0, 1]} : f64[]
      return %loss
    }
  })");
  VerifyOptions options;
  options.dims = {{"B", 61}};
  Result<VerifyReport> report = verify_passes(with_training(module), options);
  ASSERT_TRUE(report.ok()) << render(report.diagnostics());
  EXPECT_TRUE(report->ok()) << report->difference->str();
  module = must_fuse(with_training(module));
  for (const char* graph : {"loss", "backward", "train_step"}) {
    auto is_chunked = [](const Node& node) { return node.op == Op::chunked; };
    EXPECT_EQ(std::ranges::count_if(module.find_graph(graph)->nodes(), is_chunked), 1) << graph;
  }
}

TEST(Chunk, SaysWhyNot) {
  const Module module = must_parse(R"(graph @f(%h: f32[B, 64], %w: f32[64, 4096]) -> (z, m) {
    %z = matmul %h, %w
    %m = max %z {axes = [1]}
    return %z, %m
  })");
  const std::vector<NotChunked> refused = explain_chunks(module, module.graphs[0]);
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_EQ(refused[0].reason, "%z of shape [B, 4096] is needed as a whole");
}

std::string reasons(const Module& module) {
  std::string text;
  const Graph& graph = module.graphs[0];
  for (const NotJoined& pair : explain_fusion(module, graph)) {
    text += cat("%", graph[pair.producer].names[0], " and %", graph[pair.consumer].names[0], ": ",
                pair.reason, "\n");
  }
  return text;
}

TEST(ExplainFusion, SaysWhyNeighboursAreApart) {
  Module module = must_fuse(must_parse(R"(graph @f(%a: f32[8, 16], %w: f32[16, 16]) -> (y, z, t) {
    %x = exp %a
    %p = matmul %x, %w
    %q = cumsum %p {axis = 0}
    %y = add %x, %q
    %s = sum %y {axes = [1], keepdims = true}
    %c = sub %y, %s
    %z = sum %c {axes = [0], keepdims = true}
    %t = tanh %z
    return %y, %z, %t
  })"));
  EXPECT_EQ(reasons(module),
            "%x and %p: its operand is used elsewhere too\n"
            "%p and %q: cumsum ends a region of its own\n"
            "%x and %y: cycle through %q\n"
            "%q and %y: cumsum ends a region of its own\n"
            "%y and %t: a column's sum is used in its region\n");
}

TEST(RegionCost, CountsBytesAndFlops) {
  const Module module =
      must_fuse(must_parse(R"(graph @f(%x: f32[B, 64], %w: f32[64, 32], %b: f32[32]) -> (y) {
    %p = matmul %x, %w
    %q = add %p, %b
    %y = maximum %q, 0.0
    return %y
  })"));
  const Graph& graph = module.graphs[0];
  auto region = std::ranges::find(graph.nodes(), Op::region, &Node::op);
  ASSERT_NE(region, graph.nodes().end());
  const auto index = static_cast<uint32_t>(region - graph.nodes().begin());
  const RegionCost cost = region_cost(graph, index, module.dims);
  const Dim batch = Dim::symbol("B");
  EXPECT_EQ(cost.ops, 3);
  EXPECT_EQ(cost.bytes_read, batch * 256 + (64 * 32 + 32) * 4);
  EXPECT_EQ(cost.bytes_written, batch * 128);
  EXPECT_EQ(cost.flops, batch * (2 * 64 * 32 + 64));
}

// Nothing that a command line can leave out breaks it.
TEST(Fuse, HoldsWithoutThePassesBefore) {
  for (const char* skip : {"decompose", "arrange", "simplify-primitives", "chunk"}) {
    Module module = with_training(build_small(*find_preset("gpt-char")));
    PipelineOptions options;
    options.skip = {skip};
    auto records = run_pipeline(module, options);
    ASSERT_TRUE(records.ok()) << skip << ": " << render(records.diagnostics());
  }
}

}  // namespace
}  // namespace weft
