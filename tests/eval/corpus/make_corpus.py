#!/usr/bin/env python3
"""Makes the corpus: make_corpus.py --recordings DIR [--simulate PROGRAM] [--only JOB].

Needed only to add jobs, or to see how they were made: the corpus itself is stored. Recorded jobs are those of record_jobs.py
--natural with 4 ranks, seed 7 (50 steps) and seed 8 (60 steps), in folders seed7 and seed8 of DIR. Simulated jobs are plans of
study.py, for each line below the first one of seed 40 with that recorder, shape, fault and onset that has at most 16 ranks and
takes less than 700 kB, and jobs that stop. A job is chosen by what is planted in it, never by what ncclprof says about it.
"""

import argparse
import io
import json
import shlex
import shutil
import statistics
import sys
import tarfile
import tempfile
import types
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import cut_recording
import judge_jobs
import study

FORMAT = 1
SHAPES = {"data": "ddp", "sharded": "fsdp", "tensor": "tensor", "pipeline": "pipeline"}
CAUSES = {"gpu_hog": "another process uses the GPU of the rank", "cpu_hog": "busy processes run on the cores of the rank",
          "cpu_hog_node": "busy processes run on the cores of all ranks of a host",
          "garbage": "Python collects garbage in some steps", "loader": "loading samples takes long",
          "throttle": "computation takes longer", "gpu-share": "another process uses the GPU of the rank",
          "cpu-share": "busy processes run on the cores of the rank", "host": "the host is late in one phase of the step",
          "net": "each send of the rank to another host takes longer", "edge": "each send over one link takes longer",
          "hang": "the rank does not make a call", "freeze": "the GPU does not start an operation that its host enqueued",
          "kill": "the process is killed", "mismatch": "the rank calls something else"}
WARM_UP = 4  # The cost is that of the steps from this one on.

# Name of the job: seed, number, and how many of the first steps are kept.
RECORDED = {
    "r01-ddp": (7, 4, 50), "r02-fsdp": (7, 1, 24), "r03-tensor": (7, 10, 36), "r04-pipeline": (8, 3, 30),
    "r05-ddp": (8, 4, 30), "r06-pipeline": (7, 23, 30), "r07-ddp": (8, 0, 50), "r08-ddp": (7, 0, 30),
    "r09-tensor": (7, 2, 24), "r10-ddp": (8, 16, 54), "r11-fsdp": (8, 17, 40), "r12-ddp": (7, 12, 40), "r13-pipeline": (8, 15, 33),
    "r14-tensor": (7, 6, 28), "r15-ddp": (8, 12, 32), "r16-pipeline": (8, 23, 26), "r17-pipeline": (7, 3, 42),
}
RECORDED_STEPS = {7: 50, 8: 60}

STUDY_SEED = 40
# Number of the plan, and what is innocent in it, though it may look like a fault.
PLANNED = {
    "s01-ddp-inspector": (173, []), "s02-hsdp-kineto": (1951, []), "s03-3d-example": (2553, []), "s04-moe-kineto": (869, []),
    "s05-3d-inspector": (221, []), "s06-1f1b-kineto": (2500, []), "s07-ddp-example": (149, []),
    "s08-3d-example": (117, []), "s09-moe-inspector": (2114, []), "s10-ddp-example": (582, []),
    "s11-1f1b-plugin": (1846, []), "s12-ddp-inspector": (163, []),
    "s13-moe-kineto": (2962, ["one expert of each group gets 60 % more data, another one after every 4 steps"]),
    "s14-zero1-inspector": (193, ["batches differ in size by 8 %, separately on each rank"]),
    "s15-ddp-example": (2117, ["sequences grow by half of their first length after every 8 steps"]),
    "s16-1f1b-kineto": (51, ["forward passes for an evaluation at the end of every 5th step", "stages wait for each other"]),
    "s17-moe-inspector": (979, ["the trace of one rank is lost"]),
}
GRID = "--shape 3d --ranks 8 --per-node 4 --tp 2 --dp 2 --pp 2 --layers 2"
# Jobs that stop, and one that does not: the words for the simulator, and what is innocent.
OTHERS = {
    "s18-3d-flight": (f"{GRID} --steps 14 --seed 4001 --dialect flight-recorder --fault hang:6:9:9:0:backward", []),
    "s19-fsdp-flight": ("--shape fsdp --ranks 8 --per-node 4 --layers 2 --steps 12 --seed 4002 --dialect flight-recorder --fault "
                        "kill:3:7:7:0:forward", []),
    "s20-3d-flight": (f"{GRID} --steps 10 --seed 4003 --dialect flight-recorder-json --fault mismatch:2:6:6:0:backward", []),
    "s21-3d-flight": (f"{GRID} --steps 10 --seed 4004 --dialect flight-recorder-timing", ["the dumps were asked for; nothing stopped"]),
    "s22-1f1b-example": ("--shape 1f1b --ranks 8 --per-node 4 --tp 1 --dp 4 --pp 2 --microbatches 4 --layers 2 --steps 10 --seed 4005 "
                         "--dialect chrome-v5 --fault freeze:5:6:6:0:backward", []),
    "s23-ddp-plugin": ("--shape ddp --ranks 8 --per-node 4 --layers 2 --steps 12 --seed 4006 --dialect chrome-v7 --fault "
                       "kill:1:8:8:0:backward", []),
}
STOPPED = {"missing", "ended", "mismatch"}
RECORDER_OF = {"chrome-v4": "example plugin", "chrome-v5": "example plugin", "chrome-v6": "example plugin", "chrome-v7": "plugin",
               "inspector-2.30": "Inspector", "kineto": "Kineto", "flight-recorder": "Flight Recorder",
               "flight-recorder-json": "Flight Recorder", "flight-recorder-timing": "Flight Recorder"}


def pack(folder, path):
    """An archive that is the same for the same files."""
    with tarfile.open(path, "w:xz", preset=9, format=tarfile.USTAR_FORMAT) as archive:
        for file in sorted(folder.iterdir()):
            info = tarfile.TarInfo(f"traces/{file.name}")
            info.size, info.mode = file.stat().st_size, 0o644
            archive.addfile(info, io.BytesIO(file.read_bytes()))


def text_of(truth):
    """JSON with one key, or one fault, a line."""
    lines = {key: json.dumps(value) for key, value in truth.items()}
    lines["faults"] = "[" + ",".join(f"\n  {json.dumps(fault)}" for fault in truth["faults"]) + "]"
    return "{\n" + ",\n".join(f' "{key}": {text}' for key, text in lines.items()) + "\n}\n"


def sets(groups):
    """Sorted lists, each once."""
    return [list(group) for group in sorted({tuple(sorted(group)) for group in groups})]


def fault_of(kind, cause, ranks, peers, steps, cost, shown, accepted):
    first, last, every = steps
    required = shown and (kind in STOPPED or (cost is not None and cost >= study.LEAST_SHARE))
    return {"kind": kind, "cause": cause, "ranks": sorted(ranks), "peers": sorted(peers), "first_step": first, "last_step": last,
            "every": every, "cost_percent": None if cost is None else round(cost, 1), "shown": shown, "required": required,
            "accepted": accepted}


def accept(kinds, exact, candidates, part):
    return {"kinds": sorted(kinds), "exact": sets(exact), "candidates": sets(candidates), "part": sorted(part)}


def typical_ms(recordings, label, steps_of):
    """The median step of the jobs with the same program, in steps without a fault, for faults in every step; None without such."""
    medians = []
    for path in recordings.glob("seed*/*/label.json"):
        other = json.loads(path.read_text())
        if any(other[key] != label[key] for key in ("shape", "layers")) or (label["shape"] == "pipeline" and other["stages"] != label["stages"]):
            continue
        beside = [length for step, length in enumerate(judge_jobs.step_lengths_ms(path.parent)) if step not in steps_of(other) and step >= WARM_UP]
        medians += [statistics.median(beside)] if len(beside) > 5 else []
    return statistics.median(medians) if medians else None


def faulty_steps(label):
    fault = label["fault"]
    return range(0) if fault["kind"] == "none" else range(fault["first_step"], fault["last_step"] + 1, fault.get("period", 1))


def recorded_cost(recordings, folder, label, kept):
    """What the fault cost, in percent of the run without it: against the other steps, or against jobs with the same program. These
    differ by several percent among themselves, so a small cost against them is unknown.
    """
    lengths = list(enumerate(judge_jobs.step_lengths_ms(folder)))[WARM_UP:kept]
    faulty = faulty_steps(label)
    beside = [length for step, length in lengths if step not in faulty]
    typical = statistics.median(beside) if len(beside) >= 3 else typical_ms(recordings, label, faulty_steps)
    if typical is None:
        return None
    lost = sum(length - typical for step, length in lengths if step in faulty)
    cost = max(0.0, 100 * lost / (sum(length for _, length in lengths) - lost))
    return cost if len(beside) >= 3 or cost >= study.STRONG_SHARE else None


def recorded(recordings, name, folder):
    """The truth of a recorded job; its traces are written to the folder."""
    seed, number, kept = RECORDED[name]
    job = next((recordings / f"seed{seed}").glob(f"{number:02d}_*"))
    label = json.loads((job / "label.json").read_text())
    cut_recording.cut_job(job, kept, folder)
    fault, faults = label["fault"], []
    if fault["kind"] != "none":
        ranks = fault.get("ranks") or [fault["rank"]]
        steps = fault["first_step"], min(fault["last_step"], kept - 1), fault.get("period", 1)
        faults = [fault_of(fault["kind"], CAUSES[fault["cause"]], ranks, [], steps, recorded_cost(recordings, job, label, kept), True,
                           accept([fault["kind"]], [ranks], [], ranks))]
    return {"format": FORMAT, "name": name, "made": "recorded", "recorder": "plugin", "shape": SHAPES[label["shape"]],
            "ranks": label["ranks"], "nodes": [[0, 1], [2, 3]], "steps": kept, "lost_traces": [], "innocent": [], "faults": faults,
            "origin": f"record_jobs.py --natural --ranks 4 --steps {label['steps']} --seed {seed}, job {number}; torch 2.11, NCCL 2.28.9 "
                      f"over sockets, 4 H200 GPUs; the first {kept} of {label['steps']} steps"}


def nodes_of(truth):
    hosts = {}
    for process in sorted(truth["processes"], key=lambda process: process["rank"]):
        hosts.setdefault(process["host"], []).append(process["rank"])
    return list(hosts.values())


def simulated_truth(name, truth, dialect, words, innocent, faults):
    return {"format": FORMAT, "name": name, "made": "simulated", "recorder": RECORDER_OF[dialect], "shape": truth["shape"],
            "ranks": truth["ranks"], "nodes": nodes_of(truth), "steps": truth["steps"], "lost_traces": truth["lost_ranks"],
            "innocent": innocent, "faults": faults, "origin": shlex.join(["simulate", *words])}


def planned(options, name, folder):
    number, innocent = PLANNED[name]
    plan = study.Plan(STUDY_SEED, number)
    with tempfile.TemporaryDirectory() as work:
        if plan.faults:
            study.adjust(options, plan, work)
    words = plan.command(plan.dialect)
    truth = study.simulate(options, words, str(folder))
    faults = []
    for planted, fault, cost in zip(plan.faults, truth["faults"], study.shares(truth)):
        answers = plan.answers(fault, truth)
        exact = [answers.ranks, *answers.groups]
        accepted = accept(answers.kinds, exact, answers.open, answers.ends | answers.ranks)
        steps = fault["first_step"], fault["last_step"], fault["period"]
        faults.append(fault_of(fault["kind"], CAUSES[planted.name], fault["ranks"], fault["peers"], steps, cost,
                               plan.shows(truth), accepted))
    if plan.lost is not None and plan.lost not in {rank for fault in faults for rank in fault["ranks"]}:
        innocent = innocent or ["the trace of one rank is lost"]
    return simulated_truth(name, truth, plan.dialect, words, innocent, faults)


def other(options, name, folder):
    text, innocent = OTHERS[name]
    words = shlex.split(text)
    truth = study.simulate(options, words, str(folder))
    faults = []
    for fault in truth["faults"]:
        planted = words[words.index("--fault") + 1].split(":")[0]
        kinds = {"hang": {"missing"}, "freeze": {"missing"}, "kill": {"ended", "missing"}, "mismatch": {"mismatch"}}[planted]
        kind = "ended" if planted == "kill" else fault["kind"]
        steps = fault["first_step"], fault["last_step"], 1
        faults.append(fault_of(kind, CAUSES[planted], fault["ranks"], [], steps, None, True, accept(kinds, [fault["ranks"]], [], fault["ranks"])))
    truth["lost_ranks"] = truth["lost_ranks"] or [rank for fault in faults if fault["kind"] == "ended" and "flight" in name
                                                  for rank in fault["ranks"]]
    return simulated_truth(name, truth, words[words.index("--dialect") + 1], words, innocent, faults)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--recordings", type=Path)
    parser.add_argument("--simulate", default="build/simulate")
    parser.add_argument("--only", action="append")
    options = parser.parse_args()
    study_options = types.SimpleNamespace(simulate=options.simulate)
    for name in [*RECORDED, *PLANNED, *OTHERS]:
        if (options.only and name not in options.only) or (name in RECORDED and not options.recordings):
            continue
        with tempfile.TemporaryDirectory() as work:
            traces = Path(work) / "traces"
            truth = (recorded(options.recordings, name, traces) if name in RECORDED
                     else (planned if name in PLANNED else other)(study_options, name, traces))
            job = HERE / "jobs" / name
            shutil.rmtree(job, ignore_errors=True)
            job.mkdir(parents=True)
            pack(traces, job / "traces.tar.xz")
            (job / "truth.json").write_text(text_of(truth))
        print(f"{name}: {(job / 'traces.tar.xz').stat().st_size // 1000} kB", flush=True)


if __name__ == "__main__":
    main()
