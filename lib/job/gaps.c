#include "job/gaps.h"

#include "job/sequences.h"

/*
 * Gaps: operations that are absent between others of their sequence on the same rank. Sequence numbers count
 * per communicator and function, so that a gap is a record that was lost; what came before the first one too.
 */

struct numbers {
    const struct job *job;
    int64_t seen;
    int64_t span; /* numbers from the least to the greatest */
    int64_t series;
    int64_t least;   /* number of all: recorders count from 0 or from 1 */
    int64_t late[2]; /* series that begin in the middle, where they do from either */
};

/* Recorders lose a few at the beginning, too: in the middle begins what lacks as much as a quarter of it. */
enum { FEW = 2, PARTS = 4 };

static int begins_late(const struct series *series, int64_t first)
{
    int64_t before = series->least - first;
    return before > FEW && before > series->count / PARTS;
}

static int add_series(void *context, const struct series *series)
{
    struct numbers *numbers = context;
    if (!numbers->job->communicators[series->communicator].hashed)
        return 0;
    numbers->seen += series->count;
    numbers->span += series->greatest - series->least + 1;
    numbers->series++;
    numbers->least = series->least < numbers->least ? series->least : numbers->least;
    for (int first = 0; first < 2; first++)
        numbers->late[first] += begins_late(series, first);
    return 0;
}

int job_count_gaps(struct job *job, struct error *error)
{
    struct numbers numbers = {.job = job, .least = INT64_MAX};
    if (job_each_series(job, add_series, &numbers))
        return error_no_memory(error);
    job->missing_sequence = numbers.span > numbers.seen ? numbers.span - numbers.seen : 0;
    job->sequences = numbers.series;
    job->late_sequences = numbers.late[numbers.least == 1];
    return 0;
}
