// SPDX-License-Identifier: Apache-2.0
#include "passes/pack_weights.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <tuple>

namespace weft {
namespace {

class Packer {
 public:
  Packer(Plan& plan, const Module& module, const DeviceTraits& device)
      : plan_(plan), device_(device), changed_(plan.programs.size()) {
    for (const Graph& graph : module.graphs) {
      for (const Update& update : graph.updates) updated_.insert(update.target);
    }
  }

  void run() {
    for (GraphPlan& graph : plan_.graphs) {
      graph_ = &graph;
      copies_.clear();
      for (Step& step : graph.steps) visit(step);
      drop_buffers();
    }
    replace_storage();
    drop_programs();
  }

 private:
  // A copy, as it is told from others.
  using Copy = std::tuple<std::string, int64_t, PanelSource>;  // storage, where it begins

  static void for_each_launch(std::vector<Step>& steps, const std::function<void(Step&)>& fn) {
    for (Step& step : steps) {
      if (step.kind == Step::launch) fn(step);
      for_each_launch(step.body, fn);
    }
  }

  static void for_each_place(std::vector<Step>& steps, const std::function<void(Placement&)>& fn) {
    for (Step& step : steps) {
      for (Placement& place : step.buffers) fn(place);
      for_each_place(step.body, fn);
    }
  }

  void visit(Step& step) {
    for (Step& inner : step.body) visit(inner);
    if (step.kind != Step::launch) return;
    std::vector<tile::BufferId> packed;
    for (tile::BufferId b = 0; b < step.buffers.size(); ++b) {
      if (pack(step, b)) packed.push_back(b);
    }
    if (!packed.empty()) step.program = reading_panels(step.program, packed);
  }

  int64_t columns(DType dtype) const { return device_.panel_bytes / byte_size(dtype); }

  // Makes a launch's buffer the copy in panels, if there can be one.
  bool pack(Step& step, tile::BufferId b) {
    const Placement& place = step.buffers[b];
    const PlanBuffer buffer = graph_->buffers[place.buffer];  // the list is about to grow
    if (buffer.kind != PlanBuffer::storage || updated_.contains(buffer.name)) return false;
    // Of a block, some members may be updated; two bytes are widened before they are multiplied.
    const bool block = std::ranges::count(plan_.blocks, buffer.name, &StorageBlock::name) > 0;
    if (block || !is_float(buffer.dtype) || byte_size(buffer.dtype) < 4) return false;
    if (!place.offset.is_constant() || !buffer.elements.is_constant()) return false;
    const std::optional<PanelSource> source = panel_source(plan_.programs[step.program], b);
    if (!source || source->width <= columns(buffer.dtype)) return false;
    if (source->depth * source->width * byte_size(buffer.dtype) < device_.least_packed_bytes)
      return false;
    step.buffers[b] = {copy_of(buffer, place.offset.constant() + source->offset, *source), 0};
    return true;
  }

  // The graph's buffer for a copy.
  PlanBufferId copy_of(const PlanBuffer& storage, int64_t offset, const PanelSource& source) {
    const Copy key = {storage.name, offset, source};
    auto [known, fresh] = copies_.emplace(key, static_cast<PlanBufferId>(graph_->buffers.size()));
    if (!fresh) return known->second;
    PlanBuffer buffer{PlanBuffer::packed, "", storage.dtype, 0, 0, 0, {}};
    auto [number, first] = packed_.emplace(key, plan_.packed.size());
    if (first) {
      sources_.push_back({source, storage.elements.constant()});
      const int64_t across = columns(storage.dtype);
      const int64_t panels = (source.width + across - 1) / across;
      plan_.packed.push_back({cat("weft.packed.", number->second),
                              storage.name,
                              storage.dtype,
                              offset,
                              panels * source.depth * across,
                              maker(source, storage.dtype, makers_, panel_program),
                              {}});
    }
    const PackedStorage& copy = plan_.packed[number->second];
    buffer.name = copy.name;
    buffer.elements = copy.elements;
    graph_->buffers.push_back(std::move(buffer));
    return known->second;
  }

  // The program that makes copies of this form, or what they are copies of.
  using Make = tile::Program (*)(const PanelSource& source, DType dtype, int64_t columns);
  using Makers = std::map<std::pair<PanelSource, DType>, size_t>;
  uint32_t maker(PanelSource source, DType dtype, Makers& makers, Make make) {
    source.offset = 0;
    auto [known, fresh] = makers.emplace(std::pair(source, dtype), plan_.programs.size());
    if (fresh) {
      plan_.programs.push_back(make(source, dtype, columns(dtype)));
      tile::Program& program = plan_.programs.back();
      if (makers.size() > 1) program.name += cat("_", makers.size() - 1);
    }
    return static_cast<uint32_t>(known->second);
  }

  // True if the copy has every element of its storage.
  static bool is_whole(const PanelSource& source, int64_t offset, int64_t elements) {
    const bool rows = source.step_k == source.width && source.step_n == 1;
    const bool columns = source.step_n == source.depth && source.step_k == 1;
    return offset == 0 && source.depth * source.width == elements && (rows || columns);
  }

  // Storage that nothing reads any more but copies can be had of one of them.
  void replace_storage() {
    std::set<std::string> read;
    for (const GraphPlan& graph : plan_.graphs) {
      for (const PlanBuffer& buffer : graph.buffers) {
        if (buffer.kind == PlanBuffer::storage) read.insert(buffer.name);
      }
    }
    for (size_t i = 0; i < plan_.packed.size(); ++i) {
      PackedStorage& copy = plan_.packed[i];
      const auto& [source, elements] = sources_[i];
      if (read.contains(copy.storage) || !is_whole(source, copy.offset, elements)) continue;
      copy.back = maker(source, copy.dtype, unmakers_, unpanel_program);
    }
  }

  uint32_t reading_panels(uint32_t program, const std::vector<tile::BufferId>& packed) {
    auto [known, fresh] = changed_[program].emplace(packed, plan_.programs.size());
    if (fresh) {
      tile::Program changed = plan_.programs[program];
      for (tile::BufferId b : packed) {
        const int64_t across = columns(changed.buffers[b].dtype);
        changed = with_panels(std::move(changed), b, across);
        changed = with_two_blocks(std::move(changed), b, across);
      }
      const size_t others = changed_[program].size() - 1;
      changed.name += others == 0 ? "_packed" : cat("_packed_", others);
      plan_.programs.push_back(std::move(changed));
    }
    return static_cast<uint32_t>(known->second);
  }

  void drop_buffers() {
    std::vector<bool> used(graph_->buffers.size());
    for_each_place(graph_->steps, [&](Placement& place) { used[place.buffer] = true; });
    std::vector<PlanBufferId> moved(used.size());
    std::vector<PlanBuffer> kept;
    for (size_t i = 0; i < used.size(); ++i) {
      moved[i] = static_cast<PlanBufferId>(kept.size());
      if (used[i]) kept.push_back(std::move(graph_->buffers[i]));
    }
    graph_->buffers = std::move(kept);
    for_each_place(graph_->steps, [&](Placement& place) { place.buffer = moved[place.buffer]; });
  }

  void drop_programs() {
    std::vector<bool> used(plan_.programs.size());
    for (GraphPlan& graph : plan_.graphs) {
      for_each_launch(graph.steps, [&](Step& step) { used[step.program] = true; });
    }
    for (const PackedStorage& copy : plan_.packed) {
      used[copy.program] = true;
      if (copy.back) used[*copy.back] = true;
    }
    std::vector<uint32_t> moved(used.size());
    std::vector<tile::Program> kept;
    for (size_t i = 0; i < used.size(); ++i) {
      moved[i] = static_cast<uint32_t>(kept.size());
      if (used[i]) kept.push_back(std::move(plan_.programs[i]));
    }
    plan_.programs = std::move(kept);
    for (GraphPlan& graph : plan_.graphs) {
      for_each_launch(graph.steps, [&](Step& step) { step.program = moved[step.program]; });
    }
    for (PackedStorage& copy : plan_.packed) {
      copy.program = moved[copy.program];
      if (copy.back) copy.back = moved[*copy.back];
    }
  }

  Plan& plan_;
  const DeviceTraits& device_;
  GraphPlan* graph_ = nullptr;
  std::set<std::string> updated_;  // storage that some graph changes
  std::map<Copy, size_t> packed_;  // into Plan::packed
  std::vector<std::pair<PanelSource, int64_t>>
      sources_;                          // of Plan::packed; elements of the storage
  std::map<Copy, PlanBufferId> copies_;  // of the graph
  Makers makers_, unmakers_;             // programs
  std::vector<std::map<std::vector<tile::BufferId>, size_t>> changed_;  // by program: programs
};

}  // namespace

void pack_weights(Plan& plan, const Module& module, const DeviceTraits& device) {
  if (device.panel_bytes > 0) Packer(plan, module, device).run();
}

}  // namespace weft
