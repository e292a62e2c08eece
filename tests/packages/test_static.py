"""The static tool, alone in an empty root directory."""

import os
import shutil
import unittest

from tests.packages.support import BUILT, FIXTURE, TOP, Case, run

STATIC = BUILT / "static/ncclprof"


class Alone(Case):
    def setUp(self):
        super().setUp()
        shutil.copy(STATIC, self.folder / "ncclprof")
        shutil.copytree(TOP / "fixtures" / FIXTURE, self.folder / FIXTURE)

    def inside(self, *words, **variables):
        return run("unshare", *(["--map-root-user"] if os.getuid() else []), "chroot", self.folder, "/ncclprof", *words,
                   env={"PATH": os.environ["PATH"], "NCCLPROF_STORE": "/store.db", **variables})

    def test_no_libraries(self):
        headers = run("readelf", "--wide", "--program-headers", "--dynamic", STATIC)
        self.assertIn("DYN (", run("readelf", "--file-header", STATIC))  # position-independent
        for word in ("INTERP", "(NEEDED)"):
            self.assertNotIn(word, headers)
        self.assertIn("GNU_RELRO", headers)

    def test_version(self):
        self.assertEqual(self.inside("--version"), run(BUILT / "ncclprof", "--version"))

    def test_diagnose(self):
        self.inside("ingest", f"/{FIXTURE}")
        self.assertEqual(self.inside("diagnose"), self.diagnosis("/store.db"))

    def test_letters(self):
        """The C library's locale tables are not there; drawings do not depend on them."""
        self.inside("ingest", f"/{FIXTURE}")
        drawn = {name: run(program, "steps", "--map", env={"LC_ALL": "C.UTF-8", "NCCLPROF_STORE": str(self.folder / "store.db")})
                 for name, program in (("static", STATIC), ("dynamic", BUILT / "ncclprof"))}
        self.assertEqual(drawn["static"], drawn["dynamic"])
        self.assertEqual(self.inside("steps", "--map", LC_ALL="C.UTF-8"), drawn["dynamic"])

    def test_plugin_is_not_tried(self):
        """Extensions are not loaded, because they would bring a second C library, and the store is not reported as damaged."""
        shutil.copy(BUILT / "libnccl-profiler-ncclprof.so", self.folder)
        said = run(self.folder / "ncclprof", "record", "--check", "-o", self.folder / "traces", env={"HOME": "/none"})
        self.assertIn("libnccl-profiler-ncclprof.so: not checked", said)
        self.assertIn("GPUs (NVML): left out: a static program loads no libraries", said)


if __name__ == "__main__":
    unittest.main()
