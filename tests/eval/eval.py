#!/usr/bin/env python3
"""Runs ncclprof diagnose on many simulated jobs and compares its findings with the planted faults.

usage: eval.py [--jobs N] [--seed S] [--ranks N] [--only KEY=VALUE[,...]] [--first N] [--keep-failures DIR] [--parallel N]
               [--noise X|even] [--simulate PATH] [--ncclprof PATH] [--json FILE] [--min-precision X] [--min-recall X]
       eval.py --situations all|NAME[,...] [--situation-seeds N] [--verbose]
       eval.py --study N [--seed S] [--first N] [--only KEY=VALUE[,...]] [--recorder all|NAME[,...]] [--traces DIR]
               [--keep-failures DIR] [--json FILE] [--verbose]

Job i of seed s (and of a given number of ranks) is always the same job. --only takes shape=, dialect=, kind= (none for
clean jobs), ranks=. A fault must be found if it cost the job at least 3 % of a step over its steps (or stopped the job), and
if the dialect can show it (see VISIBLE). Finding another planted fault is neither right nor wrong. Only findings of medium
and high confidence count. A job is exact if its set of (rank, kind) is. Healthy jobs have the noise of recorded ones
(tests/gen/simulate_noise.c): one of eleven has a step that is 5 to 25 % longer than both its neighbours, and the first steps
are up to 30 % longer. None of that is planted, so a finding on it is wrong. The truth comes only from the simulator, not
from the analyzed code.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import random
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

import situations
import study

DEMANDED_PERCENT = 3.0
BUCKETS = [(3, "below 3 % (optional)"), (5, "3 to 5 %"), (10, "5 to 10 %"), (25, "10 to 25 %"), (1e9, "25 % and more")]
STOPPING = {"missing", "ended_early", "mismatch", "error"}
KINDS = ["compute", "host", "network", "missing", "ended_early", "mismatch"]


# What each kind of trace can show. The first three Chrome dialects have no kernel times, only those of the network.
# Inspector has no network steps and lists finished operations only; terse logs have durations and no timestamps.
VISIBLE = {
    "full": set(KINDS),
    "proxies only": {"network", "missing", "ended_early", "mismatch"},
    "Inspector verbose": {"compute", "host", "missing", "ended_early"},
    "Inspector terse": {"missing", "ended_early"},
    # The windows of the profiler end before a job stops, and it does not record links.
    "Kineto": {"compute", "host"},
    "Flight Recorder": {"missing", "ended_early", "mismatch"},
    "Flight Recorder with timing": {"compute", "host", "missing", "ended_early", "mismatch"},
}
# The same jobs, recorded by each of these alone.
WITNESSES = {
    "the bundled plugin's Chrome trace": "chrome-v7",
    "Kineto": "kineto",
    "Flight Recorder, timing on": "flight-recorder-timing",
    "Flight Recorder": "flight-recorder",
}
# Shapes in which the optimizer works on the GPU after the last operation of the step.
OPTIMIZER_LAST = {"ddp", "fsdp", "hsdp", "zero1"}
COVERAGES = ["Chrome with kernel times", "Inspector complete", "Inspector with lost operations",
             "the network only (chrome-v1 to v3)"]
TAGGED = {"chrome-v7", "inspector", "inspector-terse", "kineto"}


def family(dialect):
    if dialect == "kineto":
        return "Kineto"
    if dialect.startswith("flight-recorder"):
        return "Flight Recorder with timing" if dialect.endswith("-timing") else "Flight Recorder"
    if dialect.startswith("inspector"):
        return "Inspector terse" if dialect.endswith("-terse") else "Inspector verbose"
    return "proxies only" if dialect in ("chrome-v1", "chrome-v2", "chrome-v3") else "full"


def choose(rng, weights):
    return rng.choices(list(weights), list(weights.values()))[0]


SHAPES = {"3d": 30, "1f1b": 13, "ddp": 16, "fsdp": 16, "hsdp": 7, "moe": 10, "zero1": 5}
PHASES = {
    "3d": ["forward", "backward", "grad_sync", "optimizer"],
    "1f1b": ["forward", "backward", "grad_sync", "optimizer"],
    "ddp": ["forward", "backward", "optimizer"],
    "fsdp": ["forward", "backward", "optimizer"],
    "hsdp": ["forward", "backward", "optimizer"],
    "moe": ["forward", "backward", "grad_sync", "optimizer"],
    "zero1": ["forward", "backward", "optimizer"],
}
DIALECTS = {
    "chrome-v7": 40, "chrome-v6": 12, "chrome-v5": 10, "chrome-v4": 8, "chrome-v3": 2, "chrome-v2": 2, "chrome-v1": 3,
    "inspector-2.30": 10, "inspector": 7, "inspector-2.28": 2, "inspector-terse": 2, "inspector-2.30-terse": 2,
}
FAULTS = {
    "compute": 30, "host": 24, "net": 12, "edge": 11, "throttle": 7, "receive": 4, "pause": 5,
    "hang": 4, "kill": 4, "mismatch": 3,
}
ENDINGS = {"hang", "kill", "mismatch"}


def draw_shape(rng):
    shape = choose(rng, SHAPES)
    ranks = choose(rng, {2: 2, 4: 14, 8: 26, 16: 24, 32: 16, 64: 12, 128: 3, 256: 2})
    args = ["--shape", shape]
    if shape in ("3d", "1f1b"):
        tp = choose(rng, {1: 3, 2: 5, 4: 2 if ranks >= 8 else 0})
        pp = choose(rng, {1: 2 if shape == "3d" else 0, 2: 5, 4: 3 if ranks >= 16 else 0})
        ranks = max(ranks, tp * pp)
        args += ["--tp", str(tp), "--dp", str(ranks // tp // pp), "--pp", str(pp)]
        if shape == "1f1b" or rng.random() < 0.3:
            args += ["--microbatches", str(rng.choice([2, 4, 6, 8]))]
    elif shape == "moe":
        ranks = max(ranks, 4)
    elif shape == "hsdp":
        ranks = max(ranks, 8)
    per_node = rng.choice([n for n in (1, 2, 4, 8) if n < ranks])
    if shape == "hsdp":
        per_node = max(per_node, 2)
    layers = rng.choice([2, 3, 4] if ranks <= 64 else [2])
    return shape, ranks, args + ["--ranks", str(ranks), "--per-node", str(per_node), "--layers", str(layers)]


# For jobs of a thousand ranks: rings of all ranks take too long to simulate, and network steps of all links take too much
# space.
LARGE_SHAPES = {"3d": 50, "1f1b": 25, "hsdp": 10, "moe": 15}
LARGE_DIALECTS = {"inspector-2.30": 55, "inspector": 25, "inspector-2.28": 5, "inspector-2.30-terse": 5, "chrome-v7": 10}
LARGE_STEPS = (9, 12)


def draw_large_shape(rng, ranks):
    shape = choose(rng, LARGE_SHAPES)
    args = ["--shape", shape]
    if shape in ("3d", "1f1b"):
        pp = choose(rng, {4: 3, 8: 4, 16: 3})
        args += ["--tp", "8", "--pp", str(pp), "--dp", str(ranks // 8 // pp)]
        if shape == "1f1b" or rng.random() < 0.5:
            args += ["--microbatches", str(rng.choice([2, 4]))]
    return shape, ranks, args + ["--ranks", str(ranks), "--per-node", "8", "--layers", str(rng.choice([1, 2]))]


def draw_fault(rng, phases, ranks, steps, taken):
    kind = choose(rng, {k: w for k, w in FAULTS.items() if not (taken and k in ENDINGS)})
    rank = rng.choice([r for r in range(ranks) if r not in taken])
    first = rng.randint(2, steps - 4)
    last = steps - 1 if rng.random() < 0.15 else min(steps - 1, first + rng.randint(0, 3))
    phase = rng.choice(phases) if rng.random() < 0.75 else "*"
    percent = 5 * (100 / 5) ** rng.random()
    if kind in ENDINGS:
        if kind == "mismatch":
            phase = "*"
        return kind, rank, f"{kind}:{rank}:{first}:{first}:0:{phase}"
    if kind == "throttle":
        return kind, rank, f"throttle:{rank}:{first}:{max(last, first + 2)}:{rng.choice([10, 20, 30, 50])}:*"
    if kind == "pause":
        return kind, rank, f"pause:?:{first}:{first}:{percent:.1f}%:*"
    if kind in ("net", "receive", "edge"):
        phase = "*" if rng.random() < 0.6 else phase
        return kind, rank, f"{kind}:?:{first}:{last}:{percent:.1f}%:{phase}"
    return kind, rank, f"{kind}:{rank}:{first}:{last}:{percent:.1f}%:{phase}"


def draw_job(seed, number, large_ranks=None):
    rng = random.Random(f"{seed}/{number}")
    shape, ranks, args = draw_large_shape(rng, large_ranks) if large_ranks else draw_shape(rng)
    steps = rng.randint(*LARGE_STEPS) if large_ranks else rng.randint(9, 16)
    dialect = choose(rng, LARGE_DIALECTS if large_ranks else DIALECTS)
    if large_ranks and shape == "hsdp":
        dialect = "inspector-2.30"  # The network steps of its rings between nodes take gigabytes.
    if large_ranks and dialect.startswith("inspector"):
        args.append("--stream")
    count = choose(rng, {0: 25, 1: 60, 2: 12, 3: 3})
    kinds, taken = [], set()
    alone = "--dp" in args and args[args.index("--dp") + 1] == "1"
    phases = [p for p in PHASES[shape] if not (alone and p == "grad_sync")]
    for _ in range(min(count, ranks - 1)):
        kind, rank, text = draw_fault(rng, phases, ranks, steps, taken)
        kinds.append(kind)
        taken.add(rank)
        args += ["--fault", text]
        if kind in ENDINGS:
            break
    if rng.random() < 0.2:
        args += ["--sync-lag", "1"]
    if rng.random() < 0.1:
        args.append("--gzip")
    if dialect.startswith("inspector") and rng.random() < 0.3:
        args += ["--drop", f"{rng.uniform(0.01, 0.1):.3f}"]
    if "kill" in kinds and rng.random() < 0.3:
        args.append("--cut")
    args += ["--steps", str(steps), "--dialect", dialect, "--seed", str(rng.randrange(1 << 30))]
    return {"number": number, "shape": shape, "ranks": ranks, "dialect": dialect, "kinds": kinds, "args": args}


def run_tool(command, limit):
    begin = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, timeout=limit)
    return done, time.monotonic() - begin


def run_job(options, job):
    work = tempfile.mkdtemp(prefix="ncclprof-eval-")
    traces, store = os.path.join(work, "traces"), os.path.join(work, "store.db")
    result = dict(job, work=work, findings=[], error=None, ingest_s=0.0, diagnose_s=0.0)
    try:
        made = subprocess.run([options.simulate, *job["args"], "-o", traces], capture_output=True, text=True, timeout=600)
        if made.returncode != 0:
            result["error"] = "simulate: " + made.stderr.strip()[:200]
            return result
        os.rename(os.path.join(traces, "truth.json"), os.path.join(work, "truth.json"))
        with open(os.path.join(work, "truth.json")) as file:
            result["truth"] = json.load(file)
        done, result["ingest_s"] = run_tool([options.ncclprof, "--store", store, "ingest", "-q", traces], 300)
        if done.returncode not in (0, 1):
            result["error"] = f"ingest: status {done.returncode}: {done.stderr.strip()[:200]}"
            return result
        done, result["diagnose_s"] = run_tool([options.ncclprof, "--store", store, "diagnose", "--format", "json"], 300)
        if done.returncode not in (0, 3):
            result["error"] = f"diagnose: status {done.returncode}: {done.stderr.strip()[:200]}"
            return result
        result["findings"] = json.loads(done.stdout)["findings"]
    except subprocess.TimeoutExpired as late:
        result["error"] = f"too slow: {late.cmd[3] if len(late.cmd) > 3 else late.cmd}"
    except (OSError, ValueError, KeyError) as problem:
        result["error"] = f"{type(problem).__name__}: {problem}"
    return result


def is_demanded(fault):
    costly = fault["kind"] in STOPPING or fault["lost_percent"] >= DEMANDED_PERCENT
    return costly and fault["visible"]


def bucket_of(fault):
    if fault["kind"] in STOPPING:
        return "stops the job"
    return next(name for limit, name in BUCKETS if fault["lost_percent"] < limit)


def judge(result):
    """Adds got, wanted, optional, wrong, missed: sets of (rank, kind); and the cost of each matched fault."""
    faults = result["truth"]["faults"]
    kind_of_trace = family(result["dialect"])
    for fault in faults:
        fault["visible"] = fault["kind"] in VISIBLE[kind_of_trace]
    same = {f["equivalent_rank"]: f["rank"] for f in faults if "equivalent_rank" in f}
    planted = {f["rank"] for f in faults}
    strong = [dict(f, rank=rank) for f in result["findings"] if f["confidence"] in ("high", "medium")
              for rank in situations.accused(f, planted)]
    for finding in strong:
        if finding["kind"] == "network":
            finding["rank"] = same.get(finding["rank"], finding["rank"])
        left_nothing = kind_of_trace.startswith("Inspector") or "left no record" in finding.get("text", "")
        if left_nothing and finding["kind"] in ("missing", "ended_early"):
            # In these traces, both a rank that hangs and one that dies just stop writing lines, or leave no file.
            finding["kind"] = next((f["kind"] for f in faults if f["rank"] == finding["rank"]
                                    and f["kind"] in ("missing", "ended_early")), finding["kind"])
        if finding["kind"] == "host" and result["shape"] in OPTIMIZER_LAST:
            # Two cases leave the same trace: GPU work after the last operation of a step, for which the host waits; and a
            # host that sleeps there.
            finding["kind"] = next((f["kind"] for f in faults if f["rank"] == finding["rank"] and f["kind"] == "compute"
                                    and f["tag"] == "optimizer"), finding["kind"])
    result["strong"] = strong
    got = {(f["rank"], f["kind"]) for f in strong}
    wanted = {(f["rank"], f["kind"]) for f in faults if is_demanded(f)}
    optional = {(f["rank"], f["kind"]) for f in faults} - wanted
    result.update(got=got, wanted=wanted, wrong=got - wanted - optional, missed=wanted - got)
    result["exact"] = not result["wrong"] and not result["missed"]
    for fault in faults:
        key = (fault["rank"], fault["kind"])
        match = [f for f in strong if (f["rank"], f["kind"]) == key]
        fault["found"] = bool(match)
        if not match:
            same_rank = [f["kind"] for f in strong if f["rank"] == fault["rank"]]
            fault["seen_as"] = same_rank[0] if same_rank else "missed"
            continue
        fault["seen_as"] = fault["kind"]
        starts = [f["first_step"] for f in match if f.get("first_step") is not None]
        ends = [f["last_step"] for f in match if f.get("last_step") is not None]
        if starts and ends and fault["kind"] not in STOPPING:
            fault["steps_right"] = (abs(min(starts) - fault["first_step"]) <= 1
                                    and abs(max(ends) - fault["last_step"]) <= 1)
        if fault["tag"] is not None and fault["kind"] not in STOPPING and result["dialect"] in TAGGED:
            fault["tag_right"] = any(f.get("tag") == fault["tag"] for f in match)
        lost = sum(f.get("lost_us") or 0 for f in match)
        if fault["lost_us"]:
            fault["lost_right"] = abs(lost - fault["lost_us"]) <= 0.25 * fault["lost_us"]


def share(part, whole):
    return f"{part}/{whole} ({100 * part / whole:.1f} %)" if whole else "-"


def table(title, rows, heads):
    print(f"\n{title}")
    cells = [heads] + [[str(c) for c in row] for row in rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(heads))]
    for row in cells:
        print("  " + "  ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths))))


def by_key(results, name, key):
    groups = collections.defaultdict(list)
    for result in results:
        groups[key(result)].append(result)
    rows = []
    for group, members in sorted(groups.items(), key=lambda item: str(item[0])):
        wanted = sum(len(r["wanted"]) for r in members)
        found = sum(len(r["wanted"] & r["got"]) for r in members)
        clean = [r for r in members if not r["truth"]["faults"]]
        rows.append([group, len(members), share(sum(r["exact"] for r in members), len(members)),
                     share(found, wanted), sum(len(r["wrong"]) for r in members),
                     f"{sum(bool(r['got']) for r in clean)}/{len(clean)}"])
    table(f"by {name}", rows, [name, "jobs", "exact", "recall", "false findings", "clean jobs with an accused rank"])


def coverage(result):
    """What the traces of a job can show, for the table of faults found."""
    kind_of_trace = family(result["dialect"])
    if kind_of_trace.startswith("Inspector"):
        return "Inspector with lost operations" if result["truth"]["lost_operations"] else "Inspector complete"
    return "Chrome with kernel times" if kind_of_trace == "full" else "the network only (chrome-v1 to v3)"


def length_of(fault):
    if fault["kind"] in STOPPING:
        return "stops the job"
    steps = fault["last_step"] - fault["first_step"] + 1
    return "3 steps and more" if steps > 2 else "2 steps" if steps == 2 else "1 step"


def print_lengths(results):
    counts = collections.defaultdict(list)
    for result in results:
        for fault in result["truth"]["faults"]:
            if fault["visible"] and (fault["kind"] in STOPPING or fault["lost_percent"] >= 10):
                for row in (coverage(result), "all"):
                    for column in (length_of(fault), "all"):
                        counts[row, column].append(fault["found"])
    columns = ["1 step", "2 steps", "3 steps and more", "stops the job", "all"]
    rows = [[row] + [share(sum(counts[row, column]), len(counts[row, column])) for column in columns]
            for row in COVERAGES + ["all"]]
    table("the same, by trace and duration of the fault", rows, ["", *columns])


def print_buckets(results):
    faults = [f for r in results for f in r["truth"]["faults"] if f["visible"]]
    rows = []
    for name in [b[1] for b in BUCKETS] + ["stops the job"]:
        members = [f for f in faults if bucket_of(f) == name]
        if members:
            rows.append([name, len(members), share(sum(f["found"] for f in members), len(members))])
    table("recall by cost of the fault, in % of a step, over its steps", rows, ["cost", "faults", "found"])
    large = [f for f in faults if f["kind"] in STOPPING or f["lost_percent"] >= 10]
    print(f"\nrecall for faults of 10 % of a step or more: {share(sum(f['found'] for f in large), len(large))}")
    print_lengths(results)
    return sum(f["found"] for f in large) / len(large) if large else 1.0


def print_confusion(results):
    counts = collections.Counter()
    for result in results:
        counts.update((f["kind"], f["seen_as"]) for f in result["truth"]["faults"] if is_demanded(f))
        counts.update(("nothing", kind) for rank, kind in result["wrong"]
                      if rank not in {f["rank"] for f in result["truth"]["faults"]})
    columns = KINDS + ["missed"]
    rows = [[kind] + [counts[kind, column] or "." for column in columns] for kind in KINDS + ["nothing"]]
    table("planted (rows) and found on that rank (columns)", rows, ["", *columns])


def print_details(results):
    found = [f for r in results for f in r["truth"]["faults"] if f["found"] and is_demanded(f)]
    for name, key in (("first and last step within one", "steps_right"), ("phase", "tag_right"),
                      ("lost time within 25 %", "lost_right")):
        known = [f for f in found if key in f]
        print(f"{name}: {share(sum(f[key] for f in known), len(known))}")


def print_rules(results):
    """Two simple rules, applied to the simulator's own log, on jobs with exactly one fault that must be found and that do
    not stop.
    """
    single = [r for r in results if len(r["truth"]["faults"]) == 1
              and r["truth"]["faults"][0]["kind"] not in STOPPING and is_demanded(r["truth"]["faults"][0])]
    if not single:
        return
    hits = collections.Counter()
    for result in single:
        truth = result["truth"]
        rank = truth["faults"][0]["rank"]
        hits["last"] += max(range(truth["ranks"]), key=lambda r: truth["times_last"][r]) == rank
        hits["short"] += max(range(truth["ranks"]), key=lambda r: truth["shorter_us"][r]) == rank
        hits["tool"] += {k[0] for k in result["got"]} == {rank}
    print(f"\nculprit named, jobs with one fault ({len(single)}):")
    print(f"  rule 1: the rank that arrived last most often:            {share(hits['last'], len(single))}")
    print(f"  rule 2: the rank with the shortest durations:             {share(hits['short'], len(single))}")
    print(f"  ncclprof diagnose: the rank at fault and no other:        {share(hits['tool'], len(single))}")


def print_failures(options, results):
    for result in results:
        if result["error"] is None and result["exact"]:
            continue
        command = shlex.join(["build/simulate", *result["args"], "-o", f"/tmp/job{result['number']}"])
        print(f"\njob {result['number']}: {result['error'] or ''}")
        print(f"  {command}")
        if result["error"] is None:
            for fault in result["truth"]["faults"]:
                print(f"  planted {fault['kind']} on {fault['rank']} tag {fault['tag']} steps {fault['first_step']}-"
                      f"{fault['last_step']} lost {fault['lost_us']} us ({fault['lost_percent']} % of a step)")
            for f in result["findings"]:
                print(f"  found   {f['kind']} on {f['rank']} tag {f.get('tag')} steps {f.get('first_step')}-"
                      f"{f.get('last_step')} lost {f.get('lost_us')} us, {f['confidence']}")
        if options.keep_failures:
            kept = os.path.join(options.keep_failures, f"job{result['number']}")
            shutil.rmtree(kept, ignore_errors=True)
            shutil.move(result["work"], kept)


def play_all(options, jobs):
    """The results in the order of the jobs, with the score of each job that could be scored."""
    results = []
    with concurrent.futures.ThreadPoolExecutor(options.parallel) as pool:
        for result in pool.map(lambda job: run_job(options, job), jobs):
            if result["error"] is None:
                judge(result)
            if not options.keep_failures or (result["error"] is None and result["exact"]):
                shutil.rmtree(result["work"], ignore_errors=True)
            results.append(result)
            if sys.stderr.isatty():
                print(f"\r{len(results)}/{len(jobs)}", end="", file=sys.stderr)
    return results


def seen_by(job, dialect):
    """The same job with everything recorded, without the losses of some recorders."""
    args, kept = list(job["args"]), []
    while args:
        option = args.pop(0)
        if option == "--drop":
            args.pop(0)
        elif option == "--dialect":
            args[0] = dialect
            kept.append(option)
        else:
            kept.append(option)
    return dict(job, dialect=dialect, args=kept)


def witness_row(name, results):
    right = sum(len(r["got"] - r["wrong"]) for r in results)
    wrong = sum(len(r["wrong"]) for r in results)
    found = sum(len(r["wanted"] & r["got"]) for r in results)
    faults = [f for r in results for f in r["truth"]["faults"] if f["visible"]]
    stops = [f["found"] for f in faults if f["kind"] in STOPPING]
    slow = [f["found"] for f in faults if f["kind"] not in STOPPING and f["lost_percent"] >= 10]
    clean = [r for r in results if not r["truth"]["faults"]]
    return [name, share(right, right + wrong), share(found, sum(len(r["wanted"]) for r in results)),
            share(sum(slow), len(slow)), share(sum(stops), len(stops)),
            f"{sum(bool(r['got']) for r in clean)}/{len(clean)}", share(sum(r["exact"] for r in results), len(results))]


def print_witnesses(options, jobs):
    """The results of each recorder, and whether all jobs could be simulated."""
    rows, wrong, broken = [], [], 0
    for name, dialect in WITNESSES.items():
        results = play_all(options, [seen_by(job, dialect) for job in jobs])
        broken += sum(r["error"] is not None for r in results)
        wrong += [r for r in results if r["error"] is not None or r["wrong"] or options.verbose]
        rows.append(witness_row(name, [r for r in results if r["error"] is None]))
    print_failures(options, wrong)
    table(f"the same jobs, as each witness sees them alone ({len(jobs)} each; above: whose accusations are wrong)", rows,
          ["witness", "precision", "recall of what it can show", "10 % of a step and more", "stops the job",
           "clean jobs with an accused rank", "exact"])
    return broken


def selected(job, only):
    for key, value in only.items():
        if key == "kind":
            if value not in (job["kinds"] or ["none"]):
                return False
        elif str(job[key]) != value:
            return False
    return True


def parse_arguments():
    here = os.path.dirname(os.path.abspath(__file__))
    build = os.path.normpath(os.path.join(here, "..", "..", "build"))
    parser = argparse.ArgumentParser(description="scores ncclprof diagnose on simulated jobs")
    parser.add_argument("--jobs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first job")
    parser.add_argument("--ranks", type=int, metavar="N", help="large jobs with N ranks each; a multiple of 128")
    parser.add_argument("--only", default="", help="KEY=VALUE,...: shape, dialect, kind, ranks")
    parser.add_argument("--keep-failures", metavar="DIR")
    parser.add_argument("--parallel", type=int, default=2)
    parser.add_argument("--noise", metavar="X|even", help="noise of the simulator (default: that of recorded healthy jobs)")
    parser.add_argument("--simulate", default=os.path.join(build, "simulate"))
    parser.add_argument("--ncclprof", default=os.environ.get("NCCLPROF", os.path.join(build, "ncclprof")))
    parser.add_argument("--json", metavar="FILE", help="also write the figures to FILE")
    parser.add_argument("--situations", metavar="all|NAME,...", help="simulate these instead of random jobs (situations.py)")
    parser.add_argument("--study", type=int, metavar="N", help="N jobs of the study of costs, recorders, onsets (study.py); "
                        "--only takes fault, recorder, shape, onset, cost=strong|weak")
    parser.add_argument("--recorder", type=study.recorders_in, default=[], metavar="all|NAME,...",
                        help="for the study: record all jobs by these, in turn: " + ", ".join(study.ALONE))
    parser.add_argument("--drops", type=lambda text: text.split(","), default=[], metavar="SHARE[,...]",
                        help="for the study: recorders that lose operations lose these shares, job by job in turn")
    parser.add_argument("--traces", metavar="DIR", help="for the study: keep the traces of all jobs there for other runs")
    parser.add_argument("--situation-seeds", type=int, default=100, metavar="N", help="at most N jobs of each situation and shape")
    parser.add_argument("--witness-jobs", type=int, default=100, metavar="N",
                        help="simulate the first N jobs again for each recorder alone; 0: none")
    parser.add_argument("--witnesses-alone", action="store_true", help="only the recorders alone, with all jobs")
    parser.add_argument("--verbose", action="store_true", help="for situations, recorders and the study: print the findings of each job")
    parser.add_argument("--min-precision", type=float, default=0.0)
    parser.add_argument("--min-recall", type=float, default=0.0, help="for faults of 10 %% of a step or more")
    return parser.parse_args()


def main():
    options = parse_arguments()
    if options.situations:
        return situations.main(options)
    if options.study:
        for directory in filter(None, (options.keep_failures, options.traces)):
            os.makedirs(directory, exist_ok=True)
        return study.main(options)
    only = dict(item.split("=", 1) for item in options.only.split(",") if item)
    jobs, number = [], options.first
    while len(jobs) < options.jobs and number < options.first + 200 * options.jobs:
        job = draw_job(options.seed, number, options.ranks)
        job["args"] += ["--noise", options.noise] if options.noise else []
        if selected(job, only):
            jobs.append(job)
        number += 1
    if options.keep_failures:
        os.makedirs(options.keep_failures, exist_ok=True)
    if options.witnesses_alone:
        return int(bool(print_witnesses(options, jobs)))
    status = summarise(options, play_all(options, jobs))
    broken = print_witnesses(options, jobs[:options.witness_jobs]) if options.witness_jobs else 0
    return int(bool(status or broken))


def summarise(options, results):
    print_failures(options, results)
    broken = [r for r in results if r["error"] is not None]
    results = [r for r in results if r["error"] is None]
    if not results:
        print("no job could be scored")
        return 1
    right = sum(len(r["got"] - r["wrong"]) for r in results)
    wrong = sum(len(r["wrong"]) for r in results)
    wanted = sum(len(r["wanted"]) for r in results)
    found = sum(len(r["wanted"] & r["got"]) for r in results)
    clean = [r for r in results if not r["truth"]["faults"]]
    by_key(results, "shape", lambda r: r["shape"])
    by_key(results, "dialect", lambda r: r["dialect"])
    by_key(results, "kind of trace", lambda r: family(r["dialect"]))
    by_key(results, "ranks", lambda r: f"{r['ranks']:4d}")
    by_key(results, "planted", lambda r: "+".join(sorted(r["kinds"])) if len(r["kinds"]) < 2 else "several")
    print_confusion(results)
    recall_large = print_buckets(results)
    print_details(results)
    print_rules(results)
    precision = right / (right + wrong) if right + wrong else 1.0
    print(f"\nprecision {share(right, right + wrong)}   recall {share(found, wanted)}   "
          f"exact {share(sum(r['exact'] for r in results), len(results))}")
    print(f"clean jobs with an accused rank: {share(sum(bool(r['got']) for r in clean), len(clean))}; could not be scored: {len(broken)}")
    slow = max(results, key=lambda r: r["ingest_s"] + r["diagnose_s"])
    print(f"slowest: job {slow['number']}, ingest {slow['ingest_s']:.1f} s, diagnose {slow['diagnose_s']:.1f} s")
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"precision": precision, "recall": found / wanted if wanted else 1.0, "recall_10": recall_large,
                       "jobs": len(results), "broken": len(broken)}, file)
    return int(bool(broken) or precision < options.min_precision or recall_large < options.min_recall)


if __name__ == "__main__":
    sys.exit(main())
