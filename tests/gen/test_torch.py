#!/usr/bin/env python3
"""Tests of the simulator's dialects of PyTorch. usage: test_torch.py PATH-OF-SIMULATE"""
import collections
import glob
import json
import os
import pickle
import pickletools
import subprocess
import sys
import tempfile
import unittest

SIMULATE = sys.argv.pop(1) if len(sys.argv) > 1 else "build/simulate"
# The opcodes that torch's C++ pickler writes; none of them calls anything.
OPCODES = {"PROTO", "EMPTY_DICT", "MARK", "SETITEMS", "EMPTY_LIST", "APPENDS", "TUPLE2", "BINUNICODE", "BINPUT", "LONG_BINPUT",
           "BINGET", "LONG_BINGET", "BININT1", "BININT2", "BININT", "LONG1", "BINFLOAT", "NONE", "NEWTRUE", "NEWFALSE", "STOP"}
PIPELINE = ["--shape", "1f1b", "--tp", 2, "--pp", 2, "--dp", 2, "--microbatches", 3, "--per-node", 4]


def simulate(directory, *arguments):
    subprocess.run([SIMULATE, *map(str, arguments), "-o", directory], check=True)
    with open(os.path.join(directory, "truth.json")) as file:
        return json.load(file)


def profiles(directory):
    """Events by rank."""
    found = {}
    for path in glob.glob(directory + "/*.pt.trace.json"):
        with open(path) as file:
            trace = json.load(file)
        found[trace["distributedInfo"]["rank"]] = trace["traceEvents"]
    return found


def dumps(directory):
    found = {}
    for path in glob.glob(directory + "/nccl_trace_rank_*"):
        with open(path, "rb") as file:
            found[int(path.rsplit("_", 1)[1])] = pickle.load(file)
    for path in glob.glob(directory + "/fr_rank*.json"):
        with open(path) as file:
            found[int(path.rsplit("rank", 1)[1][:-5])] = json.load(file)
    return found


def kernels(events):
    return [e for e in events if e.get("cat") == "kernel" and e["name"].startswith("ncclDevKernel")]


def steps_of(events):
    return [e for e in events if e.get("cat") == "user_annotation" and e["name"].startswith("ProfilerStep#")]


def in_words_of_json(entry):
    """A pickled entry in the form of torch's JSON."""
    return {key: 0 if value is None else list(value) if isinstance(value, tuple) else value
            for key, value in entry.items() if key != "frames"}


class TorchTest(unittest.TestCase):
    def setUp(self):
        self.work = tempfile.TemporaryDirectory()
        self.addCleanup(self.work.cleanup)

    def path(self, name="job"):
        return os.path.join(self.work.name, name)

    def test_same_seed_same_bytes(self):
        for dialect in ("kineto", "flight-recorder", "flight-recorder-json"):
            for name in ("a", "b"):
                simulate(self.path(dialect + name), "--ranks", 4, "--steps", 4, "--dialect", dialect)
            for path in glob.glob(self.path(dialect + "a") + "/*"):
                with open(path, "rb") as one, open(path.replace(dialect + "a", dialect + "b"), "rb") as other:
                    self.assertEqual(one.read(), other.read())

    def test_kernels_launches_and_calls_belong_together(self):
        simulate(self.path(), *PIPELINE, "--steps", 4, "--dialect", "kineto", "--operators", 3)
        for events in profiles(self.path()).values():
            launches = {e["args"]["correlation"]: e for e in events if e.get("cat") == "cuda_driver"}
            calls = {e["args"]["External id"]: e for e in events if e["name"] == "record_param_comms"}
            batches = [e for e in events if e.get("cat") == "user_annotation" and e["name"] == "nccl:coalesced"]
            bare = 0
            for kernel in (e for e in events if e.get("cat") == "kernel"):
                launch = launches.pop(kernel["args"]["correlation"])
                self.assertGreater(kernel["ts"], launch["ts"])
                if not kernel["name"].startswith("nccl"):
                    continue
                if "Collective name" not in kernel["args"]:
                    bare += 1
                    self.assertTrue(any(b["ts"] <= launch["ts"] <= b["ts"] + b["dur"] for b in batches))
                    continue
                call = calls[kernel["args"]["External id"]]
                self.assertLessEqual(call["ts"], launch["ts"])
                for key in ("Collective name", "In msg nelems", "Process Group Name", "Process Group Ranks"):
                    self.assertEqual(call["args"][key], kernel["args"][key])
            self.assertEqual(launches, {})
            self.assertEqual(bare, len(batches))
            self.assertGreater(bare, 0)

    def test_operations_are_the_same_in_all_dialects(self):
        """For all events whose time is on the kernels' own clock; the profiler is off in the first step."""
        common = ["--shape", "3d", "--ranks", 8, "--steps", 5, "--seed", 3]
        simulate(self.path("kineto"), *common, "--dialect", "kineto")
        simulate(self.path("timing"), *common, "--dialect", "flight-recorder-timing")
        traces, recorded = profiles(self.path("kineto")), dumps(self.path("timing"))
        for rank in range(8):
            seen, durations = collections.defaultdict(list), collections.defaultdict(list)
            for kernel in kernels(traces[rank]):
                seen[kernel["args"]["Process Group Name"]].append(kernel["dur"])
            for entry in recorded[rank]["entries"]:
                durations[entry["process_group"][0]].append(round(entry["duration_ms"] * 1000, 3))
            for name, values in seen.items():
                self.assertEqual(len(values), len(durations[name]) * 4 // 5)
                for ours, theirs in zip(values, durations[name][-len(values):]):
                    self.assertAlmostEqual(ours, theirs, delta=0.002)

    def test_steps_and_phases(self):
        truth = simulate(self.path(), "--shape", "ddp", "--ranks", 4, "--steps", 6, "--dialect", "kineto", "--fault",
                         "compute:2:3:3:50%:backward")
        for rank, events in profiles(self.path()).items():
            steps = steps_of(events)
            self.assertEqual([e["name"] for e in steps], [f"ProfilerStep#{n}" for n in range(1, 6)])
            self.assertEqual(max(steps, key=lambda e: e["dur"])["name"], "ProfilerStep#3")
            phases = {e["name"] for e in events if e.get("cat") == "user_annotation" and ":" not in e["name"]}
            self.assertLessEqual({"forward", "backward", "optimizer"}, phases)
            threads = {e["tid"] for e in events if e["name"] == "record_param_comms"}
            self.assertNotIn(steps[0]["tid"], threads)  # autograd has its own
            busy = sum(e["dur"] for e in events if e.get("cat") == "kernel" and "nccl" not in e["name"])
            self.assertGreater(busy, 0)
            if rank != 2:
                self.assertLess(busy, sum(e["dur"] for e in profiles(self.path())[2]
                                          if e.get("cat") == "kernel" and "nccl" not in e["name"]))
        self.assertEqual(truth["faults"][0]["rank"], 2)

    def test_a_job_that_stops_was_profiled_before(self):
        truth = simulate(self.path(), "--ranks", 4, "--steps", 8, "--dialect", "kineto", "--fault", "hang:1:5:5:0:backward")
        finished = sum(us is not None for us in truth["step_us"])
        for events in profiles(self.path()).values():
            self.assertEqual([e["name"] for e in steps_of(events)], [f"ProfilerStep#{n}" for n in range(1, finished)])

    def test_pickle_and_json_say_the_same(self):
        for name, dialect in (("pickle", "flight-recorder"), ("json", "flight-recorder-json")):
            simulate(self.path(name), *PIPELINE, "--steps", 4, "--dialect", dialect, "--fault", "hang:3:2:2:0:backward")
        pickled, plain = dumps(self.path("pickle")), dumps(self.path("json"))
        for rank in range(8):
            self.assertEqual([in_words_of_json(e) for e in pickled[rank]["entries"]], plain[rank]["entries"])
            self.assertEqual(pickled[rank]["pg_config"], plain[rank]["pg_config"])
            self.assertEqual({pg: {key: str(number) for key, number in status.items()}
                              for pg, status in pickled[rank]["pg_status"].items()}, plain[rank]["pg_status"])
            for keys in (list(plain[rank]), list(plain[rank]["entries"][0])):
                self.assertEqual(keys, sorted(keys))
            with open(f"{self.path('pickle')}/nccl_trace_rank_{rank}", "rb") as file:
                self.assertLessEqual({opcode.name for opcode, _, _ in pickletools.genops(file)}, OPCODES)

    def test_states_at_the_end(self):
        truth = simulate(self.path("hang"), "--shape", "ddp", "--ranks", 4, "--steps", 8, "--dialect", "flight-recorder",
                         "--fault", "hang:1:5:5:0:backward")
        self.assertEqual(truth["faults"][0]["kind"], "missing")
        states = {rank: [e["state"] for e in dump["entries"]] for rank, dump in dumps(self.path("hang")).items()}
        self.assertEqual(set(states[1]), {"completed"})
        for rank in (0, 2, 3):
            self.assertIn("scheduled", states[rank])
            self.assertEqual(states[rank], sorted(states[rank]))  # no operation completes after one that does not
            self.assertGreater(len(states[rank]), len(states[1]))
        simulate(self.path("kill"), "--shape", "ddp", "--ranks", 4, "--steps", 8, "--dialect", "flight-recorder", "--fault",
                 "kill:1:5:5:0:backward")
        self.assertEqual(sorted(dumps(self.path("kill"))), [0, 2, 3])
        simulate(self.path("timing"), "--shape", "ddp", "--ranks", 4, "--steps", 8, "--dialect", "flight-recorder-timing",
                 "--fault", "freeze:1:5:5:0:backward")
        started = {rank: {e["state"] for e in dump["entries"]} for rank, dump in dumps(self.path("timing")).items()}
        self.assertNotIn("started", started[1])
        self.assertIn("started", started[0])

    def test_members_of_a_batch_have_no_state_of_their_own(self):
        simulate(self.path(), *PIPELINE, "--steps", 3, "--dialect", "flight-recorder")
        batches = 0
        for dump in dumps(self.path()).values():
            batch = []
            for entry in dump["entries"]:
                if entry["profiling_name"] == "nccl:coalesced":
                    self.assertEqual(entry["state"], "completed")
                    self.assertGreater(len(batch), 1)
                    self.assertEqual({e["p2p_seq_id"] for e in batch}, {entry["p2p_seq_id"]})
                    batches += 1
                batch = batch + [entry] if entry["state"] == "scheduled" else []
            self.assertEqual(batch, [])
        self.assertGreater(batches, 0)

    def test_the_ring_keeps_the_newest(self):
        common = ["--ranks", 4, "--steps", 5, "--dialect", "flight-recorder"]
        simulate(self.path("all"), *common)
        simulate(self.path("ring"), *common, "--keep-last", 7)
        for rank, dump in dumps(self.path("all")).items():
            self.assertEqual([e["record_id"] for e in dump["entries"]], list(range(len(dump["entries"]))))
            self.assertEqual(dumps(self.path("ring"))[rank]["entries"], dump["entries"][-7:])


if __name__ == "__main__":
    unittest.main()
