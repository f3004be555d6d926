// The oracle's attention and its gradient, one row of scores after the other.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/graph/attention.h"
#include "ir/oracle/elements.h"
#include "ir/oracle/philox.h"

namespace weft {
namespace {

constexpr double kExcluded = -std::numeric_limits<double>::infinity();

Sizes with(Sizes sizes, int64_t a, int64_t b) {
  sizes.push_back(a);
  sizes.push_back(b);
  return sizes;
}

// Where the elements of one matrix lie in a tensor.
struct Matrix {
  int64_t base = 0;
  int64_t row = 0;
  int64_t col = 0;

  size_t at(int64_t r, int64_t c) const { return static_cast<size_t>(base + r * row + c * col); }
};

// The matrix number `place` of a tensor of `shape` that is stretched to `lead` and two more axes.
Matrix matrix_at(const Sizes& shape, const Sizes& lead, int64_t rows, int64_t cols, int64_t place) {
  Sizes strides = broadcast_strides(shape, with(lead, rows, cols));
  Matrix matrix{0, strides[lead.size()], strides[lead.size() + 1]};
  for (size_t axis = lead.size(); axis-- > 0;) {
    matrix.base += place % lead[axis] * strides[axis];
    place /= lead[axis];
  }
  return matrix;
}

// One place of the leading axes: everything that its scores depend on.
class Head {
 public:
  // `rows` is the shape of lse: [.., T].
  Head(const EvalArgs& args, const Sizes& rows, int64_t place)
      : lead(rows.begin(), rows.end() - 1), t(rows.back()), args_(args), place_(place) {
    const Sizes& keys = args.operand(1).shape;
    s = keys[keys.size() - 2];
    d = keys.back();
    e = args.operand(2).shape.back();
    q = matrix_of(0, t, d);
    k = matrix_of(1, s, d);
    v = matrix_of(2, s, e);
    out = matrix_at(with(lead, t, e), lead, t, e, place);
    std::vector<DType> dtypes;
    for (const Tensor* operand : args.operands) dtypes.push_back(operand->dtype);
    extras_ = *attention_extras(args.node.op, dtypes);
    if (extras_.bias) bias = matrix_of(*extras_.bias, t, s);
    if (extras_.mask) mask_ = matrix_of(*extras_.mask, t, s);
    if (!extras_.lengths) return;
    const Tensor& lengths = args.operand(*extras_.lengths);
    length_ = lengths.integers[matrix_at(with(lengths.shape, 1, 1), lead, 1, 1, place).at(0, 0)];
  }

  bool biased() const { return extras_.bias.has_value(); }
  double scale() const { return args_.node.attrs.real("scale"); }

  // Whether q, k and bias reach a score: not where the mask puts `fill`.
  bool computed(int64_t row, int64_t col) const {
    return !extras_.mask || args_.operand(*extras_.mask).integers[mask_.at(row, col)] != 0;
  }

  double score(int64_t row, int64_t col) const {
    if (!seen(row, col)) return kExcluded;
    if (!computed(row, col)) return args_.node.attrs.real("fill");
    double sum = 0;
    for (int64_t i = 0; i < d; ++i) {
      sum += args_.operand(0).reals[q.at(row, i)] * args_.operand(1).reals[k.at(col, i)];
    }
    sum *= scale();
    return biased() ? sum + args_.operand(*extras_.bias).reals[bias.at(row, col)] : sum;
  }

  std::vector<double> scores(int64_t row) const {
    std::vector<double> result;
    for (int64_t col = 0; col < s; ++col) result.push_back(score(row, col));
    return result;
  }

  // What dropout multiplies a row's weights with.
  std::vector<double> kept(int64_t row) const {
    double rate = args_.node.attrs.real("rate");
    std::vector<double> factors(static_cast<size_t>(s), 1);
    if (rate == 0) return factors;
    const Tensor& rng = args_.operand(*extras_.rng);
    RandomBits bits(static_cast<uint32_t>(rng.integers[0]), static_cast<uint32_t>(rng.integers[1]),
                    static_cast<uint32_t>(args_.node.attrs.integer("stream")));
    auto first = static_cast<uint64_t>((place_ * t + row) * s);
    for (size_t col = 0; col < factors.size(); ++col) {
      bool keeps = bits.word(first + col) >= rate * 4294967296.0;  // 2^32
      factors[col] = keeps ? 1 / (1 - rate) : 0;
    }
    return factors;
  }

  Sizes lead;
  int64_t t = 0;
  int64_t s = 0;
  int64_t d = 0;
  int64_t e = 0;
  Matrix q, k, v, out, bias;

 private:
  Matrix matrix_of(size_t operand, int64_t rows, int64_t cols) const {
    return matrix_at(args_.operand(operand).shape, lead, rows, cols, place_);
  }

  bool seen(int64_t row, int64_t col) const {
    int64_t ahead = col - (row + s - t);
    std::optional<int64_t> before = window_limit(args_.node.attrs, "before");
    std::optional<int64_t> after = window_limit(args_.node.attrs, "after");
    if ((before && ahead < -*before) || (after && ahead > *after)) return false;
    return !extras_.lengths || col < length_;
  }

  const EvalArgs& args_;
  int64_t place_;
  AttentionExtras extras_;
  Matrix mask_;
  int64_t length_ = 0;
};

// Calls fn(head, row, number of the row in all) for each row of scores.
template <class Fn>
void for_each_scores(const EvalArgs& args, const Sizes& rows, Fn fn) {
  if (element_count(rows) == 0) return;
  int64_t places = element_count(Sizes(rows.begin(), rows.end() - 1));
  for (int64_t place = 0; place < places; ++place) {
    Head head(args, rows, place);
    for (int64_t row = 0; row < head.t; ++row) {
      fn(head, row, static_cast<size_t>(place * head.t + row));
    }
  }
}

// The weights of a row before dropout, and the logarithm of its sum; zeros if nothing is left.
struct RowWeights {
  std::vector<double> weights;
  double lse = 0;
};

RowWeights row_weights(const Head& head, int64_t row) {
  RowWeights result{head.scores(row)};
  double largest = kExcluded;
  for (double score : result.weights) largest = nan_max(score, largest);
  double sum = 0;
  for (double& weight : result.weights) {
    weight = largest == kExcluded ? 0 : std::exp(weight - largest);
    sum += weight;
  }
  if (largest == kExcluded) return result;
  for (double& weight : result.weights) weight /= sum;
  result.lse = largest + std::log(sum);
  return result;
}

}  // namespace

EvalResult eval_attention(const EvalArgs& args) {
  Tensor out = args.make_result(0);
  Tensor lse = args.make_result(1);
  const std::vector<double>& v = args.operand(2).reals;
  for_each_scores(args, lse.shape, [&](const Head& head, int64_t row, size_t number) {
    RowWeights found = row_weights(head, row);
    std::vector<double> kept = head.kept(row);
    lse.reals[number] = found.lse;
    for (int64_t col = 0; col < head.s; ++col) {
      auto at = static_cast<size_t>(col);
      for (int64_t i = 0; i < head.e; ++i) {
        out.reals[head.out.at(row, i)] += found.weights[at] * kept[at] * v[head.v.at(col, i)];
      }
    }
  });
  return std::vector<Tensor>{std::move(out), std::move(lse)};
}

namespace {

// Adds what one score's weight contributes to the gradients dq, dk, dv and dbias.
void add_gradients(const EvalArgs& args, const Head& head, int64_t row, int64_t col, double weight,
                   double kept, double delta, std::vector<Tensor>& grads) {
  const std::vector<double>& d_out = args.operand(5).reals;
  double d_weight = 0;
  for (int64_t i = 0; i < head.e; ++i) {
    double flow = d_out[head.out.at(row, i)];
    d_weight += flow * args.operand(2).reals[head.v.at(col, i)];
    grads[2].reals[head.v.at(col, i)] += weight * kept * flow;
  }
  double d_score = weight * (d_weight * kept - delta);
  if (!head.computed(row, col)) return;
  for (int64_t i = 0; i < head.d; ++i) {
    size_t from_q = head.q.at(row, i);
    size_t from_k = head.k.at(col, i);
    grads[0].reals[from_q] += head.scale() * d_score * args.operand(1).reals[from_k];
    grads[1].reals[from_k] += head.scale() * d_score * args.operand(0).reals[from_q];
  }
  if (head.biased()) grads[3].reals[head.bias.at(row, col)] += d_score;
}

}  // namespace

EvalResult eval_attention_grad(const EvalArgs& args) {
  std::vector<Tensor> grads;
  for (size_t i = 0; i < 4; ++i) grads.push_back(args.make_result(i));
  for_each_scores(args, args.operand(3).shape, [&](const Head& head, int64_t row, size_t number) {
    std::vector<double> weights = row_weights(head, row).weights;
    std::vector<double> kept = head.kept(row);
    double delta = args.operand(4).reals[number];
    for (int64_t col = 0; col < head.s; ++col) {
      auto at = static_cast<size_t>(col);
      add_gradients(args, head, row, col, weights[at], kept[at], delta, grads);
    }
  });
  return grads;
}

}  // namespace weft
