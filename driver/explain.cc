// SPDX-License-Identifier: Apache-2.0
#include "driver/explain.h"

#include <algorithm>
#include <set>

#include "ir/graph/flops.h"
#include "ir/text/text.h"
#include "passes/fuse.h"
#include "runtime/memory.h"

namespace weft {
namespace {

Result<int64_t> number(const Dim& dim, const DimBinding& dims) {
  std::optional<int64_t> value = dim.evaluate(dims);
  if (!value)
    return error({}, "the size ", dim, " cannot be computed").hint("give --dim NAME=SIZE");
  return *value;
}

std::string body_ops(const Graph& body) {
  std::vector<std::pair<std::string, int>> runs;
  for (const Node& node : body.nodes()) {
    if (node.op == Op::input || node.op == Op::constant || info(node.op).has(kView)) continue;
    std::string op(name(node.op));
    if (!runs.empty() && runs.back().first == op) {
      ++runs.back().second;
    } else {
      runs.push_back({op, 1});
    }
  }
  std::string text;
  for (const auto& [op, times] : runs) {
    text += (text.empty() ? "" : " ") + op + (times > 1 ? cat("*", times) : "");
  }
  return text;
}

class Explainer {
 public:
  Explainer(const Explained& what, DimBinding dims, GraphReport& report)
      : module_(what.fused),
        programs_(what.programs),
        exceptions_(what.forms.exceptions),
        dims_(std::move(dims)),
        report_(report) {}

  Status explain(const Graph& graph, const std::vector<Step>& steps, const std::string& chunked) {
    auto names = value_names(graph);
    for (uint32_t n = 0; n < graph.nodes().size(); ++n) {
      if (graph[n].op == Op::region) {
        WEFT_TRY_STATUS(add_region(graph, n, names[n][0], steps, chunked));
      } else if (graph[n].op == Op::chunked) {
        WEFT_TRY_STATUS(add_chunked(graph[n], names[n][0], steps));
      }
    }
    for (const NotJoined& pair : explain_fusion(module_, graph)) {
      report_.splits.push_back({names[pair.producer][0], names[pair.consumer][0], pair.reason});
    }
    return ok();
  }

 private:
  Status add_region(const Graph& graph, uint32_t n, const std::string& name,
                    const std::vector<Step>& steps, const std::string& chunked) {
    const Node& node = graph[n];
    RegionReport region;
    region.name = name;
    region.kind = node.attrs.text("kind");
    region.chunked = chunked;
    region.ops = body_ops(*node.body);
    region.origins = node.origin;
    for (const Step& step : steps) {
      if (step.kind != Step::launch || step.region != name) continue;
      const std::string& kernel = programs_[step.program].name;
      region.kernels.push_back(kernel);
      if (exceptions_.empty() || exceptions_[step.program].empty()) continue;
      region.exceptions.push_back(kernel + ": " + exceptions_[step.program]);
    }
    RegionCost cost = region_cost(graph, n, module_.dims);
    WEFT_TRY(region.bytes_read, number(cost.bytes_read, dims_));
    WEFT_TRY(region.bytes_written, number(cost.bytes_written, dims_));
    WEFT_TRY(region.flops, number(cost.flops, dims_));
    report_.bytes += region.bytes_read + region.bytes_written;
    report_.regions.push_back(std::move(region));
    return ok();
  }

  // All rows at once: what the chunks together read and write.
  Status add_chunked(const Node& node, const std::string& name, const std::vector<Step>& steps) {
    auto repeat = std::ranges::find_if(
        steps, [&](const Step& step) { return step.kind == Step::repeat && step.region == name; });
    if (repeat == steps.end()) return ok();
    WEFT_TRY(int64_t rows, number(node.attrs.dim("rows"), dims_));
    dims_[node.attrs.text("symbol")] = rows;
    WEFT_TRY_STATUS(explain(*node.body, repeat->body, name));
    dims_.erase(node.attrs.text("symbol"));
    return ok();
  }

  const Module& module_;
  const std::vector<tile::Program>& programs_;
  const std::vector<std::string>& exceptions_;
  DimBinding dims_;
  GraphReport& report_;
};

int64_t count_copies(const std::vector<Step>& steps) {
  int64_t count = 0;
  for (const Step& step : steps)
    count += (step.kind == Step::copy ? 1 : 0) + count_copies(step.body);
  return count;
}

// Parameters and state that a graph reads, and copies of them.
Status count_storage(const Module& module, const std::vector<PackedStorage>& packed,
                     const GraphPlan& plan, GraphReport& report) {
  std::set<std::string> replaced;
  for (const PlanBuffer& buffer : plan.buffers) {
    if (buffer.kind != PlanBuffer::storage && buffer.kind != PlanBuffer::packed) continue;
    WEFT_TRY(int64_t elements, number(buffer.elements, report.dims));
    const int64_t bytes = elements * byte_size(buffer.dtype);
    if (buffer.kind == PlanBuffer::storage) {
      report.storage_bytes += bytes;
      continue;
    }
    const PackedStorage& copy = *std::ranges::find(packed, buffer.name, &PackedStorage::name);
    report.packed_bytes += bytes;
    if (!copy.back) report.beside_bytes += bytes;
    if (!copy.back || !replaced.insert(copy.storage).second) continue;
    const Type& type = module.find_storage(copy.storage)->type;
    WEFT_TRY(int64_t whole, number(element_count(type.shape), report.dims));
    report.storage_bytes += whole * byte_size(type.dtype);
  }
  return ok();
}

}  // namespace

int64_t count_launches(const std::vector<Step>& steps) {
  int64_t count = 0;
  for (const Step& step : steps) {
    count += (step.kind == Step::launch ? 1 : 0) + count_launches(step.body);
  }
  return count;
}

Result<PeakMemory> peak_memory(const GraphPlan& plan, const DimBinding& given) {
  DimBinding dims = given;
  for (const Step& step : plan.steps) {  // a chunk is largest where there are rows for it
    if (step.kind != Step::repeat) continue;
    WEFT_TRY(int64_t total, number(step.total, dims));
    dims[step.symbol] = std::min(total, step.chunk);
  }
  std::vector<Lifetime> lifetimes;
  std::vector<const PlanBuffer*> buffers;
  for (const PlanBuffer& buffer : plan.buffers) {
    if (buffer.kind != PlanBuffer::arena) continue;
    WEFT_TRY(int64_t elements, number(buffer.elements, dims));
    lifetimes.push_back({elements * byte_size(buffer.dtype), buffer.first, buffer.last});
    buffers.push_back(&buffer);
  }
  WEFT_TRY(ArenaLayout layout, lay_out(lifetimes));
  PeakMemory peak;
  peak.bytes = layout.bytes;
  std::vector<int64_t> alive(plan.steps.size());
  for (const Lifetime& lifetime : lifetimes) {
    for (uint32_t i = lifetime.first; i <= lifetime.last; ++i) alive[i] += lifetime.bytes;
  }
  if (alive.empty()) return peak;
  auto busiest = static_cast<uint32_t>(std::ranges::max_element(alive) - alive.begin());
  peak.region = plan.steps[busiest].region;
  for (size_t i = 0; i < lifetimes.size(); ++i) {
    if (lifetimes[i].first > busiest || lifetimes[i].last < busiest) continue;
    peak.live.push_back({buffers[i]->name, lifetimes[i].bytes});
  }
  std::ranges::stable_sort(
      peak.live, [](const LiveBuffer& a, const LiveBuffer& b) { return a.bytes > b.bytes; });
  return peak;
}

Result<GraphReport> explain_graph(const Explained& what, const GraphPlan& plan,
                                  const DimBinding& dims) {
  GraphReport report;
  report.name = plan.graph;
  report.dims = dims;
  report.kernel_forms = what.forms.all;
  const Graph& graph = *what.fused.find_graph(plan.graph);
  WEFT_TRY_STATUS(Explainer(what, dims, report).explain(graph, plan.steps, ""));
  report.kernels = count_launches(plan.steps);
  report.copies = count_copies(plan.steps);
  WEFT_TRY(report.flops, count_flops(what.fused, graph, dims));
  WEFT_TRY_STATUS(count_storage(what.fused, what.packed, plan, report));
  WEFT_TRY(report.peak, peak_memory(plan, dims));
  report.attention = count_attention(what.attention, plan.graph);
  WEFT_TRY(report.attention_lines, explain_attention(what, plan, dims));
  return report;
}

}  // namespace weft
