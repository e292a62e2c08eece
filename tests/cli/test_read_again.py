"""A file is read again if the reader of its format has improved since it was ingested."""

import json
import shutil
import sqlite3

from tests.cli import schema
from tests.cli.support import TOP, Case, trace
from tests.torture.content import digests

FIXTURES = TOP / "fixtures"
# For each format, a folder whose processes are identified by the directory or by the file itself.
FOLDERS = ("tp2dp2pp2-clean", "registered-memory", "inspector-v4.3-proxy", "kineto-ddp-slow", "prometheus", "nccl-ras-hang",
           "torch-log-hang", "flight-recorder-hang", "comma", "nsys")


class ReadAgain(Case):
    def change(self, sql, store=None):
        with sqlite3.connect(store or self.store) as connection:
            connection.execute(sql)
        connection.close()

    def ingest(self, *paths, more=(), **options):
        """The files by name, the totals, and the messages about files that are read again."""
        result = self.run_program("ingest", "--format", "json", *more, *paths, **options)
        answer = json.loads(result.out)
        form = schema.load("ingest.schema.json")
        self.assertEqual([*schema.complaints(answer, form), *schema.unknown_members(answer, form)], [])
        self.assertEqual(answer["totals"]["read_again"], sum(file["read_again"] for file in answer["files"]))
        said = [line for line in result.err.splitlines() if "read again" in line]
        return {file["path"].split("/")[-1]: file for file in answer["files"]}, said

    def make(self, *names, count=5):
        for rank, name in enumerate(names):
            self.write(name, trace(rank=rank, count=count))

    def test_only_what_an_earlier_version_read(self):
        self.make("a.json", "b.json", "c.json")
        files, said = self.ingest("a.json", "b.json", "c.json")
        self.assertEqual((said, [file["read_again"] for file in files.values()]), ([], [False] * 3))
        self.change("UPDATE file SET reader_version = 0 WHERE path LIKE '%a.json'")
        self.change("UPDATE file SET reader = NULL, reader_version = NULL WHERE path LIKE '%b.json'")
        files, said = self.ingest("a.json", "b.json", "c.json")
        self.assertEqual({name: (file["status"], file["read_again"]) for name, file in files.items()},
                         {"a.json": ("ingested", True), "b.json": ("ingested", True), "c.json": ("unchanged", False)})
        self.assertEqual(len(said), 1)
        self.assertIn("2 files were read again because ncclprof's reader for them has improved", said[0])
        files, said = self.ingest("a.json", "b.json", "c.json")
        self.assertEqual(({file["status"] for file in files.values()}, said), ({"unchanged"}, []))
        self.change("UPDATE file SET reader_version = 0 WHERE path LIKE '%c.json'")
        files, said = self.ingest("c.json")
        self.assertIn("1 file was read again because ncclprof's reader for it has improved", said[0])
        self.change("UPDATE file SET reader_version = 0")
        self.assertEqual(self.ingest("a.json", more=["-q"])[1], [])

    def test_a_later_version_is_not_undone(self):
        """Files that a later ncclprof has read stay, with a known reader and with an unknown one."""
        self.make("a.json", "b.json")
        self.ingest("a.json", "b.json")
        self.change("UPDATE file SET reader_version = 99 WHERE path LIKE '%a.json'")
        self.change("UPDATE file SET reader = 'later', reader_version = 1 WHERE path LIKE '%b.json'")
        files, said = self.ingest("a.json", "b.json")
        self.assertEqual(({file["status"] for file in files.values()}, said), ({"unchanged"}, []))

    def test_every_format(self):
        """Data that an earlier reader did not read is there afterwards, as in a new store."""
        folders = [FIXTURES / name for name in FOLDERS]
        self.ingest(*folders, status=None)
        fresh = digests(self.store)
        with sqlite3.connect(self.store) as store:
            formats = {name for name, in store.execute("SELECT reader FROM file")}
        store.close()
        self.assertEqual(formats, {"chrome", "memory-snapshot", "nccl", "inspector", "kineto", "prometheus", "nccl-ras", "torch",
                                   "flight-recorder", "comma", "nsys", "call"})
        for table in ("warning", "tag_mark", "sample", "registration", "process_fact"):
            self.change(f"DELETE FROM {table}")
        self.change("UPDATE file SET reader_version = 0")
        files, said = self.ingest(*folders, status=None)
        self.assertEqual({file["read_again"] for file in files.values() if file["status"] != "failed"}, {True})
        self.assertEqual(len(said), 1)
        self.assertEqual(digests(self.store), fresh)
        self.check_integrity()

    def test_files_that_are_gone_or_changed(self):
        """The records of a deleted file stay; new content replaces the old, as always."""
        self.make("a.json", "b.json")
        self.ingest("a.json", "b.json")
        self.change("UPDATE file SET reader_version = 0")
        (self.folder / "a.json").unlink()
        self.write("b.json", trace(rank=1, count=9))
        files, said = self.ingest(".")
        self.assertEqual({name: (file["status"], file["read_again"], file["events"]) for name, file in files.items()},
                         {"b.json": ("ingested", False, 9)})
        self.assertEqual((said, self.info()["collectives"]), ([], 14))

    def test_packed_since(self):
        """The same content under another name in its directory; and a copy elsewhere, which changes nothing."""
        self.make("job/a.json", "job/b.json")
        self.ingest("job")
        self.change("UPDATE file SET reader_version = 0")
        fresh = digests(self.store)
        shutil.copytree(self.folder / "job", self.folder / "copy")
        files, said = self.ingest("copy")
        self.assertEqual(({(file["status"], file["read_again"]) for file in files.values()}, said), ({("unchanged", False)}, []))
        self.assertEqual(digests(self.store), fresh)
        (self.folder / "job/a.json").rename(self.folder / "job/c.json")
        files, said = self.ingest("job")
        self.assertEqual({(file["status"], file["read_again"]) for file in files.values()}, {("ingested", True)})
        self.assertEqual(self.info()["files"], 2)

    def test_merge_takes_the_better_reading(self):
        """Two stores with one file: the records of the later version count, whichever store is merged first."""
        self.make("a.json")
        for name in ("old.db", "new.db"):
            self.run_program("--store", name, "ingest", "-q", "a.json")
        self.change("UPDATE file SET reader_version = 0, events = 4", self.folder / "old.db")
        for order in (("old.db", "new.db"), ("new.db", "old.db")):
            self.run_program("merge", "-q", "-o", "merged.db", *order)
            with sqlite3.connect(self.folder / "merged.db") as store:
                self.assertEqual(store.execute("SELECT reader, reader_version > 0, events FROM file").fetchall(), [("chrome", 1, 5)])
            store.close()
            (self.folder / "merged.db").unlink()
        self.run_program("merge", "-q", "-o", "merged.db", "old.db")
        self.store = self.folder / "merged.db"
        files, said = self.ingest("a.json")
        self.assertEqual((files["a.json"]["read_again"], len(said)), (True, 1))
