"""Situations that the random jobs of eval.py do not contain, each with several shapes, judged by the named ranks.

`eval.py --situations all` runs all of them, `--situations NAME,NAME` some; `--situation-seeds N` limits the jobs of each. Job k
of a situation and shape is always the same job. Findings of medium and high confidence count. A finding accuses its `ranks`
if it has that field, else its `rank`. Exact: there is one finding for each planted fault, with its kind and all its ranks
(several if a host or a network card is slow), and no other finding. Cost: the true cost of the fault as a share of a step, over
its steps; the finding is right if its cost is within 25 %.
"""
import collections
import concurrent.futures
import json
import os
import shutil
import statistics
import subprocess
import tempfile

NETWORK = ["--network-gbs", "40", "--nvlink-gbs", "300"]  # Computation dominates.


def shape(name, ranks, node, *more):
    return ["--shape", name, *more, "--ranks", str(ranks), "--per-node", str(node), *NETWORK]


SHAPES = {
    "3d8": shape("3d", 8, 4, "--tp", "2", "--dp", "2", "--pp", "2"),
    "3d32": shape("3d", 32, 8, "--tp", "4", "--dp", "4", "--pp", "2"),
    "1f1b16": shape("1f1b", 16, 4, "--tp", "2", "--dp", "2", "--pp", "4", "--microbatches", "8"),
    "ddp8": shape("ddp", 8, 4), "ddp16": shape("ddp", 16, 8), "ddp32": shape("ddp", 32, 8),
    "fsdp8": shape("fsdp", 8, 4), "fsdp16": shape("fsdp", 16, 8), "hsdp16": shape("hsdp", 16, 8),
    "moe8": shape("moe", 8, 4), "moe16": shape("moe", 16, 8),
}
ALL = ["3d8", "1f1b16", "ddp8", "ddp16", "fsdp8", "hsdp16", "moe8"]
HOSTS = ["ddp16", "fsdp16", "hsdp16", "3d32", "ddp32", "1f1b16"]
SENDERS = ["3d8", "ddp8", "fsdp8", "1f1b16", "hsdp16", "moe8"]
EXPERTS = ["moe8", "moe16"]
SOME = ["3d8", "ddp8", "fsdp8", "moe8"]

Situation = collections.namedtuple("Situation", "shapes faults seeds steps layers extra")


def situation(shapes, *faults, seeds=2, steps=24, layers=8, extra=()):
    return Situation(shapes, faults, seeds, steps, layers, list(extra))


def stall(us, every):
    """Rank 0 writes a checkpoint after every N-th step."""
    return situation(ALL, f"checkpoint:0:{every - 1}:39/{every}:{us}", steps=40)


# By name. Healthy situations have no fault.
SITUATIONS = {
    "clean": situation(ALL, seeds=4),
    "steady10": situation(ALL, "throttle:3:0:23:10:*"),
    "steady20": situation(ALL, "throttle:3:0:23:20:*"),
    "late_steady": situation(ALL, "host:3:0:23:10%:*"),
    "node_middle": situation(HOSTS, "throttle:node1:8:23:20:*"),
    "node_start": situation(HOSTS, "throttle:node1:0:23:20:*"),
    "node_late": situation(HOSTS, "host:node1:8:12:20%:*", seeds=1),
    "weak4x4": situation(ALL, "compute:3:8:11:4%:*", seeds=3),
    "weak8x3": situation(ALL, "compute:3:8:15:3%:*", seeds=3),
    "middling4x10": situation(ALL, "compute:3:8:11:10%:*", seeds=3),
    "sender": situation(SENDERS, "net:3:8:12:20%:*", layers=3),
    "sender30": situation(SENDERS, "net:3:8:12:30%:*", layers=3),  # 3 % of a step or more
    "nic": situation(SENDERS, "net:2,3:8:12:15%:*", layers=3),
    "nic30": situation(SENDERS, "net:2,3:8:12:30%:*", layers=3),
    "nic_start": situation(SENDERS, "net:2,3:0:23:15%:*", layers=3),
    "nic_start30": situation(SENDERS, "net:2,3:0:23:30%:*", layers=3),
    "stall3/5": stall(3000, 5),
    "stall6/5": stall(6000, 5),
    "stall12/5": stall(12000, 5),
    "stall12/10": stall(12000, 10),
    "stall40/5": stall(40000, 5),
    "hot_expert": situation(EXPERTS, seeds=5, steps=30, layers=4, extra=["--hot-expert", "60:4"]),
    "hot_every": situation(EXPERTS, seeds=3, steps=30, layers=4, extra=["--hot-expert", "60:1"]),
    "hot_long": situation(EXPERTS, seeds=3, steps=30, layers=4, extra=["--hot-expert", "100:10"]),
    "hot_slow_gpu": situation(EXPERTS, "throttle:3:12:20:30:*", seeds=5, steps=30, layers=4,
                              extra=["--hot-expert", "60:4"]),
    "batches": situation(ALL, steps=30, seeds=1, extra=["--batches", "10"]),
    "own_batches": situation(ALL, steps=30, extra=["--own-batches", "10"]),
    "ramp_up": situation(SOME, layers=3, extra=["--ramp-up", "1:6", "--microbatches", "4"]),
    "sequences": situation(SOME, layers=4, extra=["--sequences", "50:8"]),
    "evaluation": situation(ALL, layers=3, seeds=1, extra=["--evaluate", "5"]),
    "tagged_evaluation": situation(SOME, layers=3, seeds=1, extra=["--evaluate", "5:2:evaluation"]),
    "remade": situation(SOME, layers=4, extra=["--remake", "6"]),
    "clock_step": situation(SOME, layers=4, extra=["--clock-step", "2:10:20000"]),
    "clock_step_logs": situation(SOME, layers=4, extra=["--clock-step", "2:10:20000", "--dialect", "inspector-2.30"]),
    "gaps": situation(SOME, layers=4, extra=["--gaps", "0.05"]),
    "ramp_up_slow": situation(SOME, "throttle:3:9:11:40:*", layers=3, extra=["--ramp-up", "1:6", "--microbatches", "4"]),
    "sequences_slow": situation(SOME, "throttle:3:10:13:40:*", layers=4, extra=["--sequences", "50:8"]),
    "evaluation_slow": situation(SOME, "throttle:3:10:13:40:*", layers=4, extra=["--evaluate", "5"]),
    "remade_slow": situation(SOME, "throttle:3:2:4:40:*", layers=4, extra=["--remake", "6"]),
    "gaps_slow": situation(SOME, "throttle:3:10:13:40:*", layers=4, extra=["--gaps", "0.05"]),
    "hang": situation(SOME, "hang:3:10:10:0:backward", layers=3, steps=14, seeds=1),
    "kill": situation(SOME, "kill:3:10:10:0:backward", layers=3, steps=14, seeds=1),
    "freeze": situation(SOME, "freeze:3:10:10:0:backward", layers=3, steps=14, seeds=1),
    "exit": situation(SOME, "exit:3:10:10:0:forward", layers=3, steps=14, seeds=1),
}
STOPPING = {"missing", "ended_early", "mismatch", "error"}
COLUMNS = ["right rank", "exact", "right kind", "only low", "cost right", "jobs wrong", "wrong ranks"]


def arguments(plan, shape_name, number):
    """The arguments of build/simulate for job `number` (from 1) of a shape."""
    command = [*SHAPES[shape_name], "--layers", str(plan.layers), "--steps", str(plan.steps), "--dialect", "chrome-v7",
               "--seed", str(number * 7919 + 13)]
    for fault in plan.faults:
        command += ["--fault", fault]
    return command + plan.extra


def jobs_of(plan, most_seeds):
    return [(name, number) for name in plan.shapes for number in range(1, min(plan.seeds, most_seeds) + 1)]


def play(options, command):
    """(truth, findings) of one job; None if a program fails."""
    work = tempfile.mkdtemp(prefix="ncclprof-situation-")
    try:
        traces, store = os.path.join(work, "traces"), os.path.join(work, "store.db")
        made = subprocess.run([options.simulate, *command, "-o", traces], capture_output=True)
        if made.returncode != 0:
            return None
        with open(os.path.join(traces, "truth.json")) as file:
            truth = json.load(file)
        os.remove(os.path.join(traces, "truth.json"))
        read = subprocess.run([options.ncclprof, "--store", store, "ingest", "-q", traces], capture_output=True)
        done = subprocess.run([options.ncclprof, "--store", store, "diagnose", "--format", "json"], capture_output=True,
                              text=True)
        if read.returncode not in (0, 1) or done.returncode != 0:
            return None
        return truth, json.loads(done.stdout)["findings"]
    finally:
        shutil.rmtree(work)


def accused(finding, wanted=frozenset()):
    """All ranks that a finding accuses. Of its candidates, those that are wanted, if there are any."""
    candidates = frozenset(finding.get("candidates") or [])
    return candidates & wanted or candidates or frozenset(finding.get("ranks") or [finding["rank"]])


def score(truth, findings):
    """The values of COLUMNS for one job, except the last two, which count wrong ranks."""
    faults = truth["faults"]
    sure = [f for f in findings if f["confidence"] != "low"]
    low = [f for f in findings if f["confidence"] == "low"]
    wanted = {rank for fault in faults for rank in fault["ranks"]}
    kinds = {(rank, fault["kind"]) for fault in faults for rank in fault["ranks"]}
    named = {rank for f in sure for rank in accused(f, wanted)}
    whole = sorted((sorted(accused(f, wanted)), f["kind"]) for f in sure)
    matching = [f for f in sure if accused(f, wanted) & wanted]
    lost = sum(fault["lost_us"] or 0 for fault in faults)
    found = sum(f.get("lost_us") or 0 for f in matching)
    return {
        "right rank": bool(named & wanted),
        "exact": whole == sorted((sorted(fault["ranks"]), fault["kind"]) for fault in faults),
        "right kind": any((rank, f["kind"]) in kinds for f in matching for rank in accused(f, wanted)),
        "only low": not named & wanted and any(accused(f, wanted) & wanted for f in low),
        "cost right": bool(matching) and abs(found - lost) <= 0.25 * lost,
        "jobs wrong": bool(named - wanted),
        "wrong ranks": len(named - wanted),
    }


def run(options, name, plan):
    """One row: name, number of jobs, median cost of the faults in % of a step, and COLUMNS."""
    jobs = jobs_of(plan, options.situation_seeds)

    def one(job):
        return play(options, arguments(plan, *job))

    with concurrent.futures.ThreadPoolExecutor(options.parallel) as pool:
        played = list(zip(jobs, pool.map(one, jobs)))
    jobs = [job for job, result in played if result]
    results = [result for _, result in played if result]
    scores = [score(*result) for result in results]
    costs = [fault["lost_percent"] for truth, _ in results for fault in truth["faults"] if fault["lost_percent"] is not None]
    cells = [sum(s[column] for s in scores) for column in COLUMNS]
    stops = any(f["kind"] in STOPPING for truth, _ in results for f in truth["faults"])
    for at, column in enumerate(COLUMNS):
        if (not plan.faults and column not in ("exact", "jobs wrong", "wrong ranks")) or (stops and column == "cost right"):
            cells[at] = "."
    if options.verbose:
        for job, result, marks in zip(jobs, results, scores):
            said = [(sorted(accused(f)), f["kind"], f["first_step"], f["last_step"], f["confidence"]) for f in result[1]]
            print(f"  {name} {job[0]} {job[1]} {'exact' if marks['exact'] else ''} {said}")
    count = len(jobs) if len(jobs) == len(played) else f"{len(jobs)} ({len(played) - len(jobs)} failed)"
    return [name, count, f"{statistics.median(costs):.1f} %" if costs else "-", *cells]


def print_row(cells):
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def main(options):
    """Prints each row of the table when it is complete; exit status 1 for an unknown name."""
    names = list(SITUATIONS) if options.situations == "all" else options.situations.split(",")
    unknown = [name for name in names if name not in SITUATIONS]
    if unknown:
        print(f"unknown situation: {', '.join(unknown)}; known: {', '.join(SITUATIONS)}")
        return 1
    print_row(["situation", "jobs", "cost", *COLUMNS])
    print_row(["---"] * (3 + len(COLUMNS)))
    for name in names:
        print_row(run(options, name, SITUATIONS[name]))
    return 0
