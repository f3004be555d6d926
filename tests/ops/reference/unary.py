"""Elementwise ops of one operand, apart from cast and logic."""
# SPDX-License-Identifier: Apache-2.0
import math

import numpy as np

from .core import (FLOAT, INF, NAN, SIGNED, SIGNED_INTEGER, draw, expected, given, lift, wide)


def _exp(x):
    try:
        return math.exp(x)
    except OverflowError:
        return INF


def _log(x):
    if x == 0:
        return -INF
    return NAN if x < 0 else math.log(x)


def _sqrt(x):
    return NAN if x < 0 else math.sqrt(x)


def _rsqrt(x):
    return math.copysign(INF, x) if x == 0 else 1.0 / _sqrt(x)  # sqrt(-0) is -0


def _finite_only(function):
    return lambda x: NAN if math.isinf(x) else function(x)


def _sigmoid(x):
    return 1.0 / (1.0 + _exp(-x))


def _softplus(x):
    return x if math.isnan(x) else max(x, 0.0) + math.log1p(_exp(-abs(x)))


def _gelu(x):
    return 0.5 * x * (1.0 + math.erf(x / math.sqrt(2.0)))


def _gelu_tanh(x):
    return 0.5 * x * (1.0 + math.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x * x * x)))


def _whole(function):
    """floor, ceil or round of a number that need not be finite; a zero keeps the sign of x."""
    return lambda x: x if not math.isfinite(x) else math.copysign(function(x), x)


def _sign(x):
    return x if math.isnan(x) else float((x > 0) - (x < 0))


def _clamp(low, high):
    return lambda x: x if math.isnan(x) else min(max(x, low), high)


def _on_both(on_floats, on_integers):
    def apply(array):
        if array.dtype == object:
            return np.frompyfunc(on_integers, 1, 1)(array)
        return lift(on_floats)(array)

    return apply


# op: (formula, element types, range, points to keep away from, whether it has a gradient)
OPS = {
    "neg": (lambda a: -a, SIGNED, (-3, 3), (), True),
    "abs": (lambda a: np.abs(a), SIGNED, (-3, 3), (0.0,), True),
    "sign": (_on_both(_sign, lambda v: (v > 0) - (v < 0)), SIGNED, (-3, 3), (), False),
    "relu": (_on_both(lambda x: x if math.isnan(x) else max(x, 0.0), lambda v: max(v, 0)),
             SIGNED, (-3, 3), (0.0,), True),
    "floor": (lift(_whole(math.floor)), FLOAT, (-3, 3), (), False),
    "ceil": (lift(_whole(math.ceil)), FLOAT, (-3, 3), (), False),
    "round": (lift(_whole(round)), FLOAT, (-3, 3), (), False),
    "exp": (lift(_exp), FLOAT, (-4, 4), (), True),
    "log": (lift(_log), FLOAT, (0.25, 6), (), True),
    "sqrt": (lift(_sqrt), FLOAT, (0.25, 6), (), True),
    "rsqrt": (lift(_rsqrt), FLOAT, (0.25, 6), (), True),
    "tanh": (lift(math.tanh), FLOAT, (-3, 3), (), True),
    "erf": (lift(math.erf), FLOAT, (-3, 3), (), True),
    "sin": (lift(_finite_only(math.sin)), FLOAT, (-7, 7), (), True),
    "cos": (lift(_finite_only(math.cos)), FLOAT, (-7, 7), (), True),
    "sigmoid": (lift(_sigmoid), FLOAT, (-6, 6), (), True),
    "softplus": (lift(_softplus), FLOAT, (-6, 6), (), True),
    "silu": (lift(lambda x: x * _sigmoid(x)), FLOAT, (-6, 6), (), True),
}
SPECIALS = [NAN, INF, -INF, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 20.0, -20.0]
# Where the gradient is stated rather than a limit of differences: points, and slopes there.
AT_KINKS = {
    "abs": ([0.0, -0.0, 2.0, -2.0], [0.0, 0.0, 1.0, -1.0]),
    "relu": ([0.0, -0.0, 2.0, -2.0], [0.0, 0.0, 1.0, 0.0]),
}
EXTREMES = [1e300, -1e300, 1e-300, -1e-300, 5e-324, 1000.0, -1000.0, 700.0, -700.0]


def _add(book, op, formula, name, x, attrs="", types=None, **more):
    book.add(op, name, {"x": x}, {"out": expected(x.dtype, formula(x.array))}, attrs, types, **more)


def _add_shapes(book, op, formula, dtypes, span, away, smooth, attrs="", prefix=""):
    """Every element type and every kind of shape."""
    wrt = ("x",) if smooth else ()

    def make(name, dtype, shape, types=None, differences=()):
        integer_span = (-100, 100) if dtype not in FLOAT else span
        x = draw(f"{op}/{prefix}{name}", dtype, shape, *integer_span, away=away)
        _add(book, op, formula, prefix + name, x, attrs, types, smooth=differences)

    for dtype in dtypes:
        make(dtype, dtype, (3, 5), differences=wrt if dtype in ("f64", "f32") else ())
    make("scalar", "f64", (), differences=wrt)
    make("one", "f32", (1,))
    make("empty", "f32", (0, 3))
    make("primes", "f64", (7, 13))
    make("beyond_tile", "f32", (3, 129))
    make("symbolic", "f64", (2, 5), {"x": "B, T"}, wrt)


def _add_specials(book, op, formula, attrs="", prefix=""):
    for dtype in ("f64", "f32"):
        _add(book, op, formula, f"{prefix}specials_{dtype}", given(dtype, SPECIALS), attrs,
             zero_sign=op in ("neg", "abs", "sign", "floor", "ceil", "round", "sqrt"))


def _add_clamp(book):
    for name, low, high in (("", -1.0, 1.0), ("above_", 0.5, INF), ("below_", -INF, 0.25)):
        formula = lift(_clamp(low, high))
        attrs = f"min = {low}, max = {high}"
        away = [v for v in (low, high) if math.isfinite(v)]
        _add_specials(book, "clamp", formula, attrs, name)
        if name:
            x = draw("clamp/" + name, "f64", (3, 5), -3, 3, away=away)
            _add(book, "clamp", formula, name + "f64", x, attrs, smooth=("x",))
            continue
        _add_shapes(book, "clamp", formula, FLOAT, (-3, 3), away, True, attrs)
        x = given("f64", [-1.0, 1.0, 0.0, 2.0, -2.0])
        slope = expected("f64", [1.0, 1.0, 1.0, 0.0, 0.0])
        _add(book, "clamp", formula, "ends", x, attrs,
             slopes=({"out": given("f64", np.ones(5))}, {"x": slope}))


def add_cases(book):
    for op, (formula, dtypes, span, away, smooth) in OPS.items():
        _add_shapes(book, op, formula, dtypes, span, away, smooth)
        _add_specials(book, op, formula)
        if op not in ("rsqrt",):
            _add(book, op, formula, "extremes", given("f64", EXTREMES))
        if "i8" in dtypes:
            for dtype in SIGNED_INTEGER:
                _add(book, op, formula, f"ends_{dtype}", wide(op, dtype, (11,)))
        if op in AT_KINKS:
            points, slope = AT_KINKS[op]
            weights = given("f64", np.ones(len(points)))
            _add(book, op, formula, "kinks", given("f64", points),
                 slopes=({"out": weights}, {"x": expected("f64", slope)}))
    for name, scalar in (("none", _gelu), ("tanh", _gelu_tanh)):
        attrs = f'approximate = "{name}"'
        _add_shapes(book, "gelu", lift(scalar), FLOAT, (-4, 4), (), True, attrs, name + "_")
        _add_specials(book, "gelu", lift(scalar), attrs, name + "_")
    _add_clamp(book)
