// What must hold in an executable, whoever made it.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>

#include "ir/graph/infer.h"
#include "ir/text/names.h"
#include "runtime/loaded.h"

namespace weft {
namespace {

constexpr int kMaxStepDepth = 8;

class Checker {
 public:
  Checker(const Executable& executable, const Loc& loc) : executable_(executable), loc_(loc) {}

  Status run() {
    WEFT_TRY_STATUS(check_storage());
    WEFT_TRY_STATUS(check_blocks());
    WEFT_TRY_STATUS(check_packed());
    if (executable_.interfaces.size() != executable_.graphs.size()) {
      return fail(executable_.interfaces.size(), " interfaces for ", executable_.graphs.size(),
                  " graphs");
    }
    std::set<std::string> names;
    for (size_t i = 0; i < executable_.graphs.size(); ++i) {
      const GraphPlan& plan = executable_.graphs[i];
      const GraphInterface& interface = executable_.interfaces[i];
      if (interface.name != plan.graph) {
        return fail("the interface of @", interface.name, " stands with the plan of @", plan.graph);
      }
      if (!names.insert(plan.graph).second) return fail("there are two graphs @", plan.graph);
      WEFT_TRY_STATUS(check_graph(plan, interface));
    }
    return ok();
  }

 private:
  template <class... Parts>
  Error fail(const Parts&... parts) const {
    return error(loc_, "the executable is damaged: ", parts...);
  }

  Status check_storage() {
    for (const Storage& storage : executable_.storage) {
      if (!storage_.emplace(storage.name, storage.type.dtype).second) {
        return fail("there are two @", storage.name);
      }
    }
    return ok();
  }

  Status check_blocks() {
    std::map<std::string, const Storage*> by_name;
    for (const Storage& storage : executable_.storage) by_name.emplace(storage.name, &storage);
    std::set<std::string> taken;
    for (const StorageBlock& block : executable_.blocks) {
      if (block.members.empty()) return fail("block ", block.name, " is empty");
      for (const std::string& member : block.members) {
        auto found = by_name.find(member);
        if (found == by_name.end()) return fail("block ", block.name, " has no @", member);
        if (!taken.insert(member).second) return fail("@", member, " lies in two blocks");
        if (found->second->type.dtype != by_name.at(block.members[0])->type.dtype ||
            !element_count(found->second->type.shape).is_constant()) {
          return fail("block ", block.name, ": @", member, " is ", found->second->type);
        }
      }
      if (!storage_.emplace(block.name, by_name.at(block.members[0])->type.dtype).second) {
        return fail("there are two @", block.name);
      }
    }
    return ok();
  }

  // The kernels that make copies know their sizes; each copies from one buffer to another.
  Status check_copier(const PackedStorage& copy, uint32_t program) const {
    if (program >= executable_.kernels.size()) {
      return fail("copy ", copy.name, " is made by kernel ", program, " of ",
                  executable_.kernels.size());
    }
    const Kernel& kernel = executable_.kernels[program];
    auto known = [](const Dim& dim) { return dim.is_constant() && dim.constant() >= 0; };
    auto constant = [](const Dim& dim) { return dim.is_constant(); };
    if (kernel.buffers == 2 && known(kernel.programs) && known(kernel.scratch_bytes) &&
        std::ranges::all_of(kernel.args, constant)) {
      return ok();
    }
    return fail("copy ", copy.name, " is made by kernel ", kernel.name, ", which makes no copies");
  }

  Status check_packed() {
    std::set<std::string> taken;
    for (const StorageBlock& block : executable_.blocks) {
      taken.insert(block.name);
      taken.insert(block.members.begin(), block.members.end());
    }
    for (const PackedStorage& copy : executable_.packed) {
      auto source = std::ranges::find(executable_.storage, copy.storage, &Storage::name);
      if (source == executable_.storage.end() || taken.contains(copy.storage)) {
        return fail("copy ", copy.name, " is one of @", copy.storage, ", which cannot be copied");
      }
      const Dim size = element_count(source->type.shape);
      if (!size.is_constant() || source->type.dtype != copy.dtype || copy.offset < 0 ||
          copy.offset > size.constant() || copy.elements < 0 ||
          copy.elements > INT64_MAX / byte_size(copy.dtype)) {
        return fail("copy ", copy.name, " of ", copy.elements, " elements is one of @",
                    copy.storage, ", which is ", source->type);
      }
      WEFT_TRY_STATUS(check_copier(copy, copy.program));
      if (copy.back) WEFT_TRY_STATUS(check_copier(copy, *copy.back));
      if (copy.back) replaced_.insert(copy.storage);
      if (!packed_.emplace(copy.name, &copy).second) return fail("there are two ", copy.name);
    }
    return ok();
  }

  static const TensorSlot* find(const std::vector<TensorSlot>& slots, const std::string& name) {
    for (const TensorSlot& slot : slots) {
      if (slot.name == name) return &slot;
    }
    return nullptr;
  }

  Status check_slots(const std::vector<TensorSlot>& slots) const {
    std::set<std::string> names;
    for (const TensorSlot& slot : slots) {
      if (!names.insert(slot.name).second) return fail("two tensors are called ", slot.name);
      if (auto fault = type_fault(slot.type)) return fail(slot.name, ": ", *fault);
    }
    return ok();
  }

  Status check_graph(const GraphPlan& plan, const GraphInterface& interface) const {
    WEFT_TRY_STATUS(check_slots(interface.inputs));
    WEFT_TRY_STATUS(check_slots(interface.outputs));
    if (plan.buffers.size() > kMaxListItems) {
      return fail("@", plan.graph, " has more than ", kMaxListItems, " buffers");
    }
    std::set<std::string> written;
    for (const PlanBuffer& buffer : plan.buffers) {
      WEFT_TRY_STATUS(check_buffer(plan, interface, buffer));
      if (buffer.kind == PlanBuffer::output && !written.insert(buffer.name).second) {
        return fail("output ", buffer.name, " has two buffers");
      }
    }
    if (written.size() != interface.outputs.size()) {
      return fail("@", plan.graph, " has ", interface.outputs.size(), " outputs, and buffers for ",
                  written.size());
    }
    return check_steps(plan, plan.steps, 0);
  }

  // The element type that the thing behind a buffer has; nothing if it is not there.
  std::optional<DType> dtype_behind(const GraphInterface& interface,
                                    const PlanBuffer& buffer) const {
    if (buffer.kind == PlanBuffer::input || buffer.kind == PlanBuffer::output) {
      const auto& slots = buffer.kind == PlanBuffer::input ? interface.inputs : interface.outputs;
      const TensorSlot* slot = find(slots, buffer.name);
      return slot == nullptr ? std::nullopt : std::optional(slot->type.dtype);
    }
    if (buffer.kind == PlanBuffer::packed) {
      auto copy = packed_.find(buffer.name);
      return copy == packed_.end() ? std::nullopt : std::optional(copy->second->dtype);
    }
    if (buffer.kind != PlanBuffer::storage) return buffer.dtype;
    if (replaced_.contains(buffer.name)) return std::nullopt;
    auto found = storage_.find(buffer.name);
    return found == storage_.end() ? std::nullopt : std::optional(found->second);
  }

  Status check_buffer(const GraphPlan& plan, const GraphInterface& interface,
                      const PlanBuffer& buffer) const {
    std::optional<DType> dtype = dtype_behind(interface, buffer);
    if (!dtype) return fail("@", plan.graph, ": nothing is behind buffer ", buffer.name);
    if (*dtype != buffer.dtype) {
      return fail("@", plan.graph, ": buffer ", buffer.name, " is ", name(buffer.dtype),
                  ", what is behind it ", name(*dtype));
    }
    if (buffer.kind == PlanBuffer::arena &&
        (buffer.first > buffer.last || buffer.last >= plan.steps.size())) {
      return fail("@", plan.graph, ": buffer ", buffer.name, " lives from step ", buffer.first,
                  " to ", buffer.last, " of ", plan.steps.size());
    }
    Dim bytes = buffer.elements * Dim(byte_size(buffer.dtype));
    if (buffer.kind == PlanBuffer::constant &&
        (!bytes.is_constant() || bytes.constant() != static_cast<int64_t>(buffer.data.size()))) {
      return fail("@", plan.graph, ": constant ", buffer.name, " has ", buffer.data.size(),
                  " bytes instead of ", bytes);
    }
    return ok();
  }

  Status check_steps(const GraphPlan& plan, const std::vector<Step>& steps, int depth) const {
    if (depth > kMaxStepDepth) return fail("@", plan.graph, ": repeats lie too deep");
    for (const Step& step : steps) {
      for (const Placement& placement : step.buffers) {
        if (placement.buffer >= plan.buffers.size()) {
          return fail("@", plan.graph, ": a step uses buffer ", placement.buffer, " of ",
                      plan.buffers.size());
        }
      }
      switch (step.kind) {
        case Step::launch: WEFT_TRY_STATUS(check_launch(step)); break;
        case Step::copy: WEFT_TRY_STATUS(check_copy(plan, step)); break;
        case Step::repeat:
          if (step.chunk < 1 || step.symbol.empty() || !step.buffers.empty()) {
            return fail("@", plan.graph, ": a repeat in chunks of ", step.chunk);
          }
          WEFT_TRY_STATUS(check_steps(plan, step.body, depth + 1));
          break;
      }
    }
    return ok();
  }

  Status check_launch(const Step& step) const {
    if (step.program >= executable_.kernels.size()) {
      return fail("a step launches kernel ", step.program, " of ", executable_.kernels.size());
    }
    const Kernel& kernel = executable_.kernels[step.program];
    if (!kernel.uses.empty() && kernel.uses.size() != kernel.buffers) {
      return fail("kernel ", kernel.name, " has ", kernel.buffers, " buffers and uses ",
                  kernel.uses.size());
    }
    if (step.buffers.size() == kernel.buffers) return ok();
    return fail("kernel ", kernel.name, " has ", kernel.buffers, " buffers and is given ",
                step.buffers.size());
  }

  Status check_copy(const GraphPlan& plan, const Step& step) const {
    if (step.buffers.size() != 2) return fail("a copy has ", step.buffers.size(), " buffers");
    const PlanBuffer& from = plan.buffers[step.buffers[0].buffer];
    const PlanBuffer& to = plan.buffers[step.buffers[1].buffer];
    bool writable = to.kind != PlanBuffer::input && to.kind != PlanBuffer::constant &&
                    to.kind != PlanBuffer::packed;
    if (writable && from.dtype == to.dtype) return ok();
    return fail("@", plan.graph, ": a copy from ", from.name, " to ", to.name);
  }

  const Executable& executable_;
  const Loc& loc_;
  std::map<std::string, DType> storage_;                // of storage and blocks
  std::map<std::string, const PackedStorage*> packed_;  // by name
  std::set<std::string> replaced_;                      // storage that only copies are read of
};

}  // namespace

Status check_executable(const Executable& executable, const Loc& loc) {
  return Checker(executable, loc).run();
}

}  // namespace weft
