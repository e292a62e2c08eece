"""Wait times that GPUs measured themselves (the initial sync of symmetric kernels) instead of durations."""

import gzip
import re

from tests.cli.support import TOP, Case

FIXTURE = TOP / "fixtures/kernel-phases"
SHARES = ("own_us", "inherited_us", "network_us", "unexplained_us")

# According to its TRUTH.
LATE_RANK, LATE_STEPS, LATE_US = 2, (6, 9), 3000
LONG_RANK, LONG_STEPS, LONG_US = 1, 3, 2000
RANKS, STEPS, CHANCE_US, BARRIER_US, BEHIND_US = 4, 16, 23, 6, 200


class Phases(Case):
    def waited(self):
        """How long others waited for each rank."""
        return {row["rank"]: sum(row[share] for share in SHARES) for row in self.json("stragglers")["rows"]}

    def rewrite(self, change):
        for path in sorted(FIXTURE.glob("dump*")):
            text = change(gzip.decompress(path.read_bytes()).decode(), int(path.name.split("_")[2].split(".")[0]))
            self.write(f"traces/{path.name.removesuffix('.gz')}", text)
        return self.folder / "traces"

    def check_late_rank(self):
        late_us = (LATE_STEPS[1] - LATE_STEPS[0] + 1) * (RANKS - 1) * LATE_US
        waited = self.waited()
        chance_us = STEPS * (RANKS - 1) * CHANCE_US
        self.assertAlmostEqual(waited.pop(LATE_RANK), late_us, delta=chance_us)
        self.assertLess(sum(waited.values()), chance_us)

    def test_the_planted_waits(self):
        files = self.ingest(FIXTURE)
        self.assertEqual({(file["dialect"], file["status"], file["events"], file["skipped"]) for file in files.values()},
                         {("chrome-v7", "ingested", STEPS, 2 * STEPS)})
        self.check_late_rank()
        finding, = self.json("diagnose")["findings"]
        self.assertEqual((finding["rank"], finding["first_step"], finding["last_step"], finding["confidence"]),
                         (LATE_RANK, *LATE_STEPS, "high"))
        self.assertAlmostEqual(finding["lost_us"], 12000, delta=16 * CHANCE_US)

    def test_what_the_store_says(self):
        """The shortest wait of both channels, which began half a microsecond apart; and the transfer without any wait."""
        self.ingest(FIXTURE)
        shortest = self.rows("SELECT step, min(initial_sync_us), count(DISTINCT rank), min(symmetric) FROM v_operation "
                             "GROUP BY 1")
        self.assertEqual([(least, ranks, symmetric) for _, least, ranks, symmetric in shortest],
                         [(BARRIER_US, RANKS, 1)] * STEPS)
        late = dict(self.rows(f"SELECT rank, initial_sync_us FROM v_operation WHERE step = {LATE_STEPS[0]}"))
        self.assertEqual(late.pop(LATE_RANK), BARRIER_US)
        for waited_us in late.values():
            self.assertAlmostEqual(waited_us, LATE_US + BARRIER_US, delta=CHANCE_US)
        # The stop of channel 1 comes 1.5 us later.
        transfers = {transfer for transfer, in self.rows("SELECT DISTINCT transfer_us FROM v_instance")}
        self.assertEqual(transfers, {BARRIER_US + BEHIND_US + 1.5})
        last, = self.rows(f"SELECT DISTINCT last_rank FROM v_instance WHERE step BETWEEN {LATE_STEPS[0]} AND {LATE_STEPS[1]}")
        self.assertEqual(last, (str(LATE_RANK),))

    def test_of_other_kernels_it_is_no_waiting(self):
        """These kernels report the time that their blocks take to start as this phase, so durations count, also for the long
        one.
        """
        def plain(text, rank):
            text = text.replace('"IsSymColl": 1', '"IsSymColl": 0')
            return re.sub(r'("PhaseId": 0, "StartGpuClk": )(\d+), "StopGpuClk": \d+',
                          lambda found: f'{found[1]}{found[2]}, "StopGpuClk": {int(found[2]) + 500 + rank}', text)

        self.ingest(self.rewrite(plain))
        late_us = (LATE_STEPS[1] - LATE_STEPS[0] + 1) * (RANKS - 1) * LATE_US + LONG_STEPS * LONG_US
        self.assertAlmostEqual(sum(self.waited().values()), late_us, delta=2 * STEPS * (RANKS - 1) * CHANCE_US)

    def test_without_the_stops_of_kernels(self):
        """As for channels that do not record phases: phases show the wait times if durations cannot."""
        def stopless(text, rank):
            text = re.sub(r'("KernelCh", .*"StopGpuClk": )\d+', r"\g<1>0", text)
            return re.sub(r'(\{"name": "KernelCh", "cat": "GPU", "ph": "e".*"ts": )[\d.]+', r"\g<1>0.000000", text)

        self.ingest(self.rewrite(stopless))
        self.check_late_rank()
