"""One run of the fake NCCL core with the plugin, and helpers for its tests.

Takes the paths of the fake core and of the plugin from the command line.
"""

import glob
import json
import os
import subprocess
import sys
import tempfile
import time
import unittest

from trace import Trace

FAKECORE = sys.argv.pop(1) if len(sys.argv) > 1 else "build/fakecore"
PLUGIN = sys.argv.pop(1) if len(sys.argv) > 1 else "build/libnccl-profiler-ncclprof.so"
SANITIZED = "san-" in PLUGIN

# NCCLs of version 7 of the interface, as a program or a library: the released one, and that of NVIDIA/nccl pull request
# 2045, which exports ncclNotifyTag. The last two are the released one, but one depends on a library that exports it, and
# one is of a later NCCL that does.
FAKECORE_TAGS = FAKECORE + "-tags"
LIBRARY, LIBRARY_TAGS, LIBRARY_BESIDE, LIBRARY_LATER = (os.path.join(os.path.dirname(os.path.abspath(FAKECORE)), name) for name in (
    "libfakecaller.so", "libfakecaller-tags.so", "libfakecaller-beside.so", "libfakecaller-later.so"))

# Only a hang takes longer, on any slow and busy machine.
PATIENCE_S = 600

# By then, finished operations are on disk. Sanitizers delay the writer thread, on a busy machine by seconds.
LATEST_S = 4 if SANITIZED else 1

FIGURES = ("groups", "calls", "coll", "p2p", "proxy_ops", "steps", "kernels", "tags")


def wait_until(reached):
    """Polls until the condition holds; fails after a time limit."""
    until = time.monotonic() + PATIENCE_S
    while not reached():
        if time.monotonic() > until:
            raise AssertionError("it does not come")
        time.sleep(0.02)


class Played:
    """One run of the fake core in its own directory. With --linger it ends when `until`, called with the run, returns true."""

    def __init__(self, directory, *options, expect=0, program=FAKECORE, until=None, **settings):
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("NCCL", "TORCH_", "RANK", "LOCAL_RANK", "ROLE_", "SLURM", "OMPI", "PMI", "MPI_"))}
        environment.update({"NCCLPROF_DIR": directory, **settings})
        command = [program, "--plugin", os.path.abspath(PLUGIN), *map(str, options)]
        self.directory = directory
        with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as process:
            try:
                if until:
                    wait_until(lambda: process.poll() is not None or until(self))
                out, self.log = process.communicate(timeout=PATIENCE_S)
            finally:
                process.kill()  # if it has ended, this does nothing
        if process.returncode != expect:
            raise AssertionError((command, process.returncode, self.log[-3000:]))
        self.counts = [json.loads(line) for line in out.splitlines()]

    def files(self, suffix=".json"):
        return sorted(glob.glob(os.path.join(self.directory, "**", "*" + suffix), recursive=True))

    def traces(self):
        return {t.events[0]["pid"]: t for t in map(Trace, self.files())}


class PluginTest(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="ncclprof-plugin-")
        self.addCleanup(self.temporary.cleanup)
        self.directory = self.temporary.name

    def play(self, *options, **settings):
        return Played(self.directory, *options, **settings)

    def check_counts(self, played, figures=FIGURES):
        traces = played.traces()
        self.assertEqual(sorted(traces), sorted(c["pid"] for c in played.counts))
        for counts in played.counts:
            trace = traces[counts["pid"]]
            trace.check_nesting()
            trace.check_viewers()
            self.assertEqual({f: trace.counted()[f] for f in figures}, {f: counts[f] for f in figures})
            drops = trace.notes("Drops")[-1]["args"]
            self.assertEqual(set(drops.values()), {0}, drops)
        return list(traces.values())

    def start(self, *options, **settings):
        """A fake core that runs until it is killed, and that reports when it hangs."""
        environment = dict(os.environ, NCCLPROF_DIR=self.directory, **settings)
        return subprocess.Popen([FAKECORE, "--plugin", os.path.abspath(PLUGIN), *map(str, options)],
                                env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                start_new_session=True)
