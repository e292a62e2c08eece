#include "analyse/series.h"

#include "base/array.h"

#include <stdlib.h>

/* The series of one rank at a time, in a table by communicator and function. */
struct table {
    struct series *items; /* count 0: not seen */
    size_t *seen;
    size_t seen_count;
};

static void note(struct table *table, const struct job_operation *operation, int64_t sequence)
{
    uint8_t function = operation->function < FUNCTION_COUNT ? operation->function : FUNCTION_OTHER;
    size_t at = (size_t)operation->communicator * FUNCTION_COUNT + function;
    struct series *series = &table->items[at];
    if (!series->count) {
        table->seen[table->seen_count++] = at;
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

static int each_of_rank(const struct job *job, const struct job_rank *rank, struct table *table,
                        series_taker take, void *context)
{
    int failed = 0;
    table->seen_count = 0;
    for (size_t i = rank->first; i < rank->first + rank->count; i++) {
        const struct job_operation *operation = &job->operations[i];
        int64_t sequence = job_sequence(job, operation);
        if (sequence >= 0 && !function_is_point_to_point(operation->function))
            note(table, operation, sequence);
    }
    for (size_t i = 0; i < table->seen_count; i++) {
        failed = failed || take(context, &table->items[table->seen[i]]);
        table->items[table->seen[i]].count = 0;
    }
    return failed;
}

int job_each_series(const struct job *job, series_taker take, void *context)
{
    size_t places = job->communicator_count * FUNCTION_COUNT;
    struct table table = {.items = array_new(places, sizeof *table.items),
                          .seen = array_new(places, sizeof *table.seen)};
    int failed = !table.items || !table.seen;
    for (size_t i = 0; !failed && i < job->rank_count; i++)
        failed = each_of_rank(job, &job->ranks[i], &table, take, context);
    free(table.items);
    free(table.seen);
    return failed ? -1 : 0;
}
