#!/usr/bin/env python3
"""Checks that every #include follows the table of rooms in docs/architecture.md."""
# SPDX-License-Identifier: Apache-2.0
import pathlib
import re
import sys

# What the CPU backend and the code it makes share with the runtime.
CPU_DOORS = ["runtime/cpu/kernel_abi.h", "runtime/cpu/facts.h", "runtime/cpu/features.h"]
ROOMS = {  # room: what it may include besides itself
    "ir": [],
    "passes": ["ir"],
    "backends": ["ir", "passes", "runtime/executable.h", "runtime/executable_file.h",
                 "runtime/vulkan/device_facts.h", "runtime/vulkan/khr_matrices.h"] + CPU_DOORS,
    "runtime": ["ir"],
    "frontend": ["ir"],
    "models": ["frontend"],
    "driver": ["ir", "passes", "backends", "runtime", "frontend", "models"],
    "emulator": [],
}
TOP = ["tools", "tests", "bench"]  # may include every room; included by nobody else
ALL = [room for room in ROOMS if room != "emulator"]
ROOMS.update({room: ALL for room in TOP})
BACKENDS = {"cpu": [], "simt": [], "cuda": ["simt"], "vulkan": ["simt"]}

THIRD_PARTY = {  # header: the folders that may include it; a new one needs a decision record
    "flatbuffers": ["ir/serial"],
    "executable_generated.h": ["runtime/weftx"],
    "module_generated.h": ["ir/serial", "tests/serial"],
    "nlohmann": ["runtime/files", "frontend", "driver"] + TOP,
    "CLI": ["tools"],
    "llvm": ["backends/cpu", "tests/cpu"],
    "zlib.h": ["driver/data"],
    "sentencepiece_processor.h": ["driver/data"],
    "sentencepiece_trainer.h": ["driver/data"],
    "volk.h": ["runtime/vulkan"],
    "glslang": ["backends/vulkan"],
    "spirv-tools": ["backends/vulkan", "tests/vulkan"],
    "spv": ["runtime/vulkan", "tests/vulkan"],  # made of .comp files
    "test_paths.h": ["tests"],
    "gtest": ["tests"],
    "gmock": ["tests"],
    "benchmark": ["bench"],
}
SYSTEM = ["sys", "linux"]  # <sys/mman.h>


def within(path, folder):
    return path == folder or path.startswith(folder + "/")


def complaint(path, header):
    """Why `path` may not include `header`; None if it may."""
    head = header.split("/")[0]
    if head in THIRD_PARTY:
        if not any(within(path, folder) for folder in THIRD_PARTY[head]):
            return "only " + ", ".join(THIRD_PARTY[head]) + " may include it"
        return None
    if head not in ROOMS:
        return "unknown folder or library: paths start at the root of the repository"
    room = path.split("/")[0]
    if head != room and not any(within(header, allowed) for allowed in ROOMS[room]):
        return f"{room} may include {', '.join(ROOMS[room]) or 'the standard library'} only"
    if within(header, "ir/serial") and room == "ir" and not within(path, "ir/serial"):
        return "the rest of ir does not know ir/serial"
    ours, theirs = (p.split("/")[1:-1] for p in (path, header))
    if room == head == "backends" and ours and theirs and ours[0] != theirs[0]:
        if theirs[0] not in BACKENDS.get(ours[0], []):
            return "a backend does not know another; cuda and vulkan know simt"
    return None


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    failures = 0
    files = [f for room in ROOMS for kind in ("h", "cc", "def") for f in (root / room).rglob("*." + kind)]
    for file in sorted(files):
        path = file.relative_to(root).as_posix()
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            match = re.match(r'\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', line)
            if not match:
                continue
            quoted, angled = match.groups()
            if angled and angled not in THIRD_PARTY and ("/" not in angled or angled.split("/")[0] in SYSTEM):
                continue  # the standard library
            reason = complaint(path, quoted or angled)
            if reason:
                failures += 1
                print(f"{path}:{number}: error: {line.strip()}: {reason}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
