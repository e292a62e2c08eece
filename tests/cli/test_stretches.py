"""Jobs whose steps change: recreated communicators, batches that grow, longer sequences, filtered records.
Each regular part is analyzed, steps are counted through, and no rank is accused because of the change itself.
"""

import random

from tests.cli.inspector_lines import EPOCH_US, collective, identity, text
from tests.cli.support import Case

REDUCE, GATHER = ("AllReduce", 4 << 20), ("AllGather", 4 << 20)
PLAIN, TWICE, FOURFOLD = [REDUCE, GATHER], 2 * [REDUCE] + [GATHER], 4 * [REDUCE] + [GATHER]
ALL = range(4)
LATE_US = 3000


class Player:
    """Writes the operations of ranks in the layout of NVIDIA's Inspector logs (v4.0). Ranks wait for each other in every
    collective.
    """

    def __init__(self, ranks):
        self.free_us = [EPOCH_US] * ranks
        self.lines = [[] for _ in range(ranks)]
        self.numbers, self.chance, self.step = {}, random.Random(7), 0

    def call(self, communicator, members, function, size, late, own_us, lost):
        number = self.numbers.setdefault((communicator, function), 0)
        self.numbers[communicator, function] += 1
        begin_us = {rank: self.free_us[rank] + own_us + self.chance.randrange(15) + late.get(rank, 0) for rank in members}
        end_us = max(begin_us.values()) + 500
        for place, rank in enumerate(members):
            if rank not in lost:
                who = identity("v4.0", communicator, place, len(members), 100 + rank, "node0", end_us)
                record = collective("v4.0", function, number, self.free_us[rank] - 200, begin_us[rank], end_us, size)
                self.lines[rank].append(text(who | record))
            self.free_us[rank] = end_us

    def stretch(self, steps, communicator, programme, faults, members=ALL, own_us=1000, filtered=0, lost=()):
        """`filtered`: this many small collectives at the end of each step are omitted by the recorder on all ranks."""
        for _ in range(steps):
            late = {rank: LATE_US for rank, first, last in faults if first <= self.step <= last}
            for place, (function, size) in enumerate(programme):
                gone = {rank for rank in lost if self.chance.random() < 0.05}
                self.call(communicator, members, function, size, {} if place else late, own_us, gone)
            for _ in range(filtered):
                self.call(communicator, members, "AllReduce", 8, {}, 100, set(members))
            self.step += 1

    def pause(self):
        self.free_us = [at_us + 600000 for at_us in self.free_us]


class Stretches(Case):
    def play(self, *stretches, faults=(), ranks=4, **more):
        player = Player(ranks)
        for stretch in stretches:
            player.stretch(*stretch[:3], faults, *stretch[3:], **more)
            player.pause()
        self.store.unlink(missing_ok=True)
        for rank, lines in enumerate(player.lines):
            self.write(f"logs/node0-pid{100 + rank}.log", "".join(lines))
        self.run_program("ingest", "-q", "logs")
        return self.json("diagnose")

    def check(self, *stretches, faults=(), **more):
        found = self.play(*stretches, faults=faults, **more)
        self.assertEqual(sorted((finding["rank"], finding["first_step"], finding["last_step"], finding["kind"])
                                for finding in found["findings"] if finding["confidence"] != "low"),
                         sorted((*fault, "compute") for fault in faults))
        self.assertEqual(found["coverage"][0]["steps"], sum(stretch[0] for stretch in stretches))
        return found

    def check_each(self, stretches, faults, **more):
        """Every fault alone, all together, and none."""
        for these in ([], *([fault] for fault in faults), faults):
            with self.subTest(faults=these):
                self.check(*stretches, faults=these, **more)

    def test_communicators_made_anew(self):
        """Independent of their hashes: members and order show which communicator succeeds which."""
        for hashes in ((1, 2), (9, 3)):
            self.check_each([(30, hashes[0], PLAIN), (45, hashes[1], PLAIN)], [(3, 10, 19), (1, 50, 59)])

    def test_made_anew_twice_and_in_the_middle_of_a_fault(self):
        self.check_each([(30, 1, PLAIN), (25, 2, PLAIN), (30, 3, PLAIN)], [(2, 25, 34), (0, 70, 79)])

    def test_with_other_steps_than_before(self):
        self.check_each([(40, 1, PLAIN), (50, 2, TWICE)], [(1, 10, 19), (2, 60, 69)])

    def test_with_fewer_ranks(self):
        """Rank 1 is no longer there."""
        self.check_each([(40, 1, PLAIN), (50, 2, PLAIN, (0, 2, 3))], [(1, 10, 19), (3, 60, 69)])

    def test_one_rank_takes_the_place_of_another(self):
        """No communicator contains all ranks, so they have no global numbers, but steps are the same on all."""
        found = self.play((40, 1, PLAIN), (50, 2, PLAIN, (0, 4, 2, 3)), faults=[(1, 10, 19), (4, 60, 69)], ranks=5)
        self.assertEqual(sorted((finding["process"], finding["first_step"], finding["last_step"]) for finding in found["findings"]),
                         [("node0:101", 10, 19), ("node0:104", 60, 69)])

    def test_batches_that_ramp_up(self):
        self.check_each([(40, 1, PLAIN), (40, 1, TWICE), (40, 1, FOURFOLD)], [(1, 10, 19), (2, 50, 59), (3, 100, 109)])
        self.check((12, 1, PLAIN), (60, 1, TWICE), faults=[(1, 3, 8)])

    def test_a_fault_across_a_change(self):
        self.check((40, 1, PLAIN), (40, 1, TWICE), faults=[(1, 35, 44)])
        self.check((20, 1, PLAIN), (20, 1, TWICE), (40, 1, FOURFOLD), faults=[(1, 10, 49)])

    def test_sequences_that_become_longer(self):
        sizes = [(40, 1, [("AllReduce", size << 20), ("AllGather", size << 20)]) for size in (2, 4, 8)]
        self.check_each(sizes, [(1, 10, 19), (2, 50, 59), (0, 100, 109)])

    def test_work_that_grows_between_the_same_operations(self):
        """Twice and four times as long as at the beginning, on all ranks."""
        for fault in ((), (1, 5, 12), (2, 30, 37), (3, 55, 62)):
            faults = [fault] if fault else []
            player = Player(4)
            for own_us in (4000, 8000, 16000):
                player.stretch(25, 1, PLAIN, faults, own_us=own_us)
            self.store.unlink(missing_ok=True)
            for rank, lines in enumerate(player.lines):
                self.write(f"logs/node0-pid{100 + rank}.log", "".join(lines))
            self.run_program("ingest", "-q", "logs")
            found = self.json("diagnose")["findings"]
            self.assertEqual([(finding["rank"], finding["first_step"], finding["last_step"])
                              for finding in found if finding["confidence"] != "low"], faults)

    def test_an_evaluation_in_between(self):
        """Steps with other operations, and enough of them to form a part of their own."""
        evaluation = [("AllGather", 1 << 20), ("Broadcast", 1 << 18)]
        self.check((40, 1, PLAIN), (20, 1, evaluation), (40, 1, PLAIN), faults=[(1, 10, 19), (2, 80, 89)])

    def test_equal_calls_between_what_a_filter_leaves_out(self):
        """Two or three AllReduces per step and a small one that is not recorded: only its sequence number is missing."""
        for calls in (2, 3):
            found = self.check((60, 1, calls * [REDUCE]), faults=[(1, 20, 29)], filtered=1)
            self.assertEqual(found["coverage"][0]["left_out_operations"], 4 * 59)

    def test_gaps_of_some_recorders(self):
        self.check((40, 1, PLAIN), (60, 2, PLAIN), faults=[(1, 10, 19)], lost=(0, 2))
        self.check((40, 1, PLAIN), (60, 1, TWICE), faults=[(1, 10, 19)], lost=(3,))

    def test_split_communicators_made_anew_while_another_lives_on(self):
        faults = [(5, 10, 19), (2, 50, 59)]
        player = Player(8)
        for step in range(80):
            first = 1000 if step < 30 else 2000
            late = {rank: LATE_US for rank, begin, end in faults if begin <= step <= end}
            for pair in range(4):
                player.call(first + pair, (2 * pair, 2 * pair + 1), *REDUCE, late, 1000, ())
            for half in range(2):
                player.call(first + 100 + half, range(half, 8, 2), "ReduceScatter", 8 << 20, {}, 1000, ())
            player.call(7, range(8), "AllReduce", 8, {}, 100, ())
            if step == 29:
                player.pause()
        for rank, lines in enumerate(player.lines):
            self.write(f"logs/node0-pid{100 + rank}.log", "".join(lines))
        self.run_program("ingest", "-q", "logs")
        found = self.json("diagnose")["findings"]
        self.assertEqual(sorted((finding["rank"], finding["first_step"], finding["last_step"])
                                for finding in found if finding["confidence"] != "low"), sorted(faults))
