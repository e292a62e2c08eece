"""Analyses give the same answer with any number of threads. The jobs have enough operations for several threads."""

import unittest

from tests.cli.support import Case

JOB = "--layers 4 --microbatches 2 --steps 30 --per-node 4 --seed 3 "
JOBS = {
    "pipelines, with network steps": JOB + "--shape 3d --tp 2 --dp 4 --pp 2 --ranks 16 --dialect chrome-v4 "
                                           "--fault compute:5:8:15:20% --fault net:2:12:18:400",
    "experts": JOB + "--shape moe --ranks 8 --layers 1 --steps 20 --dialect inspector-2.30 --fault host:3:6:9:30%",
    "finished operations, one rank hangs": JOB + "--shape 3d --tp 2 --dp 4 --pp 2 --ranks 16 "
                                                 "--dialect inspector-2.30 --fault hang:6:27:27",
}
ANSWERS = (
    ("diagnose", "--format", "json"),
    ("diagnose", "--explain", "--all"),
    ("diagnose", "--memory", "1", "--format", "json"),
    ("stragglers", "--format", "csv"),
    ("steps", "--format", "csv"),
    ("clocks", "--format", "csv"),
    ("timeline", "-o", "-"),
)
ANEW = {"NCCLPROF_KEEP_NOTHING": "1"}
LEAST_OPERATIONS = 4 * 2048  # which is enough work for four threads


class Threads(Case):
    def test_answers_do_not_depend_on_their_number(self):
        for name, options in JOBS.items():
            self.store.unlink(missing_ok=True)
            traces, _ = self.simulate(options)
            self.run_program("ingest", *traces)
            held = self.info()
            self.assertGreater(held["collectives"] + held["p2p"], LEAST_OPERATIONS)
            for words in ANSWERS:
                with self.subTest(job=name, answer=words):
                    alone = self.run_program(*words, "-j", "1", env=ANEW).stdout
                    self.assertTrue(alone)
                    for threads in ("2", "7") if words == ANSWERS[0] else ("2",):
                        self.assertEqual(self.run_program(*words, "-j", threads, env=ANEW).stdout, alone)

    def test_traces_are_read_by_as_many(self):
        traces, _ = self.simulate("--shape ddp --ranks 4 --layers 2 --steps 12 --dialect chrome-v4 --seed 5")
        self.assertEqual(self.run_program("diagnose", "-j", "1", *traces).stdout,
                         self.run_program("diagnose", "--jobs=3", *traces).stdout)

    def test_a_number_is_wanted(self):
        for number in ("0", "257", "many"):
            answer = self.run_program("diagnose", "-j", number, status=2)
            self.assertIn("invalid --jobs", answer.err)


if __name__ == "__main__":
    unittest.main()
