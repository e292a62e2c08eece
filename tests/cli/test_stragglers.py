"""stragglers: every wait is attributed, recomputed from the fixtures; verdicts only on ranks at fault."""

import collections
import json

from tests.cli import reader
from tests.cli.support import TOP, Case, kernel

SHARES = ("own_us", "inherited_us", "network_us", "unexplained_us")

# GPU clocks tick in 32 ns; the channels of one kernel start and stop a few ticks apart.
TICKS_NS = 128


class Waiting:
    """How long others waited for each rank, by definition: durations minus the shortest one, attributed to the rank with the shortest.
    If two are equally short, within a few ticks, either may have arrived last: `least` omits such an operation, `most`
    attributes it to both. The same for trees, in which durations show little (a leaf stops when it has passed its data on):
    nothing in `least`; in `most`, all the time until the next operation of each rank.
    """

    def __init__(self, job):
        self.least, self.most = collections.Counter(), collections.Counter()
        self.last_least, self.last_most = collections.Counter(), collections.Counter()
        self.instances = collections.Counter()
        self.total = self.trees = 0
        next_start = job.next_starts()
        for instance in job.instances:
            members = instance.members
            if (instance.function not in reader.FULL_EXCHANGES or not instance.is_complete
                    or not all(member.has_gpu_times for member in members)):
                continue
            if members[0].algorithm == "TREE":
                self.add_tree(members, sum(next_start.get(member, member.gpu_stop) - member.gpu_start
                                           for member in members))
                continue
            waits = sum(member.duration - instance.transfer for member in members)
            last = [member.rank for member in members if member.duration <= instance.transfer + TICKS_NS]
            self.total += waits
            self.instances.update(member.rank for member in members)
            for rank in last:
                self.most[rank] += waits
                self.last_most[rank] += 1
            if len(last) == 1:
                self.least[last[0]] += waits
                self.last_least[last[0]] += 1

    def add_tree(self, members, waits):
        self.trees += waits
        for member in members:
            self.instances[member.rank] += 1
            self.most[member.rank] += waits
            self.last_most[member.rank] += 1


class Stragglers(Case):
    def check_conservation(self, name):
        folder = TOP / "fixtures" / name
        self.run_program("ingest", folder)
        waiting = Waiting(reader.Job(folder))
        rows = self.json("stragglers")["rows"]
        self.assertTrue(waiting.total > 0)
        for row in rows:
            rank, booked = row["rank"], sum(row[share] for share in SHARES) * 1e3
            doubt = TICKS_NS * row["instances"]
            self.assertTrue(waiting.least[rank] - doubt <= booked <= waiting.most[rank] + doubt, (row, waiting.least[rank]))
            self.assertTrue(waiting.last_least[rank] <= row["times_last"] <= waiting.last_most[rank], row)
            self.assertEqual(row["instances"], waiting.instances[rank])
            self.assertTrue(all(row[share] >= 0 for share in SHARES))
        total, doubt = sum(row[share] for row in rows for share in SHARES) * 1e3, TICKS_NS * waiting.instances.total()
        self.assertTrue(waiting.total - doubt <= total <= waiting.total + waiting.trees + doubt)
        return rows, waiting

    def check_against_sql(self):
        """The same total with plain SQL: the longest duration in v_operation, the shortest in v_instance."""
        (waited,), = self.rows("SELECT sum(o.duration_us - i.transfer_us) FROM v_operation o JOIN v_instance i "
                               "USING (instance_id) WHERE i.members = i.expected AND i.last_rank IS NOT NULL "
                               "AND o.end_source = 'kernel'")
        rows = self.json("stragglers")["rows"]
        self.assertAlmostEqual(sum(row[share] for row in rows for share in SHARES), waited,
                               delta=TICKS_NS / 1e3 * sum(row["instances"] for row in rows))

    def test_every_wait_is_booked_once(self):
        for name in ("tp2dp2pp2-clean", "tp2dp2pp2-slow-rank", "tp2dp2pp2-slow-sender", "tp2dp2pp2-hang",
                     "fsdp-clean"):
            with self.subTest(fixture=name):
                self.store.unlink(missing_ok=True)
                if not self.check_conservation(name)[1].trees:
                    self.check_against_sql()

    def test_what_goes_back_to_ranks_is_own_or_inherited(self):
        """Propagation loses nothing: the sum of what all ranks caused is the sum of own and inherited."""
        for name in ("tp2dp2pp2-slow-rank", "tp2dp2pp2-clean"):
            self.store.unlink(missing_ok=True)
            self.run_program("ingest", TOP / "fixtures" / name)
            rows = self.json("stragglers")["rows"]
            self.assertAlmostEqual(sum(row["caused_us"] for row in rows),
                                   sum(row["own_us"] + row["inherited_us"] for row in rows), delta=0.1)

    def test_pipes_keep_all_columns(self):
        """A terminal of 80 columns has no room for all; a pipe has."""
        self.run_program("ingest", TOP / "fixtures/tp2dp2pp2-slow-rank")
        names = [column["name"] for column in self.json("stragglers")["columns"] if column["name"] not in ("process", "run")]
        heads = [name.removesuffix("_us") for name in names]
        self.assertEqual(self.run_program("stragglers").out.splitlines()[0].split(), heads)
        self.assertIn("Hidden columns", self.run_on_terminal("stragglers"))

    def test_none_is_last_in_a_tie(self):
        """Ranks 0 and 1 of three arrive last together, in each operation."""
        for rank in range(3):
            begin = {0: 50, 1: 50, 2: 0}[rank]
            lines = [kernel(number, rank, 7, rank, "0x1", 1000 * number, 1000 * number + begin, 1000 * number + 100)
                     for number in range(1, 4)]
            self.write(f"tie/{rank}.json", "[\n" + "".join(lines) + "{}]\n")
        self.ingest("tie")
        self.assertEqual({row["rank"]: row["times_last"] for row in self.json("stragglers")["rows"]}, {0: 0, 1: 0, 2: 0})
        self.assertEqual(set(self.rows("SELECT last_rank, margin_us FROM v_instance")), {(None, 0.0)})
        self.assertEqual({(row["last_rank"], row["waited_for_us"]) for row in self.json("steps")["rows"]}, {(None, None)})

    def test_the_slow_rank_comes_first(self):
        rows, _ = self.check_conservation("tp2dp2pp2-slow-rank")
        first = rows[0]
        self.assertEqual((first["rank"], first["kind"], first["confidence"]), (1, "compute", "high"))
        self.assertLessEqual(abs(first["first_step"] - 4), 1)
        self.assertLessEqual(abs(first["last_step"] - 8), 1)
        self.assertEqual([row["kind"] for row in rows[1:]], [None] * 7)
        self.assertGreater(first["own_us"], 10 * max(row["own_us"] for row in rows[1:]))
        # Its tensor-parallel partner was late because of it.
        partner = next(row for row in rows if row["rank"] == 0)
        self.assertEqual(partner["inherited_from"], "1")
        self.assertGreater(partner["inherited_us"], partner["own_us"])

    def test_nobody_stands_out_in_health(self):
        for name in ("tp2dp2pp2-clean", "fsdp-clean"):
            with self.subTest(fixture=name):
                self.store.unlink(missing_ok=True)
                self.run_program("ingest", TOP / "fixtures" / name)
                rows = self.json("stragglers")["rows"]
                self.assertEqual(len(rows), 8)
                for row in rows:
                    self.assertEqual([row[key] for key in ("kind", "tag", "first_step", "last_step", "confidence")],
                                     [None] * 5)

    def test_a_slow_network_is_nobodys_own_time(self):
        self.run_program("ingest", TOP / "fixtures/tp2dp2pp2-slow-sender")
        first, *others = self.json("stragglers")["rows"]
        self.assertEqual((first["rank"], first["kind"], first["confidence"]), (1, "network", "high"))
        self.assertEqual([row["kind"] for row in others], [None] * 7)
        # The rank at fault comes first because of the verdict: its own time is not among the longest.
        self.assertLess(first["own_us"], max(row["own_us"] for row in others))

    def test_thresholds(self):
        self.run_program("ingest", TOP / "fixtures/tp2dp2pp2-slow-rank")
        rows = self.json("stragglers", "--min-gain", "100")["rows"]
        self.assertEqual([row["kind"] for row in rows], [None] * 8)
        for words in (["--min-gain", "101"], ["--min-gain", "-1"], ["--sigmas", "x"], ["--sigmas", "nan"]):
            self.run_program("stragglers", *words, status=2)

    def test_durations_alone_tell_who_came_last(self):
        """Inspector's terse lines have durations but no times: recomputed from the lines."""
        folder = TOP / "fixtures/inspector-pr2045"
        durations = collections.defaultdict(dict)
        for path in folder.glob("*.log"):
            for line in path.read_text().splitlines():
                record = json.loads(line)
                header, operation = record["header"], record["coll_perf"]
                of = (header["id"], header["n_ranks"], operation["coll"], operation["coll_sn"])
                durations[of][path, header["rank"]] = operation["coll_exec_time_us"]
        waited, last, seen = 0, 0, collections.Counter()
        for (_, ranks, function, _), of_rank in durations.items():
            if function in reader.FULL_EXCHANGES and len(of_rank) == ranks > 1:
                waited += sum(of_rank.values()) - ranks * min(of_rank.values())
                last += 1
                seen.update(path for path, _ in of_rank)
        self.run_program("ingest", folder)
        answer = self.json("stragglers")
        self.assertGreater(waited, 0)
        self.assertEqual(sum(row["unexplained_us"] for row in answer["rows"]), waited)
        self.assertEqual(sum(row["times_last"] for row in answer["rows"]), last)
        self.assertEqual(sorted(row["instances"] for row in answer["rows"]), sorted(seen.values()))
        self.assertEqual({row[share] for row in answer["rows"] for share in SHARES[:3]}, {0})
        self.assertIn("but not why", answer["warnings"][0])

    def test_who_is_waited_for_most_comes_first(self):
        """Ranks whose delay has no visible cause, as with durations alone."""
        self.run_program("ingest", TOP / "fixtures/inspector-pr2045")
        waited = [row["unexplained_us"] for row in self.json("stragglers")["rows"]]
        self.assertEqual(waited, sorted(waited, reverse=True))
        self.assertGreater(waited[0], waited[-1])

    def test_without_durations_it_says_so(self):
        self.run_program("ingest", TOP / "fixtures/dialect-2.23.4")
        answer = self.json("stragglers")
        self.assertIn("cannot be determined", answer["warnings"][0])
        self.assertTrue(all(row["instances"] == 0 for row in answer["rows"]))
