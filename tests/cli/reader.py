"""A second, independent reader of the Chrome fixtures: lines with the json module, instances and figures by definition.

It shares nothing with the program. It reads only fixtures of the recorded workloads: one file per communicator and process,
tags in each file, one step for each tag "forward", and valid JSON except for the last comma.
"""

import collections
import gzip
import json
import math

TYPE_BYTES = {"ncclInt8": 1, "ncclUint8": 1, "ncclFloat16": 2, "ncclBfloat16": 2, "ncclInt32": 4, "ncclFloat32": 4,
              "ncclInt64": 8, "ncclFloat64": 8}

# No rank finishes before all ranks have arrived.
FULL_EXCHANGES = {"AllReduce", "AllGather", "ReduceScatter", "AlltoAll"}


class Operation:
    """One operation of one rank. Times in ns; None is unknown."""

    def __init__(self, event):
        args = event["args"]
        self.function = event["name"]
        self.is_pair = event["cat"] == "P2P"
        self.process = event["pid"]
        self.communicator = args["CommHash"]
        self.communicator_rank = args["Rank"]
        self.peer = args.get("Peer")
        self.sequence = args.get("SeqNum")
        self.bytes = args["Count"] * TYPE_BYTES[args["Datatype"]]
        self.algorithm = args.get("Algorithm")
        self.protocol = args.get("Protocol")
        self.enqueued_us = event["ts"]
        self.gpu_start = self.gpu_stop = self.host_start = self.host_stop = None
        self.gpu_begin = None  # also if a stop is missing
        self.rank = self.tag = self.step = None

    def add(self, event):
        """A line of the operation."""
        if event["name"] == "KernelCh" and event["ph"] == "b":
            start, stop = event["args"]["StartGpuClk"], event["args"]["StopGpuClk"]
            if self.host_start is None:
                self.host_start = event["ts"] * 1e3
            if start:
                self.gpu_begin = min(start, self.gpu_begin or start)
            if start and stop:
                self.gpu_start = min(start, self.gpu_start or start)
                self.gpu_stop = max(stop, self.gpu_stop or stop)
        elif event["name"].startswith("Progress") and event["ph"] == "e":
            self.host_stop = max(event["ts"] * 1e3, self.host_stop or 0)

    @property
    def has_gpu_times(self):
        return self.gpu_stop is not None

    @property
    def duration(self):
        if self.has_gpu_times:
            return self.gpu_stop - self.gpu_start
        if self.host_start is None or self.host_stop is None:
            return None
        return round(self.host_stop - self.host_start)


class Instance:
    """One instance on a communicator: a collective over its ranks, or a send with its receive."""

    def __init__(self, job, members):
        self.members = sorted(members, key=lambda member: (member.communicator_rank, member.function))
        first = self.members[0]
        self.size = job.sizes[first.communicator]
        self.function = "Send" if first.is_pair else first.function
        self.communicator = job.labels[first.communicator]
        self.tag, self.step = first.tag, min(member.step for member in members)
        self.is_complete = len(members) == (2 if first.is_pair else self.size)
        self.bytes = first.bytes * (self.size if self.function in ("AllGather", "ReduceScatter") else 1)
        durations = [member.duration for member in members if member.duration is not None]
        self.transfer = min(durations, default=None)
        self.effective = max(durations, default=None)

    def busbw(self, time_ns):
        n = self.size
        factor = {"AllReduce": 2 * (n - 1) / n, "AllGather": (n - 1) / n, "ReduceScatter": (n - 1) / n, "Send": 1}
        return self.bytes / time_ns * factor[self.function]


def united(spans, begin=float("-inf"), end=float("inf")):
    """The part of the time from begin to end that at least one of the spans covers."""
    total, reached = 0, begin
    for start, stop in sorted(spans):
        start, stop = max(start, reached), min(stop, end)
        if stop > start:
            total, reached = total + stop - start, stop
    return total


def events(path):
    content = path.read_bytes()
    text = (gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content).decode()
    return [event for event in json.loads(text) if event]


def operations_of(path):
    """The operations of a file, in file order, with tag and step."""
    found, tags, inside = [], [], None
    for event in events(path):
        if event["cat"] == "USER_TAG":
            tags.append((event["ts"], event["args"]["tag"]))
        elif event["cat"] in ("COLL", "P2P"):
            inside = Operation(event) if event["ph"] == "b" else None
            found += [inside] if inside else []
        elif inside:
            inside.add(event)
    tags.sort(key=lambda item: item[0])
    for operation in found:
        before = [text for at_us, text in tags if at_us <= operation.enqueued_us]
        operation.tag = before[-1]
        operation.step = before.count("forward") - 1
    return found


def label_of(ranks):
    """[0, 1, 2, 5] is "0-2,5"."""
    parts = []
    for rank in sorted(ranks):
        if parts and parts[-1][1] + 1 == rank:
            parts[-1][1] = rank
        else:
            parts.append([rank, rank])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)


class Job:
    def __init__(self, folder):
        self.operations = [operation for path in sorted(folder.glob("dump*")) for operation in operations_of(path)]
        ranks = collections.defaultdict(dict)
        for operation in self.operations:
            ranks[operation.communicator][operation.communicator_rank] = operation.process
        self.sizes = {communicator: max(of) + 1 for communicator, of in ranks.items()}
        self.world = max(self.sizes, key=self.sizes.get)
        rank_of = {process: rank for rank, process in ranks[self.world].items()}
        self.labels = {communicator: label_of(rank_of[process] for process in of.values())
                       for communicator, of in ranks.items()}
        for operation in self.operations:
            operation.rank = rank_of[operation.process]
        self.instances = self.join()

    def join(self):
        groups, ordinals = collections.defaultdict(list), collections.Counter()
        for operation in self.operations:
            if operation.is_pair:
                ends = operation.communicator_rank, operation.peer
                sends = operation.function == "Send"
                key = operation.communicator, "pair", ends if sends else ends[::-1]
                ordinal = ordinals[key, sends]
                ordinals[key, sends] += 1
                groups[key + (ordinal,)].append(operation)
            else:
                groups[operation.communicator, operation.function, operation.sequence].append(operation)
        return [Instance(self, members) for members in groups.values()]

    def next_starts(self):
        """For each operation, the start of the next one of its rank on the GPU."""
        starts = {}
        for rank in {operation.rank for operation in self.operations}:
            here = sorted((o for o in self.operations if o.rank == rank and o.gpu_start), key=lambda o: o.gpu_start)
            starts.update((a, b.gpu_start) for a, b in zip(here, here[1:]))
        return starts

    def of_rank(self, rank):
        """The operations of a rank in the order in which they were enqueued."""
        return sorted((operation for operation in self.operations if operation.rank == rank),
                      key=lambda operation: operation.enqueued_us)

    def waits(self):
        """For each operation, how long it waited for the last rank to arrive, from its own start; only where it can be
        determined.
        """
        found = {}
        for instance in self.instances:
            if (instance.is_complete and instance.function in FULL_EXCHANGES | {"Send"}
                    and all(member.has_gpu_times for member in instance.members)):
                least = min(member.duration for member in instance.members)
                found.update((member, member.duration - least) for member in instance.members)
        return found

    def places(self, rank, step):
        """The operations of a rank in a step, each with its key: its index among those of its communicator, function and
        peer.
        """
        counts = collections.Counter()
        for operation in self.of_rank(rank):
            if operation.step == step:
                kind = operation.communicator, operation.function, operation.peer
                counts[kind] += 1
                yield operation, (*kind, counts[kind])

    def times(self, rank, step):
        """A step of a rank: its duration (None: no step follows), communication, waiting; in ns. None if it has no times."""
        mine = [operation for operation in self.of_rank(rank) if operation.has_gpu_times]
        here = [operation for operation in mine if operation.step == step]
        following = {place: operation for operation, place in self.places(rank, step + 1)}
        both = ((operation, following.get(place)) for operation, place in self.places(rank, step))
        window = next(((a.gpu_begin, b.gpu_begin) for a, b in both if b and a.gpu_begin and b.gpu_begin), None)
        waits = self.waits()
        counted = mine if window else here
        ran = [(o.gpu_start, o.gpu_stop) for o in counted]
        waited = [(o.gpu_start, o.gpu_start + waits.get(o, 0)) for o in counted]
        return here and (window and window[1] - window[0], united(ran, *window or ()), united(waited, *window or ()))


def nearest_rank(values, part):
    """The smallest value that at least `part` of the values do not exceed."""
    values = sorted(values)
    return values[max(math.ceil(part * len(values)), 1) - 1]
