// Regions of kind scan and top_k: results that follow each other along an axis.
// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "ir/support/check.h"
#include "passes/lower_kinds.h"

namespace weft::lowering {
namespace {

using tile::Extent;
using tile::Reduce;

constexpr int64_t kBlockRows = 64;  // of a scan: they go side by side

void trace_cumsum(Tracer& t, const Node& node) {
  const auto axis = static_cast<size_t>(node.attrs.integer("axis"));
  const Shape shape = t.region().shape(node.operands[0]);
  Coordinates at;
  for (size_t i = 0; i < shape.size(); ++i) {
    at.push_back(t.space().direction(shape[i], i == axis ? Role::position : Role::row));
  }
  if (node.attrs.boolean("reverse")) at[axis] = Index(shape[axis] - 1) - at[axis];
  std::vector<AxisId> rows;
  if (auto groups = t.space().groups(Role::row); !groups.empty()) {
    rows = add_axes(t, groups, "r", knob_for(t, "BR", kBlockRows, groups.back().dim));
  }
  add_to_grid(t, rows);
  const std::vector<AxisId> kept = tile_axes(t, rows);
  const std::vector<AxisId> positions =
      add_axes(t, t.space().groups(Role::position), "n", Extent::by(1));
  ValueId sum = t.b().constant(0, node.types[0].dtype);
  for (AxisId position : positions) sum = t.begin_loop(position, {{sum, kept, {}}})[0];
  const ValueId element = t.with_axes(t.at(node.operands[0], at), kept);
  const ValueId next = t.b().map(Op::add, {sum, element});
  t.store(0, at, node.attrs.boolean("exclusive") ? sum : next);
  ValueId result = next;
  for (size_t i = 0; i < positions.size(); ++i) result = t.end_loop({result})[0];
}

// The order of top_k: larger first, a NaN before every number, of equal ones the first.
struct Ranking {
  Tracer& t;
  bool real = true;

  ValueId same(ValueId a, ValueId b) {
    ValueId equal = t.b().map(Op::eq, {a, b});
    if (!real) return equal;
    return either(equal, t.b().map(Op::logical_and, {is_nan(a), is_nan(b)}));
  }
  ValueId smaller(ValueId a, ValueId b) {
    ValueId less = t.b().map(Op::lt, {a, b});
    if (!real) return less;
    ValueId number = t.b().map(Op::logical_not, {is_nan(a)});
    return either(less, t.b().map(Op::logical_and, {number, is_nan(b)}));
  }
  ValueId is_nan(ValueId a) { return t.b().map(Op::ne, {a, a}); }
  ValueId either(ValueId a, ValueId b) { return t.b().map(Op::logical_or, {a, b}); }
};

class TopK {
 public:
  TopK(Tracer& t, const Node& node) : t_(t), node_(node) {
    shape_ = t.region().shape(node.operands[0]);
    for (size_t i = 0; i + 1 < shape_.size(); ++i) {
      rows_at_.push_back(t.space().direction(shape_[i], Role::row));
    }
    column_ = t.space().direction(shape_.back(), Role::column, 0, false);
    rank_ = t.space().direction(Dim(node.attrs.integer("k")), Role::rank, 0, false);
  }

  void trace() {
    std::vector<AxisId> rows;
    if (auto groups = t_.space().groups(Role::row); !groups.empty()) {
      rows = add_axes(t_, groups, "r", knob_for(t_, "BR", 1, groups.back().dim));
    }
    add_to_grid(t_, rows);
    rows_ = tile_axes(t_, rows);
    columns_ = add_whole_axes(t_, t_.space().groups(Role::column), "c");
    const std::vector<AxisId> ranks =
        add_axes(t_, t_.space().groups(Role::rank), "k", Extent::by(1));
    Coordinates at = rows_at_;
    at.push_back(column_);
    std::vector<AxisId> axes = rows_;
    axes.insert(axes.end(), columns_.begin(), columns_.end());
    element_ = t_.with_axes(t_.at(node_.operands[0], at), axes);
    std::vector<ValueId> last = start();
    for (AxisId rank : ranks) {
      last = t_.begin_loop(rank, {{last[0], rows_, "last"}, {last[1], rows_, "place"}});
    }
    std::vector<ValueId> next = following(last[0], last[1]);
    store(next);
    for (size_t i = 0; i < ranks.size(); ++i) next = t_.end_loop(std::move(next));
  }

 private:
  DType dtype() const { return node_.types[0].dtype; }

  // What every element comes after.
  std::vector<ValueId> start() {
    const ValueId first = is_float(dtype())
                              ? t_.b().constant(std::numeric_limits<double>::quiet_NaN(), dtype())
                              : t_.b().integer(highest_integer(dtype()), dtype());
    return {first, t_.b().integer(-1, DType::i32)};
  }

  // The largest element that comes after `last` at `place`, and the first place where it is.
  std::vector<ValueId> following(ValueId last, ValueId place) {
    tile::Builder& b = t_.b();
    Ranking ranking{t_, is_float(dtype())};
    const ValueId column = b.coord(t_.real(column_), DType::i32);
    const ValueId beyond =
        b.map(Op::logical_and, {ranking.same(element_, last), b.map(Op::lt, {place, column})});
    const ValueId after = ranking.either(ranking.smaller(element_, last), beyond);
    const ValueId none = identity_of(t_, Reduce::max, dtype());
    const ValueId largest =
        t_.reduce_over(Reduce::max, b.map(Op::select, {after, element_, none}), columns_);
    const ValueId here = b.map(Op::logical_and, {after, ranking.same(element_, largest)});
    const ValueId nowhere = b.integer(INT32_MAX, DType::i32);
    const ValueId at =
        t_.reduce_over(Reduce::min, b.map(Op::select, {here, column, nowhere}), columns_);
    return {largest, at};
  }

  void store(const std::vector<ValueId>& next) {
    const std::vector<Output>& outputs = t_.region().body().outputs;
    Coordinates at = rows_at_;
    at.push_back(rank_);
    for (uint32_t i = 0; i < outputs.size(); ++i) t_.store(i, at, next[outputs[i].value.result]);
  }

  Tracer& t_;
  const Node& node_;
  Shape shape_;
  Coordinates rows_at_;
  Index column_;
  Index rank_;
  std::vector<AxisId> rows_;
  std::vector<AxisId> columns_;
  ValueId element_ = tile::kNone;
};

}  // namespace

TracedRegion lower_scan(const Region& region, const std::string& name) {
  const Node& node = region.body().node(region.body().outputs[0].value);
  WEFT_CHECK(node.op == Op::cumsum, "a scan region ends in cumsum");
  return {{trace_program(region, name, [&](Tracer& t) { trace_cumsum(t, node); })}, {}};
}

TracedRegion lower_top_k(const Region& region, const std::string& name) {
  const Node& node = region.body().node(region.body().outputs[0].value);
  WEFT_CHECK(node.op == Op::top_k, "a top_k region ends in top_k");
  return {{trace_program(region, name, [&](Tracer& t) { TopK(t, node).trace(); })}, {}};
}

}  // namespace weft::lowering
