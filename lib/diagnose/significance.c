/*
 * Decides which excess stands out from noise: turns the excess by rank and step into suspects (blocks of
 * consecutive steps), and estimates how many such blocks noise alone would produce. candidates.c fills in the
 * cells; confidence.c compares the estimate with the limits.
 */
#include "base/base.h"
#include "diagnose/baseline.h"
#include "diagnose/diagnose.h"
#include "diagnose/finding.h"
#include "diagnose/suspect.h"
#include "job/job.h"

#include <math.h>
#include <stdlib.h>

/*
 * The noise of a job: the single steps, that is the given samples that are not in a block of several steps,
 * sorted.
 */
struct noise {
    const struct sample *single;
    size_t single_count;
    double all; /* number of all cells */
    int64_t least_ns;
    int64_t whole_ns;       /* excess from which a step is no noise (noise_ends) */
    unsigned char *taken;   /* owned, by step: it is in a block of several steps that are each no noise */
    struct sample *outside; /* owned: those of `single` in steps that are not taken */
    size_t outside_count;
};

static int by_excess(const void *a, const void *b)
{
    const struct sample *left = a, *right = b;
    return (left->excess_ns > right->excess_ns) - (left->excess_ns < right->excess_ns);
}

/* By cell: 1 if it is in a block of several steps. NULL when memory runs out. */
static unsigned char *mark_runs(const struct strength *strength, const struct suspects *suspects,
                                size_t first)
{
    size_t steps = (size_t)strength->steps;
    unsigned char *in_run = array_new(strength->rank_count * steps, 1);
    for (size_t i = first; in_run && i < suspects->count; i++) {
        const struct suspect *run = &suspects->items[i];
        for (int32_t step = run->first_step; run->last_step > run->first_step && step <= run->last_step;
             step++)
            in_run[(size_t)run->rank * steps + (size_t)step] = 1;
    }
    return in_run;
}

static unsigned char *mark_taken(const struct strength *strength, const unsigned char *in_run)
{
    size_t steps = (size_t)strength->steps, cells = strength->rank_count * steps;
    unsigned char *taken = array_new(steps, 1);
    for (size_t i = 0; taken && strength->whole_ns > 0 && i < cells; i++)
        taken[i % steps] |= in_run[i] && strength->excess_ns[i] >= strength->whole_ns;
    return taken;
}

/*
 * The excess from which a step is no noise: that of a whole step, if it occurs in at most a quarter of the
 * steps. Several pauses in one job are then reported each. Steps that are taken do not count. `hit` has room
 * for all steps.
 */
static int64_t noise_ends(const struct strength *strength, const struct noise *noise, unsigned char *hit)
{
    int32_t steps = 0;
    if (strength->whole_ns <= 0)
        return INT64_MAX;
    for (size_t i = noise->single_count; i-- > 0 && noise->single[i].excess_ns >= strength->whole_ns;) {
        const struct sample *sample = &noise->single[i];
        if (hit[sample->step] || noise->taken[sample->step])
            continue;
        hit[sample->step] = 1;
        steps++;
    }
    return steps * 4 <= strength->steps - strength->first_step ? strength->whole_ns : INT64_MAX;
}

/* Drops the samples in blocks of several steps and sorts the others; returns how many remain. */
static size_t keep_single(struct strength *strength, const unsigned char *in_run)
{
    size_t count = 0;
    for (size_t i = 0; i < strength->sample_count; i++) {
        const struct sample *sample = &strength->samples[i];
        if (sample->rank < 0 ||
            !in_run[(size_t)sample->rank * (size_t)strength->steps + (size_t)sample->step])
            strength->samples[count++] = *sample;
    }
    array_sort(strength->samples, count, sizeof *strength->samples, by_excess);
    return count;
}

static void list_single(struct noise *noise, struct strength *strength, const unsigned char *in_run)
{
    noise->single = strength->samples;
    noise->single_count = keep_single(strength, in_run);
}

static int find_end(struct noise *noise, const struct strength *strength)
{
    unsigned char *hit = array_new((size_t)strength->steps, 1);
    if (!hit)
        return -1;
    noise->whole_ns = noise_ends(strength, noise, hit);
    free(hit);
    return 0;
}

static int list_outside(struct noise *noise)
{
    noise->outside = array_new(noise->single_count, sizeof *noise->outside);
    for (size_t i = 0; noise->outside && i < noise->single_count; i++)
        if (!noise->taken[noise->single[i].step])
            noise->outside[noise->outside_count++] = noise->single[i];
    return noise->outside ? 0 : -1;
}

/*
 * `first`: the suspects from this index on are the blocks of these cells. -1 when memory runs out: release it
 * anyway.
 */
static int noise_init(struct noise *noise, struct strength *strength, const struct suspects *suspects,
                      size_t first, int64_t least_ns)
{
    unsigned char *in_run = mark_runs(strength, suspects, first);
    *noise = (struct noise){.taken = in_run ? mark_taken(strength, in_run) : NULL,
                            .all = (double)strength->rank_count * (strength->steps - strength->first_step),
                            .least_ns = least_ns};
    int failed = !in_run || !noise->taken;
    if (!failed)
        list_single(noise, strength, in_run);
    free(in_run);
    return failed || find_end(noise, strength) || list_outside(noise) ? -1 : 0;
}

static void noise_release(struct noise *noise)
{
    free(noise->taken);
    free(noise->outside);
}

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

/*
 * Excess below one part in WEAK_PART of the strongest step has another cause: the same cause would show more.
 */
enum { WEAK_PART = 4 };

/* Drops steps at both ends that have less than a quarter of the strongest step. */
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
        /* A weak step between strong ones stays in the block and does not count. */
        if (here >= most / WEAK_PART && here < run->weakest_ns)
            run->weakest_ns = here;
    }
}

/*
 * Whether a block continues beyond a break: a fault that is strong before and after it may have lasted in
 * between. The step after a break shows little, because the gap before its first operations is not known.
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

/* Whether a weak step between two strong ones belongs to the block: if two strong steps came before it. */
static int is_bridged(const struct strength *strength, size_t rank, int32_t step, int32_t first,
                      int64_t least_ns)
{
    if (step + 1 >= strength->steps || step <= first || *strength_cell(strength, rank, step - 1) < least_ns ||
        *strength_cell(strength, rank, step + 1) < least_ns)
        return 0;
    return step > first + 1;
}

/* The block of strong steps that starts at `step`. A weak step between strong ones need not end it. */
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
 * Adds the blocks of a rank in the steps from `step` up to `end`, exclusive. Several steps that trim drops at
 * an end are searched again: they may be a fault beside a greater one, or beside its victim.
 */
static int find_runs(const struct strength *strength, size_t rank, int32_t step, int32_t end,
                     int64_t least_ns, struct suspects *suspects)
{
    for (; step < end; step++) {
        if (*strength_cell(strength, rank, step) < least_ns)
            continue;
        struct suspect run = run_from(strength, rank, step, end, least_ns);
        int32_t last = run.last_step;
        run.kind = FINDING_NETWORK;
        trim(strength, &run);
        run.after_warm_up = run.first_step == strength->first_step;
        if ((run.first_step > step + 1 &&
             find_runs(strength, rank, step, run.first_step, least_ns, suspects)) ||
            add_suspect(suspects, run) ||
            (last > run.last_step + 1 &&
             find_runs(strength, rank, run.last_step + 1, last + 1, least_ns, suspects)))
            return -1;
        step = last;
    }
    return 0;
}

/* Adds the blocks of steps with at least `least_ns` each to the suspects. -1 when memory runs out. */
static int step_runs_find(const struct strength *strength, int64_t least_ns, struct suspects *suspects)
{
    for (size_t rank = 0; rank < strength->rank_count; rank++)
        if (find_runs(strength, rank, strength->first_step, strength->steps, least_ns, suspects))
            return -1;
    return 0;
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
 * Whether a sample is left out when the noise for a block is estimated: the samples of the block itself, and
 * those that are no noise. If the block itself is no noise, the samples in its steps with less than half of
 * its excess are its victims and are left out; the others stay, because the block may be their victim.
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
 * The samples that a block is compared with. In steps that are taken, any excess may be a consequence of what
 * took them, so these samples do not count for a block elsewhere.
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

/* The greatest excess of all others; at least least_ns. */
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
 * How many single steps as strong as this one noise would produce. The tail of all others is assumed to
 * follow a power law. Its exponent is estimated from the TAIL greatest that are at least least_ns (Hill,
 * Annals of Statistics 3(5), 1975), and pulled towards that of a tail that hardly has a mean as if SEEN_AT_IT
 * more had been observed there. Where no other is that large, one is assumed.
 */
enum { TAIL = 20 };

static const double HEAVY = 1, SEEN_AT_IT = 2;

static double chance_alone(const struct noise *noise, const struct suspect *run)
{
    double logs = 0;
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
    double power = ((double)used + SEEN_AT_IT) / (beyond + SEEN_AT_IT / HEAVY);
    return (double)(used ? used : 1) * pow((double)least_ns / (double)run->weakest_ns, power);
}

/* This many blocks show that lateness comes in blocks by itself; at most ROWS_MOST are examined. */
enum { ROWS = 3, ROWS_MOST = 256 };

/* The block without its first step. */
static struct suspect rest_of(const struct strength *strength, const struct suspect *run)
{
    struct suspect rest = *run;
    rest.first_step++;
    rest.weakest_ns = INT64_MAX;
    for (int32_t step = rest.first_step; step <= rest.last_step; step++) {
        int64_t here = *strength_cell(strength, (size_t)run->rank, step);
        /* A step below the weakest was bridged and does not count. */
        if (here >= run->weakest_ns && here < rest.weakest_ns)
            rest.weakest_ns = here;
    }
    return rest;
}

/*
 * The steps that count for a block: not those below its weakest, which were bridged, nor those of which
 * nothing is known.
 */
static int count_speaking(const struct strength *strength, const struct suspect *run)
{
    int count = 0;
    for (int32_t step = run->first_step; step <= run->last_step; step++)
        count += *strength_cell(strength, (size_t)run->rank, step) >= run->weakest_ns;
    return count;
}

/*
 * The expected number of blocks of as many strong steps if the steps were independent. The first step after
 * the warm-up may still belong to it and does not count.
 */
static double chance_of(const struct strength *strength, struct suspect *run, const struct noise *noise)
{
    struct suspect rest = *run;
    if (run->after_warm_up && run->last_step > run->first_step)
        rest = rest_of(strength, run);
    int length = count_speaking(strength, &rest);
    run->counted_steps = length;
    run->ahead = (double)rest.weakest_ns / (double)greatest_other(noise, &rest);
    double among = job_selection_ratio(strength->job);
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

/* Blocks of several steps that do not start right after the warm-up, the strongest first. */
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
 * Late steps may come in blocks by themselves, if their cause lasts. If enough blocks of other ranks show
 * that, at other times and at least half as strong as this one, they give the rates at which a block starts
 * and continues, and so the expected number of blocks as long as this one; otherwise 0. Only the strongest
 * are examined.
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

/*
 * Several faults of one kind in one job can all be real, so it takes at least three blocks, and one for every
 * four ranks, to doubt them.
 */
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

int strength_find(struct strength *strength, int64_t least_ns, struct suspects *suspects)
{
    size_t first = suspects->count;
    if (step_runs_find(strength, least_ns, suspects))
        return -1;
    struct noise noise;
    int failed = noise_init(&noise, strength, suspects, first, least_ns);
    for (size_t i = first; !failed && i < suspects->count; i++)
        suspects->items[i].chance = chance_of(strength, &suspects->items[i], &noise);
    failed = failed || doubt_rows(strength, &noise, suspects, first);
    noise_release(&noise);
    return failed;
}
