"""Slow transfers in traces without network steps: the ranks that may be at fault, and what that costs."""

from tests.cli.support import Case

PIPELINE = "--shape 3d --ranks 8 --per-node 4 --tp 2 --dp 2 --pp 2 --layers 4 --steps 20 --network-gbs 40 --nvlink-gbs 300 --seed 21 "
# Each tensor-parallel group is on two hosts.
TENSOR = "--shape 3d --ranks 16 --per-node 2 --tp 4 --dp 4 --pp 1 --layers 3 --steps 20 --network-gbs 40 --nvlink-gbs 300 --seed 6 "
PAIRS = ("--shape 3d --ranks 8 --per-node 4 --tp 2 --dp 2 --pp 2 --microbatches 2 --layers 2 --steps 24 --seed 31 "
         "--dialect inspector-2.30")
GROUPS = ("--shape 3d --ranks 8 --per-node 4 --tp 2 --dp 4 --pp 1 --microbatches 1 --layers 2 --steps 22 --seed 77 "
          "--dialect inspector-2.30")
INTERLEAVED = ("--shape interleaved --ranks 16 --per-node 4 --tp 2 --dp 4 --pp 2 --microbatches 4 --layers 3 --steps 24 --seed 5 "
               "--network-gbs 25 --nvlink-gbs 200 --dialect inspector-2.30")
STAGES = ("--shape 1f1b --ranks 16 --per-node 8 --layers 2 --steps 18 --tp 2 --dp 2 --pp 4 --microbatches 8 --seed 27 --compute 3 "
          "--network-gbs 25 --nvlink-gbs 200 --dialect inspector-2.30")
LATE = "checkpoint:12:2:23/3:30%:*"
# All ranks are in the only communicator.
SHARDED = "--shape fsdp --ranks 8 --per-node 4 --layers 3 --steps 20 --network-gbs 40 --nvlink-gbs 300 --seed 11 "
EXPERTS = ("--shape moe --ranks 8 --per-node 4 --layers 2 --steps 20 --compute 2 --network-gbs 25 --nvlink-gbs 200 --seed 74 "
           "--dialect inspector-2.30 ")
# Six shards on each of two hosts; each shard is replicated on the other host.
REPLICATED = "--shape hsdp --ranks 12 --per-node 6 --layers 2 --steps 20 --network-gbs 25 --nvlink-gbs 200 --seed 8 --dialect kineto "


# Rank 7 leaves no trace. NCCL's example profiler does not record how many ranks a communicator has.
HYBRID = ("--shape hsdp --ranks 8 --per-node 4 --layers 3 --steps 16 --network-gbs 25 --nvlink-gbs 200 --compute 3 --seed 21 "
          "--dialect chrome-v7 --lose 7 ")


class SlowGroups(Case):
    def findings(self, options):
        """Those with at least medium confidence, and the planted faults."""
        self.store.unlink(missing_ok=True)
        files, truth = self.simulate(options)
        self.run_program("ingest", "-q", *files)
        return [finding for finding in self.json("diagnose")["findings"] if finding["confidence"] != "low"], truth["faults"]

    def test_a_slow_sender_between_stages(self):
        """Rank 2 sends to rank 6 only: one of the two, from the first step or later."""
        for dialect, firsts in (("kineto", (0, 8)), ("inspector-2.30", (0,))):
            for first in firsts:
                (finding,), (planted,) = self.findings(f"{PIPELINE} --dialect {dialect} --fault net:2:{first}:19:30%:*")
                self.assertEqual((finding["kind"], finding["confidence"], finding["candidates"]), ("network", "medium", [2, 6]))
                self.assertEqual((finding["first_step"], finding["last_step"]), (max(first, 1), 19))
                self.assertAlmostEqual(finding["lost_us"] / planted["lost_us"], 1, delta=0.2)
                self.assertIn("from rank 2 to rank 6", self.run_program("diagnose").verdict)

    def test_a_pair_that_may_have_waited(self):
        """Inspector does not record when a send began, and dumps do not tell it where they are rare: in some steps only, both may
        have waited for a late rank."""
        findings, _ = self.findings(f"{PIPELINE} --dialect inspector-2.30 --fault net:2:8:19:30%:*")
        self.assertEqual(findings, [])

    def test_a_pair_with_durations(self):
        """Inspector records how long sends and receives took: rank 3 sends to rank 7, and other ranks are late."""
        (finding,), (planted,) = self.findings(f"{PAIRS} --fault net:3:9:19:120%:*")
        self.assertEqual((finding["kind"], finding["candidates"]), ("network", [3, 7]))
        self.assertEqual((finding["first_step"], finding["last_step"]), (9, 19))
        self.assertAlmostEqual(finding["lost_us"] / planted["lost_us"], 1, delta=0.2)
        for fault in ("host:3:9:19:40%:forward", "compute:6:9:19:60%:*", "loader:6:9:19:60%:*"):
            findings, (planted,) = self.findings(f"{PAIRS} --fault {fault}")
            self.assertEqual({(finding["kind"], finding["rank"]) for finding in findings}, {(planted["kind"], planted["rank"])})

    def test_a_pair_beside_late_ranks(self):
        """Ranks 8 to 15 of the pipeline seem late in all steps: that does not explain what changes in step 6."""
        findings, _ = self.findings(f"{STAGES} --fault net:6:6:17:60%:*")
        (finding,) = [finding for finding in findings if finding["kind"] == "network"]
        self.assertEqual((finding["candidates"], finding["first_step"], finding["last_step"]), ([6, 10], 6, 17))

    def test_a_pair_beside_other_operations(self):
        """A receive waits beside other operations: its duration does not show when its data arrived."""
        findings, (planted,) = self.findings(f"{INTERLEAVED} --fault {LATE}")
        self.assertEqual({(finding["kind"], finding["rank"]) for finding in findings}, {(planted["kind"], planted["rank"])})

    def test_a_switch(self):
        """Both data-parallel groups cross it; the loss of all ranks is a short message, which waits for the latency alone."""
        (finding,), _ = self.findings(f"{GROUPS} --fault switch:0-3:7:18:60:*")
        self.assertEqual((finding["kind"], finding["confidence"], finding["candidates"]), ("network", "medium", list(range(8))))
        self.assertEqual((finding["first_step"], finding["last_step"]), (7, 18))
        self.assertIn("of 1 other group of ranks", " ".join(self.run_program("diagnose").verdict.split()))

    def test_a_slow_link_among_grouped_sends(self):
        """Each rank sends to each other one in one group call. Each of them has a duration, and its dump tells when it ended."""
        (finding,), (planted,) = self.findings(f"{EXPERTS} --fault edge:2>5:6:19:30%:*")
        self.assertEqual((finding["kind"], finding["confidence"], finding["candidates"]), ("network", "medium", [2, 5]))
        self.assertEqual((finding["first_step"], finding["last_step"]), (6, 19))
        self.assertAlmostEqual(finding["lost_us"] / planted["lost_us"], 1, delta=0.3)
        self.assertIn("from rank 2 to rank 5", self.run_program("diagnose").verdict)
        self.assertEqual(self.findings(EXPERTS)[0], [])

    def test_a_slow_tensor_group(self):
        """Rank 5 and the groups that it is in."""
        (finding,), _ = self.findings(f"{TENSOR} --dialect kineto --fault edge:5>6:7:19:60%:*")
        self.assertEqual((finding["kind"], finding["confidence"], finding["candidates"]), ("network", "medium", [4, 5, 6, 7]))
        self.assertEqual((finding["first_step"], finding["last_step"]), (7, 19))

    def test_a_rank_whose_links_are_slow_in_all_steps(self):
        """Its tensor-parallel group and its data-parallel group are slower than their sisters, which are alike."""
        options = "--shape 3d --ranks 16 --per-node 4 --tp 2 --dp 4 --pp 2 --microbatches 2 --layers 2 --steps 22 --seed 90 --dialect kineto"
        (finding,), _ = self.findings(f"{options} --network-gbs 25 --nvlink-gbs 200 --fault links:11:0:21:400:*")
        self.assertEqual((finding["kind"], finding["rank"], finding["candidates"]), ("network", 11, []))
        self.assertEqual((finding["first_step"], finding["last_step"]), (1, 21))

    def test_a_receiver_with_short_and_long_messages(self):
        """The same delay makes its short messages many times as long, its long ones less than twice."""
        options = "--shape 3d --ranks 8 --per-node 4 --layers 2 --steps 22 --seed 78 --tp 2 --dp 4 --pp 1 --microbatches 1 --dialect chrome-v7"
        (finding,), (planted,) = self.findings(f"{options} --fault receive:4:0:21:30%:*")
        self.assertEqual((finding["kind"], finding["rank"], finding["candidates"]), ("network", 4, []))
        self.assertIn("data sent to rank 4 arrives slowly", self.run_program("diagnose").verdict)
        self.assertAlmostEqual(finding["lost_us"] / planted["lost_us"], 1, delta=0.3)

    def test_a_pair_between_stages_that_differ(self):
        """Ranks of a stage do not compute between the same operations; in sum they compute as long as the others."""
        options = ("--shape 1f1b --ranks 16 --per-node 8 --layers 2 --steps 20 --seed 13 --tp 2 --dp 2 --pp 4 --microbatches 6 "
                   "--network-gbs 25 --nvlink-gbs 200 --sync-lag 1 --dialect kineto")
        (finding,), _ = self.findings(f"{options} --fault net:8:0:19:50%:*")
        self.assertEqual((finding["kind"], finding["confidence"], finding["candidates"]), ("network", "medium", [4, 8]))

    def test_two_groups_of_two_hosts(self):
        """Of two groups that do the same on two hosts, the faster one shows what is possible. Rank 7 is also in a slow pair."""
        (finding,), (planted,) = self.findings(f"{REPLICATED} --fault links:7:0:19:200:*")
        self.assertEqual((finding["kind"], finding["rank"], finding["candidates"]), ("network", 7, []))
        self.assertAlmostEqual(finding["lost_us"] / planted["lost_us"], 1, delta=0.5)
        self.assertEqual(self.findings(REPLICATED)[0], [])

    def test_one_group_of_all_ranks(self):
        """Transfers are slow; without network steps and without sisters, any rank may be at fault."""
        for faults, steps in (("edge:3>4:9:19:45%:*", (9, 19, None)), ("net:3:3:19/4:90%:*", (3, 19, 4)), ("switch:0-3:8:14:300:*", (8, 14, None))):
            (finding,), _ = self.findings(f"{SHARDED} --dialect inspector-2.30 --fault {faults}")
            self.assertEqual((finding["kind"], finding["confidence"], finding["candidates"]), ("network", "medium", list(range(8))))
            self.assertEqual((finding["first_step"], finding["last_step"], finding["period"]), steps)
        verdict = self.run_program("diagnose").verdict
        self.assertIn("transfers between the 8 ranks are slow", verdict)
        self.assertIn("switch port of all hosts", " ".join(verdict.split()))

    def test_connections_that_ramp_up(self):
        """Slow from the first step after the warm-up on, but only for a few steps."""
        findings, _ = self.findings(f"{SHARDED} --dialect inspector-2.30 --fault net:3:1:5:90%:*")
        self.assertEqual(findings, [])

    def test_jobs_without_a_slow_group(self):
        for options in (PIPELINE, TENSOR, SHARDED, PIPELINE + "--clock-step 5:10:20000 ", TENSOR + "--own-batches 10 "):
            for dialect in ("kineto", "inspector-2.30"):
                findings, _ = self.findings(f"{options} --dialect {dialect}")
                self.assertEqual(findings, [])

    def test_a_late_rank_is_no_slow_group(self):
        (finding,), _ = self.findings(f"{PIPELINE} --dialect kineto --fault compute:3:8:14:20%:*")
        self.assertEqual((finding["kind"], finding["rank"]), ("compute", 3))

    def test_a_group_that_waits_for_a_rank_without_a_trace(self):
        """Its operations take longer in steps 6 to 15, and no network step shows why."""
        findings, _ = self.findings(f"{HYBRID} --fault gpu-share:7:6:15:16:*")
        self.assertEqual([finding for finding in findings if finding["kind"] == "network"], [])
