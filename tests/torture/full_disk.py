#!/usr/bin/env python3
"""Ingests onto a full disk: a tmpfs of every size from nothing to enough.

usage: full_disk.py PROGRAM [--step KIB]

Runs in its own mount namespace; if that is not allowed, reports it and counts nothing. At each size, the ingest must end with
status 1 and report that the disk is full, the store must be intact, and the content of an earlier ingest must still be there.
With enough space, the next ingest must complete the store.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.cli.support import PATIENCE_S, trace  # noqa: E402
from tests.torture.content import check_whole, digests  # noqa: E402


def run(program, store, traces):
    return subprocess.run([program, "-q", "--store", store, "ingest", traces], capture_output=True, text=True, timeout=PATIENCE_S)


def mount(folder, kib):
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kib}k", "tmpfs", folder], check=True)


def remount(folder, kib):
    subprocess.run(["mount", "-o", f"remount,size={kib}k", folder], check=True)


def one(program, folder, disk, kib, content, first_digests):
    """What is wrong on a disk of that size; None if nothing is."""
    store = disk / "store.db"
    mount(disk, 64 << 10)
    try:
        run(program, store, folder / "first")
        used = sum(path.stat().st_blocks for path in disk.iterdir()) // 2
        remount(disk, used + kib)
        result = run(program, store, folder / "traces")
        check_whole(store)
        if result.returncode == 0:
            return "enough" if digests(store) == content else "different content of the store without an error"
        if result.returncode != 1 or "full" not in result.stderr:
            return f"exit status {result.returncode}: {result.stderr}"
        # The missing rows may be those of one file, or only those of the join, which the next reader of the store adds.
        # Files are added in whole transactions.
        remount(disk, 64 << 10)
        held = digests(store)
        odd = [name for name in ("file", "operation") if held[name] not in (first_digests[name], content[name])]
        if run(program, store, folder / "traces").returncode or digests(store) != content:
            return "the next ingest did not complete the store"
        return f"different content in {odd}" if odd else None
    finally:
        subprocess.run(["umount", disk], check=True)


def all_sizes(program, step):
    folder = Path(tempfile.mkdtemp(prefix="ncclprof-full-"))
    disk = folder / "disk"
    for name in ("first", "traces", "disk"):
        (folder / name).mkdir()
    (folder / "first/0.json").write_text(trace(rank=0, count=50))
    (folder / "traces/0.json").write_text(trace(rank=0, count=50))
    for rank in range(1, 5):
        (folder / f"traces/{rank}.json").write_text(trace(rank=rank, count=300, tags=[("forward", 10.0)]))
    whole, first = folder / "whole.db", folder / "first.db"
    run(program, first, folder / "first")
    run(program, whole, folder / "first")
    run(program, whole, folder / "traces")
    content, first_digests = digests(whole), digests(first)
    passed = failed = kib = 0
    wrong = None
    while wrong != "enough":
        wrong = one(program, folder, disk, kib, content, first_digests)
        if wrong and wrong != "enough":
            print(f"FAILED with {kib} KiB: {wrong}", flush=True)
            failed += 1
        else:
            passed += 1
        kib += step
    print(f"full disk: {passed} passed, {failed} failed")
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--step", type=int, default=16)
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        return all_sizes(os.path.abspath(options.program), options.step)
    inside = ["unshare", "--map-root-user", "--mount", sys.executable, *sys.argv, "--inside"]
    if subprocess.run([*inside[:3], "true"], capture_output=True).returncode:
        print("full disk: 0 passed, 0 failed (cannot run here: no mount namespace)")
        return 0
    return subprocess.run(inside).returncode


if __name__ == "__main__":
    sys.exit(main())
