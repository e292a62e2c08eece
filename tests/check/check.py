#!/usr/bin/env python3
"""Checks the rules for the source tree: `make check`.

usage: tests/check/check.py OUT    (from the top of the repository; OUT holds the built ncclprof)

Prints each violation of a rule, then `check: N passed, N failed`. Each rule is one test.
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

MOST_ROOMS = 15
MOST_FILES = 560
MOST_HEADERS = 140
LEAST_MEDIAN_LINES = 150

# The rooms that each room may include and call. Dependencies point one way; CONTRIBUTING.md shows them.
FAMILIES = ("chrome", "flight_recorder", "inspector", "kineto", "nccl", "nccl_ras", "nsys", "torch")
LAYERS = {
    "base": {"base"},
    "model": {"base", "model"},
    "input": {"base", "input"},
    "format": {"base", "model", "input", "format", *(f"format/{family}" for family in FAMILIES)},
    **{f"format/{family}": {"base", "model", "input", "format", f"format/{family}"} for family in FAMILIES},
    # A job's stderr has lines of both.
    "format/nccl": {"base", "model", "input", "format", "format/nccl", "format/torch"},
    "store": {"base", "model", "store"},
    "ingest": {"base", "model", "input", "format", "store", "ingest"},
    "join": {"base", "model", "store", "join"},
    "job": {"base", "model", "store", "job"},
    "diagnose": {"base", "model", "store", "job", "diagnose"},
    "hang": {"base", "model", "store", "job", "diagnose", "hang"},
    "output": {"base", "model", "output"},
    "report": {"base", "model", "input", "store", "job", "diagnose", "hang", "output", "report"},
    # It runs beside jobs in processes of its own.
    "node": {"base", "node"},
    "cmd": {"base", "model", "input", "format", "store", "ingest", "join", "report", "output", "node", "cmd"},
    # The plugin is loaded into the user's job, so it shares no code with the tool.
    "plugin/ring": {"plugin/ring"},
    "plugin/tree": {"plugin/ring", "plugin/tree"},
    "plugin/write": {"plugin/ring", "plugin/tree", "plugin/write"},
    "plugin/recorder": {"plugin/ring", "plugin/write", "plugin/recorder"},
    "plugin/entry": {"plugin/ring", "plugin/recorder", "plugin/entry"},
}

# The rooms that may include the headers of each library.
LIBRARY_ROOMS = {"cjson/": {"input"}, "sqlite3.h": {"store"}, "sqlite3ext.h": {"store"}, "zlib.h": {"input", "output", "plugin/write"}}

BANNED = re.compile(r"\b(strcpy|stpcpy|strncpy|strcat|strncat|sprintf|vsprintf|gets|atoi|atol|atoll|atof|strtok|alloca|"
                    r"tmpnam|tempnam|mktemp|tmpfile|system|popen)\s*\(")
PRINTS = re.compile(r"\b(?:printf|puts|putchar|exit|_exit|abort|perror)\s*\(|\bf(?:printf|puts)\s*\([^;]*\bstd(?:out|err)\b")
INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^">]+)[">]', re.M)


def files(*endings):
    """Files of the project with one of these endings: all that git tracks or does not ignore."""
    listed = None
    if shutil.which("git"):
        listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True)
    if listed and listed.returncode == 0:
        names = listed.stdout.splitlines()
    else:
        names = [str(path) for path in Path(".").rglob("*") if path.parts[0] != "build"]
    return sorted(name for name in set(names) if name.endswith(endings) and os.path.isfile(name))


def room_of(path):
    """The room of a source: its folder below lib/, or "cmd". None for other files."""
    parts = Path(path).parts
    return "cmd" if parts[0] == "cmd" else "/".join(parts[1:-1]) if parts[0] == "lib" else None


def text_of(path):
    """The content of the file, or "" if it does not exist."""
    return Path(path).read_text(errors="replace") if os.path.exists(path) else ""


def without_comments(text):
    """The text without comments and with empty strings. Line numbers stay the same."""
    pattern = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
    return pattern.sub(lambda match: '""' + "\n" * match.group().count("\n"), text)


def exceptions():
    """{name: reason} from exceptions.txt."""
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
                yield f"{path}: room {room} is not in LAYERS (tests/check/check.py)"
            elif name.rpartition("/")[0] not in LAYERS[room]:
                yield f"{path}: {room} must not include {name}"


def check_table_of_rooms():
    """CONTRIBUTING.md shows LAYERS as a table with one row per room: `| room | what is in it | what it may call |`."""
    shown = {}
    for name, may in re.findall(r"^\| `(?:lib/)?([a-z_/]+)/` \|[^|]*\|([^|]*)\|$", text_of("CONTRIBUTING.md"), re.M):
        shown[name] = set(re.findall(r"[a-z_/]+", may)) | {name}
    for room in sorted(set(LAYERS) | set(shown)):
        if shown.get(room) != LAYERS.get(room):
            allowed = ", ".join(sorted(LAYERS.get(room, {"nothing"}) - {room})) or "nothing"
            yield f"CONTRIBUTING.md: the table of rooms must say that {room} may call: {allowed}"


def check_arrows():
    """Checks the calls, too. The includes do not show a call of a function that the file declares by another way."""
    return arrows.check(sys.argv[1], LAYERS, room_of)


# Other rooms may include these headers of the plugin, too: the interfaces of NCCL and NVTX.
INTERFACES = ("plugin/ring/api.h", "plugin/ring/record.h", "plugin/ncclprof_tag.h")


def check_one_public_header():
    """Other rooms include only the header that has the name of the room. All other headers are internal to the room."""
    for path in files(".c", ".h"):
        room = room_of(path)
        if room is None:
            continue
        for kind, name in INCLUDE.findall(text_of(path)):
            other = name.rpartition("/")[0]
            is_family = room.startswith("format") and name == "format/internal.h"
            if kind == '"' and other in LAYERS and other != room and name not in INTERFACES and not is_family \
                    and Path(name).stem != Path(other).name:
                yield f"{path}: {name} is internal to {other}; include {other}/{Path(other).name}.h instead"


def check_number_of_files():
    """Limits the number of rooms, files and headers, so that a new contributor finds the way."""
    sources = [path for path in files(".c", ".h") if room_of(path) is not None]
    headers = [path for path in sources if path.endswith(".h")]
    rooms = {arrows.family_of(room_of(path)).partition("/")[0] for path in sources if room_of(path)}
    lengths = sorted(text_of(path).count("\n") for path in sources)
    for what, figure, limit in (("rooms", len(rooms), MOST_ROOMS), ("files", len(sources), MOST_FILES),
                                ("headers", len(headers), MOST_HEADERS)):
        if figure > limit:
            yield f"cmd and lib have {figure} {what} (limit {limit})"
    if lengths[len(lengths) // 2] < LEAST_MEDIAN_LINES:
        yield f"the files of cmd and lib have a median of {lengths[len(lengths) // 2]} lines; at least {LEAST_MEDIAN_LINES} are required"


def check_library_headers():
    for path in files(".c", ".h"):
        room = room_of(path)
        for _, name in INCLUDE.findall(text_of(path)):
            for library, rooms in LIBRARY_ROOMS.items():
                if name.startswith(library) and room is not None and room not in rooms:
                    yield f"{path}: only {' and '.join(sorted(rooms))} may include {name}"


def check_simulator_is_independent():
    for path in files(".c", ".h"):
        if path.startswith("tests/gen/simulate"):
            for kind, name in INCLUDE.findall(text_of(path)):
                if kind == '"' and "simulate" not in name:
                    yield f"{path}: the simulator must not include {name}: it shares no code with the tool"


def check_headers_alone():
    flags = ["-std=c11", "-D_GNU_SOURCE", "-I.", "-Ilib", "-Itests", "-Wall", "-Werror", "-fsyntax-only"]
    compiler = shlex.split(os.environ.get("CC", "cc"))

    def compile_alone(path):
        with tempfile.NamedTemporaryFile("w", suffix=".c") as source:
            # Included twice, to test the include guard.
            source.write(f'#include "{os.path.abspath(path)}"\n' * 2)
            source.flush()
            return path, subprocess.run([*compiler, *flags, source.name], capture_output=True, text=True)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for path, result in pool.map(compile_alone, [path for path in files(".h") if room_of(path) is not None]):
            if result.returncode:
                yield f"{path} does not compile on its own:\n{result.stderr}"


def check_fuzz_targets_compile():
    """Only `make fuzz` builds the fuzz targets, with clang. Compiling them here shows when a function they call changed."""
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
                yield f"{path}:{number}: {match.group(1)} is a banned function"


def check_library_is_silent():
    for path in files(".c", ".h"):
        # The plugin's log goes to the standard error of the job on request: see ncclprof-plugin(7).
        # lib/node/process.c starts processes, and must end them.
        if room_of(path) in (None, "cmd") or path in ("lib/plugin/ring/log.c", "lib/node/process.c"):
            continue
        for number, line in enumerate(without_comments(text_of(path)).splitlines(), 1):
            if PRINTS.search(line):
                yield f"{path}:{number}: the library must not print or exit"


def functions(text):
    """(name, first line, lines) of each function. Relies on the layout of clang-format."""
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
                yield f"{path}: {count} lines (limit {MOST_FILE_LINES}); split the file"
        if path.endswith(".py"):
            continue
        for name, number, length in functions(text):
            if length > MOST_FUNCTION_LINES:
                used.add(f"{path}:{name}")
                if f"{path}:{name}" not in allowed:
                    yield f"{path}:{number}: function {name} has {length} lines (limit {MOST_FUNCTION_LINES})"
    for name, reason in allowed.items():
        if name not in used:
            yield f"tests/check/exceptions.txt: {name} no longer needs an exception; remove the line"
        if not reason:
            yield f"tests/check/exceptions.txt: {name}: the reason is missing"


def check_layout():
    sources = files(".c", ".h")
    result = subprocess.run(["clang-format", "--dry-run", "-Werror", *sources], capture_output=True, text=True)
    if result.returncode:
        yield "not formatted with clang-format (run make format):\n" + "\n".join(
            sorted({line.split(":")[0] for line in result.stderr.splitlines() if ": error:" in line})
        )


def help_of(out, *words):
    return subprocess.run([f"{out}/ncclprof", *words], capture_output=True, text=True, check=True).stdout


def commands(out):
    """The commands that `ncclprof --help` lists."""
    listing = help_of(out, "--help").split("commands:")[1].split("options:")[0]
    return re.findall(r"^  ([a-z-]+) ", listing, re.M)


def options_of_help(text):
    return set(re.findall(r"^  (?:-\w, |    )(--[a-z][a-z-]*)", text, re.M))


def options_of_page(path):
    """Options in the OPTIONS section of the page, each in an .It line."""
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
            yield f"{page} does not exist; every command has a manual page"
            continue
        in_help, in_page = options_of_help(help_of(out, command, "-h")), options_of_page(page)
        for option in sorted(in_help - in_page - common):
            yield f"{page}: option {option} is missing; 'ncclprof {command} -h' lists it; an option of all commands belongs in man/ncclprof.1"
        for option in sorted(in_page - in_help):
            yield f"{page}: option {option} is not in 'ncclprof {command} -h'"
        if f"ncclprof-{command} 1" not in text_of("man/ncclprof.1"):
            yield f"man/ncclprof.1 does not mention ncclprof-{command}(1)"


def defaults_of_help(text):
    """{option: default} from the output of `ncclprof COMMAND -h`."""
    found = {}
    for chunk in re.split(r"\n(?=  (?:-\w, |    )--)", text.split("options:")[1]):
        match = re.match(r"\s*(?:-\w, )?(--[a-z-]+).*\(default: ([\w,]+)\)$", " ".join(chunk.split("\n\n")[0].split()))
        if match:
            found[match.group(1)] = match.group(2)
    return found


def check_defaults_against_pages():
    """The manual page gives the same default for an option as `ncclprof COMMAND -h`."""
    for command in commands(sys.argv[1]):
        page = f"man/ncclprof-{command}.1"
        for option, default in defaults_of_help(help_of(sys.argv[1], command, "-h")).items():
            item = re.search(rf"^\.It .*Fl {option[1:]}\b.*\n((?:(?!\.It |\.El).*\n)*)", text_of(page), re.M)
            if item and option != "--format" and not re.search(rf"(?<![\w.]){re.escape(default)}(?![\w])", item.group(1)):
                yield f"{page}: the text of {option} does not give its default {default}"


def check_hardening():
    """A release build uses the protections of compiler and linker against memory errors."""
    out = sys.argv[1]
    if "san-" in out:
        return
    for path, kind in ((f"{out}/ncclprof", "PIE"), (f"{out}/libnccl-profiler-ncclprof.so", ""),
                       (f"{out}/ncclprof_views.so", "")):
        shown = subprocess.run(["readelf", "-hldW", "--dyn-syms", path], capture_output=True, text=True, check=True).stdout
        stack = re.search(r"GNU_STACK.*", shown)
        for what, holds in (("is not position-independent", "DYN (" in shown and kind in shown),
                            ("has no RELRO", "GNU_RELRO" in shown),
                            ("binds symbols lazily, so RELRO is only partial", "BIND_NOW" in shown),
                            ("has an executable stack", stack and "RWE" not in stack.group()),
                            ("has no stack protector", "__stack_chk_fail" in shown),
                            ("is not compiled with _FORTIFY_SOURCE", "__vsnprintf_chk" in shown)):
            if not holds:
                yield f"{path} {what}"


def check_registries():
    return promises.check_registries(sys.argv[1], LAYERS)


def check_rules():
    """The rules of diagnose and compare, and their limits."""
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


def check_tables_of_pages():
    """groff does not wrap a cell: each is at most as wide as its column, and the columns fit on 80 characters."""
    for page in sorted(str(path) for path in Path("man").glob("*.[1-9]")):
        for head, body in re.findall(r"^\.Bl -column ([^\n]*)\n(.*?)^\.El$", text_of(page), re.M | re.S):
            columns = re.sub(r" -(offset \w+|compact)", "", head)
            widths = [len(quoted or word) for quoted, word in re.findall(r'"([^"]*)"|(\S+)', columns)]
            last = 5 + sum(width + 4 for width in widths[:-1])
            if last + widths[-1] > 80:
                yield f"{page}: the columns of a table are too wide together: {head}"
            for line in re.findall(r"^\.It (.*)$", body, re.M):
                cells = [re.sub(r"^(Li|Sy|Em|Ar) ", "", cell) for cell in line.split(" Ta ")]
                for cell, width in zip(cells[:-1], widths):
                    if len(cell) > width:
                        yield f"{page}: wider than its column: {cell}"


def check_columns_documented():
    """The manual page of the store names every table and view of the schema."""
    page = text_of("man/ncclprof-store.5")
    for path in files(".sql"):
        if path.startswith(("schemas/store/", "schemas/view/")):
            for name in re.findall(r"^CREATE (?:TABLE|VIEW) (\w+)", text_of(path), re.M):
                if not re.search(rf"\b{name}\b", page):
                    yield f"man/ncclprof-store.5 does not mention {name}"


RULES = [
    ("dependencies point one way", check_layers),
    ("calls follow the same dependencies, without cycles", check_arrows),
    ("CONTRIBUTING.md shows the same rooms and dependencies", check_table_of_rooms),
    ("a room has one public header", check_one_public_header),
    ("the number of rooms, files and headers is limited", check_number_of_files),
    ("only one room includes each library's headers", check_library_headers),
    ("the simulator shares no code with the tool", check_simulator_is_independent),
    ("headers compile on their own", check_headers_alone),
    ("fuzz targets compile", check_fuzz_targets_compile),
    ("no banned functions", check_banned_functions),
    ("the library never prints or exits", check_library_is_silent),
    ("functions and files are short", check_lengths),
    ("sources are formatted with clang-format", check_layout),
    ("--help and manual pages list the same options", check_help_against_pages),
    ("--help and manual pages give the same defaults", check_defaults_against_pages),
    ("release builds are hardened", check_hardening),
    ("each registry entry has everything that the registry's head comment lists", check_registries),
    ("each rule and limit is in the manual and tested on both sides of its limit", check_rules),
    ("migrations are numbered, commented and unchanged since publication", promises.check_migrations),
    ("README.md is short", promises.check_length_of_readme),
    ("SQL is in schemas/ only", check_sql_in_schemas),
    ("files named in texts and comments exist", check_named_files),
    ("the table 'Where is ...' in CONTRIBUTING.md names existing files", promises.check_places),
    ("mandoc accepts the manual pages", check_pages),
    ("tables of the manual pages fit on 80 columns", check_tables_of_pages),
    ("ncclprof-store(5) names every table and view", check_columns_documented),
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
