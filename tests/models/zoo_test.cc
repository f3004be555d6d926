// The presets: their sizes, that they verify, run, and begin training where they should.
// SPDX-License-Identifier: Apache-2.0
#include "models/zoo.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "ir/graph/flops.h"
#include "ir/oracle/oracle.h"
#include "ir/text/text.h"
#include "models/families.h"
#include "models/transformer.h"
#include "passes/autodiff.h"

namespace weft {
namespace {

Module build(const Preset& preset) {
  Result<Module> module = preset.build();
  EXPECT_TRUE(module.ok()) << render(module.diagnostics());
  return std::move(module).value();
}

// A preset small enough for the oracle, with everything else as it is.
Module build_small(std::string_view name) {
  Preset preset = *find_preset(name);
  TransformerConfig& c = preset.config;
  c.d_model = 16;
  c.heads = 4;
  c.d_ff = 32;
  c.encoder_layers = 2;
  c.decoder_layers = 2;
  c.vocab = 40;
  c.head_hidden = 8;
  c.image_height = c.image_width = 12;
  c.patch_size = 4;
  c.features = 5;
  c.feature_width = 12;
  return build(preset);
}

// Ids between 1 and `limit` - 1, different from position to position.
Tensor ids(std::vector<int64_t> shape, int64_t limit) {
  Tensor tensor = Tensor::zeros(DType::i32, std::move(shape));
  for (int64_t i = 0; i < tensor.size(); ++i) tensor.integers[i] = 1 + (7 * i + 3) % (limit - 1);
  return tensor;
}

Tensor reals(std::vector<int64_t> shape) {
  Tensor tensor = Tensor::zeros(DType::f32, std::move(shape));
  for (int64_t i = 0; i < tensor.size(); ++i) tensor.reals[i] = std::sin(0.7 * i);
  return tensor;
}

Tensor rng(int64_t seed, int64_t step) {
  Tensor tensor = Tensor::zeros(DType::u32, {2});
  tensor.integers = {seed, step};
  return tensor;
}

TensorMap run(const Module& module, std::string_view graph_name, const TensorMap& inputs,
              uint64_t seed = 1) {
  const Graph* graph = module.find_graph(graph_name);
  Result<TensorMap> storage = initial_values(module, graph, seed);
  EXPECT_TRUE(storage.ok()) << render(storage.diagnostics());
  Result<OracleResult> result = run_oracle(module, *graph, inputs, *storage);
  EXPECT_TRUE(result.ok()) << render(result.diagnostics());
  return std::move(result).value().outputs;
}

// Inputs for every graph of every preset made by build_small (or of the same vocabulary).
TensorMap make_inputs(const Graph& graph, int64_t vocab, int64_t classes) {
  const DimBinding sizes{{"B", 2}, {"S", 5}, {"T", 6}};
  TensorMap inputs;
  for (Value input : graph.inputs()) {
    const std::string& name = graph.input_name(input);
    const Type& type = graph.type(input);
    std::vector<int64_t> shape;
    for (const Dim& dim : type.shape) shape.push_back(*dim.evaluate(sizes));
    if (name == "rng") {
      inputs[name] = rng(5, 1);
    } else if (is_float(type.dtype)) {
      inputs[name] = reals(shape);
    } else if (name == "token_types") {
      inputs[name] = Tensor::zeros(type.dtype, shape);
    } else {
      bool whole_text = name == "labels" && shape.size() == 1;
      inputs[name] = ids(shape, whole_text ? classes : name == "lengths" ? 6 : vocab);
    }
  }
  return inputs;
}

TEST(Zoo, ParameterCounts) {
  const std::map<std::string_view, int64_t> expected = {
      {"transformer-tiny", 2605056},  {"transformer-small", 20531200},
      {"transformer-base", 63082496}, {"transformer-big", 214245376},
      {"gpt-char", 804096},           {"gpt2", 124439808},
      {"bert-base", 109482240},       {"vit", 86567656},
      {"sentiment", 5752323},         {"captioning", 31393280},
      {"vit-tiny", 111146},
  };
  EXPECT_EQ(presets().size(), expected.size());
  for (const Preset& preset : presets()) {
    ASSERT_TRUE(expected.contains(preset.name)) << preset.name;
    EXPECT_EQ(parameter_count(build(preset)), expected.at(preset.name)) << preset.name;
  }
}

TEST(Zoo, EveryPresetVerifiesAndCountsItsWork) {
  for (const Preset& preset : presets()) {
    Module module = build(preset);
    EXPECT_EQ(module.name, preset.name);
    EXPECT_FALSE(preset.description.empty()) << preset.name;
    Status status = verify(module);
    EXPECT_TRUE(status.ok()) << preset.name << ": " << render(status.diagnostics());
    ASSERT_EQ(module.graph_names(), (std::vector<std::string>{"forward", "loss"})) << preset.name;
    Result<int64_t> flops = count_flops(module, module.graphs[0], preset.sizes);
    ASSERT_TRUE(flops.ok()) << preset.name << ": " << render(flops.diagnostics());
    // Each token meets most weights once: two operations per weight and token, at least.
    EXPECT_GT(*flops, 1'000'000) << preset.name;
  }
}

TEST(Zoo, TextFormReadsBack) {
  for (const Preset& preset : presets()) {
    std::string text = print(build(preset));
    Result<Module> again = parse("preset.weft", text);
    ASSERT_TRUE(again.ok()) << preset.name << ": " << render(again.diagnostics());
    EXPECT_EQ(print(*again), text) << preset.name;
  }
}

TEST(Zoo, InitialLossOfTransformerTiny) {
  Module module = build(*find_preset("transformer-tiny"));
  double uniform = std::log(10000.0);
  for (uint64_t seed : {1, 2, 3}) {
    TensorMap inputs = make_inputs(*module.find_graph("loss"), 10000, 2);
    ASSERT_TRUE(inputs.contains("rng"));
    inputs["rng"] = rng(static_cast<int64_t>(seed), 0);
    double loss = run(module, "loss", inputs, seed).at("loss").at(0);
    EXPECT_GT(loss, uniform) << "seed " << seed;
    EXPECT_LT(loss, uniform + 0.7) << "seed " << seed;
  }
}

TEST(Zoo, EveryPresetRunsOnTheOracle) {
  for (const Preset& preset : presets()) {
    Module module = build_small(preset.name);
    for (const Graph& graph : module.graphs) {
      TensorMap outputs = run(module, graph.name(), make_inputs(graph, 40, preset.config.classes));
      ASSERT_FALSE(outputs.empty()) << preset.name;
      for (const auto& [name, tensor] : outputs) {
        for (int64_t i = 0; i < tensor.size(); ++i) {
          ASSERT_TRUE(std::isfinite(tensor.at(i))) << preset.name << " " << name << " at " << i;
        }
      }
    }
  }
}

TEST(Zoo, EveryPresetDifferentiates) {
  for (const Preset& preset : presets()) {
    Module module = build_small(preset.name);
    GradRequest request;
    request.loss = "loss";
    Status added = add_backward(module, request);
    ASSERT_TRUE(added.ok()) << preset.name << ": " << render(added.diagnostics());
    const Graph& backward = *module.find_graph("backward");
    TensorMap outputs = run(module, "backward", make_inputs(backward, 40, preset.config.classes));
    EXPECT_EQ(outputs.size(), module.storage.size() + 1) << preset.name;
    for (const auto& [name, tensor] : outputs) {
      bool moved = false;
      for (int64_t i = 0; i < tensor.size(); ++i) {
        ASSERT_TRUE(std::isfinite(tensor.at(i))) << preset.name << " " << name << " at " << i;
        moved = moved || tensor.at(i) != 0;
      }
      // The pooler is no part of BERT's loss.
      EXPECT_EQ(moved, name.find("pooler") == std::string::npos) << preset.name << " " << name;
    }
  }
}

TEST(Zoo, LaterTokensDoNotChangeEarlierLogits) {
  Module module = build_small("gpt-char");
  TensorMap inputs{{"tokens", ids({1, 6}, 40)}};
  Tensor before = run(module, "forward", inputs).at("logits");
  inputs.at("tokens").integers[4] = 39;
  Tensor after = run(module, "forward", inputs).at("logits");
  ASSERT_EQ(before.shape, (std::vector<int64_t>{1, 6, 40}));
  bool later_changed = false;
  for (int64_t i = 0; i < before.size(); ++i) {
    if (i < 4 * 40) {
      EXPECT_EQ(before.at(i), after.at(i)) << i;
    } else {
      later_changed = later_changed || before.at(i) != after.at(i);
    }
  }
  EXPECT_TRUE(later_changed);
}

TEST(Zoo, PaddingDoesNotChangeTheResult) {
  Module module = build_small("sentiment");
  Tensor tokens = ids({1, 4}, 40);
  Tensor padded = Tensor::zeros(DType::i32, {1, 7});
  std::copy(tokens.integers.begin(), tokens.integers.end(), padded.integers.begin());
  Tensor a = run(module, "forward", {{"tokens", tokens}}).at("logits");
  Tensor b = run(module, "forward", {{"tokens", padded}}).at("logits");
  for (int64_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a.at(i), b.at(i), 1e-12);
}

TEST(Zoo, IgnoredLabelsDoNotCount) {
  Module module = build_small("transformer-tiny");
  TensorMap inputs = make_inputs(*module.find_graph("loss"), 40, 2);
  inputs.at("labels").integers.assign(12, 0);
  EXPECT_EQ(run(module, "loss", inputs).at("loss").at(0), 0);
}

TEST(Zoo, DropoutIsPartOfTheLossOnly) {
  Module module = build_small("transformer-tiny");
  auto count = [](const Graph& graph) {
    return std::count_if(graph.nodes().begin(), graph.nodes().end(),
                         [](const Node& node) { return node.op == Op::dropout; });
  };
  EXPECT_EQ(count(*module.find_graph("forward")), 0);
  // 2 embeddings; attention weights and residual of 2 + 4 attentions; 4 feed-forward residuals.
  EXPECT_EQ(count(*module.find_graph("loss")), 2 + 2 * 6 + 4);
  std::set<int64_t> streams;
  for (const Node& node : module.find_graph("loss")->nodes()) {
    if (node.op == Op::dropout) streams.insert(node.attrs.integer("stream"));
  }
  EXPECT_EQ(streams.size(), 18u);
}

TEST(Config, VariantsBuild) {
  for (Norm norm : {Norm::post, Norm::pre, Norm::none}) {
    for (Positions positions : {Positions::sinusoidal, Positions::learned, Positions::none}) {
      for (bool flag : {true, false}) {
        TransformerConfig c = find_preset("transformer-tiny")->config;
        c.norm = norm;
        c.positions = positions;
        c.tied = flag;
        c.residual = !flag;
        c.d_k = flag ? 24 : 0;
        Result<Module> module = transformer(c);
        ASSERT_TRUE(module.ok()) << render(module.diagnostics());
      }
    }
  }
}

TEST(Config, PreNormEndsWithANormAndNoneHasNone) {
  TransformerConfig c = find_preset("transformer-tiny")->config;
  c.norm = Norm::pre;
  Module pre = transformer(c).value();
  EXPECT_NE(pre.find_storage("encoder.norm.gain"), nullptr);
  EXPECT_NE(pre.find_storage("decoder.norm.gain"), nullptr);
  c.norm = Norm::none;
  for (const std::string& name : transformer(c).value().storage_names()) {
    EXPECT_EQ(name.find("norm"), std::string::npos) << name;
  }
}

std::string message_of(const TransformerConfig& c) {
  Result<Module> module = transformer(c);
  return module.ok() ? "" : module.diagnostics()[0].message;
}

TEST(Config, WrongOnesAreErrors) {
  EXPECT_EQ(message_of({.d_model = 130}), "d_model 130 is not a multiple of 8 heads");
  EXPECT_EQ(message_of({.heads = 0}), "heads is 0, expected 1 to 16777216");
  EXPECT_EQ(message_of({.encoder_layers = 1000000}),
            "encoder_layers is 1000000, expected 0 to 1024");
  EXPECT_EQ(message_of({.dropout = 1.0}), "rate 1 is not in [0, 1)");
  EXPECT_EQ(message_of({.d_model = 15, .heads = 3}),
            "sinusoidal positions need an even width, not 15");
  EXPECT_EQ(message_of({.dtype = DType::i32}), "dtype i32 is not a float type");
}

}  // namespace
}  // namespace weft
