"""Dumps of PyTorch's Flight Recorder: what is read from them, and the rank at fault in a hang."""

import json
import os
import pickle
import shutil
import struct
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.cli.recorder import Job  # noqa: E402
from tests.cli.support import TOP, Case  # noqa: E402


class Dumps(Case):
    def write_job(self, job, **more):
        folder = self.folder / "dumps"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        job.write(folder, **more)
        if self.store.exists():
            self.store.unlink()
        return folder

    def accused(self, *paths):
        """(rank or candidates, kind, confidence, source) of each finding, by rank."""
        self.run_program("ingest", "-q", *paths, status=None)
        self.answer = self.json("diagnose")
        return sorted(
            (tuple(finding["candidates"]) or finding["rank"], finding["kind"], finding["confidence"], finding["source"])
            for finding in self.answer["findings"]
        )

    def accused_of(self, job, **more):
        return self.accused(self.write_job(job, **more))


class ReadingTest(Dumps):
    def test_versions_and_forms_give_the_same(self):
        job = Job(2, {"0": [0, 1]})
        job.call("0", count=4096, dtype="BFloat16", line=7)
        job.call("0", "_all_gather_base", state="scheduled", line=8)
        rows = {}
        for form in "pickle", "json":
            self.accused_of(job, form=form)
            rows[form] = self.rows("SELECT function, sequence, bytes, source, api_begin_ns FROM operation ORDER BY operation_id")
        self.assertEqual(rows["pickle"], rows["json"])
        self.assertEqual([row[1:3] for row in rows["json"][:2]], [(1, 8192), (2, 4096)])
        self.assertEqual(rows["json"][0][3], "/home/user/train.py:7")
        self.assertEqual({file["dialect"] for file in self.json("info", "--files")["rows"]}, {"flight-recorder-2.10-json"})

    def test_the_rank_is_the_names_where_the_content_allows_it(self):
        job = Job(4, {"0": [0, 1, 2, 3], "1": [0, 2], "2": [1, 3]})
        for group in "012":
            job.call(group)
        folder = self.write_job(job)
        (folder / "nccl_trace_rank_1").rename(folder / "gpu-one")
        (folder / "nccl_trace_rank_2").rename(folder / "host7_2.pkl")
        self.assertEqual(self.accused(folder), [])
        # Ranks 1 and 3 are in the same groups, so nothing shows which of them has no number in its name.
        ranks = self.rows("SELECT global_rank FROM job_rank WHERE process_id IS NOT NULL ORDER BY 1")
        self.assertIn((2,), ranks)
        reasons = {row["reason"] for row in self.json("info", "--ledger")["rows"]}
        self.assertIn("dump without its rank", reasons)

    def test_sends_and_receives_tell_the_rank(self):
        job = Job(4, {"5": [1, 3], "0": [0, 1, 2, 3]})
        job.call("0")
        job.entry(3, "5", "send 1->0", "completed", 9)
        job.entry(1, "5", "recv 0<-1", "completed", 9)
        folder = self.write_job(job)
        (folder / "nccl_trace_rank_3").rename(folder / "dump-2026")
        (folder / "nccl_trace_rank_1").rename(folder / "worker")
        self.assertEqual(self.accused(folder), [])
        self.assertEqual(self.rows("SELECT global_rank FROM job_rank ORDER BY 1"), [(0,), (1,), (2,), (3,)])

    def test_hostile_pickles_are_refused_and_never_run(self):
        mark = self.folder / "RUN"
        command = f"touch {mark}".encode()
        call = b"cos\nsystem\nX" + struct.pack("<I", len(command)) + command + b"\x85R"
        head = b"\x80\x02}(X\x09\x00\x00\x00pg_configN"
        for name, content, why in (
            ("global", head + b"X\x01\x00\x00\x00a" + call + b"u.", "GLOBAL"),
            ("self", head + b"X\x07\x00\x00\x00entries]q\x01(h\x01eu.", "inside itself"),
            ("deep", head + b"X\x07\x00\x00\x00entries" + b"](" * 20000, "too deep"),
            ("length", head + b"X\xff\xff\xff\xffabc", "beyond the end"),
            ("memo", head + b"h\x07u.", "never used"),
        ):
            with self.subTest(name=name):
                file = self.write(name, content)
                self.assertIn(self.ingest(file, status=None)[name]["status"], ("failed", "partial"))
                self.run_program("ingest", file, status=None)
                rows = self.json("info", "--ledger")["rows"] if self.store.exists() else []
                if rows:
                    self.assertTrue(any(why in (row["example"] or "") for row in rows), rows)
        self.assertFalse(mark.exists())

    def test_what_comes_before_damage_is_kept(self):
        job = Job(2, {"0": [0, 1]})
        for line in range(20):
            job.call("0", line=line)
        for form in "pickle", "json":
            folder = self.write_job(job, form=form)
            file = folder / "nccl_trace_rank_0"
            whole = file.read_bytes()
            file.write_bytes(whole[: len(whole) // 2])
            result = self.ingest(folder, status=None)["nccl_trace_rank_0"]
            self.assertEqual(result["status"], "partial")
            self.assertIn("at byte", result["reason"])
            lines = self.rows("SELECT count(DISTINCT source) FROM operation")
            self.assertEqual(lines, [(20,)])
            self.assertGreater(self.rows("SELECT count(*) FROM operation")[0][0], 22)

    def test_a_memo_bomb_takes_no_memory(self):
        content = b"\x80\x02}(X\x07\x00\x00\x00entries](X\x01\x00\x00\x00xeq\x00"
        for level in range(60):
            content += b"0](" + bytes([ord("h"), level]) * 10 + b"eq" + bytes([level + 1])
        file = self.write("bomb", content + b"u.pg_config")
        self.assertIn(self.ingest(file, status=None)["bomb"]["status"], ("failed", "partial"))


class StandstillTest(Dumps):
    def groups(self):
        """Four ranks, tensor parallel in pairs, data parallel across them."""
        return Job(4, {"0": [0, 1, 2, 3], "1": [0, 1], "2": [2, 3], "3": [0, 2], "4": [1, 3]})

    def test_fixtures(self):
        for name, want in (
            ("flight-recorder-hang", [(5, "missing", "high", "/home/user/train/train.py:75")]),
            ("flight-recorder-2.2", [(1, "missing", "high", "/home/user/train/train.py:41")]),
            ("flight-recorder-active", [(3, "missing", "high", None), (6, "missing", "high", None)]),
            ("flight-recorder-torchcomms", [(3, "missing", "high", None)]),
        ):
            with self.subTest(fixture=name):
                if self.store.exists():
                    self.store.unlink()
                self.assertEqual(self.accused(TOP / "fixtures" / name), want)

    def test_numbers_over_all_groups_join_as_those_of_each_group(self):
        """torchcomms; in the fixture ranks 0 to 2 make 1 call a step on their group, 3 and 4 make 3, all 1 on main."""
        self.run_program("ingest", "-q", TOP / "fixtures" / "flight-recorder-torchcomms")
        rows = self.json("report", "--by", "communicator,function")["rows"]
        self.assertEqual({(row["communicator"], row["function"]): (row["instances"], row["operations"]) for row in rows},
                         {("main", "other"): (1, 5), ("main", "ReduceScatter"): (4, 19),
                          ("left", "AllReduce"): (4, 12), ("right", "AllReduce"): (12, 24)})

    def test_who_waits_behind_it_is_not_named(self):
        job = self.groups()
        for group in "01234":
            job.call(group)
        job.call("1")
        job.call("2", but=[3], state="scheduled", line=20)
        job.call("3", but=[2], state="scheduled", line=30)
        job.call("4", but=[3], state="scheduled", line=30)
        self.assertEqual(self.accused_of(job), [(3, "missing", "high", "/home/user/train.py:20")])

    def test_nobody_can_be_named_where_all_called_it(self):
        job = Job(3, {"0": [0, 1, 2]})
        job.call("0")
        job.call("0", state="scheduled", line=12)
        self.assertEqual(self.accused_of(job), [])
        undetermined, = self.answer["summary"]["undetermined"]
        self.assertIn("called by all its ranks and never finished", undetermined["reason"])
        self.assertIn("TORCH_NCCL_ENABLE_TIMING", undetermined["remedy"])
        self.assertEqual(self.run_program("diagnose", "--exit-code", status=4).returncode, 4)

    def test_a_gpu_that_never_began_it(self):
        job = Job(3, {"0": [0, 1, 2]})
        job.call("0")
        job.call("0", but=[1], state="started", line=12)
        job.entry(1, "0", "all_reduce", "scheduled", 12)
        self.assertEqual(self.accused_of(job), [(1, "missing", "high", "/home/user/train.py:12")])

    def test_a_gpu_that_never_ended_it(self):
        job = self.groups()
        job.call("0")
        job.entry(0, "1", "all_reduce", "scheduled", 14)
        job.entry(1, "1", "all_reduce", "completed", 14)
        job.call("2")
        job.call("0", state="scheduled", line=40)
        self.assertEqual(self.accused_of(job), [(0, "missing", "high", "/home/user/train.py:14")])

    def test_a_rank_without_a_dump(self):
        job = self.groups()
        job.call("0")
        job.call("2", state="scheduled", line=20)
        job.call("1")
        job.call("3", state="scheduled", line=30, but=[2])
        job.call("4", state="scheduled", line=30, but=[3])
        self.assertEqual(self.accused_of(job, only=[0, 1, 2]), [(3, "missing", "medium", "/home/user/train.py:20")])

    def snapshot(self, seconds, called, done, only=None, **more):
        """Ranks with these numbers of started and finished calls, and dumps written this long after the last call."""
        job = Job(len(called), {"0": list(range(len(called)))})
        for number in range(max(called)):
            for rank, most in enumerate(called):
                if number < most:
                    job.entry(rank, "0", "all_reduce", "completed" if number < done[rank] else "scheduled", 10)
        folder = self.write_job(job, only=only)
        for path in folder.iterdir():
            last_ns = job.dumps[int(path.name[-1])]["entries"][-1]["time_created_ns"]
            os.utime(path, ns=(last_ns, last_ns + int(seconds * 1e9)))
        return [accused[:3] for accused in self.accused(folder)]

    def test_a_dump_of_a_running_job_accuses_nobody(self):
        """Dumps written directly after the last calls: one rank has not called yet, one GPU is behind, or all are at the
        same point.
        """
        for called, done in (([9, 9, 8, 9], [8, 8, 8, 8]), ([9, 10, 10, 10], [8, 9, 9, 9]), ([9, 9, 9, 9], [8, 8, 8, 8]),
                             ([12, 12, 13, 13], [8, 9, 9, 10])):
            for seconds in (0.003, -0.4):
                with self.subTest(called=called, done=done, seconds=seconds):
                    self.assertEqual(self.snapshot(seconds, called, done), [])
                    self.assertTrue(any("so the job was running" in warning for warning in self.answer["warnings"]))

    def test_a_dump_that_was_waited_for_accuses(self):
        """Dumps written after the watchdog's timeout, copied, or with an impossible time; and with a missing rank."""
        for seconds in (15.2, 86400, -86400):
            with self.subTest(seconds=seconds):
                self.assertEqual(self.snapshot(seconds, [9, 9, 8, 9], [8, 8, 8, 8]), [(2, "missing", "high")])
                self.assertFalse(any("so the job was running" in warning for warning in self.answer["warnings"]))
        self.assertEqual(self.snapshot(0.1, [9, 9, 9, 9], [8, 8, 8, 8], only=[0, 1, 3]), [(2, "missing", "medium")])

    def test_dumps_of_few_ranks_name_nobody(self):
        """Two of six ranks: the other four may all be waiting as well. Of three ranks, the other three are candidates."""
        job = Job(6, {"0": list(range(6))})
        job.call("0")
        job.call("0", state="scheduled", line=20, but=[5])
        self.assertEqual(self.accused_of(job, only=[0, 3]), [])
        undetermined, = self.answer["summary"]["undetermined"]
        self.assertIn("Only 2 of 6 ranks have a record", undetermined["reason"])
        self.assertIn("the other 4 ranks (1, 2, 4 and 5)", undetermined["remedy"])
        self.assertTrue(self.run_program("diagnose", "--exit-code", status=4).verdict.startswith("the rank at fault cannot be"))
        self.assertEqual(self.accused_of(job, only=[0, 1, 3]), [((2, 4, 5), "missing", "low", "/home/user/train.py:20")])
        self.run_program("diagnose", "--exit-code", status=3)

    def test_a_dump_that_failed_has_its_reason(self):
        """Ray wrote a message instead of a dump: the rank exists, and its calls are unknown."""
        job = Job(4, {"0": [0, 1, 2, 3]})
        job.call("0")
        job.call("0", but=[1], state="scheduled", line=22)
        folder = self.write_job(job, only=[0, 2, 3], form="json", prefix="rank_")
        (folder / "rank_1.json").write_text('{"ok": false, "reason": "no reply in 5 s"}')
        self.assertEqual(self.accused(folder), [(1, "missing", "medium", "/home/user/train.py:22")])
        finding, = self.answer["findings"]
        self.assertIn("For rank 1 there is no dump: no reply in 5 s", finding["evidence"])
        self.assertTrue(finding["at"]["file"].endswith("rank_1.json"))
        self.assertIn("no dump", {row["reason"] for row in self.json("info", "--ledger")["rows"]})

    def test_an_exception_on_the_rank_without_a_dump(self):
        """Rank 1 raised an exception and hangs in the destruction of its process group: it is alive, and its stderr has the
        reason.
        """
        job = Job(2, {"0": [0, 1]})
        for line in range(30):
            job.call("0", line=line)
        job.call("0", but=[1], state="scheduled", line=22)
        folder = self.write_job(job, only=[0])
        (folder / "stderr").write_text(
            '[rank1]: Traceback (most recent call last):\n[rank1]:   File "train.py", line 9, in f\n'
            "[rank1]: KeyError: 'label'\n"
            "[rank0]:[E1 1:2:3.4 ProcessGroupNCCL.cpp:632] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL("
            "SeqNum=31, OpType=ALLREDUCE, NumelIn=1024, NumelOut=1024, Timeout(ms)=600000) ran for 600086 milliseconds before "
            "timing out.\n[rank0]:[E1 1:2:3.4 ProcessGroupNCCL.cpp:2268] [PG ID 0 PG GUID 0(default_pg) Rank 0]  failure "
            "detected by watchdog at work sequence id: 31 PG status: last enqueued work: 31, last completed work: 30\n")
        self.assertEqual(self.accused(folder), [(1, "missing", "medium", "/home/user/train.py:22")])
        self.assertIn("KeyError: 'label'", self.answer["findings"][0]["evidence"])
        self.assertTrue(self.answer["findings"][0]["at"]["file"].endswith("stderr"))

    def test_calls_that_are_retired_when_they_are_issued(self):
        """The dumps do not show whether calls finished, so a rank with fewer calls is no hang."""
        job = Job(3, {"0": [0, 1, 2]})
        for number in range(9):
            job.call("0", state="scheduled", but=[2] if number > 6 else [])
        for dump in job.dumps.values():
            for entry in dump["entries"]:
                entry["retired"] = True
        folder = self.write_job(job)
        for path in folder.iterdir():
            os.utime(path, ns=(1, 1))
        self.assertEqual(self.accused(folder), [])
        self.assertEqual(self.answer["summary"]["undetermined"], [])

    def pipeline(self, stages, ended, batches=9):
        """Sends from stage to stage; `ended` decides whether (stage, function, batch) has finished."""
        job = Job(stages, {"0": list(range(stages))})
        for batch in range(batches):
            for stage in range(stages):
                if stage:
                    job.entry(stage, "0", f"recv {stage}<-{stage - 1}",
                              "completed" if ended(stage, "recv", batch) else "scheduled", 30)
                if stage + 1 < stages:
                    job.entry(stage, "0", f"send {stage}->{stage + 1}",
                              "completed" if ended(stage, "send", batch) else "scheduled", 31)
        return [(who, kind) for who, kind, _, _ in self.accused_of(job)]

    def test_a_frozen_gpu_in_a_pipeline(self):
        """The stage has received and has not sent; hosts ran ahead. Micro-batches end before this stage. Receives of other stages
        show what the last stage but one does not send to the last, if these do not wait for sends.
        """
        stages = 5
        for ahead in 1, 2:
            for frozen in range(stages - 1):
                def ended(stage, function, batch, frozen=frozen, ahead=ahead):
                    if stage > frozen:
                        return batch < 4
                    if stage == frozen:
                        return batch < 4 or (function == "recv" and batch == 4)
                    # An earlier stage can send as long as the next one receives: each holds one or two more micro-batches.
                    return batch < 4 + ahead * (frozen - stage) + (ahead if function == "recv" else 0)
                with self.subTest(frozen=frozen, ahead=ahead):
                    is_told = frozen + 2 < stages or ahead == 2
                    self.assertEqual(self.pipeline(stages, ended, batches=14), [(frozen, "missing")] if is_told else [])

    def test_a_send_that_alone_stands_still(self):
        """Both ends called it, and the sender goes on to receive: the fault is in the network or the receiver's GPU."""
        self.assertEqual(self.pipeline(3, lambda stage, function, batch: batch < 4 or (stage < 2 and (
            stage == 0 or function == "recv"))), [])
        self.assertTrue(self.answer["summary"]["undetermined"])

    def test_a_lost_dump_of_a_healthy_job(self):
        job = self.groups()
        for group in "01234":
            job.call(group)
        self.assertEqual(self.accused_of(job, only=[0, 1, 3]), [])

    def test_the_majority_is_right(self):
        for more in ({"name": "all_gather"}, {"dtype": "BFloat16"}, {"count": 2048}):
            job = Job(3, {"0": [0, 1, 2]})
            job.call("0")
            job.entry(0, "0", **{"name": "all_reduce", "state": "scheduled", "line": 15, **more})
            job.call("0", but=[0], state="scheduled", line=12)
            with self.subTest(more=more):
                self.assertEqual(self.accused_of(job), [(0, "mismatch", "high", "/home/user/train.py:15")])

    def test_a_tie_has_candidates(self):
        job = Job(2, {"0": [0, 1]})
        job.entry(0, "0", "all_reduce", "scheduled", 15, count=5)
        job.entry(1, "0", "all_reduce", "scheduled", 15, count=6)
        self.assertEqual(self.accused_of(job), [((0, 1), "mismatch", "low", "/home/user/train.py:15")])

    def pair_that_differs(self, *last, earlier=("all_reduce", "all_reduce", "all_reduce", "all_reduce")):
        """Two pairs that make the same calls; then ranks 0 and 1 make calls of their own under the same number."""
        job = Job(4, {"0": [0, 1], "1": [2, 3]})
        for name in earlier:
            for group in "01":
                job.call(group, name="all_reduce")
                job.call(group, name=name, line=13)
        job.call("0", name="all_reduce")
        for rank, name in enumerate(last):
            job.entry(rank, "0", name, "scheduled", 15)
        return [row[:3] for row in self.accused_of(job)]

    def test_of_a_pair_the_one_that_left_its_pattern(self):
        self.assertEqual(self.pair_that_differs("all_reduce", "all_gather"), [(1, "mismatch", "medium")])
        self.assertIn("repeated their earlier steps", self.answer["findings"][0]["evidence"])
        self.assertEqual(self.pair_that_differs("all_gather", "all_reduce"), [(0, "mismatch", "medium")])

    def test_a_pair_of_which_both_left_their_pattern(self):
        self.assertEqual(self.pair_that_differs("broadcast", "all_gather"), [((0, 1), "mismatch", "low")])

    def test_a_pair_without_a_pattern(self):
        varied = ("all_reduce", "all_gather", "broadcast", "reduce_scatter")
        self.assertEqual(self.pair_that_differs("all_reduce", "all_gather", earlier=varied),
                         [((0, 1), "mismatch", "low")])

    def test_of_a_pair_that_differs_in_size_either_may_be_wrong(self):
        """The rank that kept its usual size may have missed a change, such as a smaller last batch."""
        job = Job(2, {"0": [0, 1]})
        for _ in range(3):
            job.call("0", count=1 << 22)
            job.call("0", count=2048, line=13)
        job.call("0", count=1 << 22)
        job.entry(0, "0", "all_reduce", "scheduled", 13, count=2048)
        job.entry(1, "0", "all_reduce", "scheduled", 13, count=2049)
        self.assertEqual([row[:3] for row in self.accused_of(job)], [((0, 1), "mismatch", "low")])

    def test_an_all_to_all_has_the_size_of_what_one_rank_gets(self):
        job = Job(4, {"0": [0, 1, 2, 3]})
        job.call("0", name="all_to_all", shape=[8, 16])
        self.assertEqual(self.accused_of(job), [])
        self.assertEqual(self.rows("SELECT DISTINCT bytes FROM v_operation"), [(8 * 16 * 4 // 4,)])

    def test_rows_of_all_to_all_may_be_split_unevenly(self):
        job = Job(3, {"0": [0, 1, 2]})
        for rank, rows in enumerate((5, 7, 9)):
            job.entry(rank, "0", "all_to_all", "scheduled", 15, shape=[rows, 8])
        self.assertEqual(self.accused_of(job), [])
        job = Job(3, {"0": [0, 1, 2]})
        for rank, width in enumerate((8, 8, 4)):
            job.entry(rank, "0", "all_to_all", "scheduled", 15, shape=[7, width])
        self.assertEqual(self.accused_of(job), [(2, "mismatch", "high", "/home/user/train.py:15")])

    def test_a_receive_that_was_never_posted(self):
        job = Job(3, {"0": [0, 1, 2]})
        job.call("0")
        job.entry(0, "0", "send 0->1", "scheduled", 21)
        job.entry(1, "0", "all_reduce", "scheduled", 30)
        job.entry(2, "0", "all_reduce", "scheduled", 30)
        self.assertEqual(self.accused_of(job), [(1, "missing", "high", "/home/user/train.py:21")])

    def test_sends_are_joined_by_the_numbers_of_collectives(self):
        """The ring buffer of rank 0 wrapped: its first recorded send is the fourth that rank 1 received."""
        job = Job(2, {"0": [0, 1], "1": [0, 1]})
        for _ in range(8):
            job.call("0")
            job.entry(0, "0", "send 0->1", "completed", 21)
            job.entry(1, "0", "recv 1<-0", "completed", 22)
        del job.dumps[0]["entries"][:6]
        self.assertEqual(self.accused_of(job), [])
        joined = self.rows("SELECT count(*) FROM v_instance WHERE function = 'Send' AND members = 2")
        self.assertEqual(joined, [(5,)])

    def test_a_send_and_its_receive_differ_in_size(self):
        job = Job(2, {"0": [0, 1]})
        job.call("0")
        job.entry(0, "0", "send 0->1", "scheduled", 21, count=8)
        job.entry(1, "0", "recv 1<-0", "scheduled", 22, count=4)
        self.assertEqual([row[:3] for row in self.accused_of(job)], [((0, 1), "mismatch", "low")])

    def test_a_dump_in_both_forms_counts_once(self):
        job = Job(2, {"0": [0, 1]})
        job.call("0")
        folder = self.write_job(job)
        job.write(folder, form="json")
        for rank in 0, 1:
            (folder / f"nccl_trace_rank_{rank}").rename(folder / f"nccl_trace_rank_{rank}.json")
        job.write(folder)
        self.assertIn("2 files skipped", self.run_program("ingest", folder).err)
        self.assertEqual(self.rows("SELECT count(*) FROM operation"), [(2,)])

    def test_members_of_a_launch_have_its_state(self):
        job = Job(2, {"0": [0, 1]})
        for rank in 0, 1:
            job.entry(rank, "0", f"send {rank}->{1 - rank}", "scheduled", 21)
            job.entry(rank, "0", f"recv {rank}<-{1 - rank}", "scheduled", 21, joined=True)
            closing = job.entry(rank, "0", "coalesced", "completed", 22, count=0)
            closing["p2p_seq_id"], closing["collective_seq_id"] = 1, 0
            job.numbers[(rank, "0", False)] = 0
        job.call("0")
        self.assertEqual(self.accused_of(job), [])
        self.assertEqual(self.rows("SELECT count(*) FROM operation WHERE flags & 1"), [(0,)])

    def test_a_dump_that_was_written_before_is_no_evidence(self):
        """The dump of rank 0 is old: other ranks have later calls that all ranks must have made."""
        job = Job(3, {"0": [0, 1, 2]})
        job.call("0")
        job.call("0", but=[0])
        job.call("0", but=[0], state="scheduled", line=33)
        self.assertEqual(self.accused_of(job), [])

    def cut(self, folder, *ranks):
        for rank in ranks:
            path = folder / f"nccl_trace_rank_{rank}"
            content = path.read_bytes()
            path.write_bytes(content[: content.index(b"entries") + (len(content) - content.index(b"entries")) // 3])

    def test_a_cut_dump_says_what_its_status_says(self):
        """The status of rank 1 shows no unfinished call; rank 2 waits elsewhere, according to its status, in a part that was
        cut off.
        """
        job = Job(4, {"0": [0, 1, 2, 3], "1": [0, 1], "2": [2, 3]})
        for line in range(9):
            job.call("0", line=line)
        job.call("0", but=[1], state="scheduled", line=50)
        folder = self.write_job(job)
        self.cut(folder, 1)
        self.assertEqual(self.accused(folder), [(1, "missing", "high", "/home/user/train.py:50")])
        job.entry(3, "2", "all_reduce", "scheduled", 51)
        job.dumps[2]["entries"].pop()
        folder = self.write_job(job)
        self.cut(folder, 1, 2)
        self.assertEqual([who for who, *_ in self.accused(folder)], [1])

    def test_a_dump_without_a_whole_entry_is_no_lost_one(self):
        """The status of rank 1 shows an unfinished call, too, so no rank is missing. If its dump ends before the status, it
        is a candidate.
        """
        job = Job(2, {"0": [0, 1]})
        job.call("0", state="scheduled", line=50)
        folder = self.write_job(job)
        path = folder / "nccl_trace_rank_1"
        whole = path.read_bytes()
        path.write_bytes(whole[: whole.index(b"thread_name")])
        self.assertEqual(self.accused(folder), [])
        self.store.unlink()
        path.write_bytes(whole[: whole.index(b"pg_status") + 20])
        self.assertEqual([(who, confidence) for who, _, confidence, _ in self.accused(folder)], [(1, "low")])

    def test_a_lost_dump_is_no_more_where_another_tells(self):
        job = self.groups()
        job.call("0")
        job.call("2", state="scheduled", line=20)
        job.call("1", but=[1], state="scheduled", line=21)
        self.assertEqual(self.accused_of(job, only=[0, 1, 2]), [(1, "missing", "high", "/home/user/train.py:21")])

    def test_where_all_dumps_are_cut_nobody_is_named(self):
        job = Job(3, {"0": [0, 1, 2]})
        for line in range(9):
            job.call("0", line=line)
        job.call("0", state="scheduled", line=50)
        for dump in job.dumps.values():
            del dump["pg_status"]
        folder = self.write_job(job)
        self.cut(folder, 0, 1, 2)
        self.assertEqual([row for row in self.accused(folder) if row[2] != "low"], [])

    def test_who_waits_in_a_circle_is_a_candidate(self):
        job = Job(2, {"0": [0, 1], "1": [0, 1]})
        job.entry(0, "0", "all_reduce", "scheduled", 41)
        job.entry(0, "1", "all_reduce", "scheduled", 42)
        job.entry(1, "1", "all_reduce", "scheduled", 42)
        job.entry(1, "0", "all_reduce", "scheduled", 41)
        found = self.accused_of(job)
        self.assertEqual([(who, confidence) for who, _, confidence, _ in found], [((0, 1), "low")])


class TimingTest(Dumps):
    """TORCH_NCCL_ENABLE_TIMING=1: the time of each call, and the duration of its kernel. Steps of 50 ms; in the last six the GPU of
    rank 1 computes 30 ms longer, which makes the steps longer.
    """

    def timed(self, job, group, step, name, called_us, lasted_us):
        """All ranks of a group call at the same time; the durations of the kernels by rank."""
        for rank in job.groups[group]:
            entry = job.entry(rank, group, name, "completed", 10)
            entry["time_created_ns"] = 1780000000000000000 + (step * 50000 + max(step - 6, 0) * 30000 + called_us) * 1000
            entry["duration_ms"] = lasted_us(rank) / 1000

    def late(self, step, waits, not_late):
        """Operations that wait for the late rank run for as long as that rank computes."""
        return lambda rank: 1000 + (30000 if step >= 6 and rank in waits and rank not in not_late else 0)

    def test_the_last_to_come_computes(self):
        job = Job(4, {"0": [0, 1, 2, 3]})
        for step in range(12):
            self.timed(job, "0", step, "all_reduce", 0, self.late(step, {0, 2, 3}, {1}))
            self.timed(job, "0", step, "_all_gather_base", 100, self.late(step, set(), set()))
        self.assertEqual([found[:3] for found in self.accused_of(job)], [(1, "compute", "high")])

    def test_of_several_communicators_nobody_knows_who_made_whom_wait(self):
        job = Job(4, {"0": [0, 1, 2, 3], "1": [0, 1], "2": [2, 3]})
        for step in range(12):
            self.timed(job, "1", step, "all_reduce", 0, self.late(step, {0}, {1}))
            self.timed(job, "2", step, "all_reduce", 0, self.late(step, set(), set()))
            self.timed(job, "0", step, "all_reduce", 100, self.late(step, {2, 3}, set()))
        self.assertEqual([found for found in self.accused_of(job) if found[2] != "low"], [])
        self.assertIn("not enough data: calls and durations do not show when operations ran",
                      self.run_program("diagnose").flat)


if __name__ == "__main__":
    unittest.main()
