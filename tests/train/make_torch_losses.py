#!/usr/bin/env python3
"""Writes torch_losses.json: the losses of 200 steps of transformer-tiny, computed by PyTorch in double.

    pip install torch numpy && python3 tests/train/make_torch_losses.py

Adam (0.9, 0.98, 1e-9), rates that rise as in a warm-up, no dropout, label smoothing 0.1. The rates are small:
Adam moves a weight by the sign of its gradient at first, whatever its size, so that rounding errors grow with
every step; at the preset's rates PyTorch's own f32 leaves its f64 by 0.03 within 200 steps.
Weights, batches and rates follow formulas that torch_test.cc has too; they share nothing else:

  hash(p, i)  = the 32-bit finalizer of MurmurHash3 of (i * 2654435761 + p * 40503) mod 2^32
  unit(p, i)  = hash(p, i) / 2^31 - 1
  a weight    = float32(limit * unit(p, i)), p the number of its parameter, i that of its element;
                limit is sqrt(6 / (in + out)), for the table of tokens sqrt(3 / width); gains 1, biases 0
  a sentence  = row r of batch k: length 3 + hash(1000 + k, r) % (S - 3), the rest is padding;
                token i is 4 + hash(2000 + k, 64 r + i) % 60, that of a target with 3000;
                tgt is 2 and the target, labels are the target and 3
  a rate      = float32(8e-8 * step)
"""
# SPDX-License-Identifier: Apache-2.0
import json
import pathlib
import sys

import numpy as np
import torch

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "models"))
import make_miniature as model  # noqa: E402

model.LAYERS, model.WIDTH, model.HEADS, model.HIDDEN, model.VOCAB = 4, 128, 4, 256, 10000
STEPS, BATCHES, ROWS, LENGTH, RATE = 200, 10, 8, 12, 8e-8


def hashes(p, i):
    x = (np.asarray(i, dtype=np.uint64) * np.uint64(2654435761) + np.uint64(p * 40503)).astype(np.uint32)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        x ^= x >> np.uint32(shift)
        x = (x.astype(np.uint64) * np.uint64(factor)).astype(np.uint32)
    return x ^ (x >> np.uint32(16))


def parameters():
    values = {}
    for p, (name, shape) in enumerate(model.shapes()):
        count = int(np.prod(shape))
        if name.endswith(".gain"):
            flat = np.ones(count)
        elif name.endswith(".bias"):
            flat = np.zeros(count)
        else:
            limit = np.sqrt(3 / shape[1]) if name.startswith("embedding") else np.sqrt(6 / sum(shape))
            flat = (limit * (hashes(p, np.arange(count)) / 2.0**31 - 1)).astype(np.float32)
        tensor = torch.tensor(flat.astype(np.float64).reshape(shape), dtype=torch.float64)
        values[name] = tensor.requires_grad_()
    return values


def sentence(k, row, base):
    length = 3 + int(hashes(1000 + k, row)) % (LENGTH - 3)
    return [4 + int(hashes(base + k, 64 * row + i)) % 60 for i in range(length)]


def batch(k):
    def padded(rows):
        return torch.tensor([row + [0] * (LENGTH - len(row)) for row in rows])

    sources = [sentence(k, row, 2000) for row in range(ROWS)]
    targets = [sentence(k, row, 3000) for row in range(ROWS)]
    return padded(sources), padded([[2] + t for t in targets]), padded([t + [3] for t in targets])


def main():
    torch.set_num_threads(1)
    params = parameters()
    adam = torch.optim.Adam(params.values(), lr=1.0, betas=(0.9, 0.98), eps=1e-9)
    losses = []
    for step in range(1, STEPS + 1):
        for group in adam.param_groups:
            group["lr"] = float(np.float32(RATE * step))
        adam.zero_grad()
        loss = model.Miniature(params).loss(*batch((step - 1) % BATCHES))
        loss.backward()
        adam.step()
        losses.append(loss.item())
    text = ",\n".join(f"  {loss!r}" for loss in losses)
    out = HERE / "torch_losses.json"
    names = json.dumps(list(params))
    out.write_text(f'{{\n "torch": {json.dumps(torch.__version__)},\n "parameters": {names},\n'
                   f' "losses": [\n{text}\n ]\n}}\n')


if __name__ == "__main__":
    main()
