"""cast: every element type to every other, with exact arithmetic."""
# SPDX-License-Identifier: Apache-2.0
import fractions
import math

import numpy as np

from .core import (ANY, FLOAT, INF, NAN, Tensor, _BF16, draw, expected, given, highest, lowest,
                   round_to, statement, wide, wrap)

REALS = [
    NAN, INF, -INF, 0.0, -0.0, 0.5, -0.5, 0.75, -0.75, 1.5, 2.5, -1.5, 127.0, 128.0, -128.0, -129.0,
    255.0, 256.0, 300.0, 65504.0, 65519.0, 65520.0, -65520.0, 2147483647.0, 2147483648.0,
    -2147483649.0, 4294967295.0, 4294967296.0, 9223372036854775807.0, -1e19, 1e20, 1e-8, 3e-8,
    2.0**-24, 2.0**-25, 1.5 * 2.0**-24, 1e-40, -1e-45, 1e-46, 3.4e38, 3.5e38, 1e308, 1.0 + 2.0**-8,
    1.0 + 3 * 2.0**-8, 1.0 + 2.0**-11, 1.0 + 3 * 2.0**-11, 1.0 + 2.0**-24, 1.0 + 3 * 2.0**-24,
    1.0 + 2.0**-8 + 2.0**-40, 0.1
]
# Integers halfway between two floats, and one beside it that f64 cannot tell from the half.
HALVES = [
    2**24 + 1, 2**24 + 3, 2**53 + 1, 2**53 + 3, 2**60 + 2**36, 2**60 + 2**36 + 1, 2**60 + 2**52 + 1,
    2049, 2051, 257, 259, 65519, 65520
]


def _nearest(dtype, value):
    """An integer as the nearest float, without a detour that rounds twice."""
    if dtype == "f64":
        return float(value)
    rounded = float(round_to(dtype, float(value)))
    if not math.isfinite(rounded):
        return rounded
    step = {"f32": lambda v, to: float(np.nextafter(np.float32(v), np.float32(to))),
            "f16": lambda v, to: float(np.nextafter(np.float16(v), np.float16(to))),
            "bf16": _bf16_beside}[dtype]
    near = [c for c in (rounded, step(rounded, INF), step(rounded, -INF)) if math.isfinite(c)]
    distance = {c: abs(fractions.Fraction(c) - value) for c in near}
    best = min(distance.values())
    ties = [c for c in near if distance[c] == best]
    return ties[0] if len(ties) == 1 else rounded


def _bf16_beside(value, to):
    place = int(np.searchsorted(_BF16, abs(value)))
    place += 1 if (to > 0) == (value >= 0) else -1
    return math.copysign(_BF16[place], value) if 0 <= place < len(_BF16) else math.copysign(INF, to)


def _to_integer(dtype, value):
    if math.isnan(value):
        return 0
    if math.isinf(value):
        return highest(dtype) if value > 0 else lowest(dtype)
    return min(max(int(value), lowest(dtype)), highest(dtype))


def convert(tensor, dtype):
    source, array = tensor.dtype, tensor.array
    if dtype == "bool":
        return Tensor("bool", array != 0)
    if source in FLOAT and dtype in FLOAT:
        return Tensor(dtype, round_to(dtype, array))
    if dtype in FLOAT:
        return Tensor(dtype, np.vectorize(lambda v: _nearest(dtype, int(v)), otypes=[float])(array))
    if source in FLOAT:
        return Tensor(dtype, np.vectorize(lambda v: _to_integer(dtype, v), otypes=[object])(array))
    return Tensor(dtype, np.vectorize(lambda v: wrap(dtype, int(v)), otypes=[object])(array))


def _to_all(book, name, x, types=None):
    targets = ANY
    lines = [statement("cast", ["x"], [f"to_{t}"], f"dtype = {t}") for t in targets]
    book.add("cast", name, {"x": x}, {f"to_{t}": convert(x, t) for t in targets}, types=types,
             lines=lines, zero_sign=True)


def add_cases(book):
    for dtype in ANY:
        if dtype in FLOAT:
            values = given(dtype, REALS)
        elif dtype == "bool":
            values = given(dtype, [False, True, True])
        else:
            inside = [v for v in HALVES if v <= highest(dtype)]
            values = given(dtype, list(wide("cast", dtype, (13,)).array) + inside)
        _to_all(book, f"from_{dtype}", values)
    _to_all(book, "scalar", given("f32", 2.5))
    _to_all(book, "empty", given("f32", np.zeros((0, 3))))
    _to_all(book, "symbolic", draw("cast/symbolic", "f64", (2, 5)), {"x": "B, T"})
    _to_all(book, "primes", draw("cast/primes", "i32", (7, 13), -1000, 1000))
    for source in ("f64", "f32"):  # to f64 nothing is rounded, so differences see a slope of 1
        x = draw("cast/smooth", source, (3, 5))
        book.add("cast", f"smooth_{source}", {"x": x}, {"out": expected("f64", x.array)},
                 "dtype = f64", smooth=("x",))
    x, weights = given("f64", [0.1, 1.0 / 3.0, -2.0]), given("f16", [0.5, -1.0, 2.0])
    book.add("cast", "slope_through_rounding", {"x": x}, {"out": convert(x, "f16")}, "dtype = f16",
             slopes=({"out": weights}, {"x": expected("f64", weights.array)}))
