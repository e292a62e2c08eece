"""Shared by the tests of packages: paths, a run that must succeed, and the output of the built program for a fixture."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
BUILT = TOP / os.environ.get("OUT", "build")
FIXTURE = "tp2dp2pp2-slow-rank"


def run(*words, status=0, **options):
    """The output of the command. Another exit status than `status` is an error that shows all output."""
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

    def diagnosis(self, store):
        """The output for the fixture, from the program in the build folder; the suggested command is that of a program on $PATH."""
        said = run(BUILT / "ncclprof", "diagnose", TOP / "fixtures" / FIXTURE, env={})
        return re.sub(r"(?<=Confirm with: )\S+ (steps .*) \S+$", rf"ncclprof \1 --store {store}", said, flags=re.M)
