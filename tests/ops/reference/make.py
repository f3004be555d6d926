"""Ops made from sizes or counters: constant, iota, masks, random_bits and dropout."""
# SPDX-License-Identifier: Apache-2.0
import fractions
import math

import numpy as np

from .core import (ANY, FLOAT, INDEX, INF, NAN, NUMERIC, draw, expected, given, highest, lowest,
                   round_to)


def _add_constant(book):
    def make(name, dtype, value, text, shape="", size=(), types=None, inputs=None):
        out = np.broadcast_to(np.asarray(value), size) if np.ndim(value) == 0 else \
            np.asarray(value, dtype=object).reshape(size)
        out = round_to(dtype, out.astype(float)) if dtype in FLOAT else out
        book.add("constant", name, inputs or {}, {"out": expected(dtype, out)},
                 f"value = {text}, dtype = {dtype}{shape}", types, operands=[])

    for dtype in FLOAT:
        make(dtype, dtype, 0.1, "0.1")
        make(f"list_{dtype}", dtype, [0.1, -2.5, NAN, INF, -INF, 1e-3],
             "[0.1, -2.5, nan, inf, -inf, 0.001]", ", shape = [2, 3]", (2, 3))
    for dtype in ("i8", "u8", "i32", "u32", "i64"):
        make(dtype, dtype, 7, "7", ", shape = [2]", (2,))
        ends = [lowest(dtype), highest(dtype), 0]
        make(f"list_{dtype}", dtype, ends, str(ends), ", shape = [3]", (3,))
    make("bool", "bool", True, "true", ", shape = [2, 2]", (2, 2))
    make("list_bool", "bool", [True, False, False], "[true, false, false]", ", shape = [3]", (3,))
    make("whole_number", "f32", 3.0, "3", ", shape = [1]", (1,))
    make("one_element_list", "f64", [0.25], "[0.25]", ", shape = [1, 1]", (1, 1))
    make("longest_list", "i32", list(range(-32, 32)), str(list(range(-32, 32))), ", shape = [8, 8]",
         (8, 8))
    make("empty", "f32", 1.5, "1.5", ", shape = [0, 3]", (0, 3))
    make("overflow", "f16", 1e6, "1000000.0")
    make("primes", "f32", -1.25, "-1.25", ", shape = [7, 13]", (7, 13))
    make("symbolic", "f32", 0.5, "0.5", ", shape = [B, T + 1]", (2, 4), {"x": "B, T"},
         {"x": given("f32", np.zeros((2, 3)))})


def _add_iota(book):
    def make(name, dims, size, axis=None, dtype=None, types=None, inputs=None):
        axis_of = axis or 0
        steps = np.arange(size[axis_of]).reshape(
            [-1 if a == axis_of else 1 for a in range(len(size))])
        attrs = f"shape = {dims}" + (f", axis = {axis}" if axis is not None else "") + \
            (f", dtype = {dtype}" if dtype else "")
        book.add("iota",
                 name,
                 inputs or {}, {"out": expected(dtype or "i32", np.broadcast_to(steps, size))},
                 attrs,
                 types,
                 operands=[])

    for dtype in NUMERIC:
        make(dtype, "[3, 5]", (3, 5), 1, dtype)
    make("default", "[4]", (4,))
    make("first_axis", "[3, 2]", (3, 2), 0)
    make("middle_axis", "[2, 3, 2]", (2, 3, 2), 1)
    make("one", "[1]", (1,))
    make("empty_axis", "[2, 0]", (2, 0), 1)
    make("empty_rest", "[0, 3]", (0, 3), 1)
    make("wraps_i8", "[300]", (300,), 0, "i8")
    make("wraps_u8", "[300]", (300,), 0, "u8")
    make("primes", "[7, 13]", (7, 13), 0)
    make("symbolic", "[B, T]", (2, 3), 1, None, {"x": "B, T"},
         {"x": given("f32", np.zeros((2, 3)))})


def _add_masks(book):
    sizes = [("square", 4, 4), ("wide", 3, 5), ("tall", 5, 3), ("one", 1, 1), ("one_row", 1, 7),
             ("one_column", 7, 1), ("primes", 7, 13), ("no_rows", 0, 3), ("no_columns", 3, 0),
             ("beyond_tile", 67, 129)]
    windows = [(0, 0), (1, 0), (2, 1), (0, 3), (100, 100)]

    def causal(rows, cols):
        return [[c <= r + (cols - rows) for c in range(cols)] for r in range(rows)]

    def window(rows, cols, before, after):
        return [[-before <= c - (r + cols - rows) <= after for c in range(cols)]
                for r in range(rows)]

    for name, rows, cols in sizes:
        out = np.array(causal(rows, cols), dtype=bool).reshape(rows, cols)
        book.add("causal_mask", name, {}, {"out": expected("bool", out)},
                 f"rows = {rows}, cols = {cols}")
        for before, after in windows if name in ("square", "wide", "tall") else windows[2:3]:
            out = np.array(window(rows, cols, before, after), dtype=bool).reshape(rows, cols)
            book.add("window_mask", f"{name}_{before}_{after}", {}, {"out": expected("bool", out)},
                     f"rows = {rows}, cols = {cols}, before = {before}, after = {after}")
    x, types = {"x": given("f32", np.zeros((2, 3)))}, {"x": "S, T"}
    book.add("causal_mask", "symbolic", x, {"out": expected("bool", causal(2, 4))},
             "rows = S, cols = T + 1", types, operands=[])
    book.add("window_mask", "symbolic", x, {"out": expected("bool", window(2, 3, 1, 0))},
             "rows = S, cols = T, before = 1, after = 0", types, operands=[])


def _add_padding_mask(book):
    def make(name, lengths, size, types=None, count=None):
        columns = np.arange(count if count is not None else size)
        out = columns < np.asarray(lengths.array, dtype=object)[..., None]
        book.add("padding_mask", name, {"n": lengths},
                 {"out": expected("bool", np.asarray(out, dtype=bool))}, f"size = {size}", types)

    for dtype in INDEX:
        make(dtype, given(dtype, [0, 1, 3, 5]), 5)
    make("two_axes", given("i32", [[1, 2, 3], [4, 0, 2]]), 4)
    make("scalar", given("i32", 2), 3)
    make("outside", given("i64", [-1, 9, -2 ** 40, 2 ** 40]), 4)
    make("one", given("i32", [1]), 1)
    make("no_columns", given("i32", [1, 2]), 0)
    make("no_rows", given("i32", np.zeros((0,))), 3)
    make("primes", given("i32", [1, 2, 3, 5, 7, 11, 13]), 13)
    make("beyond_tile", given("i32", [0, 64, 128, 129]), 129)
    make("symbolic", given("i32", [1, 3, 0]), "B + 1", {"n": "B"}, 4)


def philox(key, counter):
    """Philox4x32-10 (Salmon et al., Parallel random numbers: as easy as 1, 2, 3, SC 2011)."""
    mask = 0xFFFFFFFF
    (k0, k1), (c0, c1, c2, c3) = key, counter
    for _ in range(10):
        left, right = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = (right >> 32) ^ c1 ^ k0, right & mask, (left >> 32) ^ c3 ^ k1, left & mask
        k0, k1 = (k0 + 0x9E3779B9) & mask, (k1 + 0xBB67AE85) & mask
    return c0, c1, c2, c3


# Known answers of the authors' library.
assert philox((0, 0), (0, 0, 0, 0)) == (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)
assert philox((0xA4093822, 0x299F31D0), (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344)) == \
    (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1)


def random_bits(seed, step, stream, shape):
    words = [philox((seed, stream), (i // 4 & 0xFFFFFFFF, i // 4 >> 32, step, 0))[i % 4]
             for i in range(math.prod(shape))]
    return np.array(words, dtype=object).reshape(shape)


SEEDS = {"zero": (0, 0), "seed": (12345, 0), "step": (0, 7), "both": (42, 1000),
         "ends": (0xFFFFFFFF, 0xFFFFFFFF)}


def _add_random_bits(book):
    def make(name, seed, step, stream, shape, dims=None, types=None, more=None):
        inputs = {"rng": given("u32", [seed, step]), **(more or {})}
        book.add("random_bits",
                 name,
                 inputs, {"out": expected("u32", random_bits(seed, step, stream, shape))},
                 f"shape = {dims or list(shape)}, stream = {stream}",
                 types,
                 operands=["rng"])

    for name, (seed, step) in SEEDS.items():
        make(name, seed, step, 3, (5,))
    make("stream", 0, 0, 2 ** 31 - 1, (4,))
    make("scalar", 1, 2, 3, ())
    make("one", 1, 2, 3, (1,))
    make("primes", 1, 2, 3, (7, 13))
    make("beyond_tile", 1, 2, 3, (3, 129))
    make("empty", 1, 2, 3, (0, 4))
    make("symbolic", 1, 2, 3, (2, 3), "[B, T]", {"x": "B, T"},
         {"x": given("f32", np.zeros((2, 3)))})


def _add_dropout(book):
    def make(name, dtype, shape, rate, stream=1, seed=(42, 7), types=None, smooth=False):
        x = draw(f"dropout/{name}", dtype, shape)
        bits = random_bits(*seed, stream, shape)
        bound = fractions.Fraction(rate) * 2 ** 32
        kept = np.vectorize(lambda b: b >= bound, otypes=[bool])(bits)
        out = np.where(kept, x.array / (1.0 - rate), 0.0)
        book.add("dropout",
                 name, {"x": x, "rng": given("u32", list(seed))}, {"out": expected(dtype, out)},
                 f"rate = {rate}, stream = {stream}",
                 types,
                 smooth=("x", ) if smooth else ())

    for dtype in FLOAT:
        make(dtype, dtype, (5, 7), 0.5, smooth=dtype in ("f64", "f32"))
    make("rate_zero", "f64", (3, 5), 0.0, smooth=True)
    make("rate_low", "f64", (3, 5), 0.1, smooth=True)
    make("rate_high", "f64", (3, 5), 0.9, smooth=True)
    make("other_stream", "f64", (3, 5), 0.5, stream=2, smooth=True)
    make("other_seed", "f64", (3, 5), 0.5, seed=(0xFFFFFFFF, 3))
    make("scalar", "f32", (), 0.3)
    make("one", "f32", (1,), 0.3)
    make("primes", "f32", (7, 13), 0.3)
    make("beyond_tile", "f32", (3, 129), 0.25)
    make("empty", "f32", (0, 3), 0.3)
    make("symbolic", "f64", (2, 5), 0.3, types={"x": "B, T"}, smooth=True)


def add_cases(book):
    _add_constant(book)
    _add_iota(book)
    _add_masks(book)
    _add_padding_mask(book)
    _add_random_bits(book)
    _add_dropout(book)
