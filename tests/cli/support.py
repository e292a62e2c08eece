"""Shared by the command-line tests: a temporary folder, the real program, hand-made traces.

$NCCLPROF is the program. The traces have the lines of NCCL's example profiler plugin (API v7).
"""

import functools
import json
import os
import pty
import re
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import threading
import time
import unittest
from pathlib import Path

PROGRAM = os.path.abspath(os.environ.get("NCCLPROF", "build/ncclprof"))
TOP = Path(__file__).resolve().parents[2]
SANITIZED = "san-" in PROGRAM
# The same program, except that it reads all files from 4 KiB on in parts.
SMALL_PARTS = os.path.join(os.path.dirname(PROGRAM), "torture", "ncclprof")

# Only a hang takes longer, on any slow and busy machine: under the thread sanitizer some ingests take a minute.
PATIENCE_S = 3600 if SANITIZED else 600

# The leak checker does not work in a traced process, and programs that load a library of ours may leak.
WITHOUT_LEAKS = {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}


def environment_for(library):
    """The environment of a program that loads the library: those of sanitizers must be loaded before all others."""
    linked = subprocess.run(["ldd", library], capture_output=True, text=True, check=True).stdout
    sanitizers = re.findall(r"=> (/\S*/lib\w+san\.so\S*)", linked)
    return {**os.environ, "LD_PRELOAD": ":".join(sanitizers), **WITHOUT_LEAKS} if sanitizers else os.environ


@functools.cache
def output_formats(program=PROGRAM):
    """The values of --format, as the program lists them."""
    shown = subprocess.run([program, "info", "-h"], capture_output=True, text=True, check=True).stdout
    return re.search(r"--format (\S+)", shown)[1].split("|")


os.umask(0o022)  # whatever the umask of the caller is


def interrupt(process, moment=0.0):
    """Sends Ctrl-C when the program handles the signal and some seconds have passed; before that, it ends like any program."""
    until = time.monotonic() + PATIENCE_S
    bit = 1 << (signal.SIGINT - 1)
    while process.poll() is None and time.monotonic() < until:
        caught = re.search(r"^SigCgt:\s*([0-9a-f]+)", Path(f"/proc/{process.pid}/status").read_text(), re.MULTILINE)
        if int(caught[1], 16) & bit:
            break
        time.sleep(0.01)
    time.sleep(moment)
    process.send_signal(signal.SIGINT)


SHOWN_WHOLE = b"\0shown whole\0"


def shown_on(terminal, other, process):
    """The text that `process` writes to `other`, the end of a terminal that it was given. Both ends are closed.
    This end stays open until the process has ended, and then terminates the text itself, because a kernel may report that
    the other end is closed before it has delivered all text.
    """
    def end():
        try:
            process.wait(timeout=PATIENCE_S)
        finally:
            process.kill()  # if it has ended, this does nothing
            os.write(other, SHOWN_WHOLE)

    ends = threading.Thread(target=end)
    ends.start()
    shown = b""
    while not shown.endswith(SHOWN_WHOLE):
        shown += os.read(terminal, 4096)
    ends.join()
    os.close(other)
    os.close(terminal)
    return shown.removesuffix(SHOWN_WHOLE)


class Case(unittest.TestCase):
    """A test in an empty folder, with a store that does not exist yet."""

    maxDiff = None
    program = PROGRAM

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="ncclprof-cli-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.store = self.folder / "store.db"

    def run_program(self, *words, status=0, stdin=None, env=None, timeout=PATIENCE_S):
        """Runs `ncclprof WORDS` on the store and checks its exit status (None: 0 or 1). A report of a sanitizer is a
        failure.
        """
        environment = {key: value for key, value in os.environ.items() if not key.startswith("NCCLPROF")}
        environment["NCCLPROF_STORE"] = str(self.store)
        environment["PATH"] = os.path.dirname(PROGRAM) + os.pathsep + environment["PATH"]  # suggested commands name it
        environment.update(env or {})
        result = subprocess.run(
            [self.program, *map(os.fsencode, map(str, words))],
            input=stdin if stdin is None or isinstance(stdin, bytes) else stdin.encode(),
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True, cwd=self.folder, env=environment, timeout=timeout,
        )
        result.out = result.stdout.decode(errors="surrogateescape")
        result.err = result.stderr.decode(errors="surrogateescape")
        result.whole = re.sub(r"\n(?:    )*  (?=\S)", " ", result.out)  # without line breaks
        result.flat = " ".join(result.out.split())  # the same, as one line
        result.verdict = result.whole.partition("\n\n")[2] or result.whole  # the output of diagnose after the lines on the job and its loss
        self.assertNotIn("Sanitizer", result.err)
        if status is None:
            self.assertIn(result.returncode, (0, 1), f"{words}\n{result.err}")
            return result
        self.assertEqual(result.returncode, status, f"{words}\n{result.out}\n{result.err}")
        return result

    def run_on_terminal(self, *words, **env):
        """The text that the program writes to a terminal."""
        reader, writer = pty.openpty()
        path = os.path.dirname(PROGRAM) + os.pathsep + os.environ["PATH"]
        program = subprocess.Popen([PROGRAM, "--store", self.store, *words], stdout=writer,
                                   env={**os.environ, "PATH": path, "TERM": "xterm", "PAGER": "cat", "NCCLPROF_PAGER": "", **env})
        said = shown_on(reader, writer, program)
        self.assertEqual(program.wait(), 0)
        return said.decode().replace("\r\n", "\n")

    def program_for_others(self):
        """A copy of the program where another user may run it."""
        self.folder.chmod(0o755)
        return shutil.copy(PROGRAM, self.folder / "program")

    def simulate(self, options):
        """The files of a simulated job (tests/gen), which replace those of the previous one, and the planted faults."""
        traces = self.folder / "traces"
        shutil.rmtree(traces, ignore_errors=True)
        subprocess.run([Path(PROGRAM).parent / "simulate", *options.split(), "-o", traces], check=True, timeout=PATIENCE_S)
        truth = json.loads((traces / "truth.json").read_text())
        return sorted(path for path in traces.iterdir() if path.name != "truth.json"), truth

    def json(self, *words, **more):
        return json.loads(self.run_program(*words, "--format", "json", **more).out)

    def rows(self, sql):
        """The rows of `ncclprof query`."""
        return [tuple(row.values()) for row in self.json("query", "--timeout", PATIENCE_S, sql)["rows"]]

    def info(self):
        return self.json("info")["rows"][0]

    def ingest(self, *words, status=0, **more):
        """`ncclprof ingest`; the result has its files by base name."""
        answer = self.json("ingest", *words, status=status, **more)
        return {os.path.basename(file["path"]): file for file in answer["files"]}

    def write(self, name, content):
        path = self.folder / os.fsdecode(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def check_integrity(self):
        with sqlite3.connect(self.store) as store:
            self.assertEqual(store.execute("PRAGMA integrity_check").fetchone(), ("ok",))


def event(name, category, phase, number, pid, at_us, **args):
    line = {"name": name, "cat": category, "ph": phase, "id": number, "pid": pid, "tid": 1}
    body = json.dumps(line)[:-1] + f', "ts": {at_us:.6f}'
    if args:
        body += ', "args": ' + json.dumps(args)
    return body + "},\n"


def all_reduce(number, rank, pid, communicator, at_us, length_us=100):
    """One AllReduce of 4 MiB whose kernel ran for `length_us` on one channel, without network."""
    gpu = 1_795_218_161_823_000_000 + int(at_us * 1000)
    return (
        event("AllReduce", "COLL_API", "b", number, pid, 0, count=2097152, datatype="ncclBfloat16", root=0,
              GraphCaptured=0, Stream="0x55b766045590")
        + event("AllReduce", "COLL", "b", number, pid, at_us, SeqNum=number, CommHash=communicator, Rank=rank,
                Count=2097152, Datatype="ncclBfloat16", Algorithm="RING", Protocol="SIMPLE", nChannels=1)
        + event("KernelCh", "GPU", "b", 0, pid, at_us + 5, Channel=0, StartGpuClk=gpu,
                StopGpuClk=gpu + int(length_us * 1000))
        + event("KernelCh", "GPU", "e", 0, pid, at_us + 5 + length_us)
        + event("AllReduce", "COLL", "e", number, pid, at_us + 6 + length_us)
        + event("AllReduce", "COLL_API", "e", number, pid, at_us + 2)
    )


def kernel(number, rank, communicator, size_rank, stream, enqueued_us, begin_us, end_us):
    """An AllReduce that ran on one channel from begin_us to end_us and was enqueued before."""
    pid, gpu = 1000 + rank, 1_795_218_161_823_000_000
    common = {"count": 4096, "datatype": "ncclFloat32", "root": 0, "GraphCaptured": 0, "Stream": stream}
    return (
        event("AllReduce", "COLL_API", "b", number, pid, 0, **common)
        + event("AllReduce", "COLL", "b", number, pid, enqueued_us, SeqNum=number, CommHash=communicator, Rank=size_rank,
                Count=4096, Datatype="ncclFloat32", Algorithm="RING", Protocol="SIMPLE", nChannels=1)
        + event("KernelCh", "GPU", "b", 0, pid, begin_us, Channel=0, StartGpuClk=gpu + int(begin_us * 1000),
                StopGpuClk=gpu + int(end_us * 1000))
        + event("KernelCh", "GPU", "e", 0, pid, end_us)
        + event("AllReduce", "COLL", "e", number, pid, end_us + 1)
        + event("AllReduce", "COLL_API", "e", number, pid, enqueued_us + 1)
    )


def tag(text, rank, pid, at_us):
    """A user tag. Its text is not escaped, as NVIDIA's plugin prints it."""
    return (
        '{"name": "UserTag", "cat": "USER_TAG", "ph": "i", "s": "g", "pid": %d, "tid": 1, "ts": %.6f, '
        '"args": {"tag": "%s", "rank": %d}},\n' % (pid, at_us, text, rank)
    )


def trace(rank=0, pid=None, communicator=12481426919102447117, count=5, tags=()):
    """A complete file with `count` AllReduces, 1 ms apart, and tags (text, at_us) after them."""
    pid = 1000 + rank if pid is None else pid
    lines = [all_reduce(number, rank, pid, communicator, 1000.0 * (number + 1)) for number in range(count)]
    lines += [tag(text, rank, pid, at_us) for text, at_us in tags]
    return "[\n" + "".join(lines) + "{}]\n"


def inspector_trace(rank=0, communicator=0x85C33220EECBC6AE, count=5):
    """A file of NVIDIA's Inspector: `count` AllReduces of 16 MiB, one line each."""
    return "".join(
        f'{{"header":{{"id":"0x{communicator:x}","comm_name":"world","rank":{rank},"n_ranks":0,"nnodes":1}},"metadata":'
        '{"inspector_output_format_version":"v4.0","git_rev":"v2.30.7","rec_mechanism":"nccl_profiler_interface",'
        f'"dump_timestamp_us":{1795218000000000 + number},"hostname":"node","pid":{2000 + rank}}},"coll_perf":'
        f'{{"coll":"AllReduce","coll_sn":{number},"coll_msg_size_bytes":16777216,"coll_exec_time_us":{100 + number % 7},'
        '"coll_timing_source":"kernel_gpu","coll_algobw_gbs":3.014232,"coll_busbw_gbs":5.274906}}\n'
        for number in range(count))
