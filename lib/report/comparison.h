#ifndef NCCLPROF_REPORT_COMPARISON_H
#define NCCLPROF_REPORT_COMPARISON_H

#include "base/base.h"

#include <stddef.h>
#include <stdint.h>

struct baseline;
struct findings;
struct job;

/* -------------------- compare_noise.c -------------------- */

/*
 * The level of a figure in a run, with its uncertainty. Consecutive steps are correlated, because
 * disturbances of networks and hosts last for several steps; the plain standard error would be too small.
 * Therefore the run is divided into batches of consecutive steps, and the error is computed from the medians
 * of the batches (batch means: Conway, 1963; Schmeiser, 1982: 10 to 30 batches). The median is robust against
 * single long steps, the batches against the correlation.
 */
struct step_level {
    double median;
    double error;  /* standard error, as far as the steps show it; 0: fewer than two batches */
    double spread; /* standard deviation of the medians of the run's fifths */
    size_t steps;
};

/* Measures values that are in the order of steps. Returns -1 when memory is out. */
int level_measure(struct step_level *level, const double *values, size_t count);

/* The level of a figure in the repeats of one side. Starts as zeros. */
struct side_level {
    double mean;    /* mean of the medians of the runs */
    double squares; /* sum of the squares of their distances from that mean */
    double errors;  /* sum of the squares of the runs' errors */
    double spreads; /* sum of the squares of the runs' spreads */
    size_t runs;
    size_t fewest_steps; /* of a run */
};

void side_level_add(struct side_level *side, const struct step_level *level);

/* The noise of the difference between the levels of two sides. */
struct level_noise {
    double error;      /* standard error of the difference */
    double freedom;    /* its degrees of freedom */
    int is_of_steps;   /* the largest part of it: the error of the runs' own levels */
    int is_of_spread;  /* or what the spread of the steps lets runs differ by */
    int is_of_repeats; /* or by how much the repeats differ. None of the three: `least` */
};

/*
 * How much runs differ from each other shows in repeats only. Without repeats their standard deviation is
 * assumed: `part` times that of the fifths of a run (all runs pooled), at least `least`. This assumption
 * counts as if it were measured with `freedom` degrees of freedom. It is averaged with what n repeats beyond
 * the first run of each side show (moderated t-statistic: Smyth, 2004), with a weight that falls as 1 / (1 +
 * n). Symmetric in both sides.
 */
struct level_noise levels_noise(const struct side_level *a, const struct side_level *b, double least,
                                double part, double freedom);

/* noise_limit: the difference that noise alone exceeds with probability `part`. noise_chance: the probability
   that noise exceeds `difference`. */
double noise_limit(const struct level_noise *noise, double part);
double noise_chance(const struct level_noise *noise, double difference);

/* -------------------- compare_ranks.c -------------------- */

/*
 * What is measured in a run in order to compare it with another: figures with a value for each baseline step,
 * in order, so that their noise is known; the findings of diagnose; and the shape of the run, so that only
 * like is compared with like. Nothing here refers to the job that was measured.
 */

enum series_kind {
    SERIES_STEP = 0,      /* step time, us */
    SERIES_COMMUNICATION, /* share of a step with an operation running, % */
    SERIES_WAITING,       /* share of a step in which ranks waited for others, % */
    SERIES_OVERLAP,       /* share of the operations' time in a step in which their GPUs computed, % */
    SERIES_PHASE,         /* time of a phase in a step, us */
    SERIES_TRANSFER,      /* transfer time for one function, size and number of ranks: median in a step, us */
    SERIES_EDGE,          /* time that a sender waited for the network on one edge, us per step */
    SERIES_OWN, /* gap time in a step, us: mean over ranks, where each rank counts as the median rank of its
                   role */
    SERIES_OWN_PHASE, /* the same before the operations of one phase */
    SERIES_RANK,      /* gap time of a rank in a step, us; values are relative to its peers */
    SERIES_KINDS
};

/* One operation of a rank's step, and the gap time before it. */
struct measured_place {
    double own_us;   /* median over steps; NAN: not known */
    const char *tag; /* in texts of the run; NULL: none */
    uint8_t function;
};

struct step_series {
    enum series_kind kind;
    const char *key; /* what is measured, in texts of the run; the same thing has the same key in both runs */
    const char *tag; /* in texts of the run; NULL: none */
    int64_t rank;    /* global rank, for an edge the sender; -1: none */
    int64_t receiver; /* for an edge; -1: none */
    double *values;   /* owned; steps without a value are left out */
    size_t count;
    double itself;             /* for a rank: gap time without subtracting its peers'; median, us */
    double transfers_per_step; /* for a transfer: number per rank and step; else 1 */
    double gbs_us;       /* for a transfer: bus bandwidth in GB/s times transfer time in us; 0: not known */
    int is_over_network; /* for a transfer or an edge: its data goes over the network */
    struct measured_place *places; /* owned: for a rank */
    size_t place_count;
};

/* A finding of diagnose. */
struct measured_finding {
    const char *key; /* kind and ranks, in texts of the run */
    const char *tag; /* in texts of the run; NULL: none */
    int64_t rank;
    double lost_us; /* cost per step, over all steps of the run */
    int is_told;    /* diagnose shows it by default; 0: low confidence */
    int stops_job;
    char *text; /* owned: its sentence, not escaped */
};

/* Whether the data of a communicator went over the network. */
struct communicator_network_use {
    uint64_t members; /* hash of their global ranks */
    int over_network;
};

struct measured_run {
    struct intern texts;
    struct step_series *items; /* owned, sorted by kind; use measured_find */
    size_t count;
    size_t capacity;
    struct measured_finding *findings; /* owned */
    size_t finding_count;
    struct communicator_network_use *ways; /* owned */
    size_t way_count;
    int64_t *hosts; /* owned: per global rank, the first rank on its host; NULL: some host is not known */
    int64_t ranks;  /* number of ranks that recorded something */
    int64_t run_id;
    char *run_name;        /* owned, not escaped; NULL: nothing was measured */
    int32_t steps;         /* after the warm-up */
    int32_t usual;         /* number of those steps that the figures use */
    uint64_t calls;        /* hash of the operations of a step on all ranks; 0: not known */
    uint64_t sizes;        /* the same with their sizes; 0: sizes vary */
    int has_ranks;         /* rank numbers are valid across runs */
    int has_network;       /* the recorders record the network */
    int measured_by_calls; /* steps are measured from call to call, because no end times are recorded */
};

void measured_run_init(struct measured_run *run);
void measured_run_release(struct measured_run *run);

/*
 * Appends a figure without values and copies its key. There is room for `capacity` values. NULL when memory
 * is out.
 */
struct step_series *measured_add(struct measured_run *run, enum series_kind kind, const char *key,
                                 size_t capacity);

/* Adds a value; there must be room. A value that is not a finite number is ignored. */
void series_add(struct step_series *series, double value);

/* Copies a text; the copy lives as long as the run. NULL when memory is out. */
const char *measured_keep(struct measured_run *run, const char *text);

/* Sorts the figures for measured_find. Call it after the last one is added. */
void measured_sort(struct measured_run *run);

/* The figure with that kind and key; NULL: none. */
const struct step_series *measured_find(const struct measured_run *run, enum series_kind kind,
                                        const char *key);

/* -------------------- compare_rule.c -------------------- */

/*
 * Rules that decide whether two figures are compared, and how large a difference noise can explain. A row of
 * a comparison differs beyond noise if no bar applies and its change exceeds the noise of every rule.
 * compare_rule.c describes how to add a rule.
 */
enum compare_rule {
    /* Bars: if one applies, the row is not compared. */
    COMPARE_ONE_SIDE,
    COMPARE_RANKS,
    COMPARE_PROGRAMME,
    COMPARE_PLACEMENT,
    COMPARE_CALLED,
    COMPARE_FEW_STEPS,
    /* Noise: a smaller change does not count. */
    COMPARE_CHANCE,
    COMPARE_SPREAD,
    COMPARE_RUNS,
    COMPARE_RUNS_TRANSFER,
    COMPARE_RUNS_OWN,
    COMPARE_REPEATS,
    COMPARE_NETWORK,
    COMPARE_WORTH,
    COMPARE_WORTH_RANK,
    COMPARE_SHOWN,
    COMPARE_RESIZED,
    COMPARE_SELDOM,
    COMPARE_RULES
};

/* The kinds of rows that rules apply to: kinds of figures, and findings. */
enum { COMPARED_FINDING = SERIES_KINDS, COMPARED_KINDS };

struct compare_rule_text {
    const char *name; /* stable: used in JSON and in the manual */
    int is_bar;
    unsigned kinds; /* bit set of the kinds that the rule applies to */
    double limit;
    const char *unit;
    const char *found; /* origin of the limit: its source, or how it was measured */
    const char *says;
};

extern const struct compare_rule_text compare_rules[COMPARE_RULES];

static inline double compare_limit(enum compare_rule rule)
{
    return compare_rules[rule].limit;
}

/* Whether a rule applies to a kind. */
static inline int compare_asks(enum compare_rule rule, int kind)
{
    return (int)(compare_rules[rule].kinds >> kind & 1);
}

/* -------------------- comparison.c -------------------- */

/* A comparison of two sides, each of them a run or several repeats of it, figure by figure. */

struct measured_side {
    const struct measured_run *runs; /* borrowed */
    size_t count;                    /* at least 1 */
};

enum comparison_verdict { COMPARED_NOT = 0, COMPARED_WITHIN, COMPARED_BEYOND };

struct comparison {
    int kind;                                /* enum series_kind or COMPARED_FINDING */
    const char *key;                         /* borrowed from the measured runs, like the next four */
    const char *tag;                         /* NULL: none */
    const struct step_series *series[2];     /* of the first run of A and of B that has it; NULL: none */
    const struct measured_finding *found[2]; /* of A and B, if diagnose shows it in most runs; NULL: not */
    struct side_level levels[2];
    double values[2]; /* of A and B, mean over the runs; NAN: none */
    double change; /* B minus A; for the gap time of a rank, beyond the change of its peers; NAN: not known */
    double reach; /* the true change is within `change` plus or minus this much; NAN if nothing is compared */
    double noise; /* a smaller change does not count; NAN if nothing is compared, INFINITY: none counts */
    double detectable; /* a change of this size exceeds the noise in nine of ten comparisons */
    double whole;      /* 100 % for all of them; NAN: none */
    enum comparison_verdict verdict;
    enum compare_rule rule; /* the bar that applies, or the rule with the greatest noise */
    double chance;          /* probability that noise causes such a change; NAN: not known */
    struct level_noise error;
    enum compare_rule noise_rule;           /* which rule sets the greatest part of `error` */
    int is_over_network;                    /* the network takes part in the figure, in any run */
    const struct measured_finding *finding; /* any of its findings, also if `found` has none; NULL: none */
};

struct comparisons {
    struct measured_side sides[2]; /* A and B */
    struct comparison *items;      /* owned; first what became worse beyond noise, worst first */
    size_t count;
    size_t capacity;
    unsigned blocked; /* bit set of the bars that apply to two of the runs as a whole */
    unsigned barred;  /* bit set of the bars that kept rows from being compared */
};

/*
 * Compares two sides. `network` is the fraction by which transfers over the network vary between runs, for a
 * side without repeats: the limit of COMPARE_NETWORK unless the user sets another. Returns -1 when memory is
 * out. Release `comparisons` in any case.
 */
int comparisons_make(struct comparisons *comparisons, struct measured_side a, struct measured_side b,
                     double network);
void comparisons_release(struct comparisons *comparisons);

/* A figure of the row in percent; NAN if there is no 100 %. */
double comparison_percent(const struct comparison *comparison, double figure);

/* Whether the row became worse beyond noise. */
int comparison_is_worse(const struct comparison *comparison);

/* The comparison of step times. */
const struct comparison *comparisons_steps(const struct comparisons *comparisons);

enum comparison_answer { ANSWER_FINE, ANSWER_SLOWER, ANSWER_UNDECIDED };

/*
 * The result for scripts. ANSWER_SLOWER: step time, a phase or gap time became longer beyond noise by more
 * than `percent`; or a finding is new or grew and costs more than that share of a step; or a finding stops
 * the job. Otherwise ANSWER_UNDECIDED if step times could not be compared, or if their interval does not
 * exclude that they became longer by more than `percent`.
 */
enum comparison_answer comparisons_answer(const struct comparisons *comparisons, double percent);

/* -------------------- comparison_text.c -------------------- */

/*
 * Appends the comparison as sentences, worst first: what differs beyond noise, or that nothing does and which
 * change would have been detected. Text from traces is escaped for a terminal. Returns -1 when memory is out.
 */
int comparisons_append(const struct comparisons *comparisons, struct buffer *text);

/* Appends the reason why something was not compared: a clause for a bar. Returns -1 when memory is out. */
int comparisons_append_bar(const struct comparisons *comparisons, enum compare_rule rule,
                           struct buffer *text);

/*
 * Appends where the gap time of a rank changed most: "before the 3rd call of the step (AllReduce, backward)".
 * Appends nothing if that is not known.
 */
int comparison_append_place(const struct comparison *comparison, struct buffer *text);

/* Name of a kind: "step", "phase", ..., "finding". */
const char *comparison_name(int kind);

/* -------------------- compare_measure.c -------------------- */

/*
 * The steps of a run that are compared: after the warm-up, of known duration, and of the regular stretch
 * (struct baseline) that has most of them. Steps that a finding of diagnose covers are left out as long as
 * half of the steps remain; findings are compared as findings.
 */
struct usual {
    int32_t *steps;  /* owned; ascending */
    int32_t *places; /* owned: per step of the job, its index in `steps`; -1: not among them */
    size_t count;
    int32_t after_warm_up; /* number of all steps after the warm-up */
};

/*
 * Measures all figures of a run, its findings and its shape. `run` is initialised with measured_run_init.
 * Needs what findings_find fills in. Returns -1 on error.
 */
int run_measure(struct measured_run *run, const struct job *job, const struct baseline *baseline,
                const struct findings *findings, struct error *error);

/* -------------------- compare_ranks.c -------------------- */

/*
 * Sets, per communicator, whether its data may go over a network. If the recorders record the network, then
 * it does if they recorded it for this communicator; otherwise unless its members are known to share a host.
 * `is_over` has room for all communicators of the job.
 */
void network_communicators(const struct job *job, unsigned char *is_over);

/*
 * Measures the gap time of each rank in a step: relative to the median of the other ranks of its role in the
 * same step, or of all others if it has its role alone; as such; and before each operation of the step. Also
 * measures all ranks together. Gap time is the time before an operation runs in which no other operation of
 * the rank runs. Returns -1 when memory is out.
 */
int measure_ranks(struct measured_run *run, const struct job *job, const struct baseline *baseline,
                  const struct usual *usual);

/* -------------------- compare_rule.c -------------------- */

/* Whether a bar (COMPARE_RANKS to COMPARE_CALLED) applies to two runs. */
int comparison_is_blocked(const struct measured_run *a, const struct measured_run *b, enum compare_rule rule);

/* Number of communicators, among those of both runs, whose data goes over the network in one run only. */
size_t count_moved_communicators(const struct measured_run *a, const struct measured_run *b);

/*
 * Measures the shape of a run: its ranks, the operations of a step, which communicators use the network, and
 * which ranks share a host. Returns -1 when memory is out.
 */
int shape_measure(struct measured_run *run, const struct job *job, const struct usual *usual);

#endif
