#!/usr/bin/env python3
"""Kills `ncclprof ingest --forget` at random moments.

usage: forget.py PROGRAM [--times N] [--seed N] [--size OPERATIONS] [--seconds N]

A store contains three runs. One is being forgotten when SIGKILL arrives. Afterwards the store must be intact, and every table
must have either its former content, or that of a store that never had the run, because it is one transaction. A run that ends
before its kill does not count, and makes later kills earlier. Prints `forget: N passed, N failed`, one test per kill. With
--seconds N, no kill starts after that time, except the first one.
"""

import argparse
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.cli.support import PATIENCE_S, inspector_trace, trace  # noqa: E402
from tests.torture.content import digests  # noqa: E402

RUNS = {"first": 11, "middle": 12, "last": 13}  # the communicator of each
RANKS = 4


class Kills:
    def __init__(self, options):
        self.options = options
        self.program = os.path.abspath(options.program)
        self.folder = Path(tempfile.mkdtemp(prefix="ncclprof-forget-"))
        for name, communicator in RUNS.items():
            (self.folder / name).mkdir()
            for rank in range(RANKS):
                text = trace(rank=rank, communicator=communicator, count=options.size, tags=[("forward", 10.0), ("backward", 2e4)])
                if name == "last":
                    text = inspector_trace(rank=rank, communicator=communicator, count=options.size)
                (self.folder / name / f"{rank}.json").write_text(text)
        self.whole = self.ingest("whole.db", RUNS)
        self.before = digests(self.whole)
        self.after = {name: digests(self.ingest(f"without-{name}.db", [other for other in RUNS if other != name])) for name in RUNS}

    def ingest(self, store, names):
        path = self.folder / store
        subprocess.run([self.program, "-q", "--store", path, "ingest", *[self.folder / name for name in names]], check=True,
                       stdout=subprocess.DEVNULL)
        return path

    def forget(self, store, name):
        return subprocess.Popen([self.program, "-q", "--store", store, "ingest", "--forget", name],
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def copy(self):
        store = self.folder / "store.db"
        for path in self.folder.glob("store.db*"):
            path.unlink()
        return Path(shutil.copy(self.whole, store))

    def one(self, name, delay):
        """(whether it was killed, whether the run was gone by then, what is wrong or None)."""
        store = self.copy()
        process = self.forget(store, name)
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
        _, errors = process.communicate(timeout=PATIENCE_S)
        try:
            # The next program that opens the store rolls back a journal that is left behind.
            content = digests(store)
        except (AssertionError, KeyError, sqlite3.Error) as trouble:
            return True, False, f"{type(trouble).__name__}: {trouble}"
        killed, gone = process.returncode == -signal.SIGKILL, content == self.after[name]
        if not killed:
            return False, gone, None if process.returncode == 0 and gone else f"exit status {process.returncode}: {errors.decode()}"
        if gone or content == self.before:
            return True, gone, None
        wrong = [table for table in content if content[table] not in (self.before[table], self.after[name][table])]
        return True, gone, f"neither what was nor what should be; {wrong or 'a mixture'}"

    def last(self, name):
        begun = time.monotonic()
        self.forget(self.copy(), name).communicate(timeout=PATIENCE_S)
        return time.monotonic() - begun

    def all(self):
        chance = random.Random(self.options.seed)
        lasts = max(self.last(name) for name in RUNS)
        passed = failed = gone_runs = 0
        ends = time.monotonic() + self.options.seconds if self.options.seconds else float("inf")
        while passed + failed < self.options.times and (time.monotonic() < ends or not passed + failed):
            killed, gone, wrong = self.one(chance.choice(list(RUNS)), chance.uniform(0, lasts))
            if wrong:
                print(f"FAILED {wrong}", flush=True)
                failed += 1
            elif killed:
                passed += 1
                gone_runs += gone
            else:
                lasts *= 0.97
        shutil.rmtree(self.folder)
        print(f"  in {gone_runs} tests the run had been removed before the kill")
        print(f"forget: {passed} passed, {failed} failed")
        return 1 if failed or not passed else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--times", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--size", type=int, default=1500)
    parser.add_argument("--seconds", type=int, default=0)
    return Kills(parser.parse_args()).all()


if __name__ == "__main__":
    sys.exit(main())
