// A choice of sizes for the symbols of a graph.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>

#include "passes/sample_inputs.h"

namespace weft {
namespace {

// In order of preference: odd primes, then what divisibility may ask for.
constexpr int64_t kSizes[] = {3,  5,  7,  11, 13,  17,  9,   15,   21, 2,  4,  6,
                              8,  10, 12, 14, 16,  18,  20,  24,   28, 30, 32, 36,
                              40, 48, 64, 96, 128, 256, 512, 1024, 1,  0};
constexpr size_t kPrimes = 6;
constexpr int kMaxSteps = 20000;

std::set<std::string> symbols_of(const Shape& shape) {
  std::set<std::string> symbols;
  for (const Dim& dim : shape) dim.collect_symbols(symbols);
  return symbols;
}

// What must fit into what: differences that may not be negative.
std::vector<Dim> room_left(const Graph& graph, const Node& node) {
  auto size = [&](size_t operand, size_t along) {
    return graph.type(node.operands[operand]).shape[along];
  };
  auto axis = [&] { return static_cast<size_t>(node.attrs.integer("axis")); };
  std::vector<Dim> room;
  switch (node.op) {
    case Op::slice:
      for (size_t i = 0; i < node.types[0].rank(); ++i) {
        const Dim& limit = node.attrs.dims("limits")[i];
        room.push_back(size(0, i) - limit);
        room.push_back(limit - node.attrs.dims("starts")[i]);
      }
      break;
    case Op::dynamic_slice: room.push_back(size(0, axis()) - node.attrs.dim("size")); break;
    case Op::update_slice: room.push_back(size(0, axis()) - size(1, axis())); break;
    case Op::top_k:
      room.push_back(size(0, node.types[0].rank() - 1) - node.attrs.integer("k"));
      break;
    default: break;
  }
  return room;
}

// Dims that may not be negative: those of types and attributes, and what must fit. `chunks` are the
// sizes of the symbols that a `chunked` around has.
void collect_dims(const Graph& graph, const std::map<std::string, Dim>& chunks,
                  std::set<Dim>& dims) {
  auto insert = [&](const Dim& given) {
    Dim dim = given.substitute(chunks);
    if (!dim.is_constant() && !dim.overflowed()) dims.insert(dim);
  };
  for (const Node& node : graph.nodes()) {
    for (const Type& type : node.types) std::ranges::for_each(type.shape, insert);
    std::ranges::for_each(room_left(graph, node), insert);
    for (const Attr& attr : node.attrs) {
      if (const Dim* dim = std::get_if<Dim>(&attr.value)) insert(*dim);
      if (const auto* list = std::get_if<std::vector<Dim>>(&attr.value)) {
        std::ranges::for_each(*list, insert);
      }
    }
    if (node.body == nullptr) continue;
    std::map<std::string, Dim> inner = chunks;
    if (node.op == Op::chunked) {
      inner[node.attrs.text("symbol")] =
          Dim::min(node.attrs.integer("chunk"), node.attrs.dim("rows").substitute(chunks));
    }
    collect_dims(*node.body, inner, dims);
  }
}

std::vector<Dim> dims_of(const Module& module, const Graph& graph) {
  std::set<Dim> dims;
  for (const Storage& storage : module.storage) {
    for (const Dim& dim : storage.type.shape) {
      if (!dim.is_constant() && !dim.overflowed()) dims.insert(dim);
    }
  }
  collect_dims(graph, {}, dims);
  return {dims.begin(), dims.end()};
}

// Tries sizes symbol by symbol, taking back a choice that breaks a rule.
class Search {
 public:
  Search(const Module& module, const Graph& graph, const DimBinding& given)
      : facts_(module.dims), dims_(dims_of(module, graph)), sizes_(given) {
    std::set<std::string> symbols = symbols_of(dims_);
    for (const auto& [left, right] : facts_.equalities()) symbols.merge(symbols_of({left, right}));
    for (const std::string& symbol : symbols) {
      if (!given.contains(symbol)) open_.push_back(symbol);
    }
  }

  // Sizes that are all given are the giver's: whoever binds them says what is wrong with them.
  std::optional<DimBinding> run() {
    if (open_.empty()) return sizes_;
    return fits() && choose(0) ? std::optional(sizes_) : std::nullopt;
  }

 private:
  bool choose(size_t index) {
    if (index == open_.size()) return true;
    std::string symbol = next();
    for (int64_t size : candidates(symbol, index)) {
      if (++steps_ > kMaxSteps) break;
      sizes_[symbol] = size;
      if (fits() && choose(index + 1)) return true;
    }
    sizes_.erase(symbol);
    return false;
  }

  // What an equality says of a symbol, given the sizes so far.
  std::vector<int64_t> said(const std::string& symbol) const {
    std::vector<int64_t> sizes;
    for (const auto& [left, right] : facts_.equalities()) {
      for (auto [side, other] : {std::pair(&left, &right), std::pair(&right, &left)}) {
        if (side->as_symbol() != symbol) continue;
        if (auto size = other->evaluate(sizes_)) sizes.push_back(*size);
      }
    }
    return sizes;
  }

  bool one_side(const std::string& symbol) const {
    return std::ranges::any_of(facts_.equalities(), [&](const auto& equality) {
      return equality.first.as_symbol() == symbol || equality.second.as_symbol() == symbol;
    });
  }

  // First what follows from an equality, last what will follow from one.
  std::string next() const {
    std::vector<std::string> left;
    for (const std::string& symbol : open_) {
      if (!sizes_.contains(symbol)) left.push_back(symbol);
    }
    auto follows = [&](const std::string& symbol) { return !said(symbol).empty(); };
    auto free = [&](const std::string& symbol) { return !one_side(symbol); };
    auto found = std::ranges::find_if(left, follows);
    if (found == left.end()) found = std::ranges::find_if(left, free);
    return found == left.end() ? left.front() : *found;
  }

  // Neighbouring symbols begin with different sizes.
  std::vector<int64_t> candidates(const std::string& symbol, size_t index) const {
    std::vector<int64_t> sizes(std::begin(kSizes), std::end(kSizes));
    std::rotate(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(index % kPrimes),
                sizes.begin() + kPrimes);
    DimFacts::Bounds bounds = facts_.bounds_of(Dim::symbol(symbol));
    for (int64_t offset : {0, 1, 2, 3}) {
      if (bounds.low <= bounds.high - offset) sizes.push_back(bounds.low + offset);
    }
    std::erase_if(sizes, [&](int64_t size) { return size < bounds.low || size > bounds.high; });
    std::stable_partition(sizes.begin(), sizes.end(),
                          [](int64_t size) { return size > 1 && size % 2 == 1; });
    std::vector<int64_t> first = said(symbol);
    sizes.insert(sizes.begin(), first.begin(), first.end());
    return sizes;
  }

  // As far as sizes are known.
  bool fits() const {
    for (const auto& [symbol, size] : sizes_) {
      DimFacts::Bounds bounds = facts_.bounds_of(Dim::symbol(symbol));
      if (size < bounds.low || size > bounds.high) return false;
    }
    for (const auto& [left, right] : facts_.equalities()) {
      auto a = left.evaluate(sizes_);
      auto b = right.evaluate(sizes_);
      if (a && b && *a != *b) return false;
    }
    return std::ranges::all_of(dims_, [&](const Dim& dim) {
      std::optional<int64_t> size = dim.evaluate(sizes_);
      return !size || *size >= 0;
    });
  }

  const DimFacts& facts_;
  std::vector<Dim> dims_;
  std::vector<std::string> open_;
  DimBinding sizes_;
  int steps_ = 0;
};

}  // namespace

Result<DimBinding> sample_dims(const Module& module, const Graph& graph, const DimBinding& given) {
  std::optional<DimBinding> sizes = Search(module, graph, given).run();
  if (sizes) return *sizes;
  return error(graph.loc, "graph @", graph.name(),
               ": no small sizes satisfy the bounds and equalities of its dims")
      .hint("give sizes, as in --dim B=8");
}

}  // namespace weft
