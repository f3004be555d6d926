// Regions of kind matmul: products, what is done to their operands, and to their results.
// after.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <optional>

#include "passes/regions.h"

namespace weft {
namespace {

constexpr size_t kMaxPrologue = 3;  // ops on an operand: it is read once per block of the result
constexpr size_t kMaxProducts = 4;  // in a sum: all operands of all products are alive at once

// What a value has to do with the products.
struct Role {
  enum class Kind : uint8_t { before, result, moved, column };
  using enum Kind;
  Kind kind = before;
  std::set<uint32_t> products;  // that it depends on
};

class Products {
 public:
  Products(const Part& part, const DimFacts& facts)
      : part_(part), graph_(*part.graph), facts_(facts) {}

  FormOrRefusal run() {
    for (uint32_t i : part_.nodes) {
      if (auto refusal = visit(i)) return *refusal;
    }
    for (Value value : part_.results) {
      if (role(value).kind == Role::before) return Refusal("its operand is used elsewhere too");
    }
    for (uint32_t product : products_) {
      for (Value operand : graph_[product].operands) {
        if (auto refusal = check_prologue(operand)) return *refusal;
      }
    }
    if (auto refusal = check_together()) return *refusal;
    return RegionForm{"matmul", graph_[products_[0]].types[0].shape, 0};
  }

 private:
  const Role& role(Value value) const {
    static const Role kBefore;
    auto found = roles_.find(value.node);
    return found == roles_.end() ? kBefore : found->second;
  }

  std::optional<Refusal> visit(uint32_t index) {
    const Node& node = graph_[index];
    Role joined;
    for (Value operand : node.operands) {
      const Role& of = role(operand);
      joined.kind = std::max(joined.kind, of.kind);
      joined.products.insert(of.products.begin(), of.products.end());
    }
    if (node.op == Op::matmul) {
      if (joined.kind != Role::before) return Refusal("one product's operand is another's result");
      roles_[index] = {Role::result, {index}};
      products_.push_back(index);
      return std::nullopt;
    }
    if (joined.kind == Role::before) {
      if (is_reduction(node)) return cat(name(node.op), " does not reduce a product");
      return std::nullopt;
    }
    if (joined.kind == Role::column) return Refusal("a column's sum is used in its region");
    return visit_after(index, std::move(joined));
  }

  std::optional<Refusal> visit_after(uint32_t index, Role joined) {
    const Node& node = graph_[index];
    if (node.op == Op::transpose || node.op == Op::reshape) {
      joined.kind = Role::moved;
    } else if (joined.kind == Role::moved) {
      return cat(name(node.op), " follows a product that was moved to other coordinates");
    } else if (is_reduction(node)) {
      if (auto refusal = check_columns(node)) return refusal;
      joined.kind = Role::column;
    } else if (!is_plain(node)) {
      return cat(name(node.op), " cannot follow a product");
    } else {
      for (Value operand : node.operands) {
        if (role(operand).kind == Role::before) continue;
        if (same_shape(graph_.type(operand).shape, node.types[0].shape, facts_)) continue;
        return cat(name(node.op), " stretches the product to ", node.types[0].shape);
      }
    }
    roles_[index] = std::move(joined);
    return std::nullopt;
  }

  std::optional<Refusal> check_columns(const Node& node) const {
    const std::vector<int64_t> axes = reduced_axes(node);
    const size_t rank = graph_.type(node.operands[0]).rank();
    if (node.op == Op::argmax || axes.size() + 1 != rank || axes.back() + 2 != int64_t(rank)) {
      return Refusal("reduces over other axes than a product's rows");
    }
    return std::nullopt;
  }

  std::optional<Refusal> check_prologue(Value operand) const {
    std::set<uint32_t> seen;
    std::vector<Value> open = {operand};
    size_t work = 0;
    while (!open.empty()) {
      const uint32_t at = open.back().node;
      open.pop_back();
      if (!part_.holds(at) || !seen.insert(at).second) continue;
      const Node& node = graph_[at];
      if (is_costly(node) || node.op == Op::gather || node.op == Op::concat || node.op == Op::pad ||
          node.op == Op::take_along_axis || node.op == Op::dynamic_slice) {
        return cat(name(node.op), " would be computed again for every block of the product");
      }
      // A comparison with random bits or with counted positions is as good as a load.
      if (is_plain(node) && node.types[0].dtype != DType::boolean) ++work;
      open.insert(open.end(), node.operands.begin(), node.operands.end());
    }
    if (work <= kMaxPrologue) return std::nullopt;
    return cat(work, " ops would be computed again for every block of the product");
  }

  // Several products: of one left operand, or of one shape and added up.
  std::optional<Refusal> check_together() const {
    if (products_.size() == 1) return std::nullopt;
    const Node& first = graph_[products_[0]];
    bool one_left = true;
    bool one_shape = true;
    bool same_rows = true;
    for (uint32_t product : products_) {
      const Node& node = graph_[product];
      Shape shape = node.types[0].shape;
      one_left = one_left && node.operands[0] == first.operands[0];
      one_shape = one_shape && same_shape(shape, first.types[0].shape, facts_);
      if (shape.size() != first.types[0].rank()) {
        same_rows = false;
      } else {
        shape.back() = first.types[0].shape.back();
        same_rows = same_rows && same_shape(shape, first.types[0].shape, facts_);
      }
    }
    if (one_left && same_rows && are_apart()) return std::nullopt;
    if (!one_shape) return Refusal("products of different shapes");
    if (products_.size() > kMaxProducts)
      return cat("more than ", kMaxProducts, " products in a sum");
    if (!are_combined()) return Refusal("products of different operands");
    return std::nullopt;
  }

  // Each result is of one product.
  bool are_apart() const {
    return std::ranges::all_of(roles_, [](const auto& r) { return r.second.products.size() == 1; });
  }

  // Some value depends on all.
  bool are_combined() const {
    return std::ranges::any_of(
        roles_, [&](const auto& r) { return r.second.products.size() == products_.size(); });
  }

  const Part& part_;
  const Graph& graph_;
  const DimFacts& facts_;
  std::map<uint32_t, Role> roles_;
  std::vector<uint32_t> products_;
};

}  // namespace

FormOrRefusal matmul_form(const Part& part, const DimFacts& facts) {
  return Products(part, facts).run();
}

}  // namespace weft
