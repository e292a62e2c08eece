#!/usr/bin/env python3
"""What the sampler of `record` costs: CPU time of its processes, and the size of what it writes.

usage: tests/bench/node.py BUILD [--seconds S] [--processes P] [--threads T] [--command COMMAND...]

Records a job of P processes with T threads each, half of which compute for 2 ms of 10 ms, or COMMAND. On a machine with
GPUs COMMAND should use them. Also prints what the sampler could not read, and the last value of each series of a GPU.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

JOB = """
import os, sys, threading, time
processes, threads, seconds = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
def work(number):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        begin = time.thread_time()
        while number % 2 and time.thread_time() - begin < 0.002: pass
        time.sleep(0.01)
for _ in range(processes):
    if os.fork() == 0:
        all = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
        for thread in all: thread.start()
        for thread in all: thread.join()
        os._exit(0)
for _ in range(processes): os.wait()
"""


def cpu_ns(pid, otherwise=0):
    """A worker that has nothing to sample ends."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0])
    except OSError:
        return otherwise


def processes_of(sampler):
    """{pid: name} of the sampler and its workers."""
    found = {sampler: "sampler"}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = path.read_text()
        except OSError:
            continue
        if text.rpartition(")")[2].split()[1] == str(sampler):
            found[int(path.parent.name)] = "worker"
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--threads", type=int, default=16)
    parser.add_argument("--command", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        command = arguments.command or [sys.executable, "-c", JOB, str(arguments.processes), str(arguments.threads),
                                        str(arguments.seconds)]
        job = subprocess.Popen([f"{arguments.build}/ncclprof", "record", "-o", folder, "--", *command])
        while not (records := list(Path(folder).glob("node-*.jsonl"))):
            time.sleep(0.1)
        record, = records
        time.sleep(3)  # the start, which is the same for jobs of any length
        found = processes_of(int(record.stem.rsplit("-", 1)[1]))
        begin, size = time.monotonic(), record.stat().st_size
        before = {pid: cpu_ns(pid) for pid in found}
        after = before
        while job.poll() is None and time.monotonic() - begin < arguments.seconds - 5:
            time.sleep(0.5)
            end, grown = time.monotonic(), record.stat().st_size
            after = {pid: cpu_ns(pid, after[pid]) for pid in found}
        job.wait()
        for pid, name in found.items():
            print(f"{name} {pid}: {(after[pid] - before[pid]) / (end - begin) / 1e7:.3f} % of a core")
        print(f"size: {(grown - size) / (end - begin) * 3600 / 1e6:.2f} MB per hour, first {size} bytes; {os.cpu_count()} cores")
        names, last = {}, {}
        for line in record.read_text().splitlines():
            found = json.loads(line)
            names.update(found.get("new", {}))
            last.update(found.get("v", {}))
            if "absent" in found or "gpu" in found or "interval_ms" in found:
                print(json.dumps({key: found[key] for key in ("absent", "gpu", "interval_ms") if key in found}))
        for number, (place, *device) in names.items():
            if place in ("gpu", "port"):
                print(place, *device, last.get(number))


if __name__ == "__main__":
    main()
