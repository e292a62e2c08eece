"""Traces of PyTorch's profiler from files to findings: joined by the program's counters, wherever the trace of each rank
begins.
"""

import gzip
import json
import re
import unittest

from tests.cli.support import TOP, Case

FIXTURES = TOP / "fixtures"


def trace(name, rank):
    return json.loads(gzip.decompress((FIXTURES / name / f"kineto-rank{rank}.json.gz").read_bytes()))


def exchange(rank, called, at, correlation, elements):
    """An AlltoAll of 4 ranks with one call, which sends as much as it usually receives; `at`: begin and end of its kernel."""
    said = {"Collective name": "all_to_allv", "In msg nelems": 4096, "Out msg nelems": elements, "Group size": 4,
            "dtype": "BFloat16", "Process Group Name": "0", "Process Group Description": "default_pg",
            "Process Group Ranks": "[0, 1, 2, 3]", "External id": correlation}
    host = {"ph": "X", "pid": 100 + rank, "tid": 100 + rank, "ts": called}
    return [{**host, "cat": "cpu_op", "name": "record_param_comms", "dur": 0.9, "args": {**said, "Rank": rank}},
            {**host, "cat": "cuda_runtime", "name": "cudaLaunchKernelExC", "dur": 0.5,
             "args": {"External id": correlation, "correlation": correlation}},
            {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", "pid": 0, "tid": 7,
             "ts": at[0], "dur": at[1] - at[0],
             "args": {**said, "device": 0, "stream": 7, "correlation": correlation}}]


def experts(rank, works_us):
    """A trace of 16 steps: tokens arrive, an expert works on them for works_us[step][rank], and they go back to all ranks. In steps
    6 to 9 rank 1 receives twice as many.
    """
    events, begin = [], 1000
    for step in range(1, 17):
        tokens = 4096 * (2 if rank == 1 and 6 <= step <= 9 else 1)
        done, end = begin + 300 + works_us[step][rank], begin + 400 + max(works_us[step])
        events += [{"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 100 + rank, "tid": 100 + rank,
                    "ts": begin, "dur": end - begin - 1}]
        events += exchange(rank, begin + 10, (begin + 200, begin + 300), step * 10, tokens)
        events += exchange(rank, begin + 20, (done, end), step * 10 + 1, 4096)
        begin = end
    return {"schemaVersion": 1, "deviceProperties": [], "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 4},
            "baseTimeNanoseconds": 1767189312000000000, "traceEvents": events}


def server(late_us, transfer_us):
    """Traces of 4 ranks with 16 steps of three all-reduces without NCCL. late_us(step, rank): how long the host of a rank is late
    before the second one; transfer_us(step): how long each transfer takes.
    """
    events, ready = [[] for _ in range(4)], [2000.0] * 4
    for step in range(1, 17):
        begins = list(ready)
        for layer in range(3):
            for rank in range(4):
                number = step * 10 + layer
                ready[rank] += 600 + (step * 7 + rank * 5 + layer * 3) % 11
                called = ready[rank] - 300 + (late_us(step, rank) + 300 if layer == 1 and late_us(step, rank) else 0)
                ready[rank] = max(ready[rank], called + 4)
                events[rank].append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 70 + rank, "tid": 70 + rank,
                                     "ts": called, "dur": 3, "args": {"correlation": number}})
            end = max(ready) + transfer_us(step)
            for rank in range(4):
                events[rank].append({"ph": "X", "cat": "kernel", "name": "void vllm::cross_device_reduce_1stage<__half, 4>(int)", "pid": 0,
                                     "tid": 7, "ts": ready[rank], "dur": end - ready[rank] + rank * 0.2,
                                     "args": {"device": 0, "stream": 7, "correlation": step * 10 + layer}})
                ready[rank] = end + rank * 0.2
        for rank in range(4):
            events[rank].append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 70 + rank, "tid": 70 + rank,
                                 "ts": begins[rank] + 200, "dur": ready[rank] - begins[rank] - 1})
    return [{"schemaVersion": 1, "deviceProperties": [], "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 4},
             "baseTimeNanoseconds": 1767189312000000000, "traceEvents": events[rank]} for rank in range(4)]


class Kineto(Case):
    def ingest(self, name):
        self.run_program("ingest", FIXTURES / name)

    def write_ranks(self, name, change):
        """The traces of a fixture, each changed by `change(trace, rank)`."""
        self.store.unlink(missing_ok=True)
        for rank in range(4):
            content = trace(name, rank)
            change(content, rank)
            self.write(f"traces/kineto-rank{rank}.json", json.dumps(content))
        self.run_program("ingest", "traces")

    def found(self):
        """(kind, rank, first step, last step, period) of the findings of medium or high confidence."""
        return [(finding["kind"], finding["rank"], finding["first_step"], finding["last_step"], finding["period"])
                for finding in self.json("diagnose")["findings"] if finding["confidence"] != "low"]

    def test_annotations_without_operations_are_phases(self):
        """On the thread that counts the steps; one inside another one is a phase of its own."""
        def add(content, rank):
            steps = [event for event in content["traceEvents"] if event["name"].startswith("ProfilerStep#")]
            for event in steps:
                loads = {**event, "name": "load", "ts": event["ts"] + 10, "dur": 500 + rank}
                content["traceEvents"] += [loads, {**loads, "name": "decode", "ts": loads["ts"] + 100, "dur": 100},
                                           {**loads, "name": "other thread", "tid": 1}]

        self.write_ranks("kineto-ddp-slow", add)
        rows = self.json("steps", "--by", "tag,rank")["rows"]
        self.assertEqual({row["tag"] for row in rows}, {None, "load", "decode"})
        for rank in range(4):
            for tag, lasted_us in (("load", 400 + rank), ("decode", 100)):
                found = {row["step"]: row["duration_us"] for row in rows if (row["tag"], row["rank"]) == (tag, rank)}
                self.assertGreaterEqual(len(found), 10)
                for duration_us in found.values():
                    self.assertAlmostEqual(duration_us, lasted_us, delta=0.5)
        by_tag = {(row["tag"], row["function"]) for row in self.json("report", "--by-tag")["rows"]}
        self.assertEqual(by_tag, {(None, "AllReduce"), ("load", None), ("decode", None)})

    def members(self):
        """The number of operations that instances join: {operations: instances}."""
        rows = self.json("query", "SELECT members, count(*) AS instances FROM instance GROUP BY members")["rows"]
        return {row["members"]: row["instances"] for row in rows}

    def test_the_profiler_sees_what_the_plugin_sees(self):
        """According to TRUTH: the GPU of rank 2, steps 6 to 9."""
        answers = []
        for name in ("kineto-ddp-slow", "plugin-ddp-slow"):
            self.store.unlink(missing_ok=True)
            self.ingest(name)
            answers.append(self.found())
        self.assertEqual([answer[:4] for found in answers for answer in found], [("compute", 2, 6, 9)] * 2)

    def test_steps_have_the_programs_numbers(self):
        self.ingest("kineto-ddp-slow")
        rows = self.json("steps")["rows"]
        self.assertEqual([row["step"] for row in rows], list(range(3, 14)))
        self.assertEqual(self.json("diagnose")["summary"]["steps"], 11)
        self.assertEqual({row["step"] for row in self.json("report", "--by", "step")["rows"]}, set(range(3, 14)))
        self.assertEqual({row["rank"] for row in self.json("stragglers")["rows"]}, {0, 1, 2, 3})
        self.assertIn("no network steps", self.run_program("stalls").flat + self.run_program("stalls").err)

    def test_windows_are_joined_by_step(self):
        """According to TRUTH rank 2 is late in even steps; all ranks recorded steps 6 to 10, with four operations each."""
        self.ingest("kineto-windows")
        self.assertEqual(self.members()[4], 20)
        (kind, rank, first, last, period), = self.found()
        self.assertEqual((kind, rank, period), ("compute", 2, 2))
        self.assertEqual((first % 2, last % 2), (0, 0))
        self.assertTrue(first <= 6 and last >= 10)

    def test_clocks_that_differ_by_hours_change_nothing(self):
        def change(content, rank):
            content["baseTimeNanoseconds"] += rank * 7 * 3600 * 10**9

        self.write_ranks("kineto-windows", change)
        self.assertEqual(self.members()[4], 20)
        self.assertEqual([found[:2] for found in self.found()], [("compute", 2)])

    def test_windows_are_joined_by_numbers_of_collectives(self):
        """The ranks recorded operations 1 to 30, 4 to 28, 2 to 31 and 7 to 29."""
        self.ingest("kineto-sequences")
        self.assertEqual(self.members()[4], 22)
        self.assertEqual([found[:2] for found in self.found()], [("compute", 0)])

    def without_steps(self, offsets_ns):
        def change(content, rank):
            content["traceEvents"] = [event for event in content["traceEvents"] if "ProfilerStep" not in event["name"]]
            content["baseTimeNanoseconds"] += offsets_ns[rank]

        self.write_ranks("kineto-windows", change)

    def test_clocks_join_where_they_agree(self):
        self.without_steps([0, 150000, -180000, 90000])
        self.assertEqual(self.members()[4], 20)
        self.assertEqual([found[:2] for found in self.found()], [("compute", 2)])

    def test_nothing_is_joined_where_nothing_tells(self):
        self.without_steps([0, 39000000, -41000000, 90000000])
        self.assertEqual(set(self.members()), {1})
        self.assertEqual(self.found(), [])

    def test_how_records_end_is_no_evidence(self):
        """The ranks' records end at different operations: no rank is missing, and none ended early."""
        for name in ("kineto-windows", "kineto-sequences", "kineto-damaged"):
            self.store.unlink(missing_ok=True)
            self.run_program("ingest", FIXTURES / name, status=None)
            kinds = {finding["kind"] for finding in self.json("diagnose")["findings"]}
            self.assertLessEqual(kinds, {"compute", "host", "network"})

    def test_groups_and_graphs(self):
        self.ingest("kineto-batched")
        self.assertEqual(self.members(), {2: 78, 4: 18})
        self.assertEqual([found[:4] for found in self.found()], [("compute", 1, 3, 8)])
        self.store.unlink()
        self.ingest("kineto-graph")
        self.assertEqual(self.members(), {4: 24})
        self.assertEqual([found[:2] for found in self.found()], [("compute", 3)])

    def test_torch_2_1(self):
        self.ingest("kineto-2.1")
        self.assertEqual([found[:2] for found in self.found()], [("compute", 2)])

    def functions(self):
        return dict(self.rows("SELECT f.name, count(*) AS n FROM operation o JOIN vocabulary f"
                              " ON f.kind = 'function' AND f.number = o.function GROUP BY 1"))

    def test_up_to_torch_2_1_annotations_name_functions(self):
        """According to TRUTH: three operations in each of ten steps, and as many waits; rank 3 in steps 4 to 6."""
        self.ingest("kineto-2.0")
        self.assertEqual(self.functions(), {"AllGather": 40, "AlltoAll": 40, "ReduceScatter": 40})
        self.assertEqual(self.members(), {4: 30})
        self.assertEqual([found[:4] for found in self.found()], [("compute", 3, 4, 6)])

    def test_without_kernels_nothing_is_judged(self):
        """Without CUPTI there are calls, or only their annotations."""
        def change(content, rank):
            content["traceEvents"] = [event for event in content["traceEvents"] if event["cat"] != "kernel"]

        self.write_ranks("kineto-2.0", change)
        counts = []
        for folder in ("traces", FIXTURES / "kineto-annotations"):
            self.store.unlink(missing_ok=True)
            self.run_program("ingest", folder)
            result = self.run_program("diagnose")
            self.assertIn("contain calls but no kernels", result.flat)
            self.assertEqual(self.json("diagnose")["findings"], [])
            counts.append([self.info()[key] for key in ("runs", "collectives")])
        self.assertEqual(counts, [[1, 120], [1, 36]])

    def test_kernels_of_libraries(self):
        """According to TRUTH: two pairs with vLLM's all-reduce, all ranks with DeepEP; rank 1 in steps 5 to 7."""
        self.ingest("kineto-libraries")
        self.assertEqual(self.functions(), {"AllReduce": 120, "AlltoAll": 360})
        self.assertEqual(self.members(), {2: 60, 4: 90})
        self.assertEqual([found[:4] for found in self.found()], [("compute", 1, 5, 7)])
        self.assertIn("480 operations are kernels without NCCL (DeepEP, vLLM); their sizes are unknown",
                      self.json("diagnose")["warnings"])

    def test_kernels_of_libraries_are_judged_as_those_of_nccl(self):
        """A healthy job; a host that is late in steps 7 to 10; transfers that take longer in these."""
        def is_faulty(step):
            return 7 <= step <= 10

        for late_us, transfer_us, expected in (
                (lambda step, rank: 0, lambda step: 40, []),
                (lambda step, rank: 900 if rank == 2 and is_faulty(step) else 0, lambda step: 40, [("host", [2], 7, 10)]),
                (lambda step, rank: 0, lambda step: 400 if is_faulty(step) else 40, [("network", [0, 1, 2, 3], 7, 10)])):
            self.store.unlink(missing_ok=True)
            for rank, content in enumerate(server(late_us, transfer_us)):
                self.write(f"traces/kineto-rank{rank}.json", json.dumps(content))
            self.run_program("ingest", "traces")
            self.assertEqual([(finding["kind"], finding["ranks"] or finding["candidates"], finding["first_step"], finding["last_step"])
                              for finding in self.json("diagnose")["findings"] if finding["confidence"] != "low"], expected)

    def rename(self, name_of, groups=3):
        """The fixture with other names of DeepEP's kernels, name_of(name, number of the kernel), and its first groups."""
        def change(content, rank):
            del content["distributedInfo"]["pg_config"][groups:]
            kernels = sorted((event for event in content["traceEvents"] if "intranode" in event["name"]), key=lambda event: event["ts"])
            for number, event in enumerate(kernels):
                event["name"] = name_of(event["name"], number)

        self.write_ranks("kineto-libraries", change)

    def test_kernels_with_phases(self):
        """DeepEP's low-latency kernels are launched once, or once to send and once to receive: then half of them do not wait."""
        for names, functions in ((("dispatch", "combine", "dispatch", "combine"), {"AllReduce": 120, "AlltoAll": 360}),
                                 (("dispatch", "dispatch", "combine", "combine"), {"AllReduce": 120, "other": 360})):
            self.rename(lambda _, number: f"void deep_ep::internode_ll::{names[number % 4]}<true, false, 7168>(void*)", groups=1)
            self.assertEqual(self.functions(), functions)

    def test_a_library_that_is_unknown(self):
        """Its kernels may compute as well: they are operations of another kind, and no rank waits in them for certain."""
        self.rename(lambda name, number: "void mine::moe_alltoall<4>(void*)")
        self.assertEqual(self.functions(), {"AllReduce": 120, "other": 360})

    def test_a_library_whose_group_is_doubtful(self):
        """The job has groups 0 to 3, 0 and 1, and 0 and 2, and the name gives no number of ranks: the largest is compared, but
        its ranks may not wait for each other.
        """
        self.rename(lambda name, number: "void deep_ep::internode::combine<true>(void*)")
        self.assertEqual(self.members(), {2: 60, 4: 90})
        self.assertEqual(self.functions(), {"AllReduce": 120, "other": 360})
        self.assertEqual({(row["reason"], row["example"]) for row in self.json("info", "--ledger")["rows"]},
                         {("kernels of a library in an unknown group", "90")})
        self.assertEqual([found[:2] for found in self.found()], [("compute", 1)])

    def test_a_library_whose_group_is_unknown(self):
        """Ranks 0 and 1, or 0 and 2, but in no order of the job."""
        def change(content, rank):
            groups = content["distributedInfo"]["pg_config"]
            groups[:] = [{"pg_name": name, "ranks": ranks} for name, ranks in
                         (("7", [1 - rank % 2 + rank // 2 * 2, rank]), ("8", [3 - rank, rank]))]

        self.write_ranks("kineto-libraries", change)
        self.assertEqual(self.members(), {1: 480})
        self.assertEqual(self.found(), [])

    def test_kernels_without_a_group_in_a_server(self):
        """A server configures several groups of the same ranks, and some of one rank."""
        def change(content, rank):
            content["distributedInfo"]["pg_config"] = [
                {"pg_name": name, "ranks": ranks} for name, ranks in (("0", [0, 1, 2, 3]), ("3", [rank]), ("7", [0, 1, 2, 3]))]

        self.write_ranks("kineto-2.0", change)
        self.assertEqual(self.members(), {4: 30})
        self.assertEqual([found[:4] for found in self.found()], [("compute", 3, 4, 6)])

        def split(content, rank):
            change(content, rank)
            content["distributedInfo"]["pg_config"][2]["ranks"] = [rank // 2 * 2, rank // 2 * 2 + 1]

        self.write_ranks("kineto-2.0", split)
        self.assertEqual(set(self.members()), {1})

    def test_a_library_in_a_job_without_configuration(self):
        """Ranks are those of the file names, and the kernel gives their number: consecutive ranks."""
        def change(content, rank):
            del content["distributedInfo"]

        self.write_ranks("kineto-libraries", change)
        self.assertEqual(self.members(), {2: 60, 4: 90})
        self.assertEqual([found[:4] for found in self.found()], [("compute", 1, 5, 7)])

    def test_a_host_that_waits_for_its_gpu_is_not_late_itself(self):
        """The slow kernels come after the last operation of the step, and the host waits for them before the next one."""
        def change(content, rank):
            if rank != 2:
                return
            events = content["traceEvents"]
            steps = {int(event["name"].split("#")[1]): event for event in events if "ProfilerStep" in event["name"]}
            kernels = [event for event in events if event.get("cat") == "kernel" and "nccl" in event["name"]]
            for number in range(7, 10):
                begin = steps[number]["ts"]
                first = min(event["ts"] for event in kernels if event["ts"] > begin)
                launches = {event["args"]["correlation"]: event for event in events if "Launch" in event["name"]}
                here = min((event for event in kernels if event["ts"] > begin), key=lambda event: event["ts"])
                launches[here["args"]["correlation"]]["ts"] = first - 20

        self.write_ranks("kineto-ddp-slow", change)
        self.assertEqual({found[:2] for found in self.found()}, {("compute", 2)})

    def judge_experts(self, slow):
        """Each rank works for 2 ms on the normal number of tokens, within 1 %, and for 4 ms on twice as many; rank `slow`
        takes 1.5 times as long.
        """
        works_us = {step: [2000 + (step * 7 + rank * 5) % 20 for rank in range(4)] for step in range(1, 17)}
        for step in range(6, 10):
            works_us[step][1] *= 2
            if slow is not None:
                works_us[step][slow] *= 1.5
        for rank in range(4):
            self.write(f"traces/kineto-rank{rank}.json", json.dumps(experts(rank, works_us)))
        self.run_program("ingest", "traces")
        return self.found()

    def test_an_expert_with_more_tokens_is_not_slow(self):
        self.assertEqual(self.judge_experts(None), [])

    def test_a_slow_expert_is_told_from_one_with_more_tokens(self):
        self.assertEqual([found[:4] for found in self.judge_experts(1)], [("compute", 1, 6, 9)])

    def test_damage_has_a_place_and_the_rest_is_read(self):
        files = {file["path"].rsplit("/", 1)[1]: file
                 for file in self.json("ingest", FIXTURES / "kineto-damaged", status=1)["files"]}
        for name, offset in (("kineto-rank1.json.gz", 16664), ("kineto-rank2.tmp.gz", 131047)):
            self.assertEqual((files[name]["dialect"], files[name]["status"], files[name]["events"]), ("kineto", "partial", 32))
            self.assertIn(f"at byte {offset} (", files[name]["reason"])

    def test_events_and_groups_without_a_name(self):
        """Numbers and nulls instead of names: these events are skipped, all others are read as before."""
        content = trace("kineto-2.1", 0)
        whole = self.write("whole/rank0.json", json.dumps(content))
        events = content["traceEvents"]
        names = {event["cat"]: event for event in events if "cat" in event}
        self.assertGreater(len(names), 3)
        nameless = []
        for event in names.values():
            text = json.dumps(event)
            nameless += [text[:-1] + ', "name": 5}', text.replace(json.dumps(event["name"]), "null", 1), text[:-1] + ', "name": []}',
                         json.dumps({key: value for key, value in event.items() if key != "name"})]
        content["traceEvents"] = events + ["HERE"]
        bare = self.write("bare/rank0.json", json.dumps(content).replace('"HERE"', ", ".join(nameless)))
        counts = []
        for path in (whole, bare):
            self.run_program("--store", "x.db", "ingest", "-q", path)
            counts.append([self.json("--store", "x.db", "info")["rows"][0][key] for key in ("collectives", "p2p", "tags", "steps")])
            (self.folder / "x.db").unlink()
        self.assertEqual(*counts)

    def test_a_trace_without_nccl(self):
        content = trace("kineto-2.1", 0)
        content["traceEvents"] = [event for event in content["traceEvents"] if "nccl" not in event["name"]
                                  and event["name"] != "record_param_comms"]
        self.write("one.json", json.dumps(content))
        result = self.run_program("ingest", "one.json")
        self.assertIn("it has no NCCL operation", result.flat + result.err)


if __name__ == "__main__":
    unittest.main()
