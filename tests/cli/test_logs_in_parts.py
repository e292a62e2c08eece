"""Inspector logs in parts: rotated, copied and truncated, in any order, with a clock that is set back or forward. The parts
give the same result as the complete log.
"""

import gzip
import itertools
import json
import random

from tests.cli.support import TOP, Case

CLOCK = TOP / "fixtures/inspector-clock-step"
PAIRS = TOP / "fixtures/inspector-p2p"

ANSWERS = (("report",), ("report", "--by", "rank"), ("stragglers",), ("diagnose", "--all"), ("clocks",))


def lines_of(path):
    content = path.read_bytes()
    return (gzip.decompress(content) if path.suffix == ".gz" else content).splitlines(keepends=True)


def shifted(line, by_us, kernels_only=False):
    """A record as it would be if the clock were ahead by this amount."""
    record = json.loads(line)
    times = record["coll_perf"]["event_trace_ts"]
    for name in () if kernels_only else ("coll_start_ts", "coll_stop_ts"):
        times[name] += by_us
    for channel in times["kernel_events"]:
        for name in ("kernel_start_ts", "kernel_stop_ts", "kernel_record_ts"):
            channel[name] += by_us
    return json.dumps(record, separators=(",", ":")).encode() + b"\n"


class Parts(Case):
    def answers(self, *paths, status=0):
        self.store.unlink(missing_ok=True)
        self.run_program("ingest", "-q", *paths, status=status)
        found = [self.run_program(*words, "--format", "csv") for words in ANSWERS if words[0] != "diagnose"]
        instances = self.rows("SELECT function, sequence, sender, receiver, size_bytes, members, step, transfer_us, effective_us "
                              "FROM v_instance ORDER BY 1, 2, 3, 4")
        return [(result.out, result.err) for result in found] + [self.diagnosis()] + instances

    def diagnosis(self):
        """Without the name of the run, and without the warning on operations in several files, which only parts have."""
        found = self.json("diagnose", "--all")
        about = [text for text in found["warnings"] if "are in several files" in text]
        self.assertEqual(about, [f"{self.doubles()} operations are in several files (copies, or parts of one log); duplicate records are counted "
                                 "once"] if self.doubles() else [])
        coverage = [{key: value for key, value in row.items() if key != "run_name"} for row in found["coverage"]]
        return {**found, "coverage": coverage, "warnings": [text for text in found["warnings"] if text not in about]}

    def ledger(self):
        return self.rows("SELECT path, count FROM v_ledger WHERE reason = 'duplicate operation' ORDER BY path")

    def doubles(self):
        return sum(count for _, count in self.ledger())

    def warnings(self, command="report"):
        return self.json(command)["warnings"]


class OfCollectives(Parts):
    """The log of rank 1 is split into parts; the other three are complete."""

    def setUp(self):
        super().setUp()
        self.others = [path for path in CLOCK.glob("*.gz") if "pid21" not in path.name]
        self.lines = lines_of(CLOCK / "node1-pid21.log.gz")
        self.write("whole/node1-pid21.log", b"".join(self.lines))
        self.whole = self.answers(*self.others, "whole")
        self.assertEqual(self.doubles(), 0)

    def check(self, parts, doubles, status=0):
        """`parts`: {name: content}. In every order of at most four of them."""
        for name, content in parts.items():
            self.write(f"logs/{name}", content)
        for order in itertools.permutations([f"logs/{name}" for name in parts]):
            self.assertEqual(self.answers(*order, *self.others, status=status), self.whole)
            self.assertEqual(self.doubles(), doubles)
        self.assertEqual(self.answers("logs", *self.others, status=status), self.whole)
        self.assertEqual(self.info()["collectives"], 192)

    def part(self, first, end):
        return b"".join(self.lines[first:end])

    def test_the_whole_says_what_is_in_it(self):
        findings = [(finding["kind"], finding["rank"], finding["confidence"], finding["first_step"], finding["last_step"])
                    for finding in self.json("diagnose")["findings"]]
        self.assertEqual(findings, [("compute", 2, "high", 6, 15)])

    def test_rotated(self):
        self.check({"node1-pid21.log": self.part(30, 48), "node1-pid21.log.1": self.part(15, 30), "node1-pid21.log.2": self.part(0, 15)}, 0)

    def test_rotated_and_copied_before_it_was_cut_short(self):
        self.check({"node1-pid21.log": self.part(25, 48), "node1-pid21.log.1.gz": gzip.compress(self.part(10, 30)),
                    "node1-pid21.log-20260101": self.part(0, 13)}, 8)
        path = (self.folder / "logs/node1-pid21.log").resolve()
        self.assertIn((str(path), 5), self.ledger())
        self.assertEqual(self.info()["skipped"], 8)
        files = {row["path"]: (row["events"], row["skipped"]) for row in self.json("info", "--files")["rows"]}
        self.assertEqual(files[str(path)], (18, 5))

    def test_a_copy_beside_it(self):
        self.check({"a.log": self.part(0, 48), "b.log": self.part(0, 47), "c.log": self.part(3, 40)}, 47 + 37)

    def test_one_file_of_overlapping_parts(self):
        self.check({"a.log": self.part(0, 30) + self.part(20, 48)}, 10)

    def test_in_directories_of_their_own(self):
        self.check({"old/node1-pid21.log": self.part(0, 30), "node1-pid21.log": self.part(20, 48)}, 10)
        self.assertEqual(self.info()["processes"], 4)

    def test_a_line_that_was_cut_in_two(self):
        """The other part has it completely: nothing is lost, and findings keep their confidence."""
        border = len(self.part(0, 24))
        content = self.part(0, 48)
        # The recorder may still be writing at the end, but not at the beginning.
        for first, second, status in ((border + 300, border, 0), (border, border - 300, 1)):
            self.check({"a.log": content[:first], "b.log": content[second:]}, 0, status=status)

    def test_one_after_the_other(self):
        """Each ingest finds a part of it in the store; replaced parts were not dropped for good."""
        self.store.unlink()
        self.write("logs/a.log", self.part(0, 30))
        self.run_program("ingest", "-q", "logs", *self.others)
        self.write("logs/a.log.1", self.part(0, 35))
        self.write("logs/a.log", self.part(33, 48))
        self.run_program("ingest", "-q", "logs")
        self.assertEqual(self.doubles(), 2)
        self.assertEqual(self.info()["collectives"], 192)
        answers = [self.run_program(*words, "--format", "csv") for words in ANSWERS if words[0] != "diagnose"]
        self.assertEqual([(result.out, result.err) for result in answers] + [self.diagnosis()], self.whole[:len(ANSWERS)])


class OfPairs(Parts):
    """No times: only the sequence numbers show which send belongs to which receive."""

    def setUp(self):
        super().setUp()
        self.lines = lines_of(PAIRS / "node0-pid40.log")
        self.receives = PAIRS / "node0-pid41.log"
        self.whole = self.answers(PAIRS)

    def test_the_whole_is_as_it_was_made(self):
        sizes = self.rows("SELECT size_bytes, count(*), min(sequence), max(sequence) FROM v_instance WHERE members = 2 GROUP BY 1")
        self.assertEqual(sizes, [(65536, 12, 0, 11), (1048576, 12, 12, 23)])

    def test_parts_in_any_order(self):
        for overlap in (0, 3):
            for names in itertools.permutations(("a.log", "b.log", "c.log")):
                for number, name in enumerate(names):
                    self.write(f"logs/{name}", b"".join(self.lines[max(0, 8 * number - overlap):8 * number + 8]))
                self.assertEqual(self.answers("logs", self.receives), self.whole)
                self.assertEqual(self.doubles(), 2 * overlap)

    def test_lines_in_any_order(self):
        """Sends and receives are written as they end."""
        lines = list(self.lines)
        random.Random(7).shuffle(lines)
        self.write("logs/a.log", b"".join(lines))
        self.assertEqual(self.answers("logs", self.receives), self.whole)

    def test_sizes_that_differ(self):
        self.assertEqual(self.warnings(), [])
        lines = [line.replace(b":65536,", b":32768,") if number in (7, 9) else line for number, line in enumerate(self.lines)]
        self.write("logs/a.log", b"".join(lines))
        self.answers("logs", self.receives)
        said = ("Send #7 from rank 0 to rank 1 on communicator {0-1} and its receive differ in size: 32768 bytes sent, "
                "65536 received; 1 more pair differs; the program does this, or records between them are lost")
        for command in ("report", "stragglers", "diagnose"):
            self.assertIn(said, self.warnings(command))


class OfClocks(Parts):
    """The late rank is the one whose clock is set."""

    def setUp(self):
        super().setUp()
        self.others = [path for path in CLOCK.glob("*.gz") if "pid22" not in path.name]
        lines = lines_of(CLOCK / "node2-pid22.log.gz")
        self.lines = lines[:32] + [shifted(line, 40000) for line in lines[32:]]
        self.write("steady/node2-pid22.log", b"".join(self.lines))
        self.steady = self.answers("steady", *self.others)
        self.assertEqual(self.warnings(), [])
        self.assertEqual(self.rows("SELECT count(*) FROM clock_step"), [(0,)])

    def check_findings(self):
        findings = [(finding["kind"], finding["rank"], finding["confidence"], finding["first_step"], finding["last_step"])
                    for finding in self.json("diagnose", "--all")["findings"]]
        self.assertEqual(findings, [("compute", 2, "high", 6, 15)])

    def check(self, lines, *steps):
        """`steps`: changes of the clock in microseconds."""
        self.write("logs/node2-pid22.log", b"".join(lines))
        found = self.answers("logs", *self.others)
        self.assertEqual([out for out, _ in found[:3]], [out for out, _ in self.steady[:3]])
        self.assertEqual(found[len(ANSWERS):], self.steady[len(ANSWERS):])
        self.assertEqual(self.rows("SELECT step_ns FROM clock_step ORDER BY operation_id"), [(step * 1000,) for step in steps])
        self.check_findings()

    def stepped(self, *steps):
        """From the operation with that number on."""
        return [shifted(line, sum(by_us for at, by_us in steps if number >= at)) for number, line in enumerate(self.lines)]

    def test_the_fixture(self):
        self.check(lines_of(CLOCK / "node2-pid22.log.gz"), -40000)
        said = ("the clock of rank 2 (node2, process 22) jumped back by 40.0 ms before AllReduce #16 on "
                "communicator {0-3}, step 16; later timestamps are corrected")
        for command in ("report", "stragglers", "diagnose", "clocks"):
            self.assertIn(said, self.warnings(command))

    def test_steps_of_all_sizes(self):
        for by_us in (-1500000, -3600000000, -5000, 1500000, 30000):
            for at in (19, 24, 31, 40):
                with self.subTest(by_us=by_us, at=at):
                    self.check(self.stepped((at, by_us)), by_us)

    def test_several_steps(self):
        self.check(self.stepped((14, -1500000), (30, -700000), (40, 900000)), -1500000, -700000, 900000)
        self.assertIn("jumped back by 1.50 s before AllReduce #7 on communicator {0-3}, step 7, and 2 more times by less",
                      " ".join(self.warnings()))

    def test_in_parts(self):
        lines = self.stepped((24, -1500000))
        self.write("logs/b.log", b"".join(lines[:24]))
        for first in (24, 20):
            self.write("logs/a.log", b"".join(lines[first:]))
            found = self.answers("logs", *self.others)
            self.assertEqual([out for out, _ in found[:3]], [out for out, _ in self.steady[:3]])
            self.check_findings()

    def test_between_a_call_and_its_kernel(self):
        lines = self.stepped((32, -1500000))
        lines[31] = shifted(lines[31], -1500000, kernels_only=True)
        self.check(lines, -1500000)

    def test_of_a_single_record(self):
        """This is no change of the clock: later records continue from earlier ones."""
        lines = list(self.lines)
        lines[40] = shifted(lines[40], 5000000)
        self.write("logs/node2-pid22.log", b"".join(lines))
        self.answers("logs", *self.others)
        self.assertEqual(self.rows("SELECT count(*) FROM clock_step"), [(0,)])
        self.check_findings()

    def test_of_all_ranks_at_once(self):
        """They share a host: the clock did not advance for any of them, so the next record is assumed to follow directly."""
        for path in CLOCK.glob("*.gz"):
            lines = self.lines if "pid22" in path.name else lines_of(path)
            lines = [shifted(line, -1500000 if number >= 32 else 0) for number, line in enumerate(lines)]
            self.write(f"all/{path.name[:-3]}", b"".join(lines).replace(b'"hostname":"node' + path.name[4:5].encode(), b'"hostname":"node'))
        self.answers("all")
        steps = self.rows("SELECT step_ns FROM clock_step")
        self.assertEqual(len(steps), 4)
        for (step,) in steps:
            self.assertAlmostEqual(step / 1e6, -1500, delta=5)
        self.check_findings()
