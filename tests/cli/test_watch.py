"""`watch`: its lines while files grow, compared with the planted faults."""

import json
import re
import signal
import subprocess
import time
import unittest

from tests.cli import schema
from tests.cli.support import PATIENCE_S, PROGRAM, TOP, Case

# Rank 1's GPU is slow in steps 12 to 19 of 40.
PLANTED = "--shape ddp --ranks 4 --steps 40 --dialect inspector-2.30 --fault compute:1:12:19:30%"


class Watch(Case):
    def once(self, *more, status=0):
        result = self.run_program("watch", "--once", "--format", "json", *more, "job", status=status)
        lines = [json.loads(line) for line in result.out.splitlines()]
        for line in lines:
            self.assertEqual(list(schema.complaints(line, schema.load("watch.schema.json"))), [])
            self.assertEqual(list(schema.unknown_members(line, schema.load("watch.schema.json"))), [])
        return lines, result

    def plant(self, options=PLANTED):
        """A job whose files are written by `grow`."""
        self.files, truth = self.simulate(options)
        self.job = self.folder / "job"
        self.job.mkdir()
        return truth["faults"]

    def grow(self, share):
        """The files contain this part of the job, up to the end of a record or into the middle of one."""
        for path in self.files:
            content = path.read_bytes()
            (self.job / path.name).write_bytes(content[:int(len(content) * share)])

    def test_a_finding_appears_and_is_over(self):
        fault, = self.plant()
        told = []
        for share in (0.2, 0.4, 0.45, 0.7, 1):
            self.grow(share)
            lines, _ = self.once("--store", "kept.db")
            told.append([line["change"] for line in lines])
            for line in lines:
                self.assertEqual((line["kind"], line["unit"], line["run"]), (fault["kind"], "rank 1", "job"))
                self.assertEqual(line["first_step"], fault["first_step"])
                self.assertIn("rank 1", line["text"])
                self.assertRegex(line["time"], r"^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.assertEqual(line["last_step"], fault["last_step"])
        # Slow when 16 of 40 steps are there, ended when 28 are; nothing is reported twice.
        self.assertEqual(told[0], [])
        self.assertEqual(told[1], ["new"])
        self.assertEqual(told[3], ["over"])
        self.assertEqual(told[4], [])

    def test_a_known_store_is_not_repeated(self):
        self.plant()
        self.grow(1)
        self.assertEqual([line["change"] for line in self.once("--store", "kept.db")[0]], ["new"])
        self.assertEqual(self.once("--store", "kept.db")[0], [])
        diagnosis = self.json("diagnose", "--store", "kept.db")
        self.assertEqual([finding["unit"] for finding in diagnosis["findings"] if finding["confidence"] == "high"], ["rank 1"])

    def test_a_healthy_job_is_silent(self):
        self.plant("--shape ddp --ranks 4 --steps 30 --dialect inspector-2.30")
        for share in (0.3, 0.6, 1):
            self.grow(share)
            lines, result = self.once("--store", "kept.db")
            self.assertEqual((lines, result.err), ([], ""))

    def test_waits_for_traces(self):
        """It says once that there are none yet, and where it expects them."""
        (self.folder / "job").mkdir()
        process, _ = self.start("--until-idle", "3")
        out, errors = process.communicate(timeout=PATIENCE_S)
        self.assertEqual((process.returncode, out), (0, ""))
        self.assertEqual(errors, "ncclprof: no traces in job yet; waiting for trace files, polling every 1 s (Ctrl-C ends it)\n")
        self.assertEqual(self.run_program("watch", "--once", "job").err, "ncclprof: no traces in job\n")
        self.assertEqual(self.run_program("watch", "-q", "--once", "job").err, "")

    def test_low_confidence_on_request(self):
        self.run_program("ingest", TOP / "fixtures/tp2dp2pp2-hang")
        found = self.json("diagnose")["findings"]
        told = {"text": [finding["text"] for finding in found if finding["confidence"] != "low"],
                "all": [finding["text"] for finding in found]}
        for name, more in (("text", ()), ("all", ("--all",))):
            result = self.run_program("watch", "--once", "--format", "json", *more, TOP / "fixtures/tp2dp2pp2-hang")
            lines = [json.loads(line) for line in result.out.splitlines()]
            self.assertEqual(sorted(line["text"] for line in lines), sorted(told[name]))
            self.assertTrue(any(line["stopped"] for line in lines))

    def test_lines_for_people(self):
        out = self.run_program("watch", "--once", TOP / "fixtures/tp2dp2pp2-slow-rank").out
        self.assertRegex(out, r"\A\S+Z new: compute \(high confidence\): GPU of rank 1 .*\n\Z")
        out = self.run_program("watch", "--once", TOP / "fixtures/tp2dp2pp2-slow-rank", TOP / "fixtures/tp2dp2pp2-clean").out
        self.assertRegex(out, r"\A\S+Z new: tp2dp2pp2-slow-rank: compute .*\n\Z")

    def test_figures(self):
        self.plant()
        self.grow(1)
        self.once("--store", "kept.db", "--prometheus", "watch.prom")
        self.run_program("export", "--store", "kept.db", "--to", "prometheus", "-o", "export.prom")
        self.assertEqual((self.folder / "watch.prom").read_text(), (self.folder / "export.prom").read_text())
        self.assertIn('ncclprof_findings{run="job",kind="compute",confidence="high"} 1\n', (self.folder / "watch.prom").read_text())

    def test_a_run_that_exceeds_the_memory_limit(self):
        """Steps are numbered as in the run, although only some of them are loaded."""
        fault, = self.plant("--shape ddp --ranks 4 --steps 1800 --dialect inspector-2.30 --fault compute:1:1400:1419:30%")
        self.grow(1)
        lines, _ = self.once("--store", "kept.db", "--memory", "1", "--prometheus", "watch.prom")
        coverage, = self.json("diagnose", "--store", "kept.db", "--memory", "1")["coverage"]
        self.assertLess(coverage["loaded_steps"], 1400)
        self.assertEqual([(line["kind"], line["unit"], line["first_step"], line["last_step"]) for line in lines],
                         [(fault["kind"], "rank 1", fault["first_step"], fault["last_step"])])
        figures = (self.folder / "watch.prom").read_text()
        self.assertRegex(figures, r"(?m)^ncclprof_finding_first_step{.*} 1400$")
        self.assertRegex(figures, r"(?m)^ncclprof_steps{.*} 1800$")

    def start(self, *more):
        temporary = self.folder / "temporary"
        temporary.mkdir()
        process = subprocess.Popen([PROGRAM, "watch", "--interval", "1", "--format", "json", *more, "job"], cwd=self.folder,
                                   env={"TMPDIR": str(temporary), "PATH": ""}, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True)
        self.addCleanup(process.kill)
        return process, temporary

    def wait_until(self, reached):
        until = time.monotonic() + PATIENCE_S
        while not reached():
            self.assertLess(time.monotonic(), until)
            time.sleep(0.05)

    def check_end(self, process, temporary, status=0):
        out, errors = process.communicate(timeout=PATIENCE_S)
        self.assertEqual((process.returncode, errors), (status, ""))
        self.assertEqual(list(temporary.iterdir()), [])
        return [json.loads(line) for line in out.splitlines()]

    def test_signals_end_it(self):
        self.plant()
        self.grow(1)
        for number in (signal.SIGINT, signal.SIGTERM):
            process, temporary = self.start()
            # When it prints something, it has begun to handle signals.
            self.assertEqual(json.loads(process.stdout.readline())["change"], "new")
            process.send_signal(number)
            self.assertEqual(self.check_end(process, temporary), [])
            temporary.rmdir()

    def test_a_run_that_is_as_it_was(self):
        """It is not analyzed again when another job is added, and its findings stay."""
        (self.folder / "job").mkdir()
        self.place("slow", PLANTED)
        process, temporary = self.start("--prometheus", "watch.prom")
        self.assertEqual(json.loads(process.stdout.readline())["run"], "slow")
        self.place("clean", "--shape ddp --ranks 4 --steps 10 --dialect inspector-2.30 --seed 2")
        self.wait_until(lambda: len(self.steps_told()) == 2)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(self.check_end(process, temporary), [])
        self.assertEqual(self.steps_told(), [("slow", "40"), ("clean", "10")])

    def place(self, name, options):
        """A complete job of that name, written at one time."""
        self.simulate(options)
        (self.folder / "traces/truth.json").unlink()
        (self.folder / "traces").rename(self.folder / "job" / name)

    def steps_told(self):
        """Run and steps, from the file of metrics as it is now."""
        path = self.folder / "watch.prom"
        return re.findall(r'ncclprof_steps{run="(.*)"} (\d+)', path.read_text()) if path.exists() else []

    def test_a_look_that_fails_is_made_again(self):
        self.plant()
        self.grow(1)
        process, temporary = self.start("--prometheus", "later/watch.prom")
        self.assertIn("later/watch.prom", process.stderr.readline())
        (self.folder / "later").mkdir()
        self.wait_until((self.folder / "later/watch.prom").exists)
        process.send_signal(signal.SIGTERM)
        lines = self.check_end(process, temporary)
        self.assertEqual([line["change"] for line in lines], ["new"])

    def test_a_stopped_job(self):
        """It is reported when the files stop growing, and watch ends by itself; the folder is created later."""
        fault, = self.plant("--shape ddp --ranks 4 --steps 20 --dialect chrome-v7 --fault hang:2:12:12")
        self.job.rename(self.folder / "later")
        process, temporary = self.start("--until-idle", "2")
        self.job = self.folder / "later"
        self.grow(1)
        self.job.rename(self.folder / "job")
        out, errors = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 0)
        line, = [json.loads(line) for line in out.splitlines()]
        self.assertEqual((line["kind"], line["unit"], line["first_step"], line["stopped"]), ("missing", "rank 2", 12, True))
        self.assertEqual(list(temporary.iterdir()), [])

    def test_what_cannot_be_read(self):
        result = self.run_program("watch", "--once", "nowhere", status=1)
        self.assertIn("nowhere", result.err)
        self.assertEqual(self.run_program("watch", status=2).out, "")
        self.write("job/odd.json", "[\n")
        self.write("file.db", "no store")
        result = self.run_program("watch", "--once", "--store", "file.db", "job", status=1)
        self.assertIn("file.db", result.err)
        (self.folder / "none").mkdir()
        self.assertEqual(self.run_program("watch", "--once", "none").out, "")


if __name__ == "__main__":
    unittest.main()
