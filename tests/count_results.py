#!/usr/bin/env python3
"""Prints "passed failed skipped": the test cases of one ctest run (its build folder is the argument)."""
# SPDX-License-Identifier: Apache-2.0
import pathlib
import sys
import xml.etree.ElementTree as ElementTree


def gtest_cases(file):
    """(passed, failed, skipped) of one gtest report; all 0 if it is missing or torn."""
    try:
        cases = list(ElementTree.parse(file).iter("testcase"))
    except (FileNotFoundError, ElementTree.ParseError):
        return 0, 0, 0
    failed = sum(case.find("failure") is not None for case in cases)
    skipped = sum(case.get("result") == "skipped" or case.get("status") == "notrun" for case in cases)
    return len(cases) - failed - skipped, failed, skipped


def main():
    build = pathlib.Path(sys.argv[1])
    total = [0, 0, 0]
    for run in ElementTree.parse(build / "results.xml").iter("testcase"):  # one per executable
        report = build / "results" / (run.get("name") + ".xml")
        passed, failed, skipped = gtest_cases(report)
        if run.get("status") != "run" and failed == 0:
            failed = 1  # it crashed, ran out of time, or a sanitizer spoke at its end
        elif not report.exists():
            passed = 1  # not a gtest executable
        total = [a + b for a, b in zip(total, (passed, failed, skipped))]
    print(*total)


if __name__ == "__main__":
    main()
