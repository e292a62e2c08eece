#!/usr/bin/env python3
"""The answers of ncclprof on the corpus, for score.py: answer.py ncclprof|waits-least NCCLPROF ANSWERS.json.

ncclprof: findings of medium and high confidence. waits-least: a rule without any diagnosis, for comparison: the one rank whose
operations have the shortest durations in total, since it waits least for the others.
"""

import json
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

JOBS = Path(__file__).resolve().parent / "jobs"
KIND = {"compute": "compute", "host": "host", "network": "network", "missing": "missing", "mismatch": "mismatch",
        "ended_early": "ended", "error": "ended"}
WAITS_LEAST = """SELECT rank FROM v_operation WHERE duration_us IS NOT NULL AND rank IS NOT NULL
                 GROUP BY rank ORDER BY sum(duration_us) LIMIT 1"""


def call(ncclprof, store, *words, accepted=(0,)):
    done = subprocess.run([ncclprof, "-q", "--store", store, *words], capture_output=True, text=True, check=False)
    if done.returncode not in accepted:
        raise RuntimeError(f"ncclprof {words[0]}: exit status {done.returncode}: {done.stderr.strip()[:300]}")
    return done.stdout


def answer_of(finding):
    candidates = finding["candidates"]
    ranks = candidates or finding["ranks"] or [finding["rank"]]
    return {"kind": KIND.get(finding["kind"]), "ranks": ranks, "candidates": bool(candidates), "first_step": finding["first_step"],
            "last_step": finding["last_step"]}


def diagnosed(ncclprof, store):
    said = json.loads(call(ncclprof, store, "diagnose", "--format", "json", accepted=(0, 3)))
    return [answer_of(finding) for finding in said["findings"] if finding["confidence"] != "low"]


def waits_least(ncclprof, store):
    rows = json.loads(call(ncclprof, store, "query", "--format", "json", WAITS_LEAST))
    return [{"kind": None, "ranks": [row["rank"]]} for row in rows["rows"]]


def main():
    how, ncclprof, path = {"ncclprof": diagnosed, "waits-least": waits_least}[sys.argv[1]], sys.argv[2], Path(sys.argv[3])
    answers = {}
    for archive in sorted(JOBS.glob("*/traces.tar.xz")):
        with tempfile.TemporaryDirectory() as work, tarfile.open(archive) as packed:
            packed.extractall(work)
            store = f"{work}/store.db"
            try:
                call(ncclprof, store, "ingest", f"{work}/traces", accepted=(0, 1))
                answers[archive.parent.name] = how(ncclprof, store)
            except RuntimeError as problem:
                print(f"{archive.parent.name}: {problem}", file=sys.stderr)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{\n" + ",\n".join(f"{json.dumps(job)}: {json.dumps(rows)}" for job, rows in answers.items()) + "\n}\n")


if __name__ == "__main__":
    main()
