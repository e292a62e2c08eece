"""Hung jobs of any number of ranks, as the files of their ranks: NCCL logs, Flight Recorder dumps, RAS, PyTorch's log.

One rank, a third of the way through the ranks, does not make the last call of the group of all ranks; the others wait for it.
`parallel` jobs have tensor groups of 8 ranks, data groups across them, and the group of all ranks. Files describe the
members of groups as the real programs do: in a Flight Recorder dump every rank lists all ranks.
"""
import json
import os
import pickle

CALLS = 6
TENSOR = 8
EPOCH_NS = 1780000000000000000


def missing(ranks):
    return ranks // 3


def host(rank):
    return f"node{rank // 8}"


def pid(rank):
    return 4000 + rank % 8 + rank // 8 * 50


def groups_of(ranks, parallel):
    """{name: (tag, members)}; the group of all ranks is last."""
    groups = {}
    if parallel:
        for first in range(0, ranks, TENSOR):
            groups[f"{1 + first // TENSOR}"] = ("tensor", list(range(first, first + TENSOR)))
        for place in range(TENSOR):
            groups[f"{1 + ranks // TENSOR + place}"] = ("data", list(range(place, ranks, TENSOR)))
    groups["0"] = ("default_pg", list(range(ranks)))
    return groups


def seats_of(groups):
    """{rank: [(group, rank in it)]}"""
    seats = {}
    for name, (_, members) in groups.items():
        for place, rank in enumerate(members):
            seats.setdefault(rank, []).append((name, place))
    return seats


def log_head(rank, thread=0):
    return f"{host(rank)}:{pid(rank)}:{pid(rank) + thread} [{rank % 8}] NCCL INFO "


def log_init(rank, number, place, size, identity):
    head, pointer = log_head(rank), f"0x55d0{number:06x}{rank % 8:02x}"
    words = f"comm {pointer} rank {place} nranks {size} cudaDev {rank % 8} nvmlDev {rank % 8} busId 1b000 commId {identity}"
    return [f"{head}ncclCommInitRankConfig {words} - Init START",
            f"{head}comm {pointer} rank {place} nRanks {size} nNodes {max(size // 8, 1)} localRanks {min(size, 8)} "
            f"localRank {place % 8} MNNVL 0",
            f"{head}ncclCommInitRankConfig {words} - Init COMPLETE"]


def log_call(rank, number, size, count):
    return (f"{log_head(rank, 40)}AllReduce: opCount {count:x} sendbuff 0x7f3a00400000 recvbuff 0x7f3a00400000 count 4194304 "
            f"datatype 9 op 0 root 0 comm 0x55d0{number:06x}{rank % 8:02x} [nranks={size}] stream 0x55e1a2b3c0")


def log_lines(rank, seats, groups, late):
    lines = [log_head(rank) + "NCCL version 2.28.9+cuda13.0"]
    for name, place in seats:
        number = int(name)
        lines += log_init(rank, number, place, len(groups[name][1]), f"0x7b1e{number + 0x55aa90d14c03:012x}")
    for count in range(CALLS):
        for name, _ in seats:
            if not (name == "0" and count == CALLS - 1 and rank == late):
                lines.append(log_call(rank, int(name), len(groups[name][1]), count))
    return lines


def write_log(folder, texts, mixed):
    if not mixed:
        for rank, lines in enumerate(texts):
            with open(os.path.join(folder, f"nccl.{rank}.log"), "w") as file:
                file.write("\n".join(lines) + "\n")
        return
    with open(os.path.join(folder, "job.out"), "w") as file:
        for at in range(max(map(len, texts))):
            for lines in texts:
                if at < len(lines):
                    file.write(lines[at] + "\n")


def nccl_log(folder, ranks, mixed, parallel):
    groups = groups_of(ranks, parallel)
    seats = seats_of(groups)
    write_log(folder, [log_lines(rank, seats[rank], groups, missing(ranks)) for rank in range(ranks)], mixed)


def nccl_log_communicators(folder, communicators):
    """64 ranks in `count` communicators of 8 ranks and one of all ranks; the communicators are distributed over the ranks in
    turn.
    """
    ranks, groups = 64, {}
    for number in range(communicators):
        groups[f"{number + 1}"] = ("some", sorted((number + TENSOR * place) % ranks for place in range(TENSOR)))
    groups["0"] = ("default_pg", list(range(ranks)))
    seats = seats_of(groups)
    write_log(folder, [log_lines(rank, seats[rank], groups, missing(ranks)) for rank in range(ranks)], True)


def recorder_entry(rank, record, seat, name, tag, count, state):
    at_ns = EPOCH_NS + 1000000 * record + 1000 * rank
    return {"record_id": record, "pg_id": seat, "process_group": (name, tag), "collective_seq_id": count + 1, "p2p_seq_id": 0,
            "op_id": count + 1, "profiling_name": "nccl:all_reduce", "time_created_ns": at_ns, "input_sizes": [[4096]],
            "input_dtypes": ["Float"], "output_sizes": [[4096]], "output_dtypes": ["Float"], "state": state,
            "time_discovered_started_ns": at_ns + 500, "time_discovered_completed_ns": at_ns + 900 if state == "completed" else None,
            "retired": state == "completed", "timeout_ms": 600000, "is_p2p": False,
            "frames": [{"name": "step", "filename": "/home/user/train.py", "line": 40}]}


def flight_recorder(folder, ranks, parallel, listed=True):
    groups = groups_of(ranks, parallel)
    seats, texts = seats_of(groups), {name: str(members) for name, (_, members) in groups.items()}
    for rank in range(ranks):
        entries, status = [], {}
        for count in range(CALLS):
            for seat, (name, _) in enumerate(seats[rank]):
                if name == "0" and count == CALLS - 1 and rank == missing(ranks):
                    continue
                state = "started" if name == "0" and count == CALLS - 1 else "completed"
                entries.append(recorder_entry(rank, len(entries), seat, name, groups[name][0], count, state))
        for seat, (name, _) in enumerate(seats[rank]):
            made = CALLS - (name == "0" and rank == missing(ranks))
            done = CALLS - (name == "0")
            status[str(seat)] = {"last_enqueued_collective": made, "last_started_collective": made, "last_completed_collective": done}
        config = {name: {"name": name, "desc": groups[name][0], "ranks": texts[name]} for name, _ in seats[rank]}
        dump = {"version": "2.10", "pg_config": config if listed else {}, "comm_lib_version": "2.28.9", "pg_status": status,
                "entries": entries}
        with open(os.path.join(folder, f"nccl_trace_rank_{rank}"), "wb") as file:
            pickle.dump(dump, file, 2)


def ras_rank(rank, place, calls):
    return {"rank": place, "host": f"10.{rank // 8 // 65536}.{rank // 8 // 256 % 256}.{rank // 8 % 256}", "pid": pid(rank),
            "cuda_dev": rank % 8, "nvml_dev": rank % 8,
            "status": {"init_state": 0, "async_error": 0, "finalize_called": False, "destroy_flag": False, "abort_flag": False},
            "collective_counts": {"Broadcast": 0, "Reduce": 0, "AllGather": 0, "ReduceScatter": 0, "AllReduce": calls}}


def ras_poll(folder, groups, minute, calls, late):
    """What ncclras printed in that minute, when all ranks but `late` had made so many calls."""
    communicators = []
    for name, (_, members) in groups.items():
        communicators.append({
            "hash": f"0x{0x7b1e55aa90d10000 + int(name):x}", "secondary_hash": "0xb7e7187447156001:0xb8242ed28a71381e",
            "size": len(members), "ranks_count": len(members), "missing_ranks_count": 0,
            "ranks": [ras_rank(rank, place, calls - (name == "0" and rank == late)) for place, rank in enumerate(members)],
            "missing_ranks": []})
    with open(os.path.join(folder, f"ras-{minute}.json"), "w") as file:
        json.dump({"nccl_version": "2.29.1", "cuda_runtime_version": 13000, "cuda_driver_version": 13000,
                   "timestamp": f"2026-03-02 {10 + minute // 60 % 14}:{minute % 60:02}:00", "communicators_count": len(communicators),
                   "communicators": communicators}, file)


def ras(folder, ranks, parallel):
    for minute in (10, 11):
        ras_poll(folder, groups_of(ranks, parallel), minute, CALLS, missing(ranks))


def torch_lines(rank, last):
    head = f"[rank{rank}]:[E1125 01:03:54.920565245 ProcessGroupNCCL.cpp:"
    if not last:
        return [f"{head}1914] [PG ID 0 PG GUID 0(default_pg) Rank {rank}] Received a dump signal due to a collective timeout from  "
                "rank 0 and we will try our best to dump the debug info. Last enqueued NCCL work: 29, last completed NCCL work: 29.This is"]
    return [f"{head}689] [Rank {rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=30, OpType=ALLREDUCE, "
            "NumelIn=4195328, NumelOut=4195328, Timeout(ms)=15000) ran for 15099 milliseconds before timing out.",
            f"{head}2303] [PG ID 0 PG GUID 0(default_pg) Rank {rank}]  failure detected by watchdog at work sequence id: 30 PG status: "
            "last enqueued work: 31, last completed work: 29"]


def torch_log(folder, ranks, mixed):
    write_log(folder, [torch_lines(rank, rank != missing(ranks)) for rank in range(ranks)], mixed)


def shared_pickle(folder, groups, names):
    """A dump with `count` groups that share a list of 60,000 ranks, or have one of two names of 50 KB."""
    long = ["g" * 50_000 + str(i) for i in range(2)]
    texts = [(long[i % 2], long[(i + 1) % 2]) if names else (str(i), "d") for i in range(groups)]
    ranks = str(list(range(60_000)))
    dump = {"version": "2.10", "pg_status": {}, "pg_config": {} if names else {
        name: {"name": name, "desc": tag, "ranks": ranks} for name, tag in texts},
        "entries": [recorder_entry(0, i, i, *texts[i], 0, "started") for i in range(groups)]}
    with open(os.path.join(folder, "nccl_trace_rank_0"), "wb") as file:
        pickle.dump(dump, file, 2)


KINDS = {
    "log": lambda folder, count: nccl_log(folder, count, True, False),
    "log-files": lambda folder, count: nccl_log(folder, count, False, False),
    "log-parallel": lambda folder, count: nccl_log(folder, count, True, True),
    "log-communicators": nccl_log_communicators,
    "recorder": lambda folder, count: flight_recorder(folder, count, False),
    "recorder-unlisted": lambda folder, count: flight_recorder(folder, count, False, False),
    "recorder-parallel": lambda folder, count: flight_recorder(folder, count, True),
    "shared-names": lambda folder, count: shared_pickle(folder, count, True),
    "shared-ranks": lambda folder, count: shared_pickle(folder, count, False),
    "ras": lambda folder, count: ras(folder, count, False),
    "ras-parallel": lambda folder, count: ras(folder, count, True),
    "torch": lambda folder, count: torch_log(folder, count, True),
    "torch-files": lambda folder, count: torch_log(folder, count, False),
}


def write(kind, folder, count):
    os.makedirs(folder)
    KINDS[kind](folder, count)
