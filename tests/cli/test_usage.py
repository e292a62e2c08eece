"""Help, usage errors, exit statuses, and the destination of output."""

import os
import pty
import re
import subprocess

from tests.cli.support import PATIENCE_S, PROGRAM, TOP, Case, shown_on, trace

SENDER = TOP / "fixtures/tp2dp2pp2-slow-sender"


class Usage(Case):
    def test_help_goes_to_standard_output(self):
        result = self.run_program("--help")
        self.assertIn("usage: ncclprof", result.out)
        self.assertEqual(result.err, "")
        for line in result.out.splitlines():
            self.assertLessEqual(len(line), 80, line)

    def test_help_is_a_word_too(self):
        self.assertEqual(self.run_program("help").out, self.run_program("--help").out)
        self.assertEqual(self.run_program("help", "ingest").out, self.run_program("ingest", "--help").out)
        self.assertEqual(self.run_program("--store", "x", "help", "diagnose").out, self.run_program("diagnose", "-h").out)
        self.assertIn("unknown command 'nonsense'", self.run_program("help", "nonsense", status=2).err)

    def test_every_command_explains_itself(self):
        listing = self.run_program("--help").out.split("commands:")[1].split("options:")[0]
        names = re.findall(r"^  ([a-z]+) ", listing, re.M)
        self.assertIn("ingest", names)
        self.assertEqual(len(names), len(set(names)))
        for name in names:
            for option in ("-h", "--help"):
                result = self.run_program(name, option)
                self.assertTrue(result.out.startswith(f"usage: ncclprof [--store FILE] {name}"), result.out)
                for line in result.out.splitlines():
                    self.assertLessEqual(len(line), 80, line)
        self.assertFalse(self.store.exists())

    def test_help_tells_defaults(self):
        for command, option, default in (("ingest", "--max-ratio", "500"), ("report", "--by", "function,size"),
                                         ("stalls", "--factor", "2"), ("diagnose", "--min-gain", "3"),
                                         ("query", "--timeout", "60")):
            text = " ".join(self.run_program(command, "-h").out.split())
            self.assertRegex(text, f"{option} [^()]*\\(default: {default}\\)")

    def test_help_lists_filters_that_apply(self):
        """A filter that a command refuses is not in its help, and one in its help is accepted."""
        self.run_program("ingest", "-q", TOP / "fixtures/tp2dp2pp2-clean")
        filters = {"--rank": "0", "--step": "1", "--tag": "forward", "--communicator": "0-7", "--top": "1"}
        for command, *more in (["diagnose"], ["stragglers"], ["stalls"], ["steps"], ["startup"], ["clocks"], ["report"],
                               ["buffers"], ["html", "-o", "out.html"], ["export", "--to", "sqlite", "-o", "out.db"]):
            text = self.run_program(command, "-h").out
            for option, value in filters.items():
                with self.subTest(command=command, option=option):
                    result = subprocess.run([PROGRAM, "--store", self.store, command, *more, option, value],
                                            capture_output=True, text=True, cwd=self.folder)
                    self.assertEqual(result.returncode == 2, f" {option} " not in text, result.stderr)

    # Words that a command cannot do without, and a value of each option that takes one: for all commands, or for one.
    NEEDED = {"ingest": [SENDER], "merge": ["-o", "merged.db", "shard.db"], "watch": ["--once", SENDER], "record": ["--check"],
              "export": ["--to", "csv", "-o", "out"], "timeline": ["-o", "out.trace"], "html": ["-o", "out.html"],
              "compare": [SENDER, SENDER], "query": ["SELECT 1"], "completion": ["bash"]}
    VALUES = {"--jobs": "1", "--store": "store.db", "--rank": "1", "--step": "2-5", "--tag": "optimizer", "--communicator": "2-3",
              "--host": "node", "--top": "2", "--run": "1", "--min-gain": "4", "--sigmas": "5", "--memory": "100", "--edge": "1-5",
              "--factor": "3", "--min-stall": "4", "--timeout": "9", "--max-ratio": "9", "--max-unpacked": "9", "--range": "0/1",
              "--forget": "1", "--expect": "1", "--interval": "1", "--prometheus": "out.prom", "--until-idle": "1",
              "--tags": "call", "--domains": "default", "--max-bytes": "1G", "--plugin": "plugin.so", "--rows-per-group": "9",
              "--compression": "none", "--fail-over": "5", "--network-noise": "40", "--by": "tag", "--output": "written",
              "--to": "sqlite", "--baseline": SENDER, "--candidate": SENDER, "--html": "compared.html",
              "stalls --value": "steps", "steps --value": "own",
              "report --sort": "instances", "stragglers --sort": "rank", "stalls --sort": "sender", "diagnose --sort": "rank",
              "steps --sort": "step", "buffers --sort": "calls", "clocks --sort": "rank", "startup --sort": "rank",
              "export --sort": "rows", "compare --sort": "key"}
    # Words that an option takes with it, and those that replace what the command needs.
    WITH = {"stalls --value": ["--matrix"], "steps --all": ["--by", "rank"], "steps --value": ["--map"], "ingest --shard": ["--store", "node.db"],
            "ingest --range": ["--store", "task.db"]}
    IN_PLACE = {"export --to": ["-o", "out.db"], "export --output": ["--to", "csv"], "export --rows-per-group": ["--to", "parquet", "-o", "out"],
                "export --compression": ["--to", "parquet", "-o", "out"], "timeline --output": [], "html --output": [],
                "ingest --forget": [], "record --output": ["--check"], "merge --output": ["shard.db"], "query --schema": [], "watch --until-idle": [SENDER],
                "compare --baseline": ["--candidate", SENDER], "compare --candidate": ["--baseline", SENDER]}
    # The file is no plugin; no rank was late in these steps or in this phase, no link is slow there, and no difference is
    # of one host.
    MAY_FAIL = ("record --plugin", "stragglers --step", "stragglers --tag", "steps --tag", "stalls --step", "compare --host")

    def test_every_option_in_help_is_taken(self):
        """Each option that a command lists works by itself, with each value that help names."""
        self.run_program("ingest", "-q", SENDER)
        self.run_program("--store", "shard.db", "ingest", "-q", "--shard", SENDER)
        hosts = self.folder / "hosts.db"
        self.run_program("--store", hosts, "ingest", "-q", TOP / "fixtures/inspector-2.28")
        node = self.json("--store", hosts, "query", "SELECT host FROM v_rank WHERE host IS NOT NULL")["rows"][0]["host"]
        tried = 0
        for command in re.findall(r"^  ([a-z]+) ", self.run_program("--help").out.split("commands:")[1].split("options:")[0], re.M):
            listed = self.run_program(command, "-h").out.partition("\noptions:\n")[2]
            for name, value in re.findall(r"^(?:  -\w, |      )(--[a-z-]+)(?: (\S+))?", listed, re.M):
                key = f"{command} {name}"
                values = [None] if not value else value.split("|") if re.fullmatch(r"[a-z|-]+", value) else \
                    [node if name == "--host" else self.VALUES.get(key) or self.VALUES[name]]
                for word in values:
                    with self.subTest(option=key, value=word):
                        word = f"{command}.{word}" if name == "--output" else word
                        words = [command, name, *([word] if word else []), *self.WITH.get(key, []),
                                 *self.IN_PLACE.get(key, self.NEEDED.get(command, []))]
                        if name == "--host":
                            words = ["--store", hosts, *(word.replace("tp2dp2pp2-slow-sender", "inspector-2.28") for word in map(str, words))]
                        if name == "--forget":
                            words = ["--store", self.folder / "forgotten.db", *words]
                            self.run_program("--store", words[1], "ingest", "-q", SENDER)
                        allowed = (0, 1, 3, 4) if key in self.MAY_FAIL else (0, 3, 4)
                        result = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, cwd=self.folder,
                                                env={**os.environ, "NCCLPROF_STORE": str(self.store)}, timeout=PATIENCE_S)
                        self.assertIn(result.returncode, allowed, f"{words}\n{result.stderr}")
                        tried += 1
        self.assertGreater(tried, 150)

    def test_version(self):
        said = self.run_program("--version").out
        self.assertRegex(said, r"^ncclprof \d+\.\d+\.\d+( \(commit [0-9a-f]{12}(, modified)?\))?\n$")
        wanted = re.search(r"^VERSION := (\S+)$", (TOP / "Makefile").read_text(), re.M).group(1)
        self.assertEqual(said.split()[1], wanted)
        self.assertEqual(self.run_program("-V").out, self.run_program("--version").out)
        self.assertEqual(self.run_program("version").out, self.run_program("--version").out)

    def test_without_a_command_the_usage_is_shown(self):
        result = self.run_program(status=2)
        self.assertEqual(result.out, "")
        self.assertEqual(result.err, self.run_program("--help").out)

    def test_what_was_probably_meant(self):
        for words, meant in (
            (["diagnos"], "unknown command 'diagnos'; did you mean 'diagnose'? See 'ncclprof --help'"),
            (["diganose"], "unknown command 'diganose'; did you mean 'diagnose'? See 'ncclprof --help'"),
            (["rep"], "unknown command 'rep'; did you mean 'report'? See 'ncclprof --help'"),
            (["help", "stragler"], "unknown command 'stragler'; did you mean 'stragglers'? See 'ncclprof --help'"),
            (["diff", "a.db", "b.db"], "unknown command 'diff'; did you mean 'compare'? See 'ncclprof --help'"),
            (["top"], "unknown command 'top'; did you mean 'watch'? See 'ncclprof --help'"),
            (["st"], "unknown command 'st'; see 'ncclprof --help'"),  # stragglers or stalls
            (["x" * 80], f"unknown command '{'x' * 80}'; see 'ncclprof --help'"),
            (["report", "--by-tags"], "report: unknown option --by-tags (did you mean --by-tag?); see 'ncclprof report -h'"),
            (["info", "--fromat=csv"], "info: unknown option --fromat (did you mean --format?); see 'ncclprof info -h'"),
            (["info", "--xyzzy"], "info: unknown option --xyzzy; see 'ncclprof info -h'"),
        ):
            with self.subTest(words=words[-1][:20]):
                self.assertEqual(self.run_program(*words, status=2).err, f"ncclprof: {meant}\n")

    def test_traces_in_place_of_the_store(self):
        traces = str(TOP / "fixtures/tp2dp2pp2-slow-rank")
        self.write("temporary/.keep", "")
        self.run_program("--store", "kept.db", "ingest", traces)
        for command in ("report", "stragglers", "stalls", "diagnose", "clocks"):
            with self.subTest(command=command):
                kept = self.run_program("--store", "kept.db", command, "--format", "json").out
                result = self.run_program(command, "--format", "json", traces, env={"TMPDIR": str(self.folder / "temporary")})
                self.assertEqual(result.out.replace(f" {traces}", f" --store {self.folder}/kept.db"), kept)
                self.assertEqual(os.listdir(self.folder / "temporary"), [".keep"])
        self.assertFalse(self.store.exists())

    def test_traces_go_into_a_store_that_is_named(self):
        self.write("a.json", trace())
        first = self.run_program("--store", "named.db", "report", "a.json").out
        self.assertEqual(self.run_program("--store", "named.db", "report").out, first)

    def test_traces_that_cannot_be_read_whole(self):
        self.write("bad.json", "no trace")
        result = self.run_program("diagnose", "bad.json", status=1)
        self.assertIn("bad.json: not a supported trace (neither JSON nor a known log)", result.err)
        self.assertIn("no traces found in the given paths", result.err)
        self.write("good.json", trace())
        result = self.run_program("report", "good.json", "bad.json", status=1)
        self.assertIn("AllReduce", result.out)
        self.assertIn("cannot create directory", self.run_program("report", "good.json", status=1, env={"TMPDIR": "/nowhere"}).err)

    def test_wrong_usage_is_two_and_one_line(self):
        for words in (
            ["nonsense"],
            ["--nonsense"],
            ["--store"],
            ["ingest"],
            ["ingest", "--nonsense", "x"],
            ["ingest", "--max-ratio", "x", "y"],
            ["ingest", "--max-ratio", "-1", "y"],
            ["ingest", "--max-ratio"],
            ["ingest", "--jobs", "0", "y"],
            ["ingest", "-j", "1x", "y"],
            ["ingest", "--force=yes", "y"],
            ["ingest", "-Z", "y"],
            ["info", "--files", "--ledger"],
            ["info", "--format", "xml"],
            ["info", "--store", ""],
            ["query", "SELECT 1", "SELECT 2"],
            ["query", "--schema", "SELECT 1"],
            ["completion", "csh"],
        ):
            with self.subTest(words=words):
                self.store.unlink(missing_ok=True)
                if "--ledger" in words or "--schema" in words:
                    self.write("a.json", trace())
                    self.run_program("ingest", "a.json")
                result = self.run_program(*words, status=2)
                self.assertEqual(result.out, "")
                self.assertEqual(result.err.count("\n"), 1, result.err)
                self.assertIn("see 'ncclprof ", result.err)

    def test_what_is_wrong_before_the_command(self):
        for words, says in (
            (["--store"], "--store needs a file name"),
            (["--store", "", "info"], "--store needs a file name"),
            (["--store=", "info"], "--store needs a file name"),
            (["--format", "json", "info"], "option --format must follow the command name"),
            (["--format=json", "info"], "option --format must follow the command name"),
            (["--by-tag", "report"], "option --by-tag must follow the command name"),
            (["--formats", "info"], "unknown option --formats"),
            (["-f", "info"], "unknown option -f"),
        ):
            with self.subTest(words=words):
                self.assertEqual(self.run_program(*words, status=2).err, f"ncclprof: {says}; see 'ncclprof --help'\n")

    def test_missing_store_is_one(self):
        result = self.run_program("info", status=1)
        self.assertIn("does not exist; create it with: ncclprof ingest", result.err)
        self.assertEqual(result.out, "")
        self.assertFalse(self.store.exists())

    def test_store_is_found_four_ways(self):
        self.write("a.json", trace())
        other = self.folder / "other.db"
        self.run_program("--store", other, "ingest", "a.json")
        for words in (["--store", other, "info"], ["info", "--store", other], [f"--store={other}", "info"],
                      ["info", f"--store={other}"]):
            self.assertIn("processes", self.run_program(*words).out)
        self.run_program("info", env={"NCCLPROF_STORE": str(other)})
        other.rename(self.folder / "ncclprof.db")
        self.run_program("info", env={"NCCLPROF_STORE": ""})

    def test_options_and_operands_mix(self):
        path = self.write("-odd.json", trace())
        self.run_program("ingest", "-q", "--", path.name)
        self.run_program("ingest", path, "--force", "-q")
        self.run_program("ingest", "-qf", path)

    def test_a_full_disk_is_not_success(self):
        self.write("a.json", trace())
        self.run_program("ingest", "a.json")
        for rank in range(1, 40):
            self.write(f"traces/{rank}.json", trace(rank=rank))
        long = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000) SELECT i FROM n"
        for words in (["info"], ["--help"], ["query", "SELECT 1"], ["info", "--format", "json"], ["query", long],
                      ["query", "--format", "json", long], ["query", "--format", "csv", long], ["completion", "bash"],
                      ["ingest", "--format", "json", self.folder / "traces"]):
            with self.subTest(words=words), open("/dev/full", "w") as full:
                result = subprocess.run([PROGRAM, "--store", self.store, *words], stdout=full, stderr=subprocess.PIPE,
                                        text=True)
                self.assertEqual(result.returncode, 1)
                self.assertEqual(result.stderr, "ncclprof: cannot write output: No space left on device\n")

    def test_a_closed_pipe_is_quiet(self):
        self.write("a.json", trace())
        self.run_program("ingest", "a.json")
        sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000) SELECT i FROM n"
        process = subprocess.Popen([PROGRAM, "--store", self.store, "query", "--format", "csv", sql],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdout.readline()
        process.stdout.close()
        self.assertEqual(process.stderr.read(), b"")
        process.stderr.close()
        self.assertNotEqual(process.wait(timeout=PATIENCE_S), 0)

    def test_no_colour_outside_a_terminal(self):
        self.write("a.json", trace())
        self.assertNotIn("\033", self.run_program("ingest", "a.json").out)
        self.assertNotIn("\033", self.run_program("info", "--files").out)

    def on_a_terminal(self, words, typed, **environment):
        """The text that a shell shows after `typed` is typed."""
        terminal, other = pty.openpty()
        shell = subprocess.Popen(words, cwd=self.folder, stdin=other, stdout=other, stderr=other, start_new_session=True,
                                 env={"PATH": os.environ["PATH"], "PROGRAM": PROGRAM, "TERM": "dumb", "HOME": str(self.folder),
                                      **environment})
        os.write(terminal, typed)
        return shown_on(terminal, other, shell)

    def test_completion_of_files(self):
        """Names with spaces are one quoted word each, in a shell on a terminal."""
        self.write("my traces/a trace.json", trace())
        self.write("init", 'eval "$("$PROGRAM" completion bash)"; PS1="$ "; bind "set enable-bracketed-paste off"\n')
        shown = self.on_a_terminal(["bash", "--noprofile", "--rcfile", "init", "-i"],
                                   b"ncclprof() { printf '<%s>' \"$@\"; }\n"
                                   b"ncclprof ingest my\ta\t\n"
                                   b"ncclprof diagnose my\ta\t\n"
                                   b"ncclprof --store my\ta\t info\nexit\n")
        self.assertIn(b"\n<ingest><my traces/a trace.json>", shown)
        self.assertIn(b"<diagnose><my traces/a trace.json>", shown)
        self.assertIn(b"<--store><my traces/a trace.json><info>", shown)

    def test_a_pager_on_a_terminal_only(self):
        self.write("a.json", trace())
        self.run_program("ingest", "a.json")
        command, said = [PROGRAM, "--store", str(self.store), "report"], b"function"
        self.assertIn(b"<" + said, self.on_a_terminal(command, b"", TERM="vt100", PAGER="sed 's/^/</'"))
        self.assertIn(b"{" + said, self.on_a_terminal(command, b"", TERM="vt100", PAGER="sed 's/^/</'", NCCLPROF_PAGER="sed 's/^/{/'"))
        for none in ("", "cat"):
            shown = self.on_a_terminal(command, b"", TERM="vt100", PAGER=none)
            self.assertIn(said, shown)
            self.assertNotIn(b"<", shown)
        self.assertIn(said, self.on_a_terminal(command, b"", TERM="vt100"))  # less exits at once, because everything fits
        self.assertNotIn("<", self.run_program("report", env={"TERM": "vt100", "PAGER": "sed 's/^/</'"}).out)
        self.assertNotIn(b"<", self.on_a_terminal(command, b"", PAGER="sed 's/^/</'"))  # TERM is dumb
        # A user who leaves the pager early has seen enough; no process is left behind.
        folder = self.write("temporary/.keep", "").parent
        self.on_a_terminal([PROGRAM, "report", "a.json"], b"", TERM="vt100", PAGER="true", TMPDIR=str(folder))
        self.assertEqual(os.listdir(folder), [".keep"])

    def test_completion_of_zsh(self):
        self.write(".zshrc", 'PS1="$ "; autoload -Uz compinit; compinit -D -u; eval "$("$PROGRAM" completion zsh)"\n'
                             "ncclprof() { printf '<%s>' \"$@\"; }\nunsetopt zle_bracketed_paste prompt_cr prompt_sp; bindkey '^I' expand-or-complete\n")
        self.write("my traces/a.json", trace())
        shown = self.on_a_terminal(["zsh", "-i"],
                                   b"ncclprof repo\t--by=tag,func\t\n"
                                   b"ncclprof stalls --value recv\t\n"
                                   b"ncclprof info --form\tcs\t\n"
                                   b"ncclprof completion fi\t\n"
                                   b"ncclprof diagnose my\ta\t\nexit\n")
        for said in (b"<report><--by=tag,function>", b"<stalls><--value><recv_wait_us_p50>", b"<info><--format=csv>",
                     b"<completion><fish>", b"<diagnose><my traces/a.json>"):
            self.assertIn(said, shown)

    def test_completion_of_fish(self):
        self.write("traces/a.json", trace())
        for line, completed in (
            ("rep", ["report"]), ("report --by tag,func", ["tag,function"]), ("stalls --value verd", ["verdict"]),
            ("info --format j", ["json"]), ("diagnose --exit", ["--exit-code"]), ("completion z", ["zsh"]),
            ("help que", ["query"]), ("diagnose tra", ["traces/"]), ("query --sch", ["--schema"]),
        ):
            script = f'"$PROGRAM" completion fish | source; complete -C "ncclprof {line}"'
            answer = subprocess.run(["fish", "--no-config", "-c", script], capture_output=True, text=True, cwd=self.folder,
                                    env={"PATH": os.environ["PATH"], "PROGRAM": PROGRAM, "HOME": str(self.folder)})
            self.assertEqual([line.split("\t")[0] for line in answer.stdout.splitlines()], completed, line)
            self.assertEqual(answer.stderr, "")

    def test_completion_is_a_script(self):
        script = self.run_program("completion", "bash").out + (
            'COMP_WORDS=(ncclprof ingest --f); COMP_CWORD=2; _ncclprof; echo "${COMPREPLY[*]}"\n'
            'COMP_WORDS=(ncclprof --store x qu); COMP_CWORD=3; _ncclprof; echo "${COMPREPLY[*]}"\n'
            'COMP_WORDS=(ncclprof info --format js); COMP_CWORD=3; _ncclprof; echo "${COMPREPLY[*]}"\n'
            'compopt() { :; }\n'
            'COMP_WORDS=(ncclprof report --by tag,func); COMP_CWORD=3; _ncclprof; echo "${COMPREPLY[*]}"\n'
            'COMP_WORDS=(ncclprof stalls --value verd); COMP_CWORD=3; _ncclprof; echo "${COMPREPLY[*]}"\n'
        )
        answer = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True,
                                env={"PATH": os.environ["PATH"]})
        self.assertEqual(answer.stdout, "--force --forget --format\nquery\njson\ntag,function\nverdict\n")
        self.assertEqual(answer.stderr, "")


class Install(Case):
    def test_others_can_read_it_whatever_the_umask(self):
        """As root with umask 077: every folder can be entered, every file read, and the programs run."""
        built = os.path.dirname(os.path.abspath(PROGRAM))
        sanitizer = built.split("/san-")[1].replace("-", ",") if "/san-" in built else ""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE") and name != "MFLAGS"}
        subprocess.run(["make", "-s", "-o", "all", "install", f"SAN={sanitizer}", f"DESTDIR={self.folder}/root", "PREFIX=/usr"],
                       cwd=TOP, env=environment, umask=0o077, check=True, capture_output=True)
        modes = {}
        for folder, _, names in os.walk(self.folder / "root"):
            modes.setdefault(os.stat(folder).st_mode & 0o777, []).append(folder)
            for name in names:
                modes.setdefault(os.stat(os.path.join(folder, name)).st_mode & 0o777, []).append(name)
        self.assertEqual(set(modes), {0o644, 0o755}, modes)
        self.assertEqual([name for name in modes[0o755] if not name.startswith("/")], ["ncclprof"])
        for name in ("ncclprof.1", "ncclprof_views.so", "ncclprof_tag.h", "_ncclprof", "ncclprof.fish"):
            self.assertIn(name, modes[0o644])
