"""Numeric tags of single operations (UserTag): shown by their names if they have one, and preferred to all other tags."""

import shutil

from tests.cli.support import TOP, Case, trace

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
