#!/usr/bin/env python3
# Counts what torch.compile and XLA launch for transformer-tiny's forward and training step.
# SPDX-License-Identifier: Apache-2.0
#
# usage: count_kernels.py PEERS.py, with the file that defines the models and a Python that has
# torch and jax. Prints a JSON line per count: "kernels" are launches of one run.
import argparse
import importlib.util
import json
import re
import sys


def load(path):
    spec = importlib.util.spec_from_file_location("peers", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def emit(peer, graph, kernels, products):
    print(json.dumps({"peer": peer, "graph": graph, "kernels": kernels, "products": products}), flush=True)


def inductor_launches(codes):
    """Launches in the generated wrappers: fused C++ kernels, and calls of library ops."""
    kernels = products = 0
    for code in codes:
        body = code[code.index("def call("):]
        fused = len(re.findall(r"^\s+(?:cpp_fused|\w*cpp_\w+)\w*\(", body, re.M))
        calls = re.findall(r"(?:extern_kernels\.|aten\.|torch\.ops\.)([\w.]+)\(", body)
        kernels += fused + len(calls)
        products += sum(name.split(".")[0] in ("mm", "addmm", "bmm", "baddbmm", "mkl", "mkldnn") for name in calls)
    return kernels, products


def count_torch(peers, drop):
    import torch
    from torch._inductor.utils import run_and_get_code
    args = argparse.Namespace(peer="torch", threads=2, plain_opt=False)
    _, _, model, inputs, _, optimizer = peers.t_train_step(args, "train_tiny", drop)
    torch._inductor.config.force_disable_caches = True

    def forward():
        with torch.no_grad():
            return torch.compile(model, dynamic=False)(*inputs)

    _, codes = run_and_get_code(forward)
    emit("torch.compile", "loss", *inductor_launches(codes))
    torch._dynamo.reset()

    def step():
        torch.compile(model, dynamic=False)(*inputs).backward()

    _, codes = run_and_get_code(step)
    kernels, products = inductor_launches(codes)
    emit("torch.compile", "train_step", kernels + 1, products)  # and the fused Adam


def xla_launches(text):
    """Instructions of the entry computation, and of loops' bodies, that compute or move something."""
    kernels = products = 0
    for line in text.splitlines():
        found = re.match(r"\s+(?:ROOT )?%?[\w.\-]+ = .*?\s([a-z\-]+)\(", line)
        if not found:
            continue
        op = found.group(1)
        if op in ("fusion", "dot", "custom-call", "copy", "reduce", "transpose", "scatter", "gather", "sort",
                  "concatenate", "select-and-scatter", "reduce-window", "convolution", "call"):
            kernels += 1
            products += op in ("dot", "custom-call")
    return kernels, products


def entry_of(text):
    return text[text.index("ENTRY "):]


def count_xla(peers, drop):
    import jax
    import numpy as np
    tiny = peers.TINY
    params, loss = peers.jax_models()["seq2seq"](tiny, drop)
    shapes = [(tiny["B"], tiny["S"]), (tiny["B"], tiny["T"]), (tiny["B"], tiny["T"])]
    inputs = [np.zeros(shape, np.int32) for shape in shapes]
    key = jax.random.key(0)
    compiled = jax.jit(loss).lower(params, key, *inputs).compile()
    emit("XLA", "loss", *xla_launches(entry_of(compiled.as_text())))

    def step(params, m, v, key, *inputs):
        value, grads = jax.value_and_grad(loss)(params, key, *inputs)
        each = jax.tree_util.tree_map
        m = each(lambda m, g: 0.9 * m + 0.1 * g, m, grads)
        v = each(lambda v, g: 0.98 * v + 0.02 * g * g, v, grads)
        return each(lambda p, m, v: p - 5e-4 * m / (v**0.5 + 1e-9), params, m, v), m, v, value

    zeros = jax.tree_util.tree_map(np.zeros_like, params)
    compiled = jax.jit(step).lower(params, zeros, zeros, key, *inputs).compile()
    emit("XLA", "train_step", *xla_launches(entry_of(compiled.as_text())))


def main():
    parser = argparse.ArgumentParser(description="Counts the kernels of other compilers.")
    parser.add_argument("peers", help="peers.py")
    parser.add_argument("--drop", type=float, default=0.0)
    args = parser.parse_args()
    peers = load(args.peers)
    count_torch(peers, args.drop)
    count_xla(peers, args.drop)


if __name__ == "__main__":
    sys.exit(main())
