#!/usr/bin/env python3
"""Stores with changed bytes, as from a bad disk or an unknown sender.

usage: damaged.py PROGRAM [--times N] [--seed N] [--seconds N]      (a PROGRAM with sanitizers detects more)

Each time some bytes of a good store are changed, and some commands run on it. Each command must end by itself, with a result
or with exit status 1 and a reason.
"""

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.cli.support import PATIENCE_S  # noqa: E402

TRACES = ["fixtures/tp2dp2pp2-slow-sender", "fixtures/inspector-2.30"]
COMMANDS = [
    ["info"],
    ["info", "--ledger"],
    ["info", "--processes"],
    ["report", "--by-tag"],
    ["diagnose", "--all"],
    ["stragglers"],
    ["stalls"],
    ["stalls", "--states"],
    ["clocks"],
    ["query", "SELECT count(tag), sum(duration_ns), sum(length(kernel_channels)) FROM operation"],
    ["query", "SELECT count(*), sum(step) FROM proxy_step"],
    ["query", "SELECT sum(transfer_us), count(tag) FROM v_instance"],
    ["ingest", "--force", "fixtures/copy-engine"],
]


class Damaged:
    def __init__(self, options):
        self.options = options
        self.program = os.path.abspath(options.program)
        self.folder = Path(tempfile.mkdtemp(prefix="ncclprof-damaged-"))
        self.store = self.folder / "store.db"
        self.run(["ingest", *TRACES])
        self.content = self.store.read_bytes()

    def run(self, words):
        return subprocess.run([self.program, "-q", "--store", self.store, *words], capture_output=True, timeout=PATIENCE_S)

    def damage(self, chance):
        content = bytearray(self.content)
        for _ in range(chance.choice([1, 3, 20])):
            content[chance.randrange(4096 * chance.choice([0, 1, 1, 1]), len(content))] = chance.randrange(256)
        for path in self.folder.iterdir():
            path.unlink()
        self.store.write_bytes(content)

    def once(self, chance):
        """What is wrong with the end of a command; None if nothing is."""
        self.damage(chance)
        for words in chance.sample(COMMANDS, 4):
            try:
                result = self.run(words)
            except subprocess.TimeoutExpired:
                return f"{words} did not end"
            if b"Sanitizer" in result.stderr or b"runtime error" in result.stderr:
                return f"{words}: {result.stderr.decode(errors='replace')[:2000]}"
            if result.returncode not in (0, 1) or (result.returncode == 1 and not result.stderr):
                return f"{words}: exit status {result.returncode}: {result.stderr.decode(errors='replace')[:500]}"
        return None

    def all(self):
        chance = random.Random(self.options.seed)
        ends = time.monotonic() + self.options.seconds if self.options.seconds else float("inf")
        passed = failed = 0
        while passed + failed < self.options.times and time.monotonic() < ends:
            wrong = self.once(chance)
            if wrong:
                print(f"FAILED store {passed + failed}: {wrong}", flush=True)
            failed += bool(wrong)
            passed += not wrong
        shutil.rmtree(self.folder)
        print(f"damaged stores: {passed} passed, {failed} failed")
        return 1 if failed or not passed else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--times", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=0)
    return Damaged(parser.parse_args()).all()


if __name__ == "__main__":
    sys.exit(main())
