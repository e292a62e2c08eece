"""What PyTorch's watchdog prints of stuck process groups."""

from .support import TOP, Case

HANG = TOP / "fixtures/torch-log-hang"
HEAD = "[rank{0}]:[E1125 01:03:54.925565245 ProcessGroupNCCL.cpp:"
TIMEOUT = (HEAD + "689] [Rank {0}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum={1}, OpType={2}, NumelIn=4096, "
           "NumelOut=4096, Timeout(ms)=15000) ran for 15099 milliseconds before timing out.\n")
STATUS = (HEAD + "2303] [PG ID 0 PG GUID 0(default_pg) Rank {0}]  failure detected by watchdog at work sequence id: {1} PG status: "
          "last enqueued work: {2}, last completed work: {3}\n")
SIGNAL = (HEAD + "1914] [PG ID 0 PG GUID 0(default_pg) Rank {0}] Received a dump signal due to a collective timeout from  rank 0 and we "
          "will try our best to dump the debug info. Last enqueued NCCL work: {1}, last completed NCCL work: {2}.This is\n")
EXCEPTION = (HEAD + "612] [Rank {0}] Collective WorkNCCL(SeqNum={1}, OpType=ALLREDUCE, NumelIn=4096, NumelOut=4096, Timeout(ms)=15000) "
             "raised the following async exception: NCCL error: remote process exited or there was a network error\n")


def waits(rank, function="ALLREDUCE", last=61):
    return TIMEOUT.format(rank, 53, function) + STATUS.format(rank, 53, last, 52)


class TorchLog(Case):
    def findings(self, *texts):
        """Of logs of these contents, a file each."""
        for number, text in enumerate(texts):
            self.write(f"stderr.{number}", text)
        self.run_program("ingest", self.folder, status=None)
        return [(finding["kind"], finding["ranks"]) for finding in self.json("diagnose")["findings"]
                if finding["confidence"] != "low"]

    def test_who_stays_out_and_not_who_waits_behind_it(self):
        self.run_program("ingest", HANG)
        finding, = self.json("diagnose")["findings"]
        self.assertEqual((finding["kind"], finding["ranks"]), ("missing", [3]))

    def test_all_ranks_in_one_file(self):
        text = "".join(file.read_text() for file in sorted(HANG.glob("stderr.*")))
        self.assertEqual(self.findings(text), [("missing", [3])])

    def test_ranks_that_only_say_how_far_they_came(self):
        """They wait in the next, which is not told what it is: no other call than the others'."""
        self.assertEqual(self.findings(waits(0), SIGNAL.format(1, 61, 52), SIGNAL.format(2, 52, 52), SIGNAL.format(3, 61, 52)),
                         [("missing", [2])])

    def test_another_call_than_the_others(self):
        self.assertEqual(self.findings(*(waits(rank, "ALLGATHER" if rank == 1 else "ALLREDUCE") for rank in range(4))),
                         [("mismatch", [1])])

    def test_where_all_wait_in_the_same_nobody_is_accused(self):
        self.assertEqual(self.findings(*(waits(rank) for rank in range(4))), [])

    def test_whose_peer_is_gone_is_not_accused(self):
        """Rank 3 died and left no log: works of ranks 0 and 2 failed for it, and rank 1 waits."""
        gone = [EXCEPTION.format(rank, number) + STATUS.format(rank, number, 52, number - 1) for rank, number in ((0, 51), (2, 52))]
        self.assertEqual(self.findings(gone[0], waits(1), gone[1]), [])
