"""diagnose, stragglers, stalls and steps agree: the rank at fault comes first, and no link contradicts it."""

from tests.cli.support import TOP, Case

FIXTURES = sorted(path.name for path in (TOP / "fixtures").iterdir() if path.is_dir())
SLOW = ("slow link", "slow sender", "slow receiver", "paused once")
STOPS = ("missing", "mismatch", "ended_early")
SHAPES = ("3d", "1f1b", "interleaved", "ddp", "fsdp", "hsdp", "moe", "context", "zero1")


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
        """Of the ranks without a finding, one that caused waits of more than 3 % of the run for each other rank, and twice as
        much as any other: the report says why it is not named. Returns how often that is said."""
        rows = self.json("stragglers", *options)["rows"]
        findings = told(report["findings"])
        named = set().union(*map(accused, findings))
        caused = sorted(((row["caused_us"], row["rank"]) for row in rows if row["rank"] not in named), reverse=True)
        notes = [warning for warning in report["warnings"] if "stragglers shows" in warning]
        steps_us = report["summary"]["steps_us"]
        if not caused or not steps_us or any(finding["kind"] in STOPS for finding in findings):
            return len(notes)
        most_us, rank = caused[0]
        is_clear = most_us >= 0.03 * steps_us * (len(rows) - 1) and all(us <= most_us / 2 for us, _ in caused[1:])
        self.assertEqual(len(notes), is_clear, (rank, report["warnings"]))
        if is_clear:
            self.assertRegex(notes[0], f"for rank {rank}, .* but (the finding of this rank has low confidence|no other rank|"
                                       "only one other rank|its own time is within)")
        return len(notes)

    def test_says_why_a_straggler_is_not_named(self):
        """If so large a gain is asked for, no finding is certain."""
        self.run_program("ingest", TOP / "fixtures/tp2dp2pp2-slow-rank")
        for options, says in (((), 0), (("--min-gain", "90"), 1)):
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
                kind, _, name = row["finding"].partition(", ")  # diagnose names the ranks in the same words
                self.assertTrue(any(finding["kind"] == kind and name in finding["text"] for finding in covering), row)

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

    def test_simulated_shapes(self):
        """A rank that is a little slower in every step, in jobs of all shapes: it is named, or a note says why not."""
        said = 0
        for shape in SHAPES:
            with self.subTest(shape=shape):
                ranks = "--tp 2 --dp 2 --pp 2" if shape in ("3d", "1f1b", "interleaved") else ""
                files, _ = self.simulate(f"--shape {shape} --ranks 8 {ranks} --per-node 4 --layers 3 --steps 10 "
                                         "--dialect chrome-v5 --seed 5 --fault compute:5:0:9:8%:*")
                self.store.unlink(missing_ok=True)
                self.run_program("ingest", "-q", *files)
                said += self.check_clear_straggler(self.json("diagnose", status=None))
        self.assertGreater(said, 0)

    def test_simulated_faults(self):
        """One job of each kind, and jobs with slow links that are not a fault of a rank."""
        job = "--shape 3d --tp 2 --dp 2 --pp 2 --ranks 8 --per-node 2 --layers 3 --steps 14 --dialect chrome-v5 --seed 7"
        for fault in ("", "compute:3:5:8:40%:*", "host:6:5:8:40%:*", "net:5:5:8:60%:*", "hang:5:7:7:0:grad_sync"):
            with self.subTest(fault=fault):
                files, _ = self.simulate(f"{job} --fault {fault}" if fault else job)
                self.store.unlink(missing_ok=True)
                self.run_program("ingest", "-q", *files)
                self.assertEqual(bool(self.check()), bool(fault))
