// The oracle's ops that make tensors from sizes and counters, and windows of images.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/oracle/elements.h"
#include "ir/oracle/philox.h"

namespace weft {
namespace {

template <class Fn>
EvalResult make_mask(const EvalArgs& args, Fn fn) {
  int64_t rows = args.concrete_dim("rows");
  int64_t cols = args.concrete_dim("cols");
  Tensor result = args.make_result();
  if (result.size() == 0) return single(std::move(result));  // however many empty rows
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t col = 0; col < cols; ++col) {
      // How far the column lies beyond the row's own position, the last row being the last
      // column's.
      int64_t ahead = col - (row + cols - rows);
      result.integers[static_cast<size_t>(row * cols + col)] = fn(ahead) ? 1 : 0;
    }
  }
  return single(std::move(result));
}

// Calls fn(element of the patches, element of the image) for every element of `patches`.
template <class Fn>
void for_each_patch_element(const EvalArgs& args, const Sizes& image, const Sizes& patches, Fn fn) {
  if (element_count(patches) == 0) return;  // the windows of an empty image may be past counting
  const Sizes& size = args.node.attrs.ints("size");
  const Sizes& stride = args.node.attrs.ints("stride");
  const Sizes window = {patches[0], patches[1], patches[2], size[0], size[1], image[3]};
  const Sizes pixel = row_major_strides(image);
  // [B, H', W', size0, size1, C] as places in the image [B, H, W, C]. A step past the image is
  // never taken; limited, it cannot overflow.
  const Sizes places = {pixel[0],
                        std::min(stride[0], image[1]) * pixel[1],
                        std::min(stride[1], image[2]) * pixel[2],
                        pixel[1],
                        pixel[2],
                        pixel[3]};
  walk(window, std::array<Sizes, 1>{places},
       [&](size_t i, const auto& at) { fn(i, static_cast<size_t>(at[0])); });
}

RandomBits bits_of(const EvalArgs& args, const Tensor& rng) {
  return RandomBits(static_cast<uint32_t>(rng.integers[0]), static_cast<uint32_t>(rng.integers[1]),
                    static_cast<uint32_t>(args.node.attrs.integer("stream")));
}

}  // namespace

EvalResult eval_constant(const EvalArgs& args) {
  Tensor result = args.make_result();
  std::visit(
      [&](const auto& values) {
        for (size_t i = 0; i < static_cast<size_t>(result.size()); ++i) {
          auto value = values[values.size() == 1 ? 0 : i];
          if (result.real()) {
            result.reals[i] = round_to(result.dtype, static_cast<double>(value));
          } else {
            result.integers[i] = wrap_to(result.dtype, static_cast<int64_t>(value));
          }
        }
      },
      args.node.attrs.numbers("value").values);
  return single(std::move(result));
}

EvalResult eval_iota(const EvalArgs& args) {
  Tensor result = args.make_result();
  Rows rows = rows_along(result.shape, args.node.attrs.integer("axis"));
  by_storage(result, [&](auto zero) {
    using T = decltype(zero);
    auto& out = elements<T>(result);
    for_each_row(rows, [&](int64_t o, int64_t i) {
      for (int64_t k = 0; k < rows.size; ++k) {
        out[rows.at(o, k, i)] = settle(result.dtype, static_cast<Arithmetic<T>>(k));
      }
    });
  });
  return single(std::move(result));
}

EvalResult eval_causal_mask(const EvalArgs& args) {
  return make_mask(args, [](int64_t ahead) { return ahead <= 0; });
}

EvalResult eval_window_mask(const EvalArgs& args) {
  int64_t before = args.node.attrs.integer("before");
  int64_t after = args.node.attrs.integer("after");
  return make_mask(args, [&](int64_t ahead) { return -ahead <= before && ahead <= after; });
}

EvalResult eval_padding_mask(const EvalArgs& args) {
  const std::vector<int64_t>& lengths = args.operand(0).integers;
  int64_t size = args.concrete_dim("size");
  Tensor result = args.make_result();
  for (size_t row = 0; row < lengths.size(); ++row) {
    for (int64_t i = 0; i < std::min(size, lengths[row]); ++i) {
      result.integers[row * static_cast<size_t>(size) + static_cast<size_t>(i)] = 1;
    }
  }
  return single(std::move(result));
}

EvalResult eval_patches(const EvalArgs& args) {
  const Tensor& in = args.operand(0);
  Tensor result = args.make_result();
  by_storage(in, [&](auto zero) {
    const auto& image = elements<decltype(zero)>(in);
    auto& patches = elements<decltype(zero)>(result);
    for_each_patch_element(args, in.shape, result.shape,
                           [&](size_t patch, size_t pixel) { patches[patch] = image[pixel]; });
  });
  return single(std::move(result));
}

EvalResult eval_fold_patches(const EvalArgs& args) {
  const Tensor& in = args.operand(0);
  Tensor result = args.make_result();
  by_storage(in, [&](auto zero) {
    using T = decltype(zero);
    const auto& patches = elements<T>(in);
    auto& image = elements<T>(result);
    for_each_patch_element(args, result.shape, in.shape, [&](size_t patch, size_t pixel) {
      image[pixel] = settle(result.dtype, static_cast<Arithmetic<T>>(image[pixel]) +
                                              static_cast<Arithmetic<T>>(patches[patch]));
    });
  });
  return single(std::move(result));
}

EvalResult eval_random_bits(const EvalArgs& args) {
  Tensor result = args.make_result();
  RandomBits bits = bits_of(args, args.operand(0));
  for (size_t i = 0; i < result.integers.size(); ++i) result.integers[i] = bits.word(i);
  return single(std::move(result));
}

EvalResult eval_dropout(const EvalArgs& args) {
  const Tensor& in = args.operand(0);
  double rate = args.node.attrs.real("rate");
  double threshold = rate * 4294967296.0;  // 2^32
  RandomBits bits = bits_of(args, args.operand(1));
  Tensor result = args.make_result();
  for (size_t i = 0; i < in.reals.size(); ++i) {
    if (bits.word(i) >= threshold) result.reals[i] = in.reals[i] / (1 - rate);
  }
  return single(std::move(result));
}

}  // namespace weft
