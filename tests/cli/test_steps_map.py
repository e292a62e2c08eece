"""steps --map and --svg: values recomputed from a fixture, the picture compared with its values, and the picture in README."""

import collections
import os
import xml.etree.ElementTree

from tests.cli import reader
from tests.cli.support import TOP, Case, output_formats, trace

FOLDER = TOP / "fixtures/tp2dp2pp2-slow-rank"
PICTURE = TOP / "man/steps-map.svg"
SVG = "{http://www.w3.org/2000/svg}"
ASCII, UTF8 = {"LC_ALL": "C"}, {"LC_ALL": "", "LC_CTYPE": "", "LANG": "en_US.UTF-8"}


class StepsMap(Case):
    def cells(self, *words):
        return {(row["rank"], row["step"]): row for row in self.json("steps", "--map", *words)["rows"]}

    def test_figures_by_definition(self):
        job = reader.Job(FOLDER)
        cells = self.cells(FOLDER)
        self.assertEqual(set(cells), {(rank, step) for rank in range(8) for step in range(9)})
        waits = collections.Counter()
        for instance in job.instances:
            if (instance.is_complete and instance.function in reader.FULL_EXCHANGES | {"Send"}
                    and all(member.has_gpu_times for member in instance.members)):
                least = min(member.duration for member in instance.members)
                for member in instance.members:
                    waits[member.rank, member.step] += member.duration - least
        for place, row in cells.items():
            self.assertAlmostEqual(row["waiting_us"], waits[place] / 1e3, delta=1, msg=place)
        # TRUTH: 32 ms of extra work in each of steps 4-8 of rank 1; none in other steps or on other ranks.
        for (rank, step), row in cells.items():
            if step == 0:
                self.assertIsNone(row["own_us"])
            elif rank == 1 and step >= 4:
                self.assertAlmostEqual(row["own_us"], 32e3, delta=0.15 * 32e3)
                self.assertEqual(row["finding"], "compute")
            else:
                self.assertLess(row["own_us"], 1e3)
                self.assertIsNone(row["finding"])
        # The step times over all ranks are those of the steps.
        for row in self.json("steps", FOLDER)["rows"]:
            lengths = sorted(cells[rank, row["step"]]["duration_us"] or -1 for rank in range(8))
            self.assertEqual(lengths[3] if lengths[3] >= 0 else None, row["duration_us"])

    def drawn(self, *words, env):
        """Each map: its title, and its rows as (label, cells, text)."""
        maps = []
        for part in self.run_program("steps", "--map", *words, env=env).out.rstrip("\n").split("\n\n"):
            lines = part.splitlines()
            head = next(number for number, line in enumerate(lines) if line.lstrip().startswith("rank  step"))
            begin = lines[head].index("step")
            rows = [(line[:begin].strip(), *line[begin:].split("  < ")) for line in lines[head + 1:]]
            maps.append((" ".join(lines[:head]), rows))
        return maps

    def test_picture_for_people(self):
        cells = self.cells(FOLDER)
        usual_us = {row["duration_us"] - row["longer_us"] for row in cells.values() if row["longer_us"] is not None}
        self.assertLess(max(usual_us) - min(usual_us), 1e-6)
        for env, marks in (ASCII, ".:+#@"), (UTF8, "·░▒▓█"):
            waiting, own = self.drawn(FOLDER, env=env)
            self.assertIn("Waiting for the last rank to arrive", waiting[0])
            self.assertIn("Own delay", own[0])
            for (_, rows), value in (waiting, "waiting_us"), (own, "own_us"):
                self.assertEqual([row[0] for row in rows], [str(rank) for rank in range(8)])
                for rank, row in enumerate(rows):
                    self.assertEqual(row[2:], ("compute, steps 4-8",) if rank == 1 else ())
                    expected = ""
                    for step in range(9):
                        share = cells[rank, step][value]
                        level = share and sum(share / max(usual_us) >= least for least in (0.03, 0.1, 0.3, 1))
                        expected += " " if share is None else marks[level]
                    self.assertEqual(row[1].rstrip(), expected.rstrip())

    def test_lines_fit(self):
        self.run_program("ingest", FOLDER)
        for line in self.run_program("steps", "--map", env=UTF8).out.splitlines():
            self.assertLessEqual(len(line), 80)

    def test_what_is_drawn(self):
        self.run_program("ingest", FOLDER)
        maps = self.drawn("--value", "length,own,length", env=ASCII)
        self.assertEqual(["Step time above baseline" in title for title, _ in maps], [True, False])
        maps = self.drawn("--rank", "1-2", "--step", "3-5", "--value", "own", env=ASCII)
        self.assertEqual([(row[0], row[1]) for row in maps[0][1]], [("1", ".@@"), ("2", "...")])
        self.assertEqual(set(self.cells("--rank", "1-2", "--step", "3-5")), {(rank, step) for rank in (1, 2) for step in (3, 4, 5)})
        for words in (["--map", "--by", "tag"], ["--map", "--value", "x"], ["--map", "--value", "own,"], ["--value", "own"]):
            self.run_program("steps", *words, status=2)

    def test_each_run_has_its_own(self):
        self.run_program("ingest", FOLDER, TOP / "fixtures/tp2dp2pp2-clean")
        titles = [title for title, _ in self.drawn("--value", "own", env=ASCII)]
        self.assertEqual([title.split(":")[0] for title in titles], ["run 1", "run 2"])
        self.assertEqual(len(self.drawn("--value", "own", "--run", "tp2dp2pp2-clean", env=ASCII)), 1)
        maps = self.drawn("--value", "own", "--sort", "own_us", env=ASCII)
        self.assertEqual([title.split(":")[0] for title, _ in maps], ["run 1", "run 2"])
        self.assertEqual(maps[0][1][0][0], "1")  # rank 1 has the largest own delay

    def test_many_ranks_are_drawn_by_host(self):
        self.simulate("--shape ddp --ranks 72 --per-node 8 --steps 6 --layers 2 --dialect inspector-2.30 --seed 5")
        (title, rows), = self.drawn("traces", "--value", "waiting", env=ASCII)
        self.assertIn("one row per host", title)
        self.assertEqual([row[0] for row in rows], [f"node{node:03} (8 ranks)" for node in range(9)])

    def test_steps_that_cannot_be_told(self):
        self.write("a.json", trace(count=1))
        result = self.run_program("steps", "--map", "a.json")
        self.assertEqual(result.out, "")
        self.assertIn("no training steps detected", result.err)

    def test_svg(self):
        cells = self.cells(FOLDER)
        for form in output_formats():
            document = self.run_program("steps", "--svg", "--format", form, FOLDER).out
            root = xml.etree.ElementTree.fromstring(document)
            self.assertEqual(root.tag, SVG + "svg")
            titles = [title.text for title in root.iter(SVG + "title")]
            for value in "waiting_us", "own_us":
                for (rank, step), row in cells.items():
                    if row[value] is not None:
                        self.assertTrue(any(title.startswith(f"rank {rank}, step {step}: {row[value] / 1e3:.3g} ms") for title in titles))
            self.assertNotIn("<script", document)
            self.assertNotIn("href", document)

    def test_readmes_picture_is_what_the_tool_draws(self):
        drawn = self.run_program("steps", "--svg", FOLDER).out
        if os.environ.get("NCCLPROF_GOLDEN") == "write":
            PICTURE.write_text(drawn)
        self.assertEqual(PICTURE.read_text(), drawn, "make golden")
        self.assertIn("](man/steps-map.svg)", (TOP / "README.md").read_text())
