#!/usr/bin/env python3
"""Tests of the judge of the study (study.py). usage: test_study.py PATH-OF-SIMULATE"""
import argparse
import contextlib
import io
import os
import sys
import tempfile
import types
import unittest

import study

SIMULATE = sys.argv.pop(1) if len(sys.argv) > 1 else "build/simulate"
# Eight ranks on two hosts; pairs of ranks are tensor parallel, and data parallel across the hosts.
COMMUNICATORS = [{"ranks": list(range(8))}, *({"ranks": [rank, rank + 1]} for rank in range(0, 8, 2)),
                 *({"ranks": [rank, rank + 4]} for rank in range(4))]


def plan_of(fault, recorder="plugin", onset="later", lost=None):
    plan = study.Plan.__new__(study.Plan)
    plan.number, plan.shape, plan.recorder, plan.fault, plan.onset, plan.lost = 0, "3d", recorder, fault, onset, lost
    plan.ranks, plan.per_node, plan.stage, plan.dialect, plan.alone = 8, 4, 0, study.DIALECTS[recorder][0], None
    plan.faults = [] if fault == "none" else [study.Fault("x", "compute", 0, [0], "4:9", 1)]
    return plan


def planted(kind, ranks, lost_us=20000.0, **more):
    return {"kind": kind, "rank": ranks[0], "ranks": ranks, "peers": [], "lost_us": lost_us, "alone_us": lost_us, **more}


def finding(kind, ranks, confidence="high", candidates=(), peers=(), lost_us=20000.0):
    return {"kind": kind, "ranks": ranks, "rank": (ranks or candidates)[0], "candidates": list(candidates), "peers": list(peers),
            "confidence": confidence, "first_step": 4, "last_step": 9, "period": None, "lost_us": lost_us, "account_us": lost_us}


def judged(plan, faults, findings, longer=False, explained_us=0.0, undetermined=()):
    truth = {"faults": faults, "clean_step_us": 10000.0, "steps": 20, "communicators": COMMUNICATORS}
    rows = [{"explained": False}] if longer else []
    summary = {"longer_steps": rows, "undetermined": list(undetermined), "explained_us": explained_us}
    result = {"plan": plan, "truth": truth, "answer": {"findings": findings, "summary": summary}}
    study.judge(result)
    return result


def verdict(plan, faults, findings, longer=False):
    return judged(plan, faults, findings, longer)["verdict"]


class StudyTest(unittest.TestCase):
    def test_one_gpu(self):
        gpu = [planted("compute", [3])]
        for expected, findings in (("exact", [finding("compute", [3])]), ("kind", [finding("host", [3])]),
                                   ("exact", [finding("compute", [3]), finding("host", [5], "low")]),
                                   ("wrong", [finding("compute", [3]), finding("host", [5])]), ("wrong", [finding("compute", [2])]),
                                   ("part", [finding("compute", [], candidates=[2, 3])]),
                                   ("wrong", [finding("compute", [], candidates=[1, 2])]),
                                   ("unnamed", [finding("compute", [3], "low")]), ("silent", [finding("compute", [2], "low")]),
                                   ("silent", [])):
            self.assertEqual(verdict(plan_of("one GPU"), gpu, findings), expected, findings)
        self.assertEqual(verdict(plan_of("one GPU"), gpu, [], longer=True), "unnamed")

    def test_inspector_as_it_comes(self):
        """No record tells a GPU from a host, so `late` is right, and only there."""
        fault, late = planted("compute", [3]), [finding("late", [3], "medium")]
        plan = plan_of("one GPU", "Inspector")
        self.assertNotEqual(verdict(plan, [fault], late), "exact")
        plan.dialect = study.TERSE
        self.assertEqual(verdict(plan, [fault], late), "exact")
        self.assertEqual(verdict(plan, [fault], [finding("late", [4], "medium")]), "wrong")

    def test_how_a_fault_is_named(self):
        """Outcomes, and what the table of recorders makes of them."""
        gpu, both = [planted("compute", [3])], [planted("compute", [3]), planted("host", [6])]
        exact, late, kind = (finding(name, [3]) for name in ("compute", "late", "host"))
        few, many = finding("compute", [], candidates=[2, 3]), finding("compute", [], candidates=[0, 1, 2, 3, 4])
        other, hint = finding("host", [6]), finding("host", [], candidates=[5, 6])
        for expected, faults, findings in (("exact", gpu, [exact]), ("late", gpu, [late]), ("kind", gpu, [kind]), ("candidates", gpu, [few]),
                                           ("part", gpu, [many]), ("exact", gpu, [few, exact]), ("silent", gpu, []),
                                           ("wrong", gpu, [exact, other]), ("exact", both, [exact, other]), ("part", both, [exact]),
                                           ("candidates", both, [exact, hint]), ("late", both, [late, other])):
            self.assertEqual(judged(plan_of("two faults"), faults, findings)["outcome"], expected, findings)

    def test_table_of_recorders(self):
        """Faults below 5 % of the run do not count. What the recorder does not show, or cannot be judged, is no miss."""
        small, large = [planted("compute", [3], 8000.0)], [planted("compute", [3])]
        rows = [("exact", large, [finding("compute", [3])], True), ("silent", large, [], True), ("not judged", large, [], False),
                (None, small, [], True)]
        results = []
        for _, faults, findings, is_judged in rows:
            plan = plan_of("one GPU")
            plan.alone = "plugin"
            results.append(judged(plan, faults, findings) | {"judged": is_judged})
        self.assertEqual([study.column_of(result) for result in results[:3]], [column for column, *_ in rows[:3]])
        plan = plan_of("one GPU")
        plan.alone, plan.dialect = "flight-recorder", study.UNTIMED
        results.append(judged(plan, large, []) | {"judged": False})
        plan = plan_of("none")
        plan.alone = "plugin"
        results.append(judged(plan, [], [finding("host", [5])]) | {"judged": True})
        with contextlib.redirect_stdout(io.StringIO()) as text:
            study.print_recorders(results, ["plugin", "flight-recorder"])
        cells = [line.split(" | ") for line in text.getvalue().splitlines()[-2:]]
        heads = [line for line in text.getvalue().splitlines() if "recorder | jobs" in line][0].split(" | ")
        found = [dict(zip(heads[1:], row[1:])) for row in cells]
        counted = [{name: value for name, value in row.items() if value != "."} for row in found]
        self.assertEqual(counted[0], {"jobs": "3", "exact": "1", "silent": "1", "not judged": "1", "healthy jobs accused |": "1 of 1 |"})
        self.assertEqual(counted[1], {"jobs": "1", "not recorded": "1", "healthy jobs accused |": "0 of 0 |"})

    def test_each_recorder_records_the_same_job(self):
        """Only the dialect differs, and what some recorders lose; the amount is adjusted once."""
        plans = study.plans_of(types.SimpleNamespace(seed=7, drops=[]), 3, list(study.ALONE))
        self.assertEqual([plan.alone for plan in plans], list(study.ALONE))
        words = [plan.command("x") for plan in plans]
        for plan, command in zip(plans, words):
            drops = ["--drop"] if study.ALONE[plan.alone].drops else []
            self.assertEqual([word for word in command if word not in words[0]][:1], drops)
            self.assertIn(plan.dialect, study.ALONE[plan.alone].dialects)
        self.assertEqual(study.recorders_in("all"), list(study.ALONE))
        self.assertRaises(argparse.ArgumentTypeError, study.recorders_in, "plugin,vcr")

    def test_account(self):
        """Of 20 ms, what the right finding explains, what has a reason, and the rest; what an innocent is said to cost is no part."""
        faults, findings = [planted("compute", [3])], [finding("compute", [3], lost_us=9000.0), finding("host", [5], lost_us=2000.0)]
        reasons = [{"reason": "between", "us": 4000.0}, {"reason": "no trace", "us": None}]
        for explained_us, expected in ((11000.0, (9000.0, 4000.0, 7000.0)), (23000.0, (20000.0, 0, 0))):
            account = judged(plan_of("one GPU"), faults, findings, False, explained_us, reasons)["account"]
            self.assertEqual(account, dict(zip(("explained by findings", "between", "not in the account"), expected)))

    def test_all_gpus_of_a_host(self):
        host = [planted("compute", [4, 5, 6, 7])]
        for expected, findings in (("exact", [finding("compute", [4, 5, 6, 7])]), ("part", [finding("compute", [5])]),
                                   ("exact", [finding("compute", [4, 5]), finding("compute", [6, 7])]),
                                   ("wrong", [finding("compute", [3, 4, 5, 6, 7])])):
            self.assertEqual(verdict(plan_of("GPUs of a host"), host, findings), expected, findings)

    def test_two_faults(self):
        both = [planted("compute", [1]), planted("host", [6])]
        one, other = finding("compute", [1]), finding("host", [6])
        self.assertEqual(verdict(plan_of("two faults"), both, [one, other]), "exact")
        self.assertEqual(verdict(plan_of("two faults"), both, [one]), "part")
        small = [both[0], planted("host", [6], 2000.0)]  # 1 % of the run
        self.assertEqual(verdict(plan_of("two faults"), small, [one]), "exact")
        self.assertEqual(verdict(plan_of("two faults"), small, [one, other]), "exact")

    def test_networks(self):
        sender = [planted("network", [2])]
        for recorder, expected, found in (("plugin", "exact", finding("network", [2])),
                                          ("plugin", "part", finding("network", [], candidates=[2, 6])),
                                          ("plugin", "part", finding("network", [6], peers=[2])),
                                          ("plugin", "wrong", finding("network", [6])),
                                          ("Inspector", "exact", finding("network", [], candidates=[2, 6])),
                                          ("Inspector", "exact", finding("network", [0, 1, 2, 3])),
                                          ("Inspector", "part", finding("network", [], candidates=[1, 2, 4, 6, 7])),
                                          ("Inspector", "wrong", finding("network", [], candidates=[1, 5])),
                                          ("Inspector", "kind", finding("compute", [2]))):
            self.assertEqual(verdict(plan_of("network", recorder), sender, [found]), expected, (recorder, found))
        link = [planted("network", [2]) | {"peers": [6]}]
        self.assertEqual(verdict(plan_of("network"), link, [finding("network", [6])]), "exact")
        self.assertEqual(verdict(plan_of("network"), [planted("network", [2], equivalent_rank=6)], [finding("network", [6])]), "exact")

    def test_a_switch(self):
        switch = [planted("network", [0, 1, 2, 3], crossing=[[2, 6], [6, 2], [3, 7]])]
        for expected, ranks in (("exact", [2, 3, 6, 7]), ("exact", [0, 1, 2, 3]), ("part", [2]), ("wrong", [2, 5])):
            self.assertEqual(verdict(plan_of("switch"), switch, [finding("network", ranks)]), expected, ranks)

    def test_slow_links(self):
        links = [planted("network", [2])]
        for expected, found in (("exact", finding("network", [2])), ("exact", finding("network", [], candidates=[2, 3])),
                                ("wrong", finding("network", [3])), ("wrong", finding("network", [], candidates=[4, 5]))):
            self.assertEqual(verdict(plan_of("slow links"), links, [found]), expected, found)

    def test_a_lost_trace(self):
        late = [planted("host", [5])]
        self.assertEqual(verdict(plan_of("lost trace", lost=5), late, [finding("compute", [5])]), "exact")
        self.assertEqual(verdict(plan_of("lost trace", lost=5), late, [finding("host", [], candidates=[4, 5])]), "exact")
        self.assertEqual(verdict(plan_of("lost trace", lost=5), late, [finding("host", [4])]), "wrong")
        self.assertEqual(verdict(plan_of("none", lost=5), [], [finding("host", [5])]), "wrong")

    def test_healthy(self):
        self.assertEqual(verdict(plan_of("none"), [], []), "exact")
        self.assertEqual(verdict(plan_of("none"), [], [finding("host", [5], "low")]), "unnamed")
        self.assertEqual(verdict(plan_of("none"), [], [finding("host", [5], "medium")]), "wrong")

    def test_what_no_record_shows(self):
        truth = {"communicators": COMMUNICATORS[:1]}
        for fault, recorder, onset, expected in (("network", "Inspector", "step 0", False), ("network", "Inspector", "later", True),
                                                 ("network", "plugin", "step 0", True), ("slow links", "plugin", "step 0", False), ("switch", "plugin", "step 0", False)):
            self.assertEqual(plan_of(fault, recorder, onset).shows(truth), expected, (fault, recorder, onset))
        self.assertTrue(plan_of("network", "Kineto", "step 0").shows({"communicators": COMMUNICATORS}))

    def test_a_job_is_always_the_same(self):
        commands = [[study.Plan(7, number).command("kineto") for number in range(40)] for _ in range(2)]
        self.assertEqual(*commands)
        self.assertEqual(len({tuple(command) for command in commands[0]}), 40)

    def test_costs_are_in_the_class_that_was_drawn(self):
        options = types.SimpleNamespace(simulate=SIMULATE)
        plans = [plan for plan in (study.Plan(7, number) for number in range(60)) if plan.fault == "one GPU" and plan.ranks == 8]
        with tempfile.TemporaryDirectory() as work:
            for plan in plans[:2]:
                study.adjust(options, plan, work)
                truth = study.simulate(options, plan.command("inspector-2.30"), os.path.join(work, "job"))
                least, most = study.CLASSES[plan.cost_class]
                self.assertTrue(0.95 * least <= study.shares(truth)[0] <= 1.1 * most, plan.command("-"))
        self.assertGreater(len(plans), 1)


if __name__ == "__main__":
    unittest.main()
