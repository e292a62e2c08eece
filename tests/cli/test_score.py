"""diagnose on simulated jobs with faults that a single step does not show: recurring, on several ranks, in all steps, or
weak over many steps.
"""

from tests.cli.support import Case

DDP = "--shape ddp --ranks 16 --per-node 8 --layers 8 --network-gbs 40 --nvlink-gbs 300 --seed 7932 "


class Score(Case):
    def believed(self, options):
        files, self.truth = self.simulate(DDP + options)
        self.store.unlink(missing_ok=True)
        self.run_program("ingest", "-q", *files)
        return [found for found in self.json("diagnose")["findings"] if found["confidence"] != "low"]

    def check(self, found, kind, ranks, first, last, period=None):
        self.assertEqual((found["kind"], found["ranks"], found["first_step"], found["last_step"], found["period"]),
                         (kind, ranks, first, last, period))
        self.assertGreaterEqual(found["certainty"], 3)
        self.assertEqual(found["unit"], f"rank {ranks[0]}" if len(ranks) == 1 else f"ranks {ranks[0]} to {ranks[-1]}")

    def test_what_recurs_is_one_finding(self):
        found, = self.believed("--steps 40 --fault checkpoint:0:4:39/5:6000")
        self.assertEqual((found["rank"], found["period"]), (0, 5))
        self.assertIn("every 5th step", found["text"])

    def test_all_ranks_of_a_host_are_one_finding(self):
        found, = self.believed("--steps 24 --fault throttle:node1:8:23:20:*")
        self.check(found, "compute", list(range(8, 16)), 8, 23)
        self.assertIn("GPUs of ranks 8 to 15 compute longer", found["text"])

    def test_slow_from_the_first_step_on(self):
        found, = self.believed("--steps 24 --fault throttle:3:0:23:20:*")
        self.check(found, "compute", [3], 1, 23)

    def test_weak_steps_add_up(self):
        found, = self.believed("--steps 24 --fault compute:3:8:15:10%:*")
        self.assertEqual((found["ranks"], found["first_step"], found["last_step"]), ([3], 8, 15))

    def test_one_weak_rank_does_not_accuse_its_neighbours(self):
        """Rank 0 has slow moments of its own in this job; ranks 1 and 2 have none."""
        for found in self.believed("--steps 24 --fault compute:3:8:15:3%:*"):
            self.assertEqual(found["ranks"], [3])

    def test_healthy_jobs_are_left_alone(self):
        self.assertEqual(self.believed("--steps 24"), [])
