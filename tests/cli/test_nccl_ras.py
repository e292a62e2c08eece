"""Reports of NCCL's RAS on a running job (ncclras, text and JSON), and the findings of diagnose from them alone."""

import json

from .support import TOP, Case

HANG = TOP / "fixtures/nccl-ras-hang"
FUNCTIONS = ("Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce")


def member(rank, host="10.0.0.11", **counts):
    return {"rank": rank, "host": host, "pid": 4100 + rank, "cuda_dev": rank, "nvml_dev": rank,
            "status": {"init_state": 0, "async_error": 0, "finalize_called": False, "destroy_flag": False, "abort_flag": False},
            "collective_counts": {name: counts.get(name, 0) for name in FUNCTIONS}}


def dump(*counts, at="2026-03-02 10:15:00", missing=()):
    """All ranks in one communicator, which launched these numbers of AllReduce."""
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


REPORT = """NCCL version 2.25.1 compiled with CUDA 12.6
CUDA runtime version 12060, driver version 12060

Job summary
===========

  Nodes  Processes         GPUs  Processes     GPUs
(total)   per node  per process    (total)  (total)
      3          4            1         12       12

Communicators... (0.00s)
=============

Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors
    #  in group  per comm  per node  per comm  in group
    0         1         3         4        12        12   RUNNING  OK

Errors
======

{errors}
Warnings
========

{warnings}
"""


def report(errors="", warnings=""):
    """The default output of ncclras."""
    return REPORT.format(errors=errors, warnings=warnings)


def behind(*lines, function="ReduceScatter"):
    return "\n".join(["#0-0 (c0ffee) MISMATCH", f"  Communicator ranks have different {function} operation counts",
                      *("  " + line for line in lines)])


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
        self.assertIn("launched an operation in the 210 s", finding["evidence"])

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

    def test_ranks_that_do_not_answer_are_named(self):
        self.assertEqual(self.findings(dump(44, 44, 44, 44, missing=(1,))), [("missing", [1], "medium")])
        warning, = self.json("info", "--warnings")["rows"]
        self.assertEqual((warning["rank"], warning["about"], warning["pid"]), (1, "no answer", 4101))

    def test_a_dead_process_ended_early(self):
        text = dump(44, 44, 44, 44, missing=(1,)).replace('"considered_dead": false', '"considered_dead": true')
        self.assertEqual(self.findings(text), [("ended_early", [1], "medium")])

    def test_where_most_do_not_answer_it_may_be_who_asked(self):
        self.assertEqual({confidence for _, _, confidence in self.findings(dump(44, 44, 44, 44, missing=(0, 1, 3)))}, {"low"})

    def test_who_answers_again_is_not_named(self):
        self.assertEqual(self.findings(dump(44, 44, 44, 44, missing=(1,)), dump(54, 54, 54, 54, at="2026-03-02 10:17:00")), [])

    def test_the_silent_rank_and_not_who_waits_for_it(self):
        """Rank 1 does not answer; rank 2 is a few calls behind, because it waits for rank 1 somewhere."""
        named = self.findings(dump(44, 44, 41, 44, missing=(1,)))
        self.assertEqual([finding for finding in named if finding[2] != "low"], [("missing", [1], "medium")])

    def warnings(self):
        return " ".join(self.json("diagnose")["warnings"])

    def test_text_of_a_rank_behind(self):
        text = report(warnings=behind("11 ranks have launched up to operation 300",
                                      "Rank 9 has launched up to operation 297 -- GPU 1 managed by process 5109 on node n3"))
        self.assertEqual(self.findings(text), [("missing", [9], "medium")])
        finding, = self.json("diagnose")["findings"]
        self.assertEqual((finding["host"], finding["rank"]), ("n3", 9))

    def test_text_of_all_collectives_together(self):
        text = report(warnings=behind("11 ranks have launched up to operation 300", "Rank 9 has launched up to operation 297 -- "
                                      "[process information not found]", function="collective"))
        self.assertEqual(self.findings(text), [("missing", [9], "medium")])

    def test_text_of_ranks_ahead(self):
        """Most ranks are where they would be in a running job: neither they nor the one ahead is named, and one report is
        not enough.
        """
        text = report(warnings=behind("10 ranks have launched up to operation 300", "2 ranks have launched up to operation 301",
                                      "Rank 4 -- GPU 0 managed by process 5104 on node n2",
                                      "Rank 8 -- GPU 0 managed by process 5108 on node n3"))
        self.assertEqual(self.findings(text), [])
        self.run_program("diagnose", "--exit-code", status=4)
        self.assertIn("there is only one dump of NCCL's RAS, so whether the job is running cannot be determined; run ncclras -f json", self.warnings())

    def test_text_of_a_dead_process(self):
        dead = ("DEAD\n  1 job process is considered dead (unreachable via the RAS network)\n"
                "  Process 5106 on node n2 managing GPU 2\n\n")
        silent = ("#0-0 (c0ffee) INCOMPLETE\n  Missing communicator data from 1 rank\n"
                  "  Rank 6 -- GPU 2 managed by process 5106 on node n2\n")
        for errors, kind in ((dead + silent, "ended_early"), (silent, "missing")):
            self.store.unlink(missing_ok=True)
            self.assertEqual(self.findings(report(errors=errors)), [(kind, [6], "medium")])
            self.assertIn("process 5106 ", self.json("diagnose")["findings"][0]["evidence"])

    def test_text_that_names_nobody(self):
        self.write("ras/0.txt", report())
        self.assertIn("run ncclras -f json (NCCL 2.28.7 or later)", self.run_program("ingest", self.folder / "ras").err)

    def test_a_busy_job_by_its_socket(self):
        """Hosts of a running job are one call of each function apart: no finding above low, and none at all on most ranks."""
        busy = json.loads(dump(44, 44, 43, 44, 44, 44))
        busy["communicators"][0]["ranks"][2]["collective_counts"]["AllGather"] = 9
        for rank in (0, 1, 3, 4, 5):
            busy["communicators"][0]["ranks"][rank]["collective_counts"]["AllGather"] = 10
        self.assertEqual(self.findings("OK\n" + json.dumps(busy)), [("missing", [2], "low")])
        self.store.unlink()
        self.assertEqual(self.findings("OK\n" + dump(43, 43, 44, 43, 43, 44)), [])

    def test_a_comma_that_is_left_out(self):
        whole = dump(44, 44, 44, 44, missing=(1,)).replace('"considered_dead": false', '"considered_dead": true')
        at = whole.index('"status"', whole.index('"missing_ranks"'))
        comma = whole.rindex(",", 0, at)
        broken = whole[:comma] + whole[comma + 1:]
        self.assertEqual(self.findings(broken), [("ended_early", [1], "medium")])
        ledger, = self.json("info", "--ledger")["rows"]
        self.assertEqual((ledger["reason"], ledger["damage"], ledger["count"]), ("missing comma before status", 0, 1))

    def test_a_comma_that_is_left_out_between_ranks(self):
        """Both are read, and the comma is counted."""
        whole = dump(44, 44, 44, 44, missing=(1, 2)).replace('"considered_dead": false', '"considered_dead": true')
        expected = self.findings(whole)
        self.assertEqual([ranks for _, ranks, _ in expected], [[1], [2]])
        self.store.unlink()
        second = whole.index('{', whole.index('}', whole.index('}', whole.index('"missing_ranks"')) + 1))
        comma = whole.rindex(",", 0, second)
        self.write("ras/0.json", whole[:comma] + whole[comma + 1:])
        self.run_program("ingest", self.folder / "ras", status=1)
        found = self.json("diagnose")["findings"]
        self.assertEqual([(finding["kind"], finding["ranks"], finding["confidence"]) for finding in found], expected)
        self.assertEqual([(row["reason"], row["count"]) for row in self.json("info", "--ledger")["rows"]], [("unreadable text", 1)])

    def test_looks_at_nothing_but_zeros_hide_none(self):
        zeros = dump(0, 0, 0, 0, at="2026-03-02 10:16:00")
        self.assertEqual(self.findings(dump(44, 44, 43, 44), zeros, dump(44, 44, 43, 44, at="2026-03-02 10:17:00"), zeros.replace(":16:", ":18:")),
                         [("missing", [2], "medium")])
        self.assertIn("launched an operation in the 120 s", self.json("diagnose")["findings"][0]["evidence"])

    def test_zeros_in_a_job_that_moves(self):
        self.assertEqual(self.findings(dump(44, 44, 41, 44), dump(54, 54, 51, 54, at="2026-03-02 10:17:00"),
                                       dump(0, 0, 0, 0, at="2026-03-02 10:18:00")), [])
        self.assertIn("the job is running", self.warnings())

    def test_zeros_alone(self):
        self.write("ras/0.json", dump(0, 0, 0, 0))
        self.run_program("ingest", self.folder / "ras")
        self.assertIn("the progress of ranks cannot be determined", " ".join(self.json("diagnose", status=1)["warnings"]))

    def test_a_dead_process_among_zeros(self):
        text = dump(0, 0, 0, 0, missing=(1,)).replace('"considered_dead": false', '"considered_dead": true')
        self.assertEqual(self.findings(text), [("ended_early", [1], "medium")])

    def counts(self, at, *more):
        """A dump of NCCL 2.32 of equal AllReduce counts, with further counts of each rank."""
        look = json.loads(dump(*[50] * len(more), at=at))
        for rank, counts in zip(look["communicators"][0]["ranks"], more):
            rank["collective_counts"].update({"Send": 0, "Recv": 0, "AlltoAll": 0, **counts})
        return json.dumps(look)

    def test_a_rank_behind_in_alltoall(self):
        looks = [self.counts(f"2026-03-02 10:{minute}:00", *[{"AlltoAll": 9 - (rank == 2)} for rank in range(5)])
                 for minute in (15, 18)]
        self.assertEqual(self.findings(*looks), [("missing", [2], "medium")])
        self.assertIn("AlltoAll #8", self.json("diagnose")["findings"][0]["text"])

    def test_ranks_rightly_differ_in_sends(self):
        looks = [self.counts(f"2026-03-02 10:{minute}:00", *[{"Send": 7 * rank, "Recv": 7 * (3 - rank)} for rank in range(4)])
                 for minute in (15, 18)]
        self.assertEqual(self.findings(*looks), [])

    def test_a_job_that_only_sends_moves(self):
        """Rank 1 is one AllReduce behind in both dumps, and all have sent in between."""
        looks = []
        for minute, sent in ((15, 30), (18, 44)):
            look = json.loads(self.counts(f"2026-03-02 10:{minute}:00", *[{"Send": sent, "Recv": sent}] * 4))
            look["communicators"][0]["ranks"][1]["collective_counts"]["AllReduce"] = 49
            looks.append(json.dumps(look))
        self.assertEqual(self.findings(*looks), [])
        self.assertIn("the job is running", self.warnings())

    def monitor(self, *events, form="text"):
        head = "RAS Monitor Mode - watching for peer changes (Ctrl+C to exit)...\n" + 64 * "=" + "\n\n"
        if form == "text":
            return head + "".join(f"[2026-03-02 10:{minute}:00] {name}: Process {pid} on node 10.0.0.{host} managing GPU 1 x\n"
                                  for minute, name, pid, host in events)
        return head + "".join(json.dumps({"timestamp": f"2026-03-02 10:{minute}:00", "group": "LIFECYCLE", "event": name,
                                          "peer": {"host": f"10.0.0.{host}", "pid": pid, "cuda_devs": [1], "nvml_devs": [1]},
                                          "details": ""}, indent=2) + "\n" for minute, name, pid, host in events)

    def test_processes_that_die_while_ncclras_watches(self):
        events = [(10, "PEER_NEW", 4100, 7), (15, "PEER_UNRESPONSIVE", 4101, 8), (15, "PEER_UNRESPONSIVE", 4102, 8),
                  (16, "PEER_DEAD", 4102, 8), (16, "PEER_RECOVERED", 4101, 8)]
        for form in "text", "json":
            with self.subTest(form=form):
                self.store.unlink(missing_ok=True)
                self.findings(self.monitor(*events, form=form))
                finding, = self.json("diagnose")["findings"]
                self.assertEqual((finding["kind"], finding["host"]), ("ended_early", "10.0.0.8"))
                self.assertIn("process 4102 ", finding["evidence"])
                ledger = {row["reason"]: row["count"] for row in self.json("info", "--ledger")["rows"]}
                self.assertEqual(ledger, {"event of RAS's monitor": 1})

    def test_a_report_of_diagnostics_is_named(self):
        path = self.write("diag.txt", "n1:41 NCCL DIAG === RAS Diagnostics ===\nn1:41 NCCL DIAG [OK]   ECC: no errors\n")
        self.assertIn("RAS diagnostics", self.run_program("ingest", path, status=1).err)

    def test_looks_written_into_one_file(self):
        looks = [dump(44, 44, 43, 44), dump(44, 44, 43, 44, at="2026-03-02 10:17:00")]
        self.assertEqual(self.findings("\n".join(looks)), [("missing", [2], "medium")])

    def test_an_error_that_nccl_has_of_a_rank(self):
        """Rank 4 has the error; rank 1 is behind, perhaps because it waits for rank 4. The others lost a peer."""
        look = json.loads(dump(90, 90, 90, 90, 90, 90))
        ranks = look["communicators"][0]["ranks"]
        ranks[1]["collective_counts"]["AllReduce"] = 86
        ranks[4]["status"]["async_error"] = 2
        self.assertEqual(self.findings(json.dumps(look)), [("error", [4], "medium"), ("missing", [1], "low")])
        for rank in (0, 5):
            ranks[rank]["status"]["async_error"] = 6
        self.store.unlink()
        self.assertEqual(self.findings(json.dumps(look)), [("error", [4], "high"), ("missing", [1], "low")])

    def test_who_only_lost_a_peer_or_is_not_made_yet_is_not_named(self):
        look = json.loads(dump(90, 90, 90, 90))
        ranks = look["communicators"][0]["ranks"]
        ranks[1]["status"]["async_error"] = 6
        ranks[2]["status"]["init_state"] = 3
        ranks[3]["status"].update(async_error=3, abort_flag=True)
        self.assertEqual(self.findings(json.dumps(look)), [])

    def test_text_of_an_error(self):
        errors = ("#0-0 (c0ffee) ERROR\n  Asynchronous error on 1 rank\n"
                  "  Rank 7 reported unhandled CUDA error -- GPU 3 managed by process 5107 on node n2\n")
        warnings = behind("11 ranks have launched up to operation 300",
                          "Rank 9 has launched up to operation 297 -- GPU 1 managed by process 5109 on node n3")
        self.assertEqual(self.findings(report(errors, warnings)), [("error", [7], "medium"), ("missing", [9], "low")])
        self.store.unlink()
        self.assertEqual([finding[0] for finding in self.findings(report(errors))], ["error"])

    def test_text_of_a_dead_process_alone(self):
        """No communicator is reported, so only its host and process ID are known."""
        dead = ("DEAD\n  1 job process is considered dead (unreachable via the RAS network)\n"
                "  Process 5106 on node n2 managing GPU 2\n\n")
        for errors, kind in ((dead, "ended_early"), (dead.replace("DEAD", "INCOMPLETE"), "missing")):
            self.store.unlink(missing_ok=True)
            self.assertEqual([found[0] for found in self.findings(report(errors=errors))], [kind])
            finding, = self.json("diagnose")["findings"]
            self.assertEqual(finding["host"], "n2")
            self.assertIn("process 5106 ", finding["evidence"])

    def test_text_of_missing_ranks_by_number(self):
        dead = ("DEAD\n  1 job process is considered dead (unreachable via the RAS network)\n"
                "  Process 5106 on node n2 managing GPU 2\n\n")
        errors = dead + "#0-0 (c0ffee) INCOMPLETE\n  Missing communicator data from 1 rank\n  The missing rank: 6\n\n"
        warnings = behind("10 ranks have launched up to operation 300", "Rank 9 has launched up to operation 297 -- "
                          "GPU 1 managed by process 5109 on node n3")
        self.assertEqual(self.findings(report(errors, warnings)), [("ended_early", [6], "medium"), ("missing", [9], "low")])
        self.assertEqual(self.json("diagnose")["findings"][0]["host"], "n2")
        self.store.unlink()
        silent = "#0-0 (c0ffee) INCOMPLETE\n  Missing communicator data from 2 ranks\n  The missing ranks: 3, 6\n\n"
        self.assertEqual(self.findings(report(silent)), [("missing", [3], "medium"), ("missing", [6], "medium")])

    def test_text_of_groups_of_one_size(self):
        """In two groups of four ranks, ranks that are only counted are others."""
        groups = report(warnings="\n".join(
            behind("3 ranks have launched up to operation 300", f"Rank 2 has launched up to operation 297 -- GPU 2 managed by process "
                   f"{pid} on node {node}\n").replace("#0-0 (c0ffee)", name)
            for name, pid, node in (("#0-0 (aa1)", 71, "n1"), ("#0-1 (aa2)", 72, "n2"))))
        groups = groups.replace("    0         1         3         4        12        12", "    0         2         1         4         4         8")
        self.assertEqual(self.findings(groups), [("missing", [2], "medium")] * 2)
        self.assertEqual([finding["host"] for finding in self.json("diagnose")["findings"]], ["n1", "n2"])
        ranks = [row["rank"] for row in self.json("report", "--by", "rank")["rows"]]
        self.assertEqual(len(ranks), 8)

    def test_text_of_thousands_behind(self):
        """Of 2400 ranks 1080 are behind and 1320 wait: without a limit, 1.4 million would be listed."""
        lines = [f"Rank {rank} has launched up to operation {900 if rank % 20 < 9 else 903} -- GPU {rank % 8} managed by process "
                 f"{7000 + rank} on node n{rank // 8}" for rank in range(2400)]
        text = report(warnings=behind(*lines)).replace("    0         1         3         4        12        12",
                                                       "    0         1       300         8      2400      2400")
        self.write("ras/0.txt", text)
        self.run_program("ingest", self.folder / "ras")
        findings = self.json("diagnose")["findings"]
        self.assertEqual(len(findings), 1080)
        self.assertLessEqual(sum(len(finding["peers"]) for finding in findings), 1 << 20)
        self.assertTrue(all(finding["peers"] for finding in findings))
