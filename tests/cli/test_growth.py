"""The cost of jobs with many ranks and communicators grows linearly, not as the square: counted in instructions, or measured
with a wide margin.
"""

import os
import shutil
import sqlite3
import subprocess

from tests.bench import stuck_jobs
from tests.cli.support import PROGRAM, SANITIZED, TOP, Case


def statement(file, name):
    """The SQL of the program."""
    text = (TOP / "schemas" / file).read_text()
    return text.split(f"-- statement: {name}\n", 1)[1].split(";", 1)[0]


class Growth(Case):
    def ingest_job(self, kind, count):
        folder = self.folder / "job"
        shutil.rmtree(folder, ignore_errors=True)
        stuck_jobs.write(kind, folder, count)
        self.store.unlink(missing_ok=True)
        self.run_program("ingest", "-q", folder)

    def work_of(self, sql):
        """The number of instructions of SQLite's virtual machine that a statement takes, in hundreds."""
        count = 0

        def note():
            nonlocal count
            count += 1

        with sqlite3.connect(self.store) as tables:
            tables.set_progress_handler(note, 100)
            tables.execute(sql, (1,)).fetchall()
        tables.close()
        return count

    def test_statements_of_many_communicators(self):
        """Each process of a log has a fact for each of its communicators."""
        work = {}
        for communicators in 128, 512:
            self.ingest_job("log-communicators", communicators)
            for name in "start_ups", "warnings", "addresses":
                work[name, communicators] = self.work_of(statement("analysis/log.sql", name))
        for name in "start_ups", "warnings", "addresses":
            self.assertLess(work[name, 512], 6 * work[name, 128] + 100, (name, work))

    def cpu_of(self, command):
        process = subprocess.Popen([PROGRAM, "--store", self.store, command], stdout=subprocess.DEVNULL,
                                   env={**os.environ, "NCCLPROF_KEEP_NOTHING": "1"})
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertIn(process.returncode, (0, 1))
        return usage.ru_utime

    def test_ranks_of_a_hang(self):
        """For eight times the ranks, quadratic cost would take 64 times as long; the constant part of the program lowers the
        ratio.
        """
        for kind in "log", "recorder-unlisted":
            times = {}
            for ranks, runs in (256, 3), (2048, 1):
                self.ingest_job(kind, ranks)
                times[ranks] = min(self.cpu_of("diagnose") for _ in range(runs))
                accused, = self.json("diagnose")["findings"]
                self.assertEqual(accused["rank"], stuck_jobs.missing(ranks))
            self.assertLess(times[2048], 16 * times[256] + 0.1, (kind, times))


if SANITIZED:
    # Sanitizers have overhead that grows, too.
    del Growth.test_ranks_of_a_hang
