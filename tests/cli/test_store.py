"""Damaged, foreign and hostile store files."""

import os
import re
import shutil
import sqlite3
import subprocess
import threading
import time
import unittest

from tests.cli.support import PATIENCE_S, PROGRAM, TOP, Case, trace


class BrokenStores(Case):
    def check_refused(self, *says):
        """Every command refuses the store, gives the reason, and does not change it."""
        before = self.store.read_bytes()
        self.write("a.json", trace())
        for words in (["info"], ["query", "SELECT 1"], ["ingest", "a.json"]):
            with self.subTest(words=words):
                result = self.run_program(*words, status=1)
                for text in says:
                    self.assertIn(text, result.err)
                self.assertIn(str(self.store), result.err)
        self.assertEqual(self.store.read_bytes(), before)

    def test_text(self):
        self.store.write_text("my notes\n" * 100)
        self.check_refused("not an SQLite database")

    def test_short_text(self):
        self.store.write_text("x")
        self.check_refused("not an SQLite database")

    def test_other_database(self):
        with sqlite3.connect(self.store) as store:
            store.execute("CREATE TABLE address (name)")
        store.close()
        self.check_refused("SQLite database of another program")

    def test_newer_schema(self):
        self.write("a.json", trace())
        self.run_program("ingest", "a.json")
        with sqlite3.connect(self.store) as store:
            store.execute("PRAGMA user_version = 1000")
        store.close()
        self.check_refused("newer ncclprof", "version 1000")

    def test_older_schema(self):
        self.write("a.json", trace())
        self.run_program("ingest", "a.json")
        with sqlite3.connect(self.store) as store:
            store.execute("PRAGMA user_version = 1")
        store.close()
        self.check_refused("older ncclprof", "version 1", "Ingest the traces into a new store")

    def test_directory(self):
        self.store.mkdir()
        self.assertIn("directory", self.run_program("info", status=1).err)
        self.write("a.json", trace())
        self.assertIn("irectory", self.run_program("ingest", "a.json", status=1).err)

    def test_no_such_folder(self):
        self.write("a.json", trace())
        result = self.run_program("--store", "missing/x.db", "ingest", "a.json", status=1)
        self.assertIn("No such file or directory", result.err)

    def test_damaged_page(self):
        self.write("a.json", trace(count=2000))
        self.run_program("ingest", "a.json")
        content = bytearray(self.store.read_bytes())
        for at in range(8192, len(content), 4096):
            content[at : at + 64] = b"\xa5" * 64
        self.store.write_bytes(content)
        result = self.run_program("query", "SELECT sum(bytes) FROM operation", status=1)
        self.assertIn("malformed", result.err)

    @unittest.skipIf(os.geteuid() == 0 and not os.path.exists("/usr/bin/setpriv"), "root may write everywhere")
    def test_fewer_steps_than_operations_have(self):
        """The step count of a run is not trusted for memory: operations beyond it belong to no run."""
        self.run_program("ingest", TOP / "fixtures/tp2dp2pp2-slow-rank")
        self.assertGreater(self.rows("SELECT max(step) FROM v_operation")[0][0], 2)
        for count in (2, 1, 0, -1):
            with sqlite3.connect(self.store) as store:
                store.execute("UPDATE run SET step_count = ?", (count,))
            for words in (["diagnose", "--all"], ["report", "--by", "rank,step"], ["stragglers"], ["stalls"], ["clocks"]):
                with self.subTest(count=count, words=words):
                    self.run_program(*words, status=None)

    def test_read_only(self):
        self.write("a.json", trace())
        self.write("b.json", trace(rank=1))
        self.run_program("ingest", "a.json")
        program = self.program_for_others()
        self.store.chmod(0o444)
        self.folder.chmod(0o555)
        self.addCleanup(self.folder.chmod, 0o755)
        prefix = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []

        def run(*words):
            return subprocess.run([*prefix, program, "--store", self.store, *words], capture_output=True, text=True,
                                  cwd="/")

        reading = run("info")
        self.assertEqual(reading.returncode, 0, reading.stderr)
        writing = run("ingest", self.folder / "b.json")
        self.assertEqual(writing.returncode, 1)
        self.assertIn("the file cannot be written to: Permission denied", writing.stderr)

    def test_what_an_earlier_version_joined(self):
        """The tables were made by other rules: they are made again, without a request."""
        self.run_program("ingest", "-q", TOP / "fixtures/tp2dp2pp2-slow-rank")
        said = self.run_program("diagnose").out
        for stale in ("DELETE FROM fact WHERE name = 'join_rules'", "UPDATE fact SET value = 0 WHERE name = 'join_rules'"):
            with sqlite3.connect(self.store) as store:
                store.execute(stale)
                store.execute("UPDATE run SET step_count = 0, step_source = 'none'")
            self.assertEqual(self.run_program("diagnose").out, said)

    def test_triggers_of_strangers_stay_still(self):
        self.write("a.json", trace())
        self.write("b.json", trace(rank=1))
        self.run_program("ingest", "a.json")
        with sqlite3.connect(self.store) as store:
            store.execute("CREATE TRIGGER thief AFTER INSERT ON file BEGIN DELETE FROM operation; END")
        store.close()
        self.run_program("ingest", "b.json")
        self.assertEqual(self.info()["collectives"], 10)

    def test_two_ingests_at_once(self):
        for rank in range(40):
            self.write(f"{'ab'[rank % 2]}/{rank}.json", trace(rank=rank, count=50))
        processes = [
            subprocess.Popen([PROGRAM, "--store", self.store, "-q", "ingest", self.folder / name],
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            for name in "ab"
        ]
        for process in processes:
            _, errors = process.communicate(timeout=PATIENCE_S)
            self.assertEqual(process.returncode, 0, errors)
        self.assertEqual(self.info()["collectives"], 2000)
        self.assertEqual(self.info()["collective_instances"], 50)
        self.check_integrity()

    def test_the_holder_is_named(self):
        self.write("a.json", trace())
        self.write("b.json", trace(rank=1))
        self.run_program("ingest", "a.json")
        holder = subprocess.Popen(
            ["python3", "-c", "import sqlite3, sys\ns = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
             "s.execute('BEGIN EXCLUSIVE')\nprint('held', flush=True)\nsys.stdin.read()", self.store],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )
        try:
            holder.stdout.readline()
            begun = time.monotonic()
            result = self.run_program("ingest", "b.json", status=1)
            self.assertGreater(time.monotonic() - begun, 5)
            self.assertIn(f"process {holder.pid} has locked the store", result.err)
        finally:
            holder.communicate()

    def test_a_short_hold_is_waited_for(self):
        self.write("a.json", trace())
        self.write("b.json", trace(rank=1))
        self.run_program("ingest", "a.json")
        store = sqlite3.connect(self.store, isolation_level=None, check_same_thread=False)
        store.execute("BEGIN EXCLUSIVE")
        release = threading.Timer(1.0, lambda: store.execute("COMMIT"))
        release.start()
        self.run_program("ingest", "b.json")
        release.join()
        store.close()
        self.assertEqual(self.info()["collectives"], 10)


class ForeignViews(Case):
    """A store into which somebody has put other views: ncclprof reads only its own, and every command ends."""

    ENDLESS = "WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT {} FROM n"
    COMMANDS = (["info"], ["info", "--communicators"], ["info", "--ledger"], ["report"], ["stragglers"], ["steps"], ["diagnose"],
                ["stalls"], ["clocks"], ["buffers"], ["startup"], ["timeline", "-o", "t.pftrace"], ["html", "-o", "page.html"],
                ["export", "--to", "csv", "-o", "csv"], ["export", "--to", "sqlite", "-o", "plain.db"],
                ["export", "--to", "parquet", "-o", "parquet"], ["export", "--to", "prometheus", "-o", "m.prom"], ["query", "--schema"])

    def setUp(self):
        super().setUp()
        self.run_program("ingest", "-q", TOP / "fixtures/registered-memory")

    def change(self, *sentences):
        with sqlite3.connect(self.store) as store:
            for sentence in sentences:
                store.execute(sentence)
        store.close()

    def answers(self):
        """The output of each command, and each file that it writes."""
        found = {}
        for words in self.COMMANDS:
            result = self.run_program(*words)
            found[tuple(words)] = re.sub(r"in [\d.]+ s", "", result.out)
        found["csv"] = {path.name: path.read_bytes() for path in (self.folder / "csv").iterdir()}
        with sqlite3.connect(self.folder / "plain.db") as plain:
            names = [name for name, in plain.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY 1")]
            found["plain"] = {name: sorted(plain.execute(f'SELECT * FROM "{name}"').fetchall(), key=repr) for name in names}
        plain.close()
        for name in ("csv", "parquet"):
            shutil.rmtree(self.folder / name)
        for name in ("plain.db", "page.html", "t.pftrace", "m.prom"):
            (self.folder / name).unlink()
        return found

    def test_in_the_place_of_ours(self):
        """Views that are endless, a product of tables that would take years, and false ones: every answer stays the same."""
        before = self.answers()
        columns = {row["view"]: row["columns"].split(", ") for row in self.json("query", "--schema")["rows"]
                   if row["view"] in ("v_operation", "v_rank", "v_ledger", "v_communicator", "v_dropped")}
        for number, (name, of) in enumerate(columns.items()):
            numbers = ", ".join(f"x AS {column}" for column in of)
            product = ", ".join(f"vocabulary AS v{i}" for i in range(12))
            self.change(f"DROP VIEW {name}", f"CREATE VIEW {name} AS " + (
                self.ENDLESS.format(numbers) if number % 2 == 0 else
                "SELECT " + ", ".join(f"v0.number AS {column}" for column in of) + f" FROM {product}"))
        self.change("CREATE VIEW a_view AS " + self.ENDLESS.format("x"))
        self.assertEqual(self.answers(), before)

    def test_in_the_place_of_a_table(self):
        """The table is not read: commands that need it fail, all others work."""
        for table in ("run", "file", "process", "job_rank", "fact", "shard", "vocabulary", "operation_block"):
            with self.subTest(table=table):
                store = self.folder / f"{table}.db"
                shutil.copy(self.store, store)
                with sqlite3.connect(store) as connection:
                    of = [column for _, column, *_ in connection.execute(f"PRAGMA table_info({table})")]
                    connection.execute(f"DROP TABLE {table}")
                    connection.execute(f"CREATE VIEW {table} AS " + self.ENDLESS.format(", ".join(f"x AS {column}" for column in of)))
                connection.close()
                for words in (["diagnose"], ["export", "--to", "csv", "-o", f"{table}-csv"], ["ingest", TOP / "fixtures/user-tags"],
                              ["info"], ["merge", "-o", f"{table}-merged.db", store]):
                    result = self.run_program("--store", store, *words, status=None)
                    self.assertIn(result.returncode, (0, 1), (table, words))
                    if words[0] == "diagnose" and table not in ("shard", "vocabulary"):
                        self.assertEqual(result.returncode, 1, table)

    def test_in_an_older_store(self):
        """It is updated without reading them."""
        self.change("DROP TABLE job_rank", "CREATE VIEW job_rank AS " + self.ENDLESS.format("x AS job_rank_id, x AS run_id, x AS process_id"),
                    "PRAGMA user_version = 7")
        self.assertEqual(self.run_program("info", status=1).out, "")

    def test_query_is_bounded(self):
        """Additional views of the user can be queried, limited by --timeout; the names of ncclprof's views are reserved."""
        self.change("CREATE VIEW mine AS SELECT count(*) AS files FROM file", "CREATE VIEW endless AS " + self.ENDLESS.format("x"),
                    "DROP VIEW v_rank", "CREATE VIEW v_rank AS SELECT 7 AS rank")
        self.assertEqual(self.rows("SELECT files FROM mine"), [(12,)])
        self.assertEqual(len(self.rows("SELECT rank FROM v_rank")), 4)
        self.assertIn("longer than 1 s", self.run_program("query", "--timeout", "1", "SELECT count(*) FROM endless", status=1).err)
