#!/usr/bin/env python3
"""The end of the files of processes that run no destructor. usage: test_ends.py FAKECORE PLUGIN

A process that ended its communicators leaves a complete file; a process that died with a communicator leaves its array open.
"""

import collections
import gzip
import json
import os
import sys
import time
import unittest
import zlib

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from played import LATEST_S, Played, PluginTest, wait_until  # noqa: E402
from trace import Trace, read_bytes, read_growing  # noqa: E402

SUFFIXES = {".json": {}, ".json.gz": {"NCCLPROF_GZIP": "1"}}


def parsed(path):
    """The events of the file, with the json module alone; a compressed file has nothing after its end."""
    with open(path, "rb") as file:
        text = file.read()
    return json.loads(gzip.decompress(text) if path.endswith(".gz") else text)


def has_afterwards(played):
    """Whether the files of all processes are complete, and contain the tag of those that linger."""
    try:
        texts = [json.dumps(parsed(path)) for path in played.files(".json") + played.files(".json.gz")]
    except (ValueError, EOFError, OSError, zlib.error):
        return False
    return len(texts) == 2 and all('"afterwards"' in text for text in texts)


class EndsTest(PluginTest):
    def play_both(self, *options, name="played", **settings):
        """A run with plain files, and one with compressed files; each with the suffix of its files."""
        return [(Played(os.path.join(self.directory, name + suffix), *options, **packed, **settings), suffix)
                for suffix, packed in SUFFIXES.items()]


class Whole(EndsTest):
    """Arrays that are closed when the last communicator has ended."""

    def check_files(self, played, suffix):
        """The traces of complete files, without the line for the exit, that contain each operation once."""
        traces = []
        for path in played.files(suffix):
            trace = Trace(path)
            self.assertEqual(parsed(path)[:-1], trace.events)
            trace.check_nesting()
            self.assertEqual(trace.notes("End"), [])
            counts = next(c for c in played.counts if c["pid"] == trace.events[0]["pid"])
            self.assertEqual({f: trace.counted()[f] for f in ("coll", "p2p", "steps", "kernels")},
                             {f: counts[f] for f in ("coll", "p2p", "steps", "kernels")})
            self.assertGreater(counts["coll"], 0)
            operations = collections.Counter((e["args"]["CommHash"], e["args"]["SeqNum"], e["name"])
                                             for e in trace.events if e["cat"] == "COLL" and e["ph"] == "b")
            self.assertEqual(set(operations.values()), {1})
            traces.append(trace)
        self.assertEqual(len(traces), len(played.counts))
        return traces

    def test_after_the_last_communicator(self):
        for version in (1, 3, 6, 7):
            for played, suffix in self.play_both("--quick-exit", "--ranks", 2, "--api", version, name=f"v{version}"):
                self.check_files(played, suffix)

    def test_another_communicator_comes_later(self):
        for played, suffix in self.play_both("--quick-exit", "--ranks", 2, "--rounds", 3):
            for trace in self.check_files(played, suffix):
                self.assertEqual(len(trace.notes("Communicator")), 12)

    def test_what_comes_afterwards_is_in_the_array_too(self):
        """A tag of a process without communicators is written some time later; the array is closed before and after."""
        for played, suffix in self.play_both("--quick-exit", "--ranks", 2, "--tags", "call", "--linger",
                                             until=has_afterwards):
            for trace in self.check_files(played, suffix):
                tags = [e["args"]["tag"] for e in trace.events if e["cat"] == "USER_TAG"]
                self.assertEqual(tags[-2:], ["done", "afterwards"])

    def test_exit_after_the_end(self):
        """Destructors that run: one array, and the line for the exit."""
        for played, suffix in self.play_both("--ranks", 2, "--rounds", 2, "--tags", "call", "--linger",
                                             until=has_afterwards):
            for path in played.files(suffix):
                self.assertEqual(len(Trace(path).notes("End")), 1)
                self.assertEqual(parsed(path)[-1], {})

    def test_abort_and_a_new_communicator(self):
        """A process that continues after an abort was not about to die."""
        for played, suffix in self.play_both("--quick-exit", "--ranks", 4, "--rank", 1, "--hang", "1:1", "--abort",
                                             "--rounds", 2):
            trace, = self.check_files(played, suffix)
            self.assertGreater(trace.unfinished(), 0)

    def test_inspector_lines_have_no_array(self):
        for played, suffix in self.play_both("--quick-exit", "--ranks", 2, "--rounds", 2, NCCLPROF_FORMAT="both"):
            lines = suffix.replace("json", "jsonl")
            self.assertEqual(len(played.files(lines)), 2)
            for path in played.files(lines):
                text = read_bytes(path)
                self.assertTrue(text.endswith(b"}\n"))
                self.assertEqual({"header" in json.loads(line) for line in text.splitlines()}, {True})
            self.check_files(played, suffix)


class Open(EndsTest):
    """Arrays that stay open, whatever the file contained before."""

    def check_open(self, path):
        text = read_bytes(path)
        self.assertTrue(text.endswith(b",\n"), text[-100:])
        self.assertNotIn(b"{}]", text)
        if path.endswith(".gz"):
            with open(path, "rb") as file:
                self.assertEqual(gzip.decompress(file.read()), text)
        Trace(path, whole=False)

    def is_open(self, path):
        """Whether the array is closed now; the file may be written at the same time."""
        try:
            self.check_open(path)
        except (AssertionError, ValueError, EOFError, OSError, zlib.error):
            return False
        return True

    def check_killed(self, suffix, until, *options, **settings):
        """Kills a process that hangs after it has written what `until` checks and removed the end of its array."""
        with self.start(*options, **settings) as process:
            self.assertEqual(process.stdout.readline(), b"hangs\n")
            wait_until(lambda: any(until(read_growing(path)) and self.is_open(path) for path in self.files(suffix)))
            time.sleep(LATEST_S)
            process.kill()
        for path in self.files(suffix):
            self.check_open(path)
            os.unlink(path)

    def files(self, suffix):
        return [os.path.join(self.directory, name) for name in os.listdir(self.directory) if name.endswith(suffix)]

    def test_killed_with_a_communicator(self):
        for suffix, packed in SUFFIXES.items():
            self.check_killed(suffix, lambda text: b'"AllReduce"' in text,
                              "--ranks", 2, "--rank", 1, "--hang", "1:1", **packed)

    def test_killed_with_a_later_communicator(self):
        """Its first line removes the end."""
        for suffix, packed in SUFFIXES.items():
            self.check_killed(suffix, lambda text: text.count(b'"Communicator"') > 4,
                              "--ranks", 2, "--rank", 1, "--rounds", 2, "--hang", "1:1", **packed)

    def test_killed_with_a_later_communicator_that_says_nothing(self):
        """Versions 1 to 3 report a communicator with its first operation: no line removes the end."""
        for suffix, packed in SUFFIXES.items():
            self.check_killed(suffix, lambda text: text.startswith(b"[\n{"), "--api", 3, "--ranks", 1, "--steps", 0,
                              "--rounds", 2, "--hang", "0:9", **packed)

    def test_no_communicator_was_ended(self):
        played = self.play("--ranks", 2, "--no-finalize", "--quick-exit")
        self.assertEqual(len(played.files()), 2)
        for path in played.files():
            self.check_open(path)

    def test_a_communicator_was_aborted(self):
        """An operation was pending, as on ranks that wait for a dead rank and die next."""
        for played, suffix in self.play_both("--quick-exit", "--ranks", 4, "--rank", 1, "--hang", "1:1", "--abort"):
            path, = played.files(suffix)
            self.check_open(path)
            self.assertGreater(Trace(path, whole=False).unfinished(), 0)

    def test_the_disk_fills_up_later(self):
        """Lines that cannot be written are missing: the file must not look complete."""
        options = ("--quick-exit", "--ranks", 2, "--rank", 1)
        for whole, suffix in self.play_both(*options, name="whole"):
            room = os.path.getsize(whole.files(suffix)[0]) + 1000
            settings = {**SUFFIXES[suffix], "NCCLPROF_FILE": "full"}
            full = self.play(*options, "--rounds", 9, "--file-bytes", room, **settings)
            path, = full.files("full" + suffix)
            self.check_open(path)
            self.assertEqual(full.log.count("cannot write to"), 1)


if __name__ == "__main__":
    unittest.main()
