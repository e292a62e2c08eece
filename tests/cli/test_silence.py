"""Coverage: the part of a job that diagnose analyzed and the part that it did not, and longer steps without a rank at fault."""

import json
import re
import unittest

from tests.cli.support import Case, event

COMMUNICATOR = 12345678901234567890


def log_line(rank, ranks, number, called_us, begin_us, end_us, size, name="AllReduce"):
    """One operation in the layout of NCCL Inspector's verbose logs."""
    times = {"coll_start_ts": called_us, "coll_stop_ts": called_us + 10, "kernel_events": [
        {"channel_id": 0, "kernel_start_ts": begin_us, "kernel_stop_ts": end_us, "kernel_record_ts": end_us}]}
    numbers = {"coll_start_sn": 1, "coll_stop_sn": 2, "kernel_events": [
        {"channel_id": 0, "kernel_start_sn": 3, "kernel_stop_sn": 5, "kernel_record_sn": 4}]}
    return json.dumps({
        "header": {"id": "0x1234", "comm_name": "world", "rank": rank, "n_ranks": ranks, "nnodes": 1},
        "metadata": {"inspector_output_format_version": "v4.0", "git_rev": "v2.30.7", "rec_mechanism":
                     "nccl_profiler_interface", "dump_timestamp_us": end_us, "hostname": "node", "pid": 2000 + rank},
        "coll_perf": {"coll": name, "coll_sn": number, "coll_msg_size_bytes": size, "coll_exec_time_us": end_us - begin_us,
                      "coll_timing_source": "kernel_gpu", "coll_algobw_gbs": 1.0, "coll_busbw_gbs": 1.0,
                      "event_trace_sn": numbers, "event_trace_ts": times}}, separators=(",", ":")) + "\n"


class Silence(Case):
    def job(self, steps=40, ranks=4, slow=lambda step: 0, grow=lambda step: 1, kept=lambda rank, step, call: True,
            recorded=None):
        """Three calls of 1 ms per step with 2 ms before each, longer by the factor `grow`; before the second call `slow` us more on
        all ranks. Operations that are not `kept` are missing in the log, and ranks that are not `recorded` have none.
        """
        for rank in range(ranks) if recorded is None else recorded:
            lines, at_us = [], 1795218000000000
            for step in range(steps):
                for call in range(3):
                    at_us += 2000 * grow(step) + slow(step) * (call == 1) + (rank * 7 + step * 13 + call * 5) % 11
                    end_us = at_us + 1000 * grow(step)
                    if kept(rank, step, call):
                        lines.append(log_line(rank, ranks, 3 * step + call, at_us - 500, at_us, end_us,
                                              (1 << 20) * (call + 1) * grow(step)))
                    at_us = end_us
            self.write(f"job/rank{rank}.log", "".join(lines))
        self.run_program("ingest", self.folder / "job")

    def diagnose(self, status):
        """The JSON object, and the lines of the text output."""
        report = self.json("diagnose", "--exit-code", status=status)
        return report, self.run_program("diagnose", "--exit-code", status=status).verdict.splitlines()

    def test_a_healthy_job(self):
        self.job()
        report, (first, judged, sight) = self.diagnose(0)
        self.assertEqual(first, "no problem found")
        # On 4 ranks, 39 steps of 3 operations after the warm-up.
        self.assertEqual(judged, "    Coverage: 468 of 468 operations, 4 of 4 ranks, steps 1-39")
        self.assertRegex(sight, r"Detection limit for one slow rank: .* in a single step, .* in three consecutive steps, .* in every step$")
        summary = report["summary"]
        self.assertEqual((summary["ranks"], summary["steps"], summary["operations"], summary["judged_operations"]),
                         (4, 40, 480, 468))
        self.assertAlmostEqual(summary["step_us_p50"], 9015, delta=30)
        self.assertEqual((summary["longer_steps"], summary["lost_us"], summary["explained_us"]), ([], 0, 0))
        # The detection limit is a tenth of a step for one step or all steps, and 3 % for several; the noise is lower.
        for key, share in (("one_step_us", 0.1), ("three_steps_us", 0.03), ("every_step_us", 0.1)):
            self.assertAlmostEqual(summary["smallest_fault"][key], share * 9015, delta=20)

    def check_longer(self, first, last, slow_us=5400):
        report, lines = self.diagnose(3)
        self.assertEqual([finding for finding in report["findings"] if finding["confidence"] != "low"], [])
        (row,) = report["summary"]["longer_steps"]
        self.assertEqual((row["first_step"], row["last_step"], row["explained"]), (first, last, False))
        self.assertAlmostEqual(row["usual_us"], 9015, delta=30)
        self.assertAlmostEqual(row["took_us"], 9015 + slow_us, delta=30)
        self.assertAlmostEqual(report["summary"]["lost_us"], (last - first + 1) * slow_us, delta=30 * (last - first + 1))
        self.assertEqual(lines[0], "steps became longer; the rank at fault cannot be determined")
        said = " ".join(report["warnings"])
        # The slower call is the second of three.
        self.assertRegex(said, f"steps {first}-{last} took 14.4 ms each .baseline 9.0 ms.; the cause cannot be determined from "
                               r"this trace. Most of the increase: 5\.\d+ ms before operation 2 of the step \(AllReduce, "
                               r"communicator world\), on 4 of 4 ranks")

    def test_all_are_slower_from_the_middle_on(self):
        self.job(slow=lambda step: 5400 * (step >= 20))
        self.check_longer(20, 38) # the duration of the last step is unknown

    def test_all_are_slower_in_three_quarters_of_the_steps(self):
        self.job(slow=lambda step: 5400 * (step >= 10))
        self.check_longer(10, 38)

    def test_all_are_slower_until_it_is_mended(self):
        self.job(slow=lambda step: 5400 * (step < 29))
        self.check_longer(1, 28)

    def test_checkpoints(self):
        self.job(slow=lambda step: 8000 * (step % 8 == 7))
        report, lines = self.diagnose(0)
        self.assertEqual(lines[0], "no problem found")
        self.assertEqual(report["summary"]["longer_steps"], [])

    def test_where_long_checkpoints_are(self):
        """They are longer than a step, before its second operation, on all ranks."""
        self.job(slow=lambda step: 30000 * (step % 8 == 7))
        self.assertRegex(" ".join(self.json("diagnose")["warnings"]),
                         r"this repeats every 8 steps, .* Most of the increase: (29\.|30\.)\d ms before operation 2 of the step "
                         r".*, on 4 of 4 ranks")

    def test_steps_that_grow_with_their_bytes(self):
        self.job(grow=lambda step: 1 + (step >= 20))
        report = self.json("diagnose")
        self.assertEqual(report["findings"], [])
        self.assertEqual(report["summary"]["longer_steps"], [])
        self.assertNotIn("the cause cannot be determined", " ".join(report["warnings"]))

    def test_half_of_the_files_are_lost(self):
        self.job(recorded=(0, 1))
        report, lines = self.diagnose(4)
        self.assertRegex(lines[0], r"^whether other ranks wait for ranks 2 and 3 cannot be determined: they left no trace, and rank \d "
                                   r"spends [\d.]+ \w+ per step on average in operations that need them")
        self.assertEqual(lines[1:3], ["    Next: add the traces of ranks 2 and 3.",
                                      "    Coverage: 234 of 234 operations, 2 of 4 ranks, steps 1-39. Not analyzed: 2 ranks without a "
                                      "trace (ingest their files)"])
        undetermined, = report["summary"]["undetermined"]
        self.assertEqual(undetermined["remedy"], "add the traces of ranks 2 and 3")

    def test_one_file_of_all(self):
        self.job(recorded=(2,))
        _, (first, *_) = self.diagnose(4)
        self.assertTrue(first.startswith("not enough data: only one rank has a trace, so there is no rank to compare it "
                                         "with. Ingest the files of all ranks."), first)

    def test_what_a_filter_left_out(self):
        """The first call of each step, also the smallest, on all ranks: the sequence numbers of the others show the gap."""
        self.job(kept=lambda rank, step, call: call)
        report, (_, gaps, *_) = self.diagnose(4)
        # Of 40 steps, 39 are between the first and the last recorded one.
        self.assertEqual((report["summary"]["not_judged"]["left_out"], report["summary"]["not_judged"]["lost"]), (156, 0))
        self.assertIn("Not analyzed: 156 filtered out by the recorder as too small "
                      "(record them with NCCL_INSPECTOR_DUMP_MIN_SIZE_BYTES=0)", gaps)

    def test_what_was_lost(self):
        self.job(kept=lambda rank, step, call: (rank + step + call) % 7)
        report, (_, gaps, *_) = self.diagnose(4)
        lost = report["summary"]["not_judged"]["lost"]
        self.assertGreater(lost, 480 // 7 - 4)
        self.assertRegex(gaps, rf"Not analyzed: .*\b{lost} lost by the recorder")

    def test_a_few_that_were_lost_are_named(self):
        self.job(kept=lambda rank, step, call: (rank, step % 15, call) != (1, 7, 1))
        _, (first, judged, *_) = self.diagnose(0)
        self.assertEqual(first, "no problem found")
        self.assertRegex(judged, r"^    Coverage: \d+ of 468 operations, .* Not analyzed: .*\b[23] lost by the recorder")

    def test_a_file_that_ends_in_mid_job(self):
        """The others continued, which they could not have done without it: its file ended, not the rank."""
        self.job(kept=lambda rank, step, call: rank != 3 or step < 20)
        report, (_, gaps, *_) = self.diagnose(4)
        self.assertEqual([finding for finding in report["findings"] if finding["confidence"] != "low"], [])
        self.assertEqual(report["summary"]["not_judged"]["ended_early"], 20 * 3)
        self.assertIn("Not analyzed: 60 after the end of a rank's file (ingest complete files)", gaps)

    def test_a_send_that_was_lost(self):
        """Its rank seems to be one operation behind from then on, but it finished the last AllReduce as all others did."""
        def line(rank, communicator, kind, at_us, **more):
            header = {"id": communicator, "comm_name": "unknown", "rank": more.pop("place"), "n_ranks": 2, "nnodes": 2}
            metadata = {"inspector_output_format_version": "v4.0", "git_rev": "v2.30.7", "rec_mechanism": "nccl_profiler_interface",
                        "dump_timestamp_us": at_us, "hostname": f"node{rank // 2}", "pid": 1000 + rank}
            return json.dumps({"header": header, "metadata": metadata, f"{kind}_perf": {
                f"{kind}_{name}" if name != kind else name: value for name, value in more.items()}}, separators=(",", ":")) + "\n"

        common = {"msg_size_bytes": 1 << 20, "exec_time_us": 300}
        for rank in range(4):
            lines, stage, replica = [], rank // 2, rank % 2
            for step in range(60):
                for call in range(8):
                    number, at_us = 8 * step + call, 1795218000000000 + 10000 * step + 1000 * call
                    if (rank, number) != (0, 98):
                        lines.append(line(rank, f"0xa{replica}", "p2p", at_us, place=stage, p2p=("Send", "Recv")[(call >= 4) != stage],
                                          sn=number + 1, peer=1 - stage, **common, timing_source="collective_cpu",
                                          algobw_gbs=3.5, busbw_gbs=3.5))
                lines.append(line(rank, f"0xb{stage}", "coll", at_us + 1000, place=replica, coll="AllReduce", sn=step, **common,
                                  timing_source="kernel_gpu", algobw_gbs=3.5, busbw_gbs=3.5))
            self.write(f"job/rank{rank}.log", "".join(lines))
        self.run_program("ingest", "-q", self.folder / "job")
        self.assertEqual(self.rows("SELECT count(*) FROM v_operation"), [(4 * 60 * 9 - 1,)])
        self.assertEqual(self.json("diagnose")["findings"], [])

    def test_kernels_without_a_stop(self):
        """A ring of sends in one process: each kernel records its start, and none its end."""
        lines = []
        for step in range(20):
            for rank in range(4):
                at_us = 1000 + 1500 * step
                for number, (name, peer) in enumerate((("Send", (rank + 1) % 4), ("Recv", (rank - 1) % 4))):
                    number += 8 * step + 2 * rank
                    lines += [
                        event(name, "P2P_API", "b", number, 777, 0, count=1048576, datatype="ncclFloat32", GraphCaptured=0,
                              Stream=f"0x100{rank}"),
                        event(name, "P2P", "b", number, 777, at_us + 30, CommHash=COMMUNICATOR, Rank=rank, Peer=peer,
                              Count=1048576, Datatype="ncclFloat32", nChannels=1),
                        event("KernelCh", "GPU", "b", number, 777, at_us + 50, Channel=16,
                              StartGpuClk=1795218467000000000 + 1000 * at_us, StopGpuClk=0),
                        event("KernelCh", "GPU", "e", number, 777, 0),
                        event(name, "P2P", "e", number, 777, at_us + 35),
                        event(name, "P2P_API", "e", number, 777, at_us + 10)]
        self.write(f"trace_{COMMUNICATOR}_0.json", "[\n" + "".join(lines) + "{}]\n")
        self.run_program("ingest", f"trace_{COMMUNICATOR}_0.json")
        report, (first, *_) = self.diagnose(4)
        self.assertRegex(first, r"^not enough data: .*Record .*ncclprof-plugin\(7\)")
        self.assertEqual(report["summary"]["judged_operations"], 0)

    def strip_stops(self, traces, of):
        """As NVIDIA's example plugin writes them: kernels of those categories have no stop."""
        for path in traces:
            category, lines = None, []
            for line in path.read_text().splitlines(keepends=True):
                opened = re.match(r'\{"name": "\w+", "cat": "(COLL|P2P)", "ph": "(\w)"', line)
                if opened:
                    category = opened[1] if opened[2] == "b" else None
                if line.startswith('{"name": "KernelCh"') and category in of:
                    line = re.sub(r'"StopGpuClk": \d+', '"StopGpuClk": 0', line)
                    line = re.sub(r'"ph": "e"(.*)"ts": [\d.]+', r'"ph": "e"\1"ts": 0.000000', line)
                lines.append(line)
            path.write_text("".join(lines))

    def test_experts_whose_kernels_note_no_stop(self):
        """The culprit is the same with all stops, without those of sends and receives, and without any; a healthy job has
        none.
        """
        job = "--shape moe --ranks 8 --per-node 8 --layers 2 --steps 16 --dialect chrome-v6 --seed "
        for seed, fault in ((117, "compute:2:6:9:30%:*"), (115, "host:5:6:9:20%:*"), (116, None)):
            for of in ((), ("P2P",), ("P2P", "COLL")):
                with self.subTest(seed=seed, without=of):
                    traces, _ = self.simulate(job + str(seed) + (f" --fault {fault}" if fault else ""))
                    self.strip_stops(traces, of)
                    self.store.unlink(missing_ok=True)
                    self.run_program("ingest", *traces)
                    report = self.json("diagnose")
                    sure = [finding for finding in report["findings"] if finding["confidence"] != "low"]
                    kind, rank = fault.split(":")[:2] if fault else (None, None)
                    self.assertEqual([(finding["kind"], str(finding["rank"])) for finding in sure], [(kind, rank)] * bool(fault))
                    if len(of) < 2:
                        continue
                    self.assertEqual(report["summary"]["judged_operations"], 0)
                    for finding in sure:
                        self.assertEqual(finding["confidence"], "medium")
                        self.assertIn("End times are estimated from the start of the next operation", finding["evidence"])
                    if not fault:
                        self.assertTrue(self.run_program("diagnose", "--exit-code", status=4).verdict.startswith(
                            "not enough data: operations have no end times"))

    def test_the_last_kernels_of_a_ring_note_no_stop(self):
        """Nothing follows the last sends, so their ends are not even estimated: no sign of a hang. If one rank hangs, the
        operations that need it show this.
        """
        job = "--shape context --ranks 8 --per-node 8 --layers 2 --steps 10 --cp 4 --dialect chrome-v7 --seed 41"
        for fault in ("", " --fault freeze:5:7:7:0"):
            with self.subTest(fault=fault):
                traces, _ = self.simulate(job + fault)
                self.store.unlink(missing_ok=True)
                self.run_program("ingest", *traces)
                said = self.run_program("diagnose").verdict
                self.assertNotIn("Send", said.split("Evidence")[0])
                findings = self.json("diagnose")["findings"]
                self.assertEqual([finding["kind"] for finding in findings], ["missing"] * bool(fault))
                for finding in findings:
                    self.assertIn(5, finding["candidates"])

    def test_late_hosts_of_a_ring_that_notes_no_stops(self):
        """The other ranks of a ring wait in sends and receives whose ends have to be estimated with the clocks of all ranks."""
        job = "--shape context --ranks 8 --per-node 4 --layers 2 --cp 4 --steps 16 --dialect chrome-v7 --seed "
        for seed, fault in ((51, "loader:6:0:15:30%:*"), (52, "checkpoint:3:5:15:40%:*"), (53, "throttle:5:0:15:30:*"), (52, None)):
            with self.subTest(seed=seed, fault=fault):
                traces, _ = self.simulate(job + str(seed) + (f" --fault {fault}" if fault else ""))
                self.store.unlink(missing_ok=True)
                self.run_program("ingest", *traces)
                sure = [finding for finding in self.json("diagnose")["findings"] if finding["confidence"] != "low"]
                kind, rank = fault.split(":")[:2] if fault else (None, None)
                kind = "compute" if kind == "throttle" else "host"
                self.assertEqual([(finding["kind"], finding["rank"]) for finding in sure], [(kind, int(rank))] if fault else [])

    def test_networks_alone(self):
        """Only proxy operations and their network steps: links are analyzed, ranks are not."""
        traces, _ = self.simulate("--shape ddp --ranks 8 --per-node 2 --layers 2 --steps 20 --dialect chrome-v2 --seed 5")
        self.run_program("ingest", *traces)
        _, (first, gaps, *_) = self.diagnose(4)
        self.assertRegex(first, "^no problem found in the part of the job that could be analyzed")
        self.assertIn("Not analyzed: late ranks, because the trace has no timestamps", gaps)

    def test_a_stage_without_times(self):
        traces, _ = self.simulate("--shape 3d --tp 2 --dp 2 --pp 2 --ranks 8 --per-node 8 --layers 2 --steps 12 "
                                  "--dialect chrome-v4 --seed 6")
        texts = {path: path.read_text() for path in traces}
        # Only the communicator of all ranks has ranks from 4 on: those are the second stage's.
        stage = {re.search(r'"pid": (\d+)', text)[1] for text in texts.values() if re.search(r'"Rank": [4-7]\b', text)}
        self.assertEqual(len(stage), 4)
        for path, text in texts.items():
            if re.search(r'"pid": (\d+)', text)[1] in stage:
                path.write_text(re.sub(r'^\{"name": "KernelCh".*\n', "", text, flags=re.M))
        self.run_program("ingest", *traces)
        report, (first, *_) = self.diagnose(4)
        self.assertRegex(first, "4 of 8 ranks")
        self.assertGreaterEqual(report["summary"]["not_judged"]["without_time"], report["summary"]["operations"] // 3)

    def test_kernels_of_other_operations(self):
        """Each rank sends to itself once, as in an all-to-all, without a kernel: NCCL's kernel count is then wrong."""
        traces, _ = self.simulate("--shape 3d --tp 1 --dp 1 --pp 2 --ranks 2 --layers 2 --steps 12 --dialect chrome-v7 --seed 6")
        sent = re.compile(r'("cat": "P2P", "ph": "b".*?"Rank": (\d+), "Peer": )\d+((?s:.*?)"cat": "P2P", "ph": "e")')

        def to_itself(match):
            return match[1] + match[2] + re.sub(r'\{"name": "KernelCh".*\n', "", match[3])
        changed = [sent.subn(to_itself, path.read_text(), count=1) for path in traces]
        self.assertEqual(sum(count for _, count in changed), 2)
        for path, (text, _) in zip(traces, changed):
            path.write_text(text)
        self.run_program("ingest", *traces)
        _, (first, *_) = self.diagnose(4)
        self.assertRegex(first, r"kernel times belong to other operations, because NCCL 2\.26 to 2\.30 .* has sent to itself")

    def test_half_of_them_have_no_tags(self):
        traces, _ = self.simulate("--shape ddp --ranks 8 --per-node 2 --layers 3 --steps 16 --dialect chrome-v7 --seed 7")
        for path in traces[::2]:
            path.write_text(re.sub(r'^\{"name": "UserTag".*\n', "", path.read_text(), flags=re.M))
        self.run_program("ingest", *traces)
        report = self.json("diagnose")
        self.assertEqual([finding for finding in report["findings"] if finding["confidence"] != "low"], [])

    def test_a_fault_of_the_size_that_is_said_is_seen(self):
        """A fault of the size of the reported detection limit, planted before the one operation of a phase, is found with the same
        noise. The planted fault is 1.5 times that size, because a part of it overlaps with time in which the rank waits anyway.
        """
        job = "--shape ddp --ranks 8 --per-node 2 --layers 1 --steps 20 --dialect chrome-v7 --seed "
        for seed in (11, 12, 13):
            traces, _ = self.simulate(f"{job}{seed}")
            self.store.unlink(missing_ok=True)
            self.run_program("ingest", *traces)
            smallest = self.json("diagnose")["summary"]["smallest_fault"]
            for key, first, last in (("one_step_us", 8, 8), ("three_steps_us", 8, 10)):
                traces, _ = self.simulate(f"{job}{seed} --fault compute:3:{first}:{last}:{1.5 * smallest[key]:.0f}:backward")
                self.store.unlink()
                self.run_program("ingest", *traces)
                sure = [(finding["rank"], finding["kind"]) for finding in self.json("diagnose")["findings"]
                        if finding["confidence"] != "low"]
                self.assertEqual(sure, [(3, "compute")], (seed, key))


    def uncompared(self, options):
        """The reasons why an all-clear does not hold, which have no cost."""
        self.store.unlink(missing_ok=True)
        files, _ = self.simulate(options)
        self.run_program("ingest", "-q", *files)
        report, lines = self.diagnose(0)
        self.assertEqual(lines[0], "no problem found")
        said = " ".join(" ".join(lines).split())
        parts = [part for part in report["summary"]["undetermined"] if part["us"] is None]
        for part in parts:
            self.assertIn(f"Cannot be determined: {part['reason']}. To find out, {part['remedy']}.", said)
        self.assertEqual(said.count("Cannot be determined"), len(parts))
        return [part["reason"] for part in parts]

    def test_operations_whose_root_is_not_recorded(self):
        """Inspector does not record roots; the bundled plugin does."""
        job = "--shape zero1 --ranks 8 --per-node 4 --layers 2 --steps 16 --seed 3 --dialect "
        for dialect in ("inspector-2.30-terse", "inspector-2.30"):
            reasons = [reason for reason in self.uncompared(job + dialect) if "root" in reason]
            ((operations,),) = self.rows("SELECT count(*) FROM v_operation WHERE step >= 0 AND function IN ('Broadcast', 'Reduce')")
            self.assertEqual(reasons, [f"which rank others wait for in {operations} of {operations} operations: they are broadcasts and "
                                       "reductions to one rank, and the trace does not show which rank is their root"])
        self.assertFalse([reason for reason in self.uncompared(job + "chrome-v7") if "root" in reason])
        # All-reduce and all-gather have no root.
        self.assertFalse([reason for reason in self.uncompared(job.replace("zero1", "fsdp") + "inspector-2.30") if "root" in reason])

    def test_a_network_that_all_transfers_share(self):
        """A switch between the only two hosts that is slow from the first step on looks like a network by design."""
        two_hosts = "--shape fsdp --ranks 8 --per-node 4 --layers 2 --steps 16 --seed 19 --dialect kineto "
        took = []
        for fault in ("", "--fault switch:0-3:0:15:200:*"):
            (reason,) = self.uncompared(two_hosts + fault)
            found = re.fullmatch(r"whether the network between the two hosts is slow in every step: transfers over it take ([0-9.]+) ms "
                                 r"\(\d+ % of the median step\), and no other hosts show what is usual", reason)
            took.append(float(found[1]))
        self.assertGreater(took[1], 2 * took[0])
        # Of four hosts, the operations of all ranks have no sisters; those of one host use no network.
        (reason,) = self.uncompared(two_hosts.replace("--per-node 4", "--per-node 2"))
        self.assertIn("operations of all ranks take", reason)
        self.assertEqual(self.uncompared(two_hosts.replace("--per-node 4", "--per-node 8")), [])
        # The data-parallel groups are sisters, and few data are reduced by all ranks.
        self.assertEqual(self.uncompared("--shape 3d --ranks 16 --per-node 4 --tp 4 --dp 4 --pp 1 --layers 3 --steps 16 --seed 20 "
                                         "--dialect kineto"), [])

    def test_a_host_that_is_a_stage(self):
        """Nothing else does the work of its GPUs, which may be slow or have more of it."""
        stages = "--shape 1f1b --ranks 8 --per-node 4 --tp 2 --dp 2 --pp 2 --microbatches 4 --layers 2 --steps 16 --dialect kineto --seed 21 "
        reasons = self.uncompared(stages + "--fault throttle:node1:0:15:40:*")
        self.assertRegex(reasons[-1], r"^whether the host of rank 4 is slow in every step: its ranks compute [0-9.]+ ms per step, those of "
                                      r"the next host [0-9.]+ ms, and no other host does the same work$")
        self.assertFalse([reason for reason in self.uncompared(stages) if "host of rank" in reason])


if __name__ == "__main__":
    unittest.main()
