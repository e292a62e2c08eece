"""Filters, --sort and --top: for every analysis, the filtered rows are those of the complete output that match."""

from tests.cli import reader
from tests.cli.support import TOP, Case

FIXTURE = TOP / "fixtures/tp2dp2pp2-slow-sender"


class Filters(Case):
    def setUp(self):
        super().setUp()
        self.run_program("ingest", FIXTURE)

    def rows_of(self, *words):
        return self.json(*words)["rows"]

    def check(self, words, options, is_kept):
        every = self.rows_of(*words)
        kept = [row for row in every if is_kept(row)]
        self.assertTrue(kept and len(kept) < len(every), (words, options))
        self.assertEqual(self.rows_of(*words, *options), kept)

    def test_rows_of_ranks(self):
        for command in ("stragglers", "clocks"):
            self.check([command], ["--rank", "1,5-6"], lambda row: row["rank"] in (1, 5, 6))
        self.check(["stalls"], ["--rank", "3"], lambda row: 3 in (row["sender"], row["receiver"]))
        self.check(["steps"], ["--rank", "1"], lambda row: row["last_rank"] == 1)

    def test_rows_of_steps_tags_and_communicators(self):
        self.check(["steps"], ["--step", "5-7"], lambda row: 5 <= row["step"] <= 7)
        self.check(["stalls"], ["--step", "7"], lambda row: row["first_step"] is not None and row["first_step"] <= 7 <= row["last_step"])
        self.check(["steps", "--by", "tag"], ["--tag", "optimizer", "--step", "2-8"],
                   lambda row: row["tag"] == "optimizer" and row["step"] >= 2)
        self.check(["stalls"], ["--communicator", "2-3"], lambda row: row["communicator"] == "2-3")

    def test_findings(self):
        """The whole job is analyzed; the output reports what is not shown, and there is no all-clear."""
        self.store.unlink()
        self.run_program("ingest", TOP / "fixtures/tp2dp2pp2-slow-rank")
        every = self.json("diagnose")["findings"]
        first = every[0]
        self.assertEqual((first["kind"], first["rank"], first["first_step"], first["last_step"]), ("compute", 1, 4, 8))
        for options in (["--rank", "1"], ["--step", "5"], ["--step", "8-20"], ["--tag", "grad_sync"], ["--tag", "forward"], ["--top", "1"]):
            self.assertIn(first, self.json("diagnose", *options)["findings"])
        for options in (["--rank", "2"], ["--step", "0-3"]):
            self.assertNotIn(first, self.json("diagnose", *options)["findings"])
            said = self.run_program("diagnose", "--exit-code", *options, status=3).out
            self.assertIn("1 finding does not match the filters\n", said)
            self.assertNotIn("no problem found", said)
        self.assertIn("--communicator does not apply here",
                      self.run_program("diagnose", "--communicator", "x", status=2).err)

    def test_report_measures_what_is_left(self):
        job = reader.Job(FIXTURE)
        durations = [member.duration for instance in job.instances for member in instance.members
                     if member.rank == 3 and instance.tag == "optimizer" and 4 <= instance.step <= 6 and member.duration]
        row, = self.rows_of("report", "--by", "tag", "--rank", "3", "--tag", "optimizer", "--step", "4-6")
        self.assertEqual((row["tag"], row["operations"]), ("optimizer", len(durations)))
        self.assertAlmostEqual(row["effective_us_p50"], reader.nearest_rank(durations, 0.5) / 1e3, places=3)
        self.assertEqual({row["communicator"] for row in self.rows_of("report", "--by", "communicator", "--communicator", "2-3")},
                         {"2-3"})

    def test_hosts(self):
        """This dialect has no communicator names; --communicator reports that."""
        self.assertIn("no rank in the store ran on host 'node9'",
                      self.run_program("clocks", "--host", "node9", status=1).err)
        self.store.unlink()
        self.run_program("ingest", TOP / "fixtures/inspector-2.28")
        host, = {host for host, in self.rows("SELECT DISTINCT host FROM v_rank")}
        self.assertEqual(self.rows_of("clocks", "--host", host), [row for row in self.rows_of("clocks") if row["rank"] is not None])

    def test_what_the_store_does_not_have(self):
        """Says what does not exist, and what does; nothing goes to standard output."""
        commands = {command: [command] for command in ("report", "stragglers", "stalls", "diagnose", "steps", "buffers", "clocks", "startup")}
        commands |= {"timeline": ["timeline", "-o", "x.trace"], "html": ["html", "-o", "x.html"]}
        not_listed = {"stalls": ["--tag"], "clocks": ["--step", "--tag", "--communicator"], "startup": ["--step", "--tag"],
                      "html": ["--tag", "--communicator"]} | dict.fromkeys(("stragglers", "diagnose", "steps"), ["--communicator"])
        steps = self.rows("SELECT max(step) FROM v_operation")[0][0]
        for option, value, says in (("--rank", "8", "no rank 8 in the store; its ranks are 0-7"),
                                    ("--rank", "1,20-30", "no ranks 20-30 in the store; its ranks are 0-7"),
                                    ("--step", str(steps + 1), f"no step {steps + 1} in the store; its steps are 0-{steps}"),
                                    ("--tag", "optimiser", "no tag 'optimiser' in the store; its tags are "),
                                    ("--communicator", "2-9", "no communicator '2-9' in the store; some of its communicators: "),
                                    ("--host", "node9", "no rank in the store ran on host 'node9'"),
                                    ("--run", "9", "no run '9'; runs in the store: 1 ")):
            for command, words in commands.items():
                if option in not_listed.get(command, []):
                    continue
                with self.subTest(command=command, option=option):
                    result = self.run_program(*words, option, value, status=1)
                    self.assertIn(f"ncclprof: {says}", result.err)
                    self.assertEqual(result.out, "")
        self.assertEqual(list(self.folder.glob("x.*")), [])

    def test_nothing_has_all_that_is_asked(self):
        """Each value exists, but no row has them all."""
        for words in (["stalls", "--rank", "0", "--communicator", "2-3"], ["stragglers", "--rank", "0", "--tag", "backward"],
                      ["report", "--rank", "0", "--communicator", "2-3"], ["buffers", "--rank", "0", "--communicator", "2-3"]):
            with self.subTest(words=words):
                self.assertIn("ncclprof: nothing matches the filters\n", self.run_program(*words, status=1).err)
                self.assertEqual(self.json(*words, status=1)["rows"], [])
        self.assertEqual(len(self.rows_of("stragglers", "--rank", "0-90")), 8)

    def test_order_and_number(self):
        for key, upwards in (("own_us", 0), ("rank", 1), ("instances", 0)):
            found = [row[key] for row in self.rows_of("stragglers", "--sort", key)]
            self.assertEqual(found, sorted(found, reverse=not upwards))
        by_step = self.rows_of("stalls", "--sort", "first_step")
        first = [row["first_step"] for row in by_step]
        self.assertEqual(first, sorted((step for step in first if step is not None)) + [None] * first.count(None))
        self.assertEqual(self.rows_of("stalls", "--sort", "first_step", "--top", "2"), by_step[:2])
        self.assertEqual(len(self.rows_of("report", "--top", "3")), 3)

    def test_what_does_not_go(self):
        for words, says in ((["clocks", "--tag", "x"], "--tag does not apply here"),
                            (["clocks", "--step", "3"], "--step does not apply here"),
                            (["steps", "--by", "tag", "--rank", "1"], "--rank does not apply here"),
                            (["clocks", "--communicator", "x"], "--communicator does not apply here"),
                            (["clocks", "--sort", "x"], "invalid --sort 'x'"),
                            (["clocks", "--rank", "x"], "invalid --rank"),
                            (["clocks", "--rank", ","], "invalid --rank"),
                            (["clocks", "--rank", "3-1"], "invalid --rank"),
                            (["clocks", "--top", "0"], "invalid --top")):
            with self.subTest(words=words):
                self.assertIn(says, self.run_program(*words, status=2).err)
