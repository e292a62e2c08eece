"""startup: times from the log, the rank that arrived last, and what can be determined without a log."""

import re

from .support import TOP, Case

LATE = TOP / "fixtures/nccl-log-late-start"


def made(rank, size, wait, parts="kernels 0.40, alloc 0.02", total=None, function="ncclCommInitRank", pid=None):
    """The log of one rank of one communicator, which waited this many seconds in the bootstrap."""
    pid = pid or 100 + rank
    total = wait + 0.5 if total is None else total
    head = f"node{rank // 2}:{pid}:{pid} [0] NCCL INFO "
    line = f"{function} comm 0x55d0 rank {rank} nranks {size} cudaDev 0 nvmlDev 0 busId 1b000 commId 0x9c - Init "
    return (f"{head}{line}START\n{head}{line}COMPLETE\n{head}Init timings - {function}: rank {rank} nranks {size} total {total:.2f} "
            f"({parts}, bootstrap {wait:.2f}, allgathers 0.01, topo 0.05, graphs 0.01, connections 0.00, rest 0.01)\n")


class Startup(Case):
    def rows_of(self, *words):
        return self.json("startup", *words)["rows"]

    def take(self, logs):
        for rank, text in enumerate(logs):
            self.write(f"logs/nccl.{rank}.log", text)
        self.run_program("ingest", "logs")

    def findings(self):
        return self.json("diagnose")["findings"]

    def test_diagnose_names_who_was_late(self):
        """13.97 s according to the fixture's lines: from the shortest bootstrap to the next. Splits and a harmless warning
        are ignored.
        """
        self.run_program("ingest", LATE)
        waits = sorted(float(wait) for log in LATE.glob("*.log") for wait in re.findall(r"Bootstrap timings total ([\d.]+)", log.read_text()))
        finding, = self.findings()
        self.assertEqual((finding["kind"], finding["ranks"], finding["confidence"], finding["host"]), ("host", [2], "high", "node1"))
        self.assertAlmostEqual(finding["lost_us"], (waits[1] - waits[0]) * 1e6, delta=1)
        self.assertEqual(finding["waiting_ranks"], [0, 1, 3])
        self.assertAlmostEqual(finding["excess_us"] - finding["overlapped_us"], finding["lost_us"], delta=1)
        self.assertIn("late at start-up", self.run_program("diagnose").flat)
        self.assertEqual(self.run_program("diagnose", "--exit-code", status=3).returncode, 3)

    def test_a_log_without_calls_is_enough(self):
        """NCCL_DEBUG=INFO does not print calls by default."""
        self.take(["\n".join(line for line in log.read_text().splitlines() if "opCount" not in line) + "\n" for log in sorted(LATE.glob("*.log"))])
        finding, = self.findings()
        self.assertEqual((finding["kind"], finding["ranks"]), ("host", [2]))
        self.assertNotIn("not enough data", self.run_program("diagnose").flat)

    def test_who_comes_a_little_late_is_not_accused(self):
        self.take([made(rank, 4, 0.02 if rank == 1 else 2.5) for rank in range(4)])
        self.assertEqual([row["rank"] for row in self.rows_of() if row["last"]], [1])
        self.assertEqual(self.json("diagnose", status=1)["findings"], [])

    def test_a_card_that_found_no_answer(self):
        """The error is rank 3's; the others report its effects. The warning of rank 1 does not matter."""
        where = {0: "mlx5_0", 3: "mlx5_1"}
        logs = [log.read_text() for log in sorted(LATE.glob("*.log"))]
        for rank in range(4):
            head = f"\n[2026-03-02 10:15:3{rank}] node{rank // 2}:{4100 + rank}:{4150 + rank} [{rank % 2}] "
            status = {0: 5, 3: 12}.get(rank)
            logs[rank] += head + (f"transport/net_ib.cc:2358 NCCL WARN NET/IB: Got completion from peer 10.0.0.1{1 - rank // 2}<41234> with status={status} "
                                  f"opcode=0 len=0 vendor err 129 (Send) hca {where[rank]}\n" if status else
                                  f"misc/socket.cc:483 NCCL WARN socketProgress: Connection closed by remote peer node{1 - rank // 2}<40000>\x1b[31m\n")
        self.take(logs)
        finding, = [finding for finding in self.findings() if finding["kind"] != "host"]
        self.assertEqual((finding["kind"], finding["ranks"], finding["confidence"]), ("network", [3], "medium"))
        self.assertEqual((finding["host"], finding["nic"], finding["peers"]), ("node1", "mlx5_1", [0, 1]))
        self.assertIn("2026-03-02T10:15:33", finding["evidence"])
        answer = self.json("info", "--warnings")["rows"]
        self.assertEqual([(row["rank"], row["time"], row["about"], row["ib_status"]) for row in answer],
                         [(0, "2026-03-02 10:15:30", "transfer", 5), (1, "2026-03-02 10:15:31", "connection", None),
                          (2, "2026-03-02 10:15:32", "connection", None), (3, "2026-03-02 10:15:33", "transfer", 12), (1, None, "other", None)])
        self.assertNotIn("\x1b", self.run_program("info", "--warnings").out)
        self.assertEqual(self.info()["warnings"], 5)
        self.assertEqual(self.run_program("ingest", "--forget", "1").returncode, 0)
        self.assertEqual(self.info()["warnings"], 0)

    def test_times_are_the_log_s(self):
        """Each line with times belongs to one row; the lines are read again from the fixture."""
        self.run_program("ingest", LATE)
        rows = {(row["communicator"], row["rank"]): row for row in self.rows_of()}
        seen = 0
        for log in sorted(LATE.glob("*.log")):
            exact = re.findall(r"Bootstrap timings total ([\d.]+)", log.read_text())
            for function, rank, total, parts in re.findall(r"Init timings - (\w+): rank (\d+) nranks \d+ total ([\d.]+) \((.*)\)",
                                                           log.read_text()):
                key, = [key for key in rows if rows[key]["function"] == function and (key[1] == int(rank) if function != "ncclCommSplit" else
                        key[1] % 2 == int(rank) and rows[key]["host"] == log.name.split(".")[1] and
                        rows[key]["process"] == str(int(log.name.split(".")[2]) - 4100))]
                row, parts = rows[key], dict(part.split() for part in parts.split(", "))
                self.assertEqual(row["total_s"], float(total))
                for word, column in (("kernels", "kernels_s"), ("alloc", "allocation_s"), ("allgathers", "allgathers_s"),
                                     ("topo", "topology_s"), ("graphs", "graphs_s"), ("connections", "connections_s"), ("rest", "rest_s")):
                    self.assertEqual(row[column], float(parts[word]), word)
                self.assertEqual(row["bootstrap_s"], float(exact[0] if function != "ncclCommSplit" else parts["bootstrap"]))
                seen += 1
        self.assertEqual(seen, len(rows))

    def test_who_came_last_and_not_who_waited(self):
        self.run_program("ingest", LATE)
        rows = self.rows_of("--communicator", "0-3")
        self.assertEqual([row["rank"] for row in rows if row["last"]], [2])
        self.assertEqual(rows[0]["rank"], 2)  # the latest first
        self.assertLess(rows[0]["total_s"], min(row["total_s"] for row in rows[1:]))
        self.assertEqual({row["parent"] for row in self.rows_of() if row["function"] == "ncclCommSplit"}, {"0-3"})

    def test_late_by_its_own_kernels(self):
        """All ranks called at the same time, so the others wait for the one that loads longest."""
        self.take([made(rank, 4, 0.02 if rank == 1 else 8.02, "kernels 8.40" if rank == 1 else "kernels 0.40", total=8.5) for rank in range(4)])
        self.assertEqual([row["rank"] for row in self.rows_of() if row["last"]], [1])

    def test_scalable_shows_by_its_name(self):
        self.take([made(rank, 2, 0.02, function="ncclCommInitRankScalable") for rank in range(2)])
        self.assertEqual({row["function"] for row in self.rows_of()}, {"ncclCommInitRankScalable"})
        self.assertEqual({row["last"] for row in self.rows_of()}, {None})

    def test_a_rank_without_a_log(self):
        self.take([made(rank, 4, 5 if rank else 0.1) for rank in range(3)])
        answer = self.json("startup")
        self.assertEqual({row["last"] for row in answer["rows"]}, {None})
        self.assertIn("the rank that arrived last is unknown", " ".join(answer["warnings"]))

    def test_one_that_was_never_made(self):
        logs = [made(rank, 4, 5) for rank in range(3)]
        self.take(["\n".join(text.splitlines()[:1]) + "\n" for text in logs])
        answer = self.json("startup")
        self.assertEqual([row["complete"] for row in answer["rows"]], [0, 0, 0])
        self.assertEqual({row["total_s"] for row in answer["rows"]}, {None})
        self.assertIn("was not complete when a log ended", " ".join(answer["warnings"]))

    def test_without_a_log_from_first_operations(self):
        """The time in the first operation of each communicator, from the traces: the rank with the shortest arrived last."""
        self.simulate("--shape ddp --ranks 4 --per-node 4 --steps 4 --dialect chrome-v7 --seed 3 --fault host:2:0:0:60000:backward")
        self.run_program("ingest", "traces")
        answer = self.json("startup")
        self.assertEqual({row["total_s"] for row in answer["rows"]}, {None})
        self.assertIn("no NCCL log (NCCL_DEBUG=INFO) for", " ".join(answer["warnings"]))
        self.assertEqual([row["rank"] for row in answer["rows"] if row["last"]], [2])

    def test_beside_a_trace(self):
        """If there is also a trace of the same processes, startup uses its ranks."""
        trace = TOP / "fixtures/tp2dp2pp2-clean"
        self.run_program("ingest", trace)
        (size, hash_, ranks), = self.rows("SELECT size, communicator_hash_hex, group_concat(DISTINCT pid) FROM v_communicator JOIN member "
                                          "USING (communicator_id) JOIN process USING (process_id) WHERE size = 8 GROUP BY communicator_id")
        pids = dict(self.rows("SELECT rank, pid FROM v_rank"))
        self.take([made(rank, size, 9 if rank else 0.02, pid=pids[rank]).replace("0x9c ", hash_ + " ") for rank in range(size)])
        rows = [row for row in self.rows_of() if row["function"]]
        self.assertEqual([row["rank"] for row in rows if row["last"]], [0])
        self.assertEqual(len(rows), size)
        self.assertEqual({row["run"] for row in self.rows_of()}, {1})


class Settings(Case):
    """Settings and versions that differ between ranks."""

    def warnings(self, settings, ranks=6, before="set by environment to"):
        """`settings`: a function from the rank to its lines."""
        for rank in range(ranks):
            head = f"node{rank // 2}:{100 + rank}:{100 + rank} [{rank % 2}] NCCL INFO "
            self.write(f"logs/nccl.{rank}.log", made(rank, ranks, 1.0) + "".join(head + line + "\n" for line in settings(rank)))
        self.run_program("ingest", "logs")
        return self.json("startup")["warnings"]

    def test_an_odd_rank_is_told(self):
        warnings = self.warnings(lambda rank: [f"NCCL_IB_HCA set to mlx5_{0 if rank != 4 else 7}", "NCCL_IB_TIMEOUT set by environment to 22."])
        self.assertEqual(warnings, ["NCCL_IB_HCA is mlx5_0 on 5 of 6 ranks, mlx5_7 on rank 4"])

    def test_a_rank_without_a_setting_is_told(self):
        """Of rank 5, whose environment is empty, only the creation of the communicator is known."""
        warnings = self.warnings(lambda rank: ["NCCL_SOCKET_IFNAME set by environment to eth1", "NCCL_DEBUG_FILE set by environment to a.%p"] * 2
                                 if rank != 5 else [])
        self.assertEqual(warnings, ["NCCL_SOCKET_IFNAME is eth1 on 5 of 6 ranks, not set on rank 5"])

    def test_versions_that_differ(self):
        """Ranks that print none are not odd."""
        warnings = self.warnings(lambda rank: [f"NCCL version 2.27.{7 if rank < 3 else 5}+cuda12.8"] * (rank > 0)
                                 + [f"cudaDriverVersion {12080 if rank < 5 else 12040}"])
        self.assertEqual(warnings, ["CUDA driver version is 12080 on 5 of 6 ranks, 12040 on rank 5",
                                    "NCCL version is 2.27.5+cuda12.8 on 3 of 6 ranks, 2.27.7+cuda12.8 on ranks 1 and 2"])

    def test_what_is_meant_to_differ_or_is_of_rank_0_is_not_told(self):
        self.assertEqual(self.warnings(lambda rank: [f"NCCL_NET_GDR_LEVEL set to {rank}", "NCCL_ALGO set by environment to Ring",
                                                     f"NCCL_HOSTID set by environment to h{rank // 2}", f"NCCL_IB_HCA is odd{rank // 3}",
                                                     "NCCL_TUNER set by environment to x" if rank == 0 else "Channel 00"]), [])

    def test_settings_are_no_warnings(self):
        self.warnings(lambda rank: ["NCCL_IB_TIMEOUT set by environment to 22."])
        self.assertEqual(self.json("info", "--warnings")["rows"], [])
        self.assertEqual(self.info()["warnings"], 0)
        self.assertEqual(self.rows("SELECT DISTINCT kind, text FROM warning"), [(35, "NCCL_IB_TIMEOUT=22")])
