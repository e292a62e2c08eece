"""Pauses between two steps for which half of the ranks or more wait."""

from tests.cli.support import Case


class Pauses(Case):
    def test_one_of_two_ranks_pauses_between_steps(self):
        """Half of the ranks lose the time before the step, the other half in its first operation, so no median shows it."""
        files, _ = self.simulate("--shape ddp --ranks 2 --per-node 1 --layers 3 --steps 20 --dialect chrome-v7 "
                                 "--fault host:1:10:10:500000:forward --seed 3")
        self.run_program("ingest", "-q", *files)
        report = self.json("diagnose")
        found = [finding for finding in report["findings"] if finding["confidence"] != "low"]
        self.assertEqual([(finding["kind"], finding["ranks"], finding["first_step"]) for finding in found], [("host", [1], 10)])
        self.assertAlmostEqual(found[0]["lost_us"], 500000, delta=5000)
        self.assertAlmostEqual(report["summary"]["lost_us"], 500000, delta=5000)

    def test_half_of_the_ranks_pause_between_steps(self):
        files, _ = self.simulate("--shape 3d --tp 2 --dp 2 --pp 1 --ranks 4 --per-node 2 --layers 3 --steps 20 --dialect chrome-v7 "
                                 "--fault host:2,3:10:10:500000:forward --seed 3")
        self.run_program("ingest", "-q", *files)
        row, = self.json("diagnose")["summary"]["longer_steps"]
        self.assertEqual((row["first_step"], row["last_step"]), (10, 10))
        self.assertAlmostEqual(row["took_us"] - row["usual_us"], 500000, delta=5000)
