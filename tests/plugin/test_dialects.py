#!/usr/bin/env python3
"""Differences between NCCL's versions: the two version 7s, kernel phases, tags of operations, and unknown events.

usage: test_dialects.py FAKECORE PLUGIN
"""

import collections
import json
import os
import signal
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from played import FAKECORE, FAKECORE_TAGS, LIBRARY, LIBRARY_BESIDE, LIBRARY_LATER, LIBRARY_TAGS, Played  # noqa: E402
from test_probe import ProbeTest  # noqa: E402
from trace import Trace  # noqa: E402

TAGS = PHASES = 1 << 15
KERNELS = 1 << 6
# The caller of the plugin, and which version 7 it has.
RELEASED = {"a program": (FAKECORE,), "a library": (FAKECORE, LIBRARY), "one beside": (FAKECORE, LIBRARY_BESIDE),
            "a later one": (FAKECORE, LIBRARY_LATER),
            "in a program of the other kind": (FAKECORE_TAGS, LIBRARY)}
PULL_REQUEST = {"a program": (FAKECORE_TAGS,), "a library": (FAKECORE, LIBRARY_TAGS)}


def begins(trace, category):
    return [e for e in trace.events if e["cat"] == category and e["ph"] == "b"]


def phases_of(trace):
    """For each KernelCh, in order: its begin, and the phases between begin and end, from the nesting of lines."""
    found = []
    for e in trace.events:
        if e["cat"] != "GPU":
            continue
        if e["ph"] == "b":
            found.append((e, []))
        elif e["ph"] == "X":
            assert found and found[-1][1] is not None and e["id"] == found[-1][0]["id"], e
            found[-1][1].append(e)
        else:
            found[-1:] = [(found[-1][0], tuple(found[-1][1]))]
    return found


class Dialects(ProbeTest):
    def play_as(self, caller, *options, **settings):
        program, *libraries = caller
        core = ["--core", libraries[0]] if libraries else []
        name = f"run{len(os.listdir(self.directory))}"
        return Played(os.path.join(self.directory, name), "--api", 7, *core, *options, program=program, **settings)

    def mask(self, caller, **settings):
        trace = Trace(self.play_as(caller, "--ranks", 2, "--rank", 0, "--steps", 1, **settings).files()[0])
        return trace.notes("Process")[0]["args"]["mask"]

    def test_which_of_the_two_calls(self):
        """The calling library decides, not the libraries that it depends on or that are also loaded."""
        for name, caller in RELEASED.items():
            with self.subTest(name):
                played = self.play_as(caller, "--ranks", 2, "--steps", 2, "--tags", "nccl")
                for trace in self.check_counts(played):
                    self.assertEqual(trace.notes("Process")[0]["args"]["mask"] & TAGS, 0)
                    self.assertEqual(trace.count(cat="USER_TAG"), 0)
                    self.assertEqual({e["args"]["IsSymColl"] for e in begins(trace, "COLL")}, {0})
        for name, caller in PULL_REQUEST.items():
            with self.subTest(name):
                played = self.play_as(caller, "--ranks", 2, "--steps", 2, "--tags", "nccl")
                for trace in self.check_counts(played):
                    self.assertEqual(trace.notes("Process")[0]["args"]["mask"] & TAGS, TAGS)
                    # Four communicators, four tags per step and one at the end.
                    self.assertEqual(trace.count(cat="USER_TAG"), 4 * (2 * 4 + 1))
                    self.assertFalse([e for e in begins(trace, "COLL") if "IsSymColl" in e["args"]])

    def test_version_of_nccl(self):
        """Independent of the caller of the logger: here the program."""
        trace = Trace(self.play_as((FAKECORE_TAGS,), "--ranks", 2, "--rank", 0, "--steps", 1).files()[0])
        self.assertEqual(trace.notes("Process")[0]["args"]["nccl_version"], 22907)

    def test_both_in_one_process(self):
        said = self.probe("both-libraries", 0, LIBRARY_TAGS, LIBRARY, NCCLPROF_KERNEL_PHASES="1")
        self.assertEqual([int(word, 16) & TAGS for word in said.split()], [TAGS, PHASES])
        trace = self.trace()
        self.assertEqual(set(trace.notes("Drops")[-1]["args"].values()), {0})
        tags = [e["args"] for e in trace.events if e["cat"] == "USER_TAG"]
        self.assertEqual([(tag["tag"], tag["CommHash"]) for tag in tags], 3 * [("forward", 1)])
        own = collections.Counter((e["args"]["CommHash"], e["args"].get("UserTag"), e["args"].get("KernelVariant"))
                                  for e in begins(trace, "COLL"))
        self.assertEqual(own, {(1, None, None): 3, (2, 42, "AllReduce_AGxLL_R"): 3})
        self.assertEqual(trace.count(cat="GPU", ph="X"), 3)

    def test_mask_is_each_communicators(self):
        """Whichever of the two comes first."""
        said = self.probe("both-libraries", 0, LIBRARY, LIBRARY_TAGS)
        self.assertEqual([int(word, 16) & TAGS for word in said.split()], [0, TAGS])
        self.assertEqual(self.trace().count(cat="USER_TAG"), 3)

    def test_who_asks_for_bit_15(self):
        for settings, phases, tags in (({}, 0, TAGS),
                                       ({"NCCLPROF_KERNEL_PHASES": "1"}, PHASES | KERNELS, TAGS),
                                       ({"NCCLPROF_KERNEL_PHASES": "0"}, 0, TAGS),
                                       ({"NCCLPROF_EVENT_MASK": "2"}, 0, 0),
                                       ({"NCCLPROF_EVENT_MASK": "32770"}, PHASES, TAGS),
                                       ({"NCCL_PROFILE_EVENT_MASK": "32770"}, PHASES, TAGS),
                                       ({"NCCLPROF_EVENT_MASK": "2", "NCCLPROF_KERNEL_PHASES": "1"}, PHASES, 0)):
            with self.subTest(settings):
                mask = self.mask(RELEASED["a program"], **settings)
                self.assertEqual(mask & PHASES, phases & PHASES)
                # NCCL enables kernel channels with their phases: an operation is complete with them.
                self.assertGreaterEqual(mask & KERNELS, KERNELS if phases else 0)
                self.assertEqual(self.mask(PULL_REQUEST["a program"], **settings) & TAGS, tags)

    def test_communicators_without_a_number(self):
        """Their kind is unknown: fields that only one kind has are not read if both are possible."""
        self.probe("unnumbered-library", 65540, LIBRARY_TAGS, NCCLPROF_BUFFER_EVENTS=str(1 << 20))
        trace = self.trace()
        self.assertEqual(len(begins(trace, "COLL")), 5)
        self.assertFalse([e for e in trace.events if "UserTag" in e.get("args", {})])
        # Five tags.
        self.assertEqual(trace.notes("Drops")[-1]["args"]["unknown"], 5)
        os.unlink(trace.path)
        self.probe("unnumbered-library", 65540, LIBRARY, NCCLPROF_BUFFER_EVENTS=str(1 << 20))
        self.assertEqual([e["args"]["UserTag"] for e in begins(self.trace(), "COLL")], 5 * [42])


class Unknown(ProbeTest):
    def test_of_what_nobody_knows_nothing_is_read(self):
        """In each version: a pointer in such an event would crash a reader that follows it. Each event is counted once."""
        callers = [(FAKECORE, version) for version in range(1, 8)] + [(FAKECORE_TAGS, 7)]
        for program, version in callers:
            with self.subTest(version=version, program=program):
                directory = os.path.join(self.directory, f"{version}{os.path.basename(program)}")
                played = Played(directory, "--scenario", "unknown", "--api", version, program=program,
                                NCCLPROF_EVENT_MASK="65535")
                trace = Trace(played.files()[0])
                self.assertGreater(played.counts[0]["unknown"], 600)
                drops = trace.notes("Drops")[-1]["args"]
                self.assertEqual(drops.pop("unknown"), played.counts[0]["unknown"])
                self.assertEqual(set(drops.values()), {0}, drops)
                # The known events between them are complete.
                self.assertEqual([e["args"]["SeqNum"] for e in begins(trace, "COLL")], [0, 1])
                self.assertEqual(trace.unfinished(), 0)
                self.assertEqual(trace.count(cat="GPU", ph="b"), 2 if version >= 3 else 0)


class OwnTags(ProbeTest):
    # As defined in fakecore_play.c.
    NUMBERS = {"forward": 42, "backward": 2**63 + 1, 'grad "sync"\n\\': 2**64 - 1, "optimizer": None}
    NAMED = ("forward", 'grad "sync"\n\\')

    def test_of_operations_and_calls(self):
        played = self.play("--api", 7, "--ranks", 8, "--steps", 2, "--tags", "config", "--symmetric")
        for trace in self.check_counts(played):
            for cats, figures in ((("COLL", "COLL_API"), (4, 4, 4, 2)), (("P2P", "P2P_API"), (2, 2, 0, 0))):
                for cat in cats:
                    found = collections.Counter(e["args"].get("UserTag") for e in begins(trace, cat))
                    wanted = {n: figure for n, figure in zip(self.NUMBERS.values(), figures) if figure}
                    self.assertEqual(found, wanted)
            names = {e["args"]["number"]: e["args"]["tag"] for e in trace.events if e["name"] == "TagName"}
            self.assertEqual(names, {self.NUMBERS[name]: name for name in self.NAMED})
            kinds = {(e["name"] == "AllGather", e["args"]["KernelVariant"], e["args"]["IsSymColl"])
                     for e in begins(trace, "COLL")}
            self.assertEqual(kinds, {(True, "AllGather_RailRing_LsaSTMC", 1), (False, "", 0)})

    def test_is_before_others(self):
        """Of the process or a communicator; a communicator without its own uses those of the process."""
        self.play("--api", 7, "--ranks", 2, "--rank", 0, "--steps", 1, "--tags", "config", NCCLPROF_FORMAT="inspector")
        played = self.play("--api", 7, "--ranks", 2, "--rank", 1, "--steps", 1, "--tags", "call",
                           NCCLPROF_FORMAT="inspector")
        self.assertEqual(len(played.files(".jsonl")), 2)
        found = []
        for path in played.files(".jsonl"):
            with open(path, encoding="utf-8") as file:
                found.append({perf["user_tag"] for line in map(json.loads, file) for perf in line.values()
                              if "coll_sn" in perf})
        # Two ranks have no data-parallel group, whose tag is the third.
        self.assertIn({"forward", str(2**63 + 1), "of the process"}, found)
        self.assertIn({"forward", "backward", "optimizer"}, found)

    def test_tag_of_the_process_is_no_operations_own(self):
        for trace in self.check_counts(self.play("--api", 7, "--ranks", 2, "--steps", 1, "--tags", "call")):
            self.assertFalse([e for e in trace.events if "UserTag" in e.get("args", {})])

    def test_other_versions_have_none(self):
        played = self.play("--api", 6, "--ranks", 2, "--steps", 1, "--tags", "config", "--symmetric")
        for trace in self.check_counts(played):
            self.assertFalse([e for e in trace.events
                              if {"UserTag", "KernelVariant", "IsSymColl"} & set(e.get("args", {}))])


class Names(ProbeTest):
    def names(self, trace):
        lines = [e for e in trace.events if e["name"] == "TagName"]
        for e in lines:
            self.assertEqual((e["cat"], e["ph"], e["s"], e["id"], e["tid"]), ("USER_TAG", "i", "p", 0, 1))
            self.assertEqual(list(e["args"]), ["number", "tag"])
        return [(e["args"]["number"], e["args"]["tag"]) for e in lines]

    def test_whenever_they_are_set(self):
        self.probe("tag-names", NCCLPROF_FORMAT="both")
        traces = {t.notes("Communicator")[0]["args"]["CommHash"]: t
                  for t in (Trace(os.path.join(self.directory, n)) for n in os.listdir(self.directory)
                            if n.endswith(".json"))}
        early = [(42, "early"), (2**64 - 1, 'bad \ufffd( "quoted"\t')]
        # Cut at 255 bytes, before the two-byte character that would be split.
        self.assertEqual(self.names(traces[1]), early + [(42, "late"), (8, 254 * "n")])
        # A child has the names of its parent process.
        self.assertEqual(self.names(traces[2]), early)
        for trace in traces.values():
            trace.check_viewers()
            self.assertEqual(trace.notes("Drops")[-1]["args"]["ring"], 0)
        with open(traces[1].path + "l", encoding="utf-8") as file:
            found = [line["coll_perf"].get("user_tag") for line in map(json.loads, file)]
        self.assertEqual(found, ["early", "7", early[1][1], "late", 254 * "n", None])

    def test_are_bounded(self):
        for count in (1024, 1030):
            self.probe("many-tag-names", count)
            trace = self.trace()
            self.assertEqual(self.names(trace), [(i << 32, f"name {i}") for i in range(1, 1025)])
            self.assertEqual(trace.notes("Drops")[-1]["args"]["ring"], count - 1024)
            os.unlink(trace.path)

    def test_from_a_handler_in_the_middle_of_another(self):
        """It is in the trace or counted, and no operation waits for it."""
        said = self.probe("tag-names-in-handler", 300000)
        trace = self.trace()
        names = self.names(trace)
        self.assertIn((2, "same"), names)
        self.assertEqual({name for name in names if name[0] == 1} | {(1, "one"), (1, "two")}, {(1, "one"), (1, "two")})
        self.assertGreater(int(said.split()[-2]), 0)


class Phases(ProbeTest):
    def check_phases(self, trace):
        kernels = phases_of(trace)
        for kernel, phases in kernels:
            start, stop = kernel["args"]["StartGpuClk"], kernel["args"]["StopGpuClk"]
            clocks = [start, start + 10, stop - 5, stop]
            self.assertEqual([p["name"] for p in phases], ["initial_sync", "compute", "final_sync"])
            for i, phase in enumerate(phases):
                self.assertEqual(phase["args"], {"Channel": kernel["args"]["Channel"], "PhaseId": i,
                                                 "StartGpuClk": clocks[i], "StopGpuClk": clocks[i + 1]})
                self.assertAlmostEqual(phase["dur"], (clocks[i + 1] - clocks[i]) / 1000, places=3)
                # On the host's clock, like the times of the kernel.
                self.assertAlmostEqual(phase["ts"] - kernel["args"]["StartHost"], (clocks[i] - start) / 1000, places=2)
        return len(kernels)

    def test_when_asked_for(self):
        played = self.play("--api", 7, "--ranks", 2, "--steps", 3, "--op-us", 100, NCCLPROF_KERNEL_PHASES="1")
        for counts in played.counts:
            self.assertEqual(counts["phases"], 3 * counts["kernels"])
        for trace in self.check_counts(played, ("coll", "kernels", "phases", "steps")):
            self.assertEqual(self.check_phases(trace), trace.count(cat="GPU", ph="b"))

    def test_not_otherwise(self):
        for counts in self.play("--api", 7, "--ranks", 2, "--steps", 1).counts:
            self.assertEqual(counts["phases"], 0)

    def test_that_are_not_as_they_should_be(self):
        """An operation waits for no phase, and a phase without a kernel is not written."""
        self.probe("phases", expect=-signal.SIGKILL, NCCLPROF_KERNEL_PHASES="1")
        trace = self.trace(whole=False)
        self.assertEqual(trace.unfinished(), 0)
        ends = {e["id"]: e["ts"] for e in trace.events if e["cat"] == "COLL" and e["ph"] == "e"}
        kernel_ends = [e["ts"] for e in trace.events if e["cat"] == "GPU" and e["ph"] == "e"]
        self.assertEqual([ends[i] for i in range(4)], kernel_ends)
        found = [[(p["name"], p["args"]["PhaseId"], p["args"]["StartGpuClk"] % 1000, p["args"]["StopGpuClk"] % 1000,
                   p["dur"]) for p in phases] for _, phases in phases_of(trace)]
        self.assertEqual(found, [
            [("initial_sync", 0, 0, 50, 0.05), ("compute", 1, 100, 150, 0.05), ("final_sync", 2, 200, 250, 0.05)],
            [("initial_sync", 0, 7, 0, 0.0), ("phase", 9, 8, 9, 0.001)],
            [("final_sync", 2, 900, 999, 0.099)],
            []])
        drops = trace.notes("Drops")[-1]["args"]
        self.assertEqual(drops.pop("orphans"), 2)
        self.assertEqual(set(drops.values()), {0}, drops)

    def test_beside_proxy_operations_of_their_channel(self):
        played = self.play("--api", 7, "--ranks", 2, "--steps", 1, NCCLPROF_KERNEL_PHASES="1")
        for trace in played.traces().values():
            trace.check_nesting()
            trace.check_viewers()
            self.assertEqual(trace.parents()[("PROXY", "GPU")], 2 * trace.counted()["proxy_ops"])


del ProbeTest

if __name__ == "__main__":
    unittest.main()
