"""diagnose on runs that memory does not hold: steps that say most are loaded, and what was not is said."""

from tests.cli.support import Case

JOB = "--shape ddp --ranks 8 --layers 4 --steps 400 --dialect inspector-2.30 --seed 12 "
STEPS, OPERATIONS = 400, 12800


class Excerpts(Case):
    def play(self, options):
        files, self.truth = self.simulate(options)
        self.store.unlink(missing_ok=True)
        self.run_program("ingest", "-q", *files)

    def told(self, *options):
        """What is said of ranks, and the whole answer."""
        answer = self.json("diagnose", *options)
        found = [(found["kind"], found["rank"], found["first_step"], found["last_step"])
                 for found in answer["findings"] if found["confidence"] != "low"]
        return sorted(found), answer

    def check_excerpts(self, answer):
        coverage, = answer["coverage"]
        self.assertLess(coverage["loaded_steps"], coverage["steps"] / 2)
        self.assertLess(coverage["loaded_operations"], coverage["operations"] / 2)
        self.assertEqual((coverage["steps"], coverage["operations"]), (STEPS, OPERATIONS))
        self.assertEqual(coverage["missing_operations"], 0)
        self.assertIn(f"{coverage['loaded_steps']} of {STEPS} steps were loaded and judged", answer["warnings"][0])

    def test_a_fault_of_many_steps_has_its_first_and_last(self):
        self.play(JOB + "--fault compute:2:100:200:20%")
        found, answer = self.told("--memory", "1")
        self.assertEqual(found, [("compute", 2, 100, 200)])
        self.check_excerpts(answer)
        self.assertRegex(answer["findings"][0]["text"], r"steps 100 to 200 \(\d+ of them judged")
        self.assertIn("--step 100-200", answer["findings"][0]["next"])

    def test_one_step_is_found_among_all(self):
        self.play(JOB + "--fault host:3:277:277:60%")
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
        self.check_excerpts(answer)

    def test_nobody_is_accused_of_what_was_left_out(self):
        self.play(JOB)
        found, answer = self.told("--memory", "1")
        self.assertEqual(found, [])
        self.check_excerpts(answer)
        loaded = answer["coverage"][0]["loaded_steps"]
        text = self.run_program("diagnose", "--memory", "1").out
        self.assertIn("nothing stands out", text)
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
            self.assertIn("--memory takes a whole number", self.run_program("diagnose", "--memory", text, status=2).err)
