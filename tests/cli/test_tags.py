"""Numeric tags of single operations (UserTag): shown by their names if they have one, and preferred to all other tags."""

import shutil

from tests.cli.support import TOP, Case, kernel, tag, trace

FIXTURE = TOP / "fixtures/user-tags"
MOST = str(2**64 - 1)

# According to its TRUTH, in the order in which the operations were issued.
OF_RANK = {0: ["forward"] * 3 + ["7", MOST, "set before", 'a "b"'], 1: ["42"] * 3 + ["7", MOST, "set before", "8"]}
OF_BOTH = {("forward", "AllReduce"): 3, ("7", "AllGather"): 1, (MOST, "AllReduce"): 1, ("set before", "AllReduce"): 1,
           ('a "b"', "Send"): 1}


class UserTags(Case):
    def tags_of(self, rank):
        return [text for text, in self.rows(f"SELECT tag FROM v_operation WHERE communicator_rank = {rank} "
                                            "ORDER BY enqueue_begin_us")]

    def by_tag(self):
        return {(row["tag"], row["function"]): row["instances"] for row in self.json("report", "--by-tag")["rows"]}

    def test_the_fixture(self):
        files = self.ingest(FIXTURE)
        self.assertEqual({(file["dialect"], file["status"], file["skipped"]) for file in files.values()},
                         {("chrome-ncclprof", "ingested", 0)})
        self.assertEqual({rank: self.tags_of(rank) for rank in OF_RANK}, OF_RANK)
        self.assertEqual(self.by_tag(), OF_BOTH)
        self.assertIn(MOST, self.run_program("report", "--by-tag").out)

    def test_hands_say_the_same(self):
        self.run_program("ingest", "-j", "4", FIXTURE)
        self.assertEqual(self.by_tag(), OF_BOTH)

    def test_names_come_and_go_with_their_file(self):
        """The name of a number may be in another file of the process, and may be replaced."""
        shutil.copytree(FIXTURE, self.folder / "traces")
        self.ingest("traces")
        named = self.folder / "traces/ncclprof-node1-4001.json"
        head, _, _ = named.read_text().partition('{"name": "Communicator"')
        line = ('{"name": "TagName", "cat": "USER_TAG", "ph": "i", "s": "p", "id": 0, "pid": 4001, "tid": 1, "ts": %f, '
                '"args": {"number": %s, "tag": "%s"}},\n')
        self.write("traces/more.json", head + line % (1.0, 42, "first") + line % (5000.0, MOST, "last") + "{}]\n")
        self.ingest("traces")
        self.assertEqual(self.tags_of(1), ["first"] * 3 + ["7", "last", "set before", "8"])
        self.assertEqual(self.tags_of(0), OF_RANK[0])
        self.write("traces/more.json", head + line % (1.0, 42, "again") + "{}]\n")
        self.ingest("traces")
        self.assertEqual(self.tags_of(1), ["again"] * 3 + ["7", MOST, "set before", "8"])

    def test_a_name_is_not_run_but_shown(self):
        """A hostile name is escaped in all output."""
        text = (FIXTURE / "ncclprof-node1-4000.json").read_text().replace('"tag": "forward"', r'"tag": "\u001b[31m"')
        self.write("traces/ncclprof-node1-4000.json", text)
        self.ingest("traces")
        self.assertNotIn("\033", self.run_program("report", "--by-tag").out)
        self.assertIn(("\033[31m", "AllReduce"), self.by_tag())

    def test_without_names_a_number_is_its_own(self):
        """Also in a file of NVIDIA's format, and preferred to a tag that was set later for its communicator."""
        lines = trace(count=2, tags=[("forward", 500.0)]).replace('"nChannels": 1}', '"nChannels": 1, "UserTag": 42}', 1)
        self.write("traces/a.json", lines)
        self.ingest("traces")
        self.assertEqual(self.tags_of(0), ["42", "forward"])


RANKS, STEPS, PERIOD_US = 4, 20, 3200


class PhasesWithoutOperations(Case):
    """Each step loads data (1000 us, tag data) and computes (2000 us, tag backward) before its AllReduce (200 us). No operation
    lies in the tag data.
    """

    def play(self, extra_us, lead_us=0):
        """extra_us(rank, step): how much longer loading takes; lead_us: how far the hosts run ahead of their GPUs, which wait for
        data only where that is used up.
        """
        host, ready = [10.0] * RANKS, 10.0 + lead_us
        lines = [[] for _ in range(RANKS)]
        for step in range(STEPS):
            starts = []
            for rank in range(RANKS):
                lines[rank].append(tag("data", rank, 1000 + rank, host[rank]))
                host[rank] += 1000 + extra_us(rank, step)
                lines[rank].append(tag("backward", rank, 1000 + rank, host[rank]))
                host[rank] += 2000 + (step * 7 + rank * 5) % 11
                starts.append(max(host[rank] + 5, ready + 3000))
            ready = max(starts) + 200
            for rank in range(RANKS):
                lines[rank].append(kernel(step, rank, 77, rank, "0x1", host[rank], starts[rank], ready))
                host[rank] = host[rank] + 200 if lead_us else ready
        for rank in range(RANKS):
            self.write(f"traces/dump_77_{rank}.json", "[\n" + "".join(lines[rank]) + "{}]\n")
        self.run_program("ingest", "traces")

    def lasted(self, step, rank):
        """The row of the data phase of a rank in a step."""
        rows = self.json("steps", "--by", "tag,rank", "--step", step, "--rank", rank)["rows"]
        row, = [row for row in rows if row["tag"] == "data"]
        self.assertEqual((row["step"], row["rank"]), (step, rank))
        return row

    def test_the_finding_names_the_phase(self):
        self.play(lambda rank, step: 5000 if rank == 2 and 8 <= step <= 12 else 0)
        finding, = self.json("diagnose")["findings"]
        self.assertEqual((finding["kind"], finding["rank"], finding["tag"], finding["first_step"], finding["last_step"]),
                         ("host", 2, "data", 8, 12))
        self.assertEqual(finding["phases"][0]["tag"], "data")
        self.assertAlmostEqual(finding["phases"][0]["excess_us"], 25000, delta=250)
        self.assertIn("steps 8-12, phase data", self.run_program("diagnose").whole)
        for row in self.json("steps")["rows"][1:]:
            self.assertEqual((row["tag"], row["last_rank"]) if 8 <= row["step"] <= 12 else row["tag"],
                             ("data", 2) if 8 <= row["step"] <= 12 else None)

    def test_its_rows(self):
        self.play(lambda rank, step: 5000 if rank == 2 and 8 <= step <= 12 else 0)
        for step in range(1, STEPS):
            for rank in range(RANKS):
                late_us = 5000 if rank == 2 and 8 <= step <= 12 else 0
                row = self.lasted(step, rank)
                self.assertAlmostEqual(row["duration_us"], 1000 + late_us, delta=1)
                self.assertAlmostEqual(row["longer_us"], late_us, delta=1)
                self.assertAlmostEqual(row["exposed_us"], 1000 + late_us, delta=10)
        mean, = [row for row in self.json("steps", "--by", "tag", "--step", 8)["rows"] if row["tag"] == "data"]
        self.assertAlmostEqual(mean["duration_us"], 1000 + 5000 / RANKS, delta=1)
        rows = {row["tag"]: row for row in self.json("report", "--by-tag")["rows"]}
        self.assertEqual(list(rows), ["backward", "data"])
        self.assertEqual((rows["data"]["function"], rows["data"]["instances"], rows["data"]["operations"]), (None, 0, 0))
        self.assertAlmostEqual(rows["data"]["phase_us_p50"], 1000, delta=1)
        self.assertAlmostEqual(rows["data"]["phase_us_p99"], 6000, delta=1)
        self.assertIsNone(rows["backward"]["phase_us_p50"])
        by_rank = {(row["tag"], row["rank"]): row for row in self.json("report", "--by", "tag,rank", "--step", "8-12")["rows"]}
        for rank in range(RANKS):
            self.assertAlmostEqual(by_rank["data", rank]["phase_us_p50"], 6000 if rank == 2 else 1000, delta=1)
        one, = self.json("report", "--by-tag", "--step", 9, "--rank", 2, "--tag", "data")["rows"]
        self.assertAlmostEqual(one["phase_us_p99"], 6000, delta=1)
        # Phases have no size.
        self.assertNotIn("data", {row["tag"] for row in self.json("report", "--by", "tag,size")["rows"]})

    def test_what_the_gpu_does_not_wait_for(self):
        """The host runs ahead: it loses its lead, and the GPU is never without work."""
        self.play(lambda rank, step: 5000 if rank == 2 and 8 <= step <= 9 else 0, lead_us=20000)
        row = self.lasted(8, 2)
        self.assertAlmostEqual(row["duration_us"], 6000, delta=1)
        self.assertAlmostEqual(row["exposed_us"], 0, delta=1)
        self.assertEqual([row["tag"] for row in self.json("steps")["rows"][1:]], [None] * (STEPS - 1))
        self.assertEqual([f for f in self.json("diagnose")["findings"] if f["confidence"] != "low"], [])

    def test_a_fault_in_the_phase_of_the_operation(self):
        """The time after its tag stays its own."""
        self.play(lambda rank, step: 0)
        for rank in range(RANKS):
            path = self.folder / f"traces/dump_77_{rank}.json"
            path.write_text(path.read_text().replace('"tag": "data"', '"tag": "backward"'))
        self.run_program("ingest", "traces")
        self.assertEqual({row["tag"] for row in self.json("report", "--by-tag")["rows"]}, {"backward"})
        self.assertEqual({row["tag"] for row in self.json("steps", "--by", "tag")["rows"]}, {"backward"})
