"""Suggested commands run as printed, in any directory and after any form of call, and show the rank at fault."""

import gzip
import html
import json
import os
import re
import shutil
import subprocess
import tempfile

from tests.cli.support import PROGRAM, TOP, Case

FIXTURES = sorted(path for path in (TOP / "fixtures").iterdir() if path.is_dir())
CONFIRM = ". Confirm with: "


class Suggestions(Case):
    def follow(self, command):
        """Runs a command as printed, in another directory, with nothing but $PATH and $HOME."""
        with tempfile.TemporaryDirectory() as elsewhere:
            path = os.path.dirname(PROGRAM) + os.pathsep + os.environ["PATH"]
            result = subprocess.run(["sh", "-c", command], cwd=elsewhere, env={"PATH": path, "HOME": elsewhere},
                                    stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
            self.assertEqual(os.listdir(elsewhere), [])
        self.assertEqual(result.returncode, 0, f"{command}\n{result.stdout}\n{result.stderr}")
        return result.stdout

    def check_rows(self, finding, command):
        """The ranks at fault are among the rows, with the kind of the finding and its cost."""
        rows = json.loads(self.follow(f"{command} --format json"))["rows"]
        names = {str(rank) for rank in finding["ranks"] + finding["candidates"] if rank is not None} or {finding["process"]}
        seen = {str(row[key]): row for row in rows for key in ("rank", "process", "sender", "receiver") if row.get(key) is not None}
        self.assertLessEqual(names, set(seen), command)
        for name in names if " steps --by rank" in command else ():
            self.assertIn(finding["kind"], seen[name]["finding"])
        if " steps --by rank" in command and finding["lost_us"]:
            self.assertIn(finding["lost_us"], [row["lost_us"] for row in rows if row["finding"]])
        return rows

    def test_each_suggestion_of_each_fixture(self):
        kinds = set()
        for fixture in FIXTURES:
            report = self.json("diagnose", "--all", os.path.relpath(fixture, self.folder), status=None)
            for finding in report["findings"]:
                with self.subTest(fixture=fixture.name, finding=finding["text"]):
                    command = finding["confirm"]
                    kinds.add(finding["kind"])
                    self.assertEqual(finding["next"].partition(CONFIRM)[2], command)
                    self.assertIn(str(fixture), command)
                    shown = self.follow(command)
                    self.assertRegex(shown, rf"(?m)^.*\b{re.escape(finding['process'])}\b")
                    self.check_rows(finding, command)
        self.assertLessEqual({"compute", "host", "network", "missing", "ended_early"}, kinds)

    def test_the_ranks_at_fault_stand_among_their_peers(self):
        for name, ranks in (("tp2dp2pp2-slow-rank", 8), ("tp2dp2pp2-hang", 8), ("kernel-phases", 4)):
            finding, = self.json("diagnose", TOP / "fixtures" / name)["findings"][:1]
            rows = self.check_rows(finding, finding["confirm"])
            self.assertEqual(rows[0]["rank"], finding["rank"])
            self.assertEqual({row["rank"] for row in rows}, set(range(ranks)))
            self.assertEqual([row["rank"] for row in rows if row["finding"]], [finding["rank"]])

    def test_slow_links_stand_among_others(self):
        """With the longest wait that the evidence states."""
        finding, = self.json("diagnose", TOP / "fixtures/tp2dp2pp2-slow-sender")["findings"]
        rows = self.check_rows(finding, finding["confirm"])
        slow = [row for row in rows if row["verdict"] == "slow sender"]
        self.assertEqual(rows[:len(slow)], slow)
        self.assertEqual({row["sender"] for row in slow}, {finding["rank"]})
        self.assertGreater(len(rows), len(slow))
        self.assertIn(f"longest {max(row['send_wait_us_max'] for row in slow) / 1e3:.2f} ms", finding["evidence"])

    def test_progress_in_a_hang(self):
        """Rank 5 has started one operation less of {5,7}; rank 7 waits in it, and the others in the next of all ranks."""
        finding, = [finding for finding in self.json("diagnose", TOP / "fixtures/tp2dp2pp2-hang")["findings"]]
        rows = {row["rank"]: row for row in self.check_rows(finding, finding["confirm"])}
        self.assertEqual(rows[7]["last"], "ReduceScatter #6 on communicator {5,7}, never finished")
        self.assertEqual(rows[5]["last"], "Send #6 from rank 5 to rank 1 on communicator {1,5}")
        self.assertEqual((rows[5]["started"], rows[5]["finished"]), (rows[7]["started"] - 1, rows[7]["finished"]))
        for rank in {0, 1, 2, 3, 4, 6}:
            self.assertEqual(rows[rank]["last"], "AllReduce #6 on communicator {0-7}, never finished")

    def test_the_text_has_the_same_command_on_one_line(self):
        for name in ("tp2dp2pp2-slow-rank", "tp2dp2pp2-hang", "nccl-log-late-start"):
            command = self.json("diagnose", TOP / "fixtures" / name)["findings"][0]["confirm"]
            self.assertIn(f"\n    Confirm with: {command}\n", self.run_program("diagnose", TOP / "fixtures" / name).out)

    def test_stores(self):
        """--store, $NCCLPROF_STORE and ./ncclprof.db; a relative path of a store is made absolute."""
        fixture = TOP / "fixtures/tp2dp2pp2-slow-rank"
        self.run_program("ingest", fixture, status=None)
        expected = f"ncclprof steps --by rank --step 4-8 --store {self.store}"
        shutil.copy(self.store, self.folder / "ncclprof.db")
        for words, env in (([], {}), (["--store", "store.db"], {}), ([], {"NCCLPROF_STORE": "store.db"}),
                           (["--store", "new.db", fixture], {}), ([], {"NCCLPROF_STORE": ""})):
            finding, = self.json("diagnose", *words, env=env)["findings"]
            name = "new.db" if fixture in words else "ncclprof.db" if env.get("NCCLPROF_STORE") == "" else "store.db"
            self.assertEqual(finding["confirm"], expected.replace("store.db", name))
            self.check_rows(finding, finding["confirm"])

    def test_several_runs(self):
        """The run is named, also if the call chose it."""
        fixtures = [TOP / "fixtures/tp2dp2pp2-hang", TOP / "fixtures/tp2dp2pp2-slow-rank"]
        self.run_program("ingest", *fixtures, status=None)
        for words in ([], ["--run", "2"], fixtures, reversed(fixtures)):
            for finding in self.json("diagnose", *words)["findings"]:
                self.assertIn(f" --run {finding['run']} ", finding["confirm"])
                self.check_rows(finding, finding["confirm"])

    def test_odd_names(self):
        for name in ("a b", "it's $HOME", "x;y", "line\nbreak", "%s\x1b[31m", "-x", "ä", b"\xff"):
            folder = self.folder / os.fsdecode(name)
            shutil.copytree(TOP / "fixtures/tp2dp2pp2-slow-rank", folder)
            path = os.path.relpath(folder, self.folder)
            finding, = json.loads(self.run_program("diagnose", "--format", "json", "--", path).out)["findings"]
            self.check_rows(finding, finding["confirm"])
            shown = self.run_program("diagnose", "--", path).out
            self.follow(re.search(r"^    Confirm with: (.*)$", shown, re.M)[1])
            shutil.rmtree(folder)

    def test_many_files_are_a_pattern(self):
        """If and only if the pattern stands for exactly these files."""
        traces = self.folder / "traces 1"
        shutil.copytree(TOP / "fixtures/tp2dp2pp2-slow-rank", traces)
        files = sorted(traces.glob("dump_*.json.gz"))
        finding, = self.json("diagnose", *files)["findings"]
        self.assertTrue(finding["confirm"].endswith(f" '{traces}/dump_'*.json.gz"), finding["confirm"])
        self.check_rows(finding, finding["confirm"])
        (traces / "dump_0.json.gz").write_bytes(b"")
        finding, = self.json("diagnose", *files)["findings"]
        self.assertEqual(finding["confirm"].count(f"'{traces}/"), len(files))
        self.check_rows(finding, finding["confirm"])

    def test_what_cannot_be_read_again(self):
        fixture = TOP / "fixtures/kernel-phases"
        text = gzip.decompress((fixture / "dump_12481426919102447117_0.json.gz").read_bytes())
        finding, = self.json("diagnose", "-", fixture, stdin=text, status=None)["findings"]
        self.assertTrue(finding["confirm"].endswith(f" TRACE {fixture} # save the input as TRACE first"), finding["confirm"])

    def test_a_program_that_is_not_on_the_path(self):
        """Its path begins the command. A relative entry of $PATH does not help in another directory."""
        fixture = TOP / "fixtures/tp2dp2pp2-slow-rank"
        for path in ("/usr/bin:/bin", f"{os.path.relpath(os.path.dirname(PROGRAM), self.folder)}:/usr/bin:/bin"):
            finding, = self.json("diagnose", fixture, env={"PATH": path})["findings"]
            self.assertTrue(finding["confirm"].startswith(PROGRAM + " "), finding["confirm"])
            self.check_rows(finding, finding["confirm"])
        other = self.folder / "bin/ncclprof"
        other.parent.mkdir()
        other.write_text("#!/bin/sh\nexit 3\n")
        other.chmod(0o755)
        finding, = self.json("diagnose", fixture, env={"PATH": f"{other.parent}:{os.path.dirname(PROGRAM)}"})["findings"]
        self.assertTrue(finding["confirm"].startswith(PROGRAM + " "))

    def test_html_and_watch(self):
        fixture = TOP / "fixtures/tp2dp2pp2-slow-rank"
        finding, = self.json("diagnose", fixture)["findings"]
        self.run_program("html", "-o", "report.html", fixture)
        page = (self.folder / "report.html").read_text()
        self.assertIn(f"Confirm with: <code>{finding['confirm']}</code>", html.unescape(page))
        line, = self.run_program("watch", "--once", fixture).out.splitlines()
        self.assertTrue(line.endswith(f"; confirm with: {finding['confirm']}"), line)
        event = json.loads(self.run_program("watch", "--once", "--format", "json", fixture).out)
        self.assertEqual(event["confirm"], finding["confirm"])
        event = json.loads(self.run_program("watch", "--once", "--format", "json", "--store", "watch.db", fixture).out)
        self.assertEqual(event["confirm"], finding["confirm"].replace(str(fixture), f"--store {self.folder}/watch.db"))
        self.check_rows(finding, event["confirm"])

    def test_info_takes_paths(self):
        """As a finding of an error suggests."""
        fixture = TOP / "fixtures/nccl-log-hang"
        self.ingest(fixture, status=None)
        for words in ([], ["--warnings"], ["--processes"]):
            self.assertEqual(self.json("info", *words, fixture)["rows"], self.json("info", *words)["rows"])
