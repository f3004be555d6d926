// SPDX-License-Identifier: Apache-2.0
#include "driver/train/module_model.h"

#include <algorithm>
#include <optional>

#include "driver/model_file.h"
#include "ir/graph/rebuild.h"

namespace weft::train {
namespace {

using data::TaskKind;

struct Input {
  std::string name;
  Type type;
};

Type ids(std::initializer_list<const char*> symbols) {
  Type type{DType::i32, {}};
  for (const char* symbol : symbols) type.shape.push_back(Dim::symbol(symbol));
  return type;
}

// What the data gives to @forward. Sizes of an image are the module's own.
std::vector<Input> inputs_of(TaskKind kind, const Graph& forward) {
  switch (kind) {
    case TaskKind::translation: return {{"src", ids({"B", "S"})}, {"tgt", ids({"B", "T"})}};
    case TaskKind::language_model:
    case TaskKind::text_classification: return {{"tokens", ids({"B", "T"})}};
    case TaskKind::image_classification: break;
  }
  Type image{DType::f32, {Dim::symbol("B"), Dim::symbol("H"), Dim::symbol("W"), Dim::symbol("C")}};
  for (Value input : forward.inputs()) {
    const Type& found = forward.type(input);
    if (forward.input_name(input) != "image" || found.shape.size() != 4) continue;
    for (size_t axis = 1; axis < 4; ++axis) {
      if (found.shape[axis].is_constant()) image.shape[axis] = found.shape[axis];
    }
  }
  return {{"image", image}};
}

Type labels_of(TaskKind kind) {
  const bool one_a_row =
      kind == TaskKind::text_classification || kind == TaskKind::image_classification;
  return one_a_row ? ids({"B"}) : ids({"B", "T"});
}

std::string listed(const std::vector<Input>& inputs) {
  std::string text;
  for (const Input& input : inputs) {
    text += cat(text.empty() ? "" : ", ", input.name, ": ", input.type);
  }
  return text.empty() ? "none" : text;
}

// `optional` may be among the graph's inputs, or not.
Status check_inputs(const Graph& graph, const std::vector<Input>& expected,
                    const std::optional<Input>& optional) {
  std::vector<Input> found;
  for (Value input : graph.inputs()) found.push_back({graph.input_name(input), graph.type(input)});
  size_t matched = 0;
  bool good = true;
  for (const Input& input : found) {
    auto same = [&](const Input& other) {
      return other.name == input.name && other.type == input.type;
    };
    const bool wanted = std::ranges::any_of(expected, same);
    matched += wanted ? 1 : 0;
    good = good && (wanted || (optional && same(*optional)));
  }
  if (good && matched == expected.size()) return ok();
  return error(graph.loc, "@", graph.name(), " has the inputs ", listed(found))
      .hint(cat(
          "for this data they are ", listed(expected),
          optional ? cat(", and ", optional->name, ": ", optional->type, " if it is random") : ""));
}

Result<Value> output_of(const Graph& graph, const std::string& name) {
  for (const Output& output : graph.outputs) {
    if (output.name == name) return output.value;
  }
  return error(graph.loc, "@", graph.name(), " has no output '", name, "'");
}

// Logits [labels.., N] of numbers; N.
Result<int64_t> width_of_logits(const Graph& forward, TaskKind kind) {
  WEFT_TRY(Value logits, output_of(forward, "logits"));
  const Type& type = forward.type(logits);
  Type expected = labels_of(kind);
  expected.dtype = type.dtype;
  if (is_float(type.dtype) && !type.shape.empty() && type.shape.back().is_constant()) {
    expected.shape.push_back(type.shape.back());
    if (expected == type) return type.shape.back().constant();
  }
  Shape shape = labels_of(kind).shape;
  shape.push_back(Dim::symbol("N"));
  return error(forward.loc, "logits are ", type, ", expected f32", str(shape), " with a number N");
}

// Rows of the smallest table that is looked up with this input; `otherwise` if there is none.
int64_t table_rows(const Graph& graph, const std::string& input, int64_t otherwise) {
  int64_t rows = otherwise;
  for (const Node& node : graph.nodes()) {
    if (node.op != Op::gather) continue;
    const Node& indices = graph.node(node.operands[1]);
    if (indices.op != Op::input || indices.attrs.text("name") != input) continue;
    const Type& table = graph.type(node.operands[0]);
    if (table.shape[0].is_constant()) rows = std::min(rows, table.shape[0].constant());
  }
  return rows;
}

int64_t longest_of(const Module& module, const char* symbol) {
  return module.dims.bounds_of(Dim::symbol(symbol)).high;
}

Status take_image(const Graph& forward, TransformerConfig& model) {
  const Type& type = forward.type(forward.inputs()[0]);
  for (size_t axis = 1; axis < 4; ++axis) {
    if (type.shape[axis].is_constant()) continue;
    return error(forward.loc, "image is ", type, ", expected numbers after B");
  }
  model.image_height = type.shape[1].constant();
  model.image_width = type.shape[2].constant();
  model.image_channels = type.shape[3].constant();
  return ok();
}

Result<Module> load(const std::string& path, TaskKind kind) {
  WEFT_TRY(Module module, load_model(path));
  const Graph* forward = module.find_graph("forward");
  if (forward == nullptr) return error({}, path, ": the module has no graph @forward");
  if (!module.weights.empty()) {
    return error({}, path, ": the module has weights of its own, and training begins with new ones")
        .hint("leave `weights` out of the module");
  }
  std::vector<Input> inputs = inputs_of(kind, *forward);
  WEFT_TRY_STATUS(check_inputs(*forward, inputs, std::nullopt));
  WEFT_TRY_STATUS(width_of_logits(*forward, kind));
  std::erase_if(module.graphs, [](const Graph& graph) {
    return graph.name() != "forward" && graph.name() != "loss";
  });
  if (const Graph* loss = module.find_graph("loss")) {
    inputs.push_back({"labels", labels_of(kind)});
    WEFT_TRY_STATUS(check_inputs(*loss, inputs, Input{"rng", {DType::u32, {Dim(2)}}}));
    WEFT_TRY(Value value, output_of(*loss, "loss"));
    if (loss->type(value) != Type{DType::f32, {}}) {
      return error(loss->loc, "the loss is ", loss->type(value), ", expected f32[]");
    }
  }
  return module;
}

std::vector<int64_t> all_axes(const Shape& shape) {
  std::vector<int64_t> axes(shape.size());
  for (size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<int64_t>(i);
  return axes;
}

// The mean cross-entropy of @forward's logits where labels count.
Result<Graph> mean_loss(const Module& module, const Graph& forward, const std::string& name,
                        const std::string& output, const TrainOptions& options) {
  Graph graph = forward;
  WEFT_TRY(Value logits, output_of(graph, "logits"));
  Value labels = graph.add_input("labels", labels_of(options.task.kind));
  Emitter b(module, graph);
  const int64_t ignored = options.model.ignore_label;
  const DType dtype = b.type(logits).dtype;
  Value losses = b.cross_entropy({logits, labels}, {{"ignore_index", ignored}});
  Value keep = b.ne({labels, b.scalar(static_cast<double>(ignored), DType::i32)});
  const Attrs all = {{"axes", all_axes(b.shape(labels))}};
  Value count = b.maximum({b.sum({b.cast_to(keep, dtype)}, all), b.scalar(1, dtype)});
  Value loss = b.div({b.sum({b.select({keep, losses, b.scalar(0, dtype)})}, all), count});
  graph.set_name(name);
  graph.outputs = {{output, loss}};
  return rebuild(module, graph);
}

}  // namespace

Result<TrainOptions> module_options(const std::string& path, TaskKind kind) {
  WEFT_TRY(Module module, load(path, kind));
  const Graph& forward = *module.find_graph("forward");
  WEFT_TRY(const int64_t width, width_of_logits(forward, kind));
  TrainOptions o = recipe_of(kind);
  o.module = path;
  o.model.label_smoothing = 0;
  if (o.lr == 0) o.lr = 1e-3;  // nothing is known of the model's width
  o.model.classes = width;
  o.model.vocab = width;
  o.model.max_length = std::min<int64_t>(longest_of(module, "T"), o.model.max_length);
  switch (kind) {
    case TaskKind::translation:
      o.model.vocab = table_rows(forward, "tgt", table_rows(forward, "src", width));
      o.model.max_length = std::min(longest_of(module, "S"), o.model.max_length);
      break;
    case TaskKind::language_model: o.model.vocab = table_rows(forward, "tokens", width); break;
    case TaskKind::text_classification:
      o.model.vocab = table_rows(forward, "tokens", o.task.vocab);
      break;
    case TaskKind::image_classification: WEFT_TRY_STATUS(take_image(forward, o.model)); break;
  }
  o.task.vocab = o.model.vocab;
  return o;
}

Status adopt_module(TrainOptions& options, const std::string& folder) {
  if (options.module.empty()) return ok();
  WEFT_TRY(Module module, load(options.module, options.task.kind));
  options.module = folder + "/" + kModuleFile;
  return save_model(module, options.module);
}

Result<Module> build_from_module(const TrainOptions& options) {
  WEFT_TRY(Module module, load(options.module, options.task.kind));
  const Graph forward = *module.find_graph("forward");
  if (module.find_graph("loss") == nullptr) {
    WEFT_TRY(Graph loss, mean_loss(module, forward, "loss", "loss", options));
    module.graphs.push_back(std::move(loss));
  }
  WEFT_TRY(Graph evaluated, mean_loss(module, forward, "evaluate", "val_loss", options));
  module.graphs.push_back(std::move(evaluated));
  return module;
}

}  // namespace weft::train
