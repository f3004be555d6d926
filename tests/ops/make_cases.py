#!/usr/bin/env python3
"""Writes cases/OP.json: inputs and expected outputs for every op, computed with NumPy.

The formulas follow the meaning column of ir/graph/ops.def and share nothing with Weft's code.
Needs NumPy 2; run it from anywhere: python3 tests/ops/make_cases.py
"""

# SPDX-License-Identifier: Apache-2.0
import pathlib

import numpy as np

from reference import (
    arithmetic,
    attention,
    cast,
    compare,
    core,
    index,
    loss,
    make,
    optimizer,
    reduce,
    region,
    rows,
    unary,
    view,
)

FAMILIES = (arithmetic, unary, cast, compare, reduce, rows, attention, index, view, make, loss,
            optimizer, region)


def main():
    book = core.Book()
    with np.errstate(all="ignore"):
        for family in FAMILIES:
            family.add_cases(book)
    folder = pathlib.Path(__file__).parent / "cases"
    folder.mkdir(exist_ok=True)
    for stale in folder.glob("*.json"):
        stale.unlink()
    for op, cases in book.cases.items():
        (folder / f"{op}.json").write_text(core.dump(op, cases), encoding="utf-8")
    total = sum(len(cases) for cases in book.cases.values())
    size = sum(path.stat().st_size for path in folder.glob("*.json"))
    print(f"{len(book.cases)} ops, {total} cases, {size} bytes")


if __name__ == "__main__":
    main()
