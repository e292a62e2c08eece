#include "diagnose/significance.h"

#include "base/array.h"
#include "base/lower_bound.h"
#include "diagnose/noise.h"
#include "job/excerpts.h"

#include <math.h>
#include <stdlib.h>

/*
 * Nothing repeats that would speak for a step alone, and healthy jobs have hiccups that are no draws from one
 * tail: several at once, or one in a row of quiet steps. So it is allowed less; or has to be so far ahead
 * that no tail matters.
 */
int suspect_stands_alone(const struct suspect *suspect)
{
    return suspect->counted_steps == 1 &&
           (suspect->ahead >= limit_of(LIMIT_FAR_AHEAD) || suspect->chance <= limit_of(LIMIT_CHANCE_ALONE));
}

int suspect_is_noise(const struct suspect *suspect)
{
    return suspect->chance >= 1 && suspect->ahead < limit_of(LIMIT_AHEAD_MANY);
}

static int is_sample_below(const void *sample, const void *value)
{
    return ((const struct sample *)sample)->excess_ns < *(const int64_t *)value;
}

static size_t at_least(const struct sample *sorted, size_t count, int64_t value)
{
    return count - lower_bound(sorted, count, sizeof *sorted, is_sample_below, &value);
}

static int is_of(const struct sample *sample, const struct suspect *run)
{
    return sample->rank == run->rank && sample->step >= run->first_step && sample->step <= run->last_step;
}

/*
 * Whether a sample says nothing of how likely noise is to make the run: its own, and what is no noise. Within
 * the steps of a run that is no noise either, what is half as much or more may be what it is the victim of;
 * less is its victim.
 */
static int is_beside(const struct noise *noise, const struct sample *sample, const struct suspect *run)
{
    if (is_of(sample, run))
        return 1;
    if (run->weakest_ns >= noise->whole_ns && sample->step >= run->first_step &&
        sample->step <= run->last_step)
        return sample->excess_ns < run->weakest_ns / 2;
    return sample->excess_ns >= noise->whole_ns;
}

/*
 * What a run is held against: in steps that are taken, anything may be the victim of what took them, and says
 * nothing of a run elsewhere.
 */
static const struct sample *samples_for(const struct noise *noise, const struct suspect *run, size_t *count)
{
    for (int32_t step = run->first_step; step <= run->last_step; step++)
        if (noise->taken[step]) {
            *count = noise->single_count;
            return noise->single;
        }
    *count = noise->outside_count;
    return noise->outside;
}

/* The greatest of all others; at least what is worth anything. */
static int64_t greatest_other(const struct noise *noise, const struct suspect *run)
{
    size_t count;
    const struct sample *samples = samples_for(noise, run, &count);
    while (count-- > 0 && samples[count].excess_ns > noise->least_ns)
        if (!is_beside(noise, &samples[count], run))
            return samples[count].excess_ns;
    return noise->least_ns;
}

/*
 * How many single steps noise would make as strong as this one: the tail of all others is taken to fall off
 * as a power of the size, the power estimated from the greatest twenty of them (Hill, Annals of Statistics
 * 3(5), 1975), those that are worth anything, and drawn towards that of a heavy tail, as if two more had been
 * seen at it: 1 for networks, where it hardly has a mean, else 1.5. Where no other is worth anything, one is
 * taken to be.
 */
enum { TAIL = 20 };

static const double HEAVY_OF_NETWORKS = 1, HEAVY = 1.5, SEEN_AT_IT = 2;

static double chance_alone(const struct noise *noise, const struct suspect *run)
{
    double heavy = run->kind == FINDING_NETWORK ? HEAVY_OF_NETWORKS : HEAVY, logs = 0;
    size_t used = 0, count;
    int64_t least_ns = noise->least_ns;
    const struct sample *samples = samples_for(noise, run, &count);
    while (count-- > 0 && used < TAIL) {
        const struct sample *sample = &samples[count];
        if (is_beside(noise, sample, run))
            continue;
        if (sample->excess_ns < noise->least_ns)
            break;
        least_ns = sample->excess_ns;
        logs += log((double)least_ns);
        used++;
    }
    if (used < TAIL)
        least_ns = noise->least_ns;
    double beyond = logs - (double)used * log((double)least_ns);
    double power = ((double)used + SEEN_AT_IT) / (beyond + SEEN_AT_IT / heavy);
    return (double)(used ? used : 1) * pow((double)least_ns / (double)run->weakest_ns, power);
}

/* So many runs show that they come by themselves; so many are looked at. */
enum { ROWS = 3, ROWS_MOST = 256 };

/* The run without its first step. */
static struct suspect rest_of(const struct strength *strength, const struct suspect *run)
{
    struct suspect rest = *run;
    rest.first_step++;
    rest.weakest_ns = INT64_MAX;
    for (int32_t step = rest.first_step; step <= rest.last_step; step++) {
        int64_t here = *strength_cell(strength, (size_t)run->rank, step);
        /* What is less than the weakest was let pass. */
        if (here >= run->weakest_ns && here < rest.weakest_ns)
            rest.weakest_ns = here;
    }
    return rest;
}

/* Steps that speak for a run: what is less than its weakest was let pass, or nothing is known of it. */
static int count_speaking(const struct strength *strength, const struct suspect *run)
{
    int count = 0;
    for (int32_t step = run->first_step; step <= run->last_step; step++)
        count += *strength_cell(strength, (size_t)run->rank, step) >= run->weakest_ns;
    return count;
}

/*
 * Several steps in a row: a run of as many strong ones by chance, were they independent. The first step after
 * the warm-up may still be part of that and speaks for nothing.
 */
static double chance_of(const struct strength *strength, struct suspect *run, const struct noise *noise)
{
    struct suspect rest = *run;
    if (run->after_warm_up && run->last_step > run->first_step)
        rest = rest_of(strength, run);
    int length = count_speaking(strength, &rest);
    run->counted_steps = length;
    run->ahead = (double)rest.weakest_ns / (double)greatest_other(noise, &rest);
    double among = job_sought_among(strength->job);
    if (length == 1)
        return among * chance_alone(noise, &rest);
    size_t others = at_least(noise->single, noise->single_count, rest.weakest_ns);
    return among * noise->all * pow((double)(others + 1) / noise->all, length);
}

static int by_weakest(const void *a, const void *b)
{
    const struct suspect *left = *(const struct suspect *const *)a,
                         *right = *(const struct suspect *const *)b;
    if (left->weakest_ns != right->weakest_ns)
        return left->weakest_ns > right->weakest_ns ? -1 : 1;
    return left < right ? -1 : left > right;
}

/* Runs of several steps that are no part of the warm-up, the strongest first. */
static const struct suspect **list_rows(const struct suspects *suspects, size_t first, size_t *count)
{
    const struct suspect **rows = array_new(suspects->count - first, sizeof *rows);
    *count = 0;
    for (size_t i = first; rows && i < suspects->count; i++) {
        const struct suspect *run = &suspects->items[i];
        if (run->last_step > run->first_step && !run->after_warm_up)
            rows[(*count)++] = run;
    }
    array_sort(rows, *count, sizeof *rows, by_weakest);
    return rows;
}

/*
 * Late steps may come in rows by themselves, where what makes them late lasts. Where so many runs of other
 * ranks show it, at other times and half as strong as this one, they tell how often a run begins and goes on:
 * so many as long as this one are expected. 0 where they do not. The strongest are enough.
 */
static double chance_in_rows(const struct suspect *const *rows, size_t count, const struct suspect *run,
                             double fewest)
{
    double begun = 0, steps = 0;
    for (size_t i = 0; i < count && i < ROWS_MOST && rows[i]->weakest_ns >= run->weakest_ns / 2; i++) {
        int is_apart = rows[i]->last_step < run->first_step || rows[i]->first_step > run->last_step;
        if (rows[i]->rank == run->rank || !is_apart)
            continue;
        begun++;
        steps += suspect_steps(rows[i]);
    }
    return begun < fewest ? 0 : begun * pow((steps - begun) / steps, run->counted_steps - 1);
}

/* Several faults of one kind in one job are each believed: it takes three runs, and one for four ranks. */
static int doubt_rows(const struct strength *strength, const struct noise *noise, struct suspects *suspects,
                      size_t first)
{
    size_t count;
    const struct suspect **rows = list_rows(suspects, first, &count);
    double fewest = fmax(ROWS, (double)strength->rank_count / 4);
    for (size_t i = first; rows && i < suspects->count; i++) {
        struct suspect *run = &suspects->items[i];
        if (run->weakest_ns < noise->whole_ns)
            run->chance = fmax(run->chance, chance_in_rows(rows, count, run, fewest));
    }
    int failed = rows == NULL;
    free(rows);
    return failed;
}

/* Drops the samples of cells that are marked; returns how many are left. */
static size_t drop_marked(struct sample *samples, size_t count, const unsigned char *marked, size_t steps)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (!marked[(size_t)samples[i].rank * steps + (size_t)samples[i].step])
            samples[kept++] = samples[i];
    return kept;
}

/*
 * A step that is beyond noise by itself is a fault of its own, and no example of what noise does to several
 * steps: those behind it are held against what is left. Of networks the moments that stand alone are noise.
 */
static int chance_behind_others(struct strength *strength, struct noise *noise, struct suspects *suspects,
                                size_t first)
{
    size_t steps = (size_t)strength->steps, alone = 0;
    unsigned char *marked = array_new(strength->rank_count * steps, 1);
    for (size_t i = first; marked && i < suspects->count; i++) {
        const struct suspect *single = &suspects->items[i];
        if (suspect_stands_alone(single)) {
            marked[(size_t)single->rank * steps + (size_t)single->last_step] = 1;
            alone++;
        }
    }
    if (alone) {
        noise->single_count = drop_marked(noise->cells, noise->single_count, marked, steps);
        noise->outside_count = drop_marked(noise->outside, noise->outside_count, marked, steps);
    }
    for (size_t i = first; alone && i < suspects->count; i++)
        if (suspects->items[i].counted_steps > 1)
            suspects->items[i].chance = chance_of(strength, &suspects->items[i], noise);
    free(marked);
    return marked ? 0 : -1;
}

int strength_find(struct strength *strength, int64_t least_ns, enum finding_kind kind,
                  struct suspects *suspects)
{
    size_t first = suspects->count;
    if (step_runs_find(strength, least_ns, kind, suspects))
        return -1;
    struct noise noise;
    int failed = noise_init(&noise, strength, suspects, first, least_ns);
    for (size_t i = first; !failed && i < suspects->count; i++)
        suspects->items[i].chance = chance_of(strength, &suspects->items[i], &noise);
    failed = failed || (!strength->samples && kind != FINDING_NETWORK &&
                        chance_behind_others(strength, &noise, suspects, first));
    failed = failed || doubt_rows(strength, &noise, suspects, first);
    noise_release(&noise);
    return failed;
}
