"""gather, scatter, scatter_add, take_along_axis, add_along_axis, one_hot and runtime slices."""
# SPDX-License-Identifier: Apache-2.0
import numpy as np

from .core import ANY, FLOAT, INDEX, NUMERIC, draw, expected, given, indices


def _blank(x):
    return x.array.copy()


def _gathered_shape(shape, picked, axis):
    return shape[:axis] + picked + shape[axis + 1:]


def _gather(x, places, axis):
    axis %= x.array.ndim
    out = np.zeros(_gathered_shape(x.array.shape, places.array.shape, axis), dtype=x.array.dtype)
    for at in np.ndindex(out.shape):
        picked = at[axis:axis + places.array.ndim]
        out[at] = x.array[at[:axis] + (places.array[picked],) + at[axis + places.array.ndim:]]
    return out


def _scatter(x, places, updates, axis, adds):
    axis %= x.array.ndim
    out = _blank(x)
    for picked in np.ndindex(places.array.shape):  # ascending: the last one wins
        for rest in np.ndindex(x.array.shape[:axis] + x.array.shape[axis + 1:]):
            target = rest[:axis] + (places.array[picked],) + rest[axis:]
            value = updates.array[rest[:axis] + picked + rest[axis:]]
            out[target] = out[target] + value if adds else value
    return out


# name, shape of in, shape of indices, axis, symbolic dims or None
GATHERS = [("rows", (5, 3), (4,), None, None), ("columns", (3, 5), (2,), 1, None),
           ("last_axis", (2, 3, 5), (3,), -1, None), ("middle_axis", (2, 4, 3), (2, 2), 1, None),
           ("scalar_index", (4, 3), (), 0, None), ("one", (1,), (1,), 0, None),
           ("one_element_axis", (2, 1, 2), (3,), 1, None), ("primes", (13, 7), (11,), 0, None),
           ("empty_indices", (4, 3), (0,), 0, None), ("empty_rest", (4, 0), (2,), 0, None),
           ("no_axes_left", (7,), (), 0, None), ("beyond_tile", (129, 5), (67,), 0, None),
           ("symbolic", (7, 3), (2, 4), 0, {"x": "V, 3", "i": "B, T"})]


def _axis(axis):
    return "" if axis is None else f"axis = {axis}"


def _add_gather(book):
    def make(name, dtype, shape, picked, axis, types=None, index_dtype="i32", smooth=False):
        x = draw(f"gather/{name}", dtype, shape, -50 if dtype not in FLOAT else -3,
                 50 if dtype not in FLOAT else 3)
        i = indices(f"gather/{name}", index_dtype, picked, shape[axis or 0])
        book.add("gather",
                 name, {"x": x, "i": i}, {"out": expected(dtype, _gather(x, i, axis or 0))},
                 _axis(axis),
                 types,
                 smooth=("x", ) if smooth else ())

    for dtype in ANY:
        make(dtype, dtype, (5, 3), (4,), None, index_dtype="i64" if dtype == "f32" else "i32",
             smooth=dtype in ("f64", "f32"))
    for name, shape, picked, axis, types in GATHERS:
        make(name, "f64", shape, picked, axis, types, smooth=0 < np.prod(shape) <= 40)
    x = draw("gather/errors", "f32", (4, 3))
    for name, bad in (("error_above", [0, 4]), ("error_negative", [-1, 0])):
        book.add("gather", name, {"x": x, "i": given("i32", bad)}, {"out": None}, error="gather")


def _add_scatters(book, op, dtypes):
    adds = op == "scatter_add"

    def make(name, dtype, shape, picked, axis, types=None, index_dtype="i32", smooth=False, i=None):
        span = (-3, 3) if dtype in FLOAT else (-50, 50)
        x = draw(f"{op}/{name}/x", dtype, shape, *span)
        i = i or indices(f"{op}/{name}", index_dtype, picked, shape[axis or 0])
        u = draw(f"{op}/{name}/u", dtype,
                 _gathered_shape(shape, i.array.shape, (axis or 0) % len(shape)), *span)
        out = expected(dtype, _scatter(x, i, u, axis or 0, adds))
        if types:
            types = dict(types, u="B, T, 3")
        book.add(op, name, {"x": x, "i": i, "u": u}, {"out": out}, _axis(axis), types,
                 smooth=("x", "u") if smooth else ())

    for dtype in dtypes:
        make(dtype, dtype, (5, 3), (4,), None, index_dtype="i64" if dtype == "f32" else "i32",
             smooth=dtype in ("f64", "f32"))
    for name, shape, picked, axis, types in GATHERS:
        make(name, "f64", shape, picked, axis, types, smooth=0 < np.prod(shape) <= 40)
    make("duplicates", "f64", (4, 2), None, 0, smooth=True, i=given("i32", [2, 0, 2, 2, 0]))
    make("duplicates_inner",
         "f64", (2, 3, 2),
         None,
         1,
         smooth=True,
         i=given("i64", [[1, 1], [0, 1]]))
    x, u = draw(op + "/errors", "f32", (4, 3)), draw(op + "/errors", "f32", (2, 3))
    for name, bad in (("error_above", [0, 4]), ("error_negative", [-1, 0])):
        book.add(op, name, {"x": x, "i": given("i32", bad), "u": u}, {"out": None}, error=op)


# name, shape of in, size of indices on the axis, axis, symbolic dims or None
ALONG = [("last_axis", (3, 5), 2, 1, None), ("first_axis", (4, 3), 6, 0, None),
         ("negative_axis", (2, 4, 3), 3, -2, None), ("one", (1,), 1, 0, None),
         ("one_pick", (3, 5), 1, -1, None), ("primes", (7, 13), 11, 1, None),
         ("empty_picks", (3, 5), 0, 1, None), ("empty_rest", (0, 5), 2, 1, None),
         ("beyond_tile", (3, 129), 67, 1, None),
         ("symbolic", (2, 5), 3, 1, {"x": "B, T", "i": "B, 3", "u": "B, 3"})]


def _add_along(book, op, dtypes):
    def make(name, dtype, shape, count, axis, types=None, index_dtype="i32", smooth=False):
        span = (-3, 3) if dtype in FLOAT else (-50, 50)
        x = draw(f"{op}/{name}/x", dtype, shape, *span)
        place = axis % len(shape)
        i = indices(f"{op}/{name}", index_dtype, shape[:place] + (count,) + shape[place + 1:],
                    shape[place])
        inputs = {"x": x, "i": i}
        if op == "take_along_axis":
            out = np.zeros(i.array.shape, dtype=x.array.dtype)
            for at in np.ndindex(out.shape):
                out[at] = x.array[at[:place] + (i.array[at],) + at[place + 1:]]
        else:
            u = inputs["u"] = draw(f"{op}/{name}/u", dtype, i.array.shape, *span)
            out = _blank(x)
            for at in np.ndindex(i.array.shape):
                target = at[:place] + (i.array[at],) + at[place + 1:]
                out[target] = out[target] + u.array[at]
        wrt = [k for k in inputs if k != "i"] if smooth else ()
        book.add(op,
                 name,
                 inputs, {"out": expected(dtype, out)},
                 f"axis = {axis}",
                 types,
                 smooth=wrt)

    for dtype in dtypes:
        make(dtype, dtype, (3, 5), 4, 1, index_dtype="i64" if dtype == "f32" else "i32",
             smooth=dtype in ("f64", "f32"))
    for name, shape, count, axis, types in ALONG:
        make(name, "f64", shape, count, axis, types, smooth=0 < np.prod(shape) <= 40 and count > 0)
    x, u = draw(op + "/errors", "f32", (2, 3)), draw(op + "/errors/u", "f32", (2, 1))
    for name, bad in (("error_above", [[0], [3]]), ("error_negative", [[0], [-1]])):
        inputs = {"x": x, "i": given("i32", bad), "u": u}
        if op == "take_along_axis":
            del inputs["u"]
        book.add(op, name, inputs, {"out": None}, "axis = 1", error=op)


def _add_one_hot(book):
    def make(name, i, depth, dtype=None, types=None, size=None):
        out = np.zeros(i.array.shape + (size or depth,), dtype=object)
        for at in np.ndindex(out.shape):
            out[at] = int(i.array[at[:-1]] == at[-1])
        attrs = f"depth = {depth}" + (f", dtype = {dtype}" if dtype else "")
        book.add("one_hot", name, {"i": i}, {"out": expected(dtype or "f32", out)}, attrs, types)

    for dtype in INDEX:
        make(dtype, indices("one_hot", dtype, (2, 3), 5), 5)
    for dtype in ANY:
        make(f"to_{dtype}", indices("one_hot", "i32", (4,), 3), 3, dtype)
    make("scalar", given("i32", 2), 3)
    make("one_class", given("i32", [0, 1, 0]), 1)
    make("outside", given("i64", [-1, 0, 4, 5, 2 ** 40, -100]), 5)
    make("primes", indices("one_hot/primes", "i32", (7,), 13), 13)
    make("beyond_tile", indices("one_hot/beyond", "i32", (67,), 129), 129, "i8")
    make("empty", given("i32", np.zeros((0,))), 5)
    make("no_classes", given("i32", [0, 1]), 0)
    make("symbolic",
         indices("one_hot/symbolic", "i32", (2, 3), 3),
         "T",
         types={"i": "B, T"},
         size=3)


# name, shape of in, start, size, axis, symbolic dims or None
WINDOWS = [("first", (5, 3), 0, 2, 0, None), ("last", (5, 3), 3, 2, 0, None),
           ("inner", (2, 5, 3), 1, 3, -2, None), ("whole", (3, 4), 0, 4, 1, None),
           ("one", (1,), 0, 1, 0, None), ("nothing", (3, 4), 4, 0, 1, None),
           ("empty_rest", (0, 4), 1, 2, 1, None), ("primes", (13, 7), 5, 3, 0, None),
           ("beyond_tile", (3, 129), 60, 67, 1, None),
           ("symbolic", (2, 5, 2), 3, 2, 1, {"x": "B, T, 2", "u": "B, 2, 2"})]
OUTSIDE = [("error_after", 4), ("error_before", -1), ("error_far", 2 ** 31 - 1)]


def _window(rank, axis, start, size):
    return tuple(
        slice(start, start + size) if a == axis % rank else slice(None) for a in range(rank))


def _add_windows(book):
    def make(name, dtype, shape, start, size, axis, types=None, index_dtype="i32", smooth=False):
        x = draw(f"dynamic_slice/{name}", dtype, shape, -3, 3)
        s = given(index_dtype, start)
        window = _window(len(shape), axis, start, size)
        book.add("dynamic_slice", name, {"x": x, "s": s}, {"out": expected(dtype, x.array[window])},
                 f"axis = {axis}, size = {size}", types, smooth=("x",) if smooth else ())
        u = draw(f"update_slice/{name}", dtype, x.array[window].shape, -3, 3)
        out = _blank(x)
        out[window] = u.array
        wrt = [k for k, t in (("x", x), ("u", u)) if t.array.size] if smooth else ()
        book.add("update_slice", name, {"x": x, "u": u, "s": s}, {"out": expected(dtype, out)},
                 f"axis = {axis}", types, smooth=wrt)

    for dtype in ANY:
        make(dtype, dtype, (3, 5), 2, 2, 1, index_dtype="i64" if dtype == "f32" else "i32",
             smooth=dtype in ("f64", "f32"))
    for name, shape, start, size, axis, types in WINDOWS:
        make(name, "f64", shape, start, size, axis, types, smooth=0 < np.prod(shape) <= 40)
    for name, start in OUTSIDE:
        x, u = draw("windows", "f32", (2, 5)), draw("windows/u", "f32", (2, 2))
        s = given("i32", start)
        book.add("dynamic_slice", name, {"x": x, "s": s}, {"out": None}, "axis = 1, size = 2",
                 error="dynamic_slice")
        book.add("update_slice", name, {"x": x, "u": u, "s": s}, {"out": None}, "axis = 1",
                 error="update_slice")


def add_cases(book):
    _add_gather(book)
    _add_scatters(book, "scatter", ANY)
    _add_scatters(book, "scatter_add", NUMERIC)
    _add_along(book, "take_along_axis", ANY)
    _add_along(book, "add_along_axis", NUMERIC)
    _add_one_hot(book)
    _add_windows(book)
