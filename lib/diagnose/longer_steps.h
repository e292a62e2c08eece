/*
 * The search for longer steps, with or without a finding, and the account of the time lost.
 *
 * Times are in nanoseconds, steps are steps of the job (struct job). Functions that return int return -1 when
 * memory runs out, and 0 otherwise, unless they answer a yes-or-no question.
 */
#ifndef NCCLPROF_DIAGNOSE_LONGER_STEPS_H
#define NCCLPROF_DIAGNOSE_LONGER_STEPS_H

#include "diagnose/cause.h"

#include <stddef.h>
#include <stdint.h>

struct baseline;
struct buffer;
struct diagnose_options;
struct error;
struct findings;
struct job;
struct table;
struct transfer_excess;

/* -------------------- longer_steps.c -------------------- */

/*
 * The baseline duration of each step. Steps are compared only with steps of the same load: as many operations
 * and as many bytes, within a tenth, so that evaluation, gradient accumulation and growing batches do not
 * count as longer steps. The baseline of a load is a low quantile of its steps (baseline_quantile), because a
 * fault may fill most of a job.
 */
struct usual_steps {
    /* Owned, by step; TIME_UNKNOWN in the warm-up and where too few steps have the same load */
    int64_t *usual_ns;
    /* Owned, by step; sigma of the differences between consecutive steps of the same load */
    int64_t *noise_ns;
    int32_t *load; /* owned, by step: the index of its load in order of appearance; -1: none */
    int32_t load_count;
    int64_t *bytes; /* owned, by step: the bytes of all its operations, each collective once */
};

/*
 * Steps that took longer than the baseline (longer_steps.c), whatever the cause: blocks of steps, and single
 * steps. A step counts as longer if the difference is at least a tenth of its baseline, at least min_gain,
 * and at least `sigmas` times the noise; a step of twice the baseline always counts. Five consecutive steps
 * and more that are longer by a tenth on average, and apart from the others, count together where no finding
 * is reported: the mean of many has less noise.
 */
struct longer_row {
    /* -1: of a later round (longer_steps_add_round), whose step numbers do not apply any more */
    int32_t first;
    int32_t last;
    int32_t run_first; /* the same, numbered in the run */
    int32_t run_last;
    int32_t steps;    /* those of its steps that were longer */
    int64_t usual_ns; /* average baseline of those */
    int64_t took_ns;
    int64_t lost_ns; /* the total by which they were longer */
    /* Findings of medium or high confidence, or of a job that stopped, explain half of lost_ns */
    int explained;
    int became; /* it lasts too long to be a hiccup, or is of struct slow_for_all */
    /* Of struct slow_for_all: the mean transfer time of the slow operations, and its baseline; else 0 */
    int64_t transfer_ns;
    int64_t usual_transfer_ns;
};

/* Why a part of the time lost has no finding. */
enum loss_reason {
    LOSS_WITH_FINDING = 0,  /* the step, or the one before, has a finding, which explains less */
    LOSS_RECURS,            /* single steps that recur as checkpoints do */
    LOSS_BY_CALLS,          /* step times are measured from call to call */
    LOSS_DOUBTED,           /* a finding of low confidence explains half of it */
    LOSS_INSIDE_NO_NETWORK, /* operations took longer, and no network steps are recorded */
    LOSS_INSIDE,            /* operations took longer, although network steps are recorded */
    LOSS_BETWEEN,           /* more time passed between operations */
    LOSS_NO_TIMES,          /* the operations have no times */
    LOSS_REASONS
};

struct loss_part {
    int64_t lost_ns;
    int32_t steps;
};

struct longer_steps {
    struct usual_steps usual;
    struct longer_row *rows; /* owned, ascending */
    size_t count;
    size_t capacity;
    /* In steps: the distance of single longer steps that recur as checkpoints do; 0: they do not recur */
    int32_t period;
    int measured_by_calls; /* step times are measured from call to call (baseline.h): no alarm */
    /* The first step after the warm-up and the steps that may belong to it: the sums start here */
    int32_t started_step;
    /*
     * The account of the run (account.c): lost_ns is explained_ns plus the sum of `undetermined`, and
     * explained_ns is hidden_ns plus the sum of the account_ns of all findings. A step lost what findings of
     * medium or high confidence explain together, and what remains of the time by which it was longer than a
     * step without a finding, if that alone would count as longer. A finding that belongs to no step, such as
     * a late start, lost its cost.
     */
    /* The sum of all known step times after the warm-up, and of costs that belong to no step */
    int64_t whole_ns;
    int64_t lost_ns;
    int64_t explained_ns;
    int64_t hidden_ns; /* what several findings explain at the same time: each is hidden behind the others */
    struct loss_part undetermined[LOSS_REASONS];
    struct observed_causes observed; /* in the block of longer_steps_unexplained (cause_observed.c) */
};

/* Needs job_index_steps and baseline_measure_steps. -1 when memory runs out: release it anyway. */
int usual_steps_init(struct usual_steps *usual, const struct job *job, const struct baseline *baseline);
void usual_steps_release(struct usual_steps *usual);

/* Fills in `longer`. Needs the results of findings_find. -1 when memory runs out: release it anyway. */
int longer_steps_find(struct longer_steps *longer, const struct job *job, const struct baseline *baseline,
                      const struct findings *findings, const struct diagnose_options *options);
void longer_steps_release(struct longer_steps *longer);

/* Adds the blocks and the sums of a later round of the same run. -1 when memory runs out. */
int longer_steps_add_round(struct longer_steps *longer, const struct longer_steps *round);

/*
 * The block that lost most of those that have no explanation and do not recur. A block of a later round comes
 * only where there is no other. NULL: none.
 */
const struct longer_row *longer_steps_unexplained(const struct longer_steps *longer);

/*
 * Whether steps became longer and no rank can be blamed: there is an unexplained block that is no hiccup, or
 * unexplained blocks and single steps cost the job a tenth of its time. Never where step times are measured
 * from call to call.
 */
int longer_steps_alarm(const struct longer_steps *longer);

/*
 * The noise of consecutive step times, which it overwrites: sigma of their differences, divided by the square
 * root of two, because a difference of two values varies more than one. A fault that lasts adds only two
 * large differences, however many steps it fills.
 */
int64_t longer_noise_ns(int64_t *lengths, size_t count);

/* How much longer than the baseline a step must be to count as longer. */
int64_t longer_least_ns(int64_t noise_ns, int64_t usual_ns, const struct diagnose_options *options);

/* -------------------- account.c -------------------- */

/*
 * Changes the costs of findings of medium and high confidence where the durations of their steps show by more
 * than noise that they cost more or less. Needs findings_detail. -1 when memory runs out.
 */
int findings_fit_costs(struct findings *findings, const struct job *job, const struct baseline *baseline,
                       const struct diagnose_options *options);

/*
 * Fills in the account of `longer`, whose other members are known, and the account_ns of each finding, and
 * adds to lost_ns of a finding what the steps after its own were longer because of it. Needs findings_detail.
 * -1 when memory runs out.
 */
int longer_steps_account(struct longer_steps *longer, const struct job *job, const struct baseline *baseline,
                         struct findings *findings, const struct diagnose_options *options);

/*
 * Divides the time of a rank among its operations, which the caller passes in order: the time before
 * operation `number` in which the rank has no operation on any stream, and the transfer time of the operation
 * after all earlier ones have ended, without waiting for other ranks. *latest_ns is the latest end so far;
 * set it to TIME_UNKNOWN before the first operation. The parts are TIME_UNKNOWN where they are not known.
 */
void operation_parts(const struct job *job, size_t number, int64_t *latest_ns, int64_t *before_ns,
                     int64_t *inside_ns);

/* The reason as a clause, and what to do to find the cause. */
const char *loss_reason_text(enum loss_reason reason);
const char *loss_reason_remedy(enum loss_reason reason);

/* -------------------- longer_steps_text.c -------------------- */

/*
 * Adds a caution about the longer steps that lost most and that no finding explains: which steps, by how
 * much, which operation became slower and which rank arrived last there. Adds another about steps that became
 * longer because their operations have more bytes, which is load and not a fault.
 */
int caution_longer_steps(const struct job *job, const struct baseline *baseline,
                         const struct transfer_excess *transfers, const struct longer_steps *longer,
                         struct table *table, struct error *error);

/* Appends [{"first_step", "last_step", "usual_us", "took_us", "explained"}]. -1 when memory runs out. */
int longer_steps_add_json(const struct longer_steps *longer, const struct job *job, struct buffer *json);

#endif
