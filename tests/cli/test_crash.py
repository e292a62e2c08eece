"""Ingests that are killed or interrupted: the store is intact, and the next ingest completes it."""

import random
import signal
import subprocess
import time

from tests.cli.support import PATIENCE_S, PROGRAM, Case, interrupt, trace

TABLES = ["file", "ledger", "process", "communicator", "member", "operation", "proxy_operation", "tag_mark", "instance",
          "operation_join", "job_rank", "run"]

# Independent of the order in which files were added.
CONTENT = {
    "file": "path, digest, events, skipped, status",
    "operation": "sequence, function, bytes, device_begin_ns, gpu_begin, duration_ns, byte_offset",
    "communicator": "hash, name, size",
    "process": "file_set, host, pid",
    "instance": "function, sequence, members, transfer_ns, tag, step",
    "tag_mark": "at_ns, text",
}


class Crash(Case):
    def make_traces(self, count):
        for rank in range(count):
            self.write(f"traces/{rank}.json", trace(rank=rank, count=4000, tags=[("forward", 10.0), ("backward", 5e5)]))

    def content(self):
        """The tables of the store, independent of how rows are numbered."""
        found = {table: self.rows(f"SELECT count(*) FROM {table}") for table in TABLES}
        for table, columns in CONTENT.items():
            found[table] = sorted(self.rows(f"SELECT {columns} FROM {table}"), key=repr)
        return found

    def start(self, jobs=2):
        return subprocess.Popen([PROGRAM, "--store", self.store, "-q", "ingest", "-j", str(jobs), "traces"], cwd=self.folder,
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def test_killed_anywhere(self):
        self.make_traces(6)
        begun = time.monotonic()
        self.run_program("ingest", "traces")
        lasts = time.monotonic() - begun
        undisturbed = self.content()
        self.store.unlink()
        chance = random.Random(3)
        for attempt in range(12):
            process = self.start(jobs=1 + attempt % 3)
            time.sleep(chance.uniform(0, lasts))
            process.kill()
            process.communicate()
            if self.store.exists() and self.store.stat().st_size:
                self.check_integrity()
            if attempt % 4 == 3:
                self.run_program("ingest", "traces")
                self.assertEqual(self.content(), undisturbed)
                self.store.unlink()

    def test_ctrl_c_keeps_what_is_done(self):
        self.make_traces(8)
        process = self.start()
        interrupt(process, 0.02)
        _, errors = process.communicate(timeout=PATIENCE_S)
        # After the files are read, Ctrl-C has its default effect.
        self.assertIn(process.returncode, (0, 130, -signal.SIGINT), errors)
        self.check_integrity()
        self.run_program("ingest", "traces")
        self.assertEqual(self.info()["collectives"], 32000)
        self.check_integrity()

    def test_a_full_disk_loses_nothing_that_was_there(self):
        self.write("traces/first.json", trace())
        self.run_program("ingest", "traces")
        self.make_traces(3)
        limited = subprocess.run(
            ["bash", "-c", 'ulimit -f 300; trap "" XFSZ; exec "$@"', "-", PROGRAM, "--store", self.store, "ingest", "traces"],
            cwd=self.folder, capture_output=True, text=True, timeout=PATIENCE_S)
        self.assertEqual(limited.returncode, 1, limited.stderr)
        self.assertRegex(limited.stderr, "full|I/O|too large")
        self.check_integrity()
        self.assertEqual(self.rows("SELECT count(*) FROM operation")[0][0] % 4000, 5)
        self.run_program("ingest", "traces")
        self.assertEqual(self.info()["collectives"], 12005)
