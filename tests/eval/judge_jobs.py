#!/usr/bin/env python3
"""Judges the findings of diagnose on the jobs that record_jobs.py recorded, by recorder: judge_jobs.py FOLDER [options].

A job is right if diagnose names the planted rank with the planted kind, with medium or high confidence; exact if it names
nothing else. A fault need not be found if it cost less than --least percent of a step, measured by the clocks of the job, or
if the recorder cannot show it: PyTorch's profiler and NCCL's log do not show the network, and the log shows only jobs that
stop. Abstained: diagnose reports that it could not analyze the job. For other accused ranks, the output says whether
PyTorch's profiler confirms them: whether they take longest for kernels other than NCCL's, or until their host waits for its
GPU, in the median step. Machines have faults of their own.
"""

import argparse
import collections
import functools
import gzip
import json
import os
import statistics
import subprocess
import tempfile
from pathlib import Path

WITNESSES = {"plugin": ["plugin"], "kineto": ["kineto-rank*"], "flight recorder": ["nccl_trace_rank_*"], "log": ["nccl.*.log"],
             "all": ["plugin", "kineto-rank*", "nccl_trace_rank_*", "nccl.*.log"]}
SHOWN = {"plugin": {"compute", "host", "network", "stopped"}, "kineto": {"compute", "host"}, "flight recorder": {"stopped"},
         "log": {"stopped"}, "all": {"compute", "host", "network", "stopped"}}
LATE = {"compute", "host"}
STOPPED = {"hang", "kill", "error"}
STOPPED_FINDINGS = {"missing", "mismatch", "ended_early", "error"}
SURE = {"high", "medium"}


def step_lengths_ms(folder):
    """For each step the longest duration over all ranks, as far as they came."""
    ranks = []
    for path in sorted(folder.glob("truth.jsonl.*")):
        begins = [json.loads(line)["begin_ns"] for line in path.read_text().splitlines()]
        ranks.append([(end - begin) / 1e6 for begin, end in zip(begins, begins[1:])])
    return [max(lengths) for lengths in zip(*ranks)]


def cost_of(folder, fault):
    """The cost of the fault, as a share of a step; for a fault that never ends, from the planted value."""
    lengths = step_lengths_ms(folder)
    if fault["kind"] in STOPPED or fault["kind"] == "none":
        return None
    steps = range(fault["first_step"], fault["last_step"] + 1, fault.get("period", 1))
    within = [length for step, length in enumerate(lengths) if step in steps and step > 3]
    beside = [length for step, length in enumerate(lengths) if step not in steps and step > 3]
    if len(beside) >= 3:
        return statistics.median(within) / statistics.median(beside) - 1
    if "amount_us" not in fault:
        return None
    whole = statistics.median(within)
    amount = fault["amount_us"] / 1000
    return amount / max(whole - amount, amount / 10) if fault["kind"] != "network" else None


@functools.lru_cache(maxsize=8)
def own_times(path):
    """For each step, in microseconds: the time of kernels other than NCCL's, and the time until the host waited for its GPU."""
    with gzip.open(path) if path.suffix == ".gz" else open(path, "rb") as file:
        events = [event for event in json.load(file)["traceEvents"] if event.get("ph") == "X"]
    steps = [(int(event["name"].split("#")[1]), event["ts"], event["ts"] + event["dur"]) for event in events
             if event.get("cat") == "user_annotation" and event["name"].startswith("ProfilerStep#")]
    times = {"compute": {}, "host": {}}
    for step, begin, end in steps:
        within = [event for event in events if begin <= event["ts"] < end]
        waits = [event["ts"] - begin for event in within if event["name"] == "cudaDeviceSynchronize"]
        times["compute"][step] = sum(event["dur"] for event in within
                                     if event.get("cat") == "kernel" and not event["name"].startswith("nccl"))
        times["host"][step] = max(waits, default=end - begin)
    return times


def is_borne_out(folder, finding):
    """Whether one of the accused ranks is the slowest by its own times; None if these are unknown."""
    ranks = {int(path.name.split(".")[0].removeprefix("kineto-rank")): path for path in folder.glob("kineto-rank*")}
    steps = range(finding.get("first_step") or 0, (finding.get("last_step") or 0) + 1)
    middles = {}
    for rank, path in ranks.items():
        known = [times[step] for times in [own_times(path).get(finding["kind"], {})] for step in steps if step in times]
        if not known:
            return None
        middles[rank] = statistics.median(known)
    return max(middles, key=middles.get) in (finding.get("ranks") or [finding["rank"]]) if middles else None


def findings_of(options, folder, witness):
    """The findings, and whether the job could be analyzed. None if the recorder left no files."""
    files = [path for pattern in WITNESSES[witness] for path in sorted(folder.glob(pattern))]
    if not files:
        return None
    with tempfile.TemporaryDirectory() as temporary:
        store = os.path.join(temporary, "store.db")
        subprocess.run([options.ncclprof, "-q", "--store", store, "ingest", *files], stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, check=False)
        told = subprocess.run([options.ncclprof, "--store", store, "diagnose", "--all", "--format", "json"], capture_output=True,
                              check=False)
    said = json.loads(told.stdout) if told.stdout else {"findings": [], "summary": {}}
    return said["findings"], bool((said.get("summary") or {}).get("judged_operations"))


def kind_of(finding, planted):
    """The kind to compare with the planted one: if no record shows whether the GPU or its host was late, either is right."""
    if finding["kind"] in STOPPED_FINDINGS:
        return "stopped"
    return planted if finding["kind"] == "late" and planted in LATE else finding["kind"]


def ranks_of(finding, processes):
    """Where no communicator has all ranks, processes are named."""
    if finding["rank"] is None and finding.get("process") in processes:
        return [processes.index(finding["process"])]
    return finding.get("ranks") or [finding["rank"]]


def accused(findings, planted, processes):
    return {(rank, kind_of(finding, planted)) for finding in findings if finding["confidence"] in SURE
            for rank in ranks_of(finding, processes)}


def processes_of(folder):
    """HOST:PID of the ranks, which were started in this order."""
    names = {path.name.split(".")[0] for path in (folder / "plugin").rglob("*-pid*")} if (folder / "plugin").is_dir() else set()
    return [name.replace("-pid", ":") for name in sorted(names, key=lambda name: int(name.rpartition("-pid")[2]))]


def judge(options, folder, witness):
    """(verdict, kind, cost, text of the findings); None if there is nothing to judge."""
    fault = json.loads((folder / "label.json").read_text())["fault"]
    found = findings_of(options, folder, witness)
    if found is None:
        return None
    findings, is_judged = found
    kind = "stopped" if fault["kind"] in STOPPED else fault["kind"]
    cost = cost_of(folder, fault)
    planted = set() if kind == "none" else {(rank, kind) for rank in fault.get("ranks") or [fault["rank"]]}
    is_needed = kind in SHOWN[witness] and (cost is None or 100 * cost >= options.least)
    processes = processes_of(folder)
    named = accused(findings, kind, processes)
    if named - planted:
        verdict = "wrong"
    elif planted and is_needed:
        verdict = "right" if named else "missed" if is_judged or kind == "stopped" else "abstained"
    else:
        verdict = "right" if named else "silent" if is_judged or planted else "abstained"
    said = [f"{finding['kind']} {','.join(map(str, ranks_of(finding, processes)))} {finding.get('tag')} {finding.get('first_step')}-{finding.get('last_step')} "
            f"{finding['confidence']} {(finding.get('lost_us') or 0) / 1000:.1f} ms" for finding in findings]
    others = [finding for finding in findings if finding["confidence"] in SURE and accused([finding], kind, processes) - planted]
    borne_out = [is_borne_out(folder, finding) for finding in others]
    return verdict, fault.get("cause", fault["kind"]), cost, said, borne_out


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--ncclprof", default="build/ncclprof")
    parser.add_argument("--least", type=float, default=3, help="smallest cost, in percent of a step, of a fault that must be found")
    parser.add_argument("--witness", choices=WITNESSES, action="append")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    jobs = sorted(path.parent for path in options.folder.glob("*/label.json"))
    for witness in options.witness or WITNESSES:
        tally = collections.defaultdict(collections.Counter)
        others = collections.Counter()
        for job in jobs:
            judged = judge(options, job, witness)
            if not judged:
                continue
            verdict, kind, cost, said, borne_out = judged
            others.update(borne_out)
            tally[kind][verdict] += 1
            if options.verbose or verdict in ("wrong", "missed"):
                print(f"  {witness}: {job.name}: {verdict}: {kind}"
                      f"{'' if cost is None else f' of {100 * cost:.1f} %'}: {'; '.join(said) or 'nothing'}")
        print(f"{witness}: accused ranks besides the planted faults: {others.total()}, of which PyTorch's profiler confirms {others[True]}, "
              f"does not confirm {others[False]}; unknown: {others[None]}")
        for kind, verdicts in sorted(tally.items()):
            print(f"{witness}: {kind}: " + ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items())), flush=True)


if __name__ == "__main__":
    main()
