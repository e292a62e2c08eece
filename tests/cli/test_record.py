"""`record`: the environment of the command, what stops it, and a job of the fake NCCL core from end to end."""

import collections
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import time
from pathlib import Path

from tests.cli.support import PATIENCE_S, PROGRAM, Case

BUILT = Path(PROGRAM).parent
PLUGIN = BUILT / "libnccl-profiler-ncclprof.so"
FAKECORE = BUILT / "fakecore"
OURS = ("NCCL", "NVTX", "RANK", "SLURM", "OMPI")

# What launchers do on one machine, as far as it matters here: they start one process per rank, with variables that tell
# the process its rank, and with the environment of the launcher or (srun --export=NONE, mpirun on other machines) with
# almost none.
LAUNCHER = """#!/bin/sh
launcher=${0##*/}
keep=all
if [ "$1" = --export=NONE ]; then keep=none; shift; fi
[ "$1" = -n ] || exit 64
ranks=$2
shift 2
case $launcher in
mpirun) number=OMPI_COMM_WORLD_RANK count=OMPI_COMM_WORLD_SIZE ;;
srun) number=SLURM_PROCID count=SLURM_NTASKS ;;
mpiexec) number=PMI_RANK count=PMI_SIZE ;;
esac
rank=0
processes=
while [ $rank -lt $ranks ]; do
    if [ $keep = all ]; then
        env $number=$rank $count=$ranks "$@" &
    else
        env -i PATH="$PATH" $number=$rank $count=$ranks "$@" &
    fi
    processes="$processes $!"
    rank=$((rank + 1))
done
status=0
for process in $processes; do wait $process || status=$?; done
exit $status
"""


class Record(Case):
    def setUp(self):
        super().setUp()
        for name in list(os.environ):
            if name.startswith(OURS) and name != "NCCLPROF":
                value = os.environ.pop(name)
                self.addCleanup(os.environ.__setitem__, name, value)

    def environment(self, *options, env=None):
        """The environment of a command that record starts."""
        out = self.run_program("record", *options, "--", "env", "-0", env=env).out
        return dict(line.split("=", 1) for line in out.split("\0") if line.startswith(OURS))

    def refused(self, *options, env=None, status=1):
        """Runs no command; returns standard error."""
        result = self.run_program("record", *options, "--", "touch", "ran", env=env, status=status)
        self.assertFalse((self.folder / "ran").exists())
        self.assertEqual(result.out, "")
        return result.err

    def test_environment(self):
        found = self.environment()
        self.assertEqual(found["NCCL_PROFILER_PLUGIN"], str(PLUGIN))
        self.assertEqual(found["NVTX_INJECTION64_PATH"], str(PLUGIN))
        self.assertEqual(found["NCCLPROF_DIR"], str(self.folder / "ncclprof-traces"))
        self.assertEqual(found["NCCL_SET_THREAD_NAME"], "1")
        for name in ("NCCLPROF_FORMAT", "NCCLPROF_GZIP", "NCCLPROF_TAG_PREFIX", "NCCLPROF_TAG_DOMAIN", "NCCLPROF_MAX_BYTES"):
            self.assertNotIn(name, found)

    def test_options_become_variables(self):
        found = self.environment("-o", "a/b", "--format", "both", "--gzip", "--tags", "nvtx:phase/",
                                 "--domains", "app,default", "--max-bytes", "5G")
        self.assertEqual(found["NCCLPROF_DIR"], str(self.folder / "a/b"))
        self.assertEqual(stat.S_IMODE((self.folder / "a/b").stat().st_mode), 0o700)
        self.assertEqual(found["NCCLPROF_FORMAT"], "both")
        self.assertEqual(found["NCCLPROF_GZIP"], "1")
        self.assertEqual(found["NCCLPROF_MAX_BYTES"], "5G")
        self.assertEqual(found["NCCLPROF_TAG_PREFIX"], "phase/")
        self.assertEqual(found["NCCLPROF_TAG_DOMAIN"], "app,default")

    def test_what_the_user_set_stays(self):
        set_before = {"NCCLPROF_DIR": "their/%r", "NCCLPROF_FORMAT": "inspector", "NCCLPROF_TAG_PREFIX": "x",
                      "NCCL_PROFILE_EVENT_MASK": "2", "NCCL_SET_THREAD_NAME": "0", "NVTX_INJECTION64_PATH": "/opt/other.so"}
        found = self.environment(env=set_before)
        self.assertEqual({name: found[name] for name in set_before}, set_before)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_bytes_that_make_no_sense(self):
        for bytes in ("", "much", "-1", "5GB", "1.5G", "99999999999999999999", "16777216T", "18014398509481984k"):
            with self.subTest(bytes):
                self.assertIn("invalid --max-bytes", self.refused("--max-bytes", bytes, status=2))

    def test_calls_alone(self):
        self.assertNotIn("NVTX_INJECTION64_PATH", self.environment("--tags", "call"))
        ours, other = ({"NVTX_INJECTION64_PATH": path} for path in (str(PLUGIN), "/opt/other.so"))
        self.assertNotIn("NVTX_INJECTION64_PATH", self.environment("--tags", "call", env=ours))
        self.assertEqual(self.environment("--tags", "call", env=other)["NVTX_INJECTION64_PATH"], "/opt/other.so")

    def test_another_plugin_is_refused(self):
        theirs = {"NCCL_PROFILER_PLUGIN": "/opt/libnccl-profiler-inspector.so"}
        err = self.refused(env=theirs)
        self.assertIn("/opt/libnccl-profiler-inspector.so", err)
        self.assertIn("--force", err)
        self.assertEqual(self.environment("--force", env=theirs)["NCCL_PROFILER_PLUGIN"], str(PLUGIN))
        (self.folder / "link.so").symlink_to(PLUGIN)
        for ours in ("", "ncclprof", PLUGIN.name, str(PLUGIN), str(self.folder / "link.so")):
            with self.subTest(set_to=ours):
                found = self.environment(env={"NCCL_PROFILER_PLUGIN": ours})
                self.assertEqual(found["NCCL_PROFILER_PLUGIN"], str(PLUGIN))

    def test_nvtx_asked_for_by_name_needs_its_place(self):
        theirs = {"NVTX_INJECTION64_PATH": "/opt/other.so"}
        self.assertIn("/opt/other.so", self.refused("--tags", "nvtx", env=theirs))
        found = self.environment("--tags", "nvtx", "-f", env=theirs)
        self.assertEqual(found["NVTX_INJECTION64_PATH"], str(PLUGIN))

    def test_record_in_record(self):
        result = self.run_program("record", "-o", "out", "--", PROGRAM, "record", "--", "printenv", "NCCLPROF_DIR")
        self.assertEqual(result.out, f"{self.folder}/out\n")

    def test_a_percent_sign_is_no_pattern(self):
        self.assertEqual(self.environment("-o", "50%p")["NCCLPROF_DIR"], f"{self.folder}/50%%p")
        self.assertTrue((self.folder / "50%p").is_dir())

    def test_exit_status_is_the_commands(self):
        self.run_program("record", "--", "sh", "-c", "exit 42", status=42)
        self.run_program("record", "sh", "-c", "exit 3", status=3)
        self.run_program("record", "--", "sh", "-c", "kill -9 $$", status=-9)

    def test_words_reach_the_command_as_they_are(self):
        words = ["-o", "--", "--help", "", "a b", "--tags"]
        for before in ([], ["--"]):
            result = self.run_program("record", *before, "printf", "%s|", *words)
            self.assertEqual(result.out, "|".join(words) + "|")

    def test_a_command_that_cannot_run(self):
        (self.folder / "plain").write_text("no program")
        for command, status in (("./missing", 127), ("no-such-command-anywhere", 127), ("./plain", 126), ("/", 126)):
            with self.subTest(command=command):
                err = self.run_program("record", "--", command, status=status).err
                self.assertIn(f"cannot run '{command}'", err)
                self.assertEqual(err.count("\n"), 1)

    def test_wrong_usage(self):
        for options in (["--tags", "nonsense"], ["--tags", "nvtx:"], ["--format", "json"], ["-o", ""], ["--nonsense"]):
            with self.subTest(options=options):
                self.refused(*options, status=2)
        self.run_program("record", status=2)
        self.run_program("record", "-o", "out", "--", status=2)

    def test_directories_that_cannot_be(self):
        (self.folder / "file").write_text("")
        for path in ("file", "file/below"):
            with self.subTest(path=path):
                self.assertIn("cannot create directory", self.refused("-o", path))

    def test_plugin_elsewhere(self):
        self.assertIn("cannot read the plugin", self.refused("--plugin", "missing.so"))
        self.assertIn("is not a regular file", self.refused("--plugin", "."))
        shutil.copy(PLUGIN, self.folder / "mine.so")
        self.assertEqual(self.environment("--plugin", "mine.so")["NCCL_PROFILER_PLUGIN"], f"{self.folder}/mine.so")

    def test_installed_program_finds_the_installed_plugin(self):
        for folder in ("bin", "lib"):
            (self.folder / folder).mkdir()
        program = shutil.copy(PROGRAM, self.folder / "bin")
        command = [program, "record", "--", "printenv", "NCCL_PROFILER_PLUGIN"]
        missing = subprocess.run(command, capture_output=True, text=True, cwd=self.folder)
        self.assertEqual(missing.returncode, 1)
        self.assertIn("--plugin", missing.stderr)
        installed = shutil.copy(PLUGIN, self.folder / "lib")
        found = subprocess.run(command, capture_output=True, text=True, cwd=self.folder, check=True)
        self.assertTrue(os.path.samefile(found.stdout.rstrip("\n"), installed))

    def test_completion_knows_formats(self):
        script = self.run_program("completion", "bash").out + (
            'COMP_WORDS=(ncclprof record --format in); COMP_CWORD=3; _ncclprof; echo "${COMPREPLY[*]}"\n')
        answer = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
        self.assertEqual((answer.stdout, answer.stderr), ("inspector\n", ""))

    def play(self, *options, job=(), killed=0):
        """Records a job of the fake core; returns the sum of what those of its processes played that ended well."""
        start = 'exec "$0" --plugin "$NCCL_PROFILER_PLUGIN" --ranks 8 --steps 3 --tags call "$@"'
        result = self.run_program("record", "-o", "traces", *options, "--", "sh", "-c", start, FAKECORE, *job,
                                  status=1 if killed else 0)
        played = [json.loads(line) for line in result.out.splitlines()]
        self.assertEqual(len(played), 8 - killed)
        return {figure: sum(process[figure] for process in played) for figure in played[0]}

    def launch(self, *words, **environment):
        """Runs a command in which a launcher starts the fake core; returns the sum of what its four ranks played."""
        for name in ("mpirun", "srun", "mpiexec"):
            (self.folder / name).write_text(LAUNCHER)
            (self.folder / name).chmod(0o755)
        core = [FAKECORE, "--rank", "launched", "--ranks", "4", "--steps", "2", "--tags", "call"]
        environment["PATH"] = f"{self.folder}:{os.environ['PATH']}"
        environment["NCCLPROF_FILE"] = "rank%r"
        command = [str(word) for word in [PROGRAM, *words, *core]]
        if words[0] != "record":
            command = command[1:]
        done = subprocess.run(command, capture_output=True, text=True, cwd=self.folder, timeout=PATIENCE_S,
                              env={**os.environ, **environment})
        self.assertEqual(done.returncode, 0, done.stderr)
        played = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(len({process["pid"] for process in played}), 4)
        return {figure: sum(process[figure] for process in played) for figure in played[0]}

    def test_under_launchers(self):
        for launcher in ("mpirun", "srun", "mpiexec"):
            for words in (["record", "-o", "traces", "--", launcher, "-n", 4],
                          [launcher, "-n", 4, PROGRAM, "record", "-o", "traces", "--"]):
                with self.subTest(words=words):
                    played = self.launch(*words)
                    self.check_ingest(".json", [f"rank{rank}.json" for rank in range(4)])
                    self.check_everything(played, 4)
                    shutil.rmtree(self.folder / "traces")
                    self.store.unlink()

    def test_under_a_launcher_that_passes_nothing_on(self):
        """Each process then records itself, and the file has the default name."""
        played = self.launch("srun", "--export=NONE", "-n", 4, PROGRAM, "record", "-o", "traces", "--")
        files = [path.name for path in (self.folder / "traces").iterdir() if path.suffix != ".jsonl"]
        self.assertEqual(len([name for name in files if name.startswith("ncclprof-")]), 4)
        self.check_ingest(".json", files)
        self.check_everything(played, 4)

    def traces(self, files):
        """The files of an ingest without the record of the node, which a job has that runs for a second."""
        return {name: file for name, file in files.items() if file["dialect"] != "node"}

    def check_ingest(self, suffix, names=None):
        files = self.traces(self.ingest("traces"))
        if names:
            self.assertEqual(sorted(files), sorted(names))
        else:
            self.assertEqual(len(files), 8)
        self.assertEqual({file["status"] for file in files.values()}, {"ingested"})
        self.assertTrue(all(name.endswith(suffix) for name in files), files)
        self.assertEqual([row for row in self.json("info", "--ledger")["rows"] if row["damage"]], [])

    def check_everything(self, played, processes=8):
        info = self.info()
        for ours, theirs in (("collectives", "coll"), ("p2p", "p2p"), ("tags", "tags"),
                             ("proxy_ops", "proxy_ops"), ("proxy_steps", "steps")):
            if processes == 8 or ours != "p2p":
                self.assertGreater(info[ours], 0, ours)
            self.assertEqual(info[ours], played[theirs], ours)
        self.assertEqual(info["processes"], processes)
        self.assertEqual(self.rows("SELECT count(*) AS n FROM v_operation WHERE tag IS NULL"), [(0,)])

    def test_check_tells_what_a_job_would_meet(self):
        said = lambda version: b"\0some code\0NCCL version %s+cuda12.4\0more\0NCCL version %%d\0" % version
        self.write("lib/libnccl.so.2", said(b"2.28.9"))
        self.write("old/libnccl.so.2", said(b"2.21.5"))
        self.write("none/libnccl.so.2", b"no NCCL")
        result = self.run_program("record", "--check", "-o", "t", env={"LD_LIBRARY_PATH": f"{self.folder}/lib:", "HOME": "/none"})
        plugin, nccl, traces, *node = result.out.splitlines()
        self.assertTrue(node and all(line.startswith("node ") for line in node), node)
        self.assertIn("ok, profiler interface v1 to v7", plugin)
        self.assertIn(f"{self.folder}/lib/libnccl.so.2: version 2.28.9, supports profiler plugins", nccl)
        self.assertIn(f"{self.folder}/t: writable", traces)
        result = self.run_program("record", "--check", status=1, env={"LD_LIBRARY_PATH": f"{self.folder}/old"})
        self.assertIn("version 2.21.5, does not support profiler plugins; NCCL 2.23 is the first version that does", result.out)
        self.assertIn("NCCL would record nothing on this machine", result.err)
        for library, wrong in (("lib/libnccl.so.2", "cannot be loaded"), ("/lib/x86_64-linux-gnu/libz.so.1", "is not a profiler plugin")):
            with self.subTest(library=library):
                self.assertIn(wrong, self.run_program("record", "--check", "--plugin", library, status=1,
                                                      env={"LD_LIBRARY_PATH": f"{self.folder}/lib"}).out)
        self.assertNotIn("none/", self.run_program("record", "--check", status=None,
                                                   env={"LD_LIBRARY_PATH": f"{self.folder}/none"}).out)

    def test_a_job_from_end_to_end(self):
        played = self.play()
        self.check_ingest(".json")
        self.check_everything(played)

    def test_a_compressed_job_from_end_to_end(self):
        played = self.play("--gzip")
        self.check_ingest(".json.gz")
        self.check_everything(played)

    def test_a_job_whose_processes_run_no_destructor(self):
        """As with Python's multiprocessing: a process that ended its communicators left a complete file and was not killed."""
        for packed in ([], ["--gzip"]):
            with self.subTest(packed=packed):
                played = self.play(*packed, job=["--quick-exit"])
                self.check_ingest(".json.gz" if packed else ".json")
                self.check_everything(played)
                kinds = {finding["kind"] for finding in self.json("diagnose")["findings"]}
                self.assertEqual(kinds & {"ended_early", "missing"}, set())
                shutil.rmtree(self.folder / "traces")
                self.store.unlink()

    def test_the_process_of_a_job_that_was_killed_is_told_from_those_that_ended(self):
        for packed in ([], ["--gzip"]):
            with self.subTest(packed=packed):
                self.play(*packed, job=["--quick-exit", "--kill", "2:1", "--rounds", "2"], killed=1)
                files = self.ingest("traces")
                self.assertEqual(collections.Counter(file["status"] for file in self.traces(files).values()),
                                 {"ingested": 7, "open": 1})
                cut, = (name for name, file in self.traces(files).items() if file["status"] == "open")
                self.assertEqual(self.rows("SELECT reason, damage, path GLOB '*/%s' AS is_it FROM ledger "
                                           "JOIN file USING (file_id) WHERE (reason = 'trace is open' OR damage) "
                                           "AND dialect != 'node'" % cut),
                                 [("trace is open", 0, 1)])
                self.assertEqual(self.rows("SELECT DISTINCT rank FROM v_operation JOIN file USING (file_id) "
                                           "WHERE path GLOB '*/%s'" % cut), [(2,)])
                shutil.rmtree(self.folder / "traces")
                self.store.unlink()

    def all_are_stuck(self):
        """Whether the traces show this for all ranks except 5: six in the last operation of step 4, one in the ReduceScatter
        before it.
        """
        pending = '"PendingOperation".*"name": "(%s)".*"SeqNum": 4, .*"Count": (?:16384|4194304), %s'
        texts = [path.read_text() for path in (self.folder / "traces").glob("*.json")]
        running = [set(re.findall(pending % ("AllReduce|ReduceScatter", '.*"KernelsStarted": 2'), text)) for text in texts]
        behind = [set(re.findall(pending % ("AllReduce|AllGather", ""), text)) for text in texts]
        return (sum("AllReduce" in names for names in running) == 6
                and (({"ReduceScatter"}, {"AllReduce", "AllGather"}) in zip(running, behind)))

    def kill_a_stuck_job(self):
        """Rank 5 of 8 goes into an endless loop in step 4; all other ranks wait for it when they are killed."""
        job = [PROGRAM, "record", "-o", "traces", "--", FAKECORE, "--ranks", "8", "--steps", "8", "--op-us", "1000",
               "--tags", "call", "--stuck", "5:4"]
        process = subprocess.Popen(job, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   start_new_session=True)
        try:
            waited = time.monotonic() + PATIENCE_S
            while not self.all_are_stuck() and time.monotonic() < waited:
                time.sleep(0.1)
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def test_a_stuck_job_that_is_killed_names_who_held_it_up(self):
        """Operations that were pending for a second are in the traces, even if the job leaves nothing else."""
        self.kill_a_stuck_job()
        self.ingest("traces")
        # The times of the fake ranks depend on the machine, so only a rank that blocks the others forever can be identified.
        self.assertEqual([(f["rank"], f["first_step"]) for f in self.json("diagnose")["findings"]
                          if f["kind"] == "missing" and f["confidence"] == "high"], [(5, 4)])
        # For each of the others the AllReduce of all ranks; for the partner of rank 5 also the ReduceScatter and what
        # follows.
        self.assertEqual(dict(self.rows("SELECT rank, sum(unfinished) FROM v_operation GROUP BY rank")),
                         {0: 1, 1: 1, 2: 1, 3: 1, 4: 1, 5: 0, 6: 1, 7: 3})

    def pending_of_partner(self):
        """As the trace of rank 5 would show the ReduceScatter in which rank 7 waits, if its host had called it."""
        texts = [path.read_text() for path in (self.folder / "traces").glob("*.json")]
        line, = {line for text in texts if '"name": "rank 7 on ' in text
                 for line in re.findall('.*"PendingOperation".*"name": "ReduceScatter".*\n', text)[:1]}
        other = re.sub('"KernelsStarted": .*?, "ProxyOps"', '"KernelsStarted": 0, "KernelsStopped": 0, "ProxyOps"', line)
        return re.sub('"Rank": (.)', lambda found: f'"Rank": {1 - int(found.group(1))}', other)

    def stop_recording(self, rank, into, pending=""):
        """A copy of the traces in which the recording of one rank stopped half-way, at a limit."""
        for path in (self.folder / "traces").glob("*.json"):
            lines = path.read_text().splitlines(keepends=True)
            if f'"name": "rank {rank} on ' in "".join(lines[:4]):
                between, depth = [], 0
                for number, line in enumerate(lines[1:], 1):
                    depth += ('"ph": "b"' in line) - ('"ph": "e"' in line)
                    if depth == 0:
                        between.append(number + 1)
                end = between[len(between) // 2]
                pid = re.search(r'"pid": (\d+)', lines[1]).group(1)
                lines[end:] = [re.sub('"pid": [0-9]+', f'"pid": {pid}', pending), f'{{"name": "Stopped", "cat": "NCCLPROF", "ph": "M", "pid": {pid}, "tid": 1, "ts": 900.0, "args": '
                               '{"reason": "limit", "bytes": 70000, "written_bytes": 66000, "realtime_ns": 1795236511000000000}},\n']
            self.write(f"{into}/{path.name}", "".join(lines))

    def test_a_rank_whose_recording_stopped_is_not_blamed_for_what_is_not_recorded(self):
        """The rank that hangs the job is named if it was recorded; else the note says that nothing of it is recorded."""
        self.kill_a_stuck_job()
        for number, (rank, pending, blamed) in enumerate(((2, "", [5]), (5, "", []), (5, self.pending_of_partner(), []))):
            with self.subTest(number):
                self.stop_recording(rank, f"stopped{number}", pending)
                report = self.json("diagnose", f"stopped{number}")
                self.assertEqual([f["rank"] for f in report["findings"] if f["kind"] in ("missing", "ended_early")], blamed)
                self.assertIn(f"recording stopped on 1 of 8 ranks, first on rank {rank} at 2026-11-21 04:48:31 UTC: "
                              "limit of 70000 bytes reached", " ".join(report["warnings"]))

    def test_a_limit_is_told(self):
        for inspector in ([], ["--format", "inspector"]):
            with self.subTest(inspector):
                self.play("--max-bytes", "64k", *inspector, job=["--steps", "40"])
                self.assertEqual({file["status"] for file in self.traces(self.ingest("traces")).values()}, {"ingested"})
                stopped, = [row for row in self.json("info", "--ledger")["rows"] if row["reason"] == "recording stopped"]
                self.assertEqual((stopped["files"], stopped["damage"]), (8, 0))
                self.assertRegex(stopped["example"], r"^20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC: limit of 65536 bytes reached$")
                report = self.json("diagnose")
                self.assertEqual([f["kind"] for f in report["findings"] if f["kind"] in ("missing", "ended_early")], [])
                for warnings in (report["warnings"], self.json("steps")["warnings"], self.json("stragglers")["warnings"]):
                    self.assertIn("recording stopped on 8 of 8 ranks", " ".join(warnings))
                shutil.rmtree(self.folder / "traces")
                self.store.unlink()

    def test_two_runs_whose_process_ids_are_the_same(self):
        """As in a container that is restarted: only the start time distinguishes the processes."""
        folders = []
        for run in (1, 2):
            self.play()
            folders.append((self.folder / "traces").rename(self.folder / f"traces{run}"))
        ids = [sorted(re.search(r'"pid": (\d+)', path.read_text()).group(1) for path in folder.glob("*.json"))
               for folder in folders]
        again = dict(zip(ids[1], ids[0]))
        for path in folders[1].glob("*.json"):
            text = re.sub(r'"pid": (\d+)', lambda found: f'"pid": {again[found.group(1)]}', path.read_text())
            text = re.sub(r'"CommHash": (\d+)', lambda found: f'"CommHash": {int(found.group(1)) ^ 1}', text)
            (folders[0] / f"again-{path.name}").write_text(text)
        self.assertEqual(len(self.traces(self.ingest("traces1"))), 16)
        self.assertEqual((self.info()["processes"], self.info()["runs"]), (16, 2))
        self.assertEqual(self.rows("SELECT run_id, count(DISTINCT rank) AS ranks FROM v_operation GROUP BY 1"),
                         [(1, 8), (2, 8)])

    def test_both_formats_count_once(self):
        for packed in ([], ["--gzip"]):
            with self.subTest(packed=packed):
                played = self.play("--format", "both", "--no-node", *packed)
                self.assertEqual(len(list((self.folder / "traces").iterdir())), 16)
                result = self.run_program("ingest", "traces")
                self.assertIn("8 files skipped", result.err)
                self.check_everything(played)
                shutil.rmtree(self.folder / "traces")
                self.store.unlink()

    def test_inspector_lines_named_without_their_trace_are_read(self):
        """Until the trace is ingested: then they add no new information, whichever is given."""
        for packed in ([], ["--gzip"]):
            with self.subTest(packed=packed):
                played = self.play("--format", "both", "--no-node", *packed)
                lines = sorted((self.folder / "traces").glob("*.jsonl*"))
                self.assertEqual({file["status"] for file in self.ingest(*lines).values()}, {"ingested"})
                self.assertEqual(self.info()["collectives"], played["coll"])
                self.assertEqual(len(self.ingest("traces")), 8)
                self.check_everything(played)
                self.assertEqual(self.info()["files"], 8)
                self.assertIn("8 files skipped", self.run_program("ingest", *lines).err)
                self.check_everything(played)
                shutil.rmtree(self.folder / "traces")
                self.store.unlink()

    def test_inspector_lines_alone_are_read(self):
        played = self.play("--format", "both", "--no-node")
        for path in (self.folder / "traces").glob("*.json"):
            path.unlink()
        self.check_ingest(".jsonl")
        self.assertEqual(self.info()["collectives"], played["coll"])

    def test_lines_of_another_plugin_are_read_beside_a_trace_of_the_same_name(self):
        self.play("--format", "both", "--no-node")
        for path in (self.folder / "traces").glob("*.jsonl"):
            path.write_text(path.read_text().replace("ncclprof-", "v2.30.7-"))
        self.assertEqual(len(self.ingest("traces")), 16)

    def test_inspector_lines_from_end_to_end(self):
        played = self.play("--format", "inspector")
        self.check_ingest(".jsonl")
        self.assertEqual(self.info()["collectives"], played["coll"])
