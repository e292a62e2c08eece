"""Runs that do not fit in memory: diagnose loads the most informative steps, stragglers reads all steps in blocks."""

import os
import re
import sqlite3
import subprocess

from tests.cli.support import PROGRAM, SANITIZED, Case

JOB = "--shape ddp --ranks 8 --layers 4 --steps 400 --dialect inspector-2.30 --seed 12 "
STEPS, OPERATIONS = 400, 12800


class Bench(Case):
    def play(self, options):
        files, self.truth = self.simulate(options)
        self.store.unlink(missing_ok=True)
        self.run_program("ingest", "-q", *files)

    def told(self, *options):
        """The findings on ranks, and the complete answer."""
        answer = self.json("diagnose", *options)
        found = [(found["kind"], found["rank"], found["first_step"], found["last_step"])
                 for found in answer["findings"] if found["confidence"] != "low"]
        return sorted(found), answer


class Excerpts(Bench):
    def check_excerpts(self, answer, most=1/2):
        coverage, = answer["coverage"]
        self.assertLess(coverage["loaded_steps"], coverage["steps"] * most)
        self.assertLess(coverage["loaded_operations"], coverage["operations"] * most)
        self.assertEqual((coverage["steps"], coverage["operations"]), (STEPS, OPERATIONS))
        self.assertEqual(coverage["missing_operations"], 0)
        self.assertIn(f"{coverage['loaded_steps']} of {STEPS} steps were loaded and analyzed", answer["warnings"][0])

    def test_a_fault_of_many_steps_has_its_first_and_last(self):
        self.play(JOB + "--fault compute:2:100:200:20%")
        found, answer = self.told("--memory", "1")
        self.assertEqual(found, [("compute", 2, 100, 200)])
        self.check_excerpts(answer)
        self.assertRegex(answer["findings"][0]["text"], r"steps 100-200 \(\d+ of them analyzed")
        self.assertIn("--step 100-200", answer["findings"][0]["next"])

    def test_one_step_is_found_among_all(self):
        self.play(JOB + "--fault host:3:277:277:100%")
        found, answer = self.told("--memory", "1")
        self.assertEqual([(kind, rank, first) for kind, rank, first, _ in found], [("host", 3, 277)])
        self.check_excerpts(answer)

    def test_what_recurs_is_counted_by_the_steps_of_the_run(self):
        self.play("--shape ddp --ranks 8 --layers 4 --steps 400 --seed 11 --noise even --fault compute:2:40:390/5:40%")
        found, answer = self.told("--memory", "1")
        (kind, rank, first, last), = found
        self.assertEqual((kind, rank, answer["findings"][0]["period"]), ("compute", 2, 5))
        self.assertEqual((first % 5, last % 5), (0, 0))
        self.assertTrue(40 <= first < last <= 390)
        # There are so many unusual places that most steps are next to one.
        self.check_excerpts(answer, most=1)

    def test_nobody_is_accused_of_what_was_left_out(self):
        self.play(JOB)
        found, answer = self.told("--memory", "1")
        self.assertEqual(found, [])
        self.check_excerpts(answer)
        loaded = answer["coverage"][0]["loaded_steps"]
        text = self.run_program("diagnose", "--memory", "1").out
        self.assertIn("no problem found", text)
        self.assertIn(f"{loaded} of {STEPS} steps, from ", text)
        self.assertIn(f"8 ranks on 2 hosts, {STEPS} steps", text)

    def test_the_record_of_a_rank_that_ends_early_is_looked_at(self):
        self.play("--shape ddp --ranks 8 --layers 4 --steps 400 --dialect flight-recorder-timing --seed 15 "
                  "--fault hang:4:299:299")
        found, answer = self.told("--memory", "1")
        self.assertEqual([(kind, rank, first) for kind, rank, first, _ in found], [("missing", 4, 299)])
        self.assertLess(answer["coverage"][0]["loaded_steps"], 300)

    def test_a_run_that_fits_is_loaded_whole(self):
        self.play(JOB + "--fault compute:2:100:200:20%")
        for options in [(), ("--memory", "3")]:
            self.assertEqual(self.json("diagnose", *options), self.json("diagnose", "--memory", "0"))
        found, answer = self.told()
        self.assertEqual(found, [("compute", 2, 100, 200)])
        self.assertNotIn("loaded_steps", answer["coverage"][0])

    def test_memory_is_a_number(self):
        self.play("--shape ddp --ranks 2 --layers 2 --steps 4 --dialect inspector-2.30 --seed 1")
        for text in ["much", "-1", "1G", "9223372036854775807"]:
            self.assertIn("invalid --memory", self.run_program("diagnose", "--memory", text, status=2).err)

    WAITED = ("own_us", "inherited_us", "network_us", "unexplained_us")

    def waited(self, answer):
        """By rank: how often it arrived last, in how many operations it took part, how many ns others waited for it."""
        return {row["rank"]: (row["times_last"], row["instances"], round(1000 * sum(row[key] for key in self.WAITED)))
                for row in answer["rows"]}

    def check_rows(self, options):
        """The rows of the table by rank, with all steps and in blocks of steps, and the wait time of each."""
        self.play(options)
        whole, rows = (self.json("stragglers", "--memory", memory) for memory in ["0", "1"])
        self.assertEqual([warning for warning in whole["warnings"] if "rows of" in warning], [])
        self.assertRegex(rows["warnings"][0], r"cover all steps, in ([3-9]|1\d) blocks of consecutive steps")
        self.assertRegex(rows["warnings"][1], r"columns kind to lost are empty; for the ranks at fault, see: .* diagnose --store ")
        self.assertEqual([row for row in rows["rows"] if row["kind"] or row["lost_us"]], [])
        return [{row["rank"]: row for row in answer["rows"]} for answer in (whole, rows)], self.waited(whole), self.waited(rows)

    def test_stragglers_reads_all_steps(self):
        """Values that follow from durations are the same with blocks of steps; explanations are about the same."""
        (whole, rows), waited, waited_by_rows = self.check_rows(JOB + "--fault compute:2:100:200:20%")
        self.assertEqual(waited_by_rows, waited)
        for key in ("own_us", "caused_us"):
            self.assertAlmostEqual(rows[2][key] / whole[2][key], 1, delta=0.05)
            self.assertEqual(max(rows, key=lambda rank: rows[rank][key]), 2)

    def test_without_timestamps_a_run_that_does_not_fit_has_no_verdict(self):
        """The waits come from durations and are the same; a verdict would take much longer."""
        self.play("--shape ddp --ranks 8 --layers 4 --steps 400 --dialect inspector-2.30-terse --seed 12 --fault compute:2:100:200:20%")
        whole, rows = (self.json("stragglers", "--memory", memory) for memory in ["0", "1"])
        self.assertEqual(self.waited(rows), self.waited(whole))
        self.assertEqual([row["rank"] for row in whole["rows"] if row["kind"]], [2])
        self.assertEqual([row for row in rows["rows"] if row["kind"] or row["lost_us"]], [])
        self.assertTrue(any("columns kind to lost are empty" in warning for warning in rows["warnings"]))

    def test_stragglers_reads_all_steps_of_a_pipeline(self):
        """Clocks show which kernels stopped before the operation was over; clocks are aligned in each block separately."""
        _, waited, waited_by_rows = self.check_rows(
            "--shape 3d --ranks 8 --tp 2 --dp 2 --pp 2 --layers 2 --microbatches 2 --steps 160 --seed 3 "
            "--dialect inspector-2.30 --fault host:3:77:80:60%")
        for rank, (_, instances, _) in waited.items():
            self.assertEqual(waited_by_rows[rank][1], instances)
        (times_last, _, waited_ns), (times_last_by_rows, _, ns_by_rows) = (
            map(sum, zip(*rows.values())) for rows in (waited, waited_by_rows))
        self.assertEqual(times_last_by_rows, times_last)
        self.assertAlmostEqual(ns_by_rows / waited_ns, 1, delta=0.15)

    def test_a_store_that_says_what_is_no_step(self):
        """The positions and the number of steps are numbers in a file, which may be hostile."""
        self.play(JOB)
        for first, count in [(-5, 400), (2147483647, 400), (1 << 40, 400), (60, 3), (2, -3), (999, 1000),
                             (1999999999, 2000000000), ((1 << 32) + 2, (1 << 32) + 3)]:
            with sqlite3.connect(self.store) as store:
                store.execute("UPDATE run SET first_step = ?, step_count = ?", (first, count))
            store.close()
            for memory in ["0", "1"]:
                self.assertEqual(len(self.json("stragglers", "--memory", memory)["rows"]), 8)

LARGE = ("--shape 3d --tp 4 --dp 4 --pp 2 --ranks 32 --per-node 8 --layers 6 --microbatches 3 --steps 60 "
         "--dialect inspector-2.30 --seed 5 ")
EACH_STEP, STEP_US = 1440, 60e3


class Rounds(Bench):
    """A job of which memory holds ten steps at a time."""

    def faults(self, answer):
        return {(found["kind"], found["rank"]): found for found in answer["findings"] if found["confidence"] != "low"}

    def test_faults_are_found_one_after_the_other(self):
        self.play(LARGE + "--fault compute:13:12:22:20% --fault host:6:35:45:20%")
        found, answer = self.told("--memory", "3")
        self.assertEqual(found, [("compute", 13, 12, 22), ("host", 6, 35, 45)])
        coverage, = answer["coverage"]
        self.assertEqual(coverage["unusual_rows_not_loaded"], 0)
        # The first round, with the last steps, and one round for each end of a fault. The first step is in each round.
        self.assertEqual(coverage["rounds"], 5)
        self.assertLess(coverage["loaded_steps"], coverage["steps"])
        self.assertEqual(coverage["loaded_operations"], (coverage["loaded_steps"] + 4) * EACH_STEP)
        # It counts once, as warm-up.
        self.assertEqual(answer["summary"]["operations"], coverage["loaded_steps"] * EACH_STEP)
        self.check_as_whole(answer)
        # Independent of the number of threads.
        self.assertEqual(self.json("diagnose", "--memory", "3", "-j", "1"), answer)
        self.assertEqual(self.json("diagnose", "--memory", "3", "-j", "3"), answer)
        text = " ".join(self.run_program("diagnose", "--memory", "3").out.split())
        self.assertIn("steps 12-22 (8 of them analyzed)", text)
        self.assertIn(" blocks and 5 rounds:", text)

    def check_as_whole(self, answer):
        """The findings are the same as if memory held all steps."""
        parts, whole = self.faults(answer), self.faults(self.json("diagnose", "--memory", "0"))
        self.assertEqual(parts.keys(), whole.keys())
        for key, found in parts.items():
            for name in ("process", "ranks", "host", "tag", "next", "source"):
                self.assertEqual(found[name], whole[key][name], name)
            # The operation of its first step that is late first may differ with the baseline.
            self.assertEqual(found["at"]["file"], whole[key]["at"]["file"])
            self.assertAlmostEqual(found["at"]["ts_us"], whole[key]["at"]["ts_us"], delta=STEP_US)
            # The reported loss is at most the planted one: a fifth of a step, in eleven steps.
            self.assertGreater(found["lost_us"], 0)
            self.assertLess(found["lost_us"], 11 * STEP_US / 5)
            self.assertIn("of them analyzed", found["text"])
            self.assertTrue(set(found["waiting_ranks"]) <= set(whole[key]["waiting_ranks"]))

    def test_a_healthy_job_stays_one(self):
        self.play(LARGE)
        for memory in ["1", "3", "5"]:
            self.assertEqual(self.told("--memory", memory)[0], [])


class EveryAnalysis(Bench):
    """Every command that loads operations bounds its memory, and says where it shows only some steps."""

    FAULTS = "--fault compute:13:12:22:20% --fault host:6:35:45:20%"
    WORDS = [("clocks",), ("startup",), ("steps",), ("steps", "--map"), ("steps", "--by", "tag"), ("steps", "--by", "rank"),
             ("timeline", "-o", "out.trace"), ("html", "-o", "out.html"), ("export", "--to", "prometheus", "-o", "out.prom"),
             ("export", "--to", "csv", "-o", "out"), ("query", "SELECT * FROM v_wait"), ("diagnose",), ("stragglers",)]

    def peak(self, *words):
        process = subprocess.Popen([PROGRAM, "--store", self.store, *words], cwd=self.folder, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, env={**os.environ, "NCCLPROF_KEEP_NOTHING": "1"})
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 0, words)
        return usage.ru_maxrss

    def test_memory_is_bounded(self):
        """The 288,000 operations need 60 MB without a limit. The program that runs the tests uses 25 MB, which counts."""
        self.play((LARGE if SANITIZED else LARGE.replace("--steps 60", "--steps 200")) + self.FAULTS)
        whole = self.peak("diagnose", "--memory", "0")
        for words in [*self.WORDS, ("compare", self.store, self.store)]:
            with self.subTest(words=words):
                self.run_program(*words, "--memory", "x", status=2)
                part = self.peak(*words, "--memory", "3")
                if not SANITIZED:
                    self.assertLess(part, 0.7 * whole)

    def test_steps_has_all_rows(self):
        self.play(LARGE + self.FAULTS)
        for key, options in [(("step",), ()), (("rank", "step"), ("--map",)), (("step", "tag", "rank"), ("--by", "tag,rank"))]:
            whole, parts = (self.json("steps", *options, "--memory", memory) for memory in ("0", "3"))
            whole_rows, rows = ({tuple(row[name] for name in key): row for row in answer["rows"]} for answer in (whole, parts))
            self.assertEqual(rows.keys(), whole_rows.keys())
            self.assertIn("steps were read in", " ".join(parts["warnings"]))
            for place, row in rows.items():
                if "finding" in row:
                    self.assertEqual(row["duration_us"], whole_rows[place]["duration_us"])
        rows = {row["step"]: row for row in self.json("steps", "--memory", "3")["rows"]}
        for step, rank in [(12, 13), (22, 13), (35, 6), (45, 6)]:
            self.assertIn(f"rank {rank} ", rows[step]["finding"])
            self.assertGreater(rows[step]["longer_us"], STEP_US / 10)
        self.assertIsNone(rows[30]["finding"])

    def test_ranks_in_chosen_steps(self):
        self.play(LARGE + self.FAULTS)
        answer = self.json("steps", "--by", "rank", "--step", "36-38", "--memory", "3")
        first = answer["rows"][0]
        self.assertEqual([first[key] for key in ("rank", "first_step", "last_step")], [6, 36, 38])
        self.assertEqual([row["rank"] for row in answer["rows"] if row["finding"]], [6])
        self.assertRegex(" ".join(answer["warnings"]), r"are sums over \d+ of 60 steps \(--memory \d+ loads all\)")
        # Own delay: a fifth of a step in each of the three.
        self.assertAlmostEqual(first["own_us"], 3 * STEP_US / 5, delta=STEP_US / 5)

    def test_drawn_steps(self):
        self.play(LARGE + self.FAULTS)
        told = self.run_program("timeline", "-o", "out.json", "--step", "36-38", "--memory", "3")
        trace = (self.folder / "out.json").read_text()
        self.assertEqual(set(re.findall(r'"step (\d+)"', trace)), {"36", "37", "38"})
        self.assertIn("of 60 steps (--memory", told.flat + told.err)
        self.run_program("html", "-o", "out.html", "--memory", "3")
        page = (self.folder / "out.html").read_text()
        # All findings are told; the steps of the first of them are drawn.
        self.assertIn("rank 13 ", page)
        self.assertIn("host of rank 6 ", page)
        self.assertRegex(page, r"pictures and tables of single steps have \d+ of 60 steps")
        first, steps = map(int, re.search(r'"first":(\d+),"steps":(\d+)', page).groups())
        self.assertLess(steps, 20)
        found = self.json("diagnose", "--memory", "3")["findings"][0]
        self.assertTrue(first <= found["first_step"] < first + steps, (first, steps))
        self.run_program("html", "-o", "out.html", "--step", "40-42", "--memory", "3")
        first, steps = map(int, re.search(r'"first":(\d+),"steps":(\d+)', (self.folder / "out.html").read_text()).groups())
        self.assertTrue(first <= 40 and 42 < first + steps, (first, steps))
