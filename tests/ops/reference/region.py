"""Ops with a body: region and chunked."""
# SPDX-License-Identifier: Apache-2.0
from .core import ANY, NUMERIC, draw, expected, given

SHAPES = [("one", (1, 1), None), ("primes", (7, 13), None), ("empty", (0, 3), None),
          ("beyond_tile", (3, 129), None), ("symbolic", (2, 5), "B, T")]


def _region(kind, results, lines, operands=("x", "y")):
    inputs = ", ".join(f"%{name} = %{name}" for name in operands)
    left = ", ".join("%" + r for r in results)
    return [f'  {left} = region {{kind = "{kind}"}} ({inputs}) {{', *("    " + s for s in lines),
            "    return " + left, "  }"]


def _add_regions(book):
    for name, shape, dims in SHAPES:
        x, y = (draw(f"region/{name}/{key}", "f64", shape) for key in "xy")
        total = x.array * y.array + 1.5
        book.add("region", name, {"x": x, "y": y},
                 {"p": expected("f64", total), "s": expected("f64", total.sum(axis=1))},
                 types={"x": dims, "y": dims} if dims else None,
                 lines=_region("rows", ["p", "s"],
                               ["%m = mul %x, %y", "%p = add %m, 1.5", "%s = sum %p {axes = [1]}"]))
    for dtype in ANY:
        x = draw("region/types", dtype, (3, 2))
        book.add("region", f"type_{dtype}", {"x": x}, {"t": expected(dtype, x.array.T)},
                 lines=_region("map", ["t"], ["%t = transpose %x {perm = [1, 0]}"], ["x"]))
    book.add("region", "composite", {"x": given("f64", [-1.0, 0.0, 2.0])},
             {"r": expected("f64", [0.0, 0.0, 2.0])},
             lines=_region("map", ["r"], ["%r = relu %x"], ["x"]))
    index = given("i32", [0, 3])
    book.add("region", "index_out_of_range", {"x": draw("region/range", "f64", (3, )), "i": index},
             {"g": index}, error="gather",
             lines=_region("map", ["g"], ["%g = gather %x, %i"], ["x", "i"]))


def _chunked(chunk, rows, dims=""):
    return [f'  %p, %s = chunked {{symbol = "R", rows = {rows}, chunk = {chunk}, '
            "sliced_in = [1, 0], sliced_out = [1, 0]} "
            f"(%x = %x{dims}, %w = %w) {{",
            "    %p = mul %x, %w", "    %s = sum %p {axes = [0]}", "    return %p, %s", "  }"]


def _add_chunked(book):
    for name, rows, chunk in [("whole", 4, 4), ("even", 6, 2), ("rest", 7, 3), ("single", 5, 1),
                              ("larger", 3, 8), ("no_rows", 0, 4)]:
        x, w = draw(f"chunked/{name}/x", "f64", (rows, 3)), draw(f"chunked/{name}/w", "f64", (3, ))
        product = x.array * w.array
        book.add("chunked", name, {"x": x, "w": w},
                 {"p": expected("f64", product), "s": expected("f64", product.sum(axis=0))},
                 lines=_chunked(chunk, rows, " : f64[R, 3]"))
    for dtype in NUMERIC:
        x, w = draw("chunked/types/x", dtype, (5, 2)), draw("chunked/types/w", dtype, (2, ))
        product = x.array * w.array
        book.add("chunked", f"type_{dtype}", {"x": x, "w": w},
                 {"p": expected(dtype, product), "s": expected(dtype, product.sum(axis=0))},
                 types={"x": "B, D", "w": "D"}, lines=_chunked(2, "B"))
    flags = draw("chunked/bool", "bool", (5, 2))
    book.add("chunked", "type_bool", {"x": flags}, {"n": expected("bool", ~flags.array)},
             lines=['  %n = chunked {symbol = "R", rows = 5, chunk = 3, sliced_in = [1], '
                    "sliced_out = [1]} (%x = %x) {",
                    '    %n = region {kind = "map"} (%x = %x) {',
                    "      %n = logical_not %x", "      return %n", "    }",
                    "    return %n", "  }"])


def add_cases(book):
    _add_regions(book)
    _add_chunked(book)
