"""buffers: the shares of bytes in registered memory, compared with an independent count; why calls did not use it; how NCCL
used it.
"""

import collections
import gzip
import json
import pickle
import re
import shutil

from tests.cli.support import TOP, Case

FIXTURE = TOP / "fixtures/registered-memory"
SIZES = {0: 1, 1: 1, 2: 4, 3: 4, 4: 8, 5: 8, 6: 2, 7: 4, 8: 8, 9: 2}
CALL = re.compile(r"INFO (\w+): opCount \w+ sendbuff (\w+) recvbuff (\w+) count (\d+) datatype (\d+)")
REGISTER = re.compile(r"register comm \w+ buffer (\w+) size (\d+)")


def calls_of(path):
    """(function, bytes, whether registered) of the calls in a log, in the order of its lines. All have 4 ranks."""
    held = []
    for line in path.read_text().splitlines():
        if match := REGISTER.search(line):
            held.append((int(match[1], 16), int(match[1], 16) + int(match[2])))
        elif match := CALL.search(line):
            size = int(match[4]) * SIZES[int(match[5])]
            wanted = [(int(match[2], 16), size), (int(match[3], 16), size * (4 if match[1] == "AllGather" else 1))]
            if match[1] == "Broadcast":
                wanted = wanted[1:]  # the root's buffers are identical
            yield match[1], size, all(any(begin <= at and at + length <= end for begin, end in held) for at, length in wanted)


def count_log(path):
    """(bytes, registered bytes) of a log's calls."""
    calls = list(calls_of(path))
    return sum(size for _, size, _ in calls), sum(size for _, size, is_registered in calls if is_registered)


def durations_of(path):
    """{(function, its number): duration in ns} on the GPU clock, from a trace of the plugin."""
    found, at = {}, None
    for line in gzip.decompress(path.read_bytes()).decode().splitlines():
        if match := re.search(r'"name": "(\w+)", "cat": "COLL", "ph": "b".*"SeqNum": (\d+)', line):
            at = (match[1], int(match[2]))
        elif match := re.search(r'"KernelCh".*"StartGpuClk": (\d+), "StopGpuClk": (\d+)', line):
            begin, end = found.get(at, (1 << 64, 0))
            found[at] = (min(begin, int(match[1])), max(end, int(match[2])))
    return {key: end - begin for key, (begin, end) in found.items()}


class Log:
    """A log of two ranks with one process each, in the layout of NCCL 2.28, with calls and registrations in the given order."""

    def __init__(self, case, ranks=2):
        self.case, self.ranks = case, ranks
        self.lines = [[] for _ in range(ranks)]
        self.say("ncclCommInitRankConfig comm 0x5{rank} rank {rank} nranks %d cudaDev {rank} nvmlDev {rank} busId {rank}b000 "
                 "commId 0x9cd3f11a20d385b9 - Init COMPLETE" % ranks)

    def say(self, text, rank=None):
        for number in range(self.ranks) if rank is None else [rank]:
            self.lines[number].append(f"node{number}:41{number}:42{number} [{number}] NCCL INFO " + text.replace("{rank}", str(number)))

    def register(self, address, size, rank=None):
        self.say(f"register comm 0x5{{rank}} buffer {address:#x} size {size}", rank)

    def call(self, send, receive=None, count=256, function="AllReduce", root=0, rank=None):
        receive = send if receive is None else receive
        self.say(f"{function}: opCount 0 sendbuff {send:#x} recvbuff {receive:#x} count {count} datatype 7 op 0 root {root} "
                 f"comm 0x5{{rank}} [nranks={self.ranks}] stream 0x1", rank)

    def write(self):
        for number, lines in enumerate(self.lines):
            self.case.write(f"nccl.node{number}.41{number}.log", "\n".join(lines) + "\n")


MIB = 1 << 20
BASE = 0x7F0000000000


class Buffers(Case):
    def shares(self, *words, **more):
        return self.json("buffers", *words, **more)

    def one(self, *words):
        answer = self.shares("--by", "run", *words)
        self.assertEqual(len(answer["rows"]), 1)
        return answer["rows"][0], answer["warnings"]

    def copy(self, *patterns):
        for pattern in patterns:
            for path in FIXTURE.glob(pattern):
                shutil.copy(path, self.folder)
        self.run_program("ingest", ".")

    def test_by_log_by_plugin_and_by_both(self):
        """The share is the same for both recorders, and equal to a second count of the log's lines."""
        counted = [count_log(path) for path in sorted(FIXTURE.glob("*.log"))]
        total, registered = map(sum, zip(*counted))
        self.assertEqual(total, registered)
        for patterns in (["*.log"], ["*.json.gz", "memsnap*"], ["*"]):
            with self.subTest(patterns=patterns):
                self.setUp()
                self.copy(*patterns)
                row, warnings = self.one()
                self.assertEqual((row["bytes"], row["registered_bytes"], row["registered_share"]), (total, registered, 1))
                self.assertEqual(row["calls"], 96)
                self.assertIsNone(row["reason"])
                self.assertEqual(row["used_share"], None if "*.log" not in patterns and "*" not in patterns else 0)
                self.assertEqual(any("ALLOCATOR_HOOK=1" in text for text in warnings), "memsnap*" in patterns)

    def test_each_segment_and_buffer(self):
        """Every REG line of the log, and the buffers of each call, from the log and from the plugin."""
        self.copy("*.log")
        said = [(int(match[1], 16), int(match[2])) for path in sorted(FIXTURE.glob("*.log"))
                for match in REGISTER.finditer(path.read_text())]
        self.assertEqual(sorted(self.rows("SELECT address, bytes FROM registration WHERE kind = 0")), sorted(said))
        calls = [(int(match[2], 16), int(match[3], 16)) for path in sorted(FIXTURE.glob("*.log"))
                 for match in CALL.finditer(path.read_text())]
        of_calls = "SELECT send_buffer, receive_buffer FROM operation"
        self.assertEqual(sorted(self.rows(of_calls)), sorted(calls))
        self.setUp()
        self.copy("*.json.gz")
        self.assertEqual(sorted(self.rows(of_calls)), sorted(calls))

    def test_fewer_registrations(self):
        """With lines removed from the log, the share equals an independent count, with and without the plugin's trace."""
        expected = None
        for patterns in ([], ["*.json.gz"]):
            self.setUp()
            for path in FIXTURE.glob("*.log"):
                lines = path.read_text().splitlines(True)
                kept = [line for number, line in enumerate(lines) if not REGISTER.search(line) or number % 3]
                self.write(path.name, "".join(kept))
            expected = [sum(part) for part in zip(*(count_log(path) for path in self.folder.glob("*.log")))]
            self.assertGreater(expected[0], expected[1])
            self.assertGreater(expected[1], 0)
            self.copy(*patterns)
            row, _ = self.one()
            self.assertEqual([row["bytes"], row["registered_bytes"]], expected)
            self.assertIn("not registered", row["reason"])

    def test_what_it_costs(self):
        """Transfers of operations in which a rank used other memory, compared with the median of registered ones of the same
        size.
        """
        for path in FIXTURE.glob("*.log"):
            lines = path.read_text().splitlines(True)
            gone = [line for line in lines if REGISTER.search(line)][3:6]
            self.write(path.name, "".join(line for line in lines if line not in gone))
        self.copy("*.json.gz")
        operations = {}
        for path in sorted(self.folder.glob("*.log")):
            durations = durations_of(self.folder / f"ncclprof-vm-{path.name.split('.')[2]}.json.gz")
            numbers = collections.Counter()
            for function, size, is_registered in calls_of(path):
                key = (function, numbers[function])
                numbers[function] += 1
                operations.setdefault((function, size, key), []).append((durations[key], is_registered))
        transfers = collections.defaultdict(lambda: ([], []))
        for (function, size, _), parts in operations.items():
            transfers[function, size][all(part[1] for part in parts)].append(min(part[0] for part in parts))
        expected = {size: sum(taken - sorted(registered)[(len(registered) - 1) // 2] for taken in missed) / 1e3
                    for (function, size), (missed, registered) in transfers.items()
                    if missed and len(registered) >= 5}
        rows = self.shares("--by", "function,size")["rows"]
        lost = {row["size_bytes"]: row["lost_us"] for row in rows if row["lost_us"] is not None}
        self.assertTrue(expected)
        self.assertEqual(set(lost), set(expected))
        for size, us in expected.items():
            self.assertAlmostEqual(lost[size], us, places=3)

    def test_why_calls_missed(self):
        log = Log(self)
        log.call(BASE)  # later than the call
        log.register(BASE, 2 * MIB)
        log.register(BASE + 2 * MIB, 2 * MIB)
        log.call(BASE)
        log.call(BASE + 2 * MIB - 512)  # across two registrations
        log.call(BASE + 8 * MIB)  # never registered
        log.call(BASE + 4 * MIB - 512)  # half of it registered
        log.call(BASE, BASE + 8 * MIB, function="Broadcast", root=0)  # other calls do not depend on the send buffer
        log.say("rank {rank} - NET register userbuff %#x (handle 0x7), buffSize 8" % (BASE + 8 * MIB))
        log.say("rank {rank} - deregistered net buffer handle 0x7")
        log.write()
        self.run_program("ingest", ".")
        rows = {row["function"]: row for row in self.shares("--by", "function")["rows"]}
        reduced = rows["AllReduce"]
        self.assertEqual((reduced["calls"], reduced["registered_calls"], reduced["bytes"]), (10, 2, 10240))
        self.assertEqual(reduced["registered_share"], 0.2)
        self.assertEqual(sorted(reduced["reason"].split(", ")),
                         ["not registered (2 calls)", "only partly registered (2 calls)", "registered later (2 calls)",
                          "straddles two segments (2 calls)"])
        self.assertEqual(rows["Broadcast"]["reason"], "not registered (2 calls)")

    def test_what_was_freed(self):
        log = Log(self)
        log.register(BASE, 2 * MIB)
        log.call(BASE)
        log.say("rank {rank} - IPC register buffer %#x size 8 (baseAddr %#x size 8) to peer 1 regAddr 0x1 offsetOut 0" % (BASE, BASE))
        log.say("rank {rank} - IPC deregistered buffer %#x peer 1 ipc remote buffer 0x2" % BASE)
        log.call(BASE)
        log.write()
        self.run_program("ingest", ".")
        row, _ = self.one()
        self.assertEqual((row["registered_share"], row["used_share"]), (0.5, 0.5))
        self.assertEqual(row["reason"], "freed before (2 calls)")

    def test_used_or_not(self):
        log = Log(self)
        log.register(BASE, 64 * MIB)
        for way in ("- NET reuse buffer", "successfully registered NVLS sendbuff", "- COLLNET register userbuff",
                    "- IPC reuse buffer"):
            log.call(BASE)
            log.say(f"rank {{rank}} {way} {BASE:#x} size 8")
        log.call(BASE, count=512)
        log.say(f"rank {{rank}} failed to NET register userbuff {BASE:#x} buffSize 8 GDR flag 0")
        log.call(BASE, count=512)
        log.write()
        self.run_program("ingest", ".")
        row, _ = self.one()
        self.assertEqual((row["registered_share"], row["used_share"], row["failed_calls"]), (1, 0.5, 2))
        self.assertEqual(row["reason"], "NCCL could not use the registration (2 calls)")

    def test_addresses_are_exact(self):
        """Addresses of 64 bits, too large for a double; sizes that overflow."""
        log = Log(self)
        high = 0xFFFFFFFFFFFF0000
        log.register(high, 0x7FFFFFFFFFFFFFFF)
        log.call(high + 0x1000, count=256)
        log.call(0x7FFFFFFFFFFFF000)
        log.write()
        self.run_program("ingest", ".")
        row, _ = self.one()
        self.assertEqual(row["registered_calls"], 2)
        self.assertEqual(self.rows("SELECT DISTINCT printf('%x', address) FROM registration WHERE kind = 0"),
                         [("ffffffffffff0000",)])
        self.assertEqual(self.rows("SELECT DISTINCT printf('%x', send_buffer) FROM operation ORDER BY 1"),
                         [("7ffffffffffff000",), ("ffffffffffff1000",)])

    def test_no_registration_in_the_log(self):
        log = Log(self)
        log.call(BASE)
        log.write()
        self.run_program("ingest", ".")
        row, warnings = self.one()
        self.assertEqual((row["registered_share"], row["used_share"]), (0, 0))
        self.assertIn("lacked REG", " ".join(warnings))

    def test_nothing_recorded(self):
        """diagnose reports it, and the setting that would record it."""
        self.run_program("ingest", TOP / "fixtures/dialect-2.28.3")
        answer = self.shares()
        self.assertTrue(all(row["registered_share"] is None and "buffers not recorded" in row["reason"] for row in answer["rows"]))
        self.assertIn("NCCL_DEBUG_SUBSYS=INIT,COLL,REG", " ".join(answer["warnings"]))
        self.setUp()
        self.copy("*.json.gz")
        row, warnings = self.one()
        self.assertIsNone(row["registered_share"])
        self.assertEqual(row["reason"], "registrations not recorded (96 calls)")
        self.assertIn("_dump_snapshot", " ".join(warnings))

    def snapshot(self, change, forms=("memsnap-rank0.json",)):
        """The log of rank 0 with a change, together with the plugin's trace of all ranks."""
        data = json.loads((FIXTURE / "memsnap-rank0.json").read_text())
        change(data)
        for name in forms:
            self.write(name, pickle.dumps(data, 4) if name.endswith("pickle") else json.dumps(data))
        self.copy("*.json.gz")
        return self.json("buffers", "--by", "rank", "--rank", "0")["rows"][0]

    def test_segments_by_time(self):
        """A segment was freed or allocated in the middle of the job: calls after or before that do not use it."""
        trace = gzip.decompress((FIXTURE / "ncclprof-vm-1040.json.gz").read_bytes()).decode()
        wall_ns = int(re.search(r'"start_realtime_ns": (\d+)', trace)[1])
        widths = {"ncclInt8": 1, "ncclBfloat16": 2, "ncclInt32": 4, "ncclFloat32": 4}
        sizes = [int(count) * widths[kind] for count, kind in re.findall(
            r'"cat": "COLL", "ph": "b".*?"Count": (\d+), "Datatype": "(\w+)"', trace)]
        begun = [float(begin) for begin in re.findall(r'"Group API", "cat": "GROUP_API", "ph": "b".*?"ts": ([\d.]+)', trace)]
        middle_us = sum(sorted(begun)[11:13]) / 2
        at_us = (wall_ns + int(middle_us * 1000)) // 1000
        before = sum(size for size, at in zip(sizes, begun) if at < middle_us)
        for action, expected in (("segment_free", before), ("segment_alloc", sum(sizes) - before)):
            with self.subTest(action=action):
                self.setUp()

                def change(data):
                    segments = data["segments"]
                    data["segments"] = segments if action == "segment_alloc" else []
                    data["device_traces"] = [[{"action": action, "addr": segment["address"], "size": segment["total_size"],
                                               "time_us": at_us} for segment in segments]]

                row = self.snapshot(change, ("memsnap-rank0.json", "memsnap-rank0.pickle"))
                self.assertEqual(row["registered_bytes"], expected)
                self.assertIn("freed before (12 calls)" if action == "segment_free" else "registered later (12 calls)", row["reason"])

    def test_expandable_segments(self):
        row = self.snapshot(lambda data: data.update(allocator_settings={"expandable_segments": True}))
        self.assertEqual((row["registered_share"], row["reason"]), (0, "in an expandable segment (24 calls)"))

    def test_the_hook_was_off(self):
        self.copy("*.json.gz", "memsnap*")
        row, warnings = self.one("--allocator-hook", "off")
        self.assertEqual((row["registered_share"], row["reason"]), (0, "allocator hook is off (96 calls)"))
        self.run_program("buffers", "--allocator-hook", "maybe", status=2)

    def test_what_the_traces_say_of_the_hook(self):
        """The plugin's record decides; else the logs of other ranks; else it is assumed."""
        self.copy("memsnap*", "*.json.gz")
        for word, share in ((0, 0), (1, 1)):
            with self.subTest(plugin=word):
                self.setUp()
                for path in FIXTURE.glob("*.json.gz"):
                    text = gzip.decompress(path.read_bytes()).decode()
                    self.write(path.name, text.replace('"boot_id"', f'"allocator_hook": {word}, "boot_id"', 1))
                for path in FIXTURE.glob("memsnap*"):
                    shutil.copy(path, self.folder)
                self.run_program("ingest", ".")
                row, warnings = self.one()
                self.assertEqual((row["registered_share"], warnings), (share, []))
        for is_logged, share in ((True, 1), (False, 0)):
            with self.subTest(log=is_logged):
                self.setUp()
                lines = (FIXTURE / "nccl.vm.1040.log").read_text().splitlines(True)
                self.write("nccl.vm.1040.log", "".join(line for line in lines if is_logged or not REGISTER.search(line)))
                self.copy("memsnap*", "*.json.gz")
                row = self.json("buffers", "--by", "rank", "--rank", "3")["rows"][0]
                self.assertEqual(row["registered_share"], share)

    def test_whose_snapshot(self):
        """A snapshot without a rank in its name belongs to no rank, and a warning reports it."""
        self.write("memory.json", (FIXTURE / "memsnap-rank0.json").read_text())
        self.copy("*.json.gz")
        row, warnings = self.one()
        self.assertIsNone(row["registered_share"])
        self.assertIn("1 allocator snapshot", " ".join(warnings))

    def test_report_by_registered(self):
        log = Log(self)
        log.register(BASE, 2 * MIB)
        log.call(BASE)
        log.call(BASE + 8 * MIB)
        log.call(BASE + 8 * MIB)
        log.write()
        self.run_program("ingest", ".")
        rows = {row["registered"]: row["instances"] for row in self.json("report", "--by", "registered")["rows"]}
        self.assertEqual(rows, {"registered": 1, "not registered": 2})

    def test_filters(self):
        self.copy("*")
        rows = self.shares("--by", "function,rank", "--tag", "backward", "--rank", "2-3")["rows"]
        self.assertEqual([(row["function"], row["rank"], row["process"]) for row in rows],
                         [("AllReduce", 2, "2"), ("AllReduce", 3, "3")])

    def test_wrong_usage(self):
        self.copy("*.log")
        for words in (["--by", "protocol"], ["--by", "tag,tag"], ["--by", ""]):
            self.run_program("buffers", *words, status=2)
