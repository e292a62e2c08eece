"""Checks that formats, analyses, outputs, commands and migrations are complete: code, tests, fixtures, documentation.

The head comment of each registry lists the places where an entry needs something, with `foo` as its name. The lists
below contain the same places, each with a test.
"""

import ast
import csv
import hashlib
import json
import os
import re
import subprocess
from pathlib import Path

# The two traces for which the complete output of every command is kept, and its format.
WHOLE = {"tp2dp2pp2-clean": "json", "tp2dp2pp2-slow-rank": "table"}


def text_of(path):
    return Path(path).read_text(errors="replace") if os.path.isfile(path) else ""


def exports(path, kind, name):
    """The file defines the entry of the registry, with the name of the file."""
    return re.search(rf"^const struct {kind} {kind}_{name} = {{(?:.*\n)*?.*\.name = \"{name.replace('_', '-')}\"", text_of(path), re.M)


def value_of(path, name):
    """The value of a constant in the source of a test."""
    for node in ast.parse(text_of(path)).body:
        if isinstance(node, ast.Assign) and any(getattr(target, "id", None) == name for target in node.targets):
            return ast.literal_eval(node.value)
    return {}


def words_of(path, name):
    """The commands in a test's table of command lines."""
    found = value_of(path, name)
    return {words[0] for words in (found.values() if isinstance(found, dict) else found)}


def help_of(out, *words):
    return subprocess.run([f"{out}/ncclprof", *words], capture_output=True, text=True, check=True).stdout


class Built:
    """The formats, analyses, outputs and commands of the registries and of the built program."""

    def __init__(self, out, layers):
        self.layers = layers
        listing = help_of(out, "--help").split("commands:")[1].split("options:")[0]
        listed = re.findall(r"^  ([a-z-]+) ", listing, re.M)
        self.formats = self.registered("lib/format/registry.c", "format")
        self.analyses = self.registered("lib/report/registry.c", "analysis")
        self.outputs = self.registered("lib/output/registry.c", "renderer")
        self.commands = [name for name in listed if name not in self.analyses]
        self.printing = [name for name in listed if f"--format {'|'.join(self.outputs)}" in help_of(out, name, "-h")]
        self.dialects = {path.stem.removeprefix("ingest-"): {row["dialect"] for row in csv.DictReader(path.open())}
                         for path in sorted(Path("tests/golden").glob("ingest-*.csv"))}

    @staticmethod
    def registered(path, kind):
        return re.findall(rf"&{kind}_(\w+)", text_of(path))

    def fixtures_of(self, format_name):
        """Folders of fixtures with a file of the format, according to the golden outputs of ingest."""
        return [folder for folder, dialects in self.dialects.items()
                if any(f"{dialect}-".startswith(f"{format_name.replace('_', '-')}-") for dialect in dialects)]


FORMAT = [
    ("lib/format/foo.c", "must export format_foo with the name 'foo'",
     lambda built, name: exports(f"lib/format/{name}.c", "format", name) or exports(f"lib/format/{name}/{name}.c", "format", name)),
    ("tests/unit/format/test_foo.c", "must exist and test the reader", lambda built, name: os.path.exists(f"tests/unit/format/test_{name}.c")),
    ("fixtures/", "must have a folder with a TRUTH file and a trace that tests/golden/ingest-FOLDER.csv lists as foo-VERSION",
     lambda built, name: any(os.path.exists(f"fixtures/{folder}/TRUTH") for folder in built.fixtures_of(name))),
    ("man/ncclprof-formats.5", "must have a section on foo",
     lambda built, name: re.search(rf"^\.Sh {name.replace('_', ' ')}\b", text_of("man/ncclprof-formats.5"), re.M | re.I)),
    ("man/ncclprof-formats.5", "must list the dialects of foo at its beginning",
     lambda built, name: re.search(rf"^\.It Li (\w+-)?{name.replace('_', '-')}\b", text_of("man/ncclprof-formats.5").split(".Sh RECORDING")[0], re.M)),
]


def keys_in_page(built, name):
    """The manual page names each key of the JSON's rows, except keys that give the name of a number (rank_name)."""
    schema = json.loads(text_of(f"schemas/output/{name}.schema.json") or "{}")
    lists = [part for part in schema.get("properties", {}).values() if "items" in part]
    keys = {key for part in lists for key in part["items"].get("properties", {}) if not key.endswith("_name")}
    return all(re.search(rf"\b{key}\b", text_of(f"man/ncclprof-{name}.1")) for key in keys)


def has_page(built, name):
    return os.path.exists(f"man/ncclprof-{name}.1")


def in_overview(built, name):
    return f".Xr ncclprof-{name} 1" in text_of("man/ncclprof.1")


def in_readme(built, name):
    return f"`{name}`" in text_of("README.md").split("\n## Commands\n")[1].split("\n## ")[0]


def is_whole(built, name):
    """Complete outputs are kept, and a test compares them. Exempt: ingest (kept for all fixtures), and merge (like ingest)."""
    if name not in built.printing or name in ("ingest", "merge"):
        return True
    kept = {key for key, words in value_of("tests/cli/test_golden.py", "COMMANDS").items() if words[0] == name}
    return kept and all(os.path.exists(f"tests/golden/{key}-{folder}.{form}") or os.path.exists(f"tests/golden/{key}-{folder}.csv")
                        for key in kept for folder, form in WHOLE.items())


def is_described(built, name):
    return name not in built.printing or name in ("ingest", "merge") or f'    "{name}": (' in text_of("tests/cli/test_output.py")


def is_tested(built, name):
    return any(re.search(rf"(run_program|json|ingest)\(\s*\"{name}\"", path.read_text())
               for path in Path("tests/cli").glob("test_*.py"))


ANALYSIS = [
    ("lib/report/foo.c", "must export analysis_foo with the name 'foo'",
     lambda built, name: exports(f"lib/report/{name}.c", "analysis", name)),
    ("schemas/output/foo.schema.json", "must exist and describe the JSON output",
     lambda built, name: os.path.exists(f"schemas/output/{name}.schema.json")),
    ("man/ncclprof-foo.1", "must exist and name each key of the JSON's rows",
     lambda built, name: has_page(built, name) and keys_in_page(built, name)),
    ("man/ncclprof.1", "must refer to ncclprof-foo(1)", in_overview),
    ("README.md", "must name foo under 'Commands'", in_readme),
    ("tests/cli/test_foo.py", "must exist and test the values", lambda built, name: os.path.exists(f"tests/cli/test_{name}.py")),
    ("tests/cli/test_golden.py", "must run foo, with outputs in tests/golden (make golden)", is_whole),
    ("tests/cli/test_output.py", "must validate foo against its schema", is_described),
    ("tests/cli/test_found.py", "must run foo on the inputs that fuzzing found",
     lambda built, name: name in words_of("tests/cli/test_found.py", "COMMANDS")),
    ("tests/torture/faults.py", "must list foo in READERS, to run it while every call fails in turn",
     lambda built, name: name in words_of("tests/torture/faults.py", "READERS")),
]

COMMAND = [
    ("cmd/foo.c", "must export command_foo with the name 'foo'", lambda built, name: exports(f"cmd/{name}.c", "command", name)),
    ("man/ncclprof-foo.1", "must exist", has_page),
    ("man/ncclprof.1", "must refer to ncclprof-foo(1)", in_overview),
    ("README.md", "must name foo under 'Commands'", in_readme),
    ("tests/cli/", "must have a test that runs foo", is_tested),
    ("tests/cli/test_golden.py", "must run foo, which has --format, with outputs in tests/golden (make golden)", is_whole),
    ("tests/cli/test_output.py", "must validate foo, which has --format, against a schema", is_described),
]


OUTPUT = [
    ("lib/output/foo.c", "must export renderer_foo with the name 'foo'",
     lambda built, name: exports(f"lib/output/{name}.c", "renderer", name)),
    ("tests/unit/output/test_renderers.c", "must test foo with a table of all kinds of cells",
     lambda built, name: re.search(rf'\bcheck\(\s*"{name}"', text_of("tests/unit/output/test_renderers.c"))),
    ("tests/golden/", "must have a complete output in foo (make golden)", lambda built, name: list(Path("tests/golden").glob(f"*.{name}"))),
    ("man/ncclprof.1", "must list foo among the values of --format",
     lambda built, name: re.search(rf"^\.It Fl -format Cm .*\b{name}\b", text_of("man/ncclprof.1"), re.M)),
]

# Each registry, the places that its head comment lists, and its entries.
REGISTRIES = [
    ("lib/format/registry.c", FORMAT, lambda built: built.formats),
    ("lib/report/registry.c", ANALYSIS, lambda built: built.analyses),
    ("lib/output/registry.c", OUTPUT, lambda built: built.outputs),
    ("cmd/registry.c", COMMAND, lambda built: built.commands),
]


def check_registries(out, layers):
    """Yields what is missing for an entry of a registry, and the places that the registry's head comment does not list."""
    built = Built(out, layers)
    for registry, places, names in REGISTRIES:
        head = text_of(registry).partition("#include")[0]
        for place, what, _ in places:
            if place not in head:
                yield f"{registry}: the head comment must list {place}"
        for name in names(built):
            for place, what, holds in places:
                if not holds(built, name):
                    yield f"{registry}: entry {name} is incomplete: " + f"{place} {what}".replace("foo", name)


PUBLISHED = "tests/check/published.sha256"
MIGRATION = [
    "schemas/store/NNN_what.sql", "tests/check/published.sha256", "man/ncclprof-store.5", "schemas/view/",
]


def check_numbers():
    """The migrations have consecutive numbers, and the manual states the newest. Yields the violations."""
    numbers = sorted(int(path.stem[:3]) for path in Path("schemas/store").glob("*.sql"))
    if numbers != list(range(numbers[0], numbers[0] + len(numbers))):
        yield "schemas/store: the migrations must have consecutive numbers"
    if not re.search(rf"now {numbers[-1]}\b", text_of("man/ncclprof-store.5")):
        yield f"man/ncclprof-store.5 must say that the version is now {numbers[-1]}"


def check_published():
    """A published migration never changes, because existing stores were created with it."""
    digests = {path: digest for digest, path in (line.split() for line in text_of(PUBLISHED).splitlines())}
    files = {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(Path("schemas/store").glob("*.sql"))}
    for path in sorted(set(files) | set(digests)):
        if path not in digests:
            yield f"{PUBLISHED} does not list {path}; run make golden"
        elif digests[path] != files.get(path):
            yield f"{path} differs from the published file, which must not change; write a new migration instead"


def check_comments():
    """Each table and column that a migration creates has a comment, before or inside the statement."""
    for path in sorted(Path("schemas/store").glob("*.sql")):
        for before, made in re.findall(r"(?:^|\n)(.*)\n(CREATE TABLE[^;]*;|ALTER TABLE \w+ ADD[^;]*;)", "\n" + path.read_text()):
            if not before.startswith("--") and "--" not in made:
                yield f"{path}: comment missing for: {made.splitlines()[0]}"


def check_migrations():
    """Yields what is missing for a change of the schema."""
    registry = "lib/store/migrate.c"
    text = text_of(registry)
    head = text.partition("static const char *const migrations")[0]
    for place in MIGRATION:
        if place not in head:
            yield f"{registry}: the head comment must list {place}"
    yield from check_numbers()
    yield from check_published()
    yield from check_comments()
    yield from check_views()
    views = {f"schema_view_{path.stem}" for path in Path("schemas/view").glob("*.sql")}
    for name in sorted(views - set(re.findall(r"\bschema_view_\w+", text))):
        yield f"{registry}: the list `views` must include {name}"


def check_views():
    """The manual names every view, and only columns that a view has and schemas/view describes."""
    page = "man/ncclprof-store.5"
    section = text_of(page).partition(".Sh VIEWS\n")[2].partition(".Ss ")[0]
    named = set(re.findall(r"(?:Li|Va|,) (\w+)\b", "\n".join(re.findall(r"^\.(?:It |Pq )?(?:Li|Va) .*", section, re.M))))
    known = set()
    for path in Path("schemas/view").glob("*.sql"):
        text = text_of(str(path))
        views = set(re.findall(r"^CREATE VIEW (\w+) AS$", text, re.M))
        known |= views | set(re.findall(r"(\w+),? -- (?:integer|real|text)(?: [A-Za-z/]+)?: ", text))
        for name in sorted(views - named):
            yield f"{page}: section VIEWS must name {name}"
    for name in sorted(named - known):
        yield f"{page}: section VIEWS names {name}, which is neither a view nor a column described in schemas/view"


# A new user should be able to read all of it.
README_LINES = 150


def check_length_of_readme():
    lines = len(text_of("README.md").splitlines())
    if lines > README_LINES:
        yield f"README.md: {lines} lines (limit {README_LINES}); move measurements to a RESULTS.md and details to man/"


# lib/store is exempt: it builds statements from the names of its tables.
SQL = re.compile(r'"\s*(?:SELECT|INSERT INTO|UPDATE|DELETE FROM|CREATE|WITH) ')


def check_sql_in_schemas(sources):
    """SQL is in schemas/, where it has comments, and where a test checks the query plans."""
    for path in sources:
        if path.startswith(("lib/", "cmd/")) and not path.startswith("lib/store/"):
            for number, line in enumerate(text_of(path).splitlines(), 1):
                if SQL.search(line):
                    yield f"{path}:{number}: SQL must be in a file of schemas/"


def check_places():
    """The table 'Where is ...' of CONTRIBUTING.md names existing files."""
    section = re.search(r"^## Where is \.\.\.\n(.*?)(?=^## )", text_of("CONTRIBUTING.md"), re.M | re.S)
    rows = re.findall(r"^\| (?!---|what )[^|]+\|([^|]+)\|$", section.group(1) if section else "", re.M)
    if len(rows) < 12:
        yield "CONTRIBUTING.md: 'Where is ...' has fewer than twelve rows"
    for row in rows:
        paths = re.findall(r"`([^`]+)`", row)
        if not paths:
            yield f"CONTRIBUTING.md: 'Where is ...' names no file in '{row.strip()}'"
        for path in paths:
            if not os.path.isfile(path):
                yield f"CONTRIBUTING.md: 'Where is ...' names {path}, which does not exist"


BARE = re.compile(r"(?<![\w/.])[a-z]\w*\.c\b")
NAMED = re.compile(r"(?<![\w/.$])((?:lib|cmd|schemas|fixtures|tests|man|include)/[\w./-]*[\w-]"
                   r"\.(?:c|h|py|sql|sh|mk|json|txt|[157])(?:\.gz)?)\b")


def check_named_files(paths):
    """Files named in README, CONTRIBUTING, the manual and comments exist. Names with foo or NNN are examples."""
    known = {os.path.basename(path) for path in paths}
    for path in paths:
        if path.startswith("schemas/store/"):
            continue # Published migrations never change, so they may name files that existed then.
        for number, line in enumerate(text_of(path).splitlines(), 1):
            for name in NAMED.findall(line):
                if not os.path.exists(name) and not re.search(r"foo|FOO|NNN|ROOM|dump", name):
                    yield f"{path}:{number}: names {name}, which does not exist"
            for name in BARE.findall(line) if path.startswith(("lib/", "cmd/")) else ():
                if name not in known and name != "foo.c":
                    yield f"{path}:{number}: names {name}, which does not exist"
