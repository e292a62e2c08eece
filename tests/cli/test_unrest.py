"""diagnose, where the hosts of all ranks are late at once."""

from tests.cli.support import Case, kernel


class Unrest(Case):
    """Four ranks that meet once a step of 20 ms. In step 7 each host is late by so much, in ms."""

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
