// Checks every invariant of a module, so that passes and backends need not.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "ir/graph/module.h"

namespace weft {
namespace {

// Why an element type cannot begin with an initial value.
std::optional<std::string> init_fault(DType dtype, const Init& init) {
  if (init.kind == Init::zeros || init.kind == Init::ones) return std::nullopt;
  bool random = init.kind != Init::constant;
  if (random && !is_float(dtype)) return cat("random values need a float type, not ", name(dtype));
  if (random) {
    if (std::isfinite(init.value) && init.value >= 0) return std::nullopt;
    return cat(init.value, " is not a finite number of at least 0");
  }
  if (is_float(dtype)) return std::nullopt;
  if (!std::isfinite(init.value) || std::trunc(init.value) != init.value) {
    return cat(init.value, " is not a whole number");
  }
  // From 2^53 on a double may stand for a neighbour of the integer that was written.
  if (std::fabs(init.value) >= 0x1p53) return cat(init.value, " is not exact");
  auto value = static_cast<int64_t>(init.value);
  if (value >= lowest_integer(dtype) && value <= highest_integer(dtype)) return std::nullopt;
  return cat(value, " is not within ", lowest_integer(dtype), " and ", highest_integer(dtype));
}

class Verifier {
 public:
  explicit Verifier(const Module& module) : module_(module) {}

  Status run() {
    check_dims();
    check_storage();
    std::set<std::string> names;
    for (const Graph& graph : module_.graphs) {
      if (!names.insert(graph.name()).second) {
        fail(error(graph.loc, "graph @", graph.name(), " is defined twice"));
      }
      where_ = "graph @" + graph.name();
      check_graph(graph);
      check_outputs(graph);
      check_updates(graph);
    }
    if (errors_.empty()) return ok();
    return Error(std::move(errors_));
  }

 private:
  void fail(Error&& error) {
    for (Diagnostic& d : std::move(error).take()) errors_.push_back(std::move(d));
  }

  void check_dims() {
    for (const auto& [symbol, bounds] : module_.dims.bounds) {
      if (bounds.low < 0 || bounds.low > bounds.high) {
        fail(error({}, "dim ", symbol, ": bounds ", bounds.low, "..", bounds.high, " are empty"));
      }
    }
  }

  void check_storage() {
    for (const Storage& item : module_.storage) {
      auto [known, fresh] = storage_.emplace(item.name, &item);
      if (!fresh) {
        fail(error(item.loc, "@", item.name, " is defined twice")
                 .note(known->second->loc, "first defined here"));
      }
      check_type(item.type, item.loc, "@" + item.name);
      check_init(item);
    }
  }

  void check_init(const Storage& item) {
    if (std::optional<std::string> fault = init_fault(item.type.dtype, item.init)) {
      fail(error(item.loc, "@", item.name, ": ", item.type, " = ", item.init.str(), ": ", *fault));
    }
  }

  void check_type(const Type& type, const Loc& loc, const std::string& what) {
    if (std::optional<std::string> fault = type_fault(type)) fail(error(loc, what, ": ", *fault));
  }

  void check_graph(const Graph& graph) {
    std::set<std::string> names;
    for (uint32_t i = 0; i < graph.nodes().size(); ++i) {
      const Node& node = graph[i];
      for (const std::string& name : node.names) {
        if (!name.empty() && node.op != Op::param && !names.insert(name).second) {
          fail(error(node.loc, where_, ": %", name, " is defined twice"));
        }
      }
      if (check_operands(graph, node, i) && check_body(node)) check_node(graph, node);
    }
  }

  // What the node's own type rule relies on; the rest is its business.
  bool check_body(const Node& node) {
    if (node.body == nullptr) return true;
    size_t before = errors_.size();
    std::string outside = std::exchange(where_, cat(where_, ", body of ", name(node.op)));
    if (!info(node.op).has(kBody)) fail(error(node.loc, where_, ": it has none"));
    check_graph(*node.body);
    for (const Output& output : node.body->outputs) {
      if (!in_graph(*node.body, output.value)) fail(error(output.loc, where_, ": returns nothing"));
    }
    where_ = std::move(outside);
    return errors_.size() == before;
  }

  bool check_operands(const Graph& graph, const Node& node, uint32_t index) {
    for (Value operand : node.operands) {
      if (operand.node >= index || operand.result >= graph[operand.node].types.size()) {
        fail(error(node.loc, where_, ": ", name(node.op), ": operand used before it is defined"));
        return false;
      }
    }
    return true;
  }

  void check_node(const Graph& graph, const Node& node) {
    if (node.op == Op::input)
      return check_type(node.types[0], node.loc, "%" + node.attrs.text("name"));
    if (node.op == Op::param) {
      const std::string& name = node.attrs.text("name");
      auto item = storage_.find(name);
      if (item == storage_.end()) {
        fail(error(node.loc, "@", name, " is not defined in the module")
                 .hint(did_you_mean(name, module_.storage_names())));
      } else if (item->second->type != node.types[0]) {
        fail(error(node.loc, "@", name, " has type ", item->second->type, ", read as ",
                   node.types[0]));
      }
      return;
    }
    std::vector<Type> operands;
    std::vector<Loc> locs;
    for (Value operand : node.operands) {
      operands.push_back(graph.type(operand));
      locs.push_back(graph.node(operand).loc);
    }
    Result<std::vector<Type>> types =
        infer_types({node.op, operands, node.attrs, module_.dims, node.loc, locs, node.body.get()});
    if (!types.ok()) return fail(std::move(types).take_error());
    for (size_t i = 0; i < types->size(); ++i) {
      if (i >= node.types.size() || !same_type((*types)[i], node.types[i], module_.dims)) {
        fail(error(node.loc, name(node.op), ": result ", i, " has type ", (*types)[i],
                   ", stated as ", i < node.types.size() ? node.types[i].str() : "nothing"));
      }
    }
  }

  bool in_graph(const Graph& graph, Value value) const {
    return value.node < graph.nodes().size() && value.result < graph[value.node].types.size();
  }

  void check_outputs(const Graph& graph) {
    std::set<std::string> names;
    for (const Output& output : graph.outputs) {
      if (!in_graph(graph, output.value)) {
        fail(error(output.loc, where_, ": output ", output.name, " has no value"));
      }
      if (!names.insert(output.name).second) {
        fail(error(output.loc, where_, ": output ", output.name, " is named twice"));
      }
    }
  }

  void check_updates(const Graph& graph) {
    std::set<std::string> targets;
    for (const Update& update : graph.updates) {
      auto item = storage_.find(update.target);
      if (item == storage_.end()) {
        fail(error(update.loc, "update of @", update.target, ", which is not defined in the module")
                 .hint(did_you_mean(update.target, module_.storage_names())));
        continue;
      }
      if (!targets.insert(update.target).second) {
        fail(error(update.loc, "@", update.target, " is updated twice in graph @", graph.name()));
      }
      if (!in_graph(graph, update.value)) {
        fail(error(update.loc, "update of @", update.target, " has no value"));
      } else if (!same_type(graph.type(update.value), item->second->type, module_.dims)) {
        fail(error(update.loc, "update of @", update.target, ": type ", graph.type(update.value),
                   " does not match ", item->second->type)
                 .note(item->second->loc, "defined here"));
      }
    }
  }

  const Module& module_;
  std::map<std::string, const Storage*> storage_;
  std::string where_;  // the graph at hand
  Diagnostics errors_;
};

}  // namespace

Status verify(const Module& module) { return Verifier(module).run(); }

}  // namespace weft
