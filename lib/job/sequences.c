#include "job/sequences.h"

#include "base/array.h"
#include "job/excerpts.h"

#include <stdlib.h>

/* The series of one rank at a time, by communicator and function. */
struct rank_series {
    struct series *items; /* count 0: not seen */
    size_t *seen;
    size_t seen_count;
};

static void note(struct rank_series *of_rank, const struct job_operation *operation, int64_t sequence)
{
    uint8_t function = operation->function < FUNCTION_COUNT ? operation->function : FUNCTION_OTHER;
    size_t at = (size_t)operation->communicator * FUNCTION_COUNT + function;
    struct series *series = &of_rank->items[at];
    if (!series->count) {
        of_rank->seen[of_rank->seen_count++] = at;
        *series = (struct series){.least = sequence,
                                  .greatest = sequence,
                                  .rank = operation->rank,
                                  .communicator = operation->communicator,
                                  .function = operation->function};
    }
    series->count++;
    if (sequence < series->least)
        series->least = sequence;
    if (sequence > series->greatest)
        series->greatest = sequence;
}

/*
 * What has no step is loaded wherever it stands, what came before it need not be: it is of an excerpt where
 * its number says so, or before all steps.
 */
static int follows(const struct job *job, const struct rank_series *of_rank,
                   const struct job_operation *operation, int64_t sequence, size_t excerpt)
{
    uint8_t function = operation->function < FUNCTION_COUNT ? operation->function : FUNCTION_OTHER;
    const struct series *series =
        &of_rank->items[(size_t)operation->communicator * FUNCTION_COUNT + function];
    return !job->excerpt_count || (series->count ? sequence == series->greatest + 1 : excerpt == 0);
}

/* Hands over what was seen of an excerpt. */
static int hand_over(struct rank_series *of_rank, size_t excerpt, series_taker take, void *context)
{
    int failed = 0;
    for (size_t i = 0; i < of_rank->seen_count; i++) {
        of_rank->items[of_rank->seen[i]].excerpt = excerpt;
        failed = failed || take(context, &of_rank->items[of_rank->seen[i]]);
        of_rank->items[of_rank->seen[i]].count = 0;
    }
    of_rank->seen_count = 0;
    return failed;
}

static int each_of_rank(const struct job *job, const struct job_rank *rank, struct rank_series *of_rank,
                        series_taker take, void *context)
{
    size_t excerpt = 0;
    int failed = 0;
    of_rank->seen_count = 0;
    for (size_t i = rank->first; !failed && i < rank->first + rank->count; i++) {
        const struct job_operation *operation = &job->operations[i];
        int64_t sequence = job_sequence(job, operation);
        if (job->excerpt_count && operation->step >= 0 && job_excerpt_of(job, operation->step) != excerpt) {
            failed = hand_over(of_rank, excerpt, take, context);
            excerpt = job_excerpt_of(job, operation->step);
        }
        if (sequence >= 0 && !function_is_point_to_point(operation->function) &&
            (operation->step >= 0 || follows(job, of_rank, operation, sequence, excerpt)))
            note(of_rank, operation, sequence);
    }
    return failed || hand_over(of_rank, excerpt, take, context);
}

int job_each_series(const struct job *job, series_taker take, void *context)
{
    size_t places = job->communicator_count * FUNCTION_COUNT;
    struct rank_series of_rank = {.items = array_new(places, sizeof *of_rank.items),
                                  .seen = array_new(places, sizeof *of_rank.seen)};
    int failed = !of_rank.items || !of_rank.seen;
    for (size_t i = 0; !failed && i < job->rank_count; i++)
        failed = each_of_rank(job, &job->ranks[i], &of_rank, take, context);
    free(of_rank.items);
    free(of_rank.seen);
    return failed ? -1 : 0;
}
