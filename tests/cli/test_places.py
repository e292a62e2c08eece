"""Which node to drain: host and GPU of the ranks at fault in every output; how far each rank of a stopped job came."""

import collections
import csv
import io
import json
import re
import unittest

from tests.cli.support import TOP, Case

# By its TRUTH file, rank 2 of four on two hosts of two GPUs does not join step 5, and rank 3 waits for it.
PLACED = TOP / "fixtures/nccl-log-hang"
NAME = "rank 2 (node1, GPU 0)"
ACTION = f"look at the stack of {NAME}"


class Places(Case):
    def test_each_output_names_the_place(self):
        finding, = self.json("diagnose", PLACED)["findings"]
        self.assertEqual(finding["accused"], [{"rank": 2, "process": "2", "host": "node1", "gpu": "0"}])
        self.assertEqual(finding["action"], ACTION)
        self.assertTrue(finding["text"].startswith(f"{NAME} never joined AllReduce #5 "), finding["text"])
        self.assertTrue(finding["text"].endswith("; rank 3 is waiting in it"), finding["text"])
        row, = csv.DictReader(io.StringIO(self.run_program("diagnose", PLACED, "--format", "csv").out))
        self.assertEqual((row["host"], row["gpu"], row["action"], row["text"]), ("node1", "0", ACTION, finding["text"]))
        text = self.run_program("diagnose", PLACED).flat
        self.assertIn(f"(medium confidence): {NAME} never joined", text)
        self.assertIn(f"Action: {ACTION}.", text)
        self.run_program("html", "-o", "page.html", PLACED)
        self.assertIn(NAME, (self.folder / "page.html").read_text().partition('id="findings"')[0])

    def test_watch_and_its_metrics_name_the_place(self):
        line = json.loads(self.run_program("watch", "--once", "--format", "json", "--prometheus", "file.prom", PLACED).out)
        self.assertEqual((line["host"], line["gpu"], line["action"]), ("node1", "0", ACTION))
        self.assertIn(f"): {NAME} never joined", self.run_program("watch", "--once", PLACED).out)
        said = re.search(r"^ncclprof_finding_lost_seconds\{(.*)\}", (self.folder / "file.prom").read_text(), re.M)[1]
        labels = dict(re.findall(r'(\w+)="([^"]*)"', said))
        self.assertEqual((labels["host"], labels["gpu"], labels["action"]), ("node1", "0", ACTION))

    def test_stragglers_names_hosts_and_gpus(self):
        self.ingest(TOP / "fixtures/inspector-clock-step")
        known = dict(self.rows("SELECT rank, host FROM v_rank"))
        rows = self.json("stragglers")["rows"]
        self.assertEqual({row["rank"]: row["host"] for row in rows}, known)
        self.assertEqual({row["gpu"] for row in rows}, {None})

    def test_what_is_not_recorded_is_left_out(self):
        finding, = [one for one in self.json("diagnose", TOP / "fixtures/tp2dp2pp2-hang")["findings"]
                    if one["confidence"] == "high"]
        self.assertEqual(finding["accused"], [{"rank": 5, "process": "5", "host": None, "gpu": None}])
        self.assertTrue(finding["text"].startswith("rank 5 never joined"), finding["text"])


class Progress(Case):
    def check_progress(self, traces, step, accused):
        """The rows of the JSON, with each rank once, after a comparison with the store."""
        self.ingest(traces)
        rows = self.json("diagnose")["progress"]
        self.assertEqual({row["step"] for row in rows}, {step})
        ranks = collections.Counter(rank for row in rows for rank in row["ranks"])
        counts = {rank: (called, finished) for rank, called, finished in self.rows(
            "SELECT r.rank, count(o.rank), count(o.rank) - sum(coalesce(o.unfinished, 0)) FROM v_rank r LEFT JOIN "
            f"(SELECT * FROM v_operation WHERE step = {step}) o ON o.rank = r.rank GROUP BY 1")}
        self.assertEqual(ranks, dict.fromkeys(counts, 1))
        for row in rows:
            for rank in row["ranks"]:
                self.assertEqual((row["called"], row["finished"]), counts[rank], rank)
        self.assertEqual(rows[0]["ranks"], accused)
        self.assertIsNone(rows[0]["waits_in"])
        return rows

    def test_who_waits_in_what(self):
        """By its TRUTH file, rank 5 never enters grad_sync of step 6, in which its peer of the dp pair is rank 7."""
        rows = self.check_progress(TOP / "fixtures/tp2dp2pp2-hang", 6, [5])
        self.assertEqual([row["waits_in"] for row in rows if row["ranks"] == [7]], ["ReduceScatter #6 on communicator {5,7}"])
        self.assertEqual([row["waits_in"] for row in rows if row["ranks"] == [0, 1, 2, 3, 4, 6]],
                         ["AllReduce #6 on communicator {0-7}"])
        text = self.run_program("diagnose").flat
        self.assertIn("never finished: ReduceScatter #6 on communicator {5,7}; rank 7 waits in it; rank 5 did not call it", text)
        self.assertIn("rank 7: waits in ReduceScatter #6 on communicator {5,7}", text)
        self.assertIn("ranks 0-4, 6: wait in AllReduce #6 on communicator {0-7}", text)

    def test_many_ranks_take_few_lines(self):
        self.simulate("--shape 3d --tp 4 --dp 8 --pp 4 --ranks 128 --per-node 8 --steps 6 --dialect chrome-v7 "
                      "--fault hang:37:4:4")
        self.check_progress("traces", 4, [37])
        lines = self.run_program("diagnose").out.partition("operations of each rank")[2].splitlines()
        self.assertLess(sum(bool(re.match(r" +\d+ +\d+  rank", line)) for line in lines), 16)

    def test_logs_of_calls_do_not_show_ends(self):
        rows = self.json("diagnose", PLACED)["progress"]
        self.assertEqual({row["finished"] for row in rows}, {None})
        self.assertIn("rank 3 waits in it; rank 2 did not call it", self.run_program("diagnose", PLACED).flat)

    def test_a_job_that_ran_to_its_end_has_none(self):
        self.assertEqual(self.json("diagnose", TOP / "fixtures/tp2dp2pp2-slow-rank")["progress"], [])
        self.assertNotIn("operations of each rank", self.run_program("diagnose", TOP / "fixtures/tp2dp2pp2-slow-rank").out)

    def test_coverage_beside_a_stop(self):
        """No operation of these dumps has a duration; the finding does not rest on durations."""
        self.assertIn("coverage: 0 of 113 operations (113 without a duration); the stop was found from calls, not from durations",
                      self.run_program("diagnose", TOP / "fixtures/flight-recorder-hang").flat)


if __name__ == "__main__":
    unittest.main()
