"""Senders of one host that are slow at the same time are one finding."""

import json

from tests.cli.support import Case

JOB = ("--shape 3d --tp 2 --dp 2 --pp 2 --ranks 8 --per-node 4 --network-gbs 40 --nvlink-gbs 300 --layers 3 "
       "--steps 24 --dialect chrome-v7 --seed 7932")


class ScoreNetwork(Case):
    def believed(self, options, job=JOB):
        self.store.unlink(missing_ok=True)
        files, self.truth = self.simulate(f"{job} {options}")
        self.run_program("ingest", "-q", *files)
        findings = json.loads(self.run_program("diagnose", "--format", "json", status=None).out)["findings"]
        return [finding for finding in findings if finding["confidence"] != "low"]

    def test_interface_for_some_steps(self):
        """Two ranks share a network interface that is slow for five steps."""
        (finding,) = self.believed("--fault net:2,3:8:12:15%:*")
        self.assertEqual(("network", [2, 3], 8, 12),
                         (finding["kind"], finding["ranks"], finding["first_step"], finding["last_step"]))
        self.assertIn("sends from ranks 2 and 3 ", finding["text"])

    def test_interface_from_the_start(self):
        """There are no earlier steps to compare with, but other senders of the same operations."""
        (finding,) = self.believed("--fault net:2,3:0:23:15%:*")
        self.assertEqual(("network", [2, 3], "high"), (finding["kind"], finding["ranks"], finding["confidence"]))
        self.assertEqual(23, finding["last_step"])

    def check_cost(self, finding, least, most):
        """Checks which rank a finding names, and its cost as a part of the true one."""
        (fault,) = self.truth["faults"]
        self.assertEqual(("network", fault["ranks"]), (finding["kind"], finding["ranks"]))
        self.assertTrue(least < finding["lost_us"] / fault["lost_us"] < most, (finding["lost_us"], fault["lost_us"]))

    def test_all_to_all_from_the_start(self):
        """Sends and receives of a call share a kernel; only one direction of the links of a rank is slow."""
        job = "--shape moe --ranks 16 --per-node 4 --layers 2 --steps 12 --network-gbs 25 --nvlink-gbs 200 --dialect chrome-v7"
        (finding,) = self.believed("--seed 611 --fault receive:?:0:11:40%:*", job)
        self.check_cost(finding, 0.75, 1.5)
        self.assertEqual([], self.believed("--seed 614", job))

    def test_pipeline_from_the_start(self):
        """Inside hosts no end of a send or receive is recorded; the stages behind the slow link wait for it."""
        (finding,) = self.believed("--shape interleaved --tp 2 --dp 2 --pp 4 --microbatches 4 --ranks 16 --per-node 8 --layers 2 "
                                   "--steps 12 --network-gbs 25 --nvlink-gbs 200 --dialect chrome-v6 --seed 612 "
                                   "--fault net:?:0:11:60%:*", "")
        self.check_cost(finding, 0.75, 1.25)

    def test_tree_from_the_start(self):
        """One link of a tree holds all members of a small operation, and no past shows how fast it was."""
        (finding,) = self.believed("--shape context --cp 4 --ranks 16 --per-node 4 --layers 2 --steps 12 --network-gbs 25 "
                                   "--nvlink-gbs 200 --dialect chrome-v7 --seed 613 --fault net:?:0:11:25%:*", "")
        self.check_cost(finding, 0.75, 1.5)

    def test_three_steps_at_equal_distances(self):
        """Few steps are little evidence, unless they are just those that are by far longer than all others."""
        (finding,) = self.believed("--shape ddp --ranks 16 --per-node 4 --layers 2 --steps 17 --dialect chrome-v7 --seed 751 "
                                   "--fault edge:?:4:16/5:60%:*", "")
        self.check_cost(finding, 0.75, 1.5)
        self.assertEqual((4, 14, 5), (finding["first_step"], finding["last_step"], finding["period"]))

    def test_healthy(self):
        self.assertEqual([], self.believed(""))
