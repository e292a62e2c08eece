#!/usr/bin/env python3
"""Runs ncclprof compare on pairs of simulated jobs: how often it reports a difference between two clean runs, and how often
it finds a planted difference.

usage: compare.py [--pairs N] [--planted N] [--seed S] [--parallel N] [--keep DIR]
                  [--network-noise PERCENT] [--most-claims PERCENT] [--verbose] [--simulate PATH] [--ncclprof PATH]

Pair i of seed s is always the same. Both jobs of a pair have the same shape and size and differ in the seed of all noise.
Clean pairs have the noise of recorded healthy jobs (tests/gen/simulate_noise.c), or jitter only. In planted pairs, B has
more GPU work in all steps after the warm-up, by a percentage of a step: on all ranks (step), on all ranks in one phase
(phase), or on one rank (rank). A step counts as found if compare reports that it is longer, or own time of all ranks; a
phase if compare names it; a rank if compare names it, by its own time or as a finding. The truth comes only from the
parameters of the simulator.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

import eval as single

SIZES = [3, 5, 10]
KINDS = ["step", "phase", "rank"]
STEPS = {10: 2, 14: 2, 20: 3, 40: 3, 100: 2}
NOISES = {"1": 4, "even": 1}
MOST_RANKS = 32


def draw_shape(rng):
    while True:
        shape, ranks, args = single.draw_shape(rng)
        actual = int(args[args.index("--ranks") + 1])
        if actual <= MOST_RANKS:
            return shape, actual, args


def draw_pair(options, what, number):
    """Arguments of both simulated jobs, and of the difference planted in the second."""
    rng = random.Random(f"{options.seed}/{what}/{number}")
    shape, ranks, args = draw_shape(rng)
    steps = single.choose(rng, STEPS)
    noise = single.choose(rng, NOISES)
    args = args + ["--steps", str(steps), "--noise", noise, "--dialect", "chrome-v7"]
    seeds = [rng.randrange(1 << 30) for _ in range(2)]
    pair = {"what": what, "number": number, "shape": shape, "ranks": ranks, "steps": steps, "noise": noise, "fault": []}
    if what != "clean":
        kind, size = what.split()
        alone = "--dp" in args and args[args.index("--dp") + 1] == "1"
        phases = [p for p in single.PHASES[shape] if p in ("forward", "backward") or (p == "optimizer" and not alone)]
        pair["phase"] = rng.choice(phases) if kind == "phase" else "*"
        pair["rank"] = rng.randrange(ranks)
        who = str(pair["rank"]) if kind == "rank" else f"0-{ranks - 1}"
        pair["fault"] = ["--fault", f"compute:{who}:0:{steps - 1}:{size}%:{pair['phase']}"]
    pair["args"] = [args + ["--seed", str(seed)] for seed in seeds]
    return pair


def make_store(options, args, work, store):
    """Simulates one job and ingests it. Returns the error, or None."""
    traces = os.path.join(work, "traces")
    made = subprocess.run([options.simulate, *args, "-o", traces], capture_output=True, text=True)
    if made.returncode != 0:
        return made.stderr.strip()[:200]
    os.remove(os.path.join(traces, "truth.json"))
    read = subprocess.run([options.ncclprof, "--store", store, "ingest", "-q", traces], capture_output=True, text=True)
    shutil.rmtree(traces)
    return read.stderr.strip()[:200] if read.returncode not in (0, 1) else ""


def play(options, pair):
    work = tempfile.mkdtemp(prefix="ncclprof-compare-")
    folder = os.path.join(options.keep or work, f"{pair['what']} {pair['number']}".replace(" ", "-"))
    try:
        stores = [os.path.join(folder, f"{side}.db") for side in "ab"]
        os.makedirs(folder, exist_ok=True)
        for store, args, fault in zip(stores, pair["args"], ([], pair["fault"])):
            error = "" if os.path.exists(store) else make_store(options, [*args, *fault], work, store)
            if error:
                return dict(pair, error=error)
        done = subprocess.run([options.ncclprof, "compare", "--network-noise", options.network_noise, "--format", "json",
                               *stores], capture_output=True, text=True,
                              timeout=300)
        if done.returncode != 0:
            return dict(pair, error=f"status {done.returncode}: {done.stderr.strip()[:200]}")
        answer = json.loads(done.stdout)
        return dict(pair, error=None, rows=answer["rows"], warnings=answer["warnings"])
    finally:
        shutil.rmtree(work)


def claims(result):
    return [row for row in result["rows"] if row["significant"]]


def is_seen(result, kind):
    for row in claims(result):
        worse = row["change"] is None or row["change"] > 0
        if not worse:
            continue
        if kind == "step" and (row["what"] == "step" or (row["what"] == "own" and row["key"] == "all")):
            return True
        if kind == "phase" and row["what"] in ("phase", "own_phase") and row["key"] == result["phase"]:
            return True
        if kind == "rank" and row["what"] in ("own", "finding") and row["rank"] == result["rank"]:
            return True
    return False


def accuses_others(result):
    """Ranks that compare reports as slower by themselves, although nothing was planted on them."""
    return {row["rank"] for row in claims(result) if row["what"] in ("own", "finding") and (row["change"] or 0) > 0
            and row["rank"] != result["rank"]}


def said(result):
    return [(row["what"], row["key"], row["change_percent"], row["noise_percent"], row["rule"]) for row in claims(result)]


def noise_of_steps(results):
    found = sorted(row["noise_percent"] for r in results for row in r["rows"] if row["what"] == "step" and row["noise_percent"])
    return f"{found[len(found) // 2]:.1f} %" if found else "-"


def run_all(options, what, count):
    pairs = [draw_pair(options, what, number) for number in range(count)]
    with concurrent.futures.ThreadPoolExecutor(options.parallel) as pool:
        results = list(pool.map(lambda pair: play(options, pair), pairs))
    for result in results:
        if result["error"]:
            print(f"  {what} {result['number']}: {result['error']}", file=sys.stderr)
    return [result for result in results if not result["error"]]


def print_clean(options, results):
    wrong = [result for result in results if claims(result)]
    unjudged = [r for r in results if any(row["what"] == "step" and row["significant"] is None for row in r["rows"])]
    print("| clean pairs | | |\n| --- | --- | --- |")
    print(f"| with a reported difference | {len(wrong)} of {len(results)} | {100 * len(wrong) / max(1, len(results)):.1f} % |")
    print(f"| whose steps could not be compared | {len(unjudged)} of {len(results)} | |")
    kinds = collections.Counter(row["what"] for result in wrong for row in claims(result))
    print(f"| reported differences by kind | {', '.join(f'{n} {k}' for k, n in kinds.most_common()) or 'none'} | |")
    print(f"| noise of steps, median | {noise_of_steps(results)} | |", flush=True)
    for result in wrong if options.verbose else []:
        print(f"  {result['number']} {result['shape']} {result['ranks']} ranks {result['steps']} steps noise {result['noise']}: "
              f"{said(result)}\n    {' '.join(result['args'][0])} / {result['args'][1][-1]}")


def print_planted(options, count):
    print("\n| planted | " + " | ".join(f"{size} % of a step" for size in SIZES) + " | other ranks accused |")
    print("| --- |" + " --- |" * (len(SIZES) + 1))
    for kind in KINDS:
        cells, others, all_results = [], 0, []
        for size in SIZES:
            results = run_all(options, f"{kind} {size}", count)
            seen = [result for result in results if is_seen(result, kind)]
            cells.append(f"{len(seen)} of {len(results)}")
            others += sum(bool(accuses_others(result)) for result in results) if kind == "rank" else 0
            all_results += results
            for result in results if options.verbose else []:
                if not is_seen(result, kind):
                    print(f"  missed: {kind} {size} {result['number']} {result['shape']} {result['ranks']} {result['steps']} "
                          f"{result.get('phase')} rank {result['rank']} noise {noise_of_steps([result])} {said(result)}")
        print(f"| {kind} | " + " | ".join(cells) + f" | {others if kind == 'rank' else '.'} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--planted", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--parallel", type=int, default=os.cpu_count())
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--keep", type=os.path.abspath, help="keep the stores in KEEP and use those already there, to measure changes to rules")
    parser.add_argument("--simulate", default="build/simulate", type=os.path.abspath)
    parser.add_argument("--ncclprof", default="build/ncclprof", type=os.path.abspath)
    parser.add_argument("--network-noise", default="50", help="--network-noise of compare, in percent")
    parser.add_argument("--most-claims", type=float, help="exit with 1 if a larger percentage of clean pairs has a reported difference")
    options = parser.parse_args()
    clean = run_all(options, "clean", options.pairs)
    print_clean(options, clean)
    if options.planted:
        print_planted(options, options.planted)
    wrong = sum(bool(claims(result)) for result in clean)
    return options.most_claims is not None and wrong > options.most_claims / 100 * len(clean)


if __name__ == "__main__":
    sys.exit(main())
