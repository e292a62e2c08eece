/*
 * Where only durations are known and transfers are slow in some steps: finds the member that also joined the
 * operations later in these steps, because its GPU or its host was busy, which slows down transfers, too. A
 * slow link makes no member join later.
 */
#include "base/base.h"
#include "diagnose/baseline.h"
#include "diagnose/diagnose.h"
#include "diagnose/network.h"
#include "diagnose/score.h"
#include "job/job.h"
#include "model/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A member has moved if it did so by at least so many times as much as any other rank, either way. */
static const double TIMES_OF_OTHERS = 2;

/* The steps of a job in which ranks join later; all owned. */
struct joining {
    const struct job *job;           /* borrowed */
    const struct baseline *baseline; /* borrowed */
    int64_t *stay_ns; /* [rank * steps + step], how long it was in operations: less if it joins later */
    double *later_ns; /* the same, less than the median of its role */
    int64_t *list;    /* scratch, [rank] */
    double *row;      /* scratch, [step] */
    double *sorted;   /* scratch, [step] */
};

static void sum_stays(const struct joining *joining)
{
    const struct job *job = joining->job;
    for (size_t i = 0; i < job->operation_count; i++) {
        const struct job_operation *operation = &job->operations[i];
        int64_t stay_ns = job_duration(operation);
        if (operation->step >= 0 && operation->step < job->step_count && stay_ns != TIME_UNKNOWN)
            joining->stay_ns[(size_t)operation->rank * (size_t)job->step_count + (size_t)operation->step] +=
                stay_ns;
    }
}

/* Compares the ranks of a role in a step with their median, which needs as many others. */
static void compare_role(const struct joining *joining, const struct role *role, int32_t step)
{
    size_t steps = (size_t)joining->job->step_count;
    for (size_t i = 0; i < role->rank_count; i++)
        joining->list[i] = joining->stay_ns[(size_t)role->ranks[i] * steps + (size_t)step];
    int64_t median_ns = median_of(joining->list, role->rank_count);
    for (size_t i = 0; i < role->rank_count; i++) {
        size_t at = (size_t)role->ranks[i] * steps + (size_t)step;
        joining->later_ns[at] = (double)(median_ns - joining->stay_ns[at]);
    }
}

static int joining_init(struct joining *joining, const struct job *job, const struct baseline *baseline)
{
    size_t steps = (size_t)job->step_count, cells = job->rank_count * steps + 1;
    *joining = (struct joining){.job = job,
                                .baseline = baseline,
                                .stay_ns = array_new(cells, sizeof *joining->stay_ns),
                                .later_ns = array_new(cells, sizeof *joining->later_ns),
                                .list = array_new(job->rank_count + 1, sizeof *joining->list),
                                .row = array_new(steps + 1, sizeof *joining->row),
                                .sorted = array_new(steps + 1, sizeof *joining->sorted)};
    if (!joining->stay_ns || !joining->later_ns || !joining->list || !joining->row || !joining->sorted)
        return -1;
    sum_stays(joining);
    for (size_t i = 0; i < baseline->role_count; i++)
        for (int32_t step = 0; baseline->roles[i].rank_count > OTHERS_TO_COMPARE && step < job->step_count;
             step++)
            compare_role(joining, &baseline->roles[i], step);
    return 0;
}

static void joining_release(struct joining *joining)
{
    free(joining->stay_ns);
    free(joining->later_ns);
    free(joining->list);
    free(joining->row);
    free(joining->sorted);
}

static const double *row_of(const struct joining *joining, size_t rank)
{
    return &joining->later_ns[rank * (size_t)joining->job->step_count];
}

/* The median over the steps of a set, or over all others; NAN: there are none. */
static double median_in(const struct joining *joining, size_t rank, const struct step_set *set, int is_in)
{
    size_t count = 0;
    for (int32_t step = joining->baseline->first_step; step < joining->job->step_count; step++)
        if (step_set_has(set, step) == is_in)
            joining->sorted[count++] = row_of(joining, rank)[step];
    return count ? select_real(joining->sorted, count, count / 2) : (double)NAN;
}

/* By how much later a rank joins per step than in other steps; 0: not known. */
static double shift_of(const struct joining *joining, size_t rank, const struct step_set *set)
{
    double shift = median_in(joining, rank, set, 1) - median_in(joining, rank, set, 0);
    return isnan(shift) ? 0 : shift;
}

/* The noise of a rank in the steps that are not of the set, as a standard deviation. */
static double spread_of(const struct joining *joining, size_t rank, const struct step_set *set)
{
    double middle = median_in(joining, rank, set, 0),
           least = SCORE_LEAST_SIGMA * (double)joining->baseline->median_step_ns;
    size_t count = 0;
    for (int32_t step = joining->baseline->first_step; step < joining->job->step_count; step++)
        if (!step_set_has(set, step))
            joining->sorted[count++] = fabs(row_of(joining, rank)[step] - middle);
    return fmax(SIGMA_OF_DISTANCE * select_real(joining->sorted, count, count / 2), least);
}

/* The log odds that a rank joins later in the steps of the set, if it is chosen from as many candidates. */
static double certainty_of(const struct joining *joining, size_t rank, const struct step_set *steps,
                           size_t candidates)
{
    struct step_set set = *steps;
    double middle = median_in(joining, rank, steps, 0), spread = spread_of(joining, rank, steps);
    for (int32_t step = 0; step < joining->job->step_count; step++)
        joining->row[step] = step < joining->baseline->first_step
                                 ? (double)NAN
                                 : (row_of(joining, rank)[step] - middle) / spread;
    scan_set(joining->row, SCAN_TAIL_OWN, &set);
    return set.score - log((double)candidates);
}

/* The candidate that moved most, if no other rank moved half as much; -1. */
static int32_t most_moved(const struct joining *joining, const struct slow_network *found, double *later_ns)
{
    double most = 0, others = 0;
    int32_t best = -1;
    for (size_t rank = 0; rank < joining->job->rank_count; rank++) {
        double shift = shift_of(joining, rank, &found->steps);
        if (shift > most && found->may[rank]) {
            others = fmax(others, most);
            most = shift;
            best = (int32_t)rank;
        } else
            others = fmax(others, fabs(shift));
    }
    *later_ns = most;
    return best >= 0 && most >= TIMES_OF_OTHERS * others ? best : -1;
}

int slow_member_find(const struct job *job, const struct baseline *baseline, double least,
                     struct slow_network *found)
{
    struct joining joining;
    double later_ns;
    int failed = joining_init(&joining, job, baseline);
    int32_t rank = failed ? -1 : most_moved(&joining, found, &later_ns);
    if (rank >= 0 && certainty_of(&joining, (size_t)rank, &found->steps, found->count) >= least) {
        memset(found->may, 0, job->rank_count);
        found->may[rank] = 1;
        found->count = 1;
        found->later_ns = (int64_t)later_ns;
    }
    joining_release(&joining);
    return failed ? -1 : 0;
}
