// Kernels that several tests read.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace weft::tile {

inline constexpr const char* kMatmul = R"(
kernel @ffn_up {
  in %x: f32[M, K]
  in %w: f32[K, N]
  in %b: f32[N]
  in %r: f32[M, N]
  out %y: f32[M, N]
  free BM = 4
  free BN = 8
  free BK = 16
  axis m: M by BM
  axis n: N by BN
  axis k: K by BK
  grid n, m
  %acc = loop k carry %c = 0.0 : f32[m, n] {
    yield dot[k](load %x[m, k], load %w[k, n], %c)
  }
  %z = %acc + load %b[n]
  store %y[m, n], 0.5 * %z * (1.0 + erf(%z * 0.70710678118654752)) + load %r[m, n]
}
)";

inline constexpr const char* kLayerNormBackward = R"(
kernel @layer_norm_bwd {
  in %x: f32[M, C]
  in %dy: f32[M, C]
  in %g: f32[C]
  in %mu: f32[M]
  in %rs: f32[M]
  out %dx: f32[M, C]
  out %dg: f32[C]
  out %db: f32[C]
  order BP = 8
  free BR = 3
  axis r: M by BP/BR
  axis c: C full
  grid r
  (%sg, %sb) = loop r carry %ag = 0.0 : f32[c], %ab = 0.0 : f32[c] {
    %t = load %dy[r, c]
    %rr = load %rs[r]
    %h = (load %x[r, c] - load %mu[r]) * %rr
    %u = %t * load %g[c]
    %n = cast.f32(coord(C))
    %a = reduce.add[c](%u) / %n
    %b = reduce.add[c](%u * %h) / %n
    store %dx[r, c], %rr * (%u - %a - %h * %b)
    yield %ag + reduce.add[r](%t * %h), %ab + reduce.add[r](%t)
  }
  accumulate.add %dg[c], %sg over r
  accumulate.add %db[c], %sb over r
})";

// Causal attention: carried online reductions and two chained dots.
inline constexpr const char* kAttention = R"(
kernel @attention {
  in %q: f32[B, T, H, D]
  in %k: f32[B, S, H, D]
  in %v: f32[B, S, H, E]
  out %o: f32[B, T, H, E]
  free BI = 4
  order BJ = 3
  axis b: B by 1
  axis h: H by 1
  axis i: T by BI
  axis j: S by BJ
  axis d: D full
  axis e: E full
  grid b, h, i
  %qt = load %q[b, i, h, d]
  (%m, %l, %a) = loop j to i.end + S - T carry %m0 = -inf : f32[i], %l0 = 0.0 : f32[i], %a0 = 0.0 : f32[i, e] {
    %s = select(le(coord(j), coord(i + S - T)), dot[d](%qt, load %k[b, j, h, d]) * 0.5, -inf)
    %m1 = maximum(%m0, reduce.max[j](%s))
    %z = select(eq(%m1, -inf), 0.0, %m1)
    %p = exp(%s - %z)
    %f = exp(%m0 - %z)
    yield %m1, %l0 * %f + reduce.add[j](%p), dot[j](%p, load %v[b, j, h, e], %a0 * %f)
  }
  store %o[b, i, h, e], %a / select(eq(%l, 0.0), 1.0, %l)
})";

inline constexpr const char* kEmbeddingGradient = R"(
kernel @embedding_grad {
  in %ids: i32[N]
  in %dy: f32[N, D]
  inout %dw: f32[V, D]
  free BN = 4
  free BD = 2
  axis n: N by BN
  axis d: D by BD
  grid d
  loop n {
    %i = load %ids[n]
    scatter %dw[%i, d] {where le(0, %i)} += load %dy[n, d] order n
  }
})";

// One owner walks the axis j and adds to rows that all of its programs share.
inline constexpr const char* kSerialUpdate = R"(
kernel @outer_sums {
  in %a: f32[S, D]
  in %p: f32[T, S]
  inout %dq: f32[T, D]
  out %first: i32[S]
  free BI = 4
  order BJ = 3
  axis i: T by BI
  axis j: S by BJ
  axis d: D full
  grid serial j
  %at = load %a[j, d]
  loop i from j.base {
    %w = select(le(coord(j), coord(i)), load %p[i, j], 0.0)
    update %dq[i, d] += dot[j](%w, %at)
  }
  store %first[j], coord(j)
})";

}  // namespace weft::tile
