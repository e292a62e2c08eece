"""The page of html in a browser: it runs without errors, requests nothing from the network, and can be used."""

import re

from tests.cli.browser import Browser
from tests.cli.page import HOSTILE, hostile_job
from tests.cli.support import TOP, Case

SLOW = TOP / "fixtures/tp2dp2pp2-slow-rank"


class HtmlPage(Case):
    @classmethod
    def setUpClass(cls):
        cls.browser = Browser()

    @classmethod
    def tearDownClass(cls):
        cls.browser.__exit__()

    def page(self, *words, **how):
        self.run_program("html", "-o", "page.html", *words, status=None)
        return self.browser.open(self.folder / "page.html", **how)

    def check_quiet(self, page):
        self.assertEqual((page.complaints, page.requests), ([], []))

    def cell(self, rank, step):
        """The size of a cell in the first canvas: 9 steps, rows of 18 pixels."""
        left, width = self.left, self.width
        return left + (step + 0.5) * (width - left) / 9, 20 + (rank + 0.5) * 18

    def measure(self, page):
        self.width = page.run("document.querySelector('canvas').clientWidth")
        # The label "rank 7" and its margins; the cells begin after it.
        self.left = page.run("(() => { const context = document.createElement('canvas').getContext('2d'); context.font = "
                             "'11px system-ui, sans-serif'; return Math.max(30, ...[0,1,2,3,4,5,6,7].map(rank => context.measureText('rank ' "
                             "+ rank).width)) + 12; })()")

    def test_clicks_and_keys_move_the_selection(self):
        rows = {(row["rank"], row["step"]): row for row in self.json("steps", "--map", SLOW)["rows"]}
        page = self.page(SLOW)
        self.measure(page)
        page.click("canvas", *self.cell(1, 5))
        said = page.text("output")
        self.assertRegex(said, r"^rank 1, step 5: took .* Finding: compute\.$")
        # The text has three significant digits of the value, and the value is within 2 %.
        for name, words in (("duration_us", r"took ([\d.]+ ms)"), ("own_us", r"own delay ([\d.]+ ms)")):
            shown = float(re.search(words, said).group(1).split()[0]) * 1e3
            self.assertAlmostEqual(shown, rows[1, 5][name], delta=0.025 * rows[1, 5][name])
        page.focus("canvas")
        for keys, where in ((["ArrowDown"], "rank 2, step 5"), (["ArrowRight", "ArrowRight"], "rank 2, step 7"), (["Home"], "rank 2, step 0"),
                            (["End"], "rank 2, step 8"), (["PageDown"], "rank 7, step 8"), (["ArrowLeft", "ArrowUp"], "rank 6, step 7")):
            page.press(*keys)
            self.assertTrue(page.text("output").startswith(where + ":"), (keys, page.text("output")))
        page.press("ArrowLeft", shift=True)
        self.assertTrue(page.text("output").startswith("rank 6, step 0:"))
        self.check_quiet(page)

    def test_zoom_search_and_values(self):
        page = self.page(SLOW)
        self.measure(page)
        before = page.pixels()
        page.click("canvas", *self.cell(7, 8))
        page.focus("canvas")
        page.press("+", "+")
        page.press("0")
        page.focus("input[type=search]")
        page.call("Input.insertText", text="rank 3")
        page.press("Enter")
        self.assertTrue(page.text("output").startswith("rank 3, step 8:"), page.text("output"))
        page.call("Input.insertText", text="33")
        page.press("Enter")
        self.assertIn("No rank or host", page.text("output"))
        self.assertTrue(page.run("document.querySelector('input[value=own]').checked"))  # the own delay is shown first
        page.click("input[value=waiting]")
        self.assertNotEqual(before, page.pixels())
        self.check_quiet(page)

    def test_lanes(self):
        page = self.page(SLOW)
        picture = ".lanes canvas"
        page.focus(picture)
        page.press("ArrowRight")
        first = page.text(".lanes output")
        self.assertRegex(first, r"^rank 0: \w+ on .*, phase forward, started at ")
        page.press("End")
        self.assertRegex(page.text(".lanes output"), r"^rank 0: AllReduce on ranks 0-7, phase optimizer, .* including [\d.]+ ms waiting for the last rank")
        page.press("ArrowDown")
        self.assertRegex(page.text(".lanes output"), r"^rank 1: ")
        page.press("+", "-", "0")
        self.check_quiet(page)

    def test_hostile_texts_run_nothing(self):
        page = self.page(hostile_job(self))
        self.assertEqual(page.run("document.scripts.length"), 2)
        self.assertEqual(page.run("document.querySelectorAll('img, b, script[src], [onerror], [onmouseover]').length"), 0)
        shown = page.run("document.body.innerText")
        for text in HOSTILE[:2] + HOSTILE[4:5]:
            self.assertIn(text, shown)
        page.focus(".lanes canvas")
        for _ in range(3 * len(HOSTILE)):
            page.press("ArrowRight")
        self.assertEqual(page.run("document.scripts.length"), 2)
        self.check_quiet(page)

    def test_the_policy_holds(self):
        """An injected script does not run, and the browser reports why."""
        self.run_program("html", "-o", "page.html", SLOW)
        path = self.folder / "page.html"
        path.write_text(path.read_text().replace(
            "<main", "<script>document.title = 'ran'</script><img src='x' onerror='document.title = \"ran\"'>"
                     "<style>h1 { color: rgb(1, 2, 3) }</style><main", 1))
        page = self.browser.open(path)
        self.assertNotEqual(page.run("document.title"), "ran")
        self.assertNotEqual(page.run("getComputedStyle(document.querySelector('h1')).color"), "rgb(1, 2, 3)")
        for what in ("script", "img", "style"):
            self.assertTrue(any("Content Security Policy" in one and what in one for one in page.complaints), (what, page.complaints))

    def test_without_script_pictures_stand(self):
        page = self.page(SLOW, script=False)
        shown = ("[...document.querySelectorAll('%s')].map(one => getComputedStyle(one).display !== 'none' && "
                 "one.getBoundingClientRect().height > 50)")
        # The script of the page is off, that of the tests is not.
        self.assertEqual(page.run("document.querySelectorAll('canvas').length"), 0)
        self.assertEqual(page.run(shown % ".still > figure, .lanes .still"), [True] * 7)
        page.call("Emulation.setScriptExecutionDisabled", value=False)
        page = self.page(SLOW)
        self.assertEqual(page.run(shown % ".still > figure, .lanes .still"), [False] * 7)
        page.call("Emulation.setEmulatedMedia", media="print")
        self.assertEqual(page.run(shown % ".still > figure, .lanes .still"), [True] * 7)
        self.assertEqual(page.run("[...document.querySelectorAll('canvas')].filter(one => one.offsetParent).length"), 0)
        self.check_quiet(page)

    def test_narrow_and_dark(self):
        """Nothing is wider than a phone, and text has enough contrast in both colour schemes."""
        for scheme in ("light", "dark"):
            page = self.page(SLOW, width=400, scheme=scheme)
            self.assertLessEqual(page.run("document.documentElement.scrollWidth"), 400)
            contrast = page.run("""(() => {
                const light = text => { const [red, green, blue] = text.match(/[\\d.]+/g).map(Number).map(one => {
                    one /= 255; return one <= 0.03928 ? one / 12.92 : Math.pow((one + 0.055) / 1.055, 2.4); });
                    return 0.2126 * red + 0.7152 * green + 0.0722 * blue; };
                const ground = one => { for (; one; one = one.parentElement) { const colour = getComputedStyle(one).backgroundColor;
                    if (!/, 0\\)$/.test(colour)) return colour; } return 'rgb(255, 255, 255)'; };
                return [...document.querySelectorAll('p, h1, h2, h3, dt, dd, td, th, caption, a, figcaption, output, .badge')].map(one => {
                    const [a, b] = [light(getComputedStyle(one).color), light(ground(one))].sort((x, y) => y - x);
                    return [(a + 0.05) / (b + 0.05), one.tagName + ' ' + one.textContent.slice(0, 30)]; }).sort((x, y) => x[0] - y[0])[0]; })()""")
            self.assertGreater(contrast[0], 4.5, contrast)  # WCAG 2, AA
            self.assertEqual(page.run("getComputedStyle(document.body).backgroundColor === 'rgb(255, 255, 255)'"), scheme == "light")
            self.check_quiet(page)

    def test_uses_the_width_of_the_window(self):
        """The pictures are as wide as the window; in a wide one, the evidence is beside the text of a finding."""
        for width, beside in ((1000, False), (1600, True)):
            for fixture in ("tp2dp2pp2-slow-sender", "tp2dp2pp2-hang"):
                page = self.page(TOP / "fixtures" / fixture, width=width)
                self.assertLessEqual(page.run("document.documentElement.scrollWidth"), width)
                self.assertGreater(page.run("document.querySelector('canvas').clientWidth"), 0.9 * width)
                text, evidence = page.run("[...document.querySelector('article').children].map(one => one.getBoundingClientRect().top)")
                self.assertEqual(abs(text - evidence) < 5, beside, (text, evidence))
                # The first screen has the verdict with what to do.
                self.assertLess(page.run("document.querySelector('.verdict .next').getBoundingClientRect().bottom"), 900)
                self.check_quiet(page)

    def test_tables_fit_a_screen(self):
        page = self.page(TOP / "fixtures/tp2dp2pp2-slow-sender", width=1200)
        page.run("document.querySelectorAll('details').forEach(one => { one.open = true; })")
        wide = page.run("[...document.querySelectorAll('.scroll')].filter(one => one.querySelector('table') && one.scrollWidth > "
                        "one.clientWidth).map(one => one.getAttribute('aria-label'))")
        self.assertEqual([name for name in wide if name != "By reason"], [])  # that page has paths

    def test_for_who_cannot_see_it(self):
        """Controls have a name and a role in the accessibility tree."""
        page = self.page(SLOW)
        page.call("Accessibility.enable")
        nodes = [node for node in page.call("Accessibility.getFullAXTree")["nodes"] if not node["ignored"]]
        named = {}
        for node in nodes:
            named.setdefault(node["role"]["value"], []).append(node.get("name", {}).get("value", ""))
        for role in ("radio", "button", "searchbox", "link", "heading", "table", "columnheader", "application", "region", "main",
                     "navigation"):
            self.assertTrue(named.get(role), (role, sorted(named)))
            if role != "main":
                self.assertTrue(all(named[role]), (role, named[role]))
        page.focus("a")
        for _ in range(40):
            page.press("Tab")
        self.check_quiet(page)

    def choose(self, page, rows):
        page.run(f"(() => {{ const one = document.querySelector('.tools select'); one.value = '{rows}'; "
                 "one.dispatchEvent(new Event('change')); })()")

    def test_a_large_job_is_fluent(self):
        """Grouped hosts, and rows that zoom in; every rank can be found and selected."""
        files, _ = self.simulate("--shape ddp --dialect inspector-2.30 --ranks 80 --per-node 8 --layers 1 --steps 12 --seed 3 "
                                 "--fault compute:70:5:9:4000")
        page = self.page(*files)
        page.focus("canvas")
        page.press("ArrowDown")
        self.assertRegex(page.text("output"), r"^rank 70, at fault on node\d+, step 0: ")
        self.choose(page, "host")
        page.focus("canvas")
        page.press("ArrowDown")
        self.assertRegex(page.text("output"), r"^node\d+ \(8 ranks\), step 0: .* \(largest values\)\.")
        # A rank that is not among the rows of the finding is searched for among all.
        self.choose(page, "finding")
        wanted = page.run("JSON.parse(document.getElementById('data').textContent).runs[0].heat").get("chosen")
        hidden = next(rank for rank in range(80) if rank not in [row[0] for row in wanted])
        page.focus("input[type=search]")
        page.call("Input.insertText", text=str(hidden))
        page.press("Enter")
        self.assertRegex(page.text("output"), rf"^rank {hidden} on node\d+, step 0: ")
        self.assertEqual(page.run("document.querySelector('.tools select').value"), "rank")
        page.run("document.querySelector('input[type=search]').value = ''")
        page.focus("input[type=search]")
        page.call("Input.insertText", text="70")
        page.press("Enter")
        page.focus("canvas")
        page.press("+", "+", "+", "+", "Home", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight")
        self.assertRegex(page.text("output"), r"^rank 70 on node\d+, step 6: .* Finding: compute\.$")
        self.check_quiet(page)
