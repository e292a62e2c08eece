#ifndef NCCLPROF_DIAGNOSE_BASELINE_H
#define NCCLPROF_DIAGNOSE_BASELINE_H

#include "diagnose/diagnose.h"
#include "job/job.h"

#include <stddef.h>
#include <stdint.h>

struct explained_slope;

/* -------------------- excess.c -------------------- */

/* All operations start as unknown. Returns -1 when memory runs out. */
int excess_list_init(struct excess_list *list, size_t operations);
void excess_list_release(struct excess_list *list);

/*
 * Returns part `number` of `parts` of a list that has no entries in `written` yet. Several threads fill the
 * parts at the same time, each for operations that no other part is asked about. excess_list_join moves what
 * the parts have written into the list and releases the parts. It sets list->failed if a part failed or
 * memory ran out.
 */
struct excess_list excess_list_part(const struct excess_list *list, size_t number, size_t parts);
void excess_list_join(struct excess_list *list, struct excess_list *parts, size_t count, size_t operations);

/* Stores the excess of an operation. Sets list->failed if memory runs out. */
void excess_list_put(struct excess_list *list, size_t operation, struct excess excess);

static inline struct excess excess_list_get(const struct excess_list *list, size_t operation)
{
    int32_t brief = list->brief[operation];
    if (brief >= EXCESS_WRITTEN)
        return list->written[brief - EXCESS_WRITTEN - list->base];
    return (struct excess){.beyond_ns = brief == EXCESS_UNKNOWN ? TIME_UNKNOWN : brief};
}

/* -------------------- baseline.c -------------------- */

/*
 * How far the own time of a rank at a place has to exceed its baseline to stand out. TIME_UNKNOWN: it never
 * stands out.
 */
struct place_limits {
    int64_t in_a_step_ns;
    int64_t in_all_steps_ns; /* above its peers */
};

/* Lateness of unknown origin, of an operation whose own time is unknown. */
struct hidden_lateness {
    int64_t hidden_ns; /* what others waited for it, above the baseline of its place; 0 if not above */
};

/* `operation` must be one of job->operations. */
static inline struct excess excess_of(const struct baseline *baseline, const struct job *job,
                                      const struct job_operation *operation)
{
    return excess_list_get(&baseline->excess, (size_t)(operation - job->operations));
}

/*
 * Returns how long the steps from first_step to last_step took together, median over ranks. Ranks that enter
 * a step at different times count a delay at its edge in different steps. If half of them are late, the
 * median sees the delay in neither step; it is then counted in the step in which others wait. The last step
 * of the job is left out because its end is unknown. TIME_UNKNOWN where no other step is left. `list` has
 * room for one value per rank.
 */
int64_t baseline_steps_duration_ns(const struct baseline *baseline, const struct job *job, int32_t first_step,
                                   int32_t last_step, int64_t *list);

/* -------------------- place.c -------------------- */

/*
 * The values of one place of the step, by rank (or link) and step, and what stands out among them: the
 * statistics described at struct role.
 */
struct place {
    int64_t *value;           /* [row * steps + step]; TIME_UNKNOWN where there is none */
    int64_t *bytes;           /* same index: size of a transfer; all 0 where sizes do not matter */
    int64_t *evened;          /* scratch */
    int64_t *usual;           /* per row: lowest tenth over steps, or lower quartile */
    int64_t *middle;          /* per row: median over steps */
    int64_t *apart;           /* [row * steps + step]: the value minus the median of its row; TIME_UNKNOWN */
    int64_t *list;            /* scratch */
    int64_t outlier_limit_ns; /* set by place_measure_alike: how far the baseline of a row must be above the
                          others' to stand out in all steps; TIME_UNKNOWN where too few rows are known */
    int64_t *residual;
};

/* Allocates room for ranks * steps values. Returns -1 when memory runs out; release it in that case too. */
int place_init(struct place *place, size_t ranks, size_t steps);
void place_release(struct place *place);

/*
 * Replaces value[] by the excess over max(median of the others in the step, own baseline). Returns sigma of
 * the residuals against max(median of the others, own median). The own baseline is the value that the lowest
 * tenth of the steps, at least two, are below: what a link could do in those steps it can do, and a fault may
 * last for more than three quarters of the steps. Steps before first_step are ignored.
 *
 * Where sizes differ, a longer time for more data is no excess. The excess is computed twice: from the times,
 * and from the times scaled to the size that a tenth of the sizes are below. The smaller excess counts, with
 * the greater sigma. If any size is unknown (0), sizes are ignored.
 */
int64_t place_measure(struct place *place, size_t ranks, int32_t first_step, int32_t steps);

/*
 * Same for a place whose rows should be alike. If at most a quarter of the rows (of at least four), all with
 * one owner, have lower quartiles that exceed those of the others by more than `sigmas` and are `factor`
 * times theirs, their baseline is replaced by that of the others. `owner` may be NULL: each row is its own
 * owner. A row without others may differ by design: its baseline is its lower quartile.
 */
int64_t place_measure_alike(struct place *place, size_t ranks, int32_t first_step, int32_t steps,
                            double sigmas, double factor, const int32_t *owner);

/*
 * The values of a place, a second quantity known for each of them (here received bytes), and the part of the
 * values that it explains.
 */
struct explained {
    int64_t *by;                    /* owned: [rank * steps + step], the second quantity; TIME_UNKNOWN */
    int64_t *list;                  /* owned: scratch, same size */
    int64_t *median_by;             /* owned: per rank, median over steps; TIME_UNKNOWN */
    int64_t *median_value;          /* owned: same, of the values */
    struct explained_slope *slopes; /* owned: scratch, one per value */
};

/* Allocates room for ranks * steps values. Returns -1 when memory runs out; release it in that case too. */
int explained_init(struct explained *explained, size_t ranks, size_t steps);
void explained_release(struct explained *explained);

/*
 * Subtracts from the values, [rank * steps + step] from first_step on, what `by` beyond its median explains.
 * One line is fitted for all ranks, by least absolute deviations (Boscovich, 1757): its slope is the median
 * of the slopes from the center, weighted by the distance from the center. If the slope is not positive,
 * nothing changes. The center is each rank's own because a constant difference between ranks shows no
 * dependence. A value grows at most in proportion: twice the data, twice the time. Faults with less than half
 * of the weight do not change the line.
 */
void explained_remove(struct explained *explained, int64_t *value, size_t ranks, int32_t first_step,
                      int32_t steps);

/*
 * Returns the bytes that a rank received from the operation before this one on its stream: for a group of
 * sends and receives the sum of what was received, for a collective its size. How long a rank then computes
 * depends on it: an expert that gets more tokens has more work, and its GPU is not slow. TIME_UNKNOWN where
 * there is no such operation or sizes are unknown.
 */
int64_t received_bytes(const struct job *job, const struct job_operation *operation);

/* Threads visit the places of all roles. Each place is measured independently. */

/*
 * Returns the number of threads to use. It is limited so that the memory of the threads stays small compared
 * with the job.
 */
size_t each_place_threads(const struct baseline *baseline, const struct job *job);

/* Returns the largest number of ranks in any role. */
size_t each_place_ranks(const struct baseline *baseline);

/* Called for each place. `worker` is the number of the thread, as in parallel_for (base.h). */
typedef void (*place_visit)(void *context, size_t worker, size_t role, int32_t position);

/* Calls `visit` once for each place, in any order. Returns -1 when memory runs out. */
int each_place(const struct baseline *baseline, size_t threads, place_visit visit, void *context);

/* -------------------- excess.c -------------------- */

/*
 * Called by baseline_init: fills in the allocated excess, hidden and late_ns, as far as the options want
 * them. Returns -1 when memory runs out.
 */
int baseline_measure_places(struct baseline *baseline, const struct job *job,
                            const struct baseline_options *options);

/* -------------------- roles.c -------------------- */

/*
 * Called by baseline_init: finds the positions of operations, and which ranks play the same role. Returns -1
 * when memory runs out.
 */
int baseline_find_roles(struct baseline *baseline, const struct job *job);

/*
 * Fills in same_work. Ranks do the same work if they have one role and reduce or gather with each other in
 * communicators that contain no other role, directly or through others: those that share a model or its data.
 */
int baseline_find_same_work(struct baseline *baseline, const struct job *job);

/* -------------------- step_numbers.c -------------------- */

/*
 * Where records are missing, an operation is identified by the distance of its sequence number from the
 * number at which its step begins (its slot), in its series: the collectives of a communicator and function,
 * or the sends from one rank to another.
 */
struct step_numbers {
    const struct job *job;
    struct map series;
    int64_t *begins; /* owned; [series][step]: -1: unknown */
    int32_t steps;
    int is_even; /* the numbers of all series grow by the same amount from step to step */
};

/* For the operations of one rank. Returns -1 when memory runs out; release it in all cases. */
int step_numbers_init(struct step_numbers *numbers, const struct job *job, const struct job_rank *rank);
void step_numbers_release(struct step_numbers *numbers);

/* The series of an operation. */
struct map_key step_numbers_series(const struct job *job, const struct job_operation *operation);

/* -1: unknown. */
int64_t step_numbers_slot(const struct step_numbers *numbers, const struct job_operation *operation);

/* Series and slot. */
struct map_key step_numbers_key(const struct step_numbers *numbers, const struct job_operation *operation);

/* The operations that at least half of the steps of a rank have, in the order in which steps have them. */
struct merged_step {
    int32_t *operations;   /* owned; one that is at this place in some step */
    unsigned char *varies; /* owned; whether most steps have another size at this place */
    int32_t count;
};

/* `stretches` has one for each step of the job. Returns -1 when memory runs out; release it in all cases. */
int merged_step_find(struct merged_step *merged, const struct step_numbers *numbers,
                     const struct stretch *stretches, int32_t first_step);
void merged_step_release(struct merged_step *merged);

/* -------------------- roles.c -------------------- */

/* The operation at a place of a sequence, as an index of job.operations. */
static inline int32_t stretch_at(const struct stretch *stretch, int32_t place)
{
    return stretch->list ? stretch->list[place] : stretch->first + place;
}

/* At most this many call sequences of a rank have places of their own. */
enum { MAX_CALL_SEQUENCES = 16 };

/*
 * The call sequences of the steps of a rank: the one that most steps have, and those of its other regular
 * stretches (batches that ramp up, longer sequences, an evaluation), each in enough consecutive steps. The
 * same sequence under another load (warm_up.c) counts as a different one. Each step is assigned to one of
 * them. A step that matches none is assigned to that of the steps before it or, if there is none, of those
 * after it.
 */
struct call_sequences {
    struct stretch canonical[MAX_CALL_SEQUENCES];
    int32_t load[MAX_CALL_SEQUENCES];
    int32_t first_step[MAX_CALL_SEQUENCES]; /* first step assigned to it */
    int32_t count;                          /* 0: the rank has no steps */
    int32_t *of_step;                       /* owned: per step, its call sequence */
    struct merged_step merged; /* where too few steps are complete: the only sequence, made of many steps */
};

/*
 * `stretches` and `loads` are those of the rank, one per step of the job. `scratch` has room for as many
 * stretches. `numbers`: of the rank, where records are missing; else NULL. Returns -1 when memory runs out;
 * release it in all cases.
 */
int call_sequences_find(struct call_sequences *sequences, const struct stretch *stretches,
                        const int32_t *loads, int32_t first_step, int32_t step_count,
                        const struct step_numbers *numbers, struct stretch *scratch);
void call_sequences_release(struct call_sequences *sequences);

/* -------------------- sequence_match.c -------------------- */

/*
 * Fills in the positions, by operation, of the operations of a rank: the index of each in the canonical
 * sequence, or -1. Operations are matched by size and call, in ascending order, or, where records are
 * missing, by sequence number (`numbers`; else NULL). Steps with more than four times as many operations are
 * skipped. Linear in the number of operations. Returns -1 when memory runs out.
 */
int positions_match(const struct job *job, const struct stretch *stretches, struct stretch canonical,
                    const struct step_numbers *numbers, int32_t *positions);

/* -------------------- warm_up.c -------------------- */

/*
 * Steps after the first in which something is used for the first time: a regular stretch begins, a
 * communicator is recreated, or the program and its profiler are still starting. Longer times in such a step
 * are warm-up, as is all of step 0, if several ranks show them or if they are over in the next step.
 */

/* Adds a step unless it is in the list already. Returns -1 when memory runs out. */
int warm_up_add(struct baseline *baseline, int32_t step);

/* Adds the steps in which recreated communicators are first used. Returns -1 when memory runs out. */
int warm_up_find(struct baseline *baseline, const struct job *job);

/*
 * Adds the long steps at the start of the job, a few at most. Call it after baseline_measure_steps. Returns
 * -1 when memory runs out.
 */
int warm_up_find_first(struct baseline *baseline);

/*
 * Sets the values of one place, [row * step_count + step], that are warm-up to TIME_UNKNOWN. `list` has room
 * for one row.
 */
void warm_up_drop(const struct baseline *baseline, int64_t *values, size_t rows, int64_t *list);

/*
 * Finds changes of the work per step that affect all ranks and last although the operations stay the same:
 * longer sequences, more micro-batches between gradient reductions. Returns, by step, the number of its load:
 * 0 from the first step on, then counted up. A baseline from one load does not hold for another.
 *
 * The load changes where the own time of a step (median over ranks, then over a window of steps) is more than
 * a fifth above or below that of the window before, by the same factor on three of four ranks. A single late
 * rank, or hosts that are late now and then, do not change the load. The caller frees the result; NULL when
 * memory runs out.
 */
int32_t *loads_find(const struct job *job, int32_t first_step);

#endif
