"""Causes: what the nodes of the ranks at fault say of themselves, planted into the store of a simulated job.

Each row of the table of causes is planted in the place and time of a fault (it is named), a little below its limit, in all
places and at all times alike, and in the place of another rank (it is not named).
"""

import json
import os
import re
import shutil
import subprocess
import time
import unittest

from tests.cli.support import PROGRAM, SANITIZED, TOP, Case

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
            self.first, self.last = self.end - SECOND // 2, self.end + 20 * SECOND

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
        step = SAMPLE if self.kind != "missing" else SECOND // 2
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
    shared = max(1, (job.last - job.first) // (SECOND // 2 if job.kind == "missing" else SAMPLE))
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

    def all_named(self, job, rows, lines_of):
        """What is named of the rank when the lines of all rows are in the store at once."""
        lines = [line for row in rows for line in lines_of(row)]
        return self.named(job.diagnose([*job.facts(), *lines]), job) if lines else set()

    def check_samples(self, job, rows):
        def with_own(row, amount):
            usual = amounts(row, job)[0]
            return job.samples(row, lambda host, gpu, faulty: amount if faulty and job.is_own(row["place"], host, gpu) else usual)

        def of_others(row):
            usual, much, _ = amounts(row, job)
            is_other = lambda host, gpu: not job.is_own(row["place"], host, gpu)
            return job.samples(row, lambda host, gpu, faulty: much if faulty and is_other(host, gpu) else usual)

        much = {row["name"]: amounts(row, job)[1] for row in rows}
        for row in rows:
            with self.subTest(row=row["name"]):
                self.assertIn(row["name"], self.all_named(job, [row], lambda row: with_own(row, much[row["name"]])))
        # What is said of none of several at once is said of none of them. Memory of others says nothing where their share is known.
        self.assertEqual(len({(row["place"], row["of"]) for row in rows}), len(rows))
        for rows in ([row for row in rows if row["name"] != "other-memory"], [row for row in rows if row["name"] == "other-memory"]):
            if not rows:
                continue
            self.assertLess(set(), self.all_named(job, rows, lambda row: with_own(row, much[row["name"]])))
            self.assertEqual(self.all_named(job, rows, lambda row: with_own(row, amounts(row, job)[2])), set())
            self.assertEqual(self.all_named(job, rows, lambda row: job.samples(row, lambda host, gpu, faulty: much[row["name"]])), set())
            rows = [row for row in rows if row["place"] != "host" or len(job.hosts()) > 1]
            self.assertEqual(self.all_named(job, rows, of_others), set())

    def check_messages(self, job, rows):
        at = job.end if job.kind == "missing" else (job.first + job.last) // 2
        messages = lambda row, at=at, **more: job.messages(row, at, **{"count": int(row["floor"]), **more})
        for row in rows:
            with self.subTest(row=row["name"]):
                self.assertIn(row["name"], self.all_named(job, [row], messages))
        self.assertLess(set(), self.all_named(job, rows, messages))
        quiet = {"of another time": lambda row: messages(row, at - 3600 * SECOND),
                 "of others": lambda row: messages(row, own=False) if row["place"] != "network card" else (),
                 "too few": lambda row: messages(row, count=int(row["floor"]) - 1),
                 "echoes": lambda row: (line for echo in (45, 145, 999) for line in messages(row, number=echo)) if row["of"] == "xid" else ()}
        if job.kind == "missing":
            quiet["before further steps"] = lambda row: messages(row, at - 20 * SECOND)
        for name, lines_of in quiet.items():
            with self.subTest(name):
                self.assertEqual(self.all_named(job, rows, lines_of), set())

    def test_each_row_speaks_and_is_quiet(self):
        rows = table()
        self.assertGreater(len(rows), 40)
        if SANITIZED:  # one row of each kind that takes a path of its own through the program
            rows = {(self.kind_for(row), row["side"], row["place"], row["is_per_core"]): row for row in rows}.values()
        for kind in JOBS:
            job = self.job(kind)
            mine = [row for row in rows if self.kind_for(row) == kind]
            messages = [row for row in mine if row["side"] == "message"]
            samples = [row for row in mine if row["side"] not in ("message", "stack")]  # test_where_main_threads_stand: stacks
            for check, checked in ((self.check_messages, messages), (self.check_samples, samples)):
                if checked:
                    check(job, checked)

    def plant(self, job, name):
        """Facts, and samples of the row's metric that show the fault of the job."""
        row = next(row for row in table() if row["name"] == name)
        usual, much, _ = amounts(row, job)
        return [*job.facts(), *job.samples(row, lambda host, gpu, faulty: much if faulty and job.is_own(row["place"], host, gpu)
                                           else usual)]

    def finding(self, diagnosis, job):
        return next(finding for finding in diagnosis["findings"] if any(accused["rank"] == job.rank for accused in finding["accused"]))

    def test_what_is_said(self):
        job = self.job("compute")
        cause, = self.finding(job.diagnose(self.plant(job, "hw-thermal")), job)["because"]
        self.assertEqual({key: cause[key] for key in ("cause", "source", "host", "device", "value", "usual", "unit")},
                         {"cause": "hw-thermal", "source": "/traces/node.jsonl", "host": "node000", "device": "00000000:13:00.0",
                          "value": 0.2, "usual": 0, "unit": "share"})
        self.assertRegex(cause["time"], r"^2026-11-20T23:40:00\.\d+Z$")
        self.assertRegex(cause["what"], r"^GPU 3 of node000 throttled \(HW thermal\) 20 % of the time \(usually 0\.0 %\) from 23:40:00$|"
                                        r"^GPU 3 of node000 throttled \(HW thermal\) 20 % of the time \(usually 0 %\) from 23:40:00")
        text = self.run_program("--store", self.folder / "with.db", "diagnose").whole
        self.assertIn("Because: GPU 3 of node000 throttled", text)
        self.assertIn("Next: check cooling, fans and air flow of that GPU on host node000.", text)

    def test_names_of_a_host(self):
        job = self.job("compute")
        lines = self.plant(job, "hw-thermal")
        facts, samples = [[line for line in lines if line.startswith(kind)] for kind in ("fact", "sample")]
        full = [line.replace("node000", "node000.cluster.example") for line in samples]
        message = f"event\tnode000\tgpu\t00000000:13:00.0\txid\t94\t{job.first + SECOND // 20}\tmessage"
        self.assertEqual(self.named(job.diagnose(facts + full + [message]), job), {"hw-thermal", "xid-memory"})
        # Two full names: the short one may be either.
        other = full + [line.replace("cluster", "other") for line in full[:1]]
        self.assertEqual(self.named(job.diagnose(facts + other), job), set())

    def test_another_time(self):
        """The GPUs were idle during the run, so the records are of another time."""
        job = self.job("compute")
        lines = self.plant(job, "hw-thermal")
        row = {"place": "GPU", "of": "gpu_utilization_share"}
        busy = list(job.samples(row, lambda host, gpu, faulty: 0.9))
        idle = list(job.samples(row, lambda host, gpu, faulty: 0))
        self.assertEqual(self.named(job.diagnose(lines + busy), job), {"hw-thermal"})
        diagnosis = job.diagnose(lines + idle)
        self.assertEqual(self.named(diagnosis, job), set())
        self.assertIn("the records of host node000 say that its GPUs were idle during the run: their clock may be off, so they were not "
                      "compared", diagnosis["warnings"])

    def test_showed_before(self):
        """Samples that are too rare to compare steps, the last of which before the fault shows the same."""
        job = self.job("compute")
        sample = lambda begin, end, value: ("sample\tnode000\tgpu\t00000000:13:00.0\tthrottle_hw_thermal_share\t"
                                            f"{begin}\t{end}\t{value}")
        facts, during = list(job.facts()), sample(job.first, job.last, 1)
        before = [sample(job.begin - 3 * SECOND, job.begin - 2 * SECOND, value) for value in (0, 1)]
        self.assertEqual(self.named(job.diagnose([*facts, before[0], during]), job), {"hw-thermal"})
        self.assertEqual(self.named(job.diagnose([*facts, before[1], during]), job), set())

    def test_moments(self):
        """What a gauge was at a moment after the fault says nothing of the fault."""
        job = self.job("compute")
        sample = lambda at, value: f"sample\tnode000\tgpu\t00000000:13:00.0\tthrottle_hw_thermal_share\t{at}\t{at}\t{value}"
        moments = {"during": (job.first + job.last) // 2, "after": job.end + SECOND}
        for when, named in (("during", {"hw-thermal"}), ("after", set())):
            lines = [*job.facts(), sample(job.begin - SECOND, 0), sample(moments[when], 1), sample(job.end + 3 * SECOND, 0)]
            self.assertEqual(self.named(job.diagnose(lines), job), named, when)

    def test_processes_of_messages(self):
        job = self.job("missing")
        for pid, named in ((job.pids[job.rank], {"oom-kill"}), (1, {"oom-kill"}), (job.pids[1], set())):
            line = f"event\tnode000\tprocess\t{pid}\toom_kill\t-1\t{job.end}\tmessage"
            self.assertEqual(self.named(job.diagnose([*job.facts(), line]), job), named)
        # It hung for two to four minutes before the kernel said so.
        hung = lambda at: f"event\tnode000\tprocess\t1\thung_task\t-1\t{at}\ttask a:1 blocked for more than 120 seconds."
        self.assertEqual(self.named(job.diagnose([*job.facts(), hung(job.end + 130 * SECOND)]), job), {"hung-task"})
        self.assertEqual(self.named(job.diagnose([*job.facts(), hung(job.end + 30 * SECOND)]), job), set())

    def test_echoes(self):
        job = self.job("missing")
        at = {"with the stop": job.end + SECOND // 5, "later": job.end + 15 * SECOND}
        for when, named in (("with the stop", {"xid-program"}), ("later", set())):
            line = f"event\tnode000\tgpu\t00000000:12:00.0\txid\t43\t{at[when]}\tmessage"
            self.assertEqual(self.named(job.diagnose([*job.facts(), line]), job), named, when)

    def test_messages_of_other_gpus(self):
        """The message of one of seven other GPUs does not make it usual."""
        job = self.job("missing")
        lines = [f"event\tnode000\tgpu\t00000000:{bus}:00.0\txid\t79\t{job.end}\tmessage" for bus in ("12", "13")]
        self.assertEqual(self.named(job.diagnose([*job.facts(), *lines]), job), {"xid-broken"})

    def test_other_outputs(self):
        job = self.job("compute")
        job.diagnose(self.plant(job, "hw-thermal"))
        store = self.folder / "with.db"
        page, metrics = self.folder / "page.html", self.folder / "m.prom"
        self.run_program("--store", store, "html", "-o", page)
        self.assertIn("Because", page.read_text())
        strip = page.read_text().partition('<figure class="chart strip">')[2].partition("</figure>")[0]
        self.assertIn("throttled (HW thermal)", strip)
        # The cause covers the steps of the finding, and hardly more.
        bars = {name: re.search(rf'class="{name}" x="([\d.]+)" y="0" width="([\d.]+)"', strip).groups() for name in ("marked", "cause")}
        for marked, cause in zip(bars["marked"], bars["cause"]):
            self.assertLess(abs(float(marked) - float(cause)), 720 * 8 / 60)
        self.run_program("--store", store, "export", "--to", "prometheus", "-o", metrics)
        line, = [line for line in metrics.read_text().splitlines() if line.startswith("ncclprof_finding_cause{")]
        for label in ('kind="compute"', 'host="node000"', 'device="00000000:13:00.0"', 'cause="hw-thermal"'):
            self.assertIn(label, line)

    def test_without_records_nothing_changes(self):
        job = self.job("compute")
        before = self.json("--store", job.store, "diagnose")
        other = job.diagnose(["fact\tnode999\t8\t-1\t-\t-", f"event\tnode999\tnode\t-\toom_kill\t-1\t{job.first}\tx"])
        for finding in before["findings"] + other["findings"]:
            self.assertEqual(finding.pop("because"), [])
            del finding["next"], finding["confirm"]  # these name the store
        self.assertEqual([finding for finding in other["findings"] if finding["confidence"] != "low"],
                         [finding for finding in before["findings"] if finding["confidence"] != "low"])
        self.assertIn("no trace says that a rank ran on one of the hosts of the records of nodes, so no cause could be looked for",
                      other["warnings"])

    def test_no_record_makes_a_finding(self):
        words = JOBS["compute"][0]
        healthy = (words[:words.index("--fault")], *JOBS["compute"][1:])
        JOBS["healthy"] = healthy
        try:
            job = self.job("healthy")
        finally:
            del JOBS["healthy"]
        self.assertEqual(self.json("--store", job.store, "diagnose", "--all")["findings"], [])
        job.first, job.last = job.begin, job.end
        self.assertEqual(job.diagnose(self.plant(job, "hw-thermal") + self.plant(job, "cpu-quota"))["findings"], [])

    def test_kind_and_headline_follow_the_cause(self):
        job = Job(self, "compute", "inspector-2.30")
        times = (job.begin, job.end, job.first, job.last)
        words = JOBS["compute"][0]
        terse = object.__new__(Job)
        terse.__dict__ = {**job.__dict__, "store": self.folder / "terse.db"}
        subprocess.run([f"{OUT}/simulate", *words, *NETWORK, "--steps", "60", "--seed", "5", "--dialect", "inspector-2.30-terse",
                        "-o", self.folder / "terse"], check=True, stdout=subprocess.DEVNULL)
        self.run_program("--store", terse.store, "ingest", "-q", self.folder / "terse")
        self.assertEqual((terse.begin, terse.end, terse.first, terse.last), times)
        for name, kind in (("hw-thermal", "compute"), ("tasks-per-core", "host")):
            finding = self.finding(terse.diagnose(self.plant(terse, name)), terse)
            self.assertEqual((finding["kind"], [cause["cause"] for cause in finding["because"]]), (kind, [name]))
        both = self.plant(terse, "hw-thermal") + self.plant(terse, "tasks-per-core")
        self.assertEqual(self.finding(terse.diagnose(both), terse)["kind"], "late")
        self.assertEqual(self.finding(terse.diagnose(list(terse.facts())), terse)["kind"], "late")

    def test_containers_of_one_machine(self):
        """They see the same pressure, which the other host cannot refute; of two machines it does."""
        job = self.job("host")
        row = next(row for row in table() if row["name"] == "io-pressure")
        everywhere = list(job.samples(row, lambda host, gpu, faulty: 2 * row["floor"] if faulty else 0))
        always = list(job.samples(row, lambda host, gpu, faulty: 2 * row["floor"]))
        for boots, samples, causes in ((("one", "one"), everywhere, {"io-pressure"}), (("one", "two"), everywhere, set()),
                                       (("one", "one"), always, set())):
            facts = [*job.facts(), *(f"fact\tnode{host:03d}\t8\t-1\t-\t-\t{boot}" for host, boot in enumerate(boots))]
            self.assertEqual(self.named(job.diagnose(facts + samples), job), causes)

    def test_a_host_that_waits_for_its_gpu(self):
        """What slows the GPU explains a late host, unless something else does; lower clocks only of a GPU that works."""
        job = self.job("host")
        rows = {row["name"]: row for row in table()}
        self.assertEqual(self.finding(job.diagnose(list(job.facts())), job)["kind"], "host")
        for name in ("other-process", "hw-thermal"):
            finding = self.finding(job.diagnose(self.plant(job, name)), job)
            self.assertEqual((finding["kind"], [cause["cause"] for cause in finding["because"]]), ("compute", [name]))
        for name in ("process-wait", "process-stopped", "process-blocked", "cpu-pressure", "io-pressure", "tasks-per-core"):
            finding = self.finding(job.diagnose(self.plant(job, "other-process") + self.plant(job, name)), job)
            self.assertEqual((finding["kind"], [cause["cause"] for cause in finding["because"]]), ("host", [name]))
        use = lambda share: list(job.samples({**rows["sm-clock"], "of": "gpu_utilization_share"}, lambda host, gpu, faulty:
                                             share if faulty and job.is_own("GPU", host, gpu) else 0.8))
        for more, kind in ((use(0.8), "compute"), (use(0.4), "host"), ([], "host")):
            finding = self.finding(job.diagnose(self.plant(job, "sm-clock") + more), job)
            self.assertEqual((finding["kind"], len(finding["because"])), (kind, kind == "compute"))

    def causes(self, job, lines):
        return [cause["cause"] for cause in self.finding(job.diagnose([*job.facts(), *lines]), job)["because"]]

    def on_gpu(self, job, name, value):
        """Samples of a row's metric on the GPU at fault; `value` is a function of whether the fault shows."""
        row = next(row for row in table() if row["name"] == name)
        return [line for line in job.samples(row, lambda host, gpu, faulty: value(faulty) if job.is_own("GPU", host, gpu) else 0)]

    def test_a_cause_comes_before_its_effects(self):
        """Another process raises the power and lowers clocks; also where it was there all along, these are no causes."""
        job = self.job("compute")
        effects = self.plant(job, "power-cap") + self.plant(job, "sm-clock")
        self.assertEqual(set(self.causes(job, effects)), {"power-cap", "sm-clock"})
        for share, causes in ((lambda faulty: 0.4 * faulty, ["other-process"]), (lambda faulty: 0.4, []),
                              (lambda faulty: 0.05, ["power-cap", "sm-clock"])):
            self.assertEqual(set(self.causes(job, effects + self.on_gpu(job, "other-process", share))), set(causes))
        # Heat is not an effect that a GPU in order shows.
        both = self.on_gpu(job, "other-process", lambda faulty: 0.4 * faulty) + self.plant(job, "hw-thermal")
        self.assertEqual(set(self.causes(job, both)), {"other-process", "hw-thermal"})

    def test_memory_of_other_processes(self):
        """It is named if it came with the fault, and if nothing says how much they computed."""
        job = self.job("compute")
        came = self.on_gpu(job, "other-memory", lambda faulty: 3e9 * faulty)
        self.assertEqual(self.causes(job, came), ["other-memory"])
        self.assertEqual(self.causes(job, came + self.plant(job, "power-cap")), ["other-memory"])
        self.assertEqual(self.causes(job, came + self.on_gpu(job, "other-process", lambda faulty: 0.0)), [])
        self.assertEqual(self.causes(job, self.on_gpu(job, "other-memory", lambda faulty: 3e9)), [])
        # Only the other steps say whether it came.
        during = [line for line in came if job.is_faulty(*map(int, line.split("\t")[5:7]))]
        self.assertEqual(self.causes(job, during), [])

    def test_other_processes_have_names(self):
        job = self.job("compute")
        at, device = job.first, f"gpu\t00000000:{job.gpu + 16:02x}:00.0"
        event = lambda pid, name, on=device: f"event\tnode000\t{on}\tother_process\t-1\t{at}\tx\t{pid}\t{name}"
        share = self.on_gpu(job, "other-process", lambda faulty: 0.4 * faulty)
        memory = self.on_gpu(job, "other-memory", lambda faulty: 3e9)
        for lines, who in (([event(77, "python3")], " (python3, process 77; 3.0 GB)"), ([event(77, "other", "gpu\t00000000:10:00.0")], ""),
                           ([event(77, "python3"), event(78, "a.out")], " (one of python3, process 77; a.out, process 78; 3.0 GB)")):
            finding = self.finding(job.diagnose([*job.facts(), *share, *memory, *lines]), job)
            self.assertRegex(finding["because"][0]["what"], rf"^another process{re.escape(who)} used 40 % of GPU 3 of node000 \(usually 0")

    def test_which_process_uses_which_gpu(self):
        """The record of the host says it where the trace does not; a process on two GPUs says nothing."""
        job = self.job("compute")
        use = lambda gpu: (f"event\tnode000\tgpu\t00000000:{gpu + 16:02x}:00.0\tjob_process\t-1\t{job.begin}\tx\t"
                           f"{job.pids[job.rank]}\tpython3")
        hot = lambda number: list(job.samples(next(row for row in table() if row["name"] == "hw-thermal"), lambda host, gpu, faulty:
                                              0.5 * (faulty and (host, gpu) == (job.host, number))))
        for uses, number, causes in (((), job.gpu, ["hw-thermal"]), ((6,), job.gpu, []), ((6,), 6, ["hw-thermal"]),
                                     ((6, 5), job.gpu, ["hw-thermal"])):
            self.assertEqual(self.causes(job, [*map(use, uses), *hot(number)]), causes, (uses, number))

    def test_the_process_comes_before_its_host(self):
        job = self.job("host")
        finding = self.finding(job.diagnose([line for name in ("cpu-pressure", "process-blocked") for line in self.plant(job, name)]), job)
        self.assertEqual([cause["cause"] for cause in finding["because"]], ["process-blocked", "cpu-pressure"])
        self.assertRegex(finding["because"][0]["what"],
                         r"^the process of rank 3 on node000 waited in the kernel, mostly for disks or file servers, for \d+\.?\d* ms "
                         r"\(40 % of the time, usually 0(\.0)? %\)")
        self.assertIn("check disks and file servers", finding["next"])

    def test_a_process_that_is_stopped_or_frozen(self):
        """Also where the job stopped: how long, and which part of the time."""
        job = self.job("missing")
        for name, words in (("process-stopped", "was stopped"), ("process-frozen", "was frozen"),
                            ("process-blocked", "waited in the kernel, mostly for disks or file servers,")):
            cause, = self.finding(job.diagnose(self.plant(job, name)), job)["because"]
            self.assertEqual(cause["cause"], name)
            # The fault is looked for from a second before the stop, because this job is short, until 30 seconds after it.
            share, seconds = re.fullmatch(rf"the process of rank 2 on node000 {words} for ([\d.]+) s \((\d+) % of the time, usually 0 %\) "
                                          r"from 23:[34]\d:\d\d, \d+ ms before the job stopped", cause["what"]).groups()[::-1]
            self.assertAlmostEqual(float(seconds) / 31, int(share) / 100, delta=0.02)
            self.assertAlmostEqual(int(share) / 100, cause["value"], delta=0.01)

    def test_threads_are_counted(self):
        """The shares of the threads of a process add up."""
        job = self.job("host")
        row = next(row for row in table() if row["name"] == "process-wait")
        for value, words in ((0.5, "threads of rank 3 on node000 waited 50 % of the time for a core (usually 0"),
                             (3.03, "on average 3.0 threads of rank 3 on node000 waited for a core (usually 0.0)")):
            samples = job.samples(row, lambda host, gpu, faulty: value if faulty and job.is_own("process", host, gpu) else 0)
            cause, = self.finding(job.diagnose([*job.facts(), *samples]), job)["because"]
            self.assertEqual(cause["what"][:len(words)], words)

    def test_long_samples_at_the_edge_of_the_fault(self):
        """They tell what is usual if at most a tenth of them is in the fault."""
        job = self.job("compute")
        row = next(row for row in table() if row["name"] == "hw-thermal")
        _, _, device = next(place for place in job.devices("GPU") if place[:2] == (job.host, job.gpu))
        sample = lambda begin, end, value: f"sample\tnode000\t{device}\t{row['of']}\t{int(begin)}\t{int(end)}\t{value}"
        fault = job.last - job.first
        for part, usual in ((0.05, 0), (0.3, None)):
            begin = job.last - part * 0.6 * fault
            lines = [*job.facts(), sample(job.first, begin, 0.9), sample(begin, begin + 0.6 * fault, 0)]
            cause, = self.finding(job.diagnose(lines), job)["because"]
            self.assertEqual(cause["usual"], usual)

    def test_a_full_disk(self):
        """Hosts may share it: the same on another host does not refute it; an hour before it says nothing."""
        job = self.job("missing")
        for hosts in (("node000",), ("node000", "node001")):
            full = lambda at: [*job.facts(), *(f"event\t{host}\tnode\t-\tdisk_full\t-1\t{at}\tfull" for host in hosts)]
            cause, = self.finding(job.diagnose(full(job.end - SECOND // 2)), job)["because"]
            self.assertRegex(cause["what"], r"^a disk of node000 was full or nearly full at \d\d:\d\d:\d\d, [45]\d\d ms before the job stopped$")
            self.assertEqual(self.finding(job.diagnose(full(job.end - 3600 * SECOND)), job)["because"], [])

    def stacks(self, job, at, frames):
        """Events of stacks at a time; `frames` is {rank: frames}."""
        return [*job.facts(), *(f"event\tnode{rank // job.per_node:03d}\tprocess\t{job.pids[rank]}\tstack\t-1\t{at}\tMainThread idle: "
                                f"{text}" for rank, text in frames.items())]

    def stood(self, job, at, frames):
        """What is said of the stack of the rank at fault; None if nothing is."""
        causes = self.finding(job.diagnose(self.stacks(job, at, frames)), job)["because"]
        self.assertEqual({cause["cause"] for cause in causes} - {"stack"}, set())
        return causes[0]["what"] if causes else None

    WAITS = ("all_reduce (torch/distributed/distributed_c10d.py:2501) < wrapper (torch/distributed/c10d_logger.py:79) < "
             "train (train.py:90) < <module> (train.py:301)")
    LOADS = ("wait (threading.py:320) < get (queue.py:171) < _try_get_data (torch/utils/data/dataloader.py:1131) < "
             "__next__ (torch/utils/data/dataloader.py:630) < train (train.py:88) < <module> (train.py:301)")

    def test_where_main_threads_stand_in_a_job_that_hangs(self):
        job = self.job("missing")
        at, rank = job.end + 120 * SECOND, job.rank
        others = {other: self.WAITS for other in range(job.ranks) if other != rank}
        loads = (r"^rank 2 on node000 was loading data, in _try_get_data \(torch/utils/data/dataloader\.py:1131\), called from train "
                 r"\(train\.py:88\) at \d\d:\d\d:\d\d, 1(19|20) s after the job stopped$")
        self.assertRegex(self.stood(job, at, {rank: self.LOADS, **others}), loads)
        self.assertRegex(self.stood(job, at, {rank: self.LOADS}), loads)
        text = self.run_program("--store", self.folder / "with.db", "diagnose").whole
        self.assertRegex(" ".join(text.split()), "Because: rank 2 on node000 was loading data, in _try_get_data")
        # The same from the output of py-spy.
        stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime(at // SECOND))
        (self.folder / f"node000.{stamp}.txt").write_text(
            f"Process {job.pids[rank]}: python3 train.py\nPython v3.10.12 (/usr/bin/python3.10)\n\nThread {job.pids[rank]} (idle): "
            '"MainThread"\n    ' + self.LOADS.replace(" < ", "\n    ") + "\n")
        shutil.copy(job.store, self.folder / "spied.db")
        self.run_program("--store", self.folder / "spied.db", "ingest", "-q", self.folder / f"node000.{stamp}.txt")
        cause, = self.finding(self.json("--store", self.folder / "spied.db", "diagnose"), job)["because"]
        self.assertRegex(cause["what"], loads)
        # Of what is not known, the innermost frame of the program; of collectives, only where the others are elsewhere.
        for frames, said in (("read (socket.py:705) < fetch (store/client.py:12) < <module> (train.py:7)", "in fetch (store/client.py:12)"),
                             ("wait (threading.py:320) < main (x.py:2)", "waiting for a lock or another thread, in wait (threading.py:320), "
                                                                         "called from main (x.py:2)"),
                             ("open (io.c) < parse (data.py:4) < __next__ (torch/utils/data/dataloader.py:630)",
                              "loading data, in parse (data.py:4), called from __next__ (torch/utils/data/dataloader.py:630)"),
                             ("barrier (torch/distributed/distributed_c10d.py:7) < evaluate (eval.py:2)",
                              "in barrier (torch/distributed/distributed_c10d.py:7), called from evaluate (eval.py:2)"),
                             (self.WAITS, None), ("open (io.c)", None), ("", None), ("x", None), ("( < ) < :", None)):
            with self.subTest(frames=frames):
                what = self.stood(job, at, {rank: frames, **others})
                self.assertEqual(what and what.partition(" was ")[2].partition(" at ")[0], said)
        self.assertIsNone(self.stood(job, at, {rank: self.WAITS}))
        # Another line of the same work is the same; of a program's own line it is not.
        self.assertIsNone(self.stood(job, at, {other: self.LOADS.replace("1131", str(other)) for other in range(job.ranks)}))
        self.assertIsNone(self.stood(job, at, {other: "run (a.py:1)" for other in range(job.ranks)}))
        self.assertRegex(self.stood(job, at, {other: f"run (a.py:{int(other == rank)})" for other in range(job.ranks)}), r"was in run \(a\.py:1\)")
        # Long before and long after, and in the process of another rank, it says nothing.
        for other_time in (job.end - 20 * SECOND, job.end + 3600 * SECOND):
            self.assertIsNone(self.stood(job, other_time, {rank: self.LOADS, **others}))
        self.assertIsNone(self.stood(job, at, {**others, 7: self.LOADS}))

    def test_where_main_threads_stand_in_slow_steps(self):
        job = self.job("host")
        at, rank = (job.first + job.last) // 2, job.rank
        others = {other: self.WAITS for other in range(job.ranks) if other != rank}
        what = self.stood(job, at, {rank: self.LOADS, **others})
        self.assertRegex(what, r"^rank 3 on node000 was loading data, in _try_get_data .*, called from train \(train\.py:88\) at ")
        # One moment shows what is known to take long, if others do something else; and only in the steps of the finding.
        self.assertIsNone(self.stood(job, at, {rank: self.LOADS}))
        self.assertIsNone(self.stood(job, at, {rank: "run (a.py:1)", **others}))
        self.assertIsNone(self.stood(job, at, {rank: self.WAITS, **{other: "run (a.py:1)" for other in others}}))
        self.assertIsNone(self.stood(job, job.first - (job.first - job.begin) // 4, {rank: self.LOADS, **others}))

    def test_clocks(self):
        """Records that are hours off, and traces without a wall clock, are not compared; the notes say why."""
        job = self.job("compute")
        lines = self.plant(job, "hw-thermal")
        moved = []
        for line in lines:
            fields = line.split("\t")
            if fields[0] == "sample":
                fields[5:7] = (str(int(time) + 2 * 3600 * SECOND) for time in fields[5:7])
            moved.append("\t".join(fields))
        diagnosis = job.diagnose(moved)
        self.assertEqual(self.finding(diagnosis, job)["because"], [])
        self.assertRegex(" ".join(diagnosis["warnings"]), r"the records of host node000 cover \S+ to \S+, the run \S+ to \S+: they were "
                                                          r"not compared\. Their clock or time zone may be off by 2 hours")
        self.assertEqual(job.diagnose(lines)["warnings"], self.json("--store", job.store, "diagnose")["warnings"])

    def test_totals(self):
        """Totals of a counter, as scrapes have them, count like increases; where one begins again, there is none."""
        job = self.job("network")
        row = next(row for row in table() if row["name"] == "symbol-errors")

        def lines(again):
            for host, gpu, device in job.devices("network card"):
                total = 5 * 10**6
                for begin, end in job.times():
                    total += 1000 if job.is_own("network card", host, gpu) and job.is_faulty(begin, end) else 0
                    total = 0 if begin < job.first <= end and again else total
                    yield f"sample\tnode{host:03d}\t{device}\t{row['of']}\t-\t{end}\t{total}"
        facts = list(job.facts())
        for again in (False, True):
            cause, = self.finding(job.diagnose(facts + list(lines(again))), job)["because"]
            self.assertEqual(cause["cause"], "symbol-errors")
            samples = (job.last - job.first) / SAMPLE
            self.assertLess(abs(cause["value"] - 1000 * samples), 2000)

    def test_merge_forget_and_anonymize(self):
        job = self.job("compute")
        job.diagnose(self.plant(job, "hw-thermal"))
        store, merged, copy = self.folder / "with.db", self.folder / "merged.db", self.folder / "copy.db"
        count = lambda path: self.json("--store", path, "info")["rows"][0]["node_samples"]
        cause = self.finding(self.json("--store", store, "diagnose"), job)["because"]
        self.run_program("--store", merged, "merge", store)
        self.assertGreater(count(store), 10)
        self.assertEqual(count(merged), count(store))
        self.assertEqual(self.finding(self.json("--store", merged, "diagnose"), job)["because"], cause)
        self.run_program("--store", store, "export", "--anonymize", "--to", "sqlite", "-o", copy)
        rows = self.json("--store", store, "query", "SELECT DISTINCT host FROM v_node_sample")["rows"]
        self.assertIn({"host": "node000"}, rows)
        self.assertNotIn(b"node000", copy.read_bytes())


if __name__ == "__main__":
    unittest.main()
