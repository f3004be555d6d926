// weft run: a graph on .npy tensors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cmath>

#include "driver/model_file.h"
#include "ir/oracle/oracle.h"
#include "passes/sample_inputs.h"
#include "runtime/devices.h"
#include "runtime/files/npy.h"
#include "runtime/files/safetensors.h"
#include "tools/cli.h"

namespace weft::cli {
namespace {

struct Options {
  std::string model;
  std::vector<std::string> inputs;  // name=x.npy
  std::string output_dir;
  std::string weights;
  std::string save_weights;
  GraphOptions graph;
  int repeat = 1;
  bool random_inputs = false;
};

Result<TensorMap> read_inputs(const Graph& graph, const Options& options) {
  std::vector<std::string> names;
  for (Value input : graph.inputs()) names.push_back(graph.input_name(input));
  TensorMap inputs;
  for (const std::string& text : options.inputs) {
    size_t equals = text.find('=');
    std::string name = text.substr(0, equals);
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      return error({}, "graph @", graph.name(), " has no input '", name, "'")
          .hint(did_you_mean(name, names));
    }
    WEFT_TRY(Tensor tensor, read_npy(text.substr(equals + 1)));
    if (!inputs.emplace(name, std::move(tensor)).second) {
      return error({}, "--input ", name, " is given twice");
    }
  }
  return inputs;
}

// Fills what --input left out; the sizes of the given ones decide those of the others.
Status add_random_inputs(const Module& module, const Graph& graph, DimBinding& dims, uint64_t seed,
                         TensorMap& inputs) {
  for (Value input : graph.inputs()) {
    auto given = inputs.find(graph.input_name(input));
    const Shape& shape = graph.type(input).shape;
    if (given == inputs.end() || given->second.shape.size() != shape.size()) continue;
    for (size_t i = 0; i < shape.size(); ++i) {
      if (auto symbol = shape[i].as_symbol()) dims.emplace(*symbol, given->second.shape[i]);
    }
  }
  WEFT_TRY(dims, sample_dims(module, graph, dims));
  WEFT_TRY(TensorMap sampled, sample_inputs(module, graph, dims, seed));
  for (auto& [name, tensor] : sampled) inputs.emplace(name, std::move(tensor));
  return ok();
}

// Output names become file names: none may leave the folder.
Status check_output_names(const Graph& graph) {
  for (const Output& output : graph.outputs) {
    bool safe =
        output.name.find('/') == std::string::npos && output.name.find('\0') == std::string::npos;
    if (!safe)
      return error(output.loc, "output '", output.name, "' cannot be saved: its name is a path");
  }
  return ok();
}

Status save_outputs(const TensorMap& outputs, const std::string& folder) {
  if (folder.empty()) return ok();
  WEFT_TRY_STATUS(make_folder(folder));
  for (const auto& [name, tensor] : outputs) {
    WEFT_TRY_STATUS(write_npy(folder + "/" + name + ".npy", tensor));
  }
  return ok();
}

std::string shape_text(const Tensor& tensor) {
  return Type{tensor.dtype, Shape(tensor.shape.begin(), tensor.shape.end())}.str();
}

// A scalar by its value; anything larger by its mean and range, or the fact that it holds a NaN.
std::string summary(const Tensor& tensor) {
  if (tensor.size() == 0) return "empty";
  if (tensor.size() == 1) {
    return tensor.real() ? format_real(tensor.reals[0]) : std::to_string(tensor.integers[0]);
  }
  auto nans = std::count_if(tensor.reals.begin(), tensor.reals.end(),
                            [](double r) { return std::isnan(r); });
  if (nans > 0) return cat(nans, " of ", tensor.size(), " elements are NaN");
  double low = tensor.at(0);
  double high = tensor.at(0);
  double sum = 0;
  for (int64_t i = 0; i < tensor.size(); ++i) {
    low = std::min(low, tensor.at(i));
    high = std::max(high, tensor.at(i));
    sum += tensor.at(i);
  }
  return cat("mean ", sum / static_cast<double>(tensor.size()), ", from ", low, " to ", high);
}

Status report(const OracleResult& result, const DimBinding& dims, const std::vector<double>& times,
              const std::string& graph, const Common& common) {
  if (common.json) {
    nlohmann::json outputs = nlohmann::json::object();
    for (const auto& [name, tensor] : result.outputs) {
      nlohmann::json entry = {{"dtype", std::string(weft::name(tensor.dtype))},
                              {"shape", tensor.shape}};
      if (tensor.shape.empty() && tensor.real()) entry["value"] = tensor.reals[0];
      if (tensor.shape.empty() && !tensor.real()) entry["value"] = tensor.integers[0];
      outputs[name] = entry;
    }
    return put_json({{"graph", graph},
                     {"device", "oracle"},
                     {"dims", dims},
                     {"outputs", outputs},
                     {"ms", times}});
  }
  std::string text;
  for (const auto& [name, tensor] : result.outputs) {
    text += name + ": " + shape_text(tensor) + " " + summary(tensor) + "\n";
  }
  return put(text);
}

Status run(const Options& options, const Common& common) {
  WEFT_TRY(Device device, choose_device(common.device));
  if (!device.notice.empty()) note(common, device.notice);
  WEFT_TRY(Module module, load_model(options.model));
  remember_for_reproducer(module);
  WEFT_TRY(const Graph* graph, choose_graph(module, options.graph.graph));
  if (!options.output_dir.empty()) WEFT_TRY_STATUS(check_output_names(*graph));
  WEFT_TRY(TensorMap inputs, read_inputs(*graph, options));
  WEFT_TRY(DimBinding dims, dim_binding(module, options.graph));
  if (options.random_inputs) {
    WEFT_TRY_STATUS(add_random_inputs(module, *graph, dims, common.seed, inputs));
  }
  // What is saved is the whole model, not only what this graph uses.
  const Graph* users = options.save_weights.empty() ? graph : nullptr;
  WEFT_TRY(TensorMap storage,
           load_storage(module, users, {options.model, options.weights, common.seed, dims}));
  WEFT_TRY(DimBinding bound, bind_dims(module, *graph, inputs, storage, dims));
  OracleResult result;
  std::vector<double> times;
  for (int i = 0; i < options.repeat; ++i) {
    auto start = std::chrono::steady_clock::now();
    WEFT_TRY(result, run_oracle(module, *graph, inputs, storage, dims));
    times.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
            .count());
    for (const auto& [name, tensor] : result.updates) storage[name] = tensor;
  }
  WEFT_TRY_STATUS(save_outputs(result.outputs, options.output_dir));
  if (!options.save_weights.empty())
    WEFT_TRY_STATUS(write_safetensors(options.save_weights, storage));
  return report(result, bound, times, graph->name(), common);
}

}  // namespace

void add_run(Session& session) {
  auto options = std::make_shared<Options>();  // shared with the callback, which outlives this call
  CLI::App* command = add_command(session, "run", "runs a graph on .npy tensors",
                                  "weft run tiny.weft --graph @loss --device oracle "
                                  "--random-inputs --dim B=2 --dim S=5 --dim T=7");
  command->add_option("model", options->model, "a .weft or .weftb file, or a preset")->required();
  command->add_option("--input", options->inputs, "an input tensor, NAME=FILE.npy")
      ->type_name("NAME=FILE")
      ->allow_extra_args(false)
      ->check([](const std::string& text) {
        size_t equals = text.find('=');
        bool good = equals != std::string::npos && equals > 0 && equals + 1 < text.size();
        return good ? std::string() : "'" + text + "' is not NAME=FILE.npy";
      });
  command->add_option("--output-dir", options->output_dir, "folder for NAME.npy of each output");
  command->add_option("--weights", options->weights, "safetensors file with the parameters");
  command->add_option("--save-weights", options->save_weights,
                      "safetensors file for parameters and state after the run");
  command->add_option("--repeat", options->repeat, "run this often; state is carried along")
      ->check(CLI::Range(1, 1000000));
  command->add_flag("--random-inputs", options->random_inputs,
                    "seeded random values for inputs not given");
  add_graph_options(command, options->graph);
  on_run(session, command, [&session, options] { return run(*options, session.common); });
}

}  // namespace weft::cli
