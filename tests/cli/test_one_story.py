"""diagnose, stragglers, stalls and steps agree: the rank at fault comes first, and no link contradicts it."""

from tests.cli.support import TOP, Case

FIXTURES = sorted(path.name for path in (TOP / "fixtures").iterdir() if path.is_dir())
SLOW = ("slow link", "slow sender", "slow receiver", "paused once")
STOPS = ("missing", "mismatch", "ended_early")


def told(findings):
    """The findings that are shown by default."""
    return [finding for finding in findings if finding["confidence"] != "low" or finding["kind"] in STOPS]


def accused(finding):
    return set(finding["ranks"]) | set(finding["candidates"])


def blames(finding, row):
    near, far = ("sender", "receiver") if finding["direction"] == "send" else ("receiver", "sender")
    return (finding["kind"] == "network" and row["run"] == finding["run"] and row[near] in accused(finding) and
            (not finding["peers"] or row[far] in finding["peers"]))


class OneStory(Case):
    def check_stragglers(self, findings):
        rows = self.json("stragglers")["rows"]
        if findings and rows:
            self.assertIn(rows[0]["rank"], accused(findings[0]))
            self.assertEqual((rows[0]["kind"], rows[0]["confidence"], rows[0]["lost_us"]),
                             tuple(findings[0][key] for key in ("kind", "confidence", "lost_us")))
        everybody = {(finding["run"], rank) for finding in findings for rank in accused(finding)}
        self.assertEqual({(row["run"], row["rank"]) for row in rows if row["kind"]}, everybody)

    def check_clear_straggler(self, report, *options):
        """A rank that caused more than 3 % of the run, and twice as much as any other, is named, or the report says why not."""
        rows = self.json("stragglers", *options)["rows"]
        caused = sorted(((row["caused_us"], row["rank"]) for row in rows), reverse=True)
        steps_us = report["summary"]["steps_us"]
        if len(caused) < 2 or not steps_us or any(finding["kind"] in STOPS for finding in report["findings"]):
            return False
        (most_us, rank), (second_us, _) = caused[:2]
        if most_us < 0.03 * steps_us * (len(caused) - 1) or second_us > most_us / 2:
            return False
        sure = [finding for finding in report["findings"] if finding["confidence"] != "low"]
        said = any("stragglers shows" in warning and f"for rank {rank}," in warning for warning in report["warnings"])
        self.assertTrue(sure or said, (rank, report["warnings"]))
        self.assertNotEqual(bool(sure), said)
        return said

    def test_says_why_a_straggler_is_not_named(self):
        """If so large a gain is asked for, no finding is certain."""
        self.run_program("ingest", TOP / "fixtures/tp2dp2pp2-slow-rank")
        for options, says in (((), False), (("--min-gain", "90"), True)):
            self.assertEqual(self.check_clear_straggler(self.json("diagnose", *options), *options), says)

    def check_stalls(self, findings):
        for row in self.json("stalls")["rows"]:
            if row.get("reading"):
                continue  # for operations that never ended, no verdict
            is_blamed = any(blames(finding, row) for finding in findings)
            self.assertEqual(row["verdict"] in SLOW, is_blamed, row)
            late = {"no data": row["sender"], "no credit": row["receiver"]}.get(row["verdict"])
            if late is not None:
                self.assertTrue(any(late in finding["ranks"] and finding["kind"] != "network" for finding in findings), row)

    def check_steps(self, findings):
        for row in self.json("steps")["rows"]:
            covering = [finding for finding in findings if finding["first_step"] is not None
                        and finding["first_step"] <= row["step"] <= finding["last_step"]
                        and row["run"] == finding["run"] and (row["step"] - finding["first_step"]) % (finding["period"] or 1) == 0]
            self.assertEqual(bool(row["finding"]), bool(covering), row)
            if row["finding"]:
                self.assertIn(row["finding"], [f"{finding['kind']}, rank {finding['process']}" for finding in covering])

    def check(self):
        report = self.json("diagnose", status=None)
        findings = told(report["findings"])
        if len({finding["run"] for finding in findings}) > 1:
            return None
        if len(report["coverage"]) == 1:
            self.check_clear_straggler(report)
        self.check_stragglers(findings)
        self.check_stalls(findings)
        self.check_steps(findings)
        return findings

    def test_fixtures(self):
        blamed = 0
        for name in FIXTURES:
            with self.subTest(fixture=name):
                self.store.unlink(missing_ok=True)
                self.run_program("ingest", TOP / "fixtures" / name, status=None)
                blamed += len(self.check() or ())
        self.assertGreaterEqual(blamed, 4)

    def test_beside_another_run(self):
        """The rank at fault comes first in a store with several runs, whichever run it is in."""
        for other in ("tp2dp2pp2-clean", "fsdp-clean"):
            self.store.unlink(missing_ok=True)
            self.run_program("ingest", TOP / "fixtures" / other, TOP / "fixtures/tp2dp2pp2-slow-sender")
            finding, = self.check()
            self.assertEqual(self.json("stragglers")["rows"][0]["run"], finding["run"])

    def test_simulated_faults(self):
        """One job of each kind, and jobs with slow links that are not a fault of a rank."""
        job = "--shape 3d --tp 2 --dp 2 --pp 2 --ranks 8 --per-node 2 --layers 3 --steps 14 --dialect chrome-v5 --seed 7"
        for fault in ("", "compute:3:5:8:40%:*", "host:6:5:8:40%:*", "net:5:5:8:60%:*", "hang:5:7:7:0:grad_sync"):
            with self.subTest(fault=fault):
                files, _ = self.simulate(f"{job} --fault {fault}" if fault else job)
                self.store.unlink(missing_ok=True)
                self.run_program("ingest", "-q", *files)
                self.assertEqual(bool(self.check()), bool(fault))
