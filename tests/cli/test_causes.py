"""Causes: what the nodes of the ranks at fault say of themselves, planted into the store of a simulated job.

Each row of the table of causes is planted in the place and time of a fault (it is named), a little below its limit, in all
places and at all times alike, and in the place of another rank (it is not named).
"""

import json
import os
import shutil
import subprocess
import unittest

from tests.cli.support import PROGRAM, TOP, Case

OUT = os.path.dirname(PROGRAM)
SECOND = 10**9
SAMPLE = SECOND // 20
FIRST, LAST = 20, 39
NETWORK = ("--network-gbs", "40", "--nvlink-gbs", "300")

# A job for each kind of finding that causes explain: how it is simulated, the rank at fault and the ranks of a host.
JOBS = {
    "compute": (("--shape", "ddp", "--ranks", "16", "--per-node", "8", "--fault", f"throttle:3:{FIRST}:{LAST}:30"), 3, 8),
    "host": (("--shape", "ddp", "--ranks", "16", "--per-node", "8", "--fault", f"host:3:{FIRST}:{LAST}:20%:*"), 3, 8),
    "network": (("--shape", "1f1b", "--tp", "2", "--dp", "2", "--pp", "4", "--ranks", "16", "--per-node", "4", "--microbatches",
                 "8", "--fault", f"receive:3:{FIRST}:{LAST}:60%:*"), 3, 4),
    "missing": (("--shape", "3d", "--tp", "2", "--dp", "2", "--pp", "2", "--ranks", "8", "--per-node", "4", "--fault",
                 "hang:2:30:30"), 2, 4),
}


def table():
    return json.loads(subprocess.run([f"{OUT}/print_rules"], capture_output=True, text=True, check=True).stdout)["causes"]


class Job:
    """A simulated job in a store, and the times of its steps."""

    def __init__(self, case, kind, dialect="inspector-2.30"):
        words, self.rank, self.per_node = JOBS[kind]
        self.kind, self.case = kind, case
        self.ranks = int(words[words.index("--ranks") + 1])
        self.host, self.gpu = divmod(self.rank, self.per_node)
        folder, self.store = case.folder / f"job-{kind}-{dialect}", case.folder / f"{kind}-{dialect}.db"
        subprocess.run([f"{OUT}/simulate", *words, *NETWORK, "--steps", "60", "--seed", "5", "--dialect", dialect, "-o", folder],
                       check=True, stdout=subprocess.DEVNULL)
        case.run_program("--store", self.store, "ingest", "-q", folder)
        sql = ("SELECT v_rank.rank AS rank, pid, 1000 * min(enqueue_begin_us) AS begin, 1000 * max(device_end_us) AS end,"
               f" 1000 * min(CASE WHEN step = {FIRST} THEN enqueue_begin_us END) AS first,"
               f" 1000 * max(CASE WHEN step = {LAST} THEN device_end_us END) AS last"
               " FROM v_operation JOIN v_rank USING (process_id) GROUP BY 1 ORDER BY 1")
        rows = case.json("--store", self.store, "query", sql)["rows"]
        self.pids = {row["rank"]: row["pid"] for row in rows}
        ends = {name: [int(row[name]) for row in rows if row[name] is not None] for name in ("begin", "end", "first", "last")}
        self.begin, self.end = min(ends["begin"]), max(ends["end"])
        if kind != "missing":
            self.first, self.last = min(ends["first"]), max(ends["last"])
        else:  # around the stop
            self.first, self.last = self.end - 20 * SECOND, self.end + 20 * SECOND

    def hosts(self):
        return range(self.ranks // self.per_node)

    def facts(self):
        yield from (f"fact\tnode{host:03d}\t8\t-1\t-\t-" for host in self.hosts())
        yield from (f"fact\tnode{host:03d}\t-1\t{gpu}\t00000000:{gpu + 16:02x}:00.0\tGPU-{host}-{gpu}"
                    for host in self.hosts() for gpu in range(self.per_node))

    def devices(self, place):
        """(host, the rank's number there or 0, "place TAB device") of each place of this kind."""
        for host in self.hosts():
            if place in ("host", "network card"):
                yield host, 0, "node\t-" if place == "host" else "port\tmlx5_0/1"
                continue
            for gpu in range(self.per_node):
                pid = self.pids.get(host * self.per_node + gpu, 1)
                yield host, gpu, {"GPU": f"gpu\t00000000:{gpu + 16:02x}:00.0", "process": f"process\t{pid}",
                                  "proxy thread": f"thread\t{pid}/{pid + 1} NCCL Progress 0"}[place]

    def times(self):
        begin, end = self.begin - SECOND, self.end + SECOND
        if self.kind == "missing":
            begin, end = self.end - 90 * SECOND, self.end + 60 * SECOND
        step = SAMPLE if self.kind != "missing" else SECOND
        while begin < end:
            yield begin, begin + step
            begin += step

    def is_faulty(self, begin, end):
        return end > self.first and begin < self.last

    def is_own(self, place, host, gpu):
        return host == self.host and (gpu == self.gpu or place in ("host", "network card"))

    def diagnose(self, lines):
        """The findings with these records."""
        store = self.case.folder / "with.db"
        shutil.copy(self.store, store)
        put = subprocess.run([f"{OUT}/put_node", store], input="\n".join(lines) + "\n", text=True, capture_output=True, check=False)
        self.case.assertEqual((put.returncode, put.stderr), (0, ""))
        return self.case.json("--store", store, "diagnose", "--all")

    def samples(self, row, value):
        """Samples of the row's metric; `value` is a function of the host, the number there and whether the fault shows."""
        for host, gpu, device in self.devices(row["place"]):
            for begin, end in self.times():
                yield (f"sample\tnode{host:03d}\t{device}\t{row['of']}\t{begin}\t{end}\t"
                       f"{value(host, gpu, self.is_faulty(begin, end)):.6f}")

    def messages(self, row, at, own=True, number=None, count=1):
        number = number if number is not None else row["numbers"][0] if row["numbers"] else -1
        for host, gpu, device in self.devices(row["place"]):
            if self.is_own(row["place"], host, gpu) == own:
                yield from (f"event\tnode{host:03d}\t{device}\t{row['of']}\t{number}\t{at + i * 1000}\tmessage" for i in range(count))


def amounts(row, job):
    """(usual, at fault, too little) of a row's metric in one sample."""
    # As many samples as the fault lasts for share a counter's increase.
    shared = max(1, (job.last - job.first) // (SECOND if job.kind == "missing" else SAMPLE))
    cores = 8 if row["is_per_core"] else 1
    return {"greater": (0, 2 * row["floor"] * cores, 0.8 * row["floor"] * cores),
            "less": (1000, 1000 * (1 - row["floor"]) * 0.9, 1000 * (1 - 0.8 * row["floor"])),
            "more": (0, 4 * row["floor"] / shared, 0.4 * row["floor"] / shared)}[row["side"]]


class Causes(Case):
    jobs = {}

    def job(self, kind):
        return Job(self, kind)

    def named(self, diagnosis, job):
        """The names of causes of findings that blame the rank."""
        return {cause["cause"] for finding in diagnosis["findings"] for cause in finding["because"]
                if any(accused["rank"] == job.rank for accused in finding["accused"])}

    def kind_for(self, row):
        return next(kind for kind in ("compute", "host", "network", "missing") if kind in row["kinds"])

    def check_samples(self, job, row):
        usual, much, little = amounts(row, job)
        facts = list(job.facts())
        own = lambda amount: lambda host, gpu, faulty: amount if faulty and job.is_own(row["place"], host, gpu) else usual
        self.assertIn(row["name"], self.named(job.diagnose(facts + list(job.samples(row, own(much)))), job))
        self.assertNotIn(row["name"], self.named(job.diagnose(facts + list(job.samples(row, own(little)))), job))
        everywhere = job.samples(row, lambda host, gpu, faulty: much)
        self.assertNotIn(row["name"], self.named(job.diagnose(facts + list(everywhere)), job))
        others = job.samples(row, lambda host, gpu, faulty: usual if not faulty or job.is_own(row["place"], host, gpu) else much)
        if row["place"] != "host" or len(job.hosts()) > 1:
            self.assertEqual(self.named(job.diagnose(facts + list(others)), job), set())

    def check_messages(self, job, row):
        facts, count = list(job.facts()), int(row["floor"])
        at = job.first if job.kind == "missing" else (job.first + job.last) // 2
        self.assertIn(row["name"], self.named(job.diagnose(facts + list(job.messages(row, at, count=count))), job))
        self.assertNotIn(row["name"], self.named(job.diagnose(facts + list(job.messages(row, at - 3600 * SECOND, count=count))), job))
        self.assertNotIn(row["name"], self.named(job.diagnose(facts + list(job.messages(row, at, own=False, count=count))), job)
                         if row["place"] != "network card" else set())
        if count > 1:
            self.assertNotIn(row["name"], self.named(job.diagnose(facts + list(job.messages(row, at, count=count - 1))), job))
        if row["of"] == "xid":
            for echo in (45, 145, 999):
                self.assertEqual(self.named(job.diagnose(facts + list(job.messages(row, at, number=echo))), job), set())

    def test_each_row_speaks_and_is_quiet(self):
        jobs = {kind: self.job(kind) for kind in JOBS}
        rows = table()
        self.assertGreater(len(rows), 40)
        for row in rows:
            with self.subTest(row=row["name"]):
                job = jobs[self.kind_for(row)]
                (self.check_messages if row["side"] == "message" else self.check_samples)(job, row)


if __name__ == "__main__":
    unittest.main()
