"""A study of many small jobs over shapes, recorders, faults, onsets and costs: how often diagnose names the cause.

`eval.py --study N --seed S`. Job i of seed s is always the same job. The amount of each fault is adjusted until its true cost,
as a share of the run, is in the class that was drawn: 3 to 10 %, or more. The expected answer comes from the plan of the job:
which ranks have the fault, and what these records cannot tell apart (Plan.answers). Findings of medium and high confidence
count. A job is

- exact: every fault that costs the run 3 % and more is named, with its kind, and nobody else;
- kind: the same, but a kind is not right;
- part: some of the ranks of a slow host, or one of two faults, and nobody else;
- wrong: an innocent rank is accused, too, or alone;
- unnamed: nobody is accused, but there is a finding of low confidence on the culprit, or longer steps without a culprit;
- silent: anything else.

Jobs in which no record shows that there is a fault (Plan.shows) are counted separately. `--recorder NAME` records all jobs by
this recorder (ALONE), instead of the one that was drawn for each; `--recorder all`, or several names, prints a table with a row
for each of them. `--traces DIR` keeps the traces of all jobs there, for other runs with the same simulator: most of the time is
spent on making them.
"""
import argparse
import collections
import concurrent.futures
import hashlib
import itertools
import json
import os
import random
import shlex
import shutil
import statistics
import subprocess
import tempfile

LEAST_SHARE, STRONG_SHARE = 3.0, 10.0  # percent of the run
CLASSES = {"strong": (10.5, 30), "weak": (3.4, 9.5)}
MOST_CANDIDATES = 4
ROUNDS = 8  # to adjust the amount
NOT_JUDGED = 4  # exit status
VERDICTS = ["exact", "kind", "part", "unnamed", "silent", "wrong"]

RECORDERS = {"plugin": 35, "example plugin": 25, "Inspector": 25, "Kineto": 15}
DIALECTS = {"plugin": ["chrome-v7"], "example plugin": ["chrome-v4", "chrome-v5", "chrome-v6"],
            "Inspector": ["inspector-2.30"], "Kineto": ["kineto"]}
HAS_NETWORK_STEPS = {"plugin", "example plugin"}
TERSE, UNTIMED = "inspector-2.30-terse", "flight-recorder"
# The recorders that `--recorder` names; `drops`: loses 1 to 10 % of the finished operations.
Recorder = collections.namedtuple("Recorder", "family dialects drops", defaults=[False])
ALONE = {
    "plugin": Recorder("plugin", ["chrome-v7"]),
    "example-plugin": Recorder("example plugin", DIALECTS["example plugin"]),
    "inspector-verbose": Recorder("Inspector", ["inspector-2.30"]),
    "inspector-verbose-drops": Recorder("Inspector", ["inspector-2.30"], True),
    "inspector": Recorder("Inspector", [TERSE]),
    "inspector-drops": Recorder("Inspector", [TERSE], True),
    "kineto": Recorder("Kineto", ["kineto"]),
    "flight-recorder-timing": Recorder("Flight Recorder", ["flight-recorder-timing"]),
    "flight-recorder": Recorder("Flight Recorder", [UNTIMED]),
}
MOST_LOSSES = 12  # rows of the table by share of lost operations
COMPARED_SHARE = 5.0  # percent of the run: faults that the table of recorders counts
OUTCOMES = ["exact", "late", "candidates", "kind", "part"]  # in which a fault is named, best first
COLUMNS = {"exact": "exact", "late": "late, right rank", "candidates": "candidates, right among them", "kind": "other kind",
           "part": "part", "unnamed": "unnamed", "silent": "silent", "wrong": "wrong", "not judged": "not judged",
           "not recorded": "not recorded"}

# Ranks, ranks per host, and: tensor, data, pipeline parallel and microbatches; or the size of rings. In "host is stage", a
# pipeline stage is a host.
LAYOUTS = {
    "ddp": [(8, 4, ()), (16, 8, ()), (16, 4, ()), (32, 8, ())],
    "fsdp": [(8, 4, ()), (16, 8, ()), (16, 4, ())],
    "hsdp": [(8, 4, ()), (16, 4, ()), (32, 8, ())],
    "zero1": [(8, 4, ()), (16, 8, ())],
    "moe": [(8, 4, ()), (16, 8, ()), (16, 4, ()), (32, 8, ())],
    "context": [(8, 4, (4,)), (16, 4, (8,)), (16, 4, (4,)), (32, 8, (8,))],
    "3d": [(8, 4, (2, 4, 1, 1)), (16, 8, (4, 4, 1, 1)), (16, 4, (2, 4, 2, 2)), (32, 8, (4, 4, 2, 2)), (8, 4, (2, 2, 2, 2))],
    "1f1b": [(8, 4, (1, 4, 2, 4)), (16, 4, (2, 4, 2, 4)), (16, 8, (2, 2, 4, 8)), (32, 8, (4, 4, 2, 4))],
    "interleaved": [(8, 4, (2, 2, 2, 4)), (16, 8, (2, 2, 4, 4)), (16, 4, (2, 4, 2, 4))],
    "host is stage": [(8, 4, (2, 2, 2, 4)), (16, 4, (2, 2, 4, 8)), (32, 8, (2, 4, 4, 6))],
}
SHAPES = {"ddp": 14, "fsdp": 12, "hsdp": 12, "zero1": 5, "moe": 11, "context": 10, "3d": 13, "1f1b": 12, "interleaved": 7,
          "host is stage": 7}

FAULTS = {"one GPU": 16, "late host": 16, "GPUs of a host": 9, "network": 16, "contended GPU": 9, "contended CPU": 9, "switch": 6,
          "lost trace": 7, "two faults": 12, "none": 38}
SINGLE = ["one GPU", "late host", "network", "contended GPU"]  # of which two may happen in a job
ONSETS = {"step 0": 40, "later": 40, "every k-th": 20}
# Healthy jobs besides those that repeat the same step; the shape for which it is, if any.
VARIATIONS = [(None, ["--own-batches", 8]), (None, ["--batches", 10]), (None, ["--sequences", "50:8"]), (None, ["--evaluate", 5]),
              ("moe", ["--hot-expert", "60:4"])]
LOST_INNOCENTS = 0.06
SLOW_LINKS = 0.3  # of network faults
MOST_AMOUNT = {"throttle": 300, "gpu-share": 300, "cpu-share": 500, "switch": 2000, "links": 3000}


def choose(rng, weights):
    return rng.choices(list(weights), list(weights.values()))[0]


class Fault:
    """A planted fault. `amount` is what the simulator takes; `unit` is what follows it (%)."""

    def __init__(self, name, kind, where, ranks, steps, amount, unit="", phase="*"):
        self.name, self.kind, self.where, self.ranks, self.steps = name, kind, where, ranks, steps
        self.amount, self.unit, self.phase = amount, unit, phase

    def text(self):
        return f"{self.name}:{self.where}:{self.steps}:{self.amount:.1f}{self.unit}:{self.phase}"


# What names a fault: all of `ranks`, or one of the sets `groups`; some of `ends`, with the culprit; or candidates, a few members
# of one of the sets `open`.
Answers = collections.namedtuple("Answers", "kinds ranks groups ends open")


class Plan:
    """Job `number` of a seed: what is simulated, and which answers are right."""

    def __init__(self, seed, number):
        rng = random.Random(f"study/{seed}/{number}")
        self.number, self.alone, self.drop = number, None, None
        self.shape, self.recorder = choose(rng, SHAPES), choose(rng, RECORDERS)
        self.dialect = rng.choice(DIALECTS[self.recorder])
        self.ranks, self.per_node, self.layout = rng.choice(LAYOUTS[self.shape])
        self.steps = rng.randint(16, 30)
        self.fault, self.onset, self.cost_class = choose(rng, FAULTS), choose(rng, ONSETS), rng.choice(list(CLASSES))
        self.target = rng.uniform(*CLASSES[self.cost_class])
        name = "1f1b" if self.shape == "host is stage" else self.shape
        self.options = ["--shape", name, "--ranks", self.ranks, "--per-node", self.per_node, "--layers", rng.choice([2, 3]),
                        "--steps", self.steps, "--seed", rng.randrange(1 << 30), *self.draw_options(rng)]
        self.stage = 0  # ranks of a pipeline stage; 0: no pipeline
        if len(self.layout) > 1 and self.layout[2] > 1:
            self.stage = self.layout[0] * self.layout[1]
        self.lost = None
        self.faults = self.draw_faults(rng)
        self.slow_links(random.Random(f"links/{seed}/{number}"))
        if self.fault == "none":
            self.onset = self.cost_class = "-"
            if rng.random() < 0.25:
                only, extra = rng.choice(VARIATIONS)
                self.options += extra if only in (None, self.shape) else []
        if self.lost is None and self.fault not in ("two faults", "switch") and rng.random() < LOST_INNOCENTS:
            culprits = {rank for fault in self.faults for rank in fault.ranks or range(self.ranks)}
            innocent = [rank for rank in range(self.ranks) if rank not in culprits]
            self.lost = rng.choice(innocent) if innocent else None

    def record_by(self, name, seed, drops):
        """The same job, recorded by this recorder, which loses one of the shares `drops`; none: any from 1 to 10 %."""
        rng = random.Random(f"recorder/{seed}/{self.number}")
        self.alone, self.recorder, self.dialect = name, ALONE[name].family, rng.choice(ALONE[name].dialects)
        if ALONE[name].drops:
            drawn = f"{rng.uniform(0.01, 0.1):.3f}"
            self.drop = drops[self.number % len(drops)] if drops else drawn
            self.options += ["--drop", self.drop]
        return self

    def draw_options(self, rng):
        options = []
        if len(self.layout) > 1:
            tp, dp, pp, batches = self.layout
            options += ["--tp", tp, "--dp", dp, "--pp", pp, "--microbatches", batches]
        elif self.layout:
            options += ["--cp", self.layout[0]]
        fast = ["--network-gbs", 25, "--nvlink-gbs", 200]
        options += fast if self.shape == "interleaved" else rng.choice([[], fast])
        # Slices of schedulers are milliseconds, as in recorded jobs, whose steps last 200 ms to a second.
        if self.fault.startswith("contended"):
            options += ["--compute", rng.choice([5, 8, 12] if self.fault == "contended GPU" else [2, 3, 5])]
        elif rng.random() < 0.35:
            options += ["--compute", 3]
        options += ["--algorithm", "tree"] if self.shape in ("ddp", "hsdp") and rng.random() < 0.2 else []
        return options + (["--sync-lag", 1] if rng.random() < 0.2 else [])

    def nodes(self):
        return (self.ranks + self.per_node - 1) // self.per_node

    def node_of(self, rank):
        return rank // self.per_node

    def on_node(self, node):
        return list(range(node * self.per_node, min((node + 1) * self.per_node, self.ranks)))

    def draw_steps(self, rng):
        if self.onset == "step 0":
            return f"0:{self.steps - 1}"
        if self.onset == "later":
            first = rng.randint(4, self.steps // 2)
            last = self.steps - 1 if rng.random() < 0.6 else min(self.steps - 1, first + rng.randint(5, 10))
            return f"{first}:{last}"
        every = rng.randint(3, 5)
        return f"{rng.randint(1, every)}:{self.steps - 1}/{every}"

    def draw_one(self, rng, kind, taken):
        """A fault on ranks of hosts that are not taken."""
        steps = self.draw_steps(rng)
        node = rng.choice([node for node in range(self.nodes()) if node not in taken])
        taken.add(node)
        here = self.on_node(node)
        rank = rng.choice(here)
        if kind == "one GPU":
            return Fault("throttle", "compute", rank, [rank], steps, 20)
        if kind == "late host":
            name, phase = rng.choice([("checkpoint", "*"), ("host", "forward"), ("loader", "*"), ("loader", "*"), ("collection", "*")])
            return Fault(name, "host", rank, [rank], steps, self.target, "%", phase)
        if kind == "GPUs of a host":
            return Fault("throttle", "compute", f"node{node}", here, steps, 20)
        if kind == "contended GPU":
            return Fault("gpu-share", "compute", rank, [rank], steps, 20)
        if kind == "contended CPU":
            # All ranks of a host, or one; mostly one of those that exchange data with other hosts.
            if rng.random() < 0.4:
                return Fault("cpu-share", "host", f"node{node}", here, steps, 60)
            rank = rng.choice([here[0], here[-1], rank])
            return Fault("cpu-share", "host", rank, [rank], steps, 60)
        if kind == "switch":
            side = list(range(self.nodes() // 2 * self.per_node))
            return Fault("switch", "network", f"0-{side[-1]}", side, steps, 100)
        name = rng.choice(["net", "net", "edge", "receive"])
        return Fault(name, "network", "?", None, steps, self.target, "%")

    def draw_faults(self, rng):
        taken = set()
        if self.fault == "none":
            return []
        if self.fault == "two faults":
            self.target = max(self.target / 2, LEAST_SHARE * 1.1)
            kinds = rng.sample(SINGLE, 2) if rng.random() < 0.7 else [rng.choice(SINGLE[:2])] * 2
            return [self.draw_one(rng, kind, taken) for kind in kinds]
        if self.fault == "lost trace":
            fault = self.draw_one(rng, rng.choice(["one GPU", "late host", "contended GPU"]), taken)
            self.lost = fault.ranks[0]
            return [fault]
        return [self.draw_one(rng, self.fault, taken)]

    def slow_links(self, rng):
        """Some network faults are slow links of a rank, inside its host, too: no recorder has network steps of those."""
        if self.fault != "network" or rng.random() >= SLOW_LINKS:
            return
        self.fault, rank = "slow links", rng.randrange(self.ranks)
        self.faults = [Fault("links", "network", rank, [rank], self.faults[0].steps, 200)]

    def command(self, dialect):
        words = [*map(str, self.options), "--dialect", dialect]
        words += ["--lose", str(self.lost)] if self.lost is not None else []
        for fault in self.faults:
            words += ["--fault", fault.text()]
        return words

    def answers(self, fault, truth):
        ranks, kinds = frozenset(fault["ranks"]), {fault["kind"]}
        if self.dialect == TERSE and kinds & {"compute", "host"}:
            kinds = kinds | {"late"}
        groups = [frozenset(c["ranks"]) for c in truth["communicators"] if len(truth["communicators"]) == 1
                  or len(c["ranks"]) < self.ranks]
        mine = [group for group in groups if group & ranks]
        if self.lost in ranks:
            return Answers({"compute", "host", "late", "missing"}, ranks, [], ranks, mine)
        if self.fault == "switch":
            return self.answers_of_switch(kinds, ranks, groups, fault["crossing"])
        if self.fault == "contended CPU" and self.recorder in ("Kineto", "Flight Recorder"):
            # They show neither the proxy thread nor when it notices a kernel.
            return Answers(kinds | {"network"}, ranks, mine, ranks, mine)
        if fault["kind"] != "network":
            return Answers(kinds, ranks, [], ranks, [])
        ends = ranks | set(fault["peers"]) | {fault.get("equivalent_rank", fault["rank"])}
        if self.recorder in HAS_NETWORK_STEPS and self.fault != "slow links":
            return Answers(kinds, ranks, [], ends, [ends])
        # Without network steps, a transfer that takes long is that of a communicator, or of the network card of a host.
        hosts = [frozenset(self.on_node(self.node_of(rank))) for rank in ends]
        return Answers(kinds, ranks, [*mine, *hosts], ends, mine or groups)

    def answers_of_switch(self, kinds, side, groups, crossing):
        everybody = frozenset(range(self.ranks))
        ends = frozenset(rank for pair in crossing for rank in pair)
        across = [group for group in groups if group & side and group - side]
        within = across if self.recorder not in HAS_NETWORK_STEPS else []
        return Answers(kinds, frozenset(pair[0] for pair in crossing), [ends, side, everybody - side, everybody, *within], ends, across)

    def shows(self, truth):
        """Whether the records show the fault: what is slow from the first step on has another like it, or sisters."""
        if self.dialect == UNTIMED:
            return False  # It has neither durations nor starts.
        if self.onset != "step 0" or len(self.faults) != 1:
            return True
        has_steps = self.recorder in HAS_NETWORK_STEPS
        if len(self.faults[0].ranks or []) > 1 and self.fault != "switch" and 0 < self.stage <= self.per_node:
            return False  # All ranks of a stage: one that has more work looks the same.
        if self.fault == "slow links" or (self.fault == "network" and not has_steps):
            return sum(len(c["ranks"]) < self.ranks for c in truth["communicators"]) > 1
        if self.fault == "switch":
            return has_steps and self.nodes() >= 4  # else all links between hosts are equally slow
        return True


def run(command, limit=600):
    return subprocess.run(command, capture_output=True, text=True, timeout=limit)


def shares(truth, what="lost_us"):
    """The cost of each fault in percent of the run without it: beside the other fault, or alone."""
    clean = truth["clean_step_us"] * truth["steps"]
    return [100 * fault[what] / clean for fault in truth["faults"]]


def simulate(options, words, directory):
    done = run([options.simulate, *words, "-o", directory])
    if done.returncode != 0:
        raise ValueError("simulate: " + done.stderr.strip()[:200])
    path = os.path.join(directory, "truth.json")
    with open(path) as file:
        truth = json.load(file)
    os.remove(path)
    return truth


def next_amount(fault, cost, target, tried):
    """Between amounts that cost too little and too much, if both are known; else in proportion to the cost."""
    tried.append((fault.amount, cost))
    low = max((amount for amount, got in tried if got < target), default=None)
    high = min((amount for amount, got in tried if got > target), default=None)
    amount = fault.amount * min(8.0, max(0.125, target / max(cost, 0.05)))
    if low is not None and high is not None and not low < amount < high:
        amount = (low * high) ** 0.5
    return min(amount, MOST_AMOUNT.get(fault.name, amount))


def adjust(options, plan, work):
    """Changes the amounts until the costs are in the class of the plan."""
    least, most = CLASSES[plan.cost_class]
    tried = [[] for _ in plan.faults]
    for number in range(ROUNDS):
        directory = os.path.join(work, f"round{number}")
        costs = shares(simulate(options, plan.command("inspector-2.30"), directory), "alone_us")
        shutil.rmtree(directory)
        wrong = [i for i, cost in enumerate(costs) if not least / len(costs) <= cost <= most * 1.04]
        if not wrong:
            return
        for i in wrong:
            plan.faults[i].amount = next_amount(plan.faults[i], costs[i], plan.target, tried[i])


def set_amounts(plan, amounts):
    for fault, amount in zip(plan.faults, amounts):
        fault.amount = amount


def make(options, plan, work, traces, amounts):
    """Simulates the job; its truth. The amounts are known if it was simulated before for another recorder."""
    if amounts is not None:
        set_amounts(plan, amounts)
    elif plan.faults:
        adjust(options, plan, work)
    return simulate(options, plan.command(plan.dialect) + ["--gzip"] * bool(options.traces), traces)


def kept_key(options, plan):
    """Depends on the simulator and on all that was drawn."""
    with open(options.simulate, "rb") as file:
        digest = hashlib.sha256(file.read())
    digest.update(" ".join([*plan.command(plan.dialect), str(plan.lost), plan.cost_class, str(plan.target)]).encode())
    return digest.hexdigest()[:16]


def traces_of(options, plan, work, amounts):
    """(truth, folder of traces), made or kept from an earlier run."""
    if not options.traces:
        traces = os.path.join(work, "traces")
        return make(options, plan, work, traces, amounts), traces
    kept = os.path.join(options.traces, f"{options.seed}-{plan.number}-{kept_key(options, plan)}")
    if not os.path.isdir(kept):
        new = tempfile.mkdtemp(prefix="new-", dir=options.traces)
        truth = make(options, plan, work, os.path.join(new, "traces"), amounts)
        with open(os.path.join(new, "truth.json"), "w") as file:
            json.dump({"truth": truth, "amounts": [fault.amount for fault in plan.faults]}, file)
        try:
            os.rename(new, kept)
        except OSError:  # Another run was faster.
            shutil.rmtree(new)
    with open(os.path.join(kept, "truth.json")) as file:
        found = json.load(file)
    set_amounts(plan, found["amounts"])
    return found["truth"], os.path.join(kept, "traces")


def play_all(options, plans):
    """The results of one job, recorded by each recorder in turn."""
    results, amounts = [], None
    for plan in plans:
        results.append(play(options, plan, amounts))
        amounts = amounts or [fault.amount for fault in plan.faults if results[-1]["error"] is None] or None
    return results


def play(options, plan, amounts):
    """The result of one job."""
    work = tempfile.mkdtemp(prefix="ncclprof-study-")
    store = os.path.join(work, "store.db")
    result = {"plan": plan, "error": None, "work": work}
    try:
        result["truth"], traces = traces_of(options, plan, work, amounts)
        done = run([options.ncclprof, "--store", store, "ingest", "-q", traces])
        if done.returncode not in (0, 1):
            raise ValueError("ingest: " + done.stderr.strip()[:200])
        done = run([options.ncclprof, "--store", store, "diagnose", "--exit-code", "--format", "json"])
        if done.returncode not in (0, 3, NOT_JUDGED):
            raise ValueError("diagnose: " + done.stderr.strip()[:200])
        result["judged"] = done.returncode != NOT_JUDGED
        result["answer"] = json.loads(done.stdout)
        judge(result)
    except (OSError, ValueError, KeyError, subprocess.TimeoutExpired) as problem:
        result["error"] = f"{type(problem).__name__}: {problem}"
    result.pop("answer", None)  # too large to keep for all jobs
    if not options.keep_failures:
        shutil.rmtree(work)
    return result


def accused(finding):
    """(ranks, whether they are candidates)."""
    if finding["candidates"]:
        return frozenset(finding["candidates"]), True
    return frozenset(finding["ranks"] or [finding["rank"]]), False


def wrong_end(finding, answers):
    """Whether it accuses the other end of a slow link."""
    return "network" in answers.kinds and bool(frozenset(finding["peers"]) & answers.ranks)


def names(finding, answers):
    """"yes" if the finding names the fault, "part" if it leaves open or leaves out what the records show, "no" if it accuses
    others.
    """
    ranks, is_open = accused(finding)
    if ranks == answers.ranks or ranks in answers.groups:
        return "yes"
    if not is_open:
        if not ranks <= answers.ends:
            return "part" if finding["kind"] == "network" and wrong_end(finding, answers) else "no"
        return "part" if len(answers.ranks) > 1 and not ranks >= answers.ranks else "yes"
    if not ranks & answers.ranks:
        return "no"
    few = len(ranks) <= MOST_CANDIDATES
    return "yes" if few and any(ranks <= group for group in answers.open) else "part"


def outcome_of(findings, fault_answers, whole):
    """What OUTCOMES calls the way in which findings, with their matches, name one fault; None: they do not."""
    named = [f for f, match in findings if match == "yes" or whole]
    sure = {f["kind"] for f in named if not accused(f)[1]}
    if sure & fault_answers.kinds - {"late"}:
        return "exact"
    if "late" in sure:
        return "late"
    if sure:
        return "kind"
    sets = [ranks for ranks, is_open in (accused(f) for f, _ in findings) if is_open]
    if any(ranks & fault_answers.ranks and (len(ranks) <= MOST_CANDIDATES or ranks in fault_answers.groups) for ranks in sets):
        return "candidates"
    return "part" if findings else None


def judge(result):
    """Adds verdict, share (cost in percent of the run), ratio of costs, the number of findings that name the faults, and for
    the table of recorders the outcome: of several faults, that of the one that is named least well; or the verdict if it names no fault.
    """
    plan, truth, answer = result["plan"], result["truth"], result["answer"]
    faults = truth["faults"]
    costs = shares(truth)
    answers = [plan.answers(fault, truth) for fault in faults]
    strong = [f for f in answer["findings"] if f["confidence"] != "low"]
    low = [f for f in answer["findings"] if f["confidence"] == "low"]
    matches = [[names(f, a) for a in answers] for f in strong]
    wrong = [f for f, match in zip(strong, matches) if all(m == "no" for m in match)]
    result["share"] = max(sum(costs), *shares(truth, "alone_us"), 0)
    result["longer"] = any(not row["explained"] for row in answer["summary"]["longer_steps"])
    result["accused"] = [(sorted(accused(f)[0]), f["kind"], f["first_step"], f["last_step"], f["period"], f["confidence"])
                         for f in answer["findings"]]
    result["innocent"] = bool(wrong)
    result["findings"] = len(strong)
    if not faults:
        result["verdict"] = result["outcome"] = "wrong" if strong else "unnamed" if low or result["longer"] else "exact"
        return
    # Of two that hide each other, one is enough.
    wanted = [i for i, cost in enumerate(costs) if cost >= LEAST_SHARE] or [max(range(len(costs)), key=lambda i: costs[i])]
    whole, kinds_right, outcomes = 0, True, []
    for i in wanted:
        mine = [(f, m[i]) for f, m in zip(strong, matches) if m[i] != "no"]
        all_ranks = frozenset().union(*(accused(f)[0] for f, _ in mine if not accused(f)[1]))
        is_whole = any(m == "yes" for _, m in mine) or all_ranks >= answers[i].ranks
        outcomes.append(outcome_of(mine, answers[i], all_ranks >= answers[i].ranks))
        if is_whole:
            whole += 1
            kinds_right &= any(f["kind"] in answers[i].kinds for f, _ in mine)
    result["account"] = account_of(result, wrong)
    hit = any(m != "no" for match in matches for m in match)
    if wrong:
        result["verdict"] = "wrong"
    elif whole == len(wanted):
        result["verdict"] = "exact" if kinds_right else "kind"
    elif hit:
        result["verdict"] = "part"
    elif any(names(f, a) != "no" for f in low for a in answers) or result["longer"] or answer["summary"]["undetermined"]:
        result["verdict"] = "unnamed"
    else:
        result["verdict"] = "silent"
    named = result["verdict"] in ("exact", "kind", "part")
    result["outcome"] = result["verdict"] if not named else "part" if None in outcomes else max(outcomes, key=OUTCOMES.index)
    if result["verdict"] == "exact":
        lost = sum(faults[i]["lost_us"] for i in range(len(faults)))
        result["ratio"] = sum(f["lost_us"] for f in strong) / lost if lost > 0 else None


def account_of(result, wrong):
    """{what: us}: where the cost of the planted faults is in the account; none of them more than is left of the cost."""
    summary, left = result["answer"]["summary"], sum(fault["lost_us"] for fault in result["truth"]["faults"])
    innocent = sum(finding["account_us"] or 0 for finding in wrong)
    parts = [("explained by findings", (summary["explained_us"] or 0) - innocent)]
    parts += [(part["reason"], part["us"]) for part in summary["undetermined"] if part["us"]]
    account = {}
    for what, lost_us in parts:
        account[what] = max(0, min(lost_us, left))
        left -= account[what]
    return dict(account, **{"not in the account": max(0, left)})


def row_of(name, results):
    counts = collections.Counter(r["verdict"] for r in results)
    return [name, len(results), *(counts[v] or "." for v in VERDICTS)]


def print_table(title, rows, heads):
    print(f"\n{title}\n")
    cells = [heads, ["---"] * len(heads), *rows]
    for row in cells:
        print("| " + " | ".join(str(cell) for cell in row) + " |")


def print_by(title, results, key, order=None):
    groups = collections.defaultdict(list)
    for result in results:
        groups[key(result)].append(result)
    known = [name for name in order or sorted(groups) if name in groups]
    if not known:
        return
    print_table(title, [row_of(name, groups[name]) for name in known], [title, "jobs", *VERDICTS])


def cost_of(result):
    share = result["share"]
    return "10 % and more" if share >= STRONG_SHARE else "3 to 10 %" if share >= LEAST_SHARE else "below 3 %"


def fault_of(result):
    plan = result["plan"]
    if plan.fault not in ("network", "switch"):
        return plan.fault
    return f"{plan.fault}, steps recorded" if plan.recorder in HAS_NETWORK_STEPS else f"{plan.fault}, none recorded"


def print_tables(results):
    healthy = [r for r in results if not r["plan"].faults]
    faulty = [r for r in results if r["plan"].faults]
    shown = [r for r in faulty if r["plan"].shows(r["truth"])]
    counted = [r for r in shown if r["share"] >= LEAST_SHARE]
    print_by("cost of the run", shown, cost_of, ["10 % and more", "3 to 10 %", "below 3 %"])
    print_by("that no record shows", [r for r in faulty if r not in shown], fault_of)
    for name in ("10 % and more", "3 to 10 %"):
        print_by(f"recorder, {name}", [r for r in counted if cost_of(r) == name], lambda r: r["plan"].recorder, list(RECORDERS))
    print_by("onset", counted, lambda r: r["plan"].onset, list(ONSETS))
    print_by("fault", counted, fault_of)
    for onset in ONSETS:
        print_by(f"fault, {onset}", [r for r in counted if r["plan"].onset == onset], fault_of)
    print_by("shape", counted, lambda r: r["plan"].shape, list(LAYOUTS))
    print(f"\nhealthy: {len(healthy)} jobs, accused {sum(r['verdict'] == 'wrong' for r in healthy)}, with a finding of low "
          f"confidence or longer steps {sum(r['verdict'] == 'unnamed' for r in healthy)}")
    wrong = sum(r["innocent"] for r in faulty)
    print(f"faulty jobs in which an innocent is named: {wrong} of {len(faulty)}")
    ratios = sorted(r["ratio"] for r in counted if r.get("ratio") is not None)
    if len(ratios) > 1:
        cuts = statistics.quantiles(ratios, n=10, method="inclusive")
        print(f"cost of exact ones, share of the truth: p10 {cuts[0]:.2f}, median {cuts[4]:.2f}, p90 {cuts[8]:.2f}")
    print_account(counted)
    print_rule(counted)
    extra = collections.Counter(r["findings"] for r in counted if r["verdict"] == "exact" and len(r["plan"].faults) == 1)
    print("findings in exact jobs with one fault: " + ", ".join(f"{n}: {count}" for n, count in sorted(extra.items())))


def print_account(counted):
    """Which share of the cost of the planted faults is explained, and why the rest is not. All jobs count alike."""
    shares_of = collections.Counter()
    for account in (r["account"] for r in counted):
        for what, lost_us in account.items():
            shares_of[what] += 100 * lost_us / max(sum(account.values()), 1) / len(counted)
    print("cost of planted faults: " + "; ".join(f"{share:.1f} % {what}" for what, share in shares_of.most_common()))


def print_rule(counted):
    """A simple rule on the simulator's own log, which sees the lost traces, too: whether the fault can be seen at all."""
    single = [r for r in counted if len(r["truth"]["faults"]) == 1 and len(r["truth"]["faults"][0]["ranks"]) == 1]
    hits = sum(max(range(r["plan"].ranks), key=lambda rank: r["truth"]["shorter_us"][rank]) == r["truth"]["faults"][0]["rank"]
               for r in single)
    print(f"the rank with the shortest durations, jobs with one rank at fault: right in {hits} of {len(single)}; ncclprof in "
          f"{sum(r['verdict'] == 'exact' for r in single)}")


def column_of(result):
    """The column of the table of recorders. Where no fault is named: whether the records show it, and whether the answer says
    that the job cannot be judged.
    """
    if result["outcome"] not in ("unnamed", "silent"):
        return result["outcome"]
    if not result["plan"].shows(result["truth"]):
        return "not recorded"
    return result["outcome"] if result["judged"] else "not judged"


def recorder_row(name, results):
    healthy = [r for r in results if not r["plan"].faults]
    faulty = [r for r in results if r["plan"].faults and r["share"] >= COMPARED_SHARE]
    counts = collections.Counter(map(column_of, faulty))
    return [name, len(faulty), *(counts[column] or "." for column in COLUMNS),
            f"{sum(r['outcome'] == 'wrong' for r in healthy)} of {len(healthy)}"]


def print_recorders(results, names):
    heads = ["recorder", "jobs", *COLUMNS.values(), "healthy jobs accused"]
    rows = [recorder_row(name, [r for r in results if r["plan"].alone == name]) for name in names]
    print_table(f"faults of {COMPARED_SHARE:.0f} % of the run and more, by recorder", rows, heads)


def print_losses(results, names):
    """The same by share of lost operations, for the recorders that lose some, if these shares were given."""
    heads = ["recorder, share lost", "jobs", *COLUMNS.values(), "healthy jobs accused"]
    groups = collections.defaultdict(list)
    for result in results:
        if result["plan"].drop:
            groups[names.index(result["plan"].alone), result["plan"].drop].append(result)
    if 0 < len(groups) <= MOST_LOSSES:
        rows = [recorder_row(f"{names[key[0]]}, {100 * float(key[1]):.0f} %", groups[key]) for key in sorted(groups)]
        print_table(f"faults of {COMPARED_SHARE:.0f} % of the run and more, by share of lost operations", rows, heads)


def line_of(result):
    plan = result["plan"]
    texts = [fault.text() for fault in plan.faults] + ([f"lost {plan.lost}"] if plan.lost is not None else [])
    start = f"job {plan.number} {plan.shape} {plan.ranks} {plan.alone or plan.recorder} {plan.fault}, {plan.onset}"
    if result["error"]:
        return f"{start}: {result['error']}"
    real = [(f["kind"], f["ranks"], f["peers"]) for f in result["truth"]["faults"]]
    return (f"{start}: {result['verdict']}, {result['share']:.1f} % of the run; {' '.join(texts)} {real} -> {result['accused']}"
            f"{' longer' if result.get('longer') else ''}")


def selected(plan, only):
    values = {"fault": plan.fault, "recorder": plan.recorder, "shape": plan.shape, "onset": plan.onset, "cost": plan.cost_class}
    return all(values[key] == value for key, value in only.items())


def as_json(result):
    plan = result["plan"]
    row = {"number": plan.number, "shape": plan.shape, "recorder": plan.alone or plan.recorder, "fault": plan.fault, "onset": plan.onset, "drop": plan.drop,
           "error": result["error"], "command": shlex.join(["build/simulate", *plan.command(plan.dialect)])}
    return dict(row, **{key: result[key] for key in ("verdict", "outcome", "judged", "share", "ratio", "accused", "longer", "account") if key in result})


def recorders_in(text):
    """The names in the value of --recorder."""
    names = list(ALONE) if text == "all" else text.split(",")
    if not set(names) <= set(ALONE):
        raise argparse.ArgumentTypeError(f"expected all, or some of {', '.join(ALONE)}")
    return names


def plans_of(options, number, names):
    """The plans of one job, one for each recorder."""
    if not names:
        return [Plan(options.seed, number)]
    return [Plan(options.seed, number).record_by(name, options.seed, options.drops) for name in names]


def main(options):
    """Plays the jobs and prints the tables; exit status 1 if a job could not be played."""
    only = dict(item.split("=", 1) for item in options.only.split(",") if item)
    names = options.recorder
    numbers = range(options.first, options.first + options.study)
    jobs = [plans_of(options, number, names) for number in numbers if selected(Plan(options.seed, number), only)]
    results = []
    with concurrent.futures.ThreadPoolExecutor(options.parallel) as pool:
        for result in itertools.chain.from_iterable(pool.map(lambda plans: play_all(options, plans), jobs)):
            results.append(result)
            if options.verbose or result["error"]:
                print(line_of(result), flush=True)
            if options.keep_failures:
                keep(options, result)
    if options.json:
        with open(options.json, "w") as file:
            json.dump([as_json(result) for result in results], file, indent=0)
    played = [result for result in results if result["error"] is None]
    if names:
        print_recorders(played, names)
        print_losses(played, names)
    if len(names) < 2:
        print_tables(played)
    return int(any(result["error"] for result in results))


def keep(options, result):
    """Keeps the traces of jobs that are not exact."""
    kept = os.path.join(options.keep_failures, "-".join(filter(None, [f"job{result['plan'].number}", result["plan"].alone])))
    shutil.rmtree(kept, ignore_errors=True)
    if result["error"] or result["verdict"] != "exact":
        shutil.move(result["work"], kept)
    else:
        shutil.rmtree(result["work"])
