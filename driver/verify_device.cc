// SPDX-License-Identifier: Apache-2.0
#include "driver/verify_device.h"

#include <map>

#include "driver/execute.h"
#include "ir/graph/emit.h"
#include "ir/text/text.h"
#include "passes/rounding_noise.h"
#include "passes/sample_inputs.h"

namespace weft {
namespace {

// A region of a fused graph as a graph of its own: the values that its operands are views of come
// in as inputs.
struct Unit {
  std::string region;                                 // its name in the fused graph
  std::vector<std::pair<std::string, Value>> inputs;  // name, and value of the fused graph
};

bool is_unit(const Node& node) { return node.op == Op::region || node.op == Op::chunked; }

// Numbers as the device gets them.
Tensor rounded(Tensor tensor) {
  for (double& element : tensor.reals) element = round_to(tensor.dtype, element);
  return tensor;
}

class UnitMaker {
 public:
  UnitMaker(const Module& module, const Graph& graph) : module_(module), graph_(graph) {}

  Unit make(uint32_t n, Graph& alone) {
    Unit unit;
    unit.region = value_names(graph_)[n][0];
    Emitter b(module_, alone);
    std::vector<Value> operands;
    for (Value operand : graph_[n].operands) operands.push_back(bring(b, operand, unit));
    Node copy = graph_[n];
    copy.operands = std::move(operands);
    uint32_t made = b.emit_node(std::move(copy));
    for (uint32_t r = 0; r < graph_[n].types.size(); ++r) {
      alone.outputs.push_back({cat("r", r), {made, r}});
    }
    return unit;
  }

 private:
  // Views and constants are repeated, everything else is an input.
  Value bring(Emitter& b, Value value, Unit& unit) {
    auto [known, fresh] = brought_.emplace(value, Value());
    if (!fresh) return known->second;
    const Node& node = graph_.node(value);
    Value made;
    if (node.op == Op::constant || info(node.op).has(kView) || node.op == Op::concat) {
      std::vector<Value> operands;
      for (Value operand : node.operands) operands.push_back(bring(b, operand, unit));
      made = b.emit(node.op, std::move(operands), node.attrs);
    } else {
      std::string name = cat("x", unit.inputs.size());
      unit.inputs.push_back({name, value});
      made = b.graph().add_input(name, graph_.type(value));
    }
    brought_[value] = made;
    return made;
  }

  const Module& module_;
  const Graph& graph_;
  std::map<Value, Value> brought_;
};

class DeviceVerifier {
 public:
  explicit DeviceVerifier(const DeviceVerifyOptions& options) : options_(options) {}

  Result<DeviceVerifyReport> run(const Module& module) {
    Module wanted = module;
    std::erase_if(wanted.graphs, [&](const Graph& graph) {
      return !options_.common.graph.empty() &&
             module.find_graph(options_.common.graph)->name() != graph.name();
    });
    WEFT_TRY(Compiled compiled, compile(wanted, options_.request));
    for (const Graph& graph : wanted.graphs) {
      if (!options_.each_region) break;
      WEFT_TRY_STATUS(try_regions(graph, wanted, compiled.module));
      if (!report_.ok()) return report_;
    }
    WEFT_TRY(Executor executor, make_executor(std::move(compiled.executable)));
    for (const Graph& graph : wanted.graphs) {
      WEFT_TRY_STATUS(try_graph(graph, wanted, executor));
      if (!report_.ok()) return report_;
    }
    return report_;
  }

 private:
  Result<Executor> make_executor(Executable executable) const {
    ContextOptions context;
    context.threads = options_.threads;
    context.poison = true;
    context.device = options_.request.device;
    return Executor::create(std::move(executable), context);
  }

  Status sample(const Module& module, const Graph& graph) {
    WEFT_TRY(dims_, sample_dims(module, graph, options_.common.dims));
    WEFT_TRY(inputs_, sample_inputs(module, graph, dims_, options_.common.seed));
    WEFT_TRY(storage_, initial_values(module, nullptr, options_.common.seed, dims_));
    for (TensorMap* tensors : {&inputs_, &storage_}) {
      for (auto& [name, tensor] : *tensors) tensor = rounded(std::move(tensor));
    }
    return ok();
  }

  Status try_graph(const Graph& graph, const Module& module, Executor& executor) {
    WEFT_TRY_STATUS(sample(module, graph));
    WEFT_TRY(OracleResult expected, run_oracle(module, graph, inputs_, storage_, dims_));
    WEFT_TRY(DimBinding bound, bind_dims(module, graph, inputs_, storage_, dims_));
    ++report_.graphs;
    Result<OracleResult> got = run_once(executor, graph, inputs_, storage_, bound);
    return compare({module, graph, inputs_, storage_, dims_}, expected, std::move(got),
                   cat("@", graph.name(), " as a whole"));
  }

  // The oracle's values of everything that regions read.
  Result<TensorMap> inner_values(const Module& fused, Graph graph,
                                 const std::vector<Unit>& units) const {
    graph.outputs.clear();
    graph.updates.clear();
    std::map<Value, std::string> asked;
    for (const Unit& unit : units) {
      for (const auto& [name, value] : unit.inputs) {
        if (!asked.emplace(value, cat("v", asked.size())).second) continue;
        graph.outputs.push_back({asked[value], value});
      }
    }
    WEFT_TRY(OracleResult result, run_oracle(fused, graph, inputs_, storage_, dims_));
    return std::move(result.outputs);
  }

  Status try_regions(const Graph& original, const Module& module, const Module& fused) {
    const Graph& graph = *fused.find_graph(original.name());
    WEFT_TRY_STATUS(sample(module, original));
    Module alone = fused;
    alone.graphs.clear();
    std::vector<Unit> units;
    for (uint32_t n = 0; n < graph.nodes().size(); ++n) {
      if (!is_unit(graph[n])) continue;
      alone.graphs.emplace_back(cat("unit", units.size()));
      units.push_back(UnitMaker(fused, graph).make(n, alone.graphs.back()));
    }
    WEFT_TRY(TensorMap values, inner_values(fused, graph, units));
    CompileRequest request = options_.request;
    for (std::string& pass : pass_names()) request.pipeline.skip.push_back(std::move(pass));
    request.pipeline.after_pass = nullptr;
    WEFT_TRY(Compiled compiled, compile(alone, request));
    WEFT_TRY(Executor executor, make_executor(compiled.executable));
    std::map<Value, std::string> asked;
    const TensorMap no_storage;
    for (size_t i = 0; i < units.size() && report_.ok(); ++i) {
      TensorMap inputs;
      for (const auto& [name, value] : units[i].inputs) {
        auto known = asked.emplace(value, cat("v", asked.size())).first;
        inputs.emplace(name, rounded(values.at(known->second)));
      }
      const Graph& unit = alone.graphs[i];
      WEFT_TRY(OracleResult expected, run_oracle(alone, unit, inputs, no_storage, dims_));
      ++report_.regions;
      Result<OracleResult> got = run_once(executor, unit, inputs, no_storage, sizes_of(unit));
      const OracleRun run = {alone, unit, inputs, no_storage, dims_};
      const std::string what = cat("region ", units[i].region, " of @", original.name(), " (",
                                   kernels(compiled, i), ")");
      WEFT_TRY_STATUS(compare(run, expected, std::move(got), what));
    }
    return ok();
  }

  // Of the symbols that the graph has.
  DimBinding sizes_of(const Graph& graph) const {
    DimBinding sizes;
    for (const Node& node : graph.nodes()) {
      for (const std::string& symbol : symbols_of(node)) {
        auto known = dims_.find(symbol);
        if (known != dims_.end()) sizes.insert(*known);
      }
    }
    return sizes;
  }

  static std::string kernels(const Compiled& compiled, size_t graph) {
    std::string names;
    for (const Step& step : compiled.executable.graphs[graph].steps) {
      if (step.kind != Step::launch) continue;
      names += (names.empty() ? "kernel @" : ", @") + compiled.programs[step.program].name;
    }
    return names.empty() ? "repeated" : names;
  }

  Status compare(const OracleRun& run, const OracleResult& expected, Result<OracleResult> got,
                 const std::string& what) {
    if (!got.ok()) {
      report_.difference = cat(what, ": ", got.diagnostics()[0].message);
      return ok();
    }
    WEFT_TRY(auto difference, compare_but_for_rounding(run, expected, *got, RunBy::device));
    if (difference) {
      report_.difference = cat(what, ": ", difference->str(), " as on the oracle");
    }
    return ok();
  }

  const DeviceVerifyOptions& options_;
  DimBinding dims_;
  TensorMap inputs_;
  TensorMap storage_;
  DeviceVerifyReport report_;
};

}  // namespace

Result<DeviceVerifyReport> verify_device(const Module& module, const DeviceVerifyOptions& options) {
  return DeviceVerifier(options).run(module);
}

}  // namespace weft
