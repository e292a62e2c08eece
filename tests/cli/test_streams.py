"""diagnose on ranks that communicate on several streams."""

from tests.cli.support import Case, kernel

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
