"""The Debian package from outside: the verdict of lintian, its content, its dependencies."""

import re
import unittest

from tests.packages.support import BUILT, TOP, Case, run

DEB = next((BUILT / "deb").glob("ncclprof_*.deb"))


class Package(Case):
    def test_lintian(self):
        """Neither errors nor warnings; each override has its reason."""
        self.assertEqual(run("lintian", "--allow-root", "--fail-on", "error,warning", DEB), "")

    def test_what_it_asks_for(self):
        said = dict(re.findall(r"^([\w-]+): (.*)$", run("dpkg-deb", "--field", DEB), re.M))
        self.assertEqual(said["Version"], run(BUILT / "ncclprof", "--version").split()[1])
        self.assertEqual(said["Architecture"], run("dpkg", "--print-architecture").strip())
        libraries = re.findall(r"([\w.-]+) \(>= [^)]+\)", said["Depends"])
        self.assertEqual(sorted(libraries), ["libc6", "libcjson1", "libsqlite3-0", "zlib1g"])
        self.assertEqual(len(libraries), len(said["Depends"].split(",")))

    def test_what_is_in_it(self):
        listed = run("dpkg-deb", "--contents", DEB).splitlines()
        self.assertEqual({line.split()[1] for line in listed}, {"root/root"})
        self.assertEqual({line[:10] for line in listed}, {"drwxr-xr-x", "-rw-r--r--", "-rwxr-xr-x"})
        files = {line.split()[-1].removeprefix("./") for line in listed if not line.endswith("/")}
        pages = {f"usr/share/man/man{page.suffix[1:]}/{page.name}.gz" for page in (TOP / "man").glob("*.[1-9]")}
        self.assertEqual({name for name in files if "/man/" in name}, pages)
        for name in ("usr/bin/ncclprof", "usr/lib/libnccl-profiler-ncclprof.so", "usr/include/ncclprof_tag.h",
                     "usr/share/bash-completion/completions/ncclprof", "usr/share/fish/vendor_completions.d/ncclprof.fish",
                     "usr/share/zsh/vendor-completions/_ncclprof", "usr/share/doc/ncclprof/copyright"):
            self.assertIn(name, files)
        programs = [line.split()[-1] for line in listed if line.startswith("-rwx")]
        self.assertEqual(programs, ["./usr/bin/ncclprof"])

    def test_sums(self):
        run("dpkg-deb", "--raw-extract", DEB, self.folder)
        sums = (self.folder / "DEBIAN/md5sums").read_text()
        run("md5sum", "--check", "--strict", "DEBIAN/md5sums", cwd=self.folder)
        files = {str(path.relative_to(self.folder)) for path in (self.folder / "usr").rglob("*") if path.is_file()}
        self.assertEqual({line.split("  ")[1] for line in sums.splitlines()}, files)

    def test_the_same_bytes_again(self):
        run("make", "-s", "deb", f"OUT={BUILT.relative_to(TOP)}", f"DEB={self.folder}/again")
        again = self.folder / "again" / DEB.name
        self.assertEqual(again.read_bytes(), DEB.read_bytes())


if __name__ == "__main__":
    unittest.main()
