"""What the tests of packages share: places, a run that has to go well, and what the built program says of a fixture."""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
BUILT = TOP / os.environ.get("OUT", "build")
FIXTURE = "tp2dp2pp2-slow-rank"


def run(*words, status=0, **options):
    """What the command prints; another exit status than this one is an error that shows all of it."""
    done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          cwd=options.pop("cwd", TOP), **options)
    if done.returncode != status:
        raise AssertionError(f"{words} ended with {done.returncode}\n{done.stdout}")
    return done.stdout


class Case(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="ncclprof-packages-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def diagnosis(self):
        """Of the fixture, by the program as built."""
        return run(BUILT / "ncclprof", "diagnose", TOP / "fixtures" / FIXTURE, env={})
