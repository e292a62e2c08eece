"""Which file calls which, read from the object files.

The includes of a file show what it may call; the undefined symbols of its object show what it does call. An arrow goes
from a file to each file that defines a symbol it uses.
"""

import os
import re
import subprocess
from pathlib import Path

# The header that applications include. It belongs to no room, and any file may include it.
PLUGIN_PUBLIC = "plugin/ncclprof_tag.h"

def sources():
    """The sources of the tool and of the plugin."""
    return sorted(str(path) for path in [*Path("lib").rglob("*.c"), *Path("cmd").glob("*.c")])


def is_plugins(path):
    """Tool and plugin are linked separately: a symbol of the same name in both is not the same function."""
    return path.startswith("lib/plugin/")


def object_of(out, source):
    return f"{out}/{'plugin' if is_plugins(source) else 'object'}/{source[:-2]}.o"


def symbols(out, present):
    """{symbol: the source that defines it}, {source: the symbols that it uses and does not define}."""
    source_of = {object_of(out, source): source for source in present}
    listed = subprocess.run(["nm", "-A", "-g", *source_of], capture_output=True, text=True, check=True).stdout
    defined, used = {}, {source: set() for source in present}
    for line in listed.splitlines():
        path, _, rest = line.partition(":")
        kind, name = rest.split()[-2:]
        if kind == "U":
            used[source_of[path]].add(name)
        else:
            defined[name] = source_of[path]
    return defined, used


def arrows(defined, used):
    """{file: {file that it calls: the symbols that it uses from there}}."""
    found = {source: {} for source in used}
    for source, names in used.items():
        for name in sorted(names):
            target = defined.get(name, source)
            if target != source:
                found[source].setdefault(target, []).append(name)
    return found


def cycles(graph):
    """The cycles: sets of two or more nodes that reach each other (Tarjan, SIAM J. Computing 1(2), 1972), without recursion."""
    number, low, stack, found = {}, {}, [], []
    for root in graph:
        work = [] if root in number else [(root, iter(graph[root]))]
        if work:
            number[root] = low[root] = len(number)
            stack.append(root)
        while work:
            node, targets = work[-1]
            for target in targets:
                if target not in number:
                    number[target] = low[target] = len(number)
                    stack.append(target)
                    work.append((target, iter(graph[target])))
                    break
                if target in stack:
                    low[node] = min(low[node], number[target])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == number[node]:
                    at = stack.index(node)
                    found += [sorted(stack[at:])] if len(stack) - at > 1 else []
                    del stack[at:]
    return found


def between(graph, nodes):
    """The arrows of a cycle, each with one symbol as an example."""
    return "; ".join(f"{node} uses {graph[node][target][0]} from {target}"
                     for node in nodes for target in graph[node] if target in nodes)


def family_of(room):
    """The top-level room: format/kineto belongs to format, whose registry names it. The folders of the plugin are rooms."""
    return room if room.startswith("plugin/") else room.partition("/")[0]


def of_rooms(graph, room_of):
    """The same graph, with rooms as nodes."""
    found = {}
    for source, targets in graph.items():
        room = family_of(room_of(source))
        found.setdefault(room, {})
        for target, names in targets.items():
            other = family_of(room_of(target))
            if other != room:
                found[room].setdefault(other, []).append(f"{names[0]} ({source})")
    return found


def sources_by_program(out):
    """The compiled sources of the tool, and those of the plugin. Objects whose source was deleted are ignored."""
    present = [source for source in sources() if os.path.exists(object_of(out, source))]
    return [[source for source in present if is_plugins(source) == of_plugin] for of_plugin in (False, True)]


def graph_of(out):
    """Which file calls which, in the tool and in the plugin."""
    found = {}
    for present in sources_by_program(out):
        found.update(arrows(*symbols(out, present)))
    return found


def check(out, layers, room_of):
    """Yields one line per violation."""
    graph = graph_of(out)
    yield from (f"{source} has no object file in {out}" for source in sources() if source not in graph)
    for source, targets in graph.items():
        for target, names in targets.items():
            if room_of(target) not in layers.get(room_of(source), ()):
                yield f"{source}: {room_of(source)} must not call {room_of(target)} ({names[0]} in {target})"
    rooms = of_rooms(graph, room_of)
    for cycle in cycles(rooms):
        yield f"rooms depend on each other in a cycle: {between(rooms, cycle)}"
    for cycle in cycles(graph):
        yield f"files depend on each other in a cycle: {between(graph, cycle)}"
