"""Reads the output of the plugin independently of it, with json and gzip of the standard library."""

import collections
import gzip
import json
import zlib


def read_bytes(path):
    """The text of the file; of a gzip file without its end, the part that can be read."""
    with open(path, "rb") as file:
        raw = file.read()
    if raw[:2] != b"\x1f\x8b":
        return raw
    try:
        return gzip.decompress(raw)
    except EOFError:
        return zlib.decompressobj(31).decompress(raw)


def read_growing(path):
    """The text of a file that may be written at the same time; none if it was read between two states."""
    try:
        return read_bytes(path)
    except (EOFError, OSError, zlib.error):
        return b""


class Trace:
    """Every line is parsed by itself as strict JSON and ends in a comma, so the whole array is valid, too."""

    def __init__(self, path, whole=True):
        self.path = path
        self.events = []
        text = read_bytes(path).decode("utf-8")
        lines = text.split("\n")
        assert lines[0] == "[", path
        tail = lines.pop()
        if whole:
            assert tail == "" and lines[-1] == "{}]", (path, lines[-1:], tail)
            lines.pop()
        else:
            self.cut_line = tail
        for line in lines[1:]:
            if not whole and line == "{}]":
                continue
            assert line.endswith(","), (path, line)
            self.events.append(json.loads(line[:-1]))

    def count(self, **wanted):
        return sum(all(e.get(k) == v for k, v in wanted.items()) for e in self.events)

    def notes(self, name):
        return [e for e in self.events if e.get("cat") == "NCCLPROF" and e["name"] == name]

    def pairs(self, category):
        """Begin and end of each operation of a category; none is nested in another."""
        events = [e for e in self.events if e["cat"] == category and e["ph"] in "be"]
        return list(zip(events[::2], events[1::2]))

    def unfinished(self):
        return sum(bool(e.get("args", {}).get("Unfinished")) for e in self.events)

    def check_nesting(self):
        """Begin and end lines pair like brackets, by category, name and id; and no id occurs twice in a category."""
        open_events = []
        seen = set()
        for e in self.events:
            key = (e["cat"], e["name"], e.get("id"))
            if e["ph"] == "b":
                if e["cat"] != "NET" and e["cat"] != "PROXY":
                    assert key not in seen, key
                seen.add(key)
                open_events.append(key)
            elif e["ph"] == "e":
                assert open_events and open_events[-1] == key, (self.path, key, open_events[-3:])
                open_events.pop()
        assert not open_events, open_events

    def check_viewers(self):
        """The requirements of trace viewers on the events that they show.

        By the Trace Event Format: numbers in ts, pid and tid; a scope in an instant event; begins and ends of one
        category and id, ordered by time, nest by name. By Perfetto's importer: an end closes the innermost slice that is
        open under its category, id and name, in the order of times; so it shows as many slices as there are begins.
        Both name a process as its line process_name does.
        """
        assert [bool(e["args"]["name"]) for e in self.notes("process_name")] == [True], self.path
        groups = collections.defaultdict(list)
        open_slices = collections.defaultdict(int)
        slices = collections.Counter()
        for e in sorted(self.events, key=lambda e: e["ts"]):
            assert isinstance(e["ts"], float) and e["ts"] >= 0, e
            assert isinstance(e["pid"], int) and isinstance(e["tid"], int), e
            assert e["ph"] in "beiMX" and isinstance(e["name"], str) and isinstance(e["cat"], str), e
            assert isinstance(e.get("args", {}), dict), e
            if e["ph"] == "X":
                assert isinstance(e["dur"], float) and e["dur"] >= 0, e
            if e["ph"] == "i":
                assert e["s"] in ("g", "p", "t"), e
            if e["ph"] not in "be":
                continue
            assert isinstance(e["id"], int) and e["id"] >= 0, e
            group = groups[e["cat"], e["id"]]
            track = (e["name"], e["cat"], e["id"])
            if e["ph"] == "b":
                assert not open_slices[track], e
                open_slices[track] = 1
                slices[e["name"], e["cat"]] += 1
                group.append(e["name"])
            else:
                assert open_slices[track], e
                open_slices[track] = 0
                assert group.pop() == e["name"], e
        assert not any(open_slices.values())
        assert slices == collections.Counter((e["name"], e["cat"]) for e in self.events if e["ph"] == "b")

    def counted(self):
        """The same figures that the fake core counted while it played."""
        proxies = collections.Counter(
            e["name"] for e in self.events if e["cat"] == "PROXY" and e["ph"] == "b"
        )
        steps = [e for e in self.events if e["cat"] == "NET" and e["ph"] == "b"]
        return {
            "groups": self.count(cat="GROUP_API", ph="b") + self.count(cat="GROUP", ph="b"),
            "calls": self.count(cat="COLL_API", ph="b") + self.count(cat="P2P_API", ph="b"),
            "coll": self.count(cat="COLL", ph="b"),
            "p2p": self.count(cat="P2P", ph="b"),
            "proxy_ops": sum(proxies[n] for n in ("Send", "Recv", "ScheduleSend", "ScheduleRecv")),
            "steps": sum(e["name"] in ("SendWait", "RecvWait") for e in steps),
            "kernels": self.count(cat="GPU", ph="b"),
            "phases": self.count(cat="GPU", ph="X"),
            "tags": self.count(cat="USER_TAG", name="UserTag"),
        }

    def parents(self):
        """(category, category of the enclosing event) of every begin line, counted."""
        found = collections.Counter()
        stack = []
        for e in self.events:
            if e["ph"] == "b":
                found[(e["cat"], stack[-1] if stack else None)] += 1
                stack.append(e["cat"])
            elif e["ph"] == "e":
                stack.pop()
        return found
