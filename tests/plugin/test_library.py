#!/usr/bin/env python3
"""The plugin as a library: its exported symbols, and its use in processes without NCCL. usage: test_library.py FAKECORE
PLUGIN
"""

import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from played import PLUGIN, SANITIZED  # noqa: E402


class Library(unittest.TestCase):
    def test_shows_its_entries_alone(self):
        listing = subprocess.run(["nm", "-D", "--defined-only", PLUGIN], check=True, capture_output=True, text=True)
        shown = {line.split()[-1] for line in listing.stdout.splitlines()}
        entries = {f"ncclProfiler_v{version}" for version in range(1, 8)} | {
            "ncclprof_tag", "ncclprof_tag_name", "InitializeInjectionNvtx2"}
        self.assertEqual(shown if not SANITIZED else shown & entries, entries)

    def test_needs_no_static_memory_for_threads(self):
        """A process has little of it: a library that uses it cannot be loaded if others have used it up."""
        listing = subprocess.run(["readelf", "-dW", PLUGIN], check=True, capture_output=True, text=True)
        self.assertNotIn("STATIC_TLS", listing.stdout)

    def test_tag_from_python(self):
        """A program that never uses NCCL may call it: nothing happens, and no file appears."""
        with tempfile.TemporaryDirectory() as directory:
            code = f"""
import ctypes
library = ctypes.CDLL({os.path.abspath(PLUGIN)!r})
library.ncclprof_tag(b'forward')
library.ncclprof_tag_name(ctypes.c_uint64(2**64 - 1), b'forward')"""
            # The runtime of a sanitizer would have to be loaded before the interpreter.
            if SANITIZED:
                code = "pass"
            done = subprocess.run([sys.executable, "-c", code],
                                  env=dict(os.environ, NCCLPROF_DIR=directory), capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr, os.listdir(directory)), (0, "", []))


    def test_tag_from_c(self):
        """With the header, a program calls it if the library is there, and works without it."""
        code = '''
            #include "ncclprof_tag.h"
            int main(void)
            {
                if (ncclprof_tag)
                    ncclprof_tag("forward");
                if (ncclprof_tag_name)
                    ncclprof_tag_name(42, "forward");
                return ncclprof_tag && ncclprof_tag_name ? 3 : 4;
            }'''
        header = os.path.join(os.path.dirname(__file__), "..", "..", "lib", "plugin")
        with tempfile.TemporaryDirectory() as directory:
            program = os.path.join(directory, "program")
            subprocess.run([*os.environ.get("CC", "cc").split(), "-Wall", "-Werror", "-x", "c", "-I", header, "-o", program, "-"],
                           input=code, text=True, check=True)
            self.assertEqual(subprocess.run([program]).returncode, 4)
            preloaded = dict(os.environ, LD_PRELOAD=os.path.abspath(PLUGIN))
            if not SANITIZED:
                self.assertEqual(subprocess.run([program], env=preloaded, cwd=directory).returncode, 3)
            self.assertEqual(os.listdir(directory), ["program"])

    def test_leaves_small_stacks_their_room(self):
        """Thread-local memory of a preloaded library is on the stack of each thread."""
        code = '''
            #include <limits.h>
            #include <pthread.h>
            static void *nothing(void *unused) { return unused; }
            int main(void)
            {
                pthread_t thread;
                pthread_attr_t attributes;
                pthread_attr_init(&attributes);
                pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN);
                return pthread_create(&thread, &attributes, nothing, 0) || pthread_join(thread, 0) ? 4 : 3;
            }'''
        with tempfile.TemporaryDirectory() as directory:
            program = os.path.join(directory, "program")
            subprocess.run([*os.environ.get("CC", "cc").split(), "-x", "c", "-pthread", "-o", program, "-"],
                           input=code, text=True, check=True)
            self.assertEqual(subprocess.run([program], cwd=directory).returncode, 3)
            # A sanitizer takes this memory itself.
            if not SANITIZED:
                preloaded = dict(os.environ, LD_PRELOAD=os.path.abspath(PLUGIN))
                self.assertEqual(subprocess.run([program], env=preloaded, cwd=directory).returncode, 3)


if __name__ == "__main__":
    unittest.main()
