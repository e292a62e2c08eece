"""Who calls whom, read where it is real: in the objects that are linked.

An include says what a file may call; an object's undefined symbols say what it does call. An arrow goes from a file
to another one that defines what it wants.
"""

import os
import re
import subprocess
from pathlib import Path

# What applications include of the plugin: whichever files do it, it lies in none of the rooms.
PLUGIN_PUBLIC = "plugin/ncclprof_tag.h"

def sources():
    """What goes into the tool and into the plugin."""
    return sorted(str(path) for path in [*Path("lib").rglob("*.c"), *Path("cmd").glob("*.c")])


def is_plugins(path):
    """The plugin is a world of its own: what is called alike in the tool is something else."""
    return path.startswith("lib/plugin/")


def object_of(out, source):
    return f"{out}/{'plugin' if is_plugins(source) else 'object'}/{source[:-2]}.o"


def symbols(out, present):
    """{symbol: the source that defines it}, {source: symbols that it wants}."""
    source_of = {object_of(out, source): source for source in present}
    listed = subprocess.run(["nm", "-A", "-g", *source_of], capture_output=True, text=True, check=True).stdout
    defined, wanted = {}, {source: set() for source in present}
    for line in listed.splitlines():
        path, _, rest = line.partition(":")
        kind, name = rest.split()[-2:]
        if kind == "U":
            wanted[source_of[path]].add(name)
        else:
            defined[name] = source_of[path]
    return defined, wanted


def arrows(defined, wanted):
    """{file: {file that it calls: the symbols it wants of it}}."""
    found = {source: {} for source in wanted}
    for source, names in wanted.items():
        for name in sorted(names):
            target = defined.get(name, source)
            if target != source:
                found[source].setdefault(target, []).append(name)
    return found


def circles(graph):
    """Lists of nodes that reach each other, of two and more (Tarjan, SIAM J. Computing 1(2), 1972), without recursion."""
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
    """The arrows of a circle, with an example of what each is for."""
    return "; ".join(f"{node} wants {graph[node][target][0]} of {target}"
                     for node in nodes for target in graph[node] if target in nodes)


def family_of(room):
    """A family of formats is a part of its room: the registry there names them all. The plugin is no room, it has some."""
    return room if room.startswith("plugin/") else room.partition("/")[0]


def of_rooms(graph, room_of):
    """The same graph, room by room."""
    found = {}
    for source, targets in graph.items():
        room = family_of(room_of(source))
        found.setdefault(room, {})
        for target, names in targets.items():
            other = family_of(room_of(target))
            if other != room:
                found[room].setdefault(other, []).append(f"{names[0]} ({source})")
    return found


def worlds(out):
    """Of tool and plugin the sources that are compiled; a stale object of a source that is gone says nothing."""
    present = [source for source in sources() if os.path.exists(object_of(out, source))]
    return [[source for source in present if is_plugins(source) == of_plugin] for of_plugin in (False, True)]


def graph_of(out):
    """Who calls whom, in both worlds."""
    found = {}
    for present in worlds(out):
        found.update(arrows(*symbols(out, present)))
    return found


def check(out, layers, room_of):
    """What is wrong, a line each."""
    graph = graph_of(out)
    yield from (f"{source} has no object in {out}" for source in sources() if source not in graph)
    for source, targets in graph.items():
        for target, names in targets.items():
            if room_of(target) not in layers.get(room_of(source), ()):
                yield f"{source}: {room_of(source)} must not call {room_of(target)} ({names[0]} of {target})"
    rooms = of_rooms(graph, room_of)
    for circle in circles(rooms):
        yield f"rooms in a circle: {between(rooms, circle)}"
    for circle in circles(graph):
        yield f"files in a circle: {between(graph, circle)}"
