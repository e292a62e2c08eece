"""Records of nodes that end before the fault: a finding without a cause says so."""

from tests.cli.support import Case
from tests.cli.test_causes import SECOND, Job

THERMAL = {"place": "GPU", "of": "throttle_hw_thermal_share"}
TASKS = {"place": "host", "of": "runnable_tasks"}


class RecordEnds(Case):
    def samples(self, job, row, until=None, value=0):
        """Samples of all places, those of the place at fault until a time."""
        lines = job.samples(row, lambda host, gpu, faulty: value)
        own = [f"\tnode{job.host:03d}\t{device}\t" for host, gpu, device in job.devices(row["place"])
               if job.is_own(row["place"], host, gpu)]
        return [line for line in lines
                if until is None or int(line.split("\t")[6]) <= until or not any(part in line for part in own)]

    def finding(self, job, lines):
        return next(finding for finding in job.diagnose([*job.facts(), *lines])["findings"]
                    if any(accused["rank"] == job.rank for accused in finding["accused"]))

    def test_a_record_that_ends_before_the_slow_steps(self):
        job = Job(self, "compute")
        finding = self.finding(job, self.samples(job, THERMAL, job.first - SECOND // 2))
        self.assertRegex(finding["records_end"], r"^the records of GPU 3 of node000 end 5\d\d ms before the first slow step, so they "
                                                 r"cannot show its cause$")
        self.assertEqual(finding["because"], [])
        text = self.run_program("--store", self.folder / "with.db", "diagnose").whole
        self.assertIn("    Not recorded: the records of GPU 3 of node000 end 5", text)
        self.run_program("--store", self.folder / "with.db", "html", "-o", "page.html")
        self.assertIn("Not recorded: the records of GPU 3 of node000 end 5", (self.folder / "page.html").read_text())

    def test_a_record_that_goes_on(self):
        job = Job(self, "compute")
        self.assertIsNone(self.finding(job, self.samples(job, THERMAL))["records_end"])
        self.assertIsNone(self.finding(job, self.samples(job, THERMAL, job.first + SECOND // 10))["records_end"])
        # The host is sampled all the time, its GPU is not.
        tasks = self.samples(job, TASKS, value=1)
        self.assertIsNone(self.finding(job, tasks)["records_end"])
        ended = self.samples(job, THERMAL, job.first - SECOND // 2)
        self.assertIn("GPU 3 of node000", self.finding(job, tasks + ended)["records_end"])

    def test_a_cause_is_known_nevertheless(self):
        job = Job(self, "compute")
        lines = self.samples(job, THERMAL, job.first - SECOND // 2)
        lines.append(f"event\tnode000\tgpu\t00000000:13:00.0\txid\t94\t{job.first + SECOND // 20}\tmessage")
        finding = self.finding(job, lines)
        self.assertEqual(([cause["cause"] for cause in finding["because"]], finding["records_end"]), (["xid-memory"], None))

    def test_a_record_that_ends_before_the_job_stops(self):
        job = Job(self, "missing")
        lines = self.samples(job, TASKS, job.end - 10 * SECOND, value=1)
        self.assertRegex(self.finding(job, lines)["records_end"],
                         r"^the records of node000 end (9|10)\.?\d* s before the job stopped, so they cannot show its cause$")
        self.assertIsNone(self.finding(job, self.samples(job, TASKS, value=1))["records_end"])
