"""What a newcomer has to bring: everything that a new format, analysis, output, command or migration takes.

The registries say what there is. The head of each lists the places that an entry takes, with `foo` for its name; the
lists here are the same, and each place has a test that the entry is there.
"""

import ast
import csv
import hashlib
import json
import os
import re
import subprocess
from pathlib import Path

# The two traces on which every command's whole output is kept, and in which format.
WHOLE = {"tp2dp2pp2-clean": "json", "tp2dp2pp2-slow-rank": "table"}


def text_of(path):
    return Path(path).read_text(errors="replace") if os.path.isfile(path) else ""


def exports(path, kind, name):
    """The file defines the registry's entry under the name of the file."""
    return re.search(rf"^const struct {kind} {kind}_{name} = {{(?:.*\n)*?.*\.name = \"{name.replace('_', '-')}\"", text_of(path), re.M)


def value_of(path, name):
    """A constant of a test, as its source writes it."""
    for node in ast.parse(text_of(path)).body:
        if isinstance(node, ast.Assign) and any(getattr(target, "id", None) == name for target in node.targets):
            return ast.literal_eval(node.value)
    return {}


def words_of(path, name):
    """The commands that a test's table of command lines runs."""
    found = value_of(path, name)
    return {words[0] for words in (found.values() if isinstance(found, dict) else found)}


def help_of(out, *words):
    return subprocess.run([f"{out}/ncclprof", *words], capture_output=True, text=True, check=True).stdout


class Built:
    """What the registries and the built program say there is."""

    def __init__(self, out, layers):
        self.layers = layers
        listing = help_of(out, "--help").split("commands:")[1].split("options:")[0]
        said = re.findall(r"^  ([a-z-]+) ", listing, re.M)
        self.formats = self.registered("lib/format/registry.c", "format")
        self.analyses = self.registered("lib/report/registry.c", "analysis")
        self.outputs = self.registered("lib/output/registry.c", "renderer")
        self.commands = [name for name in said if name not in self.analyses]
        self.printing = [name for name in said if f"--format {'|'.join(self.outputs)}" in help_of(out, name, "-h")]
        self.dialects = {path.stem.removeprefix("ingest-"): {row["dialect"] for row in csv.DictReader(path.open())}
                         for path in sorted(Path("tests/golden").glob("ingest-*.csv"))}

    @staticmethod
    def registered(path, kind):
        return re.findall(rf"&{kind}_(\w+)", text_of(path))

    def fixtures_of(self, format_name):
        """Folders of fixtures that have a file of the format, by the kept outputs of ingest."""
        return [folder for folder, dialects in self.dialects.items()
                if any(f"{dialect}-".startswith(f"{format_name.replace('_', '-')}-") for dialect in dialects)]


FORMAT = [
    ("lib/format/foo.c", "exports format_foo, of the name 'foo'",
     lambda built, name: exports(f"lib/format/{name}.c", "format", name) or exports(f"lib/format/{name}/{name}.c", "format", name)),
    ("tests/unit/format/test_foo.c", "tests the reader", lambda built, name: os.path.exists(f"tests/unit/format/test_{name}.c")),
    ("fixtures/", "has a folder with a TRUTH and a file that tests/golden/ingest-FOLDER.csv says is foo-VERSION",
     lambda built, name: any(os.path.exists(f"fixtures/{folder}/TRUTH") for folder in built.fixtures_of(name))),
    ("man/ncclprof-formats.5", "has a section on foo",
     lambda built, name: re.search(rf"^\.Sh {name.replace('_', ' ')}\b", text_of("man/ncclprof-formats.5"), re.M | re.I)),
    ("README.md", "has a row on foo under 'What it reads'",
     lambda built, name: re.search(rf"^\| (?:`[^|]*, )?`{name.replace('_', '-')}[-`]", text_of("README.md"), re.M)),
]


def keys_in_page(built, name):
    """The page names what a row of the JSON holds, but for names of what it numbers."""
    schema = json.loads(text_of(f"schemas/output/{name}.schema.json") or "{}")
    lists = [part for part in schema.get("properties", {}).values() if "items" in part]
    keys = {key for part in lists for key in part["items"].get("properties", {}) if not key.endswith("_name")}
    return all(re.search(rf"\b{key}\b", text_of(f"man/ncclprof-{name}.1")) for key in keys)


def has_page(built, name):
    return os.path.exists(f"man/ncclprof-{name}.1")


def in_overview(built, name):
    return f".Xr ncclprof-{name} 1" in text_of("man/ncclprof.1")


def in_readme(built, name):
    return re.search(rf"^\| `{name}` \|", text_of("README.md"), re.M)


def is_whole(built, name):
    """Whole outputs are kept, and a test compares them. Those of ingest are kept of all fixtures; merge's are the same."""
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
    ("lib/report/foo.c", "exports analysis_foo, of the name 'foo'",
     lambda built, name: exports(f"lib/report/{name}.c", "analysis", name)),
    ("schemas/output/foo.schema.json", "describes the JSON",
     lambda built, name: os.path.exists(f"schemas/output/{name}.schema.json")),
    ("man/ncclprof-foo.1", "is there, and names each key of the JSON's rows",
     lambda built, name: has_page(built, name) and keys_in_page(built, name)),
    ("man/ncclprof.1", "mentions ncclprof-foo(1)", in_overview),
    ("README.md", "has a row on foo under 'Commands'", in_readme),
    ("tests/cli/test_foo.py", "tests the figures", lambda built, name: os.path.exists(f"tests/cli/test_{name}.py")),
    ("tests/cli/test_golden.py", "runs foo, with outputs in tests/golden (make golden)", is_whole),
    ("tests/cli/test_output.py", "holds foo against its schema", is_described),
    ("tests/cli/test_found.py", "runs foo on what fuzzers found",
     lambda built, name: name in words_of("tests/cli/test_found.py", "COMMANDS")),
    ("tests/torture/faults.py", "runs foo with every call failing",
     lambda built, name: name in words_of("tests/torture/faults.py", "READERS")),
]

COMMAND = [
    ("cmd/foo.c", "exports command_foo, of the name 'foo'", lambda built, name: exports(f"cmd/{name}.c", "command", name)),
    ("man/ncclprof-foo.1", "is there", has_page),
    ("man/ncclprof.1", "mentions ncclprof-foo(1)", in_overview),
    ("README.md", "has a row on foo under 'Commands'", in_readme),
    ("tests/cli/", "has a test that runs foo", is_tested),
    ("tests/cli/test_golden.py", "runs foo, if it has --format, with outputs in tests/golden (make golden)", is_whole),
    ("tests/cli/test_output.py", "holds foo, if it has --format, against a schema", is_described),
]


OUTPUT = [
    ("lib/output/foo.c", "exports renderer_foo, of the name 'foo'",
     lambda built, name: exports(f"lib/output/{name}.c", "renderer", name)),
    ("tests/unit/output/test_renderers.c", "tests foo on a table of all kinds of cells",
     lambda built, name: re.search(rf'\bcheck\(\s*"{name}"', text_of("tests/unit/output/test_renderers.c"))),
    ("tests/golden/", "has a whole output in foo (make golden)", lambda built, name: list(Path("tests/golden").glob(f"*.{name}"))),
    ("man/ncclprof.1", "has foo among the values of --format",
     lambda built, name: re.search(rf"^\.It Fl -format Cm .*\b{name}\b", text_of("man/ncclprof.1"), re.M)),
]

# Each registry, what its head lists, and its entries.
REGISTRIES = [
    ("lib/format/registry.c", FORMAT, lambda built: built.formats),
    ("lib/report/registry.c", ANALYSIS, lambda built: built.analyses),
    ("lib/output/registry.c", OUTPUT, lambda built: built.outputs),
    ("cmd/registry.c", COMMAND, lambda built: built.commands),
]


def check_registries(out, layers):
    """What an entry of a registry lacks; and what the registry's head does not say that it takes."""
    built = Built(out, layers)
    for registry, places, names in REGISTRIES:
        head = text_of(registry).partition("#include")[0]
        for place, what, _ in places:
            if place not in head:
                yield f"{registry}: its head does not name {place}"
        for name in names(built):
            for place, what, holds in places:
                if not holds(built, name):
                    yield f"{registry}: {name} takes more: " + f"{place} {what}".replace("foo", name)


PUBLISHED = "tests/check/published.sha256"
MIGRATION = [
    "schemas/store/NNN_what.sql", "tests/check/published.sha256", "man/ncclprof-store.5", "schemas/view/",
    "tests/unit/store/test_store.c", "tests/unit/store/test_plans.c",
]


def check_numbers():
    """The migrations are numbered one after the other, and who tells of the newest knows it. Yields what is not so."""
    numbers = sorted(int(path.stem[:3]) for path in Path("schemas/store").glob("*.sql"))
    if numbers != list(range(numbers[0], numbers[0] + len(numbers))):
        yield "schemas/store: the migrations' numbers do not follow each other"
    for path in ("tests/unit/store/test_store.c", "tests/unit/store/test_plans.c"):
        if f'"PRAGMA user_version"), {numbers[-1]})' not in text_of(path):
            yield f"{path} does not expect version {numbers[-1]}, which is the newest"
    if not re.search(rf"now {numbers[-1]}\b", text_of("man/ncclprof-store.5")):
        yield f"man/ncclprof-store.5 does not say that the version is now {numbers[-1]}"


def check_published():
    """A migration that was published stays as it is: stores were made by it."""
    digests = {path: digest for digest, path in (line.split() for line in text_of(PUBLISHED).splitlines())}
    files = {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(Path("schemas/store").glob("*.sql"))}
    for path in sorted(set(files) | set(digests)):
        if path not in digests:
            yield f"{PUBLISHED} lacks {path}: sha256sum {path} >>{PUBLISHED}"
        elif digests[path] != files.get(path):
            yield f"{path} was published and never changes: put what changes into a migration of its own"


def check_comments():
    """Each table and column that a migration makes has a comment, before it or within."""
    for path in sorted(Path("schemas/store").glob("*.sql")):
        for before, made in re.findall(r"(?:^|\n)(.*)\n(CREATE TABLE[^;]*;|ALTER TABLE \w+ ADD[^;]*;)", "\n" + path.read_text()):
            if not before.startswith("--") and "--" not in made:
                yield f"{path}: no comment says what this is for: {made.splitlines()[0]}"


def check_migrations():
    """What a change of the schema takes."""
    registry = "lib/store/migrate.c"
    text = text_of(registry)
    head = text.partition("static const char *const migrations")[0]
    for place in MIGRATION:
        if place not in head:
            yield f"{registry}: its head does not name {place}"
    yield from check_numbers()
    yield from check_published()
    yield from check_comments()
    yield from check_views()
    views = {f"schema_view_{path.stem}" for path in Path("schemas/view").glob("*.sql")}
    for name in sorted(views - set(re.findall(r"\bschema_view_\w+", text))):
        yield f"{registry}: views lacks {name}"


def check_views():
    """The manual names every view, and no column that none has; in SQL each column is described."""
    page = "man/ncclprof-store.5"
    section = text_of(page).partition(".Sh VIEWS\n")[2].partition(".Ss ")[0]
    named = set(re.findall(r"(?:Li|Va|,) (\w+)\b", "\n".join(re.findall(r"^\.(?:It |Pq )?(?:Li|Va) .*", section, re.M))))
    known = set()
    for path in Path("schemas/view").glob("*.sql"):
        text = text_of(str(path))
        views = set(re.findall(r"^CREATE VIEW (\w+) AS$", text, re.M))
        known |= views | set(re.findall(r"(\w+),? -- (?:integer|real|text)(?: [A-Za-z/]+)?: ", text))
        for name in sorted(views - named):
            yield f"{page}: VIEWS lacks {name}"
    for name in sorted(named - known):
        yield f"{page}: VIEWS has {name}, which is no view and no column that schemas/view describes"


# Who has never seen it reads all of it.
README_LINES = 150


def check_length_of_readme():
    lines = len(text_of("README.md").splitlines())
    if lines > README_LINES:
        yield f"README.md: {lines} lines, {README_LINES} are the limit: measurements belong into RESULTS.md, the rest into man/"


# SQL that lib/store makes of the names of its tables cannot stand in a file.
SQL = re.compile(r'"\s*(?:SELECT|INSERT INTO|UPDATE|DELETE FROM|CREATE|WITH) ')


def check_sql_in_schemas(sources):
    """SQL lies in schemas/, where it has comments and a test that plans it."""
    for path in sources:
        if path.startswith(("lib/", "cmd/")) and not path.startswith("lib/store/"):
            for number, line in enumerate(text_of(path).splitlines(), 1):
                if SQL.search(line):
                    yield f"{path}:{number}: SQL belongs into schemas/"


def check_places():
    """The table 'Where is ...' of CONTRIBUTING.md names files that are there."""
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
                yield f"CONTRIBUTING.md: 'Where is ...' names {path}, which is not there"


BARE = re.compile(r"(?<![\w/.])[a-z]\w*\.c\b")
NAMED = re.compile(r"(?<![\w/.$])((?:lib|cmd|schemas|fixtures|tests|man|include)/[\w./-]*[\w-]"
                   r"\.(?:c|h|py|sql|sh|mk|json|txt|[157])(?:\.gz)?)\b")


def check_named_files(paths):
    """Files that README, CONTRIBUTING, the manual and comments name are there; what is foo or NNN is an example."""
    known = {os.path.basename(path) for path in paths}
    for path in paths:
        if path.startswith("schemas/store/"):
            continue # published: it names what was there then
        for number, line in enumerate(text_of(path).splitlines(), 1):
            for name in NAMED.findall(line):
                if not os.path.exists(name) and not re.search(r"foo|FOO|NNN|ROOM|dump", name):
                    yield f"{path}:{number}: {name} is not there"
            for name in BARE.findall(line) if path.startswith(("lib/", "cmd/")) else ():
                if name not in known and name != "foo.c":
                    yield f"{path}:{number}: {name} is not there"
