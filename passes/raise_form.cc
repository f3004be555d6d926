// SPDX-License-Identifier: Apache-2.0
#include "passes/raise_form.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "passes/raise_numbers.h"

namespace weft {
namespace {

// A score this low has no weight beside any that is not; one alone has all of it.
constexpr double kLowScore = -1e4;

// A bias that depends on nothing but one predicate: 0 where that holds, `amount` elsewhere.
struct MaskBias {
  Predicate predicate;
  double amount = 0;
};

class BiasReader {
 public:
  explicit BiasReader(const Graph& graph) : graph_(graph) {}

  std::optional<MaskBias> read(const ScoreItem& bias) {
    if (!collect(bias.value) || predicates_.size() != 1) return std::nullopt;
    double on = bias.number * number(bias.value, true);
    double off = bias.number * number(bias.value, false);
    if (on == 0 && off < 0) return MaskBias{{*predicates_.begin(), false}, off};
    if (off == 0 && on < 0) return MaskBias{{*predicates_.begin(), true}, on};
    return std::nullopt;
  }

 private:
  // Gathers the predicates; false if there is anything else in it.
  bool collect(Value value) {
    const Node& node = graph_.node(value);
    if (one_number(graph_, value)) return true;
    bool from_bool =
        !node.operands.empty() && graph_.type(node.operands[0]).dtype == DType::boolean;
    switch (node.op) {
      case Op::cast:
        if (from_bool) predicates_.insert(node.operands[0]);
        return from_bool || collect(node.operands[0]);
      case Op::select:
        predicates_.insert(node.operands[0]);
        return collect(node.operands[1]) && collect(node.operands[2]);
      case Op::neg: return collect(node.operands[0]);
      case Op::add:
      case Op::sub:
      case Op::mul:
      case Op::div: return collect(node.operands[0]) && collect(node.operands[1]);
      default: return false;
    }
  }

  double number(Value value, bool bit) const {
    const Node& node = graph_.node(value);
    if (std::optional<double> constant = one_number(graph_, value)) return *constant;
    auto operand = [&](size_t i) { return number(node.operands[i], bit); };
    switch (node.op) {
      case Op::cast:
        if (graph_.type(node.operands[0]).dtype == DType::boolean) return bit ? 1 : 0;
        return operand(0);
      case Op::select: return bit ? operand(1) : operand(2);
      case Op::neg: return -operand(0);
      case Op::add: return operand(0) + operand(1);
      case Op::sub: return operand(0) - operand(1);
      case Op::mul: return operand(0) * operand(1);
      default: return operand(0) / operand(1);
    }
  }

  const Graph& graph_;
  std::set<Value> predicates_;
};

// A mask in the making, in the order of the chain's items.
struct Mask {
  std::vector<FormMask> atoms;
  double fill = kExcluded;
  bool adds = false;     // `fill` is added to the score instead of taking its place
  bool outside = false;  // of a bias: something is added after it
  ScoreItem item;
};

class FormMaker {
 public:
  FormMaker(const Graph& graph, const DimFacts& facts, const AttentionChain& chain)
      : graph_(graph), facts_(facts), chain_(chain) {}

  FormResult run() {
    gather();
    if (keeps_a_key()) {
      for (Mask& mask : masks_) {
        if (mask.fill <= kLowScore) mask.fill = kExcluded;
      }
    }
    for (const Mask& mask : masks_) {
      if (reason_.empty()) place(mask);
    }
    return {std::move(form_), reason_};
  }

 private:
  void gather() {
    for (const ScoreItem& item : chain_.items) {
      if (item.kind == ScoreItem::kFactor) add_factor(item);
      if (item.kind == ScoreItem::kBias && !add_constant_mask(item)) add_bias(item);
      if (item.kind == ScoreItem::kMask) add_mask(item, item.number);
      if (item.kind == ScoreItem::kGate) add_gate(item);
    }
  }

  void add_bias(const ScoreItem& item) {
    std::optional<MaskBias> found = BiasReader(graph_).read(item);
    if (!found) {
      form_.biases.push_back(item);
      return;
    }
    ScoreItem predicate = item;
    predicate.value = found->predicate.value;
    predicate.negated = found->predicate.negated;
    add_mask(predicate, found->amount);
    masks_.back().adds = true;
    masks_.back().item = item;
  }

  // Scores are 0 where the gate is closed, and a bias of the same predicate makes that its amount.
  void add_gate(const ScoreItem& gate) {
    if (graph_.node(gate.value).op == Op::constant) return add_constant_gate(gate);
    auto same = [&](const Mask& mask) {
      return mask.adds && mask.item.level == gate.level &&
             mask_source_[&mask - masks_.data()] == std::pair(gate.value, gate.negated);
    };
    auto found = std::ranges::find_if(masks_, same);
    if (found == masks_.end()) return add_mask(gate, 0);
    found->adds = false;
  }

  void add_mask(const ScoreItem& item, double fill) {
    Mask mask;
    for (const MaskAtom& atom :
         mask_atoms(graph_, facts_, axes_at(item.level), item.value, item.negated)) {
      mask.atoms.push_back({atom, item.level});
    }
    mask.fill = fill;
    mask.outside = !form_.biases.empty();
    mask.item = item;
    masks_.push_back(std::move(mask));
    mask_source_.emplace_back(item.value, item.negated);
  }

  // The numbers of a constant: 1 for those equal to `seen`, 0 for all others, which are equal too.
  std::optional<std::vector<int64_t>> two_numbers(Value value, double seen, double& other) const {
    const Node& node = graph_.node(value);
    if (node.op != Op::constant || !node.attrs.numbers("value").real()) return std::nullopt;
    std::vector<int64_t> bits;
    other = seen;
    for (double number : std::get<std::vector<double>>(node.attrs.numbers("value").values)) {
      if (number != seen && other == seen) other = number;
      if (number != seen && number != other) return std::nullopt;
      bits.push_back(number == seen ? 1 : 0);
    }
    return bits;
  }

  // A bias of constants, 0 in a window and one low number elsewhere.
  bool add_constant_mask(const ScoreItem& item) {
    double low = 0;
    std::optional<std::vector<int64_t>> bits = two_numbers(item.value, 0, low);
    if (!bits || low * item.number >= 0) return false;
    std::optional<MaskAtom::Window> window =
        written_window(facts_, axes_at(item.level), graph_.type(item.value).shape, *bits);
    if (!window) return false;
    Mask mask;
    mask.atoms.push_back({{item.value, false, window, {}, {}}, item.level});
    mask.fill = low * item.number;
    mask.adds = true;
    mask.outside = !form_.biases.empty();
    mask.item = item;
    masks_.push_back(std::move(mask));
    mask_source_.emplace_back(item.value, false);
    return true;
  }

  // Constants of 1 and 0 that go with a bias of constants.
  void add_constant_gate(const ScoreItem& gate) {
    double closed = 1;
    double low = 0;
    std::optional<std::vector<int64_t>> open = two_numbers(gate.value, 1, closed);
    auto same = [&](const Mask& mask) {
      return mask.adds && mask.item.level == gate.level &&
             two_numbers(mask.item.value, 0, low) == open;
    };
    auto found = std::ranges::find_if(masks_, same);
    if (!open || closed != 0 || found == masks_.end()) {
      reason_ = "the scores are multiplied with numbers of their own";
    } else {
      found->adds = false;
    }
  }

  // On the queries or on the keys: it must not depend on both.
  void add_factor(const ScoreItem& item) {
    ScoreAxes axes = axes_at(item.level);
    const Shape& shape = graph_.type(item.value).shape;
    size_t missing = axes.rank - shape.size();
    auto thin = [&](size_t axis) { return axis < missing || shape[axis - missing].is_constant(1); };
    if (!thin(axes.row) && !thin(axes.col)) {
      reason_ = "the scores are multiplied with numbers of their own";
    }
    form_.factors.push_back(item);
  }

  ScoreAxes axes_at(size_t level) const {
    ScoreAxes axes;
    const Shape& product = graph_[chain_.product].types[0].shape;
    axes.rank = product.size();
    axes.col = chain_.product_col;
    axes.row = 2 * axes.rank - 3 - axes.col;
    axes.rows = product[axes.row];
    axes.cols = product[axes.col];
    for (size_t i = 0; i < level; ++i) {
      const ViewStep& step = chain_.below[i];
      axes.row = *follow_axis(step, axes.row);
      axes.col = *follow_axis(step, axes.col);
      axes.rank = step.to.size();
    }
    return axes;
  }

  // Every row surely has a key that no mask takes away: the one on the diagonal of all windows.
  bool keeps_a_key() const {
    ScoreAxes axes = axes_at(0);
    if (facts_.bounds_of(facts_.canonical(axes.cols - axes.rows)).low < 0) return false;
    return std::ranges::all_of(masks_, [](const Mask& mask) {
      return mask.fill > kLowScore || std::ranges::all_of(mask.atoms, [](const FormMask& part) {
               return part.atom.window.has_value();
             });
    });
  }

  void place(const Mask& mask) {
    if (mask.fill == kExcluded) return exclude(mask);
    if (!std::isfinite(mask.fill)) reason_ = "a mask fills with a number that is not finite";
    if (mask.adds) {
      form_.biases.push_back(mask.item);
      biased_ = true;
      return;
    }
    // Something is added to a finite number, or it takes the place of what was excluded before.
    if (mask.outside || biased_)
      reason_ = "a bias is added after a mask that fills with a finite number";
    if (finite_ && form_.fill != mask.fill) reason_ = "two masks fill with different numbers";
    if (!finite_ && !form_.masks.empty())
      reason_ = "one mask excludes, another fills with a number";
    finite_ = true;
    form_.fill = mask.fill;
    form_.masks.insert(form_.masks.end(), mask.atoms.begin(), mask.atoms.end());
  }

  void exclude(const Mask& mask) {
    if (finite_) {
      reason_ = "a mask that fills with a finite number comes after one that excludes";
      return;
    }
    for (const FormMask& part : mask.atoms) {
      if (part.atom.window) {
        narrow(form_.window.before, part.atom.window->before);
        narrow(form_.window.after, part.atom.window->after);
      } else {
        (part.atom.length ? form_.lengths : form_.masks).push_back(part);
      }
    }
  }

  static void narrow(int64_t& limit, int64_t other) {
    if (other >= 0) limit = limit < 0 ? other : std::min(limit, other);
  }

  const Graph& graph_;
  const DimFacts& facts_;
  const AttentionChain& chain_;
  AttentionForm form_;
  std::vector<Mask> masks_;
  std::vector<std::pair<Value, bool>> mask_source_;  // predicate of each, and whether negated
  bool finite_ = false;                              // a mask that fills with a number was placed
  bool biased_ = false;                              // one that is a bias was placed
  std::string reason_;
};

}  // namespace

FormResult attention_form(const Graph& graph, const DimFacts& facts, const AttentionChain& chain) {
  return FormMaker(graph, facts, chain).run();
}

}  // namespace weft
