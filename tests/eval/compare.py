#!/usr/bin/env python3
"""Runs ncclprof compare on simulated jobs: how often it reports a difference between equal jobs, how often it finds a planted
difference, and how often its interval contains the true change.

usage: compare.py [--pairs N] [--planted N] [--repeats N] [--noise PERCENT[,...]] [--seed S] [--parallel N] [--keep DIR]
                  [--most-claims PERCENT] [--verbose] [--simulate PATH] [--ncclprof PATH]

Pair i of seed s is always the same. Its jobs have the same shape, size (2 to 16 ranks) and number of steps (12 to 60), and
differ in the seed of all noise. Noise of N % means that the levels of runs have a standard deviation of N % (the whole run
is slower or faster, normal spread), and their steps as well: the simulator's noise of recorded healthy jobs
(tests/gen/simulate_noise.c: jitter, slow periods, drift), scaled to that size. In a pair there are `--repeats` runs of A, as
many of B, an equal job, and for each of SIZES as many of B whose steps take so much longer, because all computation and all
transfers do. The true change of the step time is that of the same jobs without noise. With 1, 2, ... repeats the first runs of each side
are used. Planted work: B has more GPU work in all steps after the warm-up, by a percentage of a step: on all ranks in one phase, or
on one rank; a phase counts as found if compare names it, a rank if compare names it, by its own time or as a finding.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile

import eval as single

SIZES = [2, 5, 10]
KINDS = ["phase", "rank"]
STEPS = {12: 2, 16: 2, 20: 3, 40: 3, 60: 2}
MOST_RANKS = 16
# Chrome traces, which have links, of jobs of up to this size; Inspector logs, which are read faster, of larger ones.
MOST_RANKS_WITH_LINKS = 4
# Standard deviation of the steps with --noise 1, in percent of a step: medians of shapes from 2.0 to 2.8, busy networks 5.
SPREAD_OF_NOISE_1 = 2.4


def draw_shape(rng):
    while True:
        shape, ranks, args = single.draw_shape(rng)
        actual = int(args[args.index("--ranks") + 1])
        if actual <= MOST_RANKS:
            return shape, actual, args


def draw_pair(options, what, noise, number):
    """The arguments of all jobs of a pair without their noise."""
    rng = random.Random(f"{options.seed}/{what}/{noise}/{number}")
    shape, ranks, args = draw_shape(rng)
    steps = single.choose(rng, STEPS)
    pair = {"what": what, "number": number, "shape": shape, "ranks": ranks, "steps": steps, "noise": noise, "fault": [],
            "args": args + ["--steps", str(steps), "--dialect", "chrome-v7" if ranks <= MOST_RANKS_WITH_LINKS else "inspector-2.30"],
            "rng": rng}
    if what in KINDS:
        alone = "--dp" in args and args[args.index("--dp") + 1] == "1"
        phases = [p for p in single.PHASES[shape] if p in ("forward", "backward") or (p == "optimizer" and not alone)]
        pair["phase"] = rng.choice(phases) if what == "phase" else "*"
        pair["rank"] = rng.randrange(ranks)
        pair["who"] = str(pair["rank"]) if what == "rank" else f"0-{ranks - 1}"
    return pair


def with_noise(pair):
    """The arguments of one more run: its seed and its level."""
    level = pair["rng"].gauss(0, pair["noise"])
    return ["--noise", f"{pair['noise'] / SPREAD_OF_NOISE_1:.3f}", "--seed", str(pair["rng"].randrange(1 << 30))], level


def slower(level, size):
    return ["--slower", f"{100 * ((1 + level / 100) * (1 + size / 100) - 1):.4f}"]


def simulate(options, args, folder):
    made = subprocess.run([options.simulate, *args, "-o", folder], capture_output=True, text=True)
    if made.returncode != 0:
        raise RuntimeError(made.stderr.strip()[:200])


def step_time(options, args, work):
    folder = os.path.join(work, "exact")
    simulate(options, [*args, "--noise", "0", "--seed", "1"], folder)
    with open(os.path.join(folder, "truth.json")) as file:
        times = json.load(file)["step_us"]
    shutil.rmtree(folder)
    return statistics.median(times[2:-1])


def make_store(options, args, work, store):
    if os.path.exists(store):
        return store
    traces = os.path.join(work, "traces")
    simulate(options, args, traces)
    os.remove(os.path.join(traces, "truth.json"))
    subprocess.run([options.ncclprof, "--store", store, "ingest", "-q", traces], capture_output=True)
    shutil.rmtree(traces)
    return store


def compare(options, a, b):
    done = subprocess.run([options.ncclprof, "compare", "--format", "json", "-j", "1", "--baseline", *a, "--candidate", *b],
                          capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        raise RuntimeError(f"status {done.returncode}: {done.stderr.strip()[:200]}")
    return json.loads(done.stdout)["rows"]


def plan(options, pair, exact, sizes, work):
    """How much longer computation and transfers take for steps that are longer by each size: latencies stay the same."""
    work_of, truth_of = {}, {}
    for size in sizes if exact else []:
        if size:
            change = step_time(options, [*pair["args"], *slower(0, size)], work) / exact - 1
            work_of[size] = size * size / (100 * change)
        truth_of[size] = 100 * (step_time(options, [*pair["args"], *slower(0, work_of.get(size, 0))], work) / exact - 1)
    return work_of, truth_of


def play(options, pair, sizes):
    """The results of a pair: one per planted size and number of repeats."""
    work = tempfile.mkdtemp(prefix="ncclprof-compare-")
    folder = os.path.join(options.keep or work, f"{pair['what']}-{pair['noise']}-{pair['number']}")
    os.makedirs(folder, exist_ok=True)
    results = []
    try:
        sides = {}
        exact = step_time(options, pair["args"], work) if pair["what"] == "step" else None
        work_of, truth_of = plan(options, pair, exact, sizes, work)
        for size in ["a", *sizes]:
            sides[size] = []
            for run in range(options.repeats):
                noise, level = with_noise(pair)
                fault = ["--fault", f"compute:{pair['who']}:0:{pair['steps'] - 1}:{size}%:{pair['phase']}"] \
                    if pair["what"] in KINDS and size not in ("a", 0) else []
                sides[size].append(make_store(options, [*pair["args"], *noise, *slower(level, work_of.get(size, 0)), *fault], work,
                                              os.path.join(folder, f"{size}-{run}.db")))
        for size in sizes:
            for repeats in range(1, options.repeats + 1):
                rows = compare(options, sides["a"][:repeats], sides[size][:repeats])
                results.append(dict(pair, size=size, repeats=repeats, rows=rows, truth=truth_of.get(size)))
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        print(f"  {pair['what']} {pair['number']}: {error}", file=sys.stderr)
    finally:
        shutil.rmtree(work)
    return results


def claims(result):
    return [row for row in result["rows"] if row["significant"]]


def step_of(result):
    return next((row for row in result["rows"] if row["what"] == "step"), None)


def is_judged(result):
    return step_of(result) is not None and step_of(result)["significant"] is not None


def is_seen(result):
    for row in claims(result):
        worse = row["change"] is None or row["change"] > 0
        if worse and (row["what"] == "step" if result["what"] == "step" else
                      row["what"] in ("phase", "own_phase") and row["key"] == result["phase"] if result["what"] == "phase" else
                      row["what"] in ("own", "finding") and row["rank"] == result["rank"]):
            return True
    return False


def accuses_others(result):
    """Whether compare reports ranks as slower by themselves, although nothing was planted on them."""
    return any(row["what"] in ("own", "finding") and row["rank"] is not None and (row["change"] or 0) > 0
               and row["rank"] != result["rank"] for row in claims(result))


def contains_truth(result):
    row = step_of(result)
    return row["low"] <= result["truth"] <= row["high"]


def said(result):
    return [(row["what"], row["key"], row["change_percent"], row["noise_percent"], row["rule"]) for row in claims(result)]


def show(result):
    print(f"  {result['what']} {result['size']} {result['number']} {result['shape']} {result['ranks']} ranks {result['steps']} steps "
          f"noise {result['noise']} repeats {result['repeats']}: {said(result)}")


def run_all(options, what, noise, count, sizes):
    pairs = [draw_pair(options, what, noise, number) for number in range(count)]
    with concurrent.futures.ThreadPoolExecutor(options.parallel) as pool:
        return [result for results in pool.map(lambda pair: play(options, pair, sizes), pairs) for result in results]


def percent(some, of):
    return f"{100 * some / len(of):.1f} %" if of else "-"


def print_steps(options, noise):
    """Rows of the table of step times: one per number of repeats. Returns the equal pairs with a reported difference, and all."""
    results = run_all(options, "step", noise, options.planted, [0, *SIZES])
    beyond = max(0, options.pairs - options.planted)
    results += run_all(options, "equal", noise, beyond, [0]) if beyond else []
    wrong = total = 0
    for repeats in range(1, options.repeats + 1):
        some = [r for r in results if r["repeats"] == repeats]
        equal = [r for r in some if r["size"] == 0]
        planted = [r for r in some if r["what"] == "step" and is_judged(r)]
        false = [r for r in equal if claims(r)]
        kinds = collections.Counter(kind for r in false for kind in {row["what"] for row in claims(r)})
        cells = [f"{noise:g} %", repeats, f"{len(false)} of {len(equal)}",
                 ", ".join(f"{n} {kind}" for kind, n in kinds.most_common()) or "-"]
        for size in SIZES:
            of_size = [r for r in planted if r["size"] == size]
            cells.append(percent(sum(is_seen(r) for r in of_size), of_size))
        cells.append(percent(sum(contains_truth(r) for r in planted), planted))
        limits = [step_of(r)["detection_limit_percent"] for r in planted]
        cells.append(f"{statistics.median(limits):.1f} %" if limits else "-")
        print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)
        for result in false if options.verbose else []:
            show(result)
        wrong, total = wrong + len(false), total + len(equal)
    return wrong, total


def print_planted(options, noise):
    print("\n| planted | repeats | " + " | ".join(f"{size} % of a step" for size in SIZES) + " | other ranks accused |")
    print("| --- | --- |" + " --- |" * (len(SIZES) + 1))
    for kind in KINDS:
        results = run_all(options, kind, noise, options.planted // 2, SIZES)
        for repeats in range(1, options.repeats + 1):
            some = [r for r in results if r["repeats"] == repeats]
            cells = [f"{sum(is_seen(r) for r in some if r['size'] == size)} of {sum(r['size'] == size for r in some)}" for size in SIZES]
            others = sum(accuses_others(r) for r in some) if kind == "rank" else "."
            print(f"| {kind} | {repeats} | " + " | ".join(cells) + f" | {others} |", flush=True)
            for result in some if options.verbose else []:
                if not is_seen(result):
                    show(result)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--pairs", type=int, default=200, help="equal pairs per noise")
    parser.add_argument("--planted", type=int, default=60, help="those of them with planted differences")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each side; smaller numbers are measured, too")
    parser.add_argument("--noise", default="0.5,1,2", help="standard deviations of runs and of steps, in percent")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--parallel", type=int, default=os.cpu_count())
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--keep", type=os.path.abspath, help="keep the stores in KEEP and use those already there, to measure changes to rules")
    parser.add_argument("--simulate", default="build/simulate", type=os.path.abspath)
    parser.add_argument("--ncclprof", default="build/ncclprof", type=os.path.abspath)
    parser.add_argument("--most-claims", type=float, help="exit with 1 if a larger percentage of equal pairs has a reported difference")
    options = parser.parse_args()
    print("| noise | repeats | equal pairs with a difference | in rows | " + " | ".join(f"{size} % found" for size in SIZES) +
          " | interval right | detection limit |")
    print("| --- | --- | --- | --- |" + " --- |" * (len(SIZES) + 2))
    wrong = total = 0
    for noise in [float(text) for text in options.noise.split(",")]:
        of_noise = print_steps(options, noise)
        wrong, total = wrong + of_noise[0], total + of_noise[1]
    if options.planted > 1:
        print_planted(options, 1.0)
    return options.most_claims is not None and wrong > options.most_claims / 100 * total


if __name__ == "__main__":
    sys.exit(main())
