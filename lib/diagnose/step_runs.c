#include "diagnose/step_runs.h"

#include "base/array.h"
#include "job/excerpts.h"

#include <stdlib.h>

int strength_init(struct strength *strength, const struct job *job, const struct baseline *baseline)
{
    *strength = (struct strength){.job = job,
                                  .rank_count = job->rank_count,
                                  .steps = baseline->step_count,
                                  .first_step = baseline->first_step,
                                  .whole_ns = baseline->median_step_ns};
    strength->excess_ns =
        array_new(job->rank_count * (size_t)(baseline->step_count + 1), sizeof *strength->excess_ns);
    return strength->excess_ns ? 0 : -1;
}

void strength_release(struct strength *strength)
{
    free(strength->excess_ns);
    free(strength->unbounded_ns);
    free(strength->hidden_ns);
    free(strength->blank);
    free(strength->samples);
    *strength = (struct strength){0};
}

static int add_suspect(struct suspects *suspects, struct suspect suspect)
{
    if (array_reserve((void **)&suspects->items, &suspects->capacity, suspects->count + 1,
                      sizeof *suspects->items))
        return -1;
    suspects->items[suspects->count++] = suspect;
    return 0;
}

/* What is less than one part in so many of the strongest does not come of the same: it would show more. */
enum { WEAK_PART = 4 };

/* Drops steps at both ends that have less than a quarter of the strongest: they are another matter. */
static void trim(const struct strength *strength, struct suspect *run)
{
    int64_t most = 0;
    for (int32_t i = run->first_step; i <= run->last_step; i++)
        if (*strength_cell(strength, (size_t)run->rank, i) > most)
            most = *strength_cell(strength, (size_t)run->rank, i);
    while (*strength_cell(strength, (size_t)run->rank, run->first_step) < most / WEAK_PART)
        run->first_step++;
    while (*strength_cell(strength, (size_t)run->rank, run->last_step) < most / WEAK_PART)
        run->last_step--;
    run->total_ns = 0;
    run->weakest_ns = INT64_MAX;
    for (int32_t i = run->first_step; i <= run->last_step; i++) {
        int64_t here = *strength_cell(strength, (size_t)run->rank, i);
        run->total_ns += here;
        /* A weak step between strong ones was let pass. */
        if (here >= most / WEAK_PART && here < run->weakest_ns)
            run->weakest_ns = here;
    }
}

/*
 * Whether a run goes on beyond a break: what is strong before it and after it may have lasted in between. Of
 * the step after it little is known, as nothing comes before its first operations.
 */
static int is_over_break(const struct strength *strength, size_t rank, int32_t step, int32_t first,
                         int64_t least_ns)
{
    int32_t after = job_is_break(strength->job, step) ? step + 1 : step;
    if (after - 2 < first || !job_is_break(strength->job, after - 1) || after >= strength->steps ||
        *strength_cell(strength, rank, after - 2) < least_ns)
        return 0;
    return *strength_cell(strength, rank, after) >= least_ns ||
           (after + 1 < strength->steps && *strength_cell(strength, rank, after + 1) >= least_ns);
}

/*
 * Whether a weak step belongs to the run that goes on after it: between strong steps when two came before,
 * or when nothing is known of it there, or when the rank was late in it too, by half as much,
 * though others were later still and nobody waited.
 */
static int is_bridged(const struct strength *strength, size_t rank, int32_t step, int32_t first,
                      int64_t least_ns)
{
    if (step + 1 >= strength->steps || step <= first || *strength_cell(strength, rank, step - 1) < least_ns ||
        *strength_cell(strength, rank, step + 1) < least_ns)
        return 0;
    size_t cell = rank * (size_t)strength->steps + (size_t)step;
    if (strength->blank && strength->blank[cell])
        return 1;
    int64_t beside = *strength_cell(strength, rank, step - 1) < *strength_cell(strength, rank, step + 1)
                         ? *strength_cell(strength, rank, step - 1)
                         : *strength_cell(strength, rank, step + 1);
    return step > first + 1 || (strength->unbounded_ns && strength->unbounded_ns[cell] * 2 >= beside);
}

/* The run of strong steps that begins at `step`; one weak step between strong ones need not end it. */
static struct suspect run_from(const struct strength *strength, size_t rank, int32_t step, int32_t end,
                               int64_t least_ns)
{
    struct suspect run = {.rank = (int32_t)rank, .first_step = step, .last_step = step};
    for (int32_t i = step; i < end; i++) {
        if (*strength_cell(strength, rank, i) >= least_ns)
            run.last_step = i;
        else if (!is_over_break(strength, rank, i, step, least_ns) &&
                 !is_bridged(strength, rank, i, step, least_ns))
            break;
    }
    return run;
}

/*
 * The runs of a rank in the steps from `step` to before `end`. What trim drops of one are the ends of several
 * steps looked at by themselves: a fault beside a greater one, or beside its victim.
 */
static int find_runs(const struct strength *strength, size_t rank, int32_t step, int32_t end,
                     int64_t least_ns, enum finding_kind kind, struct suspects *suspects)
{
    for (; step < end; step++) {
        if (*strength_cell(strength, rank, step) < least_ns)
            continue;
        struct suspect run = run_from(strength, rank, step, end, least_ns);
        int32_t last = run.last_step;
        run.kind = kind;
        trim(strength, &run);
        run.after_warm_up = run.first_step == strength->first_step;
        if ((run.first_step > step + 1 &&
             find_runs(strength, rank, step, run.first_step, least_ns, kind, suspects)) ||
            add_suspect(suspects, run) ||
            (last > run.last_step + 1 &&
             find_runs(strength, rank, run.last_step + 1, last + 1, least_ns, kind, suspects)))
            return -1;
        step = last;
    }
    return 0;
}

int step_runs_find(const struct strength *strength, int64_t least_ns, enum finding_kind kind,
                   struct suspects *suspects)
{
    for (size_t rank = 0; rank < strength->rank_count; rank++)
        if (find_runs(strength, rank, strength->first_step, strength->steps, least_ns, kind, suspects))
            return -1;
    return 0;
}
