"""The rules of diagnose as it shows them: the measured value of each, and the confidence that results."""

import re

from tests.cli.support import TOP, Case

SURE = ["low", "medium", "high"]

# Constants of the source that are no rows of the table of limits, and how the manual states them.
CONSTANTS = [
    ("lib/report/diagnose_notes.c", "SHARE_OF_RUN = 0.03", "wait for 3 % of the run or more on average"),
    ("lib/report/diagnose_notes.c", "TIMES_OF_OTHERS = 2", "twice as long as the own time of any other rank without a finding did"),
    ("lib/diagnose/account.c", "STEPS_WITHOUT_FINDING = 3", "without a finding, of which three are needed"),
    ("lib/diagnose/account.c", "LEAST_SIMULTANEOUS = 0.1", "the sum of the costs, by a tenth and more than noise"),
    ("lib/diagnose/explained_network.c", "TIMES_OF_AFTER_EFFECT = 10", "late in most of the same steps and cost at least ten times"),
    ("lib/diagnose/explain.c", "ENOUGH_PART = 0.8", "without which the job gains four fifths of the maximum"),
    ("lib/diagnose/explain_search.c", "LEAST_ALWAYS = 3", "by three standard deviations and ahead-many times"),
    ("lib/diagnose/explain_peaks.c", "COMPARABLE = 0.25", "by a quarter of the greatest of the others"),
    ("lib/job/stamped_times.c", "FEW_LOST_BETWEEN = 100", "not used if more than one in 100 operations is lost"),
    ("lib/diagnose/longer_steps.c", "FEW_LOST_OF_LOADS = 50", "If more than one in 50 operations is lost, all steps count as the same load"),
    ("lib/diagnose/scan.c", "LEAST_STEPS = 3, MOST_PERIOD = 64", "every Nth step up to 64, with at least three steps"),
    ("lib/diagnose/scan.h", "SCAN_TAIL_OWN 2.0", "Student's t with two degrees of freedom"),
    ("lib/diagnose/score.h", "OTHERS_TO_COMPARE = 3", "of which there must be three"),
    ("lib/diagnose/propagation.c", "DELAYS_REMEMBERED = 256, CAUSES_OF_A_WAIT = 32", "The last 256 delays of a rank are kept, and 32 causes"),
    ("lib/diagnose/score.h", "FEWEST_SISTERS = 3", "the median of at least three sister operations"),
    ("lib/diagnose/finding_unite.c", "EFFECT_PART = 0.25", "if they have the same period and cost at most a quarter of it"),
    ("lib/diagnose/explain_waits.c", "CLEARLY = 4", "together by more than a quarter of its excess and four times as much as they after it"),
    ("lib/diagnose/slow_members.c", "TIMES_OF_OTHERS = 2", "twice as much as any other rank moves"),
    ("lib/job/program_order.c", "FEW_REVERSED = 50", "If at least one in 50 operations of such a rank was dumped before one"),
    ("lib/diagnose/silent_hosts.c", "SOON_PART = 10, ORDER_KNOWN_NS = 100000",
     "it ended at least 0.1 ms and at most a tenth of the silence after the call"),
    ("lib/diagnose/silent_hosts.c", "STEPS_OF_PAST = 3", "It is not examined in the warm-up and three steps after it"),
    ("lib/diagnose/cause_sum.c", "OTHER_HOSTS = 8", "on the hosts at fault and on up to 8 others"),
    ("lib/diagnose/cause_observed.c", "MOST_RANKS = 16", "or if something stands out from the other steps at more than 16 ranks"),
    ("lib/diagnose/cause_order.c", "MOST_CAUSES = 4", "A finding has at most 4 causes"),
    ("lib/diagnose/cause_time.c", "BEFORE_NS (INT64_C(30) * 1000000000)", "A message may come up to 30 seconds before the first step"),
    ("lib/diagnose/cause.c", "LEAST_OTHER_TIME = 0.05", "at least a twentieth of the time of the finding"),
    ("lib/diagnose/cause_sum.c", "SMALL_OVERLAP = 0.1", "long with at most a tenth of them in these steps"),
    ("lib/diagnose/cause.c", "USED_PART = 0.1", "at least a tenth of the bytes of the busiest one of the host"),
    ("lib/diagnose/cause.c", "BUSY_PART = 0.9", "used for at least 0.9 of the share that is usual"),
    ("lib/diagnose/cause_sum.c", "IDLE_PART = 0.02", "in use for less than 0.02 of the time of the steps"),
    ("lib/diagnose/cause_time.c", "ONSET_LEAST_NS (INT64_C(1) * 1000000000)", "a quarter of their time, and at least one second"),
    ("lib/diagnose/cause_time.c", "CLOCKS_AGREE_NS INT64_C(10000000)", "half of the time of the finding and 10 ms"),
    ("lib/diagnose/cause_stack.c", "STILL_HANGS_NS (INT64_C(1800) * 1000000000)", "until 30 minutes after the stop"),
    ("lib/diagnose/cause_note.c", "HOUR_MARGIN_NS (INT64_C(300) * 1000000000)", "but for 5 minutes at each end"),
    ("lib/diagnose/cause_note.c", "QUARTERS_MOST = 14 * 4", "whole quarters of an hour, up to 14 hours"),
    ("lib/diagnose/cause_note.c", "SAME_MESSAGE_NS (INT64_C(2) * 1000000000)", "give or take 2 seconds"),
    ("lib/diagnose/cause_text.c", "AT_ONCE_NS INT64_C(100000000)", "less than 0.1 seconds apart"),
    ("lib/diagnose/absent_ranks.c", "FAST_PART = 8", "an eighth of the transfers must be less than half as much longer"),
]


class Rules(Case):
    def ingest_fixture(self, name):
        self.store.unlink(missing_ok=True)
        self.run_program("ingest", "-q", TOP / "fixtures" / name)

    def table(self):
        """{rule: (side, at most)}, from the manual."""
        page = (TOP / "man/ncclprof-rules.7").read_text()
        rules = re.findall(r"^\.It Li ([\w-]+) Pq .*; at most (\w+)\n(?:(?!\.It|If (?:less|at|more)).*\n)*If (less than|at least|more than) ",
                           page, re.M)
        return {name: (side, at_most) for name, at_most, side in rules}

    def check_confidence(self, finding, table):
        """Confidence is the lowest that a violated rule allows, and a rule is violated if its value is beyond its limit."""
        allowed = "high"
        for rule in finding["rules"]:
            side, at_most = table[rule["name"]]
            self.assertEqual(rule["at_most"], at_most)
            speaks = {"less than": rule["reading"] < rule["limit"], "at least": rule["reading"] >= rule["limit"],
                      "more than": rule["reading"] > rule["limit"]}[side]
            self.assertEqual(rule["speaks"], speaks, rule)
            if speaks:
                allowed = min(allowed, at_most, key=SURE.index)
        self.assertEqual(finding["confidence"], allowed)

    def test_each_finding_is_believed_as_its_rules_allow(self):
        table, seen = self.table(), set()
        self.assertGreater(len(table), 20)
        for name in ("tp2dp2pp2-slow-rank", "tp2dp2pp2-slow-sender", "fsdp-clean", "inspector-2.30"):
            self.ingest_fixture(name)
            for options in ([], ["--min-gain", "1"], ["--min-gain", "30"], ["--min-gain", "60"]):
                for finding in self.json("diagnose", *options)["findings"]:
                    self.assertGreater(len(finding["rules"]), 5)
                    self.check_confidence(finding, table)
                    seen.add(finding["confidence"])
        self.assertEqual(seen, set(SURE))

    def test_the_manual_states_constants_as_they_are(self):
        page = re.sub(r"\s+", " ", (TOP / "man/ncclprof-rules.7").read_text())
        for path, constant, said in CONSTANTS:
            self.assertRegex((TOP / path).read_text(), rf"\b{re.escape(constant)}[,; }}\n]", path)
            self.assertIn(said, page)

    def test_explain_says_who_spoke_and_who_was_quiet(self):
        self.ingest_fixture("tp2dp2pp2-slow-rank")
        for percent, count in (("3", 0), ("30", 1)):
            finding = self.json("diagnose", "--min-gain", percent)["findings"][0]
            text = self.run_program("diagnose", "--explain", "--min-gain", percent).whole
            spoke = re.findall(r"^    limits to (\w+)  ([\w-]+): .*: ([\d.e+-]+) .*\(at most \1 if (?:less than|at least|more than) ",
                               text, re.M)
            quiet = re.findall(r"^    passed  ([\w-]+): ", text, re.M)
            self.assertEqual(len(spoke), count)
            self.assertEqual({name for _, name, _ in spoke}, {rule["name"] for rule in finding["rules"] if rule["speaks"]})
            self.assertEqual(quiet, [rule["name"] for rule in finding["rules"] if not rule["speaks"]])
            self.assertLess(text.find("    limits to "), text.find("    passed  "))
        self.assertEqual(spoke[0][:2], ("medium", "worth-sure"))
        # Rank 1 is late by 32 ms in each step according to TRUTH, and its steps of 55 ms are longer by 26 ms.
        self.assertGreater(float(spoke[0][2]), 26 / 55 / 0.3)
        self.assertLess(float(spoke[0][2]), 32 / 55 / 0.3)
        self.assertNotIn("    passed  ", self.run_program("diagnose").out)

    def test_nothing_is_divided_by_no_gain(self):
        self.ingest_fixture("tp2dp2pp2-slow-rank")
        rules = self.json("diagnose", "--min-gain", "0")["findings"][0]["rules"]
        self.assertEqual(next(rule["reading"] for rule in rules if rule["name"] == "worth"), 2)

    def test_rules_that_are_off(self):
        self.ingest_fixture("tp2dp2pp2-slow-rank")
        words = ["diagnose", "--min-gain", "30"]
        off = {"NCCLPROF_RULES_OFF": "worth-sure,lost-records"}
        with_all, without = self.json(*words), self.json(*words, env=off)
        self.assertEqual([with_all["findings"][0]["confidence"], without["findings"][0]["confidence"]], ["medium", "high"])
        self.assertFalse({"worth-sure", "lost-records"} & {rule["name"] for rule in without["findings"][0]["rules"]})
        self.assertEqual(without["warnings"], ["NCCLPROF_RULES_OFF: these rules were not asked: worth-sure,lost-records"])
        self.assertEqual(with_all["warnings"], [])
        self.assertEqual(self.json("stragglers", env=off)["warnings"], without["warnings"])
        for command in ("diagnose", "stragglers"):
            for names in ("foo", "worth-sure,foo", "worth", "worth-sure,"):
                known = names in ("worth", "worth-sure,")
                result = self.run_program(command, status=0 if known else 2, env={"NCCLPROF_RULES_OFF": names})
                self.assertEqual("'foo', which is no rule" in result.err, not known)
