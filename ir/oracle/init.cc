// Initial values of parameters and state.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <numbers>
#include <set>

#include "ir/oracle/elements.h"
#include "ir/oracle/oracle.h"
#include "ir/oracle/philox.h"
#include "ir/oracle/sizes.h"
#include "ir/support/hash.h"

namespace weft {
namespace {

uint32_t low(uint64_t x) { return static_cast<uint32_t>(x); }
uint32_t high(uint64_t x) { return static_cast<uint32_t>(x >> 32); }

// 53 random bits in [0, 1).
double unit_interval(uint32_t a, uint32_t b) {
  return static_cast<double>(((uint64_t{a} << 32) | b) >> 11) * 0x1p-53;
}

// A part of a storage's elements, from `first` on, and what random ones are a function of.
struct Part {
  Tensor& tensor;
  int64_t first;
  const std::string& name;
  uint64_t seed;
};

// Fills with pairs of random numbers: fn(u, v) -> two elements, of u and v in [0, 1).
// Each pair is a function of the seed, the name and its place, whatever else a module holds.
template <class Fn>
void fill_random(const Part& part, Fn fn) {
  Tensor& tensor = part.tensor;
  uint64_t hash = stable_hash(part.name);
  for (int64_t i = 0; i < tensor.size(); i += 2) {
    auto pair = static_cast<uint64_t>((part.first + i) / 2);
    PhiloxCounter bits =
        philox({low(pair), high(pair), low(hash), high(hash)}, {low(part.seed), high(part.seed)});
    auto [first, second] = fn(unit_interval(bits[0], bits[1]), unit_interval(bits[2], bits[3]));
    tensor.set(i, round_to(tensor.dtype, first));
    if (i + 1 < tensor.size()) tensor.set(i + 1, round_to(tensor.dtype, second));
  }
}

void fill_uniform(const Part& part, double limit) {
  fill_random(part, [&](double u, double v) {
    return std::pair(limit * (2 * u - 1), limit * (2 * v - 1));
  });
}

// Box and Muller: "A note on the generation of random normal deviates" (1958).
void fill_normal(const Part& part, double deviation) {
  fill_random(part, [&](double u, double v) {
    double radius = deviation * std::sqrt(-2 * std::log(1 - u));
    double angle = 2 * std::numbers::pi * v;
    return std::pair(radius * std::cos(angle), radius * std::sin(angle));
  });
}

void fill_constant(Tensor& tensor, double value) {
  for (int64_t i = 0; i < tensor.size(); ++i) tensor.set(i, round_to(tensor.dtype, value));
}

double xavier_limit(const Sizes& shape) {
  double fan_in = 1;
  double fan_out = shape.empty() ? 1 : static_cast<double>(shape.back());
  for (size_t axis = 0; axis + 1 < shape.size(); ++axis) fan_in *= static_cast<double>(shape[axis]);
  return std::sqrt(6 / (fan_in + fan_out));
}

}  // namespace

Tensor initial_elements(const Storage& storage, const Sizes& shape, uint64_t seed, int64_t first,
                        int64_t count) {
  WEFT_CHECK(first % 2 == 0, "random numbers come in pairs");
  Tensor tensor = Tensor::zeros(storage.type.dtype, {count});
  Part part{tensor, first, storage.name, seed};
  switch (storage.init.kind) {
    case Init::zeros: break;
    case Init::ones: fill_constant(tensor, 1); break;
    case Init::constant: fill_constant(tensor, storage.init.value); break;
    case Init::uniform: fill_uniform(part, storage.init.value); break;
    case Init::normal: fill_normal(part, storage.init.value); break;
    case Init::xavier_uniform: fill_uniform(part, xavier_limit(shape)); break;
  }
  return tensor;
}

Result<Tensor> initial_value(const Storage& storage, uint64_t seed, const DimBinding& dims,
                             int64_t live) {
  std::string what = "@" + storage.name;
  WEFT_TRY(Sizes shape, concrete_shape(storage.type, dims, storage.loc, what));
  WEFT_TRY([[maybe_unused]] int64_t bytes, check_room(shape, live, storage.loc, what));
  Tensor tensor = initial_elements(storage, shape, seed, 0, element_count(shape));
  tensor.shape = std::move(shape);
  return tensor;
}

Result<TensorMap> initial_values(const Module& module, const Graph* graph, uint64_t seed,
                                 const DimBinding& dims) {
  std::set<std::string> read;
  if (graph != nullptr) {
    for (const Node& node : graph->nodes()) {
      if (node.op == Op::param) read.insert(node.attrs.text("name"));
    }
  }
  TensorMap values;
  int64_t live = 0;
  for (const Storage& storage : module.storage) {
    if (graph != nullptr && !read.contains(storage.name)) continue;
    WEFT_TRY(Tensor value, initial_value(storage, seed, dims, live));
    live += value.size() * kElementBytes;
    values.insert_or_assign(storage.name, std::move(value));
  }
  return values;
}

}  // namespace weft
