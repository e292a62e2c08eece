"""compare: its output for recorded and simulated pairs, how operands are interpreted, and the exit status for scripts."""

import gzip
import json
import re
import shutil
import statistics

from tests.cli.support import TOP, Case

FIXTURES = TOP / "fixtures"
SHAPE = "--shape 3d --ranks 8 --tp 2 --dp 2 --pp 2 --per-node 4 --layers 2 --steps 42 --noise even --dialect chrome-v7"


class Compare(Case):
    def compare(self, *words, **more):
        answer = self.json("compare", *words, **more)
        for row in answer["rows"]:
            self.check_row(row)
        return answer

    def check_row(self, row):
        """A change is beyond noise if it is larger than the noise. The interval is about the change, and does not contain 0
        then; and a larger change than the noise is detected.
        """
        if row["significant"] is None or row["what"] == "finding":
            self.assertEqual((row["low"], row["high"], row["detection_limit_percent"]), (None, None, None))
            return
        if row["change_percent"] is not None and row["low"] is not None and row["high"] is not None:
            self.assertLessEqual(row["low"], row["change_percent"])
            self.assertLessEqual(row["change_percent"], row["high"])
            if row["significant"]:
                self.assertGreater(row["low"] * row["high"], 0, row)
        if row["noise_percent"] is not None and row["detection_limit_percent"] is not None:
            self.assertGreaterEqual(row["detection_limit_percent"], row["noise_percent"])
        beyond = row["noise_percent"] is not None and abs(row["change_percent"]) > row["noise_percent"]
        self.assertEqual(bool(row["significant"]), beyond, row)

    def rows_of(self, answer, what):
        return {row["key"]: row for row in answer["rows"] if row["what"] == what}

    def claims(self, answer):
        return [row for row in answer["rows"] if row["significant"]]

    def played(self, name, options):
        """A store of a simulated job, and the truth."""
        files, truth = self.simulate(f"{SHAPE} {options}")
        self.run_program("--store", f"{name}.db", "ingest", "-q", *files)
        return f"{name}.db", truth

    def test_recorded_faults_are_named(self):
        """According to TRUTH: the GPU of rank 1 in steps 4 to 8; sends from rank 1 in steps 6 to 8; rank 5 hangs."""
        for fixture, kind, rank in (("tp2dp2pp2-slow-rank", "compute", 1), ("tp2dp2pp2-slow-sender", "network", 1),
                                    ("tp2dp2pp2-hang", "missing", 5)):
            answer = self.compare(FIXTURES / "tp2dp2pp2-clean", FIXTURES / fixture)
            findings = self.rows_of(answer, "finding")
            self.assertEqual(list(findings), [f"{kind}, rank {rank}"])
            row = findings[f"{kind}, rank {rank}"]
            self.assertEqual((row["significant"], row["rank"], row["a"]), (1, rank, 0))
            self.assertEqual([claim["what"] for claim in self.claims(answer)], ["finding"])
            back = self.compare(FIXTURES / fixture, FIXTURES / "tp2dp2pp2-clean")
            self.assertEqual(self.rows_of(back, "finding")[row["key"]]["b"], 0)

    def test_sends_to_a_rank_that_is_not_there(self):
        for file in (FIXTURES / "tp2dp2pp2-slow-sender").glob("*.json.gz"):
            self.write(f"nowhere/{file.stem}", re.sub(r'"Peer": \d+', '"Peer": 77', gzip.decompress(file.read_bytes()).decode()))
        answer = self.compare("nowhere", FIXTURES / "tp2dp2pp2-slow-sender")
        edges = [row for row in answer["rows"] if row["what"] == "edge"]
        self.assertEqual({row["receiver"] for row in edges if row["a"] is not None}, {77})
        self.assertEqual({row["significant"] for row in edges}, {None})

    def test_what_cannot_be_compared_is_said(self):
        """According to TRUTH: in one run two ranks share a node, in the other each has its own; steps have different layers,
        and are few.
        """
        answer = self.compare(FIXTURES / "tp2dp2pp2-clean", FIXTURES / "tp2dp2pp2-slow-sender")
        step = self.rows_of(answer, "step")["all"]
        self.assertIsNone(step["significant"])
        self.assertTrue(any("4 communicators goes over the network in only one run" in w for w in answer["warnings"]))
        other = self.compare(FIXTURES / "tp2dp2pp2-clean", FIXTURES / "fsdp-clean")
        self.assertEqual(self.claims(other), [])
        self.assertIsNone(self.rows_of(other, "step")["all"]["significant"])
        self.assertTrue(any("the operations of a step differ" in w for w in other["warnings"]))
        few = self.run_program("compare", FIXTURES / "tp2dp2pp2-clean", FIXTURES / "tp2dp2pp2-clean")
        self.assertIn("Step time cannot be compared", few.flat)

    def test_two_clean_runs_of_one_job(self):
        a, truth_a = self.played("a", "--seed 11")
        b, truth_b = self.played("b", "--seed 12")
        answer = self.compare(a, b)
        self.assertEqual(self.claims(answer), [])
        step = self.rows_of(answer, "step")["all"]
        self.assertEqual(step["significant"], 0)
        for side, truth in (("a", truth_a), ("b", truth_b)):
            # The step times of the simulator, without the warm-up and the last step, whose end is not in the trace.
            told = statistics.median(truth["step_us"][1:-1])
            self.assertAlmostEqual(step[side] / told, 1, delta=0.01)
        said = self.run_program("compare", a, b).flat
        self.assertRegex(said, r"No difference beyond noise: step time changed by [+-][\d.]+ %, interval -[\d.]+ to \+[\d.]+ % "
                               r"\(detection limit [\d.]+ %\)\.")
        self.assertIn("one run of each side does not show how much runs of the same job differ", said)
        self.assertEqual([row["change"] for row in self.compare(a, a)["rows"] if row["change"]], [])

    def test_a_slow_rank(self):
        """A tenth of a step more work on the GPU of rank 3, before its calls in backward, in all steps."""
        a, _ = self.played("a", "--seed 11")
        b, truth = self.played("b", "--seed 12 --fault compute:3:0:41:10%:backward")
        answer = self.compare(a, b)
        step = self.rows_of(answer, "step")["all"]
        own = self.rows_of(answer, "own")
        self.assertEqual(step["significant"], 1)
        planted = truth["faults"][0]["lost_percent"]
        self.assertTrue(step["low"] <= planted <= step["high"], step)
        self.assertEqual([key for key, row in own.items() if row["significant"]], ["rank 3"])
        self.assertIn("backward", own["rank 3"]["place"])
        text = self.run_program("compare", a, b).flat
        self.assertRegex(text, r"A step took [\d.]+ ms, [\d.]+ (ms|us) \([\d.]+ %\) longer than in A, interval \+[\d.]+ to \+[\d.]+ %\.")
        self.assertRegex(text, r"Rank 3 spends [\d.]+ (ms|us) more per step between operations than in A \([\d.]+ %\), most of it before "
                               r"operation \d+ of the step \(\w+, backward\)\.")
        back = self.compare(b, a)
        self.assertEqual({(row["what"], row["key"]) for row in self.claims(back)}, {(row["what"], row["key"]) for row in self.claims(answer)})
        for row in back["rows"]:
            other = next(r for r in answer["rows"] if (r["what"], r["key"]) == (row["what"], row["key"]))
            if row["change"] is not None:
                self.assertAlmostEqual(row["change"], -other["change"], delta=1e-6)
        self.assertLess(self.rows_of(back, "step")["all"]["high"], 0)

    def test_repeats(self):
        """Steps of B take 4 % longer: repeats find it. The limit falls with repeats, and equal repeats show no difference."""
        sides = {"a": [], "b": [], "c": []}
        for name, slower, seeds in (("a", 0, (11, 12, 13)), ("b", 4, (14, 15, 16)), ("c", 0, (17, 18, 19))):
            for seed in seeds:
                sides[name].append(self.played(f"{name}{seed}", f"--seed {seed} --slower {slower}")[0])
        found = self.compare("--baseline", *sides["a"], "--candidate", *sides["b"])
        step = self.rows_of(found, "step")["all"]
        self.assertEqual(step["significant"], 1)
        self.assertTrue(step["low"] <= 4 <= step["high"] + 0.5, step)
        single = self.rows_of(self.compare(sides["a"][0], sides["b"][0]), "step")["all"]
        self.assertLess(step["detection_limit_percent"], single["detection_limit_percent"])
        self.assertFalse([w for w in found["warnings"] if "one run of each side" in w])
        self.assertEqual(self.claims(self.compare("--baseline", *sides["a"], "--candidate", *sides["c"])), [])
        # Options and repeats may be mixed, and the order of the sides does not matter.
        words = ("--candidate", *sides["b"], "--fail-over", "10%", "--baseline", *sides["a"])
        self.assertEqual(self.compare(*words)["rows"], found["rows"])
        text = self.run_program("compare", "--baseline", *sides["a"], "--candidate", *sides["b"]).flat
        self.assertRegex(text, r"A: .* \(run 1\), .* \(run 1\), .* \(run 1\): 3 repeats, 8 ranks, \d+ baseline steps of \d+")

    def test_all_runs_of_a_store_or_a_directory_are_repeats(self):
        for number in range(1, 5):
            files, _ = self.simulate(f"{SHAPE} --seed {20 + number}")
            folder = self.folder / ("old" if number < 3 else "new") / f"run{number}"
            folder.mkdir(parents=True)
            for file in files:
                shutil.copy(file, folder)
        rows = self.compare("old", "new")["rows"]
        self.run_program("--store", "old.db", "ingest", "-q", "old")
        self.run_program("--store", "new.db", "ingest", "-q", "new")
        self.assertEqual(len(self.json("--store", "old.db", "info", "--runs")["rows"]), 2)
        self.assertEqual(self.compare("old.db", "new.db")["rows"], rows)
        self.assertEqual(self.compare("--baseline", "old.db:1", "old.db:2", "--candidate", "new")["rows"], rows)

    def test_a_slow_phase(self):
        """A tenth of a step more work on all GPUs, in backward: compare names that phase, and no rank."""
        a, _ = self.played("a", "--seed 11")
        b, truth = self.played("b", "--seed 12 --fault compute:0-7:0:41:10%:backward")
        answer = self.compare(a, b)
        step, phases = self.rows_of(answer, "step")["all"], self.rows_of(answer, "phase")
        self.assertEqual((step["significant"], phases["backward"]["significant"]), (1, 1))
        self.assertEqual(max(phases, key=lambda key: phases[key]["change"]), "backward")
        self.assertGreater(phases["backward"]["change"], 0.5 * step["change"])
        self.assertEqual([key for key, row in self.rows_of(answer, "own").items() if row["significant"]], ["all"])
        own = self.rows_of(answer, "own_phase")
        self.assertEqual([key for key, row in own.items() if row["significant"]], ["backward"])
        self.assertAlmostEqual(own["backward"]["change"], self.rows_of(answer, "own")["all"]["change"],
                               delta=0.1 * own["backward"]["change"])
        self.assertIn("more per step between operations in phase backward than in A", self.run_program("compare", a, b).flat)

    def overlap_of(self, files):
        """Time of NCCL's kernels, and the part of it in which other kernels ran, in us, read from Kineto's JSON."""
        ran = computed = 0
        for file in files:
            events = [e for e in json.loads(file.read_text())["traceEvents"] if e.get("cat") == "kernel"]
            spans = sorted((e["ts"], e["ts"] + e["dur"]) for e in events if not e["name"].startswith("nccl"))
            for event in events:
                if not event["name"].startswith("nccl"):
                    continue
                at, end = event["ts"], event["ts"] + event["dur"]
                ran += event["dur"]
                for begin, until in spans:
                    if until > at and begin < end:
                        computed += min(until, end) - max(begin, at)
                        at = max(at, min(until, end))
        return ran, computed

    def test_overlap_of_computation_and_communication(self):
        """Fully sharded jobs prefetch: the GPU computes while their operations run. Where computation is not recorded, there is
        no such row.
        """
        for name, dialect in (("a", "kineto"), ("b", "kineto"), ("plugin", "chrome-v7")):
            files, _ = self.simulate(f"--shape fsdp --ranks 4 --per-node 2 --steps 16 --noise even --seed 5 --dialect {dialect}")
            self.run_program("--store", f"{name}.db", "ingest", "-q", *files)
            if name == "a":
                ran, computed = self.overlap_of([file for file in files if file.name != "truth.json"])
        stored = self.rows_of_query("a.db", "SELECT sum(gpu_overlap_ns) / 1e3 AS us FROM operation")
        self.assertAlmostEqual(stored / computed, 1, delta=0.001)
        self.assertGreater(computed, 0.1 * ran)
        row = self.rows_of(self.compare("a.db", "b.db"), "overlap")["all"]
        self.assertEqual((row["unit"], row["change"]), ("%", 0))
        self.assertAlmostEqual(row["a"], 100 * computed / ran, delta=0.05 * row["a"])
        self.assertNotIn("all", self.rows_of(self.compare("plugin.db", "plugin.db"), "overlap"))

    def rows_of_query(self, store, sql):
        return self.json("--store", store, "query", sql)["rows"][0]["us"]

    def test_exit_status_for_scripts(self):
        a, _ = self.played("a", "--seed 11")
        b, _ = self.played("b", "--seed 12")
        slow, _ = self.played("slow", "--seed 13 --fault compute:0-7:0:41:12%:*")
        self.run_program("compare", "--fail-over", "5%", a, slow, status=3)
        self.run_program("compare", "--fail-over", "5", a, slow, status=3)
        self.run_program("compare", "--fail-over", "30%", a, slow, status=0)
        self.run_program("compare", a, slow, status=0)
        self.run_program("compare", "--fail-over", "10%", a, b, status=0)
        self.run_program("compare", "--fail-over", "5%", slow, a, status=0)
        # The interval does not exclude a change of so little; that of repeats is narrower.
        self.run_program("compare", "--fail-over", "2%", a, b, status=4)
        high = self.rows_of(self.compare(a, b), "step")["all"]["high"]
        repeats = ("--baseline", a, *(self.played(f"a{seed}", f"--seed {seed}")[0] for seed in (31, 32)),
                   "--candidate", b, *(self.played(f"b{seed}", f"--seed {seed}")[0] for seed in (33, 34)))
        self.assertLess(self.rows_of(self.compare(*repeats), "step")["all"]["high"], high)
        self.run_program("compare", "--fail-over", f"{high}", *repeats, status=0)
        clean, hang = FIXTURES / "tp2dp2pp2-clean", FIXTURES / "tp2dp2pp2-hang"
        self.run_program("compare", "-q", "--fail-over", "5%", clean, clean, status=4)
        self.run_program("compare", "-q", "--fail-over", "5%", clean, hang, status=3)

    def test_operands(self):
        """A store, a run of a store by name and by number, traces, and a run of --store give the same result."""
        shutil.copytree(FIXTURES / "tp2dp2pp2-clean", self.folder / "good")
        shutil.copytree(FIXTURES / "tp2dp2pp2-slow-rank", self.folder / "bad")
        for name in ("good", "bad"):
            (self.folder / name / "TRUTH").unlink()
        self.run_program("--store", "one.db", "ingest", "-q", "good")
        self.run_program("--store", "both.db", "ingest", "-q", "good", "bad")
        runs = {row["name"]: row["run"] for row in self.json("--store", "both.db", "info", "--runs")["rows"]}
        wanted = self.compare("one.db", "bad")["rows"]
        self.assertTrue(wanted)
        for words in (("good", "both.db:bad"), (f"both.db:{runs['good']}", f"both.db:{runs['bad']}")):
            self.assertEqual(self.compare(*words)["rows"], wanted, words)
        shutil.move(self.folder / "good", self.folder / "elsewhere")
        shutil.move(self.folder / "bad", self.folder / "there")
        self.assertEqual(self.json("--store", "both.db", "compare", "good", "bad")["rows"], wanted)

    def test_wrong_usage(self):
        self.run_program("--store", "both.db", "ingest", "-q", FIXTURES / "tp2dp2pp2-clean", FIXTURES / "fsdp-clean")
        self.run_program("compare", "both.db", status=2)
        for words, said in ((("both.db:1", "both.db:2", "both.db:1"), "unexpected argument 'both.db:1'"),
                            (("both.db:1", "--candidate", "both.db:2"), "unexpected argument 'both.db:1'"),
                            (("--baseline", "both.db:1", "both.db:2"), "--candidate needs a run"),
                            (("--candidate", "both.db:1", "both.db:2"), "--baseline needs a run"),
                            (("--baseline=both.db:1", "both.db:2"), "--baseline takes no value")):
            self.assertIn(said, self.run_program("compare", *words, status=2).err)
        self.run_program("compare", "--fail-over", "much", "both.db:1", "both.db:2", status=2)
        self.assertIn("A contains 2 runs", self.run_program("compare", "both.db", "both.db:1", status=1).err)
        self.assertIn("run", self.run_program("compare", "both.db:1", "both.db:7", status=1).err)
        self.assertIn("'nothing' is not a file, and cannot be a run", self.run_program("compare", "nothing", "both.db:1", status=1).err)
        self.run_program("--store", "hosts.db", "ingest", "-q", FIXTURES / "prometheus", status=None)
        said = self.run_program("compare", "hosts.db", "both.db:1", status=1)
        self.assertIn("A: no operations", said.out)
        self.assertIn("nothing could be analyzed", said.err)
        self.write("text", "this is no trace\n")
        self.run_program("compare", "text", "both.db:1", status=1)

    def test_filters_ask_for_the_table(self):
        self.run_program("ingest", "-q", FIXTURES / "tp2dp2pp2-slow-rank")
        rows = self.json("compare", "--rank", "1", FIXTURES / "tp2dp2pp2-clean", "1")["rows"]
        self.assertEqual({row["what"] for row in rows}, {"own", "finding", "edge"})
        for row in rows:
            self.assertIn(1, (row["rank"], row["sender"], row["receiver"]))
        self.assertIn("significant", self.run_program("compare", "--top", "3", FIXTURES / "tp2dp2pp2-clean", "1").out)
