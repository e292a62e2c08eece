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
    [COMPARE_RANKS] = {"ranks", 1, FIGURES, 0, "ranks",
                       "other ranks share the work otherwise, and meet otherwise",
                       "the runs differ in the number of ranks, or in who they are"},
    [COMPARE_PROGRAMME] = {"programme", 1, STEPS | PHASES | EDGES | OWNS, 0, "calls",
                           "a step that does something else has no reason to last as long",
                           "the calls of a step differ in number, order, function, "
                           "size or ranks; sizes that vary within a run are not looked at"},
    [COMPARE_PLACEMENT] = {"placement", 1, STEPS | PHASES | TRANSFERS | EDGES, 0, "communicators",
                           "networks are several times slower than links within a host: the difference is "
                           "the scheduler's, and no change of the job",
                           "the data of a communicator goes over the network in one run only, or ranks share "
                           "hosts otherwise"},
    [COMPARE_CALLED] = {"called", 1, STEPS, 0, "steps",
                        "hosts run ahead of their GPUs: one step from call to call says little",
                        "nothing tells when operations ended, so that steps last from call to call"},
    [COMPARE_FEW_STEPS] = {"few-steps", 1, FIGURES, 6, "usual steps",
                           "three batches of two are the fewest that have a spread",
                           "a run has fewer usual steps after the warm-up"},
    [COMPARE_CHANCE] =
        {"chance", 0, FIGURES, 0.01, "of comparisons of equal runs",
         "one false alarm in a hundred nights: a quarter each for the length of steps, transfers, edges and "
         "own "
         "times; phases and shares, which are asked only where steps differ, have another",
         "the noise of steps makes a difference of so much, in any of the rows that share a part, in so many "
         "comparisons (Welch's t on medians of batches of steps; Holm's correction)"},
    [COMPARE_DRIFT] = {"drift", 0, FIGURES, 1, "times the drift of a run",
                       "what a run differs by within itself, it may differ by from another one",
                       "the medians of the thirds of one of the runs are as far apart"},
    [COMPARE_SMALLEST] =
        {"smallest", 0, STEPS | PHASES, 0.02, "of A",
         "own times of recorded clean runs differ by 0.2 %; what ranks of several hosts differ by "
         "is not measured",
         "two clean runs of one job differ by so much, for clocks and placement, which no run "
         "tells by itself"},
    [COMPARE_SMALLEST_TRANSFER] = {"smallest-transfer", 0, TRANSFERS, 0.05, "of A",
                                   "as smallest, and what is short differs by more; no measured reason",
                                   "transfers of two clean runs differ by so much"},
    [COMPARE_NETWORK] =
        {"network", 0, STEPS | PHASES | TRANSFERS | EDGES | (OWNS & ~RANKS), 0.5,
         "of what the network takes in A",
         "recorded clean runs of one job over sockets: transfers took from 612 to 865 us; "
         "--network-noise has another limit",
         "two clean runs of one job differ by so much in transfers between hosts, for placement "
         "and for others on the machines and links; of a step, a phase or a share it is what such "
         "transfers make up of it, of own time what goes on beside them"},
    [COMPARE_WORTH] = {"worth", 0, FIGURES & ~RANKS, 0.01, "of a usual step of A",
                       "what no figure of a step shows is worth nobody's time",
                       "a difference of so much hardly shows in the length of a step"},
    [COMPARE_WORTH_RANK] = {"worth-rank", 0, RANKS, 0.015, "of a usual step of A",
                            "half of what diagnose asks of a finding (--min-gain)",
                            "ranks of healthy jobs differ by so much"},
    [COMPARE_SHOWN] =
        {"shown", 0, (STEPS & ~LENGTHS) | PHASES, 0, "changes of the length of steps",
         "where kernels end, in the leaves of a tree or in its root, moves time between phases, and "
         "between own time and waiting, from run to run; the steps pay for none of it",
         "steps did not become longer or shorter beyond noise; nothing is judged where they were not"},
    [COMPARE_RESIZED] = {"resized", 0, FINDINGS, 1.67, "times the lesser",
                         "the cost of a finding is right within a quarter: 1.25 to 0.75",
                         "both runs have the finding, and it costs less than so many times as much"},
};
