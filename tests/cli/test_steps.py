"""steps: durations, communication and waiting recomputed from a fixture; phases and findings compared with the planted
faults.
"""

import collections
import shutil
import statistics

from tests.cli import reader
from tests.cli.support import TOP, Case, trace


class Steps(Case):
    def test_figures_by_definition(self):
        """For a job without trees, in which durations are exact."""
        folder = TOP / "fixtures/tp2dp2pp2-slow-rank"
        job = reader.Job(folder)
        ranks = sorted({operation.rank for operation in job.operations})
        of_step = {(rank, step): [o for o in job.of_rank(rank) if o.step == step] for rank in ranks for step in range(10)}
        rows = self.json("steps", folder)["rows"]
        self.assertEqual([row["step"] for row in rows], list(range(9)))
        for row in rows:
            step = row["step"]
            waits = collections.Counter()
            for instance in job.instances:
                if (instance.step == step and instance.is_complete and instance.function in reader.FULL_EXCHANGES | {"Send"}
                        and all(member.has_gpu_times for member in instance.members)):
                    last = min(instance.members, key=lambda member: member.duration)
                    waits[last.rank] += sum(member.duration - last.duration for member in instance.members)
            self.assertEqual(row["last_rank"], waits.most_common(1)[0][0])
            self.assertAlmostEqual(row["waited_for_us"], waits.most_common(1)[0][1] / 1e3, delta=1)
            lengths = []
            for rank in ranks:  # between the rank's first operations of both steps, if both starts are known
                both = zip(of_step[rank, step], of_step[rank, step + 1])
                lengths += [b.gpu_start - a.gpu_start for a, b in both if a.gpu_start and b.gpu_start][:1]
            if lengths and step:  # step 0 starts with operations that no other step has
                # Their usual order decides which of them is first in a step: for a few us, any is correct.
                length_us = statistics.median_low(lengths) / 1e3
                self.assertAlmostEqual(row["duration_us"], length_us, delta=0.005 * length_us)
            elif not lengths:
                self.assertIsNone(row["duration_us"])

    def check_times(self, job, rows):
        """Communication and waiting of each step: their shares of the time of all ranks in it, where known."""
        ranks = sorted({operation.rank for operation in job.operations})
        for row in rows:
            times = [time for time in (job.times(rank, row["step"]) for rank in ranks) if time]
            if row["duration_us"] is None:
                communication, waiting = (statistics.mean(time[place] for time in times) / 1e3 for place in (1, 2))
            else:
                lasted, communication, waiting = (sum(time[place] for time in times if time[0]) for place in range(3))
                communication, waiting = (row["duration_us"] * part / lasted for part in (communication, waiting))
                self.assertLessEqual(row["communication_us"], row["duration_us"])
            self.assertLessEqual(row["waiting_us"], row["communication_us"])
            if not row["step"]:  # it starts with operations that no other step has
                continue
            # Their usual order decides which of them is first in a step: for a few us, any is correct.
            allowed = 1 + 0.005 * communication
            self.assertAlmostEqual(row["communication_us"], communication, delta=allowed, msg=row["step"])
            self.assertAlmostEqual(row["waiting_us"], waiting, delta=allowed, msg=row["step"])

    def test_times_by_definition(self):
        """Operations that follow each other, and operations that overlap, in a step and from one step to the next."""
        folder = TOP / "fixtures/tp2dp2pp2-slow-rank"
        self.check_times(reader.Job(folder), self.json("steps", folder)["rows"])
        for shape in ("fsdp --ranks 4", "ddp --ranks 8 --fault compute:3:5:6:30%"):
            with self.subTest(shape=shape):
                self.simulate(f"--shape {shape} --per-node 4 --steps 8 --dialect chrome-v7 --seed 5")
                self.check_times(reader.Job(self.folder / "traces"), self.json("steps", "traces")["rows"])
                shutil.rmtree(self.folder / "traces")

    def check_shares(self, *paths):
        """Wait time is part of communication, and communication part of the step; the same for the whole job and each rank,
        in the job's summary.
        """
        self.run_program("--store", "x.db", "ingest", "-q", *paths, status=None)
        for row in self.json("--store", "x.db", "steps", status=None)["rows"]:
            parts = [row[key] for key in ("waiting_us", "communication_us", "duration_us") if row[key] is not None]
            self.assertEqual(parts, sorted(parts), paths)
        for row in self.json("--store", "x.db", "steps", "--map", status=None)["rows"]:
            parts = [row[key] for key in ("waiting_us", "duration_us") if row[key] is not None]
            self.assertEqual(parts, sorted(parts), paths)
        summary = self.json("--store", "x.db", "diagnose", status=None)["summary"]
        shares = [summary[key] for key in ("waiting_share", "communication_share") if summary[key] is not None]
        self.assertEqual([0, *shares, 1], sorted([0, *shares, 1]), paths)
        (self.folder / "x.db").unlink()
        return summary

    def test_experts_and_interleaved_pipelines(self):
        """Groups of sends and receives, one forward and one backward in turn, from recorders with durations only: all at the
        same time.
        """
        for shape in ("moe --ranks 8 --hot-expert 80:3", "1f1b --tp 1 --dp 2 --pp 4 --microbatches 8"):
            for dialect in ("chrome-v7", "inspector-2.30", "kineto"):
                with self.subTest(shape=shape, dialect=dialect):
                    self.simulate(f"--shape {shape} --per-node 4 --steps 8 --dialect {dialect} --seed 7")
                    self.assertGreater(self.check_shares("traces")["waiting_share"], 0.05)
                    shutil.rmtree(self.folder / "traces")

    def test_no_share_is_more_than_the_whole(self):
        """For every fixture."""
        for folder in sorted((TOP / "fixtures").iterdir()):
            self.check_shares(folder)

    def test_planted_fault(self):
        self.simulate("--shape ddp --ranks 8 --per-node 4 --steps 12 --dialect chrome-v7 --seed 3 --fault compute:3:5:7:20%:backward")
        self.run_program("ingest", "traces")
        rows = self.json("steps")["rows"]
        self.assertEqual({row["step"] for row in rows if row["finding"]}, {5, 6, 7})
        for row in rows:
            if row["finding"]:
                self.assertEqual((row["finding"], row["last_rank"], row["tag"]), ("compute, rank 3", 3, "backward"))
                self.assertGreater(row["longer_us"], 0.1 * row["duration_us"])
        begins = [row["begin_us"] for row in rows]
        self.assertEqual(begins[0], 0)
        self.assertEqual(begins, sorted(begins))
        some = self.json("steps", "--step", "5-7")["rows"]
        self.assertEqual([row["step"] for row in some], [5, 6, 7])
        self.assertEqual([row["step"] for row in self.json("steps", "--step", "6")["rows"]], [6])
        phases = self.json("steps", "--by", "tag", "--step", "6")["rows"]
        self.assertEqual(max(phases, key=lambda row: row["longer_us"])["tag"], "backward")
        # The exposed parts of the phases add up to the step.
        self.assertAlmostEqual(sum(row["exposed_us"] for row in phases), some[1]["duration_us"],
                               delta=0.05 * some[1]["duration_us"])

    def test_what_cannot_be_told(self):
        self.write("a.json", trace(count=1))
        result = self.json("steps", "a.json")
        self.assertIn("no training steps detected", result["warnings"])
        result = self.json("steps", TOP / "fixtures/dialect-2.23.4", status=None)
        self.assertTrue(any("no operation says when it ran" in warning for warning in result["warnings"])
                        or all(row["communication_us"] is None for row in result["rows"]))

    def test_wrong_values(self):
        self.write("a.json", trace())
        for words in (["--by", "ranks"], ["--all"], ["--by", "rank", "--map"], ["--step", "x"], ["--step", "3-"], ["--step", "5-4"], ["--step", "-1"],
                      ["--step", "1-2-3"], ["--step", "99999999999999999999"]):
            with self.subTest(words=words):
                self.run_program("steps", *words, "a.json", status=2)
