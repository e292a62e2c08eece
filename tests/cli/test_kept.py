"""Results that are kept in the store (lib/store/kept.c): they are the same as computed ones, and never old, foreign or damaged."""

import hashlib
import os
import sqlite3
import subprocess
import unittest

from tests.cli.support import PATIENCE_S, PROGRAM, SANITIZED, TOP, Case

ANEW = {"NCCLPROF_KEEP_NOTHING": "1"}
SLOW_RANK = TOP / "fixtures" / "tp2dp2pp2-slow-rank"
QUESTIONS = (
    ("diagnose",),
    ("diagnose", "--format", "json", "--exit-code"),
    ("diagnose", "--all", "--explain", "--rank", "1"),
    ("stragglers", "--format", "json"),
    ("steps",),
    ("steps", "--by", "rank", "--format", "csv"),
    ("steps", "--by", "tag", "--format", "csv"),
    ("steps", "--map", "--value", "waiting"),
    ("stalls", "--format", "json"),
    ("startup", "--format", "csv"),
    ("clocks", "--format", "csv"),
    ("report", "--by", "rank", "--format", "csv"),
    ("query", "--format", "csv", "SELECT * FROM v_finding"),
    ("query", "--format", "csv", "SELECT * FROM v_wait"),
)


def counter(path):
    """How often SQLite wrote the file (https://sqlite.org/fileformat.html, 1.3.6)."""
    return int.from_bytes(path.read_bytes()[24:28], "big")


class Kept(Case):
    def answer(self, *words, **options):
        result = self.run_program("-q", *words, **options)
        return result.stdout, result.stderr

    def outcome(self, words, env):
        result = subprocess.run([PROGRAM, "-q", "--store", self.store, *words], capture_output=True, timeout=PATIENCE_S,
                                env={**os.environ, **env}, check=False)
        return result.returncode, result.stdout, result.stderr

    def kept(self):
        with sqlite3.connect(self.store) as store:
            rows = store.execute("SELECT question, result FROM kept_result ORDER BY question").fetchall()
            state = store.execute("SELECT value FROM fact WHERE name = 'kept_state'").fetchone()
        store.close()
        return dict(rows), state

    def of(self, analysis):
        return {question for question in self.kept()[0] if question.startswith(f"{len(analysis)}:{analysis}\n")}

    def forge(self, change, column="result", state=1, digest=None):
        """Replaces what is kept, as ncclprof writes it: with its digest, and the state that the file has then. Texts keep
        their length, so that results can still be unpacked.
        """
        state += counter(self.store)
        with sqlite3.connect(self.store) as store:
            for question, result in store.execute("SELECT question, result FROM kept_result").fetchall():
                if column == "result":
                    result = change(result)
                    store.execute("UPDATE kept_result SET result = ?, digest = ? WHERE question = ?",
                                  (result, digest or hashlib.sha256(result).digest(), question))
                else:
                    store.execute(f"UPDATE kept_result SET {column} = ? WHERE question = ?", (change, question))
            store.execute("UPDATE fact SET value = ? WHERE name = 'kept_state'", (state,))
        store.close()

    def begin(self):
        """A store that keeps what diagnose found."""
        self.run_program("ingest", SLOW_RANK)
        self.true, _ = self.answer("diagnose")
        self.assertIn(b"GPU of rank 1", self.true)

    def test_same_as_computed(self):
        fixtures = sorted((TOP / "fixtures").iterdir())
        # Under a sanitizer each analysis runs on each fixture, in one of its forms, but kept results are compared for some of
        # them only.
        compared = fixtures[::8] if SANITIZED else fixtures
        forms = {}
        for words in QUESTIONS:
            forms.setdefault(words[-1] if words[0] == "query" else words[0], []).append(words)
        for number, fixture in enumerate(fixtures):
            self.store.unlink(missing_ok=True)
            if not fixture.is_dir() or self.run_program("-q", "ingest", fixture, status=None).returncode or not self.store.exists():
                continue
            for words in QUESTIONS if fixture in compared else [some[number % len(some)] for some in forms.values()]:
                with self.subTest(fixture=fixture.name, words=words):
                    expected = self.outcome(words, ANEW)
                    self.assertNotIn(b"Sanitizer", expected[2])
                    for _ in range(2 if fixture in compared else 0):
                        self.assertEqual(self.outcome(words, {}), expected)

    def test_found_after_diagnose(self):
        self.begin()
        suggested = [line for line in self.true.decode().splitlines() if "steps --by rank --step 4-8" in line]
        self.assertTrue(suggested)
        self.assertEqual([len(self.of(name)) for name in ("diagnose", "stragglers", "steps")], [1, 1, 2])
        questions, state = self.kept()
        for words in (("diagnose",), ("stragglers",), ("stragglers", "--format", "csv", "--rank", "1"), ("steps",),
                      ("steps", "--by", "rank", "--step", "4-8"), ("query", "SELECT kind FROM v_finding")):
            self.answer(*words)
            self.assertEqual(self.kept(), (questions, state))
        self.forge(lambda result: result.replace(b"GPU of rank 1", b"GPU of rank X").replace(b"compute", b"COMPUTE"))
        self.assertIn(b"GPU of rank X", self.answer("diagnose")[0])
        self.assertIn(b"COMPUTE", self.answer("stragglers")[0])
        self.assertIn(b"COMPUTE", self.answer("steps")[0])
        self.assertIn(b"COMPUTE", self.answer("steps", "--by", "rank", "--step", "4-8")[0])
        self.assertIn(b"COMPUTE", self.answer("query", "SELECT kind FROM v_finding")[0])
        self.assertEqual(self.answer("diagnose", env=ANEW)[0], self.true)

    def test_new_after_a_write(self):
        self.begin()
        self.forge(lambda result: result.replace(b"GPU of rank 1", b"GPU of rank X"), state=0)
        self.assertEqual(self.answer("diagnose")[0], self.true)
        self.forge(lambda result: result.replace(b"GPU of rank 1", b"GPU of rank X"))
        with sqlite3.connect(self.store) as store:
            store.execute("INSERT INTO fact VALUES ('of_others', 1)")
        store.close()
        self.assertEqual(self.answer("diagnose")[0], self.true)

    def test_new_after_ingest_and_forget(self):
        files = sorted(path for path in SLOW_RANK.iterdir() if path.name != "TRUTH")
        self.run_program("ingest", *files[:-1])
        before = self.answer("diagnose")[0]
        self.run_program("ingest", files[-1])
        after = self.answer("diagnose")[0]
        self.assertNotEqual(before, after)
        self.assertEqual(after, self.answer("diagnose", env=ANEW)[0])
        self.run_program("ingest", TOP / "fixtures" / "nccl-log-hang")
        both = self.answer("diagnose")[0]
        self.assertEqual(both, self.answer("diagnose", env=ANEW)[0])
        self.run_program("ingest", "--forget", "2")
        self.assertNotEqual(self.answer("diagnose")[0], both)
        self.assertEqual(self.answer("diagnose"), self.answer("diagnose", env=ANEW))

    def test_damaged(self):
        self.begin()
        for name, change, digest in (("another digest", lambda result: result.replace(b"rank 1", b"rank X"), b"x" * 32),
                                     ("cut off", lambda result: result[:-1], None),
                                     ("longer", lambda result: result + b"\0", None),
                                     ("empty", lambda result: b"", None),
                                     ("numbers without an end", lambda result: b"\xff" * len(result), None)):
            with self.subTest(name):
                self.forge(change, digest=digest)
                self.assertEqual(self.answer("diagnose"), (self.true, b""))

    def test_each_byte(self):
        """Whatever is in a result, nothing but an answer comes of it."""
        self.begin()
        size = min(len(result) for question, result in self.kept()[0].items() if question.startswith("10:stragglers"))
        for at in range(0, size, 97):
            self.forge(lambda result, at=at: result[:at] + bytes([result[at] ^ 0x55]) + result[at + 1:] if at < len(result) else result)
            self.run_program("stragglers")
            self.run_program("diagnose", "--format", "json")

    def test_control_characters(self):
        self.begin()
        for hostile in (b"\x1b]0;x\x07 of ", b"GPU \x1b[2J f", b"GPU \xc2\x9b2J f"):
            self.forge(lambda result, to=hostile: result.replace(b"GPU of rank"[:len(to)], to))
            self.assertEqual(self.answer("diagnose")[0], self.true)

    def test_another_build(self):
        self.begin()
        self.forge(lambda result: result.replace(b"GPU of rank 1", b"GPU of rank X"))
        self.forge("0123", column="build")
        self.assertEqual(self.answer("diagnose")[0], self.true)

    def test_another_question(self):
        self.begin()
        self.forge(lambda result: result.replace(b"GPU of rank 1", b"GPU of rank X"))
        for words, env in ((("diagnose", "--sigmas", "7"), {}), (("diagnose", "--memory", "100"), {}), (("diagnose", "--all"), {}),
                           (("diagnose", "--step", "4-8"), {}), (("diagnose",), {"NCCLPROF_RULES_OFF": "worth-sure"})):
            with self.subTest(words=words):
                self.assertNotIn(b"GPU of rank X", self.answer(*words, env=env)[0])

    def test_a_store_that_is_being_written(self):
        self.run_program("ingest", SLOW_RANK)
        expected = self.answer("diagnose", env=ANEW)
        other = sqlite3.connect(self.store, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        self.assertEqual(self.answer("diagnose"), expected)
        other.execute("ROLLBACK")
        other.close()
        self.assertEqual(self.of("diagnose"), set())

    def test_a_store_with_a_write_ahead_log(self):
        self.run_program("ingest", SLOW_RANK)
        with sqlite3.connect(self.store) as store:
            store.execute("PRAGMA journal_mode = WAL")
        store.close()
        self.assertEqual(self.answer("diagnose"), self.answer("diagnose", env=ANEW))
        self.assertEqual(self.of("diagnose"), set())

    def test_not_in_a_copy_without_names(self):
        self.begin()
        self.forge(lambda result: result.replace(b"compute", b"COMPUTE"))
        self.run_program("export", "--anonymize", "--to", "csv", "-o", "tables")
        self.assertIn(b"compute", (self.folder / "tables" / "v_finding.csv").read_bytes())
        self.run_program("export", "--to", "csv", "-o", "tables")
        self.assertIn(b"COMPUTE", (self.folder / "tables" / "v_finding.csv").read_bytes())

    def test_bounded(self):
        self.begin()
        for sigmas in range(10, 40):
            self.answer("diagnose", "--sigmas", sigmas)
        self.assertLess(sum(len(result) for result in self.kept()[0].values()), 1 << 20)


if __name__ == "__main__":
    unittest.main()
