"""`record`: what its sampler writes down of the node, how it keeps out of the job's way, and what ingest makes of it."""

import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

from tests.cli.support import PATIENCE_S, PROGRAM, Case

FAKENVML = Path(PROGRAM).parent / "fakenvml"

# Jobs run until the file "stop" exists. Two processes that compute, on one core.
BUSY = """
import os
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
child = os.fork()
while not os.path.exists("stop"):
    sum(range(10000))
if child:
    os.wait()
"""
WAIT = """
import os, time
while not os.path.exists("stop"):
    time.sleep(0.02)
"""


class RecordNode(Case):
    interval_ms = 50

    def start(self, code, options=(), folder="traces", **environment):
        """Starts a job that is recorded."""
        env = {key: value for key, value in os.environ.items() if not key.startswith("NCCL")}
        if self.interval_ms:
            env["NCCLPROF_NODE_INTERVAL_MS"] = str(self.interval_ms)
        job = subprocess.Popen([PROGRAM, "record", *(["-o", folder] if folder else []), *options, "--", sys.executable, "-c", code],
                               cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**env, **environment})
        self.addCleanup(job.communicate)
        self.addCleanup(job.kill)
        return job

    def until(self, what):
        """The value of `what` when it is true."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            found = what()
            if found:
                return found
            time.sleep(0.02)
        self.fail(f"not within {PATIENCE_S} s")

    def path_of(self, job):
        """The only record, when there is one. If there is none, what is running tells why."""
        def look():
            if job.poll() is not None:
                self.fail(f"the job ended: {job.communicate()}")
            return self.files()
        try:
            path, = self.until(look)
        except self.failureException as failure:
            running = subprocess.run(["ps", "-eo", "pid,ppid,stat,wchan,etimes,args"], stdout=subprocess.PIPE, text=True)
            self.fail(f"{failure}; the job is {job.pid}\n{running.stdout}")
        return path

    def files(self, folder="traces"):
        return sorted((self.folder / folder).glob("node-*.jsonl"))

    def lines(self, path):
        """The complete lines of a record."""
        return [json.loads(line) for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")]

    def sampler_of(self, path):
        return int(path.stem.rsplit("-", 1)[1])

    def open_files(self, pid):
        """A process may close some meanwhile."""
        found = []
        for path in Path(f"/proc/{pid}/fd").iterdir():
            try:
                found.append(os.readlink(path))
            except FileNotFoundError:
                pass
        return found

    def is_running(self, pid):
        """Whether a process runs; one whose parent has not waited for it does not."""
        try:
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
        except (FileNotFoundError, ProcessLookupError):
            return False

    def finish(self, job, status=0):
        """The output of a job that ends, when its samplers have ended, too."""
        (self.folder / "stop").touch()
        out, err = job.communicate(timeout=PATIENCE_S)
        self.assertEqual((job.returncode, err), (status, b""))
        for path in self.files():
            self.until(lambda: not self.is_running(self.sampler_of(path)))
        return out

    def record(self, code, enough=lambda lines: len(lines) > 5, **more):
        """Records a job until there are enough lines; returns its only record."""
        job = self.start(code, **more)
        path = self.path_of(job)
        self.until(lambda: enough(self.lines(path)))
        self.finish(job)
        self.assertEqual(self.files(), [path])
        return self.lines(path)

    def series(self, lines):
        """{(place, device, metric): [values]}"""
        names, found = {}, {}
        for line in lines:
            for number, (place, *device, metric) in line.get("new", {}).items():
                names[number] = (place, *device, metric)
            for number, value in line.get("v", {}).items():
                found.setdefault(names[number], []).append(value)
        return found

    def test_threads_that_wait_for_a_core(self):
        """Two threads on one core: each has about half of it, and waits for about half of the time."""
        def waits(lines):
            return {key: values for key, values in self.series(lines).items()
                    if key[0] == "thread" and key[2] == "run_wait_share" and max(values) > 0.2}
        lines = self.record(BUSY, lambda lines: len(waits(lines)) == 2 and len(lines) > 30)
        head, last = lines[0], lines[-1]
        self.assertEqual(head["ncclprof_node"], 1)
        self.assertEqual(head["host"], os.uname().nodename)
        self.assertEqual(head["cores"], os.sysconf("SC_NPROCESSORS_ONLN"))
        self.assertEqual(last["end"], "job")
        self.assertGreater(head["realtime_ns"], 1.7e18)
        pids = {key[1].partition("/")[0] for key in waits(lines)}
        self.assertEqual(len(pids), 2)
        self.assertIn(str(head["job_pid"]), pids)
        self.ingest("traces")
        rows = self.rows("SELECT device, sum(value * (at_ns - begin_ns)) / sum(at_ns - begin_ns) FROM v_node_sample "
                         "WHERE place = 'thread' AND metric = 'run_wait_share' GROUP BY 1 ORDER BY 2 DESC LIMIT 2")
        self.assertEqual({row[0].partition("/")[0] for row in rows}, pids)
        self.assertTrue(all(0.1 < row[1] <= 1 for row in rows), rows)

    def test_a_process_that_is_stopped(self):
        job = self.start(BUSY)
        path = self.path_of(job)
        shares = lambda: {key[1]: values for key, values in self.series(self.lines(path)).items() if key[-1] == "stopped_share"}
        self.until(lambda: len(shares()) == 2)
        os.kill(job.pid, signal.SIGSTOP)
        self.until(lambda: shares()[str(job.pid)][-1] == 1)
        os.kill(job.pid, signal.SIGCONT)
        self.until(lambda: shares()[str(job.pid)][-1] == 0)
        self.finish(job)
        self.assertEqual(shares().pop(str(job.pid)), [0, 1, 0])
        self.assertEqual([values for pid, values in shares().items() if pid != str(job.pid)], [[0]])
        self.ingest("traces")
        rows = self.rows("SELECT DISTINCT device, value FROM v_node_sample WHERE metric = 'stopped_share' AND value > 0")
        self.assertEqual(rows, [(str(job.pid), 1)])

    def test_a_job_that_is_frozen_with_its_sampler(self):
        """As where the container of both is paused: the sampler stands still, too, and sees the job resume with it."""
        job = self.start(BUSY)
        path = self.path_of(job)
        shares = lambda: [value for key, values in self.series(self.lines(path)).items() for value in values
                          if key[1:] == (str(job.pid), "frozen_share")]
        self.until(shares)
        pids = (job.pid, self.sampler_of(path))

        def frozen():
            # It may be stopped while it does not sleep, which it does nearly always.
            for sign, seconds in ((signal.SIGSTOP, 0.6), (signal.SIGCONT, 0.6)):
                for pid in pids:
                    os.kill(pid, sign)
                time.sleep(seconds)
            return max(shares())
        self.assertTrue(0.2 < self.until(frozen) <= 1)
        self.finish(job)

    def test_ingest_counts_it_apart_from_traces(self):
        self.record(WAIT)
        file, = self.ingest("traces").values()
        self.assertEqual((file["dialect"], file["status"]), ("node", "ingested"))
        info = self.info()
        self.assertEqual((info["processes"], info["runs"]), (0, 0))
        self.assertGreater(info["node_samples"], 0)
        self.assertEqual([row for row in self.json("info", "--ledger")["rows"] if row["damage"]], [])
        head, = self.rows("SELECT host, boot_id, cores, realtime_ns > monotonic_ns FROM node_fact WHERE gpu_index IS NULL")
        self.assertEqual(head, (os.uname().nodename, Path("/proc/sys/kernel/random/boot_id").read_text().strip(),
                                os.sysconf("SC_NPROCESSORS_ONLN"), 1))

    def test_a_record_that_was_cut_anywhere_is_open(self):
        self.record(WAIT)
        path, = self.files()
        text = path.read_bytes()
        for number, length in enumerate((len(text) - 1, len(text) - 40, len(text) // 2)):
            with self.subTest(length):
                self.write(f"cut{number}/node.jsonl", text[:length])
                file, = self.ingest(f"cut{number}").values()
                self.assertEqual(file["status"], "ingested" if length == len(text) - 1 else "open")
        self.assertEqual([row for row in self.json("info", "--ledger")["rows"] if row["damage"]], [])

    def test_the_job_does_not_see_the_sampler(self):
        """It is no child of the job, holds no file of it, and its words are not those of the command."""
        code = ("import os, sys, time\n"
                "try: os.waitpid(-1, os.WNOHANG)\n"
                "except ChildProcessError: print('no child', flush=True)\n"
                "sys.stdin.read()")
        env = {**os.environ, "NCCLPROF_NODE_INTERVAL_MS": "50"}
        with subprocess.Popen([PROGRAM, "record", "-o", "traces", sys.executable, "-c", code], cwd=self.folder, env=env,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE) as job:
            path, = self.until(self.files)
            sampler = self.sampler_of(path)
            self.assertTrue(self.is_running(sampler))
            files = self.open_files(sampler)
            self.assertEqual([name for name in files if name in {os.readlink(f"/proc/{job.pid}/fd/{n}") for n in (0, 1)}], [])
            self.assertNotIn(b"waitpid", Path(f"/proc/{sampler}/cmdline").read_bytes())
            self.assertEqual(Path(f"/proc/{sampler}/comm").read_text(), "ncclprof-node\n")
            self.assertEqual(os.getpriority(os.PRIO_PROCESS, sampler), 19)
            self.assertNotEqual(os.getsid(sampler), os.getsid(job.pid))
            self.assertEqual(job.communicate(b"")[0], b"no child\n")
        self.until(lambda: not self.is_running(sampler))

    def test_it_ends_with_a_job_that_is_killed(self):
        job = self.start(WAIT)
        path, = self.until(self.files)
        self.until(lambda: self.lines(path))
        self.assertEqual(json.loads(path.open().readline())["job_pid"], job.pid)
        job.kill()
        self.finish(job, -signal.SIGKILL)
        self.assertEqual(self.lines(path)[-1]["end"], "job")

    def test_nothing_is_written_without_it_or_for_a_short_command(self):
        self.finish(self.start("import time; time.sleep(0.3)", options=["--no-node"]))
        self.interval_ms = 3600 * 1000
        self.finish(self.start(""))
        self.assertEqual(list((self.folder / "traces").iterdir()), [])

    def test_one_sampler_for_a_directory(self):
        """mpirun starts record once for each process. The first sampler that is killed is replaced."""
        jobs = [self.start(WAIT) for _ in range(3)]
        path, = self.until(self.files)
        self.until(lambda: len(self.lines(path)) > 10)
        self.assertEqual(self.files(), [path])
        os.kill(self.sampler_of(path), signal.SIGKILL)
        self.until(lambda: len(self.files()) > 1)
        other = next(found for found in self.files() if found != path)
        # It goes on while one of the jobs runs, whichever job it was started for.
        watched = self.lines(other)[0]["job_pid"]
        for job in jobs:
            if job.pid == watched:
                job.kill()
                job.wait()
        count = self.until(lambda: len(self.lines(other)))
        self.until(lambda: len(self.lines(other)) > count + 5)
        for job in jobs:
            job.kill()
            job.wait()
        self.until(lambda: self.lines(other)[-1].get("end") == "job")
        self.assertEqual(len(self.files()), 2)

    def test_processes_of_all_jobs_in_the_directory(self):
        jobs = [self.start(BUSY) for _ in range(2)]
        path, = self.until(self.files)
        seen = lambda: {key[1] for key in self.series(self.lines(path)) if key[0] == "process"}
        self.until(lambda: {str(job.pid) for job in jobs} <= seen())
        for job in jobs:
            self.finish(job)
        self.assertEqual(self.files(), [path])

    def test_the_size_is_limited(self):
        self.interval_ms = 10
        job = self.start(BUSY, options=["--max-bytes", "4k"])
        path, = self.until(self.files)
        self.until(lambda: self.lines(path)[-1:] == [{"end": "limit"}])
        self.assertTrue(self.is_running(self.sampler_of(path)))  # until the job ends, because it may be its child
        self.finish(job)
        self.assertLessEqual(path.stat().st_size, 4096)
        file, = self.ingest("traces").values()
        self.assertEqual(file["status"], "ingested")
        self.assertIn("record of the node stopped at its limit", {row["reason"] for row in self.json("info", "--ledger")["rows"]})

    def test_room_that_must_stay_free(self):
        job = self.start(WAIT, NCCLPROF_MIN_FREE_BYTES="1000000T")
        path, = self.until(self.files)
        self.until(lambda: str(path) not in self.open_files(self.sampler_of(path)))
        self.finish(job)
        # The last line has the last values, too.
        last = self.lines(path)[-1]
        self.assertEqual((last["end"], last["ms"] > 0), ("disk", True))
        self.assertIn(("node", "disk_free_bytes"), self.series(self.lines(path)))
        self.ingest("traces")
        self.assertEqual(self.rows("SELECT code FROM v_node_event WHERE code = 'disk_full'"), [("disk_full",)])

    def test_a_directory_with_patterns(self):
        """What differs between the processes of the job is no place for a record of the node."""
        (self.folder / "there").mkdir()
        for setting, folder in (("there/%r/x", "there"), ("50%%", "50%"), ("not-there/%r", None), ("%r", None)):
            with self.subTest(setting):
                job = self.start(WAIT if folder else "import time; time.sleep(0.3)", folder=None, NCCLPROF_DIR=setting)
                if folder:
                    self.until(lambda: self.files(folder))
                self.finish(job)
                (self.folder / "stop").unlink()
        self.assertEqual(self.files("."), [])
        self.assertFalse((self.folder / "not-there").exists())

    def gpus(self, *metrics, enough=None, **environment):
        """Records a job until GPU 1 has these metrics."""
        has = lambda lines: all(("gpu", "00000000:4b:00.0", metric) in self.series(lines) for metric in metrics)
        return self.record(WAIT, enough or has, LD_LIBRARY_PATH=str(FAKENVML), **environment)

    def test_gpus(self):
        lines = self.gpus("throttle_hw_thermal_share", "ecc_corrected", "nvlink_crc_errors")
        facts = [line["gpu"] for line in lines if "gpu" in line]
        self.assertEqual(facts, [{"index": number, "bus": f"00000000:{number + 3}b:00.0", "uuid": f"GPU-0000000{number}",
                                  "name": "Fake GPU"} for number in range(2)])
        found = self.series(lines)
        of = lambda number, metric: found["gpu", f"00000000:{number + 3}b:00.0", metric]
        self.assertEqual((of(0, "sm_clock_mhz"), of(1, "sm_clock_mhz")), ([1980], [1200]))
        self.assertEqual((of(0, "gpu_utilization_share"), of(0, "power_w"), of(1, "temperature_c")), ([0.97], [650], [91]))
        self.assertEqual(of(0, "throttle_hw_thermal_share"), [0])
        self.assertEqual(of(1, "throttle_hw_slowdown_share"), [1])
        self.assertEqual((of(0, "ecc_corrected"), set(of(1, "ecc_corrected"))), ([0], {3}))
        self.assertEqual((of(0, "nvlink_crc_errors"), of(0, "pcie_replays"), of(0, "pcie_width")), ([0], [0], [16]))
        self.ingest("traces")
        self.assertEqual(self.rows("SELECT gpu_index, gpu_bus_id, gpu_uuid FROM node_fact WHERE gpu_index IS NOT NULL ORDER BY 1"),
                         [(0, "00000000:3b:00.0", "GPU-00000000"), (1, "00000000:4b:00.0", "GPU-00000001")])
        share, = self.rows("SELECT sum(value * (at_ns - begin_ns)) / sum(at_ns - begin_ns) FROM v_node_sample "
                           "WHERE metric = 'throttle_hw_thermal_share' AND device = '00000000:4b:00.0'")
        self.assertTrue(0.3 < share[0] < 0.7, share)
        # Every increase counts: three for each call after the first.
        total, = self.rows("SELECT sum(value) FROM v_node_sample WHERE metric = 'ecc_corrected'")
        self.assertEqual(total[0], sum(of(1, "ecc_corrected")))

    def test_shares_of_an_interval(self):
        """Reasons of throttling are looked at several times within an interval: half of the time is half."""
        self.interval_ms = 500
        lines = self.gpus(enough=lambda lines: lines[-1].get("ms", 0) > 1800)
        shares = self.series(lines)["gpu", "00000000:4b:00.0", "throttle_hw_thermal_share"]
        self.assertTrue(all(0.4 <= share <= 0.6 for share in shares[1:]), shares)

    def use_gpus(self, *users):
        """Sets the processes that use GPUs: (number, GPU, MiB, percent of the SMs)."""
        path = self.folder / "processes.new"
        path.write_text("".join("%d %d %d %d\n" % user for user in users))
        path.rename(self.folder / "processes")

    def share_gpus(self, **more):
        """Starts a job with a process on GPU 0. Returns it, its record and another process."""
        other = subprocess.Popen(["sleep", str(PATIENCE_S)])
        self.addCleanup(other.wait)
        self.addCleanup(other.kill)
        job = self.start(WAIT, LD_LIBRARY_PATH=str(FAKENVML), FAKENVML_PROCESSES=str(self.folder / "processes"), **more)
        path, = self.until(self.files)
        self.use_gpus((job.pid, 0, 1024, 97))
        self.until(lambda: any("job_process" in line for line in self.lines(path)))
        return job, path, other

    def of_gpu(self, path, metric, number=0):
        return self.series(self.lines(path)).get(("gpu", f"00000000:{number + 3}b:00.0", metric), [])

    def test_a_driver_that_tells_the_latest_use(self):
        """Not the average: the parts of a GPU are no more than the whole."""
        job, path, other = self.share_gpus(FAKENVML_LATEST="1")
        self.use_gpus((job.pid, 0, 1024, 90), (other.pid, 0, 2048, 90))
        self.until(lambda: self.of_gpu(path, "other_gpu_share")[-1] > 0)
        self.finish(job)
        self.assertTrue(0.45 <= self.of_gpu(path, "other_gpu_share")[1] <= 0.9)

    def test_other_processes_on_a_gpu(self):
        """They take turns with the job: of the time in which the GPU was 90 % busy they had half."""
        job, path, other = self.share_gpus()
        self.use_gpus((job.pid, 0, 1024, 90), (other.pid, 0, 2048, 90), (999999999, 0, 1, 0))
        self.until(lambda: self.of_gpu(path, "other_gpu_share")[-1] > 0)
        time.sleep(1.5)
        self.use_gpus((job.pid, 0, 1024, 97))
        self.until(lambda: self.of_gpu(path, "other_gpu_share")[-1] == 0)
        self.until(lambda: self.of_gpu(path, "other_gpu_memory_bytes")[-1] == 0)
        self.finish(job)
        shares = self.of_gpu(path, "other_gpu_share")
        self.assertEqual((shares[0], shares[-1]), (0, 0))
        self.assertTrue(all(0.3 <= share <= 0.6 for share in shares[1:-1]), shares)
        self.assertEqual(self.of_gpu(path, "other_gpu_memory_bytes"), [0, 2.15e9, 0])
        lines = self.lines(path)
        self.assertEqual([line["other_process"] for line in lines if "other_process" in line],
                         [{"device": "00000000:3b:00.0", "pid": other.pid, "name": "sleep"}])
        self.assertEqual([line["job_process"]["pid"] for line in lines if "job_process" in line], [job.pid])
        self.ingest("traces")
        self.assertEqual(self.rows("SELECT code, place, device, pid FROM v_node_event ORDER BY 1"),
                         [("job_process", "gpu", "00000000:3b:00.0", job.pid), ("other_process", "gpu", "00000000:3b:00.0", other.pid)])

    def test_a_process_that_is_there_and_begins_to_compute(self):
        job, path, other = self.share_gpus()
        idle = (other.pid, 0, 2048, 0)
        self.use_gpus((job.pid, 0, 1024, 97), idle)
        self.until(lambda: self.of_gpu(path, "other_gpu_memory_bytes")[-1] > 0)
        time.sleep(2)
        self.assertEqual(self.of_gpu(path, "other_gpu_share"), [0])
        self.use_gpus((job.pid, 0, 1024, 97), (*idle[:3], 80))
        self.until(lambda: self.of_gpu(path, "other_gpu_share")[-1] > 0)
        self.finish(job)

    def test_who_uses_a_gpu_that_the_job_does_not_use_is_not_asked(self):
        """The call is dear; others may use what they have."""
        job, path, other = self.share_gpus(FAKENVML_CALLS=str(self.folder / "calls"))
        self.use_gpus((job.pid, 0, 1024, 97), (other.pid, 1, 2048, 90))
        self.until(lambda: self.of_gpu(path, "other_gpu_memory_bytes", 1)[-1] > 0)
        time.sleep(1.5)
        self.finish(job)
        self.assertEqual(self.of_gpu(path, "other_gpu_share", 1), [0])
        self.assertEqual(self.calls()["shares"], 0)

    def test_a_driver_that_does_not_tell_shares(self):
        """Unknown is not zero."""
        job, path, other = self.share_gpus(FAKENVML_NO_SHARES="1")
        self.use_gpus((job.pid, 0, 1024, 90), (other.pid, 0, 2048, 90))
        self.until(lambda: any("gone" in line for line in self.lines(path)))
        self.finish(job)
        self.assertEqual(self.of_gpu(path, "other_gpu_share"), [0])
        self.ingest("traces")
        until, = self.rows("SELECT max(at_ns) FROM v_node_sample WHERE metric = 'other_gpu_share' AND device = '00000000:3b:00.0'")
        seen, = self.rows("SELECT at_ns FROM v_node_event WHERE code = 'other_process'")
        self.assertLess(abs(until[0] - seen[0]), 1e9)

    def test_memory_of_processes_that_cannot_be_seen(self):
        """In a container the list may have only the job's own. What the driver needs is there all along."""
        job, path, _ = self.share_gpus(FAKENVML_HIDDEN=str(self.folder / "hidden"))
        self.until(lambda: self.of_gpu(path, "other_gpu_memory_bytes"))
        (self.folder / "hidden").write_text("3000")
        self.until(lambda: self.of_gpu(path, "other_gpu_memory_bytes")[-1] > 0)
        self.use_gpus((job.pid, 0, 9000, 97))
        time.sleep(0.5)
        self.finish(job)
        self.assertEqual(self.of_gpu(path, "other_gpu_memory_bytes"), [0, 3.15e9])
        # How much such a process computes is not known.
        self.assertEqual(self.of_gpu(path, "other_gpu_share"), [0])
        self.assertTrue(any("gone" in line for line in self.lines(path)))

    def calls(self):
        """The calls of NVML by kind (fakenvml.c)."""
        counts = struct.unpack("5Q", (self.folder / "calls").read_bytes())
        return dict(zip(("at_hand", "lists", "pcie", "fields", "shares"), counts))

    def test_dear_calls_wait_for_their_budget(self):
        """What they cost is a share of the time, beyond what is kept for a start; cheap calls go on."""
        calls = {"FAKENVML_CALLS": str(self.folder / "calls"), "FAKENVML_COSTS": "20"}
        self.interval_ms = None
        job, path, other = self.share_gpus(**calls)
        self.use_gpus((job.pid, 0, 1024, 90), (other.pid, 0, 2048, 90))
        self.until(lambda: self.lines(path)[-1].get("ms", 0) > 8000)
        self.finish(job)
        counts, seconds = self.calls(), self.lines(path)[-1]["ms"] / 1000
        # Milliseconds: each call 54 of 40 at first and 1.6 a second.
        self.assertLessEqual((counts["shares"] - 1) * 54, 40 + 1.6 * (seconds + 1))
        self.assertGreaterEqual(counts["shares"], 1)
        # The links of a GPU are asked together, so the last call may take more than there is.
        at_once = max(2 * 2.5, 70 * 3.4)
        self.assertLessEqual(counts["pcie"] * 2.5 + counts["fields"] * 3.4, 10 + 0.6 * (seconds + 1) + at_once)
        self.assertGreater(counts["at_hand"], 100 * counts["shares"])

    def test_a_driver_that_does_not_answer(self):
        """The other samples go on."""
        lines = self.gpus(enough=lambda lines: any("no_answer" in line for line in lines[:-5]), FAKENVML_HANG="4")
        silent, = [line for line in lines if "no_answer" in line]
        self.assertEqual((silent["no_answer"]["from"], silent["no_answer"]["device"]), ("nvml", "00000000:4b:00.0"))
        self.assertGreater(lines[-1]["ms"], silent["ms"])
        self.ingest("traces")
        self.assertEqual(self.rows("SELECT place, device, code FROM v_node_event"), [("gpu", "00000000:4b:00.0", "gpu_no_answer")])

    def worker_of(self, path):
        """The process of a sampler that asks GPUs: the only one that it has."""
        children = [int(folder.name) for folder in Path("/proc").glob("[0-9]*") if self.parent_of(folder) == self.sampler_of(path)]
        self.assertEqual(len(children), 1)
        return children[0]

    def parent_of(self, folder):
        try:
            return int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except (FileNotFoundError, ProcessLookupError):
            return 0

    def test_a_process_for_gpus_that_stops(self):
        """What it said holds until its last round."""
        for sign in (signal.SIGSTOP, signal.SIGKILL):
            shutil.rmtree(self.folder / "traces", ignore_errors=True)
            self.store.unlink(missing_ok=True)
            (self.folder / "stop").unlink(missing_ok=True)
            job = self.start(WAIT, LD_LIBRARY_PATH=str(FAKENVML))
            path = self.path_of(job)
            rounds = lambda: [line for line in self.lines(path) if line.get("from") == "nvml"]
            self.until(lambda: rounds() and len(self.lines(path)) > 20)
            self.assertEqual([line["interval_ms"] for line in rounds() if "interval_ms" in line], [self.interval_ms])
            os.kill(self.worker_of(path), sign)
            time.sleep(0.2)
            last_ms = max(line["ms"] for line in self.lines(path) if "from" in line or any(name[0] == "g" for name in line.get("v", ())))
            self.until(lambda: self.lines(path)[-1]["ms"] > last_ms + 800)
            self.finish(job)
            self.assertEqual(any("crashed" in line for line in self.lines(path)), sign == signal.SIGKILL)
            head = self.lines(path)[0]["realtime_ns"]
            self.ingest("traces")
            ends = dict(self.rows("SELECT place, max(at_ns) FROM v_node_sample WHERE metric IN ('sm_clock_mhz', 'runnable_tasks') "
                                  "GROUP BY place"))
            self.assertLess(abs(ends["gpu"] - head - last_ms * 1e6), 2e6)
            self.assertGreater(ends["node"] - ends["gpu"], 0.7e9)

    def test_a_gpu_that_is_lost(self):
        lines = self.gpus(enough=lambda lines: any("gpu_lost" in line for line in lines), FAKENVML_LOST="7")
        self.assertEqual([line["gpu_lost"] for line in lines if "gpu_lost" in line],
                         [{"device": "00000000:4b:00.0", "nvml_error": 15}])
        self.ingest("traces")
        self.assertEqual(self.rows("SELECT device, code FROM v_node_event"), [("00000000:4b:00.0", "gpu_fell_off_bus")])

    def test_what_cannot_be_sampled_is_said(self):
        lines = self.gpus(enough=lambda lines: any("absent" in line for line in lines[1:]), FAKENVML_NONE="1")
        self.assertIn({"nvml": "NVML returned error 9"}, [line["absent"] for line in lines if "absent" in line])
        self.ingest("traces")
        notes = {row["example"] for row in self.json("info", "--ledger")["rows"] if row["reason"] == "not sampled"}
        self.assertIn("nvml: NVML returned error 9", notes)

    def test_check_says_what_can_be_sampled(self):
        said = self.run_program("record", "--check", "-o", "t", env={"LD_LIBRARY_PATH": str(FAKENVML)}).out
        node = [line.split(None, 1)[1] for line in said.splitlines() if line.startswith("node ")]
        self.assertIn("/proc/stat: readable", node)
        self.assertIn("GPUs (NVML): 2, driver 570.00", node)
        said = self.run_program("record", "--check", "-o", "t", env={"LD_LIBRARY_PATH": str(FAKENVML), "FAKENVML_NONE": "1"}).out
        self.assertIn("GPUs (NVML): left out: NVML returned error 9", said)
        self.assertEqual(self.files("t"), [])
