// Layers: what nearly every model is made of. Each creates its parameters under the scope's name.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "frontend/builder.h"

namespace weft::nn {

// x W + b. NAME.weight is [in, out] and Xavier-uniform, NAME.bias zero.
Var linear(const Var& x, const std::string& name, const Dim& out, bool bias = true);

// A table of `rows` vectors, normal with standard deviation width^-0.5: NAME.weight is [rows,
// width]. gather(table, ids) looks rows up; matmul(x, transpose(table)) is the tied output
// projection.
Var embedding(ModelBuilder& m, const std::string& name, const Dim& rows, int64_t width,
              DType dtype = DType::f32);

// Over the last axis, with NAME.gain and, unless it is to do without, NAME.bias.
Var layer_norm(const Var& x, const std::string& name, double eps = 1e-5, bool bias = true);

// Drops elements where the graph has dropout on (ModelBuilder::enable_dropout) and rate > 0.
Var dropout(const Var& x, double rate);

enum class Activation : uint8_t { relu, gelu, gelu_tanh, silu };
Var activate(const Var& x, Activation activation);

Var split_heads(const Var& x, int64_t heads);  // [B, T, H*D] -> [B, H, T, D]
Var merge_heads(const Var& x);                 // [B, H, T, D] -> [B, T, H*D]

// sin(t / 10000^(2i/d)) at 2i and cos of the same at 2i + 1: [length, width]. `width` is even.
Var sinusoidal_positions(ModelBuilder& m, const Dim& length, int64_t width, DType dtype);
// The first `length` rows of a trained table of `limit`: [length, width].
Var learned_positions(ModelBuilder& m, const std::string& name, const Dim& length, int64_t limit,
                      int64_t width, DType dtype);

// x [.., T, D] with each pair (i, i + D/2) of a row turned by its position: t / 10000^(2i/D), after
// https://arxiv.org/abs/2104.09864. D is even.
Var rotary(const Var& x);

// True where a token is not padding, for every head and query: [B, S] -> bool[B, 1, 1, S].
Var padding_mask_of(const Var& ids, int64_t pad);

// Sum of `values` where `keep` holds, divided by how often it does (by 1 if it never does): a
// scalar.
Var mean_where(const Var& keep, const Var& values);

}  // namespace weft::nn
