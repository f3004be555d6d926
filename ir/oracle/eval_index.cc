// The oracle's ops that read or write at positions known only at run time.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/oracle/elements.h"

namespace weft {
namespace {

// Every index of operand 1 lies in [0, size of `axis` of operand 0), if any of the elements of
// `moved` goes there: an index that nothing is read or written with may be anything, since code
// that walks over elements never looks at it.
Status check_indices(const EvalArgs& args, int64_t axis, const std::vector<int64_t>& moved) {
  if (element_count(moved) == 0) return ok();
  const Tensor& indices = args.operand(1);
  int64_t size = args.operand(0).shape[static_cast<size_t>(axis)];
  for (size_t i = 0; i < indices.integers.size(); ++i) {
    int64_t index = indices.integers[i];
    if (index >= 0 && index < size) continue;
    return args.fail("index ", index, " at position ",
                     place(indices.shape, static_cast<int64_t>(i)), " is out of range for axis ",
                     axis, " of size ", size);
  }
  return ok();
}

// Calls fn(slice element, whole element) for each element of the slices of `in` along the axis that
// operand 1 points to, in order of position. The slices have the shape that gather gives.
template <class Fn>
void for_each_indexed(const EvalArgs& args, int64_t axis, Fn fn) {
  Rows whole = rows_along(args.operand(0).shape, axis);
  const std::vector<int64_t>& indices = args.operand(1).integers;
  Rows slices{whole.outer, static_cast<int64_t>(indices.size()), whole.inner};
  if (slices.empty()) return;
  for (int64_t o = 0; o < whole.outer; ++o) {
    for (int64_t k = 0; k < slices.size; ++k) {
      for (int64_t i = 0; i < whole.inner; ++i) {
        fn(slices.at(o, k, i), whole.at(o, indices[static_cast<size_t>(k)], i));
      }
    }
  }
}

// The same where operand 1 has an index for each element.
template <class Fn>
void for_each_along(const EvalArgs& args, int64_t axis, Fn fn) {
  Rows whole = rows_along(args.operand(0).shape, axis);
  Rows part = rows_along(args.operand(1).shape, axis);
  const std::vector<int64_t>& indices = args.operand(1).integers;
  if (part.empty()) return;
  for (int64_t o = 0; o < part.outer; ++o) {
    for (int64_t k = 0; k < part.size; ++k) {
      for (int64_t i = 0; i < part.inner; ++i) {
        size_t at = part.at(o, k, i);
        fn(at, whole.at(o, indices[at], i));
      }
    }
  }
}

// Reads the elements that `visit` pairs with those of the result.
template <class Visit>
EvalResult read_at(const EvalArgs& args, Visit visit) {
  int64_t axis = args.node.attrs.integer("axis");
  Tensor result = args.make_result();
  WEFT_TRY_STATUS(check_indices(args, axis, result.shape));
  by_storage(result, [&](auto zero) {
    const auto& in = elements<decltype(zero)>(args.operand(0));
    auto& out = elements<decltype(zero)>(result);
    visit(axis, [&](size_t part, size_t whole) { out[part] = in[whole]; });
  });
  return single(std::move(result));
}

// Adds the elements of operand 2 to a copy of operand 0, where `visit` pairs them.
template <class Visit>
EvalResult add_at(const EvalArgs& args, Visit visit) {
  int64_t axis = args.node.attrs.integer("axis");
  WEFT_TRY_STATUS(check_indices(args, axis, args.operand(2).shape));
  Tensor result = args.operand(0);
  by_storage(result, [&](auto zero) {
    using T = decltype(zero);
    const auto& updates = elements<T>(args.operand(2));
    auto& out = elements<T>(result);
    visit(axis, [&](size_t part, size_t whole) {
      out[whole] = settle(result.dtype, static_cast<Arithmetic<T>>(out[whole]) +
                                            static_cast<Arithmetic<T>>(updates[part]));
    });
  });
  return single(std::move(result));
}

// A slice of the shape `part` from the scalar `start` on along the axis lies within `in`, or has no
// elements: see check_indices.
Status check_range(const EvalArgs& args, const Tensor& start, int64_t axis,
                   const std::vector<int64_t>& part) {
  int64_t whole = args.operand(0).shape[static_cast<size_t>(axis)];
  int64_t size = part[static_cast<size_t>(axis)];
  int64_t first = start.integers[0];
  if (element_count(part) == 0 && size <= whole) return ok();
  if (size <= whole && first >= 0 && first <= whole - size) return ok();
  return args.fail("start ", first, " with size ", size, " leaves axis ", axis, " of size ", whole);
}

// Calls fn(part element, whole element) for a part that begins at `start` along the axis.
template <class Fn>
void for_each_from(const Rows& whole, const Rows& part, int64_t start, Fn fn) {
  for_each_row(part, [&](int64_t o, int64_t i) {
    for (int64_t k = 0; k < part.size; ++k) fn(part.at(o, k, i), whole.at(o, start + k, i));
  });
}

}  // namespace

EvalResult eval_gather(const EvalArgs& args) {
  return read_at(args, [&](int64_t axis, auto copy) { for_each_indexed(args, axis, copy); });
}

EvalResult eval_take_along_axis(const EvalArgs& args) {
  return read_at(args, [&](int64_t axis, auto copy) { for_each_along(args, axis, copy); });
}

EvalResult eval_scatter_add(const EvalArgs& args) {
  return add_at(args, [&](int64_t axis, auto add) { for_each_indexed(args, axis, add); });
}

EvalResult eval_add_along_axis(const EvalArgs& args) {
  return add_at(args, [&](int64_t axis, auto add) { for_each_along(args, axis, add); });
}

EvalResult eval_scatter(const EvalArgs& args) {
  int64_t axis = args.node.attrs.integer("axis");
  WEFT_TRY_STATUS(check_indices(args, axis, args.operand(2).shape));
  Tensor result = args.operand(0);
  by_storage(result, [&](auto zero) {
    const auto& updates = elements<decltype(zero)>(args.operand(2));
    auto& out = elements<decltype(zero)>(result);
    for_each_indexed(args, axis, [&](size_t part, size_t whole) { out[whole] = updates[part]; });
  });
  return single(std::move(result));
}

EvalResult eval_one_hot(const EvalArgs& args) {
  const std::vector<int64_t>& indices = args.operand(0).integers;
  int64_t depth = args.concrete_dim("depth");
  Tensor result = args.make_result();
  for (size_t i = 0; i < indices.size(); ++i) {
    if (indices[i] < 0 || indices[i] >= depth) continue;
    result.set(static_cast<int64_t>(i) * depth + indices[i], 1);
  }
  return single(std::move(result));
}

EvalResult eval_dynamic_slice(const EvalArgs& args) {
  const Tensor& start = args.operand(1);
  int64_t axis = args.node.attrs.integer("axis");
  Tensor result = args.make_result();
  WEFT_TRY_STATUS(check_range(args, start, axis, result.shape));
  by_storage(result, [&](auto zero) {
    const auto& in = elements<decltype(zero)>(args.operand(0));
    auto& out = elements<decltype(zero)>(result);
    for_each_from(rows_along(args.operand(0).shape, axis), rows_along(result.shape, axis),
                  start.integers[0], [&](size_t part, size_t whole) { out[part] = in[whole]; });
  });
  return single(std::move(result));
}

EvalResult eval_update_slice(const EvalArgs& args) {
  const Tensor& update = args.operand(1);
  const Tensor& start = args.operand(2);
  int64_t axis = args.node.attrs.integer("axis");
  WEFT_TRY_STATUS(check_range(args, start, axis, update.shape));
  Tensor result = args.operand(0);
  by_storage(result, [&](auto zero) {
    const auto& in = elements<decltype(zero)>(update);
    auto& out = elements<decltype(zero)>(result);
    for_each_from(rows_along(result.shape, axis), rows_along(update.shape, axis), start.integers[0],
                  [&](size_t part, size_t whole) { out[whole] = in[part]; });
  });
  return single(std::move(result));
}

}  // namespace weft
