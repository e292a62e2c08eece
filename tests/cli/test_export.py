"""`export`: its output, read by other programs and compared with `query`, `report` and `diagnose`."""

import csv
import io
import os
import re
import resource
import sqlite3
import subprocess
import unittest
from pathlib import Path

from tests.cli.support import PATIENCE_S, PROGRAM, TOP, Case, environment_for, trace

SLOW = TOP / "fixtures/tp2dp2pp2-slow-rank"
TYPES = {"INTEGER": int, "REAL": float, "TEXT": str}
HOSTILE = 'a,"b" \\ =1+1'


def samples(text):
    """{name: {labels, in order: value}} of Prometheus text; anything else is an error."""
    found, order, described = {}, [], set()
    for line in text.splitlines():
        comment = re.fullmatch(r"# (HELP|TYPE) (ncclprof_[a-z_]+) (.+)", line)
        if comment:
            described.add(comment.group(1, 2))
            continue
        match = re.fullmatch(r'(ncclprof_[a-z_]+)(?:\{((?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)*)\})? (\S+)', line)
        assert match, line
        name, labels, value = match.groups()
        pairs = tuple(re.findall(r'([a-z_]+)="((?:[^"\\]|\\.)*)"', labels or ""))
        assert {("HELP", name), ("TYPE", name)} <= described, line
        assert pairs not in found.setdefault(name, {}), f"twice: {line}"
        found[name][pairs] = float(value)
        order.append(name)
    assert len([name for before, name in zip([None, *order], order) if name != before]) == len(found), "in one group each"
    return found


class Export(Case):
    def views(self):
        return {row["view"] for row in self.json("query", "--schema")["rows"]}

    def rows_of(self, name):
        return [tuple(row.values()) for row in self.json("query", f"SELECT * FROM {name}")["rows"]]

    def export(self, to, output, *more, **options):
        return self.run_program("export", "--to", to, "-o", output, *more, **options)

    def connect(self, name):
        connection = sqlite3.connect(self.folder / name)
        self.addCleanup(connection.close)
        return connection

    def described(self, connection):
        found = {}
        for table, column in connection.execute('SELECT "table", "column" FROM description WHERE text <> \'\''):
            found.setdefault(table, []).append(column)
        return found

    def check_tables(self, connection, names):
        """The tables have the names and the content of the store's views."""
        self.assertEqual(connection.execute("PRAGMA integrity_check").fetchone(), ("ok",))
        described = self.described(connection)
        for name in names:
            columns = list(connection.execute(f"PRAGMA table_info({name})"))
            self.assertEqual(described[name], [None, *(column[1] for column in columns)])
            rows = list(connection.execute(f"SELECT * FROM {name}"))
            if name in self.views():
                # JSON does not distinguish 112.0 from 112.
                kinds = [TYPES[column[2]] for column in columns]
                said = [tuple(value if value is None else kind(value) for value, kind in zip(row, kinds)) for row in self.rows_of(name)]
                self.assertTrue(sorted(map(repr, rows)) == sorted(map(repr, said)), name)
                said = self.json("query", f"SELECT * FROM {name}")["columns"]
                self.assertEqual([column[1] for column in columns], [column["name"] for column in said])
            for row in rows:
                for value, column in zip(row, columns):
                    self.assertTrue(value is None or type(value) is TYPES[column[2]], (name, column, value))

    def test_sqlite_has_the_views(self):
        self.run_program("ingest", SLOW, TOP / "fixtures/call-description", TOP / "fixtures/prometheus",
                         TOP / "fixtures/nsys", TOP / "fixtures/damaged", TOP / "fixtures/process-facts", status=None)
        answer = self.json("export", "--to", "sqlite", "-o", "o.db", "--proxy-steps")
        connection = self.connect("o.db")
        tables = {name for name, in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
        self.assertEqual(tables, self.views() | {"run", "file", "description"})
        self.check_tables(connection, tables - {"description"})
        for row in answer["rows"]:
            self.assertEqual(connection.execute(f"SELECT count(*) FROM {row['table']}").fetchone(), (row["rows"],))
        self.assertEqual(len(answer["rows"]), len(tables) - 1)
        plan = str(connection.execute("EXPLAIN QUERY PLAN SELECT * FROM v_operation WHERE instance_id = 1").fetchall())
        self.assertIn("USING INDEX", plan)
        # The file is no store, and the program says so if it is used as one.
        self.assertIn("no store", self.run_program("info", "--store", "o.db", status=1).err.replace("not a store", "no store"))

    def test_network_steps_on_request(self):
        self.run_program("ingest", TOP / "fixtures/tp2dp2pp2-slow-sender")
        self.export("sqlite", "few.db")
        self.export("sqlite", "all.db", "--proxy-steps")
        few, all_ = self.connect("few.db"), self.connect("all.db")
        self.assertEqual(few.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'proxy_step'").fetchone(), (0,))
        self.assertGreater(all_.execute("SELECT count(*) FROM proxy_step").fetchone()[0], 1000)
        self.check_tables(all_, ["proxy_step", "v_proxy_operation"])

    def test_csv_says_the_same(self):
        self.run_program("ingest", TOP / "fixtures/tp2dp2pp2-slow-sender", TOP / "fixtures/prometheus")
        self.export("sqlite", "o.db", "--proxy-steps")
        self.export("csv", "o", "--proxy-steps")
        connection = self.connect("o.db")
        for path in sorted((self.folder / "o").iterdir()):
            text = path.read_bytes().decode()
            self.assertEqual(text.count("\n"), text.count("\r\n"))
            head, *lines = csv.reader(io.StringIO(text, newline=""), strict=True)
            columns = {column[1]: TYPES[column[2]] for column in connection.execute(f"PRAGMA table_info({path.stem})")}
            self.assertEqual(head, list(columns))
            expected = [tuple("" if value is None else value for value in row)
                        for row in connection.execute(f"SELECT * FROM {path.stem}")]
            found = [tuple(kind(cell) if cell else "" for cell, kind in zip(line, columns.values(), strict=True)) for line in lines]
            self.assertEqual(found, expected, path)
        self.assertEqual({path.stem for path in (self.folder / "o").iterdir()}, self.views() | {"run", "file"})
        # Files of an earlier export next to new ones would be misleading.
        self.export("csv", "o")
        self.assertFalse((self.folder / "o/proxy_step.csv").exists())

    def test_hostile_texts(self):
        name = os.fsdecode(b'odd"\r\n\xff.json')
        self.write(name, trace(tags=[(HOSTILE, 10.0)]))
        self.run_program("ingest", name)
        self.export("sqlite", "o.db")
        self.export("csv", "o")
        connection = self.connect("o.db")
        self.assertEqual([tag for tag, in connection.execute("SELECT tag FROM v_tag ORDER BY at_us")], [HOSTILE])
        path = str(self.folder / 'odd"\r\n\ufffd.json')
        self.assertEqual(connection.execute("SELECT path FROM file").fetchall(), [(path,)])
        content = {name: (self.folder / f"o/{name}.csv").read_bytes() for name in ("v_tag", "file")}
        rows = {name: list(csv.DictReader(io.StringIO(text.decode(), newline=""), strict=True)) for name, text in content.items()}
        self.assertEqual([row["tag"] for row in rows["v_tag"]], [HOSTILE])
        self.assertEqual([row["path"] for row in rows["file"]], [path])
        found = samples(self.export("prometheus", "-").out)
        tags = [dict(labels).get("tag", "") for labels in found["ncclprof_operations"]]
        self.assertIn(HOSTILE, [re.sub(r"\\(.)", r"\1", tag) for tag in tags])

    def test_one_run(self):
        self.run_program("ingest", SLOW, TOP / "fixtures/fsdp-clean", TOP / "fixtures/prometheus")
        self.export("sqlite", "all.db", "--proxy-steps")
        self.export("sqlite", "one.db", "--run", "fsdp-clean", "--proxy-steps")
        whole, one = self.connect("all.db"), self.connect("one.db")
        run, = one.execute("SELECT run_id FROM run").fetchone()
        of_run = {"run": f"run_id = {run}", "v_rank": f"run_id = {run}", "v_rank_fact": f"run_id = {run}",
                  "v_communicator": f"run_id = {run}", "v_operation": f"run_id = {run}", "v_instance": f"run_id = {run}",
                  "v_proxy_operation": f"run_id = {run}", "v_call": f"run_id = {run}", "v_sample": "0",
                  "file": "path LIKE '%fsdp-clean%'", "v_ledger": "path LIKE '%fsdp-clean%'",
                  "v_tag": "process_id IN (SELECT process_id FROM v_rank WHERE run_id = %d)" % run}
        for name, condition in of_run.items():
            expected = list(whole.execute(f"SELECT * FROM {name} WHERE {condition}"))
            found = list(one.execute(f"SELECT * FROM {name}"))
            self.assertTrue(sorted(map(repr, found)) == sorted(map(repr, expected)), name)
        self.assertGreater(len(list(one.execute("SELECT * FROM v_operation"))), 0)
        self.assertLess(len(list(one.execute("SELECT * FROM v_tag"))), len(list(whole.execute("SELECT * FROM v_tag"))) or 1)
        steps = "SELECT count(*) FROM proxy_step WHERE proxy_operation_id IN (SELECT proxy_operation_id FROM v_proxy_operation)"
        self.assertEqual(one.execute("SELECT count(*) FROM proxy_step").fetchone(), one.execute(steps).fetchone())
        self.assertIn("no run", self.export("sqlite", "x.db", "--run", "nonsense", status=1).err)
        self.assertFalse((self.folder / "x.db").exists())

    def test_figures_for_prometheus(self):
        self.run_program("ingest", SLOW)
        self.export("prometheus", "o.prom")
        found = samples((self.folder / "o.prom").read_text())
        run = ("run", "tp2dp2pp2-slow-rank")
        only = {name: values[(run,)] for name, values in found.items() if (run,) in values}
        diagnosis = self.json("diagnose")
        summary = diagnosis["summary"]
        for name, value in (("ranks", summary["ranks"]), ("steps", summary["steps"]),
                            ("step_median_seconds", summary["step_us_p50"] / 1e6),
                            ("step_usual_seconds", summary["step_us_usual"] / 1e6),
                            ("communication_ratio", summary["communication_share"]),
                            ("waiting_ratio", summary["waiting_share"]), ("steps_seconds", summary["steps_us"] / 1e6),
                            ("lost_seconds", summary["lost_us"] / 1e6), ("explained_seconds", summary["explained_us"] / 1e6),
                            ("judged_records", summary["judged_operations"]), ("stopped", 0)):
            self.assertAlmostEqual(only[f"ncclprof_{name}"], value, 4, name)
        for row in self.json("report", "--by", "tag,function")["rows"]:
            labels = (run, ("function", row["function"]), ("tag", row["tag"]))
            for name, value in (("transfer_busbw_bytes_per_second", row["transfer_busbw_gbs_p50"] * 1e9),
                                ("effective_busbw_bytes_per_second", row["effective_busbw_gbs_p50"] * 1e9),
                                ("operations", row["instances"]), ("operation_bytes", row["bytes"])):
                self.assertAlmostEqual(found[f"ncclprof_{name}"][labels] / value, 1, 9, name)
        finding, = [item for item in diagnosis["findings"] if item["confidence"] != "low"]
        labels = (run, ("kind", "compute"), ("unit", "rank 1"), ("confidence", "high"),
                  ("action", finding["action"]))
        self.assertAlmostEqual(found["ncclprof_finding_lost_seconds"][labels], finding["lost_us"] / 1e6, 6)
        self.assertEqual(found["ncclprof_finding_first_step"][labels], finding["first_step"])
        self.assertEqual(found["ncclprof_finding_last_step"][labels], finding["last_step"])
        counts = found["ncclprof_findings"]
        self.assertEqual(counts[(run, ("kind", "compute"), ("confidence", "high"))], 1)
        self.assertEqual(sum(counts.values()), len(diagnosis["findings"]))
        self.assertEqual(self.export("prometheus", "-").out, (self.folder / "o.prom").read_text())

    def test_stopped_job(self):
        self.run_program("ingest", TOP / "fixtures/tp2dp2pp2-hang")
        found = samples(self.export("prometheus", "-").out)
        self.assertEqual(list(found["ncclprof_stopped"].values()), [1])

    def test_nothing_is_half_written(self):
        self.run_program("ingest", SLOW)
        for to, output in (("sqlite", "o.db"), ("csv", "o"), ("prometheus", "o.prom")):
            with self.subTest(to=to):
                self.export(to, output)
                before = {path: path.read_bytes() for path in self.folder.rglob("*") if path.is_file()}
                limit = 2048 if to == "prometheus" else 16384
                result = subprocess.run(
                    [PROGRAM, "--store", self.store, "export", "--to", to, "-o", output], cwd=self.folder, capture_output=True,
                    text=True, restore_signals=False,
                    preexec_fn=lambda size=limit: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)))
                self.assertEqual(result.returncode, 1, result.stderr)
                self.assertIn("ncclprof: ", result.stderr)
                self.assertEqual({path: path.read_bytes() for path in self.folder.rglob("*") if path.is_file()}, before)

    def test_no_file_takes_its_name_before_all_are_written(self):
        """Small tables are kept back until the end: a full disk is reported before the first file exists."""
        self.run_program("ingest", TOP / "fixtures/prometheus")
        for to, limit in ("csv", 1024), ("parquet", 2500):  # larger than the first table, smaller than the largest
            with self.subTest(to=to):
                self.export(to, "o")
                sizes = [path.stat().st_size for path in (self.folder / "o").iterdir()]
                self.assertLess((self.folder / f"o/run.{to}").stat().st_size, limit)
                self.assertLess(limit, max(sizes))
                result = subprocess.run(
                    [PROGRAM, "--store", self.store, "export", "--to", to, "-o", "new"], cwd=self.folder, capture_output=True,
                    text=True, restore_signals=False,
                    preexec_fn=lambda size=limit: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)))
                self.assertEqual(result.returncode, 1, result.stderr)
                self.assertIn("cannot export to new", result.stderr)
                self.assertFalse((self.folder / "new").exists())

    def test_places_that_cannot_be_written(self):
        self.run_program("ingest", SLOW)
        self.write("file", "x")
        for to, output, why in (("sqlite", "-", "needs a file"), ("csv", "-", "needs a directory"), ("sqlite", ".", "directory"),
                                ("sqlite", "/dev/null", "not a regular file"), ("csv", "file", "not a directory"),
                                ("sqlite", "none/o.db", "No such file"), ("csv", "none/o", "No such file"),
                                ("prometheus", "none/o", "No such file")):
            with self.subTest(to=to, output=output):
                self.assertIn(why, self.export(to, output, status=1).err)
        self.assertEqual((self.folder / "file").read_text(), "x")

    def test_usage(self):
        self.run_program("ingest", SLOW)
        for words, why in ((["-o", "x"], "missing option --to"), (["--to", "xml", "-o", "x"], "invalid --to 'xml'"),
                           (["--to", "csv"], "missing option --output"),
                           (["--to", "prometheus", "--proxy-steps", "-o", "x"], "needs --to"),
                           (["--to", "csv", "-o", "x", "--rank", "1"], "--rank does not apply"),
                           (["--to", "csv", "-o", "x", "--step", "1"], "--step does not apply")):
            self.assertIn(why, self.run_program("export", *words, status=2).err)
        self.assertFalse((self.folder / "x").exists())

    def test_of_traces_without_a_store(self):
        self.assertIn(" tables with", self.run_program("export", "--to", "sqlite", "-o", "o.db", SLOW).out)
        self.assertEqual(self.connect("o.db").execute("SELECT count(*) FROM v_rank").fetchone(), (8,))
        self.assertFalse(self.store.exists())


class Extension(Case):
    LIBRARY = Path(PROGRAM).parent / "ncclprof_views.so"

    def sqlite(self, *words):
        return subprocess.run(["sqlite3", "-readonly", "-csv", "-cmd", f".load '{self.LIBRARY}'", self.store, *words],
                              capture_output=True, text=True, timeout=PATIENCE_S, env=environment_for(self.LIBRARY))

    def ask(self, *statements):
        result = self.sqlite(*statements)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return list(csv.reader(io.StringIO(result.stdout)))

    def test_other_programs_read_the_views(self):
        self.run_program("ingest", TOP / "fixtures/tp2dp2pp2-slow-sender", TOP / "fixtures/copy-engine")
        self.assertEqual(self.ask("SELECT ncclprof_version()")[0][0], self.run_program("--version").out.split()[1])
        for sql in ("SELECT count(*), sum(bytes), max(device_end_us) FROM v_operation",
                    "SELECT count(*), sum(size_bytes), group_concat(DISTINCT function) FROM v_instance",
                    "SELECT count(*), sum(steps_recorded) FROM v_proxy_operation",
                    "SELECT count(*), sum(network_end_ns - network_begin_ns) FROM proxy_step",
                    "SELECT sequence, tag FROM v_operation ORDER BY operation_id LIMIT 3"):
            mine = csv.reader(io.StringIO(self.run_program("query", "--format", "csv", sql).out))
            self.assertEqual(self.ask(sql), list(mine)[1:], sql)

    def test_a_damaged_store_is_told(self):
        self.run_program("ingest", SLOW)
        with sqlite3.connect(self.store) as store:
            store.execute("UPDATE operation_block SET packed = x'00'")
        result = self.sqlite("SELECT count(*) FROM v_operation")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("malformed", result.stderr)


if __name__ == "__main__":
    unittest.main()
