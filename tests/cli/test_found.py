"""Inputs that fuzzing found, and that are handled correctly now."""

import os

from tests.cli.support import TOP, Case, output_formats

COMMANDS = [["info"], ["report"], ["report", "--by-tag"], ["stragglers"], ["stalls"], ["diagnose", "--all"], ["steps"], ["steps", "--by", "tag"], ["steps", "--by", "rank"], ["steps", "--map"], ["steps", "--svg"], ["buffers"], ["clocks"], ["startup"], ["compare", "1", "1"],
            ["export", "--to", "sqlite", "-o", "o.db"], ["export", "--to", "csv", "-o", "o"], ["export", "--to", "parquet", "-o", "o"], ["export", "--to", "prometheus", "-o", "o.prom"],
            ["timeline", "--proxy", "-o", "/dev/null"],
            ["html", "-o", "report.html"]]


class Found(Case):
    def test_whole(self):
        """A trace file, with its name in the first line, through ingest and each analysis."""
        files = sorted((TOP / "tests/fuzz/found/whole").iterdir())
        self.assertTrue(files)
        for path in files:
            with self.subTest(path=path.name):
                self.store.unlink(missing_ok=True)
                name, content = path.read_bytes().split(b"\n", 1)
                self.write(name, content)
                self.run_program("ingest", os.fsdecode(name), status=None)
                for words in COMMANDS:
                    for form in output_formats():
                        # Some have nothing to draw.
                        result = self.run_program(*words, "--format", form, status=None if words[0] == "timeline" else 0)
                        self.assertNotIn("runtime error", result.err)
