"""JSON lines of CoMMA, Google's profiler plugin."""

import json

from .support import TOP, Case

FIXTURE = TOP / "fixtures/comma"


class Comma(Case):
    def test_counts_by_the_fixtures_truth(self):
        truth = json.loads(FIXTURE.joinpath("TRUTH").read_text().split("\n{")[1].join(["{", ""]))
        self.run_program("ingest", FIXTURE)
        row, = self.json("info")["rows"]
        self.assertEqual({key: row[key] for key in ("collectives", "p2p", "proxy_steps")},
                         {key: truth[key] for key in ("collectives", "p2p", "proxy_steps")})

    def test_operations_are_joined_and_keep_how_they_were_done(self):
        self.run_program("ingest", FIXTURE)
        rows = {(row["function"], row["algorithm"], row["protocol"]): row
                for row in self.json("report", "--by", "function,algorithm,protocol")["rows"]}
        self.assertEqual({key: (row["instances"], row["operations"]) for key, row in rows.items()},
                         {("AllReduce", "RING", "SIMPLE"): (9, 18), ("AllGather", "PAT", "LL128"): (8, 16),
                          ("Send", None, None): (1, 2)})

    def test_network_steps_are_there_for_stalls(self):
        self.run_program("ingest", FIXTURE)
        self.assertEqual({(row["sender"], row["receiver"]): row["steps"] for row in self.json("stalls")["rows"]},
                         {(0, 1): 16, (1, 0): 16})

    def test_who_was_late_cannot_be_told_and_diagnose_says_so(self):
        self.run_program("ingest", FIXTURE)
        answer = self.json("diagnose")
        self.assertEqual(answer["findings"], [])
        self.assertTrue(any("late ranks cannot be detected" in warning for warning in answer["warnings"]))

    def test_told_by_content(self):
        for name in ("a", "b"):
            number = {"a": 300, "b": 301}[name]
            self.write(name, FIXTURE.joinpath(f"latency-{number}.txt").read_text())
        files = self.json("ingest", self.folder)["files"]
        self.assertEqual({file["dialect"] for file in files if file["dialect"]}, {"comma"})
