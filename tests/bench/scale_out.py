#!/usr/bin/env python3
"""A job of thousands of ranks, from end to end: `make bench-scale-out`.

usage: tests/bench/scale_out.py BUILD

Simulates a job with tensor, pipeline and data parallel ranks and two planted faults as a stream of compressed Inspector logs with
GPU times, one folder per node. Shards of several nodes each are ingested as tasks of Slurm would do it, and their logs deleted.
Then the shards are merged, and stragglers and diagnose look for the faults. Before that, a small job runs through the same
program, for the cost per operation. There is no limit: the figures are only printed.

Environment variables and defaults: SCALE_OUT_RANKS 1024 (a multiple of 128), SCALE_OUT_STEPS 24, SCALE_OUT_SHARDS 16,
SCALE_OUT_SMALL 1M (operations of the small job), SCALE_OUT_DIAGNOSE (additional options for diagnose), BENCH_ROOM BUILD/bench.
16,384 ranks and 92 steps are 100 M operations: 8 GB of logs, 7 GB of shards and a store of the same size.
"""
import json
import os
import shlex
import shutil
import sys

from data import parse_size
from measure import machine, run, show

TENSOR, PIPELINE = 8, 16
PROGRAM = ["--shape", "3d", "--tp", str(TENSOR), "--pp", str(PIPELINE), "--layers", "6", "--microbatches", "4", "--per-node",
           "8", "--dialect", "inspector-2.30"]
OPERATIONS_A_STEP = 67
SMALL_RANKS = 256
LEAST_STEPS = 16
LOST_US = 30_000  # a step takes 260 ms


class Job:
    def __init__(self, name, room, ranks, steps):
        self.name, self.ranks, self.steps = name, ranks, steps
        self.room = os.path.join(room, f"scale-out-{name}")
        self.traces, self.store = os.path.join(self.room, "traces"), os.path.join(self.room, "all.db")
        self.costs, self.truth = {}, None

    def operations(self):
        return sum(process["operations"] for process in self.truth["processes"])

    def note(self, part, cost):
        """The cost of a part that several processes did one after the other: the sum of their times, and the highest memory
        use.
        """
        seconds, cpu, resident = self.costs.get(part, (0, 0, 0))
        self.costs[part] = (seconds + cost.seconds, cpu + cost.cpu, max(resident, cost.resident))


def faults_of(job):
    """One rank computes longer for an eighth of the steps; later a host is late, in the first stage, which all ranks wait
    for.
    """
    first, lasts = job.steps // 4, max(job.steps // 8, 3)
    later = job.steps * 5 // 8
    return [f"compute:{job.ranks * 5 // 8 + 3}:{first}:{first + lasts - 1}:{LOST_US}",
            f"host:{job.ranks // PIPELINE // 2 + 1}:{later}:{later + lasts - 1}:{LOST_US}:forward"]


def simulate(job, build):
    shutil.rmtree(job.room, ignore_errors=True)
    os.makedirs(job.room)
    faults = [word for fault in faults_of(job) for word in ("--fault", fault)]
    job.note("simulate", run([f"{build}/simulate", *PROGRAM, "--ranks", str(job.ranks), "--steps", str(job.steps), "--noise",
                              "even", "--once", "--stream", "--gzip", "--node-folders", *faults, "-o", job.traces]))
    with open(os.path.join(job.traces, "truth.json")) as file:
        job.truth = json.load(file)
    os.remove(os.path.join(job.traces, "truth.json"))


def ingest(job, build, count):
    """As tasks of Slurm, one per node, one after the other. Deletes the logs that are in a shard."""
    nodes = sorted(os.listdir(job.traces))
    shards = []
    for number in range(count):
        folders = [os.path.join(job.traces, node) for node in nodes[number::count]]
        shards.append(os.path.join(job.room, f"shard-{number}.db"))
        task = {"SLURMD_NODENAME": f"machine{number}", "SLURM_PROCID": str(number), "SLURM_STEP_NUM_TASKS": str(count)}
        job.note("ingest --shard", run([f"{build}/ncclprof", "-q", "--store", shards[-1], "ingest", "--shard", *folders],
                                       env=dict(os.environ, **task)))
        for folder in folders:
            shutil.rmtree(folder)
    return shards


def merge(job, build, shards):
    job.note("merge", run([f"{build}/ncclprof", "-q", "merge", "-o", job.store, *shards]))
    for shard in shards:
        os.remove(shard)


def analyse(job, build):
    command = [f"{build}/ncclprof", "-q", "--store", job.store]
    options = shlex.split(os.environ.get("SCALE_OUT_DIAGNOSE", ""))
    job.note("stragglers", run([*command, "stragglers", "--format", "json"]))
    cost = run([*command, "diagnose", *options, "--format", "json"])
    job.note("diagnose", cost)
    return json.loads(cost.output)["findings"]


def judge(job, findings):
    """The accused ranks with kind and steps, next to the planted faults."""
    planted = {(fault["rank"], fault["kind"]): fault for fault in job.truth["faults"]}
    accused = {(finding["rank"], finding["kind"]): finding for finding in findings
               if finding["confidence"] in ("high", "medium")}
    rows = []
    for key in sorted(planted.keys() | accused.keys()):
        fault, finding = planted.get(key), accused.get(key)
        rows.append([str(key[0]), key[1], *(f"{what['first_step']} to {what['last_step']}" if what else "-"
                                            for what in (fault, finding)),
                     f"{finding['lost_us'] / 1000:.0f} ms" if finding and finding.get("lost_us") else "-"])
    show(f"{job.name}: culprits {'exact' if planted.keys() == accused.keys() else 'NOT exact'}",
         ["rank", "kind", "steps planted", "steps found", "lost, as found"], rows)


def play(job, build, shards):
    simulate(job, build)
    print(f"{job.name}: {job.ranks} ranks, {job.steps} steps, {job.operations() / 1e6:.1f} M operations", flush=True)
    written = ingest(job, build, min(shards, job.ranks // 8))
    merge(job, build, written)
    size = os.path.getsize(job.store)
    print(f"store: {size / 1e6:.0f} MB, {size / job.operations():.0f} bytes per operation", flush=True)
    judge(job, analyse(job, build))
    shutil.rmtree(job.room)


def compare(small, large):
    rows = []
    for part, (seconds, cpu, resident) in large.costs.items():
        each, each_small = (job.costs[part][1] / job.operations() * 1e6 for job in (large, small))
        rows.append([part, f"{seconds:.1f}", f"{cpu:.1f}", f"{resident / 1e6:.0f}", f"{each:.2f}", f"{each_small:.2f}",
                     f"{each / each_small:.2f}"])
    show(f"{large.operations() / 1e6:.1f} M operations of {large.ranks} ranks, and {small.operations() / 1e6:.1f} M of "
         f"{small.ranks}", ["part", "seconds", "CPU s", "peak RSS MB", "CPU us an operation", "small job", "times that"], rows)


def main():
    build = sys.argv[1] if len(sys.argv) > 1 else "build"
    room = os.environ.get("BENCH_ROOM", f"{build}/bench")
    ranks, steps = int(os.environ.get("SCALE_OUT_RANKS", "1024")), int(os.environ.get("SCALE_OUT_STEPS", "24"))
    shards = int(os.environ.get("SCALE_OUT_SHARDS", "16"))
    small_steps = parse_size(os.environ.get("SCALE_OUT_SMALL", "1M")) // SMALL_RANKS // OPERATIONS_A_STEP
    print(f"Scale out: {machine()}; one run each.")
    jobs = [Job("small", room, SMALL_RANKS, max(small_steps, LEAST_STEPS)), Job("large", room, ranks, max(steps, LEAST_STEPS))]
    for job in jobs:
        play(job, build, shards)
    compare(*jobs)


if __name__ == "__main__":
    main()
