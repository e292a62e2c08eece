"""What a person reads of diagnose: the job and its loss first, each cost with what it is of, and what to do next."""

import os
import pty
import re
import shlex
import subprocess

from tests.cli.support import PROGRAM, TOP, Case

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
                ranks, steps, usual = re.match(r"(\d+) ranks.*?, (\d+) steps, usually (\S+ \S+)(?:;|\n)", said).groups()
                self.assertEqual((int(ranks), int(steps)), (summary["ranks"], summary["steps"]))
                self.assertAlmostEqual(us(usual) / summary["step_us_usual"], 1, delta=0.01)
                shares = re.search(r"^time: (\S+) % in communication; (\S+) % waiting", said, re.M).groups()
                for share, key in zip(shares, ("communication_share", "waiting_share")):
                    self.assertAlmostEqual(float(share) / 100, summary[key], delta=0.006)
                self.assertEqual("; stopped in step " in said, name in STOPPED)
                self.assertEqual("longer: " in said, bool(summary["longer_steps"]))

    def test_a_loss_is_of_something(self):
        self.ingest_fixture("tp2dp2pp2-slow-rank")
        summary = self.json("diagnose")["summary"]
        said = re.search(r"^lost: (\S+ \S+) of (\S+ \S+) \((\S+) %\); findings explain (\S+ \S+), (\S+ \S+) unexplained",
                         self.run_program("diagnose").whole, re.M)
        for text, key in zip((said[1], said[2], said[4], said[5]), ("lost_us", "steps_us", "explained_us", "unexplained_us")):
            self.assertAlmostEqual(us(text) / summary[key], 1, delta=0.01, msg=key)
        self.assertAlmostEqual(float(said[3]), 100 * summary["lost_us"] / summary["steps_us"], delta=0.6)
        self.assertAlmostEqual(summary["lost_us"], summary["explained_us"] + summary["unexplained_us"], places=2)

    def test_a_cost_is_of_a_step(self):
        for name in FAULTY[:2]:
            self.ingest_fixture(name)
            report = self.json("diagnose")
            for finding in report["findings"]:
                said = re.search(r": (\S+ [mun]?s)(?: of | a step|; a usual step is )(\S+ [mun]?s)", finding["text"])
                steps = finding["last_step"] - finding["first_step"] + 1
                self.assertAlmostEqual(us(said[1]) / (finding["lost_us"] / steps), 1, delta=0.01)
                self.assertAlmostEqual(us(said[2]) / report["summary"]["step_us_usual"], 1, delta=0.01)

    def test_what_to_do_next(self):
        """The command that is to confirm a finding runs, and shows rows."""
        for name in FAULTY:
            self.ingest_fixture(name)
            for finding in self.json("diagnose")["findings"]:
                with self.subTest(fixture=name, finding=finding["text"]):
                    said = re.search(r"; confirm with ncclprof (\S.*)$", finding["next"])
                    self.assertTrue(self.json(*shlex.split(said[1]))["rows"])
                    self.assertIn(f"rank {finding['rank']}", finding["next"])

    def test_nothing_runs_beyond_the_line(self):
        for name in FAULTY:
            self.ingest_fixture(name)
            for line in self.run_program("diagnose", "--all").out.splitlines():
                self.assertLessEqual(len(line), 80, line)

    def on_a_terminal(self, *words, **env):
        """What the program writes to one."""
        reader, writer = pty.openpty()
        program = subprocess.Popen([PROGRAM, "--store", self.store, *words], stdout=writer,
                                   env={**os.environ, "TERM": "xterm", "PAGER": "cat", "NCCLPROF_PAGER": "", **env})
        os.close(writer)
        said = b""
        try:
            while piece := os.read(reader, 4096):
                said += piece
        except OSError:
            pass  # the other end is closed
        os.close(reader)
        self.assertEqual(program.wait(timeout=60), 0)
        return said.decode().replace("\r\n", "\n")

    def test_confidence_has_a_colour_on_a_terminal(self):
        self.ingest_fixture("tp2dp2pp2-slow-rank")
        for command in ("diagnose", "stragglers"):
            plain = self.run_program(command).out
            self.assertNotIn("\033", plain)
            coloured = self.on_a_terminal(command)
            self.assertIn("\033[1;31mhigh\033[0m", coloured)
            self.assertNotIn("\033", self.on_a_terminal(command, NO_COLOR="1"))
        # No line is broken elsewhere for it.
        self.assertEqual(re.sub(r"\033\[[\d;]*m", "", self.on_a_terminal("diagnose")), self.run_program("diagnose").out)
