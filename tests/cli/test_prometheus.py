"""Inspector's text for Prometheus: averages by label and by time of the file, compared with a second reader."""

import collections
import math
import os
import re

from tests.cli.support import TOP, Case

FIXTURE = TOP / "fixtures/prometheus"
STATS = TOP / "fixtures/prometheus-stats"
LINE = re.compile(r'^nccl_(?:p2p_)?bus_bandwidth_gbs\{(.*)\} (\S+)$', re.M)


def bandwidths():
    """By function, communicator and size as written."""
    found = collections.defaultdict(list)
    for path in sorted(FIXTURE.glob("nccl_inspector*.prom")):
        for labels, value in LINE.findall(path.read_text()):
            label = dict(re.findall(r'(\w+)="([^"]*)"', labels))
            found[label.get("collective") or label["p2p_operation"], label["comm_name"], label["message_size"]].append(float(value))
    return found


def size(function, written):
    """S of nccl-tests on two ranks; on all eight ranks the fixture has only AllReduce."""
    number, unit = re.match(r"(\d+)-\d+(\w)B", written).groups()
    return int(number) * {"K": 1 << 10, "M": 1 << 20}[unit] * (2 if function in ("AllGather", "ReduceScatter") else 1)


class Prometheus(Case):
    def test_rows_by_function_communicator_and_size(self):
        files = self.ingest(*FIXTURE.glob("nccl_inspector*.prom"))
        self.assertEqual({file["dialect"] for file in files.values()}, {"prometheus"})
        rows = self.json("report", "--by", "function,communicator,size")["rows"]
        found = {(row["function"], row["communicator"], row["size_bytes"]): row for row in rows}
        expected = bandwidths()
        self.assertEqual(set(found), {(function, name, size(function, written)) for function, name, written in expected})
        for (function, name, written), values in expected.items():
            row = found[function, name, size(function, written)]
            mean = math.exp(sum(map(math.log, values)) / len(values))
            self.assertAlmostEqual(row["effective_busbw_gbs_mean"], mean, 3)
            self.assertEqual((row["samples"], row["instances"]), (len(values), 0))

    def test_tags_and_labels_of_other_versions(self):
        self.ingest(FIXTURE / "tagged.prom")
        rows = self.json("report", "--by-tag")["rows"]
        self.assertEqual({(row["tag"], row["function"], row["effective_us_p50"], row["effective_busbw_gbs_p50"]) for row in rows},
                         {("forward", "AllReduce", 105, 40), ('grad "sync"', "AllReduce", 210, 20),
                          ("backward", "ReduceScatter", 1048.58, 14)})
        self.assertEqual(self.rows("SELECT DISTINCT time, job, node, gpu, communicator, rank_count FROM v_sample"),
                         [("2026-11-20T03:31:44.000Z", "4711", "node1", "GPU4", "0xd152c00f111816", 8)])

    def test_snapshots_of_one_file_make_a_curve(self):
        """Later content of the same path removes nothing."""
        for second, value in (10, "30.5"), (40, "12.25"), (70, "31"):
            path = self.write("gpu.prom", 'nccl_bus_bandwidth_gbs{node="a",gpu="GPU0",comm_name="dp",n_nodes="2",nranks="4",'
                              f'collective="AllReduce",message_size="4-5MB",algo_proto="RING_SIMPLE"}} {value}\n')
            os.utime(path, (1795567900 + second, 1795567900 + second))
            self.ingest(path)
        self.assertEqual(self.ingest(path)["gpu.prom"]["status"], "unchanged")
        rows = self.json("report", "--by", "time,communicator,size")["rows"]
        self.assertEqual([(row["time"], row["size_bytes"], row["effective_busbw_gbs_p50"]) for row in rows],
                         [("2026-11-25T00:51:50.000Z", 4 << 20, 30.5), ("2026-11-25T00:52:20.000Z", 4 << 20, 12.25),
                          ("2026-11-25T00:52:50.000Z", 4 << 20, 31)])

    def test_beside_operations(self):
        """Averages and operations are never in the same row."""
        self.ingest(TOP / "fixtures/inspector-2.30", FIXTURE / "tagged.prom")
        answer = self.json("report")
        self.assertTrue(all("samples" not in row for row in answer["rows"]))
        self.assertIn("3 averages from Prometheus text are not shown; use --samples", answer["warnings"])
        self.assertEqual(sum(row["samples"] for row in self.json("report", "--samples")["rows"]), 3)

    def test_dropped_operations_are_reported(self):
        """Totals so far: of several contents of a file the greatest counts."""
        path = self.write("gpu.prom", (STATS / "gpu1.prom").read_text())
        self.ingest(path, STATS / "gpu0.prom")
        path.write_text(path.read_text().replace(" 260\n", " 300\n"))
        self.ingest(path)
        dropped = "SELECT what, events FROM v_dropped ORDER BY what, events"
        self.assertEqual(self.rows(dropped), [("collectives overwritten before they were written", 17),
                                              ("collectives overwritten before they were written", 300),
                                              ("point-to-point operations overwritten before they were written", 4)])
        told = "321 operations are missing in these averages: Inspector's buffer was full"
        self.assertIn(told, self.run_program("report").flat)
        self.assertIn(told, self.run_program("diagnose", status=1).flat)
        self.assertEqual(self.json("info")["rows"][0]["runs"], 0)

    def test_nothing_is_judged(self):
        self.ingest(FIXTURE / "tagged.prom")
        self.assertEqual(self.run_program("diagnose", "--exit-code", status=4).out.count("averages"), 1)

    def test_damage_is_counted(self):
        path = self.write("x.prom", (FIXTURE / "tagged.prom").read_text() + 'nccl_bus_bandwidth_gbs{collective="A\n'
                          'nccl_bus_bandwidth_gbs{collective="Send"} NaN\nnccl_bus_bandwidth_gbs{node="a"} 3\nnode_load1 0.5\n')
        self.ingest(path, status=1)
        self.assertEqual(sorted(self.rows("SELECT reason, damage, count FROM v_ledger")),
                         [("metric that is not a number", 1, 1), ("unknown metric", 0, 2),
                          ("unreadable labels", 1, 1), ("unreadable line", 1, 1)])
