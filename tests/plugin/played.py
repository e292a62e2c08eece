"""One run of the fake NCCL core with the plugin, and what a test of it stands on.

Takes the fake core's and the plugin's paths off the command line.
"""

import glob
import json
import os
import subprocess
import sys
import tempfile
import unittest

from trace import Trace

FAKECORE = sys.argv.pop(1) if len(sys.argv) > 1 else "build/fakecore"
PLUGIN = sys.argv.pop(1) if len(sys.argv) > 1 else "build/libnccl-profiler-ncclprof.so"
SANITIZED = "san-" in PLUGIN

# NCCLs of version 7 of the interface: as a program or a library, the released one and that of NVIDIA/nccl pull request
# 2045, which exports ncclNotifyTag; the last two are the released one, but one depends on a library that does so, and one
# is of a later NCCL that does.
FAKECORE_TAGS = FAKECORE + "-tags"
LIBRARY, LIBRARY_TAGS, LIBRARY_BESIDE, LIBRARY_LATER = (os.path.join(os.path.dirname(os.path.abspath(FAKECORE)), name) for name in (
    "libfakecaller.so", "libfakecaller-tags.so", "libfakecaller-beside.so", "libfakecaller-later.so"))

# By then what is over is on disk. Sanitizers keep the writer back, on a busy machine by seconds.
LATEST_S = 4 if SANITIZED else 1

FIGURES = ("groups", "calls", "coll", "p2p", "proxy_ops", "steps", "kernels", "tags")


class Played:
    """One run of the fake core in a directory of its own."""

    def __init__(self, directory, *options, expect=0, program=FAKECORE, **settings):
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("NCCL", "TORCH_", "RANK", "LOCAL_RANK", "ROLE_", "SLURM", "OMPI", "PMI", "MPI_"))}
        environment.update({"NCCLPROF_DIR": directory, **settings})
        command = [program, "--plugin", os.path.abspath(PLUGIN), *map(str, options)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
        if done.returncode != expect:
            raise AssertionError((command, done.returncode, done.stderr[-3000:]))
        self.log = done.stderr
        self.counts = [json.loads(line) for line in done.stdout.splitlines()]
        self.directory = directory

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
        """A fake core that goes on until it is killed."""
        environment = dict(os.environ, NCCLPROF_DIR=self.directory, **settings)
        return subprocess.Popen([FAKECORE, "--plugin", os.path.abspath(PLUGIN), *map(str, options)],
                                env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                start_new_session=True)
