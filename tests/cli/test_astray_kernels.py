"""Chrome traces with kernel times of another operation, kernels shared by many calls, or kernels without a stop: the traces
are analyzed or refused.
"""

import json
import random

from .support import Case

HASH = 7215532210987654321
GPU_CLOCK_NS = 1700000000000000000  # of the host's clock at 0


def line(name, category, phase, number, ts, **arguments):
    event = {"name": name, "cat": category, "ph": phase, "id": number, "pid": 40, "tid": 1, "ts": round(ts, 6)}
    return json.dumps(event | ({"args": arguments} if phase == "b" else {})) + ",\n"


def kernel(number, begin_us, end_us, noticed_us, channel=0, has_stop=True, inside=""):
    return (line("KernelCh", "GPU", "b", number, noticed_us, Channel=channel, StartGpuClk=GPU_CLOCK_NS + int(begin_us * 1000),
                 StopGpuClk=GPU_CLOCK_NS + int(end_us * 1000) if has_stop else 0) + inside +
            line("KernelCh", "GPU", "e", number, max(noticed_us, end_us) + 2 if has_stop else 0))


class Trace:
    """The lines of one rank; `times` are the begin and end of its kernels, in order of issue."""

    def __init__(self, rank):
        self.rank, self.text, self.number, self.times = rank, "[\n", 0, []

    def call(self, name, at_us, inside):
        self.text += (line(name + " API", "GROUP_API", "b", self.number, at_us, groupApiId=self.number, groupDepth=1) +
                      line(name, "COLL_API", "b", self.number, at_us + 1, count=4096, datatype="ncclFloat32", root=0, GraphCaptured=0,
                           Stream="0x10") + inside +
                      line(name, "COLL_API", "e", self.number, at_us + 8) + line(name + " API", "GROUP_API", "e", self.number, at_us + 9))
        self.number += 1

    def collective(self, name, sequence, at_us, kernels):
        self.call(name, at_us, line(name, "COLL", "b", self.number, at_us + 4, SeqNum=sequence, CommHash=HASH, Rank=self.rank, Count=4096,
                                    Datatype="ncclFloat32", Algorithm="RING", Protocol="LL", nChannels=1) + kernels +
                  line(name, "COLL", "e", self.number, at_us + 6))

    def pair(self, name, peer, at_us, kernels):
        return (line(name, "P2P", "b", self.number, at_us + 4, CommHash=HASH, Rank=self.rank, Peer=peer, Count=4096,
                     Datatype="ncclFloat32", nChannels=1) + kernels + line(name, "P2P", "e", self.number, at_us + 6))


def steps_of(count, late, length_us):
    """When each step begins, when the kernel of each rank starts, and when the last rank has transferred its data."""
    rng, at_us = random.Random(count), 1000
    for step in range(count):
        starts = [at_us + 500 + rng.random() * 3 + (2500 if rank == late and 12 <= step < 18 else 0) for rank in range(3)]
        yield step, at_us, starts, max(starts) + length_us
        at_us = max(starts) + length_us


class AstrayKernels(Case):
    def diagnose(self, traces, status=0):
        for trace in traces:
            self.write(f"job/trace_{HASH}_{trace.rank}.json", trace.text.rstrip(",\n") + "\n]\n")
        self.store.unlink(missing_ok=True)
        self.run_program("ingest", self.folder / "job")
        report = self.json("diagnose", *(["--exit-code"] if status else []), status=status)
        text = " ".join(self.run_program("diagnose").out.split())
        return [(finding["kind"], finding["rank"], finding["confidence"]) for finding in report["findings"]], text, report["summary"]

    def drifting(self, broadcasts, are_recorded=True, are_counted=False):
        """A healthy job of three ranks. Each Broadcast leaves the kernel count one behind."""
        traces = [Trace(rank) for rank in range(3)]
        for step, begun_us, starts, end_us in steps_of(40, None, 400):
            for trace, start_us in zip(traces, starts):
                if step in broadcasts:
                    trace.times.append((begun_us + 40, begun_us + 60))
                    own = kernel(trace.number, *trace.times[-1], begun_us + 42) if are_counted else ""
                    if are_recorded:
                        trace.collective("Broadcast", len([b for b in broadcasts if b < step]), begun_us + 20, own)
                trace.times.append((start_us, end_us))
                behind = 0 if are_counted else len([b for b in broadcasts if b <= step])
                first_us, last_us = trace.times[-1 - behind]
                trace.collective("AllReduce", step, begun_us + 300,
                                 kernel(trace.number, first_us, last_us, max(first_us, begun_us + 305) + 2))
        return traces

    def test_after_broadcasts(self):
        for broadcasts in ((0,), (0, 20), tuple(range(0, 40, 3))):
            with self.subTest(broadcasts=broadcasts):
                findings, text, summary = self.diagnose(self.drifting(broadcasts), status=4)
                self.assertEqual((findings, summary["judged_operations"]), ([], 0))
                self.assertIn("not enough data: kernel times belong to other operations, because NCCL 2.29.2", text)
                self.assertIn("NCCL_ALLGATHERV_ENABLE=0", text)

    def test_what_was_lost_count_of_is_not_recorded(self):
        findings, text, _ = self.diagnose(self.drifting((0, 20), are_recorded=False), status=4)
        self.assertEqual(findings, [])
        self.assertIn("not enough data: kernel times belong to other operations: kernels start before they are called", text)

    def test_broadcasts_that_are_counted(self):
        findings, text, summary = self.diagnose(self.drifting(tuple(range(40)), are_counted=True))
        self.assertEqual(findings, [])
        self.assertIn("no problem found Coverage", text)
        self.assertGreater(summary["judged_operations"], 100)

    def all_to_all(self, name, late, has_stops=True, inside=""):
        """Each rank sends to all ranks, including itself, with one kernel that ends when all ranks have arrived; one channel
        per peer.
        """
        traces = [Trace(rank) for rank in range(3)]
        for _, begun_us, starts, end_us in steps_of(30, late, 350):
            for trace, start_us in zip(traces, starts):
                pairs = ""
                for channel in range(3):
                    for way, peer in (("Send", (trace.rank + channel) % 3), ("Recv", (trace.rank - channel) % 3)):
                        pairs += trace.pair(way, peer, begun_us + 50, kernel(trace.number, start_us, end_us, start_us + 2, channel,
                                                                             has_stops or channel == 0, inside))
                trace.call(name, begun_us + 50, pairs)
        return traces

    def test_all_to_all_calls(self):
        for name in ("AlltoAll", "AllToAll", "AllToAllv"):
            with self.subTest(name=name):
                findings, _, summary = self.diagnose(self.all_to_all(name, 2))
                self.assertEqual(findings, [("compute", 2, "high")])
                self.assertEqual(summary["not_judged"]["without_time"], 0)
        self.assertEqual(self.rows("SELECT function, count(*) FROM v_operation GROUP BY function ORDER BY function"),
                         [("Recv", 3 * 30 * 3), ("Send", 3 * 30 * 3)])

    def test_a_healthy_all_to_all(self):
        self.assertEqual(self.diagnose(self.all_to_all("AlltoAll", None))[0], [])

    def test_an_all_to_all_of_which_one_channel_has_stops(self):
        """Kernels begin late on the late rank, and all others wait for it. That no rank was late cannot be told without ends."""
        findings, text, summary = self.diagnose(self.all_to_all("AlltoAll", 2, has_stops=False))
        self.assertEqual((findings, summary["judged_operations"]), ([("compute", 2, "high")], 0))
        findings, text, summary = self.diagnose(self.all_to_all("AlltoAll", None, has_stops=False), status=4)
        self.assertEqual((findings, summary["judged_operations"]), ([], 0))
        self.assertIn("not enough data: operations have no end times, because NVIDIA's example plugin records the stop of a kernel on "
                      "channel 0 only", text)

    def test_sends_with_a_stop_beside_receives_without(self):
        traces = [Trace(rank) for rank in range(3)]
        for _, begun_us, starts, end_us in steps_of(30, None, 400):
            for trace, start_us in zip(traces, starts):
                trace.call("Ring", begun_us + 50, "".join(
                    trace.pair(way, (trace.rank + (1 if way == "Send" else 2)) % 3, begun_us + 50,
                               kernel(trace.number, start_us, end_us, start_us + 2, channel, channel == 0))
                    for way, channel in (("Send", 0), ("Recv", 1))))
        findings, text, _ = self.diagnose(traces, status=4)
        self.assertEqual(findings, [])
        self.assertRegex(text, r"not enough data: .* without a duration \(record kernels with a plugin that records every stop")

    def test_names_of_later_versions(self):
        step = line("KernelStep", "GPU", "b", 1, 10.0, Channel=0, IsSend=1, Peer=1, Step=0, Size=64, StartGpuClk=1, StopGpuClk=2)
        step += line("KernelStep", "GPU", "e", 1, 11.0)
        known = self.diagnose(self.all_to_all("AlltoAll", 2))
        self.assertEqual(self.diagnose(self.all_to_all("AlltoAll", 2, inside=step)), known)
        ledger, = self.json("info", "--ledger")["rows"]
        self.assertEqual((ledger["reason"], ledger["damage"], ledger["count"]), ("unknown event", 0, 2 * 3 * 30 * 6))
