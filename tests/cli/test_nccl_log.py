"""NCCL's debug log: alone, and together with a trace of the same job."""

import gzip
import json
import shutil

from .support import TOP, Case

HANG = TOP / "fixtures/nccl-log-hang"
TRACE = TOP / "fixtures/tp2dp2pp2-hang"


def operations_of(trace):
    """The starts of calls in a Chrome trace of NCCL's example plugin, and their ranks."""
    text = gzip.decompress(trace.read_bytes()) if trace.suffix == ".gz" else trace.read_bytes()
    body = text.decode().strip().rstrip("]").rstrip().rstrip(",") + "]"
    return [event for event in json.loads(body) if event.get("cat") in ("COLL", "P2P") and event.get("ph") == "b"]


def log_of(events):
    """The lines that NCCL writes for these calls."""
    lines, known = [], {}
    for event in events:
        args, pid = event["args"], event["pid"]
        head = f"node7:{pid}:{pid} [2] NCCL INFO "
        if (pid, args["CommHash"]) not in known:
            known[pid, args["CommHash"]] = f"0x{0x55d0c0000000 + len(known) * 4096:x}"
            lines.append(head + f"ncclCommInitRankConfig comm {known[pid, args['CommHash']]} rank {args['Rank']} nranks 2 cudaDev 2 "
                         f"nvmlDev 2 busId 1b000 commId 0x{int(args['CommHash']):x} - Init COMPLETE")
        lines.append(head + f"{event['name']}: opCount 0 sendbuff 0x7f00 recvbuff 0x7f00 count {args['Count']} datatype 7 op 0 root "
                     f"{args.get('Peer', args.get('Root', 0))} comm {known[pid, args['CommHash']]} [nranks=2] stream 0x55e1")
    return "\n".join(lines) + "\n"


class NcclLog(Case):
    def findings(self):
        return self.json("diagnose")["findings"]

    def test_who_stays_out_and_not_who_waits_behind_it(self):
        self.run_program("ingest", HANG)
        finding, = self.findings()
        self.assertEqual((finding["kind"], finding["ranks"], finding["first_step"]), ("missing", [2], 5))
        self.assertEqual(finding["host"], "node1")
        self.assertEqual(finding["gpu"]["bus_id"], "0000:1b:00.0")
        self.assertIn("1 of 2 ranks called", finding["evidence"])

    def test_a_log_that_ends_alike_on_all_ranks_accuses_nobody(self):
        """It is no all-clear: a log has no times."""
        for file in HANG.glob("*.log"):
            lines = [line for line in file.read_text().splitlines() if "opCount a" not in line and "opCount b" not in line]
            (self.folder / file.name).write_text("\n".join(lines) + "\n")
        self.run_program("ingest", self.folder)
        self.assertEqual(self.findings(), [])
        result = self.run_program("diagnose", "--exit-code", status=4)
        self.assertIn("not enough data", result.flat)
        self.assertNotIn("no problem found", result.flat)

    def test_an_operation_of_other_size(self):
        for file in HANG.glob("*.log"):
            text = "\n".join(line for line in file.read_text().splitlines() if "opCount a" not in line and "opCount b" not in line)
            if "4101" in file.name:
                head, _, tail = text.rpartition("count 4194304")
                text = f"{head}count 2097152{tail}"
            (self.folder / file.name).write_text(text + "\n")
        self.run_program("ingest", self.folder)
        finding, = self.findings()
        self.assertEqual((finding["kind"], finding["ranks"]), ("mismatch", [1]))

    def test_beside_a_trace_it_tells_of_hosts_alone(self):
        """Whether the log is ingested with the trace, before it or after it."""
        self.run_program("ingest", TRACE, status=None)
        alone, counted = self.findings(), self.json("info")["rows"][0]
        events = [event for trace in sorted(TRACE.glob("dump*")) for event in operations_of(trace)]
        self.assertGreater(len(events), 200)
        log = self.folder / "job.log"
        log.write_text(log_of(events))
        beside = shutil.copytree(TRACE, self.folder / "beside")
        shutil.copy(log, beside / "job.log")
        for orders in (([beside],), ([log], [TRACE]), ([TRACE], [log])):
            with self.subTest(orders=orders):
                self.store.unlink()
                for paths in orders:
                    self.run_program("ingest", *paths, status=None)
                found, row = self.findings(), self.json("info")["rows"][0]
                self.assertEqual({finding["host"] for finding in found}, {"node7"})
                keys = ("kind", "ranks", "first_step", "confidence", "evidence")
                self.assertEqual([[finding[key] for key in keys] for finding in found],
                                 [[finding[key] for key in keys] for finding in alone])
                self.assertEqual([row[key] for key in ("processes", "collectives", "p2p")],
                                 [counted[key] for key in ("processes", "collectives", "p2p")])
                left, = [row["count"] for row in self.json("info", "--ledger")["rows"]
                         if row["reason"] == "call that a trace also contains"]
                self.assertEqual(left, len(events))
