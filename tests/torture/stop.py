#!/usr/bin/env python3
"""Stops ingests at random moments, with SIGKILL or, like Ctrl-C, with SIGINT.

usage: stop.py PROGRAM [--interrupt] [--times N] [--jobs N,N,...] [--seed N] [--size OPERATIONS] [--name TEXT]
               [--seconds N]

An ingest that ends before its stop does not count, and makes later stops earlier. After each stop the store must be intact
(PRAGMA integrity_check). After SIGINT the program must report the interruption and exit with status 130. One ingest out of three
is stopped two more times. At the end an ingest completes the store, and every table must have the content of an undisturbed
ingest. Prints `NAME: N passed, N failed`, one test per stop. With --seconds N, no test starts after that time.
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
from tests.torture.content import check_whole, digests  # noqa: E402

FILES = 12


class Stops:
    def __init__(self, options):
        self.options = options
        self.program = os.path.abspath(options.program)
        self.folder = Path(tempfile.mkdtemp(prefix="ncclprof-kill-"))
        self.traces = self.folder / "traces"
        self.traces.mkdir()
        for rank in range(FILES):
            text = trace(rank=rank, count=options.size, tags=[("forward", 10.0), ("backward", 2e4)])
            if rank % 3 == 2:
                text = inspector_trace(rank=rank, count=options.size)
            (self.traces / f"{rank:02}.json").write_text(text)
        whole = self.folder / "whole.db"
        self.lasts = {}
        for jobs in options.jobs * 2:  # the first run is slower than all later ones
            whole.unlink(missing_ok=True)
            begun = time.monotonic()
            self.complete(whole, jobs)
            self.lasts[jobs] = time.monotonic() - begun
        self.content = digests(whole)
        self.ended = {}
        self.landed = {"none yet": 0, "some": 0, "all": 0}

    def words(self, store, jobs):
        return [self.program, "-q", "--store", str(store), "ingest", "-j", str(jobs), str(self.traces)]

    def complete(self, store, jobs):
        subprocess.run(self.words(store, jobs), check=True, stdout=subprocess.DEVNULL)

    def stop(self, store, jobs, delay):
        process = subprocess.Popen(self.words(store, jobs), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        time.sleep(delay)
        process.send_signal(signal.SIGINT if self.options.interrupt else signal.SIGKILL)
        _, errors = process.communicate(timeout=PATIENCE_S)
        # Before and after files are read, Ctrl-C has its default effect.
        if self.options.interrupt and process.returncode not in (0, 130, -signal.SIGINT):
            raise AssertionError(f"exit status {process.returncode}: {errors.decode()}")
        self.ended[process.returncode] = self.ended.get(process.returncode, 0) + 1
        if process.returncode == 0:
            self.lasts[jobs] *= 0.97
            return False
        if process.returncode == 130 and b"interrupted" not in errors:
            raise AssertionError("it says nothing of the interruption")
        return True

    def note(self, store):
        """Whether the kill interrupted an ingest, for the printed figures."""
        files = 0
        with sqlite3.connect(store) as handle:
            if handle.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'file'").fetchone()[0]:
                files = handle.execute("SELECT count(*) FROM file").fetchone()[0]
        handle.close()
        where = list(self.landed)[0 if files == 0 else 2 if files == FILES else 1]
        self.landed[where] += 1

    def one(self, jobs, chance, kills):
        """Stops the ingest at most this many times, until the store is complete. Returns the number of stops, and what went
        wrong or None.
        """
        stops = 0
        store = self.folder / "store.db"
        for path in self.folder.glob("store.db*"):
            path.unlink()
        try:
            for _ in range(kills):
                stopped = self.stop(store, jobs, chance.uniform(0, self.lasts[jobs]))
                stops += stopped
                if store.exists():
                    check_whole(store)
                    if stopped:
                        self.note(store)
            self.complete(store, jobs)
            different = [table for table, digest in digests(store).items() if digest != self.content.get(table)]
            return stops, f"other content in {different}" if different else None
        except (AssertionError, KeyError, sqlite3.Error, subprocess.SubprocessError) as trouble:
            return max(stops, 1), f"{type(trouble).__name__}: {trouble}"

    def all(self):
        chance = random.Random(self.options.seed)
        passed = failed = rounds = 0
        ends = time.monotonic() + self.options.seconds if self.options.seconds else float("inf")
        while passed + failed < self.options.times and time.monotonic() < ends:
            rounds += 1
            jobs = self.options.jobs[rounds % len(self.options.jobs)]
            kills = min(chance.choice([1, 1, 3]), self.options.times - passed - failed)
            stops, wrong = self.one(jobs, chance, kills)
            if wrong:
                print(f"FAILED with {jobs} jobs: {wrong}", flush=True)
                failed += stops
            else:
                passed += stops
        shutil.rmtree(self.folder)
        ends = ", ".join(f"{count} with {status}" for status, count in sorted(self.ended.items()))
        print("  state of the store at the stop: " + ", ".join(f"{count} {where}" for where, count in self.landed.items()) + "; exit " + ends)
        print(f"{self.options.name}: {passed} passed, {failed} failed")
        return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--interrupt", action="store_true")
    parser.add_argument("--times", type=int, default=200)
    parser.add_argument("--jobs", type=lambda text: [int(word) for word in text.split(",")], default=[1, 4])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--size", type=int, default=1500)
    parser.add_argument("--name", default="kill -9")
    parser.add_argument("--seconds", type=int, default=0)
    return Stops(parser.parse_args()).all()


if __name__ == "__main__":
    sys.exit(main())
