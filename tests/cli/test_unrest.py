"""diagnose on jobs in which the hosts of all ranks are late at the same time."""

from tests.cli.support import Case, kernel, tag


class Unrest(Case):
    """Four ranks that join one operation per step of 20 ms. In step 7 each host is late by the given time, in ms."""

    def accused(self, late_ms):
        for rank in range(4):
            lines, before = [], 0
            for step in range(16):
                at = 1000 + 20000 * step + before
                late, latest = (late_ms[rank] * 1000, max(late_ms) * 1000) if step == 7 else (0, 0)
                begin = at + 15000 + (7 * step + 3 * rank) % 5 + late
                lines.append(kernel(step, rank, 7, rank, "0x10", begin - 20, begin, at + 15100 + latest))
                before += latest
            self.write(f"dump{rank}.json", "[\n" + "".join(lines) + "{}]\n")
        self.store.unlink(missing_ok=True)
        self.run_program("ingest", *(f"dump{rank}.json" for rank in range(4)))
        return [(finding["kind"], finding["rank"], finding["first_step"])
                for finding in self.json("diagnose")["findings"] if finding["confidence"] != "low"]

    def test_one_alone_is_to_blame(self):
        self.assertEqual(self.accused([0, 0, 12, 0]), [("host", 2, 7)])
        self.assertEqual(self.accused([3, 4, 16, 5]), [("host", 2, 7)])

    def test_the_latest_of_all_is_not(self):
        self.assertEqual(self.accused([48, 50, 62, 49]), [])


class Once(Case):
    """Six ranks, two operations per step of 7 ms; the host of rank 2 is 4 ms late before the first one, in steps 7 to 9."""

    def accused(self, extra):
        for rank in range(6):
            lines, at, number = [], 1000, 0
            for step in range(16):
                for phase in ("forward", "backward"):
                    slow = 4000 if phase == "forward" and 7 <= step <= 9 else 0
                    begin = at + 3000 + (7 * rank + 13 * step + number) % 11 + (slow if rank == 2 else 0)
                    lines.append(kernel(number, rank, 7, rank, "0x10", begin - 5, begin, at + 3500 + slow))
                    lines.append(tag(phase, rank, 1000 + rank, at + 1))
                    at, number = at + 3500 + slow, number + 1
                if step == 0 and extra:
                    lines.append(kernel(number, rank, 7, rank, "0x10", at + 900, at + 1000, at + 1100))
                    at, number = at + 1100, number + 1
            self.write(f"dump{rank}.json", "[\n" + "".join(lines) + "{}]\n")
        self.store.unlink(missing_ok=True)
        self.run_program("ingest", *(f"dump{rank}.json" for rank in range(6)))
        return [(finding["kind"], finding["rank"], finding["first_step"], finding["last_step"])
                for finding in self.json("diagnose")["findings"] if finding["confidence"] != "low"]

    def test_what_comes_once_hides_nothing_of_later_steps(self):
        self.assertEqual(self.accused(extra=False), [("host", 2, 7, 9)])
        self.assertEqual(self.accused(extra=True), [("host", 2, 7, 9)])
