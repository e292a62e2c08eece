#!/usr/bin/env python3
"""Records training jobs with planted faults on real GPUs, one rank per GPU: record_jobs.py PLUGIN FOLDER [options].

Job i of seed s is always the same. The planted fault is drawn and written to label.json before the job runs. Each job is
recorded by the profiler plugin, PyTorch's profiler, NCCL's log and Flight Recorder. Needs PyTorch. judge_jobs.py judges the
results.

With --natural, faults have causes as in clusters, and only the profiler plugin records: another process uses the GPU of a rank
(gpu_hog) or the processor cores of a rank or a node (cpu_hog), Python collects garbage (garbage), samples take long to load
(loader), work of the GPU grows with each step (ramp), a rank writes checkpoints (checkpoint). Ranks are pinned to cores of their
own, and two of them share a node (UTS namespace). Needs root.

With --inspector, PLUGIN is NVIDIA's Inspector, which dumps every 500 us and is not verbose.

With --node, PLUGIN is the ncclprof program. Its `record` starts each rank, so that the node is sampled as well, ten times per
second. The faults have natural causes that such samples can show, among them a process that is stopped for two seconds
(paused), and a disk that other processes write to while a rank writes checkpoints (storm). They last for a third of the job or
more. Each rank has a node of its own, unless --node-ranks says otherwise.
"""

import argparse
import json
import os
import random
import socket
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent

SHAPES = ["data", "sharded", "tensor", "pipeline", "experts"]
# Of 40 jobs, a third are clean. Network faults need sockets.
KINDS = ["none"] * 13 + ["compute"] * 9 + ["host"] * 7 + ["network"] * 4 + ["hang"] * 4 + ["kill"] * 3
PHASES = {"data": ["forward", "backward", "optimizer"], "sharded": ["forward", "backward", "optimizer"],
          "tensor": ["forward", "backward", "grad_sync", "optimizer"], "pipeline": ["forward", "backward", "grad_sync", "optimizer"],
          "experts": ["forward", "backward", "grad_sync", "optimizer"]}
FIRST_FAULTY = 6  # The profilers have started by then.
LONGEST_S, OTHERS_S = 60, 20  # Time limit of a job, and of the other ranks after one has ended.


def draw_steps(rng, steps):
    """The steps of the fault: all steps from some step to the end, or a few."""
    how = rng.choice(["all", "on", "few", "few"])
    if how == "all":
        return 0, steps - 1
    first = rng.randrange(FIRST_FAULTY, steps - 12)
    return first, steps - 1 if how == "on" else first + rng.randrange(3, 11)


def draw_fault(rng, kind, shape, ranks, steps):
    fault = {"kind": kind}
    if kind == "none":
        return fault
    fault["rank"] = rng.randrange(ranks)
    if kind != "network":
        fault["phase"] = rng.choice(PHASES[shape])
    if kind in ("hang", "kill"):
        fault["first_step"] = rng.randrange(FIRST_FAULTY, steps - 6)
        fault["last_step"], fault["amount_us"] = fault["first_step"], 0
        return fault
    least, most = (50, 500) if kind == "network" else (600, 12000)
    fault["first_step"], fault["last_step"] = draw_steps(rng, steps)
    fault["amount_us"] = round(least * (most / least) ** rng.random())
    return fault


def draw_jobs(seed, ranks, steps):
    """All 40 jobs, in the order in which they run."""
    rng = random.Random(seed)
    kinds = rng.sample(KINDS, len(KINDS))
    jobs = []
    for number, kind in enumerate(kinds):
        shape = SHAPES[number % len(SHAPES)]
        transport = "socket" if kind == "network" else rng.choice(["nvlink", "socket"])
        job = {"name": f"{number:02d}_{shape}_{transport}", "shape": shape, "transport": transport, "ranks": ranks, "steps": steps,
               "layers": rng.choice([2, 3, 4]), "stages": rng.choice([2, ranks]), "host_ranks": rng.choice([1, 2])}
        job["fault"] = draw_fault(rng, kind, shape, ranks, steps)
        jobs.append(job)
    return jobs


NATURAL = (["none"] * 5 + ["gpu_hog"] * 5 + ["cpu_hog"] * 4 + ["cpu_hog_node"] * 2 + ["garbage"] * 2 + ["loader"] * 2 +
           ["ramp"] * 2 + ["checkpoint"] * 2)
NATURAL_SHAPES = ["data", "sharded", "tensor", "pipeline"]
RANKS_PER_NODE = 2
NODE_CAUSES = ["none"] * 4 + ["gpu_hog"] * 4 + ["cpu_hog"] * 3 + ["paused"] * 2 + ["storm"] * 2
FINDING_OF = {"paused": "host", "storm": "host", "gpu_hog": "compute", "ramp": "compute", "cpu_hog": "host", "cpu_hog_node": "host", "garbage": "host",
              "loader": "host", "checkpoint": "host", "none": "none"}
PERIODS = {"garbage": (4, 9), "checkpoint": (6, 15)}


def draw_node_fault(rng, cause, ranks, steps):
    fault = {"kind": FINDING_OF[cause], "cause": cause}
    if cause == "none":
        return fault
    fault["rank"] = rng.randrange(ranks)
    fault["first_step"] = rng.randrange(steps // 3, steps // 2)
    fault["last_step"] = fault["first_step"] if cause == "paused" else fault["first_step"] + rng.randrange(steps // 3, steps // 2)
    if cause == "cpu_hog":
        fault["processes"] = rng.choice([2, 3]) * CORES_PER_RANK
    return fault


def draw_natural_fault(rng, cause, ranks, steps):
    """What a finding should say is its kind, and its ranks where there are several. `period`: only every Nth step."""
    fault = {"kind": FINDING_OF[cause], "cause": cause}
    if cause == "none":
        return fault
    fault["rank"] = rng.randrange(ranks)
    if cause == "cpu_hog_node":
        first = fault["rank"] // RANKS_PER_NODE * RANKS_PER_NODE
        fault["ranks"] = list(range(first, first + RANKS_PER_NODE))
    fault["first_step"], fault["last_step"] = draw_steps(rng, steps)
    if cause.startswith("cpu_hog"):
        fault["processes"] = rng.choice([1, 2, 3]) * CORES_PER_RANK
    if cause == "ramp":
        fault["first_step"], fault["last_step"] = rng.randrange(FIRST_FAULTY, steps - 12), steps - 1
        fault["amount_us"] = rng.randrange(50, 400)
    if cause in PERIODS:
        fault["period"] = rng.randrange(*PERIODS[cause])
        fault["first_step"], fault["last_step"] = rng.randrange(FIRST_FAULTY), steps - 1
    return fault


CORES_PER_RANK = 8


def draw_natural_jobs(seed, ranks, steps, causes=NATURAL, draw_fault_of=draw_natural_fault, node_ranks=RANKS_PER_NODE):
    rng = random.Random(seed)
    jobs = []
    for number, cause in enumerate(rng.sample(causes, len(causes))):
        shape = NATURAL_SHAPES[number % len(NATURAL_SHAPES)]
        jobs.append({"name": f"{number:02d}_{shape}_nodes", "shape": shape, "transport": "nodes", "ranks": ranks, "steps": steps,
                     "layers": rng.choice([2, 3, 4]), "stages": rng.choice([2, ranks]), "host_ranks": node_ranks,
                     "recorders": ["plugin"], "fault": draw_fault_of(rng, cause, ranks, steps)})
    return jobs


def cores_of(rank):
    return f"{rank * CORES_PER_RANK}-{rank * CORES_PER_RANK + CORES_PER_RANK - 1}"


def placed(job, rank, command):
    """The command on the cores and the node of the rank."""
    if job["transport"] != "nodes":
        return command
    name = f"node{rank // job['host_ranks']}"
    return ["taskset", "-c", cores_of(rank), "unshare", "--uts", "sh", "-c", f'hostname {name} && exec "$@"', "sh", *command]


def start_disturbers(job, folder, ranks):
    """The processes that compete with a rank, or stop it; they end when the job has ended. `ranks` are its processes."""
    fault = job["fault"]
    if fault.get("cause") not in ("gpu_hog", "cpu_hog", "cpu_hog_node", "paused", "storm"):
        return []
    started = []
    for rank in fault.get("ranks") or [fault["rank"]]:
        for _ in range(fault.get("processes", 1)):
            command = [sys.executable, HERE / "disturb.py", folder, str(rank), str(ranks[rank].pid)]
            cores = ["taskset", "-c", cores_of(rank)] if fault["cause"].startswith("cpu_hog") else []
            # In a session of its own, as the programs of other users are: record takes processes of one session for the job.
            started.append(subprocess.Popen([*cores, *command], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                            start_new_session=True))
    return started


def recorders(folder, plugin, options):
    if options.node:
        return {"NCCLPROF_NODE_INTERVAL_MS": 100}
    if options.inspector:
        return {"NCCL_PROFILER_PLUGIN": plugin, "NCCL_INSPECTOR_ENABLE": 1, "NCCL_INSPECTOR_DUMP_DIR": f"{folder}/plugin",
                "NCCL_INSPECTOR_DUMP_THREAD_INTERVAL_MICROSECONDS": 500}
    return {"NCCL_PROFILER_PLUGIN": plugin, "NVTX_INJECTION64_PATH": plugin, "NCCLPROF_DIR": f"{folder}/plugin",
            "NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "INIT,COLL,P2P,NET,REG,TUNING,ENV,CALL,BOOTSTRAP",
            "NCCL_DEBUG_FILE": f"{folder}/nccl.%h.%p.log", "TORCH_FR_DUMP_TEMP_FILE": f"{folder}/nccl_trace_rank_"}


def environment(job, folder, options, rank, port):
    """The environment of a job, as its script would export it. Ranks that use the network pretend to be on different hosts."""
    values = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "NCCL_SOCKET_IFNAME": "lo", "NCCL_IB_DISABLE": 1,
              "NCCL_NVLS_ENABLE": 0, **recorders(folder, options.plugin.resolve(), options)}
    if job["transport"] in ("socket", "nodes"):
        values |= {"NCCL_HOSTID": f"host{rank // job['host_ranks']}"}
        if job["host_ranks"] == 1:
            values |= {"NCCL_P2P_DISABLE": 1, "NCCL_SHM_DISABLE": 1}
    return {key: str(value) for key, value in values.items()}


def start(job, folder, options, library, rank, port):
    """Starts a rank. `library` is preloaded if sends are to be slow."""
    values = environment(job, folder, options, rank, port)
    if job["fault"]["kind"] == "network" and job["fault"]["rank"] == rank:
        values["LD_PRELOAD"] = library
    with open(f"{folder}/stdout.{rank}", "wb") as out, open(f"{folder}/stderr.{rank}", "wb") as errors:
        command = [sys.executable, HERE / "training_job.py", folder, str(rank)]
        if options.node:
            # Nodes of the same network namespace would share one sampler in one directory.
            directory = folder / "plugin" / f"node{rank // job['host_ranks']}"
            command = [options.plugin.resolve(), "record", "-o", directory, "--", *command]
        command = placed(job, rank, command)
        return subprocess.Popen(command, env={**os.environ, **values}, stdout=out, stderr=errors, stdin=subprocess.DEVNULL)


def wait(processes):
    """After the first rank has ended, waits some time for the others to notice."""
    ends = time.monotonic() + LONGEST_S
    running = list(processes)
    while running and time.monotonic() < ends:
        still = [process for process in running if process.poll() is None]
        if len(still) < len(running):
            ends = min(ends, time.monotonic() + OTHERS_S)
        running = still
        time.sleep(0.05)
    for process in running:
        process.kill()
        process.wait()


def record(job, folder, options, library):
    (folder / "plugin").mkdir(parents=True)
    (folder / "label.json").write_text(json.dumps(job) + "\n")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    for rank in range(job["ranks"]):
        (folder / f"step.{rank}").write_bytes(bytes(8))
    ranks = [start(job, folder, options, library, rank, port) for rank in range(job["ranks"])]
    disturbers = start_disturbers(job, folder, ranks)
    wait(ranks)
    for process in disturbers:
        process.kill()
        process.wait()


def drawn(options):
    if options.node:
        return draw_natural_jobs(options.seed, options.ranks, options.steps, NODE_CAUSES, draw_node_fault, options.node_ranks)
    return (draw_natural_jobs if options.natural else draw_jobs)(options.seed, options.ranks, options.steps)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("plugin", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="the first job to run")
    parser.add_argument("--natural", action="store_true", help="faults by natural causes")
    parser.add_argument("--inspector", action="store_true", help="PLUGIN is NVIDIA's Inspector")
    parser.add_argument("--node", action="store_true", help="PLUGIN is ncclprof, which also samples the node")
    parser.add_argument("--node-ranks", type=int, default=1, help="ranks per node, with --node")
    parser.add_argument("--end", type=int, default=len(KINDS), help="the first job that is not run")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="start no job after this time")
    options = parser.parse_args()
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    library = folder / "slow_sends.so"
    subprocess.run(["cc", "-D_GNU_SOURCE", "-shared", "-fPIC", "-O2", "-o", library, HERE / "slow_sends.c", "-ldl"], check=True)
    begun = time.monotonic()
    for number, job in enumerate(drawn(options)):
        if not options.first <= number < options.end or time.monotonic() - begun > options.seconds:
            continue
        at = time.monotonic()
        record(job, folder / job["name"], options, library)
        print(f"{job['name']}: {time.monotonic() - at:.1f} s", flush=True)


if __name__ == "__main__":
    main()
