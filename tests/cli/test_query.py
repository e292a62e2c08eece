"""`query`: its answers, and the statements that it refuses."""

import gzip
import re
import subprocess
from pathlib import Path

from tests.cli.support import PATIENCE_S, PROGRAM, TOP, Case, environment_for, interrupt, output_formats, trace

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"


class Query(Case):
    def setUp(self):
        super().setUp()
        self.write("a.json", trace(tags=[("forward", 10.0)]))
        self.run_program("ingest", "a.json")

    def test_formats_agree(self):
        sql = "SELECT 9223372036854775807 AS big, 0.1 AS tenth, NULL AS void, 'a,\"b' AS text"
        row = self.json("query", sql)["rows"][0]
        self.assertEqual(row, {"big": 9223372036854775807, "tenth": 0.1, "void": None, "text": 'a,"b'})
        self.assertEqual(self.run_program("query", "--format", "csv", sql).out,
                         'big,tenth,void,text\n9223372036854775807,0.1,,"a,""b"\n')
        self.assertEqual(self.run_program("query", sql).out,
                         "                big  tenth  void  text\n9223372036854775807    0.1     -  a,\"b\n")

    def test_writing_is_refused(self):
        for sql in (
            "DROP TABLE file",
            "DELETE FROM operation",
            "INSERT INTO fact VALUES ('x', 1)",
            "CREATE TABLE x (y)",
            "SELECT 1; DELETE FROM operation",
            "ATTACH 'other.db' AS other",
            "VACUUM INTO 'other.db'",
            "PRAGMA writable_schema = ON",
            "SELECT load_extension('./x')",
            "BEGIN",
        ):
            with self.subTest(sql=sql):
                before = self.store.read_bytes()
                result = self.run_program("query", sql, status=1)
                self.assertEqual(result.out, "")
                self.assertIn("ncclprof: ", result.err)
                self.assertEqual(self.store.read_bytes(), before)
                self.assertFalse((self.folder / "other.db").exists())

    def test_bad_sql_is_told(self):
        self.assertIn("no such column: nonsense", self.run_program("query", "SELECT nonsense", status=1).err)

    def test_statements_of_standard_input(self):
        for words in (["query", "--format", "csv"], ["query", "--format", "csv", "-"]):
            result = self.run_program(*words, stdin="SELECT 1 AS a; -- ; no end\nSELECT 'x;y' AS b;;\n")
            self.assertEqual(result.out, "a\n1\nb\nx;y\n")
        self.assertEqual(self.run_program("query", stdin="SELECT 1 AS a; SELECT 2 AS b").out, "a\n1\n\nb\n2\n")
        result = self.run_program("query", "--format", "csv", stdin="SELECT 1 AS a; DELETE FROM file; SELECT 2", status=1)
        self.assertEqual(result.out, "a\n1\n")
        self.assertIn("queries may only read", result.err)
        for nothing in ("", " ;-- nothing\n"):
            self.assertEqual(self.run_program("query", "--format", "csv", stdin=nothing, status=None).out, "")
        self.assertIn("no SQL statement", self.run_program("query", stdin="", status=1).err)
        self.assertIn("zero byte", self.run_program("query", stdin=b"SELECT 1\0", status=1).err)
        self.assertIn("larger than 1 MiB", self.run_program("query", stdin=" " * (1 << 20) + "SELECT 1", status=1).err)

    def test_views_are_listed_with_their_columns(self):
        rows = {row["view"]: row["columns"].split(", ") for row in self.json("query", "--schema")["rows"]}
        self.assertIn("proxy_step", rows)
        views = {name for name, in self.rows("SELECT name FROM sqlite_schema WHERE type = 'view'")}
        self.assertEqual(set(rows), views | {"proxy_step"})
        for view, columns in rows.items():
            found = self.json("query", f"SELECT * FROM {view}")["columns"]
            self.assertEqual(columns, [column["name"] for column in found])
        self.assertEqual(len(self.run_program("query", "--schema").out.splitlines()), len(rows) + 1)

    def test_what_the_analyses_find(self):
        """The computed views have the rows of the analyses, however their names are written."""
        self.store.unlink()
        self.run_program("ingest", "-q", TOP / "fixtures/tp2dp2pp2-slow-rank")
        findings = self.json("diagnose")["findings"]
        self.assertEqual(self.rows("SELECT run_id, kind, rank, first_step, last_step, confidence FROM V_FINDING"),
                         [(1, found["kind"], found["rank"], found["first_step"], found["last_step"], found["confidence"]) for found in findings])
        self.assertEqual((findings[0]["kind"], findings[0]["rank"]), ("compute", 1))
        self.assertEqual(self.rows("SELECT step, duration_us, waiting_us, last_rank, finding FROM v_step"),
                         [(row["step"], row["duration_us"], row["waiting_us"], row["last_rank"], row["finding"]) for row in self.json("steps")["rows"]])
        result = self.run_program("query", "--format", "csv",
                                  stdin="SELECT count(*) AS a FROM v_wait; SELECT rank FROM v_wait GROUP BY rank ORDER BY sum(own_us) DESC LIMIT 1")
        steps, = self.rows("SELECT count(*) FROM v_step")[0]
        self.assertEqual(result.out, f"a\n{8 * steps}\nrank\n1\n")
        self.assertIn("queries may only read", self.run_program("query", "DROP TABLE v_step", status=1).err)

    def test_other_programs_are_told_what_to_do(self):
        library = Path(PROGRAM).parent / "ncclprof_views.so"
        for extension in ([], [f".load {library}"]):
            for view, says in (("v_finding", "computed by ncclprof"), ("v_step", "computed by ncclprof"), ("v_wait", "computed by ncclprof"),
                               ("v_operation", ".load ncclprof_views.so"), ("v_instance", ".load ncclprof_views.so"),
                               ("v_proxy_operation", ".load ncclprof_views.so")):
                result = subprocess.run(["sqlite3", self.store, *extension, f"SELECT count(*) FROM {view}"], capture_output=True,
                                        text=True, env=environment_for(library))
                with self.subTest(view=view, extension=extension):
                    if extension and "load" in says:
                        self.assertEqual(result.returncode, 0, result.stderr)
                    else:
                        self.assertIn(says, result.stderr)
                        self.assertIn("ncclprof export --to sqlite", result.stderr)
        for view in ("v_rank", "v_communicator", "v_tag", "v_ledger", "v_call"):
            subprocess.run(["sqlite3", self.store, f"SELECT count(*) FROM {view}"], capture_output=True, check=True)

    def test_time_limit(self):
        result = self.run_program("query", "--timeout", "1", ENDLESS, status=1)
        self.assertIn("longer than 1 s", result.err)

    def test_interruption(self):
        process = subprocess.Popen([PROGRAM, "--store", self.store, "query", ENDLESS], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        interrupt(process, 0.5)
        output, errors = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 130, errors)
        self.assertEqual(output, "")

    def test_columns_of_any_name(self):
        for form in output_formats():
            result = self.run_program("query", "--format", form, 'SELECT 1 AS "\033[2J\n\u202e"')
            self.assertNotRegex(result.out, "\033|\u202e", form)
        self.assertEqual(self.run_program("query", 'SELECT 1 AS "\033\n"').out, "\\x1b\\x0a\n       1\n")

    def test_columns_without_values_are_shown(self):
        """The statement names them, so they are shown on a narrow terminal, too."""
        names = ["tag" + letter * 20 for letter in "abcde"]
        sql = "SELECT " + ", ".join(f"NULL AS {name}" for name in names)
        for out in (self.run_program("query", sql).out, self.run_on_terminal("query", sql)):
            for name in names:
                self.assertIn(name, out)

    def test_no_rows(self):
        self.assertEqual(self.json("query", "SELECT 1 AS one WHERE 0")["rows"], [])
        self.assertIn("(no rows)", self.run_program("query", "SELECT 1 AS one WHERE 0").out)

    def test_steps_are_reachable(self):
        self.assertEqual(self.rows("SELECT count(*) FROM proxy_step"), [(0,)])

    def test_many_rows_flow(self):
        sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000) SELECT i FROM n"
        self.assertEqual(len(self.run_program("query", "--format", "csv", sql).out.splitlines()), 200001)
        self.assertEqual(len(self.run_program("query", sql).out.splitlines()), 200001)


TRACES = TOP / "fixtures/tp2dp2pp2-clean"


class GlobalRanks(Case):
    """The peer in the views, compared with the trace: a process has one rank in the communicator of all ranks."""

    def setUp(self):
        super().setUp()
        self.run_program("ingest", TRACES)
        members = self.rows("SELECT communicator_id, rank, pid FROM member JOIN process USING (process_id)")
        sizes = [sum(member[0] == communicator for member in members) for communicator, _, _ in members]
        world = {pid: rank for (communicator, rank, pid), size in zip(members, sizes) if size == 8}
        self.assertEqual(sorted(world.values()), list(range(8)))
        self.ranks = {(communicator, rank): world[pid] for communicator, rank, pid in members}

    def check(self, view, *names):
        for local, found in names:
            rows = self.rows(f"SELECT DISTINCT communicator_id, {local}, {found} FROM {view} WHERE {local} >= 0")
            self.assertTrue(rows, local)
            for communicator, rank, global_rank in rows:
                self.assertEqual(global_rank, self.ranks.get((communicator, rank)), (view, local, communicator, rank))
            self.assertTrue(any(rank != global_rank for _, rank, global_rank in rows), f"{view}.{local}")

    def test_of_the_other_end(self):
        self.check("v_proxy_operation", ("peer", "peer_rank"))
        self.check("v_operation", ("peer", "peer_rank"))
        self.check("v_instance", ("sender", "sender_rank"), ("receiver", "receiver_rank"))

    def test_of_the_root(self):
        """Three ranks; 1 and 2 share a communicator, in which 2 has rank 1."""
        self.store.unlink()
        for rank in range(3):
            self.write(f"traces/world{rank}.json", trace(rank=rank, communicator=90))
            if rank:
                text = trace(rank=rank - 1, pid=1000 + rank, communicator=91).replace("AllReduce", "Broadcast")
                self.write(f"traces/pair{rank}.json", text.replace('"root": 0', '"root": 1'))
        self.ingest("traces")
        self.assertEqual(self.rows("SELECT DISTINCT function, root, root_rank FROM v_operation ORDER BY 1"),
                         [("AllReduce", None, None), ("Broadcast", 1, 2)])

    def test_of_who_left_no_trace(self):
        """Rank 7 is known only from its peers: no number is better than a wrong one."""
        self.store.unlink()
        texts = {path: gzip.decompress(path.read_bytes()) for path in TRACES.glob("dump_*")}
        world_7 = next(text for path, text in texts.items() if path.name.endswith("_7.json.gz"))
        pid = re.search(rb'"pid": *\d+', world_7).group()
        self.ingest(*sorted(path for path, text in texts.items() if pid not in text))
        self.assertEqual(self.rows("SELECT count(*) FROM v_proxy_operation WHERE peer_rank = 7 OR rank = 7"), [(0,)])
        self.assertGreater(self.rows("SELECT count(*) FROM v_proxy_operation WHERE peer_rank IS NULL")[0][0], 0)
        self.assertGreater(self.rows("SELECT count(*) FROM v_proxy_operation WHERE peer_rank = 6")[0][0], 0)
