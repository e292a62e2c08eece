"""The join repeats only the parts that changed, with the same result as a complete join."""

import os
import random
import re
import shutil
import sqlite3

from tests.cli.support import PROGRAM, TOP, Case, all_reduce, trace

os.environ.setdefault("NCCLPROF", PROGRAM)

from tests.torture.content import digests  # noqa: E402


class Join(Case):
    def copy(self, fixture):
        """The fixture's traces, in a folder of the test."""
        folder = self.folder / "traces"
        shutil.copytree(TOP / "fixtures" / fixture, folder, dirs_exist_ok=True)
        return sorted(path for path in folder.iterdir() if path.name.startswith("dump"))

    def content(self):
        return digests(self.store)

    def test_pieces_in_any_order(self):
        files = self.copy("tp2dp2pp2-slow-rank")
        self.ingest("-j1", *files)
        whole = self.content()
        chance = random.Random(5)
        for pieces in (2, 5, len(files)):
            self.store.unlink()
            chance.shuffle(files)
            for at in range(pieces):
                self.ingest(*files[at::pieces])
                self.info()
            self.assertEqual(self.content(), whole, f"{pieces} pieces")

    def answers(self, files):
        self.store.unlink(missing_ok=True)
        self.run_program("ingest", "-q", "-j1", *files)
        return [self.run_program(*words).out for words in
                (["report", "--by", "communicator"], ["stragglers"], ["stalls"], ["clocks"], ["diagnose", "--all"])]

    def test_steps_by_tags_that_were_lost(self):
        """A recorder lost 3 % of the operations, including tags; each step has one AllReduce of all ranks."""
        files, truth = self.simulate("--shape 3d --tp 2 --dp 2 --pp 2 --ranks 8 --per-node 2 --layers 2 --drop "
                                     "0.028 --steps 12 --dialect inspector --seed 1027129279")
        self.assertGreater(truth["lost_operations"], 20)
        self.run_program("ingest", "-q", *files)
        steps = self.rows("SELECT rank, min(step), max(step), count(DISTINCT step) FROM v_operation GROUP BY rank")
        self.assertEqual([tuple(row) for row in steps], [(rank, 0, 11, 12) for rank in range(8)])
        (wrong,) = self.rows("SELECT count(*) FROM v_operation WHERE communicator = '0-7' AND step <> sequence - (SELECT "
                              "min(sequence) FROM v_operation WHERE communicator = '0-7')")
        self.assertEqual(wrong[0], 0)

    def operations(self, files):
        """{operation: step} and {send: its receive}; an operation is what its rank's record says of it."""
        self.store.unlink(missing_ok=True)
        self.run_program("ingest", "-q", *files)
        steps, instances = {}, {}
        for *what, step, instance in self.rows("SELECT rank_name, communicator_hash_hex, function, peer, sequence, step, instance_id "
                                               "FROM v_operation"):
            steps[tuple(what)] = step
            if what[2] in ("Send", "Recv"):
                instances.setdefault(instance, {})[what[2]] = tuple(what)
        return steps, {pair["Send"]: pair["Recv"] for pair in instances.values() if len(pair) == 2}

    def lossy(self, job, lost):
        """Operations have the same steps, and sends the same receives, as if none were lost."""
        steps, pairs = self.operations(self.simulate(job)[0])
        files, truth = self.simulate(f"{job} --drop {lost}")
        found, found_pairs = self.operations(files)
        self.assertEqual(len(found), len(steps) - truth["lost_operations"])
        wrong = [what for what, step in found.items() if step != steps[what]]
        self.assertLessEqual(len(wrong), len(found) // 200, job)
        self.assertTrue(found_pairs.items() <= pairs.items(), (job, lost))
        kept = sum(send in found and receive in found for send, receive in pairs.items())
        self.assertEqual(len(found_pairs), kept, job)

    def test_lost_operations_do_not_shift_others(self):
        """Steps are also lost at their ends; sends are told by the rank's own numbers, which lack some in each step."""
        pipeline = "--shape 1f1b --ranks 8 --per-node 4 --tp 2 --dp 2 --pp 2 --microbatches 4 --layers 2 --steps 14 --seed 8 --dialect "
        experts = "--shape moe --ranks 8 --per-node 4 --layers 2 --steps 12 --seed 5 --dialect "
        for job in (pipeline, experts):
            for dialect in ("inspector-2.30-terse", "inspector-2.30"):
                for lost in (0.01, 0.1):
                    self.lossy(job + dialect, lost)

    def test_an_operation_that_all_lost_first(self):
        """Each step has one AllReduce of all ranks, at its end. The first ranks that are read lost the last one."""
        files, _ = self.simulate("--shape 3d --tp 2 --dp 2 --pp 2 --ranks 8 --per-node 4 --layers 2 --steps 10 --seed 6 "
                                 "--dialect inspector-2.30-terse")
        steps, _ = self.operations(files)
        for file in files[:-1]:
            lines = file.read_text().splitlines(keepends=True)
            world = [line for line in lines if '"n_ranks":8' in line]
            lines.remove(world[-1])
            lines.remove(world[4])
            file.write_text("".join(lines))
        found, _ = self.operations(files)
        self.assertEqual(found, {what: steps[what] for what in found})
        self.assertEqual(len(found), len(steps) - 14)

    def test_one_lost_operation_without_a_world(self):
        """No communicator has all ranks. Half of them lost an operation, but each of their communicators has a rank that has all."""
        files, _ = self.simulate("--shape 3d --tp 2 --dp 2 --pp 2 --ranks 8 --per-node 4 --layers 2 --steps 10 --seed 6 "
                                 "--dialect inspector-2.30-terse")
        for file in files:
            lines = file.read_text().splitlines(keepends=True)
            file.write_text("".join(line for line in lines if '"n_ranks":8' not in line))
        steps, pairs = self.operations(files)
        self.assertEqual(set(steps.values()), set(range(10)))
        for number, file in enumerate([files[1], files[2], files[5], files[6]]):
            lines = file.read_text().splitlines(keepends=True)
            collectives = [line for line in lines if '"coll_perf"' in line]
            lines.remove(collectives[len(collectives) // 2 + number])
            file.write_text("".join(lines))
        found, found_pairs = self.operations(files)
        self.assertEqual(len(found), len(steps) - 4)
        collectives = {what: step for what, step in found.items() if what[2] not in ("Send", "Recv")}
        self.assertEqual(collectives, {what: steps[what] for what in collectives})
        self.assertEqual(found_pairs, pairs)

    def test_steps_by_tags_without_times(self):
        """Inspector, not verbose: operations have tags but no times."""
        for lost in ("0", "0.2"):
            self.store.unlink(missing_ok=True)
            files, truth = self.simulate("--shape 3d --tp 2 --dp 2 --pp 2 --ranks 8 --per-node 2 --layers 2 --steps 8 "
                                         f"--dialect inspector-terse --drop {lost} --seed 3")
            self.run_program("ingest", "-q", *files)
            rows = self.rows("SELECT step, sequence FROM v_operation WHERE communicator = '0-7' ORDER BY sequence")
            self.assertEqual({step for step, _ in rows}, set(range(truth["steps"])))
            self.assertEqual([row["step"] for row in self.json("report", "--by", "step")["rows"]],
                             list(range(truth["steps"])))
            self.assertEqual(len({sequence - step for step, sequence in rows}), 1, lost)

    def test_steps_by_tags_with_many_hands(self):
        """The result does not depend on the thread that joins a rank, although each sees tags in another order: half of the
        ranks lost the first.
        """
        for rank in range(16):
            lines, calls = [], [(step, tag) for step in range(8) for tag in ("forward", "backward", "optimizer") * 4]
            for number, (step, tag) in enumerate(sorted(calls, key=lambda call: (call[0], "fbo".index(call[1][0])))):
                at_us = 1795218000000000 + step * 100000 + number * 100
                if step or tag != "forward" or rank % 2 == 0 or rank > 13:
                    lines.append('{"header":{"id":"0x11","rank":%d,"n_ranks":16,"nnodes":1},"metadata":{"git_rev":"pr2045",'
                                 '"hostname":"node","pid":%d},"coll_perf":{"coll":"AllReduce","coll_sn":%d,'
                                 '"coll_msg_size_bytes":1024,"coll_exec_time_us":9,"coll_timing_source":"kernel_gpu",'
                                 '"user_tag":"%s","event_trace_ts":{"coll_start_ts":%d,"coll_stop_ts":%d,'
                                 '"kernel_events":[]}}}\n' % (rank, 2000 + rank, number, tag, at_us, at_us + 5))
            self.write(f"insp/{rank:02}.log", "".join(lines))
        for _ in range(8):
            self.store.unlink(missing_ok=True)
            self.run_program("ingest", "-q", "-j8", self.folder / "insp")
            self.assertEqual(self.rows("SELECT count(*) FROM v_operation WHERE step <> sequence / 12"), [(0,)])

    def test_answers_do_not_hang_on_the_order_of_reading(self):
        """Two communicators of the same ranks; their hashes decide which is "#2"."""
        files, _ = self.simulate("--shape 3d --tp 1 --dp 4 --pp 1 --ranks 4 --per-node 1 --steps 5 --dialect "
                                 "chrome-v7 --seed 3")
        whole = self.answers(files)
        self.assertIn("0-3#2", whole[0])
        chance = random.Random(6)
        for _ in range(3):
            chance.shuffle(files)
            self.assertEqual(self.answers(files), whole)

    def test_steps_do_not_hang_on_who_is_read_first(self):
        """Three buckets per step, no tags; the host of rank 0 is late, and has no pause before the steps after that."""
        files, truth = self.simulate("--shape ddp --ranks 4 --per-node 2 --layers 3 --fault host:0:6:7:25%:backward "
                                     "--sync-lag 1 --steps 10 --dialect chrome-v5 --seed 1")
        for order in files, files[::-1]:
            self.answers(order)
            steps = [row["step"] for row in self.json("report", "--by", "step")["rows"]]
            self.assertEqual(steps, list(range(truth["steps"])))

    def test_answers_do_not_hang_on_it_without_a_world(self):
        """Eight ranks without a collective of all ranks in the trace; the operations of some ranks recur, those of others do
        not.
        """
        files = sorted((TOP / "fixtures/inspector-2.30").glob("*.log"))
        self.ingest(*files)
        whole = self.content()
        self.store.unlink()
        self.ingest(*files[::-1])
        self.assertEqual(self.content(), whole)

    def write_inspector(self, rank, operations, is_verbose=True):
        """An Inspector log of one of two ranks: (kind, call, communicator, its number, at_us, length_us), in this order."""
        def line(kind, call, ident, number, at_us, length_us):
            text = (
                '{"header":{"id":"%s","comm_name":"c%s","rank":%d,"n_ranks":2,"nnodes":1},"metadata":'
                '{"inspector_output_format_version":"v4.0","git_rev":"v2.30.7","rec_mechanism":"nccl_profiler_interface",'
                '"dump_timestamp_us":%d,"hostname":"node","pid":%d},"KIND_perf":{"KIND":"%s","KIND_sn":%d,%s'
                '"KIND_msg_size_bytes":1024,"KIND_exec_time_us":%d,"KIND_timing_source":"collective_cpu",'
                '"KIND_algobw_gbs":1.0,"KIND_busbw_gbs":1.0'
                % (ident, ident, rank, at_us + length_us, 2000 + rank, call, number,
                   f'"p2p_peer":{1 - rank},' if kind == "p2p" else "", length_us))
            if is_verbose:
                text += (',"event_trace_sn":{"KIND_start_sn":1,"KIND_stop_sn":2,"kernel_events":[]},"event_trace_ts":'
                         '{"KIND_start_ts":%d,"KIND_stop_ts":%d,"kernel_events":[]}' % (at_us, at_us + 5))
            return text.replace("KIND", kind) + "}}\n"
        self.write(f"insp/rank{rank}.log", "".join(line(*operation) for operation in operations))

    def steps_found(self):
        self.run_program("ingest", self.folder / "insp")
        return self.json("report", "--by", "step")["rows"]

    def test_steps_where_the_first_world_has_no_numbers(self):
        """Two communicators of the same two ranks. One has only calls of a send and a receive, both in the same microsecond, so
        that either may come first. On the other, one AllReduce ends each of six steps.
        """
        chance = random.Random(2)
        for rank in range(2):
            operations, at_us = [], 1795218000000000
            for step in range(6):
                for _ in range(3):
                    calls = ["Send", "Recv"]
                    chance.shuffle(calls)
                    operations += [("p2p", call, "0x11", len(operations) + i, at_us, 300) for i, call in enumerate(calls)]
                    at_us += 1000
                operations.append(("coll", "AllReduce", "0x22", len(operations), at_us, 200))
                at_us += 1000
            self.write_inspector(rank, operations)
        self.assertEqual([row["step"] for row in self.steps_found()], list(range(6)))
        self.assertEqual(self.info()["communicators"], 2)

    def exchange(self, is_verbose, at_once, parts=4, swapped=(2, 1)):
        """Eight steps of sends, receives and an AllReduce; once, at (step, part), the second call is written first."""
        for rank in range(2):
            operations, number = [], 0
            for step in range(8):
                for part in range(parts):
                    at_us = 1795218000000000 + step * 100000 + (0 if at_once else part * 1000)
                    pair = [("p2p", call, "0x11", number + i, at_us, 300) for i, call in enumerate(("Send", "Recv"))]
                    operations += pair[::-1] if (step, part) == swapped and is_verbose else pair
                    number += 2
                operations.append(("coll", "AllReduce", "0x11", step, at_us + (0 if at_once else 1000), 200))
            self.write_inspector(rank, operations, is_verbose)
        rows = self.steps_found()
        self.assertEqual([row["step"] for row in rows], list(range(8)))
        self.assertEqual({row["operations"] for row in rows}, {2 * (2 * parts + 1)})

    def test_calls_of_one_microsecond_are_in_the_order_of_their_numbers(self):
        self.exchange(is_verbose=True, at_once=False)

    def test_so_are_those_on_both_sides_of_a_block_of_the_store(self):
        """With 256 operations per block and 81 in a step, those of part 6 of step 3 are numbers 255 and 256."""
        self.exchange(is_verbose=True, at_once=False, parts=40, swapped=(3, 6))

    def test_collectives_keep_their_place_among_calls_of_one_microsecond(self):
        self.exchange(is_verbose=True, at_once=True)

    def test_calls_without_times_are_in_the_order_of_their_lines(self):
        self.exchange(is_verbose=False, at_once=False)

    def steps_of(self, sizes):
        """The step numbers of two ranks' AllReduces with these numbers of elements, a millisecond apart."""
        for rank in range(2):
            self.write(f"dump{rank}.json", "[\n" + "".join(
                all_reduce(number, rank, 1000 + rank, 7, 1000.0 * (number + 1)).replace("2097152", str(size))
                for number, size in enumerate(sizes)) + "{}]\n")
        self.store.unlink(missing_ok=True)
        self.ingest("dump0.json", "dump1.json")
        steps = [step for step, in self.rows("SELECT step FROM v_operation WHERE rank = 0 ORDER BY sequence")]
        self.assertEqual(
            steps, [step for step, in self.rows("SELECT step FROM v_operation WHERE rank = 1 ORDER BY sequence")])
        return steps

    def test_steps_that_are_not_all_alike(self):
        """Three buckets per step; the barrier of a checkpoint after two of them, or a loss after every third."""
        plain = [step for step in range(9) for _ in range(3)]
        buckets = [4096, 8192, 16384]
        self.assertEqual(self.steps_of(buckets * 9), plain)
        barriers = buckets * 4 + [1] + buckets * 3 + [1] + buckets * 2
        self.assertEqual(self.steps_of(barriers), plain[:12] + [3] + plain[12:21] + [6] + plain[21:])
        losses = (buckets * 3 + [1]) * 3
        self.assertEqual(self.steps_of(losses),
                         plain[:9] + [2] + plain[9:18] + [5] + plain[18:] + [8])

    def test_two_ranks_without_a_file(self):
        """dp2 x pp2: ranks 0 and 1, 2 and 3 share gradients. The world of 0 and 2 has one gap, which is rank 1. The ranks of a
        communicator ascend, and 2 is the first of its two, so the other one is 3. The trace does not show which of the two is at fault.
        """
        files, truth = self.simulate("--shape 3d --tp 1 --dp 2 --pp 2 --ranks 4 --per-node 2 --layers 2 --fault "
                                     "kill:3:4:4:0:grad_sync --steps 6 --dialect chrome-v7 --seed 1 --noise 0")
        gone = tuple(f'"pid": {process["pid"]},' for process in truth["processes"] if process["rank"] in (1, 3))
        self.run_program("ingest", "-q", *(file for file in files if not any(pid in file.read_text() for pid in gone)))
        report = self.json("diagnose")
        self.assertEqual([(row["ranks"], row["expected_ranks"]) for row in report["coverage"]], [(2, 4)])
        self.assertEqual([(finding["candidates"], finding["confidence"]) for finding in report["findings"] if finding["candidates"]],
                         [([1, 3], "low")])
        self.assertEqual({finding["confidence"] for finding in report["findings"]}, {"low"})

    def hanging(self, rank, pid, communicator):
        """The AllReduces of a process on a communicator; the last one never finishes. Ingest ends with status 1."""
        ended = "".join(all_reduce(number, rank, pid, communicator, 1000.0 * (number + 1)) for number in range(4))
        last = all_reduce(4, rank, pid, communicator, 5000.0).splitlines(keepends=True)
        return ended + "".join(line for line in last if '"ph": "b"' in line and '"GPU"' not in line)

    def test_no_world_is_narrower_than_another_communicator(self):
        """Of eight ranks, the files of 0 and 4 remain, which reduce together; the file of 4 shows that it is the fifth rank
        elsewhere.
        """
        self.write("a.json", "[\n" + self.hanging(0, 1000, 7) + "{}]\n")
        self.write("b.json", "[\n" + "".join(all_reduce(number, 1, 1004, 7, 1000.0 * (number + 1)) for number in range(4))
                   + all_reduce(9, 4, 1004, 9, 500.0) + "{}]\n")
        self.ingest("a.json", "b.json", status=1)
        report = self.json("diagnose")
        self.assertIn("no communicator contains all processes", " ".join(report["warnings"]))
        self.assertEqual([(finding["kind"], finding["rank"], finding["process"]) for finding in report["findings"]],
                         [("missing", None, "process:1004")])

    def test_pieces_of_a_job(self):
        """One rank of each pair wrote a file, and nothing shows the number of ranks: the others may be lost."""
        for pairs in 1, 3:
            self.store.unlink(missing_ok=True)
            for pair in range(pairs):
                self.write(f"dump{pair}.json", "[\n" + self.hanging(0, 1000 + pair, 7 + pair) + "{}]\n")
            self.ingest(*(f"dump{pair}.json" for pair in range(pairs)), status=1)
            self.assertEqual([(finding["kind"], finding["rank"], finding["confidence"])
                              for finding in self.json("diagnose")["findings"]], [("missing", 1, "low")] * pairs)

    def test_threads_come_to_the_same(self):
        """With and without tags, with sequence numbers and with pairs."""
        for fixture in ("tp2dp2pp2-clean", "fsdp-clean", "inspector-2.30", "dialect-2.30.7"):
            contents = []
            for jobs in (1, 5):
                self.ingest("-j", jobs, TOP / "fixtures" / fixture)
                contents.append(self.content())
                self.store.unlink()
            self.assertEqual(*contents, fixture)

    def test_a_file_that_is_replaced(self):
        """The job splits into two without the file, and becomes one again with it."""
        files = self.copy("tp2dp2pp2-slow-rank")
        self.ingest(*files)
        whole = self.content()
        kept = files[7].read_bytes()
        files[7].write_text(trace(pid=99))
        self.ingest(files[7])
        changed = self.content()
        self.assertNotEqual(changed, whole)
        self.store.unlink()
        self.ingest(*files)
        self.assertEqual(self.content(), changed)
        files[7].write_bytes(kept)
        self.ingest(*files)
        self.assertEqual(self.content(), whole)

    def test_other_jobs_stay_as_they_are(self):
        """The join of one job is not written again when another job is added."""
        self.ingest(*self.copy("tp2dp2pp2-slow-rank"))
        before = self.rows("SELECT block_id, packed FROM instance_block ORDER BY 1")
        steps = self.rows("SELECT step_count, step_source FROM run")
        self.change("UPDATE instance_block SET packed = zeroblob(3)")
        self.write("other/a.json", trace(communicator=5, pid=1))
        self.ingest("other")
        after = self.rows("SELECT block_id, packed FROM instance_block ORDER BY 1")
        self.assertEqual(len(after), len(before) + 1)
        self.assertEqual({packed for _, packed in after[:-1]}, {"x'000000'"})
        self.assertEqual(self.rows("SELECT step_count, step_source FROM run ORDER BY run_id LIMIT 1"), steps)

    def change(self, sql):
        with sqlite3.connect(self.store) as store:
            store.execute(sql)
        store.close()

    def test_jobs_beside_each_other(self):
        """The output for a job does not depend on the other jobs in the store, but for the run that commands name."""
        fixtures = ("tp2dp2pp2-slow-rank", "inspector-2.28", "inspector-2.30", "fsdp-clean", "v1-states-partial")
        asked = (("diagnose", "--all"), ("stragglers",), ("clocks",))

        def told(command):
            answer = self.json(*command, status=None)
            lists = [rows for rows in answer.values() if isinstance(rows, list)]
            told = {}
            for place, rows in enumerate(lists):
                for row in rows:
                    if isinstance(row, dict) and "run" in row:
                        same = {key: re.sub(r" --run \d+", "", value) if key in ("next", "confirm") else value
                                for key, value in row.items()}
                        told.setdefault(row["run"], []).append((place, {**same, "run": 0}))
            return list(told.values())

        alone = {command: [] for command in asked}
        for fixture in fixtures:
            self.ingest(TOP / "fixtures" / fixture, status=None)
            for command in asked:
                alone[command] += told(command)
            self.store.unlink()
        for fixture in fixtures:
            self.ingest(TOP / "fixtures" / fixture, status=None)
        for command in asked:
            self.assertEqual(sorted(map(str, told(command))), sorted(map(str, alone[command])), command)
            self.assertTrue(alone[command], command)
