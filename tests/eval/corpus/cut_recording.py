#!/usr/bin/env python3
"""Cuts a job that record_jobs.py recorded to its first steps, and takes out what identifies a machine: cut_recording.py JOB STEPS FOLDER.

JOB is a folder of record_jobs.py, FOLDER the folder for the trace files. The files of the bundled plugin are cut before the first
call of step STEPS; what had begun by then is kept whole. The numbers of operations at the end of each file are those that are
left. Nothing else is changed, so times, sizes and identifiers are those of the recording.
"""

import json
import re
import sys
from pathlib import Path

BEGINS, ENDS = "b", "e"
ABOUT_THE_FILE = "NCCLPROF"  # Records about the file, not about the job: kept wherever they are.
IDENTITY = re.compile(rb'("(?:boot_id|gpu_uuid)": ")(GPU-)?[0-9a-f-]{36}')


def step_begin_ns(job, rank, step):
    """When the rank began the step, by its monotonic clock; None if it did not."""
    for line in (job / f"truth.jsonl.{rank}").read_text().splitlines():
        row = json.loads(line)
        if row["step"] == step:
            return row["begin_ns"]
    return None


def events_of(path):
    """(line, event) of all events; the file is an array with one event a line."""
    for line in path.read_bytes().splitlines():
        text = line.rstrip(b", ")
        if text not in (b"[", b"]", b"{}]", b""):
            yield text, json.loads(text)


def cut_us(events, job, steps):
    """The time of the first call of step `steps` in the file."""
    process = next(event["args"] for _, event in events if event["name"] == "Process")
    rank = next(event["args"]["Rank"] for _, event in events if event["name"] == "Communicator")
    begin = step_begin_ns(job, rank, steps)
    if begin is None:
        raise ValueError(f"rank {rank} has no step {steps}")
    begin_us = (begin - process["start_monotonic_ns"]) / 1000
    return min((event["ts"] for _, event in events if event["ph"] == BEGINS and event["ts"] >= begin_us), default=float("inf"))


def neutral(text, number):
    """The line with the number of the file as the identity of its GPU, and one identity for the machine of all files."""
    def replace(found):
        return found[1] + (b"GPU-00000000-0000-0000-0000-%012d" % number if found[2] else b"00000000-0000-0000-0000-000000000000")
    return IDENTITY.sub(replace, text)


def cut(path, job, steps, number):
    """The bytes that are left of file `number` of the job."""
    events = list(events_of(path))
    end_us, open_now, kept, operations = cut_us(events, job, steps), set(), [], 0
    for text, event in events:
        key = event["name"], event["cat"], event.get("id")
        if event["ph"] == ENDS:
            if key not in open_now:
                continue
            open_now.remove(key)
        elif event["cat"] != ABOUT_THE_FILE and event["ts"] >= end_us:
            continue
        elif event["ph"] == BEGINS:
            open_now.add(key)
            operations += event["cat"] in ("COLL", "P2P")
        if event["name"] == "End":
            text = re.sub(rb'"operations": \d+', b'"operations": %d' % operations, text)
        kept.append(neutral(text, number))
    if open_now:
        raise ValueError(f"{path.name}: {len(open_now)} events do not end")
    return b"[\n" + b"".join(text + b",\n" for text in kept) + b"{}]\n"


def cut_job(job, steps, folder):
    folder.mkdir(parents=True, exist_ok=True)
    for number, path in enumerate(sorted((job / "plugin").iterdir())):
        (folder / path.name).write_bytes(cut(path, job, steps, number))


if __name__ == "__main__":
    cut_job(Path(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
