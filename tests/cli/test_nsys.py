"""SQLite exports of Nsight Systems: databases from unknown senders, of which only expected tables are read."""

import gzip
import json
import sqlite3

from .support import TOP, Case

FIXTURE = TOP / "fixtures/nsys"


class Nsys(Case):
    def load(self, *more, name="node0.sqlite"):
        """A database with the fixture's SQL and further statements."""
        path = self.folder / name
        with sqlite3.connect(path) as database:
            database.executescript("PRAGMA synchronous=OFF; PRAGMA journal_mode=MEMORY;")
            database.executescript("BEGIN;" + FIXTURE.joinpath("node0.sql").read_text() + "".join(more) + "COMMIT;")
        database.close()
        return path

    def ingest_one(self, path, status=None):
        files = self.json("ingest", path, status=status)["files"]
        return files[0]

    def test_the_fixture_is_what_its_sql_makes(self):
        with sqlite3.connect(f"file:{FIXTURE / 'node0.sqlite'}?mode=ro", uri=True) as kept, sqlite3.connect(self.load()) as made:
            self.assertEqual(list(kept.iterdump()), list(made.iterdump()))

    def test_counts_by_the_fixtures_truth(self):
        truth = json.loads("{" + FIXTURE.joinpath("TRUTH").read_text().split("{", 1)[1])
        self.run_program("ingest", FIXTURE / "node0.sqlite")
        self.assertEqual({name: count for name, count in self.rows("SELECT function, count(*) FROM v_operation GROUP BY 1")},
                         truth["functions"])
        row = self.info()
        self.assertEqual((row["collective_instances"], row["p2p_instances"]), (12, 12))

    def test_operations_have_their_payload_kernel_and_place(self):
        self.run_program("ingest", FIXTURE / "node0.sqlite")
        rows = self.rows("SELECT function, rank, bytes, algorithm, symmetric, duration_us, peer, sequence FROM v_operation "
                         "WHERE rank = 1 ORDER BY enqueue_begin_us, operation_id LIMIT 4")
        self.assertEqual(rows, [("AllReduce", 1, 4194304, "RING", 0, 370, None, 0), ("AllGather", 1, 1048576, "LLMC", 1, 100, None, 0),
                                ("Send", 1, 65536, None, 0, 100, 0, None), ("Recv", 1, 65536, None, 0, 100, 0, None)])
        processes = self.json("info", "--processes")["rows"]
        self.assertEqual([(row["host"], row["pid"], row["gpu"]) for row in processes], [("node0", 5000, 0), ("node0", 5001, 1)])

    def test_the_late_host_is_named(self):
        self.run_program("ingest", FIXTURE / "node0.sqlite")
        finding, = self.json("diagnose")["findings"]
        self.assertEqual((finding["kind"], finding["ranks"], finding["first_step"], finding["last_step"]), ("host", [1], 3, 5))

    def test_a_mark_gives_its_call_the_source_line(self):
        self.run_program("ingest", FIXTURE / "node0.sqlite")
        self.assertEqual(self.rows("SELECT rank, function, step, source FROM v_operation WHERE source IS NOT NULL ORDER BY 1"),
                         [(0, "AllReduce", 0, "train.py:41"), (1, "AllReduce", 0, "train.py:41")])
        self.assertEqual(self.json("info", "--ledger")["rows"], [])

    def test_a_description_without_a_call_is_counted(self):
        self.ingest_one(self.load("UPDATE NVTX_EVENTS SET start = 400000000 WHERE text LIKE '{%' AND globalTid = 83902863217;"))
        row, = self.json("info", "--ledger")["rows"]
        self.assertEqual((row["reason"], row["count"]), ("call description without an operation", 1))

    def test_a_task_gives_algorithm_protocol_and_channels(self):
        self.run_program("ingest", FIXTURE / "node0.sqlite")
        self.assertEqual(self.rows("SELECT DISTINCT function, algorithm, protocol, channels FROM v_operation ORDER BY 1"),
                         [("AllGather", "LLMC", None, None), ("AllReduce", "RING", "SIMPLE", 16),
                          ("Recv", None, None, None), ("Send", None, None, None)])

    def test_ranges_are_tags(self):
        self.run_program("ingest", FIXTURE / "node0.sqlite")
        self.assertEqual(self.rows("SELECT function, tag, count(*) FROM v_operation GROUP BY 1, 2 ORDER BY 1"),
                         [("AllGather", "forward", 12), ("AllReduce", "forward", 12), ("Recv", None, 12), ("Send", None, 12)])
        self.assertEqual(self.rows("SELECT DISTINCT step FROM v_operation ORDER BY 1"), [(step,) for step in range(6)])
        self.assertEqual({row["tag"] for row in self.json("steps", "--by", "tag")["rows"]},
                         {"forward", "step", None})  # the short range "step N" holds no operation

    def range(self, begin, end, text, thread=83886086000, domain=0, kind=59, number="NULL"):
        return (f"INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid, textId, domainId) "
                f"VALUES ({begin}, {end}, {kind}, {text}, {thread}, {number}, {domain});")

    def tags_of_sends(self, *ranges):
        """The tags of rank 0's sends, at 112.002 ms and every 20 ms."""
        self.ingest_one(self.load(*ranges, "INSERT INTO StringIds VALUES (900, 'reduce'); INSERT INTO StringIds VALUES (901, 'aten::mm');"))
        return [tag for tag, in self.rows("SELECT tag FROM v_operation WHERE rank = 0 AND function = 'Send' ORDER BY enqueue_begin_us")]

    def test_the_innermost_range_applies_whatever_its_text_is_stored_as(self):
        ranges = [self.range(111000000, 119000000, "'backward'"), self.range(111500000, 112500000, "NULL", number=900),
                  self.range(131000000, 133000000, "'backward'", kind=60), self.range(131500000, 131600000, "NULL", number=900)]
        self.assertEqual(self.tags_of_sends(*ranges), ["reduce", "backward", None, None, None, None])

    def test_ranges_of_libraries_and_of_other_threads_are_no_tags(self):
        ranges = [self.range(111000000, 119000000, "'aten::mm'"), self.range(111000000, 119000000, "NULL", number=901),
                  self.range(111000000, 119000000, "'mul, seq = 4'"), self.range(111000000, 119000000, "'fused'", domain=3),
                  self.range(111000000, 119000000, "'nccl:all_reduce'"), self.range(111000000, 119000000, "'fetch'", thread=83886086999),
                  self.range(111000000, "NULL", "'open'"), self.range(111000000, 110000000, "'backwards'"),
                  self.range(111000000, 119000000, "'mark'", kind=34)]
        self.assertEqual(self.tags_of_sends(*ranges), [None] * 6)

    def test_a_number_that_counts_is_dropped_and_one_that_recurs_stays(self):
        begins = [111000000 + 20000000 * step for step in range(6)]
        ranges = [self.range(begin, begin + 3000000, f"'iteration #{step + 100}'") for step, begin in enumerate(begins)]
        ranges += [self.range(begin + 500000, begin + 1500000, f"'layer {step % 2}'") for step, begin in enumerate(begins) if step < 4]
        self.assertEqual(self.tags_of_sends(*ranges), ["layer 0", "layer 1", "layer 0", "layer 1", "iteration", "iteration"])

    def test_tables_and_columns_may_be_lacking(self):
        """nsys creates some tables only if needed; older versions lack columns."""
        path = self.load("DROP TABLE TARGET_INFO_CUDA_DEVICE; DROP TABLE TARGET_INFO_SYSTEM_ENV; DROP TABLE CUPTI_ACTIVITY_KIND_RUNTIME;"
                         "ALTER TABLE NVTX_EVENTS DROP COLUMN binaryData; ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN graphId;")
        self.assertEqual(self.ingest_one(path)["events"], 98)  # calls, tags, descriptions
        self.assertEqual(self.rows("SELECT count(*), count(bytes), count(duration_us) FROM v_operation"), [(48, 0, 0)])
        ledger = {row["reason"]: row["count"] for row in self.json("info", "--ledger")["rows"]}
        self.assertEqual(ledger["kernel without a call"], 36)

    def test_an_export_without_calls_says_how_to_get_them(self):
        path = self.load("DROP TABLE NVTX_EVENTS; DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL;")
        result = self.run_program("ingest", path, status=None)
        self.assertIn("--trace=cuda,nvtx", result.out + result.err)

    def test_a_view_is_no_table(self):
        path = self.load("ALTER TABLE NVTX_EVENTS RENAME TO moved; CREATE VIEW NVTX_EVENTS AS SELECT * FROM moved;")
        self.assertEqual(self.ingest_one(path)["events"], 0)

    def test_nothing_is_called(self):
        """Not even a column that the file defines itself."""
        path = self.load("DROP TABLE NVTX_EVENTS; CREATE TABLE NVTX_EVENTS (start, end, text AS (trim('ncclAllReduce')), globalTid);"
                         "INSERT INTO NVTX_EVENTS VALUES (1, 2, 5);")
        self.assertEqual(self.ingest_one(path)["events"], 0)

    def test_packed_exports_are_to_be_unpacked(self):
        self.write("node0.sqlite.gz", gzip.compress(FIXTURE.joinpath("node0.sqlite").read_bytes()))
        file = self.ingest_one(self.folder / "node0.sqlite.gz")
        self.assertEqual(file["status"], "failed")
        self.assertIn("unpack it", file["reason"])

    def test_nothing_beside_the_export_is_touched(self):
        path = self.load()
        path.with_name("node0.sqlite-journal").write_bytes(b"no journal of ours")
        path.chmod(0o400)
        self.assertEqual(self.ingest_one(path)["status"], "ingested")
        self.assertEqual(sorted(file.name for file in self.folder.iterdir()), ["node0.sqlite", "node0.sqlite-journal", "store.db"])

    def test_damaged_pages_leave_what_came_before(self):
        content = bytearray(FIXTURE.joinpath("node0.sqlite").read_bytes())
        for at in range(len(content) // 2, len(content)):
            content[at] = 0xff
        self.write("damaged.sqlite", bytes(content))
        self.assertIn(self.ingest_one(self.folder / "damaged.sqlite")["status"], ("partial", "failed"))
