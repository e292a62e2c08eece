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

    def named(self, options):
        files, self.truth = self.simulate(options)
        self.store.unlink(missing_ok=True)
        self.run_program("ingest", "-q", *files)
        return [(found["kind"], found["ranks"], found["period"]) for found in self.json("diagnose")["findings"]
                if found["confidence"] != "low"]

    def test_a_host_that_is_a_stage_in_steps_that_recur(self):
        """Such a host has no peers; its other steps are the reference."""
        pipeline = "--shape 1f1b --ranks 8 --per-node 4 --tp 1 --dp 4 --pp 2 --layers 2 --microbatches 4 --steps 25 --seed 31 "
        self.assertEqual(self.named(pipeline + "--fault throttle:node1:2:22/4:120:*"), [("compute", [4, 5, 6, 7], 4)])
        self.assertEqual(self.named(pipeline), [])

    def test_a_gpu_that_is_shared_from_the_first_step_on(self):
        """The other process delays other kernels in each step: at no place do most steps show it."""
        job = "--shape 3d --ranks 8 --per-node 4 --tp 2 --dp 4 --pp 1 --layers 4 --compute 5 --steps 20 --seed 12 "
        self.assertEqual(self.named(job + "--fault gpu-share:6:0:19:30:*"), [("compute", [6], None)])
        cost, = [found["lost_us"] for found in self.json("diagnose")["findings"] if found["confidence"] != "low"]
        fault, = self.truth["faults"]
        self.assertGreater(cost, 0.7 * fault["alone_us"])
        self.assertLess(cost, 1.3 * fault["alone_us"])

    def test_a_gpu_is_slow_and_its_host_is_not(self):
        """Its partner waits in operations that nobody computes beside: lateness at the first does not explain the others."""
        self.assertEqual(self.named("--shape 1f1b --ranks 16 --per-node 8 --tp 2 --dp 2 --pp 4 --layers 3 --microbatches 8 "
                                    "--steps 18 --seed 5 --fault throttle:10:0:17:50:*"), [("compute", [10], None)])

    def test_two_that_are_slow_beside_each_other(self):
        """Repairing one of them gains nothing while the other is slow."""
        job = "--shape hsdp --ranks 32 --per-node 8 --layers 2 --steps 18 --seed 8 --fault throttle:17:0:17:22:* "
        self.assertEqual(sorted(self.named(job + "--fault throttle:14:0:17:20:*")),
                         [("compute", [14], None), ("compute", [17], None)])

    def test_gpus_of_one_of_two_hosts_from_the_first_step_on(self):
        zero = "--shape zero1 --ranks 8 --per-node 4 --layers 3 --steps 18 --compute 3 --seed 61 "
        self.assertEqual(self.named(zero + "--fault throttle:node1:0:17:22:*"), [("compute", [4, 5, 6, 7], None)])
        self.assertEqual(self.named(zero), [])

    def test_the_neighbor_of_a_slow_gpu_in_a_ring(self):
        """It computes later, where its peers do not compute, since it waits for data whose arrival is not recorded."""
        ring = "--shape context --ranks 16 --per-node 4 --cp 4 --layers 3 --compute 5 --steps 18 --dialect chrome-v4 "
        self.assertEqual(self.named(ring + "--seed 77 --fault gpu-share:9:0:17:22:*"), [("compute", [9], None)])

    def test_the_gpus_of_a_host_in_a_ring(self):
        """Repairing the rank that passes data on to the next host gains nearly all, but the others are as slow."""
        ring = "--shape context --ranks 16 --per-node 4 --cp 8 --layers 2 --steps 22 --network-gbs 25 --nvlink-gbs 200 "
        self.assertEqual(self.named(ring + "--dialect chrome-v6 --seed 88 --fault throttle:node1:4:11:60:*"),
                         [("compute", [4, 5, 6, 7], None)])
