#!/usr/bin/env python3
"""CPU time of jobs that hang, by number of ranks or communicators: `make bench-ranks`.

usage: tests/bench/ranks.py BUILD

The jobs are those of stuck_jobs.py. The number of ranks grows; `log-communicators` has 64 ranks and a growing number of
communicators, and the two `shared-` pickles, which run only if RANKS_KINDS names them, a growing number of groups. Each command
runs BENCH_RUNS times (default 3). The output has user and system time of the median run, peak memory, and the size of the store.
Environment variables: RANKS_SIZES (default 1024,2048,4096,8192); RANKS_KINDS (default all others); RANKS_COMMANDS; BENCH_ROOM
(default BUILD/bench). A Flight Recorder dump lists all ranks, so the input of `recorder` grows as the square of their number;
`recorder-unlisted` is the same without the lists.
"""
import os
import shlex
import shutil
import statistics
import sys

import stuck_jobs
from measure import machine, run, show

COMMANDS = ["ingest", "diagnose", "stragglers", "report", "info"]


def setting(name, default):
    return os.environ.get(name, default).split(",")


def bytes_of(folder):
    return sum(os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder))


def measure(program, store, folder, command, runs):
    """CPU seconds of the median run, and peak resident bytes."""
    costs = []
    for _ in range(runs):
        words = [command]
        if command == "ingest":
            for end in "", "-wal", "-shm":
                if os.path.exists(store + end):
                    os.remove(store + end)
            words += ["-q", folder]
        # Status 1 reports files above the limit for expansion.
        costs.append(run(f"{shlex.join([program, '--store', store, *words])} || test $? = 1"))
    return statistics.median(cost.cpu for cost in costs), max(cost.resident for cost in costs)


def main(build):
    room = os.environ.get("BENCH_ROOM", os.path.join(build, "bench"))
    runs, sizes = int(os.environ.get("BENCH_RUNS", "3")), [int(size) for size in setting("RANKS_SIZES", "1024,2048,4096,8192")]
    commands = setting("RANKS_COMMANDS", ",".join(COMMANDS))
    folder, store = os.path.join(room, "stuck"), os.path.join(room, "stuck.db")
    os.makedirs(room, exist_ok=True)
    print(machine(), flush=True)
    hanging = [kind for kind in stuck_jobs.KINDS if not kind.startswith("shared-")]
    for kind in setting("RANKS_KINDS", ",".join(hanging)):
        rows = []
        for size in sizes:
            shutil.rmtree(folder, ignore_errors=True)
            stuck_jobs.write(kind, folder, size)
            costs = [measure(os.path.join(build, "ncclprof"), store, folder, command, runs) for command in commands]
            rows.append([str(size), f"{bytes_of(folder) / 1e6:.1f}", *(f"{cpu:.2f}" for cpu, _ in costs),
                         f"{max(resident for _, resident in costs) / 1e6:.0f}", f"{os.path.getsize(store) / 1e6:.1f}"])
        show(kind, ["n", "read MB", *(f"{command}, CPU s" for command in commands), "peak RSS MB", "store MB"], rows)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    main(sys.argv[1])
