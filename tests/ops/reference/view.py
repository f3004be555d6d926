"""Shape ops: reshape transpose broadcast slice concat pad patches fold_patches."""
# SPDX-License-Identifier: Apache-2.0
import numpy as np

from .core import ANY, FLOAT, NUMERIC, draw, expected, given


def _span(dtype):
    return (-3, 3) if dtype in FLOAT else (-50, 50)


# op: rows of (name, element type, shape, attributes, function of the array, symbolic dims)
VIEWS = {
    "reshape":
    [("flat", "f64", (2, 3, 2), "shape = [12]", lambda a: a.reshape(12), None),
     ("split", "f64", (12, ), "shape = [3, 1, 4]", lambda a: a.reshape(3, 1, 4), None),
     ("to_scalar", "f64", (1, 1), "shape = []", lambda a: a.reshape(()), None),
     ("from_scalar", "f64", (), "shape = [1, 1]", lambda a: a.reshape(1, 1), None),
     ("same", "f64", (3, 4), "shape = [3, 4]", lambda a: a, None),
     ("primes", "i32", (7, 13), "shape = [13, 7]", lambda a: a.reshape(13, 7), None),
     ("empty", "f32", (0, 3), "shape = [5, 0]", lambda a: a.reshape(5, 0), None),
     ("beyond_tile", "i8", (67, 129), "shape = [129, 67]", lambda a: a.reshape(129, 67), None),
     ("symbolic_split", "f64", (2, 3, 4), "shape = [B, T, 2, 2]", lambda a: a.reshape(2, 3, 2, 2),
      "B, T, 4"),
     ("symbolic_join", "f64", (2, 3, 4), "shape = [B*T, 4]", lambda a: a.reshape(6, 4), "B, T, 4")],
    "transpose":
    [("matrix", "f64", (3, 5), "perm = [1, 0]", lambda a: a.T, None),
     ("cycle", "f64", (2, 3, 4), "perm = [2, 0, 1]", lambda a: a.transpose(2, 0, 1), None),
     ("heads", "f64", (1, 3, 2, 4), "perm = [0, 2, 1, 3]", lambda a: a.transpose(0, 2, 1, 3), None),
     ("same", "f64", (3, 4), "perm = [0, 1]", lambda a: a, None),
     ("scalar", "f64", (), "perm = []", lambda a: a, None),
     ("ones", "f32", (1, 1), "perm = [1, 0]", lambda a: a.T, None),
     ("primes", "i32", (7, 13), "perm = [1, 0]", lambda a: a.T, None),
     ("empty", "f32", (0, 3), "perm = [1, 0]", lambda a: a.T, None),
     ("beyond_tile", "i8", (67, 129), "perm = [1, 0]", lambda a: a.T, None),
     ("symbolic", "f64", (2, 3, 4), "perm = [1, 0, 2]", lambda a: a.transpose(1, 0, 2), "B, T, 4")],
    "broadcast": [
        ("rows", "f64", (3, ), "shape = [2, 3]", lambda a: np.broadcast_to(a, (2, 3)), None),
        ("columns", "f64", (2, 1), "shape = [2, 3]", lambda a: np.broadcast_to(a, (2, 3)), None),
        ("both", "f64", (2, 1, 3), "shape = [4, 2, 2, 3]",
         lambda a: np.broadcast_to(a, (4, 2, 2, 3)), None),
        ("scalar", "f64", (), "shape = [2, 2]", lambda a: np.broadcast_to(a, (2, 2)), None),
        ("same", "f64", (3, 4), "shape = [3, 4]", lambda a: a, None),
        ("to_nothing", "f32", (1, 3), "shape = [0, 3]", lambda a: np.broadcast_to(a, (0, 3)), None),
        ("primes", "i32", (7, 1), "shape = [7, 13]", lambda a: np.broadcast_to(a, (7, 13)), None),
        ("beyond_tile", "i8", (67, 1), "shape = [67, 129]", lambda a: np.broadcast_to(a, (67, 129)),
         None),
        ("symbolic", "f64", (2, 5), "shape = [3, B, T]", lambda a: np.broadcast_to(a, (3, 2, 5)),
         "B, T")
    ],
    "slice":
    [("inner", "f64", (4, 5), "starts = [1, 2], limits = [3, 5]", lambda a: a[1:3, 2:5], None),
     ("strided", "f64", (5, 7), "starts = [0, 1], limits = [5, 7], strides = [2, 3]",
      lambda a: a[0:5:2, 1:7:3], None),
     ("strided_rest", "f64", (8, ), "starts = [1], limits = [7], strides = [4]", lambda a: a[1:7:4],
      None),
     ("long_stride", "f64", (5, ), "starts = [2], limits = [5], strides = [9]", lambda a: a[2:5:9],
      None), ("whole", "f64", (3, 4), "starts = [0, 0], limits = [3, 4]", lambda a: a, None),
     ("nothing", "f32", (3, 4), "starts = [1, 4], limits = [1, 4]", lambda a: a[1:1, 4:4], None),
     ("scalar", "f64", (), "starts = [], limits = []", lambda a: a, None),
     ("one", "f32", (3, 1), "starts = [2, 0], limits = [3, 1]", lambda a: a[2:3], None),
     ("primes", "i32", (7, 13), "starts = [2, 3], limits = [5, 13], strides = [1, 5]",
      lambda a: a[2:5, 3:13:5], None),
     ("empty", "f32", (0, 3), "starts = [0, 1], limits = [0, 3]", lambda a: a[:, 1:3], None),
     ("beyond_tile", "i8", (67, 129), "starts = [1, 0], limits = [67, 129], strides = [5, 2]",
      lambda a: a[1:67:5, ::2], None),
     ("symbolic", "f64", (2, 5), "starts = [0, 1], limits = [B, T]", lambda a: a[:, 1:], "B, T"),
     ("symbolic_strided", "f64", (2, 6), "starts = [0, 1], limits = [B, T], strides = [1, 2]",
      lambda a: a[:, 1::2], "B, T")],
}
PLAIN = {
    "reshape": ((3, 4), "shape = [2, 6]", lambda a: a.reshape(2, 6)),
    "transpose": ((3, 4), "perm = [1, 0]", lambda a: a.T),
    "broadcast": ((3, 1), "shape = [2, 3, 4]", lambda a: np.broadcast_to(a, (2, 3, 4))),
    "slice": ((3, 5), "starts = [1, 0], limits = [3, 5], strides = [1, 2]", lambda a: a[1:3, ::2]),
}


def _add_view(book, op, name, dtype, shape, attrs, function, dims):
    x = draw(f"{op}/{name}", dtype, shape, *_span(dtype))
    small = dtype in ("f64", "f32") and 0 < x.array.size <= 40 and function(x.array).size > 0
    book.add(op, name, {"x": x}, {"out": expected(dtype, function(x.array))}, attrs,
             {"x": dims} if dims else None, smooth=("x",) if small else ())


def _add_concat(book):
    def make(name, dtype, shapes, axis, types=None):
        inputs = {f"x{i}": draw(f"concat/{name}/{i}", dtype, shape, *_span(dtype))
                  for i, shape in enumerate(shapes)}
        out = np.concatenate([t.array for t in inputs.values()], axis=axis)
        wrt = [k for k, t in inputs.items() if t.array.size] if dtype == "f64" else ()
        book.add("concat", name, inputs, {"out": expected(dtype, out)}, f"axis = {axis}", types,
                 smooth=wrt)

    for dtype in ANY:
        make(dtype, dtype, [(2, 3), (1, 3)], 0)
    make("last_axis", "f64", [(2, 3), (2, 1), (2, 2)], -1)
    make("middle_axis", "f64", [(2, 1, 3), (2, 2, 3)], 1)
    make("one_input", "f64", [(2, 3)], 0)
    make("empty_part", "f64", [(2, 0), (2, 3)], 1)
    make("all_empty", "f32", [(0, 3), (0, 3)], 0)
    make("ones", "f32", [(1,), (1,)], 0)
    make("primes", "i32", [(7, 13), (7, 5), (7, 3)], 1)
    make("beyond_tile", "i8", [(3, 129), (3, 67)], 1)
    make("symbolic", "f64", [(2, 3), (2, 4)], 1, {"x0": "B, T", "x1": "B, S"})
    x = draw("concat/twice", "f64", (2, 2))
    book.add("concat",
             "same_twice", {"x": x}, {"out": expected("f64", np.concatenate([x.array] * 2))},
             "axis = 0",
             operands=["x", "x"],
             smooth=("x", ))


def _pad(array, low, high, interior, value):
    spread = [n + max(n - 1, 0) * gap for n, gap in zip(array.shape, interior)]
    out = np.empty([b + n + a for b, n, a in zip(low, spread, high)], dtype=array.dtype)
    out[...] = value
    place = tuple(slice(b, b + n, gap + 1) for b, n, gap in zip(low, spread, interior))
    out[place] = array
    return out


def _add_pad(book):
    def make(name, dtype, shape, low, high, interior=None, value=None, dims=None):
        x = draw(f"pad/{name}", dtype, shape, *_span(dtype))
        filler = (value or 0.0) if dtype in FLOAT else int(value or 0)
        out = _pad(x.array, low, high, interior or [0] * len(shape), filler)
        attrs = f"low = {low}, high = {high}"
        attrs += f", interior = {interior}" if interior else ""
        attrs += f", value = {value}" if value is not None else ""
        finite = value is None or np.isfinite(value)  # an infinite output has no differences
        smooth = ("x",) if dtype in ("f64", "f32") and 0 < x.array.size <= 40 and finite else ()
        book.add("pad", name, {"x": x}, {"out": expected(dtype, out)}, attrs,
                 {"x": dims} if dims else None, smooth=smooth)

    for dtype in ANY:
        make(dtype, dtype, (2, 3), [1, 0], [0, 2], value=1.0 if dtype == "bool" else 3.0)
    make("zeros", "f64", (2, 3), [1, 1], [2, 0])
    make("interior", "f64", (3, 2), [0, 1], [1, 0], [1, 3], -2.5)
    make("only_interior", "f64", (4,), [0], [0], [2])
    make("same", "f64", (2, 3), [0, 0], [0, 0])
    make("minus_infinity", "f64", (2, 2), [0, 1], [0, 0], value=float("-inf"))
    make("scalar", "f64", (), [], [])
    make("one_element", "f32", (1,), [2], [1], [5])
    make("empty", "f32", (0, 3), [1, 0], [1, 0], [2, 0], 7.0)
    make("primes", "i32", (7, 13), [3, 0], [0, 5], [1, 0], -9.0)
    make("beyond_tile", "i8", (3, 67), [0, 61], [0, 1])
    make("symbolic", "f64", (2, 3), [0, 1], [0, 2], value=0.5, dims="B, T")


def _patches(array, size, stride):
    batch, height, width, channels = array.shape
    rows, columns = ((n - s) // t + 1 for n, s, t in zip((height, width), size, stride))
    out = np.zeros((batch, rows, columns, size[0] * size[1] * channels), dtype=array.dtype)
    for r in range(rows):
        for c in range(columns):
            y, x = r * stride[0], c * stride[1]
            out[:, r, c] = array[:, y:y + size[0], x:x + size[1]].reshape(batch, out.shape[-1])
    return out


def _fold(array, size, stride, height, width):
    batch, rows, columns, depth = array.shape
    channels = depth // (size[0] * size[1])
    out = np.zeros((batch, height, width, channels), dtype=array.dtype)
    for r in range(rows):
        for c in range(columns):
            y, x = r * stride[0], c * stride[1]
            window = array[:, r, c].reshape(batch, size[0], size[1], channels)
            out[:, y:y + size[0], x:x + size[1]] += window
    return out


# name, image, size, stride, symbolic dims of the image and of its patches
IMAGES = [("apart", (2, 4, 6, 1), [2, 3], [2, 3], None),
          ("overlap", (1, 4, 5, 2), [3, 2], [1, 1], None),
          ("rest_left", (1, 5, 6, 1), [2, 2], [2, 3], None),
          ("gaps", (1, 5, 5, 1), [1, 2], [2, 3], None), ("whole", (2, 3, 2, 2), [3, 2], [1,
                                                                                         1], None),
          ("ones", (1, 1, 1, 1), [1, 1], [1, 1], None),
          ("primes", (1, 7, 13, 3), [3, 5], [2, 3], None),
          ("empty", (0, 4, 4, 2), [2, 2], [2, 2], None),
          ("beyond_tile", (1, 33, 37, 1), [5, 5], [4, 4], None),
          ("symbolic", (2, 4, 4, 1), [2, 2], [2, 2], ("B, 4, 4, 1", "B, 2, 2, 4"))]


def _add_patches(book):
    def make(name, dtype, image, size, stride, dims=None):
        x = draw(f"patches/{name}", dtype, image, *_span(dtype))
        cut = _patches(x.array, size, stride)
        attrs = f"size = {size}, stride = {stride}"
        smooth = ("x",) if dtype in ("f64", "f32") and 0 < x.array.size <= 60 else ()
        book.add("patches", name, {"x": x}, {"out": expected(dtype, cut)}, attrs,
                 {"x": dims[0]} if dims else None, smooth=smooth)
        if dtype == "bool":
            return
        y = draw(f"fold_patches/{name}", dtype, cut.shape, *_span(dtype))
        folded = _fold(y.array, size, stride, image[1], image[2])
        smooth = ("x",) if dtype in ("f64", "f32") and 0 < y.array.size <= 80 else ()
        book.add("fold_patches", name, {"x": y}, {"out": expected(dtype, folded)},
                 f"{attrs}, height = {image[1]}, width = {image[2]}",
                 {"x": dims[1]} if dims else None, smooth=smooth)

    for dtype in ANY:
        make(dtype, dtype, (1, 3, 4, 2), [2, 2], [1, 2])
    for name, image, size, stride, dims in IMAGES:
        make(name, "f64", image, size, stride, dims)


def add_cases(book):
    for op, (shape, attrs, function) in PLAIN.items():
        for dtype in ANY:
            _add_view(book, op, dtype, dtype, shape, attrs, function, None)
        for name, dtype, shape_of, attrs_of, function_of, dims in VIEWS[op]:
            _add_view(book, op, name, dtype, shape_of, attrs_of, function_of, dims)
    _add_concat(book)
    _add_pad(book)
    _add_patches(book)
