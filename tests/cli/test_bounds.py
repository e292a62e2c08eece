"""Limits of the analysis: if one is reached and the answer could be different, a note reports it."""

from tests.cli.support import Case, kernel

EVERY = 6


class Bounds(Case):
    def check_notes(self, *words, expected):
        """The warnings about limits from both commands, as text and as JSON."""
        for command in ("diagnose", "stragglers"):
            warnings = [line for line in self.json(command)["warnings"] if any(word in line for word in words)]
            self.assertEqual(warnings, expected, command)
        text = self.run_program("diagnose").flat
        for line in expected:
            self.assertIn(f"note: {line}", text)

    def ingest_late(self, times):
        """Four ranks that join one operation per step of 7 ms. The host of rank 2 is 4 ms late in two of six steps, so many times.
        """
        for rank in range(4):
            lines, at = [], 1000
            for step in range(3 + EVERY * times):
                late = 4000 if 0 < step <= EVERY * times and step % EVERY in (3, 4) else 0
                begin = at + 6500 + (7 * step + 3 * rank) % 5 + (late if rank == 2 else 0)
                lines.append(kernel(step, rank, 7, rank, "0x10", begin - 5, begin, at + 7000 + late))
                at += 7000 + late
            self.write(f"dump{rank}.json", "[\n" + "".join(lines) + "{}]\n")
        self.store.unlink(missing_ok=True)
        self.run_program("ingest", *(f"dump{rank}.json" for rank in range(4)))

    def test_many_moments_are_one_fault(self):
        """A rank that is late at 66 moments."""
        self.ingest_late(66)
        self.check_notes("replayed", expected=[])
        (found,) = self.json("diagnose")["findings"]
        self.assertEqual((found["kind"], found["rank"], found["first_step"], found["period"]), ("host", 2, 3, EVERY))
        self.assertAlmostEqual(found["lost_us"], 66 * 2 * 4000, delta=66 * 10)

    def ingest_streams(self, between):
        """Two ranks with two streams: one call ends at 4 ms of each step; `count` short calls run on the other stream before that, and
        one 1 ms after it.
        """
        for rank in range(2):
            lines, number = [], 0
            for step in range(5):
                at = 1000 + 10000 * step
                calls = [("0x20", at, at + 4000)] + [("0x10", at + 20 * i + 10, at + 20 * i + 20) for i in range(between)]
                for stream, begin, end in [*calls, ("0x10", at + 5000 + rank, at + 5100)]:
                    lines.append(kernel(number, rank, 7 if stream == "0x10" else 8, rank, stream, begin - 5, begin, end))
                    number += 1
            self.write(f"dump{rank}.json", "[\n" + "".join(lines) + "{}]\n")
        self.store.unlink(missing_ok=True)
        self.run_program("ingest", *(f"dump{rank}.json" for rank in range(2)))

    def test_calls_that_are_not_looked_at(self):
        self.ingest_streams(63)
        self.check_notes("in flight", expected=[])
        self.ingest_streams(64)
        self.check_notes("in flight", expected=[
            "the gap times of 10 operations may be shorter than measured: "
            "more than 64 operations of their rank were in flight"])
