"""Errors in NCCL's log: which rank they belong to, and which ranks only feel the effect."""

import json

from .support import TOP, Case

COMM = 0x55d0c0000000
ID = "0x7a11c0de5eed0001"


class Job:
    """Ranks in pairs on hosts, a communicator of all ranks, and the log of each, one file per rank."""

    def __init__(self, ranks=4, version="2.27.7"):
        self.ranks, self.version = ranks, version
        self.lines = {rank: [] for rank in range(ranks)}

    def host(self, rank):
        return f"trn{rank // 2}"

    def say(self, rank, text, level="INFO", source="", tid=None):
        pid = 7000 + 13 * rank
        before = f"{source} " if source else ""
        self.lines[rank].append(f"{self.host(rank)}:{pid}:{tid or pid} [{rank % 2}] {before}NCCL {level} {text}")
        return self

    def warn(self, rank, text, source="transport/x.cc:11", tid=None):
        return self.say(rank, text, "WARN", source, tid)

    def init(self, rank, what, identity=ID):
        return self.say(rank, f"ncclCommInitRankConfig comm 0x{COMM + rank:x} rank {rank} nranks {self.ranks} cudaDev {rank % 2} "
                              f"nvmlDev {rank % 2} busId {rank % 2 + 1}b000 commId {identity} - Init {what}")

    def make(self, *ranks):
        for rank in ranks or range(self.ranks):
            self.say(rank, f"Bootstrap: Using eth0:10.9.0.{rank // 2 + 1}<0>").init(rank, "START").init(rank, "COMPLETE")
        return self

    def call(self, count, *ranks, function="AllReduce"):
        for rank in ranks or range(self.ranks):
            for number in range(count):
                self.say(rank, f"{function}: opCount {number:x} sendbuff 0x7f00 recvbuff 0x7f00 count 4096 datatype 7 op 0 root 0 "
                               f"comm 0x{COMM + rank:x} [nranks={self.ranks}] stream 0x55e1")
        return self

    def write(self, folder):
        for rank, lines in self.lines.items():
            if lines:
                (folder / f"nccl.{rank}.log").write_text("\n".join(lines) + "\n")


class NcclErrors(Case):
    def diagnose(self, job, **more):
        traces = self.folder / "logs"
        traces.mkdir()
        job.write(traces)
        self.run_program("ingest", traces)
        return self.json("diagnose", **more)

    def only_finding(self, job):
        finding, = self.diagnose(job)["findings"]
        return finding

    def check_line(self, finding, rank, text):
        """The place of the finding is the line of the log."""
        place = finding["at"]
        self.assertTrue(place["file"].endswith(f"nccl.{rank}.log"))
        with open(place["file"], "rb") as file:
            file.seek(place["byte_offset"])
            self.assertIn(text, file.readline().decode())

    def test_a_cuda_error_that_the_others_feel(self):
        job = Job().make().call(5)
        job.warn(2, "Cuda failure 700 'an illegal memory access was encountered'").say(2, "enqueue.cc:90 -> 1")
        for rank in (0, 1, 3):
            job.warn(rank, "socketProgress: Connection closed by remote peer trn1<4001>").say(rank, "misc/socket.cc:9 -> 6")
        finding = self.only_finding(job)
        self.assertEqual((finding["kind"], finding["ranks"], finding["confidence"]), ("error", [2], "high"))
        self.assertEqual((finding["host"], finding["figures"]["ranks_affected"]), ("trn1", 3))
        self.check_line(finding, 2, "Cuda failure 700")
        result = self.run_program("diagnose", "--exit-code", status=3)
        self.assertRegex(result.flat, r"error \(high confidence\): rank 2 \(trn1, GPU 0\) [a-z ]+ a CUDA error")
        self.assertIn("Reported in: ", result.flat)
        self.assertIn("ncclprof info --warnings", result.flat)

    def test_what_a_later_version_words_otherwise(self):
        """The result that NCCL returns after it shows the kind of error."""
        job = Job().make().call(3)
        job.warn(1, "Some words of a later version", tid=9).say(1, "proxy.cc:88 -> 3 [Progress Thread]", tid=9)
        finding = self.only_finding(job)
        self.assertEqual((finding["kind"], finding["ranks"], finding["confidence"]), ("error", [1], "medium"))
        self.assertIn("an internal NCCL error", finding["text"])
        self.assertIn("Some words of a later version", finding["evidence"])

    def test_sockets_of_an_aborted_communicator_hand_up_an_effect(self):
        """Without a warning on the thread, another rank failed."""
        job = Job().make().call(5)
        for rank in (0, 2, 3):
            job.say(rank, "misc/socket.cc:52 -> 3", tid=9).say(rank, "transport/net_socket.cc:480 -> 3", tid=9)
        job.warn(1, "Cuda failure 719 'unspecified launch failure'").say(1, "enqueue.cc:70 -> 1")
        finding = self.only_finding(job)
        self.assertEqual((finding["kind"], finding["ranks"], finding["confidence"]), ("error", [1], "high"))
        self.assertEqual(finding["figures"]["ranks_affected"], 3)

    def test_sockets_closed_at_the_end_accuse_nobody(self):
        job = Job().make().call(40)
        for line in ("misc/socket.cc:52 -> 3", "bootstrap.cc:90 -> 3", "[Service thread] Connection closed by localRank 1"):
            job.say(1, line, tid=9)
        self.assertEqual(self.diagnose(job)["findings"], [])

    def test_an_internal_error_that_nobody_warned_of(self):
        """An error is the rank's own, unless it is reported where an abort is noticed."""
        job = Job().make().call(5).say(2, "enqueue.cc:88 -> 3")
        self.assertEqual(self.only_finding(job)["ranks"], [2])

    def test_a_driver_that_shuts_down_is_the_end_of_a_process(self):
        """Whether NCCL returns a result after it or not."""
        job = Job().make().call(5)
        job.warn(1, "Cuda failure 'driver shutting down'").warn(2, "Cuda failure 4 'driver shutting down'").say(2, "proxy.cc:61 -> 1")
        report = self.diagnose(job)
        self.assertEqual(report["findings"], [])
        self.assertFalse([warning for warning in report["warnings"] if "reported" in warning])

    def end(self, job, *ranks):
        for rank in ranks:
            job.say(rank, f"comm 0x{COMM + rank:x} rank {rank} nranks {job.ranks} cudaDev {rank % 2} busId 1b000 - Destroy COMPLETE")
        return job

    def test_what_a_rank_warned_of_before_it_connected(self):
        """As in logs without calls; also a result that NCCL returned after its thread took another path."""
        job = Job().make()
        job.warn(1, "Cuda failure 217 'peer access is not supported'").say(1, "transport/p2p.cc:88 -> 1").say(1, "Connected all rings")
        job.warn(2, "Call to ibv_reg_mr failed with error Cannot allocate memory")
        report = self.diagnose(self.end(job, 0, 1, 2, 3), status=1)
        self.assertEqual(report["findings"], [])

    def test_an_error_that_another_thread_connected_beside(self):
        job = Job().make().warn(1, "Cuda failure 700 'an illegal memory access'", tid=9).say(1, "proxy.cc:88 -> 1", tid=9)
        job.say(1, "Connected all rings").say(3, "Connected all rings")
        finding = self.only_finding(self.end(job, 0, 1, 2, 3))
        self.assertEqual((finding["kind"], finding["ranks"]), ("error", [1]))

    def test_a_rank_whose_line_of_init_is_lost(self):
        """The destruction of the communicator shows that it had been created."""
        job = Job().make(0, 2, 3).init(1, "START")
        self.assertEqual(self.diagnose(self.end(job, 0, 1, 2, 3), status=1)["findings"], [])

    def test_a_message_longer_than_expected_accuses_neither_end(self):
        job = Job().make().call(5)
        job.warn(3, "NET/Socket : peer 10.9.0.1<5> message truncated : receiving 8192 bytes instead of 512", tid=4)
        report = self.diagnose(job.say(3, "transport/net.cc:700 -> 5", tid=4))
        self.assertEqual(report["findings"], [])
        self.assertIn("message truncated", report["warnings"][0])

    def test_versions_that_differ_accuse_both_ranks_that_are_named(self):
        """Independent of the rank that logs it: with only one log, its rank is not more at fault than the other."""
        job = Job()
        for rank in range(4):
            job.init(rank, "START")
        job.warn(1, "Mismatched NCCL version detected : rank 3 version 22304 rank 0 version 22602").say(1, "init.cc:900 -> 5")
        job.warn(3, "Mismatched NCCL version detected : rank 3 version 22304 rank 0 version 22602").say(3, "init.cc:900 -> 5")
        finding = self.only_finding(job)
        self.assertEqual((finding["kind"], finding["candidates"], finding["confidence"]), ("error", [0, 3], "low"))
        self.assertEqual((finding["figures"]["ranks_reporting"], finding["figures"]["ranks_affected"]), (1, 1))
        self.assertIn('Rank 3 logged "Mismatched NCCL version', finding["evidence"])

    def begin_anew(self, job, *ranks):
        """As after a restart in containers, in which the process IDs of earlier processes occur again."""
        for rank in range(job.ranks):
            job.init(rank, "START", "0x7a11c0de5eed0002")
        for rank in ranks:
            job.init(rank, "COMPLETE", "0x7a11c0de5eed0002")
        return job

    def stuck(self):
        job = Job(ranks=5)
        for rank in (0, 2, 3, 4):
            job.init(rank, "START")
        return job

    def test_a_communicator_that_was_made_anew_is_not_stuck(self):
        job = self.begin_anew(self.stuck(), 0, 1, 2, 3, 4).call(30)
        self.assertEqual(self.diagnose(job)["findings"], [])

    def test_a_communicator_that_is_stuck_again(self):
        finding = self.only_finding(self.begin_anew(self.stuck(), 0, 2, 3, 4))
        self.assertEqual(finding["kind"], "missing")

    def test_a_communicator_made_before_does_not_excuse_who_is_stuck(self):
        job = self.begin_anew(Job(ranks=5), 0, 1, 2, 3, 4)
        for rank in (0, 2, 3, 4):
            job.init(rank, "START")
        finding = self.only_finding(job)
        self.assertEqual((finding["kind"], finding["ranks"]), ("missing", [1]))

    def test_an_aborted_communicator_was_not_made(self):
        job = Job().make(0, 2, 3).init(1, "START").say(1, f"comm 0x{COMM + 1:x} rank 1 nranks 4 cudaDev 1 busId 1b000 - Abort COMPLETE")
        self.assertEqual(self.only_finding(job)["ranks"], [1])

    def test_the_error_of_who_is_missing_says_why(self):
        job = Job().make().call(5, 0, 1, 2).call(4, 3)
        job.warn(3, "Cuda failure 2 'out of memory'").say(3, "init.cc:4 -> 1")
        finding = self.only_finding(job)
        self.assertEqual((finding["kind"], finding["ranks"]), ("missing", [3]))
        self.assertIn("Cuda failure 2 'out of memory'", finding["evidence"])
        self.check_line(finding, 3, "out of memory")

    def test_errors_of_several_ranks_accuse_none_of_them(self):
        job = Job().make().call(5)
        for rank in (1, 2):
            job.warn(rank, "Cuda failure 719 'unspecified launch failure'")
        finding = self.only_finding(job)
        self.assertEqual((finding["candidates"], finding["ranks"], finding["confidence"]), ([1, 2], [], "low"))

    def test_who_only_feels_it_is_told_and_not_accused(self):
        """It is no all-clear either."""
        job = Job().make().call(5)
        for rank in (0, 1, 3):
            job.warn(rank, "socketProgress: Connection closed by remote peer trn1<4001>")
        report = self.diagnose(job)
        self.assertEqual(report["findings"], [])
        self.assertIn("3 ranks reported failures", report["warnings"][0])
        self.assertNotIn("no problem found", self.run_program("diagnose").flat)

    def test_the_example_does_not_depend_on_the_order_of_files(self):
        job = Job().make().call(5)
        for rank in (1, 3):
            job.warn(rank, f"socketProgress: Connection closed by remote peer trn1<400{rank}>")
        job.write(self.folder)
        logs = sorted(self.folder.glob("nccl.*.log"))
        for files in (logs, logs[::-1]):
            self.store.unlink(missing_ok=True)
            self.run_program("ingest", "--jobs", "1", *files)
            warning, = [warning for warning in self.json("diagnose")["warnings"] if "reported failures" in warning]
            self.assertIn("for example rank 1: ", warning)
            self.assertEqual([row["rank"] for row in self.json("info", "--warnings")["rows"]], [1, 3])

    def test_an_error_that_a_thread_got_over(self):
        """Its text is reported; its own next call shows that it is no fatal error."""
        job = Job().make().call(3).warn(1, "Cuda failure 801 'operation not supported'").call(3)
        report = self.diagnose(job)
        self.assertEqual(report["findings"], [])
        self.assertIn("1 rank reported failures that do not show the rank at fault", report["warnings"][0])

    def test_what_healthy_jobs_print_accuses_nobody(self):
        job = Job().make()
        job.warn(0, "Call to bind failed: Address already in use", "ras/client_support.cc:160")
        job.say(0, "RAS failed to establish a client listening socket at localhost:28028")
        job.warn(1, "Could not read speed of mlx5_0").warn(2, "NET/IB : mlx5_0:1 Got non-fatal async event: port active(9)")
        report = self.diagnose(job.call(9))
        self.assertEqual(report["findings"], [])
        self.assertFalse([warning for warning in report["warnings"] if "reported" in warning])

    def test_a_failed_request_of_a_plugin(self):
        job = Job().make().call(5)
        job.warn(1, "NET/OFI Request 0x7f completed with error. RC: 113. Error: 4126 (Unresponsive receiver). Completed length: 0",
                 "static int process_err_completion(fid_cq*, unsigned int):311")
        finding = self.only_finding(job)
        self.assertEqual((finding["kind"], finding["ranks"], finding["confidence"]), ("network", [1], "low"))
        self.assertIn("RC: 113", finding["evidence"])
        self.check_line(finding, 1, "RC: 113")

    def test_a_link_whose_ends_are_told(self):
        job = Job().make().call(5)
        job.warn(1, "NET/IB : Got completion from peer 10.9.0.2<5> with status=12 opcode=0 len=0 vendor err 129 (Send)")
        for rank in (0, 2):
            job.warn(rank, f"NET/IB : Got completion from peer 10.9.0.{2 - rank // 2}<5> with error 5, opcode 0, len 0, vendor err 249")
        finding = self.only_finding(job)
        self.assertEqual((finding["kind"], finding["confidence"], finding["candidates"]), ("network", "low", [1, 3]))
        self.assertEqual(finding["text"], "transfers between host trn0 and host trn1 failed")
        self.assertIn("2 ranks gave up transfers (status 5)", finding["evidence"])

    def test_a_card_that_cannot_be_opened(self):
        job = Job().make(0, 1, 2).warn(3, "NET/IB : Unable to open device mlx5_bond_1").make(3).call(1)
        finding = self.only_finding(job)
        self.assertEqual((finding["kind"], finding["ranks"], finding["host"], finding["confidence"]), ("error", [3], "trn1", "low"))
        self.assertIn("mlx5_bond_1", finding["evidence"])

    def test_a_rank_with_another_network(self):
        job = Job()
        for rank in range(4):
            job.say(rank, f"Using network {'Socket' if rank == 1 else 'IB'}")
        finding = self.only_finding(job.make().call(1))
        self.assertEqual((finding["kind"], finding["ranks"], finding["confidence"]), ("error", [1], "low"))
        self.assertIn('most ranks logged "Using network IB"', finding["evidence"])
        self.check_line(finding, 1, "Using network Socket")
        self.assertEqual(self.json("info", "--warnings")["rows"], [])

    def test_a_port_that_went_and_did_not_come_back(self):
        job = Job().make().call(5)
        for rank in (2, 3):
            job.warn(rank, "NET/IB : mlx5_1:1 Got async event : port error")
        job.warn(0, "NET/IB : mlx5_1:1 Got async event : port error").warn(0, "NET/IB : mlx5_1:1 Got async event : port active")
        finding = self.only_finding(job)
        self.assertEqual((finding["kind"], finding["candidates"], finding["confidence"]), ("error", [2, 3], "low"))

    def test_a_card_that_a_running_job_does_not_need(self):
        job = Job().make(0, 1, 2).warn(3, "NET/IB : Unable to open device mlx5_bond_1").make(3).call(40)
        self.assertEqual(self.diagnose(job)["findings"], [])

    def test_a_rank_with_fewer_cards(self):
        job = Job()
        for rank in range(4):
            job.init(rank, "START").say(rank, "Rank 2 has 1 local Net devices (max 2).")
            job.say(rank, "Detected mixed local Net device counts across ranks (min 1, max 2). Ignoring due to NCCL_IGNORE_NET_MISMATCH.")
            job.init(rank, "COMPLETE")
        finding = self.only_finding(job.call(1))
        self.assertEqual((finding["kind"], finding["ranks"]), ("error", [2]))

    def test_ranks_that_never_got_out_of_init(self):
        job = Job(ranks=6).make(0, 2, 4)
        for rank in (1, 3, 5):
            job.init(rank, "START").say(rank, "Bootstrap timings total 0.021000 (create 0.000040, send 0.000100, recv 0.000300)")
        finding = self.only_finding(job)
        self.assertEqual((finding["kind"], finding["candidates"], finding["confidence"]), ("missing", [1, 3, 5], "low"))
        self.assertEqual(finding["peers"], [0, 2, 4])
        self.assertIn("rank 1 (trn0), rank 3 (trn1) and rank 5 (trn2) ", finding["text"])
        self.assertIn("ncclprof startup", finding["next"])

    def test_a_rank_that_never_came_to_init(self):
        job = Job()
        for rank in (0, 1, 3):
            job.init(rank, "START")
        finding = self.only_finding(job)
        self.assertEqual((finding["kind"], finding["rank"], finding["confidence"]), ("missing", 2, "low"))
        self.assertIn("or its log is not among these", finding["evidence"])

    def test_errors_of_processes_whose_ranks_are_not_told(self):
        """As NCCL_DEBUG=WARN logs it."""
        job = Job().warn(2, "Cuda failure 700 'an illegal memory access was encountered'")
        job.warn(1, "socketProgress: Connection closed by remote peer trn1<4001>")
        traces = self.folder / "logs"
        traces.mkdir()
        job.write(traces)
        result = self.run_program("diagnose", traces, status=1)
        self.assertIn("process 7026 on host trn1 (CUDA device 0) reported a CUDA error: \"Cuda failure 700", result.flat)
        self.assertIn("1 process without a known rank reported that it lost a peer", result.flat)

    def test_calls_without_init_lines_are_counted(self):
        job = Job().call(6, 0, 1, 2).call(5, 3)
        result = self.run_program("ingest", self.write(job))
        self.assertNotIn("could not be read", result.flat)
        text = self.run_program("diagnose").flat
        self.assertIn("AllReduce on communicators of 4 ranks: 3 of 4 callers made 6 calls each, process 7039 on host trn1 "
                      "(CUDA device 1) made 5", text)
        self.assertIn("the Init line is not in this log", text)
        counted = {row["reason"]: row["count"] for row in self.json("info", "--ledger")["rows"]
                   if row["reason"].startswith("call on a communicator whose Init line")}
        self.assertEqual(sum(counted.values()), 23)

    def old_init(self, job, rank, ranks=4, comm=COMM, at=None):
        at = rank if at is None else at
        return job.say(at, f"comm 0x{comm + at:x} rank {rank} nranks {ranks} cudaDev {at % 2} busId 1b000 - Init COMPLETE")

    def pairs_call(self, job, counts, comm=COMM + 0x100):
        """Calls on communicators of pairs: ranks 0 and 1, ranks 2 and 3."""
        for rank, count in enumerate(counts):
            for number in range(count):
                job.say(rank, f"AllGather: opCount {number:x} sendbuff 0x7f00 recvbuff 0x7f00 count 64 datatype 7 op 0 root 0 "
                              f"comm 0x{comm + rank:x} [nranks=2] stream 0x55e1")
        return job

    def test_ranks_of_nccl_below_2_18_are_those_of_its_init_lines(self):
        """Its Init lines name no communicator; here there is only one, and each log has one of its ranks."""
        job = Job()
        for rank in range(4):
            self.old_init(job, rank)
        finding = self.only_finding(job.call(6, 0, 1, 2).call(5, 3))
        self.assertEqual((finding["kind"], finding["ranks"]), ("missing", [3]))
        self.assertFalse([row for row in self.json("info", "--ledger")["rows"] if "torn" in row["reason"]])

    def test_a_log_of_all_ranks_below_2_18(self):
        job = Job()
        for rank in range(4):
            self.old_init(job, rank)
        self.assertEqual(self.one_file(job.call(6, 0, 1, 3).call(5, 2))["ranks"], [2])

    def test_pairs_of_nccl_below_2_18_are_named_for_what_they_are(self):
        """Each pair has a rank 0 and a rank 1: which ranks belong together is not shown."""
        job = Job()
        for rank in range(4):
            self.old_init(job, rank).call(6, rank)
            self.old_init(job, rank % 2, 2, COMM + 0x100, at=rank)
        self.pairs_call(job, [6, 6, 6, 5])
        result = self.run_program("ingest", self.write(job))
        self.assertNotIn("not whole", result.flat)
        text = self.run_program("diagnose").flat
        self.assertIn("AllGather on communicators of 2 ranks: 3 of 4 callers made 6 calls each", text)
        self.assertIn("AllReduce on communicators of 4 ranks: 4 callers made 6 calls each", text)
        self.assertIn("NCCL below 2.18 names no communicator", text)

    def one_file(self, job, head=lambda rank: "", name="all.log"):
        """The only finding, or None, if all ranks write to one file."""
        lines, left = [], {rank: list(lines) for rank, lines in job.lines.items()}
        while any(left.values()):
            lines += [head(rank) + left[rank].pop(0) for rank in left if left[rank]]
        self.run_program("ingest", self.write_lines(name, lines))
        return next(iter(self.json("diagnose", status=None)["findings"]), None)

    def write_lines(self, name, lines):
        return super().write(name, "".join(line + "\n" for line in lines))

    def on_one_host(self, calls, first=0, launches=True):
        job = Job()
        job.host = lambda rank: "trn5"
        for rank, count in enumerate(calls):
            for number in range(first, first + count):
                job.lines[rank].append(f"trn5:{7000 + rank}:{7000 + rank} [{3 - rank}] NCCL INFO AllReduce: opCount {number * launches:x} "
                                       f"sendbuff 0x7f00 recvbuff 0x7f00 count 4096 datatype 7 op 0 root 0 comm 0x{COMM:x} [nranks=4] stream 0x1")
        return job

    def test_without_init_lines_the_ranks_of_one_host_are_its_devices(self):
        """The process of GPU 1 made a call less."""
        finding = self.one_file(self.on_one_host([9, 9, 8, 9]))
        self.assertEqual((finding["kind"], finding["ranks"]), ("missing", [1]))
        self.assertIn("the ranks are taken from the device numbers", " ".join(self.json("diagnose")["warnings"]))

    def test_the_fixtures(self):
        for name, kind, ranks in ("nccl-log-calls-alone", "missing", [3]), ("nccl-torch-log", "missing", [1]):
            self.run_program("ingest", TOP / "fixtures" / name)
            finding, = self.json("diagnose")["findings"]
            self.assertEqual((finding["kind"], finding["candidates"] or finding["ranks"] or [finding["rank"]]), (kind, ranks))
            (self.folder / "store.db").unlink()

    def test_global_ranks_come_before_devices(self):
        """RCCL prints them; launchers print them before each line; files are named after them."""
        job = self.on_one_host([9, 9, 8, 9])
        for rank, lines in job.lines.items():
            job.lines[rank] = [f"{line} task 0 globalrank {rank}" for line in lines]
        self.assertEqual(self.one_file(job)["ranks"], [2])
        self.assertEqual(self.json("diagnose")["warnings"], ["the trace has no timestamps and no durations: late ranks and slow links "
                                                             "cannot be detected"])

    def test_ranks_before_lines_and_in_names_of_files(self):
        self.assertEqual(self.one_file(self.on_one_host([9, 9, 8, 9]), lambda rank: f"[1,{rank}]<stdout>:")["ranks"], [2])
        (self.folder / "store.db").unlink()
        for rank, lines in self.on_one_host([9, 9, 9, 8]).lines.items():
            self.write_lines(f"of/nccl-rank{rank}.txt", lines)
        self.run_program("ingest", "of")
        self.assertEqual([finding["ranks"] for finding in self.json("diagnose")["findings"]], [[3]])

    def test_calls_before_the_log_begins_leave_the_match_open(self):
        """opCount shows that calls are missing, or, where it does not count, not that all are there: rank 2 may have called the last
        one.
        """
        for number, job in enumerate((self.on_one_host([9, 9, 8, 9], first=3), self.on_one_host([9, 9, 8, 9], launches=False))):
            self.assertIsNone(self.one_file(job, name=f"all{number}.log"))
            self.assertIn("process 7002 on host trn5 (CUDA device 1) made 8", self.run_program("diagnose").flat)
            (self.folder / "store.db").unlink()

    def write(self, job):
        traces = self.folder / "logs"
        traces.mkdir()
        job.write(traces)
        return traces

    def waiting(self, job, *ranks):
        """Lines of the watchdogs of ranks that wait in work 6."""
        for rank in ranks:
            job.lines[rank] += [f"[rank{rank}]:[E1120 09:11:42.118 ProcessGroupNCCL.cpp:685] [Rank {rank}] Watchdog caught collective operation "
                                "timeout: WorkNCCL(SeqNum=6, OpType=ALLREDUCE, NumelIn=4096, NumelOut=4096, Timeout(ms)=20000) ran for 20011 "
                                "milliseconds before timing out.",
                                f"[rank{rank}]:[E1120 09:11:42.118 ProcessGroupNCCL.cpp:1785] [PG ID 0 PG GUID 0(default_pg) Rank {rank}] Exception "
                                "(either an error or timeout) detected by watchdog at work: 6, last enqueued NCCL work: 7, last completed NCCL "
                                "work: 5."]
        return job

    def test_lines_of_the_watchdog_in_a_log_without_calls_are_read(self):
        """stderr with NCCL_DEBUG=INFO, whose default lists no calls."""
        finding = self.one_file(self.waiting(Job().make(), 0, 1, 3))
        self.assertEqual((finding["kind"], finding["candidates"] or [finding["rank"]], finding["confidence"]), ("missing", [2], "low"))
        self.assertEqual(self.rows("SELECT dialect FROM file"), [("nccl-torch-log",)])
        self.assertEqual(self.json("info", "--ledger")["rows"], [])
        self.assertEqual(self.rows("SELECT count(DISTINCT pid) FROM process WHERE pid > 0"), [(4,)])

    def test_a_traceback_alone_leaves_it_a_log_of_nccl(self):
        job = Job().make()
        job.lines[1] += ["[rank1]: Traceback (most recent call last):", '[rank1]:   File "loop.py", line 8, in <module>', "[rank1]: KeyError: 'x'"]
        self.one_file(job)
        self.assertEqual(self.rows("SELECT dialect FROM file"), [("nccl-log",)])

    def test_lines_of_the_watchdog_are_not_passed_over_in_silence(self):
        """A process whose stderr has both, and lists its calls: the watchdog's lines are counted, and the output names the
        format that reads them.
        """
        said = ("[rank3]:[E1120 09:11:42.118 ProcessGroupNCCL.cpp:685] [Rank 3] Watchdog caught collective operation timeout: "
                "WorkNCCL(SeqNum=6, OpType=ALLREDUCE, NumelIn=4096, NumelOut=4096, Timeout(ms)=20000) ran for 20011 milliseconds")
        started = "[rank3]:[I1120 09:10:02.118 ProcessGroupNCCL.cpp:931] [PG ID 0 Rank 3] ProcessGroupNCCL initialization options"
        job = Job().make().call(5)
        job.lines[3] += [started, said, said.replace("SeqNum=6", "SeqNum=7")]
        note, = [w for w in self.diagnose(job)["warnings"] if "watchdog" in w]
        offset = (self.folder / "logs" / "nccl.3.log").read_text().index(said)
        self.assertIn(f"nccl.3.log: 2 lines of PyTorch's watchdog between NCCL's lines were not read, the first at byte {offset}", note)

    def test_a_healthy_start_of_process_groups_is_no_word_of_the_watchdog(self):
        job = Job().make().call(5)
        job.lines[1].append("[rank1]:[I1120 09:10:02.118 ProcessGroupNCCL.cpp:931] [PG ID 0 Rank 1] ProcessGroupNCCL initialization "
                            "options: size: 4, TIMEOUT(ms): 600000")
        self.assertEqual([w for w in self.diagnose(job)["warnings"] if "watchdog" in w], [])


class BesideATrace(Case):
    """A process whose calls are in a trace and in its log."""
    HASH = 0x5eed0b5e55ed0007

    def write_trace(self, rank, calls):
        lines = []
        for number in range(calls):
            at = 2000.0 * number
            base = {"cat": "COLL", "id": number, "pid": 7300 + rank, "tid": 1}
            kernel = {"name": "KernelCh", "cat": "GPU", "id": number, "pid": 7300 + rank, "tid": 1}
            lines += [{"name": "AllReduce", **base, "ph": "b", "ts": at, "args": {
                           "SeqNum": number, "CommHash": self.HASH, "Rank": rank, "Count": 4096, "Datatype": "ncclFloat32",
                           "Algorithm": "RING", "Protocol": "SIMPLE", "nChannels": 1}},
                      {**kernel, "ph": "b", "ts": at + 5, "args": {"Channel": 0, "StartGpuClk": 1, "StopGpuClk": 2}},
                      {**kernel, "ph": "e", "ts": at + 90}, {"name": "AllReduce", **base, "ph": "e", "ts": at + 91}]
        (self.traces / f"trace_{rank}.json").write_text("[\n" + ",\n".join(map(json.dumps, lines)) + "\n]\n")

    def log_lines(self, rank, calls=0, failed_before=None):
        head = f"gpu7:{7300 + rank}:{7300 + rank} [{rank}] "
        lines = [head + f"NCCL INFO ncclCommInitRank comm 0x7a{rank}0 rank {rank} nranks 2 cudaDev {rank} nvmlDev {rank} busId 1b000 "
                        f"commId 0x{self.HASH:x} - Init COMPLETE"]
        for number in range(calls):
            if number == failed_before:
                lines.append(head + "transport/net_ib.cc:2310 NCCL WARN NET/IB: Got completion from peer 10.7.0.2<4011> with status=12 "
                                    "opcode=0 len=0 vendor err 129 (Send) hca mlx5_3")
            lines.append(head + f"NCCL INFO AllReduce: opCount {number:x} sendbuff 0x7f00 recvbuff 0x7f00 count 4096 datatype 7 op 0 "
                                f"root 0 comm 0x7a{rank}0 [nranks=2] stream 0x55e1")
        return lines

    def write_job(self, calls, failed_before=None):
        self.traces = self.folder / "job"
        self.traces.mkdir()
        for rank in range(2):
            self.write_trace(rank, calls)
            (self.traces / f"nccl.{rank}.log").write_text("\n".join(self.log_lines(rank, calls, None if rank else failed_before)) + "\n")

    def test_a_failure_that_was_got_over_accuses_nobody(self):
        """1,400 calls follow it; dropping the log's calls because the trace has them does not hide this."""
        self.write_job(1400, failed_before=9)
        self.run_program("ingest", self.traces)
        report = self.json("diagnose")
        self.assertEqual([f for f in report["findings"] if f["kind"] == "network"], [])
        self.assertFalse([w for w in report["warnings"] if "reported failures" in w])

    def test_two_logs_of_one_process(self):
        """Each file describes a communicator that the trace lacks: together they are one, in any order."""
        self.write_job(6)
        second = ("ncclCommSplit comm 0x9b{0}0 rank {0} nranks 2 cudaDev {0} nvmlDev {0} busId 1b000 commId 0x51de - Init COMPLETE")
        for folder, before in ("debug", ""), ("captured", "starting\n"):
            (self.folder / folder).mkdir()
            for rank in range(2):
                lines = self.log_lines(rank) + [f"gpu7:{7300 + rank}:{7300 + rank} [{rank}] NCCL INFO " + second.format(rank)]
                (self.folder / folder / f"{rank}.log").write_text(before + "\n".join(lines) + "\n")
        for path in self.traces, self.folder / "debug", self.folder / "captured":
            self.run_program("ingest", path)
        members = self.json("query", "SELECT communicator_id, rank, count(*) AS members FROM member GROUP BY 1, 2")["rows"]
        self.assertEqual([row["members"] for row in members], [1] * 4)
        self.assertEqual(self.json("diagnose")["findings"], [])
