"""The lines of a log that .ci/run repeats at its end include the failures of all our test runners."""

import os
import subprocess
import sys
import tempfile
import textwrap
import unittest
from pathlib import Path

TOP = Path(__file__).parents[2]


def failures(log):
    done = subprocess.run(["awk", "-f", TOP / ".ci/failures.awk"], input=log, capture_output=True, text=True, check=True)
    return done.stdout


class Failures(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = Path(self.folder.name)

    def log_of(self, *command, **environment):
        """The output of a command that must fail, between lines of tests that pass."""
        done = subprocess.run(command, cwd=TOP, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              env={**os.environ, **environment})
        self.assertNotEqual(done.returncode, 0, done.stdout)
        return "ok 1 - before\n" * 100 + done.stdout + "exit status 2\n" + "ok 1 - after\n" * 100

    def program(self, name, text):
        path = self.path / name
        path.write_text(textwrap.dedent(text))
        path.chmod(0o755)
        return str(path)

    def test_unittest_in_parallel(self):
        test = self.program("test_it.py", """\
            import unittest
            class Things(unittest.TestCase):
                def test_good(self): pass
                def test_wrong(self): self.assertEqual(3, 4)
                def test_broken(self): {}["missing"]
                @unittest.skip("not here")
                def test_skipped(self): pass
            unittest.main()
            """)
        found = failures(self.log_of("tests/parallel.py", "cli", f"'{sys.executable}' '{test}'"))
        for line in ("FAIL: test_wrong", "AssertionError: 3 != 4", "ERROR: test_broken", "KeyError: 'missing'", "skipped=1",
                     "cli: 1 passed, 3 failed"):
            self.assertIn(line, found)
        self.assertNotIn("test_good", found)

    def test_what_cannot_run_here(self):
        test = self.program("test_it.py", """\
            import unittest
            class Things(unittest.TestCase):
                def test_good(self): pass
            unittest.main()
            """)
        run = lambda *commands: subprocess.run(["tests/parallel.py", "odd", *commands], stdout=subprocess.PIPE, text=True, check=False)
        good, absent, wrong = f"'{sys.executable}' '{test}'", "echo no room; echo the moon; exit 77", "exit 1"
        for commands, status, said in (((absent, good), 0, ["not tried: the moon", "odd: 1 passed, 0 failed"]),
                                       ((absent,), 1, ["not tried: the moon", "odd: 0 passed, 0 failed"]),
                                       ((good, wrong), 1, ["$ exit 1", "exit status 1", "odd: 1 passed, 1 failed"])):
            done = run(*commands)
            self.assertEqual((done.returncode, done.stdout.splitlines()), (status, said))

    def test_targets_of_make(self):
        make = self.program("make", """\
            #!/bin/sh
            echo 'gen: 2 passed, 0 failed'; echo 'cli: 1 passed, 1 failed'; echo 'inner: 5 passed, 0 failed'
            exit 2
            """)
        log = self.log_of("tests/run.py", "test-cli", "test-gen", "test-unit", MAKE=make)
        self.assertIn("test-gen: 2 of 2\n", log)
        self.assertIn("\n3 passed, 2 failed\n", log)
        found = failures(log)
        for line in "test-unit ended without counts", "test-cli: 1 of 2", "test-unit: 0 of 1":
            self.assertIn(line, found)
        self.assertNotIn("test-gen", found)

    def test_make_that_fails_after_its_tests(self):
        make = self.program("make", "#!/bin/sh\necho 'gen: 2 passed, 0 failed'\nexit 2\n")
        log = self.log_of("tests/run.py", "test-gen", MAKE=make)
        self.assertIn("\n2 passed, 1 failed\n", log)
        self.assertIn("make stopped with exit status 2", failures(log))

    def test_cmocka(self):
        test = self.program("test_list", """\
            #!/bin/sh
            printf '%s\\n' 'ok 1 - test_push' 'not ok 2 - test_pop' '# 0x1 != 0x2' '# list.c:12: error: Failure!' 'ok 3 - test_end'
            exit 1
            """)
        found = failures(self.log_of("tests/unit/run.sh", test))
        for line in (f"FAILED {test}", "not ok 2 - test_pop", "# 0x1 != 0x2", "# list.c:12", "unit: 2 passed, 1 failed"):
            self.assertIn(line, found)
        self.assertNotIn("test_push", found)
        self.assertNotIn("test_end", found)

    def test_torture(self):
        test = self.program("kill.py", """\
            print("FAILED with 3 jobs: the store lost a file")
            print("kill -9: 4 passed, 1 failed")
            """)
        found = failures(self.log_of("tests/torture/run.sh", test))
        self.assertIn("FAILED with 3 jobs: the store lost a file", found)
        self.assertIn("kill -9: 4 passed, 1 failed", found)

    def test_torture_that_dies(self):
        found = failures(self.log_of("tests/torture/run.sh", self.program("dies.py", 'raise OSError("no room")\n')))
        self.assertIn("OSError: no room", found)

    def test_make_that_stops(self):
        self.program("Makefile", "test-odd:\n\t@exit 3\n")
        found = failures(self.log_of("make", "-C", str(self.path), "test-odd"))
        self.assertRegex(found, r"make(\[\d+\])?: \*\*\* .*test-odd")

    def test_rules_of_the_house(self):
        found = failures("check: 3 passed, 0 failed\nFAILED no banned functions\n  src/a.c:3: atoi is banned\ncheck: 2 passed, 1 failed\n")
        self.assertIn("FAILED no banned functions\n    src/a.c:3: atoi is banned", found)

    def test_what_compilers_and_sanitizers_say(self):
        said = ["src/a.c:3:7: error: unknown type name 'x'", "/top/src/a.c:3:7: error: leak [clang-analyzer-unix.Malloc,-warnings-as-errors]",
                "src/a.c:3:7: warning: Redundant condition [redundant]", "src/a.c:3:7: runtime error: signed integer overflow",
                "==12==ERROR: AddressSanitizer: heap-use-after-free on address 0x1", "==12== ERROR: libFuzzer: timeout after 20 seconds",
                "SUMMARY: ThreadSanitizer: data race a.c:3 in f", "fuzz: scan found something", "test-cli ended without counts",
                "test-unit: 3 of 4", "[  FAILED  ] test_old_style"]
        found = failures("\n".join(["test-gen: 4 of 4", *said, "3 passed, 1 failed", "exit status 1"]))
        self.assertEqual(found.splitlines(), ["  " + line for line in said])

    def test_a_part_that_says_nothing(self):
        found = failures("".join(f"line {number}\n" for number in range(100)) + "Killed\nexit status 137\n")
        self.assertIn("Killed", found)
        self.assertNotIn("line 0\n", found)

    def test_thousands_of_failures(self):
        found = failures("".join(f"FAIL: test_{number}\n" for number in range(5000)))
        self.assertLess(len(found.splitlines()), 100)
        self.assertIn("4940 more lines", found)


if __name__ == "__main__":
    unittest.main()
