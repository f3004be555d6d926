// The nodes of a graph as tasks on pieces of memory.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/text/text.h"
#include "passes/plan_work.h"
#include "passes/views.h"

namespace weft {
namespace {

// A larger constant is one number in a large shape: cheaper to write than to keep.
constexpr int64_t kMaxConstantElements = 1024;

void append_number(std::vector<std::byte>& data, DType dtype, double real, int64_t integer) {
  auto put = [&](auto number) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&number);
    data.insert(data.end(), bytes, bytes + sizeof number);
  };
  switch (dtype) {
    case DType::f64: return put(real);
    case DType::f32: return put(static_cast<float>(real));
    case DType::f16: return put(to_f16_bits(real));
    case DType::bf16: return put(to_bf16_bits(real));
    case DType::i8: return put(static_cast<int8_t>(integer));
    case DType::u8: return put(static_cast<uint8_t>(integer));
    case DType::i32: return put(static_cast<int32_t>(integer));
    case DType::u32: return put(static_cast<uint32_t>(integer));
    case DType::i64: return put(integer);
    case DType::boolean: return put(static_cast<uint8_t>(integer != 0));
  }
}

std::vector<std::byte> constant_bytes(const Node& node, int64_t count) {
  const Numbers& numbers = node.attrs.numbers("value");
  std::vector<std::byte> data;
  for (int64_t i = 0; i < count; ++i) {
    size_t at = numbers.size() == 1 ? 0 : static_cast<size_t>(i);
    if (numbers.real()) {
      append_number(data, node.types[0].dtype, std::get<0>(numbers.values)[at], 0);
    } else {
      append_number(data, node.types[0].dtype, 0, std::get<1>(numbers.values)[at]);
    }
  }
  return data;
}

}  // namespace

SlotId GraphWork::add_slot(PlanSlot slot) {
  slots.push_back(std::move(slot));
  return static_cast<SlotId>(slots.size() - 1);
}

SlotId GraphWork::storage_slot(const StorageHome& home, DType dtype) {
  auto [found, fresh] = storage.emplace(home.name, 0);
  if (fresh) found->second = add_slot({PlanBuffer::storage, home.name, dtype, home.elements});
  return found->second;
}

GraphWork::Home GraphWork::home_of(SlotId slot) const {
  Home home{slot, 0};
  while (slots[home.root].inside) {
    home.offset = home.offset + slots[home.root].offset;
    home.root = *slots[home.root].inside;
  }
  return home;
}

TaskMaker::TaskMaker(const PlanContext& context, const Graph& graph, GraphWork& work,
                     std::vector<Task>& tasks, std::vector<Located> inputs)
    : context_(context),
      graph_(graph),
      work_(work),
      tasks_(tasks),
      inputs_(std::move(inputs)),
      names_(value_names(graph)) {}

Status TaskMaker::make_tasks() {
  for (uint32_t node = 0; node < graph_.nodes().size(); ++node) {
    CheckContext what(cat("plan of @", graph_.name(), ", op ", weft::name(graph_[node].op)));
    WEFT_TRY_STATUS(visit(node));
  }
  return ok();
}

Status TaskMaker::visit(uint32_t number) {
  const Node& node = graph_[number];
  Value value{number, 0};
  switch (node.op) {
    case Op::input: {
      auto place = std::ranges::find(graph_.inputs(), value) - graph_.inputs().begin();
      if (!inputs_.empty()) {
        located_[value] = inputs_[static_cast<size_t>(place)];
      } else {
        located_[value] = {
            work_.add_slot({PlanBuffer::input, graph_.input_name(value), node.types[0].dtype,
                            element_count(node.types[0].shape)}),
            0};
      }
      return ok();
    }
    case Op::param: {
      const StorageHome& home = context_.homes.at(node.attrs.text("name"));
      located_[value] = {work_.storage_slot(home, node.types[0].dtype), home.offset};
      return ok();
    }
    case Op::constant: {
      Dim count = element_count(node.types[0].shape);
      if (!count.is_constant() || count.constant() > kMaxConstantElements) return run_alone(number);
      located_[value] = {work_.add_slot({PlanBuffer::constant, name(value), node.types[0].dtype,
                                         count, constant_bytes(node, count.constant())}),
                         0};
      return ok();
    }
    case Op::region: return run_region(number);
    case Op::chunked: return run_chunked(number);
    case Op::concat: return node.attrs.integer("axis") == 0 ? pack(number) : run_alone(number);
    default:
      if (info(node.op).has(kView) && is_free_view(graph_, value, context_.module.dims))
        return ok();
      return run_alone(number);
  }
}

Access TaskMaker::access(Value value) const {
  View view = view_of(graph_, value, context_.module.dims);
  const Located& base = located(view.base);
  Dim elements = element_count(graph_.type(view.base).shape);
  const Shape& shape = graph_.type(value).shape;
  bool whole = view.offset.is_constant(0) && is_contiguous(view, shape, context_.module.dims) &&
               context_.module.dims.equal(element_count(shape), elements);
  // A view of nothing may begin beyond what it is a view of: nothing is read there, but a sum over
  // it is still launched.
  const bool inside = context_.module.dims.bounds_of(elements - view.offset).low >= 0;
  const Dim offset = inside ? view.offset : Dim::min(view.offset, elements);
  return {base.slot, base.offset + offset, base.offset, elements, whole};
}

SlotId TaskMaker::result_slot(Value value) {
  const Type& type = graph_.type(value);
  SlotId slot =
      work_.add_slot({PlanBuffer::arena, name(value), type.dtype, element_count(type.shape)});
  located_[value] = {slot, 0};
  return slot;
}

void TaskMaker::launch(LoweredRegion lowered, std::string name, std::vector<Access> operands,
                       std::vector<SlotId> results) {
  Task task{Step::launch, std::move(name), std::move(operands), std::move(results)};
  for (const LoweredRegion::Workspace& workspace : lowered.workspaces) {
    task.workspaces.push_back(
        work_.add_slot({PlanBuffer::arena, workspace.name, workspace.dtype, workspace.elements}));
  }
  task.lowered = std::move(lowered);
  tasks_.push_back(std::move(task));
}

Status TaskMaker::run_region(uint32_t number) {
  const Node& node = graph_[number];
  WEFT_TRY(LoweredRegion lowered, lower_region(context_.module, graph_, number, context_.device));
  std::vector<Access> operands;
  for (Value operand : node.operands) operands.push_back(access(operand));
  std::vector<SlotId> results;
  for (uint32_t i = 0; i < node.types.size(); ++i) results.push_back(result_slot({number, i}));
  launch(std::move(lowered), name({number, 0}), std::move(operands), std::move(results));
  return ok();
}

// A node that fusion left alone: a region of its own.
Status TaskMaker::run_alone(uint32_t number) {
  const Node& node = graph_[number];
  WEFT_TRY(LoweredRegion lowered, lower_alone(context_, graph_, number));
  std::vector<Access> operands;
  for (Value operand : node.operands) operands.push_back(access(operand));
  launch(std::move(lowered), name({number, 0}), std::move(operands), {result_slot({number, 0})});
  return ok();
}

Status TaskMaker::copy_to(Value value, SlotId target) {
  View view = view_of(graph_, value, context_.module.dims);
  const Shape& shape = graph_.type(value).shape;
  if (is_contiguous(view, shape, context_.module.dims)) {
    Task task{Step::copy, name(value), {access(value)}, {target}};
    task.elements = element_count(shape);
    tasks_.push_back(std::move(task));
    return ok();
  }
  WEFT_TRY(LoweredRegion lowered, lower_copy(context_, graph_, value, view.base));
  launch(std::move(lowered), name(value), {access(view.base)}, {target});
  return ok();
}

Status TaskMaker::run_chunked(uint32_t number) {
  const Node& node = graph_[number];
  ChunkedOperands memory;
  for (Value operand : node.operands) {
    View view = view_of(graph_, operand, context_.module.dims);
    const Type& type = graph_.type(operand);
    if (is_contiguous(view, type.shape, context_.module.dims)) {
      memory.accesses.push_back(access(operand));
      continue;
    }
    SlotId copy =
        work_.add_slot({PlanBuffer::arena, name(operand), type.dtype, element_count(type.shape)});
    WEFT_TRY_STATUS(copy_to(operand, copy));
    memory.accesses.push_back({copy, 0, 0, element_count(type.shape), true});
  }
  for (uint32_t i = 0; i < node.types.size(); ++i) {
    memory.results.push_back(result_slot({number, i}));
  }
  return make_repeat(*this, node, memory, tasks_);
}

// True if the memory of the operand can be chosen to lie inside a pack.
bool TaskMaker::may_move(Value operand) const {
  Access place = access(operand);
  const PlanSlot& slot = work_.slots[place.slot];
  return place.whole && place.offset.is_constant(0) && slot.kind == PlanBuffer::arena &&
         !slot.inside && slot.elements == place.elements;
}

bool TaskMaker::place_in_block(uint32_t number) {
  const Node& node = graph_[number];
  Access first = access(node.operands[0]);
  if (work_.slots[first.slot].kind != PlanBuffer::storage) return false;
  Dim next = first.offset;
  for (Value operand : node.operands) {
    Access place = access(operand);
    if (!place.whole || place.slot != first.slot || place.offset != next) return false;
    next = next + place.elements;
  }
  located_[{number, 0}] = {first.slot, first.offset};
  return true;
}

Status TaskMaker::pack(uint32_t number) {
  if (place_in_block(number)) return ok();
  const Node& node = graph_[number];
  SlotId whole = result_slot({number, 0});
  Dim offset;
  for (Value operand : node.operands) {
    const Type& type = graph_.type(operand);
    SlotId part = access(operand).slot;
    if (!may_move(operand)) {
      part =
          work_.add_slot({PlanBuffer::arena, name(operand), type.dtype, element_count(type.shape)});
      WEFT_TRY_STATUS(copy_to(operand, part));
    }
    work_.slots[part].inside = whole;
    work_.slots[part].offset = offset;
    work_.slots[whole].parts.push_back(part);
    offset = offset + element_count(type.shape);
  }
  return ok();
}

}  // namespace weft
