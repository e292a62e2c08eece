#!/usr/bin/env python3
"""Tests of the profiler plugin through a fake NCCL core. usage: test_plugin.py FAKECORE PLUGIN"""

import collections
import glob
import json
import os
import socket
import stat
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from played import FAKECORE, FAKECORE_TAGS, PATIENCE_S, PLUGIN, Played, PluginTest, wait_until  # noqa: E402
from trace import Trace, read_bytes  # noqa: E402


class Versions(PluginTest):
    """Each version of NCCL's interface: valid lines, and exactly the events that were played."""

    def check_version(self, version, **options):
        played = self.play("--api", version, "--ranks", 8, "--steps", 3, "--op-us", 100, "--tags", "call", **options)
        traces = self.check_counts(played)
        for counts in played.counts:
            # Per rank and step: 2 x 2 AllReduce, ReduceScatter, AllGather, AllReduce; a send and a receive.
            self.assertEqual((counts["coll"], counts["p2p"]), (21, 6))
        for trace in traces:
            self.assertEqual(trace.count(cat="COLL", ph="b", name="AllReduce"), 15)
            self.assertEqual(trace.count(cat="P2P", ph="b", name="Send"), 3)
            for event in trace.events:
                if event["cat"] in ("COLL", "P2P") and event["ph"] == "b":
                    self.assertNotEqual(event["args"]["CommHash"], 0)
                    self.assertNotIn("Unfinished", event["args"])
                    self.assertIn(event["args"]["Datatype"], ("ncclFloat32", "ncclInt8"))
            self.assertEqual(trace.notes("Process")[0]["args"]["api"], version)
            hashes = {e["args"]["CommHash"] for e in trace.notes("Communicator")}
            used = {e["args"]["CommHash"] for e in trace.events if e["cat"] == "COLL" and e["ph"] == "b"}
            self.assertLessEqual(used, hashes)
        return traces

    def test_v1(self):
        for trace in self.check_version(1):
            parents = trace.parents()
            self.assertEqual(parents[("COLL", "GROUP")], 21)
            states = [e["args"] for e in trace.events if e["name"] == "Recv" and e["cat"] == "PROXY" and e["ph"] == "b"]
            self.assertTrue(states)
            for args in states:
                self.assertEqual(args["DONE"]["step"], args["Steps"])
                self.assertLessEqual(args["POSTED"]["ts"], args["DONE"]["ts"])

    def test_v2(self):
        self.check_version(2)

    def test_v3(self):
        for trace in self.check_version(3):
            self.assertEqual(trace.parents()[("GPU", "COLL")], 42)

    def test_v4(self):
        for trace in self.check_version(4):
            self.assertEqual(trace.parents()[("COLL", "GROUP")], 21)

    def check_waits(self, trace):
        """The waits of a network step follow one another, each with a length."""
        waits = [e for e in trace.events if e["cat"] == "NET"]
        last = {}
        for begin, end in zip(waits[::2], waits[1::2]):
            self.assertEqual((begin["ph"], end["ph"], begin["name"]), ("b", "e", end["name"]))
            self.assertLess(begin["ts"], end["ts"])
            if begin["id"] in last:
                self.assertEqual(begin["ts"], last[begin["id"]])
            last[begin["id"]] = end["ts"]
        self.assertEqual(len(waits), 6 * len(last))

    def check_api_hierarchy(self, trace):
        self.check_waits(trace)
        parents = trace.parents()
        self.assertEqual(parents[("COLL_API", "GROUP_API")], 21)
        self.assertEqual(parents[("P2P_API", "GROUP_API")], 6)
        self.assertEqual(parents[("KERNEL_LAUNCH", "GROUP_API")], 27)
        self.assertEqual(parents[("COLL", "COLL_API")], 21)
        self.assertEqual(parents[("P2P", "P2P_API")], 6)
        self.assertEqual(parents[("GPU", "COLL")], 42)
        self.assertEqual(trace.count(cat="GROUP"), 0)

    def test_v5(self):
        for trace in self.check_version(5):
            self.check_api_hierarchy(trace)

    def test_v6(self):
        for trace in self.check_version(6):
            self.check_api_hierarchy(trace)

    def test_v7(self):
        for trace in self.check_version(7):
            self.check_api_hierarchy(trace)

    def test_v7_of_the_pull_request(self):
        for trace in self.check_version(7, program=FAKECORE_TAGS):
            self.check_api_hierarchy(trace)

    def test_v7_tags_of_nccl(self):
        played = self.play("--api", 7, "--ranks", 2, "--steps", 2, "--tags", "nccl", program=FAKECORE_TAGS)
        for trace in self.check_counts(played):
            tags = [e for e in trace.events if e["cat"] == "USER_TAG"]
            world = {e["args"]["CommHash"] for e in trace.notes("Communicator") if e["args"]["CommName"] == "world0"}
            texts = [e["args"]["tag"] for e in tags if e["args"]["CommHash"] in world]
            step = ["forward", "backward", 'grad "sync"\n\\', "optimizer"]
            self.assertEqual(texts, step * 2 + ["done"])
            self.assertEqual({e["args"]["source"] for e in tags}, {"nccl"})


class Threads(PluginTest):
    def test_sixteen_threads(self):
        played = self.play("--ranks", 8, "--threads", "--steps", 3, "--net-steps", 8, "--tags", "call")
        trace = self.check_counts(played)[0]
        self.assertEqual(len(trace.notes("Communicator")), 32)

    def test_concurrent_init(self):
        played = self.play("--scenario", "init-race")
        trace = Trace(played.files()[0])
        trace.check_nesting()
        self.assertEqual(trace.count(cat="COLL", ph="b"), played.counts[0]["coll"])
        self.assertEqual(trace.count(cat="COLL", ph="b"), 320)
        self.assertEqual(len(trace.notes("Communicator")), 320)

    def test_no_finalize(self):
        self.check_counts(self.play("--ranks", 2, "--no-finalize"))

    def test_fork(self):
        # ThreadSanitizer itself cannot continue in a child that starts threads.
        scenario = "fork-idle" if "san-thread" in PLUGIN else "fork"
        played = self.play("--scenario", scenario, "--ranks", 2, "--op-us", 200)
        traces = played.traces()
        self.assertEqual(len(traces), 2 if scenario == "fork" else 1)
        for counts in played.counts:
            traces[counts["pid"]].check_nesting()
            self.assertEqual(traces[counts["pid"]].count(cat="COLL", ph="b"), counts["coll"])
            self.assertEqual(len(traces[counts["pid"]].notes("Communicator")), 4)


class Clocks(PluginTest):
    def test_every_channel_has_both_times(self):
        played = self.play("--channels", 4, "--ranks", 2, "--op-us", 300)
        for trace in played.traces().values():
            begins = [e for e in trace.events if e["cat"] == "GPU" and e["ph"] == "b"]
            ends = [e for e in trace.events if e["cat"] == "GPU" and e["ph"] == "e"]
            self.assertEqual({e["args"]["Channel"] for e in begins}, {0, 1, 2, 3})
            for begin, end in zip(begins, ends):
                args = begin["args"]
                self.assertGreaterEqual(args["StopGpuClk"] - args["StartGpuClk"], 300000)
                self.assertGreaterEqual(end["ts"] - begin["ts"], 299)
                self.assertLessEqual(args["StartHost"], begin["ts"] + 0.001)
                self.assertLessEqual(args["StopHost"], end["ts"] + 0.001)

    @staticmethod
    def begins(trace):
        """For each kernel: its communicator, the recorded begin on CLOCK_MONOTONIC, and that on the GPU clock."""
        start_ns = trace.notes("Process")[0]["args"]["start_monotonic_ns"]
        for e in trace.events:
            if e["cat"] in ("COLL", "P2P") and e["ph"] == "b":
                communicator = e["args"]["CommHash"]
            elif e["cat"] == "GPU" and e["ph"] == "b":
                yield communicator, start_ns + round(e["ts"] * 1000), e["args"]["StartGpuClk"]

    def test_gpu_offset_is_bounded(self):
        for trace in self.play("--ranks", 2, "--op-us", 100).traces().values():
            clocks = trace.notes("GpuClock")
            self.assertTrue(clocks)
            for note in clocks:
                # The fake GPU clock is 1.7e18 ns ahead of CLOCK_MONOTONIC.
                self.assertLessEqual(note["args"]["lowest_ns"], -1700000000000000000)
                self.assertGreaterEqual(note["args"]["offset_ns"], -1700000000000000000)
                # No farther off than for the kernel whose begin was recorded soonest.
                of = note["args"]["CommHash"]
                soonest = min(ts_ns - clock for hash, ts_ns, clock in self.begins(trace) if hash == of)
                self.assertLessEqual(note["args"]["offset_ns"], soonest)

    def test_allocator_hook(self):
        """The values that PyTorch accepts as true; the first variable that is set decides."""
        name = "TORCH_NCCL_USE_TENSOR_REGISTER_ALLOCATOR_HOOK"
        for env, expected in (({}, 0), ({name: "1"}, 1), ({name: "TRUE"}, 1), ({name: "0"}, 0), ({name[6:]: "yes"}, 1),
                              ({name: "0", name[6:]: "1"}, 0)):
            self.setUp()
            note = Trace(self.play("--ranks", 1, **env).files()[0]).notes("Process")[0]
            self.assertEqual(note["args"]["allocator_hook"], expected, env)

    def test_anchors(self):
        before = (time.clock_gettime_ns(time.CLOCK_MONOTONIC), time.time_ns())
        played = self.play("--ranks", 1)
        after = (time.clock_gettime_ns(time.CLOCK_MONOTONIC), time.time_ns())
        trace = Trace(played.files()[0])
        anchors = [e["args"] for e in trace.notes("ClockAnchor")]
        self.assertGreaterEqual(len(anchors), 2)
        with open("/proc/sys/kernel/random/boot_id") as file:
            boot = file.read().strip()
        start = trace.notes("Process")[0]["args"]["start_monotonic_ns"]
        for note, args in zip(trace.notes("ClockAnchor"), anchors):
            self.assertEqual(args["boot_id"], boot)
            self.assertTrue(before[0] <= args["monotonic_ns"] <= after[0])
            self.assertTrue(before[1] <= args["realtime_ns"] <= after[1])
            self.assertAlmostEqual(note["ts"], (args["monotonic_ns"] - start) / 1000, places=2)

    def test_operation_ends_with_its_last_part(self):
        trace = Trace(self.play("--ranks", 2, "--op-us", 500).files()[0])
        stack, latest, checked = [], 0, 0
        for event in trace.events:
            if event["cat"] == "COLL" and event["ph"] == "b":
                stack, latest = [event], event["args"]["EnqueueEnd"]
            elif event["cat"] == "COLL" and event["ph"] == "e":
                self.assertAlmostEqual(event["ts"], latest, places=3)
                checked += 1
                stack = []
            elif stack and event["ph"] == "e":
                latest = max(latest, event["ts"])
        self.assertGreater(checked, 10)


class Losses(PluginTest):
    def test_ring_overflows_and_counts(self):
        played = self.play("--ranks", 1, "--threads", "--scenario", "train", "--steps", 1, "--ranks", 2,
                           "--layers", 200, "--net-steps", 64, NCCLPROF_BUFFER_EVENTS="1024")
        trace = Trace(played.files()[0])
        trace.check_nesting()
        drops = trace.notes("Drops")[-1]["args"]
        self.assertGreater(drops["ring"], 0)
        self.assertIn("dropped and counted", played.log)
        self.assertIn("(NCCLPROF_BUFFER_EVENTS, NCCLPROF_EVENT_MASK)", played.log)
        # Every begin has its end: space is reserved for stops.
        ends = [e for e in trace.events if e["ph"] == "e" and e["cat"] in ("GROUP_API", "COLL_API", "NET", "GPU")]
        self.assertEqual([e for e in ends if e["ts"] == 0], [])

    def test_pending_memory_is_bounded(self):
        played = self.play("--ranks", 2, "--layers", 400, "--steps", 1, "--op-us", 1000, "--net-steps", 0,
                           NCCLPROF_PENDING_EVENTS="1024")
        for trace in played.traces().values():
            trace.check_nesting()
            drops = trace.notes("Drops")[-1]["args"]
            self.assertGreater(drops["evicted"], 0)
            counts = next(c for c in played.counts if c["pid"] == trace.events[0]["pid"])
            self.assertEqual(trace.counted()["coll"], counts["coll"])

    def test_polled_states_are_kept_once(self):
        # Each wait is recorded a hundred times: if all were kept, they would not fit into a ring buffer of this size.
        played = self.play("--ranks", 2, "--repeat-waits", "--steps", 2, NCCLPROF_BUFFER_EVENTS="4096")
        self.check_counts(played)

    def test_calls_that_stop_twice(self):
        played = self.play("--ranks", 2, "--double-stops", "--steps", 6, "--tags", "call")
        for trace in self.check_counts(played):
            self.assertEqual(trace.notes("End")[0]["args"]["unfinished"], 0)

    def test_calls_that_stop_twice_are_not_kept_until_the_end(self):
        with self.start("--ranks", 2, "--rank", 1, "--double-stops", "--op-us", 20000, "--steps", 100000) as process:
            wait_until(lambda: any(b'"cat": "COLL"' in read_bytes(path) for path in glob.glob(self.directory + "/*.json")))
            process.kill()

    def test_full_disk(self):
        played = self.play("--ranks", 1, "--ranks", 2, "--steps", 40, "--threads", "--file-bytes", 100000)
        path = played.files()[0]
        text = read_bytes(path)
        self.assertLessEqual(len(text), 100000)
        self.assertTrue(text.endswith(b",\n"))
        Trace(path, whole=False)
        self.assertEqual(played.log.count("cannot write to"), 1)

    def test_no_room_at_all(self):
        """Not even the first lines can be written. The job, which continues, does not get the signal for that."""
        played = self.play("--ranks", 2, "--rank", 1, "--file-bytes", 10)
        self.assertEqual(len(played.counts), 1)
        self.assertEqual(played.log.count("cannot write to"), 1)

    def test_unwritable_directory(self):
        with open(os.path.join(self.directory, "file"), "w"):
            pass
        played = self.play("--ranks", 2, "--threads", NCCLPROF_DIR=os.path.join(self.directory, "file", "below"))
        self.assertEqual(played.files(), [])
        self.assertEqual(played.log.count("nothing will be recorded"), 1)
        self.assertEqual(played.counts[0]["coll"], 0)

    def test_closed_descriptors(self):
        played = self.play("--ranks", 2, "--close-descriptors", "--op-us", 1000, "--steps", 20)
        # The number of operations before the first failed write depends on the writer thread.
        Trace(played.files()[0], whole=False)
        self.assertEqual(played.log.count("cannot write to"), 1)

    def test_hostile_calls(self):
        for version, program in [*((version, FAKECORE) for version in range(1, 8)), (7, FAKECORE_TAGS)]:
            with self.subTest(version=version, program=program):
                directory = os.path.join(self.directory, str(version) + os.path.basename(program))
                played = Played(directory, "--scenario", "hostile", "--api", version, program=program)
                trace = Trace(played.files()[0])
                trace.check_nesting()
                self.assertGreater(trace.notes("Drops")[-1]["args"]["unknown"], 0)

    def test_proxy_of_another_process(self):
        played = self.play("--ranks", 2, "--foreign-proxy")
        for trace in self.check_counts(played):
            detached = [e for e in trace.events if "OriginPid" in e.get("args", {})]
            self.assertTrue(detached)
            self.assertTrue(all(e["args"]["OriginPid"] == 1 for e in detached))
            self.assertGreater(trace.parents()[("PROXY", None)], 0)


class MissingKernels(PluginTest):
    """Operations for which NCCL reports fewer kernel channels than announced, or none."""

    def test_at_exit(self):
        played = self.play("--ranks", 2, "--silent-kernels", "--op-us", 200)
        for trace in self.check_counts(played):
            self.assertEqual(trace.notes("End")[0]["args"]["unfinished"], 0)

    @staticmethod
    def silent_us(trace, note):
        """How long a pending operation had no event, after a later one of its communicator, with kernels, was finished."""
        pending = note["args"]
        later = [end["ts"] for begin, end in trace.pairs("COLL") if begin["args"]["CommHash"] == pending["CommHash"]
                 and begin["args"]["SeqNum"] % 3 != 1 and begin["ts"] > pending["begin"]]
        return note["ts"] - min(later, default=note["ts"])

    def test_while_the_job_runs(self):
        # After half a second of silence it is written: nothing accumulates, and nothing is reported as pending.
        played = self.play("--ranks", 2, "--silent-kernels", "--op-us", 30000, "--steps", 12)
        for trace in self.check_counts(played):
            self.assertEqual(trace.notes("End")[0]["args"]["unfinished"], 0)
            self.assertEqual([note for note in trace.notes("PendingOperation") if self.silent_us(trace, note) > 0.8e6], [])
            ends = [e["ts"] for e in trace.events if e["cat"] == "COLL" and e["ph"] == "e"]
            self.assertEqual(len(ends), 60)
            self.assertNotIn(0.0, ends)


class Files(PluginTest):
    def test_names_and_modes(self):
        played = self.play("--ranks", 1, NCCLPROF_FILE="deep/er/%h.%p.%r.%%", RANK="../7")
        path = played.files()[0]
        host = socket.gethostname()
        self.assertEqual(os.path.relpath(path, self.directory),
                         f"deep/er/{host}.{played.counts[0]['pid']}._._7.%.json")
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        self.assertEqual(stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode), 0o700)

    def test_never_through_a_link(self):
        victim = os.path.join(self.directory, "victim")
        with open(victim, "w") as file:
            file.write("precious")
        os.symlink(victim, os.path.join(self.directory, "name.json"))
        played = self.play("--ranks", 1, NCCLPROF_FILE="name")
        with open(victim) as file:
            self.assertEqual(file.read(), "precious")
        Trace(os.path.join(self.directory, "name-1.json"))
        self.assertIn("name-1.json", played.log)

    def test_dump_file_of_nccl(self):
        stem = os.path.join(self.directory, "dump")
        played = self.play("--ranks", 1, NCCLPROF_DIR="", NCCL_PROFILE_DUMP_FILE=stem)
        self.assertEqual(len(glob.glob(stem + "-*.json")), 1)
        self.assertEqual(played.counts[0]["api"], 6)

    def test_patterns_in_the_directory_and_the_stem(self):
        for settings in ({"NCCLPROF_DIR": os.path.join(self.directory, "of-%r-50%%")},
                         {"NCCLPROF_DIR": "", "NCCL_PROFILE_DUMP_FILE": os.path.join(self.directory, "of-%r-50%%/a")}):
            with self.subTest(settings):
                self.play("--ranks", 1, RANK="3", **settings)
                name, = glob.glob(os.path.join(self.directory, "of-3-50%", "*.json"))
                os.unlink(name)

    def test_gzip(self):
        played = self.play("--ranks", 2, NCCLPROF_GZIP="1")
        for path in played.files(".json.gz"):
            trace = Trace(path)
            counts = next(c for c in played.counts if c["pid"] == trace.events[0]["pid"])
            self.assertEqual(trace.counted()["steps"], counts["steps"])

    def test_name_of_the_process(self):
        """The launcher's rank, as in file names; else the rank in the first communicator."""
        host = socket.gethostname()
        for rank, settings in (("0", {}), ("6", {"RANK": "6"})):
            directory = os.path.join(self.directory, rank)
            trace = Trace(Played(directory, "--ranks", 1, **settings).files()[0])
            names = [e["args"]["name"] for e in trace.events if e["ph"] == "M" and e["name"] == "process_name"]
            self.assertEqual(names, [f"rank {rank} on {host}"])

    def test_place_of_the_process(self):
        """The facts from the launcher; those on devices depend on the machine, so unit tests cover them."""
        launchers = (({"RANK": "6", "LOCAL_RANK": "2", "SLURM_PROCID": "1"}, (6, 2, None)),
                     ({"OMPI_COMM_WORLD_RANK": "4", "OMPI_COMM_WORLD_LOCAL_RANK": "0"}, (4, 0, None)),
                     ({"SLURM_PROCID": "3", "NCCLPROF_RANK_NAME": 'tp"0'}, (3, None, 'tp"0')),
                     ({"RANK": "six"}, (None, None, None)), ({}, (None, None, None)))
        for number, (settings, wanted) in enumerate(launchers):
            with self.subTest(settings):
                directory = os.path.join(self.directory, str(number))
                trace = Trace(Played(directory, "--ranks", 1, **settings).files()[0])
                places = trace.notes("Place")
                self.assertLessEqual(len(places), 1)
                args = places[0]["args"] if places else {}
                self.assertEqual((args.get("rank"), args.get("local_rank"), args.get("rank_name")), wanted)
                self.assertTrue(not places or args)

    def test_masks(self):
        for setting in ("NCCL_PROFILE_EVENT_MASK", "NCCLPROF_EVENT_MASK"):
            directory = os.path.join(self.directory, setting)
            played = Played(directory, "--ranks", 2, "--api", 6, **{setting: "2"})
            for path in played.files():
                counted = Trace(path).counted()
                self.assertEqual(counted["coll"], 20)  # 4 steps with 4 AllReduce on tp and one on world
                self.assertEqual((counted["p2p"], counted["kernels"], counted["steps"]), (0, 0, 0))


class Inspector(PluginTest):
    def test_lines(self):
        played = self.play("--ranks", 8, "--op-us", 400, "--tags", "call", NCCLPROF_FORMAT="both")
        chrome = played.traces()
        for path in played.files(".jsonl"):
            with open(path) as file:
                lines = [json.loads(line) for line in file]
            pid = lines[0]["metadata"]["pid"]
            counts = next(c for c in played.counts if c["pid"] == pid)
            coll = [line for line in lines if "coll_perf" in line]
            self.assertEqual(len(coll), counts["coll"])
            self.assertEqual(len(lines) - len(coll), counts["p2p"])
            self.check_against_chrome(coll, chrome[pid])

    def test_a_tag_that_is_new_every_time(self):
        """Thousands of different tags: the tags of operations and names stay right."""
        played = self.play("--ranks", 2, "--steps", 1500, "--layers", 1, "--channels", 1, "--net-steps", 0,
                           "--tags", "numbered", NCCLPROF_FORMAT="both", NCCLPROF_BUFFER_EVENTS=str(1 << 20))
        for path in played.files(".jsonl"):
            with open(path) as file:
                lines = [json.loads(line) for line in file]
            counts = next(c for c in played.counts if c["pid"] == lines[0]["metadata"]["pid"])
            self.assertGreater(counts["tags"], 5000)
            self.assertEqual(len(lines), counts["coll"])
            tags = collections.Counter(line["coll_perf"]["user_tag"].split()[0] for line in lines)
            self.assertEqual(tags, {"forward": 1500, "backward": 1500, "optimizer": 1500})
            self.assertEqual({line["coll_perf"]["coll"] for line in lines}, {"AllReduce"})

    def check_against_chrome(self, lines, trace):
        truth = {}
        current = None
        for event in trace.events:
            if event["cat"] == "COLL" and event["ph"] == "b":
                current = truth[(hex(event["args"]["CommHash"]), event["name"], event["args"]["SeqNum"])] = {
                    "bytes": event["args"]["Count"] * 4, "ns": 0}
            elif event["cat"] == "GPU" and event["ph"] == "b" and current:
                ns = event["args"]["StopGpuClk"] - event["args"]["StartGpuClk"]
                current["ns"] = max(current["ns"], ns)
            elif event["cat"] == "COLL":
                current = None
        start = trace.notes("Process")[0]["args"]["start_realtime_ns"] // 1000
        for line in lines:
            perf = line["coll_perf"]
            known = truth[(line["header"]["id"], perf["coll"], perf["coll_sn"])]
            self.assertEqual(perf["coll_msg_size_bytes"], known["bytes"])
            self.assertEqual(perf["coll_exec_time_us"], known["ns"] // 1000)
            self.assertEqual(perf["coll_timing_source"], "kernel_gpu")
            n = line["header"]["n_ranks"]
            whole = known["bytes"] * (1 if perf["coll"] == "AllReduce" else n)
            factor = (2 if perf["coll"] == "AllReduce" else 1) * (n - 1) / n
            self.assertAlmostEqual(perf["coll_algobw_gbs"], whole / known["ns"], places=4)
            self.assertAlmostEqual(perf["coll_busbw_gbs"], whole / known["ns"] * factor, places=4)
            self.assertTrue(perf["user_tag"])
            times = perf["event_trace_ts"]
            self.assertLess(abs(times["coll_start_ts"] - start), PATIENCE_S * 1e6)
            for kernel in times["kernel_events"]:
                self.assertLess(times["coll_start_ts"], kernel["kernel_stop_ts"])


class Tags(PluginTest):
    def tags(self, **settings):
        trace = Trace(self.play("--scenario", "nvtx", "--ranks", 2, **settings).files()[0])
        return trace, [(e["args"]["tag"], e["args"]["source"], e["args"]["depth"])
                       for e in trace.events if e["cat"] == "USER_TAG"]

    def test_nvtx_nesting(self):
        trace, tags = self.tags()
        # "before" was pushed before the first communicator, and later pops never remove it.
        self.assertEqual(tags[:7], [
            ("before", "nvtx", 1), ("step", "nvtx", 2), ("forward", "nvtx", 3), ("l\u00e4yer \U0001F600", "nvtx", 4),
            ("forward", "nvtx", 3), ("step", "nvtx", 2), ("before", "nvtx", 1)])
        self.assertEqual(tags[7:9], [("", "nvtx", 0), ("checkpoint", "nvtx", 0)])
        self.assertEqual(tags[-2:], [("direct", "call", 0), ("", "call", 0)])
        described = trace.notes("CallDescription")
        self.assertEqual([json.loads(e["args"]["text"]) for e in described], [{"name": "all_reduce", "rank": 0}])
        texts = {t[0] for t in tags}
        self.assertNotIn("ncclAllReduce", texts)
        self.assertNotIn("registered", texts)
        # 200 ranges deep: those beyond the limit are not shown and do not unbalance the others.
        self.assertEqual(max(t[2] for t in tags), 64)

    def test_nvtx_domain(self):
        _, tags = self.tags(NCCLPROF_TAG_DOMAIN="other,mine")
        self.assertEqual([t[0] for t in tags if t[1] == "nvtx"], ["registered", ""])

    def test_nvtx_every_domain_but_nccls(self):
        _, tags = self.tags(NCCLPROF_TAG_DOMAIN="*")
        texts = {t[0] for t in tags}
        self.assertIn("registered", texts)
        self.assertIn("forward", texts)
        self.assertNotIn("ncclAllReduce", texts)

    def test_prefix(self):
        _, tags = self.tags(NCCLPROF_TAG_PREFIX="for")
        self.assertEqual({t[0] for t in tags if t[1] == "nvtx"}, {"forward", ""})

    def test_long_tags_are_cut_and_say_so(self):
        trace = Trace(self.play("--ranks", 2, "--tags", "call", NCCLPROF_TAG_BYTES="4").files()[0])
        tags = [e["args"] for e in trace.events if e["cat"] == "USER_TAG"]
        self.assertEqual({t["tag"] for t in tags}, {"forw", "back", "grad", "opti", "done"})
        self.assertEqual({t["tag"] for t in tags if "truncated" not in t}, {"done"})


if __name__ == "__main__":
    unittest.main()
