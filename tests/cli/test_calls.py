"""Call descriptions (monitor_collectives), printed and as marks: each is joined to one operation, compared with a second
reader.
"""

import collections
import gzip
import json
import re

from tests.cli.support import TOP, Case, event

FIXTURE = TOP / "fixtures/call-description"
NOTHING = "call description without an operation"
SEVERAL = "call description that matches several operations"
CUT = "call description that cannot be read"


def marks():
    """The texts of the marks of each rank, in order."""
    found = collections.defaultdict(list)
    for path in sorted(FIXTURE.glob("*.gz")):
        for line in gzip.decompress(path.read_bytes()).decode().splitlines():
            if '"CallDescription"' in line:
                said = json.loads(json.loads(line.rstrip(","))["args"]["text"])
                found[said["rank"]].append(said)
    return found


def described():
    """By rank, the numbers of the described operations: those of 4096 bytes, in the order of their calls."""
    found = {}
    for path in sorted(FIXTURE.glob("*.gz")):
        calls = re.findall(r'"cat": "COLL", "ph": "b".*?"ts": ([\d.]+), "args": {"SeqNum": (\d+), "CommHash": \d+, '
                           r'"Rank": (\d+), "Count": 1024, "Datatype": "ncclFloat32"',
                           gzip.decompress(path.read_bytes()).decode())
        found[int(calls[0][2])] = [int(number) for _, number, _ in sorted(calls, key=lambda call: float(call[0]))]
    return found


class Calls(Case):
    def joined(self, where="TRUE"):
        """By rank, the numbers of the operations of its descriptions, in the order in which these were printed."""
        found = collections.defaultdict(list)
        for rank, number in self.rows("SELECT said_rank, o.sequence FROM v_call c JOIN v_operation o USING (operation_id) "
                                      f"WHERE o.rank = c.said_rank AND {where} ORDER BY c.call_description_id"):
            found[rank].append(number)
        return dict(found)

    def ledger(self):
        return dict(self.rows("SELECT reason, sum(count) FROM v_ledger WHERE reason LIKE 'call desc%' GROUP BY reason"))

    def ingest_traces(self, *others, status=0):
        self.ingest(*sorted(FIXTURE.glob("*.gz")), *others, status=status)

    def printed(self, lines, name="out"):
        return self.write(name, "".join(line + "\n" for line in lines))

    def test_each_has_one_operation(self):
        self.ingest(FIXTURE)
        self.assertEqual(self.joined("c.process_id IS NOT NULL"), described())
        self.assertEqual(self.joined("c.process_id IS NULL"), {0: described()[0]})
        self.assertEqual(self.ledger(), {})
        self.assertEqual(self.rows("SELECT DISTINCT gpu_serial, vm, gpu FROM v_rank WHERE rank = 3"), [("1650123", "vm-7", 1)])

    def test_all_ranks_in_one_file_behind_what_launchers_write(self):
        heads = {0: "[rank0]:", 1: "[default1]:", 2: "[1,2]<stdout>:", 3: "3: 2026-11-25 00:52:06 | INFO {x} "}
        lines = ["NVTX and print tracing of torch.distributed collectives enabled.", "{", '{"loss": 2.5}']
        for said in zip(*marks().values()):
            lines += [heads[call["rank"]] + json.dumps(call) for call in said]
            lines[-1] += lines.pop(-2)  # two ranks at the same time
        files = self.ingest(*sorted(FIXTURE.glob("*.gz")), self.printed(lines))
        self.assertEqual(files["out"]["dialect"], "call-description")
        self.assertEqual(self.joined("c.process_id IS NULL"), described())

    def test_in_a_log_of_nccl(self):
        lines = ["node1:7:7 [0] NCCL INFO Bootstrap: Using eth0"] + [json.dumps(call) for call in marks()[0]]
        files = self.ingest(*sorted(FIXTURE.glob("*.gz")), self.printed(lines))
        self.assertEqual(files["out"]["dialect"], "nccl-log")
        self.assertEqual(self.joined("c.process_id IS NULL"), {0: described()[0]})

    def test_what_has_no_operation_is_counted(self):
        call = marks()[0][0]
        strange = [{**call, "message_size": 4097}, {**call, "rank": 9}, {**call, "name": "all_shuffle"},
                   {**call, "group_ranks": [0, 1]}, {**call, "timestamp": call["timestamp"] + 100}]
        lines = [json.dumps(one) for one in strange] + [json.dumps(call)[:80], json.dumps(call)[:-20]]
        self.ingest_traces(self.printed(lines), status=1)
        self.assertEqual(self.joined("c.process_id IS NULL"), {})
        self.assertEqual(self.ledger(), {NOTHING: 3, "call description of an unknown rank": 1,
                                         "call description of an unknown call": 1, CUT: 2})

    def test_what_could_be_of_several_has_none(self):
        calls = [{key: value for key, value in call.items() if key != "timestamp"} for call in marks()[0]]
        self.ingest_traces(self.printed(map(json.dumps, calls[1:])))
        self.assertEqual(self.joined("c.process_id IS NULL"), {})
        self.assertEqual(self.ledger(), {SEVERAL: 4})

    def test_operations_that_are_missing_at_the_end(self):
        calls = [{key: value for key, value in call.items() if key != "timestamp"} for call in marks()[0]]
        self.ingest_traces(self.printed(map(json.dumps, calls + calls[:2])))
        self.assertEqual(self.joined("c.process_id IS NULL"), {0: described()[0]})
        self.assertEqual(self.ledger(), {NOTHING: 2})

    def test_report_by_line_and_place(self):
        self.ingest(FIXTURE)
        line = marks()[0][0]["source_line"]
        rows = {row["source"]: row for row in self.json("report", "--by", "source")["rows"]}
        self.assertEqual((rows[line]["instances"], rows[line]["operations"]), (5, 20))
        rows = self.json("report", "--by", "source,gpu_serial,vm,device,function")["rows"]
        self.assertEqual({(row["device"], row["operations"]) for row in rows if row["source"] == line}, {(0, 10), (1, 10)})
        self.assertEqual({(row["gpu_serial"], row["vm"]) for row in rows}, {("1650123", "vm-7")})

    def test_one_rank_prints_for_all(self):
        """Without marks, the source line is that of the whole operation, as printed by the leader of the group."""
        for path in sorted(FIXTURE.glob("*.gz")):
            text = gzip.decompress(path.read_bytes()).decode()
            self.write(path.stem, "".join(line for line in text.splitlines(True) if "CallDescription" not in line))
        self.ingest(self.folder, FIXTURE / "stdout.0")
        rows = self.json("report", "--by", "source,rank")["rows"]
        self.assertEqual(sorted(row["rank"] for row in rows if row["source"]), [0, 1, 2, 3])

    def test_both_bandwidths(self):
        """Descriptions count data that stays on the rank, and ranks, differently from nccl-tests."""
        self.ingest(TOP / "fixtures/fsdp-clean")
        rows = self.json("report", "--by", "function,communicator", "--call-bandwidth")["rows"]
        sizes = dict(self.rows("SELECT communicator, size FROM v_communicator"))
        seen = set()
        for row in rows:
            n = sizes[row["communicator"]]
            share = {"ReduceScatter": 1 / n}.get(row["function"], 1)
            self.assertAlmostEqual(row["message_bytes"], row["bytes"] * share)
            self.assertAlmostEqual(row["transfer_callbw_gbs_p50"], row["transfer_busbw_gbs_p50"] * share, 5)
            seen.add(row["function"])
        self.assertIn("ReduceScatter", seen)

    def test_between_hosts(self):
        """NCCL counted by the number of nodes: in the fixture each rank is a node."""
        self.ingest(FIXTURE)
        self.assertEqual(self.json("report", "--cross-node")["rows"], self.json("report")["rows"])

    def test_hosts_that_are_not_known(self):
        self.ingest(TOP / "fixtures/tp2dp2pp2-clean")
        answer = self.json("report", "--cross-node")
        self.assertEqual(answer["rows"], [])
        self.assertRegex(answer["warnings"][0], "[0-9]+ operations are left out because it is unknown whether they are between hosts")

    def test_a_batch_of_sends_and_receives(self):
        """The marks of a call come before all of its operations: they are matched by correlation ID, whatever is called in
        between.
        """
        self.write("ncclprof-a-7.json", self.batch())
        self.ingest(self.folder)
        rows = self.rows("SELECT c.name, c.peer_rank, c.source, o.function, o.peer, o.bytes FROM v_call c "
                         "JOIN v_operation o USING (operation_id) ORDER BY call_description_id")
        self.assertEqual(rows, [("send", 1, "pipe.py:5", "Send", 1, 400), ("send", 1, "pipe.py:5", "Send", 1, 400),
                                ("recv", 1, "pipe.py:5", "Recv", 1, 400), ("send", 1, "pipe.py:9", "Send", 1, 400)])
        self.assertEqual(self.ledger(), {NOTHING: 1})

    def batch(self):
        def say(at_us, name, line, correlation=None):
            call = {"name": name, "rank": 0, "source_line": f"pipe.py:{line}", "message_size": 400, "device": 0, "peer_rank": 1}
            if correlation is not None:
                call["correlation_id"] = correlation
            return event("CallDescription", "NCCLPROF", "i", 0, 7, at_us, text=json.dumps(call), source="nvtx")

        def do(at_us, number, name):
            return (event(name, "P2P", "b", number, 7, at_us, CommHash=5, Rank=0, Peer=1, Count=100, Datatype="ncclFloat32")
                    + event(name, "P2P", "e", number, 7, at_us + 1))

        return ("[\n" + event("Process", "NCCLPROF", "M", 0, 7, 0, host="a", start_realtime_ns=1795567921452167724)
                + event("Communicator", "NCCLPROF", "M", 0, 7, 1, CommHash=5, Rank=0, nRanks=2, nNodes=2)
                + say(10, "send", 5, 77) + do(11, 0, "Recv") + say(12, "send", 5, 77) + say(13, "recv", 5, 77)
                + do(20, 1, "Send") + do(21, 2, "Send") + do(22, 3, "Recv")
                + say(30, "send", 7) + do(31, 4, "Recv") + say(40, "send", 9) + do(41, 5, "Send") + "{}]\n")

    def test_what_is_forgotten(self):
        self.ingest(FIXTURE)
        forgotten = self.ingest("--forget", "1")
        self.assertIn("stdout.0", forgotten)
        self.assertEqual(self.rows("SELECT count(*) FROM v_call"), [(0,)])

    def test_marks_that_the_plugin_cut(self):
        """The remaining marks show the call, but not its group."""
        for path in sorted(FIXTURE.glob("*.gz")):
            lines = gzip.decompress(path.read_bytes()).decode().splitlines(True)
            for at, line in enumerate(lines):
                if '"CallDescription"' in line:
                    mark = json.loads(line.rstrip(",\n"))
                    mark["args"] = {"text": mark["args"]["text"][:-5].replace('"device"', '"group_ranks": [0, 1'), "truncated": 1}
                    lines[at] = json.dumps(mark) + ",\n"
            self.write(path.stem, "".join(lines))
        self.assertEqual({file["status"] for file in self.ingest(self.folder).values()}, {"ingested"})
        self.assertEqual(self.joined(), described())


class Alone(Case):
    """Descriptions of calls without any trace."""

    def say(self, rank, name, line, size=4096, **more):
        return json.dumps({"name": name, "rank": rank, "source_line": f"loop.py:{line}", "message_size": size, "device": rank} | more)

    def print_job(self, counts, group_counts=(), ranks=4):
        """Each rank reduces counts[rank] times over all ranks, then gathers group_counts[rank] times in {0,1} or {2,3}."""
        for rank in range(ranks):
            lines = ["loading"] + [self.say(rank, "all_reduce", 20)] * counts[rank]
            lines += [self.say(rank, "all_gather", 31, 64, group_ranks=[rank // 2 * 2, rank // 2 * 2 + 1])] * (group_counts[rank] if group_counts else 0)
            self.write(f"out.{rank}", "".join(line + "\n" for line in lines))
        self.ingest(*(f"out.{rank}" for rank in range(ranks)))

    def warnings(self, status=0):
        answer = self.json("diagnose", status=status)
        self.assertEqual(answer["findings"], [])
        return [text for text in answer["warnings"] if "described" in text]

    def test_the_fixture(self):
        self.ingest(FIXTURE.with_name("call-description-alone"))
        text, = self.warnings()
        self.assertIn("rank 3 described 4 (its last call: all_gather_into_tensor at pretrain.py:88)", text)
        rows = {(row["source"], row["rank"]): (row["operations"], row["message_bytes"]) for row in self.json("report")["rows"]}
        self.assertEqual(rows[("pretrain.py:131", 3)], (4, 4 * 4194304))
        self.assertEqual([rows[("pretrain.py:88", rank)] for rank in range(4)], [(5, 5 * 1048576)] * 4)

    def test_averages_by_rank_have_none(self):
        self.ingest(TOP / "fixtures/prometheus")
        self.assertEqual({row["rank"] for row in self.json("report", "--by", "rank")["rows"]}, {None})

    def test_a_table_by_source_line(self):
        self.write("out", "".join(line + "\n" for line in (
            self.say(0, "all_reduce", 20), self.say(0, "all_reduce", 20, 512), self.say(1, "all_reduce", 20),
            self.say(1, "barrier", 7, 0), self.say(0, "isend", 40, 10, peer_rank=1), self.say(1, "own_call", 50, 3))))
        self.ingest("out")
        rows = self.json("report")["rows"]
        self.assertEqual([(row["source"], row["function"], row["rank"], row["operations"], row["message_bytes"]) for row in rows],
                         [("loop.py:20", "AllReduce", 0, 2, 4608), ("loop.py:20", "AllReduce", 1, 1, 4096), ("loop.py:40", "Send", 0, 1, 10),
                          ("loop.py:50", "own_call", 1, 1, 3), ("loop.py:7", "Barrier", 1, 1, 0)])
        rows = self.json("report", "--by", "rank", "--rank", 1)["rows"]
        self.assertEqual([(row["rank"], row["operations"], row["message_bytes"]) for row in rows], [(1, 3, 4099)])
        said = self.run_program("report", "--by", "peer", "--step", "3", "--format", "json", status=1)
        self.assertEqual((json.loads(said.out)["rows"], said.err), ([], "ncclprof: nothing matches the filters\n"))

    def test_a_rank_that_described_fewer_calls_is_named(self):
        self.print_job([9, 9, 8, 9])
        text, = self.warnings()
        self.assertIn("3 of 4 ranks described 9 calls of all_reduce, rank 2 described 8 (its last call: all_reduce at loop.py:20)", text)

    def test_a_rank_that_waits_elsewhere_is_not_named(self):
        """Rank 7 does not gather with ranks 5 and 6, which wait for it there and miss the next reduction."""
        for rank in range(8):
            group = list(range(5)) if rank < 5 else [5, 6, 7]
            lines = [self.say(rank, "all_reduce", 20)] * 8
            lines += [self.say(rank, "all_gather", 31, 64, group_ranks=group)] * (rank < 7)
            lines += [self.say(rank, "all_reduce", 20)] * (rank < 5)
            self.write(f"out.{rank}", "".join(line + "\n" for line in lines))
        self.ingest(*(f"out.{rank}" for rank in range(8)))
        reduced, gathered = self.warnings()
        self.assertIn("5 of 8 ranks described 9 calls of all_reduce, rank 7 described 8 (", reduced)
        self.assertIn("2 of 3 ranks in group [5,6,7] described 1 call of all_gather, rank 7 described 0 (", gathered)

    def test_equal_counts_name_nobody(self):
        self.print_job([4, 4, 4, 4], [2, 2, 3, 3])
        self.assertEqual(self.warnings(status=1), [])
        result = self.run_program("diagnose", status=1)
        self.assertIn("26 call descriptions of 4 ranks", " ".join(result.out.split()))
