"""The corpus is complete and its scorer scores by definition: python3 -B test_corpus.py. Needs no build."""

import json
import re
import subprocess
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import score

MOST_BYTES = 15_000_000
TRUTHS = score.read_truths()
FAULT_KEYS = {"kind", "cause", "ranks", "peers", "first_step", "last_step", "every", "cost_percent", "shown", "required", "accepted"}
JOB_KEYS = {"format", "name", "made", "recorder", "shape", "ranks", "nodes", "steps", "lost_traces", "innocent", "faults", "origin"}
# What a recording must not contain: paths of a person or a machine, and hosts other than the two of the recorded jobs.
PRIVATE = re.compile(rb"/[a-z]{4}|/tmp/|/usr/|/opt/|\d+\.\d+\.\d+\.\d+:")
HOST = re.compile(rb'"host(?:name)?": "([^"]*)"')


def fault(kind="compute", ranks=(3,), steps=(4, 9), required=True, exact=None, candidates=(), part=None):
    accepted = {"kinds": [kind], "exact": [list(group) for group in exact or [ranks]], "candidates": [list(group) for group in candidates],
                "part": list(part or ranks)}
    return {"kind": kind, "ranks": list(ranks), "first_step": steps[0], "last_step": steps[1], "every": 1, "required": required,
            "accepted": accepted}


def job(*faults):
    return {"faults": list(faults)}


def answer(kind, *ranks, **more):
    return {"kind": kind, "ranks": list(ranks), **more}


class Scorer(unittest.TestCase):
    def check(self, truth, answers, verdict, steps=None):
        self.assertEqual(score.judge(truth, answers), (verdict, steps), (truth, answers))

    def test_a_healthy_job(self):
        self.check(job(), [], "exact")
        self.check(job(), [answer("compute", 1)], "wrong")
        self.check(job(), None, "not judged")

    def test_one_rank(self):
        truth = job(fault())
        for answers, verdict in (([answer("compute", 3)], "exact"), ([answer("host", 3)], "kind"), ([answer(None, 3)], "kind"),
                                 ([], "silent"), ([answer("compute", 2)], "wrong"), ([answer("compute", 2, 3)], "wrong"),
                                 ([answer("compute", 3), answer("host", 5)], "wrong"), ([answer("compute")], "wrong"),
                                 ([answer("host", 3), answer("compute", 3)], "exact"), (None, "not judged")):
            self.check(truth, answers, verdict)

    def test_all_ranks_of_a_host(self):
        truth = job(fault(ranks=(0, 1)))
        self.check(truth, [answer("compute", 1, 0)], "exact")
        self.check(truth, [answer("compute", 0), answer("compute", 1)], "exact")
        self.check(truth, [answer("compute", 0)], "part")
        self.check(truth, [answer("compute", 0, 2)], "wrong")

    def test_candidates(self):
        truth = job(fault("network", (3,), candidates=[range(8)]))
        self.check(truth, [answer("network", 2, 3, candidates=True)], "exact")
        self.check(truth, [answer("network", 2, 4, candidates=True)], "wrong")
        self.check(truth, [answer("network", 1, 2, 3, 4, 5, candidates=True)], "part")
        self.check(job(fault()), [answer("compute", 2, 3, candidates=True)], "part")

    def test_other_end_of_a_link(self):
        truth = job(fault("network", (3,), exact=[(3,), (0, 1, 2, 3)], part=(3, 6)))
        self.check(truth, [answer("network", 6)], "part")
        self.check(truth, [answer("network", 0, 1, 2, 3)], "exact")

    def test_two_faults(self):
        truth = job(fault("compute", (1,)), fault("host", (6,)))
        self.check(truth, [answer("compute", 1), answer("host", 6)], "exact")
        self.check(truth, [answer("compute", 1), answer("compute", 6)], "kind")
        self.check(truth, [answer("compute", 1)], "part")
        self.check(truth, [], "silent")

    def test_a_fault_that_need_not_be_found(self):
        truth = job(fault(required=False))
        self.check(truth, [], "exact")
        self.check(truth, [answer("compute", 3)], "exact")
        self.check(truth, [answer("compute", 4)], "wrong")
        self.check(job(fault("host", (6,)), truth["faults"][0]), [answer("host", 6)], "exact")

    def test_steps(self):
        truth = job(fault(steps=(4, 9)))
        for first, last, right in ((4, 9, True), (5, 10, True), (4, 7, True), (0, 20, False), (8, 12, False), (10, 12, False)):
            self.check(truth, [answer("compute", 3, first_step=first, last_step=last)], "exact", right)

    def test_the_program(self):
        some = sorted(TRUTHS)[:2]
        with tempfile.TemporaryDirectory() as work:
            path = Path(work) / "answers.json"
            path.write_text(json.dumps({some[0]: []}))
            done = subprocess.run([sys.executable, "-B", HERE / "score.py", path], capture_output=True, text=True, check=True)
            lines = done.stdout.splitlines()
            self.assertTrue(any(line.startswith(f"{some[1]}: not judged.") for line in lines))
            self.assertEqual(sum(": not judged." in line for line in lines), len(TRUTHS) - 1)
            for answers in ({"another": []}, {some[0]: [{"kind": "gpu", "ranks": [1]}]}, {some[0]: [{"kind": "compute"}]}):
                path.write_text(json.dumps(answers))
                done = subprocess.run([sys.executable, "-B", HERE / "score.py", path], capture_output=True, text=True, check=False)
                self.assertNotEqual(done.returncode, 0, answers)


class Corpus(unittest.TestCase):
    def test_size(self):
        self.assertEqual(len(TRUTHS), 40)
        self.assertLessEqual(sum(path.stat().st_size for path in HERE.glob("jobs/*/*")), MOST_BYTES)
        self.assertGreaterEqual(sum(not truth["faults"] for truth in TRUTHS.values()), 10)
        self.assertEqual({truth["recorder"] for truth in TRUTHS.values()},
                         {"plugin", "example plugin", "Inspector", "Kineto", "Flight Recorder"})

    def test_each_job_is_complete(self):
        for name in TRUTHS:
            self.assertEqual(sorted(path.name for path in (HERE / "jobs" / name).iterdir()), ["traces.tar.xz", "truth.json"])
            self.assertIn(f"| {name} |", (HERE / "README.md").read_text(), "README.md lists all jobs")

    def test_each_truth_is_well_formed(self):
        for name, truth in TRUTHS.items():
            with self.subTest(name):
                self.assertEqual(set(truth), JOB_KEYS)
                self.assertEqual((truth["format"], truth["name"]), (1, name))
                self.assertEqual(sorted(rank for node in truth["nodes"] for rank in node), list(range(truth["ranks"])))
                self.assertTrue(set(truth["lost_traces"]) <= set(range(truth["ranks"])))
                for planted in truth["faults"]:
                    self.check_fault(truth, planted)

    def check_fault(self, truth, planted):
        self.assertEqual(set(planted), FAULT_KEYS)
        everybody, accepted = set(range(truth["ranks"])), planted["accepted"]
        self.assertTrue(planted["ranks"] and set(planted["ranks"]) <= everybody)
        self.assertTrue(0 <= planted["first_step"] <= planted["last_step"] < truth["steps"] and planted["every"] >= 1)
        self.assertIn(planted["kind"], score.KINDS)
        self.assertTrue(planted["kind"] in accepted["kinds"] and set(accepted["kinds"]) <= score.KINDS)
        self.assertIn(sorted(planted["ranks"]), accepted["exact"])
        for group in [*accepted["exact"], *accepted["candidates"], accepted["part"]]:
            self.assertTrue(group and set(group) <= everybody)
        self.assertTrue(set(planted["ranks"]) <= set(accepted["part"]))
        self.assertFalse(planted["required"] and not planted["shown"])

    def test_the_truth_scores_itself(self):
        for name, truth in TRUTHS.items():
            own = [answer(planted["kind"], *planted["ranks"], first_step=planted["first_step"], last_step=planted["last_step"])
                   for planted in truth["faults"]]
            self.assertEqual(score.judge(truth, own)[0], "exact", name)
            self.assertIn(score.judge(truth, own)[1], (True, None), name)

    def test_a_recording_names_no_machine(self):
        for name, truth in TRUTHS.items():
            if truth["made"] == "recorded":
                with tarfile.open(HERE / "jobs" / name / "traces.tar.xz", "r|xz") as archive:
                    for member in archive:
                        self.assertEqual((member.uid, member.mtime, member.uname), (0, 0, ""))
                        self.check_neutral(name, archive.extractfile(member).read(1 << 16))

    def check_neutral(self, name, head):
        self.assertIsNone(PRIVATE.search(head), name)
        self.assertTrue(set(HOST.findall(head)) <= {b"node0", b"node1"}, name)
        for identity in re.findall(rb'"(?:boot_id|gpu_uuid)": "([^"]*)"', head):
            self.assertRegex(identity, rb"^(GPU-)?0{8}-0000-0000-0000-0{11}\d$", name)


if __name__ == "__main__":
    unittest.main()
