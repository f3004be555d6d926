#!/usr/bin/env python3
"""Checks the files named on stdin for what the compiler does not: length, head, paths of one machine."""
# SPDX-License-Identifier: Apache-2.0
import pathlib
import re
import sys

MAX_LINES = 500
HOME = re.compile(r"(?<![\w.$}*~/-])/(home|root|work|Users)\b")


def complaints(path, text):
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        if HOME.search(line):
            yield number, "a path that exists on one machine only"
    if path.suffix not in (".h", ".cc", ".def"):
        return
    # A .cc beside its header may leave that to the header.
    alone = path.suffix != ".cc" or not path.with_suffix(".h").exists()
    if alone and (not lines or not re.match(r"// [^ ]", lines[0]) or "SPDX" in lines[0]):
        yield 1, "the first line of a file says what it is for"
    if "// SPDX-License-Identifier: Apache-2.0" not in lines[:10]:
        yield 2, "a line of the head is missing: // SPDX-License-Identifier: Apache-2.0"
    if len(lines) > MAX_LINES and ("SPDX" in lines[1] or not lines[1].startswith("// ")):
        yield 2, f"{len(lines)} lines: more than {MAX_LINES} need a reason on line 2 (SPDX on line 3)"
    if path.suffix == ".h":
        if "#pragma once" not in lines:
            yield 1, "#pragma once is missing"
        for number, line in enumerate(lines, 1):
            if line.lstrip().startswith("using namespace"):
                yield number, "no `using namespace` in a header"


def types_of(text):
    """Types that a header defines at the scope of a namespace: "weft::tile::Value" and its line."""
    namespace = ""
    for number, line in enumerate(text.splitlines(), 1):
        if found := re.match(r"namespace ([\w:]+) \{", line):
            namespace = found.group(1)
        if found := re.match(r"(?:struct|class|enum class) (?:alignas\(\w+\) )?(\w+)(?!::)\b[^;]*$", line):
            yield f"{namespace}::{found.group(1)}", number


def main():
    failures = 0
    types = {}
    for name in sys.stdin.read().splitlines():
        try:
            text = pathlib.Path(name).read_text(encoding="utf-8")
        except (UnicodeDecodeError, FileNotFoundError):
            continue  # binary test data, or deleted and not yet committed
        if name.endswith(".h"):
            for kind, number in types_of(text):
                other = types.setdefault(kind, f"{name}:{number}")
                if other != f"{name}:{number}":
                    failures += 1
                    print(f"{name}:{number}: error: {kind} is another type in {other}: templates of both"
                          " would be mixed up by the linker")
        for number, reason in complaints(pathlib.Path(name), text):
            failures += 1
            print(f"{name}:{number}: error: {reason}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
