// Whole models: training steps and inference.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "driver/bench/cases.h"
#include "driver/differentiate.h"
#include "ir/graph/emit.h"
#include "models/families.h"
#include "models/transformer.h"
#include "models/zoo.h"

namespace weft {
namespace {

struct Seq2Seq {
  const char* name;
  int64_t layers, width, hidden, heads, vocab, batch, source, target;
};
constexpr Seq2Seq kTiny{"train_tiny", 4, 128, 256, 4, 10000, 128, 32, 32};
constexpr Seq2Seq kBase{"train_base_small", 3, 512, 2048, 8, 10000, 16, 64, 64};

struct Gpt {
  int64_t layers = 6, width = 384, heads = 6, vocab = 5000, length = 256, batch = 8;
};
struct Bert {
  int64_t layers = 12, width = 768, hidden = 3072, length = 128;
};

// A step is three times the forward pass; causal attention counts in full.
double seq2seq_flops(const Seq2Seq& c) {
  auto d = static_cast<double>(c.width);
  auto ff = static_cast<double>(c.hidden);
  auto ns = static_cast<double>(c.batch * c.source);
  auto nt = static_cast<double>(c.batch * c.target);
  auto source = static_cast<double>(c.source);
  auto both = static_cast<double>(c.source + c.target);
  double encoder = 2 * ns * (4 * d * d + 2 * d * ff) + 4 * ns * source * d;
  double decoder = 2 * nt * (6 * d * d + 2 * d * ff) + 2 * ns * 2 * d * d + 4 * nt * both * d;
  double layers = static_cast<double>(c.layers) * (encoder + decoder);
  return 3 * (layers + 2 * nt * d * static_cast<double>(c.vocab));
}

double gpt_flops(const Gpt& c) {
  auto d = static_cast<double>(c.width);
  auto n = static_cast<double>(c.batch * c.length);
  double layer = 2 * n * 12 * d * d + 4 * n * static_cast<double>(c.length) * d;
  return 3 * (static_cast<double>(c.layers) * layer + 2 * n * d * static_cast<double>(c.vocab));
}

double bert_flops(const Bert& c, int64_t batch) {
  auto d = static_cast<double>(c.width);
  auto n = static_cast<double>(batch * c.length);
  auto ff = static_cast<double>(c.hidden);
  return static_cast<double>(c.layers) *
         (2 * n * (4 * d * d + 2 * d * ff) + 4 * n * static_cast<double>(c.length) * d);
}

void keep_only(Module& module, const std::string& graph) {
  std::erase_if(module.graphs, [&](const Graph& g) { return g.name() != graph; });
}

Result<BenchModel> training(Result<Module> built, const std::string& optimizer, double rate) {
  BenchModel model;
  WEFT_TRY(model.module, std::move(built));
  WEFT_TRY_STATUS(differentiate(model.module, {"loss", "loss", {}, optimizer}));
  keep_only(model.module, "train_step");
  model.fixed.emplace("lr", Tensor::scalar(DType::f32, rate));
  return model;
}

Result<BenchModel> seq2seq_model(const Seq2Seq& c, double dropout) {
  TransformerConfig config;
  config.name = c.name;
  config.d_model = c.width;
  config.encoder_layers = config.decoder_layers = c.layers;
  config.heads = c.heads;
  config.d_ff = c.hidden;
  config.vocab = c.vocab;
  config.dropout = dropout;
  config.attn_dropout = 0;
  WEFT_TRY(BenchModel model, training(transformer(config), "adam", 5e-4));
  model.dims = {{"B", c.batch}, {"S", c.source}, {"T", c.target}};
  return model;
}

// The optimizer's nodes again, last, with gradients scaled so that their norm is at most 1, and
// with the numbers of the recipe.
void clip_gradients(Module& module, Graph& graph) {
  Graph clipped(graph.name());
  Emitter b(module, clipped);
  std::map<Value, Value> known;
  auto moved = [&](const Node& node) {
    std::vector<Value> operands;
    for (Value operand : node.operands) operands.push_back(known.at(operand));
    return operands;
  };
  auto place = [&](uint32_t n, const Node& node) {
    uint32_t made = b.emit_node(node);
    for (uint32_t r = 0; r < node.types.size(); ++r) known[{n, r}] = {made, r};
  };
  std::vector<uint32_t> steps;
  std::vector<Value> gradients;
  for (uint32_t n = 0; n < graph.nodes().size(); ++n) {
    Node node = graph[n];
    if (node.op == Op::input) {
      known[{n, 0}] = clipped.add_input(node.attrs.text("name"), node.types[0]);
    } else if (node.op == Op::param) {
      known[{n, 0}] = clipped.read_param(node.attrs.text("name"), node.types[0]);
    } else if (node.op == Op::adamw) {
      steps.push_back(n);
      gradients.push_back(known.at(node.operands[1]));
    } else {
      node.operands = moved(node);
      place(n, node);
    }
  }
  Value norm = b.emit(Op::global_norm, gradients);
  Value limit = b.div({b.like(1, norm), b.add({norm, b.like(1e-6, norm)})});
  Value scale = b.minimum({limit, b.like(1, norm)});
  for (uint32_t n : steps) {
    Node node = graph[n];
    node.operands = moved(node);
    node.operands[1] = b.mul({node.operands[1], scale});
    node.attrs.set("beta2", 0.95);
    node.attrs.set("eps", 1e-8);
    node.attrs.set("weight_decay", 0.1);
    place(n, node);
  }
  for (const Output& output : graph.outputs) {
    clipped.outputs.push_back({output.name, known.at(output.value)});
  }
  for (const Update& update : graph.updates) {
    clipped.updates.push_back({update.target, known.at(update.value)});
  }
  graph = std::move(clipped);
}

Result<BenchModel> gpt_model(const Gpt& c) {
  TransformerConfig config = find_preset("gpt-char")->config;
  config.name = "train_gpt";
  config.d_model = c.width;
  config.encoder_layers = c.layers;
  config.heads = c.heads;
  config.d_ff = 4 * c.width;
  config.vocab = c.vocab;
  config.max_length = c.length;
  config.bias = true;
  WEFT_TRY(BenchModel model, training(gpt(config), "adamw", 3e-4));
  clip_gradients(model.module, model.module.graphs[0]);
  model.dims = {{"B", c.batch}, {"T", c.length}};
  return model;
}

Result<BenchModel> bert_model(int64_t batch, int64_t length) {
  BenchModel model;
  WEFT_TRY(model.module, find_preset("bert-base")->build());
  keep_only(model.module, "forward");
  model.dims = {{"B", batch}, {"T", length}};
  Tensor lengths = Tensor::zeros(DType::i32, {batch});
  std::ranges::fill(lengths.integers, length);
  model.fixed.emplace("lengths", std::move(lengths));
  return model;
}

}  // namespace

std::vector<BenchCase> model_cases() {
  std::vector<BenchCase> cases;
  for (const Seq2Seq& c : {kTiny, kBase}) {
    for (double dropout : {0.0, 0.3}) {
      cases.push_back({cat(c.name, dropout > 0 ? "_drop0.3" : ""), c.name, seq2seq_flops(c), 0,
                       [c, dropout] { return seq2seq_model(c, dropout); }});
    }
  }
  cases.push_back({"train_gpt", "train_gpt", gpt_flops({}), 0, [] { return gpt_model({}); }});
  for (int64_t batch : {1, 8}) {
    cases.push_back({cat("infer_bert_b", batch), "infer_bert", bert_flops({}, batch), 0,
                     [batch] { return bert_model(batch, Bert().length); }});
  }
  return cases;
}

}  // namespace weft
