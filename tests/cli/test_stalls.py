"""stalls on hand-made jobs in which every wait is known, and compared with a second reader of the fixtures."""

import collections
import gzip
import re
import statistics

from tests.cli.support import TOP, Case, event, tag

RANKS = 4
TRAINING_STEPS = 12
NETWORK_STEPS = 8
USUAL_US = 100.0
HASH = 12481426919102447117
PAIR = 0x450F000000000000  # and one more
LENGTH_US = 20000.0  # in a training step


def jitter(*numbers):
    """Up to 2 %, the same in every run."""
    return 1 + (sum(number * prime for number, prime in zip(numbers, (7, 11, 17, 29))) % 41 - 20) / 1000


def proxy(number, pid, kind, peer, at_us, waits):
    """A proxy operation whose network steps follow one another; `waits` are (GPU, peer, network) of each. Also returns its
    end.
    """
    send = kind == "Send"
    names = ["SendGpuWait", "SendPeerWait", "SendWait"] if send else ["RecvWait", "RecvFlushWait", "RecvGpuWait"]
    lines = event(f"Progress{kind}", "PROXY", "b", number, pid, at_us, Channel=0, Peer=peer, Steps=len(waits),
                  ChunkSize=524288, transSize=524288 * len(waits))
    now = at_us
    for step, lengths in enumerate(waits):
        for name, length in zip(names, lengths):
            lines += event(name, "NET", "b", number * 100 + step, pid, now, Step=step)
            now += length
            lines += event(name, "NET", "e", number * 100 + step, pid, now)
    return lines + event(f"Progress{kind}", "PROXY", "e", number, pid, now), now


class Job:
    """Four ranks that send to both neighbours of a ring, with one AllReduce of 4 MiB and two tags per training step."""

    def __init__(self):
        self.network, self.peer, self.gpu, self.receive = {}, {}, {}, {}

    def waits(self, sender, receiver, step):
        """For every network step on the sender's side."""
        key = (sender, receiver, step)
        network = [USUAL_US * jitter(*key, i) for i in range(NETWORK_STEPS)]
        extra = self.network.get(key, [0.0] * NETWORK_STEPS)
        return [(self.gpu.get(key, 10.0), self.peer.get(key, 1.0), wait + more) for wait, more in zip(network, extra)]

    def longest(self, step):
        """For how long the slowest link of a training step works."""
        return max([sum(map(sum, self.waits(rank, peer, step))) for rank in range(RANKS)
                    for peer in ((rank + 1) % RANKS, (rank - 1) % RANKS)])

    def begin(self, step):
        """All ranks wait for the slowest link of the step before."""
        return 1000.0 + sum(LENGTH_US + self.longest(before) for before in range(step))

    def rank(self, rank):
        pid, lines, tags, number = 1000 + rank, "[\n", "", 0
        for step in range(TRAINING_STEPS):
            at = self.begin(step)
            lines += event("AllReduce", "COLL", "b", step, pid, at + 1, SeqNum=step, CommHash=HASH, Rank=rank, Count=2097152,
                           Datatype="ncclBfloat16", Algorithm="RING", Protocol="SIMPLE", nChannels=1)
            end = at
            for peer in ((rank + 1) % RANKS, (rank - 1) % RANKS):
                text, ended = proxy(number, pid, "Send", peer, at + 10, self.waits(rank, peer, step))
                late = self.receive.get((peer, rank, step), 0.0)
                more, also = proxy(number + 1, pid, "Recv", peer, at + 10, [(50.0 + late, 1.0, 1.0)] * NETWORK_STEPS)
                lines, end, number = lines + text + more, max(end, ended, also), number + 2
            lines += event("AllReduce", "COLL", "e", step, pid, end)
            tags += tag("forward", rank, pid, at) + tag("optimizer", rank, pid, at + LENGTH_US / 2)
        return lines + tags + "{}]\n"

    def slow(self, sender, receiver, steps, extra_us=400.0):
        for step in steps:
            self.network[sender, receiver, step] = [extra_us] * NETWORK_STEPS
            self.receive[sender, receiver, step] = extra_us  # the receiver waits for it


class Stalls(Case):
    def judge(self, job, *options):
        for rank in range(RANKS):
            self.write(f"traces/{rank}.json", job.rank(rank))
        self.run_program("ingest", "--force", "traces")
        rows = self.json("stalls", *options)["rows"]
        self.assertEqual(len(rows), 2 * RANKS)
        return {(row["sender"], row["receiver"]): row for row in rows}

    def check(self, rows, expected):
        """All links of `expected` have their verdict and steps, and all others are ok."""
        found = {edge: (row["verdict"], row["first_step"], row["last_step"]) for edge, row in rows.items()
                 if row["verdict"] != "ok"}
        self.assertEqual(found, expected)
        for edge, row in rows.items():
            if edge not in expected:
                self.assertEqual((row["stalled_us"], row["first_step"], row["last_step"]), (0, None, None))

    def test_a_healthy_job(self):
        rows = self.judge(Job())
        self.check(rows, {})
        for (sender, receiver), row in rows.items():
            waits = [wait for step in range(TRAINING_STEPS) for _, _, wait in Job().waits(sender, receiver, step)]
            self.assertEqual(row["steps"], len(waits))
            self.assertAlmostEqual(row["send_wait_us_p50"], statistics.median_low(waits), delta=0.02)
            self.assertAlmostEqual(row["send_wait_us_max"], max(waits), delta=0.02)
            self.assertAlmostEqual(row["recv_wait_us_p50"], 50.0, delta=0.02)

    def test_slow_sender(self):
        job = Job()
        job.slow(1, 2, range(5, 8))
        job.slow(1, 0, range(5, 8))
        rows = self.judge(job)
        self.check(rows, {(1, 2): ("slow sender", 5, 7), (1, 0): ("slow sender", 5, 7)})
        # 400 us in each of 8 network steps, one after the other, in 3 training steps.
        self.assertAlmostEqual(rows[1, 2]["stalled_us"], 3 * 8 * 400, delta=3 * 8 * USUAL_US * 0.04)
        self.assertAlmostEqual(rows[1, 2]["verdict_wait_us_mean"], 500, delta=2)
        self.assertAlmostEqual(rows[1, 2]["usual_wait_us_mean"], 100, delta=2)

    def test_slow_link(self):
        job = Job()
        job.slow(1, 2, range(5, 8))
        self.check(self.judge(job), {(1, 2): ("slow link", 5, 7)})

    def test_slow_receiver(self):
        job = Job()
        job.slow(1, 2, range(5, 8))
        job.slow(3, 2, range(5, 8))
        self.check(self.judge(job), {(1, 2): ("slow receiver", 5, 7), (3, 2): ("slow receiver", 5, 7)})

    def test_everything_slow(self):
        """All links of all hosts: diagnose names the network of all ranks, and every link has its verdict."""
        job = Job()
        for rank in range(RANKS):
            job.slow(rank, (rank + 1) % RANKS, range(5, 8))
            job.slow(rank, (rank - 1) % RANKS, range(5, 8))
        rows = self.judge(job)
        self.check(rows, {edge: ("slow sender", 5, 7) for edge in rows})

    def test_paused_once(self):
        job = Job()
        job.network[2, 3, 4] = [0.0] * 3 + [90000.0] + [0.0] * 4
        job.receive[2, 3, 4] = 90000.0 / NETWORK_STEPS
        rows = self.judge(job)
        self.check(rows, {(2, 3): ("paused once", 4, 4)})
        self.assertAlmostEqual(rows[2, 3]["stalled_us"], 90000, delta=8 * USUAL_US * 0.04)

    def test_a_late_end(self):
        """The GPU of rank 3 is late in steps 5 to 8: links wait for data from it or for its credit, none for the network."""
        files, _ = self.simulate("--shape 3d --tp 2 --dp 2 --pp 2 --ranks 8 --per-node 2 --layers 3 --steps 14 "
                                 "--dialect chrome-v5 --seed 7 --fault compute:3:5:8:40%:*")
        self.run_program("ingest", "-q", *files)
        found = {(row["verdict"], row["sender"] if row["verdict"] == "no data" else row["receiver"],
                  row["first_step"], row["last_step"]) for row in self.json("stalls")["rows"] if row["verdict"] != "ok"}
        self.assertIn(("no data", 3, 5, 8), found)
        self.assertLessEqual(found, {("no data", 3, 5, 8), ("no credit", 3, 5, 8)})

    def test_a_victim_has_no_verdict(self):
        """Rank 0's GPU is late because its data came late, and nothing says that it is at fault."""
        job = Job()
        for step in range(3, 6):
            job.gpu[0, 1, step] = job.gpu[0, 3, step] = 510.0
            job.receive[3, 0, step] = 500.0
        self.check(self.judge(job), {})

    def test_slow_all_along(self):
        job = Job()
        job.slow(3, 0, range(TRAINING_STEPS))
        rows = self.judge(job)
        self.check(rows, {(3, 0): ("slow link", 1, TRAINING_STEPS - 1)})
        self.assertAlmostEqual(rows[3, 0]["usual_wait_us_mean"], USUAL_US, delta=USUAL_US * 0.04)

    def test_warm_up_is_no_fault(self):
        job = Job()
        job.slow(1, 2, [0], 2000.0)
        self.check(self.judge(job), {})

    def test_too_short_to_matter(self):
        job = Job()
        job.slow(1, 2, range(5, 8), 0.02 * LENGTH_US / NETWORK_STEPS)
        self.check(self.judge(job, "--factor", "1"), {})
        self.check(self.judge(job, "--factor", "1", "--min-stall", "1"), {(1, 2): ("not confirmed", 5, 7)})
        self.check(self.judge(job, "--min-stall", "1"), {})

    def test_matrix(self):
        job = Job()
        job.slow(1, 2, range(5, 8))
        rows = self.judge(job)
        matrix = self.json("stalls", "--matrix")["rows"]
        self.assertEqual([(row["sender"], row["sender_name"]) for row in matrix],
                         [(0, "0"), (1, "1"), (2, "2"), (3, "3")])
        for row in matrix:
            for receiver in range(RANKS):
                edge = rows.get((row["sender"], receiver))
                self.assertEqual(row[f"to_{receiver}"], edge and edge["send_wait_us_p50"])
        self.assertEqual(self.json("stalls", "--matrix", "--value", "verdict")["rows"][1]["to_2"], "slow link")

    def pairs(self, *recorded):
        """The four ranks, each in a pair with its neighbour; only some left a trace."""
        for rank in recorded:
            pid, at = 1000 + rank, 1000.0 + LENGTH_US * TRAINING_STEPS
            text, end = proxy(900, pid, "Send", 1 - rank % 2, at + 10, [(10.0, 1.0, USUAL_US)] * NETWORK_STEPS)
            lines = event("AllReduce", "COLL", "b", 900, pid, at + 1, SeqNum=0, CommHash=PAIR + rank // 2, Rank=rank % 2,
                          Count=2097152, Datatype="ncclBfloat16", Algorithm="RING", Protocol="SIMPLE", nChannels=1)
            lines += text + event("AllReduce", "COLL", "e", 900, pid, end)
            self.write(f"traces/{rank}.json", Job().rank(rank).replace("{}]\n", lines + "{}]\n"))
        self.run_program("ingest", "traces")
        hashes = dict(self.rows("SELECT communicator, communicator_hash FROM v_communicator"))
        rows = [row for row in self.json("stalls")["rows"] if int(hashes[row["communicator"]]) % 2**64 != HASH]
        return {(row["sender_name"], row["receiver_name"], row["receiver"]) for row in rows}

    def test_a_rank_without_a_trace_is_deduced(self):
        """The missing rank of rank 2's pair is rank 3, of which nothing is recorded."""
        self.assertEqual(self.pairs(0, 1, 2), {("0", "1", 1), ("1", "0", 0), ("2", "3", 3)})

    def test_one_of_two_without_a_trace_has_its_place_for_a_name(self):
        self.assertEqual(self.pairs(0, 2), {("0", f"rank 1 of communicator {PAIR:#x}", None),
                                            ("2", f"rank 1 of communicator {PAIR + 1:#x}", None)})

    def test_usage(self):
        self.judge(Job())
        for words in (["--matrix", "--value", "colour"], ["--sigmas", "many"], ["--factor", "0.5"], ["--matrix", "--states"],
                      ["--matrix", "--by-channel"], ["--value", "verdict"],
                      ["--states", "--value", "send_wait_us_p50"], ["--states", "--sigmas", "3"],
                      ["--states", "--factor", "3"], ["--states", "--min-stall", "3"], ["--states", "--by-channel"]):
            self.run_program("stalls", *words, status=2)


class Hosts(Case):
    def test_hosts_of_both_ends(self):
        (self.folder / "job").mkdir()
        for rank, host in ((0, "left"), (1, "right")):
            name = f"node0-pid{1000 + rank}.log"
            text = (TOP / "fixtures/inspector-v4.3-proxy" / name).read_text()
            self.assertIn('"hostname":"node0"', text)
            (self.folder / "job" / name).write_text(text.replace('"hostname":"node0"', f'"hostname":"{host}"'))
        rows = self.json("stalls", "job")["rows"]
        self.assertEqual({(row["sender"], row["sender_host"], row["receiver"], row["receiver_host"]) for row in rows},
                         {(0, "left", 1, "right"), (1, "right", 0, "left")})
        self.assertIn("receiver_host", self.run_program("stalls", "job").out)

    def test_unknown_hosts(self):
        answer = self.json("stalls", TOP / "fixtures/dialect-2.30.7")
        self.assertEqual({(row["sender_host"], row["receiver_host"]) for row in answer["rows"]}, {(None, None)})
        self.assertNotIn("host", self.run_program("stalls", TOP / "fixtures/dialect-2.30.7").out)


class CannotTell(Case):
    def test_no_network_steps(self):
        for fixture in ("inspector-2.30", "copy-engine"):
            self.run_program("ingest", TOP / "fixtures" / fixture, status=None)
        answer = self.json("stalls")
        self.assertEqual(answer["rows"], [])
        self.assertTrue(any("stalls cannot be detected" in warning for warning in answer["warnings"]), answer["warnings"])

    def test_too_few_steps(self):
        self.run_program("ingest", TOP / "fixtures/v1-states-documentation", status=None)
        answer = self.json("stalls")
        self.assertEqual({row["verdict"] for row in answer["rows"]}, {"unknown"})
        self.assertTrue(any("fewer than 3 training steps" in warning for warning in answer["warnings"]), answer["warnings"])
        figures = {(row["send_wait_us_p50"], row["recv_wait_us_p50"]) for row in answer["rows"]}
        self.assertEqual(figures, {(24.27, None), (None, 69.27)})


class States(Case):
    def test_partial(self):
        """The table in TRUTH."""
        folder = TOP / "fixtures/v1-states-partial"
        self.run_program("ingest", folder, status=None)
        expected = {}
        for line in (folder / "TRUTH").read_text().splitlines():
            match = re.match(r"    (send|recv)  (\d)   (\d) (\d) (\d) (\d)   .*?  +(.*)$", line)
            if match and match[7] != "finished":
                counters = tuple(map(int, match.groups()[2:6]))
                expected[match[1], int(match[2])] = (counters if any(counters) else (None,) * 4, match[7])
        self.assertEqual(len(expected), 9)
        found = {(row["direction"], row["channel"]):
                 ((row["posted"], row["peer_ready"], row["transmitted"], row["done"]), row["reading"])
                 for row in self.json("stalls", "--states")["rows"]}
        self.assertEqual(found, expected)
        # No network step of it has wait times, so there is nothing else to show.
        self.assertEqual(self.json("stalls")["rows"], self.json("stalls", "--states")["rows"])
        self.assertEqual(len(self.json("stalls", "--rank", "0")["rows"]), 4)
        readings = collections.Counter(reading for _, reading in expected.values())
        note, = [warning for warning in self.json("diagnose")["warnings"] if "proxy operations never finished" in warning]
        self.assertIn("9 proxy operations never finished: ", note)
        for reading, count in readings.items():
            self.assertRegex(note, rf"\b{count} '{reading}' \(rank [01] to rank [12](, and others)?\)")

    def test_the_documented_sample_waits_for_nothing(self):
        self.run_program("ingest", TOP / "fixtures/v1-states-documentation", status=None)
        self.assertEqual(self.json("stalls", "--states")["rows"], [])

    def test_dialect_fixture(self):
        self.run_program("ingest", TOP / "fixtures/dialect-2.23-states", status=None)
        rows = self.json("stalls", "--states")["rows"]
        self.assertEqual([(row["direction"], row["channel"], row["done"], row["reading"]) for row in rows],
                         [("send", 1, 1, "in flight, not acknowledged; then waiting for receiver credit or for data")])

    def test_counters_that_nobody_kept(self):
        """An older plugin interface in a newer NCCL: all of them are 0, and the ends of the operations are there."""
        for version in ("2.23.4", "2.24.3", "2.25.1", "2.26.2"):
            self.store.unlink(missing_ok=True)
            self.run_program("ingest", TOP / f"fixtures/dialect-{version}")
            self.assertGreater(self.info()["proxy_ops"], 0)
            self.assertEqual(self.json("stalls", "--states")["rows"], [], version)

    def test_a_job_that_hangs(self):
        """Rank 5 never joined grad_sync: its partner waits for data, and the GPUs have none to send."""
        self.run_program("ingest", TOP / "fixtures/tp2dp2pp2-hang", status=None)
        rows = self.json("stalls", "--states")["rows"]
        self.assertTrue(rows)
        self.assertNotIn("5", {row["rank"] for row in rows})
        self.assertEqual({row["reading"] for row in rows if row["direction"] == "recv" and row["peer"] == "5"},
                         {"no data arrived", "never started"})


class SecondReading(Case):
    """The links of a recorded job, counted again from the text of its traces."""

    def edges(self, folder):
        waits = collections.defaultdict(list)
        for path in sorted(folder.glob("dump*")):
            self.read(gzip.decompress(path.read_bytes()).decode(errors="replace"), waits)
        return waits

    def read(self, text, waits):
        begun, progress = {}, None
        for line in text.splitlines():
            head = re.match(r'\{"name": "(\w+)", "cat": "(\w+)", "ph": "(\w)", "id": (\d+), .*?"ts": ([\d.]+)', line)
            if not head:
                continue
            name, category, phase, number, at_us = head[1], head[2], head[3], head[4], float(head[5])
            if category in ("COLL", "P2P") and phase == "b":
                communicator, rank = re.search(r'"CommHash": (\d+), "Rank": (\d+)', line).groups()
            elif name in ("ProgressSend", "ProgressRecv") and phase == "b":
                peer, progress = int(re.search(r'"Peer": (\d+)', line)[1]), at_us
            elif name in ("SendWait", "RecvWait"):
                if phase == "b":
                    begun[number] = at_us
                elif at_us >= begun[number] >= progress:
                    edge = (int(rank), peer) if name == "SendWait" else (peer, int(rank))
                    waits[name, communicator, edge].append(at_us - begun[number])

    def test_steps_that_never_came_to_the_network_count(self):
        """In a job that hangs: data that the sender's GPU never had ready."""
        folder = TOP / "fixtures/tp2dp2pp2-hang"
        self.run_program("ingest", folder, status=None)
        begun = done = 0
        for path in folder.glob("dump*"):
            content = path.read_bytes()
            text = (gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content).decode()
            begun += len(re.findall(r'"SendGpuWait", "cat": "NET", "ph": "b"', text))
            done += len(re.findall(r'"SendWait", "cat": "NET", "ph": "e", .*"ts": [1-9]', text))
        self.assertGreater(begun, done)
        self.assertEqual(sum(row["steps"] for row in self.json("stalls")["rows"]), begun)

    def test_slow_sender(self):
        folder = TOP / "fixtures/tp2dp2pp2-slow-sender"
        self.run_program("ingest", folder)
        waits = self.edges(folder)
        ranks = {(str(hash_), member): rank for hash_, member, rank in self.rows(
            "SELECT c.communicator_hash, m.rank, r.global_rank FROM member m JOIN v_communicator c USING (communicator_id) "
            "JOIN member_join USING (member_id) JOIN job_rank r USING (job_rank_id)")}
        labels = {str(hash_): label for hash_, label in self.rows("SELECT communicator_hash, communicator FROM v_communicator")}
        expected = {}
        for (name, communicator, (sender, receiver)), values in waits.items():
            key = (ranks[communicator, sender], ranks[communicator, receiver], labels[communicator])
            expected.setdefault(key, {})[name] = values
        rows = {(row["sender"], row["receiver"], row["communicator"]): row for row in self.json("stalls")["rows"]}
        self.assertEqual(set(rows), set(expected))
        for key, row in rows.items():
            send, receive = expected[key]["SendWait"], expected[key]["RecvWait"]
            self.assertEqual(row["steps"], len(send))
            self.assertAlmostEqual(row["send_wait_us_p50"], statistics.median_low(send), delta=0.02)
            self.assertAlmostEqual(row["send_wait_us_max"], max(send), delta=0.02)
            self.assertAlmostEqual(row["recv_wait_us_p50"], statistics.median_low(receive), delta=0.02)
        # TRUTH: the sends of rank 1, steps 6 to 8 (the last).
        bad = {key[0]: (row["first_step"], row["last_step"]) for key, row in rows.items() if row["verdict"] != "ok"}
        self.assertEqual(bad, {1: (6, 8)})

    def test_clean_job(self):
        self.run_program("ingest", TOP / "fixtures/tp2dp2pp2-clean")
        self.assertEqual({row["verdict"] for row in self.json("stalls")["rows"]}, {"ok"})
