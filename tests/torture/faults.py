#!/usr/bin/env python3
"""Makes one call after the other fail: memory, SQLite's steps, writes, reads, opens, threads.

usage: faults.py PROGRAM INJECT [--every N] [--kind KIND] [--command NAME] [--lasting]
                 [--seconds N]

A small ingest, an ingest that forgets a run, and each command that reads the store run once for every such call that they
make, and that call fails. Each time the program must end by itself, with exit status 0 and the undisturbed result, or with 1
and a reason, and with no more memory allocated than the undisturbed run has at its end. The store must be intact: after a
failed ingest the next one must complete it, and a failed --forget leaves it unchanged. With --every N, only every Nth call
fails; with --lasting, all later calls fail, too; with --seconds N, tests that do not fit into that time are left out. Prints a
line for each kind and `faults: N passed, N failed`.
"""

import argparse
import csv
import gzip
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.cli.support import PATIENCE_S, output_formats  # noqa: E402
from tests.torture.content import check_whole, digests  # noqa: E402

KINDS = ["step", "write", "read", "open", "thread", "memory"]  # the kinds with the most calls last: they use the remaining time
READERS = {
    "info": ["info"],
    "info-files": ["info", "--files", "--format", "json"],
    "report": ["report"],
    "report-by-tag": ["report", "--by-tag", "--format", "json"],
    "diagnose": ["diagnose"],
    "diagnose-explain": ["diagnose", "--explain", "--all"],
    "diagnose-json": ["diagnose", "--format", "json"],
    "stragglers": ["stragglers"],
    "stalls": ["stalls"],
    "steps": ["steps"],
    "steps-map": ["steps", "--map"],
    "startup": ["startup"],
    "compare": ["compare", "1", "1"],
    "timeline": ["timeline", "--run", "1", "--proxy", "-o", "-"],
    "steps-svg": ["steps", "--svg"],
    "clocks": ["clocks"],
    "html": ["html", "-o", "-"],
    "buffers": ["buffers"],
    "export-prometheus": ["export", "--to", "prometheus", "-o", "-"],
    "export-csv": ["export", "--to", "csv", "-o", "FOLDER/export"],
    "export-parquet": ["export", "--to", "parquet", "--rows-per-group", "40", "-o", "FOLDER/export-parquet"],
    "export-sqlite": ["export", "--to", "sqlite", "-o", "FOLDER/export.db"],
    "report-registered": ["report", "--by", "registered"],
    "query": ["query", "SELECT * FROM v_operation"],
    "query-by-id": ["query", "SELECT j.step, o.sequence FROM operation_join j JOIN operation o USING (operation_id)"],
    "query-steps": ["query", "--format", "csv", "SELECT * FROM proxy_step"],
}
# Of formats that have no file here, the smallest fixture is added.
FIXTURES = [
    "fixtures/copy-engine/dump_4660_1.json",
    "fixtures/tags-unescaped/dump_18446744073709551615_3.json",
    "fixtures/inspector-2.28/vm-pid36654.log",
    "fixtures/dialect-2.29.7/dump_7071687986940225672_1.json",
    "fixtures/process-facts/ncclprof-node1-4000.json",
    "fixtures/process-facts/ncclprof-node2-4001.json",
    "fixtures/flight-recorder-hang/nccl_trace_rank_2",
    "fixtures/nccl-log-hang/nccl.node1.4103.log",
    "fixtures/nccl-log-late-start/nccl.node0.4101.log",
    "fixtures/kineto-batched/kineto-rank0.json.gz",
    "fixtures/torch-log-told/stderr",
    "fixtures/registered-memory/nccl.vm.1041.log",
    "fixtures/registered-memory/memsnap-rank1.json",
    "fixtures/registered-memory/memsnap-rank3.pickle",
    "fixtures/comma/latency-301.txt",
    "fixtures/nsys/node0.sqlite",
    "fixtures/nccl-ras-hang/ras-1.json",
    "fixtures/nccl-ras-text/ras.txt",
    "fixtures/call-description/ncclprof-vm-1040.json.gz",
    "fixtures/call-description/stdout.0",
    "fixtures/prometheus/tagged.prom",
]
FORGOTTEN = "1"
PACKED = "fixtures/dialect-2.29.7/dump_7071687986940225672_0.json"


class NotTried(Exception):
    pass


def of_other_formats():
    """The smallest fixture of each trace format that has none among FIXTURES."""
    rows = [row for kept in Path("tests/golden").glob("ingest-*.csv") for row in csv.DictReader(kept.open())]
    for name in re.findall(r"&format_(\w+)", Path("lib/format/registry.c").read_text()):
        files = [row["path"].removeprefix("TOP/") for row in rows if f"{row['dialect']}-".startswith(name.replace("_", "-") + "-")]
        if files and not set(files) & set(FIXTURES):
            yield min(files, key=os.path.getsize)


class Faults:
    def __init__(self, options):
        self.program = os.path.abspath(options.program)
        self.inject = os.path.abspath(options.inject)
        self.options = options
        self.folder = Path(tempfile.mkdtemp(prefix="ncclprof-faults-"))
        self.traces = self.folder / "traces"
        self.traces.mkdir()
        for name in [*FIXTURES, *of_other_formats()]:
            shutil.copy(name, self.traces / (Path(name).parent.name + "-" + Path(name).name))
        with gzip.open(self.traces / "packed.json.gz", "wb") as packed:
            packed.write(Path(PACKED).read_bytes())
        self.ingest = ["ingest", "-j1", "--format", "json", str(self.traces)]
        self.store = self.folder / "whole.db"
        first = self.run(self.store, self.ingest)
        self.ingested = first.stdout
        if first.returncode:
            raise SystemExit(f"the undisturbed ingest fails: {first.stderr.decode()}")
        self.content = digests(self.store)
        self.forget = ["ingest", "-j1", "--forget", FORGOTTEN, "--format", "json"]
        rest = self.folder / "rest.db"
        shutil.copy(self.store, rest)
        self.told_forgotten = self.run(rest, self.forget).stdout
        self.rest = digests(rest)
        self.ends = time.monotonic() + options.seconds if options.seconds else float("inf")

    def words_of(self, command):
        words = {"ingest": self.ingest, "forget": self.forget, **READERS}[command]
        return [word.replace("FOLDER", str(self.folder)) for word in words]

    def run(self, store, words, **fault):
        """Also returns the number of calls of the kind, and the number of memory blocks that were not freed."""
        told = self.folder / f"told-{threading.get_ident()}"
        told.unlink(missing_ok=True)
        environment = {**os.environ, "LC_ALL": "C", "TMPDIR": str(self.folder)}
        environment["NCCLPROF_KEEP_NOTHING"] = "1"  # each reader computes its answer
        environment["ASAN_OPTIONS"] = "verify_asan_link_order=0:allocator_may_return_null=1:exitcode=99"
        for key, value in fault.items():
            environment["FAULT_" + key.upper()] = str(value)
        if fault:
            environment["LD_PRELOAD"] = self.inject
            environment["FAULT_COUNT"] = str(told)
        result = subprocess.run([self.program, "-q", "--store", str(store), *words], env=environment, capture_output=True,
                                stdin=subprocess.DEVNULL, timeout=PATIENCE_S)
        result.stdout = re.sub(rb'"seconds": [0-9.]+', b"", result.stdout)
        # The exit of a killed program shows nothing.
        result.calls, result.left = map(int, told.read_text().split()) if told.exists() else (0, 0)
        return result

    def judge(self, result, expected_status, expected_output):
        """What is wrong with this end of the program; None if nothing is."""
        if b"CHECK failed: sanitizer_" in result.stderr:
            raise NotTried  # the sanitizer itself got no memory and gave up
        if b"Sanitizer" in result.stderr or b"runtime error" in result.stderr:
            return "sanitizer report: " + result.stderr.decode(errors="replace")[-3000:]
        if result.returncode < 0:
            return f"killed by signal {-result.returncode}"
        if result.returncode not in (expected_status, 1):
            return f"exit status {result.returncode}"
        if result.returncode == 1 and not result.stderr.startswith(b"ncclprof: "):
            return "exit status 1 without a message"
        if result.returncode == expected_status and expected_status == 0 and result.stdout != expected_output:
            return "different result without an error"
        # A sanitizer checks for leaks itself, and keeps memory of its own.
        if result.left > self.left and "san-" not in self.program:
            return f"{result.left - self.left} memory blocks were not freed"
        return None

    def try_ingest(self, kind, number):
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        store = folder / "store.db"
        try:
            result = self.run(store, self.ingest, kind=kind, at=number, **self.more())
            wrong = self.judge(result, 0, self.ingested)
            if not wrong and store.exists():
                check_whole(store)
            if not wrong and result.returncode == 0 and digests(store) != self.content:
                wrong = "different content of the store without an error"
            if not wrong and result.returncode:
                wrong = self.complete(store)
        except (AssertionError, KeyError, sqlite3.Error, subprocess.TimeoutExpired) as trouble:
            wrong = f"{type(trouble).__name__}: {trouble}"
        shutil.rmtree(folder)
        return self.tell("ingest", kind, number, wrong)

    def try_forget(self, kind, number):
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        store = folder / "store.db"
        shutil.copy(self.store, store)
        try:
            result = self.run(store, self.forget, kind=kind, at=number, **self.more())
            wrong = self.judge(result, 0, self.told_forgotten)
            # Status 1 without a change, or with all of it: the failed call was the one that reports it.
            allowed = [self.rest] if result.returncode == 0 else [self.content, self.rest]
            if not wrong and digests(store) not in allowed:
                wrong = "different content of the store"
        except (AssertionError, KeyError, sqlite3.Error, subprocess.TimeoutExpired) as trouble:
            wrong = f"{type(trouble).__name__}: {trouble}"
        shutil.rmtree(folder)
        return self.tell("forget", kind, number, wrong)

    def complete(self, store):
        """What is wrong with the ingest after a failed one."""
        again = self.run(store, self.ingest)
        if again.returncode:
            return f"the next ingest failed: {again.stderr.decode(errors='replace')}"
        different = [table for table, digest in digests(store).items() if digest != self.content.get(table)]
        return f"the next ingest did not complete {different}" if different else None

    def try_reader(self, name, kind, number, expected):
        try:
            result = self.run(self.store, self.words_of(name), kind=kind, at=number, **self.more())
            wrong = self.judge(result, expected.returncode, expected.stdout)
        except subprocess.TimeoutExpired:
            wrong = "did not end"
        return self.tell(name, kind, number, wrong)

    def try_one(self, command, kind, number, expected):
        """Whether the test passed; None if no time was left for it, or it cannot run."""
        if time.monotonic() > self.ends:
            return None
        try:
            if command == "ingest":
                return self.try_ingest(kind, number)
            if command == "forget":
                return self.try_forget(kind, number)
            return self.try_reader(command, kind, number, expected)
        except NotTried:
            return None

    def more(self):
        return {"lasts": 1} if self.options.lasting else {}

    def tell(self, command, kind, number, wrong):
        if wrong:
            print(f"FAILED {command}, {kind} call {number}: {wrong}", flush=True)
        return not wrong

    def round(self, command, kind):
        """(passed, failed) of one command and kind."""
        words = self.words_of(command)
        store = self.folder / "counted.db" if command not in READERS else self.store
        if command == "forget":
            shutil.copy(self.store, store)
        expected = self.run(store, words) if command in READERS else None
        if expected and expected.returncode:
            print(f"FAILED {command} without a fault: {expected.stderr.decode(errors='replace')}")
            return 0, 0, 1
        counted = self.run(store, words, kind=kind)
        count, self.left = counted.calls, counted.left
        store_path = self.folder / "counted.db"
        store_path.unlink(missing_ok=True)
        numbers = range(1, count + 1, self.options.every)
        with ThreadPoolExecutor(2) as pool:
            results = list(pool.map(lambda number: self.try_one(command, kind, number, expected), numbers))
        return count, results.count(True), results.count(False)

    def all(self):
        passed = failed = 0
        commands = [self.options.command] if self.options.command else ["ingest", "forget", *READERS]
        available = subprocess.run([self.program, "--help"], capture_output=True, text=True).stdout
        for kind in [self.options.kind] if self.options.kind else KINDS:
            tried = positions = bad = 0
            for command in commands:
                if command in READERS and f"\n  {command.split('-')[0]} " not in available:
                    continue
                count, good, wrong = self.round(command, kind)
                positions, tried, bad = positions + count, tried + good + wrong, bad + wrong
            print(f"faults, {kind}: {tried} of {positions} calls failed one at a time, {bad} failures", flush=True)
            passed, failed = passed + tried - bad, failed + bad
        if not self.options.lasting and not self.options.command and digests(self.store) != self.content:
            print("FAILED a command that only reads changed the store")
            failed += 1
        shutil.rmtree(self.folder)
        name = "lasting faults" if self.options.lasting else "faults"
        if "san-" in self.program:
            name += " under sanitizers"
        print(f"{name}: {passed} passed, {failed} failed")
        return 1 if failed or not passed else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("inject")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--kind", choices=KINDS)
    parser.add_argument("--command")
    parser.add_argument("--lasting", action="store_true")
    parser.add_argument("--seconds", type=int, default=0)
    options = parser.parse_args()
    for form in output_formats(os.path.abspath(options.program)):
        READERS[f"info-ledger-{form}"] = ["info", "--ledger", "--format", form]
    return Faults(options).all()


if __name__ == "__main__":
    sys.exit(main())
