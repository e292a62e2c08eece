"""README and the manual show what the program says. `make golden` writes both anew.

A block of README that follows `<!-- ran on: FOLDER -->` holds commands and their outputs on fixtures/FOLDER; ingest
stands there without its output. So does a block of a page that follows `.\\" ran on: FOLDER`, of one command, whose lines
are broken.
"""

import os
import re
import shlex
import textwrap

from tests.cli.support import TOP, Case

README = TOP / "README.md"
IN_PAGE = re.compile(r'(\.\\" ran on: (\S+)\n\.Bd -literal\n\$ (ncclprof [^\n]*)\n)(.*?)(?=\.Ed\n)', re.S)
BLOCK = re.compile(r"<!-- ran on: (\S+) -->\n```\n(.*?)```\n", re.S)


class Readme(Case):
    def output(self, command):
        text = self.run_program(*shlex.split(command)[1:]).out
        return "\n".join(line.rstrip() for line in text.strip("\n").splitlines())

    def ran(self, match):
        """The block as it ought to be."""
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
        self.assertGreaterEqual(len(BLOCK.findall(said)), 3)
        real = BLOCK.sub(self.ran, said)
        if os.environ.get("NCCLPROF_GOLDEN") == "write":
            README.write_text(real)
        self.assertEqual(README.read_text(), real)

    def in_page(self, match):
        """The block as it ought to be, unless only its lines are broken elsewhere."""
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

    def test_commands_are_all_there(self):
        listing = self.run_program("--help").out.split("commands:")[1].split("options:")[0]
        table = re.search(r"\| command \|.*?\n\n", README.read_text(), re.S).group()
        self.assertEqual(set(re.findall(r"^  (\w+) ", listing, re.M)), set(re.findall(r"^\| `(\w+)` \|", table, re.M)))

    def test_files_that_it_names_exist(self):
        said = README.read_text()
        for page, section in re.findall(r"(ncclprof[a-z-]*)\((\d)\)", said):
            self.assertTrue((TOP / f"man/{page}.{section}").exists(), page)
        for path in re.findall(r"`((?:fixtures|schemas|tests|man)/[\w/.-]+)`", said):
            self.assertTrue((TOP / path).exists(), path)
