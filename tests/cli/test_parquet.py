"""`export --to parquet`, read by an independent reader (tests/cli/parquet.py) and compared with `export --to sqlite`."""

import os
import resource
import sqlite3
import subprocess
import unittest

from tests.cli import parquet
from tests.cli.support import PROGRAM, TOP, Case, inspector_trace, trace

KINDS = {"INTEGER": parquet.INT64, "REAL": parquet.DOUBLE, "TEXT": parquet.BYTE_ARRAY}
HOSTILE = 'a,"b" \\ =1+1 \u202e\U0001f4a5'
ROWS_OF_A_PAGE = 16384


class Parquet(Case):
    def export(self, output, *more, **options):
        return self.run_program("export", "--to", "parquet", "-o", output, *more, **options)

    def plain(self, *more):
        """The tables in SQLite, the other export of the store."""
        (self.folder / "plain.db").unlink(missing_ok=True)
        self.run_program("export", "--to", "sqlite", "-o", "plain.db", *more)
        connection = sqlite3.connect(self.folder / "plain.db")
        self.addCleanup(connection.close)
        return connection

    def change(self, *statements):
        with sqlite3.connect(self.store) as store:
            for statement in statements:
                store.execute(statement)
        store.close()

    def check_tables(self, connection, folder, in_order=True):
        """Files with all of those tables, the same values in the same order, and nothing else. Returns them by name."""
        names = {name for name, in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'description'")}
        self.assertEqual({path.name for path in (self.folder / folder).iterdir()}, {f"{name}.parquet" for name in names})
        tables = {name: parquet.Table(self.folder / folder / f"{name}.parquet") for name in sorted(names)}
        for name, table in tables.items():
            columns = {column[1]: KINDS[column[2]] for column in connection.execute(f"PRAGMA table_info({name})")}
            self.assertEqual((table.name, table.kinds), (name, columns))
            expected = list(connection.execute(f"SELECT * FROM {name}"))
            said, expected = ([repr(row) for row in rows] for rows in (table.rows, expected))  # -0.0 is not 0.0
            if not in_order:
                said, expected = sorted(said), sorted(expected)
            self.assertTrue(said == expected, name)
        return tables

    def test_every_value_of_every_table(self):
        self.run_program("ingest", TOP / "fixtures/tp2dp2pp2-slow-sender", TOP / "fixtures/call-description",
                         TOP / "fixtures/prometheus", TOP / "fixtures/damaged", TOP / "fixtures/process-facts",
                         TOP / "fixtures/dropped", status=None)
        connection = self.plain("--proxy-steps")
        for options in [], ["--rows-per-group", 97, "--compression", "none"]:
            with self.subTest(options=options):
                said = self.json("export", "--to", "parquet", "-o", "o", "--proxy-steps", *options)["rows"]
                tables = self.check_tables(connection, "o")
                self.assertEqual({row["table"]: row["rows"] for row in said}, {name: len(table.rows) for name, table in tables.items()})
                self.assertEqual({row["file"] for row in said}, {f"o/{name}.parquet" for name in tables})
                wanted = dict(zip(options[::2], options[1::2]))
                for table in tables.values():
                    self.check_groups(table, wanted.get("--rows-per-group", 131072), wanted.get("--compression", "gzip"))
                self.assertGreater(len(tables["proxy_step"].rows), 1000)
                self.assertGreater(sum(value is None for row in tables["v_operation"].rows for value in row), 0)

    def check_groups(self, table, rows, compression):
        sizes = [len(next(iter(group.values())).values) for group in table.groups]
        self.assertTrue(all(size == rows for size in sizes[:-1]) and all(0 < size <= rows for size in sizes), (table.name, sizes))
        codecs = {chunk.codec for group in table.groups for chunk in group.values()}
        self.assertLessEqual(codecs, {parquet.GZIP if compression == "gzip" else parquet.UNCOMPRESSED})

    def test_without_network_steps(self):
        self.run_program("ingest", TOP / "fixtures/tp2dp2pp2-slow-sender")
        self.export("o", "--proxy-steps")
        self.assertTrue((self.folder / "o/proxy_step.parquet").exists())
        # Files of an earlier export next to new ones would be misleading; other files stay.
        self.write("o/mine.parquet", "x")
        self.export("o")
        self.assertEqual((self.folder / "o/mine.parquet").read_text(), "x")
        (self.folder / "o/mine.parquet").unlink()
        self.check_tables(self.plain(), "o")

    def test_one_run(self):
        self.run_program("ingest", TOP / "fixtures/tp2dp2pp2-slow-rank", TOP / "fixtures/fsdp-clean")
        self.export("o", "--run", "fsdp-clean")
        table = self.check_tables(self.plain("--run", "fsdp-clean"), "o", in_order=False)["run"]
        self.assertEqual([row[1] for row in table.rows], ["fsdp-clean"])

    def test_empty_tables(self):
        self.run_program("ingest", TOP / "fixtures/prometheus")
        self.export("o")
        tables = self.check_tables(self.plain(), "o")
        self.assertEqual((tables["v_operation"].rows, tables["v_operation"].groups), ([], []))
        self.assertGreater(len(tables["v_operation"].kinds), 40)

    def test_what_columns_mean(self):
        self.run_program("ingest", TOP / "fixtures/tp2dp2pp2-slow-rank")
        self.export("o")
        connection = self.plain()
        for name, table in self.check_tables(connection, "o").items():
            described = list(connection.execute('SELECT "column", unit, text FROM description WHERE "table" = ?', (name,)))
            expected = {column or name: f"{unit}: {text}" if unit else text for column, unit, text in described}
            self.assertEqual(table.keys, expected)
            self.assertEqual(table.created_by, "ncclprof version " + self.run_program("--version").out.split()[1])

    def test_extremes(self):
        """Integers of 64 bits and extreme reals, in one row group and in several."""
        self.run_program("ingest", TOP / "fixtures/tp2dp2pp2-slow-rank", TOP / "fixtures/prometheus")
        least, greatest = -(1 << 63), (1 << 63) - 1
        self.change(f"UPDATE file SET unpacked_bytes = CASE file_id % 4 WHEN 0 THEN {greatest} WHEN 1 THEN -1 WHEN 2 THEN {least} + 1 "
                    f"ELSE {greatest} - 1 END, modified_ns = CASE file_id % 3 WHEN 0 THEN NULL WHEN 1 THEN 9007199254740993 ELSE 0 END",
                    "UPDATE sample SET busbw_gbs = CASE (sample_id & 7) WHEN 0 THEN 1.7976931348623157e308 WHEN 1 THEN -5e-324 "
                    "WHEN 2 THEN -0.0 WHEN 3 THEN 1e999 WHEN 4 THEN -1e999 WHEN 5 THEN NULL ELSE 0.1 END")
        connection = self.plain()
        self.assertIn((greatest,), set(connection.execute("SELECT unpacked_bytes FROM file")))
        self.assertIn((float("-inf"),), set(connection.execute("SELECT busbw_gbs FROM v_sample")))
        for options in [], ["--rows-per-group", 11]:
            self.export("o", *options)
            self.check_tables(connection, "o")

    def test_hostile_texts(self):
        """Invalid UTF-8 becomes U+FFFD, as in CSV; all other text is unchanged."""
        name = os.fsdecode(b'odd"\r\n\xff.json')
        self.write(name, trace(tags=[(HOSTILE, 10.0)]))
        self.run_program("ingest", name)
        self.change("UPDATE file SET dialect = 'a' || char(0) || 'b' || CAST(x'c080ff' AS TEXT)",
                    "UPDATE run SET step_source = ''")
        self.export("o")
        tables = {name: parquet.Table(self.folder / f"o/{name}.parquet") for name in ("v_tag", "file", "run")}
        column = {name: list(table.kinds) for name, table in tables.items()}
        self.assertEqual([row[column["v_tag"].index("tag")] for row in tables["v_tag"].rows], [HOSTILE])
        self.assertEqual(tables["file"].rows[0][column["file"].index("path")], str(self.folder / 'odd"\r\n\ufffd.json'))
        self.assertEqual(tables["file"].rows[0][column["file"].index("dialect")], "a\0b" + "\ufffd" * 3)
        self.assertEqual(tables["run"].rows[0][column["run"].index("step_source")], "")

    def test_long_texts(self):
        """The bounds of texts are exact or missing, so that they do not take unlimited space."""
        self.run_program("ingest", TOP / "fixtures/tp2dp2pp2-slow-rank")
        self.change("UPDATE file SET path = '/long/' || hex(zeroblob(50000)) || file_id, dialect = 'é' || hex(zeroblob(127))")
        self.export("o")
        chunks = self.check_tables(self.plain(), "o")["file"].groups[0]
        self.assertIsNone(chunks["path"].least)
        self.assertEqual(len(chunks["dialect"].least.encode()), 256)
        self.assertGreater(chunks["path"].pages, 1)  # a page cannot contain more of them

    def test_pages_and_dictionaries(self):
        """Frequent values are in a dictionary, others are not, over several pages and row groups."""
        lines = ROWS_OF_A_PAGE + 101
        self.write("a.log", inspector_trace(rank=0, count=lines))
        self.run_program("ingest", "a.log")
        connection = self.plain()
        for rows, pages in (131072, [2]), (ROWS_OF_A_PAGE + 1, [2, 1]):
            self.export("o", "--rows-per-group", rows)
            groups = self.check_tables(connection, "o")["v_operation"].groups
            self.assertEqual([group["function"].pages for group in groups], pages)
            for group in groups:
                self.assertEqual(set(group["function"].encodings), {parquet.RLE_DICTIONARY})
                self.assertEqual(group["function"].dictionary, ["AllReduce"])
                self.assertEqual(sorted(group["duration_us"].dictionary), [100.0 + i for i in range(7)])
                self.assertEqual(set(group["sequence"].encodings), {parquet.PLAIN})  # no two are alike
                self.assertEqual(set(group["peer"].values), {None})
            # Row groups that a condition excludes.
            bounds = [(group["sequence"].least, group["sequence"].greatest) for group in groups]
            self.assertEqual(bounds, [(rows * i, min(rows * (i + 1), lines) - 1) for i in range(len(pages))])

    def test_a_dictionary_that_grows_too_large(self):
        """Many texts, each twice in a row: texts that do not fit in the dictionary are written in full. And a column that
        starts with pages of only nulls.
        """
        self.run_program("ingest", TOP / "fixtures/tp2dp2pp2-slow-rank")
        self.change("UPDATE file SET modified_ns = NULL",
                    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40000) INSERT INTO file (path, file_set, "
                    "digest, bytes, unpacked_bytes, dialect, status, events, skipped, modified_ns) SELECT 'f' || i, '', i, 1, 1, "
                    "hex(zeroblob(100)) || (i / 2), 'ingested', 1, 0, iif(i > 20000, i % 5, NULL) FROM n")
        self.export("o")
        chunks = self.check_tables(self.plain(), "o")["file"].groups[0]
        self.assertEqual(chunks["dialect"].encodings[0], parquet.RLE_DICTIONARY)
        self.assertEqual(chunks["dialect"].encodings[-1], parquet.PLAIN)
        self.assertEqual(chunks["modified_ns"].encodings, [parquet.PLAIN] + [parquet.RLE_DICTIONARY] * 2)
        self.assertEqual(chunks["skipped"].encodings, [parquet.RLE_DICTIONARY] * 3)

    def test_it_is_the_same_each_time(self):
        self.run_program("ingest", TOP / "fixtures/tp2dp2pp2-slow-sender")
        for name in "a", "b":
            self.export(name, "--proxy-steps")
        content = [{path.name: path.read_bytes() for path in (self.folder / name).iterdir()} for name in "ab"]
        self.assertEqual(*content)

    def test_nothing_is_half_written(self):
        self.run_program("ingest", TOP / "fixtures/tp2dp2pp2-slow-rank")
        self.export("o")
        before = {path: path.read_bytes() for path in self.folder.rglob("*") if path.is_file()}
        for size, output in (4096, "o"), (0, "o"), (4096, "new"):
            result = subprocess.run(
                [PROGRAM, "--store", self.store, "export", "--to", "parquet", "-o", output], cwd=self.folder, capture_output=True,
                text=True, restore_signals=False,
                preexec_fn=lambda size=size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)))
            self.assertEqual(result.returncode, 1, result.stderr)
            self.assertIn(f"cannot export to {output}", result.stderr)
            self.assertEqual({path: path.read_bytes() for path in self.folder.rglob("*") if path.is_file()}, before)
        self.assertFalse((self.folder / "new").exists())

    def test_places_that_cannot_be_written(self):
        self.run_program("ingest", TOP / "fixtures/tp2dp2pp2-slow-rank")
        self.write("file", "x")
        for output, why in ("-", "needs a directory"), ("file", "is not a directory"), ("none/o", "No such file"):
            self.assertIn(why, self.export(output, status=1).err)

    def test_usage(self):
        self.run_program("ingest", TOP / "fixtures/fsdp-clean")
        for words, why in ((["--rows-per-group", 0], "at least 1"), (["--rows-per-group", "many"], "'many'"),
                           (["--compression", "zstd"], "invalid --compression 'zstd': expected gzip or none"),
                           (["--rank", 1], "--rank does not apply")):
            self.assertIn(why, self.export("o", *words, status=2).err)
        for to in "csv", "sqlite", "prometheus":
            for words in ["--rows-per-group", 5], ["--compression", "none"]:
                said = self.run_program("export", "--to", to, "-o", "o", *words, status=2)
                self.assertIn(f"{words[0]} needs --to parquet", said.err)
        self.assertFalse((self.folder / "o").exists())

    def test_a_damaged_store_is_told(self):
        """Text in place of a number is omitted from a column of numbers; rows that cannot be read are omitted."""
        rows = len(list((TOP / "fixtures/tp2dp2pp2-slow-rank").glob("*.json*")))
        last = "WHERE file_id = (SELECT max(file_id) FROM file)"
        for sql, why in ((f"UPDATE file SET events = 'many' {last}", f"row {rows}: column events holds text instead of an integer"),
                         (f"UPDATE file SET bytes = 1.5 {last}", f"row {rows}: column bytes holds a real number instead of an integer"),
                         ("UPDATE operation_block SET packed = x'00'", "cannot compute v_step")):
            self.store.unlink(missing_ok=True)
            self.run_program("ingest", TOP / "fixtures/tp2dp2pp2-slow-rank")
            self.change(sql)
            said = self.export("o", status=1).err
            self.assertIn(why, said)
            self.assertFalse((self.folder / "o").exists())


if __name__ == "__main__":
    unittest.main()
