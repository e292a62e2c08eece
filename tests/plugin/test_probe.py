#!/usr/bin/env python3
"""Tests of the profiler plugin with single calls. usage: test_probe.py FAKECORE PLUGIN

The program `probe`, in the directory of the fake core, plays one scenario per run.
"""

import json
import os
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from played import FAKECORE, LIBRARY_TAGS, PATIENCE_S, PLUGIN, PluginTest  # noqa: E402
from trace import Trace  # noqa: E402

PROBE = os.path.join(os.path.dirname(FAKECORE), "probe")


class ProbeTest(PluginTest):
    def probe(self, *words, expect=0, **settings):
        """A complete run of the probe; its standard error."""
        environment = {k: v for k, v in os.environ.items() if not k.startswith("NCCL")}
        environment.update({"NCCLPROF_DIR": self.directory, **settings})
        done = subprocess.run([PROBE, os.path.abspath(PLUGIN), *map(str, words)], env=environment,
                              capture_output=True, text=True, timeout=PATIENCE_S)
        self.assertEqual(done.returncode, expect, done.stderr[-3000:])
        return done.stderr

    def trace(self, **options):
        name, = (name for name in os.listdir(self.directory) if name.endswith(".json"))
        return Trace(os.path.join(self.directory, name), **options)


class Trees(ProbeTest):
    def test_replays_of_a_graph_stand_alone(self):
        """They are written while the job runs, and none is reported as an operation that hangs."""
        self.probe("replays", 1500)
        trace = self.trace(whole=False)
        self.assertEqual(trace.parents()[("COLL", None)], 1500)
        self.assertEqual(trace.count(cat="COLL_API", ph="b"), 1)
        self.assertEqual(trace.unfinished(), 0)
        lasted = {begin["args"]["SeqNum"]: end["ts"] - begin["ts"] for begin, end in trace.pairs("COLL")}
        self.assertEqual([note for note in trace.notes("PendingOperation") if lasted[note["args"]["SeqNum"]] < 1e6], [])
        self.assertEqual(trace.notes("Drops"), [])

    def test_task_that_comes_late_is_no_loss(self):
        self.probe("late-tasks", 5)
        trace = self.trace()
        self.assertEqual(trace.count(cat="COLL", ph="b"), 5)
        self.assertEqual(set(trace.notes("Drops")[-1]["args"].values()), {0})


    def test_pending_by_its_own_age(self):
        """An operation in a group is reported a second after its own begin, not after that of the group."""
        self.probe("young-task")
        notes = [e for e in self.trace().notes("PendingOperation") if e["args"]["cat"] == "COLL"]
        self.assertEqual({e["args"]["SeqNum"] for e in notes}, {1})
        self.assertGreaterEqual(notes[0]["ts"] - notes[0]["args"]["begin"], 1e6)

    def test_operation_that_is_over_is_not_lost_with_one_that_hangs(self):
        """Operations of one group call, in a job that is killed."""
        self.probe("group-that-hangs", expect=-signal.SIGKILL, NCCLPROF_FORMAT="both")
        trace = self.trace(whole=False)
        self.assertEqual([e["args"]["SeqNum"] for e in trace.events if e["cat"] == "COLL" and e["ph"] == "b"], [1])
        self.assertEqual(trace.unfinished(), 0)
        self.assertEqual({e["args"]["SeqNum"] for e in trace.notes("PendingOperation")}, {2})
        with open(trace.path + "l", encoding="utf-8") as file:
            self.assertEqual([json.loads(line)["coll_perf"]["coll_sn"] for line in file], [1])
        # With the call that it belongs to, and the group of that call.
        self.assertEqual([trace.parents()[pair] for pair in (("COLL", "COLL_API"), ("COLL_API", "GROUP_API"))], [1, 1])
        self.assertEqual([e["ts"] for e in trace.events if e.get("cat") == "GROUP_API" and e["ts"] == 0.0], [])

    def test_group_that_waits_is_written_as_one(self):
        self.probe("group-that-waits")
        trace = self.trace()
        self.assertEqual({e["args"]["SeqNum"] for e in trace.notes("PendingOperation")}, {2})
        self.assertEqual([e["cat"] for e in trace.events if e["ph"] == "b"],
                         ["GROUP_API"] + 2 * ["COLL_API", "COLL", "GPU"])

    def test_operation_for_another_process(self):
        """Its context is a number of another process, whatever it means in ours."""
        self.probe("foreign-context")
        trace = self.trace()
        operations = [e for e in trace.events if "OriginPid" in e.get("args", {}) and e["name"] == "ScheduleSend"]
        self.assertEqual(len(operations), 2)
        self.assertEqual(trace.count(cat="NET", ph="b", name="SendWait"), 2)
        ends = [e["ts"] for e in trace.events if e["ph"] == "e"]
        self.assertNotIn(0.0, ends)
        self.assertEqual(set(trace.notes("Drops")[-1]["args"].values()), {0})

    def test_tags_of_nccl_are_cut_as_others_are(self):
        """Not in the middle of a character, and with a mark that they are cut."""
        for settings, text in (({"NCCLPROF_TAG_BYTES": "4"}, "aaa"), ({}, "aaa\u00e4" + 250 * "a")):
            with self.subTest(settings):
                self.probe("nccl-tags", 0, LIBRARY_TAGS, NCCLPROF_FILE="cut", **settings)
                trace = self.trace()
                os.unlink(trace.path)
                tags = [(e["args"]["tag"], e["args"].get("truncated")) for e in trace.events if e["cat"] == "USER_TAG"]
                self.assertEqual(tags, [("one", None), (text, 1), ("", None)])
                self.assertEqual([len(e["args"]["text"].encode()) for e in trace.notes("CallDescription")], [400])

    def test_communicators_beyond_the_last_number_are_counted(self):
        said = self.probe("many-communicators", 65540, NCCL_DEBUG="WARN", NCCLPROF_BUFFER_EVENTS=str(1 << 20))
        self.assertEqual(said.count("some communicators have no number"), 1)
        trace = self.trace()
        self.assertEqual(trace.notes("Drops")[-1]["args"]["communicators"], 5)
        hashes = [e["args"]["CommHash"] for e in trace.events if e["cat"] == "COLL" and e["ph"] == "b"]
        self.assertEqual(sorted(hashes), [0] * 5 + list(range(65532, 65536)))


class Tags(ProbeTest):
    def test_tags_by_a_handler_in_the_middle_of_events(self):
        """Each is in the trace or counted, and no operation is affected."""
        said = self.probe("tags-in-handler", 50000, NCCLPROF_BUFFER_EVENTS=str(1 << 20), NCCL_DEBUG="WARN")
        trace = self.trace()
        self.assertEqual(trace.count(cat="COLL", ph="b"), 50000)
        self.assertEqual(trace.unfinished(), 0)
        drops = trace.notes("Drops")[-1]["args"]
        dropped = drops.pop("ring")
        self.assertEqual(trace.count(cat="USER_TAG") + dropped, int(said.split()[-2]))
        self.assertEqual(said.count("signal handler"), dropped > 0)
        self.assertNotIn("faster", said)
        self.assertEqual(set(drops.values()), {0}, drops)

    def test_settings_for_tags_are_read_with_the_others(self):
        """At the latest then: the first tag of NCCL's is not the right moment."""
        self.probe("changed-tag-settings", 0, LIBRARY_TAGS)
        self.assertEqual([e["args"]["tag"] for e in self.trace().events if e["cat"] == "USER_TAG"], ["forward"])


class Settings(ProbeTest):
    def test_environment_is_read_once(self):
        """The writer thread must not read it, because the job may change it."""
        said = self.probe("changed-environment", NCCL_DEBUG="WARN", NCCLPROF_MAX_THREADS="1")
        self.assertEqual(said.count("dropped and counted"), 1)
        self.assertNotIn("recording to", said)

    def test_warns_where_it_is_asked_to(self):
        """Without NCCL's logger, as before version 4."""
        for debug, lines in (({}, 0), ({"NCCL_DEBUG": "VERSION"}, 0), ({"NCCL_DEBUG": "warn"}, 1),
                             ({"NCCL_DEBUG": "INFO"}, 2)):
            with self.subTest(debug):
                said = self.probe("changed-environment", NCCLPROF_MAX_THREADS="1", **debug)
                self.assertEqual(len(said.splitlines()), lines, said)

    def test_logger_is_not_called_after_the_last_finalize(self):
        """NCCL may be unloaded then."""
        said = self.probe("logger-after-finalize", NCCLPROF_MAX_THREADS="1")
        self.assertEqual(said, "1 before\n0 after\n")
        self.assertGreater(self.trace().notes("Drops")[-1]["args"]["ring"], 0)

    def test_too_few_rings_are_named_as_the_cause(self):
        said = self.probe("changed-environment", NCCL_DEBUG="WARN", NCCLPROF_MAX_THREADS="1")
        self.assertIn("(NCCLPROF_MAX_THREADS)", said)
        self.assertNotIn("NCCLPROF_BUFFER_EVENTS", said)

    def test_each_cause_of_drops_is_named_once(self):
        said = self.probe("two-causes", NCCL_DEBUG="WARN", NCCLPROF_MAX_THREADS="1", NCCLPROF_BUFFER_EVENTS="1024")
        self.assertEqual([said.count(name) for name in ("NCCLPROF_MAX_THREADS", "NCCLPROF_BUFFER_EVENTS", "handler")],
                         [1, 1, 0], said)


class Ends(ProbeTest):
    """A process ends, whatever the plugin is doing."""

    def check_none_hangs(self, *words, **options):
        # A sanitizer may have reported something about a process that ends with a thread that hangs.
        self.assertEqual(self.probe(*words, **options).splitlines()[-1], "0 hung")

    def test_exit_by_a_handler_that_interrupts_finalize(self):
        self.check_none_hangs("exit-in-handler", 40)

    def test_exit_by_a_handler_at_any_moment_of_finalize(self):
        """Whatever its thread was doing, the trace is closed."""
        signals, hung = self.probe("exit-at-steps", 3).splitlines()[-2:]
        self.assertEqual(hung, "0 hung")
        if signals == "0 signals":
            self.skipTest("no process may be traced here")
        traces = [Trace(os.path.join(self.directory, name)) for name in os.listdir(self.directory)]
        ends = sum(len(trace.notes("End")) for trace in traces)
        self.assertEqual(f"{ends} signals", signals)
        # And the one for which finalize was too short.
        self.assertEqual(len(traces), ends + 1)

    def test_exit_while_an_init_hangs(self):
        self.check_none_hangs("exit-during-init")

    def test_fork_while_an_init_hangs(self):
        self.check_none_hangs("fork-during-init")

    def test_fork_within_a_fork(self):
        self.check_none_hangs("nested-fork")

    def test_end_of_a_communicator_that_found_no_ring(self):
        """The array is still closed, or pending operations are reported."""
        self.probe("end-without-a-ring", 0, NCCLPROF_MAX_THREADS="1")
        trace = self.trace()
        self.assertEqual(trace.notes("End"), [])
        os.unlink(trace.path)
        self.probe("end-without-a-ring", 1, NCCLPROF_MAX_THREADS="1")
        self.assertEqual(self.trace(whole=False).unfinished(), 1)

    def test_end_that_found_no_ring_while_another_communicator_lives(self):
        """Pending operations are given up immediately."""
        self.probe("end-beside-another", expect=-signal.SIGKILL, NCCLPROF_MAX_THREADS="1")
        self.assertEqual(self.trace(whole=False).unfinished(), 1)

    def test_child_that_no_handler_was_called_for(self):
        self.check_none_hangs("bare-fork")
        self.assertEqual(len(self.trace().notes("End")), 1)


if "/san-" in PLUGIN:
    # Sanitizers do not know about such a child: it may wait forever for a lock that a thread of its parent holds.
    del Ends.test_child_that_no_handler_was_called_for
    # They take many times the instructions, and such a handler may leave their own locks held.
    del Ends.test_exit_by_a_handler_at_any_moment_of_finalize


if __name__ == "__main__":
    unittest.main()
