#!/usr/bin/env python3
"""Runs test targets and closes with one line, `N passed, N failed`.

usage: tests/run.py TARGET...   (from the top of the repository)

Each target says `NAME: N passed, N failed` on a line of its own, or is one of Python's unittest; those are added
up, a skipped test as a failed one. A target that says nothing of the kind, or that fails without a failed test,
counts as one failed test.
"""

import os
import re
import subprocess
import sys

COUNTS = re.compile(r"^(?:[\w -]+: )?(\d+) passed, (\d+) failed")

# Python's unittest says it in two lines, the second one `OK` or `FAILED (failures=1, errors=2)`.
UNITTEST_RAN = re.compile(r"^Ran (\d+) tests? in")
UNITTEST_FAILED = re.compile(r"(?:failures|errors|skipped)=(\d+)")


def jobs():
    """What a target takes is built by all processors, unless the make that called has said how many."""
    return [] if "-j" in os.environ.get("MAKEFLAGS", "") else [f"-j{os.cpu_count()}"]


def run(target):
    """The counts of one target; its other output goes through."""
    passed = failed = ran = 0
    counted = False
    # The descriptors of make's job server, where there is one, go along.
    command = [os.environ.get("MAKE", "make"), "-s", "--no-print-directory", *jobs(), target]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                          close_fds=False) as process:
        for line in process.stdout:
            match = COUNTS.match(line)
            if match:
                counted = True
                passed += int(match.group(1))
                failed += int(match.group(2))
            elif UNITTEST_RAN.match(line):
                ran = int(UNITTEST_RAN.match(line).group(1))
            elif ran and line.startswith(("OK", "FAILED")):
                counted = True
                bad = sum(map(int, UNITTEST_FAILED.findall(line)))
                passed, failed, ran = passed + ran - bad, failed + bad, 0
            else:
                sys.stdout.write(line)
                sys.stdout.flush()
    if not counted or (process.returncode != 0 and failed == 0):
        print(f"{target} stopped with exit status {process.returncode}")
        failed += 1
    print(f"{target}: {passed} of {passed + failed}", flush=True)
    return passed, failed


def main():
    results = [run(target) for target in sys.argv[1:]]
    passed = sum(result[0] for result in results)
    failed = sum(result[1] for result in results)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
