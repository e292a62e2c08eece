"""clocks on hand-made traces with known offsets, and on fixtures."""

import random

from tests.cli.support import TOP, Case, all_reduce

COMMUNICATOR = 987654321987654321


class Clocks(Case):
    def write_job(self, offsets_us, meetings=60, seed=1, scales=None, jump=0):
        """Ranks join AllReduces of 20 us, each with its own random delay; local = (true - offset) / scale.
        `jump`: the last rank's clock is set back by this amount in the middle.
        """
        draw = random.Random(seed)
        scales = scales or [1] * len(offsets_us)
        files = ["[\n"] * len(offsets_us)
        for number in range(meetings):
            due = 100_000 + 5_000 * number
            comes = [due + draw.expovariate(1 / 200) for _ in offsets_us]
            leave = max(comes) + 20
            for rank, come in enumerate(comes):
                local = [(time - offsets_us[rank]) / scales[rank] for time in (come, leave)]
                if rank == len(offsets_us) - 1 and number * 2 > meetings:
                    local = [time - jump for time in local]
                # The kernel starts 5 us after the operation was enqueued.
                files[rank] += all_reduce(number, rank, 1000 + rank, COMMUNICATOR, local[0] - 5, local[1] - local[0])
        for rank, text in enumerate(files):
            self.write(f"traces/{rank}.json", text + "{}]\n")
        self.run_program("ingest", self.folder / "traces")

    def rows_by_rank(self):
        return {row["rank"]: row for row in self.json("clocks")["rows"]}

    def test_true_offsets_are_inside(self):
        for seed in range(5):
            with self.subTest(seed=seed):
                self.store.unlink(missing_ok=True)
                offsets = [0] + [random.Random(seed).uniform(-90_000, 90_000) for _ in range(3)]
                self.write_job(offsets, seed=seed)
                rows = self.rows_by_rank()
                self.assertEqual(rows[0]["method"], "reference")
                self.assertEqual((rows[0]["offset_us"], rows[0]["uncertainty_us"]), (0, 0))
                for rank, offset in enumerate(offsets[1:], 1):
                    self.assertEqual(rows[rank]["method"], "meetings")
                    self.assertLessEqual(abs(rows[rank]["offset_us"] - offset), rows[rank]["uncertainty_us"] + 0.01)
                    self.assertEqual(rows[rank]["scale"], 1)
                    # Each rank arrived last in some operation by chance, so only the transfer and the smallest skew remain.
                    self.assertLess(rows[rank]["uncertainty_us"], 100)

    def test_a_fast_clock(self):
        self.write_job([0, 5_000], meetings=200, scales=[1, 1.001])
        row = self.rows_by_rank()[1]
        self.assertEqual(row["method"], "meetings")
        self.assertAlmostEqual(row["scale"], 1.001, delta=1e-5)

    def test_a_clock_that_jumps_is_refused(self):
        self.write_job([0, 5_000, -7_000], jump=50_000)
        answer = self.json("clocks")
        refused = [row for row in answer["rows"] if row["method"] == "contradictory"]
        self.assertTrue(refused)
        self.assertTrue(all(row["offset_us"] is None and row["uncertainty_us"] is None for row in refused))
        self.assertIn("no clock offsets agree with", answer["warnings"][0])

    def test_a_tree_that_is_not_told(self):
        """Inspector does not record algorithms: the early stop of a leaf contradicts no clock and hides no late rank."""
        files, truth = self.simulate("--shape 3d --tp 1 --dp 4 --pp 2 --ranks 8 --per-node 4 --layers 4 --steps 12 "
                                     "--fault host:0:5:7:51.9%:optimizer --dialect inspector --seed 831870817")
        self.run_program("ingest", *files)
        rows = self.rows_by_rank()
        self.assertEqual([rows[rank]["method"] for rank in range(8)], ["reference"] + ["shared"] * 3 + ["meetings"] * 4)
        # Simulated hosts agree within a fraction of a millisecond.
        for row in rows.values():
            self.assertLessEqual(abs(row["offset_us"]), row["uncertainty_us"] + 1000)
        (finding,) = [finding for finding in self.json("diagnose")["findings"] if finding["confidence"] != "low"]
        self.assertEqual([finding[key] for key in ("kind", "rank", "first_step", "last_step")], ["host", 0, 5, 7])
        self.assertEqual([(fault["kind"], fault["rank"]) for fault in truth["faults"]], [("host", 0)])

    def test_one_clock_for_one_host(self):
        self.run_program("ingest", TOP / "fixtures/inspector-2.30")
        methods = sorted(row["method"] for row in self.json("clocks")["rows"])
        self.assertEqual(methods, ["reference"] + ["shared"] * 7)

    def test_without_a_link_nothing_is_said(self):
        """The communicator of all ranks has no trace; sends between the two pipeline stages do not link them."""
        traces = (TOP / "fixtures/tp2dp2pp2-kill").glob("dump_*")
        self.run_program("ingest", *sorted(path for path in traces if "_11536980462465552863_" not in path.name))
        methods = [(row["method"], row["offset_us"] is None) for row in self.json("clocks")["rows"]]
        self.assertEqual(sorted(methods), [("meetings", False)] * 2 + [("none", True)] * 4 + [("reference", False)])

    def test_a_rank_without_a_trace_takes_no_other_along(self):
        """The other ranks left no AllReduce before all of them had arrived; this does not need rank 2."""
        self.run_program("ingest", TOP / "fixtures/tp2dp2pp2-kill")
        rows = self.rows_by_rank()
        self.assertEqual(sorted(rows), [0, 1, 3, 4, 5, 6, 7])
        self.assertEqual({row["method"] for row in rows.values()}, {"reference", "meetings"})
        # One machine has one clock: the recorded start times are on it, so the offsets are zero.
        for row in rows.values():
            self.assertLessEqual(abs(row["offset_us"]), row["uncertainty_us"])

    def test_offsets_satisfy_what_ranks_did_together(self):
        """On the recorded job: no rank left a collective before the last rank had enqueued it, within the error bounds."""
        self.run_program("ingest", TOP / "fixtures/tp2dp2pp2-clean")
        clocks = self.rows_by_rank()
        times = {}
        for instance, rank, begin, end in self.rows(
                "SELECT o.instance_id, o.rank, o.enqueue_begin_us, o.device_end_us FROM v_operation o "
                "WHERE o.function IN ('AllReduce', 'AllGather', 'ReduceScatter') AND o.end_source = 'kernel'"):
            offset, doubt = clocks[rank]["offset_us"], clocks[rank]["uncertainty_us"]
            times.setdefault(instance, []).append((begin + offset, end + offset, doubt))
        self.assertGreater(len(times), 50)
        for visits in times.values():
            for come, _, doubt in visits:
                for _, leave, other in visits:
                    self.assertLessEqual(come, leave + doubt + other + 1)
