"""Shared by the cluster tests: a job of eight ranks on four nodes, and the expected content of its store."""

import json
import re
import subprocess
from pathlib import Path

from tests.cli.support import PATIENCE_S, PROGRAM, Case
from tests.cli.test_merge import dump

SIMULATE = Path(PROGRAM).parent / "simulate"
NODES = 4


class Job(Case):
    def setUp(self):
        super().setUp()
        self.folder.chmod(0o755)
        self.disk = self.folder / "disk"
        subprocess.run([SIMULATE, *"--shape ddp --ranks 8 --per-node 2 --layers 3 --steps 12 --dialect inspector-2.30 --seed 3".split(),
                        "-o", self.folder / "made"], check=True, timeout=PATIENCE_S)
        files = sorted(path for path in (self.folder / "made").iterdir() if path.name != "truth.json")
        self.assertEqual(len(files), 2 * NODES)
        for place, path in enumerate(files):
            node = self.disk / f"node{place // 2}"
            node.mkdir(parents=True, exist_ok=True)
            path.rename(node / path.name)
        self.whole = self.folder / "whole.db"
        self.run_program("--store", self.whole, "ingest", "-q", "-j1", self.disk)

    def check_whole(self, store):
        """Every table has the content of one ingest of all files, except that paths include the node."""
        left, right = ({name: re.sub(r"'node\d:/", "'/", repr(rows)) for name, rows in dump(path).items()}
                       for path in (store, self.whole))
        for table in right:
            self.assertEqual(left[table], right[table], table)

    def merge(self, name="all.db", status=0):
        store = self.folder / name
        shards = sorted(self.folder.glob("part-*.db"))
        return store, self.run_program("merge", "-j1", "-o", store, *shards, status=status)

    def diagnosis(self, store, status=0):
        answer = self.run_program("--store", store, "diagnose", "--exit-code", "--format", "json", status=status)
        return json.loads(answer.out)

    def words_of_task(self, *more):
        """The command of one task, as a shell command line."""
        environment = f"NCCLPROF_STORE={self.folder}/part-%t.db"
        return f"{environment} {PROGRAM} ingest -q -j1 {' '.join(map(str, more))}"

