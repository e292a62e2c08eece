"""One job recorded by several recorders: the profiler plugin, PyTorch's profiler, Flight Recorder, and logs."""

import gzip
import json
import re
import shutil
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.cli.recorder import Job  # noqa: E402
from tests.cli.support import TOP, Case, all_reduce  # noqa: E402
from tests.cli.test_torch_log import waits  # noqa: E402

PLUGIN = TOP / "fixtures/plugin-ddp-slow"
PROFILER = TOP / "fixtures/kineto-ddp-slow"
NAMES = {"AllReduce": "all_reduce", "Broadcast": "broadcast", "AllGather": "_all_gather_base"}
HOUR_NS = 3600 * 10**9


class Witnesses(Case):
    def anew(self, *folders):
        self.store.unlink(missing_ok=True)
        for folder in folders:
            self.run_program("ingest", "-q", folder)

    def found(self):
        keys = ("kind", "ranks", "first_step", "last_step", "confidence", "lost_us", "evidence")
        return [[finding[key] for key in keys] for finding in self.json("diagnose", "--all")["findings"]]

    def counts(self):
        row = self.info()
        return [row[key] for key in ("runs", "processes", "communicators", "collectives", "p2p", "collective_instances")]

    def left_out(self):
        return {row["dialect"]: row["count"] for row in self.json("info", "--ledger")["rows"]
                if row["reason"] == "operation that another recorder also contains"}

    def calls(self):
        """(rank, function, wall-clock time, bytes) of the plugin's calls, in their order on each rank."""
        self.anew(PLUGIN)
        return self.rows(
            "SELECT m.rank, f.name, coalesce(o.api_begin_ns, o.enqueue_begin_ns) + (SELECT min(realtime_ns - local_ns) FROM clock_anchor a"
            " WHERE a.process_id = m.process_id), o.bytes FROM operation o JOIN member m USING (member_id)"
            " JOIN vocabulary f ON f.kind = 'function' AND f.number = o.function ORDER BY m.rank, 3")

    def dump(self, calls, later_ns=0, odd=None, still_open=0):
        """Flight Recorder dumps of the calls; call `odd` of rank 1 has another size, and `still_open` more calls never end."""
        job = Job(4, {"0": [0, 1, 2, 3]})
        for number, (rank, function, at_ns, size) in enumerate(calls):
            job.at_ns = at_ns + later_ns - 1000 - 50_000
            job.entry(rank, "0", NAMES[function], "completed", line=43, dtype="Byte", count=size)
        if odd is not None:
            sizes = job.dumps[1]["entries"][odd]
            sizes["input_sizes"] = sizes["output_sizes"] = [[12]]
        for rank in range(4 if still_open else 0):
            job.at_ns = max(call[2] for call in calls) + 10**9
            if rank != 3:
                job.entry(rank, "0", "all_reduce", "scheduled", line=50)
        folder = self.folder / "dumps"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        job.write(folder)
        return folder

    def beside(self, folder):
        """In one folder with the plugin's traces."""
        both = self.folder / "both"
        shutil.rmtree(both, ignore_errors=True)
        shutil.copytree(PLUGIN, both)
        shutil.copytree(folder, both, dirs_exist_ok=True)
        return both

    def notes(self, text):
        return [warning for warning in self.json("diagnose")["warnings"] if text in warning]

    def test_plugin_and_profiler(self):
        """In any order. According to both TRUTH files: the GPU of rank 2, steps 6 to 9, and 396 operations twice."""
        self.anew(PLUGIN)
        alone, counts = self.found(), self.counts()
        self.assertEqual([found[:5] for found in alone if found[4] != "low"], [["compute", [2], 6, 9, "high"]])
        for folders in ([PLUGIN, PROFILER], [PROFILER, PLUGIN]):
            with self.subTest(first=folders[0].name):
                self.anew(*folders)
                self.assertEqual(self.found(), alone)
                self.assertEqual(self.counts(), counts)
                self.assertEqual(self.left_out(), {"kineto": 396})
                self.assertEqual([(run["recorder"], run["other_recorders"]) for run in self.json("info", "--runs")["rows"]],
                                 [("chrome-ncclprof", "kineto")])
                self.assertEqual(len(self.notes("was also recorded by kineto; 396 duplicate records")), 1)
                self.assertEqual({row["gpu"] for row in self.json("info", "--processes")["rows"]}, {0, 1})

    def with_self_sends(self, at):
        """The plugin's traces, in which each rank sends to itself before operation `at`. NCCL then mixes up the kernel times."""
        folder = self.folder / "mixed"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for path in sorted(PLUGIN.glob("*.gz")):
            lines = gzip.decompress(path.read_bytes()).decode().splitlines()
            begins = [number for number, line in enumerate(lines) if '"cat": "GROUP_API", "ph": "b"' in line]
            said = re.search(r'"pid": (\d+).*"CommHash": (\d+), "Rank": (\d+)', next(line for line in lines if '"Communicator"' in line))
            event = '{{"name": "Send", "cat": "P2P", "ph": "{}", "id": 7, "pid": %s, "tid": 1, "ts": {}%s}},' % (said[1], "{}")
            args = ', "args": {"CommHash": %s, "Rank": %s, "Peer": %s, "Count": 64, "Datatype": "ncclInt8", "nChannels": 1}' % (
                said[2], said[3], said[3])
            at_us = float(re.search(r'"ts": ([\d.]+)', lines[begins[at]])[1]) - 2
            lines[begins[at]:begins[at]] = [event.format("b", at_us, args), event.format("e", at_us + 1, "")]
            (folder / path.name.removesuffix(".gz")).write_text("\n".join(lines) + "\n")
        return folder

    def test_the_profiler_is_used_where_the_plugins_kernel_times_are_false(self):
        """According to TRUTH: the GPU of rank 2, steps 6 to 9."""
        self.anew(PROFILER)
        alone = self.found()
        self.assertEqual([found[:4] for found in alone if found[4] != "low"], [["compute", [2], 6, 9]])
        self.anew(self.with_self_sends(at=8))
        self.assertEqual(self.found(), [])
        self.assertIn("mixes them up after a rank has sent to itself", self.run_program("diagnose").flat)
        for folders in ([self.with_self_sends(at=8), PROFILER], [PROFILER, self.folder / "mixed"]):
            self.anew(*folders)
            self.assertEqual(self.found(), alone)
            self.assertEqual(self.counts()[0], 1)
            note, = self.notes("kineto was also recorded by chrome-ncclprof")
            self.assertIn("Those of chrome-ncclprof are not used: its kernel times belong to other operations", note)
            run, = self.json("info", "--runs")["rows"]
            self.assertEqual((run["recorder"], run["other_recorders"]), ("kineto", "chrome-ncclprof"))
            self.assertNotIn("sent to itself", self.run_program("diagnose").flat)

    def test_the_plugin_is_used_where_few_of_its_kernel_times_are_false(self):
        """The last operations only. Or the profiler was on for few steps."""
        self.anew(self.with_self_sends(at=-4), PROFILER)
        self.assertEqual(len(self.notes("chrome-ncclprof was also recorded by kineto")), 1)
        folder = self.folder / "profiler"
        folder.mkdir()
        for path in PROFILER.glob("*.gz"):
            content = json.loads(gzip.decompress(path.read_bytes()))
            events = content["traceEvents"]
            until = min(event["ts"] for event in events if event["name"] == "ProfilerStep#8")
            content["traceEvents"] = [event for event in events if event["ts"] < until]
            (folder / path.name.removesuffix(".gz")).write_text(json.dumps(content))
        self.anew(self.with_self_sends(at=8), folder)
        self.assertEqual(len(self.notes("chrome-ncclprof was also recorded by kineto")), 1)

    def test_kernels_without_nccl_are_no_difference(self):
        """The plugin does not see two kernels of vLLM in each of the profiler's 11 steps."""
        folder = self.folder / "profiler"
        folder.mkdir()
        for path in PROFILER.glob("*.gz"):
            content = json.loads(gzip.decompress(path.read_bytes()))
            steps = [event for event in content["traceEvents"] if event["name"].startswith("ProfilerStep#") and event["cat"] == "user_annotation"]
            for number, step in enumerate(steps * 2):
                kernel = {"ph": "X", "pid": step["pid"], "tid": step["tid"], "ts": step["ts"] + 9 + number // len(steps), "dur": 0.5}
                content["traceEvents"] += [
                    {**kernel, "cat": "cuda_runtime", "name": "cudaLaunchKernel", "args": {"correlation": 900000 + number}},
                    {**kernel, "cat": "kernel", "name": "void vllm::cross_device_reduce_1stage<float, 4>(int)", "pid": 0, "tid": 7,
                     "args": {"correlation": 900000 + number, "stream": 7, "device": 0}}]
            (folder / path.name.removesuffix(".gz")).write_text(json.dumps(content))
        self.anew(PLUGIN, folder)
        self.assertEqual(self.left_out(), {"kineto": 396 + 88})
        self.assertEqual(self.counts()[0], 1)

    def test_sources_are_added_to_the_recorder_that_is_used(self):
        calls = self.calls()
        for folders in ([self.with_self_sends(at=8), PROFILER], [PROFILER, self.folder / "mixed"]):
            self.anew(*folders, self.dump(calls))
            self.assertEqual(self.rows("SELECT source, count(*) AS n FROM operation GROUP BY source"),
                             [("/home/user/train.py:43", 396)])
            self.assertEqual(self.counts()[0], 1)

    def test_what_one_lacks_comes_back_when_the_other_goes(self):
        """A trace that is replaced by another one at its path."""
        alone = self.folder / "plugin"
        shutil.copytree(PLUGIN, alone)
        self.anew(alone, PROFILER)
        self.assertEqual(self.counts()[0], 1)
        for rank, trace in enumerate(sorted(alone.glob("*.gz"))):
            trace.write_text("[\n" + all_reduce(0, rank, 5000 + rank, 77, 1000) + "{}]\n")
        self.run_program("ingest", "-q", alone)
        self.assertEqual((self.counts()[0], self.left_out()), (2, {}))
        together = [found for found in self.found() if found[4] != "low"]
        self.anew(PROFILER)
        self.assertEqual([found for found in self.found() if found[4] != "low"], together)

    def test_sources_come_from_the_flight_recorder(self):
        calls = self.calls()
        alone, counts = self.found(), self.counts()
        self.run_program("ingest", "-q", self.dump(calls))
        self.assertEqual(self.found(), alone)
        self.assertEqual(self.counts(), counts)
        self.assertEqual(self.rows("SELECT source, count(*) AS n FROM operation GROUP BY source"),
                         [("/home/user/train.py:43", len(calls))])
        self.assertEqual(self.left_out(), {"flight-recorder-2.10": len(calls)})
        self.run_program("ingest", "-q", PROFILER)
        self.assertEqual(self.counts(), counts)
        self.assertEqual(self.left_out(), {"flight-recorder-2.10": len(calls), "kineto": 396})

    def test_contradictions_are_counted(self):
        calls = self.calls()
        size = [call for call in calls if call[0] == 1][20][3]
        self.run_program("ingest", "-q", self.dump(calls, odd=20))
        row, = [row for row in self.json("info", "--ledger")["rows"] if row["reason"].startswith("contradicting")]
        self.assertEqual((row["reason"], row["count"], row["example"]),
                         ("contradicting size of AllReduce", 1, f"12 bytes (flight-recorder-2.10) instead of {size} bytes (chrome-ncclprof)"))

    def test_another_attempt_is_another_job(self):
        """The same calls an hour later."""
        self.anew(self.beside(self.dump(self.calls(), later_ns=HOUR_NS)))
        self.assertEqual(self.counts()[0], 2)
        self.assertEqual(self.notes("may be the same job"), [])

    def test_calls_at_other_times_stay_apart(self):
        """A tenth of a second off: no recorder takes so long; a warning reports it if they are in one folder."""
        folder = self.dump(self.calls(), later_ns=10**8)
        self.anew(PLUGIN, folder)
        self.assertEqual((self.counts()[0], self.notes("may be the same job")), (2, []))
        self.anew(self.beside(folder))
        self.assertEqual(self.counts()[0], 2)
        note, = self.notes("may be the same job")
        self.assertIn("their operations do not have the same times", note)

    def test_logs_go_with_dumps_that_end_alike(self):
        """In one folder, with the process IDs that the watchdog reports for each rank; with other IDs they stay separate."""
        for last in 61, 60:
            with self.subTest(last=last):
                job = Job(4, {"0": [0, 1, 2, 3]})
                for number in range(61):
                    job.call("0", but=[2] if number > 51 else [], state="scheduled" if number > 51 else "completed")
                folder = self.folder / f"job{last}"
                folder.mkdir()
                job.write(folder)
                for rank in 0, 1, 3:
                    (folder / f"stderr.{rank}").write_text(waits(rank, last=last))
                self.anew(folder)
                self.assertEqual(self.counts()[0], 1 if last == 61 else 2)
                self.assertEqual({tuple(found[1]) for found in self.found()}, {(2,)})
                self.assertEqual(len(self.notes("do not end with the same operations")), 0 if last == 61 else 1)

    def test_a_stop_that_one_alone_tells_of_is_told(self):
        """The plugin's record ends before three ranks wait for the fourth."""
        self.anew(self.beside(self.dump(self.calls(), still_open=1)))
        stopped = [found for found in self.found() if found[0] == "missing"]
        self.assertEqual([found[1] for found in stopped], [[3]])
        self.assertEqual([found[1] for found in self.found() if found[0] == "compute" and found[4] != "low"], [[2]])


if __name__ == "__main__":
    unittest.main()
