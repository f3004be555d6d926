// Part of `raise`: from a softmax up to the product it weighs and down to the product it is of,
// and everything that is done to the scores on the way.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph/module.h"
#include "passes/raise_levels.h"

namespace weft {

inline constexpr double kExcluded = -std::numeric_limits<double>::infinity();

// Something done to the scores.
struct ScoreItem {
  enum Kind : uint8_t {
    kBias,    // number * value is added
    kMask,    // where the predicate `value` is false, the score is `number`
    kGate,    // scores are multiplied with the predicate, or constants: 0 where it is false
    kFactor,  // scores are multiplied with a value that is the same along rows or columns
  };
  Kind kind = kBias;
  Value value;
  double number = 1;
  bool negated = false;  // of a predicate: false where it is true; of a factor: a divisor
  size_t level = 0;      // how many of the chain's views lie below it
};

// An attention as it stands in a graph. Values are the graph's.
struct AttentionChain {
  uint32_t softmax = 0;
  uint32_t product = 0;             // q k^T, or its transpose
  uint32_t root = 0;                // weights times v, or the transpose of that
  bool weights_left = true;         // of the root's operands
  std::vector<ViewStep> below;      // from the product up to the softmax's operand
  std::vector<ViewStep> above;      // from the softmax up to the root
  double scale = 1;                 // of the product
  std::vector<ScoreItem> items;     // from the outermost to the innermost
  std::optional<uint32_t> dropout;  // the node
  size_t dropout_level = 0;         // how many of `above` lie below it
  size_t row = 0;                   // axes of the softmax's operand: queries
  size_t col = 0;                   // and keys
  size_t product_col = 0;           // the axis of keys in the product
};

// What a walk found: a chain, or the reason why there is none.
struct ChainResult {
  std::optional<AttentionChain> chain;
  std::string reason;
  bool near = false;  // a product goes into the softmax, and its result into another
};

class ChainFinder {
 public:
  ChainFinder(const Graph& graph, const DimFacts& facts);
  ChainResult find(uint32_t softmax) const;
  // Exponentials of a product that somebody sums up, and that go to another product.
  bool sums_powers(uint32_t exp) const;

 private:
  std::optional<std::string> walk_up(AttentionChain& chain) const;
  std::optional<std::string> walk_down(AttentionChain& chain, Value at, double outer) const;
  std::optional<std::string> walk_sum(AttentionChain& chain, const Node& sum, double outer) const;
  std::optional<std::string> walk_mul(AttentionChain& chain, const Node& mul, double outer) const;
  std::optional<std::string> walk_div(AttentionChain& chain, const Node& div, double outer) const;
  std::optional<std::string> walk_select(AttentionChain& chain, const Node& select,
                                         double outer) const;
  std::optional<std::string> walk_view(AttentionChain& chain, const Node& view, double outer) const;
  std::optional<std::string> find_axes(AttentionChain& chain) const;
  std::string in_the_way(uint32_t node) const;
  bool mixes(const Node& node) const;
  bool from_product(Value value) const { return from_product_[value.node]; }
  bool used_once(Value value) const { return uses_[value.node][value.result] == 1; }

  const Graph& graph_;
  const DimFacts& facts_;
  std::vector<std::vector<uint32_t>> uses_;
  std::vector<std::vector<uint32_t>> users_;  // live nodes that use a node
  std::vector<bool> from_product_;            // comes from a matmul by elementwise work and views
  std::vector<bool> to_product_;              // goes to one
  std::vector<std::vector<std::string>> names_;
};

}  // namespace weft
