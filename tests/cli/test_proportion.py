"""Memory and store stay in proportion to the bytes of a file, however often it refers to something, and whatever numbers it
contains.

Each kind of file that could break this is made here, with a few hundred KB: a reader that expanded each reference or number would
make hundreds of MB from it.
"""

import gzip
import json
import os
import pickle
import sqlite3
import subprocess

from tests.cli.support import PROGRAM, SANITIZED, TOP, Case

# The memory of the program for any file, including what is counted from this process, and per byte.
MEMORY_BYTES, MEMORY_A_BYTE = 80 << 20, 64
STORE_BYTES, STORE_A_BYTE = 4 << 20, 20

BEYOND = "over the expansion limit"
EPOCH_NS = 1780000000000000000


def recorder_entry(record, group, number):
    return {"record_id": record, "pg_id": number, "process_group": group, "collective_seq_id": 1, "p2p_seq_id": 0,
            "profiling_name": "nccl:all_reduce", "time_created_ns": EPOCH_NS + record, "input_sizes": [[64]],
            "input_dtypes": ["Float"], "output_sizes": [[64]], "output_dtypes": ["Float"], "state": "scheduled",
            "frames": [{"name": "f", "filename": "/home/user/a.py", "line": 7}]}


def recorder_dump(entries, config):
    return {"version": "2.10", "pg_config": config, "pg_status": {}, "entries": entries}


def kineto(events, **more):
    return json.dumps({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "GPU"}], "baseTimeNanoseconds": EPOCH_NS,
                       "distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 1 << 20, **more},
                       "traceEvents": events}).encode()


def kernel(number, **arguments):
    return {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
            "pid": 0, "tid": 7, "ts": 1000 + 10 * number, "dur": 5,
            "args": {"Collective name": "allreduce", "In msg nelems": 64, "Out msg nelems": 64, "dtype": "Float", "device": 0,
                     "stream": 7, "correlation": number, **arguments}}


class Proportion(Case):
    def check(self, name, content, *commands, told=None):
        """The memory of ingest for a file, and of queries on its store."""
        path = self.write(name, content)
        size = path.stat().st_size
        self.assertLess(size, 800_000)
        self.store.unlink(missing_ok=True)
        for words in (("ingest", name), *(commands or (("diagnose",), ("report",), ("info",)))):
            process = subprocess.Popen([PROGRAM, "--store", self.store, *words], cwd=self.folder, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.PIPE)
            errors = process.stderr.read()
            process.stderr.close()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            self.assertIn(process.returncode, (0, 1), errors)
            if not SANITIZED:
                self.assertLess(usage.ru_maxrss * 1024, MEMORY_BYTES + MEMORY_A_BYTE * size, (name, words))
        if not self.store.exists():
            return {}
        self.assertLess(self.store.stat().st_size, STORE_BYTES + STORE_A_BYTE * size, name)
        reasons = {row["reason"]: row for row in self.json("info", "--ledger", status=None)["rows"]}
        if told:
            self.assertTrue(any(told in reason and row["damage"] and row["count"] > 10 for reason, row in reasons.items()), reasons)
        return reasons

    def test_names_that_a_pickle_shares(self):
        names = [f"{'g' * 150_000}{i}" for i in range(2)]
        entries = [recorder_entry(i, (names[i % 2], names[(i + 1) % 2]), i) for i in range(1500)]
        self.check("nccl_trace_rank_0", pickle.dumps(recorder_dump(entries, {}), 2), told=BEYOND)

    def test_ranks_that_a_pickle_shares(self):
        for number, ranks in enumerate((str(list(range(60_000))), list(range(100_000)))):
            config = {str(i): {"name": str(i), "desc": "d", "ranks": ranks} for i in range(1500)}
            entries = [recorder_entry(i, (str(i), "d"), i) for i in range(20)]
            self.check(f"shared{number}_0", pickle.dumps(recorder_dump(entries, config), 2), told=BEYOND)

    def test_a_dump_of_many_ranks_is_told_whole(self):
        """A list of ranks costs no more than its text."""
        names = [f"group {i}" for i in range(6)]
        config = {name: {"name": name, "desc": name, "ranks": str(list(range(0, 40_000, i + 1)))} for i, name in enumerate(names)}
        entries = [recorder_entry(i, (names[i % 6], names[i % 6]), i % 6) for i in range(200)]
        reasons = self.check("nccl_trace_rank_0", pickle.dumps(recorder_dump(entries, config), 2))
        self.assertFalse(any(row["damage"] for row in reasons.values()), reasons)
        self.assertEqual(self.rows("SELECT count(DISTINCT member_id), count(*) FROM operation"), [(6, 200)])

    def test_lines_of_one_long_path(self):
        path = "/home/" + "p" * 900 + ".py"
        entries = [{"profiling_name": "nccl:barrier", "state": "scheduled", "record_id": i, "process_group": ("0", "d"),
                    "frames": [{"filename": path, "line": i}]} for i in range(12_000)]
        self.check("nccl_trace_rank_0", pickle.dumps(recorder_dump(entries, {}), 2))

    def test_frames_that_entries_share(self):
        """A frame must not be searched for each entry that refers to it."""
        frame = {"filename": "/usr/lib/python3/x.py", "line": 1, **{i: 0 for i in range(1000)}}
        frames = [frame] * 250
        entries = [{"profiling_name": "nccl:barrier", "state": "scheduled", "record_id": i, "process_group": ("0", "d"),
                    "frames": frames} for i in range(3000)]
        self.check("nccl_trace_rank_0", pickle.dumps(recorder_dump(entries, {}), 2), told="over the expansion limit")

    def test_entries_that_are_one(self):
        entries = [recorder_entry(0, ("0", "d"), 0)] * 300_000
        self.check("nccl_trace_rank_0", pickle.dumps(recorder_dump(entries, {}), 2))

    def test_members_that_entries_and_segments_share(self):
        """A dictionary of any size must be searched at most once for each reference."""
        members = {i: 0 for i in range(50_000)}
        entry = {"profiling_name": "nccl:barrier", "state": "scheduled", "record_id": 1, "process_group": ("0", "d"), **members}
        self.check("nccl_trace_rank_0", pickle.dumps(recorder_dump([entry] * 20_000, {}), 2), told="unreadable entry")
        segment = {"device": 0, "address": 4096, "total_size": 2048, "is_expandable": False, "blocks": [], **members}
        event = {"action": "segment_alloc", "addr": 4096, "size": 2048, "stream": 0, "time_us": 17, **members}
        self.check("memsnap-rank0.pickle", pickle.dumps({"segments": [segment] * 20_000, "device_traces": [[event] * 20_000]}, 2))

    def test_segments_that_are_one(self):
        block = {"size": 1024, "requested_size": 1024, "address": 4096, "state": "active_allocated", "frames": []}
        segment = {"device": 0, "address": 4096, "total_size": 2048, "allocated_size": 1024, "active_size": 1024, "stream": 0,
                   "segment_type": "large", "segment_pool_id": (0, 0), "is_expandable": False, "frames": [], "blocks": [block] * 100}
        trace = [{"action": "segment_alloc", "addr": 4096, "size": 2048, "stream": 0, "time_us": 17, "frames": []}] * 100_000
        self.check("memsnap-rank0.pickle", pickle.dumps({"segments": [segment] * 50_000, "device_traces": [trace] * 64}, 2))

    def test_sizes_of_groups_of_a_profile(self):
        events = [kernel(i, **{"Process Group Name": str(i), "Group size": (1 << 20) - i, "Process Group Ranks": "[0, 1, ...]",
                               "Process Group Description": "d", "Rank": 0, "start rank": 0, "stride": 1, "Global rank start": 0,
                               "Global rank stride": 1}) for i in range(1000)]
        self.check("rank0.pt.trace.json", kineto(events))

    def test_a_group_of_a_profile_that_many_may_be(self):
        config = [{"pg_name": "0", "pg_desc": "d", "backend_config": "cuda:nccl", "pg_size": 60_000, "ranks": list(range(60_000))}]
        events = [kernel(i, **{"Process Group Name": "0", "Process Group Ranks": str(list(range(i + 1)))[:-1] + ", ...]",
                               "Process Group Description": "d"}) for i in range(300)]
        self.check("rank0.pt.trace.json", kineto(events, pg_config=config))

    def test_logs_of_any_number_of_ranks(self):
        lines = []
        for i in range(1200):
            head = "node0:77:77 [0] NCCL INFO "
            lines += [f"{head}ncclCommInitRankConfig comm 0x{i + 1:x} rank {i} nranks 1000000000 cudaDev 0 nvmlDev 0 busId 1b000 "
                      f"commId 0x{i + 5:x} - Init COMPLETE",
                      f"{head}AllReduce: opCount 7fffffff sendbuff 0x1000 recvbuff 0x1000 count 99999999999 datatype 9 op 0 root 0 "
                      f"comm 0x{i + 1:x} [nranks=1000000000] stream 0x10"]
        self.check("nccl.log", ("\n".join(lines) + "\n").encode())

    def test_counts_of_a_running_job(self):
        ranks = [{"rank": i, "host": "10.0.0.1", "pid": 40 + i, "cuda_dev": 0, "nvml_dev": 0, "status": {},
                  "collective_counts": {name: 10**15 if i else 0 for name in
                                        ("Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce")}} for i in range(1500)]
        dump = {"nccl_version": "2.29.1", "timestamp": "2026-03-02 10:15:00", "communicators_count": 1, "communicators": [
            {"hash": "0xabc", "secondary_hash": "0x1:0x2", "size": 10**9, "ranks_count": 10**9, "missing_ranks_count": 0,
             "ranks": ranks, "missing_ranks": []}]}
        reasons = self.check("ras.json", json.dumps(dump, indent=1).encode())
        self.assertFalse(any(row["damage"] for row in reasons.values()), reasons)
        # All ranks are kept, because they are needed to find those behind.
        kept = self.rows("SELECT DISTINCT count(*) FROM operation GROUP BY member_id")
        self.assertEqual(len(kept), 1, kept)

    def test_works_of_any_number(self):
        lines = []
        for rank in range(1500):
            head = f"[rank{rank}]:[E1125 01:03:54.920565245 ProcessGroupNCCL.cpp:"
            lines += [f"{head}689] [Rank {rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum={rank * 10**12}, "
                      "OpType=ALLREDUCE, NumelIn=4195328, NumelOut=4195328, Timeout(ms)=15000) ran for 15099 milliseconds before "
                      "timing out.",
                      f"{head}2303] [PG ID 0 PG GUID 0(default_pg) Rank {rank}]  failure detected by watchdog at work sequence id: "
                      f"{rank * 10**12} PG status: last enqueued work: 9000000000000000000, last completed work: 1"]
        self.check("stderr.log", ("\n".join(lines) + "\n").encode())

    def test_samples_of_any_number_of_ranks(self):
        lines = [f'nccl_bus_bandwidth_gbs{{version="v5.1",node="vm",gpu="GPU4",comm_name="c{i}",n_nodes="1000000000",'
                 f'nranks="1000000000",collective="AllReduce",message_size="4-5MB",algo_proto="RING_SIMPLE"}} 30.5' for i in range(2000)]
        self.check("nccl_inspector_metrics_a.prom", ("\n".join(lines) + "\n").encode())

    def test_texts_that_a_table_shares(self):
        """A range of Nsight Systems names its text by a number."""
        path = self.folder / "node0.sqlite"
        sql = (TOP / "fixtures/nsys/node0.sql").read_text()
        with sqlite3.connect(path) as tables:
            tables.executescript(sql)
            text = "NCCL " + "x" * 100_000
            tables.execute("INSERT INTO StringIds (id, value) VALUES (999999, ?)", (text,))
            columns = [row[1] for row in tables.execute("PRAGMA table_info(NVTX_EVENTS)")]
            one = list(tables.execute("SELECT * FROM NVTX_EVENTS WHERE textId IS NOT NULL LIMIT 1").fetchone())
            one[columns.index("textId")] = 999999
            tables.executemany(f"INSERT INTO NVTX_EVENTS VALUES ({','.join('?' * len(one))})", [one] * 2000)
        tables.close()
        self.check("node0.sqlite", path.read_bytes())

    def test_what_is_packed(self):
        lines = "".join(json.dumps({"name": "all_reduce", "rank": 0, "source_line": "/home/" + "x" * 900 + ":1", "message_size": 4096,
                                    "device": 0, "timestamp": 1795567926, "gpu_serial": "1", "vm_id": "vm"}) + "\n" for _ in range(400))
        self.check("stdout.gz", gzip.compress(lines.encode()))
