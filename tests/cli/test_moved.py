"""Files whose name or content changes between one ingest and the next."""

import gzip
import os
import re
import subprocess

from tests.cli.support import PROGRAM, TOP, Case, inspector_trace, trace

FIRST, SECOND = sorted((TOP / "fixtures/inspector-2.30").glob("*.log"))[:2]


class Moved(Case):
    def contents(self):
        """The number of operations of each function, and the number of their ranks."""
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
        """a.log was renamed to a.log.1; whichever of the two is read first, neither is lost."""
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

    def write_job(self, folder, communicator):
        for rank in range(2):
            self.write(f"{folder}/rank{rank}.json", trace(rank=rank, communicator=communicator))

    def check_two_jobs(self):
        """One file for each of two ranks with the same process ID."""
        self.assertEqual((self.info()["processes"], self.info()["runs"]), (4, 2))

    def test_a_job_that_made_room_for_another(self):
        """Without a host the directory identifies the job, and now it contains another one; in any order."""
        for away in ("a", "z"):
            with self.subTest(away=away):
                self.store.unlink(missing_ok=True)
                top = self.folder / f"top-{away}"
                self.write_job(top / "m", 5)
                self.run_program("ingest", "-q", top)
                os.rename(top / "m", top / away)
                self.write_job(top / "m", 6)
                self.check(top)
                self.check_two_jobs()
                again = self.json("ingest", top)["totals"]
                self.assertEqual(again["unchanged"], 4)

    def test_a_job_that_made_room_for_a_smaller_one(self):
        """Nothing was written at the path of its second file."""
        self.write_job("top/m", 5)
        self.run_program("ingest", "-q", "top")
        os.rename(self.folder / "top/m", self.folder / "top/away")
        self.write("top/m/rank0.json", trace(rank=0, communicator=6))
        self.run_program("ingest", "-q", "top")
        self.assertEqual((self.info()["processes"], self.info()["runs"]), (3, 2))

    def test_copies_in_two_directories(self):
        """No file was renamed: the first content stays, compressed or not, whichever is given."""
        self.write_job("one", 5)
        for rank in range(2):
            text = trace(rank=rank, communicator=5).encode()
            self.write(f"two/rank{rank}.json", text)
            self.write(f"three/rank{rank}.json.gz", gzip.compress(text))
        self.run_program("ingest", "-q", "one")
        before = self.rows("SELECT path FROM file ORDER BY path")
        for given in (("two",), ("three",), ("three", "two", "one")):
            totals = self.json("ingest", *given)["totals"]
            self.assertEqual(totals["unchanged"], totals["files"])
            self.assertEqual(self.rows("SELECT path FROM file ORDER BY path"), before)

    def test_a_move_to_two_directories(self):
        self.write_job("one", 5)
        self.run_program("ingest", "-q", "one")
        os.rename(self.folder / "one", self.folder / "two")
        self.write_job("three", 5)
        statuses = [file["status"] for file in self.json("ingest", "two", "three")["files"]]
        self.assertEqual(statuses.count("ingested"), 2)
        self.assertEqual((self.info()["processes"], self.info()["collectives"]), (2, 10))

    def test_jobs_that_come_through_pipes(self):
        """The two files of one ingest belong to one job, those of the next do not; known files are recognized."""
        for communicator in (5, 6):
            for rank in range(2):
                self.write(f"{communicator}-{rank}.json", trace(rank=rank, communicator=communicator))
        for times in range(2):
            for communicator in (5, 6):
                words = f"'{PROGRAM}' ingest <(cat {communicator}-0.json) <(cat {communicator}-1.json)"
                said = subprocess.run(["bash", "-c", words], cwd=self.folder, env={**os.environ, "NCCLPROF_STORE": str(self.store)},
                                      check=True, capture_output=True).stdout
                self.assertIn(b"2 files unchanged" if times else b"2 files ingested", said)
        self.check_two_jobs()

    def test_a_job_of_several_communicators_through_pipes(self):
        for communicator in (5, 6):
            self.write(f"{communicator}.json", trace(pid=7, communicator=communicator))
        subprocess.run(["bash", "-c", f"'{PROGRAM}' ingest -q <(cat 5.json) <(cat 6.json)"], cwd=self.folder,
                       env={**os.environ, "NCCLPROF_STORE": str(self.store)}, check=True, capture_output=True)
        self.assertEqual((self.info()["processes"], self.info()["runs"]), (1, 1))

    def check_repeated(self, count, doubles=0):
        """Operations with contradictory records cause a warning in all analyses that count them; duplicates are dropped."""
        for command in ("report", "stragglers", "diagnose"):
            warnings = " ".join(self.json(command)["warnings"])
            if count:
                self.assertIn(f"{count} collectives have the same sequence number in several Inspector logs", warnings)
            else:
                self.assertNotIn("in several Inspector logs", warnings)
        left_out = self.rows("SELECT coalesce(sum(count), 0) FROM v_ledger WHERE reason = 'duplicate operation'")
        self.assertEqual(left_out, [(doubles,)])

    def test_an_earlier_state_of_a_log_beside_it(self):
        whole = inspector_trace(count=9)
        lines = whole.splitlines(keepends=True)
        self.write("logs/a.log", whole)
        self.write("other/a.log", inspector_trace(rank=1, count=9))
        self.ingest("logs", "other")
        self.check_repeated(0)
        self.write("logs/a.log.old", whole[:len(lines[0]) * 5 + 9])
        before = self.contents()
        self.ingest("logs")
        self.check_repeated(0, doubles=5)
        self.assertEqual(self.contents(), before)
        (self.folder / "logs/a.log").unlink()
        os.rename(self.folder / "logs/a.log.old", self.folder / "logs/a.log")
        self.ingest("--force", "logs")  # only the dropped records remain
        self.check_repeated(0)
        self.assertEqual(self.rows("SELECT count(*) FROM operation"), [(5 + 9,)])

    def test_a_log_of_a_process_that_was_started_anew(self):
        """It counts from the beginning again, with the same ID: these are no duplicates."""
        lines = inspector_trace(count=9)
        self.write("logs/a.log", lines)
        self.write("logs/b.log", re.sub(r'"coll_exec_time_us":(\d+)', lambda found: f'"coll_exec_time_us":{int(found[1]) + 7}', lines))
        self.ingest("logs")
        self.check_repeated(9)
        self.assertEqual(self.rows("SELECT count(*) FROM operation"), [(18,)])

    def test_a_log_in_pieces(self):
        """In any order; and a CUDA graph that is replayed is no duplicate."""
        lines = inspector_trace(count=9).splitlines(keepends=True)
        self.write("logs/a.log", "".join(lines[5:]))
        self.write("logs/b.log", "".join(lines[:5]))
        for name in ("a.json", "b.json"):
            self.write(f"traces/{name}", trace(tags=[(name, 1.0)]))
        self.ingest("logs", "traces")
        self.check_repeated(0)

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
        """The plugin's Inspector lines are skipped if its Chrome trace is in the same folder, but not if that was truncated
        at the beginning.
        """
        logs = self.folder / "logs"
        self.write(logs / "x.jsonl", FIRST.read_bytes().replace(b'"git_rev":"', b'"git_rev":"ncclprof-'))
        self.write(logs / "x.json", b'[\n{"name": "AllRe')
        self.run_program("ingest", "-q", logs)
        self.assertIn("AllReduce", self.contents())

    def test_a_name_that_begins_the_reason(self):
        self.write("1", b"damaged\n" + FIRST.read_bytes()[:3000])
        self.assertIn("ncclprof: 1: damaged: 1 part skipped", self.run_program("ingest", "-q", "1", status=1).err)
