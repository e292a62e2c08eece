"""The questions of somebody who keeps a cluster alive, each from its first command to its answer."""

import csv
import datetime
import io
import shutil

from tests.cli.support import TOP, Case

SLOW = ("--shape 3d --ranks 16 --per-node 4 --tp 2 --dp 4 --pp 2 --layers 2 --steps 24 --seed 11 --network-gbs 25 "
        "--nvlink-gbs 200 --dialect inspector-2.30 --fault compute:5:12:19:40%")
USUAL = "--shape ddp --ranks 8 --per-node 4 --layers 2 --steps 40 --dialect chrome-v7 --noise even"


class DailyQuestions(Case):
    def run_of(self, name, options):
        """A simulated job in a folder of its own."""
        self.simulate(options)
        return shutil.move(self.folder / "traces", self.folder / name)

    def test_slow_since_when_and_which_node(self):
        """The rank, its host, and the time at which it first began an operation late, by its own records."""
        files, truth = self.simulate(SLOW)
        host = truth["processes"][5]["host"]
        self.run_program("ingest", "-q", *files)
        finding, = self.json("diagnose")["findings"]
        self.assertEqual([(one["rank"], one["host"]) for one in finding["accused"]], [(5, host)])
        self.assertEqual((finding["kind"], finding["first_step"], finding["last_step"]), ("compute", 12, 19))
        self.assertIn(f"rank 5 ({host}", self.run_program("diagnose").verdict.partition("Action:")[0])
        (begin_us, end_us), = self.rows("SELECT min(device_begin_us), max(device_end_us) FROM v_operation WHERE rank = 5 AND step = 12")
        since = datetime.datetime.fromisoformat(finding["time"]).timestamp() * 1e6
        self.assertTrue(begin_us - finding["lost_us"] <= since <= end_us, (begin_us, since, end_us))

    def test_hang(self):
        said = self.run_program("diagnose", "--exit-code", TOP / "fixtures/tp2dp2pp2-hang", status=3).flat
        self.assertIn("missing (high confidence): rank 5 never joined ReduceScatter", said)
        self.assertIn("rank 7 waits in it; rank 5 did not call it", said)
        progress = self.json("diagnose", TOP / "fixtures/tp2dp2pp2-hang")["progress"]
        self.assertEqual(sorted(rank for group in progress for rank in group["ranks"]), list(range(8)))
        self.assertEqual(progress[0]["ranks"], [5])

    def test_is_b_faster(self):
        """Two repeats of each side. The change is in its interval, and scripts learn it from the exit status."""
        a = [self.run_of(f"a{seed}", f"{USUAL} --seed {seed}") for seed in (1, 2)]
        b = [self.run_of(f"b{seed}", f"{USUAL} --seed {seed}") for seed in (3, 4)]
        slower = [self.run_of(f"c{seed}", f"{USUAL} --seed {seed} --slower 10") for seed in (5, 6)]
        step = self.step_row("compare", "--baseline", *a, "--candidate", *slower)
        self.assertTrue(step["significant"])
        self.assertTrue(step["low"] <= 10 <= step["high"], step)
        self.run_program("compare", "--fail-over", "2%", "--baseline", *a, "--candidate", *slower, status=3)
        equal = self.step_row("compare", "--all", "--baseline", *a, "--candidate", *b)
        self.assertFalse(equal["significant"])
        self.assertTrue(equal["low"] <= 0 <= equal["high"], equal)

    def step_row(self, *words):
        return next(row for row in self.json(*words)["rows"] if row["what"] == "step")

    def test_a_page_for_the_vendor(self):
        """Names the rank and the fault, but none of our hosts."""
        files, truth = self.simulate(SLOW)
        self.run_program("html", "-o", self.folder / "page.html", "--anonymize", *files)
        page = (self.folder / "page.html").read_text()
        self.assertIn("GPU of rank 5", page)
        for process in truth["processes"]:
            self.assertNotIn(process["host"], page)

    def test_alert(self):
        """The exit status, and a metric with labels that say which node."""
        files, truth = self.simulate(SLOW)
        self.run_program("diagnose", "--exit-code", *files, status=3)
        self.run_program("diagnose", "--exit-code", TOP / "fixtures/tp2dp2pp2-clean")
        self.run_program("watch", "--once", "-q", "--prometheus", "metrics.prom", self.folder / "traces")
        line, = (line for line in (self.folder / "metrics.prom").read_text().splitlines()
                 if line.startswith("ncclprof_finding_lost_seconds{"))
        self.assertIn('unit="rank 5"', line)
        self.assertIn(f'host="{truth["processes"][5]["host"]}"', line)

    def test_pandas(self):
        """The findings and steps as CSV are those of the commands."""
        files, truth = self.simulate(SLOW)
        self.run_program("ingest", "-q", *files)
        finding, = self.json("diagnose")["findings"]
        row, = self.csv("SELECT * FROM v_finding")
        self.assertEqual((row["kind"], int(row["rank"]), int(row["first_step"]), float(row["lost_us"])),
                         ("compute", 5, 12, finding["lost_us"]))
        self.assertEqual(row["host"], truth["processes"][5]["host"])
        steps = self.json("steps")["rows"]
        self.assertEqual([int(row["step"]) for row in self.csv("SELECT step FROM v_step ORDER BY step")], [row["step"] for row in steps])

    def csv(self, sql):
        return list(csv.DictReader(io.StringIO(self.run_program("query", "--format", "csv", sql).out)))
