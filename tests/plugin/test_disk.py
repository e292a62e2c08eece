#!/usr/bin/env python3
"""Disks: limits, free space, deleted files, file systems that do not answer. usage: test_disk.py FAKECORE PLUGIN"""

import concurrent.futures
import glob
import json
import os
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from played import FAKECORE, PATIENCE_S, PLUGIN, SANITIZED, PluginTest  # noqa: E402
from trace import Trace, read_bytes  # noqa: E402

VERSIONS = range(1, 8)
PROBE = os.path.join(os.path.dirname(FAKECORE), "probe")
FAKEDISK = os.path.join(os.path.dirname(os.path.abspath(FAKECORE)), "libfakedisk.so")


class DiskTest(PluginTest):
    def on_disk(self, **settings):
        """The environment in which a process sees such a disk below its directory."""
        return {"LD_PRELOAD": FAKEDISK, "FAKEDISK_UNDER": self.directory,
                "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0", **settings}

    def probe(self, scenario, number, **settings):
        """The scenario's standard error."""
        environment = {k: v for k, v in os.environ.items() if not k.startswith("NCCL")}
        environment.update({"NCCLPROF_DIR": self.directory, **settings})
        done = subprocess.run([PROBE, os.path.abspath(PLUGIN), scenario, str(number)], env=environment, capture_output=True,
                              text=True, timeout=PATIENCE_S)
        self.assertEqual(done.returncode, 0, done.stderr[-3000:])
        return done.stderr

    def check_none_hangs(self, say, cases):
        """All at the same time, because they mostly wait."""
        with concurrent.futures.ThreadPoolExecutor(len(cases)) as pool:
            self.assertEqual([said.splitlines()[-1] for said in pool.map(say, cases)], ["0 hung"] * len(cases))

    def check_stopped(self, trace, reason):
        """The line that reports it: only last lines follow, and every operation that began has its end."""
        stopped, = trace.notes("Stopped")
        self.assertEqual(stopped["args"]["reason"], reason)
        self.assertLess(abs(stopped["args"]["realtime_ns"] - time.time_ns()), PATIENCE_S * 1e9)
        after = trace.events[trace.events.index(stopped) + 1:]
        self.assertLessEqual({e["name"] for e in after}, {"Drops", "End"})
        return stopped


class Limit(DiskTest):
    def test_each_version(self):
        for version in VERSIONS:
            with self.subTest(version):
                self.setUp()
                played = self.play("--api", version, "--ranks", 2, "--rank", 1, "--steps", 60, "--op-us", 100,
                                   NCCLPROF_MAX_BYTES="64k", NCCL_DEBUG="WARN")
                path, = played.files()
                self.assertTrue(32768 < os.path.getsize(path) <= 65536, os.path.getsize(path))
                trace = Trace(path)
                trace.check_nesting()
                self.assertEqual(self.check_stopped(trace, "limit")["args"]["bytes"], 65536)
                self.assertEqual(len(trace.notes("End")), 1)
                self.assertEqual(trace.unfinished(), 0)
                self.assertEqual(played.log.count("recording stopped: limit of 65536 bytes reached (NCCLPROF_MAX_BYTES)"), 1)

    def test_compressed_bytes_count(self):
        played = self.play("--ranks", 2, "--rank", 1, "--steps", 1000, "--op-us", 100, NCCLPROF_MAX_BYTES="128k", NCCLPROF_GZIP="1")
        path, = played.files(".json.gz")
        self.assertTrue(32768 < os.path.getsize(path) <= 131072, os.path.getsize(path))
        self.check_stopped(Trace(path), "limit")

    def test_communicators_alone(self):
        """Each has its own line."""
        self.probe("many-communicators", 2000, NCCLPROF_MAX_BYTES="64k")
        path, = glob.glob(self.directory + "/*.json")
        self.assertLessEqual(os.path.getsize(path), 65536)
        self.check_stopped(Trace(path), "limit")

    def test_tag_names_alone(self):
        self.probe("many-tag-names", 2000, NCCLPROF_MAX_BYTES="64k")
        path, = glob.glob(self.directory + "/*.json")
        self.assertLessEqual(os.path.getsize(path), 65536)
        self.check_stopped(Trace(path), "limit")

    def test_no_limit(self):
        played = self.play("--ranks", 2, "--rank", 1, "--steps", 60, NCCLPROF_MAX_BYTES="0")
        path, = played.files()
        self.assertGreater(os.path.getsize(path), 65536)
        self.assertEqual(Trace(path).notes("Stopped"), [])

    def test_both_formats_share_it(self):
        played = self.play("--ranks", 2, "--rank", 1, "--steps", 60, "--op-us", 100, NCCLPROF_MAX_BYTES="64k",
                           NCCLPROF_FORMAT="both")
        files = played.files() + played.files(".jsonl")
        self.assertEqual(len(files), 2)
        self.assertLessEqual(sum(map(os.path.getsize, files)), 65536)
        self.check_stopped(Trace(files[0]), "limit")
        lines = [json.loads(line) for line in read_bytes(files[1]).splitlines()]
        stopped, = [line for line in lines if "ncclprof_stopped" in line]
        self.assertEqual((stopped["ncclprof_stopped"]["reason"], stopped["ncclprof_stopped"]["bytes"]), ("limit", 65536))
        self.assertEqual(stopped["metadata"]["pid"], played.counts[0]["pid"])


class FreeSpace(DiskTest):
    def test_stops_before_the_disk_is_full(self):
        played = self.play("--ranks", 2, "--rank", 1, "--steps", 400, "--op-us", 2000, NCCLPROF_MIN_FREE_BYTES="1M",
                           **self.on_disk(FAKEDISK_FREE=str((1 << 20) + 100000)))
        path, = played.files()
        self.assertGreater(os.path.getsize(path), 90000)
        self.assertEqual(self.check_stopped(Trace(path), "space")["args"]["bytes"], 1 << 20)
        self.assertEqual(played.log.count("recording stopped: less than 1048576 bytes free"), 1)

    def test_a_twentieth_stays_free_by_default(self):
        """Of the gigabyte that the disk has."""
        for left, reason in (((1 << 30) // 20 - 1, ["space"]), ((1 << 30) // 20 + (64 << 20), [])):
            self.setUp()
            played = self.play("--ranks", 2, "--rank", 1, **self.on_disk(FAKEDISK_FREE=str(left)))
            trace = Trace(played.files()[0])
            self.assertEqual([e["args"]["reason"] for e in trace.notes("Stopped")], reason)

    def test_more_than_64_bits_of_bytes(self):
        """2^52 blocks of 4096 bytes are 2^64 bytes, not 0."""
        played = self.play("--ranks", 2, "--rank", 1, **self.on_disk(FAKEDISK_FREE=str(1 << 52), FAKEDISK_BLOCKS="1"))
        self.assertEqual(Trace(played.files()[0]).notes("Stopped"), [])

    def test_without_a_check(self):
        played = self.play("--ranks", 2, "--rank", 1, NCCLPROF_MIN_FREE_BYTES="0", **self.on_disk(FAKEDISK_FREE="0"))
        self.assertEqual(Trace(played.files()[0]).notes("Stopped"), [])


class Full(DiskTest):
    """If the disk is full, the last lines are replaced by the one that reports it."""

    def test_chrome(self):
        played = self.play("--ranks", 2, "--rank", 1, "--steps", 60, "--op-us", 500, "--file-bytes", 100000)
        path, = played.files()
        self.assertLessEqual(os.path.getsize(path), 100000)
        stopped = Trace(path, whole=False).events[-1]
        self.assertEqual((stopped["name"], stopped["args"]["reason"]), ("Stopped", "error"))
        self.assertEqual(stopped["args"]["error"], os.strerror(27))

    def test_inspector(self):
        played = self.play("--ranks", 2, "--rank", 1, "--steps", 60, "--op-us", 500, "--file-bytes", 60000,
                           NCCLPROF_FORMAT="inspector")
        path, = played.files(".jsonl")
        last = json.loads(read_bytes(path).splitlines()[-1])
        self.assertEqual(last["ncclprof_stopped"]["reason"], "error")
        self.assertEqual(last["ncclprof_stopped"]["error"], os.strerror(27))


class Deleted(DiskTest):
    def test_nothing_is_made_anew(self):
        below = os.path.join(self.directory, "below")
        said = self.probe("deleted-directory", 6, NCCLPROF_DIR=below, NCCL_DEBUG="WARN")
        self.assertFalse(os.path.exists(below))
        self.assertNotIn("cannot", said)
        # Version 6 uses NCCL's logger, version 3 standard error if NCCL_DEBUG enables it.
        said = self.probe("deleted-directory", 3, NCCLPROF_DIR=below, NCCL_DEBUG="WARN")
        self.assertEqual(said.count("recording stopped: the file was deleted"), 1)
        self.assertFalse(os.path.exists(below))


    def test_not_where_no_file_has_a_name(self):
        """As some file systems report it."""
        played = self.play("--ranks", 2, "--rank", 1, **self.on_disk(FAKEDISK_NO_LINKS="1"))
        trace = Trace(played.files()[0])
        self.assertEqual((trace.notes("Stopped"), len(trace.notes("End"))), ([], 1))


class InspectorDrops(DiskTest):
    def test_counts_as_in_chrome(self):
        played = self.play("--threads", "--ranks", 2, "--steps", 1, "--layers", 200, "--net-steps", 64,
                           NCCLPROF_BUFFER_EVENTS="1024", NCCLPROF_FORMAT="both")
        lines = [json.loads(line) for line in read_bytes(played.files(".jsonl")[0]).splitlines()]
        drops = [line["ncclprof_drops"] for line in lines if "ncclprof_drops" in line]
        self.assertGreater(drops[-1]["ring"], 0)
        self.assertEqual(drops[-1], Trace(played.files()[0]).notes("Drops")[-1]["args"])

    def test_no_line_where_nothing_is_lost(self):
        played = self.play("--ranks", 2, "--double-stops", NCCLPROF_FORMAT="inspector")
        for path in played.files(".jsonl"):
            self.assertNotIn(b"ncclprof_drops", read_bytes(path))


class Hanging(DiskTest):
    """A file system that never answers: init, finalize and the end of the process return nevertheless."""

    def check(self, cases):
        below = os.path.join(self.directory, "below")
        self.check_none_hangs(lambda case: self.probe("hanging-disk", case[0], NCCLPROF_DIR=below,
                                                      **self.on_disk(FAKEDISK_HANGS=case[1])), cases)

    def test_each_version(self):
        self.check([(version, "all") for version in VERSIONS])
        self.assertEqual(glob.glob(self.directory + "/*"), [])

    def test_each_call(self):
        self.check([(6, call) for call in ("mkdir", "open", "write", "fstat", "close")])


class Forks(DiskTest):
    def test_in_the_first_init(self):
        """The child's init returns, whatever the parent was doing in its own."""
        self.check_none_hangs(lambda version: self.probe("fork-in-first-init", version), VERSIONS)


    def test_a_child_asks_nothing_of_the_file_system(self):
        """It may have stopped answering since the parent's file was created."""
        self.assertEqual(self.probe("fork-on-hanging-disk", 6, **self.on_disk(FAKEDISK_HANGS="child")), "0 hung\n")
        trace, = glob.glob(self.directory + "/*.json")
        self.assertEqual(len(Trace(trace).notes("End")), 1)


class LongForks(DiskTest):
    """The fork of a large process takes longer than the plugin waits for a communicator."""

    LATE = "a communicator could not be added"

    def trace(self):
        path, = glob.glob(self.directory + "/*.json")
        return Trace(path)

    def test_init(self):
        """The second communicator is recorded without it, and the mask of the first stays."""
        said = self.probe("init-beside-long-fork", 6)
        self.assertEqual(said.count(self.LATE), 1)
        self.assertIn("mask 77\n", said)
        trace = self.trace()
        self.assertEqual(sorted(e["args"]["CommHash"] for e in trace.events if e["cat"] == "COLL" and e["ph"] == "b"), [0, 1])
        self.assertEqual(trace.notes("Drops")[-1]["args"]["communicators"], 1)

    def test_finalize(self):
        """The communicator ends when the fork has returned; the file is complete then."""
        said = self.probe("finalize-beside-long-fork", 6, NCCLPROF_MAX_THREADS="1")
        self.assertEqual(said.splitlines()[-1], "0 after")
        self.assertGreater(self.trace().notes("Drops")[-1]["args"]["ring"], 0)

    def test_first_init(self):
        said = self.probe("first-init-beside-long-fork", 6)
        self.assertEqual(said.count(self.LATE), 1)
        self.assertIn("mask 0\n", said)
        trace = self.trace()
        self.assertEqual([e["args"]["CommHash"] for e in trace.events if e["cat"] == "COLL" and e["ph"] == "b"], [2])
        self.assertEqual(trace.notes("Drops")[-1]["args"]["communicators"], 1)


class Tables(DiskTest):
    def test_zeros_behind_each(self):
        for version in VERSIONS:
            with self.subTest(version):
                self.assertEqual(self.probe("reserved-words", version), "0 set\n")


if SANITIZED:
    # The allocator of a sanitizer may be locked in a child, or cannot continue in one that starts threads.
    del Forks.test_in_the_first_init


if __name__ == "__main__":
    unittest.main()
