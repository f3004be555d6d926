// Sizes of symbolic dims: derived from the tensors that a graph is given, then checked.
// SPDX-License-Identifier: Apache-2.0
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
  WEFT_CHECK(checked_element_count(tensor.shape) == tensor.size(), "a tensor fits its shape");
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

// `symbol == expression` gives a symbol its size as soon as the expression has one.
void bind_by_equalities(const DimFacts& facts, DimBinding& sizes) {
  auto derive = [&](const Dim& side, const Dim& other) {
    auto symbol = side.as_symbol();
    if (!symbol || sizes.contains(*symbol)) return false;
    auto size = other.evaluate(sizes);
    return size && sizes.emplace(*symbol, *size).second;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (const auto& [a, b] : facts.equalities) {
      if (derive(a, b) || derive(b, a)) changed = true;
    }
  }
}

Status check_sizes(const std::vector<Argument>& given, const DimBinding& sizes) {
  for (const Argument& argument : given) {
    WEFT_TRY(Sizes expected, concrete_shape(argument.type, sizes, argument.loc, argument.what));
    for (size_t axis = 0; axis < expected.size(); ++axis) {
      if (expected[axis] == argument.tensor.shape[axis]) continue;
      const Dim& dim = argument.type.shape[axis];
      std::string meaning = dim.is_constant() ? "" : cat(dim, " = ");
      return error(argument.loc, argument.what, ": expected ", argument.type, ", got ",
                   type_of(argument.tensor), ": axis ", axis, " is ", argument.tensor.shape[axis],
                   " instead of ", meaning, expected[axis]);
    }
  }
  return ok();
}

Status check_facts(const DimFacts& facts, const DimBinding& sizes, const Loc& loc) {
  for (const auto& [symbol, size] : sizes) {
    DimFacts::Bounds bounds;
    if (auto found = facts.bounds.find(symbol); found != facts.bounds.end()) bounds = found->second;
    if (size < bounds.low || size > bounds.high) {
      return error(loc, symbol, " is ", size, ", but its bounds are ", bounds.low, " and ",
                   bounds.high);
    }
  }
  for (const auto& [a, b] : facts.equalities) {
    auto left = a.evaluate(sizes);
    auto right = b.evaluate(sizes);
    if (left && right && *left != *right) {
      return error(loc, "the module asserts ", a, " == ", b, ", but they are ", *left, " and ",
                   *right);
    }
  }
  return ok();
}

std::set<std::string> symbols_of(const Node& node) {
  std::set<std::string> symbols;
  for (const Type& type : node.types) {
    for (const Dim& dim : type.shape) dim.collect_symbols(symbols);
  }
  for (const Attr& attr : node.attrs) {
    if (const auto* dim = std::get_if<Dim>(&attr.value)) dim->collect_symbols(symbols);
    if (const auto* dims = std::get_if<std::vector<Dim>>(&attr.value)) {
      for (const Dim& dim : *dims) dim.collect_symbols(symbols);
    }
  }
  return symbols;
}

Status check_all_bound(const Graph& graph, const DimBinding& sizes) {
  for (const Node& node : graph.nodes()) {
    for (const std::string& symbol : symbols_of(node)) {
      if (!sizes.contains(symbol)) {
        return unbound_symbol(node.loc, cat("graph @", graph.name()), symbol);
      }
    }
  }
  return ok();
}

}  // namespace

Result<DimBinding> bind_dims(const Module& module, const Graph& graph, const TensorMap& inputs,
                             const TensorMap& storage, const DimBinding& given) {
  std::vector<Argument> all = arguments(graph, inputs, storage);
  for (const Argument& argument : all) WEFT_TRY_STATUS(check_element_type(argument));
  DimBinding sizes = given;
  bind_bare_symbols(all, sizes);
  bind_by_equalities(module.dims, sizes);
  WEFT_TRY_STATUS(check_all_bound(graph, sizes));
  WEFT_TRY_STATUS(check_sizes(all, sizes));
  WEFT_TRY_STATUS(check_facts(module.dims, sizes, graph.loc));
  return sizes;
}

}  // namespace weft
