// SPDX-License-Identifier: Apache-2.0
#include "driver/profile.h"

#include <algorithm>
#include <chrono>

#include "driver/execute.h"
#include "driver/vulkan_devices.h"
#include "passes/sample_inputs.h"

namespace weft {
namespace {

class Rows {
 public:
  ProfileRow& operator[](const std::string& name) {
    ProfileRow& row = rows_[name];
    row.name = name;
    return row;
  }

  std::vector<ProfileRow> sorted() const {
    std::vector<ProfileRow> rows;
    for (const auto& [name, row] : rows_) rows.push_back(row);
    std::ranges::stable_sort(rows, std::ranges::greater(), &ProfileRow::milliseconds);
    return rows;
  }

 private:
  std::map<std::string, ProfileRow> rows_;
};

void add(ProfileRow& row, double milliseconds, const RegionReport* region) {
  ++row.launches;
  row.milliseconds += milliseconds;
  if (region == nullptr) return;
  row.flops += region->flops;
  row.bytes += region->bytes_read + region->bytes_written;
}

// "encoder.0.attn" for what was made for encoder.0.attn.q and more.
std::string layer_of(const RegionReport* region) {
  if (region == nullptr || region->origins.empty()) return "(none)";
  return region->origins[0];
}

void fill(GraphProfile& profile, const GraphReport& report, const BoundGraph& bound,
          const std::vector<int64_t>& nanoseconds) {
  std::map<std::string, const RegionReport*> regions;
  for (const RegionReport& region : report.regions) regions.emplace(region.name, &region);
  Rows kernels;
  Rows layers;
  std::set<std::string> counted;  // regions, whose flops count once, in their first launch
  for (size_t i = 0; i < bound.steps.size(); ++i) {
    const BoundStep& step = bound.steps[i];
    const double milliseconds = double(nanoseconds[i]) * 1e-6 / profile.runs;
    auto found = regions.find(step.step->region);
    const RegionReport* region = found == regions.end() ? nullptr : found->second;
    const bool first = counted.insert(step.step->region).second;
    const std::string kernel = step.is_copy() ? "(copy)" : bound.kernel(step).name;
    add(kernels[kernel], milliseconds, first ? region : nullptr);
    add(layers[layer_of(region)], milliseconds, first ? region : nullptr);
  }
  profile.kernels = kernels.sorted();
  profile.layers = layers.sorted();
}

Status measure_replay(Executor& executor, PreparedRun& prepared,
                      const std::shared_ptr<VulkanDevice>& device, GraphProfile& result) {
  const ReplayWatch watch(device);
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < result.runs; ++i) WEFT_TRY_STATUS(executor.run(prepared));
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
  result.submissions = watch.submissions(result.runs);
  result.host_us = watch.host_us(result.runs, passed.count());
  return ok();
}

}  // namespace

Result<GraphProfile> profile(const Module& module, const DimBinding& dims, const TensorMap& fixed,
                             const ProfileOptions& options) {
  const Graph& graph = module.graphs[0];
  WEFT_TRY(TensorMap inputs, sample_inputs(module, graph, dims, options.seed));
  for (const auto& [name, tensor] : fixed) inputs[name] = tensor;
  CompileRequest request = options.request;
  request.sizes = dims;
  WEFT_TRY(Compiled compiled, compile(module, request));
  WEFT_TRY(GraphReport report, explain_graph({compiled.module, compiled.programs,
                                              compiled.executable.packed, compiled.attention},
                                             compiled.executable.graphs[0], dims));
  ContextOptions context;
  context.threads = options.threads;
  context.seed = options.seed;
  context.device = options.request.device;
  if (is_vulkan(options.request.device)) {
    WEFT_TRY(OpenVulkan opened, open_vulkan_device(options.request.device));
    context.vulkan = std::move(opened.device);
  }
  WEFT_TRY(Executor executor, Executor::create(std::move(compiled.executable), context));
  WEFT_TRY(PreparedRun prepared, executor.prepare(graph.name(), inputs, dims));
  WEFT_TRY_STATUS(executor.run(prepared));
  GraphProfile result;
  result.graph = graph.name();
  result.dims = dims;
  result.runs = options.runs;
  result.threads = executor.context().threads();
  std::vector<int64_t> nanoseconds(prepared.bound->steps.size());
  auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < options.runs; ++i) {
    WEFT_TRY_STATUS(executor.run(prepared, nanoseconds));
  }
  std::chrono::duration<double, std::milli> passed = std::chrono::steady_clock::now() - start;
  result.milliseconds = passed.count() / options.runs;
  fill(result, report, *prepared.bound, nanoseconds);
  if (context.vulkan != nullptr) {
    WEFT_TRY_STATUS(measure_replay(executor, prepared, context.vulkan, result));
  }
  return result;
}

}  // namespace weft
