"""ingest --shard and --range, and merge: the shards of several tasks give the same store as one ingest of all files."""

import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import time

from tests.cli import schema
from tests.cli.support import PATIENCE_S, PROGRAM, TOP, Case, output_formats, trace
from tests.torture.content import digests

FIXTURES = TOP / "fixtures"
JOB = FIXTURES / "tp2dp2pp2-slow-rank"
CLEAN = FIXTURES / "tp2dp2pp2-clean"

# Tables with records of files; some fixture has rows in each.
RECORDS = ("operation_block", "proxy_operation", "tag_mark", "tag_name", "clock_anchor", "loss", "process_fact", "group_status",
           "start_up", "warning", "registration", "call_description", "sample")



def lossy_trace():
    """An Inspector log of a separate job, whose recorder reports dropped records: no fixture has this."""
    lines = (FIXTURES / "inspector-v4.1/node0-pid1000.log").read_text().replace("node0", "node9")
    lossy = re.sub(r'"coll_dropped_total": ?0', '"coll_dropped_total":3', lines)
    assert lossy != lines
    return lossy


# Facts about the shards of a merged store, which a store of one ingest does not have.
OF_SHARDS = ("shard", "shards_expected")


def dump(path):
    """Every table, including ids."""
    store = sqlite3.connect(path)
    names = [name for name, in store.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE '%VIRTUAL%'")]
    tables = {name: sorted(store.execute(f'SELECT * FROM "{name}"').fetchall(), key=repr) for name in names if name != "shard"}
    store.close()
    tables["fact"] = [row for row in tables["fact"] if row[0] not in OF_SHARDS]
    return tables


def content(path):
    """Every table, independent of ids."""
    return digests(path)


class Merge(Case):
    def as_node(self, name, number=0, count=1, **more):
        return {"SLURMD_NODENAME": name, "SLURM_PROCID": str(number), "SLURM_STEP_NUM_TASKS": str(count), "SLURM_JOB_ID": "7", **more}

    def shard(self, number, count, *paths, status=0, jobs=1):
        store = self.folder / f"{number}-{count}.db"
        self.run_program("--store", store, "ingest", "-q", "-j", jobs, "--range", f"{number}/{count}", *paths, status=status)
        return store

    def merge(self, into, *shards, status=0, more=()):
        answer = self.run_program("merge", "-j1", "-o", into, "--format", "json", *more, *shards, status=status)
        return json.loads(answer.out), answer.err

    def traces(self, folder):
        """The files of a folder that are traces, by path."""
        probe = self.folder / "probe.db"
        files = self.json("--store", probe, "ingest", folder, status=None)["files"]
        probe.unlink()
        return [file["path"] for file in files if file["status"] != "failed"]

    def check_equal(self, store, whole):
        left, right = dump(store), dump(whole)
        self.assertEqual(list(left), list(right))
        for table in right:
            self.assertEqual(left[table], right[table], table)


class Equal(Merge):
    def test_every_table_of_every_dialect(self):
        """All fixtures together: every dialect, damage, and joins across recorders; ids included."""
        files = self.traces(FIXTURES)
        self.assertGreater(len(files), 300)
        whole = self.folder / "whole.db"
        self.run_program("--store", whole, "ingest", "-q", "-j1", *files, status=1)
        self.assertGreater(len(dump(whole)["operation_block"]), 300)
        shards = [self.shard(number, 5, *files, status=None) for number in range(5)]
        flat = self.folder / "flat.db"
        answer, _ = self.merge(flat, *shards, status=1)
        self.check_equal(flat, whole)
        self.assertEqual(len(answer["files"]), len(files))
        left, right, tree = (self.folder / f"{name}.db" for name in ("left", "right", "tree"))
        self.merge(left, shards[3], shards[1], more=["--shard"], status=1)
        self.merge(right, shards[4], shards[0], more=["--shard"], status=1)
        self.merge(tree, right, shards[2], left, status=1)
        self.check_equal(tree, whole)

    def test_the_report_is_that_of_an_ingest(self):
        """The same files, the same text and the same JSON; only the command name differs."""
        files = self.traces(FIXTURES / "damaged") + self.traces(JOB)
        shards = [self.shard(number, 3, *files, status=None) for number in range(3)]
        for form in output_formats():
            for store in ("whole.db", "merged.db"):
                (self.folder / store).unlink(missing_ok=True)
            at_once = self.run_program("--store", "whole.db", "ingest", "--format", form, *files, status=1)
            merged = self.run_program("merge", "-o", "merged.db", "--format", form, *shards, status=1)
            for key, result in (("left", at_once), ("right", merged)):
                seconds = re.sub(r"in [\d.]+ s|\"seconds\": [\d.]+", "", result.out).replace('"ingest"', '"merge"')
                setattr(self, key, seconds)
            self.assertEqual(self.left, self.right)
            self.assertEqual(at_once.err, merged.err)
            if form == "json":
                report = json.loads(merged.out)
        self.assertEqual(list(schema.complaints(report, schema.load("ingest.schema.json"))), [])
        self.assertEqual(list(schema.unknown_members(report, schema.load("ingest.schema.json"))), [])

    def test_copies_in_other_shards(self):
        """Copies and beginnings of files that other tasks read: each task skips the same ones."""
        for name, source in (("b/x.json.gz", 0), ("a/deeper/x.json.gz", 0), ("a/y.json.gz", 1), ("z.json.gz", 2)):
            path = sorted(CLEAN.glob("*.json.gz"))[source]
            self.write(f"traces/{name}", path.read_bytes())
        self.write("traces/cut.json.gz", sorted(CLEAN.glob("*.json.gz"))[2].read_bytes()[:2000])
        whole, merged = self.folder / "whole.db", self.folder / "merged.db"
        self.run_program("--store", whole, "ingest", "-q", "-j1", self.folder / "traces")
        self.merge(merged, *(self.shard(number, 3, self.folder / "traces") for number in range(3)))
        self.check_equal(merged, whole)
        with sqlite3.connect(whole) as store:
            self.assertEqual(store.execute("SELECT count(*) FROM ledger WHERE reason LIKE '%copy%'").fetchone(), (2,))

    def test_pipes(self):
        """The files of one ingest belong to one job, those of two ingests to two."""
        for number in range(2):
            self.run_program("--store", self.folder / f"{number}.db", "ingest", "-q", "--shard", "-",
                             stdin=trace(rank=number, count=4), env=self.as_node(f"node{number}"))
        merged = self.folder / "merged.db"
        self.merge(merged, self.folder / "0.db", self.folder / "1.db")
        files = dump(merged)["file"]
        self.assertEqual([row[1] for row in files], ["-", "-"])
        self.assertEqual(len({row[2] for row in files}), 2)

    def test_again_and_more(self):
        """Merged shards are unchanged; a shard that comes later is joined with the others."""
        files = self.traces(CLEAN)
        shards = [self.shard(number, 2, *files) for number in range(2)]
        merged, whole = self.folder / "merged.db", self.folder / "whole.db"
        self.run_program("--store", whole, "ingest", "-q", "-j1", *files)
        _, said = self.merge(merged, shards[0], status=1)
        self.assertIn("shard 1/2 is missing", said)
        self.merge(merged, *shards)
        self.assertEqual(content(merged), content(whole))
        before = dump(merged)
        answer, _ = self.merge(merged, *shards)
        self.assertEqual({file["status"] for file in answer["files"]}, {"unchanged"})
        self.assertEqual(dump(merged), before)

    def test_a_store_that_was_joined(self):
        """Two stores that were created and read separately are merged, too: the records count, not the result of a join."""
        logs = sorted((FIXTURES / "inspector-clock-step").glob("*.log.gz"))
        self.run_program("--store", self.folder / "a.db", "ingest", "-q", *logs[:2])
        self.run_program("--store", self.folder / "b.db", "ingest", "-q", *logs[2:])
        self.run_program("--store", self.folder / "whole.db", "ingest", "-q", *logs)
        self.assertGreater(len(dump(self.folder / "whole.db")["operation_recorded"]), 0)
        merged = self.folder / "merged.db"
        self.merge(merged, self.folder / "whole.db", self.folder / "b.db")
        self.assertEqual(content(merged), content(self.folder / "whole.db"))
        merged.unlink()
        self.merge(merged, self.folder / "a.db", self.folder / "b.db")
        self.assertEqual(content(merged), content(self.folder / "whole.db"))

    def records(self, store):
        """The number of rows in each table of records."""
        tables = dump(store)
        return {name: len(tables[name]) for name in RECORDS}

    def test_every_table_of_a_joined_store(self):
        """A joined store can be merged like one that was not: every kind of record, every dialect, ids included."""
        files = sorted([*self.traces(FIXTURES), str(self.write("lossy/node9-pid1.log", lossy_trace()))],
                       key=lambda path: path.split("/"))
        joined, merged, flat = (self.folder / f"{name}.db" for name in ("joined", "merged", "flat"))
        self.run_program("--store", joined, "ingest", "-q", "-j1", *files, status=1)
        self.assertEqual([name for name, rows in self.records(joined).items() if not rows], [])
        for kept in ("operation_recorded", "process_recorded", "member_recorded", "file_member_recorded", "process_fact_recorded",
                     "start_up_recorded", "registration_recorded"):
            self.assertGreater(len(dump(joined)[kept]), 0, kept)
        self.merge(merged, joined, status=1)
        self.merge(flat, self.shard(0, 1, *files, status=None), status=1)
        self.check_equal(merged, flat)
        self.check_equal(merged, joined)

    def test_joined_stores_of_one_job(self):
        """Logs in one store, traces in another, each joined: the same result as one ingest of all files, in any order."""
        folder = FIXTURES / "registered-memory"
        parts = [sorted(folder.glob("nccl.*.log")), sorted(folder.glob("*.json.gz")), sorted(folder.glob("memsnap*"))]
        whole, merged = self.folder / "whole.db", self.folder / "merged.db"
        self.run_program("--store", whole, "ingest", "-q", "-j1", folder)
        stores = [self.folder / f"{number}.db" for number in range(4)]
        for store, paths in zip(stores, ([*parts[0][:2], *parts[1]], parts[0][1:], parts[2])):
            self.run_program("--store", store, "ingest", "-q", *paths)
        for order in (stores[:3], stores[2::-1]):
            self.merge(merged, *order)
            self.assertEqual(content(merged), content(whole))
            merged.unlink()
        self.merge(merged, stores[0])
        self.merge(stores[3], merged, stores[2])
        self.run_program("--store", stores[3], "ingest", "-q", *parts[0])
        self.assertEqual(content(stores[3]), content(whole))

    def test_dumps_of_a_joined_store(self):
        """The newest of several RAS dumps counts: here the merge adds it, and the joined store had kept another one."""
        dumps = sorted((FIXTURES / "nccl-ras-hang").glob("*.json"))
        whole, joined, merged = (self.folder / f"{name}.db" for name in ("whole", "joined", "merged"))
        self.run_program("--store", whole, "ingest", "-q", *dumps, status=None)
        self.run_program("--store", joined, "ingest", "-q", dumps[1], status=None)
        self.merge(merged, joined, status=None)
        self.run_program("--store", merged, "ingest", "-q", dumps[0], status=None)
        self.assertEqual(content(merged), content(whole))


class Nodes(Merge):
    def on_node(self, name, number, count, files, status=0):
        """Files in /local of a node; here in one folder that is emptied for the next node."""
        local = self.folder / "local"
        shutil.rmtree(local, ignore_errors=True)
        for target, source in files.items():
            self.write(f"local/{target}", source if isinstance(source, (bytes, str)) else source.read_bytes())
        self.run_program("--store", self.folder / "%h.db", "ingest", "-q", "-j1", "--shard", local, status=status,
                         env=self.as_node(name, number, count))
        return self.folder / f"{name}.db"

    def test_equal_but_for_the_node(self):
        """Files of two nodes with the same path give the same result as in one directory, except that paths name the node."""
        for fixture in ("plugin-ddp-slow", "flight-recorder-2.2", "kineto-ddp-slow"):  # if a process has one file
            files = {path.name: path for path in sorted((FIXTURES / fixture).iterdir()) if path.name != "TRUTH"}
            names = sorted(files)
            half = len(names) // 2
            shards = [self.on_node(f"node{number}", number, 2, {name: files[name] for name in some})
                      for number, some in enumerate((names[:half], names[half:]))]
            merged, whole = self.folder / "merged.db", self.folder / "whole.db"
            self.merge(merged, *shards)
            shutil.rmtree(self.folder / "local")
            for name in names:
                self.write(f"local/{name}", files[name].read_bytes())
            self.run_program("--store", whole, "ingest", "-q", "-j1", self.folder / "local")
            self.assertIn(f"node1:{self.folder}/local", str(dump(merged)["file"]))
            left, right = (re.sub(r"'node\d:/", "'/", json.dumps({name: repr(rows) for name, rows in dump(store).items()}))
                           for store in (merged, whole))
            left, right = json.loads(left), json.loads(right)
            for table in right:
                if table != "file":  # modification times
                    self.assertEqual(left[table], right[table], table)
            for store in (merged, whole, *shards):
                store.unlink()

    def test_one_path_on_two_nodes_is_two_files(self):
        """Neither replaces the other, and processes with the same ids stay two processes."""
        one, other = trace(rank=0, count=3), trace(rank=1, count=3)
        shards = [self.on_node("node0", 0, 2, {"trace.json": one}), self.on_node("node1", 1, 2, {"trace.json": other})]
        merged = self.folder / "merged.db"
        for _ in range(2):
            self.merge(merged, *shards)
            self.assertEqual([row[1] for row in dump(merged)["file"]],
                             [f"node{number}:{self.folder}/local/trace.json" for number in range(2)])
        self.assertEqual(len(dump(merged)["process"]), 2)

    def test_one_path_that_all_see_is_one_file(self):
        """The file had grown when the second task read it; the result does not depend on which is merged first."""
        path = self.write("traces/a.json", trace(rank=0, count=3))
        os.utime(path, (1e9, 1e9))
        first = self.shard(0, 1, self.folder / "traces").rename(self.folder / "first.db")
        path.write_text(trace(rank=0, count=5))
        second = self.shard(0, 1, self.folder / "traces").rename(self.folder / "second.db")
        for order in ((first, second), (second, first)):
            merged = self.folder / "merged.db"
            for again in range(2):
                answer, _ = self.merge(merged, *order)
                self.assertEqual([row[8] for row in dump(merged)["file"]], [5])
                self.assertEqual([file["status"] for file in answer["files"]], ["unchanged" if again else "ingested"])
            merged.unlink()

    def test_a_shard_is_of_one_node(self):
        self.on_node("node0", 0, 2, {"a.json": trace(rank=0, count=3)})
        refused = self.run_program("--store", self.folder / "node0.db", "ingest", "--shard", self.folder / "local",
                                   env=self.as_node("node1", 0, 2), status=1)
        self.assertIn("is the shard of node node0", refused.err)


class Lacking(Merge):
    def test_a_shard_that_is_not_there(self):
        """The missing shard is named, the others are merged, and diagnose reports what it could not analyze."""
        shards = [self.shard(number, 4, CLEAN) for number in range(4)]
        merged = self.folder / "merged.db"
        self.merge(merged, *shards)
        self.run_program("--store", merged, "diagnose", "--exit-code")
        merged.unlink()
        answer, said = self.merge(merged, *shards[:2], self.folder / "no.db", shards[3], status=1)
        self.assertIn("shard 2/4 is missing", said)
        self.assertIn("no.db", said)
        self.assertEqual(answer["totals"]["failed"], 1)
        self.assertEqual(answer["totals"]["ingested"], 24)
        diagnosis = self.run_program("--store", merged, "diagnose", "--exit-code", "--format", "json", status=4)
        notes = " ".join(json.loads(diagnosis.out)["warnings"])
        self.assertIn("shard 2/4 is missing; the missing data was not analyzed", notes)
        for command in ("stragglers", "steps", "report", "stalls"):
            self.assertIn("shard 2/4", " ".join(self.json("--store", merged, command)["warnings"]))
        told = self.json("--store", merged, "info", "--shards")["rows"]
        self.assertEqual([(row["shard"], row["shards"], row["state"]) for row in told if row["shards"] == 4],
                         [(0, 4, "whole"), (1, 4, "whole"), (2, 4, "missing"), (3, 4, "whole")])
        ledger = [row for row in self.json("--store", merged, "info", "--ledger")["rows"] if "shard" in row["reason"]]
        self.assertEqual(sorted((row["reason"], row["damage"]) for row in ledger), [("shard 2/4 is missing", 1), ("shard is missing", 1)])
        self.merge(merged, shards[2])
        self.run_program("--store", merged, "diagnose", "--exit-code", status=4)  # nothing shows what no.db is
        shutil.copy(shards[2], self.folder / "no.db")
        self.merge(merged, self.folder / "no.db")
        self.run_program("--store", merged, "diagnose", "--exit-code")

    def test_fewer_than_expected(self):
        """If no task recorded the number, the user gives it."""
        store = self.folder / "one.db"
        self.run_program("--store", store, "ingest", "-q", "--shard", CLEAN)
        merged = self.folder / "merged.db"
        _, said = self.merge(merged, store, more=["--expect", "3"], status=1)
        self.assertIn("only 1 of 3 shards are present", said)
        self.assertIn("only 1 of 3 shards", " ".join(self.json("--store", merged, "steps")["warnings"]))
        self.merge(merged, store, more=["--expect", "1"])
        self.assertEqual(self.json("--store", merged, "steps")["warnings"], [])

    def test_damaged_shards(self):
        good = self.shard(0, 1, CLEAN)
        whole = good.read_bytes()
        newer = self.folder / "newer.db"
        newer.write_bytes(whole)
        with sqlite3.connect(newer) as store:
            store.execute("PRAGMA user_version = 99")
        store.close()
        cut = self.write("cut.db", whole[:len(whole) // 2])
        torn = self.write("torn.db", whole[:len(whole) // 2] + bytes(len(whole) - len(whole) // 2))
        strange = self.write("strange.db", b"x" * 5000)
        for number, bad in enumerate((newer, cut, torn, strange)):
            with self.subTest(bad=bad.name):
                merged = self.folder / f"merged-{number}.db"
                answer, said = self.merge(merged, bad, good, status=1)
                self.assertIn(bad.name, said)
                self.assertGreaterEqual(answer["totals"]["failed"], 1)
                self.assertEqual(len(dump(merged)["file"]), 32)
                self.store = merged
                self.check_integrity()
                self.assertIn(bad.name, " ".join(self.json("--store", merged, "steps")["warnings"]))
        none = self.folder / "none.db"
        said = self.run_program("merge", "-o", none, cut, strange, status=1).err
        self.assertIn("none of the shards can be read", said)
        self.assertFalse(none.exists())

    def test_rows_of_nobody(self):
        """If the rows of a shard name processes that it does not contain, none of their files is merged."""
        bad = self.shard(0, 1, CLEAN)
        with sqlite3.connect(bad) as store:
            store.execute("UPDATE operation_block SET member_id = member_id + 1000 WHERE block_id = (SELECT min(block_id) FROM operation_block)")
        store.close()
        merged = self.folder / "merged.db"
        answer, said = self.merge(merged, bad, status=1)
        self.assertEqual([file["status"] for file in answer["files"]].count("failed"), 1)
        self.assertIn("refers to a process that is not in this store", said)
        self.assertEqual(len(dump(merged)["file"]), 31)
        self.assertIn("lacks files", " ".join(self.json("--store", merged, "steps")["warnings"]))

    def test_files_that_a_task_could_not_read(self):
        self.write("traces/bad.json", b"\x80\x05garbage" * 40)
        shutil.copy(sorted(CLEAN.glob("*.gz"))[0], self.folder / "traces")
        shard = self.shard(0, 1, self.folder / "traces/bad.json", self.folder / "traces", status=1)
        _, said = self.merge(self.folder / "merged.db", shard, status=1)
        self.assertIn("1 of its files could not be read", said)
        self.assertIn("bad.json", said)


class Killed(Merge):
    def test_an_ingest_that_was_killed(self):
        """The shard reports the failure; the rest is merged; the requeued task reads only new files."""
        files = self.traces(CLEAN)
        other = self.shard(1, 2, *files)
        os.mkfifo(self.folder / "fifo")
        store, merged = self.folder / "0-2.db", self.folder / "merged.db"
        self.run_program("--store", store, "ingest", "-q", "--range", "0/2", *files[:10])
        words = [PROGRAM, "--store", store, "ingest", "-q", "--range", "0/2", *files, self.folder / "fifo"]
        task = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + PATIENCE_S
        while self.state(store) != "unfinished" and time.monotonic() < deadline:
            time.sleep(0.01)
        task.send_signal(signal.SIGKILL)
        task.wait()
        _, said = self.merge(merged, store, other, status=1)
        self.assertIn("its ingest did not finish", said)
        self.assertIn("0/2", said)
        self.assertGreaterEqual(len(dump(merged)["file"]), 16 + 5)
        self.assertIn("is incomplete; the missing data was not analyzed", " ".join(self.json("--store", merged, "steps")["warnings"]))
        again = self.json("--store", store, "ingest", "--range", "0/2", *files)
        self.assertEqual([file["status"] for file in again["files"]][:5], ["unchanged"] * 5)
        self.merge(merged, store, other)
        whole = self.folder / "whole.db"
        self.run_program("--store", whole, "ingest", "-q", *files)
        self.assertEqual(content(merged), content(whole))

    def state(self, path):
        try:
            with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as store:
                return (store.execute("SELECT state FROM shard").fetchone() or (None,))[0]
        except sqlite3.OperationalError:
            return None

    def test_a_merge_that_was_killed(self):
        """Whatever was merged before, the store is not complete, and the same command completes it."""
        files = self.traces(CLEAN)
        shards = [self.shard(number, 8, *files) for number in range(8)]
        whole = self.folder / "whole.db"
        self.run_program("--store", whole, "ingest", "-q", *files)
        merged = self.folder / "merged.db"
        unfinished = 0
        for _ in range(40):
            merged.unlink(missing_ok=True)
            task = subprocess.Popen([PROGRAM, "merge", "-q", "-o", merged, *shards], stdout=subprocess.DEVNULL)
            deadline = time.monotonic() + PATIENCE_S
            while not self.state(merged) and task.poll() is None and time.monotonic() < deadline:
                pass
            task.send_signal(signal.SIGKILL)
            task.wait()
            if self.state(merged) is None:
                continue
            with sqlite3.connect(merged) as store:
                states = {state for state, in store.execute("SELECT state FROM shard")}
                joined = store.execute("SELECT value FROM fact WHERE name = 'joined'").fetchone()
            store.close()
            unfinished += states == {"unfinished"}
            self.assertTrue(states == {"unfinished"} or len(dump(merged)["file"]) == 32, (states, joined))
            self.merge(merged, *shards)
            self.assertEqual(content(merged), content(whole))
            if unfinished > 2:
                break
        self.assertGreater(unfinished, 0)


class Tasks(Merge):
    def test_who_counts(self):
        """Slurm, Open MPI and others give a task its number; with --range each task takes its part."""
        for launcher in (("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"), ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"), ("PMI_RANK", "PMI_SIZE")):
            got = []
            for number in range(3):
                answer = self.json("--store", self.folder / "%t-of-%n.db", "ingest", "--range", "auto", CLEAN,
                                   env={launcher[0]: str(number), launcher[1]: "3"})
                got.append({file["path"] for file in answer["files"]})
            self.assertEqual(len(set.union(*got)), 32)
            self.assertEqual(sum(map(len, got)), 32)
            for number in range(3):
                (self.folder / f"{number}-of-3.db").unlink()

    def test_names(self):
        self.run_program("ingest", "-q", "--shard", CLEAN, env=self.as_node("node3", NCCLPROF_STORE=""))
        self.assertTrue((self.folder / "ncclprof-node3.db").exists())
        self.run_program("ingest", "-q", "--range", "1/2", CLEAN, env={"NCCLPROF_STORE": ""})
        self.assertTrue((self.folder / "ncclprof-1.db").exists())
        self.run_program("--store", "%j-%h-%%.db", "ingest", "-q", "--shard", CLEAN, env=self.as_node("n"))
        self.assertTrue((self.folder / "7-n-%.db").exists())
        self.assertIn("followed by", self.run_program("--store", "%x.db", "ingest", "--shard", CLEAN, status=2).err)

    def test_wrong_ranges(self):
        for wrong in ("2/2", "-1/2", "1", "1/", "/2", "a/b", "1/0", "1/2/3", "9" * 30 + "/2"):
            self.assertIn("--range", self.run_program("ingest", "--range", wrong, CLEAN, status=2).err, wrong)

    def test_a_task_without_files(self):
        """More tasks than files: the shard of such a task is complete and empty."""
        self.write("traces/a.json.gz", sorted(CLEAN.glob("*.gz"))[0].read_bytes())
        shards = [self.shard(number, 3, self.folder / "traces") for number in range(3)]
        merged = self.folder / "merged.db"
        answer, _ = self.merge(merged, *shards)
        self.assertEqual(answer["totals"]["ingested"], 1)

    def test_a_shard_is_not_joined(self):
        """A shard can be read like any store, and does not change."""
        shard = self.shard(0, 2, JOB)
        before = dump(shard)
        self.assertGreater(self.json("--store", shard, "info")["rows"][0]["collective_instances"], 0)
        self.assertIn("shard 1/2 is missing", " ".join(self.json("--store", shard, "diagnose")["warnings"]))
        self.assertEqual(dump(shard), before)
        self.assertEqual(before["instance_block"], [])
        self.assertIn("is a shard", self.run_program("--store", shard, "ingest", CLEAN, status=1).err)
        self.assertIn("is a shard", self.run_program("--store", shard, "ingest", "--forget", "1", status=1).err)
        self.assertEqual(dump(shard), before)

    def test_what_is_refused(self):
        shard = self.shard(0, 1, CLEAN)
        plain = self.folder / "plain.db"
        self.run_program("--store", plain, "ingest", "-q", CLEAN)
        for words, why in ((["merge", "-o", shard, plain], "is a shard itself"),
                           (["merge", "--shard", "-o", plain, shard], "is a store, not a shard"),
                           (["--store", plain, "ingest", "--shard", CLEAN], "is a store, not a shard"),
                           (["merge", "-o", plain, plain], "it is the output store itself")):
            self.assertIn(why, self.run_program(*words, status=1).err, words)
        self.assertIn("missing argument SHARD...", self.run_program("merge", "-o", plain, status=2).err)
