"""Inspector's formats v4.0 to v4.4: all give the same job, and the losses of the recorder are reported."""

import gzip
import itertools
import json
import random

from tests.cli import inspector_lines
from tests.cli.support import SMALL_PARTS, TOP, Case

LAYOUTS = [(version, False, False) for version in ("v4.0", "v4.1", "v4.2", "v4.3", "v4.4")] + [
    ("v4.3", True, False), ("v4.4", True, False), ("v4.4", True, True)]

OPERATIONS = ("SELECT function, sequence, bytes, duration_us, device_begin_us, device_end_us, rank, communicator "
              "FROM v_operation ORDER BY rank, device_begin_us")


class Inspector(Case):
    def take(self, written, status=0):
        """The files of a job in their own store."""
        folder = self.folder / "job"
        for path in folder.glob("*"):
            path.unlink()
        self.store.unlink(missing_ok=True)
        inspector_lines.write(folder, written)
        return self.ingest("job", status=status)

    def test_layouts_say_the_same(self):
        answers = []
        for version, proxies, nested in LAYOUTS:
            with self.subTest(version=version, proxies=proxies, nested=nested):
                files = self.take(inspector_lines.job(version, proxies=proxies, nested=nested))
                self.assertEqual({file["skipped"] for file in files.values()}, {0})
                self.assertEqual(self.info()["communicators"], 1)
                self.assertEqual(self.info()["dropped"], 0)
                diagnosis = self.json("diagnose")
                self.assertEqual([(finding["kind"], finding["rank"], finding["confidence"]) for finding in diagnosis["findings"]],
                                 [("compute", 2, "high")])
                self.assertAlmostEqual(diagnosis["findings"][0]["lost_us"], 15000, delta=100)
                self.assertEqual(diagnosis["warnings"], [])
                self.assertGreater(diagnosis["findings"][0]["at"].pop("byte_offset"), 0)  # each layout has its own name
                # Network steps tell which ranks may be a unit, and so how many units are compared.
                self.assertGreater(diagnosis["findings"][0].pop("certainty"), 40)
                for rule in diagnosis["findings"][0]["rules"]:
                    del rule["reading"]
                report = self.json("report")["rows"]
                answers.append((diagnosis["findings"], self.rows(OPERATIONS), report))
                self.assertEqual(answers[-1], answers[0])

    def test_ways_are_told(self):
        self.take(inspector_lines.job("v4.3"))
        self.assertEqual(self.rows("SELECT DISTINCT algorithm, protocol FROM v_operation"), [("RING", "SIMPLE")])

    def test_pairs_that_are_listed_as_they_end(self):
        """A send and a receive of one group call end in any order: steps follow the order of the calls."""
        answers = []
        for is_shuffled in (False, True):
            self.store.unlink(missing_ok=True)
            rng = random.Random(3)
            for rank, lines in enumerate(inspector_lines.ring(rng if is_shuffled else None)):
                self.write(f"job/node0-pid{60 + rank}.log", "".join(lines))
            self.run_program("ingest", self.folder / "job")
            diagnosis = self.json("diagnose")
            self.assertEqual([(finding["rank"], finding["confidence"], finding["first_step"], finding["last_step"])
                              for finding in diagnosis["findings"]], [(1, "high", 20, 27)])
            answers.append(diagnosis["summary"])
        self.assertEqual(answers[1], answers[0])
        self.assertEqual(sum(answers[1]["not_judged"].values()), 0)

    def test_what_was_overwritten_counts_once(self):
        """The recorder reports more losses than there are gaps between the operations: earlier ones are lost, too."""
        written = inspector_lines.job("v4.3", steps=60, late=-1, late_steps=(), dumps=6)
        for dumps in written:
            lost = 0
            for number, dump in enumerate(dumps):
                since = len(dump.operations) if number in (0, 3) else 0
                lost += since
                dump.dropped = (lost, since)
                if since:
                    dump.operations = []
        self.take(written)
        summary = self.json("diagnose")["summary"]
        self.assertEqual(summary["not_judged"]["lost"], 4 * 2 * 10)
        self.assertEqual(summary["not_judged"]["damaged"], 4 * 2 * 10)
        self.assertEqual(self.info()["dropped"], 4 * 2 * 20)
        self.assertNotIn("missing from the trace", " ".join(self.json("diagnose")["warnings"]))

    def test_links(self):
        """Waits on both sides of a link, and the slow side is named."""
        for version, nested in (("v4.3", False), ("v4.4", False), ("v4.4", True)):
            with self.subTest(version=version, nested=nested):
                self.take(inspector_lines.job(version, steps=30, late=-1, late_steps=(), slow_steps=range(20, 25),
                                              proxies=True, nested=nested))
                self.assertEqual(self.info()["proxy_ops"], 4 * 30 * 2 * 2)
                self.assertEqual(self.info()["proxy_steps"], 4 * 30 * 2 * 2 * 2)
                self.assertEqual(self.rows("SELECT count(*) FROM v_proxy_operation WHERE operation_id IS NULL"), [(0,)])
                self.assertEqual(self.rows("SELECT count(*) FROM proxy_operation p JOIN operation o USING (operation_id) "
                                           "WHERE p.schedule_begin_ns <> o.device_begin_ns"), [(0,)])
                edges = {(row["sender"], row["receiver"]): row for row in self.json("stalls")["rows"]}
                self.assertEqual(sorted(edges), [(0, 1), (1, 2), (2, 3), (3, 0)])
                for edge, row in edges.items():
                    self.assertEqual((row["steps"], row["send_wait_us_p50"], row["recv_wait_us_p50"]), (120, 100, 100))
                    self.assertEqual(row["verdict"], "slow link" if edge == (0, 1) else "ok")
                self.assertEqual((edges[0, 1]["send_wait_us_max"], edges[0, 1]["first_step"], edges[0, 1]["last_step"]),
                                 (2100, 20, 24))
                found = self.json("diagnose")["findings"][0]
                self.assertEqual((found["kind"], found["confidence"]), ("network", "high"))

    def test_links_of_lost_operations(self):
        """Proxy operations whose operation is not in the file count for their link, and are reported."""
        written = inspector_lines.job("v4.4", late=-1, late_steps=(), proxies=True, nested=True)
        for dumps in written:
            for dump in dumps:
                dump.operations = [record for record in dump.operations if record["coll_perf"]["coll"] == "AllReduce"]
        self.take(written)
        self.assertEqual(self.rows("SELECT operation_id IS NULL, count(*) FROM v_proxy_operation GROUP BY 1"),
                         [(0, 4 * 15 * 2), (1, 4 * 15 * 2)])
        self.assertEqual([(row["reason"], row["damage"], row["count"]) for row in self.json("info", "--ledger")["rows"]],
                         [("proxy operation whose operation is not in the file", 0, 4 * 15 * 2)])
        self.assertEqual([(row["steps"], row["send_wait_us_p50"]) for row in self.json("stalls")["rows"]], [(60, 100)] * 4)

    def drop(self, written):
        """Rank 1 lost 20 and then 50 collectives; rank 0 lost 7."""
        for dump, dropped in zip(written[1], ((0, 0), (20, 20), (50, 30))):
            dump.dropped = dropped
        written[0][0].dropped = written[0][1].dropped = written[0][2].dropped = (7, 0)
        return written

    def test_dropped_as_the_file_says(self):
        for version in ("v4.1", "v4.3", "v4.4"):
            with self.subTest(version=version):
                self.take(self.drop(inspector_lines.job(version)))
                self.assertEqual(self.info()["dropped"], 57)
                self.assertEqual(self.rows("SELECT what, events FROM v_dropped ORDER BY events"),
                                 [("collectives overwritten before they were written", 7),
                                  ("collectives overwritten before they were written", 50)])
                self.assertEqual([(row["reason"], row["damage"], row["count"], row["files"])
                                  for row in self.json("info", "--ledger")["rows"]],
                                 [("dropped by the recorder: collectives overwritten before they were written", 1, 57, 2)])
                diagnosis = self.json("diagnose")
                self.assertEqual(diagnosis["coverage"][0]["lost_events"], 57)
                self.assertIn("57 events lost by the recorder", " ".join(diagnosis["warnings"]))

    def test_dropped_over_rotated_logs(self):
        """Each part of a log repeats the total."""
        written = self.drop(inspector_lines.job("v4.3"))
        inspector_lines.write(self.folder / "job", [dumps[2:] for dumps in written])
        for rank, dumps in enumerate(written):
            self.write(f"job/node0-pid{1000 + rank}.log.1", "".join(line for dump in dumps[:2] for line in dump.lines()))
        self.ingest("job")
        self.assertEqual(self.info()["dropped"], 57)
        self.assertEqual(self.info()["collectives"], 4 * 15 * 2)

    def test_communicators_in_turn(self):
        """Two communicators of the same processes write to one file each, one dump at a time."""
        first = inspector_lines.job("v4.3")
        second = inspector_lines.job("v4.3", communicator=0xabc, late=-1, late_steps=())
        self.take([[dump for pair in zip(one, other) for dump in pair] for one, other in zip(first, second)])
        self.assertEqual(self.rows("SELECT communicator_hash_hex, size, ranks_seen FROM v_communicator ORDER BY 1"),
                         [("0x0000000000000abc", 4, 4), ("0x001d2c3b4a5f6e7d", 4, 4)])
        self.assertEqual(self.rows("SELECT count(*), min(late) FROM (SELECT communicator_id, max(duration_us) AS late "
                                   "FROM v_operation WHERE function = 'AllReduce' GROUP BY 1)"), [(2, 500)])

    def test_log_without_its_beginning(self):
        """Records before the first marker are counted as damage at their byte offset, and belong to no communicator."""
        lines = [line for dump in inspector_lines.job("v4.3")[0] for line in dump.lines()]
        cut = lines[0:1] + lines[4:]
        self.write("whole.log", "".join(cut[1:]))
        orphans = next(number for number, line in enumerate(cut[1:]) if "header" in line)
        file = self.ingest("whole.log", status=1)["whole.log"]
        self.assertEqual((file["status"], file["skipped"]), ("partial", orphans))
        self.assertIn("first at byte 0 (record without a communicator)", file["reason"])
        self.assertEqual(self.rows("SELECT DISTINCT hash <> 0 FROM communicator"), [(1,)])
        self.store.unlink()
        self.write("orphans.log", "".join(lines[1:6]))
        self.assertEqual(self.ingest("orphans.log", status=1)["orphans.log"]["status"], "failed")

    def test_newer_version(self):
        """Reported once for all files; the files are read nevertheless."""
        self.take(inspector_lines.job("v4.3"))
        for path in (self.folder / "job").iterdir():
            path.write_text(path.read_text().replace('"v4.3"', '"v4.9"'))
        self.store.unlink()
        result = self.run_program("ingest", "job")
        self.assertEqual(result.err.count("v4.9"), 1)
        self.assertIn("newer than this ncclprof", result.err)
        self.assertEqual([(row["reason"], row["count"], row["damage"]) for row in self.json("info", "--ledger")["rows"]],
                         [("newer format version", 4, 0)])
        self.assertEqual(len(self.json("diagnose")["findings"]), 1)

    def test_fixtures(self):
        for name in ("v4.1", "v4.3", "v4.3-proxy", "v4.4"):
            with self.subTest(name=name):
                truth = (TOP / "fixtures" / f"inspector-{name}" / "TRUTH").read_text()
                counts = json.loads(truth[truth.index("{"):])
                self.store.unlink(missing_ok=True)
                self.ingest(TOP / "fixtures" / f"inspector-{name}")
                for key in ("collectives", "proxy_ops", "proxy_steps"):
                    self.assertEqual(self.info()[key], counts.get(key, 0))


class LeftOut(Case):
    def filtered(self, keep):
        """Two AllReduces per step; the small one is written only if `keep` says so. Rank 2 is late for the large one."""
        written = []
        for rank in range(4):
            dump = inspector_lines.Dump("v4.2", (0xabc, rank, 4, 1000 + rank, "node0"), inspector_lines.EPOCH_US)
            at_us = inspector_lines.EPOCH_US
            for step in range(30):
                late_us = 3000 if 20 <= step < 25 else 0
                begin_us, last_us = at_us + 1000, at_us + 1000 + late_us
                dump.operations.append(inspector_lines.collective("v4.2", "AllReduce", 2 * step, at_us + 10,
                                                                  last_us if rank == 2 else begin_us, last_us + 500))
                at_us = last_us + 550
                if keep(rank, step):
                    dump.operations.append(inspector_lines.collective("v4.2", "AllReduce", 2 * step + 1, at_us - 30, at_us - 20,
                                                                      at_us, size=8))
            written.append([dump])
        inspector_lines.write(self.folder / "job", written)
        self.ingest("job")
        return self.json("diagnose")

    def test_alike_on_all_ranks(self):
        """Operations that the filter omits are no loss: the note gives both possibilities, and findings stay the same."""
        diagnosis = self.filtered(lambda rank, step: False)
        coverage = diagnosis["coverage"][0]
        self.assertEqual((coverage["missing_operations"], coverage["left_out_operations"]), (4 * 29, 4 * 29))
        self.assertEqual(len(diagnosis["warnings"]), 1)
        self.assertIn("missing on every rank: filtered out", diagnosis["warnings"][0])
        self.assertEqual([(finding["rank"], finding["confidence"]) for finding in diagnosis["findings"]], [(2, "high")])

    def test_not_alike(self):
        """Lost on one rank, recorded on another: a loss."""
        diagnosis = self.filtered(lambda rank, step: (rank + step) % 2)
        coverage = diagnosis["coverage"][0]
        self.assertGreater(coverage["missing_operations"], 0)
        self.assertEqual(coverage["left_out_operations"], 0)
        self.assertIn("operations are missing from the trace", diagnosis["warnings"][0])
        self.assertNotIn("filter", diagnosis["warnings"][0])
        self.assertNotIn("high", {finding["confidence"] for finding in diagnosis["findings"]})


class Parts(Case):
    """A large log whose lines depend on their markers gives the same result with any number of readers."""

    program = SMALL_PARTS
    ANSWERS = ("SELECT count(*), sum(byte_offset), sum(sequence), sum(device_begin_ns / 1000 % 1000003), "
               "sum(byte_offset * (sequence + 1) % 1000003) FROM operation",
               "SELECT communicator_hash_hex, ranks_seen FROM v_communicator ORDER BY 1",
               "SELECT c.hash, count(*) FROM operation o JOIN member m USING (member_id) JOIN communicator c USING (communicator_id) "
               "GROUP BY 1 ORDER BY 1",
               "SELECT what, member_id IS NULL, events FROM v_dropped ORDER BY 1, 2, 3",
               "SELECT reason, damage, count, first_offset FROM v_ledger ORDER BY reason",
               "SELECT count(*), sum(steps_recorded), count(operation_id) FROM proxy_operation")

    def content(self, proxies):
        """Communicators in turn; some markers are damaged, some are lost, and some lines are truncated."""
        lines, dropped, calls = [], 0, 12
        for number in range(240):
            who = (0xa00 + number % 3, 0, 1, 77, "host" * 50)
            at_us = inspector_lines.EPOCH_US + number * 10000
            dropped += number % 5
            dump = inspector_lines.Dump("v4.9" if number > 120 else "v4.3", who, at_us, (dropped, 0), proxies)
            for place in range(calls):
                begin_us = at_us + place * 100
                dump.operations.append(inspector_lines.collective("v4.3", "AllReduce", number * calls + place, begin_us, begin_us + 10,
                                                                  begin_us + 60))
                if proxies and place % 4 == 0:
                    dump.traces += inspector_lines.proxy_of(number * calls + place, number * calls + place, 0, 0, "send", begin_us + 1,
                                                            [inspector_lines.step_of("send", 0, begin_us + 5, (3, 4, 5))])
            written = dump.lines()
            if number % 100 == 50:
                written[0] = written[0][:90] + "\n"
            if number % 100 == 70:
                del written[0]
            if number % 100 == 80:
                written[7] = written[7][:200] + "\n"
            lines += written
        return "".join(lines).encode()

    def answers(self, *words):
        self.store.unlink(missing_ok=True)
        file = next(iter(self.ingest(*words, status=None).values()))
        return [file[key] for key in ("dialect", "status", "events", "skipped", "reason")], [self.rows(sql) for sql in self.ANSWERS]

    def test_equals_one_reader(self):
        for proxies in (False, True):
            with self.subTest(proxies=proxies):
                content = self.content(proxies)
                self.assertGreater(len(content), 100 << 10)
                self.write("great.log", content)
                self.write("packed.gz", gzip.compress(content, 1))
                packed = self.answers("packed.gz")
                self.assertEqual(packed[0][1], "partial")
                self.assertEqual(packed[1][1], [(f"{number:#018x}", 1) for number in (0xa00, 0xa01, 0xa02)])
                self.assertEqual(self.answers("-j2", "great.log"), packed)
                if not proxies:  # the file has several parts
                    self.assertGreater(self.rows("SELECT max(operation_id & 4294967295) FROM operation")[0][0], len(content) // 100)
                self.assertEqual(self.answers("-j1", "great.log"), packed)


class Stamps(Case):
    """Operations without kernel times ended before their record was dumped."""
    JOB = "--ranks 8 --per-node 4 --layers 2 --steps 20 --seed 7"

    def findings(self, options):
        self.files, _ = self.simulate(f"{self.JOB} {options}")
        return [(f["kind"], f["rank"], f["confidence"]) for f in self.json("diagnose", *self.files)["findings"] if f["confidence"] != "low"]

    def test_a_late_rank_between_sends(self):
        ring = "--shape context --cp 4 --dialect inspector-2.30"
        self.assertEqual(self.findings(f"{ring} --fault loader:5:6:12:60%"), [("host", 5, "high")])
        self.assertEqual(self.findings(ring), [])

    def test_without_call_times(self):
        """Whether host or GPU was late is not known."""
        terse = "--shape fsdp --dialect inspector-2.30-terse"
        self.assertEqual(self.findings(f"{terse} --fault loader:5:6:12:60%"), [("late", 5, "medium")])
        self.assertEqual(self.findings(terse), [])

    def test_equal_buckets(self):
        """A step is two AllReduces of the same size: only the idle time before them tells which is the first of a step."""
        terse = "--shape ddp --dialect inspector-2.30-terse"
        self.assertEqual(self.findings(f"{terse} --fault loader:5:6:12:60%"), [("late", 5, "medium")])
        self.assertEqual(self.findings(terse), [])
        self.assertEqual(self.json("diagnose", *self.files)["summary"]["steps"], 20)

    def test_exchanges_that_end_in_any_order(self):
        """Sends and receives of one call are dumped as they end. Their numbers give them the same order in all steps."""
        terse = "--shape moe --dialect inspector-2.30-terse"
        self.assertEqual(self.findings(f"{terse} --fault throttle:5:6:19:60%"), [("late", 5, "medium")])
        self.assertEqual(self.findings(terse), [])

    def test_a_filter_left_out_one_operation_of_each_step(self):
        """Four pairs of buckets are a step: after them, the number of a small AllReduce is missing."""
        folder = self.folder / "filtered"
        folder.mkdir()
        for rank in range(2):
            at_us, number, lines = 1_790_000_000_000_000, 0, []
            for _ in range(30):
                number += 1
                at_us += 5000
                for bucket in range(8):
                    at_us += 900
                    record = {"header": {"id": "0x51c0ffee77", "rank": rank, "n_ranks": 2, "nnodes": 1},
                              "metadata": {"inspector_output_format_version": "v4.0", "git_rev": "v2.30.7",
                                           "rec_mechanism": "nccl_profiler_interface", "dump_timestamp_us": at_us - at_us % 500 + 500,
                                           "hostname": "node0", "pid": 70 + rank},
                              "coll_perf": {"coll": "AllReduce", "coll_sn": number,
                                            "coll_msg_size_bytes": 4194304 + bucket % 2 * 8192, "coll_exec_time_us": 300,
                                            "coll_timing_source": "kernel_gpu", "coll_algobw_gbs": 1.0, "coll_busbw_gbs": 1.0}}
                    lines.append(json.dumps(record))
                    number += 1
            (folder / f"node0-pid{70 + rank}.log").write_text("\n".join(lines) + "\n")
        self.assertEqual(self.json("diagnose", folder)["summary"]["steps"], 30)

    def trees(self, own_us):
        """Per step, four AllReduces by a tree. Records of ranks 1 and 3, its leaves, and of rank 2 end before the operation. In
        steps 12 to 19 the GPU of rank 2 is slow: it comes to the first operation 4 ms late, and ranks 2 and 3 have the result of
        each 1.2 ms late. Rank 3 by itself comes `own_us` late to all but the first.
        """
        folder, varies, free, number = self.folder / "trees", random.Random(5), [1_790_000_000_000_000] * 4, 0
        lines = [[] for _ in range(4)]
        for step, place in itertools.product(range(32), range(4)):
            is_slow = 12 <= step < 20
            own = [0, 0, 0, own_us * is_slow] if place else [0, 0, (4000 + varies.randrange(1200)) * is_slow, 0]
            begin = [at + (900 if place else 8000) + varies.randrange(80) + late for at, late in zip(free, own)]
            over = max(begin) + 2000
            ends = [over, over - 1500, over - 1400, over - 1870]
            free = [over, over, over + 1200 * is_slow, over + 1200 * is_slow]
            for rank in range(4):
                record = inspector_lines.identity("v4.0", 0x51C0FFEE78, rank, 4, 100 + rank, f"node{rank // 2}",
                                                  ends[rank] - (ends[rank] + 137 * rank) % 500 + 500)
                record["coll_perf"] = {"coll": "AllReduce", "coll_sn": number, "coll_msg_size_bytes": 8388608 if place else 4194304,
                                       "coll_exec_time_us": ends[rank] - begin[rank], "coll_timing_source": "kernel_gpu",
                                       "coll_algobw_gbs": 1.0, "coll_busbw_gbs": 1.0}
                lines[rank].append(inspector_lines.text(record))
            number += 1
        folder.mkdir(exist_ok=True)
        for rank in range(4):
            (folder / f"node{rank // 2}-pid{100 + rank}.log").write_text("".join(lines[rank]))
        findings = self.json("diagnose", folder)["findings"]
        return {rank for f in findings if f["confidence"] != "low" for rank in f.get("ranks") or [f["rank"]]}

    def test_a_leaf_of_a_tree_waits_for_another_rank_of_its_host(self):
        """After its record has ended. It comes late to the next operation, but never after the rank that is late."""
        self.assertEqual(self.trees(own_us=0), {2})
        self.assertEqual(self.trees(own_us=2000), {2, 3})

    def slow(self, options):
        """The findings, their candidates, the steps that became longer without one, and the notes about those."""
        files, _ = self.simulate(f"{self.JOB} --dialect inspector-2.30-terse {options}")
        answer = self.json("diagnose", *files)
        strong = [f for f in answer["findings"] if f["confidence"] != "low"]
        steps = [(row["first_step"], row["last_step"]) for row in answer["summary"]["longer_steps"] if not row["explained"]]
        return [(f["kind"], f["candidates"] or f["rank"], f["confidence"]) for f in strong], steps, " ".join(answer["warnings"])

    def test_a_slow_network_of_one_communicator(self):
        """Its members are candidates; if all slow communicators have one rank in common, it is that one. Never with high confidence."""
        self.assertEqual(self.slow("--shape hsdp --fault net:5:6:12:80%")[0], [("network", [1, 5], "medium")])
        for shape in ("hsdp", "3d", "moe"):
            self.assertEqual(self.slow(f"--shape {shape} --fault links:5:6:12:800")[0], [("network", 5, "medium")])
            self.assertEqual(self.slow(f"--shape {shape}")[:2], ([], []))

    def test_slow_transfers_of_all_ranks(self):
        """No rank can be named, but the steps became longer, and the note says that the transfers did."""
        for shape in ("ddp", "fsdp"):
            findings, steps, notes = self.slow(f"--shape {shape} --fault links:5:6:12:800")
            self.assertEqual((findings, steps), ([], [(6, 12)]))
            self.assertIn("the transfers themselves took longer", notes)
        # Single steps that are not longer than twice the others count as well, where all of their transfers are slow.
        findings, steps, notes = self.slow("--shape fsdp --fault links:5:6:18/3:400")
        self.assertEqual((findings, steps), ([], [(6, 6), (9, 9), (12, 12), (15, 15), (18, 18)]))
        self.assertIn("the transfers themselves took longer", notes)

    def test_operations_that_run_at_the_same_time(self):
        """They end in another order in each step."""
        self.assertEqual(self.slow("--shape interleaved --fault loader:5:6:12:60%")[0], [("late", 5, "medium")])
        self.assertEqual(self.slow("--shape interleaved")[0], [])

    def test_ranks_that_wait_in_operations_that_are_left_out(self):
        """A tensor-parallel group is late as a whole if most of its own operations are too small to be recorded."""
        files, _ = self.simulate("--ranks 16 --per-node 4 --layers 2 --steps 24 --seed 7 --shape 3d --tp 4 --dp 4 --pp 1 --dialect "
                                 "inspector-2.30-terse --fault throttle:5:8:16:150")
        for path in files:
            lines = [(line, json.loads(line)) for line in path.read_text().splitlines(keepends=True)]
            path.write_text("".join(line for line, record in lines if record["header"]["comm_name"][:2] != "tp"
                                    or record["coll_perf"]["coll_sn"] % 4 == 0))
        finding, = self.json("diagnose", *files)["findings"]
        self.assertEqual((finding["kind"], finding["candidates"], finding["ranks"], finding["confidence"]), ("late", [4, 5, 6, 7], [], "medium"))
        self.assertIn("in operations that are too small to be recorded", finding["evidence"])

    def test_ranks_that_vary_together(self):
        """The pipeline stage of a rank whose CPU is contended is late as a whole: ranks that compute would vary separately."""
        files, _ = self.simulate("--ranks 32 --per-node 8 --layers 2 --steps 23 --seed 183522365 --shape 1f1b --tp 2 --dp 4 --pp 4 "
                                 "--microbatches 6 --network-gbs 25 --nvlink-gbs 200 --compute 2 --dialect inspector-2.30-terse "
                                 "--fault cpu-share:8:8:18:121.6")
        finding, = (f for f in self.json("diagnose", *files)["findings"] if f["confidence"] != "low")
        self.assertEqual((finding["kind"], finding["candidates"], finding["ranks"]), ("late", list(range(8, 16)), []))
        self.assertEqual(self.slow("--shape fsdp --fault throttle:node1:6:12:60")[0], [("late", 4, "medium")])

    def test_a_stage_is_not_compared_with_its_past(self):
        """A stage of several ranks that becomes heavier than the others as sequences grow: without times of calls, this is no finding."""
        files, _ = self.simulate("--shape interleaved --ranks 8 --per-node 4 --layers 3 --steps 28 --seed 728989144 --tp 2 --dp 2 --pp 2 "
                                 "--microbatches 4 --network-gbs 25 --nvlink-gbs 200 --sequences 50:8 --dialect inspector-2.30-terse")
        self.assertEqual([f for f in self.json("diagnose", *files)["findings"] if f["confidence"] != "low"], [])

    def test_hosts_that_set_the_pace(self):
        """Recorded healthy jobs: a rank is the last in most steps, and what the others' hosts take meanwhile does not show."""
        for name in ("inspector-fsdp-pace", "inspector-fsdp-turns", "inspector-fsdp-wander"):
            with self.subTest(name):
                self.store.unlink(missing_ok=True)
                self.run_program("ingest", "-q", TOP / "fixtures" / name)
                said = self.json("diagnose", "--all")
                self.assertGreater(said["summary"]["judged_operations"], 1600)
                self.assertEqual({finding["confidence"] for finding in said["findings"]} - {"low"}, set())

    def test_a_late_rank_without_a_trace(self):
        self.assertEqual(self.slow("--shape fsdp --lose 3 --fault gpu-share:3:6:12:70")[0], [("late", 3, "medium")])

    def test_the_store_names_the_source(self):
        files, _ = self.simulate(f"{self.JOB} --shape context --cp 4 --dialect inspector-2.30")
        self.run_program("ingest", "-q", *files)
        self.assertEqual(self.rows("SELECT DISTINCT end_source FROM v_operation WHERE function IN ('Send', 'Recv')"), [("dump",)])
