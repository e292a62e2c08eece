"""Algorithms and protocols: each one of NCCL is known by name, and report shows which was faster."""

import os
import subprocess
from pathlib import Path

from tests.cli import inspector_lines
from tests.cli.support import PATIENCE_S, PROGRAM, TOP, Case

BUILT = Path(PROGRAM).parent

# All that NCCL 2.31 can write for a collective: src/graph/tuning.cc, src/collectives.cc and src/sym_kernels.cc.
EVERYWHERE = {("RING", "LL"), ("RING", "LL128"), ("RING", "SIMPLE"), ("NVLS", "SIMPLE"), ("COLLNET_DIRECT", "SIMPLE")}
KNOWN = {
    "AllReduce": EVERYWHERE | {("TREE", "LL128"), ("NVLS_TREE", "SIMPLE"), ("COLLNET_CHAIN", "SIMPLE")} | {(name, None) for name in (
        "AGxLL_R", "AGxLLMC_R", "RSxLD_AGxST", "RSxLDMC_AGxSTMC", "RSxTmaLD_AGxTmaST")},
    "AllGather": EVERYWHERE | {("PAT", "SIMPLE")} | {(name, None) for name in (
        "LL", "LLMC", "ST", "STMC", "TmaST", "TmaSTMC", "RailRing_LsaSTMC")},
    "ReduceScatter": EVERYWHERE | {("PAT", "SIMPLE")} | {(name, None) for name in (
        "LL", "LD", "LDMC", "TmaLD", "RailA2A_LsaLD", "RailA2A_LsaLDMC")},
}


class Algorithms(Case):
    def test_each_that_nccl_has_is_known_by_name(self):
        """Recorded by the bundled plugin from a fake core."""
        subprocess.run([BUILT / "fakecore", "--plugin", BUILT / "libnccl-profiler-ncclprof.so", "--api", "7", "--ranks", "8",
                        "--rank", "0", "--steps", "30", "--layers", "1", "--every-algorithm", "--op-us", "0", "--net-steps", "0"],
                       env={**os.environ, "NCCLPROF_DIR": str(self.folder / "traces")}, check=True, capture_output=True, timeout=PATIENCE_S)
        self.run_program("ingest", self.folder / "traces")
        found = {}
        for row in self.json("report", "--by", "function,algorithm,protocol")["rows"]:
            found.setdefault(row["function"], set()).add((row["algorithm"], row["protocol"]))
        for function, known in KNOWN.items():
            with self.subTest(function):
                self.assertEqual(found.get(function), known)

    def test_the_copy_engine_is_one(self):
        self.run_program("ingest", TOP / "fixtures/copy-engine")
        row, = self.json("report", "--by", "algorithm,protocol")["rows"]
        self.assertEqual((row["algorithm"], row["protocol"]), ("COPY_ENGINE", None))

    def write_job(self, lengths_us, communicators=1):
        """Two ranks. For each algorithm, one AllReduce for each of its lengths."""
        for rank in range(2):
            lines, at_us, number = [], inspector_lines.EPOCH_US, 0
            for algorithm, lengths in lengths_us.items():
                for place, length_us in enumerate(lengths):
                    record = inspector_lines.collective("v4.1", "AllReduce", number, at_us, at_us + 10, at_us + 10 + length_us)
                    record["coll_perf"]["coll_algo"] = algorithm
                    who = inspector_lines.identity("v4.1", 7 + place % communicators, rank, 2, 100 + rank, "node0", at_us)
                    lines.append(inspector_lines.text(who | record))
                    at_us, number = at_us + 10000, number + 1
            self.write(f"traces/node0-pid{100 + rank}.log", "".join(lines))
        self.run_program("ingest", self.folder / "traces")

    def compared(self, by="algorithm,protocol,size"):
        return {row["algorithm"]: (row["slower_percent"], row["significant"], row["fastest"])
                for row in self.json("report", "--by", by)["rows"]}

    def test_which_was_faster_and_by_how_much(self):
        self.write_job({"RING": range(145, 156), "NVLS": range(95, 106), "TREE": range(195, 206)})
        self.assertEqual(self.compared(), {"NVLS": (0.0, "yes", "NVLS SIMPLE"), "RING": (50.0, "yes", "NVLS SIMPLE"),
                                           "TREE": (100.0, "yes", "NVLS SIMPLE")})

    def test_what_may_be_chance_says_so(self):
        self.write_job({"RING": range(50, 250, 20), "NVLS": range(40, 240, 20)})
        self.assertEqual({name: said[1] for name, said in self.compared().items()}, {"RING": "no", "NVLS": "no"})

    def test_a_few_operations_win_nothing(self):
        self.write_job({"RING": range(145, 156), "NVLS": [1, 1]})
        self.assertEqual(self.compared(), {"RING": (None, None, None), "NVLS": (None, None, None)})

    def test_communicators_are_not_compared_with_each_other(self):
        self.write_job({"RING": range(145, 161), "NVLS": range(95, 111)}, communicators=2)
        answer = self.json("report", "--by", "algorithm,size")
        self.assertEqual({row["slower_percent"] for row in answer["rows"]}, {None})
        self.assertTrue(any("several functions or communicators" in warning for warning in answer["warnings"]))
        rows = self.json("report", "--by", "communicator,algorithm,size")["rows"]
        self.assertEqual(sorted(row["fastest"] for row in rows), ["NVLS"] * 4)

    def test_without_a_size_nothing_is_compared(self):
        self.write_job({"RING": range(145, 156), "NVLS": range(95, 106)})
        self.assertNotIn("slower_percent", self.json("report", "--by", "algorithm")["rows"][0])
