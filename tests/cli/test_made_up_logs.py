"""Made-up records of operators beside simulated jobs: no decoy is named as a cause, and true causes are (tests/eval/made_up_logs.py)."""

import os
import subprocess
import sys

from tests.cli.support import PROGRAM, TOP, Case


class MadeUpLogs(Case):
    def run_scenarios(self, *words):
        done = subprocess.run([sys.executable, "-B", TOP / "tests/eval/made_up_logs.py", "--ncclprof", PROGRAM, "--simulate",
                               f"{os.path.dirname(PROGRAM)}/simulate", "--work", self.folder, *words],
                              capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        counts = dict(reversed(line.split(None, 1)) for line in done.stdout.splitlines() if line.strip()[:1].isdigit())
        return {name: int(count) for name, count in counts.items()}

    def test_decoys(self):
        counts = self.run_scenarios("compute", "stop", "none", "--seeds", "2", "--first", "1")
        self.assertEqual(counts["scenarios"], 6)
        self.assertEqual(counts["decoys named"], 0)
