"""Ranks that left no trace: the others wait for them, or it cannot be determined whether they do."""

from tests.cli.support import Case

JOB = "--shape ddp --ranks 6 --per-node 1 --layers 4 --steps 18 --noise 1 "


class AbsentRanks(Case):
    def lose(self, ranks, options, status=3):
        """What diagnose says of a simulated job without the traces of `ranks`: kinds, ranks and steps of its findings."""
        files, self.truth = self.simulate(options)
        kept = [path for path in files if not any(path.stem.endswith(f"_{rank}") for rank in ranks)]
        if len(kept) == len(files):
            kept = [path for number, path in enumerate(files) if number not in ranks]
        self.assertEqual(len(kept), len(files) - len(ranks))
        self.store.unlink(missing_ok=True)
        self.run_program("ingest", "-q", *kept)
        self.answer = self.json("diagnose", *["--exit-code"] * (status > 0), status=status)
        return [(finding["kind"], finding["candidates"] or finding["ranks"], finding["confidence"], finding["first_step"])
                for finding in self.answer["findings"] if finding["confidence"] != "low"]

    def test_the_culprit_left_no_trace(self):
        for fault, first in ("throttle:4:0:17:50", 1), ("compute:4:7:17:40%", 7), ("host:4:0:17:25%", 1):
            with self.subTest(fault=fault):
                found = self.lose([4], JOB + f"--dialect chrome-v7 --seed 3 --fault {fault}")
                self.assertEqual(found, [("late", [4], "medium", first)])
                finding = self.answer["findings"][0]
                self.assertIn("no data arrived", finding["evidence"])
                self.assertEqual([part for part in self.answer["summary"]["undetermined"] if part["us"] is None], [])

    def test_between_ranks_of_its_host(self):
        """First the receivers get what the ranks between it and them sent, then nothing."""
        job = "--shape ddp --ranks 12 --per-node 6 --layers 3 --steps 18 --noise 1 --compute 3 --dialect chrome-v7 --seed 15 "
        for rank in 6, 9, 11:
            with self.subTest(rank=rank):
                found = self.lose([rank], job + f"--fault throttle:{rank}:0:17:60")
                self.assertEqual(found, [("late", [rank], "medium", 1)])
        for fault in "throttle:8:0:17:60", "gpu-share:8:0:17:60":
            with self.subTest("another rank", fault=fault):
                found = self.lose([9], job + f"--fault {fault}")
                self.assertEqual([row[:2] for row in found], [("compute", [8])])
        with self.subTest("healthy"):
            self.assertEqual(self.lose([9], job, status=0), [])

    def test_only_the_last_network_steps_are_recorded(self):
        """The others were before, so data had arrived."""
        for seed in 21, 22:
            job = f"--shape ddp --ranks 16 --per-node 8 --layers 2 --steps 18 --compute 3 --dialect chrome-v4 --seed {seed}"
            self.assertEqual(self.lose([9], job, status=0), [])

    def test_what_it_cost(self):
        files, truth = self.simulate(JOB + "--dialect chrome-v7 --seed 4 --fault host:2:0:17:25%")
        cost_us = sum(truth["step_us"][1:]) - truth["clean_step_us"] * (len(truth["step_us"]) - 1)
        self.lose([2], JOB + "--dialect chrome-v7 --seed 4 --fault host:2:0:17:25%")
        self.assertLess(abs(self.answer["findings"][0]["lost_us"] - cost_us), 0.4 * cost_us)

    def test_a_healthy_rank_left_no_trace(self):
        for seed in 5, 6:
            self.assertEqual(self.lose([seed - 4], JOB + f"--dialect chrome-v7 --seed {seed}", status=4), [])
            self.assertEqual([part for part in self.answer["summary"]["undetermined"] if part["us"] is None], [])

    def test_another_rank_is_slow(self):
        found = self.lose([1], JOB + "--dialect chrome-v7 --seed 7 --fault compute:4:6:17:20%")
        self.assertEqual([row[:2] for row in found], [("compute", [4])])

    def test_a_slow_host_beside_a_lost_trace(self):
        """The other ranks recorded all of their own operations."""
        options = "--shape 3d --ranks 16 --per-node 4 --tp 2 --dp 4 --pp 2 --layers 2 --steps 16 --noise 1 --compute 3 "
        found = self.lose([9], options + "--dialect kineto --seed 14 --fault throttle:node0:2:14/4:150:*")
        self.assertEqual([row[:2] for row in found], [("compute", [0, 1, 2, 3])])

    def test_one_of_two(self):
        """Data of one may be held up by the other."""
        found = self.lose([2, 3], JOB + "--dialect chrome-v7 --seed 8 --fault host:3:0:17:30%")
        self.assertEqual(found, [("late", [2, 3], "medium", 1)])

    def test_sisters_show_the_wait(self):
        """Without network steps: other groups of ranks do the same at the same time, and their transfers are as fast as ever."""
        tensor = "--shape 3d --ranks 16 --per-node 8 --tp 2 --dp 4 --pp 2 --layers 2 --steps 16 --noise 1 --compute 3 "
        sharded = "--shape hsdp --ranks 16 --per-node 4 --layers 2 --steps 16 --noise 1 --compute 3 "
        for options, rank, steps, recorder in (
            (tensor, 6, "2:14/3", "kineto"),
            (tensor, 9, "6:15", "kineto"),
            (sharded, 5, "0:15", "inspector-2.30"),
        ):
            with self.subTest(options=options, rank=rank):
                found = self.lose([rank], f"{options} --dialect {recorder} --seed 11 --fault throttle:{rank}:{steps}:90")
                first = max(int(steps.split(":")[0]), 1)
                self.assertEqual(found, [("late", [rank], "medium", first)])
                self.assertIn("longer on average than the same operations of other ranks", self.answer["findings"][0]["evidence"])
            with self.subTest("healthy", options=options, rank=rank):
                self.assertEqual(self.lose([rank], f"{options} --dialect {recorder} --seed 12", status=0), [])
            with self.subTest("another rank", options=options, rank=rank):
                found = self.lose([rank], f"{options} --dialect {recorder} --seed 13 --fault throttle:3:5:15:90")
                self.assertEqual([row[:2] for row in found], [("compute", [3])])

    def test_calls_with_several_ranks(self):
        """One kernel sends to and receives from several ranks; calls of other groups tell how long it runs without waiting."""
        ring = "--shape context --ranks 12 --cp 4 --per-node 6 --layers 2 --steps 16 --noise 1 --compute 3 "
        experts = "--shape moe --ranks 16 --per-node 8 --layers 2 --steps 16 --noise 1 --compute 3 "
        for options, rank, recorder in (ring, 9, "chrome-v7"), (ring, 2, "kineto"), (experts, 4, "chrome-v7"):
            job = options + f"--dialect {recorder} "
            with self.subTest(job=job):
                found = self.lose([], job + f"--lose {rank} --seed 31 --fault throttle:{rank}:0:15:60")
                self.assertEqual(found, [("late", [rank], "medium", 1)])
                cost_us = self.answer["findings"][0]["lost_us"]
                truth_us = self.truth["faults"][0]["lost_us"]
                self.assertLess(abs(cost_us - truth_us), 0.4 * truth_us)
            with self.subTest("healthy", job=job):
                self.lose([], job + f"--lose {rank} --seed 32", status=0)
                self.assertEqual([row for row in self.answer["findings"] if row["confidence"] != "low"], [])
            for other in rank ^ 2, rank ^ 1:
                with self.subTest("another rank of its group", job=job, other=other):
                    self.lose([], job + f"--lose {rank} --seed 33 --fault throttle:{other}:0:15:60", status=0)
                    self.assertNotIn(("late", "medium"), [(row["kind"], row["confidence"]) for row in self.answer["findings"]])

    def test_chance_in_calls_with_several_ranks(self):
        """Every second step from 6 on seems to be longer by more than the noise of the others, in a healthy job."""
        self.lose([], "--shape context --ranks 16 --per-node 4 --layers 2 --steps 21 --seed 530065121 --cp 8 --sync-lag 1 "
                      "--dialect chrome-v6 --lose 8", status=0)
        self.assertEqual([row for row in self.answer["findings"] if row["confidence"] != "low"], [])

    def test_a_single_step(self):
        """It is longer than any wait for a rank with a trace."""
        options = "--shape 3d --ranks 16 --per-node 8 --tp 2 --dp 4 --pp 2 --layers 2 --steps 16 --noise 1 --compute 3 --seed 41 "
        for recorder in "kineto", "chrome-v7":
            found = self.lose([], options + f"--dialect {recorder} --lose 10 --fault host:10:9:9:200%")
            self.assertEqual([row[:3] for row in found], [("late", [10], "medium")])
            finding = self.answer["findings"][0]
            self.assertLessEqual(finding["first_step"], 9)
            self.assertGreaterEqual(finding["last_step"], 9)
            self.assertLess(abs(finding["lost_us"] - self.truth["faults"][0]["lost_us"]), 0.3 * finding["lost_us"])

    def test_a_partner_sends_slowly(self):
        """The rank without a trace leaves their AllReduce late, and nobody computes before it."""
        options = "--shape hsdp --ranks 12 --per-node 4 --layers 2 --steps 16 --noise 1 --compute 3 --seed 42 "
        for recorder in "kineto", "chrome-v7", "inspector-2.30":
            with self.subTest(recorder=recorder):
                self.lose([], options + f"--dialect {recorder} --lose 6 --fault net:2:3:15:60%", status=0)
                self.assertNotIn(("late", "medium"), [(row["kind"], row["confidence"]) for row in self.answer["findings"]])

    def test_another_finding_of_the_same_steps(self):
        """Every third step of both."""
        options = "--shape 3d --ranks 16 --per-node 4 --tp 2 --dp 4 --pp 2 --microbatches 2 --layers 2 --steps 18 --seed 61 "
        options += "--dialect chrome-v7 --compute 2 --network-gbs 25 --nvlink-gbs 200 --lose 14 --fault cpu-share:6:1:17/3:200"
        self.assertEqual([row[:2] for row in self.lose([], options)], [("host", [6])])

    def test_other_steps_show_the_wait(self):
        """One communicator, no network steps: operations take longer in some steps, those after computing only."""
        job = "--shape ddp --ranks 8 --per-node 4 --layers 3 --steps 20 --noise 1 --compute 3 "
        for fault, recorder, first in (
            ("host:5:8:19:40%:forward", "inspector-2.30", 8),
            ("host:2:3:19/4:50%:forward", "kineto", 3),
        ):
            rank = int(fault.split(":")[1])
            with self.subTest(fault=fault):
                found = self.lose([rank], job + f"--dialect {recorder} --seed 16 --fault {fault}")
                self.assertEqual([row[:3] for row in found], [("late", [rank], "medium")])
                self.assertIn(found[0][3], (first, first + 1))  # The step in which something begins may count as warm-up.
                self.assertIn("other steps", self.answer["findings"][0]["evidence"])
            with self.subTest("healthy", recorder=recorder):
                self.assertEqual(self.lose([rank], job + f"--dialect {recorder} --seed 17", status=0), [])
            for other in "throttle:6:8:19:60", "switch:0-3:8:19:300", "links:7:8:19:200":
                with self.subTest("another fault", fault=other, recorder=recorder):
                    self.lose([rank], job + f"--dialect {recorder} --seed 18 --fault {other}", status=0)
                    self.assertNotIn("late", [finding["kind"] for finding in self.answer["findings"]])

    def test_operations_with_a_root(self):
        """Those that only send to the root of a Reduce do not wait; the root does."""
        job = "--shape zero1 --ranks 8 --per-node 4 --layers 3 --steps 18 --noise 1 --compute 3 "
        for recorder in "kineto", "chrome-v7":
            with self.subTest(recorder=recorder):
                found = self.lose([6], job + f"--dialect {recorder} --seed 19 --fault throttle:6:7:17:80")
                self.assertEqual([row[:3] for row in found], [("late", [6], "medium")])
                self.assertIn(found[0][3], (7, 8))
            with self.subTest("another fault", recorder=recorder):
                self.lose([6], job + f"--dialect {recorder} --seed 19 --fault links:5:7:17:800", status=0)
                self.assertNotIn(("late", "medium"), [(row["kind"], row["confidence"]) for row in self.answer["findings"]])
            with self.subTest("healthy", recorder=recorder):
                self.assertEqual(self.lose([6], job + f"--dialect {recorder} --seed 20", status=0), [])

    def test_a_member_seems_to_be_slow_because_it_waited(self):
        """In a tree, kernels of some members stop early, so they seem to compute until the next operation."""
        job = "--shape ddp --ranks 16 --per-node 8 --layers 3 --steps 16 --algorithm tree --network-gbs 25 --nvlink-gbs 200 "
        job += "--dialect chrome-v6 "
        for rank, seed in (6, 51), (14, 51):
            with self.subTest(rank=rank):
                found = self.lose([rank], job + f"--seed {seed} --fault gpu-share:{rank}:7:12:84")
                self.assertEqual([row[:3] for row in found], [("late", [rank], "medium")])

    def test_without_network_steps(self):
        """Waiting and transferring look the same, whether or not the rank is slow."""
        for fault in "", "--fault host:2:0:17:30%":
            files, _ = self.simulate(JOB + f"--dialect inspector-2.30 --seed 9 {fault}")
            self.store.unlink(missing_ok=True)
            self.run_program("ingest", "-q", *files[:2], *files[3:])
            result = self.run_program("diagnose", "--exit-code", status=4)
            self.assertIn("whether other ranks wait for rank 2 cannot be determined: it left no trace", result.out)
            self.assertNotIn("no problem found", result.out)
            self.assertRegex(result.out, r"time lost: [^\n]*not counting waits")
            undetermined, = self.json("diagnose")["summary"]["undetermined"]
            self.assertEqual(undetermined["remedy"], "add the trace of rank 2")
