"""Several jobs in one store: which one is meant, and how to choose it."""

import csv
import io

from tests.cli.support import TOP, Case

JOBS = ("tp2dp2pp2-slow-rank", "tp2dp2pp2-slow-sender")
OF_JOBS = ("stragglers", "clocks", "diagnose")


class Jobs(Case):
    def ingest(self, *names):
        for name in names:
            self.run_program("ingest", TOP / "fixtures" / name)

    def csv(self, *words):
        return list(csv.DictReader(io.StringIO(self.run_program(*words, "--format", "csv").out)))

    def test_tables_name_the_run_where_there_are_several(self):
        self.ingest(JOBS[0])
        for command in ("stragglers", "clocks"):
            self.assertNotIn("run", self.run_program(command).out.splitlines()[0].split())
        self.assertNotIn("run 1: ", self.run_program("diagnose", "--all").out)
        self.ingest(JOBS[1])
        for command in ("stragglers", "clocks"):
            head, _, *rows = self.run_program(command).out.splitlines()
            self.assertEqual(head.split()[-1], "run")
            self.assertEqual({row.split()[-1] for row in rows if row}, {"1", "2"})
        findings = [line for line in self.run_program("diagnose", "--all").out.splitlines() if "confidence): " in line]
        self.assertRegex(findings[0], r"^run 1: compute \(high confidence\): the GPU of rank 1 ")
        self.assertTrue(all(line.startswith(("run 1: ", "run 2: ")) for line in findings), findings)

    def test_one_run_of_several(self):
        """What is said of a job alone is what is said of it among others, but for its number."""
        alone = {}
        for name in JOBS:
            self.ingest(name)
            alone[name] = {command: self.run_program(command).out for command in OF_JOBS}
            self.store.unlink()
        self.ingest(*JOBS)
        for command in OF_JOBS:
            for number, name in enumerate(JOBS, 1):
                with self.subTest(command=command, name=name):
                    self.assertEqual(self.run_program(command, "--run", number).out, alone[name][command])
            self.run_program(command, "--run", "0", status=2)
            self.assertIn("no run 3; the store holds runs 1 to 2", self.run_program(command, "--run", "3", status=1).err)

    def test_findings_as_csv_say_run_and_peers(self):
        self.ingest(*JOBS)
        findings, rows = self.json("diagnose")["findings"], self.csv("diagnose")
        self.assertEqual([(row["run"], row["peers"]) for row in rows],
                         [(str(finding["run"]), ",".join(map(str, finding["peers"]))) for finding in findings])
        self.assertEqual({row["run"] for row in rows}, {"1", "2"})
        self.assertTrue(any(row["peers"] for row in rows))
