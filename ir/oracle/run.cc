// SPDX-License-Identifier: Apache-2.0
#include "ir/oracle/run.h"

#include "ir/graph/live.h"
#include "ir/oracle/elements.h"
#include "ir/oracle/sizes.h"
#include "ir/text/text.h"

namespace weft {

namespace {

// One run of a graph: what has been computed and is still wanted.
class Run {
 public:
  Run(const Graph& graph, const std::vector<const Tensor*>& given, const DimBinding& dims,
      int64_t live_bytes, const OracleRounding* rounding)
      : graph_(graph), given_(given), dims_(dims), rounding_(rounding), live_bytes_(live_bytes) {
    for (const Node& node : graph.nodes()) {
      computed_.emplace_back(node.types.size());
      uses_.emplace_back(node.types.size(), 0);
    }
  }

  Result<RunResult> execute(const OracleProgress& progress) {
    std::vector<bool> needed = live_nodes(graph_);
    count_uses_of(needed);
    size_t total = 0;
    for (uint32_t i = 0; i < needed.size(); ++i) total += needed[i] && is_computed(i) ? 1 : 0;
    size_t done = 0;
    for (uint32_t i = 0; i < needed.size(); ++i) {
      const Node& node = graph_[i];
      if (!needed[i] || !is_computed(i)) continue;
      if (progress) progress(node, done, total);
      ++done;
      CheckContext context(cat("op ", name(node.op)));
      Status status = evaluate(i);
      if (!status.ok()) return explain(std::move(status).take_error(), i);
      for (Value operand : node.operands) release(operand);
      for (uint32_t result = 0; result < node.types.size(); ++result) {
        if (uses_[i][result] == 0) discard({i, result});
      }
    }
    RunResult result;
    for (const Output& output : graph_.outputs) result.outputs.push_back(take(output.value));
    for (const Update& update : graph_.updates) result.updates.push_back(take(update.value));
    return result;
  }

 private:
  void count_uses_of(const std::vector<bool>& needed) {
    auto use = [&](Value value) { ++uses_[value.node][value.result]; };
    for (size_t i = 0; i < needed.size(); ++i) {
      if (!needed[i]) continue;
      for (Value operand : graph_.nodes()[i].operands) use(operand);
    }
    for (const Output& output : graph_.outputs) use(output.value);
    for (const Update& update : graph_.updates) use(update.value);
  }

  bool is_computed(uint32_t index) const { return !info(graph_[index].op).has(kStructural); }

  const Tensor& tensor(Value value) const {
    const Tensor* outside = given_[value.node];
    return outside != nullptr ? *outside : computed_[value.node][value.result];
  }

  Status evaluate(uint32_t index) {
    const Node& node = graph_[index];
    std::string what(name(node.op));
    WEFT_TRY_STATUS(check_attributes(node));
    const int64_t others = live_bytes_;
    std::vector<Sizes> shapes;
    for (const Type& type : node.types) {
      WEFT_TRY(Sizes shape, concrete_shape(type, dims_, node.loc, what));
      WEFT_TRY(int64_t bytes, check_room(shape, live_bytes_, node.loc, what));
      live_bytes_ += bytes;
      shapes.push_back(std::move(shape));
    }
    std::vector<const Tensor*> operands;
    for (Value operand : node.operands) {
      operands.push_back(&tensor(operand));
      WEFT_TRY(Sizes shape, concrete_shape(graph_.type(operand), dims_, node.loc, what));
      WEFT_CHECK(operands.back()->shape == shape, "an operand has the shape of its type");
    }
    const EvalArgs args{node, operands, shapes, dims_, others, rounding_};
    WEFT_TRY(std::vector<Tensor> results, eval(args));
    WEFT_CHECK(results.size() == shapes.size(), "an op gives all of its results");
    for (size_t i = 0; i < results.size(); ++i) {
      WEFT_CHECK(results[i].shape == shapes[i] && results[i].dtype == node.types[i].dtype,
                 "a result has its type");
      if (rounding_ != nullptr) (*rounding_)(node, results[i]);
    }
    computed_[index] = std::move(results);
    return ok();
  }

  // Dims among the attributes have sizes, even where these do not show in the type.
  Status check_attributes(const Node& node) const {
    for (const Attr& attr : node.attrs) {
      const auto* list = std::get_if<std::vector<Dim>>(&attr.value);
      const auto* one = std::get_if<Dim>(&attr.value);
      for (const Dim& dim : list ? *list : one ? std::vector<Dim>{*one} : std::vector<Dim>{}) {
        if (dim.evaluate(dims_)) continue;
        return error(node.loc, name(node.op), ": ", attr.name, ": ", dim, " cannot be computed");
      }
    }
    return ok();
  }

  Error explain(Error error, uint32_t index) const {
    auto names = value_names(graph_);
    const Node& node = graph_[index];
    std::string message = cat("while computing ", names[index][0], " : ", node.types[0]);
    for (size_t i = 0; i < node.operands.size(); ++i) {
      Value operand = node.operands[i];
      message += cat(i == 0 ? " from " : ", ", names[operand.node][operand.result]);
    }
    return std::move(error).note(node.loc, std::move(message));
  }

  void release(Value value) {
    if (--uses_[value.node][value.result] == 0) discard(value);
  }

  void discard(Value value) {
    Tensor& computed = computed_[value.node][value.result];
    live_bytes_ -= computed.size() * kElementBytes;
    computed = Tensor();
  }

  // The tensor of an output: moved out if nothing else wants it.
  Tensor take(Value value) {
    bool last = --uses_[value.node][value.result] == 0;
    if (given_[value.node] != nullptr || !last) return tensor(value);
    return std::move(computed_[value.node][value.result]);
  }

  const Graph& graph_;
  const std::vector<const Tensor*>& given_;
  const DimBinding& dims_;
  const OracleRounding* rounding_;
  std::vector<std::vector<Tensor>> computed_;  // [node][result]; what was given stays outside
  std::vector<std::vector<uint32_t>> uses_;    // still to come
  int64_t live_bytes_;                         // of computed tensors and those from outside
};

}  // namespace

Result<RunResult> run_graph(const Graph& graph, const std::vector<const Tensor*>& given,
                            const DimBinding& dims, int64_t live_bytes,
                            const OracleRounding* rounding, const OracleProgress& progress) {
  return Run(graph, given, dims, live_bytes, rounding).execute(progress);
}

}  // namespace weft
