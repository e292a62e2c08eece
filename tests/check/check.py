#!/usr/bin/env python3
"""The rules of the house, checked: `make check`.

usage: tests/check/check.py OUT    (from the top of the repository; OUT holds the built ncclprof)

Prints what breaks a rule, then `check: N passed, N failed`, one test a rule.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import arrows
import promises
import rules

MOST_FUNCTION_LINES = 60
MOST_FILE_LINES = 800

MOST_ROOMS = 14
MOST_FILES = 560
MOST_HEADERS = 140
LEAST_MEDIAN_LINES = 150

# Which rooms a room may include and call. Dependencies point one way; CONTRIBUTING.md shows them.
FAMILIES = ("chrome", "flight_recorder", "inspector", "kineto", "nccl", "nccl_ras", "nsys", "torch")
LAYERS = {
    "base": {"base"},
    "model": {"base", "model"},
    "input": {"base", "input"},
    "format": {"base", "model", "input", "format", *(f"format/{family}" for family in FAMILIES)},
    **{f"format/{family}": {"base", "model", "input", "format", f"format/{family}"} for family in FAMILIES},
    "store": {"base", "model", "store"},
    "ingest": {"base", "model", "input", "format", "store", "ingest"},
    "join": {"base", "model", "store", "join"},
    "job": {"base", "model", "store", "job"},
    "diagnose": {"base", "model", "store", "job", "diagnose"},
    "hang": {"base", "model", "store", "job", "diagnose", "hang"},
    "output": {"base", "model", "output"},
    "report": {"base", "model", "input", "store", "job", "diagnose", "hang", "output", "report"},
    "cmd": {"base", "model", "input", "format", "store", "ingest", "join", "report", "output", "cmd"},
    # The plugin runs in somebody's job: it takes nothing of the tool's.
    "plugin/ring": {"plugin/ring"},
    "plugin/tree": {"plugin/ring", "plugin/tree"},
    "plugin/write": {"plugin/ring", "plugin/tree", "plugin/write"},
    "plugin/recorder": {"plugin/ring", "plugin/write", "plugin/recorder"},
    "plugin/entry": {"plugin/ring", "plugin/recorder", "plugin/entry"},
}

# Each library stands behind one door.
DOORS = {"cjson/": {"input"}, "sqlite3.h": {"store"}, "sqlite3ext.h": {"store"}, "zlib.h": {"input", "output", "plugin/write"}}

BANNED = re.compile(r"\b(strcpy|stpcpy|strncpy|strcat|strncat|sprintf|vsprintf|gets|atoi|atol|atoll|atof|strtok|alloca|"
                    r"tmpnam|tempnam|mktemp|tmpfile|system|popen)\s*\(")
PRINTS = re.compile(r"\b(?:printf|puts|putchar|exit|_exit|abort|perror)\s*\(|\bf(?:printf|puts)\s*\([^;]*\bstd(?:out|err)\b")
INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^">]+)[">]', re.M)


def files(*endings):
    """Files of the project with one of these endings: those that git knows or could know."""
    listed = None
    if shutil.which("git"):
        listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True)
    if listed and listed.returncode == 0:
        names = listed.stdout.splitlines()
    else:
        names = [str(path) for path in Path(".").rglob("*") if path.parts[0] != "build"]
    return sorted(name for name in set(names) if name.endswith(endings) and os.path.isfile(name))


def room_of(path):
    """Its folder in lib/, or cmd."""
    parts = Path(path).parts
    return "cmd" if parts[0] == "cmd" else "/".join(parts[1:-1]) if parts[0] == "lib" else None


def text_of(path):
    """What is in the file; nothing, where there is none."""
    return Path(path).read_text(errors="replace") if os.path.exists(path) else ""


def without_comments(text):
    """The code alone, line numbers kept, strings emptied."""
    pattern = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
    return pattern.sub(lambda match: '""' + "\n" * match.group().count("\n"), text)


def exceptions():
    """Names in exceptions.txt, each with its reason."""
    found = {}
    for line in text_of("tests/check/exceptions.txt").splitlines():
        if line.strip() and not line.startswith("#"):
            name, _, reason = line.partition(" ")
            found[name] = reason.strip()
    return found


def check_layers():
    for path in files(".c", ".h"):
        room = room_of(path)
        if room is None:
            continue
        for kind, name in INCLUDE.findall(text_of(path)):
            if kind != '"' or name in ("schemas.h", "html_assets.h", "commit.h") or (name == arrows.PLUGIN_PUBLIC and room.startswith("plugin/")):
                continue
            if room not in LAYERS:
                yield f"{path}: {room} is no room of LAYERS in tests/check/check.py"
            elif name.rpartition("/")[0] not in LAYERS[room]:
                yield f"{path}: {room} must not include {name}"


def check_table_of_rooms():
    """CONTRIBUTING.md shows newcomers the same arrows: a row a room, `| room | what is in it | what it may call |`."""
    shown = {}
    for name, may in re.findall(r"^\| `(?:lib/)?([a-z_/]+)/` \|[^|]*\|([^|]*)\|$", text_of("CONTRIBUTING.md"), re.M):
        shown[name] = set(re.findall(r"[a-z_/]+", may)) | {name}
    for room in sorted(set(LAYERS) | set(shown)):
        if shown.get(room) != LAYERS.get(room):
            yield f"CONTRIBUTING.md: {room} may call {' '.join(sorted(LAYERS.get(room, {'nothing'}) - {room}))}"


def check_arrows():
    """Includes alone do not see that a file calls what some other header of its room declares."""
    return arrows.check(sys.argv[1], LAYERS, room_of)


# The plugin's headers of NCCL's and NVTX's interfaces stand beside the header of their room.
INTERFACES = ("plugin/ring/api.h", "plugin/ring/record.h", "plugin/ncclprof_tag.h")


def check_one_door_a_room():
    """A room shows one header, of its own name; what else it has is its own business."""
    for path in files(".c", ".h"):
        room = room_of(path)
        if room is None:
            continue
        for kind, name in INCLUDE.findall(text_of(path)):
            other = name.rpartition("/")[0]
            is_family = room.startswith("format") and name == "format/internal.h"
            if kind == '"' and other in LAYERS and other != room and name not in INTERFACES and not is_family \
                    and Path(name).stem != Path(other).name:
                yield f"{path}: {name} is internal to {other}; others include {other}/{Path(other).name}.h"


def check_size_of_house():
    """Rooms, files and headers: what a newcomer has to find the way in."""
    sources = [path for path in files(".c", ".h") if room_of(path) is not None]
    headers = [path for path in sources if path.endswith(".h")]
    rooms = {arrows.family_of(room_of(path)).partition("/")[0] for path in sources if room_of(path)}
    lengths = sorted(text_of(path).count("\n") for path in sources)
    for what, figure, limit in (("rooms", len(rooms), MOST_ROOMS), ("files", len(sources), MOST_FILES),
                                ("headers", len(headers), MOST_HEADERS)):
        if figure > limit:
            yield f"cmd and lib have {figure} {what}; {limit} is the limit"
    if lengths[len(lengths) // 2] < LEAST_MEDIAN_LINES:
        yield f"half of the files of cmd and lib have fewer than {LEAST_MEDIAN_LINES} lines"


def check_doors():
    for path in files(".c", ".h"):
        room = room_of(path)
        for _, name in INCLUDE.findall(text_of(path)):
            for library, rooms in DOORS.items():
                if name.startswith(library) and room is not None and room not in rooms:
                    yield f"{path}: {name} stays behind the door of {' and '.join(sorted(rooms))}"


def check_simulator_is_independent():
    for path in files(".c", ".h"):
        if path.startswith("tests/gen/simulate"):
            for kind, name in INCLUDE.findall(text_of(path)):
                if kind == '"' and "simulate" not in name:
                    yield f"{path}: the simulator shares no code, yet includes {name}"


def check_headers_alone():
    flags = ["-std=c11", "-D_GNU_SOURCE", "-I.", "-Ilib", "-Itests", "-Wall", "-Werror", "-fsyntax-only"]
    compiler = shlex.split(os.environ.get("CC", "cc"))

    def compile_alone(path):
        with tempfile.NamedTemporaryFile("w", suffix=".c") as source:
            # Twice: the guard has to work too.
            source.write(f'#include "{os.path.abspath(path)}"\n' * 2)
            source.flush()
            return path, subprocess.run([*compiler, *flags, source.name], capture_output=True, text=True)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for path, result in pool.map(compile_alone, [path for path in files(".h") if room_of(path) is not None]):
            if result.returncode:
                yield f"{path} does not compile alone:\n{result.stderr}"


def check_fuzz_targets_compile():
    """They are built by `make fuzz` alone, with clang: what they call must not change behind their back."""
    flags = ["-std=c11", "-D_GNU_SOURCE", "-I.", "-Ilib", "-Itests/unit", "-Itests/fuzz", "-Wall", "-Wextra",
             "-Wno-unused-parameter", "-Werror", "-fsyntax-only", "-DNCCLPROF_VERSION=\"\"",
             f"-I{sys.argv[1]}/generated"]
    compiler = shlex.split(os.environ.get("CC", "cc"))
    for path in files(".c"):
        if path.startswith("tests/fuzz/"):
            result = subprocess.run([*compiler, *flags, path], capture_output=True, text=True)
            if result.returncode:
                yield f"{path} does not compile:\n{result.stderr}"


def check_banned_functions():
    for path in files(".c", ".h"):
        for number, line in enumerate(without_comments(text_of(path)).splitlines(), 1):
            match = BANNED.search(line)
            if match:
                yield f"{path}:{number}: {match.group(1)} is banned"


def check_library_is_silent():
    for path in files(".c", ".h"):
        # The plugin's log goes to the job's standard error when it is asked to: see ncclprof-plugin(7).
        if room_of(path) in (None, "cmd") or path == "lib/plugin/ring/log.c":
            continue
        for number, line in enumerate(without_comments(text_of(path)).splitlines(), 1):
            if PRINTS.search(line):
                yield f"{path}:{number}: the library never prints or exits"


def functions(text):
    """(name, first line, lines) of each function, by the layout that clang-format gives."""
    lines = text.splitlines()
    begin = None
    for number, line in enumerate(lines):
        if line == "{":
            begin = number
        elif line == "}" and begin is not None:
            head = begin
            while head > 0 and lines[head - 1] and not lines[head - 1].startswith(("}", "#", " */")):
                head -= 1
            match = re.search(r"(\w+)\s*\(", " ".join(lines[head:begin]))
            yield (match.group(1) if match else "?"), begin + 1, number - begin - 1
            begin = None


def check_lengths():
    allowed = exceptions()
    used = set()
    for path in files(".c", ".h", ".py"):
        text = text_of(path)
        count = text.count("\n")
        if count > MOST_FILE_LINES:
            used.add(path)
            if path not in allowed:
                yield f"{path}: {count} lines, {MOST_FILE_LINES} are two files' worth"
        if path.endswith(".py"):
            continue
        for name, number, length in functions(text):
            if length > MOST_FUNCTION_LINES:
                used.add(f"{path}:{name}")
                if f"{path}:{name}" not in allowed:
                    yield f"{path}:{number}: {name} has {length} lines"
    for name, reason in allowed.items():
        if name not in used:
            yield f"tests/check/exceptions.txt: {name} needs no exception any more"
        if not reason:
            yield f"tests/check/exceptions.txt: {name} has no reason"


def check_layout():
    sources = files(".c", ".h")
    result = subprocess.run(["clang-format", "--dry-run", "-Werror", *sources], capture_output=True, text=True)
    if result.returncode:
        yield "clang-format would change:\n" + "\n".join(
            sorted({line.split(":")[0] for line in result.stderr.splitlines() if ": error:" in line})
        )


def help_of(out, *words):
    return subprocess.run([f"{out}/ncclprof", *words], capture_output=True, text=True, check=True).stdout


def commands(out):
    """Names in `ncclprof --help`."""
    listing = help_of(out, "--help").split("commands:")[1].split("options:")[0]
    return re.findall(r"^  ([a-z-]+) ", listing, re.M)


def options_of_help(text):
    return set(re.findall(r"^  (?:-\w, |    )(--[a-z][a-z-]*)", text, re.M))


def options_of_page(path):
    """Options that the page's OPTIONS section explains, each in an .It line."""
    section = re.search(r"^\.Sh OPTIONS\n(.*?)(?=^\.Sh |\Z)", text_of(path), re.M | re.S)
    found = set()
    for line in re.findall(r"^\.It Fl .*", section.group(1) if section else "", re.M):
        found |= {"-" + word for word in re.findall(r"Fl (-[a-z][a-z-]*)", line)}
    return found


def check_help_against_pages():
    out = sys.argv[1]
    common = options_of_page("man/ncclprof.1")
    for command in commands(out):
        page = f"man/ncclprof-{command}.1"
        if not os.path.exists(page):
            yield f"{command} has no {page}"
            continue
        said, explained = options_of_help(help_of(out, command, "-h")), options_of_page(page)
        for option in sorted(said - explained - common):
            yield f"{page}: {option} is in 'ncclprof {command} -h' only; an option of all commands belongs in man/ncclprof.1"
        for option in sorted(explained - said):
            yield f"{page}: {option} is not in 'ncclprof {command} -h'"
        if f"ncclprof-{command} 1" not in text_of("man/ncclprof.1"):
            yield f"man/ncclprof.1 does not mention ncclprof-{command}(1)"


def defaults_of_help(text):
    """{option: default} of `ncclprof COMMAND -h`."""
    found = {}
    for chunk in re.split(r"\n(?=  (?:-\w, |    )--)", text.split("options:")[1]):
        match = re.match(r"\s*(?:-\w, )?(--[a-z-]+).*\(default: ([\w,]+)\)$", " ".join(chunk.split("\n\n")[0].split()))
        if match:
            found[match.group(1)] = match.group(2)
    return found


def check_defaults_against_pages():
    """What help says is the default is in what the page says of the option."""
    for command in commands(sys.argv[1]):
        page = f"man/ncclprof-{command}.1"
        for option, default in defaults_of_help(help_of(sys.argv[1], command, "-h")).items():
            said = re.search(rf"^\.It .*Fl {option[1:]}\b.*\n((?:(?!\.It |\.El).*\n)*)", text_of(page), re.M)
            if said and option != "--format" and not re.search(rf"(?<![\w.]){re.escape(default)}(?![\w])", said.group(1)):
                yield f"{page}: {option} has the default {default}"


def check_hardening():
    """Of a release build: what the compiler and linker can do against what slips through."""
    out = sys.argv[1]
    if "san-" in out:
        return
    for path, kind in ((f"{out}/ncclprof", "PIE"), (f"{out}/libnccl-profiler-ncclprof.so", ""),
                       (f"{out}/ncclprof_views.so", "")):
        shown = subprocess.run(["readelf", "-hldW", "--dyn-syms", path], capture_output=True, text=True, check=True).stdout
        stack = re.search(r"GNU_STACK.*", shown)
        for what, holds in (("is no position-independent code", "DYN (" in shown and kind in shown),
                            ("has no RELRO", "GNU_RELRO" in shown),
                            ("binds lazily: RELRO is partial", "BIND_NOW" in shown),
                            ("has an executable stack", stack and "RWE" not in stack.group()),
                            ("has no stack protector", "__stack_chk_fail" in shown),
                            ("is not fortified", "__vsnprintf_chk" in shown)):
            if not holds:
                yield f"{path} {what}"


def check_registries():
    return promises.check_registries(sys.argv[1], LAYERS)


def check_rules():
    """Of a diagnosis."""
    return rules.check(sys.argv[1])


def check_sql_in_schemas():
    return promises.check_sql_in_schemas(files(".c", ".h"))


def check_named_files():
    named = [path for path in files(".md", ".c", ".h", ".py", ".sql", ".awk", ".mk", *(f".{section}" for section in range(1, 9)))]
    return promises.check_named_files([path for path in named if not path.startswith("fixtures/")])


def check_pages():
    for page in sorted(str(path) for path in Path("man").glob("*.[1-9]")):
        result = subprocess.run(["mandoc", "-Tlint", "-Wwarning", page], capture_output=True, text=True)
        if result.returncode or result.stdout:
            yield result.stdout.strip()


def check_columns_documented():
    """Every table and view of the schema is in the page of the store."""
    page = text_of("man/ncclprof-store.5")
    for path in files(".sql"):
        if path.startswith(("schemas/store/", "schemas/view/")):
            for name in re.findall(r"^CREATE (?:TABLE|VIEW) (\w+)", text_of(path), re.M):
                if not re.search(rf"\b{name}\b", page):
                    yield f"man/ncclprof-store.5 does not mention {name}"


RULES = [
    ("dependencies point one way", check_layers),
    ("calls go the same way, and in no circle", check_arrows),
    ("CONTRIBUTING.md shows the same rooms and arrows", check_table_of_rooms),
    ("a room shows one header", check_one_door_a_room),
    ("rooms, files and headers are few", check_size_of_house),
    ("libraries stay behind their doors", check_doors),
    ("the simulator is independent", check_simulator_is_independent),
    ("headers compile alone", check_headers_alone),
    ("fuzz targets compile", check_fuzz_targets_compile),
    ("no banned functions", check_banned_functions),
    ("the library never prints or exits", check_library_is_silent),
    ("functions and files are short", check_lengths),
    ("clang-format decides layout", check_layout),
    ("help and man pages agree", check_help_against_pages),
    ("man pages give the defaults that help gives", check_defaults_against_pages),
    ("release builds are hardened", check_hardening),
    ("registries: each entry has all that their heads list", check_registries),
    ("rules and limits: each is said in the manual, and tested on both sides", check_rules),
    ("migrations are numbered, described, and stay as published", promises.check_migrations),
    ("README.md is short", promises.check_length_of_readme),
    ("SQL lies in schemas", check_sql_in_schemas),
    ("files that are named are there", check_named_files),
    ("CONTRIBUTING.md says where things are", promises.check_places),
    ("man pages are clean", check_pages),
    ("the store's page names every table", check_columns_documented),
]


def main():
    failed = 0
    for name, rule in RULES:
        broken = list(rule())
        failed += bool(broken)
        if broken:
            print(f"FAILED {name}")
            for line in broken:
                print("  " + line.replace("\n", "\n  "))
    print(f"check: {len(RULES) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
