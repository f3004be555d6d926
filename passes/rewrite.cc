// SPDX-License-Identifier: Apache-2.0
#include "passes/rewrite.h"

#include <algorithm>

#include "ir/graph/rebuild.h"
#include "ir/support/check.h"
#include "ir/text/text.h"

namespace weft {
namespace {

// Both are far beyond what sound rules need; they end an endless quarrel between two rules.
constexpr int kMaxRounds = 64;
constexpr int kMaxChain = 64;

const Numbers* one_number(const Node& node) {
  if (node.op != Op::constant) return nullptr;
  const Numbers& numbers = node.attrs.numbers("value");
  return numbers.size() == 1 ? &numbers : nullptr;
}

double as_double(const Numbers& numbers) {
  return std::visit([](const auto& v) { return static_cast<double>(v[0]); }, numbers.values);
}

bool commutes(const Pattern& pattern) {
  return pattern.args.size() == 2 && pattern.ops.size() == 1 &&
         info(pattern.ops[0]).has(kCommutative);
}

uint32_t count_commuting(const Pattern& pattern) {
  uint32_t count = commutes(pattern) ? 1 : 0;
  for (const Pattern& arg : pattern.args) count += count_commuting(arg);
  return count;
}

}  // namespace

// Matches a pattern in one of the orders of its commutative ops: bit i of `swaps` belongs to the
// i-th of them in pre-order.
class Matcher {
 public:
  Matcher(Match& match, uint32_t swaps) : match_(match), swaps_(swaps) { match_.slots_ = {}; }

  bool node(const Pattern& pattern, const Node& node) {
    if (node.types.size() != 1) return false;
    const std::vector<Op>& ops = pattern.ops;
    if (!ops.empty() && std::find(ops.begin(), ops.end(), node.op) == ops.end()) return false;
    bool swap = false;
    if (commutes(pattern)) {
      swap = (swaps_ & 1) != 0;
      swaps_ >>= 1;
    }
    if (pattern.args.empty()) return true;
    if (pattern.args.size() != node.operands.size()) return false;
    for (size_t i = 0; i < pattern.args.size(); ++i) {
      if (!value(pattern.args[i], node.operands[swap ? 1 - i : i])) return false;
    }
    return true;
  }

  const Provenance& consumed() const { return consumed_; }

 private:
  bool value(const Pattern& pattern, Value value) {
    const Node& found = match_.out.graph().node(value);
    if (pattern.kind == Pattern::kConstant || pattern.kind == Pattern::kNumber) {
      const Numbers* number = one_number(found);
      if (number == nullptr) return false;
      if (pattern.kind == Pattern::kNumber && as_double(*number) != pattern.number) return false;
    }
    if (pattern.kind == Pattern::kOp) {
      if (!node(pattern, found)) return false;
      consumed_ = unite(consumed_, found.origin);
    }
    if (!pattern.slot) return true;
    std::optional<Value>& bound = match_.slots_[pattern.slot->index];
    if (!bound) bound = value;
    return *bound == value;
  }

  Match& match_;
  uint32_t swaps_;
  Provenance consumed_;
};

Pattern Pattern::as(Slot var) const {
  Pattern bound = *this;
  bound.slot = var;
  return bound;
}

Value Match::operator[](Slot slot) const {
  WEFT_CHECK(slots_[slot.index].has_value(), "a rule uses a slot that its pattern does not bind");
  return *slots_[slot.index];
}

double Match::number(Slot slot) const {
  const Numbers* numbers = one_number(out.graph().node((*this)[slot]));
  WEFT_CHECK(numbers != nullptr, "a rule asks for the number of what is not a constant");
  return as_double(*numbers);
}

// Completes the attributes.
std::optional<Type> Match::infer(Op op, const std::vector<Value>& operands, Attrs& attrs) const {
  std::vector<Type> types;
  for (Value operand : operands) types.push_back(out.type(operand));
  Result<Attrs> complete = normalise_attrs(op, attrs, types, root.loc);
  if (!complete.ok()) return std::nullopt;
  attrs = std::move(complete).value();
  InferArgs args{op, types, attrs, facts(), root.loc, {}};
  Result<std::vector<Type>> inferred = infer_types(args);
  if (!inferred.ok()) return std::nullopt;
  return (*inferred)[0];
}

std::optional<Value> Match::emit(Op op, std::vector<Value> operands, Attrs attrs) {
  if (!infer(op, operands, attrs)) return std::nullopt;
  return out.emit(op, std::move(operands), std::move(attrs));
}

std::optional<Value> Match::emit_same(Op op, std::vector<Value> operands, Attrs attrs) {
  std::optional<Type> type = infer(op, operands, attrs);
  if (!type || !same_type(*type, root.types[0], facts())) return std::nullopt;
  return out.emit(op, std::move(operands), std::move(attrs));
}

std::optional<Value> Match::build(const Pattern& pattern) {
  if (pattern.kind == Pattern::kNumber) return scalar(pattern.number);
  if (pattern.kind != Pattern::kOp) return (*this)[*pattern.slot];
  std::vector<Value> operands;
  for (const Pattern& arg : pattern.args) {
    std::optional<Value> operand = build(arg);
    if (!operand) return std::nullopt;
    operands.push_back(*operand);
  }
  return emit(pattern.ops[0], std::move(operands));
}

namespace {

// How often each value is used by what an output or update depends on.
std::vector<std::vector<uint32_t>> count_live_uses(const Graph& graph) {
  std::vector<std::vector<uint32_t>> uses;
  for (const Node& node : graph.nodes()) uses.emplace_back(node.types.size(), 0);
  for (const Output& output : graph.outputs) ++uses[output.value.node][output.value.result];
  for (const Update& update : graph.updates) ++uses[update.value.node][update.value.result];
  for (size_t i = uses.size(); i-- > 0;) {
    if (std::ranges::all_of(uses[i], [](uint32_t count) { return count == 0; })) continue;
    for (Value operand : graph.nodes()[i].operands) ++uses[operand.node][operand.result];
  }
  return uses;
}

// Rewrites the graphs of one module.
class Rewriter {
 public:
  Rewriter(Module& module, std::span<const Rule* const> rules, const PassOptions& options)
      : module_(module), options_(options), by_op_(kOpCount) {
    for (const Rule* rule : rules) {
      if ((rule->flags & kFastMath) != 0 && !options.fast_math) continue;
      Candidate candidate{rule, 1u << count_commuting(rule->pattern)};
      if (rule->pattern.ops.empty()) {
        for (auto& list : by_op_) list.push_back(candidate);
      }
      for (Op op : rule->pattern.ops) by_op_[static_cast<size_t>(op)].push_back(candidate);
    }
  }

  // True if anything changed.
  bool run(Graph& graph) {
    Graph before = graph;
    for (int round = 0; round < kMaxRounds; ++round) {
      int64_t applied = applied_;
      if (options_.on_rewrite) names_ = value_names(graph);
      uses_ = count_live_uses(graph);
      graph = rebuild(module_, graph,
                      [&](Emitter& b, const Node& node, const std::vector<Value>& operands) {
                        return replace(b, graph, node, operands);
                      });
      if (applied == applied_) break;
    }
    graph = rebuild(module_, graph);  // drops what the last rewrites left behind
    return !same_graph(before, graph);
  }

 private:
  struct Candidate {
    const Rule* rule;
    uint32_t orders;  // of commutative operands
  };

  // The new value of a node of the old graph. What a rule put there is tried again at once.
  std::optional<std::vector<Value>> replace(Emitter& b, const Graph& graph, const Node& node,
                                            const std::vector<Value>& operands) {
    Node root = node;
    root.operands = operands;
    std::vector<bool> used_once;
    for (Value operand : node.operands) {
      used_once.push_back(uses_[operand.node][operand.result] == 1);
    }
    std::optional<std::vector<Value>> result;
    for (int link = 0; link < kMaxChain; ++link) {
      if (root.instance != 0 || root.types.size() != 1) break;
      size_t known = b.graph().nodes().size();
      auto [value, rule] = apply_first(b, root, used_once);
      if (rule == nullptr) break;
      ++applied_;
      if (options_.on_rewrite) {
        auto index = static_cast<size_t>(&node - graph.nodes().data());
        options_.on_rewrite({rule->name, graph.name(), names_[index][0]});
      }
      result = {value};
      if (value.node < known) break;  // it was tried when it came into being
      root = b.graph().node(value);
      used_once.clear();  // not known in the new graph until it is whole
    }
    return result;
  }

  std::pair<Value, const Rule*> apply_first(Emitter& b, const Node& root,
                                            const std::vector<bool>& used_once) {
    for (const Candidate& candidate : by_op_[static_cast<size_t>(root.op)]) {
      if (options_.rewrite_limit >= 0 && applied_ >= options_.rewrite_limit) break;
      for (uint32_t order = 0; order < candidate.orders; ++order) {
        Match match(b, root, used_once);
        Matcher matcher(match, order);
        if (!matcher.node(candidate.rule->pattern, root)) continue;
        Provenance origin = unite(root.origin, matcher.consumed());
        if (auto value = act(match, *candidate.rule, origin)) return {*value, candidate.rule};
      }
    }
    return {Value{}, nullptr};
  }

  std::optional<Value> act(Match& match, const Rule& rule, const Provenance& origin) {
    match.out.set_origin(origin, match.root.loc);
    std::optional<Value> value = rule.action(match);
    Graph& graph = match.out.graph();
    if (!value || !same_type(graph.type(*value), match.root.types[0], module_.dims)) {
      return std::nullopt;
    }
    // What the replaced nodes stood for is now computed here.
    Op op = graph.node(*value).op;
    if (op != Op::constant && !info(op).has(kStructural)) graph.annotate(value->node, origin);
    return value;
  }

  Module& module_;
  const PassOptions& options_;
  std::vector<std::vector<Candidate>> by_op_;
  std::vector<std::vector<std::string>> names_;  // of the old graph's values, if anybody asks
  std::vector<std::vector<uint32_t>> uses_;      // of the old graph's values
  int64_t applied_ = 0;
};

}  // namespace

bool rewrite(Module& module, std::span<const Rule* const> rules, const PassOptions& options) {
  Rewriter rewriter(module, rules, options);
  bool changed = false;
  for (Graph& graph : module.graphs) changed |= rewriter.run(graph);
  return changed;
}

namespace pattern {

Pattern lit(double number) {
  Pattern result(Pattern::kNumber);
  result.number = number;
  return result;
}

Pattern con(Slot var) { return Pattern(Pattern::kConstant, var); }

Pattern any_of(std::vector<Op> ops, std::vector<Pattern> args) {
  Pattern result(Pattern::kOp);
  result.ops = std::move(ops);
  result.args = std::move(args);
  return result;
}

Action take(Slot var) {
  return [var](Match& m) { return m[var]; };
}

Action build(Pattern result) {
  return [result = std::move(result)](Match& m) { return m.build(result); };
}

Action fill(double number) {
  return [number](Match& m) { return m.full(number); };
}

}  // namespace pattern
}  // namespace weft
