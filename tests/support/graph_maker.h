// GraphMaker: a random graph under construction, and the values that its next node may use.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "ir/graph/module.h"
#include "tests/support/random_graph.h"

namespace weft {

// What is known of a value's elements.
struct Fact {
  double bound = 1;          // none is larger in magnitude
  bool exact = true;         // no other order of computation changes a bit of it
  std::optional<Dim> below;  // integers in [0, below)
};

// Operands are bounded by this unless their user asks for less.
inline constexpr double kAnyBound = 30;

// Ops append through a maker, which keeps numbers moderate: operands whose elements could be large
// go through something that bounds them first.
class GraphMaker {
 public:
  GraphMaker(Module& module, Graph& graph, uint64_t seed, const RandomOptions& options);

  // Chance. Not std::uniform_*_distribution, which differs between libraries.
  int64_t below(int64_t limit) {
    return static_cast<int64_t>(random_() % static_cast<uint64_t>(limit));
  }
  int64_t between(int64_t low, int64_t high) { return low + below(high - low + 1); }
  double unit() { return static_cast<double>(random_() >> 11) * 0x1p-53; }
  bool chance(double probability) { return unit() < probability; }
  template <class T>
  T one_of(const std::vector<T>& choices) {
    return choices[static_cast<size_t>(below(static_cast<int64_t>(choices.size())))];
  }

  // Sizes. A size of the graph lies between its low and its high one, whatever random_sizes gives.
  int64_t low(const Dim& dim) const;
  int64_t high(const Dim& dim) const;
  int64_t high_count(const Shape& shape) const;
  Dim random_dim();
  Shape random_shape(size_t min_rank, size_t max_rank);
  // The first with the probability, unless one of them is not to be used.
  DType either(double probability, DType one, DType other);
  DType random_dtype(DTypeSet set);
  int64_t random_axis(Value value) { return below(static_cast<int64_t>(shape(value).size())); }

  const Type& type(Value value) const { return graph_.type(value); }
  const Shape& shape(Value value) const { return graph_.type(value).shape; }
  DType dtype(Value value) const { return graph_.type(value).dtype; }
  bool is_real(Value value) const { return is_float(dtype(value)); }
  double bound(Value value) const { return facts_.at(value).bound; }
  Fact& fact(Value value) { return facts_.at(value); }
  const DimFacts& dims() const { return module_.dims; }
  const Graph& graph() const { return graph_; }
  int op_count() const { return op_count_; }

  // Appends a node; its results may be used by those that follow. Without a bound it is that of the
  // operands (or of the element type, for integers that are computed).
  Value emit(Op op, std::vector<Value> operands, Attrs attrs = {},
             std::optional<double> bound = {});
  // The same for results that nobody may differentiate: in a graph with a loss they end here.
  Value emit_final(Op op, std::vector<Value> operands, Attrs attrs);
  // The same for a node with a body, none of which has a gradient.
  Value emit_body(Op op, std::vector<Value> operands, Attrs attrs, Graph body, double bound);
  // The same for a value that only its maker may use, such as one with infinities.
  Value emit_private(Op op, std::vector<Value> operands, Attrs attrs = {});

  // Types and sizes are taken by value: they are often those of a node, which the next one moves.

  // Leaves.
  Value leaf(Type type);
  Value input(Type type, double bound);
  Value private_input(Type type, double bound);  // only its maker may use it
  Value storage(Storage::Kind kind, Type type, Init init, double bound);  // of fixed size
  Value scalar(double value, DType dtype);
  Value full(double value, Type type);

  // Values to compute with: some that are there, made to fit, or new leaves.
  Value any(DTypeSet set, size_t min_rank = 0, double max_bound = kAnyBound);
  // Makes `any` return the newest value next, if it fits: chains of equal ops are what rules join.
  void follow() { follow_ = true; }
  Value of_type(Type type);                    // of exactly this type
  Value partner(Value value);                  // broadcasts with it, of the same element type
  Value fitting(Shape shape, DType dtype);     // broadcasts with the shape
  std::pair<Value, Value> pair(DTypeSet set);  // the two operands of an elementwise op
  // Indices into an axis of this size, as i32 or i64.
  Value indices(Dim size, std::optional<Shape> shape = {});

  // Operands that a function asks for. All but `small` leave what already fits as it is.
  Value tame(Value value, double max_bound);  // |x| <= max_bound
  Value small(Value value);                   // integers that no float type rounds
  Value positive(Value value);                // x >= 0.36
  // For a function with a step or a kink: off the special numbers (0, 1, ..) that computed values
  // hit up to a rounding error.
  Value off_edges(Value value);

  // What the graph stores and returns at the end.
  void add_update(const std::string& target, Value value);
  void finish();

 private:
  void keep(Value value);
  Fact fact_of(const Node& node, std::optional<double> bound) const;
  void decorate(Node& node);
  Value append(Op op, std::vector<Value> operands, Attrs attrs, std::optional<double> bound,
               std::shared_ptr<const Graph> body = nullptr);
  Value real_leaf(Type type);
  Value constant_of(Type type);
  std::optional<Value> find(const std::vector<Value>& choices);
  std::optional<Value> adapt(Type type);
  std::optional<Value> known_indices(const Dim& size, const std::optional<Shape>& shape);
  void add_states();
  void add_loss();
  void add_outputs();

  Module& module_;
  Graph& graph_;
  std::mt19937_64 random_;
  bool loss_;
  DTypeSet without_;
  bool follow_ = false;
  std::vector<Dim> vocabulary_;  // dims that leaves are made of
  std::map<Value, Fact> facts_;
  std::vector<Value> pool_;
  int op_count_ = 0;
  int inputs_ = 0;
  int storages_ = 0;
};

// One function per row of the op table: appends that op, with operands and attributes that fit.
#define OP(name, ...) void make_##name(GraphMaker& m);
#include "ir/graph/ops.def"
#undef OP

}  // namespace weft
