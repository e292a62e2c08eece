"""Runs: names and numbers that stay, and removing a run from the store."""

import shutil
import sqlite3

from tests.cli import schema
from tests.cli.test_merge import RECORDS, lossy_trace
from tests.cli.support import TOP, Case, inspector_trace, trace
from tests.torture.content import digests

FIXTURES = ("tp2dp2pp2-slow-rank", "user-tags", "inspector-v4.3-proxy", "damaged", "kernel-phases")
# One of each format.
FORMATS = ("flight-recorder", "kineto", "nccl-log", "torch-log")
FIXTURES += tuple(name for form in FORMATS for name in sorted(path.name for path in (TOP / "fixtures").glob(form + "*"))[:1])


class Runs(Case):
    def make(self, name, communicator, ranks=2, count=5):
        for rank in range(ranks):
            self.write(f"{name}/{rank}.json", trace(rank=rank, communicator=communicator, count=count))

    def runs(self):
        return {row["name"]: row["run"] for row in self.json("info", "--runs")["rows"]}

    def test_names_are_those_of_the_folders(self):
        self.make("night", 11)
        self.make("other/night", 12)
        self.run_program("ingest", "night", "other")
        self.assertEqual(self.runs(), {"night": 1, "night-2": 2})

    def test_name_and_number_stay_when_files_are_replaced(self):
        """A first file that grew is ingested again, after all others; its run is still the first."""
        self.make("a", 11)
        self.make("b", 12)
        self.run_program("ingest", "a", "b")
        for name, communicator in (("a", 11), ("b", 12)):
            self.make(name, communicator, count=7)
            self.run_program("ingest", name)
            self.assertEqual(self.runs(), {"a": 1, "b": 2})
        self.run_program("ingest", "--force", "a/1.json")
        self.make("c", 13)
        self.run_program("ingest", "c", "a")
        self.assertEqual(self.runs(), {"a": 1, "b": 2, "c": 3})

    def test_every_analysis_takes_a_name(self):
        self.run_program("ingest", *[TOP / "fixtures" / name for name in FIXTURES[:2]])
        for command in ("report", "stragglers", "stalls", "steps", "diagnose", "clocks"):
            for name, number in self.runs().items():
                with self.subTest(command=command, name=name):
                    by_name = self.run_program(command, "--run", name, status=None)
                    self.assertEqual(by_name.out, self.run_program(command, "--run", number, status=None).out)
                    self.assertTrue(by_name.out)

    def test_a_store_of_an_earlier_version(self):
        """The state after the migration: numbers, and no names yet. Names are made at the next use, even without an ingest."""
        self.make("a", 11)
        self.make("b", 12)
        self.run_program("ingest", "b", "a")
        with sqlite3.connect(self.store) as store:
            store.executescript("UPDATE run SET name = NULL; UPDATE fact SET value = 0 WHERE name = 'joined'")
        store.close()
        self.assertEqual(self.runs(), {"b": 1, "a": 2})

    def forget(self, *runs, **more):
        answer, form = self.json("ingest", "--forget", ",".join(map(str, runs)), **more), schema.load("ingest.schema.json")
        self.assertEqual([*schema.complaints(answer, form), *schema.unknown_members(answer, form)], [])
        return answer

    def test_what_is_left_is_as_if_it_had_never_been_there(self):
        folders = [TOP / "fixtures" / name for name in FIXTURES]
        kept = {}
        for place, folder in enumerate(folders):
            self.run_program("ingest", *folders[:place], *folders[place + 1:], status=None)
            kept[folder.name] = digests(self.store)
            self.store.unlink()
        self.run_program("ingest", *folders, status=None)
        whole, numbers = shutil.copy(self.store, self.folder / "whole.db"), self.runs()
        self.assertEqual(set(numbers), set(FIXTURES))
        for name in FIXTURES:
            with self.subTest(name=name):
                shutil.copy(whole, self.store)
                answer = self.forget(name)
                self.assertEqual({file["status"] for file in answer["files"]}, {"forgotten"})
                self.assertEqual({file["path"].split("/")[-2] for file in answer["files"]}, {name})
                self.assertEqual(answer["totals"]["forgotten"], len(answer["files"]))
                self.assertEqual(digests(self.store), kept[name])
                self.check_integrity()
                self.assertEqual(self.runs(), {other: number for other, number in numbers.items() if other != name})

    def test_it_can_come_back(self):
        self.make("a", 11)
        self.make("b", 12)
        self.run_program("ingest", "a", "b")
        content = digests(self.store)
        self.assertEqual(self.forget(2)["totals"]["forgotten"], 2)
        again = [file["status"] for file in self.json("ingest", "a", "b")["files"]]
        self.assertEqual(again, ["unchanged"] * 2 + ["ingested"] * 2)
        self.assertEqual(digests(self.store), content)
        self.assertEqual(self.runs(), {"a": 1, "b": 3})  # a user who noted run 2 never gets another run under this number

    def test_several_at_once(self):
        for name, communicator in (("a", 11), ("b", 12), ("c", 13)):
            self.make(name, communicator)
        self.run_program("ingest", "b")
        content = digests(self.store)
        self.run_program("ingest", "a", "c")
        self.assertEqual(len(self.forget("c", self.runs()["a"])["files"]), 4)
        self.assertEqual(digests(self.store), content)

    def test_the_last_one(self):
        self.make("a", 11)
        self.run_program("ingest", "a")
        self.forget("a")
        self.assertEqual((self.runs(), self.info()["processes"], self.info()["files"]), ({}, 0, 0))

    def test_a_file_that_speaks_of_two(self):
        self.write("both.log", inspector_trace(rank=0, communicator=11) + inspector_trace(rank=1, communicator=12))
        self.run_program("ingest", "both.log")
        before = digests(self.store)
        self.assertEqual(len(self.runs()), 2)
        for run, other in ((1, 2), (2, 1)):
            result = self.run_program("ingest", "--forget", run, status=1)
            self.assertRegex(result.err, rf"both\.log also contains records of run {other} \(\S+\)")
            self.assertEqual(digests(self.store), before)
        self.assertEqual(len(self.forget(1, 2)["files"]), 1)
        self.assertEqual(self.runs(), {})

    def test_a_process_without_operations(self):
        """It is a run because of the tags that it set."""
        self.write("idle/x.json", '[\n{"name": "Process", "cat": "NCCLPROF", "ph": "M", "pid": 7, "tid": 1, "ts": 0.0, "args": '
                   '{"plugin": "ncclprof", "version": "0.1.0", "format": 1, "api": 7, "host": "node1", "start_monotonic_ns": 5, '
                   '"start_realtime_ns": 1795236510488683167, "boot_id": "b"}},\n{"name": "UserTag", "cat": "USER_TAG", "ph": "i", '
                   '"s": "g", "pid": 7, "tid": 1, "ts": 900.0, "args": {"tag": "forward", "rank": -1, "source": "call", "depth": 0}}\n]\n')
        self.make("a", 11)
        self.run_program("ingest", "a", "idle")
        self.assertEqual(set(self.runs()), {"a", "idle"})
        self.assertEqual(len(self.forget("idle")["files"]), 1)
        self.assertEqual((set(self.runs()), self.info()["tags"]), ({"a"}, 0))

    def rows(self):
        """The number of rows of each table."""
        with sqlite3.connect(self.store) as store:
            names = [name for name, in store.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
            counts = {name: store.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for name in names}
        store.close()
        return counts

    def test_every_kind_of_record_goes(self):
        """All fixtures ingested, and all their runs forgotten: no table has rows, except those that describe the store."""
        self.run_program("ingest", "-q", TOP / "fixtures", self.write("lossy/node9-pid1.log", lossy_trace()), status=None)
        before = self.rows()
        self.assertEqual([name for name in RECORDS if not before[name]], [])
        self.forget(*self.runs().values())
        self.assertEqual({name for name, rows in self.rows().items() if rows}, {"fact", "vocabulary"})

    def test_files_that_name_no_process(self):
        """Memory snapshots and averages are removed with the run whose files are nearest, and stay if that may be another
        run's.
        """
        registered, averages = TOP / "fixtures/registered-memory", TOP / "fixtures/prometheus"
        averages = sorted(averages.glob("*.prom"))
        for name, communicator in (("a", 11), ("b", 12)):
            self.make(f"{name}/traces", communicator)
        places = {"a/memory/0.json": registered / "memsnap-rank0.json", "a/averages.prom": averages[0],
                  "b/memory/1.json": registered / "memsnap-rank1.json", "b/traces/averages.prom": averages[1],
                  "between.json": registered / "memsnap-rank2.pickle"}
        for place, source in places.items():
            self.write(place, source.read_bytes())
        self.run_program("ingest", "b", "between.json")
        content = digests(self.store)
        self.run_program("ingest", "a")
        runs = list(self.runs().values())
        forgotten = {file["path"] for file in self.forget(runs[-1])["files"]}
        self.assertEqual(forgotten, {str((self.folder / place).resolve()) for place in
                                     ("a/traces/0.json", "a/traces/1.json", "a/memory/0.json", "a/averages.prom")})
        self.assertEqual(digests(self.store), content)
        self.assertEqual(len(self.forget(runs[0])["files"]), 5)
        self.assertEqual(self.rows()["registration"], 0)

    def test_a_log_that_was_united_with_a_trace(self):
        """It is removed with the run. If only the trace is removed, because another file takes its path, the log's calls
        count again.
        """
        folder = TOP / "fixtures/registered-memory"
        logs = sorted(folder.glob("nccl.*.log"))
        for path in logs + sorted(folder.glob("ncclprof-*.json.gz")):
            self.write(f"job/{path.name}", path.read_bytes())
        self.make("other", 12)
        self.run_program("ingest", "other")
        other = digests(self.store)
        self.run_program("ingest", "job")
        calls, ledger = self.info()["collectives"], self.json("info", "--ledger")["rows"]
        self.assertEqual([row["count"] for row in ledger if row["reason"] == "call that a trace also contains"], [96])
        united = shutil.copy(self.store, self.folder / "united.db")
        self.assertEqual(len(self.forget(self.runs()["job"])["files"]), 8)
        self.assertEqual(digests(self.store), other)
        for path in self.folder.glob("job/*.json.gz"):
            path.unlink()
            self.write(f"job/{path.name[:-3]}", trace(rank=int(path.name.split("-")[2][:4]) % 4, communicator=13, count=1))
        shutil.copy(united, self.store)
        with sqlite3.connect(self.store) as store:
            store.execute("UPDATE file SET path = substr(path, 1, length(path) - 3) WHERE path LIKE '%.json.gz'")
        store.close()
        self.run_program("ingest", "job")
        ledger = self.json("info", "--ledger")["rows"]
        self.assertEqual([row for row in ledger if row["reason"] == "call that a trace also contains"], [])
        self.assertEqual(self.info()["collectives"], calls + 4)
        after = digests(self.store)
        self.store.unlink()
        self.run_program("ingest", "other", "job")
        # What the first file contained about a communicator stays.
        self.assertEqual(digests(self.store) | {"communicator": None}, after | {"communicator": None})

    def test_wrong_usage(self):
        self.make("a", 11)
        self.run_program("ingest", "a")
        self.assertIn("no run 'x'; runs in the store: 1 (a)", self.run_program("ingest", "--forget", "x", status=1).err)
        self.run_program("ingest", "--forget", "1,", status=1)
        self.run_program("ingest", "--forget", status=2)
        self.run_program("ingest", "--forget", "1", "a", status=2)
        self.assertIn("missing argument PATH...", self.run_program("ingest", status=2).err)
        self.assertEqual(self.runs(), {"a": 1})
        self.store.unlink()
        self.run_program("ingest", "--forget", "1", status=1)
        self.assertFalse(self.store.exists())

    def test_people_see_what_went(self):
        self.make("a", 11)
        self.run_program("ingest", "a")
        lines = self.run_program("ingest", "--forget", "a").out.splitlines()
        self.assertEqual(sum("forgotten" in line for line in lines), 3)
        self.assertRegex(lines[-1], r"^2 files forgotten; 10 events read, ")
