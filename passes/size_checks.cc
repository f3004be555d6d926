// SPDX-License-Identifier: Apache-2.0
#include "passes/size_checks.h"

#include <algorithm>

namespace weft {
namespace {

class Checks {
 public:
  Checks(const DimFacts& facts, std::map<std::string, Dim> replaced)
      : facts_(facts), replaced_(std::move(replaced)) {}

  void visit(const Graph& graph) {
    for (const Node& node : graph.nodes()) {
      node_ = &node;
      for (const Type& type : node.types) visit_shape(type.shape);
      switch (node.op) {
        case Op::slice: visit_slice(graph.type(node.operands[0]).shape); break;
        case Op::pad: visit_pad(); break;
        case Op::argmax: visit_argmax(graph.type(node.operands[0]).shape); break;
        case Op::top_k: visit_top_k(graph.type(node.operands[0]).shape); break;
        default: break;
      }
      if (node.op == Op::chunked) {
        visit_chunks(node);
      } else if (node.body != nullptr) {
        visit(*node.body);
      }
    }
  }

  std::vector<SizeCheck> take() { return std::move(found_); }

 private:
  template <class... Parts>
  void at_most(const Dim& small, const Dim& large, const Parts&... parts) {
    Dim low = facts_.canonical(small.substitute(replaced_));
    Dim high = facts_.canonical(large.substitute(replaced_));
    if (facts_.bounds_of(high - low).low >= 0) return;
    auto same = [&](const SizeCheck& check) { return check.small == low && check.large == high; };
    if (std::ranges::any_of(found_, same)) return;
    found_.push_back({low, high, cat(name(node_->op), ": ", parts...)});
  }

  void visit_shape(const Shape& shape) {
    for (size_t i = 0; i < shape.size(); ++i) {
      at_most(0, shape[i], "size ", shape[i], " of axis ", i, " is negative");
    }
  }

  void visit_slice(const Shape& in) {
    for (size_t i = 0; i < in.size(); ++i) {
      const Dim& start = node_->attrs.dims("starts")[i];
      const Dim& limit = node_->attrs.dims("limits")[i];
      at_most(0, start, "start ", start, " is negative on axis ", i);
      at_most(start, limit, "start ", start, " lies beyond limit ", limit, " on axis ", i);
      at_most(limit, in[i], "limit ", limit, " exceeds size ", in[i], " of axis ", i);
    }
  }

  void visit_pad() {
    for (const char* side : {"low", "high"}) {
      const std::vector<Dim>& amounts = node_->attrs.dims(side);
      for (size_t i = 0; i < amounts.size(); ++i) {
        at_most(0, amounts[i], "padding ", amounts[i], " is negative on axis ", i);
      }
    }
  }

  void visit_argmax(const Shape& in) {
    const Dim& size = in[static_cast<size_t>(node_->attrs.integer("axis"))];
    at_most(1, size, "axis ", node_->attrs.integer("axis"), " of ", in, " is empty");
  }

  void visit_top_k(const Shape& in) {
    const Dim k(node_->attrs.integer("k"));
    at_most(k, in.back(), "k is ", k, ", but the last axis of ", in, " has ", in.back());
  }

  // Sizes are linear in the rows at hand as a rule: what holds for one and for all holds between.
  void visit_chunks(const Node& node) {
    const Dim rows = node.attrs.dim("rows").substitute(replaced_);
    for (const Dim& count : {Dim(1), Dim::min(rows, node.attrs.integer("chunk"))}) {
      std::map<std::string, Dim> replaced = replaced_;
      replaced[node.attrs.text("symbol")] = count;
      Checks body(facts_, std::move(replaced));
      body.visit(*node.body);
      std::ranges::move(body.found_, std::back_inserter(found_));
    }
  }

  const DimFacts& facts_;
  const std::map<std::string, Dim> replaced_;
  const Node* node_ = nullptr;
  std::vector<SizeCheck> found_;
};

}  // namespace

std::vector<SizeCheck> size_checks(const Graph& graph, const DimFacts& facts) {
  Checks checks(facts, {});
  checks.visit(graph);
  return checks.take();
}

}  // namespace weft
