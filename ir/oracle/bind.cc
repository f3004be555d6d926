// Sizes of symbolic dims: derived from the tensors that a graph is given, then checked.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "ir/oracle/elements.h"
#include "ir/oracle/oracle.h"
#include "ir/oracle/sizes.h"

namespace weft {
namespace {

// A tensor from outside, and the type that the graph declares for it.
struct Argument {
  std::string what;  // "input x"
  const Type& type;
  const Tensor& tensor;
  const Loc& loc;
};

std::string type_of(const Tensor& tensor) { return cat(name(tensor.dtype), str(tensor.shape)); }

std::vector<Argument> arguments(const Graph& graph, const TensorMap& inputs,
                                const TensorMap& storage) {
  std::vector<Argument> all;
  for (const Node& node : graph.nodes()) {
    if (node.op != Op::input && node.op != Op::param) continue;
    const TensorMap& given = node.op == Op::input ? inputs : storage;
    const std::string& name = node.attrs.text("name");
    if (auto found = given.find(name); found != given.end()) {
      std::string what = cat(node.op == Op::input ? "input " : "@", name);
      all.push_back({std::move(what), node.types[0], found->second, node.loc});
    }
  }
  return all;
}

Status check_element_type(const Argument& argument) {
  const Tensor& tensor = argument.tensor;
  if (tensor.dtype != argument.type.dtype) {
    return error(argument.loc, argument.what, ": expected ", argument.type, ", got ",
                 type_of(tensor))
        .hint(cat("convert it to ", name(argument.type.dtype)));
  }
  if (tensor.shape.size() != argument.type.rank()) {
    return error(argument.loc, argument.what, ": expected ", argument.type, " of rank ",
                 argument.type.rank(), ", got ", type_of(tensor), " of rank ", tensor.shape.size());
  }
  return ok();
}

// A dim that is one bare symbol gives the symbol its size. Disagreement shows in check_sizes.
void bind_bare_symbols(const std::vector<Argument>& given, DimBinding& sizes) {
  for (const Argument& argument : given) {
    for (size_t axis = 0; axis < argument.type.rank(); ++axis) {
      if (auto symbol = argument.type.shape[axis].as_symbol()) {
        sizes.emplace(*symbol, argument.tensor.shape[axis]);
      }
    }
  }
}

std::set<std::string> symbols_in(const Dim& a, const Dim& b) {
  std::set<std::string> symbols;
  a.collect_symbols(symbols);
  b.collect_symbols(symbols);
  return symbols;
}

// Gives the one symbol of `a == b` that has no size yet its size, if it occurs as a multiple.
// Returns whether it has one now.
Result<bool> derive_size(const Dim& a, const Dim& b, const Loc& loc, DimBinding& sizes) {
  std::map<std::string, Dim> known;
  std::vector<std::string> open;
  for (const std::string& symbol : symbols_in(a, b)) {
    if (auto found = sizes.find(symbol); found != sizes.end()) {
      known.emplace(symbol, found->second);
    } else {
      open.push_back(symbol);
    }
  }
  if (open.size() != 1) return false;
  auto linear = (a - b).substitute(known).linear_in(open[0]);
  int64_t multiple = 0;
  if (!linear || !linear->second.is_constant() ||
      __builtin_sub_overflow(0, linear->second.constant(), &multiple)) {
    return false;
  }
  int64_t factor = linear->first;
  if (multiple % factor != 0) {
    Dim sign = factor < 0 ? -1 : 1;  // `2*K cannot be 5` rather than `-2*K cannot be -5`
    return error(loc, "the module asserts ", a, " == ", b, ", but ",
                 sign * factor * Dim::symbol(open[0]), " cannot be ", sign * multiple);
  }
  sizes.emplace(open[0], multiple / factor);
  return true;
}

// An equality with one unknown gives it a size, which may leave another with one unknown.
Status bind_by_equalities(const DimFacts& facts, const Loc& loc, DimBinding& sizes) {
  for (bool changed = true; changed;) {
    changed = false;
    for (const auto& [a, b] : facts.equalities()) {
      WEFT_TRY(bool derived, derive_size(a, b, loc, sizes));
      changed |= derived;
    }
  }
  return ok();
}

// Of each dim that can be computed from `sizes`.
Status check_sizes(const std::vector<Argument>& given, const DimBinding& sizes) {
  for (const Argument& argument : given) {
    for (size_t axis = 0; axis < argument.type.rank(); ++axis) {
      const Dim& dim = argument.type.shape[axis];
      std::optional<int64_t> expected = dim.evaluate(sizes);
      if (!expected || *expected == argument.tensor.shape[axis]) continue;
      std::string meaning = dim.is_constant() ? "" : cat(dim, " = ");
      return error(argument.loc, argument.what, ": expected ", argument.type, ", got ",
                   type_of(argument.tensor), ": axis ", axis, " is ", argument.tensor.shape[axis],
                   " instead of ", meaning, *expected);
    }
  }
  return ok();
}

Status check_bounds(const DimFacts& facts, const DimBinding& sizes, const Loc& loc) {
  for (const auto& [symbol, size] : sizes) {
    DimFacts::Bounds bounds;
    if (auto found = facts.bounds.find(symbol); found != facts.bounds.end()) bounds = found->second;
    if (size < bounds.low || size > bounds.high) {
      return error(loc, symbol, " is ", size, ", but its bounds are ", bounds.low, " and ",
                   bounds.high);
    }
  }
  return ok();
}

// Why an equality cannot be checked.
Error not_computed(const Dim& a, const Dim& b, const DimBinding& sizes, const Loc& loc) {
  std::string what = cat("the assertion ", a, " == ", b);
  for (const std::string& symbol : symbols_in(a, b)) {
    if (!sizes.contains(symbol)) return unbound_symbol(loc, what, symbol);
  }
  return error(loc, what, " cannot be computed");
}

// Types were inferred with every equality that joins symbols of the graph, however indirectly: each
// of these must hold. `related` begins with the symbols of the graph.
Status check_equalities(const DimFacts& facts, const DimBinding& sizes,
                        std::set<std::string> related, const Loc& loc) {
  auto joins = [&](const std::set<std::string>& symbols) {
    return symbols.empty() ||
           std::ranges::any_of(symbols, [&](const auto& s) { return related.contains(s); });
  };
  for (size_t before = 0; before != related.size();) {
    before = related.size();
    for (const auto& [a, b] : facts.equalities()) {
      std::set<std::string> symbols = symbols_in(a, b);
      if (joins(symbols)) related.merge(symbols);
    }
  }
  for (const auto& [a, b] : facts.equalities()) {
    auto left = a.evaluate(sizes);
    auto right = b.evaluate(sizes);
    if (left && right && *left != *right) {
      return error(loc, "the module asserts ", a, " == ", b, ", but they are ", *left, " and ",
                   *right);
    }
    bool checked = left && right;
    if (!checked && joins(symbols_in(a, b))) return not_computed(a, b, sizes, loc);
  }
  return ok();
}

// The symbols of all nodes, each of which has a size.
Result<std::set<std::string>> bound_symbols(const Graph& graph, const DimBinding& sizes) {
  std::set<std::string> all;
  for (const Node& node : graph.nodes()) {
    for (const std::string& symbol : symbols_of(node)) {
      if (!sizes.contains(symbol)) {
        return unbound_symbol(node.loc, cat("graph @", graph.name()), symbol);
      }
      all.insert(symbol);
    }
  }
  return all;
}

}  // namespace

Result<DimBinding> complete_dims(const DimFacts& facts, const std::set<std::string>& symbols,
                                 DimBinding given, const Loc& loc, const std::string& what) {
  WEFT_TRY_STATUS(bind_by_equalities(facts, loc, given));
  for (const std::string& symbol : symbols) {
    if (!given.contains(symbol)) return unbound_symbol(loc, what, symbol);
  }
  WEFT_TRY_STATUS(check_bounds(facts, given, loc));
  WEFT_TRY_STATUS(check_equalities(facts, given, symbols, loc));
  return given;
}

Result<DimBinding> bind_known_dims(const Module& module, const Graph& graph,
                                   const TensorMap& inputs, const TensorMap& storage,
                                   const DimBinding& given) {
  std::vector<Argument> all = arguments(graph, inputs, storage);
  for (const Argument& argument : all) WEFT_TRY_STATUS(check_element_type(argument));
  DimBinding sizes = given;
  bind_bare_symbols(all, sizes);
  WEFT_TRY_STATUS(bind_by_equalities(module.dims, graph.loc, sizes));
  WEFT_TRY_STATUS(check_sizes(all, sizes));
  WEFT_TRY_STATUS(check_bounds(module.dims, sizes, graph.loc));
  return sizes;
}

Result<DimBinding> bind_dims(const Module& module, const Graph& graph, const TensorMap& inputs,
                             const TensorMap& storage, const DimBinding& given) {
  WEFT_TRY(DimBinding sizes, bind_known_dims(module, graph, inputs, storage, given));
  WEFT_TRY(std::set<std::string> symbols, bound_symbols(graph, sizes));
  for (const Argument& argument : arguments(graph, inputs, storage)) {
    WEFT_CHECK(checked_element_count(argument.tensor.shape) == argument.tensor.size(),
               "a tensor fits its shape");
    WEFT_TRY([[maybe_unused]] Sizes shape,
             concrete_shape(argument.type, sizes, argument.loc, argument.what));
  }
  WEFT_TRY_STATUS(check_equalities(module.dims, sizes, std::move(symbols), graph.loc));
  return sizes;
}

}  // namespace weft
