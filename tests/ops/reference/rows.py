"""Ops on rows: softmax, log_softmax, logsumexp, layer_norm and rms_norm."""
# SPDX-License-Identifier: Apache-2.0
import math

import numpy as np

from .core import FLOAT, INF, NAN, draw, expected, given


def _softmax(row):
    top = max(row)
    if any(math.isnan(v) for v in row) or top == INF:
        return [NAN] * len(row)
    if top == -INF:
        return [0.0] * len(row)
    weights = [math.exp(v - top) for v in row]
    total = math.fsum(weights)
    return [w / total for w in weights]


def logsumexp(row):
    if any(math.isnan(v) for v in row):
        return NAN
    top = max(row, default=-INF)
    if math.isinf(top):
        return top
    return top + math.log(math.fsum(math.exp(v - top) for v in row))


def _log_softmax(row):
    total = logsumexp(row)
    return [-INF] * len(row) if total == -INF else [v - total for v in row]


def _along(array, axis, function):
    moved = np.moveaxis(array, axis, -1)
    out = np.zeros(moved.shape)
    for place in np.ndindex(moved.shape[:-1]):
        if moved.shape[-1]:
            out[place] = function([float(v) for v in moved[place]])
    return np.moveaxis(out, -1, axis)


def _add_softmaxes(book, op, function):
    def make(name, x, axis=None, types=None, **more):
        out = _along(x.array, -1 if axis is None else axis, function)
        attrs = "" if axis is None else f"axis = {axis}"
        book.add(op, name, {"x": x}, {"out": expected(x.dtype, out)}, attrs, types, **more)

    def at(name, dtype, shape, span=3):
        return draw(f"{op}/{name}", dtype, shape, -span, span)

    for dtype in FLOAT:
        make(dtype, at("plain", dtype, (3, 5)), smooth=("x",) if dtype in ("f64", "f32") else ())
    make("first_axis", at("first", "f64", (4, 3)), 0, smooth=("x",))
    make("middle_axis", at("middle", "f64", (2, 3, 2)), -2, smooth=("x",))
    make("one_axis", at("one_axis", "f64", (7,)), smooth=("x",))
    make("ones", at("ones", "f64", (3, 1)), smooth=("x",))
    make("primes", at("primes", "f32", (7, 13)))
    make("beyond_tile", at("beyond", "f32", (3, 1031 // 4)), -1)
    make("large", at("large", "f64", (3, 5), 900))
    make("offset", given("f64", at("offset", "f64", (2, 5)).array + 10000.0))
    make("empty_axis", given("f32", np.zeros((3, 0))))
    make("empty_rest", given("f32", np.zeros((0, 3))))
    make("symbolic", at("symbolic", "f64", (2, 5)), types={"x": "B, T"}, smooth=("x",))
    make("nan", given("f64", [[1.0, NAN, 2.0], [NAN, -INF, -INF], [1.0, 2.0, 3.0]]))
    if op == "softmax":
        make("infinite", given("f64", [[1.0, INF, 2.0], [INF, INF, -INF], [1.0, 2.0, 3.0]]))
    masked = given("f64", [[1.0, -INF, 2.0], [-INF, -INF, -INF], [-INF, 0.5, -INF]])
    if op == "log_softmax":
        make("masked", masked)
        return
    weights = np.array([[1.0, 2.0, -1.0], [3.0, 1.0, 2.0], [1.0, 4.0, 2.0]])
    out = _along(masked.array, -1, _softmax)
    grad = out * (weights - (weights * out).sum(axis=1, keepdims=True))
    make("masked", masked, slopes=({"out": given("f64", weights)}, {"x": expected("f64", grad)}))


def _add_logsumexp(book):
    def make(name, x, axis=None, keepdims=False, types=None, **more):
        moved = np.moveaxis(x.array, -1 if axis is None else axis, -1)
        out = np.zeros(moved.shape[:-1])
        for place in np.ndindex(out.shape):
            out[place] = logsumexp([float(v) for v in moved[place]])
        if keepdims:
            out = np.expand_dims(out, -1 if axis is None else axis)
        attrs = ([] if axis is None else [f"axis = {axis}"]) + (["keepdims = true"]
                                                                if keepdims else [])
        book.add("logsumexp", name, {"x": x}, {"out": expected(x.dtype, out)}, ", ".join(attrs),
                 types, **more)

    def at(name, dtype, shape, span=3):
        return draw("logsumexp/" + name, dtype, shape, -span, span)

    for dtype in FLOAT:
        make(dtype, at("plain", dtype, (3, 5)), smooth=("x",) if dtype in ("f64", "f32") else ())
    make("first_axis", at("first", "f64", (4, 3)), 0, smooth=("x",))
    make("middle_keep", at("middle", "f64", (2, 3, 2)), -2, True, smooth=("x",))
    make("one_axis", at("one_axis", "f64", (7,)), smooth=("x",))
    make("ones", at("ones", "f64", (3, 1)), smooth=("x",))
    make("primes", at("primes", "f32", (7, 13)))
    make("beyond_tile", at("beyond", "f32", (7, 257)))
    make("large", at("large", "f64", (3, 5), 900))
    make("empty_axis", given("f64", np.zeros((3, 0))))
    make("empty_rest", given("f32", np.zeros((0, 3))))
    make("symbolic", at("symbolic", "f64", (2, 5)), types={"x": "B, T"}, smooth=("x",))
    make("specials", given("f64", [[1.0, NAN, 2.0], [INF, 1.0, 2.0], [INF, INF, -INF]]))
    masked = given("f64", [[1.0, -INF, 2.0], [-INF, -INF, -INF], [-INF, 0.5, -INF]])
    weights = np.array([1.0, 3.0, -2.0])
    grad = weights[:, None] * _along(masked.array, -1, _softmax)
    make("masked", masked, slopes=({"out": given("f64", weights)}, {"x": expected("f64", grad)}))


def _layer_norm(x, gain, bias, eps):
    mean = x.mean(axis=-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(variance + eps) * gain + bias


def _rms_norm(x, gain, eps):
    return x / np.sqrt((x ** 2).mean(axis=-1, keepdims=True) + eps) * gain


def _add_norms(book, op, default_eps):
    names = ("x", "gain", "bias") if op == "layer_norm" else ("x", "gain")

    def make(name, dtype, shape, eps=None, types=None, smooth=False, x=None):
        x = x or draw(f"{op}/{name}", dtype, shape, -3, 3)
        inputs = {"x": x}
        for part in names[1:]:
            inputs[part] = draw(f"{op}/{name}/{part}", dtype, x.array.shape[-1:], 0.5, 1.5)
        arrays = [t.array for t in inputs.values()] + [default_eps if eps is None else eps]
        out = _layer_norm(*arrays) if op == "layer_norm" else _rms_norm(*arrays)
        book.add(op, name, inputs, {"out": expected(x.dtype, out)},
                 "" if eps is None else f"eps = {eps}", types, smooth=names if smooth else ())

    for dtype in FLOAT:
        make(dtype, dtype, (3, 5), smooth=dtype in ("f64", "f32"))
    make("one_row", "f64", (7,), smooth=True)
    make("three_axes", "f64", (2, 3, 4), smooth=True)
    make("large_eps", "f64", (2, 5), eps=0.5, smooth=True)
    make("size_one", "f64", (3, 1), eps=0.25, smooth=True)
    make("primes", "f32", (7, 13))
    make("beyond_tile", "f32", (3, 257))
    make("empty_rest", "f32", (0, 4))
    make("constant_row", "f64", None, x=given("f64", np.full((2, 4), 1.5)))
    make("offset", "f64", None, x=given("f64", draw(op, "f64", (2, 5)).array + 64.0))
    make("nan", "f64", None, x=given("f64", [[1.0, NAN, 2.0], [1.0, 2.0, 4.0]]))
    dims = {"x": "B, T, 4", "gain": "4", "bias": "4"}
    make("symbolic", "f64", (2, 3, 4), types=dims, smooth=True)
    dims = {"x": "B, D", "gain": "D", "bias": "D"}
    make("symbolic_row", "f64", (2, 5), types=dims, smooth=True)


def add_cases(book):
    _add_softmaxes(book, "softmax", _softmax)
    _add_softmaxes(book, "log_softmax", _log_softmax)
    _add_logsumexp(book)
    _add_norms(book, "layer_norm", 1e-5)
    _add_norms(book, "rms_norm", 1e-6)
