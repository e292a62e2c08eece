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
        files = sorted((TOP / "fixtures" / fixture).glob("*.json*"))
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
