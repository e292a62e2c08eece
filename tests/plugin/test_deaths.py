#!/usr/bin/env python3
"""The traces of killed processes. usage: test_deaths.py FAKECORE PLUGIN

A fake core writes a journal of what it played: all of it except the last moment must be in the traces.
NCCLPROF_TEST_KILLS: how often a job is killed at a random time (default 2; `make check-plugin-kills` does 50).
"""

import collections
import glob
import gzip
import os
import random
import re
import signal
import struct
import sys
import time
import unittest
import zlib

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from played import LATEST_S, PluginTest, wait_until  # noqa: E402
from trace import Trace, read_bytes  # noqa: E402


def journal(path):
    """(time, hash, sequence, function) of each finished operation, as the fake core recorded it."""
    with open(path, "rb") as file:
        count, _ = struct.unpack("<QQ", file.read(16))
        return [e for e in struct.iter_unpack("<QQQ8s", file.read(count * 32)) if e[0]]


def whole_gzip(path):
    """The content of a gzip file with a proper end; nothing for a file without one."""
    try:
        with open(path, "rb") as file:
            return gzip.decompress(file.read())
    except (EOFError, OSError, zlib.error):
        return b""


def last_seen_ns(trace):
    """The end time of the last operation that the writer thread had taken, on the monotonic clock."""
    start, = trace.notes("Process")
    ends = [e["ts"] for e in trace.events if e["cat"] in ("COLL", "P2P") and e["ph"] == "e"]
    return start["args"]["start_monotonic_ns"] + int(max(ends, default=0) * 1000)


class Deaths(PluginTest):
    def check_killed(self, seconds, gzip):
        path = os.path.join(self.directory, "journal")
        # As many operations as without a sanitizer, with which more time passes.
        with self.start("--threads", "--ranks", 2, "--steps", 100000, "--op-us", 300 * LATEST_S, "--net-steps", 2,
                        "--journal", path, **({"NCCLPROF_GZIP": "1"} if gzip else {})) as process:
            wait_until(lambda: any(map(os.path.getsize, glob.glob(os.path.join(self.directory, "*.json*")))))
            time.sleep(seconds)
            process.kill()
        name, = glob.glob(os.path.join(self.directory, "*.json*"))
        trace = Trace(name, whole=False)
        found = collections.Counter((e["args"]["CommHash"], e["args"]["SeqNum"], e["name"][:8])
                                    for e in trace.events if e["cat"] == "COLL" and e["ph"] == "b")
        # Counted from the last write, not from the kill: a busy machine may delay the writing thread.
        until_ns = last_seen_ns(trace) - LATEST_S * 1000000000
        old = [e for e in journal(path) if e[0] < until_ns]
        wanted = collections.Counter((e[1], e[2], e[3].rstrip(b"\0").decode()) for e in old)
        missing = wanted - found
        self.assertFalse(missing, f"{len(missing)} of {len(wanted)}, {sorted(missing)[:3]}")
        for name in glob.glob(os.path.join(self.directory, "*")):
            os.unlink(name)
        return len(old)

    def test_kill_at_random_times(self):
        kills = int(os.environ.get("NCCLPROF_TEST_KILLS", "2"))
        seed = int(os.environ.get("NCCLPROF_TEST_SEED", time.time_ns() % 1000000))
        print(f"seed {seed}", file=sys.stderr)
        generator = random.Random(seed)
        # The first kill is late enough that there is something to check, and later on a busy machine.
        checked = sum(self.check_killed(generator.uniform(0.05 if i else 2 * LATEST_S, 3 * LATEST_S), i % 2)
                      for i in range(kills))
        seconds = 4 * LATEST_S
        while not checked and seconds < 100 * LATEST_S:
            checked = self.check_killed(seconds, 0)
            seconds *= 2
        self.assertGreater(checked, 0)

    def stops_at(self, process, text):
        """Whether its file is complete now and has the text; if not, the process continues."""
        process.send_signal(signal.SIGSTOP)
        os.waitpid(process.pid, os.WUNTRACED)
        if any(text in whole_gzip(path) for path in glob.glob(os.path.join(self.directory, "*.json.gz"))):
            return True
        process.send_signal(signal.SIGCONT)
        return False

    def test_gzip_file_is_whole_after_a_kill(self):
        """Perfetto refuses a compressed file without its end; a file with its end may leave its array open."""
        with self.start("--ranks", 2, "--rank", 1, "--hang", "1:1", NCCLPROF_GZIP="1") as process:
            self.assertEqual(process.stdout.readline(), b"hangs\n")
            # New lines are in the file a moment before their end: the process is killed while it is stopped at such a
            # moment.
            wait_until(lambda: self.stops_at(process, b"AllReduce"))
            process.kill()
        name, = glob.glob(os.path.join(self.directory, "*.json.gz"))
        text = whole_gzip(name)
        self.assertTrue(text.startswith(b"[\n") and text.endswith(b"},\n"), text[-100:])

    def pending(self):
        """The operations that traces report as pending, by process; without those that are finished but were delayed by a
        busy machine.
        """
        notes = {}
        for path in filter(os.path.getsize, glob.glob(os.path.join(self.directory, "*.json"))):
            trace = Trace(path, whole=False)
            over = {(e["name"], e["ts"]) for e in trace.events if e["cat"] in ("COLL", "P2P") and e["ph"] == "b"}
            for note in trace.notes("PendingOperation"):
                if (note["args"]["name"], note["args"]["begin"]) not in over:
                    notes.setdefault(note["pid"], []).append(note)
        return notes

    def texts(self):
        """For files that are still being written."""
        return [read_bytes(path).decode(errors="replace") for path in glob.glob(os.path.join(self.directory, "*.json"))]

    def is_pending(self, names):
        """Whether a file reports operations of all these names as pending."""
        return any(names <= set(re.findall('"PendingOperation".*"name": "([^"]*)"', text)) for text in self.texts())

    def has_started(self, name):
        """Whether a file reports that the kernel of such a pending operation runs."""
        return any(re.search(f'"PendingOperation".*"name": "{name}".*"KernelsStarted": 2', text) for text in self.texts())

    def test_hung_operation_is_visible_after_a_kill(self):
        behind = {"ReduceScatter", "AllGather", "AllReduce", "Send", "Recv"}
        with self.start("--ranks", 8, "--steps", 3, "--hang", "5:1") as process:
            try:
                wait_until(lambda: self.is_pending(behind) and self.has_started("ReduceScatter"))
            finally:
                os.killpg(process.pid, signal.SIGKILL)
        pending = self.pending()
        self.assertEqual(len(pending), 1)
        notes = next(iter(pending.values()))
        first = notes[0]["args"]
        self.assertEqual((first["name"], first["cat"], first["SeqNum"]), ("ReduceScatter", "COLL", 1))
        self.assertGreaterEqual(notes[0]["ts"] - first["begin"], 1e6)
        last = [note for note in notes if note["args"]["begin"] == first["begin"]][-1]
        known = last["args"]
        self.assertEqual((known["KernelsStarted"], known["KernelsStopped"]), (2, 0))
        self.assertGreater(known["StartGpuClk"], 0)
        self.assertTrue(known["begin"] <= known["KernelBegin"] <= last["ts"], known)
        for note in notes:
            self.assertEqual("StartGpuClk" in note["args"], note["args"]["KernelsStarted"] > 0, note)
        self.assertEqual({n["args"]["name"] for n in notes}, behind)

    def test_unfinished_at_exit(self):
        # The proxy thread is told to close while the kernel of an operation is still running.
        played = self.play("--api", 6, "--threads", "--ranks", 4, "--steps", 1, "--hang", "1:0")
        trace = Trace(played.files()[0])
        trace.check_nesting()
        unfinished = [e for e in trace.events if e.get("args", {}).get("Unfinished")]
        self.assertEqual([e["name"] for e in unfinished], ["ReduceScatter"])
        self.assertEqual(trace.notes("End")[0]["args"]["unfinished"], 1)

if __name__ == "__main__":
    unittest.main()
