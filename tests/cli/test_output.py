"""JSON outputs against schemas/output, and the formats against each other."""

import copy
import csv
import io
import json
import re

from tests.cli import schema
from tests.cli.support import TOP, Case

FIXTURES = ("tp2dp2pp2-clean", "tp2dp2pp2-slow-rank", "tp2dp2pp2-slow-sender", "tp2dp2pp2-hang", "tp2dp2pp2-kill",
            "fsdp-clean", "inspector-2.28", "inspector-2.30", "inspector-pr2045", "dialect-2.23.4", "damaged", "registered-memory",
            "v1-states-partial", "v1-states-documentation")
EVERY_KEY = "tag,function,communicator,size,algorithm,protocol,rank,step,run,registered"
COMMANDS = {
    "report": (["report"], ["report", "--by-tag"], ["report", "--by", EVERY_KEY]),
    "stragglers": (["stragglers"],),
    "stalls": (["stalls"],),
    "clocks": (["clocks"],),
    "html": (["html", "-o", "report.html"],),
    "startup": (["startup"],),
    "compare": (["compare", "1", "1"],),
    "export": (["export", "--to", "sqlite", "-o", "o.db"], ["export", "--to", "csv", "-o", "o"], ["export", "--to", "parquet", "-o", "o"],
               ["export", "--to", "prometheus", "-o", "o.prom"]),
    "timeline": (["timeline", "-o", "trace.pftrace"],),
    "steps": (["steps"], ["steps", "--by", "tag"], ["steps", "--by", "rank"], ["steps", "--map"]),
    "buffers": (["buffers"], ["buffers", "--by", "communicator,tag,function,size,rank,step,run"]),
    "diagnose": (["diagnose"], ["diagnose", "--all"]),
    "info": (["info"], ["info", "--runs"], ["info", "--communicators"], ["info", "--processes"], ["info", "--ledger"], ["info", "--files"], ["info", "--warnings"], ["info", "--shards"]),
    "query": (["query", "SELECT 1 AS a, 'x' AS b, NULL AS c"],),
}


def schema_of(command):
    name = f"{command}.schema.json"
    return schema.load(name if (schema.FOLDER / name).exists() else "table.schema.json")


class Output(Case):
    def known(self, command):
        return re.search(rf"^  {command} ", self.run_program("--help").out, re.M)

    def check(self, answer, said):
        self.assertEqual(list(schema.complaints(answer, said)), [])

    def test_every_output_fits_its_schema(self):
        for fixture in FIXTURES:
            self.store.unlink(missing_ok=True)
            ingest = self.json("ingest", TOP / "fixtures" / fixture, status=None)
            self.check(ingest, schema_of("ingest"))
            self.assertEqual(list(schema.unknown_members(ingest, schema_of("ingest"))), [])
            for command, forms in COMMANDS.items():
                for words in forms if self.known(command) else ():
                    with self.subTest(fixture=fixture, words=words):
                        if command == "timeline" and self.run_program(*words, status=None).returncode:
                            continue  # nothing to draw
                        answer = self.json(*words)
                        self.check(answer, schema_of(command))
                        self.assertEqual(answer["command"], command)

    def test_schemas_describe_every_member(self):
        self.run_program("ingest", TOP / "fixtures/tp2dp2pp2-slow-sender")
        for command in COMMANDS:
            if not self.known(command) or not (schema.FOLDER / f"{command}.schema.json").exists():
                continue
            for words in COMMANDS[command]:
                answer = self.json(*words)
                self.assertEqual(list(schema.unknown_members(answer, schema_of(command))), [], words)

    def test_columns_describe_the_rows(self):
        self.run_program("ingest", TOP / "fixtures/tp2dp2pp2-slow-rank")
        for command, forms in COMMANDS.items():
            for words in forms if self.known(command) and command != "diagnose" else ():
                answer = self.json(*words)
                for row in answer["rows"]:
                    self.assertEqual(list(row), [column["name"] for column in answer["columns"]], words)
                for column in answer["columns"] if command != "query" else ():
                    self.assertTrue(column["description"], column)
                    for ending, unit in (("_us", "us"), ("_bytes", "bytes")):
                        if re.search(rf"{ending}(_p\d+|_max)?$", column["name"]):
                            self.assertEqual(column["unit"], unit, column)

    def test_markdown_has_the_rows_of_json(self):
        """Each table has a row of the same number of cells for each row of JSON; text for people is one code block."""
        self.run_program("ingest", TOP / "fixtures/tp2dp2pp2-slow-sender")
        tables = 0
        for command, forms in COMMANDS.items():
            for words in forms if self.known(command) and command not in ("ingest", "merge") else ():
                shown = self.run_program(*words, "--format", "markdown").out
                with self.subTest(words=words):
                    if shown.startswith("```"):
                        self.assertEqual(re.findall("^```.*$", shown, re.M), ["```text", "```"])
                        continue
                    table, _, after = shown.partition("\n\n")
                    head, rule, *lines = table.strip().splitlines()
                    cells = len(re.findall(r"(?<!\\)\|", head)) - 1
                    self.assertRegex(rule, r"^(\| -+:? )+\|$")
                    for line in (rule, *lines):
                        self.assertEqual(len(re.findall(r"(?<!\\)\|", line)) - 1, cells, line)
                    self.assertEqual(len(lines), len(self.json(*words)["rows"]))
                    self.assertEqual(after == "" or after.startswith("Warning: "), True)
                    tables += 1
        self.assertGreater(tables, 10)
        self.assertIn("compute (high confidence)", self.run_program("diagnose", TOP / "fixtures/tp2dp2pp2-slow-rank", "--format", "markdown").out)

    def test_csv_says_the_same_as_json(self):
        self.run_program("ingest", TOP / "fixtures/tp2dp2pp2-slow-sender")
        for words in (["report", "--by", EVERY_KEY], ["stragglers"], ["clocks"], ["diagnose"]):
            answer = self.json(*words)
            rows = list(csv.DictReader(io.StringIO(self.run_program(*words, "--format", "csv").out)))
            expected = answer["findings"] if words[0] == "diagnose" else answer["rows"]
            self.assertTrue(rows)
            self.assertEqual(len(rows), len(expected))
            for row, said in zip(rows, expected):
                for name, text in row.items():
                    if isinstance(said[name], float):
                        self.assertAlmostEqual(float(text), said[name], places=3, msg=name)
                    elif isinstance(said[name], list):
                        self.assertEqual(text, ",".join(map(str, said[name])), name)
                    else:
                        self.assertEqual(text, "" if said[name] is None else str(said[name]), name)


class Validator(Case):
    """The validator rejects wrong values; otherwise the tests above would prove nothing."""

    GOOD = {"command": "clocks", "columns": [{"name": "rank", "unit": None, "description": "x"}], "warnings": [],
            "rows": [{"process": "0", "rank": 0, "offset_us": 1.5, "uncertainty_us": 0.5, "scale": 1,
                      "method": "meetings", "run": 1}]}

    def complaints(self, change):
        answer = copy.deepcopy(self.GOOD)
        change(answer)
        return list(schema.complaints(answer, schema.load("clocks.schema.json")))

    def test_good(self):
        self.assertEqual(self.complaints(lambda answer: None), [])
        self.assertEqual(self.complaints(lambda answer: answer.update(more=1)), [])

    def test_bad(self):
        for change in (
            lambda answer: answer.pop("warnings"),
            lambda answer: answer.update(command="report"),
            lambda answer: answer.update(rows={}),
            lambda answer: answer["columns"][0].pop("unit"),
            lambda answer: answer["rows"][0].pop("rank"),
            lambda answer: answer["rows"][0].update(rank=-1),
            lambda answer: answer["rows"][0].update(rank=True),
            lambda answer: answer["rows"][0].update(rank="0"),
            lambda answer: answer["rows"][0].update(offset_us="1"),
            lambda answer: answer["rows"][0].update(method="guessed"),
        ):
            self.assertTrue(self.complaints(change))

    def test_members_that_are_not_described(self):
        answer = copy.deepcopy(self.GOOD)
        answer["rows"][0]["surprise"] = 1
        said = schema.load("clocks.schema.json")
        self.assertEqual(list(schema.unknown_members(answer, said)), ["$.rows[0].surprise"])

    def test_unknown_words_are_errors(self):
        with self.assertRaises(KeyError):
            list(schema.complaints(1, {"maximum": 0}))

    def test_every_schema_is_used(self):
        names = {path.name for path in schema.FOLDER.glob("*")}
        self.assertEqual(names - {f"{command}.schema.json" for command in COMMANDS}, {"table.schema.json", "ingest.schema.json", "watch.schema.json"})
        for name in names:
            self.assertEqual(json.loads((schema.FOLDER / name).read_text())["$schema"],
                             "https://json-schema.org/draft/2020-12/schema")
