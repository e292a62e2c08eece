#!/usr/bin/env python3
"""Checks the rules of diagnose and compare and their limits: the manual shows the tables of the source, and unit tests
cover every row.

usage: tests/check/rules.py OUT    (from the top of the repository) writes the tables into the manual pages, and the kinds of
findings into the schemas of JSON outputs

`make golden` runs this program. `make check` reports pages that differ from the source, and rules or limits without a test.
"""

import json
import re
import subprocess
import sys
import textwrap
from pathlib import Path

PAGE = "man/ncclprof-rules.7"
COMPARE_PAGE = "man/ncclprof-compare.1"
BEGIN = '.\\" TABLE: from here to "TABLE: end" written by tests/check/rules.py (make golden) from the source.\n'
END = '.\\" TABLE: end\n'


def table_of(out):
    """{"rules": [...], "limits": [...], "comparison": [...]}, from the compiled tables."""
    return json.loads(subprocess.run([f"{out}/print_rules"], capture_output=True, text=True, check=True).stdout)


def prose(text):
    """The text as lines of mdoc. No line can be mistaken for a macro."""
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


def cause(row):
    """The paragraph for a cause."""
    of, floor = row["of"], f"{row['floor']:{',.0f' if row['floor'] >= 1e6 else 'g'}}{unit_of(row)}"
    what = {"greater": f"{of} is at least {floor} and at least {row['times']:g} times the usual value",
            "less": f"{of} is less than usual by {floor}",
            "more": f"{of} increases by at least {floor} and at least {row['times']:g} times as fast as usual",
            "stack": "the main thread stands at another place of the program than those of other ranks",
            "message": f"at least {floor} message{'s' if row['floor'] > 1 else ''} {of}"
                       + (f" with number {', '.join(map(str, row['numbers']))}" if row["numbers"] else "")
                       + f", at least {row['times']:g} times as often as usual"}[row["side"]]
    return (f".It Li {row['name']} Pq {row['place']}; {', '.join(row['kinds'])}\n" + prose(what)
            + (prose("it needs no other steps and places to compare with, but must stand out from those that are known")
               if row["is_statement"] else "")
            + (prose("the other steps must be known; other places alone do not show what is usual") if row["needs_before"] else "")
            + (prose(f"it is not used where {row['unless']} is known") if row["unless"] else "")
            + (prose(f"while it shows, {' and '.join(row['explains'])} of the same GPU count as its effects, and are not named")
               if row["explains"] else "")
            + prose(f"the limit: {row['found']}")
            + (prose(f"a finding that does not say whether host or GPU is at fault becomes {row['becomes']}")
               if row["becomes"] else ""))


def tables(table):
    """The two sections of ncclprof-rules(7)."""
    limits = {limit["name"]: limit for limit in table["limits"]}
    return (".Ss Checks that limit the confidence of a finding\n.Bl -tag -width Ds\n"
            + "".join(paragraph(rule, limits) for rule in table["rules"])
            + ".El\n.Ss Limits\n.Bl -column ahead-network-two 0.0002\n.It Em limit Ta Em value Ta Em unit and origin\n"
            + "".join(row(limit) for limit in table["limits"]) + ".El\n"
            + ".Ss Causes\n.Bl -tag -width Ds\n" + "".join(map(cause, table["causes"])) + ".El\n")


def row(limit):
    """A row of the table of limits: its name, value, unit and origin. No word of the text can be mistaken for a macro."""
    said = (limit["unit"] + ". " if limit["unit"] else "") + limit["found"][0].upper() + limit["found"][1:] + "."
    said = re.sub(r"\b([A-Z][a-z]{1,2})\b", r"\\&\1", said)
    return f".It Li {limit['name']} Ta {limit['value']:g} Ta {said}\n".replace("--", "\\-\\-")


def compared(rule):
    """The paragraph for one rule of compare."""
    return (f".It Li {rule['name']} Pq {'bar' if rule['is_bar'] else 'noise'}; {', '.join(rule['kinds'])}\n"
            + prose(rule["says"]) + prose(f"{'more than' if rule['limit'] == 0 else 'limit:'} {rule['limit']:g} {rule['unit']}: "
                                          f"{rule['found']}"))


def compare_table(table):
    """The section of ncclprof-compare(1)."""
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
    """The tables, and the sources, tests and page in which their rows must occur."""

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
        """A unit test calls `how` (assert_speaks or assert_quiet) for this rule."""
        return re.search(rf"\b{how}\([^;]*\b{identifier('RULE', name)}\b[^;]*\);", self.tests)

    def is_tested(self, name):
        """A rule with this limit is tested on both sides of it, or a test names the limit."""
        with_limit = [rule for rule in self.rules if self.rules[rule]["limit"] == name]
        return (any(self.is_shown("assert_speaks", rule) and self.is_shown("assert_quiet", rule) for rule in with_limit)
                or re.search(rf"\b{identifier('LIMIT', name)}\b", self.tests))

    def is_in_rules(self, name):
        """The table of rules names the limit, as the limit of a rule or in a text."""
        words = " ".join(f"{rule['limit']} {rule['needs'] or ''} {rule['measure']} {rule['says']}" for rule in self.rules.values())
        return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", words)

    def has_paragraph(self, name):
        return re.search(rf"^\.It Li {re.escape(name)} ", self.page, re.M)


RULE = [
    ("lib/diagnose/", "must apply it: a function returns its measure, and finding_ask receives the result",
     lambda tables, name: tables.is_asked(name)),
    ("tests/unit/", "must have an assert_speaks with it, at its limit",
     lambda tables, name: tables.is_shown("assert_speaks", name)),
    ("tests/unit/", "must have an assert_quiet with it, on the other side of its limit",
     lambda tables, name: tables.is_shown("assert_quiet", name)),
    ("man/ncclprof-rules.7", "must have a paragraph on it (make golden)",
     lambda tables, name: tables.has_paragraph(name)),
]

LIMIT = [
    ("lib/", "must use it by its name", lambda tables, name: re.search(rf"\b{identifier('LIMIT', name)}\b", tables.library)),
    ("a rule in `rules`", "must use it as its limit, or name it", lambda tables, name: tables.is_in_rules(name)),
    ("tests/unit/", "must test a rule on both sides of this limit, or name the limit",
     lambda tables, name: tables.is_tested(name)),
    ("man/ncclprof-rules.7", "must have an entry for it (make golden)", lambda tables, name: tables.has_paragraph(name)),
]


def check_compare(found):
    """Yields what is missing for a rule of compare, and whether its manual page differs from the source."""
    asking = "".join(text for path, text in sources("lib/report").items() if path not in ("lib/report/compare_rule.c", "lib/report/comparison.h"))
    for rule in found.table["comparison"]:
        name = identifier("COMPARE", rule["name"])
        for place, what, holds in (
                ("lib/report/", "must apply it by its name", re.search(rf"\b{name}\b", asking)),
                ("tests/unit/", "must have an assert_decides with it",
                 re.search(rf"\bassert_decides\([^;]*\b{name}\b[^;]*\);", found.tests)),
                ("tests/unit/", "must have an assert_allows with it",
                 re.search(rf"\bassert_allows\([^;]*\b{name}\b[^;]*\);", found.tests))):
            if not holds:
                yield f"lib/report/compare_rule.c: rule {rule['name']} is incomplete: {place} {what}"
    if in_page(COMPARE_PAGE) != compare_table(found.table):
        yield f"{COMPARE_PAGE}: the table differs from the source; run make golden"


def check(out):
    """Yields what is missing for a rule or limit, places that the head comments do not list, and pages that differ."""
    found = Tables(out)
    for registry, places, names in (("lib/diagnose/rule.c", RULE, found.rules), ("lib/diagnose/rule.c", LIMIT, found.limits)):
        head = Path(registry).read_text().partition("#include")[0]
        for place in sorted({place for place, _, _ in places}):
            if place not in head:
                yield f"{registry}: the head comment must list {place}"
        for name in names:
            for place, what, holds in places:
                if not holds(found, name):
                    yield f"{registry}: entry {name} is incomplete: {place} {what}"
    if found.page != found.expected:
        yield f"{PAGE}: the tables differ from the source; run make golden"
    for path in Path("schemas/output").glob("*.json"):
        if path.read_text() != with_kinds(path.read_text(), found.table):
            yield f"{path}: the kinds of findings differ from the source; run make golden"
    yield from check_compare(found)


if __name__ == "__main__":
    write(sys.argv[1])
