"""attention and its gradient, from the weights of each row."""
# SPDX-License-Identifier: Apache-2.0
import fractions
import itertools
import math

import numpy as np

from .core import FLOAT, INF, draw, expected, given
from .make import random_bits

EXTRAS = ("bias", "mask", "lengths", "rng")


def _scores(x, a):
    """[.., T, S] scores, -inf what is left out, and where q, k and bias reach them."""
    scores = a["scale"] * (x["q"] @ np.swapaxes(x["k"], -1, -2))
    if "bias" in x:
        scores = scores + x["bias"]
    rows, cols = scores.shape[-2:]
    reached = np.broadcast_to(x["mask"] if "mask" in x else True, scores.shape)
    scores = np.where(reached, scores, a["fill"])
    ahead = np.arange(cols)[None, :] - (np.arange(rows)[:, None] + cols - rows)
    seen = np.ones((rows, cols), dtype=bool)
    if a["before"] >= 0:
        seen &= ahead >= -a["before"]
    if a["after"] >= 0:
        seen &= ahead <= a["after"]
    if "lengths" in x:
        seen = seen & (np.arange(cols) < np.asarray(x["lengths"], dtype=float)[..., None, None])
    return np.where(seen, scores, -INF), reached


def _weights(scores):
    weights, lse = np.zeros(scores.shape), np.zeros(scores.shape[:-1])
    for place in np.ndindex(lse.shape):
        top = max(scores[place], default=-INF)
        if top == -INF:
            continue
        powers = [math.exp(score - top) for score in scores[place]]
        weights[place] = np.array(powers) / math.fsum(powers)
        lse[place] = top + math.log(math.fsum(powers))
    return weights, lse


def _kept(x, a, shape):
    if a["rate"] == 0:
        return np.ones(shape)
    bound = fractions.Fraction(a["rate"]) * 2 ** 32
    bits = random_bits(int(x["rng"][0]), int(x["rng"][1]), a["stream"], shape)
    keeps = np.vectorize(lambda b: b >= bound, otypes=[bool])(bits)
    return np.where(keeps, 1 / (1 - a["rate"]), 0.0)


def _sum_to(array, shape):
    while array.ndim > len(shape):
        array = array.sum(axis=0)
    axes = tuple(i for i, size in enumerate(shape) if size == 1 and array.shape[i] != 1)
    return array.sum(axis=axes, keepdims=True)


def _forward(x, a):
    scores, _ = _scores(x, a)
    weights, lse = _weights(scores)
    return (weights * _kept(x, a, scores.shape)) @ x["v"], lse


def _backward(x, a, d_out, delta):
    """dq, dk, dv and dbias, from the row term as it is given."""
    scores, reached = _scores(x, a)
    weights, _ = _weights(scores)
    kept = _kept(x, a, scores.shape)
    d_weights = kept * (d_out @ np.swapaxes(x["v"], -1, -2))
    d_scores = weights * (d_weights - delta[..., None]) * reached
    pairs = ((a["scale"] * (d_scores @ x["k"]), "q"),
             (a["scale"] * (np.swapaxes(d_scores, -1, -2) @ x["q"]), "k"),
             (np.swapaxes(weights * kept, -1, -2) @ d_out, "v"))
    grads = [_sum_to(g, x[n].shape) for g, n in pairs]
    return grads + [_sum_to(d_scores, x["bias"].shape) if "bias" in x else np.zeros(())]


DEFAULTS = {"scale": 1.0, "fill": -INF, "before": -1, "after": -1, "rate": 0.0, "stream": 0}


def _text(value):
    return "-inf" if value == -INF else str(value)


class _Maker:
    """Adds each case to both ops."""

    def __init__(self, book):
        self.book = book

    def make(self, name, q, k, v, dtype="f64", types=None, smooth=None, extras=None, **attrs):
        tensors = {n: draw(f"attention/{name}/{n}", dtype, shape, -2, 2)
                   for n, shape in (("q", q), ("k", k), ("v", v))}
        tensors |= extras or {}
        values = {n: t.array for n, t in tensors.items()}
        a = DEFAULTS | attrs
        text = ", ".join(f"{n} = {_text(value)}" for n, value in attrs.items())
        wide = "f32" if dtype in ("f16", "bf16") else dtype
        out, lse = _forward(values, a)
        if smooth is None:
            smooth = dtype in ("f64", "f32")
        floats = [n for n in ("q", "k", "v", "bias") if n in tensors]
        self.book.add("attention", name, tensors,
                      {"out": expected(dtype, out), "lse": expected(wide, lse)}, text, types,
                      smooth=floats if smooth else ())
        d_out = draw(f"attention/{name}/d_out", dtype, out.shape)
        d_lse = draw(f"attention/{name}/d_lse", dtype, lse.shape).array
        lse = given(wide, lse)
        delta = given(wide, (out * d_out.array).sum(axis=-1) - d_lse)
        grads = _backward(values, a, d_out.array, delta.array)
        inputs = {n: tensors[n] for n in ("q", "k", "v")}
        inputs |= {"lse": lse, "delta": delta, "d_out": d_out}
        inputs |= {n: tensors[n] for n in EXTRAS if n in tensors}
        names = ("dq", "dk", "dv", "dbias")
        self.book.add("attention_grad", name, inputs,
                      {n: expected(dtype, g) for n, g in zip(names, grads)}, text,
                      self._with_rows(types))

    @staticmethod
    def _with_rows(types):
        if types is None:
            return None
        rows = types["q"].rsplit(", ", 1)[0]
        return types | {"lse": rows, "delta": rows, "d_out": f"{rows}, {types['v'].split(', ')[-1]}"}


def _bias(name, shape, dtype="f64"):
    return {"bias": draw(f"attention/{name}/bias", dtype, shape, -1, 1)}


def _mask(name, shape):
    return {"mask": draw(f"attention/{name}/mask", "bool", shape)}


def _add_sizes(m):
    for dtype in FLOAT:
        m.make(dtype, (2, 3, 4), (2, 5, 4), (2, 5, 3), dtype, scale=0.5)
    for t, s in itertools.product((1, 2, 7), repeat=2):
        m.make(f"sizes_{t}_{s}", (t, 3), (s, 3), (s, 2), scale=0.5, after=0)
    m.make("one", (1, 1), (1, 1), (1, 1))
    m.make("two_leading", (2, 2, 3, 4), (2, 2, 3, 4), (2, 2, 3, 4), scale=0.25)
    m.make("grouped", (2, 2, 3, 4, 2), (2, 2, 1, 5, 2), (2, 2, 1, 5, 3), scale=0.5, after=0)
    m.make("multi_query", (2, 3, 4, 2), (2, 1, 5, 2), (2, 1, 5, 2))
    m.make("shared_queries", (1, 3, 2), (2, 5, 2), (2, 5, 2))
    m.make("shared_values", (2, 3, 2), (2, 5, 2), (5, 4))
    m.make("beyond_tile", (2, 67, 5), (2, 131, 5), (2, 131, 3), "f32", smooth=False, after=0,
           scale=0.5)
    m.make("symbolic", (2, 3, 4), (2, 5, 4), (2, 5, 2),
           types={"q": "B, T, D", "k": "B, S, D", "v": "B, S, E"}, scale=0.5, after=0)
    m.make("no_keys", (2, 3, 2), (2, 0, 2), (2, 0, 2), "f32", smooth=False)
    m.make("no_queries", (2, 0, 2), (2, 3, 2), (2, 3, 2), "f32", smooth=False)
    m.make("no_heads", (0, 3, 2), (0, 3, 2), (0, 3, 2), "f32", smooth=False)
    m.make("no_depth", (2, 3, 0), (2, 4, 0), (2, 4, 2), "f32", smooth=False)


def _add_masks(m):
    q, k, v = (2, 2, 5, 3), (2, 2, 7, 3), (2, 2, 7, 2)
    m.make("causal", q, k, v, after=0)
    m.make("causal_tall", k, q, (2, 2, 5, 2), after=0)  # the first rows see nothing
    m.make("window", q, k, v, before=2, after=1)
    m.make("only_before", q, k, v, before=1)
    m.make("only_after", q, k, v, after=3)
    m.make("diagonal", q, k, v, before=0, after=0)
    for name, shape in (("full", (2, 2, 5, 7)), ("rows", (5, 1)), ("keys", (2, 1, 1, 7)),
                        ("one", (1,)), ("scalar", ())):
        m.make(f"mask_{name}", q, k, v, extras=_mask(name, shape))
        m.make(f"bias_{name}", q, k, v, extras=_bias(name, shape))
    m.make("fill", q, k, v, extras=_mask("fill", (2, 1, 5, 7)), fill=-1.5)
    m.make("fill_large", q, k, v, extras=_mask("fill_large", (5, 7)), fill=-1e9, after=0)
    nothing = {"mask": given("bool", np.zeros((5, 7)))}
    m.make("all_masked", q, k, v, extras=nothing)
    m.make("all_filled", q, k, v, extras=nothing, fill=-1e9, smooth=False)
    m.make("all_filled_f32", q, k, v, "f32", extras=nothing, fill=-1e9, smooth=False, after=0)
    m.make("all_filled_low", q, k, v, extras=nothing, fill=-20.0)
    lengths = {"lengths": given("i32", [[0], [4]])}
    m.make("lengths", q, k, v, extras=lengths)
    m.make("lengths_wide", q, k, v, extras={"lengths": given("i64", [[-3, 9], [1, 2 ** 40]])})
    m.make("one_length", q, k, v, extras={"lengths": given("i32", 3)}, after=0)
    closed = np.where(draw("attention/closed", "bool", (5, 7)).array, 0.0, -INF)
    m.make("bias_infinite", q, k, v, extras={"bias": given("f64", closed)}, smooth=False)


def _add_dropout(m):
    q, k, v = (2, 2, 3, 3), (2, 1, 5, 3), (2, 1, 5, 2)
    rng = {"rng": given("u32", [42, 7])}
    m.make("dropout", q, k, v, extras=rng, rate=0.5, stream=3)
    m.make("dropout_low", q, k, v, extras=rng, rate=0.1, after=0)
    m.make("dropout_f16", q, k, v, "f16", extras=rng, rate=0.25, stream=1)
    everything = _bias("all", (2, 1, 5)) | _mask("all", (2, 1, 3, 5))
    everything |= {"lengths": given("i32", [[4, 5], [2, 0]])} | rng
    m.make("everything", q, k, v, extras=everything, scale=0.5, fill=-2.5, before=3, after=1,
           rate=0.5, stream=2)
    m.make("everything_f32", q, k, v, "f32",
           extras=everything | _bias("all", (2, 1, 5), "f32"), scale=0.5, before=3, rate=0.5)
    m.make("everything_bf16", q, k, v, "bf16", extras=everything | _bias("all", (2, 1, 5), "bf16"),
           scale=0.5, fill=-2.5, before=3, after=1, rate=0.5)


def add_cases(book):
    maker = _Maker(book)
    _add_sizes(maker)
    _add_masks(maker)
    _add_dropout(maker)
