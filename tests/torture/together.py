#!/usr/bin/env python3
"""Several ingests into one store at the same time, with readers.

usage: together.py PROGRAM [--times N] [--seed N] [--seconds N]

Each time three ingests of overlapping halves of the same traces run at once, while `info`, `report` and `query` run repeatedly.
Every ingest must end with status 0, or with 1 and the name of the process that locks the store. No reader may fail once the
store has content, and nothing may be in the store twice. At the end, one more ingest must give the undisturbed content.
"""

import argparse
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.cli.support import PATIENCE_S, inspector_trace, trace  # noqa: E402
from tests.torture.content import digests  # noqa: E402

FILES = 12


class Together:
    def __init__(self, options):
        self.program = os.path.abspath(options.program)
        self.options = options
        self.folder = Path(tempfile.mkdtemp(prefix="ncclprof-together-"))
        self.traces = self.folder / "traces"
        self.traces.mkdir()
        for rank in range(FILES):
            text = inspector_trace(rank, count=1000) if rank % 3 == 2 else trace(rank, count=1000, tags=[("forward", 10.0)])
            (self.traces / f"{rank:02}.json").write_text(text)
        whole = self.folder / "whole.db"
        self.run(whole, "ingest", self.traces)
        self.content = digests(whole)
        self.reads = 0

    def run(self, store, *words):
        return subprocess.run([self.program, "-q", "--store", store, *words], capture_output=True, text=True, timeout=PATIENCE_S)

    def read(self, store, stop, wrong):
        commands = [["info"], ["report"], ["query", "SELECT count(*) FROM v_operation"]]
        while not stop.is_set():
            for words in commands:
                if not self.has_files(store):
                    continue
                result = self.run(store, *words)
                self.reads += 1
                if result.returncode:
                    wrong.append(f"{words[0]}: {result.stderr}")

    @staticmethod
    def has_files(store):
        """Whether there is a store with content."""
        try:
            with sqlite3.connect(f"file:{store}?mode=ro", uri=True, timeout=30) as handle:
                return handle.execute("SELECT count(*) FROM file").fetchone()[0] > 0
        except sqlite3.OperationalError:
            return False

    def once(self, chance):
        store = self.folder / "store.db"
        for path in self.folder.glob("store.db*"):
            path.unlink()
        wrong, stop = [], threading.Event()
        reader = threading.Thread(target=self.read, args=(store, stop, wrong))
        reader.start()
        writers = []
        for _ in range(3):
            some = chance.sample(sorted(self.traces.iterdir()), FILES * 2 // 3)
            words = [self.program, "-q", "--store", store, "ingest", f"-j{chance.randint(1, 3)}", *some]
            writers.append(subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True))
        for writer in writers:
            _, errors = writer.communicate(timeout=PATIENCE_S)
            if writer.returncode and not (writer.returncode == 1 and "has locked the store" in errors):
                wrong.append(f"ingest ended with {writer.returncode}: {errors}")
        stop.set()
        reader.join()
        last = self.run(store, "ingest", self.traces)
        if last.returncode:
            wrong.append(f"the last ingest: {last.stderr}")
        different = [table for table, digest in digests(store).items() if digest != self.content.get(table)]
        if different:
            wrong.append(f"other content in {different}")
        return wrong

    def all(self):
        chance = random.Random(self.options.seed)
        failed = times = 0
        ends = time.monotonic() + self.options.seconds if self.options.seconds else float("inf")
        while times < self.options.times and time.monotonic() < ends:
            times += 1
            wrong = self.once(chance)
            failed += bool(wrong)
            for line in wrong[:5]:
                print(f"FAILED {line}", flush=True)
        shutil.rmtree(self.folder)
        print(f"  three ingests at a time, with {self.reads} reads")
        print(f"together: {times - failed} passed, {failed} failed")
        return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=0)
    return Together(parser.parse_args()).all()


if __name__ == "__main__":
    sys.exit(main())
