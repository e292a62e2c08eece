"""Reads a Perfetto trace, from the encoding of protobuf and Perfetto's field numbers alone: a second reader for the output
of timeline (protos/perfetto/trace of github.com/google/perfetto).
"""
import gzip


class Broken(AssertionError):
    pass


def varint(data, at):
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise Broken("a varint does not end")
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def fields(data):
    """(number, wire type, value) for each field of a message; values are integers or bytes."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        number, kind = tag >> 3, tag & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 1:
            value, at = int.from_bytes(data[at:at + 8], "little"), at + 8
        elif kind == 2:
            length, at = varint(data, at)
            value, at = data[at:at + length], at + length
            if len(value) != length:
                raise Broken("a field reaches beyond its message")
        else:
            raise Broken(f"wire type {kind}")
        if at > len(data) or not number:
            raise Broken("a field reaches beyond its message")
        yield number, kind, value


def message(data):
    """{field number: values in order}."""
    found = {}
    for number, _, value in fields(data):
        found.setdefault(number, []).append(value)
    return found


def signed(value):
    return value - (1 << 64) if value >> 63 else value


class Track:
    def __init__(self, descriptor):
        self.id = descriptor[1][0]
        self.parent = descriptor.get(5, [0])[0]
        self.name = descriptor[2][0].decode() if 2 in descriptor else None
        self.rank_order = descriptor.get(12, [None])[0]
        self.pid = self.process = None
        self.labels = []
        if 3 in descriptor:
            process = message(descriptor[3][0])
            self.pid, self.process = process[1][0], process[6][0].decode()
            self.labels = [label.decode() for label in process.get(8, [])]
        self.slices = []  # in order of their start
        self.open = []


class Slice:
    def __init__(self, track, begin, name, category, arguments, flows, parent):
        self.track, self.begin, self.name, self.category = track, begin, name, category
        self.arguments, self.flows, self.parent = arguments, flows, parent
        self.end = None  # None: it does not end
        self.is_mark = False


class Trace:
    """Tracks by id, slices, and arrows as (from, to)."""

    def __init__(self, path):
        with open(path, "rb") as file:
            data = file.read()
        if data[:2] == b"\x1f\x8b":
            data = gzip.decompress(data)
        self.tracks, self.slices, self.order = {}, [], []
        self.process_ordering = None
        self.interned = {1: {}, 2: {}, 3: {}, 29: {}}
        events = []
        for number, kind, value in fields(data):
            if (number, kind) != (1, 2):
                raise Broken(f"field {number} in the trace")
            self.packet(message(value), events)
        # As Perfetto sorts: by time, and in file order if times are equal.
        for at, _, event in sorted(events, key=lambda item: item[:2]):
            self.event(at, event)
        self.arrows = self.connect()

    def packet(self, packet, events):
        if packet[10] != [1]:
            raise Broken("a packet of no sequence")
        if 60 in packet:
            descriptor = message(packet[60][0])
            if descriptor[1][0] == 0:
                self.process_ordering = descriptor[19][0]
            elif descriptor[1][0] in self.tracks:
                raise Broken("a track that there is already")
            else:
                self.tracks[descriptor[1][0]] = Track(descriptor)
        for data in packet.get(12, []):
            for kind, _, entry in fields(data):
                entry = message(entry)
                if entry[1][0] in self.interned[kind] or not entry[1][0]:
                    raise Broken("a number that is taken")
                self.interned[kind][entry[1][0]] = entry[2][0].decode()
        if 11 in packet:
            if packet[13] != [2]:
                raise Broken("an event with numbers for names that does not say so")
            event = self.decode(message(packet[11][0]))
            events.append((signed(packet[8][0]), len(events), event))

    def decode(self, event):
        """Looks up interned names now, because only names that came before are known."""
        return {
            "type": event[9][0],
            "track": self.tracks[event[11][0]],
            "name": self.interned[2][event[10][0]] if 10 in event else None,
            "category": self.interned[1][event[3][0]] if 3 in event else None,
            "arguments": dict(self.argument(message(data)) for data in event.get(4, [])),
            "flows": event.get(47, []),
        }

    def argument(self, argument):
        value = self.interned[29][argument[17][0]] if 17 in argument else signed(argument[4][0])
        return self.interned[3][argument[1][0]], value

    def event(self, at, event):
        track = event["track"]
        if at < 0:
            raise Broken("an event before the beginning")
        if event["type"] == 2:
            if not track.open:
                raise Broken(f"an end without a begin on {track.name}")
            track.open.pop().end = at
            return
        made = Slice(track, at, event["name"], event["category"], event["arguments"], event["flows"],
                     track.open[-1] if track.open else None)
        if event["type"] == 1:
            track.open.append(made)
        elif event["type"] == 3:
            made.end, made.is_mark = at, True
        else:
            raise Broken(f"type {event['type']}")
        track.slices.append(made)
        self.slices.append(made)

    def connect(self):
        ends = {}
        for made in self.slices:
            for flow in made.flows:
                ends.setdefault(flow, []).append(made)
        return [tuple(pair) for pair in ends.values() if len(pair) > 1]

    def process_of(self, made):
        """The name of the process of a slice, or None."""
        track = self.tracks.get(made.track.parent, made.track)
        return track.process

    def of(self, category, process=None):
        return [made for made in self.slices
                if made.category == category and process in (None, self.process_of(made))]

    def is_nested(self):
        """Each slice must be inside its parent."""
        for made in self.slices:
            outer = made.parent
            if outer and outer.end is not None and (made.end is None or made.end > outer.end):
                return False
            if made.end is not None and made.end < made.begin:
                return False
        return True
