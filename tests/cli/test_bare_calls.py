"""Calls without an operation in the trace: they are counted with their reasons, and there is no all-clear if there are any."""

import json

from tests.cli.support import Case, all_reduce, event

HASH = 12481426919102447117


def call(number, rank, at_us, count=1024, captured=0, kind="COLL_API", name="AllReduce"):
    """As the example plugin of NCCL 2.29 prints a call without an operation."""
    more = {"root": 0} if kind == "COLL_API" else {}
    return (
        event("Group API", "GROUP_API", "b", number, 900 + rank, at_us, groupApiId=number, groupDepth=1)
        + event(name, kind, "b", number, 900 + rank, at_us + 1, count=count, datatype="ncclBfloat16", **more,
                GraphCaptured=captured, Stream="0x55b766045590")
        + event(name, kind, "e", number, 900 + rank, at_us + 20)
        + event("Group API", "GROUP_API", "e", number, 900 + rank, at_us + 25)
    )


class BareCalls(Case):
    def write_job(self, lines_of, ranks=4):
        for rank in range(ranks):
            self.write(f"traces/trace_{HASH}_{rank}.json", "[\n" + "".join(lines_of(rank)) + "{}]\n")
        return self.ingest("traces")

    def ledger(self):
        return {row["reason"]: row["count"] for row in self.json("info", "--ledger")["rows"]}

    def diagnose(self, status=0):
        answer = json.loads(self.run_program("diagnose", "--format", "json", status=status).out)
        return answer["coverage"], " ".join(answer["warnings"]), " ".join(self.run_program("diagnose", status=status).verdict.split())

    def test_calls_alone(self):
        files = self.write_job(lambda rank: [call(number, rank, 1000 + 700 * number) for number in range(30)])
        self.assertEqual({(file["status"], file["events"], file["skipped"]) for file in files.values()},
                         {("ingested", 0, 30)})
        self.assertEqual(self.ledger(), {"call without operation": 120})
        (coverage,), warnings, text = self.diagnose(status=1)
        self.assertEqual((coverage["operations"], coverage["calls_without_operations"]), (0, 120))
        self.assertIn("120 calls have no operation in the trace", warnings)
        self.assertIn("before NCCL 2.31", warnings)
        self.assertNotIn("CUDA graph", warnings)
        self.assertIn("nothing was analyzed", text)
        self.assertNotIn("no problem found", text)
        for command in ("stragglers", "report", "stalls"):
            self.assertIn("120 calls have no operation", " ".join(self.json(command)["warnings"]))

    def test_ingest_says_so(self):
        self.write("a.json", "[\n" + call(0, 0, 1000) + "{}]\n")
        self.write("b.json", "[\n{}]\n")
        errors = self.run_program("ingest", "a.json", "b.json").err
        self.assertIn("a.json: contains no events", errors)
        self.assertNotIn("b.json", errors)

    def test_whose_file_is_not_known(self):
        """Neither a line nor a name shows the communicator."""
        self.write("a.json", "[\n" + call(0, 0, 1000) + "{}]\n")
        self.ingest("a.json")
        coverage, warnings, _ = self.diagnose(status=1)
        self.assertEqual(coverage, [])
        self.assertIn("the store contains no operations", warnings)
        self.assertIn("1 call has no operation in the trace", warnings)

    def test_reasons_are_told_apart(self):
        """Calls that move no data are no loss; the same for sends and receives as for collectives."""
        self.write_job(lambda rank: [call(0, rank, 1000), call(1, rank, 2000, captured=1), call(2, rank, 3000, count=0),
                                     call(3, rank, 4000, captured=1, kind="P2P_API", name="Send")])
        self.assertEqual(self.ledger(), {"call without operation": 4, "call without operation: captured in a graph": 8,
                                         "call without operation: no data": 4})
        (coverage,), warnings, _ = self.diagnose(status=1)
        self.assertEqual(coverage["calls_without_operations"], 12)
        self.assertIn("4 calls have no operation", warnings)
        self.assertIn("8 calls captured in a CUDA graph have no operation", warnings)

    def job(self, bare, data=1024):
        """Twelve AllReduces on each rank, and `bare` calls without an operation."""
        return self.write_job(lambda rank: [all_reduce(number, rank, 900 + rank, HASH, 1000.0 * (number + 1))
                                            for number in range(12)] +
                              [call(12 + number, rank, 100000 + 500 * number, count=data) for number in range(bare)])

    def test_some_of_them(self):
        self.job(bare=3)
        (coverage,), warnings, text = self.diagnose()
        self.assertEqual((coverage["operations"], coverage["calls_without_operations"]), (48, 12))
        self.assertIn("12 calls have no operation", warnings)
        # In 11 steps after the warm-up, each of 4 ranks has 12 operations and 3 calls.
        self.assertTrue(text.startswith("no problem found in the part of the job that could be analyzed: 44 of 56 operations, "
                                        "4 of 4 ranks, steps 1-11 Not analyzed: 12 called, but without an operation in the trace "),
                        text)

    def test_most_of_them(self):
        self.job(bare=13)
        _, warnings, text = self.diagnose()
        self.assertIn("52 calls have no operation", warnings)
        self.assertTrue(text.startswith("not enough data: only 44 of 96 operations"), text)

    def test_none_of_them(self):
        """Calls that moved no data do not prevent an all-clear."""
        for bare in (0, 20):
            self.job(bare=bare, data=0)
            (coverage,), warnings, text = self.diagnose()
            self.assertEqual(coverage["calls_without_operations"], 0)
            self.assertNotIn("no operation", warnings)
            self.assertTrue(text.startswith("no problem found Coverage: "), text)
