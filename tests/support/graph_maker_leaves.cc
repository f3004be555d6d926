// What a random graph begins with: sizes, inputs, parameters, constants, and values made to fit.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "ir/support/check.h"
#include "tests/support/graph_maker.h"
#include "tests/support/random_graph.h"

namespace weft {
namespace {

struct SizeRange {
  const char* symbol;
  int64_t low;
  int64_t high;
};
// S exists in modules that assert S == T.
constexpr SizeRange kSymbols[] = {{"B", 1, 4}, {"T", 2, 6}, {"S", 2, 6}};
constexpr int64_t kConstantSizes[] = {1, 2, 3, 5, 8};

constexpr double kBell = 6;  // no sample of an input or initial value is larger

DimBinding extreme_sizes(bool high) {
  DimBinding sizes;
  for (const SizeRange& range : kSymbols) sizes[range.symbol] = high ? range.high : range.low;
  return sizes;
}

int64_t evaluated(const Dim& dim, bool high) {
  std::optional<int64_t> size = dim.evaluate(extreme_sizes(high));
  WEFT_CHECK(size.has_value(), "a dim of a random graph has a size: " + dim.str());
  return *size;
}

}  // namespace

DimBinding random_sizes(const Module& module, uint64_t seed) {
  std::mt19937_64 random(seed);
  DimBinding sizes;
  for (const SizeRange& range : kSymbols) {
    auto count = static_cast<uint64_t>(range.high - range.low + 1);
    sizes[range.symbol] = range.low + static_cast<int64_t>(random() % count);
  }
  if (module.dims.equalities().empty()) {
    sizes.erase("S");
  } else {
    sizes["S"] = sizes["T"];
  }
  return sizes;
}

std::vector<DimBinding> empty_sizes(const Module& module, uint64_t seed) {
  std::vector<DimBinding> all;
  for (const char* symbol : {"B", "T"}) {
    if (module.dims.bounds_of(Dim::symbol(symbol)).low > 0) continue;
    DimBinding sizes = random_sizes(module, seed);
    sizes[symbol] = 0;
    if (sizes.contains("S")) sizes["S"] = sizes["T"];
    all.push_back(std::move(sizes));
  }
  return all;
}

GraphMaker::GraphMaker(Module& module, Graph& graph, uint64_t seed, const RandomOptions& options)
    : module_(module),
      graph_(graph),
      random_(seed),
      loss_(options.loss),
      without_(options.without) {
  // Some modules leave sizes open: 0 is then possible as far as passes know.
  bool bounded = chance(0.75);
  vocabulary_ = {Dim::symbol("B"), Dim::symbol("T"), Dim::symbol("T")};
  if (chance(0.15)) {
    module_.dims.assert_equal(Dim::symbol("S"), Dim::symbol("T"));
    vocabulary_.push_back(Dim::symbol("S"));
  }
  for (const SizeRange& range : kSymbols) {
    bool used = std::ranges::find(vocabulary_, Dim::symbol(range.symbol)) != vocabulary_.end();
    if (used && bounded) module_.dims.bounds[range.symbol] = {range.low, between(range.high, 64)};
  }
  // Few sizes in each graph, so that shapes meet.
  for (int i = 0; i < 3; ++i) {
    vocabulary_.emplace_back(kConstantSizes[static_cast<size_t>(below(std::size(kConstantSizes)))]);
  }
  const DType trained = random_dtype(set_of(DType::f32) | set_of(DType::f64));
  Shape shape = random_shape(1, 2);
  shape.insert(shape.begin(), vocabulary_[static_cast<size_t>(below(2))]);
  input({DType::f32, shape}, kBell);
  storage(Storage::param, {trained, {Dim(between(2, 3)), Dim(between(2, 5))}}, {Init::normal, 1.0},
          kBell);
}

int64_t GraphMaker::low(const Dim& dim) const { return evaluated(dim, false); }
int64_t GraphMaker::high(const Dim& dim) const { return evaluated(dim, true); }

int64_t GraphMaker::high_count(const Shape& shape) const {
  int64_t count = 1;
  for (const Dim& dim : shape) count *= high(dim);
  return count;
}

Dim GraphMaker::random_dim() { return one_of(vocabulary_); }

Shape GraphMaker::random_shape(size_t min_rank, size_t max_rank) {
  auto rank = between(static_cast<int64_t>(min_rank), static_cast<int64_t>(max_rank));
  Shape shape;
  for (int64_t i = 0; i < rank; ++i) shape.push_back(random_dim());
  // What is too large to be used again would be of no use.
  for (Dim& dim : shape) {
    if (high_count(shape) > 200) dim = between(1, 2);
  }
  return shape;
}

DType GraphMaker::random_dtype(DTypeSet set) {
  static const std::vector<DType> kWeighted = {
      DType::f32, DType::f32, DType::f32, DType::f32, DType::f32,  DType::f32,
      DType::f64, DType::f64, DType::f64, DType::f16, DType::bf16, DType::i8,
      DType::u8,  DType::i32, DType::i32, DType::u32, DType::i64,  DType::boolean};
  std::vector<DType> choices;
  for (DType dtype : kWeighted) {
    if (contains(set & ~without_, dtype)) choices.push_back(dtype);
  }
  return one_of(choices);
}

DType GraphMaker::either(double probability, DType one, DType other) {
  const bool first = chance(probability);
  if (contains(without_, one)) return other;
  return first || contains(without_, other) ? one : other;
}

Value GraphMaker::private_input(Type type, double bound) {
  Value value = graph_.add_input(cat("x", inputs_++), type);
  facts_[value] = {bound, true, {}};
  return value;
}

Value GraphMaker::input(Type type, double bound) {
  Value value = private_input(type, bound);
  keep(value);
  return value;
}

Value GraphMaker::storage(Storage::Kind kind, Type type, Init init, double bound) {
  std::string name = cat(kind == Storage::param ? "w" : "state", storages_++);
  module_.storage.push_back({kind, name, type, init});
  Value value = graph_.read_param(name, type);
  facts_[value] = {bound, true, {}};
  keep(value);
  return value;
}

Value GraphMaker::full(double value, Type type) {
  Numbers numbers;
  if (is_float(type.dtype)) {
    numbers.values = std::vector<double>{value};
  } else {
    numbers.values = std::vector<int64_t>{static_cast<int64_t>(value)};
  }
  double bound = std::isfinite(value) ? std::abs(value) : 0;  // see emit_private
  return append(Op::constant, {},
                {{"value", numbers}, {"dtype", type.dtype}, {"shape", type.shape}}, bound);
}

Value GraphMaker::scalar(double value, DType dtype) { return full(value, {dtype, {}}); }

Value GraphMaker::constant_of(Type type) {
  // Mostly the numbers that rules look for.
  static const std::vector<double> kReals = {0, 1, -1, 0.5, 2, 2, 1, 0, 0.7, -1.3, 3};
  static const std::vector<double> kIntegers = {0, 1, 2, 3, 5, 1, 0};
  auto number = [&] {
    if (type.dtype == DType::boolean) return static_cast<double>(below(2));
    return one_of(is_float(type.dtype) ? kReals : kIntegers);
  };
  const Dim count = element_count(type.shape);
  bool listed = count.is_constant() && count.constant() <= 24 && chance(0.6);
  if (!listed) return full(number(), type);
  Numbers numbers;
  std::vector<double> values(static_cast<size_t>(count.constant()));
  std::ranges::generate(values, number);
  if (is_float(type.dtype)) {
    numbers.values = values;
  } else {
    numbers.values = std::vector<int64_t>(values.begin(), values.end());
  }
  Value value = append(Op::constant, {},
                       {{"value", numbers}, {"dtype", type.dtype}, {"shape", type.shape}}, 5);
  keep(value);
  return value;
}

Value GraphMaker::real_leaf(Type type) {
  bool fixed = element_count(type.shape).is_constant();
  if (!fixed || chance(0.4)) return input(type, kBell);
  static const std::vector<Init> kInits = {
      {Init::normal, 1.0},   {Init::uniform, 2.0}, {Init::normal, 0.5}, {Init::xavier_uniform, 0},
      {Init::constant, 0.5}, {Init::ones, 0},      {Init::zeros, 0}};
  bool state = chance(0.25);
  return storage(state ? Storage::state : Storage::param, type, one_of(kInits), kBell);
}

Value GraphMaker::leaf(Type type) {
  if (chance(0.2)) return constant_of(type);
  if (is_float(type.dtype)) return real_leaf(type);
  bool counts = is_integer(type.dtype) && !type.shape.empty() && chance(0.3);
  if (!counts) return input(type, type.dtype == DType::boolean ? 1 : 8);
  auto axis = below(static_cast<int64_t>(type.shape.size()));
  const Dim size = type.shape[static_cast<size_t>(axis)];
  Value value = emit(Op::iota, {}, {{"shape", type.shape}, {"axis", axis}, {"dtype", type.dtype}},
                     static_cast<double>(high(size)));
  fact(value).below = size;
  return value;
}

Value GraphMaker::tame(Value value, double max_bound) {
  if (!is_real(value) || bound(value) <= max_bound) return value;
  const DType type = dtype(value);
  int64_t way = below(max_bound >= 1 ? 4 : 1);
  if (way == 1) return emit(Op::tanh, {value}, {}, 1);
  if (way == 2) return emit(Op::sigmoid, {value}, {}, 1);
  if (way == 3) {
    // Not a round number: nothing computed lies on the limit.
    double limit = max_bound * (0.8 + 0.15 * unit());
    return emit(Op::clamp, {value}, {{"min", -limit}, {"max", limit}}, limit);
  }
  // A power of two, which rounds nothing.
  double factor = std::exp2(std::floor(std::log2(max_bound / bound(value))));
  return emit(Op::mul, {value, scalar(factor, type)}, {}, bound(value) * factor);
}

Value GraphMaker::small(Value value) {
  if (bound(value) <= 100) return value;
  double modulus = static_cast<double>(between(2, 9));
  return emit(Op::mod, {value, scalar(modulus, dtype(value))}, {}, modulus);
}

Value GraphMaker::positive(Value value) {
  value = tame(value, 4);
  const DType type = dtype(value);
  auto plus = [&](Value part, double offset) {
    return emit(Op::add, {part, scalar(offset, type)}, {}, bound(part) + offset);
  };
  switch (below(5)) {
    case 0: return plus(emit(Op::softplus, {value}, {}, bound(value) + 1), 0.5);
    case 1: return plus(emit(Op::abs, {off_edges(value)}), 1);
    case 2: return plus(emit(Op::mul, {value, value}, {}, bound(value) * bound(value)), 0.5);
    case 3: return plus(emit(Op::sigmoid, {value}, {}, 1), 0.5);
    default: return emit(Op::exp, {emit(Op::tanh, {value}, {}, 1)}, {}, std::exp(1.0));
  }
}

Value GraphMaker::off_edges(Value value) {
  if (!is_real(value) || fact(value).exact) return value;
  double offset = (chance(0.5) ? 1 : -1) * (0.1 + 0.8 * unit());
  return emit(Op::add, {value, scalar(offset, dtype(value))}, {}, bound(value) + 1);
}

std::optional<Value> GraphMaker::known_indices(const Dim& size,
                                               const std::optional<Shape>& wanted) {
  std::vector<Value> choices;
  for (Value value : pool_) {
    const std::optional<Dim>& limit = fact(value).below;
    if (!limit || !contains(kIndex, dtype(value))) continue;
    if (wanted && !same_shape(shape(value), *wanted, dims())) continue;
    bool inside =
        dims().equal(*limit, size) || (limit->is_constant() && limit->constant() <= low(size));
    if (inside && high_count(shape(value)) <= 12) choices.push_back(value);
  }
  return find(choices);
}

Value GraphMaker::indices(Dim size, std::optional<Shape> wanted) {
  if (std::optional<Value> known = known_indices(size, wanted); known && chance(0.7)) return *known;
  Type type{either(0.7, DType::i32, DType::i64), wanted ? *wanted : random_shape(0, 1)};
  if (size.is_constant() && chance(0.3)) {
    // Any integers, brought into range. A mask or a count may come from far away.
    Value number = of_type(type);
    Value limit = scalar(static_cast<double>(size.constant()), type.dtype);
    Value value = emit(Op::mod, {number, limit}, {}, static_cast<double>(size.constant()));
    fact(value).below = size;
    return value;
  }
  if (chance(0.15)) {
    Value value = full(static_cast<double>(below(low(size))), type);
    return value;
  }
  Value value = input(type, static_cast<double>(high(size)));  // sampled in the range of its use
  fact(value).below = size;
  return value;
}

}  // namespace weft
