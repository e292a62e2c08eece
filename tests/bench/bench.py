#!/usr/bin/env python3
"""Compares the speed of ncclprof with other tools, in turn on the same machine. See module.mk."""
import argparse
import glob
import json
import os
import re
import shutil
import sys
import tempfile

import analyses
import measure
import peers
import recorders
from data import DIALECTS, Data, bytes_in, parse_size
from measure import Series, interleave, run, show

BYTES = parse_size(os.environ.get("BENCH_BYTES", "480M"))
RUNS = int(os.environ.get("BENCH_RUNS", "5"))
# The amount of input for slow parsers; their rate is compared.
SLICE_BYTES = min(BYTES // 8, 24_000_000)
SCALE_BASE_BYTES = parse_size(os.environ.get("BENCH_SCALE_BASE", "60M"))
# The gate fails if the read path needs more instructions per byte.
GATE = {"Chrome": 4.5, "Inspector": 4.5, "Inspector verbose": 4, "Kineto": 12}
GATE_BYTES = 4_000_000
SHARDS = 64
HEADER = ["what", "MB/s", "spread", "seconds", "CPU s", "peak RSS MB"]


class Bench:
    def __init__(self, build):
        self.build, self.runs = build, RUNS
        self.room = os.environ.get("BENCH_ROOM", f"{build}/bench")
        self.data = Data(build, self.room)
        self.store = f"{self.room}/bench.db"

    def instructions(self, path):
        """The instructions that callgrind counts for reading the file, without those of loading the program."""
        with tempfile.TemporaryDirectory() as folder:
            output = f"{folder}/callgrind.out"
            run(["valgrind", "--tool=callgrind", "--toggle-collect=main", f"--callgrind-out-file={output}", f"{self.build}/read_bench", path])
            return int(re.search(r"^(?:summary|totals): (\d+)", open(output).read(), re.M).group(1))

    def forget(self):
        for name in glob.glob(glob.escape(self.store) + "*"):
            os.remove(name)

    def ingest(self, path, jobs):
        self.forget()
        return run([f"{self.build}/ncclprof", "-q", "--store", self.store, "ingest", "-j", str(jobs), path])

    def ours(self, path, jobs):
        return lambda series: series.add(self.ingest(path, jobs))


def row(series):
    return [series.name, f"{series.rate():.0f}", f"± {series.spread():.0%}", f"{series.median():.2f}",
            f"{sorted(series.cpu)[len(series.cpu) // 2]:.2f}", f"{series.memory():.0f}"]


def shell(text):
    return lambda series: series.add(run(text))


def events_in(kind, path):
    """The number of events: lines of Chrome, events of Kineto, operations of Inspector."""
    if kind == "Kineto":
        return int(run(f"cat {path}/* | grep -c '\"ph\"'").output)
    lines = int(run(f"cat {path}/* | wc -l").output)
    return lines - 2 * len(os.listdir(path)) if kind == "Chrome" else lines


def slow_peers(bench, kind, contenders):
    path = bench.data.slice(kind, BYTES, SLICE_BYTES)
    for name, (command, program) in peers.SLOW.items():
        if shutil.which(program):
            series = Series(f"{name}, 1 thread ({bytes_in(path) / 1e6:.0f} MB)", bytes_in(path))
            contenders.append((series, shell_list(command(kind, path))))
        else:
            print(f"{name}: not installed, skipped")


def shell_list(command):
    return lambda series: series.add(run(command))


def ingest_kind(bench, kind, duckdb):
    """One dialect, all programs in turn."""
    path = bench.data.folder(kind, BYTES)
    size = bytes_in(path)
    one, two = Series("ncclprof ingest, 1 job", size), Series("ncclprof ingest, 2 jobs", size)
    contenders = [(Series("wc -l", size), shell(f"cat {path}/* | wc -l")), (one, bench.ours(path, 1)),
                  (two, bench.ours(path, 2))]
    if duckdb:
        theirs = Series("DuckDB read_json into a table, 2 threads", size)
        contenders.append((theirs, lambda series: duckdb.load(kind, path, series)))
    slow_peers(bench, kind, contenders)
    interleave(contenders, RUNS)
    show(f"{kind} ({DIALECTS[kind]}), {size / 1e6:.0f} MB in 8 files", HEADER, [row(series) for series, _ in contenders])
    bench.ingest(path, 2)
    events = events_in(kind, path)
    print(f"- 2 jobs over 1 job: {one.median() / two.median():.2f} x")
    for series, _ in contenders[3:]:
        print(f"- ncclprof, 2 jobs, over {series.name}: {two.rate() / series.rate():.1f} x")
    print(f"- store: {os.path.getsize(bench.store) / events:.1f} bytes per event ({events} events)", flush=True)


def ingest_gzip(bench):
    path = bench.data.packed("Chrome", BYTES)
    size = bytes_in(bench.data.folder("Chrome", BYTES))
    contenders = [(Series("gzip -dc \\| wc -l", size), shell(f"gzip -dc {path}/* | wc -l")),
                  (Series("ncclprof ingest, 1 job", size), bench.ours(path, 1)),
                  (Series("ncclprof ingest, 2 jobs", size), bench.ours(path, 2))]
    interleave(contenders, RUNS)
    show(f"Chrome, gzip, {bytes_in(path) / 1e6:.0f} MB for {size / 1e6:.0f}", HEADER,
         [row(series) for series, _ in contenders])
    print(f"- ncclprof, 2 jobs, over gzip -dc | wc -l: {contenders[2][0].rate() / contenders[0][0].rate():.1f} x")


def find_duckdb(bench):
    duckdb = peers.DuckDB(bench.room)
    reason = duckdb.install()
    if reason:
        print(f"DuckDB is skipped: {reason}.")
    return None if reason else duckdb


def bench_dumps(bench):
    """One Flight Recorder dump for each of 64 ranks, with a full ring buffer of 2,000 entries."""
    path = bench.data.job("dumps-64", ["--shape", "3d", "--ranks", "64", "--tp", "4", "--dp", "4", "--pp", "4", "--layers", "8",
                                       "--steps", "100", "--dialect", "flight-recorder"])
    size = bytes_in(path)
    load = f"import glob, pickle; [pickle.load(open(name, 'rb')) for name in glob.glob('{path}/*')]"
    contenders = [(Series("python pickle, 1 thread", size), shell_list([sys.executable, "-c", load])),
                  (Series("ncclprof ingest, 1 job", size), bench.ours(path, 1)),
                  (Series("ncclprof ingest, 2 jobs", size), bench.ours(path, 2))]
    interleave(contenders, RUNS)
    show(f"Flight Recorder, 64 dumps of 2,000 entries, {size / 1e6:.0f} MB", HEADER, [row(series) for series, _ in contenders])


def bench_ingest(bench):
    print(f"Ingest: {measure.machine()}; medians of {RUNS} runs, interleaved.")
    duckdb = find_duckdb(bench)
    for kind in DIALECTS:
        ingest_kind(bench, kind, duckdb)
    ingest_gzip(bench)
    bench_dumps(bench)


def bench_scale(bench):
    """Several sizes in turn: time per byte and peak memory."""
    print(f"Scale: {measure.machine()}; medians of {RUNS} runs, interleaved, 2 jobs.")
    for kind in DIALECTS:
        contenders = []
        for times in (1, 2, 4, 8, 16):
            path = bench.data.folder(kind, SCALE_BASE_BYTES * times)
            contenders.append((Series(f"{times} x", bytes_in(path)), bench.ours(path, 2)))
        interleave(contenders, RUNS)
        base = contenders[0][0]
        show(f"{kind}, 1 x = {SCALE_BASE_BYTES / 1e6:.0f} MB", ["size", "MB/s", "spread", "time per byte", "CPU per byte",
                                                             "peak RSS MB"],
             [[series.name, f"{series.rate():.0f}", f"± {series.spread():.0%}", f"{base.rate() / series.rate():.2f}",
               f"{min(series.cpu) / series.amount / (min(base.cpu) / base.amount):.2f}", f"{series.memory():.0f}"]
              for series, _ in contenders])
        for series, _ in contenders[-1:]:
            shutil.rmtree(bench.data.folder(kind, SCALE_BASE_BYTES * 16))


def bench_gate(bench):
    if not shutil.which("valgrind"):
        raise SystemExit("bench: valgrind is not installed, so instructions cannot be counted")
    rows, failed = [], []
    for kind, limit in GATE.items():
        path = bench.data.slice(kind, 8 * GATE_BYTES, GATE_BYTES)
        per_byte = bench.instructions(path) / bytes_in(path)
        speed = json.loads(run([f"{bench.build}/read_bench", bench.data.folder(kind, 8 * GATE_BYTES) + "/"
                                + sorted(os.listdir(bench.data.folder(kind, 8 * GATE_BYTES)))[0]]).output)
        rows.append([kind, f"{per_byte:.2f}", str(limit), f"{speed['bytes'] / speed['seconds'] / 1e6:.0f}"])
        if per_byte > limit:
            failed.append(kind)
    show("Reading alone, one core", ["dialect", "instructions per byte", "at most", "MB/s"], rows)
    if failed:
        raise SystemExit(f"bench: more instructions per byte than allowed: {', '.join(failed)}")


def bench_analyses(bench):
    print(f"Analyses: {measure.machine()}; medians of {RUNS} runs, interleaved.")
    analyses.bench(bench, find_duckdb(bench), RUNS)


def bench_merge(bench):
    """Merges the files of a job from 64 shards, compared with one ingest of all files. Both include the join."""
    print(f"Merge: {measure.machine()}; medians of {RUNS} runs, interleaved, 2 jobs.")
    program = f"{bench.build}/ncclprof"
    job = bench.data.job("job-256", ["--shape", "3d", "--tp", "8", "--pp", "4", "--dp", "8", "--ranks", "256", "--per-node", "8",
                                     "--layers", "4", "--steps", "40", "--dialect", "inspector-2.30"])
    for name, path in (("Chrome, 128 files", bench.data.folder("Chrome", BYTES, 128)), ("a job of 256 ranks, Inspector", job)):
        bench.forget()
        for number in range(SHARDS):
            run([program, "-q", "--store", f"{bench.store}-%t", "ingest", "--range", f"{number}/{SHARDS}", path])
        shards = sorted(glob.glob(glob.escape(bench.store) + "-*"))
        whole, merged = f"{bench.room}/whole.db", f"{bench.room}/merged.db"

        def anew(store, *words):
            def once(series):
                if os.path.exists(store):
                    os.remove(store)
                series.add(run([program, "-q", *words]))
            return once

        contenders = [(Series("ingest of all", bytes_in(path)), anew(whole, "--store", whole, "ingest", "-j2", path)),
                      (Series(f"merge of {SHARDS} shards", bytes_in(path)), anew(merged, "merge", "-j2", "-o", merged, *shards)),
                      (Series("ingest, not joined", bytes_in(path)), anew(whole, "--store", whole, "ingest", "--shard", "-j2", path)),
                      (Series("merge, not joined", bytes_in(path)), anew(merged, "merge", "--shard", "-o", merged, *shards))]
        interleave(contenders, RUNS)
        show(f"{name}, {bytes_in(path) / 1e6:.0f} MB", HEADER, [row(series) for series, _ in contenders])
        for store in (whole, merged):
            os.remove(store)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="build")
    parser.add_argument("what", choices=["ingest", "scale", "gate", "analyses", "merge", "recorders"])
    arguments = parser.parse_args()
    bench = Bench(arguments.build)
    {"ingest": bench_ingest, "scale": bench_scale, "gate": bench_gate, "analyses": bench_analyses,
     "merge": bench_merge, "recorders": recorders.bench_recorders}[arguments.what](bench)
    bench.forget()


if __name__ == "__main__":
    main()
