#!/usr/bin/env python3
"""Operators' records of the nodes of a job, made up: the true cause of its fault, and decoys.

    made_up_logs.py --ncclprof BIN --simulate BIN [--seeds 20] [--first 1] [--work DIR] [RUN...]

A run is a directory of traces with a label.json beside them (`inject` or `fault`), or the name of one of the simulated JOBS.
Each seed of each run draws a cause, decoys, the tools that recorded (with their versions, intervals, time zones and names of
hosts), and how far the clocks of the hosts are off; then diagnose reads the traces with these records, and its causes are
compared with what was planted. The texts follow the documentation of each tool, not what the readers accept.
"""

import argparse
import collections
import dataclasses
import datetime
import json
import pathlib
import random
import shutil
import subprocess
import sys
import zlib

GPU, HOST, PORT = "gpu", "host", "port"

# What a sign can be called in a finding. The place where it shows, and the kinds of faults of which it is a cause.
SIGNS = {
    "hw-thermal": (GPU, "compute", {"hw-thermal", "hw-slowdown", "sm-clock"}),
    "sw-thermal": (GPU, "compute", {"sw-thermal", "sm-clock"}),
    "power-brake": (GPU, "compute", {"hw-power-brake", "hw-slowdown", "sm-clock"}),
    "low-clock": (GPU, "compute", {"sm-clock"}),
    "ecc-uncorrected": (GPU, "compute", {"ecc-uncorrected"}),
    "pcie-replays": (GPU, "compute", {"pcie-replays"}),
    "pcie-width": (GPU, "compute", {"pcie-width"}),
    "other-process": (GPU, "compute", {"other-process"}),
    "xid-94": (GPU, "compute", {"xid-memory"}),
    "xid-63": (GPU, "compute", {"xid-memory"}),
    "aer-corrected": (GPU, "compute", {"aer-corrected"}),
    "xid-79": (GPU, "stop", {"xid-broken", "fell-off-bus"}),
    "xid-31": (GPU, "stop", {"xid-program"}),
    "xid-13": (GPU, "stop", {"xid-program"}),
    "oom-kill": (HOST, "stop", {"oom-kill"}),
    "hung-task": (HOST, "stop", {"hung-task"}),
    "busy-cores": (HOST, "host", {"cpu-pressure", "tasks-per-core", "process-wait"}),
    "swap": (HOST, "host", {"memory-pressure", "major-faults", "io-pressure"}),
    "nfs-stall": (HOST, "host", {"file-server", "io-pressure"}),
    "soft-lockup": (HOST, "host", {"soft-lockup"}),
    "symbol-errors": (PORT, "network", {"symbol-errors"}),
    "out-of-sequence": (PORT, "network", {"out-of-sequence"}),
    "drops": (PORT, "network", {"drops"}),
    "link-flap": (PORT, "network", {"link-down", "link-downed"}),
    "retransmits": (HOST, "network", {"tcp-retransmits"}),
}
MESSAGES = {"xid-94", "xid-63", "aer-corrected", "xid-79", "xid-31", "xid-13", "oom-kill", "hung-task", "nfs-stall", "soft-lockup",
            "link-flap"}

SIMULATED = {
    "compute": (("--shape", "ddp", "--ranks", "16", "--per-node", "8", "--fault", "throttle:3:20:39:30"), 3),
    "host": (("--shape", "ddp", "--ranks", "16", "--per-node", "8", "--fault", "host:3:20:39:20%:*"), 3),
    "network": (("--shape", "1f1b", "--tp", "2", "--dp", "2", "--pp", "4", "--ranks", "16", "--per-node", "4", "--microbatches",
                 "8", "--fault", "receive:3:20:39:60%:*"), 3),
    "stop": (("--shape", "3d", "--tp", "2", "--dp", "2", "--pp", "2", "--ranks", "8", "--per-node", "4", "--fault", "hang:2:30:30"),
             2),
    "none": (("--shape", "ddp", "--ranks", "16", "--per-node", "8"), -1),
}
KINDS = {"compute": "compute", "hog": "compute", "ramp": "compute", "every": "host", "cpu": "host", "cpuhog": "host", "gc": "host",
         "ckpt": "host", "net": "network", "pause": "network", "hang": "stop", "gpuhang": "stop", "kill": "stop", "none": "none"}


def number_of(*words):
    return zlib.crc32(repr(words).encode())


@dataclasses.dataclass
class Gpu:
    index: int
    bus: str  # "0000:3b:00.0"
    uuid: str
    rank: int


@dataclasses.dataclass
class Host:
    name: str
    gpus: list
    ports: tuple = ("mlx5_0", "mlx5_1")
    interfaces: tuple = ("ens1f0np0", "ens1f1np1")
    boot: float = 0  # when it was started, in UNIX time
    off: float = 0   # how far its clock is ahead, in seconds


@dataclasses.dataclass
class Sign:
    """Something that shows at a place from `begin` to `end`."""
    name: str
    host: Host
    gpu: Gpu = None
    port: int = 0
    begin: float = 0
    end: float = 0
    amount: float = 1

    def at(self, moment):
        return self.amount if self.begin <= moment < self.end else 0


class Job:
    """A run: where its ranks ran, and when its fault showed, by the definitions of its label."""

    def __init__(self, traces, program, work, fault):
        self.traces, self.program = traces, program
        self.store = work / "job.db"
        self.run("--store", self.store, "ingest", "-q", *traces)
        kind, self.rank, first, last = fault
        self.kind = KINDS[kind]
        ranks = self.query("SELECT rank, host, pid, gpu, gpu_bus_id, gpu_serial, process_id FROM v_rank ORDER BY rank")
        self.pids = {row["rank"]: row["pid"] for row in ranks}
        offsets = {row["process_id"]: int(row["off"]) / 1e9 for row in self.query(
            "SELECT process_id, realtime_ns - local_ns AS off, max(local_ns) FROM clock_anchor WHERE realtime_ns IS NOT NULL"
            " GROUP BY 1")}
        steps = self.query("SELECT v_rank.rank AS rank, step, process_id, min(coalesce(enqueue_begin_us, device_begin_us, device_end_us)) AS b,"
                           " max(coalesce(device_end_us, enqueue_begin_us)) AS e FROM v_operation JOIN v_rank USING (process_id)"
                           " GROUP BY 1, 2")
        self.steps = collections.defaultdict(dict)
        for row in steps:
            if row["b"] is not None and row["e"] is not None:
                off = offsets.get(row["process_id"], 0)
                self.steps[row["rank"]][row["step"]] = (float(row["b"]) / 1e6 + off, float(row["e"]) / 1e6 + off)
        if not self.steps or min(step[0] for of in self.steps.values() for step in of.values()) < 1e9:
            raise ValueError("no wall clock")
        self.begin = min(step[0] for of in self.steps.values() for step in of.values())
        self.end = max(step[1] for of in self.steps.values() for step in of.values())
        self.take_hosts(ranks)
        self.first = self.last = None
        if self.kind == "stop":
            self.first, self.last = self.end, self.end + 3
        elif self.kind != "none":
            own = self.steps[self.rank]
            self.first = own[max(first - 1, 0)][1] if first else own[first][0]
            self.last = own[min(last, max(own))][1]

    def take_hosts(self, ranks):
        self.hosts, self.names_gpus = {}, all(row["gpu_bus_id"] for row in ranks)
        for row in ranks:
            if not row["host"]:
                raise ValueError("no hosts")
            host = self.hosts.setdefault(row["host"], Host(row["host"], []))
            index = row["gpu"] if row["gpu"] is not None else len(host.gpus)
            if not any(gpu.index == index for gpu in host.gpus):
                host.gpus.append(Gpu(index, row["gpu_bus_id"] or f"0000:{0x18 + 0x11 * index:02x}:00.0",
                                     row["gpu_serial"] or f"GPU-{number_of(row['host'], index):08x}-1111-2222-3333-{index:012x}", row["rank"]))
            if row["rank"] == self.rank:
                self.host, self.gpu = host, next(gpu for gpu in host.gpus if gpu.index == index)

    def run(self, *words):
        done = subprocess.run([self.program, *map(str, words)], capture_output=True, text=True, check=False)
        return done.stdout

    def query(self, sql):
        return json.loads(self.run("--store", self.store, "query", "--format", "json", sql))["rows"]


class World:
    """What every host measures at every moment: noise, the job itself, and the signs."""

    def __init__(self, job, signs, draw):
        self.job, self.signs, self.draw = job, signs, draw
        self.bases = collections.defaultdict(lambda: draw.choice((0, 0, 7, 41, 1200)))

    def sum(self, moment, host, *names, gpu=None, port=None):
        return max((sign.at(moment) for sign in self.signs if sign.name in names and sign.host is host and
                    (gpu is None or sign.gpu is gpu) and (port is None or sign.port == port)), default=0)

    def total(self, moment, host, name, gpu=None, port=None, noise=0.0):
        """A counter: what it was before, noise, and the amounts of signs so far."""
        key = (host.name, name, gpu.index if gpu else None, port)
        value = self.bases[key] + int(noise * max(0, moment - self.job.begin + 300))
        for sign in self.signs:
            if sign.name == name and sign.host is host and (gpu is None or sign.gpu is gpu) and (port is None or sign.port == port):
                part = min(1, max(0, (moment - sign.begin) / max(sign.end - sign.begin, 1e-3)))
                value += int(sign.amount * part) if sign.amount > 1 else int(part > 0 and sign.amount > 0)
        return value

    def is_running(self, moment):
        return self.job.begin - 0.2 <= moment <= self.job.end + (4 if self.job.kind == "stop" else 0)

    def gpu(self, moment, host, gpu):
        busy = self.is_running(moment)
        reasons, clock = (0, 1980) if busy else (1, self.draw.choice((345, 1980)))
        for name, bits, to in (("hw-thermal", 0x48, 900), ("sw-thermal", 0x20, 1200), ("power-brake", 0x88, 800), ("low-clock", 0, 990)):
            if self.sum(moment, host, name, gpu=gpu) >= 0.5:
                reasons, clock = reasons | bits, min(clock, to)
        waits = self.job.kind in ("host", "stop") or gpu is not getattr(self.job, "gpu", None)
        in_fault = self.job.first is not None and self.job.first <= moment <= self.job.last
        power = 90 if not busy else 320 if in_fault and waits else 610
        return {"clock": clock + self.draw.choice((-15, 0, 0, 15)) * (clock == 1980), "reasons": reasons,
                "power": power + self.draw.uniform(-20, 20), "temp": 38 + power // 20 + (25 if reasons & 0x60 else 0),
                "util": 100 if busy else 0, "width": 4 if self.sum(moment, host, "pcie-width", gpu=gpu) else 16,
                "replays": self.total(moment, host, "pcie-replays", gpu), "sbe": self.total(moment, host, "ecc-corrected", gpu),
                "dbe": self.total(moment, host, "ecc-uncorrected", gpu),
                "used": 71234 + (6000 if self.sum(moment, host, "other-process", gpu=gpu) else 0),
                "other": 0.6 if self.sum(moment, host, "other-process", gpu=gpu) >= 0.5 else 0}

    def host(self, moment, host):
        cores = 64
        busy, swap, stall = (self.sum(moment, host, name) for name in ("busy-cores", "swap", "nfs-stall"))
        running = 2 * cores if busy >= 0.5 else len(host.gpus) + self.draw.randint(0, 6)
        return {"cores": cores, "running": running, "cpu": min(1, running / cores), "cpu-pressure": 0.7 * busy, "io-pressure":
                max(0.6 * stall, 0.3 * swap), "memory-pressure": 0.7 * swap, "available": 9e11 * (1 - 0.99 * swap)}

    def spent(self, moment, host, what, since):
        """A total of time: the integral over the time since then, in tenths of a second."""
        total, at = 0.0, since
        edges = sorted({since, moment, *(edge for sign in self.signs if sign.host is host for edge in (sign.begin, sign.end)
                                         if since < edge < moment)})
        for begin, end in zip(edges, edges[1:]):
            total += self.host((begin + end) / 2, host)[what] * (end - begin)
        return total + 12.5 + at * 0


def moments(job, interval, draw, before=120, after=60):
    at = job.begin - before + draw.random() * interval
    while at < job.end + after:
        yield at
        at += interval * draw.uniform(0.97, 1.03)


def stamp(moment, form, zone=0):
    when = datetime.datetime.fromtimestamp(moment, datetime.timezone(datetime.timedelta(hours=zone)))
    return when.strftime(form)


# ---- the tools: each writes the files of one host, and says whether the sign can be seen in them ----


def write_smi(world, host, folder, draw):
    interval, units = draw.choice((0.1, 0.2, 1, 5)), draw.random() < 0.6
    new = draw.random() < 0.5
    reasons = "clocks_event_reasons" if new else "clocks_throttle_reasons"
    columns = {"index": (lambda gpu, v: str(gpu.index), ""), "uuid": (lambda gpu, v: gpu.uuid, ""),
               "pci.bus_id": (lambda gpu, v: "0000" + gpu.bus.upper(), ""), "name": (lambda gpu, v: "NVIDIA H100 80GB HBM3", ""),
               draw.choice(("clocks.sm", "clocks.current.sm")): (lambda gpu, v: f"{v['clock']}", "MHz"),
               "power.draw": (lambda gpu, v: f"{v['power']:.2f}", "W"), "temperature.gpu": (lambda gpu, v: f"{v['temp']:.0f}", ""),
               "utilization.gpu": (lambda gpu, v: f"{v['util']}", "%"), "memory.used": (lambda gpu, v: f"{v['used']}", "MiB"),
               "ecc.errors.uncorrected.volatile.total": (lambda gpu, v: f"{v['dbe']}", ""),
               "ecc.errors.corrected.volatile.total": (lambda gpu, v: f"{v['sbe']}", ""),
               "pcie.link.width.current": (lambda gpu, v: f"{v['width']}", "")}
    if draw.random() < 0.5:
        columns[f"{reasons}.active"] = (lambda gpu, v: f"0x{v['reasons']:016x}", "")
    else:
        for bit, name in ((0x40, "hw_thermal_slowdown"), (0x80, "hw_power_brake_slowdown"), (0x8, "hw_slowdown"),
                          (0x20, "sw_thermal_slowdown"), (0x4, "sw_power_cap")):
            columns[f"{reasons}.{name}"] = (lambda gpu, v, bit=bit: "Active" if v["reasons"] & bit else "Not Active", "")
    names = list(columns)
    draw.shuffle(names)
    if not {"index", "uuid", "pci.bus_id"} & set(names[:6]):
        names.insert(0, names.pop(names.index(draw.choice(("index", "uuid", "pci.bus_id")))))
    names = ["timestamp"] + [name for name in names if name not in ("index", "uuid", "pci.bus_id") or draw.random() < 0.7 or
                             name == "uuid"]
    columns["timestamp"] = (None, "")
    lines = [", ".join(name + (f" [{columns[name][1]}]" if columns[name][1] else "") for name in names)]
    for at in moments(world.job, interval, draw):
        for gpu in host.gpus:
            value, cells = world.gpu(at, host, gpu), []
            for name in names:
                if name == "timestamp":
                    cells.append(stamp(at + host.off, "%Y/%m/%d %H:%M:%S.") + f"{int((at + host.off) % 1 * 1000):03d}")
                else:
                    unit = columns[name][1]
                    cells.append(columns[name][0](gpu, value) + (f" {unit}" if unit and units else ""))
            lines.append(", ".join(cells))
    (folder / f"nvidia-smi{draw.choice(('', '-query', '_log'))}.{host.name}.csv").write_text("\n".join(lines) + "\n")
    return {"gauges": interval, "signs": {"hw-thermal", "sw-thermal", "power-brake", "low-clock", "ecc-uncorrected", "pcie-width"}}


def write_dcgmi(world, host, folder, draw):
    interval = draw.choice((0.2, 1, 1))
    lines = []
    fields = [("SMCLK", lambda v: f"{v['clock']}"), ("TMPTR", lambda v: f"{v['temp']:.0f}"), ("POWER", lambda v: f"{v['power']:.3f}"),
              ("GPUTL", lambda v: f"{v['util']}"), ("DVCCTR", lambda v: f"{v['reasons']}"), ("EDVTL", lambda v: f"{v['dbe']}"),
              ("RPCTR", lambda v: f"{v['replays']}"), ("PCILW", lambda v: f"{v['width']}")]
    draw.shuffle(fields)
    head = draw.choice(("#Entity   ", "# Entity  ")) + "".join(f"{name:<18}" for name, _ in fields)
    for number, at in enumerate(moments(world.job, interval, draw)):
        when = stamp(at + host.off, "%Y-%m-%dT%H:%M:%S") + f".{int((at + host.off) % 1 * 1e6):06d}Z "
        if number % 20 == 0:
            lines += [when + head, when + "ID        "]
        for gpu in host.gpus:
            value = world.gpu(at, host, gpu)
            lines.append(when + f"GPU {gpu.index:<6}" + "".join(f"{show(value):<18}" for _, show in fields))
    (folder / f"dcgmi-dmon.{host.name}.txt").write_text("\n".join(lines) + "\n")
    # dcgmi says no more than the numbers of GPUs; nvidia-smi -L or any other record joins them with addresses.
    return {"gauges": interval, "signs": set() if world.job.names_gpus else GPU_SIGNS}


def gpu_series(world, at, host, gpu):
    value = world.gpu(at, host, gpu)
    return (("DCGM_FI_DEV_SM_CLOCK", "gauge", value["clock"]), ("DCGM_FI_DEV_GPU_TEMP", "gauge", int(value["temp"])),
            ("DCGM_FI_DEV_POWER_USAGE", "gauge", round(value["power"], 3)), ("DCGM_FI_DEV_GPU_UTIL", "gauge", value["util"]),
            ("DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", "gauge", value["reasons"]),
            ("DCGM_FI_DEV_PCIE_REPLAY_COUNTER", "counter", value["replays"]),
            ("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", "counter", value["dbe"]), ("DCGM_FI_DEV_FB_USED", "gauge", value["used"]),
            ("DCGM_FI_DEV_PCIE_LINK_WIDTH", "gauge", value["width"]))


def host_series(world, at, host):
    value, since = world.host(at, host), world.job.begin - 300
    for port, device in enumerate(host.ports):
        labels = {"device": device, "port": "1"}
        moved = (40e9 if port == 0 else 1e5) * max(0, min(at, world.job.end) - world.job.begin)
        yield "node_infiniband_symbol_error_total", "counter", world.total(at, host, "symbol-errors", port=port), labels
        yield "node_infiniband_link_downed_total", "counter", world.total(at, host, "link-flap", port=port), labels
        yield "node_infiniband_port_discards_transmitted_total", "counter", world.total(at, host, "drops", port=port), labels
        yield "node_infiniband_port_data_transmitted_bytes_total", "counter", 10**12 + int(moved), labels
        yield "node_infiniband_port_data_received_bytes_total", "counter", 10**12 + int(moved), labels
    yield "node_netstat_Tcp_RetransSegs", "counter", world.total(at, host, "retransmits", noise=0.3), {}
    yield "node_procs_running", "gauge", value["running"], {}
    for what in ("cpu", "io", "memory"):
        yield f"node_pressure_{what}_waiting_seconds_total", "counter", round(world.spent(at, host, f"{what}-pressure", since), 6), {}
    yield "node_memory_MemAvailable_bytes", "gauge", value["available"], {}
    for core in range(value["cores"]):
        yield "node_cpu_seconds_total", "counter", round(900 + at - since - world.spent(at, host, "cpu", since), 2), \
            {"cpu": str(core), "mode": "idle"}
        yield "node_cpu_seconds_total", "counter", round(900 + world.spent(at, host, "cpu", since), 2), \
            {"cpu": str(core), "mode": "user"}


GPU_SIGNS = {"hw-thermal", "sw-thermal", "power-brake", "low-clock", "ecc-uncorrected", "pcie-replays", "pcie-width"}
HOST_SIGNS = {"busy-cores", "swap", "nfs-stall", "symbol-errors", "link-flap", "drops", "retransmits"}


def labels_text(labels):
    return "{" + ",".join(f'{key}="{value}"' for key, value in labels.items()) + "}" if labels else ""


def gpu_labels(host, gpu, draw_bus):
    labels = {"gpu": str(gpu.index), "UUID": gpu.uuid}
    if draw_bus:
        labels["pci_bus_id"] = "0000" + gpu.bus.upper()
    return labels | {"device": f"nvidia{gpu.index}", "modelName": "NVIDIA H100 80GB HBM3", "Hostname": host.name}


def write_exporters(world, host, folder, draw):
    """Scrapes of dcgm-exporter and node_exporter, each in a file that its time names."""
    interval, bus = draw.choice((1, 1, 5, 15)), draw.random() < 0.5
    for at in moments(world.job, interval, draw, 30, 20):
        lines, seen = [], set()
        for gpu in host.gpus:
            for name, kind, value in gpu_series(world, at, host, gpu):
                if name not in seen:
                    lines += [f"# HELP {name} From DCGM.", f"# TYPE {name} {kind}"]
                    seen.add(name)
                lines.append(f"{name}{labels_text(gpu_labels(host, gpu, bus))} {value}")
        (folder / f"dcgm-{host.name}-{int(at + host.off)}.prom").write_text("\n".join(lines) + "\n")
        lines = ["# HELP node_time_seconds System time in seconds since epoch (1970).", "# TYPE node_time_seconds gauge",
                 f"node_time_seconds {at + host.off:.9e}"]
        lines += [f"{name}{labels_text(labels)} {value}" for name, _, value, labels in host_series(world, at, host)]
        (folder / f"node-{host.name}-{int(at + host.off)}.prom").write_text("\n".join(lines) + "\n")
    return {"gauges": max(interval, 1), "signs": GPU_SIGNS | HOST_SIGNS}


def write_query(world, host, folder, draw):
    """What Prometheus kept: its own clock, and the scrapes of all hosts."""
    interval, full = draw.choice((1, 5, 15, 30)), draw.random() < 0.5
    series = collections.OrderedDict()
    for at in moments(world.job, interval, draw):
        for gpu in host.gpus:
            for name, _, value in gpu_series(world, at, host, gpu):
                labels = {"__name__": name, **gpu_labels(host, gpu, False), "instance": f"10.1.2.{len(host.name)}:9400", "job": "dcgm"}
                series.setdefault(json.dumps(labels), []).append([round(at, 3), str(value)])
        for name, _, value, labels in host_series(world, at, host):
            if name != "node_cpu_seconds_total":
                labels = {"__name__": name, **labels, "instance": host.name + (".cluster.example:9100" if full else ":9100"),
                          "job": "node"}
                series.setdefault(json.dumps(labels), []).append([round(at, 3), str(value)])
    result = [{"metric": json.loads(labels), "values": values} for labels, values in series.items()]
    (folder / f"prometheus-{host.name}.json").write_text(
        json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}}))
    return {"gauges": interval, "signs": GPU_SIGNS | HOST_SIGNS, "is_other_clock": 1}


def ethtool_text(world, at, host, number):
    interface = host.interfaces[number]
    moved = (4e9 if number == 0 else 1e5) * max(0, min(at, world.job.end) - world.job.begin)
    counters = (("rx_packets", int(moved / 1500)), ("rx_bytes", int(moved)), ("tx_bytes", int(moved)), ("rx_out_of_buffer", 5),
                ("rx_discards_phy", world.total(at, host, "drops", port=number)), ("rx_crc_errors_phy", 0),
                ("rx_symbol_err_phy", world.total(at, host, "symbol-errors", port=number)),
                ("link_down_events_phy", world.total(at, host, "link-flap", port=number)), ("rx_prio3_pause", 12))
    return [f"$ ethtool -S {interface}", "NIC statistics:"] + [f"     {name}: {value}" for name, value in counters]


def write_ethtool(world, host, folder, draw):
    interval = draw.choice((1, 2, 10))
    lines = []
    for at in moments(world.job, interval, draw, 30, 20):
        for number in (0, 1):
            lines.append(stamp(at + host.off, draw.choice(("%a %b %d %H:%M:%S UTC %Y", "%Y-%m-%dT%H:%M:%S+00:00"))))
            lines += ethtool_text(world, at, host, number)
    (folder / f"ethtool-{host.name}.log").write_text("\n".join(lines) + "\n")
    return {"gauges": max(interval, 1), "signs": {"drops", "symbol-errors", "link-flap"}}


def write_rdma(world, host, folder, draw):
    interval, is_json = draw.choice((1, 2, 10)), draw.random() < 0.4
    lines = []
    for at in moments(world.job, interval, draw, 30, 20):
        lines.append(stamp(at + host.off, "%Y-%m-%dT%H:%M:%S.%fZ"))
        found = []
        for number, device in enumerate(host.ports):
            moved = (40e9 if number == 0 else 1e5) * max(0, min(at, world.job.end) - world.job.begin)
            found.append({"ifindex": number, "ifname": device, "port": 1, "rx_write_requests": 0, "out_of_buffer": 0,
                          "out_of_sequence": world.total(at, host, "out-of-sequence", port=number), "duplicate_request": 0,
                          "rnr_nak_retry_err": 0, "packet_seq_err": 0, "local_ack_timeout_err": 0, "np_cnp_sent": 3,
                          "rx_bytes": int(moved), "tx_bytes": int(moved)})
        if is_json:
            lines.append(json.dumps(found, separators=(",", ":")))
        else:
            lines += [f"link {of['ifname']}/1 " + " ".join(f"{key} {value}" for key, value in list(of.items())[3:]) for of in found]
    (folder / f"rdma-statistic.{host.name}.txt").write_text("\n".join(lines) + "\n")
    return {"gauges": interval, "signs": {"out-of-sequence"}}


def kernel_texts(world, host, draw):
    """(time, text) of the messages of a host, in order."""
    found = [(world.job.begin - 86400 * draw.randint(1, 30), "Linux version 5.15.0-91-generic (buildd@lcy02-amd64-045)")]
    for sign in (sign for sign in world.signs if sign.host is host and sign.name in MESSAGES | {"xid-45", "xid-43", "xid-145"}):
        at, gpu = sign.begin, sign.gpu
        pid = world.job.pids.get(gpu.rank if gpu else world.job.rank, 4711)
        xid = int(sign.name[4:]) if sign.name.startswith("xid-") else 0
        if sign.amount < 0.1:
            continue
        if xid:
            slot = gpu.bus[:-2]
            name = draw.choice((f"pid={pid}, name=python3", f"pid='<unknown>', name=<unknown>"))
            tail = {79: "GPU has fallen off the bus.", 31: "Ch 00000008, intr 00000000. MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_0 faulted",
                    13: "Graphics SM Warp Exception on (GPC 1, TPC 2, SM 0): Out Of Range Address", 43: "Ch 00000010",
                    45: "Ch 00000008", 94: "Contained: SM (0x1). RST: No, D-RST: No", 63: "Row Remapper: New row marked for remapping",
                    145: "RLW_SRC_TRACK Nonfatal XC0 i0 Link 08"}[xid]
            found += [(at, f"NVRM: GPU at PCI:{slot}: {gpu.uuid}"), (at + 1e-5, f"NVRM: Xid (PCI:{slot}): {xid}, {name}, {tail}")]
            if xid == 79:
                found.append((at + 2e-5, f"NVRM: GPU {gpu.bus}: GPU has fallen off the bus."))
        elif sign.name == "aer-corrected":
            severity = draw.choice(("Corrected", "Correctable"))
            for number in range(int(sign.amount)):
                when = at + number * (sign.end - at) / sign.amount
                found += [(when, f"pcieport 0000:00:01.0: AER: {severity} error message received from {gpu.bus}"),
                          (when, f"nvidia {gpu.bus}: PCIe Bus Error: severity={severity}, type=Data Link Layer, (Receiver ID)"),
                          (when, f"nvidia {gpu.bus}:   device [10de:2330] error status/mask=00000040/0000a000"),
                          (when, f"nvidia {gpu.bus}:    [ 6] BadTLP")]
        elif sign.name == "oom-kill":
            found += [(at, "python3 invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE|__GFP_COMP), order=0, oom_score_adj=0"),
                      (at + 0.01, f"Out of memory: Killed process {pid} (python3) total-vm:261234kB, anon-rss:251234kB, file-rss:0kB, "
                       "shmem-rss:0kB, UID:1000 pgtables:512kB oom_score_adj:0")]
        elif sign.name == "hung-task":
            found += [(at + 122, f"INFO: task python3:{pid} blocked for more than 120 seconds."),
                      (at + 122, '      Tainted: P           OE     5.15.0-91-generic #101-Ubuntu')]
        elif sign.name == "nfs-stall":
            found += [(at, "nfs: server store1 not responding, still trying"), (sign.end, "nfs: server store1 OK")]
        elif sign.name == "soft-lockup":
            found.append((sign.end, f"watchdog: BUG: soft lockup - CPU#3 stuck for {max(1, int(sign.end - at))}s! [kworker/3:1:{991}]"))
        elif sign.name == "link-flap":
            device = host.interfaces[sign.port]
            found += [(at, f"mlx5_core 0000:ab:00.{sign.port} {device}: Link down"), (sign.end, f"mlx5_core 0000:ab:00.{sign.port} "
                       f"{device}: Link up")]
    found += [(world.job.begin - draw.uniform(5, 4000), text) for text in
              ("audit: type=1400 audit(1795687876.101:77): apparmor=\"ALLOWED\"", "docker0: port 1(veth1a2b) entered forwarding state",
               "perf: interrupt took too long (2510 > 2500), lowering kernel.perf_event_max_sample_rate to 79500")]
    return sorted(found)


def write_kernel(world, host, folder, draw):
    form = draw.choice(("dmesg-T", "dmesg", "iso", "short-iso", "short-iso-precise", "json", "syslog", "kmsg-iso"))
    zone = draw.choice((0, 0, 0, 1, -8, 5.5))
    lines, resolution = [], 1 if form in ("dmesg-T", "short-iso", "syslog") else 1e-6
    full = host.name + draw.choice(("", "", ".cluster.example"))
    for at, text in kernel_texts(world, host, draw):
        since, off = max(0, at - host.boot), at + host.off
        offset = f"{'-' if zone < 0 else '+'}{int(abs(zone)):02d}{int(abs(zone) % 1 * 60):02d}"
        if form == "dmesg-T":
            lines.append(stamp(off, "[%a %b %e %H:%M:%S %Y] ") + text)
        elif form == "dmesg":
            lines.append(f"[{since:12.6f}] {text}")
        elif form == "kmsg-iso":
            lines.append(stamp(off, "%Y-%m-%dT%H:%M:%S,%f+00:00 ") + text)
        elif form == "iso":
            lines.append(stamp(off, "%Y-%m-%dT%H:%M:%S.%f+00:00 ") + f"{full} kernel: [{since:12.6f}] {text}")
        elif form == "short-iso":
            lines.append(stamp(off, "%Y-%m-%dT%H:%M:%S", zone) + f"{offset} {full} kernel: {text}")
        elif form == "short-iso-precise":
            lines.append(stamp(off, "%Y-%m-%dT%H:%M:%S.%f", zone) + f"{offset[:3]}:{offset[3:]} {full} kernel: {text}")
        elif form == "syslog":
            lines.append(stamp(off, "%b %e %H:%M:%S") + f" {host.name} kernel: [{since:12.6f}] {text}")
        else:
            lines.append(json.dumps({"__REALTIME_TIMESTAMP": str(int(off * 1e6) + 1500), "__MONOTONIC_TIMESTAMP":
                                     str(int(since * 1e6) + 1500), "_SOURCE_MONOTONIC_TIMESTAMP": str(int(since * 1e6)),
                                     "_TRANSPORT": "kernel", "_HOSTNAME": full, "_BOOT_ID": f"{number_of(host.name):032x}",
                                     "SYSLOG_IDENTIFIER": "kernel", "PRIORITY": "4", "MESSAGE": text}))
    (folder / f"{'dmesg' if form.startswith(('dmesg', 'kmsg')) else 'journal'}.{host.name}.{'json' if form == 'json' else 'log'}"
     ).write_text("\n".join(lines) + "\n")
    # Times since boot cannot be joined; syslog has no year, and a file made up later than its messages does not tell it.
    return {"messages": resolution, "signs": set() if form in ("dmesg", "syslog") else MESSAGES}


def write_sampler(world, host, folder, draw):
    """The file of the sampler of `record`."""
    job, interval = world.job, 0.1
    start = job.begin - 2
    lines = [{"ncclprof_node": 1, "version": "0.2.0", "host": host.name, "boot_id": f"{number_of(host.name):032x}", "kernel":
              "6.8.0", "cores": 64, "allowed_cores": 64, "memory_bytes": 10**12, "interval_ms": 100, "job_pid": 4711, "monotonic_ns":
              int((start - host.boot) * 1e9), "realtime_ns": int((start + host.off) * 1e9), "absent": {}}]
    names = {}
    for gpu in host.gpus:
        lines.append({"ms": 1, "gpu": {"index": gpu.index, "bus": "0000" + gpu.bus, "uuid": gpu.uuid, "name": "NVIDIA H100"}})
    step = 0
    while start + step * interval < job.end + 5:
        step += 1
        at = start + step * interval
        host_values = world.host(at - interval / 2, host)
        values = {("node", "runnable_tasks"): host_values["running"], ("node", "cpu_pressure_share"): host_values["cpu-pressure"],
                  ("node", "io_pressure_share"): host_values["io-pressure"], ("node", "memory_pressure_share"):
                  host_values["memory-pressure"], ("node", "cpu_busy_share"): host_values["cpu"]}
        for gpu in host.gpus:
            value, bus = world.gpu(at, host, gpu), "0000" + gpu.bus
            values |= {("gpu", bus, "sm_clock_mhz"): value["clock"], ("gpu", bus, "gpu_utilization_share"): value["util"] / 100,
                       ("gpu", bus, "other_gpu_share"): value["other"],
                       ("gpu", bus, "throttle_hw_thermal_share"): 1 if value["reasons"] & 0x40 else 0,
                       ("gpu", bus, "throttle_hw_slowdown_share"): 1 if value["reasons"] & 8 else 0,
                       ("gpu", bus, "throttle_hw_power_brake_share"): 1 if value["reasons"] & 0x80 else 0,
                       ("gpu", bus, "throttle_sw_thermal_share"): 1 if value["reasons"] & 0x20 else 0}
        line = {"ms": int(step * interval * 1000), "of": int(interval * 1000)}
        new = {key: str(len(names) + number + 1) for number, key in enumerate(key for key in values if key not in names)}
        if new:
            line["new"] = {number: list(key) for key, number in new.items()}
        line["v"] = {}
        for key, value in values.items():
            number, before = names.get(key, (new.get(key), None))
            if value != before:
                line["v"][number] = value
            names[key] = (number, value)
        lines.append(line)
    lines.append({"ms": lines[-1]["ms"] + 1, "end": "job"})
    (folder / f"node-{host.name}-4711.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return {"gauges": interval, "signs": {"hw-thermal", "sw-thermal", "power-brake", "low-clock", "other-process", "busy-cores", "swap",
                                          "nfs-stall"}}


def write_py_spy(world, host, folder, draw):
    for gpu in host.gpus:
        text = (f"Process {world.job.pids.get(gpu.rank)}: python3 train.py\nPython v3.11.9 (/usr/bin/python3.11)\n\n"
                f"Thread {world.job.pids.get(gpu.rank)} (idle): \"MainThread\"\n    synchronize (torch/cuda/__init__.py:892)\n"
                "    train (train.py:120)\n    <module> (train.py:201)\n")
        (folder / f"py-spy-{host.name}-rank{gpu.rank}.txt").write_text(text)
    return {"gauges": 1e9, "signs": set()}


TOOLS = (write_smi, write_dcgmi, write_exporters, write_query, write_ethtool, write_rdma, write_kernel, write_sampler, write_py_spy)


# ---- what is planted ----


def amount_of(name, draw):
    if name in ("symbol-errors", "out-of-sequence", "drops", "pcie-replays", "retransmits"):
        return draw.randint(2000, 50000)
    return {"ecc-uncorrected": 3, "link-flap": 1, "aer-corrected": 40, "nfs-stall": 1}.get(name, 1)


def place(name, job, draw, host, gpu):
    kind = SIGNS[name][0] if name in SIGNS else GPU
    return {"host": host, "gpu": gpu if kind == GPU else None, "port": 0}


def true_sign(name, job, draw):
    lead = min(0.3, (job.first - job.begin) / 10)
    begin, end = job.first - draw.uniform(0, lead), job.last
    if job.kind == "stop":
        begin, end = job.first - draw.uniform(0.005, 0.1), job.last + 600
    return Sign(name, begin=begin, end=end, amount=amount_of(name, draw), **place(name, job, draw, job.host, job.gpu))


def decoy(job, draw, true):
    """One decoy: its name and the sign."""
    clean = job.kind == "none"
    hosts = list(job.hosts.values())
    kinds = ["compute", "host", "network", "stop"] if clean else [job.kind] * 3 + ["compute", "stop"]
    kind = draw.choice(kinds)
    name = draw.choice([sign for sign in SIGNS if SIGNS[sign][1] == kind])
    own = (draw.choice(hosts), None) if clean else (job.host, job.gpu)
    own = (own[0], own[1] or draw.choice(own[0].gpus))
    others = [(host, gpu) for host in hosts for gpu in host.gpus if gpu is not own[1] and (SIGNS[name][0] == GPU or host is not own[0])]
    first, last = (job.first, job.last) if not clean else (job.begin, job.end)
    forms = ["before", "after", "constant", "tiny", "start-up", "echo", "other-kind", "unused"] + ["elsewhere"] * 3
    form = draw.choice(forms)
    amount = amount_of(name, draw)
    host, gpu = own
    begin, end = first, last
    others = [(other, gpu) for other, gpu in others if gpu.rank not in job.suspects and
              (SIGNS[name][0] == GPU or not {one.rank for one in other.gpus} & job.suspects)]
    if form == "elsewhere" and others:
        host, gpu = draw.choice(others)
    elif form == "before":
        end = job.begin - draw.uniform(40, 110)
        begin = end - draw.uniform(1, 60)
    elif form == "after":
        begin = job.end + draw.uniform(40, 60)
        begin += 240 if name == "hung-task" else 0  # the kernel says only after two minutes at least since when
        end = begin + 10
    elif form == "constant" and name not in MESSAGES and amount == 1:
        begin, end = job.begin - 9000, job.end + 9000
    elif form == "tiny" and amount > 1 and name not in MESSAGES:
        amount = draw.randint(1, 3) if name != "ecc-uncorrected" else 0
    elif form == "start-up":
        end = job.begin - draw.uniform(0.2, 3)
        begin = end - draw.uniform(1, 10)
    elif form == "echo":
        name = draw.choice(("xid-45", "xid-145", "xid-43") if kind == "stop" else ("xid-45", "xid-145"))
        begin = end = job.end + draw.uniform(4, 25)
        host, gpu = draw.choice([own] + others) if name != "xid-43" else own
    elif form == "unused" and SIGNS[name][0] == PORT:
        return form, Sign(name, host, None, 1, begin, end, amount)
    elif form == "other-kind" and not clean:
        wrong = [sign for sign in SIGNS if SIGNS[sign][1] == {"compute": "network", "network": "compute"}.get(job.kind)]
        if not wrong:
            return None
        name = draw.choice(wrong)
        # The driver's messages and a bad slot speak of the network, too.
        if name.startswith(("xid", "pcie")) or name == "aer-corrected":
            return None
        amount = amount_of(name, draw)
    else:
        return None
    if form != "elsewhere" and true and name == true.name and form not in ("before", "after", "echo", "tiny", "start-up"):
        return None
    return form, Sign(name, begin=begin, end=end, amount=amount, **place(name, job, draw, host, gpu))


def scenario(job, seed, folder):
    """Writes the records of a seed. Returns what was planted and what can be seen."""
    draw = random.Random(seed)
    names = [name for name in SIGNS if SIGNS[name][1] == job.kind]
    if job.kind == "compute" and "host" in job.found:  # these are no causes of a host that seems late
        names = [name for name in names if not name.startswith(("xid", "ecc", "aer"))]
    true = true_sign(draw.choice(names), job, draw) if names and draw.random() < 0.7 else None
    decoys = [made for made in (decoy(job, draw, true) for _ in range(draw.randint(2, 8))) if made]
    clock = draw.choice(("exact",) * 6 + ("seconds", "minutes", "zone"))
    off = {"exact": 0, "seconds": draw.uniform(2, 20), "minutes": draw.uniform(60, 900), "zone": 3600 * draw.choice((1, -8, 5.5))}[clock]
    signs = ([true] if true else []) + [sign for _, sign in decoys]
    world = World(job, signs, draw)
    tools = [tool for tool in TOOLS if draw.random() < 0.4] or [write_smi]
    able = {GPU: (write_smi, write_sampler), HOST: (write_sampler, write_exporters, write_query), PORT: (write_exporters, write_query)}
    if true:
        able = (write_kernel,) if true.name in MESSAGES else (write_rdma,) if true.name == "out-of-sequence" else \
            (write_sampler,) if true.name == "other-process" else (write_exporters, write_query) if true.name in \
            ("pcie-replays", "retransmits") else able[SIGNS[true.name][0]]
        tools += [tool for tool in [draw.choice(able)] if tool not in tools]
    hosts = list(job.hosts.values())
    seen = False
    for host in hosts:
        host.boot, host.off = job.begin - draw.uniform(1e5, 3e6), off * draw.choice((1, 1, -1)) if clock != "zone" else off
    is_by_folder = draw.random() < 0.3
    for tool in tools:
        for host in hosts:
            into = folder / (host.name if is_by_folder else ".")
            into.mkdir(parents=True, exist_ok=True)
            shown = tool(world, host, into, draw)
            if true and host is true.host and true.name in shown["signs"]:
                error = shown.get("messages", 0) if true.name in MESSAGES and "messages" in shown else shown.get("gauges", 1e9)
                length = 60 if job.kind == "stop" else job.last - job.first
                seen |= error <= length / 2 and (clock == "exact" or shown.get("is_other_clock", 0))
    if draw.random() < 0.5:
        stranger = Host("gpu99", [Gpu(0, "0000:3b:00.0", "GPU-99999999-1111-2222-3333-000000000000", 0)])
        foreign = World(job, [dataclasses.replace(sign, host=stranger, gpu=stranger.gpus[0] if sign.gpu else None) for sign in signs],
                        draw)
        (folder / "gpu99").mkdir(exist_ok=True)
        for tool in (write_kernel, write_smi):
            tool(foreign, stranger, folder / "gpu99", draw)
    # Traces that do not name GPUs need a record that lists those of the host.
    if true and true.gpu and not job.names_gpus:
        seen &= bool({write_sampler, write_exporters, write_query} & set(tools))
    # Where half of the other places show the same, nothing stands out.
    others = len(hosts) - 1 if true and SIGNS[true.name][0] != GPU else sum(len(host.gpus) for host in hosts) - 1
    same = sum(1 for form, sign in decoys if true and form in ("elsewhere", "constant") and sign.name == true.name)
    seen &= not same or 2 * same < others
    return true, decoys, clock, seen, [tool.__name__[6:] for tool in tools]


def findings(program, paths):
    done = subprocess.run([program, "diagnose", "--format", "json", *map(str, paths)], capture_output=True, text=True, check=False)
    try:
        return json.loads(done.stdout)
    except ValueError:
        return {"findings": [], "broken": done.stderr[-500:]}


def short(finding):
    return finding["kind"], tuple(finding["ranks"]), finding["confidence"]


def judge(job, bare, seed, folder, program):
    # Of ranks that cannot be told apart, a sign at any of them in the time of the fault may be the cause.
    job.found = {finding["kind"] for finding in bare["findings"]}
    job.suspects = {rank for finding in bare["findings"] for rank in finding.get("candidates") or []}
    true, decoys, clock, seen, tools = scenario(job, seed, folder)
    found = findings(program, [*job.traces, folder])
    causes = [(finding, cause) for finding in found["findings"] for cause in finding.get("because") or []]
    result = collections.Counter()
    expected = SIGNS[true.name][2] if true else set()
    wrong = [cause for finding, cause in causes if cause["cause"] not in expected or (true and cause["host"] and not
                                                                                     true.host.name.startswith(cause["host"].split(".")[0]))]
    right = [cause for _, cause in causes if cause not in wrong]
    result["scenarios"] = 1
    result["broken"] = int("broken" in found)
    if true:
        result["true, can be seen" if seen else "true, cannot be seen"] = 1
        result["named" if seen else "named though"] = int(bool(right))
    result["decoys named"] = int(bool(wrong))
    result["file of another host"] = sum(1 for _, cause in causes if cause["host"] and cause["source"] and not
                                         cause["source"].startswith("(") and cause["host"].split(".")[0] not in cause["source"])
    before, after = [short(one) for one in bare["findings"]], [short(one) for one in found["findings"]]
    result["accusation changed"] = int(sorted(one[1] for one in before) != sorted(one[1] for one in after))
    result["kind or confidence changed without a true cause"] = int(before != after and not right)
    text = (f"{job.name} seed {seed}: true {true.name if true else '-'}{'' if seen else ' (unseen)'} clock {clock} tools {','.join(tools)}"
            f" decoys {[(form, sign.name) for form, sign in decoys]}\n    -> {[cause['what'] for _, cause in causes]}")
    return result, text, "BAD" if any(result[name] for name in NEVER) else "MISSED" if seen and true and not right else "ok"


def fault_of(label):
    if isinstance(label.get("fault"), dict):
        fault = label["fault"]
        return fault["kind"], fault.get("rank", -1), fault.get("first_step", 0), fault.get("last_step", 0)
    parts = label["inject"].split("+")[0].split(":")
    if parts[0] == "none":
        return "none", -1, 0, 0
    first = int(parts[2])
    last = first if KINDS[parts[0]] == "stop" or parts[0] == "pause" else int(parts[3]) if parts[0] not in ("gc", "ckpt") else first + 1
    return parts[0], int(parts[1]), first, last


def load(run, work, arguments):
    folder = work / pathlib.Path(run).name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    if run in SIMULATED:
        words, rank = SIMULATED[run]
        traces = folder / "traces"
        # Steps as long as those of real jobs, so that logs with whole seconds can show something.
        subprocess.run([arguments.simulate, *words, "--network-gbs", "40", "--nvlink-gbs", "300", "--steps", "60", "--seed", "5",
                        "--compute", "100", "--dialect", "inspector-2.30", "-o", traces], check=True, stdout=subprocess.DEVNULL)
        kind = {"compute": "compute", "host": "cpu", "network": "net", "stop": "hang", "none": "none"}[run]
        job = Job([traces], arguments.ncclprof, folder, (kind, rank, 20 if kind != "hang" else 30, 39))
    else:
        path = pathlib.Path(run)
        fault = fault_of(json.loads((path / "label.json").read_text()))
        traces = [path / name for name in ("plugin", "insp") if (path / name).is_dir()] or [path]
        job = Job(traces, arguments.ncclprof, folder, fault)
    job.name, job.work = pathlib.Path(run).name, folder
    return job


# What must not happen in any scenario.
NEVER = ("broken", "decoys named", "file of another host", "accusation changed", "kind or confidence changed without a true cause")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="*", default=list(SIMULATED))
    parser.add_argument("--ncclprof", required=True)
    parser.add_argument("--simulate")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--keep", action="store_true", help="keep the records of scenarios that went wrong")
    parser.add_argument("-v", "--verbose", action="store_true")
    arguments = parser.parse_args()
    sums = collections.Counter()
    for run in arguments.runs:
        try:
            job = load(run, arguments.work, arguments)
        except (ValueError, KeyError) as error:
            print(f"{run}: left out: {error!r}")
            continue
        bare = findings(arguments.ncclprof, job.traces)
        for seed in range(arguments.first, arguments.first + arguments.seeds):
            folder = job.work / f"seed{seed}"
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            result, text, verdict = judge(job, bare, seed, folder, arguments.ncclprof)
            sums.update(result)
            if arguments.verbose or verdict != "ok":
                print(f"{verdict} {text}")
            if verdict == "ok" or not arguments.keep:
                shutil.rmtree(folder)
        sys.stdout.flush()
    for name, count in sums.items():
        print(f"{count:6d} {name}")
    return any(sums[name] for name in NEVER)


if __name__ == "__main__":
    sys.exit(main())
