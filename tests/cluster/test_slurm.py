"""Slurm's daemons run the tasks: four nodes on this host, one of which fails in the middle."""

import os
import subprocess

from tests.cli.support import PATIENCE_S
from tests.cluster.job import NODES, Job
from tests.cluster.slurm import Cluster


class Slurm(Job):
    @classmethod
    def setUpClass(cls):
        cls.cluster = cls.enterClassContext(Cluster())

    def srun(self, *words, status=0, **more):
        done = subprocess.run(["srun", "-N", str(NODES), "--ntasks-per-node=1", *words], env=self.cluster.environment,
                              capture_output=True, text=True, timeout=PATIENCE_S, cwd=self.folder, **more)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def test_by_node(self):
        """Each node ingests the files on its own disk."""
        self.srun("sh", "-c", self.words_of_task("--shard", f"{self.disk}/$SLURMD_NODENAME"))
        self.assertEqual(len(list(self.folder.glob("part-*.db"))), NODES)
        store, _ = self.merge()
        self.check_whole(store)
        self.diagnosis(store)

    def test_by_range(self):
        """All tasks see the same files, and divide them."""
        self.srun("sh", "-c", self.words_of_task("--range auto", self.disk))
        store, _ = self.merge()
        self.check_whole(store)

    def test_a_node_that_fails(self):
        """A node loses power in the middle: its shard is named and all others are complete; the requeued job does the
        missing work.
        """
        fifo = self.folder / "late"  # the reader waits, so that this node is in the middle of its work
        os.mkfifo(fifo)
        batch = self.folder / "batch.sh"
        late = f'$([ "$SLURMD_NODENAME" = node2 ] && [ -p {fifo} ] && echo {fifo})'
        line = self.words_of_task("--shard", f"{self.disk}/$SLURMD_NODENAME", late)
        batch.write_text(f"#!/bin/sh\necho run >> {self.folder}/runs\nsrun --ntasks-per-node=1 sh -c '{line}'\n"
                         f"echo $? > {self.folder}/status\n")
        out = self.cluster.run("sbatch", "--parsable", "--requeue", "-N", str(NODES), "--ntasks-per-node=1",
                               "-o", self.folder / "out", batch).stdout
        number = out.strip().partition(";")[0]
        self.cluster.wait_for(lambda: len(list(self.folder.glob("part-*.db"))) == NODES and self.ended() == NODES - 1)
        self.cluster.kill_node(2)

        store, said = self.merge(status=1)
        self.assertIn("(host node2, shard 2/4): its ingest did not finish", said.err)
        self.assertEqual(self.paths(store), sorted(f"node{node}" for node in (0, 1, 3) for _ in range(2)))
        diagnosis = self.diagnosis(store, status=4)
        self.assertIn("shard 2/4 of host node2", " ".join(diagnosis["warnings"]))

        fifo.unlink()
        self.cluster.wait_for(lambda: any(state.startswith("down") for state in self.cluster.states()))
        self.cluster.start_node(2)
        self.cluster.wait_for(lambda: "PENDING" in self.state_of(number) or self.has_run_twice())
        subprocess.run(["scontrol", "update", f"JobId={number}", "StartTime=now"], env=self.cluster.environment, capture_output=True)
        self.cluster.wait_for(lambda: self.has_run_twice() and "COMPLETED" in self.state_of(number))
        self.assertEqual((self.folder / "status").read_text(), "0\n")
        self.merge()  # the new shards are merged into the existing store
        self.assertEqual(self.paths(store), sorted(f"node{node}" for node in range(NODES) for _ in range(2)))
        self.diagnosis(store)
        store, _ = self.merge("anew.db")
        self.check_whole(store)

    def ended(self):
        return sum("whole" in self.said_of(path) for path in self.folder.glob("part-*.db"))

    def said_of(self, path):
        answer = self.run_program("--store", path, "query", "SELECT state FROM shard WHERE path <> ''", status=None)
        return answer.out

    def paths(self, store):
        rows = self.json("--store", store, "query", "SELECT path FROM file")["rows"]
        return sorted(row["path"].partition(":")[0] for row in rows)

    def state_of(self, number):
        return self.cluster.run("scontrol", "show", "job", number).stdout

    def has_run_twice(self):
        return (self.folder / "runs").read_text() == "run\nrun\n"
