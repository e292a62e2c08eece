"""README and the manual show the real output of the program. `make golden` writes both again.

A block of README after `<!-- ran on: FOLDER -->` has commands and their outputs for fixtures/FOLDER, without the output of ingest.
A block of a manual page after `.\\" ran on: FOLDER` has one command, which may continue on further lines inside quotes; lines of
its output are broken.
"""

import json
import os
import re
import shlex
import subprocess
import textwrap

from tests.cli.support import TOP, Case

README = TOP / "README.md"
IN_PAGE = re.compile(r'(\.\\" ran on: (\S+)\n\.Bd -literal\n\$ (ncclprof (?:[^\n"]|"[^"]*")*)\n)(.*?)(?=\.Ed\n)', re.S)
BLOCK = re.compile(r"<!-- ran on: (\S+) -->\n```\n(.*?)```\n", re.S)


class Readme(Case):
    def output(self, command):
        """The output of `ncclprof ...`, or of `ncclprof ... | cut ... | head ...`."""
        words, *filters = [shlex.split(part) for part in command.split(" | ")]
        text = self.run_program(*words[1:]).out.replace(str(self.store), "/data/ncclprof.db")
        for words in filters:
            text = subprocess.run(words, input=text, capture_output=True, text=True, check=True).stdout
        return "\n".join(line.rstrip() for line in text.strip("\n").splitlines())

    def ran(self, match):
        """The correct block."""
        self.store.unlink(missing_ok=True)
        self.run_program("ingest", "-q", TOP / "fixtures" / match.group(1))
        text = ""
        for command in re.findall(r"^\$ (ncclprof .*)$", match.group(2), re.M):
            if command.startswith("ncclprof ingest "):
                text += f"$ {command}\n"
            else:
                text += f"$ {command}\n{self.output(command)}\n\n"
        return f"<!-- ran on: {match.group(1)} -->\n```\n{text.rstrip()}\n```\n"

    def test_outputs_are_real(self):
        said = README.read_text()
        self.assertGreaterEqual(len(BLOCK.findall(said)), 1)
        real = BLOCK.sub(self.ran, said)
        if os.environ.get("NCCLPROF_GOLDEN") == "write":
            README.write_text(real)
        self.assertEqual(README.read_text(), real)

    def in_page(self, match):
        """The correct block; the present one if it differs only in its line breaks."""
        self.store.unlink(missing_ok=True)
        self.run_program("ingest", "-q", TOP / "fixtures" / match.group(2))
        output = self.output(match.group(3))
        if output.split() == match.group(4).split():
            return match.group()
        lines = [textwrap.fill(line, 72, subsequent_indent=" " * (len(line) - len(line.lstrip())), break_on_hyphens=False)
                 for line in output.splitlines()]
        return match.group(1) + "\n".join(lines) + "\n"

    def test_outputs_in_the_manual_are_real(self):
        found = 0
        for page in sorted((TOP / "man").glob("*.[1-9]")):
            said = page.read_text()
            found += len(IN_PAGE.findall(said))
            real = IN_PAGE.sub(self.in_page, said)
            if os.environ.get("NCCLPROF_GOLDEN") == "write":
                page.write_text(real)
            self.assertEqual(page.read_text(), real, page.name)
        self.assertGreaterEqual(found, 1)

    def test_figures_of_the_worked_example(self):
        """The values that ncclprof-diagnosis(7) derives from the outputs it shows, computed from their definitions."""
        page = re.sub(r"\s+", " ", (TOP / "man/ncclprof-diagnosis.7").read_text())
        self.run_program("ingest", "-q", TOP / "fixtures/tp2dp2pp2-slow-rank")
        calls = self.json("query", "SELECT rank, step, tag, function, enqueue_begin_us, device_begin_us AS begin_us, "
                          "device_end_us AS end_us, duration_us FROM v_operation ORDER BY rank, device_begin_us")["rows"]
        gaps = [(call, call["begin_us"] - before["end_us"]) for before, call in zip(calls, calls[1:])
                if before["rank"] == call["rank"] and call["step"]]
        slow = [gap for call, gap in gaps if (call["rank"], call["step"], call["tag"]) == (1, 5, "optimizer")]
        self.assertEqual(len(slow), 1)
        others = [gap for call, gap in gaps if call["rank"] != 1 and (call["step"], call["tag"]) == (5, "optimizer")]
        last = [call for call in calls if call["step"] == 5 and call["tag"] == "optimizer"]
        queued = [call["begin_us"] - call["enqueue_begin_us"] for call in last if call["rank"] == 1]
        durations = sorted((call["duration_us"], call["rank"]) for call in last)
        begins = [min(call["begin_us"] for call in calls if (call["rank"], call["step"]) == (1, step)) for step in range(1, 9)]
        lengths = sorted(after - before for before, after in zip(begins, begins[1:]))
        finding, = self.json("diagnose")["findings"]
        cost = finding["lost_us"] / 1e3 / (finding["last_step"] - finding["first_step"] + 1)
        late = {(call["rank"], call["step"]) for call, gap in gaps if gap > 2000}
        self.assertEqual(late, {(1, step) for step in range(4, 9)})
        own = {(rank, step): sum(gap for call, gap in gaps if (call["rank"], call["step"]) == (rank, step)) / 1e3
               for rank in range(4) for step in (3, 5)}
        middle = {step: sorted(own[rank, step] for rank in (0, 2, 3))[1] for step in (3, 5)}
        longer = [row["longer_us"] / 1e3 for row in self.json("steps")["rows"] if 4 <= row["step"] <= 7]
        worth = {rule["name"]: rule["reading"] for rule in finding["rules"]}["worth"]
        median = lengths[len(lengths) // 2] / 1e3
        for said in (f"Rank 1 takes {slow[0] / 1e3:.1f} ms, the others at most {max(others) / 1e3:.1f} ms", f"On rank 1 that was {queued[0] / 1e3:.1f} ms before the kernel started",
                     f"rank {durations[0][1]}, {durations[0][0] / 1e3:.2f} ms",
                     f"{(durations[1][0] - durations[0][0]) / 1e3:.1f} ms on rank {durations[1][1]}, "
                     f"{(durations[-1][0] - durations[0][0]) / 1e3:.1f} ms on rank {durations[-1][1]}",
                     f"In step 5 rank 1 takes {own[1, 5]:.1f} ms and the median of its peers, ranks 0, 2 and 3, is {middle[5]:.1f} ms: "
                     f"{own[1, 5] - middle[5]:.1f} ms more",
                     f"In step 3 it takes {middle[3] - own[1, 3]:.1f} ms less",
                     f"has a certainty of {finding['certainty']:.0f}",
                     f"Rank 1 was late by {finding['excess_us'] / 1e3:.0f} ms in total. {finding['lost_us'] / 1e3:.0f} ms of that delayed the job",
                     f"longer by {min(longer):.1f} to {max(longer):.1f} ms, and the cost is {cost:.1f} ms",
                     f"{worth * 0.03 * median:.0f} ms per step, {worth * 3:.0f} % of the median step of {median:.0f} ms: {worth:.1f} times"):
            self.assertIn(said, page)
        rows = {row["rank"]: row for row in self.json("stragglers")["rows"]}
        self.assertEqual(rows[0]["inherited_from"], "1")
        self.assertIn(f"{rows[0]['inherited_us'] / 1e3:.0f} ms are inherited from rank 1 and "
                      f"{rows[0]['own_us'] / 1e3:.0f} ms are its own; of the wait for rank 1, {rows[1]['own_us'] / 1e3:.0f} ms are its own", page)
        for percent, confidence in (26, "high"), (27, "medium"), (52, "medium"), (53, "low"):
            said, = self.json("diagnose", "--all", "--min-gain", percent)["findings"]
            self.assertEqual(said["confidence"], confidence, percent)

    def test_commands_are_all_there(self):
        listing = self.run_program("--help").out.split("commands:")[1].split("options:")[0]
        table = README.read_text().split("\n## Commands\n")[1].split("\n\n")[0]
        self.assertEqual(sorted(re.findall(r"^  (\w+) ", listing, re.M)), sorted(re.findall(r"`(\w+)`", table)))

    def test_what_confirms_a_finding_can_be_run(self):
        """The last column of 'What to do with a finding', and one row for each kind."""
        section = README.read_text().split("## What to do with a finding\n")[1].split("\n## ")[0]
        rows = re.findall(r"^\| (\w+) \|.*\| `(ncclprof [^`]+)` \|$", section, re.M)
        finding = json.loads((TOP / "schemas/output/diagnose.schema.json").read_text())
        kinds = re.search(r'"kind": \{"enum": (\[[^]]+\])', json.dumps(finding))
        self.assertEqual({kind for kind, _ in rows}, set(json.loads(kinds[1])))
        self.run_program("ingest", "-q", TOP / "fixtures/tp2dp2pp2-slow-rank")
        for _, command in rows:
            words = re.sub(r"\bA-B\b", "4-8", re.sub(r"\bA$", "4", re.sub(r"\bN\b", "1", command))).split()
            self.assertTrue(self.run_program(*words[1:]).out, command)

    def test_files_that_it_names_exist(self):
        said = README.read_text()
        for page, section in re.findall(r"(ncclprof[a-z-]*)\((\d)\)", said):
            self.assertTrue((TOP / f"man/{page}.{section}").exists(), page)
        for path in re.findall(r"`((?:fixtures|schemas|tests|man)/[\w/.-]+)`", said):
            self.assertTrue((TOP / path).exists(), path)
