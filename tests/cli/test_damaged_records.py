"""One rank's record is cut off, begins late or lacks a call: the steps and partners of its other operations stay, and the
verdict names the culprit or says that it cannot tell.
"""

import os

from tests.cli.support import PROGRAM, Case

os.environ.setdefault("NCCLPROF", PROGRAM)

from tests.torture.content import digests  # noqa: E402

FAULTY = 1
JOB = f"--steps 30 --seed 3 --fault compute:{FAULTY}:12:29:30% "
SHAPES = {"ddp": "--shape ddp --ranks 4 --layers 3 ", "fsdp": "--shape fsdp --ranks 4 --layers 2 ",
          "3d": "--shape 3d --tp 2 --dp 2 --pp 2 --ranks 8 --layers 2 ", "moe": "--shape moe --ranks 4 --layers 1 ",
          "context": "--shape context --ranks 4 --cp 4 --layers 1 "}
CALL = '"ph": "b"'


class Record:
    """The text of one file, as calls that can be left out; of chrome-v7, the tags are at its end."""

    def __init__(self, text):
        self.first, *lines = text.splitlines(keepends=True)
        self.calls, self.rest, self.tags = [], [], []
        if not self.first.startswith("["):
            self.calls, self.first = [[line] for line in (self.first, *lines)], ""
            return
        begin = '"name": "Group API"' if '"Group API"' in text else '"name": "Group",'
        for line in lines:
            if '"UserTag"' in line:
                self.tags.append(line)
            elif begin in line and CALL in line:
                self.calls.append([line])
            elif '"Sleep"' in line or '"Append"' in line or line.startswith("{}"):
                self.rest.append(line)
            else:
                self.calls[-1].append(line)

    def text(self):
        return "".join([self.first, *(line for call in self.calls for line in call), *self.rest[:-1], *self.tags, *self.rest[-1:]])


def cut_end(text, part):
    return text[:text.rfind("\n", 0, int(len(text) * (1 - part))) + 1]


def cut_beginning(text, part):
    """As of a ring that was overwritten: with its tags."""
    record = Record(text)
    del record.calls[:int(len(record.calls) * part)]
    del record.tags[:int(len(record.tags) * part)]
    return record.text()


def drop_one(text, part):
    record = Record(text)
    del record.calls[int(len(record.calls) * part)]
    return record.text()


DAMAGES = [(cut_end, 0.015), (cut_end, 0.1), (cut_beginning, 0.1), (cut_beginning, 0.5), (drop_one, 0.4)]


class DamagedRecords(Case):
    @staticmethod
    def files_of(files, pid):
        return [path for path in files if f"pid{pid}." in path.name or f'"pid": {pid},' in path.read_text()[:400]]

    def operations(self, files):
        """Step and partners of each operation, by what its rank recorded of it."""
        self.store.unlink(missing_ok=True)
        self.run_program("ingest", "-q", *files, status=None)
        steps, instances = {}, {}
        for *what, step, instance in self.rows("SELECT rank_name, communicator_hash_hex, function, peer, device_begin_us, "
                                               "enqueue_begin_us, step, instance_id FROM v_operation"):
            steps[tuple(what)] = step
            instances.setdefault(instance, set()).add(tuple(what))
        return steps, {what: instance for instance in instances.values() for what in instance}

    def check_join(self, files, whole):
        steps, partners = self.operations(files)
        known = steps.keys() & whole[0].keys()
        self.assertGreaterEqual(len(known), len(steps) - 6)  # the last call of a file that is cut off is itself not whole
        self.assertEqual({what: steps[what] for what in known}, {what: whole[0][what] for what in known})
        self.assertEqual([what for what in known if not partners[what] & known <= whole[1][what]], [])

    def check_verdict(self):
        """No innocent rank, and no all-clear."""
        answer = self.json("diagnose")
        found = [finding for finding in answer["findings"] if finding["confidence"] != "low"]
        for finding in found:
            self.assertEqual(finding["ranks"], [FAULTY], finding["text"])
        self.assertTrue(found or answer["summary"]["longer_steps"], "all-clear")
        return bool(found)

    def check(self, paths, damage, part, whole):
        """Whether the culprit is named. The files are left as they were."""
        texts = {path: path.read_text() for path in self.files_of(paths, whole[2])}
        if damage is drop_one:
            texts = dict([max(texts.items(), key=lambda item: len(item[1]))])
        for path, text in texts.items():
            path.write_text(damage(text, part))
        try:
            self.check_join(paths, whole)
            return self.check_verdict()
        finally:
            for path, text in texts.items():
                path.write_text(text)

    def check_all(self, *jobs):
        named = tried = 0
        for shape, dialect in jobs:
            files, truth = self.simulate(SHAPES[shape] + JOB + f"--dialect {dialect}")
            whole = self.operations(files)
            for rank in FAULTY, 2:
                for damage, part in DAMAGES:
                    with self.subTest(shape=shape, dialect=dialect, rank=rank, damage=damage.__name__, part=part):
                        named += self.check(files, damage, part, (*whole, truth["processes"][rank]["pid"]))
                        tried += 1
        self.assertGreaterEqual(named * 10, tried * 9)

    def test_tags_are_lost(self):
        self.check_all(("ddp", "chrome-v7"), ("fsdp", "chrome-v7"), ("3d", "chrome-v7"))

    def test_without_tags(self):
        self.check_all(("ddp", "chrome-v4"), ("3d", "chrome-v4"), ("3d", "inspector-2.30"))

    def test_transfers_without_numbers(self):
        self.check_all(("moe", "chrome-v4"), ("moe", "chrome-v7"), ("context", "chrome-v7"))

    def damage(self, files, pid, damage, part):
        for path in self.files_of(files, pid):
            path.write_text(damage(path.read_text(), part))

    def steps_of(self, rank):
        return self.rows(f"SELECT step, count(*) FROM v_operation WHERE rank_name = '{rank}' GROUP BY step ORDER BY step")

    def test_no_all_clear_for_half_a_record(self):
        """A fault too small to be seen in half of the steps: what the rank did in the others was not analyzed."""
        files, truth = self.simulate(SHAPES["fsdp"] + f"--steps 30 --seed 3 --fault compute:{FAULTY}:12:29:5% --dialect chrome-v7")
        self.operations(files)
        whole = self.steps_of(FAULTY)[1:]  # without the warm-up
        self.damage(files, truth["processes"][FAULTY]["pid"], cut_beginning, 0.5)
        self.operations(files)
        begins = self.steps_of(FAULTY)[0][0]
        self.assertGreater(begins, 10)
        summary = self.json("diagnose")["summary"]
        self.assertEqual(summary["not_judged"]["began_late"], sum(count for step, count in whole if step < begins))
        self.assertIn("no problem found in the part of the job that could be analyzed", self.run_program("diagnose").flat)

    def test_a_receive_that_is_lost_in_the_last_step(self):
        """All ranks finished the last exchange of the job, so no other waits for it."""
        files, truth = self.simulate(SHAPES["context"] + JOB + "--dialect chrome-v7")
        for rank in 0, 2, 3:
            with self.subTest(rank=rank):
                pid, kept = truth["processes"][rank]["pid"], {path: path.read_text() for path in files}
                self.damage(files, pid, drop_one, 0.9999)
                self.operations(files)
                self.assertEqual({finding["kind"] for finding in self.json("diagnose")["findings"]} & {"missing"}, set())
                for path, text in kept.items():
                    path.write_text(text)

    def test_threads_come_to_the_same(self):
        files, truth = self.simulate(SHAPES["context"] + JOB + "--dialect chrome-v7")
        for rank, damage in ((1, cut_end), (2, cut_beginning), (3, drop_one)):
            for path in self.files_of(files, truth["processes"][rank]["pid"]):
                path.write_text(damage(path.read_text(), 0.1))
        stores = []
        for order, jobs in ((files, 1), (files, 3), (files[::-1], 2)):
            self.store.unlink(missing_ok=True)
            self.run_program("ingest", "-q", f"-j{jobs}", *order, status=None)
            stores.append(digests(self.store))
        self.assertEqual(stores[0], stores[1])
        self.assertEqual(stores[0], stores[2])
