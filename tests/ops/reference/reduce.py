"""matmul, reductions along axes, argmax, cumsum, top_k and global_norm."""
# SPDX-License-Identifier: Apache-2.0
import math

import numpy as np

from .core import (ANY, FLOAT, INF, INTEGER, NAN, NUMERIC, distinct, draw, expected, given, highest,
                   lowest, wide)


def _fold(dtype, array, axes, keepdims, function):
    """`function` of the list of elements along `axes`, for each place of the rest."""
    rank = array.ndim
    axes = sorted(a % rank for a in axes) if rank else []
    rest = [a for a in range(rank) if a not in axes]
    moved = np.transpose(array, rest + axes)
    kept = [array.shape[a] for a in rest]
    rows = moved.reshape([math.prod(kept), math.prod(array.shape[a] for a in axes)])
    out = np.empty(len(rows), dtype=object)
    for i, row in enumerate(rows):
        out[i] = function(dtype, list(row))
    shape = [1 if a in axes else array.shape[a] for a in range(rank)] if keepdims else kept
    return out.reshape(shape)


def _largest(dtype, values):
    if dtype in FLOAT:
        return NAN if any(math.isnan(v) for v in values) else max(values, default=-INF)
    return max(values, default=lowest(dtype))


def _smallest(dtype, values):
    if dtype in FLOAT:
        return NAN if any(math.isnan(v) for v in values) else min(values, default=INF)
    return min(values, default=highest(dtype))


def _sum(dtype, values):
    return sum(values) if dtype not in FLOAT or not all(map(math.isfinite, values)) \
        else math.fsum(values)


def _mean(dtype, values):
    return _sum(dtype, values) / len(values) if values else NAN


def _prod(dtype, values):
    del dtype
    product = 1
    for value in values:
        product = product * value
    return product


REDUCE = {
    "sum": (_sum, NUMERIC, True), "mean": (_mean, FLOAT, True), "prod": (_prod, NUMERIC, True),
    "max": (_largest, NUMERIC, True), "min": (_smallest, NUMERIC, True),
    "any": (lambda dtype, values: any(values), ("bool",), False),
    "all": (lambda dtype, values: all(values), ("bool",), False),
}
# name, shape, axes, keepdims
SHAPES = [("first", (3, 5), [0], False), ("last", (3, 5), [-1], False), ("keep", (3, 5), [1], True),
          ("outer_axes", (2, 3, 4), [0, -1], False), ("outer_keep", (2, 3, 4), [0, 2], True),
          ("everything", (2, 3, 2), [0, 1, 2], False), ("nothing", (3, 5), [], False),
          ("scalar", (), [], False), ("ones", (1, 1), [1], False), ("primes", (7, 13), [1], False),
          ("empty_axis", (3, 0), [1], False), ("empty_rest", (0, 3), [1], False),
          ("beyond_tile", (67, 129), [0], False)]


def _draw_for(op, key, dtype, shape, smooth):
    if smooth and op in ("max", "min"):
        return distinct(f"{op}/{key}", dtype, shape)
    span = (0.5, 1.5) if op == "prod" and dtype in FLOAT else (-3, 3)
    return draw(f"{op}/{key}", dtype, shape, *span)


def _add_reduce(book, op, name, x, axes, keepdims=False, types=None, **more):
    out = _fold(x.dtype, x.array, axes, keepdims, REDUCE[op][0])
    attrs = f"axes = {axes}" + (", keepdims = true" if keepdims else "")
    book.add(op, name, {"x": x}, {"out": expected(x.dtype, out)}, attrs, types, **more)


def _add_reductions(book, op):
    _, dtypes, smooth = REDUCE[op]
    for dtype in dtypes:
        _add_reduce(book, op, dtype, draw(f"{op}/{dtype}", dtype, (3, 5), -3, 3), [1])
        if dtype in INTEGER:
            _add_reduce(book, op, f"ends_{dtype}", wide(op, dtype, (2, 7)), [1])
    main = dtypes[0]
    for name, shape, axes, keepdims in SHAPES:
        x = _draw_for(op, name, main, shape, smooth)
        differences = ("x",) if smooth and 0 < x.array.size <= 30 else ()
        _add_reduce(book, op, name, x, axes, keepdims, smooth=differences)
    _add_reduce(book, op, "symbolic", _draw_for(op, "symbolic", main, (2, 5), smooth), [1],
                types={"x": "B, T"}, smooth=("x",) if smooth else ())
    if smooth:
        rows = [[NAN, 1.0, 2.0], [INF, 1.0, -2.0], [-INF, 1.0, 2.0], [INF, -INF, 1.0],
                [-INF, -INF, -INF], [0.0, -0.0, 0.0], [1.0, 2.0, NAN]]
        _add_reduce(book, op, "specials", given("f64", rows), [1])
        _add_reduce(book, op, "empty_integers", given("i8", np.zeros((2, 0))), [1]) \
            if "i8" in dtypes else None


def _add_extremum_ties(book):
    for op, sign in (("max", 1.0), ("min", -1.0)):
        x = given("f64", sign * np.array([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0], [5.0, 1.0, 2.0]]))
        weights = given("f64", [1.0, 3.0, 2.0])
        grad = expected("f64", [[0.0, 0.5, 0.5], [1.0, 1.0, 1.0], [2.0, 0.0, 0.0]])
        _add_reduce(book, op, "ties", x, [1], slopes=({"out": weights}, {"x": grad}))


def _add_matmul(book):
    def make(name, dtype, left, right, types=None, smooth=()):
        x, y = (draw(f"matmul/{name}/{side}", dtype, shape, -3, 3)
                for side, shape in (("x", left), ("y", right)))
        if dtype in INTEGER and name.startswith("ends"):
            x, y = wide("matmul/x", dtype, left), wide("matmul/y", dtype, right)
        product = np.matmul(x.array, y.array)
        book.add("matmul", name, {"x": x, "y": y}, {"out": expected(dtype, product)}, types=types,
                 smooth=smooth)

    both = ("x", "y")
    for dtype in NUMERIC:
        make(dtype, dtype, (3, 4), (4, 2), smooth=both if dtype in ("f64", "f32") else ())
        if dtype in INTEGER:
            make(f"ends_{dtype}", dtype, (2, 5), (5, 3))
    make("ones", "f32", (1, 1), (1, 1))
    make("row_and_column", "f64", (1, 7), (7, 1), smooth=both)
    make("batch", "f64", (2, 3, 4), (2, 4, 2), smooth=both)
    make("batch_stretch", "f64", (2, 1, 2, 3), (3, 3, 2), smooth=both)
    make("one_weight", "f64", (2, 3, 4), (4, 2), smooth=both)
    make("one_input", "f64", (2, 3), (2, 3, 2), smooth=both)
    make("primes", "f32", (7, 13), (13, 5))
    make("beyond_tile", "f16", (67, 33), (33, 129))
    make("empty_inner", "f64", (2, 0), (0, 3))
    make("empty_rows", "f32", (0, 3), (3, 2))
    make("empty_batch", "f32", (0, 2, 3), (3, 2))
    make("symbolic", "f64", (2, 3, 4), (4, 2), {"x": "B, T, 4", "y": "4, 2"}, both)
    x = given("f64", [[NAN, 0.0], [INF, 1.0], [0.0, 0.0]])
    y = given("f64", [[1.0, 0.0], [2.0, INF]])
    out = [[NAN, NAN], [INF, NAN], [0.0, NAN]]
    book.add("matmul", "specials", {"x": x, "y": y}, {"out": expected("f64", out)})


def _order(values):
    """Positions from the largest down; NaN is the largest, of equal ones the first leads."""
    def rank(i):
        nan = isinstance(values[i], float) and math.isnan(values[i])
        return (0 if nan else 1, 0 if nan else -values[i], i)
    return sorted(range(len(values)), key=rank)


def _add_argmax(book):
    def make(name, x, axis, keepdims=False, types=None):
        out = _fold(x.dtype, x.array, [axis], keepdims, lambda _, values: _order(values)[0])
        attrs = f"axis = {axis}" + (", keepdims = true" if keepdims else "")
        book.add("argmax", name, {"x": x}, {"out": expected("i32", out)}, attrs, types)

    for dtype in NUMERIC:
        make(dtype, draw("argmax", dtype, (4, 7), -5, 5), 1)
    make("ends", wide("argmax", "u32", (3, 7)), 1)
    make("first_axis", draw("argmax/first", "f32", (5, 3), -3, 3), 0)
    make("middle_keep", draw("argmax/middle", "f32", (2, 5, 3), -3, 3), -2, True)
    make("ones", given("f32", [[2.0]]), 1)
    make("primes", draw("argmax/primes", "f32", (7, 13), -3, 3), 1)
    make("beyond_tile", draw("argmax/beyond", "f32", (3, 257), -3, 3), 1)
    make("empty_rest", given("f32", np.zeros((0, 3))), 1)
    make("ties", given("f64", [[1.0, 3.0, 3.0], [2.0, 2.0, 2.0], [-0.0, 0.0, -0.0]]), 1)
    make("specials", given("f64", [[1.0, NAN, INF, NAN], [-INF, -INF, -INF, -INF],
                                   [INF, 1.0, INF, 2.0]]), 1)
    make("symbolic", draw("argmax/symbolic", "f64", (2, 5)), 1, types={"x": "B, T"})


def _add_cumsum(book):
    def make(name, x, axis, exclusive=False, reverse=False, types=None, smooth=()):
        moved = np.moveaxis(x.array, axis, -1)
        out = np.zeros(moved.shape, dtype=moved.dtype)
        for place in np.ndindex(moved.shape):
            row, i = moved[place[:-1]], place[-1]
            start, stop = (i, len(row)) if reverse else (0, i + 1)
            if exclusive:
                start, stop = (start + 1, stop) if reverse else (start, stop - 1)
            out[place] = sum(row[start:stop])
        attrs = f"axis = {axis}" + (", exclusive = true" if exclusive else "") + \
            (", reverse = true" if reverse else "")
        out = expected(x.dtype, np.moveaxis(out, -1, axis))
        book.add("cumsum", name, {"x": x}, {"out": out}, attrs, types, smooth=smooth)

    for dtype in NUMERIC:
        make(dtype, draw("cumsum", dtype, (3, 5)), 1, smooth=("x",) if dtype == "f64" else ())
        if dtype in INTEGER:
            make(f"ends_{dtype}", wide("cumsum", dtype, (7,)), 0)
    x = draw("cumsum/choices", "f64", (2, 4, 3))
    for exclusive in (False, True):
        for reverse in (False, True):
            name = f"{'exclusive' if exclusive else 'inclusive'}{'_reverse' if reverse else ''}"
            make(name, x, -2, exclusive, reverse, smooth=("x",))
    make("one", given("f32", [[2.0]]), 0)
    make("primes", draw("cumsum/primes", "f64", (13, 7)), 0)
    make("beyond_tile", draw("cumsum/beyond", "f32", (3, 257)), 1)
    make("empty_axis", given("f32", np.zeros((3, 0))), 1)
    make("empty_rest", given("f32", np.zeros((0, 3))), 1, True)
    make("specials", given("f64", [[1.0, NAN, 2.0], [INF, 1.0, -INF], [-INF, 2.0, 1.0]]), 1)
    make("symbolic", draw("cumsum/symbolic", "f64", (2, 5)), 1, types={"x": "B, T"}, smooth=("x",))


def _add_top_k(book):
    def make(name, x, k, types=None, smooth=()):
        shape = x.array.shape[:-1] + (k,)
        values, places = np.zeros(shape, dtype=x.array.dtype), np.zeros(shape, dtype=object)
        for place in np.ndindex(x.array.shape[:-1]):
            order = _order(list(x.array[place]))[:k]
            values[place], places[place] = x.array[place][order], order
        outputs = {"values": expected(x.dtype, values), "indices": expected("i32", places)}
        book.add("top_k", name, {"x": x}, outputs, f"k = {k}", types, smooth=smooth)

    for dtype in NUMERIC:
        make(dtype, draw("top_k", dtype, (3, 7), -5, 5), 3)
    make("ends", wide("top_k", "u32", (2, 9)), 4)
    make("smooth", distinct("top_k/smooth", "f64", (2, 3, 5)), 2, smooth=("x",))
    make("whole_axis", distinct("top_k/whole", "f64", (2, 5)), 5, smooth=("x",))
    make("none", given("f32", np.ones((2, 3))), 0)
    make("one", given("f32", [2.0]), 1)
    make("primes", draw("top_k/primes", "f32", (7, 13)), 5)
    make("beyond_tile", draw("top_k/beyond", "f32", (2, 257)), 7)
    make("empty_rest", given("f32", np.zeros((0, 3))), 2)
    make("ties", given("f64", [[1.0, 3.0, 3.0, 1.0], [2.0, 2.0, 2.0, 2.0], [0.0, -0.0, 0.0, -1.0]]),
         3)
    make("specials", given("f64", [[1.0, NAN, INF, NAN], [-INF, -INF, 0.0, -INF]]), 3)
    make("symbolic", distinct("top_k/symbolic", "f64", (2, 5)), 2, {"x": "B, T"}, ("x",))


def _add_global_norm(book):
    def make(name, dtype, shapes, types=None, smooth=True, values=None):
        inputs = values or {f"x{i}": draw(f"global_norm/{name}/{i}", dtype, shape, -3, 3)
                            for i, shape in enumerate(shapes)}
        total = math.sqrt(math.fsum(float(v)**2 for t in inputs.values() for v in t.array.ravel()))
        book.add("global_norm", name, inputs, {"out": expected(dtype, total)}, types=types,
                 smooth=[k for k, t in inputs.items() if t.array.size] if smooth else ())

    for dtype in FLOAT:
        make(dtype, dtype, [(3, 5), (2,)], smooth=dtype in ("f64", "f32"))
    make("one_input", "f64", [(7, 2)])
    make("scalars", "f64", [(), (1,), ()])
    make("with_empty", "f64", [(0, 3), (2, 2)])
    make("only_empty", "f64", [(0, 3)], smooth=False)
    make("primes", "f64", [(7, 13), (13,), (1, 1, 7)], smooth=False)
    make("beyond_tile", "f32", [(67, 33)], smooth=False)
    make("symbolic", "f64", [(2, 3), (3,)], {"x0": "B, T", "x1": "T"})
    make("nan", "f64", None, smooth=False, values={"x": given("f64", [1.0, NAN])})
    zero = given("f64", [0.0, 0.0])
    book.add("global_norm", "zero", {"x": zero}, {"out": expected("f64", 0.0)},
             slopes=({"out": given("f64", 2.0)}, {"x": zero}))


def add_cases(book):
    _add_matmul(book)
    for op in REDUCE:
        _add_reductions(book, op)
    _add_extremum_ties(book)
    x = given("f64", [[2.0, 0.0, 3.0], [0.0, 4.0, 0.0], [1.5, -2.0, 0.5]])
    _add_reduce(book, "prod", "zeros_among_factors", x, [1], smooth=("x",))
    _add_argmax(book)
    _add_cumsum(book)
    _add_top_k(book)
    _add_global_norm(book)
