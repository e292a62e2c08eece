"""steps: lengths, communication and waiting computed anew from a fixture; phases and findings against what was planted."""

import collections
import statistics

from tests.cli import reader
from tests.cli.support import TOP, Case, trace


def union(intervals):
    """Time that at least one of them covers."""
    total, end = 0, float("-inf")
    for begin, stop in sorted(intervals):
        begin = max(begin, end)
        if stop > begin:
            total, end = total + stop - begin, stop
    return total


class Steps(Case):
    def test_figures_by_definition(self):
        """On a job without trees, whose ends durations tell."""
        folder = TOP / "fixtures/tp2dp2pp2-slow-rank"
        job = reader.Job(folder)
        ranks = sorted({operation.rank for operation in job.operations})
        of_step = {(rank, step): [o for o in job.of_rank(rank) if o.step == step] for rank in ranks for step in range(10)}
        rows = self.json("steps", folder)["rows"]
        self.assertEqual([row["step"] for row in rows], list(range(9)))
        for row in rows:
            step = row["step"]
            covered = [union([(o.gpu_start, o.gpu_stop) for o in job.operations
                              if o.rank == rank and o.step == step and o.has_gpu_times]) for rank in ranks]
            self.assertAlmostEqual(row["communication_us"], statistics.mean(covered) / 1e3, delta=1)
            waits = collections.Counter()
            for instance in job.instances:
                if (instance.step == step and instance.is_complete and instance.function in reader.FULL_EXCHANGES | {"Send"}
                        and all(member.has_gpu_times for member in instance.members)):
                    last = min(instance.members, key=lambda member: member.duration)
                    waits[last.rank] += sum(member.duration - last.duration for member in instance.members)
            self.assertAlmostEqual(row["waiting_us"], sum(waits.values()) / len(ranks) / 1e3, delta=1)
            self.assertEqual(row["last_rank"], waits.most_common(1)[0][0])
            self.assertAlmostEqual(row["waited_for_us"], waits.most_common(1)[0][1] / 1e3, delta=1)
            lengths = []
            for rank in ranks:  # between its first operations in both whose starts are known
                both = zip(of_step[rank, step], of_step[rank, step + 1])
                lengths += [b.gpu_start - a.gpu_start for a, b in both if a.gpu_start and b.gpu_start][:1]
            if lengths and step:  # step 0 begins with operations that no other has
                # Which of them stands first in a step is told by their usual order: any will do to some us.
                length_us = statistics.median_low(lengths) / 1e3
                self.assertAlmostEqual(row["duration_us"], length_us, delta=0.005 * length_us)
            elif not lengths:
                self.assertIsNone(row["duration_us"])

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
        # Phases share a step out without a rest.
        self.assertAlmostEqual(sum(row["duration_us"] for row in phases), some[1]["duration_us"],
                               delta=0.05 * some[1]["duration_us"])

    def test_what_cannot_be_told(self):
        self.write("a.json", trace(count=1))
        result = self.json("steps", "a.json")
        self.assertIn("run 1: no training steps could be told apart", result["warnings"])
        result = self.json("steps", TOP / "fixtures/dialect-2.23.4", status=None)
        self.assertTrue(any("no operation says when it ran" in warning for warning in result["warnings"])
                        or all(row["communication_us"] is None for row in result["rows"]))

    def test_wrong_values(self):
        self.write("a.json", trace())
        for words in (["--by", "rank"], ["--step", "x"], ["--step", "3-"], ["--step", "5-4"], ["--step", "-1"],
                      ["--step", "1-2-3"], ["--step", "99999999999999999999"]):
            with self.subTest(words=words):
                self.run_program("steps", *words, "a.json", status=2)
