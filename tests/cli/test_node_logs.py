"""What operators have of the nodes of a job (kernel logs, nvidia-smi, DCGM, exporters, counters, stacks), in the store."""

import datetime
import os
import shutil
import subprocess

from tests.cli.support import PROGRAM, TOP, Case

FOLDERS = ("kernel-log", "nvidia-smi", "dcgmi", "exporter", "query-range", "ethtool", "rdma", "py-spy")
TRACE = TOP / "fixtures/tp2dp2pp2-slow-rank"


class NodeLogs(Case):
    def counts(self):
        info = self.info()
        return {key: value for key, value in info.items()
                if key not in ("files", "bytes", "skipped", "node_samples", "node_events", "partial_files")}

    def test_messages_join_host_gpu_and_time(self):
        """The rows that the TRUTH files of the fixtures name."""
        self.ingest(*(TOP / "fixtures" / folder for folder in FOLDERS))
        messages = self.rows("SELECT time, host, place, device, code, number, pid, process FROM v_node_event")
        for row in (
            ("2026-11-26T10:11:12.346Z", "node020", "gpu", "00000000:c1:00.0", "xid", 94, 912, "python"),
            (None, "node017", "gpu", "00000000:3b:00.0", "xid", 79, 4711, "python"),
            (None, "node017", "process", "4711", "oom_kill", None, 4711, "python"),
            ("2026-11-26T10:11:12.000Z", "node018", "node", None, "sxid", 20034, None, None),
            ("2026-11-26T10:11:32.000Z", "node017", "gpu", "00000000:86:00.0", "xid", 63, None, None),
            ("2026-11-26T10:11:12.000Z", "node017", "process", "4711", "stack", None, 4711, "python3"),
        ):
            self.assertIn(row, messages)
        samples = self.rows("SELECT host, device, metric, (at_ns - begin_ns) / 1000000000, value FROM v_node_sample")
        for row in (
            ("node017", "00000000:86:00.0", "pcie_replays", 20, 12),
            ("node017", "00000000:3b:00.0", "ecc_corrected", 1, 2),
            ("node018", "mlx5_1/2", "symbol_errors", 15, 18233),
            ("node017", "ens3f0np0", "receive_errors", 10, 300),
            ("node017", "mlx5_0/1", "out_of_sequence", 10, 1200),
        ):
            self.assertIn(row, samples)
        self.check_integrity()

    def test_they_change_nothing_else(self):
        """No processes, runs or findings come from them."""
        self.ingest(TRACE)
        before, found = self.counts(), self.json("diagnose")
        self.ingest(*(TOP / "fixtures" / folder for folder in FOLDERS))
        self.assertGreater(self.info()["node_samples"], 0)
        self.assertEqual(self.counts(), before)
        after = self.json("diagnose")
        self.assertEqual(after["findings"], found["findings"])

    def test_a_log_that_grows_replaces_itself(self):
        shutil.copy(TOP / "fixtures/ethtool/node017-ethtool.txt", self.folder / "node017-ethtool.txt")
        self.ingest("node017-ethtool.txt")
        before = self.info()["node_samples"]
        with open(self.folder / "node017-ethtool.txt", "a") as log:
            log.write("Thu Nov 26 10:11:32 UTC 2026\n$ ethtool -S ens3f0np0\nNIC statistics:\n     rx_crc_errors_phy: 311\n")
        self.ingest("node017-ethtool.txt")
        self.assertEqual(self.info()["node_samples"], before + 1)

    def test_equal_content_of_other_names_is_no_copy(self):
        """Counters are often equal on several hosts, and at several times, while nothing happens."""
        line = '[{"ifname":"mlx5_0","port":1,"rx_write_requests":0,"out_of_sequence":0' + ',"x":0' * 300 + "}]\n"
        names = [f"rdma.{host}.20261126-1011{second}.json" for host in ("node1", "node2") for second in (10, 20)]
        for name in names:
            self.write(name, line)
        for expected in "ingested", "unchanged":
            files = self.ingest(*names)
            self.assertEqual([file["status"] for file in files.values()], [expected] * 4)
        self.assertEqual(self.rows("SELECT host, substr(time, 12, 8), value FROM v_node_sample ORDER BY 1, 2"),
                         [("node1", "10:11:10", 0), ("node1", "10:11:20", 0), ("node2", "10:11:10", 0), ("node2", "10:11:20", 0)])

    def test_the_last_change_gives_the_year(self):
        path = self.write("node001-syslog", "Nov 26 10:11:12 node001 kernel: NVRM: Xid (PCI:0000:1b:00): 79, pid=77, name=a, x\n")
        os.utime(path, (1700993500, 1700993500))
        self.ingest(path)
        self.assertEqual(self.rows("SELECT time, host, number FROM v_node_event"), [("2023-11-26T10:11:12.000Z", "node001", 79)])
        ledger = {row["reason"]: row["damage"] for row in self.json("info", "--ledger")["rows"]}
        self.assertEqual({reason for reason in ledger if "time" in reason},
                         {"local time without a time zone, taken as UTC", "time without a year: the latest one up to the file's last change"})
        self.assertFalse(any(ledger.values()))


class LocalTime(Case):
    """A kernel log without a zone, beside a run of some seconds, is said to be in local time if something shows it."""

    HOUR = 3600
    ISO = "use one with the zone: dmesg --time-format iso or journalctl -o short-iso"

    def simulate(self, *options):
        subprocess.run([os.path.join(os.path.dirname(PROGRAM), "simulate"), "--shape", "ddp", "--ranks", "16", "--per-node", "8",
                        "--steps", "60", "--seed", "5", "--dialect", "inspector-2.30", *options, "-o", self.folder / "job"],
                       check=True, stdout=subprocess.DEVNULL)
        self.ingest(self.folder / "job")
        begin, end = self.rows("SELECT min(enqueue_begin_us), max(device_end_us) FROM v_operation")[0]
        self.assertLess(end - begin, 600 * 1e6)
        self.end = int(end / 1e6)

    def log(self, name, later, form="[%a %b %d %H:%M:%S %Y]", changed=30 * 24 * HOUR):
        """A message of the end of the run; `later` and `changed` are seconds after that."""
        time = datetime.datetime.fromtimestamp(self.end + later, datetime.timezone.utc)
        path = self.write(name, f"{time.strftime(form)} mlx5_core 0000:3b:00.0 ens3f0np0: Link down\n")
        os.utime(path, (self.end + changed,) * 2)
        return path

    def said(self, *logs):
        """The warnings about the local time of the logs."""
        store = self.folder / "with.db"
        shutil.copy(self.store, store)
        self.run_program("--store", store, "ingest", "-q", *logs)
        return [warning for warning in self.json("--store", store, "diagnose")["warnings"] if "local time" in warning]

    def test_shown_by_the_run(self):
        self.simulate("--fault", "throttle:3:20:39:30")
        for later, words in ((2, "2 hours earlier"), (1, "1 hour earlier"), (-5, "5 hours later"), (5.75, "5 hours 45 minutes earlier"),
                             (-0.5, "30 minutes later")):
            said, = self.said(self.log("dmesg.node000.txt", later * self.HOUR))
            self.assertRegex(said, r"^the kernel log of host node000 may be in local time \(.*dmesg\.node000\.txt\): its times have no zone, and "
                                   rf"none is within the run \(\S+ to \S+\), but the last one would be, if it were {words}; {self.ISO}$")
        for later in (0, 420, 2 * self.HOUR + 420, 15 * self.HOUR):
            self.assertEqual(self.said(self.log("dmesg.node000.txt", later)), [], later)
        zoned = self.log("dmesg.node000.txt", 2 * self.HOUR, "%Y-%m-%dT%H:%M:%S,000000+00:00")
        self.assertEqual(self.said(zoned), [])

    def test_shown_by_other_records(self):
        """Without a finding, too. A log whose message another record has at the same time is in UTC."""
        self.simulate()
        log = self.log("dmesg.node000.txt", 2 * self.HOUR)
        self.assertEqual(self.said(log), [])
        for other, expected in ((0, 1), (2 * self.HOUR + 1, 0), (420, 0)):
            said = self.said(log, self.log("kernel.node000.txt", other, "%Y-%m-%dT%H:%M:%S,000000+00:00"))
            self.assertEqual(len(said), expected, said)
            for warning in said:
                self.assertRegex(warning, r"^the kernel log of host node000 seems to be in local time .* and its last message is 2 hours earlier in "
                                          rf"\S*kernel\.node000\.txt; {self.ISO}$")

    def test_shown_by_the_last_change(self):
        self.simulate()
        said, = self.said(self.log("dmesg.node000.txt", 2 * self.HOUR, changed=30))
        self.assertRegex(said, r"seems to be in local time .* and it ends at \S+, after the file was last changed \(\S+\); ")
        self.assertEqual(self.said(self.log("dmesg.node000.txt", 0, changed=30)), [])
