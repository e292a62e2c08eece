#ifndef NCCLPROF_REPORT_COMPARISON_H
#define NCCLPROF_REPORT_COMPARISON_H

#include "base/base.h"

#include <stddef.h>
#include <stdint.h>

struct baseline;
struct findings;
struct job;

/* -------------------- comparison.c -------------------- */

/*
 * The level of a figure in a run, and how far it is known. Steps remember the ones before (networks and hosts
 * have moments that last), so that their plain standard error is too small: the run is cut into batches of
 * consecutive steps, and the spread is that of the batches' medians (batch means: Conway, 1963; Schmeiser,
 * 1982: 10 to 30 of them). A median shrugs off a single long step, a batch what steps remember.
 */
struct step_level {
    double median;
    double error;   /* standard error */
    double freedom; /* degrees of freedom that it is known with; 0: it is not */
    double drift;   /* greatest less least of the medians of the run's thirds */
    size_t steps;
};

/* Of values in the order of steps. -1 when memory is out. */
int level_measure(struct step_level *level, const double *values, size_t count);

/*
 * The difference of two levels that chance alone goes beyond `part` of the time, by Welch's t; and how often
 * it goes beyond `difference`. Errors of 0 on both sides: none, and never.
 */
double levels_limit(const struct step_level *a, const struct step_level *b, double part);
double levels_chance(const struct step_level *a, const struct step_level *b, double difference);

/* -------------------- compare_ranks.c -------------------- */

/*
 * What is measured of a run to hold it against another one: figures with a value for each of its usual steps,
 * in order, so that their noise is known; what diagnose found; and what the run is, so that only like is held
 * against like. Nothing in here knows the job that it was measured of.
 */

enum series_kind {
    SERIES_STEP = 0,      /* length of a step, us */
    SERIES_COMMUNICATION, /* share of a step in which operations ran, % */
    SERIES_WAITING,       /* share of a step that ranks waited for others, % */
    SERIES_PHASE,         /* length of a phase in a step, us */
    SERIES_TRANSFER,      /* transfer of one function, size and number of ranks: median in a step, us */
    SERIES_EDGE,          /* time in which a sender waited for the network on one edge, us a step */
    SERIES_OWN,           /* own time in a step, mean over ranks, each as the middle one of its role, us */
    SERIES_OWN_PHASE,     /* the same before the calls of one phase */
    SERIES_RANK,          /* own time of a rank in a step, us; values are beyond its peers' */
    SERIES_KINDS
};

/* One call of a rank's step, and the own time before it. */
struct measured_place {
    double own_us;   /* median over steps; NAN: not known */
    const char *tag; /* in figures.texts; NULL */
    uint8_t function;
};

struct step_series {
    enum series_kind kind;
    const char *key;  /* of what, in figures.texts: two runs call the same thing alike */
    const char *tag;  /* likewise; NULL */
    int64_t rank;     /* global; of an edge the sender; -1 */
    int64_t receiver; /* of an edge; -1 */
    double *values;   /* owned; steps that do not tell it are left out */
    size_t count;
    double itself;    /* of a rank: own time, its peers' not taken off; median, us */
    double in_a_step; /* of a transfer: how many of them a rank makes; else 1 */
    double gbs_us;    /* of a transfer: its bus bandwidth in GB/s times what it takes in us; 0 */
    double network;   /* of the level, what transfers over the network make up, in its units; INFINITY: all of
                         it */
    struct measured_place *places; /* owned: of a rank */
    size_t place_count;
};

/* What diagnose found, where it tells it unasked. */
struct measured_finding {
    const char *key; /* kind and ranks, in figures.texts */
    const char *tag; /* likewise; NULL */
    int64_t rank;
    double lost_us; /* a step, over all steps of the run */
    int is_told;    /* else of low confidence */
    int stops_job;
    char *text; /* owned: its sentence; hostile */
};

/* Whether a communicator's data went over the network. */
struct measured_way {
    uint64_t members; /* a hash of their global ranks */
    int over_network;
};

struct measured_run {
    struct intern texts;
    struct step_series *items; /* owned, by kind; measured_find looks for one */
    size_t count;
    size_t capacity;
    struct measured_finding *findings; /* owned */
    size_t finding_count;
    size_t finding_capacity;
    struct measured_way *ways; /* owned */
    size_t way_count;
    size_t way_capacity;
    int64_t *hosts; /* owned: of each global rank, the first rank of its host; NULL: not known of all */
    int64_t ranks;  /* that recorded something */
    int64_t run_id;
    char *run_name;  /* owned; hostile; NULL: nothing was measured */
    int32_t steps;   /* after the warm-up */
    int32_t usual;   /* of them, those that the figures are of */
    uint64_t calls;  /* what a step calls, on all ranks; 0: not known */
    uint64_t sizes;  /* likewise, and of which size; 0: that varies */
    int has_ranks;   /* ranks have numbers that other runs have as well */
    int has_network; /* its recorders tell of the network */
    int are_called;  /* steps last from call to call: nothing tells when operations ended */
};

void measured_run_init(struct measured_run *run);
void measured_run_release(struct measured_run *run);

/*
 * A new figure at the end, without values, its key copied; NULL when memory is out. `capacity` values have
 * room.
 */
struct step_series *measured_add(struct measured_run *run, enum series_kind kind, const char *key,
                                 size_t capacity);

/* Adds a value, of which there is room; one that is no number says nothing and is left out. */
void series_add(struct step_series *series, double value);

/* A text, copied, that lives as long as the figures; NULL when memory is out. */
const char *measured_keep(struct measured_run *run, const char *text);

/* Puts them in the order that measured_find needs, once all are there. */
void measured_sort(struct measured_run *run);

/* The figure of a kind and key; NULL. */
const struct step_series *measured_find(const struct measured_run *run, enum series_kind kind,
                                        const char *key);

/* -------------------- compare_rule.c -------------------- */

/*
 * Why two figures are not held against each other, and how far apart they may be by noise. A row of a
 * comparison differs beyond noise where no bar stands before it and its change is greater than every noise.
 * How a rule is added is said in compare_rule.c.
 */
enum compare_rule {
    /* Bars: nothing is judged. */
    COMPARE_ONE_SIDE,
    COMPARE_RANKS,
    COMPARE_PROGRAMME,
    COMPARE_PLACEMENT,
    COMPARE_CALLED,
    COMPARE_FEW_STEPS,
    /* Noises: a difference of so much is none. */
    COMPARE_CHANCE,
    COMPARE_DRIFT,
    COMPARE_SMALLEST,
    COMPARE_SMALLEST_TRANSFER,
    COMPARE_NETWORK,
    COMPARE_WORTH,
    COMPARE_WORTH_RANK,
    COMPARE_SHOWN,
    COMPARE_RESIZED,
    COMPARE_RULES
};

/* Kinds that rules are asked of: those of figures, and findings. */
enum { COMPARED_FINDING = SERIES_KINDS, COMPARED_KINDS };

struct compare_rule_text {
    const char *name; /* stable: in JSON and in the manual */
    int is_bar;
    unsigned kinds; /* bits, by number */
    double limit;
    const char *unit;
    const char *found; /* why this limit: its source, or how it was found */
    const char *says;
};

extern const struct compare_rule_text compare_rules[COMPARE_RULES];

static inline double compare_limit(enum compare_rule rule)
{
    return compare_rules[rule].limit;
}

/* Whether a rule is asked of a kind. */
static inline int compare_asks(enum compare_rule rule, int kind)
{
    return (int)(compare_rules[rule].kinds >> kind & 1);
}

/* -------------------- comparison.c -------------------- */

/* Two runs, figure by figure. */

enum comparison_verdict { COMPARED_NOT = 0, COMPARED_WITHIN, COMPARED_BEYOND };

struct comparison {
    int kind;                                /* of a figure, or COMPARED_FINDING */
    const char *key;                         /* borrowed of the figures, as the next four */
    const char *tag;                         /* NULL */
    const struct step_series *series[2];     /* of A and B; NULL */
    const struct measured_finding *found[2]; /* of A and B, that are told; NULL */
    struct step_level levels[2];
    double values[2]; /* of A and B; NAN: none */
    double change;    /* B less A; of a rank of its own time, beyond what its peers changed by; NAN */
    double noise;     /* a change of so much is none; NAN where nothing is judged */
    double within;    /* the same without what networks differ by from run to run */
    double whole;     /* change and noise are told in parts of it; NAN */
    enum comparison_verdict verdict;
    enum compare_rule rule; /* the bar, or the noise that is greatest */
    double chance;          /* how often the noise of steps makes such a change; NAN */
};

struct comparisons {
    const struct measured_run *runs[2]; /* A and B; borrowed */
    struct comparison *items; /* owned; what became worse beyond noise first, the worst of all ahead */
    size_t count;
    size_t capacity;
    unsigned barred; /* bits of rules of both runs that bar */
};

/* `network`: by which part of them transfers over the network differ from run to run; the limit of
 * COMPARE_NETWORK, unless the user knows better. -1 when memory is out; to be released whatever it returns.
 */
int comparisons_make(struct comparisons *comparisons, const struct measured_run *a,
                     const struct measured_run *b, double network);
void comparisons_release(struct comparisons *comparisons);

/* Change and noise in per cent; NAN where they have no whole. */
double comparison_change_percent(const struct comparison *comparison);
double comparison_noise_percent(const struct comparison *comparison);

/* Whether it differs beyond noise, and to the worse. */
int comparison_is_worse(const struct comparison *comparison);

/* That of the length of steps. */
const struct comparison *comparisons_steps(const struct comparisons *comparisons);

enum comparison_answer { ANSWER_FINE, ANSWER_SLOWER, ANSWER_UNDECIDED };

/*
 * For scripts: ANSWER_SLOWER where steps, a phase or own time became longer beyond noise by more than so many
 * per cent, or a finding is new or grew that costs more than that of a step, or stops the job. Else
 * ANSWER_UNDECIDED where the length of steps could not be judged, or its noise, but for the network's from
 * run to run, hides changes that are greater than that.
 */
enum comparison_answer comparisons_answer(const struct comparisons *comparisons, double percent);

/* -------------------- comparison_text.c -------------------- */

/*
 * A comparison in sentences for people, worst first: what differs beyond noise, or that nothing does and what
 * could have been seen. Text of traces is escaped for a terminal. -1 when memory is out.
 */
int comparisons_append(const struct comparisons *comparisons, struct buffer *text);

/* Why something was not judged: a clause for a rule that bars. -1 when memory is out. */
int comparisons_append_bar(const struct comparisons *comparisons, enum compare_rule rule,
                           struct buffer *text);

/* "before the 3rd call of the step (AllReduce, backward)": where a rank's own time changed most; nothing
 * where that is not known. */
int comparison_append_place(const struct comparison *comparison, struct buffer *text);

/* "step", "phase", ..., "finding". */
const char *comparison_name(int kind);

/* -------------------- compare_measure.c -------------------- */

/*
 * The steps by which a run is held against another one: after the warm-up, of known length, of the regular
 * stretch that has most of them; without those that a finding of diagnose covers, as long as half are left.
 * What a finding covers is held against the other run as a finding.
 */
struct usual {
    int32_t *steps;  /* owned; ascending */
    int32_t *places; /* owned: of each step of the job, where it is in `steps`; -1 */
    size_t count;
    int32_t after_warm_up; /* of all steps */
};

/* All figures of a run (measured_run_init), its findings and its shape. Wants what findings_find fills in. */
int run_measure(struct measured_run *run, const struct job *job, const struct baseline *baseline,
                const struct findings *findings, struct error *error);

/* -------------------- compare_ranks.c -------------------- */

/* What transfers over the network take of a usual step, mean over ranks: what differs most from run to run.
 */
struct network_parts {
    /*
     * Owned: of each communicator, whether its data may go over a network: recorders that tell of the network
     * tell of it, or of nobody's and its members are not known to share a host.
     */
    unsigned char *is_over;
    double all_us;
    double *by_step; /* owned: the same in each usual step */
    double *by_tag;  /* owned: of each tag of the job, and behind them of no tag */
};

/* -1 when memory is out; to be released whatever it returns. */
int network_parts_init(struct network_parts *parts, const struct job *job, const struct usual *usual);
void network_parts_release(struct network_parts *parts);

/*
 * What becomes of own time where transfers take longer: computation that goes on beside them leaves so much
 * less of it behind them. Its part of what transfers take longer, from 0 (nothing goes on beside them) to 1,
 * as own times of `count` usual steps tell, by their slope against transfers; where they tell it only
 * roughly, the greatest that it may be (two standard errors).
 */
double network_parts_overlap(const struct network_parts *parts, const double *own_us, size_t count);

/*
 * Own time of each rank in a step: beyond the median of the other ranks of its role in
 * the same step, or of all others where it plays its role alone; itself; and before each call of the step.
 * And of all ranks together. It is what passes until a call runs while no other of the rank's does. -1 when
 * memory is out.
 */
int measure_ranks(struct measured_run *run, const struct job *job, const struct baseline *baseline,
                  const struct usual *usual, const struct network_parts *parts);

/* -------------------- compare_rule.c -------------------- */

/* Whether a bar (COMPARE_RANKS to COMPARE_CALLED) stands between two runs. */
int comparison_is_blocked(const struct measured_run *const runs[2], enum compare_rule rule);

/* How many communicators have their data on the network in one run only, of those that both have. */
size_t likeness_moved(const struct measured_run *const runs[2]);

/*
 * What a run is: its ranks, what a step calls, which communicators' data goes over the network, and which
 * ranks share a host. -1 when memory is out.
 */
int shape_measure(struct measured_run *run, const struct job *job, const struct usual *usual);

#endif
