"""Network steps that a process makes for another one of its host (PXN), as the bundled plugin records them: they are on the
link of the rank that they belong to.
"""

import json
import re

from tests.cli.support import Case, event
from tests.cli.test_stalls import HASH, RANKS, TRAINING_STEPS, Job, proxy

EPOCH_NS = 1_795_000_000_000_000_000
STARTED_US = [300, 850, 120, 640]  # the times of each process begin here
BOOTS = ["a0", "a0", "b1", "b1"]
SECOND = 0x77A100


def note(name, pid, **args):
    return json.dumps({"name": name, "cat": "NCCLPROF", "ph": "M", "pid": pid, "tid": 1, "ts": 0.0, "args": args}) + ",\n"


class Hosts(Job):
    """Ranks 0 and 1 on one host, 2 and 3 on another. `made_by`: {sender: rank whose process makes its sends}. A second
    communicator is of each host or, if `is_wide`, of all ranks. `kernels`: with their times.
    """

    def __init__(self, made_by, is_wide=False, kernels=False):
        super().__init__()
        self.made_by = made_by
        self.is_wide = is_wide
        self.kernels = kernels

    def second(self, rank):
        """The hash of the second communicator, its size and nodes, and the rank in it."""
        return (SECOND, RANKS, 2, rank) if self.is_wide else (SECOND + rank // 2, 2, 1, rank % 2)

    def kernel(self, pid, at_us, end_us):
        """On the only channel; its clock is that of the host."""
        if not self.kernels:
            return ""
        return (event("KernelCh", "GPU", "b", 0, pid, at_us, Channel=0, StartGpuClk=EPOCH_NS + int(at_us * 1000),
                      StopGpuClk=EPOCH_NS + int(end_us * 1000))
                + event("KernelCh", "GPU", "e", 0, pid, end_us))

    def head(self, rank):
        pid, started_us = 1000 + rank, STARTED_US[rank]
        second, size, nodes, place = self.second(rank)
        return ("[\n" + note("Process", pid, plugin="ncclprof", version="0.2.0", format=1, api=5, nccl_version=22809,
                             host=f"node{rank // 2}", mask=3935, start_monotonic_ns=5_000_000_000 + started_us * 1000,
                             start_realtime_ns=EPOCH_NS + started_us * 1000, boot_id=BOOTS[rank])
                + note("Communicator", pid, CommHash=HASH, Rank=rank, nRanks=RANKS, nNodes=2, CommName="", api=5)
                + note("Communicator", pid, CommHash=second, Rank=place, nRanks=size, nNodes=nodes, CommName="", api=5))

    def sends(self, rank, step, pid, at_us, number, **origin):
        text, end = "", 0.0
        for peer in ((rank + 1) % RANKS, (rank - 1) % RANKS):
            more, ended = proxy(number, pid, "Send", peer, at_us, self.waits(rank, peer, step))
            number += 1
            if origin:
                more = more.replace('"Channel": 0,', '"Channel": 0, ' + json.dumps(origin)[1:-1] + ",")
            text, end = text + more, max(end, ended)
        return text, end

    def rank(self, rank):
        """Its operations with the sends that its own process makes, and the sends that it makes for others."""
        pid, started_us = 1000 + rank, STARTED_US[rank]
        lines, number = self.head(rank), 0
        for step in range(TRAINING_STEPS):
            at = self.begin(step) - started_us
            text, end = self.sends(rank, step, pid, at + 10, 10_000 + 4 * step)
            lines += event("AllReduce", "COLL", "b", 2 * step, pid, at + 1, SeqNum=step, CommHash=HASH, Rank=rank, Count=2097152,
                           Datatype="ncclBfloat16", Algorithm="RING", Protocol="SIMPLE", nChannels=1)
            if rank not in self.made_by:
                lines += text
            for peer in ((rank + 1) % RANKS, (rank - 1) % RANKS):
                late = self.receive.get((peer, rank, step), 0.0)
                more, also = proxy(number, pid, "Recv", peer, at + 10, [(50.0 + late, 1.0, 1.0)] * 8)
                lines, end, number = lines + more, max(end, also), number + 1
            lines += self.kernel(pid, at + 5, end)
            lines += event("AllReduce", "COLL", "e", 2 * step, pid, end)
            second, _, _, place = self.second(rank)
            lines += event("AllReduce", "COLL", "b", 2 * step + 1, pid, end + 20, SeqNum=step, CommHash=second, Rank=place,
                           Count=64, Datatype="ncclInt8", Algorithm="RING", Protocol="LL", nChannels=1)
            lines += self.kernel(pid, end + 25, end + 60)
            lines += event("AllReduce", "COLL", "e", 2 * step + 1, pid, end + 60)
        for other in (sender for sender, maker in self.made_by.items() if maker == rank):
            for step in range(TRAINING_STEPS):
                lines += self.sends(other, step, pid, self.begin(step) + 10 - started_us, 50_000 + 4 * step,
                                    OriginPid=1000 + other, OriginRank=other)[0]
        return lines + "{}]\n"


class Exchanges(Hosts):
    """Sends and receives instead of collectives, all enqueued at the begin of the step."""

    def rank(self, rank):
        pid, started_us = 1000 + rank, STARTED_US[rank]
        lines, number = self.head(rank), 0
        peers = ((rank + 1) % RANKS, (rank - 1) % RANKS)
        for step in range(TRAINING_STEPS):
            at = self.begin(step) - started_us
            for peer, name in ((peer, name) for name in ("Recv", "Send") for peer in peers):
                late = self.receive.get((peer, rank, step), 0.0)
                waits = self.waits(rank, peer, step) if name == "Send" else [(50.0 + late, 1.0, 1.0)] * 8
                text, end = proxy(number, pid, name, peer, at + 10, waits)
                lines += event(name, "P2P", "b", number, pid, at + number % 4, CommHash=HASH, Rank=rank, Peer=peer, Count=2097152,
                               Datatype="ncclBfloat16", nChannels=1)
                lines += text if name == "Recv" or rank not in self.made_by else ""
                lines += self.kernel(pid, at + 5, end) + event(name, "P2P", "e", number, pid, end)
                number += 1
        for other in (sender for sender, maker in self.made_by.items() if maker == rank):
            for step in range(TRAINING_STEPS):
                lines += self.sends(other, step, pid, self.begin(step) + 10 - started_us, 50_000 + 4 * step,
                                    OriginPid=1000 + other, OriginRank=other)[0]
        return lines + "{}]\n"


class OtherProxies(Case):
    def judge(self, job, leave_out=()):
        self.store.unlink(missing_ok=True)
        for rank in range(RANKS):
            path = self.folder / "traces" / f"{rank}.json"
            path.unlink(missing_ok=True)
            if rank not in leave_out:
                self.write(f"traces/{rank}.json", job.rank(rank))
        self.run_program("ingest", "traces")
        return self.links()

    def links(self):
        self.answer = self.json("stalls")
        return {(row["sender"], row["receiver"]): row for row in self.answer["rows"]}

    def slow(self, made_by, kind=Hosts, **more):
        job = kind(made_by, **more)
        job.slow(1, 2, range(5, 8))
        return job

    def test_the_link_is_that_of_the_sender(self):
        """Rank 0's process makes the sends of rank 1, or each process those of its neighbour: all links stay as they are."""
        own = self.judge(self.slow({}))
        self.assertEqual(own[1, 2]["verdict"], "slow link")
        for made_by in ({1: 0}, {0: 1, 1: 0, 2: 3, 3: 2}):
            with self.subTest(made_by=made_by):
                self.assertEqual(self.judge(self.slow(made_by)), own)
                self.assertNotIn("belong to no operation", " ".join(self.answer["warnings"]))
                found = {(finding["kind"], finding["rank"], tuple(finding["peers"])) for finding in self.json("diagnose")["findings"]
                         if finding["confidence"] != "low"}
                self.assertEqual({kind for kind, _, _ in found} - {"network"}, set())

    def test_the_operation_is_the_one_that_was_active(self):
        """Where its rank has two communicators across hosts, only times of kernels can tell them apart."""
        own = self.judge(self.slow({}, is_wide=True, kernels=True))
        self.assertEqual(self.judge(self.slow({1: 0}, is_wide=True, kernels=True)), own)
        self.assertEqual(self.answer["warnings"], [])
        self.judge(self.slow({1: 0}, is_wide=True))
        self.assertIn("belong to no operation", " ".join(self.answer["warnings"]))

    def test_sends(self):
        """Of several that are active, the one to its peer."""
        for kernels in (True, False):
            own = self.judge(self.slow({}, Exchanges, kernels=kernels))
            self.assertGreater(own[1, 2]["send_wait_us_max"], 400)
            self.assertEqual(self.judge(self.slow({1: 0, 2: 3}, Exchanges, kernels=kernels)), own)
            wrong = self.json("query", "SELECT count(*) FROM v_proxy_operation p JOIN v_operation o USING (operation_id)"
                              " WHERE p.peer IS NOT o.peer OR direction <> lower(o.function)")["rows"]
            self.assertEqual(list(wrong[0].values()), [0])

    def test_whose_process_has_no_trace_is_counted(self):
        rows = self.judge(self.slow({1: 0}), leave_out=[1])
        self.assertNotIn("steps", [key for key in rows if key[0] == 1 and rows[key]["send_wait_us_p50"] is not None])
        self.assertIn(f"{2 * 8 * TRAINING_STEPS} network steps belong to no operation", " ".join(self.answer["warnings"]))

    def test_of_another_plugin_no_link_has_them(self):
        """NVIDIA's plugin does not record whose they are: nobody is blamed, and diagnose says what it lacks."""
        for made_by, expected in (({}, {(1, 2)}), ({1: 0}, set()), ({0: 1, 1: 0, 2: 3, 3: 2}, set())):
            with self.subTest(made_by=made_by):
                job = self.slow(made_by)
                self.store.unlink(missing_ok=True)
                for rank in range(RANKS):
                    lines = [line for line in job.rank(rank).splitlines(True) if '"NCCLPROF"' not in line]
                    self.write(f"traces/{rank}.json", re.sub(r'"Origin(Pid|Rank)": [0-9]+, ?', "", "".join(lines)))
                self.run_program("ingest", "traces")
                answer = self.json("diagnose")
                self.assertEqual({(finding["rank"], *finding["peers"]) for finding in answer["findings"]}, expected)
                makers = len(set(made_by.values()))
                self.assertEqual([note for note in answer["warnings"] if f"of {makers} trace" in note and "PXN" in note] != [],
                                 makers > 0, answer["warnings"])
                self.assertEqual("belong to no operation" in " ".join(self.json("stalls")["warnings"]), makers > 0)

    def test_a_trace_that_comes_later(self):
        job = self.slow({1: 0})
        own = self.judge(job)
        self.judge(job, leave_out=[1])
        self.write("traces/1.json", job.rank(1))
        self.run_program("ingest", "traces")
        self.assertEqual(self.links(), own)
        self.run_program("ingest", "--force", "traces/1.json")
        self.assertEqual(self.links(), own)

    def test_another_clock_is_not_shared(self):
        """After a restart of the host, times cannot be compared."""
        job = self.slow({1: 0})
        text = job.rank(0)
        self.judge(job)
        self.store.unlink()
        self.write("traces/0.json", text.replace('"boot_id": "a0"', '"boot_id": "a9"'))
        self.run_program("ingest", "traces")
        self.assertIn("belong to no operation", " ".join(self.json("stalls")["warnings"]))

    def test_stores_of_each_rank(self):
        """Merged, whether they are joined or not."""
        own = self.judge(self.slow({1: 0, 2: 3}))
        joined, again = self.folder / "joined.db", self.folder / "again.db"
        self.store.rename(joined)
        self.run_program("merge", "-o", again, joined)
        self.run_program("merge", "-o", self.store, again)
        self.assertEqual(self.links(), own)
        for rank in range(RANKS):
            self.run_program("--store", self.folder / f"{rank}.db", "ingest", f"traces/{3 - rank}.json")
        self.store.unlink()
        self.run_program("merge", "-o", self.store, *(self.folder / f"{rank}.db" for rank in range(RANKS)))
        self.assertEqual(self.links(), own)
