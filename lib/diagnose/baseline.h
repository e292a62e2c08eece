#ifndef NCCLPROF_DIAGNOSE_BASELINE_H
#define NCCLPROF_DIAGNOSE_BASELINE_H

#include "diagnose/diagnose.h"
#include "job/job.h"

#include <stddef.h>
#include <stdint.h>

struct explained_slope;

/* -------------------- excess.c -------------------- */

/* Of nothing anything is known. -1 when memory is out. */
int excess_list_init(struct excess_list *list, size_t operations);
void excess_list_release(struct excess_list *list);

/*
 * One of `parts` parts of a list in which nothing is written out yet, for operations that no other part is
 * asked about: several threads fill them side by side. excess_list_join puts what they wrote out into the
 * list and releases them; it sets `failed` where one of them has it, or memory is out.
 */
struct excess_list excess_list_part(const struct excess_list *list, size_t number, size_t parts);
void excess_list_join(struct excess_list *list, struct excess_list *parts, size_t count, size_t operations);

/* Sets `failed`, unless it could. */
void excess_put(struct excess_list *list, size_t operation, struct excess excess);

/* Any value can be changed there, until another one is put. NULL when memory is out: `failed` is set. */
struct excess *excess_written(struct excess_list *list, size_t operation);

static inline struct excess excess_listed(const struct excess_list *list, size_t operation)
{
    int32_t brief = list->brief[operation];
    if (brief >= EXCESS_WRITTEN)
        return list->written[brief - EXCESS_WRITTEN - list->base];
    return (struct excess){.late_beyond_ns = TIME_UNKNOWN,
                           .beyond_ns = brief == EXCESS_UNKNOWN ? TIME_UNKNOWN : brief};
}

/* -------------------- baseline.c -------------------- */

/* By how much a rank's own time at a place has to be beyond its usual to stand out. TIME_UNKNOWN: it never
 * does. */
struct place_limits {
    int64_t in_a_step_ns;
    int64_t in_all_steps_ns; /* beyond its peers' */
};

/* Lateness whose origin is hidden: of an operation whose own time is unknown. */
struct hidden_lateness {
    int64_t hidden_ns; /* what others waited for it beyond the usual at its place; 0 where it is no more */
    int stands_out;    /* beyond the spread of its place by itself */
};

/* An operation of the job's. */
static inline struct excess excess_of(const struct baseline *baseline, const struct job *job,
                                      const struct job_operation *operation)
{
    return excess_listed(&baseline->excess, (size_t)(operation - job->operations));
}

/*
 * How long a row of steps lasted together, median over ranks: ranks that enter a step at different times
 * count a delay at its edge to different steps, and where half of them are late a median sees it in neither:
 * it is counted to the step in which others wait. The last step of all, whose end nothing tells, is left out.
 * TIME_UNKNOWN where there is no other. `list` has room for one of each rank.
 */
int64_t baseline_lasted_ns(const struct baseline *baseline, const struct job *job, int32_t first_step,
                           int32_t last_step, int64_t *list);

/* -------------------- place.c -------------------- */

/*
 * The values of one place of the step, by rank (or communicator) and step, and what stands out among them:
 * the statistics of baseline.c.
 */
struct place {
    int64_t *value;    /* [rank * steps + step]; TIME_UNKNOWN where there is none */
    int64_t *bytes;    /* likewise, of a transfer; all 0 where sizes say nothing */
    int64_t *evened;   /* scratch */
    int64_t *usual;    /* of each rank: least tenth, or lower quartile, over steps */
    int64_t *middle;   /* of each rank: median over steps */
    int64_t *apart;    /* [rank * steps + step]: the value less the rank's median; TIME_UNKNOWN */
    int64_t *list;     /* scratch */
    int64_t unlike_ns; /* place_measure_alike: by how much a row's usual has to be more than the others' to
                          stand out in all steps; TIME_UNKNOWN where too few rows are known */
    int64_t *residual;
};

int place_init(struct place *place, size_t ranks, size_t steps);
void place_release(struct place *place);

/*
 * Replaces value[] by the excess over max(the others' median in the step, own usual) and returns sigma, from
 * the residuals against max(the others' median, own median). The own usual is what the least tenth of the
 * steps, two at least, are below: what a link could do in those it can do, and a fault may last for more than
 * three quarters of the steps. Steps before first_step are not looked at.
 *
 * Where sizes differ, what more data takes longer is no excess: it has to be one of the times as they are,
 * and of those that a size would have taken which a tenth of them are below. The lesser of the two counts,
 * against the greater sigma. Where a size is not known (0), none is looked at.
 */
int64_t place_measure(struct place *place, size_t ranks, int32_t first_step, int32_t steps);

/*
 * The same for a place whose rows should be alike: where at most a quarter of the rows, and of four at least,
 * all of one owner, have lower quartiles that stand out from the others' by more than `sigmas` and are
 * `factor` times theirs, their own past is no measure of them, and the others' takes its place. `owner` may
 * be NULL: each row is its own. A row that is alone may be unlike itself by design: its usual is its lower
 * quartile.
 */
int64_t place_measure_alike(struct place *place, size_t ranks, int32_t first_step, int32_t steps,
                            double sigmas, double factor, const int32_t *owner);

/* Values of a place that go with something else that is known of each, and what that explains of them. */
struct explained {
    int64_t *by;                    /* owned: [rank * steps + step]; TIME_UNKNOWN */
    int64_t *list;                  /* owned: scratch, as many */
    int64_t *usual_by;              /* owned: of each rank, median over steps; TIME_UNKNOWN */
    int64_t *usual_value;           /* owned: likewise */
    struct explained_slope *slopes; /* owned: scratch, one for each value */
};

int explained_init(struct explained *explained, size_t ranks, size_t steps);
void explained_release(struct explained *explained);

/*
 * Takes from values, [rank * steps + step] from first_step on, what `by` beyond its median explains, by one
 * line for all ranks: that of least absolute deviations (Boscovich, 1757), the median of the slopes from the
 * middle, weighted by how far each is from there. It is sloped upwards, or nothing changes. The middle is
 * each rank's own: what ranks differ by all the time tells nothing of what goes with what. A value grows in
 * proportion at most: twice the data, twice the time. Faults that are in less than half of the weight do not
 * turn the line.
 */
void explained_remove(struct explained *explained, int64_t *value, size_t ranks, int32_t first_step,
                      int32_t steps);

/*
 * What the operation before one on its stream, or the group of sends and receives that is, brought its rank:
 * of a group what was received, of a collective its size; bytes. Load that is data: how long a rank works
 * after that goes with it. The expert that is sent more tokens has more to do, and no GPU is slow for it.
 * TIME_UNKNOWN where there is none, or sizes are not known.
 */
int64_t received_bytes(const struct job *job, const struct job_operation *operation);

/* Threads go through the places of all roles, each of which is measured by itself. */

/* How many are worth their while: what a thread needs to measure a place is little beside the job. */
size_t each_place_threads(const struct baseline *baseline, const struct job *job);

/* The most ranks that a role has. */
size_t each_place_ranks(const struct baseline *baseline);

/* Does something at a place. `worker`: as in base/parallel.h. */
typedef void (*place_visit)(void *context, size_t worker, size_t role, int32_t position);

/* Goes to each place once, in any order. -1 when memory is out. */
int each_place(const struct baseline *baseline, size_t threads, place_visit visit, void *context);

/* -------------------- excess.c -------------------- */

/* baseline_init's part: fills in excess, hidden and late_ns, which are there. -1 when memory is out. */
int baseline_measure_places(struct baseline *baseline, const struct job *job, double sigmas);

/* -------------------- roles.c -------------------- */

/* baseline_init's part: positions of operations, and which ranks play one role. -1 when memory is out. */
int baseline_find_roles(struct baseline *baseline, const struct job *job);

/* So many programmes of a rank have places of their own. */
enum { MOST_PROGRAMMES = 16 };

/*
 * What the steps of a rank are like: the sequence that most of them have, and those of its other regular
 * stretches (batches that ramp up, longer sequences, an evaluation), each in as many steps in a row as make
 * one. The same sequence under another load (warm_up.c) is another programme. Each step is of one of them,
 * however little of it it has: where it is as none of them, of that which came before it, or else after it.
 */
struct call_sequences {
    struct stretch canonical[MOST_PROGRAMMES];
    int32_t load[MOST_PROGRAMMES];
    int32_t first_step[MOST_PROGRAMMES]; /* that is of it */
    int32_t count;                       /* 0: the rank has no steps */
    int32_t *of_step;                    /* owned */
};

/*
 * `stretches` are those of the rank, one for each step of the job, as are `loads`; `scratch` has room for as
 * many. Release them whatever comes back: -1 when memory is out.
 */
int call_sequences_find(struct call_sequences *call_sequences, const struct stretch *stretches,
                        const int32_t *loads, int32_t first_step, int32_t step_count,
                        struct stretch *scratch);
void call_sequences_release(struct call_sequences *call_sequences);

/* -------------------- sequence_match.c -------------------- */

/*
 * Sets the positions (by operation) of a rank's operations: which of the canonical sequence each one is, in
 * order; -1 for one that is none of them. Where records are missing, by sequence numbers; else by size and
 * call. Steps of more than four times as many operations are left alone. Linear in the operations. -1 when
 * memory is out.
 */
int positions_match(const struct job *job, const struct stretch *stretches, struct stretch canonical,
                    int32_t *positions);

/* -------------------- warm_up.c -------------------- */

/*
 * Steps after the first in which something is used for the first time: a regular stretch begins, or a
 * communicator is made anew, or the program and its profiler still start up. What takes longer there is
 * warm-up, as all of step 0 is, where it hits several ranks, or is over in the next step.
 */

/* One more of them; each comes once, in any order. -1 when memory is out. */
int warm_up_add(struct baseline *baseline, int32_t step);

/* Those in which communicators made anew are first used. -1 when memory is out. */
int warm_up_find(struct baseline *baseline, const struct job *job);

/* The long ones that the job begins with, a few at most. Wants baseline_measure_steps. -1 when memory is out.
 */
int warm_up_find_first(struct baseline *baseline);

/* The values of one place, [row * step_count + step]: those that are warm-up become TIME_UNKNOWN. `list` has
 * room for a row. */
void warm_up_drop(const struct baseline *baseline, int64_t *values, size_t rows, int64_t *list);

/*
 * Where a job's work per step changes, on all ranks alike and for good, though its operations stay what they
 * are: longer sequences, more micro-batches between the sums of gradients. By step, the number of its load:
 * 0 from the first step on, then counted up. What was usual before says nothing of what is usual after.
 *
 * A load changes where the own time of a step (job/own_time.h), as ranks have it in the middle one of some
 * steps, is more than a fifth above or below that of as many before, on three ranks in four by the same
 * factor: a rank that is late, and hosts that are late now and then, change no load. Owned by the caller;
 * NULL when memory is out.
 */
int32_t *loads_find(const struct job *job, int32_t first_step);

#endif
