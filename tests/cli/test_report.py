"""report against figures computed by definition from a second reading of the fixtures."""

import collections
import itertools

from tests.cli import reader
from tests.cli.support import TOP, Case

KEYS = {
    "tag": lambda instance, member: instance.tag,
    "function": lambda instance, member: instance.function,
    "communicator": lambda instance, member: instance.communicator,
    "size": lambda instance, member: instance.bytes,
    "algorithm": lambda instance, member: member.algorithm,
    "protocol": lambda instance, member: member.protocol,
    "rank": lambda instance, member: member.rank,
    "step": lambda instance, member: instance.step,
}
COLUMNS = {"size": "size_bytes"}


def grouped(job, keys):
    """Instances and number of records by the values of the keys."""
    groups = collections.defaultdict(lambda: [set(), []])
    for instance in job.instances:
        for member in instance.members:
            group = groups[tuple(KEYS[key](instance, member) for key in keys)]
            group[0].add(instance)
            group[1].append((instance, member))
    return groups


def figures_of_rank(members):
    """For one rank, its own durations count, and their excess over the transfer time."""
    timed = [(i, m.duration) for i, m in members if m.duration is not None]
    return {
        "transfer_us_p50": reader.nearest_rank([i.transfer for i, _ in members], 0.5) / 1e3,
        "effective_us_p50": reader.nearest_rank([duration for _, duration in timed], 0.5) / 1e3,
        "effective_us_p99": reader.nearest_rank([duration for _, duration in timed], 0.99) / 1e3,
        "effective_busbw_gbs_p50": reader.nearest_rank([i.busbw(duration) for i, duration in timed], 0.5),
        "wait_us_p50": reader.nearest_rank([duration - i.transfer for i, duration in timed], 0.5) / 1e3,
    }


def figures(instances):
    transfers = [instance.transfer for instance in instances]
    effectives = [instance.effective for instance in instances]
    return {
        "transfer_us_p50": reader.nearest_rank(transfers, 0.5) / 1e3,
        "effective_us_p50": reader.nearest_rank(effectives, 0.5) / 1e3,
        "effective_us_p99": reader.nearest_rank(effectives, 0.99) / 1e3,
        "transfer_busbw_gbs_p50": reader.nearest_rank([i.busbw(i.transfer) for i in instances], 0.5),
        "effective_busbw_gbs_p50": reader.nearest_rank([i.busbw(i.effective) for i in instances], 0.5),
    }


class Report(Case):
    def check(self, job, keys, words):
        rows = self.json("report", *words)["rows"]
        expected = grouped(job, keys)
        found = {tuple(row[COLUMNS.get(key, key)] for key in keys): row for row in rows}
        self.assertEqual(len(found), len(rows))
        self.assertEqual(set(found), set(expected))
        for values, (instances, members) in expected.items():
            row = found[values]
            self.assertEqual((row["instances"], row["operations"], row["bytes"]),
                             (len(instances), len(members), sum(instance.bytes for instance in instances)), values)
            for name, figure in (figures_of_rank(members) if "rank" in keys else figures(instances)).items():
                self.assertAlmostEqual(row[name] / (figure or 1), figure and 1, places=6, msg=f"{values} {name}")

    def check_fixture(self, name):
        folder = TOP / "fixtures" / name
        self.run_program("ingest", folder)
        job = reader.Job(folder)
        self.assertTrue(job.instances)
        self.check(job, ("tag", "function"), ["--by-tag"])
        self.check(job, ("function", "size"), [])
        return job

    def test_clean(self):
        job = self.check_fixture("tp2dp2pp2-clean")
        for count in (1, 2):
            for keys in itertools.combinations(KEYS, count):
                self.check(job, keys, ["--by", ",".join(keys)])
        self.check(job, tuple(KEYS), ["--by", ",".join(KEYS)])
        self.check(job, tuple(KEYS)[::-1], ["--by", ",".join(tuple(KEYS)[::-1])])

    def test_slow_rank(self):
        self.check_fixture("tp2dp2pp2-slow-rank")

    def test_slow_sender(self):
        self.check_fixture("tp2dp2pp2-slow-sender")

    def test_fsdp(self):
        self.check_fixture("fsdp-clean")

    def test_what_the_workload_is_known_to_do(self):
        """4 steps of TP 2 x DP 2 x PP 2 with 2 layers: the fixture's TRUTH and arithmetic, three ways."""
        self.run_program("ingest", TOP / "fixtures/tp2dp2pp2-clean")
        steps, layers, pairs = 4, 2, 4
        expected = {
            ("forward", "AllReduce"): steps * layers * pairs, ("backward", "AllReduce"): steps * layers * pairs,
            ("forward", "Send"): steps * pairs, ("backward", "Send"): steps * pairs,
            ("grad_sync", "ReduceScatter"): steps * pairs, ("grad_sync", "AllGather"): steps * pairs,
            ("optimizer", "AllReduce"): steps,
        }
        rows = self.json("report", "--by-tag")["rows"]
        self.assertEqual({(row["tag"], row["function"]): row["instances"] for row in rows}, expected)
        sql = self.rows("SELECT tag, function, count(*) FROM v_instance GROUP BY 1, 2")
        self.assertEqual({(tag, function): count for tag, function, count in sql}, expected)
        job = reader.Job(TOP / "fixtures/tp2dp2pp2-clean")
        self.assertEqual(collections.Counter((i.tag, i.function) for i in job.instances), expected)
        self.assertTrue(all(instance.is_complete for instance in job.instances))

    def test_groups_come_longest_first_and_steps_in_order(self):
        self.run_program("ingest", TOP / "fixtures/tp2dp2pp2-slow-rank")
        totals = collections.Counter()
        for instance in reader.Job(TOP / "fixtures/tp2dp2pp2-slow-rank").instances:
            totals[instance.tag, instance.function] += instance.effective
        rows = self.json("report", "--by-tag")["rows"]
        self.assertEqual([(row["tag"], row["function"]) for row in rows], [key for key, _ in totals.most_common()])
        rows = self.json("report", "--by", "step")["rows"]
        self.assertEqual([row["step"] for row in rows], list(range(9)))

    def test_equals_come_in_the_order_of_their_keys(self):
        """Independent of the order of the files: ties are broken by the keys, and steps come first."""
        self.run_program("ingest", TOP / "fixtures/tp2dp2pp2-clean")
        rows = self.json("report", "--by", "rank,step")["rows"]
        self.assertEqual([row["step"] for row in rows], sorted(row["step"] for row in rows))
        self.store.unlink()
        self.run_program("ingest", TOP / "fixtures/dialect-2.23.4")
        rows = self.json("report", "--by", "rank")["rows"]
        names = [row["process"] for row in rows]
        self.assertGreater(len(names), 1)
        self.assertEqual({row["effective_us_p50"] for row in rows}, {None})
        self.assertEqual(names, sorted(names))

    def test_ranks_are_numbers_and_have_names(self):
        self.run_program("ingest", TOP / "fixtures/tp2dp2pp2-clean")
        rows = self.json("report", "--by", "rank")["rows"]
        self.assertEqual(sorted(row["rank"] for row in rows), list(range(8)))
        self.assertEqual([row["process"] for row in rows], [str(row["rank"]) for row in rows])
        self.assertNotIn("process", self.run_program("report", "--by", "rank").out)
        self.store.unlink()
        # Nothing joins the files of this fixture: only names distinguish its ranks.
        self.run_program("ingest", TOP / "fixtures/dialect-2.23.4")
        rows = self.json("report", "--by", "rank")["rows"]
        self.assertEqual({row["rank"] for row in rows}, {None})
        self.assertEqual(len({row["process"] for row in rows}), len(rows))
        self.assertIn("process", self.run_program("report", "--by", "rank").out)

    def test_runs_are_kept_apart(self):
        for name in ("tp2dp2pp2-clean", "fsdp-clean"):
            self.run_program("ingest", TOP / "fixtures" / name)
        rows = self.json("report", "--by", "function")["rows"]
        self.assertEqual({(row["run"], row["function"]) for row in rows},
                         {(1, "AllReduce"), (1, "AllGather"), (1, "ReduceScatter"), (1, "Send"), (2, "AllReduce"),
                          (2, "AllGather"), (2, "ReduceScatter")})
        only = self.json("report", "--by", "function", "--run", "2")["rows"]
        self.assertEqual([{**row, "run": 2} for row in only], [row for row in rows if row["run"] == 2])

    def test_hashless_communicators_are_said(self):
        self.run_program("ingest", TOP / "fixtures/dialect-2.23.4")
        answer = self.json("report")
        self.assertIn("no hash", answer["warnings"][0])
        self.assertEqual([row["instances"] for row in answer["rows"]], [4])
        self.run_program("ingest", TOP / "fixtures/tp2dp2pp2-clean")
        self.assertIn("2 communicators have no hash", self.json("report", "--run", "1")["warnings"][0])
        self.assertEqual(self.json("report", "--run", "2")["warnings"], [])

    def test_operations_that_lack_ranks_are_said(self):
        """Rank 2 of the killed job left no file: it may be the rank that others waited for."""
        for fixture, said in (("tp2dp2pp2-kill", True), ("tp2dp2pp2-clean", False)):
            self.store.unlink(missing_ok=True)
            self.run_program("ingest", TOP / "fixtures" / fixture)
            known, = self.rows("SELECT count(*) AS known, sum(members < expected) AS lacking FROM v_instance "
                               "WHERE transfer_us IS NOT NULL")
            warning = f"{known[1]} of {known[0]} operations lack records of some ranks"
            self.assertEqual(any(warning in text for text in self.json("report")["warnings"]), said, (fixture, known))
            self.assertEqual(known[1] > 0, said)

    def test_wrong_usage(self):
        self.run_program("ingest", TOP / "fixtures/copy-engine")
        for words in (["--by", "colour"], ["--by", ""], ["--by", "tag,tag"], ["--by"],
                      ["--by", "rank", "--by-tag"], ["--by-tag", "--by=function,size"]):
            with self.subTest(words=words):
                self.assertEqual(self.run_program("report", *words, status=2).out, "")
