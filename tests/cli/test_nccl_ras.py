"""What NCCL's RAS tells of a running job (ncclras -f json), and what diagnose makes of that alone."""

import json

from .support import TOP, Case

HANG = TOP / "fixtures/nccl-ras-hang"
FUNCTIONS = ("Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce")


def member(rank, host="10.0.0.11", **counts):
    return {"rank": rank, "host": host, "pid": 4100 + rank, "cuda_dev": rank, "nvml_dev": rank,
            "status": {"init_state": 0, "async_error": 0, "finalize_called": False, "destroy_flag": False, "abort_flag": False},
            "collective_counts": {name: counts.get(name, 0) for name in FUNCTIONS}}


def dump(*counts, at="2026-03-02 10:15:00", missing=()):
    """All ranks in one communicator, which launched so many AllReduce."""
    ranks = [member(rank, AllReduce=count) for rank, count in enumerate(counts) if rank not in missing]
    gone = [{**member(rank), "status": {"unresponsive": True, "considered_dead": False}} for rank in missing]
    for rank in gone:
        del rank["collective_counts"]
    return json.dumps({"nccl_version": "2.29.1", "cuda_runtime_version": 13000, "cuda_driver_version": 13000, "timestamp": at,
                       "communicators_count": 1,
                       "communicators": [{"hash": "0xae94423cfbb2ef4a", "secondary_hash": "0x1:0x2", "size": len(counts),
                                          "ranks_count": len(ranks), "missing_ranks_count": len(gone), "ranks": ranks,
                                          "missing_ranks": gone}],
                       "ras": {"collection_time_sec": 0.0, "timeouts_count": 0}}, indent=2)


class Ras(Case):
    def findings(self, *dumps):
        for number, text in enumerate(dumps):
            self.write(f"ras/{number}.json", text)
        self.run_program("ingest", self.folder / "ras")
        return [(finding["kind"], finding["ranks"], finding["confidence"]) for finding in self.json("diagnose")["findings"]]

    def test_counts_by_the_fixtures_truth(self):
        truth = json.loads("{" + HANG.joinpath("TRUTH").read_text().split("{", 1)[1])
        self.run_program("ingest", HANG)
        self.assertEqual({row["function"]: row["operations"] for row in self.json("report", "--by", "function")["rows"]},
                         truth["functions"])

    def test_who_stays_out_and_not_who_waits_behind_it(self):
        self.run_program("ingest", HANG)
        finding, = self.json("diagnose")["findings"]
        self.assertEqual((finding["kind"], finding["ranks"], finding["host"]), ("missing", [3], "10.0.0.12"))
        self.assertIn("launched anything for the 210 s", finding["evidence"])

    def test_one_look_at_a_rank_far_behind_others_that_stand_together(self):
        self.assertEqual(self.findings(dump(44, 44, 41, 44)), [("missing", [2], "medium")])

    def test_hosts_that_run_are_a_call_apart(self):
        self.assertEqual(self.findings(dump(44, 44, 43, 44)), [("missing", [2], "low")])

    def test_two_ranks_apart_may_run(self):
        self.assertEqual(self.findings(dump(44, 40)), [("missing", [1], "low")])

    def test_a_call_behind_for_minutes(self):
        self.assertEqual(self.findings(dump(44, 44, 43, 44), dump(44, 44, 43, 44, at="2026-03-02 10:17:00")),
                         [("missing", [2], "medium")])

    def test_looks_in_close_succession_are_one(self):
        self.assertEqual(self.findings(dump(44, 44, 43, 44), dump(44, 44, 43, 44, at="2026-03-02 10:15:20")),
                         [("missing", [2], "low")])

    def test_nobody_is_named_in_a_job_that_moves(self):
        self.assertEqual(self.findings(dump(44, 44, 41, 44), dump(54, 54, 51, 54, at="2026-03-02 10:17:00")), [])

    def test_where_all_are_equal_it_cannot_tell(self):
        self.assertEqual(self.findings(dump(44, 44, 44, 44)), [])
        self.run_program("diagnose", "--exit-code", status=4)

    def test_ranks_that_do_not_answer_are_counted(self):
        self.assertEqual(self.findings(dump(44, 44, 44, 44, missing=(1,))), [])
        ledger = {row["reason"]: row["count"] for row in self.json("info", "--ledger")["rows"]}
        self.assertEqual(ledger, {"rank that does not answer": 1})
