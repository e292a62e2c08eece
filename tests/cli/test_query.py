"""`query`: what it answers, and what it refuses."""

import signal
import subprocess
import time

from tests.cli.support import PROGRAM, Case, trace

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

    def test_time_limit(self):
        begun = time.monotonic()
        result = self.run_program("query", "--timeout", "1", ENDLESS, status=1)
        self.assertIn("longer than 1 s", result.err)
        self.assertLess(time.monotonic() - begun, 20)

    def test_interruption(self):
        process = subprocess.Popen([PROGRAM, "--store", self.store, "query", ENDLESS], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=20)
        self.assertEqual(process.returncode, 130, errors)
        self.assertEqual(output, "")

    def test_columns_of_any_name(self):
        for form in ("table", "csv", "json"):
            result = self.run_program("query", "--format", form, 'SELECT 1 AS "\033[2J\n\u202e"')
            self.assertNotRegex(result.out, "\033|\u202e", form)
        self.assertEqual(self.run_program("query", 'SELECT 1 AS "\033\n"').out, "\\x1b\\x0a\n       1\n")

    def test_no_rows(self):
        self.assertEqual(self.json("query", "SELECT 1 AS one WHERE 0")["rows"], [])
        self.assertIn("(no rows)", self.run_program("query", "SELECT 1 AS one WHERE 0").out)

    def test_steps_are_reachable(self):
        self.assertEqual(self.rows("SELECT count(*) FROM proxy_step"), [(0,)])

    def test_many_rows_flow(self):
        sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000) SELECT i FROM n"
        self.assertEqual(len(self.run_program("query", "--format", "csv", sql).out.splitlines()), 200001)
        self.assertEqual(len(self.run_program("query", sql).out.splitlines()), 200001)
