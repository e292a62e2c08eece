"""Messages of PyTorch's watchdog about stuck process groups."""

import json

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
        """The findings from logs with these contents, one file each."""
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
        """They wait in the next operation, whose function is not recorded: it cannot be another call than the others'."""
        self.assertEqual(self.findings(waits(0), SIGNAL.format(1, 61, 52), SIGNAL.format(2, 52, 52), SIGNAL.format(3, 61, 52)),
                         [("missing", [2])])

    def test_another_call_than_the_others(self):
        self.assertEqual(self.findings(*(waits(rank, "ALLGATHER" if rank == 1 else "ALLREDUCE") for rank in range(4))),
                         [("mismatch", [1])])

    def test_where_all_wait_in_the_same_nobody_is_accused(self):
        self.assertEqual(self.findings(*(waits(rank) for rank in range(4))), [])

    def test_whose_peer_is_gone_is_not_accused(self):
        """Rank 3 died and left no log: operations of ranks 0 and 2 failed because of it, and rank 1 waits."""
        gone = [EXCEPTION.format(rank, number) + STATUS.format(rank, number, 52, number - 1) for rank, number in ((0, 51), (2, 52))]
        self.assertEqual(self.findings(gone[0], waits(1), gone[1]), [])

    def diagnose(self, *texts):
        """From logs with these contents: findings of any confidence, and what cannot be determined."""
        for number, text in enumerate(texts):
            self.write(f"stderr.{number}", text)
        self.run_program("ingest", self.folder, status=None)
        self.report = json.loads(self.run_program("diagnose", "--format", "json", status=None).out)
        return [(finding["kind"], finding["candidates"] or finding["ranks"], finding["confidence"])
                for finding in self.report["findings"]]

    def assert_undetermined(self, reason, remedy):
        undetermined, = self.report["summary"]["undetermined"]
        self.assertIn(reason, undetermined["reason"])
        self.assertIn(remedy, undetermined["remedy"])
        said = self.run_program("diagnose", "--exit-code", status=4).verdict
        self.assertTrue(said.startswith("the rank at fault cannot be determined: "), said)

    def test_one_rank_of_several_accuses_nobody(self):
        """The input and output sizes of a gather show that there are six ranks; those of an AllReduce do not."""
        gather = waits(2, "_ALLGATHER_BASE").replace("NumelOut=4096", f"NumelOut={6 * 4096}")
        self.assertEqual(self.diagnose(gather), [])
        self.assert_undetermined("Only 1 of 6 ranks has a record", "the other 5 ranks (0, 1, 3, 4 and 5)")
        self.store.unlink()
        self.assertEqual(self.diagnose(waits(2)), [])
        self.assert_undetermined("no record shows how many ranks there are", "the other ranks")

    def test_all_but_one_are_candidates_at_most(self):
        """The rank without a line may be anywhere: it is missing, and has not ended. From a gap in numbers, low confidence."""
        gather = [waits(rank, "_ALLGATHER_BASE").replace("NumelOut=4096", f"NumelOut={5 * 4096}") for rank in (0, 1, 3, 4)]
        self.assertEqual(self.diagnose("".join(gather)), [("missing", [2], "medium")])
        self.assertNotIn("ended", self.report["findings"][0]["text"])
        self.store.unlink()
        self.assertEqual(self.diagnose("".join(waits(rank) for rank in (0, 1, 3, 4))), [("missing", [2], "low")])
        self.store.unlink()
        self.assertEqual(self.diagnose("".join(waits(rank) for rank in (0, 1, 4))), [])

    def test_all_who_have_a_line_wait_and_there_may_be_more(self):
        self.assertEqual(self.diagnose("".join(waits(rank) for rank in range(3))), [])
        self.assert_undetermined("no record shows how many ranks there are", "the other ranks")
        self.assertNotIn("all its ranks", self.report["summary"]["undetermined"][0]["reason"])

    def test_another_number_of_elements_than_the_others(self):
        """With the group in a separate line, and in lines that name none."""
        other = "NumelIn=8192, NumelOut=8192"
        lines = [TIMEOUT.format(rank, 53, "ALLREDUCE").replace("NumelIn=4096, NumelOut=4096", other if rank == 2 else
                                                               "NumelIn=4096, NumelOut=4096") for rank in range(4)]
        self.assertEqual(self.diagnose("".join(lines)), [("mismatch", [2], "high")])
        self.store.unlink()
        self.assertEqual(self.diagnose(*(line + STATUS.format(rank, 53, 53, 52) for rank, line in enumerate(lines))),
                         [("mismatch", [2], "high")])
        self.assertIn("8192 elements", self.report["findings"][0]["evidence"])

    def test_works_of_groups_that_are_not_named(self):
        """They belong to different groups, and it is unknown to which."""
        old = "[E ProcessGroupNCCL.cpp:828] [Rank {}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum={}, OpType=" \
              "ALLREDUCE, Timeout(ms)=600000) ran for 608700 milliseconds before timing out.\n"
        self.assertEqual(self.diagnose("".join(old.format(rank, work) for rank, work in ((0, 257), (0, 1032), (3, 33)))), [])
        self.assert_undetermined("never finished", "add the logs")

    REPORT = ("[rank{0}]:[E515 18:36:47.3 ProcessGroupNCCL.cpp:1937] Rank {0}\n\t - [{0}] Timeout at collective: ALLREDUCE, #53\n"
              "\t - To our best knowledge, the lagging/dead/mismatched ranks that caused the desync are:\n"
              "\t   [{1}] finished collective #20, but didn't join collective #21 (count from 1)\n"
              "\t - Snapshot of ranks' latest states:\n\t   #20 finished ranks:\n\t     [{1}] finished ALLREDUCE\n"
              "\t   #53 started ranks:\n\t     [{2}] started ALLREDUCE\n")

    def test_a_desync_report(self):
        """One rank's log names the rank and the number of ranks. If the log of that rank shows that it waits, it did join."""
        report = self.REPORT.format(0, 3, "0, 1, 2, 4")
        self.assertEqual(self.diagnose(waits(0) + report), [("missing", [3], "medium")])
        finding, = self.report["findings"]
        self.assertIn("didn't join collective #21", finding["evidence"])
        self.assertEqual(finding["at"]["byte_offset"], (waits(0) + report).index("\t   [3] finished"))
        self.assertEqual(self.report["coverage"][0]["expected_ranks"], 5)
        self.store.unlink()
        self.assertEqual(self.diagnose(waits(0) + report, *(waits(rank) for rank in range(1, 5))), [])

    def test_reports_that_differ(self):
        found = self.diagnose(waits(0) + self.REPORT.format(0, 3, "0, 1, 2"), waits(1) + self.REPORT.format(1, 2, "0, 1, 3"))
        self.assertEqual(found, [("missing", [2, 3], "low")])

    STUCK = (HEAD + "1743] [PG ID 0 PG GUID 0(default_pg) Rank {0}] ProcessGroupNCCL's watchdog got stuck for 480 seconds without making "
             "progress in monitoring enqueued collectives. This typically indicates a NCCL/CUDA API hang blocking the watchdog.\n")

    def test_a_stuck_watchdog(self):
        """Alone it is a finding; next to ranks that time out it shows for whom they wait; on a rank that timed out it means
        nothing.
        """
        self.assertEqual(self.diagnose(self.STUCK.format(1)), [("error", [1], "medium")])
        self.assertIn("watchdog is stuck", self.report["findings"][0]["text"])
        self.store.unlink()
        gather = [waits(rank, "_ALLGATHER_BASE").replace("NumelOut=4096", f"NumelOut={6 * 4096}") for rank in (0, 1, 4)]
        self.assertEqual(self.diagnose("".join(gather) + self.STUCK.format(3) + self.STUCK.format(0)), [("error", [3], "medium")])

    def test_errors_of_one_rank_and_their_echo(self):
        own = EXCEPTION.replace("remote process exited or there was a network error", "internal error")
        self.assertEqual(self.diagnose(own.format(2, 53) + "ncclInternalError: Internal check failed.\nLast error:\nno slot\n"
                                       + "".join(waits(rank) for rank in (0, 1, 3)) + EXCEPTION.format(4, 53)),
                         [("error", [2], "high")])
        finding, = self.report["findings"]
        self.assertIn("Last error: no slot", finding["evidence"])
        self.assertEqual(finding["at"]["byte_offset"], 0)
        self.store.unlink()
        self.assertEqual(self.diagnose("".join(EXCEPTION.format(rank, 53) for rank in range(4))), [])

    def test_what_the_last_error_tells(self):
        """NCCL also reports a system error or an internal error if it could not reach a peer."""
        failed = (HEAD + "2027] [PG ID 0 PG GUID 0(default_pg) Rank {0}] Process group watchdog thread terminated with exception: NCCL "
                  "error: {1}, NCCL version 2.21.5\n{2}\nLast error:\n{3}\n")
        system = "unhandled system error (run with NCCL_DEBUG=INFO for details)", "ncclSystemError: System call failed."
        internal = "internal error - please report this issue to the NCCL developers", "ncclInternalError: Internal check failed."
        effects = [(system, "socketStartConnect: Connect to 10.1.0.9<40123> failed : Connection refused"),
                   (system, "socketPollConnect: Connect to 10.1.0.9<40123> failed : No route to host"),
                   (system, "Call to recv from 10.1.0.9<40123> failed : Connection timed out"),
                   (internal, "Socket recv failed while polling for opId=0x7f00"), (internal, "Proxy Call to rank 5 failed (Setup)")]
        own = [(system, "Error: failed to extend /dev/shm/nccl-x7 to 9637892 bytes"), (system, "Call to bind failed : Address already in use"),
               (internal, "Could not find pool of op 3")]
        for number, (name, last) in enumerate(effects + own):
            with self.subTest(last):
                self.diagnose("".join(waits(rank) for rank in (0, 1)) + failed.format(2, *name, last))
                self.assertEqual([finding["ranks"] for finding in self.report["findings"] if finding["kind"] == "error"],
                                 [[2]] if number >= len(effects) else [])
            self.store.unlink()

    def test_lines_that_a_terminal_broke(self):
        text = "".join(TIMEOUT.format(rank, 53, "BROADCAST") for rank in range(1, 5))
        broken = "".join(line[at:at + 100] + "\n" for line in text.splitlines() for at in range(0, len(line), 100))
        self.assertEqual(self.diagnose(broken), [("missing", [0], "low")])

    def test_a_rank_that_its_launcher_saw_end(self):
        """Few ranks left a line, and it is still known that the rank ended."""
        gather = waits(0, "_ALLGATHER_BASE").replace("NumelOut=4096", f"NumelOut={6 * 4096}")
        killed = "srun: error: node3: task 4: Killed\n"
        self.assertEqual(self.diagnose(gather + killed), [("ended_early", [4], "high")])
        finding, = self.report["findings"]
        self.assertIn("task 4: Killed", finding["evidence"])
        self.assertEqual(finding["at"]["byte_offset"], len(gather))

    def test_who_is_killed_as_the_step_is_ended(self):
        """A task exited, and srun killed the rest: the kills are not the cause, and the exception of that task is."""
        ends = "srun: error: node3: task 3: Exited with exit code 1\nsrun: Terminating StepId=7.0\nsrun: error: node0: task 0: Killed\n"
        waiting = waits(1) + waits(2)
        self.assertNotIn("ended_early", [kind for kind, _, _ in self.diagnose(waiting + ends)])
        self.store.unlink()
        own = "[rank3]: Traceback (most recent call last):\n[rank3]:   File \"train.py\", line 9\n[rank3]: KeyError: 'tokens'\n"
        self.assertEqual(self.diagnose(waiting + own + ends), [("error", [3], "medium")])

    def test_a_task_that_is_several_ranks(self):
        """srun starts torchrun once per node: the log does not show which of its ranks ended."""
        gather = "".join("[default0]:" + waits(rank, "_ALLGATHER_BASE").replace("NumelOut=4096", f"NumelOut={16 * 4096}")
                         for rank in (0, 3, 4, 7, 12))
        self.assertNotIn("ended_early", [kind for kind, _, _ in self.diagnose(gather + "srun: error: node2: task 2: Out Of Memory\n")])

    def test_a_desync_report_of_a_group_that_is_not_told(self):
        """Global rank 6 is rank 1 in it; its rank 0 is unknown. If both numbers are equal, the group contains all ranks."""
        report = "[rank{0}]:[E515 18:36:47.3 ProcessGroupNCCL.cpp:563] [Rank {1}] Watchdog caught collective operation timeout: WorkNCCL(" \
                 "SeqNum=53, OpType=ALLREDUCE, NumelIn=4096, NumelOut=4096, Timeout(ms)=15000) ran for 15099 milliseconds before timing " \
                 "out.\n\t   [0] finished collective #20, but didn't join collective #21 (count from 1)\n"
        self.assertEqual(self.diagnose(report.format(6, 1)), [])
        self.store.unlink()
        self.assertEqual(self.diagnose(report.format(1, 1)), [("missing", [0], "medium")])

    def test_a_desync_report_in_the_words_of_torch_1(self):
        """The line names the ranks that never joined anything, and lists no others; the operations have no number."""
        old = "[E ProcessGroupNCCL.cpp:737] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(OpType=ALLREDUCE, " \
              "TensorShape=[1], Timeout(ms)=1800000) ran for 1805027 milliseconds before timing out.\n"
        report = "  what():  [Rank 0] Watchdog caught collective operation timeout\n\t - [0] Timeout at collective: ALLREDUCE, #2\n" \
                 "\t - To our best knowledge, ranks [2, 3] are the lagging ranks that caused this timeout. They never joined any " \
                 "collectives\n"
        self.assertEqual(self.diagnose(old + report), [("missing", [2, 3], "medium")])

    def test_a_desync_report_of_many_ranks(self):
        """A line that lists half of all ranks is stored once, not once for each of them."""
        absent, rest = ", ".join(map(str, range(500, 1000))), ", ".join(map(str, range(500)))
        report = f"[rank0]:[E515 18:36:47.4 ProcessGroupNCCL.cpp:1937] Rank 0\n\t     [{absent}] finished collective #52, but didn't join " \
                 f"collective #53 (count from 1)\n\t - Snapshot of ranks' latest states:\n\t   #52 finished ranks:\n\t     [{absent}] finished " \
                 f"ALLREDUCE\n\t   #53 started ranks:\n\t     [{rest}] started ALLREDUCE\n"
        self.diagnose(waits(0) + report)
        finding, = self.report["findings"]
        self.assertEqual(finding["ranks"], list(range(500, 1000)))
        self.assertIn("finished collective #52, but didn't join collective #53", finding["evidence"])
        texts = self.json("query", "SELECT sum(length(text)) AS bytes FROM warning")["rows"][0]["bytes"]
        self.assertLess(texts, 500 * 100)
