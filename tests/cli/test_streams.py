"""diagnose on ranks whose streams are busy for longer than their own kernels show."""

from tests.cli.support import Case, event, kernel


class Streams(Case):
    """Four ranks. 0 and 1, 2 and 3 join on one stream, then 0 and 2, 1 and 3 on another, and all ranks once per step. The GPU of
    rank 1 is 5 ms late for the first in three steps. Rank 0 waits for it there, and is late for the next operation on the other
    stream, without an own delay that explains it.
    """

    STEP, LATE = 20000, 5000

    def play(self, rank):
        lines, late_before = [], 0
        for step in range(14):
            jitter = (7 * step + 3 * rank) % 5
            at = 1000 + step * self.STEP + late_before
            late = self.LATE if 6 <= step <= 8 else 0
            ready = at + 2000 + jitter + (late if rank == 1 else 0)
            done = at + 2100 + (late if rank in (0, 1) else 0)
            lines.append(kernel(step, rank, 7 + rank // 2, rank % 2, "0x10", at, ready, done + 5))
            begin, all_there = done + 1000 + jitter, at + 3105 + late
            lines.append(kernel(step, rank, 9 + rank % 2, rank // 2, "0x20", at + 10, begin, all_there + 50))
            lines.append(kernel(step, rank, 11, rank, "0x10", at + 20, all_there + 1000 + jitter, all_there + 1105))
            late_before += late
        return "[\n" + "".join(lines) + "{}]\n"

    def test_who_waited_on_another_stream_is_not_late_by_itself(self):
        for rank in range(4):
            self.write(f"dump{rank}.json", self.play(rank))
        self.run_program("ingest", *(f"dump{rank}.json" for rank in range(4)))
        found = [(finding["kind"], finding["rank"], finding["first_step"], finding["last_step"])
                 for finding in self.json("diagnose")["findings"] if finding["confidence"] != "low"]
        self.assertEqual(found, [("compute", 1, 6, 8)])


class Trees(Case):
    """Four ranks on four hosts: an AllReduce by a tree, whose root is rank 0, then an AllReduce by a ring, 10 us after the GPU has
    the result. In three steps the result takes 5 ms more to reach rank 2. The kernels of leaves stop long before that.
    """

    STEP, SLOW = 20000, 5000

    def taking(self, number, pid, begin, end):
        """The result arrives from the root: the GPU takes the last data at `end`."""
        return (event("ProgressRecv", "PROXY", "b", number, pid, begin, Channel=0, Peer=0, Steps=1, ChunkSize=16384, transSize=16384)
                + event("RecvWait", "NET", "b", number, pid, begin, Step=0) + event("RecvWait", "NET", "e", number, pid, end - 10)
                + event("RecvGpuWait", "NET", "b", number, pid, end - 10, Step=0)
                + event("RecvGpuWait", "NET", "e", number, pid, end)
                + event("ProgressRecv", "PROXY", "e", number, pid, end))

    def play(self, rank):
        lines, late_before = [], 0
        for step in range(14):
            jitter = (7 * step + 3 * rank) % 5
            at = 1000 + step * self.STEP + late_before
            slow = self.SLOW if 6 <= step <= 8 else 0
            begin, done = at + 2000 + jitter, at + (3050 + (slow if rank == 2 else 0) if rank else 3000)
            lines.append(self.tree(step, rank, at, begin, at + 2100 if rank else done, done))
            lines.append(kernel(1000 + step, rank, 11, rank, "0x10", at + 20, done + 10 + jitter, at + 3200 + slow))
            late_before += slow
        return "[\n" + "".join(lines) + "{}]\n"

    def tree(self, number, rank, enqueued, begin, stop, done):
        lines = kernel(number, rank, 9, rank, "0x10", enqueued, begin, stop).replace("RING", "TREE").splitlines(keepends=True)
        at = next(i for i, line in enumerate(lines) if "KernelCh" in line)
        if rank:
            lines.insert(at, self.taking(number, 1000 + rank, begin, done))
        return "".join(lines)

    def test_who_still_receives_the_result_of_a_tree_is_not_late(self):
        for rank in range(4):
            self.write(f"dump{rank}.json", self.play(rank))
        self.run_program("ingest", *(f"dump{rank}.json" for rank in range(4)))
        self.assertEqual([(finding["kind"], finding["rank"], finding["first_step"], finding["last_step"])
                          for finding in self.json("diagnose")["findings"] if finding["kind"] != "network"], [])
        for row in self.json("stragglers")["rows"]:
            self.assertLess(row["own_us"], self.SLOW, row)
