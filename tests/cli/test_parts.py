"""A large file that several threads read gives the same result as the same bytes read from front to back."""

import gzip
import signal
import subprocess
import time

from tests.cli.support import PATIENCE_S, PROGRAM, SMALL_PARTS, Case

LINE = ('{{"header":{{"id":"0x85c33220eecbc6ae","comm_name":"{name}","rank":{rank},"n_ranks":2,"nnodes":1}},"metadata":'
        '{{"inspector_output_format_version":"v4.0","git_rev":"v2.30.7","rec_mechanism":"nccl_profiler_interface",'
        '"dump_timestamp_us":1795218000257500,"hostname":"node000","pid":{pid}}},"coll_perf":{{"coll":"AllReduce",'
        '"coll_sn":{number},"coll_msg_size_bytes":16777216,"coll_exec_time_us":{number},"coll_timing_source":"kernel_gpu",'
        '"coll_algobw_gbs":3.014232,"coll_busbw_gbs":5.274906}}}}\n')

# A large file has few lines if they are long.
NAME = "world" * 200

WHAT = ("SELECT count(*), sum(byte_offset), sum(sequence), sum(duration_ns), count(DISTINCT operation_id), "
        "sum(byte_offset * (sequence + 1) % 1000003) FROM operation")


class GreatLog(Case):
    """Two ranks; some lines are damaged, some occur twice."""

    operations = 700  # of each rank
    damaged_every = 25
    twice_every = 77
    program = SMALL_PARTS

    def lines(self):
        for rank in range(2):
            for number in range(self.operations):
                line = LINE.format(name=NAME, rank=rank, pid=100 + rank, number=number)
                if number % self.damaged_every == self.damaged_every - 1:
                    line = line[:300] + "\n"
                yield line
                if number % self.twice_every == self.twice_every - 1:
                    yield line

    def setUp(self):
        super().setUp()
        self.content = "".join(self.lines()).encode()
        self.path = self.write("great.log", self.content)
        self.events = 2 * (self.operations - self.operations // self.damaged_every)


class Parts(GreatLog):

    def answers(self, *words):
        self.store.unlink(missing_ok=True)
        file = next(iter(self.ingest(*words, status=None).values()))
        ledger = self.rows("SELECT reason, damage, count, first_offset, example FROM v_ledger ORDER BY reason")
        instances = self.rows("SELECT members, count(*), sum(transfer_us), max(sequence) FROM v_instance GROUP BY 1")
        return [file[key] for key in ("dialect", "status", "events", "skipped", "reason")], self.rows(WHAT), ledger, instances

    def test_equals_one_reader(self):
        self.write("packed.gz", gzip.compress(self.content, 1))
        packed = self.answers("packed.gz")
        self.assertEqual(packed[0][1:3], ["partial", self.events])
        self.assertEqual(self.answers("-j2", "great.log"), packed)
        self.assertGreater(self.rows("SELECT max(operation_id & 4294967295) FROM operation")[0][0], 2 * self.operations)  # the file has several parts
        ids = self.rows("SELECT operation_id, byte_offset FROM operation WHERE sequence % 125 = 7")
        self.assertEqual(self.answers("-j1", "great.log"), packed)
        self.assertEqual(self.rows("SELECT operation_id, byte_offset FROM operation WHERE sequence % 125 = 7"), ids)

    def test_known_again(self):
        self.ingest("great.log", status=None)
        again = self.ingest("great.log", status=1)["great.log"]
        self.assertEqual(again["status"], "unchanged")
        self.write("copy.log", self.content)
        self.assertEqual(self.ingest("copy.log", status=1)["copy.log"]["status"], "unchanged")
        self.assertEqual(self.ingest("--force", "great.log", status=None)["great.log"]["status"], "partial")
        self.assertEqual(self.rows("SELECT count(*) FROM file"), [(1,)])

    def test_one_more_of_the_same_size(self):
        """It is split where the first copy was, so records have the same numbers whichever was read first."""
        other = self.write("other.log", self.content.replace(b'"pid":10', b'"pid":20'))
        sql = "SELECT operation_id & 4294967295 AS ordinal, byte_offset FROM operation WHERE sequence % 25 = 7 ORDER BY 1, 2"
        self.ingest("great.log", status=None)
        numbers = self.rows(sql)
        self.ingest("other.log", status=None)
        both = self.rows(sql)
        self.assertEqual(sorted(set(both)), numbers)
        self.assertEqual(len(both), 2 * len(numbers))
        other.unlink()


class OfRealSize(GreatLog):
    """The released program, with a file that takes long enough to be disturbed."""

    operations = 28000
    damaged_every = 1000
    twice_every = 777
    program = PROGRAM

    def test_grows_while_it_is_read(self):
        """Data that is appended after the file was opened is not lost: the next ingest sees it."""
        more = [LINE.format(name=NAME, rank=0, pid=100, number=self.operations + number) for number in range(5)]
        for number, delay in enumerate((0.02, 0.1, 0.4)):
            process = subprocess.Popen([PROGRAM, "--store", self.store, "-q", "ingest", "-j2", "great.log"], cwd=self.folder,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(delay)
            with open(self.path, "a") as file:
                file.write(more[number])
            process.wait(timeout=PATIENCE_S)
            self.ingest("great.log", status=None)
            self.assertEqual(self.rows("SELECT max(sequence), count(*) FROM operation"),
                             [(self.operations + number, self.events + number + 1)])
            self.store.unlink()

    def test_stopped_in_the_middle(self):
        """The complete file or nothing is stored, whenever Ctrl-C or kill -9 arrives."""
        for signal_number, delay in [(signal.SIGINT, 0.02), (signal.SIGKILL, 0.05), (signal.SIGINT, 0.08), (signal.SIGKILL, 0.12)]:
            process = subprocess.Popen([PROGRAM, "--store", self.store, "-q", "ingest", "-j2", "great.log"], cwd=self.folder,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(delay)
            process.send_signal(signal_number)
            process.wait(timeout=PATIENCE_S)
            if self.store.exists() and self.store.stat().st_size:
                self.check_integrity()
        self.ingest("great.log", status=None)
        self.assertEqual(self.rows("SELECT count(*), sum(events) FROM file"), [(1, self.events)])
        self.assertEqual(self.rows("SELECT count(*) FROM operation"), [(self.events,)])
