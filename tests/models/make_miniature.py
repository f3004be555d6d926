#!/usr/bin/env python3
"""Writes miniature.json: loss and gradients of a miniature Transformer, computed by PyTorch in double.

    pip install torch numpy && python3 tests/models/make_miniature.py

The model is written here from the paper, with torch.nn.functional, and shares nothing with Weft but
the names of the parameters and their layout ([in, out]).
"""
# SPDX-License-Identifier: Apache-2.0
import json
import math
import pathlib

import torch
import torch.nn.functional as F

LAYERS, WIDTH, HEADS, HIDDEN, VOCAB, PAD = 2, 16, 4, 32, 50, 0
SMOOTHING, EPS = 0.1, 1e-5


def attention_shapes(prefix):
    for part in "qkvo":
        yield f"{prefix}.{part}.weight", (WIDTH, WIDTH)
        yield f"{prefix}.{part}.bias", (WIDTH,)
    yield f"{prefix}.norm.gain", (WIDTH,)
    yield f"{prefix}.norm.bias", (WIDTH,)


def shapes():
    yield "embedding.weight", (VOCAB, WIDTH)
    for stack in ("encoder", "decoder"):
        for i in range(LAYERS):
            layer = f"{stack}.{i}"
            yield from attention_shapes(f"{layer}.attn")
            if stack == "decoder":
                yield from attention_shapes(f"{layer}.cross")
            yield f"{layer}.ffn.up.weight", (WIDTH, HIDDEN)
            yield f"{layer}.ffn.up.bias", (HIDDEN,)
            yield f"{layer}.ffn.down.weight", (HIDDEN, WIDTH)
            yield f"{layer}.ffn.down.bias", (WIDTH,)
            yield f"{layer}.ffn.norm.gain", (WIDTH,)
            yield f"{layer}.ffn.norm.bias", (WIDTH,)


def make_parameters():
    """Nothing is zero or one, so that no mistake hides behind a neutral value."""
    params = {}
    for name, shape in shapes():
        noise = torch.randn(shape, dtype=torch.float64)
        if name.endswith(".gain"):
            value = 1 + 0.2 * noise
        elif name.endswith(".bias"):
            value = 0.1 * noise
        else:
            value = noise * shape[-1] ** -0.5
        params[name] = value.requires_grad_()
    return params


class Miniature:
    def __init__(self, params):
        self.p = params

    def linear(self, x, name):
        return F.linear(x, self.p[name + ".weight"].T, self.p[name + ".bias"])

    def norm(self, x, name):
        return F.layer_norm(x, (WIDTH,), self.p[name + ".gain"], self.p[name + ".bias"], EPS)

    def attend(self, x, memory, allowed, name):
        def heads(t):
            return t.unflatten(-1, (HEADS, WIDTH // HEADS)).movedim(-2, 1)

        q, k, v = (heads(self.linear(t, f"{name}.{part}")) for t, part in ((x, "q"), (memory, "k"), (memory, "v")))
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=allowed)
        return self.norm(x + self.linear(mixed.movedim(1, -2).flatten(-2), name + ".o"), name + ".norm")

    def feed_forward(self, x, name):
        y = self.linear(F.relu(self.linear(x, name + ".up")), name + ".down")
        return self.norm(x + y, name + ".norm")

    def embed(self, ids):
        position = torch.arange(ids.shape[1], dtype=torch.float64)
        table = torch.zeros(ids.shape[1], WIDTH, dtype=torch.float64)
        for i in range(0, WIDTH, 2):
            table[:, i] = torch.sin(position / 10000 ** (i / WIDTH))
            table[:, i + 1] = torch.cos(position / 10000 ** (i / WIDTH))
        return F.embedding(ids, self.p["embedding.weight"]) * math.sqrt(WIDTH) + table

    def loss(self, src, tgt, labels):
        seen = (src != PAD)[:, None, None, :]
        length = tgt.shape[1]
        causal = torch.ones(length, length, dtype=torch.bool).tril() & (tgt != PAD)[:, None, None, :]
        x = self.embed(src)
        for i in range(LAYERS):
            x = self.attend(x, x, seen, f"encoder.{i}.attn")
            x = self.feed_forward(x, f"encoder.{i}.ffn")
        y = self.embed(tgt)
        for i in range(LAYERS):
            y = self.attend(y, y, causal, f"decoder.{i}.attn")
            y = self.attend(y, x, seen, f"decoder.{i}.cross")
            y = self.feed_forward(y, f"decoder.{i}.ffn")
        logits = F.linear(y, self.p["embedding.weight"])
        return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=PAD, label_smoothing=SMOOTHING)


def pad_rows(rows, width):
    return torch.tensor([row + [PAD] * (width - len(row)) for row in rows])


def describe(tensor):
    return {"shape": list(tensor.shape), "data": tensor.detach().flatten().tolist()}


def main():
    torch.manual_seed(20170612)
    params = make_parameters()
    # Sentences of different lengths; tokens occur in source and target, and more than once.
    inputs = {
        "src": pad_rows([[7, 3, 7, 49, 12], [21, 5], [30, 31, 2, 8]], 5),
        "tgt": pad_rows([[1, 9, 7, 44], [1, 21, 21, 6, 17, 3], [1]], 6),
        "labels": pad_rows([[9, 7, 44, 2], [21, 21, 6, 17, 3, 2], [2]], 6),
    }
    loss = Miniature(params).loss(**inputs)
    loss.backward()
    out = pathlib.Path(__file__).with_name("miniature.json")
    sections = {
        "inputs": {k: describe(v) for k, v in inputs.items()},
        "params": {k: describe(v) for k, v in params.items()},
        "grads": {k: describe(v.grad) for k, v in params.items()},
    }
    lines = [f' "torch": {json.dumps(torch.__version__)}', f' "loss": {loss.item()!r}']
    for section, tensors in sections.items():
        body = ",\n".join(f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in tensors.items())
        lines.append(f' "{section}": {{\n{body}\n }}')
    out.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
