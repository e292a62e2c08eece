"""The text of diagnose: the job and its loss first, each cost with its base, and what to do next."""

import datetime
import gzip
import json
import os
import re
import shlex

from tests.cli.support import TOP, Case

STOPPED = ("tp2dp2pp2-hang", "tp2dp2pp2-kill")
FAULTY = ("tp2dp2pp2-slow-rank", "tp2dp2pp2-slow-sender", *STOPPED)
UNITS = {"ns": 1e-3, "us": 1, "ms": 1e3, "s": 1e6}


def us(text):
    number, unit = text.split()
    return float(number) * UNITS[unit]


class Finding(Case):
    def ingest_fixture(self, name):
        self.store.unlink(missing_ok=True)
        self.run_program("ingest", TOP / "fixtures" / name, status=None)

    def test_the_job_comes_first(self):
        for name in (*FAULTY, "tp2dp2pp2-clean", "fsdp-clean"):
            with self.subTest(fixture=name):
                self.ingest_fixture(name)
                summary = self.json("diagnose")["summary"]
                said = self.run_program("diagnose").whole.partition("\n\n")[0]
                ranks, steps, usual = re.match(r"(\d+)(?: of \d+)? ranks.*?, (\d+) steps, baseline step (\S+ \S+)\n", said).groups()
                self.assertEqual((int(ranks), int(steps)), (summary["ranks"], summary["steps"]))
                self.assertAlmostEqual(us(usual) / summary["step_us_usual"], 1, delta=0.01)
                shares = re.search(r"^time per rank: (\S+) % in communication, including (\S+) % waiting", said, re.M).groups()
                for share, key in zip(shares, ("communication_share", "waiting_share")):
                    self.assertAlmostEqual(float(share) / 100, summary[key], delta=0.006)
                self.assertEqual("\nstopped in step " in said, name in STOPPED)
                self.assertEqual("slow steps: " in said, bool(summary["longer_steps"]))

    def test_a_loss_is_of_something(self):
        self.ingest_fixture("tp2dp2pp2-slow-rank")
        summary = self.json("diagnose")["summary"]
        said = re.search(r"^time lost: (\S+ \S+) of (\S+ \S+) \((\S+) %\); findings explain (\S+ \S+)$",
                         self.run_program("diagnose").whole, re.M)
        for text, key in zip((said[1], said[2], said[4]), ("lost_us", "steps_us", "explained_us")):
            self.assertAlmostEqual(us(text) / summary[key], 1, delta=0.01, msg=key)
        self.assertAlmostEqual(float(said[3]), 100 * summary["lost_us"] / summary["steps_us"], delta=0.6)
        self.assertAlmostEqual(summary["lost_us"], summary["explained_us"] + summary["unexplained_us"], places=2)

    def test_a_cost_is_of_a_step(self):
        for name in FAULTY[:2]:
            self.ingest_fixture(name)
            report = self.json("diagnose")
            for finding in report["findings"]:
                said = re.search(r"; costs (\S+ [mun]?s) (?:per step \(|of this )(\S+ [mun]?s)", finding["text"])
                steps = finding["last_step"] - finding["first_step"] + 1
                self.assertAlmostEqual(us(said[1]) / (finding["lost_us"] / steps), 1, delta=0.01)
                step_us = report["summary"]["step_us_usual"] + finding["lost_us"] / steps
                self.assertAlmostEqual(us(said[2]) / step_us, 1, delta=0.01)
                self.assertAlmostEqual(finding["step_share"], finding["lost_us"] / steps / step_us, places=3)

    def test_what_to_do_next(self):
        """The command that confirms a finding runs, and shows rows."""
        for name in FAULTY:
            self.ingest_fixture(name)
            for finding in self.json("diagnose")["findings"]:
                with self.subTest(fixture=name, finding=finding["text"]):
                    said = re.search(r"\. Confirm with: (ncclprof (\S.*))$", finding["next"])
                    self.assertEqual(finding["confirm"], said[1])
                    self.assertTrue(self.json(*shlex.split(said[2]))["rows"])
                    self.assertIn(f"rank {finding['rank']}", finding["next"])

    def test_phases_add_up(self):
        """According to the fixture's TRUTH, 8 ms in each of four phases of five steps."""
        self.ingest_fixture("tp2dp2pp2-slow-rank")
        finding, = [finding for finding in self.json("diagnose")["findings"] if finding["confidence"] != "low"]
        phases = {phase["tag"]: phase["excess_us"] for phase in finding["phases"]}
        self.assertEqual(set(phases), {"forward", "backward", "grad_sync", "optimizer"})
        for tag, excess_us in phases.items():
            self.assertAlmostEqual(excess_us / (5 * 8000), 1, delta=0.05, msg=tag)
        self.assertAlmostEqual(sum(phases.values()), finding["excess_us"], places=2)
        self.assertAlmostEqual(finding["excess_us"] - finding["overlapped_us"], finding["lost_us"], places=2)
        self.assertIsNone(finding["tag"])  # no phase has most of it
        self.assertEqual(finding["waiting_ranks"], [0, 2, 3, 4, 5, 6, 7])
        listed = ", ".join(rf"{tag} 4\d\.\d ms" for tag in sorted(phases, key=phases.get, reverse=True))
        self.assertRegex(self.run_program("diagnose").whole,
                         rf"Excess by phase: {listed}\. {finding['lost_us'] / 1e3:.0f} ms of {finding['excess_us'] / 1e3:.0f} ms delayed "
                         r"the job; the rest was hidden\.")

    def test_where_it_shows_first(self):
        """The record at that offset of that file is an operation of the rank that started at that time, in the first step."""
        for name in FAULTY:
            self.ingest_fixture(name)
            for finding in self.json("diagnose")["findings"]:
                at = finding["at"]
                line = gzip.open(at["file"]).read()[at["byte_offset"]:].partition(b"\n")[0].decode()
                event = json.loads(line.rstrip().rstrip(","))
                self.assertIn(event["cat"], ("COLL", "P2P"))
                self.assertAlmostEqual(event["ts"], at["ts_us"], places=2)
                (rank, step), = self.rows("SELECT rank, step FROM v_operation JOIN file USING (file_id) WHERE path = "
                                          f"'{at['file']}' AND byte_offset = {at['byte_offset']}")
                self.assertEqual(step, finding["first_step"])
                self.assertEqual(rank, finding["rank"] if finding["kind"] in ("compute", "host", "network") else finding["peers"][0])
                self.assertGreater(finding["since_us"], 0)

    def test_links_of_a_slow_sender(self):
        self.ingest_fixture("tp2dp2pp2-slow-sender")
        finding = self.json("diagnose")["findings"][0]
        self.assertEqual((finding["direction"], {edge["sender"] for edge in finding["edges"]}), ("send", {1}))
        self.assertEqual([edge["receiver"] for edge in finding["edges"]], finding["peers"])

    def test_when_it_was(self):
        """Inspector's clock is the wall clock; NVIDIA's example plugin does not record wall time."""
        files, _ = self.simulate("--shape ddp --ranks 4 --per-node 2 --layers 3 --steps 16 --dialect inspector-2.30 --fault "
                                 "compute:2:6:9:40%:* --seed 5")
        self.run_program("ingest", "-q", *files)
        finding = self.json("diagnose")["findings"][0]
        when = datetime.datetime.fromisoformat(finding["time"].replace("Z", "+00:00"))
        self.assertAlmostEqual(when.timestamp(), finding["at"]["ts_us"] / 1e6, places=5)
        self.assertIn(finding["time"], self.run_program("diagnose").whole)
        self.store.unlink()
        self.ingest_fixture("tp2dp2pp2-slow-rank")
        self.assertIsNone(self.json("diagnose")["findings"][0]["time"])

    def test_nothing_runs_beyond_the_line(self):
        for name in FAULTY:
            self.ingest_fixture(name)
            for line in self.run_program("diagnose", "--all").out.splitlines():
                if not line.startswith("    Confirm with: "):  # it is for copying
                    self.assertLessEqual(len(line), 80, line)

    def test_confidence_has_a_colour_on_a_terminal(self):
        self.ingest_fixture("tp2dp2pp2-slow-rank")
        for command in ("diagnose", "stragglers"):
            plain = self.run_program(command).out
            self.assertNotIn("\033", plain)
            coloured = self.run_on_terminal(command)
            self.assertIn("\033[1;31mhigh\033[0m", coloured)
            self.assertNotIn("\033", self.run_on_terminal(command, NO_COLOR="1"))
        # No line is broken elsewhere because of it.
        self.assertEqual(re.sub(r"\033\[[\d;]*m", "", self.run_on_terminal("diagnose")), self.run_program("diagnose").out)
