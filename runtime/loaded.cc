// SPDX-License-Identifier: Apache-2.0
#include "runtime/loaded.h"

#include "runtime/cpu/features.h"

namespace weft {
namespace {

using Symbols = std::set<std::string>;

void collect(const std::vector<Dim>& dims, Symbols& into) {
  for (const Dim& dim : dims) dim.collect_symbols(into);
}

// The symbols that steps need from outside; those of their repeats, at any depth, go to `repeats`.
void collect(const Executable& executable, const std::vector<Step>& steps, Symbols& into,
             Symbols& repeats) {
  for (const Step& step : steps) {
    for (const Placement& placement : step.buffers) placement.offset.collect_symbols(into);
    if (step.kind == Step::launch) {
      const Kernel& kernel = executable.kernels[step.program];
      Symbols inside;
      collect(kernel.args, inside);
      collect({kernel.programs, kernel.scratch_bytes}, inside);
      for (const auto& [symbol, meaning] : step.symbols) inside.erase(symbol);
      for (const auto& [symbol, meaning] : step.symbols) meaning.collect_symbols(inside);
      into.merge(inside);
    } else if (step.kind == Step::copy) {
      step.elements.collect_symbols(into);
    } else {
      Symbols inside;
      collect(executable, step.body, inside, repeats);
      inside.erase(step.symbol);
      inside.erase(base_symbol(step.symbol));
      into.merge(inside);
      step.total.collect_symbols(into);
      repeats.insert(step.symbol);
    }
  }
}

Symbols symbols_of_graph(const Executable& executable, size_t graph) {
  const GraphPlan& plan = executable.graphs[graph];
  Symbols symbols;
  Symbols repeats;
  for (const PlanBuffer& buffer : plan.buffers) buffer.elements.collect_symbols(symbols);
  Symbols of_steps;
  collect(executable, plan.steps, of_steps, repeats);
  for (const std::string& symbol : repeats) symbols.erase(symbol);  // largest chunk: see bind.cc
  symbols.merge(of_steps);
  for (const SizeCheck& check : plan.checks) {
    check.small.collect_symbols(symbols);
    check.large.collect_symbols(symbols);
  }
  const GraphInterface& interface = executable.interfaces[graph];
  for (const TensorSlot& slot : interface.inputs) collect(slot.type.shape, symbols);
  for (const TensorSlot& slot : interface.outputs) collect(slot.type.shape, symbols);
  return symbols;
}

void count(const std::vector<Step>& steps, GraphFacts& facts) {
  for (const Step& step : steps) {
    ++facts.steps;
    facts.places += step.buffers.size();
    count(step.body, facts);
  }
}

// -1 for a symbolic shape, and for one of more bytes than can be counted.
int64_t static_bytes(const Type& type) {
  const std::optional<int64_t> elements = element_count(type.shape).evaluate({});
  int64_t bytes = 0;
  if (!elements || __builtin_mul_overflow(*elements, byte_size(type.dtype), &bytes)) return -1;
  return bytes;
}

std::string joined(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : ", ") + word;
  return all;
}

}  // namespace

LoadedExecutable::LoadedExecutable(Executable executable) : executable_(std::move(executable)) {
  for (const Storage& storage : executable_.storage) {
    storage_.emplace(storage.name, static_cast<uint32_t>(storage_.size()));
  }
  for (const StorageBlock& block : executable_.blocks) {
    storage_.emplace(block.name, storage_.at(block.members[0]));
  }
  for (const PackedStorage& copy : executable_.packed) {
    packed_.emplace(copy.name, static_cast<uint32_t>(packed_.size()));
  }
  for (size_t i = 0; i < executable_.graphs.size(); ++i) {
    GraphFacts facts;
    facts.symbols = symbols_of_graph(executable_, i);
    count(executable_.graphs[i].steps, facts);
    find_storage(facts, executable_.graphs[i]);
    symbols_.insert(facts.symbols.begin(), facts.symbols.end());
    facts_.push_back(std::move(facts));
  }
  for (const auto& [symbol, bounds] : executable_.dims.bounds) symbols_.insert(symbol);
  for (const auto& [left, right] : executable_.dims.equalities()) {
    left.collect_symbols(symbols_);
    right.collect_symbols(symbols_);
  }
}

void LoadedExecutable::find_storage(GraphFacts& facts, const GraphPlan& plan) const {
  std::map<std::string, const StorageBlock*> blocks;
  std::map<std::string, SharedPlace> members;
  for (const StorageBlock& block : executable_.blocks) {
    blocks.emplace(block.name, &block);
    SharedPlace place{storage_of(block.name), 0};
    for (const std::string& member : block.members) {
      members.emplace(member, place);
      // A block that is too large for its bytes to be counted cannot be bound.
      const int64_t bytes = static_bytes(executable_.storage[storage_of(member)].type);
      if (__builtin_add_overflow(place.offset, bytes, &place.offset)) place.offset = 0;
    }
  }
  std::set<uint32_t> fixed;
  auto add = [&](const std::string& name) -> int64_t {
    const uint32_t index = storage_of(name);
    const int64_t bytes = static_bytes(executable_.storage[index].type);
    if (bytes >= 0) fixed.insert(index);
    return bytes;
  };
  for (const PlanBuffer& buffer : plan.buffers) {
    int64_t bytes = -1;
    if (buffer.kind == PlanBuffer::packed) {
      add(executable_.packed[packed_of(buffer.name)].storage);
    } else if (buffer.kind == PlanBuffer::storage && blocks.contains(buffer.name)) {
      bytes = 0;
      for (const std::string& member : blocks.at(buffer.name)->members) {
        if (__builtin_add_overflow(bytes, add(member), &bytes)) bytes = -1;
      }
    } else if (buffer.kind == PlanBuffer::storage) {
      bytes = add(buffer.name);
    }
    facts.storage_bytes.push_back(bytes);
    SharedPlace place;
    if (auto member = members.find(buffer.name); member != members.end()) {
      place = member->second;
    } else if (buffer.kind == PlanBuffer::storage) {
      place.first = storage_of(buffer.name);
    }
    facts.storage_places.push_back(place);
  }
  facts.fixed_storage.assign(fixed.begin(), fixed.end());
}

Result<LoadedPtr> LoadedExecutable::load(Executable executable, Loc loc) {
  if (executable.device == "vulkan") {
    WEFT_TRY_STATUS(check_executable(executable, loc));
    WEFT_TRY_STATUS(check_simt_kernels(executable, loc));
    return LoadedPtr(new LoadedExecutable(std::move(executable)));
  }
  if (executable.device != "cpu") {
    return error(loc, "the executable is for device '", executable.device,
                 "', this Weft runs 'cpu' and 'vulkan'")
        .hint("compile it with --device cpu");
  }
  std::vector<std::string> missing = missing_cpu_features(executable.target_features);
  if (!missing.empty()) {
    return error(loc, "the executable is for ", executable.target_cpu, "; this processor lacks ",
                 joined(missing))
        .hint("compile it here, or with --target-cpu generic");
  }
  WEFT_TRY_STATUS(check_executable(executable, loc));
  for (const Kernel& kernel : executable.kernels) {
    if (kernel.entry >= executable.code.size()) {
      return error(loc, "kernel ", kernel.name, " begins at byte ", kernel.entry, " of ",
                   executable.code.size(), " bytes of code");
    }
  }
  std::shared_ptr<LoadedExecutable> loaded(new LoadedExecutable(std::move(executable)));
  WEFT_TRY_STATUS(loaded->load_code());
  return LoadedPtr(std::move(loaded));
}

Status LoadedExecutable::load_code() {
  if (executable_.kernels.empty()) return ok();
  WEFT_TRY(code_, LoadedCode::load(executable_.code));
  for (const Kernel& kernel : executable_.kernels) {
    functions_.push_back(code_->at(kernel.entry));
  }
  return ok();
}

Result<LoadedPtr> LoadedExecutable::with_functions(Executable executable,
                                                   std::vector<KernelFn> functions) {
  WEFT_CHECK(functions.size() == executable.kernels.size(), "one function per kernel");
  WEFT_TRY_STATUS(check_executable(executable, {}));
  std::shared_ptr<LoadedExecutable> loaded(new LoadedExecutable(std::move(executable)));
  loaded->functions_ = std::move(functions);
  return LoadedPtr(std::move(loaded));
}

Result<uint32_t> LoadedExecutable::find_graph(std::string_view name) const {
  const std::vector<GraphPlan>& graphs = executable_.graphs;
  if (name.empty() && graphs.size() == 1) return 0;
  std::string_view bare = name.starts_with('@') ? name.substr(1) : name;
  for (uint32_t i = 0; i < graphs.size(); ++i) {
    if (graphs[i].graph == bare) return i;
  }
  std::vector<std::string> names;
  for (const GraphPlan& plan : graphs) names.push_back(plan.graph);
  std::string near = did_you_mean(bare, names);
  std::string fault = name.empty() ? cat("the executable has ", names.size(), " graphs")
                                   : cat("the executable has no graph @", bare);
  return error({}, fault).hint(near.empty() ? "name one of: " + joined(names) : near);
}

uint32_t LoadedExecutable::storage_of(const std::string& buffer_name) const {
  auto found = storage_.find(buffer_name);
  WEFT_CHECK(found != storage_.end(), "check_executable looked it up");
  return found->second;
}

uint32_t LoadedExecutable::packed_of(const std::string& name) const {
  auto found = packed_.find(name);
  WEFT_CHECK(found != packed_.end(), "check_executable looked it up");
  return found->second;
}

std::optional<uint32_t> LoadedExecutable::find_storage(std::string_view name) const {
  auto found = storage_.find(name.starts_with('@') ? name.substr(1) : name);
  if (found == storage_.end() || executable_.storage[found->second].name != found->first) {
    return std::nullopt;  // a block is not a value
  }
  return found->second;
}

}  // namespace weft
