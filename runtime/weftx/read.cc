// Reading of compiled executables. The bytes are hostile until proven otherwise.
// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <iterator>

#include "executable_generated.h"
#include "ir/serial/read_parts.h"
#include "ir/text/names.h"
#include "ir/text/parse_type.h"
#include "runtime/weftx/payload.h"

namespace weft::weftx {
namespace {

constexpr size_t kMaxStepDepth = 8;

using Numbers32 = flatbuffers::Vector<uint32_t>;

template <class T>
size_t length(const flatbuffers::Vector<T>* vector) {
  return vector == nullptr ? 0 : vector->size();
}

class Reader {
 public:
  Reader(const std::string& file, size_t size) : parts_(file, size) {}

  Result<Executable> run(const ExecutableData& data) {
    WEFT_TRY_STATUS(read_tables(data));
    WEFT_TRY_STATUS(read_target(data));
    WEFT_TRY_STATUS(read_module(data));
    WEFT_TRY(made_.code, bytes(data.code()));
    for (const InterfaceData* item : list(data.interfaces())) {
      WEFT_TRY(GraphInterface interface, interface_of(*item));
      made_.interfaces.push_back(std::move(interface));
    }
    for (const KernelData* item : list(data.kernels())) {
      WEFT_TRY(Kernel kernel, kernel_of(*item));
      made_.kernels.push_back(std::move(kernel));
    }
    for (const KernelData* item : list(data.portable())) {
      WEFT_TRY(Kernel kernel, kernel_of(*item));
      made_.portable.push_back(std::move(kernel));
    }
    for (const BlockData* item : list(data.blocks())) {
      StorageBlock block;
      WEFT_TRY(block.name, text(item->name()));
      WEFT_TRY(block.members, texts(item->members()));
      made_.blocks.push_back(std::move(block));
    }
    for (const PackedData* item : list(data.packed())) {
      WEFT_TRY(PackedStorage copy, packed_of(*item));
      made_.packed.push_back(std::move(copy));
    }
    for (const PlanData* item : list(data.graphs())) {
      WEFT_TRY(GraphPlan plan, plan_of(*item));
      made_.graphs.push_back(std::move(plan));
    }
    return std::move(made_);
  }

 private:
  template <class... Parts>
  Error fail(const Parts&... parts) const {
    return error(parts_.loc(), "the executable is damaged: ", parts...);
  }

  Status read_tables(const ExecutableData& data) {
    for (const flatbuffers::String* item : list(data.texts())) {
      WEFT_TRY(std::string copied, parts_.text(item, "text"));
      texts_.push_back(std::move(copied));
    }
    std::map<std::string, Dim> names;
    for (const flatbuffers::String* item : list(data.symbols())) {
      WEFT_TRY(std::string symbol, parts_.name(item, "a symbol"));
      names.emplace(cat("s", names.size()), Dim::symbol(symbol));
    }
    for (const flatbuffers::String* item : list(data.dims())) {
      WEFT_TRY(std::string written, parts_.text(item, "dim"));
      Result<Dim> dim = parse_dim(parts_.file(), std::move(written));
      if (!dim.ok()) return parts_.relocated(cat("dim ", dims_.size()), dim.diagnostics());
      dims_.push_back(dim->substitute(names));
    }
    for (const TypeData* item : list(data.types())) {
      Type type;
      WEFT_TRY(type.dtype, dtype(item->dtype()));
      WEFT_TRY(type.shape, dims(item->shape()));
      if (std::optional<std::string> fault = type_fault(type)) return fail("a type: ", *fault);
      types_.push_back(std::move(type));
    }
    return ok();
  }

  Status read_target(const ExecutableData& data) {
    WEFT_TRY(std::string made_for, text(data.architecture()));
    WEFT_TRY(made_.device, text(data.device()));
    if (made_.device == "cpu" && made_for != architecture()) {
      return error(parts_.loc(), "the executable is for ", made_for, ", this machine is ",
                   architecture())
          .hint("compile the model on this machine");
    }
    WEFT_TRY(made_.target_cpu, text(data.target_cpu()));
    WEFT_TRY(made_.target_features, texts(data.target_features()));
    WEFT_TRY(made_.module_name, text(data.module_name()));
    return ok();
  }

  Status read_module(const ExecutableData& data) {
    if (data.module_() == nullptr) return fail("it has no module");
    std::string_view bytes(reinterpret_cast<const char*>(data.module_()->data()),
                           data.module_()->size());
    WEFT_TRY(Module module, read_binary(parts_.file(), bytes));
    made_.dims = std::move(module.dims);
    made_.storage = std::move(module.storage);
    return ok();
  }

  // What the tables hold under a number; each reading is counted (Parts::spend).
  template <class T>
  Result<T> entry(const std::vector<T>& table, uint32_t index, const char* what, size_t cost) {
    WEFT_TRY_STATUS(parts_.spend(cost));
    if (index < table.size()) return table[index];
    return fail("it refers to ", what, " ", index, " of ", table.size());
  }
  Result<std::string> text(uint32_t index) {
    size_t cost = index < texts_.size() ? texts_[index].size() : 0;
    return entry(texts_, index, "text", cost + sizeof index);
  }
  Result<Dim> dim(uint32_t index) { return entry(dims_, index, "dim", sizeof index); }
  Result<Type> type(uint32_t index) { return entry(types_, index, "type", sizeof index); }

  Result<std::vector<std::string>> texts(const Numbers32* numbers) {
    std::vector<std::string> result;
    for (uint32_t number : list(numbers)) {
      WEFT_TRY(std::string item, text(number));
      result.push_back(std::move(item));
    }
    return result;
  }

  Result<std::vector<Dim>> dims(const Numbers32* numbers) {
    std::vector<Dim> result;
    for (uint32_t number : list(numbers)) {
      WEFT_TRY(Dim item, dim(number));
      result.push_back(std::move(item));
    }
    return result;
  }

  Result<std::vector<std::byte>> bytes(const flatbuffers::Vector<uint8_t>* data) {
    WEFT_TRY_STATUS(parts_.spend(length(data)));
    std::vector<std::byte> result(length(data));
    if (!result.empty()) std::memcpy(result.data(), data->data(), result.size());
    return result;
  }

  Result<DType> dtype(uint32_t index) {
    WEFT_TRY(std::string written, text(index));
    std::optional<DType> dtype = parse_dtype(written);
    if (!dtype) return fail("unknown element type ", quote(written));
    return *dtype;
  }

  template <class Kind, size_t N>
  Result<Kind> kind(uint32_t index, const std::string_view (&names)[N]) {
    WEFT_TRY(std::string written, text(index));
    for (size_t i = 0; i < N; ++i) {
      if (names[i] == written) return static_cast<Kind>(i);
    }
    return fail("unknown kind ", quote(written));
  }

  Result<std::vector<TensorSlot>> slots(const flatbuffers::Vector<const Slot*>* data) {
    std::vector<TensorSlot> result;
    for (const Slot* item : list(data)) {
      TensorSlot slot;
      WEFT_TRY(slot.name, text(item->name()));
      WEFT_TRY(slot.type, type(item->type()));
      result.push_back(std::move(slot));
    }
    return result;
  }

  Result<GraphInterface> interface_of(const InterfaceData& data) {
    GraphInterface interface;
    WEFT_TRY(interface.name, text(data.name()));
    WEFT_TRY(interface.inputs, slots(data.inputs()));
    WEFT_TRY(interface.outputs, slots(data.outputs()));
    return interface;
  }

  Result<Kernel> kernel_of(const KernelData& data) {
    Kernel kernel;
    WEFT_TRY(kernel.name, text(data.name()));
    kernel.entry = data.entry();
    WEFT_TRY(kernel.args, dims(data.args()));
    WEFT_TRY(kernel.programs, dim(data.programs()));
    WEFT_TRY(kernel.scratch_bytes, dim(data.scratch_bytes()));
    kernel.buffers = data.buffers();
    WEFT_TRY(kernel.checks, texts(data.checks()));
    kernel.bytes = data.bytes();
    kernel.workgroup = data.workgroup();
    kernel.subgroup = data.subgroup();
    kernel.numbers_in_buffer = data.numbers_in_buffer();
    WEFT_TRY(kernel.iterations, dim(data.iterations()));
    for (const BindingData* item : list(data.bindings())) {
      WEFT_TRY(Binding binding, binding_of(*item));
      kernel.bindings.push_back(binding);
    }
    WEFT_TRY(kernel.needs, texts(data.needs()));
    for (const UseData* item : list(data.uses())) {
      WEFT_TRY(Dim elements, dim(item->elements()));
      kernel.uses.push_back({item->writes(), std::move(elements)});
    }
    return kernel;
  }

  Result<Binding> binding_of(const BindingData& data) {
    Binding binding;
    WEFT_TRY(binding.view, kind<Binding::View>(data.view(), kViews));
    WEFT_TRY(binding.dtype, dtype(data.dtype()));
    binding.buffer = data.buffer();
    binding.width = data.width();
    binding.reads = data.reads();
    binding.writes = data.writes();
    binding.parts = data.parts();
    binding.part_bits = data.part_bits();
    return binding;
  }

  Result<PackedStorage> packed_of(const PackedData& data) {
    PackedStorage copy;
    WEFT_TRY(copy.name, text(data.name()));
    WEFT_TRY(copy.storage, text(data.storage()));
    WEFT_TRY(copy.dtype, dtype(data.dtype()));
    copy.offset = data.offset();
    copy.elements = data.elements();
    copy.program = data.program();
    for (uint32_t program : list(data.back())) copy.back = program;
    return copy;
  }

  Result<PlanBuffer> buffer_of(const BufferData& data) {
    PlanBuffer buffer;
    WEFT_TRY(buffer.kind, kind<PlanBuffer::Kind>(data.kind(), kBufferKinds));
    WEFT_TRY(buffer.name, text(data.name()));
    WEFT_TRY(buffer.dtype, dtype(data.dtype()));
    WEFT_TRY(buffer.elements, dim(data.elements()));
    buffer.first = data.first();
    buffer.last = data.last();
    WEFT_TRY(buffer.data, bytes(data.data()));
    return buffer;
  }

  Result<Step> step_of(const StepData& data) {
    Step step;
    WEFT_TRY(step.kind, kind<Step::Kind>(data.kind(), kStepKinds));
    step.program = data.program();
    for (const PlacementData* item : list(data.buffers())) {
      WEFT_TRY(Dim offset, dim(item->offset()));
      step.buffers.push_back({item->buffer(), std::move(offset)});
    }
    for (const MeaningData* item : list(data.symbols())) {
      WEFT_TRY(std::string symbol, text(item->symbol()));
      WEFT_TRY(Dim meaning, dim(item->dim()));
      step.symbols.emplace_back(std::move(symbol), std::move(meaning));
    }
    WEFT_TRY(step.elements, dim(data.elements()));
    WEFT_TRY(step.symbol, text(data.symbol()));
    WEFT_TRY(step.total, dim(data.total()));
    step.chunk = data.chunk();
    WEFT_TRY(step.region, text(data.region()));
    return step;
  }

  // `count` steps from `at` on, with the bodies among them; moves `at` behind them.
  Result<std::vector<Step>> steps_of(const PlanData& data, size_t& at, size_t count, size_t depth) {
    if (depth > kMaxStepDepth) return fail("repeats lie deeper than ", kMaxStepDepth);
    std::vector<Step> steps;
    size_t end = at + count;
    while (at < end) {
      const StepData& item = *data.steps()->Get(static_cast<flatbuffers::uoffset_t>(at++));
      WEFT_TRY(Step step, step_of(item));
      if (item.body() > end - at) return fail("a body of ", item.body(), " steps is cut short");
      WEFT_TRY(step.body, steps_of(data, at, item.body(), depth + 1));
      steps.push_back(std::move(step));
    }
    return steps;
  }

  Result<GraphPlan> plan_of(const PlanData& data) {
    GraphPlan plan;
    WEFT_TRY(plan.graph, text(data.graph()));
    for (const CheckData* item : list(data.checks())) {
      SizeCheck check;
      WEFT_TRY(check.small, dim(item->small()));
      WEFT_TRY(check.large, dim(item->large()));
      WEFT_TRY(check.message, text(item->message()));
      plan.checks.push_back(std::move(check));
    }
    for (const BufferData* item : list(data.buffers())) {
      WEFT_TRY(PlanBuffer buffer, buffer_of(*item));
      plan.buffers.push_back(std::move(buffer));
    }
    size_t at = 0;
    WEFT_TRY(plan.steps, steps_of(data, at, length(data.steps()), 0));
    return plan;
  }

  Parts parts_;
  Executable made_;
  std::vector<std::string> texts_;
  std::vector<Dim> dims_;
  std::vector<Type> types_;
};

}  // namespace

Result<Executable> read_payload(const std::string& file, std::string_view bytes) {
  Loc loc{std::make_shared<const SourceText>(SourceText{file, ""}), 0, 0, 0};
  std::vector<uint64_t> aligned((bytes.size() + 7) / 8);  // flatbuffers reads 8 bytes at once
  std::memcpy(aligned.data(), bytes.data(), bytes.size());
  const auto* data = reinterpret_cast<const uint8_t*>(aligned.data());
  // As for modules (ir/serial/read.cc): no more tables than the bytes can hold.
  auto max_tables = static_cast<flatbuffers::uoffset_t>(bytes.size() / 8 + 1);
  flatbuffers::Verifier verifier(data, bytes.size(), 16, max_tables);
  if (bytes.size() < 8 || !VerifyExecutableDataBuffer(verifier)) {
    return error(loc, "the executable is damaged (", bytes.size(), " bytes)");
  }
  return Reader(file, bytes.size()).run(*GetExecutableData(data));
}

}  // namespace weft::weftx
