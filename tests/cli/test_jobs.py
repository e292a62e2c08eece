"""Several jobs in one store: how output names them, and how to choose one. Jobs with missing parts."""

import collections
import csv
import gzip
import io
import random
import re

from tests.cli.support import TOP, Case

JOBS = ("tp2dp2pp2-slow-rank", "tp2dp2pp2-slow-sender")
OF_JOBS = ("stragglers", "clocks", "diagnose", "report", "stalls")


class Jobs(Case):
    def ingest(self, *names):
        for name in names:
            self.run_program("ingest", TOP / "fixtures" / name)

    def csv(self, *words):
        return list(csv.DictReader(io.StringIO(self.run_program(*words, "--format", "csv").out)))

    def head_and_rows(self, command):
        """The words of the head of a table, and its rows, each of which starts with a number."""
        lines = self.run_program(*command.split()).out.splitlines()
        first = next(number for number, line in enumerate(lines) if line.split()[:1] and line.split()[0].isdigit())
        rows = lines[first:]
        return " ".join(lines[:first]).split(), rows[:rows.index("")] if "" in rows else rows

    def test_tables_name_the_run_where_there_are_several(self):
        self.ingest(JOBS[0])
        for command in ("stragglers", "clocks"):
            self.assertNotIn("run", self.head_and_rows(command)[0])
        self.assertNotIn("run 1: ", self.run_program("diagnose", "--all").out)
        self.assertTrue(self.json("startup")["warnings"][0].startswith("no NCCL log"))
        self.ingest(JOBS[1])
        self.assertEqual([warning.partition(" no NCCL log")[0] for warning in self.json("startup")["warnings"]], ["run 1:", "run 2:"])
        for command in ("stragglers", "clocks"):
            head, rows = self.head_and_rows(command)
            self.assertIn("run", head)
            self.assertEqual({row.split()[-1] for row in rows}, {"1", "2"})
        findings = [line for line in self.run_program("diagnose", "--all").out.splitlines() if "confidence): " in line]
        self.assertRegex(findings[0], r"^run 1: compute \(high confidence\): GPU of rank 1 ")
        self.assertTrue(all(line.startswith(("run 1: ", "run 2: ")) for line in findings), findings)

    def test_which_run_is_which(self):
        self.ingest(*JOBS)
        coverage = {row["run"]: row for row in self.json("diagnose")["coverage"]}
        self.assertEqual([row["run_name"] for row in coverage.values()], list(JOBS))
        for number, name in enumerate(JOBS, 1):
            self.assertIn(f"run {number} ({name}): 8 ranks", self.run_program("diagnose").out)
        rows = self.json("info", "--runs")["rows"]
        self.assertEqual([row["run"] for row in rows], [1, 2])
        for row, name in zip(rows, JOBS):
            folder = TOP / "fixtures" / name
            files = sorted(str(path) for path in folder.glob("dump*"))
            self.assertEqual((row["file_set"], row["first_file"], row["files"]), (str(folder), files[0], len(files)))
            self.assertEqual((row["ranks"], row["expected_ranks"]), (8, 8))
            self.assertEqual(row["steps"], coverage[row["run"]]["steps"])
        shown = self.head_and_rows("info --runs")[1]
        self.assertTrue(all(f"fixtures/{name}" in line for name, line in zip(JOBS, shown)), shown)

    def test_one_run_of_several(self):
        """The output for a job alone is the same as that for it among others, except for its number."""
        alone = {}
        for name in JOBS:
            self.ingest(name)
            alone[name] = {command: self.run_program(command).out for command in OF_JOBS}
            self.store.unlink()
        self.ingest(*JOBS)
        for command in OF_JOBS:
            for number, name in enumerate(JOBS, 1):
                with self.subTest(command=command, name=name):
                    said = self.run_program(command, "--run", number).out
                    self.assertEqual(said.replace(f" --run {number} --store ", " --store "), alone[name][command])

    def test_a_run_that_is_not_there(self):
        """This is not a usage error: the store does not have the run."""
        for count, holds in enumerate((f"1 ({JOBS[0]})", f"1 ({JOBS[0]}), 2 ({JOBS[1]})"), 1):
            self.ingest(JOBS[count - 1])
            for command in OF_JOBS:
                with self.subTest(command=command, holds=holds):
                    result = self.run_program(command, "--run", "7", status=1)
                    self.assertEqual((result.out, result.err),
                                     ("", f"ncclprof: no run '7'; runs in the store: {holds}\n"))
                    self.run_program(command, "--run", "0", status=1)
        self.run_program("stalls", "--states", "--run", "3", status=1)

    def test_the_matrix_of_two_jobs(self):
        """One column per receiver: two columns with the same name would be one JSON key, of which a reader sees only the
        last.
        """
        jobs, alone = ("tp2dp2pp2-clean", "tp2dp2pp2-slow-sender"), {}
        for number, name in enumerate(jobs, 1):
            self.ingest(name)
            alone[number] = self.json("stalls", "--matrix")
            self.store.unlink()
        self.ingest(*jobs)
        both = self.json("stalls", "--matrix")
        names = [column["name"] for column in both["columns"]]
        self.assertEqual(len(names), len(set(names)), names)
        self.assertEqual(names[:3], ["sender", "sender_name", "run"])
        self.assertEqual(names[3:], sorted(names[3:]))
        for number, single in alone.items():
            self.assertTrue(single["rows"])
            rows = [row for row in both["rows"] if row["run"] == number]
            self.assertEqual([{key: value for key, value in row.items() if value is not None} for row in rows],
                             [{key: value for key, value in {**row, "run": number}.items() if value is not None}
                              for row in single["rows"]])

    def test_findings_as_csv_say_run_and_peers(self):
        self.ingest(*JOBS)
        findings, rows = self.json("diagnose")["findings"], self.csv("diagnose")
        self.assertEqual([(row["run"], row["peers"]) for row in rows],
                         [(str(finding["run"]), ",".join(map(str, finding["peers"]))) for finding in findings])
        self.assertEqual({row["run"] for row in rows}, {"1", "2"})
        self.assertTrue(any(row["peers"] for row in rows))


class Incomplete(Case):
    """Ranks without a trace are reported, whether at fault or not."""

    def warnings(self, command, fixture, leave_out=()):
        traces = [path for path in sorted((TOP / "fixtures" / fixture).glob("*.gz"))
                  if not set(leave_out) & set(self.pids(path))]
        self.store.unlink(missing_ok=True)
        self.run_program("ingest", *traces)
        return self.json(command)["warnings"]

    def pids(self, path):
        return re.findall(rb'"pid": (\d+)', gzip.decompress(path.read_bytes())[:4096])

    def pids_of_world(self, fixture):
        """By rank. The communicator with the most files is that of all ranks."""
        files = collections.defaultdict(dict)
        for path in (TOP / "fixtures" / fixture).glob("*.gz"):
            _, communicator, rank = path.name.split(".")[0].split("_")
            files[communicator][int(rank)] = self.pids(path)[0]
        return max(files.values(), key=len)

    def test_a_rank_that_left_no_trace(self):
        for command in ("diagnose", "stragglers"):
            said = self.warnings(command, "tp2dp2pp2-kill")
            # Of 13 communicators: the world, and those of rank 2 with its tensor, data and pipeline partners.
            self.assertIn("only 7 of 8 ranks have a trace (no trace of rank 2); 4 communicators are incomplete", said)

    def test_healthy_but_for_a_file(self):
        """Nothing stands out in the recorded part, and the rank at fault may be the one without a trace."""
        pids = self.pids_of_world("tp2dp2pp2-clean")
        said = self.warnings("diagnose", "tp2dp2pp2-clean", [pids[7]])
        self.assertRegex(" ".join(said), r"only 7 of 8 ranks have a trace \(no trace of rank 7\)")
        said = self.warnings("diagnose", "tp2dp2pp2-clean", [pids[rank] for rank in (1, 2, 4, 5, 7)])
        self.assertRegex(" ".join(said), r"only 3 of 8 ranks have a trace \(no trace of ranks 1, 2, 4, 5 and 1 more\)")

    def test_a_file_that_was_lost(self):
        """The example plugin writes one file per communicator and rank. A rank that lost one has gaps that look like delays."""
        for fixture, planted in (("tp2dp2pp2-slow-sender", (1, "network")), ("tp2dp2pp2-slow-rank", (1, "compute"))):
            traces = sorted((TOP / "fixtures" / fixture).glob("*.gz"))
            self.assertEqual(len(traces), 32)
            for lost in traces[::3]:
                with self.subTest(fixture=fixture, lost=lost.name):
                    self.store.unlink(missing_ok=True)
                    self.run_program("ingest", "-q", *(path for path in traces if path != lost))
                    sure = {(finding["rank"], finding["kind"]) for finding in self.json("diagnose")["findings"]
                            if finding["confidence"] != "low"}
                    self.assertLessEqual(sure, {planted})
                    ranks = self.run_program("query", "--format", "csv", "SELECT count(*) FROM v_rank").out.split()
                    self.assertEqual(ranks[-1], "8")

    def test_a_silent_rank_where_others_are_in_fewer_communicators(self):
        """A stage without data parallelism has lost no files; the rank without files is a rank of its own."""
        files, _ = self.simulate("--shape 3d --tp 2 --dp 2 --pp 4 --per-node 16 --steps 14 --microbatches 4 "
                                     "--dialect chrome-v6 --seed 3 --fault hang:15:8:8:0")
        world = max({path.name.rsplit("_", 1)[0] for path in files},
                    key=lambda name: sum(path.name.startswith(name) for path in files))
        pids = {}
        for path in files:
            if path.name.startswith(world):
                pids[self.pid_of(path)] = int(path.stem.rsplit("_", 1)[1])
        kept = []
        for path in files:
            rank, text = pids[self.pid_of(path)], path.read_text()
            is_data_parallel = '"ReduceScatter"' in text or '"AllGather"' in text
            if rank != 15 and not (rank < 4 and is_data_parallel):
                kept.append(path)
        self.assertEqual(len(files) - len(kept), 4 + 4)
        self.run_program("ingest", "-q", *kept)
        sure = [(finding["rank"], finding["kind"]) for finding in self.json("diagnose")["findings"]
                if finding["confidence"] != "low"]
        self.assertEqual(sure, [(15, "missing")])

    def pid_of(self, path):
        return path.read_text().split('"pid": ', 1)[1].split(",", 1)[0]

    def test_ranks_of_one_process(self):
        """Ranks are distinguished by their GPU clocks, which sends and receives do not have here, so it is unknown whose
        they are.
        """
        for clocks in (True, False):
            self.store.unlink(missing_ok=True)
            for path in (TOP / "fixtures/tp2dp2pp2-slow-rank").glob("*.gz"):
                text = re.sub(rb'"pid": \d+', b'"pid": 1', gzip.decompress(path.read_bytes()))
                if not clocks:
                    text = re.sub(rb'(St[a-z]*GpuClk": )\d+', rb"\g<1>0", text)
                self.write(path.name[:-3], text)
            self.run_program("ingest", self.folder)
            for command in ("diagnose", "stragglers"):
                said = " ".join(self.json(command)["warnings"])
                self.assertIn("several ranks share a process and cannot be distinguished", said)
            findings = self.json("diagnose", "--all")["findings"]
            self.assertEqual([finding for finding in findings if finding["confidence"] != "low"], [])
            if clocks:
                self.assertIn((1, "compute"), [(finding["rank"], finding["kind"]) for finding in findings])
            self.assertEqual(self.rows("SELECT DISTINCT rank FROM v_operation WHERE function IN ('Send', 'Recv')"),
                             [(None,)])

    def test_ranks_of_one_process_that_clocks_tell(self):
        told = []
        for pid in (rb"\g<1>", b"1"):
            self.store.unlink(missing_ok=True)
            for path in (TOP / "fixtures/fsdp-clean").glob("*.gz"):
                self.write(path.name[:-3], re.sub(rb'(?<="pid": )(\d+)', pid, gzip.decompress(path.read_bytes())))
            self.run_program("ingest", self.folder)
            self.assertNotIn("cannot be distinguished", " ".join(self.json("diagnose")["warnings"]))
            told.append(self.rows("SELECT communicator, function, rank, count(*) AS operations FROM v_operation GROUP BY 1, 2, 3"))
        self.assertEqual(told[1], told[0])

    def test_communicators_alone(self):
        """Three processes that share no communicator: two of the eight of one job (TRUTH), and a pair."""
        self.run_program("ingest", TOP / "fixtures/dialect-2.30.7")
        self.assertIn("1 communicator has ranks without a trace", self.json("diagnose")["warnings"])

    def test_the_last_records_only(self):
        """When the recorder's buffer is full, it drops the oldest records."""
        for kept, said in ((None, False), (8, True)):
            traces, _ = self.simulate("--shape 3d --tp 2 --dp 2 --pp 1 --steps 14 --seed 61" +
                                      (f" --keep-last {kept}" if kept else ""))
            self.store.unlink(missing_ok=True)
            self.run_program("ingest", *traces)
            warnings = " ".join(self.json("diagnose")["warnings"])
            # Numbers start from 0 there: a sequence that starts late lacks a quarter of the recorded number, and more
            # than two.
            late, (all_,) = self.rows("SELECT count(*) AS n FROM (SELECT min(sequence) AS least, count(*) AS kept "
                                      "FROM v_operation GROUP BY rank, communicator_id, function) "
                                      "WHERE least > 2 AND 4 * least > kept "
                                      "UNION ALL SELECT count(*) FROM (SELECT 1 FROM v_operation "
                                      "GROUP BY rank, communicator_id, function)")
            self.assertEqual(f"{late[0]} of {all_} operation sequences start late" in warnings, said)
            self.assertEqual("fewer than half of the operations belong to a repeating step" in warnings, said)

    def test_one_log_of_several(self):
        """The most common mistake is to copy the files of only one rank."""
        pids = self.pids_of_world("tp2dp2pp2-clean")
        for command in ("diagnose", "stragglers"):
            said = self.warnings(command, "tp2dp2pp2-clean", [pids[rank] for rank in range(8) if rank != 3])
            # This dialect does not contain the size of communicators: "at least".
            self.assertRegex(" ".join(said), r"only 1 of at least \d ranks has a trace \(no trace of ranks 0, 1, ")
        self.assertTrue(self.run_program("diagnose", "--exit-code", status=4).verdict.startswith(
            "not enough data: only one rank has a trace"))

    def test_whole_jobs_are_not_warned_of(self):
        for fixture in ("tp2dp2pp2-clean", "tp2dp2pp2-hang", "fsdp-clean"):
            for command in ("diagnose", "stragglers"):
                self.store.unlink(missing_ok=True)
                self.run_program("ingest", TOP / "fixtures" / fixture, status=None)
                said = " ".join(self.json(command)["warnings"])
                self.assertNotRegex(said, "ranks? ha(s|ve) a trace|without a trace", (fixture, command))


class Arrival(Case):
    """The output depends neither on the order of the files nor on which file a thread finishes first."""

    SAID = (("stalls",), ("stragglers",), ("diagnose", "--all"), ("report", "--by", "communicator"), ("info",),
            ("info", "--communicators"), ("info", "--processes"), ("clocks",))

    def said(self, files, threads):
        self.store.unlink(missing_ok=True)
        self.run_program("ingest", "-q", f"-j{threads}", *files, status=None)
        found = [self.run_program(*words, *(() if words[0] == "diagnose" else ("--format", "csv")), status=None) for words in self.SAID]
        return [result.out + result.err for result in found]

    def check(self, *folders, shuffles):
        files = sorted(path for folder in folders for path in (TOP / "fixtures" / folder).iterdir() if path.name != "TRUTH")
        first = self.said(files, 1)
        for seed in range(3):
            if shuffles:
                random.Random(seed).shuffle(files)
            for threads in (1, 8):
                self.assertEqual(self.said(files, threads), first)

    def test_one_job(self):
        for folder in ("dialect-2.23.4", "dialect-2.24.3", "inspector-pr2045-verbose", "v1-states-partial"):
            with self.subTest(folder=folder):
                self.check(folder, shuffles=True)

    def test_jobs_of_several_directories(self):
        """Runs are numbered in the order of the given files."""
        self.check("dialect-2.23.4", "inspector-2.30", "dialect-2.24.3", shuffles=False)
