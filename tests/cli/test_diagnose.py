"""diagnose: the truth of the fixtures, recomputed figures, exit statuses."""

import csv
import gzip
import io
import re
import statistics

from tests.cli import reader
from tests.cli.support import TOP, Case

# The planted faults, from the TRUTH files: kind, rank, steps, possible phases, ranks that wait or are at the other end.
PLANTED = {
    "tp2dp2pp2-slow-rank": ("compute", 1, (4, 8), {None}),  # in four phases alike
    "tp2dp2pp2-slow-sender": ("network", 1, (6, 8), {None}),
    "tp2dp2pp2-hang": ("missing", 5, (6, 6), {"grad_sync"}),
    "tp2dp2pp2-kill": ("missing", 2, (5, 5), {"grad_sync"}),
}
WHERE = ("kind", "rank", "tag", "first_step", "last_step")
HEALTHY = ("tp2dp2pp2-clean", "fsdp-clean")
# Too short, or without times: no findings there means nothing.
UNJUDGED = ("dialect-2.23.4", "dialect-2.24.3", "dialect-2.25.1", "dialect-2.26.2", "dialect-2.27.3", "dialect-2.28.3",
            "dialect-2.29.7", "dialect-2.30.7", "inspector-2.28", "inspector-2.30", "inspector-pr2045",
            "inspector-pr2045-verbose")


def lower_median(values):
    return statistics.median_low(list(values))

STOPS = ("missing", "mismatch", "ended_early")


class Own:
    """Own times of a job by place, from GPU clocks alone: start minus the previous stop."""

    def __init__(self, job):
        self.times = {}
        for rank in range(job.sizes[job.world]):
            operations = job.of_rank(rank)
            for before, after in zip(operations, operations[1:]):
                if before.has_gpu_times and after.has_gpu_times:
                    position = operations.index(after) - next(
                        i for i, operation in enumerate(operations) if operation.step == after.step)
                    self.times[rank, position, after.step] = (after.gpu_start - before.gpu_stop) / 1e3

    def median(self, position, ranks, steps):
        return lower_median(self.times[rank, position, step] for rank in ranks for step in steps)


def for_people(time_us):
    """Three significant digits, in the unit that fits."""
    unit, value = ("ms", time_us / 1e3) if time_us >= 999.5 else ("us", time_us)
    return f"{value:.{0 if value >= 100 else 1 if value >= 10 else 2}f} {unit}"


class Diagnose(Case):
    def ingest_fixture(self, name):
        self.store.unlink(missing_ok=True)
        self.run_program("ingest", TOP / "fixtures" / name, status=None)

    def sure(self, *words):
        return [finding for finding in self.json("diagnose", *words)["findings"] if finding["confidence"] != "low"]

    def test_who_and_what(self):
        for name, (kind, rank, (first, last), phases) in PLANTED.items():
            with self.subTest(fixture=name):
                self.ingest_fixture(name)
                findings = self.sure()
                self.assertEqual([(finding["kind"], finding["rank"]) for finding in findings], [(kind, rank)])
                finding = findings[0]
                self.assertLessEqual(abs(finding["first_step"] - first), 1)
                self.assertLessEqual(abs(finding["last_step"] - last), 1)
                self.assertIn(finding["tag"], phases)
                self.assertNotIn(rank, finding["peers"])
                self.assertRegex(finding["text"], rf"\brank {rank}\b")
                self.assertTrue(finding["evidence"])

    def test_who_waits(self):
        for name, peers in (("tp2dp2pp2-hang", {7}), ("tp2dp2pp2-kill", {0})):
            self.ingest_fixture(name)
            finding = self.sure()[0]
            self.assertEqual((set(finding["peers"]), set(finding["waiting_ranks"])), (peers, peers))
            self.assertEqual(finding["figures"], {"begun_ranks": 1, "expected_ranks": 2})

    def test_nothing_in_health(self):
        for name in HEALTHY:
            with self.subTest(fixture=name):
                self.ingest_fixture(name)
                self.assertEqual(self.sure(), [])
                self.assertTrue(self.run_program("diagnose", "--exit-code").verdict.startswith("no problem found\n"))

    def test_no_all_clear_where_it_could_not_be_judged(self):
        for name in UNJUDGED:
            with self.subTest(fixture=name):
                self.ingest_fixture(name)
                self.assertEqual(self.sure(), [])
                said = self.run_program("diagnose", "--exit-code", status=4).verdict.splitlines()[0]
                self.assertRegex(said, "^not enough data: |^no problem found in the part of the job that could be analyzed")
                self.run_program("diagnose")

    def test_a_single_file_of_several(self):
        """One of three files, with an unfinished operation: only the other two would show which rank never joined."""
        self.ingest_fixture("dialect-2.23-states")
        self.assertEqual(self.json("diagnose")["findings"], [])
        self.run_program("diagnose", "--exit-code", status=4)

    def test_where_only_those_who_wait_left_a_trace(self):
        """One of four ranks, which waits: diagnose names no rank, and the note says what is needed."""
        files, truth = self.simulate("--shape ddp --ranks 4 --per-node 2 --layers 3 --steps 9 --dialect chrome-v7 "
                                     "--fault hang:2:5:5:0:backward --seed 4")
        pid = f'"pid": {truth["processes"][1]["pid"]},'
        self.run_program("ingest", "-q", *(file for file in files if pid in file.read_text()))
        report = self.json("diagnose")
        self.assertEqual([finding for finding in report["findings"] if finding["kind"] in STOPS], [])
        undetermined, = report["summary"]["undetermined"]
        self.assertIn("never finished", undetermined["reason"])
        self.assertIn("add the logs, dumps or traces of the other ranks", undetermined["remedy"])
        said = self.run_program("diagnose", "--exit-code", status=4).verdict
        self.assertTrue(said.startswith("the rank at fault cannot be determined: "), said)

    def test_a_record_that_ends_during_a_fault(self):
        """The file of the rank at fault is cut off in the last of 25 slow steps: that step may be due to what is lost, 24 are not."""
        files, truth = self.simulate("--shape ddp --ranks 8 --layers 5 --steps 40 --dialect chrome-v5 --fault host:1:15:39:40%:forward "
                                     "--seed 5")
        pid = f'"pid": {truth["processes"][1]["pid"]},'
        file, = (file for file in files if pid in file.read_text())
        text = file.read_text()
        file.write_text(text[:text.rfind("\n", 0, len(text) * 99 // 100) + 1])
        self.run_program("ingest", "-q", *files, status=1)
        finding, = self.json("diagnose", "--explain")["findings"]
        self.assertEqual([finding[key] for key in ("kind", "rank", "first_step", "last_step", "confidence")], ["host", 1, 15, 39, "high"])
        self.assertEqual([rule["reading"] for rule in finding["rules"] if rule["name"] == "lost-records"], [1 / 25])

    def test_candidates_are_one_finding(self):
        """Ranks 2 and 3 share the unfinished operation, and only finished operations are listed."""
        files, _ = self.simulate("--shape 3d --tp 2 --dp 4 --pp 1 --ranks 8 --per-node 4 --layers 3 --steps 10 "
                                 "--dialect inspector-2.30 --fault hang:3:6:6:0 --seed 1")
        self.run_program("ingest", "-q", *files)
        (finding,) = [finding for finding in self.json("diagnose")["findings"] if finding["kind"] in STOPS]
        self.assertEqual((finding["candidates"], finding["rank"], finding["confidence"]), ([2, 3], 2, "low"))
        self.assertTrue(finding["text"].startswith("rank 2 (node000) or rank 3 (node000) "), finding["text"])
        self.run_program("diagnose", "--exit-code", status=3)

    def test_who_left_in_the_middle_of_a_step(self):
        """Only rank 5 of 8 has a trace. It ends after the gradients of two of three layers."""
        files, truth = self.simulate("--shape 3d --tp 2 --dp 2 --pp 2 --ranks 8 --per-node 4 --layers 3 --steps 10 "
                                     "--dialect chrome-v7 --fault hang:5:6:6:0:grad_sync --seed 3")
        pid = f'"pid": {truth["processes"][5]["pid"]},'
        self.run_program("ingest", "-q", *(file for file in files if pid in file.read_text()))
        (finding,) = [finding for finding in self.json("diagnose")["findings"] if finding["kind"] in STOPS]
        self.assertEqual((finding["kind"], finding["rank"], finding["confidence"]), ("ended_early", 5, "medium"))

    def test_a_mistake_where_the_file_of_another_is_lost(self):
        """One of eight ranks calls with twice the size; another one has no file."""
        files, truth = self.simulate("--shape ddp --ranks 8 --per-node 4 --layers 3 --steps 9 --dialect chrome-v7 "
                                     "--fault mismatch:2:5:5:0 --seed 4")
        gone = f'"pid": {truth["processes"][6]["pid"]},'
        self.run_program("ingest", "-q", *(file for file in files if gone not in file.read_text()))
        self.assertEqual([(finding["kind"], finding["rank"]) for finding in self.json("diagnose")["findings"]
                          if finding["kind"] in STOPS], [("mismatch", 2)])

    def test_figures_of_the_evidence(self):
        """The sentence on the own time of rank 1, compared with the GPU clocks in the files. Ranks 0 to 3 have the same
        role.
        """
        name = "tp2dp2pp2-slow-rank"
        self.ingest_fixture(name)
        finding = self.sure()[0]
        said = re.search(r"^The gap before operation (\d+) of the step \((\w+), ranks (\S+)\) on rank 1 is (\S+ [mu]s); peers (\S+ [mu]s), rank 1 "
                         r"in other steps (\S+ [mu]s)\. The kernel was already queued", finding["evidence"])
        self.assertTrue(said, finding["evidence"])
        figures = finding["figures"]
        self.assertEqual(list(figures), ["call", "gap_us", "peers_gap_us", "other_steps_gap_us"])
        self.assertEqual((int(said[1]), *said.groups()[3:]),
                         (figures["call"], *(for_people(figures[name]) for name in list(figures)[1:])))
        job = reader.Job(TOP / "fixtures" / name)
        position = figures["call"] - 1
        operation = [operation for operation in job.of_rank(1) if operation.step == 4][position]
        self.assertEqual((operation.function, job.labels[operation.communicator]), (said[2], said[3]))
        own, steps = Own(job), range(finding["first_step"], finding["last_step"] + 1)
        self.assertAlmostEqual(figures["gap_us"], own.median(position, [1], steps), delta=1)
        self.assertAlmostEqual(figures["peers_gap_us"], own.median(position, [0, 2, 3], steps), delta=1)
        others = [step for step in range(1, 9) if step not in steps]
        self.assertAlmostEqual(figures["other_steps_gap_us"], own.median(position, [1], others), delta=1)

    def test_what_it_cost(self):
        """Steps 4 to 8 compared with the healthy ones, from the end of the last operation of each step on the GPU clock."""
        name = "tp2dp2pp2-slow-rank"
        self.ingest_fixture(name)
        ends = [max(operation.gpu_stop for operation in reader.Job(TOP / "fixtures" / name).of_rank(0)
                    if operation.step == step and operation.has_gpu_times) for step in range(9)]
        lengths = {step: ends[step] - ends[step - 1] for step in range(1, 9)}
        usual = lower_median(lengths[step] for step in (1, 2, 3))
        lost_us = sum(lengths[step] - usual for step in range(4, 9)) / 1e3
        self.assertAlmostEqual(self.sure()[0]["lost_us"] / lost_us, 1, delta=0.25)

    def test_exit_code(self):
        self.ingest_fixture("tp2dp2pp2-slow-rank")
        self.run_program("diagnose")
        self.run_program("diagnose", "--exit-code", status=3)
        self.run_program("diagnose", "--exit-code", "--format", "json", status=3)
        # The coverage is not complete: a sixth of its operations have no end.
        self.run_program("diagnose", "--exit-code", "--min-gain", "100", status=4)
        self.ingest_fixture("tp2dp2pp2-clean")
        self.run_program("diagnose", "--exit-code")
        # Findings of low confidence raise no alarm.
        self.ingest_fixture("tp2dp2pp2-slow-sender")
        self.assertEqual(self.json("diagnose", "--min-gain", "100", "--exit-code")["command"], "diagnose")

    def test_shares_of_steps_that_are_not_those_of_the_job(self):
        """Eight lines of each process: what looks like steps covers microseconds of a job of more than 200 ms."""
        summary = self.json("diagnose", TOP / "fixtures/inspector-2.30")["summary"]
        self.assertEqual((summary["communication_share"], summary["waiting_share"], summary["step_us_usual"]), (None, None, None))
        self.assertNotIn("in communication", self.run_program("diagnose", TOP / "fixtures/inspector-2.30").out)

    def test_low_confidence_is_shown_on_request(self):
        self.ingest_fixture("tp2dp2pp2-slow-sender")
        low = [finding for finding in self.json("diagnose")["findings"] if finding["confidence"] == "low"]
        brief, full = self.run_program("diagnose").out, self.run_program("diagnose", "--all").out
        self.assertNotIn("low confidence):", brief)
        self.assertEqual(full.count("low confidence):"), len(low))
        if low:
            self.assertIn(f"{len(low)} low-confidence finding{'s' * (len(low) > 1)} not shown (", brief)
        rows = csv.DictReader(io.StringIO(self.run_program("diagnose", "--format", "csv").out))
        self.assertEqual(sum(row["confidence"] == "low" for row in rows), len(low))
        self.assertIn("JSON and CSV always include them", " ".join(self.run_program("diagnose", "-h").out.split()))

    def test_coverage(self):
        for name, ranks, expected in (("tp2dp2pp2-clean", 8, 8), ("tp2dp2pp2-kill", 7, 8)):
            self.ingest_fixture(name)
            coverage = self.json("diagnose")["coverage"]
            job = reader.Job(TOP / "fixtures" / name)
            self.assertEqual(len(coverage), 1)
            self.assertEqual((coverage[0]["ranks"], coverage[0]["expected_ranks"], coverage[0]["operations"],
                              coverage[0]["steps"], coverage[0]["step_source"]),
                             (ranks, expected, len(job.operations), 1 + max(o.step for o in job.operations), "tags"))

    @staticmethod
    def texts_of(fixture):
        return {path.name[:-3]: gzip.decompress(path.read_bytes()).decode()
                for path in (TOP / "fixtures" / fixture).glob("*.gz")}

    def cut_hang(self, midway):
        """The hang of rank 5 if no process closed its files; and the stop of rank 5 in the middle of an operation."""
        texts = self.texts_of("tp2dp2pp2-hang")
        pids = {name: set(re.findall(r'"pid": (\d+)', text)) for name, text in texts.items()}
        world = max(texts, key=lambda name: (sum(name.rsplit("_", 1)[0] == other.rsplit("_", 1)[0] for other in texts),
                                             name.endswith("_5.json")))
        self.assertTrue(world.endswith("_5.json"))
        for name, text in texts.items():
            end = text.rindex("]")
            if midway and pids[name] == pids[world]:
                end = text.rindex('"ph": "e"')
                end = text.rindex("\n", 0, end) + 1
            self.write(f"cut-{midway}/{name}", text[:end])
        self.store.unlink(missing_ok=True)
        self.run_program("ingest", "-q", self.folder / f"cut-{midway}", status=None)
        return [(finding["kind"], finding["rank"], finding["confidence"])
                for finding in self.json("diagnose")["findings"] if finding["kind"] in STOPS]

    def test_who_was_killed_where_no_file_has_its_end(self):
        """The trace does not show how long the others waited: the job may have been stopped while rank 5 was slightly late."""
        self.assertEqual(self.cut_hang(midway=0), [("missing", 5, "low")])
        self.assertEqual(self.cut_hang(midway=1), [("ended_early", 5, "low")])

    def test_a_job_that_was_stopped_as_a_whole(self):
        """No file has its end. diagnose names the missing rank if it is visible, and else reports that none is."""
        for fixture, expected in (("tp2dp2pp2-clean", 1), ("tp2dp2pp2-hang", 0)):
            for name, text in self.texts_of(fixture).items():
                self.write(f"{fixture}/{name}", text[:text.rindex("]")])
            self.store.unlink(missing_ok=True)
            self.run_program("ingest", "-q", self.folder / fixture, status=None)
            said = " ".join(self.json("diagnose")["warnings"])
            self.assertEqual(said.count("most traces have no end marker"), expected, said)
        self.ingest_fixture("tp2dp2pp2-clean")
        self.assertEqual(self.json("diagnose")["warnings"], [])

    def test_a_few_cut_traces_of_a_healthy_job(self):
        """Files of three of eight processes, none with its end, one truncated a little earlier: "most" refers to these
        three.
        """
        by_pid = {}
        for name, text in self.texts_of("tp2dp2pp2-clean").items():
            (pid,) = set(re.findall(r'"pid": (\d+)', text))
            by_pid.setdefault(pid, {})[name] = text
        for number, pid in enumerate(sorted(by_pid)[:3]):
            until = 608_000 - 600 * (number == 1)
            for name, text in by_pid[pid].items():
                lines = [line for line in text.splitlines(keepends=True)
                         if float((re.search(r'"ts": ([\d.]+)', line) or [0, 0])[1]) < until and line != "{}]\n"]
                self.write(f"few/{name}", "".join(lines))
        self.run_program("ingest", "-q", self.folder / "few", status=None)
        self.assertEqual(self.sure(), [])

    def test_a_gpu_that_hangs(self):
        """A kernel that never ends, while the host goes on to call the operation in which the others wait."""
        for dialect in ("chrome-v4", "chrome-v7"):
            files, truth = self.simulate("--shape 3d --tp 2 --dp 2 --pp 2 --ranks 8 --per-node 4 --layers 4 --steps 8 "
                                         f"--sync-lag 1 --fault freeze:3:5:5:0:backward --dialect {dialect} --seed 21")
            self.store.unlink(missing_ok=True)
            self.run_program("ingest", "-q", *files)
            (finding,) = self.sure()
            self.assertEqual((finding["kind"], finding["rank"], finding["first_step"], finding["confidence"]),
                             ("missing", truth["faults"][0]["rank"], 5, "high"))
            self.assertNotIn(3, finding["peers"])
            self.assertIn("its GPU never started it", finding["evidence"])

    def test_a_pause_among_grouped_sends(self):
        """Four ranks that exchange data all to all with grouped sends; the sends of one rank stall once, for nine steps."""
        files, truth = self.simulate("--shape moe --ranks 4 --per-node 2 --layers 2 --fault pause:?:4:4:900%:* "
                                     "--steps 9 --dialect chrome-v5 --seed 11 --noise 0")
        (fault,) = truth["faults"]
        self.run_program("ingest", "-q", *files)
        (finding,) = self.sure()
        self.assertEqual((finding["kind"], finding["rank"], finding["first_step"], finding["last_step"]),
                         ("network", fault["rank"], 4, 4))
        self.assertAlmostEqual(finding["lost_us"] / fault["lost_us"], 1, delta=0.1)

    EXPERTS = "--shape moe --network-gbs 40 --nvlink-gbs 300 --layers 3 --steps 20 --hot-expert 80:4 "

    def test_an_expert_with_more_tokens_is_no_slow_gpu(self):
        """Another rank of each group every four steps; within a host and between hosts."""
        for ranks, per_node, seed in ((8, 4, 1), (8, 2, 3), (16, 8, 4)):
            files, _ = self.simulate(self.EXPERTS + f"--ranks {ranks} --per-node {per_node} --seed {seed}")
            self.store.unlink(missing_ok=True)
            self.run_program("ingest", "-q", *files)
            self.assertEqual(self.sure(), [], (ranks, per_node, seed))

    def test_a_slow_gpu_among_busy_experts(self):
        """The rank that waits for it within a host has early stops, and is not accused."""
        for ranks, per_node, seed in ((8, 4, 1), (16, 8, 4)):
            files, truth = self.simulate(self.EXPERTS + f"--ranks {ranks} --per-node {per_node} --seed {seed} "
                                         "--fault throttle:3:9:14:60:*")
            self.store.unlink(missing_ok=True)
            self.run_program("ingest", "-q", *files)
            (finding,) = self.sure()
            self.assertEqual((finding["kind"], finding["rank"]), ("compute", 3))
            # Own times of single steps are coarse here, and the whole run may explain them about as well.
            self.assertLessEqual(finding["first_step"], 9)
            self.assertGreaterEqual(finding["last_step"], 14)

    def test_a_slow_gpu_in_exchanges_whose_ends_are_not_recorded(self):
        """Kernels of exchanges within a host stop early. Who is waited for there arrived last, and nobody after it."""
        for per_node, first, period in ((4, 8, None), (8, 2, 3)):
            every = f"/{period}" if period else ""
            files, truth = self.simulate(f"--shape moe --ranks 16 --per-node {per_node} --layers 3 --steps 21 "
                                         "--network-gbs 25 --nvlink-gbs 200 --dialect chrome-v7 --seed 5150 "
                                         f"--fault throttle:6:{first}:20{every}:90:*")
            (planted,) = truth["faults"]
            self.store.unlink(missing_ok=True)
            self.run_program("ingest", "-q", *files)
            (finding,) = self.sure()
            self.assertEqual((finding["kind"], finding["rank"], finding["first_step"], finding["period"]),
                             ("compute", 6, first, period))
            self.assertAlmostEqual(finding["lost_us"] / planted["lost_us"], 1, delta=0.3)

    def test_a_slow_receiver_in_exchanges_makes_no_gpu_slow(self):
        """The other ranks of its host wait for it in exchanges whose ends are not recorded, in all steps."""
        for rank, seed in ((5, 11), (7, 14)):
            files, _ = self.simulate("--shape moe --ranks 16 --per-node 4 --layers 2 --steps 18 --sync-lag 1 "
                                     f"--dialect chrome-v7 --seed {seed} --fault receive:{rank}:0:17:230%:*")
            self.store.unlink(missing_ok=True)
            self.run_program("ingest", "-q", *files)
            self.assertEqual([f for f in self.sure() if f["kind"] != "network"], [], (rank, seed))

    def test_a_healthy_exchange_of_which_lines_were_lost(self):
        """A small known delay does not make a large unexplained excess the rank's own, repeatedly."""
        files, _ = self.simulate("--shape moe --ranks 16 --per-node 4 --layers 3 --drop 0.016 --steps 11 "
                                 "--dialect inspector-2.30 --seed 196823632")
        self.run_program("ingest", "-q", *files)
        self.assertEqual(self.sure(), [])

    def test_one_late_step_of_which_only_finished_operations_tell(self):
        """Nothing is missing and there are no stages, so an excess of most of a step is the rank's own."""
        files, truth = self.simulate("--shape fsdp --ranks 16 --per-node 4 --layers 3 --fault host:15:3:3:91.2%:forward "
                                     "--steps 13 --dialect inspector-2.30 --seed 882631066")
        (planted,) = truth["faults"]
        self.run_program("ingest", "-q", *files)
        (finding,) = self.sure()
        self.assertEqual((finding["kind"], finding["rank"], finding["first_step"], finding["last_step"]),
                         ("host", 15, 3, 3))
        self.assertAlmostEqual(finding["lost_us"], planted["lost_us"], delta=planted["lost_us"] / 4)

    def test_a_slow_gpu_in_a_ring_whose_transfers_have_no_kernel_times(self):
        """Durations and the times of dumps tell the gaps, also if a receive is dumped before the send of its group call."""
        files, truth = self.simulate("--shape context --ranks 8 --per-node 2 --layers 2 --steps 20 --cp 4 --compute 2 "
                                     "--network-gbs 25 --nvlink-gbs 200 --dialect inspector-2.30 --seed 71 "
                                     "--fault throttle:5:0:19:25:*")
        (planted,) = truth["faults"]
        self.run_program("ingest", "-q", *files)
        (finding,) = self.sure()
        self.assertEqual((finding["kind"], finding["rank"], finding["first_step"], finding["last_step"]),
                         ("compute", 5, 1, 19))
        self.assertAlmostEqual(finding["lost_us"], planted["lost_us"], delta=planted["lost_us"] / 4)

    def test_a_job_that_is_killed_in_its_second_step_blames_nobody_for_the_first(self):
        """A delay that continues from the warm-up is no fault if only finished operations show it."""
        files, _ = self.simulate("--shape ddp --ranks 8 --per-node 2 --layers 3 --fault kill:7:2:2:0:* --steps 9 "
                                 "--dialect inspector --seed 533280117")
        self.run_program("ingest", "-q", *files)
        self.assertEqual([f for f in self.sure() if f["rank"] != 7], [])

    def test_a_gpu_that_is_slow_in_every_step_of_which_only_finished_operations_tell(self):
        """Algorithms are not recorded, but a leaf of a tree would stop before the other ranks of its host, and this rank does not."""
        files, _ = self.simulate("--shape ddp --ranks 8 --per-node 4 --layers 6 --steps 16 --fault throttle:5:0:15:15:* "
                                 "--network-gbs 40 --nvlink-gbs 300 --dialect inspector --seed 4021")
        self.run_program("ingest", "-q", *files)
        (finding,) = self.sure()
        self.assertEqual((finding["kind"], finding["rank"], finding["first_step"], finding["last_step"]),
                         ("compute", 5, 1, 15))

    def test_one_host_that_is_late_in_every_step_among_ranks_that_do_the_same(self):
        """Its stage has four ranks in pairs: a design would make all of them late, not one, even by less than a tenth of a step."""
        files, _ = self.simulate("--shape 3d --tp 2 --dp 2 --pp 2 --ranks 8 --per-node 4 --layers 6 --steps 16 "
                                 "--fault host:2:0:15:9%:* --network-gbs 40 --nvlink-gbs 300 --dialect kineto --seed 5113")
        self.run_program("ingest", "-q", *files)
        (finding,) = self.sure()
        self.assertEqual((finding["kind"], finding["rank"], finding["last_step"]), ("host", 2, 15))

    def test_two_slow_gpus_hide_each_other(self):
        """In different rings at the same time: without one of them, the job waits for the other."""
        files, _ = self.simulate("--shape context --ranks 12 --cp 4 --per-node 4 --layers 2 --steps 16 --seed 72 --compute 3 "
                                 "--dialect kineto --fault throttle:5:6:15:40 --fault throttle:9:6:15:40")
        self.run_program("ingest", "-q", *files)
        found = {(row["kind"], row["rank"], row["first_step"]) for row in self.sure()}
        self.assertEqual(found, {("compute", 5, 6), ("compute", 9, 6)})

    def test_a_slow_gpu_beside_a_slow_link(self):
        """The link held channels without a stop only until the GPU had taken its data."""
        files, truth = self.simulate("--shape ddp --ranks 8 --per-node 2 --layers 4 --fault compute:2:4:7:32.4%:optimizer "
                                     "--fault edge:?:3:6:49.6%:* --sync-lag 1 --steps 14 --dialect chrome-v7 --seed 84792792")
        planted = {(fault["kind"], fault["rank"]): fault for fault in truth["faults"]}
        self.run_program("ingest", "-q", *files)
        found = {(finding["kind"], finding["rank"]): finding for finding in self.sure()}
        self.assertEqual(set(found), set(planted))
        for key, finding in found.items():
            lost_us = planted[key]["lost_us"]
            self.assertGreater(finding["lost_us"], lost_us * 3 / 4)
            # The cost of a slow link contains some of the time that it shares with the GPU.
            self.assertLess(finding["lost_us"], lost_us * (8 / 5 if key[0] == "edge" or key[0] == "network" else 5 / 4))

    def test_a_slow_sender_among_grouped_sends_of_2_27(self):
        """A pipeline whose stages exchange data in one group call; the kernel stops before the data it waits for has
        arrived.
        """
        files, _ = self.simulate("--shape 1f1b --tp 1 --dp 2 --pp 2 --ranks 4 --per-node 1 --microbatches 4 "
                                     "--layers 2 --fault net:2:4:6:60%:* --steps 10 --dialect chrome-v4 --seed 5 "
                                     "--noise 0")
        self.run_program("ingest", "-q", *files)
        (finding,) = self.sure()
        self.assertEqual((finding["kind"], finding["rank"], finding["first_step"], finding["last_step"]),
                         ("network", 2, 4, 6))

    def pipeline(self, fault, seed, more=""):
        """Two stages whose sends and receives were not recorded; the finding, and the planted fault."""
        self.store.unlink(missing_ok=True)
        files, truth = self.simulate("--shape 3d --tp 2 --dp 2 --pp 2 --ranks 8 --per-node 2 --layers 2 --steps 12 --dialect "
                                     f"inspector --fault {fault} --seed {seed} {more}")
        (planted,) = truth["faults"]
        self.run_program("ingest", "-q", *files)
        (finding,) = self.sure()
        return finding, planted

    def test_late_in_a_stage_where_neither_pairs_nor_all_operations_are_recorded(self):
        """Ranks of the other stage, which wait for the late one in receives without a record, are not accused."""
        for fault, planted in (("compute:7:4:9:60%:backward", ("compute", 7)), ("host:6:4:8:60%:backward", ("host", 6)),
                               ("host:1:4:8:60%:forward", ("host", 1))):
            self.store.unlink(missing_ok=True)
            files, _ = self.simulate("--shape 3d --tp 2 --dp 2 --pp 2 --ranks 8 --per-node 2 --layers 2 --steps 12 "
                                     f"--dialect inspector --fault {fault} --seed 1 --drop 0.03")
            self.run_program("ingest", "-q", *files)
            self.assertLessEqual({(finding["kind"], finding["rank"]) for finding in self.sure()}, {planted})
        self.assertEqual(len(self.sure()), 1)

    def test_late_in_a_stage_where_pairs_are_not_recorded(self):
        """If the stages were unknown, the rank could also have waited for an unrecorded receive."""
        finding, planted = self.pipeline("host:1:5:7:30%:forward", 13)
        self.assertEqual([finding[key] for key in WHERE], [planted[key] for key in WHERE])

    def test_pairs_that_wait_for_a_late_rank_elsewhere(self):
        """Inspector does not record when a send starts: pairs of other ranks seem slow in the same steps, and in those after."""
        pipeline = ("--shape interleaved --ranks 8 --per-node 4 --layers 2 --steps 28 --tp 2 --dp 2 --pp 2 --microbatches 4 "
                    "--network-gbs 25 --nvlink-gbs 200 --compute 3 --dialect inspector-2.30 ")
        for rank, options in ((1, "--seed 1"), (4, "--seed 4 --sync-lag 1")):
            self.store.unlink(missing_ok=True)
            files, _ = self.simulate(f"{pipeline} {options} --fault throttle:{rank}:4:27/4:80:*")
            self.run_program("ingest", "-q", *files)
            self.assertEqual([(finding["kind"], finding["rank"]) for finding in self.sure()], [("compute", rank)])

    def test_who_never_came_after_another_was_slow(self):
        """With finished operations only: slowness five steps before does not explain why the job hangs."""
        files, _ = self.simulate("--shape 3d --tp 2 --dp 2 --pp 2 --ranks 8 --per-node 2 --layers 2 --steps 16 "
                                     "--dialect inspector-2.30 --fault hang:1:9:9:0:grad_sync --fault "
                                     "compute:4:3:6:9%:forward --seed 1")
        self.run_program("ingest", "-q", *files)
        self.assertEqual([(finding["rank"], finding["kind"]) for finding in self.sure()], [(4, "compute")])
        # Rank 1 and the rank with which it reduces its gradients.
        (absent,) = [line for line in self.run_program("diagnose").out.splitlines() if line.startswith("missing (low")]
        self.assertIn(": rank 1 (node000) or rank 3 (node001) ", absent)

    def check_laggards(self, options, ranks):
        files, _ = self.simulate(options)
        self.store.unlink(missing_ok=True)
        self.run_program("ingest", "-q", *files)
        findings = [finding for finding in self.json("diagnose", "--all")["findings"] if finding["kind"] == "missing"]
        self.assertEqual([(finding["candidates"], finding["first_step"], finding["confidence"]) for finding in findings],
                         [(ranks, 6, "low")] if ranks else [])

    def test_who_never_came_where_records_are_lost(self):
        """A hang in a trace of finished operations: names the pair that stopped first, and none of its victims."""
        job = ("--shape 3d --tp 2 --dp 4 --pp 2 --ranks 16 --per-node 16 --layers 3 --steps 10 --dialect inspector "
               "--drop 0.03 --seed 1")
        self.check_laggards(f"{job} --fault hang:11:6:6:0:forward", [10, 11])
        self.check_laggards(job, [])

    def test_who_waits_for_one_that_stopped_before(self):
        """Rank 4 never receives what rank 0 sends: rank 5 waits for rank 4, and rank 1 for the data that comes back from it."""
        self.check_laggards("--shape 3d --tp 2 --dp 2 --pp 2 --ranks 8 --per-node 8 --layers 2 --steps 10 "
                            "--dialect inspector-2.30 --fault hang:4:6:6:0:forward --seed 1", [0, 4])

    def stopped_in_step_6(self, kind, lost_lines):
        """Rank 3 of the pairs stopped; the last lines of its log are missing."""
        files, _ = self.simulate("--shape 3d --tp 2 --dp 4 --pp 1 --ranks 8 --per-node 4 --layers 3 --steps 10 "
                                 f"--dialect inspector-2.30 --fault {kind}:3:6:6:0 --seed 1")
        lines = files[3].read_text().splitlines(True)
        files[3].write_text("".join(lines[:len(lines) - lost_lines]))
        self.store.unlink(missing_ok=True)
        self.run_program("ingest", "-q", *files)
        return [(finding["kind"], finding["rank"], finding["first_step"], finding["confidence"])
                for finding in self.json("diagnose")["findings"] if finding["kind"] in ("missing", "ended_early")]

    def test_whose_record_alone_lost_its_end(self):
        """Of rank 3 and the rank that waits for it, the killed one lacks operations that others finished together with it."""
        self.assertEqual(self.stopped_in_step_6("kill", 2), [("ended_early", 3, 6, "medium")])
        self.assertEqual(self.stopped_in_step_6("hang", 0), [("missing", 2, 6, "low")])

    def test_which_of_two_called_something_else(self):
        """Tensor parallelism of two; in step 5 rank 2 calls with twice the size that both used before."""
        files, _ = self.simulate("--shape 3d --tp 2 --dp 2 --pp 1 --ranks 4 --per-node 4 --layers 2 --fault "
                                     "mismatch:2:5:5:0:* --steps 8 --dialect chrome-v7 --seed 4 --noise 0")
        self.run_program("ingest", "-q", *files)
        (finding,) = self.sure()
        self.assertEqual((finding["kind"], finding["rank"], finding["first_step"]), ("mismatch", 2, 5))
        own, count, theirs = map(int, re.search(r"with (\d+) bytes; (\d+) other rank called it with (\d+) bytes",
                                                finding["evidence"]).groups())
        self.assertEqual((own, count), (2 * theirs, 1))
        self.assertEqual(finding["figures"], {"other_ranks": 1, "own_bytes": own, "others_bytes": theirs})

    def test_most_ranks_at_once(self):
        """A job of three steps whose micro-batches look like steps: their differences are by design and no fault of a rank."""
        files, _ = self.simulate("--shape 1f1b --tp 2 --dp 4 --pp 2 --microbatches 8 --ranks 16 --per-node 8 --layers 4 "
                                 "--fault hang:0:3:3:0:grad_sync --steps 12 --dialect inspector --seed 117925309")
        self.run_program("ingest", "-q", *files)
        self.assertEqual(self.sure(), [])

    def test_what_cannot_be_told_is_said(self):
        """Without the time of the dump, lines that are not verbose have durations only."""
        folder = self.folder / "undumped"
        folder.mkdir()
        for file in (TOP / "fixtures/inspector-pr2045").glob("*.log"):
            (folder / file.name).write_text(re.sub(r'"dump_timestamp_us":\d+,', "", file.read_text()))
        self.run_program("ingest", "-q", folder)
        self.assertRegex(" ".join(self.json("diagnose")["warnings"]), "only durations can be compared")
        self.store.unlink()
        self.ingest_fixture("dialect-2.29.7")
        self.assertRegex(" ".join(self.json("diagnose")["warnings"]), "fewer than 3 steps")

    def test_slow_links_are_told_without_times_on_the_device(self):
        """Network steps have timestamps: a healthy job has no finding, and a slow link is no contradiction."""
        job = "--shape fsdp --ranks 8 --per-node 2 --layers 4 --steps 16 --dialect chrome-v3 --seed 153185499"
        for fault, said in (("", "no problem found"), (" --fault net:5:4:8:60%:*", "network (high confidence): ")):
            traces, _ = self.simulate(job + fault)
            self.store.unlink(missing_ok=True)
            self.run_program("ingest", *traces)
            first, *rest = self.run_program("diagnose").verdict.splitlines()
            self.assertTrue(first.startswith(said), first)
            self.assertEqual(rest[0].startswith("    Not analyzed: late ranks, because the trace has no timestamps"), not fault)
            self.assertIn("note: the trace has no timestamps: late ranks cannot be detected", rest)

    def test_all_that_cannot_be_told_is_said(self):
        """Nothing is joined and nothing has times: both reasons are reported, not only the first."""
        for name in ("dialect-2.23.4", "dialect-2.26.2"):
            self.ingest_fixture(name)
            said = " ".join(self.json("diagnose")["warnings"])
            self.assertIn("the trace has no timestamps: late ranks cannot be detected", said)
            self.assertNotIn("slow links", said)
            self.assertIn("2 communicators have no hash (NCCL up to 2.26 with a newer plugin): their operations "
                          "cannot be joined across ranks", said)
            self.assertIn("no communicator contains all processes", said)

    def write_long_step(self, ranks=2, late_us=0, late_ranks=1, longest_us=101000):
        """`ranks` ranks, one communicator, four operations of 1 ms every 2 ms; in step 6 one of them takes longer on all ranks. In
        steps 3 to 6 the GPU of rank 1 is late for the last operation, that of rank 2 for the one before, and so on.
        """
        for rank in range(ranks):
            lines, at_us = [], 1795218000000000
            for number in range(40):
                length = longest_us if number == 6 * 4 + 1 else 1000
                late_rank = 4 - number % 4
                late = late_us if late_rank <= late_ranks and 3 <= number // 4 <= 6 else 0
                called_us = at_us - 500
                at_us += late * (rank == late_rank)
                length += late * (rank != late_rank)
                lines.append(
                    '{"header":{"id":"0x1234","comm_name":"tp","rank":%d,"n_ranks":%d,"nnodes":1},"metadata":'
                    '{"inspector_output_format_version":"v4.0","git_rev":"v2.30.7","rec_mechanism":'
                    '"nccl_profiler_interface","dump_timestamp_us":%d,"hostname":"node","pid":%d},"coll_perf":{"coll":'
                    '"AllReduce","coll_sn":%d,"coll_msg_size_bytes":%d,"coll_exec_time_us":%d,"coll_timing_source":'
                    '"kernel_gpu","coll_algobw_gbs":1.0,"coll_busbw_gbs":1.0,"event_trace_sn":{"coll_start_sn":1,'
                    '"coll_stop_sn":2,"kernel_events":[{"channel_id":0,"kernel_start_sn":3,"kernel_stop_sn":5,'
                    '"kernel_record_sn":4}]},"event_trace_ts":{"coll_start_ts":%d,"coll_stop_ts":%d,"kernel_events":'
                    '[{"channel_id":0,"kernel_start_ts":%d,"kernel_stop_ts":%d,"kernel_record_ts":%d}]}}}\n'
                    % (rank, ranks, at_us + length, 2000 + rank, number, (number % 4 + 1) << 20, length,
                       called_us, called_us + 10, at_us, at_us + length, at_us + length))
                at_us += length + 1000
            self.write(f"insp/rank{rank}.log", "".join(lines))
        self.run_program("ingest", self.folder / "insp")

    def test_a_long_step_that_nobody_can_be_blamed_for(self):
        self.write_long_step()
        report = self.json("diagnose")
        self.assertEqual([f for f in report["findings"] if f["confidence"] != "low"], [])
        self.assertRegex(" ".join(report["warnings"]), r"step 6 took 108\.0 ms \(baseline 8\.0 ms\); the cause cannot be "
                         r"determined from this trace\. AllReduce #25 on communicator tp had a transfer time of 101\.0 ms "
                         r"\(baseline 1\.0 ms\), between ranks 0 and 1")

    def test_a_long_step_in_which_somebody_is_a_little_late(self):
        self.write_long_step(ranks=4, late_us=2000)
        finding, = self.sure()
        self.assertEqual([finding[key] for key in ("kind", "rank", "first_step", "last_step")], ["compute", 1, 3, 6])
        self.assertAlmostEqual(finding["lost_us"], 8000, delta=2000)
        self.assertRegex(" ".join(self.json("diagnose")["warnings"]), r"step 6 took 110\.0 ms \(baseline 8\.0 ms\); the "
                         r"cause cannot be determined from this trace\. AllReduce #25 on communicator tp had a transfer time of 101\.0 ms")

    def test_a_long_step_that_several_explain_together(self):
        """Steps 3 to 6 are longer by 12 ms: three ranks are late by 4 ms each, one after the other."""
        self.write_long_step(ranks=8, late_us=4000, late_ranks=3, longest_us=1000)
        found = [[finding[key] for key in ("kind", "rank", "first_step", "last_step", "lost_us")] for finding in self.sure()]
        self.assertEqual(sorted(found), [["compute", rank, 3, 6, 16000] for rank in (1, 2, 3)])

    def test_two_jobs_in_one_store(self):
        for name in ("tp2dp2pp2-slow-rank", "tp2dp2pp2-slow-sender"):
            self.run_program("ingest", TOP / "fixtures" / name)
        self.assertEqual({(finding["run"], finding["kind"], finding["rank"]) for finding in self.sure()},
                         {(1, "compute", 1), (2, "network", 1)})
        self.assertEqual([row["run"] for row in self.json("diagnose")["coverage"]], [1, 2])

    def test_wrong_usage(self):
        self.ingest_fixture("copy-engine")
        for words in (["--min-gain", "x"], ["--min-gain", "-1"], ["--min-gain", "101"], ["--sigmas", "-1"],
                      ["--sigmas", "1e9"], ["--sigmas", ""]):
            with self.subTest(words=words):
                result = self.run_program("diagnose", *words, status=2)
                self.assertEqual((result.out, result.err.count("\n")), ("", 1))

    def check_unjudged(self, warning):
        """A store with nothing to analyze does not look like a healthy job, neither in text nor in JSON."""
        answer = self.json("diagnose", status=1)
        self.assertEqual((answer["findings"], answer["warnings"]), ([], [warning]))
        for words in ([], ["--all"], ["--exit-code"]):
            result = self.run_program("diagnose", *words, status=4 if words == ["--exit-code"] else 1)
            *headline, note = result.verdict.splitlines()
            self.assertEqual(note, f"note: {warning}")
            self.assertTrue(all(line.startswith("not enough data: ") for line in headline), headline)
            self.assertEqual(result.err, "" if words == ["--exit-code"] else "ncclprof: nothing could be analyzed\n")
        self.assertIn(warning, self.run_program("diagnose", "--format", "csv", status=1).err)

    def test_nothing_ingested(self):
        self.write("empty.txt", "")
        self.write(self.store, "") # ingest creates a store from it, but not from a missing file
        self.run_program("ingest", "empty.txt", status=None)
        warning = "the store contains no operations, so nothing was analyzed"
        self.check_unjudged(warning)
        for words in (["report"], ["stragglers"], ["stalls"], ["stalls", "--matrix"], ["stalls", "--states"], ["clocks"]):
            self.assertEqual(self.json(*words)["warnings"], [warning], words)

    def test_nothing_but_tags(self):
        self.ingest_fixture("tags-unescaped")
        self.check_unjudged("the trace contains no operations, so nothing was analyzed")
        # With another run in the store, the store is analyzed.
        self.run_program("ingest", TOP / "fixtures/tp2dp2pp2-clean")
        self.assertIn("no problem found", self.run_program("diagnose").out)
        operations = {row["run"]: row["operations"] for row in self.json("diagnose")["coverage"]}
        self.assertEqual(sorted(count > 0 for count in operations.values()), [False, True])
        for run, count in operations.items():
            self.run_program("diagnose", "--run", run, status=0 if count else 1)
