#!/usr/bin/env python3
"""Cut fixtures out of recorded traces, and count what is in them without any code of the project.

usage: tests/cut_fixture.py steps SOURCE TARGET --steps N [--waits K] [--gzip]
       tests/cut_fixture.py groups SOURCE... TARGET --groups N [--waits K]
       tests/cut_fixture.py lines SOURCE TARGET --lines N
       tests/cut_fixture.py count TARGET

steps   Chrome dumps (dump*) of a folder, each cut to the first N training steps: up to the N+1st tag "forward" of
        its process. --waits K keeps the first K network steps of each proxy operation (0: none at all).
groups  Chrome dumps, each cut to its first N top-level groups and the lines that belong to them.
lines   Inspector logs of a folder, the first N lines of each.
count   Prints, as JSON, the events that a reader must find in a folder, for its TRUTH file.
"""

import argparse
import collections
import glob
import gzip
import json
import os
import re
import sys

UNQUOTED = re.compile(r'": (nccl\w+|0x[0-9a-f]+)')
TAG = re.compile(r'^\{"name": "UserTag".*"ts": ([0-9.]+), "args": \{"tag": "(.*)", "rank": -?\d+\}\},$')


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    return data.decode("utf-8", "surrogateescape").splitlines()


def event(line):
    """The event on a line; None if the line has none that every JSON parser accepts."""
    line = line.strip().rstrip(",")
    if not line.startswith('{"'):
        return None
    tag = TAG.match(line + ",")
    if tag:
        return {"name": "UserTag", "cat": "USER_TAG", "ph": "i", "ts": float(tag[1]), "args": {"tag": tag[2]}}
    try:
        return json.loads(UNQUOTED.sub(r'": "\1"', line))
    except ValueError:
        return None


def top_level(lines):
    """Groups of lines that belong together: everything between a top-level begin and its end."""
    run, open_key = [], None
    for line in lines:
        found = event(line)
        if found is None:
            continue
        key = (found["cat"], found["name"], found.get("id"))
        run.append((line, found))
        if open_key is None and found["ph"] == "b":
            open_key = key
        elif open_key is None or (found["ph"] == "e" and key == open_key):
            yield run
            run, open_key = [], None
    if run:
        yield run


def thin(run, waits):
    """The lines with at most `waits` network steps in each proxy operation."""
    seen = []
    for line, found in run:
        if found["cat"] == "PROXY" and found["ph"] == "b":
            seen = []
        if found["cat"] == "NET" and waits is not None:
            if found["id"] not in seen:
                seen.append(found["id"])
            if len(seen) > waits:
                continue
        yield line


def write(path, lines, packed):
    data = "".join(line + "\n" for line in lines).encode("utf-8", "surrogateescape")
    if packed:
        path += ".gz"
        data = gzip.compress(data, 9, mtime=0)
    with open(path, "wb") as file:
        file.write(data)


def pid_of(lines):
    return next((found["pid"] for found in map(event, lines) if found and "pid" in found), None)


def step_ends(files, steps):
    """By process, the time at which its step number `steps` begins."""
    forward = collections.defaultdict(set)
    for path in files:
        lines = read(path)
        pid = pid_of(lines)
        for found in map(event, lines):
            if found and found["cat"] == "USER_TAG" and found["args"]["tag"] == "forward":
                forward[pid].add(found["ts"])
    # The tag is set on one communicator after the other, microseconds apart.
    ends = {}
    for pid, times in forward.items():
        starts = []
        for time in sorted(times):
            if not starts or time - starts[-1] > 1000:
                starts.append(time)
        ends[pid] = starts[steps] if len(starts) > steps else float("inf")
    return ends


def cut_steps(arguments):
    files = sorted(glob.glob(os.path.join(arguments.source[0], "dump*")))
    ends = step_ends(files, arguments.steps)
    for path in files:
        kept = ["["]
        lines = read(path)
        end = ends[pid_of(lines)]
        for run in top_level(lines):
            if run[0][1]["ts"] < end:
                kept.extend(thin(run, arguments.waits))
        write(os.path.join(arguments.target, os.path.basename(path)), kept + ["{}]"], arguments.gzip)


def cut_groups(arguments):
    for path in arguments.source:
        kept, groups = ["["], 0
        for run in top_level(read(path)):
            is_group = run[0][1]["cat"] in ("GROUP", "GROUP_API")
            groups += is_group
            if groups <= arguments.groups and (is_group or len(kept) < 400):
                kept.extend(thin(run, arguments.waits))
        write(os.path.join(arguments.target, os.path.basename(path)), kept + ["{}]"], False)


def cut_lines(arguments):
    for path in sorted(glob.glob(os.path.join(arguments.source[0], "*.log"))):
        write(os.path.join(arguments.target, os.path.basename(path)), read(path)[: arguments.lines], False)


def count(arguments):
    counts = collections.Counter()
    functions = collections.Counter()
    for path in sorted(glob.glob(os.path.join(arguments.source[0], "*"))):
        if os.path.basename(path) == "TRUTH":
            continue
        steps = set()
        for number, line in enumerate(read(path)):
            found = event(line)
            if found is None:
                continue
            if "coll_perf" in found or "p2p_perf" in found:
                kind = "coll" if "coll_perf" in found else "p2p"
                counts["collectives" if kind == "coll" else "p2p"] += 1
                functions[found[kind + "_perf"][kind]] += 1
            elif "proxy_trace" in found:
                counts["proxy_ops"] += found["proxy_trace"]["record_type"] == "proxy_op"
                counts["proxy_steps"] += found["proxy_trace"]["record_type"] == "proxy_step"
                counts["proxy_steps"] += len(found["proxy_trace"].get("steps", ()))
            elif "dump_stats" in found:
                counts["markers"] += 1
            elif found["ph"] == "i":
                counts["tags"] += 1
            elif found["ph"] == "b":
                if found["cat"] in ("COLL", "P2P"):
                    counts["collectives" if found["cat"] == "COLL" else "p2p"] += 1
                    functions[found["name"].replace("nccl", "")] += 1
                elif found["name"] in ("Send", "Recv", "ProgressSend", "ProgressRecv") and found["cat"] == "PROXY":
                    counts["proxy_ops"] += 1
                elif found["cat"] == "NET" and (number, found["id"]) not in steps:
                    counts["waits"] += 1
                    if found["name"] in ("RecvBufferWait", "SendBufferWait"):
                        counts["proxy_steps"] += 1
                    elif found["name"] in ("SendGpuWait", "RecvWait"):
                        counts["proxy_steps_without_buffer_wait"] += 1
                elif found["cat"] == "GPU":
                    counts["kernel_channels"] += 1
                elif found["cat"] == "PROXY" and found["name"] in ("Idle", "Sleep", "Append"):
                    counts["proxy_control_events"] += 1
    # Up to 2.26 a network step begins with its buffer wait, later with the wait that comes first there.
    newer = counts.pop("proxy_steps_without_buffer_wait", 0)
    counts["proxy_steps"] = counts["proxy_steps"] or newer
    print(json.dumps({**counts, "functions": functions}, indent=1, sort_keys=True))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["steps", "groups", "lines", "count"])
    parser.add_argument("source", nargs="+")
    parser.add_argument("--steps", type=int)
    parser.add_argument("--groups", type=int)
    parser.add_argument("--lines", type=int)
    parser.add_argument("--waits", type=int)
    parser.add_argument("--gzip", action="store_true")
    arguments = parser.parse_args()
    if arguments.what != "count":
        arguments.target = arguments.source.pop()
        os.makedirs(arguments.target, exist_ok=True)
    return {"steps": cut_steps, "groups": cut_groups, "lines": cut_lines, "count": count}[arguments.what](arguments)


if __name__ == "__main__":
    sys.exit(main())
