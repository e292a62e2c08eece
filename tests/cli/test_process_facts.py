"""Facts about a process in traces, besides its events: the launcher's rank, GPU, network card."""

import shutil

from tests.cli.support import TOP, Case

FIXTURE = TOP / "fixtures/process-facts"

# According to its TRUTH, by the rank in the communicator.
FACTS = {0: (5, "5", "node1", 4000, 1, 1, "0000:3b:00.0", "GPU-3c15737e", "mlx5_0", "tp0 dp1"),
         1: (3, "3", "node2", 4001, None, None, "0000:af:00.0", None, None, None)}
COLUMNS = ("rank", "rank_name", "host", "pid", "local_rank", "gpu", "gpu_bus_id", "gpu_serial", "nic", "framework_name")


class ProcessFacts(Case):
    def processes(self):
        return sorted(tuple(row[name] for name in COLUMNS) for row in self.json("info", "--processes")["rows"])

    def ledger(self):
        return [(row["reason"], row["damage"], row["count"]) for row in self.json("info", "--ledger")["rows"]]

    def test_the_fixture(self):
        files = self.ingest(FIXTURE)
        self.assertEqual({(file["dialect"], file["status"], file["skipped"]) for file in files.values()},
                         {("chrome-ncclprof", "ingested", 0)})
        self.assertEqual(self.processes(), sorted(FACTS.values()))
        self.assertEqual(self.rows("SELECT communicator_rank, rank FROM v_operation GROUP BY 1 ORDER BY 1"), [(0, 5), (1, 3)])
        self.assertEqual(self.ledger(), [("contradicting global rank", 0, 2)])

    def test_people_see_what_is_known(self):
        """Columns without any value are not shown on a terminal; a pipe keeps them."""
        self.ingest(FIXTURE)
        self.assertIn("0000:3b:00.0", self.run_program("info", "--processes").out)
        self.store.unlink()
        self.ingest(TOP / "fixtures/user-tags")
        self.assertNotIn("gpu", self.run_on_terminal("info", "--processes"))
        self.assertIn("gpu", self.run_program("info", "--processes").out)

    def test_facts_go_with_their_file(self):
        """If one process does not report its rank, the order of the communicator counts."""
        shutil.copytree(FIXTURE, self.folder / "traces")
        self.ingest("traces")
        path = self.folder / "traces/ncclprof-node2-4001.json"
        path.write_text("".join(line for line in path.read_text().splitlines(True) if '"Place"' not in line))
        self.ingest("traces")
        self.assertEqual([row[:2] for row in self.processes()], [(0, "0"), (1, "1")])
        self.assertEqual(self.ledger(), [("contradicting global rank", 0, 1)])
