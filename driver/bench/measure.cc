// SPDX-License-Identifier: Apache-2.0
#include "driver/bench/measure.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <optional>

#include "driver/execute.h"
#include "driver/explain.h"
#include "driver/vulkan_devices.h"
#include "passes/sample_inputs.h"

namespace weft {
namespace {

constexpr int kWarmUp = 2;
constexpr double kShortestSample = 0.002;  // seconds; shorter calls are measured in groups
constexpr int kMostCalls = 2000;
constexpr size_t kFewest = 3;

double now() {
  auto time = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(time).count();
}

// A line of /proc/self/status, in bytes; 0 where there is none.
double status_bytes(const std::string& key) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(key + ":")) return std::stod(line.substr(key.size() + 1)) * 1024;
  }
  return 0;
}

void reset_peak() { std::ofstream("/proc/self/clear_refs") << "5"; }

Status time_calls(Executor& executor, PreparedRun& prepared, const BenchRequest& request,
                  const std::shared_ptr<VulkanDevice>& device, BenchResult& result) {
  for (int i = 0; i < kWarmUp; ++i) WEFT_TRY_STATUS(executor.run(prepared));
  // A device with memory of its own is measured with its tensors there, as the CPU is with its own.
  prepared.kept = device != nullptr;
  double start = now();
  WEFT_TRY_STATUS(executor.run(prepared));
  double once = std::max(now() - start, 1e-7);
  int calls = std::clamp(static_cast<int>(kShortestSample / once), 1, kMostCalls);
  reset_peak();
  double before = status_bytes("VmRSS");
  double begin = now();
  auto wanted = static_cast<size_t>(request.repeat);
  std::optional<ReplayWatch> watch;
  if (device != nullptr) watch.emplace(device);
  while (result.milliseconds.size() < wanted &&
         (result.milliseconds.size() < kFewest || now() - begin < request.budget_seconds)) {
    start = now();
    for (int i = 0; i < calls; ++i) WEFT_TRY_STATUS(executor.run(prepared));
    result.milliseconds.push_back((now() - start) / calls * 1e3);
  }
  if (watch) {
    const int runs = calls * static_cast<int>(result.milliseconds.size());
    double seconds = 0;
    for (double milliseconds : result.milliseconds) seconds += milliseconds * calls * 1e-3;
    result.submissions = watch->submissions(runs);
    result.host_us = watch->host_us(runs, seconds);
  }
  double grown = std::max(0.0, status_bytes("VmHWM") - before);
  const BoundGraph& bound = *prepared.bound;
  double held = static_cast<double>(bound.arena_bytes) +
                static_cast<double>(executor.context().report().packed_bytes) +
                static_cast<double>(bound.scratch_bytes) * result.threads;
  for (const BoundTensor& output : bound.outputs) held += static_cast<double>(output.bytes);
  result.extra_mb = (held + grown) / 1048576;
  return ok();
}

}  // namespace

double BenchResult::median_ms() const {
  std::vector<double> sorted = milliseconds;
  std::ranges::sort(sorted);
  return sorted[sorted.size() / 2];
}

double BenchResult::min_ms() const { return *std::ranges::min_element(milliseconds); }

Result<BenchResult> measure(const BenchCase& entry, const BenchRequest& request) {
  BenchResult result;
  result.name = entry.name;
  result.flops = entry.flops;
  result.bytes = entry.bytes;
  WEFT_TRY(BenchModel model, entry.build());
  const Graph& graph = model.module.graphs[0];
  WEFT_TRY(DimBinding dims, sample_dims(model.module, graph, model.dims));
  WEFT_TRY(TensorMap inputs, sample_inputs(model.module, graph, dims, request.seed));
  for (const auto& [name, tensor] : model.fixed) inputs[name] = tensor;
  CompileRequest compile_request;
  compile_request.device = request.device;
  compile_request.target_cpu = request.target_cpu;
  compile_request.form = request.form;
  compile_request.choose_knobs = request.choose_knobs;
  compile_request.sizes = dims;
  compile_request.pipeline.pass.fuse_attention = model.fuse_attention;
  WEFT_TRY(Compiled compiled, compile(model.module, compile_request));
  result.compile_ms = compiled.total_ms();
  result.tuned_kernels = compiled.tuned_kernels;
  result.kernels = count_launches(compiled.executable.graphs[0].steps);
  ContextOptions options;
  options.threads = request.threads;
  options.seed = request.seed;
  options.device = request.device;
  if (is_vulkan(request.device)) {
    WEFT_TRY(OpenVulkan opened, open_vulkan_device(request.device));
    options.vulkan = std::move(opened.device);
  }
  WEFT_TRY(Executor executor, Executor::create(std::move(compiled.executable), options));
  result.threads = executor.context().threads();
  WEFT_TRY(PreparedRun prepared, executor.prepare(graph.name(), inputs, dims));
  inputs.clear();
  result.arena_bytes = prepared.bound->arena_bytes;
  WEFT_TRY_STATUS(time_calls(executor, prepared, request, options.vulkan, result));
  return result;
}

}  // namespace weft
