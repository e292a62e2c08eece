"""Time and memory of recorders other than those of `make bench`, by size of input: `make bench-recorders`.

The traces of each kind have the same ranks and more and more steps (or polls), so that they differ in size only.
"""
import os
import shutil
import sqlite3
import subprocess

import stuck_jobs
from data import bytes_in
from measure import machine, run, show

RANKS = 8
LAYERS = 16
RAS_RANKS = 512
NCCL_FIXTURE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "fixtures", "nsys", "node0.sql")
# Of the fixture's six steps, and what one of its kernels of NCCL has beside it.
FIXTURE_NS, FIXTURE_BEGIN_NS, FIXTURE_CALLS, COMPUTE_KERNELS = 120_000_000, 99_000_000, 1000, 20
EVENT = """  {{
    "ph": "X", "cat": "{category}", "name": "{name}", "pid": {pid}, "tid": {tid},
    "ts": {at:.3f}, "dur": {duration:.3f},
    "args": {{
      "External id": {number}, "device": {rank}, "context": 1, "stream": {tid}, "correlation": {number}
    }}
  }},
"""
ALL_REDUCE = ("void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*, vllm::RankSignals, vllm::Signal*, "
              "__nv_bfloat16*, int, int)")


def simulated(build, folder, *arguments):
    subprocess.run([f"{build}/simulate", *map(str, arguments), "-o", folder], check=True)
    os.remove(f"{folder}/truth.json")


def inspector(build, folder, steps):
    """Inspector as it comes: durations and the times of dumps."""
    simulated(build, folder, "--shape", "3d", "--ranks", RANKS, "--tp", 2, "--dp", 2, "--pp", 2, "--layers", 4, "--steps", steps, "--stream",
              "--once", "--noise", "even", "--dialect", "inspector-2.30-terse")


def flight_recorder(build, folder, steps):
    """Dumps whose ring buffers hold all calls, with durations."""
    simulated(build, folder, "--shape", "3d", "--ranks", RANKS, "--tp", 2, "--dp", 2, "--pp", 2, "--layers", 4, "--steps", steps, "--once",
              "--noise", "even", "--keep-last", 10_000_000, "--dialect", "flight-recorder-timing")


def vllm(_, folder, steps):
    """PyTorch's profiler on a server: each layer has two all-reduces of vLLM among the kernels and operators of the model."""
    for rank in range(RANKS):
        with open(f"{folder}/rank{rank}.pt.trace.json", "w") as file:
            file.write(f'{{\n  "schemaVersion": 1,\n  "deviceProperties": [{{"id": {rank}, "name": "NVIDIA H100"}}],\n  "distributedInfo": '
                       f'{{"backend": "nccl", "rank": {rank}, "world_size": {RANKS}}},\n  "traceEvents": [\n')
            number = 0
            for step in range(steps):
                for layer in range(2 * LAYERS):
                    at = 1e6 + step * 4000.0 + layer * 100
                    for _ in range(6):
                        number += 1
                        file.write(EVENT.format(category="cpu_op", name="aten::mm", pid=1000 + rank, tid=1, at=at + number % 6, duration=5.5,
                                                number=number, rank=rank))
                        file.write(EVENT.format(category="kernel", name="sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n", pid=rank, tid=7,
                                                at=at + 12 * (number % 6), duration=11.25, number=number, rank=rank))
                    number += 1
                    file.write(EVENT.format(category="kernel", name=ALL_REDUCE, pid=rank, tid=7, at=at + 75 + rank * 0.25,
                                            duration=15.5 - rank * 0.25, number=number, rank=rank))
            file.write('  {\n    "name": "Trace End", "ph": "M", "pid": 0, "tid": 0, "ts": 0\n  }\n  ]\n}\n')


def copies(table, columns, times, more=""):
    """Further rows of `table`: those of the fixture's steps, again and again."""
    return (f"WITH RECURSIVE copy(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM copy WHERE i < {times}) "
            f"INSERT INTO {table} SELECT {columns} FROM {table}, copy{more} WHERE start > {FIXTURE_BEGIN_NS};")


def nsys(_, folder, steps):
    """An export of Nsight Systems. One of 21 kernels is one of NCCL."""
    times, next_ns, call = max(steps // 6, 1), f"i * {FIXTURE_NS}", f"correlationId + i * {FIXTURE_CALLS}"
    kernels = "deviceId, contextId, streamId, {}, globalPid, demangledName, shortName, mangledName, graphNodeId, graphId"
    numbers = f", (WITH RECURSIVE one(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM one WHERE k < {COMPUTE_KERNELS}) SELECT k FROM one)"
    with open(NCCL_FIXTURE) as file, sqlite3.connect(f"{folder}/node0.sqlite") as database:
        database.executescript("PRAGMA synchronous=OFF; PRAGMA journal_mode=OFF;\n" + file.read().replace("page_size=1024", "page_size=4096"))
        database.execute(copies("NVTX_EVENTS", f"start + {next_ns}, end + {next_ns}, eventType, rangeId, category, color, text, globalTid, "
                                "endGlobalTid, textId, domainId, jsonText, binaryData", times))
        database.execute(copies("CUPTI_ACTIVITY_KIND_RUNTIME", f"start + {next_ns}, end + {next_ns}, eventClass, globalTid, {call}, nameId, "
                                "returnValue", times))
        database.execute("CREATE TEMP TABLE compute AS SELECT * FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE streamId = 7 LIMIT 1")
        database.execute(copies("CUPTI_ACTIVITY_KIND_KERNEL", f"start + {next_ns}, end + {next_ns}, {kernels.format(call)}", times))
        database.execute(f"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT n.start - 1000 * k, n.start - 1000 * k + 900, n.deviceId, 1, 7, NULL, "
                         f"n.globalPid, c.demangledName, c.shortName, NULL, NULL, NULL FROM CUPTI_ACTIVITY_KIND_KERNEL n, compute c{numbers} "
                         f"WHERE n.streamId <> 7 AND n.start > {FIXTURE_BEGIN_NS}")
    database.close()


def nccl_log(_, folder, steps):
    """NCCL_DEBUG=INFO, NCCL_DEBUG_SUBSYS=INIT,COLL: a line for each call, of all ranks in one file."""
    with open(f"{folder}/job.out", "w") as file:
        for rank in range(RANKS):
            file.write("\n".join(stuck_jobs.log_init(rank, 0, rank, RANKS, "0x7b1e55aa90d14c03")) + "\n")
        for count in range(8 * steps):
            file.writelines(stuck_jobs.log_call(rank, 0, RANKS, count) + "\n" for rank in range(RANKS))


def ras(_, folder, steps):
    """`ncclras -f json`, polled each minute of a running job."""
    for poll in range(steps):
        stuck_jobs.ras_poll(folder, stuck_jobs.groups_of(RAS_RANKS, False), poll, 100 * poll + 1, None)


# How many steps are the least size.
KINDS = {"Inspector, not verbose": (inspector, 200), "Kineto, kernels of vLLM": (vllm, 24), "Nsight Systems": (nsys, 1200),
         "NCCL log": (nccl_log, 2000), "RAS": (ras, 16), "Flight Recorder, timing on": (flight_recorder, 100)}
TIMES = (1, 4, 16)


def store_size(store):
    return os.path.getsize(store) / 1e6


def instructions_of(bench, folder):
    """Instructions per byte of reading the first file; None: there is no callgrind."""
    first = os.path.join(folder, sorted(os.listdir(folder))[0])
    return bench.instructions(first) / os.path.getsize(first) if shutil.which("valgrind") else None


def rows_of(bench, kind):
    write, least = KINDS[kind]
    for times in TIMES:
        folder = os.path.join(bench.room, "recorder")
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        write(bench.build, folder, least * times)
        size = bytes_in(folder)
        ingests, diagnoses = [], []
        for _ in range(bench.runs):
            ingests.append(bench.ingest(folder, 1))
            diagnoses.append(run([f"{bench.build}/ncclprof", "--store", bench.store, "diagnose", "--format", "json"]))
        per_byte = instructions_of(bench, folder) if times == 1 else None
        ingest, diagnose = (sorted(costs, key=lambda cost: cost.cpu)[len(costs) // 2] for costs in (ingests, diagnoses))
        yield [kind if times == 1 else "", f"{size / 1e6:.1f}", f"{size / ingest.cpu / 1e6:.0f}", f"{per_byte:.1f}" if per_byte else "",
               f"{max(cost.resident for cost in ingests) / 1e6:.0f}", f"{size / diagnose.cpu / 1e6:.0f}",
               f"{max(cost.resident for cost in diagnoses) / 1e6:.0f}", f"{store_size(bench.store):.1f}"]
        shutil.rmtree(folder)


def bench_recorders(bench):
    """BENCH_KINDS: some of KINDS, separated by semicolons."""
    kinds = list(filter(None, os.environ.get("BENCH_KINDS", "").split(";")))
    print(f"Other recorders: {machine()}; medians of {bench.runs} runs, 1 job.", flush=True)
    heads = ["recorder", "MB", "ingest, MB per CPU s", "instructions per byte read", "peak RSS MB", "diagnose, MB per CPU s", "peak RSS MB",
             "store MB"]
    show("Other recorders", heads, [row for kind in kinds or KINDS for row in rows_of(bench, kind)])
