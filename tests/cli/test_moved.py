"""Files that change their names, or what they hold, between one ingest and the next."""

import gzip
import os

from tests.cli.support import TOP, Case

FIRST, SECOND = sorted((TOP / "fixtures/inspector-2.30").glob("*.log"))[:2]


class Moved(Case):
    def contents(self):
        """How many operations there are of each function, on how many ranks."""
        return self.run_program("report", "--by", "function", "--format", "csv").out

    def fresh(self, *paths):
        store, self.store = self.store, self.folder / "fresh.db"
        self.run_program("ingest", "-q", *paths)
        contents = self.contents()
        self.store.unlink()
        self.store = store
        return contents

    def check(self, *paths):
        self.run_program("ingest", "-q", *paths)
        self.assertEqual(self.contents(), self.fresh(*paths))

    def test_a_log_that_was_rotated(self):
        """What was a.log is a.log.1 now; whichever of the two is read first, neither is lost."""
        for rotated in ("a.log.1", "Z.log"):
            with self.subTest(rotated=rotated):
                self.store.unlink(missing_ok=True)
                logs = self.folder / f"logs-{rotated}"
                self.write(logs / "a.log", FIRST.read_bytes())
                self.check(logs)
                os.rename(logs / "a.log", logs / rotated)
                self.write(logs / "a.log", SECOND.read_bytes())
                self.check(logs)

    def test_names_that_were_swapped(self):
        logs = self.folder / "logs"
        self.write(logs / "a.log", FIRST.read_bytes())
        self.write(logs / "b.log", SECOND.read_bytes())
        self.check(logs)
        self.write(logs / "a.log", SECOND.read_bytes())
        self.write(logs / "b.log", FIRST.read_bytes())
        self.check(logs)

    def test_a_move_to_another_directory(self):
        for away in ("0", "2"):
            with self.subTest(away=away):
                self.store.unlink(missing_ok=True)
                logs = self.folder / f"to-{away}"
                self.write(logs / "1/a.log", FIRST.read_bytes())
                self.check(logs)
                (logs / away).mkdir()
                os.rename(logs / "1/a.log", logs / away / "a.log")
                self.write(logs / "1/a.log", SECOND.read_bytes())
                self.check(logs)

    def test_a_file_that_is_unpacked_and_grows(self):
        logs = self.folder / "logs"
        whole = FIRST.read_bytes()
        begin = b"".join(whole.splitlines(keepends=True)[:4])
        self.write(logs / "a.log.gz", gzip.compress(begin))
        self.check(logs)
        (logs / "a.log.gz").unlink()
        self.write(logs / "a.log", begin)
        self.check(logs)
        self.write(logs / "a.log", whole)
        self.check(logs)

    def test_lines_beside_a_trace_that_tells_nothing(self):
        """The plugin's own lines are left out where its Chrome trace lies beside them, but not for one that was cut at once."""
        logs = self.folder / "logs"
        self.write(logs / "x.jsonl", FIRST.read_bytes().replace(b'"git_rev":"', b'"git_rev":"ncclprof-'))
        self.write(logs / "x.json", b'[\n{"name": "AllRe')
        self.run_program("ingest", "-q", logs)
        self.assertIn("AllReduce", self.contents())

    def test_a_name_that_begins_the_reason(self):
        self.write("1", FIRST.read_bytes()[:3000])
        self.assertIn("ncclprof: 1: 1 piece of it could not be read", self.run_program("ingest", "-q", "1", status=1).err)
