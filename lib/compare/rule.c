/*
 * Rules of a comparison. A new one, COMPARE_FOO, takes a line in enum compare_rule (lib/compare/rule.h), one
 * in `compare_rules` below, and what follows; `make check` says what is missing.
 * - lib/compare/: where what it looks at is at hand, code that asks it by its name
 * - tests/unit/: a test with assert_decides(COMPARE_FOO, ...) and one with assert_allows(COMPARE_FOO, ...): a
 *   pair of runs in which it decides, and one beside its limit in which it does not
 * - man/ncclprof-compare.1: `make golden` writes its paragraph from the table
 */
#include "compare/rule.h"

enum {
    STEPS = 1 << SERIES_STEP | 1 << SERIES_COMMUNICATION | 1 << SERIES_WAITING,
    LENGTHS = 1 << SERIES_STEP,
    PHASES = 1 << SERIES_PHASE,
    TRANSFERS = 1 << SERIES_TRANSFER,
    EDGES = 1 << SERIES_EDGE,
    RANKS = 1 << SERIES_RANK,
    OWNS = 1 << SERIES_OWN | 1 << SERIES_OWN_PHASE | RANKS,
    FINDINGS = 1 << COMPARED_FINDING,
    FIGURES = STEPS | PHASES | TRANSFERS | EDGES | OWNS
};

/* The names follow their enum: COMPARE_FEW_STEPS is few-steps. */
const struct compare_rule_text compare_rules[COMPARE_RULES] = {
    [COMPARE_ONE_SIDE] = {"one-side", 1, FIGURES, 1, "run", "one is enough", "only one of the runs has it"},
    [COMPARE_RANKS] = {"ranks", 1, FIGURES, 0, "ranks", "different ranks divide the work differently",
                       "the runs differ in the number of ranks, or in which ranks they have"},
    [COMPARE_PROGRAMME] = {"programme", 1, STEPS | PHASES | EDGES | OWNS, 0, "operations",
                           "steps with different operations need not take the same time",
                           "the operations of a step differ in number, order, function, "
                           "size or ranks; sizes that vary within a run are ignored"},
    [COMPARE_PLACEMENT] =
        {"placement", 1, STEPS | PHASES | TRANSFERS | EDGES, 0, "communicators",
         "networks are several times slower than links within a host, so the difference comes "
         "from the scheduler, not from a change of the job",
         "the data of a communicator goes over the network in only one run, or different "
         "ranks share a host"},
    [COMPARE_CALLED] = {"called", 1, STEPS, 0, "steps",
                        "hosts run ahead of their GPUs, so the time between the calls of two steps says "
                        "little about the steps",
                        "operations have no end times, so steps are measured from call to call"},
    [COMPARE_FEW_STEPS] = {"few-steps", 1, FIGURES, 6, "baseline steps",
                           "a spread takes at least three batches of two steps",
                           "a run has fewer baseline steps after the warm-up"},
    [COMPARE_CHANCE] =
        {"chance", 0, FIGURES, 0.01, "of the comparisons of equal runs",
         "one false alarm in 100 nights, divided into a quarter each for step times, transfers, links and "
         "gap times; phases and shares, which are compared only where steps differ, have a budget of their "
         "own",
         "the share of comparisons in which noise alone makes a difference of this size in any row that "
         "shares "
         "the budget (Welch's t on medians of batches of steps; Holm's correction)"},
    [COMPARE_DRIFT] = {"drift", 0, FIGURES, 1, "times the drift of a run",
                       "a difference that occurs within a run can also occur between runs",
                       "the medians of the thirds of one of the runs differ by as much"},
    [COMPARE_SMALLEST] =
        {"smallest", 0, STEPS | PHASES, 0.02, "of A",
         "gap times of recorded clean runs differ by 0.2 %; the difference between ranks of several "
         "hosts has not been measured",
         "two clean runs of the same job differ by this much because of clocks and placement, "
         "which a single run does not show"},
    [COMPARE_SMALLEST_TRANSFER] = {"smallest-transfer", 0, TRANSFERS, 0.05, "of A",
                                   "as smallest, but short times differ by more; no measurement behind it",
                                   "transfers of two clean runs differ by this much"},
    [COMPARE_NETWORK] =
        {"network", 0, STEPS | PHASES | TRANSFERS | EDGES | (OWNS & ~RANKS), 0.5, "of the network time in A",
         "recorded clean runs of one job over sockets: transfers took from 612 to 865 us; "
         "--network-noise sets another limit",
         "transfers between hosts differ by this much between two clean runs of the same job, because of "
         "placement and of other jobs on the machines and links; for a step, a phase or a share, this is "
         "applied to the part that such transfers take, for gap time to the part that overlaps with them"},
    [COMPARE_WORTH] = {"worth", 0, FIGURES & ~RANKS, 0.01, "of a baseline step of A",
                       "a difference that does not show in the step time is not worth looking at",
                       "a difference of this size hardly shows in the step time"},
    [COMPARE_WORTH_RANK] = {"worth-rank", 0, RANKS, 0.015, "of a baseline step of A",
                            "half of the --min-gain of diagnose",
                            "ranks of healthy jobs differ by this much"},
    [COMPARE_SHOWN] =
        {"shown", 0, (STEPS & ~LENGTHS) | PHASES, 0, "changes of the step time",
         "where kernels end, in the leaves of a tree or in its root, moves time between phases, and "
         "between gap time and wait time, from run to run; the steps pay for none of it",
         "the step time did not change beyond noise; nothing is compared where steps were not"},
    [COMPARE_RESIZED] = {"resized", 0, FINDINGS, 1.67, "times the smaller cost",
                         "the cost of a finding is right within 25 %: 1.25 to 0.75",
                         "both runs have the finding, and its costs differ by less than this factor"},
};
