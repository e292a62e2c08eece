"""Lines of NVIDIA's Inspector plugin in the layouts of its formats v4.0 to v4.4, for an invented job.

From v4.1 on, a marker with `dump_stats` starts the output that a communicator writes at one time, and collectives have
algorithm and protocol. From v4.3 on, only markers have header and metadata, and there may be proxy operations: flat, or from
v4.4 on with their network steps inside.
"""

import json
import pathlib
import sys

EPOCH_US = 1780000000000000


def text(record):
    return json.dumps(record, separators=(",", ":")) + "\n"


def identity(version, communicator, rank, ranks, pid, host, at_us):
    return {"header": {"id": f"{communicator:#x}", "comm_name": "unknown", "rank": rank, "n_ranks": ranks, "nnodes": 1},
            "metadata": {"inspector_output_format_version": version, "git_rev": "v2.31.2-1",
                         "rec_mechanism": "nccl_profiler_interface", "dump_timestamp_us": at_us, "hostname": host, "pid": pid}}


def number_of(version):
    return tuple(map(int, version[1:].split(".")))


def collective(version, function, number, call_us, begin_us, end_us, size=4194304):
    channels = range(2)
    perf = {"coll": function}
    if number_of(version) >= (4, 1):
        perf |= {"coll_algo": "RING", "coll_proto": "SIMPLE"}
    perf |= {"coll_sn": number, "coll_msg_size_bytes": size, "coll_exec_time_us": end_us - begin_us,
             "coll_timing_source": "kernel_gpu", "coll_algobw_gbs": 8.388608, "coll_busbw_gbs": 12.582912,
             "event_trace_sn": {"coll_start_sn": 1, "coll_stop_sn": 2, "kernel_events": [
                 {"channel_id": channel, "kernel_start_sn": 3, "kernel_stop_sn": 5, "kernel_record_sn": 4} for channel in channels]},
             "event_trace_ts": {"coll_start_ts": call_us, "coll_stop_ts": call_us + 5, "kernel_events": [
                 {"channel_id": channel, "kernel_start_ts": begin_us, "kernel_stop_ts": end_us, "kernel_record_ts": end_us}
                 for channel in channels]}}
    return {"coll_perf": perf}


def step_of(direction, number, begin_us, waits_us):
    """A network step with three waits of the given lengths; the first starts a microsecond after its begin."""
    states = {"send": ("send_gpu_wait", "send_peer_wait", "send_wait"),
              "recv": ("recv_wait", "recv_flush_wait", "recv_gpu_wait")}[direction]
    names = {"send": ("gpu_produce_us", "peer_credit_us", "wire_us"), "recv": ("wire_us", "flush_us", "gpu_consume_us")}[direction]
    times, at = {"proxy_step_start_ts": begin_us}, begin_us + 1
    for state, wait in zip(states, waits_us):
        times[state + "_ts"] = at
        at += wait
    times["proxy_step_stop_ts"] = at
    return {"proxy_step_sn": number + 1, "step": number, "trans_size_bytes": 1048576, "total_us": at - begin_us,
            **dict(zip(names, waits_us)), "event_trace_ts": times}


def proxy_of(parent, number, rank, peer, direction, begin_us, steps, nested=False):
    """The records of a proxy operation with its network steps, without their numbers."""
    who = {"parent_type": "coll", "parent_sn": parent, "proxy_op_sn": number}
    where = {"channel_id": 0, "peer": peer, "direction": direction, "timing_source": "proxy_cpu"}
    end_us = max(step["event_trace_ts"]["proxy_step_stop_ts"] for step in steps) + 10
    whole = {"n_steps": len(steps), "chunk_size_bytes": 1048576}
    figures = {"n_steps_started": len(steps), "n_steps_completed": len(steps), "n_steps_dropped": 0,
               "trans_size_bytes": sum(step["trans_size_bytes"] for step in steps), "total_us": end_us - begin_us}
    times = {"proxy_op_start_ts": begin_us, "proxy_op_in_progress_ts": begin_us + 5, "proxy_op_stop_ts": end_us}
    final = {"record_type": "proxy_op", **who, "rank": rank, **where}
    if not nested:
        return [{"record_type": "proxy_step", **who, **where, **step} for step in steps] + [
            {**final, **whole, **figures, "event_trace_ts": times}]
    start = {"record_type": "proxy_op_start", **who, **where, "is_final": False, **whole,
             "event_trace_ts": {"proxy_op_start_ts": begin_us}}
    middle = len(steps) // 2
    segment = {"record_type": "proxy_op_segment", **who, **where, "is_final": False, "steps": steps[:middle]}
    return [start] + ([segment] if middle else []) + [
        {**final, "is_final": True, **whole, **figures, "event_trace_ts": times, "steps": steps[middle:]}]


class Dump:
    """The output that one communicator of a process writes at one time."""

    def __init__(self, version, who, at_us, dropped=(0, 0), proxies=False):
        self.version, self.at_us, self.dropped, self.proxies = version, at_us, dropped, proxies
        self.who = identity(version, *who, at_us)
        self.operations, self.traces = [], []

    def stats(self):
        total, since = self.dropped
        stats = {"coll_records": len(self.operations), "coll_dropped_total": total, "coll_dropped_since_last_dump": since,
                 "p2p_records": 0, "p2p_dropped_total": 0, "p2p_dropped_since_last_dump": 0}
        if self.proxies:
            stats |= {"proxy_records": len(self.traces), "proxy_dropped_total": 0, "proxy_dropped_since_last_dump": 0,
                      "proxy_ops_dropped_total": 0, "proxy_ops_dropped_since_last_dump": 0,
                      "proxy_pxn_skipped_process_total": 0, "proxy_steps_enabled": 1}
        return stats

    def lines(self):
        own = self.who if number_of(self.version) < (4, 3) else {}
        lines = [] if self.version == "v4.0" else [text(self.who | {"dump_stats": self.stats()})]
        lines += [text(own | record) for record in self.operations]
        return lines + [text(own | {"proxy_trace": {"record_type": trace["record_type"], "record_sn": number} | trace})
                        for number, trace in enumerate(self.traces)]


def job(version, ranks=4, steps=15, late=2, late_steps=range(10, 15), communicator=0x1d2c3b4a5f6e7d, dumps=3, slow_steps=(),
        proxies=False, nested=False):
    """By rank, the dumps of a job in which, in some steps, one rank's GPU is 3 ms late or the link from rank 0 to 1 is 2 ms
    slow.
    """
    written = [[] for _ in range(ranks)]
    at_us = EPOCH_US
    for step in range(steps):
        late_us = 3000 if step in late_steps else 0
        slow_us = 2000 if step in slow_steps else 0
        if step % (steps // dumps) == 0:
            for rank, of_rank in enumerate(written):
                who = (communicator, rank, ranks, 1000 + rank, "node0")
                of_rank.append(Dump(version, who, at_us + steps // dumps * 8000, proxies=proxies))
        for place, (function, length_us) in enumerate((("AllReduce", 500), ("AllGather", 300))):
            begin_us = at_us + 1000
            last_us = begin_us + (late_us if place == 0 else 0)
            end_us = last_us + length_us + slow_us
            for rank, of_rank in enumerate(written):
                mine_us = last_us if rank == late else begin_us
                of_rank[-1].operations.append(collective(version, function, step, at_us + 10, mine_us, end_us))
                if proxies:
                    for way, peer in (("send", (rank + 1) % ranks), ("recv", (rank - 1) % ranks)):
                        edge = (rank, peer) if way == "send" else (peer, rank)
                        wire_us = 100 + (slow_us if edge == (0, 1) else 0)
                        waits = (19, 10, wire_us) if way == "send" else (wire_us, 3, 17)
                        moves = [step_of(way, number, mine_us + 5 + number, waits) for number in range(2)]
                        of_rank[-1].traces += proxy_of(step, (step * 2 + place) * 2 + (way == "recv"), rank, peer, way, mine_us,
                                                       moves, nested)
            at_us = end_us
    return written


def ring(shuffle=None, ranks=3, steps=40, late=1, late_steps=range(20, 28), communicator=0x9e01ab23cd45):
    """By rank, the lines of a job that passes data in a ring with one group call per step: a send and a receive, numbered in
    order of the calls and listed in order of their ends or, with `shuffle`, in any order. One rank's GPU is 3 ms late in some steps.
    """
    lines, at_us = [[] for _ in range(ranks)], EPOCH_US
    for step in range(steps):
        begins = [at_us + 1000 + (3000 if rank == late and step in late_steps else 0) for rank in range(ranks)]
        end_us = max(begins) + 400
        for rank, of_rank in enumerate(lines):
            who = identity("v4.0", communicator, rank, ranks, 60 + rank, "node0", end_us + 100)
            calls = []
            for number, (way, peer) in enumerate((("Send", (rank + 1) % ranks), ("Recv", (rank - 1) % ranks))):
                perf = collective("v4.0", way, 2 * step + number + 1, at_us + 10, begins[rank], end_us)["coll_perf"]
                perf = json.loads(json.dumps(perf).replace('"coll', '"p2p')) | {"p2p_peer": peer}
                calls.append(text(who | {"p2p_perf": perf}))
            if shuffle and shuffle.random() < 0.5:
                calls.reverse()
            of_rank += calls
        at_us = end_us
    return lines


def write(folder, written):
    folder.mkdir(parents=True, exist_ok=True)
    for rank, dumps in enumerate(written):
        (folder / f"node0-pid{1000 + rank}.log").write_text("".join(line for dump in dumps for line in dump.lines()))


def write_fixtures(top):
    """Writes the fixtures that are not cut from recordings: a few lines in each layout."""
    small = {"ranks": 2, "steps": 3, "late": -1, "late_steps": ()}
    for version in ("v4.1", "v4.3"):
        write(top / f"inspector-{version}", job(version, **small))
    write(top / "inspector-v4.3-proxy", job("v4.3", proxies=True, **small))
    write(top / "inspector-v4.4", job("v4.4", proxies=True, nested=True, **small))


if __name__ == "__main__":
    write_fixtures(pathlib.Path(sys.argv[1]))
