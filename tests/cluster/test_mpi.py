"""Open MPI's mpirun starts the tasks."""

import os
import signal
import sqlite3
import subprocess
import time

from tests.cli.support import PATIENCE_S
from tests.cluster.job import Job

MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--mca", "oob_tcp_if_include", "lo", "-n", "4"]


class Mpi(Job):
    def start(self, line):
        environment = {**os.environ, "OMPI_MCA_plm_rsh_agent": "false"}
        return subprocess.Popen([*MPIRUN, "sh", "-c", line], cwd=self.folder, env=environment,
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def test_by_range(self):
        task = self.start(self.words_of_task("--range auto", self.disk))
        _, said = task.communicate(timeout=PATIENCE_S)
        self.assertEqual(task.returncode, 0, said)
        self.assertEqual(len(list(self.folder.glob("part-*.db"))), 4)
        store, _ = self.merge()
        self.check_whole(store)

    def test_a_task_that_is_killed(self):
        """mpirun stops the other tasks; missing shards are named, and written by the next run."""
        fifo = self.folder / "fifo"
        os.mkfifo(fifo)
        late = f'$([ "$OMPI_COMM_WORLD_RANK" = 3 ] && [ -p {fifo} ] && echo {fifo})'
        line = "echo $$ > pid-$OMPI_COMM_WORLD_RANK; exec env " + self.words_of_task("--shard", f"{self.disk}/node$OMPI_COMM_WORLD_RANK", late)
        job = self.start(line)
        deadline = time.monotonic() + PATIENCE_S
        while self.states() != ["unfinished", "whole", "whole", "whole"] and time.monotonic() < deadline:
            time.sleep(0.05)
        os.kill(int((self.folder / "pid-3").read_text()), signal.SIGKILL)
        job.communicate(timeout=PATIENCE_S)
        self.assertNotEqual(job.returncode, 0)
        store, said = self.merge(status=1)
        self.assertIn("shard 3/4): its ingest did not finish", said.err)
        fifo.unlink()
        job = self.start(line)
        _, said = job.communicate(timeout=PATIENCE_S)
        self.assertEqual(job.returncode, 0, said)
        store, _ = self.merge()
        self.assertEqual(self.json("--store", store, "info")["rows"][0]["files"], 8)
        self.diagnosis(store)

    def states(self):
        found = []
        for path in self.folder.glob("part-*.db"):
            try:
                with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as store:
                    found += [state for state, in store.execute("SELECT state FROM shard")]
                store.close()
            except sqlite3.OperationalError:
                pass
        return sorted(found)
