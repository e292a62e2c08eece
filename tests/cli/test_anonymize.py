"""--anonymize of export and html: no name of the traces is in the output, and all else is as without it."""

import csv
import gzip
import os
import re
import shutil
import sqlite3

from tests.cli import parquet
from tests.cli.support import TOP, Case

FIXTURES = ("inspector-2.30", "process-facts", "flight-recorder-hang", "kineto-annotations", "nccl-torch-log", "call-description",
            "prometheus", "user-tags", "damaged", "plugin-ddp-slow", "registered-memory", "nccl-ras-hang")
# Columns of the views that hold names. Words of ncclprof, of NCCL and of PyTorch itself are no names.
NAMES = {"v_rank": ("host", "file_set", "gpu_serial", "vm", "framework_name"), "v_rank_fact": ("host", "gpu_serial", "framework_name"),
         "v_communicator": ("name", "description"), "v_operation": ("tag", "source"), "v_tag": ("tag",), "file": ("path",),
         "v_call": ("source",), "v_sample": ("job", "node", "communicator", "tag"), "run": ("name",), "process": ("host", "file_set"),
         "process_fact": ("address", "host", "rank_name", "nic"), "warning": ("text", "peer"), "ledger": ("example",)}


def unpacked(path):
    """Everything that a program can find in a file, also in its compressed parts."""
    data = path.read_bytes()
    found = [data]
    for match in re.finditer(rb"\x1f\x8b\x08", data):
        try:
            found.append(gzip.zlib.decompressobj(31).decompress(data[match.start():]))
        except gzip.zlib.error:
            continue
    return b"\n".join(found)


class Anonymize(Case):
    def names(self, store):
        """The names in a store, and the parts of its paths."""
        found = set()
        for table, columns in NAMES.items():
            for column in columns:
                for row in self.json("--store", store, "query", f"SELECT DISTINCT {column} AS name FROM {table} WHERE {column} IS NOT NULL")["rows"]:
                    found |= {row["name"], *(row["name"].split("/") if table in ("file", "v_rank", "process") else ())}
        found |= {self.folder.name, os.uname().nodename}
        return {name for name in found if len(name) > 2 and not re.fullmatch(r"[-0-9,. \[\]]*", name)}

    def outputs(self, store, *words):
        out = self.folder / "out"
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        for form, name in (("sqlite", "o.db"), ("csv", "csv"), ("parquet", "parquet"), ("prometheus", "m.prom")):
            self.run_program("--store", store, "export", "--anonymize", "--to", form, "-o", out / name, *words)
        self.run_program("--store", store, "html", "--anonymize", "-o", out / "page.html", *words, status=None)
        return [path for path in sorted(out.rglob("*")) if path.is_file()]

    def test_no_name_is_left(self):
        """Words that are in the output for other traces, too, are ncclprof's."""
        own = self.folder / "own.db"
        self.run_program("--store", own, "ingest", "-q", TOP / "fixtures/tp2dp2pp2-clean")
        words = {path.name: set(re.findall(rb"\w+", unpacked(path))) for path in self.outputs(own)}
        for fixture in FIXTURES:
            with self.subTest(fixture=fixture):
                store = self.folder / f"{fixture}.db"
                traces = self.folder / "home-of-mallory" / f"job-{len(fixture)}"
                shutil.copytree(TOP / "fixtures" / fixture, traces, dirs_exist_ok=True)
                self.run_program("--store", store, "ingest", "-q", traces, status=None)
                shutil.rmtree(traces)
                names, files = self.names(store), self.outputs(store)
                self.assertGreater(len(names), 3)
                self.assertGreater(len(files), 30)
                for path in files:
                    content = unpacked(path)
                    left = [name for name in names if name.encode() not in words[path.name] and re.search(rb"(?<![a-zA-Z0-9_])" + re.escape(name.encode()) + rb"(?![a-zA-Z0-9_])", content)]
                    self.assertEqual((path.name, left), (path.name, []))

    def test_the_same_name_everywhere(self):
        """All that is no name is as it was, and two values are equal where they were equal."""
        self.run_program("ingest", "-q", TOP / "fixtures/user-tags", TOP / "fixtures/plugin-ddp-slow", status=None)
        for words in ([], ["--anonymize"]):
            self.run_program("export", "--to", "csv", "-o", f"csv{len(words)}", *words)
        of = {}
        for path in sorted((self.folder / "csv0").iterdir()):
            plain = list(csv.DictReader(path.open(newline="")))
            renamed = list(csv.DictReader((self.folder / "csv1" / path.name).open(newline="")))
            self.assertEqual(len(plain), len(renamed), path)
            for before, after in zip(plain, renamed):
                for column, value in before.items():
                    if re.fullmatch(r"(host|path|tag|communicator|source|run|process|text|name)#\d+", after[column]):
                        self.assertEqual(of.setdefault(value, after[column]), after[column], column)
                    elif column not in ("text", "evidence", "peers", "rank_name", "process", "last_process", "finding"):
                        self.assertEqual(value, after[column], (path, column))
        self.assertEqual(len(set(of.values())), len(of))
        self.assertTrue({name.partition("#")[0] for name in of.values()} >= {"path", "tag", "run", "host"})

    def test_formats_agree(self):
        self.run_program("ingest", "-q", TOP / "fixtures/user-tags")
        self.outputs(self.store)
        with sqlite3.connect(self.folder / "out/o.db") as connection:
            tags = [tag for tag, in connection.execute("SELECT tag FROM v_operation")]
        connection.close()
        table = parquet.Table(self.folder / "out/parquet/v_operation.parquet")
        self.assertEqual([row[list(table.kinds).index("tag")] for row in table.rows], tags)
        self.assertTrue(any(tag and tag.startswith("tag#") for tag in tags))

    def test_of_one_run_of_traces_and_of_a_store_that_stays(self):
        traces = TOP / "fixtures/tp2dp2pp2-slow-rank"
        self.run_program("ingest", "-q", traces)
        before = self.store.read_bytes()
        self.run_program("export", "--anonymize", "--to", "csv", "-o", "one", "--run", "tp2dp2pp2-slow-rank")
        self.assertEqual(self.store.read_bytes(), before)
        self.run_program("export", "--anonymize", "--to", "csv", "-o", "direct", traces)
        one, direct = ((self.folder / name / "v_finding.csv").read_text() for name in ("one", "direct"))
        self.assertIn(",compute,1,", one)
        self.assertRegex((self.folder / "one/v_tag.csv").read_text(), r",tag#\d,")
        self.assertEqual(re.sub(r"#\d+", "#", one), re.sub(r"#\d+", "#", direct))
        self.assertIn("no run 'none'", self.run_program("html", "--anonymize", "-o", "x.html", "--run", "none", status=1).err)
