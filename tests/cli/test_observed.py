"""Causes in slow steps without a finding: what the only place of the job with a cause showed is said, and blames nothing."""

import json
import subprocess

from tests.cli.support import Case
from tests.cli.test_causes import FIRST, LAST, OUT, Job

THERMAL = {"place": "GPU", "of": "throttle_hw_thermal_share"}
WAIT = {"place": "process", "of": "run_wait_share"}
PRESSURE = {"place": "host", "of": "cpu_pressure_share"}


class SlowForAll(Job):
    """Transfers of all ranks take longer, and the trace does not show whose fault it is."""

    def __init__(self, case, healthy=False):
        self.kind, self.case, self.ranks, self.rank, self.per_node = "network", case, 16, 3, 8
        self.host, self.gpu = 0, 3
        folder, self.store = case.folder / "job", case.folder / "job.db"
        fault = () if healthy else ("--fault", f"links:0-15:{FIRST}:{LAST}:300")
        subprocess.run([f"{OUT}/simulate", "--shape", "ddp", "--ranks", "16", "--per-node", "8", *fault, "--steps", "60", "--seed", "5",
                        "--dialect", "inspector-2.30-terse", "-o", folder], check=True, stdout=subprocess.DEVNULL)
        case.run_program("--store", self.store, "ingest", "-q", folder)
        rows = case.json("--store", self.store, "query", "SELECT v_rank.rank AS rank, pid, 1000 * min(device_end_us) AS begin, 1000 * "
                         f"max(device_end_us) AS end, 1000 * max(CASE WHEN step = {FIRST - 1} THEN device_end_us END) AS first, 1000 * "
                         f"max(CASE WHEN step = {LAST} THEN device_end_us END) AS last FROM v_operation JOIN v_rank USING (process_id) "
                         "GROUP BY 1")["rows"]
        self.pids = {row["rank"]: row["pid"] for row in rows}
        times = {name: [int(row[name]) for row in rows] for name in ("begin", "end", "first", "last")}
        self.begin, self.end = min(times["begin"]), max(times["end"])
        self.first, self.last = min(times["first"]), max(times["last"])


class Observed(Case):
    def diagnose(self, job, *planted):
        """The range with a warning, that warning, and the findings; `planted`: rows, and where and when which value is (Job.samples)."""
        lines = [*job.facts()]
        for row, value in planted:
            lines += job.samples(row, value)
        diagnosis = job.diagnose(lines)
        self.assertEqual([finding for finding in diagnosis["findings"] if not finding["folded"] and finding["confidence"] != "low"], [])
        steps, = [steps for steps in diagnosis["summary"]["longer_steps"] if not steps["explained"]]
        warning, = [text for text in diagnosis["warnings"] if text.startswith("steps ")]
        return steps["observed"], warning

    def at(self, *places, value=0.2):
        """A value in these places (host, the rank's number there) while the steps are longer; else 0."""
        return lambda host, gpu, faulty: value if faulty and (host, gpu) in places else 0

    def test_the_only_place_is_named(self):
        job = SlowForAll(self)
        (cause,), warning = self.diagnose(job, (THERMAL, self.at((0, 3))))
        self.assertEqual({key: cause[key] for key in ("cause", "host", "device", "value", "usual")},
                         {"cause": "hw-thermal", "host": "node000", "device": "00000000:13:00.0", "value": 0.2, "usual": 0})
        self.assertIn(f". At that time, {cause['what']}. No other place of the job shows this; it may be the reason", warning)
        self.assertRegex(cause["what"], r"^GPU 3 of node000 throttled \(HW thermal\) 20 % of the time \(usually 0(\.0)? %\)")
        for command in (("diagnose",), ("html", "-o", "page.html")):
            self.run_program("--store", self.folder / "with.db", *command, status=None)
        self.assertIn("it may be the reason", (self.folder / "page.html").read_text())
        self.assertIn("it may be", " ".join(self.run_program("--store", self.folder / "with.db", "diagnose", status=None).whole.split()))

    def test_several_places(self):
        job = SlowForAll(self)
        for places in (((0, 3), (0, 4)), ((0, 3), (1, 3)), tuple((host, gpu) for host in range(2) for gpu in range(8))):
            observed, warning = self.diagnose(job, (THERMAL, self.at(*places)))
            self.assertEqual((observed, "At that time" in warning), ([], False), places)
        # Another thing at another rank.
        self.assertEqual(self.diagnose(job, (THERMAL, self.at((0, 3))), (WAIT, self.at((0, 4))))[0], [])

    def test_the_same_value_at_other_times(self):
        job = SlowForAll(self)
        usual = lambda host, gpu, faulty: 0.2 if (host, gpu) == (0, 3) else 0
        self.assertEqual(self.diagnose(job, (THERMAL, usual))[0], [])

    def test_a_host_with_its_ranks_is_one_place(self):
        job = SlowForAll(self)
        busy = lambda host, gpu, faulty: 0.5 if faulty and host == 0 else 0
        observed, _ = self.diagnose(job, (WAIT, self.at((0, 3), (0, 4))), (PRESSURE, busy))
        self.assertEqual([(cause["cause"], cause["host"], cause["device"]) for cause in observed], [("cpu-pressure", "node000", None)])
        observed, _ = self.diagnose(job, (WAIT, self.at((0, 3))), (PRESSURE, busy))
        self.assertEqual([cause["cause"] for cause in observed], ["process-wait", "cpu-pressure"])
        self.assertEqual(self.diagnose(job, (WAIT, self.at((0, 3), (0, 4))))[0], [])
        # A busy host does not heat its GPUs: these are places of their own.
        self.assertEqual(self.diagnose(job, (THERMAL, self.at((0, 3), (0, 4))), (PRESSURE, busy))[0], [])

    def test_a_host_without_records(self):
        """What its ranks do is not known, so no other place is the only one."""
        job = SlowForAll(self)
        lines = [line for line in [*job.facts(), *job.samples(THERMAL, self.at((0, 3)))] if "node001" not in line]
        diagnosis = job.diagnose(lines)
        self.assertEqual([steps["observed"] for steps in diagnosis["summary"]["longer_steps"]], [[]])

    def test_a_host_whose_records_end_before(self):
        """So do those of another host after a fault of the sampler, or at its limit."""
        job = SlowForAll(self)
        is_kept = lambda line: not line.startswith("sample\tnode001") or int(line.split("\t")[5]) < job.first
        for kept, count in ((lambda line: True, 1), (is_kept, 0)):
            diagnosis = job.diagnose([*job.facts(), *filter(kept, job.samples(THERMAL, self.at((0, 3))))])
            observed = [cause for steps in diagnosis["summary"]["longer_steps"] for cause in steps["observed"]]
            self.assertEqual(len(observed), count)

    def test_a_healthy_job(self):
        """Without slow steps nothing is said."""
        job = SlowForAll(self, healthy=True)
        diagnosis = job.diagnose([*job.facts(), *job.samples(THERMAL, self.at((0, 3)))])
        self.assertNotIn("At that time", json.dumps(diagnosis))
