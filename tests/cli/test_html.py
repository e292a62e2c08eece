"""html: the content of the page compared with diagnose, steps and the fixtures; no text of a trace becomes markup."""

import collections
import re
import statistics

from tests.cli import reader
from tests.cli.page import HOSTILE, Page, hostile_job, us_of
from tests.cli.support import TOP, Case, inspector_trace, output_formats, tag

SLOW = TOP / "fixtures/tp2dp2pp2-slow-rank"
NAMES = {"html", "head", "meta", "title", "style", "body", "a", "header", "h1", "h2", "h3", "p", "nav", "ul", "li", "main", "section",
         "div", "dl", "dt", "dd", "figure", "figcaption", "span", "ol", "svg", "rect", "circle", "path", "text", "tspan", "article",
         "table", "caption", "thead", "tbody", "tr", "th", "td", "details", "summary", "code", "footer", "script"}
class Html(Case):
    def page(self, *words, status=0):
        self.run_program("html", "-o", "page.html", *words, status=status)
        return Page((self.folder / "page.html").read_text())

    def test_says_what_diagnose_says(self):
        for fixture in ("tp2dp2pp2-slow-rank", "tp2dp2pp2-slow-sender", "tp2dp2pp2-hang", "tp2dp2pp2-kill", "tp2dp2pp2-clean",
                        "flight-recorder-hang", "inspector-2.30"):
            with self.subTest(fixture=fixture):
                self.store.unlink(missing_ok=True)
                self.run_program("ingest", TOP / "fixtures" / fixture, status=None)
                diagnosis, page = self.json("diagnose", status=None), self.page(status=None)
                told = [one for one in diagnosis["findings"] if one["confidence"] != "low" or one["kind"] == "missing"]
                shown = list(page.root.every("article"))
                # The cost has its own line.
                self.assertEqual([one.first("h3").text for one in shown],
                                 [one["text"].partition("; costs ")[0] for one in diagnosis["findings"]])
                for article, finding in zip(shown, diagnosis["findings"]):
                    words = " ".join(paragraph.text for paragraph in article.every("p"))
                    self.assertIn(finding["evidence"], words)
                    cost = finding["text"].partition("; costs ")[2]
                    self.assertEqual(f"Cost: {cost}." in words, bool(cost))
                    self.assertIn(finding["next"], words)
                    self.assertIn(f"{finding['confidence']} confidence", words)
                verdict = page.root.first("div", class_="verdict")
                self.assertEqual("bad" in verdict.attributes["class"], bool(told))
                if not told:
                    self.assertIn(verdict.first("p").text, self.run_program("diagnose", status=None).whole)

    def test_evidence_is_drawn(self):
        """The dots of the steps of the finding have the gap in its figures as their median, the other dots that of other
        steps.
        """
        self.run_program("ingest", SLOW)
        finding = self.json("diagnose")["findings"][0]
        dots = Page.dots(self.page().root.first("article").first("figure"))
        inside = [us for us, is_out, _ in dots.values() if is_out]
        outside = [us for us, is_out, _ in dots.values() if not is_out]
        self.assertEqual([step for step, dot in dots.items() if dot[1]],
                         list(range(finding["first_step"], finding["last_step"] + 1)))
        figures = finding["figures"]
        self.assertAlmostEqual(statistics.median_low(inside), figures["gap_us"], delta=figures["gap_us"] * 0.01)
        self.assertAlmostEqual(statistics.median_low(outside), figures["other_steps_gap_us"], delta=figures["other_steps_gap_us"] * 0.01)
        # TRUTH: 8 ms of extra work before the AllReduce of optimizer, on rank 1 alone.
        for us, is_out, peers in dots.values():
            self.assertAlmostEqual(us - peers, 8e3 if is_out else 0, delta=800)

    def test_network_evidence(self):
        """TRUTH: sends of rank 1 were delayed by 150 us in steps 6 to 8."""
        figure = self.page(TOP / "fixtures/tp2dp2pp2-slow-sender").root.first("article").first("figure")
        self.assertIn("data that it sends", figure.first("figcaption").text)
        dots = Page.dots(figure)
        self.assertEqual([step for step, dot in dots.items() if dot[1]], [6, 7, 8])
        for us, is_out, peers in dots.values():
            self.assertEqual(us > 2 * peers, is_out, dots)

    def test_network_fault_is_visible(self):
        """TRUTH: sends of rank 1 were delayed by 150 us in steps 6 to 8. The heat map, the lanes and the matrix show it, and
        no other rank or step like it.
        """
        page = self.page(TOP / "fixtures/tp2dp2pp2-slow-sender")
        heat = page.data["runs"][0]["heat"]
        self.assertEqual(heat["layers"][heat["shown"]]["key"], "sent")
        faulty = [cell["sent"] for (rank, step), cell in page.heat().items() if rank == "1" and step >= 6]
        others = [cell["sent"] for (rank, step), cell in page.heat().items() if (rank != "1" or step < 6) and step]
        self.assertGreater(min(faulty), 1.3 * max(others))
        self.assertGreater(min(faulty), 2 * statistics.median(others))
        # In a step of the finding, only operations of rank 1 have slow network steps; in the baseline step none.
        titles = [one["title"] for one in page.data["runs"][0]["lanes"]]
        self.assertIn("network, rank 1", titles[0])
        step, usual = (int(title.split()[1].rstrip(",")) for title in titles)
        self.assertEqual({rank for rank, bars in page.lanes(step).items() if any(bar[6] for bar in bars)}, {"1"})
        self.assertFalse(any(bar[6] for bars in page.lanes(usual).values() for bar in bars))
        reasons = {lane["name"]: lane["reason"] for lane in page.data["runs"][0]["lanes"][0]["lanes"]}
        self.assertEqual(reasons["1"], "at fault")
        receivers = {row["receiver"] for row in self.json("stalls", TOP / "fixtures/tp2dp2pp2-slow-sender")["rows"] if row["sender"] == 1}
        self.assertEqual({int(name) for name, reason in reasons.items() if reason == "other end"}, receivers)
        matrix = page.section("Network links").first("figure")
        self.assertIn("steps 6-8", matrix.first("figcaption").text)
        links = {}
        for one in matrix.every("rect"):
            if one.first("title"):
                ends, wait, usual = re.fullmatch(r"(\d+ to \d+): ([\d.]+ \w+), baseline ([\d.]+ \w+)", one.first("title").text).groups()
                links[ends] = us_of(wait) / us_of(usual), "frame" in one.attributes["class"]
        self.assertEqual({ends for ends, (_, is_framed) in links.items() if is_framed}, {f"1 to {one}" for one in receivers})
        self.assertGreater(min(ratio for ratio, is_framed in links.values() if is_framed), 2)
        self.assertLess(max(ratio for ratio, is_framed in links.values() if not is_framed), 2)

    def test_first_screen(self):
        """The section before all others names the rank, its host and GPU, the confidence, the cost and what to do."""
        self.run_program("ingest", *self.simulate(
            "--shape ddp --dialect inspector-2.30 --ranks 16 --per-node 8 --layers 1 --steps 12 --seed 3 --fault compute:9:5:9:4000")[0])
        finding, page = self.json("diagnose")["findings"][0], self.page()
        verdict = page.section("Summary").first("div", class_="verdict")
        told = verdict.first("li").text
        for part in (finding["text"].partition("; costs ")[0], finding["next"].partition(". Confirm with: ")[0], finding["confirm"], f"{finding['confidence']} confidence", finding["host"]):
            self.assertIn(part, told)
        self.assertIn(finding["text"].partition("; costs ")[2], told)
        self.assertTrue(finding["next"].endswith(verdict.first("code").text), (finding["next"], verdict.first("code").text))
        link = verdict.first("a").attributes["href"][1:]
        self.assertEqual(next(page.root.every("article")).attributes["id"], link)
        self.assertIn("Recorder: inspector-2.30.", page.root.first("header").text)
        self.assertRegex(page.root.first("header").text, r"Recorded \d{4}-\d\d-\d\d \d\d:\d\d UTC\.")
        self.assertRegex(page.root.first("footer").text, r"ncclprof \d+\.\d+")

    def test_versions_and_gpus(self):
        """Of NCCL's log: two GPUs on each of the hosts, and NCCL's version."""
        self.run_program("ingest", TOP / "fixtures/nccl-log-hang", status=None)
        header = self.page(status=None).root.first("header").text
        self.assertIn("NCCL 2.28.9+cuda13.0.", header)
        gpus = {(row["host"], row["gpu_bus_id"]) for row in self.json("info", "--processes")["rows"]}
        self.assertIn(f" {len(gpus)} GPUs.", header)

    def test_each_step_has_its_scale(self):
        """A pause of a second: the step with it, and the baseline step, both fill their pictures."""
        files, _ = self.simulate("--shape ddp --dialect chrome-v7 --ranks 8 --per-node 4 --layers 1 --steps 12 --seed 3 --fault pause:3:6:6:1000")
        long, usual = self.page(*files).data["runs"][0]["lanes"]
        self.assertTrue(long["title"].startswith("Step 6,"), long["title"])
        self.assertGreater(long["length"], 1e6)
        self.assertLess(usual["length"], 1e5)

    def test_a_job_that_stopped(self):
        page = self.page(TOP / "fixtures/tp2dp2pp2-hang")
        rows = [[cell.text for cell in row.every("td")] for row in page.root.first("article").every("tr")][1:]
        began = collections.Counter()
        for operation in reader.Job(TOP / "fixtures/tp2dp2pp2-hang").operations:
            began[str(operation.rank)] += operation.step == 6
        self.assertEqual({row[0]: int(row[1]) for row in rows}, dict(began))
        self.assertEqual(rows[0][0], "5")
        facts = page.root.first("dl", class_="facts")
        facts = dict(zip([one.text for one in facts.every("dt")], [one.text for one in facts.every("dd")]))
        self.assertEqual((facts["Stopped"], facts["Ranks"]), ("in step 6", "8"))
        self.assertNotIn("Time lost", facts)
        open_bars = {rank for rank, bars in page.lanes(6).items() if any(bar[5] == 1 for bar in bars)}
        self.assertIn("7", open_bars)  # in the ReduceScatter that rank 5 never joins
        self.assertNotIn("5", open_bars)

    def test_heat_map_is_that_of_steps(self):
        self.run_program("ingest", SLOW)
        page = self.page()
        cells = page.heat()
        rows = self.json("steps", "--map")["rows"]
        self.assertEqual(len(cells), len(rows))
        for row in rows:
            cell = cells[row["process"], row["step"]]
            for key, name in (("length", "duration_us"), ("waiting", "waiting_us"), ("own", "own_us")):
                if row[name] is None:
                    self.assertIsNone(cell[key], (row, name))
                else:
                    self.assertAlmostEqual(cell[key], row[name], delta=0.025 * row[name] + 0.5, msg=(row, name))
        marks = page.data["runs"][0]["heat"]["marks"]
        self.assertEqual(marks, [[1, 4, 8, "compute"]])
        self.assertEqual(len(list(page.section("Rank by step").every("rect", class_="frame"))), 1 + len(page.data["runs"][0]["heat"]["layers"]))

    def test_lanes_are_the_operations(self):
        job = reader.Job(SLOW)
        page = self.page(SLOW, "--step", "5-6", "--rank", "0-2")
        self.assertEqual([one["id"] for one in page.data["runs"][0]["lanes"]], ["lanes-1-5", "lanes-1-6"])
        for step in (5, 6):
            lanes = page.lanes(step)
            self.assertEqual(list(lanes), ["0", "1", "2"])
            for rank, bars in lanes.items():
                of_rank = [one for one in job.operations if one.rank == int(rank) and one.step == step]
                self.assertEqual(sorted((bar[3].split(" on ")[0], bar[4]) for bar in bars),
                                 sorted((one.function, one.tag) for one in of_rank))
                for bar in bars:
                    self.assertEqual(bar[5], 2 if bar[3].split(" ")[0] in ("Send", "Recv") else 0)  # their ends are in the part that was cut off
                timed = [one for one in of_rank if not one.is_pair]
                self.assertAlmostEqual(sum(bar[1] for bar in bars), sum(one.duration for one in timed) / 1e3,
                                       delta=0.1 * len(bars) + 1)
        # The slow rank waits for no other rank in the AllReduce of all ranks, and the others wait for it.
        waits = {rank: next(bar[2] for bar in bars if bar[4] == "optimizer") for rank, bars in page.lanes(5).items()}
        self.assertLess(waits["1"], 200)
        self.assertGreater(min(waits["0"], waits["2"]), 5000)

    def test_chosen_steps(self):
        """The longest step of the finding and a baseline step; for a healthy job the longest step."""
        self.run_program("ingest", SLOW)
        lengths = {row["step"]: row["duration_us"] for row in self.json("steps")["rows"] if row["duration_us"]}
        worst = max(range(4, 8), key=lengths.get)
        titles = [one["title"] for one in self.page().data["runs"][0]["lanes"]]
        self.assertRegex(titles[0], rf"^Step {worst}, .*: compute, rank 1$")
        self.assertRegex(titles[1], r"^Step [1-3], .*: baseline step, for comparison$")

    def test_only_one_script_and_one_style_may_run(self):
        page = self.page(SLOW)
        self.assertEqual(page.policy, {
            "default-src": "'none'", "script-src": Page.digest(page.scripts[1].text),
            "style-src": Page.digest(page.root.first("style").text), "base-uri": "'none'", "form-action": "'none'"})
        self.check_markup(page)
        self.assertNotRegex(page.source, r"https?://|url\(|@import|src=|\bimport\(|fetch\(|XMLHttp|innerHTML|eval\(")

    def check_markup(self, page):
        """The elements of the page, two scripts, links within the page; headings in order, and a label for elements without
        text.
        """
        ids = collections.Counter(one.attributes["id"] for one in page.root.every() if one.attributes.get("id"))
        self.assertEqual(max(ids.values()), 1, ids)
        self.assertEqual([one.attributes for one in page.scripts], [{"type": "application/json", "id": "data"}, {}])
        for element in page.root.every():
            self.assertIn(element.name or "html", NAMES)
            for name, value in element.attributes.items():
                self.assertFalse(name.startswith("on") or name in ("style", "src", "srcdoc"), (element.name, name))
                if name == "href":
                    self.assertIn(value[1:], ids)
            if element.name == "table":
                self.assertTrue(element.first("caption").text)
            if element.name == "svg" and "aria-hidden" not in element.attributes and element.parent.name != "svg":
                self.assertTrue(element.attributes["aria-label"])
        levels = [int(one.name[1]) for one in page.root.every() if re.fullmatch(r"h\d", one.name)]
        self.assertEqual(levels[0], 1)
        self.assertTrue(all(after <= before + 1 for before, after in zip(levels, levels[1:])), levels)

    def test_hostile_texts_stay_texts(self):
        page = self.page(hostile_job(self), status=None)
        self.check_markup(page)
        self.assertIn("<b>job", page.root.first("h1").text)
        table = page.section("Bandwidth by phase").text
        for text in HOSTILE[:2] + HOSTILE[4:5]:
            self.assertIn(text, table)
        self.assertIn(HOSTILE[0], page.data["runs"][0]["lanes"][0]["texts"])
        self.assertNotRegex(page.source, "[\u202a-\u202e\u2066-\u2069\u2028\u2029]")
        self.assertNotIn("<b>", page.source)
        self.assertNotIn("</script>", page.source[page.source.index('id="data"'):page.source.index("</script>")])

    def test_standard_output_holds_the_page_alone(self):
        self.run_program("ingest", SLOW)
        self.page()
        for form in output_formats():
            self.assertEqual(self.run_program("html", "-o", "-", "--format", form).stdout, (self.folder / "page.html").read_bytes())

    def test_says_what_was_written(self):
        row = self.json("html", "-o", "page.html", SLOW)["rows"][0]
        self.assertEqual(row, {"file": "page.html", "bytes": (self.folder / "page.html").stat().st_size, "runs": 1, "findings": 1})
        self.assertRegex(self.run_program("html", "-o", "page.html", SLOW).out, r"^page.html: [\d.]+ KiB, 1 run, 1 finding\n$")

    def test_wrong_usage(self):
        self.run_program("ingest", SLOW)
        self.assertIn("--output", self.run_program("html", status=2).err)
        for words in (["--tag", "forward"], ["--communicator", "0-7"], ["--sort", "bytes"], ["--top", "1"]):
            self.assertIn("--rank, --host and --step", self.run_program("html", "-o", "page.html", *words, status=2).err)
        self.assertFalse((self.folder / "page.html").exists())
        self.assertIn("nowhere/page.html", self.run_program("html", "-o", "nowhere/page.html", status=1).err)

    def test_nothing_to_judge(self):
        """The page is written, and both the page and the exit status show that nothing was analyzed."""
        self.write("dump_1.json", "[\n" + tag("forward", 0, 1, 5) + "{}]\n")
        page = self.page("dump_1.json", status=1)
        self.assertIn("not enough data", page.root.first("h1").text)
        self.write("inspector.log", inspector_trace())
        page = self.page("inspector.log", status=None)
        self.assertIn("doubt", page.root.first("div", class_="verdict").attributes["class"])
        self.assertIn("not enough data", page.section("Summary").text)

    def test_several_runs(self):
        self.run_program("ingest", SLOW, TOP / "fixtures/tp2dp2pp2-clean")
        page = self.page()
        self.check_markup(page)
        self.assertIn("2 runs: 1 finding", page.root.first("h1").text)
        self.assertEqual(len(page.data["runs"]), 2)
        self.assertEqual(next(page.root.first("nav").every("a")).text, "All runs")
        first = next(page.root.first("main").every("section"))
        links = [one.text for one in first.every("a")]
        self.assertEqual(links, ["Run 1 (tp2dp2pp2-slow-rank): 1 finding", "Run 2 (tp2dp2pp2-clean): no problem found"])
        self.assertIn("compute, high confidence: GPU of rank 1", first.text)
        self.assertEqual([one.attributes["class"] for one in first.every("div")], ["verdict run bad", "verdict run"])
        for run, name in ((1, "slow-rank"), (2, "clean")):
            self.assertIn("Analyzed", page.section(f"Run {run} (tp2dp2pp2-{name}): Coverage").text)
        alone = self.page("--run", "tp2dp2pp2-clean")
        self.assertEqual([run["id"] for run in alone.data["runs"]], [2])

    def test_page_of_a_comparison(self):
        """compare --html: the rows of the table, the sentences of the text, and the verdicts and findings of both runs."""
        sides = TOP / "fixtures/tp2dp2pp2-clean", SLOW
        words = self.run_program("compare", *sides, "--html", "compare.html").out
        page = Page((self.folder / "compare.html").read_text())
        self.check_markup(page)
        answer = self.json("compare", *sides)
        # The first section has the sentences and the notes of the text, the second the verdicts of the runs.
        first, second = list(page.root.first("main").every("section"))[:2]
        self.assertEqual(first.first("h2").text, "Comparison")
        for line in re.sub(r"\n  ", " ", words).splitlines():
            self.assertIn(re.sub("^note: ", "", line), first.text)
        self.assertEqual([one.text for one in second.every("a")],
                         ["A (tp2dp2pp2-clean): no problem found", "B (tp2dp2pp2-slow-rank): 1 finding"])
        rows = [[cell.text for cell in row.every("td")] for row in page.section("All comparisons").every("tr")][1:]
        self.assertEqual([row[:2] for row in rows], [[row["what"], row["key"]] for row in answer["rows"]])
        marked = [row.first("td").text for row in page.root.every("tr", class_="stands")]
        self.assertEqual(marked, [row["what"] for row in answer["rows"] if row["significant"]])
        self.assertTrue(marked)
        self.assertIn(f"{len(marked)} difference", page.root.first("h1").text)
        finding = self.json("diagnose", SLOW)["findings"][0]
        section = page.section("B (tp2dp2pp2-slow-rank): Findings")
        self.assertEqual([one.first("h3").text for one in section.every("article")], [finding["text"].partition("; costs ")[0]])
        self.assertEqual(len(list(page.root.every("article"))), 1)
        self.assertIn(finding["confirm"], section.text)
        self.assertIn(str(SLOW), finding["confirm"])
        # On standard output the page is alone, whatever the format.
        for form in output_formats():
            self.assertEqual(self.run_program("compare", *sides, "--html", "-", "--format", form).stdout,
                             (self.folder / "compare.html").read_bytes())
        self.run_program("compare", SLOW, SLOW, "--html", "compare.html")
        page = Page((self.folder / "compare.html").read_text())
        self.assertEqual(list(page.root.every("tr", class_="stands")), [])
        self.assertIn("no difference beyond noise", page.root.first("h1").text)
        self.assertIn("nowhere/x.html", self.run_program("compare", *sides, "--html", "nowhere/x.html", status=1).err)

    def test_the_other_rows_of_a_comparison(self):
        """The page names the command that shows all rows, with the paths of both sides."""
        files, _ = self.simulate("--shape ddp --dialect inspector-2.30 --ranks 420 --per-node 8 --layers 1 --steps 4")
        job = files[0].parent
        self.run_program("compare", "--baseline", job, "--candidate", job, "--html", "compare.html")
        text = Page((self.folder / "compare.html").read_text()).section("All comparisons").text
        self.assertIn(f" compare --all --baseline {job} --candidate {job}", text)

    def test_a_large_job_is_folded(self):
        """Neighbouring ranks and the ranks of a host share rows in the static picture; the data has all ranks."""
        files, _ = self.simulate("--shape ddp --dialect inspector-2.30 --ranks 80 --per-node 8 --layers 1 --steps 12 --seed 3 --fault compute:70:5:9:4000")
        page = self.page(*files)
        heat = page.data["runs"][0]["heat"]
        self.assertEqual((len(heat["ranks"]), len(heat["hosts"])), (80, 10))
        self.assertEqual(heat["layers"][heat["shown"]]["key"], "own")
        # The rank at fault, then ranks that wait for it and ranks for comparison, from the whole job.
        chosen = [(heat["ranks"][rank], reason) for rank, reason in heat["chosen"]]
        self.assertEqual([name for name, reason in chosen if reason == "at fault"], ["70"])
        self.assertEqual(chosen[0], ("70", "at fault"))
        self.assertEqual({reason for _, reason in chosen[1:]}, {"waits for it", "comparison"})
        self.assertLessEqual(len(chosen), 32)
        self.assertGreater(max(int(name) for name, _ in chosen) - min(int(name) for name, _ in chosen), 60)
        still = next(one for one in page.section("Rank by step").every("figure"))
        self.assertEqual([one.text for one in still.every("tspan")], [f"{name}, {reason}" for name, reason in chosen])
        lanes = page.data["runs"][0]["lanes"][0]["lanes"]
        self.assertEqual([(lane["name"], lane["reason"]) for lane in lanes], chosen)
        self.assertEqual([lane["name"] for lane in lanes if lane["accused"]], ["70"])
        # Ranks that a user asks for are shown, up to the limit.
        asked = self.page(*files, "--rank", "0-20,70").data["runs"][0]["lanes"][0]["lanes"]
        self.assertEqual(sorted(int(lane["name"]) for lane in asked), [*range(21), 70])
        # A healthy job has no such ranks: hosts share rows.
        files, _ = self.simulate("--shape ddp --dialect inspector-2.30 --ranks 80 --per-node 8 --layers 1 --steps 12 --seed 3")
        self.store.unlink(missing_ok=True)
        page = self.page(*files)
        labels = [one.text for one in next(page.section("Rank by step").every("figure")).every("tspan")]
        self.assertEqual(len(labels), 10)
        self.assertTrue(all("(8 ranks)" in label for label in labels), labels)
        self.assertNotIn("chosen", [key for key, value in page.data["runs"][0]["heat"].items() if value])
        self.assertEqual(len(page.data["runs"][0]["lanes"][0]["lanes"]), 32)
