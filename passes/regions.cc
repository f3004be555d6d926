// SPDX-License-Identifier: Apache-2.0
#include "passes/regions.h"

#include <algorithm>

#include "ir/graph/attention.h"

namespace weft {
namespace {

Shape without_ones(const Shape& shape, const DimFacts& facts) {
  Shape kept;
  for (const Dim& dim : shape) {
    if (!facts.equal(dim, 1)) kept.push_back(dim);
  }
  return kept;
}

FormOrRefusal map_form(const Part& part, const DimFacts& facts) {
  const Graph& graph = *part.graph;
  for (Value result : part.results) {
    const Shape& shape = graph.type(result).shape;
    const Shape& first = graph.type(*part.results.begin()).shape;
    if (!same_shape(shape, first, facts)) {
      return Refusal(cat("results of different shapes, ", shape, " and ", first));
    }
  }
  return RegionForm{"map", graph.type(*part.results.begin()).shape, 0};
}

std::string kind_of_sink(Op op) {
  return op == Op::cumsum ? "scan" : op == Op::top_k ? "top_k" : "scatter";
}

// What a scatter writes into is there before it begins: nothing can be computed into it on the way.
bool is_fill_or_outside(const Part& part, Value in) {
  const Graph& graph = *part.graph;
  while (part.holds(in.node) && info(graph.node(in).op).has(kView)) {
    in = graph.node(in).operands[0];
  }
  return !part.holds(in.node) || graph.node(in).op == Op::constant;
}

FormOrRefusal sink_form(const Part& part, uint32_t sink) {
  const Graph& graph = *part.graph;
  const Node& node = graph[sink];
  const std::string kind = kind_of_sink(node.op);
  if (part.nodes.back() != sink) return Refusal(cat(name(node.op), " ends its region"));
  for (Value result : part.results) {
    if (result.node != sink) return Refusal(cat(name(node.op), " is its region's only result"));
  }
  if (kind == "scatter" && !is_fill_or_outside(part, node.operands[0])) {
    return Refusal(cat(name(node.op), " writes into a value that is there before it"));
  }
  // A row is read k times by top_k, and in one long chain by a scan.
  size_t work = 0;
  for (uint32_t i : part.nodes) {
    if (is_plain(graph[i])) ++work;
    if (kind != "scatter" && (is_costly(graph[i]) || work > 4)) {
      return Refusal(cat(name(node.op), " would compute ", name(graph[i].op), " again"));
    }
  }
  return RegionForm{kind, node.types[0].shape, 0};
}

// Made by fuse-attention: the op, and views in which its results are stored.
FormOrRefusal attention_form(const Part& part, uint32_t attention) {
  const Graph& graph = *part.graph;
  for (uint32_t i : part.nodes) {
    if (i == attention || info(graph[i].op).has(kView)) continue;
    return Refusal(cat(name(graph[attention].op), " stands alone"));
  }
  return RegionForm{"attention", graph[attention].types[0].shape, 0};
}

// Per node of a part, from its users: the places where it is computed, and whether more often than
// it has elements.
class Work {
 public:
  Work(const Part& part, const RegionForm& form, const DimFacts& facts)
      : part_(part),
        graph_(*part.graph),
        form_(form),
        facts_(facts),
        places_(part.nodes.size()),
        spread_(part.nodes.size()) {}

  std::optional<Refusal> run() {
    for (Value result : part_.results) places_[slot(result.node)].insert(0);
    size_t once = 0;   // costly nodes that are computed once per element
    size_t again = 0;  // and how often others are computed beyond that
    std::string which;
    for (size_t i = part_.nodes.size(); i-- > 0;) {
      const Node& node = graph_[part_.nodes[i]];
      if (places_[i].size() > kMaxPlaces) {
        return cat(name(node.op), " would be computed at ", places_[i].size(), " places");
      }
      // A concat chooses for each element where it comes from.
      if (is_costly(node) || node.op == Op::concat || node.op == Op::pad) {
        once += spread_[i] ? 0 : 1;
        again += places_[i].size() - (spread_[i] ? 0 : 1);
        if (spread_[i] || places_[i].size() > 1) which = name(node.op);
      }
      for (size_t k = 0; k < node.operands.size(); ++k) pass_on(i, k);
    }
    // Repeating is fine where the region does as much of it anyway.
    if (again <= once) return std::nullopt;
    return cat(which, " would be computed again for every use of it");
  }

 private:
  static constexpr size_t kMaxPlaces = 4;

  size_t slot(uint32_t node) const {
    auto at = std::ranges::lower_bound(part_.nodes, node);
    return static_cast<size_t>(at - part_.nodes.begin());
  }

  void pass_on(size_t user, size_t operand) {
    const uint32_t index = part_.nodes[user];
    const Node& node = graph_[index];
    const Value value = node.operands[operand];
    if (!part_.holds(value.node)) return;
    const size_t into = slot(value.node);
    const bool same =
        is_plain(node) || is_reduction(node) || keeps_coordinates(graph_, node, facts_);
    if (is_reduction(node)) {
      places_[into].insert(0);
    } else if (same) {
      places_[into].insert(places_[user].begin(), places_[user].end());
    } else {
      for (size_t place : places_[user]) {
        places_[into].insert((place * 1000003 + index) * 8 + operand + 1);
      }
    }
    if (spread_[user] || spreads(node, value)) spread_[into] = true;
  }

  bool spreads(const Node& node, Value value) const {
    const Shape& from = graph_.type(value).shape;
    if (node.op == Op::gather && value == node.operands[0]) return true;
    if (!is_plain(node) && node.op != Op::broadcast) return false;
    if (is_of_row(from)) return false;
    return without_ones(from, facts_).size() < without_ones(node.types[0].shape, facts_).size();
  }

  // Computed once per row, however often it is used there.
  bool is_of_row(const Shape& shape) const {
    if (form_.row_axes == 0 || shape.size() != form_.space.size()) return false;
    const size_t rows = form_.space.size() - form_.row_axes;
    for (size_t i = 0; i < shape.size(); ++i) {
      if (!facts_.equal(shape[i], i < rows ? form_.space[i] : Dim(1))) return false;
    }
    return true;
  }

  const Part& part_;
  const Graph& graph_;
  const RegionForm& form_;
  const DimFacts& facts_;
  std::vector<std::set<size_t>> places_;
  std::vector<bool> spread_;
};

}  // namespace

bool Part::holds(uint32_t node) const { return std::ranges::binary_search(nodes, node); }

bool is_plain(const Node& node) {
  return info(node.op).has(kElementwise) && !info(node.op).composite();
}

bool is_reduction(const Node& node) {
  return info(node.op).has(kReduction) && !info(node.op).composite();
}

bool is_sink(const Node& node) {
  switch (node.op) {
    case Op::scatter:
    case Op::scatter_add:
    case Op::add_along_axis:
    case Op::update_slice:
    case Op::cumsum:
    case Op::top_k: return true;
    default: return false;
  }
}

bool is_pointwise(const Node& node) {
  switch (node.op) {
    case Op::pad:
    case Op::concat:
    case Op::gather:
    case Op::take_along_axis:
    case Op::dynamic_slice:
    case Op::iota:
    case Op::constant:
    case Op::random_bits: return true;
    default: return is_plain(node) || info(node.op).has(kView);
  }
}

bool is_costly(const Node& node) { return info(node.op).has(kCostly); }

std::vector<int64_t> reduced_axes(const Node& node) {
  if (node.op == Op::argmax) return {node.attrs.integer("axis")};
  return node.attrs.ints("axes");
}

bool keeps_coordinates(const Graph& graph, const Node& node, const DimFacts& facts) {
  if (node.op == Op::broadcast) return true;
  if (node.op != Op::reshape) return false;
  const Shape from = without_ones(graph.type(node.operands[0]).shape, facts);
  return same_shape(from, without_ones(node.types[0].shape, facts), facts);
}

FormOrRefusal region_form(const Part& part, const DimFacts& facts) {
  const Graph& graph = *part.graph;
  bool reduces = false;
  bool multiplies = false;
  std::vector<uint32_t> sinks;
  for (uint32_t i : part.nodes) {
    const Node& node = graph[i];
    if (is_attention(node.op)) return attention_form(part, i);
    if (node.op == Op::matmul) {
      multiplies = true;
    } else if (is_reduction(node)) {
      reduces = true;
    } else if (is_sink(node)) {
      sinks.push_back(i);
    } else if (!is_pointwise(node)) {
      return Refusal(cat(name(node.op), " stands alone"));
    }
  }
  if (part.results.empty()) return Refusal("nothing leaves it");
  if (!sinks.empty()) {
    if (sinks.size() == 1 && !reduces && !multiplies) return sink_form(part, sinks[0]);
    return Refusal(cat(name(graph[sinks[0]].op), " ends a region of its own"));
  }
  if (multiplies) return matmul_form(part, facts);
  return reduces ? rows_form(part, facts) : map_form(part, facts);
}

std::optional<Refusal> repeated_work(const Part& part, const RegionForm& form,
                                     const DimFacts& facts) {
  return Work(part, form, facts).run();
}

}  // namespace weft
