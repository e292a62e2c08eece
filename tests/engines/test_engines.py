"""Reads the output of `export --to parquet` with other engines: the queries of the manual, and every value of every table.

$NCCLPROF_ENGINES is the folder into which npm installed the engine. Expected values are computed here from the output of
`query` and `export --to sqlite`.
"""

import json
import os
import re
import sqlite3
import statistics
import subprocess
import unittest
from collections import defaultdict
from pathlib import Path

from tests.cli.support import PATIENCE_S, TOP, Case, trace

ROOM = os.path.abspath(os.environ.get("NCCLPROF_ENGINES", "build/engines"))
PAGE = (TOP / "man/ncclprof-export.1").read_text()
JOBS = {"job": "tp2dp2pp2-slow-rank", "other": "fsdp-clean"}
HOSTILE = 'a,"b" \\ =1+1 \u202e\U0001f4a5'


def queries(engine):
    """{name: SQL} from the manual, for one engine."""
    found = re.findall(rf'^\.\\" {engine}: (\w+)\n\.Bd -literal\n(.*?)^\.Ed$', PAGE, re.M | re.S)
    return {name: sql.replace("\\e", "\\") for name, sql in found}


class Engine(Case):
    """The tests, for the engine that a subclass names."""

    def ask(self, *statements):
        """A list of rows for each query."""
        result = subprocess.run(["node", TOP / "tests/engines" / self.script, ROOM], input=json.dumps(statements), text=True,
                                capture_output=True, cwd=self.folder, timeout=PATIENCE_S)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def export(self, store, output, *more):
        self.run_program("export", "--store", store, "--to", "parquet", "-o", output, *more)

    def jobs(self, *more):
        """Both jobs, exported from their own stores in several row groups; {job: instances, operations}."""
        tables = {}
        for job, fixture in JOBS.items():
            store = self.folder / f"{job}.db"
            self.run_program("ingest", "-q", "--store", store, TOP / "fixtures" / fixture)
            self.export(store, job, *more)
            tables[job] = [self.json("query", "--store", store, f"SELECT * FROM {view}")["rows"]
                           for view in ("v_instance", "v_operation")]
        return tables

    def assert_rows(self, found, expected):
        """The same values, except that sums of reals may differ in the last digits, because they depend on the order."""
        self.assertEqual(len(found), len(expected))
        for row, other in zip(found, expected):
            self.assertEqual(len(row), len(other))
            for value, wanted in zip(row, other):
                if isinstance(wanted, float):
                    self.assertAlmostEqual(float(value), wanted, delta=1e-9 * abs(wanted))
                else:
                    self.assertEqual(value if wanted is None else type(wanted)(value), wanted)

    def last(self, tables):
        found = defaultdict(list)
        for row in tables["job"][0]:
            if row["members"] == row["expected"] and row["margin_us"] is not None and row["margin_us"] > 0:
                found[row["tag"], row["last_rank"]].append(row["margin_us"])
        rows = [[tag, rank, len(margins), float(sum(margins)) / 1000] for (tag, rank), margins in found.items()]
        self.assertGreater(len(rows), 10)
        return sorted(rows, key=lambda row: (-row[3], row[0], row[1]))[:10]

    def bandwidth(self, tables):
        found = defaultdict(list)
        for job, (instances, _) in tables.items():
            for row in instances:
                found[job, row["function"]].append(row)
        self.assertGreater(len(found), 3)
        return [[job, function, len(rows), sum(row["size_bytes"] for row in rows),
                 statistics.median(row["effective_busbw_gbs"] for row in rows if row["effective_busbw_gbs"] is not None)]
                for (job, function), rows in sorted(found.items())]

    def check_all_queries(self, answers):
        """{name: (rows, expected)} for all queries of the manual."""
        self.assertEqual(set(answers), set(queries(self.name)))
        for name, (rows, expected) in answers.items():
            with self.subTest(query=name):
                self.assert_rows(rows, expected)

    def hostile_store(self):
        """A store with rows in each table, with nulls, extreme integers and reals, and texts of all kinds."""
        self.write(os.fsdecode(b'odd"\r\n\xff.json'), trace(tags=[(HOSTILE, 10.0)]))
        self.run_program("ingest", "-q", TOP / "fixtures/tp2dp2pp2-slow-sender", TOP / "fixtures/prometheus", TOP / "fixtures/damaged",
                         TOP / "fixtures/call-description", TOP / "fixtures/process-facts", os.fsdecode(b'odd"\r\n\xff.json'), status=None)
        with sqlite3.connect(self.store) as store:
            store.execute("UPDATE file SET unpacked_bytes = CASE file_id % 3 WHEN 0 THEN 9223372036854775807 "
                          "WHEN 1 THEN -9223372036854775807 - 1 ELSE 9007199254740993 END")
            store.execute("UPDATE sample SET busbw_gbs = CASE (sample_id & 7) WHEN 0 THEN 1.7976931348623157e308 WHEN 1 THEN -5e-324 "
                          "WHEN 2 THEN -0.0 WHEN 3 THEN 1e999 WHEN 4 THEN -1e999 WHEN 5 THEN NULL ELSE 0.1 END")
            store.execute("UPDATE file SET dialect = hex(zeroblob(300)) || file_id WHERE file_id % 5 = 0")
            store.execute("UPDATE file SET dialect = '' WHERE file_id % 5 = 1")
            # Several pages: only nulls, with a dictionary, and after a dictionary has grown too large.
            store.execute("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40000) INSERT INTO file (path, "
                          "file_set, digest, bytes, unpacked_bytes, dialect, status, events, skipped, modified_ns) SELECT 'f' || i, '', "
                          "i, 1, 1, hex(zeroblob(100)) || (i / 2), 'ingested', 1, 0, iif(i > 20000, i % 5, NULL) FROM n")
        store.close()

    def test_every_value_of_every_table(self):
        self.hostile_store()
        self.run_program("export", "--to", "sqlite", "-o", "plain.db", "--proxy-steps")
        connection = sqlite3.connect(self.folder / "plain.db")
        self.addCleanup(connection.close)
        for number, options in enumerate(([], ["--compression", "none"], ["--rows-per-group", 61])):
            self.export(self.store, f"o{number}", "--proxy-steps", *options)
            names = sorted(path.stem for path in (self.folder / f"o{number}").iterdir())
            self.assertEqual(len(names), 15)
            answers = self.ask(*(f"SELECT * FROM {self.table(f'o{number}/{name}.parquet')}" for name in names))
            for name, rows in zip(names, answers):
                types = {"INTEGER": int, "REAL": float, "TEXT": str}
                kinds = [types[column[2]] for column in connection.execute(f"PRAGMA table_info({name})")]
                found = [repr([value if value is None else kind(value) for kind, value in zip(kinds, row, strict=True)]) for row in rows]
                expected = [repr(list(row)) for row in connection.execute(f"SELECT * FROM {name}")]
                self.assertTrue(sorted(found) == sorted(expected), (name, options))

    def test_conditions_find_all_rows(self):
        """The bounds of row groups exclude no matching row."""
        operations = self.jobs("--rows-per-group", 20)["job"][1]
        for column in "rank", "step", "tag", "function", "duration_us", "byte_offset", "peer", "communicator":
            values = sorted({row[column] for row in operations if row[column] is not None})
            tries = values[:3] + values[len(values) // 2:len(values) // 2 + 3] + values[-3:]
            table = self.table("job/v_operation.parquet")
            texts = [f"'{value}'" if isinstance(value, str) else repr(value) for value in tries]
            answers = self.ask(*(f"SELECT count(*) FILTER (WHERE {column} = {text}) FROM {table}" for text in texts),
                               *(f"SELECT count(*) FROM {table} WHERE {column} = {text}" for text in texts),
                               *(f"SELECT count(*) FROM {table} WHERE {column} > {text}" for text in texts),
                               f"SELECT count(*) FROM {table} WHERE {column} IS NULL")
            equal = [sum(row[column] == value for row in operations) for value in tries]
            greater = [sum(row[column] is not None and row[column] > value for row in operations) for value in tries]
            self.assertEqual([int(rows[0][0]) for rows in answers],
                             equal + equal + greater + [sum(row[column] is None for row in operations)], column)


class DuckDB(Engine):
    name, script = "duckdb", "duckdb.mjs"

    def table(self, path):
        return f"'{path}'"

    def waited(self, tables):
        instances = {row["instance_id"]: row for row in tables["job"][0]}
        found = defaultdict(list)
        for row in tables["job"][1]:
            if row["step"] is not None and 2 <= row["step"] <= 5 and row["instance_id"] in instances:
                found[row["rank"]].append((row["duration_us"], instances[row["instance_id"]]["transfer_us"]))
        self.assertEqual(len(found), 8)
        return [[rank, len(rows), float(sum(whole - shortest for whole, shortest in rows if None not in (whole, shortest))) / 1000]
                for rank, rows in sorted(found.items())]

    def test_queries_of_the_manual(self):
        tables = self.jobs("--rows-per-group", 50)
        asked = queries(self.name)
        answers = dict(zip(asked, self.ask(*asked.values())))
        self.run_program("export", "--store", self.folder / "job.db", "--to", "sqlite", "-o", "plain.db")
        connection = sqlite3.connect(self.folder / "plain.db")
        self.addCleanup(connection.close)
        described = connection.execute("""SELECT coalesce("column", "table"), coalesce(unit || ': ', '') || text FROM description
                                          WHERE "table" = 'v_operation' ORDER BY rowid""")
        for row in answers["jobs"]:
            row[0] = str(Path(row[0]).parent)
        self.check_all_queries({"last": (answers["last"], self.last(tables)),
                                "waited": (answers["waited"], self.waited(tables)),
                                "jobs": (answers["jobs"], self.bandwidth(tables)),
                                "meaning": (answers["meaning"], [list(row) for row in described])})


class ClickHouse(Engine):
    name, script = "clickhouse", "clickhouse.cjs"

    def table(self, path):
        return f"file('{path}', Parquet)"

    def test_queries_of_the_manual(self):
        tables = self.jobs("--rows-per-group", 50)
        asked = queries(self.name)
        answers = dict(zip(asked, self.ask(*asked.values())))
        for row in answers["jobs"]:
            row[0] = Path(row[0]).parent.name
        self.check_all_queries({"last": (answers["last"], self.last(tables)), "jobs": (answers["jobs"], self.bandwidth(tables))})


del Engine, Case  # not tests

if __name__ == "__main__":
    unittest.main()
