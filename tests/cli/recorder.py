"""Dumps of PyTorch's Flight Recorder for an invented job, in the layout of version 2.10 (and others if needed).

The test describes the job call by call. Calls that a rank never makes are missing from its dump; the test decides which
calls are unfinished.
"""

import json
import pickle

EPOCH_NS = 1780000000000000000


class Job:
    """`groups`: {name: [global ranks]}."""

    def __init__(self, ranks, groups):
        self.groups, self.dumps, self.numbers, self.at_ns = groups, {}, {}, EPOCH_NS
        for rank in range(ranks):
            mine = [name for name, members in groups.items() if rank in members]
            self.dumps[rank] = {
                "version": "2.10",
                "pg_config": {name: {"name": name, "desc": f"group {name}", "ranks": str(groups[name])} for name in mine},
                "comm_lib_version": "2.28.9",
                "pg_status": {str(number): {"last_enqueued_collective": -1, "last_started_collective": -1,
                                            "last_completed_collective": -1} for number, name in enumerate(mine)},
                "entries": [],
            }

    def entry(self, rank, group, name, state, line, count=1024, dtype="Float", shape=None, **more):
        dump = self.dumps[rank]
        mine = list(dump["pg_config"])
        is_pair = name.split()[0] in ("send", "recv")
        key = (rank, group, is_pair)
        if not more.get("joined"):
            self.numbers[key] = self.numbers.get(key, 0) + 1
        number, other = self.numbers[key], self.numbers.get((rank, group, not is_pair), 0)
        self.at_ns += 1000
        sizes = [shape or [count]] if count else []
        entry = {
            "record_id": len(dump["entries"]), "pg_id": mine.index(group), "process_group": (group, f"group {group}"),
            "thread_name": "python3", "thread_id": "1", "collective_seq_id": other if is_pair else number,
            "p2p_seq_id": number if is_pair else other, "op_id": number + other, "profiling_name": f"nccl:{name}",
            "time_created_ns": self.at_ns, "input_sizes": sizes, "input_dtypes": [dtype] * len(sizes),
            "output_sizes": sizes, "output_dtypes": [dtype] * len(sizes), "state": state,
            "time_discovered_started_ns": self.at_ns + 500 if state == "started" else None,
            "time_discovered_completed_ns": self.at_ns + 900 if state == "completed" else None,
            "retired": state == "completed", "timeout_ms": 600000, "is_p2p": is_pair,
            "frames": [
                {"name": "wrapper", "filename": "/usr/lib/python3/dist-packages/torch/distributed/c10d_logger.py", "line": 83},
                {"name": "step", "filename": "/home/user/train.py", "line": line},
            ],
        }
        dump["entries"].append(entry)
        status = dump["pg_status"][str(mine.index(group))]
        status["last_enqueued_collective"] = number
        if state == "completed":
            status["last_completed_collective"] = number
        return entry

    def call(self, group, name="all_reduce", but=(), state="completed", line=10, **more):
        """A collective of all ranks of a group, except some."""
        for rank in self.groups[group]:
            if rank not in but:
                self.entry(rank, group, name, state, line, **more)

    def write(self, folder, only=None, form="pickle", prefix="nccl_trace_rank_"):
        for rank, dump in self.dumps.items():
            if only is not None and rank not in only:
                continue
            path = folder / f"{prefix}{rank}"
            path.write_bytes(pickle.dumps(dump, 2) if form == "pickle" else json.dumps(dump, sort_keys=True).encode())
