#!/usr/bin/env python3
"""Switches the rules of diagnose off, one by one, and reports how its answers change.

usage: ablation.py [--jobs N] [--seed S] [--first N] [--parallel N] [--labelled DIR] [--keep DIR] [--json FILE]
                   [--simulate PATH] [--ncclprof PATH] [--print-rules PATH]

The jobs are those of eval.py, each in three versions: complete, with the file of one rank removed, and with one file
truncated. Each is ingested once. DIR of --labelled has recorded runs, one folder each, with a label.json:
{"inject": "compute:2:6:9:8000", ...}; several faults are joined by "+", and "none" is a healthy run. Wrong and missed
findings are defined as in eval.py. For runs with lost files only the differences are meaningful, because the lost file
may have contained the planted fault.

A rule is switched off (NCCLPROF_RULES_OFF) only on jobs in which a finding would have higher confidence without it: on
all other jobs the answer is the same, by the definition of a rule. `crowd` and `shared-network` depend on other findings,
so they are switched off wherever they limit a finding.
"""
import argparse
import concurrent.futures
import copy
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import eval as jobs  # noqa: E402

SURE = ["low", "medium", "high"]
AFTERWARDS = {"crowd", "shared-network"}
KIND_OF_LABEL = {"compute": "compute", "cpu": "host", "every": "host", "net": "network", "pause": "network"}
STOPPED = {"missing", "ended_early", "mismatch", "error"}
SETS = ["whole", "removed", "cut", "recorded"]


def diagnose(options, store, off=()):
    """The findings; None if there is no answer."""
    environment = dict(os.environ, NCCLPROF_RULES_OFF=",".join(off))
    done = subprocess.run([options.ncclprof, "--store", store, "diagnose", "--format", "json"], capture_output=True, text=True,
                          env=environment, timeout=600)
    return json.loads(done.stdout)["findings"] if done.returncode in (0, 3) else None


def ingest(options, store, *paths):
    done = subprocess.run([options.ncclprof, "--store", store, "ingest", "-q", *paths], capture_output=True, timeout=600)
    return done.returncode in (0, 1)


def lose(job, variant, traces):
    """Removes the file of one rank, or truncates a file."""
    rng = random.Random(f"{job['number']}/{variant}")
    path = os.path.join(traces, rng.choice(sorted(os.listdir(traces))))
    if variant == "removed":
        os.unlink(path)
    elif variant == "cut":
        os.truncate(path, int(os.path.getsize(path) * rng.uniform(0.4, 0.9)))


def make(options, job):
    """The stores of a simulated job: [(set, its truth and parameters, store)]."""
    work = tempfile.mkdtemp(prefix="ncclprof-ablation-")
    traces = os.path.join(work, "traces")
    made = []
    try:
        subprocess.run([options.simulate, *job["args"], "-o", traces], capture_output=True, check=True, timeout=600)
        with open(os.path.join(traces, "truth.json")) as file:
            truth = json.load(file)
        os.unlink(os.path.join(traces, "truth.json"))
        for variant in SETS[:3]:
            copied = os.path.join(work, variant)
            shutil.copytree(traces, copied)
            lose(job, variant, copied)
            store = os.path.join(options.keep, f"{variant}-{options.seed}-{job['number']}.db")
            if (os.path.exists(store) or ingest(options, store, copied)) and os.path.exists(store):
                made.append((variant, dict(job, truth=truth), store))
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return made


def pairs_of(label):
    """{(rank, kind)} of a label. All kinds in which a job stops count as equal."""
    faults = [part.split(":") for part in label.split("+")] if label not in ("none", "abstain", None) else []
    return {(int(fault[1]), KIND_OF_LABEL.get(fault[0], "stopped")) for fault in faults}


def recorded(options):
    """The stores of recorded runs."""
    for name in sorted(os.listdir(options.labelled)) if options.labelled else ():
        folder, store = os.path.join(options.labelled, name), os.path.join(options.keep, f"recorded-{name}.db")
        if not os.path.exists(os.path.join(folder, "label.json")):
            continue
        with open(os.path.join(folder, "label.json")) as file:
            label = json.load(file)
        part = next((part for part in ("plugin", "insp") if os.path.isdir(os.path.join(folder, part))), None)
        paths = [os.path.join(folder, part)] if part else [
            os.path.join(folder, file) for file in sorted(os.listdir(folder)) if file.startswith("dump")]
        if paths and (os.path.exists(store) or ingest(options, store, *paths)):
            optional = pairs_of(label.get("optional"))
            yield "recorded", {"wanted": pairs_of(label.get("of_plugin", label["inject"])) - optional, "optional": optional}, store


def judged(case, findings):
    """{"exact", "wrong", "missed", "sure", "sure_wrong"}: exact jobs; wrong findings; missed faults; findings of high
    confidence, and wrong ones among them.
    """
    of_set, truth, _ = case
    findings = copy.deepcopy(findings)
    if of_set == "recorded":
        strong = [finding for finding in findings if finding["confidence"] != "low"]
        key = {id(f): (f["rank"], "stopped" if f["kind"] in STOPPED else f["kind"]) for f in strong}
        wanted, optional = truth["wanted"], truth["optional"]
    else:
        result = dict(copy.deepcopy(truth), findings=findings)
        jobs.judge(result)
        strong = result["strong"]
        key = {id(f): (f["rank"], f["kind"]) for f in strong}
        wanted = result["wanted"]
        optional = {(f["rank"], f["kind"]) for f in result["truth"]["faults"]} - wanted
    got = set(key.values())
    high = {key[id(f)] for f in strong if f["confidence"] == "high"}
    wrong, missed = got - wanted - optional, wanted - got
    return {"exact": int(not wrong and not missed), "wrong": len(wrong), "missed": len(missed), "high": len(high),
            "wrong_high": len(high - wanted - optional)}


def allowed(finding, without):
    return min((rule["at_most"] for rule in finding["rules"] if rule["speaks"] and rule["name"] not in without), key=SURE.index,
               default="high")


def matters(rules, findings):
    """Whether a finding would have higher confidence without these rules, or other findings may depend on one of the rules."""
    return any(rule["speaks"] and rule["name"] in rules & AFTERWARDS for finding in findings for rule in finding["rules"]) or any(
        allowed(finding, AFTERWARDS) != allowed(finding, AFTERWARDS | rules) for finding in findings)


def ablate(options, names, case):
    """The answer with all rules, the findings that each rule limits, and what changes without it."""
    findings = diagnose(options, case[2])
    if findings is None:
        return None
    whole = judged(case, findings)
    without = {name: judged(case, diagnose(options, case[2], [name])) for name in names if matters({name}, findings)}
    spoke = {name: sum(rule["speaks"] and rule["name"] == name for finding in findings for rule in finding["rules"])
             for name in names}
    return case[0], whole, without, spoke, (case, findings)


def sums(answers, names):
    """[(rule, number of findings that it limits, jobs on which it was switched off, {set: {figure: difference}})]."""
    rows = []
    for name in names:
        change = {of_set: dict.fromkeys(("exact", "wrong", "missed", "high", "wrong_high"), 0) for of_set in SETS}
        for of_set, whole, without, *_ in answers:
            for figure, value in without.get(name, whole).items():
                change[of_set][figure] += value - whole[figure]
        rows.append((name, sum(answer[3][name] for answer in answers), sum(name in answer[2] for answer in answers), change))
    return rows


def idle_of(rows):
    return [name for name, _, _, change in rows if not any(value for figures in change.values() for value in figures.values())]


def needless(options, answers, rows):
    """The largest set of rules that changes nothing together, among those that change nothing alone. Rules that limit the
    fewest findings are tried first.
    """
    off, often = set(), {name: speaks for name, speaks, *_ in rows}
    for name in sorted(idle_of(rows), key=lambda rule: often[rule]):
        trial = off | {name}
        if all(judged(case, diagnose(options, case[2], sorted(trial))) == whole
               for _, whole, _, _, (case, findings) in answers if matters(trial, findings)):
            off = trial
    return sorted(off)


def show(options, answers, rows):
    for of_set in SETS:
        members = [whole for kind, whole, *_ in answers if kind == of_set]
        if members:
            print(f"{of_set}: {len(members)} jobs, {sum(m['exact'] for m in members)} exact, {sum(m['wrong'] for m in members)} wrong, "
                  f"{sum(m['missed'] for m in members)} missed; {sum(m['high'] for m in members)} of high confidence, of them "
                  f"{sum(m['wrong_high'] for m in members)} wrong")
    cells = [[name, speaks, tried] + [" ".join(f"{change[of_set][figure]:+d}" for figure in change[of_set]) if any(
        change[of_set].values()) else "." for of_set in SETS] for name, speaks, tried, change in rows]
    jobs.table("without a rule: exact, wrong, missed, high, wrong among those", cells, ["rule", "speaks", "alone in"] + SETS)
    print(f"\nchange nothing ({len(idle_of(rows))} of {len(rows)}): {' '.join(idle_of(rows))}")
    print(f"limit no finding: {' '.join(name for name, speaks, *_ in rows if not speaks)}")
    together = needless(options, answers, rows)
    print(f"change nothing if all are off together ({len(together)}): {' '.join(together)}")


def parse_arguments():
    build = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "build"))
    parser = argparse.ArgumentParser(description="what each rule of diagnose does")
    parser.add_argument("--jobs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first job")
    parser.add_argument("--parallel", type=int, default=2)
    parser.add_argument("--labelled", metavar="DIR", help="recorded runs")
    parser.add_argument("--keep", metavar="DIR", help="keep the stores in DIR, and use stores that are already there")
    parser.add_argument("--json", metavar="FILE", help="also write the table to FILE")
    parser.add_argument("--simulate", default=os.path.join(build, "simulate"))
    parser.add_argument("--ncclprof", default=os.environ.get("NCCLPROF", os.path.join(build, "ncclprof")))
    parser.add_argument("--print-rules", default=os.path.join(build, "print_rules"))
    return parser.parse_args()


def main():
    options = parse_arguments()
    kept = options.keep
    options.keep = kept or tempfile.mkdtemp(prefix="ncclprof-ablation-")
    os.makedirs(options.keep, exist_ok=True)
    names = [rule["name"] for rule in json.loads(subprocess.run([options.print_rules], capture_output=True, text=True,
                                                                check=True).stdout)["rules"]]
    drawn = [jobs.draw_job(options.seed, options.first + number) for number in range(options.jobs)]
    try:
        with concurrent.futures.ThreadPoolExecutor(options.parallel) as pool:
            cases = [case for made in pool.map(lambda job: make(options, job), drawn) for case in made] + list(recorded(options))
            answers = [answer for answer in pool.map(lambda case: ablate(options, names, case), cases) if answer]
        rows = sums(answers, names)
        show(options, answers, rows)
    finally:
        if not kept:
            shutil.rmtree(options.keep, ignore_errors=True)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(rows, file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
