"""The account of a run: the time lost is what findings explain and what has no finding, each part with its reason."""

import re

from tests.cli.support import TOP, Case

UNITS = {"ns": 1e-3, "us": 1, "ms": 1e3, "s": 1e6}
DDP = "--shape ddp --ranks 8 --layers 4 --per-node 4 --dialect chrome-v7 "


def us(text):
    number, unit = text.split()
    return float(number) * UNITS[unit]


class Account(Case):
    def job(self, options):
        """The report on a simulated job, and the planted faults."""
        files, truth = self.simulate(DDP + options)
        self.store.unlink(missing_ok=True)
        self.run_program("ingest", *files)
        return self.json("diagnose"), truth["faults"]

    def sure(self, report):
        return [finding for finding in report["findings"] if finding["confidence"] != "low"]

    def check_json(self, report):
        """To the nanosecond: times have three decimals."""
        summary, near = report["summary"], {"delta": 1e-3 * (1 + len(report["findings"]))}
        parts = [part for part in summary["undetermined"] if part["us"] is not None]
        accounts = sum(finding["account_us"] for finding in report["findings"])
        self.assertAlmostEqual(summary["lost_us"], summary["explained_us"] + sum(part["us"] for part in parts), **near)
        self.assertAlmostEqual(summary["explained_us"], accounts + summary["hidden_us"], **near)
        self.assertAlmostEqual(summary["unexplained_us"], summary["lost_us"] - summary["explained_us"], **near)
        self.assertLessEqual(summary["lost_us"], summary["steps_us"])
        for value in (summary["explained_us"], summary["hidden_us"], summary["unexplained_us"]):
            self.assertGreaterEqual(value, 0)
        for part in parts:
            self.assertTrue(part["us"] > 0 and part["steps"] > 0 and part["reason"] and part["remedy"], part)
        for finding in report["findings"]:
            self.assertLessEqual(finding["account_us"], finding["lost_us"] + 1e-3)
            if finding["confidence"] == "low":
                self.assertEqual(finding["account_us"], 0)
            elif not summary["hidden_us"]:
                self.assertAlmostEqual(finding["account_us"], finding["lost_us"], delta=1e-3)

    def check_text(self, report):
        """The same figures, as exact as three digits are."""
        summary, text = report["summary"], self.run_program("diagnose", status=None).whole
        said = re.search(r"^time lost(?: before the job stopped| in the loaded steps)?: (.*)$", text, re.M)
        runs = {finding["run"] for finding in report["findings"]} | {part["run"] for part in report["coverage"]}
        if not said or len(runs) > 1:
            return
        lost = re.match(r"(\S+ [mun]?s)", said[1])
        self.assertAlmostEqual(us(lost[1]) if lost else 0, summary["lost_us"], delta=0.006 * summary["lost_us"] + 1)
        explained = re.search(r"findings explain (\S+ [mun]?s)", said[1])
        self.assertAlmostEqual(us(explained[1]) if explained else 0, summary["explained_us"],
                               delta=0.006 * summary["explained_us"] + 1)
        parts = {reason: us(time) for time, reason in
                 re.findall(r"^unexplained: (\S+ [mun]?s) in \d+ steps?: (.*)$", text, re.M)}
        wanted = {part["reason"]: part["us"] for part in summary["undetermined"] if part["us"] is not None}
        self.assertEqual(set(parts), set(wanted))
        for reason, part_us in wanted.items():
            self.assertAlmostEqual(parts[reason], part_us, delta=0.006 * part_us)

    def test_each_fixture(self):
        for fixture in sorted((TOP / "fixtures").iterdir()):
            with self.subTest(fixture=fixture.name):
                self.store.unlink(missing_ok=True)
                self.run_program("ingest", fixture, status=None)
                report = self.json("diagnose", status=None)
                self.check_json(report)
                self.check_text(report)

    def test_a_fault_that_recurs_is_one_finding(self):
        """Garbage collection: the host of a rank stops in every sixth step."""
        report, (fault,) = self.job("--steps 40 --seed 3 --fault host:3:5:39/6:40%")
        (finding,) = self.sure(report)
        self.assertEqual((finding["kind"], finding["rank"], finding["first_step"], finding["last_step"], finding["period"],
                          finding["steps"]), ("host", 3, 5, 35, 6, None))
        self.assertIn("every 6th step from 5 to 35", finding["text"])
        self.assertAlmostEqual(finding["lost_us"] / fault["lost_us"], 1, delta=0.25)
        self.check_json(report)
        self.check_text(report)

    def test_irregular_steps_are_one_finding(self):
        steps = (7, 11, 24, 30, 47)
        report, faults = self.job("--steps 60 --seed 4 " + " ".join(f"--fault compute:5:{step}:{step}:200%" for step in steps))
        (finding,) = self.sure(report)
        self.assertEqual((finding["kind"], finding["rank"], finding["period"]), ("compute", 5, None))
        # The steps between two that are near each other may belong to it.
        self.assertLessEqual(set(steps), set(finding["steps"]))
        self.assertEqual((finding["first_step"], finding["last_step"]), (7, 47))
        self.assertLess(len(finding["steps"]), 20)
        self.assertAlmostEqual(finding["lost_us"] / sum(fault["lost_us"] for fault in faults), 1, delta=0.25)
        self.check_json(report)

    def test_two_intervals_are_one_finding(self):
        report, _ = self.job("--steps 40 --seed 5 --fault compute:5:8:11:50% --fault compute:5:20:26:50%")
        (finding,) = self.sure(report)
        self.assertEqual(finding["steps"], [*range(8, 12), *range(20, 27)])
        self.assertIn("steps 8-11 and 20-26", finding["text"])
        self.check_json(report)

    def test_faults_at_the_same_time_are_not_added(self):
        """The job waits for the slower of two ranks. The second one costs what the job gains after the first is gone."""
        report, faults = self.job("--steps 40 --seed 3 --fault compute:3:10:19:50% --fault compute:6:10:19:50%")
        findings = self.sure(report)
        self.assertEqual({finding["rank"] for finding in findings}, {3, 6})
        alone_us = max(fault["alone_us"] for fault in faults)
        self.assertAlmostEqual(report["summary"]["lost_us"] / alone_us, 1, delta=0.25)
        self.assertAlmostEqual(sum(finding["lost_us"] for finding in findings) / alone_us, 1, delta=0.25)
        self.check_json(report)
        self.check_text(report)

    def test_a_fault_in_all_steps_is_lost_time(self):
        """It makes no step longer than others."""
        report, (fault,) = self.job("--steps 40 --seed 3 --fault compute:3:0:39:40%")
        self.assertEqual([finding["rank"] for finding in self.sure(report)], [3])
        self.assertAlmostEqual(report["summary"]["lost_us"] / fault["lost_us"], 1, delta=0.25)
        self.assertEqual(report["summary"]["longer_steps"], [])
        self.check_json(report)

    def test_small_findings_take_one_line(self):
        """Only in the text, and not where they are asked for. JSON marks them."""
        report, _ = self.job("--steps 130 --seed 3 --fault compute:3:10:39:100% --fault compute:6:51:54:35%")
        large, small = self.sure(report)
        self.assertEqual((large["rank"], small["rank"]), (3, 6))
        self.assertLess(small["lost_us"], report["summary"]["steps_us"] / 100)
        self.assertEqual((large["folded"], small["folded"]), (False, True))
        text = self.run_program("diagnose").whole
        share = f"{100 * small['lost_us'] / report['summary']['steps_us']:.2g}"
        self.assertRegex(text, rf"\n1 smaller finding, {share} % of the run: compute, rank 6, steps 51-5\d, \S+ [mu]s; use --all\n")
        self.assertEqual(text.count("    Cost: "), 1)
        for options in (["--all"], ["--rank", 6], ["--explain"]):
            self.assertNotIn("smaller finding", self.run_program("diagnose", *options).whole)
            self.assertIn("GPU of rank 6 ", self.run_program("diagnose", *options).whole)
        self.run_program("diagnose", "--exit-code", status=3)

    def test_each_small_finding_counts_for_itself(self):
        """Each costs less than 1 % of the run, together they cost more."""
        report, _ = self.job("--steps 130 --seed 3 --fault compute:3:10:39:100% --fault compute:6:51:54:35% --fault host:5:70:73:35%"
                             " --fault compute:1:95:98:35%")
        small = [finding for finding in self.sure(report) if finding["folded"]]
        self.assertEqual({finding["rank"] for finding in small}, {6, 5, 1})
        part = sum(finding["lost_us"] for finding in small) / report["summary"]["steps_us"]
        self.assertGreater(part, 0.01)
        self.assertIn(f"\n3 smaller findings, together {100 * part:.2g} % of the run: ", self.run_program("diagnose").whole)
