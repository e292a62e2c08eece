#!/usr/bin/env python3
"""The CPU time of `ncclprof watch` while a job runs: `make bench-watch`.

usage: tests/bench/watch.py BUILD [SECONDS [JOB]]

A simulated job is written gradually in the given time, each file slightly behind or ahead of the others. watch polls it with its
default interval. The script prints its output, when the last record was written, and its CPU
time. JOB: options of build/simulate; without them 8 ranks, one of which is slow for a while.
"""

import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

JOB = "--shape 3d --tp 2 --dp 2 --pp 2 --steps 1500 --dialect chrome-v7 --fault compute:3:200:600:8%"
TICK_S, BEHIND, IDLE_S = 0.5, 0.002, 30


def play(source, target, lasts_s):
    """Writes the files so that they grow."""
    files = [(path.open("rb"), (target / path.name).open("wb"), path.stat().st_size)
             for path in sorted(source.iterdir()) if path.name != "truth.json"]
    begun, share = time.monotonic(), 0.0
    while share < 1:
        share = min(1, (time.monotonic() - begun) / lasts_s)
        for content, written, size in files:
            here = share if share == 1 else max(0, share - random.random() * BEHIND)
            written.write(content.read(max(0, int(size * here) - written.tell())))
            written.flush()
        time.sleep(TICK_S)
    return sum(size for _, _, size in files)


def main():
    build, lasts_s = Path(sys.argv[1]), float(sys.argv[2] if len(sys.argv) > 2 else 300)
    job = sys.argv[3] if len(sys.argv) > 3 else ""
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "job"), Path(folder, "traces")
        target.mkdir()
        subprocess.run([build / "simulate", *(job or JOB).split(), "-o", source], check=True)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        begun = time.monotonic()
        watch = subprocess.Popen([build / "ncclprof", "watch", target, "--until-idle", str(IDLE_S)])
        size = play(source, target, lasts_s)
        print(time.strftime("%Y-%m-%dT%H:%M:%SZ the last record was written", time.gmtime()), flush=True)
        watch.wait()
        took_s = time.monotonic() - begun
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
    print(f"{size / 1e6:.0f} MB in {lasts_s:.0f} s: watch took {cpu_s:.1f} s of CPU in {took_s:.0f} s, "
          f"{cpu_s / took_s:.2%}")


if __name__ == "__main__":
    main()
