"""Losses: cross_entropy, focal and mse."""
# SPDX-License-Identifier: Apache-2.0
import math

import numpy as np

from .core import FLOAT, INF, NAN, draw, expected, given, indices
from .rows import logsumexp


def _cross_entropy(row, target, smoothing):
    total = logsumexp(row)
    losses = [total - v for v in row]
    loss = (1.0 - smoothing) * losses[target]
    return loss + smoothing * math.fsum(losses) / len(row) if smoothing else loss


def _focal(row, target, gamma):
    log_p = row[target] - logsumexp(row)
    return -((1.0 - math.exp(log_p)) ** gamma) * log_p


def _rows(logits, targets, ignored, scalar):
    out = np.zeros(targets.shape)
    for place in np.ndindex(targets.shape):
        if targets[place] != ignored:
            out[place] = scalar([float(v) for v in logits[place]], int(targets[place]))
    return out


def _add_classified(book, op, scalar, choices):
    """What cross_entropy and focal share. `choices` are values of their own attribute."""
    attribute, default, others = choices

    def make(name, x, t, value=None, ignored=None, types=None, **more):
        chosen = default if value is None else value
        out = _rows(x.array, t.array, -100 if ignored is None else ignored,
                    lambda row, target: scalar(row, target, chosen))
        attrs = ([] if value is None else [f"{attribute} = {value}"]) + \
            ([] if ignored is None else [f"ignore_index = {ignored}"])
        book.add(op, name, {"x": x, "t": t}, {"out": expected(x.dtype, out)}, ", ".join(attrs),
                 types, **more)

    def logits(name, dtype, shape, span=3):
        return draw(f"{op}/{name}", dtype, shape, -span, span)

    wrt = {"smooth": ("x",)}
    for dtype in FLOAT:
        make(dtype, logits("plain", dtype, (3, 5)), indices(op, "i32", (3,), 5),
             **(wrt if dtype in ("f64", "f32") else {}))
    make("i64_targets", logits("i64", "f64", (2, 3, 4)), indices(op, "i64", (2, 3), 4), **wrt)
    for i, value in enumerate(others):
        make(f"{attribute}_{i}", logits("choice", "f64", (3, 5)), given("i32", [4, 0, 2]), value,
             **wrt)
    make("ignored", logits("ignored", "f64", (4, 3)), given("i32", [0, -100, 2, -100]), **wrt)
    make("ignored_class", logits("ignored_class", "f64", (4, 3)), given("i32", [0, 1, 1, 2]),
         others[0], 1, **wrt)
    make("all_ignored", logits("all_ignored", "f64", (2, 3)), given("i32", [-100, -100]), **wrt)
    make("one_position", logits("one", "f64", (7,)), given("i32", 3), **wrt)
    make("one_class", logits("one_class", "f64", (3, 1)), given("i32", [0, 0, 0]), **wrt)
    make("large", logits("large", "f64", (3, 5), 900), given("i32", [0, 1, 2]))
    make("primes", logits("primes", "f32", (7, 13)), indices(op, "i32", (7,), 13))
    make("beyond_tile", logits("beyond", "f32", (3, 257)), indices(op, "i32", (3,), 257))
    make("empty", given("f32", np.zeros((0, 3))), given("i32", np.zeros((0,))))
    make("symbolic", logits("symbolic", "f64", (2, 3, 4)), indices(op, "i32", (2, 3), 4),
         types={"x": "B, T, 4", "t": "B, T"}, **wrt)
    masked = given("f64", [[1.0, -INF, 2.0], [0.5, 1.0, -INF]])
    make("masked_classes", masked, given("i32", [0, 1]))
    broken = given("f64", [[NAN, 1.0, 2.0], [NAN, INF, -INF], [1.0, 2.0, 3.0]])
    make("ignored_nan", broken, given("i32", [0, -100, -100]))
    for name, bad in (("error_above", 3), ("error_negative", -1)):
        book.add(op,
                 name, {"x": logits(name, "f32", (2, 3)), "t": given("i32", [0, bad])},
                 {"out": None},
                 error=op)


def _add_ignored_slopes(book):
    """A row that is ignored sends nothing back, whatever its logits are."""
    x = given("f64", [[NAN, INF, 2.0], [0.0, 0.0, 0.0]])
    grad = [[0.0, 0.0, 0.0], [-1.0, 0.5, 0.5]]
    book.add("cross_entropy", "ignored_slopes", {"x": x, "t": given("i32", [-100, 0])},
             {"out": expected("f64", [0.0, math.log(3.0)])},
             slopes=({"out": given("f64", [1.0, 1.5])}, {"x": expected("f64", grad)}))


def _add_mse(book):
    def make(name, dtype, shape, types=None, smooth=True, values=None):
        x, y = values or (draw(f"mse/{name}/{side}", dtype, shape, -3, 3) for side in "xy")
        squares = [float(a - b) ** 2 for a, b in zip(x.array.ravel(), y.array.ravel())]
        finite = all(map(math.isfinite, squares))
        mean = (math.fsum(squares) if finite else sum(squares)) / len(squares) if squares else NAN
        book.add("mse", name, {"x": x, "y": y}, {"out": expected(dtype, mean)}, types=types,
                 smooth=("x", "y") if smooth else ())

    for dtype in FLOAT:
        make(dtype, dtype, (3, 5), smooth=dtype in ("f64", "f32"))
    make("scalar", "f64", ())
    make("one", "f64", (1, 1))
    make("three_axes", "f64", (2, 3, 2))
    make("primes", "f32", (7, 13), smooth=False)
    make("beyond_tile", "f32", (67, 33), smooth=False)
    make("empty", "f64", (0, 3), smooth=False)
    make("symbolic", "f64", (2, 3), {"x": "B, T", "y": "B, T"})
    equal = draw("mse/equal", "f64", (2, 3))
    make("equal", "f64", None, smooth=False, values=(equal, equal))
    make("nan",
         "f64",
         None,
         smooth=False,
         values=(given("f64", [1.0, NAN]), given("f64", [1.0, 2.0])))
    make("infinite",
         "f64",
         None,
         smooth=False,
         values=(given("f64", [1.0, INF]), given("f64", [1.0, 2.0])))


def add_cases(book):
    _add_classified(book, "cross_entropy", _cross_entropy,
                    ("label_smoothing", 0.0, (0.1, 0.5, 1.0)))
    _add_classified(book, "focal", _focal, ("gamma", 2.0, (0.0, 1.0, 3.5)))
    _add_ignored_slopes(book)
    _add_mse(book)
