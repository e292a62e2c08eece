"""The store compared with a second, independent reader of the fixtures: counts of lines, tags by time, instances.

Reads the traces with regular expressions and shares nothing with the program.
"""

import collections
import gzip
import re
import unittest

from tests.cli.support import TOP, Case

# Those whose lines regular expressions can read; the others are damaged or unusual on purpose.
FIXTURES = sorted(path for pattern in ("tp2dp2pp2-*", "fsdp-*", "dialect-2.[23]?.[0-9]")
                  for path in (TOP / "fixtures").glob(pattern))
LINE = re.compile(r'"name": "([^"]*)", "cat": "(COLL|P2P|PROXY|NET|USER_TAG)", "ph": "(\w)".*?"ts": ([\d.]+)')
OPERATION = re.compile(r'"CommHash": (\d+), "Rank": (\d+)')


def text_of(path):
    content = path.read_bytes()
    return (gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content).decode(errors="replace")


def is_chrome(path):
    return ".json" in path.name or path.name.endswith(".txt")


class Operation:
    def __init__(self, line, match):
        self.function = match.group(1).removeprefix("nccl")
        self.begin_us = float(match.group(4))
        self.communicator, self.rank = map(int, OPERATION.search(line).groups())
        sequence = re.search(r'"SeqNum": (\d+)', line)
        self.sequence = int(sequence.group(1)) if sequence else None
        peer = re.search(r'"Peer": (\d+)', line)
        self.peer = int(peer.group(1)) if peer else None
        self.tag = None


def read(folder):
    """All operations of a fixture with their tags, and the number of lines of each kind."""
    operations, counts = [], collections.Counter()
    for path in sorted(folder.iterdir()):
        tags, here = [], []
        for line in text_of(path).splitlines() if is_chrome(path) else ():
            match = LINE.search(line)
            if not match or (match.group(3) == "e"):
                continue
            category = match.group(2)
            counts[category] += 1
            if category in ("COLL", "P2P"):
                here.append(Operation(line, match))
            elif category == "USER_TAG":
                tags.append((float(match.group(4)), re.search(r'"tag": "(.*)", "rank"', line).group(1)))
        tags.sort(key=lambda item: item[0])
        for operation in here:
            before = [text for at_us, text in tags if at_us <= operation.begin_us]
            operation.tag = before[-1] if before else None
        operations += here
    return operations, counts


class Truth(Case):
    def check_counts(self, folder, counts):
        self.run_program("ingest", folder, status=None)
        info = self.info()
        self.assertEqual(info["collectives"], counts["COLL"])
        self.assertEqual(info["p2p"], counts["P2P"])
        self.assertEqual(info["tags"], counts["USER_TAG"])

    def check_tags(self, operations):
        expected = collections.Counter((operation.tag, operation.function) for operation in operations)
        found = {(tag, function): count for tag, function, count in
                 self.rows("SELECT tag, function, count(*) FROM v_operation GROUP BY 1, 2")}
        self.assertEqual(found, dict(expected))

    def check_instances(self, operations):
        expected = collections.defaultdict(set)
        for operation in operations:
            if operation.sequence is not None:
                expected[operation.communicator, operation.function, operation.sequence].add(operation.rank)
        found = {(int(communicator), function, sequence): members for communicator, function, sequence, members in
                 self.rows("SELECT c.communicator_hash, i.function, i.sequence, i.members FROM v_instance i "
                           "JOIN v_communicator c USING (communicator_id) WHERE i.sender IS NULL")}
        self.assertEqual(found, {key: len(ranks) for key, ranks in expected.items()})


def add_test(folder):
    def test(self):
        operations, counts = read(folder)
        self.assertTrue(operations)
        self.check_counts(folder, counts)
        self.check_tags(operations)
        if all(operation.communicator for operation in operations):
            self.check_instances(operations)

    test.__doc__ = f"fixtures/{folder.name}."
    setattr(Truth, "test_" + re.sub(r"\W", "_", folder.name), test)


for _folder in FIXTURES:
    add_test(_folder)


class Workload(Case):
    """The workload of the clean fixture is known: TP 2 x DP 2 x PP 2, 8 ranks (see its TRUTH)."""

    def test_shape(self):
        self.run_program("ingest", TOP / "fixtures/tp2dp2pp2-clean")
        info = self.info()
        self.assertEqual((info["processes"], info["communicators"], info["runs"]), (8, 13, 1))
        sizes = collections.Counter(row["size"] for row in self.json("info", "--communicators")["rows"])
        self.assertEqual(sizes, {8: 1, 2: 12})
        self.assertEqual(self.rows("SELECT count(*) FROM v_operation WHERE tag IS NULL"), [(0,)])
        self.assertEqual(self.rows("SELECT count(*) FROM v_instance WHERE members <> expected"), [(0,)])


if __name__ == "__main__":
    unittest.main()
