"""The package in a Debian that contains nothing else; bare_root.sh made it."""

import shutil
import unittest

from tests.packages.support import BUILT, FIXTURE, TOP, Case, run

ROOT = BUILT / "packages/root"
SHARE = ROOT / "usr/share"


def inside(*words, **options):
    """The output of a command in the bare Debian: as root, with /proc, and without this environment."""
    script = f'mount -t proc proc "{ROOT}/proc" && exec chroot "{ROOT}" env -i PATH=/usr/bin:/bin "$@"'
    return run("unshare", "--mount", "sh", "-c", script, "sh", *words, **options)


class Installed(Case):
    @classmethod
    def setUpClass(cls):
        shutil.copytree(TOP / "fixtures" / FIXTURE, ROOT / "tmp" / FIXTURE, dirs_exist_ok=True)
        shutil.copy(BUILT / "fakecore", ROOT / "tmp/fakecore")

    def test_version(self):
        self.assertEqual(inside("ncclprof", "--version"), run(BUILT / "ncclprof", "--version"))

    def test_diagnose(self):
        inside("ncclprof", "--store", "/tmp/store.db", "ingest", f"/tmp/{FIXTURE}")
        self.assertEqual(inside("ncclprof", "--store", "/tmp/store.db", "diagnose"), self.diagnosis("/tmp/store.db"))

    def test_manual(self):
        for page in (TOP / "man").glob("*.[1-9]"):
            installed = SHARE / f"man/man{page.suffix[1:]}/{page.name}.gz"
            self.assertEqual(run("gzip", "-dc", installed), page.read_text())

    def test_completion(self):
        completion = "/usr/share/bash-completion/completions/ncclprof"
        said = inside("bash", "-c", f"source {completion} && complete -p ncclprof")
        self.assertRegex(said, r"^complete .*\bncclprof$")

    def test_check(self):
        plugin = inside("ncclprof", "record", "--check", "-o", "/tmp/checked").splitlines()[0]
        self.assertIn("ok, profiler interface v1 to v7", plugin)

    def test_record(self):
        inside("ncclprof", "record", "-o", "/tmp/recorded", "--", "/tmp/fakecore", "--ranks", "4", "--steps", "3")
        self.assertRegex(inside("ncclprof", "--store", "/tmp/recorded.db", "ingest", "/tmp/recorded"), r"\b[1-9]\d* files? ingested")

    def test_the_plugin_by_its_name(self):
        """As in NCCL: NCCL_PROFILER_PLUGIN=ncclprof becomes this name, and the loader finds it."""
        inside("env", "NCCL_PROFILER_PLUGIN=libnccl-profiler-ncclprof.so", "NCCLPROF_DIR=/tmp/named", "/tmp/fakecore")
        self.assertTrue(list((ROOT / "tmp/named").glob("*.json")))


class Removed(Case):
    def test_nothing_stays(self):
        """In a copy, because the other tests need the original."""
        copy = self.folder / "root"
        run("cp", "-a", "--reflink=auto", ROOT, copy)
        run("chroot", copy, "dpkg", "--purge", "ncclprof")
        self.assertEqual([path for path in run("find", copy / "usr", copy / "etc", "-name", "*ncclprof*").split()], [])


if __name__ == "__main__":
    unittest.main()
