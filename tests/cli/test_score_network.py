"""Senders of one host that are slow at the same time are one finding."""

import json

from tests.cli.support import Case

JOB = ("--shape 3d --tp 2 --dp 2 --pp 2 --ranks 8 --per-node 4 --network-gbs 40 --nvlink-gbs 300 --layers 3 "
       "--steps 24 --dialect chrome-v7 --seed 7932")


class ScoreNetwork(Case):
    def believed(self, options):
        self.store.unlink(missing_ok=True)
        files, _ = self.simulate(f"{JOB} {options}")
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
        self.assertEqual(("network", [2, 3], "medium"), (finding["kind"], finding["ranks"], finding["confidence"]))
        self.assertEqual(23, finding["last_step"])

    def test_healthy(self):
        self.assertEqual([], self.believed(""))
