// SPDX-License-Identifier: Apache-2.0
#include "runtime/bind.h"

#include <algorithm>

#include "ir/oracle/sizes.h"
#include "ir/oracle/tensor.h"
#include "runtime/memory.h"
#include "runtime/side_by_side.h"

namespace weft {
namespace {

// Launches of one run: far above any real plan, where a chunk has hundreds of rows.
constexpr size_t kMaxSteps = 1'000'000;

class Binder {
 public:
  Binder(LoadedPtr loaded, uint32_t graph, const BindLimits& limits)
      : limits_(limits),
        plan_(loaded->executable().graphs[graph]),
        interface_(loaded->executable().interfaces[graph]) {
    bound_.loaded = std::move(loaded);
    bound_.graph = graph;
  }

  Result<BoundGraph> run(const DimBinding& given) {
    WEFT_TRY_STATUS(check_names(given));
    const LoadedExecutable& loaded = *bound_.loaded;
    WEFT_TRY(bound_.dims, complete_dims(loaded.executable().dims, facts().symbols, given, {},
                                        "graph @" + plan_.graph));
    sizes_ = bound_.dims;
    WEFT_TRY_STATUS(check_sizes());
    WEFT_TRY(bound_.inputs, tensors(interface_.inputs, "input "));
    WEFT_TRY(bound_.outputs, tensors(interface_.outputs, "output "));
    WEFT_TRY_STATUS(bind_buffers());
    WEFT_TRY_STATUS(place_arena());
    numbers_.resize(loaded.executable().kernels.size());
    bound_.steps.reserve(facts().steps);
    bound_.step_buffers.reserve(facts().places);
    for (uint32_t i = 0; i < plan_.steps.size(); ++i) {
      number_ = i;
      WEFT_TRY_STATUS(bind_step(plan_.steps[i]));
    }
    group_steps(bound_);
    return std::move(bound_);
  }

 private:
  const GraphFacts& facts() const { return bound_.loaded->facts(bound_.graph); }

  template <class... Parts>
  Error fail(const Parts&... parts) const {
    return error({}, "graph @", plan_.graph, ": ", parts...);
  }

  // A size for a symbol that nothing in the executable has is a slip of the pen.
  Status check_names(const DimBinding& given) const {
    const std::set<std::string>& known = bound_.loaded->symbols();
    for (const auto& [symbol, size] : given) {
      if (known.contains(symbol)) continue;
      return fail("no dim is called ", symbol)
          .hint(did_you_mean(symbol, {known.begin(), known.end()}));
    }
    return ok();
  }

  Result<int64_t> number(const Dim& dim, const char* what) const {
    return number(dim, what, sizes_);
  }
  Result<int64_t> number(const Dim& dim, const char* what, const DimBinding& sizes) const {
    if (dim.is_constant()) return dim.constant();
    std::optional<int64_t> value = dim.evaluate(sizes);
    if (!value) return fail(what, " ", dim, " cannot be computed");
    return *value;
  }

  Status check_sizes() const {
    for (const SizeCheck& check : plan_.checks) {
      WEFT_TRY(int64_t small, number(check.small, "size"));
      WEFT_TRY(int64_t large, number(check.large, "size"));
      if (small > large) return fail(check.message, " (", small, " > ", large, ")");
    }
    return ok();
  }

  // Not negative, and as many bytes as 64 bits can count.
  Result<int64_t> bytes(const Dim& elements, DType dtype, const char* what,
                        const std::string& whose) const {
    WEFT_TRY(int64_t count, number(elements, "size"));
    int64_t total = 0;
    if (count < 0 || __builtin_mul_overflow(count, byte_size(dtype), &total)) {
      return fail(what, whose, " has ", elements, " = ", count, " elements");
    }
    return total;
  }

  Result<std::vector<BoundTensor>> tensors(const std::vector<TensorSlot>& slots,
                                           const std::string& what) const {
    std::vector<BoundTensor> result;
    for (const TensorSlot& slot : slots) {
      BoundTensor tensor{slot.name, slot.type.dtype, {}, 0};
      WEFT_TRY(tensor.shape, concrete_shape(slot.type, sizes_, {}, what + slot.name));
      tensor.bytes = element_count(tensor.shape) * byte_size(tensor.dtype);
      result.push_back(std::move(tensor));
    }
    return result;
  }

  // In a buffer's size the symbol of a repeat means its largest chunk.
  Status add_largest_chunks(const std::vector<Step>& steps, DimBinding& largest) {
    for (const Step& step : steps) {
      if (step.kind != Step::repeat) continue;
      std::optional<int64_t> total = step.total.evaluate(largest);
      if (!total) return fail("the rows ", step.total, " of a repeat cannot be computed");
      int64_t& size = largest[step.symbol];
      size = std::max(size, std::min(step.chunk, std::max<int64_t>(*total, 0)));
      largest[base_symbol(step.symbol)] = 0;
      WEFT_TRY_STATUS(add_largest_chunks(step.body, largest));
    }
    return ok();
  }

  Status bind_buffers() {
    DimBinding largest = sizes_;
    WEFT_TRY_STATUS(add_largest_chunks(plan_.steps, largest));
    std::swap(sizes_, largest);
    for (uint32_t i = 0; i < plan_.buffers.size(); ++i) {
      const PlanBuffer& buffer = plan_.buffers[i];
      BoundBuffer bound{buffer.kind, i, 0, 0};
      WEFT_TRY(bound.bytes, bytes(buffer.elements, buffer.dtype, "buffer ", buffer.name));
      if (buffer.kind == PlanBuffer::input) {
        WEFT_TRY(bound.index, tensor_behind(bound_.inputs, buffer, bound.bytes));
      } else if (buffer.kind == PlanBuffer::output) {
        WEFT_TRY(bound.index, tensor_behind(bound_.outputs, buffer, bound.bytes));
      } else if (buffer.kind == PlanBuffer::storage) {
        bound.index = bound_.loaded->storage_of(buffer.name);
        WEFT_TRY_STATUS(bind_storage(buffer, bound, facts().storage_bytes[i]));
      } else if (buffer.kind == PlanBuffer::packed) {
        bound.index = bound_.loaded->packed_of(buffer.name);
        WEFT_TRY_STATUS(bind_packed(bound.index, bound.bytes));
      }
      bound_.buffers.push_back(bound);
    }
    std::swap(sizes_, largest);
    return ok();
  }

  Result<uint32_t> tensor_behind(const std::vector<BoundTensor>& tensors, const PlanBuffer& buffer,
                                 int64_t bytes) const {
    auto found = std::ranges::find(tensors, buffer.name, &BoundTensor::name);
    WEFT_CHECK(found != tensors.end(), "check_executable looked it up");
    if (found->bytes == bytes) return static_cast<uint32_t>(found - tensors.begin());
    return fail("buffer ", buffer.name, " has ", bytes, " bytes, its tensor ", found->bytes);
  }

  // `known` are the bytes of static storage behind it; -1: it is one of symbolic shape.
  Status bind_storage(const PlanBuffer& buffer, const BoundBuffer& bound, int64_t known) {
    if (known < 0) {
      const Type& type = bound_.loaded->executable().storage[bound.index].type;
      WEFT_TRY(std::vector<int64_t> shape,
               concrete_shape(type, bound_.dims, {}, "@" + buffer.name));
      known = element_count(shape) * byte_size(type.dtype);
      bound_.storage.push_back({bound.index, std::move(shape)});
    }
    if (known == bound.bytes) return ok();
    return fail("buffer @", buffer.name, " has ", bound.bytes, " bytes, its storage ", known);
  }

  Status bind_packed(uint32_t index, int64_t bytes) {
    const PackedStorage& copy = bound_.loaded->executable().packed[index];
    if (bytes != copy.elements * byte_size(copy.dtype)) {
      return fail("buffer ", copy.name, " has ", bytes, " bytes, the copy ", copy.elements,
                  " elements");
    }
    bound_.packed.push_back(index);
    return ok();
  }

  Status place_arena() {
    std::vector<Lifetime> lifetimes;
    std::vector<uint32_t> owners;
    for (uint32_t i = 0; i < plan_.buffers.size(); ++i) {
      const PlanBuffer& buffer = plan_.buffers[i];
      if (buffer.kind != PlanBuffer::arena) continue;
      lifetimes.push_back({bound_.buffers[i].bytes, buffer.first, buffer.last});
      owners.push_back(i);
    }
    WEFT_TRY(ArenaLayout layout, lay_out(lifetimes, limits_.alignment));
    for (size_t i = 0; i < owners.size(); ++i) bound_.buffers[owners[i]].offset = layout.offsets[i];
    bound_.arena_bytes = layout.bytes;
    return ok();
  }

  Status bind_step(const Step& step) {
    if (bound_.steps.size() >= kMaxSteps) return fail("more than ", kMaxSteps, " launches");
    switch (step.kind) {
      case Step::launch: return bind_launch(step);
      case Step::copy: return bind_copy(step);
      case Step::repeat: return bind_repeat(step);
    }
    return ok();
  }

  Status bind_repeat(const Step& step) {
    WEFT_TRY(int64_t total, number(step.total, "the number of rows"));
    if (total > 0 && total / step.chunk >= static_cast<int64_t>(kMaxSteps)) {
      return fail(total, " rows in chunks of ", step.chunk, ": more than ", kMaxSteps, " launches");
    }
    DimBinding outside = sizes_;
    for (int64_t base = 0, size = 0; base < total; base += size) {
      size = std::min(step.chunk, total - base);
      sizes_[step.symbol] = size;
      sizes_[base_symbol(step.symbol)] = base;
      forget_numbers();
      for (const Step& inner : step.body) WEFT_TRY_STATUS(bind_step(inner));
    }
    sizes_ = std::move(outside);
    forget_numbers();
    return ok();
  }

  void forget_numbers() {
    for (std::vector<Numbers>& known : numbers_) known.clear();
  }

  // Appends the places of a step's buffers, each within its buffer.
  Status bind_places(const Step& step) {
    for (const Placement& placement : step.buffers) {
      const PlanBuffer& buffer = plan_.buffers[placement.buffer];
      WEFT_TRY(int64_t offset, bytes(placement.offset, buffer.dtype, "the place in ", buffer.name));
      if (offset > bound_.buffers[placement.buffer].bytes) {
        return fail("a step begins at byte ", offset, " of buffer ", buffer.name, ", which has ",
                    bound_.buffers[placement.buffer].bytes);
      }
      bound_.step_buffers.push_back({placement.buffer, offset});
    }
    return ok();
  }

  BoundStep started(const Step& step) const {
    return {&step,
            number_,
            nullptr,
            0,
            static_cast<uint32_t>(bound_.step_buffers.size()),
            static_cast<uint32_t>(bound_.args.size()),
            static_cast<uint32_t>(bound_.spans.size())};
  }

  // What a launch's numbers follow from, beside the sizes around it: the meaning of its symbols.
  using Symbols = std::vector<std::pair<std::string_view, int64_t>>;
  struct Numbers {
    Symbols symbols;
    int64_t programs = 0;
    uint32_t first_arg = 0;
    uint32_t first_span = 0;
  };

  // The layers of a model launch the same kernels with the same numbers: computed once.
  Result<const Numbers*> numbers_of(const Step& launch) {
    Symbols symbols;
    for (const auto& [symbol, meaning] : launch.symbols) {
      WEFT_TRY(const int64_t value, number(meaning, "size"));
      symbols.emplace_back(symbol, value);
    }
    std::vector<Numbers>& known = numbers_[launch.program];
    auto found = std::ranges::find(known, symbols, &Numbers::symbols);
    if (found != known.end()) return &*found;
    WEFT_TRY(Numbers fresh, compute(launch, std::move(symbols)));
    known.push_back(std::move(fresh));
    return &known.back();
  }

  Result<Numbers> compute(const Step& launch, Symbols symbols) {
    const Kernel& kernel = bound_.loaded->executable().kernels[launch.program];
    DimBinding own;
    if (!symbols.empty()) own = sizes_;
    for (const auto& [symbol, value] : symbols) own[std::string(symbol)] = value;
    const DimBinding& inside = symbols.empty() ? sizes_ : own;
    Numbers result{std::move(symbols), 0, static_cast<uint32_t>(bound_.args.size()),
                   static_cast<uint32_t>(bound_.spans.size())};
    WEFT_TRY(result.programs, number(kernel.programs, "the size of a grid", inside));
    if (result.programs < 0) {
      return fail("kernel ", kernel.name, " has ", result.programs, " programs");
    }
    if (result.programs == 0) return result;
    for (const Dim& arg : kernel.args) {
      WEFT_TRY(int64_t value, number(arg, "an argument", inside));
      if (value < limits_.least_arg || value > limits_.most_arg) {
        return fail("kernel ", kernel.name, " is given ", arg, " = ", value,
                    ", which its device cannot hold")
            .hint("bind smaller sizes, for example B=1");
      }
      bound_.args.push_back(value);
    }
    WEFT_TRY(const int64_t iterations, number(kernel.iterations, "the length of loops", inside));
    if (iterations > limits_.most_iterations) {
      return fail("kernel ", kernel.name, " goes ", iterations,
                  " times through its loops; the device's driver leaves them after ",
                  limits_.most_iterations)
          .hint("bind smaller sizes, or use another device");
    }
    WEFT_TRY(int64_t scratch, number(kernel.scratch_bytes, "scratch", inside));
    if (scratch < 0) return fail("kernel ", kernel.name, " has ", scratch, " bytes of scratch");
    bound_.scratch_bytes = std::max(bound_.scratch_bytes, scratch);
    for (size_t i = 0; i < kernel.uses.size(); ++i) {
      const int64_t each = byte_size(plan_.buffers[launch.buffers[i].buffer].dtype);
      WEFT_TRY(const int64_t elements, number(kernel.uses[i].elements, "a range", inside));
      bound_.spans.push_back(std::clamp<int64_t>(elements, 0, INT64_MAX / each) * each);
    }
    return result;
  }

  Status bind_launch(const Step& step) {
    WEFT_TRY(const Numbers* numbers, numbers_of(step));
    if (numbers->programs == 0) return ok();  // nothing to compute
    BoundStep bound = started(step);
    bound.first_arg = numbers->first_arg;
    bound.first_span = numbers->first_span;
    bound.count = numbers->programs;
    bound.function = bound_.loaded->function(step.program);
    WEFT_TRY_STATUS(bind_places(step));
    WEFT_TRY_STATUS(check_elements(step));
    bound_.steps.push_back(bound);
    return ok();
  }

  // Kernels find what they are given from the beginning of its buffer.
  Status check_elements(const Step& launch) const {
    for (const Placement& placement : launch.buffers) {
      const PlanBuffer& buffer = plan_.buffers[placement.buffer];
      const int64_t elements = bound_.buffers[placement.buffer].bytes / byte_size(buffer.dtype);
      if (elements <= limits_.most_elements) continue;
      return fail("buffer ", buffer.name, " has ", elements,
                  " elements, of which its device counts at most ", limits_.most_elements)
          .hint("bind smaller sizes, for example B=1");
    }
    return ok();
  }

  Status bind_copy(const Step& step) {
    BoundStep bound = started(step);
    DType dtype = plan_.buffers[step.buffers[0].buffer].dtype;
    WEFT_TRY(bound.count, bytes(step.elements, dtype, "a copy for ", step.region));
    if (bound.count == 0) return ok();
    WEFT_TRY_STATUS(bind_places(step));
    for (size_t i = 0; i < 2; ++i) {
      const BoundStep::Buffer& place = bound_.step_buffers[bound.first_buffer + i];
      if (bound.count > bound_.buffers[place.buffer].bytes - place.offset) {
        return fail("a copy of ", bound.count, " bytes leaves buffer ",
                    plan_.buffers[place.buffer].name);
      }
    }
    const BoundStep::Buffer& from = bound_.step_buffers[bound.first_buffer];
    const BoundStep::Buffer& to = bound_.step_buffers[bound.first_buffer + 1];
    int64_t distance = from.offset - to.offset;
    if (from.buffer == to.buffer && -bound.count < distance && distance < bound.count) {
      return fail("a copy within buffer ", plan_.buffers[to.buffer].name, " overlaps itself");
    }
    bound_.steps.push_back(bound);
    return ok();
  }

  const BindLimits limits_;
  const GraphPlan& plan_;
  const GraphInterface& interface_;
  BoundGraph bound_;
  DimBinding sizes_;                           // with those of the repeats around
  std::vector<std::vector<Numbers>> numbers_;  // by program, for these sizes
  uint32_t number_ = 0;
};

}  // namespace

int64_t BoundGraph::launches() const {
  return std::ranges::count_if(steps, [](const BoundStep& s) { return !s.is_copy(); });
}

Result<BoundGraph> bind_graph(LoadedPtr loaded, uint32_t graph, const DimBinding& dims,
                              const BindLimits& limits) {
  return Binder(std::move(loaded), graph, limits).run(dims);
}

}  // namespace weft
