"""Comparisons, logic, select and is_finite."""
# SPDX-License-Identifier: Apache-2.0
import operator

import numpy as np

from .core import ANY, FLOAT, INF, INTEGER, NAN, NUMERIC, draw, expected, given, wide

COMPARE = {"eq": (operator.eq, ANY), "ne": (operator.ne, ANY), "lt": (operator.lt, NUMERIC),
           "le": (operator.le, NUMERIC), "gt": (operator.gt, NUMERIC), "ge": (operator.ge, NUMERIC)}
LOGIC = {"logical_and": np.logical_and, "logical_or": np.logical_or, "logical_xor": np.logical_xor}
SPECIALS = [NAN, INF, -INF, 0.0, -0.0, 1.0, -1.0]


def _add_pair(book, op, formula, name, x, y, types=None):
    out = expected("bool", np.asarray(formula(x.array, y.array), dtype=bool))
    book.add(op, name, {"x": x, "y": y}, {"out": out}, types=types)


def _add_pairs(book, op, formula, dtypes):
    def make(name, dtype, left, right, types=None):
        x, y = (draw(f"{op}/{name}/{side}", dtype, shape, -2, 2)
                for side, shape in (("x", left), ("y", right)))
        _add_pair(book, op, formula, name, x, y, types)

    for dtype in dtypes:
        make(dtype, dtype, (5, 7), (5, 7))
    main = dtypes[-1]
    make("scalars", main, (), ())
    make("ones", main, (1,), (1, 1))
    make("stretch_both", main, (2, 1, 3), (5, 1))
    make("primes", main, (7, 13), (13,))
    make("empty", main, (0, 3), (1, 3))
    make("symbolic", main, (2, 5), (5,), {"x": "B, T", "y": "T"})
    make("beyond_tile", main, (3, 129), (129,))


def _add_select(book):
    def make(name, dtype, condition, on_true, on_false, types=None, smooth=()):
        c = draw(f"select/{name}/c", "bool", condition)
        x, y = (draw(f"select/{name}/{side}", dtype, shape, -9, 9)
                for side, shape in (("x", on_true), ("y", on_false)))
        out = expected(dtype, np.where(c.array, x.array, y.array))
        book.add("select", name, {"c": c, "x": x, "y": y}, {"out": out}, types=types, smooth=smooth)

    for dtype in ANY:
        make(dtype, dtype, (3, 5), (3, 5), (3, 5), smooth=("x", "y") if dtype == "f64" else ())
    make("scalars", "f64", (), (), (), smooth=("x", "y"))
    make("scalar_condition", "f64", (), (2, 3), (3,), smooth=("x", "y"))
    make("stretch_all", "f64", (2, 1, 1), (3, 1), (1, 5), smooth=("x", "y"))
    make("empty", "f32", (0, 3), (1, 3), ())
    make("symbolic", "f64", (2, 1), (2, 5), (5,), {"c": "B, 1", "x": "B, T", "y": "T"}, ("x", "y"))
    make("beyond_tile", "i8", (3, 129), (3, 129), (129,))
    c = given("bool", [True, False, True, False])
    x, y = given("f64", [1.0, NAN, -INF, INF]), given("f64", [NAN, 2.0, INF, -1.0])
    weights = given("f64", [1.0, 2.0, 3.0, 4.0])
    book.add("select", "side_not_taken", {"c": c, "x": x, "y": y},
             {"out": expected("f64", [1.0, 2.0, -INF, -1.0])},
             slopes=({"out": weights}, {"x": expected("f64", [1.0, 0.0, 3.0, 0.0]),
                                        "y": expected("f64", [0.0, 2.0, 0.0, 4.0])}))


def _add_single(book, op, dtype, formula, name, shape, types=None):
    x = draw(f"{op}/{name}", dtype, shape)
    book.add(op, name, {"x": x}, {"out": expected("bool", formula(x.array))}, types=types)


def add_cases(book):
    for op, (formula, dtypes) in COMPARE.items():
        _add_pairs(book, op, formula, dtypes)
        for dtype in ("f64", "f32"):
            x, y = (given(dtype, side.ravel()) for side in np.meshgrid(SPECIALS, SPECIALS))
            _add_pair(book, op, formula, f"specials_{dtype}", x, y)
        for dtype in INTEGER:  # the ends tell signed from unsigned comparisons
            x, y = wide(op + "/x", dtype, (13,)), wide(op + "/y", dtype, (13,))
            _add_pair(book, op, formula, f"ends_{dtype}", x, y)
    for op, formula in LOGIC.items():
        _add_pairs(book, op, formula, ("bool",))
    _add_select(book)
    shapes = {
        "scalar": (), "one": (1, ), "empty": (0, 3), "primes": (7, 13), "beyond_tile": (3, 129)
    }
    for name, shape in shapes.items():
        _add_single(book, "logical_not", "bool", np.logical_not, name, shape)
        _add_single(book, "is_finite", "f32", np.isfinite, name, shape)
    _add_single(book, "logical_not", "bool", np.logical_not, "symbolic", (2, 5), {"x": "B, T"})
    _add_single(book, "is_finite", "f32", np.isfinite, "symbolic", (2, 5), {"x": "B, T"})
    for dtype in FLOAT:
        x = given(dtype, [NAN, INF, -INF, 0.0, -0.0, 1.0, -3.5, 60000.0])
        book.add("is_finite", f"specials_{dtype}", {"x": x},
                 {"out": expected("bool", np.isfinite(x.array))})
