"""Elementwise ops of two operands: add sub mul div floordiv mod pow minimum maximum."""
# SPDX-License-Identifier: Apache-2.0
import math

import numpy as np

from .core import (FLOAT, INF, INTEGER, NAN, NUMERIC, SIGNED_INTEGER, distinct, draw, expected,
                   given, highest, lift, lowest, wide)


def _integer_or_float(on_integers, on_floats):
    def apply(a, b):
        a, b = np.broadcast_arrays(a, b)
        if a.dtype == object:
            return np.frompyfunc(on_integers, 2, 1)(a, b)
        return on_floats(a.astype(float), b.astype(float))
    return apply


def _pow(x, y):
    try:
        return math.pow(x, y)
    except (ValueError, OverflowError):
        return float(np.power(np.float64(x), np.float64(y)))


def _extreme(pick):
    def scalar(a, b):
        return NAN if math.isnan(a) or math.isnan(b) else pick(a, b)
    return scalar


FORMULAS = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "floordiv": _integer_or_float(lambda a, b: a // b if b else 0, None),
    "mod": _integer_or_float(lambda a, b: a % b if b else 0, np.mod),
    "pow": lift(_pow),
    "minimum": _integer_or_float(min, lift(_extreme(min))),
    "maximum": _integer_or_float(max, lift(_extreme(max))),
}
DTYPES = {op: NUMERIC for op in FORMULAS}
DTYPES["div"] = DTYPES["pow"] = FLOAT
DTYPES["floordiv"] = INTEGER

# lhs and rhs in pairs.
SPECIALS = {
    "mod": ([5.5, -5.5, 5.5, -5.5, 1.0, 0.0, NAN, 1.0, INF, 6.0, -6.0, 1.5, -1.5, 1.5, -1.5, 0.0,
             INF, 1e30, -1e30, 1e30, 3e38],
            [2.0, 2.0, -2.0, -2.0, 0.0, 0.0, 1.0, NAN, 2.0, 2.0, -3.0, INF, INF, -INF, -INF, INF,
             INF, 3.0, 0.75, 7.0, 1.5e-3]),
    "pow": ([NAN, 1.0, 0.0, 0.0, 0.0, -8.0, -8.0, -2.0, -2.0, INF, INF, -INF, 4.0, 0.25, 2.0, 1.0],
            [0.0, NAN, 0.0, -1.0, 2.0, 1 / 3, 2.0, 3.0, -1.0, -1.0, 0.5, 3.0, INF, INF, NAN, INF]),
}
ALL_PAIRS = [NAN, INF, -INF, 0.0, -0.0, 1.0, -1.0, 2.5]


def _operands(op, dtype, key, left, right):
    """Operands in the domain of the op, away from jumps and ties where differences are taken."""
    key = f"{op}/{key}"
    lhs = draw(key + "/lhs", dtype, left, -6 if dtype in FLOAT else -50,
               6 if dtype in FLOAT else 50)
    rhs = draw(key + "/rhs", dtype, right, -6 if dtype in FLOAT else -9, 6 if dtype in FLOAT else 9)
    if dtype not in FLOAT:
        return lhs, rhs
    if op == "pow":
        return draw(key + "/base", dtype, left, 0.25, 2.5), draw(key, dtype, right, -2.0, 2.5)
    if op in ("div", "mod"):
        rhs = draw(key + "/divisor", dtype, right, -4.0, 4.0, away=(0.0,))
        if op == "mod":  # 0.375 of rhs above a multiple of it: far from the jumps
            whole = np.floor(lhs.array / 3)
            if rhs.array.size == 1 or left == right:
                lhs = given(dtype, (whole + 0.375) * np.abs(rhs.array))
    if op in ("minimum", "maximum"):
        both = distinct(key, dtype, (lhs.array.size + rhs.array.size,)).array
        lhs = given(dtype, both[:lhs.array.size].reshape(left))
        rhs = given(dtype, both[lhs.array.size:].reshape(right))
    return lhs, rhs


def _add(book, op, name, dtype, left, right, types=None, smooth=False):
    lhs, rhs = _operands(op, dtype, name, left, right)
    out = expected(dtype, FORMULAS[op](lhs.array, rhs.array))
    book.add(op, name, {"x": lhs, "y": rhs}, {"out": out}, types=types,
             smooth=("x", "y") if smooth else ())


def _add_specials(book, op):
    if op in SPECIALS:
        lhs, rhs = (np.array(side, dtype=float) for side in SPECIALS[op])
    else:
        lhs, rhs = (side.ravel() for side in np.meshgrid(ALL_PAIRS, ALL_PAIRS))
    for dtype in ("f64", "f32"):
        x, y = given(dtype, lhs), given(dtype, rhs)
        out = expected(dtype, FORMULAS[op](x.array, y.array))
        book.add(op, f"specials_{dtype}", {"x": x, "y": y}, {"out": out},
                 zero_sign=op in ("add", "sub", "mul", "div"))


def _add_integer_ends(book, op):
    for dtype in INTEGER:
        x, y = wide(op + "/x", dtype, (13,)), wide(op + "/y", dtype, (13,))
        if op in ("floordiv", "mod"):
            ends = [(lowest(dtype), -1), (highest(dtype), -1), (lowest(dtype), 1), (5, 0), (0, 0),
                    (lowest(dtype), highest(dtype)), (-7, 2), (7, -2), (-7, -2), (7, 2), (6, 3)]
            if dtype not in SIGNED_INTEGER:
                ends = [(a, b) for a, b in ends if a >= 0 and b >= 0]
            x, y = (given(dtype, list(side)) for side in zip(*ends))
        out = expected(dtype, FORMULAS[op](x.array, y.array))
        book.add(op, f"ends_{dtype}", {"x": x, "y": y}, {"out": out})


# Where the two sides tie: half of the gradient each.
def _add_ties(book, op):
    x, y = given("f64", [1.0, 2.0, -1.0, 0.5]), given("f64", [1.0, 3.0, -2.0, 0.5])
    weights = given("f64", [1.0, 2.0, 3.0, -4.0])
    x_wins = [0.5, 0.0, 1.0, 0.5] if op == "maximum" else [0.5, 1.0, 0.0, 0.5]
    x_grad = weights.array * np.array(x_wins)
    out = expected("f64", FORMULAS[op](x.array, y.array))
    book.add(op, "ties", {"x": x, "y": y}, {"out": out},
             slopes=({"out": weights}, {"x": expected("f64", x_grad),
                                        "y": expected("f64", weights.array - x_grad)}))


def _add_pow_slopes(book):
    x, y = given("f64", [0.0, 0.0, -2.0, -1.5, 2.0]), given("f64", [2.0, 1.0, 3.0, 2.0, 0.0])
    slopes = {"x": expected("f64", [0.0, 1.0, 12.0, -3.0, 0.0]),
              "y": expected("f64", [0.0, 0.0, 0.0, 0.0, math.log(2.0)])}
    book.add("pow", "slopes_at_zero_and_below", {"x": x, "y": y},
             {"out": expected("f64", FORMULAS["pow"](x.array, y.array))},
             slopes=({"out": given("f64", np.ones(5))}, slopes))


def add_cases(book):
    for op in FORMULAS:
        main = DTYPES[op][0]
        real = main in FLOAT
        for dtype in DTYPES[op]:
            _add(book, op, dtype, dtype, (3, 5), (3, 5), smooth=dtype == "f64")
        _add(book, op, "scalars", main, (), (), smooth=real)
        _add(book, op, "ones", main, (1,), (1, 1, 1))
        _add(book, op, "scalar_and_tensor", main, (), (2, 3), smooth=real and op != "mod")
        _add(book, op, "tensor_and_scalar", main, (2, 3), (), smooth=real)
        _add(book, op, "stretch_both", main, (2, 1, 3), (5, 1), smooth=real and op != "mod")
        _add(book, op, "primes", main, (7, 13), (13,))
        _add(book, op, "empty", main, (0, 3), (1, 3))
        _add(book, op, "symbolic", main, (2, 5), (5,), {"x": "B, T", "y": "T"},
             smooth=real and op != "mod")
        _add(book, op, "beyond_tile", main, (67, 1), (129,) if op == "add" else (1, 5))
        if real:
            _add_specials(book, op)
        if "i8" in DTYPES[op]:
            _add_integer_ends(book, op)
    _add_ties(book, "minimum")
    _add_ties(book, "maximum")
    _add_pow_slopes(book)
