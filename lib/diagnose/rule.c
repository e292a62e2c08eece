/*
 * The rules of diagnose and their limits, as two tables. A new rule, RULE_FOO, takes a line in enum rule_id
 * (lib/diagnose/rule.h), a row in `rules` below, and what follows; `make check` reports what is missing.
 * - lib/diagnose/: a function that returns its measure, or NOT_ASKED where the rule does not apply. The file
 *   that has the data calls it and passes the result to finding_ask. The function decides nothing. Rules
 * about jobs that stopped are in lib/hang/
 * - its limit, if there is none with that meaning
 * - tests/unit/: assert_speaks and assert_quiet (tests/unit/support/spoken.h) with RULE_FOO, at its limit and
 *   beside it
 * - man/ncclprof-rules.7: `make golden` writes its paragraph from the table
 *
 * A new limit, LIMIT_FOO, takes a line in enum limit_id (lib/diagnose/rule.h), a row in `limits` below, and
 * - a rule in `rules` that uses it as its limit, or names it in `needs`, `measure` or `says`
 * - lib/: code that reads it by its name, unless a rule uses it as its limit
 * - tests/unit/: a test that names LIMIT_FOO and fixes its value, unless a rule that uses it has a test on
 *   both sides
 * - man/ncclprof-rules.7: `make golden` writes its line from the table
 */
#include "diagnose/finding.h"

#include <stddef.h>
#include <string.h>

/* The names follow the enum: LIMIT_AHEAD_MANY is ahead-many. */
const struct limit limits[LIMIT_COUNT] = {
    [LIMIT_NONE] = {"none", 0, "", "a sound trace has none"},
    [LIMIT_ONE] = {"one", 1, "", "one is enough"},
    [LIMIT_HALF] = {"half", 0.5, "of the total", "a majority"},
    [LIMIT_PAUSE] = {"pause", 3, "median steps",
                     "recorded healthy hosts: no slow moment of a transfer came near it"},
    [LIMIT_WORTH] = {"worth", 1, "times --min-gain", "the meaning of the option"},
    [LIMIT_WORTH_SURE] =
        {"worth-sure", 2, "times --min-gain",
         "of 27 findings of simulated jobs that it alone held back, two named an innocent rank"},
    [LIMIT_REGULAR] = {"regular", 0.5, "of the operations",
                       "otherwise most places have nothing to compare with"},
    [LIMIT_SHOWN] = {"shown", 1.0 / 3, "of the gain",
                     "the replay does not know everything that overlaps with the fault"},
    [LIMIT_ERRORS] = {"errors", 2, "standard errors", "the normal difference of steps in 95 of 100 cases"},
    [LIMIT_SLOWER_MANY] = {"slower-many", 3, "times the baseline",
                           "recorded healthy hosts: no network was as slow for three steps and costly"},
    [LIMIT_GAPS] = {"gaps", 0.02, "per operation", "recorders lose single operations, about two of 100"},
    [LIMIT_CERTAINTY] = {"certainty", 3.0, "log odds", "odds of 20 to 1, the conventional level"},
    [LIMIT_CERTAINTY_SURE] = {"certainty-sure", 5.3, "log odds", "odds of 200 to 1: a tenth of that doubt"},
    [LIMIT_START_APART] = {"start-apart", 1, "times the spread of the others",
                           "what varies that much may vary once more; no measurement behind it"},
    [LIMIT_LATE_NOTICES] =
        {"late-notices", 0.03, "of the notices",
         "recorded healthy jobs: at most 0.01 of a rank are later than 0.5 ms, less than a time slice"},
    [LIMIT_AHEAD_MANY] = {"ahead-many", 5, "times any other single step",
                          "recorded healthy jobs: no slow moment of a host or network was so far ahead"},
    [LIMIT_LONGER_MANY] =
        {"longer-many", 0.1, "of the median step",
         "recorded healthy hosts: no network made three steps so much longer and was ahead"},
    [LIMIT_LONGER_STEPS] = {"longer-steps", 0.25, "of the median step",
                            "recorded healthy hosts: no network made three or more steps so much longer"},
    [LIMIT_SLOWER_OPERATIONS] =
        {"slower-operations", 2, "times the baseline",
         "recorded healthy hosts: in slow moments, operations take up to 1.5 times as long"},
    [LIMIT_RANKS_OF_ROLE] = {"ranks-of-role", 3, "ranks", "with fewer others, the median is one of two"},
    [LIMIT_HIDDEN_PAIR] = {"hidden-pair", 3, "times others of the same kind",
                           "a stage has several layers; other operations follow a single one"},
    [LIMIT_START_LATE] =
        {"start-late", 3, "seconds",
         "recorded healthy jobs: all ranks arrived within 0.15 s; this is twenty times as much"},
    [LIMIT_CALLS_AHEAD] =
        {"calls-ahead", 1024, "operations",
         "CUDA's queue holds this many launches, so a host can call this many operations before it notices"},
    [LIMIT_FIRST_CALLS] =
        {"first-calls", 16, "operations",
         "connections are made in the first operations of a communicator; a job that got further has them"},
    [LIMIT_ERRORS_APART] = {"errors-apart", 2, "seconds",
                            "logs have whole seconds, so a difference of two means at least one second"},
    [LIMIT_OUTLIVED] = {"outlived", 15, "seconds",
                        "the plugin of a running process records its clock every ten seconds"},
    [LIMIT_RECORDS] = {"records", 1, "times the ranks without one",
                       "if fewer ranks have a record than not, only these were kept of the job"},
    [LIMIT_RECORDS_UNSIZED] = {"records-unsized", 3, "times the ranks without one",
                               "if no record shows how many ranks there are, more may be absent than the "
                               "gaps in their numbers show; no measurement behind it"},
};

/* The bits of `kinds`. */
enum {
    OF_COMPUTE = 1 << FINDING_COMPUTE,
    OF_HOST = 1 << FINDING_HOST,
    OF_LATE = 1 << FINDING_LATE,
    OF_NETWORK = 1 << FINDING_NETWORK,
    OF_MISSING = 1 << FINDING_MISSING,
    OF_ENDED_EARLY = 1 << FINDING_ENDED_EARLY,
    OF_ERROR = 1 << FINDING_ERROR,
    OF_RANK = OF_COMPUTE | OF_HOST,
    OF_ALL = OF_RANK | OF_NETWORK,
    OF_SCORE = OF_ALL | OF_LATE
};

/* The names follow the enum: RULE_ROUGH_END is rough-end. */
const struct rule rules[RULE_COUNT] = {
    [RULE_HIDDEN_WAIT] =
        {"hidden-wait", OF_RANK, CONFIDENCE_LOW, SPEAKS_ABOVE, LIMIT_HALF,
         "traces with stages, without the sends and receives between them, for GPUs; traces without sends "
         "and "
         "receives, for findings of several ranks",
         "the share of its excess before operations whose other gap time is more than hidden-pair times that "
         "of others of their kind, or that have none to compare with; of several ranks the part of their "
         "variation from step to step that they have in common, if that is more",
         "the ranks may have waited for a receive, or for one of them, in operations that are not recorded"},
    [RULE_EARLY_ENDS] = {"early-ends", OF_RANK, CONFIDENCE_LOW, SPEAKS_ABOVE, LIMIT_HALF,
                         "traces with estimated end times, or with finished operations only",
                         "the share of the fault that is less, in each operation, than the clocks of its "
                         "ranks may be off (of a late host also the share of its part before operations "
                         "that were enqueued late), or "
                         "that follows an AllReduce that another rank left later by half of it, or may have: "
                         "a rank of another host, whose clock does not tell, stayed in it for less than that "
                         "half, and is not known to have waited as long in the operation after",
                         "the operations before it may have ended later for this rank: clocks do not show it "
                         "precisely enough, "
                         "or it was a leaf of a tree"},
    [RULE_SHARED_PROCESS] =
        {"shared-process", OF_RANK, CONFIDENCE_LOW, SPEAKS_FROM, LIMIT_ONE, NULL,
         "1 if the rank is one of several ranks of a process that cannot be distinguished (several GPUs; one "
         "process ID in several containers; GPU clocks that do not differ), else 0",
         "the rank shares a process with ranks that cannot be distinguished from it"},
    [RULE_LOST_RECORDS] =
        {"lost-records", OF_RANK, CONFIDENCE_LOW, SPEAKS_ABOVE, LIMIT_HALF, NULL,
         "the share of its steps in which or after which the record of one of its ranks ends; "
         "1 if such a rank has a file that may be lost, or if its cost is below that of "
         "waits for a rank without a trace",
         "the excess may be operations in the lost records"},
    [RULE_LATE_RECEIVERS] = {"late-receivers", OF_NETWORK, CONFIDENCE_LOW, SPEAKS_ABOVE, LIMIT_HALF,
                             "findings by the score of the network",
                             "the share of its slowness in sends to ranks that are believed to be late in "
                             "that step, or from ranks "
                             "whose proxy threads are believed to be",
                             "the sends may have waited for receivers that were late"},
    [RULE_IRREGULAR] = {"irregular", OF_ALL, CONFIDENCE_LOW, SPEAKS_BELOW, LIMIT_REGULAR, NULL,
                        "the share of operations that have a place in a step",
                        "most steps of the job differ from each other"},
    [RULE_WORTH] = {"worth", OF_SCORE, CONFIDENCE_LOW, SPEAKS_BELOW, LIMIT_WORTH, NULL,
                    "its worth in each step, in units of --min-gain of the median step",
                    "the fault costs too little"},
    [RULE_BY_DESIGN] =
        {"by-design", OF_COMPUTE | OF_NETWORK, CONFIDENCE_LOW, SPEAKS_BELOW, LIMIT_HALF,
         "findings by a score that cover all steps, or steps that recur on a host without peers; not for "
         "one of more than ranks-of-role ranks that do the same work "
         "(one role; they reduce or gather in communicators of that role only, directly or through others), "
         "if no rank "
         "receives varying amounts of data, or that is certain to be the last of its role in all steps",
         "the share of the gap time of its peers in a step that lies at places where it takes longer; of a "
         "network 1 if all others of its kind are less than half as slow, for several ranks if most are, "
         "else 0",
         "single places may have more work, and a route may be longer, by design"},
    [RULE_NOT_IN_STEPS] =
        {"not-in-steps", OF_ALL, CONFIDENCE_LOW, SPEAKS_BELOW, LIMIT_SHOWN,
         "faults with two other steps of known duration; without times of calls, of a rank "
         "that arrived last in most of its consecutive steps, the others include those in "
         "which it did not",
         "how much longer its steps were than the median of the others, as a share of the "
         "gain; for a network, and for consecutive steps of ranks without times of calls, 0 "
         "if that is less than errors standard errors, for other late ranks with errors "
         "standard errors added",
         "the fault does not show in the step time"},
    [RULE_CERTAINTY] =
        {"certainty", OF_SCORE, CONFIDENCE_LOW, SPEAKS_BELOW, LIMIT_CERTAINTY, "findings by a score",
         "the log odds that the fault is not noise, which may be related from step to step "
         "unless the fault is ahead-many; of a network less the logarithm of 10, because links "
         "have slow moments that last for several steps, but not for a transfer of one step "
         "that is longer by pause",
         "the fault may be noise"},
    [RULE_NOTICES] =
        {"notices", OF_HOST, CONFIDENCE_LOW, SPEAKS_BELOW, LIMIT_LATE_NOTICES, "findings about proxy threads",
         "the part of the starts and stops of kernels that proxy threads noticed more than 0.5 ms late, "
         "beyond what is usual for other ranks, except while their rank sent over the network",
         "the threads may have been busy"},
    [RULE_SILENCE] =
        {"silence", OF_HOST, CONFIDENCE_LOW, SPEAKS_BELOW, LIMIT_AHEAD_MANY,
         "findings about hosts that made no call for at least pause",
         "how long it made no call while nothing ended that it had called, as a multiple of the longest such "
         "time of any rank in other steps, of those shorter than pause",
         "hosts of this job are silent for about as long at times"},
    [RULE_NOT_SLOWER_MANY] =
        {"not-slower-many", OF_NETWORK, CONFIDENCE_LOW, SPEAKS_BELOW, LIMIT_SLOWER_MANY,
         "traces with network steps and, without them, sends between hosts, if operations took less than "
         "slower-operations times the baseline and steps became longer by less than longer-steps, or than "
         "longer-many where they are ahead-many; findings of consecutive steps, compared with its own other "
         "steps",
         "how many times the baseline the network steps of its slow links waited, or its sends took",
         "the links are no slower than healthy links are at times"},
    [RULE_ONE_OF_SEVERAL] = {"one-of-several", OF_NETWORK, CONFIDENCE_MEDIUM, SPEAKS_ABOVE, LIMIT_ONE,
                             "findings by the score of the network",
                             "the number of ranks of which one may be at fault; 1 for a host",
                             "the trace cannot tell which of several ranks is at fault"},
    [RULE_ESTIMATED] = {"estimated", OF_ALL, CONFIDENCE_MEDIUM, SPEAKS_FROM, LIMIT_ONE, NULL,
                        "1 if most of the excess is gap time after estimated end times, or if the record of "
                        "the rank, or for "
                        "a network of the operations, has "
                        "durations and the times of dumps but no times of calls, else 0",
                        "times are estimated or only bounded"},
    [RULE_CERTAINTY_SURE] = {"certainty-sure", OF_ALL, CONFIDENCE_MEDIUM, SPEAKS_BELOW, LIMIT_CERTAINTY_SURE,
                             "findings by a score", "the same log odds",
                             "the fault may be noise, though that is unlikely"},
    [RULE_WORTH_SURE] = {"worth-sure", OF_ALL, CONFIDENCE_MEDIUM, SPEAKS_BELOW, LIMIT_WORTH_SURE, NULL,
                         "its worth in each step, in units of --min-gain of the median step",
                         "the fault costs little more than the minimum"},
    [RULE_GAPS] = {"gaps", OF_ALL, CONFIDENCE_MEDIUM, SPEAKS_ABOVE, LIMIT_GAPS, NULL,
                   "the lines that could not be read, the events that the recorder reports as lost and the "
                   "operations that are missing from their sequences, except on all ranks, per operation",
                   "the trace has gaps, which leave room for another explanation"},
    [RULE_START_SCATTER] = {"start-scatter", OF_HOST, CONFIDENCE_LOW, SPEAKS_BELOW, LIMIT_START_APART,
                            "logs with the waits of ranks at start-up, for a rank that arrived at least "
                            "start-late after all others",
                            "how far behind the others it arrived, as a multiple of the spread of the others",
                            "the rank arrived no farther behind than others behind each other"},
    [RULE_SEVERAL] =
        {"several", OF_NETWORK | OF_MISSING | OF_ERROR, CONFIDENCE_LOW, SPEAKS_ABOVE, LIMIT_ONE,
         "logs with failed transfers or errors, if at most calls-ahead operations were called since, and "
         "logs "
         "of a communicator whose initialization did not finish, with at most first-calls operations on it",
         "the number of ranks, hosts or network cards that may be at fault; of errors on one host, only "
         "those "
         "less than errors-apart after the first",
         "several ranks, hosts or network cards may be at fault"},
    [RULE_NO_TRACE] =
        {"no-trace", OF_NETWORK | OF_MISSING, CONFIDENCE_LOW, SPEAKS_FROM, LIMIT_ONE,
         "logs with failed transfers, or of a communicator whose initialization did not finish; ranks "
         "without a "
         "record",
         "the number of ranks at the other end of the transfers, which may be any rank if it is unknown, "
         "that "
         "logged no warning; for an initialization, 1 if the ranks that the others wait for left no trace, "
         "else 0; for a rank without a record, the number of ranks that the files do not mention, per rank "
         "that they mention, and at least 1 if no record shows how many ranks the communicator has",
         "another rank without a trace may be at fault, or its file may merely not have been ingested"},
    [RULE_NO_ECHO] =
        {"no-echo", OF_ERROR, CONFIDENCE_MEDIUM, SPEAKS_BELOW, LIMIT_ONE,
         "errors that the rank reports about itself, if at most calls-ahead operations were called since",
         "the number of other ranks that report a lost peer or an abort",
         "no other rank reports an effect of the error"},
    [RULE_MERE_SETTING] = {"mere-setting", OF_ERROR, CONFIDENCE_LOW, SPEAKS_FROM, LIMIT_ONE,
                           "errors that the rank reports about itself, if at most first-calls operations "
                           "were called since; for a port, calls-ahead",
                           "1 if the report is about a missing or different network card or plugin, or a "
                           "port that went down and did not come back, else 0",
                           "the reported problem need not stop a job"},
    [RULE_OUTLIVED] =
        {"outlived", OF_ENDED_EARLY, CONFIDENCE_LOW, SPEAKS_BELOW, LIMIT_OUTLIVED,
         "jobs in which most files have no end, for a rank with a file",
         "for how many seconds the bundled plugin wrote the files of the waiting ranks after it "
         "last recorded the clock of this rank; 0 if the clocks do not show it, or another recorder wrote "
         "the files",
         "the file of the rank ends at about the same time as others, so it may only have been "
         "truncated elsewhere"},
    [RULE_UNRECORDED] = {"unrecorded", OF_MISSING | OF_LATE, CONFIDENCE_MEDIUM, SPEAKS_FROM, LIMIT_ONE,
                         "ranks that others wait for, or that one reports; if the rank has no record, if "
                         "records times as many ranks have a record as have none (records-unsized times if "
                         "no record shows how many ranks there are)",
                         "1 if no operation of it is recorded, else 0",
                         "no call of the rank is recorded, so it may have made the call"},
    [RULE_REPORTS_DIFFER] = {"reports-differ", OF_MISSING, CONFIDENCE_LOW, SPEAKS_ABOVE, LIMIT_NONE,
                             "PyTorch's reports on the progress of all ranks",
                             "the number of ranks whose report does not name it",
                             "not all ranks with a report name this rank"},
};

int rule_is_violated(enum rule_id rule, double reading)
{
    double limit = limit_of(rules[rule].limit);
    switch (rules[rule].side) {
    case SPEAKS_BELOW:
        return reading < limit;
    case SPEAKS_FROM:
        return reading >= limit;
    default:
        return reading > limit;
    }
}

const char *rule_side_name(enum rule_side side)
{
    static const char *const names[] = {"less than", "at least", "more than"};
    return names[side];
}

int rule_find(const char *name, size_t length)
{
    for (int i = 0; i < RULE_COUNT; i++)
        if (strlen(rules[i].name) == length && memcmp(rules[i].name, name, length) == 0)
            return i;
    return -1;
}

void rule_results_add(struct rule_results *results, enum finding_kind kind, enum rule_id rule, double reading)
{
    if (isnan(reading) || !(rules[rule].kinds >> kind & 1))
        return;
    results->values[rule] = reading;
    results->asked[rule] = 1;
}

int rule_results_fail(const struct rule_results *results, enum rule_id rule)
{
    return results->asked[rule] && rule_is_violated(rule, results->values[rule]);
}
