"""Answers do not depend on the order in which files are ingested, although the numbers of communicators and ranks do."""

from .support import TOP, Case

COMMANDS = [["diagnose", "--all"], ["stragglers"], ["stalls"], ["steps"], ["report"], ["report", "--by", "rank,function"], ["clocks"],
            ["startup"], ["buffers"], ["info", "--communicators"]]


class ArrivalOrder(Case):
    def answers(self, files):
        """Ingests each file with its own command."""
        store = self.folder / "ordered.db"
        store.unlink(missing_ok=True)
        for file in files:
            self.run_program("--store", store, "ingest", file)
        return [self.run_program("--store", store, *command, "--format", "json").stdout for command in COMMANDS]

    def check(self, fixture):
        self.check_files(sorted((TOP / "fixtures" / fixture).glob("*.json*")))

    def check_files(self, files):
        self.assertGreater(len(files), 1)
        for command, forwards, backwards in zip(COMMANDS, self.answers(files), self.answers(files[::-1])):
            self.assertEqual(forwards, backwards, command)

    def test_a_healthy_job(self):
        self.check("tp2dp2pp2-clean")

    def test_a_slow_rank(self):
        self.check("tp2dp2pp2-slow-rank")

    def test_a_slow_sender(self):
        """Several transfers of the link were slow in the first step. The earliest counts, not that of the communicator with
        the lowest number.
        """
        self.check("tp2dp2pp2-slow-sender")

    def test_a_job_that_hangs(self):
        self.check("tp2dp2pp2-hang")

    def test_transfers_alike(self):
        """Pairs of several communicators were slow for the same time in one step, in microseconds."""
        files, _ = self.simulate("--shape context --ranks 8 --per-node 4 --layers 2 --steps 30 --cp 4 --network-gbs 25 --nvlink-gbs 200 "
                                 "--dialect inspector-2.30 --fault throttle:0:10:29:20 --seed 7")
        self.check_files(files)
