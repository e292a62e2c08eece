#!/usr/bin/env python3
"""Scores the answers of a tool on the corpus: score.py ANSWERS.json [--verbose] [--json FILE]. README.md says what is in it.

ANSWERS.json: {job: [{"kind": ..., "ranks": [...], "candidates": false, "first_step": ..., "last_step": ...}, ...], ...}. An
empty list says that nothing is wrong; a job that is absent was not judged. `candidates`: one of `ranks` is at fault, the tool does
not know which. `kind` may be null: the tool names ranks only. Steps may be absent or null.

Needs Python's standard library only, and none of ncclprof.
"""

import argparse
import collections
import json
import sys
from pathlib import Path

JOBS = Path(__file__).resolve().parent / "jobs"
KINDS = {"compute", "host", "network", "missing", "mismatch", "ended", None}
VERDICTS = ["exact", "kind", "part", "silent", "wrong", "not judged"]
MOST_CANDIDATES = 4


def read_truths(folder=JOBS):
    return {path.parent.name: json.loads(path.read_text()) for path in sorted(folder.glob("*/truth.json"))}


def matches(answer, fault):
    """"exact" if the answer names the fault, "part" if it names some of its ranks or leaves open more than needed, "no" otherwise."""
    ranks, culprits, accepted = set(answer["ranks"]), set(fault["ranks"]), fault["accepted"]
    if not answer.get("candidates"):
        if any(ranks == set(group) for group in accepted["exact"]):
            return "exact"
        return "part" if ranks and ranks <= set(accepted["part"]) else "no"
    if not ranks & culprits:
        return "no"
    few = len(ranks) <= MOST_CANDIDATES and any(ranks <= set(group) for group in accepted["candidates"])
    return "exact" if few or ranks == culprits else "part"


def is_at_its_steps(answer, fault):
    """Whether the interval of the answer and that of the fault share more than half of the steps that either has; None: no steps."""
    first, last = answer.get("first_step"), answer.get("last_step")
    if first is None or last is None:
        return None
    both = min(last, fault["last_step"]) - max(first, fault["first_step"]) + 1
    either = max(last, fault["last_step"]) - min(first, fault["first_step"]) + 1
    return 2 * max(both, 0) >= either


def judge_fault(answers, fault):
    """(verdict, whether the steps are right) of one fault, by the answers that name it or part of it."""
    mine = [(answer, matches(answer, fault)) for answer in answers]
    mine = [(answer, match) for answer, match in mine if match != "no"]
    if not mine:
        return "silent", None
    named = set().union(*(answer["ranks"] for answer, _ in mine if not answer.get("candidates")))
    if not any(match == "exact" for _, match in mine) and not named >= set(fault["ranks"]):
        return "part", None
    steps = [at for at in (is_at_its_steps(answer, fault) for answer, _ in mine) if at is not None]
    is_kind_right = any(answer["kind"] in fault["accepted"]["kinds"] for answer, _ in mine)
    return "exact" if is_kind_right else "kind", any(steps) if steps else None


def judge(truth, answers):
    """(verdict, whether the steps are right) of a job. `answers` is None if the tool could not judge it."""
    if answers is None:
        return "not judged", None
    faults = truth["faults"]
    if any(all(matches(answer, fault) == "no" for fault in faults) for answer in answers):
        return "wrong", None
    required = [fault for fault in faults if fault["required"]]
    if not required:
        return "exact", None  # Silent, or on a fault that need not be found.
    verdicts = [judge_fault(answers, fault) for fault in required]
    names = {verdict for verdict, _ in verdicts}
    steps = [at for _, at in verdicts if at is not None]
    if names <= {"exact", "kind"}:
        return "kind" if "kind" in names else "exact", all(steps) if steps else None
    return ("silent" if names == {"silent"} else "part"), None


def check(truths, answers):
    """Complains about answers that the scorer would misread."""
    for job, rows in answers.items():
        if job not in truths:
            sys.exit(f"score.py: no job is named {job!r}")
        for row in rows:
            if row.get("kind") not in KINDS or not isinstance(row.get("ranks"), list):
                sys.exit(f"score.py: {job}: an answer has a kind of {sorted(filter(None, KINDS))} or null, and a list of ranks; not {row}")
            row.setdefault("kind", None)


def class_of(truth):
    if not truth["faults"]:
        return "healthy"
    return "faults" if any(fault["required"] for fault in truth["faults"]) else "faults of little cost"


def tables(truths, verdicts):
    """Rows by class of job; and those with faults by recorder and by kind."""
    groups = collections.defaultdict(collections.Counter)
    for job, truth in truths.items():
        verdict = verdicts[job][0]
        groups[class_of(truth)][verdict] += 1
        if class_of(truth) == "faults":
            groups[f"faults, {truth['made']}, {truth['recorder']}"][verdict] += 1
            for kind in {fault["kind"] for fault in truth["faults"]}:
                groups[f"faults, {kind}"][verdict] += 1
    return [[name, sum(counts.values()), *(counts[verdict] or "." for verdict in VERDICTS)] for name, counts in sorted(groups.items())]


def text_of(rows):
    said = [f"{row['kind'] or 'fault'} of {'one of ' if row.get('candidates') else ''}{row['ranks']}" for row in rows or []]
    return "; ".join(said) or "nothing"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("answers", type=Path)
    parser.add_argument("--json", type=Path, help="write the verdicts there: {job: verdict}")
    options = parser.parse_args()
    truths, answers = read_truths(), json.loads(options.answers.read_text())
    check(truths, answers)
    verdicts = {job: judge(truth, answers.get(job)) for job, truth in truths.items()}
    for job, (verdict, at) in verdicts.items():
        truth = "; ".join(f"{fault['kind']} of {fault['ranks']}" + ("" if fault["required"] else " (need not be found)")
                          for fault in truths[job]["faults"]) or "healthy"
        steps = {None: "", True: ", steps right", False: ", steps not right"}[at]
        print(f"{job}: {verdict}{steps}. Truth: {truth}. Answer: {text_of(answers.get(job))}")
    print("\n| jobs | number | " + " | ".join(VERDICTS) + " |\n" + "| --- " * (len(VERDICTS) + 2) + "|")
    for row in tables(truths, verdicts):
        print("| " + " | ".join(map(str, row)) + " |")
    if options.json:
        options.json.write_text(json.dumps({job: verdict for job, (verdict, _) in verdicts.items()}, indent=0) + "\n")


if __name__ == "__main__":
    main()
