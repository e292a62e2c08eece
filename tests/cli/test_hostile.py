"""Hostile input: nothing is executed, nothing crashes, everything is counted."""

import gzip
import os
import random
import re
import resource
import subprocess
import threading

from tests.cli.support import PATIENCE_S, PROGRAM, SANITIZED, TOP, Case, all_reduce, inspector_trace, output_formats, tag, trace

DRESSED = "\033[2J\033]0;owned\007"
WORST = "\x1b[2J\x1b]0;owned\x07\u202e\u009b31m\x7f\rroot# '; DROP TABLE file;--"


class Hostile(Case):
    def test_escapes_in_tags_never_reach_the_terminal(self):
        self.write("a.json", trace(tags=[(DRESSED, 10.0)]))
        self.run_program("ingest", "a.json")
        self.assertEqual(self.rows("SELECT DISTINCT tag = char(27) || '[2J' || char(27) || ']0;owned' || char(7) "
                                   "FROM v_operation"), [(1,)])
        for words in (["query", "SELECT tag FROM v_operation"], ["query", "--format", "csv", "SELECT text FROM tag_mark"],
                      ["query", "--format", "json", "SELECT text FROM tag_mark"]):
            self.assertNotIn("\033", self.run_program(*words).out)

    def test_escapes_reach_no_output(self):
        """A job with a fault, and with hostile tags and file names: every command in every format."""
        for path in sorted((TOP / "fixtures/tp2dp2pp2-slow-rank").glob("dump*")):
            text = gzip.decompress(path.read_bytes()).decode()
            text = re.sub('("tag": "[^"]*)"', lambda match: match.group(1) + WORST + '"', text)
            self.write(f"traces/{path.name}-{WORST}\n.json", text)
        for form in output_formats():
            self.store.unlink(missing_ok=True)
            self.check_harmless("ingest", "traces", "--format", form)
        self.assertIn("root#", self.run_program("diagnose").out)
        for words in (["info"], ["info", "--files"], ["info", "--ledger"], ["info", "--communicators"],
                      ["info", "--processes"], ["report"], ["report", "--by-tag"],
                      ["report", "--by", "tag,function,communicator,size,algorithm,protocol,rank,step,run"],
                      ["stragglers"], ["stalls"], ["stalls", "--matrix"], ["stalls", "--states"], ["diagnose", "--all"],
                      ["steps", "--map"], ["steps", "--svg"], ["clocks"], ["query", "SELECT * FROM tag_mark"], ["query", "SELECT * FROM v_instance LIMIT 9"]):
            for form in output_formats():
                self.check_harmless(*words, "--format", form)

    def check_harmless(self, *words):
        result = self.run_program(*words)
        self.assertNotRegex(result.out + result.err, "[\0-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]", words)

    def test_sql_in_tags_is_text(self):
        self.write("a.json", trace(tags=[("'); DROP TABLE file;--", 10.0)]))
        self.run_program("ingest", "a.json")
        self.assertEqual(self.rows("SELECT text FROM tag_mark"), [("'); DROP TABLE file;--",)])
        self.assertEqual(self.info()["files"], 1)

    def test_quotes_in_tags_are_kept(self):
        """NVIDIA's plugin does not escape the tag: a quote in it makes the line invalid JSON."""
        self.write("a.json", trace(tags=[('say "hi" \\ there', 10.0)]))
        self.ingest("a.json")
        self.assertEqual(self.rows("SELECT text FROM tag_mark"), [('say "hi" \\ there',)])

    def test_file_names_of_any_bytes(self):
        name = b"odd\n\x1b[31mname\xff.json"
        self.write(name, trace(count=3)[:-40])
        result = self.run_program("ingest", os.fsdecode(name), status=1)
        self.assertNotIn("\033", result.out + result.err)
        self.assertEqual(result.err.count("\n"), 1)
        self.assertIn("\\x0a", result.err)
        self.json("info", "--files")
        self.assertNotIn("\033", self.run_program("info", "--files").out)

    def test_escapes_in_wrong_usage(self):
        self.assertNotIn("\033", self.run_program(DRESSED, status=2).err)
        self.assertNotIn("\033", self.run_program("info", "--" + DRESSED, status=2).err)
        self.assertNotIn("\033", self.run_program("--store", DRESSED, "info", status=1).err)

    def test_odd_numbers(self):
        lines = [
            all_reduce(0, 0, 7, 2**64 - 1, 1000.0),
            all_reduce(1, 0, 7, 10**30, 2000.0),
            all_reduce(2, 0, 7, -1, 3000.0),
            all_reduce(3, 0, 7, 5, -4000.0),
            all_reduce(4, -7, 7, 5, 5000.0),
            all_reduce(5, 2**70, 7, 5, 6000.0),
            all_reduce(6, 0, 7, 5, 1e300),
            all_reduce(7, 0, 7, 5, 7000.0).replace("7000.000000", "NaN"),
            all_reduce(10**25, 0, 7, 5, 8000.0),
            all_reduce(8, 0, 7, 5, 9000.0).replace('"SeqNum": 8', '"SeqNum": 8, "SeqNum": 9'),
        ]
        self.write("a.json", "[\n" + "".join(lines) + "{}]\n")
        self.assertIn("number out of range", self.run_program("ingest", "a.json", status=1).err)
        self.assertEqual(self.rows("SELECT count(*) FROM v_operation WHERE communicator_hash = '18446744073709551615'"),
                         [(1,)])
        # One line each for the hash, the rank and the NaN; five lines with the late time; four lines with the ID.
        self.assertEqual(self.rows("SELECT damage, count FROM v_ledger WHERE reason = 'number out of range'"), [(1, 12)])

    def test_odd_numbers_of_inspector(self):
        path = sorted((TOP / "fixtures/inspector-2.30").glob("*.log"))[0]
        lines = [line for line in path.read_text().splitlines() if '"coll_perf"' in line][:3]
        lines[1] = re.sub('"coll_msg_size_bytes": ?[0-9]+', '"coll_msg_size_bytes": 99999999999999999999', lines[1])
        lines[2] = re.sub('"coll_algobw_gbs": ?[0-9.]+', '"coll_algobw_gbs": inf', lines[2])
        self.write("a.log", "\n".join(lines) + "\n")
        self.run_program("ingest", "a.log", status=1)
        self.assertEqual(self.rows("SELECT reason, damage, count FROM v_ledger"), [("number out of range", 1, 1)])
        self.assertEqual(self.info()["collectives"], 3)

    def test_hashes_that_cannot_be_read(self):
        """Two communicators become one without a hash, and the ledger reports it."""
        path = sorted((TOP / "fixtures/inspector-2.30").glob("*.log"))[0]
        lines = [line for line in path.read_text().splitlines() if '"coll_perf"' in line][:3]
        lines[1] = re.sub('"id": ?"[^"]*"', '"id":"0x1234567890abcdef0"', lines[1])
        lines[2] = re.sub('"id": ?"[^"]*"', '"id":"communicator 2"', lines[2])
        self.write("a.log", "\n".join(lines) + "\n")
        self.assertIn("unreadable value", self.run_program("ingest", "a.log", status=1).err)
        self.assertEqual(self.rows("SELECT reason, damage, count, first_offset FROM v_ledger"),
                         [("unreadable value", 1, 2, len(lines[0]) + 1)])
        self.assertEqual(self.info()["collectives"], 3)

    def test_ranks_beyond_counting(self):
        """Ranks that a trace claims are kept unless they are negative; they cost no memory, and do no harm to any job,
        including their own.
        """
        claims = [(2**20, 0), (2**31 - 2, 0), (2**31 - 1, 0), (2**63 - 1, 0), (-(2**63), 0), (1, 1000), (1, 5000), (1, 2**20), (1, 2**31 - 1),
                  (1, 2**62), (1, 2**63 - 1), (1, -9), (2**62, 2**62)]
        for number, (rank, size) in enumerate(claims):
            for own in (0, rank):
                text = inspector_trace(own, communicator=0x1000 + number, count=40).replace('"n_ranks":0', f'"n_ranks":{size}')
                self.write(f"traces/{number}-{own}.log", re.sub('"pid":[0-9]+', f'"pid":{2 * number + bool(own)}', text))
                self.write(f"traces/{number}-{own}.json", trace(own, pid=100 + 2 * number + bool(own), communicator=900 + number))
        for rank in range(2):
            self.write(f"traces/good-{rank}.json", trace(rank, pid=1000 + rank, communicator=5, count=7))
        self.run_bounded("ingest", "traces", status=1)
        self.assertEqual([(os.path.basename(path), reason) for path, reason in self.rows("SELECT path, reason FROM v_ledger ORDER BY path")],
                         [(name, "unreadable value")
                          for name in ("11-0.log", "11-1.log", f"4-{-(2**63)}.json", f"4-{-(2**63)}.log")])
        for words in (["info", "--communicators"], ["report", "--by", "rank,communicator"], ["stragglers"], ["stalls"], ["clocks"],
                      ["stalls", "--matrix"], ["diagnose", "--all"]):
            self.run_bounded(*words, status=0)
        self.assertEqual(self.rows("SELECT min(rank), max(rank) FROM member"), [(-1, 2**63 - 1)])
        self.assertEqual(self.rows("SELECT count(*), sum(members = 2) FROM v_instance JOIN communicator USING (communicator_id) "
                                   "WHERE hash = 5"), [(7, 7)])
        # Ranks without records are named if they are few: here there are 1000.
        self.assertEqual(self.rows("SELECT count(*) FROM job_rank WHERE process_id IS NULL"), [(1000 - 2,)])

    def test_deep_nesting(self):
        self.write("deep.json", "[\n" + "[" * 100000 + "\n" + all_reduce(0, 0, 7, 5, 1.0) + "{}]\n")
        self.write("deeper.json", "[" * 5000000)
        self.write("a.json", trace())
        self.run_program("ingest", "deep.json", "deeper.json", "a.json", status=1)
        self.assertGreaterEqual(self.info()["collectives"], 5)

    def test_nul_and_invalid_utf8(self):
        content = trace(count=4).encode()
        at = content.index(b'"id": 2')
        self.write("a.json", content[:at] + b"\0\xff\xfe" + content[at:])
        self.run_program("ingest", "a.json", status=1)
        self.assertGreaterEqual(self.info()["collectives"], 3)

    def test_a_long_line_takes_bounded_memory(self):
        path = self.write("long.json", trace()[:-4])
        with open(path, "ab") as file:
            file.write(b'{"name": "')
            for _ in range(300):
                file.write(b"x" * (1 << 20))
            file.write(b'"},\n' + all_reduce(9, 0, 1000, 12481426919102447117, 50000.0).encode() + b"{}]\n")
        self.run_bounded("ingest", "long.json", status=1)
        self.assertEqual(self.info()["collectives"], 6)

    def test_a_gzip_bomb_is_stopped(self):
        self.write("bomb.gz", gzip.compress(trace()[:-4].encode() + b" " * (300 << 20), 9))
        self.run_bounded("ingest", "bomb.gz", status=1)
        self.assertEqual(self.info()["collectives"], 5)
        self.assertEqual(self.info()["partial_files"], 1)
        self.store.unlink()
        self.run_bounded("ingest", "--max-ratio", "0", "--max-unpacked", "20", "bomb.gz", status=1)
        self.assertEqual(self.info()["collectives"], 5)

    def run_bounded(self, *words, status):
        """With at most 256 MiB of address space; sanitizers need more and check memory themselves."""

        def limit():
            if not SANITIZED:
                resource.setrlimit(resource.RLIMIT_AS, (256 << 20, 256 << 20))

        result = subprocess.run([PROGRAM, "--store", self.store, *words], cwd=self.folder, capture_output=True, text=True,
                                timeout=PATIENCE_S, preexec_fn=limit)
        self.assertEqual(result.returncode, status, result.stderr)

    def test_devices_and_pipes(self):
        os.mkfifo(self.folder / "fifo")
        self.write("a.json", trace())
        self.assertEqual(self.json("ingest", ".")["totals"]["ingested"], 1)
        self.run_program("ingest", "/dev/zero", status=1)
        self.run_program("ingest", "/dev/null", status=1)

    def test_a_pipe_named_is_read(self):
        os.mkfifo(self.folder / "fifo")
        content = trace(count=300)
        feeder = threading.Thread(target=lambda: (self.folder / "fifo").write_text(content))
        feeder.start()
        self.assertEqual(self.ingest("fifo")["fifo"]["status"], "ingested")
        feeder.join()
        self.assertEqual(self.info()["collectives"], 300)

    def test_links_in_circles(self):
        self.write("traces/a.json", trace())
        os.symlink(".", self.folder / "traces/loop")
        os.symlink("../traces", self.folder / "traces/again")
        os.symlink("nowhere", self.folder / "traces/dangling")
        os.symlink("a.json", self.folder / "traces/b.json")
        self.assertEqual(self.json("ingest", "traces")["totals"]["ingested"], 1)
        self.assertEqual(self.info()["collectives"], 5)

    def test_cut_anywhere(self):
        """Wherever a file is truncated, every complete operation is stored."""
        content = trace(count=20, tags=[("forward", 10.0), ("backward", 9000.0)]).encode()
        ends = [at for at in range(len(content)) if content.startswith(b'"cat": "COLL_API", "ph": "e"', at)]
        chance = random.Random(1)
        for at in sorted(chance.sample(range(2, len(content)), 25)):
            with self.subTest(at=at):
                self.store.unlink(missing_ok=True)
                self.write("a.json", content[:at])
                self.run_program("ingest", "a.json", status=1)
                line_ends = [content.index(b"\n", end) for end in ends]
                whole = sum(end < at for end in line_ends)
                begun = content[:at].count(b'"cat": "COLL", "ph": "b"')
                if whole == 0 and not self.rows_or_nothing():
                    continue
                self.assertIn(self.info()["collectives"], range(whole, begun + 1))

    def rows_or_nothing(self):
        result = subprocess.run([PROGRAM, "--store", self.store, "query", "--format", "csv", "SELECT count(*) FROM file"],
                                capture_output=True, text=True)
        return result.returncode == 0 and result.stdout.split() == ["count(*)", "1"]

    def test_flipped_bytes(self):
        content = trace(count=20, tags=[("forward", 10.0)]).encode()
        chance = random.Random(2)
        for number in range(25):
            damaged = bytearray(content)
            for _ in range(chance.randint(1, 30)):
                damaged[chance.randrange(len(damaged))] = chance.randrange(256)
            self.write(f"traces/{number}.json", bytes(damaged))
        self.run_program("ingest", "traces", status=None)
        self.check_integrity()
