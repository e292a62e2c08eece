"""Copies and leftovers next to the traces: the findings are those of the traces alone, and a note reports the copies."""

import gzip
import json
import subprocess
import zlib

from tests.cli.support import PATIENCE_S, PROGRAM, TOP, Case, interrupt

SLOW = TOP / "fixtures/tp2dp2pp2-slow-rank"


class Copies(Case):
    def setUp(self):
        super().setUp()
        self.traces = {path.name.removesuffix(".gz"): gzip.decompress(path.read_bytes()) for path in SLOW.glob("*.json.gz")}
        for name, content in self.traces.items():
            self.write(f"traces/{name}", content)
        self.alone = self.diagnosis()
        self.assertEqual([(finding["kind"], finding["rank"], finding["first_step"], finding["last_step"], finding["confidence"])
                          for finding in self.alone["findings"]], [("compute", 1, 4, 8, "high")])
        self.assertEqual(self.alone["warnings"], [])

    def diagnosis(self):
        self.store.unlink(missing_ok=True)
        self.run_program("ingest", "-q", "traces")
        report = self.json("diagnose")
        for finding in report["findings"]:
            self.assertIn("/traces/", finding["at"].pop("file"))  # any one of several identical files
        return report

    def check(self, beside):
        """`beside`: {name: content}, each a copy of a trace or of its beginning."""
        for name, content in beside.items():
            self.write(f"traces/{name}", content)
        found = self.diagnosis()
        count = len(beside)
        self.assertEqual(found.pop("warnings"),
                         [f"{count} file{'s' if count > 1 else ''} duplicate{'' if count > 1 else 's'} another file or its "
                          "beginning; the longest file is used"])
        self.assertEqual(found, {key: value for key, value in self.alone.items() if key != "warnings"})
        noted = self.rows("SELECT sum(count) FROM v_ledger WHERE reason = 'another file is a copy of this one, or of its beginning'")
        self.assertEqual(noted, [(count,)])
        self.assertEqual(self.info()["processes"], 8)
        for name in beside:
            (self.folder / "traces" / name).unlink()

    def test_a_backup(self):
        self.check({f"backup/{name}": content for name, content in self.traces.items()})

    def test_files_copied_half(self):
        """Independent of the position of the copy in the order of names, and of where it was truncated."""
        for folder in ("aaa", "zzz"):
            self.check({f"{folder}/{name}": content[:len(content) // 2] for name, content in self.traces.items()})
        first = max(self.traces, key=lambda name: len(self.traces[name]))
        lines = self.traces[first].splitlines(keepends=True)
        self.check({"part.json": b"".join(lines[:len(lines) // 3])})
        self.check({"part.json": b"".join(lines[:len(lines) // 3])[:-1]})

    def test_older_states_of_each_other(self):
        """Each file is the beginning of the next one."""
        name = max(self.traces, key=lambda name: len(self.traces[name]))
        content = self.traces[name]
        self.check({f"old/{name}.{part}": content[:len(content) * part // 5] for part in range(2, 5)})

    def test_packed_beside_plain(self):
        self.check({f"{name}.gz": gzip.compress(content) for name, content in self.traces.items()})
        name = max(self.traces, key=lambda name: len(self.traces[name]))
        packed = gzip.compress(self.traces[name])
        self.check({f"{name}.gz": packed[:len(packed) * 2 // 3]})

    def test_other_names(self):
        self.check({f"copy-{number}.json": content for number, content in enumerate(self.traces.values())})

    def test_the_fuller_one_may_lie_deeper(self):
        """A truncated trace has the original name, and the complete one is in a folder below."""
        name = max(self.traces, key=lambda name: len(self.traces[name]))
        whole = self.traces[name]
        self.write(f"traces/{name}", whole[:len(whole) // 2])
        self.write(f"traces/backup/{name}", whole)
        found = self.diagnosis()
        self.assertEqual([(finding["kind"], finding["rank"], finding["first_step"], finding["last_step"])
                          for finding in found["findings"]], [("compute", 1, 4, 8)])
        self.assertEqual(found["coverage"][0]["damaged_lines"], 0)

    def test_two_jobs_in_one_folder_stay_two(self):
        other = TOP / "fixtures/tp2dp2pp2-clean"
        for path in other.glob("*.json.gz"):
            self.write(f"traces/other/{path.name}", path.read_bytes())
        found = self.diagnosis()
        self.assertEqual([row["run"] for row in found["coverage"]], [1, 2])
        self.assertEqual(found["warnings"], [])
        self.assertEqual([(finding["rank"], finding["first_step"]) for finding in found["findings"] if finding["confidence"] != "low"],
                         [(1, 4)])

    def packed(self, name, megabytes, end=b""):
        """A trace followed by some MiB of blanks, compressed to a thousandth, with a wrong checksum."""
        packer = zlib.compressobj(wbits=31)
        begin = packer.compress(self.traces[max(self.traces)]) + packer.flush(zlib.Z_FULL_FLUSH)
        block = packer.compress((b" " * 1023 + b"\n") * 1024) + packer.flush(zlib.Z_FULL_FLUSH)
        self.write(name, begin + block * megabytes + packer.compress(end) + packer.flush())

    def test_no_more_is_compared_than_would_be_read(self):
        """If the limit for unpacking is reached before two files differ, they count as identical."""
        for number in range(2):
            self.packed(f"great/{number}.gz", 40, b" \t"[number:number + 1] + b"\n")
        count = "SELECT coalesce(sum(count), 0) FROM v_ledger WHERE reason LIKE 'another file is a copy of this one%'"
        for ratio, copies in (("0", 0), ("10", 1)):
            self.store.unlink()
            self.run_program("ingest", "-q", "--max-ratio", ratio, "great", status=1)
            self.assertEqual(self.rows(count), [(copies,)], ratio)

    def test_looking_for_copies_can_be_left(self):
        for number in range(2):
            self.packed(f"great/{number}.gz", 8000)
        process = subprocess.Popen([PROGRAM, "--store", self.store, "ingest", "--max-ratio", "0", "great"], cwd=self.folder,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        interrupt(process, 0.5)
        _, errors = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 130, errors)
        self.assertIn("interrupted", errors)

    def test_what_is_left_out_is_told(self):
        name = max(self.traces, key=lambda name: len(self.traces[name]))
        self.write("traces/part.json", self.traces[name][:len(self.traces[name]) // 2])
        self.store.unlink()
        told = self.run_program("ingest", "traces")
        self.assertIn("1 file skipped: identical to the beginning of another file\n", told.err)
        files = {file["path"] for file in json.loads(self.run_program("ingest", "traces", "--format", "json").out)["files"]}
        self.assertFalse(any(path.endswith("part.json") for path in files))
