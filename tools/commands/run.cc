// weft run: a graph on .npy tensors.
// SPDX-License-Identifier: Apache-2.0
#include <chrono>

#include "driver/cache_folder.h"
#include "driver/compile.h"
#include "driver/devices.h"
#include "driver/executable_cache.h"
#include "driver/execute.h"
#include "driver/model_file.h"
#include "driver/tune.h"
#include "ir/oracle/oracle.h"
#include "passes/sample_inputs.h"
#include "runtime/executable_file.h"
#include "runtime/files/safetensors.h"
#include "tools/cli.h"
#include "tools/graph_reports.h"
#include "tools/progress.h"
#include "tools/tensors.h"

namespace weft::cli {
namespace {

struct Options {
  std::string model;
  std::vector<std::string> inputs;  // name=x.npy
  std::string output_dir;
  std::string weights;
  std::string save_weights;
  GraphOptions graph;
  PassFlags passes;
  int repeat = 1;
  bool random_inputs = false;
  bool bounds_checks = false;
};

// What there is to run, and on what numbers.
struct Job {
  Module module;     // of a compiled file: its interface
  LoadedPtr loaded;  // a compiled file; null for a module
  const Graph* graph = nullptr;
  TensorMap inputs;
  DimBinding given;  // sizes by --dim and by random inputs
  DimBinding dims;   // all of them
};

// What came of it.
struct Outcome {
  std::string device;
  int threads = 1;
  TensorMap outputs;
  TensorMap storage;  // afterwards, if it is to be saved
  std::vector<double> times;
  double compile_ms = 0;
  int64_t peak_bytes = 0;
  int64_t launches = 0;
};

// Fills what --input left out; the sizes of the given ones decide those of the others.
Status add_random_inputs(const Module& module, const Graph& graph, DimBinding& dims, uint64_t seed,
                         TensorMap& inputs) {
  WEFT_TRY(DimBinding known, bind_known_dims(module, graph, inputs, {}, dims));
  WEFT_TRY(dims, sample_dims(module, graph, known));
  WEFT_TRY(TensorMap sampled, sample_inputs(module, graph, dims, seed));
  inputs.merge(sampled);
  return ok();
}

Status report(const Job& job, const Outcome& outcome, const Common& common) {
  if (!common.json) {
    std::string text;
    for (const auto& [name, tensor] : outcome.outputs) {
      text += name + ": " + shape_text(tensor) + " " + summary(tensor) + "\n";
    }
    return put(text);
  }
  nlohmann::json outputs = nlohmann::json::object();
  for (const auto& [name, tensor] : outcome.outputs) {
    nlohmann::json entry = {{"dtype", std::string(weft::name(tensor.dtype))},
                            {"shape", tensor.shape}};
    if (tensor.shape.empty() && tensor.real()) entry["value"] = tensor.reals[0];
    if (tensor.shape.empty() && !tensor.real()) entry["value"] = tensor.integers[0];
    outputs[name] = entry;
  }
  return put_json({{"graph", job.graph->name()},
                   {"device", outcome.device},
                   {"threads", outcome.threads},
                   {"dims", job.dims},
                   {"outputs", outputs},
                   {"ms", outcome.times},
                   {"compile_ms", outcome.compile_ms},
                   {"peak_bytes", outcome.peak_bytes},
                   {"launches", outcome.launches}});
}

// Calls `step` --repeat times and keeps the times.
template <class Step>
Status repeat(int times, Outcome& outcome, Step step) {
  for (int i = 0; i < times; ++i) {
    auto start = std::chrono::steady_clock::now();
    WEFT_TRY_STATUS(step());
    auto passed = std::chrono::steady_clock::now() - start;
    outcome.times.push_back(std::chrono::duration<double, std::milli>(passed).count());
  }
  return ok();
}

Result<Outcome> run_on_oracle(const Job& job, const Options& options, const Common& common) {
  Outcome outcome;
  outcome.device = "oracle";
  // What is saved is the whole model, not only what this graph uses.
  const Graph* users = options.save_weights.empty() ? job.graph : nullptr;
  WEFT_TRY(
      TensorMap storage,
      load_storage(job.module, users, {options.model, options.weights, common.seed, job.given}));
  Progress progress(common);
  WEFT_TRY_STATUS(repeat(options.repeat, outcome, [&]() -> Status {
    WEFT_TRY(OracleResult result, run_oracle(job.module, *job.graph, job.inputs, storage, job.given,
                                             progress.callback()));
    for (auto& [name, tensor] : result.updates) storage[name] = std::move(tensor);
    outcome.outputs = std::move(result.outputs);
    return ok();
  }));
  outcome.storage = std::move(storage);
  return outcome;
}

Result<LoadedPtr> compile_job(const Job& job, const Options& options, const Common& common,
                              Outcome& outcome) {
  if (job.loaded != nullptr) return job.loaded;
  Module module = job.module;
  WEFT_TRY_STATUS(keep_graph(module, job.graph->name()));
  CompileRequest request;
  request.device = common.device;
  request.target_cpu = common.target_cpu;
  request.form = common.form;
  request.bounds_checks = options.bounds_checks;
  request.cache_folder = user_cache_folder();
  request.choose_knobs = tuned_knobs(request, common.threads);
  request.pipeline = options.passes.pipeline();
  if (is_vulkan(common.device)) request.sizes = job.dims;
  WEFT_TRY(CompiledExecutable compiled, compile_executable(std::move(module), request));
  note_cache_problem(common, compiled.cache_problem);
  outcome.compile_ms = compiled.compile_ms;
  return LoadedExecutable::load(std::move(compiled.executable));
}

Result<Outcome> run_on_cpu(const Job& job, const Options& options, const Common& common) {
  Outcome outcome;
  outcome.device = common.device;
  WEFT_TRY(LoadedPtr loaded, compile_job(job, options, common, outcome));
  ContextOptions context;
  context.threads = common.threads;
  context.seed = common.seed;
  context.device = common.device;
  context.cache_folder = vulkan_folder(user_cache_folder());
  WEFT_TRY(Executor executor, Executor::create(std::move(loaded), context));
  outcome.threads = executor.context().threads();
  if (!options.weights.empty() || !job.module.weights.empty()) {
    const Graph* users = job.loaded == nullptr ? job.graph : nullptr;
    WEFT_TRY(
        TensorMap storage,
        load_storage(job.module, users, {options.model, options.weights, common.seed, job.dims}));
    WEFT_TRY_STATUS(executor.set_storage(storage));
  }
  WEFT_TRY(PreparedRun prepared, executor.prepare(job.graph->name(), job.inputs, job.dims));
  WEFT_TRY_STATUS(repeat(options.repeat, outcome, [&] { return executor.run(prepared); }));
  outcome.outputs = executor.outputs(prepared);
  outcome.peak_bytes = prepared.bound->arena_bytes;
  outcome.launches = prepared.bound->launches();
  if (options.save_weights.empty()) return outcome;
  for (const Storage& storage : job.module.storage) {
    WEFT_TRY(Tensor value, executor.storage(storage.name));
    outcome.storage.emplace(storage.name, std::move(value));
  }
  return outcome;
}

// The module, or the interface of the compiled graph that was asked for.
Status load_job(const Options& options, Job& job) {
  if (!options.model.ends_with(".weftx")) {
    WEFT_TRY(job.module, load_model(options.model));
    remember_for_reproducer(job.module);
    WEFT_TRY(job.graph, choose_graph(job.module, options.graph.graph));
    return ok();
  }
  WEFT_TRY(job.loaded, load_executable(options.model));
  const Executable& executable = job.loaded->executable();
  Module all = interface_module(executable);
  WEFT_TRY(const Graph* chosen, choose_graph(all, options.graph.graph));
  std::string name = chosen->name();
  job.module = std::move(all);
  job.graph = job.module.find_graph(name);
  return ok();
}

std::vector<std::string> output_names(const Job& job) {
  std::vector<std::string> names;
  if (job.loaded == nullptr) {
    for (const Output& output : job.graph->outputs) names.push_back(output.name);
    return names;
  }
  for (const GraphInterface& interface : job.loaded->executable().interfaces) {
    if (interface.name != job.graph->name()) continue;
    for (const TensorSlot& output : interface.outputs) names.push_back(output.name);
  }
  return names;
}

Status run(const Options& options, const Common& common) {
  Job job;
  WEFT_TRY_STATUS(load_job(options, job));
  if (!options.output_dir.empty()) WEFT_TRY_STATUS(check_output_names(output_names(job)));
  WEFT_TRY(job.given, dim_binding(job.module, options.graph));
  WEFT_TRY(job.inputs, read_inputs(job.module, *job.graph, options.inputs, job.given));
  if (options.random_inputs) {
    WEFT_TRY_STATUS(add_random_inputs(job.module, *job.graph, job.given, common.seed, job.inputs));
  }
  WEFT_TRY(job.dims, bind_dims(job.module, *job.graph, job.inputs, {}, job.given));
  const bool vulkan = is_vulkan(common.device);
  bool compiled =
      job.loaded != nullptr || vulkan || (common.device == "cpu" && has_code_generator());
  if (job.loaded != nullptr) {
    const std::string& made_for = job.loaded->executable().device;
    if (made_for != (vulkan ? "vulkan" : common.device)) {
      return error({}, options.model, " is compiled for device ", made_for, ", not '",
                   common.device, "'")
          .hint("--device " + made_for);
    }
  }
  if (!compiled) {
    WEFT_TRY(std::string notice, choose_device(common.device));
    if (!notice.empty()) note(common, notice);
  }
  WEFT_TRY(Outcome outcome,
           compiled ? run_on_cpu(job, options, common) : run_on_oracle(job, options, common));
  WEFT_TRY_STATUS(save_outputs(outcome.outputs, options.output_dir));
  if (!options.save_weights.empty()) {
    WEFT_TRY_STATUS(write_safetensors(options.save_weights, outcome.storage));
  }
  return report(job, outcome, common);
}

}  // namespace

void add_run(Session& session) {
  auto options = std::make_shared<Options>();  // shared with the callback, which outlives this call
  CLI::App* command = add_command(session, "run", "runs a graph on .npy tensors",
                                  "weft run tiny.weft --graph @loss "
                                  "--random-inputs --dim B=2 --dim S=5 --dim T=7");
  command->add_option("model", options->model, "a .weft, .weftb or .weftx file, or a preset")
      ->required();
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
  command->add_flag("--bounds-checks", options->bounds_checks,
                    "check every access of the generated code");
  add_pass_options(command, options->passes);
  add_graph_options(command, options->graph);
  on_run(session, command, [&session, options] { return run(*options, session.common); });
}

}  // namespace weft::cli
