#!/usr/bin/env python3
"""Fits the polynomials of the CPU backend's vector functions and prints them as a C++ header.

    python3 tools/math/minimax.py | clang-format-14 > backends/math_coefficients.h

Needs mpmath (Debian: python3-mpmath). Each fit is a weighted Remez exchange on a fine grid. The
coefficients are rounded to their type; where that helps, the lowest first, and those after them are
fitted again to make good for it. The error left is printed beside each table.
"""
# SPDX-License-Identifier: Apache-2.0
import struct
import sys

import mpmath as mp

mp.mp.dps = 40
GRID = 600


def to_f32(value):
    return mp.mpf(struct.unpack("<f", struct.pack("<f", float(value)))[0])


def to_f64(value):
    return mp.mpf(float(value))


def chebyshev_grid(low, high, count):
    middle, half = (mp.mpf(low) + high) / 2, (mp.mpf(high) - low) / 2
    return [middle - half * mp.cos(mp.pi * (2 * i + 1) / (2 * count)) for i in range(count)]


def remez(points, targets, weights, powers):
    """Coefficients c with the least max |weight * (target - sum c_k x^powers_k)| over the points."""
    size = len(powers) + 1
    basis = [[x**p for p in powers] for x in points]
    chosen = [i * (len(points) - 1) // (size - 1) for i in range(size)]
    for _ in range(40):
        matrix, right = mp.matrix(size, size), mp.matrix(size, 1)
        for row, i in enumerate(chosen):
            for column in range(size - 1):
                matrix[row, column] = basis[i][column]
            matrix[row, size - 1] = (-1) ** row / weights[i]
            right[row] = targets[i]
        solution = mp.lu_solve(matrix, right)
        errors = [
            w * (t - sum(c * b for c, b in zip(solution[: size - 1], row)))
            for w, t, row in zip(weights, targets, basis)
        ]
        peaks = alternation(errors, size)
        level = abs(solution[size - 1])
        if max(abs(e) for e in errors) <= level * mp.mpf("1.001") or peaks == chosen:
            break
        chosen = peaks
    return list(solution[: size - 1])


def alternation(errors, size):
    """The largest error of each run of one sign; the best `size` neighbours of them."""
    peaks = []
    for i, error in enumerate(errors):
        if peaks and (errors[peaks[-1]] > 0) == (error > 0):
            if abs(error) > abs(errors[peaks[-1]]):
                peaks[-1] = i
        else:
            peaks.append(i)
    while len(peaks) > size:
        peaks.pop(0 if abs(errors[peaks[0]]) < abs(errors[peaks[-1]]) else -1)
    if len(peaks) < size:
        sys.exit(f"the exchange found {len(peaks)} of {size} alternations: the degree is too high")
    return peaks


def fit(function, low, high, powers, relative_to, rounding):
    """The rounded coefficients of x^powers, and the largest relative error left."""
    points = chebyshev_grid(low, high, GRID)
    targets = [function(x) for x in points]
    weights = [1 / abs(relative_to(x)) for x in points]
    best = None
    for refits in range(min(4, len(powers))):
        left, fixed = list(targets), []
        for number in range(refits + 1):
            found = remez(points, left, weights, powers[number:])
            keep = found[:1] if number < refits else found
            for power, coefficient in zip(powers[number:], map(rounding, keep)):
                fixed.append(coefficient)
                left = [t - coefficient * x**power for t, x in zip(left, points)]
        error = max(abs(w * t) for w, t in zip(weights, left))
        if best is None or error < best[1]:
            best = fixed, error
    return best


def table(name, meaning, result, kind):
    coefficients, error = result
    print(f"// {meaning}; relative error {mp.nstr(error, 2)}.")
    print(f"inline constexpr {kind} {name}[] = {{")
    suffix = "F" if kind == "float" else ""
    for coefficient in coefficients:
        print(f"    {float(coefficient).hex()}{suffix},")
    print("};")


def split(value, bits, parts):
    """The value as a sum: all parts but the last have `bits` bits, so that small multiples are exact."""
    result = []
    for _ in range(parts - 1):
        exponent = mp.floor(mp.log(abs(value), 2))
        unit = mp.mpf(2) ** (exponent - bits + 1)
        result.append(mp.nint(value / unit) * unit)
        value -= result[-1]
    return result + [value]


def constants(name, meaning, values, kind):
    suffix = "F" if kind == "float" else ""
    print(f"// {meaning}.")
    print(f"inline constexpr {kind} {name}[] = {{")
    for value in values:
        print(f"    {float(value).hex()}{suffix},")
    print("};")


def two_over_pi_words(count):
    mp.mp.prec = 32 * count + 64
    fraction, words = 2 / mp.pi, []
    for _ in range(count):
        fraction *= 2**32
        word = int(mp.floor(fraction))
        words.append(word)
        fraction -= word
    mp.mp.dps = 40
    return words


def quotient(function, leading, power):
    """(function - leading) / x^power, from the Taylor series near zero where that would cancel."""

    def value(x):
        with mp.workdps(80):
            x = mp.mpf(x)
            if x == 0:
                x = mp.mpf(10) ** -20
            return (function(x) - leading(x)) / x**power

    return value


def main():
    ln2, wide = mp.log(2), mp.mpf("1.001")
    print("// Constants of elementary functions: printed by tools/math/minimax.py, not to be edited.")
    print("// SPDX-License-Identifier: Apache-2.0")
    print("#pragma once\n\n#include <cstdint>\n\nnamespace weft {\n")

    table("kExpTail", "(exp(r) - 1 - r) / r^2 for |r| <= ln 2, against exp(r)",
          fit(quotient(mp.exp, lambda x: 1 + x, 2), -ln2 * wide, ln2 * wide, list(range(7)),
              lambda x: mp.exp(x) / x**2, to_f32), "float")
    near = ln2 / 2 * wide
    table("kExpNear", "(exp(r) - 1 - r) / r^2 for |r| <= ln 2 / 2, against exp(r)",
          fit(quotient(mp.exp, lambda x: 1 + x, 2), -near, near, list(range(5)),
              lambda x: mp.exp(x) / x**2, to_f32), "float")
    constants("kTwoLn2", "2 ln 2 = sum, exact in products with |n| <= 2^8", split(2 * ln2, 16, 2), "float")
    half = ln2 / 4 * wide
    table("kTanhExp", "(exp(2r) - 1) / r for |r| <= ln 2 / 4, against exp(2r)",
          fit(quotient(lambda x: mp.exp(2 * x), lambda x: 1, 1), -half, half, list(range(6)),
              lambda x: mp.exp(2 * x) / x, to_f32), "float")
    constants("kHalfLn2", "ln 2 / 2 = sum, exact in products with |n| <= 2^8", split(ln2 / 2, 16, 2), "float")
    table("kTanhSmall", "(tanh(x) / x - 1) / x^2 in x^2 for |x| <= 0.625, against tanh(x) / x",
          fit(lambda s: (mp.tanh(mp.sqrt(s)) / mp.sqrt(s) - 1) / s, mp.mpf(10) ** -6, mp.mpf("0.625") ** 2,
              list(range(5)), lambda s: mp.tanh(mp.sqrt(s)) / mp.sqrt(s) / s, to_f32), "float")
    constants("kLn2", "ln 2 = sum, exact in products with |n| <= 2^8", split(ln2, 16, 2), "float")
    third = mp.mpf(1) / 3
    table("kLog1pTail", "(log1p(r) - r + r^2 / 2) / r^3 for |r| <= 1/3, against log1p(r)",
          fit(quotient(mp.log1p, lambda x: x - x * x / 2, 3), -third, third, list(range(9)),
              lambda x: mp.log1p(x) / x**3, to_f32), "float")
    table("kErfSmall", "erf(x) / x - 1 in x^2 for |x| <= 1, against erf(x) / x",
          fit(lambda x: mp.erf(mp.sqrt(x)) / mp.sqrt(x) - 1, 0, 1, list(range(7)),
              lambda x: mp.erf(mp.sqrt(x)) / mp.sqrt(x), to_f32), "float")
    table("kErfcLarge", "erfc(x) in x - 2.5 for 1 <= x <= 4, against 1",
          fit(lambda x: mp.erfc(x + mp.mpf("2.5")), -1.5, 1.5, list(range(15)), lambda x: 1, to_f32), "float")
    quarter = mp.pi / 4 * wide
    table("kSinTail", "(sin(r) - r) / r^3 in r^2 for |r| <= pi/4, against sin(r)",
          fit(lambda s: (mp.sin(mp.sqrt(s)) - mp.sqrt(s)) / mp.sqrt(s) ** 3, mp.mpf(10) ** -6, quarter**2,
              list(range(4)), lambda s: mp.sin(mp.sqrt(s)) / mp.sqrt(s) ** 3, to_f32), "float")
    table("kCosTail", "(cos(r) - 1 + r^2 / 2) / r^4 in r^2 for |r| <= pi/4, against cos(r)",
          fit(lambda s: (mp.cos(mp.sqrt(s)) - 1 + s / 2) / s**2, mp.mpf(10) ** -6, quarter**2,
              list(range(3)), lambda s: mp.cos(mp.sqrt(s)) / s**2, to_f32), "float")
    constants("kHalfPi", "pi/2 = sum, exact in products with |n| <= 2^20", split(mp.pi / 2, 33, 3), "double")
    edge = ((mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)) ** 2 * wide
    table("kLog2", "log2(m) / s in s^2, s = (m - 1) / (m + 1), m in [sqrt(1/2), sqrt(2)]",
          fit(lambda z: 2 * mp.atanh(mp.sqrt(z)) / mp.sqrt(z) / ln2, mp.mpf(10) ** -9, edge, list(range(5)),
              lambda z: 2 * mp.atanh(mp.sqrt(z)) / mp.sqrt(z) / ln2, to_f64), "double")
    table("kExp2", "2^f for |f| <= 1/2",
          fit(lambda f: mp.mpf(2) ** f, -wide / 2, wide / 2, list(range(8)), lambda f: mp.mpf(2) ** f, to_f64),
          "double")
    print("// The first bits of 2/pi after the point, 32 to a word.")
    print("inline constexpr uint32_t kTwoOverPi[] = {")
    for word in two_over_pi_words(8):
        print(f"    0x{word:08x},")
    print("};\n\n}  // namespace weft")


if __name__ == "__main__":
    main()
