"""The source archive: the same bytes each time, all files of the commit, and it builds without git."""

import os
import tarfile
import unittest

from tests.packages.support import TOP, Case, run

WITHOUT_GIT = {**os.environ, "GIT_DIR": "/nonexistent"}


class Archive(Case):
    def archive(self):
        return TOP / run("make", "-s", "dist").splitlines()[-1]

    def test_the_same_bytes_again(self):
        first = self.archive().read_bytes()
        os.utime(TOP / "README.md")
        self.assertEqual(self.archive().read_bytes(), first)

    def test_what_is_in_it(self):
        with tarfile.open(self.archive()) as archive:
            members = archive.getmembers()
        names = [member.name for member in members if member.isfile()]
        top = names[0].split("/")[0]
        self.assertRegex(top, r"^ncclprof-\d+\.\d+\.\d+$")
        self.assertEqual(sorted(names), sorted(f"{top}/{name}" for name in run("git", "ls-tree", "-r", "--name-only", "HEAD").splitlines()))
        self.assertEqual({member.mtime for member in members}, {int(run("git", "log", "-1", "--format=%ct"))})
        self.assertEqual({(member.uid, member.gid, member.mode & 0o022) for member in members}, {(0, 0, 0)})

    def test_it_builds_without_git(self):
        run("tar", "-xf", self.archive(), "-C", self.folder)
        tree, = self.folder.iterdir()
        # Only the time counts; without optimisation `make check` would miss _FORTIFY_SOURCE.
        make = ["make", "-s", f"-j{os.cpu_count()}", "OPTIMISE=-O1", "CFLAGS=-g0"]
        run(*make, cwd=tree, env=WITHOUT_GIT)
        commit = run("git", "rev-parse", "HEAD").strip()[:12]
        self.assertEqual(run(tree / "build/ncclprof", "--version"), f"{tree.name.replace('-', ' ')} (commit {commit})\n")
        self.assertRegex(run(*make, "check", cwd=tree, env=WITHOUT_GIT), r"check: \d+ passed, 0 failed")
        run(*make, "deb", cwd=tree, env=WITHOUT_GIT)
        self.assertEqual(run(*make, "dist", cwd=tree, env=WITHOUT_GIT, status=2).splitlines()[0], "make dist: this is not a git clone with a commit")


if __name__ == "__main__":
    unittest.main()
