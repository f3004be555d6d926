// SPDX-License-Identifier: Apache-2.0
#include "tests/support/run_plan.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ir/tile/interpret.h"

namespace weft {
namespace {

void poison(Tensor& tensor) {
  std::ranges::fill(tensor.reals, std::nan(""));
  std::ranges::fill(tensor.integers, wrap_to(tensor.dtype, 0x5a5a5a5a5a5a5a5a));
}

void copy_elements(const Tensor& from, int64_t from_offset, Tensor& to, int64_t to_offset,
                   int64_t count) {
  if (from.real()) {
    std::copy_n(from.reals.begin() + from_offset, count, to.reals.begin() + to_offset);
  } else {
    std::copy_n(from.integers.begin() + from_offset, count, to.integers.begin() + to_offset);
  }
}

template <class T>
T element(const std::vector<std::byte>& data, int64_t i) {
  T number;
  std::memcpy(&number, data.data() + static_cast<size_t>(i) * sizeof(T), sizeof(T));
  return number;
}

void set_from_bytes(Tensor& tensor, int64_t i, const std::vector<std::byte>& data) {
  auto k = static_cast<size_t>(i);
  switch (tensor.dtype) {
    case DType::f64: tensor.reals[k] = element<double>(data, i); break;
    case DType::f32: tensor.reals[k] = static_cast<double>(element<float>(data, i)); break;
    case DType::f16: tensor.reals[k] = from_f16_bits(element<uint16_t>(data, i)); break;
    case DType::bf16: tensor.reals[k] = from_bf16_bits(element<uint16_t>(data, i)); break;
    case DType::i8: tensor.integers[k] = element<int8_t>(data, i); break;  // NOLINT: a number
    case DType::u8: tensor.integers[k] = element<uint8_t>(data, i); break;
    case DType::i32: tensor.integers[k] = element<int32_t>(data, i); break;
    case DType::u32: tensor.integers[k] = element<uint32_t>(data, i); break;
    case DType::i64: tensor.integers[k] = element<int64_t>(data, i); break;
    case DType::boolean: tensor.integers[k] = element<uint8_t>(data, i); break;
  }
}

class PlanRunner {
 public:
  PlanRunner(const Module& module, const Plan& plan, const GraphPlan& graph, DimBinding dims)
      : module_(module), plan_(plan), graph_(graph), dims_(std::move(dims)) {}

  Status fill(const TensorMap& inputs, const TensorMap& storage) {
    DimBinding largest = dims_;  // a chunk's memory is that of a full one
    for (const Step& step : graph_.steps) {
      if (step.kind == Step::repeat) largest[step.symbol] = step.chunk;
    }
    for (const PlanBuffer& buffer : graph_.buffers) {
      WEFT_TRY(int64_t count, number(buffer.elements, largest));
      memory_.push_back(Tensor::zeros(buffer.dtype, {count}));
      Tensor& tensor = memory_.back();
      switch (buffer.kind) {
        case PlanBuffer::input: copy_elements(inputs.at(buffer.name), 0, tensor, 0, count); break;
        case PlanBuffer::storage: read_storage(buffer.name, storage, tensor); break;
        case PlanBuffer::packed: WEFT_TRY_STATUS(pack(buffer.name, storage, tensor)); break;
        case PlanBuffer::constant:
          for (int64_t i = 0; i < count; ++i) set_from_bytes(tensor, i, buffer.data);
          break;
        case PlanBuffer::arena:
        case PlanBuffer::output: poison(tensor); break;
      }
    }
    return ok();
  }

  Status run() {
    for (uint32_t i = 0; i < graph_.steps.size(); ++i) {
      WEFT_TRY_STATUS(run_step(graph_.steps[i], i));
      for (size_t b = 0; b < memory_.size(); ++b) {
        const PlanBuffer& buffer = graph_.buffers[b];
        if (buffer.kind == PlanBuffer::arena && buffer.last == i) poison(memory_[b]);
      }
    }
    return ok();
  }

  Result<OracleResult> results(const Graph& graph) {
    OracleResult result;
    for (const Output& output : graph.outputs) {
      WEFT_TRY(Tensor tensor, empty_like(graph.type(output.value)));
      const Tensor* memory = find(PlanBuffer::output, output.name);
      if (memory == nullptr) return error({}, "no step writes output ", output.name);
      copy_elements(*memory, 0, tensor, 0, tensor.size());
      result.outputs.emplace(output.name, std::move(tensor));
    }
    for (const Update& update : graph.updates) {
      WEFT_TRY(Tensor tensor, empty_like(graph.type(update.value)));
      auto [home, offset] = home_of(update.target);
      const Tensor* memory = find(PlanBuffer::storage, home);
      if (memory != nullptr) copy_elements(*memory, offset, tensor, 0, tensor.size());
      if (memory == nullptr) tensor = untouched_.at(update.target);
      result.updates.emplace(update.target, std::move(tensor));
    }
    return result;
  }

  void keep(const TensorMap& storage) { untouched_ = storage; }

 private:
  Result<int64_t> number(const Dim& dim) const { return number(dim, dims_); }
  static Result<int64_t> number(const Dim& dim, const DimBinding& dims) {
    std::optional<int64_t> value = dim.evaluate(dims);
    if (!value) return error({}, "dim ", dim, " has no size");
    return *value;
  }

  Result<Tensor> empty_like(const Type& type) const {
    std::vector<int64_t> shape;
    for (const Dim& dim : type.shape) {
      WEFT_TRY(int64_t size, number(dim));
      shape.push_back(size);
    }
    return Tensor::zeros(type.dtype, std::move(shape));
  }

  const Tensor* find(PlanBuffer::Kind kind, const std::string& name) const {
    for (size_t b = 0; b < memory_.size(); ++b) {
      if (graph_.buffers[b].kind == kind && graph_.buffers[b].name == name) return &memory_[b];
    }
    return nullptr;
  }

  int64_t elements_of(const std::string& storage) const {
    return element_count(module_.find_storage(storage)->type.shape).evaluate(dims_).value();
  }

  // The name under which a storage's memory goes, and its place there.
  std::pair<std::string, int64_t> home_of(const std::string& storage) const {
    for (const StorageBlock& block : plan_.blocks) {
      int64_t offset = 0;
      for (const std::string& member : block.members) {
        if (member == storage) return {block.name, offset};
        offset += elements_of(member);
      }
    }
    return {storage, 0};
  }

  void read_storage(const std::string& name, const TensorMap& storage, Tensor& into) const {
    poison(into);
    for (const auto& [member, value] : storage) {
      auto [home, offset] = home_of(member);
      if (home == name) copy_elements(value, 0, into, offset, value.size());
    }
  }

  // The copy, from where the storage is whole; and back again, which changes nothing.
  Status pack(const std::string& name, const TensorMap& storage, Tensor& into) const {
    poison(into);
    const PackedStorage& copy = *std::ranges::find(plan_.packed, name, &PackedStorage::name);
    Tensor whole = storage.at(copy.storage);
    WEFT_TRY_STATUS(
        tile::interpret(plan_.programs[copy.program], {},
                        std::vector<tile::BoundBuffer>{{&whole, copy.offset}, {&into, 0}}));
    if (!copy.back) return ok();
    poison(whole);
    WEFT_TRY_STATUS(tile::interpret(plan_.programs[*copy.back], {},
                                    std::vector<tile::BoundBuffer>{{&into, 0}, {&whole, 0}}));
    if (whole.reals == storage.at(copy.storage).reals) return ok();
    return error({}, "the copy ", name, " does not give @", copy.storage, " back");
  }

  Status run_step(const Step& step, uint32_t at) {
    for (const Placement& placement : step.buffers) {
      const PlanBuffer& buffer = graph_.buffers[placement.buffer];
      if (buffer.kind == PlanBuffer::arena && (at < buffer.first || at > buffer.last)) {
        return error({}, "step ", at, " touches ", buffer.name, ", alive from ", buffer.first,
                     " to ", buffer.last);
      }
    }
    switch (step.kind) {
      case Step::launch: return launch(step);
      case Step::copy: return copy(step);
      case Step::repeat: return repeat(step, at);
    }
    return ok();
  }

  Status launch(const Step& step) {
    std::vector<tile::BoundBuffer> buffers;
    for (const Placement& placement : step.buffers) {
      WEFT_TRY(int64_t offset, number(placement.offset));
      buffers.push_back({&memory_[placement.buffer], offset});
    }
    DimBinding inside = dims_;
    for (const auto& [symbol, meaning] : step.symbols) {
      WEFT_TRY(inside[symbol], number(meaning));
    }
    return tile::interpret(plan_.programs[step.program], inside, buffers);
  }

  Status copy(const Step& step) {
    WEFT_TRY(int64_t from, number(step.buffers[0].offset));
    WEFT_TRY(int64_t to, number(step.buffers[1].offset));
    WEFT_TRY(int64_t count, number(step.elements));
    const Tensor source = memory_[step.buffers[0].buffer];
    Tensor& target = memory_[step.buffers[1].buffer];
    if (from < 0 || from + count > source.size() || to < 0 || to + count > target.size()) {
      return error({}, "a copy of ", count, " elements leaves its buffer");
    }
    copy_elements(source, from, target, to, count);
    return ok();
  }

  Status repeat(const Step& step, uint32_t at) {
    WEFT_TRY(int64_t total, number(step.total));
    for (int64_t base = 0; base < total; base += step.chunk) {
      dims_[step.symbol] = std::min(step.chunk, total - base);
      dims_[base_symbol(step.symbol)] = base;
      for (const Step& inner : step.body) WEFT_TRY_STATUS(run_step(inner, at));
    }
    dims_.erase(step.symbol);
    dims_.erase(base_symbol(step.symbol));
    return ok();
  }

  const Module& module_;
  const Plan& plan_;
  const GraphPlan& graph_;
  DimBinding dims_;
  std::vector<Tensor> memory_;  // one per buffer of the plan
  TensorMap untouched_;         // storage as it was given
};

}  // namespace

Result<OracleResult> run_plan(const Module& module, const Plan& plan, const std::string& graph,
                              const TensorMap& inputs, const TensorMap& storage,
                              const DimBinding& given) {
  const Graph& interface = *module.find_graph(graph);
  WEFT_TRY(DimBinding dims, bind_dims(module, interface, inputs, storage, given));
  auto found = std::ranges::find(plan.graphs, interface.name(), &GraphPlan::graph);
  if (found == plan.graphs.end()) return error({}, "@", graph, " has no plan");
  PlanRunner runner(module, plan, *found, dims);
  runner.keep(storage);
  WEFT_TRY_STATUS(runner.fill(inputs, storage));
  WEFT_TRY_STATUS(runner.run());
  return runner.results(interface);
}

}  // namespace weft
