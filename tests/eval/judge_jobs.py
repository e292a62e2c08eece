#!/usr/bin/env python3
"""What diagnose says of the jobs that record_jobs.py recorded, by witness: judge_jobs.py FOLDER [options].

Right is who names the planted rank with the planted kind, at medium or high confidence; exact is that and nobody else. A fault
below --least per cent of a step, as the job's own clocks have it, need not be named, nor one that the witness cannot show:
PyTorch's profiler and NCCL's log show no network, and the log shows jobs that stop alone. Abstained: nothing could be judged,
and diagnose says so. Of others that are accused it is told whether PyTorch's profiler has them last, too: the time of their
kernels but NCCL's, or until their host waits for its GPU, in the middle one of the steps. Machines have faults of their own.
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
STOPPED = {"hang", "kill", "error"}
STOPPED_FINDINGS = {"missing", "mismatch", "ended_early", "error"}
SURE = {"high", "medium"}


def step_lengths_ms(folder):
    """Of each step the longest of all ranks', as far as they came."""
    ranks = []
    for path in sorted(folder.glob("truth.jsonl.*")):
        begins = [json.loads(line)["begin_ns"] for line in path.read_text().splitlines()]
        ranks.append([(end - begin) / 1e6 for begin, end in zip(begins, begins[1:])])
    return [max(lengths) for lengths in zip(*ranks)]


def cost_of(folder, fault):
    """What the fault cost, of a step; of one that never ends, by what was planted."""
    lengths = step_lengths_ms(folder)
    if fault["kind"] in STOPPED or fault["kind"] == "none":
        return None
    within = [length for step, length in enumerate(lengths) if fault["first_step"] <= step <= fault["last_step"] and step > 3]
    beside = [length for step, length in enumerate(lengths) if step > 3 and not fault["first_step"] <= step <= fault["last_step"]]
    if len(beside) >= 3:
        return statistics.median(within) / statistics.median(beside) - 1
    whole = statistics.median(within)
    amount = fault["amount_us"] / 1000
    return amount / max(whole - amount, amount / 10) if fault["kind"] != "network" else None


@functools.lru_cache(maxsize=8)
def own_times(path):
    """By step, microseconds: what kernels but NCCL's took, and how long the host needed until it waited for its GPU."""
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
    """Whether one of the accused is last of all ranks by its own times; None where those are not known."""
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
    """And whether anything could be judged. None where the witness left nothing."""
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


def accused(findings):
    return {(rank, "stopped" if finding["kind"] in STOPPED_FINDINGS else finding["kind"])
            for finding in findings if finding["confidence"] in SURE for rank in (finding.get("ranks") or [finding["rank"]])}


def judge(options, folder, witness):
    """(verdict, kind, cost, what was said); None where there is nothing to judge."""
    fault = json.loads((folder / "label.json").read_text())["fault"]
    found = findings_of(options, folder, witness)
    if found is None:
        return None
    findings, is_judged = found
    kind = "stopped" if fault["kind"] in STOPPED else fault["kind"]
    cost = cost_of(folder, fault)
    planted = set() if kind == "none" else {(fault["rank"], kind)}
    is_needed = kind in SHOWN[witness] and (cost is None or 100 * cost >= options.least)
    named = accused(findings)
    if named - planted:
        verdict = "wrong"
    elif planted and is_needed:
        verdict = "right" if named else "missed" if is_judged or kind == "stopped" else "abstained"
    else:
        verdict = "right" if named else "silent" if is_judged or planted else "abstained"
    said = [f"{finding['kind']} {finding['rank']} {finding.get('tag')} {finding.get('first_step')}-{finding.get('last_step')} "
            f"{finding['confidence']}" for finding in findings]
    others = [finding for finding in findings if finding["confidence"] in SURE and accused([finding]) - planted]
    borne_out = [is_borne_out(folder, finding) for finding in others]
    return verdict, fault["kind"], cost, said, borne_out


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--ncclprof", default="build/ncclprof")
    parser.add_argument("--least", type=float, default=3, help="per cent of a step from which a fault is to be named")
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
        print(f"{witness}: accusations beside what was planted: {others.total()}, of which PyTorch's profiler bears out {others[True]}, "
              f"does not {others[False]}, cannot tell {others[None]}")
        for kind, verdicts in sorted(tally.items()):
            print(f"{witness}: {kind}: " + ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items())), flush=True)


if __name__ == "__main__":
    main()
