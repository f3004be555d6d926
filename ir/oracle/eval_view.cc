// The oracle's ops that move elements without computing: views, concat, pad.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/oracle/elements.h"

namespace weft {
namespace {

// result[i] = in[base + place of i under strides]
EvalResult read_strided(const EvalArgs& args, int64_t base, const Sizes& strides) {
  Tensor result = args.make_result();
  by_storage(result, [&](auto zero) {
    const auto& in = elements<decltype(zero)>(args.operand(0));
    auto& out = elements<decltype(zero)>(result);
    walk(result.shape, std::array<Sizes, 1>{strides},
         [&](size_t i, const auto& at) { out[i] = in[static_cast<size_t>(base + at[0])]; });
  });
  return single(std::move(result));
}

// An attribute of kind ints that may be left empty: `fallback` on every axis.
Sizes per_axis(const EvalArgs& args, std::string_view attr, size_t rank, int64_t fallback) {
  const Sizes& given = args.node.attrs.ints(attr);
  return given.empty() ? Sizes(rank, fallback) : given;
}

}  // namespace

EvalResult eval_reshape(const EvalArgs& args) {
  Tensor result = args.operand(0);
  result.shape = args.result_shapes[0];
  if (element_count(result.shape) != result.size()) {
    return args.fail(str(args.operand(0).shape), " has ", result.size(), " elements, ",
                     str(result.shape), " has ", element_count(result.shape));
  }
  return single(std::move(result));
}

EvalResult eval_transpose(const EvalArgs& args) {
  Sizes own = row_major_strides(args.operand(0).shape);
  Sizes strides;
  for (int64_t axis : args.node.attrs.ints("perm")) {
    strides.push_back(own[static_cast<size_t>(axis)]);
  }
  return read_strided(args, 0, strides);
}

EvalResult eval_broadcast(const EvalArgs& args) {
  return read_strided(args, 0, broadcast_strides(args.operand(0).shape, args.result_shapes[0]));
}

EvalResult eval_slice(const EvalArgs& args) {
  const Sizes& shape = args.operand(0).shape;
  Sizes starts = args.concrete("starts");
  Sizes limits = args.concrete("limits");
  Sizes steps = per_axis(args, "strides", shape.size(), 1);
  Sizes strides = row_major_strides(shape);
  int64_t base = 0;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (starts[axis] < 0 || starts[axis] > limits[axis] || limits[axis] > shape[axis]) {
      return args.fail("from ", starts[axis], " to ", limits[axis], " is not within axis ", axis,
                       " of size ", shape[axis]);
    }
    base += starts[axis] * strides[axis];
    // A step past the end of the axis is never taken; limited, it cannot overflow.
    strides[axis] *= std::min(steps[axis], shape[axis]);
  }
  return read_strided(args, base, strides);
}

EvalResult eval_concat(const EvalArgs& args) {
  int64_t axis = args.node.attrs.integer("axis");
  Tensor result = args.make_result();
  Rows whole = rows_along(result.shape, axis);
  by_storage(result, [&](auto zero) {
    auto& out = elements<decltype(zero)>(result);
    int64_t first = 0;
    for (const Tensor* in : args.operands) {
      const auto& numbers = elements<decltype(zero)>(*in);
      Rows part = rows_along(in->shape, axis);
      for_each_row(part, [&](int64_t o, int64_t i) {
        for (int64_t k = 0; k < part.size; ++k) {
          out[whole.at(o, first + k, i)] = numbers[part.at(o, k, i)];
        }
      });
      first += part.size;
    }
  });
  return single(std::move(result));
}

EvalResult eval_pad(const EvalArgs& args) {
  const Tensor& in = args.operand(0);
  Sizes low = args.concrete("low");
  Sizes high = args.concrete("high");
  Sizes interior = per_axis(args, "interior", in.shape.size(), 0);
  Tensor result = args.make_result();
  Sizes strides = row_major_strides(result.shape);
  int64_t base = 0;
  for (size_t axis = 0; axis < in.shape.size(); ++axis) {
    if (low[axis] < 0 || high[axis] < 0) {
      return args.fail("negative padding (", low[axis], " and ", high[axis], ") on axis ", axis);
    }
    base += low[axis] * strides[axis];
    // Between neighbours there is something to skip only where there are two.
    if (in.shape[axis] > 1) strides[axis] *= interior[axis] + 1;
  }
  for (int64_t i = 0; i < result.size(); ++i) result.set(i, args.node.attrs.real("value"));
  by_storage(result, [&](auto zero) {
    const auto& numbers = elements<decltype(zero)>(in);
    auto& out = elements<decltype(zero)>(result);
    walk(in.shape, std::array<Sizes, 1>{strides},
         [&](size_t i, const auto& at) { out[static_cast<size_t>(base + at[0])] = numbers[i]; });
  });
  return single(std::move(result));
}

}  // namespace weft
