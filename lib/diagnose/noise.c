#include "diagnose/noise.h"

#include "base/array.h"

#include <stdlib.h>

static int by_excess(const void *a, const void *b)
{
    const struct sample *left = a, *right = b;
    return (left->excess_ns > right->excess_ns) - (left->excess_ns < right->excess_ns);
}

/* The cells of runs of several steps. */
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

/* Where so many ranks, and half of all, are late in turns, none is at fault more than the others. */
enum { RANKS_IN_TURN = 3 };

/*
 * What lasts as long as a whole step is no noise, as long as it happens in a quarter of the steps at most,
 * and not to half of the ranks in turns: several pauses in one job are each believed. Steps that are taken
 * speak for what took them. `hit` has room for all steps, and for all ranks after them.
 */
static int64_t noise_ends(const struct strength *strength, const struct noise *noise, unsigned char *hit)
{
    int32_t steps = 0, ranks = 0;
    unsigned char *ranks_hit = hit + strength->steps;
    if (strength->whole_ns <= 0)
        return INT64_MAX;
    for (size_t i = noise->single_count; i-- > 0 && noise->single[i].excess_ns >= strength->whole_ns;) {
        const struct sample *sample = &noise->single[i];
        if (hit[sample->step] || noise->taken[sample->step])
            continue;
        hit[sample->step] = 1;
        steps++;
        /* The greatest of its step; of networks, samples are transfers, and not each has a rank. */
        if (strength->samples || ranks_hit[sample->rank])
            continue;
        ranks_hit[sample->rank] = 1;
        ranks++;
    }
    int in_turns = ranks >= RANKS_IN_TURN && (size_t)ranks * 2 >= strength->rank_count;
    return steps * 4 <= strength->steps - strength->first_step && !in_turns ? strength->whole_ns : INT64_MAX;
}

/*
 * The cells of single steps, sorted; returns how many. The first step after the warm-up may still be part of
 * that: no example of what is usual.
 */
static size_t list_cells(const struct strength *strength, const unsigned char *in_run, struct sample *cells)
{
    size_t count = 0;
    for (size_t rank = 0; rank < strength->rank_count; rank++)
        for (int32_t step = strength->first_step + 1; step < strength->steps; step++) {
            size_t cell = rank * (size_t)strength->steps + (size_t)step;
            int64_t hidden_ns = strength->hidden_ns ? strength->hidden_ns[cell] : 0;
            int64_t shown_ns = strength->excess_ns[cell] - hidden_ns;
            if (shown_ns > 0 && !in_run[cell])
                cells[count++] = (struct sample){shown_ns, (int32_t)rank, step};
        }
    array_sort(cells, count, sizeof *cells, by_excess);
    return count;
}

/* Drops the samples in runs of several steps and sorts the others; returns how many those are. */
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
    noise->single = strength->samples ? strength->samples : noise->cells;
    noise->single_count =
        strength->samples ? keep_single(strength, in_run) : list_cells(strength, in_run, noise->cells);
}

static int find_end(struct noise *noise, const struct strength *strength)
{
    unsigned char *hit = array_new((size_t)strength->steps + strength->rank_count, 1);
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

int noise_init(struct noise *noise, struct strength *strength, const struct suspects *suspects, size_t first,
               int64_t least_ns)
{
    size_t cells = strength->rank_count * (size_t)strength->steps;
    unsigned char *in_run = mark_runs(strength, suspects, first);
    *noise = (struct noise){.cells = array_new(cells, sizeof *noise->cells),
                            .taken = in_run ? mark_taken(strength, in_run) : NULL,
                            .all = (double)strength->rank_count * (strength->steps - strength->first_step),
                            .least_ns = least_ns};
    int failed = !in_run || !noise->cells || !noise->taken;
    if (!failed)
        list_single(noise, strength, in_run);
    free(in_run);
    return failed || find_end(noise, strength) || list_outside(noise) ? -1 : 0;
}

void noise_release(struct noise *noise)
{
    free(noise->cells);
    free(noise->taken);
    free(noise->outside);
}
