// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/flops.h"

#include "ir/graph/live.h"

namespace weft {
namespace {

// The computing ops that have no trait which says so.
bool sums_what_it_reads(const Node& node) {
  switch (node.op) {
    case Op::cumsum:
    case Op::global_norm:
    case Op::scatter_add:
    case Op::add_along_axis:
    case Op::fold_patches:
    case Op::mse: return true;
    default: break;
  }
  const OpInfo& op = info(node.op);
  return op.has(kReduction) || op.has(kRow) || op.has(kOptimizer);
}

// Its products, of D = k's last size or E = v's: one each forward, three and two backward. Masks
// take nothing away.
Dim attention_flops(const Graph& graph, const Node& node) {
  const Shape& k = graph.type(node.operands[1]).shape;
  const Dim& e = graph.type(node.operands[2]).shape.back();
  bool forward = node.op == Op::attention;
  const Type& lse = forward ? node.types[1] : graph.type(node.operands[3]);
  Dim scores = element_count(lse.shape) * k[k.size() - 2];
  return 2 * scores * (forward ? k.back() + e : 3 * k.back() + 2 * e);
}

}  // namespace

// As a dim, so that overflow is found in one place, when it is evaluated.
Dim flops_of(const Graph& graph, const Node& node) {
  if (node.op == Op::matmul) {
    return 2 * graph.type(node.operands[0]).shape.back() * element_count(node.types[0].shape);
  }
  if (node.op == Op::attention || node.op == Op::attention_grad) {
    return attention_flops(graph, node);
  }
  Dim count;
  if (info(node.op).has(kElementwise)) {
    for (const Type& type : node.types) count = count + element_count(type.shape);
  } else if (sums_what_it_reads(node)) {
    for (Value operand : node.operands) count = count + element_count(graph.type(operand).shape);
  }
  return count;
}

namespace {

// Adds up the nodes of a graph and of the bodies in it.
class Counter {
 public:
  Counter(const Module& module, const Graph& graph, const DimBinding& dims)
      : module_(module), graph_(graph), dims_(dims) {}

  Result<int64_t> run() {
    WEFT_TRY_STATUS(add(graph_, {}));
    return total_;
  }

 private:
  // `sizes` are those of the symbols that a `chunked` around has: all of its rows at once.
  Status add(const Graph& graph, const std::map<std::string, Dim>& sizes) {
    std::vector<bool> live = live_nodes(graph);
    for (uint32_t i = 0; i < live.size(); ++i) {
      if (!live[i]) continue;
      const Node& node = graph[i];
      WEFT_TRY_STATUS(add(node, flops_of(graph, node).substitute(sizes)));
      if (node.body == nullptr) continue;
      std::map<std::string, Dim> inner = sizes;
      if (node.op == Op::chunked) {
        inner[node.attrs.text("symbol")] = node.attrs.dim("rows").substitute(sizes);
      }
      WEFT_TRY_STATUS(add(*node.body, inner));
    }
    return ok();
  }

  Status add(const Node& node, const Dim& flops) {
    Dim count = module_.dims.canonical(flops);
    std::set<std::string> symbols;
    count.collect_symbols(symbols);
    for (const std::string& symbol : symbols) {
      if (dims_.contains(symbol)) continue;
      return error(node.loc, "graph @", graph_.name(), ": the size of ", symbol, " is not known")
          .hint("give it with --dim " + symbol + "=8");
    }
    std::optional<int64_t> value = count.evaluate(dims_);
    if (value && !__builtin_add_overflow(total_, *value, &total_)) return ok();
    return error(node.loc, "graph @", graph_.name(), ": more operations than 63 bits can count");
  }

  const Module& module_;
  const Graph& graph_;
  const DimBinding& dims_;
  int64_t total_ = 0;
};

}  // namespace

Result<int64_t> count_flops(const Module& module, const Graph& graph, const DimBinding& dims) {
  return Counter(module, graph, dims).run();
}

}  // namespace weft
