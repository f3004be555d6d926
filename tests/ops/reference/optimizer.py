"""Optimizer steps: sgd, adam and adamw."""
# SPDX-License-Identifier: Apache-2.0
import numpy as np

from .core import FLOAT, NAN, draw, expected, given

SHAPES = [("scalar", (), None), ("one", (1, ), None), ("primes", (7, 13), None),
          ("empty", (0, 3), None), ("beyond_tile", (3, 129), None), ("symbolic", (2, 5), "B, T")]


def _sgd(p, g, velocity, lr, momentum, weight_decay):
    g = g + weight_decay * p
    velocity = momentum * velocity + g
    return p - lr * velocity, velocity


def _adam(p, g, m, v, lr, step, beta1, beta2, eps, weight_decay, decoupled):
    if not decoupled:
        g = g + weight_decay * p
    m = beta1 * m + (1.0 - beta1) * g
    v = beta2 * v + (1.0 - beta2) * g * g
    new = p - lr * (m / (1.0 - beta1 ** step)) / (np.sqrt(v / (1.0 - beta2 ** step)) + eps)
    return (new - lr * weight_decay * p if decoupled else new), m, v


def _state(op, name, dtype, shape, count):
    inputs = {"p": draw(f"{op}/{name}/p", dtype, shape), "g": draw(f"{op}/{name}/g", dtype, shape)}
    for part in ("m", "v")[:count]:
        inputs[part] = draw(f"{op}/{name}/{part}", dtype, shape, 0.125, 2.0)
    return inputs


def _types(inputs, dims):
    return {k: dims for k in inputs} if dims else None


def _text(attrs):
    return ", ".join(f"{k} = {v}" for k, v in attrs.items())


def _add_sgd(book):
    def make(name, dtype, shape, dims=None, state=None, **attrs):
        inputs = state or _state("sgd", name, dtype, shape, 1)
        types = _types(inputs, dims)
        inputs["lr"] = given(dtype, 0.125)
        chosen = {"momentum": 0.0, "weight_decay": 0.0, **attrs}
        out = _sgd(*(t.array for t in inputs.values()), **chosen)
        book.add("sgd", name, inputs, dict(zip(("p1", "m1"), (expected(dtype, a) for a in out))),
                 _text(attrs), types)

    for dtype in FLOAT:
        make(dtype, dtype, (3, 5), momentum=0.5)
    for name, shape, dims in SHAPES:
        make(name, "f64", shape, dims, momentum=0.9)
    make("defaults", "f64", (3, 5))
    make("weight_decay", "f64", (3, 5), momentum=0.9, weight_decay=0.01)
    make("nan", "f64", None, state={"p": given("f64", [1.0, 2.0]), "g": given("f64", [NAN, 1.0]),
                                    "m": given("f64", [0.0, 0.5])}, momentum=0.9)


def _add_adam(book, op):
    defaults = {
        "beta1": 0.9, "beta2": 0.98, "eps": 1e-9, "weight_decay": 0.01 if op == "adamw" else 0.0
    }

    def make(name, dtype, shape, dims=None, step=3, state=None, **attrs):
        inputs = state or _state(op, name, dtype, shape, 2)
        types = _types(inputs, dims)
        inputs["lr"], inputs["step"] = given(dtype, 0.125), given("i32", step)
        arrays = [t.array for t in inputs.values()][:-1] + [step]
        out = _adam(*arrays, **{**defaults, **attrs}, decoupled=op == "adamw")
        book.add(op, name, inputs, dict(zip(("p1", "m1", "v1"), (expected(dtype, a) for a in out))),
                 _text(attrs), types)

    for dtype in FLOAT:
        make(dtype, dtype, (3, 5))
    for name, shape, dims in SHAPES:
        make(name, "f64", shape, dims)
    make("first_step", "f64", (3, 5), step=1)
    make("late_step", "f64", (3, 5), step=100000)
    make("weight_decay", "f64", (3, 5), weight_decay=0.25)
    make("no_decay", "f64", (3, 5), weight_decay=0.0)
    make("other_betas", "f64", (3, 5), beta1=0.5, beta2=0.999, eps=1e-6)
    make("large_eps", "f64", (3, 5), eps=0.5)
    zero = given("f64", [0.0, 0.0])
    make(
        "fresh",
        "f64",
        None,
        step=1,
        state={"p": given("f64", [1.0, -2.0]), "g": given("f64", [0.5, 0.0]), "m": zero, "v": zero})
    make("nan", "f64", None, state={"p": given("f64", [1.0, 2.0]), "g": given("f64", [NAN, 1.0]),
                                    "m": given("f64", [0.0, 0.5]), "v": given("f64", [0.5, 0.5])})


def add_cases(book):
    _add_sgd(book)
    _add_adam(book, "adam")
    _add_adam(book, "adamw")
