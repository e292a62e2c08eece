#!/usr/bin/env python3
"""Runs Python's unit tests in several processes at once: tests/parallel.py NAME COMMAND...

A command is a line for the shell that ends in one report of unittest. As many run as there are processors, those
named first begin first. What failed tells all it printed; the last line is `NAME: N passed, N failed`, where a skipped
test counts as failed, and so does a command that stopped without a report. Exit status 77 says that the command cannot run
here: this is reported and not counted.
"""

import concurrent.futures
import os
import re
import subprocess
import sys
import textwrap

RAN = re.compile(r"^Ran (\d+) tests? in", re.MULTILINE)
BAD = re.compile(r"(?:failures|errors|skipped)=(\d+)")

CANNOT_RUN = 77


def run(command):
    """(passed, failed) of one command."""
    done = subprocess.run(command, shell=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    if done.returncode == CANNOT_RUN:
        print("not tried:", done.stdout.rstrip().rpartition("\n")[2], flush=True)
        return 0, 0
    ran = RAN.search(done.stdout)
    verdict = done.stdout.rstrip().rpartition("\n")[2]
    bad = sum(map(int, BAD.findall(verdict)))
    if not ran or not verdict.startswith(("OK", "FAILED")) or (done.returncode != 0 and bad == 0):
        bad = max(bad, 1)
    if bad:
        # Indented, because the caller must not count its results again; line by line, because other test targets print to
        # the same pipe.
        for line in f"$ {command}\n{textwrap.indent(done.stdout, '  ')}exit status {done.returncode}".splitlines():
            print(line, flush=True)
    return max(int(ran.group(1)) - bad, 0) if ran else 0, bad


def main():
    name, *commands = sys.argv[1:]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(run, commands))
    passed = sum(result[0] for result in results)
    failed = sum(result[1] for result in results)
    print(f"{name}: {passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
