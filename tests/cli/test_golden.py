"""Complete outputs for the bundled fixtures. `make golden` writes them again: read the difference before committing it.

Each folder of fixtures is ingested separately. The output of a command is compared with
tests/golden/COMMAND-FOLDER.FORMAT. All commands run on the two fixtures in FORMS, those in EVERYWHERE on all others; one of
them is written in every format. Values that change from run to run (folders, times, speeds) are masked.
"""

import os
import re
import unittest

from tests.cli.support import TOP, Case, output_formats

GOLDEN = TOP / "tests/golden"
FIXTURES = sorted(path for path in (TOP / "fixtures").iterdir() if path.is_dir()) if (TOP / "fixtures").is_dir() else []

COMMANDS = {
    "info": ["info"],
    "info-runs": ["info", "--runs"],
    "info-communicators": ["info", "--communicators"],
    "info-processes": ["info", "--processes"],
    "info-ledger": ["info", "--ledger"],
    "query": ["query", "SELECT tag, function, count(*) AS instances, sum(members) AS operations, min(size_bytes) AS "
              "size_bytes, sum(expected) AS expected FROM v_instance GROUP BY 1, 2 ORDER BY 1, 2"],
    "report": ["report"],
    "report-by-tag": ["report", "--by-tag"],
    "stragglers": ["stragglers"],
    "stalls": ["stalls"],
    "diagnose": ["diagnose"],
    "steps": ["steps"],
    "steps-map": ["steps", "--map"],
    "diagnose-explain": ["diagnose", "--explain"],
    "clocks": ["clocks"],
    "startup": ["startup"],
    "timeline": ["timeline", "-o", "trace.pftrace"],
    "buffers": ["buffers"],
    "compare": ["compare", "fixtures/tp2dp2pp2-slow-sender", "1"],
    "compare-all": ["compare", "--all", "fixtures/tp2dp2pp2-clean", "1"],
    "export": ["export", "--to", "sqlite", "-o", "export.db"],
    "html": ["html", "-o", "report.html"],
}

# JSON for a healthy job, text for a faulty one.
FORMS = {"tp2dp2pp2-clean": "json", "tp2dp2pp2-slow-rank": "table"}
EVERYWHERE = ("query",)
# One output in every format.
IN_EVERY_FORMAT = ("report", "tp2dp2pp2-slow-rank")
# The columns of a table are as wide as the paths in them, which depend on the folder.
OF_PATHS = ("info-runs",)


def mask(text, folder):
    text = text.replace(str(folder), "FOLDER").replace(str(TOP), "TOP")
    text = re.sub(r"\d+\.\d MB in \d+\.\d s", "N MB in N s", text)
    text = re.sub(r"report.html(: |\", \"bytes\": )[\d.]+", r"report.html\1N", text)
    if '"command": "timeline"' in text:  # its findings have commands with the path of the store
        text = re.sub(r'"bytes": \d+', '"bytes": 0', text)
    return re.sub(r'"seconds": [\d.]+', '"seconds": 0', text)


class Golden(Case):
    def known(self):
        return set(re.findall(r"^  ([a-z]+) ", self.run_program("--help").out, re.M))

    def compare(self, name, text):
        path = GOLDEN / name
        if os.environ.get("NCCLPROF_GOLDEN") == "write":
            GOLDEN.mkdir(exist_ok=True)
            path.write_text(text)
        self.assertTrue(path.exists(), f"{path} is missing: make golden")
        self.assertEqual(text, path.read_text(), f"{path} differs")

    def test_there_are_fixtures(self):
        self.assertTrue(FIXTURES)


def add_test(fixture):
    def test(self):
        known = self.known()
        ingest = self.run_program("ingest", "--format", "csv", fixture, status=None)
        self.compare(f"ingest-{fixture.name}.csv", mask(ingest.out, self.folder))
        form = FORMS.get(fixture.name, "json")
        for name, words in COMMANDS.items():
            if words[0] in known and (fixture.name in FORMS or name in EVERYWHERE):
                words = [str(TOP / word) if word.startswith("fixtures/") else word for word in words]
                shown = "csv" if name in OF_PATHS and form == "table" else form
                for shown in output_formats() if (name, fixture.name) == IN_EVERY_FORMAT else [shown]:
                    result = self.run_program(*words, "--format", shown, env={"LC_ALL": "C"})
                    self.compare(f"{name}-{fixture.name}.{shown}", mask(result.out, self.folder))

    test.__doc__ = f"All commands on fixtures/{fixture.name}."
    setattr(Golden, f"test_{fixture.name}", test)


for _fixture in FIXTURES:
    add_test(_fixture)

if __name__ == "__main__":
    unittest.main()
