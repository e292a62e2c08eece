#include "baseline/step_sequence.h"

#include "base/array.h"
#include "base/hash.h"
#include "base/map.h"
#include "job/excerpts.h"

#include <stdlib.h>
#include <string.h>

int32_t communicator_of_step(const struct job *job, const struct job_operation *operation)
{
    return job->missing_sequence ? operation->communicator : job_first_communicator(job, operation);
}

static uint64_t hash_operation(const struct job *job, const struct job_operation *operation)
{
    uint64_t hash = hash_mix((uint64_t)communicator_of_step(job, operation), operation->function);
    return hash_mix(hash, (uint64_t)operation->bytes);
}

static void cut(const struct job *job, const struct job_rank *rank, struct stretch *stretches)
{
    for (int32_t step = 0; step < job->step_count; step++)
        stretches[step] = (struct stretch){.first = -1};
    for (size_t i = rank->first; i < rank->first + rank->count; i++) {
        const struct job_operation *operation = &job->operations[i];
        if (operation->step < 0 || operation->step >= job->step_count)
            continue;
        struct stretch *stretch = &stretches[operation->step];
        if (stretch->first < 0)
            stretch->first = (int32_t)i;
        stretch->count++;
        stretch->signature = hash_mix(stretch->signature, hash_operation(job, operation));
    }
}

/*
 * Notes at their edges the steps that an operation and the one before it in its sequence are in, and all
 * between, when others are missing between the two.
 */
static void note_gap(const struct job *job, int32_t before, int32_t after, struct stretch *stretches)
{
    const struct job_operation *first = &job->operations[before], *next = &job->operations[after];
    if (first->step < 0 || next->step < first->step || next->step >= job->step_count ||
        job_breaks_in(job, first->step, next->step) ||
        job_sequence(job, next) <= job_sequence(job, first) + 1)
        return;
    stretches[first->step].has_gap++;
    if (next->step + 1 < job->step_count)
        stretches[next->step + 1].has_gap--;
}

/* How many gaps are over each step, from where they begin and end. */
static void sum_gaps(const struct job *job, struct stretch *stretches)
{
    for (int32_t step = 1; step < job->step_count; step++)
        stretches[step].has_gap += stretches[step - 1].has_gap;
    /* Nothing comes after the last to tell. */
    if (job->missing_sequence && job->step_count)
        stretches[job->step_count - 1].has_gap++;
}

/* Where records are missing between others the steps that lost some are no example of a whole one. */
static int mark_gaps(const struct job *job, const struct job_rank *rank, struct stretch *stretches)
{
    struct map last; /* (communicator, function) -> operation */
    int failed = 0;
    map_init(&last);
    for (size_t i = rank->first; !failed && job->missing_sequence && i < rank->first + rank->count; i++) {
        const struct job_operation *operation = &job->operations[i];
        int added;
        if (function_is_point_to_point(operation->function))
            continue;
        int64_t *before =
            map_put(&last, (struct map_key){{(uint64_t)operation->communicator, operation->function}},
                    (int64_t)i, &added);
        failed = !before;
        if (failed || added)
            continue;
        note_gap(job, (int32_t)*before, (int32_t)i, stretches);
        *before = (int64_t)i;
    }
    map_release(&last);
    sum_gaps(job, stretches);
    return failed ? -1 : 0;
}

int stretches_cut(const struct job *job, const struct job_rank *rank, struct stretch *stretches)
{
    cut(job, rank, stretches);
    return mark_gaps(job, rank, stretches);
}

static int by_signature(const void *a, const void *b)
{
    const struct stretch *left = a, *right = b;
    if (left->signature != right->signature)
        return left->signature < right->signature ? -1 : 1;
    return (left->first > right->first) - (left->first < right->first);
}

static int is_any_whole(const struct stretch *stretches, int32_t count)
{
    for (int32_t i = 0; i < count; i++)
        if (stretches[i].count && !stretches[i].has_gap)
            return 1;
    return 0;
}

/* By how many steps have it, then the longest, then the earliest: signatures depend on the order of reading.
 */
static int is_better(struct stretch stretch, int32_t votes, struct stretch than, int32_t than_votes)
{
    if (votes != than_votes)
        return votes > than_votes;
    return stretch.count != than.count ? stretch.count > than.count : stretch.first < than.first;
}

struct stretch stretches_canonical(const struct stretch *stretches, int32_t first_step, int32_t count,
                                   struct stretch *sorted)
{
    struct stretch best = {.first = -1}, earliest = {.first = -1};
    int32_t best_votes = 0, votes = 0, used = count - first_step;
    int whole_only = is_any_whole(stretches + first_step, used);
    memcpy(sorted, stretches + first_step, (size_t)used * sizeof *sorted);
    array_sort(sorted, (size_t)used, sizeof *sorted, by_signature);
    for (int32_t i = 0; i < used; i++) {
        if (!sorted[i].count || (whole_only && sorted[i].has_gap))
            continue;
        if (!votes || sorted[i].signature != earliest.signature) {
            earliest = sorted[i];
            votes = 0;
        }
        if (is_better(earliest, ++votes, best, best_votes)) {
            best = earliest;
            best_votes = votes;
        }
    }
    return best;
}
