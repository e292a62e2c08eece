#include "analyse/finding.h"

#include "base/array.h"

#include <math.h>
#include <stdlib.h>

int strength_init(struct strength *strength, const struct job *job, const struct baseline *baseline)
{
    *strength = (struct strength){
        .rank_count = job->rank_count, .steps = baseline->step_count, .first_step = baseline->first_step};
    strength->excess_ns =
        array_new(job->rank_count * (size_t)(baseline->step_count + 1), sizeof *strength->excess_ns);
    return strength->excess_ns ? 0 : -1;
}

void strength_release(struct strength *strength)
{
    free(strength->excess_ns);
    strength->excess_ns = NULL;
}

static int64_t at(const struct strength *strength, size_t rank, int32_t step)
{
    return strength->excess_ns[rank * (size_t)strength->steps + (size_t)step];
}

static int add_suspect(struct suspects *suspects, struct suspect suspect)
{
    if (array_reserve((void **)&suspects->items, &suspects->capacity, suspects->count + 1,
                      sizeof *suspects->items))
        return -1;
    suspects->items[suspects->count++] = suspect;
    return 0;
}

/* Drops steps at both ends that have less than a quarter of the strongest: they are another matter. */
static void trim(const struct strength *strength, struct suspect *run)
{
    int64_t most = 0;
    for (int32_t i = run->first_step; i <= run->last_step; i++)
        if (at(strength, (size_t)run->rank, i) > most)
            most = at(strength, (size_t)run->rank, i);
    while (at(strength, (size_t)run->rank, run->first_step) < most / 4)
        run->first_step++;
    while (at(strength, (size_t)run->rank, run->last_step) < most / 4)
        run->last_step--;
    run->total_ns = 0;
    run->weakest_ns = INT64_MAX;
    for (int32_t i = run->first_step; i <= run->last_step; i++) {
        int64_t here = at(strength, (size_t)run->rank, i);
        run->total_ns += here;
        /* A weak step between strong ones was let pass. */
        if (here >= most / 4 && here < run->weakest_ns)
            run->weakest_ns = here;
    }
}

/* The run of strong steps that begins at `step`; one weak step between strong ones does not end it. */
static struct suspect run_from(const struct strength *strength, size_t rank, int32_t step, int64_t least_ns)
{
    struct suspect run = {.rank = (int32_t)rank, .first_step = step, .last_step = step};
    for (int32_t i = step; i < strength->steps; i++) {
        int64_t here = at(strength, rank, i);
        int strong = here >= least_ns;
        int bridged = i > step + 1 && i + 1 < strength->steps && at(strength, rank, i + 1) >= least_ns &&
                      at(strength, rank, i - 1) >= least_ns;
        if (!strong && !bridged)
            break;
        if (!strong)
            continue;
        run.last_step = i;
    }
    return run;
}

static int by_value(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

/* Steps that stand alone: their own step is strong at this rank, the steps beside it are not. Sorted. */
static int64_t *lonely_steps(const struct suspects *suspects, size_t first, size_t *count)
{
    int64_t *lonely = array_new(suspects->count - first, sizeof *lonely);
    *count = 0;
    for (size_t i = first; lonely && i < suspects->count; i++)
        if (suspects->items[i].first_step == suspects->items[i].last_step)
            lonely[(*count)++] = suspects->items[i].weakest_ns;
    if (lonely)
        qsort(lonely, *count, sizeof *lonely, by_value);
    return lonely;
}

static size_t at_least(const int64_t *sorted, size_t count, int64_t value)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (sorted[middle] < value)
            low = middle + 1;
        else
            high = middle;
    }
    return count - low;
}

/*
 * A single step has no repetition to speak for it. Its tail is taken to fall off in inverse proportion to the
 * size, as heavy as a tail with a mean gets, from the least that counts as strong.
 */
static double chance_of(const struct suspect *run, const int64_t *lonely, size_t count, double cells,
                        int64_t least_ns)
{
    int length = run->last_step - run->first_step + 1;
    size_t others = at_least(lonely, count, run->weakest_ns);
    if (length > 1)
        return cells * pow((double)(others + 1) / cells, length);
    double power = run->kind == FINDING_NETWORK ? 1 : 1.5;
    return (double)(count ? count : 1) * pow((double)least_ns / (double)run->weakest_ns, power);
}

int strength_find(const struct strength *strength, int64_t least_ns, enum finding_kind kind,
                  struct suspects *suspects)
{
    size_t first = suspects->count, count;
    for (size_t rank = 0; rank < strength->rank_count; rank++)
        for (int32_t step = strength->first_step; step < strength->steps; step++) {
            if (at(strength, rank, step) < least_ns)
                continue;
            struct suspect run = run_from(strength, rank, step, least_ns);
            int32_t last = run.last_step;
            run.kind = kind;
            trim(strength, &run);
            if (add_suspect(suspects, run))
                return -1;
            step = last;
        }
    int64_t *lonely = lonely_steps(suspects, first, &count);
    if (!lonely)
        return -1;
    double cells = (double)strength->rank_count * (double)(strength->steps - strength->first_step);
    for (size_t i = first; i < suspects->count; i++)
        suspects->items[i].chance = chance_of(&suspects->items[i], lonely, count, cells, least_ns);
    free(lonely);
    return 0;
}
