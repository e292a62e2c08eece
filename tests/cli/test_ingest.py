"""ingest: what is stored, how often, and the reported results."""

import gzip
import io
import json
import lzma
import os
import pickle
import re
import shutil
import sqlite3
import subprocess
import tarfile
from pathlib import Path

from tests.cli.support import PROGRAM, TOP, Case, all_reduce, trace


class Ingest(Case):
    def test_counts(self):
        for rank in range(4):
            self.write(f"traces/rank{rank}.json", trace(rank=rank, count=6, tags=[("forward", 500.0)]))
        files = self.ingest("traces")
        self.assertEqual({file["status"] for file in files.values()}, {"ingested"})
        self.assertEqual({file["events"] for file in files.values()}, {7})
        info = self.info()
        self.assertEqual(info["processes"], 4)
        self.assertEqual(info["communicators"], 1)
        self.assertEqual(info["collectives"], 24)
        self.assertEqual(info["collective_instances"], 6)
        self.assertEqual(info["p2p"], 0)
        self.assertEqual(info["tags"], 4)
        self.assertEqual(info["files"], 4)
        self.assertEqual(info["skipped"], 0)
        self.assertEqual(self.rows("SELECT DISTINCT tag, function, bytes, duration_us FROM v_operation"),
                         [("forward", "AllReduce", 4194304, 100.0)])

    def test_the_default_stream(self):
        """Its address is NULL, which printf writes as (nil)."""
        for fixture in ("dialect-2.28.3", "dialect-2.29.7"):
            for path in sorted((TOP / "fixtures" / fixture).glob("dump*")):
                text, changed = re.subn(r'("Stream": "?)0x[0-9a-f]+', r"\1(nil)", path.read_text())
                self.assertGreater(changed, 0)
                self.write(f"traces/{path.name}", text)
            self.ingest("traces")
            self.assertEqual(self.info()["partial_files"], 0)
            self.assertEqual(self.rows("SELECT DISTINCT stream IS NULL FROM v_operation"), [(1,)])
            here = self.rows("SELECT function, bytes, enqueue_begin_us, gpu_begin FROM v_operation ORDER BY 3, 1, 4")
            self.store.unlink()
            self.ingest(TOP / "fixtures" / fixture)
            self.assertEqual(
                here, self.rows("SELECT function, bytes, enqueue_begin_us, gpu_begin FROM v_operation ORDER BY 3, 1, 4"))
            self.store.unlink()
            shutil.rmtree(self.folder / "traces")

    def test_what_speaks_of_traces_is_none(self):
        """Programs and tests also contain the words of a trace; a trace without its beginning does not start like one."""
        line = all_reduce(0, 0, 7, 5, 1000.0).splitlines()[1]
        self.write("traces/tool.c", f"/* {line} */\nstatic const char text[] =\n    '{line}';\n{{'cat': 0, \"cat\": \"COLL\"}}\n")
        self.write("traces/tool.py", '    return {"header": 1, "coll_perf": 2}\n  {"coll_perf": {}}\n')
        self.write("traces/behead.json", 'ame": "x"},\n' + trace(count=2)[2:])
        answer = self.json("ingest", "traces", status=1)
        self.assertEqual(answer["totals"]["not_traces"], 2)
        self.assertEqual([file["status"] for file in answer["files"]], ["partial"])
        self.assertEqual(self.info()["collectives"], 2)
        for name in ("tool.c", "tool.py"):
            file = self.ingest(f"traces/{name}", status=1)[name]
            self.assertEqual(file["status"], "failed")
            self.assertIn("not a supported trace", file["reason"])

    def test_a_file_of_which_nothing_is_understood(self):
        """Events of another tool in NCCL's categories, with any text around them; an empty trace is not one of those."""
        other = [json.dumps({"args": {"size": 1048576}, "cat": "COLL", "dur": 30, "name": "all_reduce", "ph": "X", "rank": 0,
                             "seq_num": number, "ts": 1000000 + number}) for number in range(20)]
        named = ['{"name": "all_reduce", "cat": "P2P", "ph": "X", "pid": 7, "ts": 1.0, "dur": 2.0}'] * 3
        self.write("lines.txt", "\n".join(other) + "\n")
        self.write("lines_12_0.json", "[\n" + ",\n".join(named) + "\n]\n")
        self.write("cut.json", ",\n".join(other[:3]) + ",\n" + other[3][:40])
        self.write("comma.txt", '{"cat": "COLL", "proxyops": [], "ph": "X", "ts": 1}\n')
        names = ("lines.txt", "lines_12_0.json", "cut.json", "comma.txt")
        for words in (names, ("lines.txt",), (".",)):
            files = self.ingest(*words, status=1)
            for file in files.values():
                self.assertEqual((file["status"], file["events"], file["dialect"]), ("failed", 0, None))
                self.assertIn("it has no line that a supported recorder writes", file["reason"])
            self.assertFalse(self.store.exists())
        self.assertEqual(set(files), set(names))
        self.assertIn("20 times unknown event, first at byte 0", files["lines.txt"]["reason"])
        # Next to a known event they are only counted; a file with nothing but the frame of a trace is no failure.
        self.write("some.json", trace(count=1)[:-4] + ",\n".join(named) + "\n]\n")
        self.write("none_5_0.json", "[\n{}]\n")
        files = self.ingest("some.json", "none_5_0.json")
        self.assertEqual([(file["status"], file["skipped"]) for file in files.values()], [("ingested", 3), ("ingested", 0)])

    def test_other_files_are_named_for_what_they_are(self):
        made = io.BytesIO()
        with tarfile.open(fileobj=made, mode="w") as archive:
            archive.add(self.write("a.json", trace()), "a.json")
        self.run_program("--store", "other.db", "ingest", "a.json")
        with sqlite3.connect(self.folder / "plain") as store:
            store.execute("CREATE TABLE a (b)")
        for content, what in (
            (made.getvalue(), "a tar archive; unpack it"),
            (gzip.compress(made.getvalue()), "a tar archive; unpack it"),
            (gzip.compress(b"# notes\n"), "neither JSON nor a known log"),
            (b"PK\x03\x04rest", "a zip archive; unpack it"),
            (Path(PROGRAM).read_bytes()[:4096], "a program"),
            ((self.folder / "other.db").read_bytes(), "an ncclprof store; pass it with --store"),
            ((self.folder / "plain").read_bytes(), "an SQLite database"),
            (json.dumps({"traceEvents": [{"ph": "X", "cat": "blink"}]}), "a Chrome trace of another tool"),
            (pickle.dumps([1, 2]), "a Python pickle"),
        ):
            self.write("it", content)
            with self.subTest(what=what):
                self.assertIn(what, self.ingest("it", status=1)["it"]["reason"])

    def test_files_of_other_tools_are_named_with_what_to_do_instead(self):
        nsys = "run: nsys export --type sqlite REPORT"
        record, kineto = "record it with: ncclprof record COMMAND", "pass the trace of torch.profiler"
        for name, content, *what in (
            ("a.csv", "Time (%),Total Time (ns),Instances,Avg (ns),Name\n9.1,44,2,22.0,ncclDevKernel\n",
             "a table of nsys stats", nsys),
            ("a.txt", " ** OS Runtime Summary:\n\n Time (%)  Total Time (ns)  Num Calls\n", "a table of nsys stats", nsys),
            ("a.csv", "Start (ns),Duration (ns),CorrId,Name\n1,2,3,ncclDevKernel\n", "a table of nsys stats", nsys),
            ("a.nsys-rep", b"\x01\x02\0rest", "a report of Nsight Systems", nsys),
            ("a.parquet", b"PAR1\0rest", "a Parquet file", nsys),
            ("a.json", '{"Type":59,"NvtxEvent":{"Text":"ncclAllReduce"}}\n', "a JSON export of nsys", nsys),
            ("a.out", "# nThread 1 nGpus 2 minBytes 4 maxBytes 64\n#\n# Using devices\n", "a table of nccl-tests", record),
            ("a.out", "#       out-of-place     in-place\n# size count type redop root time algbw busbw #wrong\n",
             "a table of nccl-tests", record),
            ("a.json", json.dumps({"resourceMetrics": [{"scopeMetrics": []}]}), "OTLP", "NCCL_INSPECTOR_DUMP_VERBOSE=1"),
            ("a.prom", "# HELP node_load1 Load\n# TYPE node_load1 gauge\nnode_load1 0.2\n", "without metrics of NCCL"),
            ("a.csv", "2026/11/26 10:11:12.345, 0, 1980 MHz\n", "CSV of nvidia-smi without the names", "without noheader"),
            ("a.json", json.dumps({"schema": "1.0.9-chakra.0.0.4", "nodes": []}), "a Chakra execution trace", kineto),
            ("a.et", b"\x0a\x05\0rest", "a Chakra execution trace", kineto),
            ("a.json", json.dumps([{"comms": "broadcast", "in_msg_size": 8}]), "a PARAM communication trace", kineto),
            ("a.json", json.dumps({"rocprofiler-sdk-tool": []}), "a result of rocprofv3", kineto),
            ("a.txt", "W xla/service/gpu/runtime/nccl_api.cc:7] waiting\n", "a log of XLA", "NCCL_DEBUG_SUBSYS=INIT,COLL"),
            ("a.txt", "step 1\nNVRM: Xid (PCI:0000:1b:00): 79, pid=77\nstep 2\n", "messages of a GPU's driver", "journalctl -k"),
            ("a.xml", '<system version="1"><cpu numaid="0"/></system>', "a topology file of NCCL"),
        ):
            self.write(name, content)
            with self.subTest(content=content):
                reason = self.ingest(name, status=1)[name]["reason"]
                for words in what:
                    self.assertIn(words, reason)

    def test_hashes_are_exact(self):
        self.write("a.json", trace(communicator=18446744073709551615))
        self.write("b.json", trace(communicator=18446744073709551614))
        self.run_program("ingest", "a.json", "b.json")
        self.assertEqual(self.rows("SELECT communicator_hash FROM v_communicator ORDER BY 1"),
                         [("18446744073709551614",), ("18446744073709551615",)])

    def test_nothing_to_read_makes_no_store(self):
        """A store that was created because of a mistyped path would be useless."""
        self.write("notes/a.txt", "no trace")
        self.write("b.json", "[\n")
        for words in (("tracse",), ("notes",), ("notes/a.txt", "b.json", "tracse")):
            self.run_program("ingest", *words, status=1)
            self.assertFalse(self.store.exists())
        self.assertIn("does not exist; create it with", self.run_program("diagnose", status=1).err)
        self.write("c.json", trace())
        self.assertEqual(self.ingest("tracse", "notes", "c.json", status=1)["c.json"]["status"], "ingested")
        before = self.store.read_bytes()
        self.run_program("ingest", "tracse", status=1)
        self.assertEqual(self.store.read_bytes(), before)

    def test_again_is_unchanged(self):
        self.write("a.json", trace())
        self.ingest("a.json")
        before = self.store.read_bytes()
        files = self.ingest("a.json")
        self.assertEqual(files["a.json"]["status"], "unchanged")
        self.assertEqual(files["a.json"]["events"], 5)
        self.assertEqual(self.store.read_bytes(), before)

    def test_a_copy_is_unchanged(self):
        self.write("a.json", trace())
        self.write("b.json", trace())
        files = self.ingest("a.json", "b.json")
        self.assertEqual(sorted(file["status"] for file in files.values()), ["ingested", "unchanged"])
        self.assertEqual(self.info()["collectives"], 5)

    def test_force_reads_again(self):
        self.write("a.json", trace())
        self.ingest("a.json")
        self.assertEqual(self.ingest("--force", "a.json")["a.json"]["status"], "ingested")
        self.assertEqual(self.info()["collectives"], 5)

    def test_new_content_takes_the_place_of_old(self):
        self.write("a.json", trace(count=5, communicator=1))
        self.write("b.json", trace(count=5, communicator=2))
        self.ingest("a.json", "b.json")
        replacement = self.write("new.json", trace(count=8, communicator=3))
        os.replace(replacement, self.folder / "a.json")
        self.assertEqual(self.ingest("a.json", "b.json")["a.json"]["status"], "ingested")
        self.assertEqual(self.info()["collectives"], 13)
        self.assertEqual(self.rows("SELECT communicator_hash FROM v_communicator ORDER BY 1"), [("2",), ("3",)])
        self.assertEqual(self.info()["collective_instances"], 13)

    def test_a_grown_file_gives_what_a_fresh_store_has(self):
        """The result is the same, whatever the history of the file."""
        self.write("a.json", trace(count=3))
        self.write("b.json", trace(rank=1, count=9))
        self.ingest("a.json", "b.json")
        self.write("a.json", trace(count=9))
        self.ingest("a.json")
        grown = self.rows("SELECT rank, sequence, device_begin_us, instance_id IS NULL FROM v_operation ORDER BY 1, 2")
        self.store.unlink()
        self.ingest("a.json", "b.json")
        fresh = self.rows("SELECT rank, sequence, device_begin_us, instance_id IS NULL FROM v_operation ORDER BY 1, 2")
        self.assertEqual(len(grown), 18)
        self.assertEqual(grown, fresh)

    def test_standard_input(self):
        self.assertEqual(self.ingest("-", stdin=trace())["-"]["status"], "ingested")
        self.assertEqual(self.ingest("-", stdin=trace())["-"]["status"], "unchanged")
        self.assertEqual(self.ingest("-", stdin=trace(rank=1))["-"]["status"], "ingested")
        self.assertEqual(self.info()["collectives"], 10)
        self.assertEqual(self.info()["processes"], 2)

    def test_a_pipe_without_a_name(self):
        """As with <(...) of a shell: the same path is another pipe each time."""
        self.write("a.json", trace())
        self.write("c.json", trace(rank=2))
        for rank in (1, 3):
            files = self.ingest("a.json", "/dev/stdin", "c.json", stdin=trace(rank=rank))
            self.assertEqual(files["stdin"]["status"], "ingested")
            self.assertEqual(files["stdin"]["path"], "/dev/stdin")
        self.assertEqual(self.info()["collectives"], 20)
        self.assertEqual(self.rows("SELECT count(*) FROM file WHERE path = '-'"), [(2,)])
        command = f"exec {PROGRAM} -q ingest <(cat a.json) <(cat c.json)"
        subprocess.run(["bash", "-c", command], cwd=self.folder, check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, "NCCLPROF_STORE": str(self.folder / "other.db")})
        with sqlite3.connect(self.folder / "other.db") as store:
            self.assertEqual(store.execute("SELECT sum(events) FROM file").fetchall(), [(10,)])

    def test_gzip_whatever_the_name(self):
        self.write("a.json", gzip.compress(trace(rank=0).encode()))
        self.write("b.gz", trace(rank=1))
        halves = trace(rank=2).encode()
        self.write("c.bin", gzip.compress(halves[:700]) + gzip.compress(halves[700:]))
        self.assertEqual({file["status"] for file in self.ingest("a.json", "b.gz", "c.bin").values()}, {"ingested"})
        self.assertEqual(self.ingest("-", stdin=gzip.compress(trace(rank=3).encode()))["-"]["status"], "ingested")
        self.assertEqual(self.info()["collectives"], 20)

    def test_a_packed_trace_is_the_same_trace(self):
        """Compressing or unpacking a file that is in the store adds nothing, whichever other version is still there."""
        for rank in range(3):
            self.write(f"traces/{rank}.json", trace(rank=rank, tags=[("forward", 10.0)]))
        self.ingest("traces")
        counts = self.info()
        for path in sorted((self.folder / "traces").iterdir()):
            self.write(f"traces/{path.name}.gz", gzip.compress(path.read_bytes()))
        keys = ("collectives", "collective_instances", "tags", "files")
        for step in ("both", "packed", "packed", "unpacked", "--force"):
            if step == "packed":
                for path in (self.folder / "traces").glob("*.json"):
                    path.unlink()
            elif step == "unpacked":
                for path in sorted((self.folder / "traces").glob("*.gz")):
                    self.write(f"traces/{path.stem}", gzip.decompress(path.read_bytes()))
            answer = self.json("ingest", *([step] if step == "--force" else []), "traces")
            wanted = "ingested" if step == "--force" else "unchanged"
            self.assertEqual({file["status"] for file in answer["files"]}, {wanted}, step)
            self.assertEqual({key: self.info()[key] for key in keys}, {key: counts[key] for key in keys}, step)
        self.assertEqual(self.info()["collectives"], 15)
        self.check_integrity()

    def test_packed_and_plain_at_once(self):
        """Also if zeros after the compressed data make both files equally long."""
        for rank in range(8):
            plain = trace(rank=rank).encode()
            self.write(f"traces/{rank}.json", plain)
            self.write(f"traces/{rank}.json.gz", gzip.compress(plain).ljust(len(plain) if rank % 2 else 0, b"\0"))
        self.assertEqual(sorted(file["status"] for file in self.ingest("traces").values()), 8 * ["ingested"] + 8 * ["unchanged"])
        self.assertEqual(self.info()["collectives"], 40)

    def test_packed_away_and_written_anew(self):
        """The old content is in a compressed file next to the new content, with the same name: both are stored."""
        for rank in range(2):
            self.write(f"traces/{rank}.json", trace(rank=rank))
        self.ingest("traces")
        for rank in range(2):
            self.write(f"traces/{rank}.json" if rank else "traces/0.gz", trace(rank=rank + 8, count=7))
            self.write(f"traces/{rank}.json.gz" if rank else "traces/0.json", gzip.compress(trace(rank=rank).encode()))
        self.ingest("traces")
        self.assertEqual(self.info()["collectives"], 24)

    def test_a_store_that_holds_a_trace_twice(self):
        """Created by an earlier version; reading the file again corrects it."""
        self.write("a.json", trace())
        self.write("a.json.gz", gzip.compress(trace(rank=1).encode()))
        self.ingest("a.json", "a.json.gz")
        with sqlite3.connect(self.store) as store:
            store.execute("UPDATE file SET unpacked_digest = (SELECT digest FROM file WHERE path LIKE '%.json') "
                          "WHERE path LIKE '%.gz'")
        store.close()
        self.ingest("a.json", "a.json.gz")
        self.assertEqual(self.info()["collectives"], 10)
        self.ingest("--force", "a.json")
        self.assertEqual(self.info()["collectives"], 5)

    def test_other_packers_are_named(self):
        """Formats that cannot be unpacked here can be read from a pipe; the message shows how."""
        for name, magic in (("xz", b"\xfd7zXZ\0"), ("zstd", b"\x28\xb5\x2f\xfd"), ("bzip2", b"BZh9"), ("lz4", b"\x04\x22\x4d\x18")):
            self.write(f"{name}/a.json.{name}", magic + bytes(range(256)) * 4)
            told = f"{name}/a.json.{name}: compressed with {name}; run: {name} -dc {name}/a.json.{name} | ncclprof ingest -\n"
            self.assertEqual(self.run_program("ingest", f"{name}/a.json.{name}", status=1).err, "ncclprof: " + told)
            self.assertIn(told, self.run_program("ingest", name, status=1).err)
        self.write("a.json.xz", lzma.compress(trace().encode()))
        self.assertIn("compressed with xz", self.run_program("ingest", "a.json.xz", status=1).err)

    def test_archives_are_named_with_what_to_type(self):
        """The commands of the message, typed as they are, diagnose what is in the archive."""
        path = f"{self.folder / 'bin'}:{os.environ['PATH']}"
        (self.folder / "bin").mkdir()
        (self.folder / "bin/ncclprof").symlink_to(Path(PROGRAM).resolve())
        for name, mode in (("some traces.tar.xz", "w:xz"), ("b.tgz", "w:gz"), ("c.tar", "w"), ("d.tar.bz2", "w:bz2")):
            with tarfile.open(self.folder / name, mode) as archive:
                archive.add(TOP / "fixtures/tp2dp2pp2-hang", "hang")
            with self.subTest(name=name):
                said = self.run_program("diagnose", name, status=1).err.splitlines()[0]
                command = said.partition("run: ")[2].removesuffix(")")
                ran = subprocess.run(["sh", "-c", command], cwd=self.folder, capture_output=True, text=True, check=False,
                                     env={**os.environ, "PATH": path})
                self.assertEqual((ran.returncode, ran.stderr), (0, ""), command)
                self.assertIn("rank 5 never joined ReduceScatter", ran.stdout)

    def test_directories_pass_strangers_by(self):
        self.write("traces/a.json", trace())
        self.write("traces/deep/er/b.json", trace(rank=1))
        self.write("traces/README.md", "# notes\n")
        self.write("traces/label.json", '{"label": "none"}\n')
        self.write("traces/empty", "")
        self.write("traces/.hidden.json", trace(rank=2))
        self.write("traces/binary", bytes(range(256)) * 40)
        answer = self.json("ingest", "traces")
        self.assertEqual(sorted(os.path.basename(file["path"]) for file in answer["files"]), ["a.json", "b.json"])
        self.assertEqual(answer["totals"]["ingested"], 2)
        self.assertEqual(answer["totals"]["not_traces"], 4)
        self.assertEqual(answer["totals"]["failed"], 0)

    def test_a_directory_without_a_trace_is_an_error(self):
        """Nothing was stored, so nothing may look as if it was; the reason is given for one of its files."""
        (self.folder / "empty").mkdir()
        self.write("other/notes.txt", "hello\n" * 99)
        self.write("other/page.json", json.dumps({"traceEvents": [{"ph": "X", "cat": "blink"}]}))
        self.write("traces/a.json", trace())
        self.write("traces/sub/b.json", trace(rank=1))
        result = self.run_program("ingest", "empty", "other", "traces", status=1)
        empty, other = result.err.splitlines()
        self.assertRegex(empty, "^ncclprof: empty: contains no files: .*NCCL_INSPECTOR_DUMP_THREAD_INTERVAL")
        self.assertRegex(other, r"^ncclprof: other: none of its files \(2\) is a supported trace; "
                         r"for example, other/page.json: not a supported trace \(looks like a Chrome trace of another tool\)")
        self.assertEqual(self.info()["collectives"], 10)
        self.run_program("ingest", "other", status=1)
        # Everything is already stored, or came another way.
        self.assertEqual(self.run_program("ingest", "traces").err, "")
        self.assertEqual(self.run_program("ingest", "traces/sub", "traces", "traces/sub", "traces").err, "")

    def test_a_recorder_that_recorded_nothing_is_told_why(self):
        """The files of NVIDIA's plugins if an environment variable is missing: an empty log, an array without events."""
        self.write("logs/node0-pid1.log", "")
        self.write("logs/node0-pid2.log", "")
        self.assertRegex(self.run_program("ingest", "logs", status=1).err,
                         "^ncclprof: logs: none of its files .*pid[12].log: empty file: .*NCCL_INSPECTOR_DUMP_THREAD_INTERVAL")
        for rank in range(3):
            self.write(f"dumps/dump_1234_{rank}.json", "[\n{}]")
        self.write("dumps/other.json", "[\n{}]")
        told = self.run_program("ingest", "dumps").err.splitlines()
        self.assertEqual(len(told), 1, told)
        self.assertRegex(told[0], "dump_1234_[012].json and 2 more contain no events: .*NCCL_PROFILE_EVENT_MASK")
        self.write("cut/dump_1234_0.json", "")
        self.assertRegex(self.run_program("ingest", "cut", status=1).err, "empty file: .* when the communicator ends")
        self.write("odd/notes", "")
        self.assertRegex(self.run_program("ingest", "odd", status=1).err, "odd/notes: not a supported trace \(empty file\)$")

    def test_strangers_named_are_errors_and_the_rest_goes_in(self):
        self.write("notes.txt", "hello\n")
        self.write("empty.json", "")
        self.write("a.json", trace())
        result = self.run_program("ingest", "notes.txt", "missing.json", "empty.json", "a.json", status=1)
        self.assertEqual(len([line for line in result.err.splitlines() if line.startswith("ncclprof: ")]), 3, result.err)
        for name in ("notes.txt", "missing.json", "empty.json"):
            self.assertIn(name, result.err)
        self.assertEqual(self.info()["collectives"], 5)

    def test_a_cut_file_is_partial(self):
        whole = trace(count=6)
        at = whole.index('"name": "AllReduce", "cat": "COLL_API", "ph": "b", "id": 4') + 20
        self.write("a.json", whole[:at])
        result = self.run_program("ingest", "a.json", status=1)
        self.assertRegex(result.err, r"^ncclprof: a\.json: damaged: .*at byte \d+ \(.*\)\n$")
        file = self.json("ingest", "--force", "a.json", status=1)["files"][0]
        self.assertEqual(file["status"], "partial")
        self.assertEqual(self.info()["collectives"], 4)
        self.assertEqual(self.info()["partial_files"], 1)
        offset = int(result.err.split("at byte ")[1].split()[0])
        self.assertLessEqual(abs(offset - whole.rindex("\n", 0, at)), 2)

    def test_a_damaged_file_is_told_each_time(self):
        """What is missing in the store is still missing the second time."""
        self.write("a.json", trace(count=4) + "{broken,\n" + trace(count=2, rank=1)[2:-5] + "{worse,\n{\"cut")
        self.write("b.json", trace(rank=2))
        first = self.run_program("ingest", "a.json", "b.json", status=1)
        self.assertRegex(first.err, r"^ncclprof: a\.json: damaged: [2-9] parts skipped, first at byte \d+ \(.*\)\n$")
        again = self.run_program("ingest", "a.json", "b.json", status=1)
        self.assertEqual(again.err, first.err)
        self.assertIn("2 files unchanged", again.out)
        piped = self.run_program("ingest", "-", stdin=(self.folder / "a.json").read_bytes(), status=1)
        self.assertEqual(piped.err, first.err.replace("a.json", "-"))
        file = self.ingest("a.json", status=1)["a.json"]
        self.assertEqual((file["status"], file["reason"] in first.err), ("unchanged", True))
        self.run_program("ingest", "b.json")

    def test_a_bad_line_in_the_middle_costs_that_line(self):
        text = "[\n" + all_reduce(0, 0, 7, 5, 1000.0) + "{broken,\n" + all_reduce(1, 0, 7, 5, 2000.0) + "{}]\n"
        self.write("a.json", text)
        file = self.ingest("a.json", status=1)["a.json"]
        self.assertEqual(file["status"], "partial")
        self.assertEqual(file["skipped"], 1)
        self.assertEqual(self.info()["collectives"], 2)
        ledger = [row for row in self.json("info", "--ledger")["rows"] if row["damage"]]
        self.assertEqual(len(ledger), 1)
        self.assertEqual(ledger[0]["offset"], text.index("{broken"))
        self.assertIn("broken", ledger[0]["example"])

    def test_damaged_gzip_gives_what_comes_before(self):
        packed = gzip.compress(trace(count=2000).encode(), 1)
        self.write("cut.gz", packed[: len(packed) // 2])
        file = self.ingest("cut.gz", status=1)["cut.gz"]
        self.assertEqual(file["status"], "partial")
        self.assertGreater(file["events"], 500)
        self.assertLess(file["events"], 2000)

    def test_sorted_and_stable(self):
        for name in ("b.json", "a.json", "c.json"):
            self.write(f"traces/{name}", trace(rank=ord(name[0]) - ord("a")))
        answer = self.json("ingest", "traces")
        self.assertEqual([os.path.basename(file["path"]) for file in answer["files"]], ["a.json", "b.json", "c.json"])

    def test_the_store_is_no_input(self):
        self.write("a.json", trace())
        self.run_program("ingest", ".")
        answer = self.json("ingest", ".")
        self.assertEqual(answer["totals"]["unchanged"], 1)
        self.assertEqual(answer["totals"]["failed"], 0)
        self.assertIn("the store itself", self.run_program("ingest", self.store, status=1).err)
        self.check_integrity()

    def test_many_files(self):
        for number in range(300):
            self.write(f"traces/{number:03}.json", trace(rank=number % 8, pid=number, count=1, communicator=number + 1))
        result = self.run_program("ingest", "traces")
        self.assertLess(len(result.out.splitlines()), 10)
        self.assertIn("300 files ingested", result.out)
        self.assertEqual(self.info()["collectives"], 300)

    def test_jobs_make_no_difference(self):
        for rank in range(12):
            self.write(f"traces/{rank}.json", trace(rank=rank, count=300, tags=[("forward", 10.0), ("backward", 1e5)]))
        self.write("traces/copy.json", trace(rank=3, count=300, tags=[("forward", 10.0), ("backward", 1e5)]))
        self.write("traces/cut.json", trace(rank=20, count=300)[:50000])
        self.write("traces/notes.txt", "hello\n")
        answers = []
        for jobs in (1, 2, 7):
            self.store.unlink(missing_ok=True)
            files = {name: file["status"] for name, file in self.ingest("--jobs", jobs, "traces", status=1).items()}
            copies = {files.pop("copy.json"), files.pop("3.json")}
            self.assertEqual(copies, {"ingested", "unchanged"})
            answers.append((files, self.info(), self.rows(
                "SELECT rank, sequence, tag, enqueue_begin_us, byte_offset FROM v_operation ORDER BY 1, 2")))
        self.assertEqual(len(answers[0][2]), answers[0][1]["collectives"])
        self.assertEqual(answers[0], answers[1])
        self.assertEqual(answers[0], answers[2])

    def test_hosts_with_the_same_process_ids(self):
        """Ranks 2 and 6 have the same process ID: the even distances in the groups show which member is which."""
        groups = {90: range(8), **{100 + k: (2 * k, 2 * k + 1) for k in range(4)}, **{200 + k: (k, k + 4) for k in range(4)}}
        for communicator, ranks in groups.items():
            for number, rank in enumerate(ranks):
                self.write(f"traces/{communicator}_{number}.json",
                           trace(rank=number, pid=500 + (rank if rank != 6 else 2), count=2, communicator=communicator))
        self.ingest("traces")
        self.assertEqual(self.rows("SELECT count(*), count(global_rank) FROM job_rank"), [(8, 8)])
        sql = ("SELECT hash, group_concat(global_rank) FROM (SELECT hash, global_rank FROM member "
               "JOIN communicator USING (communicator_id) JOIN member_join USING (member_id) "
               "JOIN job_rank USING (job_rank_id) ORDER BY hash, rank) GROUP BY hash")
        self.assertEqual(self.rows(sql), [(group, ",".join(map(str, ranks))) for group, ranks in groups.items()])

    def test_steps_where_every_rank_lost_operations(self):
        """Four ranks, nine steps of three operations in pairs and one of all ranks; each rank lost four of the former and
        one of the latter.
        """
        sql = ("SELECT DISTINCT pid, o.sequence / 3 FROM v_operation v JOIN operation o USING (operation_id) "
               "JOIN member USING (member_id) JOIN communicator USING (communicator_id) JOIN process USING (process_id) "
               "WHERE v.step <> o.sequence / CASE hash WHEN 90 THEN 1 ELSE 3 END ORDER BY 1, 2")
        for mirror in range(4):  # independent of the order of the ranks
            for rank in range(4):
                pair, world = [], []
                for step in range(9):
                    for number in range(3):
                        if (3 * step + number) % 7 != rank + 1:
                            pair.append(all_reduce(3 * step + number, rank % 2, 500 + rank, 100 + rank // 2,
                                                   10000.0 * step + 1000 * number))
                    if step != rank + 2:
                        world.append(all_reduce(step, rank, 500 + rank, 90, 10000.0 * step + 4000))
                self.write(f"traces{mirror}/pair{rank ^ mirror}.json", "[\n" + "".join(pair) + "{}]\n")
                self.write(f"traces{mirror}/world{rank ^ mirror}.json", "[\n" + "".join(world) + "{}]\n")
            self.ingest("-j1", f"traces{mirror}")
            self.assertEqual(self.rows("SELECT step_count, step_source FROM run"), [(9, "period")])
            self.assertEqual(self.rows(sql), [])
            self.store.unlink()

    def test_store_is_private(self):
        self.write("a.json", trace())
        self.ingest("a.json")
        self.assertEqual(self.store.stat().st_mode & 0o777, 0o600)

    def test_other_tools_read_it(self):
        self.write("a.json", trace(tags=[("forward", 10.0)]))
        self.ingest("a.json")
        with sqlite3.connect(self.store) as store:
            self.assertEqual(store.execute("SELECT ranks_seen FROM v_communicator").fetchall(), [(1,)])
            self.assertEqual(store.execute("SELECT tag FROM v_tag").fetchall(), [("forward",)])
            self.assertEqual(store.execute("SELECT sum(operations) FROM operation_block").fetchall(), [(5,)])
            self.assertEqual(store.execute("SELECT events FROM file").fetchall(), [(6,)])
