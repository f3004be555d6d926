// SPDX-License-Identifier: Apache-2.0
#include "tests/support/attention_case.h"

#include <cmath>
#include <limits>
#include <random>

#include "ir/oracle/philox.h"
#include "ir/support/diagnostic.h"

namespace weft {

namespace {

using enum AttentionRole;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr uint32_t kSeed = 5, kStep = 3, kStream = 9;

double fill_of(const AttentionCase& what) { return what.fill == 0 ? -kInfinity : what.fill; }

// [batch, heads, group, rows, columns] of a tensor that lies as [batch, rows, heads, group,
// columns].
AttentionTensor heads_last(const AttentionCase& what, int64_t group, const Dim& rows,
                           int64_t columns) {
  const int64_t row = what.heads * group * columns;
  if (!what.rows_apart) return {{what.dtype, {what.batch, what.heads, group, rows, columns}}, {}};
  return {{what.dtype, {what.batch, what.heads, group, rows, columns}},
          {rows * Dim(row), group * columns, columns, row, 1}};
}

Shape bias_shape(const AttentionCase& what, const Dim& rows, const Dim& columns) {
  switch (what.bias) {
    case AttentionCase::Bias::by_head: return {1, what.heads, what.group, rows, columns};
    case AttentionCase::Bias::by_key: return {what.batch, 1, 1, 1, columns};
    default: return {what.batch, what.heads, what.group, rows, columns};
  }
}

// Elements of a tensor by [batch, head, member, row, column], repeated where its dim is 1.
struct View {
  std::vector<double>* reals = nullptr;
  std::vector<int64_t> strides = {};  // 0 where it repeats

  double& operator()(const std::array<int64_t, 5>& at) const {
    int64_t place = 0;
    for (size_t n = 0; n < strides.size(); ++n) place += at[n] * strides[n];
    return (*reals)[static_cast<size_t>(place)];
  }
};

View view(const AttentionCase& what, const AttentionTensor& described, Tensor& tensor) {
  View made{&tensor.reals, {}};
  const DimBinding sizes = what.sizes();
  const std::vector<Dim> strides =
      described.strides.empty() ? tile::row_major_strides(described.type.shape) : described.strides;
  for (size_t n = 0; n < strides.size(); ++n) {
    const bool repeats = described.type.shape[n].evaluate(sizes).value() == 1;
    made.strides.push_back(repeats ? 0 : strides[n].evaluate(sizes).value());
  }
  return made;
}

Tensor random_like(const AttentionCase& what, const Type& type, std::mt19937_64& random) {
  std::vector<int64_t> shape;
  for (const Dim& dim : type.shape) shape.push_back(dim.evaluate(what.sizes()).value());
  Tensor made = Tensor::zeros(type.dtype, shape);
  std::uniform_real_distribution<double> numbers(-1, 1);
  for (double& x : made.reals) x = round_to(type.dtype, numbers(random));
  for (int64_t& x : made.integers) x = random() % 4 != 0 ? 1 : 0;
  return made;
}

// One row of the scores at a time.
class Reference {
 public:
  Reference(const AttentionCase& what, AttentionTensors inputs)
      : what_(what), attention_(what.attention()), tensors_(std::move(inputs)) {
    for (AttentionRole role : {out, lse, delta, dq, dk, dv, dbias}) {
      if (role == dbias && !attention_.bias) continue;
      tensors_[role] = unwritten(what, role, {});
      for (double& x : tensors_[role].reals) x = 0;
    }
    query_ = view(what, attention_.q, tensors_[q]);
    key_ = view(what, attention_.k, tensors_[k]);
    value_ = view(what, attention_.v, tensors_[v]);
    given_ = view(what, attention_.d_out, tensors_[d_out]);
    result_ = view(what, attention_.out, tensors_[out]);
    d_query_ = view(what, attention_.dq, tensors_[dq]);
    d_key_ = view(what, attention_.dk, tensors_[dk]);
    d_value_ = view(what, attention_.dv, tensors_[dv]);
    if (!attention_.bias) return;
    bias_ = view(what, *attention_.bias, tensors_[bias]);
    d_bias_ = view(what, attention_.dbias, tensors_[dbias]);
  }

  AttentionTensors run() {
    for (int64_t n = 0; n < what_.batch * what_.heads * what_.group * what_.queries; ++n) {
      const int64_t lead = n / what_.queries;
      const int64_t head = lead / what_.group;
      row({head / what_.heads, head % what_.heads, lead % what_.group, n % what_.queries, 0}, n);
    }
    AttentionTensors results;
    for (AttentionRole role : {out, lse, delta, dq, dk, dv, dbias}) {
      if (tensors_.contains(role)) results[role] = tensors_[role];
    }
    return results;
  }

 private:
  using At = std::array<int64_t, 5>;

  static At moved(At at, int64_t row, int64_t column) {
    at[3] = row, at[4] = column;
    return at;
  }

  bool excluded(const At& at, int64_t column) {
    const int64_t ahead = column - (at[3] + what_.keys - what_.queries);
    if (what_.before && ahead < -*what_.before) return true;
    if (what_.after && ahead > *what_.after) return true;
    return what_.lengths && column >= tensors_[lengths].integers[static_cast<size_t>(at[0])];
  }
  bool masked(const At& at, int64_t column) {
    if (!what_.mask) return false;
    const int64_t place = (at[0] * what_.queries + at[3]) * what_.keys + column;
    return tensors_[mask].integers[static_cast<size_t>(place)] == 0;
  }
  double score(const At& at, int64_t column) {
    if (excluded(at, column)) return -kInfinity;
    if (masked(at, column)) return fill_of(what_);
    double sum = 0;
    for (int64_t c = 0; c < what_.depth; ++c) {
      sum += query_({moved(at, at[3], c)}) * key_(moved(at, column, c));
    }
    sum *= attention_.scale;
    return attention_.bias ? sum + bias_(moved(at, at[3], column)) : sum;
  }

  void row(const At& at, int64_t number) {
    std::vector<double> weights(static_cast<size_t>(what_.keys));
    double largest = -kInfinity;
    for (int64_t c = 0; c < what_.keys; ++c) {
      weights[static_cast<size_t>(c)] = score(at, c);
      largest = std::max(largest, weights[static_cast<size_t>(c)]);
    }
    if (largest == -kInfinity) return;
    double sum = 0;
    for (double& weight : weights) sum += weight = std::exp(weight - largest);
    for (double& weight : weights) weight /= sum;
    tensors_[lse].reals[static_cast<size_t>(number)] = largest + std::log(sum);
    products(at, number, weights);
  }

  void products(const At& at, int64_t number, const std::vector<double>& weights) {
    RandomBits bits(kSeed, kStep, kStream);
    std::vector<double> keep, d_weights;
    double delta_sum = 0;
    for (int64_t c = 0; c < what_.keys; ++c) {
      const auto element = static_cast<uint64_t>(number * what_.keys + c);
      const bool dropped = bits.word(element) < std::ldexp(what_.dropout, 32);
      keep.push_back(what_.dropout == 0 ? 1 : dropped ? 0 : 1 / (1 - what_.dropout));
      const double weight = weights[static_cast<size_t>(c)] * keep.back();
      double sum = 0;
      for (int64_t n = 0; n < what_.width; ++n) {
        const double d = given_(moved(at, at[3], n));
        result_(moved(at, at[3], n)) += weight * value_(moved(at, c, n));
        d_value_(moved(at, c, n)) += weight * d;
        sum += d * value_(moved(at, c, n));
      }
      d_weights.push_back(sum * keep.back());
      delta_sum += weights[static_cast<size_t>(c)] * d_weights.back();
    }
    tensors_[delta].reals[static_cast<size_t>(number)] = delta_sum;
    for (int64_t c = 0; c < what_.keys; ++c) {
      const auto n = static_cast<size_t>(c);
      if (!masked(at, c)) scores_gradient(at, c, weights[n] * (d_weights[n] - delta_sum));
    }
  }

  void scores_gradient(const At& at, int64_t column, double gradient) {
    for (int64_t n = 0; n < what_.depth; ++n) {
      d_query_(moved(at, at[3], n)) += attention_.scale * gradient * key_(moved(at, column, n));
      d_key_(moved(at, column, n)) += attention_.scale * gradient * query_(moved(at, at[3], n));
    }
    if (attention_.bias) d_bias_(moved(at, at[3], column)) += gradient;
  }

  const AttentionCase& what_;
  const Attention attention_;
  AttentionTensors tensors_;
  View query_, key_, value_, bias_, given_, result_;
  View d_query_, d_key_, d_value_, d_bias_;
};

}  // namespace

std::string AttentionCase::str() const {
  std::string text = cat("batch ", batch, " heads ", heads, "x", group, " queries ", queries,
                         " keys ", keys, " depth ", depth, " width ", width);
  if (before) text += cat(" before ", *before);
  if (after) text += cat(" after ", *after);
  if (lengths) text += " lengths";
  if (mask) text += cat(" mask ", fill);
  if (bias != Bias::none) text += cat(" bias ", static_cast<int>(bias));
  if (dropout != 0) text += cat(" dropout ", dropout);
  if (!rows_apart) text += " heads first";
  if (symbolic) text += " symbolic";
  return text + cat(" ", name(dtype));
}

DimBinding AttentionCase::sizes() const {
  if (!symbolic) return {};
  return {{"T", queries}, {"S", keys}};
}

Attention AttentionCase::attention() const {
  const Dim rows = symbolic ? Dim::symbol("T") : Dim(queries);
  const Dim columns = symbolic ? Dim::symbol("S") : Dim(keys);
  Attention made;
  made.lead = {batch, heads, group};
  made.queries = rows, made.keys = columns, made.depth = depth, made.width = width;
  made.scale = 1 / std::sqrt(static_cast<double>(depth));
  made.q = made.dq = heads_last(*this, group, rows, depth);
  made.k = made.dk = heads_last(*this, 1, columns, depth);
  made.v = made.dv = heads_last(*this, 1, columns, width);
  made.out = made.d_out = heads_last(*this, group, rows, width);
  if (bias != Bias::none) made.bias = made.dbias = {{dtype, bias_shape(*this, rows, columns)}, {}};
  if (mask) made.mask = {{DType::boolean, {batch, 1, 1, rows, columns}}, {}};
  made.fill = fill_of(*this);
  if (lengths) made.lengths = {{DType::i32, {batch, 1, 1}}, {}};
  if (before) made.before = *before;
  if (after) made.after = *after;
  made.dropout = dropout;
  made.stream = kStream;
  return made;
}

AttentionTensors attention_inputs(const AttentionCase& what, uint64_t seed) {
  std::mt19937_64 random(seed);
  const Attention attention = what.attention();
  AttentionTensors made;
  made[q] = random_like(what, attention.q.type, random);
  made[k] = random_like(what, attention.k.type, random);
  made[v] = random_like(what, attention.v.type, random);
  made[d_out] = random_like(what, attention.d_out.type, random);
  if (attention.bias) made[bias] = random_like(what, attention.bias->type, random);
  if (attention.mask) made[mask] = random_like(what, attention.mask->type, random);
  if (attention.lengths) {
    made[lengths] = random_like(what, attention.lengths->type, random);
    for (int64_t& length : made[lengths].integers) {
      length = static_cast<int64_t>(random() % static_cast<uint64_t>(what.keys + 1));
    }
  }
  made[rng] = Tensor::zeros(DType::u32, {2});
  made[rng].integers = {kSeed, kStep};
  return made;
}

AttentionTensors expected_attention(const AttentionCase& what, const AttentionTensors& inputs) {
  return Reference(what, inputs).run();
}

Tensor unwritten(const AttentionCase& what, AttentionRole role, const AttentionKnobs& knobs) {
  const Type type = attention_type(what.attention(), role, knobs);
  std::vector<int64_t> shape;
  for (const Dim& dim : type.shape) shape.push_back(dim.evaluate(what.sizes()).value());
  Tensor made = Tensor::zeros(type.dtype, shape);
  for (double& x : made.reals) x = std::nan("");
  return made;
}

double largest_difference(const Tensor& actual, const Tensor& expected) {
  double largest = 0, scale = 1;
  for (size_t n = 0; n < expected.reals.size(); ++n) {
    const double difference = std::abs(actual.reals[n] - expected.reals[n]);
    if (!(difference < kInfinity)) return kInfinity;
    largest = std::max(largest, difference);
    scale = std::max(scale, std::abs(expected.reals[n]));
  }
  return largest / scale;
}

}  // namespace weft
