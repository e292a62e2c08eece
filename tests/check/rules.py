#!/usr/bin/env python3
"""Rules of a diagnosis and their limits: the manual shows the tables of the source, and every line of them is tested.

usage: tests/check/rules.py OUT    (from the top of the repository) writes the tables into man/ncclprof-diagnosis.7, and the
kinds of findings into the schemas of JSON outputs

`make golden` runs it, `make check` says where the page differs, and what a rule or limit lacks.
"""

import json
import re
import subprocess
import sys
import textwrap
from pathlib import Path

PAGE = "man/ncclprof-diagnosis.7"
COMPARE_PAGE = "man/ncclprof-compare.1"
BEGIN = '.\\" TABLE: from here to "TABLE: end" written by tests/check/rules.py (make golden) from the source.\n'
END = '.\\" TABLE: end\n'


def table_of(out):
    """{"rules": [...], "limits": [...]}, as the program has them."""
    return json.loads(subprocess.run([f"{out}/print_rules"], capture_output=True, text=True, check=True).stdout)


def prose(text):
    """Sentences as lines of mdoc, none of which begins with a macro."""
    text = text[0].upper() + text[1:] + ("" if text.endswith(".") else ".")
    lines = textwrap.wrap(text.replace("\\", "\\e").replace("--", "\\-\\-"), 118, break_long_words=False, break_on_hyphens=False)
    return "".join(("\\&" if line[0] in ".'" else "") + line + "\n" for line in lines)


def unit_of(limit):
    return f" {limit['unit']}" if limit["unit"] else ""


def paragraph(rule, limits):
    limit = limits[rule["limit"]]
    return (f".It Li {rule['name']} Pq {', '.join(rule['kinds'])}; at most {rule['at_most']}\n"
            + (prose(f"applies to {rule['needs']}") if rule["needs"] else "")
            + prose(f"{'is' if rule['measure'][0].isdigit() else 'measures'} {rule['measure']}")
            + prose(f"if {rule['side']} {limit['value']:g}{unit_of(limit)} (limit {limit['name']}): {rule['says']}"))


def tables(table):
    """The two sections of the page."""
    limits = {limit["name"]: limit for limit in table["limits"]}
    return (".Ss Checks that limit the confidence of a finding\n.Bl -tag -width Ds\n"
            + "".join(paragraph(rule, limits) for rule in table["rules"])
            + ".El\n.Ss Limits\n.Bl -tag -width Ds\n"
            + "".join(f".It Li {limit['name']} , {limit['value']:g}{unit_of(limit)}\n".replace("--", "\\-\\-")
                      + prose(limit["found"]) for limit in table["limits"])
            + ".El\n")


def compared(rule):
    """A paragraph on a rule of compare."""
    return (f".It Li {rule['name']} Pq {'bar' if rule['is_bar'] else 'noise'}; {', '.join(rule['kinds'])}\n"
            + prose(rule["says"]) + prose(f"{'more than' if rule['limit'] == 0 else 'limit:'} {rule['limit']:g} {rule['unit']}: "
                                          f"{rule['found']}"))


def compare_table(table):
    """The section of the page of compare."""
    return ".Bl -tag -width Ds\n" + "".join(compared(rule) for rule in table["comparison"]) + ".El\n"


def in_page(page=PAGE):
    return Path(page).read_text().partition(BEGIN)[2].partition(END)[0]


def with_kinds(schema, table):
    """A JSON schema with the kinds of findings as the source lists them."""
    kinds = ", ".join(f'"{kind}"' for kind in table["kinds"])
    return re.sub(r'"enum": \["compute"[^]]*?(, null)?\]', rf'"enum": [{kinds}\1]', schema)


def write(out):
    table = table_of(out)
    for path in Path("schemas/output").glob("*.json"):
        path.write_text(with_kinds(path.read_text(), table))
    for page, text in ((PAGE, tables(table)), (COMPARE_PAGE, compare_table(table))):
        before, _, rest = Path(page).read_text().partition(BEGIN)
        Path(page).write_text(before + BEGIN + text + END + rest.partition(END)[2])


def sources(*folders):
    return {str(path): path.read_text() for folder in folders for path in Path(folder).rglob("*.[ch]")}


def identifier(kind, name):
    return f"{kind}_{name.upper().replace('-', '_')}"


class Tables:
    """The tables, and where the sources name their lines."""

    def __init__(self, out):
        self.table = table_of(out)
        self.rules = {rule["name"]: rule for rule in self.table["rules"]}
        self.limits = {limit["name"]: limit for limit in self.table["limits"]}
        # Without the rows of the table itself.
        self.library = "".join(re.sub(r"\[LIMIT_\w+\] =", "", text) for path, text in sources("lib").items() if path != "lib/diagnose/rule.h")
        self.asking = "".join(text for path, text in sources("lib").items() if not path in ("lib/diagnose/rule.c", "lib/diagnose/rule.h"))
        self.tests = "".join(sources("tests/unit").values())
        self.page = in_page()
        self.expected = tables(self.table)

    def is_asked(self, name):
        return re.search(rf"\b{identifier('RULE', name)}\b", self.asking)

    def is_shown(self, how, name):
        """A test has it speak, or be quiet."""
        return re.search(rf"\b{how}\([^;]*\b{identifier('RULE', name)}\b[^;]*\);", self.tests)

    def is_tested(self, name):
        """A rule that is held against it is shown on both sides, or a test names it."""
        held = [rule for rule in self.rules if self.rules[rule]["limit"] == name]
        return (any(self.is_shown("assert_speaks", rule) and self.is_shown("assert_quiet", rule) for rule in held)
                or re.search(rf"\b{identifier('LIMIT', name)}\b", self.tests))

    def is_said(self, name):
        """The table of rules names it: as a limit, or in a text."""
        words = " ".join(f"{rule['limit']} {rule['needs'] or ''} {rule['measure']} {rule['says']}" for rule in self.rules.values())
        return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", words)

    def has_paragraph(self, name):
        return re.search(rf"^\.It Li {re.escape(name)} ", self.page, re.M)


RULE = [
    ("lib/diagnose/", "asks it: a function that returns its measure, handed to suspect_ask or finding_ask",
     lambda tables, name: tables.is_asked(name)),
    ("tests/unit/", "has an assert_speaks of it, at its limit",
     lambda tables, name: tables.is_shown("assert_speaks", name)),
    ("tests/unit/", "has an assert_quiet of it, beside its limit",
     lambda tables, name: tables.is_shown("assert_quiet", name)),
    ("man/ncclprof-diagnosis.7", "has a paragraph on it (make golden)",
     lambda tables, name: tables.has_paragraph(name)),
]

LIMIT = [
    ("lib/", "reads it by its name", lambda tables, name: re.search(rf"\b{identifier('LIMIT', name)}\b", tables.library)),
    ("a rule in `rules`", "uses it as its limit, or names it", lambda tables, name: tables.is_said(name)),
    ("tests/unit/", "has a rule that is held against it on both sides, or names it where it pins it",
     lambda tables, name: tables.is_tested(name)),
    ("man/ncclprof-diagnosis.7", "has a line on it (make golden)", lambda tables, name: tables.has_paragraph(name)),
]


def check_compare(found):
    """What a rule of compare lacks, and where its page differs."""
    asking = "".join(text for path, text in sources("lib/report").items() if path not in ("lib/report/compare_rule.c", "lib/report/comparison.h"))
    for rule in found.table["comparison"]:
        name = identifier("COMPARE", rule["name"])
        for place, what, holds in (
                ("lib/report/", "asks it by its name", re.search(rf"\b{name}\b", asking)),
                ("tests/unit/", "has an assert_decides of it",
                 re.search(rf"\bassert_decides\([^;]*\b{name}\b[^;]*\);", found.tests)),
                ("tests/unit/", "has an assert_allows of it",
                 re.search(rf"\bassert_allows\([^;]*\b{name}\b[^;]*\);", found.tests))):
            if not holds:
                yield f"lib/report/compare_rule.c: {rule['name']} takes more: {place} {what}"
    if in_page(COMPARE_PAGE) != compare_table(found.table):
        yield f"{COMPARE_PAGE}: the table is not that of the source: make golden"


def check(out):
    """What a rule or limit lacks, what their heads do not say, and where the page differs."""
    found = Tables(out)
    for registry, places, names in (("lib/diagnose/rule.c", RULE, found.rules), ("lib/diagnose/rule.c", LIMIT, found.limits)):
        head = Path(registry).read_text().partition("#include")[0]
        for place in sorted({place for place, _, _ in places}):
            if place not in head:
                yield f"{registry}: its head does not name {place}"
        for name in names:
            for place, what, holds in places:
                if not holds(found, name):
                    yield f"{registry}: {name} takes more: {place} {what}"
    if found.page != found.expected:
        yield f"{PAGE}: the tables are not those of the source: make golden"
    for path in Path("schemas/output").glob("*.json"):
        if path.read_text() != with_kinds(path.read_text(), found.table):
            yield f"{path}: the kinds of findings are not those of the source: make golden"
    yield from check_compare(found)


if __name__ == "__main__":
    write(sys.argv[1])
