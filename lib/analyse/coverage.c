#include "analyse/series.h"

/*
 * Gaps: operations that are absent between others of their sequence on the same rank. Sequence numbers count
 * per communicator and function, so that a gap is a record that was lost; what came before the first one too.
 */

struct extent {
    const struct job *job;
    int64_t seen;
    int64_t span; /* numbers from the least to the greatest */
    int64_t series;
    int64_t late; /* of them that begin beyond the first number, 0 or 1 */
};

static int add_series(void *context, const struct series *series)
{
    struct extent *extent = context;
    if (!extent->job->communicators[series->communicator].hashed)
        return 0;
    extent->seen += series->count;
    extent->span += series->greatest - series->least + 1;
    extent->series++;
    extent->late += series->least > 1;
    return 0;
}

int job_count_gaps(struct job *job, struct error *error)
{
    struct extent extent = {.job = job};
    if (job_each_series(job, add_series, &extent))
        return error_no_memory(error);
    job->missing_sequence = extent.span > extent.seen ? extent.span - extent.seen : 0;
    job->sequences = extent.series;
    job->late_sequences = extent.late;
    return 0;
}
