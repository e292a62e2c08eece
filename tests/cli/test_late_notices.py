"""A rank whose proxy threads get too little CPU time is at fault itself, not the links that it makes slow."""

import json
import re

from tests.cli.support import Case

JOB = ("--shape 3d --tp 2 --dp 2 --pp 2 --ranks 8 --per-node 4 --network-gbs 40 --nvlink-gbs 300 --layers 3 "
       "--steps 24 --dialect chrome-v7 --seed 411")
SLOW_SENDS = "--fault net:5:9:14:30%:*"
LATE_US = 4000.0  # a slice of the scheduler


def lines_of(path):
    return path.read_text().splitlines()


def moment(line):
    return float(re.search(r'"ts": ([\d.]+)', line)[1])


def postpone(line, late_us=LATE_US):
    return re.sub(r'"ts": ([\d.]+)', lambda found: f'"ts": {float(found[1]) + late_us:.6f}', line)


def at_once(lines):
    """The lines of a trace whose host notices all kernels at once, which is how most machines are."""
    clocks = [[int(clock) for clock in re.findall(r'GpuClk": (\d+)', line)] for line in lines]
    first = min(clock[0] for clock in clocks if clock)
    ahead_us = min(moment(line) - (clock[0] - first) / 1000 for line, clock in zip(lines, clocks) if clock)
    for line, clock, before in zip(lines, clocks, [[], *clocks]):
        clock_ns = clock[0] if clock else before[1] if before else 0
        yield postpone(line, ahead_us + (clock_ns - first) / 1000 - moment(line)) if clock_ns else line


class LateNotices(Case):
    def make(self, options, rank=None, steps=(), part=1):
        """The files of a job in which the host notices kernels of a rank late in some steps. The times of the GPU's own
        clock and of the network stay as they are. Of a smaller part of them, all others are noticed at once."""
        files, _ = self.simulate(f"{JOB} {options}")
        for path in files if part < 1 else []:
            if '"GPU"' in path.read_text():
                path.write_text("\n".join(at_once(lines_of(path))) + "\n")
        world = max({path.name.split("_")[1] for path in files},
                    key=lambda name: sum(path.name.split("_")[1] == name for path in files))
        if rank is None:
            return files
        mine = lines_of(next(path for path in files if path.name == f"dump_{world}_{rank}.json"))
        process = re.search(r'"pid": \d+,', mine[1])[0]
        begins = [moment(line) for line in mine if '"USER_TAG"' in line and '"forward"' in line]
        for path in files:
            lines = lines_of(path)
            if process not in lines[1]:
                continue
            path.write_text("\n".join(
                postpone(line) if '"cat": "GPU"' in line and moment(line) > 0 and number % 100 < 100 * part
                and sum(begin <= moment(line) for begin in begins) - 1 in steps else line
                for number, line in enumerate(lines)) + "\n")
        return files

    def believed(self, files):
        self.store.unlink(missing_ok=True)
        self.run_program("ingest", "-q", *files)
        findings = json.loads(self.run_program("diagnose", "--format", "json", status=None).out)["findings"]
        return [finding for finding in findings if finding["confidence"] != "low"]

    def test_sends_are_slow(self):
        """A network that is slow while the threads run is a slow network."""
        (finding,) = self.believed(self.make(SLOW_SENDS))
        self.assertEqual(("network", 5), (finding["kind"], finding["rank"]))

    def test_threads_are_late(self):
        """The same slow sends by threads that look only every 4 ms, also while nothing is sent."""
        (finding,) = self.believed(self.make(SLOW_SENDS, 5, range(9, 15)))
        self.assertEqual(("host", 5, 9, 14), (finding["kind"], finding["rank"], finding["first_step"], finding["last_step"]))
        self.assertIn("proxy threads of rank 5 get too little CPU time", finding["text"])
        self.assertGreater(finding["figures"]["notice_us_mean"], LATE_US / 2)
        self.assertLess(finding["figures"]["notice_us_mean_others"], 500)
        self.assertIn("cpu.max", finding["next"])

    def test_a_tenth_of_the_notices_is_late(self):
        """A core that is taken now and then is free at most moments. On this machine it is free at all others."""
        (finding,) = self.believed(self.make(SLOW_SENDS, 5, range(9, 15), part=0.1))
        self.assertEqual(("host", 5, 9, 14), (finding["kind"], finding["rank"], finding["first_step"], finding["last_step"]))
        self.assertLess(finding["figures"]["notice_us_mean"], LATE_US / 4)

    def test_all_threads_are_late(self):
        """Where no rank notices kernels at once, clocks are too coarse, and nothing is said of cores."""
        files = self.make(SLOW_SENDS, 5, range(9, 15))
        for path in files:
            path.write_text("\n".join(postpone(line, number * 37 % 600) if '"cat": "GPU"' in line and moment(line) > 0 else line
                                      for number, line in enumerate(lines_of(path))) + "\n")
        self.assertNotIn("proxy threads", str([finding["text"] for finding in self.believed(files)]))

    def shared_cores(self, fault, options="--shape fsdp --ranks 8 --per-node 4 --layers 3 --steps 24 --dialect chrome-v6 --seed 77"):
        """What is believed of a job in which ranks share their cores in all steps, so that no earlier steps tell."""
        return [(finding["kind"], finding.get("ranks") or [finding["rank"]])
                for finding in self.believed(self.simulate(f"{options} {fault}")[0])]

    def test_cores_are_shared_from_the_first_step_on(self):
        """A third of the time is enough, where most notices are still in time."""
        self.assertEqual([], self.shared_cores(""))
        self.assertEqual([("host", [6])], self.shared_cores("--fault cpu-share:6:0:23:50:*"))

    def test_cores_of_a_host_are_shared(self):
        self.assertEqual([("host", [0, 1, 2, 3])], self.shared_cores("--fault cpu-share:node0:0:23:25:*"))

    def test_inspector_shows_when_kernels_were_noted(self):
        """A kernel that ran longer than from its noted start to its noted stop had started before."""
        options = "--shape 3d --tp 2 --dp 4 --pp 1 --microbatches 1 --ranks 8 --per-node 4 --layers 2 --steps 24 --dialect inspector-2.30 --seed 78"
        self.assertEqual([], self.shared_cores("", options))
        self.assertEqual([("host", [6])], self.shared_cores("--fault cpu-share:6:0:23:250:*", options))

    def test_a_host_clock_whose_rate_is_wrong(self):
        """Until NCCL 2.27.3, the clock of the example plugin may gain a percent on the GPU's."""
        options = ("--shape context --cp 4 --ranks 16 --per-node 4 --layers 3 --steps 27 --dialect chrome-v4 --network-gbs 25 "
                   "--nvlink-gbs 300 --seed 93")
        self.assertEqual([], self.shared_cores("", options))
        self.assertEqual([("host", [9])], self.shared_cores("--fault cpu-share:9:6:22:250:*", options))

    def test_late_threads_that_cost_nothing(self):
        self.assertEqual([], self.believed(self.make("", 5, range(9, 15))))
