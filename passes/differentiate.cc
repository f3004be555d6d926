// The reverse sweep of autodiff over one graph.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>

#include "ir/text/text.h"
#include "passes/autodiff.h"
#include "passes/gradient.h"

namespace weft {
namespace {

class Sweep {
 public:
  Sweep(Emitter& b, const std::vector<Value>& wrt) : b_(b), wrt_(wrt) { mark_carriers(); }

  Status run(Value loss) {
    if (!carries(loss)) return ok();
    grads_[loss] = b_.scalar(1, b_.type(loss).dtype);
    for (uint32_t i = loss.node + 1; i-- > 0;) {
      std::vector<std::optional<Value>> flowing = gradients_of(i);
      if (std::ranges::any_of(flowing, [](const auto& g) { return g.has_value(); })) {
        WEFT_TRY_STATUS(visit(i, std::move(flowing)));
      }
    }
    return ok();
  }

  Value gradient(Value value) {
    auto found = grads_.find(value);
    return found == grads_.end() ? b_.zeros(b_.type(value)) : found->second;
  }

 private:
  // A value carries if a gradient that arrives there is of use: it is a float that one of `wrt`
  // flows into. Steps, comparisons and integers end a path.
  void mark_carriers() {
    const Graph& graph = b_.graph();
    const std::set<Value> wanted(wrt_.begin(), wrt_.end());
    for (uint32_t i = 0; i < graph.nodes().size(); ++i) {
      const Node& node = graph[i];
      bool flows = info(node.op).gradient != "zero" &&
                   std::ranges::any_of(node.operands, [&](Value v) { return carries(v); });
      std::vector<bool>& results = carries_.emplace_back();
      for (uint32_t r = 0; r < node.types.size(); ++r) {
        results.push_back((flows && is_float(node.types[r].dtype)) || wanted.count({i, r}) > 0);
      }
    }
  }

  bool carries(Value value) const { return carries_[value.node][value.result]; }

  std::vector<std::optional<Value>> gradients_of(uint32_t index) const {
    std::vector<std::optional<Value>> flowing(carries_[index].size());
    for (uint32_t r = 0; r < flowing.size(); ++r) {
      if (auto found = grads_.find({index, r}); found != grads_.end()) flowing[r] = found->second;
    }
    return flowing;
  }

  Status visit(uint32_t index, std::vector<std::optional<Value>> flowing) {
    const Node node = b_.graph()[index];  // a copy: emitting may move the graph's nodes
    std::vector<bool> wanted;
    for (Value operand : node.operands) wanted.push_back(carries(operand));
    if (std::ranges::none_of(wanted, [](bool w) { return w; })) return ok();
    GradFn rule = gradient_rule(node.op);
    if (rule == nullptr && info(node.op).gradient == "none") return no_gradient(index);
    if (rule == nullptr) return ok();

    b_.set_origin(node.origin, node.loc);
    GradScope scope(b_, index, std::move(flowing), std::move(wanted));
    rule(scope);
    for (size_t i = 0; i < node.operands.size(); ++i) {
      if (scope.given()[i]) accumulate(node.operands[i], *scope.given()[i], index);
    }
    return ok();
  }

  void accumulate(Value value, Value gradient, uint32_t user) {
    auto [found, fresh] = grads_.emplace(value, gradient);
    if (!fresh) found->second = b_.add({found->second, gradient});
    user_.emplace(value.node, user);
  }

  Error no_gradient(uint32_t index) const {
    auto names = value_names(b_.graph());
    std::vector<std::string> path;
    for (auto at = user_.find(index); at != user_.end(); at = user_.find(at->second)) {
      path.push_back(names[at->second][0]);
    }
    std::ranges::reverse(path);
    path.push_back(names[index][0]);
    const Node& node = b_.graph()[index];
    Value source = wanted_below(index);
    std::string wanted = names[source.node][source.result];
    return error(node.loc, name(node.op), " has no gradient, but ", wanted,
                 " reaches the loss through it: ", join(path))
        .hint("leave " + wanted + " out of --wrt, or compute the loss without " +
              std::string(name(node.op)));
  }

  // One of `wrt` that flows into the node.
  Value wanted_below(uint32_t index) const {
    Value at{index, 0};
    while (std::ranges::find(wrt_, at) == wrt_.end()) {
      const std::vector<Value>& operands = b_.graph().node(at).operands;
      at = *std::ranges::find_if(operands, [&](Value v) { return carries(v); });
    }
    return at;
  }

  // "%loss <- %mean0 <- %h", with the middle of a long path left out.
  static std::string join(const std::vector<std::string>& path) {
    constexpr size_t kEnds = 4;
    std::string out;
    for (size_t i = 0; i < path.size(); ++i) {
      bool middle = path.size() > 2 * kEnds + 1 && i >= kEnds && i + kEnds < path.size();
      if (middle && i > kEnds) continue;
      out += (i == 0 ? "" : " <- ") + (middle ? "..." : path[i]);
    }
    return out;
  }

  Emitter& b_;
  const std::vector<Value>& wrt_;
  std::vector<std::vector<bool>> carries_;  // [node][result], of the nodes before the sweep
  std::map<Value, Value> grads_;
  std::map<uint32_t, uint32_t> user_;  // through which user a gradient first came to a node
};

}  // namespace

Result<std::vector<Value>> differentiate(Emitter& b, Value loss, const std::vector<Value>& wrt) {
  const Type& type = b.type(loss);
  if (!is_float(type.dtype) || type.rank() != 0) {
    return error(b.graph().node(loss).loc, "the loss has type ", type,
                 "; a gradient needs a float scalar")
        .hint("reduce it, for instance with mean over all axes");
  }
  const Provenance origin = b.origin();
  Sweep sweep(b, wrt);
  WEFT_TRY_STATUS(sweep.run(loss));
  std::vector<Value> gradients;
  for (Value value : wrt) gradients.push_back(sweep.gradient(value));
  b.set_origin(origin, {});
  return gradients;
}

}  // namespace weft
