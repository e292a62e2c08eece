#!/usr/bin/env python3
"""Files that are read in parts give the same result as when they are read from front to back, also if they are damaged.

usage: parts.py PROGRAM PROGRAM_OF_SMALL_PARTS [--times N] [--seed N] [--seconds N]

Each time records of NVIDIA's Inspector are damaged in some way (bytes changed; lines truncated, joined, doubled, indented, or
put on one line) and ingested by both programs, by the second one with several jobs. The counts for the file, the operations in
the store and the coverage ledger must be the same.
"""

import argparse
import json
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

FIXTURES = ["inspector-2.28", "inspector-2.30", "inspector-pr2045-verbose"]
QUERIES = [
    "SELECT communicator_hash, communicator_rank, function, sequence, bytes, duration_us, enqueue_begin_us, byte_offset "
    "FROM v_operation ORDER BY byte_offset, sequence",
    "SELECT host, pid FROM process ORDER BY 1, 2",
    "SELECT reason, damage, count, first_offset FROM v_ledger ORDER BY 1",
]


def change_bytes(lines, chance):
    text = bytearray(b"\n".join(lines))
    for _ in range(chance.randint(1, 200)):
        text[chance.randrange(len(text))] = chance.randrange(256)
    return bytes(text).split(b"\n")


def cut_lines(lines, chance):
    return [line[:chance.randrange(len(line) + 1)] if chance.random() < 0.2 else line for line in lines]


def join_lines(lines, chance):
    return [line + (b"" if chance.random() < 0.1 else b"\n") for line in lines]


def double_lines(lines, chance):
    return [line for line in lines for _ in range(chance.choice([1, 1, 2, 3]))]


def indent(lines, chance):
    return [json.dumps(json.loads(line), indent=1).encode() if chance.random() < 0.5 else line for line in lines]


def one_line(lines, chance):
    return [chance.choice([b"", b" ", b","]).join(lines)]


def breaks_inside(lines, chance):
    return [line.replace(b',"', b',\n"', chance.randint(1, 9)) if chance.random() < 0.3 else line for line in lines]


# In this order, because some need complete records.
WAYS = [indent, breaks_inside, double_lines, join_lines, change_bytes, cut_lines, one_line]


class Parts:
    def __init__(self, options):
        self.options = options
        self.folder = Path(tempfile.mkdtemp(prefix="ncclprof-parts-"))
        self.records = []
        for name in FIXTURES:
            for path in sorted(Path("fixtures", name).glob("*.log")):
                self.records += path.read_bytes().splitlines()

    def answer(self, program, jobs, trace):
        store = self.folder / "store.db"
        for path in self.folder.glob("store.db*"):
            path.unlink()

        def run(*words):
            return subprocess.run([os.path.abspath(program), "-q", "--store", store, *words], capture_output=True, timeout=PATIENCE_S)

        told = run("ingest", "-j", str(jobs), "--format", "json", trace)
        if told.returncode not in (0, 1):
            return f"exit status {told.returncode}: {told.stderr.decode(errors='replace')}"
        return [json.loads(told.stdout)["files"]] + [run("query", "--format", "json", sql).stdout for sql in QUERIES]

    def once(self, chance):
        lines = chance.sample(self.records, min(len(self.records), chance.randint(5, 120)))
        ways = chance.sample(WAYS, chance.randint(0, 2))
        for way in sorted(ways, key=WAYS.index):
            lines = way(lines, chance)
        trace = self.folder / "trace.log"
        trace.write_bytes((b"" if join_lines in ways else b"\n").join(lines))
        whole = self.answer(self.options.program, 1, trace)
        for jobs in (1, 3):
            parts = self.answer(self.options.small, jobs, trace)
            if parts != whole:
                if self.options.keep:
                    shutil.copy(trace, self.options.keep)
                different = [i for i, (left, right) in enumerate(zip(whole, parts)) if left != right]
                return f"{[way.__name__ for way in ways]}, {jobs} jobs: {different}: {whole[0]} and {parts[0]}"
        return None

    def all(self):
        chance = random.Random(self.options.seed)
        ends = time.monotonic() + self.options.seconds if self.options.seconds else float("inf")
        passed = failed = 0
        while passed + failed < self.options.times and time.monotonic() < ends:
            wrong = self.once(chance)
            if wrong:
                print(f"FAILED time {passed + failed}: {wrong}", flush=True)
            failed += bool(wrong)
            passed += not wrong
        shutil.rmtree(self.folder)
        print(f"damaged files in parts: {passed} passed, {failed} failed")
        return 1 if failed or not passed else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("small")
    parser.add_argument("--times", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=0)
    parser.add_argument("--keep", help="folder in which a trace that fails is kept")
    return Parts(parser.parse_args()).all()


if __name__ == "__main__":
    sys.exit(main())
