#!/usr/bin/env python3
"""Runs test targets and ends with one line, `N passed, N failed`.

usage: tests/run.py TARGET...   (from the top of the repository)

One make runs all targets, so that the machine has work while a test waits. The target test-NAME prints a line
`NAME: N passed, N failed`. A target without this line counts as one failed test, as does a make that fails
without a failed test.
"""

import os
import re
import subprocess
import sys

COUNTS = re.compile(r"^([\w-]+): (\d+) passed, (\d+) failed$")


def jobs():
    """As many jobs as there are processors, at least two, unless the calling make has said how many."""
    return [] if "-j" in os.environ.get("MAKEFLAGS", "") else [f"-j{max(os.cpu_count(), 2)}"]


def run(targets):
    """What each target counted, as {target: (passed, failed)}, and make's exit status; other output goes through."""
    counts = {}
    # A make that calls this passes on the descriptors of its job server.
    command = [os.environ.get("MAKE", "make"), "-s", "-k", "--no-print-directory", *jobs(), *targets]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                          close_fds=False) as process:
        for line in process.stdout:
            match = COUNTS.match(line)
            if match and f"test-{match.group(1)}" in targets:
                counts[f"test-{match.group(1)}"] = int(match.group(2)), int(match.group(3))
            else:
                sys.stdout.write(line)
                sys.stdout.flush()
    return counts, process.returncode


def main():
    targets = sys.argv[1:]
    counts, status = run(targets)
    for target in targets:
        if target not in counts:
            print(f"{target} ended without counts")
        passed, failed = counts.setdefault(target, (0, 1))
        print(f"{target}: {passed} of {passed + failed}")
    passed = sum(count[0] for count in counts.values())
    failed = sum(count[1] for count in counts.values())
    if status and not failed:
        print(f"make stopped with exit status {status}")
        failed = 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
