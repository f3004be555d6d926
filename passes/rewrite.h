// The rewriter: rules are data (a name, a pattern, what to put instead), applied to a fixed point.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ir/graph/emit.h"
#include "passes/pass.h"

namespace weft {

// A variable of a pattern. The same one twice matches only the same value twice.
struct Slot {
  uint8_t index = 0;
};
inline constexpr size_t kSlotCount = 6;

// What a value may look like.
struct Pattern {
  enum Kind : uint8_t {
    kVar,       // anything
    kConstant,  // a constant of one number, whatever its shape
    kNumber,    // a constant of that one number (0 and -0 are the same)
    kOp,        // the only result of one of `ops`, of any op if there are none
  };
  Pattern(Slot var) : slot(var) {}  // NOLINT: a slot is a pattern
  Pattern(Kind pattern_kind, std::optional<Slot> bound = {}) : kind(pattern_kind), slot(bound) {}

  // Binds what matches as a whole to `var`.
  Pattern as(Slot var) const;

  Kind kind = kVar;
  std::optional<Slot> slot;
  double number = 0;               // kNumber
  std::vector<Op> ops = {};        // kOp
  std::vector<Pattern> args = {};  // kOp: one per operand; none: any operands. Commutative ops
                                   // match in both orders.
};

// A match in progress of being replaced. Slots hold values of the new graph.
class Match {
 public:
  // `root_node` is a copy outside the graph, and outlives the match.
  Match(Emitter& emitter, const Node& root_node, const std::vector<bool>& used_once)
      : out(emitter), root(root_node), used_once_(used_once) {}

  Emitter& out;
  const Node& root;  // what is to be replaced, with operands in the new graph

  Value operator[](Slot slot) const;
  Node node(Slot slot) const { return out.graph().node((*this)[slot]); }  // a copy: nodes move
  Type type(Slot slot) const { return out.type((*this)[slot]); }
  double number(Slot slot) const;  // of a constant bound to the slot
  DType dtype() const { return root.types[0].dtype; }
  const Shape& shape() const { return root.types[0].shape; }
  const DimFacts& facts() const { return out.module().dims; }
  // Nobody but the root uses its operand, as far as is known: rules that would compute something
  // twice otherwise ask this.
  bool used_once(size_t operand) const {
    return operand < used_once_.size() && used_once_[operand];
  }

  // Nothing if the node would not type-check (`neg` of unsigned numbers).
  std::optional<Value> emit(Op op, std::vector<Value> operands, Attrs attrs = {});
  // The same, but nothing also if its type would differ from the root's.
  std::optional<Value> emit_same(Op op, std::vector<Value> operands, Attrs attrs = {});
  // A number of the root's element type.
  Value scalar(double value) { return out.scalar(value, dtype()); }
  // The root's shape filled with one number.
  Value full(double value) { return out.full(value, dtype(), shape()); }
  // Emits a pattern of bound slots, numbers (of the root's element type) and ops without
  // attributes.
  std::optional<Value> build(const Pattern& pattern);

 private:
  friend class Matcher;
  std::optional<Type> infer(Op op, const std::vector<Value>& operands, Attrs& attrs) const;

  std::array<std::optional<Value>, kSlotCount> slots_;
  const std::vector<bool>& used_once_;
};

enum RuleFlag : uint32_t {
  kExact = 0,            // the same for every number, NaN, infinity and -0 included
  kSignedZero = 1 << 0,  // may give 0 for -0 or the reverse
  kRounding = 1 << 1,    // other roundings: equal within a few units in the last place
  kFastMath = 1 << 2,    // wrong for NaN, infinities, overflow or some signs: only if asked for
};

using Action = std::function<std::optional<Value>(Match&)>;

struct Rule {
  std::string_view name;
  Pattern pattern;
  Action action;  // nothing: hold back
  uint32_t flags = kExact;
  std::string_view note = {};  // where NaN, infinity or -0 matter
};

// Applies rules, the first that fits, operands before users, until none fits; merges equal nodes
// and drops dead ones. A replacement of another type than the root's is dropped (x + 0 may
// broadcast). Reports each application to options.on_rewrite, stops at options.rewrite_limit, and
// leaves deliberate recomputations (Node::instance) alone. Returns whether anything changed.
bool rewrite(Module& module, std::span<const Rule* const> rules, const PassOptions& options);

// The words in which rules are written.
namespace pattern {

inline constexpr Slot x{0}, y{1}, z{2}, c{3}, d{4}, t{5};

Pattern lit(double number);  // a constant of that number
Pattern con(Slot var);       // a constant of one number
Pattern any_of(std::vector<Op> ops, std::vector<Pattern> args = {});

#define OP(name, ...)                              \
  template <class... Args>                         \
  Pattern name(const Args&... args) {              \
    return any_of({Op::name}, {Pattern(args)...}); \
  }
#include "ir/graph/ops.def"
#undef OP

Action take(Slot var);         // the bound value itself
Action build(Pattern result);  // see Match::build
Action fill(double number);    // the root's shape filled with a number

}  // namespace pattern
}  // namespace weft
