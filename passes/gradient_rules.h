// The gradient rules that the op table names, each declared once.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "passes/gradient.h"

namespace weft {

// Nothing flows through, or asking is an error (see OpInfo::gradient).
inline constexpr GradFn grad_zero = nullptr;
inline constexpr GradFn grad_none = nullptr;

// gradient_elementwise.cc
void grad_add(GradScope& g);
void grad_sub(GradScope& g);
void grad_mul(GradScope& g);
void grad_div(GradScope& g);
void grad_mod(GradScope& g);
void grad_pow(GradScope& g);
void grad_minimum(GradScope& g);
void grad_maximum(GradScope& g);
void grad_clamp(GradScope& g);
void grad_neg(GradScope& g);
void grad_abs(GradScope& g);
void grad_cast(GradScope& g);
void grad_select(GradScope& g);
void grad_dropout(GradScope& g);

// gradient_functions.cc
void grad_exp(GradScope& g);
void grad_log(GradScope& g);
void grad_sqrt(GradScope& g);
void grad_rsqrt(GradScope& g);
void grad_tanh(GradScope& g);
void grad_erf(GradScope& g);
void grad_sin(GradScope& g);
void grad_cos(GradScope& g);
void grad_sigmoid(GradScope& g);
void grad_softplus(GradScope& g);
void grad_relu(GradScope& g);
void grad_gelu(GradScope& g);
void grad_silu(GradScope& g);

// gradient_reduce.cc
void grad_matmul(GradScope& g);
void grad_sum(GradScope& g);
void grad_mean(GradScope& g);
void grad_extremum(GradScope& g);
void grad_prod(GradScope& g);
void grad_cumsum(GradScope& g);
void grad_top_k(GradScope& g);
void grad_global_norm(GradScope& g);

// gradient_rows.cc
void grad_softmax(GradScope& g);
void grad_log_softmax(GradScope& g);
void grad_logsumexp(GradScope& g);
void grad_layer_norm(GradScope& g);
void grad_rms_norm(GradScope& g);
void grad_cross_entropy(GradScope& g);
void grad_focal(GradScope& g);
void grad_mse(GradScope& g);

// gradient_attention.cc
void grad_attention(GradScope& g);

// gradient_index.cc
void grad_gather(GradScope& g);
void grad_scatter(GradScope& g);
void grad_scatter_add(GradScope& g);
void grad_take_along(GradScope& g);
void grad_add_along(GradScope& g);
void grad_dynamic_slice(GradScope& g);
void grad_update_slice(GradScope& g);

// gradient_view.cc
void grad_reshape(GradScope& g);
void grad_transpose(GradScope& g);
void grad_broadcast(GradScope& g);
void grad_slice(GradScope& g);
void grad_concat(GradScope& g);
void grad_pad(GradScope& g);
void grad_patches(GradScope& g);
void grad_fold_patches(GradScope& g);

}  // namespace weft
