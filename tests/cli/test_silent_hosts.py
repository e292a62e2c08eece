"""Processes that stand still for a while, with their proxy threads, are at fault themselves: not the links that stop with them."""

import re

from tests.cli.support import Case

STAGES = "--shape 3d --tp 1 --dp 1 --pp 2 --ranks 2 --per-node 1 --layers 3 --steps 30 --dialect chrome-v7"
SHARDED = "--shape fsdp --ranks 4 --per-node 2 --layers 3 --steps 30 --dialect chrome-v7"
REDUCED = "--shape zero1 --ranks 4 --per-node 2 --layers 2 --steps 30 --dialect chrome-v7"


class SilentHosts(Case):
    def test_a_simulated_process_that_stops_notes_nothing(self):
        """Neither its host nor its proxy threads, whatever ran when it stopped."""
        for seed in range(1, 6):
            files, truth = self.simulate(f"{SHARDED} --seed {seed} --fault stop:1:5:5:700")
            fault, = truth["faults"]
            self.assertEqual((fault["kind"], fault["rank"]), ("host", 1))
            self.assertAlmostEqual(fault["lost_us"], 700000, delta=10000)
            moments = sorted(float(moment) for path in files if path.name.endswith("_1.json")
                             for moment in re.findall(r'"ts": ([\d.]+)', path.read_text()) if float(moment))
            self.assertGreater(max(after - before for before, after in zip(moments, moments[1:])), 699000)

    def believed(self, options):
        files, self.truth = self.simulate(options)
        self.store.unlink(missing_ok=True)
        self.run_program("ingest", "-q", *files)
        self.report = self.json("diagnose")
        return [finding for finding in self.report["findings"] if finding["confidence"] != "low"]

    def check(self, found, *expected):
        """One finding for each (rank, step) at its cost according to TRUTH, that explains the step."""
        self.assertEqual(sorted((finding["rank"], finding["first_step"]) for finding in found), sorted(expected))
        planted = {(fault["rank"], fault["first_step"]): fault["alone_us"] for fault in self.truth["faults"]}
        for finding in found:
            self.assertEqual((finding["kind"], finding["last_step"]), ("host", finding["first_step"]))
            self.assertIn("made no call, for ", finding["text"])
            self.assertIn("SIGSTOP", finding["next"])
            cost = planted[finding["rank"], finding["first_step"]]
            self.assertAlmostEqual(finding["lost_us"], cost, delta=cost / 50)
            self.assertAlmostEqual(finding["figures"]["silence_us"], 1000 * self.amount(finding), delta=2000)

    def amount(self, finding):
        return next(fault["amount"] for fault in self.truth["faults"] if fault["first_step"] == finding["first_step"])

    def test_a_stage_without_peers(self):
        for seed, rank, step in ((1, 1, 13), (2, 0, 14), (3, 1, 15)):
            found = self.believed(f"{STAGES} --seed {seed} --fault stop:{rank}:{step}:{step}:1000")
            self.check(found, (rank, step))
        self.assertIn("so its proxy threads stood still as well", found[0]["evidence"])

    def test_its_transfers_are_not_slow_links(self):
        """The same step without the findings of hosts has sends of rank 1 that stalled."""
        self.check(self.believed(f"{SHARDED} --seed 1 --fault stop:1:13:13:1000"), (1, 13))

    def test_two_processes_stop_once_each(self):
        self.check(self.believed(f"{SHARDED} --seed 7 --fault stop:1:9:9:500 --fault stop:0:20:20:700"), (1, 9), (0, 20))

    def test_a_network_that_stalls_is_no_host(self):
        """A leaf of a tree leaves early, and its host waits for the root: it is silent, and waits for the network."""
        for job in (SHARDED, REDUCED):
            found = self.believed(f"{job} --seed 7 --fault pause:?:14:14:900")
            self.assertEqual([finding["rank"] for finding in found if finding["kind"] == "host"], [])

    def test_all_ranks_at_once(self):
        """Where all hosts stand still, such as for a machine that all share, none is at fault."""
        found = self.believed(f"{STAGES} --seed 3 --fault stop:0,1:15:15:1000")
        self.assertEqual(found, [])

    def test_less_than_three_steps(self):
        step_us = self.believed(f"{STAGES} --seed 3") or self.truth["clean_step_us"]
        self.assertEqual(self.believed(f"{STAGES} --seed 3 --fault stop:1:15:15:{step_us * 2.5 / 1000:.0f}"), [])
        self.check(self.believed(f"{STAGES} --seed 3 --fault stop:1:15:15:{step_us * 4 / 1000:.0f}"), (1, 15))

    def test_hosts_that_are_silent_at_times(self):
        """A silence of less than five times the longest of other steps may be as usual; only the rule says so."""
        self.believed(f"{STAGES} --seed 3")
        step_ms = self.truth["clean_step_us"] / 1000
        found = self.believed(f"{STAGES} --seed 3 --fault stop:1:9:9:{step_ms * 2:.0f} --fault stop:1:20:20:{step_ms * 4:.0f}")
        self.assertEqual(found, [])
        findings = self.json("diagnose", env={"NCCLPROF_RULES_OFF": "silence"})["findings"]
        self.check([finding for finding in findings if finding["confidence"] != "low"], (1, 20))
