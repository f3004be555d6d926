// Regions of kind matmul: products with what comes before and after them.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/support/check.h"
#include "passes/lower_kinds.h"
#include "passes/lower_matmul_jobs.h"

namespace weft::lowering {
namespace {

using tile::Extent;

constexpr int64_t kBlockM = 48;
constexpr int64_t kBlockN = 256;
constexpr int64_t kBlockK = 512;
// A product with fewer tiles than this leaves threads idle: its programs add up parts of k instead,
// if there is enough of it.
constexpr int64_t kFewTiles = 16;
constexpr int64_t kLongSum = 2 * kBlockK;

// Blocks of one size, as far as whole steps allow. An even number of them where there are few, so
// that two threads have equal shares even if there is but one block of rows.
int64_t block_of_columns(const Dim& rows, const Dim& columns) {
  constexpr int64_t kFewRows = 48;
  constexpr int64_t kFewBlocks = 4;
  if (!columns.is_constant()) return kBlockN;
  const bool few_rows = rows.is_constant() && rows.constant() <= kFewRows;
  const int64_t step = few_rows ? 32 : 64;
  int64_t blocks = std::max<int64_t>(1, (columns.constant() + kBlockN - 1) / kBlockN);
  if (few_rows || (blocks > 1 && blocks <= kFewBlocks)) blocks += blocks % 2;
  const int64_t even = (columns.constant() + blocks - 1) / blocks;
  return std::clamp<int64_t>((even + step - 1) / step * step, step, kBlockN);
}

class Matmul {
 public:
  Matmul(Tracer& t, const MatmulJob& job) : t_(t), job_(job), body_(t.region().body()) {
    shape_ = t.region().shape(job.chains[0].sum);
    for (size_t i = 0; i < shape_.size(); ++i) {
      const bool batch = i + 2 < shape_.size();
      const Role role = batch ? Role::batch : i + 2 == shape_.size() ? Role::left : Role::right;
      at_.push_back(t.space().direction(shape_[i], role));
      if (batch) batches_ = t.space().direction_count();
    }
    for (const MatmulChain& chain : job.chains) {
      for (uint32_t matmul : chain.matmuls) add_inner(matmul);
    }
  }

  void trace() {
    for (uint32_t result : job_.results) find_column(result);
    add_all_axes();
    if (splits_) {
      add_up_parts();
      return;
    }
    for (ColumnReduction& column : columns_) column.kept = tile_axes(t_, right_);
    std::vector<ValueId> carried;
    for (AxisId axis : looped_) {
      std::vector<tile::Carry> carries = begin_columns(t_, columns_);
      for (size_t i = 0; i < carried.size(); ++i) carries[i].init = carried[i];
      carried = t_.begin_loop(axis, std::move(carries));
    }
    for (const MatmulChain& chain : job_.chains) t_.give(chain.sum, accumulate(chain));
    store_results();
    std::vector<AxisId> rows = batch_;
    rows.insert(rows.end(), left_.begin(), left_.end());
    std::vector<ValueId> sums = add_columns(t_, columns_, carried, rows);
    for (size_t i = 0; i < looped_.size(); ++i) sums = t_.end_loop(std::move(sums));
    finish_columns(sums, rows);
    decide_roles();
  }

 private:
  struct Inner {
    uint32_t matmul = 0;
    Dim depth;
    Index at;
    std::vector<AxisId> axes;
  };

  // Sums of the same length walk one direction.
  void add_inner(uint32_t matmul) {
    const Dim depth = t_.region().shape(body_[matmul].operands[0]).back();
    auto known = std::ranges::find(inner_, depth, &Inner::depth);
    Index at = known != inner_.end()
                   ? known->at
                   : t_.space().direction(depth, Role::inner, static_cast<uint32_t>(inner_.size()));
    inner_.push_back({matmul, depth, std::move(at), {}});
  }

  void find_column(uint32_t result) {
    const Value value = body_.outputs[result].value;
    const Value base = without_views(t_.region(), value);
    const Node& node = body_.node(base);
    if (!info(node.op).has(kReduction)) return;
    ColumnReduction column;
    column.result = result;
    column.node = &node;
    column.in = coordinates(t_.region().shape(node.operands[0]));
    column.out = after_views(t_, value, after_reduction(node, column.in));
    columns_.push_back(std::move(column));
  }

  Coordinates coordinates(const Shape& shape) const {
    WEFT_CHECK(shape == shape_,
               "what follows a matmul has its shape: " + str(shape) + " after " + str(shape_));
    return at_;
  }

  void add_all_axes() {
    const std::vector<Space::Group> left = t_.space().groups(Role::left);
    const std::vector<Space::Group> right = t_.space().groups(Role::right);
    batch_ = add_axes(t_, t_.space().groups(Role::batch), "b", Extent::by(1));
    splits_ = can_split(left, right);
    if (!left.empty()) {
      // Sums down the columns are added up tile by tile.
      const auto kind = columns_.empty() ? tile::Knob::free : tile::Knob::order;
      left_ = add_axes(t_, left, "m", knob_for(t_, "BM", kBlockM, left.back().dim, kind));
    }
    if (!right.empty()) {
      const Dim columns = right.back().dim;
      const int64_t block = block_of_columns(left.empty() ? Dim(1) : left.back().dim, columns);
      right_ = add_axes(t_, right, "n", knob_for(t_, "BN", block, columns));
    }
    for (uint32_t part = 0; part < inner_.size(); ++part) {
      auto known = std::ranges::find(inner_, inner_[part].depth, &Inner::depth);
      if (known - inner_.begin() < part) {
        inner_[part].axes = known->axes;
        continue;
      }
      const std::string number = part == 0 ? "" : std::to_string(part);
      const std::vector<Space::Group> inner = t_.space().groups(Role::inner, part);
      if (inner.empty()) continue;
      if (splits_) {
        const Extent whole = knob_for(t_, "BK", kBlockK, inner[0].dim, tile::Knob::order);
        inner_[part].axes = {add_axis(t_, inner[0], "k", whole, whole)};
        add_to_grid(t_, inner_[part].axes);
        continue;
      }
      const Extent depth = knob_for(t_, "BK" + number, kBlockK, inner.back().dim);
      inner_[part].axes = add_axes(t_, inner, "k" + number, depth);
    }
    std::vector<AxisId> rows = batch_;
    rows.insert(rows.end(), left_.begin(), left_.end());
    if (!columns_.empty() && !rows.empty()) {
      // Partial sums cross programs along one axis; the programs walk the others.
      looped_.assign(rows.begin(), rows.end() - 1);
      add_to_grid(t_, right_);
      add_to_grid(t_, {rows.back()});
    } else {
      add_to_grid(t_, batch_);
      add_to_grid(t_, right_);
      add_to_grid(t_, left_);
    }
  }

  // Weight gradients: a small result, sums as long as the batch, nothing done to them afterwards.
  bool can_split(const std::vector<Space::Group>& left,
                 const std::vector<Space::Group>& right) const {
    auto same_depth = [&](const Inner& inner) { return inner.depth == inner_[0].depth; };
    if (!std::ranges::all_of(inner_, same_depth) || !columns_.empty() || batches_ > 0) return false;
    if (left.size() != 1 || right.size() != 1) return false;
    const std::vector<Space::Group> inner = t_.space().groups(Role::inner, 0);
    if (inner.size() != 1 || t_.region().dtype(job_.chains[0].sum) != DType::f32) return false;
    for (uint32_t result : job_.results) {
      const Value base = without_views(t_.region(), body_.outputs[result].value);
      if (std::ranges::find(job_.chains, base, &MatmulChain::sum) == job_.chains.end())
        return false;
    }
    if (!left[0].dim.is_constant() || !right[0].dim.is_constant()) return false;
    const int64_t rows = (left[0].dim.constant() + kBlockM - 1) / kBlockM;
    const int64_t columns = (right[0].dim.constant() + kBlockN - 1) / kBlockN;
    const Dim& depth = inner[0].dim;
    return rows * columns < kFewTiles && (!depth.is_constant() || depth.constant() >= kLongSum);
  }

  void add_up_parts() {
    for (const MatmulChain& chain : job_.chains) t_.give(chain.sum, accumulate(chain));
    for (uint32_t result : job_.results) {
      const Value value = body_.outputs[result].value;
      const ValueId sum = t_.at(without_views(t_.region(), value), at_);
      Tracer::Target to = t_.target(result, after_views(t_, value, at_));
      t_.b().accumulate(to.buffer, std::move(to.at), sum, inner_[0].axes[0], tile::Reduce::add);
    }
    decide_roles();
  }

  Coordinates operand_at(Value operand, const Index& row, const Index& column) const {
    const Shape shape = t_.region().shape(operand);
    Coordinates at(at_.begin(), at_.end() - 2);
    at.push_back(row);
    at.push_back(column);
    Coordinates result;
    const size_t fresh = at.size() - shape.size();
    for (size_t i = 0; i < shape.size(); ++i) {
      result.push_back(shape[i].is_constant(1) ? Index() : at[fresh + i]);
    }
    return result;
  }

  ValueId accumulate(const MatmulChain& chain) {
    const DType dtype = t_.region().dtype(chain.sum);
    std::vector<AxisId> axes = tile_axes(t_, left_);
    const std::vector<AxisId> right = tile_axes(t_, right_);
    axes.insert(axes.end(), right.begin(), right.end());
    ValueId sum = t_.b().constant(0, dtype);
    for (uint32_t matmul : chain.matmuls) sum = add_product(matmul, sum, axes);
    return sum;
  }

  ValueId add_product(uint32_t matmul, ValueId sum, const std::vector<AxisId>& axes) {
    const Inner& inner = *std::ranges::find(inner_, matmul, &Inner::matmul);
    const Node& node = body_[matmul];
    for (AxisId axis : inner.axes) sum = t_.begin_loop(axis, {{sum, axes, {}}})[0];
    std::vector<AxisId> left_axes = tile_axes(t_, left_);
    std::vector<AxisId> right_axes = tile_axes(t_, right_);
    if (!inner.axes.empty()) {
      left_axes.push_back(inner.axes.back());
      right_axes.push_back(inner.axes.back());
    }
    ValueId a = t_.at(node.operands[0], operand_at(node.operands[0], at_.end()[-2], inner.at));
    ValueId b = t_.at(node.operands[1], operand_at(node.operands[1], inner.at, at_.back()));
    operands_.emplace_back(a, b);
    a = t_.with_axes(a, left_axes);
    b = t_.with_axes(b, right_axes);
    sum = inner.axes.empty() ? t_.b().map(Op::add, {sum, t_.b().map(Op::mul, {a, b})})
                             : t_.b().dot(inner.axes.back(), a, b, sum);
    for (size_t i = 0; i < inner.axes.size(); ++i) sum = t_.end_loop({sum})[0];
    return sum;
  }

  void store_results() {
    for (uint32_t result : job_.results) {
      if (std::ranges::count(columns_, result, &ColumnReduction::result) > 0) continue;
      const Value value = body_.outputs[result].value;
      const Value base = without_views(t_.region(), value);
      const Coordinates at = coordinates(t_.region().shape(base));
      t_.store(result, after_views(t_, value, at), t_.at(base, at));
    }
  }

  void finish_columns(const std::vector<ValueId>& sums, const std::vector<AxisId>& rows) {
    if (!rows.empty()) {
      accumulate_columns(t_, columns_, sums, rows.back());
      return;
    }
    for (size_t i = 0; i < columns_.size(); ++i) {
      t_.store(columns_[i].result, columns_[i].out, sums[i]);
    }
  }

  // A batch axis that only one operand has belongs to that side; it may then be joined with m or n.
  void decide_roles() {
    for (size_t direction = 0; direction < batches_; ++direction) {
      const std::vector<AxisId> axes = t_.space().axes_of(direction);
      // One without an axis is joined with another direction, and stays what that is.
      if (t_.space().role(direction) != Role::batch || axes.empty()) continue;
      bool left = false;
      bool right = false;
      for (AxisId axis : axes) {
        for (auto [a, b] : operands_) {
          left = left || t_.depends(a, axis);
          right = right || t_.depends(b, axis);
        }
      }
      if (!right) t_.space().set_role(direction, Role::left);
      if (!left && right && columns_.empty()) t_.space().set_role(direction, Role::right);
    }
  }

  Tracer& t_;
  const MatmulJob& job_;
  const Graph& body_;
  Shape shape_;
  Coordinates at_;      // of the products' shape
  size_t batches_ = 0;  // directions 0 .. batches_-1 are batches
  std::vector<Inner> inner_;
  std::vector<AxisId> batch_, left_, right_, looped_;
  std::vector<ColumnReduction> columns_;
  bool splits_ = false;  // programs add up parts of k
  std::vector<std::pair<ValueId, ValueId>> operands_;
};

}  // namespace

TracedRegion lower_matmul(const Region& region, const std::string& name) {
  TracedRegion result;
  const std::vector<MatmulJob> jobs = find_matmul_jobs(region);
  for (size_t i = 0; i < jobs.size(); ++i) {
    const std::string own = jobs.size() == 1 ? name : name + "_" + std::to_string(i);
    auto trace = [&](Tracer& t) { Matmul(t, jobs[i]).trace(); };
    result.programs.push_back(trace_program(region, own, trace));
  }
  return result;
}

}  // namespace weft::lowering
