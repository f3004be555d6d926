// SPDX-License-Identifier: Apache-2.0
#include "passes/sample_inputs.h"

#include <algorithm>
#include <random>

#include "ir/graph/attention.h"
#include "ir/oracle/sizes.h"

namespace weft {
namespace {

constexpr int64_t kSmall = 8;  // integers that nothing limits are below this

// The values that an integer may have where it is used.
struct Range {
  int64_t low = INT64_MIN;
  int64_t high = INT64_MAX;

  bool limited() const { return low != INT64_MIN || high != INT64_MAX; }
  void narrow(Range other) {
    low = std::max(low, other.low);
    high = std::min(high, other.high);
  }
};

// Asks every use what range it needs and passes that back towards the inputs.
class Ranges {
 public:
  // `outputs` are the ranges that those outside ask of a body's outputs.
  Ranges(const Graph& graph, DimBinding dims, const std::vector<Range>& outputs = {})
      : graph_(graph), dims_(std::move(dims)) {
    for (const Node& node : graph.nodes()) needed_.emplace_back(node.types.size());
    for (size_t i = 0; i < outputs.size(); ++i) {
      Value value = graph.outputs[i].value;
      needed_[value.node][value.result].narrow(outputs[i]);
    }
    for (size_t i = graph.nodes().size(); i-- > 0;) {
      const Node& node = graph.nodes()[i];
      if (node.body != nullptr) {
        ask_body(node, needed_[i]);
        continue;
      }
      ask(node);
      if (node.types.size() == 1 && needed_[i][0].limited()) pass_back(node, needed_[i][0]);
    }
  }

  Range of(Value value) const { return needed_[value.node][value.result]; }

 private:
  int64_t size(Value value, int64_t axis) const {
    const Shape& shape = graph_.type(value).shape;
    size_t index = axis < 0 ? shape.size() - 1 : static_cast<size_t>(axis);
    return shape[index].evaluate(dims_).value_or(1);
  }

  void need(const Node& node, size_t operand, Range range) {
    Value value = node.operands[operand];
    needed_[value.node][value.result].narrow(range);
  }

  void need_lengths(const Node& node) {
    AttentionExtras extras = attention_extras(graph_, node.op, node.operands);
    if (!extras.lengths) return;
    int64_t rank = std::ssize(graph_.type(node.operands[1]).shape);
    need(node, *extras.lengths, {0, size(node.operands[1], rank - 2)});
  }

  void ask_body(const Node& node, const std::vector<Range>& results) {
    DimBinding inside = dims_;
    if (node.op == Op::chunked) {
      inside[node.attrs.text("symbol")] =
          std::min(node.attrs.integer("chunk"), node.attrs.dim("rows").evaluate(dims_).value_or(1));
    }
    Ranges body(*node.body, std::move(inside), results);
    for (size_t i = 0; i < node.operands.size(); ++i) {
      need(node, i, body.of(node.body->inputs()[i]));
    }
  }

  void ask(const Node& node) {
    auto axis = [&] { return node.attrs.integer("axis"); };
    switch (node.op) {
      case Op::gather:
      case Op::scatter:
      case Op::scatter_add:
      case Op::take_along_axis:
      case Op::add_along_axis: return need(node, 1, {0, size(node.operands[0], axis()) - 1});
      case Op::cross_entropy:
      case Op::focal: return need(node, 1, {0, size(node.operands[0], -1) - 1});
      case Op::dynamic_slice: {
        int64_t taken = node.attrs.dim("size").evaluate(dims_).value_or(1);
        return need(node, 1, {0, size(node.operands[0], axis()) - taken});
      }
      case Op::update_slice:
        return need(node, 2, {0, size(node.operands[0], axis()) - size(node.operands[1], axis())});
      case Op::one_hot:
        return need(node, 0, {0, node.attrs.dim("depth").evaluate(dims_).value_or(1) - 1});
      case Op::padding_mask:
        return need(node, 0, {0, node.attrs.dim("size").evaluate(dims_).value_or(1)});
      case Op::attention:
      case Op::attention_grad: return need_lengths(node);
      case Op::adam:
      case Op::adamw: return need(node, 5, {1, kSmall});
      default: return;
    }
  }

  // What is known of a value before anything runs.
  std::optional<Range> known(Value value) const {
    const Node& node = graph_.node(value);
    if (node.op == Op::iota) {
      return Range{0, std::max<int64_t>(size(value, node.attrs.integer("axis")) - 1, 0)};
    }
    if (node.op != Op::constant || node.attrs.numbers("value").real()) return std::nullopt;
    const auto& numbers = std::get<1>(node.attrs.numbers("value").values);
    if (numbers.empty()) return std::nullopt;
    auto [low, high] = std::ranges::minmax(numbers);
    return Range{low, high};
  }

  void pass_back(const Node& node, Range range) {
    bool copies = info(node.op).has(kView) || node.op == Op::concat || node.op == Op::minimum ||
                  node.op == Op::maximum || node.op == Op::dynamic_slice || node.op == Op::gather ||
                  node.op == Op::cast || node.op == Op::reshape;
    if (copies) {
      bool first_only = node.op == Op::dynamic_slice || node.op == Op::gather;
      size_t count = first_only ? 1 : node.operands.size();
      for (size_t i = 0; i < count; ++i) need(node, i, range);
    } else if (node.op == Op::select) {
      need(node, 1, range);
      need(node, 2, range);
    } else if (node.op == Op::add || node.op == Op::sub) {
      pass_back_sum(node, range);
    }
  }

  void pass_back_sum(const Node& node, Range range) {
    int sign = node.op == Op::add ? 1 : -1;
    for (size_t i = 0; i < 2; ++i) {
      std::optional<Range> other = known(node.operands[1 - i]);
      bool negated = sign < 0 && i == 1;  // c - value: rare, and left alone
      if (!other || negated) continue;
      Range shift = sign > 0 ? *other : Range{-other->high, -other->low};
      need(node, i, {saturating_sub(range.low, shift.low), saturating_sub(range.high, shift.high)});
    }
  }

  static int64_t saturating_sub(int64_t a, int64_t b) {
    int64_t result = 0;
    if (!__builtin_sub_overflow(a, b, &result)) return result;
    return a < 0 ? INT64_MIN : INT64_MAX;
  }

  const Graph& graph_;
  DimBinding dims_;
  std::vector<std::vector<Range>> needed_;
};

using Random = std::mt19937_64;

double unit(Random& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }

// Twelve uniform numbers make a bell that is near enough, and the same on every machine.
double bell(Random& random) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += unit(random);
  return sum;
}

Status fill(Tensor& tensor, Range range, Random& random, const Loc& loc, const std::string& what) {
  if (tensor.real()) {
    for (double& element : tensor.reals) element = round_to(tensor.dtype, bell(random));
    return ok();
  }
  Range allowed{lowest_integer(tensor.dtype), highest_integer(tensor.dtype)};
  allowed.narrow(range);
  // Small and not negative, unless its use asks for something else.
  if (range.low == INT64_MIN)
    allowed.low = std::max(allowed.low, std::min<int64_t>(0, allowed.high));
  if (range.high == INT64_MAX) {
    allowed.high = std::min(allowed.high, std::max<int64_t>(allowed.low, 0) + kSmall - 1);
  }
  if (allowed.low > allowed.high && !tensor.integers.empty()) {
    return error(loc, what, ": no value is in range where it is used (from ", allowed.low, " to ",
                 allowed.high, ")")
        .hint("give larger sizes, as in --dim T=16");
  }
  auto choices = static_cast<uint64_t>(allowed.high) - static_cast<uint64_t>(allowed.low) + 1;
  for (int64_t& element : tensor.integers) {
    uint64_t offset = choices == 0 ? random() : random() % choices;
    element = static_cast<int64_t>(static_cast<uint64_t>(allowed.low) + offset);
  }
  return ok();
}

}  // namespace

Result<TensorMap> sample_inputs(const Module&, const Graph& graph, const DimBinding& dims,
                                uint64_t seed) {
  Ranges ranges(graph, dims);
  TensorMap inputs;
  int64_t live = 0;
  for (Value input : graph.inputs()) {
    const Node& node = graph.node(input);
    const std::string& name = graph.input_name(input);
    std::string what = "input " + name;
    WEFT_TRY(std::vector<int64_t> shape, concrete_shape(node.types[0], dims, node.loc, what));
    WEFT_TRY(int64_t bytes, check_room(shape, live, node.loc, what));
    live += bytes;
    Tensor tensor = Tensor::zeros(node.types[0].dtype, std::move(shape));
    // Each input has numbers of its own, whatever the others are.
    std::seed_seq mixed(name.begin(), name.end());
    std::vector<uint32_t> words(2);
    mixed.generate(words.begin(), words.end());
    Random random(seed ^ (uint64_t{words[0]} << 32 | words[1]));
    WEFT_TRY_STATUS(fill(tensor, ranges.of(input), random, node.loc, what));
    inputs.emplace(name, std::move(tensor));
  }
  return inputs;
}

}  // namespace weft
