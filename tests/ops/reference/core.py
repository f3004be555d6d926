"""Typed arrays, deterministic draws and the case book: what every family of cases uses."""
# SPDX-License-Identifier: Apache-2.0
import json
import math
import random

import numpy as np

FLOAT = ("f64", "f32", "f16", "bf16")
SIGNED_INTEGER = ("i8", "i32", "i64")
INTEGER = SIGNED_INTEGER + ("u8", "u32")
INDEX = ("i32", "i64")
SIGNED = FLOAT + SIGNED_INTEGER
NUMERIC = FLOAT + INTEGER
ANY = NUMERIC + ("bool",)
BITS = {"i8": 8, "u8": 8, "i32": 32, "u32": 32, "i64": 64}
NAN, INF = math.nan, math.inf


def lowest(dtype):
    return -(1 << (BITS[dtype] - 1)) if dtype.startswith("i") else 0


def highest(dtype):
    return (1 << (BITS[dtype] - (1 if dtype.startswith("i") else 0))) - 1


def wrap(dtype, value):
    """A Python integer modulo 2^bits, in the type's range."""
    value = int(value) & ((1 << BITS[dtype]) - 1)
    return value - (1 << BITS[dtype]) if value > highest(dtype) else value


# Every finite non-negative bf16 number in order: the upper half of an f32.
_BF16 = (np.arange(0x7F80, dtype=np.uint32) << 16).view(np.float32).astype(np.float64)


def _round_bf16(value):
    if math.isnan(value) or math.isinf(value):
        return value
    size = abs(value)
    beyond = 2.0 * _BF16[-1] - _BF16[-2]  # where the next number would be
    above = int(np.searchsorted(_BF16, size))
    high = _BF16[above] if above < len(_BF16) else beyond
    low = _BF16[above - 1] if above > 0 else 0.0
    if size - low < high - size or (size - low == high - size and (above - 1) % 2 == 0):
        high = low
    return math.copysign(INF if high == beyond else high, value)


def round_to(dtype, array):
    """The nearest numbers of a float type, ties to even, as f64."""
    array = np.asarray(array, dtype=np.float64)
    if dtype == "f32":
        return array.astype(np.float32).astype(np.float64)
    if dtype == "f16":
        return array.astype(np.float16).astype(np.float64)
    if dtype == "bf16":
        return np.vectorize(_round_bf16, otypes=[float])(array)
    return array


class Tensor:
    """Floats are f64, integers Python integers in an object array, so that nothing overflows."""

    def __init__(self, dtype, values, rounded=False):
        self.dtype = dtype
        if dtype in FLOAT:
            array = np.asarray(values, dtype=np.float64)
            self.array = round_to(dtype, array) if rounded else array
        elif dtype == "bool":
            self.array = np.asarray(values, dtype=bool)
        else:
            array = np.asarray(values, dtype=object)
            self.array = np.vectorize(lambda v: wrap(dtype, v), otypes=[object])(array)

    def type(self, dims=None):
        if dims is None:
            dims = ", ".join(map(str, self.array.shape))
        return f"{self.dtype}[{dims}]"

    def plain(self):
        if self.dtype in FLOAT:
            data = [_plain_real(float(v)) for v in self.array.ravel()]
        else:
            data = [int(v) for v in self.array.ravel()]
        return {"dtype": self.dtype, "shape": list(self.array.shape), "data": data}


def _plain_real(value):
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return value


def given(dtype, values):
    """An input: representable in its type, so that every device can hold it."""
    return Tensor(dtype, values, rounded=True)


def expected(dtype, values):
    """An output: the exact value in f64 (integers wrapped)."""
    return Tensor(dtype, values)


def draw(key, dtype, shape, low=-3.0, high=3.0, away=()):
    """Numbers that depend on `key` alone, kept 0.05 or more away from the points in `away`."""
    source = random.Random(f"{key}/{dtype}/{shape}")
    count = math.prod(shape)
    if dtype == "bool":
        return given(dtype, np.array([source.random() < 0.5 for _ in range(count)]).reshape(shape))
    if dtype in FLOAT:
        steps = 256 if dtype in ("f64", "f32") else 32
        values = []
        for _ in range(count):
            value = math.floor(source.uniform(low, high) * steps) / steps
            for point in away:
                if abs(value - point) < 0.05:
                    value = point + 0.125
            values.append(value)
        return given(dtype, np.array(values, dtype=np.float64).reshape(shape))
    low = max(int(low), lowest(dtype))
    values = [source.randint(low, max(int(high), low)) for _ in range(count)]
    return given(dtype, np.array(values, dtype=object).reshape(shape))


def wide(key, dtype, shape):
    """Integers of the whole range of a type, its ends first."""
    source = random.Random(f"{key}/wide/{dtype}/{shape}")
    ends = [lowest(dtype), highest(dtype), lowest(dtype) + 1, highest(dtype) - 1, 0, 1]
    count = math.prod(shape)
    values = [source.randint(lowest(dtype), highest(dtype)) for _ in range(count)]
    for i, value in zip(range(0, count, 2), ends):
        values[i] = value
    return given(dtype, np.array(values, dtype=object).reshape(shape))


def distinct(key, dtype, shape, step=0.125):
    """A shuffle of numbers `step` apart: no two are equal and none is 0."""
    source = random.Random(f"{key}/distinct/{dtype}/{shape}")
    count = math.prod(shape)
    values = [(i - count // 2) * step + step / 2 for i in range(count)]
    source.shuffle(values)
    return given(dtype, np.array(values, dtype=np.float64).reshape(shape))


def indices(key, dtype, shape, size):
    source = random.Random(f"{key}/indices/{shape}/{size}")
    values = [source.randrange(size) for _ in range(math.prod(shape))]
    return given(dtype, np.array(values, dtype=object).reshape(shape))


def lift(function):
    """A scalar function on every element of an array."""
    return np.vectorize(function, otypes=[float])


def statement(op, operands, results, attrs):
    text = f"  {', '.join('%' + r for r in results)} = {op}"
    if operands:
        text += " " + ", ".join("%" + name for name in operands)
    return text + (f" {{{attrs}}}" if attrs else "")


def graph_text(inputs, results, lines, types):
    declared = ", ".join(f"%{name}: {tensor.type((types or {}).get(name))}"
                         for name, tensor in inputs.items())
    body = "\n".join(lines)
    returned = ", ".join("%" + r for r in results)
    head = f"graph @case({declared}) -> ({', '.join(results)})"
    return f"{head} {{\n{body}\n  return {returned}\n}}\n"


class Book:
    """All cases, by op."""

    def __init__(self):
        self.cases = {}

    def add(self, op, name, inputs, outputs, attrs="", types=None, lines=None, operands=None,
            smooth=(), slopes=None, zero_sign=False, error=None):
        """One case. `types` overrides an input's dims (symbols); `lines` the graph's body.

        `smooth` names the inputs that central differences can check; `slopes` is a pair of
        dictionaries, weights by output and the expected gradient by input, for places where
        differences cannot; `zero_sign` compares the signs of zeros too; `error` is a part of the
        message of a run that must fail.
        """
        if lines is None:
            names = list(inputs) if operands is None else operands
            lines = [statement(op, names, list(outputs), attrs)]
        record = {"name": name, "graph": graph_text(inputs, list(outputs), lines, types)}
        record["inputs"] = {k: v.plain() for k, v in inputs.items()}
        if error is None:
            record["outputs"] = {k: v.plain() for k, v in outputs.items()}
        else:
            record["error"] = error
        if smooth:
            record["differentiable"] = list(smooth)
        if slopes:
            record["weights"] = {k: v.plain() for k, v in slopes[0].items()}
            record["grads"] = {k: v.plain() for k, v in slopes[1].items()}
        if zero_sign:
            record["zero_sign"] = True
        cases = self.cases.setdefault(op, [])
        assert name not in [c["name"] for c in cases], f"{op}: two cases are called {name}"
        cases.append(record)


def dump(op, cases):
    """JSON with one tensor a line."""
    def tensors(record):
        rows = [f"      {json.dumps(k)}: {json.dumps(v, separators=(',', ':'))}"
                for k, v in record.items()]
        return "{\n" + ",\n".join(rows) + "\n    }" if rows else "{}"

    texts = []
    for case in cases:
        fields = []
        for key, value in case.items():
            text = tensors(value) if isinstance(value, dict) else json.dumps(value)
            fields.append(f"    {json.dumps(key)}: {text}")
        texts.append("  {\n" + ",\n".join(fields) + "\n  }")
    return f'{{"op": {json.dumps(op)}, "cases": [\n' + ",\n".join(texts) + "\n]}\n"
