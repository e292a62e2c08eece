"""timeline: the content of the trace, read by the rules of protobuf (perfetto.py), compared with a second reader of the
fixtures.
"""

import collections
import datetime
import gzip
import json
import random
import re

from tests.cli import reader
from tests.cli.perfetto import Trace
from tests.cli.support import TOP, Case, all_reduce, kernel, tag, trace

FIXTURES = TOP / "fixtures"
SLOW = FIXTURES / "tp2dp2pp2-slow-rank"
WAITS = reader.FULL_EXCHANGES | {"Send"}
WAIT_LEAST_NS = 1000


class Timeline(Case):
    def draw(self, *words):
        """The trace of the paths among the arguments, which are ingested first, or of the present store."""
        paths = [word for word in words if not isinstance(word, str)]
        if paths:
            self.run_program("ingest", *paths, status=None)
        self.answer = self.json("timeline", "-o", "trace.pftrace", *(word for word in words if word not in paths))
        drawn = Trace(self.folder / "trace.pftrace")
        self.assertTrue(drawn.is_nested())
        (row,) = self.answer["rows"]
        self.assertEqual(row["slices"], sum(not made.is_mark for made in drawn.slices))
        self.assertEqual(row["arrows"], len(drawn.arrows))
        return drawn

    def by_call(self, drawn, category="operation"):
        """Slices by (rank, communicator, function, number); for sends and receives the number is that of the pair."""
        found = {}
        for made in drawn.of(category):
            key = (drawn.process_of(made), made.arguments["communicator"], made.name.split()[0], made.arguments["number"])
            self.assertNotIn(key, found)
            found[key] = made
        return found

    def inner(self, drawn):
        """The slices within each operation."""
        found = collections.defaultdict(list)
        for made in drawn.slices:
            if made.parent and made.parent.category == "operation":
                found[made.parent].append(made)
        return found

    def test_operations_and_waiting_by_definition(self):
        job = reader.Job(SLOW)
        drawn = self.draw(SLOW)
        labels = dict(self.rows("SELECT DISTINCT communicator_hash, communicator FROM v_operation"))
        made = self.by_call(drawn)
        self.assertEqual(len(made), sum(len(instance.members) for instance in job.instances))
        waits, drawn_waits = collections.Counter(), collections.Counter()
        for instance in job.instances:
            last = min((member for member in instance.members), key=lambda member: member.duration or 0)
            told = (instance.is_complete and instance.function in WAITS
                    and all(member.has_gpu_times for member in instance.members))
            for member in instance.members:
                if told and member.duration - last.duration >= WAIT_LEAST_NS:
                    waits[member.rank, member.step, last.rank] += member.duration - last.duration
                if member.has_gpu_times and not member.is_pair:
                    bar = made[f"rank {member.rank}", labels[str(member.communicator)], member.function, member.sequence]
                    # A channel may have only a start; the next slice of its track may cut off as much as the clocks are off.
                    self.assertAlmostEqual(bar.end - bar.begin, member.duration, delta=2000)
                    self.assertEqual((bar.arguments["bytes"], bar.arguments["tag"], bar.arguments["step"]),
                                     (member.bytes, member.tag, member.step))
        for bar in drawn.of("waiting"):
            if not bar.is_mark:
                key = int(drawn.process_of(bar).split()[1]), bar.parent.arguments["step"], int(bar.name.split()[-1])
                self.assertEqual(bar.begin, bar.parent.begin)
                drawn_waits[key] += bar.end - bar.begin
        self.assertEqual(set(waits), set(drawn_waits))
        for key, waited in waits.items():
            self.assertAlmostEqual(drawn_waits[key], waited, delta=2000, msg=key)

    def test_waiting_of_a_step_is_that_of_steps(self):
        drawn = self.draw(SLOW)
        sums, counts = collections.Counter(), collections.Counter()
        for bar in drawn.of("waiting"):
            if not bar.is_mark:
                place = drawn.process_of(bar), bar.parent.arguments["step"]
                sums[place] += bar.end - bar.begin
                counts[place] += 1
        for row in self.json("steps", "--map")["rows"]:
            place = f"rank {row['process']}", row["step"]
            self.assertAlmostEqual(sums[place] / 1e3, row["waiting_us"], delta=2 + counts[place] + 14, msg=place)

    def test_arrows(self):
        """From the rank that arrived last to all ranks that waited for it for a hundredth of a baseline step, forward in
        time, and to no others.
        """
        drawn = self.draw(SLOW)
        step = self.json("steps")["rows"][2]
        usual_ns = 1e3 * (step["duration_us"] - step["longer_us"])
        arrived = {}
        for begin, end in drawn.arrows:
            self.assertEqual((begin.name, begin.category, end.name, end.category),
                             ("arrived last", "waiting", "transfer", "transfer"))
            self.assertLess(begin.begin, end.begin)
            self.assertEqual(begin.parent.begin, begin.begin)
            for key in ("communicator", "number"):
                self.assertEqual(begin.parent.arguments[key], end.parent.arguments[key])
            arrived[end.parent] = drawn.process_of(begin)
        self.assertTrue(arrived)
        for operation, bars in self.inner(drawn).items():
            (wait,) = [bar for bar in bars if bar.name.startswith("waiting")] or [None]
            if operation in arrived:
                self.assertEqual(wait.name, f"waiting for {arrived[operation]}")
            # The rest for the transfer may be smaller than the error bound of the clocks: then there is no arrow.
            waited = wait.end - wait.begin if wait else 0
            self.assertFalse(operation in arrived and waited < 0.99 * usual_ns / 100)
            if waited > 1.01 * usual_ns / 100 and any(bar.name == "transfer" for bar in bars):
                self.assertIn(operation, arrived)

    def test_times_are_aligned(self):
        """The calls of each rank, from `query`, moved by the offset from `clocks`, are at the places where they are drawn."""
        drawn = self.draw(SLOW)
        offsets = {row["process"]: row["offset_us"] for row in self.json("clocks")["rows"]}
        recorded = {}
        for rank, communicator, function, at_us in self.rows(
                "SELECT rank_name, communicator, function, enqueue_end_us FROM v_operation ORDER BY operation_id"):
            recorded.setdefault((f"rank {rank}", communicator, function), []).append(at_us + offsets[rank])
        bars = collections.defaultdict(list)
        for bar in drawn.of("call"):
            bars[drawn.process_of(bar), bar.arguments["communicator"], bar.name].append(bar.end / 1e3)
        self.assertEqual(set(bars), set(recorded))
        zeros = [at - bar for key in bars for at, bar in zip(sorted(recorded[key]), sorted(bars[key]))]
        self.assertEqual(len(zeros), len(drawn.of("call")))
        self.assertLess(max(zeros) - min(zeros), 0.01)
        self.assertEqual(min(bar.begin for bar in drawn.of("call")), 0)

    def test_true_times(self):
        """Ranks whose clock offsets are known: what they did at the same time is drawn at the same time."""
        draw, offsets = random.Random(3), [0, 70_000, -40_000]
        files = ["[\n"] * 3
        truth = {}
        for number in range(80):
            comes = [100_000 + 5_000 * number + draw.expovariate(1 / 200) for _ in offsets]
            leave = max(comes) + 20
            for rank, come in enumerate(comes):
                truth[f"rank {rank}", number] = come, leave
                files[rank] += all_reduce(number, rank, 1000 + rank, 77, come - offsets[rank] - 5, leave - come)
        for rank, text in enumerate(files):
            self.write(f"traces/{rank}.json", text + "{}]\n")
        drawn = self.draw(self.folder / "traces")
        sure_us = max(row["uncertainty_us"] for row in self.json("clocks")["rows"])
        self.assertEqual(self.answer["rows"][0]["uncertainty_us"], sure_us)
        zero = truth["rank 0", 0][0] - min(bar.begin for bar in drawn.of("operation", "rank 0")) / 1e3
        for bar in drawn.of("operation"):
            come, leave = truth[drawn.process_of(bar), bar.arguments["number"]]
            self.assertAlmostEqual(bar.begin / 1e3 + zero, come, delta=sure_us + 0.1)
            self.assertAlmostEqual((bar.end - bar.begin) / 1e3, leave - come, delta=0.01)
        labels = {track.process: track.labels for track in drawn.tracks.values() if track.process}
        self.assertEqual(set(labels), {"rank 0", "rank 1", "rank 2"})
        for mark in drawn.of("clock"):
            if drawn.process_of(mark) == "rank 1":
                self.assertEqual(mark.arguments["method"], "meetings")
                self.assertAlmostEqual(mark.arguments["uncertainty_ns"] / 1e3,
                                       self.json("clocks")["rows"][1]["uncertainty_us"], delta=0.1)

    def test_steps_and_phases(self):
        job = reader.Job(SLOW)
        drawn = self.draw(SLOW)
        ended = collections.defaultdict(int)
        for bar in drawn.of("operation"):
            key = drawn.process_of(bar), bar.arguments["step"], bar.arguments["tag"]
            ended[key] = max(ended[key], bar.end)
        for rank in range(8):
            steps = drawn.of("step", f"rank {rank}")
            self.assertEqual([bar.name for bar in steps], [f"step {number}" for number in range(9)])
            for number, bar in enumerate(steps):
                begins = [other.begin for other in drawn.of("operation", f"rank {rank}") if other.arguments["step"] == number]
                self.assertEqual(bar.begin, min(begins))
                if number < 8:
                    self.assertEqual(bar.end, steps[number + 1].begin)
                phases = [other for other in drawn.of("phase", f"rank {rank}") if other.parent is bar]
                self.assertEqual({phase.name for phase in phases},
                                 {member.tag for instance in job.instances for member in instance.members
                                  if member.rank == rank and member.step == number})
                self.assertEqual(phases[0].begin, bar.begin)
                for before, after in zip(phases, phases[1:]):
                    self.assertEqual(before.end, after.begin)
                for phase in phases:
                    self.assertAlmostEqual(phase.end, min(ended[f"rank {rank}", number, phase.name], bar.end), delta=2000)

    def test_findings(self):
        drawn = self.draw(SLOW)
        (finding,) = self.json("diagnose")["findings"]
        bars = drawn.of("finding")
        self.assertEqual([(drawn.process_of(bar), bar.track.name) for bar in bars], [(None, "findings"), ("rank 1", "Findings")])
        for bar in bars:
            self.assertEqual(bar.name, "compute: rank 1")
            for key in ("text", "evidence", "confidence"):
                self.assertEqual(bar.arguments[key], finding[key])
            self.assertIn("nvidia-smi", bar.arguments["next"])
            self.assertEqual(bar.arguments["lost_us"], int(finding["lost_us"]))
            steps = drawn.of("step", "rank 1")
            self.assertTrue(steps[finding["first_step"]].begin <= bar.begin <= steps[finding["first_step"]].end)
            self.assertAlmostEqual(bar.end, max(drawn.of("step", f"rank {rank}")[8].end for rank in range(8)))

    def test_what_never_ended(self):
        drawn = self.draw(FIXTURES / "tp2dp2pp2-hang")
        pending = {(row[0], row[1]) for row in self.rows(
            "SELECT rank_name, function FROM v_operation WHERE unfinished AND device_begin_us IS NOT NULL")}
        endless = {(drawn.process_of(bar), bar.name) for bar in drawn.of("operation") if bar.end is None}
        self.assertEqual(endless, {(f"rank {rank}", function) for rank, function in pending})
        self.assertTrue(endless)
        for bar in drawn.of("operation"):
            self.assertEqual(bar.arguments.get("times") == "it never ended", bar.end is None)
        finding = self.json("diagnose")["findings"][0]
        bars = drawn.of("finding")
        self.assertEqual({bar.end for bar in bars}, {None})
        self.assertEqual({drawn.process_of(bar) for bar in bars}, {None, f"rank {finding['rank']}"})

    def test_processes(self):
        drawn = self.draw(SLOW)
        processes = [track for track in drawn.tracks.values() if track.process]
        self.assertEqual([track.process for track in processes], [f"rank {rank}" for rank in range(8)])
        self.assertEqual([track.rank_order for track in processes], list(range(8)))
        self.assertEqual(drawn.process_ordering, 1)
        self.assertEqual(len({track.pid for track in processes}), 8)
        self.assertNotIn(0, {track.pid for track in processes})
        self.assertTrue(all(track.labels[-1].startswith("clock +-") for track in processes))
        names = {track.name.split(",")[0] for track in drawn.tracks.values() if track.parent}
        self.assertEqual(names, {"Findings", "Steps", "calls", "operations"})
        self.assertTrue(all(track.name in ("findings", "clock") for track in drawn.tracks.values() if not track.parent))

    def test_hosts(self):
        drawn = self.draw(FIXTURES / "process-facts")
        hosts = {row["process"]: row["host"] for row in self.json("steps", "--map")["rows"]}
        told = {track.process: track.labels[0] for track in drawn.tracks.values() if track.process}
        self.assertEqual({name: host for name, host in told.items() if not host.startswith("clock")},
                         {f"rank {name}": host for name, host in hosts.items() if host})
        some = next(host for host in hosts.values() if host)
        only = self.draw("--host", some)
        self.assertEqual({track.process for track in only.tracks.values() if track.process},
                         {name for name, host in told.items() if host == some})

    def test_filters(self):
        whole = self.draw(SLOW)
        def kept(drawn):
            return collections.Counter((drawn.process_of(bar), bar.name, bar.begin, bar.end, bar.arguments["number"])
                                       for bar in drawn.of("operation"))

        def expected(keep):
            return kept(whole) - collections.Counter(
                (whole.process_of(bar), bar.name, bar.begin, bar.end, bar.arguments["number"])
                for bar in whole.of("operation") if not keep(bar))

        for words, keep in (
                (["--rank", "1,4-5"], lambda bar: whole.process_of(bar) in ("rank 1", "rank 4", "rank 5")),
                (["--step", "4-5"], lambda bar: bar.arguments["step"] in (4, 5)),
                (["--tag", "optimizer"], lambda bar: bar.arguments["tag"] == "optimizer"),
                (["--communicator", "0-7"], lambda bar: bar.arguments["communicator"] == "0-7")):
            with self.subTest(words=words):
                drawn = self.draw(*words)
                # If the next operation of a track is omitted, it does not cut off the end of the previous one.
                left = {key[:3] + key[4:] for key in kept(drawn)}
                self.assertEqual(left, {key[:3] + key[4:] for key in expected(keep)})
                self.assertTrue(all(flow in {other for bar in drawn.slices for other in bar.flows}
                                    for bar in drawn.slices for flow in bar.flows))
        self.assertEqual({bar.name for bar in self.draw("--step", "4-5").of("step")}, {"step 4", "step 5"})
        self.assertEqual({bar.name for bar in self.draw("--tag", "optimizer").of("phase")}, {"optimizer"})
        self.assertEqual(len(self.draw("--step", "0-2").of("finding")), 0)
        self.assertEqual(len(self.draw("--rank", "0").of("finding")), 0)
        self.assertEqual(len(self.draw("--rank", "1").of("finding")), 2)
        nothing = self.run_program("timeline", "-o", "none.pftrace", "--tag", "no such", status=1)
        self.assertIn("no tag 'no such' in the store", nothing.err)
        self.assertFalse((self.folder / "none.pftrace").exists())

    def test_one_run(self):
        for number in (1, 2):
            self.write(f"job{number}/a.json", trace(0, communicator=number))
            self.write(f"job{number}/b.json", trace(1, communicator=number))
            self.run_program("ingest", self.folder / f"job{number}")
        wrong = self.run_program("timeline", "-o", "trace.pftrace", status=1)
        self.assertIn("the store contains 2 runs; choose one with --run", wrong.err)
        self.assertEqual(len(self.draw("--run", "job2").of("operation")), 10)
        self.assertEqual(self.answer["rows"][0]["run"], 2)
        self.assertIn("missing option --output", self.run_program("timeline", status=2).err)

    def test_calls_alone(self):
        """For the entries of Flight Recorder, only the time of the call is known."""
        drawn = self.draw(FIXTURES / "flight-recorder-hang")
        ((count,),) = self.rows("SELECT count(*) FROM v_operation")
        self.assertEqual(len(drawn.of("call")), count)
        self.assertTrue(all(bar.is_mark for bar in drawn.of("call")))
        self.assertEqual(drawn.of("operation"), [])
        self.assertTrue(drawn.of("step"))
        # The clocks are not aligned: the slices have their own times, since 1970.
        self.assertIn("drawn by wall-clock time", " ".join(self.answer["warnings"]))
        called = collections.defaultdict(list)
        for rank, at_ns in self.rows("SELECT v.rank_name, o.enqueue_begin_ns FROM operation o JOIN v_operation v USING (operation_id)"):
            called[f"rank {rank}"].append(at_ns)
        first_ns = min(map(min, called.values()))
        for rank, times in called.items():
            bars = sorted(bar.begin for bar in drawn.of("call", rank))
            self.assertEqual(bars, sorted(at_ns - first_ns for at_ns in times))
        (zero,) = [bar for bar in drawn.of("clock") if drawn.process_of(bar) is None]
        said = datetime.datetime.fromisoformat(zero.arguments["utc"].replace("Z", "+00:00")).timestamp()
        self.assertAlmostEqual(said, first_ns / 1e9, places=5)

    def test_no_times(self):
        self.write("trace.pftrace", "as it was")
        self.run_program("ingest", FIXTURES / "nccl-ras-hang", status=None)
        none = self.run_program("timeline", "-o", "trace.pftrace", status=1)
        self.assertRegex(none.err, r"none of the \d+ operations has timestamps|the store contains no operations")
        self.assertEqual((self.folder / "trace.pftrace").read_text(), "as it was")
        self.assertEqual(none.out, "")

    def test_hostile_names(self):
        """Invalid UTF-8 and terminal escapes are shown as \\xNN: the trace is valid whatever text it contains."""
        worst = b"\x1b[2J\xff\xe2\x80\xaeroot\x7f<script>"
        for rank in range(2):
            lines = trace(rank, communicator=5, tags=[("DRESSED", 10.0)]).encode()
            self.write(f"traces/{rank}.json", lines.replace(b"DRESSED", worst))
        drawn = self.draw(self.folder / "traces")
        shown = "\\x1b[2J\\xff\\xe2\\x80\\xaeroot\\x7f<script>"
        self.assertEqual({bar.arguments["tag"] for bar in drawn.of("operation")}, {shown})
        self.assertEqual({bar.name for bar in drawn.of("phase")}, {shown})

    def test_where_it_goes(self):
        self.draw(SLOW)
        content = (self.folder / "trace.pftrace").read_bytes()
        self.assertEqual(self.answer["rows"][0]["bytes"], len(content))
        self.assertEqual(self.run_program("timeline", "-o", "-").stdout, content)
        self.run_program("timeline", "-o", "trace.gz")
        packed = (self.folder / "trace.gz").read_bytes()
        self.assertEqual(gzip.decompress(packed), content)
        self.assertLess(len(packed), len(content) / 2)
        wrong = self.run_program("timeline", "-o", "none/trace.pftrace", status=1)
        self.assertIn("none/trace.pftrace", wrong.err)
        people = self.run_program("timeline", "-o", "trace.pftrace").out
        self.assertIn("trace.pftrace: 8 ranks, 792 operations, 1 finding\nclocks are aligned to within", people)

    def test_proxies(self):
        folder = FIXTURES / "tp2dp2pp2-slow-sender"
        plain = self.draw(folder)
        drawn = self.draw("--proxy")
        self.assertEqual(plain.of("proxy"), [])
        self.assertEqual(len(drawn.of("operation")), len(plain.of("operation")))
        operations = [bar for bar in drawn.of("proxy") if not bar.track.name.endswith(", steps")]
        rows = self.rows("SELECT rank_name, direction, peer_rank, channel, function, progress_end_us - progress_begin_us "
                         "FROM v_proxy_operation WHERE NOT continued AND operation_id IS NOT NULL")
        ways = {"send": "send to", "recv": "receive from"}
        expected = collections.Counter((f"rank {rank}", f"proxy, {ways[way]} rank {peer}, channel {channel}", function)
                                       for rank, way, peer, channel, function, _ in rows)
        self.assertEqual(collections.Counter((drawn.process_of(bar), bar.track.name, bar.name) for bar in operations), expected)
        self.assertAlmostEqual(sum(bar.end - bar.begin for bar in operations) / 1e3, sum(row[-1] for row in rows), delta=len(rows))
        ((waits,),) = self.rows("SELECT count(network_begin_ns) FROM proxy_step")
        steps = [bar for bar in drawn.of("proxy") if bar.track.name.endswith(", steps")]
        self.assertEqual(sum(bar.name in ("SendWait", "RecvWait") for bar in steps), waits)
        only = self.draw("--proxy", "--rank", "0", "--step", "3")
        self.assertTrue(only.of("proxy", "rank 0"))
        self.assertEqual(only.of("proxy", "rank 1"), [])

    def test_clocks_that_are_not_aligned(self):
        files = ["[\n"] * 2
        for number in range(60):
            for rank in range(2):
                back = 50_000 if rank and number > 30 else 0
                at = 100_000 + 5_000 * number + 40 * (number + rank) % 90
                files[rank] += all_reduce(number, rank, 1000 + rank, 77, at - back, 100)
        for rank, text in enumerate(files):
            self.write(f"traces/{rank}.json", text + "{}]\n")
        drawn = self.draw(self.folder / "traces")
        self.assertIn("no clock that is aligned with the others; ", self.answer["warnings"][-1])
        people = self.run_program("timeline", "-o", "trace.pftrace")
        self.assertIn(f"note: {self.answer['warnings'][-1]}", people.flat)
        self.assertEqual(drawn.arrows, [])
        self.assertIn("clock is not aligned", {label for track in drawn.tracks.values() for label in track.labels})
        for rank in range(2):
            self.assertEqual(min(bar.begin for bar in drawn.slices if drawn.process_of(bar) == f"rank {rank}"), 0)

    def test_chrome_has_the_same_events(self):
        """The JSON for .json, read by the rules of its format, has the tracks, slices, marks and arrows of Perfetto's trace."""
        drawn = self.draw(SLOW)
        self.json("timeline", "-o", "trace.json.gz")
        with gzip.open(self.folder / "trace.json.gz", "rt") as file:
            events = json.load(file)["traceEvents"]
        names, found, opened, arrows = {}, [], collections.defaultdict(list), collections.defaultdict(dict)
        for event in events:
            if event["ph"] == "M":
                names[event["name"], event["pid"], event["tid"] * event["name"].startswith("thread")] = event["args"]
        for event in events:
            track = event["pid"], event["tid"]
            if event["ph"] in "Bi":
                process, thread = names["process_name", event["pid"], 0]["name"], names["thread_name", *track]["name"]
                found.append([process, thread, event["name"], event.get("cat"), event.get("args", {}), round(event["ts"] * 1e3), None])
                if event["ph"] == "B":
                    opened[track].append(found[-1])
            elif event["ph"] == "E":
                opened[track].pop()[-1] = round(event["ts"] * 1e3)
            elif event["ph"] in "sf":
                arrows[event["id"]][event["ph"]] = *track, round(event["ts"] * 1e3)
        self.assertFalse(any(opened.values()))
        expected = [[drawn.process_of(made) or "job", made.track.name, made.name, made.category, made.arguments,
                     made.begin, None if made.is_mark else made.end] for made in drawn.slices]
        self.assertEqual(sorted(found, key=repr), sorted(expected, key=repr))
        self.assertEqual(sorted((arrow["s"][2], arrow["f"][2]) for arrow in arrows.values()),
                         sorted((begin.begin, end.begin) for begin, end in drawn.arrows))

    def test_a_clock_that_is_known_better_later(self):
        """If a GPU clock is moved on the host clock by more than the time between operations, these keep their order and
        their length.
        """
        lines = ""
        for number in range(512):
            at, late = 1000 + 3 * number, 40 if number < 256 else 0
            line = kernel(number, 0, 9, 0, "0x1", 900, at, at + 2)
            for edge in ("b", "e"):  # when the host noticed it
                before = at if edge == "b" else at + 2
                line = line.replace(f'"cat": "GPU", "ph": "{edge}", "id": 0, "pid": 1000, "tid": 1, "ts": {before:.6f}',
                                    f'"cat": "GPU", "ph": "{edge}", "id": 0, "pid": 1000, "tid": 1, "ts": {before + late:.6f}')
            lines += line
        self.write("a.json", "[\n" + lines + "{}]\n")
        drawn = self.draw(self.folder / "a.json")
        bars = drawn.of("operation")
        self.assertEqual([bar.arguments["number"] for bar in bars], list(range(512)))
        self.assertEqual(len({bar.track for bar in bars}), 1)
        short = [bar for bar in bars if bar.end - bar.begin != 2000]
        self.assertTrue(0 < len(short) < 20, len(short))
        for before, after in zip(bars, bars[1:]):
            self.assertLessEqual(before.end, after.begin)

    def test_a_step_that_reaches_into_the_next(self):
        """Communication that goes on while the next step starts: its phase ends with its step, the operation does not."""
        lines = ""
        for step in range(6):
            at = 10_000 + 1000 * step
            lines += tag("forward", 0, 1000, at) + kernel(step, 0, 9, 0, "0x1", at + 10, at + 100, at + 1050)
            lines += tag("backward", 0, 1000, at + 400) + kernel(step, 0, 8, 0, "0x2", at + 500, at + 600, at + 1550)
        self.write("a.json", "[\n" + lines + "{}]\n")
        drawn = self.draw(self.folder / "a.json")
        self.assertEqual([bar.name for bar in drawn.of("step")], [f"step {number}" for number in range(6)])
        steps = drawn.of("step")
        beyond = [bar for bar in drawn.of("operation") if bar.end > steps[bar.arguments["step"]].end]
        self.assertTrue(beyond)
        for bar in beyond:
            (phase,) = [phase for phase in drawn.of("phase")
                        if phase.parent is steps[bar.arguments["step"]] and phase.name == bar.arguments["tag"]]
            self.assertEqual(phase.end, phase.parent.end)
        self.assertEqual({bar.end - bar.begin for bar in drawn.of("operation")}, {950_000})
        self.assertEqual({bar.track.name for bar in drawn.of("operation")},
                         {"operations, stream 1, communicator 0#2", "operations, stream 2, communicator 0"})

    def test_what_comes_after_one_that_never_ended(self):
        lines = [kernel(number, 0, 9, 0, "0x1", 100, 1000 + 300 * number, 1100 + 300 * number) for number in range(6)]
        # Its kernel started, and nothing more is recorded.
        begun = [line for line in lines[2].splitlines(True) if '"ph": "b"' in line]
        lines[2] = re.sub(r'"StopGpuClk": \d+', '"StopGpuClk": 0', "".join(begun))
        self.write("a.json", "[\n" + "".join(lines) + "{}]\n")
        bars = self.draw(self.folder / "a.json").of("operation")
        self.assertEqual([bar.end is None for bar in bars], [number == 2 for number in range(6)])
        self.assertEqual({bar.end - bar.begin for bar in bars if bar.end is not None}, {100_000})

    def test_overlapping(self):
        """64 slices fit at the same time; overlapping ones are drawn next to each other, and omissions are reported."""
        lines = "".join(kernel(number, 0, 9, 0, "0x55b766045590", 100 + number, 1000 + number, 3000 + number)
                        for number in range(70))
        self.write("a.json", "[\n" + lines + "{}]\n")
        drawn = self.draw(self.folder / "a.json")
        bars = drawn.of("operation")
        self.assertEqual(len(bars), 64)
        self.assertEqual({bar.end - bar.begin for bar in bars}, {2_000_000})
        self.assertEqual({bar.track.name for bar in bars}, {"operations"})
        self.assertIn("6 slices are not drawn because they overlap too many others", " ".join(self.answer["warnings"]))
