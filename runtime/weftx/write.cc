// Writing of compiled executables.
// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <unordered_map>

#include "executable_generated.h"
#include "ir/serial/serial.h"
#include "runtime/weftx/payload.h"

namespace weft::weftx {
namespace {

using flatbuffers::Offset;
template <class T>
using Offsets = std::vector<Offset<T>>;

class Writer {
 public:
  std::string run(const Executable& executable) {
    auto features = texts(executable.target_features);
    std::string module = module_bytes(executable);
    auto module_data =
        out_.CreateVector(reinterpret_cast<const uint8_t*>(module.data()), module.size());
    auto interfaces = each<InterfaceData>(executable.interfaces, &Writer::interface_data);
    auto kernels = each<KernelData>(executable.kernels, &Writer::kernel_data);
    auto portable = each<KernelData>(executable.portable, &Writer::kernel_data);
    auto blocks = each<BlockData>(executable.blocks, &Writer::block_data);
    auto packed = each<PackedData>(executable.packed, &Writer::packed_data);
    auto graphs = each<PlanData>(executable.graphs, &Writer::plan_data);
    auto code = bytes(executable.code);
    uint32_t names[] = {text(std::string(architecture())), text(executable.device),
                        text(executable.target_cpu), text(executable.module_name)};
    auto symbols = out_.CreateVector(symbols_);
    auto dims = out_.CreateVector(dims_);
    auto all_texts = out_.CreateVector(texts_);
    auto types = out_.CreateVector(types_);
    out_.Finish(CreateExecutableData(out_, names[0], names[1], names[2], features, names[3],
                                     module_data, symbols, dims, all_texts, types, interfaces,
                                     kernels, blocks, packed, graphs, code, portable),
                ExecutableDataIdentifier());
    return std::string(reinterpret_cast<const char*>(out_.GetBufferPointer()), out_.GetSize());
  }

 private:
  static std::string module_bytes(const Executable& executable) {
    Module module;
    module.name = "executable";  // the real name has a place of its own, and may be empty
    module.dims = executable.dims;
    module.storage = executable.storage;
    return write_binary(module);
  }

  template <class Data, class Item>
  Offset<flatbuffers::Vector<Offset<Data>>> each(const std::vector<Item>& items,
                                                 Offset<Data> (Writer::*write)(const Item&)) {
    Offsets<Data> result;
    for (const Item& item : items) result.push_back((this->*write)(item));
    return out_.CreateVector(result);
  }

  Offset<flatbuffers::Vector<uint8_t>> bytes(const std::vector<std::byte>& data) {
    return out_.CreateVector(reinterpret_cast<const uint8_t*>(data.data()), data.size());
  }

  // Texts, symbols, dims and types are stored once each.
  uint32_t text(const std::string& item) {
    auto [known, fresh] = text_index_.try_emplace(item, static_cast<uint32_t>(texts_.size()));
    if (fresh) texts_.push_back(out_.CreateString(item));
    return known->second;
  }

  uint32_t dim(const Dim& dim) {
    auto [known, fresh] = dim_index_.try_emplace(dim, static_cast<uint32_t>(dims_.size()));
    if (!fresh) return known->second;
    std::set<std::string> names;
    dim.collect_symbols(names);
    for (const std::string& name : names) {
      auto number = static_cast<uint32_t>(symbols_.size());
      auto [place, added] = renamed_.try_emplace(name, Dim::symbol(cat("s", number)));
      if (added) symbols_.push_back(out_.CreateString(name));
    }
    dims_.push_back(out_.CreateString(dim.substitute(renamed_).str()));
    return known->second;
  }

  uint32_t type(const Type& type) {
    auto [known, fresh] = type_index_.try_emplace(type.str(), static_cast<uint32_t>(types_.size()));
    if (fresh) {
      auto shape = dims(type.shape);
      types_.push_back(CreateTypeData(out_, text(std::string(name(type.dtype))), shape));
    }
    return known->second;
  }

  Offset<flatbuffers::Vector<uint32_t>> texts(const std::vector<std::string>& list) {
    std::vector<uint32_t> numbers;
    for (const std::string& item : list) numbers.push_back(text(item));
    return out_.CreateVector(numbers);
  }

  Offset<flatbuffers::Vector<uint32_t>> dims(const std::vector<Dim>& list) {
    std::vector<uint32_t> numbers;
    for (const Dim& item : list) numbers.push_back(dim(item));
    return out_.CreateVector(numbers);
  }

  Offset<flatbuffers::Vector<const Slot*>> slots(const std::vector<TensorSlot>& list) {
    std::vector<Slot> result;
    for (const TensorSlot& slot : list) result.emplace_back(text(slot.name), type(slot.type));
    return out_.CreateVectorOfStructs(result);
  }

  Offset<InterfaceData> interface_data(const GraphInterface& interface) {
    auto inputs = slots(interface.inputs);
    auto outputs = slots(interface.outputs);
    return CreateInterfaceData(out_, text(interface.name), inputs, outputs);
  }

  Offset<KernelData> kernel_data(const Kernel& kernel) {
    auto args = dims(kernel.args);
    auto checks = texts(kernel.checks);
    auto needs = texts(kernel.needs);
    std::vector<BindingData> seen;
    for (const Binding& binding : kernel.bindings) {
      seen.emplace_back(text(std::string(kViews[static_cast<size_t>(binding.view)])),
                        binding.buffer, text(std::string(name(binding.dtype))), binding.width,
                        binding.reads, binding.writes, binding.parts, binding.part_bits);
    }
    auto bindings = out_.CreateVectorOfStructs(seen);
    std::vector<UseData> used;
    for (const BufferUse& use : kernel.uses) used.emplace_back(dim(use.elements), use.writes);
    auto uses = out_.CreateVectorOfStructs(used);
    uint32_t numbers[] = {text(kernel.name), dim(kernel.programs), dim(kernel.scratch_bytes),
                          dim(kernel.iterations)};
    return CreateKernelData(out_, numbers[0], kernel.entry, args, numbers[1], numbers[2],
                            kernel.buffers, checks, kernel.bytes, kernel.workgroup, kernel.subgroup,
                            kernel.numbers_in_buffer, numbers[3], bindings, needs, uses);
  }

  Offset<BlockData> block_data(const StorageBlock& block) {
    auto members = texts(block.members);
    return CreateBlockData(out_, text(block.name), members);
  }

  Offset<PackedData> packed_data(const PackedStorage& copy) {
    uint32_t numbers[] = {text(copy.name), text(copy.storage), text(std::string(name(copy.dtype)))};
    std::vector<uint32_t> back;
    if (copy.back) back.push_back(*copy.back);
    return CreatePackedData(out_, numbers[0], numbers[1], numbers[2], copy.offset, copy.elements,
                            copy.program, out_.CreateVector(back));
  }

  Offset<BufferData> buffer_data(const PlanBuffer& buffer) {
    auto data = bytes(buffer.data);
    uint32_t numbers[] = {text(std::string(kBufferKinds[static_cast<size_t>(buffer.kind)])),
                          text(buffer.name), text(std::string(name(buffer.dtype))),
                          dim(buffer.elements)};
    return CreateBufferData(out_, numbers[0], numbers[1], numbers[2], numbers[3], buffer.first,
                            buffer.last, data);
  }

  // Appends a step and all of its body.
  void add_step(const Step& step, Offsets<StepData>& steps) {
    Offsets<StepData> body;
    for (const Step& inner : step.body) add_step(inner, body);
    std::vector<PlacementData> places;
    for (const Placement& place : step.buffers)
      places.emplace_back(place.buffer, dim(place.offset));
    auto buffers = out_.CreateVectorOfStructs(places);
    std::vector<MeaningData> meanings;
    for (const auto& [symbol, meaning] : step.symbols) {
      meanings.emplace_back(text(symbol), dim(meaning));
    }
    auto symbols = out_.CreateVectorOfStructs(meanings);
    uint32_t numbers[] = {text(std::string(kStepKinds[static_cast<size_t>(step.kind)])),
                          dim(step.elements), text(step.symbol), dim(step.total),
                          text(step.region)};
    steps.push_back(CreateStepData(out_, numbers[0], step.program, buffers, symbols, numbers[1],
                                   numbers[2], numbers[3], step.chunk,
                                   static_cast<uint32_t>(body.size()), numbers[4]));
    steps.insert(steps.end(), body.begin(), body.end());
  }

  Offset<CheckData> check_data(const SizeCheck& check) {
    uint32_t numbers[] = {dim(check.small), dim(check.large), text(check.message)};
    return CreateCheckData(out_, numbers[0], numbers[1], numbers[2]);
  }

  Offset<PlanData> plan_data(const GraphPlan& plan) {
    auto checks = each<CheckData>(plan.checks, &Writer::check_data);
    auto buffers = each<BufferData>(plan.buffers, &Writer::buffer_data);
    Offsets<StepData> steps;
    for (const Step& step : plan.steps) add_step(step, steps);
    auto steps_data = out_.CreateVector(steps);
    return CreatePlanData(out_, text(plan.graph), checks, buffers, steps_data);
  }

  flatbuffers::FlatBufferBuilder out_;
  Offsets<flatbuffers::String> texts_;
  std::unordered_map<std::string, uint32_t> text_index_;
  Offsets<flatbuffers::String> symbols_;
  std::map<std::string, Dim> renamed_;  // to s0, s1, ..
  Offsets<flatbuffers::String> dims_;
  std::map<Dim, uint32_t> dim_index_;
  Offsets<TypeData> types_;
  std::unordered_map<std::string, uint32_t> type_index_;
};

}  // namespace

std::string_view architecture() {
#if defined(__x86_64__)
  return "x86_64";
#elif defined(__aarch64__)
  return "aarch64";
#else
#error "no name for this architecture yet"
#endif
}

std::string write_payload(const Executable& executable) { return Writer().run(executable); }

}  // namespace weft::weftx
